/* Tests the runs of a page from files: the runs found, their sources, and unusable files. */
#include "evenkeel/trace_index.h"
#include "evenkeel/view_files.h"
#include "input.h"

static ek_view_files first, second; /* too large for the stack */

static int clear(void **state)
{
    (void)state;
    ek_view_files_clear(&second);
    ek_view_files_clear(&first);
    return 0;
}

/* Zeroed, with files of the source tree added; NULL ends them. */
static void give(ek_view_files *set, const char *const *name)
{
    ek_error err;
    memset(set, 0, sizeof *set);
    set->files.models = true;
    for (int i = 0; name[i]; i++)
        if (ek_run_files_add(&set->files, source_path(name[i]), EK_RUN_UNKNOWN, NULL, &err))
            fail_msg("%s", err.message);
}

static char *page_of(const ek_view_files *other, const char *title)
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (ek_view_files_write(&first, other, title, NULL, out, &err))
        fail_msg("%s", err.message);
    assert_int_equal(fclose(out), 0);
    return text;
}

static const char *const plan_and_model[] = {"tests/data/small_manual.yaml", "tests/data/small_layers.json", NULL};
static const char *const plan[] = {"tests/data/small_manual.yaml", NULL};
static const char *const model[] = {"tests/data/small_layers.json", NULL};

static void every_plan_of_a_file_is_a_run_with_its_simulation(void **state)
{
    (void)state;
    ek_error err;
    give(&first, plan_and_model);
    if (ek_view_files_read(NULL, NULL, &first, &err))
        fail_msg("%s", err.message);
    assert_int_equal(first.n_runs, 2);
    assert_string_equal(first.run[0].name, "even");
    assert_string_equal(first.run[1].name, "all full");
    for (int i = 0; i < 2; i++) {
        const ek_case *shown = &first.run[i].plans->cases[first.run[i].case_index];
        ek_order *order;
        ek_timeline timeline;
        const ek_shape shape = {6, 1, 4, 1};
        assert_string_equal(shown->name, first.run[i].name);
        assert_null(first.run[i].trace);
        assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
        assert_int_equal(ek_simulate(order, shown->plan, &first.layers, NULL, &timeline, &err), EK_OK);
        assert_true(shown->timeline->step_time == timeline.step_time);
        ek_timeline_clear(&timeline);
        ek_order_free(order);
    }
}

static void settings_alone_are_a_prediction_and_with_a_trace_a_diagnosis(void **state)
{
    (void)state;
    static const char *const job[] = {"examples/run/train.yaml", NULL}, *const run[] = {"examples/run", NULL};
    ek_error err;
    ek_memory memory;
    give(&first, job);
    if (ek_view_files_read(NULL, NULL, &first, &err))
        fail_msg("%s", err.message);
    assert_int_equal(first.n_runs, 1);
    assert_string_equal(first.run[0].name, "run"); /* nothing was given for a name */
    assert_non_null(first.run[0].memory);
    assert_null(first.run[0].diagnosis);
    assert_int_equal(ek_memory_predict(&first.evidence.job, NULL, &memory, &err), EK_OK);
    assert_int_equal(first.run[0].memory->memory->stage[0].actual_peak, memory.stage[0].actual_peak);
    ek_memory_clear(&memory);
    ek_view_files_clear(&first);
    give(&first, run);
    first.given = "some/folder/";
    if (ek_view_files_read(NULL, NULL, &first, &err))
        fail_msg("%s", err.message);
    assert_int_equal(first.n_runs, 1);
    assert_string_equal(first.run[0].name, "folder");
    assert_int_equal(first.run[0].trace->n_ranks, 2);
    assert_non_null(first.run[0].index);
    assert_int_equal(ek_trace_index_n_files(first.run[0].index), 2);
    assert_non_null(first.run[0].diagnosis);
    assert_non_null(first.run[0].memory);
}

static void a_plan_takes_the_model_of_the_other_set(void **state)
{
    (void)state;
    ek_error err;
    give(&first, plan_and_model);
    give(&second, plan);
    assert_int_equal(ek_view_files_read(NULL, NULL, &first, &err), EK_OK);
    assert_int_equal(ek_view_files_read(NULL, NULL, &second, &err), EK_ERR_INPUT);
    assert_non_null(
        strstr(err.message, "is a plan, which contains the split of a model but not the costs of its layers"));
    ek_view_files_clear(&second);
    give(&second, plan);
    if (ek_view_files_read(NULL, &first, &second, &err))
        fail_msg("%s", err.message);
    assert_int_equal(second.n_runs, 2);
    /* The first of each beside each other; a name that exists already gets a number. */
    char *page = page_of(&second, NULL);
    const char *at = page;
    static const char *const names[] = {"\"name\": \"even\"", "\"name\": \"even-2\"", "\"name\": \"all full\"",
                                        "\"name\": \"all full-2\""};
    for (int i = 0; i < 4; i++) {
        at = strstr(at, names[i]);
        if (!at)
            fail_msg("no %s, or not in its place", names[i]);
    }
    assert_non_null(strstr(page, "<title>"));
    free(page);
}

static void what_cannot_be_looked_at_is_refused(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL};
    ek_error err;
    give(&first, nothing);
    assert_int_equal(ek_view_files_read(NULL, NULL, &first, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "nothing to show was found"));
    ek_view_files_clear(&first);
    give(&first, model);
    assert_int_equal(ek_view_files_read(NULL, NULL, &first, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "contains the costs of a model, but not its split"));
    ek_view_files_clear(&first);
    give(&first, plan_and_model);
    const ek_view_reading how = {.times = "nonsense", .plans = {.less_memory = -1}};
    assert_int_equal(ek_view_files_read(&how, NULL, &first, &err), EK_ERR_INPUT);
    assert_int_equal(strncmp(err.message, "--time: ", 8), 0);
    assert_int_equal(ek_view_check_bytes(EK_VIEW_MAX_TRACE_BYTES, &err), EK_OK);
    assert_int_equal(ek_view_check_bytes(EK_VIEW_MAX_TRACE_BYTES + 1, &err), EK_ERR_INPUT);
    ek_view_files_clear(&first);
    give(&first, nothing);
    first.files.trace_bytes = EK_VIEW_MAX_TRACE_BYTES + 1;
    assert_int_equal(ek_view_files_read(NULL, NULL, &first, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "MB of events"));
}

static void limits_and_micro_batches_of_plans_are_as_asked(void **state)
{
    (void)state;
    ek_error err;
    give(&first, plan_and_model);
    const ek_view_reading how = {
        .times = "head=2,body=20,tail=10",
        .plans = {
            .less_memory = -1, .n_micro_batches = 12, .memory_limit_mb = 3000, .schedule = ek_schedule_find("gpipe")}};
    if (ek_view_files_read(&how, NULL, &first, &err))
        fail_msg("%s", err.message);
    assert_true(first.report.memory_limit_mb == 3000);
    assert_int_equal(first.cases.timelines[0].shape.n_micro_batches, 12);
    assert_string_equal(first.cases.timelines[0].schedule->name, "gpipe");
    assert_true(first.layers.body[0].forward_time == 20);
}

static void a_name_is_the_last_part_of_a_path(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"a/b.yaml", "b.yaml"}, {"a/b///", "b"}, {"/", "run"},
                                          {".", "run"},           {"x/..", "run"}, {"profile", "profile"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        ek_view_name_of(rows[i][0], name, sizeof name);
        assert_string_equal(name, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_plan_of_a_file_is_a_run_with_its_simulation, clear),
        cmocka_unit_test_teardown(settings_alone_are_a_prediction_and_with_a_trace_a_diagnosis, clear),
        cmocka_unit_test_teardown(a_plan_takes_the_model_of_the_other_set, clear),
        cmocka_unit_test_teardown(what_cannot_be_looked_at_is_refused, clear),
        cmocka_unit_test_teardown(limits_and_micro_batches_of_plans_are_as_asked, clear),
        cmocka_unit_test(a_name_is_the_last_part_of_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
