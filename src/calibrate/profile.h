/* calibrate/profile.h - takes measurements of a device from a profile: kernels of shapes, times of collectives,
 * launches. */
#ifndef EK_CALIBRATE_PROFILE_H
#define EK_CALIBRATE_PROFILE_H

#include "calibrate/collect.h"
#include "compute/profiled.h"
#include "evenkeel/trace.h"

/*
 * Read the profiles among the sources, those of one folder as one run, and take from them
 *   kernels: into out->device's table (a shape that a source measured keeps that time), curves fitted to kinds with
 *            EK_PROFILE_LEAST_SHAPES shapes or more, as ek_device_fit_kernels() does;
 *   collectives: into c->link, for the fit of links;
 *   launches: host.kernel_us of the run's way of launching; the step: a run of the job next to the profile.
 *   out->profile has the result of each. @return EK_OK; EK_ERR_INPUT also where they have no data of a device and there
 *   is no other source; EK_ERR_SYSTEM, EK_ERR_MEMORY as readers do
 */
ek_status ek__profiles_take(const ek_calibrate_input *input, ek__collected *c, ek_calibration *out, ek_error *err);

/* ---- operators ---- */

/* An operator of one shape. */
typedef struct ek__profile_row {
    ek_kernel kernel;
    double seconds;   /* median of its executions */
    long long weight; /* executions */
} ek__profile_row;

typedef struct ek__profile_rows {
    int n;
    size_t room;
    ek__profile_row *at; /* [n] */
} ek__profile_rows;

/* Add a run's operators to the rows, and count them in `out`. O(operators). */
ek_status ek__profile_operators(const ek_trace_run *run, const ek_device *device, ek__profile_rows *rows,
                                ek_calibrated_profile *out, ek_error *err);
enum { EK__PROFILE_MOST_SHAPES = 4096 };
/* Rows of equal shape become one with the median over all executions; in the order of shapes. Of more shapes than
 * EK__PROFILE_MOST_SHAPES those with the most time are kept. O(n log n). */
void ek__profile_merge(ek__profile_rows *rows);
/* Put the rows into the device's table and its curves, as ek__profiles_take() does. `fitted` [EK_N_KERNEL_KINDS]. */
ek_status ek__profile_fit(const ek__profile_rows *rows, ek_calibration *out, bool *fitted, ek_error *err);

/* ---- collectives ---- */

/* The transfer time of each collective, without waiting, where messages name all ranks of its group and all of them are
 * in the run: nanoseconds, else 0. @param out  [collectives of all ranks, in their order]; free() it. O(n log n). */
ek_status ek__profile_arrivals(const ek_trace_run *run, int64_t **out, ek_error *err);

/* Times of a run's collectives, for the fit of links: of each operation, size and group one. Adds to *log. */
ek_status ek__profile_links(const ek_trace_run *run, int per_node, ek_link_log *log, ek_calibrated_profile *out,
                            ek_error *err);

#endif
