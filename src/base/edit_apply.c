/* Turns the decided changes into splices: new text for values, added keys, anchors that move to the first alias that
 * stays, so that no other value changes. Changes do not overlap; as they are sorted by place, a bisection finds whether
 * an alias stays. */
#include "base/edit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STEP = 2 };

/* ---- splices ---- */

/* Add a splice with the text added to w->text since `text_begin`. */
static ek_status add_splice(ek__work *w, int begin, int end, size_t text_begin, const ek__edit_request *by)
{
    if (w->text.failed)
        return ek__no_memory(w->err);
    EK__EDIT_GROW(w, splice, n_splices, splice_capacity);
    w->splice[w->n_splices] = (ek__edit_splice){begin, end, (int)w->n_splices, text_begin, w->text.n, 0, by};
    w->n_splices++;
    return EK_OK;
}

static bool in_flow(const ek__node *node)
{
    return node->parent && node->parent->flow;
}

/* The position of a value's text when there is none, or when it has separate lines: directly after its key, or after
 * the anchor that it keeps. *lead is the text to write before it. */
static ek_status find_head(const ek__work *w, const ek__edit_change *c, int *head, const char **lead)
{
    const ek__source *file = w->file;
    ek__text_span span = ek__span_of(file, c->node);
    *lead = " ";
    *head = span.begin;
    if (c->node->key) {
        int colon = ek__skip_blanks(file, ek__key_end(file, c->node));
        *head = colon + 1;
        if (colon == file->size || file->text[colon] != ':') {
            if (!in_flow(c->node)) {
                char path[EK__EDIT_PATH_SIZE];
                ek__node_path(c->node, path, sizeof path);
                return ek__fail(w->err, EK_ERR_INPUT, ek__edit_place(w->edit, c->by),
                                "%s has no ':' on its line and cannot be changed; write 'key: value'", path);
            }
            *head = ek__key_end(file, c->node);
            *lead = ": ";
        }
    } else if (*head > 0 && strchr(" \t[", file->text[*head - 1])) {
        *lead = "";
    }
    if (c->node->anchor && !c->moved && !c->node->original) {
        *head = span.anchor_end;
        *lead = " ";
    }
    return EK_OK;
}

static int indent_of(const ek__node *map)
{
    return map->first->key_column - 1;
}

static ek_status replace(ek__work *w, const ek__edit_change *c)
{
    ek__text line = {0}, below = {0};
    const ek__node *node = c->node;
    ek__text_span span = ek__span_of(w->file, node);
    ek__cut cut = {.node = node, .begin = c->moved ? span.begin : span.content, .end = span.end};
    bool as_block = c->value->kind == EK__MAP && c->value->n > 0 && node->key && !in_flow(node);
    const char *lead = "";
    ek_status status = EK_OK;
    if (as_block || span.content == span.end || (node->kind != EK__SCALAR && !node->flow && !node->original))
        status = find_head(w, c, &cut.begin, &lead);
    if (status)
        return status;
    if (as_block) {
        ek__write_block(&below, c->source, c->value, indent_of(node->parent) + w->step, w->step,
                        ek__line_break(w->file, cut.begin));
    } else {
        ek__text_add_string(&line, lead);
        ek__write_flow(&line, c->source, c->value, in_flow(node) || !node->key);
    }
    cut.line = line.bytes ? line.bytes : "";
    cut.below = below.bytes ? below.bytes : "";
    if (cut.end < cut.begin)
        cut.end = cut.begin;
    size_t text_begin = w->text.n;
    if (line.failed || below.failed || ek__write_cut(&w->text, w->file, &cut))
        status = ek__no_memory(w->err);
    else
        status = add_splice(w, cut.begin, cut.end, text_begin, c->by);
    free(line.bytes);
    free(below.bytes);
    return status;
}

static ek_status add_to_flow(ek__work *w, const ek__addition *a)
{
    size_t text_begin = w->text.n;
    int at = a->behind ? ek__span_of(w->file, a->behind).end : ek__span_of(w->file, a->map).content + 1;
    if (a->behind || !a->first)
        ek__text_add_string(&w->text, ", ");
    ek__write_key(&w->text, a->key, w->json);
    ek__text_add_string(&w->text, ": ");
    ek__write_flow(&w->text, a->source, a->value, true);
    return add_splice(w, at, at, text_begin, a->by);
}

static ek_status add_to_block(ek__work *w, const ek__addition *a)
{
    size_t text_begin = w->text.n;
    int at = ek__end_of_lines(w->file, a->behind), indent = indent_of(a->map);
    bool line_begins = at > 0 && w->file->text[at - 1] == '\n';
    const char *line_break = ek__line_break(w->file, line_begins ? at - 1 : at);
    if (!line_begins)
        ek__text_add_string(&w->text, line_break);
    ek__text_add_spaces(&w->text, indent);
    ek__write_key(&w->text, a->key, false);
    ek__text_add_string(&w->text, ":");
    if (a->value->kind == EK__MAP && a->value->n > 0) {
        ek__write_block(&w->text, a->source, a->value, indent + w->step, w->step, line_break);
    } else {
        ek__text_add_string(&w->text, " ");
        ek__write_flow(&w->text, a->source, a->value, false);
    }
    if (line_begins)
        ek__text_add_string(&w->text, line_break);
    return add_splice(w, at, at, text_begin, a->by);
}

/* ---- anchors ---- */

static int compare_nodes(const ek__node *a, const ek__node *b)
{
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static int by_original(const void *a, const void *b)
{
    const ek__node *x = *(const ek__node *const *)a, *y = *(const ek__node *const *)b;
    int order = compare_nodes(x->original, y->original);
    return order ? order : compare_nodes(x, y);
}

static ek_status collect_aliases(ek__work *w, const ek__node *node)
{
    if (node->original) {
        EK__EDIT_GROW(w, alias, n_aliases, alias_capacity);
        w->alias[w->n_aliases++] = node;
        return EK_OK;
    }
    ek_status status = EK_OK;
    for (const ek__node *child = node->first; child && status == EK_OK; child = child->next)
        status = collect_aliases(w, child);
    return status;
}

/* Is a value removed, itself or with its surrounding value? The changes are sorted by place and do not overlap. */
static bool goes(const ek__work *w, const ek__node *node)
{
    size_t first = 0, last = w->n_changes;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (w->change[middle].node->begin <= node->begin)
            first = middle + 1;
        else
            last = middle;
    }
    return first > 0 && node->begin < w->change[first - 1].node->end;
}

/* The first alias of a value that stays, or NULL. */
static const ek__node *first_alias(const ek__work *w, const ek__node *node)
{
    size_t first = 0, last = w->n_aliases;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (compare_nodes(w->alias[middle]->original, node) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    for (; first < w->n_aliases && w->alias[first]->original == node; first++)
        if (!goes(w, w->alias[first]))
            return w->alias[first];
    return NULL;
}

static ek_status move_anchor(ek__work *w, const ek__node *node, const ek__edit_request *by, bool *moved)
{
    const ek__node *alias = node->anchor ? first_alias(w, node) : NULL;
    *moved = alias != NULL;
    if (!alias)
        return EK_OK;
    size_t text_begin = w->text.n;
    ek__text_add_string(&w->text, "&");
    ek__text_add_string(&w->text, node->anchor);
    ek__text_add_string(&w->text, " ");
    ek__write_flow(&w->text, w->file, node, in_flow(alias) || !alias->key);
    return add_splice(w, alias->begin, alias->end, text_begin, by);
}

static ek_status move_anchors_inside(ek__work *w, const ek__node *node, const ek__edit_request *by)
{
    ek_status status = EK_OK;
    for (const ek__node *child = node->first; child && status == EK_OK && !node->original; child = child->next) {
        bool moved;
        status = move_anchor(w, child, by, &moved);
        if (status == EK_OK)
            status = move_anchors_inside(w, child, by);
    }
    return status;
}

/* The value stays where it is, changed inside; its anchor is removed, with a blank. */
static ek_status strip_anchor(ek__work *w, const ek__node *node)
{
    bool moved;
    ek_status status = move_anchor(w, node, NULL, &moved);
    if (status || !moved)
        return status;
    int begin = node->begin, end = ek__skip_blanks(w->file, ek__span_of(w->file, node).anchor_end);
    if (end == ek__line_end(w->file, end))
        while (begin > 0 && strchr(" \r\n", w->file->text[begin - 1]))
            begin--;
    return add_splice(w, begin, end, w->text.n, NULL);
}

static ek_status move_anchors(ek__work *w)
{
    ek_status status = collect_aliases(w, ek__config_root(w->file->doc));
    if (status || w->n_aliases == 0)
        return status;
    qsort((void *)w->alias, w->n_aliases, sizeof *w->alias, by_original);
    for (size_t i = 0; i < w->n_changes && status == EK_OK; i++) {
        ek__edit_change *c = &w->change[i];
        if (c->node->original)
            continue;
        status = move_anchor(w, c->node, c->by, &c->moved);
        if (status == EK_OK)
            status = move_anchors_inside(w, c->node, c->by);
    }
    for (size_t i = 0; i < w->n_passed && status == EK_OK; i++)
        status = strip_anchor(w, w->passed[i]);
    return status;
}

/* ---- applying ---- */

/* The indentation of the file's first map inside a map. */
static int find_step(const ek__node *map)
{
    for (const ek__node *child = map->first; child; child = child->next) {
        if (child->kind != EK__MAP || child->flow || child->original)
            continue;
        int step = child->first ? child->first->key_column - map->first->key_column : 0;
        if (step > 0)
            return step;
    }
    return DEFAULT_STEP;
}

static int by_begin(const void *a, const void *b)
{
    const ek__edit_splice *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_place(const void *a, const void *b)
{
    const ek__edit_change *x = a, *y = b;
    return compare_nodes(x->node, y->node);
}

static ek_status make_splices(ek__work *w)
{
    ek_status status = EK_OK;
    w->step = find_step(ek__config_root(w->file->doc));
    if (w->n_changes > 0)
        qsort(w->change, w->n_changes, sizeof *w->change, by_place);
    status = move_anchors(w);
    for (size_t i = 0; i < w->n_changes && status == EK_OK; i++)
        status = replace(w, &w->change[i]);
    for (size_t i = 0; i < w->n_additions && status == EK_OK; i++)
        status = w->addition[i].map->flow ? add_to_flow(w, &w->addition[i]) : add_to_block(w, &w->addition[i]);
    return status;
}

ek_status ek__edit_apply(ek__work *w, ek__text *out)
{
    int at = 0;
    ek_status status = make_splices(w);
    if (status)
        return status;
    if (w->n_splices > 0)
        qsort(w->splice, w->n_splices, sizeof *w->splice, by_begin);
    for (size_t i = 0; i < w->n_splices; i++) {
        ek__edit_splice *s = &w->splice[i];
        if (s->begin < at)
            return ek__edit_fail(w, s->by);
        ek__text_add(out, w->file->text + at, (size_t)(s->begin - at));
        s->out = out->n;
        if (s->text_end > s->text_begin)
            ek__text_add(out, w->text.bytes + s->text_begin, s->text_end - s->text_begin);
        at = s->end;
    }
    ek__text_add(out, w->file->text + at, (size_t)(w->file->size - at));
    return out->failed ? ek__no_memory(w->err) : EK_OK;
}
