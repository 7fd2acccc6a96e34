/* memory/program.h - a graph with its recomputation, compiled into the order in which buffers come and go.
 *
 * A program has three parts: forward, backward, weight gradient (empty unless the schedule splits the backward pass,
 * when it holds what computes gradients of weights, and what that needs stays alive until then). Each is a list of
 * events on numbered buffers. Rules:
 *
 *   forward   an operator's outputs and workspace are taken before it runs, its workspace and the inputs that nothing
 *             later in the forward pass reads, and that are not kept, are given back after it. Kept storages stay.
 *   backward  operators in reverse order. Before an operator's gradient: what it needs and is not there is recomputed,
 *             in forward order, and lives until its last use; the cast (or gathered) weight, the gradients of its
 *             inputs and of its weight, workspace. After it: the gradient of its outputs, kept storages whose last use
 *             it was, and what else is done. The second gradient of a tensor that several operators read is a tensor of
 *             its own until it is added to the first.
 *   borders   buffer INPUT is taken by whoever makes it (the layer before, or the receiving end of a transfer) and
 *             belongs to this layer from then on; OUTPUT is taken here and becomes the next layer's INPUT.
 *             OUTPUT_GRADIENT is taken by the layer behind (or by the transfer) and given back here; INPUT_GRADIENT is
 *             taken here and handed over.
 */
#ifndef EK_MEMORY_PROGRAM_H
#define EK_MEMORY_PROGRAM_H

#include "memory/graph.h"

enum { EK__BUFFER_INPUT, EK__BUFFER_OUTPUT, EK__BUFFER_OUTPUT_GRADIENT, EK__BUFFER_INPUT_GRADIENT, EK__N_BORDERS };

enum { EK__MAX_BUFFERS = 640, EK__MAX_EVENTS = 2 * EK__MAX_BUFFERS };

typedef enum ek__buffer_class {
    EK__CLASS_KEPT,      /* from forward to backward (or the weight gradient) */
    EK__CLASS_TRANSIENT, /* within one part */
    EK__CLASS_GRADIENT,  /* of a weight, kept to the end of the step: only without a gradient buffer */
    EK__CLASS_BORDER,
} ek__buffer_class;

typedef struct ek__buffer {
    int64_t bytes; /* rounded up to what an allocator hands out, 512 */
    ek__buffer_class what;
    const char *op;   /* path of the operator it belongs to */
    const char *name; /* of the tensor, or "gradient of ..." */
} ek__buffer;

/* +b + 1: buffer b is taken; -(b + 1): given back. */
typedef int16_t ek__event;

/* Bytes relative to those alive when a part begins, which include its borders taken by others. */
typedef struct ek__profile_of_part {
    int64_t peak; /* most at any event */
    int64_t end;
    int peak_event; /* index of the event after which it is; -1: the start */
} ek__profile_of_part;

typedef struct ek__program {
    const char *name;
    int n_buffers;
    ek__buffer *buffer;
    int n_events[EK_N_BLOCK_KINDS];
    ek__event *event[EK_N_BLOCK_KINDS];
    int16_t *event_op[EK_N_BLOCK_KINDS]; /* operator that runs at the event, for messages */
    ek__profile_of_part profile[EK_N_BLOCK_KINDS];
    int64_t kept; /* bytes of class KEPT, with INPUT */
} ek__program;

/*
 * Compile.
 * @param recomputed  as of ek__graph_recomputed()
 * @param full        the layer is recomputed whole: only INPUT is kept, and backward begins by running forward again
 * @param split       the schedule splits the backward pass
 */
ek_status ek__program_new(const ek_job *job, const ek__graph *graph, const bool *recomputed, bool full, bool split,
                          ek__program **out, ek_error *err);
void ek__program_free(ek__program *program);

/* The programs of a stage's model: one for each kind of layer and what it recomputes, found by stage, chunk and layer.
 * Entries: position of a chunk's parts in running order: [embedding,] layers, [head]. */
typedef struct ek__chunk_programs {
    int n;
    const ek__program **program; /* [n] in forward order; backward runs them from the last to the first */
    int *layer;                  /* [n] layer of the chunk; -1 embedding, layers of the chunk: head */
} ek__chunk_programs;

typedef struct ek__job_programs {
    int n_programs;
    ek__program **program;
    ek__graph *graph[EK__N_GRAPH_KINDS]; /* NULL where the job has no such layer */
    ek__chunk_programs *chunk;           /* [n_positions of a stage][n_stages]: index as of ek_plan */
} ek__job_programs;

ek_status ek__job_programs_new(const ek_job *job, ek__job_programs **out, ek_error *err);
void ek__job_programs_free(ek__job_programs *programs);

/* ---- static memory (static.c) ---- */

/* Bytes that a stage's parameters hold for the whole step. */
typedef struct ek__static_bytes {
    int64_t weight, gathered, gradient, optimizer;
} ek__static_bytes;
/* Of one graph's parameters on one rank. A parameter's group is d cp (d cp / ep for an expert's) times its copies. */
ek__static_bytes ek__graph_static(const ek_job *job, const ek__graph *graph);
/* Constants of a stage: masks, rotary tables. */
int64_t ek__stage_constants(const ek_job *job, int stage);

/* ---- the order of a stage's blocks (stage_order.c) ---- */

/* All stages' blocks, [n_stages][blocks per stage], in running order, by the job's schedule. free() them. */
ek_status ek__job_order(const ek_job *job, ek_block **out, size_t *per_stage, ek_error *err);

/* ---- allocators (allocator.h) ---- */

/* Placing every event of one stage: static tensors first, then the blocks' events. @return the actual peak */
ek_status ek__stage_place(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                          size_t n_blocks, int64_t *actual, ek_error *err);

#endif
