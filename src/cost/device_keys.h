/* cost/device_keys.h - the keys of device files, one list for the reader and the writer: a figure added here is read,
 * checked and written. */
#ifndef EK_COST_DEVICE_KEYS_H
#define EK_COST_DEVICE_KEYS_H

#include <stddef.h>

#include "evenkeel/device.h"

/* A number of a struct. */
typedef struct ek__device_entry {
    const char *key;
    size_t at; /* of a double */
    double min, max;
    const char *advice;
} ek__device_entry;

enum { EK__N_CURVE_FIGURES = 9, EK__N_DEVICE_FIGURES = 10, EK__N_TIER_FIGURES = 7, EK__N_OPTIMIZER_FIGURES = 4 };
extern const ek__device_entry ek__curve_figure[EK__N_CURVE_FIGURES];   /* of ek_curve */
extern const ek__device_entry ek__device_figure[EK__N_DEVICE_FIGURES]; /* of ek_device, on the file's first level; the
                                                                   first two must be there */
extern const ek__device_entry ek__tier_figure[EK__N_TIER_FIGURES];     /* of ek_tier */
/* Maps of an ek_device's own figures. */
extern const ek__device_entry ek__fp8_figure[3], ek__overlap_figure[3], ek__optimizer_figure[EK__N_OPTIMIZER_FIGURES];
extern const ek__device_entry ek__host_figure[2]; /* of ek_host, except those by launch */

extern const char *const ek__type_name[EK_N_TYPES]; /* float32, bfloat16, float16, fp8 */
extern const char *const ek__product_name[3];       /* forward, input, weight */

#endif
