/* Computes the host time in the data iterator, per step and by name, and the part of it in which the device was idle:
 * only that part can be saved. Iterators of one step that overlap count once in the step, each in the table by name.
 * Queues and batch times of MindSpore's own tables are read elsewhere. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ek_trace_iterator *)a)->name, ((const ek_trace_iterator *)b)->name);
}

static ek_status sum_by_name(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_DATA];
    int *at = ek__alloc(trace->n_names, sizeof *at); /* 1 + index in `data->iterator` */
    ek_trace_data *data = &rank->data;
    ek_status status = at ? EK_OK : ek__no_memory(err);
    for (size_t i = 0; status == EK_OK && i < slice.n; i++) {
        uint32_t name = slice.event[i].name;
        if (!at[name]) {
            const char *text = ek__trace_name(trace, name);
            ek_trace_iterator *list = ek__pool_push(rank->pool, data->iterator, data->n_iterators, sizeof *list);
            const char *copy = ek__pool_text(rank->pool, text, strlen(text));
            if (!list || !copy) {
                status = ek__no_memory(err);
                break;
            }
            data->iterator = list;
            list[data->n_iterators] = (ek_trace_iterator){.name = copy};
            at[name] = ++data->n_iterators;
        }
        ek_trace_iterator *iterator = &data->iterator[at[name] - 1];
        iterator->count++;
        iterator->total = ek__ns_add(iterator->total, slice.event[i].duration);
        data->total = ek__ns_add(data->total, slice.event[i].duration);
    }
    free(at);
    if (status == EK_OK && data->n_iterators > 1)
        qsort(data->iterator, (size_t)data->n_iterators, sizeof *data->iterator, by_name);
    return status;
}

/* ---- per step ---- */

/* The time of a step: its mark, else from its begin to the next one's. False when it has none. */
static bool extent_of(const ek_trace_rank *rank, int index, ek__interval *out)
{
    const ek_trace_step *step = &rank->step[index];
    bool begin_to_begin, marked = step->host_start != EK_TRACE_UNKNOWN && step->host_step != EK_TRACE_UNKNOWN;
    if (step->from_table || (!marked && step->start == EK_TRACE_UNKNOWN))
        return false;
    int64_t length = ek_trace_step_length(rank, index, &begin_to_begin);
    int64_t start = marked ? step->host_start : step->start;
    *out = (ek__interval){start, marked           ? ek__ns_add(start, step->host_step)
                                 : begin_to_begin ? ek__ns_add(start, length)
                                                  : step->end};
    return true;
}

/* The time of a step that the host spent in iterators. An iterator that begins in the step before, or ends after it,
 * counts with the part inside. `reach`: the longest iterator. */
static bool add_to_step(const ek__trace *trace, const ek__interval *extent, int64_t reach, ek__intervals *of_step)
{
    ek__slice slice = trace->of[EK__EVENT_DATA];
    for (size_t i = ek__slice_lower(slice, ek__ns_sub(extent->start, reach));
         i < slice.n && slice.event[i].start < extent->end; i++) {
        int64_t start = slice.event[i].start, end = ek__event_end(&slice.event[i]);
        start = start > extent->start ? start : extent->start;
        end = end < extent->end ? end : extent->end;
        if (end > start && !ek__intervals_add(of_step, start, end))
            return false;
    }
    return true;
}

static bool add_to_steps(const ek__trace *trace, const ek_trace_rank *rank, ek__intervals *of_step)
{
    ek__slice slice = trace->of[EK__EVENT_DATA];
    ek__interval extent;
    int64_t reach = 0;
    for (size_t i = 0; i < slice.n; i++)
        reach = slice.event[i].duration > reach ? slice.event[i].duration : reach;
    for (int i = 0; i < rank->n_steps; i++)
        if (extent_of(rank, i, &extent) && !add_to_step(trace, &extent, reach, &of_step[i]))
            return false;
    return true;
}

/* Lengths below `time`, for differences in O(log n): running sums of the merged intervals. */
typedef struct running {
    const ek__intervals *set;
    int64_t *before; /* [n + 1]: length of the first i */
} running;

static int64_t length_before(const running *r, int64_t time)
{
    size_t low = 0, high = r->set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->set->at[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const ek__interval *last = &r->set->at[low - 1];
    return ek__ns_add(r->before[low - 1], (last->end < time ? last->end : time) - last->start);
}

/* The part of the step's iterators outside device work. */
static int64_t idle_part(const running *work, const ek__intervals *data)
{
    int64_t busy = 0;
    for (size_t i = 0; i < data->n; i++)
        busy = ek__ns_add(busy, length_before(work, data->at[i].end) - length_before(work, data->at[i].start));
    return ek__intervals_length(data) - busy;
}

static void fill_steps(const running *work, const ek__intervals *of_step, ek_trace_rank *rank)
{
    int64_t loading = 0, host = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        ek_trace_step *step = &rank->step[i];
        if (step->from_table)
            continue;
        step->data_loading = ek__intervals_length(&of_step[i]);
        step->data_loading_idle = rank->has_device_events ? idle_part(work, &of_step[i]) : EK_TRACE_UNKNOWN;
        if (step->host_step == EK_TRACE_UNKNOWN)
            continue;
        loading = ek__ns_add(loading, step->data_loading);
        host = ek__ns_add(host, step->host_step);
    }
    if (host > 0)
        rank->data.share_of_host_step = (double)loading / (double)host;
}

static bool make_running(const ek__intervals *set, running *out)
{
    *out = (running){set, ek__alloc(set->n + 1, sizeof *out->before)};
    for (size_t i = 0; out->before && i < set->n; i++)
        out->before[i + 1] = ek__ns_add(out->before[i], set->at[i].end - set->at[i].start);
    return out->before;
}

static ek_status sum_by_step(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                             ek_error *err)
{
    ek__device_sets sets = {0};
    running work = {0};
    ek__intervals *of_step = ek__alloc((size_t)rank->n_steps, sizeof *of_step);
    ek_status status = of_step ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = ek__device_sets_make(trace, options, &sets, err);
    if (status == EK_OK && (!add_to_steps(trace, rank, of_step) || !make_running(&sets.work, &work)))
        status = ek__no_memory(err);
    if (status == EK_OK)
        fill_steps(&work, of_step, rank);
    free(work.before);
    ek__device_sets_clear(&sets);
    for (int i = 0; of_step && i < rank->n_steps; i++)
        ek__intervals_clear(&of_step[i]);
    free(of_step);
    return status;
}

ek_status ek__analyse_data_loading(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                   ek_error *err)
{
    rank->data.share_of_host_step = NAN;
    if (trace->counts.n_items == 0 && trace->of[EK__EVENT_DATA].n == 0)
        return EK_OK;
    ek_status status = sum_by_name(trace, rank, err);
    return status == EK_OK && rank->n_steps > 0 ? sum_by_step(trace, options, rank, err) : status;
}
