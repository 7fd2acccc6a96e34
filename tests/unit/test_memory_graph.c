/* Tests graphs of operators: saved activations of a layer against closed forms, which are derived from the operators'
 * gradients by hand or published (Korthikanti et al., arXiv 2205.05198), against a slow search on random graphs, and
 * the figures of parameters and FLOPs. */
#include "memory_job.h"

#include <math.h>

#include "assert_close.h"
#include "base/random.h"

/* ---- the walk ---- */

/* Can every tensor that a gradient reads be computed from the storages in `kept`? By rounds over all operators instead
 * of a walk back from the needed tensors. */
static bool suffices(const ek__graph *g, const bool *recomputed, const bool *kept)
{
    bool there[EK__MAX_TENSORS] = {false};
    for (int i = 0; i < g->n_tensors; i++)
        if (kept[g->tensor[i].storage] && (g->tensor[i].producer < 0 || !recomputed[g->tensor[i].producer]))
            there[i] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int o = 0; o < g->n_ops; o++) {
            bool ready = recomputed[o];
            for (int i = 0; i < g->op[o].n_in; i++)
                ready = ready && there[g->op[o].in[i]];
            for (int i = 0; ready && i < g->op[o].n_out; i++)
                if (!there[g->op[o].out[i]])
                    changed = there[g->op[o].out[i]] = true;
        }
    }
    for (int o = 0; o < g->n_ops; o++)
        for (int i = 0; i < g->op[o].n_needs; i++)
            if (!there[g->op[o].needs[i]])
                return false;
    return true;
}

/* An operator with random inputs among the tensors there are, needs among its inputs and outputs. */
static void add_random_op(ek__graph *g, ek__random *random)
{
    bool view = ek__random_below(random, 5) == 0;
    ek__op *op = ek__add_op(g, "op", view ? EK__OP_VIEW : EK__OP_ELEMENTWISE);
    int n_in = view ? 1 : 1 + ek__random_below(random, 3), n_out = view ? 1 : 1 + ek__random_below(random, 2);
    for (int i = 0; i < n_in; i++)
        ek__op_in(g, op, ek__random_below(random, g->n_tensors));
    for (int i = 0; i < n_out; i++)
        ek__op_out(g, op, ek__add_bytes(g, "t", 1 + ek__random_below(random, 1000), false));
    for (int i = 0; !view && i < n_in; i++)
        if (ek__random_below(random, 2))
            ek__op_need(g, op, op->in[i]);
    for (int i = 0; !view && i < n_out; i++)
        if (ek__random_below(random, 3) == 0)
            ek__op_need(g, op, op->out[i]);
}

static void what_is_kept_is_enough_and_nothing_of_it_can_go(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(1);
    static ek__graph g;
    for (int round = 0; round < 2000; round++) {
        bool recomputed[EK__MAX_OPS] = {false}, kept[EK__MAX_TENSORS];
        memset(&g, 0, sizeof g);
        ek__add_bytes(&g, "input", 100, false);
        int n = 1 + ek__random_below(&random, 20);
        for (int i = 0; i < n; i++) {
            add_random_op(&g, &random);
            recomputed[i] = ek__random_below(&random, 2);
        }
        int64_t bytes = ek__graph_keep(&g, recomputed, kept), sum = 0;
        assert_true(suffices(&g, recomputed, kept));
        for (int i = 0; i < g.n_tensors; i++) {
            if (!kept[i])
                continue;
            assert_int_equal(g.tensor[i].storage, i);
            sum += g.tensor[i].bytes;
            kept[i] = false;
            assert_false(suffices(&g, recomputed, kept));
            kept[i] = true;
        }
        assert_int_equal(bytes, sum);
    }
}

/* ---- a Llama layer ---- */

/* The table of docs/models.md, row by row: x and h of `r` bytes an element. */
typedef struct llama_bytes {
    int64_t none, select, comm, both, full;
} llama_bytes;

static llama_bytes llama_closed_form(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    const ek_job_parallel *p = &job->parallel;
    const int64_t c = ek_dtype_bytes(job->types.compute), r = ek_dtype_bytes(job->types.residual), t = p->tensor;
    const int64_t T = (int64_t)p->batch * p->seq_length / p->context, Ts = p->sequence_parallel ? T / t : T;
    const int64_t H = m->hidden, K = (int64_t)m->n_kv_heads * m->head_dim, I = m->intermediate;
    /* Of H/t: q, attention's output, and that in token order; with Ulysses as it comes out of the exchange. */
    int64_t copies = p->context > 1 && p->ulysses == 1 ? 2 : 3;
    int64_t keys = p->context_algorithm == EK_CONTEXT_RING ? 1 : p->context / p->ulysses;
    llama_bytes out;
    out.none = 2 * r * Ts * H + 2 * c * T * H + c * T * (copies * H + 2 * K * keys) / t + 4 * c * T * I / t +
               64 * (int64_t)p->batch * (m->n_heads / t) * p->seq_length / p->context + 8 * Ts;
    out.select = out.none - 2 * c * T * I / t;
    out.comm = out.none - 2 * c * (T - Ts) * H;
    out.both = out.select - (out.none - out.comm);
    out.full = r * Ts * H;
    return out;
}

static void random_llama(made_job *m, ek__random *random)
{
    make_llama(m);
    ek_job *job = &m->job;
    ek_job_parallel *p = &job->parallel;
    p->tensor = 1 << ek__random_below(random, 4);
    p->context = 1 << ek__random_below(random, 3);
    p->context_algorithm = (ek_context_algorithm)ek__random_below(random, 3);
    p->ulysses = p->context_algorithm == EK_CONTEXT_GATHER ? 1 : p->context;
    if (p->ulysses > 1 && (p->context_algorithm == EK_CONTEXT_RING || ek__random_below(random, 2)))
        p->ulysses /= 1 << (1 + ek__random_below(random, p->ulysses > 2 ? 2 : 1));
    if (p->context_algorithm == EK_CONTEXT_ULYSSES && p->ulysses == 1)
        p->ulysses = p->context; /* ek_job has ranks of a group; 1 means all of them */
    p->sequence_parallel = ek__random_below(random, 2);
    p->fine_grain = p->tensor > 1 ? 1 + ek__random_below(random, 2) : 1;
    p->batch = 1 + ek__random_below(random, 3);
    p->seq_length = 512 * (1 + ek__random_below(random, 4));
    job->model.n_kv_heads = 32 * (1 + ek__random_below(random, 3));
    job->model.n_heads = job->model.n_kv_heads * (1 + ek__random_below(random, 4));
    job->model.head_dim = job->model.value_dim = 16 * (1 + ek__random_below(random, 4));
    job->model.hidden = job->model.n_heads * job->model.head_dim;
    job->model.intermediate = 64 * (1 + ek__random_below(random, 99));
    job->types.compute = job->types.residual = ek__random_below(random, 2) ? EK_FP16 : EK_BF16;
    if (ek__random_below(random, 2))
        job->types.residual = EK_FP32;
    else if (ek__random_below(random, 2))
        job->types.norm = job->types.rotary = job->types.compute;
}

static void select_both_activations(made_job *m)
{
    add_pattern(m, EK_PATTERN_SELECT, "feed_forward\\.mul");
    add_pattern(m, EK_PATTERN_SELECT, "feed_forward\\.w1\\.activation\\.silu");
}

static void select_reshapes(made_job *m)
{
    add_pattern(m, EK_PATTERN_SELECT, "feed_forward\\.w1\\.reshape");
    add_pattern(m, EK_PATTERN_SELECT, "feed_forward\\.w2\\.reshape");
}

static void a_llama_layer_keeps_what_the_closed_form_says(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(2);
    static made_job m;
    for (int round = 0; round < 2000; round++) {
        random_llama(&m, &random);
        llama_bytes expected = llama_closed_form(&m.job);
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.none);
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, true), expected.full);
        select_both_activations(&m);
        if (m.job.parallel.fine_grain == 1) {
            /* The reshapes in between keep the recomputed values. */
            assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.none);
            select_reshapes(&m);
        }
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.select);
        add_pattern(&m, EK_PATTERN_COMM, ".*\\.norm");
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.both);
        m.pattern[0] = m.pattern[m.job.n_patterns - 1];
        m.job.n_patterns = 1;
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.comm);
        /* Excluded again, also in a layer recomputed whole: the gathered tensors stay. */
        add_pattern(&m, EK_PATTERN_COMM_EXCLUDE, ".*\\.norm");
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), expected.none);
    }
}

static void make_175b(made_job *m)
{
    make_llama(m);
    m->job.model.hidden = 12288;
    m->job.model.n_heads = 96;
    m->job.model.n_kv_heads = 16;
    m->job.model.head_dim = m->job.model.value_dim = 128;
    m->job.model.intermediate = 53248;
    m->job.parallel.seq_length = 8192;
    m->job.parallel.tensor = 8;
    m->job.parallel.sequence_parallel = true;
    m->job.parallel.fine_grain = 2;
}

/* MiB worked out for 175B on eight tensor ranks, with x and h of two bytes and of four. */
static void the_175b_example_comes_out_as_worked_out(void **state)
{
    (void)state;
    static const int expected[][4] = {[EK_FP32] = {982, 774, 646, 438}, [EK_BF16] = {934, 726, 598, 390}};
    static made_job m;
    for (int select = 0; select < 2; select++)
        for (int comm = 0; comm < 2; comm++) {
            make_175b(&m);
            if (select)
                select_both_activations(&m);
            if (comm)
                add_pattern(&m, EK_PATTERN_COMM, ".*\\.norm");
            for (int fp32 = 0; fp32 < 2; fp32++) {
                m.job.types.residual = fp32 ? EK_FP32 : EK_BF16;
                int64_t bytes = kept_bytes(&m.job, EK__GRAPH_DENSE, false);
                assert_int_equal((bytes + (1 << 19)) >> 20, expected[m.job.types.residual][select + 2 * comm]);
            }
        }
}

static void selections_save_what_they_name(void **state)
{
    (void)state;
    /* 1, 2, 4: T H, T I, T K in compute type, of a layer with GQA on one rank and fine-grained interleave. */
    static const struct {
        const char *what, *pattern[3];
        int concat, fused, hidden, intermediate, keys; /* saved */
        bool reshapes;
    } cases[] = {
        {"Mul alone", {"feed_forward\\.mul"}, 0, 0, 0, 1, 0, false},
        {"SiLU alone", {"feed_forward\\.w1\\.activation\\.silu"}, 0, 0, 0, 1, 0, false},
        {"the activation's cell, as the guide writes it", {"feed_forward\\.w1\\.activation"}, 0, 0, 0, 1, 0, false},
        {"it needs the reshape behind it too", {"feed_forward\\.w1\\.activation"}, 0, 0, 0, 0, 0, true},
        {"and has it", {"feed_forward\\.w1\\.activation", "feed_forward\\.w1\\.reshape"}, 0, 0, 0, 1, 0, true},
        {"flash attention's cell: its only primitive makes its output",
         {"attention\\.flash_attention"},
         0,
         0,
         0,
         0,
         0,
         false},
        {"flash attention runs again: its output in token order is kept, not the other one nor statistics, 64 N = 2 H",
         {"attention\\.flash_attention\\.flash_attention"},
         0,
         0,
         2,
         0,
         0,
         false},
        {"the copy into token order", {"attention\\.merger_head_transpose"}, 0, 0, 0, 0, 0, true},
        {"with the reshape behind it",
         {"attention\\.merger_head_transpose", "attention\\.wo\\.reshape"},
         0,
         0,
         1,
         0,
         0,
         true},
        {"or where there is none", {"attention\\.merger_head_transpose"}, 0, 0, 1, 0, 0, false},
        {"a word that is part of a name matches nothing", {"feed_forward\\.mu"}, 0, 0, 0, 0, 0, false},
        {"an alternative", {"feed_forward\\.(mul|add)"}, 0, 0, 0, 1, 0, false},
        {"a digit in Python's words", {"feed_forward\\.w\\d\\.activation\\.silu"}, 0, 0, 0, 1, 0, false},
        {"a dot that is not escaped does not cut", {"feed_forward.mul"}, 0, 0, 0, 0, 0, false},
        {"a part is no expression", {"feed_forward\\.(mul"}, 0, 0, 0, 0, 0, false},
        {"w1, w3 in one: the activation's other name",
         {"feed_forward\\.mul", "feed_forward\\.activate\\.silu"},
         1,
         0,
         0,
         2,
         0,
         false},
        {"w1, w3 in one, reshapes as shipped files name them",
         {"feed_forward\\.(mul|reshape)", "feed_forward\\.activate\\.silu", "feed_forward\\.w2\\.reshape"},
         1,
         0,
         0,
         2,
         0,
         true},
        {"fused SwiGLU: its product", {"feed_forward\\.swiglu"}, 1, 1, 0, 1, 0, false},
    };
    static made_job m;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_llama(&m);
        m.job.model.n_kv_heads = 2;
        m.job.parallel.fine_grain = cases[i].reshapes ? 1 : 2;
        m.job.model.qkv_concat = cases[i].concat;
        m.job.model.fused_swiglu = cases[i].fused;
        int64_t before = kept_bytes(&m.job, EK__GRAPH_DENSE, false);
        for (int k = 0; k < 3 && cases[i].pattern[k]; k++)
            add_pattern(&m, EK_PATTERN_SELECT, cases[i].pattern[k]);
        int64_t saved = before - kept_bytes(&m.job, EK__GRAPH_DENSE, false);
        int64_t expected = INT64_C(2) * 512 * (256 * cases[i].hidden + 768 * cases[i].intermediate);
        if (saved != expected)
            fail_msg("%s: saves %lld, not %lld", cases[i].what, (long long)saved, (long long)expected);
    }
}

/* Is the first operator with this path recomputed, with all of the job's patterns in force? */
static bool is_recomputed(const ek_job *job, const char *path)
{
    static ek__graph g;
    bool recomputed[EK__MAX_OPS];
    ek__graph_build(job, EK__GRAPH_DENSE, &g);
    ek__graph_recomputed(job, &g, (ek__recompute){.patterns = ~UINT64_C(0)}, recomputed);
    for (int i = 0; i < g.n_ops; i++)
        if (strcmp(g.op[i].path, path) == 0)
            return recomputed[i];
    fail_msg("there is no %s", path);
    return false;
}

static void recomputation_that_a_reshape_undoes_costs_no_time(void **state)
{
    (void)state;
    static made_job m;
    make_llama(&m);
    select_both_activations(&m);
    assert_false(is_recomputed(&m.job, "feed_forward.mul"));
    assert_false(is_recomputed(&m.job, "feed_forward.w1.activation.silu"));
    select_reshapes(&m);
    assert_true(is_recomputed(&m.job, "feed_forward.mul"));
    assert_true(is_recomputed(&m.job, "feed_forward.w1.activation.silu"));
    add_pattern(&m, EK_PATTERN_SELECT_EXCLUDE, "feed_forward\\.w2\\.reshape");
    assert_false(is_recomputed(&m.job, "feed_forward.mul"));
    assert_true(is_recomputed(&m.job, "feed_forward.w1.activation.silu"));
    assert_true(is_recomputed(&m.job, "attention_norm.cast")); /* whatever the settings */
}

static void variations_keep_what_their_operators_read(void **state)
{
    (void)state;
    const int64_t T = 512, H = 256, I = 768, c = 2, N = 8, S = 512;
    static made_job m;
    make_llama(&m);
    const int64_t plain = kept_bytes(&m.job, EK__GRAPH_DENSE, false);

    m.job.model.qkv_concat = true; /* one matmul, cut into copies: the same tensors */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain);
    m.job.model.fused_swiglu = true; /* three of T I instead of four */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain - c * T * I);

    /* Two matmuls of the feed-forward part again, and one operator after them. */
    static ek__graph graph;
    m.job.model.gate_apart = true;
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain - c * T * I);
    for (int apart = 0; apart < 2; apart++) {
        int n = 0;
        double flops = 0;
        m.job.model.gate_apart = apart;
        ek__graph_build(&m.job, EK__GRAPH_DENSE, &graph);
        for (int i = 0; i < graph.n_ops; i++)
            if (graph.op[i].kind == EK__OP_MATMUL && strstr(graph.op[i].path, "feed_forward")) {
                n++;
                flops += graph.op[i].flops;
            }
        assert_int_equal(n, 2 + apart);
        assert_float_equal(flops, 6.0 * T * H * I, 0);
    }

    make_llama(&m);
    m.job.model.qk_norm = true; /* q and k before their norms, in compute type, and statistics for each head */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain + 2 * c * T * H + 2 * 4 * T * N);

    make_llama(&m);
    m.job.rules.statistics_width = 0; /* one column of logarithms */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain - 60 * N * T);

    make_llama(&m);
    m.job.types.residual = EK_FP32; /* x and h in fp32, cast to the norms' lower precision: the cast's output is kept */
    m.job.types.norm = EK_BF16;
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain);
    add_pattern(&m, EK_PATTERN_SELECT, ".*\\.cast"); /* unless it is recomputed, for the larger x and h */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain + 2 * c * T * H);

    make_llama(&m);
    m.job.parallel.n_pieces = 4; /* a quarter of the tokens, all of it linear in them */
    assert_int_equal(4 * kept_bytes(&m.job, EK__GRAPH_DENSE, false), plain);

    /* Without flash attention: neither its output before the copy nor statistics, but scores and probabilities. */
    make_llama(&m);
    m.job.model.flash_attention = false;
    const int64_t square = N * T * S, whole = plain - c * T * H - 64 * N * T + (4 + c) * square;
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), whole);
    m.job.types.softmax = EK_BF16; /* no cast after the softmax: one tensor */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), whole - 4 * square);
    /* Any selection, of whatever, recomputes from the rotary positions to the probabilities: q and k as they were in
     * front of that. */
    m.job.types.softmax = EK_FP32;
    add_pattern(&m, EK_PATTERN_SELECT, "nothing");
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), whole - (4 + c) * square);
}

static void patterns_of_other_families_name_their_operators(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        ek_family family;
        int matches; /* operators in a layer on two tensor ranks */
    } cases[] = {
        {"mlp\\.activation_func\\.mul", EK_FAMILY_GLM, 1},
        {"mlp\\.activation_func\\.silu\\.silu", EK_FAMILY_GLM, 1},
        {"mlp\\.dense_left\\.reshape", EK_FAMILY_GLM, 2},
        {"mlp\\.dense_4h_to_h\\.reshape", EK_FAMILY_GLM, 2},
        {"input_layernorm\\.cast", EK_FAMILY_GLM, 1},
        {"post_attention_layernorm\\.cast", EK_FAMILY_GLM, 1},
        {"mlp\\.activation_func", EK_FAMILY_GLM, 1}, /* SiLU; the product makes the cell's output */
        {"feed_forward\\.mul", EK_FAMILY_GLM, 0},
        {"attention_norm\\.norm", EK_FAMILY_LLAMA, 1},
        {".*\\.norm", EK_FAMILY_LLAMA, 2},
        {".*\\.w[qkvo]\\.matmul", EK_FAMILY_LLAMA, 4},
        {"add", EK_FAMILY_LLAMA, 2},
        {"norm", EK_FAMILY_LLAMA, 0},
    };
    static made_job m;
    static ek__graph graph;
    bool matched[EK__MAX_OPS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_llama(&m);
        m.job.family = cases[i].family;
        m.job.parallel.tensor = 2;
        ek__graph_build(&m.job, EK__GRAPH_DENSE, &graph);
        int n = ek__pattern_match(&graph, cases[i].pattern, EK_PATTERN_SELECT, matched);
        if (n != cases[i].matches)
            fail_msg("%s names %d operators, not %d", cases[i].pattern, n, cases[i].matches);
    }
}

/* ---- Megatron ---- */

/* Korthikanti et al., arXiv 2205.05198: 16-bit GPT without flash attention, bytes of one layer. */
typedef struct published {
    const char *name;
    int layers, hidden, heads, stages, chunks, batch;
    double none, least; /* GiB of figure 1: tensor parallel; with sequence parallel and selective recomputation */
    double share[4];    /* percent of figure 7: "seq", "sel", "seqsel", "full" */
} published;

static const published korthikanti[] = {
    {"22B", 48, 6144, 64, 1, 1, 4, 59.25, 9.5625, {66.84, 49.42, 16.18, 7.64}},
    {"175B", 96, 12288, 96, 8, 3, 1, 66.84375, 12.3515625, {62.04, 56.53, 18.49, 8.71}},
    {"530B", 105, 20480, 128, 35, 3, 1, 114.0234375, 23.076171875, {58.31, 62.04, 20.27, 9.42}},
    {"1T", 128, 25600, 160, 64, 1, 1, 131.25, 26.5625, {58.31, 62.04, 20.27, 9.42}},
};

static void make_gpt(made_job *m, const published *of, int tensor, bool sequence)
{
    make_megatron(m);
    ek_job_model *model = &m->job.model;
    model->hidden = of->hidden;
    model->n_heads = model->n_kv_heads = of->heads;
    model->head_dim = model->value_dim = of->hidden / of->heads;
    model->intermediate = 4 * of->hidden;
    model->gated = model->flash_attention = false;
    model->layer_norm = model->position_table = true;
    model->qkv_bias = model->linear_bias = true;
    model->hidden_dropout = model->attention_dropout = 0.1;
    m->job.parallel.batch = of->batch;
    m->job.parallel.seq_length = 2048;
    m->job.parallel.tensor = tensor;
    m->job.parallel.sequence_parallel = sequence;
}

/* kept / (s b h), which the paper's formulas are in. */
static double per_sbh(made_job *m, const char *pattern, bool full)
{
    const ek_job *job = &m->job;
    m->job.n_patterns = 0;
    if (pattern)
        add_pattern(m, EK_PATTERN_SELECT, pattern);
    double sbh = (double)job->parallel.seq_length * job->parallel.batch * job->model.hidden;
    return (double)kept_bytes(job, EK__GRAPH_DENSE, full) / sbh;
}

static void a_gpt_layer_keeps_what_korthikanti_publishes(void **state)
{
    (void)state;
    static made_job m;
    static const char *core = "self_attention\\.core_attention";
    for (size_t i = 0; i < sizeof korthikanti / sizeof *korthikanti; i++) {
        const published *of = &korthikanti[i];
        double quadratic = 5.0 * of->heads * 2048 / of->hidden, t = 8;
        make_gpt(&m, of, 1, false);
        assert_close_to(per_sbh(&m, NULL, false), 34 + quadratic, 1e-12);
        make_gpt(&m, of, 8, false);
        assert_close_to(per_sbh(&m, NULL, false), 10 + (24 + quadratic) / t, 1e-12);
        assert_close_to(per_sbh(&m, core, false), 10 + 24 / t, 1e-12);
        assert_close_to(per_sbh(&m, NULL, true), 2, 1e-12);
        make_gpt(&m, of, 8, true);
        assert_close_to(per_sbh(&m, NULL, false), (34 + quadratic) / t, 1e-12);
        assert_close_to(per_sbh(&m, core, false), 34 / t, 1e-12);
        assert_close_to(per_sbh(&m, NULL, true), 2 / t, 1e-12);
    }
}

/* GiB of the first stage: all layers, times 1 + (p - 1) / (p v) where the pipeline interleaves. */
static double first_stage_gib(made_job *m, const published *of, const char *pattern)
{
    double p = of->stages, v = of->chunks, sbh = 2048.0 * of->batch * of->hidden;
    double more = of->chunks > 1 ? 1 + (p - 1) / (p * v) : 1;
    return per_sbh(m, pattern, false) * sbh * of->layers * more / 0x1p30;
}

static void gpt_models_hold_what_the_figure_shows(void **state)
{
    (void)state;
    static made_job m;
    for (size_t i = 0; i < sizeof korthikanti / sizeof *korthikanti; i++) {
        const published *of = &korthikanti[i];
        make_gpt(&m, of, 8, false);
        assert_close_to(first_stage_gib(&m, of, NULL), of->none, 1e-9);
        make_gpt(&m, of, 8, true);
        assert_close_to(first_stage_gib(&m, of, "self_attention\\.core_attention"), of->least, 1e-9);
    }
}

/* Figure 7 gives shares of the tensor-parallel bytes in percent, read off a picture. */
static double share_of(const published *of, const char *mode)
{
    static made_job m;
    make_gpt(&m, of, 8, false);
    double whole = per_sbh(&m, NULL, false);
    bool sequence = strstr(mode, "seq") != NULL, select = strstr(mode, "sel") != NULL;
    make_gpt(&m, of, 8, sequence);
    return 100 * per_sbh(&m, select ? "self_attention\\.core_attention" : NULL, strcmp(mode, "full") == 0) / whole;
}

static void the_figures_shares_are_met(void **state)
{
    (void)state;
    static const char *const mode[] = {"seq", "sel", "seqsel", "full"};
    for (size_t i = 0; i < sizeof korthikanti / sizeof *korthikanti; i++)
        for (size_t k = 0; k < sizeof mode / sizeof *mode; k++)
            assert_close_to(share_of(&korthikanti[i], mode[k]), korthikanti[i].share[k], 0.15);
}

/* Qwen2.5-7B on two tensor ranks, 10240 tokens: x, norm, h and norm of 35 MiB each, qkv 45, attention 35, statistics
 * 8.75, gate and up 370, product 185. */
static void a_qwen_layer_of_mindspeed_keeps_what_was_worked_out(void **state)
{
    (void)state;
    static made_job m;
    make_megatron(&m);
    m.job.framework = EK_MINDSPEED;
    m.job.model.hidden = 3584;
    m.job.model.n_heads = 28;
    m.job.model.n_kv_heads = 4;
    m.job.model.head_dim = m.job.model.value_dim = 128;
    m.job.model.intermediate = 18944;
    m.job.model.fused_swiglu = m.job.model.qkv_bias = true;
    m.job.parallel.seq_length = 10240;
    m.job.parallel.tensor = 2;
    m.job.parallel.sequence_parallel = true;
    assert_close_to((double)kept_bytes(&m.job, EK__GRAPH_DENSE, false) / 0x1p20, 783.75, 1e-9);
    assert_close_to((double)kept_bytes(&m.job, EK__GRAPH_DENSE, true) / 0x1p20, 35, 1e-9);
    m.job.rules.norm_statistics_bytes = 4; /* two columns of 10240 / 2 tokens */
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_DENSE, false), 821821440 + 2 * 4 * 5120);
    /* Megatron's settings: the norms' outputs recomputed, the product of gate and up likewise. */
    m.job.rules.norm_statistics_bytes = 0;
    add_pattern(&m, EK_PATTERN_SELECT, "input_layernorm");
    add_pattern(&m, EK_PATTERN_SELECT, "pre_mlp_layernorm");
    add_pattern(&m, EK_PATTERN_SELECT, "mlp\\.activation_func");
    assert_close_to((double)kept_bytes(&m.job, EK__GRAPH_DENSE, false) / 0x1p20, 783.75 - 70 - 185, 1e-9);
    /* The whole feed-forward module: only the output of its norm is kept. */
    m.job.n_patterns = 0;
    add_pattern(&m, EK_PATTERN_SELECT, "mlp");
    assert_close_to((double)kept_bytes(&m.job, EK__GRAPH_DENSE, false) / 0x1p20, 783.75 - 370 - 185, 1e-9);
}

/* ---- ends ---- */

static int64_t elements(const ek__graph *g)
{
    int64_t sum = 0;
    for (int i = 0; i < g->n_parameters; i++)
        sum += g->parameter[i].elements;
    return sum;
}

static void the_ends_hold_table_logits_and_loss(void **state)
{
    (void)state;
    static made_job m;
    static ek__graph g;
    const int64_t T = 512, H = 256, V = 32000, t = 4;
    for (int split = 0; split < 2; split++) {
        make_llama(&m);
        m.job.parallel.tensor = (int)t;
        m.job.parallel.sequence_parallel = true;
        m.job.parallel.table_split = m.job.parallel.head_split = split ? (int)t : 1;
        const int64_t columns = split ? V / t : V;
        ek__graph_build(&m.job, EK__GRAPH_EMBEDDING, &g);
        assert_int_equal(elements(&g), columns * H);
        assert_true(g.parameter[0].table);
        assert_int_equal(g.parameter[0].copies, split ? 1 : t);
        assert_int_equal(g.tensor[g.output].bytes, 2 * T / t * H);
        assert_int_equal(g.tensor[g.op[0].out[0]].bytes, 4 * T * H); /* the table is fp32 */
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_EMBEDDING, false), 0);

        ek__graph_build(&m.job, EK__GRAPH_HEAD, &g);
        assert_int_equal(elements(&g), columns * H + H);
        assert_int_equal(g.output, -1);
        /* The gathered sequence, its norm with statistics, logarithm and labels. */
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_HEAD, false), 2 * T * H + 4 * T + 2 * T * H + 8 * T * columns);
        m.job.rules.one_hot_kept = false;
        assert_int_equal(kept_bytes(&m.job, EK__GRAPH_HEAD, false), 2 * T * H + 4 * T + 2 * T * H + 4 * T * columns);
        /* A tied head's matrix is multiplied with as any, of the table's type. */
        m.job.model.tied = true;
        m.job.types.embedding = EK_BF16;
        for (m.job.parallel.pipeline = 1; m.job.parallel.pipeline <= 2; m.job.parallel.pipeline++) {
            ek__graph_build(&m.job, EK__GRAPH_HEAD, &g);
            assert_int_equal(elements(&g), columns * H + H);
            assert_true(g.parameter[1].tied && !g.parameter[1].table && !g.parameter[0].tied);
            assert_int_equal(g.parameter[1].dtype, EK_BF16);
        }
        m.job.types.embedding = EK_FP32;
    }
    /* Megatron: the norm is cut like the others, the softmax is the one fp32 tensor. */
    make_megatron(&m);
    m.job.parallel.tensor = m.job.parallel.table_split = m.job.parallel.head_split = (int)t;
    m.job.parallel.sequence_parallel = true;
    assert_int_equal(kept_bytes(&m.job, EK__GRAPH_HEAD, false), 2 * 2 * T / t * H + 4 * T * V / t);
}

/* ---- parameters and time ---- */

typedef struct sums {
    double flops, weight_flops, attention, attention_backward, gather, scatter, reduce;
} sums;

static sums sum_up(const ek__graph *g)
{
    sums s = {0};
    for (const ek__op *op = g->op; op < g->op + g->n_ops; op++) {
        if (op->kind == EK__OP_MATMUL)
            s.flops += op->flops;
        if (op->kind == EK__OP_ATTENTION) {
            s.attention += op->flops;
            s.attention_backward += op->backward_flops;
        }
        s.weight_flops += op->weight_flops;
        if (op->kind != EK__OP_COMM)
            continue;
        s.gather += op->comm == EK__COMM_GATHER ? op->comm_bytes : 0;
        s.scatter += op->comm == EK__COMM_SCATTER ? op->comm_bytes : 0;
        s.reduce += op->comm == EK__COMM_REDUCE ? op->comm_bytes : 0;
    }
    return s;
}

static void parameters_flops_and_traffic_are_those_of_the_formulas(void **state)
{
    (void)state;
    static made_job m;
    static ek__graph g;
    ek__random random = ek__random_seed(3);
    for (int round = 0; round < 200; round++) {
        random_llama(&m, &random);
        const ek_job *job = &m.job;
        const ek_job_parallel *p = &job->parallel;
        m.job.parallel.context_algorithm = EK_CONTEXT_RING;
        m.job.model.qkv_bias = ek__random_below(&random, 2);
        m.job.model.qkv_concat = ek__random_below(&random, 2);
        const int64_t H = job->model.hidden, K = (int64_t)job->model.n_kv_heads * job->model.head_dim, t = p->tensor;
        const int64_t weights = (2 * H * H + 2 * H * K + 3 * H * job->model.intermediate) / t;
        ek__graph_build(job, EK__GRAPH_DENSE, &g);
        assert_int_equal(elements(&g), weights + 2 * H + (job->model.qkv_bias ? (H + 2 * K) / t : 0));
        int norms = 0;
        for (int i = 0; i < g.n_parameters; i++) {
            norms += g.parameter[i].exempt;
            assert_int_equal(g.parameter[i].copies, g.parameter[i].exempt ? t : 1);
        }
        assert_int_equal(norms, 2);
        double T = (double)p->batch * p->seq_length / p->context, S = p->seq_length, c = 2;
        double message = t > 1 ? 2 * c * T * (double)H : 0;
        sums s = sum_up(&g);
        assert_close_to(s.flops, 2 * T * (double)weights, 1);
        assert_close_to(s.weight_flops, s.flops, 1);
        assert_close_to(s.attention, 4 * (double)p->batch * S * S * (double)H / 2 / (double)(t * p->context), 1);
        assert_close_to(s.attention_backward, 2.5 * s.attention,
                        1); /* five products for two: it makes the scores again */
        assert_close_to(s.gather, p->sequence_parallel ? message : 0, 1);
        assert_close_to(s.scatter, p->sequence_parallel ? message : 0, 1);
        assert_close_to(s.reduce, p->sequence_parallel ? 0 : message, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_enough_and_nothing_of_it_can_go),
        cmocka_unit_test(a_llama_layer_keeps_what_the_closed_form_says),
        cmocka_unit_test(the_175b_example_comes_out_as_worked_out),
        cmocka_unit_test(selections_save_what_they_name),
        cmocka_unit_test(recomputation_that_a_reshape_undoes_costs_no_time),
        cmocka_unit_test(variations_keep_what_their_operators_read),
        cmocka_unit_test(patterns_of_other_families_name_their_operators),
        cmocka_unit_test(a_gpt_layer_keeps_what_korthikanti_publishes),
        cmocka_unit_test(gpt_models_hold_what_the_figure_shows),
        cmocka_unit_test(the_figures_shares_are_met),
        cmocka_unit_test(a_qwen_layer_of_mindspeed_keeps_what_was_worked_out),
        cmocka_unit_test(the_ends_hold_table_logits_and_loss),
        cmocka_unit_test(parameters_flops_and_traffic_are_those_of_the_formulas),
    };
    return cmocka_run_group_tests_name("memory graph", tests, NULL, NULL);
}
