/* evenkeel/balance.h - chooses layers and recomputation of every chunk.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_BALANCE_H
#define EVENKEEL_BALANCE_H

#include "evenkeel/decls.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/plan.h"
#include "evenkeel/simulate.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

typedef enum ek_balance_status {
    EK_BALANCE_OPTIMAL,    /**< no expressible plan within the limit has a shorter simulated step: proved */
    EK_BALANCE_FEASIBLE,   /**< the search ended by its own criterion; better plans may exist */
    EK_BALANCE_TIME_LIMIT, /**< the clock or an interrupt ended it; the best plan so far */
    EK_BALANCE_INFEASIBLE, /**< no plan fits */
} ek_balance_status;

/** "optimal", "feasible", "time_limit", "infeasible". */
extern const char *const *const ek_balance_status_name;

/** State of a running search, for a progress line. */
typedef struct ek_balance_progress {
    double seconds;        /**< since the start */
    double best_step_time; /**< INFINITY while there is none */
    double best_seconds;   /**< when it last improved */
    double lower_bound;    /**< so far; 0 while nothing is known */
    double done;           /**< share of its own criterion, 0..1 */
} ek_balance_progress;

typedef struct ek_balance_options {
    double memory_limit_mb;        /**< no stage's peak may exceed it */
    const double *stage_memory_mb; /**< [n_stages] a limit for each stage instead; NULL: memory_limit_mb everywhere */
    /** [n_stages] required total layers of a stage's chunks, -1 where the search may choose; NULL: everywhere. Where
     *  micro-batches run both ways, stages s and p-1-s hold the same chunks. */
    const int *fixed_layers;
    bool forbidden[EK_N_RECOMPUTE]; /**< recompute kinds that a plan may not use */
    /** [n_layers + 1] fully recomputed layers of a chunk of that size, the others without recomputation, for frameworks
     *  with one rule for all chunks; no value is less than that before it, nor more than one more. Only with the solver
     *  "anneal", where the memory of full recomputation is known (EK_ERR_INPUT); nothing is proved. NULL: as the search
     *  finds best. */
    const int *full_layers;
    double time_limit;  /**< seconds, > 0 */
    double gap;         /**< the search ends when (step - lower bound) / step is at most this, 0..1 */
    double proof_limit; /**< seconds for the lower bound, after the search, and at most as long as the search took;
                             INFINITY: up to the time limit */
    int n_steps; /**< of an annealing chain, limited to two rounds of eight chains; 0: derived from the problem's size
                  */
    /** Micro-batches beyond the order's. Each adds the slowest stage's work for one micro-batch, the sum of its blocks
     * and of the communication time added to them: step times of many micro-batches tend to that, at the cost of
     * simulating few. Only with the solver "anneal" and chunks that wrap round the stages, in an order that is not made
     * for times
     *  (EK_ERR_INPUT). The result's step_time is such a sum, without any proof. 0: none. */
    int n_more_micro_batches;
    int min_layers; /**< of body layers in a chunk, 0 or more */
    int n_threads;  /**< 0: all cores */
    uint64_t seed;
    const char *solver; /**< a name of ek_solver_at(); NULL for the default */
    ek_comm comm;
    /** Of the orders that ek_balance_arranged() and ek_order_for_plan() make, as for ek_order_slow_stages() and
     *  ek_order_scale_micro_batches(); ek_balance() uses its order unchanged. NULL: all 1. */
    const double *slowdown;          /**< [n_stages] */
    const double *micro_batch_scale; /**< [n_micro_batches] */
    /** Of schedules that make their order for times and memory: activations a stage may hold, in micro-batches of the
     *  whole stage. 0: the schedule's own, ek_schedule_activation_limit(). See ek_balance_arranged(). */
    double activation_limit;
    /** Called a few times a second from the calling thread; may be NULL. */
    void (*progress)(void *user, const ek_balance_progress *progress);
    void *user;
    const ek_interrupt *interrupt; /**< ends the search, with the best plan so far; may be NULL */
} ek_balance_options;

/** Options that depend on the size of the pipeline, for functions that balance pipelines of several sizes: limits,
 *  speeds and transfer times by stage, factors by micro-batch, activation_limit. */
typedef struct ek_balance_lists {
    /**
     * Add the settings that depend on a shape to `options`; all others are set already.
     * @param own  out: passed to release() after the search
     * @return EK_OK, or an error with `err` filled and nothing to release
     */
    ek_status (*fill)(const void *user, const ek_shape *shape, ek_balance_options *options, void **own, ek_error *err);
    void (*release)(void *own);
    const void *user; /**< of fill() */
} ek_balance_lists;

typedef struct ek_balance_result {
    ek_balance_status status;
    ek_plan plan;     /**< of the best plan; empty when infeasible */
    double step_time; /**< simulated */
    /** No expressible plan within the limits has a shorter simulated step: proved, for the schedule's order or, where
     *  the order is made for the times, for every order. 0 when nothing is known. */
    double lower_bound;
    double gap;          /**< (step_time - lower_bound) / step_time */
    bool proved_optimal; /**< the gap is closed, up to rounding of sums */
    double seconds;      /**< spent */
    /** When infeasible: the smallest limit that would fit, its plan in `fit_plan`, and the stage that reaches it.
     *  `smallest_limit_exact` is false when it is only the smallest that was found. With a limit for each stage all of
     *  them grow by the same `shortfall_mb`, and smallest_limit_mb is the bottleneck's limit plus that.
     */
    double smallest_limit_mb;
    double shortfall_mb;
    bool smallest_limit_exact;
    int bottleneck_stage;
    ek_plan fit_plan;
} ek_balance_result;

/** The solvers in order, the default first. @return 0 when `index` is past the last. */
int ek_solver_at(int index, const char **name, const char **summary);

/** 56000 MB, 90 s, a gap of 1 %, 4 s for the proof, at least one layer a chunk, all cores, seed 1. */
void ek_balance_options_init(ek_balance_options *options);

/**
 * The plan with the shortest simulated step among those with a simulated peak within the limit.
 *
 * @param layers   the model; passes ek_layers_check()
 * @param order    of the schedule, for the plan's stages and chunks
 * @param options  borrowed for the call
 * @param out      ek_balance_result_clear() frees it; untouched on failure
 * @return EK_OK with a status (infeasible and out-of-time are results); EK_ERR_INPUT for a model that
 *         ek_layers_check() refuses, and for options that are out of range, not numbers, unknown names, or contradict
 *         the model (fewer layers than chunks need); EK_ERR_SYSTEM where no thread can be started; EK_ERR_MEMORY.
 * Cost: until the search ends by its own criterion, at most options.time_limit. Starts options.n_threads threads. Calls
 * run in parallel, except with the solver "milp": CBC solves one problem at a time, so searches wait for one another,
 * within their time limits. While it solves, CBC takes SIGINT for itself and ends; afterwards the previous handler is
 * restored. Threads that are started block all signals. The same inputs, options and seed give the same plan for any
 * number of threads, unless the clock ended it.
 */
ek_status ek_balance(const ek_layers *layers, const ek_order *order, const ek_balance_options *options,
                     ek_balance_result *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_balance_result_clear(ek_balance_result *result);

/**
 * ek_balance() for any schedule, with the order that it needs.
 *
 * A schedule that makes its order for times and memory is arranged for the even split, balanced, arranged again for the
 * times of the plan found, balanced again, and so on, at most four times while the step gets shorter. The answer's step
 * and peak are those of the plan under its own order, ek_order_for_plan(). A proof under one order is not valid for all
 * orders, so the status is then never EK_BALANCE_OPTIMAL. Other schedules go straight to ek_balance().
 *
 * @param order  out: the order of the answer; the caller frees it
 * @return as ek_order_new_for() and ek_balance(). Cost: at most four ek_balance() within options.time_limit together,
 *         and an order for each.
 */
ek_status ek_balance_arranged(const ek_layers *layers, const ek_schedule *schedule, const ek_shape *shape,
                              const ek_balance_options *options, ek_order **order, ek_balance_result *out,
                              ek_error *err);

/**
 * The order of a plan. Where a schedule makes it: for the plan's times, or for those of the even split when the step is
 * then shorter; one within the memory limit is preferred.
 *
 * @param options  comm, slowdown, micro_batch_scale, activation_limit and the memory limits (0: none) matter
 * @param out      ek_order_free() frees it; untouched on failure
 * @return as ek_order_new_for(); EK_ERR_INPUT also where ek_simulate() refuses the model, the plan or the options, if
 * the schedule makes its order for times. Cost: ek_order_new_for() and, where the schedule makes its order for times,
 * that twice with a simulation of each: O(blocks).
 */
ek_status ek_order_for_plan(const ek_layers *layers, const ek_plan *plan, const ek_schedule *schedule,
                            const ek_shape *shape, const ek_balance_options *options, ek_order **out, ek_error *err);

EK_END_DECLS
#endif
