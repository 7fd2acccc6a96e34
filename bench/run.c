/* Makes models and runs the balancer. A run is a forked process that sends its answer through a pipe, so that memory
 * kept by the allocator or leaked by CBC in one run is not part of the next one's peak memory. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"

static double around(ek__random *random, double value, double spread)
{
    return value * (1 + spread * (2 * ek__random_unit(random) - 1));
}

/* Llama-175B as in cases.h, 90 ms of forward. That dry run has no full recomputation; 96 MB is the input of a layer,
 * 4096 x 12288 numbers of 16 bits. */
static void draw_body(ek_layer *body, const char *name, int n_layers, double weight, ek__random *random)
{
    static const double activation[EK_N_RECOMPUTE] = {1002, 783, 695, 423, 96};
    snprintf(body->name, sizeof body->name, "%s", name);
    body->n_layers = n_layers;
    body->forward_time = around(random, 90 * weight, 0.1);
    body->parameter_mb = floor(around(random, 2217 * weight, 0.1));
    double share[EK_N_RECOMPUTE];
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        share[k] = around(random, ek_recompute_coefficient[k], 0.1);
        body->activation_mb[k] = floor(around(random, activation[k] * weight, 0.05));
        body->modelled[k] = true;
    }
    share[EK_RECOMPUTE_BOTH] = share[EK_RECOMPUTE_SELECT] + share[EK_RECOMPUTE_COMM];
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        body->backward_time[k] = body->forward_time * EK_BACKWARD_RATIO * (1 + share[k]);
    body->weight_time = EK_WEIGHT_TIME_SHARE * body->backward_time[EK_RECOMPUTE_NONE];
}

static void draw_end(ek_layer *end, double forward, double parameter_mb)
{
    end->n_layers = 1;
    end->forward_time = forward;
    end->parameter_mb = floor(parameter_mb);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        end->backward_time[k] = forward * EK_BACKWARD_RATIO;
    end->weight_time = EK_WEIGHT_TIME_SHARE * forward * EK_BACKWARD_RATIO;
}

void bench_model_draw(bench_model *model, int n_body, int n_layers, uint64_t seed)
{
    ek__random random = ek__random_seed(seed);
    int n_light = n_body == 1 ? n_layers : n_layers / 4;
    memset(model, 0, sizeof *model);
    draw_body(&model->body[0], "BODY", n_light, 1, &random);
    if (n_body > 1)
        draw_body(&model->body[1], "HEAVY", n_layers - n_light, 1.4, &random);
    model->layers =
        (ek_layers){.n_body = n_body, .body = model->body, .n_layers = n_layers, .const_mb = 1206, .name = "drawn"};
    draw_end(&model->layers.head, around(&random, 45, 0.9), around(&random, 4614, 0.1));
    draw_end(&model->layers.tail, around(&random, 120, 0.5), around(&random, 5885, 0.1));
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        model->layers.modelled[k] = true;
}

void bench_run_init(bench_run *run, const char *name, const ek_layers *layers, ek_shape shape, int less_memory)
{
    *run = (bench_run){
        .name = name, .layers = layers, .schedule = ek_schedule_default(shape.n_chunks, less_memory), .shape = shape};
    ek_balance_options_init(&run->options);
}

void bench_run_published(bench_run *run, int index, case_model *model)
{
    const balance_case *c = &balance_cases[index];
    case_model_init(model, c->model, c->head, c->body, c->tail);
    bench_run_init(run, c->name, &model->layers,
                   (ek_shape){.n_stages = c->n_stages, .n_chunks = c->n_chunks, .n_micro_batches = c->n_micro_batches},
                   c->less_memory);
    run->options.memory_limit_mb = c->limit_mb;
    run->options.min_layers = c->min_layers;
}

static void watch(void *user, const ek_balance_progress *progress)
{
    bench_answer *a = user;
    a->claimed_bound = fmax(a->claimed_bound, progress->lower_bound);
    if (progress->seconds <= BENCH_EARLY)
        a->early_gap = fmax(0, 1 - progress->lower_bound / progress->best_step_time);
}

static double peak_memory_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static ek_status solve_here(const bench_run *run, bench_answer *a, ek_error *err)
{
    ek_balance_options options = run->options;
    ek_order *order = NULL;
    ek_balance_result result = {0};
    ek_timeline timeline;
    double begin = bench_now();
    options.progress = watch;
    options.user = a;
    ek_status status = ek_order_new(run->schedule, &run->shape, &order, err);
    if (!status)
        status = ek_balance(run->layers, order, &options, &result, err);
    a->seconds = bench_now() - begin;
    a->memory_mb = peak_memory_mb();
    a->status = result.status;
    a->step_time = result.step_time;
    a->lower_bound = result.lower_bound;
    a->claimed_bound = fmax(a->claimed_bound, result.lower_bound);
    a->gap = result.gap;
    a->smallest_limit_mb = result.smallest_limit_mb;
    if (a->seconds < BENCH_EARLY)
        a->early_gap = a->gap;
    if (!status && a->status != EK_BALANCE_INFEASIBLE) {
        status = ek_simulate(order, &result.plan, run->layers, NULL, &timeline, err);
        if (!status) {
            a->peak_mb = ek_timeline_peak(&timeline, NULL);
            if (fabs(timeline.step_time - a->step_time) > 1e-9 * a->step_time)
                a->step_time = NAN; /* not the plan's memory */
            ek_timeline_clear(&timeline);
        }
    }
    ek_balance_result_clear(&result);
    ek_order_free(order);
    return status;
}

static bool receive(int from, bench_answer *a)
{
    size_t got = 0;
    while (got < sizeof *a) {
        ssize_t n = read(from, (char *)a + got, sizeof *a - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

bench_answer bench_solve(const bench_run *run, const char *who)
{
    bench_answer a = {.early_gap = 1};
    int ends[2];
    if (pipe(ends) != 0)
        bench_give_up("no pipe: %s", strerror(errno));
    fflush(NULL); /* the child must not write buffered output a second time */
    pid_t child = fork();
    if (child < 0)
        bench_give_up("no process: %s", strerror(errno));
    if (child == 0) {
        a.failed = solve_here(run, &a, &a.error);
        _exit(write(ends[1], &a, sizeof a) != (ssize_t)sizeof a);
    }
    close(ends[1]);
    bool received = receive(ends[0], &a);
    close(ends[0]);
    waitpid(child, NULL, 0);
    if (!received)
        bench_give_up("%s: the run of %s died", run->name, who);
    if (!a.failed && a.status != EK_BALANCE_INFEASIBLE) {
        bench_hold(isfinite(a.step_time) && a.peak_mb <= run->options.memory_limit_mb * (1 + 1e-9),
                   "%s, %s: the step and the memory of the plan", run->name, who);
        bench_ledger_add(run->name, who, a.step_time, a.claimed_bound);
    }
    return a;
}

double bench_smallest_limit(const bench_run *run)
{
    bench_run starved = *run;
    starved.options.memory_limit_mb = 1;
    bench_answer a = bench_solve(&starved, "smallest limit");
    if (a.failed)
        bench_give_up("%s: %s", run->name, a.error.message);
    return a.smallest_limit_mb;
}
