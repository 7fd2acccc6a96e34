/* Tests rules of frameworks that determine the memory of a stage: the attention mask, the length of sequences, the
 * least number of micro-batches of a pipeline, the ranks that share the optimizer's states. Each is checked against a
 * second implementation here, from the framework's source, or against another job that must have the same memory. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <unistd.h>

#include "evenkeel/memory.h"
#include "memory/program.h"

/* ---- files made for a case ---- */

static const char *scratch(void)
{
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/test_framework_rules_%ld", (long)getpid());
    return path;
}

static ek_status read_text(const char *text, const ek_job_overrides *overrides, said *heard, ek_job *job)
{
    FILE *file = fopen(scratch(), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    ek_error err = {0};
    *heard = (said){0};
    const ek_listener listener = {say_warning, heard};
    ek_status status = ek_job_read(scratch(), overrides, &listener, job, &err);
    unlink(scratch());
    if (status)
        say(heard, "", &err);
    return status;
}

static ek_job read_good(const char *text, const ek_job_overrides *overrides, said *heard)
{
    ek_job job;
    if (read_text(text, overrides, heard, &job) != EK_OK)
        fail_msg("refused: %s\n%s", heard->text, text);
    return job;
}

static ek_memory predict(const ek_job *job)
{
    const ek_memory_options options = {.without_allocation = true, .without_top = true};
    ek_memory memory;
    ek_error err = {0};
    if (ek_memory_predict(job, &options, &memory, &err))
        fail_msg("%s", err.message);
    return memory;
}

/* ---- masks ---- */

#define OLDER                                                                                                          \
    "    type: LlamaConfig\n    num_layers: 4\n    hidden_size: 256\n    num_heads: 4\n    vocab_size: 512\n"          \
    "    seq_length: 2048\n    compute_dtype: bfloat16\n"
#define NEWER                                                                                                          \
    "    model_type: qwen3\n    num_hidden_layers: 4\n    hidden_size: 256\n    num_attention_heads: 4\n"              \
    "    intermediate_size: 512\n    vocab_size: 512\n    seq_length: 2048\n    compute_dtype: bfloat16\n"
#define GLM                                                                                                            \
    "    type: ChatGLM2Config\n    num_layers: 4\n    hidden_size: 256\n    num_heads: 4\n    ffn_hidden_size: 512\n"  \
    "    padded_vocab_size: 512\n    seq_length: 2048\n    compute_dtype: bfloat16\n"

#define TELECHAT                                                                                                       \
    "    type: TelechatConfig\n    num_layers: 4\n    hidden_size: 256\n    num_heads: 4\n    vocab_size: 512\n"       \
    "    seq_length: 2048\n    compute_dtype: bfloat16\n"

typedef enum built { REFUSED, NONE, SMALL, WHOLE, EACH } built;

/* construct() of the models: LlamaModel, ChatGLM2Model and TelechatModel of r1.5, GPTModel. */
static built mask_of(const char *model, bool flash, bool ring, bool compressed, bool by_documents, bool given)
{
    bool llama = strcmp(model, OLDER) == 0, newer = strcmp(model, NEWER) == 0;
    if (strcmp(model, TELECHAT) == 0) /* it only supports compression */
        return compressed ? SMALL : WHOLE;
    if (!flash && (ring || (by_documents && (llama || newer))))
        return REFUSED;
    if (!llama && !newer) /* keys that ChatGLM2Config does not have */
        return given ? EACH : WHOLE;
    if (newer)
        return compressed || by_documents ? SMALL : given ? EACH : WHOLE;
    if (by_documents && !ring)
        return SMALL;
    if (given)
        return EACH;
    return ring ? NONE : compressed ? SMALL : WHOLE;
}

static const char *yes_or_no(int yes)
{
    return yes ? "True" : "False";
}

static char *mask_file(char text[2048], const char *model, int bits, const char *parallel)
{
    snprintf(text, 2048,
             "model:\n  model_config:\n%s    use_flash_attention: %s\n    use_ring_attention: %s\n"
             "    use_attn_mask_compression: %s\n    use_eod_attn_mask_compression: %s\nparallel_config: {%s}\n"
             "train_dataset: {construct_args_key: ['input_ids', 'labels'%s]}\n",
             model, yes_or_no(bits & 1), yes_or_no(bits & 2), yes_or_no(bits & 4), yes_or_no(bits & 8), parallel,
             bits & 16 ? ", 'attention_mask'" : "");
    return text;
}

static void masks_are_those_the_model_builds(void **state)
{
    (void)state;
    static const char *const models[] = {OLDER, NEWER, GLM, TELECHAT};
    const int64_t square = (int64_t)2048 * 2048, small = INT64_C(4) << 20;
    for (int m = 0; m < 4; m++)
        for (int bits = 0; bits < 32; bits++) {
            char text[2048];
            said heard;
            ek_job job;
            built wanted = mask_of(models[m], bits & 1, bits & 2, bits & 4, bits & 8, bits & 16);
            ek_status status = read_text(mask_file(text, models[m], bits, "data_parallel: 1"), NULL, &heard, &job);
            if (wanted == REFUSED) {
                if (status != EK_ERR_INPUT || !strstr(heard.text, "is on, but use_flash_attention is not"))
                    fail_msg("case %d of model %d: %s", bits, m, heard.text);
                continue;
            }
            if (status)
                fail_msg("case %d of model %d: %s", bits, m, heard.text);
            ek_job without = job;
            without.model.no_mask = true;
            int64_t shared = ek__stage_constants(&job, 0) - ek__stage_constants(&without, 0);
            if (shared != (wanted == SMALL   ? small
                           : wanted == WHOLE ? 2 * square
                                             : 0) ||
                ek__mask_bytes(&job) != (wanted == EACH ? square : 0))
                fail_msg("case %d of model %d: %lld bytes for all and %lld each, expected kind %d", bits, m,
                         (long long)shared, (long long)ek__mask_bytes(&job), (int)wanted);
            ek_job_clear(&job);
        }
}

/* The figure of a stage is less by the mask's bytes exactly. */
static void ring_attention_takes_off_the_masks_bytes(void **state)
{
    (void)state;
    char text[2048];
    said heard;
    ek_job with = read_good(mask_file(text, OLDER, 1, "pipeline_stage: 2, micro_batch_num: 4"), NULL, &heard);
    ek_job ring = read_good(mask_file(text, OLDER, 3, "pipeline_stage: 2, micro_batch_num: 4"), NULL, &heard);
    for (int own = 0; own < 2; own++) {
        with.rules.mask_per_micro_batch = ring.rules.mask_per_micro_batch = own;
        ek_memory a = predict(&with), b = predict(&ring);
        for (int s = 0; s < 2; s++) {
            int64_t less = a.stage[s].used_peak - b.stage[s].used_peak, alive = own ? 2 - s : 0;
            assert_int_equal(less, (2 + alive) * 2048 * 2048);
        }
        ek_memory_clear(&a);
        ek_memory_clear(&b);
    }
    ek_job_clear(&with);
    ek_job_clear(&ring);
}

/* A published file with a line inserted after the first one that begins with `key`, with the same indent; NULL without
 * one. */
static char *with_line(const char *text, const char *key, const char *line)
{
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        size_t indent = strspn(at, " ");
        if (strncmp(at + indent, key, strlen(key)) != 0)
            continue;
        const char *end = strchr(at, '\n');
        char *out = NULL;
        size_t n = 0;
        FILE *file = open_memstream(&out, &n);
        fwrite(text, 1, (size_t)(end + 1 - text), file);
        fprintf(file, "%*s%s\n%s", (int)indent, "", line, end + 1);
        fclose(file);
        return out;
    }
    return NULL;
}

/* Of every published file of Llama's family that runs without context parallelism. */
static int ring_of_published(const char *text)
{
    said heard;
    ek_job job, ring;
    char *changed = with_line(text, "use_flash_attention: True", "use_ring_attention: True");
    if (!changed || read_text(text, NULL, &heard, &job)) {
        free(changed);
        return 0;
    }
    /* TeleChat's and DeepSeek's models do not support it */
    bool own = job.model.kv_lora_rank > 0 || strstr(text, "TelechatConfig");
    bool fit = !own && job.framework == EK_MINDFORMERS && job.family == EK_FAMILY_LLAMA && job.parallel.context == 1 &&
               job.parallel.n_pieces == 1;
    if (fit) {
        if (read_text(changed, NULL, &heard, &ring))
            fail_msg("%s", heard.text);
        const int64_t length = job.parallel.seq_length,
                      mask = job.model.mask_compressed ? INT64_C(4) << 20 : 2 * length * length;
        ek_memory a = predict(&job), b = predict(&ring);
        for (int s = 0; s < a.n_stages; s++)
            assert_int_equal(a.stage[s].used_peak - b.stage[s].used_peak, mask);
        ek_memory_clear(&a);
        ek_memory_clear(&b);
        ek_job_clear(&ring);
    }
    ek_job_clear(&job);
    free(changed);
    return fit;
}

static void check_rings(const char *folder, int least)
{
    char path[4400];
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), size;
        if (length < 5 || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *text = slurp(path, &size);
        n += ring_of_published(text);
        free(text);
    }
    closedir(dir);
    print_message("%d files\n", n);
    assert_true(n >= least);
}

static void ring_attention_of_public_models(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    check_rings(folder, 8);
}

static void ring_attention_of_published_files(void **state)
{
    (void)state;
    check_rings(need_shared("reference/configs"), 15);
}

/* ---- lengths of sequences ---- */

/* The newer files leave it to the data set. */
#define OPEN                                                                                                           \
    "model:\n  model_config: {model_type: qwen3_moe, num_hidden_layers: 8, hidden_size: 256, intermediate_size: "      \
    "512,\n"                                                                                                           \
    "                 num_attention_heads: 8, num_key_value_heads: 4, head_dim: 64, vocab_size: 1024,\n"               \
    "                 max_position_embeddings: 40960, num_experts: 16, num_experts_per_tok: 4,\n"                      \
    "                 moe_intermediate_size: 64%s}\n"                                                                  \
    "parallel_config: {data_parallel: 1, model_parallel: 4, pipeline_stage: 2, micro_batch_num: 4, expert_parallel: "  \
    "4}\n"
#define DATA                                                                                                           \
    "train_dataset: &train_dataset\n  data_loader:\n    type: BlendedMegatronDatasetDataLoader\n"                      \
    "    config: {seed: 1, seq_length: 1024}\ntrain_dataset_task: {dataset_config: *train_dataset}\n"

static void a_missing_length_is_supplied(void **state)
{
    (void)state;
    static const struct {
        const char *what, *model, *data;
        int given, expected;
        const char *warning; /* NULL: none; an expected 0 is this message */
    } cases[] = {
        {"the model's own", ", seq_length: 512", DATA, 0, 512, NULL},
        {"the command line's before the model's", ", seq_length: 512", DATA, 256, 256, NULL},
        {"the data set's", "", DATA, 0, 1024,
         "train_dataset.data_loader.config.seq_length is 1024, which is taken as the model's seq_length"},
        {"the command line's before the data set's", "", DATA, 256, 256, NULL},
        {"the command line's alone", "", "", 256, 256, NULL},
        {"the data set's as a task of its own", "", "train_dataset_task: {dataset_config: {seq_length: 2048}}\n", 0,
         2048, "train_dataset_task.dataset_config.seq_length is 2048"},
        {"a whole-valued one", "", "train_dataset: {seq_length: 1024.0}\n", 0, 1024,
         "train_dataset.seq_length is 1024"},
        {"none", "", "", 0, 0, "model.model_config.seq_length is missing"},
        {"a fraction", "", "train_dataset: {seq_length: 0.5}\n", 0, 0, "7:29: train_dataset.seq_length is 0.5"},
        {"evaluation has nothing to do with it", "", "eval_dataset: {seq_length: 64}\n", 0, 0, "is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        said heard;
        ek_job job;
        ek_job_overrides overrides = ek_job_overrides_none();
        overrides.seq_length = cases[i].given;
        size_t n = (size_t)snprintf(text, sizeof text, OPEN, cases[i].model);
        snprintf(text + n, sizeof text - n, "%s", cases[i].data);
        ek_status status = read_text(text, &overrides, &heard, &job);
        if (cases[i].warning ? !strstr(heard.text, cases[i].warning) : heard.n_warnings > 0)
            fail_msg("%s: no '%s' in: %s", cases[i].what, cases[i].warning ? cases[i].warning : "nothing", heard.text);
        if ((status == EK_OK) != (cases[i].expected > 0))
            fail_msg("%s: status %d: %s", cases[i].what, status, heard.text);
        if (status)
            continue;
        if (job.parallel.seq_length != cases[i].expected || job.model.max_position != 40960)
            fail_msg("%s: %d tokens, expected %d", cases[i].what, job.parallel.seq_length, cases[i].expected);
        ek_memory memory = predict(&job);
        assert_true(memory.stage[0].used_peak > 0);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
}

/* ---- few micro-batches ---- */

static char *megatron(char text[1024], int p, int m, const char *more)
{
    snprintf(text, 1024,
             "--num-layers 24 --hidden-size 256 --num-attention-heads 4 --seq-length 512 --micro-batch-size 1 "
             "--padded-vocab-size 1024 --bf16 --use-flash-attn --swiglu --data-parallel-size 1 "
             "--pipeline-model-parallel-size %d --global-batch-size %d %s\n",
             p, m, more);
    return text;
}

static char *core_ms(char text[1024], int p, int m, const char *more)
{
    snprintf(text, 1024,
             "model_config: {num_layers: 24, hidden_size: 256, num_attention_heads: 4, seq_length: 512, vocab_size: "
             "1024, use_flash_attention: True}\n"
             "training_config: {micro_batch_size: 1, global_batch_size: %d, bf16: True}\n"
             "parallel_config: {tensor_model_parallel_size: 1, data_parallel_size: 1, pipeline_model_parallel_size: "
             "%d%s}\n",
             m, p, more);
    return text;
}

/* Live forwards of stage s under 1F1B by running it: p - s - 1 warm up, as far as there are that many; then a forward
 * and a backward in turn. */
static int most_alive(int p, int s, int m)
{
    int warm_up = p - s - 1 < m ? p - s - 1 : m, alive = 0, most = 0, done = 0, n = 0;
    while (done < m) {
        if (n < warm_up || (n < m && n - done == warm_up)) {
            n++;
            alive++;
        } else {
            done++;
            alive--;
        }
        most = alive > most ? alive : most;
    }
    return most;
}

static void fewer_micro_batches_than_stages_are_run(void **state)
{
    (void)state;
    static const int stages[] = {2, 3, 4, 6, 8};
    char text[1024];
    said heard;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (int m = 1; m <= stages[i] + 1; m++)
            for (int kind = 0; kind < 2; kind++) {
                int p = stages[i];
                ek_job job = read_good(kind ? megatron(text, p, m, "") : core_ms(text, p, m, ""), NULL, &heard);
                assert_int_equal(job.parallel.n_micro_batches, m);
                ek_memory memory = predict(&job);
                for (int s = 0; s < p; s++)
                    if (memory.stage[s].alive != most_alive(p, s, m))
                        fail_msg("p %d, m %d: %g micro-batches alive on stage %d, expected %d", p, m,
                                 memory.stage[s].alive, s, most_alive(p, s, m));
                ek_memory_clear(&memory);
                ek_job_clear(&job);
            }
}

static void too_few_micro_batches_are_refused_where_the_framework_does(void **state)
{
    (void)state;
    static const struct {
        bool core_ms;
        int p, m;
        const char *more, *said; /* NULL: it runs */
    } cases[] = {
        {false, 4, 2, "", NULL},
        {false, 4, 6, "--num-virtual-stages-per-pipeline-rank 2", "no multiple of 4 stages"},
        {false, 4, 2, "--num-virtual-stages-per-pipeline-rank 2", "gives 2 micro-batches, no multiple of 4 stages"},
        {false, 4, 8, "--num-virtual-stages-per-pipeline-rank 2", NULL},
        /* groups of 6, the last of 4 */
        {false, 4, 10, "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 6",
         NULL},
        {false, 4, 8, "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 6",
         "groups of 6"},
        {false, 4, 8, "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 3",
         "groups of 3"},
        {false, 4, 1, "--zero-bubble-v-schedule", NULL},
        {true, 4, 3, ", virtual_pipeline_model_parallel_size: 2", "no multiple of 4 stages"},
        {true, 4, 8, ", virtual_pipeline_model_parallel_size: 2", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        said heard;
        ek_job job;
        ek_status status = read_text(cases[i].core_ms ? core_ms(text, cases[i].p, cases[i].m, cases[i].more)
                                                      : megatron(text, cases[i].p, cases[i].m, cases[i].more),
                                     NULL, &heard, &job);
        if (cases[i].said ? status != EK_ERR_INPUT || !strstr(heard.text, cases[i].said) : status != EK_OK)
            fail_msg("case %zu: %s", i, heard.text);
        if (status == EK_OK) {
            ek_memory memory = predict(&job);
            ek_memory_clear(&memory);
            ek_job_clear(&job);
        }
    }
}

/* ---- ranks that share the optimizer's states ---- */

static int64_t optimizer_bytes(const ek_job *job)
{
    int64_t sum = 0;
    ek_memory memory = predict(job);
    for (int s = 0; s < memory.n_stages; s++)
        sum += memory.stage[s].part[EK_PART_OPTIMIZER];
    ek_memory_clear(&memory);
    return sum;
}

#define SHARING "--use-distributed-optimizer "
#define EXPERTS                                                                                                        \
    "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 128 --moe-grouped-gemm --expert-model-parallel-size 2 " \
    "--disable-bias-linear "

static int64_t megatron_bytes(int data, int instances, int context, const char *more, said *heard)
{
    char text[1024], degrees[512];
    snprintf(degrees, sizeof degrees,
             "%s--num-distributed-optimizer-instances %d --data-parallel-size %d --context-parallel-size %d", more,
             instances, data, context);
    ek_job job = read_good(megatron(text, 2, 16 * data, degrees), NULL, heard);
    int64_t bytes = optimizer_bytes(&job);
    ek_job_clear(&job);
    return bytes;
}

/* Copies of the distributed optimizer: each shares among a part of the ranks, so the job with as many ranks as that
 * part has the same states. */
static void copies_of_the_optimizer_hold_what_smaller_jobs_do(void **state)
{
    (void)state;
    static const int copies[] = {1, 2, 4, 8};
    said heard;
    for (int context = 1; context <= 2; context++)
        for (int experts = 0; experts < 2; experts++)
            for (int i = 0; i < 3 + !experts; i++) {
                const char *more = experts ? SHARING EXPERTS : SHARING;
                int64_t with = megatron_bytes(8, copies[i], context, more, &heard);
                assert_int_equal(with, megatron_bytes(8 / copies[i], 1, context, more, &heard));
                assert_true(i == 0 || with > megatron_bytes(8, 1, context, more, &heard));
            }
    assert_int_equal(megatron_bytes(8, 4, 1, "", &heard), megatron_bytes(8, 1, 1, "", &heard));
    megatron_bytes(8, 4, 1, "", &heard);
    assert_non_null(strstr(heard.text, "--num-distributed-optimizer-instances does nothing without"));
}

static void copies_that_do_not_divide_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more, *said;
    } cases[] = {
        {SHARING "--num-distributed-optimizer-instances 3 --data-parallel-size 8",
         "num-distributed-optimizer-instances is 3, which does not divide the 8 ranks of data-parallel-size 8 x"},
        {SHARING "--num-distributed-optimizer-instances 16 --data-parallel-size 8", "does not divide the 8 ranks"},
        {SHARING EXPERTS "--num-distributed-optimizer-instances 8 --data-parallel-size 8",
         "does not divide the 4 data-parallel ranks of an expert"},
        {SHARING "--num-distributed-optimizer-instances 0", "'0', expected a whole number from 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        said heard;
        ek_job job;
        if (read_text(megatron(text, 2, 16, cases[i].more), NULL, &heard, &job) != EK_ERR_INPUT ||
            !strstr(heard.text, cases[i].said))
            fail_msg("case %zu: %s", i, heard.text);
    }
}

static int64_t core_ms_bytes(int data, const char *sections, const char *parallel, said *heard)
{
    char text[1024], more[256], all[1400];
    snprintf(more, sizeof more, ", data_parallel_size: %d%s", data, parallel);
    snprintf(all, sizeof all, "%s%s", core_ms(text, 2, 16 * data, more), sections);
    /* the first data_parallel_size is of the helper: the later of two keys would be refused */
    char *twice = strstr(all, "data_parallel_size: 1, ");
    assert_non_null(twice);
    memmove(twice, twice + strlen("data_parallel_size: 1, "), strlen(twice + strlen("data_parallel_size: 1, ")) + 1);
    ek_job job = read_good(all, NULL, heard);
    int64_t bytes = optimizer_bytes(&job);
    ek_job_clear(&job);
    return bytes;
}

#define NESTED "accelerate_config: {parallelization: {use_distributed_optimizer: True}}\n"

static void the_switch_of_the_guide_is_read(void **state)
{
    (void)state;
    said heard;
    int64_t whole = core_ms_bytes(8, "", "", &heard), nested = core_ms_bytes(8, NESTED, "", &heard),
            plain = core_ms_bytes(8, "", ", use_distributed_optimizer: True", &heard);
    assert_int_equal(nested, plain);
    assert_true(8 * nested >= whole && 8 * nested < whole + (1 << 20));
}

static void a_shard_size_shares_among_so_many(void **state)
{
    (void)state;
    static const struct {
        const char *sections, *parallel;
        int same_as; /* data-parallel ranks of the job with the same memory; 0: of one that shares nothing */
        const char *warning;
    } cases[] = {
        {NESTED, "", 12, NULL},
        {NESTED, ", zero_shard_size: -1", 12, NULL},
        {NESTED, ", zero_shard_size: 12", 12, NULL},
        {NESTED, ", zero_shard_size: 4", 4, NULL},
        {NESTED, ", zero_shard_size: 2.0", 2, NULL},
        {NESTED, ", zero_shard_size: 5", 12, "zero_shard_size is 5, which does not divide the 12 data-parallel ranks"},
        {NESTED, ", zero_shard_size: 24", 12, "zero_shard_size is 24, which does not divide"},
        {"optimizer_config: {zero_level: z1}\n", ", zero_shard_size: 4", 4, NULL},
        {"", ", zero_shard_size: 4", 0, "zero_shard_size is 4, which does nothing without use_distributed_optimizer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said heard, other;
        int64_t bytes = core_ms_bytes(12, cases[i].sections, cases[i].parallel, &heard);
        int64_t same =
            core_ms_bytes(cases[i].same_as ? cases[i].same_as : 12, cases[i].same_as ? NESTED : "", "", &other);
        if (bytes != same)
            fail_msg("case %zu: %lld bytes, expected %lld", i, (long long)bytes, (long long)same);
        if (cases[i].warning ? !strstr(heard.text, cases[i].warning) : strstr(heard.text, "zero_shard_size") != NULL)
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].warning ? cases[i].warning : "nothing", heard.text);
    }
    static const char *const wrong[] = {"1", "0", "-2", "2.5", "many"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[1024], more[64];
        said heard;
        ek_job job;
        snprintf(more, sizeof more, ", zero_shard_size: %s", wrong[i]);
        assert_int_equal(read_text(core_ms(text, 2, 4, more), NULL, &heard, &job), EK_ERR_INPUT);
        assert_non_null(strstr(heard.text, "parallel_config.zero_shard_size is "));
        assert_true(strncmp(heard.text, "3:", 2) == 0);
    }
}

/* The measure that shares among all ranks has the setting, and its result is that of a file with the setting. */
static void sharing_among_all_is_a_measure(void **state)
{
    (void)state;
    static const char name[] = "shard over all ranks of the group";
    char parts[1024], whole[1024];
    const struct {
        const char *parts, *whole, *setting;
    } cases[] = {
        {megatron(parts, 2, 16, SHARING "--data-parallel-size 8 --num-distributed-optimizer-instances 4"),
         megatron(whole, 2, 16, SHARING "--data-parallel-size 8"), "--num-distributed-optimizer-instances 1"},
        {"model_config: {num_layers: 4, hidden_size: 256, num_attention_heads: 4, seq_length: 512, vocab_size: 1024}\n"
         "training_config: {micro_batch_size: 1, global_batch_size: 8, bf16: True}\n" NESTED
         "parallel_config: {tensor_model_parallel_size: 1, data_parallel_size: 8, zero_shard_size: 2}\n",
         "model_config: {num_layers: 4, hidden_size: 256, num_attention_heads: 4, seq_length: 512, vocab_size: 1024}\n"
         "training_config: {micro_batch_size: 1, global_batch_size: 8, bf16: True}\n" NESTED
         "parallel_config: {tensor_model_parallel_size: 1, data_parallel_size: 8}\n",
         "parallel_config.zero_shard_size: -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said heard;
        ek_error err;
        ek_mitigation measures[EK_MAX_MEASURES];
        ek_memory memory;
        int n = 0, found = 0;
        ek_job job = read_good(cases[i].parts, NULL, &heard), all = read_good(cases[i].whole, NULL, &heard);
        assert_int_equal(ek_memory_mitigations(&job, NULL, measures, &n, &err), EK_OK);
        assert_int_equal(ek_memory_predict(&all, NULL, &memory, &err), EK_OK);
        double mb = (double)(memory.stage[memory.fullest].actual_peak >> 20);
        for (int k = 0; k < n; k++) {
            if (strcmp(measures[k].name, name) != 0)
                continue;
            found++;
            assert_true(measures[k].possible && measures[k].saved_mb > 0);
            assert_string_equal(measures[k].setting, cases[i].setting);
            if (measures[k].after_mb < mb - 1 || measures[k].after_mb > mb + 1)
                fail_msg("%s: %g MB, expected %g", cases[i].setting, measures[k].after_mb, mb);
        }
        assert_int_equal(found, 1);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
        ek_job_clear(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_those_the_model_builds),
        cmocka_unit_test(ring_attention_takes_off_the_masks_bytes),
        cmocka_unit_test(ring_attention_of_public_models),
        cmocka_unit_test(ring_attention_of_published_files),
        cmocka_unit_test(a_missing_length_is_supplied),
        cmocka_unit_test(fewer_micro_batches_than_stages_are_run),
        cmocka_unit_test(too_few_micro_batches_are_refused_where_the_framework_does),
        cmocka_unit_test(copies_of_the_optimizer_hold_what_smaller_jobs_do),
        cmocka_unit_test(copies_that_do_not_divide_are_refused),
        cmocka_unit_test(the_switch_of_the_guide_is_read),
        cmocka_unit_test(a_shard_size_shares_among_so_many),
        cmocka_unit_test(sharing_among_all_is_a_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
