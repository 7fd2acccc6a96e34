/* evenkeel/trace.h - reads profiles and computes where the time of a training step went.
 *
 * ek_trace_run_read() takes files and folders of one run, finds its ranks, reads every rank's files and fills an
 * ek_trace_run: the contents of the files, one ek_trace_rank per rank, and the results of comparing ranks. Times are
 * whole nanoseconds (profilers' epochs do not fit a double); EK_TRACE_UNKNOWN where the input lacks them. Memory is in
 * the unit of the field's name. Definitions: docs/trace.md; place of each figure in the JSON: docs/trace-json.md.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRACE_H
#define EVENKEEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/team.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

#define EK_TRACE_UNKNOWN INT64_MIN
enum { EK_TRACE_NO_RANK = -1, EK_TRACE_MAX_FILES = 1 << 24, EK_TRACE_MAX_NAMES = 64, EK_TRACE_MAX_BALLOTS = 10000 };

/** The program that wrote a rank's files. */
typedef enum ek_producer {
    EK_PRODUCER_UNKNOWN,
    EK_PRODUCER_TORCH_NPU,
    EK_PRODUCER_MINDSPORE,
    EK_PRODUCER_MSPROF,   /**< CANN's device profiler: MindSpore of 2023 */
    EK_PRODUCER_TIMELINE, /**< MindSpore of 2020 to 2022: timeline_display files */
    EK_PRODUCER_KINETO,   /**< PyTorch on GPU */
} ek_producer;
enum { EK_N_PRODUCERS = 6 };
/** "unknown", "torch_npu", "mindspore", "msprof", "timeline", "kineto". */
extern const char *const *const ek_producer_name;

/* ---- contents of the files ---- */

/** A file that was read. */
typedef struct ek_trace_source {
    const char *path;
    const char *type;       /**< "trace", "kernel_details", "step_trace_time", ... (src/trace/tables/files.h) */
    int64_t bytes;          /**< read of it (before decompression) */
    int64_t items;          /**< events or rows */
    const char *problem;    /**< NULL, or the error in it; the readable part is used */
    int64_t problem_offset; /**< byte of the (decompressed) file where reading stopped; EK_TRACE_UNKNOWN without one */
} ek_trace_source;

/** A process of the trace's own layers ("Ascend Hardware", "Python"), and its complete events. */
typedef struct ek_trace_process {
    const char *name; /**< NULL without metadata */
    const char *pid;  /**< as text */
    int64_t n_complete, total_ns, n_threads;
} ek_trace_process;

typedef struct ek_trace_category {
    const char *name; /**< "" for events without one */
    int64_t n_complete;
} ek_trace_category;

/** Counts of the files' contents, before interpretation. */
typedef struct ek_trace_counts {
    int64_t n_items;       /**< objects in the event array */
    int64_t by_phase[128]; /**< by the letter of "ph" */
    int64_t
        n_odd; /**< events left out: no or unusable name, time, duration, and begins or ends without the other half */
    int64_t n_unmatched;  /**< of those: begins and ends ("ph" B, E) without their other half */
    int64_t n_negative;   /**< complete events with a negative duration, which is taken as 0 */
    int64_t n_doubled;    /**< events of the device that occur twice with the same begin and end; they count once */
    int rank, world_size; /**< from the file itself ("distributedInfo"); EK_TRACE_NO_RANK, 0 */
    int n_processes, n_categories;
    ek_trace_process *process;   /**< [n_processes], by first appearance */
    ek_trace_category *category; /**< [n_categories], by name */
} ek_trace_counts;

/* ---- steps ---- */

/** Device time of one window by kind of work. Ascend: Overlap Analysis; Kineto: TraceLens' definition. */
typedef struct ek_trace_breakdown {
    int64_t n_events;  /**< device events counted */
    int64_t computing; /**< union of compute kernels (Kineto: and memset) */
    int64_t communication;
    int64_t communication_not_overlapped;
    int64_t overlapped;
    int64_t copy, copy_not_overlapped; /**< memory copies; not covered by computing or communication */
    int64_t busy;                      /**< union of all of the above */
    int64_t free;                      /**< Ascend: span - computing - not overlapped; Kineto: total - busy */
    int64_t total;                     /**< last end - first start */
} ek_trace_breakdown;

/** Activities of a step's time. Each instant counts once: for the first of these activities on the device, and when
 *  idle for the cause. */
typedef enum ek_trace_activity {
    EK_TRACE_FORWARD,
    EK_TRACE_RECOMPUTE, /**< a forward pass run again */
    EK_TRACE_BACKWARD,
    EK_TRACE_OPTIMIZER,       /**< with its preparation: clipping and scaling of gradients */
    EK_TRACE_POST,            /**< computing after the optimizer */
    EK_TRACE_OTHER_COMPUTING, /**< of unknown purpose */
    EK_TRACE_COLLECTIVES,     /**< exposed communication, except the next two */
    EK_TRACE_GRADIENTS,       /**< reduction of gradients */
    EK_TRACE_PIPELINE,        /**< sends and receives between stages, with their waiting */
    EK_TRACE_COPIES,          /**< memory copies without any overlapping work */
    EK_TRACE_DATA,            /**< idle while the host waits for data */
    EK_TRACE_HOST,            /**< idle because the host had not launched the next kernel yet */
    EK_TRACE_IDLE,            /**< idle for another or an unknown reason */
} ek_trace_activity;
enum { EK_N_TRACE_ACTIVITIES = 13 };
/** "forward", "recompute", "backward", "optimizer", "post", "other_computing", "collectives", "gradients", "pipeline",
 *  "copies", "data", "host", "idle". */
extern const char *const *const ek_trace_activity_name;

/** One training step on one rank. */
typedef struct ek_trace_step {
    const char *name; /**< "50"; "" when the trace has no step marks */
    bool warm_up;     /**< left out of means, layers and findings */
    bool from_table;  /**< figures of a CSV, not from events */
    bool average; /**< no step, but the producer's average over its whole profile; also marked warm_up, so in no mean */
    int64_t host_start, host_step; /**< start and duration of the host's step mark */
    int64_t start, end;            /**< device window, nanoseconds of the trace's clock */
    const char
        *producer_definition; /**< "torch_npu", "mindspore": the definition of the next stage, bubble and preparing */
    ek_trace_breakdown own;   /**< from the best source: overlap layer, else raw events, else a table */
    ek_trace_breakdown raw;   /**< from raw device events only */
    const char *source;       /**< of `own`: "overlap_layer", "raw_events", "kernel_details", "step_trace_time" */
    int64_t stage, bubble, preparing;       /**< the producer's definition */
    int64_t exclude_receive;                /**< not overlapped - bubble */
    int64_t producer_free;                  /**< the overlap layer's; MindSpore clips it to the step's window */
    int64_t table_stage, table_preparing;   /**< as the producer's CSV prints them */
    int64_t span, pipeline_wait, own_stage; /**< ours: last end - first start; receives outside computing; the rest */
    int64_t n_receives, receive, receive_exposed, n_sends, send;
    int64_t n_exchanges, exchange, exchange_exposed; /**< SendRecv kernels of unknown purpose */
    int64_t data_loading;                            /**< host time in the data iterator */
    int64_t data_loading_idle;                       /**< the part of it in which the device was idle */
    int64_t host_bound, device_bound, unlinked;      /**< idle time by cause */
    /* MindSpore of 2020 to 2023: step_trace_raw and ascend_cluster_analyse */
    int64_t iteration_interval, fp_and_bp, tail;
    int64_t communication_alone, receive_alone, collective_alone;
    int64_t scope_default_busy, scope_gradients_busy; /**< sums of compute tasks by the first part of their name */
    int64_t activity[EK_N_TRACE_ACTIVITIES]; /**< they sum to the step's length, or to its device window where that is
                                                  longer; EK_TRACE_UNKNOWN without events */
} ek_trace_step;

/* ---- idle device time ---- */

typedef struct ek_trace_stream_idle {
    const char *pid, *tid;
    int64_t n_events, host_wait, kernel_wait, other, n_host_wait, n_kernel_wait, n_other, n_no_launch;
} ek_trace_stream_idle;

/** Reasons why the device was idle. */
typedef struct ek_trace_idle {
    int64_t n_intervals, host_bound, n_host_bound, device_bound, n_device_bound, unlinked, n_unlinked; /**< Ascend */
    int64_t n_linked_tasks, n_tasks;
    int n_streams;
    ek_trace_stream_idle *stream; /**< [n_streams]: Kineto */
} ek_trace_idle;

/** A gap in which the device idled because the host had not launched the next kernel yet. */
typedef struct ek_trace_host_gap {
    int64_t start, end;
    const char *cause; /**< the host's main activity in it, as in ek_trace_dispatch.cause; "dispatch": nothing seen */
} ek_trace_host_gap;
enum { EK_TRACE_MAX_HOST_GAPS = 65536, EK_TRACE_MAX_SLOW = 65536 };

/** Is the host too slow to feed the device, and why? */
typedef struct ek_trace_dispatch {
    int64_t n_node_launch, n_enqueue, n_dequeue, n_compile, n_synchronize, n_launch, n_gc;
    int64_t host_bound, step_time; /**< summed over the steps counted */
    double share;                  /**< host_bound / step_time; NAN without steps */
    bool is_host_bound;            /**< share over ek_trace_options.host_bound_share */
    const char
        *cause; /**< "none", "data_loading", "compilation", "synchronization", "garbage_collection", "dispatch" */
    int n_gaps;
    ek_trace_host_gap *gap; /**< [n_gaps], by start: the longest EK_TRACE_MAX_HOST_GAPS; none when all of them together
                                 are under 0.5 % of the steps */
    int64_t gaps_left_out;  /**< nanoseconds in gaps beyond those */
    int64_t idle;           /**< of a step: the gaps of all causes but data_loading, with the idle time before the first
                                 kernel of a step; the figure of findings and diagnosis; EK_TRACE_UNKNOWN */
} ek_trace_dispatch;

/** A value that is valid until the next point. */
typedef struct ek_trace_value {
    int64_t time;
    double value;
} ek_trace_value;
enum { EK_TRACE_MAX_QUEUE_POINTS = 8190 };

/** Work that the host has launched and the device has not begun, if its launch is in the files. */
typedef struct ek_trace_queue {
    int64_t n;               /**< launches; 0: none, and all else is 0 */
    int64_t longest;         /**< most that waited at a time */
    double length;           /**< mean, from the first launch to the last begin; NAN where that is not a time */
    double delay;            /**< mean from a launch to the begin of the launched work, nanoseconds */
    int64_t longest_delay;   /**< 0 where clocks show a begin before its launch */
    int n_lengths, n_delays; /**< at most EK_TRACE_MAX_QUEUE_POINTS */
    ek_trace_value *lengths,
        *delays; /**< by time; of stretches of long ones the largest, least and last value remain */
} ek_trace_queue;

/* ---- layers ---- */

typedef enum ek_trace_role { EK_TRACE_HEAD, EK_TRACE_BODY, EK_TRACE_TAIL } ek_trace_role;
/** "head", "body", "tail". */
extern const char *const *const ek_trace_role_name;

typedef struct ek_trace_span {
    int64_t start, end;
} ek_trace_span;

/** The executions of one layer in one direction. Nanoseconds of one execution. */
typedef struct ek_trace_pass {
    int64_t n;
    double wall_mean, wall_median, wall_min, wall_max, wall_deviation; /**< first start to last end */
    double busy_mean, busy_median;                                     /**< sum of its operators */
    ek_trace_span longest; /**< of the first of the longest: from its first operator to its last; EK_TRACE_UNKNOWN */
} ek_trace_pass;

typedef struct ek_trace_layer {
    const char *name; /**< path element, "0-LLamaDecodeLayer" */
    const char *kind; /**< "LLamaDecodeLayer" */
    int index;        /**< 0 of "0-LLamaDecodeLayer"; -1 without one */
    ek_trace_role role;
    int64_t n_instances; /**< executions of the forward pass */
    ek_trace_pass forward, recompute, backward;
} ek_trace_layer;

/** An operator on the device, and the layer it is of. */
typedef struct ek_trace_member {
    int64_t start;
    int layer; /**< index in ek_trace_layers.layer */
} ek_trace_member;

/** The layers of one rank. */
typedef struct ek_trace_layers {
    int n;
    ek_trace_layer *layer; /**< [n], in the order of first execution */
    int n_micro_batches;   /**< forward passes of a layer per step; 0 when not known */
    int n_steps;           /**< checked steps */
    const char *source;    /**< "task_names", "launch_names", "scope_layer", "modules", "annotations"; NULL without */
    int n_reruns;
    ek_trace_span *rerun; /**< [n_reruns], by start, disjoint: when layers were run again */
    size_t n_members;
    ek_trace_member *member; /**< [n_members], by start, with ek_trace_options.measure: operators of layers, steps or
                                  not. None of "scope_layer", which has no operators */
} ek_trace_layers;

/** The output of MindFormers' ComputationAnalyzer for the same files (--sapp-compatible). */
typedef struct ek_trace_sapp_entry {
    const char *name;
    double total_ms; /**< over the counted steps and micro-batches */
    double cost_ms;  /**< of one micro-batch; for a configured name, else NAN */
} ek_trace_sapp_entry;

typedef struct ek_trace_sapp {
    bool made;
    int counted_steps;
    int n_totals, n_costs;
    ek_trace_sapp_entry *total; /**< [n_totals]: by full element */
    ek_trace_sapp_entry *cost;  /**< [n_costs]: by configured name */
    double head_ms, body_ms, tail_ms;
} ek_trace_sapp;

/* ---- recomputation of PyTorch ---- */

typedef struct ek_trace_recompute {
    int64_t n_regions; /**< recompute_fn ranges; 0 without */
    ek_trace_breakdown recompute, rest;
} ek_trace_recompute;

/* ---- operators ---- */

/** Executions of one operator: of one (type, core), or of one kernel name. */
typedef struct ek_trace_operator {
    const char *name; /**< type for Ascend, kernel name for Kineto */
    const char *type; /**< the same for Ascend; Kineto: "kernel" */
    const char *core; /**< accelerator core; NULL without one */
    int64_t count, total, min, max, wait;
    int64_t max_start;  /**< of the first of the longest executions; EK_TRACE_UNKNOWN */
    double average;     /**< nanoseconds */
    double ratio;       /**< share of the summed time, percent; communication left out for Ascend */
    const char *family; /**< "matmul", "attention", "vector", "communication", "copy", "other" */
} ek_trace_operator;

/** One execution that took far longer than others of its kind. */
typedef struct ek_trace_outlier {
    const char *name, *type, *core, *shape; /**< shape: of the inputs; NULL when unknown */
    int64_t start, duration, expected;      /**< expected: the median of its kind */
    int64_t n_kind;                         /**< executions of its kind */
    bool shapes_unknown; /**< compared by name only: others of its kind may have worked on less. No finding counts it */
} ek_trace_outlier;

typedef struct ek_trace_core {
    const char *name;
    int64_t count, total;
} ek_trace_core;

typedef struct ek_trace_operators {
    const char *source; /**< "kernel_details", "events", "op_statistic" */
    int64_t n_rows, n_executions, total;
    int n, n_cores, n_types, n_outliers, n_table;
    ek_trace_operator *op;     /**< [n], longest total first, then by name */
    ek_trace_core *core;       /**< [n_cores], by name */
    ek_trace_core *type;       /**< [n_types], longest total first, then by name: kernel_details' types, with HCCL */
    ek_trace_outlier *outlier; /**< [n_outliers], most time lost first */
    int n_slow;
    ek_trace_outlier *slow;   /**< [n_slow], most time lost first: executions longer than those of the same operator
                                   elsewhere in the trace; at most EK_TRACE_MAX_SLOW, names of the first ones only */
    ek_trace_operator *table; /**< [n_table]: op_statistic.csv as printed */
    double share_matmul, share_attention, share_vector; /**< of the compute time */
} ek_trace_operators;

/* ---- measured operators ---- */

/** Units that an execution keeps busy. Ascend: the matrix unit, the vector unit, incoming data, outgoing data. GPU: the
 * multiprocessors' places for warps (achieved occupancy, as the profiler estimates it). */
typedef enum ek_trace_unit {
    EK_TRACE_CUBE,
    EK_TRACE_VECTOR,
    EK_TRACE_LOAD,
    EK_TRACE_STORE,
    EK_TRACE_OCCUPANCY
} ek_trace_unit;
enum { EK_N_TRACE_UNITS = 5 };

/** Executions of one operator on inputs of one shape, with ek_trace_options.measure. Texts are the profiler's; "" where
 *  it has none. */
typedef struct ek_trace_shaped {
    const char *name;      /**< "aten::mm"; Ascend: the type, "MatMulV3" */
    const char *kernel;    /**< PyTorch: the kernel that took longest of an execution */
    const char *shapes;    /**< of the inputs: [[4096, 1024], [1024, 512]]; Ascend: "4096,1024;1024,512" */
    const char *types;     /**< of the inputs: ["float", "float"]; Ascend: DT_BF16;DT_BF16 */
    const char *layout;    /**< strides of the inputs; Ascend: their formats */
    const char *values;    /**< PyTorch: arguments that are not tensors, by place; Ascend: shapes of the outputs */
    const char *out_types; /**< Ascend: types of the outputs */
    const char *core;      /**< Ascend: the accelerator core; NULL when unknown */
    int64_t count, total, min, max;
    double median;                 /**< nanoseconds of the device for one execution, the sum over its kernels */
    double unit[EK_N_TRACE_UNITS]; /**< means of the shares in which each is busy, weighted by the executions' times; of
                                        PyTorch of the longest kernel. NAN when not recorded */
    int64_t blocks; /**< Ascend: most cores that one ran on; GPU: most blocks of threads of the longest kernel; 0 when
                         unknown */
} ek_trace_shaped;

/** One execution of an operator that computes. */
typedef struct ek_trace_execution {
    int64_t start, duration;
    int op;     /**< index in ek_trace_measured.op */
    int stream; /**< equal numbers are of one stream; -1 when unknown */
} ek_trace_execution;

/** Work of a device by shape, and the host's launch rate, without PyTorch's warm-up. */
typedef struct ek_trace_measured {
    int n;
    ek_trace_shaped *op;      /**< [n], by name, shape and kernel; shapes "" where unknown */
    int64_t n_executions;     /**< in `op`, of known shapes */
    int64_t n_without_shapes; /**< operators or kernels with unknown shapes */
    size_t n_all;
    ek_trace_execution *execution; /**< [n_all], by start: also those without shapes */
    int64_t n_intervals;   /**< times from one launch of a kernel to the next by one thread that does nothing else */
    double launch;         /**< their median, nanoseconds; NAN with fewer than EK_TRACE_LEAST_LAUNCHES */
    double share_compiled; /**< of the kernels, those that a compiler made (Triton) */
    bool graphs;           /**< most kernels were launched as part of graphs, which have no launch of their own */
} ek_trace_measured;
enum { EK_TRACE_LEAST_LAUNCHES = 100 };

/* ---- communication ---- */

/** Purposes of an exchange made of sends and receives (Kineto's SendRecv kernels). */
typedef enum ek_trace_exchange {
    EK_EXCHANGE_NONE,       /**< no such kernel: its name has the operation */
    EK_EXCHANGE_P2P,        /**< between two ranks: a pipeline */
    EK_EXCHANGE_COLLECTIVE, /**< of a whole group: all-to-all */
    EK_EXCHANGE_UNCLEAR,    /**< unknown */
} ek_trace_exchange;
enum { EK_N_EXCHANGES = 4 };

/** One collective of the device's timeline. */
typedef struct ek_trace_collective {
    const char *name, *group;         /**< full name; group hash or ranks, NULL when not known */
    int64_t start, duration, exposed; /**< exposed: outside computing */
    int64_t transit; /**< of the duration the transfer itself; the rest is waiting for other ranks; EK_TRACE_UNKNOWN */
    bool at_most;    /**< transit is the shortest duration seen on some ranks of the group: it may hold waiting, too */
    bool p2p;        /**< a transfer between two ranks, as pipelines make them */
    ek_trace_exchange exchange;
    int step;            /**< index in ek_trace_rank.step; -1 outside */
    int sum;             /**< index in ek_trace_communication.sum; -1: of a table */
    int last;            /**< index of the rank that arrived last and delayed this one; -1: not known, or not there */
    int last_call;       /**< index of the same collective in that rank's list; -1 where `last` is */
    int last_in_group;   /**< its place in the group, from the waits in the trace; -1 */
    int64_t match;       /**< number of the collective, the same on all its ranks; -1: not matched over ranks */
    int n_here, n_group; /**< ranks of the group with this collective in the run; of the group; 0 when not known */
    double moved_mb;     /**< 10^6 bytes that the rank sent, of communication.json; 0 when not known */
    const char *message; /**< with ek_trace_options.measure: "allreduce|Float|2049000|2049000|2|[0, 1]", the last part
                              the ranks of the group, which may be empty; NULL when not known */
} ek_trace_collective;

/** Exposed communication of a rank but pipeline traffic, nanoseconds of the mean step: exposed = transfer + wait +
 *  unknown. */
typedef struct ek_trace_exposure {
    int64_t exposed;
    int64_t transfer; /**< at most: the time that overlapping could hide */
    int64_t wait;     /**< at least: waiting for ranks that arrived later */
    int64_t unknown;  /**< unknown which of the two */
    bool at_most;     /**< not all ranks of a group were there to compare, so the transfer may hold more waiting */
} ek_trace_exposure;

/** Collectives of one kind, group and size, summed. */
typedef struct ek_trace_collective_sum {
    const char *key;   /**< "allreduce|Float|2049000|2049000|2", kernel name up to "(", or hcom type */
    const char *group; /**< NULL when not known */
    bool p2p;          /**< transfers between two ranks */
    ek_trace_exchange exchange;
    int64_t count, total, exposed;
    int64_t bytes;         /**< of one; EK_TRACE_UNKNOWN */
    double bandwidth_gbps; /**< of the algorithm: bytes / mean time; NAN */
    int n_group;           /**< ranks of the group; 0 when not known */
    double bus_gbps;       /**< of the bus: the load of each rank's link, bytes x share / mean time; NAN where the
                                operation or the group's size is not known */
} ek_trace_collective_sum;

/** Rows of communication.json, summed per (operator type, group). */
typedef struct ek_trace_comm_sum {
    const char *step; /**< "step50" */
    bool p2p;
    const char *key; /**< "hcom_allReduce@17522688603477080586" */
    int64_t count;
    double elapse_ms, transit_ms, wait_ms, idle_ms, synchronization_ms, size_mb;
} ek_trace_comm_sum;

/** A link between two ranks of a group. */
typedef struct ek_trace_link {
    const char *link;      /**< "17522688603477080586:0-6", "rank0:1-0:SDMA" */
    const char *transport; /**< "HCCS", "LOCAL", "RDMA", "SDMA", ... */
    double size_mb, time_ms, bandwidth_gbps;
    double size_kb, bytes_per_s; /**< hccl_raw's own units; NAN for others */
    bool ranked;                 /**< moved 1 MB or more */
    bool slow;                   /**< 20 % or more below the mean of its transport */
} ek_trace_link;

/** Traffic over a link in a step by one kind of operation, from communication_matrix.json. */
typedef struct ek_trace_move {
    int link;                     /**< index in ek_trace_communication.link */
    const char *step, *operation; /**< "step50"; "allreduce", "hcom_allReduce_" */
    double size_mb, time_ms;
} ek_trace_move;

typedef struct ek_trace_transport {
    const char *name;
    int64_t n_links, n_ranked;
    double total_size_mb, mean_gbps;
    int slowest, fastest; /**< index in ek_trace_communication.link; -1 */
} ek_trace_transport;

typedef struct ek_trace_communication {
    int n_collectives, n_sums, n_comm_sums, n_links, n_transports;
    ek_trace_collective *collective; /**< [n_collectives], by start */
    ek_trace_collective_sum *sum;    /**< [n_sums], most exposed first */
    ek_trace_comm_sum *comm_sum;     /**< [n_comm_sums], in file order */
    double unclear_lead; /**< computing before a step's first unclear exchange, over the mean before each; NAN */
    ek_trace_link *link; /**< [n_links], in file order */
    int n_moves;
    ek_trace_move *move;           /**< [n_moves], in file order: the traffic that links with names of steps sum up */
    ek_trace_transport *transport; /**< [n_transports], by name */
} ek_trace_communication;

/* ---- data loading ---- */

typedef struct ek_trace_iterator {
    const char *name; /**< "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" */
    int64_t count, total;
} ek_trace_iterator;

typedef struct ek_trace_data_op {
    int id, workers;
    const char *type;
    int parent;           /**< -1 for the last one */
    double queue_average; /**< NAN without a queue */
    double queue_length, usage_rate;
} ek_trace_data_op;

typedef struct ek_trace_data {
    int n_iterators, n_ops;
    ek_trace_iterator *iterator;            /**< [n_iterators], by name */
    int64_t total;                          /**< host time in iterators */
    double share_of_host_step;              /**< NAN without steps */
    ek_trace_data_op *op;                   /**< [n_ops]: minddata_pipeline_raw */
    bool near_empty_queue, near_full_queue; /**< of the last operator that has one: under 10 %, over 90 % */
    double per_batch_ms, per_pipeline_ms, per_push_queue_ms; /**< minddata_pipeline_summary; NAN */
} ek_trace_data;

/* ---- memory ---- */

typedef struct ek_trace_memory_peak {
    const char *component;                       /**< "APP", "PTA", "PTA+GE", "GE", "MindSpore", "WORKSPACE" */
    double allocated_mb, reserved_mb, active_mb; /**< NAN where the column is empty */
} ek_trace_memory_peak;

typedef struct ek_trace_memory_point {
    int64_t time;
    int component; /**< index in ek_trace_memory.peak */
    double allocated_mb, reserved_mb;
} ek_trace_memory_point;

typedef struct ek_trace_allocation {
    const char *name;
    double size_kb;
    int64_t start, end; /**< end EK_TRACE_UNKNOWN: never released */
} ek_trace_allocation;

typedef struct ek_trace_live {
    const char *type; /**< "Weight", "Kernel", "(none)" */
    int64_t bytes;
} ek_trace_live;

/** Blocks that one place of the program made for one layer. Permanent blocks, weights and constants, count as alive,
 *  but neither as held nor as never freed. */
typedef struct ek_trace_tracker_site {
    const char *place; /**< of the Python stack, "model/attention.py:120 construct"; else the operator's name */
    const char *layer; /**< "3-LlamaDecodeLayer"; "(other)" */
    int64_t n_live, live_bytes;            /**< alive at the peak */
    int64_t n_held, held_bytes;            /**< of those: no task uses them any more */
    const char *last_user;                 /**< of the largest held block: the task that used it last; NULL */
    int64_t last_used_tick, released_tick; /**< of that block; EK_TRACE_UNKNOWN: none held; never released */
    int64_t n_never_freed, never_freed_bytes;
    int64_t n_leaked, leaked_bytes; /**< of those: made in a step before the last one */
} ek_trace_tracker_site;
enum { EK_TRACE_MAX_SITES = 1000 };

/** Blocks alive at the begin of a step. */
typedef struct ek_trace_tracker_step {
    int64_t tick, live_bytes;
} ek_trace_tracker_step;

/** The memory tracker's blocks (memory_block.csv, task.csv). */
typedef struct ek_trace_tracker {
    int64_t n_rows, n_pool_blocks, n_somas_rows;
    bool tells_users, tells_stacks; /**< some block names the tasks that use it; a Python stack */
    int64_t peak_bytes, peak_tick, never_freed_bytes, max_actual_peak_bytes;
    int64_t held_dead_bytes;         /**< at the peak, the last user's tick before it; weights and constants too */
    int64_t held_bytes;              /**< at the peak, the last user over, without weights and constants */
    int64_t released_peak_bytes;     /**< the peak if every block but those went after its last use */
    int64_t never_freed_other_bytes; /**< never freed, without weights and constants */
    int64_t leaked_bytes;            /**< of those: made in a step before the last one */
    double growth_bytes;             /**< of the memory alive at the begin of a step, mean a step; NAN without steps */
    bool grows;                      /**< it grows from the begin of each step to that of the next */
    int n_steps, n_sites;
    ek_trace_tracker_step *step; /**< [n_steps], by tick: none unless tasks repeat with the weights they use */
    ek_trace_tracker_site *site; /**< [n_sites], by the largest of live, held and never freed; at most
                                      EK_TRACE_MAX_SITES */
    int n_live, n_live_layers, n_largest;
    ek_trace_live *live;          /**< [n_live]: bytes by type at the peak, largest first */
    ek_trace_live *live_layer;    /**< [n_live_layers]: by layer, largest first */
    ek_trace_allocation *largest; /**< [n_largest]: live at the peak, largest first; start and end in ticks */
} ek_trace_tracker;

/** Purpose of a block, from the stack, the operator's name or the allocator's own label. */
typedef enum ek_block_role {
    EK_BLOCK_OTHER,
    EK_BLOCK_FORWARD,
    EK_BLOCK_BACKWARD,
    EK_BLOCK_RECOMPUTE,
    EK_BLOCK_OPTIMIZER,
    EK_BLOCK_PARAMETERS, /**< while the model was made, loaded or moved */
    EK_BLOCK_COMMUNICATION,
    EK_N_BLOCK_ROLES,
} ek_block_role;
/** "other", "forward", ..., for each role. */
extern const char *const *const ek_block_role_name;

/** An allocation of device memory, alive in [start, end). */
typedef struct ek_trace_block {
    int64_t start, end; /**< EK_TRACE_UNKNOWN: alive before the record began; alive when it ended */
    int64_t bytes;      /**< requested */
    int64_t address;    /**< EK_TRACE_UNKNOWN: none */
    int64_t place;      /**< of its address, in bytes above the lowest one, without the room that no segment ever had */
    int site, stack;    /**< index of site[]; of stack[], -1: unknown */
} ek_trace_block;

/** Memory that the allocator had from the device in [start, end). */
typedef struct ek_trace_memory_segment {
    int64_t start, end; /**< as of a block */
    int64_t bytes, address, place;
    bool joins; /**< pages of an expandable segment: a block may reach into a neighbour that joins, too */
} ek_trace_memory_segment;

/** Blocks that one operator or one place of the program allocated in one role. */
typedef struct ek_trace_block_site {
    const char *name; /**< "model/attention.py:120 forward"; of tables the operator */
    ek_block_role role;
    int64_t n, bytes;
    int64_t n_live, live_bytes;               /**< of those: alive at the peak */
    int64_t n_never_freed, never_freed_bytes; /**< allocated after the record began, and alive when it ended */
} ek_trace_block_site;

/** The allocator's memory at one time. */
typedef struct ek_trace_memory_room {
    int64_t time, n_live, active_bytes;
    int64_t reserved_bytes; /**< all segments; EK_TRACE_UNKNOWN without addresses, as the next members */
    int64_t free_bytes, largest_free_bytes; /**< in segments and in no block; in one piece */
    int64_t n_segments, n_free;             /**< pieces */
    double fragmentation;                   /**< 1 - largest free piece / free; NAN without free memory */
} ek_trace_memory_room;

/** Allocations of a device that are read; those of a map, and of all maps of a run together, that are kept. */
enum { EK_TRACE_MAX_BLOCKS = 20000000, EK_TRACE_KEPT_BLOCKS = 400000, EK_TRACE_KEPT_RUN_BLOCKS = 4000000 };
enum { EK_TRACE_MAX_STACK_FRAMES = 24 };

/** Allocations of one device with their lifetimes: of a memory snapshot of PyTorch, or of operator_memory.csv. */
typedef struct ek_trace_block_map {
    const char *name;   /**< "device 0", "NPU:0" */
    bool has_addresses; /**< a snapshot: blocks and segments have places */
    bool is_ticked;     /**< times are numbers of events: old snapshots have none */
    int64_t begin, end; /**< of the record */
    int64_t n_rows;     /**< events or rows that it is made from */
    int n_blocks, n_segments, n_sites, n_stacks, n_points, n_largest;
    int64_t n_all_blocks;  /**< that the figures are of; of more than the limit of a run, block[] has the largest */
    ek_trace_block *block; /**< [n_blocks], by start, those from before the record first */
    ek_trace_memory_segment *segment;     /**< [n_segments], likewise */
    ek_trace_block_site *site;            /**< [n_sites], by live_bytes, then bytes, largest first */
    const char **stack;                   /**< [n_stacks]: a line for every frame, innermost first */
    ek_trace_memory_point *point;         /**< [n_points]: live bytes and segments over time, thinned; component 0 */
    ek_trace_block *largest;              /**< [n_largest]: alive at the peak, largest first */
    int64_t role_bytes[EK_N_BLOCK_ROLES]; /**< alive at the peak, by role */
    int64_t height;                       /**< bytes of all places; 0 without addresses */
    int64_t n_before, before_bytes;       /**< blocks from before the record */
    int64_t n_never_freed, never_freed_bytes; /**< allocated after it began, and alive when it ended */
    int64_t reserved_peak_bytes;              /**< EK_TRACE_UNKNOWN without addresses */
    int64_t rounding_bytes;   /**< at the end: added by the allocator to the requested bytes; likewise */
    int64_t n_contradictions; /**< events that do not fit the ones before */
    int64_t n_out_of_memory, out_of_memory_time, out_of_memory_bytes; /**< how often; of the last: when, how much */
    ek_trace_memory_room peak, last; /**< when most was live, first; at the end of the record */
} ek_trace_block_map;

typedef struct ek_trace_memory {
    int64_t n_rows, n_operator_rows, n_never_released;
    int n_peaks, n_points, n_largest, n_kept, n_modules;
    ek_trace_memory_peak *peak;   /**< [n_peaks], by component */
    ek_trace_memory_point *point; /**< [n_points]: the curve, thinned; peaks kept */
    ek_trace_allocation *largest; /**< [n_largest], largest first */
    ek_trace_allocation *kept;    /**< [n_kept]: never released, largest first */
    ek_trace_memory_peak
        *module; /**< [n_modules]: npu_module_mem, by the most memory that a module reserved, then by name */
    ek_trace_tracker tracker;
    int n_maps;
    ek_trace_block_map *map; /**< [n_maps]: of operator_memory.csv, then of snapshots, by device */
} ek_trace_memory;

/* ---- marks of the user ---- */

/** A range that the program marked (mstx). */
typedef struct ek_trace_mark {
    const char *name, *domain;        /**< the user's text; "" when empty */
    int64_t start, end;               /**< on the host; equal for a single point in time */
    int64_t device_start, device_end; /**< EK_TRACE_UNKNOWN when the device did not see it */
} ek_trace_mark;

/* ---- work of the device, piece by piece ---- */

/** An operator, collective or copy of the device. */
typedef struct ek_trace_piece {
    int64_t start, end;
    int64_t launch; /**< on the host; EK_TRACE_UNKNOWN */
    const char *name;
    int collective; /**< index in ek_trace_communication.collective; -1 */
    int step;       /**< index in ek_trace_rank.step; -1 outside */
    uint16_t stream;
    uint8_t activity; /**< ek_trace_activity, of those before EK_TRACE_DATA */
} ek_trace_piece;

/** With ek_trace_options.measure. */
typedef struct ek_trace_work {
    size_t n, n_waits, n_data;
    ek_trace_piece *piece; /**< [n], by start */
    ek_trace_span *wait;   /**< [n_waits], by start: the host waits for the device */
    ek_trace_span *data;   /**< [n_data], by start, disjoint: the host waits for data */
} ek_trace_work;

/* ---- a rank ---- */

/** One process of the run. Everything it points to belongs to its pool. */
typedef struct ek_trace_rank {
    int rank;         /**< EK_TRACE_NO_RANK when unknown */
    int place;        /**< in the run, which names traces that nothing numbers; -1: it is the only one */
    int stage;        /**< pipeline stage; -1 when unknown */
    int device_id;    /**< -1 when unknown */
    int world_size;   /**< 0 when unknown */
    const char *host; /**< NULL when unknown */
    ek_producer producer;
    const char *profiler_info; /**< the profiler's settings, one JSON object as text; NULL without */
    int n_sources, n_steps, n_notes, n_marks;
    ek_trace_source *source;
    ek_trace_step *step;     /**< [n_steps], in order of time */
    const char **note;       /**< [n_notes]: sentences on figures that could not be computed, with reasons */
    int64_t n_outside_steps; /**< device events outside every step */
    ek_trace_counts counts;
    bool has_device_events;
    ek_trace_breakdown device, device_linked; /**< whole file; linked: launch in the file */
    ek_trace_breakdown mean;                  /**< over the steps without warm-up */
    ek_trace_idle idle;
    ek_trace_dispatch dispatch;
    ek_trace_queue queue;
    ek_trace_layers layers;
    ek_trace_recompute recompute;
    ek_trace_operators operators;
    ek_trace_measured measured;
    ek_trace_communication communication;
    ek_trace_exposure exposure;
    ek_trace_data data;
    ek_trace_memory memory;
    ek_trace_work work;
    ek_trace_mark *mark; /**< [n_marks], by start */
    bool is_part;        /**< of a partial result: its files may be elsewhere */
    struct ek__pool *pool;
} ek_trace_rank;

/* ---- the run ---- */

/** Ranks that communicate. */
typedef struct ek_trace_group {
    const char *name; /**< "pp", "dp", "tp", ... */
    const char *key;  /**< "group_name_4" */
    int n_ranks;
    int *rank; /**< [n_ranks] */
} ek_trace_group;

typedef struct ek_trace_topology {
    bool known;
    int tensor, pipeline, data, context, expert; /**< sizes; 0 when unknown */
    bool sequence_parallel, tells_sequence_parallel;
    int world_size;
    int n_groups;
    ek_trace_group *group; /**< [n_groups], each once */
} ek_trace_topology;

/** A pipeline stage, over its ranks. */
typedef struct ek_trace_stage {
    int stage, n_ranks;
    int64_t computing_mean, computing_max, not_overlapped_mean, free_mean, pipeline_wait_mean, step_mean;
} ek_trace_stage;

/** How often a rank arrived last at collectives. */
typedef struct ek_trace_vote {
    int rank, stage;
    int64_t n_votes, n_shortest;
    int64_t n_compared; /**< collectives of its that were compared */
    int at;             /**< index in ek_trace_run.rank */
} ek_trace_vote;

/** A collective with durations compared over its ranks. */
typedef struct ek_trace_ballot {
    const char *group, *name;
    int occurrence;        /**< number of earlier ones of that group and name */
    int n_ranks, shortest; /**< shortest: the rank that arrived last */
    int64_t shortest_ns, longest_ns;
    double ratio, limit; /**< Dixon's; NAN where that test does not apply */
    int n_votes;         /**< ranks that got a vote */
    int shortest_at;     /**< index in ek_trace_run.rank */
} ek_trace_ballot;

/** Transfers from one stage's rank to another's. Both sides end together: the one that took longer waited. */
typedef struct ek_trace_pair {
    int from, to;               /**< ranks; of exchanges (SendRecv) the lower one first */
    const char *group;          /**< NULL when not known */
    int64_t n;                  /**< transfers seen on both sides */
    int64_t from_wait, to_wait; /**< excess of each side over the other, summed */
    int from_at, to_at;         /**< indices in ek_trace_run.rank */
} ek_trace_pair;

/** One transfer that was seen on both sides: run->rank[from_rank].communication.collective[from] sent it. Of exchanges
 *  (SendRecv) the rank of the lower number is the sender. */
typedef struct ek_trace_transfer {
    int from_rank, from, to_rank, to; /**< indices */
} ek_trace_transfer;

/** Time that one rank waits for another in communication. */
typedef struct ek_trace_wait {
    int at, last; /**< indices in ek_trace_run.rank: the waiting rank, and the last to arrive */
    int64_t n;    /**< collectives and transfers, over all steps that count */
    double ns;    /**< of a mean step of the rank that waits */
} ek_trace_wait;

/** Largest minus smallest over the ranks, in shares of the mean of the summed parts. */
typedef struct ek_trace_gap {
    const char *part; /**< "computing", "communication_not_overlapped", "free" */
    double gap;
    int most, least;             /**< ranks */
    bool flagged;                /**< over 5 % */
    int most_stage, least_stage; /**< of those ranks; -1 when unknown */
    int most_at, least_at;       /**< indices in ek_trace_run.rank; -1 */
} ek_trace_gap;

/** A link among those of all ranks. */
typedef struct ek_trace_run_link {
    const char *name; /**< "rank0:17522688603477080586:0-6" */
    int rank, link;   /**< indices: run->rank[rank].communication.link[link] */
    const char *transport;
    double bandwidth_gbps, mean_gbps; /**< its own; the mean of its transport over all ranks */
} ek_trace_run_link;

/** A transport over all ranks: their ranked links taken together. */
typedef struct ek_trace_run_transport {
    const char *name;
    int64_t n_links, n_ranked, n_slow;  /**< slow: 20 % or more below the mean */
    double total_size_mb, mean_gbps;    /**< mean of the ranked links' bandwidths; NAN without one */
    double gap;                         /**< (fastest - slowest) / mean; NAN without a ranked link */
    bool flagged;                       /**< gap over 5 % */
    ek_trace_run_link slowest, fastest; /**< rank and link -1, name NULL without a ranked link */
} ek_trace_run_transport;

/** A rank in a matrix of links. */
typedef struct ek_trace_matrix_member {
    int rank;  /**< EK_TRACE_NO_RANK when no file has the rank of this place in the group */
    int place; /**< in the group; -1 in the matrix of all groups */
} ek_trace_matrix_member;

/** Traffic from one member to another, over all transports. */
typedef struct ek_trace_matrix_cell {
    int from, to; /**< indices of member[] */
    int64_t n_links;
    double size_mb, time_ms, bandwidth_gbps; /**< sums; size / time, NAN without time */
} ek_trace_matrix_cell;

/** A part of a cell's sum: of one step, kind of operation and transport. */
typedef struct ek_trace_matrix_part {
    int cell;                                 /**< index of cell[] */
    const char *step, *operation, *transport; /**< "" where the file does not have it */
    double size_mb, time_ms;
} ek_trace_matrix_part;

/** Links with both ends in their names, from row to column. */
typedef struct ek_trace_matrix {
    const char *group; /**< NULL: of all groups with known ranks; else of this one, with some unknown ranks */
    int n_members, n_cells, n_parts;
    ek_trace_matrix_member *member; /**< [n_members], by rank or place */
    ek_trace_matrix_cell *cell;     /**< [n_cells], row by row */
    ek_trace_matrix_part *part;     /**< [n_parts], by cell; the cells are their sums */
} ek_trace_matrix;

/** A row of cluster_step_trace_time.csv: the producer's columns of a rank, or their maxima over a stage's ranks. */
typedef struct ek_trace_cluster_row {
    const char *step, *type, *index; /**< type: "rank", "stage"; index: "3", "(0, 1, 2)" */
    int64_t computing, not_overlapped, overlapped, communication, free, stage, bubble, exclude_receive, preparing;
    bool computed; /**< from the ranks' own files, as the vendor's tool would */
} ek_trace_cluster_row;

/** A recommendation, or a check that was skipped. */
typedef struct ek_trace_finding {
    const char *id;   /**< "host-bound", "slow-rank", ... (docs/trace.md) */
    int rank, stage;  /**< -1: of the run */
    const char *step; /**< NULL: of all */
    const char *text; /**< one sentence with its figures */
    const char *advice;
    double share;    /**< of the step; NAN */
    int64_t gain_ns; /**< upper bound of the gain per step; EK_TRACE_UNKNOWN */
    int at;          /**< index in ek_trace_run.rank, also of ranks that have no number; -1: of the run */
} ek_trace_finding;

/* ---- the critical path ---- */

/** A stretch of the critical path, on one rank's clock. */
typedef struct ek_trace_segment {
    int at; /**< index in ek_trace_run.rank */
    ek_trace_activity activity;
    int64_t start, end;
    const char *name; /**< of the device's work; NULL while it was idle */
} ek_trace_segment;

/** Time of one name and activity on the critical path. */
typedef struct ek_trace_path_part {
    const char *name; /**< NULL while the device ran nothing */
    ek_trace_activity activity;
    int64_t count; /**< over all steps */
    double ns;     /**< of a mean step */
} ek_trace_path_part;

/** The chain of work and waiting, each begun by the end of the one before, that makes a step as long as it is; with
 *  ek_trace_options.measure. */
typedef struct ek_trace_path {
    int n_steps;                            /**< that were followed; 0: none */
    double length;                          /**< nanoseconds of a mean step: the sum of its segments */
    double activity[EK_N_TRACE_ACTIVITIES]; /**< likewise */
    double *of_rank;                        /**< [n_ranks], likewise */
    int n_parts, n_segments;
    ek_trace_path_part *part;  /**< [n_parts], longest first */
    const char *step;          /**< step of the next segments: the one with a path of median length */
    ek_trace_segment *segment; /**< [n_segments], in order of time along the path */
} ek_trace_path;

typedef struct ek_trace_run {
    int n_ranks;
    ek_trace_rank *rank; /**< [n_ranks], by rank, then by path */
    ek_trace_topology topology;
    int n_stages, n_votes, n_gaps, n_cluster_rows, n_findings;
    double stage_imbalance; /**< slowest over fastest mean computing; NAN with fewer than two stages */
    ek_trace_stage *stage;
    ek_trace_vote *vote; /**< [n_votes], most votes first, then most often shortest; ranks that were compared */
    int n_ballots;
    ek_trace_ballot *ballot; /**< [n_ballots]: the first EK_TRACE_MAX_BALLOTS, by group, name and occurrence */
    int n_pairs;
    ek_trace_pair *pair; /**< [n_pairs], by from, to, group */
    int n_transfers;
    ek_trace_transfer *transfer; /**< [n_transfers]: the pairs' summands, by group, name and occurrence */
    int64_t n_unpaired;          /**< sends and receives without their other side */
    int64_t n_voted_operators;   /**< collectives with durations compared over two ranks or more */
    ek_trace_gap *gap;
    int n_transports, n_slow_links;
    ek_trace_run_transport *transport; /**< [n_transports], by name */
    ek_trace_run_link *slow_link;      /**< [n_slow_links]: farthest below its mean first */
    int n_matrices;
    ek_trace_matrix *matrix; /**< [n_matrices]: first that of all groups */
    ek_trace_cluster_row *cluster_row;
    int worst_rank_by_interval; /**< of step_trace_raw; EK_TRACE_NO_RANK */
    int n_databases;            /**< that have no tables of a profiler's export, and are not read */
    double worst_over_mean;     /**< that rank's interval over the mean of all, minus 1 */
    ek_trace_sapp sapp;
    int n_waits;
    ek_trace_wait *wait; /**< [n_waits]: pairs of ranks, most waiting first */
    ek_trace_path path;
    ek_trace_finding *finding; /**< [n_findings], by gain, largest first */
    ek_compute *compute;       /**< of ek_compute_make(); NULL: not made */
    const char *database;      /**< the first of them by path; NULL */
    struct ek__pool *pool;
} ek_trace_run;

/** Options of the caller; {0} is the default. */
typedef struct ek_trace_options {
    int n_threads;        /**< 0: all cores */
    int drop_first_steps; /**< -1: none; 0: warm-up is found; n: this many */
    bool from_raw_events; /**< ignore the Overlap Analysis layer */
    int n_micro_batches;  /**< per step; 0: counted */
    int n_head, n_body, n_tail;
    const char *const *head; /**< names of layers: whole path elements or their part after "N-"; none: found */
    const char *const *body, *const *tail;
    int n_receives, n_collectives;
    const char *const *receive; /**< names' beginnings that wait for another stage; none: docs/trace.md's list */
    const char *const
        *collective; /**< texts in names of communicating GPU kernels, in addition to docs/trace.md's list */
    bool sapp_compatible;
    bool measure;            /**< keep operators with their shapes, messages of collectives and launches */
    double host_bound_share; /**< 0: 0.10 */
    int stages;              /**< ranks are split into that many stages in order; 0: as in the files */
    /** Called from time to time, from any thread but never from two at once; NULL without. */
    void (*progress)(void *user, double share, const char *what);
    void *user;
    const ek_interrupt *interrupt; /**< may be NULL */
    bool parts_only;               /**< refuse all but partial results */
    bool ranks_only;               /**< leave out comparisons of all ranks: for ek_trace_part_write() */
    const ek_team *team;           /**< processes that read the run together; NULL: only this one */
    bool local;                    /**< each of them reads the files below the paths on its own disks */
    double patience;               /**< seconds without a sign of life after which one of them is lost; 0: 30 */
} ek_trace_options;

/**
 * Read files and folders of one run.
 *
 * A folder is searched for profilers' files (docs/trace.md lists names and layouts); the kind of a file comes from its
 * name or else from its beginning. Damaged and cut files are read as far as possible: ek_trace_source.problem and a
 * warning have the place where they end.
 *
 * @param path  [n_paths]
 * @return EK_OK; EK_ERR_INPUT when they contain no trace; EK_ERR_SYSTEM; EK_ERR_MEMORY. The result does not depend on
 *         the order of the paths or the number of threads. O(bytes), memory O(events kept); thread-safe. With
 *         options->team process 0 gets the result, the others EK_OK and a run without ranks.
 */
ek_status ek_trace_run_read(const char *const *path, int n_paths, const ek_trace_options *options,
                            const ek_listener *listener, ek_trace_run *out, ek_error *err);
/**
 * Write the ranks of a run that was read with options->ranks_only as a partial result (docs/formats.md), which
 * ek_trace_run_read() reads like a profile: in any order, from any number of files.
 * @param options  those that it was read with
 * @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(bytes of the ranks); some KB for each.
 */
ek_status ek_trace_part_write(const ek_trace_run *run, const ek_trace_options *options, FILE *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_trace_run_clear(ek_trace_run *run);

/** The length of a step. */
typedef struct ek_trace_step_time {
    int64_t ns;  /**< mean over the steps counted; EK_TRACE_UNKNOWN without one that has a length */
    int n_steps; /**< counted: neither warm-up nor an average; those with device windows where there are some */
    int n_begin_to_begin; /**< of them those that last until the next one begins */
    int rank;             /**< of a run: index of the rank that it is of; else -1 */
} ek_trace_step_time;

/** Length of a step: until the next one begins, as the device sees it (without device windows the host); where no
 *  recorded step follows, its own: the longer of the host's mark and the device's first start to its last end.
 *  EK_TRACE_UNKNOWN when unknown. Every command takes the time of a step from these three functions. O(1).
 *  @param begin_to_begin  out: it lasts until the next one begins */
int64_t ek_trace_step_length(const ek_trace_rank *rank, int index, bool *begin_to_begin);
/** Mean length of a rank's steps; one without a follower counts at least as the mean of the others. O(steps).
 */
ek_trace_step_time ek_trace_rank_step(const ek_trace_rank *rank);
/** The step of a synchronous job: the longest of its ranks' means. O(steps). */
ek_trace_step_time ek_trace_run_step(const ek_trace_run *run);
/** Activities of a rank's mean step: means over the counted steps that have them. They sum to at least
 *  ek_trace_rank_step(): the extra time of a step without a follower is idle there.
 *  @param ns  [EK_N_TRACE_ACTIVITIES], nanoseconds
 *  @return how many steps; 0: not known, and `ns` untouched. O(steps). */
int ek_trace_rank_anatomy(const ek_trace_rank *rank, double *ns);
enum { EK_TRACE_STEP_WORDS = 200 };
/** That definition in words, with its numbers: "mean of 3 steps of rank 0, ...". @return text. */
const char *ek_trace_step_words(const ek_trace_run *run, const ek_trace_step_time *time, char *text, size_t room);

/**
 * Does every name of layers in `options` (head, body, tail) belong to a layer of the run? Otherwise the times would
 * lack that layer. A run without any layers, with no body named, passes.
 *
 * @param path   [n_paths] paths of the run; read once more for suggested names, when one is missing
 * @param role   out: of the first name that is missing; untouched on success
 * @param index  out: its place in the options' list; likewise
 * @return EK_OK; EK_ERR_INPUT with the nearest names of the traces; as ek_trace_run_read(). O(names x layers), and
 *         O(bytes) where one is missing.
 */
ek_status ek_trace_check_names(const ek_trace_run *run, const char *const *path, int n_paths,
                               const ek_trace_options *options, ek_trace_role *role, int *index, ek_error *err);

/**
 * The model of the layers of a run's ranks: times per layer (milliseconds, medians over micro-batches and ranks), with
 * the measured backward and, where the run recomputes, the measured recomputation per kind. Values that were not
 * measured are filled from the coefficients of docs/models.md and named in `notes`. A trace has no memory: the layers
 * have none, and a layer file written from them has placeholders for it.
 *
 * @param notes  sentences, each ended by a line break, the last on memory; owned by the caller (free); untouched on
 *               failure
 * @return EK_OK, EK_ERR_INPUT when the run shows no layers, EK_ERR_MEMORY. O(n log n) for n executions of layers.
 */
ek_status ek_trace_to_layers(const ek_trace_run *run, ek_layers *out, char **notes, ek_error *err);

EK_END_DECLS
#endif
