/* evenkeel/calibration.h - a device fitted to what was measured: kernels and links as they are, the rest by least
 * squares on the steps of runs, with what the data determine and what they do not (docs/calibrate.md). */
#ifndef EVENKEEL_CALIBRATION_H
#define EVENKEEL_CALIBRATION_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/device.h"
#include "evenkeel/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a constant. */
typedef enum ek_fit_state {
    EK_FIT_DETERMINED,
    EK_FIT_AT_BOUND,  /**< the data push it out of what is possible: it stands in for something else */
    EK_FIT_WIDE,      /**< the data narrow it by less than a fifth */
    EK_FIT_NO_EFFECT, /**< no run depends on it */
} ek_fit_state;
enum { EK_N_FIT_STATES = 4 };
extern const char *const ek_fit_state_name[EK_N_FIT_STATES]; /**< determined, at_bound, wide, no_effect */

#ifdef __cplusplus
}
#endif
#endif
