/* trace/events/measured.h - executions of operators by their shapes, and the launch rate of the host: the input of a
 * calibration from a profile. Only with ek_trace_options.measure. */
#ifndef EK_TRACE_ANALYSE_MEASURED_H
#define EK_TRACE_ANALYSE_MEASURED_H

#include <math.h>

#include "base/error.h"
#include "trace/trace.h"

/** One execution: its device time, and its inputs as the number of a text "name\nshapes\ntypes\nlayout\nvalues", of a
 *  table with "\noutput types\ncore" after it; `kernel` the number of another text. Without shapes there are fewer
 *  lines. */
typedef struct ek__execution {
    uint32_t what, kernel;
    int64_t start, duration;
    int stream, row;               /**< row: set by ek__measured_keep() */
    double unit[EK_N_TRACE_UNITS]; /**< shares of its time, by ek_trace_unit; NAN */
    int64_t blocks;                /**< 0 */
} ek__execution;
#define EK__NO_UNITS .unit = {NAN, NAN, NAN, NAN, NAN}

/** A text by its number, of the trace or of a table. */
typedef const char *ek__execution_text(const void *user, uint32_t number);

/** Group executions of equal numbers: the operators in rank->measured. Sets their rows. O(n log n). */
ek_status ek__measured_keep(ek__execution *all, size_t n, ek__execution_text *text, const void *user,
                            ek_trace_rank *rank, ek_error *err);

/** The host's launches: rank->measured.n_intervals, .launch. O(launches log launches). */
ek_status ek__measured_launches(const ek__trace *trace, ek_trace_rank *rank, ek_error *err);

#endif
