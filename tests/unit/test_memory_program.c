/* Tests the programs of small graphs made by hand: every figure below was added up by hand from the rules in
 * memory/program.h, on graphs with tensors that are whole multiples of the allocator's rounding. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/allocator.h"
#include "memory_replay.h"

enum { X = 8192, A = 16384, WEIGHT = 1024, CAST = 2 * WEIGHT, SUMMED = 4 * WEIGHT };

/* The settings of hand-made graphs: fp32 weights, bf16 compute, gradients summed in fp32. */
static ek_job bare_job(void)
{
    ek_job job = {.types = {.compute = EK_BF16, .param = EK_FP32, .norm = EK_FP32},
                  .parallel = {.data = 1, .tensor = 1, .context = 1, .expert = 1},
                  .states = {.weight = 4, .gradient = 4, .optimizer = 8, .gathered = 4, .shard_size = -1},
                  .rules = {.weight_gather = EK_GATHER_NONE, .activation_scale = 1, .transient_scale = 1}};
    return job;
}

static void add_op(ek__graph *g, const char *path, ek__op_kind kind, int in, int other, int out, bool needs)
{
    ek__op *op = ek__add_op(g, path, kind);
    ek__op_in(g, op, in);
    if (other >= 0)
        ek__op_in(g, op, other);
    ek__op_out(g, op, out);
    if (needs)
        ek__op_need(g, op, in);
    if (kind == EK__OP_MATMUL)
        op->parameter = ek__add_parameter(g, "weight", WEIGHT, 32, EK_FP32, 1);
}

/* x -matmul-> a -silu-> b -matmul-> o */
static void make_mlp(ek__graph *g)
{
    memset(g, 0, sizeof *g);
    int x = ek__add_bytes(g, "x", X, false), a = ek__add_bytes(g, "a", A, false);
    int b = ek__add_bytes(g, "b", A, false), o = ek__add_bytes(g, "o", X, false);
    add_op(g, "up", EK__OP_MATMUL, x, -1, a, true);
    add_op(g, "silu", EK__OP_ELEMENTWISE, a, -1, b, true);
    add_op(g, "down", EK__OP_MATMUL, b, -1, o, true);
    g->input = x;
    g->output = o;
}

static ek__program *compile(const ek_job *job, const ek__graph *g, const bool *recomputed, bool full, bool split)
{
    ek_error err;
    ek__program *program;
    static const bool none[EK__MAX_OPS];
    if (ek__program_new(job, g, recomputed ? recomputed : none, full, split, &program, &err))
        fail_msg("%s", err.message);
    return program;
}

static void assert_part(const ek__program *program, int part, int64_t peak, int64_t end)
{
    if (program->profile[part].peak != peak || program->profile[part].end != end)
        fail_msg("part %d: peak %lld, end %lld; expected %lld, %lld", part, (long long)program->profile[part].peak,
                 (long long)program->profile[part].end, (long long)peak, (long long)end);
}

static void nothing_recomputed(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, X + A + A);
    assert_part(p, EK_FORWARD, A + A + X + CAST, A + A + X);
    /* At `down`: the cast weight and the gradient of b; then the latter and the gradient of the weight. */
    assert_part(p, EK_BACKWARD, A + CAST, -A - A - X);
    assert_string_equal(g.op[p->event_op[EK_BACKWARD][p->profile[EK_BACKWARD].peak_event]].path, "down");
    assert_int_equal(p->n_events[EK_BACKWARD_WEIGHT], 0);
    ek__program_free(p);
}

static void a_recomputed_activation(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    ek__program *p = compile(&job, &g, (bool[EK__MAX_OPS]){[1] = true}, false, false);
    assert_int_equal(p->kept, X + A);
    assert_part(p, EK_FORWARD, A + A + X + CAST, A + X);
    assert_part(p, EK_BACKWARD, A + A + CAST, -A - X);
    ek__program_free(p);
}

static void a_whole_layer_recomputed(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    bool all[EK__MAX_OPS];
    memset(all, 1, sizeof all);
    ek__program *p = compile(&job, &g, all, true, false);
    assert_int_equal(p->kept, X);
    /* a and b are back before the first gradient; `down` itself does not run again. */
    assert_part(p, EK_BACKWARD, A + A + A + CAST, -X);
    int runs = 0;
    for (int e = 0; e < p->n_events[EK_BACKWARD]; e++) {
        int b = p->event[EK_BACKWARD][e] - 1;
        runs += b >= 0 && strcmp(p->buffer[b].op, "down") == 0 && strcmp(p->buffer[b].name, "o") == 0;
    }
    assert_int_equal(runs, 0);
    ek__program_free(p);
}

static int count_buffers(const ek__program *p, const char *name, int64_t bytes)
{
    int n = 0;
    for (int b = 0; b < p->n_buffers; b++)
        if (p->buffer[b].name && strcmp(p->buffer[b].name, name) == 0) {
            assert_int_equal(p->buffer[b].bytes, bytes);
            n++;
        }
    return n;
}

/* Both multiplications need their weight in the forward pass and again for the gradient of their input: gathered where
 * it is sharded and not gathered already, and cast unless it was cast before. */
static void weights_are_gathered_and_cast_where_they_must_be(void **state)
{
    (void)state;
    static const struct {
        bool shard_weight;
        int data;
        ek_gather gather;
        bool after_cast;
        int gathered, cast;
    } cases[] = {
        {false, 1, EK_GATHER_LAYER, false, 0, 4}, {false, 2, EK_GATHER_LAYER, false, 0, 4},
        {true, 1, EK_GATHER_LAYER, false, 0, 4},  {true, 2, EK_GATHER_LAYER, false, 4, 4},
        {true, 2, EK_GATHER_LAYER, true, 4, 0},   {true, 1, EK_GATHER_LAYER, true, 0, 4},
        {false, 2, EK_GATHER_LAYER, true, 0, 4},  {true, 2, EK_GATHER_STEP, false, 0, 4},
        {true, 2, EK_GATHER_STEP, true, 0, 0},    {true, 2, EK_GATHER_NONE, true, 0, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__graph g;
        ek_job job = bare_job();
        make_mlp(&g);
        job.states.shard_weight = cases[i].shard_weight;
        job.parallel.data = cases[i].data;
        job.rules.weight_gather = cases[i].gather;
        job.rules.gather_after_cast = cases[i].after_cast;
        ek__program *p = compile(&job, &g, NULL, false, false);
        int gathered = count_buffers(p, "gathered weight", cases[i].after_cast ? CAST : SUMMED);
        int cast = count_buffers(p, "cast weight", CAST);
        if (gathered != cases[i].gathered || cast != cases[i].cast)
            fail_msg("case %zu: %d gathered, %d cast", i, gathered, cast);
        ek__program_free(p);
    }
    /* One weight for both: gathered once a pass. */
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    g.op[2].parameter = g.op[0].parameter;
    job.states.shard_weight = true;
    job.parallel.data = 2;
    job.rules.weight_gather = EK_GATHER_LAYER;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(count_buffers(p, "gathered weight", SUMMED), 2);
    ek__program_free(p);
}

static void a_split_backward(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    ek__program *p = compile(&job, &g, NULL, false, true);
    /* The gradients of a and o stay for the weights, as do b and x. */
    assert_part(p, EK_BACKWARD, A + A, X);
    assert_part(p, EK_BACKWARD_WEIGHT, CAST, -X - A - A - X);
    ek__program_free(p);
    job.rules.weight_gradient_fused = true;
    p = compile(&job, &g, NULL, false, true);
    assert_part(p, EK_BACKWARD_WEIGHT, 0, -X - A - A - X);
    ek__program_free(p);
}

/* x -lookup-> o: a table has a separate gradient, also where those of matrices are added in the matmul. */
static void a_lookup_has_a_gradient(void **state)
{
    (void)state;
    ek__graph g = {0};
    ek_job job = bare_job();
    job.rules.weight_gradient_fused = job.rules.gradient_cast_fused = true;
    int o = ek__add_bytes(&g, "o", X, false);
    ek__op *op = ek__add_op(&g, "lookup", EK__OP_LOOKUP);
    ek__op_out(&g, op, o);
    op->parameter = ek__add_parameter(&g, "weight", WEIGHT, 32, EK_FP32, 1);
    g.input = -1;
    g.output = o;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_part(p, EK_BACKWARD, 4 * WEIGHT, -X);
    ek__program_free(p);
}

/* x -matmul-> a, and a loss that leaves the gradient of a in a. */
static void a_loss_in_place(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        ek__graph g = {0};
        ek_job job = bare_job();
        job.rules.weight_gradient_fused = true;
        job.types.param = EK_BF16;
        int x = ek__add_bytes(&g, "x", X, false), a = ek__add_bytes(&g, "a", A, false);
        add_op(&g, "head", EK__OP_MATMUL, x, -1, a, true);
        g.parameter[0].dtype = EK_BF16;
        add_op(&g, "loss", EK__OP_ELEMENTWISE, a, -1, ek__add_bytes(&g, "loss", 512, false), true);
        g.op[1].overwrites = in_place;
        g.input = x;
        g.output = -1;
        ek__program *p = compile(&job, &g, NULL, false, false);
        assert_int_equal(p->kept, X + A);
        /* Backward: the gradient of a, unless it is a, then that of x beside it. */
        assert_part(p, EK_BACKWARD, in_place ? X : A + (X > A ? X - A : 0), -A);
        ek__program_free(p);
    }
}

static void a_tensor_read_twice(void **state)
{
    (void)state;
    ek__graph g = {0};
    ek_job job = bare_job();
    int x = ek__add_bytes(&g, "x", X, false), h = ek__add_bytes(&g, "h", X, false);
    int o = ek__add_bytes(&g, "o", X, false);
    add_op(&g, "square", EK__OP_ELEMENTWISE, x, -1, h, true);
    add_op(&g, "add", EK__OP_ELEMENTWISE, x, h, o, false);
    g.input = x;
    g.output = o;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, X);
    /* The sum's gradient is both inputs' without a copy; the square's is a second one, which then takes the sum. */
    assert_part(p, EK_BACKWARD, X, -X);
    ek__program_free(p);
}

static void three_readers(void **state)
{
    (void)state;
    ek__graph g = {0};
    ek_job job = bare_job();
    int x = ek__add_bytes(&g, "x", X, false), h[3], o = ek__add_bytes(&g, "o", X, false);
    for (int i = 0; i < 3; i++) {
        h[i] = ek__add_bytes(&g, "h", A, false);
        add_op(&g, "expand", EK__OP_ELEMENTWISE, x, -1, h[i], false);
    }
    ek__op *op = ek__add_op(&g, "join", EK__OP_ELEMENTWISE);
    for (int i = 0; i < 3; i++)
        ek__op_in(&g, op, h[i]);
    ek__op_out(&g, op, o);
    g.input = x;
    g.output = o;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, 0);
    /* join: 3 A. Then x's first gradient, with o's gone: 3 A; its second beside it with 2 A left. x itself is released
     * in the forward pass. */
    assert_part(p, EK_FORWARD, 3 * A + X - X, X - X);
    assert_part(p, EK_BACKWARD, 3 * A, 0);
    ek__program_free(p);
}

/* w is the sum of u and v, which others have read before it: w's gradient goes to both, one of which may take its
 * buffer. The other one is added to in place, unless its buffer is another's gradient too. */
static void a_sum_of_two_that_others_read(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        ek__graph g = {0};
        ek_job job = bare_job();
        int x = ek__add_bytes(&g, "x", X, false), u = ek__add_bytes(&g, "u", A, false);
        int v = ek__add_bytes(&g, "v", A, false), w = ek__add_bytes(&g, "w", A, false);
        int read[2] = {ek__add_bytes(&g, "p", shared ? A : X, false), ek__add_bytes(&g, "q", X, false)};
        int o = ek__add_bytes(&g, "o", X, false);
        add_op(&g, "expand", EK__OP_ELEMENTWISE, x, -1, u, false);
        add_op(&g, "expand", EK__OP_ELEMENTWISE, x, -1, v, false);
        add_op(&g, "add", EK__OP_ELEMENTWISE, u, v, w, false);
        if (shared) {
            add_op(&g, "add", EK__OP_ELEMENTWISE, u, v, read[0], false);
        } else {
            add_op(&g, "shrink", EK__OP_ELEMENTWISE, u, -1, read[0], false);
            add_op(&g, "shrink", EK__OP_ELEMENTWISE, v, -1, read[1], false);
        }
        ek__op *op = ek__add_op(&g, "join", EK__OP_ELEMENTWISE);
        ek__op_in(&g, op, w);
        for (int i = 0; i < 2 - shared; i++)
            ek__op_in(&g, op, read[i]);
        ek__op_out(&g, op, o);
        g.input = x;
        g.output = o;
        ek__program *p = compile(&job, &g, NULL, false, false);
        assert_int_equal(p->kept, 0);
        /* Not shared: with o's gone and p's still there, those of w, v and u are 3 A, and the sums need no more.
         * Shared: w's, the one of u and v, and a sum of both beside them. */
        assert_part(p, EK_BACKWARD, shared ? 3 * A - X : 3 * A + X - X, 0);
        ek__program_free(p);
    }
}

static void in_place(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    g.op[1].n_needs = 0; /* a constant factor */
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_part(p, EK_FORWARD, A + A, A + X);
    assert_part(p, EK_BACKWARD, A + CAST, -A - X);
    ek__program_free(p);
    g.op[1].in_place = true;
    p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, X + A);
    assert_part(p, EK_FORWARD, A + X + CAST, A + X);
    ek__program_free(p);
}

/* A layer that passes its input on: the next layer gets a copy, and both are there for a moment. */
static void an_output_that_is_the_input(void **state)
{
    (void)state;
    ek__graph g = {0};
    ek_job job = bare_job();
    int x = ek__add_bytes(&g, "x", X, false), o = ek__add_bytes(&g, "o", X, false);
    add_op(&g, "reshape", EK__OP_VIEW, x, -1, o, false);
    g.input = x;
    g.output = o;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, 0);
    assert_part(p, EK_FORWARD, X, X - X);
    ek__program_free(p);
}

static void a_weight_gradient_that_stays(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    job.states.gradient = 0;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_part(p, EK_BACKWARD, A + CAST, -A - A - X);
    assert_int_equal(p->first[EK_BACKWARD].end, p->profile[EK_BACKWARD].end + 2 * SUMMED);
    int n = 0;
    for (int b = 0; b < p->n_buffers; b++)
        n += p->buffer[b].what == EK__CLASS_GRADIENT;
    assert_int_equal(n, 2);
    ek__program_free(p);
}

static void weights(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    job.rules.cast_weight_kept = true;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, X + A + A + 2 * CAST);
    assert_part(p, EK_FORWARD, A + A + X + 2 * CAST, A + A + X + 2 * CAST);
    ek__program_free(p);
    /* Gathered for the layer's pass: both are there at its end, and again in backward. */
    job.rules.cast_weight_kept = false;
    job.rules.weight_gather = EK_GATHER_LAYER;
    job.parallel.data = 4;
    job.states.shard_weight = true;
    p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, X + A + A);
    assert_part(p, EK_FORWARD, A + A + X + CAST + 2 * SUMMED, A + A + X);
    assert_part(p, EK_BACKWARD, A + CAST + SUMMED, -A - A - X);
    ek__program_free(p);
    /* In compile type they need no cast. */
    job.rules.gather_after_cast = true;
    p = compile(&job, &g, NULL, false, false);
    assert_part(p, EK_FORWARD, A + A + X + 2 * CAST, A + A + X);
    ek__program_free(p);
}

static void scales(void **state)
{
    (void)state;
    ek__graph g;
    ek_job job = bare_job();
    make_mlp(&g);
    job.rules.activation_scale = 2;
    job.rules.transient_scale = 3;
    ek__program *p = compile(&job, &g, NULL, false, false);
    assert_int_equal(p->kept, 2 * (X + A + A));
    assert_part(p, EK_BACKWARD, 3 * (A + CAST), 3 * X - 2 * (X + A + A) - 3 * X);
    ek__program_free(p);
}

/* The storages that ek__graph_keep() finds are those alive at the end of a program of the same layer. */
static void kept_of_layers(void **state)
{
    (void)state;
    enum { N = 200, SEED = 175 };
    print_message("# seeds %d to %d\n", SEED, SEED + N - 1);
    for (int i = 0; i < N; i++) {
        ek__random random = ek__random_seed(SEED + (uint64_t)i);
        ek_job job = random_job(&random);
        job.rules.activation_scale = 1;
        job.rules.cast_weight_kept = false;
        for (int kind = 0; kind < EK__N_GRAPH_KINDS; kind++) {
            if (kind == EK__GRAPH_EXPERTS && job.model.n_experts == 0)
                continue;
            ek__graph g;
            bool recomputed[EK__MAX_OPS] = {false}, kept[EK__MAX_TENSORS];
            ek__graph_build(&job, (ek__graph_kind)kind, &g);
            uint64_t bits = job.n_patterns ? (UINT64_C(1) << job.n_patterns) - 1 : 0;
            ek__graph_recomputed(&job, &g, (ek__recompute){false, bits}, recomputed);
            ek__graph_keep(&g, recomputed, kept);
            int64_t bytes = 0;
            for (int t = 0; t < g.n_tensors; t++)
                bytes += kept[t] && (g.tensor[t].producer >= 0 || t == g.input) ? ek__aligned(g.tensor[t].bytes) : 0;
            ek__program *p = compile(&job, &g, recomputed, false, false);
            if (p->kept != bytes)
                fail_msg("seed %d, %s: %lld kept, %lld expected", SEED + i, g.name, (long long)p->kept,
                         (long long)bytes);
            ek__program_free(p);
        }
        ek_job_clear(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"without recomputation what gradients read is kept", nothing_recomputed, NULL, NULL, NULL},
        {"a recomputed activation comes back just before its reader's gradient", a_recomputed_activation, NULL, NULL,
         NULL},
        {"a layer recomputed whole keeps its input and runs forward again first", a_whole_layer_recomputed, NULL, NULL,
         NULL},
        {"weights are gathered and cast where they must be", weights_are_gathered_and_cast_where_they_must_be, NULL,
         NULL, NULL},
        {"with a split backward pass what weights' gradients read stays for them", a_split_backward, NULL, NULL, NULL},
        {"a table's gradient is a tensor where matrices' are added in the matmul", a_lookup_has_a_gradient, NULL, NULL,
         NULL},
        {"a loss in place leaves the logits' gradient in the logits", a_loss_in_place, NULL, NULL, NULL},
        {"a residual sum hands its gradient on without a copy", a_tensor_read_twice, NULL, NULL, NULL},
        {"gradients of a tensor that three operators read are added one by one", three_readers, NULL, NULL, NULL},
        {"a sum of two tensors that others read, too, is added to where their gradients are",
         a_sum_of_two_that_others_read, NULL, NULL, NULL},
        {"an operator in place takes its input's storage", in_place, NULL, NULL, NULL},
        {"an output that is a view of the input is a copy", an_output_that_is_the_input, NULL, NULL, NULL},
        {"without a buffer a weight's gradient stays, for the first micro-batch only", a_weight_gradient_that_stays,
         NULL, NULL, NULL},
        {"weights are cast for a moment, kept cast, or gathered for a layer's pass", weights, NULL, NULL, NULL},
        {"scales of rules multiply kept and other tensors", scales, NULL, NULL, NULL},
        {"a program keeps what the graph's own walk says", kept_of_layers, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
