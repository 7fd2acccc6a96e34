/* figures/estimate_figures.h - the tables of an estimate. */
#ifndef EK_FIGURES_ESTIMATE_FIGURES_H
#define EK_FIGURES_ESTIMATE_FIGURES_H

#include "figures/figures.h"

/** CSV: every part of every stage. The page: parts of the slowest stage; the measured run's next to the predicted. */
enum { EK__ESTIMATE_CSV, EK__ESTIMATE_PARTS, EK__ESTIMATE_ERRORS, EK__N_ESTIMATE_TABLES };
/** Of an ek_estimate_report. */
extern const ek__rows ek__estimate_table[EK__N_ESTIMATE_TABLES];

#endif
