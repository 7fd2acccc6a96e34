/* Proposes the next runs to measure: those of the candidates that reduce the errors of predictions most, with the
 * expected step of each. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "calibrate/calibrating.h"
#include "calibrate/candidates.h"

/* Layers unlike any measured ones have the error of new cells; the constants' part of it is known separately. */
static void expect(const ek__calibrating *k, const ek_job *job, double spread, ek_proposed_run *out)
{
    double at[EK__N_LAYER_COORDINATES];
    if (k->out.n_layers > 0) {
        ek__layer_coordinates(job, ek__job_layer_kind(job), at);
        out->new_cell = ek__layer_table_nearest(k->out.device.layers, at) > k->out.layer_width;
    }
    out->expected = hypot(spread, k->found.fit.noise);
    if (out->new_cell)
        out->expected = fmax(out->expected, k->out.new_error);
}

static ek_status design(ek__calibrating *k, const ek__candidates *candidates)
{
    const ek_job *job[EK__MAX_CANDIDATES];
    double value[EK__MAX_CANDIDATES], spread[EK_N_PROPOSED + 1];
    int chosen[EK_N_PROPOSED], n_chosen = EK_N_PROPOSED, n = candidates->n, m = k->found.fit.n_constants;
    for (int i = 0; i < n; i++)
        job[i] = &candidates->job[i];
    ek__job_runs runs = {.n = n, .job = job, .interrupt = k->input->interrupt};
    double *gradient = ek__alloc((size_t)n * (size_t)m, sizeof *gradient);
    ek_status status = gradient ? EK_OK : ek__no_memory(k->err);
    if (status == EK_OK)
        status = ek__fit_jacobian(&k->found.fit, n, ek__job_runs_predict, &runs, value, gradient, k->err);
    if (status == EK_OK)
        status = ek__fit_design(&k->found.fit, n, gradient, &n_chosen, chosen, spread, k->err);
    if (status == EK_OK) {
        k->out.n_candidates = n;
        k->out.n_proposed = n_chosen;
        k->out.candidate_error = hypot(spread[0], k->found.fit.noise);
        for (int i = 0; i < n_chosen; i++) {
            ek_proposed_run *p = &k->out.proposed[i];
            int from = candidates->from[chosen[i]];
            ek__candidate_name(job[chosen[i]], p->what, sizeof p->what);
            ek__candidate_name(k->job[from], p->from, sizeof p->from);
            ek__candidate_change(k->job[from], job[chosen[i]], p->change, sizeof p->change);
            p->seconds = exp(value[chosen[i]]);
            expect(k, job[chosen[i]], ek__fit_spread(&k->found.fit, gradient + (size_t)chosen[i] * (size_t)m), p);
            p->after = hypot(spread[i + 1], k->found.fit.noise);
        }
    }
    free(gradient);
    ek__job_runs_clear(&runs);
    return status;
}

ek_status ek__propose_runs(ek__calibrating *k)
{
    ek__candidates *candidates = ek__alloc(1, sizeof *candidates);
    if (!candidates)
        return ek__no_memory(k->err);
    ek_status status = ek__candidates_make(k->job, k->n, &k->out.device, candidates, k->err);
    if (status == EK_OK && candidates->n > 0)
        status = design(k, candidates);
    ek__candidates_clear(candidates);
    free(candidates);
    return status;
}
