/* Tests the text and the picture of a sweep, with bounds and with values that have no plan. */
#include "report_fixture.h"

#include <jansson.h>
#include <math.h>

#include "described.h"
#include "evenkeel/layers.h"
#include "evenkeel/report.h"
#include "evenkeel/sweep.h"
#include "figures/balance_figures.h"
#include "report/report_internal.h"
#include "report/writers.h"

static ek_layers layers = {.name = "A & B", .n_layers = 4};
static const ek_sweep_key memory = {"mem", "memory limit of a stage, MB"};

enum { N_ROWS = 4 };
static ek_sweep_row rows[N_ROWS];
static const ek_sweep sweep = {&layers, &memory, "2 stages", N_ROWS, rows};

static int fill(void **state)
{
    (void)state;
    ek_error err;
    ek_sweep_row none = {.step_time = INFINITY, .lower_bound = NAN, .smallest_limit_mb = NAN};
    for (int i = 0; i < N_ROWS; i++) {
        rows[i] = none;
        rows[i].value = 1000 * (i + 1);
    }
    snprintf(rows[0].impossible, sizeof rows[0].impossible, "no <such> thing");
    rows[1].status = EK_BALANCE_INFEASIBLE;
    rows[1].smallest_limit_mb = 2000.5;
    for (int i = 2; i < N_ROWS; i++) {
        if (ek_plan_init(&rows[i].plan, 2, 1, &err))
            return 1;
        rows[i].plan.layers[0] = rows[i].plan.layers[1] = 2;
        rows[i].status = EK_BALANCE_FEASIBLE;
        rows[i].step_time = 110 - i;
        rows[i].lower_bound = 105 - i;
        rows[i].peak_memory_mb = rows[i].value - 1;
    }
    return 0;
}

static int empty(void **state)
{
    (void)state;
    for (int i = 0; i < N_ROWS; i++)
        ek_plan_clear(&rows[i].plan);
    return 0;
}

/* Freed by the caller. */
static char *printed(ek_status (*write)(const ek_sweep *, FILE *, ek_error *))
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(write(&sweep, out, &err), EK_OK);
    fclose(out);
    return text;
}

static void contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text ? text : "nothing");
}

static void the_table_has_gaps_and_reasons(void **state)
{
    (void)state;
    char *text = printed(ek__sweep_write_text);
    contains(text, "      1000  not possible: no <such> thing\n");
    contains(text, "      2000  nothing fits; 2001 MB would\n");
    contains(text, "      3000         108           -       2999      0          103   4.85 %  feasible\n");
    contains(text, "      4000         107     -0.93 %       3999      0          102   4.90 %  feasible\n");
    free(text);
}

static void json_has_null_for_what_is_not_there(void **state)
{
    (void)state;
    char *text = printed(ek__sweep_write_json);
    check_described(&ek__sweep_answer, text, true);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    json_t *list = json_object_get(root, "sweep"), *first = json_array_get(list, 0), *last = json_array_get(list, 3);
    assert_int_equal(json_array_size(list), N_ROWS);
    assert_string_equal(json_string_value(json_object_get(root, "swept")), "mem");
    assert_true(json_is_null(json_object_get(first, "status")));
    assert_true(json_is_null(json_object_get(first, "step_time")));
    assert_string_equal(json_string_value(json_object_get(first, "impossible")), "no <such> thing");
    assert_true(json_number_value(json_object_get(json_array_get(list, 1), "smallest_limit_mb")) == 2000.5);
    assert_true(json_number_value(json_object_get(last, "gap")) == 107.0 / 102 - 1);
    assert_int_equal(json_array_size(json_object_get(json_object_get(last, "plan"), "layers")), 1);
    json_decref(root);
    free(text);
}

static void the_picture_marks_bounds_and_gaps(void **state)
{
    (void)state;
    char *text = printed(ek__svg_sweep_write);
    contains(text, "A &amp; B: step time over memory limit of a stage, MB");
    contains(text, "no &lt;such&gt; thing");
    contains(text, "lower bound on any plan");
    contains(text, "no plan fits, or none is possible");
    contains(text, "<title>4000: step 107, peak 3 999 MB at stage 0, feasible</title>");
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    /* A plan that is proved is a filled mark, one that is not a hollow one, and each is in the legend. */
    rows[2].status = EK_BALANCE_OPTIMAL;
    rows[3].status = EK_BALANCE_TIME_LIMIT;
    text = printed(ek__svg_sweep_write);
    contains(text, "<circle class=\"f0\" cx=\"1050\"");
    contains(text, "<circle class=\"page sf0\" cx=\"1496\"");
    contains(text, "simulated step, proved optimal</text>");
    contains(text, "simulated step, not proved optimal</text>");
    free(text);
    /* Nothing to draw but the marks. */
    ek_sweep few = sweep;
    few.n = 2;
    char *memory_text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&memory_text, &size);
    assert_int_equal(ek__svg_sweep_write(&few, out, &err), EK_OK);
    few.n = 0;
    assert_int_equal(ek__svg_sweep_write(&few, out, &err), EK_ERR_INPUT);
    fclose(out);
    assert_null(strstr(memory_text, "nan"));
    free(memory_text);
}

static void assert_picture(const ek_sweep *drawn, const char *golden)
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__svg_sweep_write(drawn, out, &err), EK_OK);
    fclose(out);
    assert_golden(golden, text);
    free(text);
}

/* Steps of about the same length, with an axis that begins above 0; and steps that grow tenfold, proved, with values so
 * close that labels would touch. All are sums of powers of two. */
static void pictures_match_golden(void **state)
{
    enum { MANY = 9 };
    ek_sweep_row many[MANY];
    (void)state;
    assert_picture(&sweep, "sweep_gaps.svg");
    for (int i = 0; i < MANY; i++)
        many[i] = (ek_sweep_row){.value = i < MANY - 1 ? 20000 + 512 * i : 32768,
                                 .status = i == 6 ? EK_BALANCE_INFEASIBLE : EK_BALANCE_OPTIMAL,
                                 .step_time = i == 6 ? INFINITY : 1 + 1.25 * i,
                                 .lower_bound = i == 6 ? NAN : 1 + 1.25 * i,
                                 .smallest_limit_mb = NAN,
                                 .peak_memory_mb = 12345,
                                 .peak_stage = i % 4};
    ek_sweep rising = sweep;
    rising.n = MANY;
    rising.row = many;
    assert_picture(&rising, "sweep_rising.svg");
    rising.n = 1; /* one value has no span */
    assert_picture(&rising, "sweep_one.svg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_table_has_gaps_and_reasons, fill, empty),
        cmocka_unit_test_setup_teardown(json_has_null_for_what_is_not_there, fill, empty),
        cmocka_unit_test_setup_teardown(the_picture_marks_bounds_and_gaps, fill, empty),
        cmocka_unit_test_setup_teardown(pictures_match_golden, fill, empty),
    };
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
