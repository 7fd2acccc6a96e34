/* Tests diagnoses without a trace: of only settings, of graphs, of logs. Findings must agree with the results of the
 * underlying modules: predicted steps of every split there is, the predicted peak, bytes over the rate of a link. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "assert_close.h"
#include "base/pool.h"
#include "diagnose/pipeline.h"
#include "evenkeel/collect.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/memory.h"
#include "evenkeel/train_log.h"
#include "report/writers.h"

static char path[] = "/tmp/evenkeel-diagnose-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* A Llama of eight layers on two stages. */
static ek_job read_job(const char *offset, int micro_batches, int batch, const char *limit)
{
    FILE *f = fopen(path, "w");
    ek_job job;
    ek_error err = {0};
    assert_non_null(f);
    fprintf(f,
            "context:\n  max_device_memory: \"%s\"\nrunner_config:\n  batch_size: %d\noptimizer:\n  type: AdamW\n"
            "parallel:\n  full_batch: True\n  enable_parallel_optimizer: False\n"
            "parallel_config:\n  data_parallel: 1\n  model_parallel: 1\n  pipeline_stage: 2\n  micro_batch_num: %d\n"
            "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: 4096\n    hidden_size: 4096\n"
            "    num_layers: 8\n    num_heads: 32\n    vocab_size: 32000\n    multiple_of: 256\n"
            "    compute_dtype: bfloat16\n    param_init_type: float32\n    use_flash_attention: True\n    offset: %s\n"
            "recompute_config:\n  recompute: False\n",
            limit, batch, micro_batches, offset);
    assert_int_equal(fclose(f), 0);
    if (ek_job_read(path, NULL, NULL, &job, &err))
        fail_msg("%d: %s", err.line, err.message);
    return job;
}

static const ek_device *device(void)
{
    const ek_device *found = ek_device_find("Atlas 800T A2");
    assert_non_null(found);
    return found;
}

static ek_diagnosis diagnose(const ek_run_input *input)
{
    ek_diagnosis diagnosis;
    ek_error err = {0};
    const ek_diagnose_options options = {.seconds = 2};
    if (ek_diagnose(input, &options, &diagnosis, &err))
        fail_msg("%s", err.message);
    return diagnosis;
}

static const ek_bottleneck *find(const ek_diagnosis *d, const char *id)
{
    for (int i = 0; i < d->n_bottlenecks; i++)
        if (strcmp(d->bottleneck[i].id, id) == 0)
            return &d->bottleneck[i];
    fail_msg("%s is not found", id);
    return NULL;
}

/* ---- only settings ---- */

/* Of the job with a plan, or as it is: only ek_cost_step(). `share` of its slowest stage's bubble, may be NULL. */
static double predicted_ms(const ek_job *job, const ek_job_change *change, double *share)
{
    ek_job with;
    ek_step step;
    ek_error err = {0};
    assert_int_equal(change ? ek_job_with(job, change, &with, &err) : ek_job_copy(job, &with, &err), EK_OK);
    assert_int_equal(ek_cost_step(&with, device(), NULL, &step, &err), EK_OK);
    double ms = 1e3 * step.seconds;
    if (share)
        *share = step.stage[step.slowest].seconds[EK_STEP_BUBBLE] / step.seconds;
    ek_step_clear(&step);
    ek_job_clear(&with);
    return ms;
}

/* Every split of the eight layers over the two stages; recomputing nothing, since memory has room for all. */
static double best_ms(const ek_job *job, int micro_batches, int batch)
{
    double best = INFINITY;
    for (int first = 1; first < 8; first++) {
        ek_plan plan;
        ek_error err = {0};
        assert_int_equal(ek_plan_init(&plan, 2, 1, &err), EK_OK);
        plan.layers[0] = first;
        plan.layers[1] = 8 - first;
        const ek_job_change change = {.plan = &plan, .n_micro_batches = micro_batches, .batch = batch};
        best = fmin(best, predicted_ms(job, &change, NULL));
        ek_plan_clear(&plan);
    }
    return best;
}

static void a_wrong_offset_costs_what_the_best_of_all_splits_would_save(void **state)
{
    static const char *const offsets[] = {"[2, -2]", "[-1, 1]", "[-3, 3]"};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        ek_job job = read_job(offsets[i], 8, 1, "58GB");
        const ek_run_input input = {.job = &job, .device = device()};
        ek_diagnosis d = diagnose(&input);
        double today = predicted_ms(&job, NULL, NULL), best = best_ms(&job, 0, 0);
        assert_close_to(1e3 * d.step_seconds, today, 1e-9);
        assert_close_to(1e3 * find(&d, "load-balance")->gain_seconds, today - best, 1e-9);
        assert_int_equal(find(&d, "load-balance")->basis, EK_BASIS_ASSUMED);
        ek_diagnosis_clear(&d);
        ek_job_clear(&job);
    }
}

/* The micro-batch halves, its kernels as fast as they then are. */
static void a_bubble_costs_what_is_predicted(void **state)
{
    (void)state;
    ek_job job = read_job("0", 3, 2, "58GB"); /* three micro-batches rule out more chunks: they divide by the stages */
    const ek_run_input input = {.job = &job, .device = device()};
    ek_diagnosis d = diagnose(&input);
    double share, now = fmin(best_ms(&job, 0, 0), predicted_ms(&job, NULL, &share));
    double after = best_ms(&job, 6, 1);
    const ek_bottleneck *b = find(&d, "bubble");
    assert_close_to(1e3 * b->gain_seconds, now - after, 1e-9);
    assert_close_to(b->share, share, 1e-12);
    assert_non_null(strstr(b->title, " 25.0 % of the pipeline's time")); /* (2 - 1) of (3 + 2 - 1) */
    assert_true(b->gain_seconds <= b->cost_seconds && b->cost_seconds <= d.step_seconds);
    ek_diagnosis_clear(&d);
    ek_job_clear(&job);
}

/* (p - 1) / (v m + p - 1), and nothing else, whatever the limit, the recomputation and the seconds of the search; the
 * cost is the predicted bubble. */
static void the_bubbles_share_is_the_schedules(void **state)
{
    static const struct {
        int stages, chunks, micro_batches;
        const char *share;
    } cases[] = {{16, 1, 16, "48.4 %"}, {8, 1, 16, "30.4 %"}, {16, 2, 16, "31.9 %"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 4; k++) {
            ek_job_overrides overrides = ek_job_overrides_none();
            ek_error err = {0};
            ek_job job;
            overrides.pipeline = cases[i].stages;
            overrides.n_chunks = cases[i].chunks;
            overrides.n_micro_batches = cases[i].micro_batches;
            overrides.recompute = k % 2 ? EK_RECOMPUTE_FULL : EK_RECOMPUTE_NONE;
            overrides.limit_mb = k < 2 ? 59392 : 200000;
            if (ek_job_read(source_path("examples/llama175b_train.yaml"), &overrides, NULL, &job, &err))
                fail_msg("%s", err.message);
            const ek_run_input input = {.job = &job, .device = device()};
            const ek_diagnose_options options = {.seconds = 0.05 + 0.1 * k};
            ek_diagnosis d;
            assert_int_equal(ek_diagnose(&input, &options, &d, &err), EK_OK);
            bool told = false;
            double share;
            (void)predicted_ms(&job, NULL, &share);
            for (int b = 0; b < d.n_bottlenecks; b++)
                if (strcmp(d.bottleneck[b].id, "bubble") == 0) {
                    told = true;
                    assert_non_null(strstr(d.bottleneck[b].title, cases[i].share));
                    assert_close_to(d.bottleneck[b].share, fmax(share, d.bottleneck[b].gain_share), 1e-12);
                }
            for (int n = 0; n < d.n_notes; n++)
                told = told || (strstr(d.note[n], "bubbles") && strstr(d.note[n], cases[i].share));
            assert_true(told);
            ek_diagnosis_clear(&d);
            ek_job_clear(&job);
        }
}

/* Layers stay where they are chunk by chunk, so nothing is gained by leaving out absent recomputation. */
static void a_job_that_recomputes_nothing_has_no_recomputation_to_leave_out(void **state)
{
    (void)state;
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_error err = {0};
    ek_job job;
    overrides.pipeline = 8;
    overrides.n_chunks = 3;
    overrides.recompute = EK_RECOMPUTE_NONE;
    overrides.limit_mb = 400000;
    if (ek_job_read(source_path("examples/llama175b_train.yaml"), &overrides, NULL, &job, &err))
        fail_msg("%s", err.message);
    job.plan.layers[0] += 3; /* uneven over a stage's chunks, which the balancer would mend */
    job.plan.layers[8] -= 3;
    const ek_run_input input = {.job = &job, .device = device()};
    ek_diagnosis d = diagnose(&input);
    for (int i = 0; i < d.n_bottlenecks; i++)
        assert_string_not_equal(d.bottleneck[i].id, "recompute");
    assert_true(find(&d, "load-balance")->gain_seconds > 0);
    ek_diagnosis_clear(&d);
    ek_job_clear(&job);
}

/* The cost of full recomputation is reported where memory requires it, with settings that free memory. */
static void recomputation_that_memory_needs_is_told_with_what_makes_room(void **state)
{
    (void)state;
    ek_error err = {0};
    ek_job job;
    if (ek_job_read(source_path("examples/llama2_13b_1_dp8.yaml"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    const ek_run_input input = {.job = &job, .device = device()};
    ek_diagnosis d = diagnose(&input);
    const ek_bottleneck *b = find(&d, "recompute");
    assert_true(b->share > 0.23 && b->share < 0.26);
    assert_true(b->gain_share > 0.03 && b->gain_share < b->share);
    assert_non_null(strstr(b->setting, "pipeline_stage: 2"));
    assert_non_null(strstr(b->title, "the memory limit requires it"));
    assert_int_equal(b->n_evidence, 1);
    assert_non_null(strstr(b->evidence[0].text, "the least recomputation within the limit of "));
    ek_diagnosis_clear(&d);
    /* With a trace it is the trace's value. */
    const int64_t s = 1000000000;
    ek_trace_step step = {.name = "1", .host_start = EK_TRACE_UNKNOWN, .start = 0, .end = 100 * s};
    ek_trace_rank rank = {.rank = 3, .stage = 0, .producer = EK_PRODUCER_MINDSPORE, .n_steps = 1, .step = &step};
    rank.has_device_events = true;
    rank.mean = (ek_trace_breakdown){.computing = 90 * s, .total = 100 * s};
    rank.recompute = (ek_trace_recompute){.n_regions = 1, .recompute = {.busy = 20 * s}};
    const ek_trace_run run = {.n_ranks = 1, .rank = &rank};
    const ek_run_input with_trace = {.job = &job, .device = device(), .trace = &run};
    d = diagnose(&with_trace);
    b = find(&d, "recompute");
    assert_int_equal(b->n_evidence, 2);
    assert_non_null(strstr(b->evidence[0].text, "the least recomputation within the limit of "));
    assert_memory_equal(b->evidence[1].text, "Rank 3 (stage 0): recomputation takes ", 38);
    ek_diagnosis_clear(&d);
    ek_job_clear(&job);
}

/* Every rank needs the whole batch where there is one. */
static void full_batch_is_left_alone_without_data_parallelism(void **state)
{
    (void)state;
    for (int data = 1; data <= 2; data++) {
        ek_job job = read_job("0", 8, 1, "58GB");
        job.parallel.data = data;
        ek_train_log_step step[6];
        for (int i = 0; i < 6; i++)
            step[i] = (ek_train_log_step){.seconds = 2, .data_seconds = 0.5, .loss = NAN, .line = i + 1};
        char name[] = "train.log";
        const ek_train_log log = {.path = name, .n = 6, .step = step};
        const ek_run_input input = {.job = &job, .log = &log};
        ek_diagnosis d = diagnose(&input);
        const ek_bottleneck *b = find(&d, "data-loading");
        assert_int_equal(strstr(b->setting, "full_batch") != NULL, data == 2);
        assert_non_null(strstr(b->setting, "num_parallel_workers"));
        ek_diagnosis_clear(&d);
        ek_job_clear(&job);
    }
}

static void a_stage_over_its_limit_stands_first_with_its_predicted_peak(void **state)
{
    static const struct {
        double limit; /* of the peak */
        bool first, told;
    } cases[] = {{0.9, true, true}, {1.02, false, true}, {1.5, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job = read_job("[3, -3]", 8, 1, "58GB");
        ek_memory memory;
        ek_error err = {0};
        assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
        double peak = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
        char figures[64];
        job.limit_mb = cases[i].limit * peak;
        ek_memory_clear(&memory); /* the allocator grows by less near its limit */
        assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
        peak = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
        snprintf(figures, sizeof figures, "%.0f of %.0f MB", peak, job.limit_mb);
        const ek_run_input input = {.job = &job, .device = device()};
        ek_diagnosis d = diagnose(&input);
        bool told = false;
        for (int k = 0; k < d.n_bottlenecks; k++)
            if (strcmp(d.bottleneck[k].id, "memory") == 0) {
                told = true;
                if (!strstr(d.bottleneck[k].title, figures))
                    fail_msg("'%s' is not in '%s'", figures, d.bottleneck[k].title);
                assert_true(isnan(d.bottleneck[k].gain_seconds));
                assert_int_equal(k == 0, cases[i].first || d.n_bottlenecks == 1);
            }
        assert_int_equal(told, cases[i].told);
        ek_diagnosis_clear(&d);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
}

static void a_peak_of_a_dry_run_goes_before_the_predicted_one(void **state)
{
    (void)state;
    ek_stage_log logs[] = {{.stage = 0, .rank = 0, .path = "log/rank_0"},
                           {.stage = 1, .rank = 1, .path = "log/rank_1"}};
    for (int i = 0; i < 2; i++)
        logs[i].log = (ek_log){.used_mb = i ? 61000 : 40000, .actual_mb = i ? 62000 : 41000, .framework_mb = 59392};
    ek_round round = {.n = 2, .stage = logs};
    const ek_collection dry_runs = {.n_stages = 2, .n_rounds = 1, .round = &round};
    const ek_run_input input = {.dry_runs = &dry_runs};
    ek_diagnosis d = diagnose(&input);
    assert_int_equal(d.n_bottlenecks, 1);
    assert_string_equal(d.bottleneck[0].id, "memory");
    assert_string_equal(d.bottleneck[0].title, "Stage 1 is over its memory limit: 62000 of 59392 MB.");
    assert_string_equal(d.bottleneck[0].evidence[0].file, "log/rank_1");
    ek_diagnosis_clear(&d);
}

/* ---- graphs ---- */

typedef struct graph {
    ek_ir *ir;
    ek_ir_report report;
} graph;

static graph read_graph(const char *name)
{
    graph g;
    ek_error err = {0};
    if (ek_ir_read(source_path(name), NULL, NULL, &g.ir, &err) || ek_ir_check(g.ir, NULL, &g.report, &err))
        fail_msg("%s", err.message);
    return g;
}

static void clear_graph(graph *g)
{
    ek_ir_report_clear(&g->report);
    ek_ir_free(g->ir);
}

static void recomputation_not_in_effect_is_told_with_its_bytes(void **state)
{
    (void)state;
    graph g = read_graph("tests/data/ir_check/not_in_effect.ir");
    const ek_ir_report *reports[] = {&g.report};
    const ek_run_input input = {.ir = reports, .n_ir = 1};
    ek_diagnosis d = diagnose(&input);
    const ek_bottleneck *b = find(&d, "recompute");
    assert_non_null(strstr(b->title, "2.0 MB are saved")); /* 2097152 bytes: see the graph */
    assert_true(isnan(b->gain_seconds) && isnan(b->cost_seconds) && b->n_evidence > 0);
    ek_diagnosis_clear(&d);
    clear_graph(&g);
}

static double redistributed_bytes(const ek_ir_report *report, bool of_message)
{
    double sum = 0;
    for (int i = 0; i < report->n_comms; i++)
        if (report->comm[i].role == EK_IR_ROLE_REDISTRIBUTION)
            sum += (double)(of_message ? report->comm[i].bytes : report->comm[i].traffic);
    return sum;
}

/* A trace that has no collective of the graph's kinds: links give the rate, else the bytes of other collectives, else
 * the device. */
static void redistribution_the_trace_does_not_name_takes_its_bytes_over_the_rate(void **state)
{
    (void)state;
    graph g = read_graph("tests/data/ir_check/redistribution.ir");
    const ek_ir_report *reports[] = {&g.report};
    double bytes = redistributed_bytes(&g.report, false), message = redistributed_bytes(&g.report, true);
    assert_true(bytes > 0 && message > 0 && bytes != message);
    ek_trace_step step = {.name = "1", .host_start = EK_TRACE_UNKNOWN, .start = 0, .end = 10000};
    ek_trace_rank rank = {.stage = 0, .producer = EK_PRODUCER_MINDSPORE, .n_steps = 1, .step = &step};
    rank.has_device_events = true;
    rank.layers.n_micro_batches = 3;
    rank.mean = (ek_trace_breakdown){.computing = 4000, .communication_not_overlapped = 5000, .total = 10000};
    ek_trace_run_transport link[] = {{.name = "LOCAL", .total_size_mb = 900, .mean_gbps = 700},
                                     {.name = "RDMA", .total_size_mb = 10, .mean_gbps = 5},
                                     {.name = "HCCS", .total_size_mb = 90, .mean_gbps = 18}};
    ek_trace_run run = {.n_ranks = 1, .rank = &rank, .n_transports = 3, .transport = link};
    /* 12 MB in a ms; of the others bytes or time are not known. */
    ek_trace_collective_sum sum[] = {{.key = "send", .count = 2, .bytes = 6000000, .total = 1000000},
                                     {.key = "x", .count = 3, .bytes = EK_TRACE_UNKNOWN, .total = 1000000},
                                     {.key = "y", .count = 3, .bytes = 6000000}};
    static const struct {
        int n_transports, gbps_of, n_sums;
        bool device;
        ek_basis basis;
        const char *rests_on;
    } cases[] = {{3, 2, 3, true, EK_BASIS_DERIVED, "the mean of HCCS links in the trace, 18.0 GB/s"},
                 {2, 1, 0, false, EK_BASIS_DERIVED, "the mean of RDMA links in the trace, 5.0 GB/s"},
                 {1, -1, 3, true, EK_BASIS_DERIVED, "the rate of other collectives in the trace, 12.0 GB/s"},
                 {1, -1, 0, true, EK_BASIS_ASSUMED, "links of Atlas 800T A2 within a node"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run.n_transports = cases[i].n_transports;
        rank.communication.sum = sum;
        rank.communication.n_sums = cases[i].n_sums;
        const ek_run_input input = {
            .trace = &run, .ir = reports, .n_ir = 1, .device = cases[i].device ? device() : NULL};
        double gbs = cases[i].gbps_of >= 0 ? link[cases[i].gbps_of].mean_gbps
                     : cases[i].n_sums > 0 ? 12
                                           : device()->tier[0].share[0] * device()->tier[0].gbs;
        double moved = cases[i].gbps_of < 0 && cases[i].n_sums > 0 ? message : bytes;
        ek_diagnosis d = diagnose(&input);
        const ek_bottleneck *b = find(&d, "redistribution");
        assert_close_to(1e9 * b->gain_seconds, fmin(3 * moved / gbs, 5000), 1e-3);
        assert_int_equal(b->basis, cases[i].basis);
        if (!strstr(b->rests_on, cases[i].rests_on))
            fail_msg("'%s' is not in '%s'", cases[i].rests_on, b->rests_on);
        ek_diagnosis_clear(&d);
    }
    clear_graph(&g);
}

/* ---- logs ---- */

enum { N_STEPS = 40 };

static ek_train_log made_log(ek_train_log_step *step, int every, double slow)
{
    for (int i = 0; i < N_STEPS; i++)
        step[i] = (ek_train_log_step){.step = i + 1,
                                      .seconds = every > 0 && i > 0 && i % every == 0 ? slow : 2,
                                      .data_seconds = -1,
                                      .tflops_per_device = NAN,
                                      .samples_per_second_per_device = NAN};
    return (ek_train_log){.path = "worker_0.log", .n = N_STEPS, .step = step};
}

static void slow_steps_cost_what_they_take_beyond_the_median(void **state)
{
    static const struct {
        int every;
        double slow, lost; /* lost: seconds of a mean step */
    } cases[] = {{10, 6, 3 * 4.0 / N_STEPS}, {13, 3, 3 * 1.0 / N_STEPS}, {10, 2.1, NAN}, {0, 2, NAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_train_log_step step[N_STEPS];
        const ek_train_log log = made_log(step, cases[i].every, cases[i].slow);
        const ek_run_input input = {.log = &log};
        ek_diagnosis d = diagnose(&input);
        assert_string_equal(d.step_source, "median of 40 steps of the log");
        assert_close_to(d.step_seconds, 2, 1e-12);
        if (isnan(cases[i].lost)) {
            assert_int_equal(d.n_bottlenecks, 0);
        } else {
            const ek_bottleneck *b = find(&d, "slow-steps");
            char every[64];
            snprintf(every, sizeof every, "every %d steps", cases[i].every);
            assert_close_to(b->gain_seconds, cases[i].lost, 1e-12);
            assert_close_to(b->gain_share, cases[i].lost / 2, 1e-12);
            assert_int_equal(b->n_evidence, 2);
            assert_non_null(strstr(b->evidence[1].text, every));
        }
        ek_diagnosis_clear(&d);
    }
}

static void one_step_of_a_log_is_called_one(void **state)
{
    (void)state;
    ek_train_log_step step[N_STEPS];
    ek_train_log log = made_log(step, 0, 2);
    log.n = 1;
    const ek_run_input input = {.log = &log};
    ek_diagnosis d = diagnose(&input);
    assert_string_equal(d.step_source, "one step of the log");
    ek_diagnosis_clear(&d);
}

/* ---- missing parts ---- */

static char *text_of(const ek_diagnosis *d)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ek__diagnosis_write_text(d, false, out, &err), EK_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static int occurrences(const char *text, const char *word)
{
    int n = 0;
    while ((text = strstr(text, word)) != NULL) {
        text++;
        n++;
    }
    return n;
}

static void what_is_missing_is_told_once_in_the_words_of_the_framework(void **state)
{
    (void)state;
    ek_train_log_step step[N_STEPS];
    ek_train_log log = made_log(step, 0, 2);
    static const struct {
        ek_train_log_kind kind;
        const char *has, *not ;
    } cases[] = {{EK_TRAIN_LOG_MINDFORMERS, "profile_pipeline:", "--profile-step-start"},
                 {EK_TRAIN_LOG_MEGATRON, "--profile-step-start", "profile_pipeline:"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        log.kind = cases[i].kind;
        const ek_run_input input = {.log = &log};
        ek_diagnosis d = diagnose(&input);
        char *text = text_of(&d);
        assert_true(d.n_not_looked_at >= 6);
        assert_int_equal(occurrences(text, cases[i].has), 1);
        assert_int_equal(occurrences(text, cases[i].not ), 0);
        for (int k = 0; k < d.n_not_looked_at; k++) {
            char first[16]; /* lines may be broken later on */
            snprintf(first, sizeof first, "%.*s", (int)strcspn(d.not_looked_at[k].what, " "), d.not_looked_at[k].what);
            assert_true(occurrences(text, first) > 0);
        }
        free(text);
        ek_diagnosis_clear(&d);
    }
}

/* Changes to Megatron's arguments for a plan without recomputation: also the switch of whole experts is removed, where
 * the file has it. */
static void arguments_that_recompute_are_left_out_with_that_of_experts(void **state)
{
    (void)state;
    static const char model[] =
        "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 "
        "--global-batch-size 8 --vocab-size 32000 --data-parallel-size 1 --pipeline-model-parallel-size 2 --bf16 "
        "--num-experts 8 ";
    static const struct {
        const char *more;
        int full; /* layers of the new plan that are recomputed whole */
        const char *has, *not ;
    } cases[] = {
        {"--moe-layer-recompute", 0,
         "without --recompute-granularity, --recompute-method, --recompute-num-layers and --moe-layer-recompute", NULL},
        {"--moe-layer-recompute", 4, "without --moe-layer-recompute", "without --recompute-granularity"},
        {"--recompute-activations", 0, "without --recompute-granularity, --recompute-method and --recompute-num-layers",
         "--moe-layer-recompute"},
        {"", 4, "--recompute-granularity full", "without"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%s%s\n", model, cases[i].more);
        assert_int_equal(fclose(f), 0);
        ek_job job;
        ek_error err = {0};
        assert_int_equal(ek_job_read(path, NULL, NULL, &job, &err), EK_OK);
        ek_plan plan;
        assert_int_equal(ek_plan_copy(&job.plan, &plan, &err), EK_OK);
        for (int c = 0; c < plan.n_stages; c++) {
            plan.full[c] = cases[i].full;
            plan.select[c] = plan.comm[c] = 0;
        }
        const ek__pipeline p = {.there = true,
                                .memory_known = true,
                                .job = &job,
                                .plan = job.plan,
                                .layers = {.n_layers = 8},
                                .schedule = job.schedule,
                                .n_micro_batches = 8,
                                .n_pieces = 1};
        const ek__edit_oracle wish = {.schedule = job.schedule, .n_micro_batches = 8, .n_chunks = 1};
        ek__pool *pool = ek__pool_new();
        const char *text = ek__pipeline_settings(&p, &plan, &wish, EK_MEGATRON, pool);
        if (!text || !strstr(text, cases[i].has) || (cases[i].not &&strstr(text, cases[i].not )))
            fail_msg("%zu: %s", i, text ? text : "nothing");
        ek__pool_free(pool);
        ek_plan_clear(&plan);
        ek_job_clear(&job);
    }
}

/* ---- only a trace ---- */

static ek_trace_pass pass(double ms)
{
    return (ek_trace_pass){.n = ms > 0 ? 8 : 0, .wall_median = 1e6 * ms, .busy_median = 1e6 * ms};
}

/* Two stages of two chunks, with layers that first ran in any order: the number of times that numbers restart is that
 * of the chunks. The last layers of the second stage's chunks are recomputed. */
static void chunks_are_stretches_of_numbers_in_whatever_order_layers_ran(void **state)
{
    (void)state;
    static const int index[2][4] = {{5, 0, 4, 1}, {3, 7, 6, 2}};
    ek_trace_layer layer[2][4];
    ek_trace_rank rank[2];
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 4; i++)
            layer[r][i] = (ek_trace_layer){.name = "layer",
                                           .kind = "layer",
                                           .index = index[r][i],
                                           .role = EK_TRACE_BODY,
                                           .n_instances = 8,
                                           .forward = pass(2),
                                           .backward = pass(4),
                                           .recompute = pass(index[r][i] % 4 == 3 ? 2 : 0)};
        rank[r] = (ek_trace_rank){.rank = r, .stage = r, .layers = {4, layer[r], 8, 1, "made up"}};
    }
    const ek_trace_run run = {.n_ranks = 2, .rank = rank, .topology = {.pipeline = 2}};
    const ek__measured measured = {.run = &run};
    const ek_run_input input = {.trace = &run};
    const ek_diagnose_options options = {.seconds = 0.5};
    ek_error err = {0};
    ek__pipeline p;
    if (ek__pipeline_make(&input, &measured, &options, &p, &err))
        fail_msg("%s", err.message);
    if (p.why_not)
        fail_msg("%s", p.why_not);
    assert_true(p.there && p.measured);
    assert_int_equal(p.n_micro_batches, 8);
    assert_int_equal(p.plan.n_stages, 2);
    assert_int_equal(p.plan.n_chunks, 2);
    for (int c = 0; c < 4; c++) {
        assert_int_equal(p.plan.layers[c], 2);
        assert_int_equal(p.plan.full[c], c % 2);
    }
    assert_close_to(p.layers.body[0].forward_time, 2, 1e-12);
    assert_close_to(p.layers.body[0].backward_time[EK_RECOMPUTE_FULL], 6, 1e-12);
    ek__pipeline_clear(&p);
}

/* Stages of 30 ms a micro-batch, with an embedding and a head as long as a layer of 6 ms: 7 micro-batches of two
 * sequences take 8 x 30 ms, 14 of one 15 x 15 ms. */
static void half_a_micro_batch_takes_half_the_measured_times(void **state)
{
    (void)state;
    static const ek_trace_role role[] = {EK_TRACE_HEAD, EK_TRACE_TAIL};
    ek_trace_layer layer[2][5];
    ek_trace_rank rank[2];
    ek_trace_step step[2];
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 5; i++)
            layer[r][i] = (ek_trace_layer){.name = "layer",
                                           .kind = i < 4 ? "layer" : "end",
                                           .index = i < 4 ? 4 * r + i : -1,
                                           .role = i < 4 ? EK_TRACE_BODY : role[r],
                                           .n_instances = 7,
                                           .forward = pass(2),
                                           .backward = pass(4)};
        step[r] = (ek_trace_step){.name = "1", .host_start = EK_TRACE_UNKNOWN, .start = 0, .end = 240000000};
        rank[r] = (ek_trace_rank){
            .rank = r, .stage = r, .n_steps = 1, .step = &step[r], .layers = {5, layer[r], 7, 1, "made up"}};
        rank[r].has_device_events = true;
        rank[r].mean = (ek_trace_breakdown){.computing = 210000000, .total = 240000000};
    }
    const ek_trace_run run = {.n_ranks = 2, .rank = rank, .topology = {.pipeline = 2}};
    ek_job job = read_job("[0, 0]", 7, 2, "58GB");
    const ek_run_input input = {.trace = &run, .job = &job};
    ek_diagnosis d = diagnose(&input);
    const ek_bottleneck *b = find(&d, "bubble");
    assert_close_to(1e3 * b->gain_seconds, 15, 1e-9);
    assert_non_null(strstr(b->change, "Halve the micro-batch and double their number to 14"));
    ek_diagnosis_clear(&d);
    ek_job_clear(&job);
}

static double peak_mb(const ek_job *job, const ek_plan *plan)
{
    const ek_job_change change = {.plan = plan};
    double peak[2];
    ek_error err = {0};
    assert_int_equal(ek_memory_peaks_with(job, &change, peak, &err), EK_OK);
    return fmax(peak[0], peak[1]);
}

/* Megatron has one rule for all stages: where plans must recompute, it gets the one with the least recomputation with
 * its layers. The limit is just below the peak of four layers a stage without any. */
static void layers_are_moved_with_the_least_recomputation(void **state)
{
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("--num-layers 8 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 "
          "--global-batch-size 8 --vocab-size 32000 --data-parallel-size 1 --pipeline-model-parallel-size 2 --bf16 "
          "--swiglu --decoder-first-pipeline-num-layers 6\n",
          f);
    assert_int_equal(fclose(f), 0);
    ek_job job;
    ek_error err = {0};
    assert_int_equal(ek_job_read(path, NULL, NULL, &job, &err), EK_OK);
    int even[] = {4, 4}, none[] = {0, 0};
    const ek_plan plan = {2, 1, even, none, none, none};
    job.limit_mb = 0.99 * peak_mb(&job, &plan);
    const ek_run_input input = {.job = &job, .device = device()};
    const ek_diagnose_options options = {.seconds = 1};
    const ek__measured nothing = {0};
    ek__pipeline p;
    assert_int_equal(ek__pipeline_make(&input, &nothing, &options, &p, &err), EK_OK);
    assert_true(p.there && p.memory_known && p.best.layers);
    for (int stage = 0; stage < 2; stage++) {
        assert_int_equal(p.best.layers[stage], 4);
        assert_int_equal(p.best.full[stage], 1);
    }
    assert_true(peak_mb(&job, &p.best) <= job.limit_mb);
    ek__pipeline_clear(&p);
    ek_job_clear(&job);
}

/* A plan of 3 and 5 layers, of which the first stage recomputes one whole and another in part, with twice the sequences
 * in a micro-batch. Where memory is not known recomputation stays as it is, and is not reported. */
static void settings_are_in_the_words_of_each_framework(void **state)
{
    (void)state;
#define OF_MINDFORMERS(micro_batches, layers)                                                                          \
    "parallel:\n  pipeline_config:\n    pipeline_interleave: False\n    pipeline_scheduler: '1f1b'\n"                  \
    "parallel_config:\n  pipeline_stage: 2\n  micro_batch_num: " micro_batches                                         \
    "\nmodel:\n  model_config:\n    " layers ": 8\n    pp_interleave_num: 1\n    offset: [-1, 1]\n"
#define RECOMPUTED "recompute_config:\n  recompute: [1, 0]\n  select_recompute: [2, 0]\n  select_comm_recompute: [0, 0]"
#define OF_MINDSPEED                                                                                                   \
    "model_config:\n  num_layers: 8\nparallel_config:\n  pipeline_model_parallel_size: 2\n  num_layer_list: [3, 5]\n"
#define OF_MEGATRON                                                                                                    \
    "PIPELINE_ARGS=(\n    --num-layers 8\n    --pipeline-model-parallel-size 2\n    --pipeline-model-parallel-layout " \
    "\"Ettt|t*5L\"\n)\n"
    static const struct {
        ek_framework framework;
        bool memory_known;
        int batch; /* 0: today's, with as many micro-batches as sequences */
        const char *text;
    } cases[] = {
        {EK_MINDFORMERS, true, 2, OF_MINDFORMERS("2", "num_layers") RECOMPUTED "\nrunner_config:\n  batch_size: 2"},
        {EK_MINDFORMERS, false, 2, OF_MINDFORMERS("2", "num_layers") "runner_config:\n  batch_size: 2"},
        {EK_MINDFORMERS, true, 0, OF_MINDFORMERS("8", "num_layers") RECOMPUTED},
        {EK_MINDFORMERS_MCORE, false, 2, OF_MINDFORMERS("2", "num_hidden_layers") "runner_config:\n  batch_size: 2"},
        {EK_MINDSPEED, true, 0,
         OF_MINDSPEED "  recompute_config:\n    recompute: [1, 0]\n    select_recompute: [1, 0]\n"
                      "    select_comm_recompute: [0, 0]\nglobal_batch_size: 8"},
        {EK_MINDSPEED, false, 2, OF_MINDSPEED "micro_batch_size: 2"},
        {EK_MEGATRON, true, 2, OF_MEGATRON "--micro-batch-size 2"},
        {EK_MEGATRON, true, 0, OF_MEGATRON "--global-batch-size 8"},
        {EK_TORCHTITAN, true, 2,
         "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"1F1B\"\n"
         "module_fqns_per_model_part = [\n    [\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\"],\n"
         "    [\"layers.3\", \"layers.4\", \"layers.5\", \"layers.6\", \"layers.7\", \"norm\", \"output\"],\n]\n"
         "pipeline_parallel_microbatch_size = 2"},
    };
    ek_job job = read_job("[0, 0]", 4, 1, "58GB");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int layers[] = {3, 5}, full[] = {1, 0}, select[] = {2, 0}, comm[] = {0, 0};
        const ek_plan plan = {2, 1, layers, full, select, comm};
        job.framework = cases[i].framework;
        const ek__pipeline p = {.there = true,
                                .memory_known = cases[i].memory_known,
                                .job = &job,
                                .plan = job.plan,
                                .layers = {.n_layers = 8},
                                .schedule = job.schedule,
                                .n_micro_batches = 4,
                                .n_pieces = 1};
        const ek__edit_oracle wish = {job.schedule, 1, cases[i].batch ? 2 : 8, cases[i].batch};
        ek__pool *pool = ek__pool_new();
        const char *text = ek__pipeline_settings(&p, &plan, &wish, cases[i].framework, pool);
        assert_non_null(text);
        assert_string_equal(text, cases[i].text);
        ek__pool_free(pool);
    }
    ek_job_clear(&job);
}

/* Megatron runs no V of two chunks a stage. */
static void a_plan_that_has_no_settings_is_told_by_its_layers(void **state)
{
    (void)state;
    ek_job job = read_job("[0, 0]", 4, 1, "58GB");
    int layers[] = {1, 2, 4, 1}, none[] = {0, 0, 0, 0};
    const ek_plan plan = {2, 2, layers, none, none, none};
    const ek__pipeline p = {.there = true,
                            .job = &job,
                            .plan = job.plan,
                            .layers = {.n_layers = 8},
                            .schedule = job.schedule,
                            .n_micro_batches = 4,
                            .n_pieces = 1};
    const ek__edit_oracle wish = {ek_schedule_find("zb-v"), 2, 4, 0};
    ek__pool *pool = ek__pool_new();
    assert_string_equal(ek__pipeline_settings(&p, &plan, &wish, EK_MEGATRON, pool), "layers of the stages: 1 2 4 1");
    ek__pool_free(pool);
    ek_job_clear(&job);
}

static void an_interrupt_ends_the_search_and_is_told(void **state)
{
    (void)state;
    static const ek_interrupt interrupted = {1};
    ek_job job = read_job("[3, -3]", 8, 1, "58GB");
    const ek_run_input input = {.job = &job, .device = device()};
    const ek_diagnose_options options = {.seconds = 1000, .interrupt = &interrupted};
    ek_diagnosis d;
    ek_error err = {0};
    assert_int_equal(ek_diagnose(&input, &options, &d, &err), EK_OK);
    assert_int_equal(d.n_notes, 1);
    assert_non_null(strstr(d.note[0], "interrupted"));
    ek_diagnosis_clear(&d);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_offset_costs_what_the_best_of_all_splits_would_save),
        cmocka_unit_test(a_bubble_costs_what_is_predicted),
        cmocka_unit_test(the_bubbles_share_is_the_schedules),
        cmocka_unit_test(a_job_that_recomputes_nothing_has_no_recomputation_to_leave_out),
        cmocka_unit_test(recomputation_that_memory_needs_is_told_with_what_makes_room),
        cmocka_unit_test(full_batch_is_left_alone_without_data_parallelism),
        cmocka_unit_test(a_stage_over_its_limit_stands_first_with_its_predicted_peak),
        cmocka_unit_test(a_peak_of_a_dry_run_goes_before_the_predicted_one),
        cmocka_unit_test(recomputation_not_in_effect_is_told_with_its_bytes),
        cmocka_unit_test(redistribution_the_trace_does_not_name_takes_its_bytes_over_the_rate),
        cmocka_unit_test(slow_steps_cost_what_they_take_beyond_the_median),
        cmocka_unit_test(one_step_of_a_log_is_called_one),
        cmocka_unit_test(what_is_missing_is_told_once_in_the_words_of_the_framework),
        cmocka_unit_test(arguments_that_recompute_are_left_out_with_that_of_experts),
        cmocka_unit_test(chunks_are_stretches_of_numbers_in_whatever_order_layers_ran),
        cmocka_unit_test(half_a_micro_batch_takes_half_the_measured_times),
        cmocka_unit_test(layers_are_moved_with_the_least_recomputation),
        cmocka_unit_test(settings_are_in_the_words_of_each_framework),
        cmocka_unit_test(a_plan_that_has_no_settings_is_told_by_its_layers),
        cmocka_unit_test(an_interrupt_ends_the_search_and_is_told),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
