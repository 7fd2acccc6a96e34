/* Reads analysis.db of torch_npu and communication_analyzer.db of MindSpore and msprof as the equivalent files:
 * step_trace_time.csv (StepTraceTime), communication.json (CommAnalyzerTime, CommAnalyzerBandwidth) and
 * communication_matrix.json (CommAnalyzerMatrix). Units are those of the text. Rows of JSON are read by step and
 * section, so that each opens once; where the table has no sections, they follow from the names of operators. */
#include <string.h>

#include "base/c_locale.h"
#include "trace/database/rows.h"

/* ---- step_trace_time.csv ---- */

static bool select_steps(ek__database *d, sqlite3_str *sql)
{
    static const char *const column[] = {"step",
                                         "computing",
                                         "communication_not_overlapped",
                                         "overlapped",
                                         "communication",
                                         "free",
                                         "stage",
                                         "bubble",
                                         "communication_not_overlapped_and_exclude_receive",
                                         "preparing",
                                         NULL};
    if (!ek__database_has(d, "StepTraceTime"))
        return false;
    sqlite3_str_appendall(sql, "SELECT 0");
    for (int i = 0; column[i]; i++)
        ek__database_column(d, sql, "StepTraceTime", column[i], NULL);
    ek__database_column(d, sql, "StepTraceTime", "deviceId", NULL);
    sqlite3_str_appendall(sql, " FROM StepTraceTime NOT INDEXED");
    return true;
}

static void put_step(ek__database *d, sqlite3_stmt *row)
{
    enum { STEP = 1, FIRST, LAST = 10, DEVICE };
    size_t size = 0;
    int64_t device;
    const char *step = ek__row_text(d, row, STEP, &size);
    if (step)
        ek__put_cell(d, step, size);
    else if (sqlite3_column_type(row, STEP) != SQLITE_NULL)
        ek__put_int(d, ek__row_int_or(row, STEP, 0));
    for (int i = FIRST; i <= LAST; i++) {
        ek__put(d, ",");
        ek__put_number(d, ek__row_number(row, i));
    }
    ek__put(d, ",");
    if (ek__row_int(row, DEVICE, &device))
        ek__put_int(d, device);
    ek__put(d, "\n");
}

static const ek__database_part step_parts[] = {{"StepTraceTime", select_steps, put_step, NULL}};

const ek__database_script ek__analysis_steps = {
    .begin = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
             "Communication(Not Overlapped and Exclude Receive),Preparing,Device_id\n",
    .end = "",
    .n_parts = 1,
    .part = step_parts};

/* ---- JSON by step and section ---- */

enum { MOST_NAME = 512 };

/* The open objects: {"step50": {"collective": {"hcom_allReduce__586_0_1@17522688603477080586": { */
typedef struct state {
    bool open_step, open_section, open_operator;
    char step[MOST_NAME], section[16], name[MOST_NAME];
} state;

/* A text of a row terminated by a NUL, cut to the available room. */
static void copy_text(const ek__database *d, sqlite3_stmt *row, int column, const char *otherwise, char *to,
                      size_t room)
{
    size_t size = 0;
    const char *text = ek__row_text(d, row, column, &size);
    if (!text) {
        text = otherwise;
        size = strlen(otherwise);
    }
    size = size < room - 1 ? size : room - 1;
    memcpy(to, text, size);
    to[size] = '\0';
}

static void close_one(ek__database *d, bool *open)
{
    if (*open)
        ek__put(d, "}");
    d->separated = d->separated || *open;
    *open = false;
}

static void open_one(ek__database *d, bool *open, char *kept, size_t room, const char *name)
{
    ek__put_separator(d);
    ek__put_json(d, name, strlen(name));
    ek__put(d, ": {");
    ek__put_first(d);
    snprintf(kept, room, "%s", name);
    *open = true;
}

static void finish(ek__database *d)
{
    state *s = ek__database_state(d);
    close_one(d, &s->open_operator);
    close_one(d, &s->open_section);
    close_one(d, &s->open_step);
}

/* Names of operators between two ranks. */
static bool is_p2p(const char *name)
{
    static const char *const word[] = {"hcom_send", "hcom_receive", "hcom_batchSendRecv"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (ek__strncasecmp(name, word[i], strlen(word[i])) == 0)
            return true;
    return false;
}

/* Open step, section and operator of a row (columns STEP, SECTION, NAME, GROUP) unless they are open. */
enum { STEP = 1, SECTION, NAME, GROUP, VALUES };

static void open_all(ek__database *d, sqlite3_stmt *row)
{
    state *s = ek__database_state(d);
    char step[MOST_NAME], section[16], name[MOST_NAME], group[MOST_NAME], whole[2 * MOST_NAME];
    copy_text(d, row, STEP, "step", step, sizeof step);
    copy_text(d, row, NAME, "", name, sizeof name);
    copy_text(d, row, SECTION, is_p2p(name) ? "p2p" : "collective", section, sizeof section);
    copy_text(d, row, GROUP, "", group, sizeof group);
    snprintf(whole, MOST_NAME, "%.250s@%.250s", name, group);
    bool same_step = s->open_step && strcmp(s->step, step) == 0;
    bool same_section = same_step && s->open_section && strcmp(s->section, section) == 0;
    bool same_operator = same_section && s->open_operator && strcmp(s->name, whole) == 0;
    if (!same_operator)
        close_one(d, &s->open_operator);
    if (!same_section)
        close_one(d, &s->open_section);
    if (!same_step)
        close_one(d, &s->open_step);
    if (!same_step)
        open_one(d, &s->open_step, s->step, sizeof s->step, step);
    if (!same_section)
        open_one(d, &s->open_section, s->section, sizeof s->section, section);
    if (!same_operator)
        open_one(d, &s->open_operator, s->name, sizeof s->name, whole);
}

static void select_names(ek__database *d, sqlite3_str *sql, const char *table)
{
    sqlite3_str_appendall(sql, "SELECT 0");
    ek__database_column(d, sql, table, "step", NULL);
    ek__database_column(d, sql, table, "type", NULL);
    ek__database_column(d, sql, table, "hccl_op_name", NULL);
    ek__database_column(d, sql, table, "group_name", NULL);
}

/* By step, section and operator; LIKE ignores case, as is_p2p() does. */
static void order(sqlite3_str *sql, const char *table)
{
    sqlite3_str_appendf(sql,
                        " ORDER BY 2, 3, \"%w\".hccl_op_name LIKE 'hcom\\_send%%' ESCAPE '\\' OR "
                        "\"%w\".hccl_op_name LIKE 'hcom\\_receive%%' ESCAPE '\\' OR "
                        "\"%w\".hccl_op_name LIKE 'hcom\\_batchsendrecv%%' ESCAPE '\\', 4, 5, \"%w\".rowid",
                        table, table, table, table);
}

static void put_value(ek__database *d, const char *key, double value)
{
    if (value != value)
        return;
    ek__put_separator(d);
    ek__put_json(d, key, strlen(key));
    ek__put(d, ": ");
    ek__put_number(d, value);
}

/* ---- communication.json ---- */

static const char *const ways[] = {"RDMA", "SDMA", "HCCS", "PCIE", "SIO"};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* A transport's size and time are in each of its rows, one for every size of packets. */
static bool join_ways(ek__database *d, sqlite3_str *sql)
{
    static const char table[] = "CommAnalyzerBandwidth";
    bool by_step = ek__database_has_column(d, table, "step") && ek__database_has_column(d, "CommAnalyzerTime", "step");
    if (!ek__database_has_column(d, table, "hccl_op_name") || !ek__database_has_column(d, table, "group_name") ||
        !ek__database_has_column(d, table, "transport_type") || !ek__database_has_column(d, table, "transit_size") ||
        !ek__database_has_column(d, "CommAnalyzerTime", "hccl_op_name") ||
        !ek__database_has_column(d, "CommAnalyzerTime", "group_name"))
        return false;
    sqlite3_str_appendall(sql, " LEFT JOIN (SELECT hccl_op_name, group_name");
    if (by_step)
        sqlite3_str_appendall(sql, ", step");
    for (int i = 0; i < N_WAYS; i++)
        sqlite3_str_appendf(sql, ", max(CASE transport_type WHEN %Q THEN transit_size END) AS w%d", ways[i], i);
    sqlite3_str_appendf(sql,
                        " FROM %s GROUP BY hccl_op_name, group_name%s) AS \"ways\" ON "
                        "\"ways\".hccl_op_name = CommAnalyzerTime.hccl_op_name AND "
                        "\"ways\".group_name = CommAnalyzerTime.group_name%s",
                        table, by_step ? ", step" : "", by_step ? " AND \"ways\".step = CommAnalyzerTime.step" : "");
    return true;
}

static const struct {
    const char *column, *key;
} times[] = {{"start_timestamp", "Start Timestamp(us)"},
             {"elapse_time", "Elapse Time(ms)"},
             {"transit_time", "Transit Time(ms)"},
             {"wait_time", "Wait Time(ms)"},
             {"synchronization_time", "Synchronization Time(ms)"},
             {"idle_time", "Idle Time(ms)"}};
enum { N_TIMES = sizeof times / sizeof *times };

static bool select_communication(ek__database *d, sqlite3_str *sql)
{
    static const char table[] = "CommAnalyzerTime";
    if (!ek__database_has_column(d, table, "hccl_op_name"))
        return false;
    sqlite3_str *from = sqlite3_str_new(d->connection);
    sqlite3_str_appendf(from, " FROM %s", table);
    bool sized = join_ways(d, from);
    select_names(d, sql, table);
    for (int i = 0; i < N_TIMES; i++)
        ek__database_column(d, sql, table, times[i].column, NULL);
    for (int i = 0; i < N_WAYS; i++)
        sqlite3_str_appendf(sql, sized ? ", \"ways\".w%d" : ", NULL", i);
    ek__database_append(d, sql, from);
    order(sql, table);
    return true;
}

static void put_communication(ek__database *d, sqlite3_stmt *row)
{
    state *s = ek__database_state(d);
    close_one(d, &s->open_operator); /* a row is an operator, even if two have one name */
    open_all(d, row);
    ek__put(d, "\"Communication Time Info\": {");
    for (int i = 0; i < N_TIMES; i++)
        put_value(d, times[i].key, ek__row_number(row, VALUES + i));
    ek__put(d, "}, \"Communication Bandwidth Info\": {");
    ek__put_first(d);
    for (int i = 0; i < N_WAYS; i++) {
        double size = ek__row_number(row, VALUES + N_TIMES + i);
        if (size != size)
            continue;
        ek__put_separator(d);
        ek__put_json(d, ways[i], strlen(ways[i]));
        ek__put(d, ": {");
        ek__put_first(d);
        put_value(d, "Transit Size(MB)", size);
        ek__put(d, "}");
    }
    ek__put(d, "}");
}

static const ek__database_part communication_parts[] = {
    {"CommAnalyzerTime", select_communication, put_communication, finish}};

const ek__database_script ek__analysis_communication = {
    .begin = "{", .end = "}\n", .state_size = sizeof(state), .n_parts = 1, .part = communication_parts};

/* ---- communication_matrix.json ---- */

static bool select_links(ek__database *d, sqlite3_str *sql)
{
    static const char table[] = "CommAnalyzerMatrix";
    static const char *const column[] = {"src_rank",     "dst_rank",  "transport_type", "transit_size",
                                         "transit_time", "bandwidth", "op_name",        NULL};
    if (!ek__database_has_column(d, table, "hccl_op_name"))
        return false;
    select_names(d, sql, table);
    for (int i = 0; column[i]; i++)
        ek__database_column(d, sql, table, column[i], NULL);
    sqlite3_str_appendf(sql, " FROM %s", table);
    order(sql, table);
    return true;
}

static void put_link(ek__database *d, sqlite3_stmt *row)
{
    enum { FROM = VALUES, TO, TRANSPORT, SIZE, TIME, BANDWIDTH, OPERATOR };
    char pair[64], transport[64], operator_name[MOST_NAME];
    open_all(d, row);
    copy_text(d, row, TRANSPORT, "", transport, sizeof transport);
    copy_text(d, row, OPERATOR, "", operator_name, sizeof operator_name);
    snprintf(pair, sizeof pair, "%lld-%lld", (long long)ek__row_int_or(row, FROM, -1),
             (long long)ek__row_int_or(row, TO, -1));
    ek__put_separator(d);
    ek__put_json(d, pair, strlen(pair));
    ek__put(d, ": {\"Transport Type\": ");
    ek__put_json(d, transport, strlen(transport));
    put_value(d, "Transit Size(MB)", ek__row_number(row, SIZE));
    put_value(d, "Transit Time(ms)", ek__row_number(row, TIME));
    put_value(d, "Bandwidth(GB/s)", ek__row_number(row, BANDWIDTH));
    ek__put(d, ", \"Op Name\": ");
    ek__put_json(d, operator_name, strlen(operator_name));
    ek__put(d, "}");
}

static const ek__database_part link_parts[] = {{"CommAnalyzerMatrix", select_links, put_link, finish}};

const ek__database_script ek__analysis_links = {
    .begin = "{", .end = "}\n", .state_size = sizeof(state), .n_parts = 1, .part = link_parts};
