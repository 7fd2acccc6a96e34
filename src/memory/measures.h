/* memory/measures.h - what the search for measures and the list of them share. A measure is one function in
 * measure_list.c, which changes a copy of the job or says what stands against that, and one line in its table. */
#ifndef EK_MEMORY_MEASURES_H
#define EK_MEMORY_MEASURES_H

#include "evenkeel/memory.h"

typedef struct ek__measure_try {
    ek_job *job;            /* a copy, to be changed */
    const ek_memory *today; /* of the job as it is */
    ek_measure *out;        /* name is filled; the change adds the setting, or why it is not possible */
    ek_error *err;
} ek__measure_try;

typedef struct ek__measure_kind {
    const char *name;
    ek_status (*change)(ek__measure_try *t); /* EK_OK also where it is not possible */
} ek__measure_kind;

extern const ek__measure_kind ek__measure_kinds[]; /* name NULL at the end */

/* Actual peaks of a changed job; EK_OK with *fine false, and out->why, where the framework would not run it. */
ek_status ek__measure_predict(const ek__measure_try *t, ek_memory *memory, bool *fine);

#endif
