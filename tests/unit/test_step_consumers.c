/* Tests that one function predicts steps: the steps of diagnose, measures, metrics and estimate equal ek_cost_step() of
 * the job, to the bit. A remedy of diagnose changes the job as its reader does when the setting is in the file, and its
 * gain is the difference of the two steps. */
#include "configs.h"

#include <math.h>
#include <unistd.h>

#include "diagnose/predicted.h"
#include "effort.h"
#include "evenkeel/estimate.h"

static char path[] = "/tmp/evenkeel-consumers-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    list_folder(source_path("examples"));
    list_reference();
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* NAN where there is none. */
static double step_of(const ek_job *job, const ek_device *device)
{
    ek_step step;
    if (ek_cost_step(job, device, NULL, &step, NULL))
        return NAN;
    double seconds = step.seconds;
    ek_step_clear(&step);
    return seconds;
}

/* ---- the same number everywhere ---- */

/* An interrupt ends the search of other plans, which is not looked at here. */
static double diagnosed(const ek_job *job, const ek_device *device)
{
    static const ek_interrupt interrupted = {1};
    const ek_diagnose_options options = {.seconds = 0.01, .interrupt = &interrupted};
    const ek_run_input input = {.job = job, .device = device};
    ek_diagnosis d;
    assert_int_equal(ek_diagnose(&input, &options, &d, NULL), EK_OK);
    double seconds = d.step_seconds;
    ek_diagnosis_clear(&d);
    return seconds;
}

static void check_metrics(const ek_job *job, const ek_device *device, double seconds)
{
    ek_metrics_input input = {.job = job, .device = device};
    ek_metrics_prediction p;
    ek_estimate e;
    assert_int_equal(ek_metrics_predict(&input, &p, NULL), EK_OK);
    assert_true(p.step.seconds == seconds && p.metrics.step_seconds == seconds && isnan(p.error));
    ek_metrics_prediction_clear(&p);
    assert_int_equal(ek_estimate_of(job, device, NAN, &e, NULL), EK_OK);
    assert_true(e.step.seconds == seconds);
    input.step_seconds = 2 * seconds; /* measurements do not enter it */
    assert_int_equal(ek_metrics_predict(&input, &p, NULL), EK_OK);
    assert_true(p.step.seconds == seconds && p.error == -0.5);
    assert_true(p.metrics.mfu == e.metrics.mfu);
    assert_memory_equal(p.basis_share, e.basis_share, sizeof p.basis_share);
    ek_metrics_prediction_clear(&p);
    ek_estimate_clear(&e);
}

/* The reference of measures: a change that this test makes as well is compared only with the job's step. */
static void check_measures(const ek_job *job, const ek_device *device, double seconds)
{
    static ek_mitigation list[EK_MAX_MEASURES];
    int n, n_full = 0;
    ek_job full;
    assert_int_equal(ek_memory_mitigations(job, device, list, &n, NULL), EK_OK);
    assert_int_equal(ek_job_copy(job, &full, NULL), EK_OK);
    int n_cells = full.plan.n_stages * full.plan.n_chunks;
    memcpy(full.plan.full, full.plan.layers, (size_t)n_cells * sizeof *full.plan.full);
    double recomputed = step_of(&full, device);
    for (int i = 0; i < n; i++) {
        if (list[i].possible && strcmp(list[i].name, "map memory in pages") == 0)
            assert_true(list[i].step_change == 0);
        if (!list[i].possible || strcmp(list[i].name, "recompute every layer completely") != 0 || job->n_patterns > 0)
            continue;
        n_full++;
        if (fabs(list[i].step_change - (recomputed / seconds - 1)) > 1e-12)
            fail_msg("%s: %.15g, by hand %.15g", list[i].name, list[i].step_change, recomputed / seconds - 1);
    }
    ek_job_clear(&full);
}

static void every_command_has_the_same_step(void **state)
{
    static const char *const devices[] = {"910B", "A100"};
    int tried = 0;
    (void)state;
    for (int c = 0; c < n_configs; c += effort(1, 9)) {
        ek_job job;
        if (ek_job_read(config[c], NULL, NULL, &job, NULL))
            continue;
        for (int d = c % effort(1, 2); d < 2; d += effort(1, 2)) {
            const ek_device *device = ek_device_find(devices[d]);
            double seconds = step_of(&job, device), told = diagnosed(&job, device);
            if (!(told == seconds) && !(isnan(told) && isnan(seconds)))
                fail_msg("%s on %s: diagnose says %.17g s, ek_cost_step() %.17g", config[c], devices[d], told, seconds);
            if (isnan(seconds))
                continue;
            check_metrics(&job, device, seconds);
            check_measures(&job, device, seconds);
            tried++;
        }
        ek_job_clear(&job);
    }
    print_message("# %d jobs and devices\n", tried);
    assert_true(tried >= effort(16, 1));
}

/* ---- remedies ---- */

static bool read_text(const char *text, ek_job *job)
{
    ek_error err = {0};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    if (ek_job_read(path, NULL, NULL, job, &err) == EK_OK)
        return true;
    print_message("# %d: %s\n%s\n", err.line, err.message, text);
    return false;
}

/* Slow in all that remedies are against, so that each of them shows. */
static ek_device slow_device(void)
{
    ek_device device = *ek_device_find("A100");
    device.kernels = NULL;
    device.layers = NULL;
    device.host = (ek_host){.layer_us = {9000, 4000, 1000}, .kernel_us = {100, 50, 5}};
    device.optimizer_share = 0.01;
    for (int i = 0; i < device.n_tiers; i++)
        device.tier[i].gbs /= 200;
    return device;
}

static const char megatron[] = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
                               "--micro-batch-size 2 --global-batch-size 256 --vocab-size 32000 --bf16 "
                               "--data-parallel-size 16 ";
static const char experts[] = "--num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 4 "
                              "--moe-ffn-hidden-size 1024 --moe-shared-expert-intermediate-size 1024 ";

static bool applies(const ek__remedy *r, const ek_device *device, ek_job *job, char setting[EK__REMEDY_SETTING])
{
    bool does;
    assert_int_equal(ek__remedy_apply(r, device, job, setting, &does, NULL), EK_OK);
    return does;
}

/* A setting of arguments, put after the others: the last one counts. @return steps that were compared */
static int compare_arguments(const char *text, const ek_device *device)
{
    int n = 0;
    ek_job job;
    assert_true(read_text(text, &job));
    for (const ek__remedy *r = ek__remedies; r->change_job; r++) {
        char setting[EK__REMEDY_SETTING], with[2000];
        ek_job copy, read;
        assert_int_equal(ek_job_copy(&job, &copy, NULL), EK_OK);
        bool argument = applies(r, device, &copy, setting) && setting[0] == '-';
        const char *number = "--micro-batch-size "; /* duplicate arguments are refused */
        if (argument && strncmp(setting, number, strlen(number)) == 0) {
            const char *at = strstr(text, number);
            snprintf(with, sizeof with, "%.*s%s%s", (int)(at - text), text, setting, at + strlen(number) + 1);
        } else {
            snprintf(with, sizeof with, "%s %s", text, setting);
        }
        if (argument) {
            assert_true(read_text(with, &read));
            double by_remedy = step_of(&copy, device), by_reader = step_of(&read, device);
            if (!(fabs(by_remedy / by_reader - 1) < 1e-12))
                fail_msg("%s: %.15g s, read from the file %.15g s", setting, by_remedy, by_reader);
            if (!(by_reader != step_of(&job, device)))
                fail_msg("%s changes nothing", setting);
            ek_job_clear(&read);
            n++;
        }
        ek_job_clear(&copy);
    }
    ek_job_clear(&job);
    return n;
}

static void remedies_are_what_their_arguments_are(void **state)
{
    const ek_device device = slow_device();
    char text[2000];
    int n = 0;
    (void)state;
    snprintf(text, sizeof text, "%s", megatron);
    n += compare_arguments(text, &device);
    snprintf(text, sizeof text, "%s --use-distributed-optimizer --overlap-grad-reduce", megatron);
    n += compare_arguments(text, &device);
    snprintf(text, sizeof text, "%s --use-distributed-optimizer --tensor-model-parallel-size 2 --sequence-parallel",
             megatron);
    n += compare_arguments(text, &device);
    snprintf(text, sizeof text, "%s %s", megatron, experts);
    int inside = compare_arguments(text, &device);
    snprintf(text, sizeof text, "%s --num-experts 16 --moe-router-topk 4 --expert-model-parallel-size 16 %s", megatron,
             "--moe-ffn-hidden-size 1024 --moe-shared-expert-intermediate-size 1024");
    assert_int_equal(compare_arguments(text, &device), inside + 1); /* tokens once to each node */
    n += inside;
    print_message("# %d settings\n", n);
    assert_true(n >= 14);
}

/* A MindFormers job; lines of its sections with settings. */
typedef struct yaml {
    const char *optimizer, *parallel, *sharding, *context; /* NULL: empty */
} yaml;

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool read_yaml(const yaml *y, ek_job *job)
{
    char text[3000];
    snprintf(text, sizeof text,
             "context:\n  max_device_memory: \"58GB\"\n%s"
             "runner_config:\n  batch_size: 1\n"
             "optimizer:\n  type: AdamW\n%s"
             "parallel:\n  full_batch: True\n%s  parallel_optimizer_config:\n    parallel_optimizer_threshold: 64\n%s"
             "parallel_config:\n  data_parallel: 32\n  model_parallel: 2\n  pipeline_stage: 2\n  micro_batch_num: 8\n"
             "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: 2048\n    hidden_size: 2048\n"
             "    num_layers: 8\n    num_heads: 16\n    vocab_size: 32000\n    multiple_of: 256\n"
             "    compute_dtype: bfloat16\n    param_init_type: float32\n    use_flash_attention: True\n"
             "recompute_config:\n  recompute: False\n",
             or_empty(y->context), or_empty(y->optimizer), or_empty(y->parallel), or_empty(y->sharding));
    return read_text(text, job);
}

/* The file's own words for a remedy's setting. */
typedef struct yaml_case {
    const char *setting; /* the text searched in it */
    yaml before, after;
} yaml_case;

#define SHARING "  enable_parallel_optimizer: True\n"

static const ek__remedy *find_remedy(const ek_job *job, const ek_device *device, const char *wanted, ek_job *copy)
{
    for (const ek__remedy *r = ek__remedies; r->change_job; r++) {
        char setting[EK__REMEDY_SETTING];
        assert_int_equal(ek_job_copy(job, copy, NULL), EK_OK);
        if (applies(r, device, copy, setting) && strstr(setting, wanted))
            return r;
        ek_job_clear(copy);
    }
    return NULL;
}

static void remedies_are_what_their_keys_are(void **state)
{
    const yaml_case cases[] = {
        {"optimizer.use_fused: True", {0}, {.optimizer = "  use_fused: True\n"}},
        {"parallel.enable_parallel_optimizer: True", {0}, {.parallel = SHARING}},
        {"optimizer_weight_shard_size: 4",
         {.parallel = SHARING},
         {.parallel = SHARING, .sharding = "    optimizer_weight_shard_size: 4\n"}},
        {"gradient_accumulation_shard: False",
         {.parallel = SHARING, .sharding = "    gradient_accumulation_shard: True\n"},
         {.parallel = SHARING, .sharding = "    gradient_accumulation_shard: False\n"}},
        {"optimizer.swap: False", {.optimizer = "  swap: True\n"}, {0}},
        {"context.mode: 0", {.context = "  mode: 1\n"}, {.context = "  mode: 0\n"}},
        {"compute_communicate_fusion_level: 3",
         {0},
         {.context = "  ascend_config:\n    parallel_speed_up_json:\n      compute_communicate_fusion_level: 3\n"}},
        {"matmul_grad_comm_overlap: True",
         {0},
         {.context = "  ascend_config:\n    parallel_speed_up_json:\n      matmul_grad_comm_overlap: True\n"}},
    };
    const ek_device device = slow_device();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job before, after, copy;
        assert_true(read_yaml(&cases[i].before, &before) && read_yaml(&cases[i].after, &after));
        if (!find_remedy(&before, &device, cases[i].setting, &copy))
            fail_msg("no remedy says %s", cases[i].setting);
        double by_remedy = step_of(&copy, &device), by_reader = step_of(&after, &device);
        if (!(fabs(by_remedy / by_reader - 1) < 1e-12))
            fail_msg("%s: %.15g s, read from the file %.15g s", cases[i].setting, by_remedy, by_reader);
        assert_true(by_reader != step_of(&before, &device));
        ek_job_clear(&copy);
        ek_job_clear(&before);
        ek_job_clear(&after);
    }
}

/* ---- findings ---- */

static const ek_bottleneck *find(const ek_diagnosis *d, const char *id, const char *title)
{
    for (int i = 0; i < d->n_bottlenecks; i++)
        if (strcmp(d->bottleneck[i].id, id) == 0 && strstr(d->bottleneck[i].title, title))
            return &d->bottleneck[i];
    return NULL;
}

/* The part by itself, and the gain of its best remedy. */
static void check_finding(const ek_diagnosis *d, const ek_job *job, const ek_device *device, ek_step_part part,
                          const ek_bottleneck *b)
{
    ek_step step;
    double best = INFINITY;
    assert_non_null(b);
    assert_int_equal(ek_cost_step(job, device, NULL, &step, NULL), EK_OK);
    double seconds = step.stage[step.slowest].seconds[part];
    assert_true(seconds > 0.1 * step.seconds);
    for (const ek__remedy *r = ek__remedies; r->change_job; r++) {
        char setting[EK__REMEDY_SETTING];
        ek_job copy;
        assert_int_equal(ek_job_copy(job, &copy, NULL), EK_OK);
        if (r->part == part && applies(r, device, &copy, setting))
            best = fmin(best, step_of(&copy, device));
        ek_job_clear(&copy);
    }
    assert_true(d->step_seconds == step.seconds);
    assert_true(fabs(b->gain_seconds - (step.seconds - best)) < 1e-12 * step.seconds);
    assert_true(fabs(b->cost_seconds - fmax(seconds, b->gain_seconds)) < 1e-12 * step.seconds);
    assert_true(b->peak_mb > 0);
    ek_step_clear(&step);
}

/* One thing is slow at a time, and is named; where nothing is, nothing is named. */
static void large_parts_of_the_step_are_named(void **state)
{
    static const struct {
        ek_step_part part;
        const char *id, *title;
    } cases[] = {{EK_STEP_DATA, "exposed-communication", "Gradient reduction"},
                 {EK_STEP_HOST, "host", "launches"},
                 {EK_STEP_OPTIMIZER, "optimizer", "update"}};
    const ek_device slow = slow_device();
    ek_job job;
    (void)state;
    assert_true(read_text(megatron, &job));
    for (int i = -1; i < 3; i++) {
        ek_device device = *ek_device_find("A100");
        device.kernels = NULL;
        device.layers = NULL;
        device.host = i == 1 ? slow.host : (ek_host){.step_us = 0};
        device.optimizer_share = i == 2 ? slow.optimizer_share : 1;
        for (int t = 0; t < device.n_tiers; t++)
            device.tier[t].gbs = i == 0 ? device.tier[t].gbs / 4 : 1e9;
        const ek_run_input input = {.job = &job, .device = &device};
        ek_diagnosis d;
        assert_int_equal(ek_diagnose(&input, NULL, &d, NULL), EK_OK);
        for (int k = 0; k < 3; k++) {
            const ek_bottleneck *b = find(&d, cases[k].id, cases[k].title);
            if (k == i)
                check_finding(&d, &job, &device, cases[k].part, b);
            else if (b && b->share > 0.1)
                fail_msg("%s is told: %s", cases[k].id, b->title);
        }
        ek_diagnosis_clear(&d);
    }
    ek_job_clear(&job);
}

/* Data parallel traffic is in the step now, so fewer ranks of it cost or save time: over slow links fewer are better.
 */
static void degrees_are_compared_with_their_traffic(void **state)
{
    static ek_mitigation list[EK_MAX_MEASURES];
    double change[2] = {NAN, NAN};
    ek_job job;
    (void)state;
    assert_true(read_text(megatron, &job));
    for (int slow = 0; slow < 2; slow++) {
        ek_device device = *ek_device_find("A100");
        int n;
        device.kernels = NULL;
        device.layers = NULL;
        device.host = (ek_host){.step_us = 0}; /* which would hide the links */
        for (int t = 0; t < device.n_tiers; t++)
            device.tier[t].gbs = slow ? 0.5 : 1e9;
        assert_int_equal(ek_memory_mitigations(&job, &device, list, &n, NULL), EK_OK);
        for (int i = 0; i < n; i++)
            if (list[i].possible && strcmp(list[i].name, "twice the stages, half the data parallelism") == 0)
                change[slow] = list[i].step_change;
    }
    assert_true(change[1] < change[0] - 0.1);
    ek_job_clear(&job);
}

/* A measure's step is that of the file with its setting. Degrees are changed with half the data-parallel ranks. */
static void measures_are_what_their_arguments_are(void **state)
{
    static const char model[] = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 32768 "
                                "--global-batch-size 256 --vocab-size 32000 --bf16 --use-flash-attn ";
    static const char *const jobs[] = {"", "--tensor-model-parallel-size 2", "--use-distributed-optimizer",
                                       "--pipeline-model-parallel-size 2"};
    static ek_mitigation list[EK_MAX_MEASURES];
    const ek_device device = slow_device();
    int tried = 0;
    (void)state;
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        char text[2000], with[8000];
        ek_job job, read;
        int n;
        snprintf(text, sizeof text, "%s%s --micro-batch-size 2 --data-parallel-size 16", model, jobs[j]);
        assert_true(read_text(text, &job));
        double today = step_of(&job, &device);
        assert_int_equal(ek_memory_mitigations(&job, &device, list, &n, NULL), EK_OK);
        ek_job_clear(&job);
        for (int i = 0; i < n; i++) {
            const ek_mitigation *m = &list[i];
            char option[80];
            snprintf(option, sizeof option, "%.*s", (int)strcspn(m->setting, " "), m->setting);
            bool half = strstr(m->name, "half the data"), batch = strcmp(option, "--micro-batch-size") == 0;
            if (!m->possible || option[0] != '-' || strstr(jobs[j], option))
                continue;
            snprintf(with, sizeof with, "%s%s%s --data-parallel-size %d %s", model, jobs[j],
                     batch ? "" : " --micro-batch-size 2", half ? 8 : 16, m->setting);
            assert_true(read_text(with, &read));
            double change = step_of(&read, &device) / today - 1;
            if (!(fabs(change - m->step_change) < 1e-9))
                fail_msg("%s, %s: %.12g, read from the file %.12g", jobs[j], m->setting, m->step_change, change);
            tried += m->step_change != 0;
            ek_job_clear(&read);
        }
    }
    print_message("# %d measures\n", tried);
    assert_true(tried >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_the_same_step),
        cmocka_unit_test(remedies_are_what_their_arguments_are),
        cmocka_unit_test(remedies_are_what_their_keys_are),
        cmocka_unit_test(large_parts_of_the_step_are_named),
        cmocka_unit_test(degrees_are_compared_with_their_traffic),
        cmocka_unit_test(measures_are_what_their_arguments_are),
        cmocka_unit_test(configurations_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
