/* Tests diagnoses of runs made by hand, with losses known to the nanosecond: the findings, their order, and their
 * predicted gains. */
#include "failing_heap.h"
#include "input.h"

#include <math.h>

#include "assert_close.h"
#include "base/error.h"
#include "base/pool.h"
#include "diagnose/replay.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "evenkeel/trace.h"
#include "evenkeel/train_log.h"

enum { MS = 1000000, N_STEPS = 2, MOST = 16 };

/* When it is reached, memory is out: see the wrappers. -1: never. */
static int allocations_left = -1;
static bool only_one; /* memory is available again after the one that fails */
static bool one_failed;

static bool is_out_of_memory(void)
{
    if (allocations_left == 0) {
        allocations_left = only_one ? -1 : 0;
        one_failed = true;
        return true;
    }
    allocations_left -= allocations_left > 0;
    return false;
}

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size)
{
    return is_out_of_memory() ? NULL : __real_ek__alloc(count, size);
}

void *__real_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);
void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);
void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size)
{
    return is_out_of_memory() ? NULL : __real_ek__pool_push(pool, array, n, size);
}

FAILING_POOL_FORMAT(is_out_of_memory, ek__pool_text)

/* Ranks with steps of 100 ms that begin at 0 and 100 ms. */
typedef struct made {
    ek_trace_run run;
    ek_trace_rank rank[4];
    ek_trace_step step[4][N_STEPS];
    ek_trace_collective collective[4][MOST];
    ek_trace_outlier slow[4][MOST];
    ek_trace_host_gap gap[4][MOST];
} made;

static void make_run(made *m, int n_ranks)
{
    *m = (made){.run = {.n_ranks = n_ranks, .rank = m->rank}};
    for (int r = 0; r < n_ranks; r++) {
        ek_trace_rank *rank = &m->rank[r];
        *rank = (ek_trace_rank){.rank = r, .stage = 0, .producer = EK_PRODUCER_TORCH_NPU, .n_steps = N_STEPS};
        rank->step = m->step[r];
        rank->has_device_events = true;
        rank->mean = (ek_trace_breakdown){.computing = 90 * MS, .free = 10 * MS, .total = 100 * MS};
        rank->idle.n_linked_tasks = 1;
        rank->communication.collective = m->collective[r];
        rank->operators.slow = m->slow[r];
        rank->dispatch.gap = m->gap[r];
        for (int i = 0; i < N_STEPS; i++)
            m->step[r][i] = (ek_trace_step){.name = i ? "2" : "1",
                                            .host_start = (int64_t)i * 100 * MS,
                                            .host_step = 100 * MS,
                                            .start = (int64_t)i * 100 * MS,
                                            .end = (int64_t)(i + 1) * 100 * MS};
    }
}

static void add_collective(made *m, int rank, const char *name, int step, double start_ms, double length_ms,
                           double exposed_ms)
{
    ek_trace_communication *c = &m->rank[rank].communication;
    c->collective[c->n_collectives++] = (ek_trace_collective){.name = name,
                                                              .group = "7",
                                                              .start = (int64_t)((step * 100 + start_ms) * MS),
                                                              .duration = (int64_t)(length_ms * MS),
                                                              .exposed = (int64_t)(exposed_ms * MS),
                                                              .transit = EK_TRACE_UNKNOWN,
                                                              .step = step};
}

static ek_diagnosis diagnose(const made *m)
{
    ek_diagnosis diagnosis;
    ek_error err = {0};
    const ek_run_input input = {.trace = &m->run};
    if (ek_diagnose(&input, NULL, &diagnosis, &err))
        fail_msg("%s", err.message);
    return diagnosis;
}

static const ek_bottleneck *find(const ek_diagnosis *d, const char *id)
{
    for (int i = 0; i < d->n_bottlenecks; i++)
        if (strcmp(d->bottleneck[i].id, id) == 0)
            return &d->bottleneck[i];
    return NULL;
}

static void check_gain(const made *m, const char *id, double gain_ms)
{
    ek_diagnosis d = diagnose(m);
    const ek_bottleneck *b = find(&d, id);
    if (isnan(gain_ms)) {
        assert_null(b);
    } else {
        assert_non_null(b);
        assert_ptr_equal(b, &d.bottleneck[0]);
        assert_close_to(b->gain_seconds * 1e3, gain_ms, 1e-6);
        assert_close_to(b->gain_share, gain_ms / 100, 1e-9);
        assert_true(b->n_evidence > 0);
    }
    ek_diagnosis_clear(&d);
}

/* ---- each separately ---- */

static void a_run_without_losses_has_no_finding(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    ek_diagnosis d = diagnose(&m);
    assert_int_equal(d.n_bottlenecks, 0);
    assert_close_to(d.step_seconds, 0.1, 1e-12);
    ek_diagnosis_clear(&d);
}

static void waits_for_data_count_in_full_and_not_below_one_per_cent(void **state)
{
    (void)state;
    static const struct {
        double idle_ms, gain_ms;
    } cases[] = {{20, 20}, {1.001, 1.001}, {0.999, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make_run(&m, 1);
        m.rank[0].mean.computing = 70 * MS;
        for (int s = 0; s < N_STEPS; s++)
            m.step[0][s].data_loading_idle = (int64_t)llround(cases[i].idle_ms * MS);
        check_gain(&m, "data-loading", cases[i].gain_ms);
    }
    /* A step of which it is not known has no such wait, and one of warm-up does not count. */
    made m;
    make_run(&m, 1);
    m.rank[0].mean.computing = 70 * MS;
    m.step[0][0].data_loading_idle = EK_TRACE_UNKNOWN;
    m.step[0][1].data_loading_idle = 20 * MS;
    check_gain(&m, "data-loading", 10);
    m.step[0][0].data_loading_idle = 50 * MS;
    m.step[0][0].warm_up = true;
    check_gain(&m, "data-loading", 20);
    /* Nor does it where ranks have no step in common that could be run again. */
    made two;
    make_run(&two, 2);
    two.step[1][0].name = "8";
    two.step[1][1].name = "9";
    two.rank[0].mean.computing = 70 * MS;
    two.step[0][0].data_loading_idle = 50 * MS;
    two.step[0][0].warm_up = true;
    two.step[0][1].data_loading_idle = 20 * MS;
    check_gain(&two, "data-loading", 20);
}

static void slow_executions_count_from_their_median(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++)
        m.slow[0][m.rank[0].operators.n_slow++] = (ek_trace_outlier){.name = "MatMul",
                                                                     .start = (s * 100 + 10) * (int64_t)MS,
                                                                     .duration = 15 * MS,
                                                                     .expected = 5 * MS,
                                                                     .n_kind = 99};
    check_gain(&m, "slow-operators", 10);
}

/* Six kinds of operators, each slow once a step: the first four are named, each once. */
static void of_slow_executions_four_kinds_are_shown(void **state)
{
    static const char *const name[] = {"MatMul", "Add", "Mul", "Cast", "Slice", "Gelu"};
    made m;
    (void)state;
    make_run(&m, 1);
    for (int k = 0; k < 6; k++)
        for (int s = 0; s < N_STEPS; s++)
            m.slow[0][m.rank[0].operators.n_slow++] = (ek_trace_outlier){.name = name[k],
                                                                         .start = (s * 100 + 10) * (int64_t)MS,
                                                                         .duration = (k + 3) * MS,
                                                                         .expected = 2 * MS,
                                                                         .n_kind = 99};
    ek_diagnosis d = diagnose(&m);
    const ek_bottleneck *b = find(&d, "slow-operators");
    assert_non_null(b);
    assert_close_to(b->cost_seconds * 1e3, 1 + 2 + 3 + 4 + 5 + 6, 1e-9);
    assert_int_equal(b->n_evidence, 5);
    assert_non_null(strstr(b->evidence[0].text, "12 executions"));
    assert_non_null(strstr(b->evidence[0].text, "21.00 ms of a step"));
    for (int k = 0; k < 4; k++) {
        char text[96];
        snprintf(text, sizeof text, "%s: %d.000 ms, the median of 99 is 2.000 ms", name[k], k + 3);
        assert_string_equal(b->evidence[1 + k].text, text);
    }
    ek_diagnosis_clear(&d);
}

static void a_gap_of_the_host_goes_to_its_cause_and_waits_for_data_to_none(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++) {
        const int64_t at = (s * 100 + 30) * (int64_t)MS;
        m.gap[0][m.rank[0].dispatch.n_gaps++] = (ek_trace_host_gap){at, at + 4 * MS, "data_loading"};
        m.gap[0][m.rank[0].dispatch.n_gaps++] = (ek_trace_host_gap){at + 10 * MS, at + 13 * MS, "garbage_collection"};
    }
    check_gain(&m, "host", 3);
}

/* Gradients after the backward pass in one call: all but one bucket of as many as there are layers. */
static void gradients_hide_but_for_a_bucket(void **state)
{
    (void)state;
    ek_trace_layer layer[4];
    made m;
    make_run(&m, 1);
    for (int i = 0; i < 4; i++)
        layer[i] = (ek_trace_layer){.role = EK_TRACE_BODY, .backward = {.n = 1, .busy_median = 10 * MS}};
    m.rank[0].layers = (ek_trace_layers){.n = 4, .layer = layer};
    for (int s = 0; s < N_STEPS; s++)
        add_collective(&m, 0, "hcom_allReduce__7_0_1", s, 80, 20, 20);
    check_gain(&m, "exposed-communication", 15);
    for (int i = 0; i < 4; i++) /* no more than there is computing to hide it */
        layer[i].backward.busy_median = 2 * MS;
    check_gain(&m, "exposed-communication", 8);
}

/* The same call; 12 of its 20 ms wait for other ranks: only the transfer is a loss and can be gained. */
static void waiting_is_no_gain(void **state)
{
    (void)state;
    ek_trace_layer layer[4];
    made m;
    make_run(&m, 1);
    for (int i = 0; i < 4; i++)
        layer[i] = (ek_trace_layer){.role = EK_TRACE_BODY, .backward = {.n = 1, .busy_median = 10 * MS}};
    m.rank[0].layers = (ek_trace_layers){.n = 4, .layer = layer};
    for (int s = 0; s < N_STEPS; s++) {
        add_collective(&m, 0, "hcom_allReduce__7_0_1", s, 80, 20, 20);
        m.collective[0][s].transit = 8 * MS;
    }
    ek_diagnosis d = diagnose(&m);
    const ek_bottleneck *b = find(&d, "exposed-communication");
    assert_non_null(b);
    assert_true(b->gain_seconds > 0 && b->gain_seconds <= 0.008);
    assert_true(b->cost_seconds <= 0.0080001);
    ek_diagnosis_clear(&d);
}

static void receives_are_no_exposed_communication(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++)
        add_collective(&m, 0, "hcom_receive__7_0_1", s, 50, 30, 30);
    check_gain(&m, "exposed-communication", NAN);
}

static void a_wait_for_a_slow_rank_is_that_ranks_and_no_communication(void **state)
{
    (void)state;
    made m;
    make_run(&m, 3);
    for (int r = 0; r < 3; r++) {
        bool slow = r == 1;
        m.rank[r].mean.computing = slow ? 99 * MS : 79 * MS;
        m.rank[r].mean.free = 0;
        for (int s = 0; s < N_STEPS; s++)
            add_collective(&m, r, "hcom_allReduce__7_0_1", s, slow ? 99 : 79, slow ? 0.5 : 20.5, slow ? 0.5 : 20.5);
    }
    ek_diagnosis d = diagnose(&m);
    assert_null(find(&d, "exposed-communication"));
    assert_non_null(find(&d, "slow-rank"));
    /* The share 20/99 of its 99.5 ms of own time is gained, all of it before the collective except for the part after
     * it. */
    assert_close_to(d.bottleneck[0].gain_seconds * 1e3, 20, 0.2);
    ek_diagnosis_clear(&d);
}

/* A device that lags: the windows of steps, from the host's mark to the last kernel, overlap by 30 ms, and the wait of
 * the second step lies in the first one's window, too. */
static void a_wait_counts_in_one_step_where_windows_overlap(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    m.rank[0].mean.computing = 50 * MS;
    for (int s = 0; s < N_STEPS; s++) {
        m.step[0][s].data_loading_idle = 20 * MS;
        m.step[0][s].end += 30 * MS;
    }
    check_gain(&m, "data-loading", 20);
}

/* A table lists steps that the events do not reach: losses in the events apply to the steps that they reach. */
static void steps_of_tables_do_not_thin_out_what_events_show(void **state)
{
    (void)state;
    ek_trace_step step[2 * N_STEPS];
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++)
        add_collective(&m, 0, "hcom_allReduce__7_0_1", s, 80, 20, 20);
    for (int s = 0; s < 2 * N_STEPS; s++) {
        step[s] = m.step[0][s % N_STEPS];
        step[s].from_table = s >= N_STEPS;
    }
    m.rank[0].step = step;
    m.rank[0].n_steps = 2 * N_STEPS;
    ek_diagnosis d = diagnose(&m);
    const ek_bottleneck *b = find(&d, "exposed-communication");
    assert_non_null(b);
    assert_close_to(1e3 * b->cost_seconds, 20, 1e-9);
    assert_non_null(strstr(d.step_source, "mean of 2 steps"));
    ek_diagnosis_clear(&d);
}

/* Four reductions a step are of gradients wherever they begin; layers of eight would reduce 32 times. */
static void reductions_too_few_for_layers_are_of_gradients(void **state)
{
    static const struct {
        int n;
        const char *title;
    } cases[] = {{4, "Reducing gradients"}, {5, "Communication inside layers"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make_run(&m, 1);
        for (int s = 0; s < N_STEPS; s++)
            for (int k = 0; k < cases[i].n; k++)
                add_collective(&m, 0, "hcom_allReduce__7_0_1", s, 10 + 10 * k, 2, 2);
        ek_diagnosis d = diagnose(&m);
        assert_non_null(find(&d, "exposed-communication"));
        assert_non_null(strstr(find(&d, "exposed-communication")->title, cases[i].title));
        ek_diagnosis_clear(&d);
    }
}

/* Where the layers are known, tensor parallelism reduces four times a step in each of the body's. */
static void reductions_fewer_than_four_a_layer_are_of_gradients(void **state)
{
    static const struct {
        ek_trace_role role[3];
        int n_layers, n;
        const char *title;
    } cases[] = {{{EK_TRACE_BODY}, 1, 3, "Reducing gradients"},
                 {{EK_TRACE_BODY}, 1, 4, "Communication inside layers"},
                 {{EK_TRACE_BODY, EK_TRACE_HEAD, EK_TRACE_BODY}, 3, 7, "Reducing gradients"},
                 {{EK_TRACE_BODY, EK_TRACE_HEAD, EK_TRACE_BODY}, 3, 8, "Communication inside layers"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_trace_layer layer[3] = {{0}};
        made m;
        make_run(&m, 1);
        for (int k = 0; k < cases[i].n_layers; k++)
            layer[k] = (ek_trace_layer){.role = cases[i].role[k],
                                        .forward = {.n = 1, .busy_median = 10 * MS},
                                        .backward = {.n = 1, .busy_median = 20 * MS}};
        m.rank[0].layers = (ek_trace_layers){.n = cases[i].n_layers, .layer = layer};
        for (int s = 0; s < N_STEPS; s++)
            for (int k = 0; k < cases[i].n; k++)
                add_collective(&m, 0, "hcom_allReduce__7_0_1", s, 10 + 10 * k, 4, 4);
        ek_diagnosis d = diagnose(&m);
        const ek_bottleneck *b = find(&d, "exposed-communication");
        assert_non_null(b);
        if (strncmp(b->title, cases[i].title, strlen(cases[i].title)) != 0)
            fail_msg("case %zu is '%s'", i, b->title);
        ek_diagnosis_clear(&d);
    }
}

/* The purpose of a collective follows from its kind and from its part of the step: gradients begin after 0.3 of it,
 * gathers of weights end before 0.6. */
static void the_use_of_a_collective_follows_from_its_kind_and_place(void **state)
{
    static const struct {
        const char *name;
        double from_ms, to_ms; /* in a step of 100: starts of the first call and of the last */
        int n;
        const char *title;
    } cases[] = {
        {"hcom_allGather__7", 0, 20, 5, "Gathering weights"},
        {"hcom_allGather__7", 0, 59, 5, "Gathering weights"},
        {"hcom_allGather__7", 40, 59, 5, "Gathering weights"},
        {"hcom_allGather__7", 40, 60, 5, "Reducing gradients"},
        {"hcom_allGather__7", 0, 60, 5, "Communication inside layers"},
        {"hcom_allGather__7", 30, 80, 5, "Communication inside layers"},
        {"hcom_allGather__7", 31, 80, 5, "Reducing gradients"},
        {"hcom_reduceScatter__7", 0, 20, 5, "Communication inside layers"},
        {"hcom_reduceScatter__7", 30, 80, 5, "Communication inside layers"},
        {"hcom_reduceScatter__7", 31, 80, 5, "Reducing gradients"},
        {"hcom_allReduce__7", 31, 80, 5, "Reducing gradients"},
        {"hcom_broadcast__7", 31, 80, 5, "Communication inside layers"},
        {"hcom_broadcast__7", 0, 20, 1, "Communication inside layers"},
        {"hcom_alltoall__7", 31, 80, 5, "Token exchange between experts"},
        {"ALL_TO_ALL", 0, 20, 5, "Token exchange between experts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make_run(&m, 1);
        for (int s = 0; s < N_STEPS; s++)
            for (int k = 0; k < cases[i].n; k++)
                add_collective(&m, 0, cases[i].name, s,
                               cases[i].n > 1 ? cases[i].from_ms + (cases[i].to_ms - cases[i].from_ms) * k / 4
                                              : cases[i].from_ms,
                               3, 2);
        ek_diagnosis d = diagnose(&m);
        const ek_bottleneck *b = find(&d, "exposed-communication");
        assert_non_null(b);
        if (strncmp(b->title, cases[i].title, strlen(cases[i].title)) != 0)
            fail_msg("case %zu is '%s', not '%s'", i, b->title, cases[i].title);
        assert_close_to(b->cost_seconds * 1e3, 2 * cases[i].n, 1e-9);
        ek_diagnosis_clear(&d);
    }
}

/* Weights are hidden by the forward passes, except for one bucket of as many as there are layers, or as there are
 * calls; within layers one half is hidden by the other. */
static void weights_hide_behind_forward_passes_and_layers_behind_a_half(void **state)
{
    ek_trace_layer layer[4];
    made m;
    (void)state;
    for (int i = 0; i < 4; i++)
        layer[i] = (ek_trace_layer){.role = EK_TRACE_BODY,
                                    .forward = {.n = 1, .busy_median = 3 * MS},
                                    .backward = {.n = 1, .busy_median = 10 * MS}};
    make_run(&m, 1);
    m.rank[0].layers = (ek_trace_layers){.n = 4, .layer = layer};
    for (int s = 0; s < N_STEPS; s++)
        add_collective(&m, 0, "hcom_allGather__7", s, 10, 24, 20);
    check_gain(&m, "exposed-communication", 12); /* of 20 - 24 / 4 = 14 the four forward passes hide 4 * 3 */
    for (int i = 0; i < 4; i++)
        layer[i].forward.busy_median = 4 * MS;
    check_gain(&m, "exposed-communication", 14);
    layer[3].role = EK_TRACE_HEAD; /* three layers, three buckets; the head computes as well */
    check_gain(&m, "exposed-communication", 12);
    for (int s = 0; s < N_STEPS; s++)
        for (int k = 0; k < 5; k++) /* now six calls a step, so as many buckets */
            add_collective(&m, 0, "hcom_allGather__7", s, 40, 0, 0);
    check_gain(&m, "exposed-communication", 16);

    make_run(&m, 1); /* no layers are known: a third of the computing is forward, of one micro-batch */
    m.rank[0].mean.computing = 24 * MS;
    for (int s = 0; s < N_STEPS; s++)
        for (int k = 0; k < 2; k++)
            add_collective(&m, 0, "hcom_allGather__7", s, 10 + 20 * k, 10, 10);
    check_gain(&m, "exposed-communication", 8);
    m.rank[0].mean.computing = 36 * MS; /* of two calls one stays */
    check_gain(&m, "exposed-communication", 10);

    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++)
        for (int k = 0; k < 5; k++)
            add_collective(&m, 0, "hcom_broadcast__7", s, 10 + 10 * k, 4, 4);
    check_gain(&m, "exposed-communication", 10);
    m.rank[0].mean.computing = 12 * MS; /* no more than there is to compute beside it */
    check_gain(&m, "exposed-communication", 6);
}

/* The cost of recomputation is that of the rank which recomputes most, the first of those; without a job it is unknown
 * whether it is needed. An index after the last rank is no rank. */
static void recomputation_costs_what_the_rank_with_most_of_it_does(void **state)
{
    static const struct {
        int ms[4], rank;
    } cases[] = {{{5, 9, 7, 20}, 1}, {{9, 5, 7, 20}, 0}, {{5, 7, 9, 20}, 2}, {{5, 9, 9, 20}, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make_run(&m, 3);
        m.rank[3] = m.rank[2];
        for (int r = 0; r < 4; r++)
            m.rank[r].recompute =
                (ek_trace_recompute){.n_regions = 1, .recompute = {.busy = cases[i].ms[r] * N_STEPS * MS}};
        ek_diagnosis d = diagnose(&m);
        const ek_bottleneck *b = find(&d, "recompute");
        assert_non_null(b);
        assert_close_to(b->cost_seconds * 1e3, 9, 1e-9);
        assert_true(isnan(b->gain_seconds));
        assert_int_equal(b->n_evidence, 1);
        assert_int_equal(b->evidence[0].rank, cases[i].rank);
        ek_diagnosis_clear(&d);
    }
    made m;
    make_run(&m, 2);
    for (int r = 0; r < 2; r++) /* below one per cent of the step */
        m.rank[r].recompute = (ek_trace_recompute){.n_regions = 1, .recompute = {.busy = 999 * N_STEPS * (MS / 1000)}};
    ek_diagnosis d = diagnose(&m);
    assert_null(find(&d, "recompute"));
    ek_diagnosis_clear(&d);
}

/* Gaps before a step's first kernel lie in no step that is measured on the device. */
static void nothing_costs_more_than_a_step_is_idle(void **state)
{
    (void)state;
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++)
        m.gap[0][m.rank[0].dispatch.n_gaps++] =
            (ek_trace_host_gap){s * 100 * (int64_t)MS, (s * 100 + 60) * (int64_t)MS, "dispatch"};
    check_gain(&m, "host", 10); /* it computes for 90 of 100 ms */
}

static void settings_are_those_of_the_device(void **state)
{
    (void)state;
    static const struct {
        ek_producer producer;
        const char *has, *has_not;
    } cases[] = {{EK_PRODUCER_TORCH_NPU, "TASK_QUEUE_ENABLE", "torch.compile"},
                 {EK_PRODUCER_KINETO, "torch.compile", "TASK_QUEUE_ENABLE"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make_run(&m, 1);
        m.rank[0].producer = cases[i].producer;
        for (int s = 0; s < N_STEPS; s++)
            m.gap[0][m.rank[0].dispatch.n_gaps++] =
                (ek_trace_host_gap){s * 100 * (int64_t)MS, (s * 100 + 60) * (int64_t)MS, "dispatch"};
        ek_diagnosis d = diagnose(&m);
        const ek_bottleneck *b = find(&d, "host");
        assert_non_null(b);
        assert_non_null(strstr(b->setting, cases[i].has));
        assert_null(strstr(b->setting, cases[i].has_not));
        ek_diagnosis_clear(&d);
    }
}

/* All gathers of the graph are redistributions, and so are those of the trace, that are not at its ends: 4 ms of each
 * step at 20 and at 80 ms. */
typedef struct redistributed {
    ek_ir *ir;
    ek_ir_report report;
    made m;
} redistributed;

static void make_redistributed(redistributed *x)
{
    ek_error err = {0};
    if (ek_ir_read(source_path("tests/data/ir_check/redistribution.ir"), NULL, NULL, &x->ir, &err) ||
        ek_ir_check(x->ir, NULL, &x->report, &err))
        fail_msg("%s", err.message);
    make_run(&x->m, 1);
    x->m.rank[0].producer = EK_PRODUCER_MINDSPORE;
    for (int s = 0; s < N_STEPS; s++) {
        add_collective(&x->m, 0, "hcom_allGather__7_0_1", s, 20, 6, 4);
        add_collective(&x->m, 0, "hcom_allGather__7_1_1", s, 80, 4, 4);
    }
}

static void clear_redistributed(redistributed *x)
{
    ek_ir_report_clear(&x->report);
    ek_ir_free(x->ir);
}

static void redistribution_costs_what_the_trace_shows_of_its_kind(void **state)
{
    (void)state;
    redistributed x;
    make_redistributed(&x);
    const ek_ir_report *reports[] = {&x.report};
    const ek_run_input input = {.trace = &x.m.run, .ir = reports, .n_ir = 1};
    ek_diagnosis d;
    ek_error err = {0};
    if (ek_diagnose(&input, NULL, &d, &err))
        fail_msg("%s", err.message);
    const ek_bottleneck *b = find(&d, "redistribution");
    assert_non_null(b);
    assert_string_equal(b->title, "Tensors are redistributed between operators: 8.00 ms of a step, 8.0 %.");
    assert_close_to(b->cost_seconds, 0.008, 1e-12);
    assert_close_to(b->gain_seconds, 0.008, 1e-12);
    assert_true(b->n_evidence >= 3);
    assert_non_null(strstr(b->evidence[b->n_evidence - 2].text, "the graph has 3 redistribution collectives"));
    assert_string_equal(b->evidence[b->n_evidence - 1].text,
                        "Rank 0 (stage 0): 8.00 ms of a step in such collectives, not overlapped with computing");
    ek_diagnosis_clear(&d);
    clear_redistributed(&x);
}

/* ---- replay ---- */

/* Rank 0 works 60 ms, sends and works on to the end; rank 1 waits for it and then works as long. A loss of rank 0
 * before its send is a loss of the step; a loss of either rank after that, or of rank 1 before its receive, costs
 * nothing. */
static void a_loss_that_is_waited_out_costs_nothing(void **state)
{
    (void)state;
    made m;
    ek__replay *replay;
    ek_error err = {0};
    make_run(&m, 2);
    for (int s = 0; s < N_STEPS; s++) {
        add_collective(&m, 0, "hcom_send__7_0_1", s, 59, 1, 0);
        add_collective(&m, 1, "hcom_receive__7_0_1", s, 20, 40, 40);
    }
    assert_int_equal(ek__replay_new(&m.run, &replay, &err), EK_OK);
    assert_int_equal(ek__replay_steps(replay), N_STEPS);
    assert_close_to(ek__replay_error(replay), 0, 1e-12);
    static const struct {
        int rank;
        double at_ms, gain_ms;
    } cases[] = {{1, 5, 0}, {1, 70, 0}, {0, 70, 0}, {0, 5, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__loss loss[N_STEPS];
        for (int s = 0; s < N_STEPS; s++)
            loss[s] = (ek__loss){cases[i].rank, (int64_t)((s * 100 + cases[i].at_ms) * MS), 10 * MS};
        ek__change change = {.loss = loss, .n_losses = N_STEPS};
        double gain = NAN;
        assert_int_equal(ek__replay_gain(replay, &change, &gain, &err), EK_OK);
        assert_close_to(gain / MS, cases[i].gain_ms, 1e-9);
    }
    ek__loss both[2 * N_STEPS];
    for (int s = 0; s < N_STEPS; s++) {
        both[2 * s] = (ek__loss){0, (s * 100 + 5) * (int64_t)MS, 10 * MS};
        both[2 * s + 1] = (ek__loss){0, (s * 100 + 70) * (int64_t)MS, 5 * MS};
    }
    ek__change change = {.loss = both, .n_losses = 2 * N_STEPS};
    double gain = NAN;
    assert_int_equal(ek__replay_gain(replay, &change, &gain, &err), EK_OK);
    assert_close_to(gain / MS, 10, 1e-9); /* rank 1 gets its input 10 ms earlier, rank 0 ends 15 ms earlier */
    ek__replay_free(replay);
}

/* Three collectives a step, of which the first and the last are alike. At the first one rank 0 waits for rank 1, at the
 * last one rank 1 for rank 0, 10 ms each: a loss of the late rank before it is a loss of the step, and no other loss
 * counts.
 */
static void alike_collectives_of_a_step_are_told_apart(void **state)
{
    (void)state;
    made m;
    ek__replay *replay;
    ek_error err = {0};
    make_run(&m, 2);
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < N_STEPS; s++) {
            double waits_first = r == 0 ? 10 : 0, waits_last = r == 1 ? 10 : 0;
            add_collective(&m, r, "hcom_allReduce__7_0_1", s, 20 - waits_first, 2 + waits_first, 2 + waits_first);
            add_collective(&m, r, "hcom_allGather__7_0_1", s, 40, 2, 2);
            add_collective(&m, r, "hcom_allReduce__7_0_1", s, 80 - waits_last, 2 + waits_last, 2 + waits_last);
        }
    for (int r = 0; r < 2; r++) {
        add_collective(&m, r, "hcom_allReduce__7_0_1", N_STEPS, 10, 2, 2);
        m.collective[r][3 * N_STEPS].step = -1;
    }
    assert_int_equal(ek__replay_new(&m.run, &replay, &err), EK_OK);
    assert_close_to(ek__replay_error(replay), 0, 1e-12);
    static const struct {
        int rank;
        double at_ms, gain_ms;
    } cases[] = {{1, 5, 10}, {0, 3, 0}, {0, 60, 10}, {1, 60, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__loss loss[N_STEPS];
        for (int s = 0; s < N_STEPS; s++)
            loss[s] = (ek__loss){cases[i].rank, (int64_t)((s * 100 + cases[i].at_ms) * MS), 10 * MS};
        ek__change change = {.loss = loss, .n_losses = N_STEPS};
        double gain = NAN;
        assert_int_equal(ek__replay_gain(replay, &change, &gain, &err), EK_OK);
        assert_close_to(gain / MS, cases[i].gain_ms, 1e-9);
    }
    /* Time that is no wait is transfer; outside of steps nothing is known. */
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 3 * N_STEPS; i++)
            assert_close_to(ek__replay_transfer(replay, r, i), 2 * MS, 1e-9);
        assert_true(isnan(ek__replay_transfer(replay, r, 3 * N_STEPS)));
    }
    ek__replay_free(replay);
}

/* ---- a whole diagnosis ---- */

static void make_mixed(made *m)
{
    make_run(m, 2);
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < N_STEPS; s++) {
            m->step[r][s].data_loading_idle = 5 * MS;
            add_collective(m, r, "hcom_allReduce__7_0_1", s, 80, 20, 20);
            m->gap[r][m->rank[r].dispatch.n_gaps++] =
                (ek_trace_host_gap){(s * 100 + 30) * (int64_t)MS, (s * 100 + 38) * (int64_t)MS, "synchronization"};
        }
}

static void findings_are_ranked_by_gain_and_the_same_every_time(void **state)
{
    (void)state;
    made m;
    make_mixed(&m);
    ek_diagnosis a = diagnose(&m), b = diagnose(&m);
    assert_true(a.n_bottlenecks >= 3);
    assert_int_equal(a.n_bottlenecks, b.n_bottlenecks);
    for (int i = 0; i < a.n_bottlenecks; i++) {
        assert_string_equal(a.bottleneck[i].title, b.bottleneck[i].title);
        assert_true(i == 0 || isnan(a.bottleneck[i].gain_seconds) ||
                    a.bottleneck[i].gain_seconds <= a.bottleneck[i - 1].gain_seconds);
    }
    ek_diagnosis_clear(&a);
    ek_diagnosis_clear(&b);
}

/* By topic, and within one by their titles. */
static void equal_gains_stand_in_the_order_of_their_topics(void **state)
{
    (void)state;
    static const char *const cause[] = {"dispatch", "compilation", "garbage_collection", "synchronization"};
    static const char *const title[] = {"The device waits for data", "Launching operators takes longer",
                                        "Operators are compiled", "Python garbage collection", "The host synchronizes"};
    made m;
    make_run(&m, 1);
    for (int s = 0; s < N_STEPS; s++) {
        m.step[0][s].data_loading_idle = 2 * MS;
        for (int i = 0; i < 4; i++) {
            int64_t at = (s * 100 + 20 * i + 10) * (int64_t)MS;
            m.gap[0][m.rank[0].dispatch.n_gaps++] = (ek_trace_host_gap){at, at + 2 * MS, cause[i]};
        }
    }
    ek_diagnosis d = diagnose(&m);
    assert_int_equal(d.n_bottlenecks, 5);
    for (int i = 0; i < 5; i++) {
        assert_true(d.bottleneck[i].gain_seconds == 0.002);
        assert_int_equal(d.bottleneck[i].topic, i == 0 ? EK_TOPIC_INPUT : EK_TOPIC_HOST);
        assert_memory_equal(d.bottleneck[i].title, title[i], strlen(title[i]));
    }
    ek_diagnosis_clear(&d);
}

static void nothing_given_is_refused_and_what_is_missing_is_told(void **state)
{
    (void)state;
    ek_diagnosis d = {.n_bottlenecks = 77};
    ek_error err = {0};
    const ek_run_input nothing = {0};
    assert_int_equal(ek_diagnose(&nothing, NULL, &d, &err), EK_ERR_INPUT);
    assert_int_equal(d.n_bottlenecks, 77);
    ek_train_log_step step[] = {{.seconds = 10, .data_seconds = 0.5}, {.seconds = 10, .data_seconds = 0.5}};
    const ek_train_log log = {.n = 2, .step = step};
    const ek_run_input input = {.log = &log};
    assert_int_equal(ek_diagnose(&input, NULL, &d, &err), EK_OK);
    assert_close_to(d.step_seconds, 10, 1e-12);
    assert_string_equal(d.bottleneck[0].id, "data-loading");
    assert_close_to(d.bottleneck[0].gain_share, 0.05, 1e-12);
    assert_string_equal(d.bottleneck[0].title, "The data loader takes 500.00 ms of a step.");
    assert_string_equal(d.bottleneck[0].evidence[0].text, "median of 2 steps of the log: 500.00 ms in the data loader");
    assert_true(d.n_not_looked_at >= 6);
    ek_diagnosis_clear(&d);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    made m;
    make_mixed(&m);
    const ek_run_input input = {.trace = &m.run};
    for (int once = 0; once < 2; once++) {
        ek_status status = EK_ERR_MEMORY;
        int n = 0;
        for (; status == EK_ERR_MEMORY; n++) {
            ek_diagnosis d = {.n_bottlenecks = 77};
            ek_error err = {0};
            allocations_left = n;
            only_one = once;
            one_failed = false;
            status = ek_diagnose(&input, NULL, &d, &err);
            allocations_left = -1;
            assert_int_equal(status, one_failed ? EK_ERR_MEMORY : EK_OK);
            if (status == EK_OK)
                ek_diagnosis_clear(&d);
            else
                assert_int_equal(d.n_bottlenecks, 77);
        }
        assert_true(n > 20);
    }
    only_one = false;
}

/* Each of the first allocations fails, then one of so many. The search does without some. */
static void fail_once(const ek_run_input *input)
{
    const ek_diagnose_options options = {.least_share = 0.01, .seconds = 0.05, .n_threads = 1};
    int n_told = 0, n_tried = 0;
    ek_diagnosis whole;
    assert_int_equal(ek_diagnose(input, &options, &whole, NULL), EK_OK);
    one_failed = true;
    for (int n = 0; one_failed; n += 1 + n / 100, n_tried++) {
        ek_diagnosis d;
        ek_error err = {0};
        allocations_left = n;
        only_one = true;
        one_failed = false;
        ek_status status = ek_diagnose(input, &options, &d, &err);
        allocations_left = -1;
        assert_true(status == EK_OK || (one_failed && status == EK_ERR_MEMORY));
        n_told += status != EK_OK;
        if (status) {
            assert_string_equal(err.message, "out of memory");
            continue;
        }
        assert_true(d.step_seconds == whole.step_seconds);
        assert_int_equal(d.n_not_looked_at, whole.n_not_looked_at);
        if (input->n_ir > 0) /* nothing is searched for */
            assert_int_equal(d.n_bottlenecks, whole.n_bottlenecks);
        ek_diagnosis_clear(&d);
    }
    ek_diagnosis_clear(&whole);
    only_one = false;
    print_message("# %d of %d are told\n", n_told, n_tried);
    assert_true(n_told > 20);
}

static ek_trace_pass pass(double ms)
{
    return (ek_trace_pass){.n = 8, .wall_median = 1e6 * ms, .busy_median = 1e6 * ms};
}

/* A pipeline with measured layers: five on the first stage and three on the second. The search does not need some of
 * the data. */
static void a_failed_allocation_of_a_measured_pipeline_is_told(void **state)
{
    (void)state;
    made m;
    ek_trace_layer layer[8];
    const ek_run_input input = {.trace = &m.run};
    make_run(&m, 2);
    m.run.topology.pipeline = 2;
    for (int i = 0; i < 8; i++)
        layer[i] = (ek_trace_layer){.name = "layer",
                                    .kind = "layer",
                                    .index = i,
                                    .role = EK_TRACE_BODY,
                                    .n_instances = 8,
                                    .forward = pass(2),
                                    .backward = pass(4)};
    for (int r = 0; r < 2; r++) {
        m.rank[r].stage = r;
        m.rank[r].layers = (ek_trace_layers){
            .n = r ? 3 : 5, .layer = layer + 5 * r, .n_micro_batches = 8, .n_steps = 1, .source = "made up"};
    }
    ek_diagnosis d = diagnose(&m);
    assert_non_null(find(&d, "load-balance"));
    ek_diagnosis_clear(&d);
    fail_once(&input);
}

static void a_failed_allocation_of_a_graph_beside_a_trace_is_told(void **state)
{
    (void)state;
    redistributed x;
    make_redistributed(&x);
    const ek_ir_report *reports[] = {&x.report};
    fail_once(&(ek_run_input){.trace = &x.m.run, .ir = reports, .n_ir = 1});
    clear_redistributed(&x);
}

/* Of settings only. */
static void a_failed_allocation_of_a_prediction_is_told(void **state)
{
    (void)state;
    ek_job job;
    ek_error err = {0};
    if (ek_job_read(source_path("tests/data/job/llama.yaml"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    const ek_run_input input = {.job = &job, .device = ek_device_find("910B")};
    fail_once(&input);
    ek_job_clear(&job);
}

/* Of the predictions that plans are checked with; every so many, since a search makes thousands. */
static void a_failed_allocation_of_a_search_is_reported(void **state)
{
    (void)state;
    ek_job job;
    ek_layers layers;
    ek_error err = {0};
    enum { STEP = 23 };
    static ek_mitigation list[EK_MAX_MEASURES];
    if (ek_job_read(source_path("tests/data/job/llama.yaml"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_memory_to_layers(&job, ek_device_find("910B"), &layers, &err), EK_OK);
    ek_memory memory;
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
    job.limit_mb = 0.9 * (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
    ek_memory_clear(&memory);
    for (int search = 0; search < 2; search++) {
        ek_status status = EK_ERR_MEMORY;
        for (int n = 0; status; n += STEP) {
            const ek_job_change change = {.plan = &job.plan};
            ek_plan plan = {0};
            double peak_mb;
            int n_measures;
            allocations_left = n;
            status = search ? ek_memory_measures_to_fit(&job, NULL, list, &n_measures, &err)
                            : ek_memory_least_recompute(&job, &change, &layers, job.limit_mb, &plan, &peak_mb, &err);
            bool failed = allocations_left == 0;
            allocations_left = -1;
            assert_int_equal(status, failed ? EK_ERR_MEMORY : EK_OK);
            assert_true(!failed || !plan.layers);
            ek_plan_clear(&plan);
        }
    }
    ek_layers_clear(&layers);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_losses_has_no_finding),
        cmocka_unit_test(waits_for_data_count_in_full_and_not_below_one_per_cent),
        cmocka_unit_test(slow_executions_count_from_their_median),
        cmocka_unit_test(of_slow_executions_four_kinds_are_shown),
        cmocka_unit_test(a_gap_of_the_host_goes_to_its_cause_and_waits_for_data_to_none),
        cmocka_unit_test(gradients_hide_but_for_a_bucket),
        cmocka_unit_test(waiting_is_no_gain),
        cmocka_unit_test(receives_are_no_exposed_communication),
        cmocka_unit_test(a_wait_for_a_slow_rank_is_that_ranks_and_no_communication),
        cmocka_unit_test(a_wait_counts_in_one_step_where_windows_overlap),
        cmocka_unit_test(steps_of_tables_do_not_thin_out_what_events_show),
        cmocka_unit_test(reductions_too_few_for_layers_are_of_gradients),
        cmocka_unit_test(reductions_fewer_than_four_a_layer_are_of_gradients),
        cmocka_unit_test(the_use_of_a_collective_follows_from_its_kind_and_place),
        cmocka_unit_test(weights_hide_behind_forward_passes_and_layers_behind_a_half),
        cmocka_unit_test(recomputation_costs_what_the_rank_with_most_of_it_does),
        cmocka_unit_test(nothing_costs_more_than_a_step_is_idle),
        cmocka_unit_test(settings_are_those_of_the_device),
        cmocka_unit_test(redistribution_costs_what_the_trace_shows_of_its_kind),
        cmocka_unit_test(a_loss_that_is_waited_out_costs_nothing),
        cmocka_unit_test(alike_collectives_of_a_step_are_told_apart),
        cmocka_unit_test(findings_are_ranked_by_gain_and_the_same_every_time),
        cmocka_unit_test(equal_gains_stand_in_the_order_of_their_topics),
        cmocka_unit_test(nothing_given_is_refused_and_what_is_missing_is_told),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_failed_allocation_of_a_measured_pipeline_is_told),
        cmocka_unit_test(a_failed_allocation_of_a_graph_beside_a_trace_is_told),
        cmocka_unit_test(a_failed_allocation_of_a_prediction_is_told),
        cmocka_unit_test(a_failed_allocation_of_a_search_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
