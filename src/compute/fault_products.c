/* Finds products that could be faster: those in 32 bits, and those with sides that do not fill the matrix unit. With a
 * device the time of a shape is its curve's, times the median ratio of this run's products to theirs, so that a device
 * that is slower in all of them is not a fault of a shape. Without one, the rate comes from products with sides that
 * are multiples of ALIGNED: a product of fewer FLOPs is not compared with them, as it may be too small to reach it. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/median.h"
#include "compute/compute_internal.h"
#include "compute/profiled.h"
#include "cost/kernel.h"

enum { ALIGNED = 16 };
static const double least_slower = 1.25; /* an unaligned one than aligned, before that is said */
static const double far_slower = 2;      /* an aligned one than its curve */

typedef struct products {
    ek__compute *c;
    double factor;                  /* of the run over the device's curves; NAN without a device or products */
    double rate;                    /* FLOP/ns of aligned products in 16 bits, the middle one; NAN without one */
    double least;                   /* FLOPs of the smallest of them; 0 */
    double dense;                   /* FLOPs for a byte, the least of them */
    double *fast_type, *fast_shape; /* [out->n]: nanoseconds that one would take; 0: no fault */
    int type, shape;                /* index of the operator that loses most; -1 */
} products;

static bool is_product(const ek_compute_operator *op)
{
    return op->known == EK_PROFILE_TAKEN && op->work.kind == EK_KERNEL_MATMUL && op->total > 0 &&
           op->class_ != EK_COMPUTE_AI_CPU;
}

static bool is_wide(const ek_kernel *k)
{
    return k->type == EK_FP32;
}

static double up(double side)
{
    return ALIGNED * ceil(side / ALIGNED);
}

static bool is_aligned(const ek_kernel *k)
{
    return k->m == up(k->m) && k->n == up(k->n) && k->k == up(k->k);
}

static double mean_of(const ek_compute_operator *op)
{
    return (double)op->total / (double)op->count;
}

/* Nanoseconds by the device's curve; NAN. */
static double by_curve(const products *p, const ek_kernel *k)
{
    return p->c->device ? ek__kernel_seconds(p->c->device, k).seconds * 1e9 : (double)NAN;
}

static double rate_of(const ek_compute_operator *op)
{
    return op->work.flops / mean_of(op);
}

/* The median over operators, each once: a frequent one gets no more weight. */
static ek_status find_references(products *p, ek_error *err)
{
    const ek_compute *out = p->c->out;
    double *factor = ek__alloc((size_t)out->n, sizeof *factor), *rate = ek__alloc((size_t)out->n, sizeof *rate);
    size_t n_factors = 0, n_rates = 0;
    for (int i = 0; factor && rate && i < out->n; i++) {
        const ek_compute_operator *op = &out->op[i];
        if (!is_product(op) || is_wide(&op->work) || !is_aligned(&op->work))
            continue;
        rate[n_rates++] = rate_of(op);
        double expected = by_curve(p, &op->work);
        if (expected > 0)
            factor[n_factors++] = mean_of(op) / expected;
    }
    ek_status status = factor && rate ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        p->factor = n_factors > 0 ? ek__median(factor, n_factors) : p->c->device ? 1 : (double)NAN;
        p->rate = ek__median(rate, n_rates);
        p->least = p->dense = INFINITY;
        for (int i = 0; i < out->n; i++) {
            const ek_kernel *k = &out->op[i].work;
            if (!is_product(&out->op[i]) || is_wide(k) || !is_aligned(k))
                continue;
            p->least = fmin(p->least, k->flops);
            p->dense = fmin(p->dense, k->flops / k->bytes);
        }
    }
    free(factor);
    free(rate);
    return status;
}

/* The expected time of a product in this run, nanoseconds; NAN. */
static double expected(const products *p, const ek_kernel *k)
{
    double time = p->factor * by_curve(p, k);
    bool comparable = 4 * k->flops >= p->least && 2 * k->flops >= p->dense * k->bytes;
    return !isnan(time) ? time : comparable ? k->flops / p->rate : (double)NAN;
}

static double in_16_bits(const products *p, const ek_compute_operator *op)
{
    ek_kernel narrow = op->work;
    narrow.type = EK_BF16;
    ek__profile_product(&narrow, 2);
    double fast = expected(p, &narrow);
    return fast < mean_of(op) ? fast : 0; /* false for NAN */
}

static ek_kernel padded(const ek_kernel *k)
{
    ek_kernel whole = *k;
    whole.m = up(k->m);
    whole.n = up(k->n);
    whole.k = up(k->k);
    ek__profile_product(&whole, k->type == EK_FP32 ? 4 : 2);
    return whole;
}

static double in_whole_tiles(const products *p, const ek_compute_operator *op)
{
    const ek_kernel whole = padded(&op->work);
    double fast = expected(p, &whole), mean = mean_of(op);
    double slower = is_aligned(&op->work) ? far_slower : least_slower;
    if (is_aligned(&op->work) && !p->c->device)
        return 0; /* small ones are rightly slower, by an unknown amount */
    return mean > slower * fast ? fast : 0;
}

static double lost(const ek_compute_operator *op, double fast)
{
    return fast > 0 ? (mean_of(op) - fast) * (double)op->count : 0;
}

/* A type is reported before a shape, since it has more consequences. */
static void judge(products *p)
{
    const ek_compute *out = p->c->out;
    double most[2] = {0, 0};
    for (int i = 0; i < out->n; i++) {
        const ek_compute_operator *op = &out->op[i];
        if (!is_product(op))
            continue;
        p->fast_type[i] = is_wide(&op->work) ? in_16_bits(p, op) : 0;
        p->fast_shape[i] = is_wide(&op->work) ? 0 : in_whole_tiles(p, op);
        if (lost(op, p->fast_type[i]) > most[0]) {
            most[0] = lost(op, p->fast_type[i]);
            p->type = i;
        }
        if (lost(op, p->fast_shape[i]) > most[1]) {
            most[1] = lost(op, p->fast_shape[i]);
            p->shape = i;
        }
    }
}

/* Executions of an operator that should take `fast`. */
static ek_status add(products *p, ek_compute_fault fault, const double *fast, const char *what, const char *instead,
                     const char *estimate, ek_error *err)
{
    ek__fault_losses losses = {0};
    bool fine = true;
    for (int r = 0; r < p->c->run->n_ranks && fine; r++) {
        const ek_trace_measured *m = &p->c->run->rank[r].measured;
        for (size_t i = 0; i < m->n_all && fine; i++) {
            const ek_trace_execution *e = &m->execution[i];
            double time = fast[p->c->of[r][e->op]];
            fine = !(time > 0) || ek__fault_lose(&losses, r, e->start, e->duration, (double)e->duration - time);
        }
    }
    ek_status status = fine ? ek__fault_add(p->c, fault, &losses, what, instead, estimate, err) : ek__no_memory(err);
    free(losses.at);
    return status;
}

static ek_status add_type(products *p, ek_error *err)
{
    const ek_compute_operator *op = &p->c->out->op[p->type];
    return add(p, EK_FAULT_TYPE, p->fast_type,
               ek__pool_format(p->c->run->pool, "%.60s of %.0f x %.0f x %.0f in 32 bits", op->name, op->work.m,
                               op->work.k, op->work.n),
               ek__compute_instead(EK_FAULT_TYPE),
               p->c->device ? "the time of these products less that of the device's curve in 16 bits"
                            : "the time of these products less that at the rate of the run's products in 16 bits",
               err);
}

/* "m 4095 to 4096, k 1000 to 1008"; aligned ones need nothing of the kind. NULL when memory is out. */
static const char *padding(const products *p, const ek_kernel *k)
{
    const double side[] = {k->m, k->k, k->n};
    const char *text = "";
    if (is_aligned(k))
        return ek__compute_instead(EK_FAULT_SHAPE);
    for (int i = 0; i < 3 && text; i++)
        if (side[i] != up(side[i]))
            text = ek__pool_format(p->c->run->pool, "%s%s%c %.0f to %.0f", text, *text ? ", " : "", "mkn"[i], side[i],
                                   up(side[i]));
    if (!text)
        return NULL;
    return ek__pool_format(
        p->c->run->pool,
        "Pad to multiples of %d: %s. A side is the vocabulary, the sequence, the micro-batch or the hidden "
        "size.",
        ALIGNED, text);
}

static ek_status add_shape(products *p, ek_error *err)
{
    const ek_compute_operator *op = &p->c->out->op[p->shape];
    return add(p, EK_FAULT_SHAPE, p->fast_shape,
               ek__pool_format(p->c->run->pool, "%.60s of %.0f x %.0f x %.0f at %.1f TFLOP/s", op->name, op->work.m,
                               op->work.k, op->work.n, op->tflops),
               padding(p, &op->work),
               p->c->device ? "the time of these products less that of the padded shape by the device's curve, scaled "
                              "by the ratio of the run's other products to their curve"
                            : "the time of these products less that of the padded shape at the rate of the run's other "
                              "products",
               err);
}

ek_status ek__fault_products(ek__compute *c, ek_error *err)
{
    products p = {.c = c, .factor = NAN, .rate = NAN, .type = -1, .shape = -1};
    size_t n = (size_t)c->out->n;
    p.fast_type = ek__alloc(n, sizeof *p.fast_type);
    p.fast_shape = ek__alloc(n, sizeof *p.fast_shape);
    ek_status status = p.fast_type && p.fast_shape ? find_references(&p, err) : ek__no_memory(err);
    if (status == EK_OK)
        judge(&p);
    if (status == EK_OK && p.type >= 0)
        status = add_type(&p, err);
    if (status == EK_OK && p.shape >= 0)
        status = add_shape(&p, err);
    free(p.fast_type);
    free(p.fast_shape);
    return status;
}
