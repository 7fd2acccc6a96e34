/* Measures models of other sizes than the published ones: the time of the proof with one chunk a stage, and how time
 * and memory grow with stages, chunks, micro-batches and layers. Memory limits are multiples of the smallest limit that
 * has a plan, since this ratio makes a case easy or hard. */
#include <stdio.h>

#include "bench.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Smallest first: a plan found under one limit is one under those after it too. */
enum { TIGHT, MIDDLING, LOOSE, N_LIMITS, ANNEALED_LAYERS = 128 };
static const struct {
    const char *name;
    double factor;
} limits[N_LIMITS] = {[TIGHT] = {"tight", 1.02}, [MIDDLING] = {"middling", 1.5}, [LOOSE] = {"loose", 3}};

typedef struct tally {
    int n, proved, in_time;
} tally;

/* One pipeline under all limits: a line of the table. */
static void prove_stages(ek_shape shape, int n_layers, double seconds, double goal, tally *t)
{
    bench_model model;
    bench_model_draw(&model, 1, n_layers,
                     (uint64_t)shape.n_stages * 65536 + (uint64_t)n_layers * 256 + (uint64_t)shape.n_micro_batches);
    bench_run run;
    bench_run_init(&run, "one chunk a stage", &model.layers, shape, 0);
    double smallest = bench_smallest_limit(&run), shortest = INFINITY;
    bench_say("| %d | %d | %d |", shape.n_stages, n_layers, shape.n_micro_batches);
    for (int i = 0; i < N_LIMITS; i++) {
        char name[64];
        snprintf(name, sizeof name, "p=%d L=%d m=%d %s", shape.n_stages, n_layers, shape.n_micro_batches,
                 limits[i].name);
        run.name = name;
        run.options.memory_limit_mb = smallest * limits[i].factor;
        run.options.time_limit = run.options.proof_limit = seconds;
        run.options.gap = 0;
        bench_answer a = bench_solve(&run, "default");
        if (a.failed)
            bench_give_up("%s: %s", name, a.error.message);
        bench_ledger_add(name, "default, less memory", shortest, 0);
        shortest = fmin(shortest, a.step_time);
        if (n_layers == ANNEALED_LAYERS && i == MIDDLING) { /* a witness that does not depend on the bound */
            run.options.solver = "anneal";
            run.options.time_limit = seconds / 5;
            run.options.gap = 1;
            bench_solve(&run, "anneal");
            run.options.solver = NULL;
        }
        bool proved = a.status == EK_BALANCE_OPTIMAL;
        t->n++;
        t->proved += proved;
        t->in_time += proved && a.seconds <= goal;
        bench_say(" %.0f | %.2f s | ", run.options.memory_limit_mb / 1024, a.seconds);
        if (proved)
            bench_say("proved |");
        else
            bench_say("%.2g %% |", 100 * a.gap);
    }
    bench_say(" %g s |\n", goal);
}

void bench_stages(double seconds)
{
    static const int stages[] = {16, 32, 64}, layers[] = {64, 128, 256}, rounds[] = {1, 2, 4};
    const double goal = 1, large_goal = 10, large_seconds = 3 * seconds;
    bench_say("## One chunk a stage: time to a proven optimum\n\n"
              "1F1B, all five recompute kinds, figures drawn around those of Llama-175B (bench/run.c). The limits\n"
              "are %g, %g and %g times the smallest that has a plan. Each run has %g s (`STAGES_SECONDS`), three\n"
              "times that with 128 stages. *Gap*: what is left open then, or *proved*.\n\n"
              "| p | L | m | tight GB | time | gap | middling GB | time | gap | loose GB | time | gap | goal |\n"
              "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
              limits[TIGHT].factor, limits[MIDDLING].factor, limits[LOOSE].factor, seconds);
    tally t = {0};
    for (int p = 0; p < COUNT(stages); p++)
        for (int l = 0; l < COUNT(layers); l++)
            for (int m = 0; m < COUNT(rounds); m++)
                prove_stages((ek_shape){.n_stages = stages[p], .n_chunks = 1, .n_micro_batches = rounds[m] * stages[p]},
                             layers[l], seconds, goal, &t);
    prove_stages((ek_shape){.n_stages = 128, .n_chunks = 1, .n_micro_batches = 256}, 1024, large_seconds, large_goal,
                 &t);
    bench_say("\nProved: %d of %d; within the goal: %d.\n", t.proved, t.n, t.in_time);
}

typedef struct growth_row {
    int p, v, m, l, n_body;
} growth_row;

static bench_answer grow(const growth_row *row, double seconds, double proof_seconds)
{
    bench_model model;
    bench_run run;
    char name[64];
    bench_model_draw(&model, row->n_body, row->l, 1);
    snprintf(name, sizeof name, "p=%d v=%d m=%d L=%d, %d body", row->p, row->v, row->m, row->l, row->n_body);
    bench_run_init(&run, name, &model.layers,
                   (ek_shape){.n_stages = row->p, .n_chunks = row->v, .n_micro_batches = row->m}, 0);
    run.options.memory_limit_mb = bench_smallest_limit(&run) * limits[MIDDLING].factor;
    run.options.time_limit = seconds;
    run.options.proof_limit = proof_seconds;
    bench_answer a = bench_solve(&run, "default");
    if (a.failed)
        bench_give_up("%s: %s", name, a.error.message);
    bench_say("| %d | %d | %d | %d | %d | %.0f | %.1f | %.1f | %.2f %% | %s | %.2f s | %.0f MB |\n", row->p, row->v,
              row->m, row->l, row->n_body, run.options.memory_limit_mb / 1024, a.step_time, a.lower_bound, 100 * a.gap,
              ek_balance_status_name[a.status], a.seconds, a.memory_mb);
    return a;
}

void bench_growth(double seconds)
{
    static const growth_row rows[] = {{16, 2, 128, 256, 1},  {64, 2, 128, 256, 1}, {128, 2, 128, 256, 1},
                                      {16, 1, 128, 256, 1},  {16, 4, 128, 256, 1}, {16, 8, 128, 256, 1},
                                      {16, 2, 1024, 256, 1}, {16, 2, 128, 512, 1}, {16, 2, 128, 2048, 1},
                                      {16, 2, 128, 256, 2}};
    static const growth_row largest = {128, 8, 1024, 2048, 2};
    const double most_mb = 4096;
    ek_balance_options defaults;
    ek_balance_options_init(&defaults);
    double default_proof = defaults.proof_limit;
    bench_say("## Growth: time and memory of a run\n\n"
              "Default options but for the time limit: %g s, and for the last row %g s (`GROWTH_SECONDS`), all that\n"
              "the search leaves of it for the proof, as with `-t`. From the first row on, one of stages, chunks,\n"
              "micro-batches, layers and body kinds grows at a time; the last row has all of them. The limit is %g\n"
              "times the smallest that is found to have a plan; *peak* is the most that the process held.\n\n"
              "| p | v | m | L | kinds | limit GB | step | lower bound | gap | status | time | peak |\n"
              "|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|\n",
              seconds / 5, seconds, limits[MIDDLING].factor);
    for (int i = 0; i < COUNT(rows); i++)
        grow(&rows[i], seconds / 5, default_proof);
    bench_answer a = grow(&largest, seconds, seconds);
    bench_say("\nGoal of the last row: under 60 s and %.0f MB: %s.\n", most_mb,
              a.seconds < 60 && a.memory_mb < most_mb ? "reached" : "missed");
}
