/* memory/start.h - what a stage of a Megatron job asks its allocator for around its first step, in order: where tensors
 * come to lie, and so what is reserved, depends on it. */
#ifndef EK_MEMORY_START_H
#define EK_MEMORY_START_H

#include "memory/program.h"

typedef enum ek__start_phase {
    EK__START_WEIGHTS,    /* each module's, as it is built */
    EK__START_BUFFERS,    /* of all parameters, and of their gradients */
    EK__START_MASTERS,    /* fp32 copies of what this rank updates */
    EK__START_WORKSPACES, /* at the first forward pass */
    EK__START_COPIES,     /* of weights in 8 bits, likewise */
    EK__START_DUMMIES,    /* at the first backward pass */
    EK__START_STATES,     /* moments, when the optimizer first runs */
    EK__N_START,
} ek__start_phase;

typedef struct ek__start {
    size_t n[EK__N_START];
    int64_t *bytes[EK__N_START]; /* [n] of each request, more than 0 */
    bool gives_weights;          /* once the buffers are there, which then hold them */
} ek__start;

/* Does the job's framework start that way? Megatron's does, with buffers for its gradients. */
bool ek__starts_as_megatron(const ek_job *job);
/* Ranks that differ in it: those that share the optimizer's states of most weights. */
int ek__start_ranks(const ek_job *job);
/* @param where  which rank, as a share of those that differ: 0 the first, 1 the last */
ek_status ek__start_new(const ek_job *job, const ek__job_programs *programs, int stage, double where, ek__start *out,
                        ek_error *err);
void ek__start_clear(ek__start *start);

#endif
