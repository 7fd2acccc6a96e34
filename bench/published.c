/* Runs the published cases with default options and with the linear method, and measures the gaps of their
 * certificates. */
#include <stdio.h>

#include "bench.h"

/* A run of a published case, which has a plan and no reason to fail. */
static bench_answer solve_published(int index, const char *solver, double seconds, double proof_seconds,
                                    const char *who)
{
    case_model model;
    bench_run run;
    bench_run_published(&run, index, &model);
    run.options.solver = solver;
    run.options.time_limit = seconds;
    run.options.proof_limit = proof_seconds;
    bench_answer a = bench_solve(&run, who);
    if (a.failed)
        bench_give_up("%s: %s", run.name, a.error.message);
    return a;
}

void bench_balance(double seconds)
{
    ek_balance_options defaults;
    ek_balance_options_init(&defaults);
    bench_say("## Balance: default options, all cores\n\n"
              "*Tool*: the step of the original tool at its time limit (recorded, see bench/cases.h); *ratio*: our\n"
              "step over its. *At most*: what the step must not exceed. *Gap*: from the step down to what is proved\n"
              "that no plan can beat. The time includes the proof's, which has %g s of its own. A step is in the\n"
              "unit of the case's layer times; every plan is simulated again, and its fullest stage compared with\n"
              "the limit.\n\n"
              "| case | step | time | status | gap | tool | tool's time | ratio | at most | peak / limit MB |\n"
              "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|\n",
              defaults.proof_limit);
    for (int i = 0; i < N_BALANCE_CASES; i++) {
        const balance_case *c = &balance_cases[i];
        bench_answer a = solve_published(i, NULL, seconds, defaults.proof_limit, "default");
        char tool[32] = "-", tool_seconds[32] = "-", ratio[32] = "-";
        if (!isnan(c->tool_step)) {
            snprintf(tool, sizeof tool, "%.1f", c->tool_step);
            snprintf(ratio, sizeof ratio, "%.4f", a.step_time / c->tool_step);
            if (c->tool_seconds > 0)
                snprintf(tool_seconds, sizeof tool_seconds, "%.0f s", c->tool_seconds);
        }
        bench_say("| %s | %.2f | %.2f s | %s | %.2f %% | %s | %s | %s | %.1f | %.0f / %.0f |\n", c->name, a.step_time,
                  a.seconds, ek_balance_status_name[a.status], 100 * a.gap, tool, tool_seconds, ratio,
                  c->reference_step, a.peak_mb, c->limit_mb);
        bench_hold(a.step_time <= c->reference_step + 0.05, "%s: a step of at most %.1f", c->name, c->reference_step);
        bench_hold(a.seconds < 10, "%s: an answer in under 10 s", c->name);
    }
}

/* The original's method and the default, side by side on this machine. */
void bench_linear(double seconds)
{
    const double default_seconds = 5;
    bench_say("## The linear method beside the default\n\n"
              "`--solver milp` minimises the original's linear stand-in of the step with CBC\n"
              "([models.md](models.md#the-linear-model-of---solver-milp)), here within %g s (`MILP_SECONDS`); the\n"
              "default solver has %g s. Both run here, one after the other, and both plans are simulated. *Ratio*:\n"
              "the default's step over milp's.\n\n"
              "| case | milp | time | status | default | time | ratio |\n"
              "|---|--:|--:|---|--:|--:|--:|\n",
              seconds, default_seconds);
    for (int i = 0; i < N_TOOL_CASES; i++) {
        const balance_case *c = &balance_cases[i];
        bench_answer linear = solve_published(i, "milp", seconds, 4, "milp"),
                     own = solve_published(i, NULL, default_seconds, 4, "default, 5 s");
        bench_say("| %s | %.2f | %.1f s | %s | %.2f | %.2f s | %.4f |\n", c->name, linear.step_time, linear.seconds,
                  ek_balance_status_name[linear.status], own.step_time, own.seconds, own.step_time / linear.step_time);
        bench_hold(own.step_time <= linear.step_time * (1 + 1e-9), "%s: a step no longer than milp's", c->name);
    }
}

void bench_gaps(double seconds)
{
    bench_say("## Gaps: how close a certificate comes\n\n"
              "The default solver with %g s (`GAP_SECONDS`), all that the search leaves of them for the proof, until\n"
              "the gap is 1 %%. *Bound*: no plan has a shorter step. Gaps are shares of the step; *at %g s*, or at\n"
              "the end where that came before.\n\n"
              "| case | best step | lower bound | gap at %g s | gap at the end | ended after | status |\n"
              "|---|--:|--:|--:|--:|--:|---|\n",
              seconds, BENCH_EARLY, BENCH_EARLY);
    int reached = 0;
    for (int i = 0; i < N_BALANCE_CASES; i++) {
        bench_answer a = solve_published(i, NULL, seconds, INFINITY, "default, long proof");
        reached += a.gap <= 0.01;
        bench_say("| %s | %.2f | %.2f | %.2f %% | %.2f %% | %.1f s | %s |\n", balance_cases[i].name, a.step_time,
                  a.lower_bound, 100 * a.early_gap, 100 * a.gap, a.seconds, ek_balance_status_name[a.status]);
    }
    bench_say("\n%d of %d cases end within 1 %%.\n", reached, N_BALANCE_CASES);
}
