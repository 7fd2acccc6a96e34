/* Memory of fully sharded data parallelism. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "../../bench/measured.h"
#include "base/error.h"
#include "job/job_internal.h"
#include "job/sharding.h"
#include "trace/csv.h"

static const char *shared;

static ek_job read_arguments(const char *text)
{
    char path[] = "/tmp/ek_sharding_XXXXXX";
    int fd = mkstemp(path);
    ek_job job;
    ek_error err = {0};
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    ek_status status = ek_job_read(path, NULL, NULL, &job, &err);
    unlink(path);
    if (status)
        fail_msg("%s: %s", text, err.message);
    return job;
}

static const char *cell(const ek__csv *csv, const char *column)
{
    return ek__csv_cell(csv, ek__csv_column(csv, column, NULL));
}

static int whole(const ek__csv *csv, const char *column)
{
    return atoi(cell(csv, column));
}

static void titan(void **state)
{
    (void)state;
    char path[1024];
    ek__csv *csv;
    ek_error err;
    bool more = true;
    shared = getenv("EK_SHARED");
    snprintf(path, sizeof path, "%s/reference/measured/torchtitan_h100_h200.csv", shared);
    assert_int_equal(ek__csv_open(path, &csv, &err), EK_OK);
    for (;;) {
        assert_int_equal(ek__csv_next(csv, &more, &err), EK_OK);
        if (!more)
            break;
        if (!*cell(csv, "mem_gib"))
            continue;
        char text[2048];
        int pp = whole(csv, "pp"), mbs = pp > 1 ? 1 : whole(csv, "local_batch"), m = pp > 1 ? whole(csv, "local_batch") : 1;
        int seq = whole(csv, "seq") ? whole(csv, "seq") : 8192;
        int dp = whole(csv, "dp") ? whole(csv, "dp") : whole(csv, "gpus");
        bool full = strcmp(cell(csv, "recompute"), "full") == 0;
        snprintf(text, sizeof text,
                 "--num-layers %d --hidden-size %d --ffn-hidden-size %d --num-attention-heads %d"
                 " --group-query-attention --num-query-groups %d --padded-vocab-size %d --seq-length %d"
                 " --micro-batch-size %d --global-batch-size %d --tensor-model-parallel-size %d"
                 " --pipeline-model-parallel-size %d --context-parallel-size %d --data-parallel-size %d --bf16"
                 " --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights"
                 " --position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 --use-flash-attn "
                 "--sequence-parallel%s %s%s\n",
                 whole(csv, "layers") + (pp > 1 ? 2 : 0), whole(csv, "hidden"), whole(csv, "ffn_hidden"), whole(csv, "heads"),
                 whole(csv, "kv_heads"), whole(csv, "vocab"), seq, mbs, mbs * m * dp, whole(csv, "tp"),
                 pp, whole(csv, "cp") ? whole(csv, "cp") : 1, dp,
                 full ? " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1" : "",
                 strstr(cell(csv, "precision"), "Interleaved") ? " --num-layers-per-virtual-pipeline-stage 8" : "",
                 strstr(cell(csv, "precision"), "compile") && getenv("FUSED") ? " --cross-entropy-loss-fusion" : "");
        ek_job job = read_arguments(text);
        const ek__fsdp fsdp = {.stored = EK_FP32, .gathered = EK_BF16, .reduced = EK_FP32, .optimizer = 8,
            .keeps = pp > 1, .sums_whole = pp > 1, .gathers_ends = true, .shard_size = -1};
        ek__job_fsdp(&fsdp, &job);
        job.family = EK_FAMILY_LLAMA;
        job.model.qkv_concat = false;
        job.model.fused_swiglu = full && strstr(cell(csv, "precision"), "compile");
        job.rules.regather = true;
        if (getenv("BUFFERS")) job.rules.loss_buffers = atoi(getenv("BUFFERS"));
        if (!full)
            assert_int_equal(ek__job_keep_products(&job, (ek_origin){0}, &err), EK_OK);
        ek_memory memory;
        if (ek_memory_predict(&job, NULL, &memory, &err))
            fail_msg("%s: %s", text, err.message);
        double live = 0, actual = 0; int at = 0;
        for (int s = 0; s < memory.n_stages; s++) {
            if ((double)memory.stage[s].actual_peak > actual) at = s;
            live = fmax(live, (double)memory.stage[s].used_peak / 0x1p30);
            actual = fmax(actual, (double)memory.stage[s].actual_peak / 1);
        }
        actual /= 0x1p30;
        double want = atof(cell(csv, "mem_gib"));
        printf("%-14s dp%3d t%d p%d cp%d %-9s %-40s live %6.1f reserved %6.1f measured %5.1f  %+.1f %% (%d: %s)\n", cell(csv, "model"), dp,
               whole(csv, "tp"), pp, whole(csv, "cp"), cell(csv, "recompute"), cell(csv, "precision"), live, actual, want,
               100 * (actual / want - 1), at, memory.stage[at].operator_name);
        if (getenv("TOP")) for (int i = 0; i < memory.stage[at].n_top; i++)
            printf("     %s: %.2f x %d\n", memory.stage[at].top[i].name, (double)memory.stage[at].top[i].bytes / 0x1p30, memory.stage[at].top[i].count);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
    ek__csv_close(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(titan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
