/* Finds layers in ranges of the user (user_annotation, mstx) with names of layers: "0-DecoderLayer", or as the options
 * name them. A prefix "Gradients/", "backward/" or "bwd/" means backward, "recompute/" recomputation, anything else
 * forward. A range on the device contains the kernels that start in it, one on the host those that are launched in it.
 * Without named layers two numbers of one kind must be there, so that a range called "1-init" is not mistaken for
 * one. */
#include <stdlib.h>
#include <string.h>

#include "trace/layers/layers_nest.h"

/* The parts of a name. */
typedef struct meaning {
    int32_t layer; /* -1: none */
    uint8_t direction;
} meaning;

typedef struct work {
    ek__layer_search *search;
    const ek__trace *trace;
    ek__nest ranges;
    bool *is_name; /* [n_names]: a range has it */
    meaning *meaning;
    ek__layer_pass *pass; /* [ranges.n]: kernels of each; start INT64_MAX without any */
    int64_t *host;        /* [ranges.n]: their first launch */
} work;

static uint8_t direction_of(const char *name, size_t size)
{
    static const struct {
        const char *word;
        uint8_t direction;
    } words[] = {{"Gradients", EK__PASS_BACKWARD},
                 {"backward", EK__PASS_BACKWARD},
                 {"bwd", EK__PASS_BACKWARD},
                 {"recompute", EK__PASS_RERUN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (size >= length && memcmp(name, words[i].word, length) == 0)
            return words[i].direction;
    }
    return EK__PASS_FORWARD;
}

/* The last element of the name, and whether it can be a layer at all. */
static bool read_name(const work *w, const char *name, const char **element, ek_trace_role *role)
{
    const ek_trace_options *o = w->search->options;
    const char *slash = strrchr(name, '/');
    size_t kind, size;
    *element = slash ? slash + 1 : name;
    size = strlen(*element);
    *role = EK_TRACE_BODY;
    if (o && o->n_head > 0 && ek__layer_named(o->head, o->n_head, *element, size)) {
        *role = EK_TRACE_HEAD;
        return true;
    }
    if (o && o->n_tail > 0 && ek__layer_named(o->tail, o->n_tail, *element, size)) {
        *role = EK_TRACE_TAIL;
        return true;
    }
    if (o && o->n_body > 0)
        return ek__layer_named(o->body, o->n_body, *element, size);
    return ek__element_number(*element, size, &kind) >= 0;
}

static int32_t add_layer(work *w, const char *element, ek_trace_role role)
{
    ek__layer_search *s = w->search;
    for (size_t i = 0; i < s->n_layers; i++)
        if (strcmp(s->layer[i].name, element) == 0)
            return (int32_t)i;
    size_t kind = 0, size = strlen(element);
    ek__found_layer layer = {.role = role, .index = ek__element_number(element, size, &kind)};
    char *name = ek__pool_text(s->rank->pool, element, size);
    if (!name)
        return -2;
    layer.name = name;
    layer.kind = name + (layer.index < 0 ? 0 : kind);
    return ek__layer_add(s, &layer) < 0 ? -2 : (int32_t)s->n_layers - 1;
}

static bool find_meanings(work *w)
{
    enum { MAX_RANGE_LAYERS = 4096 }; /* found by linear search */
    for (uint32_t i = 0; i < w->trace->n_names; i++) {
        const char *name = ek__trace_name(w->trace, i), *element;
        ek_trace_role role;
        w->meaning[i].layer = -1;
        if (!w->is_name[i] || !read_name(w, name, &element, &role) || w->search->n_layers >= MAX_RANGE_LAYERS)
            continue;
        w->meaning[i].direction = direction_of(name, (size_t)(element - name));
        w->meaning[i].layer = add_layer(w, element, role);
        if (w->meaning[i].layer == -2)
            return false;
    }
    return true;
}

/* Named layers, or two numbers of one kind. */
static bool are_layers(const work *w)
{
    const ek__layer_search *s = w->search;
    if (s->options && s->options->n_body > 0)
        return s->n_layers > 0;
    for (size_t i = 0; i < s->n_layers; i++)
        for (size_t j = 0; j < i; j++)
            if (s->layer[i].role == EK_TRACE_BODY && strcmp(s->layer[i].kind, s->layer[j].kind) == 0)
                return true;
    return false;
}

static bool add_kernel(work *w, int32_t track, int64_t time, const ek__event *kernel)
{
    int32_t r = ek__nest_find(&w->ranges, track, time), layer_range = -1;
    for (; r >= 0; r = w->ranges.at[r].parent)
        if (w->meaning[w->ranges.at[r].name].layer >= 0)
            layer_range = r; /* the outermost */
    if (layer_range < 0)
        return true;
    ek__layer_pass *p = &w->pass[layer_range];
    int64_t end = ek__event_end(kernel);
    p->start = kernel->start < p->start ? kernel->start : p->start;
    p->end = end > p->end ? end : p->end;
    p->busy = ek__ns_add(p->busy, kernel->duration);
    w->host[layer_range] = time < w->host[layer_range] ? time : w->host[layer_range];
    return ek__layer_member_add(w->search, kernel->start, w->meaning[w->ranges.at[layer_range].name].layer);
}

/* Kernels to ranges: by their launch, or by their own start when the ranges are the device's. */
static bool add_kernels(work *w, bool on_device)
{
    ek__slice kernels = w->trace->of[EK__EVENT_KERNEL];
    ek__launch_point *point = on_device ? NULL : ek__launch_points(w->trace);
    bool fine = on_device || point;
    for (size_t i = 0; i < kernels.n && fine; i++) {
        const ek__event *e = &kernels.event[i];
        if (on_device)
            fine = add_kernel(w, e->track, e->start, e);
        else if (point[i].track >= 0)
            fine = add_kernel(w, point[i].track, point[i].time, e);
    }
    free(point);
    return fine;
}

static bool make_passes(work *w, bool on_device)
{
    for (size_t i = 0; i < w->ranges.n; i++) {
        ek__layer_pass *p = &w->pass[i];
        const meaning *m = &w->meaning[w->ranges.at[i].name];
        if (m->layer < 0 || p->start == INT64_MAX)
            continue;
        p->layer = m->layer;
        p->direction = m->direction;
        p->wall = p->end - p->start;
        p->step = on_device ? ek__layer_step(w->search, p->start) : ek__layer_host_step(w->search, w->host[i]);
        if (p->step >= 0 && !ek__layer_pass_add(w->search, p))
            return false;
    }
    return true;
}

static bool search_ranges(work *w, ek__event_kind kind)
{
    bool on_device = kind == EK__EVENT_DEVICE_ANNOTATION;
    if (!ek__nest_make(w->trace, kind, &w->ranges))
        return false;
    w->is_name = ek__alloc(w->trace->n_names, sizeof *w->is_name);
    w->meaning = ek__alloc(w->trace->n_names, sizeof *w->meaning);
    w->pass = ek__alloc(w->ranges.n, sizeof *w->pass);
    w->host = ek__alloc(w->ranges.n, sizeof *w->host);
    if (!w->is_name || !w->meaning || !w->pass || !w->host)
        return false;
    for (size_t i = 0; i < w->ranges.n; i++) {
        w->is_name[w->ranges.at[i].name] = true;
        w->pass[i] = (ek__layer_pass){.start = INT64_MAX, .end = INT64_MIN};
        w->host[i] = INT64_MAX;
    }
    if (!find_meanings(w))
        return false;
    return !are_layers(w) || (add_kernels(w, on_device) && make_passes(w, on_device));
}

ek_status ek__layers_of_annotations(ek__layer_search *search, const char **source, ek_error *err)
{
    static const ek__event_kind kinds[] = {EK__EVENT_DEVICE_ANNOTATION, EK__EVENT_ANNOTATION};
    bool fine = true;
    *source = "annotations";
    for (int i = 0; i < 2 && fine && search->n_passes == 0; i++) {
        if (search->trace->of[kinds[i]].n == 0)
            continue;
        work w = {.search = search, .trace = search->trace};
        ek__layer_search_clear(search);
        fine = search_ranges(&w, kinds[i]);
        ek__nest_clear(&w.ranges);
        free(w.is_name);
        free(w.meaning);
        free(w.pass);
        free(w.host);
    }
    return fine ? EK_OK : ek__no_memory(err);
}
