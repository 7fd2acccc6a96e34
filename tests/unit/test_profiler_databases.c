/* Tests databases of profilers: a profile that is exported as text and as databases gives the same figures from both,
 * with every analysis; damaged, locked, empty and foreign files are reported with their name and a remedy, and nothing
 * of the other files is lost. The profiles are made_traces.h's, with a known truth, and those of ../shared; the
 * databases are database_writer.h's. */
#include "input.h"

#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database_writer.h"
#include "effort.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/write.h"
#include "index/index.h"
#include "made_traces.h"
#include "trace/database/database.h"

static char folder[256]; /* of the case at hand */
static said heard;

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_databases_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return getenv("EK_KEEP") ? 0 : system(command);
}

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int next;
    char *to = path[next = (next + 1) % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

/* ---- reading ---- */

static ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1, .measure = true};

static ek_status read_run(const char *path, ek_trace_run *run, ek_error *err)
{
    ek_listener listener = {.warn = say_warning, .user = &heard};
    heard = (said){.length = 0};
    return ek_trace_run_read(&path, 1, &options, &listener, run, err);
}

/* The whole answer as JSON. */
static json_t *answer_of(const char *path)
{
    ek_trace_run run;
    ek_error err;
    char *text = NULL;
    size_t size = 0;
    if (read_run(path, &run, &err) != EK_OK)
        fail_msg("%s: %s", path, err.message);
    const ek_trace_view view = {.rank = EK_TRACE_NO_RANK};
    FILE *out = open_memstream(&text, &size);
    const ek_trace_report report = {&run, &view};
    assert_int_equal(ek_write(ek_output_of_trace(&report), "json", out, &err), EK_OK);
    fclose(out);
    ek_trace_run_clear(&run);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(root);
    return root;
}

/* ---- comparing ---- */

/* Differences of the two exports: files and bytes, how many events the trace has and of which kinds (the text has
 * counters of the device), and a table that only the text has. */
static const char *leave = ""; /* one more */

/* A task that is no operator is called by its type in a database. */
static bool is_a_copys_name(const json_t *a)
{
    return json_is_string(a) && strcmp(json_string_value(a), "MEMCPY_ASYNC") == 0;
}

static bool is_left_aside(const char *key)
{
    static const char *const keys[] = {"sources", "warnings", "event_counts", "bytes", "op_statistic"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return strcmp(key, leave) == 0;
}

static int n_differences;

static void differ(const char *path, const json_t *a, const json_t *b)
{
    char *x = a ? json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT) : NULL,
         *y = b ? json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (n_differences++ < 40)
        print_message("%s: %.200s in the text, %.200s in the database\n", path, x ? x : "nothing", y ? y : "nothing");
    free(x);
    free(y);
}

static void compare(const char *path, json_t *a, json_t *b, double tolerance) /* NOLINT(misc-no-recursion) */
{
    char below[512];
    const char *key;
    json_t *value;
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);
        if (!(fabs(x - y) <= tolerance * (1 + fabs(x))))
            differ(path, a, b);
    } else if (json_is_object(a) && json_is_object(b)) {
        json_object_foreach(a, key, value)
        {
            snprintf(below, sizeof below, "%.400s.%.80s", path, key);
            if (!is_left_aside(key))
                compare(below, value, json_object_get(b, key), tolerance);
        }
        json_object_foreach(b, key, value) if (!json_object_get(a, key) && !is_left_aside(key))
        {
            snprintf(below, sizeof below, "%.400s.%.80s", path, key);
            differ(below, NULL, value);
        }
    } else if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
        for (size_t i = 0; i < json_array_size(a); i++) {
            snprintf(below, sizeof below, "%.400s[%zu]", path, i);
            compare(below, json_array_get(a, i), json_array_get(b, i), tolerance);
        }
    } else if (!a || !b || (!json_equal(a, b) && !is_a_copys_name(a))) {
        differ(path, a, b);
    }
}

static void assert_same_figures(const char *text, const char *database, double tolerance)
{
    json_t *a = answer_of(text), *b = answer_of(database);
    n_differences = 0;
    compare("", a, b, tolerance);
    json_decref(a);
    json_decref(b);
    if (n_differences)
        fail_msg("%d figures of %s differ from those of %s", n_differences, database, text);
}

/* ---- equal figures ---- */

/* Every rank's folder below `pattern` as databases below `to`; the names of the folders stay. @return how many */
static int convert(const char *pattern, const char *to, const database_shape *shape)
{
    glob_t found;
    int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    mkdir(to, 0700);
    for (int i = 0; i < n; i++) {
        char target[1024], from[1024];
        snprintf(from, sizeof from, "%s", found.gl_pathv[i]);
        *strrchr(from, '/') = '\0'; /* ASCEND_PROFILER_OUTPUT */
        const char *name = strrchr(from, '/') + 1;
        snprintf(target, sizeof target, "%s/%s", to, name);
        const char *rank = strstr(name, "rank");
        write_ascend_databases(from, target, rank ? atoi(rank + 4 + (rank[4] == '_')) : i, shape);
    }
    globfree(&found);
    return n;
}

static const char *made(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", made_traces(), name);
    return path;
}

static void a_made_profile_gives_the_same_figures_by_its_databases(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    char pattern[1100];
    snprintf(pattern, sizeof pattern, "%s/*/ASCEND_PROFILER_OUTPUT", made("torch_npu"));
    assert_int_equal(convert(pattern, in_folder("databases"), &newest), 4);
    leave = "wait_us"; /* the made table has none */
    assert_same_figures(made("torch_npu"), in_folder("databases"), 1e-9);
    leave = "";
}

static void traces_of_others_give_the_same_figures_by_their_databases(void **state)
{
    (void)state;
    static const char *const level[] = {"level0", "level1"};
    static const database_shape newest = {0};
    const char *shared = getenv("EK_SHARED");
    char text[1024], pattern[1200];
    snprintf(text, sizeof text, "%s/reference/traces/ascend/msinsight/text/level1", shared ? shared : "../shared");
    if (access(text, R_OK) != 0)
        skip();
    leave = "parts"; /* of the critical path, by names of tasks */
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s/reference/traces/ascend/msinsight/text/%s", shared, level[i]);
        snprintf(pattern, sizeof pattern, "%s/*/ASCEND_PROFILER_OUTPUT", text);
        assert_int_equal(convert(pattern, in_folder(level[i]), &newest), 2);
        /* Times in its kernel_details are rounded otherwise than in the trace, by a nanosecond each. */
        assert_same_figures(text, in_folder(level[i]), 5e-5);
    }
    leave = "";
}

/* ---- other releases ---- */

/* One rank of the made profile as databases in `to`. */
static void convert_one(int rank, const char *to, const database_shape *shape)
{
    char from[1100];
    snprintf(from, sizeof from, "%s/rank_%d_ascend_pt", made("torch_npu"), rank);
    write_ascend_databases(from, to, rank, shape);
}

static const char *database_of(const char *home, int rank)
{
    static char path[2][1024];
    static int next;
    char *to = path[next = !next];
    snprintf(to, sizeof path[0], "%s/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_%d.db", home, rank);
    return to;
}

static void releases_that_write_tables_otherwise_say_the_same(void **state)
{
    (void)state;
    static const database_shape newest = {0}, older = {.times_as_text = true, .no_indexes = true};
    convert_one(1, in_folder("newest"), &newest);
    convert_one(1, in_folder("older"), &older);
    assert_same_figures(in_folder("newest"), in_folder("older"), 0);
    /* Columns by their former names, and of a later release. */
    change_database(database_of(in_folder("older"), 1), "ALTER TABLE COMPUTE_TASK_INFO RENAME blockDim TO blockNum;"
                                                        "ALTER TABLE TASK ADD COLUMN later TEXT;"
                                                        "PRAGMA user_version = 7; VACUUM");
    assert_same_figures(in_folder("newest"), in_folder("older"), 0);
}

/* Without the profiler's own layer all figures are made of the device's events, in both exports. */
static void without_the_overlap_layer_figures_come_of_the_events(void **state)
{
    (void)state;
    static const database_shape newest = {0}, bare = {.no_overlap = true};
    convert_one(0, in_folder("with"), &newest);
    convert_one(0, in_folder("without"), &bare);
    options.from_raw_events = true;
    assert_same_figures(in_folder("with"), in_folder("without"), 0);
    options.from_raw_events = false;
}

/* ---- which files are read ---- */

static int count_sources(const ek_trace_run *run, const char *part, const char *type)
{
    int n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_sources; i++)
            n += strstr(run->rank[r].source[i].path, part) && (!type || !strcmp(run->rank[r].source[i].type, type));
    return n;
}

static void read_all(const char *path, ek_trace_run *run)
{
    ek_error err;
    if (read_run(path, run, &err) != EK_OK)
        fail_msg("%s: %s", path, err.message);
}

static void copy_file(const char *from, const char *to)
{
    char command[4800];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void of_each_kind_of_file_the_text_is_read(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    char from[1100], command[2400], trace[1200];
    ek_trace_run run;
    convert_one(2, in_folder("both"), &newest);
    snprintf(from, sizeof from, "%s/rank_2_ascend_pt/ASCEND_PROFILER_OUTPUT", made("torch_npu"));
    /* A part of the text, then all of it. */
    snprintf(trace, sizeof trace, "%s/trace_view.json", from);
    copy_file(trace, in_folder("both/ASCEND_PROFILER_OUTPUT/trace_view.json"));
    read_all(in_folder("both"), &run);
    assert_int_equal(run.n_ranks, 1);
    assert_int_equal(run.rank[0].rank, 2);
    assert_int_equal(count_sources(&run, ".json", "trace"), 1);
    assert_int_equal(count_sources(&run, ".db", "trace"), 0);
    assert_int_equal(count_sources(&run, "profiler_2.db", "kernel_details"), 1);
    assert_int_equal(count_sources(&run, "analysis.db", "step_trace_time"), 1);
    assert_int_equal(count_sources(&run, "analysis.db", "communication"), 1);
    assert_int_equal(run.n_databases, 0);
    ek_trace_run_clear(&run);
    snprintf(command, sizeof command, "cp '%s'/* '%s'", from, in_folder("both/ASCEND_PROFILER_OUTPUT"));
    assert_int_equal(system(command), 0);
    read_all(in_folder("both"), &run);
    for (int i = 0; i < run.rank[0].n_sources;
         i++) /* except for the rank, which the text has in a file that is missing here */
        assert_true(!strstr(run.rank[0].source[i].path, ".db") || !strncmp(run.rank[0].source[i].type, "profiler_", 9));
    ek_trace_run_clear(&run);
    *strrchr(from, '/') = '\0';
    assert_same_figures(from, in_folder("both"), 0);
}

static void a_database_alone_is_a_rank_by_its_name_or_its_table(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    ek_trace_run run;
    convert_one(3, in_folder("home"), &newest);
    rename(database_of(in_folder("home"), 3), in_folder("ascend_pytorch_profiler_3.db"));
    read_all(in_folder("ascend_pytorch_profiler_3.db"), &run);
    assert_int_equal(run.n_ranks, 1);
    assert_int_equal(run.rank[0].rank, 3);
    assert_true(run.rank[0].has_device_events);
    assert_int_equal(run.rank[0].producer, EK_PRODUCER_TORCH_NPU);
    ek_trace_run_clear(&run);
    rename(in_folder("ascend_pytorch_profiler_3.db"), in_folder("x.bin")); /* by content, whatever it is called */
    read_all(in_folder("x.bin"), &run);
    assert_int_equal(run.rank[0].rank, 3);
    assert_true(run.rank[0].has_device_events);
    ek_trace_run_clear(&run);
}

static void groups_and_sizes_are_those_of_the_metadata(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    ek_trace_run run;
    convert_one(1, in_folder("home"), &newest);
    unlink(in_folder("home/profiler_metadata.json"));
    change_database(database_of(in_folder("home"), 1),
                    "INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.2.0'), ('parallel_group_info', "
                    "'{\"g700\": {\"group_name\": \"pp\", \"group_rank\": 1, \"global_ranks\": [0, 1]}, "
                    "\"g800\": {\"group_name\": \"tp\", \"global_ranks\": [1]}}'), ('distributed_args', "
                    "'{\"pipeline_model_parallel_size\": 2, \"world_size\": 4}')");
    read_all(in_folder("home"), &run);
    assert_int_equal(run.topology.n_groups, 2);
    assert_string_equal(run.topology.group[0].name, "pp");
    assert_string_equal(run.topology.group[0].key, "g700");
    assert_int_equal(run.topology.group[0].n_ranks, 2);
    assert_int_equal(run.topology.pipeline, 2);
    assert_int_equal(run.rank[0].stage, 1);
    assert_int_equal(run.rank[0].world_size, 4);
    ek_trace_run_clear(&run);
}

/* Releases without step marks among the operators have the table of steps. */
static void steps_come_of_their_table_where_operators_have_none(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    ek_trace_run run;
    convert_one(0, in_folder("home"), &newest);
    change_database(
        database_of(in_folder("home"), 0),
        "DELETE FROM PYTORCH_API WHERE name IN (SELECT id FROM STRING_IDS WHERE value LIKE 'ProfilerStep#%');"
        "UPDATE STRING_IDS SET value = 'x' WHERE value LIKE 'ProfilerStep#%'");
    read_all(in_folder("home"), &run);
    assert_int_equal(run.rank[0].n_steps, 3);
    assert_string_equal(run.rank[0].step[2].name, "2");
    assert_true(run.rank[0].step[1].own.computing > 0);
    ek_trace_run_clear(&run);
}

/* ---- rows by hand ---- */

/* The content of a database as a file of a type. */
static const char *text_of(const char *path, ek__file_type type)
{
    static char text[1 << 16];
    ek__database *database;
    ek_error err;
    if (ek__database_open(path, type, &database, &err) != EK_OK)
        fail_msg("%s", err.message);
    text[ek__database_read(database, text, sizeof text - 1)] = '\0';
    ek__database_close(database);
    return text;
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void has_once(const char *text, const char *part)
{
    if (count_of(text, part) != 1)
        fail_msg("%d times '%s' in %s", count_of(text, part), part, text);
}

static void rows_by_hand_give_these_texts(void **state)
{
    (void)state;
    const char *path = in_folder("ascend_pytorch_profiler_0.db"), *text;
    change_database(
        path,
        "CREATE TABLE STRING_IDS (id, value);"
        "INSERT INTO STRING_IDS VALUES (1, 'aten::mm'), (2, 'ProfilerStep#4'), (3, 'app'), (4, '2,3;3,4'), (5, "
        "'launch'),"
        " (6, 'MatMul'), (7, 'AI_CORE'), (8, 'device'), (9, 'PTA');"
        "CREATE TABLE PYTORCH_API (startNs, endNs, globalTid, name, type, inputShapes);"
        "INSERT INTO PYTORCH_API VALUES (1001, 2002, (4097 << 32) + 5, 1, 50001, 4), (900, 9000, (4097 << 32) + 5, 2,"
        " 50001, NULL);"
        "CREATE TABLE STEP_TIME (id, startNs, endNs);"
        "INSERT INTO STEP_TIME VALUES (4, 900, 2000), (5, 2001, 9000);"
        "CREATE TABLE CANN_API (startNs, endNs, type, globalTid, connectionId, name);"
        "INSERT INTO CANN_API VALUES (2500, 2600, 5000, 7, 11, 5), (1500, 1600, 10000, 7, 11, 5);"
        "CREATE TABLE TASK (startNs, endNs, connectionId, globalTaskId, streamId);"
        "INSERT INTO TASK VALUES (3000, 4000, 11, 1, 2), (4003, 5000, 12, 2, 2);"
        "CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, taskType, opType);"
        "INSERT INTO COMPUTE_TASK_INFO VALUES (6, 1, 7, 6), (6, 2, 7, 6), (6, 2, 7, 6);"
        "CREATE TABLE MEMORY_RECORD (component, timestamp, totalAllocated, totalReserved);"
        "INSERT INTO MEMORY_RECORD VALUES (9, 2000, 524288, 1048576);"
        "CREATE TABLE NPU_MEM (type, ddr, hbm, timestampNs);"
        "INSERT INTO NPU_MEM VALUES (3, 1048576, 2097152, 5), (3, NULL, 1048576, 1000), (8, 1, 1, 6)");
    text = text_of(path, EK__FILE_TRACE);
    has_once(text, "\"name\": \"aten::mm\", \"pid\": 4097, \"tid\": 5, \"ts\": \"1.001\", \"dur\": 1.001, \"cat\": "
                   "\"cpu_op\", \"args\": {\"Input Dims\": \"2,3;3,4\"}}");
    has_once(text, "ProfilerStep#4");
    assert_null(strstr(text, "ProfilerStep#5")); /* operators mark steps */
    has_once(text, "\"name\": \"Runtime@launch\"");
    has_once(text, "\"name\": \"Node@launch\"");
    assert_int_equal(count_of(text, "\"name\": \"MatMul\""), 2); /* a task is one event */
    text = text_of(path, EK__FILE_kernel_details);
    has_once(text, "\"MatMul\",\"MatMul\",\"AI_CORE\",3.000,1.000,0.000,2,");
    has_once(text, ",4\n"); /* launched first in step 4, and again in step 5 */
    has_once(text, "\"MatMul\",\"MatMul\",\"AI_CORE\",4.003,0.997,0.003,2,");
    has_once(text, ",5\n"); /* no launch determines it */
    text = text_of(path, EK__FILE_memory_record);
    has_once(text, "APP,0.005,,3,\n");
    has_once(text, "APP,1.000,,1,\n");
    assert_int_equal(count_of(text, "APP"), 2);
    has_once(text, "\"PTA\",2.000,0.5,1,\n");
    path = in_folder("analysis.db");
    change_database(path, "CREATE TABLE CommAnalyzerTime (hccl_op_name, group_name, elapse_time, step);"
                          "INSERT INTO CommAnalyzerTime VALUES ('hcom_receive__1_0', '7', 1.5, 'step2'),"
                          " ('hcom_allReduce__1_0', '7', 2.5, 'step2')");
    text = text_of(path, EK__FILE_communication);
    has_once(text, "{\"step2\": {\"collective\": {\"hcom_allReduce__1_0@7\"");
    has_once(text, "\"p2p\": {\"hcom_receive__1_0@7\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 1.5}");
}

/* ---- errors ---- */

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* A file of a folder with a good rank beside it is reported with `what`, and the good rank is there. */
static void is_told_beside_a_good_rank(const char *bad, const char *what)
{
    ek_trace_run run;
    read_all(folder, &run);
    assert_int_equal(run.n_ranks, 1);
    assert_true(run.rank[0].has_device_events);
    ek_trace_run_clear(&run);
    if (!strstr(heard.text, what))
        fail_msg("%s: %s", bad, heard.text);
}

static void is_refused_alone(const char *path, const char *what)
{
    ek_trace_run run;
    ek_error err;
    if (read_run(path, &run, &err) == EK_OK)
        fail_msg("%s is read", path);
    assert_string_equal(err.file, path);
    if (!strstr(err.message, what))
        fail_msg("%s: %s", path, err.message);
}

static void empty_foreign_and_false_databases_are_told(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    const char *foreign = in_folder("foreign.db");
    ek_trace_run run;
    convert_one(0, in_folder("good_ascend_pt"), &newest);
    write_bytes(in_folder("empty.db"), "", 0);
    is_told_beside_a_good_rank("empty.db", "is empty: the profiler did not finish writing it");
    is_refused_alone(in_folder("empty.db"), "is empty");
    unlink(in_folder("empty.db"));
    write_bytes(in_folder("false.db"), "text\n", 5);
    is_refused_alone(in_folder("false.db"), "is no SQLite database, in spite of its name");
    write_bytes(in_folder("false.db"), "SQLite format 3\0 and then no more", 33);
    is_told_beside_a_good_rank("false.db", "the database is cut: it has 33 bytes, and should have 100");
    char encrypted[4096];
    memset(encrypted, 0x33, sizeof encrypted);
    memcpy(encrypted, "SQLite format 3", 16);
    encrypted[92] = 0; /* its count of pages is not kept up to date */
    write_bytes(in_folder("false.db"), encrypted, sizeof encrypted);
    is_told_beside_a_good_rank("false.db", "is none, or is encrypted");
    unlink(in_folder("false.db"));
    change_database(foreign, "CREATE TABLE TASK (a); INSERT INTO TASK VALUES (1)"); /* without STRING_IDS */
    is_refused_alone(foreign, "is a database without the tables of a profiler's export");
    read_all(folder, &run);
    assert_int_equal(run.n_ranks, 1);
    assert_int_equal(run.n_databases, 1);
    ek_trace_run_clear(&run);
    /* Views, tables of modules and tables without rows are none of a profiler's. */
    change_database(foreign,
                    "DROP TABLE TASK; CREATE TABLE STRING_IDS (id, value); CREATE VIEW TASK AS "
                    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS startNs FROM r");
    is_refused_alone(foreign, "is a database without the tables");
    change_database(foreign, "DROP VIEW TASK; CREATE TABLE TASK (startNs, endNs)");
    is_refused_alone(foreign, "is a database without the tables");
}

static void a_locked_database_is_told(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    sqlite3 *writer;
    convert_one(0, in_folder("good_ascend_pt"), &newest);
    convert_one(1, in_folder("locked_ascend_pt"), &newest);
    const char *path = database_of(in_folder("locked_ascend_pt"), 1);
    unlink(in_folder("locked_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db"));
    unlink(in_folder("locked_ascend_pt/profiler_info_1.json"));
    assert_int_equal(sqlite3_open(path, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    is_refused_alone(path, "is locked by a program that writes it; wait until it has ended, or give a copy");
    ek_trace_run run;
    read_all(folder, &run);
    assert_non_null(strstr(heard.text, "is locked by a program that writes it"));
    assert_true(run.rank[0].has_device_events);
    ek_trace_run_clear(&run);
    assert_int_equal(sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    /* With a write-ahead log a writer does not block readers, and its committed data counts. */
    assert_int_equal(sqlite3_exec(writer, "PRAGMA journal_mode = WAL; DELETE FROM OVERLAP_ANALYSIS", NULL, NULL, NULL),
                     SQLITE_OK);
    read_all(path, &run);
    assert_true(run.rank[0].has_device_events);
    assert_string_not_equal(run.rank[0].step[0].source, "overlap_layer");
    ek_trace_run_clear(&run);
    sqlite3_close(writer);
}

/* The log of a writer is missing, and the folder cannot be written: the file is read as it is. */
static void a_database_in_a_folder_that_cannot_be_written_is_read(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    ek_trace_run run;
    convert_one(0, in_folder("home"), &newest);
    change_database(database_of(in_folder("home"), 0), "PRAGMA journal_mode = WAL");
    chmod(in_folder("home/ASCEND_PROFILER_OUTPUT"), 0500);
    read_all(in_folder("home"), &run);
    assert_true(run.rank[0].has_device_events);
    ek_trace_run_clear(&run);
    chmod(in_folder("home/ASCEND_PROFILER_OUTPUT"), 0700);
}

/* Read any file; errors must be reported with the file's name, and the data must be consistent. */
static bool read_whatever(const char *path)
{
    ek_trace_run run;
    ek_error err = {0};
    ek_status status = read_run(path, &run, &err);
    if (status == EK_OK) {
        ek_trace_run_clear(&run);
        return true;
    }
    assert_true(status == EK_ERR_INPUT || status == EK_ERR_SYSTEM);
    assert_true(err.file[0] && err.message[0]);
    return false;
}

static void a_cut_database_is_told(void **state)
{
    (void)state;
    const int n_cuts = effort(48, 12);
    static const database_shape newest = {0};
    size_t size = 0;
    convert_one(0, in_folder("good_ascend_pt"), &newest);
    convert_one(1, in_folder("home"), &newest);
    char *bytes = slurp(database_of(in_folder("home"), 1), &size);
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", in_folder("home"));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < n_cuts; i++) {
        size_t cut = i < 8 ? (size_t)i * 90 + 16 : size / (size_t)n_cuts * (size_t)i;
        write_bytes(in_folder("cut.db"), bytes, cut);
        assert_false(read_whatever(in_folder("cut.db")));
        is_told_beside_a_good_rank("cut.db", "the database is cut: it has ");
    }
    free(bytes);
}

static void a_damaged_database_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    const int n_places = effort(160, 32);
    static const database_shape newest = {0};
    size_t size = 0;
    unsigned seed = 7;
    int n_read = 0;
    convert_one(0, in_folder("home"), &newest);
    char *bytes = slurp(database_of(in_folder("home"), 0), &size);
    char *changed = malloc(size);
    for (int i = 0; i < n_places; i++) {
        memcpy(changed, bytes, size);
        for (int k = 0; k < 1 << i % 8; k++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = 100 + (seed >> 4) % (size - 100);
            seed = seed * 1664525 + 1013904223;
            changed[at] = (char)(seed >> 16);
        }
        write_bytes(in_folder("x.db"), changed, size);
        n_read += read_whatever(in_folder("x.db"));
    }
    assert_in_range(n_read, n_places / 4, n_places);
    free(changed);
    free(bytes);
}

/* The page where the rows of a table begin is overwritten: the other tables are read. */
static void a_damaged_table_is_told_and_the_others_are_read(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    sqlite3 *database;
    sqlite3_stmt *row;
    size_t size = 0;
    ek_trace_run run;
    convert_one(0, in_folder("home"), &newest);
    const char *path = database_of(in_folder("home"), 0);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_master WHERE name = 'CANN_API'", -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    size_t page = (size_t)sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(database);
    char *bytes = slurp(path, &size);
    memset(bytes + (page - 1) * 4096, 0x5a, 4096);
    write_bytes(path, bytes, size);
    free(bytes);
    read_all(in_folder("home"), &run);
    if (!strstr(heard.text,
                "table CANN_API is not read beyond row 0: the database is damaged or cut; copy or export it "
                "again; the "))
        fail_msg("%s", heard.text);
    assert_true(run.rank[0].has_device_events);
    assert_int_equal(run.rank[0].n_steps, 3);
    assert_true(run.rank[0].operators.n > 0);
    ek_trace_run_clear(&run);
}

/* Every column of every table missing, one at a time, and every table. */
static void tables_and_columns_may_be_missing(void **state)
{
    (void)state;
    static const database_shape bare = {.no_indexes = true};
    sqlite3 *database;
    sqlite3_stmt *row;
    size_t size = 0;
    int n = 0;
    convert_one(1, in_folder("home"), &bare);
    const char *path = database_of(in_folder("home"), 1);
    char *bytes = slurp(path, &size);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(database,
                           "SELECT m.name, NULL FROM sqlite_master m WHERE type = 'table' UNION ALL "
                           "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE pk = 0",
                           -1, &row, NULL),
        SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        char sql[300];
        const char *table = (const char *)sqlite3_column_text(row, 0),
                   *column = (const char *)sqlite3_column_text(row, 1);
        snprintf(sql, sizeof sql, column ? "ALTER TABLE %s DROP COLUMN %s" : "DROP TABLE %s", table, column);
        write_bytes(in_folder("x.db"), bytes, size);
        change_database(in_folder("x.db"), sql);
        bool read = read_whatever(in_folder("x.db"));
        if (!read && strcmp(table, "STRING_IDS") != 0)
            fail_msg("%s", sql);
        n++;
    }
    assert_in_range(n, 80, 400);
    sqlite3_finalize(row);
    sqlite3_close(database);
    free(bytes);
}

/* ---- a page's timeline ---- */

/* Every event's text is that of the event, wherever it is. */
static void an_index_of_a_database_knows_the_arguments_of_events(void **state)
{
    (void)state;
    static const database_shape newest = {0};
    const ek_trace_index_options how = {.temporary = true, .n_threads = 2};
    ek_trace_index *index;
    ek_error err;
    int n = 0;
    convert_one(0, in_folder("home"), &newest);
    const char *path = in_folder("home");
    if (ek_trace_index_open(&path, 1, &how, NULL, &index, NULL, &err) != EK_OK)
        fail_msg("%s", err.message);
    for (int row = 0; row < ek__index_n_rows(index); row++)
        for (uint32_t i = 0; i < ek__index_row_events(index, row); i += 7, n++) {
            ek__index_details details;
            const char *name;
            size_t size;
            if (ek__index_event_details(index, row, i, &details, &err) != EK_OK)
                fail_msg("%s", err.message);
            json_t *event = json_loadb(details.text, details.size, 0, NULL);
            assert_int_equal(ek__index_name_text(index, details.name, &name, &size, &err), EK_OK);
            assert_int_equal(json_string_length(json_object_get(event, "name")), size);
            assert_memory_equal(json_string_value(json_object_get(event, "name")), name, size);
            json_decref(event);
            ek__index_details_clear(&details);
        }
    assert_in_range(n, 100, 1000);
    char *text;
    size_t size = 0;
    assert_int_equal(ek__index_whole_trace(index, 0, &text, &size, &err), EK_OK);
    assert_memory_equal(text, "[{\"ph\": ", 8);
    free(text);
    /* A database that has changed is not queried. */
    change_database(database_of(path, 0), "DELETE FROM TASK");
    assert_int_equal(ek__index_whole_trace(index, 0, &text, &size, &err), EK_ERR_SYSTEM);
    ek_trace_index_close(index);
}

/* ---- memory that runs out ---- */

static long left_to_give = -1; /* allocations of SQLite; -1: as many as are wanted */

static sqlite3_mem_methods real;

static void *failing_malloc(int size)
{
    if (left_to_give == 0)
        return NULL;
    left_to_give -= left_to_give > 0;
    return real.xMalloc(size);
}

static void *failing_realloc(void *old, int size)
{
    if (left_to_give == 0)
        return NULL;
    left_to_give -= left_to_give > 0;
    return real.xRealloc(old, size);
}

static int fail_by_count(void **state)
{
    (void)state;
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods failing = real;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK && sqlite3_initialize() == SQLITE_OK ? 0 : -1;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    static const ek__file_type type[] = {EK__FILE_TRACE, EK__FILE_kernel_details, EK__FILE_memory_record};
    static const database_shape newest = {0};
    static char text[2][1 << 16];
    convert_one(0, in_folder("home"), &newest);
    const char *path = database_of(in_folder("home"), 0);
    for (size_t t = 0; t < sizeof type / sizeof *type; t++) {
        bool enough = false;
        size_t whole = 0;
        for (long n = -1; !enough || n <= 0; n = n < 0 ? 0 : n + 1 + n / 16) {
            ek__database *database = NULL;
            ek_error err = {0};
            uint32_t types = 0;
            left_to_give = n;
            ek_status status = ek__database_look(path, &types, &err);
            if (status == EK_OK)
                status = ek__database_open(path, type[t], &database, &err);
            size_t got = 0;
            if (status == EK_OK)
                got = ek__database_read(database, text[n >= 0], sizeof text[0]);
            bool told = status == EK_ERR_MEMORY || (database && ek__database_out_of_memory(database));
            bool problem = database && ek__database_problem(database);
            left_to_give = -1;
            ek__database_close(database);
            if (n < 0) {
                assert_true(status == EK_OK && got > 0 && !problem);
                whole = got;
                continue;
            }
            if (status != EK_OK && status != EK_ERR_MEMORY)
                fail_msg("after %ld allocations: %s", n, err.message);
            enough = !told;
            if (enough && (got != whole || memcmp(text[0], text[1], whole) != 0))
                fail_msg("after %ld allocations a row is missing", n);
        }
    }
}

/* ---- Nsight Systems ---- */

static void compare_with_nsight(const char *trace)
{
    unlink(in_folder("rank0.sqlite"));
    write_nsight_database(trace, in_folder("rank0.sqlite"), in_folder("rank0.json"));
    assert_same_figures(in_folder("rank0.json"), in_folder("rank0.sqlite"), 1e-9);
}

static void a_made_profile_gives_the_same_figures_by_nsight(void **state)
{
    (void)state;
    glob_t found;
    char pattern[1100];
    snprintf(pattern, sizeof pattern, "%s/*.json", made("torch"));
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 4);
    for (size_t i = 0; i < found.gl_pathc; i++)
        compare_with_nsight(found.gl_pathv[i]);
    globfree(&found);
}

static void traces_of_others_give_the_same_figures_by_nsight(void **state)
{
    (void)state;
    static const char *const name[] = {"hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                                       "tb_plugin/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
                                       "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
                                       "hta/trace_filter/sampled_rank-0.json.gz"};
    enum { N_NAMES = sizeof name / sizeof *name };
    const char *shared = getenv("EK_SHARED");
    char path[1200];
    for (int i = 0; i < effort(N_NAMES, 2); i++) {
        snprintf(path, sizeof path, "%s/reference/traces/kineto/%s", shared ? shared : "../shared", name[i]);
        if (access(path, R_OK) != 0)
            skip();
        compare_with_nsight(path);
    }
}

/* A file of a whole node: the first device is read with the calls of its process, with a note. */
static void of_several_devices_one_is_read(void **state)
{
    (void)state;
    ek_trace_run run;
    change_database(
        in_folder("node.sqlite"),
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'ProfilerStep#1'),"
        " (4, 'aten::mm, seq = 5, op_id = 9, sizes = [[1, 2]]');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid,"
        " shortName);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, textId, text, globalTid);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5000, 1, 7, 1, (1 << 56) + (12 << 24), 1),"
        " (2000, 9000, 3, 7, 1, (1 << 56) + (13 << 24), 1), (6000, 7000, 1, 7, 2, (1 << 56) + (12 << 24), 1);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, (1 << 56) + (12 << 24) + 12, 1, 2),"
        " (1000, 1500, (1 << 56) + (13 << 24) + 13, 1, 2), (5500, 5600, (1 << 56) + (12 << 24) + 12, 2, 2);"
        "INSERT INTO NVTX_EVENTS VALUES (500, 8000, 59, 3, NULL, (1 << 56) + (12 << 24) + 12),"
        " (500, 9500, 59, 3, NULL, (1 << 56) + (13 << 24) + 13), (900, 1600, 59, NULL, 'mine', (1 << 56) +"
        " (12 << 24) + 12), (901, 1500, 59, 4, NULL, (1 << 56) + (12 << 24) + 12), (100, NULL, 34, 4, NULL, 0)");
    read_all(in_folder("node.sqlite"), &run);
    assert_non_null(strstr(heard.text, "it has the kernels of 2 devices, of which those of device 1 are read"));
    assert_int_equal(run.n_ranks, 1);
    const ek_trace_rank *rank = &run.rank[0];
    assert_int_equal(rank->n_steps, 1);
    assert_string_equal(rank->step[0].name, "1");
    assert_int_equal(rank->device.computing, 4000);
    assert_int_equal(rank->counts.n_items, 2 + 2 + 3 + 1); /* the name of a stream */
    assert_int_equal(rank->producer, EK_PRODUCER_KINETO);
    ek_trace_run_clear(&run);
    const char *text = text_of(in_folder("node.sqlite"), EK__FILE_TRACE);
    has_once(text,
             "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 7, \"args\": {\"name\": \"stream 7\"}}");
    assert_int_equal(count_of(text, "\"name\": \"cudaLaunchKernel\", \"pid\": 12, \"tid\": 12, "), 2);
    has_once(
        text,
        "\"name\": \"aten::mm\", \"pid\": 12, \"tid\": 12, \"ts\": \"0.901\", \"dur\": 0.599, \"cat\": \"cpu_op\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_made_profile_gives_the_same_figures_by_its_databases),
        CASE(traces_of_others_give_the_same_figures_by_their_databases),
        CASE(releases_that_write_tables_otherwise_say_the_same),
        CASE(without_the_overlap_layer_figures_come_of_the_events),
        CASE(of_each_kind_of_file_the_text_is_read),
        CASE(a_database_alone_is_a_rank_by_its_name_or_its_table),
        CASE(groups_and_sizes_are_those_of_the_metadata),
        CASE(steps_come_of_their_table_where_operators_have_none),
        CASE(rows_by_hand_give_these_texts),
        CASE(empty_foreign_and_false_databases_are_told),
        CASE(a_locked_database_is_told),
        CASE(a_database_in_a_folder_that_cannot_be_written_is_read),
        CASE(a_cut_database_is_told),
        CASE(a_damaged_database_is_read_as_far_as_it_goes),
        CASE(a_damaged_table_is_told_and_the_others_are_read),
        CASE(tables_and_columns_may_be_missing),
        CASE(an_index_of_a_database_knows_the_arguments_of_events),
        CASE(memory_that_runs_out_is_told),
        CASE(a_made_profile_gives_the_same_figures_by_nsight),
        CASE(traces_of_others_give_the_same_figures_by_nsight),
        CASE(of_several_devices_one_is_read),
    };
    return cmocka_run_group_tests_name("profiler databases", tests, fail_by_count, NULL);
}
