/* diagnose/bottleneck.h - the list of bottlenecks that a run is searched for.
 *
 * A new one is a file src/diagnose/bottleneck_NAME.c with ek__bottleneck_NAME(), and a line here, in the guide's order.
 * It looks at what is given, adds findings with ek__bottleneck_add() and, for what it would have needed,
 * ek__bottleneck_needs(). Gains are those of one change with all else as it is, so they must not be added up. */
#ifndef EK_DIAGNOSE_BOTTLENECK_H
#define EK_DIAGNOSE_BOTTLENECK_H

#include "base/pool.h"
#include "evenkeel/diagnose.h"

#define EK__BOTTLENECK_LIST(X)                                                                                         \
    X(slow_operators)                                                                                                  \
    X(exposed_communication)                                                                                           \
    X(redistribution)                                                                                                  \
    X(recompute)                                                                                                       \
    X(memory)                                                                                                          \
    X(data_loading)                                                                                                    \
    X(host)                                                                                                            \
    X(bubble)                                                                                                          \
    X(load_balance)                                                                                                    \
    X(slow_rank)

/** A search under way. */
typedef struct ek__diagnose {
    const ek_run_input *input;
    const ek_diagnose_options *options;
    ek_diagnosis *out;
    double step_ns; /**< of the measured step that shares are of; NAN */
} ek__diagnose;

typedef ek_status ek__bottleneck(ek__diagnose *d, ek_error *err);
#define EK__BOTTLENECK_DECLARE(name) ek__bottleneck ek__bottleneck_##name;
EK__BOTTLENECK_LIST(EK__BOTTLENECK_DECLARE)
#undef EK__BOTTLENECK_DECLARE

/** Add one; texts must live in out->pool or for ever. Left out below options->least_share. */
ek_status ek__bottleneck_add(ek__diagnose *d, const ek_bottleneck *bottleneck, ek_error *err);
/** Something could not be looked at. */
ek_status ek__bottleneck_needs(ek__diagnose *d, const char *what, const char *needs, const char *how, ek_error *err);

#endif
