/* calibrate/links_fit.h - fits tiers of a device to timed collectives. */
#ifndef EK_CALIBRATE_LINKS_FIT_H
#define EK_CALIBRATE_LINKS_FIT_H

#include "evenkeel/calibration.h"

/* Fit shares, starts, latency and half size of the tiers that times are of, with the model that steps are priced by
 * (cost/collective.h). @param link  out: one for each tier and collective that was timed, [EK_MAX_LINK_FITS] */
ek_status ek__links_fit(const ek_link_time *time, int n, ek_device *device, ek_calibrated_link *link, int *n_links,
                        ek_error *err);

#endif
