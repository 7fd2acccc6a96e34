/* Finds the warm-up: the first steps that computed or lasted more than a tenth longer than the median of those after
 * them, and longer than each of them. At least two steps must remain after a dropped one, so that of two steps none
 * ever is; a note lists the dropped steps, or reports that the first of two looks like warm-up. */
#include <stdlib.h>

#include "base/median.h"
#include "trace/events/device.h"

static const double markedly = 1.1;

/* Steps of tables count only where there are no others: they may be of another clock and have fewer values. */
static bool has_event_steps(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_steps; i++)
        if (!rank->step[i].from_table)
            return true;
    return false;
}

static bool counts(const ek_trace_step *step, bool from_events)
{
    return from_events ? !step->from_table && step->own.n_events > 0 : step->own.computing > 0 || step->own.total > 0;
}

static int64_t length_of(const ek_trace_step *step, bool computing)
{
    int64_t length = computing ? step->own.computing : step->own.total;
    return length == EK_TRACE_UNKNOWN ? 0 : length;
}

/* Is the step markedly longer than all after it? `value` has room for them. */
static bool stands_out(const ek_trace_rank *rank, int first, bool computing, int64_t *value)
{
    const bool from_events = !rank->step[first].from_table;
    size_t n = 0;
    int64_t longest = 0;
    for (int i = first + 1; i < rank->n_steps; i++) {
        if (!counts(&rank->step[i], from_events))
            continue;
        value[n] = length_of(&rank->step[i], computing);
        longest = value[n] > longest ? value[n] : longest;
        n++;
    }
    if (n == 0)
        return false;
    double median = (double)ek__median_ns(value, n);
    int64_t own = length_of(&rank->step[first], computing);
    return (double)own > markedly * median && own > longest;
}

static int counted_behind(const ek_trace_rank *rank, int first)
{
    const bool from_events = !rank->step[first].from_table;
    int n = 0;
    for (int i = first + 1; i < rank->n_steps; i++)
        n += counts(&rank->step[i], from_events);
    return n;
}

static ek_status find(ek_trace_rank *rank, int64_t *value, ek_error *err)
{
    const bool from_events = has_event_steps(rank);
    int dropped = 0, first = 0;
    for (; first < rank->n_steps; first++) {
        if (!counts(&rank->step[first], from_events))
            continue;
        if (!stands_out(rank, first, false, value) && !stands_out(rank, first, true, value))
            break;
        if (counted_behind(rank, first) < 2)
            break;
        rank->step[first].warm_up = true;
        dropped++;
    }
    if (dropped > 0)
        return ek__rank_note(rank, err,
                             "the first %d of %d steps %s longer than the others and left out of means as warm-up",
                             dropped, rank->n_steps, dropped == 1 ? "is markedly" : "are markedly");
    if (first < rank->n_steps && counted_behind(rank, first) == 1 &&
        (stands_out(rank, first, false, value) || stands_out(rank, first, true, value)))
        return ek__rank_note(
            rank, err,
            "the first of two steps is much longer than the second and may be warm-up; the means include both");
    return EK_OK;
}

ek_status ek__mark_warm_up(const ek_trace_options *options, ek_trace_rank *rank, ek_error *err)
{
    if (options->drop_first_steps < 0 || rank->n_steps == 0)
        return EK_OK;
    if (options->drop_first_steps > 0) {
        int n = options->drop_first_steps < rank->n_steps ? options->drop_first_steps : rank->n_steps;
        for (int i = 0; i < n; i++)
            rank->step[i].warm_up = true;
        return ek__rank_note(rank, err, "the first %d of %d steps are left out of means, as requested", n,
                             rank->n_steps);
    }
    int64_t *value = ek__alloc((size_t)rank->n_steps, sizeof *value);
    if (!value)
        return ek__no_memory(err);
    ek_status status = find(rank, value, err);
    free(value);
    return status;
}
