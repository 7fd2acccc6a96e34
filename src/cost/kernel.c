/* Predicts the time of one kernel: the curve of its kind, corrected by measured kernels of near shapes. Curves have a
 * closed form (device.h), so a limit (one tile, infinite memory) can be computed by hand. */
#include "cost/kernel.h"

#include <math.h>

#include "cost/kernel_table.h"

#define US 1e-6

enum { MOST_HALVINGS = 3 };
static const double smaller_tile = 0.9;

static bool is_attention(ek_kernel_kind kind)
{
    return kind == EK_KERNEL_ATTENTION_FORWARD || kind == EK_KERNEL_ATTENTION_BACKWARD;
}

/* Work of whole waves of whole tiles of this size relative to the needed work, 1 or more. */
static double waste_of(const ek_device *device, double rows, double columns, double many, double tile_m, double tile_n)
{
    double tiles = many * ceil(rows / tile_m) * ceil(columns / tile_n);
    if (device->units > 0)
        tiles = ceil(tiles / device->units) * device->units;
    return tiles * tile_m * tile_n / (many * rows * columns);
}

/* Libraries choose among tiles: where the large one would leave most of a wave idle, a half or a quarter of it is used,
 * each halving at smaller_tile of the rate, since a tile's reads grow with its edge and its products with its area. */
static double waste(const ek_device *device, const ek_curve *curve, const ek_kernel *k)
{
    bool attention = is_attention(k->kind);
    double rows = attention ? k->seq : k->m, columns = attention ? 1 : k->n, tile_n = attention ? 1 : curve->tile_n;
    double many = attention ? k->batch * k->heads : fmax(k->groups, 1), tile_m = curve->tile_m, best = INFINITY;
    if (tile_m <= 0 || tile_n <= 0 || rows <= 0 || columns <= 0 || many <= 0)
        return 1;
    double rate = 1;
    for (int halvings = 0; halvings <= (attention ? 0 : MOST_HALVINGS); halvings++) {
        best = fmin(best, waste_of(device, rows, columns, many, tile_m, tile_n) / rate);
        if (tile_n >= tile_m)
            tile_n /= 2;
        else
            tile_m /= 2;
        rate *= smaller_tile;
    }
    return best;
}

/* The overhead of a tile, in elements of k: in 8 bits larger by the factor by which these products are faster. */
static double half_k(const ek_device *device, const ek_curve *curve, const ek_kernel *kernel)
{
    double wide = device->peak_tflops[EK_BF16];
    if (kernel->type != EK_TYPE_FP8 || !(wide > 0))
        return curve->half_k;
    return curve->half_k * device->peak_tflops[EK_TYPE_FP8] / wide;
}

static double curve_at(const ek_device *device, const ek_kernel *kernel, double share)
{
    const ek_curve *curve = &device->curve[kernel->kind];
    double arithmetic = 0, traffic = kernel->bytes / (curve->memory_share * device->memory_gbs * 1e9);
    if (kernel->flops > 0) {
        double peak = device->peak_tflops[kernel->type] * 1e12;
        double k = is_attention(kernel->kind) ? kernel->key_seq : kernel->k;
        if (!(peak > 0))
            return NAN;
        if (kernel->type == EK_TYPE_FP8)
            share *= device->fp8_share * (kernel->fine_scales ? device->fp8_fine_share : 1);
        arithmetic = kernel->flops / (share * peak) * waste(device, curve, kernel);
        if (k > 0)
            arithmetic *= 1 + half_k(device, curve, kernel) / k;
    }
    return fmax(arithmetic, traffic) + (1 - curve->hidden) * fmin(arithmetic, traffic) + curve->launch_us * US;
}

double ek__kernel_curve(const ek_device *device, const ek_kernel *kernel)
{
    return curve_at(device, kernel, device->curve[kernel->kind].share);
}

double ek__kernel_alone(const ek_device *device, const ek_kernel *kernel)
{
    const ek_curve *curve = &device->curve[kernel->kind];
    return curve_at(device, kernel, curve->alone_share > 0 ? curve->alone_share : curve->share);
}

/* A product timed in isolation runs at clocks that a device cannot sustain for a whole step: for that reason measured
 * kernels of nearly one shape differ by a quarter. Seconds that one takes at least. */
static double under_load(const ek_device *device, const ek_kernel *kernel)
{
    bool product = kernel->kind == EK_KERNEL_MATMUL || kernel->kind == EK_KERNEL_GROUPED;
    const ek_curve *curve = &device->curve[kernel->kind];
    double peak = device->peak_tflops[kernel->type] * 1e12;
    double most = fmin(device->sustained_share, curve->alone_share > 0 ? curve->share : 1);
    return product && most < 1 ? kernel->flops / (most * peak) : 0;
}

ek__kernel_time ek__kernel_seconds(const ek_device *device, const ek_kernel *kernel)
{
    const ek_curve *curve = &device->curve[kernel->kind];
    ek__kernel_time t = {
        .seconds = ek__kernel_curve(device, kernel), .basis = curve->basis, .error = curve->error, .nearest = NAN};
    if (!device->kernels || !(t.seconds > 0))
        return t;
    const ek__kernel_near near = ek__kernel_table_look(device->kernels, device, kernel);
    t.nearest = near.nearest;
    t.seconds *= near.ratio;
    if (!isnan(near.nearest)) /* else the curve is not of such kernels */
        t.seconds = fmax(t.seconds, under_load(device, kernel));
    if (near.weight >= 0.5)
        t.basis = near.nearest <= EK__KERNEL_SAME ? EK_COST_MEASURED : EK_COST_FITTED;
    t.error = sqrt(1 - near.weight) * curve->error;
    return t;
}
