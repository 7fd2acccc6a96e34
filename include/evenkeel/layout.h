/* evenkeel/layout.h - searches the layout of a training job over devices: degrees, chunks, micro-batch, sharding,
 * schedule, and with them the layers and the recomputation of every stage.
 *
 * Every layout that the job's framework can run is bounded; those that can win are balanced exactly, best first, until
 * no other can be among the best (docs/plan.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYOUT_H
#define EVENKEEL_LAYOUT_H

#include "evenkeel/decls.h"
#include "evenkeel/estimate.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/team.h"

EK_BEGIN_DECLS

/** The settings of a layout, in the order of the columns of every table. */
typedef enum ek_layout_axis {
    EK_AXIS_DATA,
    EK_AXIS_TENSOR,
    EK_AXIS_CONTEXT,
    EK_AXIS_EXPERT,
    EK_AXIS_PIPELINE,
    EK_AXIS_CHUNKS, /**< of a stage */
    EK_AXIS_BATCH,  /**< sequences of a micro-batch */
    EK_AXIS_SHARD,  /**< ranks that share the optimizer's states; 1: none */
    EK_AXIS_COPIES, /**< parts of a micro-batch that run side by side (micro_batch_interleave_num) */
    EK_AXIS_FINE,   /**< parts of a micro-batch that take turns inside each layer (fine_grain_interleave) */
    EK_AXIS_TABLE,  /**< ranks that share the embedding table, where that is a choice: 1, or as many as the states */
    EK_AXIS_SUMS,   /**< ranks that share summed gradients, likewise (gradient_accumulation_shard) */
} ek_layout_axis;
enum { EK_N_LAYOUT_AXES = 12 };
/** "data", "tensor", ... as in JSON, and as --fix and --range have them: "dp", "tp", "cp", "ep", "pp", "vpp", "batch",
 *  "shard", "copies", "fine", "table", "grads". */
extern const char *const *const ek_layout_axis_name;
extern const char *const *const ek_layout_axis_option;

/** A layout. */
typedef struct ek_layout {
    int value[EK_N_LAYOUT_AXES];
    int n_micro_batches;    /**< of a step, on one data-parallel rank: global batch / (data x batch x copies) */
    bool sequence_parallel; /**< norms and their saved activations are cut over the tensor-parallel ranks */
    const ek_schedule *schedule;
} ek_layout;

/** The layout of a job. @param job  passes ek_job_check() */
ek_layout ek_layout_of(const ek_job *job);
/** Are all axes, micro-batches, sequence parallelism and the schedule the same? */
bool ek_layout_equal(const ek_layout *a, const ek_layout *b);
/** "tp 4, pp 8, dp 2, 1f1b" without degrees of 1. @return text */
const char *ek_layout_words(const ek_layout *layout, char *text, size_t size);

/**
 * The job with another layout: layers spread evenly, nothing recomputed, and everything that its framework derives from
 * degrees as in a file with these degrees.
 *
 * @return EK_OK; EK_ERR_INPUT naming the rule of the framework that it breaks; EK_ERR_MEMORY. O(stages x chunks).
 */
ek_status ek_layout_job(const ek_job *job, const ek_layout *layout, ek_job *out, ek_error *err);

/* ---- the search ---- */

/** Values that an axis may have, both included; 0 and 0: any. */
typedef struct ek_layout_range {
    int least, most;
} ek_layout_range;

/** Progress of a search. */
typedef struct ek_layout_progress {
    double seconds;
    long n_bounded, n_left; /**< layouts bounded; those that may still be among the best */
    long n_balanced;
    double best_seconds; /**< step; INFINITY while there is none */
    double gap;          /**< possible further gain of a step, as a share of the k-th best; 1: not known */
} ek_layout_progress;

enum { EK_MAX_LAYOUT_SCHEDULES = 16 };

typedef struct ek_layout_options {
    int n_devices;
    int64_t global_batch; /**< sequences of a step; 0: the job's */
    ek_layout_range range[EK_N_LAYOUT_AXES];
    int sequence_parallel; /**< 0, 1; -1: both are tried */
    int n_schedules;       /**< 0: those that the framework runs */
    const ek_schedule *schedule[EK_MAX_LAYOUT_SCHEDULES];
    int n_best;                                                       /**< plans to find and prove, 1 or more */
    double time_limit;                                                /**< seconds; INFINITY: none */
    int n_threads;                                                    /**< 0: all cores */
    void (*progress)(void *user, const ek_layout_progress *progress); /**< a few times a second; NULL */
    void *user;
    const ek_interrupt *interrupt; /**< ends the search, with the best plans so far; may be NULL */
    /** The job of the file, where the searched one has other patterns to recompute (ek_layout_offer_sets()): settings
     *  and `today` are of this one. NULL: the searched one. */
    const ek_job *file;
    const ek_team *team; /**< processes that search together, each with the same job, device and options; NULL: none */
    const ek_listener *listener; /**< of a team: warned about lost processes; may be NULL */
    double patience;             /**< of a team: seconds without a sign of life after which a process is lost; 0: 30 */
} ek_layout_options;

/** Ten plans, 120 s, all cores, everything free. */
void ek_layout_options_init(ek_layout_options *options);

/**
 * A global batch for a job whose file says none: the multiple of the devices nearest to 2^22 tokens a step, one
 * sequence a device at least. So large are steps of published pretraining runs (Llama 2: 4 million tokens,
 * arXiv 2307.09288), and every data-parallel degree divides it.
 *
 * @param seq_length  tokens of a sequence, 1 or more
 * @param n_devices   1 or more
 * @return sequences of a step
 */
int64_t ek_layout_default_batch(int seq_length, int n_devices);

/** Why a layout is not among the plans. */
typedef enum ek_layout_fate {
    EK_FATE_PLAN,     /**< it is */
    EK_FATE_ILLEGAL,  /**< the framework does not run it */
    EK_FATE_MEMORY,   /**< does not fit with any recomputation: its least peak is above the limit */
    EK_FATE_BOUND,    /**< its bound is above the k-th best step */
    EK_FATE_BALANCED, /**< balanced, and longer than the k-th best */
    EK_FATE_NO_PLAN,  /**< balanced, and no split of the layers fits */
    EK_FATE_OPEN,     /**< the time was over before it was balanced */
} ek_layout_fate;
enum { EK_N_LAYOUT_FATES = 7 };
extern const char *const *const ek_layout_fate_name; /**< "plan", "illegal", "memory", "bound", ... */

/** One layout of the space, for pictures. */
typedef struct ek_layout_point {
    ek_layout layout;
    ek_layout_fate fate;
    bool found;          /**< it was balanced and has a plan */
    float seconds;       /**< of the step: simulated where there is a plan, else its bound */
    float peak_mb;       /**< likewise; of a bound, the least memory it needs */
    float least_seconds; /**< its bounds: no plan of it within the limit is shorter, */
    float least_mb;      /**< and none needs less */
} ek_layout_point;

/** A layout with the best plan of its layers. */
typedef struct ek_layout_plan {
    ek_layout layout;
    ek_job job;           /**< with the layout, the layers and the recomputation */
    ek_estimate estimate; /**< of that job: step, metrics, memory; borrows `job` */
    double lower_bound;   /**< seconds: no plan of this layout is shorter */
    int group;            /**< plans that the prediction cannot distinguish share a number, from 0; -1: not compared */
    double group_error;   /**< seconds: of the difference to its group's first; 0: of the first itself */
    char settings[4096];  /**< to paste into the job's file, in its framework's words */
} ek_layout_plan;

enum { EK_MOST_LAYOUT_POINTS = 20000 };

/** Counts of layouts. */
typedef struct ek_layout_counts {
    int64_t all;     /**< combinations of all axes' values */
    int64_t legal;   /**< that the framework runs */
    int64_t bounded; /**< of these, with a bound: all unless the time was over */
    int64_t balanced;
    int64_t fate[EK_N_LAYOUT_FATES];
    int64_t over_by[4]; /**< of EK_FATE_MEMORY: least peak up to 1.1, 1.5, 2 times the limit, and above */
    /** Of EK_FATE_BOUND: the part of the step that exceeds that of the best plan most, with the layers spread evenly
     * and nothing recomputed; of many layouts one of each block of neighbours in the space is checked. Fewer than the
     *  fate's where the time was over. */
    int64_t bound_by[EK_N_STEP_PARTS];
} ek_layout_counts;

/** The answer. */
typedef struct ek_layout_result {
    const ek_job *job;  /**< borrowed, as the device */
    const ek_job *file; /**< ek_layout_options.file, or the job */
    const ek_device *device;
    ek_layout_options options; /**< with defaults filled in */
    int n_plans;
    ek_layout_plan *plan; /**< [n_plans] by step */
    bool proved;          /**< no other layout has a plan shorter than these */
    double lower_bound;   /**< seconds: no plan of any layout is shorter */
    double gap;           /**< (best step - lower_bound) / best step; 0: the best plan itself is proved, too */
    bool ended_early;     /**< by the clock or an interrupt */
    ek_layout_counts counts;
    ek_layout_plan today; /**< the job's own layout and plan as its file has them; job.path NULL: it has none for this
                               number of devices */
    long n_points;
    /** [n_points] layouts in the order of the space: all with a plan, all with bounds that no other layout dominates,
     *  and a sample of the rest, about EK_MOST_LAYOUT_POINTS in total: of each small cell of step and memory the layout
     *  with the least bound. Layouts that the framework does not run or that have no plan within the limit are left
     *  out. */
    ek_layout_point *point;
    /* Where nothing fits: */
    ek_layout closest;             /**< needs least above the limit */
    double closest_mb;             /**< its least peak */
    double seconds, first_seconds; /**< of the search; until the first plan */
} ek_layout_result;

/**
 * The best layouts of a job on a device.
 *
 * A layout's bound is a true one of the model: no plan of it within the memory limit has a shorter ek_cost_step(). A
 * layout that is balanced has the shortest ek_cost_step() of all its plans that fit by ek_memory_predict(), or its own
 * lower bound (ek_layout_plan.lower_bound). The same for any number of threads, and of processes of a team: process 0
 * has the answer, the others get an empty one. Each process does one layout at a time; a lost process costs only time.
 *
 * @param job     with its memory limit (ek_memory_limit_by_device())
 * @param out     ek_layout_result_clear() frees it; untouched on failure. It borrows job and device
 * @return EK_OK, also where nothing fits (n_plans 0) or the time was over; EK_ERR_INPUT for a job that ek_job_check()
 *         refuses, and where no layout is legal or the device lacks a figure; EK_ERR_SYSTEM where no thread can be
 *         started; EK_ERR_MEMORY. O(layouts) for the bounds, 1e-5 s each, then balances until the best are known, at
 *         most options.time_limit; docs/benchmarks.md. Starts options.n_threads threads.
 */
ek_status ek_layout_search(const ek_job *job, const ek_device *device, const ek_layout_options *options,
                           ek_layout_result *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_result_clear(ek_layout_result *result);

/**
 * The job with its best sets of operators to recompute, where its framework takes patterns layer by layer
 * (MindFormers): its own patterns are replaced by those of two nested sets of the front of saved memory against
 * recomputation time (ek_recompute_sets()). They are those of the job's own degrees. Where there are no sets, or the
 * framework has other rules, a copy.
 *
 * @param out  ek_job_clear() frees it; untouched on failure
 * @return as ek_recompute_sets(). Cost: that, and a copy of the job.
 */
ek_status ek_layout_offer_sets(const ek_job *job, const ek_device *device, ek_job *out, ek_error *err);

/**
 * The best plan of one layout: with one chunk a stage, by 1F1B or GPipe, balanced exactly; else the best of a fixed
 * number of annealing steps, and none where these find none; ek_layout_search(), which continues from there, may still
 * find one.
 *
 * @param out  job.path NULL where no plan that fits was found; ek_layout_plan_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where the framework does not allow it or the device lacks a figure; EK_ERR_SYSTEM where
 *         no thread can be started; EK_ERR_MEMORY. Cost: one balance, without a time limit.
 */
ek_status ek_layout_balance(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_layout_plan *out,
                            ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_plan_clear(ek_layout_plan *plan);

/** Bounds of a layout, known without balancing it. */
typedef struct ek_layout_bound {
    double seconds; /**< no plan within the limit is shorter */
    double peak_mb; /**< no plan needs less */
} ek_layout_bound;
/**
 * True bounds of one layout, as in the search: no plan of it has a shorter step or less memory.
 *
 * @return EK_OK; EK_ERR_INPUT where the framework does not allow it or the device lacks a figure; EK_ERR_MEMORY. Cost:
 *         the prices of the layers, O(operators), and with several chunks linear programs over the stages, and a
 *         bounded search of whole layers where stages x chunks is at most 32: seconds at most.
 */
ek_status ek_layout_bound_of(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_layout_bound *out,
                             ek_error *err);

EK_END_DECLS
#endif
