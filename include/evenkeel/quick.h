/* evenkeel/quick.h - tunes by a rule of thumb: few stages, one chunk each, only full recomputation.
 *
 * It makes the usual tuning by hand exact: count a stage's time in forward times of a layer, recompute as many layers
 * as memory requires, then move layers until the stages take about the same time. The simulator and ek_balance()
 * measure the cost of the rule.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_QUICK_H
#define EVENKEEL_QUICK_H

#include "evenkeel/decls.h"
#include "evenkeel/plan.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

enum { EK_QUICK_MIN_STAGES = 2, EK_QUICK_MAX_STAGES = 8 };

/** The steps of the tuning, each a plan. */
typedef enum ek_quick_step_index {
    EK_QUICK_EVEN,      /**< the even split, nothing recomputed */
    EK_QUICK_RECOMPUTE, /**< the even split, each stage with the least recomputation that fits, or all where none does
                         */
    EK_QUICK_MOVED,     /**< layers moved, each stage with the least recomputation that fits */
} ek_quick_step_index;
enum { EK_QUICK_STEPS = 3 };

/** One of the steps, by the rule and as simulated. Arrays are by stage. */
typedef struct ek_quick_step {
    ek_plan plan;                      /**< one chunk a stage; only `recompute` */
    double units[EK_QUICK_MAX_STAGES]; /**< stage time in forward times of a layer */
    double peak_mb[EK_QUICK_MAX_STAGES];
    bool over[EK_QUICK_MAX_STAGES]; /**< the peak exceeds the limit */
    bool fits;                      /**< no stage's does */
    double longest, shortest;       /**< of `units` */
    double step_time;               /**< simulated */
} ek_quick_step;

typedef struct ek_quick {
    int n_stages, n_layers, n_micro_batches;
    double memory_limit_mb;
    double layer_time;             /**< T, forward time of a layer */
    double head_units, tail_units; /**< e and l, forward times of head and tail over T */
    bool rule_is_exact;            /**< the model's own backward times are those that the rule assumes */
    bool feasible;
    ek_quick_step step[EK_QUICK_STEPS]; /**< EK_QUICK_MOVED is empty unless feasible */
    /** When not feasible: the stage that runs out of memory first when all limits grow together, its layers when it
     *  is the last to take one, and the limit it then needs, every layer recomputed as far as that saves memory. */
    int bottleneck_stage, bottleneck_layers;
    double needed_mb;
} ek_quick;

/**
 * Tune by the rule of thumb.
 *
 *     stage time = 3 (n + e) T + r T,    e only on the first stage; l instead on the last
 *
 * for n layers of which r are recomputed: backward takes two forward passes and recomputation one, so that one layer
 * more costs as much as three more recomputations. Each stage recomputes the least that fits, r(n); more would only
 * slow it. Over all n that add up to the layers of the model, with peaks within the limit:
 *
 *     minimise  max - min  of the stage times, then  max
 *
 * exactly, up to rounding. Peaks are those of ek_simulate().
 * Source: SAPP pipeline balance documentation, MindFormers r1.5, "quick tuning by hand"; docs/balance.md.
 *
 * @param order            1F1B, one chunk a stage, EK_QUICK_MIN_STAGES to EK_QUICK_MAX_STAGES of them
 * @param comm             of the simulated steps; NULL for none
 * @param memory_limit_mb  of every stage, > 0
 * @param min_layers       of a stage, 0 or more
 * @return EK_OK, also when nothing fits; EK_ERR_INPUT for inputs that ek_simulate() refuses, another order, a model
 * with several kinds of body layer or with unknown memory with or without full recomputation, or fewer layers than
 * min_layers requires; EK_ERR_MEMORY. O(stages^2 x layers log layers).
 */
ek_status ek_quick_tune(const ek_layers *layers, const ek_order *order, const ek_comm *comm, double memory_limit_mb,
                        int min_layers, ek_quick *out, ek_error *err);

/** Free the contents of `quick` and zero it. Accepts a zeroed struct. */
void ek_quick_clear(ek_quick *quick);

EK_END_DECLS
#endif
