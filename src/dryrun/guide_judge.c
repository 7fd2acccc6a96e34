/* Judges a chosen dry run: condition numbers by singular values, and the effect of an error of 1 MB in a peak on each
 * answer, by the rows of the pseudo-inverse V S^-1 U^T. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/linear.h"
#include "dryrun/guide.h"
#include "evenkeel/guide.h"

/* Below this share of the largest a singular value is rounding: entries are small whole numbers. */
static const double rank_tolerance = 1e-10;

/* Column-major matrix of the first `n_rows` middle stages; NULL when memory is out. */
static double *fill_matrix(const ek__guide_shape *shape, const ek__guide_cell *cell, int n_rows)
{
    int n_columns = ek__unknowns_count(&shape->unknowns);
    double *a = ek__alloc((size_t)n_rows * (size_t)n_columns, sizeof *a);
    for (int i = 0, row = 0; a && row < n_rows; i++) {
        double entry[EK__MAX_UNKNOWNS];
        int stage = i % shape->n_stages;
        if (stage == 0 || stage == shape->n_stages - 1)
            continue;
        ek__design_row(&shape->unknowns, &cell[i].mix, shape->n_stages - stage, entry);
        for (int c = 0; c < n_columns; c++)
            a[(size_t)c * (size_t)n_rows + (size_t)row] = entry[c];
        row++;
    }
    return a;
}

static int count_rows(const ek__guide_shape *shape)
{
    return shape->n_rounds * (shape->n_stages - 2);
}

double ek__guide_condition(const ek__guide_shape *shape, const ek__guide_cell *cell, int n_rows)
{
    int m = n_rows ? n_rows : count_rows(shape), n = ek__unknowns_count(&shape->unknowns);
    double value[EK__MAX_UNKNOWNS];
    double *a = fill_matrix(shape, cell, m);
    if (!a)
        return NAN;
    ek__linear failed = ek__singular_values(m, n, a, value, NULL);
    free(a);
    if (failed == EK__LINEAR_NO_MEMORY)
        return NAN;
    return failed || value[n - 1] <= rank_tolerance * value[0] ? INFINITY : value[0] / value[n - 1];
}

/* Columns to unit length, as the decomposition scales them. */
static void scale_columns(double *a, int m, int n)
{
    for (int c = 0; c < n; c++) {
        double *column = a + (size_t)c * (size_t)m, sum = 0.0;
        for (int i = 0; i < m; i++)
            sum += column[i] * column[i];
        for (int i = 0; i < m && sum > 0; i++)
            column[i] /= sqrt(sum);
    }
}

/* An answer that depends on each peak by `row`, and on a peak of its own by `own`. */
static void add_error(ek_guide *guide, const char *name, const double *row, int m, double own)
{
    double most = own, sum = own * own;
    for (int i = 0; i < m; i++) {
        most = fmax(most, fabs(row[i]));
        sum += row[i] * row[i];
    }
    ek_guide_error *e = &guide->error[guide->n_errors++];
    snprintf(e->name, sizeof e->name, "%s", name);
    e->one_mb = most;
    e->all_mb = sqrt(sum);
}

/* Head and tail are the first round's end stages less the answers, without the constant, as in the decomposition. `row`
 * is scratch. */
static void add_end(const ek__guide_shape *shape, const ek__guide_cell *cell, int stage, const char *name,
                    const double *inverse, int m, double *row, ek_guide *guide)
{
    double entry[EK__MAX_UNKNOWNS];
    ek__design_row(&shape->unknowns, &cell[stage].mix, shape->n_stages - stage, entry);
    for (int i = 0; i < m; i++) {
        row[i] = 0.0;
        for (int c = 0; c < ek__unknowns_count(&shape->unknowns); c++)
            row[i] -= entry[c] * inverse[(size_t)c * (size_t)m + (size_t)i];
    }
    add_error(guide, name, row, m, 1.0);
}

/* [n][m] from the thin factors: left [n][m] by columns, right [n][n] as LAPACK gives V^T. */
static void invert(const double *left, const double *value, const double *right, int m, int n, double *inverse)
{
    for (int c = 0; c < n; c++)
        for (int i = 0; i < m; i++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++)
                sum += right[j + c * n] / value[j] * left[(size_t)j * (size_t)m + (size_t)i];
            inverse[(size_t)c * (size_t)m + (size_t)i] = sum;
        }
}

static void add_errors(const ek__guide_shape *shape, const ek__guide_cell *cell, double *inverse, int m,
                       ek_guide *guide)
{
    int n = ek__unknowns_count(&shape->unknowns);
    double *row = inverse + (size_t)n * (size_t)m;
    for (int c = 0; c < n; c++) {
        char name[EK_NAME_SIZE] = "parameters";
        if (c == n - 1)
            snprintf(name, sizeof name, "constant");
        else if (c > 0)
            snprintf(name, sizeof name, "activation %s", ek_recompute_name[shape->unknowns.kind[c - 1]]);
        add_error(guide, name, inverse + (size_t)c * (size_t)m, m, 0.0);
    }
    add_end(shape, cell, 0, "head", inverse, m, row, guide);
    add_end(shape, cell, shape->n_stages - 1, "tail", inverse, m, row, guide);
}

/* Factors `a`, which becomes U. False when it is singular. */
static bool factor(double *a, int m, int n, double value[], double right[])
{
    return ek__singular_values(m, n, a, value, right) == EK__LINEAR_OK && value[n - 1] > rank_tolerance * value[0];
}

ek_status ek__guide_judge(const ek__guide_shape *shape, const ek__guide_cell *cell, ek_guide *guide, ek_error *err)
{
    int m = count_rows(shape), n = ek__unknowns_count(&shape->unknowns);
    double *a = fill_matrix(shape, cell, m), *scaled = fill_matrix(shape, cell, m);
    double *inverse = ek__alloc((size_t)m * (size_t)(n + 1), sizeof *inverse);
    double value[EK__MAX_UNKNOWNS], right[EK__MAX_UNKNOWNS * EK__MAX_UNKNOWNS];
    ek_status status = EK_OK;
    if (!a || !scaled || !inverse) {
        status = ek__no_memory(err);
    } else if (!factor(a, m, n, value, right)) {
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                          "no lists separate %d recompute kinds (counting 'none'), the parameters and the constant "
                          "part with %d layers on %d stages; request fewer kinds, or %d rounds",
                          shape->unknowns.n_kinds, shape->n_layers, shape->n_stages, shape->n_rounds + 1);
    } else {
        guide->condition = value[0] / value[n - 1];
        guide->n_errors = 0;
        invert(a, value, right, m, n, inverse);
        add_errors(shape, cell, inverse, m, guide);
        scale_columns(scaled, m, n);
        if (factor(scaled, m, n, value, right))
            guide->scaled_condition = value[0] / value[n - 1];
    }
    free(a);
    free(scaled);
    free(inverse);
    return status;
}
