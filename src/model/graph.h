/* model/graph.h - a layer as a graph of operators, for one micro-batch on one rank. Builders (layer_*.c) fill it; the
 * rest is derived: saved activations (kept.c), lifetimes of tensors (program.c), times (src/cost).
 *
 * Operators are in forward order; backward is the reverse order. A tensor is made by one operator or is the graph's
 * input. */
#ifndef EK_MODEL_GRAPH_H
#define EK_MODEL_GRAPH_H

#include "evenkeel/job.h"

enum {
    EK__MAX_OPS = 128,
    EK__MAX_TENSORS = 192,
    EK__MAX_PARAMETERS = 48,
    EK__MAX_IN = 6,
    EK__MAX_OUT = 4,
    EK__MAX_NEEDS = 8,
};

typedef enum ek__op_kind {
    EK__OP_MATMUL,
    EK__OP_ATTENTION, /* fused */
    EK__OP_NORM,
    EK__OP_ELEMENTWISE, /* adds, products, activations, RoPE, casts, softmax, copies */
    EK__OP_VIEW,        /* reshape: its output has its input's storage */
    EK__OP_LOOKUP,      /* embedding */
    EK__OP_COMM,        /* collective */
} ek__op_kind;

/* Of EK__OP_COMM: its forward operation; backward does the opposite. */
typedef enum ek__comm { EK__COMM_GATHER, EK__COMM_SCATTER, EK__COMM_REDUCE, EK__COMM_ALLTOALL } ek__comm;
typedef enum ek__group { EK__GROUP_TENSOR, EK__GROUP_CONTEXT, EK__GROUP_EXPERT } ek__group;

typedef struct ek__tensor {
    const char *name; /* for people: "q after RoPE" */
    int64_t bytes;
    ek_dtype dtype;
    int n_dims;
    int64_t dim[4];
    int producer;     /* operator; -1: the graph's input, or none yet */
    int storage;      /* itself, or for the output of a view the tensor with the shared bytes */
    bool elsewhere;   /* made in a persistent buffer, which the stage counts: without its own bytes */
    bool no_gradient; /* masks, statistics, indices, labels */
} ek__tensor;

typedef struct ek__parameter {
    const char *name;        /* "attention.wq.weight" */
    int64_t elements;        /* on one rank */
    int64_t first_dimension; /* on one rank: must divide for sharding */
    ek_dtype dtype;
    int copies;  /* ranks of the t cp (ep) plane that hold the same slice: 1 for tensors that tensor parallelism cuts, t
                  * for norms; the sharing group is d cp (d cp / ep for experts) times this */
    bool expert; /* of a routed expert */
    bool exempt; /* never sharded: norms' gammas, in MindFormers; small ones go by the threshold */
    bool table;  /* the embedding table */
    int64_t rows, columns; /* of one of its matrices on the rank; 0: not a weight of a linear layer */
    bool end;              /* of the embedding's or the head's graph */
    bool tied;             /* the head's matrix if it is the table: not a second one on a stage that has the table */
} ek__parameter;

typedef struct ek__op {
    const char *path; /* "feed_forward.w1.matmul": cells, then the primitive; patterns are matched against it */
    ek__op_kind kind;
    int n_in, n_out, n_needs;
    int in[EK__MAX_IN]; /* tensors read forward; needed again if it is recomputed */
    int out[EK__MAX_OUT];
    int needs[EK__MAX_NEEDS]; /* tensors, of its inputs or outputs, that its gradient reads */
    int parameter;            /* parameter it multiplies with, -1 */
    int64_t workspace;        /* extra bytes while it runs forward, backward */
    int64_t backward_workspace;
    bool overwrites;        /* its gradient overwrites in[0], which it reads */
    bool in_place;          /* its output reuses the storage of in[0] if nothing else needs that */
    bool always_recomputed; /* for any settings: a cast to fp32, a gather that backward repeats */
    int comm_after;         /* for EK__OP_COMM: the preceding operator, which a pattern of select_comm_recompute names;
                             * -1 */
    int requires; /* operator that must also be recomputed, otherwise recomputing this one is optimised away; -1 */
    /* For times. */
    double flops, bytes_moved;                   /* forward; backward: */
    double backward_flops, backward_bytes_moved; /* without the gradient of the weight */
    double weight_flops;                         /* of the gradient of the weight */
    ek__comm comm;
    ek__group group;
    double comm_bytes; /* of the whole message, as in the specification of collectives: full size of a gather */
} ek__op;

typedef struct ek__graph {
    char name[EK_NAME_SIZE];
    int n_ops, n_tensors, n_parameters;
    ek__op op[EK__MAX_OPS];
    ek__tensor tensor[EK__MAX_TENSORS];
    ek__parameter parameter[EK__MAX_PARAMETERS];
    int input, output; /* tensors; output -1 for the head, which ends with the loss */
} ek__graph;

/* The kind of a graph. The embedding's input and the head's output are not activation tensors. */
typedef enum ek__graph_kind {
    EK__GRAPH_EMBEDDING,
    EK__GRAPH_DENSE,
    EK__GRAPH_EXPERTS,
    EK__GRAPH_PREDICTION, /* a layer of multi-token prediction, followed by its own head and loss */
    EK__GRAPH_HEAD,       /* last norm, lm_head, loss */
} ek__graph_kind;
enum { EK__N_GRAPH_KINDS = 5 };

/* Build the graph of a kind for a job that passes ek_job_check(). The result is valid, as below. O(operators). */
void ek__graph_build(const ek_job *job, ek__graph_kind kind, ek__graph *out);

/* Is a finished graph consistent? Every index is in range; an operator reads outputs of earlier operators; a tensor is
 * made by one operator, or by none if it is the graph's input; a storage owns itself; bytes, elements and FLOPs are not
 * negative. For asserts and tests. O(operators + tensors + parameters). */
bool ek__graph_is_valid(const ek__graph *graph);

/* ---- patterns (pattern.c) ---- */

/* Set op[] of the graph to true for operators that a pattern names: docs/models.md, "How a pattern matches". For
 * patterns of kind comm, the communication operators after the named ones. @return their number, at most n_ops */
int ek__pattern_match(const ek__graph *graph, const char *pattern, ek_pattern_kind kind, bool matched[EK__MAX_OPS]);

/* The recomputation of a layer. */
typedef struct ek__recompute {
    bool full;
    uint64_t patterns; /* bit i, below EK_MAX_PATTERNS: job->pattern[i] applies to the layer */
} ek__recompute;

/* Which operators are really recomputed for a layer's settings: matches, minus excluded, minus those with a `requires`
 * that is not recomputed, plus always_recomputed. With `full` all except the excluded. O(patterns x operators). */
void ek__graph_recomputed(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS]);
/* The last two steps of it: remove operators with a recomputation that the compiler undoes, and add those that are
 * always recomputed. */
void ek__graph_settle(const ek__graph *graph, bool *recomputed);
/* Which operators run a second time. The same, with two exceptions. Megatron's modules have reentrant checkpoints,
 * which run their whole function again, including the last operator, although its result was saved. torchtitan's
 * checkpoints stop when all inputs of gradients exist (set_checkpoint_early_stop() of torch.utils.checkpoint), as its
 * compiler does: a layer's last product does not run again. O(patterns x operators). */
void ek__graph_run_again(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS]);

/* ---- kept.c ---- */

/* Storages saved from forward to backward: those that a gradient needs, directly or for recomputing its inputs, and
 * that no recomputed operator makes. @param kept [n_tensors], true for the tensor that owns the storage. @return
 * bytes */
int64_t ek__graph_keep(const ek__graph *graph, const bool *recomputed, bool *kept);

/* ---- building (graph.c) ---- */

/* A tensor of n_dims dimensions, 1 to 4, none negative; its producer is set by the operator that has it as output.
 * @return its index */
int ek__add_tensor(ek__graph *graph, const char *name, ek_dtype dtype, int n_dims, const int64_t *dim);
/* The same, of `bytes` bytes, 0 or more, which are not a multiple of a dtype's size (statistics, masks). */
int ek__add_bytes(ek__graph *graph, const char *name, int64_t bytes, bool no_gradient);
/* @param copies  0 or more; 0 counts as 1. @return the parameter's index */
int ek__add_parameter(ek__graph *graph, const char *name, int64_t elements, int64_t first_dimension, ek_dtype dtype,
                      int copies);
/* An operator without inputs or outputs yet. @return it, valid as long as the graph */
ek__op *ek__add_op(ek__graph *graph, const char *path, ek__op_kind kind);
/* The operator reads a tensor, which an earlier operator makes, unless nothing does. */
void ek__op_in(ek__graph *graph, ek__op *op, int tensor);
/* The operator makes a tensor that nothing has made so far. A view must already have its input. */
void ek__op_out(ek__graph *graph, ek__op *op, int tensor);
/* The operator's gradient reads a tensor of the graph. */
void ek__op_need(ek__graph *graph, ek__op *op, int tensor);

/* Is it a matrix of a linear layer that the job multiplies with in 8 bits? Tables, heads, routers, norms and biases are
 * not. */
bool ek__parameter_in_8_bits(const ek_job *job, const ek__parameter *parameter);

#endif
