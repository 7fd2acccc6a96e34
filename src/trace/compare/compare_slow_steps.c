/* Finds steps that take longer than the others, with the differences: their time by activity (ek_trace_step.activity)
 * against the median over the steps that count. The rank is that of the run's step; steps that end before the next one
 * begins have their measured length, others may have been longer and are left out. One finding, of all slow steps:
 * their time beyond the median, spread over the steps. O(steps log steps). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

static const double slow_from = 1.1;    /* medians */
static const double least_share = 0.01; /* mean loss of a step */
static const double named_from = 0.1;   /* of a step's time beyond the median */
enum { FEWEST = 3, MOST_NAMED = 3 };

typedef struct steps {
    const ek_trace_rank *rank;
    int n;        /* that are compared */
    int *at;      /* [n]: in rank->step */
    double *ns;   /* [n]: lengths */
    double *sort; /* [n]: scratch */
    double median, usual[EK_N_TRACE_ACTIVITIES];
} steps;

static const char *const words[EK_N_TRACE_ACTIVITIES] = {
    "of the forward pass",    "of recomputation",   "of the backward pass", "of the optimizer",
    "after the optimizer",    "of other computing", "of other collectives", "of reduction of gradients",
    "between stages",         "of copies",          "of waiting for data",  "of waiting for the host",
    "idle for another reason"};

static const char *advice_for(int activity)
{
    switch (activity) {
    case EK_TRACE_DATA:
        return "Check the data pipeline at that step: a new file or epoch, a cold cache, too few workers; prefetch "
               "more batches.";
    case EK_TRACE_HOST:
    case EK_TRACE_IDLE:
        return "Check the host at that time: checkpoints, evaluation, logging, garbage collection (gc.disable() and a "
               "fixed interval), other jobs on the machine.";
    case EK_TRACE_COLLECTIVES:
    case EK_TRACE_GRADIENTS:
    case EK_TRACE_PIPELINE:
        return "Check that step on the last ranks: communication that takes longer usually waits for one of them.";
    case EK_TRACE_COPIES:
        return "Check the copies of that step: a checkpoint, weights that are moved to the host, logging of tensors.";
    default:
        return "Check whether that step has other shapes, and the device clock: the same operators should take the "
               "same time.";
    }
}

static double *fill(const steps *s, int activity)
{
    for (int i = 0; i < s->n; i++)
        s->sort[i] = activity < 0 ? s->ns[i] : (double)s->rank->step[s->at[i]].activity[activity];
    return s->sort;
}

static void gather(steps *s)
{
    for (int i = 0; i < s->rank->n_steps; i++) {
        bool begin_to_begin;
        const ek_trace_step *step = &s->rank->step[i];
        int64_t length = ek_trace_step_length(s->rank, i, &begin_to_begin);
        if (step->warm_up || step->activity[0] == EK_TRACE_UNKNOWN || !begin_to_begin)
            continue;
        s->at[s->n] = i;
        s->ns[s->n++] = (double)length;
    }
}

/* The activities of a step that exceed their usual time most, in this order. @return their number */
static int what_differs(const steps *s, int step, int *out)
{
    const ek_trace_step *it = &s->rank->step[s->at[step]];
    double beyond = s->ns[step] - s->median, last = INFINITY;
    int n = 0;
    while (n < MOST_NAMED) {
        int most = -1;
        double most_ns = named_from * beyond;
        for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++) {
            double more = (double)it->activity[a] - s->usual[a];
            if (more > most_ns && more < last) {
                most = a;
                most_ns = more;
            }
        }
        if (most < 0)
            break;
        out[n++] = most;
        last = most_ns;
    }
    return n;
}

static ek_status tell(const steps *s, int worst, int n_slow, double lost, ek_trace_run *run, ek_error *err)
{
    int activity[MOST_NAMED], n = what_differs(s, worst, activity);
    const ek_trace_step *step = &s->rank->step[s->at[worst]];
    const char *parts = "";
    for (int i = 0; i < n && parts; i++)
        parts =
            ek__pool_format(run->pool, "%s%s%.2f ms more %s", parts, i ? ", " : ": ",
                            ((double)step->activity[activity[i]] - s->usual[activity[i]]) / 1e6, words[activity[i]]);
    if (!parts)
        return ek__no_memory(err);
    const char *text = ek__pool_format(
        run->pool, "%s: step %s takes %.2f ms, %.2f more than the median of %d steps%s%s.", ek__who_is(s->rank).text,
        step->name[0] ? step->name : "(without a name)", s->ns[worst] / 1e6, (s->ns[worst] - s->median) / 1e6, s->n,
        parts,
        n_slow > 1 ? ek__pool_format(run->pool, "; %d other slow step%s", n_slow - 1, n_slow == 2 ? "" : "s") : "");
    ek_trace_finding *list = ek__pool_push(run->pool, run->finding, run->n_findings, sizeof *list);
    if (!text || !list)
        return ek__no_memory(err);
    run->finding = list;
    list[run->n_findings++] = (ek_trace_finding){.id = "slow-steps",
                                                 .rank = s->rank->rank,
                                                 .stage = s->rank->stage,
                                                 .at = (int)(s->rank - run->rank),
                                                 .step = step->name[0] ? step->name : NULL,
                                                 .text = text,
                                                 .advice = advice_for(n > 0 ? activity[0] : EK_TRACE_IDLE),
                                                 .share = lost / ek__rank_step_ns(s->rank),
                                                 .gain_ns = (int64_t)lost};
    return EK_OK;
}

static ek_status compare(steps *s, ek_trace_run *run, ek_error *err)
{
    int worst = -1, n_slow = 0;
    double lost = 0;
    gather(s);
    if (s->n < FEWEST)
        return EK_OK;
    s->median = ek__median(fill(s, -1), (size_t)s->n);
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
        s->usual[a] = ek__median(fill(s, a), (size_t)s->n);
    for (int i = 0; i < s->n; i++) {
        if (s->ns[i] <= slow_from * s->median)
            continue;
        n_slow++;
        lost += (s->ns[i] - s->median) / s->n;
        worst = worst < 0 || s->ns[i] > s->ns[worst] ? i : worst;
    }
    return worst < 0 || lost < least_share * s->median ? EK_OK : tell(s, worst, n_slow, lost, run, err);
}

ek_status ek__compare_slow_steps(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    int at = ek_trace_run_step(run).rank;
    if (at < 0)
        return EK_OK;
    size_t n = (size_t)run->rank[at].n_steps;
    steps s = {&run->rank[at], .at = ek__alloc(n, sizeof *s.at), .ns = ek__alloc(n, sizeof *s.ns),
               .sort = ek__alloc(n, sizeof *s.sort)};
    ek_status status = s.at && s.ns && s.sort ? compare(&s, run, err) : ek__no_memory(err);
    free(s.at);
    free(s.ns);
    free(s.sort);
    return status;
}
