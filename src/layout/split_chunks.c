/* Searches plans with several chunks per stage and schedules other than 1F1B, by the balancer's annealing
 * (evenkeel/balance.h) on layers that never overestimate a plan. The job's own peaks of the resulting plan are then
 * checked. If a stage is over the limit, the memory missing in its layers is subtracted from its limit, and the
 * balancer runs again. The result is a plan, not a proof: the layout's bound is that of bound.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/balance.h"
#include "layout/layers.h"
#include "layout/mix.h"
#include "layout/split.h"

enum { MOST_ROUNDS = 6, STEPS_PER_CELL = 24, LEAST_STEPS = 300, MORE_STEPS = 8, FEW_STEPS = 100 };
enum {
    FEW_TURNS = 3,
    MANY_TURNS = 8
};                            /* rounds of p micro-batches: the simulated ones; the number from which no more are */
enum { ROUNDING = 16 << 20 }; /* bytes by which live tensors may exceed the allocator's figure */

#define LONGEST      600 /* seconds of annealing, which is limited by its steps: it ends long before */
#define MS_PER_S     1e3
#define LARGE_MB     1e9 /* no limit */
#define BYTES_PER_MB 1048576.0

typedef struct chunks {
    ek_job job; /* with the rule's patterns and the plan under test */
    const ek_device *device;
    ek_cost_cache *cache;
    ek__recompute_rule rule;
    const ek__split_options *options;
    ek_layers layers;
    ek_order *order;
    double *limit_mb, *edge_ms; /* [n_stages] */
    int *full_layers;           /* [n_layers + 1] by the layers of a chunk; NULL: the rule does not set it */
    int64_t *actual;            /* [n_stages] peaks of the last plan that was placed */
    bool hopeless;              /* a stage has no room for any layer */
    bool fitted;                /* the last plan fit, and was shorter */
    bool thorough;              /* more steps */
    ek_error *err;
} chunks;

static bool is_lists(const chunks *c)
{
    return c->rule.kind == EK__RULE_LISTS;
}

/* The plan in the framework's terms: layers from the balancer, recomputation from the rule. */
static void add_plan(chunks *c, const ek_plan *plan)
{
    ek_plan *to = &c->job.plan;
    for (int stage = 0; stage < plan->n_stages; stage++)
        for (int i = 0, before = 0; i < plan->n_chunks; i++) {
            int cell = i * plan->n_stages + stage;
            to->layers[cell] = plan->layers[cell];
            if (is_lists(c))
                ek__lists_set(&c->job, cell, plan->full[cell], plan->select[cell], plan->comm[cell]);
            else
                ek__recompute_rule_set(&c->job, c->rule, cell, before);
            before += plan->layers[cell];
        }
}

/* Does the job's plan fit? Otherwise its stages' limits are lowered by their excess. Live bytes are checked first:
 * placing them takes long. */
static ek_status look(chunks *c, bool placed, bool *fits)
{
    const ek__stop stop = ek__split_stop(c->options);
    const ek_memory_options options = {
        .without_top = true, .without_allocation = !placed, .over = stop.over, .user = stop.user};
    ek_memory memory;
    *fits = true;
    if (c->job.limit_mb <= 0)
        return EK_OK;
    ek_status status = ek_memory_predict(&c->job, &options, &memory, c->err);
    if (status)
        return status;
    *fits = !memory.ended_early;
    for (int s = 0; s < memory.n_stages && !memory.ended_early; s++) {
        int64_t peak = placed ? memory.stage[s].actual_peak : memory.stage[s].used_peak - ROUNDING;
        if (placed)
            c->actual[s] = peak;
        double over = (double)peak / BYTES_PER_MB - c->job.limit_mb;
        if (over <= 0)
            continue;
        *fits = false;
        c->limit_mb[s] -= over;
        c->hopeless |= c->limit_mb[s] <= 0;
    }
    ek_memory_clear(&memory);
    return EK_OK;
}

static ek_balance_options balance_options(const chunks *c)
{
    ek_balance_options options;
    ek_balance_options_init(&options);
    options.memory_limit_mb = LARGE_MB;
    options.stage_memory_mb = c->limit_mb;
    options.time_limit = fmax(1e-3, fmin(LONGEST, c->options->deadline - ek__now()));
    options.proof_limit = 0;
    options.solver = "anneal";
    int cells = c->job.plan.n_stages * c->job.plan.n_chunks;
    options.n_steps = STEPS_PER_CELL * cells > LEAST_STEPS ? STEPS_PER_CELL * cells : LEAST_STEPS;
    options.n_steps =
        c->options->effort == EK__EFFORT_QUICK ? FEW_STEPS : options.n_steps * (c->thorough ? MORE_STEPS : 1);
    options.n_threads = 1;
    options.comm = (ek_comm){.edge_time = c->edge_ms, .blocking = !c->job.run.overlap_p2p};
    options.interrupt = c->options->interrupt;
    options.fixed_layers = c->options->fixed_layers;
    options.full_layers = c->full_layers;
    return options;
}

/* A plan that is not shorter than the best one need not fit. @param done no more rounds */
static ek_status judge(chunks *c, ek__split *best, bool *done)
{
    ek_step step;
    double seconds;
    ek_status status = ek_cost_step(&c->job, c->device, c->cache, &step, c->err);
    if (status)
        return status;
    seconds = step.seconds;
    ek_step_clear(&step);
    *done = seconds >= fmin(best->seconds, c->options->upper);
    c->fitted = false;
    if (*done)
        return EK_OK;
    status = look(c, false, done);
    if (!status && *done)
        status = look(c, true, done);
    c->fitted = !status && *done;
    const int64_t *actual = c->job.limit_mb > 0 ? c->actual : NULL;
    return c->fitted ? ek__split_offer(&c->job, actual, c->device, c->cache, best, &seconds, c->err) : status;
}

/* Rounds of p micro-batches that annealing prices by the slowest stage's work instead of simulating them. */
static int turns_left_out(const chunks *c)
{
    int turns = c->job.parallel.n_micro_batches / c->job.plan.n_stages;
    bool few = turns <= MANY_TURNS || !ek__mixes_apply(c->job.schedule);
    return few ? 0 : turns - FEW_TURNS;
}

/* One round. @param done  no more rounds */
static ek_status try_limits(chunks *c, ek__split *best, bool *done)
{
    int p = c->job.plan.n_stages, m = c->job.parallel.n_micro_batches, left_out = turns_left_out(c) * p;
    ek_balance_options options = balance_options(c);
    options.n_more_micro_batches = left_out;
    const ek_shape shape = {
        .n_stages = p, .n_chunks = c->job.plan.n_chunks, .n_micro_batches = m - left_out, .n_pieces = 1};
    ek_balance_result result;
    ek_order *order = NULL;
    ek_status status = ek_balance_arranged(&c->layers, c->job.schedule, &shape, &options, &order, &result, c->err);
    if (status)
        return status;
    bool found = result.status != EK_BALANCE_INFEASIBLE;
    *done = !found;
    if (found) {
        add_plan(c, &result.plan);
        status = judge(c, best, done);
    }
    ek_balance_result_clear(&result);
    ek_order_free(order);
    return status;
}

/* Annealing ends in one of many similar plans; others are near the best fractional solution. */
static ek_status try_near(chunks *c, ek__split *best)
{
    const ek_job *job = &c->job;
    ek__bound_figures figures;
    ek__mixes *mixes = NULL;
    if (!ek__split_whole_applies(job) || c->options->fixed_layers)
        return EK_OK;
    ek_status status = ek__bound_figures_of(job, c->device, c->cache, true, &figures, c->err);
    if (!status && !c->options->mixes)
        status = ek__mixes_new(job->schedule, job->plan.n_stages, job->plan.n_chunks, job->parallel.n_micro_batches,
                               &mixes, c->err);
    if (status)
        return status;
    const ek__split_chunked of = {.job = job,
                                  .device = c->device,
                                  .cache = c->cache,
                                  .mixes = c->options->mixes ? c->options->mixes : mixes,
                                  .figures = &figures};
    status = ek__split_near(&of, c->rule, c->options, best, c->err);
    ek__mixes_free(mixes);
    return status;
}

/* In rounds, until the plan fits. */
static ek_status anneal(chunks *c, ek__split *best)
{
    bool done = false;
    ek_status status = EK_OK;
    for (int round = 0; round < MOST_ROUNDS && !done && !status && !c->hopeless; round++) {
        status = try_limits(c, best, &done);
        best->free = c->fitted && round == 0 && !is_lists(c);
        best->over = ek__split_over(c->options);
        done = done || best->over;
    }
    return status;
}

static ek_status search(chunks *c, ek__split *best)
{
    bool done, quick = c->options->effort == EK__EFFORT_QUICK;
    double before = fmin(best->seconds, c->options->upper);
    best->free = false;
    ek_status status = quick ? try_near(c, best) : EK_OK;
    if (status || (quick && best->seconds < before))
        return status;
    status = anneal(c, best);
    if (status || quick || best->over || best->seconds >= before)
        return status;
    /* Relevant plans are searched again: few layouts have one. */
    c->thorough = true;
    status = try_limits(c, best, &done);
    return status ? status : try_near(c, best);
}

/* The least number of layers that the rule recomputes whole in a chunk of a given size. Other rules are in the layers'
 * figures. */
static ek_status list_full_layers(chunks *c)
{
    int n = c->layers.n_layers;
    if (c->rule.kind != EK__RULE_FIRST && c->rule.kind != EK__RULE_EVERY)
        return EK_OK;
    c->full_layers = ek__alloc((size_t)n + 1, sizeof *c->full_layers);
    for (int i = 0; i <= n && c->full_layers; i++)
        c->full_layers[i] = c->rule.kind == EK__RULE_EVERY ? i / c->rule.n : i < c->rule.n ? i : c->rule.n;
    return c->full_layers ? EK_OK : ek__no_memory(c->err);
}

static ek_status start(chunks *c, const ek_job *job)
{
    int p = job->plan.n_stages;
    ek__job_programs *programs = NULL;
    ek__stage_pricer *pricer = NULL;
    ek_status status = ek__recompute_rule_job(job, c->rule, &c->job, c->err);
    if (!status)
        status = ek__stage_pricer_new(&c->job, c->device, c->cache, &pricer, c->err);
    if (!status)
        status = ek__job_programs_new(&c->job, &programs, c->err);
    if (!status)
        status = ek__layout_layers(&c->job, programs, pricer, c->rule, &c->layers, c->err);
    if (!status)
        status = list_full_layers(c);
    c->hopeless = c->full_layers && !c->layers.modelled[EK_RECOMPUTE_FULL]; /* it brings nothing */
    c->limit_mb = ek__alloc(2 * (size_t)p, sizeof *c->limit_mb);
    c->actual = ek__alloc((size_t)p, sizeof *c->actual);
    if (!status && (!c->limit_mb || !c->actual))
        status = ek__no_memory(c->err);
    for (int s = 0; s < p && !status; s++) {
        c->edge_ms = c->limit_mb + p;
        c->limit_mb[s] = job->limit_mb > 0 ? job->limit_mb : LARGE_MB;
        c->edge_ms[s] = MS_PER_S * ek__stage_pricer_edges(pricer)[s];
    }
    ek__job_programs_free(programs);
    ek__stage_pricer_free(pricer);
    return status;
}

ek_status ek__split_chunks(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                           const ek__split_options *options, ek__split *best, double *bound, ek_error *err)
{
    chunks c = {.device = device, .cache = cache, .rule = rule, .options = options, .err = err};
    ek_status status = start(&c, job);
    *bound = 0;
    if (!status)
        status = search(&c, best);
    free(c.limit_mb);
    free(c.actual);
    free(c.full_layers);
    ek_layers_clear(&c.layers);
    ek_job_clear(&c.job);
    return status;
}
