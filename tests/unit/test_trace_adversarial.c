/* Traces whose most obvious cause is not the cause: a table of small generated runs, each with the findings that must
 * appear and those that must not, through ek_trace_run_read. A row writes its files with the helpers below; times are
 * milliseconds from the begin of the trace, and what must be said is worked out by hand from them.
 *
 * A new case is a function that writes the traces and a row of the table `cases`. */
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 18, MAX_SAID = 4 };

/* ---- files ---- */

static char folder[256]; /* of the case at hand */
static char text[ROOM];  /* the file being written */
static size_t length;
static char tables[ROOM / 4]; /* communication.json, beside it */
static size_t tables_length;
static ek_trace_run run;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

/* Folders above it are made. */
static void write_bytes(const char *bytes, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void write_bytes(const char *bytes, size_t size, const char *format, ...)
{
    char path[512];
    va_list arguments;
    int n = snprintf(path, sizeof path, "%s/", folder);
    va_start(arguments, format);
    vsnprintf(path + n, sizeof path - (size_t)n, format, arguments);
    va_end(arguments);
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

/* ---- traces of Ascend ---- */

static void begin_ascend(void)
{
    length = 0;
    tables_length = 0;
    add("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"Ascend Hardware\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"args\":{\"name\":\"HCCL\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":1,\"args\":{\"name\":\"Group 0 Communication\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":2,\"args\":{\"name\":\"Plane 0\"}}");
}

static void add_operator(double start, double ms)
{
    add(",{\"ph\":\"X\",\"name\":\"MatMul%d\",\"pid\":3,\"tid\":2,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{\"Task "
        "Type\":\"AI_CORE\"}}",
        (int)length, 1e3 * start, 1e3 * ms);
}

/* A whole collective. `transit` of it goes into communication.json, unless negative. */
static void add_hcom(const char *operation, int index, double start, double ms, double transit)
{
    add(",{\"ph\":\"X\",\"name\":\"hcom_%s__586_%d_1\",\"pid\":4,\"tid\":1,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{}}",
        operation, index, 1e3 * start, 1e3 * ms);
    if (transit < 0)
        return;
    tables_length += (size_t)snprintf(
        tables + tables_length, sizeof tables - tables_length,
        "%s\"hcom_%s__586_%d_1@17522688603477080586\":{\"Communication Time Info\":{\"Start Timestamp(us)\":%.1f,"
        "\"Elapse Time(ms)\":%.6f,\"Transit Time(ms)\":%.6f,\"Wait Time(ms)\":%.6f},\"Communication Bandwidth "
        "Info\":{}}",
        tables_length > 0 ? "," : "", operation, index, 1e3 * start, ms, transit, ms - transit);
    assert_true(tables_length < sizeof tables);
}

static void end_ascend(int rank)
{
    static const char before[] = "{\"step\":{\"p2p\":{},\"collective\":{", after[] = "}}}";
    add("]");
    write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", rank);
    write_bytes("{}", 2, "rank%d_ascend_pt/profiler_info_%d.json", rank, rank);
    if (tables_length == 0)
        return;
    length = 0;
    add("%s%s%s", before, tables, after);
    write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json", rank);
}

/* ---- the cases ---- */

/* 30 ms of computing, then an all-reduce that waits and at last transfers. */
static void write_reduction(int rank, double computing, double end, double transit)
{
    begin_ascend();
    add_operator(0, computing);
    add_hcom("allReduce", 0, computing, end - computing, transit);
    end_ascend(rank);
}

static void waiting_told_by_table(void)
{
    write_reduction(0, 30, 129.97, 4.04);
}

static void waiting_told_by_ranks(void)
{
    for (int rank = 0; rank < 4; rank++)
        write_reduction(rank, rank == 3 ? 125.93 : 30, 129.97, -1);
}

static void all_that_are_here_wait(void)
{
    for (int rank = 0; rank < 2; rank++)
        write_reduction(rank, 30 + rank, 129.97, 4.04);
}

static void nothing_tells_waiting(void)
{
    write_reduction(0, 30, 129.97, -1);
}

static void only_transfer(void)
{
    for (int rank = 0; rank < 4; rank++)
        write_reduction(rank, 30, 129.97, -1);
}

/* A kind of collective that waits, and another that transfers less, but all of its time. */
static void waiting_and_transfer(void)
{
    begin_ascend();
    add_operator(0, 30);
    add_hcom("allReduce", 0, 30, 60, 1);
    add_operator(90, 10);
    add_hcom("allGather", 0, 100, 20, 19);
    end_ascend(0);
}

/* ---- the table ---- */

/* "id: part of its text"; what stands before the colon may be "note". */
typedef struct adversary {
    const char *name;
    void (*write)(void);
    const char *must[MAX_SAID], *must_not[MAX_SAID];
    double most_gain_ms; /* of any finding on communication; NAN: any */
} adversary;

static const adversary cases[] = {
    {"an all-reduce that waits, as communication.json tells",
     waiting_told_by_table,
     {"exposed-communication: waits for other ranks 95.93 ms, transfer 4.04 ms",
      "exposed-communication: rank that comes last is not among the traces"},
     {"slow-rank:"},
     4.04},
    {"an all-reduce that waits, as four ranks tell",
     waiting_told_by_ranks,
     {"exposed-communication: waits for other ranks", "exposed-communication: transfer at most 4.04 ms",
      "exposed-communication: Rank 3 comes last: 95.93 ms"},
     {"exposed-communication: not among the traces"},
     4.04},
    {"an all-reduce in which all that are here wait",
     all_that_are_here_wait,
     {"exposed-communication: waits for other ranks 95.93 ms, transfer 4.04 ms",
      "exposed-communication: rank that comes last is not among the traces"},
     {"exposed-communication: Rank 1 comes last"},
     4.04},
    {"an all-reduce of which nothing tells",
     nothing_tells_waiting,
     {"exposed-communication: how much of it waits for other ranks is unknown"},
     {"exposed-communication: transfer 99.97"},
     0},
    {"an all-reduce that only transfers",
     only_transfer,
     {"exposed-communication: waits for other ranks at least 0.00 ms, transfer at most 99.97 ms"},
     {"exposed-communication: comes last"},
     99.97},
    {"waiting in one kind, transfer in another",
     waiting_and_transfer,
     {"exposed-communication: hcom_allReduce with nothing computed beside it (1 calls a step, 60.00 ms in all): waits "
      "for other ranks 59.00 ms, transfer 1.00 ms",
      "exposed-communication: hcom_allGather with nothing computed beside it (1 calls a step, 20.00 ms in all): waits "
      "for other ranks 1.00 ms, transfer 19.00 ms"},
     {NULL},
     19},
};

/* ---- judging ---- */

static bool is_said(const char *what)
{
    const char *colon = strchr(what, ':');
    size_t size = colon ? (size_t)(colon - what) : strlen(what);
    const char *part = colon ? colon + 1 + strspn(colon + 1, " ") : "";
    for (int i = 0; i < run.n_findings; i++) {
        const ek_trace_finding *f = &run.finding[i];
        if (strlen(f->id) == size && strncmp(f->id, what, size) == 0 &&
            (strstr(f->text, part) || strstr(f->advice, part)))
            return true;
    }
    for (int r = 0; r < run.n_ranks && size == 4 && strncmp(what, "note", size) == 0; r++)
        for (int i = 0; i < run.rank[r].n_notes; i++)
            if (strstr(run.rank[r].note[i], part))
                return true;
    return false;
}

static void print_all(void)
{
    for (int i = 0; i < run.n_findings; i++)
        print_message("  %s (%.2f ms): %s\n", run.finding[i].id, (double)run.finding[i].gain_ns / 1e6,
                      run.finding[i].text);
    for (int r = 0; r < run.n_ranks; r++)
        for (int i = 0; i < run.rank[r].n_notes; i++)
            print_message("  note of %d: %s\n", r, run.rank[r].note[i]);
}

static int n_wrong(const adversary *a)
{
    static const char *const communication[] = {"exposed-communication", "slow-rank", "pipeline-wait"};
    int wrong = 0;
    for (int i = 0; i < MAX_SAID && a->must[i]; i++)
        if (!is_said(a->must[i])) {
            print_message("%s: not said: %s\n", a->name, a->must[i]);
            wrong++;
        }
    for (int i = 0; i < MAX_SAID && a->must_not[i]; i++)
        if (is_said(a->must_not[i])) {
            print_message("%s: said: %s\n", a->name, a->must_not[i]);
            wrong++;
        }
    for (int i = 0; i < run.n_findings; i++)
        for (size_t k = 0; k < sizeof communication / sizeof *communication; k++)
            if (strcmp(run.finding[i].id, communication[k]) == 0 && run.finding[i].gain_ns != EK_TRACE_UNKNOWN &&
                (double)run.finding[i].gain_ns > 1e6 * a->most_gain_ms + 1000) {
                print_message("%s: %s promises %.2f ms\n", a->name, run.finding[i].id,
                              (double)run.finding[i].gain_ns / 1e6);
                wrong++;
            }
    return wrong;
}

static void read_folder(const adversary *a)
{
    static const ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1};
    const char *const path[] = {folder};
    ek_error err;
    if (ek_trace_run_read(path, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s: %s", a->name, err.message);
}

static void causes_are_causes(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        snprintf(folder, sizeof folder, "/tmp/evenkeel_adversary_XXXXXX");
        assert_non_null(mkdtemp(folder));
        cases[i].write();
        read_folder(&cases[i]);
        int of_case = n_wrong(&cases[i]);
        if (of_case > 0)
            print_all();
        wrong += of_case;
        ek_trace_run_clear(&run);
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(causes_are_causes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
