/* Corrects the times of whole layers against the sum of their kernels. Curves of kernels leave errors of a few percent
 * that depend on the shape of the layer: tiles, caches, clocks, additional launches of a framework. Runs with the same
 * layer in another layout leave the same residual, so it is carried over, and fades with the distance: regression by a
 * Gaussian process (Rasmussen and Williams 2006, 2.2) over logarithms of the layer's sizes, shrunken to zero without
 * near layers. Unlike a weighted mean of the neighbours it gives a layer that was measured often its own factor,
 * independent of its neighbours. calibrate makes the rows (src/calibrate/layers_fit.c). */
#include "cost/layer_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"

struct ek_layer_table {
    ek__layer_scale scale;
    int n;
    ek__layer_row *row; /* [n] */
    double *pull;       /* [n] of each row, so that the logarithm at x is sum pull[i] k(x, row[i]) */
    double *root;       /* [n][n] Cholesky factor of the rows' covariance with their noise */
    double shift[2];    /* added to every layer's logarithm, and to every end's */
};

static const double most_logarithm = 3; /* without a correction beyond it */
static const double jitter = 1e-9; /* of a variance, for each row, so that equal rows do not make a singular matrix */

/* The covariance of rows with the noise of each: lambda over its weight. Factorised in place. */
static bool factorise(ek_layer_table *table)
{
    size_t n = (size_t)table->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            table->root[i * n + j] = ek__layer_covariance(table->row[i].at, table->row[j].at, table->scale.width);
        table->root[i * n + i] += jitter * (double)n + table->scale.lambda / table->row[i].weight;
        table->pull[i] = table->row[i].value;
    }
    return n == 0 || (ek__cholesky(table->n, table->root) == EK__LINEAR_OK &&
                      ek__cholesky_solve(table->n, table->root, table->pull) == EK__LINEAR_OK);
}

ek_layer_table *ek__layer_table_new(const ek__layer_row *row, int n, const ek__layer_scale *scale)
{
    ek_layer_table *table = ek__alloc(1, sizeof *table);
    if (!table)
        return NULL;
    *table = (ek_layer_table){.scale = *scale,
                              .n = n,
                              .row = ek__alloc((size_t)n, sizeof *table->row),
                              .pull = ek__alloc((size_t)n, sizeof *table->pull),
                              .root = ek__alloc((size_t)n * (size_t)n, sizeof *table->root)};
    bool fine = table->row && table->pull && table->root;
    if (fine && n > 0)
        memcpy(table->row, row, (size_t)n * sizeof *row);
    if (fine && factorise(table))
        return table;
    ek__layer_table_free(table);
    return NULL;
}

void ek__layer_table_free(ek_layer_table *table)
{
    if (table) {
        free(table->row);
        free(table->pull);
        free(table->root);
    }
    free(table);
}

ek_layer_table *ek__layer_table_shifted(const ek_layer_table *table, double layers, double ends)
{
    static const ek__layer_scale plain = {.width = 1, .lambda = 1};
    ek_layer_table *out =
        ek__layer_table_new(table ? table->row : NULL, ek__layer_table_size(table), table ? &table->scale : &plain);
    if (out) {
        out->shift[0] = layers;
        out->shift[1] = ends;
    }
    return out;
}

int ek__layer_table_size(const ek_layer_table *table)
{
    return table ? table->n : 0;
}

const ek__layer_scale *ek__layer_table_scale(const ek_layer_table *table)
{
    return &table->scale;
}

int ek__layer_table_rows(const ek_layer_table *table, const ek__layer_row **row)
{
    *row = table ? table->row : NULL;
    return ek__layer_table_size(table);
}

double ek__layer_table_nearest(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES])
{
    double near = INFINITY;
    int n = ek__layer_table_size(table);
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
            sum += (table->row[i].at[k] - at[k]) * (table->row[i].at[k] - at[k]);
        near = fmin(near, sum);
    }
    return n > 0 ? sqrt(near) : NAN;
}

double ek__layer_table_factor(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES])
{
    if (!table)
        return 1;
    double sum = table->shift[at[EK__N_LAYER_COORDINATES - 1] > 0];
    for (int i = 0; i < table->n; i++)
        sum += table->pull[i] * ek__layer_covariance(table->row[i].at, at, table->scale.width);
    return exp(fmin(fmax(sum, -most_logarithm), most_logarithm));
}

double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind)
{
    double at[EK__N_LAYER_COORDINATES];
    if (!device->layers)
        return 1;
    ek__layer_coordinates(job, kind, at);
    return ek__layer_table_factor(device->layers, at);
}

void ek__layer_table_expect(ek_layer_table *table, double met_error, double new_error)
{
    table->scale.met_error = met_error;
    table->scale.new_error = new_error;
}

double ek__layer_error(const ek_job *job, const ek_device *device)
{
    const ek_layer_table *table = device->layers;
    double at[EK__N_LAYER_COORDINATES], near = 0;
    if (device->error <= 0 || ek__layer_table_size(table) == 0)
        return device->error;
    ek__layer_coordinates(job, ek__job_layer_kind(job), at);
    for (int i = 0; i < table->n; i++)
        near = fmax(near, ek__layer_covariance(table->row[i].at, at, table->scale.width));
    double met = pow(table->scale.met_error, 2), unmet = pow(table->scale.new_error, 2);
    return sqrt(fmax(met + (1 - near * near) * (unmet - met), 0));
}
