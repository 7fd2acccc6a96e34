/* Injects every kind of bottleneck in generated runs, in three sizes and all its shapes, and checks the diagnosis:
 * whether it ranks the fault first, and how far its gain is from the time that the generator lost. The cases are those
 * of the unit test, which runs a part of this matrix. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_injection.h"

static const double tolerance = 0.10; /* promised */

typedef struct tally {
    int n, n_first;
    double sum, worst; /* deviations of those ranked first, relative */
    double least, most, seconds;
} tally;

static void add_run(const fault_run *r, const char *folder, tally *t)
{
    fault_diagnosed d;
    double step = fault_step(&r->shape), cost = step - fault_step(&r->sound), begin = bench_now();
    fault_diagnose(r, folder, &d);
    t->seconds += bench_now() - begin;
    const ek_bottleneck *first = d.diagnosis.n_bottlenecks > 0 ? &d.diagnosis.bottleneck[0] : NULL;
    bool right = first && strcmp(first->id, r->id) == 0;
    double off = right ? fabs(first->gain_seconds / cost - 1) : NAN;
    t->least = t->n == 0 ? cost / step : fmin(t->least, cost / step);
    t->most = fmax(t->most, cost / step);
    t->n++;
    t->n_first += right;
    t->sum += right ? off : 0;
    t->worst = fmax(t->worst, off);
    bench_hold(right && off <= tolerance, "%s: ranked first, and its gain within 10 %%", r->what);
    fault_diagnosed_clear(&d);
}

static tally run_kind(int kind, const char *folder)
{
    static const struct {
        double share, jitter;
    } sizes[] = {{0.02, 0}, {0.05, 0.03}, {0.15, 0}};
    const fault_kind *k = &fault_kinds[kind];
    tally t = {0};
    fault_run r;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int stages = k->least_stages; stages <= k->most_stages; stages *= 2)
            for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++) {
                if (form == TRACE_TORCH || (form == TRACE_TORCH_NPU && (!k->torch || stages > 2)))
                    continue;
                fault_make_one(&r, kind, (trace_form)form, stages, sizes[i].share, sizes[i].jitter, i + 1, false);
                add_run(&r, folder, &t);
            }
    return t;
}

/* Findings above 1 % in runs without a fault. */
static void run_healthy(const char *folder)
{
    int n = 0, n_findings = 0;
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int stages = 1; stages <= 4; stages *= 2)
            for (int jitter = 0; jitter <= 3; jitter += 3) {
                fault_run r = {.shape = fault_sound((trace_form)form, stages, 0.01 * jitter, 11, false)};
                fault_diagnosed d;
                fault_diagnose(&r, folder, &d);
                n++;
                n_findings += d.diagnosis.n_bottlenecks;
                fault_diagnosed_clear(&d);
            }
    bench_say("\nIn %d runs without a fault %d findings above 1 %% of a step.\n\n", n, n_findings);
    bench_hold(n_findings == 0, "nothing above 1 %% in runs without a fault");
}

void bench_faults(double seconds)
{
    char folder[] = "/tmp/evenkeel-bench-faults-XXXXXX";
    int n = 0, n_first = 0;
    (void)seconds;
    if (!mkdtemp(folder))
        bench_give_up("no folder for traces can be made in /tmp");
    bench_say("## Diagnosis: injected faults\n\nRuns of a generator, each with one fault; injected is the step with it "
              "less the step without, both generated. The deviation is that of the predicted gain from what was "
              "injected.\n\n| fault | finding | runs | injected, of a step | ranked first | deviation, mean | worst | "
              "seconds a run |\n|---|---|--:|--:|--:|--:|--:|--:|\n");
    for (int kind = 0; kind < N_FAULT_KINDS; kind++) {
        tally t = run_kind(kind, folder);
        bench_say("| %s | %s | %d | %.1f..%.1f %% | %d of %d | %.2f %% | %.2f %% | %.2f |\n", fault_kinds[kind].name,
                  fault_kinds[kind].id, t.n, 100 * t.least, 100 * t.most, t.n_first, t.n,
                  t.n_first > 0 ? 100 * t.sum / t.n_first : NAN, 100 * t.worst, t.seconds / t.n);
        n += t.n;
        n_first += t.n_first;
    }
    bench_say("\nRanked first: %d of %d.\n", n_first, n);
    run_healthy(folder);
    rmdir(folder);
}
