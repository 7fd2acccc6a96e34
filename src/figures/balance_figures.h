/* figures/balance_figures.h - the figures of plans, of searches and of dry runs: the answers in docs/json.md, each an
 * ek__fields with everything below it, and the values of a simulated plan that writers and pages use. */
#ifndef EK_FIGURES_BALANCE_FIGURES_H
#define EK_FIGURES_BALANCE_FIGURES_H

#include <stdbool.h>

#include "evenkeel/report.h"
#include "evenkeel/sweep.h"
#include "figures/results.h"

/* ---- answers that are not in results.h ---- */

/** An ek_sweep, an ek_quick_report, an ek_uniform_run; of the schedules the record is ek_schedules. */
extern const ek__fields ek__sweep_answer, ek__quick_answer, ek__uniform_answer, ek__schedules_answer;

/* ---- fields of other structs ---- */

/** An ek_case; the owner's result is the ek_report, its number that of the case. */
extern const ek__fields ek__case_fields;
/** Of an ek_plan. */
extern const ek__fields ek__plan_fields;
/** Of an ek_layers: time and memory of the model's layers. */
extern const ek__fields ek__model_fields;
/** Of an ek_ranking. */
extern const ek__fields ek__ranking_fields;
/** Of an ek_shape. */
extern const ek__fields ek__shape_fields;
/** Values: the names of those recompute kinds for which a bool of [EK_N_RECOMPUTE] is true. */
extern const ek__fields ek__kinds_list;
bool ek__kind_is_set(const void *record, const ek__owner *of);
int ek__kind_count(const void *record, const ek__owner *of);
/** The recompute kinds of a bool array as a list of names, found by a function. */
#define KINDS(function)                                                                                                \
    EK__KIND_LIST, .fields = &ek__kinds_list, .find = (function), .count = ek__kind_count, .shown = ek__kind_is_set,   \
                   .at = 0

/* ---- figures of a simulated plan ---- */

/** Memory limit of a stage; 0 without one. */
double ek__stage_limit(const ek_report *report, int stage);

/** Does a stage's peak exceed its limit, beyond rounding of the sum? False without a limit. */
bool ek__over_limit(const ek_report *report, const ek_timeline *timeline, int stage);
bool ek__any_over_limit(const ek_report *report, const ek_timeline *timeline);

/** Sequence pieces of a micro-batch, 1 or more, and the complete micro-batches of a step. */
int ek__shape_pieces(const ek_shape *shape);
int ek__micro_batches(const ek_shape *shape);

/** Is a timeline's schedule the less-memory interleaving of the original's `-lm 1`? */
bool ek__less_memory(const ek_timeline *timeline);

/** Did the search for a swept value give a plan? */
bool ek__sweep_solved(const ek_sweep_row *row);
/** (step - lower bound) / lower bound of a swept value; NAN where either is not known. */
double ek__sweep_gap(const ek_sweep_row *row);
/** Are several answers printed, as a list? */
bool ek__is_list(const ek_report *report);

#endif
