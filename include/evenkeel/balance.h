/* evenkeel/balance.h - choose layers and recomputation of every chunk. */
#ifndef EVENKEEL_BALANCE_H
#define EVENKEEL_BALANCE_H

#include "evenkeel/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ek_balance_status {
    EK_BALANCE_OPTIMAL,    /**< no expressible plan within the limit has a shorter simulated step: proved */
    EK_BALANCE_FEASIBLE,   /**< the search ended by its own criterion; better plans may exist */
    EK_BALANCE_TIME_LIMIT, /**< the clock or an interrupt ended it; the best plan so far */
    EK_BALANCE_INFEASIBLE, /**< no plan fits */
} ek_balance_status;

/** "optimal", "feasible", "time_limit", "infeasible". */
extern const char *const ek_balance_status_name[4];

/** State of a running search, for a progress line. */
typedef struct ek_balance_progress {
    double seconds;        /**< since the start */
    double best_step_time; /**< INFINITY while there is none */
    double best_seconds;   /**< when it last improved */
    double done;           /**< share of its own criterion, 0..1 */
} ek_balance_progress;

typedef struct ek_balance_options {
    double memory_limit_mb; /**< no stage's peak may exceed it */
    double time_limit;      /**< seconds, > 0 */
    int min_layers;         /**< of body layers in a chunk, 0 or more */
    int n_threads;          /**< 0: all cores */
    uint64_t seed;
    const char *solver; /**< a name of ek_solver_at(); NULL for the default */
    ek_comm comm;
    /** Called a few times a second from the calling thread; may be NULL. */
    void (*progress)(void *user, const ek_balance_progress *progress);
    void *user;
    /** Set from outside (a signal handler) to end the search; may be NULL. */
    const volatile int *interrupt;
} ek_balance_options;

typedef struct ek_balance_result {
    ek_balance_status status;
    ek_plan plan;     /**< of the best plan; empty when infeasible */
    double step_time; /**< simulated */
    double seconds;   /**< spent */
    /** When infeasible: the smallest limit that would fit, the plan behind it in `fit_plan`, and the stage that
     *  reaches it. `smallest_limit_exact` is false when it is only the smallest that was found. */
    double smallest_limit_mb;
    bool smallest_limit_exact;
    int bottleneck_stage;
    ek_plan fit_plan;
} ek_balance_result;

/** The solvers in order, the default first. @return 0 when `index` is past the last. */
int ek_solver_at(int index, const char **name, const char **summary);

/** 56000 MB, 90 s, at least one layer a chunk, all cores, seed 1. */
void ek_balance_options_init(ek_balance_options *options);

/**
 * The plan with the shortest simulated step among those whose simulated peak stays within the limit.
 *
 * @return EK_OK with a status (infeasible and out-of-time are results); EK_ERR_INPUT for options that contradict the
 *         model (fewer layers than chunks need); EK_ERR_MEMORY.
 * The same inputs, options and seed give the same plan, whatever the number of threads, unless the clock ended it.
 */
ek_status ek_balance(const ek_layers *layers, const ek_order *order, const ek_balance_options *options,
                     ek_balance_result *out, ek_error *err);
void ek_balance_result_clear(ek_balance_result *result);

#ifdef __cplusplus
}
#endif
#endif
