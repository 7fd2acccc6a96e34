/* evenkeel/estimate.h - estimates a job on a device: the step with its parts, the memory, the error of these figures,
 * measurements that would reduce it, and the comparison with a measured run.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_ESTIMATE_H
#define EVENKEEL_ESTIMATE_H

#include <math.h>

#include "evenkeel/decls.h"
#include "evenkeel/memory.h"
#include "evenkeel/metrics.h"
#include "evenkeel/trace.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Distance of the job from measurements on the device. */
typedef enum ek_near {
    EK_NEAR_UNKNOWN, /**< nothing of the device was measured */
    EK_NEAR_MET,     /**< this shape was measured, within 5 % */
    EK_NEAR_CLOSE,   /**< one within a factor of 1.5 was */
    EK_NEAR_NEW,     /**< none near it was: a new cell, expect an error of 10 % */
} ek_near;
enum { EK_N_NEARS = 4 };
extern const char *const *const ek_near_name; /**< unknown, met, close, new */

/** Error to expect of a step in a new cell, as a share: the mean on layouts of which no layer was measured
 *  (docs/estimate.md). */
#define EK_NEW_CELL_ERROR 0.10

enum { EK_MAX_ESTIMATE_TEXTS = 16, EK_ESTIMATE_TEXT = 400 };

/** Sentences. */
typedef struct ek_estimate_texts {
    int n;
    char text[EK_MAX_ESTIMATE_TEXTS][EK_ESTIMATE_TEXT];
} ek_estimate_texts;

/** The answer. */
typedef struct ek_estimate {
    const ek_job *job;       /**< borrowed */
    const ek_device *device; /**< borrowed */
    ek_step step;
    ek_metrics metrics;                  /**< of that step: throughput, MFU and HFU, causal attention counted half */
    double tokens_per_step;              /**< of all devices */
    double basis_share[EK_N_COST_BASES]; /**< shares of the slowest stage's step by their basis; they add up to 1 */
    double share_without_error;          /**< of it, of which no error is known: not measured, and no standard error */
    ek_memory memory;
    bool limit_of_device; /**< the limit is the device's memory: neither the file nor the user sets another */
    ek_near near;
    ek_estimate_texts advice;   /**< measurements that reduce the error, the most useful first */
    ek_estimate_texts warnings; /**< doubtful figures and effects that are not modelled */
    double wanted_tokens, days; /**< of a training run of that number of tokens; NAN */
} ek_estimate;

/**
 * Estimate a job on a device: ek_cost_step() and ek_memory_predict(), and the figures derived from them.
 *
 * @param wanted_tokens  of a whole training run, for ek_estimate.days; NAN or 0: none
 * @param out  ek_estimate_clear() frees it; untouched on failure. It borrows job and device
 * @return as ek_job_check(), ek_cost_step() and ek_memory_predict(). Cost: that of all three.
 */
ek_status ek_estimate_of(const ek_job *job, const ek_device *device, double wanted_tokens, ek_estimate *out,
                         ek_error *err);
/**
 * Fill all figures that are derived from an existing step and memory prediction.
 *
 * @return as ek_metrics_compute(). O(operators + stages).
 */
ek_status ek_estimate_conclude(ek_estimate *estimate, ek_error *err);
/** Free the step and the memory prediction of an estimate. Accepts a zeroed struct. */
void ek_estimate_clear(ek_estimate *estimate);

/** The distance to the nearest measurement, in words: "new cell: the nearest measured shape is a factor 2.1 away;
 *  expect 10 %". @return text */
const char *ek_near_words(double nearest, char *text, size_t size);

/* ---- comparison with a measured run ---- */

/** The parts of a step that a trace distinguishes, each with the parts of ek_step it is compared with. */
typedef enum ek_against_part {
    EK_AGAINST_COMPUTE,  /**< something is computed: matrix, attention, grouped, memory, recompute, optimizer */
    EK_AGAINST_EXPOSED,  /**< exposed communication: tensor, context, expert, data */
    EK_AGAINST_PIPELINE, /**< exposed receives from other stages: bubble, p2p */
    EK_AGAINST_IDLE,     /**< neither: host, input */
} ek_against_part;
enum { EK_N_AGAINST_PARTS = 4 };
extern const char *const *const ek_against_name;  /**< compute, exposed, pipeline, idle */
extern const char *const *const ek_against_title; /**< for people */
/** The group of a part of a step. */
ek_against_part ek_against_of(ek_step_part part);

/** A measured run. */
typedef struct ek_against {
    double seconds;                  /**< of a step, measured */
    double error;                    /**< predicted over measured, minus 1 */
    bool has_parts;                  /**< from a trace; a log has no parts */
    double part[EK_N_AGAINST_PARTS]; /**< measured seconds; NAN: not known. Those known add up to `seconds` */
    double predicted[EK_N_AGAINST_PARTS];
    ek_against_part worst;           /**< differs most; with has_parts */
    ek_estimate_texts texts;         /**< likely causes, and differences between the run and the job */
    char words[EK_TRACE_STEP_WORDS]; /**< description of the step: "median of 40 steps" */
} ek_against;

/**
 * Compare with the median step of a training log, without warm-up (ek_train_log_summarise()).
 *
 * @return EK_OK; EK_ERR_INPUT where no step of it counts. O(n log n) for n steps.
 */
ek_status ek_estimate_against_log(const ek_estimate *estimate, const ek_train_log *log, ek_against *out, ek_error *err);
/**
 * Compare with the step of a profiler's trace (ek_trace_run_step()), of the rank with the longest step.
 *
 * @return EK_OK; EK_ERR_INPUT where no step has a length. O(ranks x steps).
 */
ek_status ek_estimate_against_trace(const ek_estimate *estimate, const ek_trace_run *run, ek_against *out,
                                    ek_error *err);

EK_END_DECLS
#endif
