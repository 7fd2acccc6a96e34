/* Reads values of a row. Types in a database of SQLite are those of values, not of columns: torch_npu declares times as
 * text, and numbers may be whole or real. A value that is not a number counts as absent. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "trace/database/rows.h"

bool ek__row_int(sqlite3_stmt *row, int column, int64_t *value)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        *value = sqlite3_column_int64(row, column);
        return true;
    case SQLITE_FLOAT: {
        double number = sqlite3_column_double(row, column);
        if (!(fabs(number) < 9e18))
            return false;
        *value = llround(number);
        return true;
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        char *end;
        errno = 0;
        long long number = text ? strtoll(text, &end, 10) : 0;
        if (!text || end == text || *end || errno)
            return false;
        *value = number;
        return true;
    }
    default:
        return false;
    }
}

int64_t ek__row_int_or(sqlite3_stmt *row, int column, int64_t otherwise)
{
    int64_t value;
    return ek__row_int(row, column, &value) ? value : otherwise;
}

void ek__row_read_times(sqlite3_stmt *row, int column, ek__row_times *times)
{
    times->from = ek__row_int(row, column, &times->start) ? &times->start : NULL;
    times->to = ek__row_int(row, column + 1, &times->end) ? &times->end : NULL;
}

double ek__row_number(sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        return sqlite3_column_double(row, column);
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(row, column) : NULL;
    char *end;
    double number = text ? ek__strtod(text, &end) : (double)NAN;
    return text && end != text && !*end ? number : (double)NAN;
}

const char *ek__row_text(const ek__database *database, sqlite3_stmt *row, int column, size_t *size)
{
    int64_t id;
    if (sqlite3_column_type(row, column) == SQLITE_TEXT) {
        const char *text = (const char *)sqlite3_column_text(row, column);
        *size = text ? (size_t)sqlite3_column_bytes(row, column) : 0;
        return text;
    }
    return ek__row_int(row, column, &id) ? ek__database_string_at(&database->strings, id, size) : NULL;
}
