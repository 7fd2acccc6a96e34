/* layout/whole_near.h - plans with whole layers near a solution in fractions. */
#ifndef EK_LAYOUT_WHOLE_NEAR_H
#define EK_LAYOUT_WHOLE_NEAR_H

#include "layout/mix.h"

typedef struct ek__near {
    int p, v, n_layers, most_layers; /* of a cell, 0: any */
    const double *value;             /* [v x p] layers in fractions, one at least, that add up to n_layers */
    const ek__whole_judge *judge;
    bool (*over)(void *user);
    void *user;
} ek__near;

/* Ask the judge for the solution rounded, and from there for shorter plans, a layer moved at a time.
 * @param step  in: what is as long does not matter; out: the shortest that was found
 * O(cells^2) askings for each layer moved; EK_ERR_MEMORY */
ek_status ek__whole_near(const ek__near *options, double *step, ek_error *err);

#endif
