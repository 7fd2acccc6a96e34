/* Finds steps that no fit should use: faster than the device's peak allows, or many times the predicted time. Their
 * cause is a wrong unit (milliseconds, tokens/s of all devices, of a node) or another job, and a fit would silently
 * turn it into constants. */
#include "calibrate/impossible.h"

#include <math.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/metrics.h"

/* A device as it starts has been seen to be off by less, also where launches bound small layers. */
static const double odd_factor = 5;
/* No noise and no constant is as large. */
static const double absurd_factor = 30;

/* TFLOP/s of a device, attention by the tokens that it sees: the least that the run can have done. */
static ek_status reached(const ek__run_item *item, double *out, ek_error *err)
{
    const ek_job_parallel *p = &item->job->parallel;
    ek_flops flops;
    ek_status status = ek_flops_count(item->job, EK_ATTENTION_CAUSAL, &flops, err);
    if (status)
        return status;
    double sequences = (double)p->batch * p->n_micro_batches * p->n_accumulation * p->n_batch_interleave;
    double tokens = sequences * p->seq_length / ((double)p->tensor * p->pipeline * p->context);
    *out = flops.model * tokens / item->seconds / 1e12;
    return EK_OK;
}

static double highest_peak(const ek_device *device)
{
    double peak = 0;
    for (int i = 0; i < EK_N_TYPES; i++)
        peak = fmax(peak, device->peak_tflops[i]);
    return peak;
}

/* NAN where it cannot be predicted; the fit reports the reason. */
static ek_status predicted(const ek__run_item *item, const ek_device *device, ek_cost_cache *cache, double *out,
                           ek_error *err)
{
    ek_step step;
    *out = NAN;
    ek_status status = ek_cost_step(item->job, device, cache, &step, err);
    if (status)
        return status == EK_ERR_INPUT ? EK_OK : status;
    *out = step.seconds;
    ek_step_clear(&step);
    return EK_OK;
}

static ek_status judge(ek__run_item *item, const ek_device *device, ek_cost_cache *cache, const ek_listener *listener,
                       ek_error *err)
{
    double tflops, seconds, peak = highest_peak(device);
    ek_status status = reached(item, &tflops, err);
    if (status == EK_OK)
        status = predicted(item, device, cache, &seconds, err);
    if (status)
        return status;
    double factor = item->seconds / seconds;
    if (tflops > peak)
        ek__snprintf(item->why, sizeof item->why, "%.4g s are %.4g TFLOP/s of a device, above the %.4g of %.60s",
                     item->seconds, tflops, peak, device->name);
    else if (factor > absurd_factor)
        ek__snprintf(item->why, sizeof item->why, "%.4g s are %.0f times the %.4g s that it takes on %.60s",
                     item->seconds, factor, seconds, device->name);
    item->suspect = item->why[0] != '\0';
    if (item->suspect)
        ek__warn(listener, item->origin,
                 "the run is left out: %s; correct its unit (seconds of a step, tokens/s of one device) or its job",
                 item->why);
    else if (factor > odd_factor || factor < 1 / odd_factor)
        ek__warn(
            listener, item->origin,
            "%.4g s a step are far from the %.4g s predicted on %s; check the unit (seconds of a step, tokens/s of "
            "one device) and the job",
            item->seconds, seconds, device->name);
    return EK_OK;
}

ek_status ek__leave_impossible(ek__collected *c, const ek_device *device, const ek_listener *listener, ek_error *err)
{
    ek_cost_cache *cache = ek_cost_cache_new(device);
    ek_status status = cache ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < c->n && status == EK_OK; i++)
        if (ek__is_priced(&c->item[i]))
            status = judge(&c->item[i], device, cache, listener, err);
    ek_cost_cache_free(cache);
    return status;
}
