/* Tests layers of DeepSeek's kind as graphs: saved activations of latent attention and experts against sums by hand
 * from the inputs of each gradient, parameters against the published totals of DeepSeek-V2 and V3 (arXiv 2405.04434:
 * 236 billion; arXiv 2412.19437: 671 billion, 37 and 21 billion of them active), and FLOPs against the parameters. */
#include "input.h"

#include <math.h>

#include "evenkeel/memory.h"
#include "model/layer.h"

/* ---- jobs ---- */

static ek_job plain(void)
{
    ek_job job = {.framework = EK_MEGATRON, .family = EK_FAMILY_MEGATRON};
    job.model = (ek_job_model){.n_layers = 4,
                               .hidden = 512,
                               .n_heads = 8,
                               .n_kv_heads = 8,
                               .head_dim = 96,
                               .value_dim = 64,
                               .intermediate = 1024,
                               .vocab = 8000,
                               .max_position = 256,
                               .gated = true,
                               .fused_swiglu = true,
                               .flash_attention = true,
                               .q_lora_rank = 192,
                               .kv_lora_rank = 128,
                               .nope_dim = 64,
                               .rope_dim = 32,
                               .n_experts = 16,
                               .top_k = 4,
                               .n_shared_experts = 2,
                               .expert_intermediate = 128,
                               .shared_intermediate = 256,
                               .n_dense_layers = 1,
                               .expert_period = 1,
                               .grouped_matmul = true};
    job.types = (ek_job_types){.compute = EK_BF16,
                               .residual = EK_BF16,
                               .param = EK_BF16,
                               .embedding = EK_BF16,
                               .norm = EK_FP32,
                               .router = EK_FP32};
    job.parallel = (ek_job_parallel){.data = 1,
                                     .tensor = 1,
                                     .pipeline = 1,
                                     .context = 1,
                                     .expert = 1,
                                     .expert_tensor = 1,
                                     .batch = 1,
                                     .seq_length = 256,
                                     .n_micro_batches = 1,
                                     .n_accumulation = 1,
                                     .n_batch_interleave = 1,
                                     .n_pieces = 1,
                                     .fine_grain = 1,
                                     .table_split = 1,
                                     .head_split = 1,
                                     .ulysses = 1};
    job.rules = (ek_rules){.norm_statistics_bytes = 4,
                           .loss_buffers = 2,
                           .loss_fused = true,
                           .activation_scale = 1,
                           .transient_scale = 1,
                           .moe_imbalance = 1};
    return job;
}

static ek_job mindformers(void)
{
    ek_job job = plain();
    job.framework = EK_MINDFORMERS;
    job.family = EK_FAMILY_LLAMA;
    job.types.param = job.types.embedding = EK_FP32;
    job.model.fused_swiglu = job.model.grouped_matmul = false;
    job.rules.token_order_copy = true;
    job.rules.statistics_width = 8;
    return job;
}

/* The published shapes. */
static void make_v3(ek_job *job)
{
    ek_job_model *m = &job->model;
    m->n_layers = 61;
    m->hidden = 7168;
    m->n_heads = m->n_kv_heads = 128;
    m->head_dim = 192;
    m->value_dim = 128;
    m->intermediate = 18432;
    m->vocab = 129280;
    m->q_lora_rank = 1536;
    m->kv_lora_rank = 512;
    m->nope_dim = 128;
    m->rope_dim = 64;
    m->n_experts = 256;
    m->top_k = 8;
    m->n_shared_experts = 1;
    m->expert_intermediate = m->shared_intermediate = 2048;
    m->n_dense_layers = 3;
    job->parallel.seq_length = 4096;
}

static void make_v2(ek_job *job)
{
    make_v3(job);
    ek_job_model *m = &job->model;
    m->n_layers = 60;
    m->hidden = 5120;
    m->intermediate = 12288;
    m->vocab = 102400;
    m->n_experts = 160;
    m->top_k = 6;
    m->n_shared_experts = 2;
    m->expert_intermediate = 1536;
    m->shared_intermediate = 2 * 1536;
    m->n_dense_layers = 1;
}

/* ---- graphs ---- */

static ek__graph graph; /* of the case at hand */

static const ek__graph *build(const ek_job *job, ek__graph_kind kind)
{
    ek__graph_build(job, kind, &graph);
    return &graph;
}

static int64_t kept(const ek_job *job, ek__graph_kind kind)
{
    bool recomputed[EK__MAX_OPS], keep[EK__MAX_TENSORS];
    build(job, kind);
    ek__graph_recomputed(job, &graph, (ek__recompute){.patterns = ~UINT64_C(0)}, recomputed);
    return ek__graph_keep(&graph, recomputed, keep);
}

static int64_t parameters(const ek_job *job, ek__graph_kind kind)
{
    int64_t n = 0;
    build(job, kind);
    for (int i = 0; i < graph.n_parameters; i++)
        n += graph.parameter[i].elements;
    return n;
}

static const ek__parameter *parameter(const char *name)
{
    for (int i = 0; i < graph.n_parameters; i++)
        if (strcmp(graph.parameter[i].name, name) == 0)
            return &graph.parameter[i];
    fail_msg("no parameter %s in %s", name, graph.name);
    return NULL;
}

static double flops(void)
{
    double sum = 0;
    for (int i = 0; i < graph.n_ops; i++)
        if (graph.op[i].kind == EK__OP_MATMUL)
            sum += graph.op[i].flops;
    return sum;
}

/* ---- latent attention ---- */

/* Kept by a dense layer with latent attention, from its gradients: rows of tokens times widths, `c` bytes each. */
static int64_t dense_by_hand(const ek_job *job, int64_t Ts, int64_t T, int64_t t)
{
    const ek_job_model *m = &job->model;
    bool mf = job->family == EK_FAMILY_LLAMA, parts = mf;
    int64_t c = 2, N = m->n_heads / t, head = m->nope_dim + m->rope_dim, v = mf ? head : m->value_dim;
    int64_t regather = job->rules.regather ? Ts : T;
    int64_t x = 2 * c * Ts * m->hidden + 4 * Ts + 4 * Ts; /* both norms' inputs and statistics */
    int64_t normed = c * Ts * m->hidden;                  /* read by the matrices down, before any gather */
    int64_t narrow = c * Ts * (m->q_lora_rank + m->kv_lora_rank) + 2 * 4 * Ts; /* before their norms */
    int64_t wide = c * regather * (m->q_lora_rank + m->kv_lora_rank);          /* after them */
    int64_t statistics = 4 * (job->rules.statistics_width ? 2 * job->rules.statistics_width : 1) * N * T;
    int64_t qkv = c * T * N * (2 * head + v), out = c * T * N * v + (mf ? c * T * N * m->value_dim : 0);
    int64_t ffn = c * (regather * m->hidden + T * (parts ? 4 : 3) * m->intermediate / t);
    return x + normed + narrow + wide + statistics + qkv + out + ffn;
}

static void latent_attention_keeps_what_its_gradients_read(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ek_job job = i ? mindformers() : plain();
        assert_int_equal(kept(&job, EK__GRAPH_DENSE), dense_by_hand(&job, 256, 256, 1));
        job.parallel.batch = 3;
        assert_int_equal(kept(&job, EK__GRAPH_DENSE), dense_by_hand(&job, 768, 768, 1));
        job.parallel.tensor = 4;
        assert_int_equal(kept(&job, EK__GRAPH_DENSE), dense_by_hand(&job, 768, 768, 4));
        job.parallel.sequence_parallel = true;
        assert_int_equal(kept(&job, EK__GRAPH_DENSE), dense_by_hand(&job, 192, 768, 4));
        job.rules.regather = true;
        assert_int_equal(kept(&job, EK__GRAPH_DENSE), dense_by_hand(&job, 192, 768, 4));
    }
}

static void latent_attention_without_narrow_queries(void **state)
{
    (void)state;
    ek_job job = plain();
    int64_t with = kept(&job, EK__GRAPH_DENSE), had = parameters(&job, EK__GRAPH_DENSE);
    job.model.q_lora_rank = 0;
    /* Gone: the narrow vector before and after its norm, that norm's statistics. */
    assert_int_equal(with - kept(&job, EK__GRAPH_DENSE), 2 * 2 * 256 * 192 + 4 * 256);
    /* Two matrices and a gamma for one matrix. */
    assert_int_equal(had - parameters(&job, EK__GRAPH_DENSE), 512 * 192 + 192 + 192 * 8 * 96 - 512 * 8 * 96);
}

static void latent_matrices_down_are_whole_and_those_up_are_cut(void **state)
{
    (void)state;
    ek_job job = plain();
    job.parallel.tensor = 4;
    job.parallel.sequence_parallel = true;
    build(&job, EK__GRAPH_DENSE);
    const struct {
        const char *name;
        int64_t elements;
        int copies;
    } expected[] = {
        {"self_attention.linear_q_down_proj.weight", 512 * 192, 4},
        {"self_attention.q_layernorm.weight", 192, 4},
        {"self_attention.linear_q_up_proj.weight", 192 * 2 * 96, 1},
        {"self_attention.linear_kv_down_proj.weight", 512 * (128 + 32), 4},
        {"self_attention.kv_layernorm.weight", 128, 4},
        {"self_attention.linear_kv_up_proj.weight", 128 * 2 * (64 + 64), 1},
        {"self_attention.linear_proj.weight", 2 * 64 * 512, 1},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const ek__parameter *p = parameter(expected[i].name);
        assert_int_equal(p->elements, expected[i].elements);
        assert_int_equal(p->copies, expected[i].copies);
        assert_false(p->expert);
    }
    job = mindformers();
    build(&job, EK__GRAPH_DENSE);
    parameter("attention.q2l_proj.weight");
    parameter("attention.kv2l_latent_kv.weight");
    parameter("attention.lkv2kv_v.weight");
}

static void scores_are_kept_without_flash_attention(void **state)
{
    (void)state;
    ek_job job = plain();
    job.types.softmax = EK_BF16;
    int64_t with = kept(&job, EK__GRAPH_DENSE);
    job.model.flash_attention = false;
    /* The probabilities of 8 heads come; the statistics and, with them, the output's second reader go: the output is
     * still read by the last matrix. */
    assert_int_equal(kept(&job, EK__GRAPH_DENSE) - with, 2 * 8 * 256 * 256 - 4 * 8 * 256);
}

/* ---- experts ---- */

/* Kept by a layer with experts and without its attention's part, which the dense layer has too. */
static int64_t experts_by_hand(const ek_job *job, int64_t n, int64_t rows_in, int64_t rows, int64_t inner, int64_t t)
{
    const ek_job_model *m = &job->model;
    bool mf = job->family == EK_FAMILY_LLAMA;
    int64_t c = 2, H = m->hidden, T = 256, Ts = job->parallel.sequence_parallel ? T / t : T;
    int64_t router = (mf ? 4 * n * H : c * 0) + 4 * n * m->n_experts;
    int64_t choice = 4 * n * m->top_k /* weights */ + 4 * n * m->top_k /* indices */;
    int64_t experts = c * (rows * H + rows * (mf && !m->grouped_matmul ? 4 : 3) * inner);
    int64_t combine = c * (mf ? n * m->top_k : rows_in) * H;
    int64_t shared_rows = mf && job->parallel.sequence_parallel ? Ts : T;
    int64_t shared_inner = m->shared_intermediate / (mf && job->parallel.sequence_parallel ? 1 : t);
    int64_t shared = c * shared_rows * (mf ? 4 : 3) * shared_inner;
    return c * Ts * H /* normed input, read by shared experts or the router */ + router + choice + experts + combine +
           shared;
}

static int64_t attention_alone(const ek_job *job, int64_t Ts, int64_t t)
{
    ek_job dense = *job;
    dense.model.intermediate = 0;
    return dense_by_hand(&dense, Ts, 256, t) - 2 * (job->rules.regather ? Ts : 256) * job->model.hidden;
}

static void experts_keep_what_their_gradients_read(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ek_job job = i ? mindformers() : plain();
        int64_t rest = attention_alone(&job, 256, 1), P = 256 * 4;
        assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 256, P, P, 128, 1));
        /* Sending changes where tokens are computed, not how many. */
        job.parallel.data = job.parallel.expert = 4;
        assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 256, P, P, 128, 1));
        /* On the fullest rank more arrive than leave. */
        job.rules.moe_imbalance = 1.5;
        assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 256, P, P * 3 / 2, 128, 1));
        /* With a capacity all buffers have the same size: 16 experts, ceil(4 256 1.1 / 16) = 71 tokens each. */
        job.model.capacity_factor = 1.1;
        P = 16 * 71;
        assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 256, P, P, 128, 1));
    }
}

static void experts_are_cut_over_their_own_tensor_ranks(void **state)
{
    (void)state;
    ek_job job = plain();
    job.parallel.tensor = 4;
    job.parallel.sequence_parallel = job.rules.regather = true;
    job.parallel.expert = 2;
    /* Whole experts: the rank's 64 tokens, 4 copies each. */
    int64_t rest = attention_alone(&job, 64, 4), P = 64 * 4;
    assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 64, P, P, 128, 4));
    build(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameter("mlp.experts.linear_fc1.weight")->elements, 8 * 512 * 2 * 128);
    assert_int_equal(parameter("mlp.experts.linear_fc1.weight")->copies, 4);
    assert_true(parameter("mlp.experts.linear_fc2.weight")->expert);
    /* Cut over 4: four times the tokens, a quarter of the columns, and the gathered tokens in addition to the rank's
     * own ones, which only the forward pass reads. */
    job.parallel.expert_tensor = 4;
    assert_int_equal(kept(&job, EK__GRAPH_EXPERTS), rest + experts_by_hand(&job, 64, P, 4 * P, 32, 4));
    build(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameter("mlp.experts.linear_fc1.weight")->elements, 8 * 512 * 2 * 32);
    assert_int_equal(parameter("mlp.experts.linear_fc1.weight")->copies, 1);
    assert_int_equal(parameter("mlp.router.weight")->elements, 512 * 16);
    assert_int_equal(parameter("mlp.router.weight")->copies, 4);
}

static void shared_experts_are_whole_in_mindformers_with_sequence_parallelism(void **state)
{
    (void)state;
    ek_job job = mindformers();
    job.parallel.tensor = 4;
    build(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameter("feed_forward.shared_experts.w1.weight")->elements, 512 * 64);
    job.parallel.sequence_parallel = true;
    build(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameter("feed_forward.shared_experts.w1.weight")->elements, 512 * 256);
    assert_int_equal(parameter("feed_forward.shared_experts.w1.weight")->copies, 4);
    parameter("feed_forward.routed_experts.ffn.w2.weight");
    job.model.shared_intermediate = job.model.n_shared_experts = 0;
    build(&job, EK__GRAPH_EXPERTS);
    parameter("feed_forward.ffn.w2.weight");
}

/* Every row is multiplied with one expert's matrices: FLOPs of the experts are those of a dense layer of as many rows.
 */
static void experts_compute_each_token_top_k_times(void **state)
{
    (void)state;
    ek_job job = plain();
    build(&job, EK__GRAPH_EXPERTS);
    double with = flops();
    job.model.top_k = 1;
    build(&job, EK__GRAPH_EXPERTS);
    assert_true(fabs(with - flops() - 3.0 * 2.0 * 256 * 3 * 512 * 128) < 1);
    job.parallel.expert = 8;
    job.model.top_k = 4;
    build(&job, EK__GRAPH_EXPERTS);
    assert_true(fabs(with - flops()) < 1);
}

static void patterns_find_the_experts_activations(void **state)
{
    (void)state;
    ek_job job = mindformers();
    job.parallel.fine_grain = 2; /* no reshapes around the matrices */
    build(&job, EK__GRAPH_EXPERTS);
    const char *const found[] = {
        "feed_forward\\.routed_experts\\.ffn\\.mul",
        "feed_forward\\.routed_experts\\.ffn\\.w1\\.activation\\.silu",
        "feed_forward\\.shared_experts\\.mul",
        "feed_forward\\.routed_experts\\.router\\.router\\.softmax",
        "attention\\.q2l_proj\\.matmul",
        "attention\\.lkv_norm\\.norm",
    };
    bool matched[EK__MAX_OPS] = {false};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (ek__pattern_match(&graph, found[i], EK_PATTERN_SELECT, matched) != 1)
            fail_msg("%s is not found", found[i]);
    int64_t none = kept(&job, EK__GRAPH_EXPERTS);
    ek_pattern pattern = {.text = (char *)found[0], .kind = EK_PATTERN_SELECT};
    job.pattern = &pattern;
    job.n_patterns = 1;
    assert_int_equal(none - kept(&job, EK__GRAPH_EXPERTS), 2 * 1024 * 128); /* the product, P x I */
}

/* ---- published totals ---- */

/* Parameters of a whole model: layers, table, head, last norm. */
static double total(ek_job *job)
{
    const ek_job_model *m = &job->model;
    double dense = (double)parameters(job, EK__GRAPH_DENSE), experts = (double)parameters(job, EK__GRAPH_EXPERTS);
    return dense * m->n_dense_layers + experts * (m->n_layers - m->n_dense_layers) +
           (double)parameters(job, EK__GRAPH_EMBEDDING) + (double)parameters(job, EK__GRAPH_HEAD);
}

/* Those that work on one token: all but the routed experts it is not sent to. */
static double active(ek_job *job)
{
    const ek_job_model *m = &job->model;
    double idle = 3.0 * m->hidden * m->expert_intermediate * (m->n_experts - m->top_k);
    return total(job) - idle * (m->n_layers - m->n_dense_layers);
}

static void parameters_are_those_published(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ek_job job = i ? mindformers() : plain();
        make_v3(&job);
        assert_true(fabs(total(&job) / 671e9 - 1) < 0.001);
        assert_true(fabs(active(&job) / 37e9 - 1) < 0.02);
        make_v2(&job);
        assert_true(fabs(total(&job) / 236e9 - 1) < 0.003);
        assert_true(fabs(active(&job) / 21e9 - 1) < 0.03);
    }
}

/* ---- multi-token prediction ---- */

static void a_prediction_layer_adds_a_projection_and_three_norms(void **state)
{
    (void)state;
    ek_job job = plain();
    job.model.n_prediction_layers = 1;
    int64_t decoder = parameters(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameters(&job, EK__GRAPH_PREDICTION), decoder + 2 * 512 * 512 + 3 * 512);
    /* On another stage than the first it has a copy of the table. */
    job.parallel.pipeline = 2;
    assert_int_equal(parameters(&job, EK__GRAPH_PREDICTION), decoder + 2 * 512 * 512 + 3 * 512 + 8000 * 512);
    assert_true(parameter("embedding.word_embeddings.weight")->table);
    /* MindFormers has one last norm for all. */
    job = mindformers();
    job.model.n_prediction_layers = 1;
    decoder = parameters(&job, EK__GRAPH_EXPERTS);
    assert_int_equal(parameters(&job, EK__GRAPH_PREDICTION), decoder + 2 * 512 * 512 + 2 * 512);
    /* No operator is left with a missing parameter. */
    for (int i = 0; i < graph.n_ops; i++)
        assert_true(graph.op[i].parameter < graph.n_parameters);
}

/* Or its gradient would be counted nowhere, or twice. */
static void every_parameter_is_one_operators(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < EK__N_GRAPH_KINDS; kind++) {
            ek_job job = i % 2 ? mindformers() : plain();
            int n[EK__MAX_PARAMETERS] = {0};
            job.model.n_prediction_layers = 1;
            job.parallel.pipeline = 1 + i / 2;
            build(&job, (ek__graph_kind)kind);
            for (int o = 0; o < graph.n_ops; o++)
                if (graph.op[o].parameter >= 0)
                    n[graph.op[o].parameter]++;
            for (int k = 0; k < graph.n_parameters; k++)
                if (n[k] != 1)
                    fail_msg("%s: %d operators have %s", graph.name, n[k], graph.parameter[k].name);
        }
}

static void a_prediction_layer_keeps_a_decoder_layer_a_head_and_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ek_job job = i ? mindformers() : plain();
        job.model.n_prediction_layers = 1;
        int64_t T = 256, H = 512, decoder = kept(&job, EK__GRAPH_EXPERTS), head = kept(&job, EK__GRAPH_HEAD);
        /* The state and the embedding before their norms with statistics, both after them side by side; the inputs of
         * the decoder and the head are counted with them. */
        assert_int_equal(kept(&job, EK__GRAPH_PREDICTION), decoder + head + 2 * (2 * T * H + 4 * T) + 2 * T * 2 * H);
        build(&job, EK__GRAPH_PREDICTION);
        assert_true(graph.input >= 0 && graph.output >= 0 && graph.output != graph.input);
        /* With a wider residual the state and the embedding are wider, and so is the decoder's input. */
        job.types.residual = EK_FP32;
        decoder = kept(&job, EK__GRAPH_EXPERTS);
        head = kept(&job, EK__GRAPH_HEAD);
        assert_int_equal(kept(&job, EK__GRAPH_PREDICTION), decoder + head + 2 * (4 * T * H + 4 * T) + 2 * T * 2 * H);
        assert_int_equal(graph.tensor[graph.output].dtype, EK_FP32);
    }
}

/* ---- measured peaks ---- */

/* Four layers of the published shapes on two stages of four ranks, experts over them; the first layer is dense, since
 * two with experts would not fit into the measured memory of the first stage. Distributed optimizer (states over the
 * ranks that hold a parameter), fused loss. */
static void make_measured(ek_job *job, bool v3, int *lists)
{
    *job = plain();
    if (v3)
        make_v3(job);
    else
        make_v2(job);
    job->model.n_layers = 4;
    job->model.n_dense_layers = 1;
    job->model.max_position = 4096;
    job->model.mask_compressed = true;
    job->parallel.data = job->parallel.expert = 4;
    job->parallel.pipeline = 2;
    job->parallel.n_micro_batches = 4;
    job->states = (ek_job_states){
        .weight = 2, .gradient = 4, .optimizer = 12, .shard_optimizer = true, .shard_table = true, .shard_size = -1};
    job->rules = ek_rules_default(EK_MEGATRON);
    job->rules.loss_fused = true;
    for (int i = 0; i < 2; i++)
        lists[i] = 2;
    job->plan = (ek_plan){2, 1, lists, lists + 2, lists + 4, lists + 6};
    job->schedule = ek_schedule_find("1f1b");
}

/* SimuMax 1.2, docs/b200: 4 layers of each on 8 devices, d4 p2 e4, sequences of 4096. MiB allocated by the ranks with
 * the least, which are those of the first stage, and with the most. */
static void measured_peaks_are_met(void **state)
{
    (void)state;
    static const double measured[2][2] = {{32342.3, 45775.8}, {72948.1, 116737.9}};
    for (int v3 = 0; v3 < 2; v3++) {
        const double *peaks = measured[v3];
        ek_job job;
        int lists[8] = {0};
        make_measured(&job, v3, lists);
        ek_memory memory;
        ek_error err;
        if (ek_memory_predict(&job, NULL, &memory, &err))
            fail_msg("%s", err.message);
        for (int s = 0; s < 2; s++) {
            double mb = (double)memory.stage[s].used_peak / 1048576, error = mb / peaks[s] - 1;
            print_message("# DeepSeek-V%d, stage %d: %.0f MB, measured %.0f, %+.1f %% (peak at %s)\n", 2 + v3, s, mb,
                          peaks[s], 100 * error, memory.stage[s].operator_name);
            assert_true(fabs(error) < 0.05);
        }
        ek_memory_clear(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latent_attention_keeps_what_its_gradients_read),
        cmocka_unit_test(latent_attention_without_narrow_queries),
        cmocka_unit_test(latent_matrices_down_are_whole_and_those_up_are_cut),
        cmocka_unit_test(scores_are_kept_without_flash_attention),
        cmocka_unit_test(experts_keep_what_their_gradients_read),
        cmocka_unit_test(experts_are_cut_over_their_own_tensor_ranks),
        cmocka_unit_test(shared_experts_are_whole_in_mindformers_with_sequence_parallelism),
        cmocka_unit_test(experts_compute_each_token_top_k_times),
        cmocka_unit_test(patterns_find_the_experts_activations),
        cmocka_unit_test(parameters_are_those_published),
        cmocka_unit_test(a_prediction_layer_adds_a_projection_and_three_norms),
        cmocka_unit_test(every_parameter_is_one_operators),
        cmocka_unit_test(a_prediction_layer_keeps_a_decoder_layer_a_head_and_its_own),
        cmocka_unit_test(measured_peaks_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
