/* layout/layout.h - what the files of the search for a layout share. */
#ifndef EK_LAYOUT_LAYOUT_H
#define EK_LAYOUT_LAYOUT_H

#include "evenkeel/layout.h"

/* Seconds of a monotonic clock. */
double ek__clock(void);
int ek__layout_n_devices(const ek_layout *layout);
/* Plans hold an estimate that borrows their own job: *to takes all of *from, which is empty then. */
void ek__layout_plan_move(ek_layout_plan *from, ek_layout_plan *to);

#endif
