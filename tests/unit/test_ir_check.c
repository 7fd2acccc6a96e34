/* Tests the checks of graphs: for each a fixture with cases that must be found and near misses, published fragments
 * where EK_SHARED names their folder, generated graphs with a known truth, every kind of communication against a
 * simulated ring, and the comparison of two graphs. */
#include "input.h"

#include <unistd.h>

#include "base/pool.h"
#include "evenkeel/ir.h"
#include "ir_generator.h"
#include "skip.h"

static void read_graph(const char *path, ek_ir **ir)
{
    ek_error err;
    if (ek_ir_read(path, NULL, NULL, ir, &err))
        fail_msg("%s:%d: %s", path, err.line, err.message);
}

static void check_graph(const ek_ir *ir, const ek_ir_check_options *options, ek_ir_report *report)
{
    ek_error err;
    if (ek_ir_check(ir, options, report, &err))
        fail_msg("%s: %s", ir->path, err.message);
}

static void read_fixture(const char *name, const ek_ir_check_options *options, ek_ir **ir, ek_ir_report *report)
{
    char path[200];
    snprintf(path, sizeof path, "tests/data/ir_check/%s.ir", name);
    read_graph(source_path(path), ir);
    assert_int_equal((*ir)->n_diagnostics, 0);
    check_graph(*ir, options, report);
}

static void drop(ek_ir *ir, ek_ir_report *report)
{
    ek_ir_report_clear(report);
    ek_ir_free(ir);
}

/* ---- memory that runs out ---- */

static int until_failure = -1; /* allocations that still succeed; -1: all */

static bool fails(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

void *__real_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__pool_alloc(pool, count, size);
}

void *__real_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);
void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);
void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size)
{
    return fails() ? NULL : __real_ek__pool_push(pool, array, n, size);
}

/* ---- fixtures ---- */

typedef struct wanted {
    const char *check;
    ek_ir_severity severity;
    uint32_t number; /* of the first occurrence */
    int n_occurrences, n_layers;
    int64_t bytes;
    const char *text, *advice; /* parts of them */
} wanted;

typedef struct fixture {
    const char *name;
    const char *silent; /* a check that must find nothing */
    wanted finding[12]; /* all that there are, except for unfused-pattern in fixtures of other checks */
} fixture;

static const fixture fixtures[] = {
    {"silu_mul_blocked",
     "recompute-not-in-effect",
     {{"recompute-blocked-by-reshape", EK_IR_WARNING, 2, 2, 2, 524288, "Reshape %3 (feed_forward.w1)",
       "'feed_forward\\.w1\\.reshape'"},
      {"recompute-blocked-by-reshape", EK_IR_WARNING, 4, 2, 2, 524288, "MatMul %20", "'feed_forward\\.w2\\.reshape'"}}},
    {"silu_mul_fixed", "recompute-not-in-effect", {{0}}},
    {"silu_mul_near_miss",
     "recompute-blocked-by-reshape",
     {{"recompute-not-in-effect", EK_IR_NOTE, 2, 1, 1, 0, "no effect", "has no copy of any node"},
      {"recompute-not-in-effect", EK_IR_NOTE, 4, 1, 1, 0, "no effect", "has no copy of any node"}}},
    {"not_in_effect",
     NULL,
     {{"recompute-not-in-effect", EK_IR_WARNING, 0, 1, 1, 2097152, "2.00 MiB saved", "there is a copy"}}},
    {"in_effect", "recompute-not-in-effect", {{0}}},
    {"cell_output", "recompute-not-in-effect", {{0}}},
    {"cell_unneeded", "recompute-not-in-effect", {{0}}},
    {"cast_wrong_way",
     "recompute-not-in-effect",
     {{"recompute-costs-memory", EK_IR_WARNING, 1, 1, 1, 8192, "input of 16.0 KiB", "remove this Cast"},
      {"dtype", EK_IR_NOTE, 4, 1, 1, 49152, "float32 to float16 and back", "rounding"}}},
    {"redistribution",
     NULL,
     {{"redistribution", EK_IR_WARNING, 1, 3, 3, 3 * 6144,
       "sharding (1, 4) and SiLU %9 (feed_forward) uses it with sharding (1, 1)",
       "shard operand 1 of SiLU %9 (feed_forward) as (1, 4)"}}},
    {"allreduce_then_slice",
     "redistribution",
     {{"allreduce-then-slice", EK_IR_WARNING, 1, 3, 3, 3 * 12288, "a ReduceScatter would send 6.00 KiB",
       "out_strategy"},
      {"allreduce-then-slice", EK_IR_WARNING, 21, 1, 1, 24576, "nothing is necessary", "same sharding"}}},
    {"repeated_gather",
     NULL,
     {{"repeated-gather", EK_IR_WARNING, 2, 1, 1, 768, "same value as AllGather %1", "one result"},
      {"repeated-gather", EK_IR_WARNING, 11, 1, 1, 384, "directly after AllReduce %10", "remove one of the two"}}},
    {"shard_mismatch",
     NULL,
     {{"shard-mismatch", EK_IR_WARNING, 2, 1, 1, -1, "sharding (2, 4) and Mul %2 uses it with sharding (8, 1)",
       "operand 1"},
      {"shard-mismatch", EK_IR_ERROR, 4, 1, 1, -1, "3 parts, which do not divide the 8 devices", "divisor"},
      {"shard-mismatch", EK_IR_ERROR, 5, 1, 1, -1, "16 parts, which exceed the 8 devices", "divisor"},
      {"shard-mismatch", EK_IR_WARNING, 6, 1, 1, -1, "was (256, 32) before slicing", "multiple of its sharding"},
      {"shard-mismatch", EK_IR_WARNING, 9, 1, 1, -1, "the weight w was (32, 128)", "not the slice"},
      {"shard-mismatch", EK_IR_ERROR, 10, 1, 1, -1, "((1, 2), (4, 1))", "the same way"},
      {"shard-mismatch", EK_IR_ERROR, 11, 1, 1, -1, "((2, 1), (4, 1))", "the same way"}}},
    {"row_parallel",
     "shard-mismatch",
     {{"row-parallel", EK_IR_WARNING, 0, 1, 1, -1, "Exp %1 uses its partial sums", "wrong unless"},
      {"row-parallel", EK_IR_ERROR, 2, 1, 1, -1, "sharded into 2", "one rank for each part"},
      {"row-parallel", EK_IR_NOTE, 5, 1, 1, 3072, "MatMul %8", "out_strategy"}}},
    {"parameters",
     "shard-mismatch",
     {{"parameters", EK_IR_WARNING, 0, 1, 0, 8192000, "model.tok_embeddings.embedding_weight", "parallel_optimizer"}}},
    {"dtype",
     "recompute-costs-memory",
     {{"dtype", EK_IR_NOTE, 3, 1, 1, -1, "float32, 0.000131 GFLOP", "compute_dtype"},
      {"dtype", EK_IR_WARNING, 5, 1, 1, 24576, "Cast %4 widens it; in 16 bits it would be 12.0 KiB", "other side"},
      {"dtype", EK_IR_WARNING, 6, 1, 1, 24576, "Cast %7 narrows it", "other side"},
      {"dtype", EK_IR_NOTE, 9, 1, 1, 12288, "Cast %8 widens it", "accuracy"},
      {"dtype", EK_IR_NOTE, 13, 1, 1, 24576, "float16 to float32 and back", "before both"}}},
    {"unfused",
     "dtype",
     {{"unfused-pattern", EK_IR_NOTE, 7, 3, 3, 626688, "RMSNorm", "rms_norm"},
      {"unfused-pattern", EK_IR_NOTE, 36, 2, 2, 196608, "SwiGLU", "swiglu"},
      {"unfused-pattern", EK_IR_NOTE, 38, 1, 1, 65536, "compute SiLU", "silu"},
      {"unfused-pattern", EK_IR_NOTE, 47, 1, 1, 393216, "FlashAttentionScore", "use_flash_attention"},
      {"unfused-pattern", EK_IR_NOTE, 55, 1, 1, 262144, "rotary embedding", "ApplyRotaryPosEmb"},
      {"unfused-pattern", EK_IR_NOTE, 64, 1, 1, 139264, "compute LayerNorm", "LayerNorm"},
      {"unfused-pattern", EK_IR_NOTE, 70, 1, 1, 137216, "compute RMSNorm", "rms_norm"},
      {"unfused-pattern", EK_IR_NOTE, 75, 2, 2, 393216, "compute GeLU", "gelu"},
      {"unfused-pattern", EK_IR_NOTE, 83, 1, 1, 67584, "compute softmax", "softmax"}}},
};

static const ek_ir_finding *find(const ek_ir_report *report, const wanted *w)
{
    for (int i = 0; i < report->n_findings; i++) {
        const ek_ir_finding *f = &report->finding[i];
        if (strcmp(f->check, w->check) == 0 && report->ir->node[f->node].number == w->number &&
            strstr(f->text, w->text))
            return f;
    }
    return NULL;
}

static void compare_finding(const char *where, const ek_ir_report *report, const wanted *w)
{
    const ek_ir_finding *f = find(report, w);
    if (!f)
        fail_msg("%s: %s of %%%u is not found", where, w->check, w->number);
    if (f->n_occurrences != w->n_occurrences || f->n_layers != w->n_layers || f->bytes != w->bytes)
        fail_msg("%s: %s of %%%u: %d times in %d layers, %lld bytes", where, w->check, w->number, f->n_occurrences,
                 f->n_layers, (long long)f->bytes);
    if (f->severity != w->severity || !strstr(f->advice, w->advice))
        fail_msg("%s: %s of %%%u: %s, '%s'", where, w->check, w->number, ek_ir_severity_name[f->severity], f->advice);
    assert_true(f->n_chain >= 1);
}

static void every_fixture_gives_exactly_its_findings(void **state)
{
    (void)state;
    static const ek_ir_check_options options = {.n_devices = 8, .large_bytes = 1000000};
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        const fixture *x = &fixtures[i];
        bool fused = strcmp(x->name, "unfused") == 0;
        int n = 0, n_found = 0;
        ek_ir_report report;
        ek_ir *ir;
        read_fixture(x->name, &options, &ir, &report);
        for (; n < 12 && x->finding[n].check; n++)
            compare_finding(x->name, &report, &x->finding[n]);
        for (int k = 0; k < report.n_findings; k++) {
            n_found += fused || strcmp(report.finding[k].check, "unfused-pattern") != 0;
            assert_true(!x->silent || strcmp(report.finding[k].check, x->silent) != 0);
        }
        if (n_found != n)
            fail_msg("%s: %d findings, not %d", x->name, n_found, n);
        drop(ir, &report);
    }
}

static void findings_stand_by_severity_then_bytes(void **state)
{
    (void)state;
    static const ek_ir_check_options options = {.n_devices = 8};
    static const char *const names[] = {"shard_mismatch", "row_parallel", "dtype"};
    for (int i = 0; i < 3; i++) {
        ek_ir_report report;
        ek_ir *ir;
        read_fixture(names[i], &options, &ir, &report);
        for (int k = 1; k < report.n_findings; k++) {
            const ek_ir_finding *a = &report.finding[k - 1], *b = &report.finding[k];
            assert_true(a->severity > b->severity || (a->severity == b->severity && a->bytes >= b->bytes));
        }
        drop(ir, &report);
    }
}

static void what_a_request_became_is_told_for_each(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n;
        ek_ir_answer in_effect;
        bool by_design;
        uint32_t held, copy; /* numbers, of the first */
    } cases[] = {
        {"silu_mul_blocked", 4, EK_IR_NO, false, 3, EK_IR_NONE},
        {"silu_mul_fixed", 8, EK_IR_YES, false, EK_IR_NONE, 24},
        {"silu_mul_near_miss", 2, EK_IR_NO, false, EK_IR_NONE, EK_IR_NONE},
        {"not_in_effect", 1, EK_IR_NO, false, 0, 2},
        {"in_effect", 1, EK_IR_YES, false, EK_IR_NONE, 2},
        {"cell_output", 1, EK_IR_NO, true, 0, EK_IR_NONE},
        {"cell_inside", 2, EK_IR_NO, false, 0, EK_IR_NONE}, /* its user is in the same cell */
        {"cell_beside", 2, EK_IR_NO, true, 0, EK_IR_NONE},  /* of another cell of the same layer */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        read_fixture(cases[i].name, NULL, &ir, &report);
        assert_int_equal(report.n_recompute, cases[i].n);
        for (int k = 0; k < report.n_recompute; k++)
            assert_int_equal(report.recompute[k].in_effect, cases[i].in_effect);
        const ek_ir_recompute *r = &report.recompute[0];
        assert_int_equal(r->by_design, cases[i].by_design);
        assert_int_equal(r->held == EK_IR_NONE ? EK_IR_NONE : ir->node[r->held].number, cases[i].held);
        assert_int_equal(r->copy == EK_IR_NONE ? EK_IR_NONE : ir->node[r->copy].number, cases[i].copy);
        drop(ir, &report);
    }
}

/* In a whole cell some operators have copies, and backward does not need others; none of them is reported. */
static void what_a_whole_cell_does_not_need_is_by_design(void **state)
{
    (void)state;
    ek_ir_report report;
    ek_ir *ir;
    read_fixture("cell_unneeded", NULL, &ir, &report);
    assert_int_equal(report.n_recompute, 3);
    assert_int_equal(report.recompute[0].in_effect, EK_IR_YES);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(report.recompute[i].in_effect, EK_IR_NO);
        assert_int_equal(report.recompute[i].held, EK_IR_NONE);
        assert_true(report.recompute[i].by_design);
    }
    drop(ir, &report);
}

/* One pattern names the Reshape before the product and the one after it; only the first is needed. The Depend before
 * the copy is not the kept value. */
static void requests_of_one_name_are_excused_by_one_in_effect(void **state)
{
    (void)state;
    ek_ir_report report;
    ek_ir *ir;
    read_fixture("namesakes", NULL, &ir, &report);
    assert_int_equal(report.n_recompute, 2);
    assert_int_equal(report.recompute[0].in_effect, EK_IR_YES);
    assert_int_equal(report.recompute[0].copy, 7);
    assert_int_equal(report.recompute[1].in_effect, EK_IR_NO);
    assert_true(report.recompute[1].by_design);
    assert_int_equal(report.n_findings, 0);
    assert_int_equal(report.n_kept, 1);
    assert_int_equal(report.kept[0].node, 0);
    assert_int_equal(report.kept[0].layer, 0);
    assert_int_equal(report.kept[0].bytes, 2 * 4 * 64 * 2);
    drop(ir, &report);
}

static void micro_batches_alive_multiply_what_is_held(void **state)
{
    (void)state;
    static const ek_ir_check_options options = {.alive = 5};
    static const wanted five = {"recompute-not-in-effect", EK_IR_WARNING, 0, 1, 1, 5 * 2097152, "2.00 MiB", ""};
    ek_ir_report report;
    ek_ir *ir;
    read_fixture("not_in_effect", &options, &ir, &report);
    compare_finding("five alive", &report, &five);
    drop(ir, &report);
}

static void parameters_are_summed_by_prefix(void **state)
{
    (void)state;
    static const ek_ir_parameter_sum wanted_sums[] = {{"weights", 5, 29196288},
                                                      {"adam_m", 1, 1048576},
                                                      {"adam_v", 1, 1048576},
                                                      {"accu_grads", 1, 524288},
                                                      {"inputs", 1, 32}};
    ek_ir_report report;
    ek_ir *ir;
    read_fixture("parameters", NULL, &ir, &report);
    assert_int_equal(report.n_sums, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(report.sum[i].prefix, wanted_sums[i].prefix);
        assert_int_equal(report.sum[i].n, wanted_sums[i].n);
        assert_int_equal(report.sum[i].bytes, wanted_sums[i].bytes);
    }
    assert_int_equal(report.n_findings, 0); /* 7.8 MiB are not large by default */
    drop(ir, &report);
}

/* ---- communication ---- */

static void every_kind_of_communication_is_measured(void **state)
{
    (void)state;
    static const ek_ir_comm cases[] = {
        {.kind = EK_IR_ALL_REDUCE, .role = EK_IR_ROLE_FORWARD, .n_ranks = 4, .bytes = 4096, .traffic = 6144},
        {.kind = EK_IR_ALL_GATHER, .role = EK_IR_ROLE_REDISTRIBUTION, .n_ranks = 4, .bytes = 16384, .traffic = 12288},
        {.kind = EK_IR_REDUCE_SCATTER, .role = EK_IR_ROLE_FORWARD, .n_ranks = 8, .bytes = 4096, .traffic = 3584},
        {.kind = EK_IR_ALL_TO_ALL, .role = EK_IR_ROLE_REDISTRIBUTION, .n_ranks = 2, .bytes = 4096, .traffic = 2048},
        {.kind = EK_IR_SEND, .role = EK_IR_ROLE_PIPELINE, .n_ranks = 2, .bytes = 4096, .traffic = 4096},
        {.kind = EK_IR_RECEIVE, .role = EK_IR_ROLE_PIPELINE, .n_ranks = 2, .bytes = 4096, .traffic = 4096},
        {.kind = EK_IR_BROADCAST, .role = EK_IR_ROLE_OTHER, .n_ranks = 16, .bytes = 4096, .traffic = 4096},
        {.kind = EK_IR_ALL_REDUCE, .role = EK_IR_ROLE_GRADIENT, .n_ranks = 3, .bytes = 4096, .traffic = 5461},
        {.kind = EK_IR_ALL_GATHER, .role = EK_IR_ROLE_OPTIMIZER, .n_ranks = 3, .bytes = 12288, .traffic = 8192},
        {.kind = EK_IR_OTHER_COMM, .role = EK_IR_ROLE_OTHER, .n_ranks = 2, .bytes = 4096, .traffic = -1},
        {.kind = EK_IR_ALL_REDUCE, .role = EK_IR_ROLE_OTHER, .n_ranks = 0, .bytes = 4096, .traffic = -1},
    };
    ek_ir_report report;
    ek_ir *ir;
    read_fixture("communication", NULL, &ir, &report);
    assert_int_equal(report.n_comms, sizeof cases / sizeof *cases);
    for (int i = 0; i < report.n_comms; i++) {
        const ek_ir_comm *is = &report.comm[i], *want = &cases[i];
        if (is->kind != want->kind || is->role != want->role || is->n_ranks != want->n_ranks ||
            is->bytes != want->bytes || is->traffic != want->traffic)
            fail_msg("%d: %s %s, %d ranks, %lld bytes, %lld sent", i, ek_ir_comm_kind_name[is->kind],
                     ek_ir_comm_role_name[is->role], is->n_ranks, (long long)is->bytes, (long long)is->traffic);
        assert_int_equal(is->position, i);
        assert_int_equal(is->backward, i == 7);
    }
    drop(ir, &report);
}

/* A simulated ring: every device has n parts; in each step it sends one part to the next device. Counts the parts that
 * a device sends until all have the operation's result. */
static int64_t play_ring(ek_ir_comm_kind kind, int n, int64_t bytes)
{
    enum { MAX = 9 };
    int64_t sent = 0, part = bytes / n;
    uint32_t has[MAX][MAX]; /* of a device and a part: the devices that have contributed to it */
    for (int d = 0; d < n; d++)
        for (int p = 0; p < n; p++)
            has[d][p] = kind == EK_IR_ALL_GATHER && p != d ? 0 : 1u << (kind == EK_IR_ALL_GATHER ? p : d);
    int rounds = kind == EK_IR_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    for (int step = 0; step < rounds; step++) {
        uint32_t moved[MAX];
        for (int d = 0; d < n; d++)
            moved[d] = has[d][(d - step + 2 * n) % n];
        for (int d = 0; d < n; d++)
            has[(d + 1) % n][(d - step + 2 * n) % n] |= moved[d];
        sent += part;
    }
    for (int d = 0; d < n; d++)
        for (int p = 0; p < n; p++) {
            bool scattered = kind == EK_IR_REDUCE_SCATTER && p != (d + 1) % n;
            uint32_t all = kind == EK_IR_ALL_GATHER ? 1u << p : (1u << n) - 1;
            if (!scattered)
                assert_int_equal(has[d][p], all);
        }
    return sent;
}

static void ring_traffic_is_that_of_a_ring_played(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n++)
        for (int64_t part = 1; part < 2000; part = 3 * part + 1) {
            static const ek_ir_comm_kind kinds[] = {EK_IR_ALL_REDUCE, EK_IR_ALL_GATHER, EK_IR_REDUCE_SCATTER};
            for (int k = 0; k < 3; k++)
                assert_int_equal(ek_ir_ring_traffic(kinds[k], n, n * part), play_ring(kinds[k], n, n * part));
            assert_int_equal(ek_ir_ring_traffic(EK_IR_ALL_TO_ALL, n, n * part), (n - 1) * part);
        }
    assert_int_equal(ek_ir_ring_traffic(EK_IR_ALL_REDUCE, 1024, INT64_MAX), -1);
    assert_int_equal(ek_ir_ring_traffic(EK_IR_ALL_GATHER, 1024, INT64_MAX), INT64_MAX - (INT64_MAX / 1024 + 1));
    assert_int_equal(ek_ir_ring_traffic(EK_IR_ALL_REDUCE, 0, 8), -1);
    assert_int_equal(ek_ir_ring_traffic(EK_IR_ALL_REDUCE, 2, -1), -1);
}

/* ---- published fragments ---- */

static void read_published(const char *name, ek_ir **ir, ek_ir_report *report)
{
    char path[256];
    snprintf(path, sizeof path, "reference/ir/%s", name);
    read_graph(need_shared(path), ir);
    check_graph(*ir, NULL, report);
}

static int count(const ek_ir_report *report, const char *check)
{
    int n = 0;
    for (int i = 0; i < report->n_findings; i++)
        n += strcmp(report->finding[i].check, check) == 0;
    return n;
}

static void a_published_copy_is_in_effect(void **state)
{
    (void)state;
    ek_ir_report report;
    ek_ir *ir;
    read_published("master__recompute__09.ir", &ir, &report);
    const ek_ir_recompute *r = &report.recompute[0];
    assert_int_equal(report.n_recompute, 2);
    assert_int_equal(ir->node[r->node].number, 38);
    assert_int_equal(ir->node[r->copy].number, 416);
    assert_int_equal(r->in_effect, EK_IR_YES);
    assert_int_equal(report.recompute[1].in_effect, EK_IR_UNSEEN); /* its copy is not in the fragment */
    assert_int_equal(report.n_kept, 0);
    assert_int_equal(report.n_findings, 0);
    drop(ir, &report);
    read_published("master__recompute__05.ir", &ir, &report);
    assert_int_equal(report.n_recompute, 0);
    assert_int_equal(report.n_kept, 1);
    assert_int_equal(ir->node[report.kept[0].node].number, 38);
    assert_int_equal(ir->node[report.kept[0].consumer].number, 291);
    assert_int_equal(report.kept_bytes, 8 * 16 * 128 * 32 * 4);
    drop(ir, &report);
    read_published("r2_1__recompute__03.ir", &ir, &report);
    assert_int_equal(report.n_recompute, 1);
    assert_int_equal(report.recompute[0].in_effect, EK_IR_UNSEEN);
    assert_int_equal(report.n_findings, 0);
    drop(ir, &report);
}

static void a_published_sum_is_sliced(void **state)
{
    (void)state;
    static const wanted sliced = {"allreduce-then-slice", EK_IR_WARNING, 8, 1, 0, 12288, "(32, 16)", "out_strategy"};
    ek_ir_report report;
    ek_ir *ir;
    read_published("r2_1__sharding_propagation__05.ir", &ir, &report);
    compare_finding("sharding propagation", &report, &sliced);
    assert_int_equal(report.comm[0].n_ranks, 4);
    assert_int_equal(report.n_findings, 1);
    drop(ir, &report);
    read_published("r2_4_0__sapp__09.ir", &ir, &report);
    assert_int_equal(report.n_comms, 1);
    assert_int_equal(report.comm[0].traffic, 64 * 512 * 4);
    assert_int_equal(report.n_findings, 0);
    drop(ir, &report);
    read_published("perf_guide_2_4__llama_wo_allreduce.ir", &ir, &report);
    assert_true(ir->n_diagnostics > 0);
    assert_int_equal(report.n_findings, 0); /* damaged nodes prove nothing */
    drop(ir, &report);
}

/* ---- generated graphs ---- */

static void generate(const ir_shape *shape, ir_truth *truth, ek_ir **ir, ek_ir_report *report)
{
    ek_error err;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ir_generate(out, shape, truth);
    fclose(out);
    if (ek_ir_parse("generated.ir", text, size, NULL, ir, &err))
        fail_msg("%s", err.message);
    free(text);
    check_graph(*ir, NULL, report);
}

/* The generator counts weights that backward takes among its values; the check does not, since they are always in
 * memory. */
static int64_t loaded_for_backward(const ek_ir *ir)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        bool taken = false;
        if (strcmp(ek_ir_text(ir, ir->node[i].primitive), "Load") != 0)
            continue;
        for (uint32_t k = 0; k < ir->n_nodes && !taken; k++)
            for (uint32_t o = 0; o < ir->node[k].n_inputs && !taken; o++) {
                const ek_ir_input *input = &ir->input[ir->node[k].first_input + o];
                taken = input->kind == EK_IR_INPUT_NODE && input->index == i &&
                        (ir->node[k].flags & (EK_IR_BACKWARD | EK_IR_DUPLICATED));
            }
        if (taken)
            bytes += ir->type[ir->node[i].type].bytes;
    }
    return bytes;
}

static void generated_graphs_show_their_truth(void **state)
{
    (void)state;
    static const ir_shape shapes[] = {{3, 2, false, true, false, false}, {3, 2, true, true, false, true},
                                      {4, 1, false, true, true, false},  {2, 3, true, true, true, false},
                                      {5, 2, false, false, false, true}, {32, 1, false, true, true, false}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const ir_shape *shape = &shapes[i];
        ek_ir_report report;
        ir_truth truth;
        ek_ir *ir;
        int64_t n_comms[EK_N_IR_COMM_KINDS][EK_N_IR_COMM_ROLES] = {0}, in_effect = 0;
        generate(shape, &truth, &ir, &report);
        for (int k = 0; k < report.n_comms; k++)
            n_comms[report.comm[k].kind][report.comm[k].role]++;
        /* the communication in the gradient of an operator's own communication counts as the operator's as well */
        truth.n_comms[EK_IR_ALL_GATHER][EK_IR_ROLE_FORWARD] += truth.n_comms[EK_IR_ALL_GATHER][EK_IR_ROLE_OTHER];
        truth.n_comms[EK_IR_ALL_GATHER][EK_IR_ROLE_OTHER] = 0;
        for (int k = 0; k < EK_N_IR_COMM_KINDS; k++)
            for (int r = 0; r < EK_N_IR_COMM_ROLES; r++)
                assert_int_equal(n_comms[k][r], truth.n_comms[k][r]);
        for (int k = 0; k < report.n_recompute; k++)
            in_effect += report.recompute[k].in_effect == EK_IR_YES;
        assert_int_equal(report.n_recompute, truth.n_requested);
        assert_int_equal(in_effect, truth.n_in_effect);
        assert_int_equal(report.kept_bytes + loaded_for_backward(ir), truth.kept_bytes + truth.kept_for_copies);
        assert_int_equal(count(&report, "recompute-blocked-by-reshape"), shape->recompute && shape->fault);
        assert_int_equal(count(&report, "recompute-not-in-effect"), 0);
        drop(ir, &report);
    }
}

static void the_block_of_every_layer_is_one_finding(void **state)
{
    (void)state;
    static const ir_shape shape = {.n_layers = 32, .n_micro_batches = 2, .recompute = true, .fault = true};
    ek_ir_report report;
    ir_truth truth;
    ek_ir *ir;
    generate(&shape, &truth, &ir, &report);
    for (int i = 0; i < report.n_findings; i++) {
        const ek_ir_finding *f = &report.finding[i];
        if (strcmp(f->check, "recompute-blocked-by-reshape") != 0)
            continue;
        assert_int_equal(f->n_layers, 32);
        assert_int_equal(f->n_occurrences, 64);
        assert_int_equal(f->bytes, 32 * report.recompute[0].bytes); /* of one micro-batch */
    }
    drop(ir, &report);
}

/* ---- two graphs ---- */

static void compare(const ek_ir_report *a, const ek_ir_report *b, ek_ir_difference *out)
{
    ek_error err;
    if (ek_ir_compare(a, b, out, &err))
        fail_msg("%s", err.message);
}

static void a_graph_does_not_differ_from_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        ek_ir_report report;
        ek_ir_difference d;
        ek_ir *ir;
        read_fixture(fixtures[i].name, NULL, &ir, &report);
        compare(&report, &report, &d);
        assert_int_equal(d.n_primitives + d.n_comms + d.n_only[0] + d.n_only[1], 0);
        assert_int_equal(d.kept_bytes[0], d.kept_bytes[1]);
        assert_int_equal(d.kept_bytes[0], report.kept_bytes);
        ek_ir_difference_clear(&d);
        drop(ir, &report);
    }
}

/* The graph with reshapes requested has copies of SiLU, Reshape, Mul, Reshape for each of two layers, and nothing else.
 */
static void known_edits_are_the_difference(void **state)
{
    (void)state;
    ek_ir_report report[2];
    ek_ir_difference d;
    ek_ir *ir[2];
    read_fixture("silu_mul_blocked", NULL, &ir[0], &report[0]);
    read_fixture("silu_mul_fixed", NULL, &ir[1], &report[1]);
    compare(&report[0], &report[1], &d);
    assert_int_equal(d.n_primitives, 3);
    assert_string_equal(d.primitive[0].name, "Reshape");
    assert_int_equal(d.primitive[0].n[1] - d.primitive[0].n[0], 4);
    assert_string_equal(d.primitive[1].name, "Mul");
    assert_string_equal(d.primitive[2].name, "SiLU");
    assert_int_equal(d.primitive[2].n[1] - d.primitive[2].n[0], 2);
    assert_int_equal(d.n_only[0], 0);
    assert_int_equal(d.n_only[1], 8);
    for (int i = 0; i < d.n_only[1]; i++)
        assert_true(ir[1]->node[d.only[1][i]].flags & EK_IR_DUPLICATED);
    assert_int_equal(d.n_comms, 0);
    assert_int_equal(d.n_recompute_requested[0], 4);
    assert_int_equal(d.n_recompute_requested[1], 8);
    assert_int_equal(d.n_recompute_in_effect[0], 0);
    assert_int_equal(d.n_recompute_in_effect[1], 8);
    assert_int_equal(d.kept_bytes[0] - d.kept_bytes[1], 4 * 1 * 256 * 512 * 2); /* two tensors in each of two layers */
    ek_ir_difference_clear(&d);
    drop(ir[0], &report[0]);
    drop(ir[1], &report[1]);
}

static void the_difference_turned_round_is_the_same_turned_round(void **state)
{
    (void)state;
    static const char *const names[] = {"silu_mul_blocked", "redistribution", "repeated_gather", "row_parallel"};
    for (int i = 0; i < 16; i++) {
        ek_ir_report report[2];
        ek_ir_difference d, e;
        ek_ir *ir[2];
        read_fixture(names[i / 4], NULL, &ir[0], &report[0]);
        read_fixture(names[i % 4], NULL, &ir[1], &report[1]);
        compare(&report[0], &report[1], &d);
        compare(&report[1], &report[0], &e);
        assert_int_equal(d.n_primitives, e.n_primitives);
        for (int k = 0; k < d.n_primitives; k++) {
            assert_string_equal(d.primitive[k].name, e.primitive[k].name);
            assert_int_equal(d.primitive[k].n[0], e.primitive[k].n[1]);
            assert_int_equal(d.primitive[k].bytes[0], e.primitive[k].bytes[1]);
        }
        assert_int_equal(d.n_comms, e.n_comms);
        for (int k = 0; k < d.n_comms; k++)
            assert_int_equal(d.comm[k].bytes[1], e.comm[k].bytes[0]);
        for (int s = 0; s < 2; s++) {
            assert_int_equal(d.n_only[s], e.n_only[1 - s]);
            assert_memory_equal(d.only[s], e.only[1 - s], (size_t)d.n_only[s] * sizeof *d.only[s]);
            assert_int_equal(d.traffic[s], e.traffic[1 - s]);
        }
        assert_int_equal(ir[0]->n_operators - (uint32_t)d.n_only[0], ir[1]->n_operators - (uint32_t)d.n_only[1]);
        ek_ir_difference_clear(&d);
        ek_ir_difference_clear(&e);
        drop(ir[0], &report[0]);
        drop(ir[1], &report[1]);
    }
}

/* Each allocation fails once: the error is reported, and the output is unchanged. */
static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"silu_mul_blocked", "unfused", "repeated_gather", "row_parallel"};
    for (int i = 0; i < 4; i++) {
        ek_ir_report report, untouched = {.n_comms = 12345};
        ek_ir_difference d, same = {.n_comms = 12345};
        ek_status status = EK_ERR_MEMORY;
        ek_ir *ir;
        read_fixture(names[i], NULL, &ir, &report);
        for (int n = 0; status; n++) {
            ek_ir_report out = untouched;
            ek_error err = {0};
            until_failure = n;
            status = ek_ir_check(ir, NULL, &out, &err);
            until_failure = -1;
            if (status)
                assert_int_equal(out.n_comms, 12345);
            else
                ek_ir_report_clear(&out);
            assert_true(status == EK_OK || (status == EK_ERR_MEMORY && err.message[0]));
            assert_true(n < 5000);
        }
        status = EK_ERR_MEMORY;
        for (int n = 0; status; n++) {
            d = same;
            until_failure = n;
            status = ek_ir_compare(&report, &report, &d, NULL);
            until_failure = -1;
            assert_true(status == EK_OK || (status == EK_ERR_MEMORY && d.n_comms == 12345));
            assert_true(n < 5000);
        }
        ek_ir_difference_clear(&d);
        drop(ir, &report);
    }
}

/* ---- operators by name ---- */

static void check_text(const char *text, ek_ir **ir, ek_ir_report *report)
{
    ek_error err;
    if (ek_ir_parse("text", text, strlen(text), NULL, ir, &err))
        fail_msg("%s: %s", text, err.message);
    assert_int_equal((*ir)->n_diagnostics, 0);
    check_graph(*ir, NULL, report);
}

#define X  "<Tensor[Float16], (64, 32)>"  /* 4096 bytes */
#define X4 "<Tensor[Float16], (256, 32)>" /* 16384 bytes */

static void communication_is_known_by_every_name_it_has(void **state)
{
    (void)state;
    static const struct {
        const char *node; /* the text after " = " */
        ek_ir_comm_kind kind;
        ek_ir_comm_role role;
        int n_ranks;
        int64_t bytes;
    } cases[] = {
        {"InnerCommAllReduce(%8, \"sum\", \"4-6301172352641561019\")\n : (" X ", <String, NoShape>, <String, NoShape>) "
         "-> (" X ")",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_OTHER, 4, 4096},
        {"InnerCommAllGather(%8, I64(4), \"hccl_world_group\")\n : (" X ", <Int64, NoShape>, <String, NoShape>) -> (" X4
         ")",
         EK_IR_ALL_GATHER, EK_IR_ROLE_OTHER, 4, 16384},
        {"InnerCommReduceScatter(%8, I64(4), \"sum\", \"dp_group\")\n : (" X4 ") -> (" X ")", EK_IR_REDUCE_SCATTER,
         EK_IR_ROLE_OTHER, 4, 16384},
        {"InnerCommAllToAllV(%8, \"2-500454454448962\", (I64(1), I64(1)))\n : (" X ") -> (" X ")", EK_IR_ALL_TO_ALL,
         EK_IR_ROLE_OTHER, 2, 4096},
        {"InnerCommIsend(%8, I64(1), \"2-500454454448962\", I64(0))\n : (" X ") -> (" X ")", EK_IR_SEND,
         EK_IR_ROLE_PIPELINE, 2, 4096},
        {"InnerCommIrecv(I64(0), I64(1), (I64(64), I64(32)), \"2-500454454448962\", I64(42))\n : (<Int64, NoShape>) -> "
         "(" X ")",
         EK_IR_RECEIVE, EK_IR_ROLE_PIPELINE, 2, 4096},
        {"DistCommAllGatherIntoTensor(%8, %9, I64(4), \"tp_group\")\n : (" X4 ", " X ") -> (" X4 ")", EK_IR_ALL_GATHER,
         EK_IR_ROLE_OTHER, 4, 16384},
        {"DistCommReduceScatterTensor(%8, %9, I64(4), \"sum\", \"tp_group\")\n : (" X ", " X4 ") -> (" X ")",
         EK_IR_REDUCE_SCATTER, EK_IR_ROLE_OTHER, 4, 16384},
        {"DistCommAllToAllVSingle(%8, %9, \"4-6301172352641561019\")\n : (" X ", " X ") -> (" X ")", EK_IR_ALL_TO_ALL,
         EK_IR_ROLE_OTHER, 4, 4096},
        {"DistCommBroadcast(%8, I64(0), I64(0), \"tp_group\")\n : (" X ") -> (" X ")", EK_IR_BROADCAST,
         EK_IR_ROLE_OTHER, 0, 4096},
        {"AlltoAllV(%8) primitive_attrs: {group: \"4-6301172352641561019\"}\n : (" X ") -> (" X ")", EK_IR_ALL_TO_ALL,
         EK_IR_ROLE_OTHER, 4, 4096},
        {"AlltoAllVC(%8) primitive_attrs: {rank_size: I64(4)}\n : (" X ") -> (" X ")", EK_IR_ALL_TO_ALL,
         EK_IR_ROLE_OTHER, 4, 4096},
        {"MatMulAllReduce(%8, %9) primitive_attrs: {group: \"4-6301172352641561019\"}\n : (" X4 ", " X4 ") -> (" X ")",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_FORWARD, 4, 4096},
        {"MatmulAllReduceAddRmsNorm(%8, %9, \"4-6301172352641561019\", \"sum\")\n : (" X4 ", " X4
         ") -> (<Tuple[Tensor[Float16]*2], TupleShape((64, 32), (64, 32))>)",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_FORWARD, 4, 4096},
        {"MatmulReduceScatter(%8, %9, \"4-6301172352641561019\", I64(4))\n : (" X4 ", " X4 ") -> (" X ")",
         EK_IR_REDUCE_SCATTER, EK_IR_ROLE_FORWARD, 4, 16384},
        {"AllGatherMatmul(%8, %9, \"4-6301172352641561019\", I64(4))\n : (" X ", " X4 ") -> (" X4 ")", EK_IR_ALL_GATHER,
         EK_IR_ROLE_FORWARD, 4, 16384},
        {"NeighborExchangeV2(%8) primitive_attrs: {group: \"2-500454454448962\"}\n : (" X ") -> (" X ")",
         EK_IR_OTHER_COMM, EK_IR_ROLE_OTHER, 2, 4096},
        {"_MicroStepAllGather(%8) primitive_attrs: {rank_size: I64(4)}\n : (" X ") -> (" X4 ")", EK_IR_ALL_GATHER,
         EK_IR_ROLE_OPTIMIZER, 4, 16384},
        {"AllReduce(%8) {instance name: grad_forward_op_12} primitive_attrs: {rank_size: I64(4)}\n : (" X ") -> (" X
         ")",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_FORWARD, 4, 4096},
        {"AllReduce(%8) {instance name: grad_mirror_op} primitive_attrs: {rank_size: I64(4)}\n : (" X ") -> (" X ")",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_GRADIENT, 4, 4096},
        {"AllReduce(%8) primitive_attrs: {group: \"hccl_world_group\", rank_size: I64(4)}\n : (" X ") -> (" X
         ")\n # Fullname with scope: (Default/grad_reducer-DistributedGradReducer/AllReduce-op3)",
         EK_IR_ALL_REDUCE, EK_IR_ROLE_GRADIENT, 4, 4096},
        {"ReduceScatter(%8) {instance name: grad_parallel_optimizer_allgather}\n : (" X4 ") -> (" X ")",
         EK_IR_REDUCE_SCATTER, EK_IR_ROLE_OPTIMIZER, 4, 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[700];
        ek_ir_report report;
        ek_ir *ir;
        snprintf(text, sizeof text, "%%1(a) = PrimFunc_%s\n", cases[i].node);
        check_text(text, &ir, &report);
        if (report.n_comms != 1)
            fail_msg("%s: no communication", cases[i].node);
        const ek_ir_comm *is = &report.comm[0];
        if (is->kind != cases[i].kind || is->role != cases[i].role || is->n_ranks != cases[i].n_ranks ||
            is->bytes != cases[i].bytes)
            fail_msg("%s: %s %s, %d ranks, %lld bytes", cases[i].node, ek_ir_comm_kind_name[is->kind],
                     ek_ir_comm_role_name[is->role], is->n_ranks, (long long)is->bytes);
        assert_int_equal(is->traffic, ek_ir_ring_traffic(is->kind, is->n_ranks, is->bytes));
        drop(ir, &report);
    }
    static const char none[] = "%1(a) = StreamSend(%8)\n%2(a) = BroadcastTo(%8)\n%3(a) = ReduceSum(%8)\n";
    ek_ir_report report;
    ek_ir *ir;
    check_text(none, &ir, &report);
    assert_int_equal(report.n_comms, 0);
    drop(ir, &report);
}

#define PRODUCT(number, weight)                                                                                        \
    "%" number "(a) = MatMulAllReduce(%8, %" weight ") primitive_attrs: {group: \"4-6301172352641561019\"}\n : (" X    \
    ", " X ") -> (" X ")\n"
#define GATHER(number, group) "%" number "(a) = InnerCommAllGather(%8, I64(4), \"" group "\")\n : (" X ") -> (" X4 ")\n"

static void only_what_sends_the_same_is_sent_again(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n;
    } cases[] = {
        {PRODUCT("1", "6") PRODUCT("2", "7"), 0},             /* one operand, two weights */
        {GATHER("1", "tp_group") GATHER("2", "dp_group"), 0}, /* the group is an operand */
        {GATHER("1", "tp_group") GATHER("2", "tp_group"), 1},
        {"%8(s) = AllReduce(%5) primitive_attrs: {group: \"4-6301172352641561019\"}\n : (" X ") -> (" X
         ")\n" PRODUCT("2", "7"),
         0}, /* sums something else */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        check_text(cases[i].text, &ir, &report);
        assert_int_equal(report.n_comms, 2);
        if (report.n_findings != cases[i].n)
            fail_msg("%zu: %d findings: %s", i, report.n_findings, report.n_findings ? report.finding[0].text : "");
        drop(ir, &report);
    }
}

#define EXCHANGE(number, of)                                                                                           \
    "%" number "(a) = AlltoAll(%" of ") {instance name: redistribution_op_" number                                     \
    "AlltoAll} primitive_attrs: {group: "                                                                              \
    "\"2-6301172352641561019\"}\n : (" X ") -> (" X ")\n # Fullname with scope: (Default/m" number                     \
    "-M/AlltoAll-op1)\n"
#define TAKE(number, of) "%" number "(a) = Exp(%" of ")\n : (" X ") -> (" X ")\n"

static void every_branch_of_a_redistribution_counts_once(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n_chains, n_comms;
    } cases[] = {
        {EXCHANGE("1", "0") EXCHANGE("2", "1") TAKE("3", "2"), 1, 2},
        {EXCHANGE("1", "0") EXCHANGE("2", "1") TAKE("3", "2") EXCHANGE("4", "1") TAKE("5", "4"), 2, 3},
        {EXCHANGE("2", "1") EXCHANGE("1", "0") TAKE("3", "2"), 2, 2}, /* not in order of flow */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        int64_t sent = 0;
        int n = 0;
        check_text(cases[i].text, &ir, &report);
        for (int k = 0; k < report.n_findings; k++)
            if (strcmp(report.finding[k].check, "redistribution") == 0) {
                n += report.finding[k].n_occurrences;
                sent += report.finding[k].bytes;
            }
        assert_int_equal(n, cases[i].n_chains);
        assert_int_equal(sent, cases[i].n_comms * 2048);
        drop(ir, &report);
    }
}

#define CUT_PRODUCT(number, of, cut)                                                                                   \
    "%" number "(a) = MatMul(%" of ", %99) {in_strategy: (" cut ", (1, 1))}\n : (" X ", " X ") -> (" X ")\n"
#define CUT_EXP(number, of, cut) "%" number "(a) = Exp(%" of ") {in_strategy: (" cut ")}\n : (" X ") -> (" X ")\n"

/* An elementwise operator takes any cut; of two alike the later one changes, since it is the one that takes. */
static void the_neighbour_that_takes_any_cut_is_told_to_change(void **state)
{
    (void)state;
    static const struct {
        const char *text, *advice;
    } cases[] = {
        {CUT_PRODUCT("1", "0", "(2, 1)") EXCHANGE("2", "1") CUT_EXP("3", "2", "(1, 1)"),
         "shard operand 1 of Exp %3 as (2, 1) in its in_strategy, as its producer does"},
        {CUT_EXP("1", "0", "(2, 1)") EXCHANGE("2", "1") CUT_PRODUCT("3", "2", "(1, 1)"),
         "shard Exp %1 as (1, 1) in its in_strategy, as the next operator does"},
        {CUT_PRODUCT("1", "0", "(2, 1)") EXCHANGE("2", "1") CUT_PRODUCT("3", "2", "(1, 1)"),
         "shard operand 1 of MatMul %3 as (2, 1) in its in_strategy, as its producer does"},
        {CUT_EXP("1", "0", "(2, 1)") EXCHANGE("2", "1") CUT_EXP("3", "2", "(1, 1)"),
         "shard operand 1 of Exp %3 as (2, 1) in its in_strategy, as its producer does"},
        {TAKE("1", "0") EXCHANGE("2", "1") CUT_EXP("3", "2", "(1, 1)"),
         "compare the strategies given to shard() of these two operators; with equal sharding of this value there is "
         "no communication"},
        {CUT_EXP("1", "0", "(2, 1)") EXCHANGE("2", "1") TAKE("3", "2"),
         "compare the strategies given to shard() of these two operators; with equal sharding of this value there is "
         "no communication"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        int n = 0;
        check_text(cases[i].text, &ir, &report);
        for (int k = 0; k < report.n_findings; k++)
            if (strcmp(report.finding[k].check, "redistribution") == 0) {
                assert_string_equal(report.finding[k].advice, cases[i].advice);
                n++;
            }
        assert_int_equal(n, 1);
        drop(ir, &report);
    }
}

/* ---- parts of graphs ---- */

#define BACKWARD   " # Fullname with scope: (Gradients/Default/A-op1)\n"
#define COPY_MARKS "cnode_attrs: {recompute_sub_graph: U64(64), recompute_id: I64(65), duplicated: Bool(1)}"
#define LONE_COPY                                                                                                      \
    "%1834(a) = PrimFunc_Cast(%1833, I64(43)) {instance name: cast} primitive_attrs: {recompute: Bool(1)} " COPY_MARKS \
    "\n : (" X ", <Int64, NoShape>) -> (<Tensor[Float32], (64, 32)>)\n"

static void a_copy_without_its_original_stands_for_both(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n;
        ek_ir_answer in_effect;
    } cases[] = {
        {LONE_COPY, 1, EK_IR_UNSEEN},
        {LONE_COPY "%1900(b) = PrimFunc_Mul(%1834, %1899)\n : (<Tensor[Float32], (64, 32)>) -> (" X ")\n" BACKWARD, 1,
         EK_IR_YES},
        {"%7(o) = PrimFunc_Cast(%6, I64(43)) cnode_attrs: {recompute: Bool(1), recompute_sub_graph: U64(64), "
         "recompute_id: I64(65)}\n : (" X ", <Int64, NoShape>) -> (<Tensor[Float32], (64, 32)>)\n" LONE_COPY,
         1, EK_IR_UNSEEN}, /* the original answers for both */
        {"%1(a) = PrimFunc_Cast(%2, I64(43)) " COPY_MARKS "\n : (" X ", <Int64, NoShape>) -> (" X ")\n", 0,
         EK_IR_UNSEEN}, /* is not marked as requested */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        check_text(cases[i].text, &ir, &report);
        if (report.n_recompute != cases[i].n)
            fail_msg("%zu: %d requests", i, report.n_recompute);
        if (cases[i].n > 0) {
            const ek_ir_recompute *r = &report.recompute[0];
            assert_int_equal(r->in_effect, cases[i].in_effect);
            assert_int_equal(ir->node[r->copy].number, 1834);
            assert_int_equal(r->node == r->copy, i < 2);
            assert_int_equal(r->held, EK_IR_NONE);
            assert_int_equal(r->bytes, 0);
        }
        assert_int_equal(report.n_findings, 0);
        drop(ir, &report);
    }
}

static void what_is_kept_counts_once_however_it_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t number; /* of the only one */
        int n_consumers;
    } cases[] = {
        /* a value and its Reshape, taken by one operator */
        {"%1(a) = PrimFunc_SiLU(%0)\n : (" X ") -> (" X ")\n"
         "%2(b) = PrimFunc_Reshape(%1, I64(1))\n : (" X ", <Int64, NoShape>) -> (" X ")\n"
         "%3(c) = PrimFunc_Mul(%1, %2)\n : (" X ", " X ") -> (" X ")\n" BACKWARD,
         1, 1},
        /* two Reshapes of a value outside of the file */
        {"%1(a) = PrimFunc_Reshape(%0, I64(1))\n : (" X ", <Int64, NoShape>) -> (" X ")\n"
         "%2(b) = PrimFunc_Reshape(%1, I64(1))\n : (" X ", <Int64, NoShape>) -> (" X ")\n"
         "%3(c) = PrimFunc_Exp(%1)\n : (" X ") -> (" X ")\n" BACKWARD "%4(c) = PrimFunc_Exp(%2)\n : (" X ") -> (" X
         ")\n" BACKWARD,
         1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_ir_report report;
        ek_ir *ir;
        check_text(cases[i].text, &ir, &report);
        assert_int_equal(report.n_kept, 1);
        assert_int_equal(ir->node[report.kept[0].node].number, cases[i].number);
        assert_int_equal(report.kept[0].n_consumers, cases[i].n_consumers);
        assert_int_equal(report.kept_bytes, 4096);
        drop(ir, &report);
    }
}

/* A chain of views longer than a call stack of 8. */
static void a_long_chain_of_views_is_one_value(void **state)
{
    (void)state;
    char text[8000];
    size_t n = (size_t)snprintf(text, sizeof text, "%%0(a) = PrimFunc_SiLU(%%99)\n : (" X ") -> (" X ")\n");
    for (int i = 1; i <= 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%%%d(a) = PrimFunc_Reshape(%%%d, I64(1))\n : (" X ", <Int64, NoShape>) -> (" X ")\n", i,
                              i - 1);
    snprintf(text + n, sizeof text - n, "%%41(a) = PrimFunc_Exp(%%40)\n : (" X ") -> (" X ")\n" BACKWARD);
    ek_ir_report report;
    ek_ir *ir;
    check_text(text, &ir, &report);
    assert_int_equal(report.n_kept, 1);
    assert_int_equal(report.kept_bytes, 4096);
    drop(ir, &report);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fixture_gives_exactly_its_findings),
        cmocka_unit_test(findings_stand_by_severity_then_bytes),
        cmocka_unit_test(what_a_request_became_is_told_for_each),
        cmocka_unit_test(what_a_whole_cell_does_not_need_is_by_design),
        cmocka_unit_test(requests_of_one_name_are_excused_by_one_in_effect),
        cmocka_unit_test(micro_batches_alive_multiply_what_is_held),
        cmocka_unit_test(parameters_are_summed_by_prefix),
        cmocka_unit_test(every_kind_of_communication_is_measured),
        cmocka_unit_test(ring_traffic_is_that_of_a_ring_played),
        cmocka_unit_test(communication_is_known_by_every_name_it_has),
        cmocka_unit_test(only_what_sends_the_same_is_sent_again),
        cmocka_unit_test(every_branch_of_a_redistribution_counts_once),
        cmocka_unit_test(the_neighbour_that_takes_any_cut_is_told_to_change),
        cmocka_unit_test(a_copy_without_its_original_stands_for_both),
        cmocka_unit_test(what_is_kept_counts_once_however_it_is_taken),
        cmocka_unit_test(a_long_chain_of_views_is_one_value),
        cmocka_unit_test(a_published_copy_is_in_effect),
        cmocka_unit_test(a_published_sum_is_sliced),
        cmocka_unit_test(generated_graphs_show_their_truth),
        cmocka_unit_test(the_block_of_every_layer_is_one_finding),
        cmocka_unit_test(a_graph_does_not_differ_from_itself),
        cmocka_unit_test(known_edits_are_the_difference),
        cmocka_unit_test(the_difference_turned_round_is_the_same_turned_round),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
