/* trace/trace.h - a rank's Chrome trace for the analyses: events that matter, by kind and in order of time.
 *
 * ek__trace_read() fills it from files of any size. Names are interned: equal texts have equal numbers. Events take 32
 * bytes each; those no analysis needs (counters, most host calls) are only counted. */
#ifndef EK_TRACE_TRACE_H
#define EK_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "evenkeel/trace.h"

/** The kind of an event. The comments give its meaning for the fields. */
typedef enum ek__event_kind {
    EK__EVENT_KERNEL,     /**< device: an operator. detail: full operator name of the framework, else 0; Kineto, with
                               options->measure: grid and occupancy, "[128, 1, 1]|31". link (Kineto): correlation */
    EK__EVENT_COLLECTIVE, /**< device: a whole collective, or a Kineto kernel that communicates. detail: key "allreduce|
                               Float|..." (Kineto) or group; link as above */
    EK__EVENT_COPY,       /**< device: memory copy */
    EK__EVENT_SET,        /**< device: memset */
    EK__EVENT_TASK,       /**< device: waits, records, notifies, placeholders: in the span, in no sum */
    EK__EVENT_WAIT,       /**< device: a collective's task waits for another rank, 10 us or more. detail: that rank's
                               place in the group */
    EK__EVENT_TRANSFER,   /**< device: a collective's task moves or reduces data */
    EK__EVENT_COMPUTING,  /**< Overlap Analysis, four kinds */
    EK__EVENT_COMMUNICATION,
    EK__EVENT_NOT_OVERLAPPED,
    EK__EVENT_FREE,
    EK__EVENT_STEP,              /**< host step marks: ProfilerStep#n, "Iteration n". detail: the step's name, "50" */
    EK__EVENT_DATA,              /**< host: the data iterator, GetNext */
    EK__EVENT_SCOPE,             /**< MindSpore's Scope Layer: its track's tid is the depth */
    EK__EVENT_LAUNCH,            /**< host: a runtime call with a correlation (Kineto). link: correlation; detail:
                                      external id, 0 without */
    EK__EVENT_MODULE,            /**< host: "nn.Module: Linear_0" */
    EK__EVENT_RECOMPUTE,         /**< host: python function whose name ends in ": recompute_fn" */
    EK__EVENT_ANNOTATION,        /**< host: user_annotation, mstx; not step marks */
    EK__EVENT_DEVICE_ANNOTATION, /**< gpu_user_annotation */
    EK__EVENT_COMPILE,           /**< host: aclopCompileAndExecute */
    EK__EVENT_SYNC,              /**< host: stream or device synchronisation */
    EK__EVENT_GC,                /**< host: garbage collection */
    EK__EVENT_SHAPE,     /**< host (Kineto): an operator with its shapes. link: external id; detail: their number; name,
                              with options->measure: all its properties, a line each (trace/events/measured.h) */
    EK__EVENT_MESSAGE,   /**< Kineto, with options->measure: the message of a collective. detail:
                              ek_trace_collective.message; link: external id of the host's call; core 1: correlation of
                              the kernel */
    EK__EVENT_HOST_OP,   /**< MindSpore host: operator launches with full names */
    EK__EVENT_OPTIMIZER, /**< host: "Optimizer.step#AdamW.step" of PyTorch */
    EK__EVENT_FLOW,      /**< an arrow's end. name: the flow's class (EK__FLOW_...); detail: 0 start, 1 end, 2 step;
                              duration: its id (any 64 bits) */
    EK__N_EVENT_KINDS,
} ek__event_kind;

/** Classes of flows, in ek__event.name. */
typedef enum ek__flow {
    EK__FLOW_HOST_TO_DEVICE,   /**< CANN launch -> device task, cat HostToDevice */
    EK__FLOW_ASYNC_NPU,        /**< framework operator -> device task: torch_to_npu, mindspore_to_npu */
    EK__FLOW_TASK_QUEUE,       /**< enqueue -> dequeue */
    EK__FLOW_FORWARD_BACKWARD, /**< fwdbwd */
    EK__FLOW_OTHER,
} ek__flow;

/** Accelerator cores, from "Task Type". */
typedef enum ek__core {
    EK__CORE_NONE,
    EK__CORE_AI_CORE,
    EK__CORE_AI_VECTOR_CORE,
    EK__CORE_MIX_AIC,
    EK__CORE_MIX_AIV,
    EK__CORE_AI_CPU,
    EK__CORE_DSA_SQE,
    EK__CORE_OTHER, /**< an operator with a type that names no core: "Other", "N/A", a type of a later release */
    EK__N_CORES,
} ek__core;
extern const char *const ek__core_name[EK__N_CORES];

/** 32 bytes; times in nanoseconds of the file's clock. */
typedef struct ek__event {
    int64_t start;
    int64_t duration; /**< 0 or more */
    uint32_t name;    /**< ek__trace_name() */
    uint32_t detail;  /**< by kind; 0: none */
    uint32_t link;    /**< by kind; 0: none */
    uint16_t track;   /**< ek__trace.track */
    uint8_t kind;     /**< ek__event_kind */
    uint8_t core;     /**< ek__core; of Kineto's collectives ek_trace_exchange */
} ek__event;

/** INT64_MAX when it does not fit. */
static inline int64_t ek__event_end(const ek__event *e)
{
    int64_t end;
    return __builtin_add_overflow(e->start, e->duration, &end) ? INT64_MAX : end;
}

/** The trace's own layers, by process name. */
typedef enum ek__layer_kind {
    EK__LAYER_OTHER,
    EK__LAYER_PYTHON,
    EK__LAYER_MINDSPORE,
    EK__LAYER_CPU_OP,
    EK__LAYER_SCOPE,
    EK__LAYER_CANN,
    EK__LAYER_DEVICE,        /**< Ascend Hardware */
    EK__LAYER_COMMUNICATION, /**< HCCL, Communication */
    EK__LAYER_OVERLAP,
} ek__layer_kind;

/** A thread or stream: the pair of pid and tid as texts. */
typedef struct ek__track {
    const char *pid, *tid;
    const char *process, *thread;   /**< names from metadata; NULL without */
    int64_t pid_number, tid_number; /**< INT64_MIN when not a whole number */
    ek__layer_kind layer;
    int64_t n_complete, total_ns; /**< its complete events, stored or not */
} ek__track;

typedef struct ek__slice {
    const ek__event *event; /**< [n], by start, equal starts longest first, then as in the file */
    size_t n;
} ek__slice;

/** The launches of device events: ek__launch_of(), ek__task_launch_of(). */
typedef struct ek__launches ek__launches;

typedef struct ek__trace {
    ek_producer producer;
    int rank, world_size;   /**< of distributedInfo; EK_TRACE_NO_RANK, 0 */
    int64_t base_ns;        /**< baseTimeNanoseconds; 0 without */
    ek_trace_counts counts; /**< in `pool` */
    int64_t n_node_launch, n_enqueue, n_dequeue, n_compile, n_synchronize, n_launch, n_gc;
    ek__slice of[EK__N_EVENT_KINDS];
    int n_tracks;
    ek__track *track; /**< [n_tracks] */
    uint32_t n_names; /**< name 0 is "" */
    const char *const *name;
    ek__launches *launches;
    ek__pool *pool;                  /**< of the caller */
    const struct ek__shapes *shapes; /**< of the operators in the rank's tables; NULL without */
    struct ek__trace_store *store;   /**< the target of the slices' pointers */
} ek__trace;

/**
 * Read the Chrome traces of one rank (plain or .gz; array or object; any key order).
 *
 * @param path       [n_paths], read in this order into one trace
 * @param n_threads   number for one file; 1 or more
 * @param source     [n_paths], filled: bytes, items, problem, problem_offset; texts in `pool`
 * @param options    for collective patterns, progress and interrupt
 * @return EK_OK also for damaged files with the readable part; EK_ERR_SYSTEM when a file cannot be opened; EK_ERR_INPUT
 *         when one is not a trace (empty, no event array); EK_ERR_MEMORY. O(bytes); thread-safe.
 */
ek_status ek__trace_read(const char *const *path, int n_paths, int n_threads, const ek_trace_options *options,
                         ek__pool *pool, ek_trace_source *source, ek__trace *out, ek_error *err);
void ek__trace_clear(ek__trace *trace);

/** Fill trace->launches from its events; ek__trace_read() has done it. O(launches + arrows). */
ek_status ek__launches_make(ek__trace *trace, ek_error *err);
void ek__launches_free(ek__launches *launches);

/** Kineto: the purpose of every SendRecv kernel, in the collectives' `core`; ek__trace_read() has done it. O(n log
 * n). */
ek_status ek__name_exchanges(ek__trace *trace, const ek_trace_options *options, ek_error *err);

static inline const char *ek__trace_name(const ek__trace *trace, uint32_t name)
{
    return trace->name[name];
}
/** First event of a slice that starts at `time` or later: its index, or n. O(log n). */
size_t ek__slice_lower(ek__slice slice, int64_t time);

/** Are counts, shares and threads in range? @return EK_OK, EK_ERR_INPUT */
ek_status ek__trace_options_check(const ek_trace_options *options, ek_error *err);

/** Has the caller requested a stop? The flag may be set by a signal handler or another thread at any time. */
static inline bool ek__interrupted(const ek_trace_options *options)
{
    return options && ek_interrupted(options->interrupt);
}

/** Decimal microseconds as nanoseconds, half to even beyond; no double in between. Accepts an exponent.
 *  @return false when the text is not a finite decimal number or does not fit. */
bool ek__parse_us(const char *text, size_t size, int64_t *ns);

#endif
