/* evenkeel/job_layers.h - makes a job's layers for the balancer, with modelled, measured or given times.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_JOB_LAYERS_H
#define EVENKEEL_JOB_LAYERS_H

#include "evenkeel/decls.h"
#include "evenkeel/layers.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Sources of the times of layers; later members override earlier ones. */
typedef struct ek_job_layer_times {
    const ek_device *device; /**< modelled; NULL: not */
    const char *measured;    /**< a folder of traces, or a layer file with their times; NULL: none */
    ek_times given;          /**< forward times of any unit; NAN: not given */
} ek_job_layer_times;

/**
 * ek_memory_to_layers() with times.
 *
 * Measured kinds of body layers are the job's in model order; a single one is used for all. A given forward time t
 * scales the backward and weight times by t / forward where the layer has a time, else they are backward[k] =
 * EK_BACKWARD_RATIO t (1 + ek_recompute_coefficient[k]) and weight = EK_WEIGHT_TIME_SHARE backward[NONE].
 *
 * @param how       for traces; NULL: defaults
 * @param listener  receives warnings of the readers; may be NULL
 * @param out       ek_layers_clear() frees it; untouched on failure
 * @return as ek_memory_to_layers() and the readers; EK_ERR_INPUT where the measured kinds of layers are not the job's.
 *         O(layers), plus the cost of reading the measured ones.
 */
ek_status ek_job_layers(const ek_job *job, const ek_job_layer_times *times, const ek_trace_options *how,
                        const ek_listener *listener, ek_layers *out, ek_error *err);

EK_END_DECLS
#endif
