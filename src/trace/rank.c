/* What comparisons and diagnosis ask a rank alike, in one place, so that their sentences and figures agree. */
#include "trace/rank.h"

#include <math.h>
#include <stdio.h>

ek__who ek__who_is(const ek_trace_rank *rank)
{
    ek__who w;
    if (rank->rank == EK_TRACE_NO_RANK && rank->place >= 0)
        snprintf(w.text, sizeof w.text, "Trace %d", rank->place);
    else if (rank->rank == EK_TRACE_NO_RANK)
        snprintf(w.text, sizeof w.text, "The trace");
    else if (rank->stage >= 0)
        snprintf(w.text, sizeof w.text, "Rank %d (stage %d)", rank->rank, rank->stage);
    else
        snprintf(w.text, sizeof w.text, "Rank %d", rank->rank);
    return w;
}

double ek__recomputation(const ek_trace_rank *rank)
{
    const ek_trace_layers *layers = &rank->layers;
    double sum = 0;
    for (int i = 0; i < layers->n; i++)
        if (layers->layer[i].recompute.n > 0)
            sum += layers->layer[i].recompute.busy_mean * (double)layers->layer[i].recompute.n;
    if (sum > 0)
        return sum / (layers->n_steps > 0 ? layers->n_steps : 1);
    if (rank->recompute.n_regions == 0 || rank->recompute.recompute.busy == EK_TRACE_UNKNOWN)
        return 0;
    return (double)rank->recompute.recompute.busy / (rank->n_steps > 0 ? rank->n_steps : 1);
}

/* ---- exposed communication ---- */

int ek__rank_counted_steps(const ek_trace_rank *rank)
{
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++)
        n += !rank->step[i].warm_up;
    return n > 0 ? n : 1;
}

ek__exposure ek__collective_exposure(const ek_trace_collective *c)
{
    ek__exposure e = {.total = (double)c->duration, .count = 1};
    e.exposed = c->exposed == EK_TRACE_UNKNOWN ? 0 : (double)c->exposed;
    if (c->transit == EK_TRACE_UNKNOWN)
        e.unknown = e.exposed;
    else
        e.transfer = fmin(e.exposed, (double)c->transit);
    e.wait = e.exposed - e.transfer - e.unknown;
    e.at_most = c->transit != EK_TRACE_UNKNOWN && c->at_most;
    return e;
}

bool ek__collective_counts(const ek_trace_rank *rank, const ek_trace_collective *c)
{
    return c->step >= 0 && c->step < rank->n_steps ? !rank->step[c->step].warm_up : rank->n_steps == 0;
}

static void add_exposure(ek__exposure *sum, const ek__exposure *one)
{
    sum->exposed += one->exposed;
    sum->transfer += one->transfer;
    sum->wait += one->wait;
    sum->unknown += one->unknown;
    sum->total += one->total;
    sum->count += one->count;
    sum->at_most |= one->at_most;
}

static ek__exposure per_step(const ek_trace_rank *rank, ek__exposure e)
{
    double n = ek__rank_counted_steps(rank);
    e.exposed /= n;
    e.transfer /= n;
    e.wait /= n;
    e.unknown /= n;
    e.total /= n;
    e.count /= n;
    return e;
}

/* Tables tell how much of all communication is exposed and how long all transfers took, but not which transfer lies in
 * the exposed part: at most all of them do. Receives, where the table tells them apart, are pipeline traffic. */
static ek__exposure of_tables(const ek_trace_rank *rank)
{
    ek__exposure e = {0};
    double not_overlapped = 0, transit = 0;
    int n_steps = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *s = &rank->step[i];
        if (s->warm_up || s->own.communication_not_overlapped == EK_TRACE_UNKNOWN)
            continue;
        int64_t receive = s->receive_exposed != EK_TRACE_UNKNOWN ? s->receive_exposed : s->bubble;
        not_overlapped += (double)s->own.communication_not_overlapped;
        not_overlapped -= receive == EK_TRACE_UNKNOWN ? 0 : (double)receive;
        n_steps++;
    }
    for (int i = 0; i < rank->communication.n_comm_sums; i++) {
        const ek_trace_comm_sum *s = &rank->communication.comm_sum[i];
        if (s->p2p)
            continue;
        e.count += (double)s->count;
        e.total += s->elapse_ms * 1e6;
        transit += s->transit_ms * 1e6;
    }
    if (n_steps == 0 || !(not_overlapped > 0))
        return e;
    e.exposed = not_overlapped;
    if (e.count > 0)
        e.transfer = fmin(e.exposed, transit);
    else
        e.unknown = e.exposed;
    e.wait = e.exposed - e.transfer - e.unknown;
    return per_step(rank, e);
}

void ek__rank_exposures(const ek_trace_rank *rank, ek__exposure *of_sum)
{
    const ek_trace_communication *c = &rank->communication;
    for (int i = 0; i < c->n_sums; i++)
        of_sum[i] = (ek__exposure){0};
    for (int i = 0; i < c->n_collectives; i++) {
        const ek_trace_collective *one = &c->collective[i];
        if (one->sum < 0 || one->sum >= c->n_sums || !ek__collective_counts(rank, one))
            continue;
        ek__exposure e = ek__collective_exposure(one);
        add_exposure(&of_sum[one->sum], &e);
    }
    for (int i = 0; i < c->n_sums; i++)
        of_sum[i] = per_step(rank, of_sum[i]);
}

static void scale(ek__exposure *e, double factor)
{
    e->exposed *= factor;
    e->transfer *= factor;
    e->wait *= factor;
    e->unknown *= factor;
}

ek__exposure ek__rank_exposure(const ek_trace_rank *rank)
{
    const ek_trace_communication *c = &rank->communication;
    ek__exposure all = {0}, transfers = {0};
    bool timeline = false;
    for (int i = 0; i < c->n_collectives; i++) {
        const ek_trace_collective *one = &c->collective[i];
        timeline |= one->exposed != EK_TRACE_UNKNOWN;
        if (!ek__collective_counts(rank, one))
            continue;
        ek__exposure e = ek__collective_exposure(one);
        add_exposure(one->p2p ? &transfers : &all, &e);
    }
    if (!timeline)
        return of_tables(rank);
    /* Those at one time count once. */
    all = per_step(rank, all);
    double sum = all.exposed + per_step(rank, transfers).exposed;
    double both = (double)rank->mean.communication_not_overlapped;
    if (rank->mean.communication_not_overlapped > 0 && sum > both)
        scale(&all, both / sum);
    return all;
}
