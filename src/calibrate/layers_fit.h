/* calibrate/layers_fit.h - what layers took beside their kernels, from what runs took beside their prediction. */
#ifndef EK_CALIBRATE_LAYERS_FIT_H
#define EK_CALIBRATE_LAYERS_FIT_H

#include "cost/layer_table.h"

/* A run as the table sees it. */
typedef struct ek__layer_sample {
    double at[EK__N_LAYER_COORDINATES];
    double residual;  /* logarithm of predicted over measured */
    double share;     /* d logarithm of the step / d logarithm of the layers' computing */
    double left_out;  /* residual of the prediction without the run; NAN: the run is not fitted */
    double group_out; /* without its group */
    double weight;    /* of the fit; 0: only to be predicted */
    int group;
} ek__layer_sample;

typedef struct ek__layers_fit {
    ek__layer_scale scale;
    double left_out, group_out; /* root mean square errors of the logarithm of a step, with the table */
    double without;             /* of left_out without one */
} ek__layers_fit;

/*
 * The table of the samples with a weight, and of an older table's rows, which the samples are about: width and lambda
 * are the ones of a grid that have the least error when each run is left out.
 * @param old    rows of the start's table, whose factor is part of the prediction; NULL: none
 * @param out    the table; NULL where none makes the error at least 5 % smaller
 * @return EK_OK, EK_ERR_MEMORY. O(grid x samples^2)
 */
ek_status ek__layers_fit_run(const ek__layer_sample *sample, int n, const ek_layer_table *old, ek_layer_table **out,
                             ek__layers_fit *fit, ek_error *err);

/* What the table adds to a run's residual when the run, or its group, is left out of it: an oracle-friendly direct sum.
 * @param by_group  leave out all samples of its group */
double ek__layers_fit_correction(const ek__layer_sample *sample, int n, const ek_layer_table *old,
                                 const ek__layer_scale *scale, int which, bool by_group);

#endif
