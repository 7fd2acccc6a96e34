/* Reads fields of a log's line by their names. Nothing is copied or matched with a pattern: a line may contain another
 * process's line, colours or a carriage return, and its end may be missing, so a record is the text between two
 * openings, and a number at the end of the bytes is ignored. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "metrics/log_lines.h"

enum { MAX_NUMBER = 40, ESCAPE = 0x1b };

/* The place after blanks and colour codes. */
static const unsigned char *skip(const unsigned char *s, const unsigned char *end)
{
    for (;;) {
        while (s < end && (*s == ' ' || *s == '\t'))
            s++;
        if (s + 1 >= end || *s != ESCAPE || s[1] != '[')
            return s;
        for (s += 2; s < end && !ek__is_alpha(*s);)
            s++;
        s += s < end;
    }
}

static const unsigned char *find(const unsigned char *from, const unsigned char *end, const char *text)
{
    size_t n = strlen(text);
    for (const unsigned char *s = from; s < end && (size_t)(end - s) >= n; s++) {
        s = memchr(s, text[0], (size_t)(end - s) - n + 1);
        if (!s)
            return NULL;
        if (memcmp(s, text, n) == 0)
            return s;
    }
    return NULL;
}

/* The next `opening` followed by a digit. */
static const unsigned char *find_opening(const unsigned char *from, const unsigned char *end, const char *opening)
{
    size_t n = strlen(opening);
    for (const unsigned char *s = from; (s = find(s, end, opening)); s += n) {
        const unsigned char *digit = skip(s + n, end);
        if (digit < end && isdigit(*digit))
            return s;
    }
    return NULL;
}

bool ek__record_around(const ek__hit *hit, const char *opening, ek__record *out)
{
    const unsigned char *start = NULL, *next;
    for (const unsigned char *s = hit->start; (s = find_opening(s, hit->at, opening)); s += strlen(opening))
        start = s;
    if (!start)
        return false;
    next = find_opening(hit->at, hit->end, opening);
    *out = (ek__record){start, next ? next : hit->end, !next && hit->cut};
    return true;
}

const unsigned char *ek__record_find(const ek__record *record, const char *name)
{
    const unsigned char *at = find(record->start, record->end, name);
    return at ? at + strlen(name) : NULL;
}

double ek__record_number(const ek__record *record, const unsigned char *at, const unsigned char **end)
{
    char digits[MAX_NUMBER + 1], *stop;
    size_t n = 0;
    const unsigned char *s = at;
    while ((s = skip(s, record->end)) < record->end && (*s == '[' || *s == ':'))
        s++;
    for (; s < record->end && n < MAX_NUMBER && (ek__is_alnum(*s) || *s == '.' || *s == '-' || *s == '+'); s++)
        digits[n++] = (char)*s;
    digits[n] = '\0';
    if (n == 0 || n == MAX_NUMBER || !(isdigit((unsigned char)digits[0]) || strchr("+-.", digits[0])) ||
        digits[1] == 'x' || digits[1] == 'X' || (s == record->end && record->cut))
        return NAN;
    double value = ek__strtod(digits, &stop);
    if (stop == digits || !isfinite(value))
        return NAN;
    if (end)
        *end = s - n + (stop - digits);
    return value;
}

double ek__record_value(const ek__record *record, const char *name)
{
    const unsigned char *at = ek__record_find(record, name);
    return at ? ek__record_number(record, at, NULL) : NAN;
}

ek_train_log_step ek__no_step(const ek__hit *hit)
{
    return (ek_train_log_step){.step = -1,
                               .line = hit->line,
                               .seconds = NAN,
                               .data_seconds = NAN,
                               .loss = NAN,
                               .samples_per_second_per_device = NAN,
                               .tokens_per_second_per_device = NAN,
                               .tflops_per_device = NAN,
                               .global_batch = NAN};
}
