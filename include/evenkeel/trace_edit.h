/* evenkeel/trace_edit.h - writes traces from traces: several ranks in one, on one clock; a part of a large one.
 *
 * Events are copied unchanged, apart from the time (to the common clock), and, with more than one rank, process ids and
 * flow ids (so that ranks stay apart) and process names ("rank 3: Ascend Hardware"). Memory does not grow with the
 * files.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRACE_EDIT_H
#define EVENKEEL_TRACE_EDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Offset of a clock from that of the first host, and its error. */
typedef struct ek_trace_clock {
    const char *host; /**< NULL: of one rank with an unknown host */
    int n_ranks;
    int *rank;         /**< [n_ranks]: the ranks on this clock; EK_TRACE_NO_RANK when a file has none */
    bool known;        /**< false: nothing ties it to the first clock, offset 0 */
    int64_t offset;    /**< nanoseconds to add to its times */
    int64_t deviation; /**< median absolute deviation of the matches around their median */
    int64_t drift;     /**< median of the later half of the matches minus that of the earlier half */
    int64_t n_matches;
    int from; /**< index of the clock it was compared with; -1 for the first */
} ek_trace_clock;

typedef struct ek_trace_clocks {
    int n;
    ek_trace_clock *clock; /**< [n], by lowest rank */
    struct ek__pool *pool;
} ek_trace_clocks;

/** Events to keep; {0} keeps everything. */
typedef struct ek_trace_selection {
    bool from_given, to_given;
    int64_t from, to; /**< nanoseconds after the first event of the ranks kept: [from, to) */
    const char *step; /**< only this step's window; NULL: all */
    int n_ranks, n_layers;
    const int *rank;          /**< [n_ranks]; none: all */
    const char *const *layer; /**< [n_layers]: whole elements of scoped names, or modules of PyTorch; none: all */
    bool align_clocks;        /**< bring the hosts' clocks together */
} ek_trace_selection;

/** Counts of the written trace. */
typedef struct ek_trace_written {
    int n_ranks;
    int64_t n_read, n_written; /**< events, names of processes among them */
    int64_t n_events;          /**< written events without those of names */
    int n_problems;            /**< files that were damaged or cut; each was reported to the listener */
} ek_trace_written;

/**
 * Clock offsets from collectives, and from sends and their receives, that ranks of several hosts took part in: both
 * sides end within microseconds, so the median over all matches of the difference of their ends is the difference of
 * the clocks. Hosts are tied together along the tree of comparisons with the least standard error.
 *
 * Assumes that clocks run equally fast over the trace (`drift` measures it) and that a host's devices share a clock
 * (the profilers convert to it). Hosts come from the folder's names; a rank without one counts as a separate host.
 *
 * @param path  [n_paths] files and folders of one run, as for ek_trace_run_read()
 * @param out   ek_trace_clocks_clear() frees it; untouched on failure
 * @return EK_OK, EK_ERR_INPUT when there is no trace, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(bytes).
 */
ek_status ek_trace_clocks_read(const char *const *path, int n_paths, const ek_trace_options *options,
                               const ek_listener *listener, ek_trace_clocks *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_trace_clocks_clear(ek_trace_clocks *clocks);

/**
 * Write the selected events as one Chrome trace (a JSON array).
 *
 * A complete event is kept when it overlaps the range; flows and instants when they are in it; metadata always. With
 * layers, device and scope events are kept if their name, operator or launch belongs to one of them.
 *
 * @param path    [n_paths] files and folders of one run
 * @param clocks  of ek_trace_clocks_read() over the same paths, or NULL: as the files' clocks are
 * @return EK_OK; EK_ERR_INPUT when there is no trace, no such rank, step or layer, or no
 *         event in the range; EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes); memory does not grow with them.
 */
ek_status ek_trace_write(const char *const *path, int n_paths, const ek_trace_selection *selection,
                         const ek_trace_clocks *clocks, const ek_trace_options *options, const ek_listener *listener,
                         FILE *out, ek_trace_written *written, ek_error *err);

EK_END_DECLS
#endif
