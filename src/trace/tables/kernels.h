/* trace/tables/kernels.h - executions of operators as listed in a table, and their figures. */
#ifndef EK_TRACE_ANALYSE_KERNELS_H
#define EK_TRACE_ANALYSE_KERNELS_H

#include "trace/scan/part.h"
#include "trace/tables/tables.h"

/** One row. Numbers of texts in ek__kernels. */
typedef struct ek__kernel {
    int64_t start, duration; /**< start EK_TRACE_UNKNOWN when the row has none */
    int64_t wait;            /**< EK_TRACE_UNKNOWN when the row has none */
    uint32_t group;          /**< of (type, core) */
    uint32_t kind;           /**< of executions that should take equally long: (type, core, shapes), or a place in the
                              * step */
    uint32_t name, shape, step;
    bool communication;
} ek__kernel;

typedef struct ek__kernels {
    size_t n, capacity;
    ek__kernel *at;
    ek__texts group, kind, name, step; /**< a group's text is "type\ncore"; `name` contains shapes too */
    bool has_steps;
} ek__kernels;

void ek__kernels_clear(ek__kernels *kernels);
/** rank->operators but `table`. O(n log n). */
ek_status ek__kernels_operators(const ek__kernels *kernels, const char *source, ek_trace_rank *rank, ek_error *err);
/** A breakdown of every step in own, unless a step has one. O(n log n). */
ek_status ek__kernels_steps(const ek__kernels *kernels, const ek__table_in *in, const char *source, ek_error *err);

#endif
