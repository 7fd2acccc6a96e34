/* model/pattern.h - functions on patterns for warnings, in addition to those of graph.h. */
#ifndef EK_MODEL_PATTERN_H
#define EK_MODEL_PATTERN_H

#include "model/graph.h"

/* The operators that a pattern names in a graph, independent of the effect. */
typedef struct ek__pattern_names {
    bool primitive, cell;
    bool reshape; /* a primitive without its own work */
} ek__pattern_names;

ek__pattern_names ek__pattern_names_in(const ek__graph *graph, const char *pattern);
/* The pattern of one operator: "feed_forward.mul" -> "feed_forward\.mul"; truncated if there is no room.
 * @param size  of out, at least 1 */
void ek__pattern_of_path(const char *path, char *out, size_t size);
/* Are its parts valid expressions? */
bool ek__pattern_compiles(const char *pattern);

#endif
