/* Tests the runs to try: the chosen set against all sets, the predicted loss against drawn devices, and whether a
 * calibration to the runs then finds the best plan of an unknown device. */
#include <math.h>

#include "effort.h"
#include "input.h"

#include "calibrate/runs_fit.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "layout/sensitivity.h"

enum { N_PLANS = 40, N_TRIALS = 3 };

#define NOISE 0.005 /* as trials.c has them */
#define OWN   0.01

/* Jobs with little memory, so that degrees are close. */
typedef struct trial_case {
    const char *path, *device;
    int n_layers, n_devices, global_batch;
    double limit_mb;
} trial_case;

/* Of the first one, 12 layers of 13B on 16 devices, are the tests of the choice. */
static const trial_case cases[] = {
    {"examples/megatron_13b.sh", "A100-80", 12, 16, 32, 20000},
    {"examples/megatron_13b.sh", "A100-80", 24, 16, 32, 20000},
    {"examples/megatron_13b.sh", "A100-80", 16, 32, 64, 16000},
    {"examples/llama2_13b_2_pp2.yaml", "910B", 20, 16, 32, 30000},
    {"examples/moe_16b_config.json", "A100-80", 12, 16, 32, 30000},
};

static ek_job job;
static const ek_device *device;
static ek_layout_options options;
static ek_layout_result result;

static ek_status search_case(const trial_case *c, ek_error *err)
{
    ek_job_overrides with = ek_job_overrides_none();
    with.n_layers = c->n_layers;
    ek_status status = ek_job_read(source_path(c->path), &with, NULL, &job, err);
    if (status)
        return status;
    job.limit_mb = c->limit_mb;
    device = ek_device_find(c->device);
    ek_layout_options_init(&options);
    options.n_devices = c->n_devices;
    options.global_batch = c->global_batch;
    options.n_best = N_PLANS;
    options.sequence_parallel = 1;
    options.range[EK_AXIS_CHUNKS] = options.range[EK_AXIS_CONTEXT] = (ek_layout_range){1, 1};
    options.range[EK_AXIS_BATCH] = (ek_layout_range){1, 2};
    return ek_layout_search(&job, device, &options, &result, err);
}

static int set_up(void **state)
{
    (void)state;
    ek_error err;
    return search_case(&cases[0], &err) == EK_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ek_layout_result_clear(&result);
    ek_job_clear(&job);
    return 0;
}

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

/* ---- the choice ---- */

enum { SETS_DRAWS = 4000, MOST = 40 };

static double covariance[MOST][MOST], truth[SETS_DRAWS][MOST];

static void draw_truth(const ek__sensitivity *s)
{
    uint64_t seed = 424242424242ULL;
    size_t m = (size_t)s->n_constants;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) {
            covariance[i][j] = i == j ? OWN * OWN : 0;
            for (size_t k = 0; k < m; k++)
                covariance[i][j] += s->move[(size_t)i * m + k] * s->move[(size_t)j * m + k];
        }
    for (int d = 0; d < SETS_DRAWS; d++) {
        double z[EK__MAX_CONSTANTS];
        for (size_t k = 0; k < m; k++)
            z[k] = normal(&seed);
        for (int i = 0; i < s->n; i++) {
            truth[d][i] = s->log_step[i] + OWN * normal(&seed);
            for (size_t k = 0; k < m; k++)
                truth[d][i] += s->move[(size_t)i * m + k] * z[k];
        }
    }
}

/* Loss after measuring two plans, the normal's conditional mean by hand. */
static double loss_of_pair(const ek__sensitivity *s, int a, int b)
{
    double p = covariance[a][a] + NOISE * NOISE, q = covariance[b][b] + NOISE * NOISE, r = covariance[a][b];
    double det = p * q - r * r, sum = 0;
    uint64_t seed = 777777777ULL;
    for (int d = 0; d < SETS_DRAWS; d++) {
        double x = truth[d][a] + NOISE * normal(&seed) - s->log_step[a];
        double y = truth[d][b] + NOISE * normal(&seed) - s->log_step[b], least = INFINITY, best = INFINITY;
        int taken = 0;
        for (int i = 0; i < s->n; i++) {
            double u = covariance[i][a], v = covariance[i][b];
            double mean = s->log_step[i] + ((u * q - v * r) * x + (v * p - u * r) * y) / det;
            if (mean < least) {
                least = mean;
                taken = i;
            }
            best = fmin(best, truth[d][i]);
        }
        sum += expm1(truth[d][taken] - best);
    }
    return sum / SETS_DRAWS;
}

static void the_pair_that_is_chosen_is_the_best_of_all_pairs(void **state)
{
    (void)state;
    const ek_job *jobs[MOST];
    ek_layout_trials trials;
    ek__sensitivity s;
    int n = result.n_plans < 20 ? result.n_plans : 20;
    for (int i = 0; i < n; i++)
        jobs[i] = &result.plan[i].job;
    assert_int_equal(ek__sensitivity_new(jobs, n, device, &s, NULL), EK_OK);
    assert_int_equal(ek_layout_choose_trials(result.plan, n, device, 2, &trials, NULL), EK_OK);
    draw_truth(&s);
    double least = INFINITY, none = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++)
            least = fmin(least, loss_of_pair(&s, a, b));
    for (int d = 0; d < SETS_DRAWS; d++) {
        double best = INFINITY;
        for (int i = 0; i < n; i++)
            best = fmin(best, truth[d][i]);
        none += expm1(truth[d][0] - best) / SETS_DRAWS; /* the shortest predicted */
    }
    double chosen = loss_of_pair(&s, trials.trial[0].plan, trials.trial[1].plan);
    print_message("# lost before any run %.4f (said %.4f), after the pair %.4f (said %.4f), after the best pair %.4f\n",
                  none, trials.loss, chosen, trials.trial[1].loss, least);
    assert_true(fabs(trials.loss / none - 1) < 0.2);
    assert_true(fabs(trials.trial[1].loss / chosen - 1) < 0.3);
    assert_true(chosen < 1.15 * least);
    assert_true(chosen < 0.6 * none);
    ek__sensitivity_clear(&s);
}

static void runs_are_different_and_each_leaves_less(void **state)
{
    (void)state;
    ek_layout_trials trials;
    assert_int_equal(ek_layout_choose_trials(result.plan, result.n_plans, device, 6, &trials, NULL), EK_OK);
    assert_int_equal(trials.n, 6);
    for (int i = 0; i < trials.n; i++) {
        assert_true(trials.trial[i].loss <= (i ? trials.trial[i - 1].loss : trials.loss) + 1e-12);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(trials.trial[i].plan, trials.trial[k].plan);
    }
    assert_int_equal(ek_layout_choose_trials(result.plan, 2, device, 6, &trials, NULL), EK_OK);
    assert_int_equal(trials.n, 2);
    assert_int_equal(ek_layout_choose_trials(result.plan, 2, device, 0, &trials, NULL), EK_ERR_INPUT);
    assert_int_equal(ek_layout_choose_trials(result.plan, 0, device, 1, &trials, NULL), EK_ERR_INPUT);
}

/* ---- simulated truth ---- */

/* A device with all constants off by 20 %. */
static ek_device hidden_device(uint64_t *seed)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    ek_device made = *device;
    int n = ek__constants_of(device, constant);
    for (int k = 0; k < n; k++) {
        double at = ek__constant_get(&constant[k], device), off = at * exp(0.2 * normal(seed));
        ek__constant_set(&constant[k], fmin(fmax(off, fmin(at, constant[k].least)), fmax(at, constant[k].most)), &made);
    }
    return made;
}

static void search_on(const ek_device *on, ek_layout_result *out)
{
    ek_layout_options one = options;
    ek_error err = {0};
    one.n_best = 1;
    if (ek_layout_search(&job, on, &one, out, &err))
        fail_msg("%s", err.message);
}

/* Measure the trials on the hidden device, fit the shipped one to them, plan again. @param again_seconds  out: the new
 * best plan's step there. @return the step of the plan that is taken */
static double plan_after_trials(const ek_layout_trials *trials, const ek_device *hidden, double *again_seconds)
{
    const ek_job *run[N_TRIALS];
    double seconds[N_TRIALS];
    int group[N_TRIALS];
    ek__runs_fit fit;
    ek_layout_result again;
    int taken;
    for (int i = 0; i < N_TRIALS; i++) {
        run[i] = &result.plan[trials->trial[i].plan].job;
        seconds[i] = step_on(run[i], hidden);
        group[i] = i;
    }
    const ek__runs_to_fit measured = {.n = N_TRIALS, .job = run, .seconds = seconds, .group = group};
    assert_int_equal(ek__runs_fit_run(&measured, device, &fit, NULL), EK_OK);
    search_on(&fit.fit.device, &again);
    assert_int_equal(
        ek_layout_take_after_trials(&again.plan[0].job, run, seconds, N_TRIALS, device, &fit.fit.device, &taken, NULL),
        EK_OK);
    *again_seconds = step_on(&again.plan[0].job, hidden);
    ek_layout_result_clear(&again);
    ek__runs_fit_clear(&fit);
    return taken < 0 ? *again_seconds : seconds[taken];
}

/* The losses on n drawn devices. @return on how many the chosen plan loses less than 0.5 % */
static int count_found(const trial_case *c, int n)
{
    int before = 0, after = 0, new_best = 0;
    uint64_t seed = 88172645463325252ULL;
    ek_layout_trials trials;
    double worst = 0;
    assert_int_equal(ek_layout_choose_trials(result.plan, result.n_plans, device, N_TRIALS, &trials, NULL), EK_OK);
    for (int d = 0; d < n; d++) {
        const ek_device hidden = hidden_device(&seed);
        ek_layout_result best;
        double again;
        search_on(&hidden, &best);
        double least = best.plan[0].estimate.step.seconds, found = plan_after_trials(&trials, &hidden, &again);
        before += step_on(&result.plan[0].job, &hidden) < 1.005 * least;
        after += found < 1.005 * least;
        new_best += again < 1.005 * least;
        worst = fmax(worst, found / least - 1);
        ek_layout_result_clear(&best);
    }
    print_message("# %s, %d layers, %d devices: regret below 0.5 %% in %d of %d before, in %d after %d runs (worst "
                  "%.1f %%), in %d by the new best plan alone\n",
                  c->path, c->n_layers, c->n_devices, before, n, after, N_TRIALS, 100 * worst, new_best);
    return after;
}

/* EK_TRIAL_DRAWS=100 takes more devices. */
static void after_three_runs_the_best_plan_is_found(void **state)
{
    (void)state;
    const char *told = getenv("EK_TRIAL_DRAWS");
    int n = told ? atoi(told) : effort(12, 1);
    for (size_t i = 0; i < (size_t)effort(sizeof cases / sizeof *cases, 1); i++) {
        ek_error err;
        tear_down(NULL);
        if (search_case(&cases[i], &err))
            fail_msg("%s", err.message);
        assert_true(count_found(&cases[i], n) >= (95 * n) / 100); /* 11 of 12 */
    }
}

/* Runs of other work have no effect; of the job's own the shortest come first, and a far longer one is not taken. */
static void runs_of_a_table_are_weighed(void **state)
{
    (void)state;
    ek_measured_run run[4] = {{.has_job = true}};
    ek_layout_tries tries;
    ek_error err;
    int last = result.n_plans - 1;
    for (int i = 0; i < 4; i++) {
        run[i] = (ek_measured_run){.has_job = true, .job = result.plan[last - i].job, .step_seconds = 9 - i};
        snprintf(run[i].name, sizeof run[i].name, "%d", i);
    }
    run[3].job.parallel.seq_length /= 2;
    ek_measured_runs runs = {.path = (char *)"runs.csv", .n = 4, .run = run};
    assert_int_equal(ek_layout_weigh_tries(&result, &runs, device, &tries, &err), EK_OK);
    assert_int_equal(tries.n, 3);
    assert_int_equal(tries.n_others, 1);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(tries.run[i].run, &run[2 - i]);
        assert_float_equal(tries.run[i].predicted, result.plan[last - 2 + i].estimate.step.seconds, 1e-12);
    }
    assert_int_equal(tries.taken, -1);
    run[1].step_seconds = 0.5 * result.plan[0].estimate.step.seconds;
    assert_int_equal(ek_layout_weigh_tries(&result, &runs, device, &tries, &err), EK_OK);
    assert_int_equal(tries.taken, 0);
    assert_ptr_equal(tries.run[0].run, &run[1]);
    run[0] = run[1] = run[2] = run[3];
    assert_int_equal(ek_layout_weigh_tries(&result, &runs, device, &tries, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "'runs.csv' has no run of this model"));
}

/* Shorter by more than the error: the new plan; by less, or by a device that cannot be: the run. */
static void the_new_plan_is_taken_where_it_is_surely_shorter(void **state)
{
    (void)state;
    int last = result.n_plans - 1, taken = 7;
    double error[4], seconds[] = {20, 10};
    const ek_layout_plan pair[2] = {result.plan[0], result.plan[last]};
    const ek_job *first = &result.plan[0].job, *second = &result.plan[1].job, *far = &result.plan[last].job;
    assert_int_equal(ek_layout_difference_errors(pair, 2, device, error, NULL), EK_OK);
    assert_true(pair[1].estimate.step.seconds - pair[0].estimate.step.seconds > error[1]);
    const ek_job *runs[] = {second, far};
    assert_int_equal(ek_layout_take_after_trials(first, runs, seconds, 2, device, device, &taken, NULL), EK_OK);
    assert_int_equal(taken, -1);
    ek_device other = *device;
    other.host.layer_us[EK_LAUNCH_EAGER] *= 7;
    assert_int_equal(ek_layout_take_after_trials(first, runs, seconds, 2, device, &other, &taken, NULL), EK_OK);
    assert_int_equal(taken, 1);
    seconds[0] = 0.5;
    runs[0] = first;
    assert_int_equal(ek_layout_take_after_trials(second, runs, seconds, 2, device, device, &taken, NULL), EK_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(ek_layout_take_after_trials(second, runs, seconds, 0, device, device, &taken, NULL), EK_ERR_INPUT);
}

/* Runs as long as predicted confirm the first plan's step, too: it is taken where they are far from it, whatever the
 * fitted device. */
static void a_calibration_that_cannot_be_leaves_it_to_the_runs(void **state)
{
    (void)state;
    int last = result.n_plans - 1, taken = 7;
    const ek_job *runs[] = {&result.plan[last].job};
    double seconds[] = {result.plan[last].estimate.step.seconds}, shortest = result.plan[0].estimate.step.seconds;
    ek_device other = *device;
    other.host.layer_us[EK_LAUNCH_EAGER] *= 7;
    assert_true(seconds[0] > 1.2 * shortest);
    assert_int_equal(ek_layout_take_after_trials(&result.plan[0].job, runs, seconds, 1, device, &other, &taken, NULL),
                     EK_OK);
    assert_int_equal(taken, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pair_that_is_chosen_is_the_best_of_all_pairs),
        cmocka_unit_test(runs_are_different_and_each_leaves_less),
        cmocka_unit_test(the_new_plan_is_taken_where_it_is_surely_shorter),
        cmocka_unit_test(a_calibration_that_cannot_be_leaves_it_to_the_runs),
        cmocka_unit_test(runs_of_a_table_are_weighed),
        cmocka_unit_test(after_three_runs_the_best_plan_is_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
