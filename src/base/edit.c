/* Notes changes of a YAML file and makes them: the tree (base/config_tree.h) has the positions of values; every change
 * becomes a range of bytes and its replacement; all are sorted and applied in one pass; the tree of the new text is
 * compared with the old one and the changes, so that an unexpected layout is refused, not damaged. It does not follow
 * an alias into its map, and neither changes nor removes keys. */
#include "base/edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/edit_internal.h"

/* ---- sources ---- */

static void clear_source(ek__source *source)
{
    free(source->text);
    ek__config_free(source->doc);
    *source = (ek__source){0};
}

/* ---- the index of keys ---- */

static int by_map_and_key(const void *a, const void *b)
{
    const ek__node *y = *(const ek__node *const *)b;
    return ek__edit_compare_key(*(const ek__node *const *)a, y->parent, y->key);
}

static ek_status collect_keys(ek__edit *edit, const ek__node *node, ek_error *err)
{
    if (node->key) {
        void *grown =
            ek__with_room((void *)edit->in_map, &edit->in_map_capacity, edit->n_in_map + 1, sizeof *edit->in_map);
        if (!grown)
            return ek__no_memory(err);
        edit->in_map = grown;
        edit->in_map[edit->n_in_map++] = node;
    }
    ek_status status = EK_OK;
    for (const ek__node *child = node->first; child && status == EK_OK && !node->original; child = child->next)
        status = collect_keys(edit, child, err);
    return status;
}

/* ---- opening ---- */

static void clear_request(ek__edit_request *r)
{
    for (int i = 0; r->key && i < r->n_keys; i++)
        free(r->key[i]);
    free((void *)r->key);
    free(r->after);
    clear_source(&r->value);
}

void ek__edit_free(ek__edit *edit)
{
    if (!edit)
        return;
    for (size_t i = 0; i < edit->n; i++)
        clear_request(&edit->request[i]);
    free(edit->request);
    free((void *)edit->in_map);
    clear_source(&edit->file);
    free(edit);
}

ek_status ek__edit_open_buffer(const char *name, const char *text, size_t size, ek__edit **out, ek_error *err)
{
    char *copy = ek__alloc(size + 1, 1);
    ek__edit *edit = ek__alloc(1, sizeof *edit);
    if (!copy || !edit) {
        free(copy);
        free(edit);
        return ek__no_memory(err);
    }
    if (size > 0)
        memcpy(copy, text, size);
    ek_status status = ek__edit_parse(name, copy, size, true, &edit->file, err);
    if (status == EK_OK)
        status = collect_keys(edit, ek__config_root(edit->file.doc), err);
    if (status) {
        ek__edit_free(edit);
        return status;
    }
    if (edit->n_in_map > 0)
        qsort((void *)edit->in_map, edit->n_in_map, sizeof *edit->in_map, by_map_and_key);
    *out = edit;
    return EK_OK;
}

ek_status ek__edit_open(const char *path, ek__edit **out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    status = ek__edit_open_buffer(ek__path_name(path), text, size, out, err);
    free(text);
    return status;
}

const ek__config_tree *ek__edit_config(const ek__edit *edit)
{
    return edit->file.doc;
}

/* ---- noting a change ---- */

/* Walk the path as far as it exists, and refuse values in which no key can be set. */
static ek_status follow(const ek__edit *edit, ek__edit_request *r, ek_error *err)
{
    const ek__in in = {edit->file.doc, NULL, err};
    const ek__node *node = ek__config_root(edit->file.doc);
    for (int i = 0; i <= r->n_keys && node; i++) {
        r->line = node->key ? node->key_line : node->line;
        r->column = node->key ? node->key_column : node->column;
        if (i == r->n_keys || (i > 0 && ek__node_is_null(node)))
            return EK_OK;
        ek_status status = ek__expect(&in, node, EK__MAP, "a key cannot be set in it; change it by hand");
        if (status)
            return status;
        if (node->original) {
            char path[EK__EDIT_PATH_SIZE];
            ek__node_path(node, path, sizeof path);
            return ek__fail(err, EK_ERR_INPUT, ek__edit_place(edit, r),
                            "%s is an alias of the map at line %d: to change a key here would change that too; write "
                            "the map out here, or change it there",
                            path, node->original->line);
        }
        node = ek__edit_child(edit, node, r->key[i]);
    }
    return EK_OK;
}

static ek_status copy_keys(ek__edit_request *r, const char *const *keys, ek_error *err)
{
    int n = 0;
    while (keys[n])
        n++;
    r->key = (char **)ek__alloc((size_t)n, sizeof *r->key);
    if (!r->key)
        return ek__no_memory(err);
    for (; r->n_keys < n; r->n_keys++)
        if (!(r->key[r->n_keys] = ek__strdup(keys[r->n_keys])))
            return ek__no_memory(err);
    return EK_OK;
}

static ek_status parse_value(const ek__edit *edit, ek__edit_request *r, const char *value, ek_error *err)
{
    ek_error wrong = {0};
    char *copy = ek__strdup(value);
    if (!copy)
        return ek__no_memory(err);
    ek_status status = ek__edit_parse("", copy, strlen(value), false, &r->value, &wrong);
    if (status != EK_ERR_INPUT)
        return status ? ek__no_memory(err) : EK_OK;
    char path[EK__EDIT_PATH_SIZE];
    ek__edit_path(r, path, sizeof path);
    return ek__fail(err, EK_ERR_INPUT, ek__edit_place(edit, r), "the new value '%.60s' of %s is wrong: %.400s", value,
                    path, wrong.message);
}

ek_status ek__edit_set(ek__edit *edit, const char *const *keys, const char *value, const char *after, ek_error *err)
{
    ek__edit_request r = {.order = edit->n_noted++};
    ek__edit_request *grown = ek__with_room(edit->request, &edit->capacity, edit->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    edit->request = grown;
    ek_status status = copy_keys(&r, keys, err);
    if (status == EK_OK && r.n_keys == 0)
        status = ek__fail(err, EK_ERR_INPUT, (ek_origin){ek__config_name(edit->file.doc), 1, 1},
                          "no key is given of the value to set; name at least one");
    if (status == EK_OK)
        status = follow(edit, &r, err);
    if (status == EK_OK)
        status = parse_value(edit, &r, value, err);
    if (status == EK_OK && after && !(r.after = ek__strdup(after)))
        status = ek__no_memory(err);
    if (status)
        clear_request(&r);
    else
        edit->request[edit->n++] = r;
    return status;
}

/* ---- making the changes ---- */

static int by_path(const void *a, const void *b)
{
    const ek__edit_request *x = a, *y = b;
    for (int i = 0; i < x->n_keys && i < y->n_keys; i++) {
        int order = strcmp(x->key[i], y->key[i]);
        if (order)
            return order;
    }
    return x->n_keys != y->n_keys ? (x->n_keys > y->n_keys) - (x->n_keys < y->n_keys)
                                  : (x->order > y->order) - (x->order < y->order);
}

static bool same_path(const ek__edit_request *a, const ek__edit_request *b)
{
    bool same = a->n_keys == b->n_keys;
    for (int i = 0; same && i < a->n_keys; i++)
        same = strcmp(a->key[i], b->key[i]) == 0;
    return same;
}

/* Of requests for the same path the last counts. */
static void sort_requests(ek__edit *edit)
{
    if (edit->n == 0)
        return;
    qsort(edit->request, edit->n, sizeof *edit->request, by_path);
    size_t n = 0;
    for (size_t i = 0; i < edit->n; i++) {
        ek__edit_request *r = &edit->request[i];
        r->added_at = NULL;
        if (i + 1 < edit->n && same_path(r, r + 1))
            clear_request(r);
        else
            edit->request[n++] = *r;
    }
    edit->n = n;
}

static void clear_work(ek__work *w)
{
    for (size_t i = 0; i < w->n_made; i++) {
        clear_source(w->made[i]);
        free(w->made[i]);
    }
    free((void *)w->made);
    free(w->change);
    free(w->addition);
    free((void *)w->passed);
    free((void *)w->alias);
    free(w->splice);
    free(w->text.bytes);
}

ek_status ek__edit_finish(ek__edit *edit, char **text, size_t *size, ek_error *err)
{
    const ek__node *root = ek__config_root(edit->file.doc);
    ek__work w = {.edit = edit, .file = &edit->file, .err = err};
    ek__text out = {0};
    ek_status status = EK_OK;
    sort_requests(edit);
    if (edit->n > 0 && root->kind == EK__MAP) {
        w.json = root->flow && root->first && edit->file.text[root->first->key_begin] == '"';
        status = ek__edit_plan(&w);
    }
    if (status == EK_OK)
        status = ek__edit_apply(&w, &out);
    if (status == EK_OK && w.n_splices > 0)
        status = ek__edit_check(&w, &out);
    clear_work(&w);
    if (status) {
        free(out.bytes);
        return status;
    }
    *text = out.bytes;
    *size = out.n;
    return EK_OK;
}
