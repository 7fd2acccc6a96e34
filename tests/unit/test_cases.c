/* Tests plans simulated as cases, and models read from files, each against the functions that it consists of. */
#include "input.h"

#include <math.h>

#include "assert_close.h"
#include "evenkeel/balance.h"
#include "evenkeel/cases.h"
#include "evenkeel/model_files.h"
#include "evenkeel/strategies.h"

static ek_cases cases; /* too large for the stack */

static ek_layers small_layers(void)
{
    ek_layers layers;
    ek_error err;
    if (ek_layers_read(source_path("tests/data/small_layers.json"), NULL, NULL, &layers, &err))
        fail_msg("%s", err.message);
    return layers;
}

/* ---- cases ---- */

static void a_case_is_the_simulation_of_its_plan(void **state)
{
    (void)state;
    ek_layers layers = small_layers();
    ek_error err;
    ek_plan plan;
    ek_order *order;
    ek_timeline timeline;
    const ek_case_options how = {.less_memory = -1, .comm = {.p2p_time = 0.5}};
    const ek_shape shape = {2, 1, 6, 1};
    memset(&cases, 0, sizeof cases);
    assert_int_equal(ek_plan_even(&layers, 2, 1, EK_RECOMPUTE_NONE, &plan, &err), EK_OK);
    if (ek_cases_add(&cases, &how, &layers, "even", "sub/even.svg", &plan, 6, -1, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_cases_add(&cases, &how, &layers, "sub_even", NULL, &plan, 6, -1, &err), EK_OK);
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
    assert_int_equal(ek_simulate(order, &plan, &layers, &how.comm, &timeline, &err), EK_OK);
    assert_int_equal(ek_cases_add_run(&cases, &how, &layers, NULL, NULL, &plan, order, &err), EK_ERR_INPUT);
    assert_int_equal(ek_cases_add_run(&cases, &how, &layers, "run", NULL, &plan, order, &err), EK_OK);
    assert_int_equal(cases.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_close_to(cases.cases[i].timeline->step_time, timeline.step_time, 0);
        assert_close_to(ek_timeline_peak(cases.cases[i].timeline, NULL), ek_timeline_peak(&timeline, NULL), 0);
        assert_int_equal(cases.cases[i].plan->layers[0], plan.layers[0]);
    }
    assert_string_equal(cases.cases[0].name, "even");
    assert_string_equal(cases.file_names[0], "sub_even.svg");
    assert_string_equal(cases.file_names[1], "sub_even-2.svg"); /* never over another's picture */
    assert_string_equal(cases.file_names[2], "run.svg");
    ek_timeline_clear(&timeline);
    ek_order_free(order);
    ek_plan_clear(&plan);
    ek_cases_clear(&cases);
    assert_int_equal(cases.n, 0);
    ek_layers_clear(&layers);
}

static void a_schedule_is_the_given_one_where_it_is_defined_for_the_plan(void **state)
{
    (void)state;
    const ek_case_options plain = {0}, given = {.schedule = ek_schedule_find("gpipe"), .n_chunks = 1},
                          pieces = {.n_pieces = 4};
    assert_string_equal(ek_case_schedule(&plain, 1, 0)->name, "1f1b");
    assert_string_equal(ek_case_schedule(&plain, 2, 1)->name, "interleaved-less-memory");
    assert_string_equal(ek_case_schedule(&plain, 2, -1)->name, "interleaved");
    assert_string_equal(ek_case_schedule(&given, 1, 0)->name, "gpipe");
    assert_string_equal(ek_case_schedule(&given, given.schedule->max_chunks + 1, 0)->name, "interleaved");
    assert_string_equal(ek_case_schedule(&pieces, 1, 0)->name, "sequence");
}

static void a_plan_file_gives_its_plans_with_notes_on_what_was_assumed(void **state)
{
    (void)state;
    ek_layers layers = small_layers();
    said heard = {0};
    const ek_listener notes = {say_warning, &heard};
    ek_error err;
    ek_strategies file;
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path("tests/data/small_manual.yaml"));
    ek_case_options how = {.less_memory = -1};
    memset(&cases, 0, sizeof cases);
    assert_int_equal(ek_strategies_read(path, &layers, 0, NULL, &file, &err), EK_OK);
    if (ek_cases_add_file(&cases, &how, &layers, path, NULL, &notes, &err))
        fail_msg("%s", err.message);
    assert_int_equal(cases.n, file.n);
    int unsaid = 0;
    for (int i = 0; i < file.n; i++) {
        const ek_strategy *s = &file.strategy[i];
        int m = s->n_micro_batches > 0 ? s->n_micro_batches : 4;
        unsaid += s->n_micro_batches == 0;
        assert_string_equal(cases.cases[i].name, s->name);
        assert_int_equal(cases.cases[i].timeline->shape.n_micro_batches, m);
    }
    assert_int_equal(heard.n_warnings, unsaid);
    ek_cases_clear(&cases);
    how.n_stages = file.strategy[0].plan.n_stages + 1;
    assert_int_equal(ek_cases_add_file(&cases, &how, &layers, path, NULL, NULL, &err), EK_ERR_INPUT);
    ek_cases_clear(&cases);
    how.n_stages = 0;
    how.n_chunks = file.strategy[0].plan.n_chunks + 1;
    how.same_chunks = true;
    assert_int_equal(ek_cases_add_file(&cases, &how, &layers, path, NULL, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "chunks per stage, but -i is"));
    ek_cases_clear(&cases);
    ek_strategies_clear(&file);
    ek_layers_clear(&layers);
}

/* Edges that live as long as their case. */
static int released;

static ek_status fill_edges(const void *user, const ek_shape *shape, ek_balance_options *options, void **own,
                            ek_error *err)
{
    (void)user;
    double *edges = calloc((size_t)shape->n_stages, sizeof *edges);
    if (shape->n_stages > 2) {
        free(edges);
        *err = (ek_error){.status = EK_ERR_INPUT, .message = "two stages only"};
        return EK_ERR_INPUT;
    }
    edges[0] = 7;
    options->comm.edge_time = edges;
    *own = edges;
    return EK_OK;
}

static void release_edges(void *own)
{
    free(own);
    released++;
}

static void lists_live_as_long_as_their_case(void **state)
{
    (void)state;
    ek_layers layers = small_layers();
    ek_error err;
    ek_plan plan, wide;
    const ek_balance_lists lists = {fill_edges, release_edges, NULL};
    const ek_case_options how = {.less_memory = -1, .lists = &lists}, plain = {.less_memory = -1};
    memset(&cases, 0, sizeof cases);
    released = 0;
    assert_int_equal(ek_plan_even(&layers, 2, 1, EK_RECOMPUTE_NONE, &plan, &err), EK_OK);
    assert_int_equal(ek_plan_even(&layers, 4, 1, EK_RECOMPUTE_NONE, &wide, &err), EK_OK);
    assert_int_equal(ek_cases_add(&cases, &how, &layers, "edges", NULL, &plan, 4, -1, &err), EK_OK);
    assert_close_to(cases.timelines[0].comm.edge_time[0], 7, 0);
    assert_int_equal(released, 0);
    assert_int_equal(ek_cases_add(&cases, &how, &layers, "wide", NULL, &wide, 4, -1, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "two stages only");
    double with_edges = cases.timelines[0].step_time;
    ek_cases_clear(&cases);
    assert_int_equal(released, 1);
    memset(&cases, 0, sizeof cases);
    assert_int_equal(ek_cases_add(&cases, &plain, &layers, "plain", NULL, &plan, 4, -1, &err), EK_OK);
    assert_true(cases.timelines[0].step_time + 7 <= with_edges);
    ek_cases_clear(&cases);
    ek_plan_clear(&plan);
    ek_plan_clear(&wide);
    ek_layers_clear(&layers);
}

/* ---- models ---- */

static void an_init_file_is_decomposed_and_a_layer_file_is_read(void **state)
{
    (void)state;
    char init_path[4096], layer_path[4096];
    snprintf(init_path, sizeof init_path, "%s", source_path("tests/data/small_init.yaml"));
    snprintf(layer_path, sizeof layer_path, "%s", source_path("tests/data/small_layers.json"));
    ek_error err;
    ek_dryrun init;
    ek_layers direct;
    ek_file_model model;
    ek_model_files files = {.init = init_path, .name = "small"};
    assert_int_equal(ek_dryrun_read(init_path, NULL, &init, &err), EK_OK);
    assert_int_equal(ek_dryrun_decompose(&init, "small", NULL, false, &direct, &err), EK_OK);
    if (ek_model_files_read(&files, NULL, NULL, &model, &err))
        fail_msg("%s", err.message);
    assert_string_equal(model.layers.name, "small");
    assert_int_equal(model.layers.n_layers, direct.n_layers);
    assert_close_to(model.layers.body[0].parameter_mb, direct.body[0].parameter_mb, 0);
    assert_close_to(model.layers.head.parameter_mb, direct.head.parameter_mb, 0);
    assert_int_equal(model.dry_run_stages, init.n_stages);
    ek_layers_clear(&model.layers);
    ek_layers_clear(&direct);
    ek_dryrun_clear(&init);
    direct = small_layers();
    files = (ek_model_files){.layers = layer_path};
    assert_int_equal(ek_model_files_read(&files, NULL, NULL, &model, &err), EK_OK);
    assert_int_equal(model.layers.n_layers, direct.n_layers);
    assert_close_to(model.layers.body[0].forward_time, direct.body[0].forward_time, 0);
    assert_int_equal(model.dry_run_stages, 0);
    assert_false(model.run.given);
    ek_layers_clear(&model.layers);
    ek_layers_clear(&direct);
}

static void a_job_in_the_place_of_a_model_is_told_what_to_do(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path("examples/megatron_13b.sh"));
    const ek_model_files asked[] = {{.init = path, .name = "m"}, {.layers = path}};
    for (int i = 0; i < 2; i++) {
        ek_file_model model = {.dry_run_stages = 77};
        ek_error err;
        assert_int_equal(ek_model_files_read(&asked[i], NULL, NULL, &model, &err), EK_ERR_INPUT);
        assert_string_equal(err.file, path);
        assert_non_null(strstr(err.message, "this is a training job without times of its layers"));
        assert_int_equal(model.dry_run_stages, 77);
    }
}

static void constants_come_on_top_with_a_note(void **state)
{
    (void)state;
    static const struct {
        double has, given, run, expected;
        const char *note;
    } rows[] = {{0, 0, 0, 0, NULL},
                {0, 100, 50, 100, NULL},
                {0, 0, 50, 50, NULL},
                {8, 0, 0, 8, NULL},
                {8, 100, 50, 108, "-mc 100 MB come on top"},
                {8, 0, 50, 58, "constant_memory 50 MB come on top"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        said heard = {0};
        const ek_listener notes = {say_warning, &heard};
        ek_layers layers = {.const_mb = rows[i].has};
        ek_layers_add_constant(&layers, rows[i].given, rows[i].run, &notes);
        assert_close_to(layers.const_mb, rows[i].expected, 0);
        assert_int_equal(heard.n_warnings, rows[i].note != NULL);
        if (rows[i].note)
            assert_non_null(strstr(heard.text, rows[i].note));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_is_the_simulation_of_its_plan),
        cmocka_unit_test(a_schedule_is_the_given_one_where_it_is_defined_for_the_plan),
        cmocka_unit_test(a_plan_file_gives_its_plans_with_notes_on_what_was_assumed),
        cmocka_unit_test(lists_live_as_long_as_their_case),
        cmocka_unit_test(an_init_file_is_decomposed_and_a_layer_file_is_read),
        cmocka_unit_test(a_job_in_the_place_of_a_model_is_told_what_to_do),
        cmocka_unit_test(constants_come_on_top_with_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
