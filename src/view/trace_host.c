/* The host: does it launch in time, why does the device idle, and does it wait for data? Marks of the program too. Of
 * single stretches of idle time the longest are listed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

enum { N_GAPS = 200 };

/* ---- dispatch ---- */

static const ek__view_column dispatch_column[] = {
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"share", "Idle for the host, of the steps", EK__UNIT_PERCENT | EK__LESS, false},
    {"bound", "Is the host too slow?", EK__UNIT_TEXT, false},
    {"cause", "Cause", EK__UNIT_TEXT, false},
    {"host_bound", "Idle for the host", EK__UNIT_NS | EK__LESS, false},
    {"steps", "Steps", EK__UNIT_NS, false},
    {"launches", "Launches", EK__UNIT_COUNT, false},
    {"nodes", "Node launches", EK__UNIT_COUNT, false},
    {"enqueued", "Enqueued", EK__UNIT_COUNT, false},
    {"dequeued", "Dequeued", EK__UNIT_COUNT, false},
    {"compiled", "Compilations", EK__UNIT_COUNT | EK__LESS, false},
    {"synchronized", "Synchronizations", EK__UNIT_COUNT | EK__LESS, false},
    {"collected", "Garbage collections", EK__UNIT_COUNT | EK__LESS, false},
};

static bool has_dispatch(const ek_trace_dispatch *d)
{
    return d->step_time > 0 || d->n_launch > 0 || d->n_node_launch > 0 || d->n_enqueue > 0;
}

static void put_dispatch(const ek_trace_run *run, ek__section *x)
{
    bool any = false;
    for (int i = 0; i < run->n_ranks; i++)
        any = any || has_dispatch(&run->rank[i].dispatch);
    if (!any)
        return;
    ek__table_begin(x, "dispatch", "Does the host launch in time?", dispatch_column,
                    sizeof dispatch_column / sizeof *dispatch_column);
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_dispatch *d = &run->rank[i].dispatch;
        const int64_t counts[] = {d->n_launch,  d->n_node_launch, d->n_enqueue, d->n_dequeue,
                                  d->n_compile, d->n_synchronize, d->n_gc};
        char label[64];
        if (!has_dispatch(d))
            continue;
        ek__view_rank_title(run, &run->rank[i], label, sizeof label);
        ek__row_begin(x);
        ek__cell_text(x, label);
        ek__cell_real(x, 100 * d->share);
        ek__cell_text(x, d->is_host_bound ? "yes" : "no");
        ek__cell_text(x, d->cause);
        ek__cell_int(x, d->host_bound);
        ek__cell_int(x, d->step_time);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            ek__cell_int(x, counts[k]);
        ek__row_end(x);
    }
    ek__table_end(x, 1, true);
}

/* ---- stretches of idle time ---- */

typedef struct gap {
    const ek_trace_rank *rank;
    const ek_trace_host_gap *one;
    int64_t length;
} gap;

static int find_gaps(const ek_trace_run *run, gap list[N_GAPS])
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].dispatch.n_gaps; k++) {
            const ek_trace_host_gap *one = &run->rank[i].dispatch.gap[k];
            int64_t length = ek__sum(one->end, -one->start);
            int at = n;
            while (at > 0 && list[at - 1].length < length)
                at--;
            if (at == N_GAPS)
                continue;
            n += n < N_GAPS;
            memmove(&list[at + 1], &list[at], (size_t)(n - 1 - at) * sizeof *list);
            list[at] = (gap){&run->rank[i], one, length};
        }
    return n;
}

static const ek__view_column gap_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false},
    {"at", "At", EK__UNIT_NS, false},
    {"length", "Device idle for", EK__UNIT_NS | EK__LESS, false},
    {"cause", "The host did", EK__UNIT_TEXT, false},
};

static void put_gaps(const ek_view_run *run, ek__section *x)
{
    gap list[N_GAPS];
    int n = find_gaps(run->trace, list);
    if (n == 0)
        return;
    ek__table_begin(x, "gaps", "Longest stretches in which the device waited for the host", gap_column,
                    sizeof gap_column / sizeof *gap_column);
    for (int i = 0; i < n; i++) {
        char number[16], key[64];
        double at = NAN;
        snprintf(number, sizeof number, "%d", i + 1);
        ek__view_key(run->trace, list[i].rank, number, key, sizeof key);
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_real(x, ek__view_trace_at(run, list[i].rank, list[i].one->start, &at) ? at : NAN);
        ek__cell_int(x, list[i].length);
        ek__cell_text(x, list[i].one->cause);
        ek__row_end(x);
    }
    ek__table_end(x, 2, true);
}

static const ek__view_column idle_column[] = {
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"intervals", "Stretches", EK__UNIT_COUNT, false},
    {"host", "For the host", EK__UNIT_NS | EK__LESS, false},
    {"device", "For the device's own order", EK__UNIT_NS | EK__LESS, false},
    {"unlinked", "Nothing tells why", EK__UNIT_NS | EK__LESS, false},
    {"linked", "Tasks with a launch", EK__UNIT_COUNT, false},
    {"tasks", "Tasks", EK__UNIT_COUNT, false},
};

static void put_idle(const ek_trace_run *run, ek__section *x)
{
    bool any = false;
    for (int i = 0; i < run->n_ranks; i++)
        any = any || run->rank[i].idle.n_intervals > 0;
    if (!any)
        return;
    ek__table_begin(x, "idle", "Idle time of the device by cause", idle_column,
                    sizeof idle_column / sizeof *idle_column);
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_idle *idle = &run->rank[i].idle;
        const int64_t value[] = {idle->n_intervals, idle->host_bound,     idle->device_bound,
                                 idle->unlinked,    idle->n_linked_tasks, idle->n_tasks};
        char label[64];
        if (idle->n_intervals == 0)
            continue;
        ek__view_rank_title(run, &run->rank[i], label, sizeof label);
        ek__row_begin(x);
        ek__cell_text(x, label);
        for (size_t k = 0; k < sizeof value / sizeof *value; k++)
            ek__cell_int(x, value[k]);
        ek__row_end(x);
    }
    ek__table_end(x, 2, true);
}

static const ek__view_column stream_column[] = {
    {"stream", "Stream", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"events", "Events", EK__UNIT_COUNT, false},
    {"host", "Waited for the host", EK__UNIT_NS | EK__LESS, false},
    {"kernel", "Waited for a kernel", EK__UNIT_NS | EK__LESS, false},
    {"other", "Other", EK__UNIT_NS | EK__LESS, false},
    {"no_launch", "Without a launch", EK__UNIT_COUNT, false},
};

static void put_streams(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].idle.n_streams > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "streams", "Idle time of streams by cause", stream_column,
                    sizeof stream_column / sizeof *stream_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].idle.n_streams && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_stream_idle *one = &run->rank[i].idle.stream[k];
            char name[256];
            snprintf(name, sizeof name, "device %.100s, stream %.100s", one->pid, one->tid);
            ek__row_begin(x);
            ek__cell_text(x, name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_int(x, one->n_events);
            ek__cell_int(x, one->host_wait);
            ek__cell_int(x, one->kernel_wait);
            ek__cell_int(x, one->other);
            ek__cell_int(x, one->n_no_launch);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

/* ---- data ---- */

static const ek__view_column iterator_column[] = {
    {"iterator", "Data iterator", EK__UNIT_TEXT, true},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"total", "Total", EK__UNIT_NS | EK__LESS, false},
    {"share", "All iterators, of the host's steps", EK__UNIT_PERCENT | EK__LESS, false},
};

static void put_iterators(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].data.n_iterators > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "iterators", "Data loading on the host", iterator_column,
                    sizeof iterator_column / sizeof *iterator_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].data.n_iterators && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_data *data = &run->rank[i].data;
            ek__row_begin(x);
            ek__cell_text(x, data->iterator[k].name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_int(x, data->iterator[k].count);
            ek__cell_int(x, data->iterator[k].total);
            ek__cell_real(x, 100 * data->share_of_host_step);
            ek__row_end(x);
        }
    ek__table_end(x, 3, true);
}

static const ek__view_column data_column[] = {
    {"operation", "Operation of the data pipeline", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"parent", "Feeds", EK__UNIT_NONE, false},
    {"workers", "Workers", EK__UNIT_COUNT, false},
    {"queue", "Queue, average", EK__UNIT_NONE, false},
    {"length", "Queue's length", EK__UNIT_NONE, false},
    {"usage", "Queue's usage", EK__UNIT_PERCENT, false},
};

static void put_data_ops(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].data.n_ops > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "data", "The data pipeline", data_column, sizeof data_column / sizeof *data_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].data.n_ops && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_data_op *op = &run->rank[i].data.op[k];
            char name[256];
            snprintf(name, sizeof name, "%d %.200s", op->id, op->type ? op->type : "");
            ek__row_begin(x);
            ek__cell_text(x, name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__view_cell_from(x, op->parent);
            ek__cell_int(x, op->workers);
            ek__cell_real(x, op->queue_average);
            ek__cell_real(x, op->queue_length);
            ek__cell_real(x, 100 * op->usage_rate);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

static void note_data(const ek_trace_run *run, ek__section *x)
{
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        const ek_trace_data *data = &run->rank[i].data;
        char title[64], text[200];
        if (!data->near_empty_queue && !data->near_full_queue)
            continue;
        ek__view_rank_title(run, &run->rank[i], title, sizeof title);
        snprintf(text, sizeof text, "%s: the queue behind the data pipeline is nearly %s", title,
                 data->near_empty_queue ? "empty: data comes too late" : "full: data is there in time");
        ek__section_note(x, text);
    }
}

/* ---- marks ---- */

static const ek__view_column mark_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false},
    {"name", "Mark", EK__UNIT_TEXT, true},
    {"domain", "Domain", EK__UNIT_TEXT, false},
    {"at", "At", EK__UNIT_NS, false},
    {"host", "On the host", EK__UNIT_NS | EK__LESS, false},
    {"device", "On the device", EK__UNIT_NS | EK__LESS, false},
};

static void put_marks(const ek_view_run *run, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    int n = 0;
    for (int i = 0; i < trace->n_ranks; i++)
        n += trace->rank[i].n_marks > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "marks", "Marks of the program", mark_column, sizeof mark_column / sizeof *mark_column);
    for (int i = 0; i < trace->n_ranks; i++)
        for (int k = 0; k < trace->rank[i].n_marks && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_mark *mark = &trace->rank[i].mark[k];
            bool on_device = mark->device_start != EK_TRACE_UNKNOWN && mark->device_end != EK_TRACE_UNKNOWN;
            char number[16], key[64];
            double at = NAN;
            snprintf(number, sizeof number, "%d", k + 1);
            ek__view_key(trace, &trace->rank[i], number, key, sizeof key);
            ek__row_begin(x);
            ek__cell_text(x, key);
            ek__cell_text(x, mark->name);
            ek__cell_text(x, mark->domain);
            ek__cell_real(x, ek__view_trace_at(run, &trace->rank[i], mark->start, &at) ? at : NAN);
            ek__cell_int(x, ek__sum(mark->end, -mark->start));
            ek__cell_int(x, on_device ? ek__sum(mark->device_end, -mark->device_start) : INT64_MIN);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

void ek__view_trace_host(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "host");
    bool dispatch = false, data = false;
    for (int i = 0; i < trace->n_ranks; i++) {
        dispatch = dispatch || has_dispatch(&trace->rank[i].dispatch);
        data = data || trace->rank[i].data.n_iterators > 0 || trace->rank[i].data.n_ops > 0;
    }
    if (!dispatch)
        ek__section_note(&x,
                         "These files do not show the host's launches. Profile with the host's activity (CPU) too.");
    if (!data)
        ek__section_note(&x, "No data iterator is seen. Profile the whole training loop with the host's activity, "
                             "of MindSpore with data_process=True.");
    note_data(trace, &x);
    put_dispatch(trace, &x);
    put_gaps(run, &x);
    put_idle(trace, &x);
    put_streams(trace, &x);
    put_iterators(trace, &x);
    put_data_ops(trace, &x);
    put_marks(run, &x);
    ek__section_end(&x);
}
