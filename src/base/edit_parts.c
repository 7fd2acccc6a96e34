/* Helpers shared by the parts of the editor: a text as a tree, a key of a map, the path and place of a request, the
 * requests below a path. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit_internal.h"

ek_status ek__edit_parse(const char *name, char *text, size_t size, bool aliases, ek__source *out, ek_error *err)
{
    ek__config_tree *doc = NULL;
    ek_status status = aliases ? ek__config_parse_buffer_with_aliases(name, text, size, &doc, err)
                               : ek__config_parse_buffer(name, text, size, &doc, err);
    if (status)
        free(text);
    else
        *out = (ek__source){text, (int)size, doc};
    return status;
}

int ek__edit_compare_key(const ek__node *node, const ek__node *map, const char *key)
{
    uintptr_t a = (uintptr_t)node->parent, b = (uintptr_t)map;
    return a != b ? (a > b) - (a < b) : strcmp(node->key, key);
}

const ek__node *ek__edit_child(const ek__edit *edit, const ek__node *map, const char *key)
{
    size_t first = 0, last = edit->n_in_map;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        int order = ek__edit_compare_key(edit->in_map[middle], map, key);
        if (order == 0)
            return edit->in_map[middle];
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return NULL;
}

void ek__edit_path(const ek__edit_request *r, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < r->n_keys; i++) {
        size_t at = strlen(out);
        snprintf(out + at, size - at, "%s%s", i ? "." : "", ek__text_is_printable(r->key[i]) ? r->key[i] : "(a key)");
    }
}

ek_origin ek__edit_place(const ek__edit *edit, const ek__edit_request *r)
{
    return (ek_origin){ek__config_name(edit->file.doc), r->line, r->column};
}

ek_status ek__edit_fail(const ek__work *w, const ek__edit_request *by)
{
    char path[EK__EDIT_PATH_SIZE] = "a value";
    ek_origin at = ek__node_origin(w->file->doc, ek__config_root(w->file->doc));
    if (by) {
        ek__edit_path(by, path, sizeof path);
        at = ek__edit_place(w->edit, by);
    }
    return ek__fail(w->err, EK_ERR_INPUT, at,
                    "%s cannot be changed here without touching other values; write it in the simple form 'key: "
                    "value', or change it by hand",
                    path);
}

/* The first of the requests [first, last) whose key at `depth` is `key` or (if `behind`) comes after it. */
static size_t bound(const ek__edit *edit, size_t first, size_t last, int depth, const char *key, bool behind)
{
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        int order = strcmp(edit->request[middle].key[depth], key);
        if (order < 0 || (behind && order == 0))
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

ek__edit_range ek__edit_run(const ek__edit *edit, ek__edit_range within, int depth, const char *key)
{
    return (ek__edit_range){bound(edit, within.first, within.last, depth, key, false),
                            bound(edit, within.first, within.last, depth, key, true)};
}
