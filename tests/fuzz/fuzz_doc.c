/* The document under every reader: whatever the bytes, there is a bounded tree whose values can be described and typed,
 * or an error with a message and a place. */
#include <assert.h>
#include <stdlib.h>

#include "base/config_tree.h"
#include "fuzz.h"

static void walk(const ek__in *in, const ek__node *node, int depth)
{
    char path[64], found[64];
    int whole;
    double number;
    assert(depth <= EK__CONFIG_MAX_DEPTH + 1 && node->line >= 1 && node->column >= 1);
    ek__node_path(node, path, sizeof path);
    ek__node_describe(node, found, sizeof found);
    assert(path[0] && found[0]);
    if (ek__int(in, node, -1000, 1000, "", &whole) == EK_OK)
        assert(ek__number(in, node, -1000, 1000, "", &number) == EK_OK && number == whole);
    int n = 0;
    for (const ek__node *child = node->first; child; child = child->next, n++) {
        assert(child->parent == node && child->index == n && (child->key != NULL) == (node->kind == EK__MAP));
        walk(in, child, depth + 1);
    }
    assert(n == node->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"offset", "pipeline_num", "layers", NULL};
    ek__config_tree *doc;
    ek_error err = {0};
    if (ek__config_parse_buffer("input", (const char *)data, size, &doc, &err)) {
        assert(err.message[0] != '\0' && (err.line > 0 || err.status != EK_ERR_INPUT));
        return 0;
    }
    const ek__in in = {doc, NULL, &err};
    walk(&in, ek__config_root(doc), 0);
    if (ek__config_root(doc)->kind == EK__MAP)
        ek__warn_unknown_keys(&in, ek__config_root(doc), known);
    ek__config_free(doc);
    return 0;
}
