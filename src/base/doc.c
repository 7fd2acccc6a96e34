/* Builds the positioned tree from libyaml's events. The text is checked for size, encoding and control characters
 * first, because libyaml gives no position for those; nodes and texts then live in an arena that is freed as a whole.
 * One pass over the events, no recursion but for copying what an alias stands for, so the depth limit is the only thing
 * that bounds nesting. */
#include "base/doc.h"

#include <errno.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"

enum { BLOCK_SIZE = 64 << 10 };

typedef struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
} block;

struct ek__doc {
    char *name;
    ek__node *root;
    block *blocks; /* the newest first */
};

typedef struct anchor {
    const struct anchor *before;
    const char *name;
    const ek__node *node;
} anchor;

/* The state of a build: the container being filled and the key that waits for its value. */
typedef struct builder {
    ek__doc *doc;
    ek_error *err;
    bool aliases;          /* are allowed */
    const anchor *anchors; /* the newest first, since a name may be used again */
    yaml_parser_t parser;
    ek__node *open;
    const char *key;
    int key_line, key_column, key_begin, key_end;
    int depth, n_nodes;
    size_t n_characters; /* of the text, to tell a truncated file from a wrong one */
    const char *text;
    size_t size;
    size_t mark_character, mark_byte; /* the mark that was looked up last */
    size_t n_skipped;                 /* bytes of the file before the text */
} builder;

char *ek__strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ek__alloc(size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static void *arena_alloc(ek__doc *doc, size_t size)
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

/* ---- the text, before libyaml sees it ---- */

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

static ek_status check_text(const char *name, const unsigned char *text, size_t size, ek_error *err)
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
                            "control character 0x%02X: the file is damaged or binary; expected YAML or JSON text",
                            text[i]);
        if (text[i] == '\n') {
            at.line++;
            at.column = 0;
        }
        at.column++;
        i += n;
    }
    return EK_OK;
}

static int hex4(const char *s, const char *end)
{
    int value = 0;
    if (end - s < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The code point of a JSON surrogate pair such as \ud83d\ude00 at `s`, or 0. */
static unsigned int surrogate_pair(const char *s, const char *end)
{
    if (end - s < 12 || s[0] != '\\' || s[1] != 'u' || s[6] != '\\' || s[7] != 'u')
        return 0;
    int high = hex4(s + 2, end), low = hex4(s + 8, end);
    if (high < 0xD800 || high > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
        return 0;
    return 0x10000u + ((unsigned int)(high - 0xD800) << 10) + (unsigned int)(low - 0xDC00);
}

/* Rewrite one double-quoted string in place: \ud83d\ude00 becomes \U0001F600, and the two bytes won are put behind the
 * closing quote as spaces, so that nothing after the string moves. `s` is at the opening quote; returns its end. */
static char *rewrite_string(char *s, char *end)
{
    char *to = s + 1, *from = s + 1;
    while (from < end && *from != '"') {
        unsigned int code = surrogate_pair(from, end);
        if (code) {
            char escape[11];
            snprintf(escape, sizeof escape, "\\U%08X", code);
            memcpy(to, escape, 10);
            to += 10;
            from += 12;
            continue;
        }
        if (*from == '\\' && from + 1 < end)
            *to++ = *from++;
        *to++ = *from++;
    }
    if (from < end)
        *to++ = *from++;
    memset(to, ' ', (size_t)(from - to));
    return from;
}

/* What is legal JSON and not YAML; only for text that starts with a brace or bracket. */
static void rewrite_json(char *text, size_t size)
{
    char *end = text + size, *s = text;
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
        s++;
    if (s == end || (*s != '{' && *s != '['))
        return;
    for (char *space = text; space < s; space++)
        if (*space == '\t')
            *space = ' ';
    while (s < end)
        s = *s == '"' ? rewrite_string(s, end) : s + 1;
}

/* ---- the tree ---- */

static ek_status fail_mark(builder *b, const yaml_mark_t *mark, const char *message)
{
    ek_origin at = {b->doc->name, (int)mark->line + 1, (int)mark->column + 1};
    return ek__fail(b->err, EK_ERR_INPUT, at, "%s", message);
}

static ek_status fail_limit(builder *b, const yaml_mark_t *mark, const char *what, int limit)
{
    ek_origin at = {b->doc->name, (int)mark->line + 1, (int)mark->column + 1};
    return ek__fail(b->err, EK_ERR_INPUT, at, "more than %d %s, the limit; this is no file of this kind", limit, what);
}

static ek_status fail_syntax(builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return ek__no_memory(b->err);
    const char *problem = p->problem ? p->problem : "unknown problem";
    const char *remedy = p->problem_mark.index >= b->n_characters ? "the text ends too early; is the file complete?"
                                                                  : "correct the text there";
    if (strstr(problem, "cannot start any token"))
        remedy = "indent with spaces, not tabs, and quote text that begins with a special character";
    ek_origin at = {b->doc->name, (int)p->problem_mark.line + 1, (int)p->problem_mark.column + 1};
    if (p->context)
        return ek__fail(b->err, EK_ERR_INPUT, at,
                        "not valid YAML or JSON: %s %s that begins at line %zu, column %zu; %s", problem, p->context,
                        p->context_mark.line + 1, p->context_mark.column + 1, remedy);
    return ek__fail(b->err, EK_ERR_INPUT, at, "not valid YAML or JSON: %s; %s", problem, remedy);
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* libyaml counts characters. Marks come in order but for a few steps back, so all of them cost one pass. */
static int byte_of(builder *b, const yaml_mark_t *mark)
{
    while (b->mark_character < mark->index && b->mark_byte < b->size) {
        b->mark_character++;
        do
            b->mark_byte++;
        while (b->mark_byte < b->size && continues(b->text[b->mark_byte]));
    }
    while (b->mark_character > mark->index) {
        b->mark_character--;
        do
            b->mark_byte--;
        while (continues(b->text[b->mark_byte]));
    }
    return (int)(b->n_skipped + b->mark_byte);
}

static void append(builder *b, ek__node *node)
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
    node->key_line = b->key_line;
    node->key_column = b->key_column;
    node->key_begin = b->key_begin;
    node->key_end = b->key_end;
    b->key = NULL;
}

static ek_status add_node(builder *b, ek__node_kind kind, const yaml_mark_t *mark, ek__node **out)
{
    if (++b->n_nodes > EK__DOC_MAX_NODES)
        return fail_limit(b, mark, "values", EK__DOC_MAX_NODES);
    if (b->open && b->open->kind == EK__MAP && !b->key)
        return fail_mark(b, mark, "a list or map cannot be a key; write 'key: value'");
    ek__node *node = arena_alloc(b->doc, sizeof *node);
    if (!node)
        return ek__no_memory(b->err);
    node->kind = kind;
    node->line = (int)mark->line + 1;
    node->column = (int)mark->column + 1;
    append(b, node);
    *out = node;
    return EK_OK;
}

static char *arena_strdup(ek__doc *doc, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(doc, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static ek_status add_anchor(builder *b, const yaml_char_t *name, ek__node *node)
{
    if (!name || !b->aliases)
        return EK_OK;
    anchor *a = arena_alloc(b->doc, sizeof *a);
    if (!a || !(a->name = arena_strdup(b->doc, (const char *)name)))
        return ek__no_memory(b->err);
    node->anchor = a->name;
    a->node = node;
    a->before = b->anchors;
    b->anchors = a;
    return EK_OK;
}

/* Value by value, so that aliases of aliases run into the limits instead of filling the memory. */
static ek_status add_copy(builder *b, const ek__node *from, const yaml_mark_t *mark)
{
    ek__node *node;
    ek_status status = add_node(b, from->kind, mark, &node);
    if (status)
        return status;
    node->line = from->line;
    node->column = from->column;
    node->begin = from->begin;
    node->end = from->end;
    node->quoted = from->quoted;
    node->flow = from->flow;
    node->text = from->text;
    node->original = from;
    if (from->kind == EK__SCALAR)
        return EK_OK;
    if (b->depth == EK__DOC_MAX_DEPTH)
        return fail_limit(b, mark, "levels of nesting", EK__DOC_MAX_DEPTH);
    b->depth++;
    b->open = node;
    for (const ek__node *child = from->first; child && status == EK_OK; child = child->next) {
        b->key = child->key;
        b->key_line = child->key_line;
        b->key_column = child->key_column;
        b->key_begin = child->key_begin;
        b->key_end = child->key_end;
        status = add_copy(b, child, mark);
    }
    b->open = node->parent;
    b->depth--;
    return status;
}

static ek_status add_alias(builder *b, const yaml_event_t *event)
{
    if (!b->aliases)
        return fail_mark(b, &event->start_mark, "aliases (a word after '*') are not supported; write the value out");
    if (b->key && strcmp(b->key, "<<") == 0)
        return fail_mark(b, &event->start_mark,
                         "merging a map into another ('<<') is not supported; write its keys out");
    const anchor *a = b->anchors;
    while (a && strcmp(a->name, (const char *)event->data.alias.anchor) != 0)
        a = a->before;
    if (!a)
        return fail_mark(b, &event->start_mark,
                         "no value before this alias has its name after an '&'; write the value out");
    for (const ek__node *outer = b->open; outer; outer = outer->parent)
        if (outer == a->node)
            return fail_mark(b, &event->start_mark,
                             "this alias stands for a value that it is itself a part of; write it out");
    ek__node *open = b->open;
    ek_status status = add_copy(b, a->node, &event->start_mark);
    if (status == EK_OK && open) { /* at the root no anchor comes before */
        open->last->begin = byte_of(b, &event->start_mark);
        open->last->end = byte_of(b, &event->end_mark);
    }
    return status;
}

static ek_status add_container(builder *b, ek__node_kind kind, bool flow, const yaml_event_t *event,
                               const yaml_char_t *tag, const yaml_char_t *name)
{
    if (tag)
        return fail_mark(b, &event->start_mark, "tags (a word after '!') are not supported; remove it");
    if (++b->depth > EK__DOC_MAX_DEPTH)
        return fail_limit(b, &event->start_mark, "levels of nesting", EK__DOC_MAX_DEPTH);
    ek__node *node;
    ek_status status = add_node(b, kind, &event->start_mark, &node);
    if (status)
        return status;
    node->flow = flow;
    node->begin = byte_of(b, &event->start_mark);
    b->open = node;
    return add_anchor(b, name, node);
}

static ek_status add_scalar(builder *b, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.tag)
        return fail_mark(b, &event->start_mark, "tags (a word after '!') are not supported; remove it");
    if (strlen(value) != length)
        return fail_mark(b, &event->start_mark, "the text contains a NUL character; remove it");
    char *text = arena_alloc(b->doc, length + 1);
    if (!text)
        return ek__no_memory(b->err);
    memcpy(text, value, length + 1);
    if (b->open && b->open->kind == EK__MAP && !b->key) {
        b->key = text;
        b->key_line = (int)event->start_mark.line + 1;
        b->key_column = (int)event->start_mark.column + 1;
        b->key_begin = byte_of(b, &event->start_mark);
        b->key_end = byte_of(b, &event->end_mark);
        return EK_OK;
    }
    ek__node *node;
    ek_status status = add_node(b, EK__SCALAR, &event->start_mark, &node);
    if (status)
        return status;
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->begin = byte_of(b, &event->start_mark);
    node->end = byte_of(b, &event->end_mark);
    return add_anchor(b, event->data.scalar.anchor, node);
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
static ek_status check_duplicates(builder *b, const ek__node *map)
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

static ek_status close_container(builder *b, const yaml_mark_t *end)
{
    ek__node *closed = b->open;
    closed->end = closed->flow || !closed->last ? byte_of(b, end) : closed->last->end;
    b->depth--;
    b->open = closed->parent;
    return closed->kind == EK__MAP ? check_duplicates(b, closed) : EK_OK;
}

static ek_status add_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->doc->root)
            return fail_mark(b, &event->start_mark, "a second document begins here; keep one per file");
        return EK_OK;
    case YAML_ALIAS_EVENT:
        return add_alias(b, event);
    case YAML_SCALAR_EVENT:
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return add_container(b, EK__LIST, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, event,
                             event->data.sequence_start.tag, event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return add_container(b, EK__MAP, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, event,
                             event->data.mapping_start.tag, event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(b, &event->end_mark);
    default:
        return EK_OK;
    }
}

static ek_status build(builder *b, const char *text, size_t size)
{
    if (!yaml_parser_initialize(&b->parser))
        return ek__no_memory(b->err);
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, size);
    for (size_t i = 0; i < size; i++)
        b->n_characters += !continues(text[i]);
    ek_status status = EK_OK;
    bool end = false;
    while (status == EK_OK && !end) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event)) {
            status = fail_syntax(b);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        status = add_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&b->parser);
    if (status == EK_OK && !b->doc->root)
        status = ek__fail(b->err, EK_ERR_INPUT, (ek_origin){b->doc->name, 1, 1}, "%s",
                          size == 0 ? "the file is empty" : "the file holds nothing but comments or white space");
    return status;
}

/* Takes the text over as scratch; the caller frees it. */
static ek_status parse(const char *name, char *text, size_t size, bool aliases, ek__doc **out, ek_error *err)
{
    size_t n_skipped = 0;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        n_skipped = 3;
        text += n_skipped;
        size -= n_skipped;
    }
    ek_status status = check_text(name, (const unsigned char *)text, size, err);
    if (status)
        return status;
    rewrite_json(text, size);
    ek__doc *doc = ek__alloc(1, sizeof *doc);
    if (!doc || !(doc->name = ek__strdup(name))) {
        ek__doc_free(doc);
        return ek__no_memory(err);
    }
    builder b = {.doc = doc, .err = err, .aliases = aliases, .text = text, .size = size, .n_skipped = n_skipped};
    status = build(&b, text, size);
    if (status)
        ek__doc_free(doc);
    else
        *out = doc;
    return status;
}

static ek_status fail_too_large(const char *name, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, (ek_origin){name, 0, 0},
                    "larger than the limit of 64 MiB; this is no file of this kind");
}

static ek_status parse_copy(const char *name, const char *text, size_t size, bool aliases, ek__doc **out, ek_error *err)
{
    if (size > EK__DOC_MAX_BYTES)
        return fail_too_large(name, err);
    char *copy = ek__alloc(size, 1);
    if (!copy)
        return ek__no_memory(err);
    if (size > 0)
        memcpy(copy, text, size);
    ek_status status = parse(name, copy, size, aliases, out, err);
    free(copy);
    return status;
}

ek_status ek__doc_parse_buffer(const char *name, const char *text, size_t size, ek__doc **out, ek_error *err)
{
    return parse_copy(name, text, size, false, out, err);
}

ek_status ek__doc_parse_buffer_with_aliases(const char *name, const char *text, size_t size, ek__doc **out,
                                            ek_error *err)
{
    return parse_copy(name, text, size, true, out, err);
}

/* Read to the end or one byte beyond the limit, whatever the stream is. */
static ek_status read_stream(FILE *file, const char *name, char **out, size_t *out_size, ek_error *err)
{
    size_t room = 64 << 10, size = 0;
    char *text = ek__alloc(room, 1);
    while (text) {
        size += fread(text + size, 1, room - size, file);
        if (size < room || size > EK__DOC_MAX_BYTES)
            break;
        char *larger = ek__alloc(2 * room, 1);
        if (larger)
            memcpy(larger, text, size);
        free(text);
        text = larger;
        room *= 2;
    }
    if (!text)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    if (ferror(file))
        status = ek__fail(err, EK_ERR_SYSTEM, (ek_origin){name, 0, 0}, "cannot be read: %s", strerror(errno));
    else if (size > EK__DOC_MAX_BYTES)
        status = fail_too_large(name, err);
    if (status) {
        free(text);
        return status;
    }
    *out = text;
    *out_size = size;
    return EK_OK;
}

const char *ek__path_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

ek_status ek__doc_read_text(const char *path, char **out, size_t *size, ek_error *err)
{
    const char *name = ek__path_name(path);
    FILE *file = name == path ? fopen(path, "rb") : stdin;
    if (!file)
        return ek__fail(err, EK_ERR_SYSTEM, (ek_origin){name, 0, 0}, "cannot be opened: %s", strerror(errno));
    ek_status status = read_stream(file, name, out, size, err);
    if (file != stdin)
        fclose(file);
    return status;
}

static ek_status read_file(const char *path, bool aliases, ek__doc **out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek__doc_read_text(path, &text, &size, err);
    if (status == EK_OK)
        status = parse(ek__path_name(path), text, size, aliases, out, err);
    free(text);
    return status;
}

ek_status ek__doc_read(const char *path, ek__doc **out, ek_error *err)
{
    return read_file(path, false, out, err);
}

ek_status ek__doc_read_with_aliases(const char *path, ek__doc **out, ek_error *err)
{
    return read_file(path, true, out, err);
}

void ek__doc_free(ek__doc *doc)
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

const ek__node *ek__doc_root(const ek__doc *doc)
{
    return doc->root;
}

const char *ek__doc_name(const ek__doc *doc)
{
    return doc->name;
}
