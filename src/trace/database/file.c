/* Opens a profiler's database for reading, and translates errors of SQLite for the user. Opened read-only, and locks of
 * others are respected; where a database cannot be locked at all (it is in the mode of a write-ahead log, in a folder
 * that cannot be written), it is read as a file that does not change. The file may come from anywhere: views, tables of
 * modules and functions of its schema are not used. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "trace/database/rows.h"

static const char magic[] = "SQLite format 3"; /* with the NUL after it */

bool ek__is_database(const char *path)
{
    char beginning[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, beginning, sizeof beginning, 0) : -1;
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof beginning && memcmp(beginning, magic, sizeof magic) == 0;
}

/* ---- errors ---- */

/* The error, and its remedy. */
static const char *meaning(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "the database is locked by a program that writes it; wait until it has ended, or give a copy";
    case SQLITE_CORRUPT:
        return "the database is damaged or cut; copy or export it again";
    case SQLITE_NOTADB:
        return "the file begins like an SQLite database but is none, or is encrypted; copy or export it again";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        return "the database cannot be opened: the program that wrote it did not close it, or it must not be read; "
               "open it once with a program that may write it, such as sqlite3";
    case SQLITE_TOOBIG:
        return "the database has a text of more than 64 MB";
    case SQLITE_FULL:
        return "there is no room for temporary files; set SQLITE_TMPDIR to a folder with room";
    default:
        return NULL;
    }
}

ek_status ek__database_fail(const ek__database *database, int code, ek_error *err)
{
    const char *text = meaning(code);
    const ek_origin origin = {database->path, 0, 0};
    bool input = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_TOOBIG ||
                 (code & 0xff) == SQLITE_ERROR;
    if ((code & 0xff) == SQLITE_NOMEM)
        return ek__no_memory(err);
    if (text)
        return ek__fail(err, input ? EK_ERR_INPUT : EK_ERR_SYSTEM, origin, "%s", text);
    return ek__fail(err, input ? EK_ERR_INPUT : EK_ERR_SYSTEM, origin, "the database cannot be read: %.200s",
                    sqlite3_errmsg(database->connection));
}

void ek__database_note(ek__database *database, int code)
{
    const ek__database_script *script = database->script;
    const char *text = meaning(code), *table = NULL;
    if ((code & 0xff) == SQLITE_NOMEM)
        database->out_of_memory = true;
    if (database->problem[0])
        return;
    if (script && database->part >= 0 && database->part < script->n_parts)
        table = script->part[database->part].table;
    else if (script)
        table = script->strings;
    snprintf(database->problem, sizeof database->problem, "table %.40s is not read beyond row %lld: %.300s",
             table ? table : "", (long long)database->n_rows, text ? text : sqlite3_errmsg(database->connection));
}

/* ---- opening ---- */

static bool has_beside(const char *path, const char *suffix)
{
    char beside[4200];
    struct stat about;
    return snprintf(beside, sizeof beside, "%s%s", path, suffix) < (int)sizeof beside && stat(beside, &about) == 0 &&
           about.st_size > 0;
}

/* "file:PATH?mode=ro&immutable=1", with every byte except letters, digits and slashes escaped. */
static bool make_immutable(const char *path, char *uri, size_t room)
{
    size_t n = (size_t)snprintf(uri, room, "file:");
    for (; *path; path++) {
        if (n + 40 > room)
            return false;
        bool plain = ek__is_alnum(*path) || strchr("/._-", *path);
        n += (size_t)snprintf(uri + n, room - n, plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
    snprintf(uri + n, room - n, "?mode=ro&immutable=1");
    return true;
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The bytes that the file should have by its header: pages and their size, where the count was kept up to date. SQLite
 * takes the beginning of a database for an empty one. 0 where the header does not have it. */
static int64_t bytes_by_header(const char *path)
{
    enum { HEADER = 100, PAGE_SIZE = 16, CHANGES = 24, PAGES = 28, VALID_FOR = 92 };
    unsigned char header[HEADER];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, header, sizeof header, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)sizeof header)
        return n < 0 ? 0 : HEADER;
    int64_t page = header[PAGE_SIZE] << 8 | header[PAGE_SIZE + 1];
    bool kept = big_endian(header + CHANGES) == big_endian(header + VALID_FOR);
    return kept ? (page == 1 ? 65536 : page) * (int64_t)big_endian(header + PAGES) : 0;
}

/* Opens, and reads the schema: locks and damage show only then. */
static int try_open(ek__database *d, const char *name, int flags)
{
    int code = sqlite3_open_v2(name, &d->connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | flags, NULL);
    if (code != SQLITE_OK)
        return code;
    sqlite3_busy_timeout(d->connection, EK__DATABASE_WAIT_MS);
    sqlite3_limit(d->connection, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_limit(d->connection, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(d->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(d->connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return sqlite3_exec(d->connection, "PRAGMA cell_size_check = ON; SELECT count(*) FROM sqlite_master", NULL, NULL,
                        NULL);
}

ek_status ek__database_connect(const char *path, ek__database **out, ek_error *err)
{
    struct stat about;
    char uri[3 * 4096 + 64];
    ek__database *d = ek__alloc(1, sizeof *d);
    *out = d;
    if (!d || !(d->pool = ek__pool_new()) || !(d->path = ek__pool_text(d->pool, path, strlen(path))))
        return ek__no_memory(err);
    d->part = -1;
    d->size = stat(path, &about) == 0 ? about.st_size : 0;
    const int64_t whole = bytes_by_header(path);
    if (d->size < whole)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){d->path, 0, 0}),
                        "the database is cut: it has %lld bytes, and should have %lld; copy or export it again",
                        (long long)d->size, (long long)whole);
    int code = try_open(d, path, 0);
    bool alone = !has_beside(path, "-wal") && !has_beside(path, "-journal");
    if ((code & 0xff) == SQLITE_CANTOPEN && alone && make_immutable(path, uri, sizeof uri)) {
        sqlite3_close(d->connection);
        d->connection = NULL;
        code = try_open(d, uri, SQLITE_OPEN_URI);
    }
    return code == SQLITE_OK ? EK_OK : ek__database_fail(d, code, err);
}

void ek__database_close(ek__database *database)
{
    if (!database)
        return;
    sqlite3_finalize(database->statement);
    sqlite3_close(database->connection);
    ek__database_strings_clear(&database->strings);
    ek__texts_clear(&database->seen);
    free(database->text);
    ek__pool_free(database->pool);
    free(database);
}

/* ---- existing tables and columns ---- */

/* The result of the first step of a statement of one parameter, or none. */
static int first_step(ek__database *database, const char *sql, const char *parameter)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database->connection, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && parameter)
        code = sqlite3_bind_text(statement, 1, parameter, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    database->out_of_memory |= (code & 0xff) == SQLITE_NOMEM;
    return code;
}

bool ek__database_has(ek__database *database, const char *table)
{
    static const char sql[] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 AND rootpage > 0";
    int code = first_step(database, sql, table);
    if (code != SQLITE_ROW && code != SQLITE_DONE && database->failure == SQLITE_OK)
        database->failure = code;
    return code == SQLITE_ROW;
}

bool ek__database_has_column(ek__database *database, const char *table, const char *column)
{
    int code = sqlite3_table_column_metadata(database->connection, "main", table, column, NULL, NULL, NULL, NULL, NULL);
    database->out_of_memory |= (code & 0xff) == SQLITE_NOMEM;
    return code == SQLITE_OK;
}

/* A table is read even if its first row cannot be read, so that its damage is reported. */
bool ek__database_has_rows(ek__database *database, const char *table)
{
    char sql[120];
    snprintf(sql, sizeof sql, "SELECT 1 FROM \"%.60s\" LIMIT 1", table);
    return ek__database_has(database, table) && first_step(database, sql, NULL) != SQLITE_DONE;
}

/* ---- statements ---- */

void ek__database_column(ek__database *database, sqlite3_str *sql, const char *table, const char *column,
                         const char *other)
{
    if (ek__database_has_column(database, table, column))
        sqlite3_str_appendf(sql, ", \"%w\".\"%w\"", table, column);
    else if (other && ek__database_has_column(database, table, other))
        sqlite3_str_appendf(sql, ", \"%w\".\"%w\"", table, other);
    else
        sqlite3_str_appendall(sql, ", NULL");
}

/* The grouping makes one row of each key: equal keys would else give the product of both tables. */
bool ek__database_join(ek__database *database, sqlite3_str *sql, const char *table, const char *key, const char *on)
{
    if (!ek__database_has(database, table) || !ek__database_has_column(database, table, key))
        return false;
    sqlite3_str_appendf(sql,
                        " LEFT JOIN (SELECT * FROM \"%w\" WHERE \"%w\" IS NOT NULL GROUP BY \"%w\") AS \"%w\" ON "
                        "\"%w\".\"%w\" = %s",
                        table, key, key, table, table, key, on);
    return true;
}

void ek__database_in(ek__database *database, sqlite3_str *sql, const char *x, const char *table, const char *column)
{
    if (ek__database_has(database, table) && ek__database_has_column(database, table, column))
        sqlite3_str_appendf(sql, ", %s IN (SELECT \"%w\" FROM \"%w\")", x, column, table);
    else
        sqlite3_str_appendall(sql, ", 0");
}

void ek__database_append(ek__database *database, sqlite3_str *sql, sqlite3_str *more)
{
    char *text = sqlite3_str_finish(more);
    database->out_of_memory |= !text;
    sqlite3_str_appendall(sql, text ? text : "");
    sqlite3_free(text);
}

bool ek__database_select(ek__database *database, sqlite3_str *sql, const char *table, const char *const *column)
{
    if (!ek__database_has(database, table))
        return false;
    sqlite3_str_appendall(sql, "SELECT 0");
    for (; *column; column++)
        ek__database_column(database, sql, table, *column, NULL);
    sqlite3_str_appendf(sql, " FROM \"%w\" NOT INDEXED", table);
    return true;
}
