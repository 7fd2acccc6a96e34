/* report/trace_internal.h - what the writers of a run's traces share. */
#ifndef EK_REPORT_TRACE_INTERNAL_H
#define EK_REPORT_TRACE_INTERNAL_H

#include "evenkeel/trace_report.h"
#include "report/json_stream.h"

/** Does the view show this rank, this step? A NULL view shows all. */
bool ek__view_shows(const ek_trace_view *view, const ek_trace_rank *rank);
bool ek__view_shows_step(const ek_trace_view *view, const ek_trace_step *step);
/** Times that are not known, as 0. */
int64_t ek__known(int64_t ns);
/** Sum that stays within int64_t: files may hold any numbers. */
int64_t ek__sum(int64_t a, int64_t b);
/** The breakdown that stands for a rank: the mean of its steps; without any, of the whole file. */
const ek_trace_breakdown *ek__rank_breakdown(const ek_trace_rank *rank);
/** How long the rank's step (or file) took: computing, communication outside it, and the rest. */
int64_t ek__rank_span(const ek_trace_rank *rank);
/** How long a step took, ek_trace_rank_step(); of a rank without one its span. */
int64_t ek__rank_step(const ek_trace_rank *rank);
/** What a breakdown's time was spent on: the parts add up to `span`. */
typedef struct ek__breakdown_parts {
    int64_t span;                             /**< the breakdown's total; of a producer's table the sum of its parts */
    int64_t computing, exposed, copies, idle; /**< exposed: communication; copies: outside both */
} ek__breakdown_parts;
ek__breakdown_parts ek__parts_of_breakdown(const ek_trace_breakdown *b);
/** What a rank's mean step was spent on, in a fixed order: the parts add up to ek__rank_step(). */
typedef enum ek__rank_part {
    EK__RANK_ALONE,
    EK__RANK_OVERLAPPED,
    EK__RANK_EXPOSED,
    EK__RANK_WAITING,
    EK__RANK_COPIES,
    EK__RANK_DATA,
    EK__RANK_HOST,
    EK__RANK_FREE,
    EK__N_RANK_PARTS,
} ek__rank_part;
/** "computing", "computing and communicating", "exposed communication", "waiting for a stage", "exposed copies",
 *  "waiting for data", "host too slow", "free". */
extern const char *const ek__rank_part_name[EK__N_RANK_PARTS];
void ek__rank_parts(const ek_trace_rank *rank, int64_t value[EK__N_RANK_PARTS]);

/** Means over the ranks of what stands for each of them, in nanoseconds. */
typedef struct ek__run_means {
    double step;                           /**< no mean: ek_trace_run_step(), without steps the longest span */
    double whole;                          /**< of ek__rank_step(), which shares are of */
    double span, computing, exposed, idle; /**< of ek__rank_span() and its parts */
} ek__run_means;
ek__run_means ek__means_of_run(const ek_trace_run *run);

/** Mean of one of the steps' times over those that are no warm-up and know it; EK_TRACE_UNKNOWN without any. `offset`
 * is offsetof(ek_trace_step, FIELD) of an int64_t. */
int64_t ek__step_mean(const ek_trace_rank *rank, size_t offset);
/** "rank 3", or "trace 0" of ranks that have no number: its place in the run. */
void ek__rank_label(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room);

/** A link as an object of JSON. */
void ek__put_link(ek__stream *s, const char *key, const ek_trace_link *link);
/** What only the ranks together can say, as members of the run's object. EK_OK or EK_ERR_MEMORY. */
ek_status ek__put_trace_run(ek__stream *s, const ek_trace_run *run, ek_error *err);

#endif
