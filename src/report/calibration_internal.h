/* report/calibration_internal.h - texts shared by the writers of a calibration. */
#ifndef EK_REPORT_CALIBRATION_INTERNAL_H
#define EK_REPORT_CALIBRATION_INTERNAL_H

#include "evenkeel/calibration.h"

/** The predictions of a run. */
typedef enum ek__predicted {
    EK__PREDICTED_START,     /**< of a fitted run, with the start device of the fit */
    EK__PREDICTED_FIT,       /**< with the result of a fit that includes the run */
    EK__PREDICTED_GROUP_OUT, /**< by a fit without the run's group */
    EK__PREDICTED_HELD,      /**< with the result of a fit without the run */
    EK__N_PREDICTED,
} ek__predicted;
extern const char *const ek__predicted_title[EK__N_PREDICTED];

/** Does the run have that prediction? */
bool ek__calibrated_has(const ek_calibrated_run *run, ek__predicted which);
/** Seconds of a step. */
double ek__calibrated_step(const ek_calibrated_run *run, ek__predicted which);
/** predicted / measured - 1 */
double ek__calibrated_error(const ek_calibrated_run *run, ek__predicted which);
/** Errors of all runs with that prediction. */
const ek_calibration_error *ek__calibration_error(const ek_calibration *calibration, ek__predicted which);

/** "16 runs in 4 groups are fitted, 8 kept back, 0 left out"; without runs, the other data. */
void ek__calibration_verdict(const ek_calibration *calibration, char *text, size_t size);

#endif
