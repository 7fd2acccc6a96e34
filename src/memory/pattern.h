/* memory/pattern.h - what warnings need to know of patterns besides what graph.h says. */
#ifndef EK_MEMORY_PATTERN_H
#define EK_MEMORY_PATTERN_H

#include "memory/graph.h"

/* Does the pattern name a primitive or a cell of the graph, whatever comes of it? */
bool ek__pattern_names(const ek__graph *graph, const char *pattern);
/* Are its parts expressions that can be read? */
bool ek__pattern_compiles(const char *pattern);

#endif
