/* Detects the type of a file by its beginning: JSON or gzip counts as a trace, a table is recognised by the columns of
 * its header, a pickle is a memory snapshot. Reads the first kilobytes only, so that a folder of large files is
 * classified quickly. */
#define ZLIB_CONST
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "trace/find/layout.h"
#include "trace/text/csv.h"
#include "trace/text/pickle.h"

enum { BEGINNING = 4096, MAX_COLUMNS = 3 };

/* Columns that only this table has together; the first match counts. */
static const struct {
    ek__file_type type;
    const char *column[MAX_COLUMNS];
} headers[] = {
    {EK__FILE_kernel_details, {"Accelerator Core", "Duration(us)"}},
    {EK__FILE_op_summary, {"Op Name", "Task Duration(us)"}},
    {EK__FILE_op_statistic, {"OP Type", "Core Type", "Ratio(%)"}},
    {EK__FILE_cluster_step_trace_time, {"Type", "Index", "Computing"}},
    {EK__FILE_step_trace_time, {"Computing", "Overlapped", "Free"}},
    {EK__FILE_operator_memory, {"Allocation Time(us)", "Size(KB)"}},
    {EK__FILE_memory_record, {"Component", "Timestamp(us)", "Total Allocated(MB)"}},
    {EK__FILE_npu_module_mem, {"Component", "Timestamp(us)", "Total Reserved(MB)"}},
    {EK__FILE_memory_task, {"time_stamp", "task_name", "graph_name"}},
    {EK__FILE_memory_block, {"start_time_stamp", "end_time_stamp", "size"}},
    {EK__FILE_msprof_tx, {"message", "event_type"}},
    {EK__FILE_minddata_raw, {"op_id", "output_queue_length"}},
    {EK__FILE_minddata_summary, {"op_ids", "queue_utilization_pct"}},
    {EK__FILE_hccl_raw, {"step_num", "link_info"}},
    {EK__FILE_step_trace_raw, {"step_num", "fp_point", "iteration_interval"}},
    {EK__FILE_cluster_analyse, {"computation_time", "communication_alone_time"}},
    {EK__FILE_cluster_analyse, {"computation", "communication_alone_time"}},
};

static bool has(const char *bytes, const char *text)
{
    return strstr(bytes, text) != NULL;
}

static bool has_columns(const ek__csv *csv, const char *const column[MAX_COLUMNS])
{
    for (int i = 0; i < MAX_COLUMNS && column[i]; i++)
        if (ek__csv_column(csv, column[i], NULL) < 0)
            return false;
    return true;
}

/* The header may be cut: it then lacks columns, which does not matter. */
static bool type_of_header(const char *bytes, size_t n, ek__file_type *type)
{
    ek__csv *csv;
    bool found = false;
    if (ek__csv_open_buffer("", bytes, n, &csv, NULL))
        return false;
    for (size_t i = 0; i < sizeof headers / sizeof *headers && !found; i++)
        if (has_columns(csv, headers[i].column)) {
            *type = headers[i].type;
            found = true;
        }
    ek__csv_close(csv);
    return found;
}

/* PyTorch writes the segments first. */
static bool is_snapshot_as_json(const char *bytes)
{
    return has(bytes, "\"device_traces\"") ||
           (has(bytes, "\"segments\"") && (has(bytes, "\"total_size\"") || has(bytes, "\"allocated_size\"")));
}

static bool type_of_json(const char *bytes, bool strict, ek__file_type *type)
{
    bool array = *bytes == '[';
    *type = EK__FILE_TRACE;
    if (array ? has(bytes, "\"ph\"") : has(bytes, "\"traceEvents\"") || has(bytes, "\"deviceProperties\""))
        return true;
    if (!array && is_snapshot_as_json(bytes)) {
        *type = EK__FILE_memory_snapshot;
        return true;
    }
    if (strict)
        return false;
    if (has(bytes, "\"Communication Time Info\""))
        *type = EK__FILE_communication;
    else if (has(bytes, "\"Transport Type\""))
        *type = EK__FILE_communication_matrix;
    else if (has(bytes, "\"parallel_group_info\"") || has(bytes, "\"distributed_args\""))
        *type = EK__FILE_profiler_metadata;
    return true;
}

bool ek__type_of_content(const char *path, bool strict, ek__file_type *type)
{
    char bytes[BEGINNING + 1];
    gzFile file = gzopen(path, "rb"); /* reads plain files unchanged */
    int n = file ? gzread(file, bytes, BEGINNING) : -1;
    bool packed = file && !gzdirect(file);
    if (file)
        gzclose(file);
    if (n <= 0)
        return false;
    bool pickle = ek__is_pickle(bytes, (size_t)n);
    for (int i = 0; i < n; i++)
        bytes[i] = bytes[i] ? bytes[i] : '?';
    bytes[n] = '\0';
    if (pickle) {
        *type = EK__FILE_memory_snapshot;
        return !strict || has(bytes, "segments") || has(bytes, "device_traces");
    }
    const char *from = strncmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;
    from += strspn(from, " \t\r\n");
    if (*from == '[' || *from == '{')
        return type_of_json(from, strict, type);
    if (packed || strict)
        return false;
    return type_of_header(from, (size_t)n - (size_t)(from - bytes), type);
}

bool ek__begins_as_part(const char *path)
{
    char bytes[sizeof EK__PART_MAGIC - 1];
    FILE *file = fopen(path, "rb");
    bool is =
        file && fread(bytes, 1, sizeof bytes, file) == sizeof bytes && memcmp(bytes, EK__PART_MAGIC, sizeof bytes) == 0;
    if (file)
        fclose(file);
    return is;
}

bool ek__begins_with_tasks(const char *path)
{
    char line[BEGINNING + 1] = "";
    FILE *file = fopen(path, "rb");
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    return read && has(line, "time_stamp") && has(line, "task_name");
}
