/* Predicts the step of a run with known settings and device, and its throughput and utilisation by the formulas for a
 * measured one. */
#include <math.h>

#include "evenkeel/metrics.h"

ek_status ek_metrics_predict(const ek_metrics_input *input, ek_metrics_prediction *out, ek_error *err)
{
    ek_metrics_input of_step = *input;
    ek_metrics_prediction p = {.metrics.step_seconds = NAN};
    ek_metrics measured;
    ek_status status = ek_metrics_compute(input, &measured, err);
    if (!status)
        status = ek_cost_step(input->job, input->device, NULL, &p.step, err);
    if (status)
        return status;
    of_step.step_seconds = p.step.seconds;
    of_step.samples_per_second = of_step.tokens_per_second_per_device = 0;
    status = ek_metrics_compute(&of_step, &p.metrics, err);
    if (status) {
        ek_step_clear(&p.step);
        return status;
    }
    ek_step_basis_share(&p.step, p.basis_share);
    p.error = p.step.seconds / measured.step_seconds - 1;
    *out = p;
    return EK_OK;
}

void ek_metrics_prediction_clear(ek_metrics_prediction *prediction)
{
    ek_step_clear(&prediction->step);
}
