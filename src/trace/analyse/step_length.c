/* Computes the length of a step: one definition for every command. A step lasts until the next one begins, on the
 * device, or on the host where the device's begin is not known; so it includes the time between two steps, and a host
 * that runs ahead of the device does not shorten it. A step that no recorded step follows has its own length: the
 * host's mark, or the device's first start to its last end where that is longer. That is a lower bound, so in the mean
 * it counts as long as the others where those are longer. Steps without consecutive numbers, as those of two recordings
 * in one file, have no follower either. Ranks of a synchronous job take equally long: the step of the run is the
 * longest of the ranks' means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"

static int64_t known(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? 0 : ns;
}

static bool has_window(const ek_trace_step *step)
{
    return step->start != EK_TRACE_UNKNOWN && step->end != EK_TRACE_UNKNOWN && step->end > step->start;
}

/* Without a follower. A table of a producer has only the parts. */
static int64_t own_length(const ek_trace_step *step)
{
    const ek_trace_breakdown *b = &step->own;
    int64_t parts = ek__ns_add(ek__ns_add(known(b->computing), known(b->communication_not_overlapped)), known(b->free));
    int64_t device = known(b->total) > 0 ? b->total : parts, host = known(step->host_step);
    int64_t longest = device > host ? device : host;
    if (longest <= 0 && has_window(step))
        longest = ek__ns_sub(step->end, step->start);
    return longest > 0 ? longest : EK_TRACE_UNKNOWN;
}

/* Does `next` have the number after that of `step`? Names that are not numbers go by their order. */
static bool is_next(const ek_trace_step *step, const ek_trace_step *next)
{
    const char *a = step->name ? step->name : "", *b = next->name ? next->name : "";
    bool numbered = *a && *b && strspn(a, "0123456789") == strlen(a) && strspn(b, "0123456789") == strlen(b);
    return step->from_table == next->from_table && !next->average &&
           (!numbered || strtoull(b, NULL, 10) == strtoull(a, NULL, 10) + 1);
}

int64_t ek_trace_step_length(const ek_trace_rank *rank, int index, bool *begin_to_begin)
{
    const ek_trace_step *step = &rank->step[index], *next = index + 1 < rank->n_steps ? step + 1 : NULL;
    int64_t length = EK_TRACE_UNKNOWN;
    if (next && !step->average && is_next(step, next)) {
        bool host = step->host_start != EK_TRACE_UNKNOWN && next->host_start != EK_TRACE_UNKNOWN;
        if (has_window(step) && has_window(next))
            length = ek__ns_sub(next->start, step->start);
        else if (host && step->host_step > 0)
            length = ek__ns_sub(next->host_start, step->host_start);
    }
    *begin_to_begin = length > 0;
    return *begin_to_begin ? length : own_length(step);
}

/* Steps with a window on the device count where there are some: a table may list many more than were recorded. */
static bool counts(const ek_trace_step *step, bool windows)
{
    return !step->warm_up && !step->average && (!windows || (!step->from_table && has_window(step)));
}

/* Sum of the lengths with a follower, or of those without one, which count as `least` or more. */
static double sum_lengths(const ek_trace_rank *rank, bool windows, bool followed, double least, int *n)
{
    double sum = 0;
    *n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        bool begin_to_begin;
        int64_t length = ek_trace_step_length(rank, i, &begin_to_begin);
        if (begin_to_begin != followed || !counts(&rank->step[i], windows) || length == EK_TRACE_UNKNOWN)
            continue;
        sum += (double)length > least ? (double)length : least;
        ++*n;
    }
    return sum;
}

ek_trace_step_time ek_trace_rank_step(const ek_trace_rank *rank)
{
    ek_trace_step_time time = {.ns = EK_TRACE_UNKNOWN, .rank = -1};
    bool windows = false;
    int alone;
    for (int i = 0; i < rank->n_steps; i++)
        windows |= counts(&rank->step[i], true);
    double sum = sum_lengths(rank, windows, true, 0, &time.n_begin_to_begin);
    sum += sum_lengths(rank, windows, false, time.n_begin_to_begin > 0 ? sum / time.n_begin_to_begin : 0, &alone);
    time.n_steps = time.n_begin_to_begin + alone;
    if (time.n_steps > 0)
        time.ns = (int64_t)(sum / time.n_steps + 0.5);
    return time;
}

ek_trace_step_time ek_trace_run_step(const ek_trace_run *run)
{
    ek_trace_step_time longest = {.ns = EK_TRACE_UNKNOWN, .rank = -1};
    for (int i = 0; i < run->n_ranks; i++) {
        ek_trace_step_time time = ek_trace_rank_step(&run->rank[i]);
        if (time.ns <= longest.ns) /* EK_TRACE_UNKNOWN is the smallest */
            continue;
        longest = time;
        longest.rank = i;
    }
    return longest;
}

const char *ek_trace_step_words(const ek_trace_run *run, const ek_trace_step_time *time, char *text, size_t room)
{
    int alone = time->n_steps - time->n_begin_to_begin;
    int used = 0;
    text[0] = '\0';
    if (time->n_steps == 0)
        return "no step has a length";
    if (time->n_steps > 1)
        used = snprintf(text, room, "mean of %d steps", time->n_steps);
    else
        used = snprintf(text, room, "one step");
    if (time->rank >= 0 && run->n_ranks > 1 && run->rank[time->rank].rank != EK_TRACE_NO_RANK)
        used += snprintf(text + used, room - (size_t)used, " of rank %d, the longest of %d ranks",
                         run->rank[time->rank].rank, run->n_ranks);
    else if (time->rank >= 0 && run->n_ranks > 1)
        used += snprintf(text + used, room - (size_t)used, " of trace %d, the longest of %d", time->rank, run->n_ranks);
    if (alone == 0)
        snprintf(text + used, room - (size_t)used, "; begin to begin");
    else if (time->n_begin_to_begin == 0)
        snprintf(text + used, room - (size_t)used, "; %s own length, no recorded step follows",
                 alone == 1 ? "its" : "their");
    else
        snprintf(text + used, room - (size_t)used, "; begin to begin, %d without a follower at least as long", alone);
    return text;
}
