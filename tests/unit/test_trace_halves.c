/* Tests events that are written as two, a beginning and an end ("ph" B and E). Oracle: the complete events of made and
 * reference traces are rewritten as halves and must give the same figures, all of them. */
#include "made_traces.h"
#include "tree.h"

#include <ftw.h>
#include <inttypes.h>

#include <jansson.h>

#include "base/random.h"
#include "evenkeel/trace_report.h"
#include "report/writers.h"
#include "trace/scan/part.h"

/* ---- small cases ---- */

static ek_trace_run run;

static const ek_trace_rank *read_trace(const char *path, int n_threads)
{
    const ek_trace_options options = {.n_threads = n_threads, .drop_first_steps = -1};
    const char *const paths[] = {path};
    ek_error err = {0};
    ek_status status = ek_trace_run_read(paths, 1, &options, NULL, &run, &err);
    if (status)
        print_error("%s: %s\n", path, err.message);
    assert_int_equal(status, EK_OK);
    return &run.rank[0];
}

static bool has_note(const ek_trace_rank *rank, const char *text)
{
    for (int i = 0; i < rank->n_notes; i++)
        if (strstr(rank->note[i], text))
            return true;
    return false;
}

#define HEAD "{\"schemaVersion\": 1, \"traceEvents\": ["
#define X(name, cat, tid, ts, dur)                                                                                     \
    "{\"ph\": \"X\", \"name\": \"" name "\", \"cat\": \"" cat "\", \"pid\": 0, \"tid\": " tid ", \"ts\": " ts          \
    ", \"dur\": " dur ", \"args\": {}}"
#define B(name, cat, tid, ts)                                                                                          \
    "{\"ph\": \"B\", \"name\": \"" name "\", \"cat\": \"" cat "\", \"pid\": 0, \"tid\": " tid ", \"ts\": " ts          \
    ", \"args\": {}}"
#define E(tid, ts) "{\"ph\": \"E\", \"pid\": 0, \"tid\": " tid ", \"ts\": " ts "}"

static void halves_count_like_complete_events(void **state)
{
    (void)state;
    put("x.json", HEAD X("ProfilerStep#3", "user_annotation", "1", "0", "100") ", " X(
                      "k", "kernel", "7", "10", "20") ", " X("ncclKernel_AllReduce", "kernel", "8", "20", "30") "]}");
    /* Ends out of order in the file, and one thread's beside another's. */
    put("b.json",
        HEAD E("7", "30") ", " B("ProfilerStep#3", "user_annotation", "1", "0") ", " B("k", "kernel", "7", "10") ", " B(
            "ncclKernel_AllReduce", "kernel", "8", "20") ", " E("1", "100") ", " E("8", "50") "]}");
    for (int halves = 0; halves < 2; halves++) {
        const ek_trace_rank *rank = read_trace(below(halves ? "b.json" : "x.json"), 1);
        assert_int_equal(rank->n_steps, 1);
        assert_string_equal(rank->step[0].name, "3");
        assert_int_equal(rank->step[0].host_step, 100000);
        assert_int_equal(rank->step[0].own.computing, 20000);
        assert_int_equal(rank->step[0].own.communication, 30000);
        assert_int_equal(rank->step[0].own.overlapped, 10000);
        assert_int_equal(rank->counts.n_odd, 0);
        assert_int_equal(rank->counts.by_phase[halves ? 'B' : 'X'], 3);
        for (int i = 0; i < rank->counts.n_processes; i++)
            assert_true(rank->counts.process[i].n_complete == 3 && rank->counts.process[i].total_ns == 150000);
        for (int i = 0; i < rank->counts.n_categories; i++)
            assert_int_equal(rank->counts.category[i].n_complete, rank->counts.category[i].name[0] == 'k' ? 2 : 1);
        ek_trace_run_clear(&run);
    }
}

static void an_end_closes_the_last_beginning_of_its_thread(void **state)
{
    (void)state;
    put("b.json", HEAD B("outer", "kernel", "7", "10") ", " B("inner", "kernel", "7",
                                                              "20") ", " E("7", "25") ", " E("7", "60") "]}");
    const ek_trace_rank *rank = read_trace(below("b.json"), 1);
    assert_int_equal(rank->operators.n, 2);
    assert_string_equal(rank->operators.op[0].name, "outer");
    assert_int_equal(rank->operators.op[0].total, 50000);
    assert_string_equal(rank->operators.op[1].name, "inner");
    assert_int_equal(rank->operators.op[1].total, 5000);
    ek_trace_run_clear(&run);
}

static void halves_without_the_other_are_counted_and_left_out(void **state)
{
    (void)state;
    put("b.json", HEAD E("7", "5") ", " B("lost", "kernel", "7", "6") ", " B("k", "kernel", "7", "10") ", " E(
                      "7", "30") ", " E("9", "1") ", " B("host", "cpu_op", "1", "3") "]}");
    const ek_trace_rank *rank = read_trace(below("b.json"), 1);
    assert_int_equal(rank->counts.n_unmatched, 4);
    assert_int_equal(rank->counts.n_odd, 4);
    assert_int_equal(rank->operators.n, 1);
    assert_string_equal(rank->operators.op[0].name, "k");
    assert_int_equal(rank->device.computing, 20000);
    assert_true(has_note(rank, "4 begin or end events (\"ph\" B, E) without a counterpart are left out"));
    assert_false(has_note(rank, "without a usable name"));
    ek_trace_run_clear(&run);
    /* Async events, b, n and e, are another kind: they are not treated as halves. */
    put("b.json", HEAD X("k", "kernel", "7", "10",
                         "5") ", {\"ph\": \"b\", \"name\": \"a\", \"cat\": \"c\", \"id\": 1, \"pid\": 0, \"tid\": 7, "
                              "\"ts\": 1}]}");
    rank = read_trace(below("b.json"), 1);
    assert_int_equal(rank->counts.n_unmatched, 0);
    ek_trace_run_clear(&run);
}

/* Halves in different blocks of the file, which several threads read. */
static void halves_find_each_other_across_blocks(void **state)
{
    (void)state;
    enum { N = 40000 };
    put("b.json", "");
    FILE *out = fopen(below("b.json"), "wb");
    assert_non_null(out);
    fprintf(out, HEAD B("whole", "kernel", "7", "0"));
    for (int i = 0; i < N; i++)
        fprintf(
            out,
            ", {\"ph\": \"X\", \"name\": \"op\", \"cat\": \"cpu_op\", \"pid\": 0, \"tid\": 1, \"ts\": %d, \"dur\": 1}",
            i);
    fprintf(out, ", " E("7", "50000") "]}");
    fclose(out);
    for (int threads = 1; threads < 4; threads++) {
        const ek_trace_rank *rank = read_trace(below("b.json"), threads);
        assert_int_equal(rank->device.computing, 50000000);
        assert_int_equal(rank->counts.n_odd, 0);
        ek_trace_run_clear(&run);
    }
}

/* ---- whole traces ---- */

/* Begins and ends of a thread's events: an event that meets another's boundary exactly, or crosses it, stays
 * complete. */
typedef struct span {
    char *pid, *tid;
    int64_t begin, end;
    json_t *event;
    bool stays;
} span;

static char *id_text(const json_t *value)
{
    return json_dumps(value, JSON_ENCODE_ANY);
}

static int by_thread(const void *a, const void *b)
{
    const span *x = a, *y = b;
    int order = strcmp(x->pid, y->pid);
    order = order ? order : strcmp(x->tid, y->tid);
    if (order)
        return order;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : 0;
}

static bool time_of(const json_t *value, int64_t *ns)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);
    bool fine = text && ek__parse_us(text, strlen(text), ns);
    free(text);
    return fine;
}

static size_t collect(json_t *events, span *at)
{
    size_t n = 0, i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        const char *ph = json_string_value(json_object_get(e, "ph"));
        span s = {.event = e};
        int64_t duration;
        if (!ph || strcmp(ph, "X") != 0 || !json_is_string(json_object_get(e, "name")) || !json_object_get(e, "dur") ||
            !time_of(json_object_get(e, "ts"), &s.begin) || !time_of(json_object_get(e, "dur"), &duration) ||
            duration <= 0)
            continue;
        s.end = s.begin + duration;
        s.pid = id_text(json_object_get(e, "pid"));
        s.tid = id_text(json_object_get(e, "tid"));
        at[n++] = s;
    }
    return n;
}

/* Events that others of the thread cross or touch stay as they are: halves cannot express them. */
static void choose(span *at, size_t n)
{
    qsort(at, n, sizeof *at, by_thread);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k-- > 0 && i - k < 200;) {
            if (strcmp(at[k].pid, at[i].pid) != 0 || strcmp(at[k].tid, at[i].tid) != 0)
                break;
            bool apart = at[k].end < at[i].begin, nested = at[k].begin < at[i].begin && at[i].end < at[k].end;
            if (!apart && !nested)
                at[k].stays = at[i].stays = true;
        }
}

static void print_time(char *out, size_t size, int64_t ns)
{
    snprintf(out, size, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000,
             (int)((ns < 0 ? -ns : ns) % 1000));
}

/* @return how many events became halves */
static size_t split(json_t *events, span *at, size_t n)
{
    size_t n_split = 0;
    for (size_t i = 0; i < n; i++) {
        char time[40];
        if (at[i].stays)
            continue;
        n_split++;
        print_time(time, sizeof time, at[i].end);
        json_t *end = json_pack("{s:s, s:O, s:O, s:s}", "ph", "E", "pid", json_object_get(at[i].event, "pid"), "tid",
                                json_object_get(at[i].event, "tid"), "ts", time);
        json_array_append_new(events, end);
        json_object_set_new(at[i].event, "ph", json_string("B"));
        json_object_del(at[i].event, "dur");
    }
    return n_split;
}

/* All figures of a trace, without those that depend on the form of its events. */
static char *figures_of(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    read_trace(path, 1);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_error err;
    assert_int_equal(ek__trace_write_json(&run, NULL, out, &err), EK_OK);
    fclose(out);
    ek_trace_run_clear(&run);
    json_t *root = json_loadb(text, size, 0, NULL), *rank;
    free(text);
    assert_non_null(root);
    size_t i;
    json_array_foreach(json_object_get(root, "ranks"), i, rank)
    {
        json_object_del(rank, "sources");
        json_t *counts = json_object_get(rank, "event_counts");
        json_object_del(counts, "items");
        json_object_del(counts, "events");
        json_object_del(counts, "by_ph");
    }
    text = json_dumps(root, JSON_SORT_KEYS);
    json_decref(root);
    return text;
}

static size_t n_files, n_halved;

static void compare_halved(const char *path)
{
    size_t size;
    char *text = slurp(path, &size);
    json_t *root = text && text[0] != 0x1f ? json_loadb(text, size, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
    free(text);
    size_t n_events = json_array_size(events);
    if (n_events == 0 || !json_object_get(json_array_get(events, 0), "ph")) {
        json_decref(root);
        return;
    }
    span *at = calloc(n_events, sizeof *at);
    assert_non_null(at);
    size_t n = collect(events, at);
    choose(at, n);
    /* As the tool writes numbers, so that both files are written alike. */
    assert_int_equal(json_dump_file(root, below("trace_view.json"), 0), 0);
    char *whole = figures_of(below("trace_view.json"));
    n_halved += split(events, at, n);
    assert_int_equal(json_dump_file(root, below("trace_view.json"), 0), 0);
    char *halved = figures_of(below("trace_view.json"));
    if (strcmp(whole, halved) != 0) {
        size_t differs = 0;
        while (whole[differs] == halved[differs])
            differs++;
        size_t from = differs < 200 ? 0 : differs - 200;
        fail_msg("%s:\n%.300s\nas halves:\n%.300s", path, whole + from, halved + from);
    }
    n_files++;
    free(whole);
    free(halved);
    for (size_t i = 0; i < n; i++) {
        free(at[i].pid);
        free(at[i].tid);
    }
    free(at);
    json_decref(root);
}

static int visit(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)walk;
    size_t n = strlen(path);
    if (type == FTW_F && about->st_size < 4 << 20 && n > 5 && strcmp(path + n - 5, ".json") == 0)
        compare_halved(path);
    return 0;
}

static void traces_say_the_same_as_halves(void **state)
{
    (void)state;
    const char *folder[MAX_TRACE_REFERENCES];
    int n_references = trace_references(folder);
    for (int r = 0; r < n_references; r++) {
        n_files = n_halved = 0;
        assert_int_equal(nftw(folder[r], visit, 16, FTW_PHYS), 0);
        print_message("# %zu events of %zu traces as halves\n", n_halved, n_files);
        assert_true(n_files > 0 && n_halved > 1000);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(halves_count_like_complete_events),
        TEST(an_end_closes_the_last_beginning_of_its_thread),
        TEST(halves_without_the_other_are_counted_and_left_out),
        TEST(halves_find_each_other_across_blocks),
        TEST(traces_say_the_same_as_halves),
        cmocka_unit_test(traces_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
