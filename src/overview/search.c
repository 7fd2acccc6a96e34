/* The best layout of a job on so many devices, as far as a search of a few seconds finds it. */
#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "evenkeel/layout.h"
#include "overview/overview_internal.h"

#define SEARCH_SECONDS 15.0

static ek_status take(ek__overview *o, const ek_layout_result *result, ek_overview_layout *out, ek_error *err)
{
    char words[256];
    out->found = result->n_plans > 0;
    const ek_layout_plan *best = out->found ? result->plan : NULL;
    ek_layout_words(best ? &best->layout : &result->closest, words, sizeof words);
    out->words = ek__pool_text(o->pool, words, strlen(words));
    out->limit = (int64_t)(result->job->limit_mb * EK__MB);
    out->seconds = result->seconds;
    if (!best) {
        out->peak = (int64_t)(result->closest_mb * EK__MB);
    } else {
        const ek_memory *memory = &best->estimate.memory;
        out->proved = result->proved || result->gap <= 0;
        out->gap = result->gap;
        out->limit = memory->limit;
        out->fullest = memory->fullest;
        out->peak = memory->stage[memory->fullest].actual_peak;
        out->step_seconds = best->estimate.step.seconds;
        out->tokens_per_second = best->estimate.metrics.tokens_per_second_per_device;
        out->mfu = best->estimate.metrics.mfu;
    }
    return out->words ? EK_OK : ek__no_memory(err);
}

static int64_t batch_of(const ek__overview *o, const ek_job *job, bool *assumed)
{
    int64_t sequences = ek_job_sequences(job);
    *assumed = o->options->global_batch == 0 && sequences == 1 && o->options->n_devices > 1;
    if (o->options->global_batch > 0)
        return o->options->global_batch;
    return *assumed ? ek_layout_default_batch(job->parallel.seq_length, o->options->n_devices) : sequences;
}

ek_status ek__overview_search(ek__overview *o, const ek_job *job, const ek_device *device, ek_error *err)
{
    ek_job searched = {0};
    ek_layout_options options;
    ek_layout_result result = {0};
    ek_overview_layout *out = ek__pool_alloc(o->pool, 1, sizeof *out);
    if (!out)
        return ek__no_memory(err);
    *out = (ek_overview_layout){
        .n_devices = o->options->n_devices,
        .step_seconds = (double)NAN,
        .tokens_per_second = (double)NAN,
        .mfu = (double)NAN,
    };
    ek_status status = ek_layout_offer_sets(job, device, &searched, err);
    if (status)
        return status;
    ek_layout_options_init(&options);
    options.n_devices = o->options->n_devices;
    options.global_batch = out->global_batch = batch_of(o, job, &out->batch_assumed);
    options.n_best = 1;
    options.time_limit = o->options->seconds > 0 ? o->options->seconds : SEARCH_SECONDS;
    options.n_threads = o->options->n_threads;
    options.interrupt = o->options->interrupt;
    options.file = job;
    status = ek_layout_search(&searched, device, &options, &result, err);
    if (status == EK_OK)
        status = take(o, &result, out, err);
    ek_layout_result_clear(&result);
    ek_job_clear(&searched);
    o->out->layout = out;
    return status;
}
