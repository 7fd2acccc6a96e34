/* Orders the changes from the current job to a plan one at a time, with the largest gain first. A change leaves the
 * other settings unchanged where that is possible: layers stay on their stages while the numbers of stages and chunks
 * are the same, and are spread evenly otherwise; recomputation keeps its share of each chunk until it is fitted again,
 * by the search's balancing with fixed layers. The last change gives the plan itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layout_advice.h"
#include "job/settings.h"
#include "layout/layout.h"
#include "layout/split.h"

#define BYTES_PER_MB 1048576.0
#define LEAST_GAIN   5e-4 /* of a step */
enum { MOST_TOGETHER = 3 };

static const char *const ek__layout_method_name[EK_N_LAYOUT_METHODS] = {
    "degrees", "micro_batch", "chunks", "fine_grain", "table_shard", "gradient_shard", "inputs", "layers", "recompute"};
const char *const *const ek_layout_method_name = ek__layout_method_name;

typedef struct walker {
    const ek_layout_result *result;
    const ek_layout_plan *to;
    ek_layout from;
    ek_cost_cache *cache;
    ek__split_options options;
    ek__recompute_rule rule; /* the current rule; for EK__RULE_LISTS the shares below */
    double full, select, comm;
    ek_error *err;
} walker;

/* A priced state between the job and the plan. */
typedef struct visited {
    bool known; /* otherwise the framework would reject it, or it is meaningless */
    bool fits;
    double seconds, peak_mb;
    ek_job job;
} visited;

static bool has(unsigned set, ek_layout_method method)
{
    return set >> method & 1;
}

/* ---- differences ---- */

static bool same_shape(const ek_layout *a, const ek_layout *b)
{
    return a->value[EK_AXIS_PIPELINE] == b->value[EK_AXIS_PIPELINE] &&
           a->value[EK_AXIS_CHUNKS] == b->value[EK_AXIS_CHUNKS] && a->schedule == b->schedule;
}

static bool same_lists(const ek_plan *a, const ek_plan *b, bool layers)
{
    size_t bytes = (size_t)a->n_stages * (size_t)a->n_chunks * sizeof(int);
    if (layers)
        return memcmp(a->layers, b->layers, bytes) == 0;
    return memcmp(a->full, b->full, bytes) == 0 && memcmp(a->select, b->select, bytes) == 0 &&
           memcmp(a->comm, b->comm, bytes) == 0;
}

static int sum_of(const ek_plan *plan, const int *list)
{
    int sum = 0;
    for (int i = 0; i < plan->n_stages * plan->n_chunks; i++)
        sum += list[i];
    return sum;
}

/* The axes that a method changes. */
static const bool axes_of[EK_N_LAYOUT_METHODS][EK_N_LAYOUT_AXES] = {
    [EK_METHOD_DEGREES] = {[EK_AXIS_DATA] = true,
                           [EK_AXIS_TENSOR] = true,
                           [EK_AXIS_CONTEXT] = true,
                           [EK_AXIS_EXPERT] = true,
                           [EK_AXIS_PIPELINE] = true,
                           [EK_AXIS_SHARD] = true},
    [EK_METHOD_BATCH] = {[EK_AXIS_BATCH] = true, [EK_AXIS_COPIES] = true},
    [EK_METHOD_CHUNKS] = {[EK_AXIS_CHUNKS] = true},
    [EK_METHOD_FINE] = {[EK_AXIS_FINE] = true},
};

/* The number of ranks that share states may change without any other change. */
static unsigned differing(const walker *w, const ek_job *even)
{
    const ek_layout *a = &w->from, *b = &w->to->layout;
    const ek_job *was = w->result->file, *now = &w->to->job;
    unsigned set = 0;
    for (int m = 0; m <= EK_METHOD_FINE; m++)
        for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
            set |= axes_of[m][i] && a->value[i] != b->value[i] ? 1U << m : 0;
    if (a->sequence_parallel != b->sequence_parallel)
        set |= 1U << EK_METHOD_DEGREES;
    if (a->schedule != b->schedule)
        set |= 1U << EK_METHOD_CHUNKS;
    if ((a->value[EK_AXIS_TABLE] > 1) != (b->value[EK_AXIS_TABLE] > 1))
        set |= 1U << EK_METHOD_TABLE;
    if ((a->value[EK_AXIS_SUMS] > 1) != (b->value[EK_AXIS_SUMS] > 1))
        set |= 1U << EK_METHOD_SUMS;
    if (was->run.full_batch != now->run.full_batch)
        set |= 1U << EK_METHOD_INPUTS;
    if (!same_lists(same_shape(a, b) ? &was->plan : &even->plan, &now->plan, true))
        set |= 1U << EK_METHOD_LAYERS;
    int layers = sum_of(&now->plan, now->plan.layers), full = sum_of(&now->plan, now->plan.full);
    bool all = w->full >= 1 && full == layers, none = w->full + w->select + w->comm == 0 && full == 0 &&
                                                      sum_of(&now->plan, now->plan.select) == 0 &&
                                                      sum_of(&now->plan, now->plan.comm) == 0;
    if (same_shape(a, b) && !has(set, EK_METHOD_LAYERS) ? !same_lists(&was->plan, &now->plan, false) : !all && !none)
        set |= 1U << EK_METHOD_RECOMPUTE;
    return set;
}

/* ---- the current recomputation ---- */

/* The rule that gives the current lists; EK__RULE_LISTS if none does. */
static ek_status find_rule(walker *w)
{
    const ek_job *job = w->result->file;
    const ek_plan *plan = &job->plan;
    int most = job->model.n_layers + job->model.n_prediction_layers;
    double layers = sum_of(plan, plan->layers);
    ek_status status = EK_OK;
    w->full = sum_of(plan, plan->full) / layers;
    w->select = sum_of(plan, plan->select) / layers;
    w->comm = sum_of(plan, plan->comm) / layers;
    for (int i = 0; !status && i < ek__recompute_rule_at(job, most, i, &w->rule); i++) {
        ek_job tried;
        bool same;
        if (w->rule.kind == EK__RULE_LISTS)
            return EK_OK;
        status = ek__recompute_rule_job(job, w->rule, &tried, w->err);
        if (status)
            return status;
        for (int s = 0; s < plan->n_stages; s++)
            for (int c = 0, before = 0; c < plan->n_chunks; c++) {
                ek__recompute_rule_set(&tried, w->rule, c * plan->n_stages + s, before);
                before += plan->layers[c * plan->n_stages + s];
            }
        same = same_lists(&tried.plan, plan, false);
        ek_job_clear(&tried);
        if (same)
            return EK_OK;
    }
    w->rule.kind = EK__RULE_LISTS;
    return status;
}

static int share(double of, int n)
{
    int out = (int)ceil(of * n - 1e-9);
    return out < n ? out : n;
}

/* The current recomputation on the layers of a job. */
static ek_status add_recompute(const walker *w, ek_job *job)
{
    ek_plan *plan = &job->plan;
    if (w->rule.kind == EK__RULE_PRODUCTS) {
        ek_job with;
        ek_status status = ek__recompute_rule_job(job, w->rule, &with, w->err);
        if (status)
            return status;
        ek_job_clear(job);
        *job = with;
        plan = &job->plan;
    }
    for (int s = 0; s < plan->n_stages; s++)
        for (int c = 0, before = 0; c < plan->n_chunks; c++) {
            int cell = c * plan->n_stages + s, n = plan->layers[cell], full = share(w->full, n);
            if (w->rule.kind != EK__RULE_LISTS)
                ek__recompute_rule_set(job, w->rule, cell, before);
            else
                ek__lists_set(job, cell, full, share(w->select, n), share(w->comm, n));
            before += n;
        }
    return EK_OK;
}

/* ---- a state ---- */

static ek_layout layout_of(const walker *w, unsigned set)
{
    ek_layout out = w->from;
    const ek_layout *to = &w->to->layout;
    for (int m = 0; m <= EK_METHOD_FINE; m++)
        for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
            if (has(set, (ek_layout_method)m) && axes_of[m][i])
                out.value[i] = to->value[i];
    int *v = out.value;
    if (has(set, EK_METHOD_DEGREES))
        out.sequence_parallel = to->sequence_parallel;
    if (has(set, EK_METHOD_CHUNKS))
        out.schedule = to->schedule;
    bool table = (has(set, EK_METHOD_TABLE) ? to : &w->from)->value[EK_AXIS_TABLE] > 1,
         sums = (has(set, EK_METHOD_SUMS) ? to : &w->from)->value[EK_AXIS_SUMS] > 1;
    v[EK_AXIS_TABLE] = table ? v[EK_AXIS_SHARD] : 1;
    v[EK_AXIS_SUMS] = sums ? v[EK_AXIS_SHARD] : 1;
    int64_t sequences = (int64_t)v[EK_AXIS_DATA] * v[EK_AXIS_BATCH] * v[EK_AXIS_COPIES];
    out.n_micro_batches = (int)(w->result->options.global_batch / sequences);
    return out;
}

static ek_status price(walker *w, visited *v)
{
    static const ek_memory_options options = {.without_top = true};
    ek_step step;
    ek_memory memory;
    ek_status status = ek_cost_step(&v->job, w->result->device, w->cache, &step, w->err);
    if (status)
        return status;
    v->seconds = step.seconds;
    ek_step_clear(&step);
    status = ek_memory_predict(&v->job, &options, &memory, w->err);
    if (status)
        return status;
    v->peak_mb = 0;
    for (int i = 0; i < memory.n_stages; i++)
        v->peak_mb = fmax(v->peak_mb, (double)memory.stage[i].actual_peak / BYTES_PER_MB);
    v->fits = v->job.limit_mb <= 0 || v->peak_mb <= v->job.limit_mb;
    v->known = true;
    ek_memory_clear(&memory);
    return EK_OK;
}

/* Fit the recomputation again, with fixed or moved layers. Without a result if nothing fits. */
static ek_status fit(walker *w, bool moved, visited *v)
{
    ek__split found = {.seconds = INFINITY, .bound = INFINITY};
    ek__split_options options = w->options;
    const ek_plan *plan = &v->job.plan;
    int n = 0, *layers = ek__alloc((size_t)plan->n_stages + 1, sizeof *layers);
    if (!layers)
        return ek__no_memory(w->err);
    for (int c = 0; c < plan->n_chunks; c++)
        for (int s = 0; s < plan->n_stages; s++, n++)
            layers[s] += plan->layers[n];
    options.fixed_layers = moved ? NULL : layers;
    ek_error why;
    ek_status status = ek__split_layout(&v->job, w->result->device, w->cache, &options, &found, &why);
    free(layers);
    if (status == EK_ERR_INPUT) /* chunks without layers are not balanced */
        return EK_OK;
    if (status && w->err)
        *w->err = why;
    if (!status && found.found) {
        ek_job_clear(&v->job);
        v->job = found.job;
        found.job = (ek_job){0};
        status = price(w, v);
    }
    ek__split_clear(&found);
    return status;
}

/* @return false if moved layers are meaningless: the plan's are for other stages, and no new ones are requested */
static bool add_layers(const walker *w, const ek_layout *layout, unsigned set, ek_job *job)
{
    bool moved = has(set, EK_METHOD_LAYERS);
    const ek_layout *to = &w->to->layout;
    const ek_plan *from = moved ? &w->to->job.plan : &w->result->file->plan;
    if (same_shape(layout, moved ? to : &w->from))
        memcpy(job->plan.layers, from->layers, (size_t)from->n_stages * (size_t)from->n_chunks * sizeof(int));
    return !moved || same_shape(layout, to) || has(set, EK_METHOD_RECOMPUTE);
}

/* @param out  clear its job */
static ek_status visit(walker *w, unsigned set, unsigned all, visited *out)
{
    /* The search's job has its own operators to recompute. */
    const ek_job *today = has(set, EK_METHOD_RECOMPUTE) ? w->result->job : w->result->file;
    const ek_layout layout = layout_of(w, set);
    ek_error why;
    *out = (visited){.seconds = INFINITY};
    if (set == 0 || set == all) {
        ek_status status = ek_job_copy(set ? &w->to->job : today, &out->job, w->err);
        return status ? status : price(w, out);
    }
    if (layout.value[EK_AXIS_CHUNKS] > 1 && layout.value[EK_AXIS_PIPELINE] == 1)
        return EK_OK;
    ek_status status = has(set, EK_METHOD_INPUTS)
                           ? ek__layout_job_on(today, w->result->device, &layout, &out->job, &why)
                           : ek_layout_job(today, &layout, &out->job, &why);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status) {
        if (w->err)
            *w->err = why;
        return status;
    }
    if (!add_layers(w, &layout, set, &out->job))
        return EK_OK;
    if (has(set, EK_METHOD_RECOMPUTE))
        return fit(w, has(set, EK_METHOD_LAYERS), out);
    status = add_recompute(w, &out->job);
    return status ? status : price(w, out);
}

/* ---- the path of changes ---- */

/* A fitting state is better than one that does not fit, then the shorter step, or the smaller peak if neither fits. */
static bool is_better(const visited *a, const visited *b)
{
    if (!a->known || !b->known)
        return a->known;
    if (a->fits != b->fits)
        return a->fits;
    return a->fits ? a->seconds < b->seconds : a->peak_mb < b->peak_mb;
}

static ek_status report(walker *w, const visited *before, const visited *now, unsigned methods, ek_layout_way *out)
{
    ek_layout_way_step *step = &out->step[out->n++];
    ek_job copy;
    *step = (ek_layout_way_step){.methods = methods,
                                 .layout = ek_layout_of(&now->job),
                                 .fits = now->fits,
                                 .seconds = now->seconds,
                                 .peak_mb = now->peak_mb};
    ek_status status = ek_job_copy(&now->job, &copy, w->err);
    if (status)
        return status;
    const char *why;
    status = ek__job_settings(&before->job, &copy, step->settings, sizeof step->settings, &why, w->err);
    if (why || ek__settings_are_cut(step->settings))
        step->settings[0] = '\0';
    ek_job_clear(&copy);
    return status;
}

/* Does a change gain enough for a separate line? */
static bool is_worth(const visited *next, const visited *now)
{
    if (!next->known || !next->fits || !now->fits)
        return next->known && is_better(next, now);
    return next->seconds < now->seconds * (1 - LEAST_GAIN);
}

/* The best change of `size` methods of the remaining ones, if it is better than *best. */
static ek_status try_sets(walker *w, unsigned done, unsigned all, int size, visited *best, unsigned *taken)
{
    unsigned left = all & ~done;
    ek_status status = EK_OK;
    for (unsigned set = left; set > 0 && !status; set = (set - 1) & left) {
        visited v;
        if (__builtin_popcount(set) != size || ek__split_over(&w->options))
            continue;
        status = visit(w, done | set, all, &v);
        if (!status && is_better(&v, best)) {
            ek_job_clear(&best->job);
            *best = v;
            *taken = set;
        } else {
            ek_job_clear(&v.job);
        }
    }
    return status;
}

/* Does the plan itself gain too little more for a separate line? */
static bool is_last(const walker *w, const visited *v)
{
    return v->fits && w->to->estimate.step.seconds > v->seconds * (1 - LEAST_GAIN);
}

/* The next change: of one method; if none is worth it, of two or three, since degrees and micro-batches, or chunks and
 * layers, may pay only together; otherwise all remaining ones. */
static ek_status choose(walker *w, const visited *now, unsigned done, unsigned all, visited *best, unsigned *taken)
{
    ek_status status = EK_OK;
    *best = (visited){0};
    for (int size = 1; size <= MOST_TOGETHER && !status && !is_worth(best, now); size++)
        status = try_sets(w, done, all, size, best, taken);
    if (status || (is_worth(best, now) && !is_last(w, best)))
        return status;
    ek_job_clear(&best->job);
    *taken = all & ~done;
    return visit(w, all, all, best);
}

static ek_status walk(walker *w, unsigned all, ek_layout_way *out)
{
    visited now, next;
    unsigned done = 0, taken = 0;
    ek_status status = visit(w, 0, all, &now);
    out->seconds = now.seconds;
    out->peak_mb = now.peak_mb;
    out->fits = now.fits;
    while (!status && done != all) {
        status = choose(w, &now, done, all, &next, &taken);
        if (!status)
            status = report(w, &now, &next, taken, out);
        ek_job_clear(&now.job);
        now = next;
        done |= taken;
    }
    ek_job_clear(&now.job);
    return status;
}

ek_status ek_layout_find_way(const ek_layout_result *result, const ek_layout_plan *to, double time_limit,
                             ek_layout_way *out, ek_error *err)
{
    walker w = {
        .result = result,
        .to = to,
        .options = {.upper = INFINITY, .deadline = ek__now() + time_limit, .interrupt = result->options.interrupt},
        .err = err};
    ek_layout_way way = {0};
    ek_job even;
    if (!result->today.job.path)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the job's own layout is not for %d devices",
                        result->options.n_devices);
    w.from = result->today.layout;
    const int *v = w.from.value;
    if ((int64_t)v[EK_AXIS_DATA] * v[EK_AXIS_BATCH] * v[EK_AXIS_COPIES] * w.from.n_micro_batches !=
        result->options.global_batch)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the job's own step is not of %lld sequences",
                        (long long)result->options.global_batch);
    ek_status status = ek_layout_job(result->job, &to->layout, &even, err);
    if (status)
        return status;
    w.cache = ek_cost_cache_new(result->device);
    status = w.cache ? find_rule(&w) : ek__no_memory(err);
    if (!status)
        status = walk(&w, differing(&w, &even), &way);
    ek_cost_cache_free(w.cache);
    ek_job_clear(&even);
    if (!status)
        *out = way;
    return status;
}
