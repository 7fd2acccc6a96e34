/* Measures the tuning workflow from a training YAML to its settings: the quality of the guide's dry runs, the speed of
 * reading logs beside a line-by-line reader, and how the time of writing a plan into a training YAML grows with the
 * file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "evenkeel/collect.h"
#include "evenkeel/emit.h"
#include "evenkeel/guide.h"

/* ---- guide ---- */

static void guide_line(int n_stages, int n_layers, int kinds, bool promised)
{
    ek_guide_options options;
    ek_guide guide;
    ek_error err;
    char names[64] = "none";
    ek_guide_options_init(&options);
    options.n_stages = n_stages;
    options.n_layers = n_layers;
    for (int k = 1; k < EK_N_RECOMPUTE; k++) {
        options.kind[k] = kinds >> (k - 1) & 1;
        if (options.kind[k])
            snprintf(names + strlen(names), sizeof names - strlen(names), " %s", ek_recompute_name[k]);
    }
    double begin = bench_now();
    if (ek_guide_make(&options, &guide, &err))
        bench_give_up("%s", err.message);
    double seconds = bench_now() - begin, ratio = guide.random_condition / guide.condition, worst = 0;
    for (int i = 0; i < guide.n_errors - 3; i++) /* parameters and activations */
        worst = fmax(worst, guide.error[i].one_mb);
    bench_say("| %d | %d | %s | %d | %.1f | %.0f | %.1f | %.2f MB | %.2f s |\n", n_stages, n_layers, names,
              guide.runs.n_rounds, guide.condition, guide.random_condition, ratio, worst, seconds);
    if (promised)
        bench_hold(ratio >= 10, "a tenth of random lists' condition number with %d stages and %s", n_stages, names);
    ek_guide_clear(&guide);
}

static void guide_table(void)
{
    static const int stages[] = {4, 8, 16, 32};
    bench_say(
        "## Dry runs that tell\n\nThe condition number of `guide`'s dry runs beside the median of lists drawn at "
        "random, "
        "the most that 1 MB of error\nin one peak changes in parameters or activations, and the time it takes.\n\n"
        "| stages | layers | kinds | rounds | condition | random | ratio | 1 MB becomes | time |\n"
        "|--:|--:|---|--:|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < 4; i++)
        for (int kinds = 0; kinds < 16; kinds = 2 * kinds + 1)
            guide_line(stages[i], 96, kinds, true);
    guide_line(128, 512, 15, false);
    guide_line(1024, 4096, 15, false);
}

/* ---- logs ---- */

/* A log as long as those of a real compile, the peaks at its end. */
static void write_log(FILE *out, long bytes)
{
    for (int i = 0; ftell(out) < bytes; i++)
        fprintf(
            out,
            "[INFO] PARALLEL(%d,7f%06x,python):2025-02-17-21:20:%02d.%06d [graph.cc:%d] operator %d of the graph has "
            "an actual memory of 12 peaks\n",
            4000 + i % 7, i, i % 60, i % 1000000, i % 977, i);
    fputs("Device MOC memory size: 65536M\nUsed peak memory usage (without fragments): 23716M\n"
          "Actual peak memory usage (with fragments): 26244M\n",
          out);
}

/* As grep does: every line, both texts. */
static double read_by_lines(const char *path)
{
    static char line[1 << 16];
    double peak = NAN;
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in)) {
        const char *actual = strstr(line, "Actual peak memory usage"), *used = strstr(line, "Used peak memory usage");
        if (actual && !used)
            peak = atof(strrchr(actual, ':') + 1);
    }
    if (in)
        fclose(in);
    return peak;
}

static void log_table(void)
{
    char path[] = "/tmp/evenkeel-bench-XXXXXX";
    bench_say(
        "\n## Logs\n\nReading the peaks at the end of one log, beside a reader that looks at every line (`fgets`, "
        "`strstr`).\n\n| log | `collect` | line by line | ratio |\n|--:|--:|--:|--:|\n");
    int descriptor = mkstemp(path);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out)
        bench_give_up("no temporary file for a log");
    for (long mb = 16; mb <= 256; mb *= 4) {
        ek_log log;
        ek_error err;
        rewind(out);
        write_log(out, mb << 20);
        fflush(out);
        double own = INFINITY, lines = INFINITY;
        for (int i = 0; i < 3; i++) {
            double begin = bench_now();
            if (ek_log_read(path, &log, &err))
                bench_give_up("%s", err.message);
            double middle = bench_now();
            double peak = read_by_lines(path);
            lines = fmin(lines, bench_now() - middle);
            own = fmin(own, middle - begin);
            bench_hold(peak == log.actual_mb, "the same peak by both readers");
        }
        bench_say("| %ld MB | %.0f MB/s | %.0f MB/s | %.1f |\n", mb, (double)mb / own, (double)mb / lines, lines / own);
    }
    fclose(out);
    unlink(path);
}

/* ---- training YAML ---- */

static void write_training(FILE *out, int n_lines)
{
    fputs("parallel_config:\n  pipeline_stage: 4\n  micro_batch_num: 8\nmodel:\n  model_config:\n    num_layers: 32\n"
          "    offset: 0\nrecompute_config:\n  recompute: False\ncallbacks:\n",
          out);
    for (int i = 0; i < n_lines; i++)
        fprintf(out, "  - {type: Monitor%d, every: %d, path: \"./out\"} # 第 %d 行\n", i, i % 100, i);
}

static void edit_table(void)
{
    static int layers[] = {9, 8, 8, 7}, full[] = {3, 2, 1, 0}, none[] = {0, 0, 0, 0};
    const ek_plan plan = {4, 1, layers, full, none, none};
    const ek_train_change change = {.plan = &plan, .n_layers = 32};
    char path[] = "/tmp/evenkeel-bench-XXXXXX";
    double before = NAN;
    bench_say(
        "\n## Changing a training YAML\n\nPutting a plan into a file that is otherwise longer and longer; the last "
        "column should stay near 10.\n\n| lines | time | ratio to the line before |\n|--:|--:|--:|\n");
    int descriptor = mkstemp(path);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out)
        bench_give_up("no temporary file for a training YAML");
    for (int n = 100; n <= 100000; n *= 10) {
        double best = INFINITY;
        rewind(out);
        write_training(out, n);
        fflush(out);
        for (int i = 0; i < 3; i++) {
            ek_error err;
            char *text;
            size_t size;
            double begin = bench_now();
            if (ek_train_apply(path, &change, NULL, &text, &size, &err))
                bench_give_up("%s", err.message);
            best = fmin(best, bench_now() - begin);
            free(text);
        }
        if (isnan(before))
            bench_say("| %d | %.2f ms | - |\n", n, 1e3 * best);
        else
            bench_say("| %d | %.2f ms | %.1f |\n", n, 1e3 * best, best / before);
        before = best;
    }
    fclose(out);
    unlink(path);
}

void bench_way(double seconds)
{
    (void)seconds;
    guide_table();
    log_table();
    edit_table();
}
