/* Tests receives and sends of steps that only tables contain. Oracles: occupancy of a grid of microseconds for random
 * lists, and traces with a pipeline: their events are written as tables and must give the trace's own figures. */
#include "made_traces.h"
#include "skip.h"
#include "tree.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include <jansson.h>

#include "base/random.h"
#include "evenkeel/trace.h"
#include "trace/scan/part.h"

static ek_trace_run run;

static void read_run(const char *path)
{
    const ek_trace_options options = {.n_threads = 1, .drop_first_steps = -1};
    const char *const paths[] = {path};
    ek_error err = {0};
    ek_status status = ek_trace_run_read(paths, 1, &options, NULL, &run, &err);
    if (status)
        print_error("%s: %s\n", path, err.message);
    assert_int_equal(status, EK_OK);
    assert_int_equal(run.n_ranks, 1);
}

static const ek_trace_step *step_of(const char *name)
{
    for (int i = 0; i < run.rank[0].n_steps; i++)
        if (strcmp(run.rank[0].step[i].name, name) == 0)
            return &run.rank[0].step[i];
    fail_msg("no step \"%s\"", name);
    return NULL;
}

static bool has_note(const char *text)
{
    for (int i = 0; i < run.rank[0].n_notes; i++)
        if (strstr(run.rank[0].note[i], text))
            return true;
    return false;
}

/* ---- tables as profilers write them ---- */

typedef struct written {
    FILE *kernels, *communication;
    int n_entries;
} written;

static FILE *create(const char *name)
{
    put(name, "");
    FILE *file = fopen(below(name), "wb");
    assert_non_null(file);
    return file;
}

static written begin_tables(bool kernels, bool communication)
{
    written w = {0};
    if (kernels) {
        w.kernels = create("ASCEND_PROFILER_OUTPUT/kernel_details.csv");
        fputs("Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n", w.kernels);
    } else
        unlink(below("ASCEND_PROFILER_OUTPUT/kernel_details.csv"));
    if (communication)
        w.communication = create("ASCEND_PROFILER_OUTPUT/communication.json");
    else
        unlink(below("ASCEND_PROFILER_OUTPUT/communication.json"));
    return w;
}

static void put_kernel(const written *w, const char *step, const char *name, bool communication, double start,
                       double duration)
{
    fprintf(w->kernels, "%s,%s,%s,%s,%.3f\t,%.3f,0\n", step, name, communication ? name : "MatMul",
            communication ? "HCCL" : "AI_CORE", start, duration);
}

/* Of a step "{"; the caller opens and closes steps. */
static void put_entry(written *w, const char *name, double start, double duration)
{
    fprintf(w->communication,
            "%s\"%s@77\": {\"Communication Time Info\": {\"Start Timestamp(us)\": %.3f, \"Elapse Time(ms)\": %.6f}}",
            w->n_entries++ ? ", " : "", name, start, duration / 1000);
}

static void end_tables(const written *w)
{
    if (w->kernels)
        fclose(w->kernels);
    if (w->communication)
        fclose(w->communication);
}

/* ---- random lists against a grid ---- */

enum { GRID = 120, N_STEPS = 3, MAX_ROWS = 24 };

typedef enum kind { COMPUTE, REDUCE, RECEIVE, SEND, N_KINDS } kind;
static const char *const name_of[N_KINDS] = {"MatMul", "hcom_allReduce__1_2_1", "hcom_receive__7_3_1",
                                             "hcom_send__7_4_1"};

typedef struct row {
    kind kind;
    int start, duration;
} row;

typedef struct truth {
    int n_receives, receive, exposed, n_sends, send, computing, communication, not_overlapped, free, span;
} truth;

/* The use of every microsecond. */
static truth count(const row *rows, int n)
{
    truth t = {0};
    int first = GRID, last = 0;
    for (int i = 0; i < n; i++) {
        t.n_receives += rows[i].kind == RECEIVE;
        t.n_sends += rows[i].kind == SEND;
        t.receive += rows[i].kind == RECEIVE ? rows[i].duration : 0;
        t.send += rows[i].kind == SEND ? rows[i].duration : 0;
        first = rows[i].start < first ? rows[i].start : first;
        last = rows[i].start + rows[i].duration > last ? rows[i].start + rows[i].duration : last;
    }
    for (int us = first; us < last; us++) {
        bool used[N_KINDS] = {0};
        for (int i = 0; i < n; i++)
            used[rows[i].kind] |= rows[i].start <= us && us < rows[i].start + rows[i].duration;
        bool communicates = used[REDUCE] || used[RECEIVE] || used[SEND];
        t.exposed += used[RECEIVE] && !used[COMPUTE];
        t.computing += used[COMPUTE];
        t.communication += communicates;
        t.not_overlapped += communicates && !used[COMPUTE];
        t.free += !communicates && !used[COMPUTE];
    }
    t.span = last - first;
    return t;
}

static int make_rows(ek__random *random, row *rows)
{
    int n = 1 + ek__random_below(random, MAX_ROWS);
    for (int i = 0; i < n; i++) {
        kind k = i == 0 ? COMPUTE : (kind)ek__random_below(random, N_KINDS);
        rows[i] = (row){k, ek__random_below(random, 60), ek__random_below(random, 40)};
    }
    return n;
}

/* `split`: collectives are only in communication.json. */
static void write_rows(row rows[N_STEPS][MAX_ROWS], const int *n, bool split, bool both)
{
    written w = begin_tables(true, split || both);
    if (w.communication)
        fputs("{", w.communication);
    for (int s = 0; s < N_STEPS; s++) {
        char step[16];
        double zero = 1e6 * (s + 1);
        snprintf(step, sizeof step, "%d", 50 + s);
        for (int i = 0; i < n[s]; i++)
            if (rows[s][i].kind == COMPUTE || !split)
                put_kernel(&w, step, name_of[rows[s][i].kind], rows[s][i].kind != COMPUTE, zero + rows[s][i].start,
                           rows[s][i].duration);
        for (int section = 0; w.communication && section < 2; section++) {
            w.n_entries = 0;
            if (section == 0)
                fprintf(w.communication, "%s\"step%s\": {", s ? ", " : "", step);
            fprintf(w.communication, section == 0 ? "\"p2p\": {" : "}, \"collective\": {");
            for (int i = 0; i < n[s]; i++) {
                char name[64];
                kind k = rows[s][i].kind;
                snprintf(name, sizeof name, "%s%d", name_of[k], i);
                if (k != COMPUTE && (k == REDUCE) == (section == 1))
                    put_entry(&w, name, zero + rows[s][i].start, rows[s][i].duration);
            }
        }
        if (w.communication)
            fputs("}}", w.communication);
    }
    if (w.communication)
        fputs("}\n", w.communication);
    end_tables(&w);
}

static void assert_us(int64_t ns, int us)
{
    assert_int_equal(ns, (int64_t)us * 1000);
}

static void check_rows(row rows[N_STEPS][MAX_ROWS], const int *n)
{
    for (int s = 0; s < N_STEPS; s++) {
        char name[16];
        snprintf(name, sizeof name, "%d", 50 + s);
        const ek_trace_step *step = step_of(name);
        truth t = count(rows[s], n[s]);
        assert_int_equal(step->n_receives, t.n_receives);
        assert_int_equal(step->n_sends, t.n_sends);
        assert_us(step->receive, t.receive);
        assert_us(step->send, t.send);
        assert_us(step->receive_exposed, t.exposed);
        assert_us(step->pipeline_wait, t.exposed);
        assert_us(step->own.computing, t.computing);
        assert_us(step->own.communication, t.communication);
        assert_us(step->own.communication_not_overlapped, t.not_overlapped);
        assert_us(step->own.overlapped, t.communication - t.not_overlapped);
        assert_us(step->own.free, t.free);
        assert_us(step->own.total, t.span);
        assert_us(step->span, t.span);
        assert_us(step->own_stage, t.span - t.exposed);
    }
}

static void counts_receives_like_a_grid(void **state)
{
    (void)state;
    static row rows[N_STEPS][MAX_ROWS];
    ek__random random = ek__random_seed(18);
    for (int round = 0; round < 60; round++) {
        int n[N_STEPS];
        for (int s = 0; s < N_STEPS; s++)
            n[s] = make_rows(&random, rows[s]);
        /* Collectives in kernel_details, in communication.json, and in both, where they must not count twice. */
        for (int where = 0; where < 3; where++) {
            write_rows(rows, n, where == 1, where == 2);
            read_run(top);
            check_rows(rows, n);
            ek_trace_run_clear(&run);
        }
    }
}

/* ---- without kernels ---- */

static void write_communication(const char *p2p)
{
    written w = begin_tables(false, true);
    fprintf(w.communication, "{\"step7\": {\"p2p\": {%s}, \"collective\": {}}}\n", p2p);
    end_tables(&w);
}

static void write_step(double computing, double exposed, double overlapped, double idle)
{
    char text[512];
    snprintf(text, sizeof text,
             "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
             "Communication(Not Overlapped and Exclude Receive)\n7,%g,%g,%g,%g,%g,0,0,0\n",
             computing, exposed, overlapped, exposed + overlapped, idle);
    put("ASCEND_PROFILER_OUTPUT/step_trace_time.csv", text);
}

#define ENTRY(name, start, ms)                                                                                         \
    "\"" name "@5\": {\"Communication Time Info\": {\"Start Timestamp(us)\": " start ", \"Elapse Time(ms)\": " ms "}}"

static void says_what_sums_leave_open(void **state)
{
    (void)state;
    static const char receives[] =
        ENTRY("hcom_receive__1_0_1", "1000", "6") ", " ENTRY("hcom_receive__1_1_1", "5000", "6");
    write_communication(receives);
    /* Nothing is hidden: waits are known without the kernels. */
    write_step(20000, 12000, 0, 3000);
    read_run(top);
    const ek_trace_step *step = step_of("7");
    assert_int_equal(step->n_receives, 2);
    assert_us(step->receive, 12000);
    assert_us(step->pipeline_wait, 10000);
    assert_us(step->span, 35000);
    assert_us(step->own_stage, 25000);
    assert_false(has_note("kernel_details.csv"));
    ek_trace_run_clear(&run);
    /* Overlap of 4 ms, of receives or of something else. */
    write_step(20000, 8000, 4000, 3000);
    read_run(top);
    step = step_of("7");
    assert_us(step->receive, 12000);
    assert_int_equal(step->pipeline_wait, EK_TRACE_UNKNOWN);
    assert_int_equal(step->own_stage, EK_TRACE_UNKNOWN);
    assert_true(has_note("step 7 between 6.00 and 8.00 ms"));
    ek_trace_run_clear(&run);
    unlink(below("ASCEND_PROFILER_OUTPUT/step_trace_time.csv"));
    /* By itself: the step is there, and its computing is unknown. */
    read_run(top);
    step = step_of("7");
    assert_us(step->receive, 12000);
    assert_int_equal(step->pipeline_wait, EK_TRACE_UNKNOWN);
    assert_int_equal(step->own.computing, EK_TRACE_UNKNOWN);
    assert_us(step->own.communication, 10000);
    ek_trace_run_clear(&run);
}

static void names_may_stand_behind_a_launch(void **state)
{
    (void)state;
    written w = begin_tables(true, false);
    put_kernel(&w, "1", "Default/Receive-op3/hcom_receive__3_0_1", true, 100, 50);
    put_kernel(&w, "1", "Default/MatMul-op1", false, 120, 10);
    put_kernel(&w, "N/A", "hcom_receive__3_1_1", true, 900, 50); /* of no step */
    end_tables(&w);
    read_run(top);
    assert_int_equal(run.rank[0].n_steps, 1);
    assert_us(step_of("1")->receive, 50);
    assert_us(step_of("1")->pipeline_wait, 40);
    ek_trace_run_clear(&run);
}

/* A pipeline that waits half its step is a finding, from tables as from a trace. */
static void waiting_in_tables_is_found(void **state)
{
    (void)state;
    written w = begin_tables(true, true);
    put_kernel(&w, "1", "MatMul", false, 0, 5000);
    fprintf(w.communication, "{\"step1\": {\"p2p\": {" ENTRY("hcom_receive__1_0_1", "5000", "5") "}}}");
    end_tables(&w);
    read_run(top);
    bool found = false;
    for (int i = 0; i < run.n_findings; i++)
        found |= strcmp(run.finding[i].id, "pipeline-wait") == 0 && run.finding[i].gain_ns == 5000000 &&
                 fabs(run.finding[i].share - 0.5) < 1e-9;
    assert_true(found);
    ek_trace_run_clear(&run);
}

/* ---- reference traces as tables ---- */

/* Nanoseconds, exact where the time is a text. */
static int64_t time_of(const json_t *value)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);
    int64_t ns = 0;
    assert_non_null(text);
    assert_true(ek__parse_us(text, strlen(text), &ns));
    free(text);
    return ns;
}

static const char *process_of(const json_t *events, json_int_t pid)
{
    size_t i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        if (json_integer_value(json_object_get(e, "pid")) == pid &&
            strcmp(json_string_value(json_object_get(e, "name")), "process_name") == 0)
            return json_string_value(json_object_get(json_object_get(e, "args"), "name"));
    }
    return "";
}

static bool is_core(const char *type)
{
    return strncmp(type, "AI_", 3) == 0 || strncmp(type, "MIX_", 4) == 0;
}

/* The trace's device events, each in the step with its start in the window; collectives into one table or the other.
 * Times lose their first digits, so that a double keeps the nanosecond. */
static void write_events(const json_t *events, bool split)
{
    written w = begin_tables(true, split);
    const char *separator = "";
    if (split)
        fputs("{", w.communication);
    for (int s = 0; s < run.rank[0].n_steps; s++) {
        const ek_trace_step *step = &run.rank[0].step[s];
        const int64_t zero = step->start / 1000000000 * 1000000000;
        size_t i;
        json_t *e;
        w.n_entries = 0;
        if (split)
            fprintf(w.communication, "%s\"step%s\": {\"collective\": {", separator, step->name);
        separator = ", ";
        json_array_foreach(events, i, e)
        {
            const char *name = json_string_value(json_object_get(e, "name"));
            const json_t *args = json_object_get(e, "args");
            const char *type = json_string_value(json_object_get(args, "Task Type"));
            const char *process = process_of(events, json_integer_value(json_object_get(e, "pid")));
            bool collective = strcmp(process, "HCCL") == 0 && strncmp(name, "hcom_", 5) == 0;
            if (!collective && (!type || !is_core(type)))
                continue;
            int64_t ns = time_of(json_object_get(e, "ts"));
            double start = (double)(ns - zero) / 1000, duration = (double)time_of(json_object_get(e, "dur")) / 1000;
            if (ns < step->start || ns >= step->end)
                continue;
            if (collective && split)
                put_entry(&w, name, start, duration);
            else
                put_kernel(&w, step->name, name, collective, start, duration);
        }
        if (split)
            fputs("}}", w.communication);
    }
    if (split)
        fputs("}\n", w.communication);
    end_tables(&w);
}

static void compare_with_trace(const char *path, bool split)
{
    size_t size;
    char *text = slurp(path, &size);
    json_t *events = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    assert_non_null(events);
    read_run(path);
    write_events(events, split);
    json_decref(events);
    ek_trace_run of_trace = run;
    read_run(top);
    assert_int_equal(run.rank[0].n_steps, of_trace.rank[0].n_steps);
    for (int i = 0; i < of_trace.rank[0].n_steps; i++) {
        const ek_trace_step *trace = &of_trace.rank[0].step[i], *table = step_of(trace->name);
        assert_true(trace->n_receives > 0);
        assert_int_equal(table->n_receives, trace->n_receives);
        assert_int_equal(table->n_sends, trace->n_sends);
        assert_int_equal(table->receive, trace->receive);
        assert_int_equal(table->send, trace->send);
        assert_int_equal(table->receive_exposed, trace->receive_exposed);
        assert_int_equal(table->pipeline_wait, trace->pipeline_wait);
        assert_int_equal(table->span, trace->span);
        assert_int_equal(table->own.communication, trace->raw.communication);
        assert_int_equal(table->own.computing, trace->raw.computing);
    }
    ek_trace_run_clear(&of_trace);
    ek_trace_run_clear(&run);
}

static void compare_stages(const char *folder, const char *pattern)
{
    for (int stage = 0; stage < 2; stage++)
        for (int split = 0; split < 2; split++) {
            char name[128], path[4096];
            snprintf(name, sizeof name, pattern, stage);
            snprintf(path, sizeof path, "%s/%s", folder, name);
            compare_with_trace(path, split);
        }
}

static void pipelines_say_the_same_as_tables(void **state)
{
    (void)state;
    compare_stages(made_traces(), "stages/rank_%d_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json");
    compare_stages(made_traces(), "torch_npu/rank_%d_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json");
}

static void pipelines_of_others_say_the_same_as_tables(void **state)
{
    (void)state;
    compare_stages(need_shared("reference/traces/synthetic/pp_recompute"), "trace_view_stage%d.json");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_receives_like_a_grid),      TEST(says_what_sums_leave_open),
        TEST(names_may_stand_behind_a_launch),  TEST(waiting_in_tables_is_found),
        TEST(pipelines_say_the_same_as_tables), TEST(pipelines_of_others_say_the_same_as_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
