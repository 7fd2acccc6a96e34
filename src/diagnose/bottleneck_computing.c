/* Finds operators that could be faster: operators that a fused one replaces, on AI CPU, in a slow type or shape,
 * transforms of layouts that undo each other. src/compute finds them and their losses; the gain is the step without
 * these losses.
 */
#include <stdlib.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"
#include "evenkeel/compute.h"

static ek_status collect(const ek_compute_finding *f, ek__losses *losses, const ek_trace_run *run, ek_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        if (ek__in_counted_step(&run->rank[f->loss[i].rank], f->loss[i].start) &&
            !ek__losses_add(losses, f->loss[i].rank, f->loss[i].start, (double)f->loss[i].lost))
            return ek__no_memory(err);
    return EK_OK;
}

/* The place that loses most on the rank. */
static const ek_compute_loss *largest(const ek_compute_finding *f, int rank)
{
    const ek_compute_loss *most = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (f->loss[i].rank == rank && (!most || f->loss[i].lost > most->lost))
            most = &f->loss[i];
    return most;
}

static ek_status show(const ek__diagnose *d, const ek_compute_finding *f, int rank, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    const ek_compute_loss *most = largest(f, rank);
    ek_status status = ek__bottleneck_show(b,
                                           (ek_evidence){ek__pool_format(d->out->pool, "%s: %s take %.2f ms of a step",
                                                                         ek__who_is(r).text, f->what, f->time / 1e6),
                                                         ek__file_of(r), NULL, r->rank},
                                           err);
    if (status || !most)
        return status;
    return ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(d->out->pool, "the largest loss takes %.3f ms, of which %.3f ms are lost",
                                      (double)most->time / 1e6, (double)most->lost / 1e6),
                      ek__file_of(r), ek__step_name_at(r, most->start), r->rank},
        err);
}

static ek_status add(ek__diagnose *d, const ek_compute_finding *f, ek__losses *losses, ek_error *err)
{
    int rank = -1;
    double gain, cost = ek__losses_most(&d->measured, losses, &rank);
    ek_status status = rank >= 0 ? ek__losses_gain(&d->measured, losses, &gain, err) : EK_OK;
    if (status || rank < 0)
        return status;
    ek_bottleneck b = {.id = ek_compute_fault_name[f->fault],
                       .topic = EK_TOPIC_OPERATORS,
                       .basis = EK_BASIS_DERIVED,
                       .cost_seconds = cost / 1e9,
                       .gain_seconds = gain / 1e9,
                       .setting = f->setting,
                       .change = f->instead};
    b.title = ek__pool_format(d->out->pool, "%s: %.2f ms of a step, %.1f %%, could be saved.",
                              ek_compute_fault_title[f->fault], cost / 1e6, 100 * cost / d->step_ns);
    b.rests_on = ek__pool_format(d->out->pool, "%s; %s", f->estimate, ek__gain_rests_on(&d->measured));
    status = show(d, f, rank, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

ek_status ek__bottleneck_computing(ek__diagnose *d, ek_error *err)
{
    const ek_trace_run *run = d->measured.run;
    ek_status status = EK_OK;
    for (int i = 0; run && run->compute && i < run->compute->n_findings && status == EK_OK; i++) {
        ek__losses losses = {0};
        status = collect(&run->compute->finding[i], &losses, run, err);
        if (status == EK_OK)
            status = add(d, &run->compute->finding[i], &losses, err);
        free(losses.loss);
    }
    return status;
}
