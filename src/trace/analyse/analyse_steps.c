/* Finds the steps: from the host's marks, else from a period of the device's operators, else one unnamed step. The
 * device window of a step follows the producer: torch_npu from the first device task that the step's earliest enqueue
 * launched to the last task launched in it (or the mark's end), others the mark itself; for Kineto it is known only
 * when events have found their step by their launch, so the breakdown fills it. Steps of tables are merged in by
 * name. */
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/tables/tables.h"

static ek_status push_step(ek_trace_rank *rank, const ek_trace_step *step, ek_error *err)
{
    ek_trace_step *steps = ek__pool_push(rank->pool, rank->step, rank->n_steps, sizeof *steps);
    if (!steps)
        return ek__no_memory(err);
    rank->step = steps;
    rank->step[rank->n_steps++] = *step;
    return EK_OK;
}

/* ---- marks of the host ---- */

static int by_name_then_start(const void *a, const void *b)
{
    const ek__event *x = a, *y = b;
    if (x->detail != y->detail)
        return x->detail < y->detail ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_host_start(const void *a, const void *b)
{
    const ek_trace_step *x = a, *y = b;
    if (x->host_start != y->host_start)
        return x->host_start < y->host_start ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Marks of one name that overlap are one step: the same mark may occur twice. */
static ek_status steps_of_marks(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__slice marks = trace->of[EK__EVENT_STEP];
    ek__event *sorted = ek__alloc(marks.n, sizeof *sorted);
    ek_status status = sorted ? EK_OK : ek__no_memory(err);
    if (sorted && marks.n > 0)
        memcpy(sorted, marks.event, marks.n * sizeof *sorted);
    if (sorted)
        qsort(sorted, marks.n, sizeof *sorted, by_name_then_start);
    for (size_t i = 0; status == EK_OK && i < marks.n;) {
        const ek__event *first = &sorted[i];
        int64_t end = ek__event_end(first);
        for (i++; i < marks.n && sorted[i].detail == first->detail && sorted[i].start < end; i++)
            end = ek__event_end(&sorted[i]) > end ? ek__event_end(&sorted[i]) : end;
        const char *name = ek__trace_name(trace, first->detail);
        ek_trace_step step = ek__step_of_events();
        step.name = ek__pool_text(rank->pool, name, strlen(name));
        step.host_start = first->start;
        step.host_step = ek__ns_sub(end, first->start);
        status = step.name ? push_step(rank, &step, err) : ek__no_memory(err);
    }
    free(sorted);
    if (status == EK_OK && rank->n_steps > 1)
        qsort(rank->step, (size_t)rank->n_steps, sizeof *rank->step, by_host_start);
    return status;
}

/* ---- device windows ---- */

/* Device events that start at ascending times are searched from the position of the last one. */
typedef struct cursor {
    ek__slice slice;
    size_t at;
} cursor;

/* The first event at `time` or later: doubling steps from the cursor, from the beginning for an earlier time. */
static size_t move_to(cursor *c, int64_t time)
{
    size_t step = 1;
    if (c->at >= c->slice.n || c->slice.event[c->at].start > time)
        c->at = 0;
    while (c->at + step < c->slice.n && c->slice.event[c->at + step].start < time) {
        c->at += step;
        step *= 2;
    }
    ek__slice near = {c->slice.event + c->at, c->at + step < c->slice.n ? step + 1 : c->slice.n - c->at};
    return c->at += ek__slice_lower(near, time);
}

/* End of the device task that starts there; its start when there is none. */
static int64_t end_of_task(cursor *kinds, int n_kinds, const ek__task_launch *task)
{
    int64_t end = task->start;
    for (int kind = 0; kind < n_kinds; kind++) {
        ek__slice slice = kinds[kind].slice;
        for (size_t i = move_to(&kinds[kind], task->start); i < slice.n && slice.event[i].start == task->start; i++)
            if (slice.event[i].track == task->track && ek__event_end(&slice.event[i]) > end)
                end = ek__event_end(&slice.event[i]);
    }
    return end;
}

/* The device window of a step so far. */
typedef struct window {
    int64_t launch, start, end; /* launch: the earliest; its task begins the window */
    bool any;
} window;

static void extend(window *w, const ek__task_launch *task, int64_t end)
{
    if (!w->any || task->launch < w->launch || (task->launch == w->launch && task->start < w->start)) {
        w->launch = task->launch;
        w->start = task->start;
    }
    w->any = true;
    w->end = end > w->end ? end : w->end;
}

/* From the first task of the earliest launch in the step to the last end of a task launched in it, or of the step. */
static ek_status windows_of_launches(const ek__trace *trace, const ek__task_launches *launches, ek_trace_rank *rank,
                                     ek_error *err)
{
    enum { N_KINDS = EK__EVENT_TASK - EK__EVENT_KERNEL + 1 };
    cursor kinds[N_KINDS];
    ek__step_finder finder;
    window *windows = ek__alloc((size_t)rank->n_steps, sizeof *windows);
    if (!windows)
        return ek__no_memory(err);
    ek_status status = ek__step_finder_make_host(rank, &finder, err);
    for (int k = 0; k < N_KINDS; k++)
        kinds[k] = (cursor){trace->of[EK__EVENT_KERNEL + k], 0};
    for (size_t i = 0; status == EK_OK && i < launches->n; i++) {
        int at = ek__step_window_at(&finder, launches->at[i].launch, finder.n);
        int64_t end = at >= 0 ? end_of_task(kinds, N_KINDS, &launches->at[i]) : 0;
        for (; at >= 0; at = ek__step_window_at(&finder, launches->at[i].launch, at))
            extend(&windows[finder.window[at].step], &launches->at[i], end);
    }
    for (int i = 0; status == EK_OK && i < rank->n_steps; i++) {
        ek_trace_step *step = &rank->step[i];
        int64_t host_end = ek__ns_add(step->host_start, step->host_step);
        step->start = windows[i].any ? windows[i].start : step->host_start;
        step->end = windows[i].any && windows[i].end > host_end ? windows[i].end : host_end;
    }
    if (status == EK_OK)
        ek__step_finder_clear(&finder);
    free(windows);
    return status;
}

static ek_status windows_of_torch(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    const ek__task_launches *launches = ek__task_launches_of(trace, EK__FLOW_ASYNC_NPU);
    if (launches->n == 0)
        launches = ek__task_launches_of(trace, EK__FLOW_HOST_TO_DEVICE);
    ek_status status = windows_of_launches(trace, launches, rank, err);
    if (status != EK_OK || launches->n > 0)
        return status;
    return ek__rank_note(rank, err,
                         "no arrow from the host to a device task: the device windows of the steps are assumed equal "
                         "to those of the host");
}

static ek_status set_windows(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    if (trace->producer == EK_PRODUCER_TORCH_NPU)
        return windows_of_torch(trace, rank, err);
    for (int i = 0; i < rank->n_steps && trace->producer != EK_PRODUCER_KINETO; i++) {
        rank->step[i].start = rank->step[i].host_start;
        rank->step[i].end = ek__ns_add(rank->step[i].host_start, rank->step[i].host_step);
    }
    return EK_OK;
}

/* ---- without marks ---- */

/* First start and last end of device events; false when there are none. */
static bool extent_of(const ek__trace *trace, uint32_t kinds, int64_t *start, int64_t *end)
{
    bool any = false;
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++) {
        ek__slice slice = trace->of[kind];
        if (!(kinds & 1u << kind) || slice.n == 0)
            continue;
        if (!any || slice.event[0].start < *start)
            *start = slice.event[0].start;
        for (size_t i = 0; i < slice.n; i++)
            if ((!any && i == 0) || ek__event_end(&slice.event[i]) > *end)
                *end = ek__event_end(&slice.event[i]);
        any = true;
    }
    return any;
}

static ek_status steps_without_marks(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_step all = ek__step_of_events();
    uint32_t kinds = EK__WORK_KINDS | EK__KIND(TASK) | EK__KIND(COMPUTING) | EK__KIND(COMMUNICATION) | EK__KIND(FREE);
    if (!extent_of(trace, kinds, &all.start, &all.end))
        return EK_OK;
    ek_status status = EK_OK;
    /* torch_npu itself writes one step for a trace without marks. */
    if (trace->producer != EK_PRODUCER_TORCH_NPU)
        status = ek__steps_by_repetition(trace, rank, err);
    if (status != EK_OK || rank->n_steps > 0)
        return status;
    status = push_step(rank, &all, err);
    return status != EK_OK
               ? status
               : ek__rank_note(rank, err, "no step marks and no repeated operators: the whole trace is one step");
}

/* ---- steps of tables ---- */

/* The table's step for a step made from events; -1. One unnamed row and one step are the same. */
static int table_step_of(const ek_trace_step *table, int n_table, const bool *used, const ek_trace_step *step,
                         int n_steps)
{
    for (int i = 0; i < n_table; i++)
        if (!used[i] && strcmp(table[i].name, step->name) == 0)
            return i;
    bool alone = n_table == 1 && n_steps == 1 && !used[0];
    return alone && (table[0].name[0] == '\0' || step->name[0] == '\0') ? 0 : -1;
}

/* The values that only a table has, copied into a step made of events. Without device events only the table has
 * figures. */
static void merge_table_step(const ek_trace_step *table, bool has_events, ek_trace_step *step)
{
    if (!has_events) {
        ek_trace_step merged = *table;
        merged.name = step->name;
        merged.host_start = step->host_start;
        merged.host_step = step->host_step;
        *step = merged;
        return;
    }
    step->table_stage = table->table_stage;
    step->table_preparing = table->table_preparing;
    step->iteration_interval = table->iteration_interval;
    step->fp_and_bp = table->fp_and_bp;
    step->tail = table->tail;
    step->communication_alone = table->communication_alone;
    step->receive_alone = table->receive_alone;
    step->collective_alone = table->collective_alone;
}

static ek_status merge_tables(ek_trace_rank *rank, const ek_trace_step *table, int n_table, bool has_events,
                              ek_error *err)
{
    int n_steps = rank->n_steps;
    bool *used = ek__alloc((size_t)n_table, sizeof *used);
    if (!used)
        return ek__no_memory(err);
    for (int i = 0; i < n_steps; i++) {
        int at = table_step_of(table, n_table, used, &rank->step[i], n_steps);
        if (at >= 0) {
            used[at] = true;
            merge_table_step(&table[at], has_events, &rank->step[i]);
        }
    }
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < n_table; i++)
        if (!used[i])
            status = push_step(rank, &table[i], err);
    free(used);
    return status;
}

ek_status ek__analyse_steps(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank, ek_error *err)
{
    (void)options;
    const ek_trace_step *table = rank->step;
    int n_table = rank->n_steps;
    rank->step = NULL;
    rank->n_steps = 0;
    ek_status status = steps_of_marks(trace, rank, err);
    if (status == EK_OK && rank->n_steps > 0)
        status = set_windows(trace, rank, err);
    else if (status == EK_OK)
        status = steps_without_marks(trace, rank, err);
    bool has_events = false;
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++)
        has_events |= (EK__WORK_KINDS & 1u << kind) && trace->of[kind].n > 0;
    has_events |= trace->of[EK__EVENT_COMPUTING].n + trace->of[EK__EVENT_COMMUNICATION].n > 0;
    rank->has_device_events = has_events;
    return status == EK_OK ? merge_tables(rank, table, n_table, has_events, err) : status;
}
