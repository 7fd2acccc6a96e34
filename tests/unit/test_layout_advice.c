/* Tests the advice on layouts: why one is longer, groups of indistinguishable layouts, rules of thumb, sweeps and
 * switches. The oracle is the step and the memory of the plans themselves. */
#include <math.h>

#include "described.h"

#include "effort.h"
#include "evenkeel/layout_advice.h"
#include "figures/layout_figures.h"
#include "figures/results.h"
#include "layout/sensitivity.h"
#include "report/writers.h"

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

/* Figures after ':' in words, in tenths of a percent, and the one before it. */
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

/* ---- groups ---- */

/* A normal number by Box and Muller from a generator of 64 bits (xorshift). */
static double normal(uint64_t *seed)
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        u[i] = ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

/* A device with constants changed by their errors. */
static ek_device drawn_device(uint64_t *seed)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    double error[EK__MAX_CONSTANTS];
    ek_device made = *device;
    int n = ek__constants_of(device, constant);
    ek__constant_errors(device, constant, n, error);
    for (int k = 0; k < n; k++) {
        double at = ek__constant_prior(&constant[k], ek__constant_get(&constant[k], device));
        if (error[k] > 0)
            ek__constant_set(&constant[k], ek__constant_value(&constant[k], at + error[k] * normal(seed)), &made);
    }
    return made;
}

static double step_on(const ek_job *of, const ek_device *on)
{
    ek_step step;
    ek_error err = {0};
    if (ek_cost_step(of, on, NULL, &step, &err))
        fail_msg("%s", err.message);
    double seconds = step.seconds;
    ek_step_clear(&step);
    return seconds;
}

/* How often an order is reversed on devices drawn with their errors: by a normal distribution of the difference's
 * error. Where constants have bounds and times are nonlinear, a normal distribution is not exact. */
static void the_error_of_a_difference_is_what_drawn_devices_have(void **state)
{
    (void)state;
    enum { DRAWS = 300 };
    ek_layout_options with = options;
    with.n_best = 40;
    ek_layout_result result = search(&with);
    int n = result.n_plans, n_pairs = 0;
    double *error = calloc((size_t)n * (size_t)n, sizeof *error), *step = calloc((size_t)n * DRAWS, sizeof *step);
    double worst = 0, sum = 0, worst_spread = 0;
    uint64_t seed = 88172645463325252ULL;
    assert_int_equal(ek_layout_difference_errors(result.plan, n, device, error, NULL), EK_OK);
    for (int d = 0; d < DRAWS; d++) {
        ek_device drawn = drawn_device(&seed);
        for (int i = 0; i < n; i += 4)
            step[i * DRAWS + d] = step_on(&result.plan[i].job, &drawn);
    }
    for (int a = 0; a < n; a += 4)
        for (int b = a + 4; b < n; b += 4) {
            double sa = result.plan[a].estimate.step.seconds, sb = result.plan[b].estimate.step.seconds;
            double e = error[a * n + b], flips = 0, mean = 0, square = 0;
            for (int d = 0; d < DRAWS; d++) {
                double by = log(step[b * DRAWS + d] / step[a * DRAWS + d]);
                flips += step[b * DRAWS + d] < step[a * DRAWS + d];
                mean += by / DRAWS;
                square += by * by / DRAWS;
            }
            double spread = sqrt(square - mean * mean) * sa, expected = 0.5 * erfc((sb - sa) / e / sqrt(2));
            assert_true(fabs(error[b * n + a] - e) < 1e-12);
            worst = fmax(worst, fabs(flips / DRAWS - expected));
            worst_spread = fmax(worst_spread, fabs(log(spread / e)));
            sum += fabs(flips / DRAWS - expected);
            n_pairs++;
        }
    print_message("# %d pairs: turned round as often as expected to %.3f in the mean, %.3f at most; spread by a factor "
                  "of %.2f at most\n",
                  n_pairs, sum / n_pairs, worst, exp(worst_spread));
    assert_true(n_pairs >= 20);
    assert_true(sum / n_pairs < 0.06);
    assert_true(worst < 0.2);
    free(error);
    free(step);
    ek_layout_result_clear(&result);
}

static void groups_are_within_the_error_of_their_first(void **state)
{
    (void)state;
    ek_layout_options with = options;
    with.n_best = 12;
    ek_layout_result result = search(&with);
    int n = result.n_plans, first[64];
    double *error = calloc((size_t)n * (size_t)n, sizeof *error);
    assert_int_equal(ek_layout_group_plans(&result, NULL), EK_OK);
    assert_int_equal(ek_layout_difference_errors(result.plan, n, device, error, NULL), EK_OK);
    int groups = 0;
    for (int i = 0; i < n; i++) {
        int g = result.plan[i].group;
        assert_true(g >= 0 && g <= groups);
        if (g == groups)
            first[groups++] = i;
        assert_true(result.plan[i].group_error == error[first[g] * n + i]); /* 0 of the first itself */
        for (int k = 0; k <= g; k++) {
            double longer = result.plan[i].estimate.step.seconds - result.plan[first[k]].estimate.step.seconds;
            assert_true(i == first[k] || (longer <= error[first[k] * n + i]) == (k == g));
        }
    }
    print_message("# %d plans in %d groups; error of a step %.1f %%, of the second's difference to the first %.2f %%\n",
                  n, groups, 100 * result.plan[0].estimate.step.standard_error / result.plan[0].estimate.step.seconds,
                  100 * error[1] / result.plan[0].estimate.step.seconds);
    assert_true(error[1] < result.plan[0].estimate.step.standard_error);
    free(error);
    ek_layout_result_clear(&result);
}

/* ---- rules of thumb ---- */

static ek_layout thumb_layout(int tensor, int pipeline)
{
    ek_layout l = ek_layout_of(&job);
    int data = DEVICES / tensor / pipeline;
    const int value[] = {data, tensor, 1, 1, pipeline, 1, 1, data, 1};
    memcpy(l.value, value, sizeof value);
    l.n_micro_batches = 64 / data;
    l.sequence_parallel = tensor > 1;
    l.schedule = ek_schedule_find("1f1b");
    return l;
}

static bool fits(int tensor, int pipeline)
{
    const ek_layout l = thumb_layout(tensor, pipeline);
    ek_layout_plan plan;
    if (ek_layout_balance(&job, device, &l, &plan, NULL))
        return false;
    bool found = plan.job.path;
    ek_layout_plan_clear(&plan);
    return found;
}

/* Of each rule the least degree that fits, by balancing all that are smaller, and its cost by its own step. */
static void rules_of_thumb_take_the_least_that_fits(void **state)
{
    (void)state;
    static const double limits[] = {70000, 40000, 24000};
    double limit = job.limit_mb;
    for (size_t i = (size_t)effort(0, 2); i < sizeof limits / sizeof *limits; i++) {
        job.limit_mb = limits[i];
        ek_layout_options with = options;
        with.n_best = 1;
        ek_layout_result result = search(&with);
        ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS];
        assert_int_equal(ek_layout_thumbs(&result, thumb, NULL), EK_OK);
        assert_int_equal(thumb[0].found, fits(1, 1));
        int pipeline = 2, under_tensor = 1;
        while (pipeline < DEVICES && !fits(1, pipeline))
            pipeline *= 2;
        while (under_tensor < DEVICES / 8 && !fits(8, under_tensor))
            under_tensor *= 2;
        assert_int_equal(thumb[1].layout.value[EK_AXIS_PIPELINE], pipeline);
        assert_int_equal(thumb[1].layout.value[EK_AXIS_TENSOR], 1);
        assert_int_equal(thumb[2].layout.value[EK_AXIS_PIPELINE], under_tensor);
        assert_int_equal(thumb[2].layout.value[EK_AXIS_TENSOR], 8);
        assert_true(thumb[2].layout.sequence_parallel);
        assert_true(!thumb[0].applies && thumb[1].applies && !thumb[2].applies && !thumb[3].applies);
        for (int k = 0; k < EK_N_LAYOUT_THUMBS; k++) {
            char words[256];
            if (!thumb[k].found)
                continue;
            double best = result.plan[0].estimate.step.seconds;
            assert_true(fabs(thumb[k].difference.share - (step_on(&thumb[k].plan.job, device) / best - 1)) < 1e-9);
            assert_true(k == 3 || thumb[k].difference.share >= -1e-9); /* contexts are not in this search */
            print_message("# %.0f MB: %s: %s\n", limits[i], thumb[k].text,
                          ek_layout_difference_words(&thumb[k].difference, words, sizeof words));
        }
        ek_layout_thumbs_clear(thumb);
        ek_layout_result_clear(&result);
    }
    job.limit_mb = limit;
}

/* By the sizes in the guides. */
static void rules_apply_by_size_and_length(void **state)
{
    (void)state;
    static const struct {
        int layers, length, applies; /* bits of the rules */
    } cases[] = {{20, 4096, 1}, {40, 4096, 2}, {40, 32768, 2 | 8}, {80, 4096, 4}, {80, 65536, 4 | 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_job_overrides none = ek_job_overrides_none();
        ek_job_overrides with = none;
        ek_job other;
        with.n_layers = cases[i].layers;
        with.seq_length = cases[i].length;
        assert_int_equal(ek_job_read(source_path("examples/megatron_13b.sh"), &with, NULL, &other, NULL), EK_OK);
        other.limit_mb = 70000;
        ek_layout_result result = {.job = &other, .device = device, .options = options};
        ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS];
        assert_int_equal(ek_layout_thumbs(&result, thumb, NULL), EK_OK);
        int applies = 0;
        for (int k = 0; k < EK_N_LAYOUT_THUMBS; k++)
            applies |= thumb[k].applies << k;
        assert_int_equal(applies, cases[i].applies);
        ek_layout_thumbs_clear(thumb);
        ek_job_clear(&other);
    }
}

/* ---- sweeps ---- */

static void run_sweep(const ek_layout_sweep_input *input, ek_layout_sweep *out)
{
    ek_error err = {0};
    if (ek_layout_sweep_run(&job, device, input, out, &err))
        fail_msg("%s", err.message);
}

static void values_double_or_step(void **state)
{
    (void)state;
    double v[8];
    assert_int_equal(ek_layout_sweep_values(64, 1024, 0, 8, v), 5);
    assert_true(v[0] == 64 && v[4] == 1024);
    assert_int_equal(ek_layout_sweep_values(64, 1000, 0, 8, v), 4);
    assert_int_equal(ek_layout_sweep_values(16, 64, 16, 8, v), 4);
    assert_true(v[1] == 32 && v[3] == 64);
    assert_int_equal(ek_layout_sweep_values(1, 1e9, 0, 8, v), 8);
    assert_int_equal(ek_layout_sweep_values(8, 4, 0, 8, v), 0);
}

/* Each point against a separate search, and derived values against their definition. */
static void a_sweep_is_a_search_at_each_value(void **state)
{
    (void)state;
    const double devices[] = {4, 8, 16, 41};
    for (int grows = effort(0, 1); grows <= 1; grows++) {
        ek_layout_sweep_input in = {
            .what = EK_SWEEP_DEVICES, .value = devices, .n = 4, .batch_grows = grows, .options = options};
        ek_layout_sweep sweep;
        in.options.global_batch = grows ? 16 : 64;
        in.wanted_seconds = 1e9;
        run_sweep(&in, &sweep);
        assert_int_equal(sweep.cheapest, 0);
        double first = 0, first_part[EK_N_STEP_PARTS];
        for (int i = 0; i < 4; i++) {
            const ek_layout_sweep_point *p = &sweep.point[i];
            ek_layout_options with = options;
            with.n_best = 1;
            with.n_devices = (int)devices[i];
            with.global_batch = grows ? (int64_t)(4 * devices[i]) : 64;
            assert_int_equal(p->found, i != 3); /* 41 are no stages, and gradients of all layers do not fit */
            if (!p->found)
                continue;
            ek_layout_result result = search(&with);
            double seconds = result.plan[0].estimate.step.seconds;
            double rate = (double)with.global_batch * 4096 / seconds / devices[i];
            first = first > 0 ? first : rate;
            assert_true(fabs(p->step_seconds / seconds - 1) < 1e-9);
            assert_true(fabs(p->tokens_per_second_per_device / rate - 1) < 1e-9);
            assert_true(fabs(p->linearity - rate / first) < 1e-9);
            print_message("# %g devices: %.3f s, %.0f tokens/s/device, linearity %.3f\n", devices[i], seconds, rate,
                          p->linearity);
            /* Its losses by part, from steps and tokens of the two searches, add up to 1 / linearity - 1. */
            ek_layout_difference lost;
            assert_int_equal(ek_layout_sweep_difference(&sweep, i, &lost), i > 0);
            if (i > 0) {
                const ek_step *step = &result.plan[0].estimate.step;
                double all = 0, tokens = (double)with.global_batch * 4096 / devices[i];
                for (int k = 0; k < EK_N_STEP_PARTS; k++) {
                    double mine = step->stage[step->slowest].seconds[k] / tokens * first;
                    assert_true(fabs(lost.part[k] - (mine - first_part[k])) < 1e-9);
                    all += lost.part[k];
                }
                assert_true(fabs(all - (first / rate - 1)) < 1e-9);
                assert_true(fabs(lost.share - (1 / p->linearity - 1)) < 1e-9);
            } else {
                for (int k = 0; k < EK_N_STEP_PARTS; k++)
                    first_part[k] =
                        result.plan[0].estimate.step.stage[result.plan[0].estimate.step.slowest].seconds[k] / seconds;
            }
            ek_layout_result_clear(&result);
        }
        int last = -1;
        for (int i = 0; i < 4 && !(sweep.point[i].linearity < 0.8); i++)
            last = sweep.point[i].found ? i : last;
        assert_int_equal(sweep.last_linear, last);
        /* As quick as the third, and as nothing. */
        in.wanted_seconds = grows ? 0 : sweep.point[2].step_seconds;
        ek_layout_sweep_clear(&sweep);
        run_sweep(&in, &sweep);
        assert_int_equal(sweep.cheapest, grows ? -1 : 2);
        ek_layout_sweep_clear(&sweep);
    }
}

/* More memory is never slower, and below the required memory there is no layout. */
static void a_sweep_of_memory_never_rises(void **state)
{
    (void)state;
    const double mb[] = {5000, 20000, 30000, 50000, 80000};
    ek_layout_sweep_input in = {.what = EK_SWEEP_MEMORY, .value = mb, .n = 5, .options = options};
    ek_layout_sweep sweep;
    run_sweep(&in, &sweep);
    assert_false(sweep.point[0].found);
    assert_true(sweep.point[0].least_mb > 5000);
    for (int i = 1; i < 5; i++) {
        assert_true(sweep.point[i].found);
        assert_true(i == 1 || sweep.point[i].step_seconds <= sweep.point[i - 1].step_seconds * (1 + 1e-9));
        assert_true(sweep.point[i].plan.estimate.memory.stage[0].actual_peak <= mb[i] * 1048576.0);
    }
    assert_true(sweep.point[1].step_seconds > sweep.point[4].step_seconds);
    ek_layout_sweep_clear(&sweep);
    const double bad[] = {16, 2.5};
    in = (ek_layout_sweep_input){.what = EK_SWEEP_BATCH, .value = bad, .n = 2, .options = options};
    assert_int_equal(ek_layout_sweep_run(&job, device, &in, &sweep, NULL), EK_ERR_INPUT);
}

/* ---- the JSON ---- */

static char *json_of(const ek_layout_report *report, const ek_layout_sweep_report *sweep)
{
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (report ? ek__layout_write_json(report, out, &err) : ek__layout_sweep_write_json(sweep, out, &err))
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

/* All parts other than plans; those of only one answer may be null. */
static void the_json_is_what_the_figures_say(void **state)
{
    (void)state;
    ek_layout_result result = search(&options);
    ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS];
    ek_layout_trials trials;
    ek_layout_explanation explanation;
    ek_layout_options asked = options;
    asked.range[EK_AXIS_TENSOR] = (ek_layout_range){2, 2};
    assert_int_equal(ek_layout_thumbs(&result, thumb, NULL), EK_OK);
    assert_int_equal(ek_layout_choose_trials(result.plan, result.n_plans, device, 2, &trials, NULL), EK_OK);
    assert_int_equal(ek_layout_explain(&job, device, &asked, &result.plan[0], &explanation, NULL), EK_OK);
    const ek_layout_report report = {.result = &result, .thumb = thumb, .explanation = &explanation, .trials = &trials};
    char *text = json_of(&report, NULL);
    check_described(ek__result_plan.fields, text, true);
    free(text);
    ek_layout_explanation_clear(&explanation);
    ek_layout_thumbs_clear(thumb);
    ek_layout_result_clear(&result);
}

static void the_json_of_a_sweep_is_what_the_figures_say(void **state)
{
    (void)state;
    const double devices[] = {8, 41};
    ek_layout_sweep_input in = {.what = EK_SWEEP_DEVICES, .value = devices, .n = 2, .options = options};
    ek_layout_sweep sweep;
    run_sweep(&in, &sweep);
    char *text = json_of(NULL, &(ek_layout_sweep_report){.sweep = &sweep, .job = &job, .device = device});
    check_described(&ek__layout_sweep_fields, text, true);
    free(text);
    ek_layout_sweep_clear(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_difference_add_up),
        cmocka_unit_test(words_name_the_largest_parts),
        cmocka_unit_test(a_layout_by_some_axes_is_the_best_with_them),
        cmocka_unit_test(what_cannot_be_says_why),
        cmocka_unit_test(what_does_not_fit_says_by_how_much),
        cmocka_unit_test(the_error_of_a_difference_is_what_drawn_devices_have),
        cmocka_unit_test(groups_are_within_the_error_of_their_first),
        cmocka_unit_test(rules_of_thumb_take_the_least_that_fits),
        cmocka_unit_test(rules_apply_by_size_and_length),
        cmocka_unit_test(values_double_or_step),
        cmocka_unit_test(a_sweep_is_a_search_at_each_value),
        cmocka_unit_test(a_sweep_of_memory_never_rises),
        cmocka_unit_test(the_json_is_what_the_figures_say),
        cmocka_unit_test(the_json_of_a_sweep_is_what_the_figures_say),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
