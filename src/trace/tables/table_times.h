/* trace/tables/table_times.h - begin and duration of device executions, gathered from a rank's tables
 * (kernel_details.csv, communication.json), and the figures that need both: receives and sends of a step. */
#ifndef EK_TRACE_TABLES_TABLE_TIMES_H
#define EK_TRACE_TABLES_TABLE_TIMES_H

#include "base/error.h"
#include "base/texts.h"
#include "evenkeel/trace.h"

typedef enum ek__timed_by { EK__TIMED_BY_KERNELS, EK__TIMED_BY_COMMUNICATION } ek__timed_by;
typedef enum ek__timed_kind {
    EK__TIMED_COMPUTING,
    EK__TIMED_COLLECTIVE,
    EK__TIMED_RECEIVE,
    EK__TIMED_SEND
} ek__timed_kind;

/** One execution. */
typedef struct ek__timed {
    int64_t start, duration; /**< duration 0 or more */
    uint32_t step;           /**< number of the step's name in ek__table_times.step */
    uint8_t kind, by;        /**< ek__timed_kind, ek__timed_by */
} ek__timed;

/** Of one rank; {0} is empty. */
typedef struct ek__table_times {
    size_t n, capacity;
    ek__timed *at;
    ek__texts step; /**< as kernel_details names steps: "50", not "step50" */
} ek__table_times;

/**
 * Add one execution. The kind of a name (a receive, a send) follows ek__is_receive() and ek__is_send(), also of the
 * part after its last '/', for MindSpore's `launch op/kernel`.
 * @param step   as the table names it; "N/A" is "". Starts or durations far from any clock are skipped.
 * @return false when memory is out. O(size of the names).
 */
bool ek__table_times_add(ek__table_times *times, const ek_trace_options *options, ek__timed_by by, const char *step,
                         const char *name, bool communication, int64_t start, int64_t duration);
/**
 * Fill n_receives, receive, receive_exposed, n_sends, send, span, pipeline_wait and own_stage of the steps in tables,
 * as docs/trace.md defines them for traces: union of receives outside the union of computing.
 *
 * Receives are those of kernel_details where that lists communication at all, else those of communication.json. In the
 * latter case a breakdown made only from kernels gets its communication, too. Where no table lists computing, the
 * exposed part follows from step_trace_time's overlap when that leaves one answer; else it stays unknown and a note
 * gives its bounds. Steps that are only in communication.json are created. O(n log n).
 */
ek_status ek__table_times_finish(ek__table_times *times, ek_trace_rank *rank, ek_error *err);
void ek__table_times_clear(ek__table_times *times);

#endif
