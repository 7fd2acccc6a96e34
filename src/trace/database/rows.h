/* trace/database/rows.h - conversion of database rows into text: a kind of database lists its tables and the text of
 * their rows, with the functions for writing them.
 *
 * A new kind of database, or a table more, is a script (ek__database_script), its parts, and a line in `known` of
 * trace/database/look.c. */
#ifndef EK_TRACE_DATABASE_ROWS_H
#define EK_TRACE_DATABASE_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "base/texts.h"
#include "trace/database/database.h"

enum {
    EK__DATABASE_MAX_TEXT = 1 << 20, /**< limit of a text of a row; longer ones are cut */
    EK__DATABASE_MAX_STEPS = 10000,
    EK__DATABASE_WAIT_MS = 250, /**< wait for another program's lock */
};

/** A text of the table of strings. */
typedef struct ek__database_string {
    int64_t id;
    uint32_t offset, size; /**< in the bytes of all */
} ek__database_string;

/** Texts by id, read once. */
typedef struct ek__database_strings {
    size_t n, capacity;
    ek__database_string *at; /**< [n], by id */
    char *bytes;
    size_t n_bytes, bytes_capacity;
} ek__database_strings;

/** A table's rows as text. */
typedef struct ek__database_part {
    const char *table; /**< its rows are counted, and messages name it */
    /** Write the statement that selects the rows. @return false where there is nothing to select from. */
    bool (*select)(ek__database *database, sqlite3_str *sql);
    void (*row)(ek__database *database, sqlite3_stmt *row);
    void (*finish)(ek__database *database); /**< after the last row; NULL */
} ek__database_part;

/** A file: its beginning, its parts one after the other, and its end. */
typedef struct ek__database_script {
    const char *begin, *end;
    const char *strings;                   /**< table of texts by id; NULL: none is needed */
    size_t state_size;                     /**< state of its parts: ek__database_state(), zeroed */
    bool (*start)(ek__database *database); /**< before the first part; false when memory is out. NULL */
    int n_parts;
    const ek__database_part *part; /**< [n_parts] */
} ek__database_script;

extern const ek__database_script ek__ascend_events, ek__ascend_kernels, ek__ascend_memory, ek__ascend_allocations,
    ek__ascend_modules, ek__ascend_rank, ek__ascend_metadata, ek__analysis_steps, ek__analysis_communication,
    ek__analysis_links, ek__nsight_events;

/* ---- the file: trace/database/file.c ---- */

/** The state of every reader of a database. */
struct ek__database {
    const char *path;
    sqlite3 *connection;
    int64_t size; /**< of the file */
    ek__pool *pool;
    ek__database_strings strings;
    const ek__database_script *script;
    void *state; /**< of the script, in `pool` */
    /* The text that was not returned yet, at [given, n_text). */
    char *text;
    size_t n_text, given, text_capacity;
    /* Its position. */
    sqlite3_stmt *statement;
    int part;                            /**< of the script; -1 before the first */
    int64_t n_rows, part_rows, all_rows; /**< of this part so far, of it in all; of all parts in all */
    int64_t rows_before;                 /**< of the parts before this one */
    bool ended, separated;               /**< separated: the next item needs a comma before it */
    bool out_of_memory;
    int failure;    /**< of SQLite, when the schema could not be read; SQLITE_OK */
    ek__texts seen; /**< ek__database_is_new() */
    char problem[400];
};

/** Open a file for reading only. `*out` is set also on failure where there is a connection. */
ek_status ek__database_connect(const char *path, ek__database **out, ek_error *err);
/** The error for the user from an error of SQLite. Never EK_OK. */
ek_status ek__database_fail(const ek__database *database, int code, ek_error *err);
/** Is there a table of that name, which is neither a view nor of a foreign module? And does it have a column? O(log
 * tables).
 */
bool ek__database_has(ek__database *database, const char *table);
bool ek__database_has_column(ek__database *database, const char *table, const char *column);
/** Does the table have a row? */
bool ek__database_has_rows(ek__database *database, const char *table);
/** Record an error, the first time. SQLITE_NOMEM among SQLite's codes sets out_of_memory. */
void ek__database_note(ek__database *database, int code);

/* ---- statements ---- */

/** Add `, "TABLE"."column"` to a selection, or `, NULL` where there is no such column. `other`: another name of the
 *  column, in other releases; NULL. */
void ek__database_column(ek__database *database, sqlite3_str *sql, const char *table, const char *column,
                         const char *other);
/** Add ` LEFT JOIN (...) AS "TABLE" ON "TABLE".key = on`, one row a key, where there is such a table. @return whether
 * it exists
 */
bool ek__database_join(ek__database *database, sqlite3_str *sql, const char *table, const char *key, const char *on);
/** Add `, x IN (SELECT column FROM table)` to a list, or `, 0` where there is no such table. */
void ek__database_in(ek__database *database, sqlite3_str *sql, const char *x, const char *table, const char *column);
/** Finish a text and append it to another. */
void ek__database_append(ek__database *database, sqlite3_str *sql, sqlite3_str *more);
/** The statement for columns of one table, in the order of the file: from column 1 on, as column 0 is a zero. A NULL
 *  ends the columns. @return false without the table */
bool ek__database_select(ek__database *database, sqlite3_str *sql, const char *table, const char *const *column);
#define EK__SELECT(database, sql, table, ...)                                                                          \
    ek__database_select((database), (sql), (table), (const char *const[]){__VA_ARGS__, NULL})

/* ---- values of a row: trace/database/rows.c ---- */

/** A whole number; false where there is none. Texts of digits count. */
bool ek__row_int(sqlite3_stmt *row, int column, int64_t *value);
/** The same, `otherwise` where there is none. */
int64_t ek__row_int_or(sqlite3_stmt *row, int column, int64_t otherwise);
/** Begin and end of a row's event. */
typedef struct ek__row_times {
    int64_t start, end;
    const int64_t *from, *to; /**< these; NULL for one that is not there */
} ek__row_times;
/** Of two columns side by side. */
void ek__row_read_times(sqlite3_stmt *row, int column, ek__row_times *times);
/** A number; NAN where there is none. */
double ek__row_number(sqlite3_stmt *row, int column);
/** The text with the number of a column, or the column's own text; NULL where there is none. Valid until the next
 *  row. */
const char *ek__row_text(const ek__database *database, sqlite3_stmt *row, int column, size_t *size);

/* ---- strings: trace/database/strings.c ---- */

/** Append one; texts beyond 4 GB in all are left out. @return false when memory is out. */
bool ek__database_strings_add(ek__database_strings *strings, int64_t id, const char *text, size_t size);
/** Sort by id, before the first lookup. O(n log n). */
void ek__database_strings_sort(ek__database_strings *strings);
void ek__database_strings_clear(ek__database_strings *strings);
/** The text of an id; NULL without one. O(1) where ids are close together, else O(log n). */
const char *ek__database_string_at(const ek__database_strings *strings, int64_t id, size_t *size);
/** The id of a text; false where it has none. O(n). */
bool ek__database_string_id(const ek__database_strings *strings, const char *text, int64_t *id);

/* ---- text: trace/database/text.c ---- */

void ek__put(ek__database *database, const char *text);
void ek__put_bytes(ek__database *database, const char *text, size_t size);
void ek__put_int(ek__database *database, int64_t value);
/** So that reading gives the same number; nothing for NAN. */
void ek__put_number(ek__database *database, double value);
/** Nanoseconds as microseconds with three decimals. */
void ek__put_us(ek__database *database, int64_t ns);
/** In quotes, as JSON has it, cut to EK__DATABASE_MAX_TEXT bytes. */
void ek__put_json(ek__database *database, const char *text, size_t size);
/** A cell of a table of comma-separated values, in quotes. */
void ek__put_cell(ek__database *database, const char *text, size_t size);
/** A comma and a line feed, unless this is the first item since ek__put_first(). */
void ek__put_separator(ek__database *database);
void ek__put_first(ek__database *database);

/** A process or, with `tid` of 0 or more, a thread, that an event of a trace belongs to. */
typedef struct ek__database_thread {
    int64_t pid, tid;
} ek__database_thread;

/** Is this the first call with these numbers? Sets of names already written. O(1). */
bool ek__database_is_new(ek__database *database, int kind, int64_t a, int64_t b);
/** The name of a process, and of a thread of it. */
void ek__put_process(ek__database *database, int64_t pid, const char *name);
void ek__put_thread(ek__database *database, ek__database_thread thread, const char *name);
/** An event up to its arguments, `"args": {`, which ek__put_event_end() closes. Without a start or an end it has no
 *  time, and its reader counts it as left out. `start` and `end` may be NULL. */
void ek__put_event(ek__database *database, const char *name, size_t size, const char *category,
                   ek__database_thread thread, const int64_t *start, const int64_t *end);
/** An argument; `first` of the event: without a comma. */
void ek__put_argument(ek__database *database, const char *key, const char *text, size_t size);
void ek__put_argument_int(ek__database *database, const char *key, int64_t value);
void ek__put_event_end(ek__database *database);
/** An end of an arrow: `phase` 's' or 'f'. */
void ek__put_flow(ek__database *database, char phase, const char *name, const char *category, int64_t id,
                  ek__database_thread thread, int64_t time);

/** Does a text (may be NULL) begin with another? */
static inline bool ek__text_starts(const char *text, size_t size, const char *with)
{
    size_t n = strlen(with);
    return text && size >= n && memcmp(text, with, n) == 0;
}

/** State of the script. */
static inline void *ek__database_state(const ek__database *database)
{
    return database->state;
}

#endif
