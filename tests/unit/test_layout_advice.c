/* What is said about layouts besides the best: why one is longer, groups that cannot be told apart, rules of thumb,
 * sweeps and switches. Judged by the step and the memory of the plans themselves. */
#include <math.h>

#include "input.h"

#include "evenkeel/layout_advice.h"

#define DEVICES 16

static ek_job job; /* of 13B, arguments of Megatron */
static const ek_device *device;
static ek_layout_options options;

static ek_job read_job(const char *name)
{
    ek_job made;
    ek_error err = {0};
    if (ek_job_read(source_path(name), NULL, NULL, &made, &err))
        fail_msg("%s: %s", name, err.message);
    return made;
}

static int set_up(void **state)
{
    (void)state;
    job = read_job("examples/megatron_13b.sh");
    device = ek_device_find("A100-80");
    assert_non_null(device);
    job.limit_mb = 70000;
    ek_layout_options_init(&options);
    options.n_devices = DEVICES;
    options.global_batch = 64;
    options.n_best = 6;
    options.range[EK_AXIS_CHUNKS] = (ek_layout_range){1, 1};
    options.range[EK_AXIS_CONTEXT] = (ek_layout_range){1, 1};
    options.range[EK_AXIS_BATCH] = (ek_layout_range){1, 2};
    options.range[EK_AXIS_COPIES] = (ek_layout_range){1, 1};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ek_job_clear(&job);
    return 0;
}

static ek_layout_result search(const ek_layout_options *with)
{
    ek_layout_result result;
    ek_error err = {0};
    if (ek_layout_search(&job, device, with, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

/* ---- explain ---- */

static double sum_of(const double *part)
{
    double sum = 0;
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        sum += part[i];
    return sum;
}

/* Figures behind ':' in words, in tenths of a percent, and the one in front. */
static void read_words(const char *words, int *all, int *parts)
{
    const char *at = strchr(words, ':');
    *all = (int)lround(10 * strtod(words, NULL)) * (strstr(words, "shorter") ? -1 : 1);
    *parts = 0;
    for (at = at ? at : ""; *at; at++)
        if ((*at == '+' || *at == '-') && at[-1] == ' ')
            *parts += (int)lround(10 * strtod(at, NULL));
}

static void parts_of_a_difference_add_up(void **state)
{
    (void)state;
    ek_layout_result result = search(&options);
    assert_true(result.n_plans >= 4);
    for (int i = 0; i < result.n_plans; i++)
        for (int k = 0; k < result.n_plans; k++) {
            const ek_step *a = &result.plan[i].estimate.step, *b = &result.plan[k].estimate.step;
            ek_layout_difference d = ek_layout_difference_of(a, b);
            char text[512];
            int all, parts;
            assert_true(fabs(sum_of(d.part) - d.share) < 1e-9);
            assert_true(fabs(d.seconds - (a->seconds - b->seconds)) < 1e-12);
            read_words(ek_layout_difference_words(&d, text, sizeof text), &all, &parts);
            assert_int_equal(all, parts);
            assert_int_equal(all, lround(1000 * d.share));
        }
    ek_layout_result_clear(&result);
}

static void words_name_the_largest_parts(void **state)
{
    (void)state;
    ek_layout_difference d = {.share = 0.061};
    char text[256];
    d.part[EK_STEP_TENSOR] = 0.094;
    d.part[EK_STEP_BUBBLE] = -0.033;
    assert_string_equal(ek_layout_difference_words(&d, text, sizeof text),
                        "6.1 % longer: exposed tensor parallel +9.4, pipeline bubble -3.3");
    d = (ek_layout_difference){.share = -0.0104};
    d.part[EK_STEP_HOST] = -0.01;
    d.part[EK_STEP_INPUT] = -0.0004;
    assert_string_equal(ek_layout_difference_words(&d, text, sizeof text), "1.0 % shorter: host -1.0");
    d = (ek_layout_difference){.share = 0};
    assert_string_equal(ek_layout_difference_words(&d, text, sizeof text), "as long");
}

static void explain(const ek_layout_options *with, const ek_layout_plan *against, ek_layout_explanation *out)
{
    ek_error err = {0};
    if (ek_layout_explain(&job, device, with, against, out, &err))
        fail_msg("%s", err.message);
}

/* The oracle: every layout of the ranges balanced by itself. */
static double shortest_of(int tensor, int pipeline)
{
    double best = INFINITY;
    for (int batch = 1; batch <= 2; batch++)
        for (int sp = 0; sp <= (tensor > 1); sp++)
            for (int shard = 1; shard <= DEVICES / tensor / pipeline; shard++) {
                ek_layout l = ek_layout_of(&job);
                const int value[] = {DEVICES / tensor / pipeline, tensor, 1, 1, pipeline, 1, batch, shard, 1};
                ek_layout_plan plan;
                memcpy(l.value, value, sizeof value);
                l.n_micro_batches = 64 / (value[0] * batch);
                l.sequence_parallel = sp;
                l.schedule = ek_schedule_find("1f1b");
                if (value[0] % shard != 0 || ek_layout_balance(&job, device, &l, &plan, NULL))
                    continue;
                if (plan.job.path)
                    best = fmin(best, plan.estimate.step.seconds);
                ek_layout_plan_clear(&plan);
            }
    return best;
}

static void a_layout_by_some_axes_is_the_best_with_them(void **state)
{
    (void)state;
    static const int asked[][2] = {{8, 2}, {4, 2}, {2, 4}, {1, 8}};
    ek_layout_result result = search(&options);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        ek_layout_options with = options;
        with.range[EK_AXIS_TENSOR] = (ek_layout_range){asked[i][0], asked[i][0]};
        with.range[EK_AXIS_PIPELINE] = (ek_layout_range){asked[i][1], asked[i][1]};
        ek_layout_explanation e;
        explain(&with, &result.plan[0], &e);
        double best = shortest_of(asked[i][0], asked[i][1]);
        assert_int_equal(e.verdict, EK_VERDICT_PLAN);
        assert_true(fabs(e.plan.estimate.step.seconds / best - 1) < 1e-9);
        assert_true(fabs(e.difference.share - (best / result.plan[0].estimate.step.seconds - 1)) < 1e-9);
        assert_true(e.difference.share >= -1e-9);
        assert_ptr_equal(e.plan.estimate.job, &e.plan.job);
        print_message("# %s\n", e.words);
        ek_layout_explanation_clear(&e);
    }
    ek_layout_result_clear(&result);
}

static void what_cannot_be_says_why(void **state)
{
    (void)state;
    static const struct {
        ek_layout_axis axis;
        int value;
        const char *words;
    } cases[] = {
        {EK_AXIS_TENSOR, 3, "the framework would not run it: degrees of 3 in all do not divide the 16 devices"},
        {EK_AXIS_TENSOR, 16, "the framework would not run it: tp 16 does not divide the 40 heads"},
        {EK_AXIS_CHUNKS, 41, "41 chunks a stage"},
        {EK_AXIS_EXPERT, 2, "ep 2 does not divide the 1 experts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_layout_options with = options;
        with.range[cases[i].axis] = (ek_layout_range){cases[i].value, cases[i].value};
        ek_layout_explanation e;
        explain(&with, NULL, &e);
        assert_int_equal(e.verdict, EK_VERDICT_ILLEGAL);
        if (!strstr(e.words, cases[i].words))
            fail_msg("%s", e.words);
        ek_layout_explanation_clear(&e);
    }
}

/* The limit of MB below which nothing fits is found by the bound of the layouts themselves. */
static void what_does_not_fit_says_by_how_much(void **state)
{
    (void)state;
    ek_layout_options with = options;
    double limit = job.limit_mb, least = INFINITY;
    with.range[EK_AXIS_TENSOR] = with.range[EK_AXIS_PIPELINE] = (ek_layout_range){1, 1};
    with.range[EK_AXIS_SHARD] = (ek_layout_range){1, 1};
    job.limit_mb = 20000;
    ek_layout_explanation e;
    explain(&with, NULL, &e);
    for (int batch = 1; batch <= 2; batch++) {
        ek_layout l = ek_layout_of(&job);
        const int value[] = {DEVICES, 1, 1, 1, 1, 1, batch, 1, 1};
        ek_layout_bound bound;
        memcpy(l.value, value, sizeof value);
        l.n_micro_batches = 64 / (DEVICES * batch);
        l.sequence_parallel = false;
        l.schedule = ek_schedule_find("1f1b");
        assert_int_equal(ek_layout_bound_of(&job, device, &l, &bound, NULL), EK_OK);
        least = fmin(least, bound.peak_mb);
    }
    assert_int_equal(e.verdict, EK_VERDICT_MEMORY);
    assert_true(fabs(e.least_mb / least - 1) < 1e-6);
    assert_true(e.least_mb > 20000);
    assert_non_null(strstr(e.words, "does not fit"));
    print_message("# %s\n", e.words);
    job.limit_mb = limit;
    ek_layout_explanation_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_difference_add_up),
        cmocka_unit_test(words_name_the_largest_parts),
        cmocka_unit_test(a_layout_by_some_axes_is_the_best_with_them),
        cmocka_unit_test(what_cannot_be_says_why),
        cmocka_unit_test(what_does_not_fit_says_by_how_much),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
