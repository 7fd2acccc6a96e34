/* diagnose/pipeline.h - the run's plan with its layers' times, and other plans for it.
 *
 * Plans are compared with one another in the simulator, under the same times: what a change of the plan brings is the
 * difference of two simulated steps, not of a simulated and a measured one. */
#ifndef EK_DIAGNOSE_PIPELINE_H
#define EK_DIAGNOSE_PIPELINE_H

#include "diagnose/measured.h"
#include "evenkeel/balance.h"
#include "evenkeel/diagnose.h"

typedef struct ek__pipeline {
    bool there;
    bool measured;     /**< times are from the trace; else modelled from the device */
    bool memory_known; /**< the layers' memory is predicted and limit_mb is known */
    double limit_mb;   /**< of a device */
    ek_layers layers;  /**< times in milliseconds of one micro-batch */
    ek_plan plan;      /**< of the run */
    const ek_schedule *schedule;
    int n_micro_batches; /**< with pieces of the sequence: pieces */
    int n_pieces, n_accumulation;
    ek_comm comm;        /**< p2p: the measured transfers' median */
    double today_ms;     /**< simulated step of the plan */
    ek_plan kept_layers; /**< best recomputation with the layers where they are; empty unless memory_known */
    double kept_layers_ms;
    ek_plan best; /**< layers free; recomputation too where memory is known, else as it is */
    double best_ms;
    double as_it_is_ms;  /**< what best_ms is to be held against */
    const char *why_not; /**< not there: what is missing */
} ek__pipeline;

/** Put it together from what is given. EK_OK with there false when something is missing; EK_ERR_MEMORY. */
ek_status ek__pipeline_make(const ek_run_input *input, const ek__measured *measured, const ek_diagnose_options *options,
                            ek__pipeline *out, ek_error *err);
void ek__pipeline_clear(ek__pipeline *pipeline);

/** Best plan of a shape, recomputation as far as memory admits (memory not known: as it is today, on average).
 *  @param plan  empty when there is none; its step is NAN then */
ek_status ek__pipeline_balance(const ek__pipeline *p, const ek_layers *layers, const ek_schedule *schedule,
                               int n_chunks, int n_micro_batches, const int *fixed_layers, double limit_mb,
                               const ek_diagnose_options *options, ek_plan *plan, double *ms, ek_error *err);
/** The plan's settings in the framework's words, in `pool`; NULL when memory is out. */
char *ek__pipeline_settings(const ek__pipeline *p, const ek_plan *plan, const ek_schedule *schedule,
                            int n_micro_batches, ek_framework framework, struct ek__pool *pool);
/** Today's layers with what they recompute today in their backward pass, the same for all layers of a kind: the plan's
 *  lists are then empty. For plans that leave recomputation alone. */
ek_status ek__pipeline_as_it_is(const ek__pipeline *p, ek_layers *layers, ek_plan *plan, ek_error *err);

#endif
