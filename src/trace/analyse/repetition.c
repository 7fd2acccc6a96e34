/* Finds the steps of a trace without step marks: the period that the operators of the busiest stream repeat. The
 * longest tail with at least three periods is taken when it is most of the sequence. A period begins after the
 * optimizer's operators, else after the longest mean gap. Sequences that vary from step to step are not recognised. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/events/device.h"
#include "trace/events/periodic.h"

enum {
    MIN_PERIOD = 8,    /* operators: shorter ones are loops inside a step */
    MIN_SHARE_NUM = 6, /* of the sequence that must repeat: 6 / 10 */
    MIN_SHARE_DEN = 10,
};

/* Indices of the operators on the stream with the most of them. */
static uint32_t *busiest_stream(const ek__trace *trace, size_t *n)
{
    ek__slice slice = trace->of[EK__EVENT_KERNEL];
    size_t *count = ek__alloc((size_t)trace->n_tracks, sizeof *count);
    if (!count)
        return NULL;
    size_t best = 0;
    for (size_t i = 0; i < slice.n; i++)
        count[slice.event[i].track]++;
    for (size_t t = 0; t < (size_t)trace->n_tracks; t++)
        if (count[t] > count[best])
            best = t;
    uint32_t *index = ek__alloc(trace->n_tracks > 0 ? count[best] : 0, sizeof *index);
    *n = 0;
    for (size_t i = 0; index && i < slice.n; i++)
        if (slice.event[i].track == best)
            index[(*n)++] = (uint32_t)i;
    free(count);
    return index;
}

/* The longest tail that repeats a period: its length, and the period; 0 when memory is out or there is none. */
static size_t longest_periodic_tail(const ek__event *event, const uint32_t *index, size_t n, size_t *period,
                                    bool *no_memory)
{
    uint32_t *name = ek__alloc(n, sizeof *name);
    *no_memory = !name;
    if (!name)
        return 0;
    for (size_t i = 0; i < n; i++)
        name[i] = event[index[i]].name;
    size_t length = ek__periodic_tail(name, n, MIN_PERIOD, period, no_memory);
    free(name);
    return length;
}

static bool is_optimizer(const char *name)
{
    static const char *const word[] = {"adam", "sgd", "momentum", "optimizer", "lamb", "multi_tensor_apply"};
    for (const char *s = name; *s; s++)
        for (size_t w = 0; w < sizeof word / sizeof *word; w++) {
            size_t k = 0;
            while (word[w][k] && ek__to_lower((unsigned char)s[k]) == word[w][k])
                k++;
            if (!word[w][k])
                return true;
        }
    return false;
}

/* The start of a step in the period: after the optimizer operator that is followed by the most others. */
static bool begin_behind_optimizer(const bool *optimizer, size_t period, size_t *begin)
{
    size_t best = 0;
    for (size_t o = 0; o < period; o++) {
        if (!optimizer[o])
            continue;
        size_t run = 0;
        while (run < period && !optimizer[(o + 1 + run) % period])
            run++;
        if (run > best) {
            best = run;
            *begin = (o + 1) % period;
        }
    }
    return best > 0;
}

/* Else after the longest gap, summed over the repetitions. */
static size_t begin_behind_gap(const ek__event *event, const uint32_t *tail, size_t n, size_t period)
{
    size_t best = 0;
    int64_t longest = -1;
    for (size_t o = 0; o < period; o++) {
        int64_t sum = 0;
        for (size_t i = o; i < n; i += period)
            if (i > 0)
                sum = ek__ns_add(sum, ek__ns_sub(event[tail[i]].start, ek__event_end(&event[tail[i - 1]])));
        if (sum > longest) {
            longest = sum;
            best = o;
        }
    }
    return best;
}

static ek_status push_periods(const ek__event *event, const uint32_t *tail, size_t n, size_t period, size_t begin,
                              ek_trace_rank *rank, ek_error *err)
{
    int number = 0;
    for (size_t i = begin; i + period <= n; i += period) {
        ek_trace_step step = ek__step_of_events();
        step.name = ek__pool_format(rank->pool, "%d", ++number);
        step.start = event[tail[i]].start;
        step.end = i + period < n ? ek__ns_sub(event[tail[i + period]].start, 1) : step.start;
        for (size_t k = i; k < i + period && i + period == n; k++)
            if (ek__event_end(&event[tail[k]]) > step.end)
                step.end = ek__event_end(&event[tail[k]]);
        ek_trace_step *steps = ek__pool_push(rank->pool, rank->step, rank->n_steps, sizeof *steps);
        if (!step.name || !steps)
            return ek__no_memory(err);
        rank->step = steps;
        rank->step[rank->n_steps++] = step;
    }
    return ek__rank_note(rank, err,
                         "no step marks: %d steps were found by %zu repeated operators of the busiest stream",
                         rank->n_steps, period);
}

static ek_status steps_of_tail(const ek__trace *trace, const uint32_t *tail, size_t n, size_t period,
                               ek_trace_rank *rank, ek_error *err)
{
    const ek__event *event = trace->of[EK__EVENT_KERNEL].event;
    bool *optimizer = ek__alloc(period, sizeof *optimizer);
    if (!optimizer)
        return ek__no_memory(err);
    for (size_t o = 0; o < period; o++)
        optimizer[o] = is_optimizer(ek__trace_name(trace, event[tail[o]].name));
    size_t begin = 0;
    if (!begin_behind_optimizer(optimizer, period, &begin))
        begin = begin_behind_gap(event, tail, n, period);
    free(optimizer);
    return push_periods(event, tail, n, period, begin, rank, err);
}

ek_status ek__steps_by_repetition(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    size_t n = 0, period = 0;
    uint32_t *index = busiest_stream(trace, &n);
    if (!index)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    bool no_memory = false;
    size_t length = longest_periodic_tail(trace->of[EK__EVENT_KERNEL].event, index, n, &period, &no_memory);
    if (no_memory)
        status = ek__no_memory(err);
    else if (length > 0 && length * MIN_SHARE_DEN >= n * MIN_SHARE_NUM)
        status = steps_of_tail(trace, index + (n - length), length, period, rank, err);
    free(index);
    return status;
}
