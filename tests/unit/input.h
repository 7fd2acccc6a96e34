/* input.h - shared parts of the tests of readers: cmocka, files of the source tree, a listener that collects
 * warnings. */
#ifndef TESTS_UNIT_INPUT_H
#define TESTS_UNIT_INPUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evenkeel/error.h"

/* "ROOT/name" in a static buffer; ROOT from the environment. */
static inline const char *source_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("EK_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    return path;
}

/* The whole file, NUL-terminated; the caller frees it. NULL when it cannot be opened. */
static inline char *slurp(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    *size = fread(text, 1, (size_t)length, file);
    text[*size] = '\0';
    fclose(file);
    return text;
}

/* A number just outside a range, below it (0) or above (1), or else a text that is none. */
static inline const char *outside(int which, int64_t least, int64_t most, const char *none)
{
    static char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(which == 0 ? least - 1 : most + 1));
    return which < 2 ? text : none;
}

/* Everything a reader said, one "line:column: message" per line. */
typedef struct said {
    char text[16384];
    size_t length;
    int n_warnings;
} said;

static inline void say(said *s, const char *kind, const ek_error *err)
{
    int n = snprintf(s->text + s->length, sizeof s->text - s->length, "%d:%d: %s%s\n", err->line, err->column, kind,
                     err->message);
    s->length += (size_t)n < sizeof s->text - s->length ? (size_t)n : sizeof s->text - s->length - 1;
}

static inline void say_warning(void *user, const ek_error *warning)
{
    said *s = user;
    s->n_warnings++;
    say(s, "warning: ", warning);
}

#endif
