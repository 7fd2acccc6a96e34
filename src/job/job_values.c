/* Jobs as values: names, copies, patterns of recomputation, and helpers shared by the readers. */

#include <assert.h>
#include <stdlib.h>

#include "evenkeel/schedule.h"
#include "job/job_internal.h"

const char *const ek__dtype_name[EK_N_DTYPES] = {"float32", "bfloat16", "float16"};
const char *const *const ek_dtype_name = ek__dtype_name;

const char *const ek__fp8_name[EK_N_FP8] = {"none", "delayed", "tensorwise", "rowwise", "blockwise"};
const char *const *const ek_fp8_name = ek__fp8_name;

const char *const ek__launch_name[EK_N_LAUNCHES] = {"eager", "compiled", "graph"};
const char *const *const ek_launch_name = ek__launch_name;

const char *const ek__framework_name[EK_N_FRAMEWORKS] = {"mindformers", "mindformers-mcore", "mindspeed", "megatron",
                                                         "torchtitan"};
const char *const *const ek_framework_name = ek__framework_name;

int ek_dtype_bytes(ek_dtype dtype)
{
    return dtype == EK_FP32 ? 4 : 2;
}

ek_job_overrides ek_job_overrides_none(void)
{
    return (ek_job_overrides){.sequence_parallel = -1, .recompute = -1};
}

void ek__job_note_sequence(ek_origin at, ek_job *job)
{
    job->seq_line = at.line;
    job->seq_column = at.column;
}

void ek__job_drop_patterns(ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++) {
        free(job->pattern[i].text);
        free(job->pattern[i].layers);
    }
    job->n_patterns = 0;
}

static bool is_idle(const ek_pattern *pattern, int n_cells)
{
    bool idle = !pattern->by_default && (pattern->kind == EK_PATTERN_SELECT || pattern->kind == EK_PATTERN_COMM);
    for (int c = 0; c < n_cells; c++)
        idle = idle && pattern->layers[c] == 0;
    return idle;
}

void ek__job_drop_idle_patterns(ek_job *job)
{
    int n = 0;
    for (int i = 0; i < job->n_patterns; i++)
        if (is_idle(&job->pattern[i], job->plan.n_stages * job->plan.n_chunks)) {
            free(job->pattern[i].text);
            free(job->pattern[i].layers);
        } else {
            job->pattern[n++] = job->pattern[i];
        }
    job->n_patterns = n;
}

void ek_job_clear(ek_job *job)
{
    ek__job_drop_patterns(job);
    free(job->pattern);
    free(job->path);
    ek_plan_clear(&job->plan);
    *job = (ek_job){0};
}

int64_t ek_job_devices(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (int64_t)p->data * p->tensor * p->pipeline * p->context;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

int64_t ek_job_sequences(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (int64_t)p->data * p->batch * p->n_micro_batches * at_least_one(p->n_accumulation) *
           at_least_one(p->n_batch_interleave);
}

ek_status ek_job_copy(const ek_job *from, ek_job *to, ek_error *err)
{
    ek_job copy = *from;
    copy.path = NULL;
    copy.pattern = NULL;
    copy.n_patterns = 0;
    copy.plan = (ek_plan){0};
    if (from->path && !(copy.path = ek__strdup(from->path)))
        return ek__no_memory(err);
    ek_status status = from->plan.n_stages ? ek_plan_copy(&from->plan, &copy.plan, err) : EK_OK;
    for (int i = 0; i < from->n_patterns && status == EK_OK; i++)
        status = ek__job_add_like(&copy, &from->pattern[i], from->pattern[i].layers, err);
    if (status == EK_OK)
        *to = copy;
    else
        ek_job_clear(&copy);
    return status;
}

ek_status ek__job_spread(ek_job *job, int n_chunks, ek_error *err)
{
    int p = job->parallel.pipeline, n = p * n_chunks;
    ek_status status = ek_plan_init(&job->plan, p, n_chunks, err);
    if (status)
        return status;
    for (int c = 0; c < n; c++)
        job->plan.layers[c] = job->model.n_layers / n + (c < job->model.n_layers % n);
    /* The last chunk of the model; its place depends on the schedule. */
    ek_placement placement = job->schedule ? job->schedule->placement : EK_PLACE_WRAP;
    job->plan.layers[ek_cell_at(placement, p, n - 1)] += job->model.n_prediction_layers;
    return EK_OK;
}

const ek_schedule *ek__job_usual_schedule(const ek_job *job)
{
    return job->parallel.n_pieces > 1 ? ek_schedule_of(EK_SCHEDULE_SEQUENCE, EK_PLACE_WRAP)
                                      : ek_schedule_default(job->plan.n_chunks, false);
}

ek_pattern_kind ek_pattern_list(const ek_pattern *pattern)
{
    if (pattern->kind == EK_PATTERN_SELECT)
        return pattern->other_list ? EK_PATTERN_COMM : EK_PATTERN_SELECT;
    if (pattern->kind == EK_PATTERN_COMM)
        return pattern->other_list ? EK_PATTERN_SELECT : EK_PATTERN_COMM;
    return pattern->kind;
}

void ek__job_sum_patterns(ek_job *job)
{
    int n = job->plan.n_stages * job->plan.n_chunks;
    for (int c = 0; c < n; c++)
        job->plan.select[c] = job->plan.comm[c] = 0;
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *pattern = &job->pattern[i];
        ek_pattern_kind of = ek_pattern_list(pattern);
        int *list = of == EK_PATTERN_SELECT ? job->plan.select : of == EK_PATTERN_COMM ? job->plan.comm : NULL;
        for (int c = 0; c < n && list; c++)
            list[c] = pattern->layers[c] > list[c] ? pattern->layers[c] : list[c];
    }
}

ek_status ek__job_add_pattern(ek_job *job, const char *text, ek_pattern_kind kind, const int *layers, bool by_default,
                              ek_origin origin, ek_error *err)
{
    size_t n = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks;
    assert(n > 0);
    if (job->n_patterns == EK_MAX_PATTERNS)
        return ek__fail(err, EK_ERR_INPUT, origin,
                        "'%s' is pattern %d of recompute_config, expected at most %d; "
                        "join some of them with '|'",
                        text, EK_MAX_PATTERNS + 1, EK_MAX_PATTERNS);
    if (!job->pattern && !(job->pattern = ek__alloc(EK_MAX_PATTERNS, sizeof *job->pattern)))
        return ek__no_memory(err);
    ek_pattern pattern = {.text = ek__strdup(text),
                          .kind = kind,
                          .layers = ek__alloc(n, sizeof *pattern.layers),
                          .by_default = by_default,
                          .origin = origin};
    if (!pattern.text || !pattern.layers) {
        free(pattern.text);
        free(pattern.layers);
        return ek__no_memory(err);
    }
    for (size_t c = 0; c < n; c++) {
        int asked = layers ? layers[c] : job->plan.layers[c];
        pattern.layers[c] = asked < job->plan.layers[c] ? asked : job->plan.layers[c];
    }
    job->pattern[job->n_patterns++] = pattern;
    ek__job_sum_patterns(job);
    return EK_OK;
}

bool ek__job_has_pattern(const ek_job *job, ek_pattern_kind kind)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind == kind || ek_pattern_list(&job->pattern[i]) == kind)
            return true;
    return false;
}

ek_status ek__job_add_like(ek_job *job, const ek_pattern *like, const int *layers, ek_error *err)
{
    ek_origin origin = like->origin;
    if (origin.file)
        origin.file = job->path;
    ek_status status = ek__job_add_pattern(job, like->text, like->kind, layers, like->by_default, origin, err);
    if (status || !like->other_list)
        return status;
    job->pattern[job->n_patterns - 1].other_list = true;
    ek__job_sum_patterns(job);
    return EK_OK;
}

int ek__job_intermediate(int hidden, double multiplier, int multiple)
{
    int x = 4 * hidden;
    if (multiplier > 0)
        x = (int)((multiplier + 0.01) * x);
    x = (int)(2.0 * x / 3);
    return (x + multiple - 1) / multiple * multiple;
}

void ek__job_settle_run(ek_job *job)
{
    if (job->run.overlap_p2p_interleaved)
        job->run.overlap_p2p = job->plan.n_chunks > 1;
}
