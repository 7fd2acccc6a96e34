/* Compares a measured run with an estimate. A log contains only the step time; from a trace, the step is divided into
 * four parts that add up to it: computing, exposed communication, waiting for other stages, other. Each is compared
 * with the sum of the corresponding predicted parts of the slowest stage. The trace's rank with the longest step is
 * taken; its stage is not known, so on unequal stages its computing time may be that of another stage. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/texts.h"
#include "evenkeel/train_log.h"
#include "trace/rank.h"

static const char *const ek__against_name[EK_N_AGAINST_PARTS] = {"compute", "exposed", "pipeline", "idle"};
const char *const *const ek_against_name = ek__against_name;
static const char *const ek__against_title[EK_N_AGAINST_PARTS] = {"computing", "exposed communication",
                                                                  "waiting for other stages", "idle"};
const char *const *const ek_against_title = ek__against_title;

ek_against_part ek_against_of(ek_step_part part)
{
    static const ek_against_part of[EK_N_STEP_PARTS] = {
        [EK_STEP_TENSOR] = EK_AGAINST_EXPOSED,  [EK_STEP_CONTEXT] = EK_AGAINST_EXPOSED,
        [EK_STEP_EXPERT] = EK_AGAINST_EXPOSED,  [EK_STEP_DATA] = EK_AGAINST_EXPOSED,
        [EK_STEP_BUBBLE] = EK_AGAINST_PIPELINE, [EK_STEP_P2P] = EK_AGAINST_PIPELINE,
        [EK_STEP_HOST] = EK_AGAINST_IDLE,       [EK_STEP_INPUT] = EK_AGAINST_IDLE}; /* others: computing */
    return of[part];
}

/* Constants of a device file that affect a part of the step. */
static const char *const constants[EK_N_AGAINST_PARTS] = {
    "the curves (share, memory_share) or the measured kernels of the device file",
    "the tiers (gbs, share) and overlap_share of the device file",
    "the load balance of the stages, and gbs and latency_us of the tier between them",
    "the host (layer_us, kernel_us) of the device file"};

static void report_worst(ek_against *a)
{
    double off[EK_N_AGAINST_PARTS];
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++) {
        off[i] = isnan(a->part[i]) ? 0 : a->predicted[i] - a->part[i];
        if (fabs(off[i]) > fabs(off[a->worst]))
            a->worst = (ek_against_part)i;
    }
    double share = 100 * fabs(off[a->worst]) / a->seconds;
    if (share < 0.5)
        return;
    ek__estimate_say(&a->texts, "%s differs most: predicted %.1f %% of the step too %s; it depends on %s",
                     ek_against_title[a->worst], share, off[a->worst] > 0 ? "long" : "short", constants[a->worst]);
}

/* No constant has a larger error. */
#define ANOTHER_JOB 3.0

static void report_doubt(const ek_estimate *e, ek_against *a)
{
    double factor = fmax(e->step.seconds / a->seconds, a->seconds / e->step.seconds);
    if (factor > ANOTHER_JOB)
        ek__estimate_say(&a->texts,
                         "measured and predicted step differ by a factor of %.1f: check that the run is of this job",
                         factor);
}

/* Both sides of a row add up to their step. */
static void fill_predicted(const ek_estimate *e, ek_against *a)
{
    const ek_step_stage *slowest = &e->step.stage[e->step.slowest];
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        a->predicted[ek_against_of((ek_step_part)i)] += slowest->seconds[i];
    a->error = e->step.seconds / a->seconds - 1;
    report_doubt(e, a);
}

/* ---- a log ---- */

static void compare(ek_against *a, const char *what, double of_run, double of_job)
{
    if (of_run > 0 && fabs(of_run - of_job) > 0.5)
        ek__estimate_say(&a->texts, "not the same run: the log has %s %.0f, the job %.0f", what, of_run, of_job);
}

ek_status ek_estimate_against_log(const ek_estimate *estimate, const ek_train_log *log, ek_against *out, ek_error *err)
{
    ek_train_log_summary summary;
    ek_against a = {0};
    if (!ek_train_log_summarise(log, &summary) || !(summary.median_seconds > 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%.256s' has no step with a time after its warm-up; give a log with more steps", log->path);
    a.seconds = summary.median_seconds;
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++)
        a.part[i] = (double)NAN;
    fill_predicted(estimate, &a);
    snprintf(a.words, sizeof a.words, "median of %d step%s%s", summary.n, summary.n == 1 ? "" : "s",
             summary.first > 0 ? ", warm-up left out" : "");
    double batch = log->step[log->n - 1].global_batch;
    compare(&a, "global batch", isnan(batch) ? (double)log->global_batch : batch, estimate->metrics.global_batch);
    compare(&a, "sequence length", (double)log->seq_length, estimate->metrics.seq_length);
    compare(&a, "devices", (double)log->world_size, estimate->metrics.n_devices);
    *out = a;
    return EK_OK;
}

/* ---- a trace ---- */

static int64_t pipeline_wait(const ek_trace_step *step)
{
    return step->pipeline_wait;
}

static double seconds_of(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? (double)NAN : (double)ns / 1e9;
}

/* Means of the rank's steps. Time that a step waits for receives is non-overlapped communication, too. */
static void fill_parts(const ek_trace_rank *rank, ek_against *a)
{
    double computing = seconds_of(rank->mean.computing);
    double exposed = seconds_of(rank->mean.communication_not_overlapped);
    double waits = ek__step_mean_of(rank, pipeline_wait) / 1e9;
    waits = isnan(waits) ? 0 : fmin(waits, exposed);
    a->has_parts = !isnan(computing) && !isnan(exposed) && computing + exposed <= a->seconds * (1 + 1e-9);
    a->part[EK_AGAINST_COMPUTE] = a->has_parts ? computing : (double)NAN;
    a->part[EK_AGAINST_EXPOSED] = a->has_parts ? exposed - waits : (double)NAN;
    a->part[EK_AGAINST_PIPELINE] = a->has_parts ? waits : (double)NAN;
    a->part[EK_AGAINST_IDLE] = a->has_parts ? fmax(0, a->seconds - computing - exposed) : (double)NAN;
}

ek_status ek_estimate_against_trace(const ek_estimate *estimate, const ek_trace_run *run, ek_against *out,
                                    ek_error *err)
{
    ek_against a = {0};
    ek_trace_step_time step = ek_trace_run_step(run);
    if (step.n_steps == 0 || step.ns <= 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the trace has no complete step; profile whole steps after the warm-up");
    a.seconds = (double)step.ns / 1e9;
    ek_trace_step_words(run, &step, a.words, sizeof a.words);
    fill_parts(&run->rank[step.rank], &a);
    fill_predicted(estimate, &a);
    if (a.has_parts)
        report_worst(&a);
    *out = a;
    return EK_OK;
}
