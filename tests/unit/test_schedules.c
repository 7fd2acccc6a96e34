/* Tests every schedule and placement against an independent slow simulation: a longest path over "block X waits for
 * block Y" that looks positions up by searching for them, with the backward split, transfers by edge and micro-batches
 * of different length; memory by replaying the blocks; published closed forms; and orders that must be refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/cases.h"
#include "assert_close.h"
#include "base/random.h"
#include "effort.h"
#include "schedule/frameworks.h"
#include "simulate/order.h"

/* NULL where the schedule refuses the shape. */
static ek_order *try_order(const ek_schedule *schedule, int p, int v, int m)
{
    ek_error err;
    ek_order *order = NULL;
    ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
    return ek_order_new(schedule, &shape, &order, &err) ? NULL : order;
}

static ek_order *new_order(const char *schedule, int p, int v, int m)
{
    ek_error err;
    ek_order *order = NULL;
    ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
    if (ek_order_new(ek_schedule_find(schedule), &shape, &order, &err))
        fail_msg("%s", err.message);
    return order;
}

/* --- the independent simulation --- */

typedef struct slow {
    const ek_order *order;
    const ek_chunk_cost *cost;
    const ek_comm *comm;
    const double *scale; /* of micro-batches; NULL: 1 */
    double *end;         /* [kind][chunk][stage][micro-batch], NAN while unknown */
    size_t *place;       /* of each block in its stage's list */
} slow;

static int n_device_chunks(const ek_order *order)
{
    return order->schedule->placement == EK_PLACE_BOTH_WAYS ? 2 : order->shape.n_chunks;
}

/* Where a chunk of a stage is in the model, in the words of ek_placement. */
static int position_of(const ek_order *order, int chunk, int stage)
{
    int p = order->shape.n_stages;
    switch (order->schedule->placement) {
    case EK_PLACE_BOTH_WAYS:
        return chunk == 0 ? stage : p - 1 - stage;
    case EK_PLACE_V:
        return chunk % 2 == 0 ? chunk * p + stage : (chunk + 1) * p - 1 - stage;
    default:
        return chunk * p + stage;
    }
}

/* Index of the costs of a chunk of a stage. */
static int cell_of(const ek_order *order, int chunk, int stage)
{
    int p = order->shape.n_stages;
    return order->schedule->placement == EK_PLACE_BOTH_WAYS ? position_of(order, chunk, stage) : chunk * p + stage;
}

/* Stage and chunk of a position for a micro-batch; false outside the model. */
static bool find(const ek_order *order, int position, int micro, int *chunk, int *stage)
{
    bool both = order->schedule->placement == EK_PLACE_BOTH_WAYS;
    for (int i = 0; i < n_device_chunks(order); i++)
        for (int s = 0; s < order->shape.n_stages; s++)
            if (position_of(order, i, s) == position && (!both || i == (2 * micro >= order->shape.n_micro_batches))) {
                *chunk = i;
                *stage = s;
                return true;
            }
    return false;
}

static double edge(const slow *s, int position, int micro)
{
    int chunk, from, to;
    if (!s->comm || !find(s->order, position, micro, &chunk, &from) ||
        !find(s->order, position + 1, micro, &chunk, &to) || from == to)
        return 0;
    if (!s->comm->edge_time)
        return s->comm->p2p_time;
    int least = from < to ? from : to;
    return s->comm->edge_time[s->order->schedule->placement == EK_PLACE_WRAP ? from : least];
}

static size_t slow_index(const slow *s, int kind, int chunk, int stage, int micro)
{
    const ek_shape *shape = &s->order->shape;
    return (((size_t)kind * (size_t)n_device_chunks(s->order) + (size_t)chunk) * (size_t)shape->n_stages +
            (size_t)stage) *
               (size_t)shape->n_micro_batches +
           (size_t)micro;
}

static double duration_of(const slow *s, int kind, int chunk, int stage, int micro)
{
    const ek_chunk_cost *c = &s->cost[cell_of(s->order, chunk, stage)];
    double weight = s->order->schedule->splits_backward ? c->weight_time : 0;
    double time = kind == EK_FORWARD ? c->forward_time : kind == EK_BACKWARD ? c->backward_time - weight : weight;
    return s->scale ? time * s->scale[micro] : time;
}

/* Start and end of a block: after the block before it on its stage and the block it waits for. */
static double slow_end(slow *s, int kind, int chunk, int stage, int micro)
{
    const ek_order *order = s->order;
    int last = order->shape.n_stages * order->shape.n_chunks - 1;
    size_t at = slow_index(s, kind, chunk, stage, micro), place = s->place[at];
    if (!isnan(s->end[at]))
        return s->end[at];
    bool blocking = s->comm && s->comm->blocking;
    double own = 0, other = 0, transfer = 0;
    int q = position_of(order, chunk, stage);
    if (place > 0) {
        size_t per_stage = order->n_blocks / (size_t)order->shape.n_stages;
        const ek_block *b = &order->blocks[(size_t)stage * per_stage + place - 1];
        own = slow_end(s, b->kind, b->chunk, stage, (int)b->micro_batch);
        int from = position_of(order, b->chunk, stage);
        if (blocking && b->kind != EK_BACKWARD_WEIGHT)
            own += edge(s, b->kind == EK_FORWARD ? from : from - 1, (int)b->micro_batch); /* it sends */
    }
    int i, t;
    if (kind == EK_BACKWARD_WEIGHT) {
        other = slow_end(s, EK_BACKWARD, chunk, stage, micro);
    } else if (kind == EK_FORWARD && q > 0) {
        find(order, q - 1, micro, &i, &t);
        other = slow_end(s, EK_FORWARD, i, t, micro);
        transfer = edge(s, q - 1, micro);
    } else if (kind == EK_BACKWARD && q < last) {
        find(order, q + 1, micro, &i, &t);
        other = slow_end(s, EK_BACKWARD, i, t, micro);
        transfer = edge(s, q, micro);
    } else if (kind == EK_BACKWARD) {
        other = slow_end(s, EK_FORWARD, chunk, stage, micro);
    }
    double start = blocking ? fmax(own, other) + transfer : fmax(own, other + transfer);
    return s->end[at] = start + duration_of(s, kind, chunk, stage, micro);
}

/* Also checks that every block is there, once. */
static double slow_step(slow *s)
{
    const ek_shape *shape = &s->order->shape;
    size_t per_stage = s->order->n_blocks / (size_t)shape->n_stages, n_found = 0;
    size_t size = (size_t)EK_N_BLOCK_KINDS * (size_t)n_device_chunks(s->order) * (size_t)shape->n_stages *
                  (size_t)shape->n_micro_batches; /* both ways, half of it stays unused */
    double last = 0;
    s->end = malloc(size * sizeof *s->end);
    s->place = malloc(size * sizeof *s->place);
    for (size_t i = 0; i < size; i++) {
        s->end[i] = NAN;
        s->place[i] = SIZE_MAX;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int stage = 0; stage < shape->n_stages; stage++)
            for (size_t k = 0; k < per_stage; k++) {
                const ek_block *b = &s->order->blocks[(size_t)stage * per_stage + k];
                size_t at = slow_index(s, b->kind, b->chunk, stage, (int)b->micro_batch);
                if (pass == 0) {
                    assert_true(s->place[at] == SIZE_MAX);
                    s->place[at] = k;
                    n_found++;
                } else {
                    last = fmax(last, slow_end(s, b->kind, b->chunk, stage, (int)b->micro_batch));
                }
            }
    int kinds = s->order->schedule->splits_backward ? 3 : 2;
    assert_int_equal(n_found, kinds * shape->n_stages * shape->n_chunks * shape->n_micro_batches);
    free(s->end);
    free(s->place);
    return last;
}

/* A random pipeline of a schedule; NULL where the schedule refuses the shape. */
static ek_order *random_order(ek__random *r, const ek_schedule *schedule)
{
    int most = schedule->max_chunks < 4 ? schedule->max_chunks : 4;
    int p = 1 + ek__random_below(r, 6), v = schedule->min_chunks + ek__random_below(r, most - schedule->min_chunks + 1);
    return try_order(schedule, p, v, schedule->min_micro_batches * p + 1 + ek__random_below(r, 12));
}

static void every_schedule_takes_as_long_as_the_slow_simulation_says(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(11);
    for (const ek_schedule *const *schedule = ek_schedules; *schedule; schedule++) {
        int n = 0;
        for (int round = 0; round < effort(120, 20); round++) {
            ek_order *order = random_order(&r, *schedule);
            if (!order)
                continue;
            ek_error err;
            size_t n_cells = (size_t)order->n_cells, n_slots = (size_t)ek__order_n_slots(order);
            double *scale = calloc((size_t)order->shape.n_micro_batches, sizeof *scale), edges[6];
            for (int b = 0; b < order->shape.n_micro_batches; b++)
                scale[b] = 0.5 + ek__random_below(&r, 4);
            for (int s = 0; s < 6; s++)
                edges[s] = ek__random_below(&r, 5);
            ek_comm comm = {.p2p_time = 3.5, .blocking = ek__random_below(&r, 2)};
            int transfers = ek__random_below(&r, 3);
            comm.edge_time = transfers == 2 ? edges : NULL;
            bool scaled = ek__random_below(&r, 2);
            if (scaled)
                assert_int_equal(ek_order_scale_micro_batches(order, scale, &err), EK_OK);
            slow s = {.order = order, .comm = transfers ? &comm : NULL, .scale = scaled ? scale : NULL};
            ek_chunk_cost *cost = calloc(n_cells, sizeof *cost);
            double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
            double *durations = calloc(n_slots, sizeof *durations), *lanes = calloc(n_slots * EK__LANES, sizeof *lanes);
            double *tables = calloc(ek__order_delays_size(order), sizeof *tables);
            double *clocks = calloc(ek__order_n_clocks(order) * EK__LANES, sizeof *clocks);
            double expected[EK__LANES], got[EK__LANES];
            s.cost = cost;
            for (int l = 0; l < EK__LANES; l++) {
                for (size_t c = 0; c < n_cells; c++) {
                    cost[c].forward_time = ek__random_below(&r, 20);
                    cost[c].weight_time = ek__random_below(&r, 20);
                    cost[c].backward_time = cost[c].weight_time + ek__random_below(&r, 20);
                }
                expected[l] = slow_step(&s);
                assert_close_to(ek_order_step_time(order, cost, s.comm, scratch), expected[l], 1e-9);
                ek__order_durations(order, cost, durations);
                for (size_t c = 0; c < n_slots; c++)
                    lanes[c * EK__LANES + (size_t)l] = durations[c];
            }
            ek__delays delays = {0};
            if (transfers)
                delays = ek__comm_delays(order, &comm, tables);
            ek__order_step_times(order, lanes, transfers ? &delays : NULL, clocks, got);
            for (int l = 0; l < EK__LANES; l++)
                assert_close_to(got[l], expected[l], 1e-9);
            free(clocks);
            free(tables);
            free(lanes);
            free(durations);
            free(scratch);
            free(cost);
            free(scale);
            ek_order_free(order);
            n++;
        }
        print_message("# %s: %d pipelines, seed 11\n", (*schedule)->name, n);
        assert_true(n >= effort(20, 3));
    }
}

static void memory_follows_from_replaying_the_blocks(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(12);
    case_model model;
    case_model_init(&model, CASE_LLAMA_175B, 90, 90, 180);
    model.layers.head.activation_mb[0] = 50; /* an embedding that keeps something too */
    for (const ek_schedule *const *schedule = ek_schedules; *schedule; schedule++)
        for (int round = 0; round < effort(40, 10); round++) {
            ek_order *order = random_order(&r, *schedule);
            if (!order)
                continue;
            ek_error err;
            ek_plan plan;
            ek_timeline t;
            int p = order->shape.n_stages, v = order->shape.n_chunks, m = order->shape.n_micro_batches;
            assert_int_equal(ek_plan_init(&plan, p, v, &err), EK_OK);
            for (int k = 0; k < model.layers.n_layers; k++)
                plan.layers[ek__random_below(&r, p * v)]++;
            double *scale = calloc((size_t)m, sizeof *scale);
            for (int b = 0; b < m; b++)
                scale[b] = round % 2 ? 1 : 0.25 + ek__random_below(&r, 4);
            if (round % 2 == 0)
                assert_int_equal(ek_order_scale_micro_batches(order, scale, &err), EK_OK);
            assert_int_equal(ek_simulate(order, &plan, &model.layers, NULL, &t, &err), EK_OK);
            ek_chunk_cost *cost = calloc((size_t)(p * v), sizeof *cost);
            double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
            ek_plan_costs(&plan, &model.layers, (*schedule)->placement, cost);
            assert_close_to(t.step_time, ek_order_step_time(order, cost, NULL, scratch), 1e-9 * t.step_time);
            /* head and tail are at the ends of the model, wherever those are */
            for (int s = 0; s < p; s++)
                for (int i = 0; i < n_device_chunks(order); i++) {
                    int q = position_of(order, i, s), c = cell_of(order, i, s);
                    double extra = q == 0 && q == p * v - 1 ? 270 : q == 0 ? 90 : q == p * v - 1 ? 180 : 0;
                    assert_close_to(cost[c].forward_time, 90.0 * plan.layers[c] + extra, 1e-6);
                }
            double busy = 0, share = (*schedule)->splits_backward ? EK_WEIGHT_SHARE : 0;
            for (int s = 0; s < p; s++) {
                const double *live;
                const int *cells;
                int n_live = ek_order_live_vectors(order, s, &live), n_held = ek_order_held_cells(order, s, &cells);
                double fixed = model.layers.const_mb, most = 0, before = 0;
                for (int i = 0; i < n_device_chunks(order); i++)
                    fixed += cost[cell_of(order, i, s)].parameter_mb;
                double memory = fixed, peak = fixed;
                for (size_t k = t.first[s]; k < t.first[s + 1]; k++) {
                    const ek_interval *b = &t.block[k];
                    double activation = scale[b->micro_batch] * cost[cell_of(order, b->chunk, s)].activation_mb;
                    memory += b->kind == EK_FORWARD    ? activation
                              : b->kind == EK_BACKWARD ? -(1 - share) * activation
                                                       : -share * activation;
                    peak = fmax(peak, memory);
                    assert_close_to(b->memory_mb, memory, 1e-6);
                    assert_true(b->start >= before && b->end >= b->start);
                    before = b->end;
                    busy += b->end - b->start;
                }
                assert_close_to(memory, fixed, 1e-5); /* everything is taken off again */
                assert_close_to(t.peak_mb[s], peak, 1e-6);
                for (int k = 0; k < n_live; k++) {
                    double sum = 0;
                    for (int i = 0; i < n_held; i++)
                        sum += live[k * n_held + i] * cost[cells[i]].activation_mb;
                    most = fmax(most, sum);
                }
                assert_close_to(fixed + most, peak, 1e-4); /* the live vectors agree */
            }
            assert_close_to(t.bubble.real, (p * t.step_time - busy) / busy, 1e-9); /* nothing is recomputed */
            assert_close_to(t.weight_share, share, 0);
            ek_timeline_clear(&t);
            free(scratch);
            free(cost);
            free(scale);
            ek_plan_clear(&plan);
            ek_order_free(order);
        }
}

/* --- closed forms --- */

/* Step of equal chunks. */
static double equal_chunks(ek_order *order, double forward, double backward, double weight)
{
    ek_chunk_cost *cost = calloc((size_t)order->n_cells, sizeof *cost);
    double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
    for (int c = 0; c < order->n_cells; c++)
        cost[c] = (ek_chunk_cost){.forward_time = forward, .backward_time = backward + weight, .weight_time = weight};
    double step = ek_order_step_time(order, cost, NULL, scratch);
    free(scratch);
    free(cost);
    return step;
}

/* Maximum number of live micro-batches of a stage, of all its chunks together. */
static double most_alive(const ek_order *order, int stage)
{
    const double *live;
    const int *cells;
    int n = ek_order_live_vectors(order, stage, &live), n_held = ek_order_held_cells(order, stage, &cells);
    double most = 0;
    for (int k = 0; k < n; k++) {
        double sum = 0;
        for (int i = 0; i < n_held; i++)
            sum += live[k * n_held + i];
        most = fmax(most, sum);
    }
    return most;
}

static void gpipe_matches_its_closed_form(void **state)
{
    (void)state;
    for (int p = 1; p <= 8; p++)
        for (int m = 1; m <= 20; m++) {
            ek_order *order = new_order("gpipe", p, 1, m);
            assert_close_to(equal_chunks(order, 1, 1, 1), 3.0 * (m + p - 1), 1e-9);
            for (int s = 0; s < p; s++)
                assert_close_to(most_alive(order, s), m, 0);
            ek_order_free(order);
        }
}

/* Qi et al. 2024, section 2.2: bubble (p-1)(F + B - W) for F = B = W and m >= p, the memory of 1F1B's first stage. */
static void zb_h1_matches_its_closed_form(void **state)
{
    (void)state;
    for (int p = 1; p <= 16; p++)
        for (int m = p; m <= 3 * p; m++) {
            ek_order *order = new_order("zb-h1", p, 1, m);
            assert_close_to(equal_chunks(order, 1, 1, 1), 3.0 * m + (p - 1), 1e-9);
            for (int s = 0; s < p; s++)
                assert_true(most_alive(order, s) <= p);
            assert_close_to(most_alive(order, 0), p, 0);
            ek_order_free(order);
        }
}

/*
 * DualPipe's README: at most p + 1 micro-batches alive. Its bubble is (p/2 - 1)(F&B + (B + W) - 3 W) where a pair takes
 * F&B and delivers at its end; here F&B = F + B + W runs as F, then B, then W, each delivering as it ends, which is one
 * B less for each of the p/2 - 1.
 */
static void dualpipe_matches_its_closed_form(void **state)
{
    (void)state;
    const double f = 1, b = 1, w = 1;
    for (int p = 2; p <= 16; p += 2)
        for (int m = 2 * p; m <= 3 * p + 4; m += 2) {
            ek_order *order = new_order("dualpipe", p, 1, m);
            double published = (p / 2 - 1) * (f + b + w + (b + w) - 3 * w);
            assert_close_to(equal_chunks(order, f, b, w), m * (f + b + w) + published - (p / 2 - 1) * b, 1e-9);
            for (int s = 0; s < p; s++)
                assert_true(most_alive(order, s) <= p + 1);
            ek_order_free(order);
        }
}

/* The same, cut in half: 2p positions on p stages. */
static void dualpipev_matches_its_closed_form(void **state)
{
    (void)state;
    for (int p = 1; p <= 16; p++)
        for (int m = 2 * p; m <= 3 * p + 3; m++) {
            ek_order *order = new_order("dualpipev", p, 2, m);
            assert_close_to(equal_chunks(order, 1, 1, 1), 6.0 * m + (p - 1), 1e-9);
            for (int s = 0; s < p; s++)
                assert_true(most_alive(order, s) <= 2 * p + 1);
            ek_order_free(order);
        }
}

/* --- refusals --- */

enum { TWICE, WEIGHT_FIRST, STRANGER, AGAINST };
static int fault;

/* A stage's F, B, W of each micro-batch in turn, with one fault. */
static void faulty_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    for (int b = 0; b < shape->n_micro_batches; b++)
        for (int kind = 0; kind < EK_N_BLOCK_KINDS; kind++)
            blocks[3 * b + kind] = (ek_block){(uint32_t)b, 2 * b >= shape->n_micro_batches, (uint16_t)kind};
    if (stage != 1)
        return;
    if (fault == TWICE)
        blocks[2] = blocks[1];
    else if (fault == WEIGHT_FIRST) {
        blocks[1].kind = EK_BACKWARD_WEIGHT;
        blocks[2].kind = EK_BACKWARD;
    } else if (fault == STRANGER)
        blocks[5].micro_batch = 7;
    else
        blocks[0].chunk = 1;
}

static void wrong_orders_are_refused(void **state)
{
    (void)state;
    static const ek_schedule faulty = {.name = "faulty",
                                       .min_chunks = 1,
                                       .max_chunks = 1,
                                       .placement = EK_PLACE_BOTH_WAYS,
                                       .splits_backward = true,
                                       .stage_order = faulty_order};
    static const char *const expected[] = {
        [TWICE] = "of stage 1, block 2 (the backward of chunk 0, micro-batch 0) is run twice",
        [WEIGHT_FIRST] =
            "of stage 1, block 1 (the weight gradient of chunk 0, micro-batch 0) comes before its backward",
        [STRANGER] = "block 5 (the weight gradient of chunk 0, micro-batch 7) is none of this pipeline",
        [AGAINST] = "block 0 (the forward of chunk 1, micro-batch 0) runs against its micro-batch's direction"};
    for (fault = 0; fault <= AGAINST; fault++) {
        ek_error err = {0};
        ek_order *order = NULL;
        ek_shape shape = {.n_stages = 2, .n_chunks = 1, .n_micro_batches = 4};
        assert_int_equal(ek_order_new(&faulty, &shape, &order, &err), EK_ERR_INPUT);
        if (!strstr(err.message, expected[fault]))
            fail_msg("expected '%s' in '%s'", expected[fault], err.message);
    }
}

static void shapes_a_schedule_is_not_for_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        int p, v, m;
        const char *message;
    } cases[] = {
        {"dualpipe", 3, 1, 8, "stages and micro-batches must be even (got 3 and 8)"},
        {"dualpipe", 4, 1, 9, "stages and micro-batches must be even (got 4 and 9)"},
        {"dualpipe", 4, 1, 6, "needs at least 2 micro-batches a stage, 8 in all (got 6)"},
        {"dualpipe", 4, 2, 8, "is defined for 1 chunks a stage"},
        {"dualpipev", 4, 2, 7, "needs at least 2 micro-batches a stage, 8 in all (got 7)"},
        {"zb-h1", 1024, 1, 65535, "3 x stages x interleave x micro-batches must be at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        ek_order *order = NULL;
        ek_shape shape = {.n_stages = cases[i].p, .n_chunks = cases[i].v, .n_micro_batches = cases[i].m};
        assert_int_equal(ek_order_new(ek_schedule_find(cases[i].schedule), &shape, &order, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("expected '%s' in '%s'", cases[i].message, err.message);
    }
}

static void factors_must_be_positive(void **state)
{
    (void)state;
    ek_error err = {0};
    ek_order *order = new_order("1f1b", 2, 1, 3);
    assert_int_equal(ek_order_scale_micro_batches(order, (double[]){1, 0, 1}, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "the factor of micro-batch 1 must be a positive number (got 0)"));
    assert_int_equal(ek_order_scale_micro_batches(order, (double[]){2, 2, 2}, &err), EK_OK);
    assert_close_to(equal_chunks(order, 1, 1, 1), 2 * 3.0 * (3 + 1), 1e-9);
    assert_close_to(most_alive(order, 0), 4, 0);
    assert_int_equal(ek_order_scale_micro_batches(order, NULL, &err), EK_OK);
    assert_close_to(equal_chunks(order, 1, 1, 1), 3.0 * (3 + 1), 1e-9);
    assert_close_to(most_alive(order, 0), 2, 0);
    ek_order_free(order);
}

/* --- properties of schedules --- */

/* The share that equal stages idle: (p-1)/(vm + p-1) where that is said, not less where it is "about" that, and
 * something else for some shape where there is said to be no closed form. */
static void bubbles_are_those_that_schedules_say(void **state)
{
    (void)state;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        bool other = false;
        if ((*s)->arrange) { /* made for the times */
            assert_int_equal((*s)->bubble, EK_BUBBLE_OPEN);
            continue;
        }
        for (int p = 2; p <= 8; p += 2)
            for (int v = (*s)->min_chunks; v <= (*s)->max_chunks && v <= 3; v++)
                for (int rounds = 2; rounds <= 4; rounds++) {
                    int m = rounds * p;
                    ek_order *order = new_order((*s)->name, p, v, m);
                    double step = equal_chunks(order, 1, 1, 1), usual = 3.0 * (v * m + p - 1);
                    if ((*s)->bubble == EK_BUBBLE_EXACT ? fabs(step - usual) > 1e-9
                                                        : (*s)->bubble == EK_BUBBLE_ABOUT && step < usual - 1e-9)
                        fail_msg("%s: a step of %g, not %g (p %d, v %d, m %d)", (*s)->name, step, usual, p, v, m);
                    other |= fabs(step - usual) > 1e-9;
                    ek_order_free(order);
                }
        if ((*s)->bubble == EK_BUBBLE_OPEN && !other)
            fail_msg("%s has the usual bubble, (p-1)/(vm + p-1); say so in .bubble", (*s)->name);
    }
}

/* Of the interleaved family: as many chunk activations as 1F1B ahead, or those of Megatron-LM's warm-up. */
static void the_warm_up_is_the_one_that_schedules_say(void **state)
{
    (void)state;
    int n = 0;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        assert_true(!(*s)->shorter_warm_up || (*s)->family == EK_SCHEDULE_INTERLEAVED);
        if ((*s)->family != EK_SCHEDULE_INTERLEAVED)
            continue;
        for (int p = 2; p <= 5; p++)
            for (int v = 2; v <= 3; v++) {
                ek_order *order = new_order((*s)->name, p, v, 4 * p);
                for (int stage = 0; stage < p; stage++)
                    assert_close_to(most_alive(order, stage),
                                    (*s)->shorter_warm_up ? v * p - stage : (v + 1) * p - 2 * stage - 1, 0);
                ek_order_free(order);
            }
        n++;
    }
    assert_true(n >= 2);
}

/* The keys and values of a piece are those of the pieces before it, so their gradients come from the last piece on. */
static void pieces_run_backward_from_the_last_where_schedules_say(void **state)
{
    (void)state;
    enum { P = 4, M = 16, K = 2 };
    int n = 0;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        if ((*s)->arrange) {
            assert_false((*s)->pieces);
            continue;
        }
        ek_block blocks[3 * 2 * M];
        int v = (*s)->min_chunks;
        const ek_shape shape = {.n_stages = P, .n_chunks = v, .n_micro_batches = M, .n_pieces = K};
        (*s)->stage_order(&shape, 0, blocks);
        int place[M];
        for (size_t i = 0; i < ek_schedule_blocks_per_stage(*s, &shape); i++)
            if (blocks[i].kind == EK_BACKWARD && blocks[i].chunk == 0)
                place[blocks[i].micro_batch] = (int)i;
        bool last_first = place[1] < place[0];
        if ((*s)->pieces && !last_first)
            fail_msg("%s: the first piece of a micro-batch runs backward first", (*s)->name);
        n += (*s)->pieces;
    }
    assert_true(n >= 1);
}

/* --- schedules in frameworks --- */

static void every_schedule_has_a_row_in_the_table_of_frameworks(void **state)
{
    (void)state;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        int n = 0;
        for (int i = 0; ek__schedule_row(i); i++)
            n += ek__schedule_row(i) == *s;
        if (n != 1)
            fail_msg("the schedule %s has %d rows in src/schedule/frameworks.c, expected one", (*s)->name, n);
        for (int f = 0; f < EK_N_FRAMEWORKS; f++) {
            const ek__framework_schedule *cell = ek__schedule_in(*s, (ek_framework)f);
            if ((cell->single && (*s)->min_chunks > 1) || (cell->several && (*s)->max_chunks == 1))
                fail_msg("%s: plans for chunks that it does not have", (*s)->name);
            if (cell->by_default && !(cell->offered && cell->same))
                fail_msg("%s: a search has it by default, but layouts or the framework have it not", (*s)->name);
            assert_true(cell->word || !cell->argument);
        }
    }
}

/* docs/convert.md describes how each framework runs a schedule. */
static void every_schedule_is_in_the_document_on_frameworks(void **state)
{
    (void)state;
    static char text[1 << 16];
    const char *root = getenv("EK_SOURCE_ROOT");
    snprintf(text, sizeof text, "%s/docs/convert.md", root ? root : ".");
    FILE *in = fopen(text, "r");
    assert_non_null(in);
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = '\0';
    assert_true(n > 0 && n < sizeof text - 1);
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        char name[64];
        snprintf(name, sizeof name, "`%s`", (*s)->name);
        if (!strstr(text, name))
            fail_msg("docs/convert.md does not say what frameworks run the schedule %s as", (*s)->name);
    }
}

/* Each word of a setting is read as the schedule that it is written for; only the number of chunks distinguishes
 * others.
 */
static void words_of_settings_name_one_schedule(void **state)
{
    (void)state;
    static const char *const arguments[] = {NULL, EK__SCHEDULES_METHOD, EK__ZERO_BUBBLE_SETUP};
    int n_words = 0, n_aliases = 0;
    for (int f = 0; f < EK_N_FRAMEWORKS; f++)
        for (size_t a = 0; a < sizeof arguments / sizeof *arguments; a++) {
            ek__schedule_word words[EK__MAX_SCHEDULE_WORDS];
            int n = ek__schedule_words((ek_framework)f, arguments[a], words);
            for (int i = 0; i < n; i++) {
                const ek__framework_schedule *cell = ek__schedule_in(words[i].schedule, (ek_framework)f);
                for (int k = 0; k < i; k++)
                    if (strcmp(words[k].word, words[i].word) == 0 && !cell->by_chunks)
                        fail_msg("framework %d: the word %s is read as %s and %s", f, words[i].word,
                                 words[k].schedule->name, words[i].schedule->name);
                n_aliases += strcmp(words[i].word, cell->word) != 0;
                if (!arguments[a] && !cell->by_chunks)
                    assert_ptr_equal(ek__schedule_of_word((ek_framework)f, words[i].word).schedule, words[i].schedule);
            }
            n_words += n;
        }
    assert_int_equal(n_aliases, 3);
    assert_true(n_words >= 22);
    assert_null(ek__schedule_of_word(EK_MINDFORMERS, "").schedule);
    assert_null(ek__schedule_of_word(EK_TORCHTITAN, "1f1b").schedule);
    assert_false(ek__schedule_of_word(EK_TORCHTITAN, "LoopedBFS").exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_takes_as_long_as_the_slow_simulation_says),
        cmocka_unit_test(memory_follows_from_replaying_the_blocks),
        cmocka_unit_test(gpipe_matches_its_closed_form),
        cmocka_unit_test(zb_h1_matches_its_closed_form),
        cmocka_unit_test(dualpipe_matches_its_closed_form),
        cmocka_unit_test(dualpipev_matches_its_closed_form),
        cmocka_unit_test(wrong_orders_are_refused),
        cmocka_unit_test(shapes_a_schedule_is_not_for_are_refused),
        cmocka_unit_test(factors_must_be_positive),
        cmocka_unit_test(bubbles_are_those_that_schedules_say),
        cmocka_unit_test(the_warm_up_is_the_one_that_schedules_say),
        cmocka_unit_test(pieces_run_backward_from_the_last_where_schedules_say),
        cmocka_unit_test(every_schedule_has_a_row_in_the_table_of_frameworks),
        cmocka_unit_test(every_schedule_is_in_the_document_on_frameworks),
        cmocka_unit_test(words_of_settings_name_one_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
