/* balance/problem.h - the balancing problem as the solvers see it. Library-internal.
 *
 * A decision per chunk: how many layers, and which of the undominated ways to recompute them. A way is undominated when
 * no other way of the same layers has both a shorter backward pass and less activation memory; since step time and peak
 * only grow with either, an optimal plan needs no other. */
#ifndef EK_BALANCE_PROBLEM_H
#define EK_BALANCE_PROBLEM_H

#include <pthread.h>
#include <stdatomic.h>

#include "evenkeel/balance.h"
#include "simulate/order.h"

/** One way to recompute the layers of a chunk. */
typedef struct ek__option {
    double backward_time;
    double activation_mb;
    int full, select, comm; /**< the framework's lists */
} ek__option;

/** Some consecutive layers as a chunk: everything but where it sits. Immutable. */
typedef struct ek__chunk {
    int first, n; /**< layers [first, first + n) of the model; first is 0-based, and any equivalent one */
    double forward_time;
    double weight_time; /**< of every option's backward_time */
    double parameter_mb;
    int n_options;
    bool complete;      /**< no undominated way was left out */
    ek__option *option; /**< by growing backward time and falling activation */
} ek__chunk;

/** Chunks made so far. Shared by all threads: those within one body kind are found without a lock. */
typedef struct ek__chunk_cache {
    int n_pure;
    _Atomic(ek__chunk *) *pure; /**< [n_body][n_layers + 1] */
    pthread_mutex_t lock;       /**< guards making a chunk, and all of `mixed` */
    int n_mixed, mixed_capacity;
    ek__chunk **mixed; /**< across body kinds, open-addressed by first and n */
} ek__chunk_cache;

/** A bank's cells and what limits them: the live vectors of every stage that holds it (simulate/order.h). */
typedef struct ek__bank {
    const int *cells; /**< [n_held], in model order */
    int n_live;
    const double *live;    /**< [n_live][n_held] */
    const double *room_mb; /**< [n_live] of the vector's stage */
} ek__bank;

typedef struct ek__problem {
    const ek_layers *layers;
    const ek_order *order;
    int n_stages, n_chunks, n_cells; /**< p, v, p v; a cell is a chunk of the plan, index i p + s */
    int n_banks, n_held;             /**< cells that the same stages hold; n_banks x n_held = n_cells */
    int n_layers, min_layers;
    int most_live;                 /**< live vectors of the bank that has most */
    ek__bank *bank;                /**< [n_banks] */
    double *bank_live, *bank_room; /**< what the banks point to */
    double limit_mb;
    double tolerance_mb; /**< excess that still counts as within the limit: rounding of sums, below any printed digit */
    int *body_end;       /**< [n_body] layers up to and including each body kind */
    ek_chunk_cost *extra; /**< [n_cells] head and tail where they sit */
    double *room_mb;      /**< [n_stages] limit - const - head/tail parameters */
    double *delay_tables;
    ek__delays delays_storage;
    const ek__delays *delays; /**< NULL when there is no communication */
    ek__chunk_cache *cache;
} ek__problem;

ek_status ek__problem_init(ek__problem *problem, const ek_layers *layers, const ek_order *order,
                           const ek_balance_options *options, ek_error *err);
void ek__problem_clear(ek__problem *problem);

/** The chunk of `n` layers from `first`, alive as long as the problem; NULL when memory is out. Thread-safe. O(1) when
 *  seen before. */
const ek__chunk *ek__chunk_get(const ek__problem *problem, int first, int n);

/** A plan in the solvers' terms: cells' layers and options. */
typedef struct ek__state {
    const ek__chunk **chunk; /**< [n_cells] */
    int *option;             /**< [n_cells] */
} ek__state;

ek_status ek__state_init(ek__state *state, const ek__problem *problem, ek_error *err);
void ek__state_copy(const ek__problem *problem, const ek__state *from, ek__state *to);
void ek__state_clear(ek__state *state);

/**
 * Write the durations of a cell's blocks into the slots, `stride` apart (1, or EK__LANES for one lane of a batch).
 * The times are those of its layers; head and tail are added. @param backward the whole of it, `weight` included
 */
static inline void ek__set_durations(const ek__problem *problem, int cell, double forward, double backward,
                                     double weight, double *duration, size_t stride)
{
    const ek_chunk_cost *extra = &problem->extra[cell];
    size_t n = (size_t)problem->n_cells, c = (size_t)cell;
    duration[c * stride] = forward + extra->forward_time;
    if (problem->order->n_kinds == 2) {
        duration[(n + c) * stride] = backward + extra->backward_time;
    } else {
        duration[(n + c) * stride] = backward - weight + (extra->backward_time - extra->weight_time);
        duration[(2 * n + c) * stride] = weight + extra->weight_time;
    }
}

static inline void ek__set_chunk_durations(const ek__problem *problem, int cell, const ek__chunk *chunk, int option,
                                           double *duration, size_t stride)
{
    ek__set_durations(problem, cell, chunk->forward_time, chunk->option[option].backward_time, chunk->weight_time,
                      duration, stride);
}

/** By how much the stage's peak exceeds the limit (negative: head-room). O(live vectors x chunks). */
double ek__state_excess(const ek__problem *problem, const ek__state *state, int stage);

/** Durations of all slots, `stride` apart (1, or EK__LANES for one lane of a batch). */
void ek__state_durations(const ek__problem *problem, const ek__state *state, double *duration, int stride);

/** Step time from scratch. @param scratch ek__state_scratch_size() doubles */
double ek__state_step_time(const ek__problem *problem, const ek__state *state, double *scratch);
size_t ek__state_scratch_size(const ek__problem *problem);

ek_status ek__state_to_plan(const ek__problem *problem, const ek__state *state, ek_plan *plan, ek_error *err);

#endif
