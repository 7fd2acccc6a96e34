/* Tests traces made from traces. Clocks: ranks on hosts with known clock differences share collectives with ends that
 * scatter by microseconds; the offsets must be recovered. Copies: the written trace is read again and compared, event
 * by event, with the choice made by a plain loop. */
#include "input.h"

#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/trace_edit.h"
#include "trace/trace.h"

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % n);
}

/* ---- a run in a folder ---- */

enum { MAX_RUN_RANKS = 8 };

typedef struct run_files {
    char root[64];
    int n;
    char path[MAX_RUN_RANKS][256];
    const char *argument[MAX_RUN_RANKS];
} run_files;

static FILE *open_rank(run_files *run, const char *folder, int rank)
{
    char path[200];
    if (run->n == 0) {
        strcpy(run->root, "/tmp/evenkeel_editXXXXXX");
        assert_non_null(mkdtemp(run->root));
    }
    snprintf(path, sizeof path, "%s/%s", run->root, folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/ASCEND_PROFILER_OUTPUT", run->root, folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(run->path[run->n], sizeof run->path[0], "%s/../profiler_info_%d.json", path, rank);
    FILE *info = fopen(run->path[run->n], "w");
    assert_non_null(info);
    fputs("{}", info);
    fclose(info);
    snprintf(run->path[run->n], sizeof run->path[0], "%s/trace_view.json", path);
    run->argument[run->n] = run->path[run->n];
    return fopen(run->path[run->n++], "w");
}

static void remove_run(const run_files *run)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", run->root);
    assert_int_equal(system(command), 0);
}

static void put_process(FILE *out, int pid, const char *name)
{
    fprintf(out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"%s\"}},", pid,
            name);
}

static void put_collective(FILE *out, const char *name, int64_t start, int64_t end, bool last)
{
    fprintf(out,
            "{\"name\":\"%s\",\"pid\":78,\"tid\":0,\"ts\":\"%lld.%03d\",\"dur\":%.3f,\"args\":{\"count\":1},\"ph\":"
            "\"X\"}%s",
            name, (long long)(start / 1000), (int)(start % 1000), (double)(end - start) / 1000, last ? "]" : ",");
}

/* ---- clocks ---- */

typedef struct clock_case {
    const char *name;
    const char *host[MAX_RUN_RANKS]; /* of every rank; ends with NULL */
    int64_t offset[MAX_RUN_RANKS];   /* the excess of a rank's clock, nanoseconds */
    bool pipeline;                   /* neighbours share sends only, no collective */
    int n_clocks;
} clock_case;

enum { N_SHARED = 200, NOISE = 4000 };

/* Half of the noise is that of the true end, common to all; a few matches are wrong altogether. */
static void write_rank(run_files *run, const clock_case *c, int rank, int n_ranks)
{
    char folder[128], name[64];
    snprintf(folder, sizeof folder, "%s_%d_20260102030405006_ascend_pt", c->host[rank], 100 + rank);
    FILE *out = open_rank(run, folder, rank);
    fputs("[", out);
    put_process(out, 78, "HCCL");
    for (int i = 0; i < N_SHARED; i++) {
        int64_t end = 1700000000000000000 + 1000000 * (int64_t)i + c->offset[rank];
        for (int to = 0; to < n_ranks; to++) {
            int64_t own = end + (int64_t)random_below(NOISE) - NOISE / 2 + (random_below(50) == 0 ? 70000000 : 0);
            if (c->pipeline && (to == rank + 1 || to == rank - 1)) {
                int low = to < rank ? to : rank;
                bool sends = (i % 2 == 0) == (low == rank);
                snprintf(name, sizeof name, "hcom_%s__70%d_%d_1", sends ? "send" : "receive", low, i);
                put_collective(out, name, own - 5000 * (1 + rank), own, false);
            } else if (!c->pipeline && to == 0) {
                snprintf(name, sizeof name, "hcom_allReduce__586_%d_1", i);
                put_collective(out, name, own - 5000 * (1 + rank), own, false);
            }
        }
    }
    put_collective(out, "hcom_alone__1_0_1", 1700000000000000000, 1700000000000001000, true);
    fclose(out);
}

static const ek_trace_clock *clock_of(const ek_trace_clocks *clocks, int rank)
{
    for (int i = 0; i < clocks->n; i++)
        for (int r = 0; r < clocks->clock[i].n_ranks; r++)
            if (clocks->clock[i].rank[r] == rank)
                return &clocks->clock[i];
    fail_msg("rank %d has no clock", rank);
    return NULL;
}

static void clocks_come_together(void **state)
{
    (void)state;
    static const clock_case cases[] = {
        {"one host has one clock", {"a", "a"}, {0, 0}, false, 1},
        {"two hosts", {"a", "b"}, {0, 123456789}, false, 2},
        {"hosts with an underscore, ranks between", {"n_1", "n_2", "n_1", "n_2"}, {0, -777000, 0, -777000}, false, 2},
        {"a pipeline ties its ends by sends", {"a", "b", "c", "d"}, {0, 1000000000, -2000000, 55555}, true, 4},
    };
    random_state = 88172645463325252u;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const clock_case *c = &cases[i];
        run_files run = {0};
        ek_trace_clocks clocks;
        ek_error err;
        int n = 0;
        while (n < MAX_RUN_RANKS && c->host[n])
            n++;
        for (int rank = 0; rank < n; rank++)
            write_rank(&run, c, rank, n);
        if (ek_trace_clocks_read(run.argument, run.n, NULL, NULL, &clocks, &err) != EK_OK)
            fail_msg("%s: %s", c->name, err.message);
        assert_int_equal(clocks.n, c->n_clocks);
        for (int rank = 0; rank < n; rank++) {
            const ek_trace_clock *clock = clock_of(&clocks, rank);
            /* The median of 200 differences of two uniform noises: a standard error of some 150 ns a comparison. */
            int64_t off = clock->offset + c->offset[rank];
            if (!clock->known || off > 1000 * n || off < -1000 * n)
                fail_msg("%s: rank %d is %lld ns off", c->name, rank, (long long)off);
            assert_true(clock->from < 0 || (clock->deviation > 0 && clock->deviation < NOISE));
            assert_true(clock->from < 0 || llabs(clock->drift) < 1500);
            assert_true(clock->from < 0 || clock->n_matches >= N_SHARED / 2);
        }
        ek_trace_clocks_clear(&clocks);
        remove_run(&run);
    }
}

static void a_host_that_shares_nothing_is_said_to(void **state)
{
    (void)state;
    run_files run = {0};
    ek_trace_clocks clocks;
    for (int rank = 0; rank < 2; rank++) {
        FILE *out = open_rank(&run, rank ? "b_1_20260102030405006_ascend_ms" : "a_1_20260102030405006_ascend_ms", rank);
        fputs("[", out);
        put_process(out, 78, "HCCL");
        put_collective(out, rank ? "hcom_x__1_0_1" : "hcom_y__2_0_1", 1000, 2000, true);
        fclose(out);
    }
    assert_int_equal(ek_trace_clocks_read(run.argument, run.n, NULL, NULL, &clocks, NULL), EK_OK);
    assert_int_equal(clocks.n, 2);
    assert_true(clocks.clock[0].known);
    assert_false(clocks.clock[1].known);
    assert_string_equal(clocks.clock[1].host, "b");
    ek_trace_clocks_clear(&clocks);
    remove_run(&run);
}

/* ---- copies ---- */

enum { N_EVENTS = 300 };

typedef struct one_event {
    int64_t start, duration;
    int layer;
} one_event;

static void write_events(FILE *out, const one_event *event, const char *tail)
{
    fputs("[", out);
    put_process(out, 77, "Ascend Hardware");
    fputs("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":77,\"tid\":0,\"args\":{\"sort_index\": 3}}", out);
    for (int i = 0; i < N_EVENTS; i++)
        fprintf(out,
                ",{\"name\":\"Default/net/%d-Layer/"
                "MatMul-op%d\",\"pid\":\"77\",\"tid\":2,\"ts\":\"%lld.%03d\",\"dur\":%lld.%03d,"
                "\"args\":{\"Task Type\":\"AI_CORE\",\"x\":\"} \\\" {\"},\"ph\":\"X\"}",
                event[i].layer, i, (long long)(event[i].start / 1000), (int)(event[i].start % 1000),
                (long long)(event[i].duration / 1000), (int)(event[i].duration % 1000));
    fputs(",{\"name\":\"HBM\",\"ph\":\"C\",\"pid\":5,\"tid\":0,\"ts\":1,\"args\":{\"v\":1}}", out);
    fputs(",{\"ph\":\"f\",\"name\":\"x\",\"cat\":\"async_npu\",\"id\":9,\"pid\":77,\"tid\":2,\"ts\":\"1700000000000500."
          "000\"}",
          out);
    fputs(tail, out);
    fclose(out);
}

static void random_events(one_event *event)
{
    for (int i = 0; i < N_EVENTS; i++)
        event[i] = (one_event){1700000000000000000 + 1000 * (int64_t)random_below(100000) + i,
                               random_below(5) ? 1000 * (int64_t)random_below(3000) : 0, (int)random_below(4)};
}

/* Write the selection to a file and read it again. */
static ek_status write_and_read(const run_files *run, const ek_trace_selection *s, const ek_trace_clocks *clocks,
                                ek__pool *pool, ek__trace *trace, ek_trace_written *written, ek_error *err)
{
    char path[] = "/tmp/evenkeel_cutXXXXXX";
    const char *name = path;
    ek_trace_source source = {0};
    FILE *out = fdopen(mkstemp(path), "w");
    assert_non_null(out);
    ek_status status = ek_trace_write(run->argument, run->n, s, clocks, NULL, NULL, out, written, err);
    fclose(out);
    if (status == EK_OK) {
        assert_int_equal(ek__trace_read(&name, 1, 1, NULL, pool, &source, trace, err), EK_OK);
        assert_null(source.problem);
    }
    unlink(path);
    return status;
}

static int64_t first_start(const one_event *event)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < N_EVENTS; i++)
        first = event[i].start < first ? event[i].start : first;
    return first;
}

/* The events that a plain loop keeps. */
static size_t count_kept(const one_event *event, const ek_trace_selection *s, int layer)
{
    int64_t first = first_start(event), from = first + s->from, to = first + s->to;
    size_t n = 0;
    for (int i = 0; i < N_EVENTS; i++) {
        const one_event *e = &event[i];
        bool overlaps =
            e->duration > 0 ? e->start < to && e->start + e->duration > from : e->start >= from && e->start < to;
        n += overlaps && (layer < 0 || e->layer == layer);
    }
    return n;
}

static void a_cut_keeps_what_overlaps(void **state)
{
    (void)state;
    one_event event[N_EVENTS];
    run_files run = {0};
    random_state = 31;
    random_events(event);
    write_events(open_rank(&run, "rank_0", 0), event, "]");
    for (int i = 0; i < 60; i++) {
        char layer_name[32];
        const char *layer = layer_name;
        ek_trace_selection s = {.from_given = true, .to_given = true};
        ek_trace_written written;
        ek__pool *pool = ek__pool_new();
        ek__trace trace = {0};
        int wanted = (int)random_below(5) - 1;
        s.from = 1000 * (int64_t)random_below(100000);
        s.to = s.from + 1000 * (int64_t)random_below(50000);
        snprintf(layer_name, sizeof layer_name, "%d-Layer", wanted);
        s.n_layers = wanted >= 0;
        s.layer = &layer;
        assert_int_equal(write_and_read(&run, &s, NULL, pool, &trace, &written, NULL), EK_OK);
        assert_int_equal(trace.of[EK__EVENT_KERNEL].n, count_kept(event, &s, wanted));
        assert_int_equal(trace.rank, 0);
        assert_int_equal(written.n_read, N_EVENTS + 4);
        ek__trace_clear(&trace);
        ek__pool_free(pool);
    }
    remove_run(&run);
}

static void merging_keeps_every_event_apart_and_on_one_clock(void **state)
{
    (void)state;
    one_event event[2][N_EVENTS];
    run_files run = {0};
    int ranks[] = {0, 1};
    ek_trace_clock clock[] = {{.n_ranks = 1, .rank = &ranks[0], .known = true},
                              {.n_ranks = 1, .rank = &ranks[1], .known = true, .offset = -1234567}};
    const ek_trace_clocks clocks = {.n = 2, .clock = clock};
    const ek_trace_selection all = {0};
    ek_trace_written written;
    ek__pool *pool = ek__pool_new();
    ek__trace trace = {0};
    random_state = 32;
    for (int r = 0; r < 2; r++) {
        random_events(event[r]);
        write_events(open_rank(&run, r ? "rank_1" : "rank_0", r), event[r], "]");
    }
    assert_int_equal(write_and_read(&run, &all, &clocks, pool, &trace, &written, NULL), EK_OK);
    assert_int_equal(written.n_ranks, 2);
    assert_int_equal(trace.counts.n_items, 2 * (N_EVENTS + 4) + 2); /* two processes without a name get one */
    const ek__slice flows = trace.of[EK__EVENT_FLOW];
    assert_int_equal(flows.n, 2);
    assert_true(flows.event && flows.event[0].duration != flows.event[1].duration);
    int64_t sum[2] = {0, 0}, expected[2] = {0, 0}, n[2] = {0, 0};
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < N_EVENTS; i++)
            expected[r] += event[r][i].start - 1690000000000000000 + clock[r].offset;
    /* Only the end of its name gives the layer of a merged process, so its tasks are kernels by their type. */
    ek__slice kernels = trace.of[EK__EVENT_KERNEL];
    for (size_t i = 0; i < kernels.n; i++) {
        const char *process = trace.track[kernels.event[i].track].process;
        int r = strncmp(process, "rank 1: ", 8) == 0;
        assert_string_equal(process, r ? "rank 1: Ascend Hardware" : "rank 0: Ascend Hardware");
        sum[r] += kernels.event[i].start - 1690000000000000000;
        n[r]++;
    }
    for (int r = 0; r < 2; r++) {
        assert_int_equal(n[r], N_EVENTS);
        assert_int_equal(sum[r], expected[r]);
    }
    ek__trace_clear(&trace);
    ek__pool_free(pool);
    remove_run(&run);
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    one_event event[N_EVENTS];
    run_files run = {0};
    int nine = 9;
    const char *layer = "Nothing";
    const ek_trace_selection no_rank = {.n_ranks = 1, .rank = &nine}, no_layer = {.n_layers = 1, .layer = &layer},
                             no_step = {.step = "77"};
    ek__trace trace = {0};
    ek_error err;
    random_state = 33;
    random_events(event);
    write_events(open_rank(&run, "rank_0", 0), event, "");
    assert_int_equal(write_and_read(&run, &no_rank, NULL, NULL, &trace, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "contain no trace of a requested rank"));
    assert_int_equal(write_and_read(&run, &no_layer, NULL, NULL, &trace, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "no event belongs to the layer 'Nothing'"));
    assert_int_equal(write_and_read(&run, &no_step, NULL, NULL, &trace, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "there is no step '77'"));
    remove_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_come_together),
        cmocka_unit_test(a_host_that_shares_nothing_is_said_to),
        cmocka_unit_test(a_cut_keeps_what_overlaps),
        cmocka_unit_test(merging_keeps_every_event_apart_and_on_one_clock),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
