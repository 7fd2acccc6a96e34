/* Tests measures: the saving of each equals the predicted difference of a job changed by hand, and impossible ones have
 * a reason. */
#include "memory_model.h"

#include <math.h>

#include "assert_close.h"
#include "evenkeel/layers.h"

typedef struct list {
    ek_mitigation measure[EK_MAX_MEASURES];
    int n;
} list;

static list measures_of(const ek_job *job, const ek_device *device)
{
    list l = {.n = 0};
    ek_error err = {0};
    if (ek_memory_mitigations(job, device, l.measure, &l.n, &err))
        fail_msg("%s", err.message);
    return l;
}

static const ek_mitigation *named(const list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->measure[i].name, name) == 0)
            return &l->measure[i];
    fail_msg("no measure '%s'", name);
    return NULL;
}

static double largest_mb(const ek_job *job)
{
    ek_memory memory = predicted(job);
    double mb = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
    ek_memory_clear(&memory);
    return mb;
}

static void full(ek_job *job)
{
    memcpy(job->plan.full, job->plan.layers, 4 * sizeof(int));
}

static void shard_gradients(ek_job *job)
{
    job->states.shard_gradient = true;
}

static void pages(ek_job *job)
{
    job->rules.allocation = EK_ALLOCATION_PAGES;
}

static void half_batch(ek_job *job)
{
    job->parallel.batch /= 2;
    job->parallel.n_micro_batches *= 2;
}

static void more_tensor(ek_job *job)
{
    job->parallel.data /= 2;
    job->parallel.n_micro_batches *= 2;
    job->parallel.tensor *= 2;
    job->parallel.expert_tensor *= 2;
    job->parallel.table_split = job->parallel.head_split = 4;
}

static const struct {
    const char *name, *setting;
    void (*change)(ek_job *job);
} by_hand[] = {
    {"recompute every layer completely", "recompute: True", full},
    {"shard the gradient buffers, too", "gradient_accumulation_shard: True", shard_gradients},
    {"map memory in pages", "enable_vmm:True", pages},
    {"half the micro-batch, twice as many", "batch_size: 1, parallel_config.micro_batch_num: 16", half_batch},
    {"twice the tensor parallelism, half the data parallelism",
     "model_parallel: 4, data_parallel: 1, micro_batch_num: 16", more_tensor},
};

static void savings_are_those_of_a_job_changed_by_hand(void **state)
{
    (void)state;
    ek_job job;
    read_model(&job);
    list l = measures_of(&job, NULL);
    double today = largest_mb(&job);
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        const ek_mitigation *m = named(&l, by_hand[i].name);
        ek_job copy;
        assert_int_equal(ek_job_copy(&job, &copy, NULL), EK_OK);
        by_hand[i].change(&copy);
        double after = largest_mb(&copy);
        ek_job_clear(&copy);
        if (!m->possible || fabs(m->after_mb - after) > 1e-6 || fabs(m->saved_mb - (today - after)) > 1e-6)
            fail_msg("%s: after %g MB, by hand %g; %s", m->name, m->after_mb, after, m->why);
        assert_non_null(strstr(m->setting, by_hand[i].setting));
        assert_true(isnan(m->step_change));
    }
    ek_job_clear(&job);
}

static void the_largest_saving_comes_first_and_what_cannot_be_last(void **state)
{
    (void)state;
    ek_job job;
    read_model(&job);
    list l = measures_of(&job, NULL);
    assert_true(l.n > 15);
    for (int i = 0; i < l.n; i++) {
        const ek_mitigation *m = &l.measure[i], *before = i > 0 ? m - 1 : NULL;
        assert_true(!before || before->possible || !m->possible);
        assert_true(!before || !m->possible || before->saved_mb >= m->saved_mb);
        assert_true(m->possible ? m->setting[0] && !m->why[0] : m->why[0] && !m->setting[0]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(m->name, l.measure[k].name);
    }
    assert_false(named(&l, "sequence parallelism")->possible);
    assert_non_null(strstr(named(&l, "sequence parallelism")->why, "already"));
    assert_false(named(&l, "twice the expert parallelism")->possible);
    ek_job_clear(&job);
}

/* Where a switch, other lists or another split make it fit, one of them does: of those with the least effort the one
 * that saves least, since steps are unknown. Without one several are taken, and the last of them makes it fit. */
static void cheap_measures_go_before_other_degrees(void **state)
{
    static const double shares[] = {0.97, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};
    int n_single = 0, n_several = 0;
    ek_job job;
    (void)state;
    read_model(&job);
    double today = largest_mb(&job);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        static ek_mitigation taken[EK_MAX_MEASURES];
        const ek_mitigation *best = NULL;
        ek_error err = {0};
        int n;
        job.limit_mb = shares[i] * today;
        double missing = largest_mb(&job) - job.limit_mb;
        list l = measures_of(&job, NULL);
        for (int k = 0; k < l.n; k++) {
            const ek_mitigation *m = &l.measure[k];
            if (m->possible && m->effort <= 1 && m->fits && m->saved_mb > 0.1 * missing &&
                (!best || m->effort < best->effort || (m->effort == best->effort && m->saved_mb < best->saved_mb)))
                best = m;
        }
        if (ek_memory_measures_to_fit(&job, NULL, taken, &n, &err))
            fail_msg("%s", err.message);
        if (best) {
            assert_int_equal(n, 1);
            assert_string_equal(taken[0].name, best->name);
            n_single++;
            continue;
        }
        n_several += n > 1;
        for (int k = 0; k < n; k++) {
            assert_int_equal(taken[k].fits, k == n - 1);
            assert_true(k > 0 || taken[k].effort <= 1);
        }
    }
    assert_true(n_single >= 2 && n_several >= 2);
    ek_job_clear(&job);
}

/* After the first measure a switch is taken that saves a seventh of the missing memory. */
static void a_tenth_of_what_is_missing_is_enough(void **state)
{
    (void)state;
    static ek_mitigation taken[EK_MAX_MEASURES];
    ek_job job;
    int n;
    read_model(&job);
    job.limit_mb = 0.22 * largest_mb(&job);
    assert_int_equal(ek_memory_measures_to_fit(&job, NULL, taken, &n, NULL), EK_OK);
    assert_true(n > 2);
    double missing = largest_mb(&job) - taken[0].saved_mb - job.limit_mb;
    assert_string_equal(taken[0].name, "recompute every layer completely");
    assert_string_equal(taken[1].name, "shard the gradient buffers, too");
    assert_true(taken[1].saved_mb > 0.1 * missing && taken[1].saved_mb < 0.2 * missing);
    ek_job_clear(&job);
}

/* With a limit in between, the measure's count is the least that fits. */
static void just_enough_is_just_enough(void **state)
{
    (void)state;
    ek_job job;
    read_model(&job);
    memset(job.plan.full, 0, 4 * sizeof(int));
    job.limit_mb = 0.6 * largest_mb(&job);
    ek_memory memory = predicted(&job);
    int n_over = 0, k[4];
    for (int s = 0; s < memory.n_stages; s++)
        n_over += memory.stage[s].actual_peak > memory.limit;
    assert_true(n_over > 1);
    ek_memory_clear(&memory);
    list l = measures_of(&job, NULL);
    const ek_mitigation *m = named(&l, "recompute just enough layers of the stages over the limit");
    assert_true(m->possible && m->fits);
    assert_int_equal(job.plan.n_stages, 4);
    assert_int_equal(sscanf(m->setting, "recompute_config.recompute: [%d, %d, %d, %d]", &k[0], &k[1], &k[2], &k[3]), 4);
    for (int s = 0; s < 4; s++) {
        memcpy(job.plan.full, k, sizeof k);
        job.plan.full[s] = k[s] > 0 ? k[s] - 1 : 0;
        memory = predicted(&job);
        assert_int_equal(memory.stage[s].actual_peak <= memory.limit, k[s] == 0);
        ek_memory_clear(&memory);
    }
    ek_job_clear(&job);
}

/* Lists of some layers go with the layers where they are spread again, and the setting has them. */
static void recomputation_survives_other_stages(void **state)
{
    (void)state;
    ek_job job;
    ek_error err = {0};
    read_model(&job);
    memset(job.plan.full, 0, 4 * sizeof(int));
    job.plan.full[0] = 1;
    list l = measures_of(&job, NULL);
    const ek_mitigation *m = named(&l, "twice the stages, half the data parallelism");
    assert_true(m->possible);
    assert_non_null(strstr(m->setting, "recompute_config.recompute: ["));
    m = named(&l, "schedule ZB-V");
    assert_non_null(strstr(m->setting, "recompute_config.recompute: [["));
    ek_job_clear(&job);
    if (ek_job_read(source_path("examples/megatron_13b.sh"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    l = measures_of(&job, NULL);
    m = named(&l, "move a layer from the fullest to the emptiest stage");
    assert_non_null(strstr(m->setting, "--pipeline-model-parallel-layout \"Et*4|t*5|t*5|t*6|t*5|t*5|t*5|t*5L\""));
    ek_job_clear(&job);
}

static void steps_are_compared_where_a_device_is_given(void **state)
{
    (void)state;
    ek_job job;
    read_model(&job);
    list l = measures_of(&job, ek_device_find("910B"));
    assert_true(named(&l, "recompute every layer completely")->step_change > 0.05);
    assert_true(named(&l, "shard the gradient buffers, too")->step_change > 0); /* reduced after each micro-batch */
    assert_true(fabs(named(&l, "map memory in pages")->step_change) < 1e-12);
    for (int i = 0; i < l.n; i++)
        assert_true(!l.measure[i].possible || isfinite(l.measure[i].step_change));
    ek_job_clear(&job);
}

/* One stage becomes two: as if the file were read with the degrees that the setting names. */
static void a_pipeline_begins_with_two_stages(void **state)
{
    (void)state;
    ek_job job, other;
    ek_error err = {0};
    ek_job_overrides overrides = ek_job_overrides_none();
    const char *path = source_path("examples/llama2_13b_1_dp8.yaml");
    if (ek_job_read(path, NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    list l = measures_of(&job, ek_device_find("910B"));
    const ek_mitigation *m = named(&l, "twice the stages, half the data parallelism");
    assert_true(m->possible && m->fits);
    assert_non_null(strstr(m->setting, "pipeline_stage: 2, data_parallel: 4, micro_batch_num: 8, "
                                       "runner_config.batch_size: 1, "));
    overrides.pipeline = 2;
    overrides.data = 4;
    overrides.n_micro_batches = 8;
    overrides.batch = 1;
    if (ek_job_read(path, &overrides, NULL, &other, &err))
        fail_msg("%s", err.message);
    assert_true(fabs(m->after_mb - largest_mb(&other)) < 1e-6);
    /* Room for less recomputation, and a shorter step: the first list has fewer than all twenty layers. */
    int first, second;
    const char *recompute = strstr(m->relieved, "recompute_config.recompute: [");
    assert_non_null(recompute);
    assert_int_equal(sscanf(recompute, "recompute_config.recompute: [%d, %d]", &first, &second), 2);
    assert_true(first < 20 && second < first && m->relieved_change < 0);
    other.plan.full[0] = first;
    other.plan.full[1] = second;
    assert_true(fabs(m->relieved_mb - largest_mb(&other)) < 1e-6);
    assert_true(m->relieved_mb <= job.limit_mb);
    other.plan.full[0] = first - 1;
    assert_true(largest_mb(&other) > job.limit_mb);
    ek_job_clear(&other);
    ek_job_clear(&job);
}

/* Every number of layers that the stages may recompute whole, and every one of them selectively: none that fits has
 * shorter backward passes. */
static void the_least_recomputation_is_the_least(void **state)
{
    (void)state;
    ek_job job;
    ek_layers layers;
    ek_error err = {0};
    read_model(&job);
    double full_mb, none_mb, peak_mb;
    memcpy(job.plan.full, job.plan.layers, 4 * sizeof(int));
    full_mb = largest_mb(&job);
    memset(job.plan.full, 0, 4 * sizeof(int));
    none_mb = largest_mb(&job);
    assert_int_equal(ek_memory_to_layers(&job, ek_device_find("910B"), &layers, &err), EK_OK);
    for (int share = 0; share <= 4; share++) {
        double limit_mb = full_mb + (none_mb - full_mb) * share / 4;
        const ek_job_change change = {.plan = &job.plan};
        ek_plan plan;
        assert_int_equal(ek_memory_least_recompute(&job, &change, &layers, limit_mb, &plan, &peak_mb, &err), EK_OK);
        assert_non_null(plan.layers);
        assert_true(peak_mb <= limit_mb);
        for (int s = 0; s < 4; s++) {
            double best = INFINITY, peaks[4];
            ek_chunk_cost cost[4];
            ek_plan other;
            assert_int_equal(ek_plan_copy(&plan, &other, &err), EK_OK);
            ek_plan_costs(&plan, &layers, job.schedule->placement, cost);
            double found = cost[s].backward_time;
            for (int all = 0; all < 2; all++)
                for (int k = 0; k <= plan.layers[s]; k++) {
                    const ek_job_change tried = {.plan = &other};
                    other.full[s] = k;
                    other.select[s] = all ? plan.layers[s] : 0;
                    other.comm[s] = 0;
                    assert_int_equal(ek_memory_peaks_with(&job, &tried, peaks, &err), EK_OK);
                    ek_plan_costs(&other, &layers, job.schedule->placement, cost);
                    if (peaks[s] <= limit_mb)
                        best = fmin(best, cost[s].backward_time);
                }
            if (!(found <= best * (1 + 1e-9)))
                fail_msg("stage %d within %.0f MB: %g ms, but %g ms fit too", s, limit_mb, found, best);
            ek_plan_clear(&other);
        }
        ek_plan_clear(&plan);
    }
    const ek_job_change change = {.plan = &job.plan};
    ek_plan plan;
    ek_layers wrong = layers;
    wrong.n_layers++; /* than its kinds have */
    assert_int_equal(ek_memory_least_recompute(&job, &change, &wrong, none_mb, &plan, &peak_mb, &err), EK_ERR_INPUT);
    assert_int_equal(ek_memory_least_recompute(&job, &change, &layers, 0.5 * full_mb, &plan, &peak_mb, &err), EK_OK);
    assert_null(plan.layers);
    assert_true(isnan(peak_mb));
    ek_layers_clear(&layers);
    ek_job_clear(&job);
}

static void less_recomputation_is_a_measure(void **state)
{
    (void)state;
    ek_job job;
    read_model(&job);
    static const char name[] = "recompute no more than the memory limit requires";
    full(&job);
    job.limit_mb = 2 * largest_mb(&job);
    list l = measures_of(&job, ek_device_find("910B"));
    const ek_mitigation *m = named(&l, name);
    assert_true(m->possible && m->fits && m->step_change < -0.01 && m->after_mb <= job.limit_mb);
    assert_non_null(strstr(m->setting, "recompute_config.recompute: ["));
    /* the file's pattern, which no layer needs any more */
    assert_non_null(strstr(m->setting, "select_recompute: {'feed_forward\\.mul': [0, 0, 0, 0]}"));
    job.limit_mb = 0;
    l = measures_of(&job, NULL);
    assert_non_null(strstr(named(&l, name)->why, "no limit"));
    memset(job.plan.full, 0, 4 * sizeof(int));
    job.limit_mb = 1e6;
    l = measures_of(&job, NULL);
    assert_true(named(&l, name)->possible || strstr(named(&l, name)->why, "nothing is recomputed"));
    ek_job_clear(&job);
}

/* A file with recompute: True gets the effect of recomputing a part of each layer instead: less saved, less time.
 */
static void a_part_of_each_layer_instead_of_all(void **state)
{
    (void)state;
    static const char name[] = "recompute the activation functions in every layer, none whole";
    ek_job job;
    read_model(&job);
    for (int i = 0; i < job.n_patterns; i++)
        memcpy(job.pattern[i].layers, job.plan.layers, 4 * sizeof(int));
    double selected = largest_mb(&job);
    full(&job);
    list l = measures_of(&job, ek_device_find("910B"));
    const ek_mitigation *m = named(&l, name);
    assert_true(m->possible && m->saved_mb < -1 && m->step_change < -0.01);
    assert_close_to(m->after_mb, selected, 1e-6);
    assert_non_null(strstr(m->setting, "recompute_config.recompute: [0, 0, 0, 0]"));
    ek_job_clear(&job);
}

/* Of every kind of job: nothing fails, and settings are in the framework's own syntax. */
static void every_framework_has_its_words(void **state)
{
    (void)state;
    static const char *const files[] = {"llama.yaml",   "glm.yaml",       "experts.yaml", "newer.yaml",
                                        "qwen25_7b.sh", "mindspeed.yaml", "moe.args"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        ek_job job;
        ek_error err = {0};
        snprintf(name, sizeof name, "tests/data/job/%s", files[i]);
        if (ek_job_read(source_path(name), NULL, NULL, &job, &err))
            fail_msg("%s: %s", name, err.message);
        list l = measures_of(&job, NULL);
        for (int k = 0; k < l.n; k++) {
            bool argument = strncmp(l.measure[k].setting, "--", 2) == 0;
            assert_true(!argument || job.framework == EK_MEGATRON);
            assert_true(job.framework != EK_MEGATRON || !strstr(l.measure[k].setting, "_config"));
        }
        ek_job_clear(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(savings_are_those_of_a_job_changed_by_hand),
        cmocka_unit_test(the_largest_saving_comes_first_and_what_cannot_be_last),
        cmocka_unit_test(cheap_measures_go_before_other_degrees),
        cmocka_unit_test(a_tenth_of_what_is_missing_is_enough),
        cmocka_unit_test(just_enough_is_just_enough),
        cmocka_unit_test(recomputation_survives_other_stages),
        cmocka_unit_test(steps_are_compared_where_a_device_is_given),
        cmocka_unit_test(a_pipeline_begins_with_two_stages),
        cmocka_unit_test(the_least_recomputation_is_the_least),
        cmocka_unit_test(less_recomputation_is_a_measure),
        cmocka_unit_test(a_part_of_each_layer_instead_of_all),
        cmocka_unit_test(every_framework_has_its_words),
    };
    return cmocka_run_group_tests_name("memory measures", tests, NULL, NULL);
}
