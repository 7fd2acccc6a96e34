/* Tests layer files and times: the rules for times, modelled kinds of recomputation, several kinds of body, writing and
 * reading again. Refused files are in tests/data/bad. */
#include "input.h"

#include <math.h>

#include "layers/layers.h"

static void read_text(const char *text, const ek_times *times, ek_layers *layers, said *s)
{
    ek__config_tree *doc;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    if (ek__config_parse_buffer("layers", text, strlen(text), &doc, &err) ||
        ek__layers_from_config(doc, times, s ? &listener : NULL, layers, &err))
        fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.message);
    ek__config_free(doc);
}

static void read_body(const char *fields, const ek_times *times, ek_layers *layers, said *s)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"name\": \"m\", \"stage_const_mem\": -7, \"layers_description\": ["
             "{\"type\": \"HEAD\", \"time\": 1, \"memory_parameter\": 50, \"memory_activation\": 3},"
             "{\"type\": \"BODY\", \"nb_layer\": 4, \"memory_parameter\": 100, \"memory_activation\": 50, "
             "\"memory_recompute\": 10, %s},"
             "{\"type\": \"TAIL\", \"time\": 5, \"memory_parameter\": 60}]}",
             fields);
    read_text(text, times, layers, s);
}

static void backward_times_follow_the_rule(void **state)
{
    (void)state;
    static const ek_times none = {NAN, NAN, NAN}, body20 = {NAN, 20, NAN};
    static const struct {
        const char *what, *fields;
        const ek_times *times;
        double forward, none, select, full;
        int n_warnings;
    } cases[] = {
        {"defaults", "\"time\": 10", NULL, 10, 20, 20.8, 30, 0},
        {"forward_time wins over time", "\"time\": 1, \"forward_time\": 10", &none, 10, 20, 20.8, 30, 0},
        {"backward_coef", "\"time\": 10, \"backward_coef\": 0.5", NULL, 10, 30, 31.2, 45, 0},
        {"own coefficients", "\"time\": 10, \"select_rec_coef\": 0.1, \"recompute_coef\": 0.25", NULL, 10, 20, 22, 25,
         0},
        {"own backward time", "\"time\": 10, \"backward_time\": 24", NULL, 10, 24, 24.96, 36, 0},
        {"own times per kind", "\"time\": 10, \"backward_time\": 24, \"recompute_time\": 33", NULL, 10, 24, 24.96, 33,
         0},
        {"--time alone", "\"nb_layer_\": 0", &body20, 20, 40, 41.6, 60, 1},
        {"--time keeps coefficients", "\"time\": 10, \"recompute_coef\": 0.25", &body20, 20, 40, 41.6, 50, 0},
        {"--time replaces measured times", "\"time\": 10, \"backward_time\": 24", &body20, 20, 40, 41.6, 60, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_layers layers;
        said s = {{0}, 0, 0};
        read_body(cases[i].fields, cases[i].times, &layers, &s);
        const ek_layer *body = &layers.body[0];
        if (body->forward_time != cases[i].forward || fabs(body->backward_time[0] - cases[i].none) > 1e-12 ||
            fabs(body->backward_time[1] - cases[i].select) > 1e-12 ||
            fabs(body->backward_time[4] - cases[i].full) > 1e-12)
            fail_msg("%s: %g %g %g %g", cases[i].what, body->forward_time, body->backward_time[0],
                     body->backward_time[1], body->backward_time[4]);
        if (s.n_warnings != cases[i].n_warnings)
            fail_msg("%s: %s", cases[i].what, s.text);
        ek_layers_clear(&layers);
    }
}

static void only_kinds_with_positive_memory_are_modelled(void **state)
{
    (void)state;
    ek_layers layers;
    read_body("\"time\": 1, \"memory_select_rec\": 0, \"memory_select_comm\": null, \"memory_both_comm_select\": 0.5",
              NULL, &layers, NULL);
    static const bool expected[EK_N_RECOMPUTE] = {true, false, false, true, true};
    assert_memory_equal(layers.modelled, expected, sizeof expected);
    assert_memory_equal(layers.body[0].modelled, expected, sizeof expected);
    assert_true(layers.head.activation_mb[EK_RECOMPUTE_NONE] == 3);
    assert_true(layers.const_mb == -7);
    assert_int_equal(layers.fit.n_residuals, 0);
    ek_layers_clear(&layers);
}

static void heads_and_tails_are_summed_and_bodies_follow_in_order(void **state)
{
    (void)state;
    static const char text[] =
        "{\"layers_description\": ["
        "{\"type\": \"TAIL\", \"time\": 2, \"memory_parameter\": 5},"
        "{\"name\": \"vit\", \"type\": \"BODY\", \"time\": 3, \"nb_layer\": 4, \"memory_parameter\": 1, "
        "\"memory_activation\": 1},"
        "{\"name\": \"patch\", \"type\": \"HEAD\", \"time\": 1, \"nb_layer\": 3, \"memory_parameter\": 10},"
        "{\"name\": \"words\", \"type\": \"HEAD\", \"time\": 4, \"memory_parameter\": 20, \"memory_activation\": 2},"
        "{\"name\": \"llm\", \"type\": \"BODY\", \"time\": 9, \"nb_layer\": 8, \"memory_parameter\": 2, "
        "\"memory_activation\": 2},"
        "{\"type\": \"TAIL\", \"time\": 6, \"memory_parameter\": 7}]}";
    ek_layers layers;
    read_text(text, NULL, &layers, NULL);
    assert_int_equal(layers.n_body, 2);
    assert_int_equal(layers.n_layers, 12);
    assert_string_equal(layers.body[0].name, "vit");
    assert_string_equal(layers.body[1].name, "llm");
    assert_string_equal(layers.head.name, "patch");
    assert_int_equal(layers.head.n_layers, 1);
    assert_true(layers.head.forward_time == 7 && layers.head.backward_time[0] == 14);
    assert_true(layers.head.parameter_mb == 50 && layers.head.activation_mb[0] == 2);
    assert_true(layers.tail.forward_time == 8 && layers.tail.parameter_mb == 12);
    ek_layers_clear(&layers);

    const ek_times given = {100, 10, 50};
    read_text(text, &given, &layers, NULL);
    assert_true(layers.head.forward_time == 100 && fabs(layers.head.backward_time[0] - 200) < 1e-9);
    assert_true(layers.tail.forward_time == 50 && layers.body[0].forward_time == 10 &&
                layers.body[1].forward_time == 10);
    ek_layers_clear(&layers);
}

static void a_missing_head_costs_nothing_but_its_given_time(void **state)
{
    (void)state;
    said s = {{0}, 0, 0};
    const ek_times given = {3, NAN, NAN};
    ek_layers layers;
    read_text("{\"layers_description\": [{\"type\": \"BODY\", \"time\": 3, \"nb_layer\": 4, \"memory_parameter\": 1, "
              "\"memory_activation\": 1}]}",
              &given, &layers, &s);
    assert_int_equal(s.n_warnings, 2);
    assert_true(layers.head.forward_time == 3 && layers.head.backward_time[0] == 6 && layers.head.parameter_mb == 0);
    assert_true(layers.tail.forward_time == 0);
    ek_layers_clear(&layers);
}

static void check_same_layer(const ek_layer *a, const ek_layer *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_true(a->forward_time == b->forward_time && a->parameter_mb == b->parameter_mb);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        assert_int_equal(a->modelled[k], b->modelled[k]);
        assert_true(!a->modelled[k] ||
                    (a->backward_time[k] == b->backward_time[k] && a->activation_mb[k] == b->activation_mb[k]));
    }
}

static void what_is_written_reads_back_to_the_same_figures(void **state)
{
    (void)state;
    ek_layers layers, again;
    const ek_times odd = {0.1, 1.0 / 3.0, 3.1357};
    read_body("\"name\": \"a \\\"quoted\\\" \\\\ name \\u4e2d\", \"time\": 1, \"memory_select_rec\": 1e-3", &odd,
              &layers, NULL);
    layers.body[0].parameter_mb = 0.1 + 0.2;
    char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    ek_error err = {0};
    assert_int_equal(ek_layers_write(&layers, out, &err), EK_OK);
    fclose(out);
    assert_non_null(strstr(text, "\"time\": 0.1,"));
    assert_non_null(strstr(text, "0.30000000000000004"));
    said s = {{0}, 0, 0};
    read_text(text, NULL, &again, &s);
    assert_string_equal(s.text, "");
    check_same_layer(&layers.head, &again.head);
    check_same_layer(&layers.body[0], &again.body[0]);
    check_same_layer(&layers.tail, &again.tail);
    assert_string_equal(layers.name, again.name);
    assert_true(layers.const_mb == again.const_mb);
    ek_layers_clear(&layers);
    ek_layers_clear(&again);
}

static void the_backward_splits_as_given_or_in_half(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        double body_override, backward, full, weight;
        bool known;
    } cases[] = {
        {"\"time\": 3", NAN, 6, 9, 3, false},
        {"\"time\": 3, \"backward_time\": 8", NAN, 8, 12, 4, false},
        {"\"time\": 3, \"backward_input_time\": 4, \"backward_weight_time\": 3", NAN, 7, 10.5, 3, true},
        {"\"time\": 3, \"backward_time\": 7, \"backward_input_time\": 4, \"backward_weight_time\": 3", NAN, 7, 10.5, 3,
         true},
        {"\"time\": 3, \"backward_input_time\": 4, \"backward_weight_time\": 3", 5, 10, 15, 5, false},
        /* a kind stated shorter than the gradient of the weights, which is a part of it */
        {"\"time\": 3, \"backward_time\": 8, \"recompute_time\": 2", NAN, 8, 2, 2, false},
        {"\"time\": 3, \"backward_input_time\": 4, \"backward_weight_time\": 3, \"recompute_time\": 1", NAN, 7, 1, 1,
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        ek_layers layers, again;
        const ek_times times = {NAN, cases[i].body_override, NAN};
        snprintf(text, sizeof text,
                 "{\"layers_description\": [{\"type\": \"HEAD\", \"time\": 0, \"memory_parameter\": 1},"
                 "{\"type\": \"BODY\", \"nb_layer\": 2, \"memory_parameter\": 1, \"memory_activation\": 1, "
                 "\"memory_recompute\": 1, %s}, {\"type\": \"TAIL\", \"time\": 0, \"memory_parameter\": 1}]}",
                 cases[i].fields);
        said s = {{0}, 0, 0};
        read_text(text, &times, &layers, &s);
        assert_true(layers.body[0].backward_time[EK_RECOMPUTE_NONE] == cases[i].backward);
        assert_true(layers.body[0].backward_time[EK_RECOMPUTE_FULL] == cases[i].full);
        assert_true(layers.body[0].weight_time == cases[i].weight);
        assert_int_equal(layers.split_known, cases[i].known);
        /* known values are written and read back */
        char copy[4096];
        FILE *out = fmemopen(copy, sizeof copy, "w");
        assert_int_equal(ek_layers_write(&layers, out, NULL), EK_OK);
        fclose(out);
        read_text(copy, NULL, &again, NULL);
        check_same_layer(&layers.body[0], &again.body[0]);
        assert_true(again.body[0].weight_time == layers.body[0].weight_time);
        assert_int_equal(again.split_known, layers.split_known);
        ek_layers_clear(&layers);
        ek_layers_clear(&again);
    }
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    ek_layers layers;
    ek_error err = {0};
    read_body("\"time\": 1", NULL, &layers, NULL);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        assert_int_equal(ek_layers_write(&layers, full, &err), EK_ERR_SYSTEM);
        assert_string_equal(err.message, "the layer file cannot be written: No space left on device");
        fclose(full);
    }
    ek_layers_clear(&layers);
}

static void times_parse_in_any_order_and_subset(void **state)
{
    (void)state;
    ek_times t;
    assert_int_equal(ek_times_parse("head=0.1,body=3.1,tail=3.5", &t, NULL), EK_OK);
    assert_true(t.head == 0.1 && t.body == 3.1 && t.tail == 3.5);
    assert_int_equal(ek_times_parse("tail=0,body=1e2", &t, NULL), EK_OK);
    assert_true(isnan(t.head) && t.body == 100 && t.tail == 0);
    assert_int_equal(ek_times_parse("tail=1,tail=2", &t, NULL), EK_ERR_INPUT);
    assert_true(t.tail == 0);
}

static void names_and_coefficients_are_those_of_the_kinds(void **state)
{
    (void)state;
    assert_string_equal(ek_recompute_name[EK_RECOMPUTE_BOTH], "both");
    assert_true(ek_recompute_coefficient[EK_RECOMPUTE_FULL] == 0.5);
    assert_true(ek_recompute_coefficient[EK_RECOMPUTE_NONE] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_times_follow_the_rule),
        cmocka_unit_test(only_kinds_with_positive_memory_are_modelled),
        cmocka_unit_test(heads_and_tails_are_summed_and_bodies_follow_in_order),
        cmocka_unit_test(a_missing_head_costs_nothing_but_its_given_time),
        cmocka_unit_test(what_is_written_reads_back_to_the_same_figures),
        cmocka_unit_test(the_backward_splits_as_given_or_in_half),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(times_parse_in_any_order_and_subset),
        cmocka_unit_test(names_and_coefficients_are_those_of_the_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
