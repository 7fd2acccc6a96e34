/* memory/program.h - compiles a graph with its recomputation into the order in which buffers are taken and released.
 *
 * A program has three parts: forward, backward, weight gradient (empty unless the schedule splits the backward pass;
 * then it computes the gradients of weights, and their inputs stay alive until then). Each is a list of events on
 * numbered buffers. Rules:
 *
 *   forward   an operator's outputs and workspace are taken before it runs. After it, its workspace is released,
 *             and the inputs that are not kept and not read later in the forward pass. Kept storages stay.
 *   backward  operators in reverse order. Before an operator's gradient, its missing inputs are recomputed in
 *             forward order and live until their last use, and these are taken: the cast (or gathered) weight, the
 *             gradients of its inputs and of its weight, workspace. After it, these are released: the gradient of
 *             its outputs, kept storages after their last use, and other finished buffers. If several operators
 *             read a tensor, its second gradient is a separate tensor until it is added to the first. A sum passes
 *             its output's gradient to its inputs without a copy, and so does a view.
 *   weights   multiplied in compute type. The gradient of a weight comes after that of the matmul's input, as a
 *             separate operator; it is also of compute type and is cast to the buffer's type, then added to it.
 *             Without a gradient buffer it stays to the end of the step (class GRADIENT): the chunk's first micro-
 *             batch takes its buffer, later ones add to it; the event of taking it must be skipped for them.
 *   borders   buffer INPUT is taken by its maker (the layer before, or the receiving end of a transfer) and then
 *             belongs to this layer; OUTPUT is taken here and becomes the next layer's INPUT. OUTPUT_GRADIENT is
 *             taken by the next layer (or by the transfer) and released here; INPUT_GRADIENT is taken here and
 *             passed on.
 */
#ifndef EK_MEMORY_PROGRAM_H
#define EK_MEMORY_PROGRAM_H

#include "evenkeel/schedule.h"
#include "model/graph.h"

enum { EK__BUFFER_INPUT, EK__BUFFER_OUTPUT, EK__BUFFER_OUTPUT_GRADIENT, EK__BUFFER_INPUT_GRADIENT, EK__N_BORDERS };

/* Maximum for a graph within the limits of graph.h: every operator's outputs and workspace forward and recomputed
 * twice, its weights in three parts, and for its backward pass gradients of its inputs, sums and weight. */
enum { EK__MAX_BUFFERS = 4096 };

typedef enum ek__buffer_class {
    EK__CLASS_KEPT,      /* from forward to backward (or the weight gradient) */
    EK__CLASS_TRANSIENT, /* within one part */
    EK__CLASS_GRADIENT,  /* of a weight, kept to the end of the step: only without a gradient buffer */
    EK__CLASS_BORDER,
} ek__buffer_class;

typedef struct ek__buffer {
    int64_t bytes; /* rounded up to an allocator's unit, 512 */
    ek__buffer_class what;
    const char *op;   /* path of its operator */
    const char *name; /* of the tensor, or "gradient of ..." */
} ek__buffer;

/* +b + 1: buffer b is taken; -(b + 1): released. */
typedef int16_t ek__memory_event;

/* Bytes relative to those alive at the beginning of a part, which include its borders taken by others. */
typedef struct ek__profile_of_part {
    int64_t peak; /* most at any event */
    int64_t end;
    int peak_event; /* index of the event after which it is; -1: the start */
} ek__profile_of_part;

typedef struct ek__program {
    const ek__graph *graph; /* borrowed */
    int number;             /* among the programs of its job */
    int n_buffers;
    ek__buffer *buffer;
    int n_events[EK_N_BLOCK_KINDS];
    ek__memory_event *event[EK_N_BLOCK_KINDS];
    int16_t *event_op[EK_N_BLOCK_KINDS];           /* operator that runs at the event, for messages */
    ek__profile_of_part profile[EK_N_BLOCK_KINDS]; /* of a micro-batch that is not the chunk's first */
    ek__profile_of_part first[EK_N_BLOCK_KINDS];   /* of the first, which takes buffers of class GRADIENT */
    int64_t kept; /* bytes kept after a forward pass: class KEPT, with INPUT if it is kept */
} ek__program;

/*
 * Compile. A program that holds the inputs of backward releases everything it takes, except kept weight gradients, and
 * leaves one border for each that it received.
 * @param graph       as of ek__graph_is_valid()
 * @param recomputed  [n_ops] as of ek__graph_recomputed()
 * @param full        the layer is recomputed whole: only INPUT is kept, and backward begins by running forward again
 * @param split       the schedule splits the backward pass
 */
ek_status ek__program_new(const ek_job *job, const ek__graph *graph, const bool *recomputed, bool full, bool split,
                          ek__program **out, ek_error *err);
void ek__program_free(ek__program *program);

/* The saved activations of a layer's program. */
typedef enum ek__hold {
    EK__HOLD_NEEDED, /* inputs of backward */
    EK__HOLD_INPUT,  /* recomputed whole: the input, and operators excluded from recomputation */
    /* Layers recomputed whole as a group: forward passes that save nothing. The first one's INPUT is released by the
     * program of kind NEEDED that runs forward again. */
    EK__HOLD_FIRST,
    EK__HOLD_NOTHING,
} ek__hold;

/* Bytes that a program counts for a saved tensor of a given size: scaled by the job's rule, in whole blocks. */
int64_t ek__kept_bytes(const ek_job *job, int64_t bytes);

/* ek__program_new() with a stage's additional data. @param border_bytes of the tensor between layers; 0: the graph's
 * input, or its output if it has none */
ek_status ek__program_compile(const ek_job *job, const ek__graph *graph, const bool *recomputed, ek__hold hold,
                              bool split, int64_t border_bytes, ek__program **out, ek_error *err);

/* One part of a program that a block runs. */
typedef struct ek__run {
    const ek__program *program;
    int16_t part;      /* ek_block_kind, of the program: a backward block may run forward parts again */
    int16_t entry;     /* of the chunk; border tensors belong to the position between two entries */
    bool drops_output; /* OUTPUT is released directly after it: it is not read again */
} ek__run;

/* Bytes that parameters hold for the whole step. */
typedef struct ek__persistent_bytes {
    int64_t weight, gathered, gradient, optimizer;
} ek__persistent_bytes;

/* The programs of a stage's model: one for each kind of layer and its recomputation, found by stage, chunk and layer.
 * Entries: position of a chunk's parts in running order: [embedding,] layers, [head]. */
typedef struct ek__chunk_programs {
    int n;
    const ek__program **program; /* [n] in forward order; backward runs them from the last to the first */
    int *layer;                  /* [n] layer of the chunk; -1 embedding, layers of the chunk: head */
    int n_of_kind[EK__N_GRAPH_KINDS];
    /* The parts that a block runs in order, once for each of parallel.n_batch_interleave copies. For entries recomputed
     * together the forward block runs different programs than the backward block. */
    int n_runs[EK_N_BLOCK_KINDS];
    ek__run *run[EK_N_BLOCK_KINDS];
    bool receives, sends; /* the chunk's input comes from another stage, its output goes to one: INPUT (and backward
                           * OUTPUT_GRADIENT) is then taken at the block's beginning, OUTPUT (and INPUT_GRADIENT)
                           * released at its end. Otherwise they pass from chunk to chunk. Also false at the model's
                           * ends */
    ek__profile_of_part block[EK_N_BLOCK_KINDS],
        first_block[EK_N_BLOCK_KINDS]; /* of whole blocks, from the bytes before the block; peak_event is the run,
                                        * counted over all copies */
} ek__chunk_programs;

/* The key of a job's programs (job_programs.c). */
typedef struct ek__program_key ek__program_key;

typedef struct ek__job_programs {
    int n_programs;
    ek__program **program;
    ek__program_key *key; /* [n_programs] */
    size_t program_capacity, key_capacity;
    ek__graph *graph[EK__N_GRAPH_KINDS]; /* NULL if the job has no such layer */
    ek__persistent_bytes bytes[EK__N_GRAPH_KINDS];
    int n_cells;
    ek__chunk_programs *chunk;       /* [n_cells], [plan.n_chunks][n_stages]: indexed as in ek_plan */
    int64_t border, border_gradient; /* bytes of the tensor between layers, and of its gradient */
    int64_t mask; /* bytes of a micro-batch's mask (of one copy), alive from its first forward block on a stage (chunk
                   * 0, or the one of its direction) to that chunk's backward block */
} ek__job_programs;

/* Kind of a decoder layer, counted through the model from 0; those of multi-token prediction come after them. */
ek__graph_kind ek__layer_graph_kind(const ek_job *job, int layer);
/* Index of the chunk of a block of a stage in a plan's arrays. @param chunk  below ek__stage_n_chunks() */
int ek__stage_cell(const ek_job *job, int stage, int chunk);
/* Chunks that a stage runs: the plan's, or two if micro-batches run in both directions. */
int ek__stage_n_chunks(const ek_job *job);
ek_status ek__job_programs_new(const ek_job *job, ek__job_programs **out, ek_error *err);
void ek__job_programs_free(ek__job_programs *programs);
/* Rebuild one chunk after a change of the job's plan; existing programs are reused. The stages' other chunks and their
 * number do not change.
 * @param position  of the chunk in the model, below n_cells
 * @param first     layers before it. O(layers of the chunk) if their programs exist */
ek_status ek__job_programs_set_chunk(ek__job_programs *programs, const ek_job *job, int position, int first,
                                     ek_error *err);

/* ---- persistent memory (persistent.c) ---- */

/* Does the operator take its weight in compute type? Norms and lookups take it in its stored type. */
bool ek__op_in_compute_type(const ek__op *op);
/* Ranks that a parameter is cut over, at least 1; 1: it stays whole. */
int64_t ek__parameter_shards(const ek_job *job, const ek__parameter *parameter);
/* Bytes of an element of a stored weight, and of its additional persistent copies in 8 bits (rules.fp8_copies). */
int ek__stored_bytes(const ek_job *job, const ek__parameter *parameter);
int ek__copy_bytes(const ek_job *job, const ek__parameter *parameter);
/* Bytes of a gathered element. @param in_compute_type whether it is multiplied in that type */
int64_t ek__gathered_bytes(const ek_job *job, const ek__parameter *parameter, bool in_compute_type);
/* Bytes of an element in a state with the given bytes per element: those of the parameter's own type if the state has
 * the type of the others. */
int64_t ek__state_bytes(const ek_job *job, const ek__parameter *parameter, int state);
/* Bytes of one graph's parameters on one rank; a tied head's matrix counts if the table is on another stage. A
 * parameter's group is d cp (d cp / ep for an expert's) times its copies. */
ek__persistent_bytes ek__graph_persistent(const ek_job *job, const ek__graph *graph);
/* Bytes of all parameters of a stage. A table shared by the head counts once. */
ek__persistent_bytes ek__stage_persistent(const ek_job *job, const ek__job_programs *programs, int stage);
/* Constants of a stage: masks, rotary tables, caches of a sequence pipeline. */
int64_t ek__stage_constants(const ek_job *job, int stage);
/* Bytes of a stage that the rules and its constants add, for the whole step: those above, workspace_mb, constant_mb and
 * p2p_buffers. */
int64_t ek__stage_other(const ek_job *job, const ek__job_programs *programs, int stage);
/* Distinct shapes of a stage's weights, bytes in compute type of each: the tensors of dummy_gradients. @return their
 * number */
enum { EK__MAX_DUMMIES = EK__N_GRAPH_KINDS * EK__MAX_PARAMETERS };
int ek__stage_dummies(const ek_job *job, const ek__job_programs *programs, int stage, int64_t bytes[EK__MAX_DUMMIES]);
/* Does a cut weight stay gathered from its first operator to the end of the step? */
bool ek__gathered_for_step(const ek_job *job, const ek__parameter *parameter);
/* Bytes of the working buffers of FSDP and ZeRO: the next layer's gathered weights, and the whole gradients of a layer
 * while they are reduced; DeepSpeed's buckets, and its gathered weights. */
int64_t ek__stage_layer_buffers(const ek_job *job, const ek__job_programs *programs, int stage);
/* Bytes of the persistent buffer for results that are not separate tensors. */
int64_t ek__stage_elsewhere(const ek_job *job, const ek__job_programs *programs, int stage);
/* All persistent bytes of a stage: its used peak is these plus ek__stage_peak(). */
int64_t ek__stage_whole_step(const ek_job *job, const ek__job_programs *programs, int stage);
/* Bytes of one micro-batch's mask; 0 if there is none. */
int64_t ek__mask_bytes(const ek_job *job);

/* ---- the order of a stage's blocks (stage_order.c) ---- */

/* All stages' blocks, [n_stages][blocks per stage], in running order, by the job's schedule. free() them. */
ek_status ek__job_order(const ek_job *job, ek_block **out, size_t *per_stage, ek_error *err);

/* ---- allocators (allocator.h) ---- */

/* When to end placing, checked between blocks, which take microseconds. */
typedef struct ek__stop {
    bool (*over)(void *user); /* true: the time is over; NULL: never */
    void *user;
    int64_t most; /* bytes: a peak above it need not be exact; 0: all are exact */
} ek__stop;
/* The peak of a stage with stopped placement: above any limit. */
#define EK__NOT_PLACED INT64_MAX

/* Place every event of one stage: static tensors first, then the blocks' events.
 * @param stop    NULL: never
 * @param actual  out: the actual peak, or a lower bound of it above stop->most; EK__NOT_PLACED */
ek_status ek__stage_place(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                          size_t n_blocks, const ek__stop *stop, int64_t *actual, ek_error *err);

/* The actual peak of a stage, by the job's allocation; the other parameters as above. @param used its used peak */
ek_status ek__stage_actual(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                           size_t n_blocks, int64_t used, const ek__stop *stop, int64_t *actual, ek_error *err);

#endif
