/* Tests the library inside a process with its own threads: eight of them make cheap calls, in any order and beside the
 * library's threads. Each answer equals the one of a single thread, to the last byte, and nothing appears on standard
 * output or standard error. EK_CONCURRENT_SECONDS is the duration. */

#define _GNU_SOURCE /* the affinity mask */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/linear.h"
#include "base/random.h"
#include "base/threads.h"
#include "effort.h"
#include "evenkeel/evenkeel.h"
#include "input.h"

enum { N_THREADS = 8, USUAL_SECONDS = 3, LIBRARY_THREADS = 2 };

/* ---- the calls: each prints all its results, or its error ---- */

static const char *file_of(const char *name, char path[4096])
{
    const char *root = getenv("EK_SOURCE_ROOT");
    snprintf(path, 4096, "%s/%s", root ? root : ".", name);
    return path;
}

static bool fails(FILE *out, ek_status status, const ek_error *err)
{
    if (status)
        fprintf(out, "failed: %s\n", err->message);
    return status != EK_OK;
}

static void print_plan(FILE *out, const ek_plan *plan)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        fprintf(out, " %d/%d/%d/%d", plan->layers[c], plan->full[c], plan->select[c], plan->comm[c]);
    fputc('\n', out);
}

static bool read_model(FILE *out, ek_layers *layers)
{
    char path[4096];
    ek_error err;
    return !fails(out, ek_layers_read(file_of("tests/data/small_layers.json", path), NULL, NULL, layers, &err), &err);
}

static ek_balance_options options_of(const char *solver)
{
    ek_balance_options options;
    ek_balance_options_init(&options);
    options.memory_limit_mb = 700;
    options.time_limit = 300;
    options.n_threads = LIBRARY_THREADS;
    options.n_steps = 200;
    options.solver = solver;
    return options;
}

/* Plans do not depend on the clock that may end the proof; bounds do. */
static void balance_with(FILE *out, const char *solver, int n_stages, const char *schedule)
{
    ek_layers layers = {0};
    ek_error err;
    ek_order *order = NULL;
    ek_balance_result result = {0};
    const ek_shape shape = {.n_stages = n_stages, .n_chunks = 1, .n_micro_batches = 4};
    const ek_balance_options options = options_of(solver);
    if (read_model(out, &layers) &&
        !fails(out, ek_balance_arranged(&layers, ek_schedule_find(schedule), &shape, &options, &order, &result, &err),
               &err)) {
        fprintf(out, "%d %.17g", result.status == EK_BALANCE_INFEASIBLE, result.step_time);
        print_plan(out, &result.plan);
    }
    ek_balance_result_clear(&result);
    ek_order_free(order);
    ek_layers_clear(&layers);
}

/* The solver that works in a copy of the process. The sanitizers' allocators, unlike libc's, may be left locked in the
 * copy by other threads: there another solver takes its place. */
static const char *const in_child = EK_TEST_IS_SANITIZED ? "anneal" : "milp";

static void call_staged(FILE *out)
{
    balance_with(out, "staged", 3, "1f1b");
}

static void call_anneal(FILE *out)
{
    balance_with(out, "anneal", 4, "gpipe");
}

static void call_branch(FILE *out)
{
    balance_with(out, "branch", 3, "zb-h1");
}

static void call_milp(FILE *out)
{
    balance_with(out, in_child, 4, "1f1b");
}

static void call_exhaustive(FILE *out)
{
    balance_with(out, "exhaustive", 2, "1f1b");
}

static void call_simulate(FILE *out)
{
    ek_layers layers = {0};
    ek_error err;
    ek_order *order = NULL;
    ek_plan plan = {0};
    ek_timeline t = {0};
    const ek_shape shape = {.n_stages = 4, .n_chunks = 2, .n_micro_batches = 8};
    const ek_comm comm = {.p2p_time = 0.25, .blocking = true};
    if (read_model(out, &layers) &&
        !fails(out, ek_order_new(ek_schedule_find("interleaved"), &shape, &order, &err), &err) &&
        !fails(out, ek_plan_even(&layers, 4, 2, EK_RECOMPUTE_NONE, &plan, &err), &err) &&
        !fails(out, ek_simulate(order, &plan, &layers, &comm, &t, &err), &err))
        for (int s = 0; s < 4; s++)
            fprintf(out, "%.17g %.17g %.17g\n", t.step_time, t.peak_mb[s], t.busy[s]);
    ek_timeline_clear(&t);
    ek_plan_clear(&plan);
    ek_order_free(order);
    ek_layers_clear(&layers);
}

static void call_sweep(FILE *out)
{
    static const double limit[] = {500, 600, 700};
    ek_layers layers = {0};
    ek_error err;
    ek_sweep sweep = {0};
    const ek_sweep_input input = {.layers = &layers,
                                  .n = 3,
                                  .value = limit,
                                  .n_stages = 2,
                                  .n_chunks = 1,
                                  .n_micro_batches = 4,
                                  .options = options_of(in_child)};
    if (read_model(out, &layers) && !fails(out, ek_sweep_run(&input, &sweep, &err), &err))
        for (int i = 0; i < sweep.n; i++)
            fprintf(out, "%g %.17g %s\n", sweep.row[i].value, sweep.row[i].step_time, sweep.row[i].impossible);
    ek_sweep_clear(&sweep);
    ek_layers_clear(&layers);
}

static void call_refusal(FILE *out)
{
    ek_layers layers = {0};
    ek_error err;
    if (read_model(out, &layers)) {
        layers.body[0].backward_time[EK_RECOMPUTE_NONE] = -1;
        fprintf(out, "%d %s\n", ek_layers_check(&layers, &err), err.message);
    }
    ek_layers_clear(&layers);
}

static void call_decompose(FILE *out)
{
    char path[4096];
    ek_error err;
    ek_dryrun init = {0};
    ek_layers layers = {0};
    if (!fails(out, ek_dryrun_read(file_of("tests/data/small_init.yaml", path), NULL, &init, &err), &err) &&
        !fails(out, ek_dryrun_decompose(&init, "small", NULL, false, &layers, &err), &err))
        fails(out, ek_layers_write(&layers, out, &err), &err);
    ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
}

static void call_guide(FILE *out)
{
    ek_error err;
    ek_guide guide = {0};
    ek_guide_options options;
    ek_guide_options_init(&options);
    options.n_stages = 4;
    options.n_layers = 16;
    options.kind[EK_RECOMPUTE_FULL] = true;
    if (!fails(out, ek_guide_make(&options, &guide, &err), &err))
        fails(out, ek_write(ek_output_of_guide(&guide), "json", out, &err), &err);
    ek_guide_clear(&guide);
}

/* Memory and step of a job, and both as a document. */
static void call_estimate(FILE *out)
{
    char path[4096];
    int n;
    ek_error err;
    ek_job job = {0};
    ek_estimate estimate = {0};
    const ek_device *device = ek_devices(&n);
    const ek_estimate_report report = {.estimate = &estimate};
    if (!fails(out, ek_job_read(file_of("examples/llama2_13b_2_pp2.yaml", path), NULL, NULL, &job, &err), &err) &&
        !fails(out, ek_estimate_of(&job, device, 1e9, &estimate, &err), &err))
        fails(out, ek_write(ek_output_of_estimate(&report), "csv", out, &err), &err);
    for (int s = 0; s < estimate.memory.n_stages; s++)
        fprintf(out, "%lld\n", (long long)estimate.memory.stage[s].actual_peak);
    ek_estimate_clear(&estimate);
    ek_job_clear(&job);
}

static void call_lint(FILE *out)
{
    char path[4096];
    ek_error err;
    ek_lint lint = {0};
    const char *const paths[] = {file_of("tests/data/small_train.yaml", path)};
    if (!fails(out, ek_lint_run(paths, 1, NULL, NULL, &lint, &err), &err))
        fails(out, ek_write(ek_output_of_lint(&lint), "json", out, &err), &err);
    ek_lint_clear(&lint);
}

static void call_trace(FILE *out)
{
    char path[4096];
    ek_error err;
    ek_trace_run run = {0};
    const ek_trace_options options = {.n_threads = LIBRARY_THREADS};
    const ek_trace_report report = {.run = &run};
    const char *const paths[] = {file_of("examples/trace", path)};
    if (!fails(out, ek_trace_run_read(paths, 1, &options, NULL, &run, &err), &err))
        fails(out, ek_write(ek_output_of_trace(&report), "json", out, &err), &err);
    ek_trace_run_clear(&run);
}

static void call_ir(FILE *out)
{
    char path[4096];
    ek_error err;
    ek_ir *ir = NULL;
    ek_ir_report report = {0};
    const ek_ir_report *const all[] = {&report};
    const ek_ir_reports reports = {.report = all, .n = 1};
    if (!fails(out, ek_ir_read(file_of("examples/silu_mul.ir", path), NULL, NULL, &ir, &err), &err) &&
        !fails(out, ek_ir_check(ir, NULL, &report, &err), &err)) {
        fails(out, ek_write(ek_output_of_ir(&reports), "json", out, &err), &err);
        ek_ir_report_clear(&report);
    }
    if (ir)
        ek_ir_free(ir);
}

static void call_emit(FILE *out)
{
    ek_error err;
    ek_plan plan = {0};
    const ek_layers layers = {.n_layers = 13};
    if (!fails(out, ek_plan_even(&layers, 4, 1, EK_RECOMPUTE_FULL, &plan, &err), &err)) {
        const ek_emission emission = {.name = "even", .plan = &plan, .n_layers = 13, .n_micro_batches = 8};
        for (const ek_emitter *const *e = ek_emitters; *e; e++)
            fails(out, (*e)->write(&emission, out, NULL, &err), &err);
    }
    ek_plan_clear(&plan);
}

static void call_uniform(FILE *out)
{
    ek_error err;
    ek_uniform_run run = {0};
    const ek_shape shape = {.n_stages = 8, .n_chunks = 2, .n_micro_batches = 16};
    const ek_uniform times = {.forward_time = 1, .backward_time = 2, .weight_time = 1, .weight_share = 0.5};
    if (!fails(out, ek_uniform_simulate(ek_schedule_find("zb-v"), &shape, &times, NULL, 0, &run, &err), &err))
        fprintf(out, "%.17g %.17g\n", run.bubble_share, run.peak);
    ek_uniform_run_clear(&run);
}

static void call_devices(FILE *out)
{
    int n;
    ek_error err;
    const ek_device *device = ek_devices(&n);
    for (int i = 0; i < n; i++)
        fails(out, ek_device_write(&device[i], NULL, out, &err), &err);
}

static const struct {
    const char *name;
    void (*run)(FILE *out);
} calls[] = {
    {"staged", call_staged},
    {"anneal", call_anneal},
    {"branch", call_branch},
    {"milp", call_milp},
    {"exhaustive", call_exhaustive},
    {"simulate", call_simulate},
    {"sweep", call_sweep},
    {"refusal", call_refusal},
    {"decompose", call_decompose},
    {"guide", call_guide},
    {"estimate", call_estimate},
    {"lint", call_lint},
    {"trace", call_trace},
    {"ir", call_ir},
    {"emit", call_emit},
    {"uniform", call_uniform},
    {"devices", call_devices},
    {"milp again", call_milp},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* ---- all at once ---- */

static char *text_of(int call)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    calls[call].run(out);
    fclose(out);
    return text;
}

typedef struct crowd {
    char *alone[N_CALLS];
    time_t end;
    atomic_int n_joined, n_wrong;
    atomic_long n_calls[N_CALLS];
    char wrong[4096]; /* the first answer that differs; written by the thread that counts it */
} crowd;

static void *call_at_random(void *user)
{
    crowd *c = user;
    ek__random r = ek__random_seed((uint64_t)atomic_fetch_add(&c->n_joined, 1));
    do {
        int call = ek__random_below(&r, N_CALLS);
        char *text = text_of(call);
        if ((!text || strcmp(text, c->alone[call]) != 0) && atomic_fetch_add(&c->n_wrong, 1) == 0)
            snprintf(c->wrong, sizeof c->wrong, "%s: %.1900s\ninstead of %.1900s", calls[call].name, text ? text : "",
                     c->alone[call]);
        free(text);
        atomic_fetch_add(&c->n_calls[call], 1);
    } while (time(NULL) < c->end && atomic_load(&c->n_wrong) == 0);
    return NULL;
}

static int seconds(void)
{
    const char *text = getenv("EK_CONCURRENT_SECONDS");
    return text && atoi(text) > 0 ? atoi(text) : USUAL_SECONDS;
}

/* Standard output and error go into a file while the crowd runs; returns its content. */
static char *printed_by(crowd *c, size_t *size)
{
    char path[] = "/tmp/evenkeel-printed-XXXXXX";
    int fd = mkstemp(path), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_true(fd >= 0 && out >= 0 && err >= 0);
    fflush(NULL);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    pthread_t thread[N_THREADS];
    int n = 0;
    while (n < N_THREADS && pthread_create(&thread[n], NULL, call_at_random, c) == 0)
        n++;
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(fd);
    assert_int_equal(n, N_THREADS);
    char *text = slurp(path, size);
    unlink(path);
    return text;
}

static void threads_of_a_program_get_the_answers_they_get_alone(void **state)
{
    (void)state;
    crowd c = {.n_joined = 0};
    size_t size = 0;
    long n = 0;
    for (int i = 0; i < N_CALLS; i++) {
        c.alone[i] = text_of(i);
        assert_non_null(c.alone[i]);
        if (strstr(c.alone[i], "failed: ") || !*c.alone[i])
            fail_msg("%s: %s", calls[i].name, c.alone[i]);
    }
    c.end = time(NULL) + seconds();
    char *printed = printed_by(&c, &size);
    if (atomic_load(&c.n_wrong))
        fail_msg("%s", c.wrong);
    if (!printed || size > 0)
        fail_msg("%zu bytes were printed: %.2000s", size, printed ? printed : "");
    free(printed);
    for (int i = 0; i < N_CALLS; i++) {
        n += atomic_load(&c.n_calls[i]);
        free(c.alone[i]);
    }
    print_message("# %ld calls in %d s\n", n, seconds());
    assert_true(n >= N_THREADS);
}

/* ---- how many threads there may be ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static double cores(const char *folder, const char *groups)
{
    char path[512], root[512];
    write_file(folder, "groups", groups);
    snprintf(path, sizeof path, "%s/groups", folder);
    snprintf(root, sizeof root, "%s/mount", folder);
    return ek__cgroup_cores(path, root);
}

static void quotas_of_cgroups_limit_the_cores(void **state)
{
    (void)state;
    char folder[] = "/tmp/evenkeel-cgroup-XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    assert_true(isinf(cores(folder, "0::/a/b\n")));
    write_file(folder, "mount/a/b/cpu.max", "max 100000\n");
    assert_true(isinf(cores(folder, "0::/a/b\n")));
    write_file(folder, "mount/a/b/cpu.max", "250000 100000\n");
    assert_true(cores(folder, "0::/a/b\n") == 2.5);
    write_file(folder, "mount/a/cpu.max", "150000 100000\n"); /* a parent binds its children */
    assert_true(cores(folder, "0::/a/b\n") == 1.5);
    assert_true(cores(folder, "0::/a/b/not/mounted\n") == 1.5);
    assert_true(isinf(cores(folder, "0::/\n")));
    write_file(folder, "mount/cpu.max", "300000 100000\n"); /* a container's own group is its root */
    assert_true(cores(folder, "0::/\n") == 3);
    assert_true(cores(folder, "0::/docker/0123\n") == 3);
    /* version 1 */
    write_file(folder, "mount/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    write_file(folder, "mount/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_true(isinf(cores(folder, "5:cpu,cpuacct:/x\n4:memory:/x\n")));
    write_file(folder, "mount/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
    assert_true(cores(folder, "5:cpu,cpuacct:/x\n4:memory:/x\n") == 0.5);
    assert_true(isinf(cores(folder, "5:cpuset:/x\n")));
    assert_true(isinf(ek__cgroup_cores("/there/is/none", folder)));
    assert_true(cores(folder, "no colons\n\n:\n") == INFINITY);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void all_cores_are_those_of_the_affinity_mask(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int n = ek__thread_count(0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(n, 1);
    assert_true(ek__thread_count(0) >= 1 && ek__thread_count(0) <= CPU_COUNT(&before));
    assert_int_equal(ek__thread_count(7), 7);
    assert_int_equal(ek__thread_count(1 << 20), EK__MOST_THREADS);
}

/* Threads that the library starts leave signals to those of the program. */
static void *mask_of(void *user)
{
    pthread_sigmask(SIG_SETMASK, NULL, user);
    return NULL;
}

static void library_threads_block_signals(void **state)
{
    (void)state;
    ek__threads threads;
    sigset_t mask[2], own;
    assert_int_equal(ek__threads_start(&threads, 2, mask_of, mask, sizeof *mask, NULL), 2);
    ek__threads_join(&threads);
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    for (int i = 0; i < 2; i++)
        assert_true(sigismember(&mask[i], SIGINT) && sigismember(&mask[i], SIGTERM) && sigismember(&mask[i], SIGUSR1));
    assert_false(sigismember(&own, SIGINT));
}

static void expect_no_threads(ek_status status, const ek_error *err)
{
    assert_int_equal(status, EK_ERR_INPUT);
    assert_string_equal(err->message, "threads must be 1 or more, or 0 for all cores (got -1)");
}

static void threads_below_none_are_refused(void **state)
{
    (void)state;
    char path[4096];
    ek_error err;
    const char *const paths[] = {file_of("examples/trace", path)};
    const ek_trace_options options = {.n_threads = -1};
    const ek_trace_index_options index_options = {.n_threads = -1, .temporary = true};
    const ek_diagnose_options diagnose_options = {.n_threads = -1};
    ek_layout_options layout_options;
    ek_trace_run run;
    ek_trace_index *index;
    ek_diagnosis diagnosis;
    ek_layout_result layouts;
    ek_job job = {0};
    int n;
    ek_train_log log = {0};
    const ek_run_input input = {.log = &log};
    ek_layout_options_init(&layout_options);
    layout_options.n_devices = 8;
    layout_options.n_threads = -1;
    expect_no_threads(ek_trace_run_read(paths, 1, &options, NULL, &run, &err), &err);
    expect_no_threads(ek_trace_index_open(paths, 1, &index_options, NULL, &index, NULL, &err), &err);
    expect_no_threads(ek_diagnose(&input, &diagnose_options, &diagnosis, &err), &err);
    expect_no_threads(ek_layout_search(&job, ek_devices(&n), &layout_options, &layouts, &err), &err);
    layout_options.n_threads = 1;
    layout_options.time_limit = NAN;
    assert_int_equal(ek_layout_search(&job, ek_devices(&n), &layout_options, &layouts, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "time limit"));
    layout_options.time_limit = 1;
    layout_options.n_schedules = 1; /* NULL */
    assert_int_equal(ek_layout_search(&job, ek_devices(&n), &layout_options, &layouts, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "schedule 1 of those to try is NULL"));
    assert_null(ek_device_find(NULL));
    assert_null(ek_emitter_find(NULL));
}

/* ---- linear algebra without output ---- */

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    double a[4] = {NAN, 0, 0, 1}, b[2] = {1, 1}, value[2];
    int rank;
    assert_int_equal(ek__solve(2, a, b), EK__LINEAR_SINGULAR);
    assert_int_equal(ek__cholesky(2, a), EK__LINEAR_SINGULAR);
    assert_int_equal(ek__singular_values(2, 2, a, value, NULL), EK__LINEAR_SINGULAR);
    assert_int_equal(ek__least_squares(2, 2, a, b, value, 1e-10, &rank), EK__LINEAR_SINGULAR);
    double rows[4] = {2, 1, 0, 4}, right[2] = {4, 8}; /* by rows: 2 x + y = 4, 4 y = 8 */
    assert_int_equal(ek__solve(2, rows, right), EK__LINEAR_OK);
    assert_true(fabs(right[0] - 1) < 1e-12 && fabs(right[1] - 2) < 1e-12);
    double lower[4] = {4, 99, 2, 5}, x[2] = {8, 12}; /* 4 x + 2 y = 8, 2 x + 5 y = 12; 99 is not read */
    assert_int_equal(ek__cholesky(2, lower), EK__LINEAR_OK);
    assert_int_equal(ek__cholesky_solve(2, lower, x), EK__LINEAR_OK);
    assert_true(fabs(x[0] - 1) < 1e-12 && fabs(x[1] - 2) < 1e-12);
    assert_int_equal(ek__cholesky_invert(2, lower), EK__LINEAR_OK);
    assert_true(fabs(lower[0] - 5.0 / 16) < 1e-12 && fabs(lower[2] + 2.0 / 16) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_of_cgroups_limit_the_cores),
        cmocka_unit_test(all_cores_are_those_of_the_affinity_mask),
        cmocka_unit_test(library_threads_block_signals),
        cmocka_unit_test(threads_below_none_are_refused),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(threads_of_a_program_get_the_answers_they_get_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
