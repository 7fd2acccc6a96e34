/* Databases of profilers: a profile that is exported as text and as databases gives the same figures by both, with
 * every analysis; what is damaged, locked, empty or of another kind is told with file and what to do, and nothing of
 * the other files is lost. The profiles are made_traces.h's, whose truth is known, and those of ../shared; the
 * databases are database_writer.h's. */
#include "input.h"

#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database_writer.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/write.h"
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

static const ek_trace_options all_figures = {.n_threads = 2, .drop_first_steps = -1, .measure = true};

static ek_status read_run(const char *path, ek_trace_run *run, ek_error *err)
{
    ek_listener listener = {.warn = say_warning, .user = &heard};
    heard = (said){.length = 0};
    return ek_trace_run_read(&path, 1, &all_figures, &listener, run, err);
}

/* The whole answer as JSON. */
static json_t *answer_of(const char *path)
{
    ek_trace_run run;
    ek_error err;
    char *text = NULL;
    size_t size;
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

/* What the two exports differ in: files and bytes, how many events the trace has and of which kinds (the text has
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_made_profile_gives_the_same_figures_by_its_databases),
        CASE(traces_of_others_give_the_same_figures_by_their_databases),
    };
    return cmocka_run_group_tests_name("profiler databases", tests, NULL, NULL);
}
