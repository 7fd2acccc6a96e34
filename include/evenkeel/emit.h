/* evenkeel/emit.h - writes a plan as the settings of a training framework.
 *
 * An emitter is one file with a row in the table ek_emitters. It prints settings to paste, with comments on their
 * basis, on the parts of the plan that the framework cannot express, and on the cost of the nearest plan that it can.
 * Training YAMLs of MindFormers can be changed in place (ek_train_apply()).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_EMIT_H
#define EVENKEEL_EMIT_H

#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** A plan to be written as settings. All borrowed. */
typedef struct ek_emission {
    const char *name;            /**< of the plan */
    const ek_plan *plan;         /**< every layer placed once, lists within the chunks, as ek_plan_check() requires */
    int n_layers;                /**< of the model */
    const ek_schedule *schedule; /**< for the plan's chunks; NULL: the usual one */
    int n_micro_batches;         /**< whole ones; 0: not known */
    int n_pieces;                /**< sequence pieces of a micro-batch; 0 counts as 1 */
    /** The model and order of the plan, needed to compare its cost with that of another plan; NULL and 0 when not
     *  known. The comparison needs both `layers` and `order`. */
    const ek_layers *layers;
    const ek_order *order; /**< of schedule, for the plan's shape; other plans are judged under the same one */
    const ek_comm *comm;   /**< NULL for none */
    double memory_limit_mb;
    const double *stage_memory_mb; /**< [n_stages] a limit for each stage instead; NULL: memory_limit_mb */
} ek_emission;

/** How much of a plan the settings express. */
typedef enum ek_telling {
    EK_TELLS_PLAN,    /**< layers and recomputation */
    EK_TELLS_NEAREST, /**< the layers, and the recomputation of the nearest plan that the framework can express */
    EK_TELLS_LAYERS,  /**< only the layers: no such plan fits, or none could be judged without a model */
} ek_telling;

typedef struct ek_emitter {
    const char *name; /**< as given to --to and --emit */
    const char *summary;
    /**
     * @param told  out: how much of the plan the settings express; may be NULL
     * @return EK_OK; EK_ERR_INPUT, with nothing written, when the framework cannot express the plan's layers;
     *         EK_ERR_SYSTEM, EK_ERR_MEMORY. A nearest plan costs a simulation for each that is judged: three, and one
     *         for every layer of the largest chunk where a framework can recompute the first layers of each chunk.
     */
    ek_status (*write)(const ek_emission *emission, FILE *out, ek_telling *told, ek_error *err);
} ek_emitter;

/** mindformers, mindspeed, megatron, torchtitan; NULL at the end. */
extern const ek_emitter *const *const ek_emitters;

/** The emitter of a name, or NULL. O(emitters). */
const ek_emitter *ek_emitter_find(const char *name);

/** Changes to a training YAML of MindFormers. */
typedef struct ek_train_change {
    const ek_plan *plan;
    int n_layers;                /**< of the model the plan is for */
    int n_micro_batches;         /**< 0: leave it */
    int least_micro_batches;     /**< a file with fewer gets this number */
    int n_pieces;                /**< sequence pieces of a micro-batch; 0: leave them */
    const ek_schedule *schedule; /**< NULL: 1F1B, interleaved where the plan has several chunks */
} ek_train_change;

/**
 * Put a plan into a training YAML: stages, micro-batches, interleave, scheduler, offset and the three recompute lists.
 * Everything else stays byte for byte, also settings that already have the same meaning. Where select_recompute or
 * select_comm_recompute name patterns, each gets the plan's list.
 *
 * @param listener  warned where the plan and the file do not fully agree
 * @param text      out: the new text, to be freed
 * @param size      out: bytes of it
 * @return EK_OK; EK_ERR_INPUT with the place: another number of layers, swap, or a value that cannot be changed
 *         separately; EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_train_apply(const char *path, const ek_train_change *change, const ek_listener *listener, char **text,
                         size_t *size, ek_error *err);

EK_END_DECLS
#endif
