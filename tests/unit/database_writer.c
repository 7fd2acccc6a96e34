#include "database_writer.h"

#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/texts.h"
#include "trace/scan/part.h"
#include "trace/text/csv.h"

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "database_writer: %s\n", what);
    abort();
}

/* ---- SQL ---- */

static sqlite3 *open_database(const char *path)
{
    sqlite3 *database;
    check(sqlite3_open(path, &database) == SQLITE_OK, path);
    return database;
}

static void run_sql(sqlite3 *database, const char *sql)
{
    char *message = NULL;
    int code = sqlite3_exec(database, sql, NULL, NULL, &message);
    check(code == SQLITE_OK, message ? message : sql);
}

void change_database(const char *path, const char *sql)
{
    sqlite3 *database = open_database(path);
    run_sql(database, sql);
    sqlite3_close(database);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK, sql);
    return statement;
}

/* Values are whole numbers; NONE is NULL. */
#define NONE INT64_MIN
static void insert(sqlite3_stmt *statement, const int64_t *value, int n)
{
    for (int i = 0; i < n; i++)
        if (value[i] == NONE)
            sqlite3_bind_null(statement, i + 1);
        else
            sqlite3_bind_int64(statement, i + 1, value[i]);
    check(sqlite3_step(statement) == SQLITE_DONE, "a row cannot be written");
    sqlite3_reset(statement);
}
#define INSERT(statement, ...)                                                                                         \
    insert((statement), (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static void insert_texts(sqlite3_stmt *statement, const char *const *text, int n)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_text(statement, i + 1, text[i], -1, SQLITE_TRANSIENT);
    check(sqlite3_step(statement) == SQLITE_DONE, "a row cannot be written");
    sqlite3_reset(statement);
}

/* ---- written tables ---- */

typedef struct writer {
    sqlite3 *database;
    ek__texts strings, pairs; /* pairs: "kind id", numbered as connections */
    json_t *process;          /* pid -> name */
    json_t *thread;           /* "pid tid" -> name */
    json_t *events;
    json_t *at; /* "pid tid start" -> index + 1 of an event of a duration */
} writer;

static int64_t string_id(writer *w, const char *text)
{
    return text ? (int64_t)ek__texts_intern(&w->strings, text, strlen(text)) : NONE;
}

static void write_strings(writer *w, const char *table)
{
    char sql[120];
    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?, ?)", table);
    sqlite3_stmt *row = prepare(w->database, sql);
    for (uint32_t i = 0; i < w->strings.n; i++) {
        sqlite3_bind_int64(row, 1, i);
        sqlite3_bind_text(row, 2, ek__texts_at(&w->strings, i), -1, SQLITE_STATIC);
        check(sqlite3_step(row) == SQLITE_DONE, "a text cannot be written");
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
}

/* A number for an arrow's id, the same for both of its ends. */
static int64_t connection_of(writer *w, const char *kind, const char *id)
{
    char key[160];
    int n = snprintf(key, sizeof key, "%s %s", kind, id);
    return 1000 + (int64_t)ek__texts_intern(&w->pairs, key, (size_t)n);
}

/* ---- the text ---- */

/* A member as text, numbers with their original digits; "" without. Ids may be beyond 64 bits: they are texts. */
static const char *text_of(const json_t *object, const char *key)
{
    static char room[8][64];
    static int next;
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value))
        return json_string_value(value);
    char *to = room[next = (next + 1) % 8];
    if (json_is_integer(value))
        snprintf(to, sizeof room[0], "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(to, sizeof room[0], "%.6f", json_real_value(value));
    else
        *to = '\0';
    return to;
}

static int64_t ns_of(const json_t *event, const char *key)
{
    const char *text = text_of(event, key);
    int64_t ns;
    return *text && ek__parse_us(text, strlen(text), &ns) ? ns : NONE;
}

static int64_t whole(const json_t *object, const char *key)
{
    const char *text = text_of(object, key);
    return *text ? (int64_t)strtoull(text, NULL, 10) : NONE;
}

static const char *name_of_process(writer *w, const json_t *event)
{
    const char *name = json_string_value(json_object_get(w->process, text_of(event, "pid")));
    return name ? name : "";
}

static const char *name_of_thread(writer *w, const json_t *event)
{
    char key[160];
    snprintf(key, sizeof key, "%s %s", text_of(event, "pid"), text_of(event, "tid"));
    const char *name = json_string_value(json_object_get(w->thread, key));
    return name ? name : "";
}

static json_t *load(const char *path)
{
    gzFile file = gzopen(path, "rb");
    size_t n = 0, room = 1 << 20;
    char *text = malloc(room);
    check(file != NULL, path);
    for (int got; (got = gzread(file, text + n, (unsigned)(room - n))) > 0;) {
        n += (size_t)got;
        if (n == room)
            text = realloc(text, room *= 2);
    }
    gzclose(file);
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_DECODE_INT_AS_REAL * 0, &error);
    free(text);
    check(root != NULL, error.text);
    return root;
}

static void place_of(const json_t *event, char *key, size_t room)
{
    snprintf(key, room, "%s %s %" PRId64, text_of(event, "pid"), text_of(event, "tid"), ns_of(event, "ts"));
}

static void begin(writer *w, const char *trace)
{
    json_t *root = load(trace), *event;
    size_t i;
    w->events = json_is_array(root) ? json_incref(root) : json_incref(json_object_get(root, "traceEvents"));
    json_decref(root);
    w->process = json_object();
    w->thread = json_object();
    w->at = json_object();
    check(ek__texts_reset(&w->strings) && ek__texts_reset(&w->pairs), "no memory");
    json_array_foreach(w->events, i, event)
    {
        char key[160];
        const char *name = text_of(event, "name");
        json_t *label = json_object_get(json_object_get(event, "args"), "name");
        snprintf(key, sizeof key, "%s %s", text_of(event, "pid"), text_of(event, "tid"));
        if (strcmp(text_of(event, "ph"), "M") == 0 && strcmp(name, "process_name") == 0)
            json_object_set(w->process, text_of(event, "pid"), label);
        else if (strcmp(text_of(event, "ph"), "M") == 0 && strcmp(name, "thread_name") == 0)
            json_object_set(w->thread, key, label);
        else if (strcmp(text_of(event, "ph"), "X") == 0) {
            place_of(event, key, sizeof key);
            if (!json_object_get(w->at, key))
                json_object_set_new(w->at, key, json_integer((json_int_t)i));
        }
    }
}

static void end(writer *w)
{
    sqlite3_close(w->database);
    ek__texts_clear(&w->strings);
    ek__texts_clear(&w->pairs);
    json_decref(w->events);
    json_decref(w->process);
    json_decref(w->thread);
    json_decref(w->at);
}

/* The event of a duration that begins where an arrow does; NULL. */
static json_t *event_at(writer *w, const json_t *flow)
{
    char key[160];
    place_of(flow, key, sizeof key);
    const json_t *at = json_object_get(w->at, key);
    return at ? json_array_get(w->events, (size_t)json_integer_value(at)) : NULL;
}

/* ---- arrows become numbers ---- */

/* A call where an arrow begins that no event does. */
static json_t *call_at(const json_t *flow, const char *kind, const char *name)
{
    return json_pack("{s:s, s:b, s:s, s:O, s:O, s:O, s:s}", "ph", "X", kind, 1, "name", name, "pid",
                     json_object_get(flow, "pid"), "tid", json_object_get(flow, "tid"), "ts",
                     json_object_get(flow, "ts"), "dur", "0.000");
}

/* Give both ends of every arrow its number: "conn" of a call of CANN and of a task, "conns" of the framework's. An
 * arrow that begins within a call begins in a separate call. */
static void connect(writer *w)
{
    json_t *event, *calls = json_array();
    size_t i;
    json_array_foreach(w->events, i, event)
    {
        const char *cat = text_of(event, "cat"), *ph = text_of(event, "ph");
        if ((*ph != 's' && *ph != 'f') || strcmp(cat, "HostToDevice") != 0)
            continue;
        json_t *at = event_at(w, event);
        int64_t number = connection_of(w, "launch", text_of(event, "id"));
        if (!at && *ph == 's') {
            at = call_at(event, "call", "Runtime@KernelLaunch");
            json_array_append_new(calls, at);
        }
        if (at)
            json_object_set_new(at, "conn", json_integer(number));
    }
    json_array_extend(w->events, calls);
    json_decref(calls);
    /* The framework's arrows end at tasks and take their numbers. */
    json_t *of_arrow = json_object(), *operators = json_array();
    json_array_foreach(w->events, i, event)
    {
        if (*text_of(event, "ph") != 'f' || strcmp(text_of(event, "cat"), "async_npu") != 0)
            continue;
        json_t *task = event_at(w, event);
        if (task && !json_object_get(task, "conn"))
            json_object_set_new(task, "conn", json_integer(connection_of(w, "async", text_of(event, "id"))));
        if (task)
            json_object_set(of_arrow, text_of(event, "id"), json_object_get(task, "conn"));
    }
    json_array_foreach(w->events, i, event)
    {
        const char *cat = text_of(event, "cat"), *ph = text_of(event, "ph"), *id = text_of(event, "id");
        json_t *at = *ph == 's' || *ph == 'f' ? event_at(w, event) : NULL, *number = NULL;
        bool launches = strcmp(cat, "async_npu") == 0 && *ph == 's';
        if (launches)
            number = json_incref(json_object_get(of_arrow, id));
        if (launches && !at) {
            at = call_at(event, "operator", "aten::op");
            json_array_append_new(operators, at);
        }
        if (strcmp(cat, "async_task_queue") == 0 || strcmp(cat, "fwdbwd") == 0)
            number = json_integer(connection_of(w, cat, id));
        if (number && at) {
            json_t *list = json_object_get(at, "conns");
            if (!list)
                json_object_set_new(at, "conns", list = json_array());
            json_array_append(list, number);
            if (strcmp(cat, "fwdbwd") == 0)
                json_object_set_new(at, "backward", json_boolean(*ph == 'f'));
        }
        json_decref(number);
    }
    /* An arrow ends at all that begins there. */
    json_array_foreach(w->events, i, event)
    {
        json_t *first = strcmp(text_of(event, "ph"), "X") == 0 ? event_at(w, event) : NULL;
        if (first && first != event && json_object_get(first, "conn"))
            json_object_set(event, "conn", json_object_get(first, "conn"));
    }
    json_array_extend(w->events, operators);
    json_decref(operators);
    json_decref(of_arrow);
}

/* ---- cells ---- */

static ek__csv *open_csv(const char *folder, const char *name)
{
    char path[1024];
    ek__csv *csv = NULL;
    snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/%s", folder, name);
    return ek__csv_open(path, &csv, NULL) == EK_OK ? csv : NULL;
}

static bool next_row(ek__csv *csv)
{
    bool more = false;
    check(ek__csv_next(csv, &more, NULL) == EK_OK, "a table cannot be read");
    return more;
}

#define CELL(csv, ...) ek__csv_cell((csv), ek__csv_column((csv), __VA_ARGS__, NULL))

/* ---- Ascend ---- */

static const char ascend_tables[] =
    "CREATE TABLE STRING_IDS (id INTEGER %s, value TEXT);"
    "CREATE TABLE PYTORCH_API (startNs %s, endNs %s, globalTid INTEGER, connectionId INTEGER, name INTEGER,"
    " sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER,"
    " type INTEGER);"
    "CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);"
    "CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER,"
    " name INTEGER);"
    "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,"
    " globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);"
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER %s, blockDim INTEGER, mixBlockDim INTEGER,"
    " taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,"
    " outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER);"
    "CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,"
    " groupName INTEGER, opId INTEGER %s, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,"
    " count NUMERIC, opType INTEGER, deviceId INTEGER);"
    "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,"
    " groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,"
    " size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER, isMaster INTEGER, bandwidth NUMERIC);"
    "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);"
    "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
    "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER, deviceId INTEGER, startNs INTEGER, endNs INTEGER, type INTEGER);"
    "CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER,"
    " totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);"
    "CREATE TABLE NPU_MEM (type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER);"
    "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,"
    " activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, streamPtr INTEGER, deviceId INTEGER);"
    "CREATE TABLE ENUM_MODULE (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE NPU_MODULE_MEM (moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER);"
    "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
    "CREATE TABLE META_DATA (name TEXT, value TEXT);";

typedef struct ascend {
    writer w;
    const database_shape *shape;
    int64_t n_lists, n_tasks, n_overlaps;
    json_t *types;   /* of collectives by name, as kernel_details has them */
    json_t *task_at; /* "start name" -> global number of a task */
    sqlite3_stmt *api, *list, *cann, *task, *compute, *op, *part, *step, *overlap, *pmu;
} ascend;

/* The list of an operator's connections as a number; NONE without. */
static int64_t list_of(ascend *a, const json_t *event)
{
    const json_t *list = json_object_get(event, "conns"), *number;
    size_t i;
    if (!list)
        return NONE;
    a->n_lists++;
    json_array_foreach(list, i, number) INSERT(a->list, a->n_lists, json_integer_value(number));
    return a->n_lists;
}

static int64_t global_thread(const json_t *event)
{
    return whole(event, "pid") << 32 | (whole(event, "tid") & UINT32_MAX);
}

static void add_api(ascend *a, const json_t *event)
{
    enum { OP = 50001, QUEUE = 50002, TRACE = 50003, MSTX = 50004 };
    const char *cat = text_of(event, "cat"), *name = text_of(event, "name");
    const json_t *args = json_object_get(event, "args");
    int64_t type = strcmp(cat, "enqueue") == 0 || strcmp(cat, "dequeue") == 0 ? QUEUE
                   : strcmp(cat, "python_function") == 0                      ? TRACE
                   : strcmp(cat, "user_annotation") == 0                      ? MSTX
                                                                              : OP;
    int64_t forward = whole(args, "Fwd thread id");
    const json_t *backward = json_object_get(event, "backward");
    if (backward)
        forward = json_is_true(backward) ? 1 : 0;
    const char *shapes = json_string_value(json_object_get(args, "Input Dims")),
               *types = json_string_value(json_object_get(args, "Input type"));
    INSERT(a->api, ns_of(event, "ts"), ns_of(event, "ts") + ns_of(event, "dur"), global_thread(event),
           list_of(a, event), string_id(&a->w, name), whole(args, "Sequence number"), forward, string_id(&a->w, types),
           string_id(&a->w, shapes), NONE, type);
    static const char mark[] = "ProfilerStep#";
    if (strncmp(name, mark, sizeof mark - 1) == 0)
        INSERT(a->step, strtoll(name + sizeof mark - 1, NULL, 10), ns_of(event, "ts"),
               ns_of(event, "ts") + ns_of(event, "dur"));
}

static int64_t connection(const json_t *event)
{
    const json_t *number = json_object_get(event, "conn");
    return number ? json_integer_value(number) : NONE;
}

static void add_cann(ascend *a, const json_t *event)
{
    static const struct {
        const char *level;
        int64_t type;
    } levels[] = {{"AscendCL@", 20000}, {"Model@", 15000}, {"Node@", 10000}, {"Hccl@", 5500}, {"Runtime@", 5000}};
    const char *name = text_of(event, "name");
    int64_t type = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strncmp(name, levels[i].level, strlen(levels[i].level)) == 0) {
            type = levels[i].type;
            name += strlen(levels[i].level);
            break;
        }
    INSERT(a->cann, ns_of(event, "ts"), ns_of(event, "ts") + ns_of(event, "dur"), type, whole(event, "tid"),
           connection(event), string_id(&a->w, name));
}

/* The device profiler's part of a collective is the task of these numbers. */
static void part_key(const json_t *args, const char *task, const char *context, char *key, size_t room)
{
    snprintf(key, room, "%s %s", text_of(args, task), text_of(args, context));
}

static int64_t add_task(ascend *a, const json_t *event, const char *type)
{
    const json_t *args = json_object_get(event, "args");
    int64_t number = ++a->n_tasks;
    INSERT(a->task, ns_of(event, "ts"), ns_of(event, "ts") + ns_of(event, "dur"), 0, connection(event), number, NONE,
           string_id(&a->w, type), whole(args, "Subtask Id"), whole(event, "tid"), whole(args, "Task Id"), NONE);
    return number;
}

/* Only operators have their own name in a database; others have that of their type. */
static void add_hardware(ascend *a, const json_t *event, json_t *parts)
{
    char key[160];
    const json_t *args = json_object_get(event, "args");
    const char *type = text_of(args, "Task Type"), *name = text_of(event, "name");
    const ek__span type_span = {type, (uint32_t)strlen(type), true}, name_span = {name, (uint32_t)strlen(name), true};
    int64_t number = add_task(a, event, type);
    if (strcmp(type, name) != 0 && ek__task_core(&type_span, &name_span) != EK__CORE_NONE) {
        snprintf(key, sizeof key, "%" PRId64 " %s", ns_of(event, "ts"), name);
        json_object_set_new(a->task_at, key, json_integer(number));
        json_object_set_new((json_t *)event, "number", json_integer(number));
    }
    part_key(args, "Task Id", "Subtask Id", key, sizeof key);
    json_object_set_new(parts, key, json_integer(number));
}

static void add_collective(ascend *a, const json_t *event, const json_t *parts)
{
    char key[160];
    const json_t *args = json_object_get(event, "args");
    const char *name = text_of(event, "name"), *thread = name_of_thread(&a->w, event);
    if (strncmp(thread, "Plane", 5) != 0) {
        const char *type = json_string_value(json_object_get(a->types, name));
        INSERT(a->op, string_id(&a->w, name), ns_of(event, "ts"), ns_of(event, "ts") + ns_of(event, "dur"),
               connection(event), string_id(&a->w, thread), NONE, 0, 0, 4, string_id(&a->w, text_of(args, "alg_type")),
               whole(args, "count"), string_id(&a->w, type), 0);
        return;
    }
    part_key(args, "task id", "context id", key, sizeof key);
    const json_t *task = json_object_get(parts, key);
    check(task != NULL, "a part of a collective is no task");
    INSERT(a->part, string_id(&a->w, "hcom"), json_integer_value(task), string_id(&a->w, name),
           strtoll(thread + 6, NULL, 10), string_id(&a->w, "group"), whole(args, "notify_id"), NONE,
           whole(args, "src rank"), whole(args, "dst rank"), 0, whole(args, "size(Byte)"), NONE, NONE, NONE, NONE,
           NONE);
}

static void add_overlap(ascend *a, const json_t *event)
{
    static const char *const name[] = {"Computing", "Communication", "Communication(Not Overlapped)", "Free"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name[i], text_of(event, "name")) == 0)
            INSERT(a->overlap, ++a->n_overlaps, 0, ns_of(event, "ts"), ns_of(event, "ts") + ns_of(event, "dur"), i);
}

static void read_types(ascend *a, const char *from)
{
    ek__csv *csv = open_csv(from, "kernel_details.csv");
    while (csv && next_row(csv))
        json_object_set_new(a->types, CELL(csv, "Name"), json_string(CELL(csv, "Type")));
    ek__csv_close(csv);
}

static void add_events(ascend *a)
{
    json_t *event, *parts = json_object();
    size_t i;
    for (int turn = 0; turn < 2; turn++) /* tasks before the parts of collectives */
        json_array_foreach(a->w.events, i, event)
        {
            const char *process = name_of_process(&a->w, event);
            bool hccl = strcmp(process, "HCCL") == 0 || strcmp(process, "Communication") == 0;
            if (strcmp(text_of(event, "ph"), "X") != 0 || hccl != (turn == 1))
                continue;
            if (hccl)
                add_collective(a, event, parts);
            else if (strcmp(process, "Ascend Hardware") == 0)
                add_hardware(a, event, parts);
            else if (strcmp(process, "CANN") == 0 || json_object_get(event, "call"))
                add_cann(a, event);
            else if (strcmp(process, "Overlap Analysis") == 0 && !a->shape->no_overlap)
                add_overlap(a, event);
            else if (strcmp(process, "Python") == 0 || json_object_get(event, "operator"))
                add_api(a, event);
        }
    json_decref(parts);
}

/* ---- tables beside the trace ---- */

static int64_t cell_ns(ek__csv *csv, const char *column)
{
    int64_t ns;
    return ek__csv_us(csv, ek__csv_column(csv, column, NULL), &ns) ? ns : NONE;
}

/* So many units of a column as a whole number of bytes. */
static int64_t cell_bytes(ek__csv *csv, const char *column, double unit)
{
    double value;
    return ek__csv_number(csv, ek__csv_column(csv, column, NULL), &value) ? (int64_t)(value * unit + 0.5) : NONE;
}

static int64_t cell_text(ascend *a, ek__csv *csv, const char *column)
{
    return ek__csv_column(csv, column, NULL) < 0 ? NONE : string_id(&a->w, CELL(csv, column));
}

static void add_measured(ascend *a, ek__csv *csv, int64_t number)
{
    for (int i = 0; i < ek__csv_n_columns(csv); i++) {
        const char *header = ek__csv_header(csv, i);
        double value;
        if (!strstr(header, "_ratio") || !ek__csv_number(csv, i, &value))
            continue;
        sqlite3_bind_int64(a->pmu, 1, number);
        sqlite3_bind_int64(a->pmu, 2, string_id(&a->w, header));
        sqlite3_bind_double(a->pmu, 3, value);
        check(sqlite3_step(a->pmu) == SQLITE_DONE, "a metric cannot be written");
        sqlite3_reset(a->pmu);
    }
}

/* Operators: by kernel_details, at the tasks that begin then; others only by the trace. */
static void add_operators(ascend *a, const char *from)
{
    ek__csv *csv = open_csv(from, "kernel_details.csv");
    while (csv && next_row(csv)) {
        char key[400];
        snprintf(key, sizeof key, "%" PRId64 " %s", cell_ns(csv, "Start Time(us)"), CELL(csv, "Name"));
        json_t *task = json_object_get(a->task_at, key);
        if (!task)
            continue;
        int64_t number = json_integer_value(task), blocks;
        if (!ek__csv_int(csv, ek__csv_column(csv, "Block Dim", NULL), &blocks))
            blocks = NONE;
        INSERT(a->compute, cell_text(a, csv, "Name"), number, blocks, NONE, cell_text(a, csv, "Accelerator Core"),
               cell_text(a, csv, "Type"), cell_text(a, csv, "Input Formats"), cell_text(a, csv, "Input Data Types"),
               cell_text(a, csv, "Input Shapes"), cell_text(a, csv, "Output Formats"),
               cell_text(a, csv, "Output Data Types"), cell_text(a, csv, "Output Shapes"), NONE);
        add_measured(a, csv, number);
        json_object_del(a->task_at, key);
    }
    ek__csv_close(csv);
    json_t *event;
    size_t i;
    if (csv)
        return;
    json_array_foreach(a->w.events, i, event)
    {
        const json_t *number = json_object_get(event, "number");
        if (number)
            INSERT(a->compute, string_id(&a->w, text_of(event, "name")), json_integer_value(number), NONE, NONE,
                   string_id(&a->w, text_of(json_object_get(event, "args"), "Task Type")), NONE, NONE, NONE, NONE, NONE,
                   NONE, NONE, NONE);
    }
}

static const double mb = 1024 * 1024, kb = 1024;

/* "NPU:1" */
static int64_t device_of(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon ? strtoll(colon + 1, NULL, 10) : NONE;
}

static void add_memory(ascend *a, const char *from)
{
    ek__csv *csv = open_csv(from, "memory_record.csv");
    sqlite3_stmt *row = prepare(a->w.database, "INSERT INTO MEMORY_RECORD VALUES (?,?,?,?,?,?,?)");
    sqlite3_stmt *process = prepare(a->w.database, "INSERT INTO NPU_MEM VALUES (?,?,?,?,?)");
    while (csv && next_row(csv))
        if (strcmp(CELL(csv, "Component"), "APP") == 0)
            INSERT(process, string_id(&a->w, "app"), 0, cell_bytes(csv, "Total Reserved(MB)", mb),
                   cell_ns(csv, "Timestamp(us)"), 0);
        else
            INSERT(row, cell_text(a, csv, "Component"), cell_ns(csv, "Timestamp(us)"),
                   cell_bytes(csv, "Total Allocated(MB)", mb), cell_bytes(csv, "Total Reserved(MB)", mb),
                   cell_bytes(csv, "Total Active(MB)", mb), NONE, 0);
    ek__csv_close(csv);
    sqlite3_finalize(row);
    sqlite3_finalize(process);
    csv = open_csv(from, "operator_memory.csv");
    row = prepare(a->w.database, "INSERT INTO OP_MEMORY VALUES (?,?,?,?,?,?,?,?,?)");
    while (csv && next_row(csv))
        INSERT(row, cell_text(a, csv, "Name"), cell_bytes(csv, "Size(KB)", kb), cell_ns(csv, "Allocation Time(us)"),
               cell_ns(csv, "Release Time(us)"), NONE, NONE, NONE, NONE, device_of(CELL(csv, "Device Type")));
    ek__csv_close(csv);
    sqlite3_finalize(row);
}

static void add_modules(ascend *a, const char *from)
{
    ek__texts modules = {0};
    ek__csv *csv = open_csv(from, "npu_module_mem.csv");
    sqlite3_stmt *row = prepare(a->w.database, "INSERT INTO NPU_MODULE_MEM VALUES (?,?,?,?)");
    check(ek__texts_reset(&modules), "no memory");
    while (csv && next_row(csv)) {
        const char *name = CELL(csv, "Component");
        int64_t bytes = cell_bytes(csv, "Total Reserved(MB)", mb);
        if (bytes == NONE)
            bytes = cell_bytes(csv, "Total Reserved(KB)", kb);
        INSERT(row, ek__texts_intern(&modules, name, strlen(name)), cell_ns(csv, "Timestamp(us)"), bytes, 0);
    }
    ek__csv_close(csv);
    sqlite3_finalize(row);
    row = prepare(a->w.database, "INSERT INTO ENUM_MODULE VALUES (?,?)");
    for (uint32_t i = 0; i < modules.n; i++) {
        sqlite3_bind_int64(row, 1, i);
        sqlite3_bind_text(row, 2, ek__texts_at(&modules, i), -1, SQLITE_STATIC);
        check(sqlite3_step(row) == SQLITE_DONE, "a module cannot be written");
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    ek__texts_clear(&modules);
}

static void prepare_all(ascend *a)
{
    sqlite3 *d = a->w.database;
    a->api = prepare(d, "INSERT INTO PYTORCH_API VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    a->list = prepare(d, "INSERT INTO CONNECTION_IDS VALUES (?,?)");
    a->cann = prepare(d, "INSERT INTO CANN_API VALUES (?,?,?,?,?,?)");
    a->task = prepare(d, "INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    a->compute = prepare(d, "INSERT INTO COMPUTE_TASK_INFO VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
    a->op = prepare(d, "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
    a->part = prepare(d, "INSERT INTO COMMUNICATION_TASK_INFO VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    a->step = prepare(d, "INSERT INTO STEP_TIME VALUES (?,?,?)");
    a->overlap = prepare(d, "INSERT INTO OVERLAP_ANALYSIS VALUES (?,?,?,?,?)");
    a->pmu = prepare(d, "INSERT INTO TASK_PMU_INFO VALUES (?,?,?)");
}

static void finalize_all(ascend *a)
{
    sqlite3_stmt *const all[] = {a->api, a->list, a->cann, a->task,    a->compute,
                                 a->op,  a->part, a->step, a->overlap, a->pmu};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sqlite3_finalize(all[i]);
}

static void write_profile(const char *from, const char *path, int rank, const database_shape *shape)
{
    char text[sizeof ascend_tables + 200];
    const char *key = shape->no_indexes ? "" : "PRIMARY KEY", *type = shape->times_as_text ? "TEXT" : "INTEGER";
    ascend a = {.shape = shape, .task_at = json_object(), .types = json_object()};
    snprintf(text, sizeof text, "%s/ASCEND_PROFILER_OUTPUT/trace_view.json", from);
    begin(&a.w, text);
    connect(&a.w);
    a.w.database = open_database(path);
    snprintf(text, sizeof text, ascend_tables, key, type, type, key, key);
    run_sql(a.w.database, "PRAGMA synchronous = OFF; BEGIN");
    run_sql(a.w.database, text);
    prepare_all(&a);
    read_types(&a, from);
    add_events(&a);
    add_operators(&a, from);
    add_memory(&a, from);
    add_modules(&a, from);
    sqlite3_stmt *map = prepare(a.w.database, "INSERT INTO RANK_DEVICE_MAP VALUES (?,?)");
    INSERT(map, rank, 0);
    sqlite3_finalize(map);
    write_strings(&a.w, "STRING_IDS");
    finalize_all(&a);
    run_sql(a.w.database, "COMMIT");
    json_decref(a.task_at);
    json_decref(a.types);
    end(&a.w);
}

/* ---- analysis.db ---- */

static const char analysis_tables[] =
    "CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC,"
    " overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,"
    " communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);"
    "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,"
    " transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT);"
    "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT,"
    " transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC,"
    " package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT);"
    "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,"
    " transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT,"
    " op_name TEXT);";

static void add_step_rows(sqlite3 *database, const char *from)
{
    static const char *const column[] = {"Device_id",  "Step",
                                         "Computing",  "Communication(Not Overlapped)",
                                         "Overlapped", "Communication",
                                         "Free",       "Stage",
                                         "Bubble",     "Communication(Not Overlapped and Exclude Receive)",
                                         "Preparing"};
    ek__csv *csv = open_csv(from, "step_trace_time.csv");
    sqlite3_stmt *row = prepare(database, "INSERT INTO StepTraceTime VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    enum { N = sizeof column / sizeof *column };
    while (csv && next_row(csv)) {
        const char *cell[N];
        for (int i = 0; i < N; i++)
            cell[i] = ek__csv_column(csv, column[i], NULL) < 0 ? NULL : CELL(csv, column[i]);
        insert_texts(row, cell, N);
    }
    ek__csv_close(csv);
    sqlite3_finalize(row);
}

/* "17 digits", in one of a few places. */
static const char *exact(const json_t *object, const char *key)
{
    static char room[16][40];
    static int next;
    const json_t *value = json_object_get(object, key);
    char *to = room[next = (next + 1) % 16];
    if (!json_is_number(value))
        return NULL;
    snprintf(to, sizeof room[0], "%.17g", json_number_value(value));
    return to;
}

/* "NAME@GROUP" in its parts. */
static void part_name(const char *whole_name, char *name, char *group, size_t room)
{
    const char *at = strrchr(whole_name, '@');
    snprintf(name, room, "%.*s", (int)(at ? at - whole_name : (long)strlen(whole_name)), whole_name);
    snprintf(group, room, "%s", at ? at + 1 : "");
}

static void add_operator(sqlite3_stmt *time, sqlite3_stmt *band, const char *step, const char *type, const char *key,
                         const json_t *value)
{
    char name[200], group[200];
    const char *way;
    const json_t *t = json_object_get(value, "Communication Time Info");
    json_t *b;
    part_name(key, name, group, sizeof name);
    insert_texts(time,
                 (const char *const[]){name, group, exact(t, "Start Timestamp(us)"), exact(t, "Elapse Time(ms)"),
                                       exact(t, "Transit Time(ms)"), exact(t, "Wait Time(ms)"),
                                       exact(t, "Synchronization Time(ms)"), exact(t, "Idle Time(ms)"), step, type},
                 10);
    json_object_foreach(json_object_get(value, "Communication Bandwidth Info"), way,
                        b) for (int size = 0; size < 2; size++) /* one row for every size of packets */
        insert_texts(band,
                     (const char *const[]){name, group, way, exact(b, "Transit Size(MB)"), exact(b, "Transit Time(ms)"),
                                           exact(b, "Bandwidth(GB/s)"), "0", size ? "2" : "1", "1", "1", step, type},
                     12);
}

static void add_link(sqlite3_stmt *link, const char *step, const char *type, const char *key, const json_t *pairs)
{
    char name[200], group[200];
    const char *pair;
    json_t *value;
    part_name(key, name, group, sizeof name);
    json_object_foreach((json_t *)pairs, pair, value)
    {
        char from[32];
        const char *dash = strchr(pair, '-');
        snprintf(from, sizeof from, "%.*s", (int)(dash - pair), pair);
        insert_texts(link,
                     (const char *const[]){name, group, from, dash + 1,
                                           json_string_value(json_object_get(value, "Transport Type")),
                                           exact(value, "Transit Size(MB)"), exact(value, "Transit Time(ms)"),
                                           exact(value, "Bandwidth(GB/s)"), step, type,
                                           json_string_value(json_object_get(value, "Op Name"))},
                     11);
    }
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static void add_communication(sqlite3 *database, const char *from, const char *file, bool matrix)
{
    char path[1024];
    const char *step, *type, *key;
    json_t *sections, *operators, *value;
    snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/%s", from, file);
    if (!exists(path))
        return;
    json_t *root = load(path);
    sqlite3_stmt *time = prepare(database, "INSERT INTO CommAnalyzerTime VALUES (?,?,?,?,?,?,?,?,?,?)");
    sqlite3_stmt *band = prepare(database, "INSERT INTO CommAnalyzerBandwidth VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
    sqlite3_stmt *link = prepare(database, "INSERT INTO CommAnalyzerMatrix VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    json_object_foreach(root, step, sections) json_object_foreach(sections, type, operators)
        json_object_foreach(operators, key, value)
    {
        if (matrix)
            add_link(link, step, type, key, value);
        else
            add_operator(time, band, step, type, key, value);
    }
    sqlite3_finalize(time);
    sqlite3_finalize(band);
    sqlite3_finalize(link);
    json_decref(root);
}

static void write_analysis(const char *from, const char *path)
{
    sqlite3 *database = open_database(path);
    run_sql(database, "PRAGMA synchronous = OFF; BEGIN");
    run_sql(database, analysis_tables);
    add_step_rows(database, from);
    add_communication(database, from, "communication.json", false);
    add_communication(database, from, "communication_matrix.json", true);
    run_sql(database, "COMMIT");
    sqlite3_close(database);
}

/* ---- a rank ---- */

static void copy_if_there(const char *from, const char *to, const char *name)
{
    char source[1024], target[1024];
    static char bytes[1 << 20];
    snprintf(source, sizeof source, "%s/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    FILE *in = fopen(source, "rb");
    if (!in)
        return;
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    FILE *out = fopen(target, "wb");
    check(out && fwrite(bytes, 1, n, out) == n && fclose(out) == 0, target);
}

void write_ascend_databases(const char *from, const char *to, int rank, const database_shape *shape)
{
    char path[1024], info[64];
    mkdir(to, 0700);
    snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT", to);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_%d.db", to, rank);
    write_profile(from, path, rank, shape);
    snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/analysis.db", to);
    write_analysis(from, path);
    snprintf(info, sizeof info, "profiler_info_%d.json", rank);
    copy_if_there(from, to, info);
    copy_if_there(from, to, "profiler_info.json");
    copy_if_there(from, to, "profiler_metadata.json");
}

/* ---- Nsight Systems ---- */

static const char nsight_tables[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,"
    " copyKind INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER,"
    " bytes INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,"
    " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER);";

typedef struct nsight {
    writer w;
    json_t *text;
    sqlite3_stmt *kernel, *copy, *set, *call, *range;
} nsight;

/* Process or device, thread or stream. */
typedef struct place {
    int64_t pid, tid;
} place;

static int64_t kind_of_copy(const char *name)
{
    static const struct {
        const char *name;
        int64_t kind;
    } kinds[] = {{"HtoD", 1}, {"DtoH", 2}, {"DtoD", 8}, {"PtoP", 10}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].name))
            return kinds[i].kind;
    return 0;
}

static bool is(const char *cat, const char *name, const char *old)
{
    return strcmp(cat, name) == 0 || strcmp(cat, old) == 0;
}

static json_t *us(int64_t ns)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
    return json_string(text);
}

/* The event as Kineto would have written it, had it known no more than Nsight does. */
static void put_text(nsight *n, const char *cat, const char *name, place thread, const int64_t time[2],
                     int64_t correlation)
{
    json_t *kept = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "ph", "X", "cat", cat, "name", name, "pid",
                             (json_int_t)thread.pid, "tid", (json_int_t)thread.tid, "ts", us(time[0]), "dur",
                             us(time[1] - time[0]));
    if (correlation != NONE)
        json_object_set_new(kept, "args", json_pack("{s:I}", "correlation", (json_int_t)correlation));
    json_array_append_new(n->text, kept);
}

static const char *name_of_copy(int64_t kind)
{
    return kind == 1    ? "Memcpy HtoD"
           : kind == 2  ? "Memcpy DtoH"
           : kind == 8  ? "Memcpy DtoD"
           : kind == 10 ? "Memcpy PtoP"
                        : "Memcpy";
}

static void add_nsight(nsight *n, const json_t *event)
{
    enum { PUSH_POP = 59 };
    const char *cat = text_of(event, "cat"), *name = text_of(event, "name");
    const json_t *args = json_object_get(event, "args");
    int64_t start = ns_of(event, "ts"), stop = start + (json_object_get(event, "dur") ? ns_of(event, "dur") : 0);
    int64_t pid = whole(event, "pid"), tid = whole(event, "tid"), correlation = whole(args, "correlation");
    int64_t host_pid = pid & 0xffffff, host_tid = tid & 0xffffff, host = host_pid << 24 | host_tid;
    const int64_t time[2] = {start, stop};
    const place on_device = {pid, tid}, on_host = {host_pid, host_tid};
    if (start == NONE)
        return;
    if (is(cat, "kernel", "Kernel")) {
        INSERT(n->kernel, start, stop, pid, 1, NONE, tid, correlation, NONE, string_id(&n->w, name),
               string_id(&n->w, "short"), NONE);
        put_text(n, "kernel", name, on_device, time, correlation);
    } else if (is(cat, "gpu_memcpy", "Memcpy")) {
        int64_t kind = kind_of_copy(name);
        INSERT(n->copy, start, stop, pid, 1, tid, correlation, NONE, 0, kind);
        put_text(n, "gpu_memcpy", name_of_copy(kind), on_device, time, correlation);
    } else if (is(cat, "gpu_memset", "Memset")) {
        INSERT(n->set, start, stop, pid, 1, tid, correlation, NONE, 0, 0);
        put_text(n, "gpu_memset", "Memset (Device)", on_device, time, correlation);
    } else if (is(cat, "cuda_runtime", "Runtime")) {
        char call[200];
        snprintf(call, sizeof call, "%.180s_v7000", name);
        INSERT(n->call, start, stop, 0, host, correlation, string_id(&n->w, call), 0, NONE);
        put_text(n, "cuda_runtime", name, on_host, time, correlation);
    } else if (is(cat, "user_annotation", "user_annotation") || strncmp(name, "ProfilerStep#", 13) == 0) {
        INSERT(n->range, start, stop, PUSH_POP, NONE, NONE, NONE, NONE, host, NONE, string_id(&n->w, name));
        put_text(n, "user_annotation", name, on_host, time, NONE);
    }
}

void write_nsight_database(const char *trace, const char *to, const char *text)
{
    nsight n = {.text = json_array()};
    json_t *event;
    size_t i;
    begin(&n.w, trace);
    sqlite3 *d = n.w.database = open_database(to);
    run_sql(d, "PRAGMA synchronous = OFF; BEGIN");
    run_sql(d, nsight_tables);
    n.kernel = prepare(d, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    n.copy = prepare(d, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?)");
    n.set = prepare(d, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,?,?,?,?,?,?)");
    n.call = prepare(d, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?,?)");
    n.range = prepare(d, "INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?,?,?,?,?)");
    json_array_foreach(n.w.events, i, event) if (strcmp(text_of(event, "ph"), "X") == 0) add_nsight(&n, event);
    write_strings(&n.w, "StringIds");
    sqlite3_stmt *const all[] = {n.kernel, n.copy, n.set, n.call, n.range};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        sqlite3_finalize(all[k]);
    run_sql(d, "COMMIT");
    json_t *root = json_pack("{s:i, s:o}", "schemaVersion", 1, "traceEvents", n.text);
    check(json_dump_file(root, text, JSON_REAL_PRECISION(17)) == 0, text);
    json_decref(root);
    end(&n.w);
}
