/* evenkeel/layout_advice.h - compares layouts: why one is longer than another, groups that the prediction cannot
 * distinguish, the cost of the guides' rules of thumb, curves over devices, memory and batch, trial runs, and switches
 * that are not part of a layout (docs/plan.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYOUT_ADVICE_H
#define EVENKEEL_LAYOUT_ADVICE_H

#include "evenkeel/decls.h"
#include "evenkeel/layout.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/* ---- differences of layouts ---- */

/** The difference of two steps. */
typedef struct ek_layout_difference {
    double seconds;               /**< a - b */
    double share;                 /**< of b's step: 0.061 is 6.1 % longer */
    double part[EK_N_STEP_PARTS]; /**< difference of each part, as a share of b's step; they add up to `share` */
} ek_layout_difference;

/**
 * The difference of two steps by part:
 *     part[i] = (a's seconds[i] - b's seconds[i]) / b's seconds
 * of the slowest stage of each; its parts add up to its step. O(parts).
 */
ek_layout_difference ek_layout_difference_of(const ek_step *a, const ek_step *b);
/** "6.1 % longer: exposed tensor parallel +9.4, pipeline bubble -3.3": the largest parts first, in percent of b's step
 *  and rounded so that the printed ones add up to the printed difference; parts below 0.05 are left out, or added up as
 *  "others". @return text */
const char *ek_layout_difference_words(const ek_layout_difference *difference, char *text, size_t size);

/** Result for a requested layout. */
typedef enum ek_layout_verdict {
    EK_VERDICT_PLAN,    /**< it has a plan */
    EK_VERDICT_ILLEGAL, /**< the framework does not run it; the reason is in `why` */
    EK_VERDICT_MEMORY,  /**< no plan of it fits with any recomputation */
    EK_VERDICT_OPEN,    /**< the time was over before a plan was found */
} ek_layout_verdict;
enum { EK_N_LAYOUT_VERDICTS = 4 };
extern const char *const *const ek_layout_verdict_name; /**< "plan", "illegal", "memory", "open" */

/** The answer. */
typedef struct ek_layout_explanation {
    ek_layout_verdict verdict;
    ek_layout_plan plan;             /**< of EK_VERDICT_PLAN: the best of the requested layouts */
    bool proved;                     /**< no other of them has a shorter plan */
    bool has_difference;             /**< there was a plan to compare with */
    ek_layout_difference difference; /**< of `plan` to that */
    ek_layout closest;               /**< of EK_VERDICT_MEMORY: needs least above the limit */
    double least_mb, limit_mb;       /**< its least peak, and the limit */
    char why[EK_ESTIMATE_TEXT];      /**< of EK_VERDICT_ILLEGAL: the framework's check; else "" */
    char words[1024];                /**< all of it as a sentence */
} ek_layout_explanation;

/**
 * Explain why a layout is not the best. Axes that are not fixed are searched, so that the best layout with the fixed
 * ones is compared: `options` are ek_layout_search()'s, with the requested axes as their ranges.
 *
 * @param against  a plan to compare with, the best one; NULL: none
 * @param out      ek_layout_explanation_clear() frees it; untouched on failure. Borrows job and device
 * @return EK_OK, also where the framework does not run the layout; EK_ERR_INPUT where the device lacks a figure or
 *         options are out of range; EK_ERR_SYSTEM, EK_ERR_MEMORY. Cost: ek_layout_search() with these ranges.
 */
ek_status ek_layout_explain(const ek_job *job, const ek_device *device, const ek_layout_options *options,
                            const ek_layout_plan *against, ek_layout_explanation *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_explanation_clear(ek_layout_explanation *explanation);

/* ---- layouts that the prediction cannot distinguish ---- */

/** The least error of a difference, as a share of the step: steps of a run repeat no better. Assumed. */
#define EK_LAYOUT_LEAST_ERROR 0.002

/**
 * The standard error of differences of plans' steps. The errors of a device's constants are the same for all layouts,
 * so that equal parts of two steps cancel:
 *     error = min(step_a, step_b) sqrt(sum over constants (move_a - move_b)^2 + (rest_a + rest_b) apart^2)
 * move: change of the step's logarithm by one standard error of the constant; rest: the variance of the step
 * (ek_step.standard_error) beyond the sum of move^2; apart: the half sum over parts of |share_a - share_b| of the step.
 * At least EK_LAYOUT_LEAST_ERROR of the step.
 *
 * @param plan  [n] of one job
 * @param out   [n][n] seconds, symmetric
 * @return EK_OK; EK_ERR_INPUT, EK_ERR_MEMORY. Cost: about 200 ek_cost_step() of each plan, and O(n^2).
 */
ek_status ek_layout_difference_errors(const ek_layout_plan *plan, int n, const ek_device *device, double *out,
                                      ek_error *err);
/**
 * Number the groups of a result's plans: a group's first is the shortest plan of no group before it, and plans that are
 * longer by no more than the error of the difference to it are of its group.
 *
 * @return as ek_layout_difference_errors(). Cost: that.
 */
ek_status ek_layout_group_plans(ek_layout_result *result, ek_error *err);

/* ---- rules of thumb ---- */

/** A rule of the tuning guides as a layout. */
typedef struct ek_layout_thumb {
    const char *name;   /**< "data", "pipeline", "tensor", "context" */
    const char *text;   /**< the rule, a sentence */
    const char *source; /**< source of the rule */
    bool applies;       /**< to a model and a sequence of this size */
    bool found;         /**< a layout of the rule fits: `plan` */
    ek_layout layout;   /**< of the rule; where none fits, the last that was tried; data 0: none is legal */
    ek_layout_plan plan;
    bool has_difference;             /**< there is a best plan to compare with */
    ek_layout_difference difference; /**< of `plan` to the best */
} ek_layout_thumb;
enum { EK_N_LAYOUT_THUMBS = 4 };

/**
 * The cost of the guides' rules of thumb against the best plan. By parameters of the model: below 10 billion only data
 * parallel, below 20 pipeline from 2 stages on, from there tensor parallel ranks up to 8 inside a node, and then
 * pipeline; from 32768 tokens context parallel from 2 ranks on. The least degree that fits is taken, optimizer states
 * are shared by all ranks, sequence parallelism goes with tensor parallelism, each layout is balanced exactly
 * (ek_layout_balance()). Rules that do not apply are tried, too.
 *
 * @param out  [EK_N_LAYOUT_THUMBS]; ek_layout_thumbs_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_SYSTEM, EK_ERR_MEMORY as ek_layout_balance(). Cost: for each rule an ek_layout_bound_of() for
 *         each degree up to the least that fits, and an ek_layout_balance() where the bound fits.
 */
ek_status ek_layout_thumbs(const ek_layout_result *result, ek_layout_thumb *out, ek_error *err);
/**
 * Free the contents of the rules of thumb and zero them. Accepts zeroed structs.
 *
 * @param thumb  [EK_N_LAYOUT_THUMBS]
 */
void ek_layout_thumbs_clear(ek_layout_thumb *thumb);

/* ---- sweeps ---- */

/** The varied quantity. */
typedef enum ek_layout_sweep_of { EK_SWEEP_DEVICES, EK_SWEEP_MEMORY, EK_SWEEP_BATCH } ek_layout_sweep_of;
enum { EK_N_LAYOUT_SWEEPS = 3 };
extern const char *const *const ek_layout_sweep_name; /**< "devices", "memory", "global-batch" */

/** Least linearity that the tuning guides call good. */
#define EK_LINEARITY_MARK 0.8

/** The best plan at one value. */
typedef struct ek_layout_sweep_point {
    double value;
    int n_devices;
    int64_t global_batch;
    bool found;
    ek_layout_plan plan;
    bool proved;
    double gap;          /**< as ek_layout_result has them */
    double least_mb;     /**< the least memory of any layout, where nothing fits; 0: no legal layout */
    double step_seconds; /**< 0: nothing is found, as: */
    double tokens_per_second_per_device;
    double linearity; /**< of that to the first value's that has a plan; NAN */
} ek_layout_sweep_point;

/** A curve. */
typedef struct ek_layout_sweep {
    ek_layout_sweep_of what;
    int n;
    ek_layout_sweep_point *point; /**< [n] in the order of the values */
    int last_linear;              /**< the last before linearity falls below EK_LINEARITY_MARK; -1: none */
    int cheapest;                 /**< fewest devices with a step that is not longer than the target; -1: none */
} ek_layout_sweep;

typedef struct ek_layout_sweep_input {
    ek_layout_sweep_of what;
    const double *value; /**< [n] devices, MB, sequences; ascending */
    int n;
    bool batch_grows;          /**< with the devices, from the first value on; else it stays */
    double wanted_seconds;     /**< of a step; 0: none */
    ek_layout_options options; /**< of each search; n_best is 1, and all of them share the time limit */
    void (*done)(void *user, int which, const ek_layout_sweep_point *point); /**< after each; NULL */
    void *user;
} ek_layout_sweep_input;

/**
 * least, 2 least, 4 least, ... up to most; with a step least, least + step, ... O(max).
 *
 * @param least  above 0
 * @param step   0: doubling
 * @param out    [max]
 * @return how many
 */
int ek_layout_sweep_values(double least, double most, double step, int max, double *out);

/**
 * A search at each value.
 *     linearity = (tokens/s of a device) / (tokens/s of a device at the first value with a plan)
 *
 * @param out  ek_layout_sweep_clear() frees it; untouched on failure. Borrows job and device
 * @return EK_OK, also where values have no plan; EK_ERR_INPUT for a value out of range, or where the device lacks a
 *         figure; EK_ERR_SYSTEM, EK_ERR_MEMORY. Cost: an ek_layout_search() for each value, within the options' time
 *         limit together.
 */
ek_status ek_layout_sweep_run(const ek_job *job, const ek_device *device, const ek_layout_sweep_input *input,
                              ek_layout_sweep *out, ek_error *err);
/**
 * Why the throughput of a device at value i differs from that at the first value with a plan: the difference of the
 * device time of a token, by part of the step.
 *     x_i = step seconds x devices / tokens of a step;   share = x_i / x_first - 1 = 1 / linearity - 1
 *     part[k] = (x_i of part k - x_first of part k) / x_first;   they add up to share
 *     seconds = share x the first value's step
 *
 * @param i    0 <= i < sweep->n
 * @param out  untouched where the result is false
 * @return whether value i and one before it have a plan. O(values + parts).
 */
bool ek_layout_sweep_difference(const ek_layout_sweep *sweep, int i, ek_layout_difference *out);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_sweep_clear(ek_layout_sweep *sweep);

/* ---- which runs to try ---- */

enum { EK_MAX_LAYOUT_TRIALS = 16 };

/** A run to measure. */
typedef struct ek_layout_trial {
    int plan;      /**< index of its plan */
    double error;  /**< standard error of the logarithm of its predicted step, by the device's constants */
    double chance; /**< that it is the best of the plans, before any run */
    double loss;   /**< remaining mean loss once this run and those before it are measured: the step of the plan that is
                        then chosen over the best one's, minus 1 */
} ek_layout_trial;

typedef struct ek_layout_trials {
    int n;
    ek_layout_trial trial[EK_MAX_LAYOUT_TRIALS]; /**< [n] the most useful first */
    double loss;                                 /**< before any run, in the mean */
} ek_layout_trials;

/**
 * Choose the trial runs that identify the best plan. Steps are normal with the covariance from the errors of the
 * device's constants; the value of a set of runs is the mean loss of the plan chosen after measuring them. Runs are
 * added one by one, each with the least remaining loss (a knowledge gradient; Frazier, Powell, Dayanik 2009, section
 * 3).
 *
 * @param plan      [n] of one job, as many as could be the best: more than the ten that are shown
 * @param n_trials  1 to EK_MAX_LAYOUT_TRIALS; there are at most n
 * @return EK_OK; EK_ERR_INPUT where n or n_trials is out of range; EK_ERR_MEMORY. Cost: about 200 ek_cost_step() of
 *         each plan, and 1000 n^2 n_trials^2 operations.
 */
ek_status ek_layout_choose_trials(const ek_layout_plan *plan, int n, const ek_device *device, int n_trials,
                                  ek_layout_trials *out, ek_error *err);

/**
 * The plan to take once trials were measured and the device calibrated to them: the new best plan where its step is
 * below that of the shortest run by more than the error of the difference, else that run. The difference is the
 * calibrated device's; where the calibration moved a constant by more than twice its assumed error before a fit, it is
 * the estimate of the plan from the runs in the linear model of the uncalibrated device (ek_layout_choose_trials()).
 *
 * @param again    best plan of a search with the calibrated device
 * @param tried    [n] jobs that were run, 1 to EK_MAX_LAYOUT_TRIALS
 * @param seconds  [n] their measured steps
 * @param start    the device that the calibration began with; device: the calibrated one
 * @param taken    out: index of the run; -1: `again`
 * @return EK_OK; EK_ERR_INPUT where n is out of range or a step cannot be predicted; EK_ERR_MEMORY. Cost: about 400
 *         ek_cost_step().
 */
ek_status ek_layout_take_after_trials(const ek_job *again, const ek_job *const *tried, const double *seconds, int n,
                                      const ek_device *start, const ek_device *device, int *taken, ek_error *err);

/** A run of a table that is one of the job's layouts. */
typedef struct ek_layout_try {
    const ek_measured_run *run; /**< borrowed */
    double predicted;           /**< its step on the calibrated device */
} ek_layout_try;

/** Trial runs and the chosen plan. */
typedef struct ek_layout_tries {
    int n, n_others; /**< runs of the job; others of the table, which say nothing of its layouts */
    ek_layout_try run[EK_MAX_LAYOUT_TRIALS]; /**< [n] the shortest first */
    int taken;                               /**< index of the run; -1: the first plan */
} ek_layout_tries;

/**
 * ek_layout_take_after_trials() for the first plan of a search and a table of runs: those of the job's model on as many
 * devices, with as many sequences of as many tokens; where there are more than EK_MAX_LAYOUT_TRIALS, the shortest.
 *
 * @param result  with a plan, of a search with the calibrated device
 * @param start   the device that the calibration began with
 * @return EK_OK; EK_ERR_INPUT where the table has no such run, EK_ERR_MEMORY. Cost: ek_layout_take_after_trials() and
 *         an ek_cost_step() for each run.
 */
ek_status ek_layout_weigh_tries(const ek_layout_result *result, const ek_measured_runs *runs, const ek_device *start,
                                ek_layout_tries *out, ek_error *err);

/* ---- the way from today's layout ---- */

/** Kinds of changes between a job and a plan of it. */
typedef enum ek_layout_method {
    EK_METHOD_DEGREES, /**< dp, tp, cp, ep, pp, shard, sequence parallelism */
    EK_METHOD_BATCH,   /**< sequences of a micro-batch, copies */
    EK_METHOD_CHUNKS,  /**< of a stage, and the schedule */
    EK_METHOD_FINE,
    EK_METHOD_TABLE,
    EK_METHOD_SUMS,
    EK_METHOD_INPUTS,    /**< cut over the data-parallel ranks, no longer read whole by each device */
    EK_METHOD_LAYERS,    /**< of the stages */
    EK_METHOD_RECOMPUTE, /**< fitted to each stage's memory */
} ek_layout_method;
enum { EK_N_LAYOUT_METHODS = 9 };
/** "degrees", "micro_batch", ... */
extern const char *const *const ek_layout_method_name;

/** A change. */
typedef struct ek_layout_way_step {
    unsigned methods; /**< a bit for each; several where none of the rest shortens the step by itself */
    ek_layout layout; /**< with it and those before it, as: */
    bool fits;
    double seconds, peak_mb; /**< of the step; of the fullest stage */
    char settings[4096]; /**< to paste into the file with the settings before it; "": the framework has no key for it */
} ek_layout_way_step;

typedef struct ek_layout_way {
    bool fits; /**< today's */
    double seconds, peak_mb;
    int n; /**< 0: today's job is the plan */
    ek_layout_way_step step[EK_N_LAYOUT_METHODS];
} ek_layout_way;

/**
 * The changes that lead from today's job to a plan, each the one after which the step is shortest among those that fit
 * (where none fits, the peak smallest). Layers and recomputation stay as close to today's as possible until they are
 * changed: layers are spread evenly where stages or chunks change, and the same share of each chunk is recomputed. Each
 * state is priced by ek_cost_step() and ek_memory_predict(); the last is the plan. Where no single change shortens the
 * step by 0.05 %, the best of two or three together is taken, and where those do not either, all remaining changes are
 * one.
 *
 * @param to          a plan of the result
 * @param time_limit  seconds; after them, the remaining changes are one
 * @return EK_OK; EK_ERR_INPUT where the result has no `today`, or it has another number of sequences; EK_ERR_MEMORY.
 *         Cost: at most some hundred balances of a layout, within time_limit.
 */
ek_status ek_layout_find_way(const ek_layout_result *result, const ek_layout_plan *to, double time_limit,
                             ek_layout_way *out, ek_error *err);

EK_END_DECLS
#endif
