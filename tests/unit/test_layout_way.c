/* Tests the way from the current job to a plan: each change is made by pasting its settings into the file, on top of
 * those before it, and step and peak must be the reported ones; the last must be the plan; the first must be the best
 * of all changes. */
#include "effort.h"
#include "paste.h"

#include <math.h>

#include "evenkeel/layout_advice.h"

typedef struct asked {
    const char *job, *device;
    int n_devices, layers, most_chunks;
    double limit_mb;
} asked;

static ek_job read_job(const char *path, int layers)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_job job;
    ek_error err = {0};
    overrides.n_layers = layers;
    if (ek_job_read(path, &overrides, NULL, &job, &err))
        fail_msg("%s: %s", path, err.message);
    return job;
}

static double step_of(const ek_job *job, const ek_device *device)
{
    ek_step step;
    ek_error err = {0};
    if (ek_cost_step(job, device, NULL, &step, &err))
        fail_msg("%s", err.message);
    double seconds = step.seconds;
    ek_step_clear(&step);
    return seconds;
}

/* @param file  the job as it is in its file; NULL: `job` */
static ek_layout_result search(const asked *a, const ek_job *job, const ek_job *file)
{
    ek_layout_options o;
    ek_layout_result result;
    ek_error err = {0};
    ek_layout_options_init(&o);
    o.n_devices = a->n_devices;
    o.n_best = 1;
    o.range[EK_AXIS_CHUNKS] = (ek_layout_range){1, a->most_chunks};
    o.time_limit = INFINITY;
    o.file = file;
    if (ek_layout_search(job, ek_device_find(a->device), &o, &result, &err))
        fail_msg("%s: %s", a->job, err.message);
    assert_int_equal(result.n_plans, 1);
    return result;
}

/* The file of the state before, in the folder of pasted ones. */
static const char *pasted_path(const char *path)
{
    return below(paste_ends_with(path, ".yaml") ? "pasted.yaml" : "pasted.sh");
}

static void take_the_way(const asked *a, const ek_device *device, const ek_layout_way *way)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path(a->job));
    for (int i = 0; i < way->n; i++) {
        const ek_layout_way_step *step = &way->step[i];
        ek_job job;
        if (!step->settings[0])
            fail_msg("%s, change %d has no settings", a->job, i + 1);
        assert_int_equal(read_pasted(path, step->settings, NULL, &job), PASTED);
        job.limit_mb = a->limit_mb;
        double seconds = step_of(&job, device), peak = paste_peak_mb(&job);
        if (fabs(seconds / step->seconds - 1) > 1e-9 || fabs(peak - step->peak_mb) > 0.01)
            fail_msg("%s, change %d: said %.9g s and %.2f MB, pasted %.9g s and %.2f MB\n%s", a->job, i + 1,
                     step->seconds, step->peak_mb, seconds, peak, step->settings);
        assert_int_equal(step->fits, peak <= a->limit_mb);
        ek_job_clear(&job);
        snprintf(path, sizeof path, "%s", pasted_path(a->job));
    }
}

static void each_change_is_what_its_settings_make(void **state)
{
    static const asked all[] = {
        {"examples/llama2_13b_2_pp2.yaml", "Atlas 800T A2", 16, 0, 1, 60416},
        {"examples/llama2_13b_2_pp2.yaml", "Atlas 800T A2", 16, 0, 2, 30000},
        {"examples/llama2_13b_6_full_4_0.yaml", "Atlas 800T A2", 16, 0, 1, 40000},
        {"examples/megatron_13b.sh", "A100-80", 64, 0, 2, 70000},
    };
    int changes = 0;
    (void)state;
    for (int i = 0; i < effort(sizeof all / sizeof *all, 1); i++) {
        const asked *a = &all[i];
        const ek_device *device = ek_device_find(a->device);
        ek_job job = read_job(source_path(a->job), a->layers);
        ek_layout_way way;
        ek_error err = {0};
        job.limit_mb = a->limit_mb;
        ek_job with;
        assert_int_equal(ek_layout_offer_sets(&job, device, &with, NULL), EK_OK);
        ek_layout_result result = search(a, &with, &job);
        if (ek_layout_find_way(&result, &result.plan[0], INFINITY, &way, &err))
            fail_msg("%s: %s", a->job, err.message);
        assert_true(way.n > 0);
        assert_true(fabs(way.seconds / step_of(&job, device) - 1) < 1e-9);
        unsigned done = 0;
        for (int k = 0; k < way.n; k++) {
            const ek_layout_way_step *step = &way.step[k];
            double before = k > 0 ? step[-1].seconds : way.seconds;
            bool fitted = k > 0 ? step[-1].fits : way.fits;
            assert_true(step->methods != 0 && (done & step->methods) == 0);
            done |= step->methods;
            assert_true(!fitted || step->fits);
            assert_true(!fitted || step->seconds < before || k == way.n - 1);
        }
        assert_true(fabs(way.step[way.n - 1].seconds / result.plan[0].estimate.step.seconds - 1) < 1e-9);
        take_the_way(a, device, &way);
        changes += way.n;
        ek_layout_result_clear(&result);
        ek_job_clear(&with);
        ek_job_clear(&job);
    }
    print_message("# %d changes taken\n", changes);
    assert_true(changes > effort(6, 0));
}

/* Where memory binds, plans that recompute the best operators are shorter than those with the usual patterns; patterns
 * that are not recomputed anywhere are not in them. Megatron takes one rule, and its job stays. */
static void sets_that_are_offered_shorten_the_plan(void **state)
{
    (void)state;
    const asked npu = {"examples/llama2_13b_2_pp2.yaml", "Atlas 800T A2", 16, 0, 1, 40000},
                gpu = {"examples/megatron_13b.sh", "A100-80", 64, 0, 1, 70000};
    ek_job job = read_job(source_path(npu.job), 0), with, same;
    job.limit_mb = npu.limit_mb;
    assert_int_equal(ek_layout_offer_sets(&job, ek_device_find(npu.device), &with, NULL), EK_OK);
    ek_layout_result usual = search(&npu, &job, NULL), offered = search(&npu, &with, &job);
    const ek_job *plan = &offered.plan[0].job;
    print_message("# %.3f s with the usual patterns, %.3f s with sets\n", usual.plan[0].estimate.step.seconds,
                  offered.plan[0].estimate.step.seconds);
    assert_true(offered.plan[0].estimate.step.seconds < 0.97 * usual.plan[0].estimate.step.seconds);
    assert_true(paste_peak_mb(plan) <= npu.limit_mb && plan->n_patterns > 0);
    for (int i = 0; i < plan->n_patterns; i++) {
        int n = 0;
        for (int c = 0; c < plan->plan.n_stages * plan->plan.n_chunks; c++)
            n += plan->pattern[i].layers[c];
        assert_true(n > 0);
    }
    ek_layout_result_clear(&usual);
    ek_layout_result_clear(&offered);
    ek_job_clear(&with);
    ek_job_clear(&job);
    job = read_job(source_path(gpu.job), 0);
    assert_int_equal(ek_layout_offer_sets(&job, ek_device_find(gpu.device), &same, NULL), EK_OK);
    assert_int_equal(same.n_patterns, job.n_patterns);
    ek_job_clear(&same);
    ek_job_clear(&job);
}

/* With the layout fixed there are two changes: only sharing the table, as a job that differs in it, gains less than
 * recomputation by lists that are tried one by one. */
static void the_first_change_is_the_best_one(void **state)
{
    (void)state;
    const asked a = {"examples/llama2_13b_2_pp2.yaml", "Atlas 800T A2", 16, 0, 1, 60416};
    const ek_device *device = ek_device_find(a.device);
    ek_job job = read_job(source_path(a.job), 0);
    ek_layout_way way;
    job.limit_mb = a.limit_mb;
    ek_layout_result result = search(&a, &job, NULL);
    assert_int_equal(ek_layout_find_way(&result, &result.plan[0], INFINITY, &way, NULL), EK_OK);
    assert_int_equal(way.step[0].methods, 1U << EK_METHOD_RECOMPUTE);
    double best = INFINITY;
    ek_job tried;
    assert_int_equal(ek_job_copy(&job, &tried, NULL), EK_OK);
    for (int first = 0; first <= 20; first++)
        for (int second = 0; second <= 20; second++) {
            tried.plan.full[0] = first;
            tried.plan.full[1] = second;
            if (paste_peak_mb(&tried) <= a.limit_mb)
                best = fmin(best, step_of(&tried, device));
        }
    assert_true(way.step[0].seconds <= best * (1 + 1e-9)); /* with patterns it may be shorter than with whole layers */
    ek_job_clear(&tried);
    assert_int_equal(ek_job_copy(&job, &tried, NULL), EK_OK);
    tried.states.shard_table = true;
    assert_true(way.step[0].seconds < step_of(&tried, device));
    ek_job_clear(&tried);
    ek_layout_result_clear(&result);
    ek_job_clear(&job);
}

/* Experts on other ranks, fewer tensor-parallel ranks with norms cut over them or not, and longer micro-batches, of a
 * small model: in each state all values that its changes set are the plan's, and all others are the current job's. */
static void a_change_moves_what_is_its_own_alone(void **state)
{
    (void)state;
    static const char text[] =
        "--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 "
        "--global-batch-size 16 --vocab-size 32000 --data-parallel-size 2 --tensor-model-parallel-size 4 --bf16 "
        "--swiglu "
        "--use-distributed-optimizer %s\n";
    static const struct {
        const char *more;
        int tensor, expert, batch;
        bool sequence_parallel;
    } to[] = {{"--sequence-parallel --num-experts 4 --moe-router-topk 2 --moe-grouped-gemm", 2, 4, 2, true},
              {"--sequence-parallel --num-experts 4 --moe-router-topk 2 --moe-grouped-gemm", 4, 2, 1, true},
              {"", 2, 1, 2, true},
              {"", 4, 1, 4, true},
              {"--sequence-parallel", 2, 1, 2, false}};
    const ek_device *device = ek_device_find("A100-80");
    int changes = 0;
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        FILE *f = fopen(below("small.sh"), "w");
        assert_non_null(f);
        fprintf(f, text, to[i].more);
        assert_int_equal(fclose(f), 0);
        ek_job job = read_job(below("small.sh"), 0);
        job.limit_mb = 70000;
        const ek_layout from = ek_layout_of(&job);
        ek_layout wanted = from;
        ek_layout_plan plan;
        ek_layout_way way;
        ek_error err = {0};
        wanted.value[EK_AXIS_DATA] = wanted.value[EK_AXIS_SHARD] = 8 / to[i].tensor;
        wanted.value[EK_AXIS_TENSOR] = to[i].tensor;
        wanted.value[EK_AXIS_EXPERT] = to[i].expert;
        wanted.value[EK_AXIS_BATCH] = to[i].batch;
        wanted.n_micro_batches = 2 * to[i].tensor / to[i].batch;
        wanted.sequence_parallel = to[i].sequence_parallel;
        if (ek_layout_balance(&job, device, &wanted, &plan, &err))
            fail_msg("%s", err.message);
        const ek_layout_result result = {.job = &job,
                                         .file = &job,
                                         .device = device,
                                         .options = {.n_devices = 8, .global_batch = 16},
                                         .n_plans = 1,
                                         .plan = &plan,
                                         .today = {.layout = from, .job = job}};
        if (ek_layout_find_way(&result, &plan, INFINITY, &way, &err))
            fail_msg("%s", err.message);
        unsigned done = 0;
        for (int k = 0; k < way.n; k++) {
            const ek_layout *now = &way.step[k].layout;
            done |= way.step[k].methods;
            const ek_layout *degrees = done >> EK_METHOD_DEGREES & 1 ? &wanted : &from,
                            *batch = done >> EK_METHOD_BATCH & 1 ? &wanted : &from;
            assert_int_equal(now->value[EK_AXIS_EXPERT], degrees->value[EK_AXIS_EXPERT]);
            assert_int_equal(now->sequence_parallel, degrees->sequence_parallel);
            assert_int_equal(now->value[EK_AXIS_BATCH], batch->value[EK_AXIS_BATCH]);
            assert_int_equal(now->value[EK_AXIS_TENSOR], degrees->value[EK_AXIS_TENSOR]);
            assert_int_equal(now->n_micro_batches * now->value[EK_AXIS_BATCH] * now->value[EK_AXIS_DATA], 16);
        }
        assert_true(way.n > 0 && ek_layout_equal(&way.step[way.n - 1].layout, &wanted));
        changes += way.n;
        ek_layout_plan_clear(&plan);
        ek_job_clear(&job);
    }
    assert_true(changes > 3);
}

static void without_a_layout_of_today_there_is_no_way(void **state)
{
    (void)state;
    const asked a = {"examples/llama2_13b_2_pp2.yaml", "Atlas 800T A2", 8, 0, 1, 60416};
    ek_job job = read_job(source_path(a.job), 0);
    ek_layout_way way;
    ek_error err = {0};
    job.limit_mb = a.limit_mb;
    ek_layout_result result = search(&a, &job, NULL);
    assert_int_equal(ek_layout_find_way(&result, &result.plan[0], INFINITY, &way, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "8 devices"));
    ek_layout_result_clear(&result);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_what_its_settings_make),
        cmocka_unit_test(sets_that_are_offered_shorten_the_plan),
        cmocka_unit_test(the_first_change_is_the_best_one),
        cmocka_unit_test(a_change_moves_what_is_its_own_alone),
        cmocka_unit_test(without_a_layout_of_today_there_is_no_way),
    };
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
