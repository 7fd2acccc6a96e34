/* Finds a rank slower than the others of its stage: its computing less the median of the stage's, beyond the spread of
 * the others. The gain is the step with that rank as fast as the median, without the waits for it. Not compared: ranks
 * of different stages, which the load balance covers, and stages with a single rank. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/median.h"
#include "diagnose/bottleneck.h"

static const double most_spread = 4; /* times the median deviation of the stage's ranks */

typedef struct slowest {
    int rank; /* index; -1 */
    double excess, median;
    int n_peers;
} slowest;

static double computing_of(const ek_trace_rank *rank)
{
    return rank->mean.computing == EK_TRACE_UNKNOWN ? 0 : (double)rank->mean.computing;
}

/* Ranks of a stage in value[]. */
static size_t peers_of(const ek_trace_run *run, int stage, double *value)
{
    size_t n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        if (run->rank[r].stage == stage && computing_of(&run->rank[r]) > 0)
            value[n++] = computing_of(&run->rank[r]);
    return n;
}

static void compare_stage(const ek_trace_run *run, int stage, double *value, slowest *out)
{
    size_t n = peers_of(run, stage, value);
    if (n < 2)
        return;
    /* With two ranks the faster one is the reference. */
    double median = n == 2 ? fmin(value[0], value[1]) : ek__median(value, n);
    for (size_t i = 0; i < n; i++)
        value[i] = fabs(value[i] - median);
    double spread = n > 2 ? ek__median(value, n) : 0;
    for (int r = 0; r < run->n_ranks; r++) {
        double excess = computing_of(&run->rank[r]) - median;
        if (run->rank[r].stage != stage || excess <= most_spread * spread || excess <= out->excess)
            continue;
        *out = (slowest){r, excess, median, (int)n - 1};
    }
}

/* `rank`: index in the run. */
static const ek_trace_vote *vote_of(const ek_trace_run *run, int rank)
{
    for (int i = 0; i < run->n_votes; i++)
        if (run->vote[i].at == rank)
            return &run->vote[i];
    return NULL;
}

static ek_status gain_of(const ek__measured *m, const slowest *s, double *ns, ek_error *err)
{
    *ns = s->excess;
    if (!m->replay)
        return EK_OK;
    const ek_trace_rank *rank = &m->run->rank[s->rank];
    double *faster = ek__alloc((size_t)m->run->n_ranks, sizeof *faster);
    if (!faster)
        return ek__no_memory(err);
    double idle = rank->mean.free == EK_TRACE_UNKNOWN ? 0 : (double)rank->mean.free;
    faster[s->rank] = s->excess / (computing_of(rank) + idle);
    ek__change change = {.faster = faster};
    ek_status status = ek__replay_gain(m->replay, &change, ns, err);
    free(faster);
    return status;
}

static ek_status show(const ek__diagnose *d, const slowest *s, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *rank = &d->measured.run->rank[s->rank];
    const ek_trace_vote *vote = vote_of(d->measured.run, s->rank);
    ek_status status = ek__bottleneck_show(
        b,
        (ek_evidence){
            ek__pool_format(d->out->pool,
                            "%s computes %.2f ms a step, the median of its stage's ranks is %.2f ms (%d others)",
                            ek__who_is(rank).text, computing_of(rank) / 1e6, s->median / 1e6, s->n_peers),
            ek__file_of(rank), NULL, rank->rank},
        err);
    if (status || !vote || vote->n_shortest == 0)
        return status;
    return ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(d->out->pool, "%s was last in %lld of %lld compared collectives",
                                      ek__who_is(rank).text, (long long)vote->n_shortest, (long long)vote->n_compared),
                      NULL, NULL, rank->rank},
        err);
}

static ek_status add(ek__diagnose *d, const slowest *s, ek_error *err)
{
    const ek_trace_rank *rank = &d->measured.run->rank[s->rank];
    double gain;
    ek_status status = gain_of(&d->measured, s, &gain, err);
    if (status)
        return status;
    ek_bottleneck b = {
        .id = "slow-rank",
        .topic = EK_TOPIC_BALANCE,
        .basis = EK_BASIS_DERIVED,
        .cost_seconds = s->excess / 1e9,
        .gain_seconds = gain / 1e9,
        .rests_on = "a replay of the measured steps of all ranks with that rank as fast as the median of its stage"};
    b.title = ek__pool_format(d->out->pool, "%s is slower than the others of its stage: %.2f ms of a step, %.1f %%.",
                              ek__who_is(rank).text, s->excess / 1e6, 100 * s->excess / d->step_ns);
    const char *name = rank->rank >= 0 ? ek__pool_format(d->out->pool, "rank %d", rank->rank)
                                       : ek__pool_format(d->out->pool, "%s", ek__who_is(rank).text);
    const char *device = rank->device_id >= 0 ? ek__pool_format(d->out->pool, ", device %d", rank->device_id) : "";
    b.setting = name && device ? ek__pool_format(d->out->pool, "%s%s%s%s", name, rank->host ? " on " : "",
                                                 rank->host ? rank->host : "", device)
                               : NULL;
    b.change =
        "Check its device (clock, temperature, memory errors, HCCS or NVLink state), its host (other processes, CPU "
        "binding) and its additional work (logging, saving, longer sequences); replace the node if it stays slow.";
    status = show(d, s, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

ek_status ek__bottleneck_slow_rank(ek__diagnose *d, ek_error *err)
{
    const ek_trace_run *run = d->measured.run;
    if (!run || run->n_ranks < 2)
        return ek__bottleneck_needs(d, "a rank slower than others", "traces of several ranks of a stage",
                                    ek__how_to_trace(d), err);
    slowest s = {.rank = -1};
    double *value = ek__alloc((size_t)run->n_ranks, sizeof *value);
    if (!value)
        return ek__no_memory(err);
    int highest = -1;
    for (int r = 0; r < run->n_ranks; r++)
        highest = run->rank[r].stage > highest ? run->rank[r].stage : highest;
    for (int stage = -1; stage <= highest; stage++)
        compare_stage(run, stage, value, &s);
    free(value);
    return s.rank >= 0 && s.excess >= ek__least_ns(d) ? add(d, &s, err) : EK_OK;
}
