/* Diagnoses a run: every bottleneck of the list checks the given inputs and adds its findings, which are then ranked by
 * predicted gain. A run over its memory limit cannot work, so that comes first; findings with an unknown gain come
 * after those with a known one, by their cost. One change at a time: gains of several do not add up. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/threads.h"
#include "diagnose/bottleneck.h"

const char *const ek__topic_name[EK_N_TOPICS] = {"operators",    "communication", "memory and recomputation",
                                                 "data loading", "host",          "pipeline bubbles",
                                                 "load balance"};
const char *const *const ek_topic_name = ek__topic_name;
const char *const ek__basis_name[4] = {"measured", "derived", "simulated", "assumed"};
const char *const *const ek_basis_name = ek__basis_name;

static const double usual_least_share = 0.01;
static const double usual_seconds = 5;

/* ---- the step ---- */

static ek_status summarise_log(ek__diagnose *d, ek_error *err)
{
    const ek_train_log *log = d->input->log;
    d->log = (ek_train_log_summary){.median_seconds = NAN, .mean_seconds = NAN};
    bool timed = false;
    for (int i = 0; log && i < log->n; i++)
        timed |= !log->step[i].overflow && log->step[i].seconds > 0;
    return timed && !ek_train_log_summarise(log, &d->log) ? ek__no_memory(err) : EK_OK;
}

static const char *source_of_log(const ek__diagnose *d)
{
    int n = d->log.n;
    return n == 1 ? "one step of the log" : ek__pool_format(d->out->pool, "median of %d steps of the log", n);
}

/* The trace's own step, since losses are measured in it; else the log's; else the job's predicted step. */
static ek_status find_step(ek__diagnose *d, ek_error *err)
{
    ek_diagnosis *out = d->out;
    double seconds = d->log.median_seconds;
    if (d->measured.run) {
        char words[EK_TRACE_STEP_WORDS];
        seconds = d->measured.step_ns / 1e9;
        out->step_source = ek__pool_format(
            out->pool, "%s", ek_trace_step_words(d->measured.run, &d->measured.step, words, sizeof words));
    } else if (seconds > 0) {
        out->step_source = source_of_log(d);
    } else if (d->pipeline.there) {
        seconds = d->pipeline.step.seconds; /* without a trace nothing is measured of layers */
        out->step_source = "predicted from the settings; nothing was measured";
    } else {
        out->step_source = "not known";
    }
    out->step_seconds = seconds > 0 ? seconds : NAN;
    d->step_ns = out->step_seconds * 1e9;
    return out->step_source ? EK_OK : ek__no_memory(err);
}

/* ---- ranking ---- */

/* First a run over its limit, then findings with a known gain, then those with a known loss. */
static int class_of(const ek_bottleneck *b)
{
    if (b->gain_seconds == INFINITY)
        return 0;
    return isnan(b->gain_seconds) ? isnan(b->cost_seconds) ? 3 : 2 : 1;
}

static int by_gain(const void *a, const void *b)
{
    const ek_bottleneck *x = a, *y = b;
    if (class_of(x) != class_of(y))
        return class_of(x) - class_of(y);
    double p = class_of(x) == 1 ? x->gain_seconds : x->cost_seconds,
           q = class_of(x) == 1 ? y->gain_seconds : y->cost_seconds;
    if (class_of(x) > 0 && p != q && !isnan(p))
        return p < q ? 1 : -1;
    if (x->topic != y->topic)
        return (int)x->topic - (int)y->topic;
    return strcmp(x->title, y->title);
}

static void rank_all(ek_diagnosis *out)
{
    if (out->n_bottlenecks > 1)
        qsort(out->bottleneck, (size_t)out->n_bottlenecks, sizeof *out->bottleneck, by_gain);
    for (int i = 0; i < out->n_bottlenecks; i++)
        if (out->bottleneck[i].gain_seconds == INFINITY)
            out->bottleneck[i].gain_seconds = out->bottleneck[i].gain_share = NAN;
}

static ek_status search(ek__diagnose *d, ek_error *err)
{
    static ek__bottleneck *const list[] = {
#define EK__BOTTLENECK_ENTRY(name) ek__bottleneck_##name,
        EK__BOTTLENECK_LIST(EK__BOTTLENECK_ENTRY)
#undef EK__BOTTLENECK_ENTRY
    };
    ek_status status = summarise_log(d, err);
    if (!status)
        status = ek__measured_new(d->input->trace, &d->measured, err);
    if (!status)
        status = ek__pipeline_make(d->input, &d->measured, d->options, &d->pipeline, err);
    if (!status && d->pipeline.refused[0])
        status = ek__bottleneck_note(d, ek__pool_format(d->out->pool, "%s", d->pipeline.refused), err);
    if (!status)
        status = find_step(d, err);
    for (size_t i = 0; i < sizeof list / sizeof *list && !status; i++)
        status = list[i](d, err);
    if (!status && d->below)
        status = ek__bottleneck_note(d,
                                     ek__pool_format(d->out->pool, "under %g %% of a step, so not listed: %s",
                                                     100 * d->options->least_share, d->below),
                                     err);
    if (!status && ek_interrupted(d->options->interrupt))
        status = ek__bottleneck_note(d,
                                     "the search of better plans was interrupted: the gains of bubbles, balance and "
                                     "recomputation may be larger than reported",
                                     err);
    return status;
}

static ek_status check_options(const ek_diagnose_options *options, ek_error *err)
{
    if (!(options->least_share >= 0 && options->least_share <= 1) || !(options->seconds >= 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "a diagnosis reports shares from 0 to 1 and balances for 0 seconds or more (got %g and %g)",
                        options->least_share, options->seconds);
    return ek__threads_check(options->n_threads, err);
}

ek_status ek_diagnose(const ek_run_input *input, const ek_diagnose_options *options, ek_diagnosis *out, ek_error *err)
{
    if (!input->trace && !input->job && !input->dry_runs && input->n_ir <= 0 && !input->log)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "no input of a run was given; expected a trace, a training YAML, logs of a dry run, a graph or "
                        "a training log");
    ek_diagnose_options chosen = options ? *options : (ek_diagnose_options){0};
    ek_status status = check_options(&chosen, err);
    if (status)
        return status;
    chosen.least_share = chosen.least_share > 0 ? chosen.least_share : usual_least_share;
    chosen.seconds = chosen.seconds > 0 ? chosen.seconds : usual_seconds;
    ek_diagnosis diagnosis = {.pool = ek__pool_new()};
    ek__diagnose d = {.input = input, .options = &chosen, .out = &diagnosis};
    status = diagnosis.pool ? search(&d, err) : ek__no_memory(err);
    ek__measured_clear(&d.measured);
    ek__pipeline_clear(&d.pipeline);
    if (status) {
        ek_diagnosis_clear(&diagnosis);
        return status;
    }
    rank_all(&diagnosis);
    *out = diagnosis;
    return EK_OK;
}

void ek_diagnosis_clear(ek_diagnosis *diagnosis)
{
    ek__pool_free(diagnosis->pool);
    *diagnosis = (ek_diagnosis){0};
}
