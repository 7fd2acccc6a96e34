/* evenkeel/schedule.h - lists the schedules: the order in which each stage runs its forward and backward blocks.
 *
 * A schedule is one file with a row in this table; only that file knows its order of blocks.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_SCHEDULE_H
#define EVENKEEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/placement.h"

EK_BEGIN_DECLS

/** Kinds of blocks. In a schedule that splits the backward pass EK_BACKWARD is only the gradient of the input, and
 *  EK_BACKWARD_WEIGHT the gradient of the weights, which is needed only at the end of the step. */
typedef enum ek_block_kind { EK_FORWARD, EK_BACKWARD, EK_BACKWARD_WEIGHT } ek_block_kind;
enum { EK_N_BLOCK_KINDS = 3 };

/** One block of work of a stage: a chunk's forward or backward pass of one micro-batch. */
typedef struct ek_block {
    uint32_t micro_batch;
    uint16_t chunk; /**< of the stage; see ek_placement */
    uint16_t kind;  /**< ek_block_kind */
} ek_block;

/** Size of a pipeline: p stages, v chunks per stage, m micro-batches. */
typedef struct ek_shape {
    int n_stages;
    int n_chunks;
    int n_micro_batches; /**< with a sequence pipeline: pieces, n_pieces for each micro-batch */
    int n_pieces;        /**< sequence pieces of a micro-batch; 0 counts as 1 */
} ek_shape;

/** Input of an order that depends on times and memory. Arrays are [n_chunks][n_stages]. */
typedef struct ek_profile {
    const double *forward_time;
    const double *backward_time; /**< input gradient only */
    const double *weight_time;
    const double *activation; /**< held from the start of F; any unit */
    double weight_share;      /**< of the activation that stays until the end of W, 0..1; B frees the rest at its end */
    const double *limit;      /**< [n_stages] of live activation, in the unit of `activation` */
    const double *edge_time;  /**< [n_stages] p2p time between stage s and its next one, the last and the first too */
} ek_profile;

/** Which kind of order a schedule has. */
typedef enum ek_schedule_family {
    EK_SCHEDULE_OTHER,
    EK_SCHEDULE_1F1B,        /**< one chunk a stage: forward and backward alternate after a warm-up of p - s - 1 */
    EK_SCHEDULE_INTERLEAVED, /**< 1F1B over several chunks a stage, Megatron-LM's */
    EK_SCHEDULE_SEQUENCE,    /**< 1F1B over pieces of sequences */
    EK_SCHEDULE_GPIPE,       /**< all forward, then all backward */
    EK_SCHEDULE_ZERO_BUBBLE, /**< the gradient of the weights fills the bubbles */
    EK_SCHEDULE_DUALPIPE,    /**< micro-batches from both ends */
} ek_schedule_family;

/** How the share of a step that equal stages idle follows from p stages, v chunks, m micro-batches and k pieces. */
typedef enum ek_bubble_form {
    EK_BUBBLE_OPEN,  /**< no closed form: smaller than (p-1)/(vmk + p-1), or it depends on the times */
    EK_BUBBLE_ABOUT, /**< (p-1)/(vmk + p-1), or a little more */
    EK_BUBBLE_EXACT, /**< (p-1)/(vm + p-1) for whole micro-batches */
} ek_bubble_form;

typedef struct ek_schedule {
    const char *name;           /**< as given to --schedule */
    const char *title;          /**< for people */
    const char *summary;        /**< one line on bubble and memory */
    int min_chunks, max_chunks; /**< chunks per stage it is defined for */
    int min_micro_batches;      /**< least micro-batches, as a multiple of the stages; 0: any */
    ek_placement placement;
    ek_schedule_family family;
    ek_bubble_form bubble;
    bool pieces;          /**< it keeps the sequence pieces of a micro-batch in order */
    bool shorter_warm_up; /**< of the interleaved family: as few micro-batches ahead as 1F1B has */
    bool splits_backward; /**< every chunk and micro-batch has an EK_BACKWARD_WEIGHT block after its EK_BACKWARD */
    /** Fill `blocks` with the blocks of `stage` in running order. The shape is within the limits. NULL when the order
     *  is made for given times, by `arrange`. */
    void (*stage_order)(const ek_shape *shape, int stage, ek_block *blocks);
    /** Fill `blocks`, [n_stages][blocks per stage], with an order for the profile's times and limit.
     *  @return EK_OK, EK_ERR_INPUT when the limit admits no order, EK_ERR_MEMORY. */
    ek_status (*arrange)(const ek_shape *shape, const ek_profile *profile, ek_block *blocks, ek_error *err);
    /** Of `arrange`, when none is given: live activations of a stage, in micro-batches of a whole stage, are at most
     *  limit_per_stage p + limit_constant, and never limited to fewer than 1. */
    double limit_per_stage, limit_constant;
} ek_schedule;

/** Blocks a stage runs: 2 v m, or 3 v m when the backward is split. */
size_t ek_schedule_blocks_per_stage(const ek_schedule *schedule, const ek_shape *shape);

/** The schedules, NULL at the end. */
extern const ek_schedule *const *const ek_schedules;

/** Does it interleave chunks with the usual warm-up, as frameworks do? */
static inline bool ek_schedule_is_interleaved(const ek_schedule *schedule)
{
    return schedule->family == EK_SCHEDULE_INTERLEAVED && !schedule->shorter_warm_up;
}

/** The limit of live activations a schedule's order is made for when none is given; 0 when it has none. */
double ek_schedule_activation_limit(const ek_schedule *schedule, int n_stages);

/** By name; NULL for an unknown name, and for NULL. O(schedules). */
const ek_schedule *ek_schedule_find(const char *name);

/** The first of the list in a family with a placement; NULL: none. O(schedules). */
const ek_schedule *ek_schedule_of(ek_schedule_family family, ek_placement placement);

/** The original's choice: 1f1b for one chunk, else interleaved or interleaved-less-memory. O(schedules). */
const ek_schedule *ek_schedule_default(int n_chunks, int less_memory);

/** The schedule where none is given: `sequence` for more than one sequence piece, else ek_schedule_default(). */
const ek_schedule *ek_schedule_for(int n_chunks, int n_pieces, bool less_memory);

EK_END_DECLS
#endif
