/* Which plan to take once trials were measured and the device calibrated to them. Few runs determine few constants, so
 * that the new best plan may be one that nothing was learnt of. It is taken where it is shorter than the best run by
 * more than the error of their difference; else the run is. Where the calibration moved a constant further than is
 * believable, it explains the runs by something that they are not about, and says nothing of other plans. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/layout_advice.h"
#include "layout/sensitivity.h"

#define FAR 2 /* widths of what is known before a fit */

/* The run as a plan on the calibrated device: borrows the job, owns the step. */
static ek_status priced(const ek_job *job, const ek_device *device, ek_layout_plan *out, ek_error *err)
{
    *out = (ek_layout_plan){.job = *job};
    return ek_cost_step(job, device, NULL, &out->estimate.step, err);
}

static bool is_believable(const ek_device *start, const ek_device *device)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    int n = ek__constants_of(start, constant);
    for (int k = 0; k < n; k++) {
        double was = ek__constant_prior(&constant[k], ek__constant_get(&constant[k], start));
        double is = ek__constant_prior(&constant[k], ek__constant_get(&constant[k], device));
        if (fabs(is - was) > FAR * ek__constant_width(start, &constant[k]))
            return false;
    }
    return true;
}

ek_status ek_layout_take_after_trials(const ek_job *again, const ek_job *const *tried, const double *seconds, int n,
                                      const ek_device *start, const ek_device *device, int *taken, ek_error *err)
{
    ek_layout_plan pair[2] = {{.group = 0}};
    double error[4];
    int best = 0;
    if (n < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no trial was measured");
    for (int i = 1; i < n; i++)
        if (seconds[i] < seconds[best])
            best = i;
    if (!is_believable(start, device)) {
        *taken = best;
        return EK_OK;
    }
    ek_status status = priced(again, device, &pair[0], err);
    if (!status)
        status = priced(tried[best], device, &pair[1], err);
    if (!status)
        status = ek_layout_difference_errors(pair, 2, device, error, err);
    if (!status)
        *taken = pair[1].estimate.step.seconds - pair[0].estimate.step.seconds > error[1] ? -1 : best;
    ek_step_clear(&pair[0].estimate.step);
    ek_step_clear(&pair[1].estimate.step);
    return status;
}
