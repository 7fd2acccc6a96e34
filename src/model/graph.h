/* model/graph.h - a layer as a graph of operators, for one micro-batch on one rank. Builders (layer_*.c) fill it;
 * everything else derives: what is kept (kept.c), how tensors come and go (program.c), how long it takes (src/cost).
 *
 * Operators stand in the order they run forward; backward is that order turned round. A tensor is made by one operator
 * or is the graph's input. */
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

/* Of EK__OP_COMM: what it does forward; backward does the opposite. */
typedef enum ek__comm { EK__COMM_GATHER, EK__COMM_SCATTER, EK__COMM_REDUCE, EK__COMM_ALLTOALL } ek__comm;
typedef enum ek__group { EK__GROUP_TENSOR, EK__GROUP_CONTEXT, EK__GROUP_EXPERT } ek__group;

typedef struct ek__tensor {
    const char *name; /* for people: "q after RoPE" */
    int64_t bytes;
    ek_dtype dtype;
    int n_dims;
    int64_t dim[4];
    int producer;     /* operator; -1: the graph's input, or none yet */
    int storage;      /* itself, or for the output of a view the tensor whose bytes it shares */
    bool elsewhere;   /* made in a buffer that stays, which the stage counts: no bytes of its own */
    bool no_gradient; /* masks, statistics, indices, labels */
} ek__tensor;

typedef struct ek__parameter {
    const char *name;        /* "attention.wq.weight" */
    int64_t elements;        /* on one rank */
    int64_t first_dimension; /* on one rank: sharding needs it to divide */
    ek_dtype dtype;
    int copies;  /* ranks of the t cp (ep) plane that hold the same slice: 1 for what tensor parallelism cuts, t for
                  * norms; the sharing group is d cp (d cp / ep for experts) times this */
    bool expert; /* of a routed expert */
    bool exempt; /* never sharded: norms' gammas, in MindFormers; small ones go by the threshold */
    bool table;  /* the embedding table */
    int64_t rows, columns; /* of one matrix of it, as it stands on the rank; 0: no weight of a linear layer */
    bool end;              /* of the embedding's or the head's graph */
    bool tied; /* the head's matrix where that is the table: on a stage that has the table it is no second one */
} ek__parameter;

typedef struct ek__op {
    const char *path; /* "feed_forward.w1.matmul": cells, then the primitive; what patterns are matched against */
    ek__op_kind kind;
    int n_in, n_out, n_needs;
    int in[EK__MAX_IN]; /* tensors read forward; needed again when it is recomputed */
    int out[EK__MAX_OUT];
    int needs[EK__MAX_NEEDS]; /* tensors, of its inputs or outputs, that its gradient reads */
    int parameter;            /* whose weight it multiplies with, -1 */
    int64_t workspace;        /* bytes it needs besides while it runs forward, backward */
    int64_t backward_workspace;
    bool overwrites;        /* its gradient is written over in[0], which it needs */
    bool in_place;          /* its output takes the storage of in[0] where nothing else needs that */
    bool always_recomputed; /* whatever the settings say: a cast to fp32, a gather that backward repeats */
    int comm_after;         /* for EK__OP_COMM: the operator behind whose primitive it comes, which is what a pattern of
                             * select_comm_recompute names; -1 */
    int requires; /* operator that has to be recomputed as well, or recomputing this one is optimised away; -1 */
    /* For times. */
    double flops, bytes_moved;                   /* forward; backward: */
    double backward_flops, backward_bytes_moved; /* without the gradient of the weight */
    double weight_flops;                         /* of the gradient of the weight */
    ek__comm comm;
    ek__group group;
    double comm_bytes; /* of the whole message, as spec of collectives counts it: full size of a gather */
} ek__op;

typedef struct ek__graph {
    char name[EK_NAME_SIZE];
    int n_ops, n_tensors, n_parameters;
    ek__op op[EK__MAX_OPS];
    ek__tensor tensor[EK__MAX_TENSORS];
    ek__parameter parameter[EK__MAX_PARAMETERS];
    int input, output; /* tensors; output -1 for the head, whose loss is the end */
} ek__graph;

/* What a graph is of. The embedding's input and the head's output are no tensors of activations. */
typedef enum ek__graph_kind {
    EK__GRAPH_EMBEDDING,
    EK__GRAPH_DENSE,
    EK__GRAPH_EXPERTS,
    EK__GRAPH_PREDICTION, /* a layer of multi-token prediction, with its own head and loss behind it */
    EK__GRAPH_HEAD,       /* last norm, lm_head, loss */
} ek__graph_kind;
enum { EK__N_GRAPH_KINDS = 5 };

/* Build the graph of a kind for a job that passes ek_job_check(). The result is valid, as below. O(operators). */
void ek__graph_build(const ek_job *job, ek__graph_kind kind, ek__graph *out);

/* Is a finished graph consistent? Every index is in range; an operator reads what operators before it made; a tensor is
 * made by one operator, or by none where it is the graph's input; a storage owns itself; bytes, elements and FLOPs are
 * not negative. For asserts and tests. O(operators + tensors + parameters). */
bool ek__graph_is_valid(const ek__graph *graph);

/* ---- patterns (pattern.c) ---- */

/* Operators that a pattern names, op[] of the graph set to true: docs/models.md, "How a pattern matches". For patterns
 * of kind comm, the communication operators behind what it names. @return how many, at most n_ops */
int ek__pattern_match(const ek__graph *graph, const char *pattern, ek_pattern_kind kind, bool matched[EK__MAX_OPS]);

/* What a layer recomputes. */
typedef struct ek__recompute {
    bool full;
    uint64_t patterns; /* bit i, below EK_MAX_PATTERNS: job->pattern[i] holds for the layer */
} ek__recompute;

/* Which operators are really recomputed for a layer's settings: matches, minus excluded, minus those whose `requires`
 * is not recomputed, plus always_recomputed. With `full` all but the excluded. O(patterns x operators). */
void ek__graph_recomputed(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS]);
/* The last two steps of it: of operators that settings name, leave those whose recomputation the compiler does not
 * undo, and add those that are always recomputed. */
void ek__graph_settle(const ek__graph *graph, bool *recomputed);
/* Which operators run a second time. The same, but for Megatron's modules, whose checkpoints are reentrant: those run
 * all of their function again, with the last operator, whose result was kept; and but for torchtitan's, which stop once
 * all is there that a gradient reads (set_checkpoint_early_stop() of torch.utils.checkpoint), as its compiler does: a
 * layer's last product does not run again. O(patterns x operators). */
void ek__graph_run_again(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS]);

/* ---- kept.c ---- */

/* Storages kept from forward to backward: those a gradient needs, directly or to recompute what it needs, that no
 * recomputed operator makes. @param kept  [n_tensors], true for the tensor that owns the storage. @return bytes */
int64_t ek__graph_keep(const ek__graph *graph, const bool *recomputed, bool *kept);

/* ---- building (graph.c) ---- */

/* A tensor of n_dims dimensions, 1 to 4, none negative; its producer is set by the operator that has it as output.
 * @return its index */
int ek__add_tensor(ek__graph *graph, const char *name, ek_dtype dtype, int n_dims, const int64_t *dim);
/* The same, of so many bytes, 0 or more, that are no multiple of a dtype's (statistics, masks). */
int ek__add_bytes(ek__graph *graph, const char *name, int64_t bytes, bool no_gradient);
/* @param copies  0 or more; 0 counts as 1. @return the parameter's index */
int ek__add_parameter(ek__graph *graph, const char *name, int64_t elements, int64_t first_dimension, ek_dtype dtype,
                      int copies);
/* An operator without inputs or outputs yet. @return it, valid until the graph is gone */
ek__op *ek__add_op(ek__graph *graph, const char *path, ek__op_kind kind);
/* The operator reads a tensor, which an operator before it has made unless nothing makes it. */
void ek__op_in(ek__graph *graph, ek__op *op, int tensor);
/* The operator makes a tensor that nothing has made so far. A view has its input already. */
void ek__op_out(ek__graph *graph, ek__op *op, int tensor);
/* The operator's gradient reads a tensor of the graph. */
void ek__op_need(ek__graph *graph, ek__op *op, int tensor);

/* Is it a matrix of a linear layer that the job multiplies with in 8 bits? Tables, heads, routers, norms and biases are
 * not. */
bool ek__parameter_in_8_bits(const ek_job *job, const ek__parameter *parameter);

#endif
