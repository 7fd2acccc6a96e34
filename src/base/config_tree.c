/* Reads YAML and JSON: makes the positioned tree from libyaml's events. The text is checked for size, encoding and
 * control characters first, because libyaml gives no position for those. One pass over the events; recursion only for
 * copying the value of an alias. */
#include "base/config_tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/config_tree_build.h"
#include "base/error.h"
#include "base/watch.h"

typedef struct anchor {
    const struct anchor *before;
    const char *name;
    const ek__node *node;
} anchor;

/* The state of a build, without the tree. */
typedef struct builder {
    ek__config_builder tree;
    bool aliases;          /* are allowed */
    const anchor *anchors; /* the newest first, since a name may be used again */
    yaml_parser_t parser;
    size_t n_characters; /* of the text, to distinguish a truncated file from a wrong one */
    const char *text;
    size_t size;
    size_t mark_character, mark_byte; /* the last mark that was converted */
    size_t n_skipped;                 /* bytes of the file before the text */
} builder;

/* ---- the text, before libyaml sees it ---- */

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

/* Rewrite one double-quoted string in place: \ud83d\ude00 becomes \U0001F600, and the two saved bytes become spaces
 * after the closing quote, so that nothing after the string moves. `s` is at the opening quote; returns its end. */
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

/* Rewrite legal JSON that is not YAML; only for text that starts with a brace or bracket. */
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

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* libyaml counts characters. Marks come in order except for a few steps back, so all of them cost one pass. */
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

static ek__mark mark_of(builder *b, const yaml_mark_t *mark)
{
    return (ek__mark){(int)mark->line + 1, (int)mark->column + 1, byte_of(b, mark)};
}

static ek_status fail_mark(builder *b, const yaml_mark_t *mark, const char *message)
{
    return ek__config_fail(&b->tree, mark_of(b, mark), message);
}

static ek_status fail_syntax(builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return ek__no_memory(b->tree.err);
    const char *problem = p->problem ? p->problem : "unknown problem";
    const char *remedy = p->problem_mark.index >= b->n_characters ? "the text ends too early; is the file complete?"
                                                                  : "correct the text there";
    if (strstr(problem, "cannot start any token"))
        remedy = "indent with spaces, not tabs, and quote text that begins with a special character";
    ek_origin at = {ek__config_name(b->tree.doc), (int)p->problem_mark.line + 1, (int)p->problem_mark.column + 1};
    if (p->context)
        return ek__fail(b->tree.err, EK_ERR_INPUT, at,
                        "not valid YAML or JSON: %s %s that begins at line %zu, column %zu; %s", problem, p->context,
                        p->context_mark.line + 1, p->context_mark.column + 1, remedy);
    return ek__fail(b->tree.err, EK_ERR_INPUT, at, "not valid YAML or JSON: %s; %s", problem, remedy);
}

static ek_status add_anchor(builder *b, const yaml_char_t *name, ek__node *node)
{
    if (!name || !b->aliases)
        return EK_OK;
    const char *text = (const char *)name;
    anchor *a = ek__config_alloc(b->tree.doc, sizeof *a);
    if (!a)
        return ek__no_memory(b->tree.err);
    ek_status status = ek__config_text(&b->tree, (ek__mark){0}, text, strlen(text), &a->name);
    if (status)
        return status;
    node->anchor = a->name;
    a->node = node;
    a->before = b->anchors;
    b->anchors = a;
    return EK_OK;
}

/* Value by value, so that aliases of aliases run into the limits instead of filling the memory. */
static ek_status add_copy(builder *b, const ek__node *from, ek__mark mark)
{
    ek__node *node;
    ek_status status = from->kind == EK__SCALAR
                           ? ek__config_add_scalar(&b->tree, from->text, from->quoted, mark, from->end, &node)
                           : ek__config_open(&b->tree, from->kind, from->flow, mark, &node);
    if (status)
        return status;
    node->line = from->line;
    node->column = from->column;
    node->begin = from->begin;
    node->original = from;
    if (from->kind == EK__SCALAR)
        return EK_OK;
    for (const ek__node *child = from->first; child && status == EK_OK; child = child->next) {
        ek__mark key = {child->key_line, child->key_column, child->key_begin};
        ek__config_key(&b->tree, child->key, key, child->key_end);
        status = add_copy(b, child, mark);
    }
    if (status == EK_OK)
        status = ek__config_close(&b->tree, from->end);
    node->end = from->end;
    return status;
}

static ek_status add_alias(builder *b, const yaml_event_t *event)
{
    if (!b->aliases)
        return fail_mark(b, &event->start_mark, "aliases (a word after '*') are not supported; write the value out");
    if (b->tree.key && strcmp(b->tree.key, "<<") == 0)
        return fail_mark(b, &event->start_mark,
                         "merging a map into another ('<<') is not supported; write its keys out");
    const anchor *a = b->anchors;
    while (a && strcmp(a->name, (const char *)event->data.alias.anchor) != 0)
        a = a->before;
    if (!a)
        return fail_mark(b, &event->start_mark,
                         "no value before this alias has its name after an '&'; write the value out");
    for (const ek__node *outer = b->tree.open; outer; outer = outer->parent)
        if (outer == a->node)
            return fail_mark(b, &event->start_mark,
                             "this alias refers to a value that contains it; write the value in full");
    ek__node *open = b->tree.open;
    ek_status status = add_copy(b, a->node, mark_of(b, &event->start_mark));
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
    ek__node *node;
    ek_status status = ek__config_open(&b->tree, kind, flow, mark_of(b, &event->start_mark), &node);
    return status ? status : add_anchor(b, name, node);
}

static ek_status add_scalar(builder *b, const yaml_event_t *event)
{
    ek__config_builder *tree = &b->tree;
    if (event->data.scalar.tag)
        return fail_mark(b, &event->start_mark, "tags (a word after '!') are not supported; remove it");
    const ek__mark at = mark_of(b, &event->start_mark);
    const int end = byte_of(b, &event->end_mark);
    const char *text = NULL;
    ek_status status =
        ek__config_text(tree, at, (const char *)event->data.scalar.value, event->data.scalar.length, &text);
    if (status)
        return status;
    if (tree->open && tree->open->kind == EK__MAP && !tree->key) {
        ek__config_key(tree, text, at, end);
        return EK_OK;
    }
    ek__node *node;
    status = ek__config_add_scalar(tree, text, event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE, at, end, &node);
    return status ? status : add_anchor(b, event->data.scalar.anchor, node);
}

static ek_status add_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (ek__config_root(b->tree.doc))
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
        return ek__config_close(&b->tree, byte_of(b, &event->end_mark));
    default:
        return EK_OK;
    }
}

static ek_status build(builder *b, const char *text, size_t size)
{
    if (!yaml_parser_initialize(&b->parser))
        return ek__no_memory(b->tree.err);
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, size);
    for (size_t i = 0; i < size; i++)
        b->n_characters += !continues(text[i]);
    ek_status status = EK_OK;
    bool end = false;
    size_t before = 0;
    ek__watch_part("reading", (double)b->n_characters);
    while (status == EK_OK && !end) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event)) {
            status = fail_syntax(b);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        status = add_event(b, &event);
        if (event.end_mark.index > before) { /* an empty value ends where it begins, which may be further up */
            ek__watch_spent((double)(event.end_mark.index - before));
            before = event.end_mark.index;
        }
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&b->parser);
    if (status == EK_OK && !ek__config_root(b->tree.doc))
        status = ek__fail(b->tree.err, EK_ERR_INPUT, (ek_origin){ek__config_name(b->tree.doc), 1, 1}, "%s",
                          size == 0 ? "the file is empty" : "the file contains only comments or white space");
    return status;
}

/* Takes the text over as scratch; the caller frees it. */
static ek_status parse(const char *name, char *text, size_t size, bool aliases, ek__config_tree **out, ek_error *err)
{
    size_t n_skipped = 0;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        n_skipped = 3;
        text += n_skipped;
        size -= n_skipped;
    }
    ek_status status = ek__config_check_text(name, (const unsigned char *)text, size, "YAML or JSON", err);
    if (status)
        return status;
    rewrite_json(text, size);
    builder b = {.aliases = aliases, .text = text, .size = size, .n_skipped = n_skipped};
    status = ek__config_begin(name, err, &b.tree);
    if (status)
        return status;
    status = build(&b, text, size);
    if (status)
        ek__config_free(b.tree.doc);
    else
        *out = b.tree.doc;
    return status;
}

static ek_status fail_too_large(const char *name, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, (ek_origin){name, 0, 0},
                    "larger than the limit of 64 MiB; this is no file of this kind");
}

static ek_status parse_copy(const char *name, const char *text, size_t size, bool aliases, ek__config_tree **out,
                            ek_error *err)
{
    if (size > EK__CONFIG_MAX_BYTES)
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

ek_status ek__config_parse_buffer(const char *name, const char *text, size_t size, ek__config_tree **out, ek_error *err)
{
    return parse_copy(name, text, size, false, out, err);
}

ek_status ek__config_parse_buffer_with_aliases(const char *name, const char *text, size_t size, ek__config_tree **out,
                                               ek_error *err)
{
    return parse_copy(name, text, size, true, out, err);
}

/* Read any kind of stream to its end or to one byte beyond the limit. */
static ek_status read_stream(FILE *file, const char *name, char **out, size_t *out_size, ek_error *err)
{
    size_t room = 64 << 10, size = 0;
    char *text = ek__alloc(room, 1);
    while (text) {
        size += fread(text + size, 1, room - size, file);
        if (size < room || size > EK__CONFIG_MAX_BYTES)
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
        status = ek__fail(err, ek__system_status(), (ek_origin){name, 0, 0}, "cannot be read: %s", strerror(errno));
    else if (size > EK__CONFIG_MAX_BYTES)
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

ek_status ek__config_read_text(const char *path, char **out, size_t *size, ek_error *err)
{
    const char *name = ek__path_name(path);
    FILE *file = name == path ? fopen(path, "rb") : stdin;
    if (!file)
        return ek__fail(err, ek__system_status(), (ek_origin){name, 0, 0}, "cannot be opened: %s", strerror(errno));
    ek_status status = read_stream(file, name, out, size, err);
    if (file != stdin)
        fclose(file);
    return status;
}

static ek_status read_file(const char *path, bool aliases, ek__config_tree **out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status == EK_OK)
        status = parse(ek__path_name(path), text, size, aliases, out, err);
    free(text);
    return status;
}

ek_status ek__config_read(const char *path, ek__config_tree **out, ek_error *err)
{
    return read_file(path, false, out, err);
}

ek_status ek__config_read_with_aliases(const char *path, ek__config_tree **out, ek_error *err)
{
    return read_file(path, true, out, err);
}
