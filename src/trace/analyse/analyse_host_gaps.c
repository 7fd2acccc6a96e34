/* Lists gaps in which the device idled for work that the host had not launched yet, one by one, with the host's
 * activity at the time: waiting for data, synchronisation, garbage collection; dispatch where none of these fills most
 * of the gap, or compilation when there is much of it. The longest gaps are stored, since their cost depends on their
 * position. Skipped when the gaps together are negligible: it would be a second walk over all events without effect.
 * O(events + gaps). */
#include <stdlib.h>

#include "base/median.h"
#include "trace/events/device.h"

static const double least_share = 0.005; /* of the steps, host-bound */
static const double most_of_it = 0.5;
enum { MANY_COMPILATIONS = 20, N_CAUSES = 3 };

static const struct {
    ek__event_kind kind;
    const char *cause;
} causes[N_CAUSES] = {
    {EK__EVENT_DATA, "data_loading"}, {EK__EVENT_SYNC, "synchronization"}, {EK__EVENT_GC, "garbage_collection"}};

/* Length of the set within a gap; *from moves on, gaps come in order. */
static int64_t common_with(const ek__intervals *set, size_t *from, const ek__interval *gap)
{
    int64_t length = 0;
    while (*from < set->n && set->at[*from].end <= gap->start)
        ++*from;
    for (size_t i = *from; i < set->n && set->at[i].start < gap->end; i++) {
        int64_t start = set->at[i].start > gap->start ? set->at[i].start : gap->start;
        int64_t end = set->at[i].end < gap->end ? set->at[i].end : gap->end;
        length += end - start;
    }
    return length;
}

static void name_causes(const ek__intervals *gaps, const ek__intervals *host, const char *otherwise,
                        ek_trace_host_gap *out)
{
    size_t from[N_CAUSES] = {0};
    for (size_t i = 0; i < gaps->n; i++) {
        int64_t most = (int64_t)(most_of_it * (double)(gaps->at[i].end - gaps->at[i].start));
        out[i] = (ek_trace_host_gap){gaps->at[i].start, gaps->at[i].end, otherwise};
        for (int c = 0; c < N_CAUSES; c++) {
            int64_t common = common_with(&host[c], &from[c], &gaps->at[i]);
            if (common > most) {
                most = common;
                out[i].cause = causes[c].cause;
            }
        }
    }
}

/* Length of the longest gap that is left out, and the number of stored gaps of that length; -1 when all are stored. */
static ek_status least_kept(const ek_trace_host_gap *all, size_t n, int64_t *least, size_t *n_equal, ek_error *err)
{
    *least = -1;
    *n_equal = 0;
    if (n <= EK_TRACE_MAX_HOST_GAPS)
        return EK_OK;
    int64_t *length = ek__alloc(n, sizeof *length);
    if (!length)
        return ek__no_memory(err);
    for (size_t i = 0; i < n; i++)
        length[i] = all[i].end - all[i].start;
    *least = ek__nth_ns(length, n, n - 1 - EK_TRACE_MAX_HOST_GAPS);
    *n_equal = EK_TRACE_MAX_HOST_GAPS;
    for (size_t i = 0; i < n; i++)
        *n_equal -= length[i] > *least;
    free(length);
    return EK_OK;
}

/* The first of equal ones. */
static ek_status keep_longest(const ek_trace_host_gap *all, size_t n, ek_trace_rank *rank, ek_error *err)
{
    int64_t least;
    size_t n_equal, n_kept = 0;
    ek_trace_host_gap *kept =
        ek__pool_alloc(rank->pool, n < EK_TRACE_MAX_HOST_GAPS ? n : EK_TRACE_MAX_HOST_GAPS, sizeof *kept);
    ek_status status = kept ? least_kept(all, n, &least, &n_equal, err) : ek__no_memory(err);
    if (status)
        return status;
    for (size_t i = 0; i < n; i++) {
        int64_t length = all[i].end - all[i].start;
        bool keeps = length > least || (length == least && n_equal > 0);
        n_equal -= length == least && n_equal > 0;
        if (keeps)
            kept[n_kept++] = all[i];
        else
            rank->dispatch.gaps_left_out += length;
    }
    rank->dispatch.gap = kept;
    rank->dispatch.n_gaps = (int)n_kept;
    return EK_OK;
}

/* When the device begins; EK_TRACE_UNKNOWN without work. */
static int64_t first_work(const ek__trace *trace)
{
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS);
    const ek__event *e = ek__walk_event(&walk);
    return e ? e->start : EK_TRACE_UNKNOWN;
}

/* Before the first work of the trace no work has ended, but its first step has begun on the host: that counts as in the
 * steps after it. */
static bool add_first(const ek__trace *trace, const ek_trace_rank *rank, ek__intervals *gaps)
{
    const ek_trace_step *first = rank->n_steps > 0 ? &rank->step[0] : NULL;
    int64_t work = first_work(trace);
    if (!first || first->host_start == EK_TRACE_UNKNOWN || work == EK_TRACE_UNKNOWN || work <= first->host_start ||
        (gaps->n > 0 && gaps->at[0].start < work))
        return true;
    ek__intervals all = {0};
    bool fine = ek__intervals_add(&all, first->host_start, work);
    for (size_t i = 0; i < gaps->n && fine; i++)
        fine = ek__intervals_add(&all, gaps->at[i].start, gaps->at[i].end);
    if (fine) {
        ek__intervals old = *gaps;
        *gaps = all;
        all = old;
    }
    ek__intervals_clear(&all);
    return fine;
}

ek_status ek__analyse_host_gaps(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                ek_error *err)
{
    (void)options;
    if (!(rank->dispatch.share > least_share))
        return EK_OK;
    ek__intervals gaps = {0}, host[N_CAUSES] = {{0}};
    ek_trace_host_gap *all = NULL;
    ek_status status = ek__host_bound_gaps(trace, rank, &gaps, err);
    if (!status && !add_first(trace, rank, &gaps))
        status = ek__no_memory(err);
    for (int c = 0; c < N_CAUSES && !status; c++)
        if (!ek__intervals_of(trace->of[causes[c].kind], INT64_MIN, INT64_MAX, &host[c]))
            status = ek__no_memory(err);
    if (!status && !(all = ek__alloc(gaps.n, sizeof *all)))
        status = ek__no_memory(err);
    if (!status) {
        const char *otherwise = rank->dispatch.n_compile >= MANY_COMPILATIONS ? "compilation" : "dispatch";
        name_causes(&gaps, host, otherwise, all);
        status = keep_longest(all, gaps.n, rank, err);
    }
    free(all);
    ek__intervals_clear(&gaps);
    for (int c = 0; c < N_CAUSES; c++)
        ek__intervals_clear(&host[c]);
    return status;
}
