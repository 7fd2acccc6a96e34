/* Walks the slices of a trace side by side, so that device events of several kinds come in one order of time without
 * being copied. The sets are those of the overlap layer where there is one; fused operators that compute and
 * communicate at once are not distinguished from others. */
#include "trace/events/device.h"

#include <string.h>

/* The remaining events of a kind; NULL when there are none. */
static const ek__event *head_of(ek__event_walk *walk, int kind)
{
    const ek__slice *slice = &walk->trace->of[kind];
    if (!walk->rest[kind])
        walk->rest[kind] = slice->event;
    if (slice->n > 0 && walk->rest[kind] != slice->event + slice->n)
        return walk->rest[kind];
    walk->kinds &= ~(1u << kind);
    return NULL;
}

bool ek__walk_run(ek__event_walk *walk)
{
    /* The first of all kinds and the first of the other kinds, which ends its run. */
    const ek__event *first = NULL, *second = NULL;
    for (uint32_t left = walk->kinds; left; left &= left - 1) {
        const ek__event *head = head_of(walk, __builtin_ctz(left));
        if (head && (!first || head->start < first->start)) {
            second = first;
            first = head;
        } else if (head && (!second || head->start < second->start))
            second = head;
    }
    if (!first)
        return false;
    const ek__slice *slice = &walk->trace->of[first->kind];
    const ek__event *end = first + 1, *last = slice->event + slice->n;
    while (end != last &&
           (!second || end->start < second->start || (end->start == second->start && first->kind < second->kind)))
        end++;
    walk->next = first;
    walk->end = walk->rest[first->kind] = end;
    return true;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool of_communication(const char *name)
{
    return ends_in(name, "AicpuKernel") || ends_in(name, "AivKernel");
}

bool ek__is_compute(const ek__trace *trace, const ek__event *event)
{
    return event->kind == EK__EVENT_KERNEL && event->core != EK__CORE_NONE &&
           !of_communication(ek__trace_name(trace, event->name));
}

bool ek__is_communication(const ek__trace *trace, const ek__event *event)
{
    if (event->kind == EK__EVENT_COLLECTIVE)
        return true;
    return (event->kind == EK__EVENT_KERNEL || event->kind == EK__EVENT_TASK) && event->core != EK__CORE_NONE &&
           of_communication(ek__trace_name(trace, event->name));
}

bool ek__has_overlap_layer(const ek__trace *trace, const ek_trace_options *options)
{
    return !options->from_raw_events && trace->producer != EK_PRODUCER_KINETO &&
           trace->of[EK__EVENT_COMPUTING].n + trace->of[EK__EVENT_COMMUNICATION].n + trace->of[EK__EVENT_FREE].n > 0;
}

static bool is_computing(const ek__trace *trace, const ek__event *e)
{
    if (e->kind == EK__EVENT_COMPUTING)
        return true;
    if (trace->producer == EK_PRODUCER_KINETO)
        return e->kind == EK__EVENT_KERNEL || e->kind == EK__EVENT_SET;
    return ek__is_compute(trace, e);
}

static bool fill_sets(const ek__trace *trace, uint32_t kinds, ek__device_sets *sets)
{
    ek__event_walk walk = ek__walk_kinds(trace, kinds | EK__WORK_KINDS);
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        int64_t end = ek__event_end(e);
        bool counted = kinds & 1u << e->kind;
        if ((counted && is_computing(trace, e) && !ek__intervals_add(&sets->computing, e->start, end)) ||
            (counted && (e->kind == EK__EVENT_COMMUNICATION || ek__is_communication(trace, e)) &&
             !ek__intervals_add(&sets->communication, e->start, end)) ||
            !ek__intervals_add(&sets->work, e->start, end))
            return false;
    }
    return true;
}

ek_status ek__device_sets_make(const ek__trace *trace, const ek_trace_options *options, ek__device_sets *out,
                               ek_error *err)
{
    ek__device_sets sets = {0};
    uint32_t kinds =
        ek__has_overlap_layer(trace, options) ? EK__KIND(COMPUTING) | EK__KIND(COMMUNICATION) : EK__WORK_KINDS;
    if (!fill_sets(trace, kinds, &sets)) {
        ek__device_sets_clear(&sets);
        return ek__no_memory(err);
    }
    *out = sets;
    return EK_OK;
}

void ek__device_sets_clear(ek__device_sets *sets)
{
    ek__intervals_clear(&sets->computing);
    ek__intervals_clear(&sets->communication);
    ek__intervals_clear(&sets->work);
}
