/* Measures the time of one evaluation of the step time, and checks that it grows only with the number of blocks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "bench.h"
#include "simulate/order.h"

enum { N_PLANS = 2001 };

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
    if (ek_order_new(ek_schedule_find(schedule), &shape, &order, &err))
        bench_give_up("%s", err.message);
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
        /* distinct plans: new layers and recomputation of every chunk */
        for (int c = 0; c < n_cells; c++) {
            cost[c].forward_time = 1 + ek__random_below(&random, 4);
            cost[c].backward_time = cost[c].forward_time * (2 + 0.1 * ek__random_below(&random, 5));
            int lane = plan % EK__LANES;
            lanes[c * EK__LANES + lane] = cost[c].forward_time;
            lanes[(n_cells + c) * EK__LANES + lane] = cost[c].backward_time;
        }
        double begin = bench_now();
        sum += ek_order_step_time(order, cost, NULL, scratch);
        seconds[plan] = bench_now() - begin;
        begin = bench_now();
        ek__order_step_times(order, lanes, NULL, lane_scratch, out);
        lane_seconds[plan] = (bench_now() - begin) / EK__LANES;
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

void bench_simulation(double seconds)
{
    (void)seconds; /* it takes as long as it takes */
    static const struct {
        ek_shape shape;
        int n_plans;
    } rows[] = {{{16, 3, 16, 0}, N_PLANS}, {{16, 3, 64, 0}, N_PLANS}, {{32, 4, 128, 0}, 501},
                {{64, 8, 256, 0}, 101},    {{128, 8, 512, 0}, 21},    {{128, 8, 1024, 0}, 11}};
    bench_say(
        "## Simulation: step time of a changed plan\n\n"
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
        bench_say("| %d | %d | %d | %zu | %.2f us | %.2f ns | %.2f | %.2f us | %.2f ns |\n", rows[i].shape.n_stages,
                  rows[i].shape.n_chunks, rows[i].shape.n_micro_batches, n, alone * 1e6, per_block * 1e9,
                  per_block / first, lanes * 1e6, lanes / (double)n * 1e9);
        if (i == 0)
            bench_hold(alone < 4e-6, "p=16, v=3, m=16 in under 4 us");
    }
    bench_say(
        "\nGrowth is linear when the ratio of the cost per block to that of the first row stays near 1: at most %.2f "
        "here.\n",
        worst);
    bench_hold(worst < 2, "linear growth (cost per block within 2 x)");
}
