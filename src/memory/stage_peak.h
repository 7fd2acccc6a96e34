/* memory/stage_peak.h - computes the peak of live bytes on a stage, and its buffers. */
#ifndef EK_MEMORY_STAGE_PEAK_H
#define EK_MEMORY_STAGE_PEAK_H

#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "memory/program.h"

/* A walk over a stage's blocks in order: the bytes they hold above the persistent ones, never negative. A block comes
 * after those that it waits for. */
typedef struct ek__stage_walk {
    const ek__chunk_programs *chunk[EK_MAX_CHUNKS];
    bool ran[EK_MAX_CHUNKS][EK_N_BLOCK_KINDS];
    int64_t now; /* after the last block */
    bool first;  /* the last block was the first of its kind of its chunk */
} ek__stage_walk;
ek__stage_walk ek__stage_walk_begin(const ek_job *job, const ek__job_programs *programs, int stage);
/* The next block: its profile from the bytes before it, which are `now` less the profile's end. */
const ek__profile_of_part *ek__stage_walk_next(ek__stage_walk *walk, const ek_block *block);

/* The place of a stage's peak. */
typedef struct ek__peak {
    int64_t bytes; /* above the persistent bytes */
    size_t block;  /* of the stage's list; its number of blocks if nothing runs at the peak */
    int run;       /* run, counted over all copies of the block; after the last: none is running */
    bool first;    /* the block is the first of its kind of its chunk, and takes kept weight gradients */
} ek__peak;

/* @param blocks  [n_blocks] all of the stage's, in running order, so that they release everything they take, except
 *                kept weight gradients. O(blocks). No allocation. */
ek__peak ek__stage_peak(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                        size_t n_blocks);

/* Buffers of one kind that are alive at a peak. */
typedef struct ek__alive {
    const ek__buffer *buffer; /* of 1 byte or more */
    int64_t count;            /* at least 1 */
    ek_memory_part part;
} ek__alive;

typedef struct ek__alive_list {
    int n;
    size_t capacity;
    ek__alive *alive;
    int64_t masks;        /* micro-batches' attention masks */
    double micro_batches; /* (chunk, micro-batch) pairs over v */
    const char *op;       /* path of the running operator; "" when none runs */
    int layer;
} ek__alive_list;

/* The live buffers at a peak of ek__stage_peak(), one entry for each buffer of each program; with the masks they add up
 * to the peak. The list must be empty; the caller frees list->alive. O(blocks + runs of a stage x events). */
ek_status ek__stage_alive(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                          const ek__peak *peak, ek__alive_list *list, ek_error *err);

#endif
