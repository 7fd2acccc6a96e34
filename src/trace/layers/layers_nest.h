/* trace/layers/layers_nest.h - nested ranges of host threads: finds the innermost one at a moment. */
#ifndef EK_TRACE_LAYERS_LAYERS_NEST_H
#define EK_TRACE_LAYERS_LAYERS_NEST_H

#include "trace/layers/layers.h"

/** A range of one track. */
typedef struct ek__nested {
    int64_t start, end;
    uint32_t name;
    int32_t track, parent; /**< parent: the innermost range around it, -1 */
} ek__nested;

typedef struct ek__nest {
    size_t n;
    ek__nested *at; /**< [n], by track, then start, longest first; a parent comes before its parts */
    size_t last;    /**< found last */
} ek__nest;

/** The ranges of a kind. Ranges nested deeper than 200 levels are left out. @return false when memory is out. O(n log
 * n). */
bool ek__nest_make(const ek__trace *trace, ek__event_kind kind, ek__nest *out);
void ek__nest_clear(ek__nest *nest);
/** The innermost range of a track at a time; -1. O(log n + depth), O(depth) close after the last one. */
int32_t ek__nest_find(ek__nest *nest, int32_t track, int64_t time);

#endif
