/* Turns operators of a profile into rows of a measured kernel table. Rows beyond the data sheet are left out with their
 * reason: bytes faster than the memory are those of a cache, and products beyond the peak are of another device. Rows
 * of equal shape, by the same measures as the table's, become one with the median over all their executions. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/profile.h"
#include "cost/kernel_table.h"

/* ---- taking ---- */

static ek_profile_left check_rate(const ek_device *device, const ek_kernel *k, double seconds)
{
    if (k->flops <= 0)
        return k->bytes > device->memory_gbs * 1e9 * seconds ? EK_PROFILE_TOO_FAST : EK_PROFILE_TAKEN;
    double peak = device->peak_tflops[k->type] * 1e12;
    if (!(peak > 0))
        return EK_PROFILE_NO_PEAK;
    return k->flops > peak * seconds ? EK_PROFILE_TOO_FAST : EK_PROFILE_TAKEN;
}

static ek_status add(ek__profile_rows *rows, const ek__profile_row *row, ek_error *err)
{
    ek__profile_row *grown = ek__with_room(rows->at, &rows->room, (size_t)rows->n + 1, sizeof *grown);
    if (!grown || rows->n == INT32_MAX)
        return ek__no_memory(err);
    rows->at = grown;
    rows->at[rows->n++] = *row;
    return EK_OK;
}

static ek_status parse(const ek_trace_shaped *op, bool torch, const ek_device *device, ek__profile_rows *rows,
                       ek_calibrated_profile *out, ek_error *err)
{
    ek__profile_row row = {.seconds = op->median * 1e-9, .weight = op->count};
    ek__profile_doubt doubt = {.causal = false};
    ek_profile_left left = (torch ? ek__profile_torch : ek__profile_ascend)(op, &row.kernel, &doubt);
    if (left == EK_PROFILE_TAKEN)
        left = row.seconds > 0 ? check_rate(device, &row.kernel, row.seconds) : EK_PROFILE_UNCLEAR;
    out->n_operators[left] += op->count;
    if (left != EK_PROFILE_TAKEN)
        return EK_OK;
    out->n_causal_assumed += doubt.causal ? op->count : 0;
    out->n_layout_assumed += doubt.layout ? op->count : 0;
    return add(rows, &row, err);
}

ek_status ek__profile_operators(const ek_trace_run *run, const ek_device *device, ek__profile_rows *rows,
                                ek_calibrated_profile *out, ek_error *err)
{
    ek_status status = EK_OK;
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_measured *m = &run->rank[r].measured;
        out->n_operators[EK_PROFILE_NO_SHAPES] += m->n_without_shapes;
        for (int i = 0; i < m->n && status == EK_OK; i++)
            if (m->op[i].shapes[0])
                status = parse(&m->op[i], run->rank[r].producer == EK_PRODUCER_KINETO, device, rows, out, err);
    }
    return status;
}

/* ---- bringing together ---- */

enum { N_KEYS = 11 };

/* The keys by which two shapes are equal in the table. */
static void keys_of(const ek_kernel *k, double key[N_KEYS])
{
    bool streams = k->flops <= 0,
         attention = k->kind == EK_KERNEL_ATTENTION_FORWARD || k->kind == EK_KERNEL_ATTENTION_BACKWARD;
    const double all[N_KEYS] = {(double)k->kind,
                                (double)k->pass,
                                (double)k->type,
                                streams ? k->bytes : 0,
                                attention ? k->batch * k->heads : k->m,
                                attention ? k->seq : k->n,
                                attention ? k->qk_dim + k->v_dim : k->k,
                                attention ? k->key_seq : k->groups,
                                attention ? k->heads / k->kv_heads : 0,
                                k->fine_scales,
                                attention ? k->flops : 0};
    memcpy(key, all, sizeof all);
}

static int by_shape(const void *a, const void *b)
{
    const ek__profile_row *x = a, *y = b;
    double left[N_KEYS], right[N_KEYS];
    keys_of(&x->kernel, left);
    keys_of(&y->kernel, right);
    for (int i = 0; i < N_KEYS; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int by_shape_and_time(const void *a, const void *b)
{
    const ek__profile_row *x = a, *y = b;
    int order = by_shape(a, b);
    if (order == 0)
        order = (x->seconds > y->seconds) - (x->seconds < y->seconds);
    return order ? order : (x->weight > y->weight) - (x->weight < y->weight);
}

/* Of rows of one shape by time: where half of the weight is reached; the mean of two where it is so between them. */
static double weighted_median(const ek__profile_row *row, int n, long long weight)
{
    long long below = 0;
    for (int i = 0; i < n; i++) {
        below += row[i].weight;
        if (2 * below == weight && i + 1 < n)
            return (row[i].seconds + row[i + 1].seconds) / 2;
        if (2 * below >= weight)
            return row[i].seconds;
    }
    return row[n - 1].seconds;
}

static int longest_first(const void *a, const void *b)
{
    const ek__profile_row *x = a, *y = b;
    double left = x->seconds * (double)x->weight, right = y->seconds * (double)y->weight;
    return left != right ? (left > right ? -1 : 1) : by_shape(a, b);
}

/* A program with shapes that change with every call has more than a table needs: those with the most time stay. */
static void limit(ek__profile_rows *rows)
{
    if (rows->n <= EK__PROFILE_MOST_SHAPES)
        return;
    qsort(rows->at, (size_t)rows->n, sizeof *rows->at, longest_first);
    rows->n = EK__PROFILE_MOST_SHAPES;
    qsort(rows->at, (size_t)rows->n, sizeof *rows->at, by_shape_and_time);
}

void ek__profile_merge(ek__profile_rows *rows)
{
    int kept = 0;
    if (rows->n > 1)
        qsort(rows->at, (size_t)rows->n, sizeof *rows->at, by_shape_and_time);
    for (int i = 0, end; i < rows->n; i = end) {
        ek__profile_row one = rows->at[i];
        for (end = i + 1; end < rows->n && by_shape(&rows->at[end], &rows->at[i]) == 0; end++)
            one.weight += rows->at[end].weight;
        one.seconds = weighted_median(&rows->at[i], end - i, one.weight);
        rows->at[kept++] = one;
    }
    rows->n = kept;
    limit(rows);
}

/* ---- into the device ---- */

typedef struct kernels {
    ek_kernel_row *row;
    int n;
} kernels;

static bool is_measured(const kernels *all, int n, const ek_kernel *kernel)
{
    for (int i = 0; i < n; i++)
        if (ek__kernel_distance(&all->row[i].kernel, kernel) <= EK__KERNEL_SAME)
            return true;
    return false;
}

static void append(kernels *all, const ek_kernel *kernel, double seconds)
{
    if (all->n < EK__MAX_KERNEL_ROWS)
        all->row[all->n++] = (ek_kernel_row){.kernel = *kernel, .seconds = seconds};
}

/* The profile's rows of new shapes: the table distinguishes neither masks nor 16-bit types. */
static void append_rows(kernels *all, const ek__profile_rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        if (!is_measured(all, all->n, &rows->at[i].kernel))
            append(all, &rows->at[i].kernel, rows->at[i].seconds);
}

static void append_table(kernels *all, const ek_kernel_table *table, int first)
{
    int n;
    const ek_kernel_row *row = ek_kernel_table_rows(table, &n);
    for (int i = 0; i < n; i++)
        if (!is_measured(all, first, &row[i].kernel))
            append(all, &row[i].kernel, row[i].seconds);
}

/* Of kinds with enough rows. @param fitted  out */
static ek_status fit_curves(const kernels *all, ek_calibration *out, bool *fitted, ek_error *err)
{
    int count[EK_N_KERNEL_KINDS] = {0}, n = 0;
    ek_kernel_row *enough = ek__alloc((size_t)all->n, sizeof *enough);
    ek_kernel_table *table = NULL;
    if (!enough)
        return ek__no_memory(err);
    for (int i = 0; i < all->n; i++)
        count[all->row[i].kernel.kind]++;
    for (int i = 0; i < all->n; i++)
        if (count[all->row[i].kernel.kind] >= EK_PROFILE_LEAST_SHAPES)
            enough[n++] = all->row[i];
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        fitted[k] = count[k] >= EK_PROFILE_LEAST_SHAPES;
    ek_status status = n > 0 ? ek_kernel_table_new(enough, n, &table, err) : EK_OK;
    if (status == EK_OK && n > 0)
        status = ek_device_fit_kernels(&out->device, table, out->kernels, err);
    ek_kernel_table_free(table);
    free(enough);
    return status;
}

/* Operators of equal bytes are not of one shape: they say where the curve is, but no time of their own. */
static void drop_streams(kernels *all)
{
    int kept = 0;
    for (int i = 0; i < all->n; i++)
        if (all->row[i].kernel.flops > 0)
            all->row[kept++] = all->row[i];
    all->n = kept;
}

/* Rows of a source's table come first and are fitted, too; those of the start only fill unmeasured shapes. */
static ek_status add_rows(kernels *all, const ek__profile_rows *rows, ek_calibration *out, bool *fitted, ek_error *err)
{
    ek_kernel_table *old = out->device.kernels, *table = NULL;
    if (out->has_kernels)
        append_table(all, old, 0);
    append_rows(all, rows);
    ek_status status = fit_curves(all, out, fitted, err);
    if (status)
        return status;
    drop_streams(all);
    if (!out->has_kernels)
        append_table(all, old, all->n);
    if (all->n == 0)
        return EK_OK;
    status = ek_kernel_table_new(all->row, all->n, &table, err);
    if (status)
        return status;
    ek_kernel_table_free(old);
    out->device.kernels = table;
    out->has_kernels = true;
    return EK_OK;
}

ek_status ek__profile_fit(const ek__profile_rows *rows, ek_calibration *out, bool *fitted, ek_error *err)
{
    int n = 0;
    if (rows->n == 0)
        return EK_OK;
    ek_kernel_table_rows(out->device.kernels, &n);
    kernels all = {ek__alloc((size_t)n + (size_t)rows->n, sizeof *all.row), 0};
    ek_status status = all.row ? add_rows(&all, rows, out, fitted, err) : ek__no_memory(err);
    free(all.row);
    return status;
}
