/* trace_generator.h - traces of pipeline-parallel training whose truth is known.
 *
 * A pipeline of stages runs its micro-batches in 1F1B order (with chunks: interleaved, as Megatron-LM orders them).
 * Each stage is one stream of operators with a pause of PAUSE between them; a block that needs another stage's result
 * waits in a receive until the other's send has ended, so that waits are those of the pipeline and not invented. The
 * operators of a layer, its backward pass and what it runs again come from a table; durations from a hash of where the
 * operator runs, so that nothing is kept and a trace may be as large as one likes: its size grows with the steps.
 *
 * Three forms: what MindSpore writes on Ascend (trace_view.json: ts and dur as texts; layers MindSpore, Scope Layer,
 * Ascend Hardware, HCCL, Overlap Analysis), what PyTorch writes on a GPU (nn.Module ranges, launches, fwdbwd flows,
 * recompute_fn), and what PyTorch writes on Ascend (torch_npu: the host side of the one, the device side of the other,
 * a task queue between them, arrows async_npu and HostToDevice). Times are whole nanoseconds, so the truth is exact. */
#ifndef TESTS_UNIT_TRACE_GENERATOR_H
#define TESTS_UNIT_TRACE_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_form { TRACE_MINDSPORE, TRACE_TORCH, TRACE_TORCH_NPU } trace_form;

/* What of a layer runs a second time before its backward pass. */
typedef enum trace_rerun { TRACE_RERUN_NONE, TRACE_RERUN_FULL, TRACE_RERUN_SELECT } trace_rerun;

/* What to generate. Zero stands for one stage, chunk, micro-batch, step, layer. */
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
    bool names_in_arguments;  /* MindSpore: kernels have names of their own, operators stand in args.mindspore_op */
    bool nameless_kernels;    /* MindSpore: kernels have names of their own and no operator: only scopes tell */
    bool names_on_host; /* MindSpore: operators stand in the host's layer alone, with arrows to kernels; no scopes */
    bool bare;          /* neither head nor tail nor optimizer */
    bool no_step_marks;
    double jitter;  /* durations vary by up to this share */
    double warm_up; /* durations of the first step are that many times longer; 0: 1 */
    unsigned seed;
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
} trace_item_kind;

/* One event. Texts are valid during the call only. */
typedef struct trace_item {
    trace_item_kind kind;
    int stage, step, thread;
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
    trace_truth_step *step;   /* [n_stages][n_steps] */
} trace_truth;

/* Give every event of every stage to `sink`; those of a stage come in order of time, but for what encloses others.
 * `truth` may be NULL. false: memory is out, or the shape is impossible. O(events). */
bool trace_generate(const trace_shape *shape, trace_sink *sink, void *user, trace_truth *truth);
void trace_truth_clear(trace_truth *truth);

/* Write the files of all stages below `folder`, which exists: rank_N_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json
 * (torch_npu: _pt) with profiler_info_N.json beside that folder, or rank_N.json. Stage s is rank s. false: not written.
 */
bool trace_write(const trace_shape *shape, const char *folder, trace_truth *truth);
/* Where trace_write() puts the trace of a stage. */
void trace_file(const trace_shape *shape, const char *folder, int stage, char *path, size_t size);

/* Delete what trace_write() wrote of a stage. */
void trace_remove(trace_form form, const char *folder, int stage);

#endif
