/* Tests text and YAML: golden files, the original's block to the letter, verdicts in words, names of any bytes. */
#include "report_fixture.h"

#include <math.h>

#include "evenkeel/strategies.h"
#include "figures/balance_figures.h"
#include "report/report_internal.h"
#include "report/writers.h"

static char *text_of(const ek_report *report)
{
    return written(report, ek__balance_write_text, NULL, 0);
}

static char *yaml_of(const ek_report *report)
{
    return written(report, ek__balance_write_yaml, NULL, 0);
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void assert_silent(const char *text, const char *what)
{
    if (strstr(text, what))
        fail_msg("\"%s\" should not be in:\n%s", what, text);
}

static void one_case_matches_golden(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 9);
    fixture_add(&f, "result", (ek_shape){4, 1, 6, 0}, 0, EK_RECOMPUTE_SELECT);
    ek_balance_result search = {.status = EK_BALANCE_OPTIMAL, .step_time = f.timeline[0].step_time, .seconds = 1.25};
    ek_report report = fixture_report(&f, 5000, &search);
    char *text = text_of(&report), *yaml = yaml_of(&report);
    assert_golden("report_one.txt", text);
    assert_golden("report_one.yaml", yaml);
    free(text);
    free(yaml);
    fixture_clear(&f);
}

static void comparison_matches_golden(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "result", (ek_shape){2, 2, 4, 0}, 1, EK_RECOMPUTE_BOTH);
    fixture_add(&f, "naive_no_recomp", (ek_shape){2, 2, 4, 0}, 1, EK_RECOMPUTE_NONE);
    fixture_add(&f, "手工 1", (ek_shape){2, 2, 4, 0}, 0, EK_RECOMPUTE_FULL);
    ek_balance_result search = {.status = EK_BALANCE_TIME_LIMIT, .step_time = f.timeline[0].step_time, .seconds = 90};
    ek_report report = fixture_report(&f, 7000, &search);
    char *text = text_of(&report), *yaml = yaml_of(&report);
    assert_golden("report_compare.txt", text);
    assert_golden("report_compare.yaml", yaml);
    free(text);
    free(yaml);
    fixture_clear(&f);
}

static void original_bubble_is_printed_to_the_letter(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "seed", 96);
    fixture_add(&f, "result", (ek_shape){16, 1, 16, 0}, 0, EK_RECOMPUTE_NONE);
    f.timeline[0].bubble = (ek_bubble){1.1064, 0.9375, 0.1382, 0.0307};
    ek_report report = fixture_report(&f, 0, NULL);
    char *text = text_of(&report);
    assert_ptr_equal(strstr(text, "To put in yaml configuration:\n  offset: [[0, 0, "), text);
    assert_says(text, "————————————— pp:16, vp: 1, micro: 16 ————————————\n"
                      "--------------------  bubble  --------------------\n"
                      "   real    =   ideal   +   imba    + recompute\n"
                      "  1.1064   =  0.9375   +  0.1382   +  0.0307\n");
    f.timeline[0].bubble = (ek_bubble){1.1064, 0.9375, -0.0182, 0.0307};
    char *negative = text_of(&report);
    assert_says(negative, "  1.1064   =  0.9375   +  -0.0182  +  0.0307\n");
    free(text);
    free(negative);
    fixture_clear(&f);
}

static void verdicts_stand_in_words(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    int stage;
    double peak = ek_timeline_peak(&f.timeline[0], &stage);
    ek_report over = fixture_report(&f, peak - 64, NULL), fits = fixture_report(&f, peak, NULL);
    char *text = text_of(&over), want[128];
    snprintf(want, sizeof want, "stage %d is the fullest with %.0f MB; over the limit of %.0f MB by 64 MB", stage, peak,
             peak - 64);
    assert_says(text, want);
    free(text);
    text = text_of(&fits);
    assert_says(text, "every stage fits the limit");
    assert_silent(text, "status");
    assert_silent(text, "\033");
    free(text);
    fits.color = true;
    text = text_of(&fits);
    assert_says(text, "\033[32mevery stage fits");
    free(text);
    fixture_clear(&f);
}

/* Each stage in turn has 1 MB less than it needs; all but rounding is over. */
static void any_stage_may_be_over_its_limit(void **state)
{
    (void)state;
    fixture f;
    double limits[4];
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 4000, NULL);
    report.stage_memory_mb = limits;
    for (int over = 0; over <= 4; over++) {
        for (int s = 0; s < 4; s++)
            limits[s] = s == over ? f.timeline[0].peak_mb[s] - 1 : f.timeline[0].peak_mb[s] * (1 - 1e-12);
        assert_int_equal(ek__any_over_limit(&report, &f.timeline[0]), over < 4);
    }
    fixture_clear(&f);
}

static void what_was_asked_of_a_cluster_is_said(void **state)
{
    static const int fixed[] = {2, -1, 0, 3};
    static const double speed[] = {1, 1, 0.5, 1};
    static const bool forbidden[EK_N_RECOMPUTE] = {[EK_RECOMPUTE_SELECT] = true, [EK_RECOMPUTE_FULL] = true};
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 4000, NULL);
    char *text = text_of(&report);
    assert_silent(text, "fixed stages");
    assert_silent(text, "forbidden");
    assert_silent(text, "stage speeds");
    free(text);
    report.fixed_layers = fixed;
    report.forbidden = forbidden;
    report.stage_speed = speed;
    text = text_of(&report);
    assert_says(text, "fixed stages: 0:2, 2:0, 3:3 (stage:layers)\n");
    assert_says(text, "forbidden recomputation: select, full\n");
    assert_says(text, "stage speeds");
    free(text);
    fixture_clear(&f);
}

static void the_smallest_limit_is_one_and_none_is_not(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    for (int limit = 0; limit < 2; limit++) {
        ek_report report = fixture_report(&f, limit, NULL);
        char *text = text_of(&report);
        (limit ? assert_says : assert_silent)(text, "  head-room MB  busy %");
        (limit ? assert_says : assert_silent)(text, "over the limit");
        free(text);
    }
    fixture_clear(&f);
}

static void a_prediction_that_may_be_short_is_doubted(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    double peak = ek_timeline_peak(&f.timeline[0], NULL);
    static const struct {
        double residual_mb, free_mb, const_mb;
        const char *says, *silent;
    } cases[] = {
        {1000, 500, 100, "500 MB of head-room, but the model was 1000 MB below a measured peak", "more than shown"},
        {1000, 1500, 100, "worst residual", "careful"},
        {-1000, 500, 100, "worst residual", "careful"}, /* the model was above: the safe side */
        {0, 500, -700, "constant       -700 on every stage", "careful"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.residual[0].measured_mb = f.residual[0].predicted_mb + cases[i].residual_mb;
        f.residual[1].measured_mb = f.residual[1].predicted_mb;
        f.layers.const_mb = cases[i].const_mb;
        ek_report report = fixture_report(&f, peak + cases[i].free_mb, NULL);
        char *text = text_of(&report);
        assert_says(text, cases[i].says);
        assert_silent(text, cases[i].silent);
        free(text);
    }
    fixture_clear(&f);
}

static void every_status_says_what_it_rests_on(void **state)
{
    (void)state;
    static const char *const want[] = {"status: optimal (proved", "status: feasible (the search ended by its own",
                                       "status: time_limit (the time limit"};
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    for (int i = 0; i < 3; i++) {
        ek_balance_result search = {.status = (ek_balance_status)i, .seconds = 1};
        ek_report report = fixture_report(&f, 90000, &search);
        char *text = text_of(&report);
        assert_says(text, want[i]);
        free(text);
    }
    fixture_clear(&f);
}

static void infeasible_says_why_and_what_would_help(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    ek_balance_result search = {.status = EK_BALANCE_INFEASIBLE,
                                .seconds = 2,
                                .smallest_limit_mb = 4100.5,
                                .smallest_limit_exact = true,
                                .bottleneck_stage = 3};
    assert_int_equal(ek_plan_even(&f.layers, 4, 1, EK_RECOMPUTE_FULL, &search.fit_plan, NULL), EK_OK);
    ek_report report = fixture_report(&f, 3000, &search);
    char *text = text_of(&report), *yaml = yaml_of(&report);
    assert_golden("report_infeasible.txt", text);
    assert_says(yaml, "# the smallest limit that fits is 4101 MB; stage 3 is the bottleneck");
    free(text);
    search.smallest_limit_exact = false;
    text = text_of(&report);
    assert_says(text, "a smaller one may exist");
    free(text);
    free(yaml);
    search.smallest_limit_mb = INFINITY;
    text = text_of(&report);
    assert_silent(text, "inf ");
    free(text);
    ek_plan_clear(&search.fit_plan);
}

static void a_list_prints_every_case_with_its_name(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "one", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    report.list = true;
    char *text = text_of(&report);
    assert_says(text, "== one ==");
    free(text);
    fixture_add(&f, "two", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_FULL);
    report.n_cases = 2;
    text = text_of(&report);
    assert_says(text, "== two ==");
    assert_says(text, "comparison");
    free(text);
    fixture_clear(&f);
}

static void yaml_names_are_quoted_when_needed(void **state)
{
    (void)state;
    static const char *const name[][2] = {{"manual1", "\nmanual1:\n"},
                                          {"yes", "\n\"yes\":\n"},
                                          {"12", "\n\"12\":\n"},
                                          {"a: b", "\n\"a: b\":\n"},
                                          {"say \"hi\"", "\n\"say \\\"hi\\\"\":\n"},
                                          {"", "\n\"\":\n"},
                                          {"tab\there", "\n\"tab\\u0009here\":\n"},
                                          {"cut \xe6\x89", "\n\"cut \xef\xbf\xbd\xef\xbf\xbd\":\n"},
                                          {"a/b", "file_name: \"a_b.svg\""}};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        fixture f;
        fixture_init(&f, "small", 8);
        fixture_add(&f, name[i][0], (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
        ek_report report = fixture_report(&f, 0, NULL);
        char *yaml = yaml_of(&report);
        assert_says(yaml, name[i][1]);
        free(yaml);
        fixture_clear(&f);
    }
}

static void assert_same_plan(const ek_strategy *read, const ek_case *c)
{
    size_t size = (size_t)(c->plan->n_stages * c->plan->n_chunks) * sizeof(int);
    assert_int_equal(read->plan.n_stages, c->plan->n_stages);
    assert_int_equal(read->plan.n_chunks, c->plan->n_chunks);
    assert_memory_equal(read->plan.layers, c->plan->layers, size);
    assert_memory_equal(read->plan.full, c->plan->full, size);
    assert_memory_equal(read->plan.select, c->plan->select, size);
    assert_memory_equal(read->plan.comm, c->plan->comm, size);
    assert_int_equal(read->n_micro_batches, c->timeline->shape.n_micro_batches);
    assert_int_equal(read->less_memory, ek__less_memory(c->timeline));
}

static void plans_are_read_back(void **state)
{
    (void)state;
    static const char *const want[] = {"a: \"b\" # c", "no", "no_2", "手工"};
    fixture f;
    fixture_init(&f, "small", 17);
    fixture_add(&f, "a: \"b\" # c", (ek_shape){4, 2, 8, 0}, 1, EK_RECOMPUTE_BOTH);
    fixture_add(&f, "no", (ek_shape){4, 2, 8, 0}, 0, EK_RECOMPUTE_NONE);
    fixture_add(&f, "no", (ek_shape){4, 1, 6, 0}, 0, EK_RECOMPUTE_SELECT);
    fixture_add(&f, "手工", (ek_shape){4, 1, 7, 0}, 0, EK_RECOMPUTE_FULL);
    ek_balance_result search = {.status = EK_BALANCE_FEASIBLE, .seconds = 1};
    for (int k = 0; k < 4; k++) {
        ek_report report = fixture_report(&f, 9000, k % 2 ? &search : NULL);
        report.list = k == 2;
        char *text = written(&report, k < 2 ? ek__balance_write_yaml : ek__balance_write_json, NULL, 0);
        char path[] = "/tmp/ek_report_XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        FILE *file = fdopen(fd, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        ek_strategies read = {0};
        ek_error err = {0};
        ek_status status = ek_strategies_read(path, &f.layers, 0, NULL, &read, &err);
        remove(path);
        if (status != EK_OK)
            fail_msg("%d: %s in\n%s", err.line, err.message, text);
        assert_int_equal(read.n, f.n_cases);
        for (int i = 0; i < read.n; i++) {
            assert_string_equal(read.strategy[i].name, k < 2 ? want[i] : f.cases[i].name);
            assert_same_plan(&read.strategy[i], &f.cases[i]);
        }
        ek_strategies_clear(&read);
        free(text);
    }
    fixture_clear(&f);
}

static void numbers_are_short_and_without_a_locale(void **state)
{
    (void)state;
    assert_string_equal(ek__short(1396.3062).text, "1396.31");
    assert_string_equal(ek__short(15450.3).text, "15450.3");
    assert_string_equal(ek__short(12).text, "12");
    assert_string_equal(ek__short(0.1234567).text, "0.123457");
    assert_string_equal(ek__short(NAN).text, "-");
    assert_string_equal(ek__fixed(-0.00001, 4).text, "0.0000");
    assert_string_equal(ek__fixed(INFINITY, 2).text, "-");
    assert_string_equal(ek__fixed(1e300, 2).text, "1e+300");
    assert_string_equal(ek__grouped(1234567).text, "1 234 567");
    assert_string_equal(ek__grouped(-123456).text, "-123 456");
    assert_string_equal(ek__grouped(999).text, "999");
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "one", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    assert_full_disk_reported(&report, ek__balance_write_text, NULL);
    assert_full_disk_reported(&report, ek__balance_write_yaml, NULL);
    assert_full_disk_reported(&report, ek__balance_write_json, NULL);
    fixture_clear(&f);
}

static void a_split_backward_says_what_is_assumed(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add_schedule(&f, "result", (ek_shape){4, 1, 8, 0}, ek_schedule_find("zb-h1"), EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    char *text = written(&report, ek__balance_write_text, NULL, 0);
    assert_non_null(strstr(text, "backward split: half input gradient, half weight gradient (assumed)\n"));
    assert_non_null(strstr(text, "activations held until the weight gradient: 50 % (assumed)\n"));
    free(text);
    f.layers.split_known = true;
    text = written(&report, ek__balance_write_text, NULL, 0);
    assert_null(strstr(text, "half weight gradient"));
    free(text);
    text = written(&report, ek__balance_write_json, NULL, 0);
    assert_non_null(strstr(text, "\"backward_split\": \"given\""));
    assert_non_null(strstr(text, "\"weight_share\": 0.5"));
    free(text);
    text = written(&report, NULL, ek__svg_write, 0);
    assert_non_null(strstr(text, "weight gradient</text>"));
    assert_non_null(strstr(text, "class=\"w0\""));
    free(text);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"one case matches its golden text and YAML", one_case_matches_golden, NULL, NULL, NULL},
        {"a comparison matches its golden text and YAML", comparison_matches_golden, NULL, NULL, NULL},
        {"the original's bubble is printed to the letter", original_bubble_is_printed_to_the_letter, NULL, NULL, NULL},
        {"verdicts stand in words, colour only on request", verdicts_stand_in_words, NULL, NULL, NULL},
        {"any stage may be over its limit", any_stage_may_be_over_its_limit, NULL, NULL, NULL},
        {"what was asked of a cluster is said", what_was_asked_of_a_cluster_is_said, NULL, NULL, NULL},
        {"the smallest limit is one, and none is not", the_smallest_limit_is_one_and_none_is_not, NULL, NULL, NULL},
        {"a prediction that may be short is doubted", a_prediction_that_may_be_short_is_doubted, NULL, NULL, NULL},
        {"every status says its basis", every_status_says_what_it_rests_on, NULL, NULL, NULL},
        {"an infeasible search says why and what would help", infeasible_says_why_and_what_would_help, NULL, NULL,
         NULL},
        {"a list prints every case with its name", a_list_prints_every_case_with_its_name, NULL, NULL, NULL},
        {"names are quoted in YAML when they need it", yaml_names_are_quoted_when_needed, NULL, NULL, NULL},
        {"plans written as YAML or JSON are read back the same", plans_are_read_back, NULL, NULL, NULL},
        {"a split backward says what is assumed", a_split_backward_says_what_is_assumed, NULL, NULL, NULL},
        {"numbers are short and free of the locale", numbers_are_short_and_without_a_locale, NULL, NULL, NULL},
        {"a full disk is reported by every format", a_full_disk_is_reported, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
