/* Finds the step of a time by binary search over windows sorted by their start. Windows of neighbouring steps may
 * overlap when the device lags behind the host: the one that began last wins, and a running maximum of their ends
 * bounds the search towards earlier windows. */
#include <stdlib.h>

#include "trace/events/device.h"

static int by_start(const void *a, const void *b)
{
    const ek__step_window *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static void sort_windows(ek__step_finder *finder)
{
    qsort(finder->window, (size_t)finder->n, sizeof *finder->window, by_start);
    int64_t reach = INT64_MIN;
    for (int i = 0; i < finder->n; i++) {
        reach = finder->window[i].last > reach ? finder->window[i].last : reach;
        finder->window[i].reach = reach;
    }
}

/* The window of one step; false when it has no window of that kind. `open` leaves the end out, as in [start, end). */
static bool window_of(const ek_trace_step *step, bool host, bool open, ek__step_window *out)
{
    bool mark = host && step->host_start != EK_TRACE_UNKNOWN;
    if (!mark && (step->start == EK_TRACE_UNKNOWN || step->end == EK_TRACE_UNKNOWN))
        return false;
    out->start = mark ? step->host_start : step->start;
    out->last = mark ? ek__ns_add(step->host_start, step->host_step) : step->end;
    if (open && mark)
        out->last = ek__ns_sub(out->last, 1);
    return true;
}

static ek_status make(const ek_trace_rank *rank, bool host, bool open, ek__step_finder *out, ek_error *err)
{
    ek__step_finder finder = {0};
    finder.window = ek__alloc((size_t)rank->n_steps, sizeof *finder.window);
    if (!finder.window)
        return ek__no_memory(err);
    for (int i = 0; i < rank->n_steps; i++) {
        ek__step_window window = {.step = i};
        bool begin_to_begin = false;
        int64_t length = ek_trace_step_length(rank, i, &begin_to_begin);
        if (!window_of(&rank->step[i], host, open, &window))
            continue;
        /* Without a mark a step lasts until the next one, including the idle time between them. */
        if (begin_to_begin && rank->step[i].host_start == EK_TRACE_UNKNOWN && !rank->step[i].from_table)
            window.last = ek__ns_add(window.start, length - 1);
        finder.window[finder.n++] = window;
    }
    sort_windows(&finder);
    *out = finder;
    return EK_OK;
}

ek_status ek__step_finder_make(const ek__trace *trace, const ek_trace_rank *rank, ek__step_finder *out, ek_error *err)
{
    bool kineto = trace->producer == EK_PRODUCER_KINETO, marked = false;
    for (int i = 0; i < rank->n_steps; i++)
        marked |= rank->step[i].host_start != EK_TRACE_UNKNOWN;
    ek_status status = make(rank, kineto, kineto, out, err);
    if (status == EK_OK && kineto && marked)
        out->by_launch = trace;
    return status;
}

ek_status ek__step_finder_make_host(const ek_trace_rank *rank, ek__step_finder *out, ek_error *err)
{
    return make(rank, true, false, out, err);
}

void ek__step_finder_clear(ek__step_finder *finder)
{
    free(finder->window);
    *finder = (ek__step_finder){0};
}

int ek__step_window_at(const ek__step_finder *finder, int64_t time, int below)
{
    int low = 0, high = below;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (finder->window[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low - 1; i >= 0 && finder->window[i].reach >= time; i--)
        if (finder->window[i].last >= time)
            return i;
    return -1;
}

int ek__step_at(ek__step_finder *finder, int64_t time)
{
    const ek__step_window *near = &finder->window[finder->near];
    bool last = finder->near + 1 >= finder->n;
    if (finder->near < finder->n && near->start <= time && time <= near->last && (last || time < near[1].start))
        return near->step;
    int at = ek__step_window_at(finder, time, finder->n);
    if (at < 0)
        return -1;
    finder->near = at;
    return finder->window[at].step;
}

int ek__step_of(ek__step_finder *finder, const ek__event *event)
{
    const ek__event *launch = finder->by_launch ? ek__launch_of(finder->by_launch, event) : NULL;
    return ek__step_at(finder, launch ? launch->start : event->start);
}
