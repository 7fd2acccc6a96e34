/* evenkeel/emit.h - a plan as the settings of a training framework.
 *
 * An emitter is one file behind the table ek_emitters. It prints settings to paste, and says in comments what they rest
 * on, what of the plan the framework cannot be told, and what the nearest plan that it can be told costs. */
#ifndef EVENKEEL_EMIT_H
#define EVENKEEL_EMIT_H

#include <stdio.h>

#include "evenkeel/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A plan to be written as settings. All borrowed. */
typedef struct ek_emission {
    const char *name; /**< of the plan */
    const ek_plan *plan;
    int n_layers;                /**< of the model */
    const ek_schedule *schedule; /**< NULL: the framework's usual one for the plan's chunks */
    int n_micro_batches;         /**< 0: not known */
    /** What the plan was made for, so that the cost of another plan can be told; NULL and 0 when not known. */
    const ek_layers *layers;
    const ek_order *order; /**< of schedule, for the plan's shape */
    const ek_comm *comm;
    double memory_limit_mb;
} ek_emission;

typedef struct ek_emitter {
    const char *name; /**< as given to --to and --emit */
    const char *summary;
    /** @return EK_OK; EK_ERR_INPUT when the framework cannot be told the plan's layers at all; EK_ERR_SYSTEM. */
    ek_status (*write)(const ek_emission *emission, FILE *out, ek_error *err);
} ek_emitter;

/** All emitters, NULL at the end. */
extern const ek_emitter *const ek_emitters[];

/** The emitter of a name, or NULL. */
const ek_emitter *ek_emitter_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
