/* Tests jobs: the memory settings of MindFormers' training YAML, refusals with their places, overrides of the command
 * line, and the rules. Values of published files are compared with an independent index of them. Linked with
 * --wrap=ek__alloc, to fail each allocation once. */
#include "input.h"
#include "skip.h"

#include <math.h>
#include <unistd.h>

#include "base/error.h"
#include "evenkeel/schedule.h"
#include "job/job_internal.h"

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);

static int left = -1; /* allocations until one fails; negative: none does */

void *__wrap_ek__alloc(size_t count, size_t size)
{
    if (left == 0) {
        left = -1;
        return NULL;
    }
    left -= left > 0;
    return __real_ek__alloc(count, size);
}

/* ---- files made for a case ---- */

static const char *scratch(void)
{
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/test_job_%ld.yaml", (long)getpid());
    return path;
}

static void put(const char *text, size_t size)
{
    FILE *file = fopen(scratch(), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

/* A base file with further lines, which replace lines of the base with the same key. */
typedef struct lines {
    const char *model, *parallel, *root;
} lines;

static void put_lines(const lines *more)
{
    static const char *const model[] = {"type: LlamaConfig",
                                        "num_layers: 8",
                                        "hidden_size: 64",
                                        "num_heads: 8",
                                        "vocab_size: 960",
                                        "seq_length: 48",
                                        NULL};
    char text[4096] = "model:\n  model_config:\n";
    for (const char *const *line = model; *line; line++) {
        char key[64];
        snprintf(key, sizeof key, "    %.*s:", (int)strcspn(*line, ":"), *line);
        if (!more->model || !strstr(more->model, key))
            snprintf(text + strlen(text), sizeof text - strlen(text), "    %s\n", *line);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "%sparallel_config:\n%s%s",
             more->model ? more->model : "", more->parallel ? more->parallel : "  model_parallel: 1\n",
             more->root ? more->root : "");
    put(text, strlen(text));
}

static void add(char *out, size_t size, const char *name, double value)
{
    size_t n = strlen(out);
    snprintf(out + n, size - n, " %s=%.10g", name, value);
}

static void add_word(char *out, size_t size, const char *name, const char *value)
{
    size_t n = strlen(out);
    snprintf(out + n, size - n, " %s=%s", name, value);
}

static void add_list(char *out, size_t size, const char *name, const int *cell, int n)
{
    size_t length = strlen(out);
    length += (size_t)snprintf(out + length, size - length, " %s=", name);
    for (int c = 0; c < n; c++)
        length += (size_t)snprintf(out + length, size - length, "%s%d", c ? "," : "", cell[c]);
}

#define NUMBER(field)                                                                                                  \
    {                                                                                                                  \
#field, (double)job->field                                                                                     \
    }
/* Everything of a job as " name=value", for looking into. */
static const char *show(const ek_job *job)
{
    static char text[16384];
    static const char *const kinds[] = {"select", "comm", "-select", "-comm"};
    const struct {
        const char *name;
        double value;
    } numbers[] = {NUMBER(model.n_layers),
                   NUMBER(model.n_prediction_layers),
                   NUMBER(model.hidden),
                   NUMBER(model.n_heads),
                   NUMBER(model.n_kv_heads),
                   NUMBER(model.head_dim),
                   NUMBER(model.value_dim),
                   NUMBER(model.intermediate),
                   NUMBER(model.vocab),
                   NUMBER(model.max_position),
                   NUMBER(model.gated),
                   NUMBER(model.fused_swiglu),
                   NUMBER(model.qkv_concat),
                   NUMBER(model.qkv_bias),
                   NUMBER(model.linear_bias),
                   NUMBER(model.layer_norm),
                   NUMBER(model.qk_norm),
                   NUMBER(model.tied),
                   NUMBER(model.flash_attention),
                   NUMBER(model.mask_compressed),
                   NUMBER(model.mask_given),
                   NUMBER(model.no_mask),
                   NUMBER(model.position_table),
                   NUMBER(model.hidden_dropout),
                   NUMBER(model.attention_dropout),
                   NUMBER(model.q_lora_rank),
                   NUMBER(model.kv_lora_rank),
                   NUMBER(model.nope_dim),
                   NUMBER(model.rope_dim),
                   NUMBER(model.n_experts),
                   NUMBER(model.top_k),
                   NUMBER(model.n_shared_experts),
                   NUMBER(model.expert_intermediate),
                   NUMBER(model.shared_intermediate),
                   NUMBER(model.n_dense_layers),
                   NUMBER(model.expert_period),
                   NUMBER(model.capacity_factor),
                   NUMBER(model.grouped_matmul),
                   NUMBER(parallel.data),
                   NUMBER(parallel.tensor),
                   NUMBER(parallel.pipeline),
                   NUMBER(parallel.context),
                   NUMBER(parallel.expert),
                   NUMBER(parallel.expert_tensor),
                   NUMBER(parallel.batch),
                   NUMBER(parallel.seq_length),
                   NUMBER(parallel.n_micro_batches),
                   NUMBER(parallel.n_accumulation),
                   NUMBER(parallel.n_batch_interleave),
                   NUMBER(parallel.n_pieces),
                   NUMBER(parallel.chunk_group),
                   NUMBER(parallel.fine_grain),
                   NUMBER(parallel.sequence_parallel),
                   NUMBER(parallel.table_split),
                   NUMBER(parallel.head_split),
                   NUMBER(parallel.context_algorithm),
                   NUMBER(parallel.ulysses),
                   NUMBER(states.weight),
                   NUMBER(states.gradient),
                   NUMBER(states.optimizer),
                   NUMBER(states.gathered),
                   NUMBER(states.shard_weight),
                   NUMBER(states.shard_gradient),
                   NUMBER(states.shard_optimizer),
                   NUMBER(states.shard_table),
                   NUMBER(states.shard_size),
                   NUMBER(states.instances),
                   NUMBER(states.shard_threshold),
                   NUMBER(limit_mb),
                   NUMBER(n_patterns),
                   NUMBER(literal),
                   NUMBER(full_group),
                   NUMBER(plan.n_chunks)};
    const struct {
        const char *name;
        ek_dtype value;
    } types[] = {{"compute", job->types.compute}, {"param", job->types.param},      {"embedding", job->types.embedding},
                 {"norm", job->types.norm},       {"softmax", job->types.softmax},  {"rotary", job->types.rotary},
                 {"router", job->types.router},   {"residual", job->types.residual}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add(text, sizeof text, numbers[i].name, numbers[i].value);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        add_word(text, sizeof text, types[i].name, ek_dtype_name[types[i].value]);
    add_word(text, sizeof text, "framework", ek_framework_name[job->framework]);
    add(text, sizeof text, "family", job->family);
    add_word(text, sizeof text, "name", job->name);
    add_word(text, sizeof text, "schedule", job->schedule ? job->schedule->name : "none");
    for (const char *const *name = ek_rule_names; *name; name++) {
        char value[64];
        assert_true(ek_rules_get(&job->rules, *name, value, sizeof value));
        add_word(text, sizeof text, *name, value);
    }
    int n = job->plan.n_stages * job->plan.n_chunks;
    add_list(text, sizeof text, "layers", job->plan.layers, n);
    add_list(text, sizeof text, "full", job->plan.full, n);
    add_list(text, sizeof text, "select", job->plan.select, n);
    add_list(text, sizeof text, "comm", job->plan.comm, n);
    for (int i = 0; i < job->n_patterns; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s:%s%s", kinds[job->pattern[i].kind], job->pattern[i].text,
                 job->pattern[i].by_default ? "*" : "");
        add_list(text, sizeof text, name, job->pattern[i].layers, n);
    }
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, " ");
    return text;
}

/* Every " name=value" of `expected` is in the job. */
static void expect(const char *what, const ek_job *job, const char *expected)
{
    const char *text = show(job);
    char copy[1024], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", expected);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char padded[512];
        snprintf(padded, sizeof padded, " %s ", word);
        if (!strstr(text, padded))
            fail_msg("%s: no '%s' in%s", what, word, text);
    }
}

static ek_status read_job(const char *path, const ek_job_overrides *overrides, said *heard, ek_job *job, ek_error *err)
{
    const ek_listener listener = {say_warning, heard};
    *heard = (said){0};
    return ek_job_read(path, overrides, &listener, job, err);
}

/* `warnings`: parts of the warnings, one a line; NULL: there are none. */
static void expect_warnings(const char *what, const said *heard, const char *warnings)
{
    int n = 0;
    char copy[1024], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", warnings ? warnings : "");
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++)
        if (!strstr(heard->text, line))
            fail_msg("%s: no '%s' in:\n%s", what, line, heard->text);
    if (heard->n_warnings != n)
        fail_msg("%s: %d warnings, expected %d:\n%s", what, heard->n_warnings, n, heard->text);
}

/* ---- reading ---- */

static void keys_are_read_with_the_frameworks_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        lines more;
        const char *expected, *warnings;
    } cases[] = {
        {"a file that says little",
         {NULL, NULL, NULL},
         "model.n_kv_heads=8 model.head_dim=8 model.intermediate=256 model.max_position=48 model.gated=1 "
         "model.flash_attention=0 compute=float16 param=float16 embedding=float16 norm=float32 softmax=float32 "
         "rotary=float32 residual=float16 framework=mindformers schedule=1f1b parallel.batch=1 parallel.data=1 "
         "parallel.n_micro_batches=1 parallel.table_split=1 parallel.head_split=1 states.weight=2 states.gradient=0 "
         "states.optimizer=8 states.gathered=0 states.shard_weight=0 states.shard_table=0 states.shard_size=-1 "
         "states.shard_threshold=65536 limit_mb=0 layers=8 full=0 n_patterns=0 plan.n_chunks=1 weight_gather=step",
         NULL},
        {"width of 7B",
         {"    hidden_size: 4096\n    num_heads: 32\n    n_kv_heads: 8\n", NULL, NULL},
         "model.intermediate=11008 model.head_dim=128 model.n_kv_heads=8",
         NULL},
        {"width of 13B", {"    hidden_size: 5120\n    num_heads: 40\n", NULL, NULL}, "model.intermediate=13824", NULL},
        {"width of 70B",
         {"    hidden_size: 8192\n    num_heads: 64\n    ffn_dim_multiplier: 1.3\n    multiple_of: 256\n", NULL, NULL},
         "model.intermediate=28672",
         NULL},
        {"width of 8B",
         {"    hidden_size: 4096\n    num_heads: 32\n    ffn_dim_multiplier: 1.3\n", NULL, NULL},
         "model.intermediate=14336",
         NULL},
        {"a stated width beats the multiplier",
         {"    ffn_dim_multiplier: 3.25\n    intermediate_size: 200\n", NULL, NULL},
         "model.intermediate=200",
         NULL},
        {"number formats",
         {"    compute_dtype: bfloat16\n    param_init_type: float32\n    embedding_init_type: bfloat16\n"
          "    layernorm_compute_type: bfloat16\n    softmax_compute_type: float16\n    rotary_dtype: float16\n"
          "    residual_dtype: float32\n",
          NULL, NULL},
         "compute=bfloat16 param=float32 embedding=bfloat16 norm=bfloat16 softmax=float16 rotary=float16 "
         "residual=bfloat16 states.weight=4",
         NULL},
        {"the table's type follows the parameters'",
         {"    param_init_type: float32\n", NULL, NULL},
         "param=float32 embedding=float32 compute=float16",
         NULL},
        {"switches of LlamaConfig",
         {"    qkv_concat: True\n    qkv_has_bias: True\n    use_flash_attention: True\n"
          "    use_attn_mask_compression: True\n    tie_word_embeddings: True\n    parallel_optimizer: True\n"
          "    use_fused_swiglu: True\n    max_position_embedding: 99\n",
          NULL, NULL},
         "model.qkv_concat=1 model.qkv_bias=1 model.flash_attention=1 model.mask_compressed=1 model.tied=1 "
         "states.shard_table=1 model.fused_swiglu=1 model.max_position=99",
         NULL},
        {"TeleChat keeps its sums in res_dtype",
         {"    type: TelechatConfig\n    res_dtype: float32\n    compute_dtype: bfloat16\n    hidden_dropout_prob: "
          "0.1\n"
          "    attention_dropout_prob: 0.2\n",
          NULL, NULL},
         "residual=float32 compute=bfloat16 model.hidden_dropout=0.1 model.attention_dropout=0.2",
         NULL},
        {"an unknown class is read as Llama's",
         {"    type: SomethingConfig\n", NULL, NULL},
         "model.hidden=64 family=0 framework=mindformers",
         "model.model_config.type is 'SomethingConfig', a model that is not known here; it is read as LlamaConfig"},
        {"table and head are cut where the vocabulary divides",
         {NULL, "  model_parallel: 4\n  context_parallel: 2\n  vocab_emb_dp: False\n", NULL},
         "parallel.table_split=8 parallel.head_split=4",
         NULL},
        {"the table falls back, the head does not",
         {"    vocab_size: 964\n", "  model_parallel: 4\n  context_parallel: 2\n  vocab_emb_dp: False\n", NULL},
         "parallel.table_split=1 parallel.head_split=4",
         "vocab_size is 964, which does not divide by model_parallel 4 x context_parallel 2"},
        {"both fall back",
         {"    vocab_size: 961\n", "  model_parallel: 4\n  vocab_emb_dp: False\n", NULL},
         "parallel.table_split=1 parallel.head_split=1",
         "which does not divide by model_parallel 4 x context_parallel 1\nwhich does not divide by model_parallel 4: "},
        {"vocab_emb_dp keeps both whole, which is the default",
         {"    vocab_size: 961\n", "  model_parallel: 4\n", NULL},
         "parallel.table_split=1 parallel.head_split=1",
         NULL},
        {"gradients are summed in a pipeline, and accumulation does nothing there",
         {NULL, "  pipeline_stage: 2\n  micro_batch_num: 4\n", "runner_config:\n  gradient_accumulation_steps: 3\n"},
         "states.gradient=2 parallel.n_accumulation=1 parallel.n_micro_batches=4 layers=4,4",
         "gradient_accumulation_steps is 3, which has no effect with 2 stages"},
        {"gradients are summed over accumulated steps",
         {NULL, NULL, "runner_config:\n  batch_size: 3\n  gradient_accumulation_steps: 5\n"},
         "states.gradient=2 parallel.n_accumulation=5 parallel.n_micro_batches=1 parallel.batch=3",
         NULL},
        {"micro-batches do nothing without stages",
         {NULL, "  micro_batch_num: 6\n", NULL},
         "states.gradient=0 parallel.n_micro_batches=1",
         "micro_batch_num is 6, which does nothing without pipeline stages"},
        {"fine-grained interleave does nothing without tensor parallelism",
         {"    fine_grain_interleave: 2\n", NULL, NULL},
         "parallel.fine_grain=1",
         "fine_grain_interleave is 2, which does nothing with model_parallel 1"},
        {"switches that Llama's layers do not pass on",
         {NULL, "  data_parallel: 2\n",
          "parallel:\n  enable_parallel_optimizer: True\nrecompute_config:\n  recompute: [1]\n"
          "  mp_comm_recompute: False\n  parallel_optimizer_comm_recompute: True\n"
          "  recompute_slice_activation: True\n"},
         "full=1 states.gathered=2",
         "parallel_optimizer_comm_recompute is True, which has no effect\nmp_comm_recompute is False, which does "
         "nothing\nrecompute_slice_activation is True, which has no effect if `recompute` is a list"},
        {"switches of experts that are not modelled",
         {NULL, NULL, "moe_config:\n  expert_num: 1\n  group_wise_a2a: True\n  comp_comm_parallel: False\n"},
         "parallel.n_micro_batches=1",
         "group_wise_a2a is True, which is not modelled"},
        {"switches that say what happens anyway",
         {NULL, "  data_parallel: 2\n",
          "recompute_config:\n  recompute: False\n  mp_comm_recompute: False\n"
          "  parallel_optimizer_comm_recompute: True\n  recompute_slice_activation: True\n"},
         "full=0 states.gathered=0",
         NULL},
        {"fine-grained interleave",
         {"    fine_grain_interleave: 2\n", "  model_parallel: 2\n", NULL},
         "parallel.fine_grain=2",
         NULL},
        {"chunks do nothing where interleaving is off",
         {"    pp_interleave_num: 2\n", "  pipeline_stage: 2\n  micro_batch_num: 2\n", NULL},
         "plan.n_chunks=1 layers=4,4",
         "pp_interleave_num is 2, which does nothing"},
        {"a sequence pipeline",
         {"    use_flash_attention: True\n", "  pipeline_stage: 2\n  micro_batch_num: 2\n  seq_split_num: 4\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: seqpipe\n"},
         "schedule=sequence parallel.n_pieces=4",
         NULL},
        {"an unknown scheduler gives way to the usual",
         {NULL, "  pipeline_stage: 2\n  micro_batch_num: 2\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: newest\n"},
         "schedule=1f1b",
         "pipeline_scheduler is 'newest', an order that is not known here"},
        {"the optimizer's sharing",
         {NULL, "  data_parallel: 4\n",
          "parallel:\n  enable_parallel_optimizer: True\n  parallel_optimizer_config:\n"
          "    gradient_accumulation_shard: True\n    parallel_optimizer_threshold: 16\n"
          "    optimizer_weight_shard_size: 2\n"},
         "states.shard_weight=1 states.shard_optimizer=1 states.shard_gradient=1 states.gathered=2 "
         "states.shard_threshold=16384 states.shard_size=2 weight_gather=step",
         NULL},
        {"level 2 shares gradients",
         {NULL, "  data_parallel: 4\n",
          "parallel:\n  enable_parallel_optimizer: True\n  parallel_optimizer_config:\n    optimizer_level: level2\n"},
         "states.shard_gradient=1 weight_gather=step",
         NULL},
        {"level 3 gathers again",
         {NULL, "  data_parallel: 4\n",
          "parallel:\n  enable_parallel_optimizer: True\n  parallel_optimizer_config:\n    optimizer_level: level3\n"},
         "states.shard_gradient=1 weight_gather=layer",
         NULL},
        {"nothing is shared by one rank",
         {NULL, NULL, "parallel:\n  enable_parallel_optimizer: True\n"},
         "states.shard_weight=0 states.shard_optimizer=0 states.gathered=0",
         NULL},
        {"tensor parallel ranks share what they do not cut",
         {NULL, "  model_parallel: 2\n", "parallel:\n  enable_parallel_optimizer: True\n"},
         "states.shard_weight=1 states.shard_optimizer=1 states.gathered=2",
         NULL},
        {"context parallel ranks share",
         {NULL, "  context_parallel: 2\n", "parallel:\n  enable_parallel_optimizer: True\n"},
         "states.shard_weight=1 parallel.context_algorithm=0 "
         "parallel.ulysses=1",
         NULL},
        {"ring attention",
         {"    use_ring_attention: True\n    use_flash_attention: True\n", "  context_parallel: 2\n", NULL},
         "parallel.context_algorithm=1 model.no_mask=1 model.mask_compressed=0 model.mask_given=0",
         NULL},
        {"Ulysses",
         {NULL, "  context_parallel: 2\n  context_parallel_algo: ulysses_cp\n", NULL},
         "parallel.context_algorithm=2 parallel.ulysses=2",
         NULL},
        {"both",
         {NULL, "  context_parallel: 4\n  context_parallel_algo: hybrid_cp\n  ulysses_degree_in_cp: 2\n", NULL},
         "parallel.context_algorithm=2 parallel.ulysses=2",
         NULL},
        {"groups of Ulysses are those of hybrid_cp alone",
         {NULL, "  context_parallel: 4\n  context_parallel_algo: colossalai_cp\n  ulysses_degree_in_cp: 2\n", NULL},
         "parallel.context_algorithm=0 parallel.ulysses=1",
         NULL},
        {"groups of one rank: nothing is exchanged, and the rest gathers",
         {NULL, "  context_parallel: 4\n  context_parallel_algo: hybrid_cp\n", NULL},
         "parallel.context_algorithm=0 parallel.ulysses=1",
         NULL},
        {"Ulysses inside a ring",
         {"    use_ring_attention: True\n    use_flash_attention: True\n",
          "  context_parallel: 4\n  context_parallel_algo: hybrid_cp\n  ulysses_degree_in_cp: 2\n", NULL},
         "parallel.context_algorithm=1 parallel.ulysses=2",
         NULL},
        {"an unknown optimizer",
         {NULL, NULL, "optimizer:\n  type: Adagrad\n"},
         "states.optimizer=8",
         "optimizer.type is 'Adagrad', an optimizer that is not known here"},
        {"a limit with a fraction",
         {NULL, NULL, "context:\n  max_device_memory: \"52.5GB\"\n"},
         "limit_mb=53760",
         NULL},
        {"experts of the whole model",
         {"    intermediate_size: 96\n", "  data_parallel: 2\n  expert_parallel: 2\n  model_parallel: 2\n",
          "moe_config:\n  expert_num: 4\n  num_experts_chosen: 2\n"},
         "model.n_experts=4 model.top_k=2 model.expert_intermediate=96 model.capacity_factor=1.1 "
         "model.n_shared_experts=0 model.shared_intermediate=0 model.n_dense_layers=0 model.grouped_matmul=0 "
         "parallel.expert_tensor=2",
         NULL},
        {"one expert is none",
         {NULL, NULL, "moe_config:\n  expert_num: 1\n  num_experts_chosen: 1\n  shared_expert_num: 2\n"},
         "model.n_experts=0 model.top_k=0 model.n_shared_experts=0",
         NULL},
        {"grouped matmuls drop no token",
         {NULL, NULL, "moe_config:\n  expert_num: 4\n  use_gmm: True\n"},
         "model.grouped_matmul=1 model.capacity_factor=0",
         NULL},
        {"counts are for the default patterns",
         {NULL, "  pipeline_stage: 2\n  micro_batch_num: 2\n",
          "recompute_config:\n  recompute: [1, 9]\n  select_recompute: [2, 3]\n  select_comm_recompute: True\n"},
         "full=1,4 select=2,3 comm=4,4 select:feed_forward\\.mul*=2,3 "
         "select:feed_forward\\.w1\\.activation\\.silu*=2,3 comm:.*\\.norm*=4,4 n_patterns=3",
         "recompute[1] is 9, but stage 1 has 4 layers, and no more are recomputed; write 4"},
        {"without flash attention a list of zeros recomputes scores: it is not dropped",
         {NULL, "  pipeline_stage: 2\n  micro_batch_num: 2\n", "recompute_config:\n  select_recompute: [0, 0]\n"},
         "n_patterns=2 select=0,0",
         NULL},
        {"nothing selected is no pattern",
         {"    use_flash_attention: True\n", "  pipeline_stage: 2\n  micro_batch_num: 2\n",
          "recompute_config:\n  select_recompute: [0, 0]\n  select_comm_recompute: False\n"},
         "n_patterns=0 select=0,0",
         NULL},
        {"each pattern keeps its list",
         {NULL, "  pipeline_stage: 2\n  micro_batch_num: 2\n",
          "recompute_config:\n  select_recompute:\n    'a\\.b': [1, 0]\n    'c': True\n"
          "  select_recompute_exclude: ['d']\n"},
         "select:a\\.b=1,0 select:c=4,4 -select:d=4,4 select=4,4 comm=0,0 n_patterns=3",
         NULL},
        {"near keys are told of, others are not",
         {"    concat_qkv: True\n    n_kv_head: 4\n    theta: 3\n    top_k: 2\n", "  data_paralel: 2\n", NULL},
         "model.qkv_concat=0 model.n_kv_heads=8 parallel.data=1",
         "concat_qkv is no key of the framework, which ignores it; did you mean 'qkv_concat'?\n"
         "did you mean 'n_kv_heads'?\ndid you mean 'data_parallel'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        ek_error err = {0};
        said heard;
        put_lines(&cases[i].more);
        if (read_job(scratch(), NULL, &heard, &job, &err))
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        expect(cases[i].what, &job, cases[i].expected);
        expect_warnings(cases[i].what, &heard, cases[i].warnings);
        ek_job_clear(&job);
    }
}

static void what_the_framework_has_a_default_for_may_be_left_out_and_is_told(void **state)
{
    (void)state;
    static const char text[] = "model:\n  model_config:\n    num_layers: 2\nparallel_config:\n  data_parallel: 2\n";
    static const char glm[] = "model:\n  model_config:\n    type: ChatGLM2Config\n    num_layers: 2\n"
                              "parallel_config:\n  data_parallel: 2\n";
    ek_job job;
    ek_error err = {0};
    said heard;
    put(text, sizeof text - 1);
    assert_int_equal(read_job(scratch(), NULL, &heard, &job, &err), EK_OK);
    expect("defaults", &job,
           "model.hidden=4096 model.n_heads=32 model.vocab=32000 parallel.seq_length=2048 model.intermediate=11008");
    expect_warnings("defaults", &heard,
                    "has no hidden_size; the framework's default is 4096\n"
                    "num_heads; the framework's default is 32\n"
                    "vocab_size; the framework's default is 32000\n"
                    "seq_length; the framework's default is 2048");
    ek_job_clear(&job);
    put(glm, sizeof glm - 1);
    assert_int_equal(read_job(scratch(), NULL, &heard, &job, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "model.model_config.hidden_size is missing; give the model's width");
}

static void files_of_each_schema_are_read_whole(void **state)
{
    (void)state;
    static const struct {
        const char *file, *expected;
    } cases[] = {
        {"tests/data/job/llama.yaml",
         "name=small_llama parallel.batch=2 plan.n_chunks=2 layers=2,2,3,2 full=1,0,0,0 select=2,2,3,2 comm=1,2,0,1 "
         "select:feed_forward\\.mul=2,2,3,2 select:feed_forward\\.w1\\.activation\\.silu=2,0,1,2 "
         "comm:.*\\.norm*=1,2,0,1 -select:attention\\.flash_attention\\.flash_attention=2,2,3,2 "
         "schedule=interleaved model.intermediate=352 residual=float32 limit_mb=59392"},
        {"tests/data/job/experts.yaml",
         "model.n_layers=5 model.n_prediction_layers=1 layers=3,3 full=3,3 model.head_dim=24 model.value_dim=24 "
         "model.nope_dim=16 model.rope_dim=8 model.q_lora_rank=48 model.kv_lora_rank=32 model.n_kv_heads=4 "
         "model.n_experts=8 model.top_k=2 model.n_shared_experts=2 model.expert_intermediate=40 "
         "model.shared_intermediate=80 model.n_dense_layers=1 model.capacity_factor=1.5 parallel.expert_tensor=1 "
         "parallel.expert=4 family=0"},
        {"tests/data/job/glm.yaml",
         "family=1 model.vocab=640 model.intermediate=112 model.n_kv_heads=2 model.head_dim=16 model.qkv_bias=1 "
         "model.qkv_concat=0 model.hidden_dropout=0.1 residual=float32 compute=float16 model.layer_norm=0 "
         "states.shard_gradient=1 states.shard_size=2 states.gradient=2 parallel.n_accumulation=4 "
         "select:mlp\\.activation_func\\.mul*=3 select:mlp\\.activation_func\\.silu\\.silu*=3"},
        {"tests/data/job/newer.yaml",
         "framework=mindformers-mcore family=2 layers=3,2 model.head_dim=32 model.n_kv_heads=2 model.qk_norm=1 "
         "model.qkv_bias=1 model.tied=1 model.fused_swiglu=1 model.qkv_concat=1 model.flash_attention=1 "
         "param=float32 residual=float32 model.n_experts=8 model.shared_intermediate=24 model.grouped_matmul=1 "
         "model.capacity_factor=0 parallel.expert_tensor=1 parallel.n_batch_interleave=2 states.weight=4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        ek_error err = {0};
        if (ek_job_read(source_path(cases[i].file), NULL, NULL, &job, &err))
            fail_msg("%s: %d:%d: %s", cases[i].file, err.line, err.column, err.message);
        expect(cases[i].file, &job, cases[i].expected);
        assert_string_equal(job.path, source_path(cases[i].file));
        for (int k = 0; k < job.n_patterns; k++) {
            assert_ptr_equal(job.pattern[k].origin.file, job.path);
            assert_true(job.pattern[k].origin.line > 0);
        }
        ek_job_clear(&job);
    }
}

static void a_foreign_residual_type_is_taken_as_meant_unless_told_otherwise(void **state)
{
    (void)state;
    const lines more = {"    res_dtype: float32\n    compute_dtype: bfloat16\n", NULL, NULL};
    ek_job_overrides literal = ek_job_overrides_none();
    ek_job job;
    ek_error err = {0};
    said heard;
    literal.literal = true;
    put_lines(&more);
    assert_int_equal(read_job(scratch(), NULL, &heard, &job, &err), EK_OK);
    expect("as meant", &job, "residual=float32 literal=0");
    expect_warnings("as meant", &heard,
                    "res_dtype is a key of TeleChat's models that LlamaConfig does not know; it is "
                    "taken as the type in which x and x + attention are kept");
    assert_non_null(strstr(job.reading, "res_dtype"));
    ek_job_clear(&job);
    assert_int_equal(read_job(scratch(), &literal, &heard, &job, &err), EK_OK);
    expect("to the letter", &job, "residual=bfloat16 literal=1");
    expect_warnings("to the letter", &heard, "it is ignored, as the framework does");
    assert_string_equal(job.reading, "");
    ek_job_clear(&job);
}

/* ---- refusals ---- */

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        lines more;
        const char *said;
    } cases[] = {
        {{"    hidden_size: many\n", NULL, NULL}, "8:18: model.model_config.hidden_size is 'many'"},
        {{"    hidden_size: 9999999\n", NULL, NULL}, "8:18: model.model_config.hidden_size is 9999999"},
        {{"    compute_dtype: int8\n", NULL, NULL},
         "9:20: model.model_config.compute_dtype is 'int8', which is no number format here; write float32, bfloat16 or "
         "float16"},
        {{"    offset: [1, 1]\n", "  pipeline_stage: 2\n  micro_batch_num: 2\n", NULL},
         "9:13: model.model_config.offset adds up to 2, expected 0"},
        {{NULL, "  model_parallel: 3\n", NULL},
         "6:16: num_heads is 8, which cannot be divided into 3 equal parts, as model_parallel requires; correct one"},
        {{"    n_kv_heads: 2\n", "  model_parallel: 4\n", NULL},
         "9:17: n_kv_heads is 2, which cannot be divided into 4"},
        {{"    n_kv_heads: 3\n", NULL, NULL},
         "6:16: num_heads is 8, which cannot be divided into 3 equal parts, as n_kv"},
        {{"    hidden_size: 60\n    num_heads: 6\n    head_dim: 8\n    n_kv_heads: 6\n", "  model_parallel: 2\n", NULL},
         NULL},
        {{"    num_heads: 6\n", NULL, NULL}, "model.model_config has 6 heads, which do not divide hidden_size 64"},
        {{"    intermediate_size: 99\n", "  model_parallel: 2\n", NULL}, "9:24: intermediate_size is 99"},
        {{NULL, "  context_parallel: 5\n", NULL}, "8:17: seq_length is 48, which cannot be divided into 5 equal parts"},
        {{"    seq_length: 20\n", "  model_parallel: 8\n  use_seq_parallel: True\n", NULL},
         "8:17: seq_length is 20, which cannot be divided into 8"},
        /* Each piece is cut over the tensor ranks: 12 tokens over 4 are, over 8 are not. */
        {{"    use_flash_attention: True\n",
          "  model_parallel: 4\n  use_seq_parallel: True\n  pipeline_stage: 2\n  micro_batch_num: 2\n  seq_split_num: "
          "4\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: seqpipe\n"},
         NULL},
        {{"    use_flash_attention: True\n",
          "  model_parallel: 8\n  use_seq_parallel: True\n  pipeline_stage: 2\n  micro_batch_num: 2\n  seq_split_num: "
          "4\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: seqpipe\n"},
         "8:17: seq_length is 48, which cannot be divided into 32 equal parts, as seq_split_num requires"},
        {{NULL, "  pipeline_stage: 4\n  micro_batch_num: 3\n", NULL},
         "11:20: micro_batch_num gives 3 micro-batches for 4 stages"},
        {{NULL, "  pipeline_stage: 2\n  micro_batch_num: 2\n  seq_split_num: 2\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: seqpipe\n"},
         "use_flash_attention is off, but a sequence pipeline (seq_split_num 2) needs it"},
        {{NULL, "  data_parallel: 65536\n  model_parallel: 8\n  context_parallel: 48\n", NULL},
         "10:18: the job needs more than 16777216 devices"},
        {{NULL, "  data_parallel: 2\n  expert_parallel: 4\n", "moe_config:\n  expert_num: 4\n"},
         "11:20: expert_parallel is 4, but experts re-use the ranks of data_parallel 2"},
        {{NULL, "  data_parallel: 4\n  expert_parallel: 4\n", "moe_config:\n  expert_num: 6\n"},
         "13:15: expert_num is 6, which cannot be divided into 4"},
        {{NULL, NULL, "moe_config:\n  expert_num: 2\n  num_experts_chosen: 3\n"},
         "num_experts_chosen is 3, expected 1 to 2"},
        {{NULL, "  context_parallel: 4\n  context_parallel_algo: best\n", NULL},
         "11:26: parallel_config.context_parallel_algo is 'best', expected colossalai_cp, ulysses_cp or hybrid_cp"},
        {{NULL, "  context_parallel: 4\n  context_parallel_algo: hybrid_cp\n  ulysses_degree_in_cp: 3\n", NULL},
         "context_parallel is 4, which cannot be divided into 3 equal parts, as ulysses_degree_in_cp requires"},
        {{NULL, "  context_parallel: 16\n  context_parallel_algo: ulysses_cp\n", NULL},
         "6:16: num_heads is 8, which cannot be divided into 16 equal parts, as model_parallel 1 and Ulysses groups of "
         "16 ranks (of context_parallel 16) require; correct one"},
        {{NULL, "  pipeline_stage: 3\n  micro_batch_num: 3\n", NULL},
         "model.model_config has no offset, but 8 layers on 3 stages x 1 chunks are 2 each and 2 over; write an offset "
         "that adds up to 2"},
        {{NULL, NULL, "context:\n  max_device_memory: lots\n"},
         "12:22: context.max_device_memory is 'lots'; write the memory of a device as in \"58GB\""},
        {{NULL, NULL, "parallel:\n  parallel_optimizer_config:\n    optimizer_level: level9\n"},
         "13:22: parallel.parallel_optimizer_config.optimizer_level is 'level9', expected level1, level2 or level3"},
        {{NULL, NULL, "swap:\n  swap: True\n"}, "12:9: swap.swap is on, so the recompute lists name layers"},
        {{NULL, NULL, "recompute_config:\n  select_recompute_exclude: True\n"},
         "12:29: recompute_config.select_recompute_exclude has no patterns to exclude; write a list of patterns"},
        {{NULL, NULL, "recompute_config:\n  select_recompute:\n    'a': [1, 2]\n"},
         "must be a list of 1 numbers, one for each stage"},
        {{"    type: ChatGLM2Config\n", NULL, NULL}, "model.model_config.ffn_hidden_size is missing"},
        {{"    num_layers: 0\n", NULL, NULL}, "model.model_config.num_layers is 0"},
        {{"    seq_length: 100000000\n    vocab_size: 16000000\n    hidden_size: 1048576\n    use_flash_attention: "
          "True\n",
          NULL, "runner_config:\n  batch_size: 65536\n"},
         "the job's tensors together could be"},
        {{NULL, NULL, "runner_config: [1]\n"}, "11:16: runner_config is"},
        {{"    use_ring_attention: True\n", NULL, NULL},
         "9:25: model.model_config.use_ring_attention is on, but use_flash_attention is not"},
        {{"    use_eod_attn_mask_compression: True\n", NULL, NULL},
         "9:36: model.model_config.use_eod_attn_mask_compression is on, but use_flash_attention is not"},
        {{"    use_ring_attention: True\n    use_flash_attention: True\n",
          "  pipeline_stage: 2\n  micro_batch_num: 2\n  seq_split_num: 2\n",
          "parallel:\n  pipeline_config:\n    pipeline_scheduler: seqpipe\n"},
         "9:25: model.model_config.use_ring_attention is on, which does not go with pieces of a sequence"},
        {{NULL, NULL, "moe_config:\n  expert_num: 8.5\n"},
         "12:15: moe_config.expert_num is 8.5, expected a whole number from 1 to 65536"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job = {.limit_mb = 17};
        ek_error err = {0};
        said heard = {0};
        put_lines(&cases[i].more);
        ek_status status = ek_job_read(scratch(), NULL, NULL, &job, &err);
        if (!cases[i].said) { /* the neighbour of a refused case */
            if (status)
                fail_msg("case %zu: %s", i, err.message);
            ek_job_clear(&job);
            continue;
        }
        say(&heard, "", &err);
        if (status != EK_ERR_INPUT || !strstr(heard.text, cases[i].said))
            fail_msg("case %zu: status %d, no '%s' in: %s", i, status, cases[i].said, heard.text);
        assert_string_equal(err.file, scratch());
        assert_true(err.line > 0 && err.column > 0);
        assert_true(job.limit_mb == 17 && job.path == NULL);
    }
}

static void what_is_no_job_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"a: 1\n", "a training YAML of MindFormers"},
        {"[1, 2]\n", "is no training job"},
        {"model: {model_config: 3}\nparallel_config: {}\n", "model.model_config is 3"},
        {"model: {model_config: {num_layers: 2}}\n", "parallel_config is missing"},
        {"a: [1\n", "expected"},
        {"", "empty"},
        {"pretrained_model_dir: /models/x\nmodel: {model_config: {compute_dtype: bfloat16}}\nparallel_config: {a: 1}\n",
         "pretrained_model_dir names the folder that has the model's shapes, and "
         "model.model_config.num_hidden_layers is not in this file; copy the keys of the folder's config.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        ek_error err = {0};
        put(cases[i].text, strlen(cases[i].text));
        assert_int_equal(ek_job_read(scratch(), NULL, NULL, &job, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].said))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].said, err.message);
        assert_true(err.line > 0);
    }
    ek_job job;
    ek_error err = {0};
    assert_int_equal(ek_job_read("/nowhere/job.yaml", NULL, NULL, &job, &err), EK_ERR_SYSTEM);
}

/* ---- overrides of the command line ---- */

static void overrides_replace_what_the_file_says(void **state)
{
    (void)state;
    static const char pipeline[] = "  pipeline_stage: 2\n  micro_batch_num: 4\n  data_parallel: 2\n";
    static const char lists[] = "recompute_config:\n  recompute: [1, 0]\n  select_recompute:\n    'a': True\n"
                                "    'b': [1, 2]\n    'c': [0, 0]\n  select_recompute_exclude: ['d']\n";
    const struct {
        const char *what;
        lines more;
        ek_job_overrides say;
        const char *expected, *warnings;
    } cases[] = {
        {"nothing",
         {NULL, pipeline, lists},
         {.sequence_parallel = -1, .recompute = -1},
         "layers=4,4 full=1,0 select:b=1,2",
         NULL},
        {"more stages: even layers, what held for all still does",
         {"    offset: [1, -1]\n", pipeline, lists},
         {.pipeline = 3, .sequence_parallel = -1, .recompute = -1},
         "layers=3,3,2 full=0,0,0 select:a=3,3,2 select:c=0,0,0 -select:d=3,3,2 select=3,3,2 n_patterns=3 "
         "parallel.pipeline=3 schedule=1f1b",
         "the file gives its 2 stages x 1 chunk unequal layers; for 3 x 1 they are spread evenly\n"
         "full recomputation counts layers of 2 stages x 1 chunk, but\nrecomputation of 'b' counts layers"},
        {"chunks",
         {NULL, pipeline, "recompute_config:\n  recompute: True\n"},
         {.n_chunks = 2, .sequence_parallel = -1, .recompute = -1},
         "layers=2,2,2,2 full=2,2,2,2 schedule=interleaved plan.n_chunks=2",
         NULL},
        {"a schedule",
         {NULL, pipeline, NULL},
         {.schedule = ek_schedule_find("gpipe"), .sequence_parallel = -1, .recompute = -1},
         "schedule=gpipe layers=4,4",
         NULL},
        {"layers",
         {NULL, pipeline, NULL},
         {.n_layers = 5, .sequence_parallel = -1, .recompute = -1},
         "layers=3,2 model.n_layers=5",
         NULL},
        {"everything recomputed",
         {NULL, pipeline, lists},
         {.sequence_parallel = -1, .recompute = EK_RECOMPUTE_FULL},
         "full=4,4 select=0,0 n_patterns=1 -select:d=4,4",
         NULL},
        {"nothing recomputed",
         {NULL, pipeline, lists},
         {.sequence_parallel = -1, .recompute = EK_RECOMPUTE_NONE},
         "full=0,0 select=0,0 n_patterns=1",
         NULL},
        {"degrees, of which how the table is cut and who shares follow",
         {NULL, "  data_parallel: 1\n  vocab_emb_dp: False\n", "parallel:\n  enable_parallel_optimizer: True\n"},
         {.data = 4, .tensor = 2, .context = 2, .batch = 3, .sequence_parallel = 1, .recompute = -1},
         "parallel.data=4 parallel.tensor=2 parallel.context=2 parallel.batch=3 parallel.sequence_parallel=1 "
         "parallel.table_split=4 parallel.head_split=2 states.shard_weight=1 states.gathered=2",
         NULL},
        {"one stage sums no micro-batches",
         {NULL, pipeline, NULL},
         {.pipeline = 1, .sequence_parallel = -1, .recompute = -1},
         "layers=8 states.gradient=0 parallel.n_micro_batches=1",
         "micro_batch_num is 4, which does nothing without pipeline stages"},
        {"a longer sequence moves the positions that equal it",
         {NULL, NULL, NULL},
         {.seq_length = 96, .sequence_parallel = -1, .recompute = -1},
         "parallel.seq_length=96 model.max_position=96",
         NULL},
        {"but not others",
         {"    max_position_embedding: 1000\n", NULL, NULL},
         {.seq_length = 96, .sequence_parallel = -1, .recompute = -1},
         "parallel.seq_length=96 model.max_position=1000",
         NULL},
        {"micro-batches",
         {NULL, pipeline, NULL},
         {.n_micro_batches = 9, .sequence_parallel = -1, .recompute = -1},
         "parallel.n_micro_batches=9",
         NULL},
        {"a limit",
         {NULL, NULL, "context:\n  max_device_memory: 58GB\n"},
         {.limit_mb = 1000, .sequence_parallel = -1, .recompute = -1},
         "limit_mb=1000",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        ek_error err = {0};
        said heard;
        put_lines(&cases[i].more);
        if (read_job(scratch(), &cases[i].say, &heard, &job, &err))
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        expect(cases[i].what, &job, cases[i].expected);
        expect_warnings(cases[i].what, &heard, cases[i].warnings);
        ek_job_clear(&job);
    }
}

static void layers_of_prediction_stay_on_the_last_chunk(void **state)
{
    (void)state;
    ek_job_overrides say = ek_job_overrides_none();
    ek_job job;
    ek_error err = {0};
    say.pipeline = 4;
    say.n_micro_batches = 4;
    say.data = 2;
    assert_int_equal(ek_job_read(source_path("tests/data/job/experts.yaml"), &say, NULL, &job, &err), EK_OK);
    expect("spread", &job, "layers=2,1,1,2 full=2,1,1,2 parallel.data=2 parallel.pipeline=4");
    ek_job_clear(&job);
    say.n_layers = 4; /* fewer than those without experts would be cut */
    assert_int_equal(ek_job_read(source_path("tests/data/job/experts.yaml"), &say, NULL, &job, &err), EK_OK);
    expect("fewer", &job, "layers=1,1,1,2 model.n_layers=4");
    ek_job_clear(&job);
}

static void wrong_overrides_are_refused(void **state)
{
    (void)state;
    static const char *const rules[] = {"loss_buffers=5", "loss=5"};
    const struct {
        ek_job_overrides say;
        const char *said;
    } cases[] = {
        {{.pipeline = 2000, .sequence_parallel = -1, .recompute = -1}, "stages must be 1 to 1024 (got 2000)"},
        {{.batch = -1, .sequence_parallel = -1, .recompute = -1}, "sequences of a micro-batch must be 1 to 65536"},
        {{.recompute = EK_RECOMPUTE_SELECT, .sequence_parallel = -1}, "must be none or full"},
        {{.pipeline = 4, .n_micro_batches = 2, .sequence_parallel = -1, .recompute = -1},
         "micro_batch_num gives 2 micro-batches for 4 stages"},
        {{.tensor = 3, .sequence_parallel = -1, .recompute = -1}, "num_heads is 8, which cannot be divided into 3"},
        {{.schedule = ek_schedule_find("zb-v"), .sequence_parallel = -1, .recompute = -1},
         "the schedule zb-v is for 2 chunks on a stage, but the job has 1"},
        {{.rules = rules, .n_rules = 2, .sequence_parallel = -1, .recompute = -1}, "'loss=5' is no rule"},
    };
    const lines more = {NULL, NULL, NULL};
    put_lines(&more);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        ek_error err = {0};
        assert_int_equal(ek_job_read(scratch(), &cases[i].say, NULL, &job, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].said))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].said, err.message);
    }
}

/* ---- jobs made by hand ---- */

static ek_job read_fixture(const char *file)
{
    ek_job job;
    ek_error err = {0};
    if (ek_job_read(source_path(file), NULL, NULL, &job, &err))
        fail_msg("%s: %d:%d: %s", file, err.line, err.column, err.message);
    return job;
}

static void a_copy_is_whole_and_its_own(void **state)
{
    (void)state;
    ek_job job = read_fixture("tests/data/job/llama.yaml"), copy;
    ek_error err = {0};
    char before[16384];
    assert_int_equal(ek_job_copy(&job, &copy, &err), EK_OK);
    snprintf(before, sizeof before, "%s", show(&job));
    assert_string_equal(show(&copy), before);
    assert_ptr_not_equal(copy.path, job.path);
    assert_ptr_equal(copy.pattern[0].origin.file, copy.path);
    assert_int_equal(copy.pattern[3].origin.line, job.pattern[3].origin.line);
    copy.pattern[0].layers[0] = 0;
    copy.plan.full[1] = 1;
    assert_string_equal(show(&job), before);
    ek_job_clear(&copy);
    assert_null(copy.path);
    ek_job_clear(&copy);
    assert_string_equal(show(&job), before);
    ek_job_clear(&job);
    assert_int_equal(ek_job_copy(&copy, &job, &err), EK_OK); /* of nothing */
    ek_job_clear(&job);
}

/* Settings of a plan have no list for omitted kinds: counts of some layers stay, those of all layers of a chunk stay
 * valid for all, and another number of stages cannot keep them. */
static void what_a_plan_has_no_list_for_stays(void **state)
{
    (void)state;
    ek_job job = read_fixture("tests/data/job/llama.yaml"), with;
    ek_error err = {0};
    const int n_cells = job.plan.n_stages * job.plan.n_chunks, last = n_cells - 1;
    ek_plan plan;
    int some[64];
    assert_true(n_cells >= 2 && n_cells <= 64 && job.plan.layers[0] >= 2);
    memcpy(some, job.plan.layers, (size_t)n_cells * sizeof *some);
    some[0] = 1;
    assert_int_equal(ek__job_add_pattern(&job, "left\\.out", EK_PATTERN_SELECT_EXCLUDE, some, false,
                                         (ek_origin){job.path, 1, 1}, &err),
                     EK_OK);
    assert_int_equal(ek_plan_copy(&job.plan, &plan, &err), EK_OK);
    plan.layers[0]++;
    plan.layers[last]--;
    if (ek_job_with(&job, &(ek_job_change){.plan = &plan}, &with, &err))
        fail_msg("%s", err.message);
    const ek_pattern *kept = NULL;
    for (int i = 0; i < with.n_patterns; i++)
        if (with.pattern[i].kind == EK_PATTERN_SELECT_EXCLUDE)
            kept = &with.pattern[i];
    assert_non_null(kept);
    assert_int_equal(kept->layers[0], 1);
    assert_int_equal(kept->layers[last], plan.layers[last]);
    ek_job_clear(&with);
    ek_plan_clear(&plan);
    assert_int_equal(ek_plan_init(&plan, 1, 1, &err), EK_OK);
    plan.layers[0] = job.model.n_layers;
    assert_int_equal(ek_job_with(&job, &(ek_job_change){.plan = &plan}, &with, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "'left\\.out' counts layers of"));
    ek_plan_clear(&plan);
    ek_job_clear(&job);
}

/* Each setting that a job may be changed to, and its result in the check. */
static void a_job_changed_by_hand_is_checked(void **state)
{
    (void)state;
    enum { LAST = 24 };
    for (int i = 0; i < LAST; i++) {
        ek_job job = read_fixture("tests/data/job/experts.yaml");
        ek_error err = {0};
        const char *expected = NULL;
        assert_int_equal(ek_job_check(&job, &err), EK_OK);
#define CASE(at, change, text)                                                                                         \
    if (i == (at)) {                                                                                                   \
        change;                                                                                                        \
        expected = text;                                                                                               \
    }
        CASE(0, job.plan.layers[0]++, "the plan places at least 7 layers, but the model has 6")
        CASE(1, job.plan.layers[0]--, "chunk 0 of stage 0 recomputes 3 of its 2 layers")
        CASE(2, job.plan.full[1] = -1, "chunk 0 of stage 1 recomputes -1 of its 3 layers")
        CASE(3, job.plan.layers[1] = -1, "chunk 0 of stage 1 has -1 layers")
        CASE(4, job.parallel.pipeline = 4; job.parallel.n_micro_batches = 4, "the plan has 2 stages, but the job has 4")
        CASE(5, job.parallel.tensor = 8, "num_heads is 4, which cannot be divided into 8")
        CASE(6, job.parallel.tensor = 0, "model_parallel is 0, expected 1 to")
        CASE(7, job.parallel.ulysses = 0, "context_parallel is 0, expected 1 to 1")
        CASE(8, job.parallel.table_split = 0, "model_parallel is 0")
        CASE(9, job.parallel.expert = 3, "expert_parallel is 3, but experts re-use the ranks")
        CASE(10, job.model.n_experts = 9, "expert_num is 9, which cannot be divided into 4")
        CASE(11, job.model.top_k = 9, "num_experts_chosen is 9, expected 1 to 8")
        CASE(12, job.model.hidden = 1 << 21, "hidden_size is 2097152, expected 1 to 1048576")
        CASE(13, job.model.n_heads = 1 << 16; job.model.head_dim = 1024, "head_dim is 1024, expected 1 to 256")
        CASE(14, job.parallel.n_micro_batches = 1,
             "micro_batch_num gives 1 micro-batch for 2 stages; MindSpore's pipeline needs at least as many")
        CASE(15, job.schedule = ek_schedule_find("interleaved"), "the schedule interleaved is for 2 to")
        CASE(16, job.model.capacity_factor = (double)INFINITY, "tensors together could be")
        CASE(17, job.model.capacity_factor = 1e30, "tensors together could be")
        CASE(18, job.parallel.expert_tensor = 3, "experts re-use the ranks")
        CASE(19, job.parallel.n_pieces = 5, "seq_length is 64, which cannot be divided into 5")
        CASE(20, job.parallel.head_split = 3, "vocab_size is 512, which cannot be divided into 3")
        CASE(21, job.model.n_dense_layers = 6, "num_layers is 6, expected 0 to 5")
        CASE(22, job.parallel.batch = 1 << 16;
             job.parallel.seq_length = job.model.max_position = 1 << 28, "tensors together could be")
        CASE(23, job.parallel.data = 1 << 24, "the job needs more than 16777216 devices")
#undef CASE
        ek_status status = ek_job_check(&job, &err);
        assert_non_null(expected);
        if (status != EK_ERR_INPUT || !strstr(err.message, expected))
            fail_msg("case %d: status %d, no '%s' in: %s", i, status, expected, err.message);
        ek_job_clear(&job);
    }
}

static void widths_follow_the_published_rule(void **state)
{
    (void)state;
    /* Figures of models with published widths: Llama 2 7B, 13B, 70B, Llama 3 8B. */
    assert_int_equal(ek__job_intermediate(4096, 0, 256), 11008);
    assert_int_equal(ek__job_intermediate(5120, 0, 256), 13824);
    assert_int_equal(ek__job_intermediate(8192, 1.3, 256), 28672);
    assert_int_equal(ek__job_intermediate(4096, 1.3, 256), 14336);
    assert_true(ek__job_intermediate(EK__JOB_MAX_HIDDEN, 100, 65536) > 0);
}

static void too_many_patterns_are_refused(void **state)
{
    (void)state;
    char text[8192] = "recompute_config:\n  select_recompute:\n";
    for (int i = 0; i <= EK_MAX_PATTERNS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "    'p%d': True\n", i);
    const lines more = {NULL, NULL, text};
    ek_job job;
    ek_error err = {0};
    put_lines(&more);
    assert_int_equal(ek_job_read(scratch(), NULL, NULL, &job, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "'p64' is pattern 65 of recompute_config, expected at most 64"));
    assert_int_equal(err.line, 10 + 2 + EK_MAX_PATTERNS + 1);
}

/* ---- rules ---- */

static void rules_are_set_and_shown_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *assignment, *value; /* NULL: refused */
    } cases[] = {
        {"weight_gather=layer", "layer"},
        {"weight_gather=none", "none"},
        {"weight_gather=always", NULL},
        {"gather_after_cast=yes", "yes"},
        {"gather_after_cast=false", "no"},
        {"gather_after_cast=2", NULL},
        {"loss_buffers=6", "6"},
        {"loss_buffers=6.5", NULL},
        {"loss_buffers=65", NULL},
        {"loss_buffers=", NULL},
        {"loss_buffers", NULL},
        {"statistics_width=0", "0"},
        {"statistics_width=-1", NULL},
        {"workspace_mb=12.5", "12.5"},
        {"constant_mb=-3", "-3"},
        {"activation_scale=1.1", "1.1"},
        {"activation_scale=nan", NULL},
        {"moe_imbalance=0.5", NULL},
        {"allocation=pages", "pages"},
        {"allocation=offline", "offline"},
        {"block_bytes=2G", "2147483648"},
        {"page_bytes=4194304", "4194304"},
        {"page_bytes=2M", "2097152"},
        {"page_bytes=100", NULL},
        {"page_bytes=1T", NULL},
        {"Loss_buffers=1", NULL},
        {"loss_buffers =1", NULL},
        {"=1", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_rules rules = ek_rules_default(EK_MINDFORMERS);
        const ek_rules before = rules;
        ek_error err = {0};
        ek_status status = ek_rules_set(&rules, cases[i].assignment, &err);
        if (!cases[i].value) {
            if (status != EK_ERR_INPUT || !err.message[0])
                fail_msg("%s: status %d", cases[i].assignment, status);
            assert_memory_equal(&rules, &before, sizeof rules);
            continue;
        }
        char name[64], value[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(cases[i].assignment, "="), cases[i].assignment);
        if (status || !ek_rules_get(&rules, name, value, sizeof value) || strcmp(value, cases[i].value) != 0)
            fail_msg("%s: %s, value %s", cases[i].assignment, err.message, value);
    }
    ek_rules rules = ek_rules_default(EK_MINDFORMERS);
    char value[64];
    assert_false(ek_rules_get(&rules, "nothing", value, sizeof value));
}

/* Every rule of every framework may be set to its current value, which changes nothing, and has a description. */
static void defaults_are_within_the_rules_ranges(void **state)
{
    (void)state;
    for (int f = 0; f < EK_N_FRAMEWORKS; f++) {
        const ek_rules given = ek_rules_default((ek_framework)f);
        ek_rules rules = given;
        int n = 0;
        for (const char *const *name = ek_rule_names; *name; name++, n++) {
            char value[64], assignment[160];
            ek_error err = {0};
            assert_true(ek_rules_get(&given, *name, value, sizeof value));
            snprintf(assignment, sizeof assignment, "%s=%s", *name, value);
            if (ek_rules_set(&rules, assignment, &err))
                fail_msg("%s: %s", assignment, err.message);
            assert_true(strlen(ek_rule_help[n]) > 10);
        }
        assert_memory_equal(&rules, &given, sizeof rules);
        assert_int_equal(n, 26);
    }
    assert_int_equal(ek_rules_default(EK_MINDFORMERS).allocation, EK_ALLOCATION_WHOLE);
    assert_int_equal(ek_rules_default(EK_MEGATRON).allocation, EK_ALLOCATION_CACHING);
    assert_int_equal(ek_rules_default(EK_MINDSPEED).statistics_width, 8);
    assert_int_equal(ek_rules_default(EK_MEGATRON).weight_gather, EK_GATHER_NONE);
}

/* ---- published files ---- */

enum { MAX_COLUMNS = 80 };

/* Cut a row of comma-separated values in place; quotes may hold commas. @return how many */
static int cut_row(char *row, char *value[MAX_COLUMNS])
{
    int n = 0;
    char *to = row;
    for (char *at = row;; at++) {
        value[n++] = to;
        bool quoted = false;
        for (; *at && *at != '\n' && *at != '\r' && (quoted || *at != ','); at++)
            if (*at == '"')
                quoted = !quoted;
            else
                *to++ = *at;
        bool last = *at != ',' || n == MAX_COLUMNS;
        *to++ = '\0';
        if (last)
            return n;
    }
}

typedef struct index_row {
    int n;
    char **name, **value;
} index_row;

/* A row's value; "" when the file does not have it. */
static const char *column(const index_row *row, const char *name)
{
    for (int i = 0; i < row->n; i++)
        if (strcmp(row->name[i], name) == 0)
            return row->value[i];
    fail_msg("the index has no column %s", name);
    return NULL;
}

static void same_number(const index_row *row, const char *name, double value, int *compared)
{
    const char *text = column(row, name);
    if (!text[0])
        return;
    double expected = strcmp(text, "True") == 0 ? 1 : strcmp(text, "False") == 0 ? 0 : strtod(text, NULL);
    if (expected != value)
        fail_msg("%s: %s is %s, read as %g", column(row, "file"), name, text, value);
    (*compared)++;
}

static void same_type(const index_row *row, const char *name, ek_dtype value, int *compared)
{
    const char *text = column(row, name);
    if (!text[0])
        return;
    if (strcmp(text, ek_dtype_name[value]) != 0)
        fail_msg("%s: %s is %s, read as %s", column(row, "file"), name, text, ek_dtype_name[value]);
    (*compared)++;
}

static int compare_with_index(const index_row *row, const ek_job *job)
{
    const ek_job_model *m = &job->model;
    const ek_job_parallel *p = &job->parallel;
    int n = 0, table = p->tensor * p->context;
    bool glm = job->family == EK_FAMILY_GLM, newer = job->framework == EK_MINDFORMERS_MCORE;
    same_number(row, "seq_length", p->seq_length, &n);
    same_number(row, "hidden", m->hidden, &n);
    same_number(row, "layers", m->n_layers, &n);
    same_number(row, "heads", m->n_heads, &n);
    if (m->kv_lora_rank == 0)
        same_number(row, "kv_heads", m->n_kv_heads, &n);
    same_number(row, "vocab", m->vocab, &n);
    same_number(row, "intermediate_effective", m->intermediate, &n);
    same_type(row, "compute_dtype", job->types.compute, &n);
    same_type(row, "param_init_type", job->types.param, &n);
    same_type(row, "layernorm", job->types.norm, &n);
    same_type(row, "softmax", job->types.softmax, &n);
    same_type(row, "rotary", job->types.rotary, &n);
    if (!glm && !newer)
        same_number(row, "qkv_concat", m->qkv_concat, &n);
    same_number(row, "qkv_bias", m->qkv_bias, &n);
    same_number(row, "flash", m->flash_attention, &n);
    same_number(row, "mask_compress", m->mask_compressed, &n);
    if (p->tensor > 1)
        same_number(row, "fine_grain", p->fine_grain, &n);
    same_number(row, "pp_interleave", job->plan.n_chunks, &n);
    same_number(row, "emb_parallel_optimizer", job->states.shard_table, &n);
    same_number(row, "tie", m->tied, &n);
    same_number(row, "batch", p->batch, &n);
    same_number(row, "micro_interleave", p->n_batch_interleave, &n);
    same_number(row, "dp", p->data, &n);
    same_number(row, "mp", p->tensor, &n);
    same_number(row, "pp", p->pipeline, &n);
    same_number(row, "cp", p->context, &n);
    same_number(row, "ep", p->expert, &n);
    same_number(row, "devices", (double)p->data * p->tensor * p->pipeline * p->context, &n);
    if (p->pipeline > 1)
        same_number(row, "micro_batch_num", p->n_micro_batches, &n);
    else
        same_number(row, "grad_acc", p->n_accumulation, &n);
    same_number(row, "global_batch",
                (double)p->batch * p->data * p->n_batch_interleave * p->n_micro_batches * p->n_accumulation, &n);
    same_number(row, "seq_par", p->sequence_parallel, &n);
    if (table > 1)
        same_number(row, "vocab_emb_dp", p->table_split == 1 && (p->tensor == 1 || p->head_split == 1), &n);
    if (p->data * p->context > 1) {
        same_number(row, "opt_parallel", job->states.shard_weight, &n);
        same_number(row, "grad_acc_shard", job->states.shard_gradient, &n);
    }
    same_number(row, "opt_threshold", (double)job->states.shard_threshold / 1024, &n);
    same_number(row, "opt_shard_size", job->states.shard_size, &n);
    same_number(row, "max_device_memory", job->limit_mb / 1024, &n);
    same_number(row, "expert_num", m->n_experts, &n);
    same_number(row, "experts_chosen", m->top_k, &n);
    same_number(row, "shared_experts", m->n_shared_experts, &n);
    assert_int_equal(ek_job_check(job, NULL), EK_OK);
    return n;
}

/* Every file of a folder's index. A file may be refused that leaves its shapes to another folder. */
static void compare_folder(const char *folder, int least, int most_refused)
{
    char path[4352];
    snprintf(path, sizeof path, "%s/INDEX.csv", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static char header[8192], text[8192];
    char *name[MAX_COLUMNS], *value[MAX_COLUMNS];
    int n_rows = 0, n_compared = 0, n_refused = 0;
    assert_non_null(fgets(header, sizeof header, file));
    index_row row = {cut_row(header, name), name, value};
    while (fgets(text, sizeof text, file)) {
        ek_job job;
        ek_error err = {0};
        assert_int_equal(cut_row(text, value), row.n);
        n_rows++;
        snprintf(path, sizeof path, "%s/%s", folder, value[0]);
        if (ek_job_read(path, NULL, NULL, &job, &err)) {
            assert_non_null(strstr(err.message, "pretrained_model_dir"));
            assert_true(err.line > 0);
            n_refused++;
            continue;
        }
        n_compared += compare_with_index(&row, &job);
        ek_job_clear(&job);
    }
    fclose(file);
    print_message("# %d files, %d refused, %d values compared\n", n_rows, n_refused, n_compared);
    assert_true(n_rows >= least && n_refused <= most_refused && n_compared > 25 * n_rows);
}

/* The index is typed from the files, except for the widths of feed-forward parts, which are those of the models'
 * cards. */
static void own_files_are_read_as_their_index_says(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    compare_folder(folder, 11, 0);
}

static void published_files_are_read_as_their_index_says(void **state)
{
    (void)state;
    compare_folder(need_shared("reference/configs"), 29, 1);
}

/* ---- memory runs out, bytes are wrong ---- */

static const char *const fixtures[] = {"tests/data/job/llama.yaml", "tests/data/job/experts.yaml",
                                       "tests/data/job/glm.yaml", "tests/data/job/newer.yaml"};
enum { N_FIXTURES = sizeof fixtures / sizeof *fixtures };

/* ---- whole-valued floats ---- */

/* A whole number as the value of a key or in a list: the first byte of the next at or after `at`, *length of it; NULL
 * after the last. Comments and quoted texts are skipped. */
static const char *next_number(const char *text, const char *at, size_t *length)
{
    char quote = 0;
    for (; *at; at++) {
        if (quote || *at == '"' || *at == '\'') {
            quote = quote == *at || *at == '\n' ? 0 : quote ? quote : *at;
            continue;
        }
        if (*at == '#' && (at == text || at[-1] == ' ' || at[-1] == '\n')) {
            at += strcspn(at, "\n") - 1;
            continue;
        }
        bool starts = at > text && (*at == ' ' || *at == '[');
        size_t sign = at[0] && at[1] == '-', n = starts ? strspn(at + 1 + sign, "0123456789") : 0;
        if (n > 0 && strchr(" ,]}\n\r", at[1 + sign + n]) && strchr(":,[- ", at[*at == ' ' ? -1 : 0])) {
            *length = sign + n;
            return at + 1;
        }
    }
    return NULL;
}

static void put_with(const char *text, const char *number, size_t length, const char *more)
{
    char *changed = NULL;
    size_t size = 0, before = (size_t)(number - text);
    FILE *file = open_memstream(&changed, &size);
    fprintf(file, "%.*s%.*s%s%s", (int)before, text, (int)length, number, more, number + length);
    fclose(file);
    put(changed, size);
    free(changed);
}

/* Is the number at this place one that may have a fraction? */
static bool is_real(const char *text, const char *number)
{
    static const char *const keys[] = {"capacity_factor", "ffn_dim_multiplier", "dropout", "max_device_memory"};
    const char *line = number;
    while (line > text && line[-1] != '\n')
        line--;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *key = strstr(line, keys[i]);
        if (key && key < number && !memchr(key, ',', (size_t)(number - key)))
            return true;
    }
    return false;
}

/* Every number of a file with ".0" appended gives the same job; with ".5" it is refused there, or is not a count.
 * @return numbers that are counts of the job */
static int floats_of(const char *name, const char *text)
{
    ek_job job;
    ek_error err = {0};
    said heard, other;
    static char before[16384], said_before[16384];
    int n = 0;
    size_t length = 0;
    put(text, strlen(text));
    if (read_job(scratch(), NULL, &heard, &job, &err))
        return 0;
    snprintf(before, sizeof before, "%s", show(&job));
    snprintf(said_before, sizeof said_before, "%d warnings", heard.n_warnings);
    ek_job_clear(&job);
    for (const char *at = text; (at = next_number(text, at, &length)); at += length) {
        put_with(text, at, length, ".0");
        if (read_job(scratch(), NULL, &other, &job, &err))
            fail_msg("%s, %.*s.0: %d:%d: %s", name, (int)length, at, err.line, err.column, err.message);
        char now[64];
        snprintf(now, sizeof now, "%d warnings", other.n_warnings);
        if (strcmp(show(&job), before) != 0 || strcmp(now, said_before) != 0)
            fail_msg("%s: %.*s.0 before '%.30s' gives another job:%s\nbefore:%s", name, (int)length, at, at + length,
                     show(&job), before);
        ek_job_clear(&job);
        put_with(text, at, length, ".5");
        int line = 1;
        for (const char *c = text; c < at; c++)
            line += *c == '\n';
        if (read_job(scratch(), NULL, &other, &job, &err) == EK_OK) {
            if (strcmp(show(&job), before) != 0 && !is_real(text, at))
                fail_msg("%s: %.*s.5 on line %d is taken", name, (int)length, at, line);
            ek_job_clear(&job);
            continue;
        }
        if (err.line != line || err.column == 0)
            fail_msg("%s: %.*s.5 on line %d: %d:%d: %s", name, (int)length, at, line, err.line, err.column,
                     err.message);
        n++;
    }
    return n;
}

static int floats_of_file(const char *path)
{
    size_t size = 0;
    char *text = slurp(path, &size);
    int n = text ? floats_of(path, text) : 0;
    free(text);
    return n;
}

static void a_whole_valued_float_is_its_number(void **state)
{
    (void)state;
    static const char *const files[] = {"llama.yaml", "glm.yaml",       "experts.yaml",
                                        "newer.yaml", "mindspeed.yaml", "qwen2.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        snprintf(name, sizeof name, "tests/data/job/%s", files[i]);
        if (floats_of_file(source_path(name)) < 7)
            fail_msg("%s: few counts", name);
    }
    static const char *const published[] = {"finetune_deepseek3_671b.yaml",      "finetune_glm4_9b.yaml",
                                            "finetune_llama2_70b_bf16_32p.yaml", "finetune_telechat_115b.yaml",
                                            "pretrain_mixtral-8x7b.yaml",        "pretrain_telechat3_105b_a4b_4k.yaml"};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        int n = floats_of_file(shared_path(published[i]));
        assert_true(n == 0 || n >= 10); /* 0: not there */
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int n_failures = 0;
    for (size_t f = 0; f < 2 * N_FIXTURES; f++) {
        char path[4096];
        ek_job_overrides say = ek_job_overrides_none();
        snprintf(path, sizeof path, "%s", source_path(fixtures[f / 2]));
        if (f % 2) { /* the layers are spread again */
            say.pipeline = 1;
            say.n_layers = 3;
        }
        for (int n = 0;; n++) {
            ek_job job = {.limit_mb = 17}, copy = {.limit_mb = 18};
            ek_error err = {0};
            assert_true(n < 10000);
            left = n;
            ek_status status = ek_job_read(path, &say, NULL, &job, &err);
            bool copied = false;
            if (status == EK_OK) {
                status = ek_job_copy(&job, &copy, &err);
                copied = status == EK_OK;
            } else {
                assert_true(job.limit_mb == 17);
            }
            bool failed = left < 0;
            left = -1;
            if (copied)
                ek_job_clear(&copy);
            else
                assert_true(copy.limit_mb == 18);
            if (job.path)
                ek_job_clear(&job);
            if (!failed) {
                assert_int_equal(status, EK_OK);
                break;
            }
            n_failures++;
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_string_equal(err.message, "out of memory");
        }
    }
    assert_true(n_failures > 100);
}

static uint64_t random_state = 88172645463325252u;

static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

/* Wrong bytes in a good file: read as a job that passes the check, or refused with a message. */
static void mutations_are_read_or_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"-1", "0", "99999999", "1048576", "True", "[1, 2]", "x", "1e9", ".nan", "7"};
    int n_read = 0, n_refused = 0;
    for (size_t i = 0; i < 6000; i++) {
        size_t size = 0;
        char *text = slurp(source_path(fixtures[i % N_FIXTURES]), &size);
        assert_non_null(text);
        char *changed = malloc(size + 64);
        memcpy(changed, text, size + 1);
        for (size_t n = 1 + random_below(2); n > 0; n--) {
            size_t at = random_below(size);
            const char *word = words[random_below(sizeof words / sizeof *words)];
            char *colon = strchr(changed + at, ':'), *end = colon ? strchr(colon, '\n') : NULL;
            if (random_below(4) == 0 || !end) {
                changed[at] = (char)random_below(128);
            } else { /* another value for a key */
                size_t room = (size_t)(end - colon) - 1, length = strlen(word);
                if (length < room) {
                    memset(colon + 1, ' ', room);
                    for (size_t k = 0; k < length; k++)
                        colon[2 + k] = word[k];
                }
            }
        }
        put(changed, size);
        ek_job job;
        ek_error err = {0};
        if (ek_job_read(scratch(), NULL, NULL, &job, &err)) {
            assert_true(err.status == EK_ERR_INPUT && err.message[0] != '\0');
            n_refused++;
        } else {
            assert_int_equal(ek_job_check(&job, &err), EK_OK);
            ek_job_clear(&job);
            n_read++;
        }
        free(changed);
        free(text);
    }
    print_message("# %d read, %d refused\n", n_read, n_refused);
    assert_true(n_read > 500 && n_refused > 500);
}

static int remove_scratch(void **state)
{
    (void)state;
    unlink(scratch());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read_with_the_frameworks_defaults),
        cmocka_unit_test(what_the_framework_has_a_default_for_may_be_left_out_and_is_told),
        cmocka_unit_test(files_of_each_schema_are_read_whole),
        cmocka_unit_test(a_foreign_residual_type_is_taken_as_meant_unless_told_otherwise),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(what_is_no_job_is_refused),
        cmocka_unit_test(overrides_replace_what_the_file_says),
        cmocka_unit_test(layers_of_prediction_stay_on_the_last_chunk),
        cmocka_unit_test(wrong_overrides_are_refused),
        cmocka_unit_test(a_copy_is_whole_and_its_own),
        cmocka_unit_test(what_a_plan_has_no_list_for_stays),
        cmocka_unit_test(a_job_changed_by_hand_is_checked),
        cmocka_unit_test(widths_follow_the_published_rule),
        cmocka_unit_test(too_many_patterns_are_refused),
        cmocka_unit_test(rules_are_set_and_shown_by_name),
        cmocka_unit_test(defaults_are_within_the_rules_ranges),
        cmocka_unit_test(own_files_are_read_as_their_index_says),
        cmocka_unit_test(published_files_are_read_as_their_index_says),
        cmocka_unit_test(a_whole_valued_float_is_its_number),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(mutations_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
