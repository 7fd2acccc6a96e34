/* Fuzzes a profiler's database: whatever the bytes, each form that it can be read as is read to its end. Events are a
 * JSON text with an array, tables have a header and as many cells in each row, and reading in pieces of any size gives
 * the same bytes. SQLite opens files by name, so the bytes go through one of a folder in memory. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/database/database.h"

/* SQLite may make many rows of damaged pages: rows beyond this limit test nothing new. */
enum { MOST = 1 << 20 };

static const char *write_file(const uint8_t *data, size_t size)
{
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof path, "%s/evenkeel_fuzz_%ld.db", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                 (long)getpid());
    FILE *file = fopen(path, "wb");
    assert(file && fwrite(data, 1, size, file) == size);
    fclose(file);
    return path;
}

static size_t read_as(const char *path, ek__file_type type, size_t piece, char *text, bool *whole)
{
    ek__database *database;
    ek_error err;
    size_t n = 0, got = 1;
    *whole = false;
    ek_status status = ek__database_open(path, type, &database, &err);
    if (status != EK_OK) {
        assert(err.message[0]);
        return 0;
    }
    while (n < MOST && got > 0) {
        got = ek__database_read(database, text + n, piece < MOST - n ? piece : MOST - n);
        n += got;
        assert(ek__database_bytes(database) <= ek__database_total(database));
    }
    *whole = got == 0 && !ek__database_out_of_memory(database);
    ek__database_close(database);
    return n;
}

/* A text that the reader accepts as JSON must be JSON. Metadata that is not JSON is reported by that reader. */
static void check_json(ek__file_type type, const char *text, size_t n)
{
    bool needed = type == EK__FILE_TRACE || type == EK__FILE_profiler_info;
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, &error);
    bool bad_text = !root && strstr(error.text, "UTF-8"); /* names are bytes of the file */
    assert(root || !needed || bad_text || json_error_code(&error) == json_error_numeric_overflow ||
           json_error_code(&error) == json_error_null_character);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MOST], again[MOST];
    const char *path = write_file(data, size);
    uint32_t types = 0;
    ek_error err;
    if (ek__database_look(path, &types, &err) != EK_OK)
        assert(err.message[0] && types == 0);
    for (int type = 0; type < EK__N_FILE_TYPES; type++) {
        bool whole, whole_again;
        if (!(types & EK__FILE_BIT(type)))
            continue;
        size_t n = read_as(path, (ek__file_type)type, MOST, text, &whole);
        size_t m = read_as(path, (ek__file_type)type, 1000, again, &whole_again);
        assert(n == m && whole == whole_again && memcmp(text, again, n) == 0);
        if (whole && n > 0 && (*text == '{' || *text == '['))
            check_json((ek__file_type)type, text, n);
    }
    unlink(path);
    return 0;
}
