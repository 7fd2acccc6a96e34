/* bench/bench.h - shared parts of the bench: the report, models, runs of the balancer, and the ledger of every step
 * found and every bound claimed. A new part is a function here and a line in the table of bench.c. */
#ifndef EK_BENCH_BENCH_H
#define EK_BENCH_BENCH_H

#include "cases.h"
#include "evenkeel/balance.h"

/** One line, or several, to the terminal and to the report. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Unless `fine`: report the formatted text on stderr as not true, and let the bench fail. */
void bench_hold(bool fine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print the message and end with exit code 2. */
void bench_give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** Seconds of a monotonic clock. */
double bench_now(void);

/** Run a function in a separate process, so that its memory is measured separately; returns its result of `size`
 * bytes. */
void bench_apart(void (*work)(const char *path, void *result), const char *path, void *result, size_t size);
/** The most memory that this process had resident, in units of 2^20 bytes. */
double bench_peak_mb(void);

/* ---- models ---- */

/** A model with its body kinds in place; borrow it, never clear it. */
typedef struct bench_model {
    ek_layer body[2];
    ek_layers layers;
} bench_model;

/**
 * A model of any size in the range of the Llama-175B case, all five recompute kinds modelled. Each figure is drawn
 * around that case's, since round figures make ties that a profile does not have; the same seed gives the same model.
 *
 * @param n_body  1, or 2: a quarter of the layers, then heavier ones
 */
void bench_model_draw(bench_model *model, int n_body, int n_layers, uint64_t seed);

/* ---- runs ---- */

/** A call of ek_balance(). */
typedef struct bench_run {
    const char *name; /**< of the case: all runs of a name have the same plans to choose from */
    const ek_layers *layers;
    const ek_schedule *schedule;
    ek_shape shape;
    ek_balance_options options;
} bench_run;

/** Default options, with the default schedule of the chunks. */
void bench_run_init(bench_run *run, const char *name, const ek_layers *layers, ek_shape shape, int less_memory);

/** The balancing case `index` of cases.h. @param model  filled; borrowed by the run */
void bench_run_published(bench_run *run, int index, case_model *model);

/** Its result. */
typedef struct bench_answer {
    ek_status failed; /**< and then only `error` */
    ek_error error;
    ek_balance_status status;
    double step_time, lower_bound;
    double claimed_bound;     /**< highest that was reported on the way or at the end, before any clean-up */
    double gap, early_gap;    /**< at the end, and at BENCH_EARLY or at the end, whichever is first */
    double seconds;           /**< wall clock, building the order included */
    double smallest_limit_mb; /**< when infeasible */
    double peak_mb;           /**< of the plan, simulated again */
    double memory_mb;         /**< of the process, the most it held */
} bench_answer;

#define BENCH_EARLY 10.0 /* seconds */

/**
 * Run it in a separate process, so that its memory is measured separately. The plan is simulated again to check that
 * its step is the claimed one and its peak within the limit, and both step and bound go into the ledger.
 *
 * @param name  of the solver, for the ledger
 */
bench_answer bench_solve(const bench_run *run, const char *who);

/** The smallest limit that has a plan, from an infeasible answer. */
double bench_smallest_limit(const bench_run *run);

/* ---- ledger ---- */

/**
 * A solver found a plan for the case, or claims that none is shorter.
 * @param step   INFINITY for none
 * @param bound  0 for none
 */
void bench_ledger_add(const char *name, const char *who, double step, double bound);

/* ---- parts ---- */

/* `seconds` is the time limit of a run, where the part has one to choose. */
void bench_simulation(double seconds);
void bench_balance(double seconds);
void bench_linear(double seconds);
void bench_gaps(double seconds);
void bench_stages(double seconds);
void bench_growth(double seconds);
void bench_way(double seconds);
void bench_trace(double seconds);
void bench_speed(double seconds);
void bench_index(double seconds);
void bench_ask(double seconds);
void bench_ir(double seconds);
void bench_memory(double seconds);
void bench_estimate(double seconds);
void bench_layouts(double seconds);
void bench_lint(double seconds);
void bench_faults(double seconds);
void bench_frames(double seconds);
void bench_bounds(double seconds);

#endif
