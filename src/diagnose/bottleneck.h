/* diagnose/bottleneck.h - the list of bottlenecks that the diagnosis checks.
 *
 * A new one is a file src/diagnose/bottleneck_NAME.c with ek__bottleneck_NAME(), and a line here, in the guide's order.
 * It reads the given inputs, adds findings with ek__bottleneck_add() and missing inputs with ek__bottleneck_needs().
 * Gains are those of one change with everything else unchanged, so they must not be added up. */
#ifndef EK_DIAGNOSE_BOTTLENECK_H
#define EK_DIAGNOSE_BOTTLENECK_H

#include "base/pool.h"
#include "diagnose/measured.h"
#include "diagnose/pipeline.h"
#include "evenkeel/train_log.h"

/* Gains are disjoint as far as the definitions go: a wait for data is not a gap of the host, a wait for a late rank is
 * not communication, a wait in the pipeline belongs to the balance as far as equal stages do not have it. */
#define EK__BOTTLENECK_LIST(X)                                                                                         \
    X(slow_operators)                                                                                                  \
    X(computing)                                                                                                       \
    X(optimizer)                                                                                                       \
    X(exposed_communication)                                                                                           \
    X(redistribution)                                                                                                  \
    X(recompute)                                                                                                       \
    X(memory)                                                                                                          \
    X(data_loading)                                                                                                    \
    X(host)                                                                                                            \
    X(slow_steps)                                                                                                      \
    X(bubble)                                                                                                          \
    X(load_balance)                                                                                                    \
    X(slow_rank)                                                                                                       \
    X(traced) /* last: findings of no other bottleneck */

/** A search under way. */
typedef struct ek__diagnose {
    const ek_run_input *input;
    const ek_diagnose_options *options;
    ek_diagnosis *out;
    double step_ns;           /**< denominator of shares; NAN */
    ek_train_log_summary log; /**< n 0, times NAN: no log with times */
    ek__measured measured;    /**< run NULL: no trace with time in it */
    ek__pipeline pipeline;    /**< there false: no plan, or no times for it */
    const char *below;        /**< "recompute 0.6 %, bubble 0.2 %": found, but under the least share; NULL */
} ek__diagnose;

typedef ek_status ek__bottleneck(ek__diagnose *d, ek_error *err);
#define EK__BOTTLENECK_DECLARE(name) ek__bottleneck ek__bottleneck_##name;
EK__BOTTLENECK_LIST(EK__BOTTLENECK_DECLARE)
#undef EK__BOTTLENECK_DECLARE

/** Add one; texts must live in out->pool or for ever. Shares are filled in from the seconds. Left out when both its
 *  cost and its gain are in time and below options->least_share, or when its gain is known to be. */
ek_status ek__bottleneck_add(ek__diagnose *d, ek_bottleneck *bottleneck, ek_error *err);
/** Add a piece of evidence; more than EK_MAX_EVIDENCE are left out. `text` NULL: EK_ERR_MEMORY. */
ek_status ek__bottleneck_show(ek_bottleneck *bottleneck, ek_evidence evidence, ek_error *err);
/** Add a finding under the least share; a note at the end lists these. Shares under 0.05 % are not reported.
 */
ek_status ek__bottleneck_below(ek__diagnose *d, const char *id, double share, ek_error *err);
/** Note a skipped check. */
ek_status ek__bottleneck_needs(ek__diagnose *d, const char *what, const char *needs, const char *how, ek_error *err);
/** Something that was given could not be used. `text` NULL: EK_ERR_MEMORY. */
ek_status ek__bottleneck_note(ek__diagnose *d, const char *text, ek_error *err);
/** Under which nothing is reported, in nanoseconds; 0 when no step is known. */
double ek__least_ns(const ek__diagnose *d);

/** How to get a trace, in the words of the run's framework. */
const char *ek__how_to_trace(const ek__diagnose *d);
const char *ek__how_to_graph(const ek__diagnose *d);  /**< the IR of the compiled graph */
const char *ek__how_to_times(const ek__diagnose *d);  /**< times of layers, and the plan */
const char *ek__how_to_memory(const ek__diagnose *d); /**< peaks, and the limit */
/** The framework of the settings to name. */
ek_framework ek__framework_of(const ek__diagnose *d);

#endif
