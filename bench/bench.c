/* The bench: simulation speed and its growth, every balancing case with default options, and the linear method beside
 * the default on those the original tool was run on. Prints tables with ratios, so that a noisy machine moves both
 * sides, writes them as Markdown to the file given, and fails where a bound that the project promises does not hold.
 *
 * usage: [MILP_SECONDS=60] bench [FILE.md [COMMIT]]; 0 leaves the linear method out */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "balance/random.h"
#include "cases.h"
#include "simulate/order.h"

enum { N_PLANS = 2001 };

static int failures;
static FILE *report;

/* One line to the terminal and to the report. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    vprintf(format, arguments);
    fflush(stdout);
    if (report)
        vfprintf(report, format, again);
    va_end(again);
    va_end(arguments);
}

static void hold(bool fine, const char *what)
{
    if (fine)
        return;
    failures++;
    fprintf(stderr, "bench: %s does not hold\n", what);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

/* Seconds of one step-time evaluation: the median over distinct plans of a random model, and the same in lanes. */
static void time_simulation(const char *schedule, ek_shape shape, int n_plans, double *alone, double *in_lanes,
                            size_t *n_blocks)
{
    ek_error err;
    ek_order *order = NULL;
    if (ek_order_new(ek_schedule_find(schedule), &shape, &order, &err)) {
        fprintf(stderr, "bench: %s\n", err.message);
        exit(2);
    }
    ek__random random = ek__random_seed(1);
    int n_slots = ek__order_n_slots(order), n_cells = order->n_cells;
    ek_chunk_cost *cost = calloc((size_t)n_cells, sizeof *cost);
    double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
    double *lanes = calloc((size_t)n_slots * EK__LANES, sizeof *lanes);
    double *lane_scratch = calloc(ek__order_n_clocks(order) * EK__LANES, sizeof *lane_scratch);
    double *seconds = calloc((size_t)n_plans, sizeof *seconds),
           *lane_seconds = calloc((size_t)n_plans, sizeof *seconds);
    if (!cost || !scratch || !lanes || !lane_scratch || !seconds || !lane_seconds)
        exit(2);
    double sum = 0, out[EK__LANES];
    for (int plan = 0; plan < n_plans; plan++) {
        /* distinct plans: every chunk's layers and recomputation anew */
        for (int c = 0; c < n_cells; c++) {
            cost[c].forward_time = 1 + ek__random_below(&random, 4);
            cost[c].backward_time = cost[c].forward_time * (2 + 0.1 * ek__random_below(&random, 5));
            int lane = plan % EK__LANES;
            lanes[c * EK__LANES + lane] = cost[c].forward_time;
            lanes[(n_cells + c) * EK__LANES + lane] = cost[c].backward_time;
        }
        double begin = now();
        sum += ek_order_step_time(order, cost, NULL, scratch);
        seconds[plan] = now() - begin;
        begin = now();
        ek__order_step_times(order, lanes, NULL, lane_scratch, out);
        lane_seconds[plan] = (now() - begin) / EK__LANES;
        sum += out[0];
    }
    if (!(sum > 0))
        exit(2);
    *alone = median(seconds, n_plans);
    *in_lanes = median(lane_seconds, n_plans);
    *n_blocks = ek_order_n_blocks(order);
    free(lane_seconds);
    free(seconds);
    free(lane_scratch);
    free(lanes);
    free(scratch);
    free(cost);
    ek_order_free(order);
}

static void bench_simulation(void)
{
    static const struct {
        ek_shape shape;
        int n_plans;
    } rows[] = {{{16, 3, 16, 0}, N_PLANS}, {{16, 3, 64, 0}, N_PLANS}, {{32, 4, 128, 0}, 501},
                {{64, 8, 256, 0}, 101},    {{128, 8, 512, 0}, 21},    {{128, 8, 1024, 0}, 11}};
    say("## Simulation: step time of a changed plan\n\n"
        "Median over distinct plans on one core, order already built (interleaved). *In lanes*: eight plans in one "
        "walk,\n"
        "per plan, as the search does it.\n\n"
        "| p | v | m | blocks | one plan | per block | ratio | in lanes | per block |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    double first = 0, worst = 0, unused;
    size_t also_unused;
    for (int i = 0; i < 20; i++) /* let the processor reach its speed */
        time_simulation("interleaved", rows[0].shape, N_PLANS, &unused, &unused, &also_unused);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double alone, lanes;
        size_t n;
        time_simulation("interleaved", rows[i].shape, rows[i].n_plans, &alone, &lanes, &n);
        double per_block = alone / (double)n;
        first = i == 0 ? per_block : first;
        worst = fmax(worst, per_block / first);
        say("| %d | %d | %d | %zu | %.2f us | %.2f ns | %.2f | %.2f us | %.2f ns |\n", rows[i].shape.n_stages,
            rows[i].shape.n_chunks, rows[i].shape.n_micro_batches, n, alone * 1e6, per_block * 1e9, per_block / first,
            lanes * 1e6, lanes / (double)n * 1e9);
        if (i == 0)
            hold(alone < 4e-6, "p=16, v=3, m=16 in under 4 us");
    }
    say("\nGrowth is linear when the ratio of the cost per block to that of the first row stays near 1: at most %.2f "
        "here.\n\n",
        worst);
    hold(worst < 2, "linear growth (cost per block within 2 x)");
}

/* What a solver makes of a case, simulated again. */
typedef struct answer {
    double step_time, peak_mb, seconds;
    const char *status;
} answer;

static answer solve_case(const balance_case *c, const char *solver, double time_limit)
{
    case_model model;
    ek_error err;
    ek_order *order = NULL;
    ek_shape shape = {.n_stages = c->n_stages, .n_chunks = c->n_chunks, .n_micro_batches = c->n_micro_batches};
    ek_balance_options options;
    ek_balance_result result;
    ek_timeline timeline;
    case_model_init(&model, c->model, c->head, c->body, c->tail);
    ek_balance_options_init(&options);
    options.memory_limit_mb = c->limit_mb;
    options.min_layers = c->min_layers;
    options.solver = solver;
    if (time_limit > 0)
        options.time_limit = time_limit;
    if (ek_order_new(ek_schedule_default(c->n_chunks, c->less_memory), &shape, &order, &err) ||
        ek_balance(&model.layers, order, &options, &result, &err) ||
        ek_simulate(order, &result.plan, &model.layers, NULL, &timeline, &err)) {
        fprintf(stderr, "bench: %s: %s\n", c->name, err.message);
        exit(2);
    }
    answer a = {.step_time = timeline.step_time,
                .peak_mb = ek_timeline_peak(&timeline, NULL),
                .seconds = result.seconds,
                .status = ek_balance_status_name[result.status]};
    hold(a.peak_mb <= c->limit_mb + 1e-6, c->name);
    ek_timeline_clear(&timeline);
    ek_balance_result_clear(&result);
    ek_order_free(order);
    return a;
}

static void bench_balance(void)
{
    say("## Balance: default options, all cores\n\n"
        "*Tool*: the step of the original tool at its time limit (recorded, see bench/cases.h); *ratio*: our step "
        "over\n"
        "its. *Bound*: what the plan must not exceed. A step is in the unit of the case's layer times; every plan is\n"
        "simulated again, and its fullest stage compared with the limit.\n\n"
        "| case | step | time | status | tool | tool's time | ratio | bound | peak / limit MB |\n"
        "|---|--:|--:|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < N_BALANCE_CASES; i++) {
        const balance_case *c = &balance_cases[i];
        answer a = solve_case(c, NULL, 0);
        char tool[32] = "-", seconds[32] = "-", ratio[32] = "-";
        if (!isnan(c->tool_step)) {
            snprintf(tool, sizeof tool, "%.1f", c->tool_step);
            snprintf(ratio, sizeof ratio, "%.4f", a.step_time / c->tool_step);
            if (c->tool_seconds > 0)
                snprintf(seconds, sizeof seconds, "%.0f s", c->tool_seconds);
        }
        say("| %s | %.2f | %.2f s | %s | %s | %s | %s | %.1f | %.0f / %.0f |\n", c->name, a.step_time, a.seconds,
            a.status, tool, seconds, ratio, c->reference_step, a.peak_mb, c->limit_mb);
        hold(a.step_time <= c->reference_step + 0.05, c->name);
        hold(a.seconds < (i < N_TOOL_CASES ? 5 : 10), c->name);
    }
    say("\n");
}

/* The original's method and the default, side by side on this machine. */
static void bench_linear(double milp_seconds)
{
    const double default_seconds = 5;
    say("## The linear method beside the default\n\n"
        "`--solver milp` minimises the original's linear stand-in of the step with CBC "
        "([models.md](models.md#the-linear-"
        "model-of---solver-milp)), here\n"
        "within %g s (`MILP_SECONDS`); the default solver has %g s. Both run here, one after the other, and both plans "
        "are\n"
        "simulated. *Ratio*: the default's step over milp's.\n\n"
        "| case | milp | time | status | default | time | ratio |\n"
        "|---|--:|--:|---|--:|--:|--:|\n",
        milp_seconds, default_seconds);
    for (int i = 0; i < N_TOOL_CASES; i++) {
        const balance_case *c = &balance_cases[i];
        answer linear = solve_case(c, "milp", milp_seconds), own = solve_case(c, NULL, default_seconds);
        say("| %s | %.2f | %.1f s | %s | %.2f | %.2f s | %.4f |\n", c->name, linear.step_time, linear.seconds,
            linear.status, own.step_time, own.seconds, own.step_time / linear.step_time);
        hold(own.step_time <= linear.step_time * (1 + 1e-9), c->name);
    }
    say("\n");
}

/* The processor's name, where the system tells. */
static void processor(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value) {
            snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    char name[128];
    struct utsname system;
    const char *seconds = getenv("MILP_SECONDS");
    double milp_seconds = seconds ? atof(seconds) : 60;
    report = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1 && !report) {
        fprintf(stderr, "bench: cannot write '%s'\n", argv[1]);
        return 2;
    }
    processor(name, sizeof name);
    uname(&system);
    say("# Benchmarks\n\nWritten by `./run bench`; do not edit.\n\nMachine: %s, %ld cores, %s %s. Commit: %s.\n\n",
        name, sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.machine, argc > 2 ? argv[2] : "unknown");
    bench_simulation();
    bench_balance();
    if (milp_seconds > 0)
        bench_linear(milp_seconds);
    if (report && fclose(report) != 0) {
        fprintf(stderr, "bench: cannot write '%s'\n", argv[1]);
        return 2;
    }
    return failures > 0;
}
