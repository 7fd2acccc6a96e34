/* Finds layers in MindSpore's Scope Layer, where no device task has a path. Intervals form a tree by their depth; the
 * innermost ones count as operators, with the names above them as path, so that an interval with several executions is
 * cut where its parts repeat. A scope's own operators before and after its parts count as parts. Wall times are those
 * of scopes; busy times are not known. */
#include <stdlib.h>
#include <string.h>

#include "trace/layers/layers_paths.h"
#include "trace/scan/part.h"

enum { MAX_DEPTH = 64 };

typedef struct scope {
    int64_t start, end;
    uint32_t name;
    int32_t depth;
    bool has_part;
    int64_t last_part; /* end of its last part */
    int32_t parent;    /* -1 */
} scope;

typedef struct maker {
    const ek__trace *trace;
    scope *scope;
    size_t n, n_ops, capacity;
    ek__path_op *op;
    ek__texts texts;
} maker;

static int compare_scopes(const void *a, const void *b)
{
    const scope *x = a, *y = b;
    if (x->start != y->start)
        return (x->start > y->start) - (x->start < y->start);
    if (x->depth != y->depth)
        return (x->depth > y->depth) - (x->depth < y->depth);
    return (x->end < y->end) - (x->end > y->end);
}

static bool add_op(maker *m, int32_t of, int64_t start, int64_t end, const char *operator_name)
{
    char path[4096];
    size_t at = sizeof path - 1;
    const char *parts[MAX_DEPTH + 2] = {operator_name};
    int n = 1;
    for (int32_t i = of; i >= 0; i = m->scope[i].parent)
        parts[n++] = ek__trace_name(m->trace, m->scope[i].name);
    path[at] = '\0';
    for (int i = 0; i < n; i++) {
        size_t size = strlen(parts[i]);
        if (size + 1 > at)
            return true; /* no scope of a program is longer */
        at -= size;
        memcpy(path + at, parts[i], size);
        if (i + 1 < n)
            path[--at] = '/';
    }
    void *room = ek__with_room(m->op, &m->capacity, m->n_ops + 1, sizeof *m->op);
    uint32_t text = ek__texts_intern(&m->texts, path + at, sizeof path - 1 - at);
    if (!room || text == UINT32_MAX)
        return false;
    m->op = room;
    m->op[m->n_ops++] = (ek__path_op){start, end - start, text};
    return true;
}

static bool collect(maker *m)
{
    ek__slice slice = m->trace->of[EK__EVENT_SCOPE];
    m->scope = ek__alloc(slice.n, sizeof *m->scope);
    if (!m->scope)
        return false;
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        int64_t depth = m->trace->track[e->track].tid_number;
        if (depth >= 0 && depth < MAX_DEPTH)
            m->scope[m->n++] = (scope){.start = e->start,
                                       .end = ek__event_end(e),
                                       .name = e->name,
                                       .depth = (int32_t)depth,
                                       .last_part = e->start,
                                       .parent = -1};
    }
    if (m->n > 0)
        qsort(m->scope, m->n, sizeof *m->scope, compare_scopes);
    return m->n < INT32_MAX;
}

/* The deepest interval above that contains the start of scope i; depths may be missing. */
static void find_parents(maker *m)
{
    int32_t open[MAX_DEPTH];
    for (int d = 0; d < MAX_DEPTH; d++)
        open[d] = -1;
    for (size_t i = 0; i < m->n; i++) {
        scope *s = &m->scope[i];
        for (int d = s->depth - 1; d >= 0 && s->parent < 0; d--)
            if (open[d] >= 0 && m->scope[open[d]].end > s->start)
                s->parent = open[d];
        open[s->depth] = (int32_t)i;
    }
}

static int compare_ops(const void *a, const void *b)
{
    const ek__path_op *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Parts first: each passes the end of its parts to its parent. */
static bool make_ops(maker *m)
{
    bool fine = true;
    for (size_t i = 0; i < m->n && fine; i++) {
        scope *s = &m->scope[i], *parent = s->parent >= 0 ? &m->scope[s->parent] : NULL;
        if (!parent)
            continue;
        if (!parent->has_part && s->start > parent->start)
            fine = add_op(m, s->parent, parent->start, s->start, "before");
        parent->has_part = true;
        parent->last_part = s->end > parent->last_part ? s->end : parent->last_part;
    }
    for (size_t i = 0; i < m->n && fine; i++) {
        const scope *s = &m->scope[i];
        if (!s->has_part)
            fine = add_op(m, (int32_t)i, s->start, s->end, "all");
        else if (s->last_part < s->end)
            fine = add_op(m, (int32_t)i, s->last_part, s->end, "after");
    }
    if (m->n_ops > 0)
        qsort(m->op, m->n_ops, sizeof *m->op, compare_ops);
    return fine;
}

ek_status ek__layers_of_scopes(ek__layer_search *search, const char **source, ek_error *err)
{
    maker m = {.trace = search->trace};
    const char **text = NULL;
    bool fine = ek__texts_reset(&m.texts) && collect(&m);
    if (fine && m.n > 0) {
        find_parents(&m);
        fine = make_ops(&m);
        text = fine ? ek__alloc(m.texts.n, sizeof *text) : NULL;
        fine = text != NULL;
    }
    ek_status status = fine ? EK_OK : ek__no_memory(err);
    for (uint32_t i = 0; text && i < m.texts.n; i++)
        text[i] = ek__texts_at(&m.texts, i);
    search->named |= m.n_ops > 0;
    if (status == EK_OK && m.n_ops > 0)
        status = ek__layers_from_paths(search, m.op, m.n_ops, text, m.texts.n, true, err);
    *source = "scope_layer";
    free(text);
    free(m.scope);
    free(m.op);
    ek__texts_clear(&m.texts);
    return status;
}
