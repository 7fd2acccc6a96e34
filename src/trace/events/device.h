/* trace/events/device.h - a rank's device events in order of time, their launches, and the step of each. */
#ifndef EK_TRACE_ANALYSE_DEVICE_H
#define EK_TRACE_ANALYSE_DEVICE_H

#include "base/error.h"
#include "trace/analyse/analysis.h"

#define EK__KIND(kind) (1u << EK__EVENT_##kind)
/** The device's work: operators, collectives, copies, memory sets; not waits and records. */
enum { EK__WORK_KINDS = EK__KIND(KERNEL) | EK__KIND(COLLECTIVE) | EK__KIND(COPY) | EK__KIND(SET) };

/** Events of several kinds as one list in order of start; of equal starts the smaller kind first. Those of one kind
 *  come in runs, so most calls check one event only. */
typedef struct ek__event_walk {
    const ek__trace *trace;
    uint32_t kinds;                           /**< bits 1 << ek__event_kind that are left */
    const ek__event *next, *end;              /**< the run: all of them come before the other kinds */
    const ek__event *rest[EK__N_EVENT_KINDS]; /**< the event after the runs taken; NULL before the first */
} ek__event_walk;

static inline ek__event_walk ek__walk_kinds(const ek__trace *trace, uint32_t kinds)
{
    return (ek__event_walk){.trace = trace, .kinds = kinds};
}
/** Find the next run. @return false after the last event. O(kinds + run). */
bool ek__walk_run(ek__event_walk *walk);
/** The next event, NULL after the last one. */
static inline const ek__event *ek__walk_event(ek__event_walk *walk)
{
    return walk->next != walk->end || ek__walk_run(walk) ? walk->next++ : NULL;
}

/** Is the event an operator of the spec's "Computing" (Ascend)? Kernels on one of the cores whose names do not end in
 *  AicpuKernel or AivKernel: those belong to communication. */
bool ek__is_compute(const ek__trace *trace, const ek__event *event);
/** Does it count as communication? Whole collectives, and the Ascend tasks just named. */
bool ek__is_communication(const ek__trace *trace, const ek__event *event);
/** Does the trace have an Overlap Analysis layer that the options permit? */
bool ek__has_overlap_layer(const ek__trace *trace, const ek_trace_options *options);

/** The evidence that the trace's Overlap Analysis layer is incomplete; NULL when it is complete, when there is none,
 *  and where no events are left to check it against. */
ek_status ek__overlap_layer_problem(const ek__trace *trace, const char **problem, ek_error *err);

/** Computing, communication and all events of the device, as sets over the complete trace (from the overlap layer,
 *  where it is used). Kineto: computing with memory sets. */
typedef struct ek__device_sets {
    ek__intervals computing, communication, work; /**< work: with copies */
} ek__device_sets;
ek_status ek__device_sets_make(const ek__trace *trace, const ek_trace_options *options, ek__device_sets *out,
                               ek_error *err);
void ek__device_sets_clear(ek__device_sets *sets);

/** Finds the step of a time or an event. */
typedef struct ek__step_window {
    int64_t start, last; /**< both inside */
    int64_t reach;       /**< largest `last` of this and all earlier windows */
    int step;            /**< index in ek_trace_rank.step */
} ek__step_window;

typedef struct ek__step_finder {
    int n, near;                /**< near: the window found last; mostly it is the next one too */
    ek__step_window *window;    /**< [n], by start */
    const ek__trace *by_launch; /**< Kineto with step marks: events are assigned by their launch; else NULL */
} ek__step_finder;

/** By device windows; for Kineto with step marks by the marks, and events by their launch. O(steps log steps). */
ek_status ek__step_finder_make(const ek__trace *trace, const ek_trace_rank *rank, ek__step_finder *out, ek_error *err);
/** By the host's step marks, or device windows of steps without one: for host events. */
ek_status ek__step_finder_make_host(const ek_trace_rank *rank, ek__step_finder *out, ek_error *err);
void ek__step_finder_clear(ek__step_finder *finder);
/** Index of the step with a window that contains the time, the latest begun where windows overlap; -1. O(log steps). */
int ek__step_at(ek__step_finder *finder, int64_t time);
int ek__step_of(ek__step_finder *finder, const ek__event *event);
/** The last of the windows [0, below) that contains the time; -1. O(log steps) where windows do not overlap. */
int ek__step_window_at(const ek__step_finder *finder, int64_t time, int below);

/** A step of events: their sums are 0, all else unknown */
ek_trace_step ek__step_of_events(void);

/** A period of the operators of the busiest stream, as step windows in `rank`; none when there is no convincing one.
 *  O(kernels). */
ek_status ek__steps_by_repetition(const ek__trace *trace, ek_trace_rank *rank, ek_error *err);
/** Determine the warm-up steps, by options->drop_first_steps or by their lengths; reported in a note. */
ek_status ek__mark_warm_up(const ek_trace_options *options, ek_trace_rank *rank, ek_error *err);

/** Host launches of Ascend device tasks, by arrows. */
typedef struct ek__task_launch {
    int64_t start;       /**< of the device task */
    int64_t launch;      /**< the earliest arrow's start */
    uint16_t track;      /**< of the device task */
    uint16_t host_track; /**< where that arrow starts */
} ek__task_launch;

typedef struct ek__task_launches {
    size_t n;
    ek__task_launch *at; /**< [n], by track, then start; each once */
} ek__task_launches;

/** The gaps in which the device was idle because the host launched too late. O(n log n). */
ek_status ek__host_bound_gaps(const ek__trace *trace, ek_trace_rank *rank, ek__intervals *out, ek_error *err);

/** Does a GPU kernel with this name communicate? By the default list of docs/trace.md. O(size). */
bool ek__is_collective_kernel(const char *name, size_t size);
/** Does a name contain a collective's word, so that it may communicate though the list does not have it? O(size). */
bool ek__looks_like_collective(const char *name);

/** "matmul", "attention", "vector", "communication", "copy", "other", by texts in the name of a kernel. */
const char *ek__kernel_family(const char *name);

/** The type of an Ascend operator within its task's name: "Default/../conv1-Conv2d/Conv2D-op8" is Conv2D,
 *  "aclnnAdd_AddAiCore_Add" is Add, "trans_TransData_12" TransData. @param size  out: of the type. O(size). */
const char *ek__operator_type(const char *name, size_t *size);

/** A path, or an operator by its number in the graph, "Slice-op192": all its executions have the same shapes. */
bool ek__is_of_graph(const char *name);

/** Those of one class of arrows, HOST_TO_DEVICE or ASYNC_NPU; the trace's own. */
const ek__task_launches *ek__task_launches_of(const ek__trace *trace, ek__flow flow);

/** Finds the launches of tasks that come in order of start, as in a slice. */
typedef struct ek__task_launch_walk {
    const ek__task_launches *launches;
    size_t *next; /**< [n_tracks]: the first launch not passed yet */
} ek__task_launch_walk;

/** @return false when memory is out. O(launches) with all lookups. */
bool ek__task_launch_walk_make(const ek__trace *trace, ek__flow flow, ek__task_launch_walk *out);
void ek__task_launch_walk_clear(ek__task_launch_walk *walk);
/** NULL when no arrow ends there. */
const ek__task_launch *ek__task_launch_of(ek__task_launch_walk *walk, const ek__event *task);

#endif
