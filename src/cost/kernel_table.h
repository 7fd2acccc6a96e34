/* cost/kernel_table.h - a table of measured kernels of a device, and the correction of its curves by those of near
 * shapes. */
#ifndef EK_COST_KERNEL_TABLE_H
#define EK_COST_KERNEL_TABLE_H

#include <stdio.h>

#include "base/config_tree.h"
#include "evenkeel/device.h"

enum { EK__MAX_KERNEL_ROWS = 100000 };

/* Shapes that are this near are one shape: roundings of a logarithm. */
#define EK__KERNEL_SAME 1e-6

typedef struct ek__kernel_near {
    double ratio;   /* factor on the curve's time, 1 where nothing is near */
    double weight;  /* of the measurements in it, 0..1 */
    double nearest; /* distance, in powers of e; NAN: no kernel of the class */
} ek__kernel_near;

/*
 * Rows of a class (kind, pass, bits of the type) within reach, in the space of logarithms of the shape:
 *     ln ratio = sum w_i ln(measured_i / curve_i) / (sum w_i + w_0), w_i = 1 / d_i^2 - 1 / reach^2
 * so that a measured shape is reproduced, near ones are weighted by their distance, and far ones do not change the
 * curve. weight = sum w_i / (sum w_i + w_0). Adding to a result in 32 bits is a coordinate, too. O(log n + rows within
 * reach).
 */
ek__kernel_near ek__kernel_table_look(const ek_kernel_table *table, const ek_device *device, const ek_kernel *kernel);

/* The largest distance at which two kernels of one class are correlated, in powers of e. */
#define EK__KERNEL_REACH 1.0
/* The distance of two kernels, NAN for those of different classes. */
double ek__kernel_distance(const ek_kernel *a, const ek_kernel *b);

/* ek_kernel_table_new(); rows of one shape with times that differ more than twofold are returned instead: clash[0] and
 * [1] are their indices, *out is NULL and EK_OK returned. */
ek_status ek__kernel_table_make(const ek_kernel_row *row, int n, ek_kernel_table **out, int clash[2], ek_error *err);

/* The `kernels` list of a device file, read and written (kernel_table_file.c). */
ek_status ek__kernel_table_read_list(const ek__in *in, const ek__node *list, ek_kernel_table **out);
void ek__kernel_table_write_list(const ek_kernel_table *table, FILE *out);

#endif
