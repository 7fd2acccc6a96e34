/* Tests the settings of how a step runs, for each kind of file: every argument and key changes its own field of
 * ek_job_run and no other, and settings that a framework refuses or ignores are reported. */
#include "evenkeel/cost.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "input.h"

#include <math.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static char folder[] = "/tmp/ek_job_run_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void write_file(const char *name, const char *text, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static ek_job read_job(const char *name, const char *text, const ek_job_overrides *overrides, said *s)
{
    char path[256];
    ek_job job;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    *s = (said){0};
    write_file(name, text, path, sizeof path);
    ek_status status = ek_job_read(path, overrides, &listener, &job, &err);
    unlink(path);
    if (status)
        fail_msg("%s: %d:%d: %s", text, err.line, err.column, err.message);
    return job;
}

/* ---- a field by name ---- */

typedef enum type { SWITCH, NUMBER, BYTES } type;

static const struct {
    const char *name;
    size_t at;
    type type;
} fields[] = {
#define FIELD(name, type)                                                                                              \
    {                                                                                                                  \
#name, offsetof(ek_job_run, name), type                                                                        \
    }
    FIELD(overlap_gradients, SWITCH),
    FIELD(overlap_weights, SWITCH),
    FIELD(overlap_tensor, SWITCH),
    FIELD(overlap_expert, SWITCH),
    FIELD(send_once, SWITCH),
    FIELD(overlap_p2p, SWITCH),
    FIELD(bucket_bytes, BYTES),
    FIELD(reduce_bytes, NUMBER),
    FIELD(launch, NUMBER),
    FIELD(fused_optimizer, SWITCH),
    FIELD(offload_optimizer, SWITCH),
    FIELD(fp8, NUMBER),
    FIELD(fp8_gather, SWITCH),
    FIELD(sums_every_micro_batch, SWITCH),
    FIELD(overlap_tensor_gradients, SWITCH),
    FIELD(overlap_shared, SWITCH),
    FIELD(overlap_p2p_interleaved, SWITCH),
    FIELD(first_stage_buckets, SWITCH),
    FIELD(layer_buckets, SWITCH),
    FIELD(p2p_scattered, SWITCH),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static double value_of(const ek_job_run *run, int i)
{
    const char *at = (const char *)run + fields[i].at;
    if (fields[i].type == SWITCH)
        return *(const bool *)at;
    return fields[i].type == NUMBER ? *(const int *)at : *(const double *)at;
}

typedef struct expected {
    const char *text;     /* after the base */
    const char *field[3]; /* those that change, NULL at the end */
    double value[3];
    const char *warning; /* part of one; NULL: none */
} expected;

/* Against `base`, the fields named change to their values and no other field changes. */
static void check_line(const char *name, const ek_job_run *base, const expected *e, const ek_job *job, const said *s)
{
    for (int i = 0; i < N_FIELDS; i++) {
        double wanted = value_of(base, i);
        for (int k = 0; k < 3 && e->field[k]; k++)
            if (strcmp(e->field[k], fields[i].name) == 0)
                wanted = e->value[k];
        if (value_of(&job->run, i) != wanted)
            fail_msg("%s: '%s': %s is %g, expected %g", name, e->text, fields[i].name, value_of(&job->run, i), wanted);
    }
    if (e->warning ? !strstr(s->text, e->warning) : s->n_warnings > 0)
        fail_msg("%s: '%s': expected %s, got %s", name, e->text, e->warning ? e->warning : "no warning", s->text);
}

/* ---- Megatron ---- */

#define BASE                                                                                                           \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 "               \
    "--global-batch-size 64 --vocab-size 32000 --data-parallel-size 8 --tensor-model-parallel-size 2 "                 \
    "--sequence-parallel --pipeline-model-parallel-size 2 --num-experts 8 --use-flash-attn "
#define BF16  BASE "--bf16 "
#define SHARE "--use-distributed-optimizer "

static const expected megatron[] = {
    {"", {NULL}, {0}, NULL},
    {"--overlap-grad-reduce", {"overlap_gradients", "bucket_bytes"}, {1, 40e6 * 4}, NULL},
    {"--overlap-grad-reduce --ddp-bucket-size 1000", {"overlap_gradients", "bucket_bytes"}, {1, 4000}, NULL},
    {"--overlap-grad-reduce --grad-reduce-in-bf16",
     {"overlap_gradients", "bucket_bytes", "reduce_bytes"},
     {1, 80e6, 2},
     NULL},
    {"--grad-reduce-in-bf16", {"reduce_bytes"}, {2}, NULL},
    {"--ddp-bucket-size 1000", {NULL}, {0}, "--ddp-bucket-size does nothing without --overlap-grad-reduce"},
    {SHARE "--overlap-grad-reduce --overlap-param-gather",
     {"overlap_gradients", "bucket_bytes", "overlap_weights"},
     {1, 40e6 * 4, 1},
     NULL},
    {SHARE "--overlap-param-gather", {NULL}, {0}, "--overlap-param-gather needs --overlap-grad-reduce"},
    {"--overlap-grad-reduce --overlap-param-gather",
     {"overlap_gradients", "bucket_bytes"},
     {1, 40e6 * 4},
     "--overlap-param-gather needs --use-distributed-optimizer"},
    {"--tp-comm-overlap", {"overlap_tensor"}, {1}, NULL},
    {"--tp-comm-overlap --disable-tp-comm-overlap-ag", {"overlap_tensor"}, {1}, NULL},
    {"--tp-comm-overlap --disable-tp-comm-overlap-ag --disable-tp-comm-overlap-rs", {NULL}, {0}, NULL},
    {"--use-ascend-mc2", {"overlap_tensor"}, {1}, NULL},
    {"--use-mc2", {"overlap_tensor"}, {1}, NULL},
    {"--use-ascend-coc", {"overlap_tensor"}, {1}, NULL},
    {"--no-async-tensor-model-parallel-allreduce", {"overlap_tensor_gradients"}, {0}, NULL},
    {"--num-layers-per-virtual-pipeline-stage 2", {"overlap_p2p"}, {1}, NULL},
    {"--num-layers-per-virtual-pipeline-stage 2 --overlap-p2p-communication", {"overlap_p2p"}, {1}, NULL},
    {"--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --no-overlap-p2p-communication",
     {"overlap_p2p_interleaved"},
     {0},
     "--pipeline-model-parallel-size is given again"},
    {"--no-overlap-p2p-communication", {"overlap_p2p_interleaved"}, {0}, NULL},
    {"--overlap-p2p-communication", {NULL}, {0}, "--overlap-p2p-communication has no effect without interleaved"},
    {"--no-scatter-gather-tensors-in-pipeline", {"p2p_scattered"}, {0}, NULL},
    {"--moe-shared-expert-overlap", {"overlap_shared"}, {1}, NULL},
    {"--overlap-moe-expert-parallel-comm", {"overlap_expert"}, {1}, NULL},
    {"--moe-fb-overlap", {"overlap_expert"}, {1}, NULL},
    {"--moe-alltoall-overlap-comm", {"overlap_expert"}, {1}, NULL},
    {"--moe-allgather-overlap-comm", {"overlap_expert"}, {1}, NULL},
    {"--moe-token-dispatcher-type alltoall", {NULL}, {0}, NULL},
    {"--moe-token-dispatcher-type flex --moe-enable-deepep", {"send_once"}, {1}, NULL},
    {"--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep", {"send_once"}, {1}, NULL},
    {"--fp8-format hybrid", {"fp8"}, {EK_FP8_DELAYED}, NULL},
    {"--fp8 e4m3", {"fp8"}, {EK_FP8_DELAYED}, NULL},
    {"--fp8-hybrid", {"fp8"}, {EK_FP8_DELAYED}, NULL},
    {"--fp8-format e4m3 --fp8-recipe tensorwise", {"fp8"}, {EK_FP8_TENSORWISE}, NULL},
    {"--fp8-format e4m3 --fp8-recipe rowwise", {"fp8"}, {EK_FP8_ROWWISE}, NULL},
    {"--fp8-format e4m3 --fp8-recipe blockwise", {"fp8"}, {EK_FP8_BLOCKWISE}, NULL},
    {"--fp8-format e4m3 --fp8-recipe mxfp8", {"fp8"}, {EK_FP8_BLOCKWISE}, NULL},
    {"--fp8-format hybrid --fp8-param-gather", {"fp8", "fp8_gather"}, {EK_FP8_DELAYED, 1}, NULL},
    {"--fp8-recipe mxfp8", {NULL}, {0}, "--fp8-format is not given"},
    {"--fp8-format hybrid --transformer-impl local", {NULL}, {0}, "8-bit products need"},
    {"--enable-cuda-graph", {"launch"}, {EK_LAUNCH_GRAPH}, NULL},
    {"--external-cuda-graph", {"launch"}, {EK_LAUNCH_GRAPH}, NULL},
    {"--cuda-graph-impl transformer_engine", {"launch"}, {EK_LAUNCH_GRAPH}, NULL},
    {"--cuda-graph-impl none", {NULL}, {0}, NULL},
    {"--optimizer-cpu-offload", {"offload_optimizer"}, {1}, NULL},
    {"--optimizer-cpu-offload --optimizer-offload-fraction 1.0", {"offload_optimizer"}, {1}, NULL},
    {"--optimizer-cpu-offload --optimizer-offload-fraction 0.5", {NULL}, {0}, "as if all stayed on the device"},
    {"--optimizer-cpu-offload --optimizer-offload-fraction 0", {NULL}, {0}, NULL},
    {"--delay-wgrad-compute", {NULL}, {0}, "--delay-wgrad-compute is not modelled"},
    {"--use-sharp", {NULL}, {0}, "--use-sharp is not modelled"},
};

static void every_argument_of_megatron_flips_its_field(void **state)
{
    (void)state;
    const ek_job_run base = {.reduce_bytes = 4,
                             .fused_optimizer = true,
                             .overlap_tensor_gradients = true,
                             .overlap_p2p_interleaved = true,
                             .p2p_scattered = true,
                             .first_stage_buckets = true};
    for (size_t i = 0; i < sizeof megatron / sizeof *megatron; i++) {
        char text[2048];
        said s;
        snprintf(text, sizeof text, BF16 "%s\n", megatron[i].text);
        ek_job job = read_job("run.sh", text, NULL, &s);
        check_line("Megatron", &base, &megatron[i], &job, &s);
        ek_job_clear(&job);
    }
}

/* Buckets grow with the data-parallel ranks, those of the command line included; 16-bit gradients halve them. */
static void buckets_of_megatron_grow_with_the_ranks(void **state)
{
    (void)state;
    said s;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.data = 64;
    ek_job job = read_job("run.sh", BF16 "--overlap-grad-reduce\n", &overrides, &s);
    assert_true(job.run.bucket_bytes == 64e6 * 4);
    ek_job_clear(&job);
    job = read_job("run.sh", BASE "--fp16 --overlap-grad-reduce\n", NULL, &s);
    assert_true(job.run.bucket_bytes == 40e6 * 2);
    ek_job_clear(&job);
}

/* Transfers run beside computing only with interleaved stages; also where a plan or the command line makes them. */
static void transfers_overlap_where_stages_interleave(void **state)
{
    (void)state;
    said s;
    ek_error err;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.n_chunks = 2;
    ek_job job = read_job("run.sh", BF16 "\n", &overrides, &s);
    assert_true(job.run.overlap_p2p);
    ek_job_clear(&job);
    overrides.pipeline = 4; /* of 2 stages it would not run */
    job = read_job("run.sh", BF16 "--no-overlap-p2p-communication\n", &overrides, &s);
    assert_false(job.run.overlap_p2p);
    ek_job_clear(&job);
    job = read_job("run.sh", BF16 "\n", NULL, &s);
    assert_false(job.run.overlap_p2p);
    ek_plan plan;
    assert_int_equal(ek_plan_init(&plan, 2, 2, &err), EK_OK);
    for (int c = 0; c < 4; c++)
        plan.layers[c] = 2;
    const ek_job_change change = {.plan = &plan, .schedule = ek_schedule_find("interleaved")};
    ek_job with;
    assert_int_equal(ek_job_with(&job, &change, &with, &err), EK_OK);
    assert_true(with.run.overlap_p2p);
    ek_job_clear(&with);
    ek_plan_clear(&plan);
    ek_job_clear(&job);
}

/* ---- ranks that share states ---- */

#define ALONE                                                                                                          \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 "               \
    "--global-batch-size 64 --vocab-size 32000 --data-parallel-size 8 --tensor-model-parallel-size 2 "                 \
    "--use-flash-attn --untie-embeddings-and-output-weights "
/* Of a layer's matrices on a rank: 12 H^2 / t. */
#define LAYER (12.0 * 1024 * 1024 / 2)

static const struct {
    const char *text;
    int weight, gradient, optimizer, gathered;
    bool shard_weight, shard_gradient, shard_optimizer;
    int ahead, scattered;
    ek_gather gather;
    double bucket;
    bool every_micro_batch;
    const char *warning;
} sharded[] = {
    {"--bf16", 2, 4, 12, 0, false, false, false, 0, 0, EK_GATHER_NONE, 0, false, NULL},
    /* FSDP2 of 16-bit weights, and of fp32 ones */
    {"--bf16 --use-torch-fsdp2", 2, 0, 16, 2, true, true, true, 1, 2, EK_GATHER_LAYER, 2 * LAYER, true, NULL},
    {"--use-torch-fsdp2", 4, 0, 8, 4, true, true, true, 1, 4, EK_GATHER_LAYER, 4 * LAYER, true, NULL},
    {"--bf16 --use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward", 2, 0, 16, 2, true, true, true, 0, 2,
     EK_GATHER_STEP, 2 * LAYER, true, NULL},
    /* Megatron-FSDP by its levels */
    {"--bf16 --use-megatron-fsdp", 2, 4, 12, 0, false, false, false, 0, 0, EK_GATHER_NONE, 0, false, NULL},
    {"--bf16 --use-megatron-fsdp --use-distributed-optimizer", 2, 4, 12, 0, false, false, true, 0, 0, EK_GATHER_NONE, 0,
     false, NULL},
    {"--bf16 --use-custom-fsdp --data-parallel-sharding-strategy optim", 2, 4, 12, 0, false, false, true, 0, 0,
     EK_GATHER_NONE, 0, false, NULL},
    {"--bf16 --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", 2, 4, 12, 0, false, true, true, 0, 8,
     EK_GATHER_NONE, 4 * LAYER, true, NULL},
    {"--bf16 --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params", 2, 4, 12, 2, true, true, true,
     1, 8, EK_GATHER_LAYER, 4 * LAYER, true, NULL},
    {"--bf16 --data-parallel-sharding-strategy optim", 2, 4, 12, 0, false, false, false, 0, 0, EK_GATHER_NONE, 0, false,
     "--data-parallel-sharding-strategy does nothing without --use-megatron-fsdp"},
    /* ZeRO of Megatron-DeepSpeed */
    {"--fp16 --deepspeed --zero-stage 0", 2, 2, 16, 0, false, false, false, 0, 0, EK_GATHER_NONE, 0, false, NULL},
    {"--fp16 --deepspeed", 2, 2, 16, 0, false, false, true, 0, 0, EK_GATHER_NONE, 0, false, NULL},
    {"--bf16 --deepspeed --zero-stage 1", 2, 4, 12, 0, false, false, true, 0, 0, EK_GATHER_NONE, 0, false, NULL},
    {"--bf16 --deepspeed --zero-stage 2", 2, 2, 16, 0, false, true, true, 0, 0, EK_GATHER_NONE, 0, true, NULL},
    {"--fp16 --deepspeed --zero-stage 3", 2, 2, 16, 2, true, true, true, 0, 0, EK_GATHER_LAYER, 2 * 5e8, true, NULL},
    {"--fp16 --zero-stage 3", 2, 2, 16, 0, false, false, false, 0, 0, EK_GATHER_NONE, 0, false,
     "--zero-stage does nothing without --deepspeed"},
};

static void every_level_of_sharing_sets_the_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sharded / sizeof *sharded; i++) {
        char text[2048];
        said s;
        snprintf(text, sizeof text, ALONE "%s\n", sharded[i].text);
        ek_job job = read_job("run.sh", text, NULL, &s);
        const ek_job_states *is = &job.states;
        const struct {
            const char *name;
            double is, expected;
        } values[] = {{"weight", is->weight, sharded[i].weight},
                      {"gradient", is->gradient, sharded[i].gradient},
                      {"optimizer", is->optimizer, sharded[i].optimizer},
                      {"gathered", is->gathered, sharded[i].gathered},
                      {"shard_weight", is->shard_weight, sharded[i].shard_weight},
                      {"shard_gradient", is->shard_gradient, sharded[i].shard_gradient},
                      {"shard_optimizer", is->shard_optimizer, sharded[i].shard_optimizer},
                      {"gathered_ahead", is->gathered_ahead, sharded[i].ahead},
                      {"scattered_bytes", is->scattered_bytes, sharded[i].scattered},
                      {"weight_gather", job.rules.weight_gather, sharded[i].gather},
                      {"bucket_bytes", job.run.bucket_bytes, sharded[i].bucket},
                      {"layer_buckets", job.run.layer_buckets, sharded[i].bucket > 0 && sharded[i].bucket < 1e9},
                      {"sums_every_micro_batch", job.run.sums_every_micro_batch, sharded[i].every_micro_batch}};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            if (values[k].is != values[k].expected)
                fail_msg("'%s': %s is %g, expected %g", sharded[i].text, values[k].name, values[k].is,
                         values[k].expected);
        if (sharded[i].warning ? !strstr(s.text, sharded[i].warning) : s.n_warnings > 0)
            fail_msg("'%s' says %s", sharded[i].text, s.text);
        ek_job_clear(&job);
    }
}

static void what_does_not_go_with_sharing_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } refusals[] = {
        {"--bf16 --use-torch-fsdp2 --pipeline-model-parallel-size 2", "--use-torch-fsdp2 does not go with pipeline"},
        {"--bf16 --use-torch-fsdp2 --num-experts 8 --expert-model-parallel-size 2",
         "--use-torch-fsdp2 does not go with expert parallelism"},
        {"--bf16 --use-torch-fsdp2 --use-distributed-optimizer", "leave that out, the states are shared anyway"},
        {"--bf16 --use-torch-fsdp2 --use-megatron-fsdp", "--use-megatron-fsdp does not go with --use-torch-fsdp2"},
        {"--bf16 --use-megatron-fsdp --data-parallel-sharding-strategy all",
         "--data-parallel-sharding-strategy is 'all', expected one of no_shard, optim, optim_grads"},
        {"--bf16 --deepspeed --zero-stage 4", "--zero-stage is '4', expected a whole number from 0 to 3"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[2048], path[256];
        ek_job job;
        ek_error err = {0};
        snprintf(text, sizeof text, ALONE "%s\n", refusals[i].text);
        write_file("run.sh", text, path, sizeof path);
        ek_status status = ek_job_read(path, NULL, NULL, &job, &err);
        unlink(path);
        assert_int_equal(status, EK_ERR_INPUT);
        if (!strstr(err.message, refusals[i].message) || err.line != 1)
            fail_msg("'%s': %d: %s", refusals[i].text, err.line, err.message);
    }
}

/* DeepSpeed's JSON beside the script goes before --zero-stage. */
static void the_stage_of_zero_is_read_from_deepspeeds_file(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool weight, gradient, offload, overlap;
        double bucket;
        const char *warning;
    } files[] = {
        {"{\"zero_optimization\": {\"stage\": 3}}", true, true, false, true, 1e9, NULL},
        {"{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true, \"reduce_bucket_size\": 1e6}}", false, true,
         false, true, 2e6, NULL},
        {"{\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": false, \"reduce_bucket_size\": \"auto\"}}", true,
         true, false, false, 0, NULL},
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}}", false, true, true,
         false, 0, NULL},
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"none\"}}}", false, true, false,
         false, 0, NULL},
        {"{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}}", true, true, false, true,
         1e9, "keeps weights on the host, which is not modelled"},
        {"{}", false, false, false, false, 0, NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        said s;
        write_file("zero.json", files[i].json, path, sizeof path);
        ek_job job =
            read_job("run.sh", ALONE "--fp16 --deepspeed --zero-stage 1 --deepspeed_config zero.json\n", NULL, &s);
        unlink(path);
        if (job.states.shard_weight != files[i].weight || job.states.shard_gradient != files[i].gradient ||
            job.run.offload_optimizer != files[i].offload || job.run.overlap_gradients != files[i].overlap ||
            job.run.bucket_bytes != files[i].bucket)
            fail_msg("%s: weights %d, gradients %d, offload %d, overlap %d, bucket %g", files[i].json,
                     job.states.shard_weight, job.states.shard_gradient, job.run.offload_optimizer,
                     job.run.overlap_gradients, job.run.bucket_bytes);
        if (files[i].warning ? !strstr(s.text, files[i].warning) : s.n_warnings > 0)
            fail_msg("%s says %s", files[i].json, s.text);
        ek_job_clear(&job);
    }
    said s;
    ek_job job = read_job("run.sh", ALONE "--fp16 --deepspeed --zero-stage 2 --deepspeed_config none.json\n", NULL, &s);
    assert_true(job.states.shard_gradient && !job.states.shard_weight);
    assert_non_null(strstr(s.text, "none.json is not read: "));
    ek_job_clear(&job);
}

/* Memory settings counted in elements, and their defaults (DeepSpeedZeroConfig). */
static void zero_has_buffers_counted_in_elements(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int n_buckets;
        double bucket, reuse, prefetch, live;
    } files[] = {
        {"\"stage\": 1", 0, 0, 0, 0, 0},
        {"\"stage\": 2", 1, 5e8, 0, 0, 0},
        {"\"stage\": 2, \"overlap_comm\": true, \"reduce_bucket_size\": 2e8", 2, 2e8, 0, 0, 0},
        {"\"stage\": 2, \"contiguous_gradients\": false", 1, 0, 0, 0, 0},
        {"\"stage\": 3", 1, 5e8, 1e9, 5e7, 1e9},
        {"\"stage\": 3, \"stage3_max_reuse_distance\": 0, \"stage3_prefetch_bucket_size\": 1e7, "
         "\"stage3_max_live_parameters\": 3e9",
         1, 5e8, 0, 1e7, 3e9},
        {"\"stage\": 3, \"stage3_prefetch_bucket_size\": \"auto\"", 1, 5e8, 1e9, 5e7, 1e9},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256], text[512];
        said s;
        snprintf(text, sizeof text, "{\"zero_optimization\": {%s}}", files[i].json);
        write_file("zero.json", text, path, sizeof path);
        ek_job job = read_job("run.sh", ALONE "--bf16 --deepspeed --deepspeed_config zero.json\n", NULL, &s);
        unlink(path);
        const ek_job_states *is = &job.states;
        if (is->n_buckets != files[i].n_buckets || is->bucket_elements != files[i].bucket ||
            is->reuse_elements != files[i].reuse || is->prefetch_elements != files[i].prefetch ||
            is->live_elements != files[i].live)
            fail_msg("%s: %d buckets of %g, reuse %g, ahead %g, live %g", files[i].json, is->n_buckets,
                     is->bucket_elements, is->reuse_elements, is->prefetch_elements, is->live_elements);
        assert_int_equal(s.n_warnings, 0);
        ek_job_clear(&job);
    }
}

/* ---- fewer micro-batches than stages ---- */

/* Every schedule runs them: memory grows with the micro-batches up to as many as stages, and the parts of a step add
 * up. A schedule that needs more is reported when the job is read. */
static void fewer_micro_batches_than_stages_run(void **state)
{
    (void)state;
    static const char *const names[] = {"1f1b",   "gpipe", "interleaved", "interleaved-less-memory",
                                        "zb-h1",  "zb-1p", "zb-2p",       "zb-v",
                                        "v-half", "v-min", "dualpipe",    "dualpipev"};
    enum { STAGES = 4 };
    int n_run = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int m = 1; m <= STAGES; m++) {
            char text[2048], path[256];
            ek_job job;
            ek_job_overrides overrides = ek_job_overrides_none();
            ek_memory memory;
            ek_step step;
            ek_error err = {0};
            overrides.schedule = ek_schedule_find(names[i]);
            assert_non_null(overrides.schedule);
            overrides.n_chunks = i >= 2 && i != 4 && i != 5 && i != 6 && i != 10 ? 2 : 1;
            snprintf(text, sizeof text,
                     "--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
                     "--micro-batch-size 1 --global-batch-size %d --vocab-size 32000 --data-parallel-size 1 --bf16 "
                     "--use-flash-attn --pipeline-model-parallel-size %d\n",
                     m, STAGES);
            write_file("run.sh", text, path, sizeof path);
            ek_status status = ek_job_read(path, &overrides, NULL, &job, &err);
            unlink(path);
            if (status == EK_ERR_INPUT &&
                (strstr(err.message, "needs at least") || strstr(err.message, "no multiple of")))
                continue; /* reported, not run */
            if (status || ek_memory_predict(&job, NULL, &memory, &err))
                fail_msg("%s, %d micro-batches: %s", names[i], m, err.message);
            for (int k = 0; k < STAGES; k++)
                if (memory.stage[k].alive <= 0 || memory.stage[k].alive > m)
                    fail_msg("%s: %g micro-batches alive of %d", names[i], memory.stage[k].alive, m);
            ek_memory_clear(&memory);
            if (ek_cost_step(&job, ek_device_find("H100"), NULL, &step, &err))
                fail_msg("%s, %d micro-batches: %s", names[i], m, err.message);
            for (int s = 0; s < step.n_stages; s++) {
                double sum = 0;
                for (int k = 0; k < EK_N_STEP_PARTS; k++)
                    sum += step.stage[s].seconds[k];
                if (!(fabs(sum / step.seconds - 1) < 1e-9))
                    fail_msg("%s, %d micro-batches, stage %d: parts are %g of %g s", names[i], m, s, sum, step.seconds);
            }
            ek_step_clear(&step);
            ek_job_clear(&job);
            n_run += m < STAGES;
        }
    }
    print_message("%d of %zu run with fewer\n", n_run, 3 * sizeof names / sizeof *names);
    assert_true(n_run >= 3 * 8);
}

/* ---- MindFormers ---- */

/* %s: after the root, context, parallel, optimizer. */
#define MINDFORMERS                                                                                                    \
    "context:\n  max_device_memory: \"58GB\"\n%srunner_config:\n  batch_size: 1\noptimizer:\n  type: %s\n"             \
    "parallel:\n  enable_parallel_optimizer: True\n%sparallel_config:\n  data_parallel: 2\n  pipeline_stage: 2\n"      \
    "  micro_batch_num: 4\nmodel:\n  model_config:\n    type: LlamaConfig\n    seq_length: 4096\n"                     \
    "    hidden_size: 4096\n    num_layers: 8\n    num_heads: 32\n    vocab_size: 32000\n    multiple_of: 256\n"       \
    "    compute_dtype: bfloat16\n    param_init_type: float32\n    use_flash_attention: True\n"                       \
    "recompute_config:\n  recompute: False\n"

#define SPEED_UP "  ascend_config:\n    parallel_speed_up_json:\n      "

static const struct {
    const char *context, *optimizer, *parallel;
    expected e;
} mindformers[] = {
    {"", "AdamW", "", {"", {NULL}, {0}, NULL}},
    {"  mode: 0\n", "AdamW", "", {"mode 0", {NULL}, {0}, NULL}},
    {"  mode: GRAPH_MODE\n", "AdamW", "", {"GRAPH_MODE", {NULL}, {0}, NULL}},
    {"  mode: 1\n", "AdamW", "", {"mode 1", {"launch"}, {EK_LAUNCH_EAGER}, NULL}},
    {"  mode: PYNATIVE_MODE\n", "AdamW", "", {"PYNATIVE_MODE", {"launch"}, {EK_LAUNCH_EAGER}, NULL}},
    {"", "FusedAdamWeightDecay", "", {"fused", {"fused_optimizer"}, {1}, NULL}},
    {"", "AdamW\n  use_fused: True", "", {"use_fused", {"fused_optimizer"}, {1}, NULL}},
    {"", "AdamW\n  swap: True", "", {"swap", {"offload_optimizer"}, {1}, NULL}},
    {"", "AdamW", "  gradient_fp32_sync: False\n", {"gradient_fp32_sync", {"reduce_bytes"}, {2}, NULL}},
    {"",
     "AdamW",
     "  comm_fusion: {reducescatter: {mode: size, config: 32}}\n",
     {"comm_fusion", {"bucket_bytes"}, {32 * 1048576.}, NULL}},
    {"", "AdamW", "  comm_fusion: {allreduce: {mode: size, config: 32}}\n", {"other fusion", {NULL}, {0}, NULL}},
    {"",
     "AdamW",
     "  parallel_optimizer_config: {gradient_accumulation_shard: True}\n",
     {"sharded gradients", {"sums_every_micro_batch"}, {1}, NULL}},
    {SPEED_UP "matmul_grad_comm_overlap: True\n", "AdamW", "", {"dw", {"overlap_tensor_gradients"}, {1}, NULL}},
    {SPEED_UP "grad_matmul_communication_overlap: True\n",
     "AdamW",
     "",
     {"dw, newer", {"overlap_tensor_gradients"}, {1}, NULL}},
    {SPEED_UP "compute_communicate_fusion_level: 3\n", "AdamW", "", {"MC2", {"overlap_tensor"}, {1}, NULL}},
    {SPEED_UP "computation_communication_fusion_level: 1\n", "AdamW", "", {"MC2", {"overlap_tensor"}, {1}, NULL}},
    {SPEED_UP "computation_communication_fusion_level: 0\n", "AdamW", "", {"MC2 off", {NULL}, {0}, NULL}},
    {"  ascend_config:\n    parallel_speed_up_json_path: ./none.json\n",
     "AdamW",
     "",
     {"no file", {NULL}, {0}, "./none.json is not read: "}},
};

static const ek_job_run of_mindformers = {.overlap_gradients = true,
                                          .overlap_weights = true,
                                          .overlap_p2p = true,
                                          .bucket_bytes = 64 * 1048576.,
                                          .reduce_bytes = 4,
                                          .launch = EK_LAUNCH_GRAPH};

static void every_key_of_mindformers_flips_its_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mindformers / sizeof *mindformers; i++) {
        char text[4096];
        said s;
        snprintf(text, sizeof text, MINDFORMERS, mindformers[i].context, mindformers[i].optimizer,
                 mindformers[i].parallel);
        ek_job job = read_job("run.yaml", text, NULL, &s);
        check_line("MindFormers", &of_mindformers, &mindformers[i].e, &job, &s);
        ek_job_clear(&job);
    }
}

/* The file of switches lies beside the job's. */
static void the_file_of_switches_is_read_from_the_jobs_folder(void **state)
{
    (void)state;
    char text[4096], path[256];
    said s;
    const expected e = {"file", {"overlap_tensor", "overlap_tensor_gradients"}, {1, 1}, NULL};
    snprintf(text, sizeof text, MINDFORMERS, "  ascend_config:\n    parallel_speed_up_json_path: ./speed.json\n",
             "AdamW", "");
    write_file("speed.json", "{\"compute_communicate_fusion_level\": 2, \"matmul_grad_comm_overlap\": true}", path,
               sizeof path);
    ek_job job = read_job("run.yaml", text, NULL, &s);
    check_line("MindFormers", &of_mindformers, &e, &job, &s);
    ek_job_clear(&job);
    unlink(path);
    write_file("speed.json", "[1]", path, sizeof path);
    job = read_job("run.yaml", text, NULL, &s);
    assert_non_null(strstr(s.text, "it is no map of settings; its switches are taken as off"));
    ek_job_clear(&job);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    job = read_job("run.yaml", text, NULL, &s);
    assert_non_null(strstr(s.text, "./speed.json is not read: it is no file"));
    ek_job_clear(&job);
    unlink(path);
}

/* ---- MindSpeed-Core-MS, Hugging Face ---- */

#define MINDSPEED                                                                                                      \
    "parallel_config:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  data_parallel_size: 4\n"  \
    "model_config:\n  num_layers: 8\n  hidden_size: 1024\n  num_attention_heads: 16\n  seq_length: 2048\n"             \
    "  vocab_size: 32000\n  ffn_hidden_size: 4096\ntraining_config:\n  micro_batch_size: 1\n  global_batch_size: 64\n" \
    "  bf16: True\n"

static const expected mindspeed[] = {
    {"", {NULL}, {0}, NULL},
    {"  overlap_grad_reduce: True\n", {"overlap_gradients", "bucket_bytes"}, {1, 40e6 * 4}, NULL},
    {"  overlap_grad_reduce: True\n  bucket_size: 1000\n", {"overlap_gradients", "bucket_bytes"}, {1, 4000}, NULL},
    {"  overlap_grad_reduce: True\n  bucket_size: null\n", {"overlap_gradients", "bucket_bytes"}, {1, 40e6 * 4}, NULL},
    {"  overlap_grad_reduce: True\n  overlap_param_gather: True\n  use_distributed_optimizer: True\n",
     {"overlap_gradients", "bucket_bytes", "overlap_weights"},
     {1, 40e6 * 4, 1},
     NULL},
    {"  moe_shared_expert_overlap: True\n", {"overlap_shared"}, {1}, NULL},
    {"  virtual_pipeline_model_parallel_size: 2\n", {"overlap_p2p"}, {1}, NULL},
    {"context:\n  mode: 0\n", {"launch"}, {EK_LAUNCH_GRAPH}, NULL},
};

static void every_key_of_mindspeed_flips_its_field(void **state)
{
    (void)state;
    const ek_job_run base = {.reduce_bytes = 4,
                             .fused_optimizer = true,
                             .overlap_tensor_gradients = true,
                             .overlap_p2p_interleaved = true,
                             .p2p_scattered = true,
                             .first_stage_buckets = true};
    for (size_t i = 0; i < sizeof mindspeed / sizeof *mindspeed; i++) {
        char text[4096];
        said s;
        snprintf(text, sizeof text, MINDSPEED "%s", mindspeed[i].text);
        ek_job job = read_job("run.yaml", text, NULL, &s);
        check_line("MindSpeed-Core-MS", &base, &mindspeed[i], &job, &s);
        ek_job_clear(&job);
    }
}

/* The file with one key of so much, at its root, and its other lines as they are. */
static ek_error read_with(const char *key, const char *value)
{
    char text[4096] = "", path[256], line[128];
    ek_job job;
    ek_error err = {0};
    for (const char *at = MINDSPEED, *end; (end = strchr(at, '\n')); at = end + 1) {
        const char *name = at + strspn(at, " ");
        if (strncmp(name, key, strlen(key)) != 0 || name[strlen(key)] != ':')
            strncat(text, at, (size_t)(end + 1 - at));
    }
    snprintf(line, sizeof line, "%s: %s\n", key, value);
    strcat(text, line);
    write_file("run.yaml", text, path, sizeof path);
    if (ek_job_read(path, NULL, NULL, &job, &err) == EK_OK)
        ek_job_clear(&job);
    unlink(path);
    return err;
}

/* The limits are in include/evenkeel/layers.h and src/job/job_internal.h. Other tests check the effects of numbers
 * within them. */
static void numbers_of_mindspeed_are_taken_up_to_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        long long least, most;
    } numbers[] = {
        {"num_layers", 1, EK_MAX_LAYERS},
        {"hidden_size", 1, 1 << 20},
        {"num_attention_heads", 1, 1 << 16},
        {"num_query_groups", 1, 1 << 16},
        {"kv_channels", 1, 1 << 20},
        {"ffn_hidden_size", 1, 1 << 24},
        {"seq_length", 1, 1 << 28},
        {"max_position_embeddings", 1, 1 << 28},
        {"mtp_num_layers", 0, EK_MAX_LAYERS},
        {"vocab_size", 1, 1 << 24},
        {"padded_vocab_size", 1, 1 << 24},
        {"make_vocab_size_divisible_by", 1, 1 << 20},
        {"tensor_model_parallel_size", 1, EK_MAX_RANKS},
        {"pipeline_model_parallel_size", 1, EK_MAX_STAGES},
        {"context_parallel_size", 1, EK_MAX_RANKS},
        {"expert_model_parallel_size", 1, EK_MAX_RANKS},
        {"expert_tensor_parallel_size", 1, EK_MAX_RANKS},
        {"data_parallel_size", 1, EK_MAX_RANKS},
        {"ulysses_degree_in_cp", 1, EK_MAX_RANKS},
        {"global_batch_size", 1, 1 << 30},
        {"micro_batch_num", 1, EK_MAX_MICRO_BATCHES},
        {"micro_batch_size", 1, 1 << 16},
        {"num_moe_experts", 1, 1 << 16},
        {"num_experts", 1, 1 << 16},
        {"moe_router_topk", 1, 1 << 16},
        {"moe_ffn_hidden_size", 1, 1 << 24},
        {"moe_shared_expert_intermediate_size", 0, 1 << 24},
        {"first_k_dense_replace", 0, EK_MAX_LAYERS},
        {"moe_layer_freq", 1, EK_MAX_LAYERS},
        {"virtual_pipeline_model_parallel_size", 1, EK_MAX_CHUNKS},
        {"recompute_num_layers", 1, EK_MAX_LAYERS},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char limits[128], name[64];
        snprintf(limits, sizeof limits, "a whole number from %lld to %lld", numbers[i].least, numbers[i].most);
        snprintf(name, sizeof name, "%s is ", numbers[i].key);
        for (int k = 0; k < 3; k++) {
            const char *out = outside(k, numbers[i].least, numbers[i].most, "two");
            ek_error err = read_with(numbers[i].key, out);
            if (strncmp(err.message, name, strlen(name)) != 0 || !strstr(err.message, limits) || err.line < 1)
                fail_msg("%s %s: %d: %s", numbers[i].key, out, err.line, err.message);
        }
        for (int k = 0; k < 2; k++) {
            char in[32];
            snprintf(in, sizeof in, "%lld", k ? numbers[i].most : numbers[i].least);
            ek_error err = read_with(numbers[i].key, in);
            if (strstr(err.message, "a whole number from"))
                fail_msg("%s %s: %s", numbers[i].key, in, err.message);
        }
    }
}

static void a_model_alone_runs_as_pytorchs_data_parallelism(void **state)
{
    (void)state;
    said s;
    ek_job job = read_job("config.json",
                          "{\"model_type\": \"llama\", \"num_hidden_layers\": 4, \"hidden_size\": 256, "
                          "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 32000, "
                          "\"max_position_embeddings\": 2048}",
                          NULL, &s);
    assert_true(job.run.overlap_gradients && !job.run.overlap_weights && !job.run.overlap_tensor);
    assert_true(job.run.bucket_bytes == 25 * 1048576.);
    assert_int_equal(job.run.launch, EK_LAUNCH_EAGER);
    assert_int_equal(job.run.fp8, EK_FP8_NONE);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_of_megatron_flips_its_field),
        cmocka_unit_test(buckets_of_megatron_grow_with_the_ranks),
        cmocka_unit_test(transfers_overlap_where_stages_interleave),
        cmocka_unit_test(every_level_of_sharing_sets_the_states),
        cmocka_unit_test(what_does_not_go_with_sharing_is_refused),
        cmocka_unit_test(the_stage_of_zero_is_read_from_deepspeeds_file),
        cmocka_unit_test(zero_has_buffers_counted_in_elements),
        cmocka_unit_test(fewer_micro_batches_than_stages_run),
        cmocka_unit_test(every_key_of_mindformers_flips_its_field),
        cmocka_unit_test(the_file_of_switches_is_read_from_the_jobs_folder),
        cmocka_unit_test(every_key_of_mindspeed_flips_its_field),
        cmocka_unit_test(numbers_of_mindspeed_are_taken_up_to_their_limits),
        cmocka_unit_test(a_model_alone_runs_as_pytorchs_data_parallelism),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
