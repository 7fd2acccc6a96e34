/* Helpers shared by the readers of records: bytes of a line, growing arrays, texts, diagnostics. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "ir/reader.h"

const char *ek__ir_line_end(const char *at, const char *end)
{
    const char *feed = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return feed ? feed : end;
}

bool ek__ir_begins(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return end > at && (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

bool ek__ir_is(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return end >= at && (size_t)(end - at) == n && memcmp(at, word, n) == 0;
}

bool ek__ir_number(const char *at, const char *end, int64_t *out)
{
    if (end - at >= 2 && *at == '"' && end[-1] == '"') {
        at++;
        end--;
    }
    bool negative = at < end && *at == '-';
    int64_t number = 0;
    at += negative;
    if (at == end)
        return false;
    for (; at < end; at++)
        if (!ek__ir_is_digit(*at) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    *out = negative ? -number : number;
    return true;
}

void *ek__ir_room(ek__ir_reader *r, enum ek__ir_array which, void *array, size_t n, size_t size)
{
    if (which != EK__IR_CANON && n >= INT32_MAX) {
        r->status = r->status ? r->status : EK_ERR_INPUT;
        return NULL;
    }
    void *room = ek__with_room(array, &r->capacity[which], n + 1, size);
    if (!room)
        r->status = EK_ERR_MEMORY;
    return room;
}

uint32_t ek__ir_intern(ek__ir_reader *r, const char *at, const char *end)
{
    const char *nul = r->has_nul && end > at ? memchr(at, '\0', (size_t)(end - at)) : NULL;
    uint32_t number = ek__texts_intern(r->texts, at, (size_t)((nul ? nul : end) - at));
    if (number == UINT32_MAX)
        r->status = EK_ERR_MEMORY;
    return number;
}

static void report(ek__ir_reader *r, ek_origin origin, const char *format, va_list arguments)
{
    char message[900];
    if (r->ir->n_diagnostics++ >= EK__IR_MAX_DIAGNOSTICS)
        return;
    ek__vsnprintf(message, sizeof message, format, arguments);
    for (char *p = message; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    ek__warn(r->listener, origin, "%s", message);
}

void ek__ir_damage(ek__ir_reader *r, const char *at, const char *format, ...)
{
    ek_origin origin = {r->path, (int)r->line, 0};
    const char *line = r->begin;
    va_list arguments;
    r->damaged = true;
    if (r->ir->n_diagnostics < EK__IR_MAX_DIAGNOSTICS)
        for (const char *p = r->begin; p < at && p < r->end; p++)
            if (*p == '\n') {
                origin.line++;
                line = p + 1;
            }
    origin.column = (int)(at - line) + 1;
    va_start(arguments, format);
    report(r, origin, format, arguments);
    va_end(arguments);
}

void ek__ir_damage_line(ek__ir_reader *r, uint32_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(r, (ek_origin){r->path, (int)line, 1}, format, arguments);
    va_end(arguments);
}

void ek__ir_unmatched(ek__ir_reader *r, const ek__ir_fault *fault, const char *remedy)
{
    if (fault->at < r->end && fault->at == fault->opened)
        ek__ir_damage(r, fault->at, "brackets are more than %d deep here; %s", EK__IR_MAX_DEPTH, remedy);
    else if (fault->at < r->end)
        ek__ir_damage(r, fault->at, "'%c' does not close the '%c' before it; %s", *fault->at, *fault->opened, remedy);
    else
        ek__ir_damage(r, fault->opened, "'%c' is not closed before the next node; %s", *fault->opened, remedy);
}
