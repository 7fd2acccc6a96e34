/* Applies the overrides of the command line to a job. The file's reader sets the degrees, since their effects (cuts of
 * the table, sums of gradients) depend on the framework; here the layers are spread again if the file's lists no longer
 * fit, and settings independent of the framework are replaced. Nothing is guessed: a list that counted layers of other
 * stages is dropped with a warning. */
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/job_internal.h"

static int n_cells(const ek_plan *plan)
{
    return plan->n_stages * plan->n_chunks;
}

static int sum(const int *list, int n)
{
    int total = 0;
    for (int c = 0; c < n; c++)
        total += list[c];
    return total;
}

static bool same(const int *a, const int *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool all_zero(const int *list, int n)
{
    for (int c = 0; c < n; c++)
        if (list[c] != 0)
            return false;
    return true;
}

static void replace(int given, int *value)
{
    if (given > 0)
        *value = given;
}

void ek__job_override_sizes(const ek_job_overrides *overrides, ek_job *job)
{
    ek_job_parallel *parallel = &job->parallel;
    replace(overrides->data, &parallel->data);
    replace(overrides->tensor, &parallel->tensor);
    replace(overrides->pipeline, &parallel->pipeline);
    replace(overrides->context, &parallel->context);
    replace(overrides->expert, &parallel->expert);
    replace(overrides->n_micro_batches, &parallel->n_micro_batches);
    replace(overrides->batch, &parallel->batch);
    replace(overrides->n_layers, &job->model.n_layers);
    if (overrides->seq_length > 0) {
        if (job->model.max_position == parallel->seq_length)
            job->model.max_position = overrides->seq_length;
        parallel->seq_length = overrides->seq_length;
    }
    if (overrides->sequence_parallel >= 0)
        parallel->sequence_parallel = overrides->sequence_parallel > 0;
}

static void remove_pattern(ek_job *job, int index)
{
    free(job->pattern[index].text);
    free(job->pattern[index].layers);
    job->n_patterns--;
    memmove(job->pattern + index, job->pattern + index + 1, (size_t)(job->n_patterns - index) * sizeof *job->pattern);
}

/* ---- another number of stages, chunks or layers ---- */

static void report_dropped(const ek__job_source *source, const ek_plan *was, const ek_plan *now, const char *what,
                           ek_origin origin)
{
    ek__warn(source->listener, origin,
             "%s counts layers of %d stage%s x %d chunk%s, but the job is read for %d x %d with other layers on each; "
             "the list is dropped, and nothing is recomputed by it",
             what, was->n_stages, was->n_stages > 1 ? "s" : "", was->n_chunks, was->n_chunks > 1 ? "s" : "",
             now->n_stages, now->n_chunks);
}

/* Patterns for all layers or none stay so in the new plan; others are dropped. */
static ek_status move_patterns(const ek__job_source *source, const ek_plan *was, ek_job *job)
{
    for (int i = 0; i < job->n_patterns;) {
        ek_pattern *pattern = &job->pattern[i];
        bool all = same(pattern->layers, was->layers, n_cells(was));
        if (!all && !all_zero(pattern->layers, n_cells(was))) {
            char what[160];
            snprintf(what, sizeof what, "recomputation of '%.100s'", pattern->text);
            report_dropped(source, was, &job->plan, what, pattern->origin);
            remove_pattern(job, i);
            continue;
        }
        int *layers = ek__alloc((size_t)n_cells(&job->plan), sizeof *layers);
        if (!layers)
            return ek__no_memory(source->err);
        if (all)
            memcpy(layers, job->plan.layers, (size_t)n_cells(&job->plan) * sizeof *layers);
        free(pattern->layers);
        pattern->layers = layers;
        i++;
    }
    ek__job_sum_patterns(job);
    return EK_OK;
}

static bool is_even(const ek_plan *plan)
{
    int least = plan->layers[0], most = plan->layers[0];
    for (int c = 1; c < n_cells(plan); c++) {
        least = plan->layers[c] < least ? plan->layers[c] : least;
        most = plan->layers[c] > most ? plan->layers[c] : most;
    }
    return most - least <= 1;
}

static ek_status spread_anew(const ek__job_source *source, int n_chunks, ek_job *job)
{
    const ek_origin file = {job->path, 0, 0};
    ek_plan was = job->plan;
    job->plan = (ek_plan){0};
    ek_status status = ek__job_spread(job, n_chunks, source->err);
    if (status || was.n_stages == 0) {
        if (status)
            job->plan = was; /* the layers that the patterns' lists belong to */
        return status;
    }
    const ek_plan *now = &job->plan;
    if (!is_even(&was))
        ek__warn(source->listener, file,
                 "the file gives its %d stage%s x %d chunk%s unequal layers; for %d x %d they are spread evenly",
                 was.n_stages, was.n_stages > 1 ? "s" : "", was.n_chunks, was.n_chunks > 1 ? "s" : "", now->n_stages,
                 now->n_chunks);
    if (same(was.full, was.layers, n_cells(&was)))
        memcpy(now->full, now->layers, (size_t)n_cells(now) * sizeof *now->full);
    else if (!all_zero(was.full, n_cells(&was)))
        report_dropped(source, &was, now, "full recomputation", file);
    status = move_patterns(source, &was, job);
    ek_plan_clear(&was);
    return status;
}

/* ---- the order of the chunks ---- */

/* From a wrapped order to a V or back: every second row is reversed. */
static void turn_rows(const ek_plan *plan, int *list)
{
    for (int row = 1; row < plan->n_chunks; row += 2)
        for (int a = row * plan->n_stages, b = a + plan->n_stages - 1; a < b; a++, b--) {
            int kept = list[a];
            list[a] = list[b];
            list[b] = kept;
        }
}

/* Megatron's lists of layers are in the order of the model, so with a schedule that places chunks differently (a V for
 * interleaved) each part of the model keeps its layers, and multi-token prediction stays at the end. The lists of the
 * other frameworks are by stage and chunk and do not change. */
static void follow_placement(const ek_schedule *was, ek_job *job)
{
    ek_placement from = was ? was->placement : EK_PLACE_WRAP, to = job->schedule->placement;
    ek_plan *plan = &job->plan;
    if (job->framework != EK_MEGATRON || from == to || from == EK_PLACE_BOTH_WAYS || to == EK_PLACE_BOTH_WAYS)
        return;
    int *const lists[] = {plan->layers, plan->full, plan->select, plan->comm};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        turn_rows(plan, lists[i]);
    for (int i = 0; i < job->n_patterns; i++)
        turn_rows(plan, job->pattern[i].layers);
}

/* The default schedule of the file's chunks is replaced by the default of the new ones. */
static void choose_schedule(const ek_job_overrides *overrides, int file_chunks, ek_job *job)
{
    const ek_schedule *usual = ek_schedule_default(file_chunks ? file_chunks : 1, false);
    if (overrides->schedule)
        job->schedule = overrides->schedule;
    else if (!job->schedule || (file_chunks != job->plan.n_chunks && job->schedule == usual))
        job->schedule = ek__job_usual_schedule(job);
}

/* ---- recomputation of every layer, or none ---- */

static void override_recompute(ek_recompute kind, ek_job *job)
{
    for (int i = job->n_patterns - 1; i >= 0; i--)
        if (job->pattern[i].kind == EK_PATTERN_SELECT || job->pattern[i].kind == EK_PATTERN_COMM)
            remove_pattern(job, i);
    for (int c = 0; c < n_cells(&job->plan); c++)
        job->plan.full[c] = kind == EK_RECOMPUTE_FULL ? job->plan.layers[c] : 0;
    ek__job_sum_patterns(job);
}

static ek_status check_overrides(const ek_job_overrides *overrides, ek_error *err)
{
    const struct {
        const char *name;
        int value, most;
    } sizes[] = {
        {"data parallel ranks", overrides->data, EK_MAX_RANKS},
        {"tensor parallel ranks", overrides->tensor, EK_MAX_RANKS},
        {"stages", overrides->pipeline, EK_MAX_STAGES},
        {"context parallel ranks", overrides->context, EK_MAX_RANKS},
        {"expert parallel ranks", overrides->expert, EK_MAX_RANKS},
        {"chunks per stage", overrides->n_chunks, EK_MAX_CHUNKS},
        {"micro-batches", overrides->n_micro_batches, EK_MAX_MICRO_BATCHES},
        {"sequences of a micro-batch", overrides->batch, EK__JOB_MAX_BATCH},
        {"tokens of a sequence", overrides->seq_length, EK__JOB_MAX_SEQUENCE},
        {"layers", overrides->n_layers, EK_MAX_LAYERS},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 0 || sizes[i].value > sizes[i].most)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s must be 1 to %d (got %d)", sizes[i].name, sizes[i].most,
                            sizes[i].value);
    return EK_OK;
}

ek_status ek__job_check_overrides(const ek_job_overrides *overrides, ek_error *err)
{
    if (overrides->recompute > 0 && overrides->recompute != EK_RECOMPUTE_FULL)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "recomputation of all layers must be none or full; other kinds name operators in the file");
    return check_overrides(overrides, err);
}

ek_status ek__job_override(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    if (job->model.n_dense_layers > job->model.n_layers)
        job->model.n_dense_layers = job->model.n_layers;
    int file_chunks = job->plan.n_chunks;
    const ek_schedule *file_schedule = job->schedule;
    int n_chunks = overrides->n_chunks ? overrides->n_chunks : file_chunks ? file_chunks : 1;
    int n_layers = job->model.n_layers + job->model.n_prediction_layers;
    if (overrides->schedule)
        job->schedule = overrides->schedule;
    if (overrides->pipeline == 1 && !overrides->n_chunks)
        n_chunks = 1; /* the chunks of a single stage are the whole model */
    ek_status status = EK_OK;
    bool anew = !file_chunks || job->plan.n_stages != job->parallel.pipeline || file_chunks != n_chunks ||
                sum(job->plan.layers, n_cells(&job->plan)) != n_layers;
    if (anew)
        status = spread_anew(source, n_chunks, job);
    if (status)
        return status;
    choose_schedule(overrides, file_chunks, job);
    if (!anew)
        follow_placement(file_schedule, job);
    ek__job_settle_run(job);
    if (overrides->recompute >= 0)
        override_recompute((ek_recompute)overrides->recompute, job);
    if (overrides->limit_mb > 0)
        job->limit_mb = overrides->limit_mb;
    for (int i = 0; i < overrides->n_rules && status == EK_OK; i++)
        if ((status = ek_rules_set(&job->rules, overrides->rules[i], source->err)) == EK_OK)
            job->rules_told |= UINT64_C(1) << ek__rule_index(overrides->rules[i]);
    return status;
}
