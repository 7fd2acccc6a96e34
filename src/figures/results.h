/* figures/results.h - the list of results with described figures, each with its document. A new result is a file
 * src/figures/NAME.c with its fields and rows, and a line in EK__RESULT_LIST. */
#ifndef EK_FIGURES_RESULTS_H
#define EK_FIGURES_RESULTS_H

#include "figures/figures.h"

/** Name, document below docs/. The document ends with the section "The fields", which the description writes. */
#define EK__RESULT_LIST(X)                                                                                             \
    X(trace, "trace-json.md")                                                                                          \
    X(diagnosis, "diagnose.md")                                                                                        \
    X(ir, "ir-json.md")                                                                                                \
    X(ir_difference, "ir-json.md")                                                                                     \
    X(memory, "memory-json.md")                                                                                        \
    X(calibration, "calibrate.md")                                                                                     \
    X(estimate, "estimate-json.md")                                                                                    \
    X(metrics, "metrics-json.md")                                                                                      \
    X(balance, "json.md")                                                                                              \
    X(collected, "collect.md")                                                                                         \
    X(guide, "guide.md")                                                                                               \
    X(plan, "plan-json.md")                                                                                            \
    X(lint, "lint-json.md")                                                                                            \
    X(rehearsal, "rehearse.md")                                                                                        \
    X(overview, "overview.md")                                                                                         \
    X(doctor, "doctor.md")

typedef struct ek__result {
    const char *name, *document;
    const ek__fields *fields; /**< of the complete result */
    /** The next of its tables after `last`, NULL for the first; NULL after the last one. */
    const ek__rows *(*next_rows)(const ek__rows *last);
    /** Of other answers that the document describes, ended by NULL; NULL: none. Their path is the request for them. */
    const ek__fields *const *also;
} ek__result;

#define EK__RESULT_OF(name, document) extern const ek__result ek__result_##name;
EK__RESULT_LIST(EK__RESULT_OF)
#undef EK__RESULT_OF

/** [ek__n_results] */
extern const ek__result *const ek__results[];
extern const int ek__n_results;

#endif
