/* Compares the tree of the new text with that of the old one, key by key along the paths of the changes: requested
 * values by their meaning, all others byte for byte. */
#include "base/edit_internal.h"

#include <string.h>

static bool is_equal(const ek__node *a, const ek__node *b)
{
    if (a->kind != b->kind || a->n != b->n || (a->key && b->key && strcmp(a->key, b->key) != 0))
        return false;
    if (a->kind == EK__SCALAR)
        return (a->quoted == b->quoted && strcmp(a->text, b->text) == 0) ||
               (ek__node_is_null(a) && ek__node_is_null(b));
    const ek__node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!is_equal(x, y))
            return false;
    return true;
}

static ek_status fail_bystander(const ek__work *w, const ek__node *node)
{
    char path[EK__EDIT_PATH_SIZE];
    ek__node_path(node, path, sizeof path);
    ek_origin at = ek__node_origin(w->file->doc, node);
    if (node->key)
        at = (ek_origin){at.file, node->key_line, node->key_column};
    return ek__fail(w->err, EK_ERR_INPUT, at,
                    "%s would change together with the values that are to be set; write it in the simple form 'key: "
                    "value', or change the file by hand",
                    path);
}

/* All that a run of requests sets inside of `node`, which is new. */
static ek_status check_new(const ek__work *w, const ek__node *node, ek__edit_range all, int depth)
{
    const ek__edit_request *first = &w->edit->request[all.first];
    if (first->n_keys == depth)
        return ek__same_meaning(node, ek__config_root(first->value.doc)) ? EK_OK : ek__edit_fail(w, first);
    int n = 0;
    for (const ek__node *child = node->first; child && node->kind == EK__MAP; child = child->next, n++) {
        ek__edit_range r = ek__edit_run(w->edit, all, depth, child->key);
        ek_status status = r.first < r.last ? check_new(w, child, r, depth + 1) : ek__edit_fail(w, first);
        if (status)
            return status;
    }
    for (size_t i = all.first; i < all.last; i++)
        n -= i == all.first || strcmp(w->edit->request[i - 1].key[depth], w->edit->request[i].key[depth]) != 0;
    return n == 0 ? EK_OK : ek__edit_fail(w, first);
}

/* `now` has the keys of `old` in their order, only requested keys between them, and all requested keys. */
static ek_status check_map(const ek__work *w, const ek__node *old, const ek__node *now, ek__edit_range all, int depth)
{
    size_t n_found = 0;
    const ek__node *next = old->first;
    for (const ek__node *child = now->first; child; child = child->next) {
        bool kept = next && strcmp(next->key, child->key) == 0;
        ek__edit_range r = ek__edit_run(w->edit, all, depth, child->key);
        n_found += r.last - r.first;
        ek_status status = EK_OK;
        if (r.first == r.last)
            status = !kept                   ? fail_bystander(w, next ? next : old)
                     : is_equal(next, child) ? EK_OK
                                             : fail_bystander(w, next);
        else if (kept && next->kind == EK__MAP && child->kind == EK__MAP &&
                 w->edit->request[r.first].n_keys > depth + 1)
            status = check_map(w, next, child, r, depth + 1);
        else
            status = check_new(w, child, r, depth + 1);
        if (status)
            return status;
        if (kept)
            next = next->next;
    }
    if (next)
        return fail_bystander(w, next);
    return n_found == all.last - all.first ? EK_OK : ek__edit_fail(w, &w->edit->request[all.first]);
}

/* The request of the splice at a place of the new text, or of the last one before it. */
static const ek__edit_request *culprit(const ek__work *w, const ek__text *text, int line)
{
    size_t at = 0;
    for (int i = 1; i < line && at < text->n; i++) {
        const char *end = memchr(text->bytes + at, '\n', text->n - at);
        at = end ? (size_t)(end - text->bytes) + 1 : text->n;
    }
    const ek__edit_request *by = NULL;
    for (size_t i = 0; i < w->n_splices && (w->splice[i].out <= at || !by); i++)
        if (w->splice[i].by)
            by = w->splice[i].by;
    return by;
}

ek_status ek__edit_check(const ek__work *w, const ek__text *text)
{
    ek__config_tree *doc = NULL;
    ek_error wrong = {0};
    ek_status status =
        ek__config_parse_buffer_with_aliases(ek__config_name(w->file->doc), text->bytes, text->n, &doc, &wrong);
    if (status == EK_ERR_INPUT)
        return ek__edit_fail(w, culprit(w, text, wrong.line));
    if (status)
        return ek__no_memory(w->err);
    const ek__node *old = ek__config_root(w->file->doc), *now = ek__config_root(doc);
    ek__edit_range all = {0, w->edit->n};
    status = now->kind == EK__MAP ? check_map(w, old, now, all, 0) : fail_bystander(w, old);
    ek__config_free(doc);
    return status;
}
