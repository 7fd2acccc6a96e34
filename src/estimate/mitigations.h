/* estimate/mitigations.h - helpers of the list of mitigations and of the search for them. A mitigation is one function
 * in mitigation_list.c, which changes a copy of the job or returns the obstacle, and one line in its table. The
 * consequences of a change, and the settings that make it, are derived by job/settings.h. */
#ifndef EK_ESTIMATE_MITIGATIONS_H
#define EK_ESTIMATE_MITIGATIONS_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef struct ek__mitigation_try {
    ek_job *job;                    /* a copy, to be changed */
    const ek_memory *today;         /* of the current job */
    const struct ek_device *device; /* NULL: none */
    ek_mitigation *out;             /* name is set; the change adds the reason when it is not possible */
    ek_error *err;
} ek__mitigation_try;

typedef struct ek__mitigation_kind {
    const char *name;
    ek_status (*change)(ek__mitigation_try *t); /* EK_OK also where it is not possible */
    int effort;                                 /* of ek_mitigation; change() may set a higher one */
    bool makes_room;                            /* to recompute less, which the search then tries */
} ek__mitigation_kind;

extern const ek__mitigation_kind ek__mitigation_kinds[]; /* name NULL at the end */

/* Actual peaks of a changed job; EK_OK with *fine false, and the reason in out->why, where the framework would not run
 * it. */
ek_status ek__mitigation_predict(const ek__mitigation_try *t, ek_memory *memory, bool *fine);

/* Apply the least recomputation that keeps the limit to the job, by the backward times of `layers`, which may be
 * without a device's: saved memory then replaces time. *less is set when that is less than the job recomputes; the job
 * is unchanged otherwise. */
ek_status ek__mitigation_recompute_less(ek_job *job, const ek_layers *layers, double limit_mb, bool *less,
                                        double *peak_mb, ek_error *err);

#endif
