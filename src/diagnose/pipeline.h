/* diagnose/pipeline.h - the run's plan with its layers' times, and other plans for it.
 *
 * Plans are compared with one another under the same times: the gain of a change is the difference of two steps of one
 * kind, never of a measured and a predicted one. With measured layers both are simulated; else both are ek_cost_step()
 * of the job with the plan. */
#ifndef EK_DIAGNOSE_PIPELINE_H
#define EK_DIAGNOSE_PIPELINE_H

#include "diagnose/measured.h"
#include "evenkeel/balance.h"
#include "evenkeel/cost.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/layers.h"

/** Another shape of the run. */
typedef struct ek__edit_oracle {
    const ek_schedule *schedule;
    int n_chunks, n_micro_batches; /**< with pieces of the sequence: pieces */
    int batch;                     /**< sequences of a micro-batch; 0: today's */
} ek__edit_oracle;

/** A plan of a search. */
typedef struct ek__planned {
    ek_plan plan;   /**< empty: there is none */
    double ms;      /**< step; NAN */
    double peak_mb; /**< largest peak of the job with the plan's settings in its file; NAN where memory is not known */
} ek__planned;

typedef struct ek__pipeline {
    bool there;
    bool measured;     /**< times are from the trace; else predicted for the device */
    bool memory_known; /**< the layers' memory is predicted and limit_mb is known */
    const ek_job *job; /**< NULL: the plan is the trace's */
    const ek_device *device;
    ek_cost_cache *cache; /**< of the device; NULL where times are measured */
    ek_step step;         /**< of the job, where times are predicted; else n_stages is 0 */
    double limit_mb;      /**< of a device */
    ek_layers layers;     /**< times in milliseconds of one micro-batch */
    ek_plan plan;         /**< of the run */
    const ek_schedule *schedule;
    int n_micro_batches; /**< with pieces of the sequence: pieces */
    int n_pieces, n_accumulation;
    ek_comm comm;        /**< p2p: the measured transfers' median */
    double today_ms;     /**< step of the plan */
    ek_plan kept_layers; /**< least recomputation with the layers where they are; empty unless memory_known, and where
                              no recomputation fits */
    double kept_layers_ms, kept_peak_mb;
    ek_plan best; /**< layers free; recomputation too where memory is known, else today's */
    double best_ms, best_peak_mb;
    double as_it_is_ms;  /**< reference of best_ms */
    const char *why_not; /**< the missing input, where `there` is false */
    char refused[256]; /**< without `there`: the reason why ek_cost_step() has no step of the job; empty: that is not it
                        */
} ek__pipeline;

/** Make it from the given inputs. EK_OK with `there` false when an input is missing; EK_ERR_MEMORY. */
ek_status ek__pipeline_make(const ek_run_input *input, const ek__measured *measured, const ek_diagnose_options *options,
                            ek__pipeline *out, ek_error *err);
void ek__pipeline_clear(ek__pipeline *pipeline);

/** Best plan of a shape that the framework can express. Where memory is known its peak, predicted from the job with its
 *  settings, is within the limit; where it is not, recomputation is today's on average. */
ek_status ek__pipeline_balance(const ek__pipeline *p, const ek_layers *layers, const ek__edit_oracle *wish,
                               const ek_diagnose_options *options, ek__planned *out, ek_error *err);
/** The plan's settings in the framework's words, in `pool`; NULL when memory is out. */
char *ek__pipeline_settings(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish,
                            ek_framework framework, struct ek__pool *pool);
/** "the largest peak is predicted to become 55296 MB of 60416", in `pool`; NULL when memory is out. */
const char *ek__pipeline_peak(const ek__pipeline *p, double peak_mb, struct ek__pool *pool);
/** The balancer's options. @param options may be NULL */
void ek__pipeline_search_options(const ek__pipeline *p, const ek_diagnose_options *options, ek_balance_options *out);
/** Today's shape. */
ek__edit_oracle ek__pipeline_today(const ek__pipeline *p);
/** Today's layers with today's recomputation in their backward pass, the same for all layers of a kind: the plan's
 *  lists are then empty. For plans that do not change recomputation. */
ek_status ek__pipeline_as_it_is(const ek__pipeline *p, ek_layers *layers, ek_plan *plan, ek_error *err);

#endif
