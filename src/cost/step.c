/* The step of a job. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/cost.h"

const char *const ek_step_part_name[EK_N_STEP_PARTS] = {"matrix", "attention", "grouped", "memory", "recompute",
                                                        "tensor", "context",   "expert",  "bubble", "p2p",
                                                        "data",   "optimizer", "host",    "input"};
const char *const ek_step_part_title[EK_N_STEP_PARTS] = {"matrix products",
                                                         "attention",
                                                         "experts' products",
                                                         "memory-bound operators",
                                                         "recomputation",
                                                         "exposed tensor parallel",
                                                         "exposed context parallel",
                                                         "exposed expert parallel",
                                                         "pipeline bubble",
                                                         "exposed sends and receives",
                                                         "exposed data parallel",
                                                         "optimizer",
                                                         "host",
                                                         "input"};

struct ek_cost_cache {
    const ek_device *device;
};

ek_cost_cache *ek_cost_cache_new(const ek_device *device)
{
    ek_cost_cache *cache = ek__alloc(1, sizeof *cache);
    if (cache)
        cache->device = device;
    return cache;
}

void ek_cost_cache_free(ek_cost_cache *cache)
{
    free(cache);
}

ek_status ek_cost_step(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek_step *out, ek_error *err)
{
    (void)cache;
    (void)device;
    ek_step step = {.n_stages = job->plan.n_stages};
    step.stage = ek__alloc((size_t)step.n_stages, sizeof *step.stage);
    if (!step.stage)
        return ek__no_memory(err);
    *out = step;
    return EK_OK;
}

void ek_step_clear(ek_step *step)
{
    free(step->stage);
    *step = (ek_step){0};
}
