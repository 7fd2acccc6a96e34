/* Tests fits: the constants of generated runs are recovered within their standard errors, constants that no run
 * determines are named, leave-one-out agrees with refitting, and the design with trying every run. The model here is a
 * formula with the shape of a step, so that the right values are known. */
#include "effort.h"
#include "input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "calibrate/candidates.h"
#include "calibrate/fit.h"
#include "calibrate/job_runs.h"
#include "calibrate/layers_fit.h"
#include "calibrate/links_fit.h"
#include "calibrate/runs_fit.h"
#include "cost/collective.h"
#include "cost/cost_internal.h"
#include "cost/kernel.h"
#include "cost/layer_table.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/memory.h"

enum { N = 60 };

/* A run is so much arithmetic, memory traffic, messages of two tiers, and layers for the host. */
typedef struct formula_run {
    double flops, bytes, inside, outside, layers;
    bool hot;      /* runs at the sustained share at most */
    double gather; /* moves with all_gather's and reduce_scatter's shares alike */
} formula_run;

static double formula(const formula_run *r, const ek_device *d)
{
    double share = fmin(d->curve[EK_KERNEL_MATMUL].share, r->hot ? d->sustained_share : 1);
    double device = r->flops / (share * 312e12) + r->bytes / (d->curve[EK_KERNEL_MEMORY].memory_share * 2e12);
    double host = r->layers * d->host.layer_us[EK_LAUNCH_EAGER] * 1e-6;
    const double *far = d->tier[1].share;
    double links = r->inside / (d->tier[0].share[EK_COLLECTIVE_ALL_REDUCE] * 300e9) +
                   r->outside / (far[EK_COLLECTIVE_ALL_REDUCE] * 25e9) +
                   r->gather / 25e9 * (0.5 / far[EK_COLLECTIVE_ALL_GATHER] + 0.5 / far[EK_COLLECTIVE_REDUCE_SCATTER]);
    return fmax(device, host) + links + d->host.step_us * 1e-6;
}

typedef struct runs {
    const formula_run *list; /* the inputs of `predict` */
    int n;
    formula_run run[N];
    double seconds[N];
    int group[N];
    bool held[N];
} runs;

static ek_status predict_runs(void *user, const ek_device *device, const bool *wanted, double *out, ek_error *err)
{
    const runs *all = user;
    (void)err;
    for (int i = 0; i < all->n; i++)
        if (wanted[i])
            out[i] = log(formula(&all->list[i], device));
    return EK_OK;
}

static double normal(ek__random *r)
{
    double radius = sqrt(-2 * log(1 - ek__random_unit(r)));
    return radius * cos(6.283185307179586 * ek__random_unit(r)); /* drawn in this order, whatever the compiler */
}

static double between(ek__random *r, double least, double most)
{
    return least * pow(most / least, ek__random_unit(r));
}

static ek_device start_device(void)
{
    ek_device d = {.devices_per_node = 8, .memory_gib = 80, .memory_gbs = 2000};
    ek__device_default(&d);
    ek__device_links(&d, 300, 25);
    return d;
}

/* Constants that the runs are made with. */
static ek_device true_device(void)
{
    ek_device d = start_device();
    d.curve[EK_KERNEL_MATMUL].share = 0.62;
    d.curve[EK_KERNEL_MEMORY].memory_share = 0.66;
    d.tier[0].share[EK_COLLECTIVE_ALL_REDUCE] = 0.55;
    d.tier[1].share[EK_COLLECTIVE_ALL_REDUCE] = 0.9;
    d.host.layer_us[EK_LAUNCH_EAGER] = 180;
    d.host.step_us = 9000;
    return d;
}

static void make(runs *all, uint64_t seed, double noise)
{
    ek__random random = ek__random_seed(seed);
    ek_device truth = true_device();
    *all = (runs){.n = N};
    all->list = all->run;
    for (int i = 0; i < N; i++) {
        bool far = i % 3 == 0;
        all->run[i] = (formula_run){.flops = between(&random, 1e12, 1e15),
                                    .bytes = between(&random, 1e10, 3e12),
                                    .inside = between(&random, 1e9, 3e11),
                                    .outside = far ? between(&random, 1e9, 1e11) : 0,
                                    .layers = between(&random, 10, 4000)};
        all->seconds[i] = formula(&all->run[i], &truth) * exp(noise * normal(&random));
        all->group[i] = i / 5;
    }
}

static ek__fit_problem problem_of(runs *all)
{
    return (ek__fit_problem){
        .n = all->n, .seconds = all->seconds, .group = all->group, .predict = predict_runs, .user = all};
}

static ek__fit fitted(runs *all, const bool *held)
{
    ek__fit fit;
    ek_error err = {0};
    ek_device start = start_device();
    ek__fit_problem problem = problem_of(all);
    problem.held = held;
    if (ek__fit_run(&problem, &start, &fit, &err))
        fail_msg("%s", err.message);
    return fit;
}

static int constant_of(const ek__fit *fit, const char *name)
{
    for (int k = 0; k < fit->n_constants; k++)
        if (strcmp(fit->constant[k].name, name) == 0)
            return k;
    fail_msg("no constant %s", name);
    return -1;
}

static void constants_that_made_the_runs_are_found_within_their_errors(void **state)
{
    static const char *const names[] = {"curve.matmul.share",      "curve.memory.memory_share",
                                        "tier.0.share.all_reduce", "tier.1.share.all_reduce",
                                        "host.layer_us.eager",     "host.step_us"};
    (void)state;
    ek_device truth = true_device();
    double sum = 0;
    int n = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        runs all;
        make(&all, seed, 0.03);
        ek__fit fit = fitted(&all, NULL);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int k = constant_of(&fit, names[i]);
            const ek__constant *c = &fit.constant[k];
            double off = (fit.scaled[k] - ek__constant_scaled(c, ek__constant_get(c, &truth))) / fit.spread[k];
            if (fit.state[k] != EK_FIT_DETERMINED || !(fabs(off) < 4))
                fail_msg("seed %d: %s is %g, %g errors off", (int)seed, names[i], ek__constant_get(c, &fit.device),
                         off);
            sum += off * off;
            n++;
        }
        assert_true(fit.noise > 0.02 && fit.noise < 0.04);
        /* A section's error bounds those of its determined constants; undetermined ones have none. */
        assert_true(fit.device.host.error >= fit.spread[constant_of(&fit, "host.layer_us.eager")]);
        assert_true(fit.device.tier[1].error >= fit.spread[constant_of(&fit, "tier.1.share.all_reduce")]);
        assert_true(fit.state[constant_of(&fit, "optimizer_us")] == EK_FIT_DETERMINED ||
                    fit.device.optimizer_us_error == 0);
        ek__fit_clear(&fit);
    }
    /* Chi squared of 60: errors that are stated half as large as they are would give 240. */
    print_message("# mean squared error over stated variance: %.2f\n", sum / n);
    assert_true(sum / n > 0.4 && sum / n < 1.7);
}

static void a_limit_that_is_not_reached_at_the_start_is_found(void **state)
{
    (void)state;
    runs all;
    make(&all, 12, 0);
    ek_device truth = true_device();
    truth.curve[EK_KERNEL_MATMUL].share = 0.75;
    truth.sustained_share = 0.45;
    for (int i = 0; i < N; i++) {
        all.run[i].hot = i % 2;
        all.seconds[i] = formula(&all.run[i], &truth) * (i % 4 < 2 ? 1.01 : 0.99);
    }
    ek__fit fit = fitted(&all, NULL);
    assert_string_equal(ek_fit_state_name[fit.state[constant_of(&fit, "sustained_share")]], "determined");
    assert_true(fabs(fit.device.sustained_share - 0.45) < 0.02);
    assert_true(fabs(fit.device.curve[EK_KERNEL_MATMUL].share - 0.75) < 0.03);
    ek__fit_clear(&fit);
}

static void what_no_run_tells_is_named_and_left_alone(void **state)
{
    (void)state;
    runs all;
    make(&all, 3, 0.03);
    for (int i = 0; i < N; i++) {
        all.run[i].gather = 1e4; /* far too little to be seen */
        all.run[i].outside = 0;
        ek_device truth = true_device();
        all.seconds[i] = formula(&all.run[i], &truth);
    }
    ek__fit fit = fitted(&all, NULL);
    ek_device start = start_device();
    static const struct {
        const char *name;
        ek_fit_state state;
    } expected[] = {{"tier.1.share.all_gather", EK_FIT_NO_EFFECT},
                    {"tier.1.share.all_reduce", EK_FIT_NO_EFFECT},
                    {"jitter", EK_FIT_NO_EFFECT},
                    {"curve.matmul.share", EK_FIT_DETERMINED}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int k = constant_of(&fit, expected[i].name);
        assert_string_equal(ek_fit_state_name[fit.state[k]], ek_fit_state_name[expected[i].state]);
        if (fit.state[k] != EK_FIT_DETERMINED)
            assert_true(ek__constant_get(&fit.constant[k], &fit.device) == ek__constant_get(&fit.constant[k], &start));
    }
    ek__fit_clear(&fit);
}

/* Two that only together are seen are both moved, by the same share of their widths. */
static void what_is_seen_too_little_is_wide(void **state)
{
    (void)state;
    runs all;
    make(&all, 4, 0.05);
    ek_device truth = true_device();
    truth.tier[1].share[EK_COLLECTIVE_ALL_GATHER] = truth.tier[1].share[EK_COLLECTIVE_REDUCE_SCATTER] = 0.5;
    for (int i = 0; i < N; i++) {
        all.run[i].gather = i < 2 ? 2e8 : 0;
        all.seconds[i] = formula(&all.run[i], &truth) * (i % 2 ? 1.03 : 0.97);
    }
    ek__fit fit = fitted(&all, NULL);
    int k = constant_of(&fit, "tier.1.share.all_gather");
    assert_string_equal(ek_fit_state_name[fit.state[k]], "wide");
    assert_true(ek__constant_get(&fit.constant[k], &fit.device) ==
                start_device().tier[1].share[EK_COLLECTIVE_ALL_GATHER]);
    ek__fit_clear(&fit);
    for (int i = 0; i < N; i++) {
        all.run[i].gather = i < 20 ? 3e10 : 0;
        all.seconds[i] = formula(&all.run[i], &truth) * (i % 2 ? 1.01 : 0.99);
    }
    fit = fitted(&all, NULL);
    const double *share = fit.device.tier[1].share;
    assert_string_equal(ek_fit_state_name[fit.state[k]], "determined");
    assert_true(fabs(log(share[EK_COLLECTIVE_ALL_GATHER] / share[EK_COLLECTIVE_REDUCE_SCATTER])) < 0.02);
    assert_true(fabs(log(share[EK_COLLECTIVE_ALL_GATHER] / 0.5)) < 0.05);
    ek__fit_clear(&fit);
}

static void what_ends_at_a_bound_is_not_determined(void **state)
{
    (void)state;
    runs all;
    make(&all, 5, 0);
    ek_device truth = true_device();
    truth.curve[EK_KERNEL_MEMORY].memory_share = 3; /* beyond the memory's rate */
    for (int i = 0; i < N; i++)
        all.seconds[i] = formula(&all.run[i], &truth);
    ek__fit fit = fitted(&all, NULL);
    int k = constant_of(&fit, "curve.memory.memory_share");
    assert_string_equal(ek_fit_state_name[fit.state[k]], "at_bound");
    assert_true(fit.device.curve[EK_KERNEL_MEMORY].memory_share == 1);
    for (int i = 0; i < fit.n_constants; i++) {
        double v = ek__constant_get(&fit.constant[i], &fit.device);
        assert_true(fit.state[i] != EK_FIT_DETERMINED || (v > fit.constant[i].least && v < fit.constant[i].most));
    }
    ek__fit_clear(&fit);
}

static void a_disturbed_run_is_no_more_than_a_disturbed_run(void **state)
{
    (void)state;
    runs all;
    make(&all, 6, 0.02);
    ek__fit clean = fitted(&all, NULL);
    all.seconds[7] *= 3;
    ek__fit disturbed = fitted(&all, NULL);
    int k = constant_of(&clean, "curve.matmul.share");
    assert_true(disturbed.weight[7] < 0.15);
    assert_true(fabs(clean.scaled[k] - disturbed.scaled[k]) < 2 * clean.spread[k]);
    ek__fit_clear(&clean);
    ek__fit_clear(&disturbed);
}

/* Five runs of a layout with the same error contain little more information than one of them, and the constants' errors
 * reflect that. */
static void runs_of_a_group_that_err_alike_count_as_few(void **state)
{
    (void)state;
    runs all;
    ek__random random = ek__random_seed(31);
    make(&all, 30, 0.005);
    ek__fit apart = fitted(&all, NULL);
    assert_true(apart.alike < 0.3);
    for (int i = 0; i < N; i += 5) {
        double common = 0.05 * normal(&random);
        for (int k = i; k < i + 5; k++)
            all.seconds[k] *= exp(common);
    }
    ek__fit alike = fitted(&all, NULL);
    int share = constant_of(&alike, "curve.matmul.share");
    assert_true(alike.alike > 0.6);
    for (int i = 0; i < N; i++)
        assert_true(alike.weight[i] <= 1 / (1 + 4 * alike.alike) + 1e-12);
    for (int i = 0; i < N; i++)
        all.group[i] = i;
    ek__fit unknown = fitted(&all, NULL);
    print_message("# errors that are alike by %.2f: the share is known to %.3f, taken as runs of their own to %.3f\n",
                  alike.alike, alike.spread[share], unknown.spread[share]);
    assert_true(unknown.alike == 0);
    assert_true(alike.spread[share] > 1.4 * unknown.spread[share]);
    ek__fit_clear(&apart);
    ek__fit_clear(&alike);
    ek__fit_clear(&unknown);
}

/* Without noise of other sources the linearised answer and that of a fit without the run differ by the model's
 * curvature and by the noise's own estimate only. */
static void leaving_out_agrees_with_refitting(void **state)
{
    (void)state;
    runs all;
    make(&all, 7, 0.03);
    all.n = 20;
    for (int i = 0; i < N; i++)
        all.group[i] = i / 4;
    ek__fit fit = fitted(&all, NULL);
    double worst = 0, moved = 0;
    for (int i = 0; i < all.n; i++) {
        bool held[N] = {false};
        held[i] = true;
        ek__fit without = fitted(&all, held);
        worst = fmax(worst, fabs(fit.left_out[i] - (without.after[i] - without.measured[i])));
        moved = fmax(moved, fabs(fit.left_out[i] - (fit.after[i] - fit.measured[i])));
        ek__fit_clear(&without);
    }
    print_message("# leave-one-out: at most %.4f from a refit; leaving out moves a residual by %.4f\n", worst, moved);
    assert_true(worst < 0.2 * moved);
    worst = moved = 0;
    for (int g = 0; g < 5; g++) {
        bool held[N] = {false};
        for (int i = 0; i < 4; i++)
            held[4 * g + i] = true;
        ek__fit without = fitted(&all, held);
        for (int i = 4 * g; i < 4 * g + 4; i++) {
            worst = fmax(worst, fabs(fit.group_out[i] - (without.after[i] - without.measured[i])));
            moved = fmax(moved, fabs(fit.group_out[i] - (fit.after[i] - fit.measured[i])));
        }
        ek__fit_clear(&without);
    }
    print_message("# leave-group-out: at most %.4f from a refit; leaving out moves a residual by %.4f\n", worst, moved);
    assert_true(worst < 0.3 * moved);
    ek__fit_clear(&fit);
}

static void runs_that_are_held_back_change_nothing(void **state)
{
    (void)state;
    runs all, other;
    bool held[N] = {false};
    make(&all, 8, 0.03);
    for (int i = 40; i < N; i++)
        held[i] = true;
    other = all;
    other.list = other.run;
    for (int i = 40; i < N; i++)
        other.seconds[i] *= 1.7;
    ek__fit a = fitted(&all, held), b = fitted(&other, held);
    assert_memory_equal(a.scaled, b.scaled, sizeof a.scaled);
    assert_true(!a.used[45] && isnan(a.left_out[45]) && a.after[45] == b.after[45]);
    ek__fit_clear(&a);
    ek__fit_clear(&b);
}

/* The only candidate that depends on the unknown constant is chosen first, and a fit with it has the predicted
 * spread. */
static void the_design_foretells_what_a_run_narrows(void **state)
{
    (void)state;
    runs all;
    make(&all, 9, 0.03);
    for (int i = 0; i < N; i++)
        all.run[i].outside = 0;
    ek_device truth = true_device();
    for (int i = 0; i < N; i++)
        all.seconds[i] = formula(&all.run[i], &truth) * (i % 2 ? 1.03 : 0.97);
    all.n = 40;
    ek__fit fit = fitted(&all, NULL);
    runs candidates = all;
    candidates.list = candidates.run;
    candidates.n = 6;
    candidates.run[4].outside = 2e10;
    candidates.run[5].outside = 1e9;
    double *gradient = calloc((size_t)6 * (size_t)fit.n_constants, sizeof *gradient), value[6], spread[3];
    int chosen[2], n = 2;
    ek_error err = {0};
    assert_int_equal(ek__fit_jacobian(&fit, 6, predict_runs, &candidates, value, gradient, &err), EK_OK);
    assert_int_equal(ek__fit_design(&fit, 6, gradient, &n, chosen, spread, &err), EK_OK);
    assert_int_equal(n, 2);
    assert_int_equal(chosen[0], 4);
    assert_true(spread[1] < spread[0] && spread[2] < spread[1]);
    /* By hand: the same covariance with the run's row added to the information. */
    int k = fit.n_constants;
    double *c = malloc((size_t)k * (size_t)k * sizeof *c);
    memcpy(c, fit.covariance, (size_t)k * (size_t)k * sizeof *c);
    assert_true(ek__fit_invert(k, c));
    const double *g = gradient + (size_t)4 * (size_t)k;
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
            c[a * k + b] += g[a] * g[b] / (fit.noise * fit.noise);
    assert_true(ek__fit_invert(k, c));
    ek__fit with = fit;
    with.covariance = c;
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += pow(ek__fit_spread(&with, gradient + (size_t)i * (size_t)k), 2) / 6;
    assert_true(fabs(sqrt(sum) / spread[1] - 1) < 1e-6);
    free(c);
    free(gradient);
    ek__fit_clear(&fit);
}

/* ---- layers ---- */

/* A small Gauss elimination with pivots: a x = b, in place. */
static void solve_slowly(int n, double *a, double *b)
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int r = c; r < n; r++)
            best = fabs(a[r * n + c]) > fabs(a[best * n + c]) ? r : best;
        for (int k = 0; k < n; k++) {
            double swap = a[c * n + k];
            a[c * n + k] = a[best * n + k];
            a[best * n + k] = swap;
        }
        double swap = b[c];
        b[c] = b[best];
        b[best] = swap;
        for (int r = 0; r < n; r++) {
            double times = r == c ? 0 : a[r * n + c] / a[c * n + c];
            for (int k = c; k < n && times != 0; k++)
                a[r * n + k] -= times * a[c * n + k];
            b[r] -= times * b[c];
        }
    }
    for (int c = 0; c < n; c++)
        b[c] /= a[c * n + c];
}

/* The textbook's Matern 3/2; ends have ten times a layer's variance and no correlation with layers. */
static double slow_covariance(const double *a, const double *b, double width)
{
    double sum = 0;
    bool ends = a[EK__N_LAYER_COORDINATES - 1] > 0;
    if (ends != (b[EK__N_LAYER_COORDINATES - 1] > 0))
        return 0;
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        sum += pow(a[k] - b[k], 2);
    double d = sqrt(sum) / width;
    return (ends ? 10 : 1) * (1 + sqrt(3) * d) * exp(-sqrt(3) * d);
}

static void random_place(ek__random *random, bool ends, double *at)
{
    for (int k = 0; k < EK__N_LAYER_COORDINATES - 1; k++)
        at[k] = 0.5 * ek__random_unit(random);
    at[EK__N_LAYER_COORDINATES - 1] = ends ? 100 : 0;
}

static void a_layer_table_is_the_mean_of_a_gaussian_process(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    ek__random random = ek__random_seed(11);
    ek__layer_row row[ROWS];
    double a[ROWS * ROWS], pull[ROWS];
    const ek__layer_scale scale = {0.4, 0.3, 0.01, 0.1};
    for (int i = 0; i < ROWS; i++) {
        random_place(&random, i % 3 == 0, row[i].at);
        row[i].value = pull[i] = 0.2 * ek__random_unit(&random) - 0.1;
        row[i].weight = ek__random_unit(&random) + 0.1;
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            a[i * ROWS + j] =
                slow_covariance(row[i].at, row[j].at, scale.width) + (i == j ? scale.lambda / row[i].weight : 0);
    solve_slowly(ROWS, a, pull);
    ek_layer_table *table = ek__layer_table_new(row, ROWS, &scale);
    ek_layer_table *shifted = ek__layer_table_shifted(table, 0.02, -0.03);
    assert_true(table && shifted);
    for (int t = 0; t < 20; t++) {
        double x[EK__N_LAYER_COORDINATES], mean = 0, near = 1e9;
        random_place(&random, t % 2 == 0, x);
        for (int i = 0; i < ROWS; i++) {
            double d = 0;
            for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
                d += pow(x[k] - row[i].at[k], 2);
            near = fmin(near, sqrt(d));
            mean += pull[i] * slow_covariance(row[i].at, x, scale.width);
        }
        assert_true(fabs(log(ek__layer_table_factor(table, x)) - mean) < 1e-6);
        assert_true(fabs(log(ek__layer_table_factor(shifted, x)) - mean - (t % 2 == 0 ? -0.03 : 0.02)) < 1e-6);
        assert_true(fabs(ek__layer_table_nearest(table, x) - near) < 1e-12);
    }
    double far[EK__N_LAYER_COORDINATES] = {50};
    assert_true(fabs(ek__layer_table_factor(table, far) - 1) < 1e-12 && ek__layer_table_nearest(table, far) > 49);
    assert_true(ek__layer_table_factor(NULL, far) == 1 && isnan(ek__layer_table_nearest(NULL, far)));
    ek__layer_table_free(table);
    ek__layer_table_free(shifted);
}

static void a_layer_table_survives_its_file(void **state)
{
    (void)state;
    const ek__layer_row row[2] = {{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0}, 0.05, 1.5}, {{0.1}, -0.03, 0.7}};
    const ek__layer_scale scale = {0.35, 0.1, 0.012, 0.098};
    ek_layer_table *table = ek__layer_table_new(row, 2, &scale), *back = NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ek__layer_table_write(table, out);
    fclose(out);
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    assert_int_equal(ek__config_parse_buffer("device.yaml", text, size, &doc, &err), EK_OK);
    const ek__in in = {.doc = doc, .err = &err};
    if (ek__layer_table_read(&in, ek__get(ek__config_root(doc), "layers"), &back))
        fail_msg("%s", err.message);
    const ek__layer_scale *read = ek__layer_table_scale(back);
    double at[EK__N_LAYER_COORDINATES] = {0.3, 0.2};
    assert_true(ek__layer_table_factor(table, at) == ek__layer_table_factor(back, at));
    assert_true(fabs(log(ek__layer_table_factor(back, at))) > 1e-3);
    assert_true(read->met_error == scale.met_error && read->new_error == scale.new_error);
    ek__config_free(doc);
    ek__layer_table_free(table);
    ek__layer_table_free(back);
    free(text);
}

/* The expected error lies between that of layers in the table and that of new ones, by the correlation of the nearest.
 */
static void a_step_errs_as_steps_of_layers_like_its_own(void **state)
{
    (void)state;
    static const struct {
        double away, expected;
    } cases[] = {{0, 0.02}, {0.3, 0}, {40, 0.2}};
    ek_measured_runs measured;
    ek_error err = {0};
    assert_int_equal(ek_run_table_read(source_path("examples/calibrate/runs.csv"), NULL, &measured, &err), EK_OK);
    const ek_job *job = &measured.run[0].job;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_device device = *ek_device_find("A100-80");
        ek_step step;
        ek__layer_row row = {.value = 0, .weight = 1};
        ek__layer_coordinates(job, ek__job_layer_kind(job), row.at);
        row.at[0] += cases[i].away;
        ek_layer_table *table = ek__layer_table_new(&row, 1, &(ek__layer_scale){0.5, 0.1, 0, 0});
        ek__layer_table_expect(table, 0.02, 0.2);
        device.error = 0.1;
        device.layers = table;
        if (ek_cost_step(job, &device, NULL, &step, &err))
            fail_msg("%s", err.message);
        double r = sqrt(3) * cases[i].away / 0.5, k = (1 + r) * exp(-r);
        double expected = cases[i].expected > 0 ? cases[i].expected : sqrt(0.0004 + (1 - k * k) * (0.04 - 0.0004));
        assert_true(fabs(step.standard_error / step.seconds - expected) < 1e-6);
        ek_step_clear(&step);
        ek__layer_table_free(table);
        device.layers = NULL;
        assert_int_equal(ek_cost_step(job, &device, NULL, &step, NULL), EK_OK);
        assert_true(fabs(step.standard_error / step.seconds - 0.1) < 1e-12);
        ek_step_clear(&step);
    }
    ek_measured_runs_clear(&measured);
}

enum { LAYERS = 5, EACH = 4, ALL_RUNS = LAYERS * EACH };

/* The prediction at `at` by the process of all runs but some, with its two kinds. @param without  -1: none; with its
 * group? */
static double slow_correction(const ek__layer_sample *sample, const ek__layer_left *left, const ek__layer_scale *scale,
                              int without, bool with_group, const double *at)
{
    int list[ALL_RUNS], n = 0;
    double a[ALL_RUNS * ALL_RUNS], pull[ALL_RUNS], sum = 0;
    for (int i = 0; i < ALL_RUNS; i++)
        if (without < 0 || !(i == without || (with_group && sample[i].group == sample[without].group)))
            list[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const ek__layer_sample *x = &sample[list[i]], *y = &sample[list[j]];
            a[i * n + j] = i == j ? scale->lambda / left[list[i]].weight : 0;
            for (int k = 0; k < EK__N_LAYER_SHARES; k++)
                a[i * n + j] += x->share[k] * y->share[k] * slow_covariance(x->at[k], y->at[k], scale->width);
            pull[i] = x->missing;
        }
    solve_slowly(n, a, pull);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < EK__N_LAYER_SHARES; k++)
            sum += pull[i] * sample[list[i]].share[k] * slow_covariance(sample[list[i]].at[k], at, scale->width);
    return sum;
}

/* Runs of five layers in four layouts each, with heads that take half as long again: layers and heads are recovered
 * separately, the prediction for a left-out run equals that of refitting without it, and the table agrees with the
 * process. */
static void layers_are_learned_from_the_other_runs(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(21);
    ek__layer_sample sample[ALL_RUNS] = {0};
    ek__layer_left left[ALL_RUNS];
    for (int i = 0; i < ALL_RUNS; i++) {
        ek__layer_sample *s = &sample[i];
        int layer = i / EACH;
        s->at[EK__LAYERS][0] = s->at[EK__ENDS][0] = 3 * layer;
        s->at[EK__ENDS][EK__N_LAYER_COORDINATES - 1] = 100;
        s->share[EK__ENDS] = 0.4 * ek__random_unit(&random);
        s->share[EK__LAYERS] = 0.95 - s->share[EK__ENDS];
        s->missing = 0.05 * (layer - 2) * s->share[EK__LAYERS] + 0.4 * s->share[EK__ENDS] + 0.001 * normal(&random);
        s->plain[0] = s->plain[1] = -s->missing;
        s->used = true;
        s->group = i % EACH;
    }
    ek_layer_table *table;
    ek__layers_fit fit;
    ek_error err = {0};
    assert_int_equal(ek__layers_fit_run(sample, ALL_RUNS, NULL, &table, left, &fit, &err), EK_OK);
    assert_non_null(table);
    assert_int_equal(ek__layer_table_size(table), 2 * LAYERS);
    assert_true(fit.left_out < 0.2 * fit.scale.new_error);
    for (int i = 0; i < ALL_RUNS; i++) {
        const ek__layer_sample *s = &sample[i];
        double alone = -s->missing, with_group = -s->missing;
        for (int k = 0; k < EK__N_LAYER_SHARES; k++) {
            alone += s->share[k] * slow_correction(sample, left, &fit.scale, i, false, s->at[k]);
            with_group += s->share[k] * slow_correction(sample, left, &fit.scale, i, true, s->at[k]);
            double all = slow_correction(sample, left, &fit.scale, -1, false, s->at[k]);
            assert_true(fabs(log(ek__layer_table_factor(table, s->at[k])) - all) < 1e-5);
        }
        assert_true(fabs(left[i].alone - alone) < 1e-8 && fabs(left[i].with_group - with_group) < 1e-8);
        assert_true(fabs(log(ek__layer_table_factor(table, s->at[EK__LAYERS])) - 0.05 * (i / EACH - 2)) < 0.01);
        assert_true(fabs(log(ek__layer_table_factor(table, s->at[EK__ENDS])) - 0.4) < 0.05);
    }
    ek__layer_table_free(table);
    /* Nothing but noise: no table. */
    for (int i = 0; i < ALL_RUNS; i++) {
        sample[i].missing = 0.05 * normal(&random);
        sample[i].plain[0] = sample[i].plain[1] = -sample[i].missing;
    }
    assert_int_equal(ek__layers_fit_run(sample, ALL_RUNS, NULL, &table, left, &fit, &err), EK_OK);
    assert_null(table);
}

/* Five layers that take up to a tenth more or less, in four runs each, and a sixth that one run has, 60 % too long:
 * that is a disturbed run, and the table has no entry for its layer. 20 % too long is a layer like the others.
 */
static void a_disturbed_run_is_no_layer(void **state)
{
    (void)state;
    static const double longer[] = {0.6, 0.2};
    for (int k = 0; k < 2; k++) {
        ek__random random = ek__random_seed(22);
        ek__layer_sample sample[ALL_RUNS + 1] = {0};
        ek__layer_left left[ALL_RUNS + 1];
        for (int i = 0; i <= ALL_RUNS; i++) {
            ek__layer_sample *s = &sample[i];
            int layer = i / EACH;
            double takes = layer == LAYERS ? longer[k] : layer % 2 ? 0.1 : -0.1;
            s->at[EK__LAYERS][0] = s->at[EK__ENDS][0] = 3 * layer;
            s->at[EK__ENDS][EK__N_LAYER_COORDINATES - 1] = 100;
            s->share[EK__LAYERS] = 0.95;
            s->missing = takes * s->share[EK__LAYERS] + 0.01 * normal(&random);
            s->plain[0] = s->plain[1] = -s->missing;
            s->used = true;
            s->group = i % EACH;
        }
        ek_layer_table *table;
        ek__layers_fit fit;
        ek_error err = {0};
        assert_int_equal(ek__layers_fit_run(sample, ALL_RUNS + 1, NULL, &table, left, &fit, &err), EK_OK);
        assert_non_null(table);
        double factor = log(ek__layer_table_factor(table, sample[ALL_RUNS].at[EK__LAYERS]));
        print_message("# a lone run %.0f %% too long: its layer is corrected by %.1f %%\n", 100 * longer[k],
                      100 * factor);
        assert_true(k == 0 ? fabs(factor) < 0.02 : factor > 0.12);
        assert_true(fabs(log(ek__layer_table_factor(table, sample[EACH].at[EK__LAYERS])) - 0.1) < 0.02);
        ek__layer_table_free(table);
    }
}

/* Six layers in a row that take longer or shorter by chance, each in three runs of one layout, which are correlated
 * with each other and not with the next layer: most often each is corrected separately. Where they take longer from one
 * to the next, layers are correlated. */
static void layers_tell_of_others_beyond_chance_alone(void **state)
{
    (void)state;
    enum { ROW = 6, RUNS = 3, TRIES = 60 };
    int wide[2] = {0, 0};
    for (int seed = 0; seed < 2 * TRIES; seed++) {
        ek__random random = ek__random_seed(100 + seed);
        bool rises = seed % 2;
        ek__layer_sample sample[ROW * RUNS] = {0};
        ek__layer_left left[ROW * RUNS];
        double takes[ROW];
        for (int layer = 0; layer < ROW; layer++)
            takes[layer] = 0.05 * (rises ? layer - 2.5 : normal(&random));
        for (int i = 0; i < ROW * RUNS; i++) {
            ek__layer_sample *s = &sample[i];
            s->at[EK__LAYERS][0] = s->at[EK__ENDS][0] = i / RUNS;
            s->at[EK__ENDS][EK__N_LAYER_COORDINATES - 1] = 100;
            s->share[EK__LAYERS] = 0.95;
            s->missing = takes[i / RUNS] * s->share[EK__LAYERS] + 0.003 * normal(&random);
            s->plain[0] = s->plain[1] = -s->missing;
            s->used = true;
            s->group = i / RUNS;
        }
        ek_layer_table *table;
        ek__layers_fit fit;
        assert_int_equal(ek__layers_fit_run(sample, ROW * RUNS, NULL, &table, left, &fit, NULL), EK_OK);
        wide[rises] += table && fit.scale.width > 0.25;
        ek__layer_table_free(table);
    }
    print_message("# layers by chance tell of others in %d of %d, those in a row in %d\n", wide[0], TRIES, wide[1]);
    assert_true(wide[0] < 0.4 * TRIES && wide[1] == TRIES);
}

/* Runs made on a device where layers and heads take longer or shorter than their kernels: every fourth is held out of a
 * fit of the others, and is predicted well where the constants without the table would be wrong. */
static void layers_and_heads_of_made_runs_come_back(void **state)
{
    (void)state;
    enum { MOST = 64 };
    ek_measured_runs measured;
    ek_error err = {0};
    const ek_job *job[MOST];
    double seconds[MOST], missed = 0, plain = 0;
    int group[MOST], n = 0, n_held = 0;
    bool held[MOST] = {false};
    ek__layer_row row[2 * MOST];
    const ek__layer_scale exact = {.width = 0.01, .lambda = 1e-6};
    assert_int_equal(ek_run_table_read(source_path("examples/calibrate/runs.csv"), NULL, &measured, &err), EK_OK);
    for (int i = 0; i < measured.n && n < MOST; i++) {
        job[n] = &measured.run[i].job;
        group[n] = n;
        held[n] = n % 4 == 3;
        row[2 * n] = (ek__layer_row){.value = job[n]->parallel.tensor > 2 ? 0.15 : -0.1, .weight = 1};
        row[2 * n + 1] = (ek__layer_row){.value = 1, .weight = 1};
        ek__layer_coordinates(job[n], ek__job_layer_kind(job[n]), row[2 * n].at);
        ek__layer_coordinates(job[n], EK__GRAPH_HEAD, row[2 * n + 1].at);
        n++;
    }
    ek_device truth = *ek_device_find("A100-80"), start = truth;
    truth.layers = ek__layer_table_new(row, 2 * n, &exact);
    for (int i = 0; i < n; i++) {
        ek_step step;
        if (ek_cost_step(job[i], &truth, NULL, &step, &err))
            fail_msg("%s", err.message);
        seconds[i] = step.seconds;
        ek_step_clear(&step);
    }
    const ek__runs_to_fit all = {.n = n, .job = job, .seconds = seconds, .group = group, .held = held};
    ek__runs_fit fit;
    if (ek__runs_fit_run(&all, &start, &fit, &err))
        fail_msg("%s", err.message);
    assert_non_null(fit.layers);
    for (int i = 0; i < n; i++)
        if (held[i]) {
            missed += fabs(fit.fit.after[i] - log(seconds[i]));
            plain += fabs(fit.fit.before[i] - log(seconds[i]));
            n_held++;
            /* Little of a step is its head, so that is known to be longer, not by how much. */
            assert_true(log(ek__layer_table_factor(fit.layers, row[2 * i + 1].at)) > 0.03);
        }
    print_message("# layers of made runs: kept back %.1f %%, at the start %.1f %%\n", 100 * missed / n_held,
                  100 * plain / n_held);
    assert_true(n_held > 3 && missed / n_held < 0.02 && missed < 0.3 * plain);
    ek__runs_fit_clear(&fit);
    ek__layer_table_free(truth.layers);
    ek_measured_runs_clear(&measured);
}

/* ---- link tests ---- */

static void constants_of_links_come_back(void **state)
{
    (void)state;
    enum { SIZES = 12 };
    ek_device truth = start_device(), device = start_device();
    truth.tier[0].share[EK_COLLECTIVE_ALL_REDUCE] = 0.6;
    truth.tier[0].start_us[EK_COLLECTIVE_ALL_REDUCE] = 30;
    truth.tier[1].share[EK_COLLECTIVE_ALL_REDUCE] = 0.9;
    ek_link_time time[2 * SIZES];
    for (int i = 0; i < 2 * SIZES; i++) {
        bool far = i >= SIZES;
        ek__ranks ranks = {.n = far ? 32 : 8, .in = {8, far ? 32 : 8}, .sharing = {1, 1}};
        double bytes = 1e5 * pow(3, i % SIZES);
        time[i] = (ek_link_time){.what = EK_COLLECTIVE_ALL_REDUCE, .n_ranks = ranks.n, .per_node = 8, .bytes = bytes};
        time[i].seconds = ek__collective_seconds(&truth, EK_COLLECTIVE_ALL_REDUCE, &ranks, bytes).seconds;
    }
    ek_calibrated_link link[EK_MAX_LINK_FITS];
    int n_links;
    ek_error err = {0};
    if (ek__links_fit(time, 2 * SIZES, &device, link, &n_links, &err))
        fail_msg("%s", err.message);
    assert_int_equal(n_links, 2);
    for (int i = 0; i < 2; i++)
        print_message("# tier %d: share %.3f, start %.1f us, latency %.1f us, half %.3g bytes, median error %.4f\n", i,
                      device.tier[i].share[0], device.tier[i].start_us[0], device.tier[i].latency_us,
                      device.tier[i].half_bytes, link[i].median_error);
    assert_true(fabs(device.tier[0].share[EK_COLLECTIVE_ALL_REDUCE] / 0.6 - 1) < 0.03);
    assert_true(fabs(device.tier[1].share[EK_COLLECTIVE_ALL_REDUCE] / 0.9 - 1) < 0.03);
    assert_true(link[0].n == SIZES && link[0].median_error < 0.02 && link[1].median_error < 0.02);
    assert_true(device.tier[0].basis == EK_COST_FITTED);
}

static ek_link_log parsed(const char *name, const char *text)
{
    ek_link_log log;
    ek_error err = {0};
    if (ek_link_log_parse(name, text, strlen(text), 8, &log, &err))
        fail_msg("%s", err.message);
    return log;
}

static void logs_of_nccl_tests_are_read(void **state)
{
    (void)state;
    /* Columns as in nccl-tests 2.13 and newer, with a root; before that without one. */
    ek_link_log log = parsed("x.log", "# Collective test starting: reduce_scatter_perf\n"
                                      "#  Rank  0 Group  0 Pid 11 on node-a device  0 [0x07] A100\n"
                                      "#  Rank  1 Group  0 Pid 12 on node-a device  1 [0x0f] A100\n"
                                      "#  Rank  2 Group  0 Pid 13 on node-b device  0 [0x07] A100\n"
                                      "#  Rank  3 Group  0 Pid 14 on node-b device  1 [0x0f] A100\n"
                                      "#       size   count   type  redop  root   time   algbw  busbw #wrong\n"
                                      "  0 0 float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n"
                                      "  4096 1024 float sum -1 20.5 0.20 0.15 0 21.0 0.20 0.15 0\n"
                                      "  8192 2048 float sum -1 25 0.33 0.25 N/A 21.0 0.20 0.15 N/A\n");
    assert_int_equal(log.n, 2);
    assert_true(log.time[0].what == EK_COLLECTIVE_REDUCE_SCATTER && log.time[0].bytes == 4096);
    assert_true(log.time[0].n_ranks == 4 && log.time[0].per_node == 2 && log.time[0].line == 8);
    assert_true(fabs(log.time[0].seconds - 20.5e-6) < 1e-12 && fabs(log.time[1].seconds - 25e-6) < 1e-12);
    ek_link_log_clear(&log);
    log = parsed("dir/all_reduce_perf.txt", "#  size count type redop time algbw busbw error time algbw busbw error\n"
                                            "1048576 262144 float sum 100.0 10.49 18.35 1e-06 101.0 10.4 18.2 1e-06\n");
    assert_true(log.n == 1 && log.time[0].what == EK_COLLECTIVE_ALL_REDUCE && log.time[0].n_ranks == 8);
    assert_true(fabs(log.time[0].seconds - 1e-4) < 1e-12);
    ek_link_log_clear(&log);
}

static void logs_of_hccl_test_are_read(void **state)
{
    (void)state;
    ek_link_log log = parsed("log", "mpirun -n 16 ./bin/all_gather_test -b 1M -e 2M -f 2 -d fp16 -p 8\n"
                                    "the minbytes is 1048576, maxbytes is 2097152, iters is 20, warmup_iters is 5\n"
                                    "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
                                    "1048576 | 200.00 | 83.88608 | success\n"
                                    "2097152           | 300.00         | 111.848107         | NULL\n");
    assert_int_equal(log.n, 2);
    assert_true(log.time[0].what == EK_COLLECTIVE_ALL_GATHER && log.time[0].n_ranks == 16 && log.time[0].per_node == 8);
    /* The bandwidth is that of all 16 parts. */
    assert_true(log.time[0].bytes == 16 * 1048576.0 && log.time[1].bytes == 16 * 2097152.0);
    assert_true(fabs(log.time[1].seconds - 3e-4) < 1e-12);
    ek_link_log_clear(&log);
}

/* Output of an all-reduce of 8 and an all-gather of 4 ranks: bandwidths as the tools define them. */
#define ALL_REDUCE_ROW "1048576 262144 float sum -1 100.0 10.49 18.35 0 101.0 10.4 18.2 0\n"
#define ALL_GATHER_ROW "1048576 65536 float none -1 100.0 10.49 7.86 0 101.0 10.4 7.8 0\n"
#define COLUMNS        "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"

static void several_tests_in_one_log_are_told_apart(void **state)
{
    (void)state;
    ek_link_log log =
        parsed("all.log", "# Collective test starting: all_reduce_perf\n"
                          "#  Rank  0 Group  0 Pid 11 on a device  0 [0x07] A100\n"
                          "#  Rank  1 Group  0 Pid 12 on a device  1 [0x0f] A100\n" COLUMNS
                          "1048576 262144 float sum -1 100.0 10.49 10.49 0 101.0 10.4 10.4 0\n"
                          "# Collective test concluded: all_reduce_perf\n"
                          "./build/broadcast_perf -b 1M -e 1M\n" COLUMNS
                          "1048576 262144 float none 0 90.0 11.65 11.65 0 101.0 10.4 10.4 0\n"
                          "# Collective test starting: all_gather_perf\n"
                          "#  Rank  0 Group  0 Pid 11 on a device  0 [0x07] A100\n"
                          "#  Rank  1 Group  0 Pid 12 on a device  1 [0x0f] A100\n"
                          "#  Rank  2 Group  0 Pid 13 on b device  0 [0x07] A100\n"
                          "#  Rank  3 Group  0 Pid 14 on b device  1 [0x0f] A100\n" COLUMNS ALL_GATHER_ROW);
    assert_int_equal(log.n, 2);
    assert_true(log.time[0].what == EK_COLLECTIVE_ALL_REDUCE && log.time[0].n_ranks == 2 && log.time[0].per_node == 2);
    assert_true(log.time[1].what == EK_COLLECTIVE_ALL_GATHER && log.time[1].n_ranks == 4 && log.time[1].per_node == 2);
    ek_link_log_clear(&log);
    /* A loop that prints its command once. */
    log = parsed("log", "mpirun -n 8 ./bin/all_reduce_test -p 8 -d fp32 -o sum -w 10 -n 20\n"
                        "data_size(Bytes): | avg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
                        "1048576 | 200.00 | 5.24288 | success\n"
                        "mpirun -n 16 ./bin/all_gather_test -p 8 -d fp32 -n 20\n"
                        "data_size(Bytes): | avg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
                        "1048576 | 200.00 | 83.88608 | success\n"
                        "2097152 | 1.00 | 2097.152 | failed\n");
    assert_int_equal(log.n, 2);
    assert_true(log.time[0].what == EK_COLLECTIVE_ALL_REDUCE && log.time[0].n_ranks == 8);
    assert_true(log.time[1].what == EK_COLLECTIVE_ALL_GATHER && log.time[1].n_ranks == 16);
    ek_link_log_clear(&log);
}

static void repetitions_are_no_ranks(void **state)
{
    static const struct {
        const char *text;
        int n_ranks, per_node;
    } logs[] = {
        {"srun -n 8 ./build/all_reduce_perf -b 1M -e 8G -f 2 -n 100\n" COLUMNS ALL_REDUCE_ROW, 8, 8},
        {"srun --ntasks=16 --mpi=pmix ./build/all_reduce_perf -n 100\n" COLUMNS ALL_REDUCE_ROW, 16, 8},
        {"mpirun -np 2 ./build/all_reduce_perf -g 8 -n 50\n# nThread 1 nGpus 8 minBytes 1\n" COLUMNS ALL_REDUCE_ROW, 16,
         8},
        {"./build/all_reduce_perf -g 8 -n 100\n" COLUMNS ALL_REDUCE_ROW, 8, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        ek_link_log log = parsed("x.log", logs[i].text);
        if (log.n != 1 || log.time[0].n_ranks != logs[i].n_ranks || log.time[0].per_node != logs[i].per_node)
            fail_msg("log %zu: %d ranks, %d of a node", i, log.time[0].n_ranks, log.time[0].per_node);
        ek_link_log_clear(&log);
    }
}

static void a_launchers_ranks_before_lines_are_passed_over(void **state)
{
    static const char *const logs[] = {
        "[1,0]<stdout>:# Collective test starting: all_reduce_perf\n[1,0]<stdout>:" COLUMNS
        "[1,0]<stdout>:     " ALL_REDUCE_ROW,
        "0: # Collective test starting: all_reduce_perf\n0: " COLUMNS "0:      " ALL_REDUCE_ROW,
    };
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        ek_link_log log = parsed("x.log", logs[i]);
        assert_true(log.n == 1 && log.time[0].n_ranks == 8 && log.time[0].bytes == 1048576);
        ek_link_log_clear(&log);
    }
}

static void wrong_link_logs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *message;
        int line;
    } wrong[] = {
        {"all_reduce.log", "nothing\n", "no row of nccl-tests or hccl_test", 0},
        {"x.log", "# size count type redop root time algbw busbw\n1 1 float sum -1 5.0 1.0 1.5 0\n",
         "do not name their collective", 2},
        {"all_gather.log", "# root algbw\n1024 1 float none -1 5.0 0.2 0.2 0\n", "the number of ranks", 0},
        {"all_reduce.log", "# root algbw\n1024 1 float sum -1 0.0 2.0 3.5 0\n", "above 0", 2},
        {"all_reduce.log", "# root algbw\n\n1024 1 float sum -1 abc 2.0 3.5 0\n", "has no time", 3},
        {"broadcast_perf.log", "# root algbw\n1024 1 float none 0 5.0 2.0 2.0 0\n", "no step has", 0},
        {"all_reduce.log", COLUMNS ALL_REDUCE_ROW COLUMNS ALL_GATHER_ROW, "are not those of an all-reduce", 4},
        {"all_gather.log", COLUMNS ALL_REDUCE_ROW, "are those of an all-reduce", 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ek_link_log log;
        ek_error err = {0};
        assert_int_equal(ek_link_log_parse(wrong[i].name, wrong[i].text, strlen(wrong[i].text), 8, &log, &err),
                         EK_ERR_INPUT);
        if (!strstr(err.message, wrong[i].message) || err.line != wrong[i].line)
            fail_msg("%s: line %d: %s", wrong[i].message, err.line, err.message);
    }
}

/* ---- candidates ---- */

static ek__candidates *candidates_of(const char *const *path, int n, double memory_gib, ek_job *job)
{
    const ek_job *jobs[8];
    ek_error err;
    ek_device device = *ek_device_find("A100-80");
    device.memory_gib = memory_gib;
    for (int i = 0; i < n; i++) {
        if (ek_job_read(source_path(path[i]), NULL, NULL, &job[i], &err))
            fail_msg("%s: %s", path[i], err.message);
        jobs[i] = &job[i];
    }
    ek__candidates *c = calloc(1, sizeof *c);
    assert_int_equal(ek__candidates_make(jobs, n, &device, c, &err), EK_OK);
    return c;
}

static void free_candidates(ek__candidates *c, ek_job *job, int n)
{
    ek__candidates_clear(c);
    free(c);
    for (int i = 0; i < n; i++)
        ek_job_clear(&job[i]);
}

/* Peak that is in use, which does not depend on the limit as blocks of an allocator do; INFINITY where it does not fit.
 */
static double peak_gib(const ek_job *job, double limit_gib)
{
    ek_job limited = *job;
    ek_memory memory;
    ek_error err;
    int64_t most = 0;
    limited.limit_mb = 1024 * limit_gib;
    if (ek_memory_predict(&limited, NULL, &memory, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < memory.n_stages; i++)
        most = memory.stage[i].used_peak > most ? memory.stage[i].used_peak : most;
    bool fits = memory.fits;
    ek_memory_clear(&memory);
    return fits ? ldexp((double)most, -30) : INFINITY;
}

/* Every candidate is run by its framework, is the same model, trains as many sequences on as many devices (or both
 * twice), and fits into the memory; with less memory there are fewer. */
static void candidates_are_runs_that_fit(void **state)
{
    (void)state;
    static const char *const path[] = {"examples/llama2_13b_2_pp2.yaml", "examples/llama175b_train.yaml",
                                       "tests/data/job/moe.args"};
    enum { JOBS = sizeof path / sizeof *path };
    static ek_job job[JOBS];
    double most = 0;
    bool stages = false, chunks = false, full = false, none = false, expert = false;
    ek__candidates *c = candidates_of(path, JOBS, 1e6, job);
    assert_true(c->n > 10);
    for (int i = 0; i < c->n; i++) {
        const ek_job *is = &c->job[i], *was = &job[c->from[i]];
        const ek_job_parallel *p = &is->parallel, *q = &was->parallel;
        double devices = (double)p->data * p->tensor * p->pipeline * p->context /
                         ((double)q->data * q->tensor * q->pipeline * q->context);
        double sequences = (double)p->data * p->batch * p->n_micro_batches * p->n_accumulation /
                           ((double)q->data * q->batch * q->n_micro_batches * q->n_accumulation);
        char change[320];
        assert_int_equal(ek_job_check(is, NULL), EK_OK);
        assert_memory_equal(&is->model, &was->model, sizeof is->model);
        assert_true(devices == sequences && (devices == 1 || devices == 2));
        ek__candidate_change(was, is, change, sizeof change);
        assert_true(strlen(change) > 10);
        stages |= p->pipeline != q->pipeline;
        chunks |= is->plan.n_chunks != was->plan.n_chunks;
        expert |= p->expert != q->expert;
        full |= is->plan.full[0] == is->plan.layers[0] && was->plan.full[0] < was->plan.layers[0];
        none |= is->plan.full[0] == 0 && was->plan.full[0] > 0;
        most = fmax(most, peak_gib(is, 1e6));
    }
    assert_true(stages && chunks && expert && (full || none));
    int all = c->n;
    free_candidates(c, job, JOBS);
    for (double limit = most * 0.999; limit > most / 20; limit /= 3) {
        c = candidates_of(path, JOBS, limit, job);
        assert_true(c->n < all);
        for (int i = 0; i < c->n; i++)
            assert_true(peak_gib(&c->job[i], limit) <= limit);
        free_candidates(c, job, JOBS);
    }
}

static void a_change_is_said_in_the_frameworks_words(void **state)
{
    (void)state;
    static ek_job mindformers[1], megatron[1];
    static const char *const yaml[] = {"examples/llama2_13b_2_pp2.yaml"}, *const script[] = {"tests/data/job/moe.args"};
    ek_job *was = mindformers, is;
    char text[320];
    free_candidates(candidates_of(yaml, 1, 80, was), NULL, 0);
    is = *was;
    is.parallel.pipeline *= 2, is.parallel.data /= 2, is.parallel.n_micro_batches *= 2;
    ek__candidate_change(was, &is, text, sizeof text);
    char expected[320];
    snprintf(expected, sizeof expected,
             "pipeline_stage %d instead of %d, data_parallel %d instead of %d, micro_batch_num %d instead of %d",
             is.parallel.pipeline, was->parallel.pipeline, is.parallel.data, was->parallel.data,
             is.parallel.n_micro_batches, was->parallel.n_micro_batches);
    assert_string_equal(text, expected);
    ek_job_clear(was);
    was = megatron;
    free_candidates(candidates_of(script, 1, 80, was), NULL, 0);
    is = *was;
    is.parallel.tensor *= 2, is.parallel.data /= 2, is.parallel.n_micro_batches *= 2;
    ek__candidate_change(was, &is, text, sizeof text);
    snprintf(expected, sizeof expected, "tensor-model-parallel-size %d instead of %d", is.parallel.tensor,
             was->parallel.tensor);
    assert_string_equal(text, expected);
    ek_job_clear(was);
}

/* ---- the design on a device that is not known ---- */

enum { FIRST = 6, MORE = EK_N_PROPOSED, DRAWS = 8, TRIED = FIRST + MORE };

static ek_device hidden_device(const ek_device *start, ek__random *random)
{
    ek_device d = *start;
    double *const share[] = {&d.curve[EK_KERNEL_MATMUL].share, &d.curve[EK_KERNEL_MEMORY].memory_share,
                             &d.curve[EK_KERNEL_ATTENTION_BACKWARD].share, &d.optimizer_share};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++)
        *share[i] = fmin(1, *share[i] * exp(0.25 * normal(random)));
    for (int t = 0; t < d.n_tiers; t++)
        for (int k = 0; k < EK_N_COLLECTIVES; k++)
            d.tier[t].share[k] = fmin(1, d.tier[t].share[k] * exp(0.5 * normal(random)));
    d.host.layer_us[EK_LAUNCH_EAGER] *= exp(0.7 * normal(random));
    return d;
}

static void predict_on(const ek_device *d, const ek_job *const *job, int n, double *out)
{
    bool wanted[EK__MAX_CANDIDATES];
    ek_error err;
    memset(wanted, 1, sizeof wanted);
    ek__job_runs all = {.n = n, .job = job};
    assert_int_equal(ek__job_runs_predict(&all, d, wanted, out, &err), EK_OK);
    ek__job_runs_clear(&all);
}

/* A fit to the first n jobs with these logarithms of steps. */
static ek__fit fit_jobs(const ek_device *start, const ek_job *const *job, const double *logarithm, int n)
{
    double seconds[TRIED];
    int group[TRIED];
    ek__job_runs all = {.n = n, .job = job};
    for (int i = 0; i < n; i++) {
        seconds[i] = exp(logarithm[i]);
        group[i] = i;
    }
    const ek__fit_problem problem = {
        .n = n, .seconds = seconds, .group = group, .predict = ek__job_runs_predict, .user = &all};
    ek__fit fit;
    ek_error err;
    if (ek__fit_run(&problem, start, &fit, &err))
        fail_msg("%s", err.message);
    ek__job_runs_clear(&all);
    return fit;
}

/* Mean square error of the logarithm over the candidates of a fit that also has three of them. */
static double error_with(const ek_device *start, const ek_job **job, double *logarithm, const ek__candidates *c,
                         const double *truth, const int *chosen, ek__random *random)
{
    const ek_job *others[EK__MAX_CANDIDATES];
    double after[EK__MAX_CANDIDATES], sum = 0;
    for (int i = 0; i < c->n; i++)
        others[i] = &c->job[i];
    for (int i = 0; i < MORE; i++) {
        job[FIRST + i] = others[chosen[i]];
        logarithm[FIRST + i] = truth[chosen[i]] + 0.01 * normal(random);
    }
    ek__fit fit = fit_jobs(start, job, logarithm, TRIED);
    predict_on(&fit.device, others, c->n, after);
    for (int i = 0; i < c->n; i++)
        sum += pow(after[i] - truth[i], 2) / c->n;
    ek__fit_clear(&fit);
    return sum;
}

static void choose(const ek__fit *fit, const ek__candidates *c, int *chosen)
{
    const ek_job *job[EK__MAX_CANDIDATES];
    double value[EK__MAX_CANDIDATES], spread[MORE + 1];
    double *gradient = calloc((size_t)c->n * (size_t)fit->n_constants, sizeof *gradient);
    int n = MORE;
    ek_error err;
    for (int i = 0; i < c->n; i++)
        job[i] = &c->job[i];
    ek__job_runs all = {.n = c->n, .job = job};
    assert_int_equal(ek__fit_jacobian(fit, c->n, ek__job_runs_predict, &all, value, gradient, &err), EK_OK);
    assert_int_equal(ek__fit_design(fit, c->n, gradient, &n, chosen, spread, &err), EK_OK);
    assert_int_equal(n, MORE);
    ek__job_runs_clear(&all);
    free(gradient);
}

/* On unknown devices the three proposed runs improve predictions of all layouts more than three random candidates. */
static void proposed_runs_tell_more_than_random_ones(void **state)
{
    (void)state;
    ek_measured_runs table;
    ek_error err = {0};
    ek__random random = ek__random_seed(2026);
    const ek_device *start = ek_device_find("A100-80");
    const ek_job *job[TRIED];
    double logarithm[TRIED], truth[EK__MAX_CANDIDATES], by_design = 0, by_chance = 0;
    int better = 0, chosen[MORE];
    ek__candidates *c = calloc(1, sizeof *c);
    if (ek_run_table_read(source_path("examples/calibrate/runs.csv"), NULL, &table, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < FIRST; i++)
        job[i] = &table.run[i * table.n / FIRST].job;
    assert_int_equal(ek__candidates_make(job, FIRST, start, c, &err), EK_OK);
    assert_true(c->n > 20);
    const int draws = effort(DRAWS, 1);
    for (int draw = 0; draw < draws; draw++) {
        const ek_device device = hidden_device(start, &random);
        const ek_job *others[EK__MAX_CANDIDATES];
        for (int i = 0; i < c->n; i++)
            others[i] = &c->job[i];
        predict_on(&device, others, c->n, truth);
        predict_on(&device, job, FIRST, logarithm);
        for (int i = 0; i < FIRST; i++)
            logarithm[i] += 0.01 * normal(&random);
        ek__fit fit = fit_jobs(start, job, logarithm, FIRST);
        choose(&fit, c, chosen);
        ek__fit_clear(&fit);
        double design = error_with(start, job, logarithm, c, truth, chosen, &random);
        for (int i = 0; i < MORE; i++)
            chosen[i] = (int)(ek__random_unit(&random) * c->n / MORE) + i * (c->n / MORE);
        double chance = error_with(start, job, logarithm, c, truth, chosen, &random);
        by_design += design / draws;
        by_chance += chance / draws;
        better += design < chance;
    }
    print_message("# %d candidates: root mean square error %.1f %% by design, %.1f %% at random; better in %d of %d\n",
                  c->n, 100 * sqrt(by_design), 100 * sqrt(by_chance), better, draws);
    assert_true(isfinite(by_design) && isfinite(by_chance));
    if (draws == DRAWS) /* one device determines nothing */
        assert_true(by_design < by_chance && better > DRAWS / 2);
    ek__candidates_clear(c);
    free(c);
    ek_measured_runs_clear(&table);
}

/* ---- the whole ---- */

/* The example's jobs with the steps that a device of known constants takes, as a table in `path`. */
static void write_made_runs(const char *path, const ek_device *truth)
{
    ek_measured_runs table;
    ek_error err = {0};
    size_t size;
    char *text = slurp(source_path("examples/calibrate/runs.csv"), &size), *line = text;
    ek__random random = ek__random_seed(31);
    FILE *out = fopen(path, "w");
    assert_non_null(text);
    assert_non_null(out);
    if (ek_run_table_read(source_path("examples/calibrate/runs.csv"), NULL, &table, &err))
        fail_msg("%s", err.message);
    for (int i = -1; i < table.n; i++, line += strcspn(line, "\n") + 1) {
        int length = (int)strcspn(line, "\n");
        ek_step step;
        if (i < 0) {
            fprintf(out, "%.*s\n", length, line);
            continue;
        }
        while (line[length - 1] != ',')
            length--;
        if (ek_cost_step(&table.run[i].job, truth, NULL, &step, &err))
            fail_msg("%s", err.message);
        fprintf(out, "%.*s%.9g\n", length, line, step.seconds * exp(0.01 * normal(&random)));
        ek_step_clear(&step);
    }
    fclose(out);
    free(text);
    ek_measured_runs_clear(&table);
}

static void made_runs_come_back(void **state)
{
    (void)state;
    static const char path[] = "test_calibrate_runs.csv";
    ek_device truth = *ek_device_find("A100-80");
    truth.curve[EK_KERNEL_MATMUL].share *= 0.85;
    truth.curve[EK_KERNEL_MEMORY].memory_share *= 0.85;
    truth.tier[1].share[EK_COLLECTIVE_ALL_REDUCE] = 0.9;
    write_made_runs(path, &truth);
    const char *const paths[] = {path};
    const ek_calibrate_input input = {.path = paths, .n_paths = 1, .holdout = 0.25};
    ek_calibration c;
    ek_error err = {0};
    ek_status status = ek_calibrate(&input, &c, &err);
    remove(path);
    if (status)
        fail_msg("%s", err.message);
    print_message("# made runs: start %.1f %%, fit %.1f %%, groups left out %.1f %%, kept back %.1f %%\n",
                  100 * c.before.mean, 100 * c.fit.mean, 100 * c.leave_group_out.mean, 100 * c.held.mean);
    assert_true(c.n_used == 16 && c.n_held == 8 && c.n_left == 0 && c.n_runs == 24);
    assert_true(c.held.mean < 0.03 && c.held.mean < 0.4 * c.held_before.mean);
    assert_true(c.fit.mean < 0.015 && c.leave_one_out.mean >= c.fit.mean);
    assert_true(c.n_proposed == EK_N_PROPOSED && c.proposed[2].after < c.candidate_error);
    for (int i = 0; i < c.n_runs; i++) /* whole groups are held out */
        for (int k = 0; k < c.n_runs; k++)
            assert_true(strcmp(c.run[i].group, c.run[k].group) != 0 || c.run[i].held == c.run[k].held);
    for (int i = 0; i < c.n_constants; i++)
        if (strcmp(c.constant[i].name, "curve.matmul.share") == 0 && c.constant[i].state == EK_FIT_DETERMINED)
            assert_true(fabs(c.constant[i].value - truth.curve[EK_KERNEL_MATMUL].share) < 4 * c.constant[i].error);
    assert_int_equal(c.device.error_basis, c.n_groups > 2 ? EK_ERROR_LEAVE_GROUP_OUT : EK_ERROR_LEAVE_ONE_OUT);
    ek_calibration_clear(&c);
}

/* Products that were timed by themselves, as a curve has them. */
static void write_kernels(const char *path, const ek_device *device)
{
    static const char *const layouts[] = {"TN", "NN", "NT"};
    static const double lengths[] = {1024, 4096, 12288};
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("device,operator,batch,m,k,n,layout,accumulate,out_dtype,groups,stage,seq,heads,kv_heads,qk_dim,v_dim,"
          "qkv_contiguous,peak_tflops,share_of_peak\n",
          out);
    for (int i = 0; i < 27 * 3; i++) {
        const double m = lengths[i % 3], n = lengths[i / 3 % 3], k = lengths[i / 9 % 3];
        const bool adds = i / 27 == 2;
        const ek_kernel one = {.kind = EK_KERNEL_MATMUL,
                               .pass = (ek_pass)(i / 27),
                               .type = EK_BF16,
                               .groups = 1,
                               .m = m,
                               .n = n,
                               .k = k,
                               .accumulates = adds,
                               .flops = 2 * m * n * k,
                               .bytes = 2 * (m * k + k * n) + (adds ? 8 : 2) * m * n};
        fprintf(out, "x,matmul,1,%g,%g,%g,%s,%s,%s,,,,,,,,,312,%.9g\n", m, k, n, layouts[i / 27],
                adds ? "true" : "false", adds ? "fp32" : "bf16", one.flops / (ek__kernel_curve(device, &one) * 312e12));
    }
    fclose(out);
}

/* Runs with products that take longer than in their separate timings: measured shapes do, too. */
static void runs_tell_how_much_longer_kernels_take_in_steps(void **state)
{
    (void)state;
    static const char runs_path[] = "test_calibrate_alone_runs.csv", kernels_path[] = "test_calibrate_alone.csv";
    const ek_device *alone = ek_device_find("A100-80");
    const double share = alone->curve[EK_KERNEL_MATMUL].share;
    ek_device truth = *alone;
    truth.curve[EK_KERNEL_MATMUL].share *= 0.85;
    write_kernels(kernels_path, alone);
    write_made_runs(runs_path, &truth);
    const char *const paths[] = {kernels_path, runs_path};
    const ek_calibrate_input input = {.path = paths, .n_paths = 2};
    ek_calibration c;
    ek_error err = {0};
    ek_status status = ek_calibrate(&input, &c, &err);
    remove(kernels_path);
    remove(runs_path);
    if (status)
        fail_msg("%s", err.message);
    const ek_curve *found = &c.device.curve[EK_KERNEL_MATMUL];
    print_message("# products reach %.3f alone, %.3f in steps, where they were made with %.3f and %.3f\n",
                  found->alone_share, found->share, share, 0.85 * share);
    assert_true(fabs(found->alone_share / share - 1) < 0.03);
    for (int i = 0; i < c.n_constants; i++)
        if (strcmp(c.constant[i].name, "curve.matmul.share") == 0) {
            assert_string_equal(ek_fit_state_name[c.constant[i].state], "determined");
            assert_true(fabs(found->share - 0.85 * share) < 3 * c.constant[i].error);
        }
    assert_true(found->share < 0.93 * found->alone_share);
    assert_true(c.fit.mean < 0.02);
    assert_true(c.device.curve[EK_KERNEL_ATTENTION_FORWARD].alone_share == 0);
    ek_calibration_clear(&c);
}

/* Runs of measured tables: held-out groups are predicted better than with the shipped device. */
static void measured_runs_are_met_when_left_out(void **state)
{
    (void)state;
    const char *const paths[] = {source_path("tests/data/published/reference/measured/simumax_b200.csv")};
    const ek_calibrate_input input = {.path = paths, .n_paths = 1, .holdout = 0.2};
    ek_calibration c;
    ek_error err = {0};
    if (ek_calibrate(&input, &c, &err))
        fail_msg("%s", err.message);
    print_message("# SimuMax: start %.1f %%, fit %.1f %%, groups left out %.1f %%, kept back %.1f %%\n",
                  100 * c.before.mean, 100 * c.fit.mean, 100 * c.leave_group_out.mean, 100 * c.held.mean);
    assert_true(c.leave_one_out.mean < 0.06 && c.leave_group_out.mean < 0.12 && c.held.mean < 0.08);
    ek_calibration_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_that_made_the_runs_are_found_within_their_errors),
        cmocka_unit_test(a_limit_that_is_not_reached_at_the_start_is_found),
        cmocka_unit_test(what_no_run_tells_is_named_and_left_alone),
        cmocka_unit_test(what_is_seen_too_little_is_wide),
        cmocka_unit_test(what_ends_at_a_bound_is_not_determined),
        cmocka_unit_test(a_disturbed_run_is_no_more_than_a_disturbed_run),
        cmocka_unit_test(runs_of_a_group_that_err_alike_count_as_few),
        cmocka_unit_test(layers_tell_of_others_beyond_chance_alone),
        cmocka_unit_test(leaving_out_agrees_with_refitting),
        cmocka_unit_test(runs_that_are_held_back_change_nothing),
        cmocka_unit_test(the_design_foretells_what_a_run_narrows),
        cmocka_unit_test(a_layer_table_is_the_mean_of_a_gaussian_process),
        cmocka_unit_test(a_layer_table_survives_its_file),
        cmocka_unit_test(a_step_errs_as_steps_of_layers_like_its_own),
        cmocka_unit_test(layers_are_learned_from_the_other_runs),
        cmocka_unit_test(a_disturbed_run_is_no_layer),
        cmocka_unit_test(layers_and_heads_of_made_runs_come_back),
        cmocka_unit_test(constants_of_links_come_back),
        cmocka_unit_test(logs_of_nccl_tests_are_read),
        cmocka_unit_test(logs_of_hccl_test_are_read),
        cmocka_unit_test(several_tests_in_one_log_are_told_apart),
        cmocka_unit_test(repetitions_are_no_ranks),
        cmocka_unit_test(a_launchers_ranks_before_lines_are_passed_over),
        cmocka_unit_test(wrong_link_logs_are_refused),
        cmocka_unit_test(candidates_are_runs_that_fit),
        cmocka_unit_test(a_change_is_said_in_the_frameworks_words),
        cmocka_unit_test(proposed_runs_tell_more_than_random_ones),
        cmocka_unit_test(made_runs_come_back),
        cmocka_unit_test(runs_tell_how_much_longer_kernels_take_in_steps),
        cmocka_unit_test(measured_runs_are_met_when_left_out),
    };
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
