/* Builds the tree of a document: an arena for its nodes and texts, limits, duplicate keys. Without recursion, so only
 * the depth limit bounds nesting. */
#include "base/config_tree_build.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { BLOCK_SIZE = 64 << 10 };

typedef struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
} block;

struct ek__config_tree {
    char *name;
    ek__node *root;
    block *blocks; /* the newest first */
};

void *ek__config_alloc(ek__config_tree *doc, size_t size)
{
    size_t aligned = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    block *b = doc->blocks;
    if (!b || b->size - b->used < aligned) {
        size_t room = aligned > BLOCK_SIZE ? aligned : BLOCK_SIZE;
        b = ek__alloc(1, sizeof *b + room);
        if (!b)
            return NULL;
        b->size = room;
        b->next = doc->blocks;
        doc->blocks = b;
    }
    void *p = b->bytes + b->used;
    b->used += aligned;
    return p;
}

/* ---- the text ---- */

/* Length of the UTF-8 sequence at `s`, or 0 when it is none (overlong, surrogate, beyond U+10FFFF, cut off). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

ek_status ek__config_check_text(const char *name, const unsigned char *text, size_t size, const char *language,
                                ek_error *err)
{
    ek_origin at = {name, 1, 1};
    for (size_t i = 0; i < size;) {
        size_t n = utf8_length(text + i, size - i);
        if (n == 0)
            return ek__fail(
                err, EK_ERR_INPUT, at,
                "byte 0x%02X is not UTF-8 text: the file is damaged, binary or in another encoding; save it "
                "as UTF-8",
                text[i]);
        if ((text[i] < 0x20 && text[i] != '\n' && text[i] != '\r' && text[i] != '\t') || text[i] == 0x7F)
            return ek__fail(err, EK_ERR_INPUT, at,
                            "control character 0x%02X: the file is damaged or binary; expected %s text", text[i],
                            language);
        if (text[i] == '\n') {
            at.line++;
            at.column = 0;
        }
        at.column++;
        i += n;
    }
    return EK_OK;
}

/* ---- the tree ---- */

ek_status ek__config_begin(const char *name, ek_error *err, ek__config_builder *out)
{
    ek__config_tree *doc = ek__alloc(1, sizeof *doc);
    if (!doc || !(doc->name = ek__strdup(name))) {
        ek__config_free(doc);
        return ek__no_memory(err);
    }
    *out = (ek__config_builder){.doc = doc, .err = err};
    return EK_OK;
}

ek_status ek__config_no_memory(ek_error *err)
{
    return ek__no_memory(err);
}

ek_status ek__config_fail(const ek__config_builder *b, ek__mark at, const char *message)
{
    return ek__fail(b->err, EK_ERR_INPUT, ((ek_origin){b->doc->name, at.line, at.column}), "%s", message);
}

static ek_status fail_limit(const ek__config_builder *b, ek__mark at, const char *what, int limit)
{
    return ek__fail(b->err, EK_ERR_INPUT, ((ek_origin){b->doc->name, at.line, at.column}),
                    "more than %d %s, the limit; this is no file of this kind", limit, what);
}

ek_status ek__config_text(const ek__config_builder *b, ek__mark at, const char *text, size_t length, const char **out)
{
    if (memchr(text, '\0', length))
        return ek__config_fail(b, at, "the text contains a NUL character; remove it");
    char *copy = ek__config_alloc(b->doc, length + 1);
    if (!copy)
        return ek__no_memory(b->err);
    memcpy(copy, text, length);
    copy[length] = '\0';
    *out = copy;
    return EK_OK;
}

void ek__config_key(ek__config_builder *b, const char *key, ek__mark at, int end)
{
    b->key = key;
    b->key_at = at;
    b->key_end = end;
}

static void append(ek__config_builder *b, ek__node *node)
{
    ek__node *parent = b->open;
    node->parent = parent;
    if (!parent) {
        b->doc->root = node;
        return;
    }
    node->index = parent->n++;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    node->key = b->key;
    if (b->key) {
        node->key_line = b->key_at.line;
        node->key_column = b->key_at.column;
        node->key_begin = b->key_at.byte;
        node->key_end = b->key_end;
    }
    b->key = NULL;
}

ek_status ek__config_add(ek__config_builder *b, ek__node_kind kind, ek__mark at, ek__node **out)
{
    if (++b->n_nodes > EK__CONFIG_MAX_NODES)
        return fail_limit(b, at, "values", EK__CONFIG_MAX_NODES);
    if (b->open && b->open->kind == EK__MAP && !b->key)
        return ek__config_fail(b, at, "a list or map cannot be a key; write 'key: value'");
    ek__node *node = ek__config_alloc(b->doc, sizeof *node);
    if (!node)
        return ek__no_memory(b->err);
    node->kind = kind;
    node->line = at.line;
    node->column = at.column;
    node->begin = at.byte;
    append(b, node);
    *out = node;
    return EK_OK;
}

ek_status ek__config_add_scalar(ek__config_builder *b, const char *text, bool quoted, ek__mark at, int end,
                                ek__node **out)
{
    ek_status status = ek__config_add(b, EK__SCALAR, at, out);
    if (status)
        return status;
    (*out)->text = text;
    (*out)->quoted = quoted;
    (*out)->end = end;
    return EK_OK;
}

ek_status ek__config_open(ek__config_builder *b, ek__node_kind kind, bool flow, ek__mark at, ek__node **out)
{
    if (b->depth == EK__CONFIG_MAX_DEPTH)
        return fail_limit(b, at, "levels of nesting", EK__CONFIG_MAX_DEPTH);
    ek_status status = ek__config_add(b, kind, at, out);
    if (status)
        return status;
    b->depth++;
    (*out)->flow = flow;
    b->open = *out;
    return EK_OK;
}

typedef struct key_ref {
    const ek__node *node;
} key_ref;

static int by_key(const void *a, const void *b)
{
    const ek__node *x = ((const key_ref *)a)->node, *y = ((const key_ref *)b)->node;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorted rather than compared pairwise, so that a hostile map of a million keys stays cheap. */
static ek_status check_duplicates(const ek__config_builder *b, const ek__node *map)
{
    key_ref *keys = ek__alloc((size_t)map->n, sizeof *keys);
    if (!keys)
        return ek__no_memory(b->err);
    size_t n = 0;
    for (const ek__node *node = map->first; node; node = node->next)
        keys[n++].node = node;
    qsort(keys, n, sizeof *keys, by_key);
    const ek__node *first = NULL, *second = NULL;
    for (size_t i = 1; i < n; i++) {
        const ek__node *x = keys[i - 1].node, *y = keys[i].node;
        if (strcmp(x->key, y->key) == 0 && (!second || y->index < second->index)) {
            first = x;
            second = y;
        }
    }
    ek_status status = EK_OK;
    if (second) {
        char path[256];
        ek__node_path(second, path, sizeof path);
        status = ek__fail(b->err, EK_ERR_INPUT, (ek_origin){b->doc->name, second->key_line, second->key_column},
                          "%s is given twice, first at line %d, column %d; keep one", path, first->key_line,
                          first->key_column);
    }
    free(keys);
    return status;
}

ek_status ek__config_close(ek__config_builder *b, int end)
{
    ek__node *closed = b->open;
    closed->end = closed->flow || !closed->last ? end : closed->last->end;
    b->depth--;
    b->open = closed->parent;
    return closed->kind == EK__MAP ? check_duplicates(b, closed) : EK_OK;
}

void ek__config_free(ek__config_tree *doc)
{
    if (!doc)
        return;
    while (doc->blocks) {
        block *next = doc->blocks->next;
        free(doc->blocks);
        doc->blocks = next;
    }
    free(doc->name);
    free(doc);
}

const ek__node *ek__config_root(const ek__config_tree *doc)
{
    return doc->root;
}

const char *ek__config_name(const ek__config_tree *doc)
{
    return doc->name;
}
