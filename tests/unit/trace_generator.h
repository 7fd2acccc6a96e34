/* trace_generator.h - traces of pipeline-parallel training with known truth.
 *
 * A pipeline of stages runs its micro-batches in 1F1B order (with chunks: interleaved, as Megatron-LM orders them).
 * Each stage is one stream of operators with a pause of PAUSE between them; a block that needs another stage's result
 * waits in a receive until the other's send has ended, so that waits are those of the pipeline and not invented. The
 * operators of a layer, its backward pass and its recomputation come from a table; durations from a hash of the
 * operator's place, so that nothing is stored and a trace may have any size, which grows with the steps.
 *
 * Three forms: MindSpore's on Ascend (trace_view.json: ts and dur as texts; layers MindSpore, Scope Layer, Ascend
 * Hardware, HCCL, Overlap Analysis), PyTorch's on a GPU (nn.Module ranges, launches, fwdbwd flows, recompute_fn), and
 * PyTorch's on Ascend (torch_npu: the host side of the one, the device side of the other, a task queue between them,
 * arrows async_npu and HostToDevice). Times are whole nanoseconds, so the truth is exact. */
#ifndef TESTS_UNIT_TRACE_GENERATOR_H
#define TESTS_UNIT_TRACE_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_form { TRACE_MINDSPORE, TRACE_TORCH, TRACE_TORCH_NPU } trace_form;

/* The part of a layer that runs a second time before its backward pass. */
typedef enum trace_rerun { TRACE_RERUN_NONE, TRACE_RERUN_FULL, TRACE_RERUN_SELECT } trace_rerun;

/* The parameters of a trace. Zero means one stage, chunk, micro-batch, step, layer. */
typedef struct trace_shape {
    trace_form form;
    int n_stages, n_micro_batches, n_steps;
    int n_chunks; /* with more than one, micro-batches must be a multiple of the stages */
    int n_layers; /* of one chunk */
    int n_dense;  /* the first layers of the model are of another kind, "DenseLayer", and take 0.6 of the time */
    const trace_rerun *rerun; /* [stages x chunks x layers] by number of the layer; NULL: none */
    bool shared_numbers;      /* MindSpore: operators keep their number in every micro-batch and step */
    bool select_in_default;   /* MindSpore: operators run again keep the scope Default, else recompute_Default */
    bool select_spread;       /* each operator runs again just before its own gradient, not before all of them */
    bool names_in_arguments;  /* MindSpore: kernels have their own names, operators are in args.mindspore_op */
    bool nameless_kernels;    /* MindSpore: kernels have their own names and no operator: only scopes identify them */
    bool names_on_host;       /* MindSpore: operators are only in the host's layer, with arrows to kernels; no scopes */
    bool bare;                /* neither head nor tail nor optimizer */
    bool no_step_marks;
    double jitter;  /* durations vary by up to this share */
    double warm_up; /* durations of the first step are that many times longer; 0: 1 */
    unsigned seed;
    /* ---- for runs with and without faults ---- */
    double scale;         /* durations of operators times this; 0: 1 */
    bool equal_layers;    /* all layers take the same time */
    bool no_ends;         /* neither head nor tail */
    const int *layers_of; /* [stages x chunks]: layers of each chunk, chunk 0 of all stages first; NULL: n_layers */
    int n_data;           /* replicas of the pipeline, rank = stage * n_data + replica; 0: one */
    bool gradients;       /* each layer's gradients are reduced as soon as they are there, during the next layer */
    int64_t gradient_transfer; /* nanoseconds that takes, a layer; 0: 0.1 ms times the scale */
    bool scatter_gradients;    /* ReduceScatter instead of AllReduce */
    bool launches;             /* MindSpore: CANN's launches, with arrows */
    /* Faults, in every step; zero is none. Times in nanoseconds. */
    const char *slow_operator; /* executions of this one, "FlashAttentionScore", take slow_by times as long ... */
    double slow_by;
    int slow_every;           /* ... in every such layer; 0: in all */
    bool late_gradients;      /* gradients are reduced after the last block only, and nothing else runs */
    int64_t redistribution;   /* an AllGather with nothing beside it, in each layer's forward and backward pass */
    bool redistribute_to_all; /* AlltoAll instead */
    int64_t data_wait;        /* the data iterator lets every step begin that much later */
    int64_t gap;              /* the host collects garbage before the forward pass of n_gaps micro-batches ... */
    int n_gaps;
    bool gap_is_synchronization; /* ... or waits for the device there */
    int64_t dispatch;            /* launching takes that much longer, before every operator */
    int slow_rank;
    double slow_rank_by; /* that rank's operators take that much longer: 0.1 */
} trace_shape;

typedef enum trace_item_kind {
    TRACE_STEP,       /* host step mark */
    TRACE_TASK,       /* device operator; `operator_name` of the framework, or NULL */
    TRACE_COLLECTIVE, /* device collective */
    TRACE_COMPUTING,  /* Overlap Analysis */
    TRACE_COMMUNICATION,
    TRACE_NOT_OVERLAPPED,
    TRACE_FREE,
    TRACE_SCOPE,      /* thread: depth */
    TRACE_MODULE,     /* host; thread 1 runs forward, 2 backward */
    TRACE_RECOMPUTE,  /* host: recompute_fn */
    TRACE_HOST_OP,    /* host: aten::... */
    TRACE_BACKWARD,   /* host: an operator of the backward pass */
    TRACE_LAUNCH,     /* host: runtime call; id: correlation */
    TRACE_FLOW_START, /* fwdbwd */
    TRACE_FLOW_END,
    TRACE_DATA,        /* host: the data iterator */
    TRACE_GC,          /* host: garbage collection */
    TRACE_SYNCHRONIZE, /* host: waits for a stream */
} trace_item_kind;

/* One event. Texts are valid during the call only. */
typedef struct trace_item {
    trace_item_kind kind;
    int stage, rank, step, thread;
    const char *name, *operator_name, *task_type;
    int64_t start, duration; /* nanoseconds */
    int64_t id;              /* connection, correlation or flow; 0: none */
} trace_item;

typedef void trace_sink(void *user, const trace_item *item);

/* One execution. */
typedef struct trace_execution {
    int step;
    int64_t wall, busy;
} trace_execution;

enum { TRACE_FORWARD, TRACE_RERUN, TRACE_BACK, TRACE_N_DIRECTIONS };

typedef struct trace_truth_layer {
    char name[64];    /* path element or module */
    int stage, index; /* index: -1 for head and tail */
    bool is_tail;
    int n[TRACE_N_DIRECTIONS];
    trace_execution *execution[TRACE_N_DIRECTIONS];
} trace_truth_layer;

/* One step of one stage. Nanoseconds. */
typedef struct trace_truth_step {
    int64_t host_start, host_duration, start, end;
    int64_t computing, communication, not_overlapped, free, receive, send;
    int n_receives, n_sends;
} trace_truth_step;

typedef struct trace_truth {
    int n_layers, n_stages, n_steps;
    trace_truth_layer *layer; /* by stage, then in order of first execution */
    trace_truth_step *step;   /* [ranks][n_steps] */
    int64_t *period;          /* [n_steps]: from the step's beginning to that of the next */
} trace_truth;

/* Give every event of every stage to `sink`; those of a stage come in order of time, except for enclosing events.
 * `truth` may be NULL. false: memory is out, or the shape is impossible. O(events). */
bool trace_generate(const trace_shape *shape, trace_sink *sink, void *user, trace_truth *truth);
void trace_truth_clear(trace_truth *truth);

/* Write the files of all stages below `folder`, which exists: rank_N_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json
 * (torch_npu: _pt) with profiler_info_N.json beside that folder, or rank_N.json. Without replicas stage s is rank s.
 * false: not written.
 */
bool trace_write(const trace_shape *shape, const char *folder, trace_truth *truth);
/* Where trace_write() puts the trace of a stage. */
void trace_file(const trace_shape *shape, const char *folder, int stage, char *path, size_t size);

/* Delete the files that trace_write() wrote for a stage. */
void trace_remove(trace_form form, const char *folder, int stage);

#endif
