/* Texts shared by the writers of a calibration. */
#include <math.h>
#include <stdio.h>

#include "report/calibration_internal.h"

const char *const ek__predicted_title[EK__N_PREDICTED] = {"start", "fit", "its group left out", "kept back"};

bool ek__calibrated_has(const ek_calibrated_run *run, ek__predicted which)
{
    switch (which) {
    case EK__PREDICTED_START:
        return run->used && run->before > 0; /* since the errors of the start are of these */
    case EK__PREDICTED_FIT:
        return run->used && run->after > 0;
    case EK__PREDICTED_GROUP_OUT:
        return run->used && run->group_out > 0;
    default:
        return run->held && run->after > 0;
    }
}

double ek__calibrated_step(const ek_calibrated_run *run, ek__predicted which)
{
    return which == EK__PREDICTED_START ? run->before : which == EK__PREDICTED_GROUP_OUT ? run->group_out : run->after;
}

double ek__calibrated_error(const ek_calibrated_run *run, ek__predicted which)
{
    return ek__calibrated_step(run, which) / run->measured - 1;
}

const ek_calibration_error *ek__calibration_error(const ek_calibration *c, ek__predicted which)
{
    const ek_calibration_error *of[EK__N_PREDICTED] = {&c->before, &c->fit, &c->leave_group_out, &c->held};
    return of[which];
}

void ek__calibration_verdict(const ek_calibration *c, char *text, size_t size)
{
    if (c->n_runs > 0)
        snprintf(text, size, "%d run%s in %d group%s %s fitted, %d kept back, %d left out", c->n_used,
                 c->n_used == 1 ? "" : "s", c->n_groups, c->n_groups == 1 ? "" : "s", c->n_used == 1 ? "is" : "are",
                 c->n_held, c->n_left);
    else
        snprintf(text, size, "no runs: from the start %s, with measurements of its kernels and links", c->start);
}
