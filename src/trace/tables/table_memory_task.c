/* Reads task.csv of MindSpore's memory tracker: the task at each tick. The users in memory_block.csv, which is read
 * after it, get names from here, and steps are found in the order of all tasks. */
#include "trace/tables/tracker_csv.h"

enum { TICK, TASK_NAME, NODE_NAME, STACK, N_COLUMNS };
static const char *const column_name[N_COLUMNS] = {"time_stamp", "task_name", "node_name", "python_stack"};

static ek_status read_rows(const ek__table_in *in, ek__tracker_csv *csv, ek_error *err)
{
    ek_status status = EK_OK;
    for (bool more = true; !status && more;) {
        int64_t tick;
        status = ek__tracker_csv_next(csv, &more, err);
        if (status || !more || !ek__tracker_csv_number(csv, TICK, &tick))
            continue;
        in->source->items++;
        if (in->tasks && !ek__tracker_tasks_add(in->tasks, tick, ek__tracker_csv_cell(csv, NODE_NAME),
                                                ek__tracker_csv_cell(csv, TASK_NAME)))
            return ek__no_memory(err);
    }
    return status;
}

ek_status ek__table_memory_task(const ek__table_in *in, ek_error *err)
{
    ek__tracker_csv csv;
    in->source->items = 0;
    ek_status status = ek__tracker_csv_open(in->path, column_name, N_COLUMNS, TASK_NAME + 1, STACK, &csv, err);
    if (!status)
        status = read_rows(in, &csv, err);
    in->source->bytes = csv.bytes;
    if (!status)
        status = ek__left_out_report(&csv.left, "row", "rows", NULL, in, err);
    ek__tracker_csv_close(&csv);
    return status;
}
