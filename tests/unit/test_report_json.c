/* Tests the JSON contract: every figure equals the struct's, and is null where there is no number. */
#include "described.h"
#include "evenkeel/balance.h"
#include "figures/balance_figures.h"
#include "report_fixture.h"

#include <jansson.h>
#include <math.h>

#include "report/report_internal.h"
#include "report/writers.h"

static json_t *parsed(const ek_report *report)
{
    char *text = written(report, ek__balance_write_json, NULL, 0);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s in\n%s", error.line, error.text, text);
    if (json_is_object(root))
        check_described(ek__result_balance.fields, text, true);
    free(text);
    return root;
}

static void assert_number(const json_t *object, const char *key, double want)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) || fabs(json_number_value(value) - want) > 1e-13 * fabs(want))
        fail_msg("%s is %.17g, not %.17g", key, json_number_value(value), want);
}

static void assert_json_null(const json_t *object, const char *key)
{
    if (!json_is_null(json_object_get(object, key)))
        fail_msg("%s is not null", key);
}

static void assert_matrix(const json_t *plan, const char *key, const ek_plan *want, const int *values, int base)
{
    const json_t *rows = json_object_get(plan, key);
    assert_int_equal(json_array_size(rows), want->n_chunks);
    for (int i = 0; i < want->n_chunks; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        assert_int_equal(json_array_size(row), want->n_stages);
        for (int s = 0; s < want->n_stages; s++)
            assert_int_equal(json_integer_value(json_array_get(row, (size_t)s)), values[i * want->n_stages + s] - base);
    }
}

static void assert_case(const json_t *object, const ek_case *c, int n_layers, double limit)
{
    const ek_timeline *t = c->timeline;
    const json_t *bubble = json_object_get(object, "bubble"), *shape = json_object_get(object, "shape");
    const json_t *stages = json_object_get(object, "stages"), *plan = json_object_get(object, "plan");
    assert_string_equal(json_string_value(json_object_get(object, "name")), c->name);
    assert_string_equal(json_string_value(json_object_get(object, "schedule")), t->schedule->name);
    assert_number(object, "step_time", t->step_time);
    assert_number(bubble, "real", t->bubble.real);
    assert_number(bubble, "ideal", t->bubble.ideal);
    assert_number(bubble, "imba", t->bubble.imba);
    assert_number(bubble, "recompute", t->bubble.recompute);
    assert_number(shape, "stages", t->shape.n_stages);
    assert_number(shape, "chunks", t->shape.n_chunks);
    assert_number(shape, "micro_batches", t->shape.n_micro_batches);
    assert_int_equal(json_array_size(stages), t->shape.n_stages);
    for (int s = 0; s < t->shape.n_stages; s++) {
        const json_t *stage = json_array_get(stages, (size_t)s);
        int layers = 0;
        for (int i = 0; i < t->shape.n_chunks; i++)
            layers += c->plan->layers[i * t->shape.n_stages + s];
        assert_number(stage, "layers", layers);
        assert_number(stage, "peak_memory_mb", t->peak_mb[s]);
        assert_number(stage, "busy", t->busy[s]);
        if (limit > 0)
            assert_number(stage, "headroom_mb", limit - t->peak_mb[s]);
        else
            assert_json_null(stage, "headroom_mb");
    }
    assert_matrix(plan, "layers", c->plan, c->plan->layers, 0);
    assert_matrix(plan, "offset", c->plan, c->plan->layers, n_layers / (t->shape.n_stages * t->shape.n_chunks));
    assert_matrix(plan, "recompute", c->plan, c->plan->full, 0);
    assert_matrix(plan, "select_recompute", c->plan, c->plan->select, 0);
    assert_matrix(plan, "select_comm_recompute", c->plan, c->plan->comm, 0);
}

static void balance_equals_the_structs(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 17);
    fixture_add(&f, "result", (ek_shape){4, 2, 8, 0}, 1, EK_RECOMPUTE_BOTH);
    fixture_add(&f, "naive_no_recomp", (ek_shape){4, 2, 8, 0}, 1, EK_RECOMPUTE_NONE);
    ek_balance_result search = {.status = EK_BALANCE_FEASIBLE, .seconds = 0.75, .lower_bound = 7.5, .gap = 0.0625};
    ek_report report = fixture_report(&f, 7000, &search);
    json_t *root = parsed(&report);
    const json_t *cases = json_object_get(root, "cases"), *model = json_object_get(root, "memory_model");
    assert_number(root, "version", 1);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "feasible");
    assert_number(root, "solve_seconds", 0.75);
    assert_number(root, "lower_bound", 7.5);
    assert_number(root, "gap", 0.0625);
    assert_true(json_is_false(json_object_get(root, "proved_optimal")));
    assert_number(root, "memory_limit_mb", 7000);
    assert_case(root, &f.cases[0], 17, 7000);
    assert_int_equal(json_array_size(cases), 1);
    assert_case(json_array_get(cases, 0), &f.cases[1], 17, 7000);

    const json_t *activation = json_object_get(model, "activation_mb"),
                 *residual = json_object_get(model, "residual_mb");
    assert_number(model, "parameter_mb", 512);
    assert_number(activation, "none", 256);
    assert_number(activation, "both", 128);
    assert_json_null(activation, "comm");
    assert_number(model, "const_mb", 128);
    assert_number(model, "head_mb", 640);
    assert_number(model, "tail_mb", 704);
    assert_number(model, "condition", 42.5);
    assert_true(json_number_value(json_array_get(residual, 0)) == -0.25);
    assert_true(json_number_value(json_array_get(residual, 1)) == 2.5);
    json_decref(root);
    fixture_clear(&f);
}

static void golden_balance(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 9);
    fixture_add(&f, "result", (ek_shape){4, 1, 6, 0}, 0, EK_RECOMPUTE_SELECT);
    double step = f.timeline[0].step_time;
    ek_balance_result search = {
        .status = EK_BALANCE_OPTIMAL, .seconds = 1.25, .lower_bound = step, .proved_optimal = true};
    ek_report report = fixture_report(&f, 5000, &search);
    char *text = written(&report, ek__balance_write_json, NULL, 0);
    assert_golden("report_one.json", text);
    free(text);
    fixture_clear(&f);
}

static void simulate_has_no_search(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    f.layers.fit = (ek_memory_fit){0};
    fixture_add(&f, "manual1", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    json_t *root = parsed(&report);
    assert_case(root, &f.cases[0], 8, 0);
    assert_json_null(json_object_get(root, "memory_model"), "condition");
    assert_json_null(root, "memory_limit_mb");
    assert_json_null(root, "fits");
    assert_ptr_equal(json_object_get(root, "status"), NULL);
    assert_ptr_equal(json_object_get(root, "solve_seconds"), NULL);
    json_decref(root);
    fixture_clear(&f);
}

static void a_list_holds_every_case(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "one", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 9000, NULL);
    report.list = true;
    json_t *root = parsed(&report);
    assert_int_equal(json_array_size(root), 1);
    json_decref(root);
    fixture_add(&f, "two", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_FULL);
    report.n_cases = 2;
    root = parsed(&report);
    assert_int_equal(json_array_size(root), 2);
    for (int i = 0; i < 2; i++) {
        const json_t *entry = json_array_get(root, (size_t)i);
        assert_number(entry, "version", 1);
        assert_case(entry, &f.cases[i], 8, 9000);
        assert_int_equal(json_is_object(json_object_get(entry, "memory_model")), 1);
        assert_ptr_equal(json_object_get(entry, "cases"), NULL);
    }
    json_decref(root);
    fixture_clear(&f);
}

static void infeasible_holds_the_smallest_limit(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    ek_balance_result search = {.status = EK_BALANCE_INFEASIBLE,
                                .seconds = 2,
                                .smallest_limit_mb = 4100.5,
                                .smallest_limit_exact = true,
                                .bottleneck_stage = 3};
    ek_report report = fixture_report(&f, 3000, &search);
    json_t *root = parsed(&report);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "infeasible");
    assert_json_null(root, "step_time");
    assert_number(root, "smallest_limit_mb", 4100.5);
    assert_true(json_is_true(json_object_get(root, "smallest_limit_exact")));
    assert_number(root, "bottleneck_stage", 3);
    assert_json_null(root, "fit_plan");
    assert_non_null(json_object_get(root, "memory_model"));
    json_decref(root);
    search.smallest_limit_mb = INFINITY;
    root = parsed(&report);
    assert_json_null(root, "smallest_limit_mb");
    json_decref(root);
}

static void several_body_kinds_are_listed(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "mixed", 8);
    f.body[0].n_layers = 3;
    f.body[1].n_layers = 5;
    f.layers.n_body = 2;
    fixture_add(&f, "one", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    json_t *root = parsed(&report);
    const json_t *model = json_object_get(root, "memory_model"), *body = json_object_get(model, "body");
    assert_number(model, "parameter_mb", 512);
    assert_int_equal(json_array_size(body), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(body, 1), "name")), "MoE");
    assert_number(json_array_get(body, 1), "n_layers", 5);
    assert_number(json_array_get(body, 1), "parameter_mb", 1024);
    assert_number(json_object_get(json_array_get(body, 1), "activation_mb"), "full", 16);
    json_decref(root);
    fixture_clear(&f);
}

static void names_of_any_bytes_stay_valid(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "cut \xe6\x89", 8);
    fixture_add(&f, "a \"quoted\" \\ name\n手工", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    json_t *root = parsed(&report);
    assert_string_equal(json_string_value(json_object_get(root, "name")), f.cases[0].name);
    assert_string_equal(json_string_value(json_object_get(root, "model")), "cut \xef\xbf\xbd\xef\xbf\xbd");
    json_decref(root);
    fixture_clear(&f);
}

static ek_status write_schedules(const void *nothing, FILE *out, ek_error *err)
{
    (void)nothing;
    return ek__schedules_write_json(out, err);
}

static void schedules_are_described(void **state)
{
    (void)state;
    CHECK_WRITTEN(&ek__schedules_answer, write_schedules, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"balance equals the structs' figures", balance_equals_the_structs, NULL, NULL, NULL},
        {"balance matches its golden file", golden_balance, NULL, NULL, NULL},
        {"simulate prints the same without a search", simulate_has_no_search, NULL, NULL, NULL},
        {"a list holds every case", a_list_holds_every_case, NULL, NULL, NULL},
        {"an infeasible answer holds the smallest limit", infeasible_holds_the_smallest_limit, NULL, NULL, NULL},
        {"several kinds of body layer are listed", several_body_kinds_are_listed, NULL, NULL, NULL},
        {"the list of schedules is as described", schedules_are_described, NULL, NULL, NULL},
        {"names of any bytes stay valid JSON", names_of_any_bytes_stay_valid, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
