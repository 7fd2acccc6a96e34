/* Figures of a job for findings, by the models of memory and of the step. A job that cannot be predicted has none; only
 * lack of memory is an error. */
#include <math.h>

#include "base/error.h"
#include "evenkeel/cost.h"
#include "evenkeel/memory.h"
#include "lint/predict.h"

static double to_mb(double bytes)
{
    return bytes / 0x1p20;
}

ek_status ek__lint_predict(const ek_job *job, ek_error *err, ek__lint_held *out)
{
    ek_memory memory;
    ek_error reason;
    const ek_memory_options options = {.without_allocation = true, .without_top = true};
    ek_status status = ek_memory_predict(job, &options, &memory, &reason);
    *out = (ek__lint_held){0};
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    if (status)
        return EK_OK;
    out->known = true;
    for (int s = 0; s < memory.n_stages; s++) {
        const ek_memory_stage *stage = &memory.stage[s];
        /* Whole MB as `evenkeel memory` prints them, so that the same figure reads the same. */
        const double peak = floor(to_mb((double)stage->used_peak)),
                     kept = floor(to_mb((double)stage->part[EK_PART_ACTIVATIONS])),
                     states = floor(to_mb((double)stage->part[EK_PART_OPTIMIZER]));
        out->peak_mb = peak > out->peak_mb ? peak : out->peak_mb;
        out->activations_mb = kept > out->activations_mb ? kept : out->activations_mb;
        out->optimizer_mb = states > out->optimizer_mb ? states : out->optimizer_mb;
    }
    ek_memory_clear(&memory);
    return EK_OK;
}

ek_status ek__lint_predict_step(const ek__lint_run *run, const ek_job *job, double *seconds, double *bubble)
{
    ek_step step;
    ek_error reason;
    *seconds = NAN;
    if (!run->options->device)
        return EK_OK;
    ek_status status = ek_cost_step(job, run->options->device, NULL, &step, &reason);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(run->err);
    if (status)
        return EK_OK;
    *seconds = step.seconds;
    if (bubble)
        *bubble = step.stage[step.slowest].seconds[EK_STEP_BUBBLE] / step.seconds;
    ek_step_clear(&step);
    return EK_OK;
}

ek_status ek__lint_predict_change(const ek__lint_run *run, const ek_job *job, const ek_job *changed, double *change)
{
    double now, then = NAN;
    ek_status status = ek__lint_predict_step(run, job, &now, NULL);
    if (!status)
        status = ek__lint_predict_step(run, changed, &then, NULL);
    *change = then / now - 1;
    return status;
}
