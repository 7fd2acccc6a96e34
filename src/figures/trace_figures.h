/* figures/trace_figures.h - the figures of a run's traces: every struct of evenkeel/trace.h that a writer shows, as
 * fields; the tables of the page and of CSV; and the figures of a rank that several writers use. */
#ifndef EK_FIGURES_TRACE_FIGURES_H
#define EK_FIGURES_TRACE_FIGURES_H

#include "figures/figures.h"

/* ---- fields ---- */

/** The complete result: an ek_trace_run, whose fields contain all others. */
extern const ek__fields ek__trace_run;
/* Fields of other structs, or of a single writer. */
extern const ek__fields ek__trace_rank, ek__trace_topology_rank, ek__trace_place, ek__trace_finding;
extern const ek__fields ek__trace_breakdown, ek__trace_device, ek__trace_step, ek__trace_pipeline,
    ek__trace_pipeline_step, ek__trace_stage, ek__trace_balance, ek__trace_cluster;
extern const ek__fields ek__trace_layer, ek__trace_layer_times, ek__trace_short_layer, ek__trace_operator,
    ek__trace_kernel, ek__trace_kernel_totals, ek__trace_top_operators;
extern const ek__fields ek__trace_collective, ek__trace_collective_sum, ek__trace_collective_row, ek__trace_comm_sum,
    ek__trace_comm_step, ek__trace_exposure, ek__trace_link, ek__trace_link_end, ek__trace_transport,
    ek__trace_run_link, ek__trace_bandwidth, ek__trace_transfers, ek__trace_matrix, ek__trace_topology;
extern const ek__fields ek__trace_peak, ek__trace_memory;
extern const ek__fields ek__trace_stream, ek__trace_idle, ek__trace_dispatch, ek__trace_queue, ek__trace_data,
    ek__trace_mark, ek__trace_source, ek__trace_counts;
extern const ek__fields ek__trace_compute, ek__trace_path;

/* ---- tables of rows ---- */

/* In the order of each section of the page. */
#define EK__TRACE_ROWS_LIST(X) X(step) X(path) X(work) X(compute) X(communication) X(memory) X(host) X(run)
#define EK__ROWS_OF(topic)                                                                                             \
    extern const ek__rows ek__##topic##_rows[];                                                                        \
    extern const int ek__n_##topic##_rows;
EK__TRACE_ROWS_LIST(EK__ROWS_OF)
#undef EK__ROWS_OF

/** The next table after `last`, NULL for the first; NULL after the last one. */
const ek__rows *ek__next_trace_rows(const ek__rows *last);

/* ---- ranks and steps by name ---- */

/** The rank of that number, NULL without; the step of that name, NULL without, or when either is NULL. */
const ek_trace_rank *ek__trace_find_rank(const ek_trace_run *run, int number);
const ek_trace_step *ek__trace_find_step(const ek_trace_rank *rank, const char *name);
/** The rank at an index of the run, NULL below 0 and after the last one. */
const ek_trace_rank *ek__trace_rank_at(const ek_trace_run *run, int at);

/* ---- figures of a rank ---- */

/** Unknown times, as 0. */
int64_t ek__known(int64_t ns);
/** Sum that stays within int64_t: files may contain any numbers. */
int64_t ek__sum(int64_t a, int64_t b);
/** The breakdown of a rank: the mean of its steps; without any, of the complete file. */
const ek_trace_breakdown *ek__rank_breakdown(const ek_trace_rank *rank);
/** The parts of a rank's step (or file): computing, communication outside it, and the rest. */
int64_t ek__rank_span(const ek_trace_rank *rank);
/** The length of a step, ek_trace_run_step() of the rank; of a rank without one its span. */
int64_t ek__rank_step(const ek_trace_rank *rank);
/** The parts of a breakdown's time: they add up to `span`. */
typedef struct ek__breakdown_parts {
    int64_t span;                             /**< the breakdown's total; of a producer's table the sum of its parts */
    int64_t computing, exposed, copies, idle; /**< exposed: communication; copies: outside both */
} ek__breakdown_parts;
ek__breakdown_parts ek__parts_of_breakdown(const ek_trace_breakdown *b);
/** The parts of a rank's mean step, in a fixed order: they add up to ek__rank_step(). */
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

/** Means over the ranks' breakdowns, in nanoseconds. */
typedef struct ek__run_means {
    double step;                           /**< no mean: ek_trace_run_step(), without steps the longest span */
    double whole;                          /**< of ek__rank_step(), the base of shares */
    double span, computing, exposed, idle; /**< of ek__rank_span() and its parts */
} ek__run_means;
ek__run_means ek__means_of_run(const ek_trace_run *run);

/** Mean of one of the steps' times over those that are not warm-up and have it; EK_TRACE_UNKNOWN without any. `offset`
 * is offsetof(ek_trace_step, FIELD) of an int64_t. */
int64_t ek__step_mean(const ek_trace_rank *rank, size_t offset);
/** "rank 3", or "trace 0" of ranks that have no number: its place in the run. */
void ek__rank_label(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room);
/** Names of rows: "rank 3: NAME", in a run of one rank only NAME. */
void ek__view_key(const ek_trace_run *run, const ek_trace_rank *rank, const char *name, char *text, size_t room);
/** "rank 3"; traces that all name the same rank are numbered by their place in the run. */
void ek__view_rank_name(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room);
/** "rank 3"; with a stage "rank 3, stage 1". */
void ek__view_rank_title(const ek_trace_run *run, const ek_trace_rank *rank, char *text, size_t room);
/** "rank 3: step 50, warm-up"; in a run of one rank only the step. */
void ek__step_key(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_step *step, char *text,
                  size_t room);
/** Does the link's name contain its rank? Those of hccl_raw do, and are put side by side. */
bool ek__link_names_rank(const ek_trace_link *link);
/** Do the files contain launches? */
bool ek__has_dispatch(const ek_trace_dispatch *d);

#endif
