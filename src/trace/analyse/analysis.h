/* trace/analyse/analysis.h - the list of analyses of a rank's events, and of the ranks together.
 *
 * A new analysis is one file src/trace/analyse_NAME.c with ek__analyse_NAME(), one line here, one in src/meson.build.
 * Analyses run in this order, after the rank's tables were read; later ones may use the results of earlier ones, and
 * every one fills its own part of the rank from the pool. */
#ifndef EK_TRACE_ANALYSE_ANALYSIS_H
#define EK_TRACE_ANALYSE_ANALYSIS_H

#include "trace/events/intervals.h"
#include "trace/trace.h"

#define EK__ANALYSIS_LIST(X)                                                                                           \
    X(steps)              /* windows, warm-up: ek_trace_rank.step */                                                   \
    X(breakdown)          /* computing, communication, free of every step: step[].own, .raw, mean, device */           \
    X(idle)               /* reasons for idle time: idle, step[].host_bound .. unlinked */                             \
    X(dispatch)           /* is the host too slow: dispatch */                                                         \
    X(host_gaps)          /* dispatch.gap: idle time of the device for the host, and the host's                        \
                           * activity */                                                                               \
    X(data_loading)       /* data: iterators, step[].data_loading */                                                   \
    X(operators)          /* operators, from events where no table has                                                 \
                           * them */                                                                                   \
    X(slow_executions)    /* operators.slow */                                                                         \
    X(collectives)        /* communication.collective, .sum */                                                         \
    X(messages)           /* communication.collective[].message: with options->measure */                              \
    X(recompute)          /* recompute, of PyTorch */                                                                  \
    X(layers)             /* layers */                                                                                 \
    X(anatomy)            /* step[].activity; work with options->measure */                                            \
    X(likely_collectives) /* a note on operators with names like collectives that count as computing */

/* Analyses that need only the steps and their warm-up, and that no other one needs: on large traces they run on a
 * thread of their own, in parallel with those above that come after breakdown. Each fills the member of the rank that
 * has its name. */
#define EK__ANALYSIS_BESIDE_LIST(X) X(measured) /* with options->measure */

/** @return EK_OK or EK_ERR_MEMORY; missing inputs are reported in rank->note. */
typedef ek_status ek__analysis(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                               ek_error *err);
#define EK__ANALYSIS(name) ek__analysis ek__analyse_##name;
EK__ANALYSIS_LIST(EK__ANALYSIS)
EK__ANALYSIS_BESIDE_LIST(EK__ANALYSIS)
#undef EK__ANALYSIS

/* Analyses of all ranks together; same recipe with src/trace/compare_NAME.c. Ranks are sorted. */
#define EK__COMPARISON_LIST(X)                                                                                         \
    X(exchanges) /* communication.collective[].exchange where it is unclear; the steps' receive and pipeline_wait from \
                  * these */                                                                                           \
    X(stages)    /* stage of every rank; stage[], stage_imbalance */                                                   \
    X(intervals) /* worst_rank_by_interval */                                                                          \
    X(pairs)     /* pair[] */                                                                                          \
    X(cluster)   /* cluster_row[] where no file has them */                                                            \
    X(groups)    /* communication.collective[].n_group */                                                              \
    X(slow_rank) /* vote[], gap[], ballot[]; communication.collective[].transit, .last */                              \
    X(waits)     /* wait[] */                                                                                          \
    X(critical_path) /* path: with options->measure */                                                                 \
    X(host)          /* rank[].dispatch.idle */                                                                        \
    X(exposure)      /* rank[].exposure */                                                                             \
    X(links)         /* transport[], slow_link[] */                                                                    \
    X(matrix)        /* matrix[] */                                                                                    \
    X(databases)     /* finding[]: there are databases that were not                                                   \
                      * read */                                                                                        \
    X(slow_steps)    /* finding[]: steps that take longer than others, and their differences */                        \
    X(tracker)       /* finding[]: those of MindSpore's memory tracker */                                              \
    X(findings)      /* last: finding[] */

typedef ek_status ek__comparison(const ek_trace_options *options, ek_trace_run *run, ek_error *err);
#define EK__COMPARISON(name) ek__comparison ek__compare_##name;
EK__COMPARISON_LIST(EK__COMPARISON)
#undef EK__COMPARISON

/** Add a sentence to rank->note. EK_ERR_MEMORY or EK_OK. */
ek_status ek__rank_note(ek_trace_rank *rank, ek_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Does a collective with this name wait for, or send to, another pipeline stage? By `options->receive`, else the
 *  default list (docs/trace.md): hcom_receive__N, Receive-op, hcom_<...>SendRecv__N, hcom_batchSendRecv_. */
bool ek__is_receive(const ek_trace_options *options, const char *name);
bool ek__is_send(const ek_trace_options *options, const char *name);
/** Either of them, or another exchange between two ranks by the words in its name; also for names with numbers that
 * were cut off. */
bool ek__is_p2p(const ek_trace_options *options, const char *name);
/** Is it between two ranks? As found from its trace or by the comparison of ranks; by its name where neither did. */
bool ek__collective_is_p2p(const ek_trace_collective *c);
/** Both sides of one transfer, and all ranks of one collective, end within this of one another, or within a share of
 * the shorter one. */
#define EK__TOGETHER_NS    20000
#define EK__TOGETHER_SHARE 0.05
/** Do ends with the distance `apart` show that collectives are one, without other evidence? Within EK__TOGETHER_NS only
 *  where that is short compared with the longest of them. */
static inline bool ek__are_one_collective(int64_t apart, int64_t shortest, int64_t longest)
{
    return (double)apart <= EK__TOGETHER_SHARE * (double)shortest || (apart <= EK__TOGETHER_NS && apart <= longest / 2);
}
/** Does a producer's Bubble column include this name? MindSpore's list: receives, sends, SendRecv; torch_npu's:
 *  hcom_receive. */
bool ek__is_producer_bubble(ek_producer producer, const char *name);

/** The breakdown of spec 5.5 (Kineto) of the device events of `trace` that `take` accepts (NULL: all). */
ek_status ek__breakdown_kineto(const ek__trace *trace, bool (*take)(const void *user, const ek__event *event),
                               const void *user, ek_trace_breakdown *out, ek_error *err);

/** Kineto: the launch of a device event by its correlation; NULL when it is not in the file. O(1). */
const ek__event *ek__launch_of(const ek__trace *trace, const ek__event *device_event);

/** The base of a rank's shares: ek_trace_rank_step(), 0 when unknown. */
double ek__rank_step_ns(const ek_trace_rank *rank);

/** Original's layer times, over the traces of the run's stages (spec 5.7): --sapp-compatible. Reads the files itself.
 */
ek_status ek__trace_sapp(const ek_trace_options *options, ek_trace_run *run, ek_error *err);

#endif
