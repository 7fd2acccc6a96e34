/* Reads databases of torch_npu, MindSpore and msprof as the events of trace_view.json. Tables of one row an event
 * become their equivalent in the text export: PYTORCH_API the layer Python, CANN_API the layer CANN, TASK the layer
 * Ascend Hardware and the planes of the layer HCCL, COMMUNICATION_OP whole collectives, OVERLAP_ANALYSIS its own layer.
 * Arrows follow from numbers that both ends have: connectionId of CANN_API and TASK, and lists of them in
 * CONNECTION_IDS. Stacks of calls (PYTORCH_CALLCHAINS) and counters of the device are not read, since no figure needs
 * them. */
#include <string.h>

#include "trace/database/rows.h"

/* Numbers of processes: the framework's are those of the system, below 2^32. */
#define LAYERS_FROM (INT64_C(1) << 32)
enum { CANN = 0, HARDWARE = 1, HCCL = 2, OVERLAP = 3, MSTX = 4, LAYERS = 8, PLANES = 1000 };
/* Names already written: kinds of ek__database_is_new(). */
enum { OF_PROCESS, OF_THREAD, OF_GROUP };

typedef struct state {
    bool has_steps, has_mstx; /* step marks among the operators; MSTX_EVENTS */
} state;

static int64_t layer_of(int64_t device, int layer)
{
    return LAYERS_FROM + (device & 0xffffff) * LAYERS + layer;
}

/* A layer's process, named at its first event. */
static int64_t process_of(ek__database *d, int64_t device, int layer, const char *name)
{
    int64_t pid = layer_of(device, layer);
    if (ek__database_is_new(d, OF_PROCESS, pid, 0))
        ek__put_process(d, pid, name);
    return pid;
}

/* Thread of the framework: number of the process in the upper half, of the thread in the lower. */
static ek__database_thread host_thread(ek__database *d, int64_t global)
{
    ek__database_thread thread = {(int64_t)((uint64_t)global >> 32), (int64_t)((uint64_t)global & UINT32_MAX)};
    if (ek__database_is_new(d, OF_PROCESS, thread.pid, 0))
        ek__put_process(d, thread.pid, "Python");
    return thread;
}

static ek__database_thread cann_thread(ek__database *d, int64_t global)
{
    return (ek__database_thread){process_of(d, 0, CANN, "CANN"), (int64_t)((uint64_t)global & UINT32_MAX)};
}

static bool start(ek__database *d)
{
    state *s = ek__database_state(d);
    for (size_t i = 0; i < d->strings.n && !s->has_steps; i++)
        s->has_steps =
            ek__text_starts(d->strings.bytes + d->strings.at[i].offset, d->strings.at[i].size, "ProfilerStep#");
    s->has_mstx = ek__database_has_rows(d, "MSTX_EVENTS");
    return true;
}

/* ---- the framework ---- */

enum { TYPE_OP = 50001, TYPE_QUEUE = 50002, TYPE_TRACE = 50003, TYPE_MSTX = 50004 };

static bool select_api(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "PYTORCH_API", "startNs", "endNs", "globalTid", "name", "type", "sequenceNumber",
                      "fwdThreadId", "inputShapes", "inputDtypes");
}

static void put_api(ek__database *d, sqlite3_stmt *row)
{
    const state *s = ek__database_state(d);
    size_t size = 0, n_shapes = 0, n_types = 0;
    const char *name = ek__row_text(d, row, 4, &size);
    int64_t type = ek__row_int_or(row, 5, TYPE_OP), number;
    ek__row_times t;
    if (!name || (type == TYPE_MSTX && s->has_mstx))
        return;
    ek__database_thread thread = host_thread(d, ek__row_int_or(row, 3, 0));
    const char *category = type == TYPE_TRACE                                             ? "python_function"
                           : type == TYPE_MSTX                                            ? "user_annotation"
                           : type == TYPE_QUEUE && ek__text_starts(name, size, "Enqueue") ? "enqueue"
                           : type == TYPE_QUEUE                                           ? "dequeue"
                                                                                          : "cpu_op";
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name, size, category, thread, t.from, t.to);
    if (ek__row_int(row, 6, &number))
        ek__put_argument_int(d, "Sequence number", number);
    if (ek__row_int(row, 7, &number))
        ek__put_argument_int(d, "Fwd thread id", number);
    const char *shapes = ek__row_text(d, row, 8, &n_shapes), *types = ek__row_text(d, row, 9, &n_types);
    ek__put_argument(d, "Input Dims", shapes, n_shapes);
    ek__put_argument(d, "Input type", types, n_types);
    ek__put_event_end(d);
}

/* Numbers that connect an operator: those that tasks have lead to the device, others from an operator to its
 * gradient's. */
static bool select_connections(ek__database *d, sqlite3_str *sql)
{
    if (!ek__database_has(d, "PYTORCH_API") || !ek__database_has_column(d, "PYTORCH_API", "connectionId") ||
        !ek__database_has_column(d, "CONNECTION_IDS", "id") ||
        !ek__database_has_column(d, "CONNECTION_IDS", "connectionId"))
        return false;
    sqlite3_str_appendall(sql, "SELECT 0");
    ek__database_column(d, sql, "PYTORCH_API", "startNs", NULL);
    ek__database_column(d, sql, "PYTORCH_API", "globalTid", NULL);
    ek__database_column(d, sql, "PYTORCH_API", "name", NULL);
    ek__database_column(d, sql, "PYTORCH_API", "type", NULL);
    ek__database_column(d, sql, "PYTORCH_API", "fwdThreadId", NULL);
    ek__database_column(d, sql, "CONNECTION_IDS", "connectionId", NULL);
    ek__database_in(d, sql, "CONNECTION_IDS.connectionId", "TASK", "connectionId");
    ek__database_in(d, sql, "CONNECTION_IDS.connectionId", "COMMUNICATION_OP", "connectionId");
    sqlite3_str_appendall(sql, " FROM \"PYTORCH_API\" NOT INDEXED CROSS JOIN \"CONNECTION_IDS\" ON "
                               "CONNECTION_IDS.id = PYTORCH_API.connectionId");
    return true;
}

static void put_connection(ek__database *d, sqlite3_stmt *row)
{
    int64_t time, id, type = ek__row_int_or(row, 4, TYPE_OP);
    size_t size = 0;
    if (!ek__row_int(row, 1, &time) || !ek__row_int(row, 6, &id))
        return;
    const char *name = ek__row_text(d, row, 3, &size);
    ek__database_thread thread = host_thread(d, ek__row_int_or(row, 2, 0));
    if (ek__row_int_or(row, 7, 0) || ek__row_int_or(row, 8, 0))
        ek__put_flow(d, 's', "torch_to_npu", "async_npu", id, thread, time);
    else if (type == TYPE_QUEUE)
        ek__put_flow(d, ek__text_starts(name, size, "Enqueue") ? 's' : 'f', "enqueue_to_dequeue", "async_task_queue",
                     id, thread, time);
    else if (type == TYPE_OP)
        ek__put_flow(d, ek__row_int_or(row, 5, 0) == 0 ? 's' : 'f', "fwdbwd", "fwdbwd", id, thread, time);
}

/* Marks of steps, where the operators have none. */
static bool select_steps(ek__database *d, sqlite3_str *sql)
{
    const state *s = ek__database_state(d);
    return !s->has_steps && EK__SELECT(d, sql, "STEP_TIME", "startNs", "endNs", "id");
}

static void put_step(ek__database *d, sqlite3_stmt *row)
{
    char name[64];
    ek__row_times t;
    int64_t id;
    if (!ek__row_int(row, 3, &id))
        return;
    int n = snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)id);
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name, (size_t)n, "cpu_op", host_thread(d, 0), t.from, t.to);
    ek__put_event_end(d);
}

static bool select_garbage(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "GC_RECORD", "startNs", "endNs", "globalTid");
}

static void put_garbage(ek__database *d, sqlite3_stmt *row)
{
    ek__row_times t;
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, "Python GC", strlen("Python GC"), "GC", host_thread(d, ek__row_int_or(row, 3, 0)), t.from, t.to);
    ek__put_event_end(d);
}

/* Ranges; marks have no duration, and no figure needs them. */
static bool select_ranges(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "MSTX_EVENTS", "startNs", "endNs", "globalTid", "message", "eventType");
}

static void put_range(ek__database *d, sqlite3_stmt *row)
{
    enum { MARK = 0, MARK_EX = 3 };
    size_t size = 0;
    ek__row_times t;
    const char *name = ek__row_text(d, row, 4, &size);
    int64_t type = ek__row_int_or(row, 5, 1);
    ek__row_read_times(row, 1, &t);
    if (!name || type == MARK || type == MARK_EX)
        return;
    ek__database_thread thread = {process_of(d, 0, MSTX, "MSTX"),
                                  (int64_t)((uint64_t)ek__row_int_or(row, 3, 0) & UINT32_MAX)};
    ek__put_event(d, name, size, "user_annotation", thread, t.from, t.to);
    ek__put_event_end(d);
}

/* ---- CANN ---- */

static bool select_cann(ek__database *d, sqlite3_str *sql)
{
    if (!ek__database_has(d, "CANN_API"))
        return false;
    sqlite3_str_appendall(sql, "SELECT 0");
    ek__database_column(d, sql, "CANN_API", "startNs", NULL);
    ek__database_column(d, sql, "CANN_API", "endNs", NULL);
    ek__database_column(d, sql, "CANN_API", "globalTid", NULL);
    ek__database_column(d, sql, "CANN_API", "name", NULL);
    ek__database_column(d, sql, "CANN_API", "type", NULL);
    ek__database_column(d, sql, "CANN_API", "connectionId", NULL);
    bool connected = ek__database_has_column(d, "CANN_API", "connectionId");
    ek__database_in(d, sql, connected ? "CANN_API.connectionId" : "NULL", "TASK", "connectionId");
    ek__database_in(d, sql, connected ? "CANN_API.connectionId" : "NULL", "COMMUNICATION_OP", "connectionId");
    sqlite3_str_appendall(sql, " FROM \"CANN_API\" NOT INDEXED");
    return true;
}

/* Names as the text export has them: the level, and the name of the function. */
static const char *level_of(int64_t type)
{
    switch (type) {
    case 20000:
        return "AscendCL@";
    case 15000:
        return "Model@";
    case 10000:
        return "Node@";
    case 5500:
        return "Hccl@";
    case 5000:
        return "Runtime@";
    default:
        return "";
    }
}

static void put_cann(ek__database *d, sqlite3_stmt *row)
{
    char name[512];
    size_t size = 0;
    ek__row_times t;
    int64_t id;
    const char *call = ek__row_text(d, row, 4, &size);
    if (!call)
        return;
    const char *level = level_of(ek__row_int_or(row, 5, 0));
    int n = snprintf(name, sizeof name, "%s%.*s", level, (int)(size < 400 ? size : 400), call);
    ek__database_thread thread = cann_thread(d, ek__row_int_or(row, 3, 0));
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name, (size_t)n, NULL, thread, t.from, t.to);
    bool connected = ek__row_int(row, 6, &id);
    if (connected)
        ek__put_argument_int(d, "connection_id", id);
    ek__put_event_end(d);
    if (connected && t.from && (ek__row_int_or(row, 7, 0) || ek__row_int_or(row, 8, 0)))
        ek__put_flow(d, 's', "HostToDevice", "HostToDevice", id, thread, t.start);
}

/* ---- the device ---- */

enum {
    TASK_START = 1,
    TASK_END,
    TASK_DEVICE,
    TASK_STREAM,
    TASK_CONNECTION,
    TASK_TYPE,
    TASK_ID,
    TASK_CONTEXT,
    TASK_CONNECTED,
    OP_NAME,
    OP_TYPE, /* of the core */
    PART_NAME,
    PART_TYPE,
    PART_PLANE,
    PART_GROUP,
    PART_NOTIFY,
    PART_FROM,
    PART_TO,
    PART_SIZE,
};

static bool select_tasks(ek__database *d, sqlite3_str *sql)
{
    static const char *const own[] = {"startNs",  "endNs",  "deviceId",  "streamId", "connectionId",
                                      "taskType", "taskId", "contextId", NULL};
    static const char *const of_operator[] = {"name", "taskType", NULL};
    static const char *const of_part[] = {"name",    "taskType", "planeId", "groupName", "notifyId",
                                          "srcRank", "dstRank",  "size",    NULL};
    if (!ek__database_has(d, "TASK"))
        return false;
    bool connected = ek__database_has_column(d, "TASK", "connectionId");
    bool joined = ek__database_has_column(d, "TASK", "globalTaskId");
    sqlite3_str *from = sqlite3_str_new(d->connection);
    sqlite3_str_appendall(from, " FROM \"TASK\" NOT INDEXED");
    bool operators = joined && ek__database_join(d, from, "COMPUTE_TASK_INFO", "globalTaskId", "TASK.globalTaskId");
    bool parts = joined && ek__database_join(d, from, "COMMUNICATION_TASK_INFO", "globalTaskId", "TASK.globalTaskId");
    sqlite3_str_appendall(sql, "SELECT 0");
    for (int i = 0; own[i]; i++)
        ek__database_column(d, sql, "TASK", own[i], NULL);
    ek__database_in(d, sql, connected ? "TASK.connectionId" : "NULL", "CONNECTION_IDS", "connectionId");
    for (int i = 0; of_operator[i]; i++)
        ek__database_column(d, sql, operators ? "COMPUTE_TASK_INFO" : "", of_operator[i], NULL);
    for (int i = 0; of_part[i]; i++)
        ek__database_column(d, sql, parts ? "COMMUNICATION_TASK_INFO" : "", of_part[i], NULL);
    ek__database_append(d, sql, from);
    return true;
}

/* Both ends of arrows to device events. */
static void put_arrows(ek__database *d, sqlite3_stmt *row, int column, bool connected, ek__database_thread thread,
                       const ek__row_times *t)
{
    int64_t id;
    if (!t->from || !ek__row_int(row, column, &id))
        return;
    ek__put_flow(d, 'f', "HostToDevice", "HostToDevice", id, thread, t->start);
    if (connected)
        ek__put_flow(d, 'f', "torch_to_npu", "async_npu", id, thread, t->start);
}

/* The group's thread among those of collectives: groups are numbered as they come. */
static int64_t group_of(ek__database *d, sqlite3_stmt *row, int column, int64_t pid, const char *what)
{
    char name[256];
    size_t size = 0;
    const char *group = ek__row_text(d, row, column, &size);
    int64_t number = ek__row_int_or(row, column, 0);
    ek__database_thread thread = {pid, (int64_t)((uint64_t)number & UINT32_MAX) * PLANES};
    if (ek__database_is_new(d, OF_GROUP, pid, thread.tid)) {
        snprintf(name, sizeof name, "Group %.*s %s", (int)(size < 200 ? size : 200), group ? group : "", what);
        ek__put_thread(d, thread, name);
    }
    return thread.tid;
}

/* A part of a collective: tasks that move data, and tasks that wait for it. */
static void put_part(ek__database *d, sqlite3_stmt *row, int64_t device, const ek__row_times *t)
{
    static const struct {
        const char *key;
        int column;
    } number[] = {{"notify_id", PART_NOTIFY}, {"src rank", PART_FROM}, {"size(Byte)", PART_SIZE}};
    char plane[64];
    size_t size = 0, n_type = 0;
    int64_t value;
    const char *name = ek__row_text(d, row, PART_NAME, &size), *type = ek__row_text(d, row, PART_TYPE, &n_type);
    int64_t pid = process_of(d, device, HCCL, "HCCL"), place = ek__row_int_or(row, PART_PLANE, 0) & 0xff;
    ek__database_thread thread = {pid, group_of(d, row, PART_GROUP, pid, "Communication") + 1 + place};
    if (ek__database_is_new(d, OF_THREAD, pid, thread.tid)) {
        snprintf(plane, sizeof plane, "Plane %d", (int)place);
        ek__put_thread(d, thread, plane);
    }
    ek__put_event(d, type ? type : name, type ? n_type : size, NULL, thread, t->from, t->to);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (ek__row_int(row, number[i].column, &value))
            ek__put_argument_int(d, number[i].key, value);
    if (ek__row_int(row, PART_TO, &value))
        ek__put_argument_int(d, "dst rank", value);
    ek__put_argument(d, "task type", type ? type : name, type ? n_type : size);
    ek__put_event_end(d);
}

static void put_task(ek__database *d, sqlite3_stmt *row)
{
    char label[64];
    size_t size = 0, n_core = 0, n_type = 0;
    ek__row_times t;
    int64_t device = ek__row_int_or(row, TASK_DEVICE, 0), id;
    const char *name = ek__row_text(d, row, OP_NAME, &size), *core = ek__row_text(d, row, OP_TYPE, &n_core);
    const char *type = ek__row_text(d, row, TASK_TYPE, &n_type);
    ek__row_read_times(row, TASK_START, &t);
    ek__database_thread thread = {process_of(d, device, HARDWARE, "Ascend Hardware"),
                                  ek__row_int_or(row, TASK_STREAM, 0)};
    if (ek__database_is_new(d, OF_THREAD, thread.pid, thread.tid)) {
        snprintf(label, sizeof label, "Stream %lld", (long long)thread.tid);
        ek__put_thread(d, thread, label);
    }
    if (!core) {
        core = type ? type : "";
        n_core = type ? n_type : 0;
    }
    ek__put_event(d, name ? name : core, name ? size : n_core, NULL, thread, t.from, t.to);
    ek__put_argument(d, "Task Type", core, n_core);
    if (ek__row_int(row, TASK_ID, &id))
        ek__put_argument_int(d, "Task Id", id);
    if (ek__row_int(row, TASK_CONTEXT, &id))
        ek__put_argument_int(d, "Subtask Id", id);
    if (ek__row_int(row, TASK_CONNECTION, &id))
        ek__put_argument_int(d, "connection_id", id);
    ek__put_event_end(d);
    put_arrows(d, row, TASK_CONNECTION, ek__row_int_or(row, TASK_CONNECTED, 0) != 0, thread, &t);
    if (sqlite3_column_type(row, PART_NAME) != SQLITE_NULL || sqlite3_column_type(row, PART_TYPE) != SQLITE_NULL)
        put_part(d, row, device, &t);
}

static bool select_collectives(ek__database *d, sqlite3_str *sql)
{
    static const char *const own[] = {"startNs",   "endNs", "deviceId", "opName", "connectionId",
                                      "groupName", "count", "algType",  NULL};
    if (!ek__database_has(d, "COMMUNICATION_OP"))
        return false;
    bool connected = ek__database_has_column(d, "COMMUNICATION_OP", "connectionId");
    sqlite3_str_appendall(sql, "SELECT 0");
    for (int i = 0; own[i]; i++)
        ek__database_column(d, sql, "COMMUNICATION_OP", own[i], NULL);
    ek__database_in(d, sql, connected ? "COMMUNICATION_OP.connectionId" : "NULL", "CONNECTION_IDS", "connectionId");
    sqlite3_str_appendall(sql, " FROM \"COMMUNICATION_OP\" NOT INDEXED");
    return true;
}

static void put_collective(ek__database *d, sqlite3_stmt *row)
{
    enum { START = 1, DEVICE = 3, NAME, CONNECTION, GROUP, COUNT, ALGORITHM, CONNECTED };
    size_t size = 0, n_algorithm = 0;
    ek__row_times t;
    int64_t value;
    const char *name = ek__row_text(d, row, NAME, &size), *algorithm = ek__row_text(d, row, ALGORITHM, &n_algorithm);
    if (!name)
        return;
    ek__database_thread thread = {.pid = process_of(d, ek__row_int_or(row, DEVICE, 0), HCCL, "HCCL")};
    thread.tid = group_of(d, row, GROUP, thread.pid, "Communication");
    ek__row_read_times(row, START, &t);
    ek__put_event(d, name, size, NULL, thread, t.from, t.to);
    if (ek__row_int(row, CONNECTION, &value))
        ek__put_argument_int(d, "connection_id", value);
    ek__put_argument(d, "alg_type", algorithm, n_algorithm);
    if (ek__row_int(row, COUNT, &value))
        ek__put_argument_int(d, "count", value);
    ek__put_event_end(d);
    put_arrows(d, row, CONNECTION, ek__row_int_or(row, CONNECTED, 0) != 0, thread, &t);
}

static bool select_overlap(ek__database *d, sqlite3_str *sql)
{
    return EK__SELECT(d, sql, "OVERLAP_ANALYSIS", "startNs", "endNs", "type", "deviceId");
}

static void put_overlap(ek__database *d, sqlite3_stmt *row)
{
    static const char *const name[] = {"Computing", "Communication", "Communication(Not Overlapped)", "Free"};
    int64_t type = ek__row_int_or(row, 3, -1);
    ek__row_times t;
    if (type < 0 || type >= (int64_t)(sizeof name / sizeof *name))
        return;
    ek__database_thread thread = {process_of(d, ek__row_int_or(row, 4, 0), OVERLAP, "Overlap Analysis"), type};
    ek__row_read_times(row, 1, &t);
    ek__put_event(d, name[type], strlen(name[type]), NULL, thread, t.from, t.to);
    ek__put_event_end(d);
}

static const ek__database_part parts[] = {
    {"PYTORCH_API", select_api, put_api, NULL},
    {"CONNECTION_IDS", select_connections, put_connection, NULL},
    {"STEP_TIME", select_steps, put_step, NULL},
    {"GC_RECORD", select_garbage, put_garbage, NULL},
    {"MSTX_EVENTS", select_ranges, put_range, NULL},
    {"CANN_API", select_cann, put_cann, NULL},
    {"TASK", select_tasks, put_task, NULL},
    {"COMMUNICATION_OP", select_collectives, put_collective, NULL},
    {"OVERLAP_ANALYSIS", select_overlap, put_overlap, NULL},
};

const ek__database_script ek__ascend_events = {.begin = "[",
                                               .end = "]\n",
                                               .strings = "STRING_IDS",
                                               .state_size = sizeof(state),
                                               .start = start,
                                               .n_parts = sizeof parts / sizeof *parts,
                                               .part = parts};
