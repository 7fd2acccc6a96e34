/* Scans balanced brackets and strings in one pass over the bytes, with a table of byte classes and a stack of open
 * brackets. Strings are in double quotes, with backslash escapes; single quotes are plain text, since texts contain
 * apostrophes. */
#include <string.h>

#include "ir/reader.h"

typedef enum byte_class { PLAIN, COMMA, QUOTE, OPEN, CLOSE } byte_class;

static const uint8_t in_values[256] = {
    [','] = COMMA, ['"'] = QUOTE, ['('] = OPEN, ['['] = OPEN, ['{'] = OPEN, [')'] = CLOSE, [']'] = CLOSE, ['}'] = CLOSE,
};
static const uint8_t in_types[256] = {
    [','] = COMMA, ['"'] = QUOTE, ['('] = OPEN,  ['['] = OPEN, ['{'] = OPEN,
    [')'] = CLOSE, [']'] = CLOSE, ['}'] = CLOSE, ['<'] = OPEN, ['>'] = CLOSE,
};

static char closer_of(char opener)
{
    switch (opener) {
    case '(':
        return ')';
    case '[':
        return ']';
    case '{':
        return '}';
    default:
        return '>';
    }
}

/* The closing quote of the string that begins at `at`; NULL without one. */
static const char *string_end(const char *at, const char *end)
{
    for (const char *p = at + 1; p < end; p++) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p)
            return NULL;
        size_t n_backslashes = 0;
        while (p[-1 - (ptrdiff_t)n_backslashes] == '\\' && p - 1 - n_backslashes > at)
            n_backslashes++;
        if (n_backslashes % 2 == 0)
            return p;
    }
    return NULL;
}

static const char *fault_at(ek__ir_fault *fault, const char *at, const char *opened)
{
    *fault = (ek__ir_fault){at, opened};
    return NULL;
}

const char *ek__ir_item_end(const char *at, const char *end, ek__ir_item_kind kind, ek__ir_fault *fault)
{
    const uint8_t *class_of = kind == EK__IR_ITEM_TYPE ? in_types : in_values;
    const char *opened[EK__IR_MAX_DEPTH];
    unsigned depth = 0;
    for (const char *p = at; p < end; p++) {
        switch ((byte_class)class_of[(unsigned char)*p]) {
        case PLAIN:
            break;
        case COMMA:
            if (depth == 0 && kind != EK__IR_ITEM_WHOLE)
                return p;
            break;
        case QUOTE: {
            const char *close = string_end(p, end);
            if (!close)
                return fault_at(fault, end, p);
            p = close;
            break;
        }
        case OPEN:
            if (depth == EK__IR_MAX_DEPTH)
                return fault_at(fault, p, p);
            opened[depth++] = p;
            break;
        case CLOSE:
            if (*p == '>' && p > at && p[-1] == '-')
                break;
            if (depth == 0)
                return p;
            if (closer_of(*opened[depth - 1]) != *p)
                return fault_at(fault, p, opened[depth - 1]);
            depth--;
            break;
        }
    }
    return depth > 0 ? fault_at(fault, end, opened[depth - 1]) : end;
}
