/* Estimates a job: its step and its memory, each computed by one function, and the figures derived from both in one
 * line of arithmetic each. Not handled: activities of a run outside its steps (checkpoints, evaluation, restarts). */
#include <math.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "estimate/texts.h"

static const char *const ek__near_name[EK_N_NEARS] = {"unknown", "met", "close", "new"};
const char *const *const ek_near_name = ek__near_name;

#define SECONDS_OF_A_DAY 86400.0
#define MET              0.05              /* in powers of e: a shape within 5 % */
#define CLOSE            0.405465108108164 /* log 1.5 */

static ek_near near_of(double nearest)
{
    return isnan(nearest)     ? EK_NEAR_UNKNOWN
           : nearest <= MET   ? EK_NEAR_MET
           : nearest <= CLOSE ? EK_NEAR_CLOSE
                              : EK_NEAR_NEW;
}

const char *ek_near_words(double nearest, char *text, size_t size)
{
    switch (near_of(nearest)) {
    case EK_NEAR_MET:
        snprintf(text, size, "met cell: shapes like these were measured on the device");
        break;
    case EK_NEAR_CLOSE:
        ek__snprintf(text, size, "between measured cells: the nearest measured shape is a factor %.2f away",
                     exp(nearest));
        break;
    case EK_NEAR_NEW:
        ek__snprintf(text, size, "new cell: the nearest measured shape is a factor %.1f away; expect %.0f %%",
                     exp(nearest), 100 * EK_NEW_CELL_ERROR);
        break;
    case EK_NEAR_UNKNOWN:
    default:
        snprintf(text, size, "the device file has no measured shapes");
    }
    return text;
}

static ek_status fill_rates(ek_estimate *e, ek_error *err)
{
    const ek_metrics_input input = {.job = e->job, .device = e->device, .step_seconds = e->step.seconds};
    ek_status status = ek_metrics_compute(&input, &e->metrics, err);
    if (status)
        return status;
    e->tokens_per_step = e->metrics.global_batch * e->metrics.seq_length;
    bool wanted = e->wanted_tokens > 0;
    e->days = wanted ? e->wanted_tokens / e->tokens_per_step * e->step.seconds / SECONDS_OF_A_DAY : (double)NAN;
    e->wanted_tokens = wanted ? e->wanted_tokens : (double)NAN;
    return EK_OK;
}

/* The part of the step that has no error of its own. */
static double without_error(const ek_step *step)
{
    const double *seconds = step->stage[step->slowest].seconds;
    double sum = 0, none = 0;
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        if (step->basis[i] != EK_COST_MEASURED && !(step->error[i] > 0))
            none += seconds[i];
        sum += seconds[i];
    }
    return sum > 0 ? none / sum : 0;
}

ek_status ek_estimate_conclude(ek_estimate *estimate, ek_error *err)
{
    ek_status status = fill_rates(estimate, err);
    if (status)
        return status;
    ek_step_basis_share(&estimate->step, estimate->basis_share);
    estimate->share_without_error = without_error(&estimate->step);
    estimate->near = near_of(estimate->step.nearest);
    estimate->advice.n = estimate->warnings.n = 0;
    ek__estimate_advise(estimate);
    ek__estimate_doubt(estimate);
    return EK_OK;
}

/* Without a limit of its own a job may use all the memory of the device. The copy shares everything else with the
 * job. */
static ek_status predict_memory(ek_estimate *e, ek_error *err)
{
    ek_job limited = *e->job;
    e->limit_of_device = ek_memory_limit_by_device(&limited, e->device);
    return ek_memory_predict(&limited, NULL, &e->memory, err);
}

/* Layers request their own links; if they need none, gradients and states need none either. */
static ek_status fail_without_links(const ek_device *device, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "device '%s' has no link, which data parallel ranks or stages need; add tiers to its file, as in "
                    "tiers: [{size: 8, gbs: 300}, {gbs: 25}]",
                    device->name);
}

ek_status ek_estimate_of(const ek_job *job, const ek_device *device, double wanted_tokens, ek_estimate *out,
                         ek_error *err)
{
    ek_estimate e = {.job = job, .device = device, .wanted_tokens = wanted_tokens};
    ek_status status = ek_job_check(job, err);
    if (!status)
        status = ek_cost_step(job, device, NULL, &e.step, err);
    if (status)
        return status;
    status = isfinite(e.step.seconds) ? predict_memory(&e, err) : fail_without_links(device, err);
    if (!status)
        status = ek_estimate_conclude(&e, err);
    if (status)
        ek_estimate_clear(&e);
    else
        *out = e;
    return status;
}

void ek_estimate_clear(ek_estimate *estimate)
{
    ek_step_clear(&estimate->step);
    ek_memory_clear(&estimate->memory);
}
