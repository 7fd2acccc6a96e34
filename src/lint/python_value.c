/* The value of an expression without running it: literals in any brackets, with a sign. Nothing is evaluated, so that
 * a name, a sum or a string with escapes stays unknown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lint/python.h"

/* The inside of a string token: false with escapes, or as bytes. */
static bool string_inside(const ek__python *p, int token, const char **text, size_t *size)
{
    const ek__python_token *t = &p->token[token];
    const char *c = p->text + t->at;
    size_t prefix = 0;
    while (c[prefix] != '"' && c[prefix] != '\'') {
        if ((c[prefix] | 0x20) == 'b')
            return false;
        prefix++;
    }
    size_t quotes = (size_t)t->size >= prefix + 6 && c[prefix + 1] == c[prefix] && c[prefix + 2] == c[prefix] ? 3 : 1;
    *text = c + prefix + quotes;
    *size = (size_t)t->size - prefix - 2 * quotes;
    return !memchr(*text, '\\', *size);
}

static ek__python_literal text_of(const ek__python *p, int begin, int end)
{
    ek__python_literal out = {.kind = EK__PYTHON_TEXT}, unknown = {0};
    size_t n = 0;
    for (int i = begin; i < end; i++) {
        const char *text;
        size_t size;
        if (p->token[i].kind != EK__PYTHON_STRING || !string_inside(p, i, &text, &size) || n + size >= sizeof out.text)
            return unknown;
        memcpy(out.text + n, text, size);
        n += size;
    }
    return out;
}

static ek__python_literal number_of(const ek__python *p, int token, bool negative)
{
    ek__python_literal out = {0};
    const ek__python_token *t = &p->token[token];
    char text[32], *end;
    size_t n = 0;
    for (int i = 0; i < t->size; i++) {
        char c = p->text[t->at + i];
        if (n + 1 == sizeof text)
            return out;
        if (c != '_')
            text[n++] = c;
    }
    text[n] = '\0';
    errno = 0;
    bool sixteen = n > 1 && (text[1] | 0x20) == 'x';
    long long value = strtoll(text, &end, sixteen ? 16 : 10);
    if (errno || *end)
        return out;
    out.kind = EK__PYTHON_WHOLE;
    out.whole = negative ? -value : value;
    return out;
}

ek__python_literal ek__python_value(const ek__python *python, int begin, int end)
{
    ek__python_literal out = {0};
    while (end - begin > 2 && ek__python_is(python, begin, "(") && python->token[begin].partner == end - 1) {
        begin++;
        end--;
    }
    if (begin >= end)
        return out;
    ek__python_kind kind = python->token[begin].kind;
    bool sign = ek__python_is(python, begin, "-");
    if (kind == EK__PYTHON_STRING)
        return text_of(python, begin, end);
    if (end - begin == 1 + sign && python->token[end - 1].kind == EK__PYTHON_NUMBER)
        return number_of(python, end - 1, sign);
    if (end - begin != 1)
        return out;
    if (ek__python_is(python, begin, "True"))
        out.kind = EK__PYTHON_TRUE;
    else if (ek__python_is(python, begin, "False"))
        out.kind = EK__PYTHON_FALSE;
    else if (ek__python_is(python, begin, "None"))
        out.kind = EK__PYTHON_NONE;
    return out;
}

const ek__python_argument *ek__python_argument_of(const ek__python *python, const ek__python_call *call,
                                                  const char *keyword, int place)
{
    const ek__python_argument *all = python->argument + call->first_argument;
    for (int i = 0; i < call->n_arguments; i++) {
        if (all[i].keyword ? strcmp(all[i].keyword, keyword) == 0 : i == place)
            return &all[i];
        if (!all[i].keyword && ek__python_is(python, all[i].begin, "*"))
            place = -1; /* places after it are not known */
    }
    return NULL;
}

bool ek__python_is(const ek__python *python, int token, const char *text)
{
    if (token < 0 || token >= python->n_tokens)
        return false;
    const ek__python_token *t = &python->token[token];
    return (size_t)t->size == strlen(text) && memcmp(python->text + t->at, text, (size_t)t->size) == 0;
}

int ek__python_end_column(const ek__python *python, int token)
{
    const ek__python_token *t = &python->token[token];
    int column = t->column;
    for (int i = t->at; i < t->at + t->size; i++) {
        if (python->text[i] == '\n')
            return 0;
        column += ((unsigned char)python->text[i] & 0xC0) != 0x80;
    }
    return column;
}
