/* Tests the analyses of a rank's events and of several ranks on traces made by hand: closed forms where the answer can
 * be computed by hand, ticks of a small axis counted one by one where it cannot. */
#include "assert_close.h"
#include "input.h"

#include <math.h>

#include "base/random.h"
#include "trace/compare/dixon.h"
#include "trace/events/device.h"
#include "trace/events/outliers.h"
#include "trace/rank.h"

/* ---- traces made by hand ---- */

enum { MAX_EVENTS = 4096, MAX_TEXTS = 256, MAX_TRACKS = 8, AXIS = 400 };

typedef struct made {
    ek__trace trace;
    ek__event event[MAX_EVENTS];
    ek__event sorted[EK__N_EVENT_KINDS][MAX_EVENTS];
    int n;
    const char *name[MAX_TEXTS];
    ek__track track[MAX_TRACKS];
    ek_trace_rank rank;
} made;
static made world;
static const ek_trace_options defaults;

static made *make(ek_producer producer)
{
    static const char *const pids[] = {"0", "0", "2", "2"}, *const tids[] = {"7", "9", "100", "101"};
    made *m = &world;
    if (m->rank.pool)
        ek__pool_free(m->rank.pool);
    ek__launches_free(m->trace.launches);
    memset(m, 0, sizeof *m);
    m->name[0] = "";
    m->trace.n_names = 1;
    m->trace.name = m->name;
    m->trace.producer = producer;
    m->trace.rank = EK_TRACE_NO_RANK;
    m->trace.track = m->track;
    m->trace.n_tracks = 4;
    for (int t = 0; t < 4; t++)
        m->track[t] = (ek__track){.pid = pids[t], .tid = tids[t]};
    m->rank = (ek_trace_rank){.rank = EK_TRACE_NO_RANK, .stage = -1, .producer = producer};
    m->rank.pool = m->trace.pool = ek__pool_new();
    assert_non_null(m->rank.pool);
    return m;
}

static uint32_t text(made *m, const char *name)
{
    for (uint32_t i = 0; i < m->trace.n_names; i++)
        if (strcmp(m->name[i], name) == 0)
            return i;
    assert_true(m->trace.n_names < MAX_TEXTS);
    m->name[m->trace.n_names] = name;
    return m->trace.n_names++;
}

static ek__event *add(made *m, ek__event_kind kind, const char *name, int64_t start, int64_t duration)
{
    assert_true(m->n < MAX_EVENTS);
    ek__event *e = &m->event[m->n++];
    *e = (ek__event){.start = start, .duration = duration, .name = text(m, name), .kind = (uint8_t)kind};
    if (kind == EK__EVENT_KERNEL && m->trace.producer != EK_PRODUCER_KINETO)
        e->core = EK__CORE_AI_CORE;
    m->trace.counts.n_items++;
    return e;
}

static void step_mark(made *m, const char *name, int64_t start, int64_t duration)
{
    ek__event *e = add(m, EK__EVENT_STEP, "ProfilerStep", start, duration);
    e->detail = text(m, name);
}

/* Kineto: a device event and the call that launched it. */
static ek__event *launched(made *m, ek__event_kind kind, const char *name, int64_t at, int64_t start, int64_t duration)
{
    uint32_t link = (uint32_t)m->n + 1;
    ek__event *launch = add(m, EK__EVENT_LAUNCH, "cudaLaunchKernel", at, 1);
    launch->link = link;
    launch->track = 2;
    ek__event *e = add(m, kind, name, start, duration);
    e->link = link;
    return e;
}

/* Ascend: an arrow from the host to (track, start). */
static void arrow(made *m, ek__flow flow, int64_t id, int64_t from, int64_t to, uint16_t track)
{
    for (uint32_t end = 0; end < 2; end++) {
        ek__event *e = add(m, EK__EVENT_FLOW, "", end ? to : from, id);
        e->name = (uint32_t)flow;
        e->detail = end;
        e->track = end ? track : 2;
    }
}

static int in_order(const void *a, const void *b)
{
    const ek__event *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->duration < y->duration) - (x->duration > y->duration);
}

static ek_trace_rank *analyse(made *m, const ek_trace_options *options)
{
    static ek__analysis *const analyses[] = {ek__analyse_steps,       ek__analyse_breakdown,    ek__analyse_idle,
                                             ek__analyse_dispatch,    ek__analyse_data_loading, ek__analyse_operators,
                                             ek__analyse_collectives, ek__analyse_recompute};
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++) {
        size_t n = 0;
        for (int i = 0; i < m->n; i++)
            if (m->event[i].kind == kind)
                m->sorted[kind][n++] = m->event[i];
        qsort(m->sorted[kind], n, sizeof(ek__event), in_order);
        m->trace.of[kind] = (ek__slice){m->sorted[kind], n};
    }
    ek__launches_free(m->trace.launches);
    assert_int_equal(ek__launches_make(&m->trace, NULL), EK_OK);
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        ek_error err;
        assert_int_equal(analyses[i](&m->trace, options, &m->rank, &err), EK_OK);
    }
    return &m->rank;
}

static bool has_note(const ek_trace_rank *rank, const char *part)
{
    for (int i = 0; i < rank->n_notes; i++)
        if (strstr(rank->note[i], part))
            return true;
    return false;
}

static uint64_t random_state = 88172645463325252u;

static int random_below(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 20) % (uint64_t)n);
}

/* ---- breakdown ---- */

/* Ticks in which each of three sets is active, and the counts from them. */
typedef struct ticks {
    bool computing[AXIS], communication[AXIS], copy[AXIS];
    int64_t n, first, last; /* first start and last end */
} ticks;

static void mark(ticks *t, bool *set, int64_t start, int64_t duration)
{
    for (int64_t i = start; i < start + duration; i++)
        set[i] = true;
    t->first = t->n == 0 || start < t->first ? start : t->first;
    t->last = t->n == 0 || start + duration > t->last ? start + duration : t->last;
    t->n++;
}

static void assert_counts(const ticks *t, const ek_trace_breakdown *b)
{
    int64_t computing = 0, communication = 0, exposed = 0, copy = 0, exposed_copy = 0, busy = 0;
    for (int i = 0; i < AXIS; i++) {
        bool c = t->computing[i], m = t->communication[i], y = t->copy[i];
        computing += c;
        communication += m;
        exposed += m && !c;
        copy += y;
        exposed_copy += y && !c && !m;
        busy += c || m || y;
    }
    assert_int_equal(b->n_events, t->n);
    assert_int_equal(b->computing, computing);
    assert_int_equal(b->communication, communication);
    assert_int_equal(b->communication_not_overlapped, exposed);
    assert_int_equal(b->overlapped, communication - exposed);
    assert_int_equal(b->copy, copy);
    assert_int_equal(b->copy_not_overlapped, exposed_copy);
    assert_int_equal(b->busy, busy);
    assert_int_equal(b->total, t->n ? t->last - t->first : 0);
    assert_int_equal(b->free, (t->n ? t->last - t->first : 0) - busy);
}

static void kineto_breakdowns_are_what_ticks_say(void **state)
{
    (void)state;
    static const ek__event_kind kinds[] = {EK__EVENT_KERNEL, EK__EVENT_SET, EK__EVENT_COLLECTIVE, EK__EVENT_COPY};
    for (int round = 0; round < 300; round++) {
        made *m = make(EK_PRODUCER_KINETO);
        ticks all = {0}, linked = {0}, of_step[3] = {0};
        int64_t n_outside = 0;
        for (int s = 0; s < 3; s++)
            step_mark(m, s == 0 ? "7" : s == 1 ? "8" : "9", 20 + 100 * s, 90);
        int n = 1 + random_below(60);
        for (int i = 0; i < n; i++) {
            ek__event_kind kind = kinds[random_below(4)];
            int64_t at = random_below(330), start = random_below(AXIS - 40), duration = random_below(40);
            bool link = random_below(4) > 0;
            if (link)
                launched(m, kind, "k", at, start, duration);
            else
                add(m, kind, "k", start, duration);
            int64_t time = link ? at : start;
            int step = time >= 20 && time < 320 && (time - 20) % 100 < 90 ? (int)(time - 20) / 100 : -1;
            n_outside += step < 0;
            ticks *const to[] = {&all, link ? &linked : NULL, step < 0 ? NULL : &of_step[step]};
            for (int k = 0; k < 3; k++)
                if (to[k])
                    mark(to[k],
                         kind == EK__EVENT_COLLECTIVE ? to[k]->communication
                         : kind == EK__EVENT_COPY     ? to[k]->copy
                                                      : to[k]->computing,
                         start, duration);
        }
        const ek_trace_rank *r = analyse(m, &defaults);
        assert_counts(&all, &r->device);
        assert_counts(&linked, &r->device_linked);
        assert_int_equal(r->n_steps, 3);
        for (int s = 0; s < 3; s++)
            assert_counts(&of_step[s], &r->step[s].own);
        assert_int_equal(r->n_outside_steps, n_outside);
        assert_true(has_note(r, "outside every step") == (n_outside > 0));
    }
}

/* MindSpore: two steps side by side; kernels 10..30 and 50..60, a collective 20..55 and a receive 60..70. */
static void mindspore_steps_follow_both_definitions(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_MINDSPORE);
    step_mark(m, "0", 0, 80);
    step_mark(m, "1", 100, 50);
    add(m, EK__EVENT_KERNEL, "Default/a/MatMul-op1", 10, 20);
    add(m, EK__EVENT_KERNEL, "Gradients/Default/a/MatMul-op2", 50, 10);
    add(m, EK__EVENT_KERNEL, "aclnnFooAicpuKernel", 95, 3)->core = EK__CORE_AI_CPU;
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__586_0_1", 20, 35);
    add(m, EK__EVENT_COLLECTIVE, "hcom_receive__700_0_1", 60, 10);
    add(m, EK__EVENT_COLLECTIVE, "hcom_send__700_0_1", 65, 5);
    add(m, EK__EVENT_COLLECTIVE, "hcom_receive__700_0_1", 110, 10); /* of the next step */
    add(m, EK__EVENT_KERNEL, "Default/a/MatMul-op1", 115, 20);
    add(m, EK__EVENT_COPY, "MEMCPY_ASYNC", 5, 2);
    add(m, EK__EVENT_TASK, "EVENT_WAIT", 2, 70);
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 2);
    const ek_trace_step *s = &r->step[0];
    assert_string_equal(s->name, "0");
    assert_string_equal(s->source, "raw_events");
    assert_int_equal(s->own.computing, 30);
    assert_int_equal(s->own.communication, 45);
    assert_int_equal(s->own.overlapped, 15);
    assert_int_equal(s->own.communication_not_overlapped, 30);
    assert_int_equal(s->own.total, 60);
    assert_int_equal(s->own.free, 0);
    assert_int_equal(s->own.copy, 2);
    assert_int_equal(s->span, 60);
    assert_int_equal(s->n_receives, 1);
    assert_int_equal(s->receive, 10);
    assert_int_equal(s->receive_exposed, 10);
    assert_int_equal(s->pipeline_wait, 10);
    assert_int_equal(s->own_stage, 50);
    assert_int_equal(s->n_sends, 1);
    assert_int_equal(s->send, 5);
    assert_string_equal(s->producer_definition, "mindspore");
    assert_int_equal(s->bubble, 15);          /* receive and send */
    assert_int_equal(s->stage, 65 - 20 - 15); /* starts of the last and the first collective */
    assert_int_equal(s->exclude_receive, 30 - 15);
    assert_int_equal(s->preparing, 10);
    assert_int_equal(s->scope_default_busy, 20);
    assert_int_equal(s->scope_gradients_busy, 10);
    assert_int_equal(r->step[1].receive_exposed, 5);
    assert_int_equal(r->step[1].own.free, 0);
    assert_int_equal(r->n_outside_steps, 1); /* the one that belongs to communication */
    assert_int_equal(r->device.n_events, 9);
}

static void the_overlap_layer_counts_where_it_is_there(void **state)
{
    (void)state;
    for (int raw = 0; raw < 2; raw++) {
        made *m = make(EK_PRODUCER_TORCH_NPU);
        step_mark(m, "50", 0, 100);
        add(m, EK__EVENT_KERNEL, "a", 20, 10);
        add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__1_0_1", 25, 10);
        add(m, EK__EVENT_KERNEL, "b", 40, 10);
        arrow(m, EK__FLOW_ASYNC_NPU, INT64_MAX - 1, 5, 20, 0);
        arrow(m, EK__FLOW_ASYNC_NPU, INT64_MAX, 6, 40, 0);
        add(m, EK__EVENT_COMPUTING, "", 20, 11);
        add(m, EK__EVENT_COMPUTING, "", 40, 10);
        add(m, EK__EVENT_COMMUNICATION, "", 25, 10);
        add(m, EK__EVENT_NOT_OVERLAPPED, "", 31, 4);
        add(m, EK__EVENT_FREE, "", 35, 5);
        add(m, EK__EVENT_FREE, "", 50, 8);
        const ek_trace_options options = {.from_raw_events = raw};
        const ek_trace_step *s = &analyse(m, &options)->step[0];
        assert_string_equal(s->source, raw ? "raw_events" : "overlap_layer");
        assert_int_equal(s->own.computing, raw ? 20 : 21);
        assert_int_equal(s->own.communication, 10);
        assert_int_equal(s->own.communication_not_overlapped, raw ? 5 : 4);
        assert_int_equal(s->own.overlapped, raw ? 5 : 6);
        assert_int_equal(s->own.free, raw ? 5 : 13);
        assert_int_equal(s->raw.computing, 20);
        assert_int_equal(s->raw.free, 5);
        assert_int_equal(s->stage, raw ? 30 : 38);
        assert_int_equal(s->producer_free, raw ? EK_TRACE_UNKNOWN : 13);
        assert_int_equal(s->bubble, 0);
        assert_int_equal(s->preparing, 20);
        assert_int_equal(s->table_stage, EK_TRACE_UNKNOWN);
    }
}

/* ---- steps ---- */

/* The device lags the host: step 1's work runs while the host is in step 2. */
static void torch_windows_follow_the_arrows(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_TORCH_NPU);
    step_mark(m, "2", 100, 100);
    step_mark(m, "1", 0, 100);
    add(m, EK__EVENT_KERNEL, "early", 10, 5);
    add(m, EK__EVENT_KERNEL, "a", 50, 10);
    add(m, EK__EVENT_KERNEL, "b", 120, 30)->track = 1;
    add(m, EK__EVENT_KERNEL, "c", 130, 10);
    add(m, EK__EVENT_KERNEL, "d", 210, 30);
    arrow(m, EK__FLOW_ASYNC_NPU, 1, 10, 50, 0);
    arrow(m, EK__FLOW_ASYNC_NPU, 2, 90, 120, 1);
    arrow(m, EK__FLOW_ASYNC_NPU, 3, 101, 130, 0);
    arrow(m, EK__FLOW_ASYNC_NPU, 4, 199, 210, 0);
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 2);
    assert_string_equal(r->step[0].name, "1");
    assert_int_equal(r->step[0].start, 50);
    assert_int_equal(r->step[0].end, 150); /* the last task launched in it, after the host's end */
    assert_int_equal(r->step[1].start, 130);
    assert_int_equal(r->step[1].end, 240);
    assert_int_equal(r->step[0].own.computing, 40);
    assert_int_equal(r->step[1].own.computing, 40); /* starts at 130: the step that began last */
    assert_int_equal(r->n_outside_steps, 1);
}

static void without_marks_all_is_one_step(void **state)
{
    (void)state;
    for (int producer = EK_PRODUCER_UNKNOWN; producer < EK_N_PRODUCERS; producer++) {
        made *m = make((ek_producer)producer);
        add(m, EK__EVENT_KERNEL, "a", 10, 20);
        add(m, EK__EVENT_KERNEL, "b", 40, 20);
        const ek_trace_rank *r = analyse(m, &defaults);
        assert_int_equal(r->n_steps, 1);
        assert_string_equal(r->step[0].name, "");
        assert_int_equal(r->step[0].own.computing, 40);
        assert_int_equal(r->n_outside_steps, 0);
        assert_int_equal(r->mean.computing, 40);
        assert_true(has_note(r, "one step"));
    }
}

static void repeated_operators_are_steps(void **state)
{
    (void)state;
    static const char *const layer[] = {"norm", "matmul", "flash", "matmul2"};
    made *m = make(EK_PRODUCER_MSPROF);
    int64_t time = 1000;
    add(m, EK__EVENT_KERNEL, "init", 0, 10);
    for (int s = 0; s < 4; s++) {
        for (int l = 0; l < 3; l++)
            for (int k = 0; k < 4; k++, time += 20)
                add(m, EK__EVENT_KERNEL, layer[k], time, 10);
        add(m, EK__EVENT_KERNEL, "FusedAdam", time, 10);
        time += 100;
    }
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 4);
    for (int s = 0; s < 4; s++) {
        assert_int_equal(r->step[s].start, 1000 + s * 340);
        assert_int_equal(r->step[s].own.computing, 130);
        assert_int_equal(r->step[s].own.n_events, 13);
    }
    assert_int_equal(r->n_outside_steps, 1);
    assert_true(has_note(r, "found by 13 repeated operators"));

    m = make(EK_PRODUCER_MSPROF);
    for (int i = 0; i < 200; i++)
        add(m, EK__EVENT_KERNEL, random_below(2) ? "a" : "b", 10 * i, 5);
    r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 1);
}

static void warm_up_is_found_told_and_left_out(void **state)
{
    (void)state;
    static const struct {
        int n, drop;
        int64_t length[5];
        int n_warm;
        int64_t mean;
        const char *note;
    } cases[] = {
        {3, 0, {30, 20, 20}, 1, 20, "warm-up"},
        {3, 0, {21, 20, 20}, 0, 20, NULL},
        {2, 0, {30, 20}, 0, 25, "may be warm-up"},
        {4, 0, {60, 40, 20, 20}, 2, 20, "the first 2 of 4"},
        {4, 0, {30, 20, 40, 20}, 0, 27, NULL}, /* a later one is longer: no warm-up */
        {3, -1, {30, 20, 20}, 0, 23, NULL},
        {3, 2, {20, 20, 23}, 2, 23, "as requested"},
        {3, 9, {20, 20, 20}, 3, EK_TRACE_UNKNOWN, "as requested"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static const char *const names[] = {"0", "1", "2", "3", "4"};
        made *m = make(EK_PRODUCER_MINDSPORE);
        for (int i = 0; i < cases[c].n; i++) {
            step_mark(m, names[i], 100 * i, 100);
            add(m, EK__EVENT_KERNEL, "a", 100 * i, cases[c].length[i]);
        }
        const ek_trace_options options = {.drop_first_steps = cases[c].drop};
        const ek_trace_rank *r = analyse(m, &options);
        int n_warm = 0;
        for (int i = 0; i < r->n_steps; i++)
            n_warm += r->step[i].warm_up;
        assert_int_equal(n_warm, cases[c].n_warm);
        assert_int_equal(r->mean.computing, cases[c].mean);
        assert_true(!cases[c].note || has_note(r, cases[c].note));
        assert_true(cases[c].note || !has_note(r, "warm-up"));
    }
}

static void push_table_step(made *m, const char *name, int64_t computing, int64_t stage)
{
    ek_trace_step step = ek__step_of_events();
    step.name = name;
    step.from_table = true;
    step.own.computing = computing;
    step.table_stage = stage;
    step.source = "step_trace_time";
    m->rank.step = ek__pool_push(m->rank.pool, m->rank.step, m->rank.n_steps, sizeof step);
    m->rank.step[m->rank.n_steps++] = step;
}

static void steps_of_tables_are_merged_by_name(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_TORCH_NPU);
    push_table_step(m, "51", 70, 77);
    push_table_step(m, "50", 71, 78);
    step_mark(m, "50", 0, 100);
    add(m, EK__EVENT_KERNEL, "a", 10, 20);
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 2);
    assert_string_equal(r->step[0].name, "50");
    assert_false(r->step[0].from_table);
    assert_int_equal(r->step[0].own.computing, 20);
    assert_int_equal(r->step[0].table_stage, 78);
    assert_true(r->step[1].from_table);
    assert_int_equal(r->step[1].own.computing, 70);
    assert_int_equal(r->mean.computing, 20);
    assert_true(has_note(r, "no arrow"));

    m = make(EK_PRODUCER_MINDSPORE); /* warm-up is looked for among steps of events */
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"1", "2", "3"};
        step_mark(m, names[i], 100 * i, 100);
        add(m, EK__EVENT_KERNEL, "a", 100 * i, i == 0 ? 60 : 20);
        push_table_step(m, i == 0 ? "7" : i == 1 ? "8" : "9", 900, 1);
    }
    r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 6);
    assert_true(r->step[0].warm_up);
    assert_false(r->step[1].warm_up);
    assert_int_equal(r->mean.computing, 20);

    m = make(EK_PRODUCER_TORCH_NPU); /* one row without a name is the one step */
    push_table_step(m, "", 71, 78);
    step_mark(m, "50", 0, 100);
    add(m, EK__EVENT_KERNEL, "a", 10, 20);
    r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 1);
    assert_string_equal(r->step[0].name, "50");
    assert_int_equal(r->step[0].table_stage, 78);

    m = make(EK_PRODUCER_TORCH_NPU); /* host events only: the table is all there is */
    push_table_step(m, "50", 71, 78);
    step_mark(m, "50", 0, 100);
    r = analyse(m, &defaults);
    assert_int_equal(r->n_steps, 1);
    assert_true(r->step[0].from_table);
    assert_int_equal(r->step[0].own.computing, 71);
    assert_int_equal(r->step[0].host_step, 100);
    assert_int_equal(r->mean.computing, 71);
}

static void no_device_events_are_told(void **state)
{
    (void)state;
    static ek_trace_category categories[] = {{"cpu_op", 5}, {"mtia_ccp_events", 3}};
    made *m = make(EK_PRODUCER_KINETO);
    step_mark(m, "1", 0, 10);
    m->trace.counts.n_categories = 2;
    m->trace.counts.category = categories;
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_false(r->has_device_events);
    assert_int_equal(r->device.n_events, 0);
    assert_true(has_note(r, "no device events"));
    assert_true(has_note(r, "3 events of the category 'mtia_ccp_events'"));
    assert_false(has_note(r, "cpu_op"));
    r = analyse(make(EK_PRODUCER_UNKNOWN), &defaults); /* nothing at all */
    assert_int_equal(r->n_steps, 0);
    assert_int_equal(r->n_notes, 0);
}

static void the_same_mark_twice_is_one_step(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_KINETO);
    step_mark(m, "5", 0, 10);
    step_mark(m, "5", 0, 10);
    step_mark(m, "5", 50, 10); /* again later: another one */
    assert_int_equal(analyse(m, &defaults)->n_steps, 2);
}

/* ---- names ---- */

static void names_of_other_stages_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool receive, send, torch, mindspore;
    } cases[] = {
        {"hcom_receive__586_0_1", true, false, true, true},
        {"hcom_send__586_0_1", false, true, false, true},
        {"hcom_batchSendRecv__586_0_1", true, false, false, true}, /* also X SendRecv__N of the list */
        {"hcom_batchSendRecv_x", true, false, false, false},
        {"hcom_xSendRecv__7", true, false, false, true},
        {"hcom_SendRecv__7", false, false, false, false},
        {"hcom_a-bSendRecv__7", false, false, false, false},
        {"hcom_xSendRecv__", false, false, false, false},
        {"hcom_receive_x", false, false, true, false},
        {"Receive-op12", true, false, false, true},
        {"Send-op12", false, true, false, true},
        {"hcom_allReduce__586_0_1", false, false, false, false},
        {"hcom_", false, false, false, false},
        {"", false, false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ek__is_receive(&defaults, cases[i].name), cases[i].receive);
        assert_int_equal(ek__is_send(&defaults, cases[i].name), cases[i].send);
        assert_int_equal(ek__is_producer_bubble(EK_PRODUCER_TORCH_NPU, cases[i].name), cases[i].torch);
        assert_int_equal(ek__is_producer_bubble(EK_PRODUCER_MINDSPORE, cases[i].name), cases[i].mindspore);
    }
    static const char *const own[] = {"recv_", "Send-op"};
    const ek_trace_options options = {.n_receives = 2, .receive = own};
    assert_true(ek__is_receive(&options, "recv_1"));
    assert_false(ek__is_receive(&options, "hcom_receive__586_0_1"));
    assert_true(ek__is_receive(&options, "Send-op3"));
    assert_false(ek__is_send(&options, "Send-op3"));
}

/* ---- idle time ---- */

static void gaps_are_told_apart_by_launches(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_TORCH_NPU);
    add(m, EK__EVENT_KERNEL, "a", 10, 10);
    add(m, EK__EVENT_KERNEL, "b", 30, 10); /* launched at 25: the host was late by the gap 20..30 */
    add(m, EK__EVENT_COPY, "copy", 42, 4); /* a copy lies in a gap */
    add(m, EK__EVENT_KERNEL, "c", 50, 10); /* launched at 5: something else */
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__1_0_1", 70, 5); /* no arrow */
    add(m, EK__EVENT_KERNEL, "d", 75, 5);                         /* touches: no gap */
    add(m, EK__EVENT_KERNEL, "e", 90, 5);                         /* two arrows: the earlier counts */
    arrow(m, EK__FLOW_HOST_TO_DEVICE, 7, 1, 10, 0);
    arrow(m, EK__FLOW_HOST_TO_DEVICE, -3, 25, 30, 0);
    arrow(m, EK__FLOW_HOST_TO_DEVICE, INT64_MIN, 5, 50, 0);
    arrow(m, EK__FLOW_HOST_TO_DEVICE, 9, 85, 90, 0);
    arrow(m, EK__FLOW_HOST_TO_DEVICE, 10, 80, 90, 0);
    arrow(m, EK__FLOW_ASYNC_NPU, 11, 99, 75, 0); /* of another class */
    const ek_trace_rank *r = analyse(m, &defaults);
    const ek_trace_idle *idle = &r->idle;
    assert_int_equal(idle->n_tasks, 5);
    assert_int_equal(idle->n_linked_tasks, 4);
    assert_int_equal(idle->n_intervals, 4);
    assert_int_equal(idle->n_host_bound, 1);
    assert_int_equal(idle->host_bound, 10);
    assert_int_equal(idle->n_device_bound, 2); /* launched exactly when the gap began, too */
    assert_int_equal(idle->device_bound, 20);
    assert_int_equal(idle->n_unlinked, 1);
    assert_int_equal(idle->unlinked, 10);
    assert_int_equal(r->step[0].host_bound, 10);
    assert_int_equal(r->step[0].device_bound, 20);
}

static void streams_idle_as_hta_says(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_KINETO);
    launched(m, EK__EVENT_KERNEL, "a", 0, 1000, 1000);
    launched(m, EK__EVENT_KERNEL, "b", 5, 1500, 100);   /* inside: no gap */
    launched(m, EK__EVENT_KERNEL, "c", 6, 2029, 71);    /* 29 ns: the kernel's own */
    launched(m, EK__EVENT_COPY, "d", 7, 2130, 100);     /* 30 ns: other */
    launched(m, EK__EVENT_SET, "e", 2231, 3000, 10);    /* launched after the last end */
    launched(m, EK__EVENT_KERNEL, "f", 3010, 4000, 10); /* exactly at it: not after */
    add(m, EK__EVENT_KERNEL, "g", 5000, 10);            /* no launch */
    launched(m, EK__EVENT_KERNEL, "h", 0, 1, 10)->track = 1;
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->idle.n_streams, 2);
    const ek_trace_stream_idle *s = &r->idle.stream[0];
    assert_string_equal(s->pid, "0");
    assert_string_equal(s->tid, "7");
    assert_int_equal(s->n_events, 7);
    assert_int_equal(s->n_kernel_wait, 1);
    assert_int_equal(s->kernel_wait, 29);
    assert_int_equal(s->n_host_wait, 1);
    assert_int_equal(s->host_wait, 3000 - 2230);
    assert_int_equal(s->n_other, 3);
    assert_int_equal(s->other, 30 + 990 + 990);
    assert_int_equal(s->n_no_launch, 1);
    assert_int_equal(r->idle.stream[1].n_events, 1);
}

static void the_host_is_blamed_for_what_it_did(void **state)
{
    (void)state;
    static const struct {
        int64_t late, n_compile, n_synchronize;
        const char *cause;
        ek__event_kind during;
        bool bound;
    } cases[] = {
        {9, 0, 0, "none", EK__EVENT_DATA, false}, /* 9 of 100 */
        {20, 0, 0, "dispatch", EK__EVENT_FLOW, true},
        {20, 0, 0, "data_loading", EK__EVENT_DATA, true},
        {20, 0, 0, "garbage_collection", EK__EVENT_GC, true},
        {20, 0, 3, "synchronization", EK__EVENT_SYNC, true},
        {20, 20, 0, "compilation", EK__EVENT_GC, true},
        {20, 19, 0, "dispatch", EK__EVENT_FLOW, true},
        {20, 0, 6, "synchronization", EK__EVENT_FLOW, true}, /* after most of 10 launches */
        {20, 0, 5, "dispatch", EK__EVENT_FLOW, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        made *m = make(EK_PRODUCER_TORCH_NPU);
        step_mark(m, "1", 0, 100);
        add(m, EK__EVENT_KERNEL, "a", 10, 10);
        add(m, EK__EVENT_KERNEL, "b", 20 + cases[c].late, 10);
        arrow(m, EK__FLOW_ASYNC_NPU, 1, 1, 10, 0);
        arrow(m, EK__FLOW_HOST_TO_DEVICE, 1, 1, 10, 0);
        arrow(m, EK__FLOW_HOST_TO_DEVICE, 2, 21, 20 + cases[c].late, 0);
        if (cases[c].during != EK__EVENT_FLOW)
            add(m, cases[c].during, "host", 15, 15);
        m->trace.n_node_launch = 10;
        m->trace.n_compile = cases[c].n_compile;
        m->trace.n_synchronize = cases[c].n_synchronize;
        const ek_trace_dispatch *d = &analyse(m, &defaults)->dispatch;
        assert_int_equal(d->host_bound, cases[c].late);
        assert_int_equal(d->step_time, 100);
        assert_float_equal(d->share, (double)cases[c].late / 100, 1e-12);
        assert_int_equal(d->is_host_bound, cases[c].bound);
        assert_string_equal(d->cause, cases[c].cause);
        assert_int_equal(d->n_node_launch, 10);
    }
}

static void data_loading_counts_where_the_device_was_idle(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_KINETO);
    step_mark(m, "1", 0, 100);
    step_mark(m, "2", 100, 100);
    add(m, EK__EVENT_DATA, "b.__next__", 10, 20);
    add(m, EK__EVENT_DATA, "a.__next__", 110, 30);
    add(m, EK__EVENT_DATA, "b.__next__", 120, 10); /* inside the other */
    add(m, EK__EVENT_DATA, "b.__next__", 500, 7);  /* outside every step */
    launched(m, EK__EVENT_KERNEL, "k", 5, 15, 5);
    launched(m, EK__EVENT_COPY, "k", 105, 135, 50);
    const ek_trace_rank *r = analyse(m, &defaults);
    assert_int_equal(r->data.n_iterators, 2);
    assert_string_equal(r->data.iterator[0].name, "a.__next__");
    assert_int_equal(r->data.iterator[1].count, 3);
    assert_int_equal(r->data.iterator[1].total, 37);
    assert_int_equal(r->data.total, 67);
    assert_int_equal(r->step[0].data_loading, 20);
    assert_int_equal(r->step[0].data_loading_idle, 15);
    assert_int_equal(r->step[1].data_loading, 30);
    assert_int_equal(r->step[1].data_loading_idle, 25);
    assert_float_equal(r->data.share_of_host_step, 50.0 / 200, 1e-12);
}

/* Dense and scattered correlations, against a search through all launches. */
static void launches_are_found_by_correlation(void **state)
{
    (void)state;
    for (int scattered = 0; scattered < 2; scattered++)
        for (int round = 0; round < 50; round++) {
            made *m = make(EK_PRODUCER_KINETO);
            uint32_t base = scattered ? 0 : 1000000;
            for (int i = 0; i < 200; i++) {
                uint32_t number = (uint32_t)random_below(250);
                uint32_t link = scattered ? number * 16777619u : base + number;
                add(m, random_below(5) ? EK__EVENT_LAUNCH : EK__EVENT_SYNC, "call", i, 1)->link = link;
            }
            for (uint32_t i = 0; i < 300; i++)
                add(m, EK__EVENT_KERNEL, "k", 1000 + i, 1)->link = scattered ? i * 16777619u : base - 20 + i;
            analyse(m, &defaults);
            for (size_t k = 0; k < m->trace.of[EK__EVENT_KERNEL].n; k++) {
                const ek__event *kernel = &m->trace.of[EK__EVENT_KERNEL].event[k], *expected = NULL;
                for (int i = 0; i < m->n && kernel->link; i++)
                    if ((m->event[i].kind == EK__EVENT_LAUNCH || m->event[i].kind == EK__EVENT_SYNC) &&
                        m->event[i].link == kernel->link && (!expected || m->event[i].start < expected->start))
                        expected = &m->event[i];
                const ek__event *found = ek__launch_of(&m->trace, kernel);
                assert_true(!found == !expected);
                assert_true(!found || found->start == expected->start);
            }
        }
}

/* Of many, in any order, those stay that lost the most; of equal ones the earlier, then by name. */
static void the_worst_executions_are_kept(void **state)
{
    (void)state;
    enum { N = 8 * EK_TRACE_MAX_NAMES };
    static ek_trace_outlier all[N];
    static char names[N][16];
    for (int seed = 1; seed <= 20; seed++) {
        ek__outliers outliers = {0};
        ek_trace_operators ops = {0};
        ek__random random = ek__random_seed((uint64_t)seed);
        ek__pool *pool = ek__pool_new();
        int n = seed == 1 ? EK_TRACE_MAX_NAMES - 1 : N; /* or all that there are */
        for (int i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "op%d", i);
            all[i] = (ek_trace_outlier){.name = names[i],
                                        .expected = (int64_t)(1000 * ek__random_unit(&random)),
                                        .start = (int64_t)(3 * ek__random_unit(&random))};
            all[i].duration = all[i].expected + (int64_t)(200 * ek__random_unit(&random));
            ek__outliers_add(&outliers, &all[i]);
        }
        assert_int_equal(ek__outliers_keep(&outliers, pool, &ops, NULL), EK_OK);
        assert_int_equal(ops.n_outliers, n < EK_TRACE_MAX_NAMES ? n : EK_TRACE_MAX_NAMES);
        for (int i = 0; i < n; i++) {
            int rank = 0; /* how many are worse */
            for (int k = 0; k < n; k++) {
                int64_t more = all[k].duration - all[k].expected - all[i].duration + all[i].expected;
                int64_t before = all[i].start - all[k].start;
                rank += more > 0 || (more == 0 && (before > 0 || (before == 0 && strcmp(names[k], names[i]) < 0)));
            }
            if (rank < ops.n_outliers)
                assert_string_equal(ops.outlier[rank].name, names[i]);
        }
        ek__pool_free(pool);
    }
}

/* ---- operators, collectives, recomputation ---- */

static void operators_are_summed_by_kind(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_MINDSPORE);
    for (int i = 0; i < 60; i++)
        add(m, EK__EVENT_KERNEL, i % 2 ? "Default/0-Layer/MatMul-op1" : "Gradients/Default/MatMul-op2", 1000000 * i,
            100);
    add(m, EK__EVENT_KERNEL, "aclnnAdd_AddAiCore_Add", 70000000, 300)->core = EK__CORE_AI_VECTOR_CORE;
    add(m, EK__EVENT_KERNEL, "trans_TransData_12", 71000000, 6000)->core = EK__CORE_AI_VECTOR_CORE;
    add(m, EK__EVENT_KERNEL, "Default/0-Layer/MatMul-op1", 80000000, 400000);
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__1_0_1", 90000000, 999999);
    const ek_trace_operators *ops = &analyse(m, &defaults)->operators;
    assert_int_equal(ops->n, 3);
    assert_string_equal(ops->source, "events");
    assert_string_equal(ops->op[0].type, "MatMul");
    assert_string_equal(ops->op[0].core, "AI_CORE");
    assert_int_equal(ops->op[0].count, 61);
    assert_int_equal(ops->op[0].total, 406000);
    assert_int_equal(ops->op[0].min, 100);
    assert_int_equal(ops->op[0].max, 400000);
    assert_string_equal(ops->op[0].family, "matmul");
    assert_string_equal(ops->op[1].type, "TransData");
    assert_string_equal(ops->op[2].type, "Add");
    assert_float_equal(ops->op[2].ratio, 100.0 * 300 / 412300, 1e-9);
    assert_float_equal(ops->share_matmul, 406000.0 / 412300, 1e-9);
    assert_float_equal(ops->share_vector, 6300.0 / 412300, 1e-9);
    assert_int_equal(ops->n_cores, 2);
    assert_int_equal(ops->core[1].total, 6300);
    assert_int_equal(ops->n_outliers, 1);
    assert_int_equal(ops->outlier[0].start, 80000000);
    assert_int_equal(ops->outlier[0].expected, 100);
    assert_int_equal(ops->outlier[0].n_kind, 31);

    m = make(EK_PRODUCER_KINETO); /* by name, communication too; equal totals by name */
    launched(m, EK__EVENT_KERNEL, "gemm_b", 0, 0, 10);
    launched(m, EK__EVENT_KERNEL, "gemm_a", 0, 10, 4);
    launched(m, EK__EVENT_KERNEL, "gemm_a", 0, 20, 6);
    launched(m, EK__EVENT_COLLECTIVE, "ncclKernel_AllReduce(int)", 0, 30, 30);
    launched(m, EK__EVENT_COPY, "Memcpy HtoD", 0, 70, 99);
    launched(m, EK__EVENT_SET, "Memset", 0, 170, 99);
    ops = &analyse(m, &defaults)->operators;
    assert_int_equal(ops->n, 3);
    assert_int_equal(ops->n_executions, 4);
    assert_int_equal(ops->total, 50);
    assert_string_equal(ops->op[0].family, "communication");
    assert_string_equal(ops->op[1].name, "gemm_a");
    assert_float_equal(ops->op[1].average, 5, 1e-12);
    assert_string_equal(ops->op[2].name, "gemm_b");
    assert_float_equal(ops->share_matmul, 1, 1e-12);
}

static void families_end_at_a_kernels_parameters(void **state)
{
    (void)state;
    assert_string_equal(ek__kernel_family("void embedding(gemm_params)"), "other");
    assert_string_equal(ek__kernel_family("void at::(anonymous namespace)::SoftMaxForward(int)"), "vector");
    assert_string_equal(ek__kernel_family("FlashAttentionScore"), "attention");
    assert_string_equal(ek__kernel_family("ncclKernel_AllReduce(gemm)"), "communication");
    assert_string_equal(ek__kernel_family(""), "other");
}

static void collectives_are_ranked_by_what_they_cost(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_KINETO);
    step_mark(m, "1", 0, 50);
    launched(m, EK__EVENT_KERNEL, "k", 0, 0, 100);
    launched(m, EK__EVENT_COLLECTIVE, "nccl(a)", 1, 90, 30)->detail = text(m, "allreduce|BFloat16|1000|1000|2");
    launched(m, EK__EVENT_COLLECTIVE, "nccl(a)", 60, 200, 10)->detail = text(m, "allreduce|BFloat16|1000|1000|2");
    launched(m, EK__EVENT_COLLECTIVE, "nccl(b)", 2, 10, 80);
    const ek_trace_communication *c = &analyse(m, &defaults)->communication;
    assert_int_equal(c->n_collectives, 3);
    assert_int_equal(c->collective[0].start, 10);
    assert_int_equal(c->collective[0].exposed, 0);
    assert_int_equal(c->collective[0].step, 0);
    assert_int_equal(c->collective[1].exposed, 20);
    assert_int_equal(c->collective[2].step, -1);
    assert_int_equal(c->n_sums, 2);
    assert_string_equal(c->sum[0].key, "allreduce|BFloat16|1000|1000|2");
    assert_int_equal(c->sum[0].count, 2);
    assert_int_equal(c->sum[0].total, 40);
    assert_int_equal(c->sum[0].exposed, 30);
    assert_int_equal(c->sum[0].bytes, 2000);
    assert_float_equal(c->sum[0].bandwidth_gbps, 100, 1e-9);
    assert_string_equal(c->sum[1].key, "nccl");
    assert_true(isnan(c->sum[1].bandwidth_gbps));

    m = make(EK_PRODUCER_TORCH_NPU);
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__586_0_1", 0, 5)->detail = text(m, "Group 3 Communication");
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__586_1_1", 10, 5);
    add(m, EK__EVENT_COLLECTIVE, "hcom_allReduce__587_0_1", 20, 7);
    add(m, EK__EVENT_COLLECTIVE, "Default/AllReduce-op4", 40, 1);
    c = &analyse(m, &defaults)->communication;
    assert_int_equal(c->n_sums, 3);
    assert_string_equal(c->sum[0].key, "hcom_allReduce");
    assert_string_equal(c->sum[0].group, "586");
    assert_int_equal(c->sum[0].total, 10);
    assert_string_equal(c->sum[1].group, "587");
    assert_string_equal(c->sum[2].key, "Default/AllReduce");
    assert_null(c->sum[2].group);
}

static void recomputation_is_what_its_thread_launched(void **state)
{
    (void)state;
    made *m = make(EK_PRODUCER_KINETO);
    add(m, EK__EVENT_RECOMPUTE, "checkpoint.py(1): recompute_fn", 10, 10)->track = 2;
    add(m, EK__EVENT_RECOMPUTE, "checkpoint.py(1): recompute_fn", 30, 10)->track = 3;
    launched(m, EK__EVENT_KERNEL, "in", 10, 100, 10);
    launched(m, EK__EVENT_KERNEL, "behind", 20, 120, 10);
    launched(m, EK__EVENT_KERNEL, "other thread", 35, 140, 10);
    launched(m, EK__EVENT_SET, "set", 12, 160, 10);
    add(m, EK__EVENT_KERNEL, "no launch", 15, 10);
    const ek_trace_recompute *r = &analyse(m, &defaults)->recompute;
    assert_int_equal(r->n_regions, 2);
    assert_int_equal(r->recompute.n_events, 1);
    assert_int_equal(r->recompute.computing, 10);
    assert_int_equal(r->rest.n_events, 2);
    assert_int_equal(r->rest.total, 30);
    assert_int_equal(r->rest.free, 10);
}

/* ---- hostile numbers ---- */

static void the_largest_numbers_do_no_harm(void **state)
{
    (void)state;
    for (int producer = EK_PRODUCER_UNKNOWN; producer < EK_N_PRODUCERS; producer++) {
        made *m = make((ek_producer)producer);
        step_mark(m, "1", INT64_MIN / 4 + 1, INT64_MAX / 4 - 1);
        step_mark(m, "2", INT64_MAX / 4 - 1, INT64_MAX / 4 - 1);
        for (int i = 0; i < 20; i++) {
            static const ek__event_kind kinds[] = {EK__EVENT_KERNEL,        EK__EVENT_COLLECTIVE, EK__EVENT_COPY,
                                                   EK__EVENT_COMPUTING,     EK__EVENT_FREE,       EK__EVENT_DATA,
                                                   EK__EVENT_COMMUNICATION, EK__EVENT_RECOMPUTE,  EK__EVENT_TASK};
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                add(m, kinds[k], "hcom_receive__1_0", i % 2 ? INT64_MIN / 4 + 1 : INT64_MAX / 4 - 1, INT64_MAX / 4 - 1);
        }
        arrow(m, EK__FLOW_ASYNC_NPU, INT64_MAX, INT64_MIN / 4 + 1, INT64_MAX / 4 - 1, 0);
        arrow(m, EK__FLOW_HOST_TO_DEVICE, INT64_MIN, INT64_MAX / 4 - 1, INT64_MIN / 4 + 1, 0);
        const ek_trace_rank *r = analyse(m, &defaults);
        assert_int_equal(r->n_steps, 2);
    }
}

/* ---- several ranks ---- */

enum { MAX_RANKS = 130 };

static void make_run(ek_trace_run *run, int n)
{
    *run = (ek_trace_run){.n_ranks = n, .pool = ek__pool_new()};
    run->rank = ek__pool_alloc(run->pool, (size_t)n, sizeof *run->rank);
    for (int r = 0; r < n; r++)
        run->rank[r] = (ek_trace_rank){.rank = r, .stage = -1, .producer = EK_PRODUCER_TORCH_NPU};
}

static void add_collective(ek_trace_run *run, int rank, const char *group, const char *name, int64_t duration)
{
    ek_trace_communication *c = &run->rank[rank].communication;
    c->collective = ek__pool_push(run->pool, c->collective, c->n_collectives, sizeof *c->collective);
    c->collective[c->n_collectives] = (ek_trace_collective){
        .name = name, .group = group, .start = c->n_collectives, .duration = duration, .transit = EK_TRACE_UNKNOWN};
    c->n_collectives++;
}

static const ek_trace_vote *vote_of(const ek_trace_run *run, int rank)
{
    for (int i = 0; i < run->n_votes; i++)
        if (run->vote[i].rank == rank)
            return &run->vote[i];
    return NULL;
}

/* The 99.5 % values as Rorabacher prints them: the ratio changes at 8, 11 and 14. */
static void dixon_limits_are_the_table(void **state)
{
    (void)state;
    static const double to_25[] = {.994, .920, .823, .744, .680, .723, .676, .638, .707, .675, .649, .672,
                                   .649, .629, .611, .595, .580, .568, .556, .545, .536, .526, .519};
    static const double by_ten[] = {.484, .439, .409, .388, .372, .360, .350, .341};
    for (int n = 3; n <= 25; n++)
        assert_float_equal(ek__dixon_limit(n), to_25[n - 3], 1e-12);
    for (int n = 30; n <= 100; n += 10)
        assert_float_equal(ek__dixon_limit(n), by_ten[n / 10 - 3], 1e-12);
    for (int n = 4; n <= 100; n++) /* one ratio is the less telling the more there are */
        if (n != 8 && n != 11 && n != 14)
            assert_true(ek__dixon_limit(n) < ek__dixon_limit(n - 1));
    assert_float_equal(ek__dixon_limit(28), .519 - .035 * 3 / 5, 1e-12);
    assert_float_equal(ek__dixon_limit(64), .388 - .016 * 4 / 10, 1e-12);
    assert_true(isnan(ek__dixon_limit(2)) && isnan(ek__dixon_limit(101)));
}

/* Evenly spread durations and one that is short by `lead`: the ratio by the formula for every n. */
static void the_vote_follows_dixon_for_every_size(void **state)
{
    (void)state;
    for (int n = 4; n <= 100; n++)
        for (int lead = 1; lead < 4000; lead += 37) {
            int64_t duration[MAX_RANKS], sorted[MAX_RANKS], x[MAX_RANKS];
            bool vote[MAX_RANKS];
            for (int i = 0; i < n; i++)
                x[i] = i == 0 ? 10000 : 10000 + lead + 10 * i;
            int slow = (n * 7 + lead) % n; /* anywhere */
            for (int i = 0; i < n; i++)
                duration[(i + slow) % n] = x[i];
            double top = n <= 10 ? (double)(x[1] - x[0]) : (double)(x[2] - x[0]);
            double bottom = (double)(x[n <= 7 ? n - 1 : n <= 13 ? n - 2 : n - 3] - x[0]);
            int n_votes = ek__slow_votes(duration, n, sorted, vote);
            assert_int_equal(n_votes, top / bottom > ek__dixon_limit(n));
            assert_int_equal(vote[slow], n_votes);
        }
    int64_t few[] = {5, 5, 9, 9, 9, 100}, two[] = {1, 100}, scratch[6];
    bool vote[6];
    assert_int_equal(ek__slow_votes(few, 6, scratch, vote), 0); /* three distinct values */
    assert_int_equal(ek__slow_votes(two, 2, scratch, vote), 0);
}

static void many_ranks_vote_by_deviation(void **state)
{
    (void)state;
    int64_t duration[MAX_RANKS], sorted[MAX_RANKS];
    bool vote[MAX_RANKS];
    for (int i = 0; i < MAX_RANKS; i++)
        duration[i] = 1000 + i % 7;
    assert_int_equal(ek__slow_votes(duration, MAX_RANKS, sorted, vote), 0);
    duration[40] = 900; /* below three deviations */
    assert_int_equal(ek__slow_votes(duration, MAX_RANKS, sorted, vote), 1);
    assert_true(vote[40]);
    duration[40] = 999; /* the shortest, and one far above */
    duration[50] = 1200;
    assert_int_equal(ek__slow_votes(duration, MAX_RANKS, sorted, vote), 1);
    assert_true(vote[40]);
}

static void the_last_to_come_is_voted_slow(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    make_run(&run, 8);
    for (int r = 0; r < 8; r++) {
        add_collective(&run, r, "1", "hcom_allReduce__586_0_1", r == 3 ? 100 : 1000 + r);
        add_collective(&run, r, "1", "hcom_allReduce__586_1_1", r == 3 ? 100 : 1000 + r);
        for (int again = 0; again < 2; again++) /* no vote */
            add_collective(&run, r, "1", again ? "hcom_allReduce__586_0_1" : "hcom_allReduce__586_1_1", 1000 + 10 * r);
        for (int k = 0; k < 3; k++) /* one twice, one once, on every rank: left out */
            add_collective(&run, r, "8", k ? "hcom_allReduce__800_0_1" : "hcom_allReduce__800_1_1", r == 5 ? 1 : 1000);
        add_collective(&run, r, "2", "hcom_send__700_0_1", r == 5 ? 1 : 1000 + r); /* not compared */
        add_collective(&run, r, "2", "hcom_receive__700_0_1", r == 5 ? 1 : 1000 + r);
        for (int k = 0; k < 1 + (r == 6); k++) /* not equally many: left out */
            add_collective(&run, r, "9", "hcom_allGather__900_0_1", r == 5 ? 1 : 1000 + r);
    }
    assert_int_equal(ek__compare_slow_rank(&defaults, &run, &err), EK_OK);
    assert_int_equal(run.n_voted_operators, 4);
    assert_int_equal(run.vote[0].rank, 3);
    assert_int_equal(run.vote[0].n_votes, 2);
    assert_int_equal(run.vote[0].n_shortest, 2);
    assert_int_equal(vote_of(&run, 0)->n_votes, 0);
    assert_int_equal(vote_of(&run, 0)->n_shortest, 2);
    assert_int_equal(vote_of(&run, 5)->n_votes, 0);
    assert_int_equal(vote_of(&run, 5)->n_shortest, 0);
    assert_int_equal(vote_of(&run, 5)->n_compared, 4);
    ek__pool_free(run.pool);
}

static void groups_without_a_name_are_compared_when_they_are_all(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    make_run(&run, 5);
    for (int r = 0; r < 5; r++) {
        run.rank[r].producer = EK_PRODUCER_KINETO;
        add_collective(&run, r, NULL, "allreduce|Float|8|8|5", r == 2 ? 10 : 1000 + r);
        add_collective(&run, r, NULL, "allreduce|Float|8|8|2", r == 1 ? 10 : 1000 + r); /* of pairs of ranks */
        add_collective(&run, r, NULL, "ncclKernel_AllReduce", r == 1 ? 10 : 1000 + r);
    }
    assert_int_equal(ek__compare_slow_rank(&defaults, &run, &err), EK_OK);
    assert_int_equal(run.n_voted_operators, 1);
    assert_int_equal(run.vote[0].rank, 2);
    assert_int_equal(run.vote[0].n_votes, 1);
    ek__pool_free(run.pool);
}

static void set_mean(ek_trace_rank *rank, int stage, int64_t computing, int64_t exposed, int64_t idle)
{
    rank->stage = stage;
    rank->mean = (ek_trace_breakdown){.computing = computing, .communication_not_overlapped = exposed, .free = idle};
}

static void gaps_are_shares_of_the_mean_step(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    make_run(&run, 3);
    set_mean(&run.rank[0], -1, 100, 50, 50);
    set_mean(&run.rank[1], -1, 106, 44, 50);
    set_mean(&run.rank[2], -1, 112, 40, 48);
    assert_int_equal(ek__compare_stages(&defaults, &run, &err), EK_OK);
    assert_int_equal(ek__compare_slow_rank(&defaults, &run, &err), EK_OK);
    assert_int_equal(run.n_stages, 0);
    assert_true(isnan(run.stage_imbalance));
    assert_int_equal(run.n_gaps, 3);
    assert_float_equal(run.gap[0].gap, 12.0 / 200, 1e-12);
    assert_true(run.gap[0].flagged);
    assert_int_equal(run.gap[0].most, 2);
    assert_int_equal(run.gap[0].least, 0);
    assert_float_equal(run.gap[1].gap, 10.0 / 200, 1e-12);
    assert_false(run.gap[1].flagged); /* 5 % is not over 5 % */
    assert_float_equal(run.gap[2].gap, 2.0 / 200, 1e-12);
    ek__pool_free(run.pool);
}

static void stages_are_compared_by_their_means(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    make_run(&run, 4);
    static ek_trace_step steps[4][2];
    for (int r = 0; r < 4; r++) {
        for (int s = 0; s < 2; s++) {
            steps[r][s] = ek__step_of_events();
            steps[r][s].warm_up = s == 0;
            steps[r][s].host_step = s == 0 ? 9999 : 300 + 10 * r;
            steps[r][s].pipeline_wait = 20 * r;
        }
        run.rank[r].step = steps[r];
        run.rank[r].has_device_events = true;
        run.rank[r].n_steps = 2;
    }
    set_mean(&run.rank[0], -1, 100, 10, 10);
    set_mean(&run.rank[1], -1, 104, 10, 10);
    set_mean(&run.rank[2], -1, 200, 10, 10);
    set_mean(&run.rank[3], -1, 220, 10, 10);
    const ek_trace_options options = {.stages = 2};
    assert_int_equal(ek__compare_stages(&options, &run, &err), EK_OK);
    assert_int_equal(ek__compare_slow_rank(&options, &run, &err), EK_OK);
    assert_int_equal(run.n_stages, 2);
    assert_int_equal(run.stage[0].n_ranks, 2);
    assert_int_equal(run.stage[0].computing_mean, 102);
    assert_int_equal(run.stage[1].computing_mean, 210);
    assert_int_equal(run.stage[1].computing_max, 220);
    assert_int_equal(run.stage[1].pipeline_wait_mean, 50);
    assert_int_equal(run.stage[1].step_mean, 325);
    assert_float_equal(run.stage_imbalance, 210.0 / 102, 1e-12);
    assert_float_equal(run.gap[0].gap, 20.0 / 230, 1e-12); /* within stage 1, not 120 over all */
    assert_int_equal(run.gap[0].least, 2);
    run.rank[3].has_device_events = false; /* it has no value: the mean is the others' */
    assert_int_equal(ek__compare_stages(&options, &run, &err), EK_OK);
    assert_int_equal(run.stage[1].n_ranks, 2);
    assert_int_equal(run.stage[1].computing_mean, 200);
    assert_int_equal(run.stage[1].pipeline_wait_mean, 40);
    assert_float_equal(run.stage_imbalance, 200.0 / 102, 1e-12);
    run.rank[2].has_device_events = false;
    assert_int_equal(ek__compare_stages(&options, &run, &err), EK_OK);
    assert_int_equal(run.stage[1].computing_mean, EK_TRACE_UNKNOWN);
    assert_int_equal(run.stage[1].computing_max, EK_TRACE_UNKNOWN);
    assert_float_equal(run.stage_imbalance, 1, 1e-12);
    ek__pool_free(run.pool);

    make_run(&run, 4); /* from the groups: ranks 0 and 2 are one pipeline, 1 and 3 the other */
    static int pipelines[2][2] = {{0, 2}, {1, 3}}, data[] = {0, 1};
    static ek_trace_group groups[] = {{"dp", "b", 2, data}, {"pp", "a", 2, pipelines[0]}, {"pp", "c", 2, pipelines[1]}};
    run.topology = (ek_trace_topology){.known = true, .pipeline = 2, .n_groups = 3, .group = groups};
    run.rank[1].stage = 1; /* its own files contradict that */
    assert_int_equal(ek__compare_stages(&defaults, &run, &err), EK_OK);
    assert_int_equal(run.rank[0].stage, 0);
    assert_int_equal(run.rank[1].stage, 1);
    assert_int_equal(run.rank[2].stage, 1);
    assert_int_equal(run.rank[3].stage, 1);
    ek__pool_free(run.pool);
}

static void add_transfer(ek_trace_run *run, int rank, const char *group, const char *name, int64_t end,
                         int64_t duration)
{
    add_collective(run, rank, group, name, duration);
    run->rank[rank].communication.collective[run->rank[rank].communication.n_collectives - 1].start = end - duration;
}

static void transfers_are_paired_and_the_longer_side_waited(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    make_run(&run, 4);
    for (int step = 0; step < 3; step++) { /* the same names in every step */
        int64_t t = 1000 * step;
        add_transfer(&run, 0, "700", "hcom_send__700_0_1", t + 100, 5);
        add_transfer(&run, 1, "700", "hcom_receive__700_0_1", t + 101, 50);
        add_transfer(&run, 1, "700", "hcom_send__700_0_1", t + 300, 30);
        add_transfer(&run, 0, "700", "hcom_receive__700_0_1", t + 300, 7);
        /* another pipeline with a hash that ends in the same digits */
        add_transfer(&run, 2, "700", "hcom_send__700_0_1", t + 150, 4);
        add_transfer(&run, 3, "700", "hcom_receive__700_0_1", t + 150, 4);
    }
    add_transfer(&run, 2, "5", "hcom_batchSendRecv__5_0_1", 5000, 90);
    add_transfer(&run, 3, "5", "hcom_batchSendRecv__5_0_1", 5000, 40);
    add_transfer(&run, 3, "5", "hcom_send__5_9_1", 6000, 40); /* its other side is missing */
    add_transfer(&run, 3, "5", "hcom_allReduce__5_9_1", 7000, 40);
    assert_int_equal(ek__compare_pairs(&defaults, &run, &err), EK_OK);
    assert_int_equal(run.n_pairs, 4);
    assert_int_equal(run.n_unpaired, 1);
    static const ek_trace_pair expected[] = {{0, 1, "700", 3, 0, 135, 0, 1},
                                             {1, 0, "700", 3, 69, 0, 1, 0},
                                             {2, 3, "5", 1, 50, 0, 2, 3},
                                             {2, 3, "700", 3, 0, 0, 2, 3}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run.pair[i].from, expected[i].from);
        assert_int_equal(run.pair[i].to, expected[i].to);
        assert_int_equal(run.pair[i].from_at, expected[i].from_at);
        assert_int_equal(run.pair[i].to_at, expected[i].to_at);
        assert_string_equal(run.pair[i].group, expected[i].group);
        assert_int_equal(run.pair[i].n, expected[i].n);
        assert_int_equal(run.pair[i].from_wait, expected[i].from_wait);
        assert_int_equal(run.pair[i].to_wait, expected[i].to_wait);
    }
    /* The collectives of each transfer, by their place in the rank's list: those of a name in order of time. */
    static const ek_trace_transfer transfers[] = {{0, 0, 1, 0}, {0, 2, 1, 2}, {0, 4, 1, 4}, {1, 1, 0, 1}, {1, 3, 0, 3},
                                                  {1, 5, 0, 5}, {2, 0, 3, 0}, {2, 1, 3, 1}, {2, 2, 3, 2}, {2, 3, 3, 3}};
    assert_int_equal(run.n_transfers, 10);
    for (int i = 0; i < 10; i++) {
        int n = 0;
        for (int k = 0; k < 10; k++)
            n += memcmp(&run.transfer[k], &transfers[i], sizeof *transfers) == 0;
        assert_int_equal(n, 1);
    }
    ek__pool_free(run.pool);
}

/* Of four steps that count, three have the time that is not overlapped: 1000 less 200 received, 2000 less a bubble of
 * 600, 3000, together 5200 ns. Transfers took 4000 ns, so 1200 are waiting; a step has a fourth of each. */
static void tables_bound_what_exposed_transfers_take(void **state)
{
    (void)state;
    static const struct {
        bool warm_up;
        int64_t not_overlapped, received, bubble;
    } told[] = {{true, 9999, 1, 1},
                {false, 1000, 200, 300},
                {false, 2000, EK_TRACE_UNKNOWN, 600},
                {false, 3000, EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN},
                {false, EK_TRACE_UNKNOWN, 100, 100}};
    enum { N = sizeof told / sizeof *told };
    ek_trace_step steps[N] = {{0}};
    ek_trace_comm_sum sums[] = {{.p2p = true, .count = 7, .elapse_ms = 9, .transit_ms = 9},
                                {.count = 6, .elapse_ms = 0.008, .transit_ms = 0.004}};
    for (int i = 0; i < N; i++) {
        steps[i].start = steps[i].end = EK_TRACE_UNKNOWN;
        steps[i].warm_up = told[i].warm_up;
        steps[i].own.communication_not_overlapped = told[i].not_overlapped;
        steps[i].receive_exposed = told[i].received;
        steps[i].bubble = told[i].bubble;
    }
    ek_trace_rank rank = {.n_steps = N, .step = steps, .communication = {.n_comm_sums = 2, .comm_sum = sums}};
    ek__exposure e = ek__rank_exposure(&rank);
    assert_close_to(e.exposed, 1300, 1e-9);
    assert_close_to(e.transfer, 1000, 1e-9);
    assert_close_to(e.wait, 300, 1e-9);
    assert_close_to(e.unknown, 0, 1e-9);
    assert_close_to(e.total, 2000, 1e-9);
    assert_close_to(e.count, 1.5, 1e-9);
    rank.communication.n_comm_sums = 1;
    e = ek__rank_exposure(&rank);
    assert_close_to(e.exposed, 1300, 1e-9);
    assert_close_to(e.unknown, 1300, 1e-9);
    assert_close_to(e.transfer, 0, 1e-9);
    assert_close_to(e.wait, 0, 1e-9);
    assert_int_equal(ek__all_steps(&rank), N);
    assert_int_equal(ek__counted_steps(&rank), 4);
    rank.n_steps = 0;
    assert_int_equal(ek__all_steps(&rank), 1);
    assert_int_equal(ek__counted_steps(&rank), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto_breakdowns_are_what_ticks_say),
        cmocka_unit_test(mindspore_steps_follow_both_definitions),
        cmocka_unit_test(the_overlap_layer_counts_where_it_is_there),
        cmocka_unit_test(torch_windows_follow_the_arrows),
        cmocka_unit_test(without_marks_all_is_one_step),
        cmocka_unit_test(repeated_operators_are_steps),
        cmocka_unit_test(warm_up_is_found_told_and_left_out),
        cmocka_unit_test(steps_of_tables_are_merged_by_name),
        cmocka_unit_test(no_device_events_are_told),
        cmocka_unit_test(the_same_mark_twice_is_one_step),
        cmocka_unit_test(names_of_other_stages_are_known),
        cmocka_unit_test(gaps_are_told_apart_by_launches),
        cmocka_unit_test(streams_idle_as_hta_says),
        cmocka_unit_test(the_host_is_blamed_for_what_it_did),
        cmocka_unit_test(data_loading_counts_where_the_device_was_idle),
        cmocka_unit_test(launches_are_found_by_correlation),
        cmocka_unit_test(the_worst_executions_are_kept),
        cmocka_unit_test(operators_are_summed_by_kind),
        cmocka_unit_test(families_end_at_a_kernels_parameters),
        cmocka_unit_test(collectives_are_ranked_by_what_they_cost),
        cmocka_unit_test(recomputation_is_what_its_thread_launched),
        cmocka_unit_test(the_largest_numbers_do_no_harm),
        cmocka_unit_test(dixon_limits_are_the_table),
        cmocka_unit_test(the_vote_follows_dixon_for_every_size),
        cmocka_unit_test(many_ranks_vote_by_deviation),
        cmocka_unit_test(the_last_to_come_is_voted_slow),
        cmocka_unit_test(groups_without_a_name_are_compared_when_they_are_all),
        cmocka_unit_test(gaps_are_shares_of_the_mean_step),
        cmocka_unit_test(stages_are_compared_by_their_means),
        cmocka_unit_test(transfers_are_paired_and_the_longer_side_waited),
        cmocka_unit_test(tables_bound_what_exposed_transfers_take),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (world.rank.pool)
        ek__pool_free(world.rank.pool);
    ek__launches_free(world.trace.launches);
    return failed;
}
