/* Fuzzes TOML as a document: whatever the bytes, there is a bounded tree of values with places inside the text, or an
 * error with a message and a place. */
#include <assert.h>
#include <string.h>

#include "base/config_tree_toml.h"
#include "fuzz.h"

static void walk(const ek__in *in, const ek__node *node, int depth, int size)
{
    char path[64], found[64];
    int whole;
    assert(depth <= EK__CONFIG_MAX_DEPTH && node->line >= 1 && node->column >= 1);
    assert(node->begin >= 0 && node->begin <= size && node->end >= 0 && node->end <= size);
    assert((node->text != NULL) == (node->kind == EK__SCALAR) &&
           (!node->text || strlen(node->text) <= (size_t)size + 24));
    ek__node_path(node, path, sizeof path);
    ek__node_describe(node, found, sizeof found);
    assert(path[0] && found[0]);
    (void)ek__int(in, node, -1000, 1000, "", &whole);
    int n = 0;
    for (const ek__node *child = node->first; child; child = child->next, n++) {
        assert(child->parent == node && child->index == n && (child->key != NULL) == (node->kind == EK__MAP));
        walk(in, child, depth + 1, size);
    }
    assert(n == node->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__config_tree *doc;
    ek_error err = {0};
    if (ek__config_parse_toml("input", (const char *)data, size, &doc, &err)) {
        assert(err.message[0] != '\0' && (err.line > 0 || err.status != EK_ERR_INPUT));
        return 0;
    }
    const ek__in in = {doc, NULL, &err};
    walk(&in, ek__config_root(doc), 0, (int)size);
    ek__config_free(doc);
    return 0;
}
