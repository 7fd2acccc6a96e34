/* The measures: each function changes a job as one setting of its framework would, and says the setting in the
 * framework's words, or why there is nothing to change. Where a degree is doubled the data-parallel one is halved and
 * the micro-batches doubled, so that devices and tokens of a step stay what they are. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "memory/graph.h"
#include "memory/measures.h"

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static ek_status refuse(ek__measure_try *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->out->why, sizeof t->out->why, format, arguments);
    va_end(arguments);
    t->out->possible = false;
    return EK_OK;
}

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* MindSpeed-Core-MS writes Megatron's arguments as keys: "--a-b 2" is "a_b: 2", "--a" is "a: True". */
static void arguments_as_keys(char *text)
{
    char copy[160];
    size_t at = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (const char *c = copy; *c && at + 8 < sizeof copy;) {
        while (*c == ' ' || *c == '-')
            c++;
        for (; *c && *c != ' ' && at + 8 < sizeof copy; c++)
            text[at++] = (char)(*c == '-' ? '_' : *c);
        text[at++] = ':';
        text[at++] = ' ';
        bool value = *c == ' ' && c[1] != '-';
        if (!value) {
            memcpy(text + at, "True", 4);
            at += 4;
        }
        for (c += *c == ' '; value && *c && *c != ' ' && at + 8 < sizeof copy; c++)
            text[at++] = *c;
        c += value && *c == ' ';
        if (*c) {
            text[at++] = ',';
            text[at++] = ' ';
        }
    }
    text[at] = '\0';
}

/* The setting as MindFormers and as Megatron has it; the second takes the same values in the same order. */
__attribute__((format(printf, 2, 4))) static ek_status say(ek__measure_try *t, const char *mindformers,
                                                           const char *megatron, ...)
{
    const char *format = is_mindformers(t->job) ? mindformers : megatron;
    va_list arguments;
    va_start(arguments, megatron);
    vsnprintf(t->out->setting, sizeof t->out->setting, format, arguments);
    va_end(arguments);
    if (t->job->framework == EK_MINDSPEED)
        arguments_as_keys(t->out->setting);
    return EK_OK;
}

/* The same where only one of them has it, or which one it is was asked before. */
__attribute__((format(printf, 2, 3))) static ek_status say_one(ek__measure_try *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->out->setting, sizeof t->out->setting, format, arguments);
    va_end(arguments);
    if (t->job->framework == EK_MINDSPEED)
        arguments_as_keys(t->out->setting);
    return EK_OK;
}

static const char *const already = "it is in effect already";

/* ---- recomputation ---- */

static int n_cells(const ek_job *job)
{
    return job->plan.n_stages * job->plan.n_chunks;
}

static bool is_full(const ek_job *job)
{
    for (int c = 0; c < n_cells(job); c++)
        if (job->plan.full[c] < job->plan.layers[c])
            return false;
    return true;
}

/* What is worth recomputing where the job has no pattern of a kind. */
static const char *const *worth_recomputing(const ek_job *job, ek_pattern_kind kind)
{
    static const char *const activation[] = {"mlp\\.activation_func", NULL};
    static const char *const reshapes[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
                                           "feed_forward\\.w1\\.reshape", "feed_forward\\.w2\\.reshape", NULL};
    /* The attention's core, Megatron's usual choice, keeps no scores where it is fused; MindSpeed-LLM has this one. */
    if (kind == EK_PATTERN_SELECT && job->family == EK_FAMILY_MEGATRON)
        return activation;
    /* Without fine-grained interleave a Reshape stands behind w1 and before w2, and keeps what is recomputed. */
    if (kind == EK_PATTERN_SELECT && job->family == EK_FAMILY_LLAMA && job->parallel.fine_grain <= 1)
        return reshapes;
    return ek__job_usual_patterns(job, kind);
}

static ek_status add_defaults(ek__measure_try *t, ek_pattern_kind kind)
{
    ek_status status = EK_OK;
    for (const char *const *text = worth_recomputing(t->job, kind); *text && !status; text++)
        if (t->job->n_patterns < EK_MAX_PATTERNS)
            status = ek__job_add_pattern(t->job, *text, kind, NULL, true, (ek_origin){.file = t->job->path}, t->err);
    return status;
}

/* Patterns of a kind in every layer. @return whether anything changed */
static ek_status widen(ek__measure_try *t, ek_pattern_kind kind, bool *changed)
{
    ek_job *job = t->job;
    bool has = false;
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern *pattern = &job->pattern[i];
        if (pattern->kind != kind)
            continue;
        has = true;
        for (int c = 0; c < n_cells(job); c++) {
            *changed = *changed || pattern->layers[c] != job->plan.layers[c];
            pattern->layers[c] = job->plan.layers[c];
        }
    }
    ek__job_sum_patterns(job);
    if (has)
        return EK_OK;
    int before = job->n_patterns;
    ek_status status = add_defaults(t, kind);
    *changed = *changed || job->n_patterns > before;
    return status;
}

static ek_status change_select(ek__measure_try *t)
{
    bool changed = false;
    if (is_full(t->job))
        return refuse(t, "every layer is recomputed whole");
    ek_status status = widen(t, EK_PATTERN_SELECT, &changed);
    if (status)
        return status;
    return changed ? say(t, "recompute_config.select_recompute: True",
                         t->job->framework == EK_MINDSPEED ? "--select-recompute True"
                                                           : "--recompute-activation-function (MindSpeed-LLM)")
                   : refuse(t, "%s", already);
}

static ek_status change_comm(ek__measure_try *t)
{
    bool changed = false;
    if (is_full(t->job))
        return refuse(t, "every layer is recomputed whole");
    if (t->job->framework == EK_MEGATRON)
        return refuse(t, "of gathered tensors only the rank's own part is kept anyway");
    if (!t->job->parallel.sequence_parallel)
        return refuse(t, "without sequence parallelism norms are not followed by communication");
    ek_status status = widen(t, EK_PATTERN_COMM, &changed);
    if (status)
        return status;
    return changed ? say(t, "recompute_config.select_comm_recompute: True", "--select-comm-recompute True")
                   : refuse(t, "%s", already);
}

static ek_status change_both(ek__measure_try *t)
{
    ek_status status = change_select(t);
    if (status || !t->out->possible)
        return status;
    status = change_comm(t);
    if (status || !t->out->possible)
        return status;
    return say(t, "recompute_config.select_recompute: True and select_comm_recompute: True",
               "--select-recompute True --select-comm-recompute True");
}

static ek_status change_full(ek__measure_try *t)
{
    if (is_full(t->job))
        return refuse(t, "%s", already);
    memcpy(t->job->plan.full, t->job->plan.layers, (size_t)n_cells(t->job) * sizeof *t->job->plan.full);
    return say(t, "recompute_config.recompute: True",
               "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
}

/* The first k layers of each of a stage's chunks. */
static void recompute_first(ek_job *job, const int *full, int stage, int k)
{
    for (int i = 0; i < job->plan.n_chunks; i++) {
        int cell = i * job->plan.n_stages + stage, n = k < job->plan.layers[cell] ? k : job->plan.layers[cell];
        job->plan.full[cell] = n > full[cell] ? n : full[cell];
    }
}

/* Does the stage fit with k? */
static ek_status fits_with(ek__measure_try *t, const int *full, int stage, int k, bool *fits)
{
    ek_memory memory;
    bool fine;
    recompute_first(t->job, full, stage, k);
    ek_status status = ek__measure_predict(t, &memory, &fine);
    *fits = false;
    if (status || !fine)
        return status;
    *fits = memory.stage[stage].actual_peak <= memory.limit;
    ek_memory_clear(&memory);
    return EK_OK;
}

/* The least k that makes it fit, by bisection: more recomputation never needs more. */
static ek_status search_first(ek__measure_try *t, const int *full, int stage, int most, int *k)
{
    int low = 0, high = most;
    bool fits = false;
    ek_status status = fits_with(t, full, stage, most, &fits);
    while (!status && fits && high - low > 1) {
        int middle = low + (high - low) / 2;
        bool enough = false;
        status = fits_with(t, full, stage, middle, &enough);
        if (enough)
            high = middle;
        else
            low = middle;
    }
    *k = high;
    recompute_first(t->job, full, stage, high);
    if (!status && t->out->possible && !fits)
        return refuse(t, "stage %d does not fit even with all its layers recomputed", stage);
    return status;
}

static ek_status change_full_just_enough(ek__measure_try *t)
{
    ek_job *job = t->job;
    int stage = t->today->fullest, most = 0, k = 0;
    if (t->today->limit <= 0)
        return refuse(t, "no limit of a device is known");
    if (t->today->fits)
        return refuse(t, "every stage fits as it is");
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return refuse(t, "two stages share each chunk with schedule %s", job->schedule->name);
    int *full = ek__alloc((size_t)n_cells(job), sizeof *full);
    if (!full)
        return ek__no_memory(t->err);
    memcpy(full, job->plan.full, (size_t)n_cells(job) * sizeof *full);
    for (int i = 0; i < job->plan.n_chunks; i++) {
        int n = job->plan.layers[i * job->plan.n_stages + stage];
        most = n > most ? n : most;
    }
    ek_status status = search_first(t, full, stage, most, &k);
    free(full);
    if (status || !t->out->possible)
        return status;
    return say(t, "recompute_config.recompute: %d for stage %d",
               "--recompute-method block --recompute-num-layers %d (stage %d)", k, stage);
}

/* ---- sharding ---- */

static ek_status change_sequence_parallel(ek__measure_try *t)
{
    if (t->job->parallel.tensor == 1)
        return refuse(t, "there is no tensor parallelism");
    if (t->job->parallel.sequence_parallel)
        return refuse(t, "%s", already);
    t->job->parallel.sequence_parallel = true;
    return say(t, "parallel_config.use_seq_parallel: True", "--sequence-parallel");
}

static bool has_group(const ek_job *job)
{
    return job->parallel.data * job->parallel.context > 1;
}

static ek_status change_optimizer_parallel(ek__measure_try *t)
{
    ek_job_states *states = &t->job->states;
    if (states->shard_optimizer)
        return refuse(t, "%s", already);
    if (!has_group(t->job))
        return refuse(t, "there is one data-parallel rank, so nobody to share with");
    states->shard_optimizer = true;
    if (is_mindformers(t->job)) {
        states->shard_weight = true;
        states->gathered = states->weight;
    }
    return say(t, "parallel.enable_parallel_optimizer: True", "--use-distributed-optimizer");
}

static ek_status change_gradient_shard(ek__measure_try *t)
{
    ek_job_states *states = &t->job->states;
    if (!is_mindformers(t->job))
        return refuse(t, "the framework keeps whole gradients");
    if (states->gradient == 0)
        return refuse(t, "there is no buffer of gradients with one stage and no accumulation");
    if (states->shard_gradient)
        return refuse(t, "%s", already);
    if (!states->shard_weight || !has_group(t->job))
        return refuse(t, "the optimizer's states are not shared");
    states->shard_gradient = true;
    return say_one(t, "parallel.parallel_optimizer_config.gradient_accumulation_shard: True");
}

static ek_status change_table_shard(ek__measure_try *t)
{
    if (t->job->states.shard_table)
        return refuse(t, "%s", already);
    if (!is_mindformers(t->job) || !t->job->states.shard_weight || !has_group(t->job))
        return refuse(t, "weights are not shared");
    t->job->states.shard_table = true;
    return say_one(t, "model.model_config.parallel_optimizer: True");
}

static ek_status change_whole_group(ek__measure_try *t)
{
    if (t->job->states.shard_size <= 0)
        return refuse(t, "the whole group shares already");
    t->job->states.shard_size = -1;
    return say_one(t, "parallel.parallel_optimizer_config.optimizer_weight_shard_size: -1");
}

/* ---- layers, schedule ---- */

/* A layer less, or one more, in a cell; lists that held for all its layers still do. */
static void change_layers(ek_job *job, int cell, int by)
{
    int was = job->plan.layers[cell], now = was + by;
    job->plan.layers[cell] = now;
    if (job->plan.full[cell] > now || (job->plan.full[cell] == was && was > 0))
        job->plan.full[cell] = now;
    for (int i = 0; i < job->n_patterns; i++) {
        int *layers = &job->pattern[i].layers[cell];
        if (*layers > now || (*layers == was && was > 0))
            *layers = now;
    }
    ek__job_sum_patterns(job);
}

static int cell_of(const ek_plan *plan, int stage, bool most)
{
    int best = stage;
    for (int i = 1; i < plan->n_chunks; i++) {
        int cell = i * plan->n_stages + stage;
        if (most ? plan->layers[cell] > plan->layers[best] : plan->layers[cell] < plan->layers[best])
            best = cell;
    }
    return best;
}

static ek_status change_offset(ek__measure_try *t)
{
    ek_job *job = t->job;
    const ek_memory *today = t->today;
    int full = today->fullest, empty = 0;
    if (job->plan.n_stages == 1)
        return refuse(t, "there is one stage");
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return refuse(t, "two stages share each chunk with schedule %s", job->schedule->name);
    for (int s = 1; s < today->n_stages; s++)
        if (today->stage[s].actual_peak < today->stage[empty].actual_peak)
            empty = s;
    int from = cell_of(&job->plan, full, true), to = cell_of(&job->plan, empty, false);
    int last = ek_cell_at(job->schedule->placement, job->plan.n_stages, n_cells(job) - 1);
    int movable = job->plan.layers[from] - (from == last ? job->model.n_prediction_layers : 0);
    if (movable < 1 || full == empty)
        return refuse(t, "the fullest stage has no layer to give");
    int average = job->model.n_layers / n_cells(job);
    change_layers(job, from, -1);
    change_layers(job, to, 1);
    if (is_mindformers(job))
        return say_one(t, "offset of stage %d chunk %d: %d, of stage %d chunk %d: %d", full, from / job->plan.n_stages,
                       job->plan.layers[from] - average, empty, to / job->plan.n_stages,
                       job->plan.layers[to] - average);
    return say_one(t, "layers of stage %d chunk %d: %d, of stage %d chunk %d: %d", full, from / job->plan.n_stages,
                   job->plan.layers[from], empty, to / job->plan.n_stages, job->plan.layers[to]);
}

/* Put degrees, chunks and schedule of the copy into force: layers are spread evenly where they no longer fit. */
static ek_status spread(ek__measure_try *t, int n_chunks, const ek_schedule *schedule)
{
    const ek__job_source source = {.path = t->job->path, .text = "", .err = t->err};
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.n_chunks = n_chunks;
    overrides.schedule = schedule;
    return ek__job_override(&source, &overrides, t->job);
}

static bool is_named(const ek_schedule *schedule, const char *name)
{
    return schedule == ek_schedule_find(name);
}

/* @return what stands against another number of chunks; NULL: nothing */
static const char *no_chunks(const ek_job *job, int n_chunks)
{
    if (job->plan.n_stages == 1)
        return "there is one stage";
    if (n_chunks > EK_MAX_CHUNKS || job->model.n_layers < job->plan.n_stages * n_chunks)
        return "there are too few layers for so many chunks";
    return job->parallel.n_pieces > 1 ? "the batch is cut into pieces of sequences" : NULL;
}

static ek_status change_interleave(ek__measure_try *t)
{
    int v = 2 * t->job->plan.n_chunks;
    const char *why = no_chunks(t->job, v);
    bool usual = is_named(t->job->schedule, "1f1b") || is_named(t->job->schedule, "interleaved") ||
                 is_named(t->job->schedule, "interleaved-less-memory");
    if (why || !usual)
        return refuse(t, "%s", why ? why : "the schedule has a fixed number of chunks");
    const ek_schedule *schedule = v == 2 ? ek_schedule_default(2, false) : t->job->schedule;
    ek_status status = spread(t, v, schedule);
    return status ? status
                  : say(t, "pp_interleave_num: %d, pipeline_config.pipeline_interleave: True, offset: 0",
                        "--num-virtual-stages-per-pipeline-rank %d", v);
}

static ek_status change_less_memory(ek__measure_try *t)
{
    const ek_schedule *less = ek_schedule_find("interleaved-less-memory");
    if (t->job->schedule == less)
        return refuse(t, "%s", already);
    if (!is_named(t->job->schedule, "interleaved"))
        return refuse(t, "the schedule is not interleaved 1F1B");
    if (!is_mindformers(t->job))
        return refuse(t, "the framework has no such schedule");
    t->job->schedule = less;
    return say_one(t, "pipeline_config.pipeline_scheduler: \"less_memory\"");
}

/* A schedule of two chunks a stage in a V. */
static ek_status change_to_v(ek__measure_try *t, const char *name, const char *mindformers, const char *megatron)
{
    const char *why = no_chunks(t->job, 2);
    if (is_named(t->job->schedule, name))
        why = already;
    if (!why && !*(is_mindformers(t->job) ? mindformers : megatron))
        why = "the framework has no such schedule";
    if (!why && t->job->framework == EK_MINDSPEED)
        why = "the framework has no such schedule";
    if (why)
        return refuse(t, "%s", why);
    ek_status status = spread(t, 2, ek_schedule_find(name));
    return status ? status : say_one(t, "%s", is_mindformers(t->job) ? mindformers : megatron);
}

static ek_status change_zb_v(ek__measure_try *t)
{
    return change_to_v(t, "zb-v", "pipeline_config.pipeline_scheduler: \"zero_bubble_v\", pp_interleave_num: 2",
                       "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup zb");
}

static ek_status change_v_half(ek__measure_try *t)
{
    return change_to_v(t, "v-half", "", "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half");
}

static ek_status change_v_min(ek__measure_try *t)
{
    return change_to_v(t, "v-min", "", "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min");
}

/* ---- batch and degrees ---- */

/* Twice the micro-batches, or steps of accumulation where there is one stage. @return false where that is too many */
static bool double_micro_batches(ek_job *job)
{
    bool accumulates = job->parallel.pipeline == 1 && is_mindformers(job);
    int *n = accumulates ? &job->parallel.n_accumulation : &job->parallel.n_micro_batches;
    if (*n > EK_MAX_MICRO_BATCHES / 2)
        return false;
    *n *= 2;
    if (accumulates && job->states.gradient == 0)
        job->states.gradient = job->states.weight;
    return true;
}

static ek_status change_batch(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (p->batch % 2)
        return refuse(t, "a micro-batch has %d sequence%s, which cannot be halved", p->batch, p->batch > 1 ? "s" : "");
    p->batch /= 2;
    if (!double_micro_batches(t->job))
        return refuse(t, "there would be too many micro-batches");
    if (p->pipeline == 1 && is_mindformers(t->job))
        return say_one(t, "runner_config.batch_size: %d, gradient_accumulation_steps: %d", p->batch, p->n_accumulation);
    return say(t, "runner_config.batch_size: %d, parallel_config.micro_batch_num: %d", "--micro-batch-size %d",
               p->batch, p->n_micro_batches);
}

/* Table and head are cut over new degrees as they were over the old ones, or whole where the vocabulary does not
 * divide. */
static void split_vocabulary(ek_job *job, int old_tensor, int old_context)
{
    ek_job_parallel *p = &job->parallel;
    bool table = p->table_split > 1 || old_tensor * old_context == 1, head = p->head_split > 1 || old_tensor == 1;
    int over = p->table_split == old_tensor && old_context > 1 ? p->tensor : p->tensor * p->context;
    if (!is_mindformers(job))
        over = p->tensor;
    p->table_split = table && job->model.vocab % over == 0 ? over : 1;
    p->head_split = head && job->model.vocab % p->tensor == 0 ? p->tensor : 1;
}

/* Half as many data-parallel ranks, each with twice the micro-batches. */
static ek_status halve_data(ek__measure_try *t)
{
    if (t->job->parallel.data % 2)
        return refuse(t, "%d data-parallel rank%s cannot be halved, so it needs more devices", t->job->parallel.data,
                      t->job->parallel.data > 1 ? "s" : "");
    t->job->parallel.data /= 2;
    return double_micro_batches(t->job) ? EK_OK : refuse(t, "there would be too many micro-batches");
}

static ek_status say_degree(ek__measure_try *t, const char *mindformers, const char *megatron, int degree)
{
    const ek_job_parallel *p = &t->job->parallel;
    if (!is_mindformers(t->job))
        return say_one(t, "--%s %d", megatron, degree);
    bool accumulates = p->pipeline == 1;
    return say_one(t, "%s: %d, data_parallel: %d, %s: %d", mindformers, degree, p->data,
                   accumulates ? "gradient_accumulation_steps" : "micro_batch_num",
                   accumulates ? p->n_accumulation : p->n_micro_batches);
}

static ek_status change_tensor(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    if (p->expert_tensor == p->tensor)
        p->expert_tensor *= 2;
    p->tensor *= 2;
    split_vocabulary(t->job, p->tensor / 2, p->context);
    return say_degree(t, "parallel_config.model_parallel", "tensor-model-parallel-size", p->tensor);
}

static ek_status change_context(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (!t->job->model.flash_attention)
        return refuse(t, "context parallelism needs flash attention");
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    p->context *= 2;
    if (p->context_algorithm == EK_CONTEXT_ULYSSES)
        p->ulysses *= 2;
    split_vocabulary(t->job, p->tensor, p->context / 2);
    return say_degree(t, "parallel_config.context_parallel", "context-parallel-size", p->context);
}

static ek_status change_pipeline(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (p->pipeline > EK_MAX_STAGES / 2 || t->job->model.n_layers < 2 * n_cells(t->job))
        return refuse(t, "there are too few layers for so many stages");
    if (p->pipeline == 1)
        return refuse(t, "there is no pipeline to make longer");
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    p->pipeline *= 2;
    status = spread(t, t->job->plan.n_chunks, t->job->schedule);
    return status ? status
                  : say_degree(t, "offset: 0, parallel_config.pipeline_stage", "pipeline-model-parallel-size",
                               p->pipeline);
}

static ek_status change_expert(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (t->job->model.n_experts == 0)
        return refuse(t, "there are no experts");
    if (p->data * p->context % (2 * p->expert))
        return refuse(t, "%d data-parallel ranks cannot hold %d expert-parallel ones", p->data * p->context,
                      2 * p->expert);
    p->expert *= 2;
    return say(t, "parallel_config.expert_parallel: %d", "--expert-model-parallel-size %d", p->expert);
}

/* ---- the rest ---- */

static ek_status change_flash(ek__measure_try *t)
{
    if (t->job->model.flash_attention)
        return refuse(t, "%s", already);
    t->job->model.flash_attention = true;
    return say(t, "model.model_config.use_flash_attention: True", "--use-flash-attn");
}

static ek_status change_mask(ek__measure_try *t)
{
    if (t->job->model.mask_compressed)
        return refuse(t, "%s", already);
    if (!is_mindformers(t->job) || !t->job->model.flash_attention)
        return refuse(t, "it goes with flash attention of MindFormers");
    t->job->model.mask_compressed = true;
    return say_one(t, "model.model_config.use_attn_mask_compression: True");
}

static ek_status change_pages(ek__measure_try *t)
{
    ek_rules *rules = &t->job->rules;
    if (rules->allocation == EK_ALLOCATION_PAGES)
        return refuse(t, "%s", already);
    bool pytorch = rules->allocation == EK_ALLOCATION_CACHING;
    rules->allocation = EK_ALLOCATION_PAGES;
    snprintf(t->out->setting, sizeof t->out->setting, "%s",
             pytorch ? "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (environment)"
                     : "MS_ALLOC_CONF=enable_vmm:True (environment)");
    return EK_OK;
}

const ek__measure_kind ek__measure_kinds[] = {
    {"recompute the activation functions in every layer", change_select},
    {"repeat the communication behind norms in every layer", change_comm},
    {"both of these in every layer", change_both},
    {"recompute every layer whole", change_full},
    {"recompute just enough layers of the fullest stage", change_full_just_enough},
    {"sequence parallelism", change_sequence_parallel},
    {"share weights and optimizer states among data-parallel ranks", change_optimizer_parallel},
    {"share the gradients' buffers too", change_gradient_shard},
    {"share the embedding table too", change_table_shard},
    {"share among all ranks of the group", change_whole_group},
    {"move a layer from the fullest to the emptiest stage", change_offset},
    {"twice the chunks per stage", change_interleave},
    {"interleave with less memory", change_less_memory},
    {"schedule ZB-V", change_zb_v},
    {"schedule V-Half", change_v_half},
    {"schedule V-Min", change_v_min},
    {"half the micro-batch, twice as many", change_batch},
    {"twice the tensor parallelism, half the data parallelism", change_tensor},
    {"twice the context parallelism, half the data parallelism", change_context},
    {"twice the stages, half the data parallelism", change_pipeline},
    {"twice the expert parallelism", change_expert},
    {"flash attention", change_flash},
    {"compress the attention mask", change_mask},
    {"map memory in pages", change_pages},
    {NULL, NULL},
};
