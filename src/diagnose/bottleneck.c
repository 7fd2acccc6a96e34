/* Helpers of bottlenecks: add to the diagnosis a finding with its evidence, a finding that is too small to list, a
 * skipped check, a note. */
#include "diagnose/bottleneck.h"

#include <math.h>

#include "base/error.h"

double ek__least_ns(const ek__diagnose *d)
{
    return d->step_ns > 0 ? d->options->least_share * d->step_ns : 0;
}

ek_status ek__bottleneck_show(ek_bottleneck *bottleneck, ek_evidence evidence, ek_error *err)
{
    if (!evidence.text)
        return ek__no_memory(err);
    if (bottleneck->n_evidence < EK_MAX_EVIDENCE)
        bottleneck->evidence[bottleneck->n_evidence++] = evidence;
    return EK_OK;
}

ek_status ek__bottleneck_below(ek__diagnose *d, const char *id, double share, ek_error *err)
{
    if (!(share >= 0.0005))
        return EK_OK;
    d->below = ek__pool_format(d->out->pool, "%s%s%s %.1f %%", d->below ? d->below : "", d->below ? ", " : "", id,
                               100 * share);
    return d->below ? EK_OK : ek__no_memory(err);
}

ek_status ek__bottleneck_add(ek__diagnose *d, ek_bottleneck *bottleneck, ek_error *err)
{
    ek_diagnosis *out = d->out;
    /* The cost of a rank's loss that adds up along the pipeline is the gain of the step without it, not the rank's
     * time.
     */
    if (bottleneck->gain_seconds != INFINITY && bottleneck->gain_seconds > bottleneck->cost_seconds)
        bottleneck->cost_seconds = bottleneck->gain_seconds;
    if (bottleneck->cost_seconds * 1e9 > d->step_ns)
        bottleneck->cost_seconds = d->step_ns / 1e9;
    if (bottleneck->gain_seconds != INFINITY && bottleneck->gain_seconds > bottleneck->cost_seconds)
        bottleneck->gain_seconds = bottleneck->cost_seconds;
    if (!(bottleneck->peak_mb > 0))
        bottleneck->peak_mb = 0;
    bottleneck->share = bottleneck->cost_seconds * 1e9 / d->step_ns;
    bottleneck->gain_share = bottleneck->gain_seconds * 1e9 / d->step_ns;
    double most = fmax(bottleneck->gain_share, isnan(bottleneck->gain_share) ? bottleneck->share : -INFINITY);
    if (most < d->options->least_share) /* false for NAN */
        return ek__bottleneck_below(d, bottleneck->id, most, err);
    if (!bottleneck->title || !bottleneck->setting || !bottleneck->change || !bottleneck->rests_on)
        return ek__no_memory(err);
    ek_bottleneck *list = ek__pool_push(out->pool, out->bottleneck, out->n_bottlenecks, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    out->bottleneck = list;
    list[out->n_bottlenecks++] = *bottleneck;
    return EK_OK;
}

ek_status ek__bottleneck_needs(ek__diagnose *d, const char *what, const char *needs, const char *how, ek_error *err)
{
    ek_diagnosis *out = d->out;
    if (!how)
        return ek__no_memory(err);
    ek_not_looked_at *list = ek__pool_push(out->pool, out->not_looked_at, out->n_not_looked_at, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    out->not_looked_at = list;
    list[out->n_not_looked_at++] = (ek_not_looked_at){what, needs, how};
    return EK_OK;
}

ek_status ek__bottleneck_note(ek__diagnose *d, const char *text, ek_error *err)
{
    ek_diagnosis *out = d->out;
    const char **list = text ? ek__pool_push(out->pool, out->note, out->n_notes, sizeof *list) : NULL;
    if (!list)
        return ek__no_memory(err);
    out->note = list;
    list[out->n_notes++] = text;
    return EK_OK;
}
