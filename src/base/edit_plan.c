/* Finds the values that a set of changes affects: walks the tree along the sorted paths, skips values with the same
 * meaning, descends into lists of the same shape and maps with the same keys, and makes one new value of missing keys.
 * O((n + m) log m) for n values that are compared and m changes. */
#include "base/edit_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- equality by meaning ---- */

/* Text that no reader takes for a number, a truth value or a date. */
static bool is_plain_text(const ek__node *node)
{
    unsigned char c = (unsigned char)node->text[0];
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '/' || c >= 0x80;
    return letter && (node->text[1] || !strchr("yYnN", c)) && !ek__node_is_bool(node, NULL) && !ek__node_is_null(node);
}

/* 1 and 1.0 differ: most programs take only one of them. */
static bool same_scalar(const ek__node *a, const ek__node *b)
{
    int x, y;
    bool p, q;
    double u, v;
    if (strcmp(a->text, b->text) == 0)
        return a->quoted == b->quoted || is_plain_text(a->quoted ? b : a);
    if (a->quoted || b->quoted)
        return false;
    if (!strpbrk(a->text, ".eE") == !strpbrk(b->text, ".eE") && ek__node_is_int(a, &x) && ek__node_is_int(b, &y))
        return x == y;
    if (ek__node_is_bool(a, &p) && ek__node_is_bool(b, &q))
        return p == q;
    if (ek__node_is_null(a) && ek__node_is_null(b))
        return true;
    return strchr(a->text, '.') && strchr(b->text, '.') && ek__text_is_number(a->text, &u) &&
           ek__text_is_number(b->text, &v) && u == v;
}

static bool same_key(const ek__node *a, const ek__node *b)
{
    return !a->key || !b->key || strcmp(a->key, b->key) == 0;
}

bool ek__same_meaning(const ek__node *a, const ek__node *b)
{
    if (a->kind != b->kind || a->n != b->n)
        return false;
    if (a->kind == EK__SCALAR)
        return same_scalar(a, b);
    const ek__node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!same_key(x, y) || !ek__same_meaning(x, y))
            return false;
    return true;
}

bool ek__same_keys(const ek__node *a, const ek__node *b)
{
    if (a->kind != EK__MAP || b->kind != EK__MAP || a->n != b->n)
        return false;
    const ek__node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (strcmp(x->key, y->key) != 0)
            return false;
    return true;
}

/* Lists of the same length, element by element; an alias has no shape and can become any value. */
static bool same_shape(const ek__node *old, const ek__node *value)
{
    if (old->original)
        return true;
    if (old->kind != value->kind || (old->kind != EK__SCALAR && old->n != value->n))
        return false;
    if (old->kind == EK__MAP && !ek__same_keys(old, value))
        return false;
    const ek__node *x = old->first, *y = value->first;
    for (; x && y; x = x->next, y = y->next)
        if (!same_shape(x, y))
            return false;
    return true;
}

/* ---- changes to make ---- */

static ek_status pass(ek__work *w, const ek__node *node)
{
    if (!node->anchor)
        return EK_OK;
    EK__EDIT_GROW(w, passed, n_passed, passed_capacity);
    w->passed[w->n_passed++] = node;
    return EK_OK;
}

static ek_status decide(ek__work *w, const ek__node *node, const ek__source *source, const ek__node *value,
                        const ek__edit_request *by)
{
    if (ek__same_meaning(node, value))
        return EK_OK;
    bool inside =
        !node->original && ((node->kind == EK__LIST && same_shape(node, value)) || ek__same_keys(node, value));
    if (!inside) {
        EK__EDIT_GROW(w, change, n_changes, change_capacity);
        w->change[w->n_changes++] = (ek__edit_change){node, value, source, by, false};
        return EK_OK;
    }
    ek_status status = pass(w, node);
    const ek__node *y = value->first;
    for (const ek__node *x = node->first; x && y && status == EK_OK; x = x->next, y = y->next)
        status = decide(w, x, source, y, by);
    return status;
}

typedef struct ordered_run {
    ek__edit_range run;
    int order;
} ordered_run;

static int by_order(const void *a, const void *b)
{
    const ordered_run *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* Split requests by their key at `depth`, in the order they were noted; free() *out. */
static ek_status split(const ek__work *w, ek__edit_range all, int depth, ordered_run **out, size_t *n)
{
    ordered_run *runs = ek__alloc(all.last - all.first, sizeof *runs);
    if (!runs)
        return ek__no_memory(w->err);
    *n = 0;
    for (size_t i = all.first; i < all.last; i++) {
        const ek__edit_request *r = &w->edit->request[i];
        if (*n > 0 && strcmp(w->edit->request[i - 1].key[depth], r->key[depth]) == 0) {
            ordered_run *last = &runs[*n - 1];
            last->run.last = i + 1;
            last->order = r->order < last->order ? r->order : last->order;
        } else {
            runs[(*n)++] = (ordered_run){{i, i + 1}, r->order};
        }
    }
    qsort(runs, *n, sizeof *runs, by_order);
    *out = runs;
    return EK_OK;
}

/* Does the first request of a run end at its key at `depth`? Then it must be the only one. */
static ek_status is_whole(const ek__work *w, ek__edit_range r, int depth, bool *out)
{
    const ek__edit_request *first = &w->edit->request[r.first];
    *out = first->n_keys == depth + 1;
    if (!*out || r.last == r.first + 1)
        return EK_OK;
    char path[EK__EDIT_PATH_SIZE];
    ek__edit_path(first, path, sizeof path);
    return ek__fail(w->err, EK_ERR_INPUT, ek__edit_place(w->edit, first),
                    "%s is set as a whole, and so is a key inside it; set one of them", path);
}

static ek_status write_map(const ek__work *w, ek__edit_range all, int depth, ek__text *out)
{
    ordered_run *runs;
    size_t n;
    ek_status status = split(w, all, depth, &runs, &n);
    if (status)
        return status;
    ek__text_add_string(out, "{");
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek__edit_request *first = &w->edit->request[runs[i].run.first];
        bool whole;
        ek__text_add_string(out, i ? ", " : "");
        ek__write_key(out, first->key[depth], w->json);
        ek__text_add_string(out, ": ");
        status = is_whole(w, runs[i].run, depth, &whole);
        if (status == EK_OK && whole)
            ek__write_flow(out, &first->value, ek__config_root(first->value.doc), true);
        else if (status == EK_OK)
            status = write_map(w, runs[i].run, depth + 1, out);
    }
    ek__text_add_string(out, "}");
    free(runs);
    return status;
}

/* Make one value of all values that the requests set inside of it, treated afterwards like a given one. */
static ek_status make_map(ek__work *w, ek__edit_range all, int depth, const ek__source **out)
{
    EK__EDIT_GROW(w, made, n_made, made_capacity);
    ek__source *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(w->err);
    ek__text text = {0};
    ek_status status = write_map(w, all, depth, &text);
    if (status == EK_OK && text.failed)
        status = ek__no_memory(w->err);
    if (status) {
        free(text.bytes);
    } else {
        ek_error wrong = {0};
        status = ek__edit_parse("", text.bytes, text.n, false, made, &wrong);
        if (status)
            ek__set_error(w->err, status, ek__edit_place(w->edit, &w->edit->request[all.first]), "%s", wrong.message);
    }
    if (status) {
        free(made);
        return status;
    }
    w->made[w->n_made++] = made;
    *out = made;
    return EK_OK;
}

/* The value that a run sets: the request's own, or a map made of all of them. */
static ek_status value_of(ek__work *w, ek__edit_range r, int depth, const ek__source **out)
{
    bool whole;
    ek_status status = is_whole(w, r, depth, &whole);
    if (status)
        return status;
    if (!whole)
        return make_map(w, r, depth + 1, out);
    *out = &w->edit->request[r.first].value;
    return EK_OK;
}

/* The position of a new key: after the key that it names; when that is new itself, at the same position. */
static const ek__node *find_place(const ek__work *w, const ek__node *map, ek__edit_range all, int depth,
                                  const ek__edit_request *r)
{
    if (!r->after || r->n_keys != depth + 1)
        return map->last;
    const ek__node *child = ek__edit_child(w->edit, map, r->after);
    ek__edit_range added = ek__edit_run(w->edit, all, depth, r->after);
    if (!child && added.first < added.last)
        child = w->edit->request[added.first].added_at;
    return child ? child : map->last;
}

static ek_status add_key(ek__work *w, const ek__node *map, ek__edit_range all, ek__edit_range r, int depth, bool first)
{
    ek__edit_request *by = &w->edit->request[r.first];
    const ek__source *source = NULL;
    ek_status status = value_of(w, r, depth, &source);
    if (status)
        return status;
    by->added_at = find_place(w, map, all, depth, by);
    EK__EDIT_GROW(w, addition, n_additions, addition_capacity);
    w->addition[w->n_additions++] = (ek__addition){.map = map,
                                                   .behind = by->added_at,
                                                   .key = by->key[depth],
                                                   .value = ek__config_root(source->doc),
                                                   .source = source,
                                                   .by = by,
                                                   .first = first && !map->first};
    return EK_OK;
}

static ek_status decide_map(ek__work *w, const ek__node *map, ek__edit_range all, int depth);

static ek_status decide_child(ek__work *w, const ek__node *child, ek__edit_range r, int depth)
{
    bool whole;
    const ek__source *source = NULL;
    ek_status status = is_whole(w, r, depth, &whole);
    if (status)
        return status;
    if (!whole && !ek__node_is_null(child))
        return decide_map(w, child, r, depth + 1);
    status = value_of(w, r, depth, &source);
    return status ? status : decide(w, child, source, ek__config_root(source->doc), &w->edit->request[r.first]);
}

/* Existing keys come first: additions inside of a map must be written before additions after it. */
static ek_status decide_map(ek__work *w, const ek__node *map, ek__edit_range all, int depth)
{
    ordered_run *runs = NULL;
    size_t n = 0, changes = w->n_changes, additions = w->n_additions;
    ek_status status = split(w, all, depth, &runs, &n);
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek__node *child = ek__edit_child(w->edit, map, w->edit->request[runs[i].run.first].key[depth]);
        if (child)
            status = decide_child(w, child, runs[i].run, depth);
    }
    bool first = true;
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        if (ek__edit_child(w->edit, map, w->edit->request[runs[i].run.first].key[depth]))
            continue;
        status = add_key(w, map, all, runs[i].run, depth, first);
        first = false;
    }
    if (status == EK_OK && (w->n_changes > changes || w->n_additions > additions))
        status = pass(w, map);
    free(runs);
    return status;
}

ek_status ek__edit_plan(ek__work *w)
{
    return decide_map(w, ek__config_root(w->file->doc), (ek__edit_range){0, w->edit->n}, 0);
}
