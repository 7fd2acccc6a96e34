/* layout/points.h - selects the layouts that a picture shows. */
#ifndef EK_LAYOUT_POINTS_H
#define EK_LAYOUT_POINTS_H

#include "evenkeel/layout.h"

/* Move the selected ones of n points to the front, in their order: all with a plan; if the total exceeds `most`, of the
 * others the front of the bounds and, in each cell of a grid over log step and log memory, the one with the least
 * bound. @return EK_OK, EK_ERR_MEMORY. O(n log n) */
ek_status ek__layout_thin(ek_layout_point *point, long *n, long most, ek_error *err);

#endif
