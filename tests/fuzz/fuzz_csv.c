/* Fuzzes CSV: whatever the bytes, rows end, cells are text within the file's size, and a file reads like memory. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "trace/text/csv.h"

static void check_row(const ek__csv *file, const ek__csv *memory, size_t size)
{
    assert(ek__csv_line(file) == ek__csv_line(memory));
    for (int i = 0; i < ek__csv_n_columns(file); i++) {
        int64_t value;
        double number;
        const char *cell = ek__csv_cell(file, i);
        assert(strlen(cell) <= size && strcmp(cell, ek__csv_cell(memory, i)) == 0);
        assert(ek__csv_column(file, ek__csv_header(file, i), NULL) <= i);
        ek__csv_us(file, i, &value);
        ek__csv_int(file, i, &value);
        ek__csv_number(file, i, &number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek__csv *file = NULL, *memory = NULL;
    ek_status status = ek__csv_open(fuzz_file(data, size), &file, &err);
    assert(ek__csv_open_buffer("memory", (const char *)data, size, &memory, NULL) == status);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0] && !file && !memory));
    for (bool more = true, same; status == EK_OK && more;) {
        status = ek__csv_next(file, &more, &err);
        assert(ek__csv_next(memory, &same, NULL) == status);
        if (status == EK_OK) {
            assert(more == same);
            check_row(file, memory, size);
        }
    }
    ek__csv_close(file);
    ek__csv_close(memory);
    return 0;
}
