/* trace/layers/layers.h - executions of layers in the sources of a trace, before they are summed up.
 *
 * A source finds layers and their passes; analyse_layers.c selects the source and turns passes into figures. */
#ifndef EK_TRACE_LAYERS_LAYERS_H
#define EK_TRACE_LAYERS_LAYERS_H

#include "base/error.h"
#include "trace/events/intervals.h"
#include "trace/trace.h"

enum { EK__PASS_FORWARD, EK__PASS_RERUN, EK__PASS_BACKWARD, EK__N_LAYER_PASSES };

/** One execution of a layer in one direction, or a piece of its recomputation. */
typedef struct ek__layer_pass {
    int32_t layer; /**< index in ek__layer_search.layer */
    int32_t step;  /**< index in rank->step; 0 without steps */
    int64_t start, end, wall;
    int64_t busy; /**< EK_TRACE_UNKNOWN when no operators are known */
    uint8_t direction;
} ek__layer_pass;

typedef struct ek__found_layer {
    const char *name; /**< in the rank's pool */
    const char *kind; /**< part of `name`, or a text of its own in the pool */
    int index;        /**< -1 without a number */
    ek_trace_role role;
    bool dropped;  /**< turned out to be neither head, body nor tail */
    int64_t first; /**< start of the first execution */
} ek__found_layer;

/** An operator of a layer. */
typedef struct ek__layer_member {
    int64_t start;
    int32_t layer; /**< index in ek__layer_search.layer */
} ek__layer_member;

/** The searched layers, and the results so far. */
typedef struct ek__layer_search {
    const ek__trace *trace;
    const ek_trace_options *options;
    ek_trace_rank *rank;
    bool use_warm_up; /**< there is no other step */
    bool named;       /**< a source has names of the model's parts */
    size_t n_layers, layers_capacity, n_passes, passes_capacity, n_members, members_capacity;
    ek__found_layer *layer;
    ek__layer_pass *pass;
    ek__layer_member *member; /**< with options->measure */
} ek__layer_search;

void ek__layer_search_clear(ek__layer_search *search);
/** @return the layer's index, or -1 when memory is out. */
int32_t ek__layer_add(ek__layer_search *search, const ek__found_layer *layer);
bool ek__layer_pass_add(ek__layer_search *search, const ek__layer_pass *pass);
/** Record that an operator is of a layer, where options->measure is set. */
bool ek__layer_member_add(ek__layer_search *search, int64_t start, int32_t layer);

/** The step with a device window that contains a time: its index; -1 outside and in warm-up steps. O(log steps). */
int32_t ek__layer_step(const ek__layer_search *search, int64_t time);
/** The same by the host's step marks. */
int32_t ek__layer_host_step(const ek__layer_search *search, int64_t time);

/** Is an element (or module) one of these names: completely, or the part after "N-" or any "-", or the part before
 * "_N"? */
bool ek__layer_named(const char *const *name, int n, const char *element, size_t size);
/** The number of "12-Layer" (*kind: 3) or, for modules, "Layer_12" (*kind: the size before '_'); -1 without one. */
int ek__element_number(const char *element, size_t size, size_t *kind);
int ek__module_number(const char *module, size_t *kind_size);

/** An operator with a path "Default/.../0-Layer/part/Name-op12" in the order of time. */
typedef struct ek__path_op {
    int64_t start, duration;
    uint32_t text; /**< index of its path */
} ek__path_op;

/** Passes from operators with paths. `whole`: durations are wall times of scopes, so that busy is not known. O(n log
 * n). */
ek_status ek__layers_from_paths(ek__layer_search *search, const ek__path_op *op, size_t n, const char *const *text,
                                uint32_t n_texts, bool whole, ek_error *err);

/** The sources. Each adds layers with passes, or none when the trace does not have it. */
ek_status ek__layers_of_tasks(ek__layer_search *search, const char **source, ek_error *err);
ek_status ek__layers_of_scopes(ek__layer_search *search, const char **source, ek_error *err);
ek_status ek__layers_of_modules(ek__layer_search *search, const char **source, ek_error *err);
ek_status ek__layers_of_annotations(ek__layer_search *search, const char **source, ek_error *err);

/** The path in an operator's name: "Module::Event::full/op/name" is "full/op/name". */
const char *ek__without_module(const char *name);

/** The launch of a device event: its host track and time. */
typedef struct ek__launch_point {
    int64_t time;
    int32_t track; /**< -1: not in the file */
} ek__launch_point;

/** Launch points of all kernels [of[EK__EVENT_KERNEL].n]: by correlation, else by the framework's flows. NULL when
 *  memory is out. Freed by the caller. O(n). */
ek__launch_point *ek__launch_points(const ek__trace *trace);

#endif
