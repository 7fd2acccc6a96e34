/* layout/stage.h - prices the stages of a layout with given layers of the model: the cheapest recomputation that fits,
 * with the same time and memory as in ek_cost_step() and ek_memory_predict() for the whole job. One chunk per stage. */
#ifndef EK_LAYOUT_STAGE_H
#define EK_LAYOUT_STAGE_H

#include "cost/step_stage.h"
#include "layout/rule.h"
#include "layout/ways.h"
#include "memory/program.h"

typedef struct ek__stages ek__stages;

/* A stage with some layers. */
typedef struct ek__stage_choice {
    bool fits;
    ek__chunk_lists lists;
    ek__stage_price price;
    int64_t used;   /* bytes, the peak */
    int64_t actual; /* with fragments; of verified ones */
} ek__stage_choice;

/**
 * @param job    of the layout (ek_layout_job()), with a limit or none; borrowed
 * @param cache  of the device, not shared by threads; do not use it for another job until ek__stages_free()
 */
ek_status ek__stages_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                         ek__stages **out, ek_error *err);
void ek__stages_free(ek__stages *stages);

const ek__stage_pricer *ek__stages_pricer(const ek__stages *stages);
double ek__stages_whole(ek__stages *stages, double step);
/* Does a stage's cost depend only on its number of layers? */
bool ek__stages_alike(const ek__stages *stages);

/* The choice with the shortest backward pass, a used peak within the limit, and no other reason for exclusion. Cached
 * for the next call. O(lists x layers + tried x blocks). */
ek_status ek__stages_choose(ek__stages *stages, int stage, int first, int n, const ek__stage_choice **out,
                            ek_error *err);

/* Does the choice also fit with fragments? If not, it is not chosen again. If there is no time to compute it, the
 * result is false and the choice is not excluded. @param stop as of ek__stage_place() */
ek_status ek__stages_verify(ek__stages *stages, int stage, int first, int n, const ek__stop *stop, bool *fits,
                            ek_error *err);

/* Was any query over the limit? */
bool ek__stages_refused(const ek__stages *stages);

/* Put layers into the job's plan with their chosen recomputation. @param layers [n_stages] */
ek_status ek__stages_plan(ek__stages *stages, const int *layers, ek_error *err);
const ek_job *ek__stages_job(const ek__stages *stages);

#endif
