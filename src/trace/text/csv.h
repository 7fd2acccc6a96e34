/* trace/text/csv.h - comma-separated tables of any size, by the names in their header, as profilers write them.
 *
 * Streams: one row at a time, memory for the longest row only (limit EK__CSV_MAX_ROW bytes). Accepts LF, CRLF and CR; a
 * byte-order mark; quoted cells with doubled quotes, commas and line ends inside; tabs and spaces around cells (also
 * inside the quotes) are cut; a last empty column from trailing commas; short rows (the rest is empty). */
#ifndef EK_TRACE_TABLES_CSV_H
#define EK_TRACE_TABLES_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EK__CSV_MAX_ROW = 64 << 20, EK__CSV_MAX_COLUMNS = 65536 };

typedef struct ek__csv ek__csv;
struct ek__database;

/** Open and read the header. @return EK_OK, EK_ERR_INPUT for an empty file or a header beyond the limits,
 * EK_ERR_SYSTEM, EK_ERR_MEMORY. */
ek_status ek__csv_open(const char *path, ek__csv **out, ek_error *err);
/** The same of a database that was opened as such a table (trace/database/database.h), which the csv owns then. */
ek_status ek__csv_open_database(const char *name, struct ek__database *database, ek__csv **out, ek_error *err);
/** The same over bytes in memory, borrowed until ek__csv_close(); `name` is the file's name in messages. */
ek_status ek__csv_open_buffer(const char *name, const char *text, size_t size, ek__csv **out, ek_error *err);
void ek__csv_close(ek__csv *csv);
/** Column of a header, compared without case and without spaces around; several spellings may be given, NULL at the
 *  end: ek__csv_column(csv, "Block Dim", "Block Num", NULL). The first existing one; -1 when there is none. */
#define ek__csv_column(csv, ...) ek__csv_find((csv), (const char *const[]){__VA_ARGS__})
int ek__csv_find(const ek__csv *csv, const char *const *spellings);
int ek__csv_n_columns(const ek__csv *csv);
const char *ek__csv_header(const ek__csv *csv, int column);
/** The next row. @return EK_OK with *more false at the end; EK_ERR_INPUT with the line for a quote that never closes or
 *  a row beyond the limit: rows so far were valid. */
ek_status ek__csv_next(ek__csv *csv, bool *more, ek_error *err);
/** Cell of the current row, cut of blanks and quotes, valid until the next call; "" for column -1 or a short row. */
const char *ek__csv_cell(const ek__csv *csv, int column);
/** Cell as a number: false when empty, "N/A" or not a number. Decimal microseconds as nanoseconds; any decimal;
 * whole. */
bool ek__csv_us(const ek__csv *csv, int column, int64_t *ns);
bool ek__csv_number(const ek__csv *csv, int column, double *value);
bool ek__csv_int(const ek__csv *csv, int column, int64_t *value);
/** Line of the file where the current row starts, from 1. Bytes read so far. */
int64_t ek__csv_line(const ek__csv *csv);
int64_t ek__csv_bytes(const ek__csv *csv);

#endif
