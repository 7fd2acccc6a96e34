/* lint/predict.h - figures of a job for findings: memory of the fullest stage, time of a step, and how a change of the
 * job changes them. */
#ifndef EK_LINT_PREDICT_H
#define EK_LINT_PREDICT_H

#include "lint/rules.h"

/* Of the fullest stage. */
typedef struct ek__lint_held {
    bool known; /* false: the schedule has no valid order, which `memory` reports */
    double peak_mb;
    double activations_mb, optimizer_mb; /* the most of any stage */
} ek__lint_held;

/* Memory of a job by its model. EK_OK, known or not, or EK_ERR_MEMORY. */
ek_status ek__lint_predict(const ek_job *job, ek_error *err, ek__lint_held *out);
/* Step of a job on the run's device, seconds; NAN without a device or a prediction. @param bubble  its share of the
 * slowest stage, may be NULL. EK_OK or EK_ERR_MEMORY. */
ek_status ek__lint_predict_step(const ek__lint_run *run, const ek_job *job, double *seconds, double *bubble);
/* Step of a changed job over that of the job, minus 1; NAN. EK_OK or EK_ERR_MEMORY. */
ek_status ek__lint_predict_change(const ek__lint_run *run, const ek_job *job, const ek_job *changed, double *change);

#endif
