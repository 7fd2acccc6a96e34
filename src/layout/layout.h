/* layout/layout.h - helpers shared by the files of the layout search. */
#ifndef EK_LAYOUT_LAYOUT_H
#define EK_LAYOUT_LAYOUT_H

#include "base/watch.h"
#include "evenkeel/layout.h"

/* ek_layout_job(). If the file makes every device read the whole batch and the device's reading rate is known, inputs
 * are cut over the data-parallel ranks: in the model that never takes longer. */
ek_status ek__layout_job_on(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_job *out,
                            ek_error *err);
/* A lower bound in MB of the fullest stage of all plans of a layout: the memory of ek_layout_bound_of(), which takes
 * longer.
 */
ek_status ek__layout_least_mb(const ek_job *job, const ek_device *device, const ek_layout *layout, double *mb,
                              ek_error *err);
/* Do the job's framework and model have a choice for these axes: EK_AXIS_FINE, EK_AXIS_TABLE, EK_AXIS_SUMS? */
bool ek__layout_has_fine(const ek_job *job);
bool ek__layout_has_table(const ek_job *job);
bool ek__layout_has_sums(const ek_job *job);
int ek__layout_n_devices(const ek_layout *layout);
/* Plans have an estimate that borrows their own job: move all of *from to *to; *from is then empty. */
void ek__layout_plan_move(ek_layout_plan *from, ek_layout_plan *to);

#endif
