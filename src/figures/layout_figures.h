/* figures/layout_figures.h - the figures of a search for layouts and of a sweep over searches: fields of other structs,
 * tables, and figures that several writers need. */
#ifndef EK_FIGURES_LAYOUT_FIGURES_H
#define EK_FIGURES_LAYOUT_FIGURES_H

#include "evenkeel/layout_advice.h"
#include "evenkeel/layout_report.h"
#include "figures/figures.h"

/** Degrees, switches and schedule of an ek_layout; a plan, without the path of a list. */
extern const ek__fields ek__layout_fields, ek__layout_plan_fields;
/** The parts of the report other than plans, an ek_layout_report. */
extern const ek__fields ek__layout_advice_fields;
/** A complete sweep, an ek_layout_sweep_report. */
extern const ek__fields ek__layout_sweep_fields;
/** Tables with a row for every plan of an ek_layout_result, every value of an ek_layout_sweep, every fate. */
extern const ek__rows ek__layout_plan_rows, ek__layout_sweep_rows, ek__layout_fate_rows;

/** The difference between the current step and that of the best plan, as a share of the current one; per token, where
 *  the two have different global batches. NAN where there is no current layout. */
double ek__layout_gain(const ek_layout_result *result);
/** Bytes of a plan's fullest stage, and MB of it and of its limit; 0: none. */
int64_t ek__layout_peak(const ek_layout_plan *plan);
double ek__layout_peak_mb(const ek_layout_plan *plan);
double ek__layout_limit_mb(const ek_layout_plan *plan);

#endif
