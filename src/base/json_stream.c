/* Prints JSON as a stream: a stack of open objects and lists decides on commas and line breaks. */
#include "base/json_stream.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/digits.h"
#include "base/print.h"
#include "base/utf8.h"

/* The number of bytes that need no escape anywhere: printable ASCII, written in one piece for speed. */
static size_t plain_bytes(const char *text)
{
    size_t n = 0;
    while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\' && text[n] != '<')
        n++;
    return n;
}

/* Must it be written by its number? In a page `<` could end the element around the JSON, and older scripts take the two
 * separators for ends of lines. */
static bool by_number(const ek__stream *s, uint32_t code)
{
    return code < 0x20 || (code == 0x7f && !s->points) ||
           (s->in_page && (code == '<' || code == 0x2028 || code == 0x2029));
}

/* The letter of a character's escape after a backslash; 0: none. */
static char letter_of(const ek__stream *s, uint32_t code)
{
    static const char letter[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (code == '"' || code == '\\')
        return (char)code;
    return s->points && code < sizeof letter ? letter[code] : 0;
}

static void quoted(const ek__stream *s, const char *text)
{
    FILE *out = s->out;
    int length;
    fputc('"', out);
    for (uint32_t code; *text; text += length) {
        size_t plain = plain_bytes(text);
        fwrite(text, 1, plain, out);
        text += plain;
        length = ek__utf8_next(text, &code);
        if (length == 0)
            break;
        if (letter_of(s, code))
            fprintf(out, "\\%c", letter_of(s, code));
        else if (by_number(s, code))
            fprintf(out, s->points ? "\\u%04X" : "\\u%04x", (unsigned)code);
        else
            ek__utf8_print(code, out);
    }
    fputc('"', out);
}

static void new_line(const ek__stream *s)
{
    static const char blanks[1 + 2 * EK__STREAM_DEPTH + 1] = "\n                                ";
    fwrite(blanks, 1, 1 + 2 * (size_t)s->depth, s->out);
}

/* Write the text before a value: comma, line break, key. */
static void lead(ek__stream *s, const char *key)
{
    if (s->depth > 0) {
        bool lines = s->level[s->depth - 1].lines, begun = s->level[s->depth - 1].begun;
        fputs(begun ? "," : "", s->out);
        if (lines)
            new_line(s);
        else if (begun)
            fputc(' ', s->out);
        s->level[s->depth - 1].begun = true;
    }
    if (key) {
        quoted(s, key);
        fputs(": ", s->out);
    }
}

static void begin(ek__stream *s, const char *key, char opening, char closing, bool lines)
{
    assert(s->depth < EK__STREAM_DEPTH);
    lead(s, key);
    fputc(opening, s->out);
    s->level[s->depth].closing = closing;
    s->level[s->depth].lines = lines && !s->one_line;
    s->level[s->depth++].begun = false;
}

void ek__stream_object(ek__stream *s, const char *key, bool lines)
{
    begin(s, key, '{', '}', lines);
}

void ek__stream_list(ek__stream *s, const char *key, bool lines)
{
    begin(s, key, '[', ']', lines);
}

void ek__stream_end(ek__stream *s)
{
    assert(s->depth > 0);
    s->depth--;
    if (s->level[s->depth].lines && s->level[s->depth].begun)
        new_line(s);
    fputc(s->level[s->depth].closing, s->out);
}

void ek__stream_null(ek__stream *s, const char *key)
{
    lead(s, key);
    fputs("null", s->out);
}

void ek__stream_text(ek__stream *s, const char *key, const char *text)
{
    if (!text) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    quoted(s, text);
}

void ek__stream_raw(ek__stream *s, const char *key, const char *json)
{
    if (!json) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    fputs(json, s->out);
}

void ek__stream_bool(ek__stream *s, const char *key, bool value)
{
    lead(s, key);
    fputs(value ? "true" : "false", s->out);
}

void ek__stream_int(ek__stream *s, const char *key, int64_t value)
{
    if (value == INT64_MIN) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    fprintf(s->out, "%" PRId64, value);
}

void ek__stream_from(ek__stream *s, const char *key, int64_t value, int64_t least)
{
    ek__stream_int(s, key, value < least ? INT64_MIN : value);
}

void ek__stream_us(ek__stream *s, const char *key, int64_t ns)
{
    if (ns == INT64_MIN) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    fputs(ek__exact_us(ns).text, s->out);
}

void ek__stream_ms(ek__stream *s, const char *key, int64_t ns)
{
    if (ns == INT64_MIN) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(s->out, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", size / 1000000, size % 1000000);
}

void ek__stream_real(ek__stream *s, const char *key, double value)
{
    if (!isfinite(value)) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    fputs((s->points ? ek__pointed(value) : ek__real(value)).text, s->out);
}

void ek__stream_fixed(ek__stream *s, const char *key, double value, int decimals)
{
    if (!isfinite(value)) {
        ek__stream_null(s, key);
        return;
    }
    lead(s, key);
    fputs(ek__fixed(value, decimals).text, s->out);
}

void ek__stream_mean_us(ek__stream *s, const char *key, double ns)
{
    ek__stream_fixed(s, key, ns / 1000, 3);
}
