/* The list of mitigations: each function changes a job as settings of its framework would, or returns the reason why
 * there is nothing to change. The settings are derived from the change (job/settings.h). Where a degree is doubled the
 * data-parallel one is halved and the micro-batches doubled, so that the number of devices and the tokens of a step
 * stay the same. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "estimate/mitigations.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "job/settings.h"

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static ek_status refuse(ek__mitigation_try *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(t->out->why, sizeof t->out->why, format, arguments);
    va_end(arguments);
    t->out->possible = false;
    return EK_OK;
}

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static const char *const already = "already in effect";

/* ---- recomputation ---- */

static int n_cells(const ek_job *job)
{
    return job->plan.n_stages * job->plan.n_chunks;
}

static bool is_full(const ek_job *job)
{
    assert(n_cells(job) >= 1);
    for (int c = 0; c < n_cells(job); c++)
        if (job->plan.full[c] < job->plan.layers[c])
            return false;
    return true;
}

/* The recomputation that pays where the job has no pattern of a kind. */
static const char *const *worth_recomputing(const ek_job *job, ek_pattern_kind kind)
{
    static const char *const activation[] = {"mlp\\.activation_func", NULL};
    static const char *const reshapes[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
                                           "feed_forward\\.w1\\.reshape", "feed_forward\\.w2\\.reshape", NULL};
    /* The attention's core, Megatron's usual choice, keeps no scores where it is fused; MindSpeed-LLM has this one. */
    if (kind == EK_PATTERN_SELECT && job->framework == EK_MEGATRON)
        return activation;
    /* Without fine-grained interleave a Reshape follows w1 and precedes w2, and saves the recomputed tensor. */
    if (kind == EK_PATTERN_SELECT && job->family == EK_FAMILY_LLAMA && job->parallel.fine_grain <= 1)
        return reshapes;
    return ek__job_usual_patterns(job, kind);
}

static ek_status add_defaults(ek__mitigation_try *t, ek_pattern_kind kind)
{
    ek_status status = EK_OK;
    for (const char *const *text = worth_recomputing(t->job, kind); *text && !status; text++)
        if (t->job->n_patterns < EK_MAX_PATTERNS)
            status = ek__job_add_pattern(t->job, *text, kind, NULL, false, (ek_origin){.file = t->job->path}, t->err);
    return status;
}

/* Patterns of a kind in every layer. @return whether anything changed */
static ek_status widen(ek__mitigation_try *t, ek_pattern_kind kind, bool *changed)
{
    ek_job *job = t->job;
    bool has = false;
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern *pattern = &job->pattern[i];
        if (pattern->kind != kind)
            continue;
        assert(pattern->layers);
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

/* Where every layer is recomputed completely, recomputing a part of them means no complete layer: more memory and less
 * time. */
static void instead_of_full(ek__mitigation_try *t, bool *changed)
{
    size_t used = strlen(t->out->name);
    assert(used < sizeof t->out->name);
    if (!is_full(t->job))
        return;
    memset(t->job->plan.full, 0, (size_t)n_cells(t->job) * sizeof *t->job->plan.full);
    snprintf(t->out->name + used, sizeof t->out->name - used, ", none whole");
    *changed = true;
}

static ek_status change_select(ek__mitigation_try *t)
{
    bool changed = false;
    instead_of_full(t, &changed);
    ek_status status = widen(t, EK_PATTERN_SELECT, &changed);
    if (status)
        return status;
    return changed ? EK_OK : refuse(t, "%s", already);
}

static ek_status change_comm(ek__mitigation_try *t)
{
    bool changed = false;
    if (t->job->framework == EK_MEGATRON)
        return refuse(t, "only the rank's own part of gathered tensors is saved in any case");
    if (!t->job->parallel.sequence_parallel)
        return refuse(t, "without sequence parallelism norms are not followed by communication");
    instead_of_full(t, &changed);
    ek_status status = widen(t, EK_PATTERN_COMM, &changed);
    if (status)
        return status;
    return changed ? EK_OK : refuse(t, "%s", already);
}

static ek_status change_both(ek__mitigation_try *t)
{
    ek_status status = change_select(t);
    return status || !t->out->possible ? status : change_comm(t);
}

static ek_status change_full(ek__mitigation_try *t)
{
    if (is_full(t->job))
        return refuse(t, "%s", already);
    memcpy(t->job->plan.full, t->job->plan.layers, (size_t)n_cells(t->job) * sizeof *t->job->plan.full);
    return EK_OK;
}

/* Recompute the first k[s] layers of each of the chunks of stage s, of which full[] are recomputed anyway. */
static void recompute_first(ek_job *job, const int *full, const int *k)
{
    for (int c = 0; c < n_cells(job); c++) {
        int layers = job->plan.layers[c], wanted = k[c % job->plan.n_stages], n = wanted < layers ? wanted : layers;
        job->plan.full[c] = n > full[c] ? n : full[c];
        assert(wanted >= 0 && job->plan.full[c] <= layers);
    }
    ek__job_one_rule(job);
}

/* Numbers for each stage that bound the least one that fits; high[s] is tried. */
typedef struct bounds {
    int *full;               /* [cells] the current recomputation */
    int *low, *high, *tried; /* [stages] */
} bounds;

/* Predict with the tried counts, and halve the bounds of every stage. @return the first stage that does not fit; -1:
 * none
 */
static ek_status try_counts(ek__mitigation_try *t, bounds *b, int *over)
{
    ek_memory memory;
    bool fine;
    recompute_first(t->job, b->full, b->tried);
    ek_status status = ek__mitigation_predict(t, &memory, &fine);
    *over = -1;
    if (status || !fine)
        return status;
    for (int s = memory.n_stages - 1; s >= 0; s--) {
        assert(b->tried[s] >= b->low[s] && b->tried[s] <= b->high[s]);
        bool fits = memory.stage[s].actual_peak <= memory.limit;
        *(fits ? &b->high[s] : &b->low[s]) = b->tried[s];
        *over = fits ? *over : s;
    }
    ek_memory_clear(&memory);
    return EK_OK;
}

/* Middles of the bounds. @return whether any bounds still have one */
static bool middle(const ek_job *job, bounds *b)
{
    bool more = false;
    for (int s = 0; s < job->plan.n_stages; s++) {
        assert(b->low[s] >= 0 && b->low[s] <= b->high[s]);
        b->tried[s] = b->high[s] - b->low[s] > 1 ? b->low[s] + (b->high[s] - b->low[s]) / 2 : b->high[s];
        more = more || b->tried[s] < b->high[s];
    }
    return more;
}

/* The least counts that make every stage fit, all stages by bisection at once, since recomputation of one stage does
 * not change the others: more recomputation never needs more memory. */
static ek_status search_counts(ek__mitigation_try *t, bounds *b)
{
    int over;
    ek_status status = try_counts(t, b, &over);
    if (!status && t->out->possible && over >= 0)
        return refuse(t, "stage %d does not fit even with all its layers recomputed", over);
    while (!status && t->out->possible && middle(t->job, b))
        status = try_counts(t, b, &over);
    return status;
}

/* Start with no layer where the stage fits already, and all of them elsewhere. */
static void start_bounds(const ek__mitigation_try *t, bounds *b)
{
    const ek_plan *plan = &t->job->plan;
    memcpy(b->full, plan->full, (size_t)n_cells(t->job) * sizeof *b->full);
    for (int c = 0; c < n_cells(t->job); c++) {
        int s = c % plan->n_stages;
        bool fits = t->today->stage[s].actual_peak <= t->today->limit;
        b->high[s] = !fits && plan->layers[c] > b->high[s] ? plan->layers[c] : b->high[s];
        b->tried[s] = b->high[s];
    }
}

static ek_status change_full_just_enough(ek__mitigation_try *t)
{
    ek_job *job = t->job;
    if (t->today->limit <= 0)
        return refuse(t, "no limit of a device is known");
    if (t->today->fits)
        return refuse(t, "every stage fits already");
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return refuse(t, "two stages share each chunk with schedule %s", job->schedule->name);
    int *room = ek__alloc((size_t)n_cells(job) + 3 * (size_t)job->plan.n_stages, sizeof *room);
    if (!room)
        return ek__no_memory(t->err);
    bounds b = {room, room + n_cells(job), room + n_cells(job) + job->plan.n_stages,
                room + n_cells(job) + 2 * job->plan.n_stages};
    start_bounds(t, &b);
    ek_status status = search_counts(t, &b);
    recompute_first(job, b.full, b.high);
    free(room);
    return status;
}

/* ---- sharding ---- */

static ek_status change_sequence_parallel(ek__mitigation_try *t)
{
    if (t->job->parallel.tensor == 1)
        return refuse(t, "there is no tensor parallelism");
    if (t->job->parallel.sequence_parallel)
        return refuse(t, "%s", already);
    t->job->parallel.sequence_parallel = true;
    return EK_OK;
}

static bool has_group(const ek_job *job)
{
    return job->parallel.data * job->parallel.context > 1;
}

static ek_status change_optimizer_parallel(ek__mitigation_try *t)
{
    ek_job_states *states = &t->job->states;
    if (states->shard_optimizer)
        return refuse(t, "%s", already);
    if (!has_group(t->job))
        return refuse(t, "there is only one data-parallel rank");
    states->shard_optimizer = true;
    if (is_mindformers(t->job)) {
        states->shard_weight = true;
        states->gathered = states->weight;
    }
    return EK_OK;
}

static ek_status change_gradient_shard(ek__mitigation_try *t)
{
    ek_job_states *states = &t->job->states;
    if (!is_mindformers(t->job))
        return refuse(t, "the framework does not shard gradients");
    if (states->gradient == 0)
        return refuse(t, "there is no buffer of gradients with one stage and no accumulation");
    if (states->shard_gradient)
        return refuse(t, "%s", already);
    if (!states->shard_weight || !has_group(t->job))
        return refuse(t, "the optimizer states are not sharded");
    states->shard_gradient = t->job->run.sums_every_micro_batch = true;
    return EK_OK;
}

static ek_status change_table_shard(ek__mitigation_try *t)
{
    if (t->job->states.shard_table)
        return refuse(t, "%s", already);
    if (!is_mindformers(t->job) || !t->job->states.shard_weight || !has_group(t->job))
        return refuse(t, "weights are not sharded");
    t->job->states.shard_table = true;
    return EK_OK;
}

static ek_status change_whole_group(ek__mitigation_try *t)
{
    ek_job_states *states = &t->job->states;
    bool copies = states->instances > 1 && states->shard_optimizer;
    if (states->shard_size <= 0 && !copies)
        return refuse(t, "the states are sharded over the whole group already");
    states->shard_size = -1;
    states->instances = 1;
    return EK_OK;
}

/* ---- layers, schedule ---- */

static int total(const int *list, int n)
{
    int sum = 0;
    for (int c = 0; c < n; c++)
        sum += list[c];
    return sum;
}

static bool is_whole(const ek_plan *plan, const int *list)
{
    return memcmp(list, plan->layers, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *list) == 0;
}

/* Does a list apply to some layers only? */
static bool is_partial(const ek_plan *plan, const int *list)
{
    return total(list, plan->n_stages * plan->n_chunks) > 0 && !is_whole(plan, list);
}

static ek_status change_less_recompute(ek__mitigation_try *t)
{
    const ek_plan *plan = &t->job->plan;
    ek_layers layers;
    double peak_mb;
    bool less;
    int n = n_cells(t->job);
    if (t->today->limit <= 0)
        return refuse(t, "no limit of a device is known");
    if (total(plan->full, n) + total(plan->select, n) + total(plan->comm, n) == 0)
        return refuse(t, "nothing is recomputed");
    ek_status status = ek_memory_to_layers(t->job, t->device, &layers, t->err);
    if (status)
        return status == EK_ERR_INPUT ? refuse(t, "the layers cannot be modelled") : status;
    status = ek__mitigation_recompute_less(t->job, &layers, (double)t->today->limit * 0x1p-20, &less, &peak_mb, t->err);
    ek_layers_clear(&layers);
    if (status)
        return status;
    return less ? EK_OK : refuse(t, "the memory limit does not allow less");
}

/* A layer less, or one more, in a cell; lists that applied to all its layers still do. */
static void change_layers(ek_job *job, int cell, int by)
{
    assert(cell >= 0 && cell < n_cells(job));
    int was = job->plan.layers[cell], now = was + by;
    assert(now >= 0);
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

static ek_status change_offset(ek__mitigation_try *t)
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
    change_layers(job, from, -1);
    change_layers(job, to, 1);
    return EK_OK;
}

/* A list of the old plan in the new one: each stage recomputes the share of the old stage in its place, rounded up.
 */
static void carry(const ek_plan *was, const int *list, const ek_plan *now, int *out)
{
    for (int c = 0; c < now->n_stages * now->n_chunks; c++) {
        int stage = c % now->n_stages * was->n_stages / now->n_stages, part = 0, whole = 0;
        for (int i = stage; i < was->n_stages * was->n_chunks; i += was->n_stages) {
            part += list[i];
            whole += was->layers[i];
        }
        assert(part >= 0 && part <= whole);
        out[c] = whole > 0 ? (part * now->layers[c] + whole - 1) / whole : 0;
    }
}

/* Lists that ek__job_override() drops, since they applied to some layers only. */
static ek_status carry_lists(const ek_job *was, ek_job *job, ek_error *err)
{
    ek_status status = EK_OK;
    if (is_partial(&was->plan, was->plan.full))
        carry(&was->plan, was->plan.full, &job->plan, job->plan.full);
    int *list = ek__alloc((size_t)n_cells(job), sizeof *list);
    if (!list)
        return ek__no_memory(err);
    for (int i = 0; i < was->n_patterns && !status; i++) {
        const ek_pattern *pattern = &was->pattern[i];
        if (!is_partial(&was->plan, pattern->layers))
            continue;
        carry(&was->plan, pattern->layers, &job->plan, list);
        status = ek__job_add_like(job, pattern, list, err);
    }
    free(list);
    return status;
}

/* Apply degrees, chunks and schedule of the copy: layers are spread evenly where they no longer fit, and each stage
 * recomputes as many as before. */
static ek_status spread(ek__mitigation_try *t, int n_chunks, const ek_schedule *schedule)
{
    const ek__job_source source = {.path = t->job->path, .text = "", .err = t->err};
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_job was;
    assert(n_chunks >= 1 && n_chunks <= EK_MAX_CHUNKS && schedule);
    overrides.n_chunks = n_chunks;
    overrides.schedule = schedule;
    if (t->job->framework == EK_MEGATRON && t->job->model.n_layers % (t->job->parallel.pipeline * n_chunks) != 0)
        return refuse(t, "%d layers do not divide by %d stages x %d chunks", t->job->model.n_layers,
                      t->job->parallel.pipeline, n_chunks);
    ek_status status = ek_job_copy(t->job, &was, t->err);
    if (status)
        return status;
    status = ek__job_override(&source, &overrides, t->job);
    bool same = was.plan.n_stages == t->job->plan.n_stages && was.plan.n_chunks == t->job->plan.n_chunks;
    if (!status && !same)
        status = carry_lists(&was, t->job, t->err);
    if (!status && !same)
        status = ek__job_spread_own(t->job, t->err);
    ek_job_clear(&was);
    return status;
}

/* @return the obstacle to another number of chunks; NULL: none */
static const char *no_chunks(const ek_job *job, int n_chunks)
{
    if (job->plan.n_stages == 1)
        return "there is one stage";
    if (n_chunks > EK_MAX_CHUNKS || job->model.n_layers < job->plan.n_stages * n_chunks)
        return "there are too few layers for so many chunks";
    return job->parallel.n_pieces > 1 ? "the batch is split into pieces of sequences" : NULL;
}

static ek_status change_interleave(ek__mitigation_try *t)
{
    int v = 2 * t->job->plan.n_chunks;
    const char *why = no_chunks(t->job, v);
    ek_schedule_family family = t->job->schedule->family;
    bool usual = family == EK_SCHEDULE_1F1B || family == EK_SCHEDULE_INTERLEAVED;
    if (why || !usual)
        return refuse(t, "%s", why ? why : "the schedule has a fixed number of chunks");
    const ek_schedule *schedule = v == 2 ? ek_schedule_default(2, false) : t->job->schedule;
    return spread(t, v, schedule);
}

static ek_status change_less_memory(ek__mitigation_try *t)
{
    if (t->job->schedule->shorter_warm_up)
        return refuse(t, "%s", already);
    if (!ek_schedule_is_interleaved(t->job->schedule))
        return refuse(t, "the schedule is not interleaved 1F1B");
    if (!is_mindformers(t->job))
        return refuse(t, "the framework has no such schedule");
    return refuse(t, "no key of the training file selects the shorter warm-up");
}

/* The schedule of two chunks a stage in a V that keeps this share of the stages in micro-batches; whether the framework
 * has it is in its settings. */
static ek_status change_to_v(ek__mitigation_try *t, double limit_per_stage)
{
    const ek_schedule *const *s = ek_schedules;
    while (*s && ((*s)->family != EK_SCHEDULE_ZERO_BUBBLE || (*s)->placement != EK_PLACE_V ||
                  (*s)->limit_per_stage != limit_per_stage))
        s++;
    assert(*s);
    const char *why = no_chunks(t->job, 2);
    if (t->job->schedule == *s)
        why = already;
    return why ? refuse(t, "%s", why) : spread(t, 2, *s);
}

static ek_status change_zb_v(ek__mitigation_try *t)
{
    return change_to_v(t, 1);
}

static ek_status change_v_half(ek__mitigation_try *t)
{
    return change_to_v(t, 0.5);
}

static ek_status change_v_min(ek__mitigation_try *t)
{
    return change_to_v(t, 1.0 / 3);
}

/* ---- batch and degrees ---- */

/* Twice the micro-batches, or steps of accumulation where there is one stage. @return false where that is too many */
static bool double_micro_batches(ek_job *job)
{
    bool accumulates = job->parallel.pipeline == 1 && is_mindformers(job);
    int *n = accumulates ? &job->parallel.n_accumulation : &job->parallel.n_micro_batches;
    assert(*n >= 1);
    if (*n > EK_MAX_MICRO_BATCHES / 2)
        return false;
    *n *= 2;
    return true;
}

static ek_status change_batch(ek__mitigation_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (p->batch % 2)
        return refuse(t, "a micro-batch has %d sequence%s, which cannot be halved", p->batch, p->batch > 1 ? "s" : "");
    p->batch /= 2;
    return double_micro_batches(t->job) ? EK_OK : refuse(t, "there would be too many micro-batches");
}

/* Half as many data-parallel ranks, each with twice the micro-batches. */
static ek_status halve_data(ek__mitigation_try *t)
{
    if (t->job->parallel.data % 2)
        return refuse(t, "%d data-parallel rank%s cannot be halved, so it needs more devices", t->job->parallel.data,
                      t->job->parallel.data > 1 ? "s" : "");
    t->job->parallel.data /= 2;
    return double_micro_batches(t->job) ? EK_OK : refuse(t, "there would be too many micro-batches");
}

static ek_status change_tensor(ek__mitigation_try *t)
{
    ek_status status = halve_data(t);
    t->job->parallel.tensor *= 2;
    return status;
}

/* Tokens of a rank's part of a sequence below which splitting it further is not usual: kernels and messages get short
 * while other mitigations are left. Guides cut sequences of 32 K and more. */
enum { LONG_SEQUENCE = 16 * 1024 };

static ek_status change_context(ek__mitigation_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (!t->job->model.flash_attention)
        return refuse(t, "context parallelism needs flash attention");
    ek_status status = halve_data(t);
    p->context *= 2;
    if (p->seq_length / p->context < LONG_SEQUENCE)
        t->out->effort = 4;
    return status;
}

/* A pipeline needs micro-batches to fill it: without one, each accumulated sequence becomes a micro-batch. Their
 * gradients are summed in a buffer from then on. @return false where there are too many */
static bool sequences_as_micro_batches(ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    if (!is_mindformers(job))
        return true; /* they are micro-batches with one stage already */
    if (p->batch > EK_MAX_MICRO_BATCHES / p->n_accumulation)
        return false;
    p->n_micro_batches = p->n_accumulation * p->batch;
    p->n_accumulation = p->batch = 1;
    return true;
}

static ek_status change_pipeline(ek__mitigation_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (p->pipeline > EK_MAX_STAGES / 2 || t->job->model.n_layers < 2 * n_cells(t->job))
        return refuse(t, "there are too few layers for so many stages");
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    if (p->pipeline == 1 && !sequences_as_micro_batches(t->job))
        return refuse(t, "there would be too many micro-batches");
    p->pipeline *= 2;
    return spread(t, t->job->plan.n_chunks, t->job->schedule);
}

static ek_status change_expert(ek__mitigation_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (t->job->model.n_experts == 0)
        return refuse(t, "there are no experts");
    if (p->data * p->context % (2 * p->expert))
        return refuse(t, "%d data-parallel ranks are too few for %d expert-parallel ranks", p->data * p->context,
                      2 * p->expert);
    p->expert *= 2;
    return EK_OK;
}

/* ---- the rest ---- */

static ek_status change_flash(ek__mitigation_try *t)
{
    if (t->job->model.flash_attention)
        return refuse(t, "%s", already);
    t->job->model.flash_attention = true;
    return EK_OK;
}

static ek_status change_mask(ek__mitigation_try *t)
{
    if (t->job->model.mask_compressed)
        return refuse(t, "%s", already);
    if (t->job->model.no_mask)
        return refuse(t, "ring attention takes no mask");
    if (!is_mindformers(t->job) || !t->job->model.flash_attention)
        return refuse(t, "it needs the flash attention of MindFormers");
    if (t->job->family == EK_FAMILY_GLM)
        return refuse(t, "ChatGLM's models build the whole mask");
    t->job->model.mask_given = false;
    t->job->model.mask_compressed = true;
    return EK_OK;
}

static ek_status change_pages(ek__mitigation_try *t)
{
    ek_rules *rules = &t->job->rules;
    if (rules->allocation == EK_ALLOCATION_PAGES)
        return refuse(t, "%s", already);
    rules->allocation = EK_ALLOCATION_PAGES;
    return EK_OK;
}

const ek__mitigation_kind ek__mitigation_kinds[] = {
    {"recompute the activation functions in every layer", change_select, 1, false},
    {"repeat the communication after norms in every layer", change_comm, 1, false},
    {"activation functions and that communication in every layer", change_both, 1, false},
    {"recompute every layer completely", change_full, 1, false},
    {"recompute just enough layers of the stages over the limit", change_full_just_enough, 1, false},
    {"recompute no more than the memory limit requires", change_less_recompute, 1, false},
    {"sequence parallelism", change_sequence_parallel, 0, true},
    {"shard weights and optimizer states over data-parallel ranks", change_optimizer_parallel, 0, true},
    {"shard the gradient buffers, too", change_gradient_shard, 0, true},
    {"shard the embedding table, too", change_table_shard, 0, true},
    {"shard over all ranks of the group", change_whole_group, 0, true},
    {"move a layer from the fullest to the emptiest stage", change_offset, 1, true},
    {"twice the chunks per stage", change_interleave, 2, false},
    {"interleave with less memory", change_less_memory, 2, false},
    {"schedule ZB-V", change_zb_v, 2, false},
    {"schedule V-Half", change_v_half, 2, false},
    {"schedule V-Min", change_v_min, 2, false},
    {"half the micro-batch, twice as many", change_batch, 2, true},
    {"twice the tensor parallelism, half the data parallelism", change_tensor, 3, true},
    {"twice the context parallelism, half the data parallelism", change_context, 3, true},
    {"twice the stages, half the data parallelism", change_pipeline, 3, true},
    {"twice the expert parallelism", change_expert, 3, false},
    {"flash attention", change_flash, 0, false},
    {"compress the attention mask", change_mask, 0, false},
    {"map memory in pages", change_pages, 0, false},
    {NULL, NULL, 0, false},
};
