/* Tests estimates: results from a step and a memory prediction made by hand, against closed forms; a measured run
 * beside it, from a log and from a trace made by hand; every writer has the same figures, and parts add up to the step
 * in each of them. */
#include "input.h"

#include <jansson.h>
#include <math.h>

#include "assert_close.h"
#include "described.h"
#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/layout.h"
#include "evenkeel/train_log.h"
#include "evenkeel/view.h"
#include "figures/results.h"
#include "golden_page.h"
#include "no_memory.h"
#include "report/estimate_internal.h"
#include "report/writers.h"
#include "report_fixture.h"
#include "skip.h"
#include "view/view.h"

FAILING_ALLOC

enum { STAGES = 4 };

/* ---- an estimate by hand ---- */

typedef struct made {
    ek_job job;
    int layers[STAGES], zero[STAGES];
    ek_device device;
    ek_step_stage stage[STAGES];
    ek_memory_stage memory[STAGES];
    ek_estimate e;
} made;

static void make_job(made *m)
{
    ek_job *job = &m->job;
    job->framework = EK_MEGATRON;
    snprintf(job->name, sizeof job->name, "small");
    job->model = (ek_job_model){.n_layers = 32,
                                .hidden = 4096,
                                .n_heads = 32,
                                .n_kv_heads = 32,
                                .head_dim = 128,
                                .value_dim = 128,
                                .intermediate = 16384,
                                .vocab = 32000};
    job->types.compute = EK_BF16;
    job->parallel = (ek_job_parallel){.data = 4,
                                      .tensor = 2,
                                      .pipeline = STAGES,
                                      .context = 1,
                                      .expert = 1,
                                      .batch = 2,
                                      .seq_length = 2048,
                                      .n_micro_batches = 8};
    for (int s = 0; s < STAGES; s++)
        m->layers[s] = 8;
    job->plan = (ek_plan){STAGES, 1, m->layers, m->zero, m->zero, m->zero};
    job->schedule = ek_schedule_default(1, 0);
}

/* A step of 2 s: every part but the bubble is a power of two, and later stages compute less; the bubble is the rest. */
static void make_step(made *m)
{
    static const double part[EK_N_STEP_PARTS] = {0.5, 0.25, 0,       0.125,  0.125,   0.0625,   0,
                                                 0,   0,    0.03125, 0.0625, 0.03125, 0.015625, 0};
    m->e.step = (ek_step){.seconds = 2,
                          .n_stages = STAGES,
                          .stage = m->stage,
                          .slowest = 0,
                          .standard_error = 0.0625,
                          .nearest = log(1.25),
                          .micro_batch_seconds = 0.125};
    for (int s = 0; s < STAGES; s++) {
        double rest = 2;
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            rest -= m->stage[s].seconds[i] = i == EK_STEP_MATRIX ? part[i] * (1 - 0.0625 * s) : part[i];
        m->stage[s].seconds[EK_STEP_BUBBLE] = rest;
        m->stage[s].hidden_data = 0.125;
    }
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        m->e.step.basis[i] = i == EK_STEP_MATRIX ? EK_COST_MEASURED : EK_COST_FITTED;
    m->e.step.error[EK_STEP_ATTENTION] = 0.03125;
    m->e.step.error[EK_STEP_TENSOR] = 0.046875;
}

static void make_memory(made *m)
{
    for (int s = 0; s < STAGES; s++) {
        m->memory[s].used_peak = (INT64_C(60000) - 8000 * s) << 20;
        m->memory[s].actual_peak = (INT64_C(61000) - 8000 * s) << 20;
    }
    m->e.memory = (ek_memory){.n_stages = STAGES,
                              .stage = m->memory,
                              .limit = INT64_C(65536) << 20,
                              .fits = true,
                              .margin = INT64_C(4536) << 20};
}

static void conclude(made *m)
{
    ek_error err = {0};
    if (ek_estimate_conclude(&m->e, &err))
        fail_msg("%s", err.message);
}

static void make(made *m)
{
    memset(m, 0, sizeof *m);
    make_job(m);
    make_step(m);
    make_memory(m);
    m->device = *ek_device_find("A100-80");
    snprintf(m->device.source, sizeof m->device.source, "made up for a test");
    m->device.certain = true;
    m->device.input_gbs = 1;
    m->device.error = 0.03125;
    m->e.job = &m->job;
    m->e.device = &m->device;
    m->e.wanted_tokens = 1e9;
    conclude(m);
}

static bool has_text(const ek_estimate_texts *texts, const char *part)
{
    for (int i = 0; i < texts->n; i++)
        if (strstr(texts->text[i], part))
            return true;
    return false;
}

/* ---- figures ---- */

static void rates_are_those_of_the_closed_forms(void **state)
{
    (void)state;
    made m;
    make(&m);
    assert_int_equal(m.e.metrics.n_devices, 32);
    assert_close_to(m.e.metrics.global_batch, 64, 0);
    assert_close_to(m.e.tokens_per_step, 131072, 0);
    assert_close_to(m.e.metrics.samples_per_second, 32, 1e-12);
    assert_close_to(m.e.days, 1e9 / 131072 * 2 / 86400, 1e-12);
    /* Of 2 s 0.5 s are measured, the rest is fitted. */
    assert_close_to(m.e.basis_share[EK_COST_MEASURED], 0.25, 1e-15);
    assert_close_to(m.e.basis_share[EK_COST_FITTED], 0.75, 1e-15);
    assert_close_to(m.e.basis_share[EK_COST_ASSUMED], 0, 0);
    /* Attention and tensor parallel groups have an error. */
    assert_close_to(m.e.share_without_error, 0.75 - (0.25 + 0.0625) / 2, 1e-15);
    m.job.parallel.n_accumulation = 4;
    m.job.parallel.n_batch_interleave = 2;
    m.e.wanted_tokens = 0;
    conclude(&m);
    assert_close_to(m.e.metrics.global_batch, 512, 0);
    assert_true(isnan(m.e.days));
}

static void the_nearest_measured_shape_is_said_in_words(void **state)
{
    (void)state;
    const struct {
        double nearest;
        ek_near near;
        const char *words;
    } cases[] = {
        {NAN, EK_NEAR_UNKNOWN, "the device file has no measured shapes"},
        {0, EK_NEAR_MET, "met cell: shapes like these were measured on the device"},
        {0.05, EK_NEAR_MET, "met cell: shapes like these were measured on the device"},
        {log(1.3), EK_NEAR_CLOSE, "between measured cells: the nearest measured shape is a factor 1.30 away"},
        {log(1.5) - 1e-9, EK_NEAR_CLOSE, "between measured cells: the nearest measured shape is a factor 1.50 away"},
        {log(2), EK_NEAR_NEW, "new cell: the nearest measured shape is a factor 2.0 away; expect 10 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        char text[200];
        make(&m);
        m.e.step.nearest = cases[i].nearest;
        conclude(&m);
        assert_int_equal(m.e.near, cases[i].near);
        assert_string_equal(ek_near_words(cases[i].nearest, text, sizeof text), cases[i].words);
    }
}

/* The sentence and the field for scripts name the runs that a device's error is from. */
static void an_error_says_what_it_is_of(void **state)
{
    (void)state;
    static const char *const says[EK_N_ERROR_BASES] = {"assumed: the file of A100-80 does not contain",
                                                       "on its own runs", "on runs left out one by one",
                                                       "on groups of runs left out"};
    made m;
    make(&m);
    for (int b = 0; b < EK_N_ERROR_BASES; b++) {
        char text[600];
        m.device.error_basis = (ek_error_basis)b;
        ek__estimate_error(&m.e, text, sizeof text);
        if (!strstr(text, says[b]) || !strstr(text, "3.1 %"))
            fail_msg("%s", text);
    }
    m.device.error = 0;
    char text[600];
    ek__estimate_error(&m.e, text, sizeof text);
    assert_non_null(strstr(text, "by the standard errors of its parts"));
}

/* The most uncertain part comes first: an error where there is one, else the whole part, and no measured part. */
static void the_advice_is_to_measure_what_is_known_least(void **state)
{
    (void)state;
    made m;
    make(&m);
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        m.e.step.basis[i] = EK_COST_MEASURED;
        m.e.step.error[i] = 0;
    }
    conclude(&m);
    assert_int_equal(m.e.advice.n, 0);
    m.e.step.basis[EK_STEP_BUBBLE] = EK_COST_ASSUMED; /* follows from the others: nothing to measure */
    conclude(&m);
    assert_int_equal(m.e.advice.n, 0);
    m.e.step.error[EK_STEP_MATRIX] = 0.08;
    m.e.step.error[EK_STEP_DATA] = 0.04;
    m.e.step.error[EK_STEP_TENSOR] = 0.06;               /* 0.1 of links: more than of layers */
    m.e.step.basis[EK_STEP_OPTIMIZER] = EK_COST_DERIVED; /* 0.03125 of which nothing is known: 1.6 % of the step */
    conclude(&m);
    assert_int_equal(m.e.advice.n, 2);
    m.stage[0].seconds[EK_STEP_OPTIMIZER] = 0.0625;
    conclude(&m);
    assert_int_equal(m.e.advice.n, 3);
    assert_non_null(strstr(m.e.advice.text[0], "nccl-tests or hccl_test over the groups of this layout (tensor 2, "));
    assert_non_null(strstr(m.e.advice.text[1], "run some steps on one node with hidden 4096, tensor 2, 2 x 2048"));
    assert_non_null(strstr(m.e.advice.text[2], "with fewer and with more micro-batches"));
}

static void what_deserves_doubt_is_said(void **state)
{
    (void)state;
    made m;
    make(&m);
    assert_int_equal(m.e.warnings.n, 0);
    m.e.step.basis[EK_STEP_BUBBLE] = m.e.step.basis[EK_STEP_HOST] = EK_COST_ASSUMED;
    m.device.certain = false;
    m.device.input_gbs = 0;
    m.e.limit_of_device = true;
    m.job.model.n_experts = 8;
    m.job.model.top_k = 2;
    m.job.model.expert_intermediate = m.job.model.intermediate;
    m.job.rules.moe_imbalance = 1;
    conclude(&m);
    assert_int_equal(m.e.warnings.n, 5);
    double share = 100 * (m.stage[0].seconds[EK_STEP_BUBBLE] + m.stage[0].seconds[EK_STEP_HOST]) / 2;
    char text[160]; /* the host's share is below 5 % and not named */
    snprintf(text, sizeof text, "%.0f %% of the step is based on assumed figures: pipeline bubble (%.0f %%)", share,
             100 * m.stage[0].seconds[EK_STEP_BUBBLE] / 2);
    assert_string_equal(m.e.warnings.text[0], text);
    assert_true(has_text(&m.e.warnings, "not every figure of A100-80 is certain: made up for a test"));
    assert_true(has_text(&m.e.warnings, "driver and communication use a part of it"));
    assert_true(has_text(&m.e.warnings, "balanced routing is assumed"));
    assert_true(has_text(&m.e.warnings, "input_gbs"));
}

/* PyTorch's allocator near its limit: from 88 % on, and only where it fits and the allocator caches. */
static void memory_that_is_nearly_full_is_doubted(void **state)
{
    (void)state;
    static const struct {
        double share;
        bool fits;
        ek_allocation allocation;
        int n;
    } cases[] = {{0.95, true, EK_ALLOCATION_CACHING, 1},
                 {0.87, true, EK_ALLOCATION_CACHING, 0},
                 {1.1, false, EK_ALLOCATION_CACHING, 0},
                 {0.95, true, EK_ALLOCATION_WHOLE, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        make(&m);
        m.job.rules.allocation = cases[i].allocation;
        m.e.memory.fits = cases[i].fits;
        m.memory[0].actual_peak = (int64_t)(cases[i].share * (double)m.e.memory.limit);
        conclude(&m);
        assert_int_equal(m.e.warnings.n, cases[i].n);
        if (cases[i].n > 0)
            assert_true(has_text(&m.e.warnings, "95 % of the memory limit are reserved"));
    }
}

/* ---- the whole ---- */

static const char *const trained[] = {"examples/llama175b_train.yaml", "tests/data/job/moe.args",
                                      "tests/data/job/qwen25_7b.sh", "tests/data/job/llama.yaml"};

static void parts_of_every_stage_add_up_to_the_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
        ek_job job;
        ek_estimate e = {0};
        ek_error err = {0};
        if (ek_job_read(source_path(trained[i]), NULL, NULL, &job, &err) ||
            ek_estimate_of(&job, ek_device_find("A800"), NAN, &e, &err))
            fail_msg("%s: %s", trained[i], err.message);
        for (int s = 0; s < e.step.n_stages; s++) {
            double sum = 0;
            for (int k = 0; k < EK_N_STEP_PARTS; k++)
                sum += e.step.stage[s].seconds[k];
            assert_close_to(sum, e.step.seconds, 1e-9 * e.step.seconds);
        }
        assert_int_equal(e.step.n_stages, e.memory.n_stages);
        assert_true(e.step.seconds > 0);
        assert_close_to(e.metrics.step_seconds, e.step.seconds, 0);
        assert_close_to(e.metrics.tokens_per_second * e.step.seconds, e.tokens_per_step, 1e-9 * e.tokens_per_step);
        ek_estimate_clear(&e);
        ek_job_clear(&job);
    }
}

/* As ek_job_check() refuses it: programs may fill a job themselves. */
static void a_job_that_no_framework_would_run_is_refused(void **state)
{
    (void)state;
    ek_job job;
    ek_estimate e = {.days = 7};
    ek_error err = {0};
    ek_layout_result result;
    ek_layout_options options;
    ek_layout_options_init(&options);
    if (ek_job_read(source_path(trained[0]), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    job.model.n_heads = 7 * job.parallel.tensor + 1;
    assert_int_equal(ek_job_check(&job, &err), EK_ERR_INPUT);
    assert_int_equal(ek_estimate_of(&job, ek_device_find("A800"), NAN, &e, &err), EK_ERR_INPUT);
    assert_close_to(e.days, 7, 0);
    assert_int_equal(ek_layout_search(&job, ek_device_find("A800"), &options, &result, &err), EK_ERR_INPUT);
    ek_job_clear(&job);
}

static void memory_that_runs_out_anywhere_is_said_so(void **state)
{
    (void)state;
    ek_job job;
    ek_error err = {0};
    int n = 0;
    if (ek_job_read(source_path("tests/data/job/moe.args"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    ek_status status = EK_ERR_MEMORY;
    for (; status && n < 100000; n++) {
        ek_estimate e = {.days = 7};
        atomic_store(&allocations_left, n);
        status = ek_estimate_of(&job, ek_device_find("A800"), NAN, &e, &err);
        atomic_store(&allocations_left, -1);
        if (status) {
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_null(e.step.stage);
            assert_close_to(e.days, 7, 0);
        } else {
            ek_estimate_clear(&e);
        }
    }
    assert_int_equal(status, EK_OK);
    assert_true(n > 5);
    ek_job_clear(&job);
}

/* The result of `memory`, where the file has a limit; else the device's memory. */
static void without_a_limit_the_device_is_the_limit(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        ek_job job;
        ek_estimate e;
        ek_memory memory;
        ek_error err = {0};
        ek_device device = *ek_device_find("A100-80");
        device.memory_gib = 1.5;
        if (ek_job_read(source_path("tests/data/job/llama.yaml"), NULL, NULL, &job, &err))
            fail_msg("%s", err.message);
        job.limit_mb = given ? 20480 : 0;
        if (ek_estimate_of(&job, &device, NAN, &e, &err))
            fail_msg("%s", err.message);
        assert_int_equal(e.limit_of_device, !given);
        job.limit_mb = given ? 20480 : 1536;
        if (ek_memory_predict(&job, NULL, &memory, &err))
            fail_msg("%s", err.message);
        assert_int_equal(e.memory.limit, memory.limit);
        assert_int_equal(e.memory.fits, memory.fits);
        for (int s = 0; s < memory.n_stages; s++)
            assert_int_equal(e.memory.stage[s].actual_peak, memory.stage[s].actual_peak);
        ek_memory_clear(&memory);
        ek_estimate_clear(&e);
        ek_job_clear(&job);
    }
}

/* ---- a measured run ---- */

static ek_against against_log(const made *m, ek_train_log *log)
{
    ek_against a;
    ek_error err = {0};
    if (ek_estimate_against_log(&m->e, log, &a, &err))
        fail_msg("%s", err.message);
    return a;
}

static void a_log_gives_the_median_behind_its_warm_up(void **state)
{
    (void)state;
    made m;
    ek_train_log_step step[6] = {{0}};
    static const double seconds[] = {40, 1.75, 1.6, 1.5, 1.6, 1.7};
    ek_train_log log = {.path = "mine.log", .kind = EK_TRAIN_LOG_MEGATRON, .n = 6, .step = step};
    make(&m);
    for (int i = 0; i < 6; i++)
        step[i] = (ek_train_log_step){.step = i + 1, .seconds = seconds[i], .global_batch = 64};
    log.seq_length = 2048;
    log.world_size = -1;
    ek_against a = against_log(&m, &log);
    assert_close_to(a.seconds, 1.6, 0);
    assert_close_to(a.error, 0.25, 1e-12);
    assert_false(a.has_parts);
    assert_int_equal(a.texts.n, 0);
    assert_string_equal(a.words, "median of 5 steps, warm-up left out");
    log.seq_length = 4096;
    log.world_size = 64;
    for (int i = 0; i < 6; i++)
        step[i].global_batch = 128;
    a = against_log(&m, &log);
    assert_int_equal(a.texts.n, 3);
    assert_string_equal(a.texts.text[0], "not the same run: the log has global batch 128, the job 64");
    for (int i = 1; i < 6; i++)
        step[i].seconds /= 4;
    a = against_log(&m, &log);
    assert_string_equal(a.texts.text[0],
                        "measured and predicted step differ by a factor of 5.0: check that the run is of this job");
    ek_error err = {0};
    for (int i = 0; i < 6; i++)
        step[i].overflow = true;
    assert_int_equal(ek_estimate_against_log(&m.e, &log, &a, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "'mine.log' has no step with a time"));
}

/* A rank with two steps of 1.6 s: computing, 0.9 s by default, 0.5 s of exposed communication, of which 0.4 s wait for
 * others. */
static ek_against against_trace(const made *m, int64_t wait_ns, int computing_ms)
{
    const int64_t ms = 1000000;
    ek_trace_step step[2] = {{.name = "1", .pipeline_wait = wait_ns}, {.name = "2", .pipeline_wait = wait_ns}};
    for (int i = 0; i < 2; i++) {
        step[i].start = 1600 * ms * i;
        step[i].end = 1600 * ms * (i + 1);
        step[i].host_start = step[i].host_step = EK_TRACE_UNKNOWN;
        step[i].own.total = 1600 * ms;
    }
    ek_trace_rank rank = {.n_steps = 2, .step = step};
    rank.mean.computing = computing_ms * ms;
    rank.mean.communication_not_overlapped = 500 * ms;
    ek_trace_run run = {.n_ranks = 1, .rank = &rank};
    ek_against a;
    ek_error err = {0};
    if (ek_estimate_against_trace(&m->e, &run, &a, &err))
        fail_msg("%s", err.message);
    return a;
}

static void parts_of_a_trace_are_held_against_sums_of_parts(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 900);
    assert_close_to(a.seconds, 1.6, 1e-12);
    assert_true(a.has_parts);
    assert_close_to(a.part[EK_AGAINST_COMPUTE], 0.9, 1e-12);
    assert_close_to(a.part[EK_AGAINST_EXPOSED], 0.1, 1e-12);
    assert_close_to(a.part[EK_AGAINST_PIPELINE], 0.4, 1e-12);
    assert_close_to(a.part[EK_AGAINST_IDLE], 0.2, 1e-12);
    const double *s = m.stage[0].seconds;
    assert_close_to(a.predicted[EK_AGAINST_COMPUTE], 0.5 + 0.25 + 0.125 + 0.125 + 0.03125, 1e-15);
    assert_close_to(a.predicted[EK_AGAINST_EXPOSED], 0.0625 + 0.0625, 1e-15);
    assert_close_to(a.predicted[EK_AGAINST_PIPELINE], s[EK_STEP_BUBBLE] + s[EK_STEP_P2P], 1e-15);
    assert_close_to(a.predicted[EK_AGAINST_IDLE], s[EK_STEP_HOST], 1e-15);
    /* Pipeline: 0.828 s for 0.4 s. */
    assert_int_equal(a.worst, EK_AGAINST_PIPELINE);
    assert_true(has_text(&a.texts, "waiting for other stages differs most: predicted 26.8 % of the step too long"));
    double measured = 0, predicted = 0;
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++) {
        measured += a.part[i];
        predicted += a.predicted[i];
    }
    assert_close_to(measured, a.seconds, 1e-12);
    assert_close_to(predicted, 2, 1e-12);
}

static void a_trace_without_pipeline_waits_has_none(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, EK_TRACE_UNKNOWN, 900);
    assert_close_to(a.part[EK_AGAINST_EXPOSED], 0.5, 1e-12);
    assert_close_to(a.part[EK_AGAINST_PIPELINE], 0, 0);
    ek_trace_run nothing = {0};
    ek_error err = {0};
    assert_int_equal(ek_estimate_against_trace(&m.e, &nothing, &a, &err), EK_ERR_INPUT);
}

/* Busy time may fill the step; figures with more busy time than that are of other steps. */
static void parts_that_are_more_than_the_step_are_none(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 1100);
    assert_true(a.has_parts);
    assert_close_to(a.part[EK_AGAINST_COMPUTE], 1.1, 1e-12);
    assert_close_to(a.part[EK_AGAINST_IDLE], 0, 1e-12);
    a = against_trace(&m, 400000000, 1101);
    assert_false(a.has_parts);
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++)
        assert_true(isnan(a.part[i]));
}

/* ---- writers ---- */

typedef ek_status (*writer)(const ek_estimate_report *, FILE *, ek_error *);

static char *text_of(const ek_estimate_report *report, writer write)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_status status = write(report, out, &err);
    fclose(out);
    if (status)
        fail_msg("%s", err.message);
    return text;
}

static double real_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("'%s' is no number", key);
    return json_number_value(value);
}

static void json_has_the_fields_that_others_rely_on(void **state)
{
    (void)state;
    made m;
    make(&m);
    m.e.step.nearest = NAN;
    conclude(&m);
    ek_error remark = {.status = EK_ERR_INPUT, .message = "a key is ignored"};
    const ek_estimate_report r = {.estimate = &m.e, .n_warnings = 1, .warning = &remark};
    char *text = text_of(&r, ek__estimate_write_json);
    check_described(ek__result_estimate.fields, text, true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_close_to(real_at(root, "step_time_s"), 2, 0);
    assert_close_to(real_at(root, "standard_error_s"), 0.0625, 0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "device"), "error_basis")), "fit");
    assert_close_to(real_at(root, "standard_error"), 0.03125, 0);
    assert_close_to(real_at(root, "tokens_per_second_per_device"), 2048, 0);
    ek_flops flops;
    assert_int_equal(ek_flops_count(&m.job, EK_ATTENTION_CAUSAL, &flops, NULL), EK_OK);
    assert_close_to(real_at(root, "mfu"), flops.model * 2048 / 312e12, 1e-12);
    assert_close_to(real_at(root, "hfu"), flops.hardware * 2048 / 312e12, 1e-12);
    assert_true(json_is_null(json_object_get(root, "nearest_measured")));
    assert_string_equal(json_string_value(json_object_get(root, "nearest")), "unknown");
    const json_t *memory = json_object_get(root, "memory");
    assert_close_to(real_at(memory, "peak_mb"), 61000, 0);
    assert_close_to(real_at(memory, "limit_mb"), 65536, 0);
    assert_true(json_is_true(json_object_get(memory, "fits")));
    assert_int_equal(json_array_size(json_object_get(memory, "stages")), STAGES);
    double sum = 0;
    size_t i;
    json_t *part, *stage, *warnings = json_object_get(root, "warnings");
    json_array_foreach(json_object_get(root, "parts"), i, part)
    {
        assert_string_equal(json_string_value(json_object_get(part, "name")), ek_step_part_name[i]);
        assert_string_equal(json_string_value(json_object_get(part, "basis")), ek_cost_basis_name[m.e.step.basis[i]]);
        assert_true(json_is_null(json_object_get(part, "standard_error_s")) == !(m.e.step.error[i] > 0));
        sum += real_at(part, "seconds");
    }
    assert_int_equal(i, EK_N_STEP_PARTS);
    assert_close_to(sum, 2, 1e-12);
    json_array_foreach(json_object_get(root, "stages"), i, stage)
    {
        sum = 0;
        for (int k = 0; k < EK_N_STEP_PARTS; k++)
            sum += real_at(json_object_get(stage, "parts_s"), ek_step_part_name[k]);
        assert_close_to(sum, 2, 1e-12);
    }
    assert_int_equal(i, STAGES);
    assert_string_equal(json_string_value(json_array_get(warnings, json_array_size(warnings) - 1)), "a key is ignored");
    assert_true(json_is_null(json_object_get(root, "against")));
    json_decref(root);
    free(text);
}

static void csv_has_a_row_for_every_stage_and_part(void **state)
{
    (void)state;
    made m;
    make(&m);
    const ek_estimate_report r = {.estimate = &m.e};
    char *text = text_of(&r, ek__estimate_write_csv), *save = NULL;
    double sum[STAGES] = {0};
    int n = 0;
    char *line = strtok_r(text, "\n", &save);
    assert_string_equal(line, "stage,part,seconds,share,basis,standard_error_s,stage_peak_mb");
    while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
        int stage;
        double seconds, share;
        char part[32];
        assert_int_equal(sscanf(line, "%d,%31[^,],%lf,%lf", &stage, part, &seconds, &share), 4);
        assert_int_equal(stage, n / EK_N_STEP_PARTS);
        assert_string_equal(part, ek_step_part_name[n % EK_N_STEP_PARTS]);
        assert_close_to(share, seconds / 2, 1e-6);
        sum[stage] += seconds;
        n++;
    }
    assert_int_equal(n, STAGES * EK_N_STEP_PARTS);
    for (int s = 0; s < STAGES; s++)
        assert_close_to(sum[s], 2, 1e-8);
    free(text);
}

/* Rectangles between two places of a picture: how wide they are together. */
static double width_between(const char *from, const char *to)
{
    double sum = 0, width;
    while ((from = strstr(from, "<rect class=\"")) != NULL && from < to) {
        from = strstr(from, " width=\"");
        sum += sscanf(from, " width=\"%lf\"", &width) == 1 ? width : 0;
    }
    return sum;
}

static void bars_of_a_picture_are_as_long_as_the_step(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 900);
    const ek_estimate_report r = {.estimate = &m.e, .against = &a, .against_source = "profile"};
    char *text = text_of(&r, ek__estimate_write_svg);
    const char *first = strstr(text, "<g><title>stage 0"), *p = first;
    const double whole = width_between(p, strstr(p, "</g>"));
    assert_close_to(whole, 1250, 0.2); /* of the plot, with an axis that ends with the longer step */
    for (int s = 0; s < STAGES; s++) {
        char mark[40];
        snprintf(mark, sizeof mark, "<g><title>stage %d;", s);
        p = strstr(text, mark);
        assert_non_null(p);
        assert_close_to(width_between(p, strstr(p, "</g>")), whole, 0.1);
    }
    /* Measured, 1.6 s, in four parts, and predicted, 2 s, in the same. */
    const char *measured = strstr(text, "<rect class=\"q0\" x=\"130\"");
    const char *label = strstr(measured, ">measured</text>");
    assert_close_to(width_between(measured, label), 0.8 * whole, 0.1);
    assert_close_to(width_between(label, strstr(label, ">predicted</text>")), whole, 0.1);
    free(text);
}

static void text_and_picture_match_their_golden_files(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 900);
    ek_estimate_report r = {.estimate = &m.e};
    char *text = text_of(&r, ek__estimate_write_svg);
    assert_golden("estimate.svg", text);
    free(text);
    r.against = &a;
    r.against_source = "profile/rank0";
    text = text_of(&r, ek__estimate_write_text);
    assert_golden("estimate.txt", text);
    free(text);
    r.plot = (ek_plot){.columns = 80, .rows = 16};
    text = text_of(&r, ek__estimate_write_text);
    assert_golden("estimate_plot.txt", text);
    free(text);
    m.e.memory.limit = INT64_C(50000) << 20; /* 63 columns for 61 000 MB: 51.6 for the limit */
    text = text_of(&r, ek__estimate_write_text);
    assert_non_null(strstr(text, "\nstage 0  61 000 |###################################################|!!!!!!!!!!!\n"
                                 "stage 1  53 000 |###################################################|!!!\n"
                                 "stage 2  45 000 |##############################################     |\n"));
    free(text);
    m.e.memory.limit = INT64_C(65536) << 20;
    r.plot.columns = 0;
    text = text_of(&r, ek__estimate_write_svg);
    assert_golden("estimate_against.svg", text);
    free(text);
    r.verdict_only = true;
    r.color = true;
    text = text_of(&r, ek__estimate_write_text);
    assert_string_equal(text, "2.000 s ± 62.50 ms a step: 2048.0 tokens/s a device, MFU 26.9 %, HFU 26.9 %; "
                              "measured 1.600 s, so +25.0 %; "
                              "\033[32mfits\033[0m: fullest is stage 0 with 61 000 MB of 65 536 MB\n");
    free(text);
}

static void names_of_any_bytes_stay_text(void **state)
{
    (void)state;
    static const char name[] = "<b>&\"\x1b[31m\xff</b>";
    made m;
    make(&m);
    snprintf(m.job.name, sizeof m.job.name, "%s", name);
    snprintf(m.device.name, sizeof m.device.name, "%s", name);
    snprintf(m.device.source, sizeof m.device.source, "%s", name);
    m.device.certain = false;
    m.e.limit_of_device = true;
    conclude(&m);
    ek_against a = against_trace(&m, 0, 900);
    const ek_estimate_report r = {.estimate = &m.e, .against = &a, .against_source = name};
    char *text = text_of(&r, ek__estimate_write_svg);
    assert_null(strstr(text, "<b>"));
    assert_null(strchr(text, 0x1b));
    free(text);
    text = text_of(&r, ek__estimate_write_text);
    assert_null(strchr(text, 0x1b));
    assert_null(strchr(text, 0xff));
    free(text);
    text = text_of(&r, ek__estimate_write_json);
    check_described(ek__result_estimate.fields, text, true);
    free(text);
}

static void json_table_and_page_match_their_golden_files(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 900);
    ek_error remark = {.status = EK_ERR_INPUT, .message = "a key is ignored"};
    const ek_estimate_report r = {
        .estimate = &m.e, .against = &a, .against_source = "trace.json", .n_warnings = 1, .warning = &remark};
    static const struct {
        const char *golden;
        writer write;
    } forms[] = {{"estimate.json", ek__estimate_write_json}, {"estimate.csv", ek__estimate_write_csv}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        char *text = text_of(&r, forms[k].write);
        assert_golden(forms[k].golden, text);
        free(text);
    }
    assert_golden_page("estimate_page.json", &(ek_view_run){.name = "estimate", .estimate = &r});
}

static void a_full_disk_is_said_so(void **state)
{
    (void)state;
    static const writer writers[] = {ek__estimate_write_text, ek__estimate_write_json, ek__estimate_write_csv,
                                     ek__estimate_write_svg};
    made m;
    make(&m);
    const ek_estimate_report r = {.estimate = &m.e};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        FILE *out = need_full_disk();
        ek_error err = {0};
        assert_int_equal(writers[i](&r, out, &err), EK_ERR_SYSTEM);
        fclose(out);
    }
}

/* ---- the page ---- */

static void bars_of_the_page_add_up_to_the_step(void **state)
{
    (void)state;
    made m;
    make(&m);
    ek_against a = against_trace(&m, 400000000, 900);
    const ek_estimate_report r = {.estimate = &m.e, .against = &a, .against_source = "profile"};
    const ek_view_run run = {.name = "small", .estimate = &r};
    const ek_view view = {.title = "t", .n_runs = 1, .run = &run};
    char *text = NULL;
    size_t size = 0, i, k;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__view_write_json(&view, out, &err), EK_OK);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL), *bars, *bar;
    assert_non_null(root);
    const json_t *of_run = json_array_get(json_object_get(root, "runs"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(of_run, "kinds"), 0)), "estimate");
    const json_t *section = json_array_get(json_object_get(of_run, "sections"), 0);
    assert_string_equal(json_string_value(json_object_get(section, "name")), "estimate");
    json_array_foreach(json_object_get(section, "bars"), i, bars)
        json_array_foreach(json_object_get(bars, "bars"), k, bar)
    {
        double sum = 0;
        size_t j;
        json_t *value;
        json_array_foreach(json_object_get(bar, "values"), j, value) sum += json_number_value(value);
        assert_int_equal(j, json_array_size(json_object_get(bars, "series")));
        assert_close_to(sum, i == 0 && k == 0 ? 1.6e9 : 2e9, 1);
    }
    assert_int_equal(i, 2);
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"an error says what it is of", an_error_says_what_it_is_of, NULL, NULL, NULL},
        {"tokens, samples and days follow from step and batch", rates_are_those_of_the_closed_forms, NULL, NULL, NULL},
        {"the nearest measured shape in words", the_nearest_measured_shape_is_said_in_words, NULL, NULL, NULL},
        {"the advice is to measure what is known least", the_advice_is_to_measure_what_is_known_least, NULL, NULL,
         NULL},
        {"assumed figures and what is not modelled are said", what_deserves_doubt_is_said, NULL, NULL, NULL},
        {"memory that is nearly full is doubted", memory_that_is_nearly_full_is_doubted, NULL, NULL, NULL},
        {"parts of every stage add up to the step", parts_of_every_stage_add_up_to_the_step, NULL, NULL, NULL},
        {"a job that no framework would run is refused", a_job_that_no_framework_would_run_is_refused, NULL, NULL,
         NULL},
        {"memory that runs out anywhere is said so", memory_that_runs_out_anywhere_is_said_so, NULL, NULL, NULL},
        {"without a limit of its own a job has the device's memory", without_a_limit_the_device_is_the_limit, NULL,
         NULL, NULL},
        {"a log gives the median behind its warm-up", a_log_gives_the_median_behind_its_warm_up, NULL, NULL, NULL},
        {"parts of a trace are held against sums of parts", parts_of_a_trace_are_held_against_sums_of_parts, NULL, NULL,
         NULL},
        {"parts that are more than the step are none", parts_that_are_more_than_the_step_are_none, NULL, NULL, NULL},
        {"a trace without pipeline waits has none", a_trace_without_pipeline_waits_has_none, NULL, NULL, NULL},
        {"JSON has the fields that others rely on", json_has_the_fields_that_others_rely_on, NULL, NULL, NULL},
        {"CSV has a row for every stage and part", csv_has_a_row_for_every_stage_and_part, NULL, NULL, NULL},
        {"bars of a picture are as long as the step", bars_of_a_picture_are_as_long_as_the_step, NULL, NULL, NULL},
        {"text and picture match their golden files", text_and_picture_match_their_golden_files, NULL, NULL, NULL},
        {"names of any bytes stay text", names_of_any_bytes_stay_text, NULL, NULL, NULL},
        {"JSON, table and page match their golden files", json_table_and_page_match_their_golden_files, NULL, NULL,
         NULL},
        {"a full disk is said so", a_full_disk_is_said_so, NULL, NULL, NULL},
        {"bars of the page add up to the step", bars_of_the_page_add_up_to_the_step, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
