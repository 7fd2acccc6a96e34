/* memory/start.h - lists the allocator requests of a Megatron job's stage around its first step, in order: addresses of
 * tensors, and so the reserved memory, depend on it. */
#ifndef EK_MEMORY_START_H
#define EK_MEMORY_START_H

#include "memory/program.h"

typedef enum ek__start_phase {
    EK__START_WEIGHTS,    /* each module's, as it is built */
    EK__START_BUFFERS,    /* of all parameters, and of their gradients */
    EK__START_MASTERS,    /* fp32 copies of the weights that this rank updates */
    EK__START_WORKSPACES, /* at the first forward pass */
    EK__START_COPIES,     /* of weights in 8 bits, likewise */
    EK__START_DUMMIES,    /* at the first backward pass */
    EK__START_STATES,     /* moments, when the optimizer first runs */
    EK__N_START,
} ek__start_phase;

typedef struct ek__start {
    size_t n[EK__N_START];
    int64_t *bytes[EK__N_START]; /* [n] of each request, more than 0 */
    bool gives_weights;          /* after the buffers exist, which then hold them */
} ek__start;

/* Does the job's framework start in this way? Megatron does, with buffers for its gradients. */
bool ek__starts_as_megatron(const ek_job *job);
/* The number of ranks that differ: those that share the optimizer states of most weights. */
int ek__start_ranks(const ek_job *job);
/* @param where  the rank, as a fraction of those that differ: 0 the first, 1 the last */
ek_status ek__start_new(const ek_job *job, const ek__job_programs *programs, int stage, double where, ek__start *out,
                        ek_error *err);
void ek__start_clear(ek__start *start);

#endif
