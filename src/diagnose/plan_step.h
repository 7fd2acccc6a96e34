/* diagnose/plan_step.h - computes the step of a plan of the run, milliseconds; NAN where the schedule does not admit
 * the shape or the framework does not run it. EK_ERR_MEMORY is the only failure. */
#ifndef EK_DIAGNOSE_PLAN_STEP_H
#define EK_DIAGNOSE_PLAN_STEP_H

#include "diagnose/pipeline.h"

/* The plan as a change of the job. */
ek_job_change ek__plan_change(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish);
/* Simulated with times of layers. @param peak_mb  [n_stages] as the layers' model has them; may be NULL */
ek_status ek__plan_simulated(const ek__pipeline *p, const ek_layers *layers, const ek_plan *plan,
                             const ek__edit_oracle *wish, double *ms, double *peak_mb, ek_error *err);
/* ek_cost_step() of the job with the plan. */
ek_status ek__plan_predicted(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish, double *ms,
                             ek_error *err);
/* The source of today's step. */
ek_status ek__plan_step(const ek__pipeline *p, const ek_layers *layers, const ek_plan *plan,
                        const ek__edit_oracle *wish, double *ms, ek_error *err);
/* Fill step and today_ms of the unchanged job, and make the cache; or set the reason in `refused`. */
ek_status ek__plan_predict_today(ek__pipeline *p, ek_error *err);

#endif
