/* Tests pitfalls of traces and tables: one small case for each, through ek_trace_run_read on files written here; then
 * the comparisons of ranks with answers computed by hand. Times in the files are microseconds, the figures asserted
 * nanoseconds. */
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "evenkeel/trace.h"
#include "trace/compare/dixon.h"

enum { ROOM = 1 << 16 };

/* ---- files ---- */

static char folder[256]; /* of the case at hand */
static char text[ROOM];  /* the file being written */
static size_t length;
static ek_trace_run run; /* the run that was read */
static ek_error err;
static said heard;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Write the added files; parent folders are made. */
static void write_bytes(const char *name, const char *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s", path_of(name));
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_file(const char *name)
{
    write_bytes(name, text, length);
    length = 0;
    text[0] = '\0';
}

static ek_status read_with(const ek_trace_options *options, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", folder, name[0] ? "/" : "", name);
    const char *paths[] = {path};
    ek_listener listener = {.warn = say_warning, .user = &heard};
    heard = (said){.length = 0};
    ek_trace_run_clear(&run);
    return ek_trace_run_read(paths, 1, options, &listener, &run, &err);
}

static const ek_trace_rank *read_rank(const char *name)
{
    static const ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1};
    if (read_with(&options, name) != EK_OK)
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(run.n_ranks, 1);
    return &run.rank[0];
}

/* The added events, as trace_view.json. */
static const ek_trace_rank *read_trace(void)
{
    write_file("trace_view.json");
    return read_rank("trace_view.json");
}

static void read_folder(void)
{
    static const ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1};
    if (read_with(&options, "") != EK_OK)
        fail_msg("%s", err.message);
}

static int remove_all(const char *path)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    return system(command);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_pitfalls_XXXXXX");
    length = 0;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ek_trace_run_clear(&run);
    return remove_all(folder);
}

/* ---- pieces of traces ---- */

#define LAYERS                                                                                                         \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"Python\"}},"                     \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":0,\"args\":{\"name\":\"CANN\"}},"                       \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"}},"            \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"tid\":0,\"args\":{\"name\":\"HCCL\"}},"                       \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"tid\":0,\"args\":{\"name\":\"Overlap Analysis\"}}"
#define TASK "\"args\":{\"Task Type\":\"AI_CORE\"}"

/* An event of the device, 'start' and 'duration' as they are written in the file. */
static void add_kernel(const char *start, const char *duration)
{
    add(",{\"ph\":\"X\",\"name\":\"MatMul1\",\"pid\":3,\"tid\":2,\"ts\":%s,\"dur\":%s," TASK "}", start, duration);
}

static void add_event(const char *name, int pid, int tid, double start, double duration)
{
    add(",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{}}", name, pid,
        tid, start, duration);
}

static void add_task(double start, double duration)
{
    char ts[32], dur[32];
    snprintf(ts, sizeof ts, "\"%.3f\"", start);
    snprintf(dur, sizeof dur, "%.3f", duration);
    add_kernel(ts, dur);
}

static void add_step(int number, double start, double duration)
{
    add(",{\"ph\":\"X\",\"name\":\"ProfilerStep#%d\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":\"%.3f\",\"dur\":%."
        "3f}",
        number, start, duration);
}

/* ---- times and numbers ---- */

static void times_are_texts_or_numbers_and_keep_their_nanoseconds(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_kernel("\"1736408883688177.931\"", "10");        /* torch_npu */
    add_kernel("1736408883688200.25", "0.5");            /* number */
    add_kernel("\"1736408883688300.001\"", "\"7.001\""); /* MindSpore: both are texts */
    add_kernel("\"1736408883688400\"", "1");             /* a text without a point */
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 10000 + 500 + 7001 + 1000);
    assert_int_equal(rank->device.total, 1736408883688401000 - 1736408883688177931);
}

static void numbers_beyond_doubles_stay_apart(void **state)
{
    (void)state;
    /* Two arrows with ids that differ in the last digit of 2^53 + ..., two processes beyond 2^32. */
    add("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4376751100,\"tid\":0,\"args\":{\"name\":\"Ascend "
        "Hardware\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4376751101,\"tid\":0,\"args\":{\"name\":\"Python\"}}");
    for (int i = 0; i < 2; i++)
        add(",{\"ph\":\"X\",\"name\":\"a\",\"pid\":4376751100,\"tid\":2,\"ts\":\"%d\",\"dur\":10," TASK "}"
            ",{\"ph\":\"s\",\"name\":\"HostToDevice\",\"cat\":\"HostToDevice\",\"id\":\"1736408883688177%d\",\"pid\":7,"
            "\"tid\":1,\"ts\":\"%d\"}"
            ",{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"HostToDevice\",\"cat\":\"HostToDevice\",\"id\":\"1736408883688177%"
            "d\","
            "\"pid\":4376751100,\"tid\":2,\"ts\":\"%d\"}",
            1000 + 100 * i, 930 + i, i == 0 ? 900 : 1050, 930 + i, 1000 + 100 * i);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->idle.n_linked_tasks, 2); /* also: process 7 of the arrows has no name */
    assert_int_equal(rank->idle.n_host_bound, 1);
    assert_int_equal(rank->idle.host_bound, 90000);
    assert_int_equal(rank->counts.n_processes, 1); /* the others have no complete events */
    assert_string_equal(rank->counts.process[0].pid, "4376751100");
}

static bool is_noted(const ek_trace_rank *rank, const char *words)
{
    for (int i = 0; i < rank->n_notes; i++)
        if (strstr(rank->note[i], words))
            return true;
    return false;
}

static void a_missing_a_zero_and_a_negative_duration_add_nothing(void **state)
{
    (void)state;
    add("[" LAYERS ",{\"ph\":\"X\",\"name\":\"a\",\"pid\":3,\"tid\":2,\"ts\":\"5\"," TASK "}");
    add_kernel("\"10\"", "0");
    add_kernel("\"20\"", "-8");
    add_kernel("\"30\"", "4");
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 4000);
    assert_int_equal(rank->counts.n_odd, 0);
    assert_int_equal(rank->device.total, 29000);
    assert_int_equal(rank->counts.n_negative, 1);
    assert_true(is_noted(rank, "1 events have a negative duration, which is read as 0"));
}

static void what_is_no_number_is_left_out_and_told(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_kernel("\"10\"", "NaN");
    add_kernel("\"20\"", "Infinity");
    add_kernel("NaN", "3");
    add_kernel("\"9223372036854775807\"", "3"); /* 2^63 - 1 */
    add_kernel("\"40\"", "9223372036854775807");
    add_kernel("\"50\"", "1e400");
    add_kernel("\"60\"", "6");
    add_kernel("-1", "1"); /* a time like any other */
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 7000);
    assert_int_equal(rank->counts.n_odd, 6);
    bool told = false;
    for (int i = 0; i < rank->n_notes; i++)
        told = told || strncmp(rank->note[i], "6 events without", strlen("6 events without")) == 0;
    assert_true(told);
}

static void the_same_event_twice_counts_once_in_unions(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_step(3, 0, 100);
    add_step(3, 0, 100);
    for (int i = 0; i < 2; i++)
        add_kernel("\"10\"", "5");
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->n_steps, 1);
    assert_int_equal(rank->step[0].own.computing, 5000);
}

/* The profiler's output for a step, `times` times each. */
static const ek_trace_rank *read_step(int times)
{
    add("[" LAYERS);
    add_step(3, 0, 100);
    for (int i = 0; i < times; i++) {
        add_task(0, 30);
        add_event("hcom_allReduce__586_0_1", 4, 0, 20, 30);
        add_event("Computing", 5, 0, 0, 30);
        add_event("Communication", 5, 1, 20, 30);
        add_event("Communication(Not Overlapped)", 5, 2, 30, 20);
        add_event("Free", 5, 3, 50, 50);
    }
    add("]");
    return read_trace();
}

static void events_that_are_there_twice_count_once(void **state)
{
    (void)state;
    const ek_trace_rank *rank = read_step(1);
    const ek_trace_breakdown once = rank->step[0].own;
    assert_int_equal(once.computing, 30000);
    assert_int_equal(once.free, 50000);
    assert_int_equal(rank->counts.n_doubled, 0);
    for (int times = 2; times <= 3; times++) {
        rank = read_step(times);
        assert_memory_equal(&rank->step[0].own, &once, sizeof once);
        assert_int_equal(rank->operators.n_executions, 1);
        assert_int_equal(rank->communication.n_collectives, 1);
        assert_int_equal(rank->counts.n_doubled, 6 * (times - 1));
        assert_true(is_noted(rank, "device events are in the files twice and count once"));
    }
}

/* An event that begins and ends together on several streams is compared with all of them. */
static void copies_are_found_among_what_runs_at_once(void **state)
{
    (void)state;
    add("[" LAYERS);
    for (int times = 0; times < 2; times++)
        for (int stream = 2; stream < 7; stream++)
            add(",{\"ph\":\"X\",\"name\":\"MatMul%d\",\"pid\":3,\"tid\":%d,\"ts\":10,\"dur\":5," TASK "}", stream,
                stream);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->counts.n_doubled, 5);
    assert_int_equal(rank->operators.n_executions, 5);
}

static void events_that_only_look_alike_all_count(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_event("other", 3, 2, 10, 5); /* begins and ends with the next one */
    add_task(10, 5);
    add(",{\"ph\":\"X\",\"name\":\"MatMul1\",\"pid\":3,\"tid\":7,\"ts\":10,\"dur\":5," TASK "}"); /* its own stream */
    add_task(20, 0);                                                                              /* of no length */
    add_task(20, 0);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->counts.n_doubled, 0);
    assert_int_equal(rank->operators.n_executions, 5);
}

static void a_layer_whose_events_run_at_once_is_left_aside(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_step(3, 0, 100);
    add_task(0, 30);
    add_event("Computing", 5, 0, 0, 30);
    add_event("Computing", 5, 0, 0, 29);
    add_event("Free", 5, 3, 30, 70);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->step[0].own.computing, 30000);
    assert_true(is_noted(rank, "Overlap Analysis layer is damaged (its events run at the same time)"));
}

/* ---- the file's shape ---- */

static void shapes_of_files_do_not_matter(void **state)
{
    (void)state;
    static const char events[] =
        "[" LAYERS ",{\"args\":{\"Task Type\":\"AI_CORE\"},\"dur\":5,\"tid\":2,\"ts\":\"1\",\"pid\":3,"
        "\"name\":\"a\",\"ph\":\"X\"},{\"ph\":\"X\",\"dur\":6,\"ts\":\"10\",\"name\":\"b\",\"tid\":2,"
        "\"pid\":3," TASK "}]";
    add("%s", events);
    assert_int_equal(read_trace()->device.computing, 11000);
    add("\xef\xbb\xbf%s", events); /* a mark of the byte order */
    assert_int_equal(read_trace()->device.computing, 11000);
    add("{\"displayTimeUnit\":\"ms\",\"x\":[[{\"traceEvents\":0}]],\"traceEvents\":%s,\"z\":{}}", events);
    assert_int_equal(read_trace()->device.computing, 11000);
    for (const char *at = events; *at; at++) /* on many lines; no text in it has such characters */
        add(strchr("{}[],:", *at) ? " %c\r\n\t" : "%c", *at);
    assert_int_equal(read_trace()->device.computing, 11000);
    gzFile packed = gzopen(path_of("packed.json.gz"), "wb");
    assert_int_equal(gzputs(packed, events), strlen(events));
    gzclose(packed);
    assert_int_equal(read_rank("packed.json.gz")->device.computing, 11000);
}

static void metadata_may_follow_its_events_and_ids_may_be_texts(void **state)
{
    (void)state;
    add("[{\"ph\":\"X\",\"name\":\"hcom_allReduce__586_0_1\",\"pid\":\"h\",\"tid\":\"0\",\"ts\":\"20\",\"dur\":7,"
        "\"args\":{}},"
        "{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"d\",\"tid\":\"s 1\",\"ts\":\"1\",\"dur\":5," TASK "},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"d\",\"args\":{\"name\":\"Ascend Hardware\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"h\",\"args\":{\"name\":\"HCCL\"}}]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 5000);
    assert_int_equal(rank->device.communication, 7000);
}

static void texts_may_hold_braces_breaks_and_raw_control_characters(void **state)
{
    (void)state;
    add("[" LAYERS ",{\"ph\":\"X\",\"name\":\"a}]\\\"{[\\\\\",\"pid\":3,\"tid\":2,\"ts\":\"1\",\"dur\":5,"
        "\"args\":{\"Task Type\":\"AI_CORE\",\"Call stack\":\"f.py(3): g;\\r\\nh{\\\\\\\"\"}}"
        ",{\"ph\":\"X\",\"name\":\"b\x01\n\tc\",\"pid\":3,\"tid\":2,\"ts\":\"10\",\"dur\":6," TASK "}]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 11000);
    assert_int_equal(heard.n_warnings, 0);
}

static void deep_nesting_and_bad_utf8_do_no_harm(void **state)
{
    (void)state;
    enum { DEPTH = 10000 };
    add("[" LAYERS ",{\"ph\":\"X\",\"name\":\"a\xff\xfe\",\"pid\":3,\"tid\":2,\"ts\":\"1\",\"dur\":5," TASK
        "},{\"ph\":\"i\",\"x\":");
    for (int i = 0; i < DEPTH; i++)
        add("[");
    for (int i = 0; i < DEPTH; i++)
        add("]");
    add("}]");
    assert_int_equal(read_trace()->device.computing, 5000);
}

static void a_cut_file_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_kernel("\"1\"", "5");
    size_t whole = length;
    add_kernel("\"10\"", "6");
    length -= 9;
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 5000);
    assert_int_equal(rank->counts.n_items, 6);
    assert_non_null(rank->source[0].problem);
    assert_int_equal(rank->source[0].problem_offset, whole); /* after the last event that is whole */
    assert_int_equal(heard.n_warnings, 1);
}

static void an_unclosed_text_ends_the_file(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_kernel("\"1\"", "5");
    add(",{\"ph\":\"X\",\"name\":\"abc");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->device.computing, 5000);
    assert_non_null(rank->source[0].problem);
}

static void a_cut_packed_file_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    add("[" LAYERS);
    for (int i = 0; i < 200; i++)
        add(",{\"ph\":\"X\",\"name\":\"k%d\",\"pid\":3,\"tid\":2,\"ts\":\"%d\",\"dur\":5," TASK "}", i * 7919 % 1000,
            10 * i);
    add("]");
    gzFile packed = gzopen(path_of("whole.json.gz"), "wb");
    gzwrite(packed, text, (unsigned)length);
    gzclose(packed);
    size_t size = 0;
    char *bytes = slurp(path_of("whole.json.gz"), &size);
    assert_non_null(bytes);
    write_bytes("cut.json.gz", bytes, size * 3 / 4);
    free(bytes);
    const ek_trace_rank *rank = read_rank("cut.json.gz");
    assert_non_null(rank->source[0].problem);
    assert_in_range(rank->device.computing, 5000, 199 * 5000);
    assert_int_equal(rank->device.computing, 5000 * (rank->counts.n_items - 5));
}

static void assert_refused(const char *name, const char *why)
{
    static const ek_trace_options options = {.n_threads = 1};
    write_file(name);
    assert_int_equal(read_with(&options, name), EK_ERR_INPUT);
    if (!strstr(err.message, why))
        fail_msg("%s: '%s' does not say '%s'", name, err.message, why);
}

static void what_is_no_trace_is_refused_with_its_reason(void **state)
{
    (void)state;
    static const ek_trace_options options = {.n_threads = 1};
    assert_refused("trace_view.json", "empty");
    add("{\"schema\":\"1.0.4\",\"nodes\":[{\"id\":1,\"name\":\"a\"}]}");
    assert_refused("trace_view.json", "execution trace");
    add("{\"a\":1}");
    assert_refused("trace_view.json", "no trace events");
    mkdir(path_of("nothing"), 0700);
    assert_int_equal(read_with(&options, "nothing"), EK_ERR_INPUT);
    assert_int_not_equal(read_with(&options, "absent.json"), EK_OK);
    if (geteuid() != 0) { /* whom no mode stops */
        add("[" LAYERS "]");
        write_file("closed.json");
        chmod(path_of("closed.json"), 0);
        assert_int_equal(read_with(&options, "closed.json"), EK_ERR_SYSTEM);
    }
}

/* ---- layers of Ascend ---- */

static void communication_is_told_by_its_process_not_by_thread_names(void **state)
{
    (void)state;
    static const char *const process[] = {"HCCL", "Communication"};
    static const char *const thread[] = {"Communication Kernel", "Group 0 Communication"};
    for (int i = 0; i < 2; i++) {
        add("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"args\":{\"name\":\"%s\"}},"
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":70000,\"args\":{\"name\":\"%s\"}},"
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":1,\"args\":{\"name\":\"Plane 0\"}},"
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"Overlap Analysis\"}},"
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":1,\"args\":{\"name\":\"Communication\"}}",
            process[i], thread[i]);
        add_event("hcom_allReduce__586_0_1", 4, 70000, 10, 8);
        add_event("Memcpy", 4, 1, 10, 3);
        add_event("Communication", 5, 1, 10, 8);
        add_event("Communication(Not Overlapped)", 5, 1, 10, 8);
        add("]");
        const ek_trace_rank *rank = read_trace();
        assert_int_equal(rank->communication.n_collectives, 1);
        assert_int_equal(rank->communication.collective[0].duration, 8000);
        assert_int_equal(rank->step[0].own.communication, 8000);
        assert_int_equal(rank->step[0].raw.communication, 8000);
    }
}

static void both_spellings_of_not_overlapped_count(void **state)
{
    (void)state;
    static const char *const spelling[] = {"Communication(Not Overlapped)", "Communication(Not OverLapped)"};
    for (int i = 0; i < 2; i++) {
        add("[" LAYERS);
        add_event("Computing", 5, 0, 0, 10);
        add_event("Communication", 5, 1, 5, 10);
        add_event(spelling[i], 5, 2, 10, 5);
        add_event("Free", 5, 3, 15, 5);
        add("]");
        const ek_trace_breakdown *own = &read_trace()->step[0].own;
        assert_int_equal(own->communication_not_overlapped, 5000);
        assert_int_equal(own->overlapped, 5000);
        assert_int_equal(own->free, 5000);
    }
}

static void without_the_overlap_layer_tasks_tell(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_task(0, 10);
    add_event("hcom_allReduce__586_0_1", 4, 0, 5, 10);
    add_task(20, 5);
    add("]");
    const ek_trace_step *step = &read_trace()->step[0];
    assert_string_equal(step->source, "raw_events");
    assert_int_equal(step->own.computing, 15000);
    assert_int_equal(step->own.communication_not_overlapped, 5000);
    assert_int_equal(step->own.overlapped, 5000);
    assert_int_equal(step->own.free, 5000);
}

static void without_step_marks_all_is_one_step(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_task(0, 10);
    add_task(30, 5);
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->n_steps, 1);
    assert_string_equal(rank->step[0].name, "");
    assert_int_equal(rank->step[0].own.computing, 15000);
    assert_int_equal(rank->n_outside_steps, 0);
}

static void steps_count_from_anywhere_and_strays_are_reported(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_step(1009, 100, 100);
    add_step(1010, 200, 100);
    add_task(110, 10);
    add_task(210, 20);
    add_task(500, 30); /* after both */
    add("]");
    const ek_trace_rank *rank = read_trace();
    assert_int_equal(rank->n_steps, 2);
    assert_string_equal(rank->step[0].name, "1009");
    assert_string_equal(rank->step[1].name, "1010");
    assert_int_equal(rank->step[1].own.computing, 20000);
    assert_int_equal(rank->n_outside_steps, 1);
}

static void recomputation_of_the_last_layer_is_told_from_its_forward(void **state)
{
    (void)state;
    /* forward, copy, backward of the only layer, twice: numbers of operators shared or distinct between micro-batches.
     */
    for (int distinct = 0; distinct < 2; distinct++) {
        add("[" LAYERS);
        double at = 0;
        for (int m = 0; m < 2; m++) {
            static const char *const top[] = {"recompute_Default", "recompute_Default", "Gradients/recompute_Default"};
            static const double duration[] = {10, 12, 30};
            for (int pass = 0; pass < 3; pass++)
                for (int op = 0; op < 2; op++) {
                    int number = op + (pass == 1 ? 10 : 0) + (distinct ? 100 * m : 0);
                    add(",{\"ph\":\"X\",\"name\":\"%s/net/0-DecodeLayer/part%d/"
                        "MatMul-op%d\",\"pid\":3,\"tid\":2,\"ts\":\"%.3f\","
                        "\"dur\":%.3f," TASK "}",
                        top[pass], op, number, at, duration[pass]);
                    at += duration[pass];
                }
        }
        add("]");
        const ek_trace_rank *rank = read_trace();
        assert_int_equal(rank->layers.n, 1);
        const ek_trace_layer *layer = &rank->layers.layer[0];
        assert_int_equal(layer->forward.n, 2);
        assert_int_equal(layer->recompute.n, 2);
        assert_int_equal(layer->backward.n, 2);
        assert_float_equal(layer->forward.wall_mean, 20000, 1);
        assert_float_equal(layer->recompute.wall_mean, 24000, 1);
        assert_float_equal(layer->backward.wall_mean, 60000, 1);
    }
}

/* ---- Kineto ---- */

#define KINETO "{\"schemaVersion\":1,\"traceEvents\":["

static void add_gpu(const char *cat, const char *name, int stream, double start, double duration, int correlation)
{
    add("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
        "\"correlation\":%d}},",
        cat, name, stream, start, duration, correlation);
}

static const ek_trace_rank *read_kineto(void)
{
    add("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"python\"}}]}");
    write_file("worker.pt.trace.json");
    return read_rank("worker.pt.trace.json");
}

static void a_launch_outside_the_file_is_not_linked(void **state)
{
    (void)state;
    add(KINETO);
    add_gpu("cuda_runtime", "cudaLaunchKernel", 1, 0, 1, 5);
    add_gpu("kernel", "k", 7, 10, 4, 5);
    add_gpu("kernel", "k", 7, 20, 6, 99);
    const ek_trace_rank *rank = read_kineto();
    assert_int_equal(rank->device.computing, 10000);
    assert_int_equal(rank->device_linked.computing, 4000);
    assert_int_equal(rank->device_linked.n_events, 1);
}

static void events_that_overlap_on_a_stream_make_no_gap(void **state)
{
    (void)state;
    add(KINETO);
    add_gpu("kernel", "k", 7, 0, 10, 1);
    add_gpu("kernel", "k", 7, 5, 3, 2);
    add_gpu("kernel", "k", 7, 12, 1, 3);
    const ek_trace_rank *rank = read_kineto();
    assert_int_equal(rank->idle.n_streams, 1);
    assert_int_equal(rank->idle.stream[0].other, 2000);
    assert_int_equal(rank->idle.stream[0].n_other, 1);
}

static void a_trace_without_device_events_says_so(void **state)
{
    (void)state;
    static const char *const category[] = {"cpu_op", "mtia_ccp_events"};
    for (int i = 0; i < 2; i++) {
        add(KINETO);
        add_gpu(category[i], "a", 7, 10, 4, 5);
        const ek_trace_rank *rank = read_kineto();
        assert_false(rank->has_device_events);
        assert_int_equal(rank->device.n_events, 0);
        assert_true(rank->n_notes > i);
        assert_int_equal(!!strstr(rank->note[rank->n_notes - 1], "mtia_ccp_events"), i);
    }
}

/* ---- tables ---- */

/* Databases that are no exports have settings as text and no figures, which is not a lack of recording. */
static void databases_alone_are_named_with_what_to_do(void **state)
{
    (void)state;
    static const ek_trace_options options = {.n_threads = 1};
    add("{\"rank_id\": 0, \"torch_npu_version\": \"2.1\"}");
    write_file("h_ascend_pt/profiler_info_0.json");
    add("db");
    write_file("h_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db");
    add("db");
    write_file("h_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db");
    assert_int_equal(read_with(&options, "h_ascend_pt"), EK_OK);
    assert_int_equal(run.n_databases, 2);
    assert_int_equal(run.n_findings, 1);
    assert_string_equal(run.finding[0].id, "databases-unread");
    assert_non_null(strstr(run.finding[0].text, "2 databases without the tables of an export lie there unread"));
    assert_non_null(strstr(run.finding[0].text, "/analysis.db, ...)"));
    assert_non_null(strstr(run.finding[0].advice, "export_type=[ExportType.Text]"));
    /* Beside text they repeat the same. */
    add("Name,Duration(us),Start Time(us)\na,5,1\n");
    write_file("h_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv");
    assert_int_equal(read_with(&options, "h_ascend_pt"), EK_OK);
    for (int i = 0; i < run.n_findings; i++)
        assert_string_not_equal(run.finding[i].id, "databases-unread");
}

static void kernel_tables_have_columns_in_any_order_and_odd_cells(void **state)
{
    (void)state;
    add("New Column,Duration(us),Name,Accelerator Core,Type,Start Time(us),Step ID\r\n"
        "1,10.5,\"a\nb\",AI_CORE,MatMul,\"1736408883704643.212\t\",7\r\n"
        "2,4,c,AI_CORE,MatMul,1736408883704663.212\t,7\r\n"
        "3,N/A,d,AI_CORE,MatMul,1736408883704663.212\t,7\r\n"
        "4,8,hcom_allReduce__586_0_1,HCCL,hcom_allReduce_,1736408883704673.212\t,7\r\n");
    write_file("kernel_details.csv");
    const ek_trace_rank *rank = read_rank("kernel_details.csv");
    assert_int_equal(rank->operators.n, 1); /* without communication */
    assert_int_equal(rank->operators.op[0].count, 2);
    assert_int_equal(rank->operators.op[0].total, 14500);
}

static void step_tables_may_lack_step_device_and_preparing(void **state)
{
    (void)state;
    static const char rest[] = "Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                               "Communication(Not Overlapped and Exclude Receive)";
    add("Step,%s\n,10.5,2,1,3,4,16,0,2\n", rest);
    write_file("step_trace_time.csv");
    const ek_trace_rank *rank = read_rank("step_trace_time.csv");
    assert_int_equal(rank->n_steps, 1);
    assert_string_equal(rank->step[0].name, "");
    assert_int_equal(rank->step[0].own.computing, 10500);
    assert_int_equal(rank->device_id, -1);
    assert_true(rank->step[0].preparing == EK_TRACE_UNKNOWN);
    add("Device_id,Step,%s,Preparing\n-1,12,10.5,2,1,3,4,16,0,2,7.25\n", rest);
    write_file("step_trace_time.csv");
    rank = read_rank("step_trace_time.csv");
    assert_string_equal(rank->step[0].name, "12");
    assert_int_equal(rank->device_id, -1);
    assert_int_equal(rank->step[0].table_preparing, 7250);
}

static void a_device_number_is_not_the_rank(void **state)
{
    (void)state;
    add("{\"rank_id\": \"9\", \"config\": {\"with_stack\": true}}");
    write_file("any_name/profiler_info_9.json");
    add("Device_id,Step,Computing,Free\n3,1,10,5\n");
    write_file("any_name/ASCEND_PROFILER_OUTPUT/step_trace_time.csv");
    const ek_trace_rank *rank = read_rank("any_name");
    assert_int_equal(rank->rank, 9);
    assert_int_equal(rank->device_id, 3);
    assert_string_equal(rank->profiler_info, "{\"rank_id\":\"9\",\"config\":{\"with_stack\":true}}");
    assert_int_equal(rank->communication.n_comm_sums, 0); /* no communication.json, and nothing amiss */
    assert_int_equal(heard.n_warnings, 0);
}

static void memory_blocks_that_stay_or_lie_inside_others(void **state)
{
    (void)state;
    add("start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,file_name,line_num,type,producer_task,"
        "task_name,node_name,graph_name,user_tasks,\n"
        "0,9223372036854775807,0x1,0,p,100,,,Weight,,,,,,\n" /* never freed */
        "-1,-1,0x1,0,p,70,,,InSideSomas,,,,,,\n"             /* not counted */
        "2,5,0x2,0,p,30,,,Kernel,,,,,,\n");
    write_file("memory_block.csv");
    const ek_trace_tracker *tracker = &read_rank("memory_block.csv")->memory.tracker;
    assert_int_equal(tracker->peak_bytes, 130);
    assert_int_equal(tracker->peak_tick, 2);
    assert_int_equal(tracker->never_freed_bytes, 100);
    assert_int_equal(tracker->n_somas_rows, 1);
}

static void older_links_are_between_global_ranks(void **state)
{
    (void)state;
    add("{\"step1\":{\"p2p\":{\"hcom_send__700_0_1@123\":{\"0-8\":{\"Transport Type\":\"RDMA\",\"Transit Size(MB)\":4,"
        "\"Transit Time(ms)\":2,\"Bandwidth(GB/s)\":2}}},\"collective\":{}}}");
    write_file("communication_matrix.json");
    const ek_trace_communication *c = &read_rank("communication_matrix.json")->communication;
    assert_int_equal(c->n_links, 1);
    assert_string_equal(c->link[0].link, "123:0-8");
    assert_true(c->link[0].ranked);
    assert_float_equal(c->link[0].bandwidth_gbps, 2, 1e-9);
}

/* ---- comparisons of ranks ---- */

static void write_metadata(int rank, const char *groups)
{
    char name[64];
    add("{\"rank_id\": %d}", rank);
    snprintf(name, sizeof name, "r%d/profiler_info_%d.json", rank, rank);
    write_file(name);
    add("{\"distributed_args\":{\"tensor_model_parallel_size\":2,\"pipeline_model_parallel_size\":2,"
        "\"data_parallel_size\":1,\"context_parallel_size\":1,\"expert_model_parallel_size\":1,\"sequence_parallel\":"
        "true,"
        "\"rank\":%d,\"world_size\":4},\"parallel_group_info\":{%s}}",
        rank, groups);
    snprintf(name, sizeof name, "r%d/profiler_metadata.json", rank);
    write_file(name);
}

static void write_step(int rank, double computing, double exposed, double idle)
{
    char name[64];
    add("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n"
        "4,%.3f,%.3f,1,%.3f,%.3f,%d,0,%.3f,%d\n",
        computing, exposed, exposed + 1, idle, 500 - rank, exposed, 20 + rank);
    snprintf(name, sizeof name, "r%d/ASCEND_PROFILER_OUTPUT/step_trace_time.csv", rank);
    write_file(name);
}

/* Tensor parallel 2, pipeline parallel 2: ranks 0 and 1 are stage 0, ranks 2 and 3 stage 1. Rank 3 has no files. */
static void write_pipeline(void)
{
    static const char *const pp[] = {"[0,2]", "[1,3]", "[0,2]"};
    static const char *const tp[] = {"[0,1]", "[0,1]", "[2,3]"};
    for (int r = 0; r < 3; r++) {
        char groups[512];
        snprintf(groups, sizeof groups,
                 "\"group_name_1\":{\"group_name\":\"pp\",\"group_rank\":%d,\"global_ranks\":%s},"
                 "\"10.0.0.%d%%eth0_60000_0_17\":{\"group_name\":\"tp\",\"group_rank\":%d,\"global_ranks\":%s},"
                 "\"group_name_9\":{\"group_name\":\"pp\",\"group_rank\":%d,\"global_ranks\":%s},"
                 "\"group_name_0\":{\"group_name\":\"default_group\",\"group_rank\":%d,\"global_ranks\":[0,1,2,3]}",
                 r / 2, pp[r], r, r % 2, tp[r], r / 2, pp[r], r);
        write_metadata(r, groups);
    }
    write_step(0, 100, 20, 30);
    write_step(1, 140, 10, 20);
    write_step(2, 200, 5, 45);
}

static const ek_trace_group *group_at(const char *name, int nth)
{
    for (int i = 0; i < run.topology.n_groups; i++)
        if (strcmp(run.topology.group[i].name, name) == 0 && nth-- == 0)
            return &run.topology.group[i];
    return NULL;
}

static void topology_is_put_together_from_what_ranks_list(void **state)
{
    (void)state;
    write_pipeline();
    read_folder();
    const ek_trace_topology *t = &run.topology;
    assert_true(t->known && t->sequence_parallel);
    assert_int_equal(t->tensor, 2);
    assert_int_equal(t->pipeline, 2);
    assert_int_equal(t->world_size, 4);
    /* pp [0,2] twice (two groups may have the same name), pp [1,3] twice, tp twice, all once */
    assert_int_equal(t->n_groups, 7);
    assert_string_equal(group_at("pp", 0)->key, "group_name_1");
    assert_string_equal(group_at("pp", 1)->key, "group_name_9");
    assert_int_equal(group_at("pp", 1)->rank[1], 2);
    assert_int_equal(group_at("pp", 2)->rank[0], 1);
    assert_null(group_at("pp", 4));
    assert_string_equal(group_at("tp", 0)->key, "10.0.0.0%eth0_60000_0_17");
    assert_int_equal(group_at("tp", 1)->rank[1], 3); /* without files */
    assert_int_equal(run.n_ranks, 3);
    for (int r = 0; r < 3; r++)
        assert_int_equal(run.rank[r].stage, r / 2);
}

static void stages_are_balanced_by_their_ranks_means(void **state)
{
    (void)state;
    write_pipeline();
    read_folder();
    assert_int_equal(run.n_stages, 2);
    assert_int_equal(run.stage[0].n_ranks, 2);
    assert_int_equal(run.stage[0].computing_mean, 120000);
    assert_int_equal(run.stage[0].computing_max, 140000);
    assert_int_equal(run.stage[1].computing_mean, 200000);
    assert_float_equal(run.stage_imbalance, 200.0 / 120, 1e-12);
}

static void gaps_compare_computing_within_a_stage_only(void **state)
{
    (void)state;
    write_pipeline();
    read_folder();
    assert_int_equal(run.n_gaps, 3);
    /* stage 0: (140 - 100) over the mean of 150 and 170 */
    assert_float_equal(run.gap[0].gap, 40.0 / 160, 1e-12);
    assert_int_equal(run.gap[0].most, 1);
    assert_int_equal(run.gap[0].most_stage, 0);
    assert_true(run.gap[0].flagged);
    /* all: 20 - 5 and 45 - 20 over the mean of 150, 170 and 250 */
    assert_float_equal(run.gap[1].gap, 15.0 / 190, 1e-12);
    assert_float_equal(run.gap[2].gap, 25.0 / 190, 1e-12);
    assert_int_equal(run.gap[2].most_stage, 1);
    assert_int_equal(run.gap[2].least_stage, 0);
}

static void assert_row(int i, const char *type, const char *index, int64_t computing, int64_t stage, int64_t preparing)
{
    const ek_trace_cluster_row *row = &run.cluster_row[i];
    assert_string_equal(row->step, "4");
    assert_string_equal(row->type, type);
    assert_string_equal(row->index, index);
    assert_int_equal(row->computing, computing);
    assert_int_equal(row->stage, stage);
    assert_int_equal(row->preparing, preparing);
}

static void a_cluster_table_is_made_of_the_ranks_tables(void **state)
{
    (void)state;
    write_pipeline();
    read_folder();
    assert_int_equal(run.n_cluster_rows, 5);
    assert_row(0, "rank", "0", 100000, 500000, 20000);
    assert_row(1, "rank", "1", 140000, 499000, 21000);
    assert_row(2, "rank", "2", 200000, 498000, 22000);
    assert_row(3, "stage", "(0, 1)", 140000, 500000, 21000);
    assert_row(4, "stage", "(2,)", 200000, 498000, 22000);
    assert_int_equal(run.cluster_row[3].not_overlapped, 20000);
    assert_int_equal(run.cluster_row[3].free, 30000);
    assert_true(run.cluster_row[0].computed);
}

static void a_cluster_table_alone_makes_ranks_and_stages(void **state)
{
    (void)state;
    static const ek_trace_options options = {.n_threads = 1};
    add("Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n"
        "5,rank,0,10,1,2,3,4,5,0,1,7\n6,rank,0,12,1,2,3,4,5,0,1,7\n5,rank,1,21,1,2,3,4,5,0,1,7\n"
        "5,rank,8,40,1,2,3,4,5,0,1,7\n5,rank,9,48,1,2,3,4,5,0,1,7\n"
        "5,stage,\"(8, 9)\",48,1,2,3,4,5,0,1,7\n5,stage,\"(0, 1)\",21,1,2,3,4,5,0,1,7\n");
    write_file("cluster_step_trace_time.csv");
    assert_int_equal(read_with(&options, "cluster_step_trace_time.csv"), EK_OK);
    assert_int_equal(run.n_cluster_rows, 7); /* as printed, none made */
    assert_string_equal(run.cluster_row[5].index, "(8, 9)");
    assert_false(run.cluster_row[5].computed);
    assert_int_equal(run.n_ranks, 4);
    assert_int_equal(run.rank[2].rank, 8);
    assert_int_equal(run.rank[2].stage, 1);
    assert_int_equal(run.rank[0].n_steps, 2);
    assert_int_equal(run.rank[0].mean.computing, 11000);
    assert_int_equal(run.n_stages, 2);
    assert_int_equal(run.stage[0].computing_mean, 16000);
    assert_int_equal(run.stage[1].computing_max, 48000);
    assert_float_equal(run.stage_imbalance, 44.0 / 16, 1e-12);
}

/* One collective of n ranks, with these durations in microseconds. */
static void write_collective(int n, const double *duration)
{
    for (int r = 0; r < n; r++) {
        char name[64];
        add("[" LAYERS);
        add_event("hcom_allReduce__586_0_1", 4, 0, 100, duration[r]);
        add_event("hcom_send__700_0_1", 4, 0, 1100, 1 + 1000.0 * (r == 0)); /* no vote */
        add("]");
        snprintf(name, sizeof name, "rank_%d/ASCEND_PROFILER_OUTPUT/trace_view.json", r);
        write_file(name);
    }
    read_folder();
    assert_int_equal(run.n_ranks, n);
    assert_int_equal(run.n_voted_operators, 1);
    assert_int_equal(run.n_ballots, 1);
}

static int64_t votes_of(int rank)
{
    for (int i = 0; i < run.n_votes; i++)
        if (run.vote[i].rank == rank)
            return run.vote[i].n_votes;
    return -1;
}

static void dixon_votes_come_out_as_by_hand(void **state)
{
    (void)state;
    /* Three distinct durations are never voted on, however far apart. */
    write_collective(3, (const double[]){900, 5, 1000});
    assert_int_equal(votes_of(1), 0);
    assert_true(isnan(run.ballot[0].ratio));
    assert_int_equal(run.ballot[0].shortest, 1);
    /* 8: (x2 - x1) / (x7 - x1) = 600 / 730 > .723; x8 is left aside */
    write_collective(8, (const double[]){800, 810, 100, 820, 830, 700, 805, 2000});
    assert_float_equal(run.ballot[0].ratio, 600.0 / 730, 1e-12);
    assert_float_equal(run.ballot[0].limit, .723, 0);
    assert_int_equal(votes_of(2), 1);
    /* the same, nearer: 500 / 730 = .685 */
    write_collective(8, (const double[]){800, 810, 100, 820, 830, 600, 805, 2000});
    assert_int_equal(votes_of(2), 0);
    /* 12: (x3 - x1) / (x11 - x1) = 700 / 1010 > .675 > 670 / 1010; x2 and x12 are left aside */
    write_collective(12, (const double[]){1010, 1020, 10, 11, 710, 800, 810, 820, 830, 840, 850, 4000});
    assert_float_equal(run.ballot[0].ratio, 700.0 / 1010, 1e-12);
    assert_int_equal(votes_of(2), 1);
    write_collective(12, (const double[]){1010, 1020, 10, 11, 680, 800, 810, 820, 830, 840, 850, 4000});
    assert_int_equal(votes_of(2), 0);
}

static void dixon_of_25_leaves_two_at_the_top_aside(void **state)
{
    (void)state;
    double duration[25];
    for (int i = 0; i < 25; i++)
        duration[i] = 700 + i; /* x23 is 722 */
    duration[24] = 5000, duration[23] = 4000;
    duration[7] = 10, duration[3] = 330;
    /* x3 is 700: (700 - 10) / (722 - 10) */
    write_collective(25, duration);
    assert_float_equal(run.ballot[0].ratio, 690.0 / 712, 1e-12);
    assert_float_equal(run.ballot[0].limit, .519, 0);
    assert_int_equal(votes_of(7), 1);
    assert_int_equal(votes_of(3), 0);
}

static void over_a_hundred_ranks_three_deviations_decide(void **state)
{
    (void)state;
    enum { N = 101 };
    int64_t duration[N], sorted[N];
    bool vote[N];
    /* 100 of 1000 or 1002, one of 500: mean 996.04, deviation 49.6; 500 is ten of them below */
    for (int i = 0; i < N; i++)
        duration[i] = 1000 + 2 * (i % 2) + (i == 9);
    duration[40] = 500;
    assert_int_equal(ek__slow_votes(duration, N, sorted, vote), 1);
    assert_true(vote[40]);
    /* none that low, but one far above: then the shortest */
    duration[40] = 999;
    duration[60] = 3000;
    assert_int_equal(ek__slow_votes(duration, N, sorted, vote), 1);
    assert_true(vote[40]);
    /* 65 between 60: .388 and 70: .372 */
    assert_float_equal(ek__dixon_limit(65), .38, 1e-12);
    assert_float_equal(ek__dixon_limit(27), .519 + (.484 - .519) * 2 / 5, 1e-12);
}

static void groups_whose_ranks_list_differently_many_are_dropped(void **state)
{
    (void)state;
    for (int r = 0; r < 5; r++) {
        char name[64];
        add("[" LAYERS);
        for (int i = 0; i < 1 + (r == 4); i++)
            add_event(i == 0 ? "hcom_allReduce__586_0_1" : "hcom_allReduce__586_1_1", 4, 0, 100 + 1000 * i, 100 + r);
        add_event("hcom_allGather__333_0_1", 4, 0, 5000, r == 2 ? 1 : 100 + r);
        add("]");
        snprintf(name, sizeof name, "rank_%d/ASCEND_PROFILER_OUTPUT/trace_view.json", r);
        write_file(name);
    }
    read_folder();
    assert_int_equal(run.n_voted_operators, 1);
    assert_string_equal(run.ballot[0].group, "333");
    assert_int_equal(votes_of(2), 1); /* (100 - 1) / (104 - 1) = .961 > .823 */
}

static void communication_tables_are_compared_where_there_are_no_traces(void **state)
{
    (void)state;
    static const double elapse[] = {10, 1, 11, 12.5};
    for (int r = 0; r < 4; r++) {
        char name[64];
        add("{\"step1\":{\"p2p\":{},\"collective\":{\"hcom_allReduce__586_0_1@17522688603477080586\":{"
            "\"Communication Time Info\":{\"Start Timestamp(us)\":1736408883704643.2,\"Elapse Time(ms)\":%.3f,"
            "\"Transit Time(ms)\":1,\"Wait Time(ms)\":0}},\"Total Op Info\":{\"Communication Time Info\":{"
            "\"Start Timestamp(us)\":0,\"Elapse Time(ms)\":%.3f,\"Transit Time(ms)\":1,\"Wait Time(ms)\":0}}}}}",
            elapse[r], elapse[r]);
        snprintf(name, sizeof name, "rank_%d/ASCEND_PROFILER_OUTPUT/communication.json", r);
        write_file(name);
    }
    read_folder();
    assert_int_equal(run.n_voted_operators, 1);
    assert_string_equal(run.ballot[0].name, "hcom_allReduce__586_0_1");
    assert_string_equal(run.ballot[0].group, "17522688603477080586");
    assert_int_equal(run.ballot[0].shortest, 1);
    assert_int_equal(run.ballot[0].longest_ns, 12500000);
    assert_float_equal(run.ballot[0].ratio, 9 / 11.5, 1e-9);
    assert_int_equal(votes_of(1), 0); /* .783 of .920 */
}

/* ---- the host ---- */

static void calls_of_the_host_are_counted_and_the_cause_named(void **state)
{
    (void)state;
    add("[" LAYERS);
    add_step(1, 0, 1000);
    for (int i = 0; i < 21; i++) {
        add_event("AscendCL@aclopCompileAndExecute", 2, 1, 100 + 40 * i, 5);
        add_event("Node@launch", 2, 1, 110 + 40 * i, 2);
        add("%s",
            ",{\"ph\":\"X\",\"name\":\"Enqueue\",\"cat\":\"enqueue\",\"pid\":1,\"tid\":1,\"ts\":\"5\",\"dur\":1}"
            ",{\"ph\":\"X\",\"name\":\"Dequeue@a\",\"cat\":\"dequeue\",\"pid\":1,\"tid\":2,\"ts\":\"6\",\"dur\":1}");
        double start = 115 + 40 * i;
        add_task(start, 10);
        add(",{\"ph\":\"s\",\"name\":\"HostToDevice%d\",\"cat\":\"HostToDevice\",\"id\":\"%d\",\"pid\":2,\"tid\":1,"
            "\"ts\":\"%.3f\"}"
            ",{\"ph\":\"f\",\"name\":\"HostToDevice%d\",\"cat\":\"HostToDevice\",\"id\":\"%d\",\"pid\":3,\"tid\":2,"
            "\"ts\":\"%.3f\"}",
            i, i, start - 5, i, i, start);
    }
    add_event("AscendCL@aclrtSynchronizeStream", 2, 1, 950, 5);
    add_event("AscendCL@aclrtSynchronizeDevice", 2, 1, 960, 5);
    add_event("Node@Synchronize", 2, 1, 966, 1); /* every layer of CANN has its own */
    add_event("Hccl@Synchronize", 2, 1, 968, 1);
    add_event("Runtime@StreamSynchronize", 2, 1, 970, 1);
    add_event("GE@Synchronize", 2, 1, 972, 1);
    add_event("Model@Synchronize", 2, 1, 974, 1);
    add_event("Other@Synchronize", 2, 1, 976, 1); /* is none of them */
    add("]");
    const ek_trace_dispatch *d = &read_trace()->dispatch;
    assert_int_equal(d->n_node_launch, 21);
    assert_int_equal(d->n_enqueue, 21);
    assert_int_equal(d->n_dequeue, 21);
    assert_int_equal(d->n_compile, 21);
    assert_int_equal(d->n_synchronize, 7);
    /* 20 gaps of 30 us, each launched 25 us after it began */
    assert_int_equal(d->host_bound, 20 * 30000);
    assert_int_equal(d->step_time, 1000000);
    assert_float_equal(d->share, .6, 1e-12);
    assert_true(d->is_host_bound);
    assert_string_equal(d->cause, "compilation");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(times_are_texts_or_numbers_and_keep_their_nanoseconds),
        TEST(numbers_beyond_doubles_stay_apart),
        TEST(a_missing_a_zero_and_a_negative_duration_add_nothing),
        TEST(what_is_no_number_is_left_out_and_told),
        TEST(the_same_event_twice_counts_once_in_unions),
        TEST(events_that_are_there_twice_count_once),
        TEST(copies_are_found_among_what_runs_at_once),
        TEST(events_that_only_look_alike_all_count),
        TEST(a_layer_whose_events_run_at_once_is_left_aside),
        TEST(shapes_of_files_do_not_matter),
        TEST(metadata_may_follow_its_events_and_ids_may_be_texts),
        TEST(texts_may_hold_braces_breaks_and_raw_control_characters),
        TEST(deep_nesting_and_bad_utf8_do_no_harm),
        TEST(a_cut_file_is_read_as_far_as_it_goes),
        TEST(an_unclosed_text_ends_the_file),
        TEST(a_cut_packed_file_is_read_as_far_as_it_goes),
        TEST(what_is_no_trace_is_refused_with_its_reason),
        TEST(communication_is_told_by_its_process_not_by_thread_names),
        TEST(both_spellings_of_not_overlapped_count),
        TEST(without_the_overlap_layer_tasks_tell),
        TEST(without_step_marks_all_is_one_step),
        TEST(steps_count_from_anywhere_and_strays_are_reported),
        TEST(recomputation_of_the_last_layer_is_told_from_its_forward),
        TEST(a_launch_outside_the_file_is_not_linked),
        TEST(events_that_overlap_on_a_stream_make_no_gap),
        TEST(a_trace_without_device_events_says_so),
        TEST(databases_alone_are_named_with_what_to_do),
        TEST(kernel_tables_have_columns_in_any_order_and_odd_cells),
        TEST(step_tables_may_lack_step_device_and_preparing),
        TEST(a_device_number_is_not_the_rank),
        TEST(memory_blocks_that_stay_or_lie_inside_others),
        TEST(older_links_are_between_global_ranks),
        TEST(topology_is_put_together_from_what_ranks_list),
        TEST(stages_are_balanced_by_their_ranks_means),
        TEST(gaps_compare_computing_within_a_stage_only),
        TEST(a_cluster_table_is_made_of_the_ranks_tables),
        TEST(a_cluster_table_alone_makes_ranks_and_stages),
        TEST(dixon_votes_come_out_as_by_hand),
        TEST(dixon_of_25_leaves_two_at_the_top_aside),
        TEST(over_a_hundred_ranks_three_deviations_decide),
        TEST(groups_whose_ranks_list_differently_many_are_dropped),
        TEST(communication_tables_are_compared_where_there_are_no_traces),
        TEST(calls_of_the_host_are_counted_and_the_cause_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
