/* JSON by jansson, reals with 15 significant digits. */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/report_internal.h"

void ek__json_put(ek__json *b, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        b->failed = true;
}

void ek__json_append(ek__json *b, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        b->failed = true;
}

json_t *ek__json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* A name cut at EK_NAME_SIZE may end inside a character, which jansson refuses. */
json_t *ek__json_string(const char *text)
{
    char *clean = ek__alloc(strlen(text), 3); /* U+FFFD takes three bytes */
    size_t n = 0;
    int length;
    if (!clean)
        return NULL;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length)
        n += (size_t)ek__utf8_put(code, clean + n);
    json_t *string = json_stringn(clean, n);
    free(clean);
    return string;
}

void ek__json_dump(const json_t *root, FILE *out)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
    const char *key, *separator = "{\n";
    json_t *value;
    /* A failed write shows in ferror(), which ek__finish() asks. */
    json_object_foreach((json_t *)root, key, value)
    {
        fprintf(out, "%s  \"%s\": ", separator, key);
        json_dumpf(value, out, flags);
        separator = ",\n";
    }
    fputs("\n}", out);
}

ek_status ek__json_finish(const ek__json *b, json_t *root, FILE *out, ek_error *err)
{
    if (!root || b->failed) {
        json_decref(root);
        return ek__no_memory(err);
    }
    ek__json_dump(root, out);
    json_decref(root);
    fputc('\n', out);
    return ek__finish(out, err);
}
