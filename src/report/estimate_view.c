/* Texts shared by the writers of an estimate. */
#include <math.h>
#include <string.h>

#include "evenkeel/estimate.h"
#include "report/estimate_internal.h"

const char ek__estimate_basis[] =
    "a step of the steady run: saving checkpoints, evaluation, the first steps and devices slower than the others are "
    "not in it";

bool ek__estimate_has(const ek_estimate *estimate, int part)
{
    for (int s = 0; s < estimate->step.n_stages; s++)
        if (estimate->step.stage[s].seconds[part] > 0)
            return true;
    return false;
}

const char *ek__estimate_name(const ek_estimate *estimate)
{
    return estimate->job->name[0] ? estimate->job->name : "model";
}

void ek__estimate_verdict(const ek_estimate *estimate, char *text, size_t size)
{
    const ek_step *step = &estimate->step;
    size_t used = (size_t)snprintf(text, size, "%s", ek__seconds(step->seconds).text);
    if (step->standard_error > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, " ± %s", ek__seconds(step->standard_error).text);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, " a step: %s tokens/s a device",
                                 ek__fixed(estimate->metrics.tokens_per_second_per_device, 1).text);
    if (used < size)
        used +=
            (size_t)snprintf(text + used, size - used, ", MFU %s %%", ek__fixed(100 * estimate->metrics.mfu, 1).text);
    if (used < size)
        snprintf(text + used, size - used, ", HFU %s %%", ek__fixed(100 * estimate->metrics.hfu, 1).text);
}

/* Communication that may overlap with computing, if the job has such groups. */
typedef struct overlap {
    const char *name;
    bool there, hidden;
} overlap;

static size_t add_overlaps(const overlap *all, int n, bool hidden, const char *title, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < n; i++)
        if (all[i].there && all[i].hidden == hidden && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : title, all[i].name);
    return used < size ? used : size;
}

static const char *const launches[EK_N_LAUNCHES] = {"kernels launched one by one", "compiled kernels",
                                                    "launched as a whole graph"};

void ek__estimate_run(const ek_job *job, char *text, size_t size)
{
    const ek_job_parallel *p = &job->parallel;
    const ek_job_run *run = &job->run;
    char gradients[96] = "gradients";
    if (run->bucket_bytes > 0 && run->overlap_gradients)
        snprintf(gradients, sizeof gradients, "gradients in buckets of %s MB",
                 ek__short(round(10 * run->bucket_bytes / EK__MB) / 10).text);
    bool of_gradients = p->tensor > 1 && run->overlap_tensor_gradients && !run->overlap_tensor;
    const overlap all[] = {
        {gradients, p->data * p->context > 1, run->overlap_gradients},
        {"gathered weights", p->data * p->context > 1 && job->states.shard_optimizer, run->overlap_weights},
        {"tensor parallel", p->tensor > 1 && !of_gradients, run->overlap_tensor},
        {"tensor parallel in backward passes", of_gradients, true},
        {"tensor parallel in forward passes", of_gradients, false},
        {"context parallel", p->context > 1, p->context_algorithm == EK_CONTEXT_RING},
        {"expert parallel", p->expert > 1, run->overlap_expert},
        {"sends between stages", p->pipeline > 1, run->overlap_p2p}};
    int n = sizeof all / sizeof *all;
    size_t used = (size_t)snprintf(text, size, "%s", launches[run->launch]);
    if (run->fp8 != EK_FP8_NONE && used < size)
        used += (size_t)snprintf(text + used, size - used, ", products in 8 bits (%s)", ek_fp8_name[run->fp8]);
    used += add_overlaps(all, n, true, "; overlapped with computing: ", text + used, size - used);
    add_overlaps(all, n, false, "; exposed: ", text + used, size - used);
}

void ek__estimate_memory(const ek_estimate *estimate, char *text, size_t size)
{
    const ek_memory *m = &estimate->memory;
    ek__digits peak = ek__whole_mb(ek__memory_peak(&m->stage[m->fullest]));
    const char *reserved = ek__is_reserved(estimate->job) ? " reserved" : "";
    if (m->limit == 0)
        snprintf(text, size, "no limit is known: fullest is stage %d with %s MB%s; set it with --mem", m->fullest,
                 peak.text, reserved);
    else
        snprintf(text, size, "%s: fullest is stage %d with %s MB%s of %s MB", m->fits ? "fits" : "does not fit",
                 m->fullest, peak.text, reserved, ek__whole_mb(m->limit).text);
}

/* The basis of a device's error, with its name once. */
static const char *const error_of[EK_N_ERROR_BASES] = {
    [EK_ERROR_ASSUMED] = "assumed: the file of %s does not contain its runs",
    [EK_ERROR_FIT] = "residual of the fit of %s on its own runs; other jobs may have larger errors",
    [EK_ERROR_LEAVE_ONE_OUT] = "error of the fit of %s on runs left out one by one",
    [EK_ERROR_LEAVE_GROUP_OUT] = "error of the fit of %s on groups of runs left out",
};

void ek__estimate_error(const ek_estimate *estimate, char *text, size_t size)
{
    const ek_step *step = &estimate->step;
    double share = 100 * step->standard_error / step->seconds, without = estimate->share_without_error;
    char near[200], of[256];
    size_t used;
    snprintf(of, sizeof of, error_of[estimate->device->error_basis], estimate->device->name);
    if (estimate->device->error > 0)
        used = (size_t)snprintf(text, size, "%s %%: %s", ek__fixed(share, 1).text, of);
    else if (step->standard_error > 0)
        used = (size_t)snprintf(text, size, "%s %% by the standard errors of its parts", ek__fixed(share, 1).text);
    else
        used = (size_t)snprintf(text, size, "not known: nothing was fitted for this device");
    if (estimate->device->error <= 0 && step->standard_error > 0 && without >= 0.005 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", which %s %% of the step do not have",
                                 ek__fixed(100 * without, 1).text);
    if (used < size)
        snprintf(text + used, size - used, "; %s", ek_near_words(step->nearest, near, sizeof near));
}
