/* evenkeel/metrics.h - how well a training run uses its devices: throughput, MFU and HFU with every term of the FLOPs,
 * linearity, bubble ratios. docs/models.md has the formulas. */
#ifndef EVENKEEL_METRICS_H
#define EVENKEEL_METRICS_H

#include "evenkeel/cost.h"
#include "evenkeel/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How much of the attention's score matrix counts. */
typedef enum ek_attention_count {
    EK_ATTENTION_CAUSAL, /**< half of it: what a causal model needs. The default */
    EK_ATTENTION_FULL,   /**< all of it, as Megatron's own formula */
    EK_ATTENTION_NONE,   /**< nothing: the rule "6 P" */
} ek_attention_count;
extern const char *const ek_attention_count_name[3]; /**< "causal", "full", "none" */

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

/** Count them. Lookups, norms, softmax and the like are left out, as everywhere. @return EK_OK or EK_ERR_MEMORY. */
ek_status ek_flops_count(const ek_job *job, ek_attention_count attention, ek_flops *out, ek_error *err);

/** What is known of a run; NAN, 0 and NULL where it is not. */
typedef struct ek_metrics_input {
    const ek_job *job;       /**< NULL: no FLOPs, no bubble */
    const ek_device *device; /**< NULL: no MFU */
    ek_attention_count attention;
    double step_seconds;       /**< or one of the two rates */
    double samples_per_second; /**< of the whole cluster */
    double tokens_per_second_per_device;
    int n_devices;                /**< 0: the job's degrees multiplied */
    double global_batch;          /**< sequences; 0: the job's */
    int seq_length;               /**< 0: the job's */
    double model_flops_per_token; /**< 0: counted from the job */
    double baseline;              /**< samples/s of `baseline_devices` devices, for linearity; NAN */
    int baseline_devices;
} ek_metrics_input;

typedef struct ek_metrics {
    double step_seconds, samples_per_second, samples_per_second_per_device, tokens_per_second,
        tokens_per_second_per_device;
    double global_batch;
    int n_devices, seq_length;
    ek_flops flops; /**< n 0: not counted */
    double model_flops_per_token, hardware_flops_per_token;
    double achieved_tflops, hardware_tflops; /**< per device, by model and by hardware FLOPs */
    double peak_tflops;
    double mfu, hfu, linearity;
    double bubble_share; /**< (p-1)/(v m + p-1): idle part of the step */
    double bubble_ratio; /**< (p-1)/(v m): idle over useful, SAPP's convention */
} ek_metrics;

/** Work out all that follows from what is given; the rest is NAN or 0. @return EK_OK; EK_ERR_INPUT where what is given
 *  contradicts itself or is no number above 0. */
ek_status ek_metrics_compute(const ek_metrics_input *input, ek_metrics *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
