/* cost/constants.h - the constants of a device that can be fitted to measured runs: place, range, and expected distance
 * from the start of a fit. A new one is one line of a list in constants.c. */
#ifndef EK_COST_CONSTANTS_H
#define EK_COST_CONSTANTS_H

#include "evenkeel/types.h"

#include <stdbool.h>
#include <stddef.h>

enum { EK__MAX_CONSTANTS = 192 };

typedef struct ek__constant {
    char name[48];      /* "curve.matmul.share", "tier.1.share.all_reduce" */
    const char *unit;   /* "" for a share */
    size_t at;          /* offset of a double in ek_device */
    double least, most; /* of the figure */
    bool logarithm;     /* fitted as its logarithm */
    double width;       /* standard deviation of the prior, of the logarithm where that is fitted */
    double typical;     /* the middle of the prior where the start is 0 and a logarithm is fitted */
    ptrdiff_t error_at; /* offset of the standard error that a device file has for it, -1: none: of the logarithm of a
                           time, or of the figure itself for one that is not fitted as its logarithm */
    ptrdiff_t basis_at; /* offset of the ek_cost_basis that speaks of it, -1: none */
} ek__constant;

/* Those that a device has, tier by tier. @return their number, at most EK__MAX_CONSTANTS */
int ek__constants_of(const ek_device *device, ek__constant out[EK__MAX_CONSTANTS]);

double ek__constant_get(const ek__constant *constant, const ek_device *device);
void ek__constant_set(const ek__constant *constant, double value, ek_device *device);
/* The fitted value: the logarithm or the figure itself, within the bounds; and back. */
double ek__constant_scaled(const ek__constant *constant, double value);
double ek__constant_value(const ek__constant *constant, double scaled);
/* The middle of the prior, scaled. */
double ek__constant_prior(const ek__constant *constant, double start);

#endif
