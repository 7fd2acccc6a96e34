/* Looks up measured kernels by the logarithms of their shapes. It interpolates measured over curve, since that is near
 * 1 and changes slowly where times themselves span four powers of ten; weights by the inverse square of the distance
 * (Shepard 1968) need no system of equations, and a weight of the curve itself makes them end smoothly at the reach.
 * Rows lie in one flat array, by class and by the projection of their point on the diagonal, which is never longer than
 * the distance: only a binary search and the rows within reach of it are read. */
#include "cost/kernel_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/kernel.h"

enum { N_AXES = 5, N_PASSES = 3, N_WIDTHS = 3, N_CLASSES = EK_N_KERNEL_KINDS * N_PASSES * N_WIDTHS };

#define CURVE_WEIGHT 1.0  /* w_0, in the unit of 1 / distance^2 */
#define ACCUMULATES  0.3  /* distance of a product that adds in 32 bits from one that writes */
#define HEAD_SHARE   0.25 /* queries' heads over keys' heads hardly change the time */
#define CLASH        2.0  /* of two times of one shape, that no noise explains */
#define LEAST_SQUARE 1e-18

typedef struct point {
    int class;
    double at[N_AXES];
    double along; /* the diagonal of the first three axes */
} point;

struct ek_kernel_table {
    int n;
    int begin[N_CLASSES + 1];
    ek_kernel_row *row; /* [n], as the points */
    point *point;
};

/* ---- points ---- */

static double log_of(double x)
{
    return x > 0 ? log(x) : 0;
}

static int class_of(const ek_kernel *k)
{
    int width = k->type == EK_TYPE_FP8 ? 2 : k->type == EK_FP32 ? 0 : 1;
    return ((int)k->kind * N_PASSES + (int)k->pass) * N_WIDTHS + width;
}

static point point_of(const ek_kernel *k)
{
    point p = {.class = class_of(k)};
    switch (k->kind) {
    case EK_KERNEL_MATMUL:
    case EK_KERNEL_GROUPED:
        p.at[0] = log_of(k->m);
        p.at[1] = log_of(k->n);
        p.at[2] = log_of(k->k);
        p.at[3] = log_of(k->groups);
        p.at[4] = k->accumulates ? ACCUMULATES : 0;
        break;
    case EK_KERNEL_ATTENTION_FORWARD:
    case EK_KERNEL_ATTENTION_BACKWARD:
        p.at[0] = log_of(k->batch * k->heads);
        p.at[1] = log_of(k->seq);
        p.at[2] = log_of(k->qk_dim + k->v_dim);
        p.at[3] = log_of(k->key_seq) - p.at[1];
        p.at[4] = HEAD_SHARE * (log_of(k->heads) - log_of(k->kv_heads));
        break;
    case EK_KERNEL_MEMORY:
    case EK_KERNEL_LOSS:
    default:
        p.at[0] = log_of(k->bytes);
    }
    p.along = (p.at[0] + p.at[1] + p.at[2]) / sqrt(3);
    return p;
}

static double square(const point *a, const point *b)
{
    double sum = 0;
    for (int i = 0; i < N_AXES; i++)
        sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sum;
}

static double distance(const point *a, const point *b)
{
    return sqrt(square(a, b));
}

double ek__kernel_distance(const ek_kernel *a, const ek_kernel *b)
{
    const point p = point_of(a), q = point_of(b);
    return p.class == q.class ? distance(&p, &q) : NAN;
}

/* ---- a table ---- */

typedef struct sorted {
    point point;
    int row;
} sorted;

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    int order = a->point.class - b->point.class;
    if (order == 0)
        order = compare_doubles(a->point.along, b->point.along);
    for (int i = 0; i < N_AXES && order == 0; i++)
        order = compare_doubles(a->point.at[i], b->point.at[i]);
    return order ? order : a->row - b->row;
}

static bool same_shape(const point *a, const point *b)
{
    return a->class == b->class && distance(a, b) <= EK__KERNEL_SAME;
}

/* The rows from `first` on that have one shape: their geometric mean. @return how many. */
static int merge(const ek_kernel_row *row, const sorted *order, int first, int n, ek_kernel_row *mean, int clash[2])
{
    int last = first, least = order[first].row, most = least;
    double sum = 0;
    for (; last < n && same_shape(&order[first].point, &order[last].point); last++) {
        int i = order[last].row;
        sum += log(row[i].seconds);
        least = row[i].seconds < row[least].seconds ? i : least;
        most = row[i].seconds > row[most].seconds ? i : most;
    }
    if (row[most].seconds > CLASH * row[least].seconds) {
        clash[0] = least < most ? least : most;
        clash[1] = least < most ? most : least;
    }
    *mean = row[order[first].row];
    if (last > first + 1) /* a single row keeps its time bit by bit */
        mean->seconds = exp(sum / (last - first));
    return last - first;
}

static void fill(ek_kernel_table *table, const ek_kernel_row *row, const sorted *order, int n, int clash[2])
{
    for (int i = 0; i < n && clash[0] < 0; table->n++) {
        table->point[table->n] = order[i].point;
        i += merge(row, order, i, n, &table->row[table->n], clash);
    }
    int at = 0;
    for (int c = 0; c <= N_CLASSES; c++) {
        while (at < table->n && table->point[at].class < c)
            at++;
        table->begin[c] = at;
    }
}

ek_status ek__kernel_table_make(const ek_kernel_row *row, int n, ek_kernel_table **out, int clash[2], ek_error *err)
{
    ek_kernel_table *table = ek__alloc(1, sizeof *table);
    sorted *order = ek__alloc((size_t)n, sizeof *order);
    if (table) {
        table->row = ek__alloc((size_t)n, sizeof *table->row);
        table->point = ek__alloc((size_t)n, sizeof *table->point);
    }
    if (!table || !order || !table->row || !table->point) {
        ek_kernel_table_free(table);
        free(order);
        return ek__no_memory(err);
    }
    for (int i = 0; i < n; i++)
        order[i] = (sorted){point_of(&row[i].kernel), i};
    qsort(order, (size_t)n, sizeof *order, compare);
    clash[0] = clash[1] = -1;
    fill(table, row, order, n, clash);
    free(order);
    if (clash[0] >= 0) {
        ek_kernel_table_free(table);
        table = NULL;
    }
    *out = table;
    return EK_OK;
}

ek_status ek_kernel_table_new(const ek_kernel_row *row, int n, ek_kernel_table **out, ek_error *err)
{
    int clash[2];
    ek_kernel_table *table;
    ek_status status = ek__kernel_table_make(row, n, &table, clash, err);
    if (status)
        return status;
    if (!table)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "rows %d and %d of measured kernels have one shape, and times that differ more than twofold: "
                        "%g and %g s; leave one of them out",
                        clash[0] + 1, clash[1] + 1, row[clash[0]].seconds, row[clash[1]].seconds);
    *out = table;
    return EK_OK;
}

void ek_kernel_table_free(ek_kernel_table *table)
{
    if (!table)
        return;
    free(table->row);
    free(table->point);
    free(table);
}

const ek_kernel_row *ek_kernel_table_rows(const ek_kernel_table *table, int *n)
{
    *n = table ? table->n : 0;
    return table ? table->row : NULL;
}

/* ---- looking up ---- */

typedef struct sums {
    double weight, ratio, nearest;
} sums;

/* Distances here are squares. */
static const double reach = EK__KERNEL_REACH * EK__KERNEL_REACH, same = EK__KERNEL_SAME * EK__KERNEL_SAME;

/* Adds row i; false when it and all rows after it are out of reach, or when the exact shape was found, which overrides
 * all others. */
static bool parse(const ek_kernel_table *table, const ek_device *device, const point *p, int i, sums *s)
{
    double away = (table->point[i].along - p->along) * (table->point[i].along - p->along);
    if (s->nearest <= same || (away >= reach && away >= s->nearest))
        return false;
    double d = square(p, &table->point[i]);
    s->nearest = fmin(s->nearest, d);
    if (d >= reach)
        return true;
    double curve = ek__kernel_alone(device, &table->row[i].kernel);
    if (!(curve > 0)) /* of a type that the device has no peak for */
        return true;
    double w = 1 / fmax(d, LEAST_SQUARE) - 1 / reach;
    s->weight += w;
    s->ratio += w * log(table->row[i].seconds / curve);
    return true;
}

/* The first row of a class that is not before p. */
static int find(const ek_kernel_table *table, const point *p)
{
    int low = table->begin[p->class], high = table->begin[p->class + 1];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (table->point[middle].along < p->along)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ek__kernel_near ek__kernel_table_look(const ek_kernel_table *table, const ek_device *device, const ek_kernel *kernel)
{
    const point p = point_of(kernel);
    int begin = table->begin[p.class], end = table->begin[p.class + 1], middle = find(table, &p);
    if (begin == end)
        return (ek__kernel_near){1, 0, NAN};
    sums s = {.nearest = INFINITY};
    for (int i = middle; i < end && parse(table, device, &p, i, &s); i++)
        ;
    for (int i = middle - 1; i >= begin && parse(table, device, &p, i, &s); i--)
        ;
    double all = s.weight + CURVE_WEIGHT;
    return (ek__kernel_near){exp(s.ratio / all), s.weight / all, sqrt(s.nearest)};
}
