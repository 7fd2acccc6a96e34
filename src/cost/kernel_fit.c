/* Fits a kind's curve to measured kernels of it: least squares on the logarithms of times by Levenberg-Marquardt
 * (cminpack's lmdif, More 1978). Each constant is x = low + (high - low) / (1 + exp(-u)), launch and half_k in their
 * logarithm, so that bounds hold without a constrained method; a ridge on u pulls what the rows do not determine to
 * where the curve began. Large residuals count by their absolute value (pseudo-Huber), since tables of newest devices
 * hold kernels at two clocks. Tiles are whole numbers that a library chooses: each usual pair is tried and the least
 * sum of squares wins. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/field.h"
#include "base/linear.h"
#include "base/minimise.h"
#include "cost/kernel.h"
#include "cost/kernel_table.h"

#define RIDGE     0.05  /* a residual of 5 % is worth a constant one unit of u away from its start */
#define HUBER     0.1   /* residuals beyond this count by their absolute value */
#define AT_BOUND  0.005 /* of the range */
#define TOLERANCE 1e-8
#define HALF_K    32 /* where a curve begins that has none: 0 has no logarithm */
enum { N_CONSTANTS = 5, MOST_CALLS = 2000 };

static const struct constant {
    size_t at; /* in ek_curve */
    double low, high;
    bool logarithm;
} constants[N_CONSTANTS] = {
    {offsetof(ek_curve, share), 0.05, 1, false}, {offsetof(ek_curve, memory_share), 0.05, 1, false},
    {offsetof(ek_curve, hidden), 0, 1, false},   {offsetof(ek_curve, launch_us), 0.5, 200, true},
    {offsetof(ek_curve, half_k), 1, 4096, true},
};

typedef struct problem {
    ek_device device; /* its curve of the kind is the trial value */
    ek_kernel_kind kind;
    const ek_kernel_row **row; /* [n] */
    int n;
    double start[N_CONSTANTS];
} problem;

/* ---- constants ---- */

static double *constant(ek_curve *curve, int i)
{
    return ek__field(curve, constants[i].at);
}

static double place(const struct constant *c, double value)
{
    return c->logarithm ? log(value / c->low) / log(c->high / c->low) : (value - c->low) / (c->high - c->low);
}

static double to_free(const struct constant *c, double value)
{
    double x = fmin(fmax(place(c, fmax(value, DBL_MIN)), 0.02), 0.98);
    return log(x / (1 - x));
}

static double from_free(const struct constant *c, double u)
{
    double x = 1 / (1 + exp(-u));
    return c->logarithm ? c->low * pow(c->high / c->low, x) : c->low + (c->high - c->low) * x;
}

static void set_curve(problem *p, const double *u)
{
    for (int i = 0; i < N_CONSTANTS; i++)
        *constant(&p->device.curve[p->kind], i) = from_free(&constants[i], u[i]);
}

/* ---- residuals ---- */

static double log_ratio(const problem *p, int i)
{
    return log(ek__kernel_curve(&p->device, &p->row[i]->kernel) / p->row[i]->seconds);
}

static int residuals(void *data, int m, int n, const double *u, double *out, int flag)
{
    problem *p = data;
    (void)flag;
    set_curve(p, u);
    for (int i = 0; i < p->n; i++) {
        double r = log_ratio(p, i), z = r / HUBER;
        out[i] = copysign(HUBER * sqrt(2 * (sqrt(1 + z * z) - 1)), r);
    }
    for (int i = 0; i < n; i++)
        out[p->n + i] = RIDGE * (u[i] - p->start[i]);
    return m == p->n + n ? 0 : -1;
}

/* Least squares from the start with the tiles that are set. @return the sum of squares. */
static double solve(problem *p, double *scratch)
{
    int m = p->n + N_CONSTANTS, pivot[N_CONSTANTS], calls;
    double u[N_CONSTANTS], scale[N_CONSTANTS], qtf[N_CONSTANTS], w1[N_CONSTANTS], w2[N_CONSTANTS], w3[N_CONSTANTS];
    double *value = scratch, *jacobian = value + m, *w4 = jacobian + (size_t)m * N_CONSTANTS;
    for (int i = 0; i < N_CONSTANTS; i++) {
        u[i] = p->start[i];
        scale[i] = 1;
    }
    ek__lmdif(residuals, p, m, N_CONSTANTS, u, value, TOLERANCE, TOLERANCE, 0, MOST_CALLS, 1e-12, scale, 2, 10, 0,
              &calls, jacobian, m, pivot, qtf, w1, w2, w3, w4);
    residuals(p, m, N_CONSTANTS, u, value, 1);
    double sum = 0;
    for (int i = 0; i < m; i++)
        sum += value[i] * value[i];
    return sum;
}

/* ---- a kind ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge(const problem *p, double *scratch, ek_kernel_fit *fit, double *error)
{
    double squares = 0;
    const ek_curve *curve = &p->device.curve[p->kind];
    for (int i = 0; i < p->n; i++) {
        double r = log_ratio(p, i);
        squares += r * r;
        scratch[i] = fabs(exp(r) - 1);
    }
    qsort(scratch, (size_t)p->n, sizeof *scratch, compare);
    *error = sqrt(squares / (p->n > N_CONSTANTS ? p->n - N_CONSTANTS : 1));
    *fit = (ek_kernel_fit){.n = p->n, .median = scratch[p->n / 2], .worst = scratch[p->n - 1], .determined = true};
    for (int i = 0; i < N_CONSTANTS; i++) {
        double x = place(&constants[i], *ek__const_field(curve, constants[i].at));
        fit->determined = fit->determined && x > AT_BOUND && x < 1 - AT_BOUND;
    }
}

/* The usual tiles of libraries; attention's are only of queries. */
static const double tiles[][2] = {{0, 0}, {64, 64}, {128, 128}, {128, 256}, {256, 128}, {256, 256}};

static void fit_kind(problem *p, double *scratch, ek_kernel_fit *fit)
{
    ek_curve *curve = &p->device.curve[p->kind], best = *curve;
    double least = INFINITY;
    for (int i = 0; i < N_CONSTANTS; i++)
        p->start[i] = to_free(&constants[i], *constant(curve, i));
    if (curve->half_k < constants[4].low)
        p->start[4] = to_free(&constants[4], HALF_K);
    bool tiled = p->device.units > 0 && p->kind != EK_KERNEL_MEMORY && p->kind != EK_KERNEL_LOSS;
    for (size_t t = 0; t < (tiled ? sizeof tiles / sizeof *tiles : 1); t++) {
        curve->tile_m = tiles[t][0];
        curve->tile_n = tiles[t][1];
        double sum = solve(p, scratch);
        if (sum < least) {
            least = sum;
            best = *curve;
        }
    }
    *curve = best;
    curve->alone_share = 0;
    judge(p, scratch, fit, &curve->error);
    curve->basis = EK_COST_FITTED;
}

/* ---- a device ---- */

static ek_status check_types(const ek_device *device, const ek_kernel_row *row, int n, ek_error *err)
{
    for (int i = 0; i < n; i++)
        if (row[i].kernel.flops > 0 && !(device->peak_tflops[row[i].kernel.type] > 0))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "device '%s' has no peak for the type of the kernel measured in line %d; start from a "
                            "device that has it",
                            device->name, row[i].line);
    return EK_OK;
}

ek_status ek_device_fit_kernels(ek_device *device, const ek_kernel_table *table, ek_kernel_fit *fit, ek_error *err)
{
    int n;
    const ek_kernel_row *row = ek_kernel_table_rows(table, &n);
    ek_status status = ek__linear_needed("fitting kernels", err);
    if (status == EK_OK)
        status = check_types(device, row, n, err);
    if (status)
        return status;
    problem p = {.device = *device};
    p.row = ek__alloc((size_t)n, sizeof *p.row);
    double *scratch = ek__alloc((size_t)n + N_CONSTANTS, (N_CONSTANTS + 2) * sizeof *scratch);
    if (!p.row || !scratch) {
        free(p.row);
        free(scratch);
        return ek__no_memory(err);
    }
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        ek_kernel_fit one = {.determined = true};
        p.kind = (ek_kernel_kind)k;
        p.n = 0;
        for (int i = 0; i < n; i++)
            if ((int)row[i].kernel.kind == k)
                p.row[p.n++] = &row[i];
        if (p.n > 0)
            fit_kind(&p, scratch, &one);
        if (fit)
            fit[k] = one;
    }
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        device->curve[k] = p.device.curve[k];
    free(p.row);
    free(scratch);
    return EK_OK;
}
