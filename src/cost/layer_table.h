/* cost/layer_table.h - what whole layers took beside the sum of their kernels: a factor on the time of a layer's
 * computing, from runs of layers like it. */
#ifndef EK_COST_LAYER_TABLE_H
#define EK_COST_LAYER_TABLE_H

#include <stdio.h>

#include "base/doc.h"
#include "evenkeel/cost.h"
#include "memory/graph.h"

/* What layers are compared by, natural logarithms: see ek__layer_coordinate_name. */
enum { EK__N_LAYER_COORDINATES = 11 };
extern const char *const ek__layer_coordinate_name[EK__N_LAYER_COORDINATES];
enum { EK__MAX_LAYER_ROWS = 100000 };

/* What one kind of layer took. */
typedef struct ek__layer_row {
    double at[EK__N_LAYER_COORDINATES];
    double value;  /* logarithm of measured over computed time of the layer's computing */
    double weight; /* of runs that say so, 1 for one run that is nothing but such layers */
} ek__layer_row;

/* How the table is asked. */
typedef struct ek__layer_scale {
    double width;     /* in powers of e: layers that far away count exp(-1/2) */
    double lambda;    /* weight of "nothing to correct" */
    double met_error; /* standard error of the logarithm of a corrected time, of layers like measured ones */
    double new_error; /* of layers unlike any */
} ek__layer_scale;

void ek__layer_coordinates(const ek_job *job, ek__graph_kind kind, double out[EK__N_LAYER_COORDINATES]);

/* A table of copies of the rows; NULL when memory is out. */
ek_layer_table *ek__layer_table_new(const ek__layer_row *row, int n, const ek__layer_scale *scale);
void ek__layer_table_free(ek_layer_table *table);
int ek__layer_table_size(const ek_layer_table *table);
const ek__layer_scale *ek__layer_table_scale(const ek_layer_table *table);
/* Its rows. @return how many; 0 for NULL */
int ek__layer_table_rows(const ek_layer_table *table, const ek__layer_row **row);

/*
 * The factor on the computing time of a layer there:
 *     exp(r), r = sum w_i r_i / (sum w_i + lambda), w_i = weight_i exp(-d_i^2 / 2), d_i = |x - x_i| / width
 * (a kernel regression shrunken towards no correction).
 * @param table    NULL: 1, *nearest NAN, *error 0
 * @param nearest  out, may be NULL: distance to the nearest row in powers of e
 * @param error    out, may be NULL: standard error of the logarithm, from met_error where there are rows to new_error
 * O(rows).
 */
double ek__layer_table_factor(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES], double *nearest,
                              double *error);

/* The factor for a layer of a job on a device; 1 where it has no table, and for what is no decoder layer. */
double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind);

/* Of a device file: the value of `layers`. @param out  ek__layer_table_free() it */
ek_status ek__layer_table_read(const ek__in *in, const ek__node *node, ek_layer_table **out);
/* The same value as YAML lines for the key `layers:` (written too), which JSON readers of this library take as well.
 * Nothing for NULL or an empty table. */
void ek__layer_table_write(const ek_layer_table *table, FILE *out);

#endif
