/* evenkeel/memory.h - predicts the peak memory of every pipeline stage from a job, without a dry run.
 *
 * docs/models.md has the model. In short: each kind of layer is a graph of operators; the tensors saved for its
 * backward pass follow from the inputs of each operator's gradient and from recomputation; running the graph gives the
 * order in which tensors come and go; the schedule's order of blocks puts the layers together, and the most bytes that
 * are ever alive at once are the peak. An allocator then places every tensor, for the figure with fragments.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_MEMORY_H
#define EVENKEEL_MEMORY_H

#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/schedule.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Kinds of bytes alive at a stage's peak. */
typedef enum ek_memory_part {
    EK_PART_PARAMETERS,  /**< weights, and gathered ones that live for the whole step */
    EK_PART_GRADIENTS,   /**< buffers that gradients are summed in, and gradients of weights stored to the end */
    EK_PART_OPTIMIZER,   /**< states and master weights */
    EK_PART_ACTIVATIONS, /**< saved for backward passes */
    EK_PART_TRANSIENT,   /**< of the operator that runs at the peak, and its surroundings: recomputed tensors,
                              gradients of activations, cast and gathered weights */
    EK_PART_OTHER,       /**< constants, masks, workspace */
} ek_memory_part;
enum { EK_N_MEMORY_PARTS = 6 };
/** parameters, gradients, optimizer, activations, transient, other. */
extern const char *const *const ek_memory_part_name;

enum { EK_N_TOP = 10 };

/** A tensor alive at the peak, all its copies together. */
typedef struct ek_memory_tensor {
    char name[96]; /**< "feed_forward.w1.matmul output" */
    ek_memory_part part;
    int64_t bytes; /**< of one */
    int count;     /**< layers times micro-batches */
} ek_memory_tensor;

/** One stage. Bytes are whole; divided by 2^20 and cut they are the MB that logs print. */
typedef struct ek_memory_stage {
    int n_layers;
    int64_t used_peak;               /**< live bytes, each tensor rounded up as the allocator does */
    int64_t actual_peak;             /**< after rules.allocation has placed them */
    int64_t part[EK_N_MEMORY_PARTS]; /**< at the used peak; they add up to it */
    double alive; /**< micro-batches with activations alive at the peak, of the whole stage: the (chunk,
                       micro-batch) pairs, the running one included, over v */
    /** Where the peak is. */
    ek_block block;
    int layer; /**< of the chunk; -1 in the embedding, n_layers of the chunk in the head */
    char operator_name[96];
    int n_top;
    ek_memory_tensor top[EK_N_TOP]; /**< the largest by bytes times count */
} ek_memory_stage;

/** Memory of one kind of layer of a stage's model. */
typedef struct ek_memory_layer {
    char name[EK_NAME_SIZE];           /**< "decoder", "decoder with experts", "prediction" */
    int64_t parameter_bytes;           /**< static bytes of one layer */
    int64_t kept[EK_N_RECOMPUTE];      /**< bytes saved for one micro-batch, by kind, with the job's patterns */
    int64_t transient[EK_N_RECOMPUTE]; /**< the most that its backward pass holds in addition to the tensors saved at
                                            its start */
} ek_memory_layer;

/** Of bytes: nothing is known of them. */
#define EK_MEMORY_UNKNOWN INT64_MIN

typedef struct ek_memory {
    int n_stages;
    ek_memory_stage *stage; /**< [n_stages] */
    int64_t limit;          /**< bytes; 0: none is known */
    bool ended_early;       /**< options.over() ended it: some actual peaks are 0, and fits is false */
    bool fits;              /**< every actual peak within the limit; true without a limit */
    int64_t margin;         /**< limit minus the largest actual peak; EK_MEMORY_UNKNOWN without a limit */
    int fullest;            /**< stage of the largest actual peak */
    int n_layer_kinds;
    ek_memory_layer layer_kind[4];
} ek_memory;

typedef struct ek_memory_options {
    bool without_allocation;    /**< only the used peak: actual_peak is 0, and the limit applies to the used one */
    bool without_top;           /**< no list of tensors, for searches */
    const int64_t *actual_peak; /**< [n_stages] from a prediction of the same job: nothing is placed. NULL */
    bool (*over)(void *user);   /**< called while allocations are replayed, every few microseconds; true ends them:
                                     ek_memory.ended_early. NULL: never */
    void *user;
} ek_memory_options;

/**
 * Predict.
 *
 * @param job      passes ek_job_check()
 * @param options  may be NULL
 * @return EK_OK; EK_ERR_INPUT where the schedule admits no order for the job; EK_ERR_MEMORY. O(kinds of layers x
 *         operators + blocks), and with allocation O(layers x micro-batches x operators x log(free buffers)).
 *         Thread-safe.
 */
ek_status ek_memory_predict(const ek_job *job, const ek_memory_options *options, ek_memory *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_memory_clear(ek_memory *memory);

/** A rule without a source, and a value of it that reverses the answer to "does it fit?". */
typedef struct ek_memory_assumption {
    const char *rule;
    char value[32], other[32]; /**< as predicted, and the alternative */
    bool fits;                 /**< with the alternative: the opposite of ek_memory.fits */
    int stage; /**< stage with a measured peak that decides between the two: the fullest one of the prediction that does
                    not fit */
    double mb, other_mb; /**< its predicted peak with each, MB of 2^20 bytes */
} ek_memory_assumption;

enum { EK_MAX_ASSUMPTIONS = 32 };

/**
 * On which assumed rules does the verdict depend? Each assumed rule that neither the file nor the user sets is set to
 * each of its alternatives (ek_rule_alternatives), one at a time, and the job is predicted again.
 *
 * @param memory  the job's prediction, with allocation
 * @param out     [EK_MAX_ASSUMPTIONS], of which the first n are written
 * @param n       out: how many change the verdict; 0 without a limit. In the order of the rules, for each the
 *                alternatives nearest to its value first
 * @return as ek_memory_predict(). Cost: that for each effective alternative of the assumed rules, about ten.
 */
ek_status ek_memory_assumptions(const ek_job *job, const ek_memory *memory,
                                ek_memory_assumption out[EK_MAX_ASSUMPTIONS], int *n, ek_error *err);

/**
 * Warn about settings of a job that have no effect or contradict each other: a pattern that names no operator, select
 * recomputation on layers that are recomputed whole, `mul` without the reshapes around it, a recomputed cast that keeps
 * the larger tensor, fine-grained interleave without sequence parallelism, a large table that the optimizer does not
 * shard, counts above the number of layers. The file's reader warns about properties of the file (a vocabulary that
 * does not divide, ignored keys).
 *
 * @return EK_OK, warnings or not; EK_ERR_MEMORY. O(patterns x operators).
 */
ek_status ek_memory_lint(const ek_job *job, const ek_listener *listener, ek_error *err);

/* ---- over the step ---- */

/** A stage's memory at one block of its order. */
typedef struct ek_memory_moment {
    ek_block block;
    int64_t peak;  /**< the most while it runs: used bytes, as ek_memory_stage.used_peak */
    int64_t after; /**< when it is over */
} ek_memory_moment;

/** Every stage's memory, block by block in running order, without times. */
typedef struct ek_memory_course {
    int n_stages;
    size_t n_blocks;          /**< of each stage */
    int64_t *whole_step;      /**< [n_stages] memory before the first block */
    ek_memory_moment *moment; /**< [n_stages][n_blocks]; a stage's largest peak is its used peak */
} ek_memory_course;

/**
 * Compute every stage's memory, block by block.
 *
 * @param job  passes ek_job_check()
 * @param out  ek_memory_course_clear() frees it; untouched on failure
 * @return as ek_memory_predict(). O(kinds of layers x operators + blocks), memory O(blocks).
 */
ek_status ek_memory_course_of(const ek_job *job, ek_memory_course *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_memory_course_clear(ek_memory_course *course);

/* ---- measures ---- */

/** A change of settings and its predicted effect. */
typedef struct ek_mitigation {
    char name[96];      /**< "recompute SiLU and Mul in every layer" */
    char setting[4096]; /**< to paste: "recompute_config.recompute: True" */
    bool possible;      /**< false: `why` has the reason */
    bool fits;          /**< with it, and nothing else changed */
    char why[160];
    double saved_mb;    /**< of the largest actual peak: before minus after; may be negative */
    double after_mb;    /**< the largest actual peak with it */
    double step_change; /**< step time with it over today's, minus 1; NAN when not known: ek_cost_step() of both */
    int effort; /**< effort of the change: 0 a switch, 1 other lists or another split of the layers, 2 another schedule
                     or micro-batch, 3 other degrees, 4 cutting sequences that are not long */
    /** Where it makes room and the job recomputes: the setting with the lists of the least recomputation that then
     * fits, to paste; empty where that is not less, or was not searched. */
    char relieved[4096];
    double relieved_change, relieved_mb; /**< as step_change and after_mb, with these lists too; NAN without them */
} ek_mitigation;

enum { EK_MAX_MEASURES = 32 };

struct ek_device;
/**
 * A job without its own limit may use all memory of its device: limit_mb = 1024 memory_gib. Every command with a device
 * uses this limit, since an allocator that reaches it returns its cached blocks.
 *
 * @return was the limit taken from the device? No where the job has one or the device's memory is unknown
 */
bool ek_memory_limit_by_device(ek_job *job, const struct ek_device *device);

/**
 * The saving of each available measure, largest first; those that are not possible or have no effect come last.
 *
 * @param device  for step times (evenkeel/cost.h); NULL: none
 * @param n       out: how many
 * @return EK_OK; EK_ERR_INPUT where the job cannot be predicted; EK_ERR_MEMORY. Cost: an
 *         ek_memory_predict() for each measure, with a device an ek_cost_step(), and for those that make room a search
 *         as of ek_memory_least_recompute().
 */
ek_status ek_memory_mitigations(const ek_job *job, const struct ek_device *device, ek_mitigation out[EK_MAX_MEASURES],
                                int *n, ek_error *err);

/**
 * Measures one after the other until the job fits, cheap ones first: switches and other lists or splits (effort 0 and
 * 1) before the others, in order of effort; of those that make it fit the one with the shortest step; while none does,
 * the one that saves most, at least a tenth of the excess. Measures that turn out unnecessary are removed again.
 *
 * @param out  [EK_MAX_MEASURES] in the order they are taken. after_mb is with all before it too, saved_mb from the one
 *             before, step_change over today
 * @param n    out: how many; 0 where the job fits, or no limit is known. With the last one the job fits, or no other
 *   measure saves memory
 * @return EK_OK, EK_ERR_INPUT, EK_ERR_MEMORY. Cost: ek_memory_mitigations() for each of them, without its search for
 * less recomputation, and n^2 predictions to remove unnecessary measures.
 */
ek_status ek_memory_measures_to_fit(const ek_job *job, const struct ek_device *device,
                                    ek_mitigation out[EK_MAX_MEASURES], int *n, ek_error *err);

/* ---- the least recomputation ---- */

/**
 * The shortest backward passes that memory admits with the layers in place: for each stage, of two kinds of
 * recomputation at a time (the first k layers of one, the others of the other kind) the least k with which
 * ek_memory_predict() of the job with that plan (ek_job_with()) is within the limit, by bisection; of all pairs the one
 * with the shortest time. The optimum of the relaxed problem (one memory limit, one number of layers) has two kinds. A
 * stage's chunks take k from the first on. Where a framework takes one rule for all chunks (Megatron), or stages share
 * chunks, all stages have the same k.
 *
 * @param change  its plan places the layers, in its schedule and with its micro-batches; its lists are not read
 * @param layers  backward times by kind, and the available kinds
 * @param plan    out: the plan, ek_plan_clear() frees it; empty when no recomputation is within the limit
 * @param peak_mb out: its largest actual peak; NAN when empty
 * @return EK_OK; EK_ERR_INPUT for a model that ek_layers_check() refuses; EK_ERR_MEMORY. Cost: at most
 *         9 (log2(layers of a stage) + 3) + 1 ek_memory_predict().
 */
ek_status ek_memory_least_recompute(const ek_job *job, const ek_job_change *change, const ek_layers *layers,
                                    double limit_mb, ek_plan *plan, double *peak_mb, ek_error *err);

/**
 * Largest actual peak of every stage of a job with a plan's settings.
 *
 * @param change   with a plan
 * @param peak_mb  [n_stages] of that plan, MB; INFINITY throughout where the framework does not run it
 * @return EK_OK, EK_ERR_MEMORY. Cost: ek_memory_predict().
 */
ek_status ek_memory_peaks_with(const ek_job *job, const ek_job_change *change, double *peak_mb, ek_error *err);

/* ---- calibration ---- */

/** A measured peak. */
typedef struct ek_memory_peak {
    int stage;
    double mb;
    ek_origin origin;
} ek_memory_peak;

/** Error of a prediction against measured peaks, relative to them. */
typedef struct ek_memory_error {
    double mean, worst; /**< of absolute values, 0.02 is 2 % */
    double bias;        /**< mean of signed values: > 0 when the prediction is high */
    int worst_stage;
} ek_memory_error;

/** A calibration. */
typedef struct ek_memory_fit_result {
    ek_rules rules;      /**< with the fitted constant_mb, activation_scale and transient_scale */
    int n_knobs;         /**< of them that were fitted */
    const char *knob[4]; /**< [n_knobs] their names */
    double value[4];
    ek_memory_error before, after; /**< on the peaks fitted to */
    ek_memory_error left_out;      /**< each peak predicted from the others; NAN with fewer than n_knobs + 2 peaks */
} ek_memory_fit_result;

/**
 * Fit the few constants that cannot be derived to measured peaks of some stages, by regularised least squares towards
 * the uncalibrated model, so that two peaks cannot determine four constants freely. The number of fitted constants
 * follows from the leave-one-out error of the peaks.
 *
 * @param peaks   [n_peaks], 1 or more
 * @param actual  the peaks are with fragments
 * @return EK_OK; EK_ERR_INPUT for no peaks, a stage that the job does not have, a peak that is not positive;
 *         EK_ERR_MEMORY. Cost: at most 17 ek_memory_predict(), without allocation unless `actual`.
 */
ek_status ek_memory_calibrate(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual,
                              ek_memory_fit_result *out, ek_error *err);
/**
 * Error of a prediction against peaks. O(n_peaks).
 *
 * @param peaks   [n_peaks] of stages that the prediction has, each above 0 MB
 * @param actual  the peaks are with fragments
 */
ek_memory_error ek_memory_compare(const ek_memory *memory, const ek_memory_peak *peaks, int n_peaks, bool actual);

/** An assumed rule that measured peaks contradict. */
typedef struct ek_memory_contradiction {
    const char *rule;          /**< NULL: none */
    char value[32];            /**< as predicted */
    char assignment[96];       /**< the alternative, as --rule takes it: "weight_gather=layer" */
    double error, other_error; /**< mean |predicted / measured - 1| with each */
} ek_memory_contradiction;

/**
 * Which assumed rule do measured peaks contradict? Each rule that is assumed is put to each of its alternatives, alone,
 * without a fit. Reported is the one with the smallest mean error, where that is less than half of the error with the
 * assumed value and smaller by more than 2 % of the peaks.
 *
 * @param job     before calibration
 * @param peaks   [n_peaks] of stages that the job has, each above 0 MB
 * @param actual  the peaks are with fragments
 * @return as ek_memory_predict(). Cost: that without allocation for each alternative of the assumed
 *         rules, some ten; with it, if `actual`, for those that change one of the peaks.
 */
ek_status ek_memory_contradicted(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual,
                                 ek_memory_contradiction *out, ek_error *err);

/* ---- layers ---- */

/**
 * The job's layers for the balancer: memory by recompute kind as predicted, times from `device` by its operators.
 * A kind is modelled when the job's patterns (or the framework's default ones) save anything.
 *
 * @param device  NULL: times are 0, which the caller replaces
 * @param out     ek_layers_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where the device lacks a figure; EK_ERR_MEMORY. O(kinds of layers x operators x patterns
 *         + layers).
 */
ek_status ek_memory_to_layers(const ek_job *job, const struct ek_device *device, ek_layers *out, ek_error *err);

EK_END_DECLS
#endif
