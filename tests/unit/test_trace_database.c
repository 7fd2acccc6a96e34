/* Tests a run's traces as a database: every table has the rows and values of the CSV of its name, and a query only
 * reads. */
#include "made_traces.h"
#include "tree.h"

#include <math.h>
#include <sqlite3.h>

#include "assert_close.h"
#include "evenkeel/compute.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "report/writers.h"
#include "trace/text/csv.h"

/* The made job as a producer writes it. */
static void read_of(const char *producer, ek_trace_run *run)
{
    char folder[4096];
    const char *path = folder;
    const ek_trace_options options = {.measure = true};
    ek_error err;
    snprintf(folder, sizeof folder, "%s/%s", made_traces(), producer);
    if (ek_trace_run_read(&path, 1, &options, NULL, run, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_compute_make(run, NULL, &err), EK_OK);
}

/* As PyTorch writes it on Ascend, with its tables. */
static void read_made(ek_trace_run *run)
{
    read_of("torch_npu", run);
}

static sqlite3 *written(const ek_trace_run *run)
{
    sqlite3 *database;
    ek_error err;
    FILE *out = fopen(below("run.db"), "wb");
    assert_non_null(out);
    assert_int_equal(ek__trace_write_sqlite(run, out, &err), EK_OK);
    fclose(out);
    assert_int_equal(sqlite3_open_v2(below("run.db"), &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return database;
}

static void compare_cell(const char *table, const char *name, const char *cell, sqlite3_stmt *row, int column)
{
    size_t n = strlen(name);
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_TEXT) {
        if (strcmp(cell, (const char *)sqlite3_column_text(row, column)) != 0)
            fail_msg("%s.%s is '%s', in CSV '%s'", table, name, sqlite3_column_text(row, column), cell);
    } else if (type == SQLITE_NULL) {
        if (*cell)
            fail_msg("%s.%s is null, in CSV '%s'", table, name, cell);
    } else {
        bool time = n > 3 && strcmp(name + n - 3, "_ns") == 0;
        double is = sqlite3_column_double(row, column), csv = strtod(cell, NULL);
        assert_true(*cell);
        assert_close_to(is, time ? 1000 * csv : csv, fmax(1e-9 * fabs(is), type == SQLITE_INTEGER ? 1e-3 : 1));
    }
}

/* memory.csv has rows of blocks after those of components, which the database leaves to the tracker's own table. */
static int compare_table(const ek_trace_run *run, sqlite3 *database, int table)
{
    const char *name = ek_trace_tables[table].name;
    char *text = NULL, sql[128];
    size_t size;
    ek_error err;
    ek__csv *csv;
    sqlite3_stmt *row;
    int n = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__trace_write_csv(run, &ek_trace_tables[table], NULL, out, &err), EK_OK);
    fclose(out);
    assert_int_equal(ek__csv_open_buffer(name, text, size, &csv, &err), EK_OK);
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" ORDER BY rowid", name);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &row, NULL), SQLITE_OK);
    assert_true(sqlite3_column_count(row) >= ek__csv_n_columns(csv) - (strcmp(name, "memory") == 0));
    for (bool more = true; ek__csv_next(csv, &more, &err) == EK_OK && more; n++) {
        if (sqlite3_step(row) != SQLITE_ROW) {
            assert_string_equal(name, "memory");
            break;
        }
        for (int i = 0; i < sqlite3_column_count(row); i++)
            compare_cell(name, sqlite3_column_name(row, i), ek__csv_cell(csv, i), row, i);
    }
    assert_int_equal(sqlite3_step(row), SQLITE_DONE);
    sqlite3_finalize(row);
    ek__csv_close(csv);
    free(text);
    return n;
}

static void tables_are_those_of_csv(void **state)
{
    (void)state;
    ek_trace_run run;
    int n_with_rows = 0, n_kernels = 0;
    read_made(&run);
    sqlite3 *database = written(&run);
    for (int i = 0; i < EK_N_TRACE_TABLES; i++) {
        int n = compare_table(&run, database, i);
        n_with_rows += n > 0;
        n_kernels = strcmp(ek_trace_tables[i].name, "kernels") == 0 ? n : n_kernels;
    }
    assert_true(n_with_rows >= 8);
    size_t n_all = 0;
    for (int r = 0; r < run.n_ranks; r++)
        n_all += run.rank[r].measured.n_all;
    assert_int_equal(n_kernels, n_all);
    sqlite3_close(database);
    ek_trace_run_clear(&run);
}

/* By looking at every step. */
static void a_kernel_is_of_the_step_whose_window_holds_it(void **state)
{
    (void)state;
    ek_trace_run run;
    sqlite3_stmt *row;
    int n_in = 0;
    read_made(&run);
    /* Kernels outside: the last step of one rank ends early, and the one before has no window. */
    ek_trace_rank *cut = &run.rank[0];
    assert_true(cut->n_steps > 2);
    cut->step[cut->n_steps - 1].end = cut->step[cut->n_steps - 1].start + 1000000;
    cut->step[cut->n_steps - 2].start = EK_TRACE_UNKNOWN;
    sqlite3 *database = written(&run);
    assert_int_equal(sqlite3_prepare_v2(database, "SELECT rank, start_ns, step FROM kernels", -1, &row, NULL),
                     SQLITE_OK);
    int n_out = 0;
    while (sqlite3_step(row) == SQLITE_ROW) {
        const ek_trace_rank *rank = &run.rank[sqlite3_column_int(row, 0)];
        int64_t time = sqlite3_column_int64(row, 1);
        const char *name = (const char *)sqlite3_column_text(row, 2), *expected = NULL;
        int64_t latest = EK_TRACE_UNKNOWN;
        assert_int_equal(rank->rank, sqlite3_column_int(row, 0));
        for (int i = 0; i < rank->n_steps; i++)
            if (rank->step[i].start != EK_TRACE_UNKNOWN && rank->step[i].start <= time &&
                rank->step[i].start > latest) {
                latest = rank->step[i].start;
                expected = time <= rank->step[i].end ? rank->step[i].name : NULL;
            }
        n_in += expected != NULL;
        n_out += expected == NULL;
        if (expected)
            assert_string_equal(name, expected);
        else
            assert_null(name);
    }
    assert_true(n_in > 0 && n_out > 0);
    sqlite3_finalize(row);
    sqlite3_close(database);
    ek_trace_run_clear(&run);
}

static const char *layer_of(const ek_trace_rank *rank, int64_t time)
{
    for (size_t i = 0; i < rank->layers.n_members; i++)
        if (llabs(rank->layers.member[i].start - time) <= 2)
            return rank->layers.layer[rank->layers.member[i].layer].name;
    return NULL;
}

static const ek_trace_piece *piece_of(const ek_trace_rank *rank, int64_t time)
{
    for (size_t i = 0; i < rank->work.n; i++)
        if (rank->work.piece[i].activity <= EK_TRACE_OTHER_COMPUTING && llabs(rank->work.piece[i].start - time) <= 2)
            return &rank->work.piece[i];
    return NULL;
}

static void same_text(const char *is, const char *expected)
{
    if (expected)
        assert_string_equal(is ? is : "", expected);
    else
        assert_null(is);
}

/* By looking at all of them; times of tables may be off by 2 ns. @return how many have a layer */
static int compare_places(const ek_trace_run *run, int *n_launched)
{
    sqlite3_stmt *row;
    int n = 0;
    sqlite3 *database = written(run);
    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT rank, start_ns, layer, phase, launch_ns FROM kernels", -1, &row, NULL),
        SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const ek_trace_rank *rank = &run->rank[sqlite3_column_int(row, 0)];
        int64_t time = sqlite3_column_int64(row, 1);
        const char *layer = layer_of(rank, time);
        const ek_trace_piece *piece = piece_of(rank, time);
        n += layer != NULL;
        same_text((const char *)sqlite3_column_text(row, 2), layer);
        same_text((const char *)sqlite3_column_text(row, 3), piece ? ek_trace_activity_name[piece->activity] : NULL);
        bool launched = piece && piece->launch != EK_TRACE_UNKNOWN;
        *n_launched += launched;
        assert_int_equal(sqlite3_column_type(row, 4), launched ? SQLITE_INTEGER : SQLITE_NULL);
        if (launched)
            assert_int_equal(sqlite3_column_int64(row, 4), piece->launch);
    }
    sqlite3_finalize(row);
    sqlite3_close(database);
    return n;
}

static void a_kernel_is_of_its_layer_phase_and_launch(void **state)
{
    static const struct {
        const char *producer;
        int n_layers; /* at least */
    } made[] = {{"torch_npu", 0}, {"mindspore", 600}, {"torch", 0}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        ek_trace_run run;
        int n_launched = 0;
        read_of(made[i].producer, &run);
        assert_true(compare_places(&run, &n_launched) >= made[i].n_layers);
        assert_true(n_launched >= 400);
        /* In a table with times rounded the other way. */
        for (int r = 0; r < run.n_ranks; r++)
            for (size_t k = 0; k < run.rank[r].measured.n_all; k++)
                run.rank[r].measured.execution[k].start += (int64_t)(k % 5) - 2;
        assert_true(compare_places(&run, &n_launched) >= made[i].n_layers);
        ek_trace_run_clear(&run);
    }
}

static ek_status ask(const ek_trace_run *run, const char *sql, char *text, size_t room, ek_error *err)
{
    char *answer = NULL;
    size_t size;
    FILE *out = open_memstream(&answer, &size);
    ek_status status = ek_trace_query(run, sql, out, err);
    fclose(out);
    snprintf(text, room, "%s", answer);
    free(answer);
    return status;
}

static void a_query_sums_what_the_run_has(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    char text[4096], expected[64];
    int64_t total = 0;
    read_made(&run);
    for (int i = 0; i < run.compute->n; i++)
        total += run.compute->op[i].total;
    snprintf(expected, sizeof expected, "ns\n%lld\n", (long long)total);
    assert_int_equal(ask(&run, "SELECT sum(duration_ns) AS ns FROM kernels", text, sizeof text, &err), EK_OK);
    assert_string_equal(text, expected);
    assert_int_equal(ask(&run, "WITH s AS (SELECT 1 AS a, NULL AS b, 'x, \"y\"' AS c, 0.5 AS d) SELECT * FROM s;", text,
                         sizeof text, &err),
                     EK_OK);
    assert_string_equal(text, "a,b,c,d\n1,,\"x, \"\"y\"\"\",0.5\n");
    assert_int_equal(ask(&run, "SELECT rank FROM ranks WHERE 0", text, sizeof text, &err), EK_OK);
    assert_string_equal(text, "rank\n");
    ek_trace_run_clear(&run);
}

static void a_query_only_reads(void **state)
{
    static const struct {
        const char *sql, *said;
    } cases[] = {
        {"DELETE FROM steps", "only read"},
        {"INSERT INTO steps(rank) VALUES (1)", "only read"},
        {"CREATE TABLE t(a)", "only read"},
        {"ATTACH '/tmp/evenkeel_attached.db' AS x", "only read"},
        {"PRAGMA writable_schema = 1", "only read"},
        {"VACUUM INTO '/tmp/evenkeel_attached.db'", "only read"},
        {"SELECT 1; DELETE FROM steps", "more than one query, from \" DELETE"},
        {"", "is empty"},
        {" ; ", "is empty"},
        {"SELEC 1", "syntax error"},
        {"SELECT nope FROM steps", "no such column: nope"},
        {"SELECT * FROM nowhere", "no such table: nowhere"},
        {"SELECT load_extension('x')", "not authorized"},
    };
    (void)state;
    ek_trace_run run;
    char text[4096];
    read_made(&run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        assert_int_equal(ask(&run, cases[i].sql, text, sizeof text, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].said))
            fail_msg("%s: %s", cases[i].sql, err.message);
        assert_string_equal(text, "");
    }
    assert_int_not_equal(access("/tmp/evenkeel_attached.db", F_OK), 0);
    ek_trace_run_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_are_those_of_csv, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_kernel_is_of_the_step_whose_window_holds_it, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_kernel_is_of_its_layer_phase_and_launch, make_top, remove_top),
        cmocka_unit_test(a_query_sums_what_the_run_has),
        cmocka_unit_test(a_query_only_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
