/* Tests the breakdown of a step's time. Oracles: the truth of generated runs, layer by layer and pass by pass; a trace
 * of a few events with every microsecond known; and for all of them the sums: parts of computing, of communication, the
 * whole. */
#include "tree.h"

#include <inttypes.h>
#include <stdarg.h>

#include "evenkeel/trace.h"
#include "trace_generator.h"

static ek_trace_run run;

static void read_top(bool measure)
{
    const ek_trace_options options = {.n_threads = 1, .drop_first_steps = -1, .measure = measure};
    const char *const paths[] = {top};
    ek_error err = {0};
    if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s", err.message);
}

static int64_t sum_of(const ek_trace_step *step, ek_trace_activity first, ek_trace_activity last)
{
    int64_t sum = 0;
    for (int a = (int)first; a <= (int)last; a++)
        sum += step->activity[a];
    return sum;
}

static void check_sums(const ek_trace_rank *rank, int index)
{
    const ek_trace_step *step = &rank->step[index];
    bool begin_to_begin;
    int64_t length = ek_trace_step_length(rank, index, &begin_to_begin);
    assert_int_equal(sum_of(step, EK_TRACE_FORWARD, EK_TRACE_OTHER_COMPUTING), step->raw.computing);
    assert_int_equal(sum_of(step, EK_TRACE_COLLECTIVES, EK_TRACE_PIPELINE), step->raw.communication_not_overlapped);
    assert_int_equal(step->activity[EK_TRACE_COPIES], step->raw.copy_not_overlapped);
    assert_int_equal(sum_of(step, EK_TRACE_FORWARD, EK_TRACE_IDLE),
                     length > step->raw.total ? length : step->raw.total);
}

/* ---- generated runs ---- */

/* Executions of a stage's layers in one direction, by step; head and tail are layers too. */
static int64_t truth_of(const trace_truth *truth, int stage, int step, int direction)
{
    int64_t sum = 0;
    for (int i = 0; i < truth->n_layers; i++) {
        const trace_truth_layer *l = &truth->layer[i];
        for (int k = 0; k < l->n[direction] && l->stage == stage; k++)
            sum += l->execution[direction][k].step == step ? l->execution[direction][k].busy : 0;
    }
    return sum;
}

static void check_generated(const trace_shape *shape)
{
    trace_truth truth;
    assert_true(trace_write(shape, top, &truth));
    read_top(false);
    assert_int_equal(run.n_ranks, shape->n_stages);
    for (int s = 0; s < shape->n_stages; s++) {
        const ek_trace_rank *rank = &run.rank[s];
        assert_int_equal(rank->n_steps, shape->n_steps);
        for (int i = 0; i < rank->n_steps; i++) {
            const ek_trace_step *step = &rank->step[i];
            check_sums(rank, i);
            assert_int_equal(step->activity[EK_TRACE_FORWARD], truth_of(&truth, s, i, TRACE_FORWARD));
            assert_int_equal(step->activity[EK_TRACE_RECOMPUTE], truth_of(&truth, s, i, TRACE_RERUN));
            assert_int_equal(step->activity[EK_TRACE_BACKWARD], truth_of(&truth, s, i, TRACE_BACK));
            assert_int_equal(step->activity[EK_TRACE_OPTIMIZER] > 0, !shape->bare);
            assert_true(shape->n_stages == 1 || step->activity[EK_TRACE_PIPELINE] > 0);
            assert_int_equal(step->activity[EK_TRACE_POST], 0);
        }
    }
    ek_trace_run_clear(&run);
    for (int s = 0; s < shape->n_stages; s++)
        trace_remove(shape->form, top, s);
    trace_truth_clear(&truth);
}

static const trace_rerun mixed[] = {TRACE_RERUN_FULL,   TRACE_RERUN_NONE, TRACE_RERUN_SELECT, TRACE_RERUN_FULL,
                                    TRACE_RERUN_SELECT, TRACE_RERUN_NONE, TRACE_RERUN_NONE,   TRACE_RERUN_FULL};

static void phases_of_generated_runs(void **state)
{
    (void)state;
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int stages = 1; stages <= 2; stages++)
            for (int again = 0; again < 2; again++)
                check_generated(&(trace_shape){.form = (trace_form)form,
                                               .n_stages = stages,
                                               .n_micro_batches = 4,
                                               .n_steps = 3,
                                               .n_layers = 4,
                                               .rerun = again ? mixed : NULL,
                                               .jitter = 0.1,
                                               .bare = again == 0 && form != TRACE_MINDSPORE,
                                               .seed = (unsigned)(7 * form + stages)});
}

/* ---- a trace of a few events ---- */

static FILE *file;

static void event(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void event(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fputs(",\n", file);
}

static void open_trace(const char *name)
{
    put(name, "");
    file = fopen(below(name), "wb");
    assert_non_null(file);
    fputs("{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":8},\"traceEvents\":[\n", file);
}

static void close_trace(void)
{
    event("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"python\"}}");
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"gpu\"}}]}\n", file);
    fclose(file);
}

/* Launched by a thread at `launch`, run on a stream from `start`: microseconds. */
static int correlation;
static void kernel(const char *name, const char *category, int thread, int launch, int stream, int start, int duration,
                   const char *more)
{
    correlation++;
    event(
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":2,"
        "\"args\":{\"correlation\":%d}}",
        thread, launch, correlation);
    event("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{"
          "\"correlation\":%d,\"stream\":%d%s}}",
          category, name, stream, start, duration, correlation, stream, more);
}

static void mark(const char *category, const char *name, int thread, int start, int duration)
{
    event("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d}", category, name,
          thread, start, duration);
}

static void arrow(int id, bool ends, int thread, int time)
{
    event("{\"ph\":\"%s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":%d,\"pid\":1,\"tid\":%d,\"ts\":%d%s}",
          ends ? "f" : "s", id, thread, time, ends ? ",\"bp\":\"e\"" : "");
}

#define TP                                                                                                             \
    ",\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":100,\"Out msg nelems\":100,"             \
    "\"Group size\":2,\"Process Group Ranks\":\"[0, 1]\""
#define DP                                                                                                             \
    ",\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":900,\"Out msg nelems\":900,"             \
    "\"Group size\":4,\"Process Group Ranks\":\"[0, 2, 4, 6]\""

/* A step that begins at `t`, microseconds: 1000 long on the device, `slow` more of it after the optimizer. */
static void one_step(int number, int t, int slow)
{
    char name[64];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    mark("user_annotation", name, 1, t, 999 + slow);
    arrow(10 * number, false, 1, t + 1);
    kernel("gemm_forward", "kernel", 1, t + 2, 7, t + 10, 100, "");
    kernel("ncclDevKernel_AllReduce_Sum(ncclWork)", "kernel", 1, t + 5, 20, t + 110, 40, TP);
    kernel("gemm_forward", "kernel", 1, t + 8, 7, t + 150, 60, "");
    arrow(10 * number + 1, false, 1, t + 9);
    kernel("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 1, t + 12, 7, t + 210, 15, "");
    /* backward: run again first, then two of its own; the reduction of gradients half beside the second */
    arrow(10 * number + 2, false, 2, t + 20);
    kernel("gemm_forward", "kernel", 2, t + 22, 7, t + 225, 55, "");
    arrow(10 * number + 2, true, 2, t + 30);
    kernel("gemm_backward", "kernel", 2, t + 31, 7, t + 280, 120, "");
    kernel("ncclDevKernel_AllReduce_Sum(ncclWork)", "kernel", 2, t + 33, 20, t + 400, 30, TP);
    arrow(10 * number + 1, true, 2, t + 35);
    arrow(10 * number, true, 2, t + 36);
    kernel("gemm_backward", "kernel", 2, t + 37, 7, t + 430, 130, "");
    kernel("ncclDevKernel_AllReduce_Sum(ncclWork)", "kernel", 2, t + 39, 21, t + 500, 160, DP);
    /* clipping, the optimizer, and the work after it */
    kernel("clip", "kernel", 1, t + 50, 7, t + 660, 20, "");
    mark("user_annotation", "Optimizer.step#AdamW.step", 1, t + 60, 20);
    kernel("adam", "kernel", 1, t + 70, 7, t + 680, 80, "");
    kernel("log_metrics", "kernel", 1, t + 90, 7, t + 760, 25 + slow, "");
    /* the host is late: launched at 900, and at the begin of the step, with the first operator starting at 10 */
    kernel("last", "kernel", 1, t + slow + 900, 7, t + slow + 905, 30, "");
}

static void each_part_of_a_step(void **state)
{
    (void)state;
    open_trace("rank_0.json");
    for (int i = 0; i < 4; i++)
        one_step(i + 5, 1000000 + 1000 * i, 0);
    close_trace();
    read_top(true);
    static const int64_t expected[EK_N_TRACE_ACTIVITIES] = {
        [EK_TRACE_FORWARD] = 160, [EK_TRACE_RECOMPUTE] = 55,   [EK_TRACE_BACKWARD] = 250,  [EK_TRACE_OPTIMIZER] = 100,
        [EK_TRACE_POST] = 55,     [EK_TRACE_COLLECTIVES] = 70, [EK_TRACE_GRADIENTS] = 100, [EK_TRACE_COPIES] = 15,
        [EK_TRACE_HOST] = 130,    [EK_TRACE_IDLE] = 65};
    const ek_trace_rank *rank = &run.rank[0];
    assert_int_equal(rank->n_steps, 4);
    for (int i = 0; i < 3; i++) {
        check_sums(rank, i);
        for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
            if (rank->step[i].activity[a] != 1000 * expected[a])
                fail_msg("step %d: %s is %" PRId64 " ns, expected %" PRId64, i, ek_trace_activity_name[a],
                         rank->step[i].activity[a], 1000 * expected[a]);
    }
    int n_groups = 0;
    for (int i = 0; i < rank->communication.n_sums; i++) {
        const ek_trace_collective_sum *s = &rank->communication.sum[i];
        n_groups += s->n_group == 2 || s->n_group == 4;
        assert_true(s->bandwidth_gbps > 0 && s->bus_gbps == s->bandwidth_gbps * (s->n_group == 4 ? 1.5 : 1));
    }
    assert_int_equal(n_groups, 2);
    double mean[EK_N_TRACE_ACTIVITIES];
    assert_int_equal(ek_trace_rank_anatomy(rank, mean), 4);
    assert_true(mean[EK_TRACE_BACKWARD] == 250000);
    ek_trace_run_clear(&run);
}

/* ---- slow steps ---- */

static const ek_trace_finding *finding(const char *id)
{
    for (int i = 0; i < run.n_findings; i++)
        if (strcmp(run.finding[i].id, id) == 0)
            return &run.finding[i];
    return NULL;
}

static void a_slow_step_and_what_differs_in_it(void **state)
{
    (void)state;
    open_trace("rank_0.json");
    for (int i = 0, t = 1000000; i < 6; i++) {
        int slow = i == 3 ? 600 : 0;
        one_step(i + 5, t, slow);
        t += 1000 + slow;
    }
    close_trace();
    read_top(false);
    const ek_trace_finding *f = finding("slow-steps");
    assert_non_null(f);
    assert_string_equal(f->step, "8");
    assert_int_equal(f->gain_ns, 600000 / 5);
    assert_string_equal(
        f->text,
        "Rank 0: step 8 takes 1.60 ms, 0.60 more than the median of 5 steps: 0.60 ms more after the optimizer.");
    assert_non_null(strstr(f->advice, "other shapes"));
    ek_trace_run_clear(&run);
}

static void equal_steps_are_not_slow(void **state)
{
    (void)state;
    open_trace("rank_0.json");
    for (int i = 0, t = 1000000; i < 6; i++, t += 1000)
        one_step(i + 5, t, 0);
    close_trace();
    read_top(false);
    assert_null(finding("slow-steps"));
    ek_trace_run_clear(&run);
}

/* Only the time is known: no events, no anatomy. */
static void tables_alone_tell_none(void **state)
{
    (void)state;
    put("rank_0_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n7,10,2,1,3,4,16,0,2,1\n");
    read_top(true);
    assert_int_equal(run.rank[0].n_steps, 1);
    assert_true(run.rank[0].step[0].activity[EK_TRACE_FORWARD] == EK_TRACE_UNKNOWN);
    assert_int_equal(ek_trace_rank_anatomy(&run.rank[0], NULL), 0);
    assert_int_equal(run.path.n_steps, 0);
    ek_trace_run_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)
        IN_TREE(phases_of_generated_runs), IN_TREE(each_part_of_a_step),    IN_TREE(a_slow_step_and_what_differs_in_it),
        IN_TREE(equal_steps_are_not_slow), IN_TREE(tables_alone_tell_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
