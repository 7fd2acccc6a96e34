/* An assumed rule that measured peaks contradict: the alternative, of all assumed rules, whose prediction is nearest to
 * the peaks. It is reported where it explains more than half of the error, and not for an error of a few percent, which
 * the constants that calibration fits explain as well. */
#include <stdio.h>

#include "evenkeel/memory.h"
#include "memory/assumed.h"

static const double LEAST_GAIN = 0.02; /* of the peaks, in the mean */

static ek_status mean_error(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual, double *error,
                            ek_error *err)
{
    const ek_memory_options options = {.without_allocation = !actual, .without_top = true};
    ek_memory memory;
    ek_status status = ek_memory_predict(job, &options, &memory, err);
    if (status)
        return status;
    *error = ek_memory_compare(&memory, peaks, n_peaks, actual).mean;
    ek_memory_clear(&memory);
    return EK_OK;
}

/* Error with an assignment. Placing the tensors, which takes long, is left out where the rule changes none of the peaks
 * without fragments: used_error is that of the job as it is. */
static ek_status error_with(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual, double used_error,
                            ek_memory_contradiction *now, ek_error *err)
{
    ek_job changed = *job; /* borrows all that it points to */
    double used = 0;
    now->other_error = now->error;
    ek_status status = ek_rules_set(&changed.rules, now->assignment, err);
    if (!status)
        status = mean_error(&changed, peaks, n_peaks, false, &used, err);
    if (status || used == used_error)
        return status;
    if (actual)
        return mean_error(&changed, peaks, n_peaks, true, &now->other_error, err);
    now->other_error = used;
    return EK_OK;
}

ek_status ek_memory_contradicted(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual,
                                 ek_memory_contradiction *out, ek_error *err)
{
    const ek_rules usual = ek_rules_default(job->framework);
    ek_memory_contradiction best = {0};
    double used_error = 0;
    ek_status status = mean_error(job, peaks, n_peaks, actual, &best.error, err);
    if (!status)
        status = mean_error(job, peaks, n_peaks, false, &used_error, err);
    best.other_error = best.error;
    for (int rule = 0; ek_rule_names[rule] && !status; rule++) {
        char other[EK__MAX_ALTERNATIVES][EK__ALTERNATIVE];
        int n = ek__assumed_alternatives(job, &usual, rule, other);
        for (int i = 0; i < n && !status; i++) {
            ek_memory_contradiction now = {.rule = ek_rule_names[rule], .error = best.error};
            snprintf(now.assignment, sizeof now.assignment, "%.50s=%.40s", now.rule, other[i]);
            status = error_with(job, peaks, n_peaks, actual, used_error, &now, err);
            if (!status && now.other_error < best.other_error)
                best = now;
        }
    }
    if (status)
        return status;
    bool found = best.rule && best.other_error < best.error / 2 && best.error - best.other_error > LEAST_GAIN;
    *out = found ? best : (ek_memory_contradiction){0};
    if (found)
        ek_rules_get(&job->rules, best.rule, out->value, sizeof out->value);
    return EK_OK;
}
