/* Reads databases of torch_npu, MindSpore and msprof as the smaller files that come with a trace: memory_record.csv
 * (MEMORY_RECORD, and the driver's view of the process, NPU_MEM), operator_memory.csv (OP_MEMORY), npu_module_mem.csv
 * (NPU_MODULE_MEM), profiler_metadata.json (META_DATA), and the rank of profiler_info.json (RANK_DEVICE_MAP). Databases
 * have bytes and nanoseconds where the text has KB or MB and microseconds. */
#include <math.h>
#include <string.h>

#include "trace/database/rows.h"

static const double kb = 1024, mb = 1024 * 1024;

static void put_text(ek__database *d, sqlite3_stmt *row, int column)
{
    size_t size = 0;
    const char *text = ek__row_text(d, row, column, &size);
    if (text)
        ek__put_cell(d, text, size);
}

/* A comma, and the number of a column over a unit. */
static void put_bytes(ek__database *d, sqlite3_stmt *row, int column, double unit)
{
    ek__put(d, ",");
    ek__put_number(d, ek__row_number(row, column) / unit);
}

static void put_time(ek__database *d, sqlite3_stmt *row, int column)
{
    int64_t ns;
    ek__put(d, ",");
    if (ek__row_int(row, column, &ns))
        ek__put_us(d, ns);
}

/* ---- memory_record.csv ---- */

static bool select_memory(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "MEMORY_RECORD", "component", "timestamp", "totalAllocated", "totalReserved",
                      "totalActive");
}

static void put_memory(ek__database *d, sqlite3_stmt *row)
{
    put_text(d, row, 1);
    put_time(d, row, 2);
    put_bytes(d, row, 3, mb);
    put_bytes(d, row, 4, mb);
    put_bytes(d, row, 5, mb);
    ek__put(d, "\n");
}

/* The driver's reservation for the process: the component APP. */
static bool select_process(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "NPU_MEM", "type", "timestampNs", "ddr", "hbm");
}

static void put_process(ek__database *d, sqlite3_stmt *row)
{
    size_t size = 0;
    const char *type = ek__row_text(d, row, 1, &size);
    double ddr = ek__row_number(row, 3), hbm = ek__row_number(row, 4);
    if (!type || size != 3 || memcmp(type, "app", 3) != 0)
        return;
    ek__put(d, "APP");
    put_time(d, row, 2);
    ek__put(d, ",,");
    ek__put_number(d, ((isnan(ddr) ? 0 : ddr) + (isnan(hbm) ? 0 : hbm)) / mb);
    ek__put(d, ",\n");
}

static const ek__database_part memory_parts[] = {{"MEMORY_RECORD", select_memory, put_memory, NULL},
                                                 {"NPU_MEM", select_process, put_process, NULL}};

const ek__database_script ek__ascend_memory = {
    .begin = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB)\n",
    .end = "",
    .strings = "STRING_IDS",
    .n_parts = 2,
    .part = memory_parts};

/* ---- operator_memory.csv ---- */

static bool select_allocations(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "OP_MEMORY", "name", "size", "allocationTime", "releaseTime", "deviceId");
}

static void put_allocation(ek__database *d, sqlite3_stmt *row)
{
    put_text(d, row, 1);
    put_bytes(d, row, 2, kb);
    put_time(d, row, 3);
    put_time(d, row, 4);
    ek__put(d, ",");
    int64_t device;
    if (ek__row_int(row, 5, &device)) {
        ek__put(d, "NPU:");
        ek__put_int(d, device);
    }
    ek__put(d, "\n");
}

static const ek__database_part allocation_parts[] = {{"OP_MEMORY", select_allocations, put_allocation, NULL}};

const ek__database_script ek__ascend_allocations = {
    .begin = "Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n",
    .end = "",
    .strings = "STRING_IDS",
    .n_parts = 1,
    .part = allocation_parts};

/* ---- npu_module_mem.csv ---- */

static bool select_modules(ek__database *d, sqlite3_str *sql)
{
    if (!ek__database_has(d, "NPU_MODULE_MEM"))
        return false;
    sqlite3_str *from = sqlite3_str_new(d->connection);
    sqlite3_str_appendall(from, " FROM NPU_MODULE_MEM NOT INDEXED");
    bool named = ek__database_has_column(d, "NPU_MODULE_MEM", "moduleId") &&
                 ek__database_join(d, from, "ENUM_MODULE", "id", "NPU_MODULE_MEM.moduleId");
    sqlite3_str_appendall(sql, "SELECT 0");
    ek__database_column(d, sql, named ? "ENUM_MODULE" : "", "name", NULL);
    ek__database_column(d, sql, "NPU_MODULE_MEM", "moduleId", NULL);
    ek__database_column(d, sql, "NPU_MODULE_MEM", "timestampNs", NULL);
    ek__database_column(d, sql, "NPU_MODULE_MEM", "totalReserved", NULL);
    ek__database_append(d, sql, from);
    return true;
}

static void put_module(ek__database *d, sqlite3_stmt *row)
{
    size_t size = 0;
    const char *name = ek__row_text(d, row, 1, &size);
    if (name)
        ek__put_cell(d, name, size);
    else
        ek__put_int(d, ek__row_int_or(row, 2, 0));
    put_time(d, row, 3);
    put_bytes(d, row, 4, mb);
    ek__put(d, "\n");
}

static const ek__database_part module_parts[] = {{"NPU_MODULE_MEM", select_modules, put_module, NULL}};

const ek__database_script ek__ascend_modules = {.begin = "Component,Timestamp(us),Total Reserved(MB)\n",
                                                .end = "",
                                                .strings = "STRING_IDS",
                                                .n_parts = 1,
                                                .part = module_parts};

/* ---- profiler_info.json ---- */

static bool select_rank(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "RANK_DEVICE_MAP", "rankId");
}

/* msprof, which has no ranks, writes -1 there. */
static void put_rank(ek__database *d, sqlite3_stmt *row)
{
    int64_t rank = ek__row_int_or(row, 1, -1);
    if (rank < 0 || d->n_rows > 1)
        return;
    ek__put(d, "\"rank_id\": ");
    ek__put_int(d, rank);
}

static const ek__database_part rank_parts[] = {{"RANK_DEVICE_MAP", select_rank, put_rank, NULL}};

const ek__database_script ek__ascend_rank = {
    .begin = "{", .end = "}\n", .strings = "STRING_IDS", .n_parts = 1, .part = rank_parts};

/* ---- profiler_metadata.json ---- */

static bool select_metadata(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "META_DATA", "name", "value");
}

/* The two with values that are JSON themselves and describe ranks. */
static void put_metadata(ek__database *d, sqlite3_stmt *row)
{
    static const char *const wanted[] = {"parallel_group_info", "distributed_args"};
    size_t size = 0, n_value = 0;
    const char *name = ek__row_text(d, row, 1, &size), *value = ek__row_text(d, row, 2, &n_value);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!name || !value || n_value == 0 || strcmp(name, wanted[i]) != 0)
            continue;
        ek__put_separator(d);
        ek__put(d, "\"");
        ek__put(d, wanted[i]);
        ek__put(d, "\": ");
        ek__put_bytes(d, value, n_value);
    }
}

static const ek__database_part metadata_parts[] = {{"META_DATA", select_metadata, put_metadata, NULL}};

const ek__database_script ek__ascend_metadata = {
    .begin = "{", .end = "}\n", .strings = "STRING_IDS", .n_parts = 1, .part = metadata_parts};
