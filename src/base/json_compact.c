/* Copies JSON without a tree: one pass that checks the grammar (RFC 8259, and Python's NaN and Infinity) and copies
 * everything except white space. Recursion is bounded. The reader of the text checks whether bytes beyond ASCII are
 * UTF-8. */
#include "base/json_compact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct reading {
    const char *at, *end;
    ek__json_text *out;
} reading;

void ek__json_add(ek__json_text *out, const char *bytes, size_t n)
{
    char *room = n > 0 && !out->out_of_memory ? ek__with_room(out->at, &out->capacity, out->n + n, 1) : NULL;
    if (!room) {
        out->out_of_memory |= n > 0;
        return;
    }
    out->at = room;
    memcpy(room + out->n, bytes, n);
    out->n += n;
}

static void write_control(ek__json_text *out, unsigned char c)
{
    char escape[8];
    snprintf(escape, sizeof escape, "\\u%04x", c);
    ek__json_add(out, escape, 6);
}

static void skip_space(reading *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool parse(reading *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    ek__json_add(r->out, &c, 1);
    return true;
}

/* After a backslash: the number of bytes of the escape; 0 for none. */
static size_t escape_size(const char *at, const char *end)
{
    if (at == end || !*at)
        return 0;
    if (*at != 'u')
        return strchr("\"\\/bfnrt", *at) ? 1 : 0;
    for (int i = 1; i <= 4; i++)
        if (at + i >= end || !at[i] || !strchr("0123456789abcdefABCDEF", at[i]))
            return 0;
    return 5;
}

static bool copy_text(reading *r)
{
    if (!parse(r, '"'))
        return false;
    const char *from = r->at;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\') {
            size_t n = escape_size(r->at + 1, r->end);
            if (n == 0)
                return false;
            r->at += 1 + n;
        } else if ((unsigned char)*r->at < 0x20) {
            ek__json_add(r->out, from, (size_t)(r->at - from));
            write_control(r->out, (unsigned char)*r->at);
            from = ++r->at;
        } else {
            r->at++;
        }
    }
    ek__json_add(r->out, from, (size_t)(r->at - from));
    return parse(r, '"');
}

static size_t digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

static bool copy_number(reading *r)
{
    const char *from = r->at, *at = from + (*from == '-');
    size_t n = digits(at, r->end);
    if (n == 0 || (n > 1 && *at == '0'))
        return false;
    at += n;
    if (at < r->end && *at == '.') {
        n = digits(at + 1, r->end);
        if (n == 0)
            return false;
        at += 1 + n;
    }
    if (at < r->end && (*at == 'e' || *at == 'E')) {
        at += 1 + (at + 1 < r->end && (at[1] == '+' || at[1] == '-'));
        n = digits(at, r->end);
        if (n == 0)
            return false;
        at += n;
    }
    r->at = at;
    ek__json_add(r->out, from, (size_t)(at - from));
    return true;
}

static bool copy_word(reading *r)
{
    static const struct {
        const char *text;
        bool quoted;
    } word[] = {{"true", false}, {"false", false},   {"null", false},
                {"NaN", true},   {"Infinity", true}, {"-Infinity", true}};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        size_t n = strlen(word[i].text);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, word[i].text, n) != 0)
            continue;
        ek__json_add(r->out, "\"", word[i].quoted);
        ek__json_add(r->out, r->at, n);
        ek__json_add(r->out, "\"", word[i].quoted);
        r->at += n;
        return true;
    }
    return false;
}

static bool copy_value(reading *r, int depth);

static bool copy_members(reading *r, char closing, int depth)
{
    if (parse(r, closing))
        return true;
    do {
        if (closing == '}' && !(copy_text(r) && parse(r, ':')))
            return false;
        if (!copy_value(r, depth))
            return false;
    } while (parse(r, ','));
    return parse(r, closing);
}

static bool copy_value(reading *r, int depth)
{
    skip_space(r);
    if (r->at == r->end || depth == EK__JSON_COMPACT_DEPTH)
        return false;
    switch (*r->at) {
    case '"':
        return copy_text(r);
    case '{':
        return parse(r, '{') && copy_members(r, '}', depth + 1);
    case '[':
        return parse(r, '[') && copy_members(r, ']', depth + 1);
    default:
        return copy_word(r) || copy_number(r);
    }
}

/* The character of an escape after a backslash; -1 for one beyond ASCII. */
static int escaped(const char *at)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, *at);
    if (*at != 'u')
        return letter ? meanings[letter - letters] : *at;
    char digit[5] = {at[1], at[2], at[3], at[4], '\0'};
    long code = strtol(digit, NULL, 16);
    return code < 0x80 ? (int)code : -1;
}

/* Is a sound text between its quotes the member's name, however it is written? */
static bool is_name(const char *text, size_t size, const char *name)
{
    for (size_t i = 0; i < size; i++, name++) {
        int c = text[i];
        if (c == '\\') {
            c = escaped(text + i + 1);
            i += text[i + 1] == 'u' ? 5 : 1;
        }
        if (*name == '\0' || c != *name)
            return false;
    }
    return *name == '\0';
}

/* The members of the outermost object; only the value of the wanted one stays in `out`, from `begin` on. */
static bool pick(reading *r, const char *member, size_t begin, bool *found)
{
    size_t kept = begin;
    if (!parse(r, '{'))
        return false;
    r->out->n = begin;
    if (parse(r, '}')) {
        r->out->n = begin;
        return true;
    }
    do {
        r->out->n = kept;
        size_t key = r->out->n;
        if (!copy_text(r))
            return false;
        bool wanted = !r->out->out_of_memory && is_name(r->out->at + key + 1, r->out->n - key - 2, member);
        r->out->n = wanted ? begin : kept;
        if (!parse(r, ':'))
            return false;
        r->out->n = wanted ? begin : kept;
        if (!copy_value(r, 1))
            return false;
        kept = wanted ? r->out->n : kept;
        *found = *found || wanted;
        r->out->n = kept;
    } while (parse(r, ','));
    bool closed = parse(r, '}');
    r->out->n = kept;
    return closed;
}

bool ek__json_compact(const char *text, size_t size, const char *member, ek__json_text *out, bool *found)
{
    size_t begin = out->n;
    reading r = {text, text + size, out};
    bool has = false, sound = pick(&r, member, begin, &has);
    skip_space(&r);
    if (!sound || r.at != r.end || out->out_of_memory) {
        out->n = begin;
        return false;
    }
    *found = has;
    return true;
}

void ek__json_quote(const char *bytes, size_t size, ek__json_text *out)
{
    ek__json_add(out, "\"", 1);
    for (size_t i = 0, from = 0; i <= size; i++) {
        if (i < size && (unsigned char)bytes[i] >= 0x20 && bytes[i] != '"' && bytes[i] != '\\')
            continue;
        ek__json_add(out, bytes + from, i - from);
        from = i + 1;
        if (i < size && (unsigned char)bytes[i] < 0x20) {
            write_control(out, (unsigned char)bytes[i]);
        } else if (i < size) {
            char escaped[2] = {'\\', bytes[i]};
            ek__json_add(out, escaped, 2);
        }
    }
    ek__json_add(out, "\"", 1);
}
