/* Compares memory predictions with every published figure that has a job, calibrates on a few stages, and measures how
 * the time of a prediction grows with the job. The published figures are read from the folder that EK_SHARED names;
 * without it that part is skipped with a note. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "evenkeel/memory.h"
#include "measured.h"

/* ---- published figures ---- */

static const char *const table_title[MEASURED_N_TABLES] = {
    [MEASURED_SAPP] = "Llama-175B, dry run of 16 stages with fragments (MindFormers r1.5.0, toolkit/pipeline_balance)",
    [MEASURED_PAIRS] = "Qwen2.5-7B with MindSpeed-LLM on MindSpore, dry run and real run (mindspore-courses)",
    [MEASURED_SIMUMAX] = "Megatron on 8 B200, allocated and reserved (MooreThreads/SimuMax docs/b200)",
    [MEASURED_GALVATRON] = "Llama2-7B of a few layers on 8 GPUs, states + activations (PKU-DAIR/Hetu-Galvatron)",
};

/* Errors of some rows. */
typedef struct errors {
    int n;
    double sum, bias, worst;
} errors;

static void errors_add(errors *e, double error)
{
    e->n++;
    e->sum += fabs(error);
    e->bias += error;
    e->worst = fmax(e->worst, fabs(error));
}

static double predict_row(const measured_row *row)
{
    ek_memory memory;
    ek_error err;
    ek_memory_options options = {.without_allocation = !row->actual, .without_top = true};
    if (ek_memory_predict(&row->job, &options, &memory, &err))
        bench_give_up("%s: %s", row->name, err.message);
    double mb = measured_predicted(row, &memory);
    ek_memory_clear(&memory);
    return mb;
}

static const char *peak_name(const measured_row *row)
{
    return !row->actual ? "live" : row->table == MEASURED_SIMUMAX ? "reserved" : "with fragments";
}

static void published_table(const measured_rows *rows, measured_table table, errors kind[MEASURED_N_KINDS],
                            errors *of_table)
{
    bench_say("### %s\n\n| case | peak | measured MB | predicted MB | error |\n|---|---|--:|--:|--:|\n",
              table_title[table]);
    for (int i = 0; i < rows->n; i++) {
        const measured_row *row = &rows->row[i];
        if (row->table != table)
            continue;
        double mb = predict_row(row), error = mb / row->mb - 1;
        errors_add(of_table, error);
        errors_add(&kind[row->kind], error);
        bench_say("| %s | %s | %.0f | %.0f | %+.1f %% |\n", row->name, peak_name(row), row->mb, mb, 100 * error);
    }
    bench_say("\n%d rows: mean absolute error %.2f %%, worst %.2f %%, mean %+.2f %%.\n\n", of_table->n,
              100 * of_table->sum / of_table->n, 100 * of_table->worst, 100 * of_table->bias / of_table->n);
}

static void published(const measured_rows *rows)
{
    static const char *const kind_name[MEASURED_N_KINDS] = {
        [MEASURED_DENSE] = "dense", [MEASURED_EXPERTS] = "with experts", [MEASURED_LONG] = "context parallel"};
    errors kind[MEASURED_N_KINDS] = {0}, table[MEASURED_N_TABLES] = {0};
    for (int t = 0; t < MEASURED_N_TABLES; t++)
        published_table(rows, (measured_table)t, kind, &table[t]);
    bench_say("### By kind of model\n\n| kind | rows | mean absolute error | worst | mean |\n|---|--:|--:|--:|--:|\n");
    for (int k = 0; k < MEASURED_N_KINDS; k++)
        bench_say("| %s | %d | %.2f %% | %.2f %% | %+.2f %% |\n", kind_name[k], kind[k].n,
                  100 * kind[k].sum / kind[k].n, 100 * kind[k].worst, 100 * kind[k].bias / kind[k].n);
    bench_say("\n");
    const errors *sapp = &table[MEASURED_SAPP], *pairs = &table[MEASURED_PAIRS], *b200 = &table[MEASURED_SIMUMAX];
    bench_hold(b200->sum / b200->n <= 0.015 && b200->worst <= 0.05,
               "Megatron on B200, allocated and reserved: a mean error of at most 1.5 %%, none above 5 %%");
    bench_hold(sapp->n == 16 && sapp->sum / sapp->n <= 0.02 && sapp->worst <= 0.04,
               "Llama-175B: a mean error of at most 2 %%, none above 4 %%");
    bench_hold(pairs->n == 8 && pairs->worst <= 0.05, "Qwen2.5-7B: no error above 5 %%");
    bench_hold(kind[MEASURED_DENSE].sum / kind[MEASURED_DENSE].n <= 0.05, "dense models: a mean error of at most 5 %%");
}

/* ---- calibration ---- */

enum { N_STAGES = 16, N_FITTED = 4 };

typedef struct calibration {
    double mean, worst; /* on the other stages */
} calibration;

static calibration calibrate(const ek_job *job, const ek_memory_peak *peaks, const int *chosen)
{
    ek_memory_peak fitted[N_FITTED], others[N_STAGES];
    int n_others = 0;
    ek_memory_fit_result fit;
    ek_memory memory;
    ek_error err;
    ek_job calibrated;
    for (int s = 0, k = 0; s < N_STAGES; s++)
        if (k < N_FITTED && chosen[k] == s)
            fitted[k++] = peaks[s];
        else
            others[n_others++] = peaks[s];
    if (ek_memory_calibrate(job, fitted, N_FITTED, true, &fit, &err) || ek_job_copy(job, &calibrated, &err))
        bench_give_up("%s", err.message);
    calibrated.rules = fit.rules;
    if (ek_memory_predict(&calibrated, NULL, &memory, &err))
        bench_give_up("%s", err.message);
    ek_memory_error error = ek_memory_compare(&memory, others, n_others, true);
    ek_memory_clear(&memory);
    ek_job_clear(&calibrated);
    return (calibration){error.mean, error.worst};
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Every choice of four stages, each tested on the other twelve. */
static void calibrations(const measured_rows *rows)
{
    enum { N_CHOICES = 1820 }; /* 16 over 4 */
    static double mean[N_CHOICES], worst[N_CHOICES];
    ek_memory_peak peaks[N_STAGES];
    const ek_job *job = NULL;
    int n = 0, good = 0;
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].table == MEASURED_SAPP) {
            job = &rows->row[i].job;
            peaks[rows->row[i].stage] = (ek_memory_peak){.stage = rows->row[i].stage, .mb = rows->row[i].mb};
        }
    int c[N_FITTED];
    for (c[0] = 0; c[0] < N_STAGES; c[0]++)
        for (c[1] = c[0] + 1; c[1] < N_STAGES; c[1]++)
            for (c[2] = c[1] + 1; c[2] < N_STAGES; c[2]++)
                for (c[3] = c[2] + 1; c[3] < N_STAGES; c[3]++) {
                    calibration one = calibrate(job, peaks, c);
                    mean[n] = one.mean;
                    worst[n++] = one.worst;
                    good += one.mean <= 0.015 && one.worst <= 0.03;
                }
    static const int stated[N_FITTED] = {0, 5, 10, 15};
    calibration spread = calibrate(job, peaks, stated);
    qsort(mean, N_CHOICES, sizeof *mean, compare_doubles);
    qsort(worst, N_CHOICES, sizeof *worst, compare_doubles);
    bench_say("### Calibration\n\nThe Llama-175B dry run, calibrated on four of its stages and judged on the other\n"
              "twelve. Evenly spread stages 0, 5, 10, 15: mean %.2f %%, worst %.2f %%. All %d choices of four:\n"
              "mean error %.2f %% in the median and %.2f %% in the worst choice, worst stage %.2f %% and %.2f %%;\n"
              "%d choices stay within 1.5 %% and 3 %%.\n\n",
              100 * spread.mean, 100 * spread.worst, N_CHOICES, 100 * mean[N_CHOICES / 2], 100 * mean[N_CHOICES - 1],
              100 * worst[N_CHOICES / 2], 100 * worst[N_CHOICES - 1], good);
    bench_hold(spread.mean <= 0.015 && spread.worst <= 0.03,
               "calibrated on four stages: a mean error of at most 1.5 %%, none above 3 %%");
}

/* ---- speed ---- */

/* A dense model in the range of 70 to 200 billion parameters. */
static const char job_text[] = "parallel_config:\n"
                               "  data_parallel: 8\n"
                               "  model_parallel: 8\n"
                               "  pipeline_stage: 4\n"
                               "  micro_batch_num: 16\n"
                               "  use_seq_parallel: True\n"
                               "parallel:\n"
                               "  enable_parallel_optimizer: True\n"
                               "runner_config:\n"
                               "  batch_size: 1\n"
                               "recompute_config:\n"
                               "  recompute: False\n"
                               "  select_recompute: True\n"
                               "context:\n"
                               "  max_device_memory: \"58GB\"\n"
                               "model:\n"
                               "  model_config:\n"
                               "    type: LlamaConfig\n"
                               "    seq_length: 8192\n"
                               "    hidden_size: 8192\n"
                               "    num_layers: 80\n"
                               "    num_heads: 64\n"
                               "    n_kv_heads: 8\n"
                               "    vocab_size: 128256\n"
                               "    intermediate_size: 28672\n"
                               "    compute_dtype: bfloat16\n"
                               "    param_init_type: float32\n"
                               "    use_flash_attention: True\n"
                               "    fine_grain_interleave: 2\n";

static void make_job(int n_layers, int n_stages, int n_chunks, int n_micro_batches, ek_job *job)
{
    char path[] = "/tmp/bench-XXXXXX";
    ek_error err;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.n_layers = n_layers;
    overrides.pipeline = n_stages;
    overrides.n_chunks = n_chunks;
    overrides.n_micro_batches = n_micro_batches;
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, job_text, strlen(job_text)) != (ssize_t)strlen(job_text) || close(fd))
        bench_give_up("%s cannot be written", path);
    ek_status status = ek_job_read(path, &overrides, NULL, job, &err);
    unlink(path);
    if (status)
        bench_give_up("%s", err.message);
}

/* Seconds of one prediction, the best of several. */
static double time_prediction(const ek_job *job, const ek_memory_options *options)
{
    double best = INFINITY;
    for (int i = 0; i < 9; i++) {
        ek_memory memory;
        ek_error err;
        double begin = bench_now();
        if (ek_memory_predict(job, options, &memory, &err))
            bench_give_up("%s", err.message);
        best = fmin(best, bench_now() - begin);
        ek_memory_clear(&memory);
    }
    return best;
}

typedef struct speed {
    double live, all, placed;
} speed;

static speed speed_line(int n_layers, int n_stages, int n_chunks, int n_micro_batches)
{
    static const ek_memory_options live = {.without_allocation = true, .without_top = true}, all = {0};
    ek_job job;
    make_job(n_layers, n_stages, n_chunks, n_micro_batches, &job);
    speed s = {.live = time_prediction(&job, &live), .all = time_prediction(&job, &all)};
    job.rules.allocation = EK_ALLOCATION_BLOCKS;
    s.placed = time_prediction(&job, &all);
    ek_job_clear(&job);
    bench_say("| %d | %d | %d | %d | %.2f ms | %.2f ms | %.1f ms |\n", n_layers, n_stages, n_chunks, n_micro_batches,
              1e3 * s.live, 1e3 * s.all, 1e3 * s.placed);
    return s;
}

static void speeds(void)
{
    bench_say("### Speed\n\nOne prediction, best of nine: live bytes alone; what the command prints, with the largest\n"
              "tensors listed; and the same with every tensor of the step placed by a best-fit allocator\n"
              "(`--allocation blocks`).\n\n"
              "| layers | stages | chunks | micro-batches | live | default | placed |\n"
              "|--:|--:|--:|--:|--:|--:|--:|\n");
    speed base = speed_line(100, 16, 4, 64), layers = speed_line(400, 16, 4, 64), stages = speed_line(400, 64, 4, 64),
          micro_batches = speed_line(100, 16, 4, 256);
    bench_say("\nFour times the layers take %.1f times as long (placed: %.1f), four times the stages with them %.1f\n"
              "(%.1f), four times the micro-batches %.1f (%.1f).\n\n",
              layers.all / base.all, layers.placed / base.placed, stages.all / base.all, stages.placed / base.placed,
              micro_batches.all / base.all, micro_batches.placed / base.placed);
    bench_hold(base.live < 0.010 && base.all < 0.010, "100 layers, 16 stages, 4 chunks: 10 ms");
    bench_hold(layers.all < 6 * base.all && micro_batches.all < 6 * base.all && stages.all < 6 * base.all,
               "linear in layers, stages and micro-batches");
    bench_hold(layers.placed < 6 * base.placed && micro_batches.placed < 6 * base.placed,
               "placing is linear in layers and micro-batches");
}

void bench_memory(double seconds)
{
    (void)seconds;
    measured_rows rows;
    ek_error err;
    bench_say("## Memory: predictions beside published figures\n\n");
    if (measured_read(getenv("EK_SHARED"), &rows, &err))
        bench_give_up("%s:%d: %s", err.file, err.line, err.message);
    if (rows.n > 0) {
        published(&rows);
        calibrations(&rows);
    } else {
        bench_say("EK_SHARED names no folder with them: left out.\n\n");
    }
    measured_clear(&rows);
    speeds();
}
