/* Tests traces that suggest wrong causes: for each, the words that the summary or the JSON must and must not contain,
 * and figures computed by hand. Of steps, idle time, kinds of operators and the profiler's own sums. Times in the files
 * are microseconds, the figures asserted nanoseconds. */
#include "evenkeel/diagnose.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "input.h"
#include "report/writers.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

/* ---- files ---- */

static char folder[256]; /* of the case at hand */
static char text[ROOM];  /* the file being written */
static size_t length;
static ek_trace_run run; /* the run that was read */
static ek_error err;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

static void write_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    length = 0;
    text[0] = '\0';
}

/* All that the case has written, as one run. */
static const ek_trace_rank *read_all(void)
{
    static const ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1};
    const char *paths[] = {folder};
    ek_trace_run_clear(&run);
    if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s", err.message);
    assert_true(run.n_ranks > 0);
    return &run.rank[0];
}

static const ek_trace_rank *read_trace(void)
{
    write_file("trace_view.json");
    return read_all();
}

/* The summary followed by the JSON; the caller frees it. */
static char *all_words(void)
{
    static const ek_trace_view view = {.rank = EK_TRACE_NO_RANK};
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);
    assert_non_null(out);
    assert_int_equal(ek__trace_write_text(&run, &view, out, &err), EK_OK);
    assert_int_equal(ek__trace_write_json(&run, &view, out, &err), EK_OK);
    fclose(out);
    return words;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_steps_XXXXXX");
    length = 0;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[512];
    ek_trace_run_clear(&run);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* ---- pieces of traces of Ascend ---- */

enum { HOST = 1, CANN, DEVICE, HCCL, OVERLAP };

static void begin_ascend(void)
{
    static const char *const layer[] = {"Python", "CANN", "Ascend Hardware", "HCCL", "Overlap Analysis"};
    add("[");
    for (int i = 0; i < 5; i++)
        add("%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"%s\"}}", i ? "," : "",
            i + 1, layer[i]);
}

static void add_event(const char *name, int pid, int tid, double start, double duration, const char *arguments)
{
    add(",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{%s}}", name, pid,
        tid, start, duration, arguments);
}

static void add_kernel(const char *name, const char *type, double start, double duration)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "%s%s%s", type ? "\"Task Type\":\"" : "", type ? type : "", type ? "\"" : "");
    add_event(name, DEVICE, 2, start, duration, arguments);
}

/* The host launches the work that starts on the device at `start`. */
static void add_launch(int id, double launch, double start)
{
    add(",{\"ph\":\"s\",\"bp\":\"e\",\"name\":\"HostToDevice%d\",\"cat\":\"HostToDevice\",\"id\":\"%d\",\"pid\":%d,"
        "\"tid\":1,\"ts\":\"%.3f\"}",
        id, id, CANN, launch);
    add(",{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"HostToDevice%d\",\"cat\":\"HostToDevice\",\"id\":\"%d\",\"pid\":%d,"
        "\"tid\":2,\"ts\":\"%.3f\"}",
        id, id, DEVICE, start);
}

static void add_step(int number, double start, double duration)
{
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    add_event(name, HOST, 1, start, duration, "");
}

/* ---- operators of unknown kind ---- */

/* 40 operators of 60 us, a gap of 40 us before each but the first for a launch 10 us late, types from the case. */
static void add_late_operators(const char *type)
{
    begin_ascend();
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "aclnnMatmul_%d", i);
        add_kernel(name, i < 2 ? "AI_CORE" : type, 100 * i, 60);
        add_launch(i + 1, 100 * i - 10, 100 * i);
    }
    if (!type || !strstr("AI_CORE KERNEL_AICORE AIV_SQE", type) || !*type)
        add_kernel("EVENT_WAIT", type, 62, 30); /* its name shows that it is no operator */
    add("]");
}

static void assert_late_operators(void)
{
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->n_steps, 1);
    assert_int_equal(rank->step[0].own.computing, 40 * 60 * 1000);
    assert_int_equal(rank->step[0].own.free, 39 * 40 * 1000);
    assert_int_equal(rank->step[0].host_bound, 39 * 40 * 1000);
    assert_int_equal(rank->idle.n_tasks, 40);
    assert_int_equal(rank->operators.n_executions, 40);
}

static void operators_of_every_type_are_computing(void **state)
{
    (void)state;
    static const char *const type[] = {"AI_CORE", "Other",         "N/A",     "",
                                       "UNKNOWN", "KERNEL_AICORE", "AIV_SQE", "SOME_LATER_SQE"};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
        add_late_operators(type[i]);
        assert_late_operators();
    }
    add_late_operators(NULL);
    assert_late_operators();
}

static void waits_and_copies_are_none(void **state)
{
    (void)state;
    static const char *const idle[] = {"EVENT_WAIT_SQE",  "Notify Wait",      "NOTIFY_RECORD_SQE", "Write Value",
                                       "WRITE_VALUE_SQE", "PLACE_HOLDER_SQE", "EVENT_RESET",       "PROFILING_ENABLE"};
    static const char *const copy[] = {"SDMA", "SDMA_SQE", "PCIE_DMA_SQE", "MEMCPY_ASYNC"};
    begin_ascend();
    add_kernel("MatMul", "AI_CORE", 0, 10);
    for (int i = 0; i < 8; i++)
        add_kernel("task", idle[i], 20 + 10 * i, 5);
    for (int i = 0; i < 4; i++)
        add_kernel("task", copy[i], 200 + 10 * i, 5);
    add_kernel("MEMCPY_ASYNC", "Other", 300, 5);
    add_kernel("MatMul", "AI_CORE", 400, 10);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->step[0].own.computing, 20000);
    assert_int_equal(rank->step[0].own.copy, 5 * 5000);
}

/* ---- the profiler's own sums ---- */

/* Two steps of 10 ms: 4 ms of operators, then 4 ms of a collective of which the first 1 ms is under an operator. */
static void add_steps(void)
{
    begin_ascend();
    for (int i = 0; i < 2; i++) {
        double at = 10000 * i;
        add_step(i + 1, at, 10000);
        add_kernel("MatMul", "AI_CORE", at, 4000);
        add_launch(i + 1, at, at);
        add_kernel("Add", "AI_CORE", at + 8000, 1000);
        add_launch(i + 3, at + 10, at + 8000);
        add_event("hcom_allReduce__586_0_1", HCCL, 0, at + 3000, 4000, "");
    }
}

/* The first `n` of the layer's 16 events, kind by kind as profilers write them. */
static void add_layer(int n)
{
    static const struct {
        const char *name;
        double start, duration;
    } of_step[] = {{"Computing", 0, 4000},        {"Computing", 8000, 1000},
                   {"Communication", 3000, 4000}, {"Communication(Not Overlapped)", 4000, 3000},
                   {"Free", 7000, 1000},          {"Free", 9000, 1000}};
    static const int kind_of[] = {0, 0, 1, 2, 3, 3};
    int written = 0;
    for (int kind = 0; kind < 4; kind++)
        for (int step = 0; step < 2; step++)
            for (int i = 0; i < 6; i++)
                if (kind_of[i] == kind && !(step == 1 && i == 5) && written++ < n)
                    add_event(of_step[i].name, OVERLAP, kind, 10000 * step + of_step[i].start, of_step[i].duration, "");
    add("]");
}

static void a_cut_overlap_layer_is_left_aside(void **state)
{
    (void)state;
    for (int n = 0; n <= 11; n++) {
        add_steps();
        add_layer(n);
        const ek_trace_rank *rank = read_trace();
        assert_int_equal(rank->n_steps, 2);
        char *words = all_words();
        bool noted = strstr(words, "Overlap Analysis layer is damaged");
        free(words);
        if (noted != (n > 0 && n < 11))
            fail_msg("%d of 11 events of the layer: %s", n, noted ? "called damaged" : "not called damaged");
        for (int i = 0; i < 2; i++) {
            const ek_trace_step *step = &rank->step[i];
            assert_string_equal(step->source, n == 11 ? "overlap_layer" : "raw_events");
            assert_int_equal(step->own.computing, 5000000);
            assert_int_equal(step->own.communication, 4000000);
            assert_int_equal(step->own.overlapped, 1000000);
            assert_int_equal(step->own.communication_not_overlapped, 3000000);
        }
    }
}

/* ---- one shape among many ---- */

/* Differences of the executions of Mul. */
typedef enum difference { BY_SHAPE, BY_TYPE, BY_NOTHING, NOT_TOLD } difference;

static bool is_long(int i)
{
    return i % 16 == 7;
}

/* 64 times Add, Mul, Cast on one stream; every 16th Mul takes 160.7 us, the others 1.74 us. */
static void add_muls(void)
{
    static const char *const name[] = {"aclnnAdd_Add", "aclnnMul_Mul", "aclnnCast_Cast"};
    double at = 0;
    begin_ascend();
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 3; k++) {
            double duration = k == 1 && is_long(i) ? 160.7 : 1.74;
            add_kernel(name[k], "AI_CORE", at, duration);
            at += duration + 0.5;
        }
    add("]");
    write_file("ASCEND_PROFILER_OUTPUT/trace_view.json");
}

static void add_mul_table(difference what)
{
    static const char *const name[] = {"aclnnAdd_Add", "aclnnMul_Mul", "aclnnCast_Cast"};
    static const char *const type[] = {"Add", "Mul", "Cast"};
    double at = 0;
    add("Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes,Input Data Types,Input "
        "Formats\n");
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 3; k++) {
            bool other = k == 1 && is_long(i);
            double duration = other ? 160.7 : 1.74;
            add("%s,%s,AI_VECTOR_CORE,%.3f,%.3f,0.000,\"\"\"%s\"\"\",%s,ND;ND\n", name[k], type[k], at, duration,
                other && what == BY_SHAPE ? "4096,9216;4096,9216" : "4096;4096",
                other && what == BY_TYPE ? "DOUBLE;DOUBLE" : "FLOAT;FLOAT");
            at += duration + 0.5;
        }
    write_file("ASCEND_PROFILER_OUTPUT/kernel_details.csv");
}

static bool has_finding(const char *id)
{
    bool found = false;
    for (int i = 0; i < run.n_findings; i++)
        found |= strcmp(run.finding[i].id, id) == 0;
    return found;
}

static bool says_shapes_are_unknown; /* the finding last looked for */

static bool diagnosis_has(const char *id)
{
    const ek_run_input input = {.trace = &run};
    const ek_diagnose_options quick = {.seconds = 0.05, .n_threads = 1};
    ek_diagnosis diagnosis;
    bool found = false;
    assert_int_equal(ek_diagnose(&input, &quick, &diagnosis, &err), EK_OK);
    for (int i = 0; i < diagnosis.n_bottlenecks; i++)
        if (strcmp(diagnosis.bottleneck[i].id, id) == 0) {
            const char *caution = diagnosis.bottleneck[i].caution;
            found = true;
            says_shapes_are_unknown = caution && strstr(caution, "does not contain the shapes");
        }
    ek_diagnosis_clear(&diagnosis);
    return found;
}

static void executions_are_compared_with_those_of_equal_shapes_and_types(void **state)
{
    (void)state;
    static const struct {
        difference what;
        bool slow;
    } cases[] = {{BY_SHAPE, false}, {BY_TYPE, false}, {BY_NOTHING, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        add_muls();
        add_mul_table(cases[c].what);
        const ek_trace_rank *rank = read_all();
        assert_true((rank->operators.n_outliers > 0) == cases[c].slow);
        assert_true((rank->operators.n_slow > 0) == cases[c].slow);
        assert_true(has_finding("slow-operators") == cases[c].slow);
        assert_true(diagnosis_has("slow-operators") == cases[c].slow);
        assert_false(cases[c].slow && says_shapes_are_unknown);
        for (int i = 0; i < rank->operators.n_outliers; i++)
            assert_true(rank->operators.outlier[i].shape && !rank->operators.outlier[i].shapes_unknown);
    }
}

/* One in 64 is rare enough to be listed, and nothing more. */
static void unknown_shapes_are_said_to_be_so(void **state)
{
    (void)state;
    double at = 0;
    add_muls();
    const ek_trace_rank *rank = read_all();
    for (int i = 0; i < rank->operators.n_slow; i++)
        assert_true(rank->operators.slow[i].shapes_unknown);
    assert_false(has_finding("slow-operators"));
    assert_true(!diagnosis_has("slow-operators") || says_shapes_are_unknown);
    begin_ascend();
    for (int i = 0; i < 64; i++) {
        add_kernel("aclnnMul_Mul", "AI_CORE", at, i == 9 ? 160.7 : 1.74);
        at += i == 9 ? 161 : 2;
    }
    add("]");
    write_file("ASCEND_PROFILER_OUTPUT/trace_view.json");
    rank = read_all();
    assert_int_equal(rank->operators.n_outliers, 1);
    assert_true(rank->operators.outlier[0].shapes_unknown);
    assert_false(has_finding("slow-operators"));
    assert_true(!diagnosis_has("slow-operators") || says_shapes_are_unknown);
    char *words = all_words();
    assert_non_null(strstr(words, "shapes are not recorded"));
    free(words);
}

/* ---- pieces of traces of PyTorch ---- */

static void add_gpu(const char *category, const char *name, double start, double duration, const char *arguments)
{
    bool device = strcmp(category, "kernel") == 0;
    add("%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}",
        length > 1 ? "," : "", category, name, device ? 0 : 100, device ? 7 : 100, start, duration, arguments);
}

/* An operator of the host, its call and its kernel. */
static void add_launched(int id, const char *dims, double start, double duration)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "\"External id\":%d%s%s%s", id, dims ? ",\"Input Dims\":" : "",
             dims ? dims : "", dims ? ",\"Input type\":[\"float\",\"float\"]" : "");
    add_gpu("cpu_op", "aten::mul", start - 5, 3, arguments);
    snprintf(arguments, sizeof arguments, "\"External id\":%d,\"correlation\":%d", id, 1000 + id);
    add_gpu("cuda_runtime", "cudaLaunchKernel", start - 4, 1, arguments);
    add_gpu("kernel", "elementwise_kernel", start, duration, arguments);
}

static void shapes_of_pytorch_come_from_the_launching_operator(void **state)
{
    (void)state;
    static const struct {
        const char *dims, *of_long;
        bool slow;
    } cases[] = {{"[[4096],[4096]]", "[[4096,9216],[4096,9216]]", false},
                 {"[[4096],[4096]]", "[[4096],[4096]]", true},
                 {NULL, NULL, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double at = 10;
        add("[");
        for (int i = 0; i < 128; i++) {
            bool other = i == 77;
            add_launched(i + 1, other ? cases[c].of_long : cases[c].dims, at, other ? 160.7 : 1.74);
            at += other ? 200 : 10;
        }
        add("]");
        const ek_trace_rank *rank = read_trace();
        assert_int_equal(rank->producer, EK_PRODUCER_KINETO);
        assert_true(has_finding("slow-operators") == cases[c].slow);
        assert_true((rank->operators.n_outliers > 0 && !rank->operators.outlier[0].shapes_unknown) == cases[c].slow);
    }
}

/* ---- steps without marks ---- */

/* Four steps of 9 kernels of 17 ms without a gap. While the last one runs the host begins to wait 595 ms for the next
 * batch; the next step begins 5 ms later, 750 ms after the previous one. */
static void a_wait_for_data_is_in_the_gap_it_makes(void **state)
{
    (void)state;
    add("[");
    for (int step = 0; step < 4; step++) {
        double at = 1000 + 750000.0 * step;
        for (int k = 0; k < 9; k++) {
            char name[32];
            snprintf(name, sizeof name, "kernel_%c", 'a' + k);
            add_gpu("kernel", name, at + 17000 * k, 17000, "");
        }
        add_gpu("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 150000, 595000,
                "");
    }
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->n_steps, 4);
    for (int i = 0; i < 4; i++) {
        const ek_trace_step *step = &rank->step[i];
        bool begin_to_begin;
        int64_t step_length = ek_trace_step_length(rank, i, &begin_to_begin);
        assert_int_equal(step->own.total, 153000000);
        assert_int_equal(step_length, i < 3 ? 750000000 : 153000000);
        assert_int_equal(step->data_loading, i < 3 ? 595000000 : 3000000);
        assert_int_equal(step->data_loading_idle, i < 3 ? 592000000 : 0);
    }
    assert_int_equal(ek_trace_run_step(&run).ns, 750000000);
}

/* A table by itself shows neither the waiting rank nor the reason: 0.00 must not be printed for unknown values. */
static void what_a_table_does_not_tell_is_no_zero(void **state)
{
    (void)state;
    add("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive)\n1,100000,20000,5000,25000,9000,0,0,20000\n");
    write_file("rank_0/ASCEND_PROFILER_OUTPUT/step_trace_time.csv");
    const ek_trace_rank *rank = read_all();
    assert_int_equal(rank->n_steps, 1);
    char *words = all_words();
    const char *line = strstr(words, "\nrank 0"), *end = line ? strchr(line + 1, '\n') : NULL;
    assert_non_null(end);
    assert_memory_equal(end - 35, "          -           -           -", 35);
    assert_null(strstr(words, "\"host_bound_us\": 0.000, \"device_bound_us\": 0.000, \"unlinked_us\": 0.000, \"iter"));
    free(words);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_of_every_type_are_computing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_and_copies_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_overlap_layer_is_left_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(executions_are_compared_with_those_of_equal_shapes_and_types, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unknown_shapes_are_said_to_be_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_of_pytorch_come_from_the_launching_operator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_for_data_is_in_the_gap_it_makes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_table_does_not_tell_is_no_zero, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
