/* cost/layer_table.h - corrects the times of whole layers: a factor on the time of a layer, from runs of similar
 * layers. */
#ifndef EK_COST_LAYER_TABLE_H
#define EK_COST_LAYER_TABLE_H

#include <stdio.h>

#include "base/config_tree.h"
#include "evenkeel/device.h"
#include "model/graph.h"

/* Coordinates for comparing layers, natural logarithms: see ek__layer_coordinate_name. The last one separates the
 * embedding and the head, above 0, from layers, 0. */
enum { EK__N_LAYER_COORDINATES = 12 };
extern const char *const ek__layer_coordinate_name[EK__N_LAYER_COORDINATES];
enum { EK__MAX_LAYER_ROWS = 2000 };

/* The measured factor of one kind of layer. */
typedef struct ek__layer_row {
    double at[EK__N_LAYER_COORDINATES];
    double value;  /* logarithm of measured over computed time of the layer */
    double weight; /* of the evidence, 1 for one run with only such layers */
} ek__layer_row;

/* Parameters of the table's interpolation. */
typedef struct ek__layer_scale {
    double width;     /* in powers of e: reach of a layer's correction */
    double lambda;    /* variance of a row of weight 1 over that of layers' corrections */
    double met_error; /* standard error of the logarithm of a corrected time, of layers like measured ones */
    double new_error; /* of layers unlike any */
} ek__layer_scale;

/* The graph with most of a job's computing time. */
ek__graph_kind ek__job_layer_kind(const ek_job *job);

void ek__layer_coordinates(const ek_job *job, ek__graph_kind kind, double out[EK__N_LAYER_COORDINATES]);

/* Are two places those of one layer, apart from rounding in a file? */
bool ek__layer_same_place(const double *a, const double *b);

/* The covariance of corrections at two places, in units of the variance of a layer's: k(a, b) = (1 + r) exp(-r), r =
 *     sqrt(3) |a - b| / width
 * 10 times that among embeddings and heads, nothing between them and layers. */
double ek__layer_covariance(const double *a, const double *b, double width);

/* A table of copies of the rows, at most EK__MAX_LAYER_ROWS; NULL when memory is out. O(rows^3) */
ek_layer_table *ek__layer_table_new(const ek__layer_row *row, int n, const ek__layer_scale *scale);
void ek__layer_table_free(ek_layer_table *table);
/* A copy (of NULL an empty table) with this much added for every layer, and for every embedding and head, for measuring
 * their share of a step. NULL when memory is out. */
ek_layer_table *ek__layer_table_shifted(const ek_layer_table *table, double layers, double ends);
int ek__layer_table_size(const ek_layer_table *table);
const ek__layer_scale *ek__layer_table_scale(const ek_layer_table *table);
/* Its rows. @return how many; 0 for NULL */
int ek__layer_table_rows(const ek_layer_table *table, const ek__layer_row **row);

/*
 * The factor on the time of a layer there:
 *     exp(sum_i a_i k(x, x_i)), a = (K + D)^-1 r, K_ij = k(x_i, x_j), D_ii = lambda / weight_i
 * (the mean of a Gaussian process given rows r with noise). @param table  NULL: 1. O(rows)
 */
double ek__layer_table_factor(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES]);
/* Distance to the nearest row in powers of e; NAN without rows. O(rows) */
double ek__layer_table_nearest(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES]);

/* The factor for a layer, embedding or head of a job on a device; 1 where it has no table. */
double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind);

/* Set the expected errors of steps with layers like measured ones and unlike any in the table's scale. */
void ek__layer_table_expect(ek_layer_table *table, double met_error, double new_error);
/*
 * Standard error of the logarithm of a job's step on a device that was fitted; 0 for one that was not. With a table
 *     e^2 = met^2 + (1 - k^2) (new^2 - met^2)
 * k the covariance of the job's layer and the nearest measured one: the uncertainty left by one neighbour. O(rows)
 */
double ek__layer_error(const ek_job *job, const ek_device *device);

/* Of a device file: the value of `layers`. @param out  ek__layer_table_free() it */
ek_status ek__layer_table_read(const ek__in *in, const ek__node *node, ek_layer_table **out);
/* The same value as YAML lines for the key `layers:` (written too), which JSON readers of this library take as well.
 * Nothing for NULL or an empty table. */
void ek__layer_table_write(const ek_layer_table *table, FILE *out);

#endif
