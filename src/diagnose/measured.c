/* Computes the measured step and the gain of removing losses from it. The step is ek_trace_run_step(). A loss is
 * removed in a replay of all ranks where the replay reproduces the measured steps; otherwise, where ranks are missing
 * or their clocks do not agree, it counts in full on the rank that loses most, as an upper bound of the gain. */
#include "diagnose/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"

static const double most_replay_error = 0.02;

ek_status ek__measured_new(const ek_trace_run *run, ek__measured *out, ek_error *err)
{
    ek__measured m = {.run = run, .step_ns = NAN};
    if (run)
        m.step = ek_trace_run_step(run);
    if (!run || m.step.n_steps == 0) {
        *out = (ek__measured){.step_ns = NAN};
        return EK_OK;
    }
    m.rank = &run->rank[m.step.rank];
    m.step_ns = (double)m.step.ns;
    ek_status status = ek__replay_new(run, &m.replay, err);
    if (status)
        return status;
    if (!(fabs(ek__replay_error(m.replay)) <= most_replay_error)) {
        ek__replay_free(m.replay);
        m.replay = NULL;
    }
    *out = m;
    return EK_OK;
}

void ek__measured_clear(ek__measured *measured)
{
    ek__replay_free(measured->replay);
    *measured = (ek__measured){0};
}

bool ek__losses_add(ek__losses *losses, int rank, int64_t at, double ns)
{
    if (!(ns > 0))
        return true;
    ek__loss *room = ek__with_room(losses->loss, &losses->capacity, losses->n + 1, sizeof *room);
    if (!room)
        return false;
    losses->loss = room;
    room[losses->n++] = (ek__loss){rank, at, ns};
    return true;
}

/* Losses of a rank follow one another. */
double ek__losses_most(const ek__measured *m, const ek__losses *losses, int *rank)
{
    double most = 0;
    for (size_t i = 0, end; i < losses->n; i = end) {
        double sum = 0;
        for (end = i; end < losses->n && losses->loss[end].rank == losses->loss[i].rank; end++)
            sum += losses->loss[end].ns;
        sum /= ek__counted_steps(&m->run->rank[losses->loss[i].rank]);
        if (sum > most) {
            most = sum;
            if (rank)
                *rank = losses->loss[i].rank;
        }
    }
    return most;
}

double ek__most_idle(const ek__measured *m)
{
    int64_t computing = m->rank->mean.computing;
    return fmax(0, m->step_ns - (computing == EK_TRACE_UNKNOWN ? 0 : (double)computing));
}

ek_status ek__losses_gain(const ek__measured *m, ek__losses *losses, double *ns, ek_error *err)
{
    if (!m->replay) {
        *ns = ek__losses_most(m, losses, NULL);
        return EK_OK;
    }
    ek__change change = {.loss = losses->loss, .n_losses = losses->n};
    return ek__replay_gain(m->replay, &change, ns, err);
}

const char *ek__gain_rests_on(const ek__measured *m)
{
    return m->replay ? "a replay of the measured steps of all ranks without that time, with all waits between ranks "
                       "computed again"
                     : "the time of the rank with most of it; the traces of the ranks cannot be replayed together, so "
                       "it is an upper bound of the gain";
}

const char *ek__file_of(const ek_trace_rank *rank)
{
    return rank->n_sources > 0 ? rank->source[0].path : NULL;
}
