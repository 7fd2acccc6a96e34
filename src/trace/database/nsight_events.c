/* Reads databases that `nsys export --type sqlite` writes as the events of a Kineto trace: kernels, copies and sets of
 * the device with the correlation of the call that launched them, calls of the runtime, and ranges of the program
 * (NVTX) as user annotations. Kernels have the names of the source. Ranges that PyTorch's emit_nvtx made (aten::add,
 * seq = 5, sizes = [...]) are operators of the host; shapes in them are not assigned to kernels. Counters of the
 * device, calls of the system and samples are not read. */
#include <string.h>

#include "trace/database/rows.h"

/* Numbers of threads are serialized: process in the bits from 24, thread below. */
static ek__database_thread host_thread(int64_t global)
{
    return (ek__database_thread){(int64_t)((uint64_t)global >> 24 & 0xffffff), (int64_t)((uint64_t)global & 0xffffff)};
}

/* Devices are processes 0, 1, ..., and their threads streams, as in Kineto's traces. */
static ek__database_thread device_thread(ek__database *d, sqlite3_stmt *row, int device, int stream)
{
    char name[40];
    ek__database_thread thread = {ek__row_int_or(row, device, 0), ek__row_int_or(row, stream, 0)};
    if (ek__database_is_new(d, 0, thread.pid, thread.tid)) {
        snprintf(name, sizeof name, "stream %lld", (long long)thread.tid);
        ek__put_thread(d, thread, name);
    }
    return thread;
}

/* A file may contain all ranks of a node, and their simultaneous events are no rank's time: one device is read. */
typedef struct state {
    bool filtered, has_process;
    int64_t device, process; /* of the kernels; its number is above the bits of threads */
} state;

static bool start(ek__database *d)
{
    static const char kernels[] = "CUPTI_ACTIVITY_KIND_KERNEL";
    state *s = ek__database_state(d);
    sqlite3_stmt *row = NULL;
    int64_t n = 0;
    if (!ek__database_has(d, kernels) || !ek__database_has_column(d, kernels, "deviceId"))
        return !d->out_of_memory;
    char *sql = sqlite3_mprintf("SELECT count(DISTINCT deviceId), min(deviceId), max(%s) FROM %s",
                                ek__database_has_column(d, kernels, "globalPid") ? "globalPid" : "NULL", kernels);
    if (sql && sqlite3_prepare_v2(d->connection, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        s->filtered = ek__row_int(row, 0, &n) && n > 1 && ek__row_int(row, 1, &s->device);
    sqlite3_finalize(row);
    sqlite3_free(sql);
    d->out_of_memory |= !sql;
    if (!s->filtered)
        return !d->out_of_memory;
    snprintf(d->problem, sizeof d->problem,
             "it has the kernels of %lld devices, of which those of device %lld are read: profile each rank into a "
             "separate file (nsys profile -o rank%%q{RANK}, in every rank's command)",
             (long long)n, (long long)s->device);
    sql = sqlite3_mprintf("SELECT globalPid FROM %s WHERE deviceId = %lld LIMIT 1", kernels, (long long)s->device);
    if (sql && sqlite3_prepare_v2(d->connection, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        s->has_process = ek__row_int(row, 0, &s->process);
    sqlite3_finalize(row);
    sqlite3_free(sql);
    d->out_of_memory |= !sql;
    return !d->out_of_memory;
}

/* Columns of one table, of the device that is read: `by` is deviceId, or globalTid, which must have the process of the
 * kernels.
 */
static bool select_of_device(ek__database *d, sqlite3_str *sql, const char *table, const char *by,
                             const char *const *column)
{
    const state *s = ek__database_state(d);
    if (!ek__database_select(d, sql, table, column))
        return false;
    bool of_device = strcmp(by, "deviceId") == 0;
    if (!s->filtered || !ek__database_has_column(d, table, by) || (!of_device && !s->has_process))
        return true;
    if (of_device)
        sqlite3_str_appendf(sql, " WHERE deviceId = %lld", (long long)s->device);
    else
        sqlite3_str_appendf(sql, " WHERE globalTid >> 24 = %lld >> 24", (long long)s->process);
    return true;
}
#define SELECT(table, by, ...) select_of_device(d, sql, (table), (by), (const char *const[]){__VA_ARGS__, NULL})

/* ---- the device ---- */

static bool select_kernels(ek__database *d, sqlite3_str *sql)
{
    return SELECT("CUPTI_ACTIVITY_KIND_KERNEL", "deviceId", "start", "end", "deviceId", "streamId", "correlationId",
                  "demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                  "registersPerThread");
}

/* "[3, 1, 1]" */
static void put_triple(ek__database *d, sqlite3_stmt *row, const char *key, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return;
    ek__put(d, d->separated ? ", \"" : "\"");
    ek__put(d, key);
    for (int i = 0; i < 3; i++) {
        ek__put(d, i == 0 ? "\": [" : ", ");
        ek__put_int(d, ek__row_int_or(row, column + i, 1));
    }
    ek__put(d, "]");
    d->separated = true;
}

static void put_kernel(ek__database *d, sqlite3_stmt *row)
{
    enum { DEVICE = 3, STREAM, CORRELATION, NAME, SHORT, MANGLED, GRID, BLOCK = GRID + 3, REGISTERS = BLOCK + 3 };
    size_t size = 0;
    int64_t value;
    ek__row_times t;
    const char *name = NULL;
    for (int column = NAME; column <= MANGLED && !name; column++)
        name = ek__row_text(d, row, column, &size);
    ek__database_thread thread = device_thread(d, row, DEVICE, STREAM);
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name ? name : "kernel", name ? size : strlen("kernel"), "kernel", thread, t.from, t.to);
    if (ek__row_int(row, CORRELATION, &value))
        ek__put_argument_int(d, "correlation", value);
    ek__put_argument_int(d, "device", thread.pid);
    ek__put_argument_int(d, "stream", thread.tid);
    put_triple(d, row, "grid", GRID);
    put_triple(d, row, "block", BLOCK);
    if (ek__row_int(row, REGISTERS, &value))
        ek__put_argument_int(d, "registers per thread", value);
    ek__put_event_end(d);
}

/* A program's graph launches are recorded so where their kernels are not. */
static bool select_graphs(ek__database *d, sqlite3_str *sql)
{
    return SELECT("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "deviceId", "start", "end", "deviceId", "streamId",
                  "correlationId", "graphId");
}

static void put_graph(ek__database *d, sqlite3_stmt *row)
{
    char name[64];
    int64_t value;
    ek__row_times t;
    int n = snprintf(name, sizeof name, "CUDA graph %lld", (long long)ek__row_int_or(row, 6, 0));
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name, (size_t)n, "kernel", device_thread(d, row, 3, 4), t.from, t.to);
    if (ek__row_int(row, 5, &value))
        ek__put_argument_int(d, "correlation", value);
    ek__put_event_end(d);
}

static bool select_copies(ek__database *d, sqlite3_str *sql)
{
    return SELECT("CUPTI_ACTIVITY_KIND_MEMCPY", "deviceId", "start", "end", "deviceId", "streamId", "correlationId",
                  "copyKind", "bytes");
}

/* As CUPTI numbers them, and their names in Kineto. */
static const char *copy_name(int64_t kind)
{
    switch (kind) {
    case 1:
        return "Memcpy HtoD";
    case 2:
        return "Memcpy DtoH";
    case 3:
        return "Memcpy HtoA";
    case 4:
        return "Memcpy AtoH";
    case 8:
        return "Memcpy DtoD";
    case 9:
        return "Memcpy HtoH";
    case 10:
        return "Memcpy PtoP";
    default:
        return "Memcpy";
    }
}

static void put_moved(ek__database *d, sqlite3_stmt *row, const char *name, const char *category, int bytes)
{
    int64_t value;
    ek__row_times t;
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name, strlen(name), category, device_thread(d, row, 3, 4), t.from, t.to);
    if (ek__row_int(row, 5, &value))
        ek__put_argument_int(d, "correlation", value);
    if (ek__row_int(row, bytes, &value))
        ek__put_argument_int(d, "bytes", value);
    ek__put_event_end(d);
}

static void put_copy(ek__database *d, sqlite3_stmt *row)
{
    put_moved(d, row, copy_name(ek__row_int_or(row, 6, 0)), "gpu_memcpy", 7);
}

static bool select_sets(ek__database *d, sqlite3_str *sql)
{
    return SELECT("CUPTI_ACTIVITY_KIND_MEMSET", "deviceId", "start", "end", "deviceId", "streamId", "correlationId",
                  "bytes");
}

static void put_set(ek__database *d, sqlite3_stmt *row)
{
    put_moved(d, row, "Memset (Device)", "gpu_memset", 6);
}

/* ---- the host ---- */

static bool select_calls(ek__database *d, sqlite3_str *sql)
{
    return SELECT("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", "start", "end", "globalTid", "correlationId", "nameId");
}

/* "cudaLaunchKernel_v7000" without the version. */
static size_t without_version(const char *name, size_t size)
{
    size_t n = size;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n >= 2 && n < size && name[n - 1] == 'v' && name[n - 2] == '_' ? n - 2 : size;
}

static void put_call(ek__database *d, sqlite3_stmt *row)
{
    size_t size = 0;
    int64_t value;
    ek__row_times t;
    const char *name = ek__row_text(d, row, 5, &size);
    ek__database_thread thread = host_thread(ek__row_int_or(row, 3, 0));
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name ? name : "call", name ? without_version(name, size) : strlen("call"), "cuda_runtime", thread,
                  t.from, t.to);
    if (ek__row_int(row, 4, &value))
        ek__put_argument_int(d, "correlation", value);
    ek__put_event_end(d);
}

static bool select_ranges(ek__database *d, sqlite3_str *sql)
{
    return SELECT("NVTX_EVENTS", "globalTid", "start", "end", "globalTid", "text", "textId", "eventType");
}

/* The name of an operator that emit_nvtx has written with its arguments: up to the first comma. */
static size_t operator_size(const char *name, size_t size)
{
    const char *comma = memchr(name, ',', size);
    static const char mark[] = ", seq = ";
    size_t n = comma ? (size_t)(comma - name) : size;
    return ek__text_starts(name + n, size - n, mark) || ek__text_starts(name + n, size - n, ", op_id = ") ||
                   ek__text_starts(name + n, size - n, ", sizes = ")
               ? n
               : 0;
}

static void put_range(ek__database *d, sqlite3_stmt *row)
{
    enum { PUSH_POP = 59, START_END = 60, PUSH_POP_TEXT = 70, START_END_TEXT = 71 };
    size_t size = 0;
    ek__row_times t;
    int64_t type = ek__row_int_or(row, 6, PUSH_POP);
    const char *name = ek__row_text(d, row, 4, &size);
    if (!name)
        name = ek__row_text(d, row, 5, &size);
    ek__row_read_times(row, 1, &t);
    if (!name || !t.to || (type != PUSH_POP && type != START_END && type != PUSH_POP_TEXT && type != START_END_TEXT))
        return;
    size_t n = operator_size(name, size);
    bool is_operator = n > 0 || ek__text_starts(name, size, "aten::");
    ek__put_event(d, name, n > 0 ? n : size, is_operator ? "cpu_op" : "user_annotation",
                  host_thread(ek__row_int_or(row, 3, 0)), t.from, t.to);
    ek__put_event_end(d);
}

static const ek__database_part parts[] = {
    {"NVTX_EVENTS", select_ranges, put_range, NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", select_calls, put_call, NULL},
    {"CUPTI_ACTIVITY_KIND_KERNEL", select_kernels, put_kernel, NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", select_graphs, put_graph, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", select_copies, put_copy, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET", select_sets, put_set, NULL},
};

const ek__database_script ek__nsight_events = {.begin = "{\"schemaVersion\": 1, \"traceEvents\": [",
                                               .end = "]}\n",
                                               .strings = "StringIds",
                                               .state_size = sizeof(state),
                                               .start = start,
                                               .n_parts = sizeof parts / sizeof *parts,
                                               .part = parts};
