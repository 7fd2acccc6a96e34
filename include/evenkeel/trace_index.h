/* evenkeel/trace_index.h - an index of traces of any size for the viewer: written once, then queried for the data of a
 * picture.
 *
 * A trace file is read once and its events are written by track, depth and time into an index file, with sums over 64
 * and 4096 events (src/index/format.h). Any stretch of time at any resolution is then answered from a bounded number of
 * reads, each compared with checksums that were written with it: a file that changes or is cut, even while it is open,
 * gives errors and never wrong answers. Memory while writing is bounded except for the texts of distinct names; while
 * reading it is that of the sums over 4096 events, of a checksum for each 4 KB, and of the names of the traces that
 * were queried.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRACE_INDEX_H
#define EVENKEEL_TRACE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"

EK_BEGIN_DECLS

/** Types of events, for colours and sums. Their names are those of the document (docs/view-json.md). */
#define EK_VIEW_TYPE_LIST(X)                                                                                           \
    X(OTHER, "other")                                                                                                  \
    X(COMPUTING, "computing")                                                                                          \
    X(COMMUNICATION, "communication")                                                                                  \
    X(COMMUNICATION_TASK, "communication task")                                                                        \
    X(COPY, "copy")                                                                                                    \
    X(SET, "memory set")                                                                                               \
    X(WAIT, "wait")                                                                                                    \
    X(HOST_FRAMEWORK, "framework")                                                                                     \
    X(HOST_RUNTIME, "runtime")                                                                                         \
    X(HOST_PYTHON, "python")                                                                                           \
    X(DATA_LOADING, "data loading")                                                                                    \
    X(STEP, "step")                                                                                                    \
    X(SCOPE, "scope")                                                                                                  \
    X(MARK, "mark")                                                                                                    \
    X(OVERLAP_COMPUTING, "all computing")                                                                              \
    X(OVERLAP_COMMUNICATION, "all communication")                                                                      \
    X(OVERLAP_NOT_OVERLAPPED, "communication not overlapped")                                                          \
    X(IDLE, "idle")                                                                                                    \
    X(FORWARD, "forward")                                                                                              \
    X(BACKWARD, "backward")                                                                                            \
    X(BACKWARD_INPUT, "backward for inputs")                                                                           \
    X(BACKWARD_WEIGHT, "backward for weights")                                                                         \
    X(RECOMPUTE, "recompute")                                                                                          \
    X(TRANSFER, "transfer")                                                                                            \
    X(PARAMETERS, "parameters")                                                                                        \
    X(GRADIENTS, "gradients")                                                                                          \
    X(OPTIMIZER, "optimizer states")                                                                                   \
    X(ACTIVATIONS, "activations")

typedef enum ek_view_type {
#define EK_VIEW_TYPE_VALUE(name, text) EK_VIEW_##name,
    EK_VIEW_TYPE_LIST(EK_VIEW_TYPE_VALUE)
#undef EK_VIEW_TYPE_VALUE
        EK_N_VIEW_TYPES,
} ek_view_type;
extern const char *const *const ek_view_type_name;

/** The folder of index files next to traces. */
#define EK_TRACE_INDEX_FOLDER "evenkeel-index"

typedef struct ek_trace_index ek_trace_index;

typedef struct ek_trace_index_options {
    const char *folder; /**< where index files go; NULL: a folder next to the traces, or in the user's cache where that
                             cannot be written */
    bool temporary;     /**< keep nothing: index files are removed when the index is closed */
    bool fresh;         /**< write it again even where one fits */
    int n_threads;      /**< 0: all cores */
    /** Called now and then, from any thread but never from two at once; NULL without. */
    void (*progress)(void *user, double share, const char *what);
    void *user;
    const ek_interrupt *interrupt; /**< may be NULL */
} ek_trace_index_options;

/** Result of opening an index. */
typedef struct ek_trace_index_made {
    int n_files, n_written; /**< traces; indices that had to be written */
    int64_t bytes_read;     /**< of traces, this time */
    int64_t bytes_index;    /**< of all index files */
    double seconds;         /**< spent writing */
    const char *folder;     /**< of the first index; owned by the index */
    int n_problems;         /**< damaged or cut files, used as far as possible; each was reported to the listener */
} ek_trace_index_made;

/**
 * Open the index of a run's traces, writing missing and outdated parts (by size and time of change of the trace).
 * Half-written files never stay: an index appears when it is complete.
 *
 * @param path   [n_paths] files and folders of one run, as for ek_trace_run_read()
 * @param made   may be NULL
 * @return EK_OK; EK_ERR_INPUT when there is no trace in them; EK_ERR_SYSTEM also when the disk is full or the caller
 *   interrupted it; EK_ERR_MEMORY. O(bytes); the result does not depend on the number of threads.
 */
ek_status ek_trace_index_open(const char *const *path, int n_paths, const ek_trace_index_options *options,
                              const ek_listener *listener, ek_trace_index **out, ek_trace_index_made *made,
                              ek_error *err);
/** Close an index: its files, and those of a temporary one are gone. NULL is fine. */
void ek_trace_index_close(ek_trace_index *index);
/** Traces, in order of ranks, those without one last. */
int ek_trace_index_n_files(const ek_trace_index *index);
/** The rank of a trace; EK_TRACE_NO_RANK (-1) when unknown. */
int ek_trace_index_rank(const ek_trace_index *index, int file);
/**
 * Align clocks: add nanoseconds to the times of each trace. They replace earlier shifts. Call it before other threads
 * query the index, since there is no lock. O(rows).
 *
 * @param shift  [ek_trace_index_n_files()] nanoseconds
 */
void ek_trace_index_shift(ek_trace_index *index, const int64_t *shift);
/** Bytes of the traces. O(traces). */
int64_t ek_trace_index_bytes(const ek_trace_index *index);
/** Events in the traces that last. */
int64_t ek_trace_index_n_events(const ek_trace_index *index);

EK_END_DECLS
#endif
