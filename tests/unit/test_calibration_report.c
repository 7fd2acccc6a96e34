/* Tests a calibration as a table, a picture and a page: figures made by hand are read back from their places in the
 * drawing. */
#include "assert_close.h"
#include "described.h"
#include "evenkeel/calibration.h"
#include "evenkeel/view.h"
#include "figures/results.h"
#include "golden_page.h"
#include "report/writers.h"
#include "report_fixture.h"
#include "view/view.h"
#include <jansson.h>
#include <math.h>

typedef ek_status (*writer)(const ek_calibration *, FILE *, ek_error *);

/* Three runs of every use, of which one is far off at the start; two constants, one of them determined. */
typedef struct made {
    ek_calibration c;
    ek_calibrated_run run[4];
    ek_calibrated_constant constant[2];
} made;

static void make(made *m)
{
    *m = (made){.c = {.n_runs = 4,
                      .n_groups = 2,
                      .n_used = 2,
                      .n_held = 1,
                      .n_left = 1,
                      .n_constants = 2,
                      .before = {2, 0.75, 0.75, 1.5, 0.75},
                      .fit = {2, 0.025, 0.025, 0.05, 0},
                      .leave_one_out = {2, 0.05, 0.05, 0.1, 0},
                      .leave_group_out = {2, 0.1, 0.1, 0.2, 0},
                      .held_before = {1, 0.5, 0.5, 0.5, 0.5},
                      .held = {1, 0.1, 0.1, 0.1, -0.1}}};
    m->c.run = m->run;
    m->c.constant = m->constant;
    snprintf(m->c.device.name, sizeof m->c.device.name, "A <fast> one");
    snprintf(m->c.start, sizeof m->c.start, "A100-80");
    m->run[0] = (ek_calibrated_run){.name = "d8 \"t1\", p1",
                                    .group = "one",
                                    .file = "runs.csv",
                                    .line = 2,
                                    .measured = 1,
                                    .before = 1,
                                    .after = 1.05,
                                    .left_out = 1.1,
                                    .group_out = 1.2,
                                    .weight = 1,
                                    .used = true};
    m->run[1] = (ek_calibrated_run){.name = "d4 t2",
                                    .group = "two",
                                    .file = "runs.csv",
                                    .line = 3,
                                    .measured = 4,
                                    .before = 10,
                                    .after = 4,
                                    .left_out = 4,
                                    .group_out = 4,
                                    .weight = 0.5,
                                    .used = true};
    m->run[2] = (ek_calibrated_run){.name = "d2 t4",
                                    .group = "three",
                                    .file = "runs.csv",
                                    .line = 4,
                                    .measured = 2,
                                    .before = 3,
                                    .after = 1.8,
                                    .left_out = NAN,
                                    .group_out = NAN,
                                    .held = true};
    m->run[3] = (ek_calibrated_run){.name = "d1 t8",
                                    .group = "four",
                                    .file = "runs.csv",
                                    .line = 5,
                                    .measured = NAN,
                                    .before = NAN,
                                    .after = NAN,
                                    .left_out = NAN,
                                    .group_out = NAN,
                                    .why = "no step time"};
    m->constant[0] = (ek_calibrated_constant){"curve.matmul.share", "", 0.8, 0.6, 0.05, EK_FIT_DETERMINED};
    m->constant[1] = (ek_calibrated_constant){"tier.0.start_us.p2p", "us", 3, 3, 1, EK_FIT_WIDE};
}

static char *text_of(const ek_calibration *c, writer write)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(write(c, out, &err), EK_OK);
    fclose(out);
    return text;
}

static void a_table_has_every_run_and_what_is_not_known_is_empty(void **state)
{
    (void)state;
    made m;
    make(&m);
    char *text = text_of(&m.c, ek__calibration_write_csv);
    assert_string_equal(
        text, "file,line,name,group,use,measured_s,start_s,predicted_s,left_out_s,group_left_out_s,weight,why\n"
              "runs.csv,2,\"d8 \"\"t1\"\", p1\",one,fitted,1,1,1.05,1.1,1.2,1,\n"
              "runs.csv,3,d4 t2,two,fitted,4,10,4,4,4,0.5,\n"
              "runs.csv,4,d2 t4,three,kept_back,2,3,1.8,,,,\n"
              "runs.csv,5,d1 t8,four,left_out,,,,,,,no step time\n");
    free(text);
}

static void json_has_every_figure(void **state)
{
    (void)state;
    struct ek_calibration_source source = {"runs.csv", EK_SOURCE_RUNS, 4};
    ek_calibrated_profile profile = {
        .path = "a.json", .n_ranks = 1, .n_shapes = {0, 3}, .launch_us = 5, .note = {"a", "b"}};
    made m;
    make(&m);
    m.c.source = &source;
    m.c.profile = &profile;
    m.c.n_sources = m.c.n_profiles = m.c.n_links = m.c.n_proposed = 1;
    m.c.has_kernels = true;
    m.c.kernels[0] = (ek_kernel_fit){2, 0.5, 0.75, true};
    char *text = text_of(&m.c, ek__calibration_write_json);
    check_described(ek__result_calibration.fields, text, true);
    assert_non_null(strstr(text, "\"fit\": {\"n\": 2, \"mean\": 0.025, "));
    assert_non_null(strstr(text, "\"kernels\": [\n    {\"kind\": \"matmul\", \"n\": 2, \"median_error\": 0.5, "));
    assert_non_null(strstr(text, "\"notes\": [\"a\", \"b\"]"));
    assert_non_null(strstr(text, "\"use\": \"left_out\", \"why\": \"no step time\", \"measured_s\": null"));
    free(text);
}

/* ---- the picture ---- */

/* The n-th circle of a style. @return false: there is none */
static bool circle(const char *text, const char *style, int n, double *x, double *y)
{
    char mark[40];
    snprintf(mark, sizeof mark, "<circle class=\"%s\"", style);
    for (const char *at = text; (at = strstr(at, mark)); at++)
        if (n-- == 0)
            return sscanf(at + strlen(mark), " cx=\"%lf\" cy=\"%lf\"", x, y) == 2;
    return false;
}

/* Places are logarithms of steps: the line of equal times gives their scale. */
static void points_stand_where_their_steps_say(void **state)
{
    (void)state;
    made m;
    make(&m);
    char *text = text_of(&m.c, ek__calibration_write_svg);
    double x[4], y[4], left, bottom, right, top;
    const char *even = strstr(text, "<path class=\"even\"");
    assert_non_null(even);
    assert_int_equal(sscanf(even, "<path class=\"even\" d=\"M%lf %lfL%lf %lf", &left, &bottom, &right, &top), 4);
    /* The first plot has two points of the fit and one of held-out runs. */
    assert_true(circle(text, "p1", 0, &x[0], &y[0]) && circle(text, "p1", 1, &x[1], &y[1]));
    assert_true(circle(text, "p3", 0, &x[2], &y[2]) && circle(text, "p0", 1, &x[3], &y[3]));
    const double per_e = (x[1] - x[0]) / log(4), up = -(bottom - top) / (right - left) * per_e;
    assert_close_to(x[2] - x[0], per_e * log(2), 0.02);
    assert_close_to(y[1] - y[0], up * log(4 / 1.05), 0.02);
    assert_close_to(y[2] - y[0], up * log(1.8 / 1.05), 0.02);
    assert_close_to(y[3] - y[1], up * log(10.0 / 4), 0.02);
    /* A run that is predicted exactly lies on the line. */
    assert_close_to((y[1] - bottom) / (top - bottom), (x[1] - left) / (right - left), 1e-4);
    free(text);
}

static void errors_are_drawn_but_those_of_a_start_far_off(void **state)
{
    (void)state;
    made m;
    make(&m);
    char *text = text_of(&m.c, ek__calibration_write_svg);
    const char *second = strstr(text, "Predicted less measured");
    double x, y[3];
    assert_non_null(second);
    /* After both plots' titles: of each kind the first plot's points, then the second's. */
    assert_true(circle(text, "p1", 2, &x, &y[0]) && circle(text, "p2", 2, &x, &y[1]) &&
                circle(text, "p3", 1, &x, &y[2]));
    assert_close_to((y[1] - y[0]) / (y[2] - y[0]), (20.0 - 5) / (-10.0 - 5), 1e-3);
    assert_non_null(strstr(text, "1 prediction of the start is further off than this axis goes"));
    assert_false(circle(text, "p0", 3, &x, y)); /* 1 s is predicted exactly and on both, 4 s only on the first */
    assert_non_null(strstr(text, "fit: 2, off by 2.5 % in the mean"));
    assert_non_null(strstr(text, "0.8 → 0.6 ± 0.05"));
    assert_non_null(strstr(text, "Calibration of A &lt;fast&gt; one"));
    assert_null(strstr(text, "tier.0.start_us.p2p"));
    free(text);
}

static void without_runs_there_are_links_and_kernels(void **state)
{
    (void)state;
    made m;
    make(&m);
    m.c.n_runs = m.c.n_used = m.c.n_held = m.c.n_left = m.c.n_constants = 0;
    m.c.device.n_tiers = 1;
    snprintf(m.c.device.tier[0].name, sizeof m.c.device.tier[0].name, "node");
    m.c.n_links = 1;
    m.c.link[0] = (ek_calibrated_link){
        .what = EK_COLLECTIVE_ALL_GATHER, .n = 8, .share = 0.75, .start_us = 12.5, .median_error = 0.031};
    m.c.has_kernels = true;
    m.c.kernels[EK_KERNEL_MATMUL] = (ek_kernel_fit){.n = 40, .median = 0.02, .worst = 0.25};
    char *text = text_of(&m.c, ek__calibration_write_svg);
    assert_non_null(
        strstr(text, "node, all_gather: 0.75 of the rate, start 12.5 us; 8 times are met to 3.1 % (median)"));
    assert_non_null(strstr(text, "matmul: 40 shapes are met to 2.0 % (median), 25.0 % at worst"));
    assert_null(strstr(text, "<circle"));
    assert_golden("calibration_links.svg", text);
    free(text);
}

/* ---- the page ---- */

static const json_t *by_id(const json_t *list, const char *id)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) if (strcmp(json_string_value(json_object_get(item, "id")), id) == 0) return item;
    fail_msg("there is no '%s'", id);
    return NULL;
}

static void a_page_has_every_run_and_constant(void **state)
{
    (void)state;
    made m;
    make(&m);
    const ek_view_run run = {.name = "a", .calibration = &m.c};
    const ek_view view = {.title = "t", .n_runs = 1, .run = &run};
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__view_write_json(&view, out, &err), EK_OK);
    fclose(out);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    const json_t *of_run = json_array_get(json_object_get(root, "runs"), 0);
    const json_t *section = json_array_get(json_object_get(of_run, "sections"), 0);
    assert_string_equal(json_string_value(json_object_get(section, "name")), "calibration");
    const json_t *tables = json_object_get(section, "tables");
    const json_t *rows = json_object_get(by_id(tables, "runs"), "rows");
    assert_int_equal(json_array_size(rows), 4);
    assert_close_to(json_number_value(json_array_get(json_array_get(rows, 0), 5)), 5, 1e-9);
    assert_close_to(json_number_value(json_array_get(json_array_get(rows, 0), 7)), 20, 1e-9);
    assert_close_to(json_number_value(json_array_get(json_array_get(rows, 2), 5)), -10, 1e-9);
    assert_true(json_is_null(json_array_get(json_array_get(rows, 2), 7)));
    assert_string_equal(json_string_value(json_array_get(json_array_get(rows, 3), 9)), "no step time");
    assert_int_equal(json_array_size(json_object_get(by_id(tables, "constants"), "rows")), 2);
    assert_int_equal(json_array_size(json_object_get(by_id(tables, "sums"), "rows")), 6);
    json_decref(root);
    free(text);
}

static ek_status write_text(const ek_calibration *c, FILE *out, ek_error *err)
{
    return ek__calibration_write_text(c, false, out, err);
}

static void the_text_matches_its_golden_file(void **state)
{
    (void)state;
    made m;
    make(&m);
    char *text = text_of(&m.c, write_text);
    assert_golden("calibration.txt", text);
    free(text);
}

static void make_profiles(ek_calibrated_profile profile[2])
{
    ek_calibrated_profile *p = &profile[0];
    *p = (ek_calibrated_profile){.path = "traces/rank0.json",
                                 .n_ranks = 2,
                                 .n_causal_assumed = 11,
                                 .n_layout_assumed = 12,
                                 .n_link_times = 13,
                                 .n_intervals = 14,
                                 .launch_us = 4.25,
                                 .launch_used = true,
                                 .launch = 1,
                                 .step_seconds = 1.5,
                                 .step_used = true,
                                 .note = {"shapes are missing", "record them"}};
    for (int i = 0; i < EK_N_PROFILE_LEFT; i++)
        p->n_operators[i] = 100 + i;
    for (int i = 0; i < EK_N_PROFILE_COLLECTIVES; i++)
        p->n_collectives[i] = 200 + i;
    for (int i = 0; i < EK_N_KERNEL_KINDS; i++) {
        p->n_shapes[i] = i;
        p->start_error[i] = 0.125 * i;
        p->fitted[i] = i > 1;
    }
    profile[1] = (ek_calibrated_profile){.path = "other.json",
                                         .n_ranks = 1,
                                         .n_operators = {0, 5},
                                         .n_intervals = 15,
                                         .launch_us = 8,
                                         .launch = 2,
                                         .step_seconds = 2.5};
}

/* Every part that a calibration may have, in every form, and its page. */
static void all_there_is_matches_its_golden_files(void **state)
{
    (void)state;
    struct ek_calibration_source source[] = {{"runs.csv", EK_SOURCE_RUNS, 4}, {"traces", EK_SOURCE_PROFILE, 77}};
    ek_calibrated_profile profile[2];
    ek_calibrated_constant constant[] = {{"curve.matmul.share", "", 0.75, 0.5, 0.0625, EK_FIT_DETERMINED},
                                         {"host.step_us", "us", 1000, 1500, 250, EK_FIT_DETERMINED},
                                         {"jitter", "s", 0, 0, 0, EK_FIT_AT_BOUND},
                                         {"tier.0.start_us.p2p", "us", 3, 3, 1, EK_FIT_WIDE},
                                         {"tier.1.share.all_to_all", "", 0.5, 0.5, 0, EK_FIT_NO_EFFECT}};
    made m;
    make(&m);
    make_profiles(profile);
    ek_calibration *c = &m.c;
    c->source = source;
    c->n_sources = c->n_profiles = 2;
    c->profile = profile;
    c->constant = constant;
    c->n_constants = 5;
    c->noise = 0.015625;
    c->met_error = 0.03125;
    c->new_error = 0.125;
    c->n_layers = 6;
    c->layer_width = 0.6875;
    c->layer_lambda = 0.5;
    c->device.n_tiers = 2;
    snprintf(c->device.tier[0].name, sizeof c->device.tier[0].name, "node");
    snprintf(c->device.tier[1].name, sizeof c->device.tier[1].name, "cluster");
    c->device.tier[0].gbs = 400;
    c->device.tier[1].gbs = 50;
    c->n_links = 2;
    c->link[0] = (ek_calibrated_link){0, EK_COLLECTIVE_ALL_GATHER, 8, 0.75, 12.5, 0.03125};
    c->link[1] = (ek_calibrated_link){1, EK_COLLECTIVE_ALL_REDUCE, 9, 0.5, 25, 0.0625};
    c->has_kernels = true;
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        c->kernels[k] = (ek_kernel_fit){10 * k, 0.0078125 * k, 0.0625 * k, k % 2 == 0};
    c->n_candidates = 20;
    c->n_proposed = 2;
    c->candidate_error = 0.1875;
    c->proposed[0] =
        (ek_proposed_run){"dp 2, tp 4", "d4 t2", "--tensor-model-parallel-size 4", 1.25, 0.25, 0.125, true};
    c->proposed[1] = (ek_proposed_run){"dp 8", "d8 t1", "--micro-batch-size 2", 0.75, 0.0625, 0.09375, false};
    static const struct {
        const char *golden;
        writer write;
    } forms[] = {{"calibration_all.txt", write_text},
                 {"calibration_all.json", ek__calibration_write_json},
                 {"calibration_all.svg", ek__calibration_write_svg}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *text = text_of(c, forms[i].write);
        assert_golden(forms[i].golden, text);
        free(text);
    }
    assert_golden_page("calibration_page.json", &(ek_view_run){.name = "calibration", .calibration = c});
}

static void the_picture_matches_its_golden_file(void **state)
{
    (void)state;
    made m;
    make(&m);
    char *text = text_of(&m.c, ek__calibration_write_svg);
    assert_golden("calibration.svg", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"JSON has every figure", json_has_every_figure, NULL, NULL, NULL},
        {"a table has every run, and what is not known is empty", a_table_has_every_run_and_what_is_not_known_is_empty,
         NULL, NULL, NULL},
        {"points stand where their steps say", points_stand_where_their_steps_say, NULL, NULL, NULL},
        {"errors are drawn, but those of a start far off are counted", errors_are_drawn_but_those_of_a_start_far_off,
         NULL, NULL, NULL},
        {"without runs there are links and kernels", without_runs_there_are_links_and_kernels, NULL, NULL, NULL},
        {"a page has every run and constant", a_page_has_every_run_and_constant, NULL, NULL, NULL},
        {"the text matches its golden file", the_text_matches_its_golden_file, NULL, NULL, NULL},
        {"all there is matches its golden files", all_there_is_matches_its_golden_files, NULL, NULL, NULL},
        {"the picture matches its golden file", the_picture_matches_its_golden_file, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
