/* layout/whole_plans.h - finds the shortest plan with given layers in every chunk, for solutions of mix_branch.c with
 * whole layers. */
#ifndef EK_LAYOUT_WHOLE_PLANS_H
#define EK_LAYOUT_WHOLE_PLANS_H

#include "layout/mix.h"
#include "layout/split.h"

typedef struct ek__whole_plans ek__whole_plans;

/**
 * @param job      of the layout with its chunks; its schedule's chunks follow one another (ek__mixes_apply())
 * @param figures  of the layout, with all kinds; under the rule or not
 * @param mixes    of its pipeline
 * @param best     shorter plans are stored in it
 * @param choices  maximum number of choices in all queries; INT64_MAX
 */
ek_status ek__whole_plans_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                              const ek__bound_figures *figures, const ek__mixes *mixes,
                              const ek__split_options *options, int64_t choices, ek__split *best, ek__whole_plans **out,
                              ek_error *err);
void ek__whole_plans_free(ek__whole_plans *plans);

/* ek__whole_judge. O(blocks) for each tried plan. */
ek_status ek__whole_plans_judge(void *plans, const int *layers, double upper, double *step, bool *exact, ek_error *err);

#endif
