/* trace/layers/layers_paths.h - operators of layers, and cutting them into passes. */
#ifndef EK_TRACE_LAYERS_LAYERS_PATHS_H
#define EK_TRACE_LAYERS_LAYERS_PATHS_H

#include "trace/layers/layers.h"

enum { EK__SCOPE_FORWARD, EK__SCOPE_RECOMPUTE, EK__SCOPE_BACKWARD };

/** The parts of a path. */
typedef struct ek__path_info {
    int32_t layer;
    uint32_t place; /**< equal for paths that differ only in the operator's number */
    uint8_t scope;
} ek__path_info;

/** An operator of a layer. */
typedef struct ek__layer_op {
    int64_t start, duration;
    uint32_t exact, place;
    int32_t layer, step;
    uint8_t scope;
} ek__layer_op;

/** Does a text begin with a scope? */
bool ek__is_layer_path(const char *text);

/** Passes of all layers from their operators in order of time. @return false when memory is out. O(n). */
bool ek__cut_passes(ek__layer_search *search, const ek__layer_op *op, size_t n, uint32_t n_exact, uint32_t n_places,
                    bool whole);

#endif
