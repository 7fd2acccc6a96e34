/* layout/whole_near.h - searches plans with whole layers near a fractional solution. */
#ifndef EK_LAYOUT_WHOLE_NEAR_H
#define EK_LAYOUT_WHOLE_NEAR_H

#include "layout/mix.h"

typedef struct ek__near {
    int p, v, n_layers, most_layers; /* of a cell, 0: any */
    const double *value;             /* [v x p] fractional layers, at least one, that add up to n_layers */
    const ek__whole_judge *judge;
    bool (*over)(void *user);
    void *user;
} ek__near;

/* Judge the rounded solution, and from there search shorter plans by moving one layer at a time.
 * @param step  in: plans as long are irrelevant; out: the shortest one found. O(cells^2) queries for each moved
 *              layer;
 * EK_ERR_MEMORY */
ek_status ek__whole_near(const ek__near *options, double *step, ek_error *err);

#endif
