/* trace/events/shapes.h - the shapes and types of operators' inputs, so that only executions with equal ones are
 * compared. */
#ifndef EK_TRACE_ANALYSE_SHAPES_H
#define EK_TRACE_ANALYSE_SHAPES_H

#include "base/error.h"
#include "trace/trace.h"

/** A table's row of an execution, or operators of PyTorch by their external id. */
typedef struct ek__shape {
    int64_t key;      /**< start, or external id */
    int64_t duration; /**< of a table's row */
    uint32_t shape;   /**< hash of shapes and types, never 0 */
} ek__shape;

typedef struct ek__shapes {
    size_t n, capacity;
    ek__shape *at; /**< [n], by key once ek__shapes_sort() was called */
} ek__shapes;

/** A number for a text of shapes and types; never 0. */
uint32_t ek__shape_number(const char *text, size_t size);
/** @return false when memory is out. */
bool ek__shapes_add(ek__shapes *shapes, const ek__shape *one);
void ek__shapes_sort(ek__shapes *shapes);
void ek__shapes_clear(ek__shapes *shapes);

/** Texts that events name, by the events' links: `shape` is then the result of `tells` for the accepted events. Sorted.
 *  O(n log n). */
ek_status ek__shapes_by_link(ek__slice slice, bool (*take)(const ek__event *e), uint32_t (*tells)(const ek__event *e),
                             ek__shapes *out, ek_error *err);
/** The result for one link; 0 without one. O(log n). */
uint32_t ek__shapes_told(const ek__shapes *shapes, uint32_t link);

/** Finds the shapes of a trace's operators: Ascend's from the rows of kernel_details.csv, by start and duration;
 *  Kineto's from the "Input Dims" and "Input type" of the operator that launched the kernel. */
typedef struct ek__shape_finder {
    const ek__trace *trace;
    ek__shapes by_id;
} ek__shape_finder;

ek_status ek__shape_finder_make(const ek__trace *trace, ek__shape_finder *out, ek_error *err);
void ek__shape_finder_clear(ek__shape_finder *finder);
/** 0 when unknown. O(log n). */
uint32_t ek__shape_of(const ek__shape_finder *finder, const ek__event *kernel);

#endif
