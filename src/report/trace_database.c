/* Writes a run's traces as an SQLite database: the tables of comma-separated values (report/trace_csv.c) with types,
 * and queries over them. Times are integer nanoseconds, which SQLite stores exactly. It is built in memory, so that a
 * file is written like any other and a query needs none. */
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/page.h"
#include "base/print.h"
#include "figures/trace_figures.h"
#include "report/trace_internal.h"
#include "report/writers.h"

/* A table being filled. */
typedef struct table {
    const ek__rows *rows;
    ek__column column[EK__MAX_COLUMNS];
    int n_columns;
    sqlite3 *database;
    sqlite3_stmt *insert;
} table;

static ek_status failed(sqlite3 *database, int code, ek_error *err)
{
    if (code == SQLITE_NOMEM || !database)
        return ek__no_memory(err);
    if ((code & 0xff) == SQLITE_AUTH)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a query may only read: SELECT ... or WITH ... SELECT ...");
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%.300s", sqlite3_errmsg(database));
}

/* ---- schema ---- */

/* In nanoseconds: `start_us` of CSV is `start_ns`. */
static bool is_time(ek__kind kind)
{
    return kind == EK__KIND_NS || kind == EK__KIND_MEAN;
}

static const char *type_of(ek__kind kind)
{
    if (ek__kind_is_text(kind))
        return "TEXT";
    return ek__kind_is_whole(kind) && kind != EK__KIND_BYTES_MB ? "INTEGER" : "REAL";
}

static void print_column(sqlite3_str *to, const ek__column *column)
{
    char name[64];
    ek__kind kind = ek__column_kind(column);
    ek__column_name(column, EK__OF_CSV, name, sizeof name);
    size_t n = strlen(name);
    if (is_time(kind) && n > 3 && strcmp(name + n - 3, "_us") == 0)
        name[n - 2] = 'n';
    sqlite3_str_appendf(to, "\"%w\" %s", name, type_of(kind));
}

static int run_text(sqlite3 *database, sqlite3_str *text)
{
    char *sql = sqlite3_str_finish(text);
    int code = sql ? sqlite3_exec(database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

/* CREATE TABLE, and the prepared INSERT. */
static int make_table(table *t)
{
    sqlite3_str *create = sqlite3_str_new(t->database), *insert = sqlite3_str_new(t->database);
    bool ranks = !t->rows->of_run;
    sqlite3_str_appendf(create, "CREATE TABLE \"%w\" (%s", t->rows->csv, ranks ? "rank INTEGER, stage INTEGER, " : "");
    sqlite3_str_appendf(insert, "INSERT INTO \"%w\" VALUES (?%s", t->rows->csv, ranks ? ",?,?" : "");
    for (int i = 0; i < t->n_columns; i++) {
        sqlite3_str_appendall(create, i ? ", " : "");
        print_column(create, &t->column[i]);
        sqlite3_str_appendall(insert, i ? ",?" : "");
    }
    sqlite3_str_appendall(create, ")");
    sqlite3_str_appendall(insert, ")");
    int code = run_text(t->database, create);
    char *sql = sqlite3_str_finish(insert);
    if (code == SQLITE_OK)
        code = sql ? sqlite3_prepare_v2(t->database, sql, -1, &t->insert, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

/* ---- rows ---- */

static int bind_whole(const table *t, int at, bool known, int64_t value)
{
    return known ? sqlite3_bind_int64(t->insert, at, value) : sqlite3_bind_null(t->insert, at);
}

static int bind_text(const table *t, int at, const char *text)
{
    return text ? sqlite3_bind_text(t->insert, at, text, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(t->insert, at);
}

static int bind_cell(const table *t, int at, const ek__column *c, const void *record, const ek__owner *of)
{
    ek__kind kind = ek__column_kind(c);
    if (kind == EK__KIND_TEXT && c->word < 0) {
        char room[EK__VIEW_KEY_SIZE];
        return bind_text(t, at, ek__member_text(c->field, ek__column_record(c, record, of), of, room, sizeof room));
    }
    const ek__reading value = ek__column_value(c, record, of);
    if (ek__kind_is_text(kind))
        return bind_text(t, at, value.text);
    if (ek__kind_is_whole(kind) && kind != EK__KIND_BYTES_MB)
        return bind_whole(t, at, value.number != INT64_MIN, value.number);
    double real =
        kind == EK__KIND_BYTES_MB ? value.number == INT64_MIN ? NAN : (double)value.number / EK__MB : value.real;
    return isfinite(real) ? sqlite3_bind_double(t->insert, at, real) : sqlite3_bind_null(t->insert, at);
}

static int add_row(const table *t, const void *record, const ek__owner *of)
{
    int at = 1, code = SQLITE_OK;
    if (!t->rows->of_run) {
        code = bind_whole(t, at++, of->rank->rank >= 0, of->rank->rank);
        if (code == SQLITE_OK)
            code = bind_whole(t, at++, of->rank->stage >= 0, of->rank->stage);
    }
    for (int i = 0; i < t->n_columns && code == SQLITE_OK; i++)
        code = bind_cell(t, at++, &t->column[i], record, of);
    if (code == SQLITE_OK)
        code = sqlite3_step(t->insert);
    return code == SQLITE_DONE ? sqlite3_reset(t->insert) : code == SQLITE_OK ? SQLITE_ERROR : code;
}

static int add_rows(const table *t, ek__owner *of)
{
    bool end = false;
    int code = SQLITE_OK;
    for (int i = 0; !end && code == SQLITE_OK; i++) {
        const void *record = ek__rows_entry(t->rows, i, of, &end);
        code = record ? add_row(t, record, of) : SQLITE_OK;
    }
    return code;
}

static int fill_table(sqlite3 *database, const ek__rows *rows, const ek_trace_run *run)
{
    table t = {.rows = rows, .database = database};
    ek__owner of = {.run = run};
    t.n_columns = ek__fields_columns(rows->fields, rows->also, EK__OF_CSV, t.column);
    int code = make_table(&t);
    if (code == SQLITE_OK && rows->of_run)
        code = add_rows(&t, &of);
    for (int i = 0; code == SQLITE_OK && !rows->of_run && i < run->n_ranks; i++) {
        of.rank = &run->rank[i];
        code = add_rows(&t, &of);
    }
    sqlite3_finalize(t.insert);
    return code;
}

/* Every table in one transaction. The caller closes it, also after a failure. */
static int make_database(const ek_trace_run *run, sqlite3 **out)
{
    *out = NULL;
    int code = sqlite3_open_v2(":memory:", out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out, "BEGIN", NULL, NULL, NULL);
    for (const ek__rows *rows = NULL; code == SQLITE_OK && (rows = ek__next_trace_rows(rows));)
        if (rows->csv)
            code = fill_table(*out, rows, run);
    return code == SQLITE_OK ? sqlite3_exec(*out, "COMMIT", NULL, NULL, NULL) : code;
}

ek_status ek__trace_write_sqlite(const ek_trace_run *run, FILE *out, ek_error *err)
{
    sqlite3 *database;
    sqlite3_int64 size = 0;
    int code = make_database(run, &database);
    unsigned char *bytes = code == SQLITE_OK ? sqlite3_serialize(database, "main", &size, 0) : NULL;
    ek_status status = code != SQLITE_OK ? failed(database, code, err) : bytes ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        fwrite(bytes, 1, (size_t)size, out);
        status = ek__finish(out, err);
    }
    sqlite3_free(bytes);
    sqlite3_close(database);
    return status;
}

/* ---- queries ---- */

/* Allows reading and the functions it calls; rejects anything that writes, opens a file or changes settings. */
static int permit(void *user, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)user, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE
               ? SQLITE_OK
               : SQLITE_DENY;
}

static void print_value(sqlite3_stmt *query, int column, FILE *out)
{
    switch (sqlite3_column_type(query, column)) {
    case SQLITE_NULL:
        break;
    case SQLITE_FLOAT:
        fputs(ek__real(sqlite3_column_double(query, column)).text, out);
        break;
    case SQLITE_INTEGER:
        fprintf(out, "%lld", sqlite3_column_int64(query, column));
        break;
    default: {
        const char *text = (const char *)sqlite3_column_text(query, column);
        ek__print_csv(text ? text : "", out);
    }
    }
}

static void print_names(sqlite3_stmt *query, int n, FILE *out)
{
    for (int i = 0; i < n; i++) {
        const char *name = sqlite3_column_name(query, i);
        fputs(i ? "," : "", out);
        ek__print_csv(name ? name : "", out);
    }
    fputc('\n', out);
}

/* A query that fails immediately prints nothing. */
static ek_status print_answer(sqlite3 *database, sqlite3_stmt *query, FILE *out, ek_error *err)
{
    int n = sqlite3_column_count(query), code = sqlite3_step(query);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        print_names(query, n, out);
    for (; code == SQLITE_ROW; code = sqlite3_step(query)) {
        for (int i = 0; i < n; i++) {
            fputs(i ? "," : "", out);
            print_value(query, i, out);
        }
        fputc('\n', out);
    }
    return code == SQLITE_DONE ? ek__finish(out, err) : failed(database, code, err);
}

static ek_status answer(sqlite3 *database, const char *sql, FILE *out, ek_error *err)
{
    sqlite3_stmt *query = NULL;
    const char *rest = "";
    sqlite3_set_authorizer(database, permit, NULL);
    int code = sqlite3_prepare_v2(database, sql, -1, &query, &rest);
    ek_status status;
    if (code != SQLITE_OK)
        status = failed(database, code, err);
    else if (!query)
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the query is empty, expected SELECT ...");
    else if (rest[strspn(rest, " \t\r\n;")])
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is more than one query, from \"%.60s\" on", rest);
    else
        status = print_answer(database, query, out, err);
    sqlite3_finalize(query);
    return status;
}

ek_status ek_trace_query(const ek_trace_run *run, const char *sql, FILE *out, ek_error *err)
{
    sqlite3 *database;
    int code = make_database(run, &database);
    ek_status status = code == SQLITE_OK ? answer(database, sql, out, err) : failed(database, code, err);
    sqlite3_close(database);
    return status;
}
