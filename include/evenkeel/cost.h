/* evenkeel/cost.h - how long a layer's operators take on a device: the roofline of docs/models.md. Assumed as a whole,
 * from vendors' figures; measured times, where there are any, replace it. */
#ifndef EVENKEEL_COST_H
#define EVENKEEL_COST_H

#include "evenkeel/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A device and its links; the shipped ones are a table, ek_device_read() reads one of one's own. */
typedef struct ek_device {
    char name[EK_NAME_SIZE];
    char source[160];
    bool certain; /**< false: a figure that is not from a product sheet */
    int devices_per_node;
    double memory_gib, memory_gbs;                /**< 2^30 bytes; 10^9 B/s */
    double peak_tflops[3];                        /**< [EK_N_DTYPES] dense, 10^12 FLOP/s */
    double eff_matmul, eff_attention, eff_memory; /**< share of the peak reached, 0..1 */
    double launch_us;
    double intra_gbs, inter_gbs; /**< per direction and device, 10^9 B/s */
    double intra_latency_us, inter_latency_us;
    double eff_link;
} ek_device;

/** The devices known by name, shipped with the tool. @param n  out: how many */
const ek_device *ek_devices(int *n);
/** By name (case does not matter), or NULL. */
const ek_device *ek_device_find(const char *name);
/** Read a device from a JSON or YAML file. @return as readers do. */
ek_status ek_device_read(const char *path, const ek_listener *listener, ek_device *out, ek_error *err);

/** Milliseconds of one layer and micro-batch. */
typedef struct ek_layer_times {
    double forward;
    double backward[EK_N_RECOMPUTE]; /**< with what is recomputed */
    double weight;                   /**< the part of backward that is the gradient of the weights */
} ek_layer_times;

/** What the times are of. */
typedef enum ek_layer_place {
    EK_LAYER_HEAD,
    EK_LAYER_DENSE,
    EK_LAYER_EXPERTS,
    EK_LAYER_PREDICTION,
    EK_LAYER_TAIL
} ek_layer_place;

/** Times of a layer by its operators: max(FLOPs / reached peak, bytes / reached bandwidth) + launch for each, and
 *  communication at the link's rate, exposed. O(operators). */
ek_status ek_cost_layer(const ek_job *job, const ek_device *device, ek_layer_place place, ek_layer_times *out,
                        ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
