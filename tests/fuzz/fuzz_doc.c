/* Fuzzes the document below every reader: whatever the bytes, there is a bounded tree with values that can be described
 * and typed, or an error with a message and a place. Where aliases are allowed, more documents are read and none is
 * lost. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    bool truth;
    char text[16];
    if (ek__bool(in, node, "", &truth) == EK_OK)
        assert(node->kind == EK__SCALAR && ek__int(in, node, -1000, 1000, "", &whole) != EK_OK);
    if (ek__string(in, node, sizeof text, "", text) == EK_OK)
        assert(text[0] && ek__text_is_printable(text) && strcmp(text, node->text) == 0);
    int n = 0;
    for (const ek__node *child = node->first; child; child = child->next, n++) {
        assert(child->parent == node && child->index == n && (child->key != NULL) == (node->kind == EK__MAP));
        walk(in, child, depth + 1);
    }
    assert(n == node->n);
}

/* A document that is read, walked through. */
static void look(const ek__config_tree *doc)
{
    static const char *const known[] = {"offset", "pipeline_num", "layers", NULL};
    ek_error err = {0};
    const ek__in in = {doc, NULL, &err};
    walk(&in, ek__config_root(doc), 0);
    if (ek__config_root(doc)->kind == EK__MAP)
        ek__warn_unknown_keys(&in, ek__config_root(doc), known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__config_tree *doc, *copied, *file;
    ek_error err = {0};
    ek_status status = ek__config_parse_buffer("input", (const char *)data, size, &doc, &err);
    if (status == EK_OK) {
        look(doc);
        ek__config_free(doc);
    } else
        assert(err.message[0] != '\0' && (err.line > 0 || err.status != EK_ERR_INPUT));
    /* With aliases, and from a file: a document without aliases is one with them, too. */
    ek_status with = ek__config_parse_buffer_with_aliases("input", (const char *)data, size, &copied, &err);
    assert(with == EK_OK || (status != EK_OK && err.message[0]));
    assert(ek__config_read_with_aliases(fuzz_file(data, size), &file, NULL) == with);
    if (with == EK_OK) {
        look(copied);
        ek__config_free(copied);
        ek__config_free(file);
    }
    return 0;
}
