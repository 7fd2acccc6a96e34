/* Writes YAML text and finds the parts of existing text. Positions come from the document's tree; only the parts that a
 * tree lacks are searched in the bytes: blanks, comments, the colon, line breaks. Comments are distinguished from text
 * by the spans of all scalars: outside of them a '#' begins a comment. Line breaks are LF and CRLF; the others of YAML
 * 1.1 are taken for text, and errors from that are found by the editor's own check. */
#include "base/edit_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ek__text_add(ek__text *text, const char *bytes, size_t n)
{
    char *grown = text->failed ? NULL : ek__with_room(text->bytes, &text->capacity, text->n + n + 1, 1);
    text->failed = !grown;
    if (!grown)
        return;
    text->bytes = grown;
    if (n > 0)
        memcpy(grown + text->n, bytes, n);
    text->n += n;
    grown[text->n] = '\0';
}

void ek__text_add_string(ek__text *text, const char *string)
{
    ek__text_add(text, string, strlen(string));
}

void ek__text_add_spaces(ek__text *text, int n)
{
    for (; n > 0; n--)
        ek__text_add(text, " ", 1);
}

static void add_range(ek__text *out, const ek__source *source, int begin, int end)
{
    if (end > begin)
        ek__text_add(out, source->text + begin, (size_t)(end - begin));
}

/* ---- positions ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

int ek__skip_blanks(const ek__source *source, int at)
{
    while (at < source->size && is_blank(source->text[at]))
        at++;
    return at;
}

int ek__line_end(const ek__source *source, int at)
{
    const char *end = at < source->size ? memchr(source->text + at, '\n', (size_t)(source->size - at)) : NULL;
    if (!end)
        return source->size;
    int found = (int)(end - source->text);
    return found > at && end[-1] == '\r' ? found - 1 : found;
}

const char *ek__line_break(const ek__source *source, int at)
{
    int end = ek__line_end(source, at);
    if (end == source->size)
        while (end > 0 && source->text[end] != '\n')
            end--;
    bool crlf = source->text[end] == '\r' || (end > 0 && source->text[end] == '\n' && source->text[end - 1] == '\r');
    return crlf ? "\r\n" : "\n";
}

static bool in_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* After blanks, comments and line breaks, but not after `end`. */
static int skip_gap(const ek__source *source, int at, int end)
{
    while (at < end) {
        char c = source->text[at];
        if (c == '#')
            at = ek__line_end(source, at);
        else if (is_blank(c) || c == '\n' || c == '\r')
            at++;
        else
            break;
    }
    return at < end ? at : end;
}

static ek__text_span skip_anchor(const ek__source *source, int begin, int end)
{
    ek__text_span span = {begin, begin, begin, end};
    if (begin == end || source->text[begin] != '&')
        return span;
    do
        span.anchor_end++;
    while (span.anchor_end < end && in_name(source->text[span.anchor_end]));
    span.content = skip_gap(source, span.anchor_end, end);
    return span;
}

/* A string's end as the tree has it may be that of its rewritten form (base/config_tree.c), which is shorter. */
static int end_of_string(const ek__source *source, int begin, int end)
{
    if (begin >= end || source->text[begin] != '"')
        return end;
    int at = begin + 1;
    while (at < source->size && source->text[at] != '"')
        at += source->text[at] == '\\' ? 2 : 1;
    return at < source->size ? at + 1 : source->size;
}

int ek__key_end(const ek__source *source, const ek__node *node)
{
    ek__text_span key = skip_anchor(source, node->key_begin, node->key_end);
    return end_of_string(source, key.content, node->key_end);
}

/* A plain scalar cannot begin like this. */
static bool is_block_scalar(const ek__source *source, const ek__node *node, const ek__text_span *span)
{
    return node->kind == EK__SCALAR && span->content < span->end && strchr("|>", source->text[span->content]);
}

/* The last value of a block list or map. */
static const ek__node *last_inside(const ek__node *node)
{
    while (!node->original && !node->flow && node->last)
        node = node->last;
    return node;
}

ek__text_span ek__span_of(const ek__source *source, const ek__node *node)
{
    if (node->original)
        return (ek__text_span){node->begin, node->begin, node->begin, node->end};
    ek__text_span span = skip_anchor(source, node->begin, node->end);
    if (is_block_scalar(source, node, &span))
        while (span.end > span.content + 1 && strchr(" \t\r\n", source->text[span.end - 1]))
            span.end--;
    else if (node->kind == EK__SCALAR)
        span.end = end_of_string(source, span.content, span.end);
    else if (!node->flow && node->last)
        span.end = ek__span_of(source, last_inside(node)).end;
    return span;
}

int ek__end_of_lines(const ek__source *source, const ek__node *node)
{
    node = last_inside(node);
    ek__text_span span = ek__span_of(source, node);
    if (is_block_scalar(source, node, &span)) {
        int at = span.content + 1;
        while (at < span.end && !strchr(" \t\r\n", source->text[at]))
            if (source->text[at++] == '+')
                return node->end > 0 && source->text[node->end - 1] == '\n' ? node->end : source->size;
    }
    return ek__line_end(source, span.end);
}

/* ---- writing ---- */

/* Length of a character that a plain or single-quoted scalar cannot contain: control characters, and those that YAML
 * 1.1 or libyaml takes for a line break or refuses; 0 when the character at `s` is allowed. */
static int special_length(const char *s, unsigned int *code)
{
    unsigned char a = (unsigned char)s[0], b = a ? (unsigned char)s[1] : 0, c = b ? (unsigned char)s[2] : 0;
    *code = a;
    if (a < 0x20 || a == 0x7F)
        return 1;
    *code = b;
    if (a == 0xC2 && b >= 0x80 && b < 0xA0)
        return 2;
    *code = a == 0xEF ? 0xFEFF : 0x2000u + c - 0x80u;
    if ((a == 0xE2 && b == 0x80 && (c == 0xA8 || c == 0xA9)) || (a == 0xEF && b == 0xBB && c == 0xBF))
        return 3;
    return 0;
}

static bool has_special(const char *text)
{
    unsigned int code;
    for (; *text; text++)
        if (special_length(text, &code) > 0)
            return true;
    return false;
}

static void write_double_quoted(ek__text *out, const char *text)
{
    ek__text_add(out, "\"", 1);
    while (*text) {
        unsigned int code;
        int length = special_length(text, &code);
        if (length > 0) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04X", code & 0xFFFFu);
            ek__text_add_string(out, escape);
            text += length;
            continue;
        }
        if (*text == '"' || *text == '\\')
            ek__text_add(out, "\\", 1);
        ek__text_add(out, text++, 1);
    }
    ek__text_add(out, "\"", 1);
}

static void write_single_quoted(ek__text *out, const char *text)
{
    ek__text_add(out, "'", 1);
    for (; *text; text++)
        ek__text_add(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    ek__text_add(out, "'", 1);
}

/* Can it be nothing but text, whoever reads it? */
static bool is_word(const char *text)
{
    static const ek__node scalar = {.kind = EK__SCALAR};
    ek__node node = scalar;
    node.text = text;
    if (!in_name(text[0]) || text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (const char *c = text; *c; c++)
        if (!in_name(*c) && *c != '.' && *c != '/')
            return false;
    return (text[1] || !strchr("yYnN", text[0])) && !ek__node_is_bool(&node, NULL) && !ek__node_is_null(&node);
}

void ek__write_key(ek__text *out, const char *key, bool json)
{
    if (json || has_special(key))
        write_double_quoted(out, key);
    else if (is_word(key))
        ek__text_add_string(out, key);
    else
        write_single_quoted(out, key);
}

/* Do the bytes hold a string that can be copied anywhere: on one line, without escapes that only JSON has? */
static bool is_simple_string(const ek__source *source, int begin, int end)
{
    if (end - begin < 2 || !strchr("'\"", source->text[begin]))
        return false;
    for (int i = begin; i < end; i++)
        if (source->text[i] == '\n' || source->text[i] == '\r' ||
            (source->text[i] == '\\' && source->text[begin] == '"' && i + 1 < end && source->text[i + 1] == 'u'))
            return false;
    return true;
}

static void write_scalar(ek__text *out, const ek__source *source, const ek__node *node, bool in_flow)
{
    ek__text_span span = ek__span_of(source, node);
    if (!node->quoted && !node->text[0])
        ek__text_add_string(out, "null");
    else if (node->quoted && is_simple_string(source, span.content, span.end))
        add_range(out, source, span.content, span.end);
    else if (node->quoted || has_special(node->text))
        write_double_quoted(out, node->text);
    else if (in_flow && strpbrk(node->text, ",[]{}"))
        write_single_quoted(out, node->text);
    else
        ek__text_add_string(out, node->text);
}

/* As it was written, where that can be copied. */
static void write_old_key(ek__text *out, const ek__source *source, const ek__node *node)
{
    int begin = skip_anchor(source, node->key_begin, node->key_end).content, end = ek__key_end(source, node);
    bool quoted = begin < end && strchr("'\"", source->text[begin]);
    if (quoted && is_simple_string(source, begin, end))
        add_range(out, source, begin, end);
    else if (quoted || !node->key[0] || has_special(node->key))
        write_double_quoted(out, node->key);
    else if (strpbrk(node->key, ",[]{}"))
        write_single_quoted(out, node->key);
    else
        ek__text_add_string(out, node->key);
}

void ek__write_flow(ek__text *out, const ek__source *source, const ek__node *node, bool in_flow)
{
    while (node->original)
        node = node->original;
    if (node->kind == EK__SCALAR) {
        write_scalar(out, source, node, in_flow);
        return;
    }
    ek__text_add_string(out, node->kind == EK__LIST ? "[" : "{");
    for (const ek__node *child = node->first; child; child = child->next) {
        if (child->index > 0)
            ek__text_add_string(out, ", ");
        if (child->key) {
            write_old_key(out, source, child);
            ek__text_add_string(out, ": ");
        }
        ek__write_flow(out, source, child, true);
    }
    ek__text_add_string(out, node->kind == EK__LIST ? "]" : "}");
}

void ek__write_block(ek__text *out, const ek__source *source, const ek__node *map, int indent, int step,
                     const char *line_break)
{
    for (const ek__node *child = map->first; child; child = child->next) {
        ek__text_add_string(out, line_break);
        ek__text_add_spaces(out, indent);
        write_old_key(out, source, child);
        ek__text_add_string(out, ":");
        if (child->kind == EK__MAP && child->n > 0) {
            ek__write_block(out, source, child, indent + step, step, line_break);
            continue;
        }
        ek__text_add_string(out, " ");
        ek__write_flow(out, source, child, false);
    }
}

/* ---- taking a value out ---- */

typedef struct range {
    int begin, end;
} range;

/* The keys and scalars inside a cut, in order: a '#' or a line break may be a part of them. */
typedef struct texts {
    range *item;
    size_t n, capacity;
    bool failed;
} texts;

static void add_text(texts *t, int begin, int end)
{
    range *grown = t->failed ? NULL : ek__with_room(t->item, &t->capacity, t->n + 1, sizeof *grown);
    t->failed = !grown;
    if (!grown)
        return;
    t->item = grown;
    t->item[t->n++] = (range){begin, end};
}

static void collect_texts(texts *t, const ek__source *source, const ek__node *node)
{
    if (node->original)
        return;
    if (node->kind == EK__SCALAR) {
        ek__text_span span = ek__span_of(source, node);
        /* The line that begins a block scalar may end in a comment. */
        bool block = is_block_scalar(source, node, &span);
        int begin = block ? ek__line_end(source, span.content) : span.content;
        if (begin < span.end)
            add_text(t, begin, span.end);
    }
    for (const ek__node *child = node->first; child; child = child->next) {
        if (child->key)
            add_text(t, child->key_begin, ek__key_end(source, child));
        collect_texts(t, source, child);
    }
}

/* One line of a cut, or the part of it that is within. */
typedef struct line {
    int begin, end; /* end: before the line break, or where the cut ends */
    int comment;    /* where it begins; `end` when there is none */
    bool blank;     /* nothing but blanks, and no part of a text */
} line;

/* `next` is the first text that does not end before the line. */
static line look_at_line(const ek__source *source, const texts *t, size_t *next, int begin, int end)
{
    line l = {begin, end, end, true};
    for (int at = begin; at < end;) {
        while (*next < t->n && t->item[*next].end <= at)
            ++*next;
        if (*next < t->n && t->item[*next].begin <= at) {
            l.blank = false;
            at = t->item[*next].end;
            continue;
        }
        if (source->text[at] == '#') {
            l.comment = at;
            l.blank = false;
            return l;
        }
        l.blank = l.blank && is_blank(source->text[at]);
        at++;
    }
    while (*next < t->n && t->item[*next].end < begin)
        ++*next;
    /* An empty line may be within a text. */
    l.blank = l.blank && (*next == t->n || t->item[*next].begin > begin);
    return l;
}

static void write_comment(ek__text *out, const ek__source *source, int before, int begin, int end)
{
    add_range(out, source, before, ek__skip_blanks(source, before));
    add_range(out, source, begin, end);
}

/* Writes the cut's lines after the first, up to the last; returns where the last begins (before its line break). */
static int write_middle(ek__text *out, const ek__source *source, const texts *t, size_t *next, int at,
                        const ek__cut *cut)
{
    for (;;) {
        int begin = at + (source->text[at] == '\r') + 1, end = ek__line_end(source, begin);
        if (end >= cut->end)
            return at;
        line l = look_at_line(source, t, next, begin, end);
        if (l.blank || l.comment < end) {
            add_range(out, source, at, begin);
            write_comment(out, source, begin, l.comment, end);
        }
        at = end;
    }
}

/* Inside of brackets more may follow on the line, or be added there: it gets a separate line when a comment stays.
 * Elsewhere only a comment can follow. */
static void write_last(ek__text *out, const ek__source *source, const texts *t, size_t *next, int at, bool kept,
                       ek__cut *cut)
{
    int begin = at + (source->text[at] == '\r') + 1, line_end = ek__line_end(source, cut->end);
    line l = look_at_line(source, t, next, begin, cut->end);
    int rest = ek__skip_blanks(source, cut->end);
    bool block = cut->node->kind != EK__SCALAR && !cut->node->flow;
    if (cut->node->parent && cut->node->parent->flow) {
        if (kept)
            add_range(out, source, at, ek__skip_blanks(source, begin));
    } else if (l.comment < cut->end) {
        add_range(out, source, at, begin);
        write_comment(out, source, begin, l.comment, cut->end);
    } else if (rest >= line_end) {
        cut->end = line_end;
    } else if (block || kept) {
        add_range(out, source, at, begin);
        write_comment(out, source, begin, rest, line_end);
        cut->end = line_end;
    }
}

ek_status ek__write_cut(ek__text *out, const ek__source *source, ek__cut *cut)
{
    texts t = {0};
    size_t next = 0;
    collect_texts(&t, source, cut->node);
    if (t.failed) {
        free(t.item);
        return EK_ERR_MEMORY;
    }
    int first_end = ek__line_end(source, cut->begin);
    bool one_line = first_end >= cut->end;
    line first = look_at_line(source, &t, &next, cut->begin, one_line ? cut->end : first_end);
    ek__text_add_string(out, cut->line);
    if (first.comment < first.end) {
        int before = first.comment;
        while (before > cut->begin && is_blank(source->text[before - 1]))
            before--;
        ek__text_add_string(out, before == first.comment ? " " : "");
        add_range(out, source, before, first.end);
    }
    if (one_line && cut->below[0]) {
        add_range(out, source, cut->end, first_end);
        cut->end = first_end;
    }
    ek__text_add_string(out, cut->below);
    if (!one_line) {
        size_t written = out->n;
        bool kept = first.comment < first.end || cut->below[0];
        int last = write_middle(out, source, &t, &next, first_end, cut);
        write_last(out, source, &t, &next, last, kept || out->n > written, cut);
    }
    free(t.item);
    return out->failed ? EK_ERR_MEMORY : EK_OK;
}
