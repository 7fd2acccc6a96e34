/* balance/problem.h - the balancing problem as input of the solvers. Library-internal.
 *
 * One decision per chunk: the number of layers, and one of the undominated ways to recompute them. A way is undominated
 * when no other way of the same layers has both a shorter backward pass and less activation memory; since step time and
 * peak only grow with either, an optimal plan needs no other. */
#ifndef EK_BALANCE_PROBLEM_H
#define EK_BALANCE_PROBLEM_H

#include <assert.h>
#include <pthread.h>

#include "base/atomic.h"
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
    EK__ATOMIC(ek__chunk *) * pure; /**< [n_body][n_layers + 1] */
    pthread_mutex_t lock;           /**< guards making a chunk, and all of `mixed` */
    int n_mixed, mixed_capacity;
    ek__chunk **mixed; /**< across body kinds, open-addressed by first and n */
} ek__chunk_cache;

/** A bank's cells and their limits: the live vectors of every stage that holds it (simulate/order.h). */
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
    double *bank_live, *bank_room; /**< memory that the banks point to */
    double limit_mb;               /**< of every stage; the largest one when they differ */
    double tolerance_mb; /**< excess that still counts as within the limit: rounding of sums, below any printed digit */
    int *body_end;       /**< [n_body] layers up to and including each body kind */
    ek_chunk_cost *extra; /**< [n_cells] head and tail where they sit */
    double *room_mb;      /**< [n_stages] the stage's limit - const - head/tail parameters - reserve_mb */
    /** The most memory of recomputing a layer of any allowed kind, kept free on every stage so that every state within
     *  the rooms is within the limits; a state that needs less of it is missed. 0 when that is not counted. */
    double reserve_mb;
    const int *full_layers; /**< [n_layers + 1] of a chunk of this number; NULL: any way of recomputing it */
    int *fixed_layers;      /**< [n_stages] layers that the stage's cells must add up to; -1: free */
    bool any_fixed;
    ek_layers *allowed; /**< `layers` without the forbidden recompute kinds; NULL when none is forbidden */
    double *delay_tables;
    ek__delays delays_storage;
    const ek__delays *delays; /**< NULL when there is no communication */
    double n_more;            /**< micro-batches beyond the order's, each as long as the slowest stage's work for one */
    ek__chunk_cache *cache;
} ek__problem;

/** Excess over a limit that still counts as within it: a share of the limit below any printed digit. A sum within a
 *  limit has no larger terms, except those cancelled by negative terms, and their rounding counts too. */
double ek__memory_tolerance(const ek_layers *layers, double limit_mb);

ek_status ek__problem_init(ek__problem *problem, const ek_layers *layers, const ek_order *order,
                           const ek_balance_options *options, ek_error *err);
void ek__problem_clear(ek__problem *problem);

/** The chunk of `n` layers from `first`, all of them of the model, alive as long as the problem; it has 1 option or
 *  more. NULL when memory is out. Thread-safe. O(1) when seen before. */
const ek__chunk *ek__chunk_get(const ek__problem *problem, int first, int n);

/** One chunk a stage: the cheapest way of recomputing the chunk that fits the stage, or -1. O(live vectors x log
 *  options). */
int ek__option_that_fits(const ek__problem *problem, int stage, const ek__chunk *chunk);

/** Times that a block of the cell takes its chunk's duration: 1 unless its stage is slower or faster. */
static inline double ek__cell_slowdown(const ek__problem *problem, int cell)
{
    return ek__order_slowdown(problem->order, cell);
}

/** A plan in the solvers' terms: cells' layers and options. */
typedef struct ek__state {
    const ek__chunk **chunk; /**< [n_cells] */
    int *option;             /**< [n_cells] */
} ek__state;

ek_status ek__state_init(ek__state *state, const ek__problem *problem, ek_error *err);
void ek__state_copy(const ek__problem *problem, const ek__state *from, ek__state *to);
void ek__state_clear(ek__state *state);

#ifndef NDEBUG
/** For assertions: does the state place all layers in model order, each chunk at least min_layers and every fixed stage
 *  its number, with an option of each chunk? `within`: is every stage within its limit, apart from rounding? O(cells x
 *  live vectors). */
bool ek__state_is_valid(const ek__problem *problem, const ek__state *state, bool within);
#endif

/**
 * Write the durations of a cell's blocks into the slots, `stride` apart (1, or EK__LANES for one lane of a batch).
 * The times are those of its layers; head and tail are added, and the stage's speed applied. @param backward the whole
 * of it, `weight` included
 */
static inline void ek__set_durations(const ek__problem *problem, int cell, double forward, double backward,
                                     double weight, double *duration, size_t stride)
{
    const ek_chunk_cost *extra = &problem->extra[cell];
    size_t n = (size_t)problem->n_cells, c = (size_t)cell;
    double slow = ek__cell_slowdown(problem, cell);
    assert(cell >= 0 && c < n && stride > 0 && slow > 0);
    assert(forward >= 0 && weight >= 0);
    duration[c * stride] = slow * (forward + extra->forward_time);
    if (problem->order->n_kinds == 2) {
        duration[(n + c) * stride] = slow * (backward + extra->backward_time);
    } else {
        duration[(n + c) * stride] = slow * (backward - weight + (extra->backward_time - extra->weight_time));
        duration[(2 * n + c) * stride] = slow * (weight + extra->weight_time);
    }
}

/** Times of a cell's blocks with head and tail added, by kind: forward, backward (of the input when the schedule splits
 *  it), weight gradient. Arguments as of ek__set_durations. */
static inline void ek__cell_times(const ek__problem *problem, int cell, double forward, double backward, double weight,
                                  double time[EK_N_BLOCK_KINDS])
{
    const ek_chunk_cost *extra = &problem->extra[cell];
    double slow = ek__cell_slowdown(problem, cell);
    bool split = problem->order->n_kinds > 2;
    assert(cell >= 0 && cell < problem->n_cells && slow > 0);
    time[EK_FORWARD] = slow * (forward + extra->forward_time);
    time[EK_BACKWARD] = slow * (backward + extra->backward_time - (split ? weight + extra->weight_time : 0));
    time[EK_BACKWARD_WEIGHT] = split ? slow * (weight + extra->weight_time) : 0;
}

static inline void ek__set_chunk_durations(const ek__problem *problem, int cell, const ek__chunk *chunk, int option,
                                           double *duration, size_t stride)
{
    assert(option >= 0 && option < chunk->n_options);
    ek__set_durations(problem, cell, chunk->forward_time, chunk->option[option].backward_time, chunk->weight_time,
                      duration, stride);
}

/** The excess of the stage's peak over the limit (negative: head-room). O(live vectors x chunks). */
double ek__state_excess(const ek__problem *problem, const ek__state *state, int stage);

/**
 * Layers that the cell at model position q may take, so that the positions after it can still take theirs: each the
 * least, and every fixed stage's cells together its fixed number. Nothing when *least > *most.
 * @param q       0..n_cells - 1
 * @param state   holds the chunks of the positions before q
 * @param placed  layers on them, at most those of the model
 * O(cells).
 */
void ek__layer_range(const ek__problem *problem, const ek__state *state, int q, int placed, int *least, int *most);

/** May single layers move from cell a to cell b: neither stage is fixed, or it is the same one? */
static inline bool ek__may_exchange(const ek__problem *problem, int a, int b)
{
    assert(a >= 0 && a < problem->n_cells && b >= 0 && b < problem->n_cells);
    int of_a = problem->order->bank[a], of_b = problem->order->bank[b];
    return of_a == of_b || (problem->fixed_layers[of_a] < 0 && problem->fixed_layers[of_b] < 0);
}

/** Durations of all slots, `stride` apart (1, or EK__LANES for one lane of a batch). */
void ek__state_durations(const ek__problem *problem, const ek__state *state, double *duration, int stride);

/**
 * Step times of EK__LANES plans from their durations: the simulated order's, and for each of the n_more micro-batches
 * that it leaves out the slowest stage's work for one.
 *
 * @param duration  [n_slots][EK__LANES]
 * @param scratch   [ek__order_n_clocks()][EK__LANES]
 * O(blocks).
 */
void ek__problem_step_times(const ek__problem *problem, const double *duration, double *scratch,
                            double times[EK__LANES]);

/** Step time from scratch, as ek__problem_step_times(). @param scratch ek__state_scratch_size() doubles */
double ek__state_step_time(const ek__problem *problem, const ek__state *state, double *scratch);
size_t ek__state_scratch_size(const ek__problem *problem);

/** The plan of a state that places all layers. @return EK_OK, EK_ERR_MEMORY */
ek_status ek__state_to_plan(const ek__problem *problem, const ek__state *state, ek_plan *plan, ek_error *err);

#endif
