/* Finds the cheapest recomputation of a stage that fits. The ways to recompute its layers (the number of first layers
 * by each list) are sorted by the time of their backward pass, a sum over layers; those with saved activations that
 * alone exceed the limit are skipped, and of the others the first one with a used peak within the limit is chosen.
 * Fragments make a peak larger, and computing them takes long: this is done only for choices in plans
 * (ek__stages_verify()), and one that does not fit is excluded. So the result is exact, and few allocations are
 * simulated. */
#include "layout/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/program.h"
#include "memory/stage_peak.h"
#include "model/recompute_kind.h"

/* A queried stage. */
typedef struct asked {
    int stage, first, n;
    ek__stage_choice choice;
    size_t n_ways; /* remaining ways; the choice is the first */
    ek__chunk_way *way;
    int64_t most;       /* that a way may save of a micro-batch */
    bool all, verified; /* every way was listed; the choice fits with fragments */
} asked;

struct ek__stages {
    ek_job job; /* with the plan under test */
    ek__recompute_rule rule;
    ek_cost_cache *cache;
    ek__stage_pricer *pricer;
    ek__job_programs *programs;
    ek_block *blocks;
    size_t n_blocks;
    ek__ways ways;
    int *run_start; /* [n_layers] of each layer: the first of the layers of its kind in a row with it */
    bool refused;
    size_t n_asked, n_slots;
    asked **asked; /* [n_slots] open-addressed by stage, first and n */
};

/* ---- beginning ---- */

static ek_status find_runs(ek__stages *s, ek_error *err)
{
    int n = s->job.model.n_layers + s->job.model.n_prediction_layers;
    s->run_start = ek__alloc((size_t)n + 1, sizeof *s->run_start);
    if (!s->run_start)
        return ek__no_memory(err);
    for (int i = 1; i < n; i++)
        s->run_start[i] =
            ek__layer_graph_kind(&s->job, i) == ek__layer_graph_kind(&s->job, i - 1) ? s->run_start[i - 1] : i;
    return EK_OK;
}

static ek_status fill(ek__stages *s, const ek_device *device, ek_error *err)
{
    ek_status status = ek__stage_pricer_new(&s->job, device, s->cache, &s->pricer, err);
    if (!status)
        status = ek__job_programs_new(&s->job, &s->programs, err);
    if (!status)
        status = ek__job_order(&s->job, &s->blocks, &s->n_blocks, err);
    if (!status)
        status = ek__ways_init(&s->ways, &s->job, s->programs, s->pricer, s->rule.kind == EK__RULE_LISTS, err);
    return status ? status : find_runs(s, err);
}

ek_status ek__stages_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                         ek__stages **out, ek_error *err)
{
    ek__stages *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    made->rule = rule;
    made->cache = cache;
    ek_status status = ek__recompute_rule_job(job, rule, &made->job, err);
    if (!status)
        status = fill(made, device, err);
    if (status)
        ek__stages_free(made);
    else
        *out = made;
    return status;
}

void ek__stages_free(ek__stages *stages)
{
    if (!stages)
        return;
    for (size_t i = 0; i < stages->n_slots; i++) {
        if (stages->asked[i])
            free(stages->asked[i]->way);
        free(stages->asked[i]);
    }
    free(stages->asked);
    free(stages->run_start);
    ek__ways_clear(&stages->ways);
    free(stages->blocks);
    ek__job_programs_free(stages->programs);
    ek__stage_pricer_free(stages->pricer);
    ek_job_clear(&stages->job);
    free(stages);
}

const ek__stage_pricer *ek__stages_pricer(const ek__stages *stages)
{
    return stages->pricer;
}

double ek__stages_whole(ek__stages *stages, double step)
{
    return ek__stage_pricer_whole(stages->pricer, step);
}

const ek_job *ek__stages_job(const ek__stages *stages)
{
    return &stages->job;
}

bool ek__stages_alike(const ek__stages *stages)
{
    int n = stages->job.model.n_layers + stages->job.model.n_prediction_layers;
    for (int i = 1; i < n; i++)
        if (ek__layer_graph_kind(&stages->job, i) != ek__layer_graph_kind(&stages->job, 0))
            return false;
    return true;
}

/* No recomputation is the first way; the others are listed only if that one does not fit. */
static ek_status make_ways(ek__stages *s, asked *a, bool all, ek_error *err)
{
    ek__chunk_way *listed;
    ek_status status = ek__ways_heap(&s->ways, a->first, a->n, all, a->most, &listed, &a->n_ways, err);
    if (status)
        return status;
    free(a->way);
    a->way = listed;
    a->all = all;
    return EK_OK;
}

static bool is_nothing(const ek__chunk_lists *lists)
{
    return lists->full + lists->select + lists->comm == 0;
}

/* The first way does not fit. */
static ek_status next_way(ek__stages *s, asked *a, ek_error *err)
{
    s->refused = true;
    ek__ways_pop(a->way, &a->n_ways);
    if (a->n_ways > 0 || a->all || s->rule.kind != EK__RULE_LISTS)
        return EK_OK;
    ek_status status = make_ways(s, a, true, err);
    if (!status && a->n_ways > 0 && is_nothing(&a->way[0].lists))
        ek__ways_pop(a->way, &a->n_ways);
    return status;
}

/* ---- one way on a stage ---- */

static ek_status add(ek__stages *s, int stage, int first, int n, ek__chunk_lists lists, ek_error *err)
{
    s->job.plan.layers[stage] = n;
    if (s->rule.kind == EK__RULE_LISTS)
        ek__lists_set(&s->job, stage, lists.full, lists.select, lists.comm);
    else
        ek__recompute_rule_set(&s->job, s->rule, stage, 0);
    return ek__job_programs_set_chunk(s->programs, &s->job, stage, first, err);
}

static int64_t limit_of(const ek__stages *s)
{
    return s->job.limit_mb > 0 ? (int64_t)llround(s->job.limit_mb * 1048576) : INT64_MAX;
}

static int64_t used_of(const ek__stages *s, int stage)
{
    return ek__stage_whole_step(&s->job, s->programs, stage) +
           ek__stage_peak(&s->job, s->programs, stage, s->blocks + (size_t)stage * s->n_blocks, s->n_blocks).bytes;
}

/* Micro-batches of which a stage holds activations at once. */
static int64_t live_of(const ek__stages *s, int stage)
{
    const ek_block *blocks = s->blocks + (size_t)stage * s->n_blocks;
    int64_t live = 0, most = 0;
    for (size_t k = 0; k < s->n_blocks; k++) {
        live += blocks[k].kind == EK_FORWARD ? 1 : blocks[k].kind == EK_BACKWARD ? -1 : 0;
        most = live > most ? live : most;
    }
    return most;
}

/* The maximum that a way may save of a micro-batch: the peak has all live micro-batches and the persistent bytes. */
static int64_t most_kept(const ek__stages *s, int stage)
{
    int64_t copies = s->job.parallel.n_batch_interleave > 1 ? s->job.parallel.n_batch_interleave : 1;
    int64_t room = limit_of(s) - ek__stage_whole_step(&s->job, s->programs, stage);
    return room < 0 ? -1 : room / (copies * live_of(s, stage));
}

/* The first way that fits. */
static ek_status settle(ek__stages *s, asked *a, ek_error *err)
{
    const int64_t limit = limit_of(s);
    ek_status status = EK_OK;
    a->choice.fits = a->verified = false;
    while (!status && a->n_ways > 0 && !a->choice.fits) {
        a->choice.lists = a->way[0].lists;
        status = add(s, a->stage, a->first, a->n, a->choice.lists, err);
        if (status)
            return status;
        a->choice.used = used_of(s, a->stage);
        a->choice.fits = a->choice.used <= limit;
        if (!a->choice.fits)
            status = next_way(s, a, err);
    }
    if (!status && a->choice.fits)
        a->choice.price = ek__stage_price_of(s->pricer, a->stage, a->first);
    return status ? status : a->choice.fits ? a->choice.price.status : EK_OK;
}

/* Its ways, and the first that fits. */
static ek_status begin(ek__stages *s, asked *a, ek_error *err)
{
    ek_status status = add(s, a->stage, a->first, a->n, (ek__chunk_lists){0}, err);
    if (status)
        return status;
    a->most = most_kept(s, a->stage);
    status = make_ways(s, a, false, err);
    if (!status && a->n_ways == 0) { /* it saves too much */
        s->refused = true;
        status = s->rule.kind == EK__RULE_LISTS ? make_ways(s, a, true, err) : EK_OK;
    }
    return status ? status : settle(s, a, err);
}

/* ---- queries ---- */

/* Equal layers are independent of their first index. */
static int same_first(const ek__stages *s, int first, int n)
{
    return n > 0 && s->run_start[first + n - 1] <= first ? s->run_start[first] : first;
}

/* Its slot, or the free one for it. */
static size_t slot_of(const ek__stages *s, int stage, int first, int n)
{
    uint64_t hash = ((uint64_t)stage * 4099 + (uint64_t)first) * 4099 + (uint64_t)n;
    size_t i = (size_t)(hash * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (s->n_slots - 1);
    while (s->asked[i] && (s->asked[i]->stage != stage || s->asked[i]->first != first || s->asked[i]->n != n))
        i = (i + 1) & (s->n_slots - 1);
    return i;
}

static ek_status grow(ek__stages *s, ek_error *err)
{
    asked **old = s->asked;
    size_t n_old = s->n_slots;
    if (2 * (s->n_asked + 1) <= s->n_slots)
        return EK_OK;
    asked **grown = ek__alloc(n_old ? 2 * n_old : 256, sizeof(asked *));
    if (!grown)
        return ek__no_memory(err);
    s->asked = grown;
    s->n_slots = n_old ? 2 * n_old : 256;
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            grown[slot_of(s, old[i]->stage, old[i]->first, old[i]->n)] = old[i];
    free(old);
    return EK_OK;
}

static ek_status ask(ek__stages *s, int stage, int first, int n, asked **out, ek_error *err)
{
    first = same_first(s, first, n);
    ek_status status = grow(s, err);
    if (status)
        return status;
    size_t i = slot_of(s, stage, first, n);
    if ((*out = s->asked[i]))
        return EK_OK;
    asked *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    *made = (asked){.stage = stage, .first = first, .n = n};
    s->asked[i] = made;
    s->n_asked++;
    status = begin(s, made, err);
    *out = made;
    return status;
}

ek_status ek__stages_choose(ek__stages *stages, int stage, int first, int n, const ek__stage_choice **out,
                            ek_error *err)
{
    asked *a;
    ek_status status = ask(stages, stage, first, n, &a, err);
    if (!status)
        *out = &a->choice;
    return status;
}

/* The initial requests to the allocator depend on the position of a stage's layers in the model: the earlier stages
 * must hold all earlier layers. */
static ek_status place(ek__stages *s, const asked *a, const ek__stop *stop, int64_t *actual, ek_error *err)
{
    int *layers = s->job.plan.layers;
    for (int i = 0; i < a->stage; i++)
        layers[i] = i == 0 ? a->first : 0;
    ek_status status = add(s, a->stage, a->first, a->n, a->choice.lists, err);
    const ek__stop beyond = {.over = stop->over, .user = stop->user, .most = limit_of(s)};
    return status ? status
                  : ek__stage_actual(&s->job, s->programs, a->stage, s->blocks + (size_t)a->stage * s->n_blocks,
                                     s->n_blocks, a->choice.used, &beyond, actual, err);
}

ek_status ek__stages_verify(ek__stages *stages, int stage, int first, int n, const ek__stop *stop, bool *fits,
                            ek_error *err)
{
    asked *a;
    int64_t actual;
    ek_status status = ask(stages, stage, first, n, &a, err);
    *fits = !status && a->choice.fits;
    if (status || !a->choice.fits || a->verified)
        return status;
    status = place(stages, a, stop, &actual, err);
    if (status)
        return status;
    *fits = a->verified = actual != EK__NOT_PLACED && actual <= limit_of(stages);
    a->choice.actual = actual;
    if (*fits || actual == EK__NOT_PLACED)
        return EK_OK;
    status = next_way(stages, a, err);
    return status ? status : settle(stages, a, err);
}

bool ek__stages_refused(const ek__stages *stages)
{
    return stages->refused;
}

ek_status ek__stages_plan(ek__stages *stages, const int *layers, ek_error *err)
{
    ek_status status = EK_OK;
    int first = 0;
    for (int s = 0; s < stages->job.plan.n_stages && !status; s++) {
        const ek__stage_choice *choice;
        status = ek__stages_choose(stages, s, first, layers[s], &choice, err);
        if (!status)
            status = add(stages, s, first, layers[s], choice->lists, err);
        first += layers[s];
    }
    return status;
}
