/* layout/whole_plans.h - the shortest plan with given layers in every chunk: what mix_branch.c asks where a solution
 * has whole layers. */
#ifndef EK_LAYOUT_WHOLE_PLANS_H
#define EK_LAYOUT_WHOLE_PLANS_H

#include "layout/mix.h"
#include "layout/split.h"

typedef struct ek__whole_plans ek__whole_plans;

/**
 * @param job      of the layout with its chunks; its schedule's chunks follow one another (ek__mixes_apply())
 * @param figures  of the layout, with all kinds; under the rule or not
 * @param mixes    of its pipeline
 * @param best     plans that are shorter are kept in it
 * @param choices  that may be looked at in all askings; INT64_MAX
 */
ek_status ek__whole_plans_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                              const ek__bound_figures *figures, const ek__mixes *mixes,
                              const ek__split_options *options, int64_t choices, ek__split *best, ek__whole_plans **out,
                              ek_error *err);
void ek__whole_plans_free(ek__whole_plans *plans);

/* ek__whole_judge. O(blocks) for each plan that is looked at. */
ek_status ek__whole_plans_judge(void *plans, const int *layers, double upper, double *step, bool *exact, ek_error *err);

#endif
