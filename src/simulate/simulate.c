/* The full simulation: every block's start and end, every stage's memory curve and busy share, and the bubble split.
 * The step time without a timeline, for searching, is step_time.c; both follow the same recurrence and a test compares
 * them.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/watch.h"
#include "evenkeel/layers.h"
#include "evenkeel/plan.h"
#include "simulate/order.h"

void ek_timeline_clear(ek_timeline *timeline)
{
    free(timeline->first);
    free(timeline->block);
    free(timeline->static_mb);
    free(timeline->peak_mb);
    free(timeline->busy);
    free(timeline->path);
    free(timeline->path_time);
    *timeline = (ek_timeline){0};
}

double ek_timeline_peak(const ek_timeline *timeline, int *stage)
{
    int fullest = 0;
    assert(timeline->shape.n_stages >= 1 && timeline->peak_mb);
    for (int s = 1; s < timeline->shape.n_stages; s++)
        if (timeline->peak_mb[s] > timeline->peak_mb[fullest])
            fullest = s;
    if (stage)
        *stage = fullest;
    return timeline->peak_mb[fullest];
}

enum { BETWEEN_LOOKS = 4096 }; /* blocks, of some 50 ns each */

/* Starts and ends of all blocks, in each stage's own order. Returns the step time; NAN when a watch ends it. */
static double run_blocks(const ek_order *order, const double *duration, const ek__delays *delays, double *clock,
                         size_t *next, ek_interval *block)
{
    int n_slots = ek__order_n_slots(order);
    size_t p = (size_t)order->shape.n_stages, per_stage = order->n_blocks / p;
    double *stage = clock, *chain = clock + p;
    double last = 0;
    ek__watch_part("simulating", 5.0 * (double)order->n_blocks);
    for (size_t k = 0; k < order->n_blocks; k++) {
        if (k % BETWEEN_LOOKS == 0 && ek__watch_late(5.0 * BETWEEN_LOOKS))
            return NAN;
        size_t c = ek__step_chain(order->steps[k]), s = ek__step_stage(order->steps[k]);
        size_t slot = ek__step_slot(order->steps[k]), at = s * per_stage + next[s]++;
        const ek_block *b = &order->blocks[at];
        assert(next[s] <= per_stage && slot / (size_t)order->n_cells == b->kind); /* lists and steps agree */
        assert(duration[slot] >= 0);
        size_t delay = slot + (size_t)(ek__order_way(order, b->micro_batch) * n_slots);
        double start = fmax(stage[s], chain[c]) + delays->before[delay];
        double end = start + (order->factor ? order->factor[k] * duration[slot] : duration[slot]);
        stage[s] = end + delays->after[delay];
        chain[c] = end + delays->travel[delay];
        last = fmax(last, end);
        block[at] = (ek_interval){
            .start = start, .end = end, .micro_batch = b->micro_batch, .chunk = b->chunk, .kind = b->kind};
    }
    return last;
}

#ifndef NDEBUG
/* Is `memory` back at `start`, except for the rounding of a curve that went up to `peak`? */
static bool is_back(double memory, double start, double peak)
{
    return fabs(memory - start) <= 1e-6 * (1 + fabs(start) + fabs(peak));
}
#endif

/* Memory curve, peak and busy share of one stage. The curve ends at its first value: B and W release all that F
 * adds. */
static void account_stage(const ek_order *order, const ek_layers *layers, const ek_chunk_cost *cost, int s,
                          ek_timeline *t)
{
    const double freed[EK_N_BLOCK_KINDS] = {-1, 1 - order->weight_share, order->weight_share};
    const int *held;
    int n_held = ek_order_held_cells(order, s, &held);
    double memory = layers->const_mb, busy = 0;
    for (int i = 0; i < n_held; i++)
        memory += cost[held[i]].parameter_mb;
    t->static_mb[s] = t->peak_mb[s] = memory;
    for (size_t k = t->first[s]; k < t->first[s + 1]; k++) {
        ek_interval *b = &t->block[k];
        const ek_chunk_cost *of = &cost[ek__order_cell(order, s, &order->blocks[k])];
        double scale = order->scale ? order->scale[b->micro_batch] : 1;
        b->activation_mb = scale * of->activation_mb;
        if (b->kind == EK_BACKWARD)
            b->recompute_time =
                scale * ek__order_slowdown(order, ek__order_cell(order, s, &order->blocks[k])) * of->recompute_time;
        b->during_mb = memory + (b->kind == EK_BACKWARD ? scale * of->transient_mb : 0);
        memory -= of->activation_mb * freed[b->kind] * scale;
        b->memory_mb = memory;
        t->peak_mb[s] = fmax(t->peak_mb[s], fmax(memory, b->during_mb));
        busy += b->end - b->start;
    }
    assert(is_back(memory, t->static_mb[s], t->peak_mb[s]));
    assert(t->peak_mb[s] >= t->static_mb[s]);
    t->busy[s] = t->step_time > 0 ? busy / t->step_time : 0;
    assert(t->busy[s] >= 0 && t->busy[s] <= 1 + 1e-9);
}

/* Every cell runs every micro-batch once, on one stage or, both ways, on one of two. */
static ek_bubble split_bubble(const ek_order *order, const ek_chunk_cost *cost, double step_time)
{
    const ek_shape *shape = &order->shape;
    double work = 0, recompute = 0, n_micro_batches = shape->n_micro_batches;
    for (int c = 0; c < order->n_cells; c++) {
        double slow = ek__order_slowdown(order, c);
        work += slow * (cost[c].forward_time + cost[c].backward_time - cost[c].recompute_time);
        recompute += slow * cost[c].recompute_time;
    }
    if (order->scale) {
        n_micro_batches = 0;
        for (int b = 0; b < shape->n_micro_batches; b++)
            n_micro_batches += order->scale[b];
    }
    work *= n_micro_batches;
    recompute *= n_micro_batches;
    ek_bubble bubble = {.ideal = (shape->n_stages - 1.0) / ((double)shape->n_chunks * shape->n_micro_batches)};
    if (work > 0) {
        bubble.real = (shape->n_stages * step_time - work) / work;
        bubble.recompute = recompute / work;
        bubble.imba = bubble.real - bubble.ideal - bubble.recompute;
    }
    return bubble;
}

/* Everything of a timeline except the memory and recomputation of its blocks. */
static ek_status make_room(const ek_order *order, ek_timeline *t, ek_error *err)
{
    size_t p = (size_t)order->shape.n_stages;
    t->first = ek__alloc(p + 1, sizeof *t->first);
    t->block = ek__alloc(order->n_blocks, sizeof *t->block);
    t->static_mb = ek__alloc(p, sizeof *t->static_mb);
    t->peak_mb = ek__alloc(p, sizeof *t->peak_mb);
    t->busy = ek__alloc(p, sizeof *t->busy);
    return t->first && t->block && t->static_mb && t->peak_mb && t->busy ? EK_OK : ek__no_memory(err);
}

ek_status ek__order_run(const ek_order *order, const double *duration, const ek_comm *comm, ek_timeline *out,
                        ek_error *err)
{
    size_t p = (size_t)order->shape.n_stages;
    ek_timeline t = {.shape = order->shape,
                     .schedule = order->schedule,
                     .n_blocks = order->n_blocks,
                     .weight_share = order->weight_share};
    if (comm)
        t.comm = *comm;
    double *clock = ek__alloc(ek__order_n_clocks(order), sizeof *clock);
    double *delay_tables = ek__alloc(ek__order_delays_size(order), sizeof *delay_tables);
    size_t *next = ek__alloc(p, sizeof *next);
    ek_status status = make_room(order, &t, err);
    if (!status && (!clock || !delay_tables || !next))
        status = ek__no_memory(err);
    if (!status) {
        ek__delays delays = ek__comm_delays(order, &t.comm, delay_tables);
        t.step_time = run_blocks(order, duration, &delays, clock, next, t.block);
        for (size_t s = 0; s <= p; s++)
            t.first[s] = s * (order->n_blocks / p);
        assert(t.first[p] == t.n_blocks); /* every stage runs as many */
        if (isnan(t.step_time))
            status = ek__watch_fail(err, "a simulation");
    }
    free(next);
    free(delay_tables);
    free(clock);
    if (status)
        ek_timeline_clear(&t);
    else
        *out = t;
    return status;
}

/* Do plan and model fit the order? */
static ek_status check(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                       ek_error *err)
{
    const ek_shape *shape = &order->shape;
    if (plan->n_stages != shape->n_stages || plan->n_chunks != shape->n_chunks)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the plan is for %d stages and interleave %d, the schedule for %d and %d", plan->n_stages,
                        plan->n_chunks, shape->n_stages, shape->n_chunks);
    ek_status status = ek_layers_check(layers, err);
    if (!status)
        status = ek_plan_check_layers(plan, layers->n_layers, err);
    return status ? status : ek__comm_check(comm, shape->n_stages, err);
}

/* The numbers of a kind that is not modelled have no meaning but can be run, unless they make the time of the input
 * gradient negative. Rounding errors are removed. */
static ek_status check_costs(const ek_order *order, ek_chunk_cost *cost, ek_error *err)
{
    int p = order->shape.n_stages;
    for (int c = 0; c < order->n_cells && order->n_kinds > 2; c++) {
        if (cost[c].weight_time > cost[c].backward_time * (1 + 1e-6))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "stage %d, chunk %d: the gradient of the weights takes %g, more than the whole backward "
                            "pass, %g: a kind of recomputation that is not modelled has no times; use another, or give "
                            "its times",
                            c % p, c / p, cost[c].weight_time, cost[c].backward_time);
        cost[c].weight_time = fmin(cost[c].weight_time, cost[c].backward_time);
    }
    return EK_OK;
}

ek_status ek__simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                       ek_timeline *out, ek_error *err)
{
    ek_timeline t;
    ek_chunk_cost *cost = ek__alloc((size_t)order->n_cells, sizeof *cost);
    double *duration = ek__alloc((size_t)ek__order_n_slots(order), sizeof *duration);
    ek_status status = cost && duration ? EK_OK : ek__no_memory(err);
    if (!status) {
        ek_plan_costs(plan, layers, order->schedule->placement, cost);
        status = check_costs(order, cost, err);
    }
    if (!status) {
        ek__order_durations(order, cost, duration);
        status = ek__order_run(order, duration, comm, &t, err);
    }
    if (!status) {
        for (int s = 0; s < order->shape.n_stages; s++)
            account_stage(order, layers, cost, s, &t);
        t.bubble = split_bubble(order, cost, t.step_time);
        status = ek__timeline_follow(&t, err);
        if (status)
            ek_timeline_clear(&t);
        else
            *out = t;
    }
    free(duration);
    free(cost);
    return status;
}

ek_status ek_simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                      ek_timeline *out, ek_error *err)
{
    ek_status status = check(order, plan, layers, comm, err);
    return status ? status : ek__simulate(order, plan, layers, comm, out, err);
}
