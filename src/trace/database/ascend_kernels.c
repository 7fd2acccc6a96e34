/* Reads databases of torch_npu, MindSpore and msprof as kernel_details.csv: the operators of COMPUTE_TASK_INFO with the
 * times of their tasks, and whole collectives between them, in order of time. A row's wait is the time since the end of
 * the previous row, as in the text export. Its step is the one in which the host launched it (STEP_TIME, CANN_API),
 * where that is unknown the one in which it began. Only those measurements of the cores (TASK_PMU_INFO) are taken that
 * the reader of the table uses. */
#include <string.h>

#include "trace/database/rows.h"

/* The measurements of the cores that the reader uses. */
static const char *const metrics[] = {"aic_mac_ratio", "mac_ratio",         "aic_mac_fp16_ratio", "mac_fp16_ratio",
                                      "aiv_vec_ratio", "vec_ratio",         "aic_mte2_ratio",     "aiv_mte2_ratio",
                                      "mte2_ratio",    "aic_fixpipe_ratio", "aiv_mte3_ratio",     "mte3_ratio"};
enum { N_METRICS = sizeof metrics / sizeof *metrics };

#define HEADER                                                                                                         \
    "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Stream ID,Block Dim,Input Shapes,"           \
    "Input Data Types,Input Formats,Output Shapes,Output Data Types,aic_mac_ratio,mac_ratio,aic_mac_fp16_ratio,"       \
    "mac_fp16_ratio,aiv_vec_ratio,vec_ratio,aic_mte2_ratio,aiv_mte2_ratio,mte2_ratio,aic_fixpipe_ratio,"               \
    "aiv_mte3_ratio,mte3_ratio"

/* Columns of the selection. */
enum { ORDER, START, END, NAME, TYPE, CORE, STREAM, BLOCKS, TEXTS, N_TEXTS = 5, LAUNCH = TEXTS + N_TEXTS, METRICS };

typedef struct step {
    int64_t start, end, id;
} step;

typedef struct state {
    bool has_steps;
    int n_steps, last; /* last: the last found one */
    step step[EK__DATABASE_MAX_STEPS];
    bool any;    /* rows so far */
    int64_t end; /* of the last */
} state;

/* ---- steps ---- */

static void read_steps(ek__database *d, state *s)
{
    sqlite3_stmt *row = NULL;
    if (!ek__database_has(d, "STEP_TIME") ||
        sqlite3_prepare_v2(d->connection, "SELECT startNs, endNs, id FROM STEP_TIME", -1, &row, NULL) != SQLITE_OK)
        return;
    while (s->n_steps < EK__DATABASE_MAX_STEPS && sqlite3_step(row) == SQLITE_ROW) {
        step *at = &s->step[s->n_steps];
        s->n_steps += ek__row_int(row, 0, &at->start) && ek__row_int(row, 1, &at->end) && ek__row_int(row, 2, &at->id);
    }
    sqlite3_finalize(row);
    s->has_steps = s->n_steps > 0;
}

static bool start(ek__database *d)
{
    read_steps(d, ek__database_state(d));
    ek__put(d, HEADER);
    ek__put(d, ((state *)ek__database_state(d))->has_steps ? ",Step Id\n" : "\n");
    return true;
}

static bool is_in(const step *s, int64_t time)
{
    return time >= s->start && time <= s->end;
}

/* Index of the step around a time; -1. Rows come in order of time: mostly it is the last found one. */
static int step_at(state *s, int64_t time)
{
    if (s->n_steps > 0 && is_in(&s->step[s->last], time))
        return s->last;
    for (int i = 0; i < s->n_steps; i++)
        if (is_in(&s->step[i], time))
            return s->last = i;
    return -1;
}

/* ---- the statement ---- */

/* The launch time of an event with a connection: the earliest call. */
static bool join_launches(ek__database *d, sqlite3_str *sql, const char *table)
{
    if (!ek__database_has_column(d, "CANN_API", "connectionId") || !ek__database_has_column(d, "CANN_API", "startNs") ||
        !ek__database_has_column(d, table, "connectionId"))
        return false;
    sqlite3_str_appendf(
        sql,
        " LEFT JOIN (SELECT connectionId, min(startNs) AS startNs FROM CANN_API WHERE connectionId IS "
        "NOT NULL GROUP BY connectionId) AS \"launch\" ON \"launch\".connectionId = \"%w\".connectionId",
        table);
    return true;
}

/* The measurements of a task as one row. */
static bool join_metrics(ek__database *d, sqlite3_str *sql)
{
    int64_t id;
    if (!ek__database_has_column(d, "TASK_PMU_INFO", "globalTaskId") ||
        !ek__database_has_column(d, "TASK_PMU_INFO", "name") || !ek__database_has_column(d, "TASK_PMU_INFO", "value"))
        return false;
    sqlite3_str_appendall(sql, " LEFT JOIN (SELECT globalTaskId");
    for (int i = 0; i < N_METRICS; i++)
        if (ek__database_string_id(&d->strings, metrics[i], &id))
            sqlite3_str_appendf(sql, ", max(CASE name WHEN %lld THEN value END) AS m%d", (long long)id, i);
        else
            sqlite3_str_appendf(sql, ", NULL AS m%d", i);
    sqlite3_str_appendall(sql, " FROM TASK_PMU_INFO GROUP BY globalTaskId) AS \"pmu\" ON "
                               "\"pmu\".globalTaskId = TASK.globalTaskId");
    return true;
}

static void select_operators(ek__database *d, sqlite3_str *sql)
{
    static const char *const texts[N_TEXTS] = {"inputShapes", "inputDataTypes", "inputFormats", "outputShapes",
                                               "outputDataTypes"};
    static const char table[] = "COMPUTE_TASK_INFO";
    sqlite3_str *from = sqlite3_str_new(d->connection);
    sqlite3_str_appendall(from, " FROM TASK");
    ek__database_join(d, from, table, "globalTaskId", "TASK.globalTaskId");
    bool launches = join_launches(d, from, "TASK"), measured = join_metrics(d, from);
    sqlite3_str_appendall(sql, "SELECT 0");
    ek__database_column(d, sql, "TASK", "startNs", NULL);
    ek__database_column(d, sql, "TASK", "endNs", NULL);
    ek__database_column(d, sql, table, "name", NULL);
    ek__database_column(d, sql, table, "opType", NULL);
    ek__database_column(d, sql, table, "taskType", NULL);
    ek__database_column(d, sql, "TASK", "streamId", NULL);
    ek__database_column(d, sql, table, "blockNum", "blockDim");
    for (int i = 0; i < N_TEXTS; i++)
        ek__database_column(d, sql, table, texts[i], NULL);
    sqlite3_str_appendall(sql, launches ? ", \"launch\".startNs" : ", NULL");
    for (int i = 0; i < N_METRICS; i++)
        sqlite3_str_appendf(sql, measured ? ", \"pmu\".m%d" : ", NULL", i);
    ek__database_append(d, sql, from);
    sqlite3_str_appendf(sql, " WHERE \"%w\".globalTaskId IS NOT NULL", table);
}

/* Collectives have no core; the text export has a word in its place. */
static void select_collectives(ek__database *d, sqlite3_str *sql)
{
    static const char table[] = "COMMUNICATION_OP";
    sqlite3_str *from = sqlite3_str_new(d->connection);
    sqlite3_str_appendf(from, " FROM \"%w\"", table);
    bool launches = join_launches(d, from, table);
    sqlite3_str_appendall(sql, " UNION ALL SELECT 0");
    ek__database_column(d, sql, table, "startNs", NULL);
    ek__database_column(d, sql, table, "endNs", NULL);
    ek__database_column(d, sql, table, "opName", NULL);
    ek__database_column(d, sql, table, "opType", NULL);
    sqlite3_str_appendall(sql, ", 'HCCL', NULL, NULL");
    for (int i = 0; i < N_TEXTS; i++)
        sqlite3_str_appendall(sql, ", NULL");
    sqlite3_str_appendall(sql, launches ? ", \"launch\".startNs" : ", NULL");
    for (int i = 0; i < N_METRICS; i++)
        sqlite3_str_appendall(sql, ", NULL");
    ek__database_append(d, sql, from);
}

static bool select_kernels(ek__database *d, sqlite3_str *sql)
{
    if (!ek__database_has(d, "TASK") || !ek__database_has_column(d, "TASK", "globalTaskId") ||
        !ek__database_has_column(d, "TASK", "startNs") || !ek__database_has_column(d, "TASK", "endNs") ||
        !ek__database_has_column(d, "COMPUTE_TASK_INFO", "globalTaskId"))
        return false;
    select_operators(d, sql);
    if (ek__database_has(d, "COMMUNICATION_OP"))
        select_collectives(d, sql);
    sqlite3_str_appendall(sql, " ORDER BY 2, 3");
    return true;
}

/* ---- rows ---- */

static void put_text(ek__database *d, sqlite3_stmt *row, int column)
{
    size_t size = 0;
    const char *text = ek__row_text(d, row, column, &size);
    if (text)
        ek__put_cell(d, text, size);
    ek__put(d, ",");
}

static void put_times(ek__database *d, int64_t from, int64_t to)
{
    state *s = ek__database_state(d);
    int64_t duration, wait;
    ek__put_us(d, from);
    ek__put(d, ",");
    if (!__builtin_sub_overflow(to, from, &duration))
        ek__put_us(d, duration);
    ek__put(d, ",");
    if (!s->any || __builtin_sub_overflow(from, s->end, &wait) || wait < 0)
        wait = 0;
    ek__put_us(d, wait);
    ek__put(d, ",");
    s->any = true;
    s->end = to;
}

static void put_kernel(ek__database *d, sqlite3_stmt *row)
{
    state *s = ek__database_state(d);
    int64_t from, to, launch, value;
    if (!ek__row_int(row, START, &from) || !ek__row_int(row, END, &to))
        return;
    put_text(d, row, NAME);
    put_text(d, row, TYPE);
    put_text(d, row, CORE);
    put_times(d, from, to);
    for (int column = STREAM; column <= BLOCKS; column++) {
        if (ek__row_int(row, column, &value))
            ek__put_int(d, value);
        ek__put(d, ",");
    }
    for (int i = 0; i < N_TEXTS; i++)
        put_text(d, row, TEXTS + i);
    for (int i = 0; i < N_METRICS; i++) {
        ek__put_number(d, ek__row_number(row, METRICS + i));
        ek__put(d, i + 1 < N_METRICS || s->has_steps ? "," : "\n");
    }
    if (!s->has_steps)
        return;
    int at = ek__row_int(row, LAUNCH, &launch) ? step_at(s, launch) : -1;
    at = at < 0 ? step_at(s, from) : at;
    if (at >= 0)
        ek__put_int(d, s->step[at].id);
    ek__put(d, "\n");
}

static const ek__database_part parts[] = {{"COMPUTE_TASK_INFO", select_kernels, put_kernel, NULL}};

const ek__database_script ek__ascend_kernels = {.begin = "",
                                                .end = "",
                                                .strings = "STRING_IDS",
                                                .state_size = sizeof(state),
                                                .start = start,
                                                .n_parts = 1,
                                                .part = parts};
