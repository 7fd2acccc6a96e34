/* evenkeel/schedule.h - in which order each stage runs its forward and backward blocks.
 *
 * A schedule is one file behind this table; nothing outside it knows its order of blocks. */
#ifndef EVENKEEL_SCHEDULE_H
#define EVENKEEL_SCHEDULE_H

#include <stdint.h>

#include "evenkeel/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ek_block_kind { EK_FORWARD, EK_BACKWARD } ek_block_kind;
enum { EK_N_BLOCK_KINDS = 2 };

/** One block of work of a stage: a chunk's forward or backward pass of one micro-batch. */
typedef struct ek_block {
    uint32_t micro_batch;
    uint16_t chunk;
    uint16_t kind; /**< ek_block_kind */
} ek_block;

/** Size of a pipeline: p stages, v chunks per stage, m micro-batches. */
typedef struct ek_shape {
    int n_stages;
    int n_chunks;
    int n_micro_batches;
} ek_shape;

typedef struct ek_schedule {
    const char *name;           /**< as given to --schedule */
    const char *title;          /**< for people */
    const char *summary;        /**< one line on bubble and memory */
    int min_chunks, max_chunks; /**< chunks per stage it is defined for */
    /** Fill `blocks` with the 2 v m blocks of `stage` in running order. The shape is within the limits. */
    void (*stage_order)(const ek_shape *shape, int stage, ek_block *blocks);
} ek_schedule;

/** The schedules, NULL at the end. */
extern const ek_schedule *const ek_schedules[];

/** By name, or NULL. */
const ek_schedule *ek_schedule_find(const char *name);

/** The original's choice: 1f1b for one chunk, else interleaved or interleaved-less-memory. */
const ek_schedule *ek_schedule_default(int n_chunks, int less_memory);

#ifdef __cplusplus
}
#endif
#endif
