/* Figures of a rank that several writers put side by side, and names of ranks: the breakdown of a rank, the parts of
 * its step, means over steps and ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/trace_figures.h"

const ek_trace_rank *ek__trace_find_rank(const ek_trace_run *run, int number)
{
    for (int i = 0; run && number >= 0 && i < run->n_ranks; i++)
        if (run->rank[i].rank == number)
            return &run->rank[i];
    return NULL;
}

const ek_trace_step *ek__trace_find_step(const ek_trace_rank *rank, const char *name)
{
    for (int i = 0; rank && name && i < rank->n_steps; i++)
        if (strcmp(rank->step[i].name, name) == 0)
            return &rank->step[i];
    return NULL;
}

const ek_trace_rank *ek__trace_rank_at(const ek_trace_run *run, int at)
{
    return run && at >= 0 && at < run->n_ranks ? &run->rank[at] : NULL;
}

int64_t ek__known(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? 0 : ns;
}

int64_t ek__sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN + 1;
    return sum;
}

const ek_trace_breakdown *ek__rank_breakdown(const ek_trace_rank *rank)
{
    const ek_trace_breakdown *m = &rank->mean;
    bool steps = ek__known(m->total) > 0 || ek__known(m->computing) > 0 || ek__known(m->communication) > 0;
    return steps ? m : &rank->device;
}

static int64_t span_of(const ek_trace_breakdown *b)
{
    if (ek__known(b->total) > 0)
        return b->total;
    /* A producer's table has only the parts. */
    return ek__sum(ek__sum(ek__known(b->computing), ek__known(b->communication_not_overlapped)), ek__known(b->free));
}

int64_t ek__rank_span(const ek_trace_rank *rank)
{
    return span_of(ek__rank_breakdown(rank));
}

static int64_t clip(int64_t value, int64_t most)
{
    value = ek__known(value);
    return value < 0 ? 0 : value < most ? value : most < 0 ? 0 : most;
}

/* For a step of that length: time outside its device window is idle time too; where windows of steps overlap, the
 * length is the upper bound. */
static ek__breakdown_parts parts_within(const ek_trace_breakdown *b, int64_t length)
{
    int64_t outside = length - span_of(b), computing = clip(b->computing, length);
    int64_t exposed = clip(b->communication_not_overlapped, length - computing);
    int64_t idle = clip(ek__sum(ek__known(b->free), outside), length - computing - exposed);
    return (ek__breakdown_parts){length, computing, exposed, length - computing - exposed - idle, idle};
}

ek__breakdown_parts ek__parts_of_breakdown(const ek_trace_breakdown *b)
{
    return parts_within(b, span_of(b));
}

const char *const ek__rank_part_name[EK__N_RANK_PARTS] = {"computing",
                                                          "computing and communicating",
                                                          "exposed communication",
                                                          "waiting for a stage",
                                                          "exposed copies",
                                                          "waiting for data",
                                                          "host too slow",
                                                          "free"};

void ek__rank_parts(const ek_trace_rank *rank, int64_t value[EK__N_RANK_PARTS])
{
    const ek_trace_breakdown *b = ek__rank_breakdown(rank);
    ek__breakdown_parts parts = parts_within(b, ek__rank_step(rank));
    int64_t idle = parts.idle;
    value[EK__RANK_OVERLAPPED] = clip(b->overlapped, parts.computing);
    value[EK__RANK_ALONE] = parts.computing - value[EK__RANK_OVERLAPPED];
    value[EK__RANK_WAITING] = clip(ek__step_mean(rank, offsetof(ek_trace_step, pipeline_wait)), parts.exposed);
    value[EK__RANK_EXPOSED] = parts.exposed - value[EK__RANK_WAITING];
    value[EK__RANK_COPIES] = parts.copies;
    value[EK__RANK_DATA] = clip(ek__step_mean(rank, offsetof(ek_trace_step, data_loading_idle)), idle);
    value[EK__RANK_HOST] = clip(rank->dispatch.idle, idle - value[EK__RANK_DATA]);
    value[EK__RANK_FREE] = idle - value[EK__RANK_DATA] - value[EK__RANK_HOST];
}

ek__run_means ek__means_of_run(const ek_trace_run *run)
{
    ek__run_means sum = {.step = (double)ek__known(ek_trace_run_step(run).ns)};
    double longest = 0;
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_breakdown *b = ek__rank_breakdown(&run->rank[i]);
        longest = fmax(longest, (double)ek__rank_span(&run->rank[i]));
        sum.whole += (double)ek__rank_step(&run->rank[i]) / run->n_ranks;
        sum.span += (double)ek__rank_span(&run->rank[i]) / run->n_ranks;
        sum.computing += (double)ek__known(b->computing) / run->n_ranks;
        sum.exposed += (double)ek__known(b->communication_not_overlapped) / run->n_ranks;
        sum.idle += (double)ek__known(b->free) / run->n_ranks;
    }
    sum.step = sum.step > 0 ? sum.step : longest;
    return sum;
}

int64_t ek__step_mean(const ek_trace_rank *rank, size_t offset)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        int64_t value;
        memcpy(&value, (const char *)&rank->step[i] + offset, sizeof value);
        if (rank->step[i].warm_up || value == EK_TRACE_UNKNOWN)
            continue;
        sum += (double)value;
        n++;
    }
    if (n == 0)
        return EK_TRACE_UNKNOWN;
    double mean = sum / n;
    return mean > 9.2e18 ? INT64_MAX : mean < -9.2e18 ? -INT64_MAX : (int64_t)mean;
}

int64_t ek__rank_step(const ek_trace_rank *rank)
{
    int64_t step = ek_trace_rank_step(rank).ns;
    return step != EK_TRACE_UNKNOWN ? step : ek__rank_span(rank);
}

void ek__rank_label(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room)
{
    if (rank->rank != EK_TRACE_NO_RANK)
        snprintf(text, room, "rank %d", rank->rank);
    else
        snprintf(text, room, "trace %d", (int)(rank - run->rank));
}

void ek__view_rank_name(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room)
{
    int at = (int)(rank - run->rank), n;
    bool twin = rank->rank >= 0 &&
                ((at > 0 && rank[-1].rank == rank->rank) || (at + 1 < run->n_ranks && rank[1].rank == rank->rank));
    ek__rank_label(run, rank, text, room);
    n = (int)strlen(text);
    if (twin)
        snprintf(text + n, room - (size_t)n, " (trace %d)", at);
}

void ek__view_key(const ek_trace_run *run, const ek_trace_rank *rank, const char *name, char *text, size_t room)
{
    char label[64];
    ek__view_rank_name(run, rank, label, sizeof label);
    if (run->n_ranks > 1)
        snprintf(text, room, "%s: %s", label, name ? name : "");
    else
        snprintf(text, room, "%s", name ? name : "");
}

void ek__view_rank_title(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room)
{
    char label[64];
    ek__view_rank_name(run, rank, label, sizeof label);
    if (rank->stage >= 0)
        snprintf(text, room, "%s, stage %d", label, rank->stage);
    else
        snprintf(text, room, "%s", label);
}
