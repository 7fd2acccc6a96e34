/* calibrate/layers_fit.h - fits the residual times of layers to the residuals of runs against their prediction. */
#ifndef EK_CALIBRATE_LAYERS_FIT_H
#define EK_CALIBRATE_LAYERS_FIT_H

#include "cost/layer_table.h"

/* The parts of a step that the table corrects: its layers; its embedding and head. */
enum { EK__LAYERS, EK__ENDS, EK__N_LAYER_SHARES };

/* A run as the table sees it. */
typedef struct ek__layer_sample {
    double at[EK__N_LAYER_SHARES][EK__N_LAYER_COORDINATES];
    double share[EK__N_LAYER_SHARES]; /* d logarithm of the step / d logarithm of their time */
    double missing;                   /* logarithm of measured over predicted where the table corrects nothing */
    double moved[2]; /* change of the prediction when the constants are fitted without the run, without its group */
    double plain[2]; /* logarithm of predicted over measured without a new table, without the run, without its group */
    bool used;       /* false: only to be predicted */
    int group;
} ek__layer_sample;

/* Errors of a run that was left out: logarithms of predicted over measured, left out of the table and of the constants
 * by itself, and with its group. */
typedef struct ek__layer_left {
    double alone, with_group;
    double weight; /* of the run in the table, below 1 for one that is far off */
} ek__layer_left;

typedef struct ek__layers_fit {
    ek__layer_scale scale;
    double left_out, group_out; /* root mean square errors of the logarithm of a step, with the table */
} ek__layers_fit;

/*
 * The table of the samples that are used, and of an older table's rows: the Gaussian process of
 * ek__layer_table_factor() given sums of a run's two shares. Width and lambda are the ones of a grid that have the
 * least error when each run, and each group, is left out, the width the narrowest where layers say nothing of others
 * beyond chance; runs that are far off even so count less (Huber).
 * @param old     rows of the start's table; NULL: none
 * @param out     the table; NULL where none makes the error at least 5 % smaller
 * @param left    out [n]; untouched without a table and for runs that are not used
 * @return EK_OK; EK_ERR_INPUT for more than EK__MAX_LAYER_ROWS runs and rows; EK_ERR_MEMORY. O(grid x samples^3)
 */
ek_status ek__layers_fit_run(const ek__layer_sample *sample, int n, const ek_layer_table *old, ek_layer_table **out,
                             ek__layer_left *left, ek__layers_fit *fit, ek_error *err);

#endif
