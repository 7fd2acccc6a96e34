/* Predicts steps of jobs for a fit. Layers are priced once for all runs on a device, schedules laid out once for all
 * devices. */
#include "calibrate/job_runs.h"

#include <math.h>

#include "base/error.h"

void ek__job_runs_clear(ek__job_runs *runs)
{
    ek_cost_cache_free(runs->cache);
    runs->cache = NULL;
}

ek_status ek__job_runs_predict(void *user, const ek_device *device, const bool *wanted, double *out, ek_error *err)
{
    ek__job_runs *runs = user;
    if (runs->cache)
        ek_cost_cache_reset(runs->cache, device);
    else
        runs->cache = ek_cost_cache_new(device);
    ek_cost_cache *cache = runs->cache;
    ek_status status = cache ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < runs->n && status == EK_OK; i++) {
        ek_step step;
        ek_error why = {0};
        if (!wanted[i])
            continue;
        if (ek_interrupted(runs->interrupt))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "interrupted");
        status = ek_cost_step(runs->job[i], device, cache, &step, &why);
        out[i] = status == EK_OK && step.seconds > 0 ? log(step.seconds) : NAN;
        if (status == EK_OK)
            ek_step_clear(&step);
        else if (status == EK_ERR_INPUT) {
            runs->why = why;
            status = EK_OK;
        } else if (err) {
            *err = why;
        }
    }
    return status;
}
