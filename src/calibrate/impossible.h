/* calibrate/impossible.h - finds runs with an impossible step. */
#ifndef EK_CALIBRATE_IMPOSSIBLE_H
#define EK_CALIBRATE_IMPOSSIBLE_H

#include "calibrate/collect.h"

/* Runs that are faster than the device's peak or many times slower than predicted become suspect, with a warning that
 * names their line; those that are only odd have the warning. O(runs x ek_cost_step()). */
ek_status ek__leave_impossible(ek__collected *c, const ek_device *device, const ek_listener *listener, ek_error *err);

#endif
