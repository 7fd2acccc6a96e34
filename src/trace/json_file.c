/* Small JSON files by jansson, with its line and column in errors. Files over a limit are refused: they would take
 * several times their size as a tree, and nothing that is read this way grows so large. */
#include "trace/json_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

ek_status ek__json_read(const ek__table_in *in, json_t **root, ek_error *err)
{
    struct stat info;
    json_error_t where;
    if (stat(in->path, &info) != 0)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){in->path, 0, 0}), "cannot be opened: %s", strerror(errno));
    if (info.st_size > EK__JSON_MAX_BYTES)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 0, 0}),
                        "is larger than the %d bytes such a file may have", EK__JSON_MAX_BYTES);
    FILE *file = fopen(in->path, "rb");
    if (!file)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){in->path, 0, 0}), "cannot be opened: %s", strerror(errno));
    char mark[3];
    if (fread(mark, 1, sizeof mark, file) != sizeof mark || memcmp(mark, "\xef\xbb\xbf", sizeof mark) != 0)
        rewind(file);
    json_t *read = json_loadf(file, 0, &where);
    fclose(file);
    if (!read && json_error_code(&where) == json_error_out_of_memory)
        return ek__no_memory(err);
    if (!read)
        return ek__fail(err, EK_ERR_INPUT,
                        ((ek_origin){in->path, where.line > 0 ? where.line : 0, where.column > 0 ? where.column : 0}),
                        "is no JSON: %s; was it cut off?", where.text);
    if (!json_is_object(read)) {
        json_decref(read);
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 1, 1}),
                        "is no JSON object; is this %s, as the file's name says?", in->source->type);
    }
    in->source->bytes = (int64_t)info.st_size;
    *root = read;
    return EK_OK;
}

bool ek__json_whole(const json_t *value, int *out)
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
