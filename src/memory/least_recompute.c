/* Finds the least recomputation that fits memory, for fixed places of layers. Peaks are predicted from the job as its
 * file would be, not from a model of layers, so the result fits. A stage's peak depends only on its own chunks, so all
 * stages are searched at once, each by its own bisection. More than two kinds on a stage, which rounding to whole
 * layers may favour, are not tried, nor is another order of a stage's chunks. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"

/* The first layers of one kind, the others of another; lists count from the front, so the stronger kind comes first. */
static const struct {
    ek_recompute more, less;
} pairs[] = {
    {EK_RECOMPUTE_FULL, EK_RECOMPUTE_NONE},   {EK_RECOMPUTE_SELECT, EK_RECOMPUTE_NONE},
    {EK_RECOMPUTE_COMM, EK_RECOMPUTE_NONE},   {EK_RECOMPUTE_BOTH, EK_RECOMPUTE_NONE},
    {EK_RECOMPUTE_BOTH, EK_RECOMPUTE_SELECT}, {EK_RECOMPUTE_BOTH, EK_RECOMPUTE_COMM},
    {EK_RECOMPUTE_FULL, EK_RECOMPUTE_SELECT}, {EK_RECOMPUTE_FULL, EK_RECOMPUTE_COMM},
    {EK_RECOMPUTE_FULL, EK_RECOMPUTE_BOTH},
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

/* Stages with one k: each separately, or all together. */
typedef struct group {
    int low, high; /* k does not fit; k fits, or most + 1 */
    int most, tried;
    bool done;   /* no recomputation: no pair is better */
    double best; /* ms of backward passes; INFINITY: none fits */
} group;

typedef struct search {
    const ek_job *job;
    ek_job_change change;
    const ek_layers *layers;
    double limit_mb;
    bool one_rule, together;
    ek_plan plan, best; /* tried; found */
    double *peak_mb;    /* [n_stages] of the last tried plan */
    int n_groups;
    group *group;
    ek_error *err;
} search;

/* ---- peaks ---- */

ek_status ek_memory_peaks_with(const ek_job *job, const ek_job_change *change, double *peak_mb, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    ek_job with;
    ek_memory memory;
    ek_error why = {0};
    assert(change->plan && change->plan->n_stages >= 1);
    for (int s = 0; s < change->plan->n_stages; s++)
        peak_mb[s] = INFINITY;
    ek_status status = ek_job_with(job, change, &with, &why);
    if (!status) {
        status = ek_memory_predict(&with, &options, &memory, &why);
        ek_job_clear(&with);
        for (int s = 0; !status && s < memory.n_stages; s++)
            peak_mb[s] = (double)memory.stage[s].actual_peak * 0x1p-20;
        if (!status)
            ek_memory_clear(&memory);
    }
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

static double largest(const search *s)
{
    double most = 0;
    for (int i = 0; i < s->plan.n_stages; i++)
        most = fmax(most, s->peak_mb[i]);
    return most;
}

/* ---- one pair ---- */

static bool selects(ek_recompute kind)
{
    return kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH;
}

static bool repeats_communication(ek_recompute kind)
{
    return kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH;
}

/* n layers of a chunk of one kind, the others of another. */
static void put(ek_plan *plan, int cell, int n, ek_recompute more, ek_recompute less)
{
    int all = plan->layers[cell];
    assert(n >= 0 && n <= all);
    plan->full[cell] = more == EK_RECOMPUTE_FULL ? n : 0;
    plan->select[cell] = selects(less) ? all : selects(more) ? n : 0;
    plan->comm[cell] = repeats_communication(less) ? all : repeats_communication(more) ? n : 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* k layers of a stage, from its first chunk on; of each chunk if all stages have one rule. */
static void put_stage(search *s, int stage, int k, int pair)
{
    for (int i = 0; i < s->plan.n_chunks; i++) {
        assert(k >= 0 && pair >= 0 && pair < N_PAIRS);
        int cell = i * s->plan.n_stages + stage, n = smaller(k, s->plan.layers[cell]);
        put(&s->plan, cell, n, pairs[pair].more, pairs[pair].less);
        k -= s->together ? 0 : n;
    }
}

static int group_of(const search *s, int stage)
{
    return s->together ? 0 : stage;
}

/* Predict the plan under test, and narrow the bounds. */
static ek_status try_counts(search *s, int pair)
{
    for (int i = 0; i < s->plan.n_stages; i++)
        put_stage(s, i, s->group[group_of(s, i)].tried, pair);
    ek_status status = ek_memory_peaks_with(s->job, &s->change, s->peak_mb, s->err);
    for (int g = 0; g < s->n_groups && !status; g++) {
        bool fits = true;
        for (int i = 0; i < s->plan.n_stages; i++)
            fits = fits && (group_of(s, i) != g || s->peak_mb[i] <= s->limit_mb);
        group *one = &s->group[g];
        if (fits && one->tried < one->high)
            one->high = one->tried;
        if (!fits && one->tried > one->low)
            one->low = one->tried;
        assert(one->low <= one->high);
    }
    return status;
}

/* Set the next plan to try: none, then all, then middles. @return whether any is left */
static bool choose(search *s, int pair, int round)
{
    bool more = false, whole = s->one_rule && pairs[pair].more != EK_RECOMPUTE_FULL;
    for (int g = 0; g < s->n_groups; g++) {
        group *one = &s->group[g];
        bool settled = one->done || one->high - one->low <= 1 || (round > 1 && (whole || one->high > one->most));
        one->tried = round == 0 ? 0 : round == 1 ? one->most : one->low + (one->high - one->low) / 2;
        if (settled)
            one->tried = smaller(one->high, one->most);
        assert(one->tried >= 0 && one->tried <= one->most);
        more = more || !settled;
    }
    return more;
}

/* ms of a stage's backward passes of one micro-batch, the slowest if all have one rule. */
static double time_of(const search *s, const ek_chunk_cost *cost, int g)
{
    double most = 0;
    for (int i = 0; i < s->plan.n_stages; i++) {
        double sum = 0;
        for (int c = 0; group_of(s, i) == g && c < s->plan.n_chunks; c++)
            sum += cost[c * s->plan.n_stages + i].backward_time;
        most = fmax(most, sum);
    }
    return most;
}

static void copy_stage(const ek_plan *from, int stage, ek_plan *to)
{
    for (int c = stage; c < from->n_stages * from->n_chunks; c += from->n_stages) {
        to->full[c] = from->full[c];
        to->select[c] = from->select[c];
        to->comm[c] = from->comm[c];
    }
}

static ek_status keep_better(search *s, int pair)
{
    const ek_schedule *schedule = s->change.schedule ? s->change.schedule : s->job->schedule;
    ek_chunk_cost *cost = ek__alloc((size_t)s->plan.n_stages * (size_t)s->plan.n_chunks, sizeof *cost);
    if (!cost)
        return ek__no_memory(s->err);
    for (int i = 0; i < s->plan.n_stages; i++)
        put_stage(s, i, smaller(s->group[group_of(s, i)].high, s->group[group_of(s, i)].most), pair);
    ek_plan_costs(&s->plan, s->layers, schedule->placement, cost);
    for (int g = 0; g < s->n_groups; g++) {
        group *one = &s->group[g];
        double time = time_of(s, cost, g);
        if (one->done || one->high > one->most || !(time < one->best))
            continue;
        one->best = time;
        one->done = one->high == 0 && pairs[pair].less == EK_RECOMPUTE_NONE;
        for (int i = 0; i < s->plan.n_stages; i++)
            if (group_of(s, i) == g)
                copy_stage(&s->plan, i, &s->best);
    }
    free(cost);
    return EK_OK;
}

static ek_status search_pair(search *s, int pair)
{
    ek_status status = EK_OK;
    for (int g = 0; g < s->n_groups; g++) {
        s->group[g].low = -1;
        s->group[g].high = s->group[g].most + 1;
    }
    for (int round = 0; !status && choose(s, pair, round); round++)
        status = try_counts(s, pair);
    return status ? status : keep_better(s, pair);
}

/* Does the framework know the pair, and does the first kind save less than the second? */
static bool is_worth_it(const search *s, int pair)
{
    ek_recompute more = pairs[pair].more, less = pairs[pair].less;
    if (!s->layers->modelled[more] || !s->layers->modelled[less])
        return false;
    if (s->one_rule && (less != EK_RECOMPUTE_NONE || (more != EK_RECOMPUTE_FULL && more != EK_RECOMPUTE_SELECT)))
        return false;
    for (int b = 0; b < s->layers->n_body; b++)
        if (s->layers->body[b].activation_mb[more] < s->layers->body[b].activation_mb[less])
            return true;
    return false;
}

/* ---- all pairs ---- */

static ek_status start(search *s)
{
    const ek_plan *plan = s->change.plan;
    const ek_schedule *schedule = s->change.schedule ? s->change.schedule : s->job->schedule;
    s->one_rule = s->job->framework == EK_MEGATRON;
    s->together = s->one_rule || schedule->placement == EK_PLACE_BOTH_WAYS;
    s->n_groups = s->together ? 1 : plan->n_stages;
    ek_status status = ek_plan_copy(plan, &s->plan, s->err);
    if (!status)
        status = ek_plan_copy(plan, &s->best, s->err);
    s->peak_mb = ek__alloc((size_t)plan->n_stages, sizeof *s->peak_mb);
    s->group = ek__alloc((size_t)s->n_groups, sizeof *s->group);
    if (!status && (!s->peak_mb || !s->group))
        status = ek__no_memory(s->err);
    for (int c = 0; !status && c < plan->n_stages * plan->n_chunks; c++) {
        group *one = &s->group[group_of(s, c % plan->n_stages)];
        one->most = !s->together                  ? one->most + plan->layers[c]
                    : plan->layers[c] > one->most ? plan->layers[c]
                                                  : one->most;
        one->best = INFINITY;
    }
    s->change.plan = &s->plan;
    return status;
}

static bool any_is_open(const search *s)
{
    for (int g = 0; g < s->n_groups; g++)
        if (!s->group[g].done)
            return true;
    return false;
}

/* All stages together, as found one by one; if they do not fit then, there is no result. */
static ek_status finish(search *s, ek_plan *plan, double *peak_mb)
{
    for (int g = 0; g < s->n_groups; g++)
        if (s->group[g].best == INFINITY)
            return EK_OK;
    for (int i = 0; i < s->plan.n_stages; i++)
        copy_stage(&s->best, i, &s->plan);
    ek_status status = ek_memory_peaks_with(s->job, &s->change, s->peak_mb, s->err);
    if (status || largest(s) > s->limit_mb)
        return status;
    assert(largest(s) <= s->limit_mb);
    *peak_mb = largest(s);
    *plan = s->best;
    s->best = (ek_plan){0};
    return EK_OK;
}

ek_status ek_memory_least_recompute(const ek_job *job, const ek_job_change *change, const ek_layers *layers,
                                    double limit_mb, ek_plan *plan, double *peak_mb, ek_error *err)
{
    assert(change->plan && !isnan(limit_mb));
    search s = {.job = job, .change = *change, .layers = layers, .limit_mb = limit_mb, .err = err};
    ek_plan found = {0};
    double peak = NAN;
    ek_status status = ek_layers_check(layers, err);
    if (!status)
        status = start(&s);
    for (int pair = 0; pair < N_PAIRS && !status && any_is_open(&s); pair++)
        if (is_worth_it(&s, pair))
            status = search_pair(&s, pair);
    if (!status)
        status = finish(&s, &found, &peak);
    ek_plan_clear(&s.plan);
    ek_plan_clear(&s.best);
    free(s.peak_mb);
    free(s.group);
    if (status)
        return status;
    *plan = found;
    *peak_mb = peak;
    return EK_OK;
}
