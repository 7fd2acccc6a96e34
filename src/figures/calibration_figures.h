/* figures/calibration_figures.h - the tables of a calibration, and their words, which reports use too. */
#ifndef EK_FIGURES_CALIBRATION_FIGURES_H
#define EK_FIGURES_CALIBRATION_FIGURES_H

#include "evenkeel/calibration.h"
#include "figures/figures.h"

/** All reported errors, in their order: of the start, the fit, runs left out, groups left out, the start on held-out
 * runs, held-out runs. */
enum { EK__N_ERROR_ROWS = 6 };
extern const char *const ek__error_row_title[EK__N_ERROR_ROWS];
const ek_calibration_error *ek__calibration_error_row(const ek_calibration *calibration, int row);
/** The change of a constant, in words. */
extern const char *const ek__fit_state_title[EK_N_FIT_STATES];

/** Tables of the page in their order; the table of runs is a CSV, too. */
enum {
    EK__CALIBRATION_ERRORS,
    EK__CALIBRATION_RUNS,
    EK__CALIBRATION_CONSTANTS,
    EK__CALIBRATION_MEASURED,
    EK__N_CALIBRATION_TABLES
};
extern const ek__rows ek__calibration_table[EK__N_CALIBRATION_TABLES];

#endif
