/* Determines the files as which a database can be read, by its tables; and reads it as one of them: the parts of a
 * script one after the other, row by row, into a buffer that is returned in pieces. A part ends at the first unreadable
 * row, and the next one begins: the damage is recorded, and the rest still counts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/database/rows.h"

enum { MAX_TABLES = 8, PIECE = 64 << 10 };

/* A file, by the tables of which one is enough. */
static const struct {
    ek__file_type type;
    const ek__database_script *script;
    const char *table[MAX_TABLES];
} known[] = {
    {EK__FILE_TRACE,
     &ek__ascend_events,
     {"TASK", "COMMUNICATION_OP", "PYTORCH_API", "CANN_API", "MSTX_EVENTS", "OVERLAP_ANALYSIS"}},
    {EK__FILE_TRACE,
     &ek__nsight_events,
     {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY",
      "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "NVTX_EVENTS"}},
    {EK__FILE_kernel_details, &ek__ascend_kernels, {"COMPUTE_TASK_INFO"}},
    {EK__FILE_memory_record, &ek__ascend_memory, {"MEMORY_RECORD"}},
    {EK__FILE_operator_memory, &ek__ascend_allocations, {"OP_MEMORY"}},
    {EK__FILE_npu_module_mem, &ek__ascend_modules, {"NPU_MODULE_MEM"}},
    {EK__FILE_profiler_info, &ek__ascend_rank, {"RANK_DEVICE_MAP"}},
    {EK__FILE_profiler_metadata, &ek__ascend_metadata, {"META_DATA"}},
    {EK__FILE_step_trace_time, &ek__analysis_steps, {"StepTraceTime"}},
    {EK__FILE_communication, &ek__analysis_communication, {"CommAnalyzerTime"}},
    {EK__FILE_communication_matrix, &ek__analysis_links, {"CommAnalyzerMatrix"}},
};
enum { N_KNOWN = sizeof known / sizeof *known };

static bool serves(ek__database *database, int i)
{
    const char *strings = known[i].script->strings;
    if (strings && !ek__database_has(database, strings))
        return false;
    for (int t = 0; t < MAX_TABLES && known[i].table[t]; t++)
        if (ek__database_has_rows(database, known[i].table[t]))
            return true;
    return false;
}

/* Settings and metadata without other files are no results. */
static uint32_t types_of(ek__database *database)
{
    const uint32_t beside = EK__FILE_BIT(EK__FILE_profiler_info) | EK__FILE_BIT(EK__FILE_profiler_metadata);
    uint32_t types = 0;
    for (int i = 0; i < N_KNOWN; i++)
        if (serves(database, i))
            types |= EK__FILE_BIT(known[i].type);
    return types & ~beside ? types : 0;
}

/* Could the schema be read? */
static ek_status state_of(const ek__database *database, ek_error *err)
{
    if (database->out_of_memory)
        return ek__no_memory(err);
    return database->failure == SQLITE_OK ? EK_OK : ek__database_fail(database, database->failure, err);
}

ek_status ek__database_look(const char *path, uint32_t *types, ek_error *err)
{
    ek__database *database;
    ek_status status = ek__database_connect(path, &database, err);
    uint32_t found = status == EK_OK ? types_of(database) : 0;
    if (status == EK_OK)
        status = state_of(database, err);
    if (status == EK_OK)
        *types = found;
    ek__database_close(database);
    return status;
}

/* ---- opening ---- */

/* The most rows a table can have, by its numbers: only for progress. */
static int64_t count_rows(ek__database *database, const char *table)
{
    char sql[120];
    sqlite3_stmt *row = NULL;
    int64_t n = 0;
    snprintf(sql, sizeof sql, "SELECT max(rowid) FROM \"%.60s\"", table);
    if (ek__database_has(database, table) &&
        sqlite3_prepare_v2(database->connection, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        n = ek__row_int_or(row, 0, 0);
    sqlite3_finalize(row);
    return n > 0 && n < INT64_MAX / 64 ? n : 0;
}

/* All texts by their ids. @return false when memory is out */
static bool read_strings(ek__database *database, const char *table)
{
    ek__database_strings *s = &database->strings;
    sqlite3_stmt *row = NULL;
    char sql[120];
    bool fine = true;
    snprintf(sql, sizeof sql, "SELECT \"id\", \"value\" FROM \"%.60s\" NOT INDEXED", table);
    int code = sqlite3_prepare_v2(database->connection, sql, -1, &row, NULL);
    const int64_t most = database->size;
    database->n_rows = 0;
    while (code == SQLITE_OK && fine) {
        int64_t id;
        int step = sqlite3_step(row);
        if (step == SQLITE_DONE)
            break;
        code = step != SQLITE_ROW ? step : ++database->n_rows > most ? SQLITE_CORRUPT : SQLITE_OK;
        const char *text = code == SQLITE_OK && sqlite3_column_type(row, 1) == SQLITE_TEXT
                               ? (const char *)sqlite3_column_text(row, 1)
                               : NULL;
        if (text && ek__row_int(row, 0, &id))
            fine = ek__database_strings_add(s, id, text, (size_t)sqlite3_column_bytes(row, 1));
    }
    if (code != SQLITE_OK)
        ek__database_note(database, code);
    sqlite3_finalize(row);
    database->n_rows = 0;
    ek__database_strings_sort(s);
    return fine && !database->out_of_memory;
}

static bool begin(ek__database *d, const ek__database_script *script)
{
    d->script = script;
    d->state = ek__pool_alloc(d->pool, 1, script->state_size + 1);
    for (int i = 0; i < script->n_parts; i++)
        d->all_rows += count_rows(d, script->part[i].table);
    if (!d->state || (script->strings && !read_strings(d, script->strings)) || (script->start && !script->start(d)))
        return false;
    ek__put(d, script->begin);
    return !d->out_of_memory;
}

ek_status ek__database_open(const char *path, ek__file_type type, ek__database **out, ek_error *err)
{
    ek__database *d;
    const ek__database_script *script = NULL;
    ek_status status = ek__database_connect(path, &d, err);
    for (int i = 0; i < N_KNOWN && status == EK_OK && !script; i++)
        if (known[i].type == type && serves(d, i))
            script = known[i].script;
    if (status == EK_OK)
        status = state_of(d, err);
    if (status == EK_OK && !script)
        status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                          "is a database without the tables of a profiler's export; give ascend_pytorch_profiler_*.db, "
                          "msprof_*.db, or the output of nsys export --type sqlite");
    if (status == EK_OK && !begin(d, script))
        status = ek__no_memory(err);
    if (status != EK_OK) {
        ek__database_close(d);
        return status;
    }
    *out = d;
    return EK_OK;
}

/* ---- reading ---- */

static void end_part(ek__database *d)
{
    const ek__database_part *part = &d->script->part[d->part];
    if (part->finish)
        part->finish(d);
    sqlite3_finalize(d->statement);
    d->statement = NULL;
    d->rows_before += d->part_rows;
}

/* Prepare the next existing part; else end. */
static void begin_part(ek__database *d)
{
    while (++d->part < d->script->n_parts) {
        const ek__database_part *part = &d->script->part[d->part];
        sqlite3_str *text = sqlite3_str_new(d->connection);
        bool there = part->select(d, text);
        char *sql = sqlite3_str_finish(text);
        d->n_rows = 0;
        d->part_rows = count_rows(d, part->table);
        int code = !there ? SQLITE_OK
                   : !sql ? SQLITE_NOMEM
                          : sqlite3_prepare_v2(d->connection, sql, -1, &d->statement, NULL);
        sqlite3_free(sql);
        if (code != SQLITE_OK)
            ek__database_note(d, code);
        if (d->statement)
            return;
        d->rows_before += d->part_rows;
    }
    ek__put(d, d->script->end);
    d->ended = true;
}

/* A table has no more rows than its file has bytes; one that is damaged may lead in circles. */
static void next_row(ek__database *d)
{
    int code = sqlite3_step(d->statement);
    if (code == SQLITE_ROW && ++d->n_rows > d->size)
        code = SQLITE_CORRUPT;
    if (code == SQLITE_ROW) {
        d->script->part[d->part].row(d, d->statement);
        d->out_of_memory |= sqlite3_errcode(d->connection) == SQLITE_NOMEM;
        return;
    }
    if (code != SQLITE_DONE)
        ek__database_note(d, code);
    end_part(d);
}

/* As much text as a piece has. */
static void fill(ek__database *d)
{
    d->n_text = d->given = 0;
    while (d->n_text < PIECE && !d->ended && !d->out_of_memory) {
        if (d->statement)
            next_row(d);
        else
            begin_part(d);
    }
}

size_t ek__database_read(ek__database *database, char *to, size_t room)
{
    size_t n = 0;
    while (n < room && !database->out_of_memory) {
        if (database->given == database->n_text && database->ended)
            break;
        if (database->given == database->n_text)
            fill(database);
        size_t some = database->n_text - database->given;
        some = some < room - n ? some : room - n;
        if (some > 0)
            memcpy(to + n, database->text + database->given, some);
        database->given += some;
        n += some;
    }
    return n;
}

const char *ek__database_problem(const ek__database *database)
{
    return database->problem[0] ? database->problem : NULL;
}

bool ek__database_out_of_memory(const ek__database *database)
{
    return database->out_of_memory;
}

int64_t ek__database_total(const ek__database *database)
{
    return database->size;
}

int64_t ek__database_bytes(const ek__database *database)
{
    const int64_t all = database->all_rows, part = database->part_rows;
    int64_t done = database->rows_before + (database->n_rows < part ? database->n_rows : part);
    if (database->ended || all == 0)
        return database->ended ? database->size : 0;
    return (int64_t)((double)database->size * (done < all ? (double)done / (double)all : 1));
}
