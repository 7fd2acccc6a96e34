/* Finds layers and passes from operators with the framework's path. The part before the operator's own name is parsed
 * once for each distinct text: its scope (Default, recompute_Default, Gradients), its elements, its layer. Layers are
 * the numbered elements of containers in which a kind of element repeats, the outermost one of a path (elements without
 * parts, such as a Conv2d, only where neighbouring numbers are of one kind); operators before the first of them and
 * after the last, outside of all, are head and tail. layers_passes.c then cuts each layer's operators into passes. Not
 * handled: a body without numbers and without a given name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/layers/layers_paths.h"
#include "trace/scan/part.h"

enum { MAX_ELEMENTS = 64, SMALL_CONTAINER = 10 /* a list of layers takes at least that share of the largest's time */ };

typedef struct span {
    const char *at;
    size_t size;
} span;

/* A list of layers: the path before numbered elements. */
typedef struct container {
    double busy;
    uint32_t n_elements, depth; /* distinct numbered elements; elements before them */
    bool repeats, chosen;
    bool has_parts, has_neighbours; /* contains elements; two consecutive ones are of one kind */
} container;

/* A parsed path. */
typedef struct path {
    uint8_t scope;
    int8_t n;         /* elements without the operator; -1: no path */
    const char *rest; /* after the scope */
    span element[MAX_ELEMENTS];
} path;

typedef struct work {
    ek__layer_search *search;
    const char *const *text;
    uint32_t n_texts;
    const ek__path_op *op;
    size_t n;
    uint32_t *prefix_of; /* [n_texts]: in `prefixes`; 0 for texts that no operator has */
    ek__path_info *info; /* [n_texts]; layer -1: none */
    double *busy;        /* [n_prefixes]: of operators after each */
    uint32_t n_prefixes;
    ek__texts prefixes, containers, elements, kinds, layers, rests, places;
    size_t containers_capacity;
    container *container;      /* [containers.n] */
    char body_container[1024]; /* of the container with most time */
} work;

/* ---- one path ---- */

static bool read_scope(const char **text, const char *scope)
{
    size_t size = strlen(scope);
    if (strncmp(*text, scope, size) != 0 || (*text)[size] != '/')
        return false;
    *text += size + 1;
    return true;
}

static bool split(const char *text, path *out)
{
    out->n = -1;
    bool backward = read_scope(&text, "Gradients");
    bool recompute = read_scope(&text, "recompute_Default");
    if (!recompute && !read_scope(&text, "Default") && !backward)
        return false;
    out->scope = backward ? EK__SCOPE_BACKWARD : recompute ? EK__SCOPE_RECOMPUTE : EK__SCOPE_FORWARD;
    out->rest = text;
    int n = 0;
    for (const char *slash; (slash = strchr(text, '/')) && n < MAX_ELEMENTS; text = slash + 1)
        out->element[n++] = (span){text, (size_t)(slash - text)};
    out->n = (int8_t)n;
    return true;
}

/* The path before element i. */
static size_t size_before(const path *p, int i)
{
    return (size_t)(p->element[i].at - p->rest);
}

static size_t size_through(const path *p, int i)
{
    return size_before(p, i) + p->element[i].size;
}

bool ek__is_layer_path(const char *text)
{
    return strncmp(text, "Default/", 8) == 0 || strncmp(text, "Gradients/", 10) == 0 ||
           strncmp(text, "recompute_Default/", 18) == 0;
}

/* ---- paths before the operators ---- */

static const char *prefix_at(const work *w, uint32_t prefix)
{
    return ek__texts_at(&w->prefixes, prefix);
}

/* The number of a prefix. The model's parts come in the same order as before, so the last successor of `before` is
 * tried first. */
static uint32_t intern_prefix(work *w, uint32_t *next, uint32_t before, const char *text, size_t size)
{
    uint32_t guess = next[before];
    if (w->prefixes.entry[guess].size != size || memcmp(prefix_at(w, guess), text, size) != 0)
        guess = next[before] = ek__texts_intern(&w->prefixes, text, size);
    return guess;
}

/* Number the distinct prefixes, "Default/.../0-Layer/part/", and sum up their operators. `busy` [n_texts]: of each
 * text; below 0 when no operator has it. */
static bool find_prefixes(work *w, const double *busy)
{
    uint32_t *next = ek__alloc((size_t)w->n_texts + 1, sizeof *next), before = 0;
    bool fine = next && ek__texts_reset(&w->prefixes);
    for (uint32_t t = 0; t < w->n_texts && fine; t++) {
        const char *slash = busy[t] < 0 ? NULL : strrchr(w->text[t], '/');
        w->info[t].layer = -1;
        if (!slash)
            continue;
        before = w->prefix_of[t] = intern_prefix(w, next, before, w->text[t], (size_t)(slash - w->text[t]) + 1);
        fine = before != UINT32_MAX;
    }
    free(next);
    w->n_prefixes = w->prefixes.n;
    w->busy = fine ? ek__alloc(w->n_prefixes, sizeof *w->busy) : NULL;
    for (uint32_t t = 0; t < w->n_texts && w->busy; t++)
        if (w->prefix_of[t])
            w->busy[w->prefix_of[t]] += busy[t];
    return w->busy != NULL;
}

/* ---- containers of layers ---- */

/* A number and a text as one. @return its size */
static size_t pair_key(char *key, size_t capacity, uint32_t first, const char *text, size_t size)
{
    size = size > capacity - sizeof first ? capacity - sizeof first : size;
    memcpy(key, &first, sizeof first);
    memcpy(key + sizeof first, text, size);
    return sizeof first + size;
}

/* One number for both. */
static uint32_t intern_pair(ek__texts *texts, uint32_t first, const char *text, size_t size)
{
    char key[600];
    return ek__texts_intern(texts, key, pair_key(key, sizeof key, first, text, size));
}

/* Was the element of the same kind with the next number (`by` 1 or -1) found in the container? */
static bool has_neighbour(const work *w, uint32_t list, const span *e, size_t kind, int by)
{
    char text[600], key[600];
    size_t ignored;
    int n = snprintf(text, sizeof text, "%d-%.*s", ek__element_number(e->at, e->size, &ignored) + by,
                     (int)(e->size - kind), e->at + kind);
    if (n < 0 || (size_t)n >= sizeof text)
        return false;
    return ek__texts_find(&w->elements, key, pair_key(key, sizeof key, list, text, (size_t)n)) != UINT32_MAX;
}

static bool count_element(work *w, const path *p, int i, double busy)
{
    size_t kind = 0;
    const span *e = &p->element[i];
    if (ek__element_number(e->at, e->size, &kind) < 0)
        return true;
    uint32_t number = ek__texts_intern(&w->containers, p->rest, size_before(p, i));
    if (number == UINT32_MAX)
        return false;
    if (number >= w->containers_capacity) {
        size_t before = w->containers_capacity;
        void *room = ek__with_room(w->container, &w->containers_capacity, (size_t)number + 1, sizeof *w->container);
        if (!room)
            return false;
        w->container = room;
        memset(w->container + before, 0, (w->containers_capacity - before) * sizeof *w->container);
    }
    container *c = &w->container[number];
    c->busy += busy;
    c->depth = (uint32_t)i;
    c->has_parts |= i + 1 < p->n;
    uint32_t n = w->elements.n, element = intern_pair(&w->elements, number, e->at, e->size);
    if (element == UINT32_MAX)
        return false;
    if (element == n) {
        uint32_t n_kinds = w->kinds.n, k = intern_pair(&w->kinds, number, e->at + kind, e->size - kind);
        if (k == UINT32_MAX)
            return false;
        c->n_elements++;
        c->repeats |= k < n_kinds;
        c->has_neighbours |= has_neighbour(w, number, e, kind, -1) || has_neighbour(w, number, e, kind, 1);
    }
    return true;
}

static bool is_list(const container *c)
{
    return c->repeats && (c->has_parts || c->has_neighbours);
}

/* Lists with repeated kinds and a large share of the time; a single numbered element only where there is no such
 * list. */
static void choose_containers(work *w)
{
    double largest = 0;
    uint32_t best = UINT32_MAX;
    for (int pass = 0; pass < 2 && best == UINT32_MAX; pass++)
        for (uint32_t i = 0; i < w->containers.n; i++) {
            const container *c = &w->container[i];
            bool better =
                best == UINT32_MAX || c->busy > largest || (c->busy == largest && c->depth < w->container[best].depth);
            bool lone = pass == 1 && c->n_elements > 0 && (c->has_parts || c->n_elements == 1);
            if ((is_list(c) || lone) && better) {
                best = i;
                largest = c->busy;
            }
        }
    if (best == UINT32_MAX)
        return;
    w->container[best].chosen = true;
    for (uint32_t i = 0; i < w->containers.n; i++)
        w->container[i].chosen |= is_list(&w->container[i]) && w->container[i].busy * SMALL_CONTAINER >= largest;
}

static bool find_containers(work *w)
{
    path p;
    if (!ek__texts_reset(&w->containers) || !ek__texts_reset(&w->elements) || !ek__texts_reset(&w->kinds))
        return false;
    w->containers_capacity = 1;
    w->container = ek__alloc(1, sizeof *w->container);
    if (!w->container)
        return false;
    for (uint32_t k = 1; k < w->n_prefixes; k++)
        if (split(prefix_at(w, k), &p))
            for (int i = 0; i < p.n; i++)
                if (!count_element(w, &p, i, w->busy[k]))
                    return false;
    choose_containers(w);
    return true;
}

/* ---- which layer a path belongs to ---- */

static int find_named(const path *p, const char *const *name, int n)
{
    for (int i = 0; i < p->n; i++)
        if (ek__layer_named(name, n, p->element[i].at, p->element[i].size))
            return i;
    return -1;
}

static int find_body(const work *w, const path *p)
{
    const ek_trace_options *o = w->search->options;
    size_t kind;
    if (o && o->n_body > 0)
        return find_named(p, o->body, o->n_body);
    for (int i = 0; i < p->n; i++) {
        if (ek__element_number(p->element[i].at, p->element[i].size, &kind) < 0)
            continue;
        uint32_t c = ek__texts_find(&w->containers, p->rest, size_before(p, i));
        if (c != UINT32_MAX && c < w->containers_capacity && w->container[c].chosen)
            return i;
    }
    return -1;
}

/* The first element that is not also on the path to the body; -1 when the paths have no common part, as for an
 * optimizer. */
static int find_beside(const work *w, const path *p)
{
    const char *way = w->body_container;
    if (!*way)
        return p->n > 0 ? 0 : -1;
    size_t common = 0;
    for (int i = 0; i < p->n; i++) {
        const span *e = &p->element[i];
        if (strncmp(way + common, e->at, e->size) != 0 || way[common + e->size] != '/')
            return i > 0 ? i : -1;
        common += e->size + 1;
    }
    return -1;
}

static int32_t add_layer(work *w, const path *p, int i, ek_trace_role role)
{
    uint32_t before = w->layers.n, number = ek__texts_intern(&w->layers, p->rest, size_through(p, i));
    if (number == UINT32_MAX)
        return -2;
    if (number < before)
        return (int32_t)number - 1;
    const span *e = &p->element[i];
    size_t kind = 0;
    ek__found_layer layer = {.role = role, .first = INT64_MAX};
    char *name = ek__pool_text(w->search->rank->pool, e->at, e->size);
    if (!name)
        return -2;
    layer.index = ek__element_number(e->at, e->size, &kind);
    if (layer.index < 0) {
        const char *dash = memchr(name, '-', e->size);
        kind = dash && dash[1] ? (size_t)(dash - name) + 1 : 0;
    }
    layer.name = name;
    layer.kind = name + kind;
    return ek__layer_add(w->search, &layer) < 0 ? -2 : (int32_t)number - 1;
}

/* Layer numbers are those of `layers` less one, since text 0 there is "". */
static int32_t find_layer(work *w, const path *p)
{
    const ek_trace_options *o = w->search->options;
    int i = find_body(w, p);
    if (i >= 0)
        return add_layer(w, p, i, EK_TRACE_BODY);
    if (o && o->n_head > 0 && (i = find_named(p, o->head, o->n_head)) >= 0)
        return add_layer(w, p, i, EK_TRACE_HEAD);
    if (o && o->n_tail > 0 && (i = find_named(p, o->tail, o->n_tail)) >= 0)
        return add_layer(w, p, i, EK_TRACE_TAIL);
    if (o && o->n_head > 0 && o->n_tail > 0)
        return -1;
    i = find_beside(w, p);
    return i < 0 ? -1 : add_layer(w, p, i, EK_TRACE_TAIL);
}

/* "MatMul-op12" is "MatMul". */
static size_t size_without_number(const char *text)
{
    size_t size = strlen(text), n = size;
    while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9')
        n--;
    return n < size && n > 3 && memcmp(text + n - 3, "-op", 3) == 0 ? n - 3 : size;
}

static void keep_longest_container(work *w)
{
    double most = -1;
    for (uint32_t i = 0; i < w->containers.n && i < w->containers_capacity; i++) {
        const container *c = &w->container[i];
        const char *text = ek__texts_at(&w->containers, i);
        if (c->chosen && c->busy > most && strlen(text) < sizeof w->body_container) {
            most = c->busy;
            memcpy(w->body_container, text, strlen(text) + 1);
        }
    }
}

/* With named layers the path to them is that of the one with most time. */
static void find_way(work *w)
{
    path p;
    double most = -1;
    const ek_trace_options *o = w->search->options;
    if (!o || o->n_body == 0) {
        keep_longest_container(w);
        return;
    }
    for (uint32_t k = 1; k < w->n_prefixes; k++) {
        if (w->busy[k] <= most || !split(prefix_at(w, k), &p))
            continue;
        int i = find_named(&p, o->body, o->n_body);
        if (i >= 0 && size_before(&p, i) < sizeof w->body_container) {
            most = w->busy[k];
            memcpy(w->body_container, p.rest, size_before(&p, i));
            w->body_container[size_before(&p, i)] = '\0';
        }
    }
}

/* Layer and scope of every prefix; `place` is the rest after the scope. */
static bool place_prefixes(work *w, ek__path_info *of)
{
    path p;
    find_way(w);
    if (!ek__texts_reset(&w->layers) || !ek__texts_reset(&w->rests))
        return false;
    for (uint32_t k = 0; k < w->n_prefixes; k++) {
        of[k].layer = -1;
        if (k == 0 || !split(prefix_at(w, k), &p))
            continue;
        of[k].layer = find_layer(w, &p);
        of[k].scope = p.scope;
        of[k].place = ek__texts_intern(&w->rests, p.rest, strlen(p.rest));
        if (of[k].layer == -2 || of[k].place == UINT32_MAX)
            return false;
    }
    return true;
}

static bool place_texts(work *w)
{
    ek__path_info *of = ek__alloc(w->n_prefixes, sizeof *of);
    bool fine = of && place_prefixes(w, of) && ek__texts_reset(&w->places);
    for (uint32_t t = 0; t < w->n_texts && fine; t++) {
        const ek__path_info *prefix = &of[w->prefix_of[t]];
        if (prefix->layer < 0)
            continue;
        const char *name = strrchr(w->text[t], '/') + 1;
        uint32_t place = intern_pair(&w->places, prefix->place, name, size_without_number(name));
        fine = place != UINT32_MAX;
        w->info[t] = (ek__path_info){prefix->layer, place, prefix->scope};
    }
    free(of);
    return fine;
}

/* ---- head and tail by their place in time ---- */

typedef struct moments {
    int32_t step;
    int64_t body_first, body_last, backward; /* first forward of any body layer, of the last one; first backward */
} moments;

/* Layers that were neither named nor numbered: head when they run before the first body layer of a step, tail when
 * after the first execution of the last one and before any backward pass; else they are none. The first step that has
 * them counts. */
static bool settle_roles(work *w)
{
    ek__layer_search *s = w->search;
    const ek_trace_options *o = s->options;
    int64_t *first = ek__alloc(s->n_layers, sizeof *first); /* forward, in the layer's first step */
    moments m = {-1, INT64_MAX, INT64_MIN, INT64_MAX};
    if (!first)
        return false;
    for (size_t i = 0; i < s->n_layers; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; i < w->n; i++) {
        int32_t layer = w->info[w->op[i].text].layer, step = ek__layer_step(s, w->op[i].start);
        if (layer < 0 || step < 0)
            continue;
        m.step = m.step < 0 ? step : m.step;
        if (step != m.step)
            break;
        bool backward = w->info[w->op[i].text].scope == EK__SCOPE_BACKWARD;
        if (backward)
            m.backward = w->op[i].start < m.backward ? w->op[i].start : m.backward;
        else if (first[layer] == INT64_MAX) {
            first[layer] = w->op[i].start;
            if (s->layer[layer].role == EK_TRACE_BODY) {
                m.body_first = first[layer] < m.body_first ? first[layer] : m.body_first;
                m.body_last = first[layer];
            }
        }
    }
    for (size_t i = 0; i < s->n_layers; i++) {
        ek__found_layer *l = &s->layer[i];
        size_t size = strlen(l->name);
        if (l->role == EK_TRACE_BODY || (o && ek__layer_named(o->head, o->n_head, l->name, size)) ||
            (o && ek__layer_named(o->tail, o->n_tail, l->name, size)))
            continue;
        bool head = first[i]<m.body_first, tail = first[i]> m.body_last && first[i] < m.backward;
        l->role = head ? EK_TRACE_HEAD : EK_TRACE_TAIL;
        l->dropped =
            first[i] == INT64_MAX || (!head && !tail) || (head && o && o->n_head > 0) || (tail && o && o->n_tail > 0);
    }
    free(first);
    return true;
}

/* ---- all ---- */

static bool cut_into_passes(work *w, bool whole)
{
    ek__layer_search *s = w->search;
    ek__layer_op *list = ek__alloc(w->n, sizeof *list);
    size_t n = 0;
    bool fine = list;
    for (size_t i = 0; i < w->n && fine; i++) {
        const ek__path_op *o = &w->op[i];
        const ek__path_info *info = &w->info[o->text];
        if (info->layer < 0 || s->layer[info->layer].dropped)
            continue;
        int32_t step = ek__layer_step(s, o->start);
        fine = whole || ek__layer_member_add(s, o->start, info->layer);
        if (step >= 0)
            list[n++] = (ek__layer_op){.start = o->start,
                                       .duration = o->duration,
                                       .exact = o->text,
                                       .place = info->place,
                                       .layer = info->layer,
                                       .step = step,
                                       .scope = info->scope};
    }
    fine = fine && ek__cut_passes(s, list, n, w->n_texts, w->places.n, whole);
    free(list);
    return fine;
}

ek_status ek__layers_from_paths(ek__layer_search *search, const ek__path_op *op, size_t n, const char *const *text,
                                uint32_t n_texts, bool whole, ek_error *err)
{
    work w = {.search = search, .text = text, .n_texts = n_texts, .op = op, .n = n};
    bool found_body = false;
    double *busy = ek__alloc(n_texts, sizeof *busy);
    w.prefix_of = ek__alloc(n_texts, sizeof *w.prefix_of);
    w.info = ek__alloc(n_texts, sizeof *w.info);
    bool fine = busy && w.prefix_of && w.info;
    for (uint32_t t = 0; t < n_texts && fine; t++)
        busy[t] = -1; /* not used by any operator */
    for (size_t i = 0; i < n && fine; i++) {
        double *sum = &busy[op[i].text];
        *sum = (*sum < 0 ? 0 : *sum) + (double)op[i].duration;
    }
    fine = fine && find_prefixes(&w, busy) && find_containers(&w) && place_texts(&w);
    free(busy);
    for (size_t i = 0; i < search->n_layers && fine; i++)
        found_body |= search->layer[i].role == EK_TRACE_BODY;
    bool named = search->options && (search->options->n_head > 0 || search->options->n_tail > 0);
    if (fine && (found_body || named))
        fine = settle_roles(&w) && cut_into_passes(&w, whole);
    free(w.busy);
    free(w.prefix_of);
    free(w.info);
    free(w.container);
    ek__texts_clear(&w.prefixes);
    ek__texts_clear(&w.rests);
    ek__texts_clear(&w.containers);
    ek__texts_clear(&w.elements);
    ek__texts_clear(&w.kinds);
    ek__texts_clear(&w.layers);
    ek__texts_clear(&w.places);
    return fine ? EK_OK : ek__no_memory(err);
}
