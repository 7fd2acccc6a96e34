/* Reads comma-separated tables in one pass over the bytes: a row is stored in one piece in a buffer that slides along
 * the file, its cells are cut and unquoted in place. A NUL after the last byte read ends every inner loop, so that
 * those compare one byte at a time only with the characters that end a cell. Encodings other than UTF-8 and separators
 * other than the comma are not handled; NUL bytes become '?'. */
#include "trace/text/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "trace/database/database.h"
#include "trace/trace.h"

enum { CHUNK = 256 << 10 };

/* A cell of the current row, from its start. */
typedef struct cell {
    uint32_t at, size;
} cell;

struct ek__csv {
    char *name;
    int fd; /* -1: from memory, or from `database` */
    ek__database *database;
    const char *memory; /* the rest of it */
    size_t memory_left;
    char *buffer; /* the row is at [begin, begin + at), the data read ends at `end`, followed by a NUL */
    size_t capacity, begin, at, end;
    bool at_end, skip_line_feed; /* after a CR that ended a row: its LF is no row of its own */
    int64_t bytes, line, row_line;
    size_t line_start; /* of the line that `at` is in, from the row's start */
    size_t n_cells, max_cells, cells_room;
    cell *cell;
    int n_columns;
    char **header; /* [n_columns], and their text */
    char *header_text;
};

static const bool ends_plain[256] = {['\0'] = true, [','] = true, ['\r'] = true, ['\n'] = true};
static const bool stops_quoted[256] = {['\0'] = true, ['"'] = true, ['\r'] = true, ['\n'] = true};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static ek_origin place(const ek__csv *csv, int64_t line, size_t column)
{
    return (ek_origin){csv->name, line < INT_MAX ? (int)line : INT_MAX, column < INT_MAX ? (int)column : INT_MAX};
}

static ek_origin here(const ek__csv *csv)
{
    return place(csv, csv->line, csv->at - csv->line_start + 1);
}

/* ---- bytes ---- */

/* An unreadable part ends the table: rows so far were valid. */
static ek_status read_database(ek__csv *csv, char *to, size_t room, size_t *n, ek_error *err)
{
    *n = ek__database_read(csv->database, to, room);
    const char *problem = ek__database_problem(csv->database);
    if (ek__database_out_of_memory(csv->database))
        return ek__no_memory(err);
    if (*n == 0 && problem)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){csv->name, 0, 0}), "%s", problem);
    return EK_OK;
}

static ek_status read_some(ek__csv *csv, char *to, size_t room, size_t *n, ek_error *err)
{
    if (csv->database)
        return read_database(csv, to, room, n, err);
    if (csv->fd < 0) {
        *n = room < csv->memory_left ? room : csv->memory_left;
        if (*n > 0)
            memcpy(to, csv->memory, *n);
        csv->memory += *n;
        csv->memory_left -= *n;
        return EK_OK;
    }
    ssize_t got;
    do
        got = read(csv->fd, to, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return ek__fail(err, ek__system_status(), ((ek_origin){csv->name, 0, 0}), "cannot be read: %s",
                        strerror(errno));
    *n = (size_t)got;
    return EK_OK;
}

/* Read more bytes after the present ones; at_end when there are none. The row moves to the front of the buffer. */
static ek_status fill(ek__csv *csv, ek_error *err)
{
    if (csv->at_end)
        return EK_OK;
    csv->end -= csv->begin;
    if (csv->begin > 0 && csv->end > 0)
        memmove(csv->buffer, csv->buffer + csv->begin, csv->end);
    csv->begin = 0;
    if (csv->end > EK__CSV_MAX_ROW)
        return ek__fail(err, EK_ERR_INPUT, place(csv, csv->row_line, 1),
                        "this row is longer than %d bytes; is a quote not closed, or is this no CSV file? The rows "
                        "before it were read",
                        EK__CSV_MAX_ROW);
    char *grown = ek__with_room(csv->buffer, &csv->capacity, csv->end + CHUNK + 1, 1);
    if (!grown)
        return ek__no_memory(err);
    csv->buffer = grown;
    size_t n;
    ek_status status = read_some(csv, csv->buffer + csv->end, CHUNK, &n, err);
    if (status)
        return status;
    csv->end += n;
    csv->buffer[csv->end] = '\0';
    csv->bytes += (int64_t)n;
    csv->at_end = n == 0;
    return EK_OK;
}

/* At a NUL: the end of the data, or a byte of the file, which is replaced. */
static ek_status pass_nul(ek__csv *csv, bool *end, ek_error *err)
{
    *end = false;
    if (csv->begin + csv->at < csv->end) {
        csv->buffer[csv->begin + csv->at] = '?';
        return EK_OK;
    }
    ek_status status = fill(csv, err);
    *end = csv->begin + csv->at >= csv->end;
    return status;
}

/* ---- cells ---- */

/* Store the text [from, to) of the row without blanks around it, and without one pair of quotes around that. Called
 * when csv->at is at the character that ended the cell, which the NUL may overwrite. */
static ek_status keep_cell(ek__csv *csv, size_t from, size_t to, ek_error *err)
{
    if (csv->n_cells >= csv->max_cells)
        return EK_OK;
    const char *row = csv->buffer + csv->begin;
    while (from < to && is_blank(row[from]))
        from++;
    while (from < to && is_blank(row[to - 1]))
        to--;
    if (to - from >= 2 && row[from] == '"' && row[to - 1] == '"' && !memchr(row + from + 1, '"', to - from - 2)) {
        for (from++, to--; from < to && is_blank(row[from]);)
            from++;
        while (from < to && is_blank(row[to - 1]))
            to--;
    }
    if (csv->n_cells >= csv->cells_room) {
        cell *grown = ek__with_room(csv->cell, &csv->cells_room, csv->n_cells + 1, sizeof *grown);
        if (!grown)
            return ek__no_memory(err);
        csv->cell = grown;
    }
    csv->cell[csv->n_cells++] = (cell){(uint32_t)from, (uint32_t)(to - from)};
    return EK_OK;
}

/* To the comma, line end or end of the file. */
static ek_status pass_plain(ek__csv *csv, ek_error *err)
{
    for (bool end = false;;) {
        const char *row = csv->buffer + csv->begin, *p = row + csv->at;
        while (!ends_plain[(unsigned char)*p])
            p++;
        csv->at = (size_t)(p - row);
        if (*p != '\0')
            return EK_OK;
        ek_status status = pass_nul(csv, &end, err);
        if (status || end)
            return status;
    }
}

static void count_line(ek__csv *csv)
{
    const char *at = csv->buffer + csv->begin + csv->at;
    if (*at == '\r' || at[-1] != '\r')
        csv->line++;
    csv->line_start = csv->at + 1;
}

/* From after an opening quote to after the closing one; the text moves together at *to. */
static ek_status pass_quoted(ek__csv *csv, size_t *to, ek_error *err)
{
    ek_origin opened = here(csv);
    size_t from = csv->at, write = csv->at;
    opened.column--;
    for (;;) {
        char *row = csv->buffer + csv->begin;
        const char *p = row + csv->at;
        while (!stops_quoted[(unsigned char)*p])
            p++;
        csv->at = (size_t)(p - row);
        bool end = false;
        ek_status status = EK_OK;
        if (*p == '\0') {
            status = pass_nul(csv, &end, err);
            if (status)
                return status;
            if (end)
                return ek__fail(err, EK_ERR_INPUT, opened,
                                "the quote that opens here never closes; the rows before it were read");
            continue;
        }
        if (*p != '"') {
            count_line(csv);
            csv->at++;
            continue;
        }
        if (csv->begin + csv->at + 1 >= csv->end)
            status = fill(csv, err);
        if (status)
            return status;
        row = csv->buffer + csv->begin;
        bool doubled = csv->begin + csv->at + 1 < csv->end && row[csv->at + 1] == '"';
        size_t n = csv->at + (doubled ? 1 : 0) - from;
        if (write != from)
            memmove(row + write, row + from, n);
        write += n;
        csv->at += doubled ? 2 : 1;
        from = csv->at;
        if (!doubled) {
            *to = write;
            return EK_OK;
        }
    }
}

/* Plain cells one after another, as long as all of each is in the buffer: most tables contain no others. Stops before
 * any other cell, or after a row's last. */
static bool read_plain_cells(ek__csv *csv)
{
    char *row = csv->buffer + csv->begin, *p = row + csv->at;
    for (;;) {
        char *from = p, *to;
        while (!ends_plain[(unsigned char)*p] && *p != '"')
            p++;
        if (*p == '\0' || *p == '"' || csv->n_cells >= csv->max_cells || csv->n_cells >= csv->cells_room)
            return false;
        for (to = p; from < to && is_blank(*from);)
            from++;
        while (from < to && is_blank(to[-1]))
            to--;
        csv->cell[csv->n_cells++] = (cell){(uint32_t)(from - row), (uint32_t)(to - from)};
        csv->at = (size_t)(p - row);
        if (*p++ != ',')
            return true;
        csv->at++;
    }
}

/* One cell with its end, the comma or line end. */
static ek_status read_cell(ek__csv *csv, ek_error *err)
{
    ek_status status = EK_OK;
    size_t start = csv->at;
    for (bool end = false; status == EK_OK && !end;) {
        const char *row = csv->buffer + csv->begin;
        while (is_blank(row[csv->at]))
            csv->at++;
        if (row[csv->at] == '\0' && csv->begin + csv->at >= csv->end)
            status = pass_nul(csv, &end, err);
        else
            break;
    }
    if (status)
        return status;
    if (csv->buffer[csv->begin + csv->at] != '"') {
        status = pass_plain(csv, err);
        return status ? status : keep_cell(csv, start, csv->at, err);
    }
    size_t to;
    start = ++csv->at;
    status = pass_quoted(csv, &to, err);
    if (status)
        return status;
    /* Text after a closing quote is not CSV; it stays unchanged. */
    size_t behind = csv->at;
    status = pass_plain(csv, err);
    if (status)
        return status;
    memmove(csv->buffer + csv->begin + to, csv->buffer + csv->begin + behind, csv->at - behind);
    return keep_cell(csv, start, to + (csv->at - behind), err);
}

/* ---- rows ---- */

/* To the first byte of the next row. */
static ek_status start_row(ek__csv *csv, ek_error *err)
{
    csv->begin += csv->at;
    csv->at = csv->line_start = csv->n_cells = 0;
    for (;;) {
        if (csv->begin >= csv->end) {
            ek_status status = fill(csv, err);
            if (status || csv->at_end)
                return status;
        }
        if (!csv->skip_line_feed || csv->buffer[csv->begin] != '\n')
            break;
        csv->skip_line_feed = false;
        csv->begin++;
    }
    csv->skip_line_feed = false;
    return EK_OK;
}

/* A row with its line end; *more false at the end of the file. */
static ek_status read_row(ek__csv *csv, bool *more, ek_error *err)
{
    ek_status status = start_row(csv, err);
    *more = csv->begin < csv->end;
    csv->row_line = csv->line;
    if (status || !*more)
        return status;
    for (;;) {
        if (!read_plain_cells(csv))
            status = read_cell(csv, err);
        if (status)
            return status;
        size_t at = csv->begin + csv->at;
        char stop = at < csv->end ? csv->buffer[at] : '\0';
        csv->at += stop != '\0';
        if (stop == ',')
            continue;
        if (stop != '\0')
            csv->line++;
        csv->skip_line_feed = stop == '\r';
        break;
    }
    for (size_t i = 0; i < csv->n_cells; i++)
        csv->buffer[csv->begin + csv->cell[i].at + csv->cell[i].size] = '\0';
    return EK_OK;
}

static bool is_empty_row(const ek__csv *csv)
{
    return csv->n_cells <= 1 && (csv->n_cells == 0 || csv->cell[0].size == 0);
}

ek_status ek__csv_next(ek__csv *csv, bool *more, ek_error *err)
{
    ek_status status;
    do
        status = read_row(csv, more, err);
    while (status == EK_OK && *more && is_empty_row(csv));
    if (status || !*more)
        csv->n_cells = 0;
    return status;
}

/* ---- header ---- */

static ek_status keep_header(ek__csv *csv, ek_error *err)
{
    size_t n = csv->n_cells, bytes = 0;
    if (n > EK__CSV_MAX_COLUMNS)
        return ek__fail(err, EK_ERR_INPUT, place(csv, csv->row_line, 1),
                        "the header names more than %d columns; is this a CSV file?", EK__CSV_MAX_COLUMNS);
    while (n > 1 && csv->cell[n - 1].size == 0)
        n--;
    for (size_t i = 0; i < n; i++)
        bytes += csv->cell[i].size + 1;
    csv->header = ek__alloc(n, sizeof *csv->header);
    csv->header_text = ek__alloc(bytes, 1);
    if (!csv->header || !csv->header_text)
        return ek__no_memory(err);
    char *to = csv->header_text;
    for (size_t i = 0; i < n; i++) {
        csv->header[i] = to;
        memcpy(to, csv->buffer + csv->begin + csv->cell[i].at, csv->cell[i].size + 1);
        to += csv->cell[i].size + 1;
    }
    csv->n_columns = (int)n;
    csv->max_cells = n;
    return EK_OK;
}

static ek_status pass_mark(ek__csv *csv, ek_error *err)
{
    ek_status status = EK_OK;
    while (status == EK_OK && csv->end < 3 && !csv->at_end)
        status = fill(csv, err);
    if (status)
        return status;
    const char *b = csv->buffer;
    if (csv->end >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0))
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){csv->name, 1, 1}),
                        "is in UTF-16; write it in UTF-8, as profilers do");
    if (csv->end >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
        csv->begin = 3;
    return EK_OK;
}

static ek_status read_header(ek__csv *csv, ek_error *err)
{
    bool more = true;
    csv->line = csv->row_line = 1;
    csv->max_cells = EK__CSV_MAX_COLUMNS + 1;
    ek_status status = pass_mark(csv, err);
    do
        status = status ? status : read_row(csv, &more, err);
    while (status == EK_OK && more && is_empty_row(csv));
    if (status)
        return status;
    if (!more)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){csv->name, 0, 0}),
                        "is empty; a table begins with a header line of column names");
    return keep_header(csv, err);
}

static ek_status start(const char *name, ek__csv **out, ek_error *err)
{
    ek__csv *csv = ek__alloc(1, sizeof *csv);
    size_t size = strlen(name) + 1;
    char *copy = csv ? ek__alloc(size, 1) : NULL;
    if (!copy) {
        free(csv);
        return ek__no_memory(err);
    }
    memcpy(copy, name, size);
    csv->name = copy;
    csv->fd = -1;
    *out = csv;
    return EK_OK;
}

static ek_status finish(ek__csv *csv, ek__csv **out, ek_error *err)
{
    ek_status status = read_header(csv, err);
    if (status)
        ek__csv_close(csv);
    else
        *out = csv;
    return status;
}

ek_status ek__csv_open(const char *path, ek__csv **out, ek_error *err)
{
    ek__csv *csv;
    ek_status status = start(path, &csv, err);
    if (status)
        return status;
    csv->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (csv->fd < 0) {
        int reason = errno;
        ek__csv_close(csv);
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "cannot be opened: %s", strerror(reason));
    }
    return finish(csv, out, err);
}

ek_status ek__csv_open_database(const char *name, ek__database *database, ek__csv **out, ek_error *err)
{
    ek__csv *csv;
    ek_status status = start(name, &csv, err);
    if (status) {
        ek__database_close(database);
        return status;
    }
    csv->database = database;
    return finish(csv, out, err);
}

ek_status ek__csv_open_buffer(const char *name, const char *text, size_t size, ek__csv **out, ek_error *err)
{
    ek__csv *csv;
    ek_status status = start(name, &csv, err);
    if (status)
        return status;
    csv->memory = text;
    csv->memory_left = size;
    return finish(csv, out, err);
}

void ek__csv_close(ek__csv *csv)
{
    if (!csv)
        return;
    ek__database_close(csv->database);
    if (csv->fd >= 0)
        close(csv->fd);
    free(csv->name);
    free(csv->buffer);
    free(csv->cell);
    free(csv->header);
    free(csv->header_text);
    free(csv);
}

static int find_column(const ek__csv *csv, const char *name)
{
    for (int i = 0; i < csv->n_columns; i++)
        if (ek__strcasecmp(csv->header[i], name) == 0)
            return i;
    return -1;
}

int ek__csv_find(const ek__csv *csv, const char *const *spellings)
{
    int found = -1;
    for (; *spellings && found < 0; spellings++)
        found = find_column(csv, *spellings);
    return found;
}

int ek__csv_n_columns(const ek__csv *csv)
{
    return csv->n_columns;
}

const char *ek__csv_header(const ek__csv *csv, int column)
{
    return column >= 0 && column < csv->n_columns ? csv->header[column] : "";
}

/* ---- values ---- */

const char *ek__csv_cell(const ek__csv *csv, int column)
{
    if (column < 0 || (size_t)column >= csv->n_cells)
        return "";
    return csv->buffer + csv->begin + csv->cell[column].at;
}

static size_t cell_size(const ek__csv *csv, int column)
{
    return column < 0 || (size_t)column >= csv->n_cells ? 0 : csv->cell[column].size;
}

bool ek__csv_us(const ek__csv *csv, int column, int64_t *ns)
{
    return ek__parse_us(ek__csv_cell(csv, column), cell_size(csv, column), ns);
}

bool ek__csv_number(const ek__csv *csv, int column, double *value)
{
    const char *text = ek__csv_cell(csv, column);
    char *end;
    /* strtod() also accepts hexadecimal, infinity and NaN, which profilers do not write. */
    if (!*text || strspn(text, "+-.0123456789eE") != cell_size(csv, column))
        return false;
    double read = ek__strtod(text, &end);
    if (*end || !isfinite(read))
        return false;
    *value = read;
    return true;
}

bool ek__csv_int(const ek__csv *csv, int column, int64_t *value)
{
    const char *text = ek__csv_cell(csv, column), *digits = text + (*text == '-' || *text == '+');
    char *end;
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    /* Tables that were converted through floating point have "3.0". */
    if (*end == '.')
        end += 1 + strspn(end + 1, "0");
    if (*end || errno == ERANGE)
        return false;
    *value = read;
    return true;
}

int64_t ek__csv_line(const ek__csv *csv)
{
    return csv->row_line;
}

int64_t ek__csv_bytes(const ek__csv *csv)
{
    return csv->bytes;
}
