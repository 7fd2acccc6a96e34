/* layout/layout.h - what the files of the search for a layout share. */
#ifndef EK_LAYOUT_LAYOUT_H
#define EK_LAYOUT_LAYOUT_H

#include "base/watch.h"
#include "evenkeel/layout.h"

/* ek_layout_job(). Where the file has every device read the whole batch and it is known how fast a device reads, inputs
 * are cut over the data-parallel ranks: by the model that never takes longer. */
ek_status ek__layout_job_on(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_job *out,
                            ek_error *err);
/* MB that no plan of a layout needs less than on its fullest stage: those of ek_layout_bound_of(), which takes longer.
 */
ek_status ek__layout_least_mb(const ek_job *job, const ek_device *device, const ek_layout *layout, double *mb,
                              ek_error *err);
/* Are these axes a choice of the job's framework and model: EK_AXIS_FINE, EK_AXIS_TABLE, EK_AXIS_SUMS? */
bool ek__layout_has_fine(const ek_job *job);
bool ek__layout_has_table(const ek_job *job);
bool ek__layout_has_sums(const ek_job *job);
int ek__layout_n_devices(const ek_layout *layout);
/* Plans hold an estimate that borrows their own job: *to takes all of *from, which is empty then. */
void ek__layout_plan_move(ek_layout_plan *from, ek_layout_plan *to);

#endif
