/* The oracle of memory predictions: random jobs, and a replay of every event of every block of a stage that keeps each
 * live buffer in a table. It does not use profiles, and finds neighbours by searching the placement. */
#ifndef MEMORY_REPLAY_H
#define MEMORY_REPLAY_H

#include "base/random.h"
#include "evenkeel/memory.h"
#include "memory/program.h"

/* Results of a replay; bytes are in addition to the persistent memory of the step. */
typedef struct replay_result {
    int64_t peak;
    size_t block;                    /* at which the peak was first reached */
    int64_t part[EK_N_MEMORY_PARTS]; /* there */
    double alive;
    int64_t left; /* bytes alive when the step is over */
} replay_result;

/* Called with each buffer that is allocated (bytes > 0) and released (< 0), by its key. NULL: none. */
typedef void replay_listener(void *user, uint64_t key, int64_t bytes);

/* Fails the test when a buffer is allocated twice, or released without an allocation. */
replay_result replay_stage(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                           size_t n_blocks, replay_listener *listener, void *user);

/* Bytes at each block: the most while it runs, and when it is over. */
typedef struct replay_moment {
    int64_t peak, after;
} replay_moment;
void replay_course(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                   size_t n_blocks, replay_moment *moment);

/* A small job of random shape, schedule, recomputation and rules. ek_job_clear() it. */
ek_job random_job(ek__random *random);
/* A plain dense one to change by hand: p stages of v chunks with n layers each, m micro-batches, 1F1B or interleaved.
 */
ek_job plain_job(int p, int v, int layers_a_chunk, int m);

#endif
