/* Reads a complete file and parses it with jansson, whose errors have line and column; one pass before that makes texts
 * of the words NaN and Infinity, of the same length each. Not for traces themselves: a tree takes many times the
 * file. */
#include "trace/text/side_json.h"

#include "trace/database/database.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 1e15

static ek_status read_all(const char *path, char **out, size_t *size, ek_error *err)
{
    const ek_origin origin = {.file = path};
    FILE *file = fopen(path, "rb");
    if (!file)
        return ek__fail(err, ek__system_status(), origin, "cannot open: %s", strerror(errno));
    ek_status status = EK_OK;
    char *text = NULL;
    size_t n = 0, capacity = 0;
    for (;;) {
        char *larger = ek__with_room(text, &capacity, n + (64 << 10), 1);
        if (!larger) {
            status = ek__no_memory(err);
            break;
        }
        text = larger;
        size_t got = fread(text + n, 1, capacity - n, file);
        n += got;
        if (got == 0)
            break;
        if (n >> 20 >= EK__SIDE_JSON_MAX_MB) {
            status = ek__fail(err, EK_ERR_INPUT, origin,
                              "has %d MB or more, the limit of such a file; profile fewer steps", EK__SIDE_JSON_MAX_MB);
            break;
        }
    }
    if (!status && ferror(file))
        status = ek__fail(err, ek__system_status(), origin, "cannot read: %s", strerror(errno));
    fclose(file);
    if (status) {
        free(text);
        return status;
    }
    *out = text;
    *size = n;
    return EK_OK;
}

/* Make a text of the word at `at`, if it is one of Python's. Returns its length, or 0. */
static size_t quote_word(char *at, const char *end)
{
    static const char *const words[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0) {
            at[0] = at[size - 1] = '"';
            return size;
        }
    }
    return 0;
}

static void quote_words(char *text, size_t size)
{
    const char *end = text + size;
    for (char *c = text; c < end; c++) {
        if (*c == '"') {
            for (c++; c < end && *c != '"'; c++)
                if (*c == '\\')
                    c++;
        } else if (*c == 'N' || *c == 'I' || *c == '-') {
            size_t taken = quote_word(c, end);
            if (taken > 0)
                c += taken - 1;
        }
    }
}

/* When jansson has no memory for an item, it gives another reason, or none at all. An error of the text itself occurs
 * again. */
static bool is_no_memory(const json_error_t *first, const json_error_t *second)
{
    return json_error_code(second) == json_error_out_of_memory || !*second->text ||
           first->position != second->position || strcmp(first->text, second->text) != 0;
}

json_t *ek__json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory)
{
    json_error_t first;
    json_t *root = json_loadb(text, size, flags, &first);
    *no_memory = false;
    if (!root)
        root = json_loadb(text, size, flags, error);
    *no_memory = !root && is_no_memory(&first, error);
    return root;
}

json_t *ek__json_load_file(const char *path, bool *no_memory)
{
    json_error_t first, error;
    json_t *root = json_load_file(path, 0, &first);
    if (!root)
        root = json_load_file(path, 0, &error);
    *no_memory = !root && is_no_memory(&first, &error);
    return root;
}

ek_status ek__side_json_parse(char *text, size_t size, ek_origin origin, json_t **out, ek_error *err)
{
    size_t skip = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    size_t blank = skip;
    while (blank < size && strchr(" \t\r\n", text[blank]) && text[blank])
        blank++;
    if (blank == size)
        return ek__fail(err, EK_ERR_INPUT, origin, "empty; was the profiler stopped before writing the file?");
    quote_words(text + skip, size - skip);
    json_error_t error;
    bool no_memory;
    json_t *root = ek__json_load(text + skip, size - skip, 0, &error, &no_memory);
    if (!root && json_error_code(&error) == json_error_numeric_overflow)
        root = ek__json_load(text + skip, size - skip, JSON_DECODE_INT_AS_REAL, &error, &no_memory);
    if (root) {
        *out = root;
        return EK_OK;
    }
    if (no_memory)
        return ek__no_memory(err);
    const ek_origin at = {origin.file, origin.line ? origin.line : error.line, origin.line ? 0 : error.column};
    return ek__fail(err, EK_ERR_INPUT, at, "is no JSON: %s; the file is damaged or truncated, export it again",
                    error.text);
}

/* The same of a database that is read as such a file. */
static ek_status read_database(const ek__table_in *in, char **out, size_t *size, ek_error *err)
{
    const ek_origin origin = {.file = in->path};
    ek__database *database;
    char *text = NULL;
    size_t n = 0, capacity = 0, got = 1;
    ek_status status = ek__database_open(in->path, in->type, &database, err);
    if (status)
        return status;
    while (status == EK_OK && got > 0) {
        char *larger = ek__with_room(text, &capacity, n + (64 << 10), 1);
        text = larger ? larger : text;
        got = larger ? ek__database_read(database, text + n, capacity - n) : 0;
        n += got;
        if (!larger || ek__database_out_of_memory(database))
            status = ek__no_memory(err);
        else if (n >> 20 >= EK__SIDE_JSON_MAX_MB)
            status = ek__fail(err, EK_ERR_INPUT, origin, "has %d MB or more of %s, the limit; profile fewer steps",
                              EK__SIDE_JSON_MAX_MB, in->source->type);
    }
    const char *problem = ek__database_problem(database);
    if (status == EK_OK && problem && !(in->source->problem = ek__pool_text(in->rank->pool, problem, strlen(problem))))
        status = ek__no_memory(err);
    in->source->bytes = ek__database_bytes(database);
    ek__database_close(database);
    *out = text;
    *size = n;
    return status;
}

ek_status ek__side_json_read(const ek__table_in *in, json_t **out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    json_t *root = NULL;
    ek_status status = in->database ? read_database(in, &text, &size, err) : read_all(in->path, &text, &size, err);
    if (!status)
        status = ek__side_json_parse(text, size, (ek_origin){.file = in->path}, &root, err);
    free(text);
    if (status)
        return status;
    if (!json_is_object(root)) {
        json_decref(root);
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 1, 1}),
                        "is no JSON object; is this %s, as its file name suggests?", in->source->type);
    }
    if (!in->database)
        in->source->bytes = (int64_t)size;
    *out = root;
    return EK_OK;
}

ek_status ek__side_json_steps(const ek__table_in *in, json_t *root, const char *what, ek__left_out *left,
                              ek__take_section *take, void *user, ek_error *err)
{
    const char *name;
    json_t *step;
    int n_known = 0;
    json_object_foreach(root, name, step)
    {
        json_t *p2p = json_object_get(step, "p2p"), *collective = json_object_get(step, "collective");
        if (!json_is_object(p2p) && !json_is_object(collective)) {
            ek__left_out_add(left, "'%.80s' has neither p2p nor collective", name);
            continue;
        }
        n_known++;
        const char *kept = ek__pool_text(in->rank->pool, name, strlen(name));
        ek_status status = kept ? take(user, kept, true, p2p, err) : ek__no_memory(err);
        if (!status)
            status = take(user, kept, false, collective, err);
        if (status)
            return status;
    }
    if (n_known == 0 && json_object_size(root) > 0)
        return ek__fail(err, EK_ERR_INPUT, (ek_origin){.file = in->path},
                        "no %s: steps with p2p or collective are expected; give the file as the profiler wrote it",
                        what);
    return EK_OK;
}

bool ek__side_json_number(const json_t *object, const char *key, bool required, double *value)
{
    const json_t *found = json_object_get(object, key);
    if (!found) {
        *value = 0;
        return !required;
    }
    if (!json_is_number(found))
        return false;
    *value = json_number_value(found);
    return fabs(*value) <= LARGEST;
}

bool ek__side_json_whole(const json_t *value, int *out)
{
    json_int_t number = -1;
    if (json_is_integer(value)) {
        number = json_integer_value(value);
    } else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        size_t n = strlen(text);
        if (n > 0 && n <= 9 && strspn(text, "0123456789") == n)
            number = (json_int_t)strtol(text, NULL, 10);
    }
    if (number < 0 || number > INT_MAX)
        return false;
    *out = (int)number;
    return true;
}
