/* Lists the main uncertainties of an estimate: figures without a source that a large part of the step depends on, an
 * uncertain device, and effects that the model omits for this job. */
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "estimate/texts.h"

#define DOMINATES 0.2 /* of the step */
#define NAMED     0.05
/* Share of the limit. Of 100 published runs (llm-foundry's MPT) 27 are predicted to reserve this share of their device.
 * Among them are all five that took more than a tenth longer than the fit to the others predicts, 13 to 32 %. */
#define FULL 0.88

static void doubt_basis(ek_estimate *e)
{
    const ek_step *step = &e->step;
    const ek_step_stage *slowest = &step->stage[step->slowest];
    char names[200] = "";
    if (e->basis_share[EK_COST_ASSUMED] < DOMINATES)
        return;
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        double share = slowest->seconds[i] / step->seconds;
        size_t used = strlen(names);
        if (step->basis[i] == EK_COST_ASSUMED && share >= NAMED)
            ek__snprintf(names + used, sizeof names - used, "%s%s (%.0f %%)", used ? ", " : ": ", ek_step_part_title[i],
                         100 * share);
    }
    ek__estimate_say(&e->warnings, "%.0f %% of the step is based on assumed figures%s",
                     100 * e->basis_share[EK_COST_ASSUMED], names);
}

static void doubt_device(ek_estimate *e)
{
    if (!e->device->certain)
        ek__estimate_say(&e->warnings, "not every figure of %.60s is certain: %.250s", e->device->name,
                         e->device->source);
}

static void doubt_limit(ek_estimate *e)
{
    if (e->limit_of_device)
        ek__estimate_say(&e->warnings,
                         "the memory limit is all memory of %.60s; driver and communication use a part of it: set the "
                         "limit of the framework with --mem",
                         e->device->name);
}

/* When PyTorch's allocator finds no room, it returns its cached memory to the driver and allocates again, which waits
 * for the device. */
static void doubt_full(ek_estimate *e)
{
    const ek_memory *memory = &e->memory;
    double limit = (double)memory->limit, peak = (double)memory->stage[memory->fullest].actual_peak;
    if (e->job->rules.allocation == EK_ALLOCATION_CACHING && memory->fits && limit > 0 && peak >= FULL * limit)
        ek__estimate_say(&e->warnings,
                         "%.0f %% of the memory limit are reserved: this close to the limit PyTorch's allocator may "
                         "free and allocate again within a step, which is not modelled; published runs with as little "
                         "margin took up to a third longer",
                         100 * peak / limit);
}

static void doubt_model(ek_estimate *e)
{
    const ek_job *job = e->job;
    if (job->model.n_experts > 0 && job->rules.moe_imbalance == 1)
        ek__estimate_say(&e->warnings, "balanced routing is assumed: the experts of every rank get the same number of "
                                       "tokens; change it with --rule moe_imbalance=");
    if (job->run.full_batch && job->parallel.data > 1)
        ek__estimate_say(
            &e->warnings,
            "each device reads the data of all %d data-parallel ranks (full_batch: True); if reading is slow, "
            "full_batch: False with dataset_strategy: [[%d, 1]], an entry for each input, reduces it",
            job->parallel.data, job->parallel.data);
    if (e->device->input_gbs <= 0)
        ek__estimate_say(&e->warnings,
                         "the step is assumed not to wait for its input: the device file has no input_gbs");
}

void ek__estimate_doubt(ek_estimate *e)
{
    doubt_basis(e);
    doubt_device(e);
    doubt_limit(e);
    doubt_full(e);
    doubt_model(e);
}
