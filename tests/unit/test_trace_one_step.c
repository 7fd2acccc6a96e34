/* Tests over all traces of ../shared/reference and examples/ that the step has the same length in the JSON, the
 * diagnosis and the page, and that figures unknown in the JSON are also unknown in the table of steps, the page's table
 * and the summary. Also tests the definition of a step's length, case by case. */
#include "evenkeel/diagnose.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/view.h"
#include "input.h"
#include "report/writers.h"
#include "skip.h"
#include "view/view.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include <jansson.h>

enum { MAX_RUNS = 400, DEPTH = 12 };

static char *found[MAX_RUNS]; /* folders with traces or tables, and traces that lie beside others */
static int n_found;

/* ---- the runs ---- */

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);
    return n >= m && strcmp(name + n - m, with) == 0;
}

static void keep(const char *path)
{
    assert_true(n_found < MAX_RUNS);
    found[n_found] = strdup(path);
    assert_non_null(found[n_found++]);
}

/* Every folder with files of a profiler is a run, and every Chrome trace of Kineto is a separate one. */
static void find_runs(const char *folder, int depth)
{
    DIR *dir = depth < DEPTH ? opendir(folder) : NULL;
    bool any = false;
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || stat(path, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode))
            find_runs(path, depth + 1);
        else if (strstr(path, "kineto") && (ends(path, ".json") || ends(path, ".json.gz")))
            keep(path);
        else
            any |= ends(path, ".json") || ends(path, ".csv") || ends(path, ".gz");
    }
    closedir(dir);
    if (any)
        keep(folder);
}

/* ---- output of a run ---- */

typedef struct written {
    char *text, *csv;
    json_t *trace, *diagnosis, *page;
} written;

static json_t *parsed(char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static void write_all(const ek_trace_run *run, written *w)
{
    const ek_trace_view view = {.rank = EK_TRACE_NO_RANK};
    const ek_diagnose_options quick = {.seconds = 0.05, .n_threads = 1};
    const ek_run_input input = {.trace = run};
    ek_diagnosis diagnosis;
    ek_error err;
    char *json[3];
    size_t size;
    assert_int_equal(ek_diagnose(&input, &quick, &diagnosis, &err), EK_OK);
    const ek_view_run shown = {.name = "run", .trace = run, .diagnosis = &diagnosis};
    const ek_view page = {.title = "run", .n_runs = 1, .run = &shown};
    FILE *out[5] = {open_memstream(&json[0], &size), open_memstream(&json[1], &size), open_memstream(&json[2], &size),
                    open_memstream(&w->text, &size), open_memstream(&w->csv, &size)};
    assert_int_equal(ek__trace_write_json(run, &view, out[0], &err), EK_OK);
    assert_int_equal(ek__diagnosis_write_json(&diagnosis, out[1], &err), EK_OK);
    assert_int_equal(ek__view_write_json(&page, out[2], &err), EK_OK);
    assert_int_equal(ek__trace_write_text(run, &view, out[3], &err), EK_OK);
    assert_int_equal(ek__trace_write_csv(run, &ek_trace_tables[0], &view, out[4], &err), EK_OK);
    for (int i = 0; i < 5; i++)
        fclose(out[i]);
    ek_diagnosis_clear(&diagnosis);
    w->trace = parsed(json[0]);
    w->diagnosis = parsed(json[1]);
    w->page = parsed(json[2]);
}

static void free_all(written *w)
{
    free(w->text);
    free(w->csv);
    json_decref(w->trace);
    json_decref(w->diagnosis);
    json_decref(w->page);
}

/* ---- one step ---- */

static const char *path; /* of the run at hand */

static void same(const char *what, const json_t *value, double scale, double us)
{
    if (!json_is_number(value) || fabs(json_number_value(value) * scale - us) > 1e-9 * us)
        fail_msg("%s: %s has a step of %.6f us, the JSON of the trace %.6f us", path, what,
                 json_is_number(value) ? json_number_value(value) * scale : NAN, us);
}

static const json_t *page_fact(const written *w, const char *label)
{
    size_t i;
    const json_t *one, *run = json_array_get(json_object_get(w->page, "runs"), 0);
    json_array_foreach(json_object_get(run, "facts"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "label")), label) == 0)
            return json_object_get(one, "value");
    }
    return NULL;
}

/* @return whether there was one. */
static bool check_one_step(const ek_trace_run *run, const written *w)
{
    const json_t *told = json_object_get(w->trace, "step_us"), *one;
    ek_trace_step_time time = ek_trace_run_step(run);
    size_t i;
    assert_true(json_is_number(told) == (time.n_steps > 0));
    if (!json_is_number(told)) {
        assert_true(json_is_null(json_object_get(w->diagnosis, "step_seconds")));
        return false;
    }
    double us = json_number_value(told), longest = 0;
    same("the metrics", json_object_get(w->trace, "step_us"), 1, (double)time.ns / 1e3);
    same("the diagnosis", json_object_get(w->diagnosis, "step_seconds"), 1e6, us);
    same("the page", page_fact(w, "step"), 1e-3, us);
    assert_null(page_fact(w, "diagnosed step")); /* the page names one step */
    json_array_foreach(json_object_get(w->trace, "ranks"), i, one)
    {
        const json_t *step = json_object_get(one, "step_us");
        longest = json_is_number(step) ? fmax(longest, json_number_value(step)) : longest;
    }
    assert_true(fabs(longest - us) <= 1e-9 * us);
    double printed = us / 1e3;
    const char *at = strstr(w->text, "a step takes ");
    assert_non_null(at);
    assert_true(sscanf(at, "a step takes %lf ms", &printed) == 1 && fabs(printed - us / 1e3) <= 0.00501);
    return true;
}

/* ---- unknown figures ---- */

/* The cell of a line, which has no quotes here; NULL when it is empty. */
static const char *cell_of(const char *line, int column, char *cell, size_t room)
{
    bool quoted = false;
    size_t n = 0;
    for (; *line && *line != '\n' && column >= 0; line++) {
        quoted ^= *line == '"';
        if (*line == ',' && !quoted)
            column--;
        else if (column == 0 && n + 1 < room)
            cell[n++] = *line;
    }
    cell[n] = '\0';
    return n > 0 ? cell : NULL;
}

/* Every column of the table that the JSON has by the same name: empty just where that is null, else the same figure. */
static int check_csv_step(const char *header, const char *line, const json_t *step)
{
    char name[128], text[512];
    int n = 0;
    for (int column = 4; cell_of(header, column, name, sizeof name); column++) {
        const json_t *value = json_object_get(step, name);
        const char *cell = cell_of(line, column, text, sizeof text);
        if (!value || !(json_is_number(value) || json_is_null(value)))
            continue;
        n++;
        if (json_is_null(value) != !cell)
            fail_msg("%s: %s of step %s is \"%s\" in the table, but %s in the JSON", path, name,
                     json_string_value(json_object_get(step, "step")), cell ? cell : "", cell ? "null" : "there");
        if (cell && fabs(strtod(cell, NULL) - json_number_value(value)) > 1e-9 * fabs(json_number_value(value)))
            fail_msg("%s: %s is %s in the table, but %.6f in the JSON", path, name, cell, json_number_value(value));
    }
    return n;
}

static const json_t *page_table(const written *w, const char *id)
{
    size_t i, k;
    const json_t *section, *table, *run = json_array_get(json_object_get(w->page, "runs"), 0);
    json_array_foreach(json_object_get(run, "sections"), i, section)
    {
        json_array_foreach(json_object_get(section, "tables"), k, table)
        {
            if (strcmp(json_string_value(json_object_get(table, "id")), id) == 0)
                return table;
        }
    }
    return NULL;
}

static void check_page_step(const json_t *table, size_t row, const json_t *step)
{
    static const char *const pair[][2] = {{"length", "length_us"},
                                          {"total", "total_us"},
                                          {"computing", "computing_us"},
                                          {"communication", "communication_us"},
                                          {"exposed", "communication_not_overlapped_us"},
                                          {"overlapped", "overlapped_us"},
                                          {"copy_exposed", "copy_not_overlapped_us"},
                                          {"free", "free_us"},
                                          {"stage_wait", "pipeline_wait_us"},
                                          {"host_bound", "host_bound_us"},
                                          {"data_wait", "data_loading_idle_us"},
                                          {"host_step", "host_step_us"}};
    size_t i;
    const json_t *column, *cells = json_array_get(json_object_get(table, "rows"), row);
    assert_non_null(cells);
    json_array_foreach(json_object_get(table, "columns"), i, column)
    {
        for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
            if (strcmp(json_string_value(json_object_get(column, "name")), pair[k][0]) != 0)
                continue;
            const json_t *cell = json_array_get(cells, i), *value = json_object_get(step, pair[k][1]);
            if (json_is_null(cell) != json_is_null(value))
                fail_msg("%s: %s of a step is %s on the page, but not so in the JSON", path, pair[k][0],
                         json_is_null(cell) ? "unknown" : "known");
        }
    }
}

/* The last three columns of the summary's row: "-" where the rank or no step that counts knows them. */
static void check_text_rank(const written *w, const json_t *rank, size_t index)
{
    static const char *const key[] = {"pipeline_wait_us", "idle_us", "data_loading_idle_us"};
    char label[64], line[512], *word[32] = {NULL};
    int n = 0;
    size_t i;
    const json_t *step, *number = json_object_get(rank, "rank");
    if (json_is_integer(number))
        snprintf(label, sizeof label, "\nrank %-4d ", (int)json_integer_value(number));
    else
        snprintf(label, sizeof label, "\ntrace %-3d ", (int)index);
    const char *at = strstr(w->text, label);
    int alike = 0;
    json_array_foreach(json_object_get(w->trace, "ranks"), i, step)
    {
        alike += json_equal(json_object_get(step, "rank"), number);
    }
    if (!at || (alike > 1 && json_is_integer(number)))
        return; /* of many ranks some are shown; several runs together may have a number twice */
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    for (char *part = strtok(line, " "); part && n < 32; part = strtok(NULL, " "))
        word[n++] = part;
    assert_true(n > 8);
    for (int k = 0; k < 3; k++) {
        /* Idle time for the host is one figure of the rank. */
        bool known = json_is_number(json_object_get(json_object_get(rank, "host_dispatch"), key[k]));
        json_array_foreach(json_object_get(rank, "steps"), i, step)
        {
            known |= json_is_number(json_object_get(step, key[k])) && !json_is_true(json_object_get(step, "warm_up"));
        }
        if (known == (strcmp(word[n - 3 + k], "-") == 0))
            fail_msg("%s: %s is %s in the summary of %s", path, key[k], word[n - 3 + k], label + 1);
    }
}

static int check_unknown(const written *w)
{
    size_t r, i, row = 0;
    int n = 0;
    const json_t *rank, *step, *table = page_table(w, "steps");
    const char *line = strchr(w->csv, '\n');
    json_array_foreach(json_object_get(w->trace, "ranks"), r, rank)
    {
        check_text_rank(w, rank, r);
        json_array_foreach(json_object_get(rank, "steps"), i, step)
        {
            assert_non_null(line);
            n += check_csv_step(w->csv, line + 1, step);
            line = strchr(line + 1, '\n');
            if (table && row < json_array_size(json_object_get(table, "rows")))
                check_page_step(table, row, step);
            row++;
        }
    }
    return n;
}

/* A wait for data lies in the step, parallel to the device's work. */
static void check_waits(const ek_trace_run *run)
{
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_steps; i++) {
            const ek_trace_step *step = &run->rank[r].step[i];
            bool begin_to_begin;
            int64_t length = ek_trace_step_length(&run->rank[r], i, &begin_to_begin);
            int64_t host = step->host_step > length ? step->host_step : length;
            if (step->data_loading != EK_TRACE_UNKNOWN && step->data_loading > host)
                fail_msg("%s: step %s of %lld ns waits %lld ns for data", path, step->name, (long long)host,
                         (long long)step->data_loading);
            assert_true(step->data_loading_idle <= step->data_loading);
        }
}

/* ---- the tests ---- */

/* All that were found. */
static void check_found(int least_steps)
{
    int n_read = 0, n_steps = 0, n_figures = 0;
    for (int i = 0; i < n_found; i++) {
        static const ek_trace_options options = {.n_threads = 1};
        const char *paths[] = {path = found[i]};
        ek_trace_run run;
        ek_error err;
        if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err) == EK_OK) {
            written w;
            write_all(&run, &w);
            n_read++;
            n_steps += check_one_step(&run, &w);
            n_figures += check_unknown(&w);
            check_waits(&run);
            free_all(&w);
            ek_trace_run_clear(&run);
        }
        free(found[i]);
    }
    n_found = 0;
    print_message("# %d runs, %d with a step, %d figures compared\n", n_read, n_steps, n_figures);
    assert_true(n_steps >= least_steps);
}

static void every_run_has_one_step_and_one_unknown(void **state)
{
    (void)state;
    find_runs(source_path("examples/trace"), 0);
    find_runs(source_path("examples/run"), 0);
    keep(source_path("examples/trace"));
    keep(source_path("examples/run/profile"));
    check_found(4);
}

static void every_run_of_others_has_one_step_and_one_unknown(void **state)
{
    (void)state;
    find_runs(need_shared("reference/traces"), 0);
    check_found(20);
}

static void a_step_lasts_until_the_next_one_begins(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    static const struct {
        const char *name;
        struct {
            const char *name;
            int64_t start, end, host_start, host_step, total;
            bool warm_up;
        } step[4];
        int n;
        int64_t length[4]; /* expected, ms */
        bool begin_to_begin[4];
        double mean; /* ms */
    } cases[] = {
        {"the device lags behind the host: its begins count",
         {{"1", 100, 229, 0, 20, 129, false}, {"2", 229, 358, 20, 20, 129, false}, {"3", 358, 487, 40, 20, 129, false}},
         3,
         {129, 129, 129},
         {true, true, false},
         129},
        {"what lies between two steps is in the first; the last is taken as long",
         {{"1", 0, 100, 0, 100, 90, false}, {"2", 130, 230, 130, 100, 90, false}},
         2,
         {130, 100},
         {true, false},
         130},
        {"a last one that is longer counts as it is",
         {{"1", 0, 100, 0, 100, 90, false}, {"2", 110, 410, 110, 300, 290, false}},
         2,
         {110, 300},
         {true, false},
         205},
        {"numbers that do not follow are two recordings",
         {{"1", 0, 100, 0, 100, 90, false}, {"7", 5000, 5120, 5000, 120, 90, false}},
         2,
         {100, 120},
         {false, false},
         110},
        {"warm-up is left out, and its begin-to-begin with it",
         {{"1", 0, 300, 0, 300, 290, true}, {"2", 310, 400, 310, 90, 80, false}, {"3", 410, 500, 410, 90, 80, false}},
         3,
         {310, 100, 90},
         {true, true, false},
         100},
        {"one step alone: the longer of the mark and the device",
         {{"5", 10, 139, 0, 112, 129, false}},
         1,
         {129},
         {false},
         129},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ek_trace_step step[4];
        for (int i = 0; i < cases[c].n; i++)
            step[i] = (ek_trace_step){.name = cases[c].step[i].name,
                                      .start = cases[c].step[i].start * MS,
                                      .end = cases[c].step[i].end * MS,
                                      .host_start = cases[c].step[i].host_start * MS,
                                      .host_step = cases[c].step[i].host_step * MS,
                                      .own.total = cases[c].step[i].total * MS,
                                      .warm_up = cases[c].step[i].warm_up};
        const ek_trace_rank rank = {.n_steps = cases[c].n, .step = step};
        for (int i = 0; i < cases[c].n; i++) {
            bool begin_to_begin;
            int64_t length = ek_trace_step_length(&rank, i, &begin_to_begin);
            if (length != cases[c].length[i] * MS || begin_to_begin != cases[c].begin_to_begin[i])
                fail_msg("%s: step %d is %lld ns", cases[c].name, i, (long long)length);
        }
        if (ek_trace_rank_step(&rank).ns != (int64_t)(cases[c].mean * MS))
            fail_msg("%s: the mean is %lld ns", cases[c].name, (long long)ek_trace_rank_step(&rank).ns);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_lasts_until_the_next_one_begins),
        cmocka_unit_test(every_run_has_one_step_and_one_unknown),
        cmocka_unit_test(every_run_of_others_has_one_step_and_one_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
