/* Tests plan files: the original's manual format in every shorthand, the bare lists that it prints, and the JSON and
 * YAML that Evenkeel writes. Refused files are in tests/data/bad/strategies. */
#include "input.h"

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "evenkeel/strategies.h"
#include "strategies/log_block.h"
#include "strategies/strategies.h"

/* 12 layers, every kind modelled. */
static ek_layer body = {.n_layers = 12, .modelled = {true, true, true, true, true}};
static const ek_layers model = {.n_body = 1, .body = &body, .n_layers = 12, .modelled = {true, true, true, true, true}};

static void read_text(const char *text, int n_stages, ek_strategies *strategies, said *s)
{
    ek__config_tree *doc;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    if (ek__config_parse_buffer("plans", text, strlen(text), &doc, &err) ||
        ek__strategies_from_config(doc, &model, n_stages, s ? &listener : NULL, strategies, &err))
        fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.message);
    ek__config_free(doc);
}

static void one_plan_is_read_in_every_shorthand(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text;
        int n_stages, n_chunks, layers[6], full[6], select[6], comm[6];
    } cases[] = {
        {"flat lists",
         "a: {offset: [1, 0, -1], recompute: [5, 0, 1], select_recompute: [0, 4, 0]}",
         3,
         1,
         {5, 4, 3},
         {5, 0, 1},
         {0, 4, 0},
         {0}},
        {"a list of one list",
         "a: {offset: [[1, 0, -1]], recompute: true, select_comm_recompute: [[1, 1, 1]]}",
         3,
         1,
         {5, 4, 3},
         {5, 4, 3},
         {0},
         {1, 1, 1}},
        {"two chunks",
         "a: {offset: [[1, 0, 0], [0, 0, -1]], interleave_num: 2, recompute: [true, [0, 1, 0]]}",
         3,
         2,
         {3, 2, 2, 2, 2, 1},
         {3, 2, 2, 0, 1, 0},
         {0},
         {0}},
        {"chunks counted by the lists",
         "a: {offset: [[1, 0, 0], [0, 0, -1]], select_recompute: yes}",
         3,
         2,
         {3, 2, 2, 2, 2, 1},
         {0},
         {3, 2, 2, 2, 2, 1},
         {0}},
        {"stages counted by another list",
         "a: {offset: 0, interleave_num: 2, recompute: [false, [0, 1, 0]]}",
         3,
         2,
         {2, 2, 2, 2, 2, 2},
         {0, 0, 0, 0, 1, 0},
         {0},
         {0}},
        {"stages given", "a: {offset: 0, recompute: true}", 6, 1, {2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2}, {0}, {0}},
        {"stages of another plan", "a: {offset: 0}\nb: {offset: [1, 1, -2]}", 3, 1, {4, 4, 4}, {0}, {0}, {0}},
        {"counts instead of offsets",
         "a: {layers: [6, 0, 6], recompute: [1, 0, 6]}",
         3,
         1,
         {6, 0, 6},
         {1, 0, 6},
         {0},
         {0}},
        {"counts that agree with offsets",
         "a: {layers: [5, 4, 3], offset: [1, 0, -1]}",
         3,
         1,
         {5, 4, 3},
         {0},
         {0},
         {0}},
        {"bare lists as the original prints them",
         "  offset: [[1, 0, -1]]\n  recompute: [[0, 0, 0]]\n  select_recompute: [[5, 0, 0]]\n",
         3,
         1,
         {5, 4, 3},
         {0},
         {5, 0, 0},
         {0}},
        {"JSON",
         "{\"version\": 1, \"step_time\": 3.5, \"plan\": {\"offset\": [[1, 0, -1]], \"layers\": [[5, 4, 3]]}}",
         3,
         1,
         {5, 4, 3},
         {0},
         {0},
         {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_strategies strategies;
        said s = {{0}, 0, 0};
        read_text(cases[i].text, strcmp(cases[i].what, "stages given") == 0 ? 6 : 0, &strategies, &s);
        const ek_plan *plan = &strategies.strategy[0].plan;
        size_t size = (size_t)cases[i].n_stages * (size_t)cases[i].n_chunks * sizeof(int);
        if (plan->n_stages != cases[i].n_stages || plan->n_chunks != cases[i].n_chunks ||
            memcmp(plan->layers, cases[i].layers, size) != 0 || memcmp(plan->full, cases[i].full, size) != 0 ||
            memcmp(plan->select, cases[i].select, size) != 0 || memcmp(plan->comm, cases[i].comm, size) != 0)
            fail_msg("%s: read wrongly", cases[i].what);
        assert_string_equal(s.text, "");
        ek_strategies_clear(&strategies);
    }
}

static void options_are_read_and_have_defaults(void **state)
{
    (void)state;
    ek_strategies strategies;
    read_text("first: {offset: [0, 0], show: 0, file_name: a.svg, micro_batch_num: 32, less_memory: true}\n"
              "the second: {offset: [0, 0]}\n",
              0, &strategies, NULL);
    assert_int_equal(strategies.n, 2);
    const ek_strategy *a = &strategies.strategy[0], *b = &strategies.strategy[1];
    assert_string_equal(a->name, "first");
    assert_string_equal(a->file_name, "a.svg");
    assert_true(a->show == 0 && a->n_micro_batches == 32 && a->less_memory == 1);
    assert_string_equal(b->name, "the second");
    assert_string_equal(b->file_name, "");
    assert_true(b->show == 1 && b->n_micro_batches == 0 && b->less_memory == -1);
    ek_strategies_clear(&strategies);
    ek_strategies_clear(&strategies);
}

static void json_cases_follow_the_plan_at_the_top(void **state)
{
    (void)state;
    ek_strategies strategies;
    read_text("{\"version\": 1, \"name\": \"result\", \"plan\": {\"offset\": [[0, 0]]}, \"cases\": ["
              "{\"name\": \"manual1\", \"fits\": true, \"plan\": {\"offset\": [[1, -1]]}}, {\"plan\": {\"offset\": "
              "[[2, -2]]}}]}",
              0, &strategies, NULL);
    assert_int_equal(strategies.n, 3);
    assert_string_equal(strategies.strategy[0].name, "result");
    assert_string_equal(strategies.strategy[1].name, "manual1");
    assert_string_equal(strategies.strategy[2].name, "plan");
    assert_int_equal(strategies.strategy[2].plan.layers[0], 8);
    ek_strategies_clear(&strategies);
}

/* Source: the answer of the original tool in its documentation's Llama-175B example: 96 layers, 16 stages, 3 chunks. */
static void the_published_answer_is_a_plan_of_its_model(void **state)
{
    (void)state;
    ek_layer body96 = {.n_layers = 96, .modelled = {true, true, true, true, false}};
    const ek_layers layers = {
        .n_body = 1, .body = &body96, .n_layers = 96, .modelled = {true, true, true, true, false}};
    ek_strategies strategies;
    ek_error err = {0};
    if (ek_strategies_read(source_path("tests/data/llama175b_answer.yaml"), &layers, 16, NULL, &strategies, &err))
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    const ek_plan *plan = &strategies.strategy[0].plan;
    assert_true(plan->n_stages == 16 && plan->n_chunks == 3);
    assert_int_equal(plan->layers[0], 1);
    assert_int_equal(plan->layers[2 * 16 + 15], 1);
    assert_int_equal(plan->select[2 * 16 + 6], 3);
    assert_int_equal(strategies.strategy[0].less_memory, 1);
    assert_int_equal(ek_plan_check(plan, &layers, &err), EK_OK);
    ek_strategies_clear(&strategies);
}

static void outputs_stay_untouched_on_failure(void **state)
{
    (void)state;
    ek_strategies strategies = {.n = 77, .strategy = NULL};
    assert_int_equal(ek_strategies_read(source_path("tests/data/bad/strategies/second_strategy_is_wrong.yaml"), &model,
                                        0, NULL, &strategies, NULL),
                     EK_ERR_INPUT);
    assert_int_equal(strategies.n, 77);
}

/* Without a model: the reader takes its layers from the file's `layers`. */
static ek_status read_without_model(const char *text, ek_strategies *strategies, ek_error *err)
{
    ek__config_tree *doc;
    assert_int_equal(ek__config_parse_buffer("plans", text, strlen(text), &doc, err), EK_OK);
    ek_status status = ek__strategies_from_config(doc, NULL, 0, NULL, strategies, err);
    ek__config_free(doc);
    return status;
}

static void without_a_model_the_file_says_how_many_layers_there_are(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"version\": 1, \"name\": \"a\", \"stages\": [{\"layers\": 9}], \"plan\": {\"offset\": [[1, 0, 0]], "
        "\"select_recompute\": true, \"layers\": [[3, 2, 2]]}}",
        "{\"version\": 1, \"cases\": [{\"name\": \"a\", \"plan\": {\"offset\": [[1, 0, 0]], \"select_recompute\": "
        "true, \"layers\": [[3, 2, 2]]}}]}",
        "[{\"version\": 1, \"cases\": [{\"plan\": {\"select_recompute\": [[3, 2, 2]], \"layers\": [[3, 2, 2]]}}]}]",
        "a: {layers: [3, 2, 2], select_recompute: true}\nb: {offset: [0, 0, 1]}",
        "b: {offset: [1, 0, 0], select_recompute: [3, 2, 2]}\na: {layers: [2, 2, 3]}",
        "layers: [3, 2, 2]\nselect_recompute: [3, 2, 2]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ek_strategies strategies;
        ek_error err = {0};
        if (read_without_model(texts[i], &strategies, &err))
            fail_msg("%s\n%d:%d: %s", texts[i], err.line, err.column, err.message);
        const ek_plan *plan = &strategies.strategy[0].plan;
        const int layers[] = {3, 2, 2};
        assert_int_equal(plan->n_stages * plan->n_chunks, 3);
        assert_memory_equal(plan->layers, layers, sizeof layers);
        assert_memory_equal(plan->select, layers, sizeof layers);
        ek_strategies_clear(&strategies);
    }
}

static void the_json_form_names_schedule_and_pieces(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\": 1, \"schedule\": \"zb-v\", \"plan\": {\"layers\": [[1, 2], [3, 4]]}, \"cases\": [{\"seq\": 4, "
        "\"schedule\": \"sequence\", \"plan\": {\"layers\": [[5, 5]]}}, {\"plan\": {\"layers\": [[5, 5]]}}]}";
    ek_strategies strategies;
    ek_error err = {0};
    assert_int_equal(read_without_model(text, &strategies, &err), EK_OK);
    assert_int_equal(strategies.n, 3);
    assert_ptr_equal(strategies.strategy[0].schedule, ek_schedule_find("zb-v"));
    assert_int_equal(strategies.strategy[0].n_pieces, 0);
    assert_ptr_equal(strategies.strategy[1].schedule, ek_schedule_find("sequence"));
    assert_int_equal(strategies.strategy[1].n_pieces, 4);
    assert_null(strategies.strategy[2].schedule);
    ek_strategies_clear(&strategies);
    assert_int_equal(
        read_without_model("{\"version\": 1, \"plan\": {\"layers\": [1]}, \"schedule\": \"zb-w\"}", &strategies, &err),
        EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "is 'zb-w', which is no schedule"));
    assert_int_equal(err.column, 53);
}

static void without_a_model_or_counts_the_number_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        int line, column;
    } cases[] = {
        {"a: {offset: [0, 0]}", "give the model (--init FILE or --layers FILE) or --num-layers N", 1, 1},
        {"a: {layers: 7, offset: [0, 0]}", "no plan has a list `layers`", 1, 1},
        {"a:\n  layers: [0, 0]", "adds up to 0 layers; a model has 1 to 4096", 2, 11},
        {"a:\n  layers: [4000, 97]", "adds up to 4097 layers", 2, 11},
        {"a:\n  layers: [2147483647, 2147483647, -2147483647, -2147483643]", "is 2147483647", 2, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_strategies strategies = {0};
        ek_error err = {0};
        assert_int_equal(read_without_model(cases[i].text, &strategies, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s\n%d:%d: %s", cases[i].text, err.line, err.column, err.message);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
        assert_null(strategies.strategy);
    }
}

/* The lines of a log; every list stays on its line. */
static void logs_keep_their_lists_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *what, *log, *kept;
    } cases[] = {
        {"the original's log",
         "INFO a: [1]\n\nTo put in yaml configuration:\n\toffset: [[0, 1]]\n\trecompute: [[0, 0]]\nx\n",
         "\n\nlog-1:\n offset: [[0, 1]]\n recompute: [[0, 0]]\n\n"},
        {"our output, with the line of the bubble",
         "To put in yaml configuration:\n  offset: [[0, 1]]\n--- pp: 2, vp: 1, micro: 16 ---\n--- pp: 2, vp: 1, micro: "
         "8\n",
         "log-1:\n  offset: [[0, 1]]\n  micro_batch_num: 16\n\n"},
        {"line ends of Windows, no indent, no end",
         "To put in yaml configuration:\r\noffset: [[0, 1]]\r\nrecompute: false",
         "log-1:\n offset: [[0, 1]]\n recompute: false\n"},
        {"two blocks, a list apart and a key without a list",
         "x To put in yaml configuration:\n offset: [[0]]\n\n recompute: [[1]]\nTo put in yaml configuration:\n "
         "offset: "
         "[[0]]\n recompute: none\n select_recompute: [[1]]\n",
         "log-1:\n offset: [[0]]\n\n\nlog-2:\n offset: [[0]]\n\n\n"},
        {"a comment is no heading", "# To put in yaml configuration:\noffset: [[0]]\n", NULL},
        {"a plan file", "a:\n  offset: [[0, 1]]\n", NULL},
        {"nothing", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *kept = NULL;
        size_t size, n = strlen(cases[i].log);
        ek_error err = {0};
        if (ek__is_balancer_log(cases[i].log, n) != (cases[i].kept != NULL))
            fail_msg("%s", cases[i].what);
        if (!cases[i].kept)
            continue;
        assert_int_equal(ek__balancer_log_lists("log", cases[i].log, n, &kept, &size, &err), EK_OK);
        assert_int_equal(size, strlen(cases[i].kept));
        if (strcmp(kept, cases[i].kept) != 0)
            fail_msg("%s:\n%s", cases[i].what, kept);
        free(kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_keep_their_lists_and_nothing_else),
        cmocka_unit_test(one_plan_is_read_in_every_shorthand),
        cmocka_unit_test(options_are_read_and_have_defaults),
        cmocka_unit_test(json_cases_follow_the_plan_at_the_top),
        cmocka_unit_test(the_published_answer_is_a_plan_of_its_model),
        cmocka_unit_test(outputs_stay_untouched_on_failure),
        cmocka_unit_test(without_a_model_the_file_says_how_many_layers_there_are),
        cmocka_unit_test(the_json_form_names_schedule_and_pieces),
        cmocka_unit_test(without_a_model_or_counts_the_number_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
