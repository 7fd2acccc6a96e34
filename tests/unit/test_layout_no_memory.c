/* Tests memory that runs out at any time while layouts are searched, and during the advice on them: every function
 * reports it, and leaves its output unchanged. Linked with --wrap, so the library itself needs no hook. */
#include "effort.h"

#include <math.h>

#include "evenkeel/layout_advice.h"
#include "evenkeel/layout_fit.h"
#include "input.h"
#include "no_memory.h"

FAILING_ALLOC
FAILING_WITH_ROOM

static ek_job job; /* of four layers, arguments of Megatron */
static const ek_device *device;
static ek_layout_options options;
static ek_layout_result found; /* of the search below, with plans */
static ek_layout_result none;  /* of one that finds none */

static int set_up(void **state)
{
    (void)state;
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_error err = {0};
    overrides.n_layers = 4;
    overrides.data = overrides.tensor = 1;
    overrides.pipeline = 4;
    overrides.n_micro_batches = 16;
    device = ek_device_find("A100-80");
    if (!device || ek_job_read(source_path("examples/megatron_13b.sh"), &overrides, NULL, &job, &err))
        return -1;
    job.limit_mb = 70000;
    ek_layout_options_init(&options);
    options.n_devices = 4;
    options.global_batch = 16;
    options.n_best = 3;
    options.n_threads = 1;
    options.time_limit = INFINITY;
    options.range[EK_AXIS_CHUNKS] = (ek_layout_range){1, 1};
    options.range[EK_AXIS_CONTEXT] = options.range[EK_AXIS_BATCH] = (ek_layout_range){1, 1};
    static ek_job small;
    small = job;
    small.limit_mb = 100;
    return ek_layout_search(&job, device, &options, &found, &err) ||
           ek_layout_search(&small, device, &options, &none, &err);
}

static int tear_down(void **state)
{
    (void)state;
    ek_layout_result_clear(&found);
    ek_layout_result_clear(&none);
    ek_job_clear(&job);
    return 0;
}

/* A call with memory for a number of allocations: first for none, then for more and more, until there is enough. */
typedef ek_status call(ek_error *err);
static ek_status balance_chunks(ek_error *err);

/* Bounds by mixes of paths are left out where there is no memory for them, and the answer is the same. */
static bool does_without(call *of)
{
    return of == balance_chunks;
}

static void run_out(const char *name, call *of, int most_steps)
{
    int n = 0, tried = 0;
    for (;; tried++) {
        ek_error err = {0};
        atomic_store(&allocations_left, n);
        ek_status status = of(&err);
        bool failed = atomic_exchange(&allocations_left, -1) < 0;
        if (!failed) {
            assert_int_equal(status, EK_OK);
            break;
        }
        if (status == EK_OK && does_without(of)) {
            n++;
            continue;
        }
        if (status != EK_ERR_MEMORY || strcmp(err.message, "out of memory") != 0)
            fail_msg("%s after %d allocations: %d, %s", name, n, status, err.message);
        n += tried < effort(most_steps, 10) ? 1 : 1 + n / effort(100, 2);
    }
    print_message("# %s: %d of about %d allocations failed\n", name, tried, n);
    assert_true(tried > 0);
}

static ek_layout layout_of(int pipeline, int chunks)
{
    ek_layout layout = ek_layout_of(&job);
    const int value[EK_N_LAYOUT_AXES] = {4 / pipeline, 1, 1, 1, pipeline, chunks, 1, 1, 1, 1, 1, 1};
    memcpy(layout.value, value, sizeof value);
    layout.n_micro_batches = 16 * pipeline / 4;
    layout.sequence_parallel = false;
    layout.schedule = ek_schedule_default(chunks, 0);
    return layout;
}

static ek_status balance(int pipeline, int chunks, ek_error *err)
{
    const ek_layout layout = layout_of(pipeline, chunks);
    ek_layout_plan plan = {.group = 77};
    ek_status status = ek_layout_balance(&job, device, &layout, &plan, err);
    assert_int_equal(plan.group, status ? 77 : -1);
    if (!status) {
        static double seconds[5];       /* by chunks; of the first call that had enough memory */
        assert_non_null(plan.job.path); /* it fits */
        seconds[chunks] = seconds[chunks] > 0 ? seconds[chunks] : plan.estimate.step.seconds;
        assert_true(plan.estimate.step.seconds == seconds[chunks]);
        ek_layout_plan_clear(&plan);
    }
    return status;
}

static ek_status bound(ek_error *err)
{
    const ek_layout layout = layout_of(2, 1);
    ek_layout_bound out;
    return ek_layout_bound_of(&job, device, &layout, &out, err);
}

static ek_status balance_single(ek_error *err)
{
    return balance(2, 1, err);
}

static ek_status balance_chunks(ek_error *err)
{
    return balance(2, 2, err);
}

static ek_status search(ek_error *err)
{
    ek_layout_result result = {.n_plans = 77};
    ek_status status = ek_layout_search(&job, device, &options, &result, err);
    assert_int_equal(result.n_plans, status ? 77 : 3);
    if (!status)
        ek_layout_result_clear(&result);
    return status;
}

static ek_status explain(ek_error *err)
{
    ek_layout_options with = options;
    ek_layout_explanation out = {.limit_mb = 77};
    with.range[EK_AXIS_PIPELINE] = (ek_layout_range){2, 2};
    ek_status status = ek_layout_explain(&job, device, &with, &found.plan[0], &out, err);
    assert_int_equal(out.limit_mb == 77, status != EK_OK);
    if (!status)
        ek_layout_explanation_clear(&out);
    return status;
}

static ek_status explain_what_does_not_fit(ek_error *err)
{
    ek_layout_explanation out = {.limit_mb = 77};
    ek_status status = ek_layout_explain(none.job, device, &options, NULL, &out, err);
    assert_int_equal(out.limit_mb == 77, status != EK_OK);
    if (!status)
        ek_layout_explanation_clear(&out);
    return status;
}

static ek_status thumbs(ek_error *err)
{
    ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS] = {{.name = "as it was"}};
    ek_status status = ek_layout_thumbs(&found, thumb, err);
    assert_int_equal(strcmp(thumb[0].name, "as it was") == 0, status != EK_OK);
    if (!status)
        ek_layout_thumbs_clear(thumb);
    return status;
}

static ek_status would_fit(ek_error *err)
{
    ek_layout_fits fits = {.n = 77};
    ek_status status = ek_layout_would_fit(&none, &fits, err);
    assert_int_equal(fits.n == 77, status != EK_OK);
    for (int i = 0; !status && i < fits.n; i++) { /* 100 MB are too few on any devices */
        assert_int_equal(fits.fit[i].fits, fits.fit[i].change == EK_FIT_MEMORY);
        assert_int_equal(fits.fit[i].n_devices, fits.fit[i].change == EK_FIT_DEVICES ? 4 * 64 : 4);
    }
    return status;
}

static ek_status find_way(ek_error *err)
{
    ek_layout_way way = {.n = 77};
    ek_status status = ek_layout_find_way(&found, &found.plan[0], INFINITY, &way, err);
    assert_int_equal(way.n == 77, status != EK_OK);
    return status;
}

static ek_status errors(ek_error *err)
{
    ek_layout_trials trials = {.n = 77};
    ek_status status = ek_layout_choose_trials(found.plan, found.n_plans, device, 2, &trials, err);
    assert_int_equal(trials.n, status ? 77 : 2);
    return status ? status : ek_layout_group_plans(&found, err);
}

static ek_status take(ek_error *err)
{
    const ek_job *const tried[] = {&found.plan[1].job};
    const double seconds[] = {1};
    int taken = 77;
    ek_status status = ek_layout_take_after_trials(&found.plan[0].job, tried, seconds, 1, device, device, &taken, err);
    assert_int_equal(taken == 77, status != EK_OK);
    return status;
}

static ek_status sweep(ek_error *err)
{
    const double devices[] = {2, 4};
    ek_layout_sweep_input in = {.what = EK_SWEEP_DEVICES, .value = devices, .n = 2, .options = options};
    ek_layout_sweep out = {.n = 77};
    ek_status status = ek_layout_sweep_run(&job, device, &in, &out, err);
    assert_int_equal(out.n, status ? 77 : 2);
    if (!status)
        ek_layout_sweep_clear(&out);
    return status;
}

static void any_allocation_of_a_balance_may_fail(void **state)
{
    (void)state;
    run_out("bound", bound, 100);
    run_out("one chunk", balance_single, 100);
    run_out("two chunks", balance_chunks, 60);
}

/* With several chunks a bound by mixes of paths is also searched: without memory for one of its six arrays there is
 * none, and the other bounds stay. */
static void of_chunks_all_allocations_but_those_of_a_mix_are_needed(void **state)
{
    (void)state;
    const ek_layout layout = layout_of(2, 2);
    ek_layout_bound whole, out;
    int n = 0, n_lower = 0, n_needed = 0;
    assert_int_equal(ek_layout_bound_of(&job, device, &layout, &whole, NULL), EK_OK);
    for (bool failed = true; failed; n++) {
        atomic_store(&allocations_left, n);
        ek_status status = ek_layout_bound_of(&job, device, &layout, &out, NULL);
        failed = atomic_exchange(&allocations_left, -1) < 0;
        assert_true(status == EK_OK || (failed && status == EK_ERR_MEMORY));
        n_needed += status != EK_OK;
        n_lower += status == EK_OK && failed;
        if (!status)
            assert_true(out.seconds > 0 && out.seconds <= whole.seconds);
    }
    print_message("# %d of %d allocations are needed, %d not\n", n_needed, n - 1, n_lower);
    assert_int_equal(n_lower % 6, 0);
    assert_true(n_needed > 60);
}

static void any_allocation_of_a_search_may_fail(void **state)
{
    (void)state;
    run_out("search", search, 40);
    run_out("sweep", sweep, 20);
}

static void any_allocation_of_advice_may_fail(void **state)
{
    (void)state;
    run_out("explain", explain, 20);
    run_out("explain what does not fit", explain_what_does_not_fit, 20);
    run_out("thumbs", thumbs, 20);
    run_out("would fit", would_fit, 20);
    run_out("way", find_way, 20);
}

static void any_allocation_of_errors_may_fail(void **state)
{
    (void)state;
    run_out("errors", errors, 20);
    run_out("after trials", take, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_of_a_balance_may_fail),
        cmocka_unit_test(of_chunks_all_allocations_but_those_of_a_mix_are_needed),
        cmocka_unit_test(any_allocation_of_a_search_may_fail),
        cmocka_unit_test(any_allocation_of_advice_may_fail),
        cmocka_unit_test(any_allocation_of_errors_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
