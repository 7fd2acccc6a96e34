/* evenkeel/diagnose.h - finds the bottlenecks of a training run from any of its files and ranks them by the gain of a
 * change.
 *
 * The order of the guide: operators, communication, memory and recomputation, data, bubbles, load balance. A bottleneck
 * is one file src/diagnose/bottleneck_NAME.c and one line in EK__BOTTLENECK_LIST.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_DIAGNOSE_H
#define EVENKEEL_DIAGNOSE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Data of a run; each may be NULL (or 0). */
typedef struct ek_run_input {
    const ek_trace_run *trace;
    const ek_job *job;
    const ek_device *device;       /**< for limits and modelled times */
    const ek_collection *dry_runs; /**< peaks of stages from logs */
    const ek_ir_report *const *ir; /**< [n_ir] */
    int n_ir;
    const ek_train_log *log;
} ek_run_input;

/** The guide's order. */
typedef enum ek_diagnose_topic {
    EK_TOPIC_OPERATORS,
    EK_TOPIC_COMMUNICATION,
    EK_TOPIC_MEMORY,
    EK_TOPIC_INPUT,
    EK_TOPIC_HOST,
    EK_TOPIC_BUBBLE,
    EK_TOPIC_BALANCE,
} ek_diagnose_topic;
enum { EK_N_TOPICS = 7 };
/** "operators", "communication", "memory and recomputation", "data loading", "host", "pipeline bubbles", "load
 * balance". */
extern const char *const *const ek_topic_name;

/** The basis of a figure. */
typedef enum ek_basis { EK_BASIS_MEASURED, EK_BASIS_DERIVED, EK_BASIS_SIMULATED, EK_BASIS_ASSUMED } ek_basis;
extern const char *const *const ek_basis_name; /**< "measured", "derived", "simulated", "assumed" */

enum { EK_MAX_EVIDENCE = 8 };

/** A figure and where it is from. */
typedef struct ek_evidence {
    const char *text; /**< "exposed AllReduce 41.2 ms of every step, in 32 collectives" */
    const char *file; /**< NULL */
    const char *step; /**< of the trace or log; NULL: of all that count */
    int rank;         /**< -1 */
} ek_evidence;

typedef struct ek_bottleneck {
    const char *id; /**< "exposed-communication" */
    ek_diagnose_topic topic;
    const char *title; /**< one sentence, with its share */
    int n_evidence;
    ek_evidence evidence[EK_MAX_EVIDENCE];
    double cost_seconds;  /**< of a step, now; NAN: not in time (memory) */
    double share;         /**< of the step; NAN */
    const char *setting;  /**< the recommended settings, in the syntax of the run's files; one or more lines */
    const char *change;   /**< the same in a sentence */
    double gain_seconds;  /**< of a step, predicted with that change; NAN: cannot be said */
    double gain_share;    /**< of the step */
    ek_basis basis;       /**< of the gain */
    const char *rests_on; /**< a sentence: how the gain was worked out */
    const char *caution;  /**< possible costs elsewhere (memory in MB, convergence); NULL */
    double peak_mb;       /**< largest peak of a stage with the setting, as ek_memory_predict() has it of the job with
                               it; 0: not predicted */
} ek_bottleneck;

/** A check that was skipped. */
typedef struct ek_not_looked_at {
    const char *what;  /**< "recomputation in the graph" */
    const char *needs; /**< "IR of the compiled graph" */
    const char *how;   /**< "export MS_DEV_SAVE_GRAPHS=1, then give the last validate graph of rank_0" */
} ek_not_looked_at;

typedef struct ek_diagnosis {
    double step_seconds;     /**< denominator of the shares; NAN: not measured */
    const char *step_source; /**< "median of 4 steps of the trace", ... */
    int n_bottlenecks, n_not_looked_at;
    ek_bottleneck *bottleneck; /**< [n_bottlenecks]: a stage over its memory limit first, since the run cannot work;
                                    then by gain, largest first; those with an unknown gain come last, by cost */
    ek_not_looked_at *not_looked_at; /**< [n_not_looked_at], in the guide's order */
    int n_notes;
    const char **note; /**< inputs that contradict each other or could not be used */
    struct ek__pool *pool;
} ek_diagnosis;

typedef struct ek_diagnose_options {
    double least_share; /**< of the step, below which nothing is reported; 0: 0.01 */
    double seconds;     /**< for the balancer; 0: 5 */
    int n_threads;
    const ek_interrupt *interrupt; /**< ends the search of better plans: the diagnosis is then made with the plans found
                                        so far; may be NULL */
} ek_diagnose_options;

/**
 * Diagnose. Deterministic for the same input unless the balancer runs out of time.
 *
 * @param options  NULL: the usual ones
 * @param out      ek_diagnosis_clear() frees it; untouched on failure. It borrows from `input`
 * @return EK_OK; EK_ERR_INPUT when nothing was given; EK_ERR_SYSTEM where the balancer can start no thread;
 *         EK_ERR_MEMORY. O(results of the readers), and where there is a job the predictions and balances that its
 *         remedies are priced by, each at most options.seconds long.
 */
ek_status ek_diagnose(const ek_run_input *input, const ek_diagnose_options *options, ek_diagnosis *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_diagnosis_clear(ek_diagnosis *diagnosis);

EK_END_DECLS
#endif
