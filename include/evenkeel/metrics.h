/* evenkeel/metrics.h - computes how well a training run uses its devices: throughput, MFU and HFU with every term of
 * the FLOPs, linearity, bubble ratios. docs/models.md has the formulas.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_METRICS_H
#define EVENKEEL_METRICS_H

#include "evenkeel/cost.h"
#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** The counted part of the attention's score matrix. */
typedef enum ek_attention_count {
    EK_ATTENTION_CAUSAL, /**< half of it: the work of a causal model. The default */
    EK_ATTENTION_FULL,   /**< all of it, as Megatron's own formula */
    EK_ATTENTION_NONE,   /**< nothing: the rule "6 P" */
} ek_attention_count;
extern const char *const *const ek_attention_count_name; /**< "causal", "full", "none" */

/** A term of the FLOPs of a token. */
typedef struct ek_flops_term {
    char name[48];     /**< "attention scores" */
    char formula[96];  /**< "L * 4 S H a", in the letters of docs/models.md */
    double forward;    /**< per token; backward is twice that */
    double recomputed; /**< per token, of the second forward pass */
} ek_flops_term;
enum { EK_MAX_FLOPS_TERMS = 16 };

/** FLOPs of a token: multiply and add count two. */
typedef struct ek_flops {
    int n;
    ek_flops_term term[EK_MAX_FLOPS_TERMS];
    double forward;                       /**< sum */
    double model;                         /**< forward and backward: 3 forward */
    double recomputed;                    /**< by the job's recomputation */
    double hardware;                      /**< model + recomputed */
    double parameters, active_parameters; /**< of the model; those a token meets */
} ek_flops;

/** Count the FLOPs of a token, forward term by term, and the recomputed part; docs/models.md, "FLOPs and utilisation".
 *  Lookups, norms, softmax and the like are left out, as everywhere. O(kinds of layers x operators).
 *  @return EK_OK or EK_ERR_MEMORY. */
ek_status ek_flops_count(const ek_job *job, ek_attention_count attention, ek_flops *out, ek_error *err);

/**
 * Parameters of a job's model and those that a token meets, tied and shared matrices once.
 *
 * @param all     out: all parameters
 * @param active  out: those that a token meets
 * @return EK_OK or EK_ERR_MEMORY. O(operators).
 */
ek_status ek_job_count_parameters(const ek_job *job, double *all, double *active, ek_error *err);

/** The basis of the FLOPs of a token. */
typedef enum ek_flops_source {
    EK_FLOPS_UNKNOWN,
    EK_FLOPS_COUNTED, /**< from the job's shapes */
    EK_FLOPS_GIVEN,
    EK_FLOPS_SIX_P, /**< 6 times the parameters: no attention */
} ek_flops_source;
extern const char *const *const ek_flops_source_name; /**< "unknown", "counted", "given", "6P" */

/** Known figures of a run; NAN, 0 and NULL for unknown ones. */
typedef struct ek_metrics_input {
    const ek_job *job;       /**< NULL: no shapes; the needed ones may be given below */
    const ek_device *device; /**< NULL: only a given peak */
    double peak_tflops;      /**< of a device, 10^12 FLOP/s; wins over `device`; 0: the device's */
    ek_attention_count attention;
    double step_seconds;       /**< or one of the two rates */
    double samples_per_second; /**< of the whole cluster */
    double tokens_per_second_per_device;
    int n_devices;                /**< 0: the job's degrees multiplied */
    double global_batch;          /**< sequences; 0: the job's */
    int seq_length;               /**< 0: the job's */
    double model_flops_per_token; /**< forward and backward; 0: counted from the job, or by `parameters` */
    double parameters;            /**< without a job: the rule 6 P; 0 */
    double baseline;              /**< samples/s of `baseline_devices` devices, for linearity; NAN or 0 */
    int baseline_devices;
    int n_stages, n_chunks, n_micro_batches; /**< for the bubble; 0: the job's */
} ek_metrics_input;

typedef struct ek_metrics {
    double step_seconds, samples_per_second, samples_per_second_per_device, tokens_per_second,
        tokens_per_second_per_device;
    double global_batch;
    int n_devices, seq_length;
    int n_stages, n_chunks, n_micro_batches; /**< 0: not known */
    ek_flops flops;                          /**< n 0: not counted */
    ek_flops_source flops_source;
    double model_flops_per_token, hardware_flops_per_token;
    double achieved_tflops, hardware_tflops; /**< per device, by model and by hardware FLOPs */
    double peak_tflops;
    double mfu, hfu, linearity;
    double
        bubble_share; /**< (p-1)/(v m + p-1): idle part of the step; 1F1B, GPipe and interleaved 1F1B only, else NAN */
    double bubble_ratio; /**< (p-1)/(v m): idle over useful, SAPP's convention */
} ek_metrics;

/**
 * Compute all figures that follow from the given ones; the rest is NAN or 0.
 *
 *     samples/s = GBS / step        tokens/s = samples/s * S       tokens/s/device = tokens/s / D, D all devices
 *     achieved = FLOPs of a token * tokens/s/device                MFU = achieved / peak
 *     linearity = samples/s/device over that of the baseline
 *
 * Of step time, samples/s and tokens/s/device one is enough. Given more, they must agree within 0.5 %, and so must
 * figures that are given in addition to a job with those of the job.
 * @return EK_OK; EK_ERR_INPUT where given figures contradict each other or are not numbers above 0, or where the device
 *         has no peak for the job's type; EK_ERR_MEMORY. O(kinds of layers x operators).
 */
ek_status ek_metrics_compute(const ek_metrics_input *input, ek_metrics *out, ek_error *err);

/** The prediction of the run's step: ek_cost_step() of its job on its device, not a measurement. */
typedef struct ek_metrics_prediction {
    ek_step step;
    ek_metrics metrics;                  /**< of that step */
    double basis_share[EK_N_COST_BASES]; /**< ek_step_basis_share() */
    double error;                        /**< predicted over measured step, minus 1; NAN: nothing was measured */
} ek_metrics_prediction;

/**
 * Predict the step of a run; measured or given figures of `input` are not used.
 *
 * @param input  with a job and a device
 * @param out    ek_metrics_prediction_clear() frees it; untouched on failure
 * @return as ek_metrics_compute() and ek_cost_step(). Cost: that of both.
 */
ek_status ek_metrics_predict(const ek_metrics_input *input, ek_metrics_prediction *out, ek_error *err);
/** Free the step that a prediction holds. Accepts a zeroed struct. */
void ek_metrics_prediction_clear(ek_metrics_prediction *prediction);

EK_END_DECLS
#endif
