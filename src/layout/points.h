/* layout/points.h - which layouts a picture shows. */
#ifndef EK_LAYOUT_POINTS_H
#define EK_LAYOUT_POINTS_H

#include "evenkeel/layout.h"

/* Of n points those that stay, moved to the front in their order: all that have a plan; where the others are too many
 * for `most` in all, of those the front of the bounds, and one of each cell of a grid over log step and log memory, the
 * one with the least bound. @return EK_OK, EK_ERR_MEMORY. O(n log n) */
ek_status ek__layout_thin(ek_layout_point *point, long *n, long most, ek_error *err);

#endif
