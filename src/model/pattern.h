/* model/pattern.h - what warnings need to know of patterns besides what graph.h says. */
#ifndef EK_MODEL_PATTERN_H
#define EK_MODEL_PATTERN_H

#include "model/graph.h"

/* What a pattern names in a graph, whatever comes of it. */
typedef struct ek__pattern_names {
    bool primitive, cell;
    bool reshape; /* a primitive without work of its own */
} ek__pattern_names;

ek__pattern_names ek__pattern_names_in(const ek__graph *graph, const char *pattern);
/* The pattern of one operator: "feed_forward.mul" -> "feed_forward\.mul"; cut where there is no room.
 * @param size  of out, at least 1 */
void ek__pattern_of_path(const char *path, char *out, size_t size);
/* Are its parts expressions that can be read? */
bool ek__pattern_compiles(const char *pattern);

#endif
