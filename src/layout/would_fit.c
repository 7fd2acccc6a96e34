/* Finds changes that make a job fit. Each change is judged by a search for the changed job, which ends with the first
 * batch of layouts that has a plan: the result is a plan that fits, not a bound. Batches are the same for any number of
 * threads, and so is the answer as long as no search reaches its time limit. */
#include "evenkeel/layout_fit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "layout/search.h"

/* Time limits of one search, and of all together. */
#define SEARCH_SECONDS 15.0
#define ALL_SECONDS    60.0

const char *const ek__fit_change_name[EK_N_FIT_CHANGES] = {"free", "offload", "devices", "memory"};
const char *const *const ek_fit_change_name = ek__fit_change_name;

/* A search and the clock. */
typedef struct asking {
    const ek_layout_result *result;
    double end;
} asking;

typedef struct attempt {
    const ek_layout_options *asked;
    ek_interrupt stop;
} attempt;

static void stop_at_first(void *user, const ek_layout_progress *progress)
{
    attempt *a = user;
    if (isfinite(progress->best_seconds) || ek_interrupted(a->asked->interrupt))
        ek_interrupt_set(&a->stop);
    if (a->asked->progress)
        a->asked->progress(a->asked->user, progress);
}

static double peak_mb(const ek_memory *memory)
{
    return (double)memory->stage[memory->fullest].actual_peak / 1048576.0;
}

/* Some fitting plan of the job on the device. If the framework runs no layout, the result is none. */
static ek_status find_among(const asking *ask, const ek_job *job, const ek_layout_options *options, ek_layout_fit *out,
                            ek_error *err)
{
    const ek_layout_result *r = ask->result;
    attempt a = {.asked = &r->options};
    ek_layout_options own = *options;
    ek_layout_result found;
    own.n_best = 1;
    own.time_limit = fmin(SEARCH_SECONDS, ask->end - ek__now());
    own.progress = stop_at_first;
    own.user = &a;
    own.interrupt = &a.stop;
    out->n_devices = own.n_devices;
    out->limit_mb = job->limit_mb;
    out->fits = false;
    if (ek_interrupted(r->options.interrupt) || own.time_limit <= 0)
        return EK_OK;
    ek_status status = ek_layout_search(job, r->device, &own, &found, err);
    if (status)
        return status == EK_ERR_INPUT ? EK_OK : status;
    if (found.n_plans > 0) {
        const ek_layout_plan *plan = &found.plan[0];
        out->fits = true;
        out->layout = plan->layout;
        out->seconds = plan->estimate.step.seconds;
        out->peak_mb = peak_mb(&plan->estimate.memory);
    }
    ek_layout_result_clear(&found);
    return EK_OK;
}

/* One chunk per stage first, which is balanced exactly and quickly. */
static ek_status find_plan(const asking *ask, const ek_job *job, const ek_layout_options *options, ek_layout_fit *out,
                           ek_error *err)
{
    ek_layout_options single = *options;
    ek_layout_range *chunks = &single.range[EK_AXIS_CHUNKS];
    ek_status status = EK_OK;
    if (chunks->least <= 1) {
        chunks->least = chunks->most = 1;
        status = find_among(ask, job, &single, out, err);
    }
    if (!status && !out->fits && options->range[EK_AXIS_CHUNKS].most != 1)
        status = find_among(ask, job, options, out, err);
    return status;
}

/* ---- changes ---- */

static bool is_held(const ek_layout_options *options)
{
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        if (options->range[i].least > 0 || options->range[i].most > 0)
            return true;
    return options->sequence_parallel >= 0;
}

static ek_status try_free(const asking *ask, ek_layout_fits *to, ek_error *err)
{
    ek_layout_options options = ask->result->options;
    if (!is_held(&options))
        return EK_OK;
    memset(options.range, 0, sizeof options.range);
    options.sequence_parallel = -1;
    ek_layout_fit *fit = &to->fit[to->n++];
    *fit = (ek_layout_fit){.change = EK_FIT_FREE};
    return find_plan(ask, ask->result->job, &options, fit, err);
}

static bool has_offload(const ek_job *job)
{
    return job->framework != EK_MINDSPEED && !job->run.offload_optimizer;
}

static ek_status try_offload(const asking *ask, ek_layout_fits *to, ek_error *err)
{
    ek_job job = *ask->result->job; /* shares its pointers */
    if (!has_offload(ask->result->job))
        return EK_OK;
    job.run.offload_optimizer = true;
    ek_layout_fit *fit = &to->fit[to->n++];
    *fit = (ek_layout_fit){.change = EK_FIT_OFFLOAD};
    return find_plan(ask, &job, &ask->result->options, fit, err);
}

static ek_status try_devices(const asking *ask, ek_layout_fits *to, ek_error *err)
{
    static const int times[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    ek_status status = EK_OK;
    ek_layout_fit *fit = &to->fit[to->n++];
    *fit = (ek_layout_fit){.change = EK_FIT_DEVICES};
    for (size_t i = 0; i < sizeof times / sizeof *times && !fit->fits && !status; i++) {
        ek_layout_options options = ask->result->options;
        if ((int64_t)options.n_devices * times[i] > EK_MAX_RANKS)
            break;
        options.n_devices *= times[i];
        status = find_plan(ask, ask->result->job, &options, fit, err);
    }
    return status;
}

static ek_status try_memory(const asking *ask, ek_layout_fits *to, ek_error *err)
{
    static const double times[] = {1, 1.01, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.5, 1.75, 2, 2.5, 3};
    double least = fmax(ask->result->closest_mb, ask->result->job->limit_mb);
    ek_job job = *ask->result->job;
    ek_status status = EK_OK;
    ek_layout_fit *fit = &to->fit[to->n++];
    *fit = (ek_layout_fit){.change = EK_FIT_MEMORY};
    for (size_t i = 0; i < sizeof times / sizeof *times && !fit->fits && !status; i++) {
        job.limit_mb = ceil(least * times[i]);
        status = find_plan(ask, &job, &ask->result->options, fit, err);
    }
    return status;
}

ek_status ek_layout_would_fit(const ek_layout_result *result, ek_layout_fits *out, ek_error *err)
{
    const asking ask = {result, ek__now() + ALL_SECONDS};
    ek_layout_fits fits = {0};
    ek_status status = try_free(&ask, &fits, err);
    if (!status)
        status = try_offload(&ask, &fits, err);
    if (!status)
        status = try_devices(&ask, &fits, err);
    if (!status && result->job->limit_mb > 0)
        status = try_memory(&ask, &fits, err);
    if (!status)
        *out = fits;
    return status;
}
