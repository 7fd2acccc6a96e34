/* The full simulation: every block's start and end, every stage's memory curve and busy share, and the bubble split.
 * The step time alone, for searching, is step_time.c; both follow the same recurrence and a test holds them together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulate/order.h"

void ek_timeline_clear(ek_timeline *timeline)
{
    free(timeline->first);
    free(timeline->block);
    free(timeline->static_mb);
    free(timeline->peak_mb);
    free(timeline->busy);
    *timeline = (ek_timeline){0};
}

double ek_timeline_peak(const ek_timeline *timeline, int *stage)
{
    int fullest = 0;
    for (int s = 1; s < timeline->shape.n_stages; s++)
        if (timeline->peak_mb[s] > timeline->peak_mb[fullest])
            fullest = s;
    if (stage)
        *stage = fullest;
    return timeline->peak_mb[fullest];
}

/* Starts and ends of all blocks, in each stage's own order. Returns the step time. */
static double run_blocks(const ek_order *order, const ek_chunk_cost *cost, const ek__delays *delays, double *clock,
                         size_t *next, ek_interval *block)
{
    int p = order->shape.n_stages, n = ek__order_n_slots(order) / 2;
    size_t per_stage = order->n_blocks / (size_t)p;
    double *stage = clock, *micro = clock + p;
    double last = 0;
    for (size_t k = 0; k < order->n_blocks; k++) {
        size_t micro_batch = ek__step_micro_batch(order->steps[k]), s = ek__step_stage(order->steps[k]);
        int slot = (int)ek__step_slot(order->steps[k]), cell = slot < n ? slot : slot - n;
        double start = fmax(stage[s], micro[micro_batch]) + delays->before[slot];
        double end = start + (slot < n ? cost[cell].forward_time : cost[cell].backward_time);
        stage[s] = end + delays->after[slot];
        micro[micro_batch] = end + delays->travel[slot];
        last = fmax(last, end);
        block[s * per_stage + next[s]++] = (ek_interval){.start = start,
                                                         .end = end,
                                                         .micro_batch = (uint32_t)micro_batch,
                                                         .chunk = (uint16_t)(cell / p),
                                                         .kind = slot < n ? EK_FORWARD : EK_BACKWARD};
    }
    return last;
}

/* Memory curve, peak and busy share of one stage. */
static void account_stage(const ek_layers *layers, const ek_chunk_cost *cost, int s, ek_timeline *t)
{
    int p = t->shape.n_stages;
    double memory = layers->const_mb, busy = 0;
    for (int i = 0; i < t->shape.n_chunks; i++)
        memory += cost[i * p + s].parameter_mb;
    t->static_mb[s] = t->peak_mb[s] = memory;
    for (size_t k = t->first[s]; k < t->first[s + 1]; k++) {
        ek_interval *b = &t->block[k];
        double activation = cost[b->chunk * p + s].activation_mb;
        memory += b->kind == EK_FORWARD ? activation : -activation;
        b->memory_mb = memory;
        t->peak_mb[s] = fmax(t->peak_mb[s], memory);
        busy += b->end - b->start;
    }
    t->busy[s] = t->step_time > 0 ? busy / t->step_time : 0;
}

static ek_bubble split_bubble(const ek_shape *shape, const ek_chunk_cost *cost, double step_time)
{
    double work = 0, recompute = 0;
    for (int c = 0; c < shape->n_stages * shape->n_chunks; c++) {
        work += cost[c].forward_time + cost[c].backward_time - cost[c].recompute_time;
        recompute += cost[c].recompute_time;
    }
    work *= shape->n_micro_batches;
    recompute *= shape->n_micro_batches;
    ek_bubble bubble = {.ideal = (shape->n_stages - 1.0) / ((double)shape->n_chunks * shape->n_micro_batches)};
    if (work > 0) {
        bubble.real = (shape->n_stages * step_time - work) / work;
        bubble.recompute = recompute / work;
        bubble.imba = bubble.real - bubble.ideal - bubble.recompute;
    }
    return bubble;
}

ek_status ek_simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                      ek_timeline *out, ek_error *err)
{
    const ek_shape *shape = &order->shape;
    if (plan->n_stages != shape->n_stages || plan->n_chunks != shape->n_chunks)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the plan is for %d stages and interleave %d, the schedule for %d and %d", plan->n_stages,
                        plan->n_chunks, shape->n_stages, shape->n_chunks);
    size_t p = (size_t)shape->n_stages, n_slots = (size_t)ek__order_n_slots(order);
    ek_status status = EK_OK;
    ek_timeline t = {.shape = *shape, .schedule = order->schedule, .n_blocks = order->n_blocks};
    if (comm)
        t.comm = *comm;
    ek_chunk_cost *cost = ek__alloc(n_slots / 2, sizeof *cost);
    double *clock = ek__alloc(p + (size_t)shape->n_micro_batches, sizeof *clock);
    double *delay_tables = ek__alloc(3 * n_slots, sizeof *delay_tables);
    size_t *next = ek__alloc(p, sizeof *next);
    t.first = ek__alloc(p + 1, sizeof *t.first);
    t.block = ek__alloc(order->n_blocks, sizeof *t.block);
    t.static_mb = ek__alloc(p, sizeof *t.static_mb);
    t.peak_mb = ek__alloc(p, sizeof *t.peak_mb);
    t.busy = ek__alloc(p, sizeof *t.busy);
    if (!cost || !clock || !delay_tables || !next || !t.first || !t.block || !t.static_mb || !t.peak_mb || !t.busy) {
        status = ek__no_memory(err);
        goto done;
    }
    ek_plan_costs(plan, layers, cost);
    ek__delays delays = ek__comm_delays(order, &t.comm, delay_tables);
    t.step_time = run_blocks(order, cost, &delays, clock, next, t.block);
    for (size_t s = 0; s <= p; s++)
        t.first[s] = s * (order->n_blocks / p);
    for (int s = 0; s < shape->n_stages; s++)
        account_stage(layers, cost, s, &t);
    t.bubble = split_bubble(shape, cost, t.step_time);
done:
    free(next);
    free(delay_tables);
    free(clock);
    free(cost);
    if (status)
        ek_timeline_clear(&t);
    else
        *out = t;
    return status;
}
