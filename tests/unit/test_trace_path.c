/* Tests the critical path. Oracle: small programs of several ranks, hosts, streams and collectives run in a simulation
 * that knows all dependencies; their traces, each with a separate clock, must give the longest of all paths through
 * that program, which are enumerated. */
#include "tree.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/random.h"
#include "effort.h"
#include "evenkeel/trace.h"

enum { MAX_RANKS = 3, MAX_OPS = 16, N_STREAMS = 3, COMMUNICATION = 2 };

typedef enum op_kind { LAUNCH, COLLECTIVE, SYNC, WORK, DATA } op_kind;

/* The next action of a host. Microseconds. */
typedef struct op {
    op_kind kind;
    int stream, duration; /* of the kernel, the transfer or the host */
    int depends;          /* op of this rank with the kernel that must have ended; -1 */
    int number;           /* of a collective */
    bool done;
    int called, returned; /* the host's times */
    int start, end;       /* the device's */
} op;

typedef struct program {
    int n_ranks, n_collectives;
    int n[MAX_RANKS];
    op at[MAX_RANKS][MAX_OPS];
    int64_t clock[MAX_RANKS]; /* a rank's clock at 0 */
    int transfer[MAX_OPS];    /* by number of the collective */
} program;

/* ---- making one ---- */

static bool on_device(const op *o)
{
    return o->kind == LAUNCH || o->kind == COLLECTIVE;
}

static void add(program *p, int rank, op o)
{
    assert_true(p->n[rank] < MAX_OPS);
    p->at[rank][p->n[rank]++] = o;
}

static int any_kernel(const program *p, int rank, ek__random *r)
{
    int i = ek__random_below(r, p->n[rank]);
    return on_device(&p->at[rank][i]) ? i : -1;
}

static void add_some(program *p, int rank, int n, ek__random *r)
{
    for (int i = 0; i < n; i++) {
        int what = ek__random_below(r, 10);
        if (what < 6)
            add(p, rank,
                (op){LAUNCH, ek__random_below(r, 2), 1 + ek__random_below(r, 900), any_kernel(p, rank, r), -1, false, 0,
                     0, 0, 0});
        else if (what < 8)
            add(p, rank, (op){WORK, 0, 1 + ek__random_below(r, 300), -1, -1, false, 0, 0, 0, 0});
        else
            add(p, rank, (op){what == 8 ? DATA : SYNC, 0, 1 + ek__random_below(r, 500), -1, -1, false, 0, 0, 0, 0});
    }
}

/* Every rank begins with a kernel at 0, so that its step begins there. */
static void make(program *p, ek__random *r)
{
    *p = (program){.n_ranks = 1 + ek__random_below(r, MAX_RANKS)};
    p->n_collectives = p->n_ranks > 1 ? 1 + ek__random_below(r, 3) : 0;
    for (int k = 0; k < p->n_collectives; k++)
        p->transfer[k] = 1 + ek__random_below(r, 400);
    for (int i = 0; i < p->n_ranks; i++) {
        p->clock[i] = 1000000 + ek__random_below(r, 1000000);
        add(p, i, (op){LAUNCH, 0, 1 + ek__random_below(r, 300), -1, -1, false, 0, 0, 0, 0});
        for (int k = 0; k < p->n_collectives; k++) {
            add_some(p, i, 1 + ek__random_below(r, 3), r);
            add(p, i, (op){COLLECTIVE, COMMUNICATION, p->transfer[k], any_kernel(p, i, r), k, false, 0, 0, 0, 0});
        }
        add_some(p, i, 1 + ek__random_below(r, 3), r);
    }
}

/* ---- running it ---- */

static const op *before_on_stream(const program *p, int rank, int i)
{
    const op *o = &p->at[rank][i];
    while (i-- > 0)
        if (on_device(&p->at[rank][i]) && p->at[rank][i].stream == o->stream)
            return &p->at[rank][i];
    return NULL;
}

static int later(int a, int b)
{
    return a > b ? a : b;
}

/* A kernel's earliest start by its dependencies; -1: some of them have not run. */
static int start_of(const program *p, int rank, int i)
{
    const op *o = &p->at[rank][i], *stream = before_on_stream(p, rank, i);
    const op *other = o->depends >= 0 ? &p->at[rank][o->depends] : NULL;
    if ((stream && stream->end < 0) || (other && other->end < 0))
        return -1;
    int start = later(o->called, stream ? stream->end : 0);
    return later(start, other ? other->end : 0);
}

/* @return false when it waits for other ranks first */
static bool run_op(program *p, int rank, int i)
{
    op *o = &p->at[rank][i];
    o->called = i > 0 ? p->at[rank][i - 1].returned : 0;
    o->returned = o->called + (on_device(o) ? 1 : o->kind == SYNC ? 0 : o->duration);
    o->start = o->end = -1;
    if (on_device(o)) {
        o->start = start_of(p, rank, i);
        if (o->start < 0)
            return false;
        o->end = o->kind == LAUNCH ? o->start + o->duration : -1;
    }
    for (int k = 0; k < i && o->kind == SYNC; k++) {
        if (on_device(&p->at[rank][k]) && p->at[rank][k].end < 0)
            return false;
        o->returned = later(o->returned, p->at[rank][k].end);
    }
    if (o->kind == SYNC && o->returned > o->called)
        o->duration = 0; /* it returns with the last kernel; else its own time is all it takes */
    o->returned += o->kind == SYNC ? o->duration : 0;
    return true;
}

static void finish_collective(program *p, int number)
{
    op *side[MAX_RANKS];
    int n = 0, last = 0;
    for (int r = 0; r < p->n_ranks; r++)
        for (int i = 0; i < p->n[r]; i++)
            if (p->at[r][i].kind == COLLECTIVE && p->at[r][i].number == number && p->at[r][i].done) {
                side[n++] = &p->at[r][i];
                last = later(last, p->at[r][i].start);
            }
    for (int k = 0; k < n && n == p->n_ranks; k++)
        side[k]->end = last + p->transfer[number];
}

static void simulate(program *p)
{
    int next[MAX_RANKS] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        for (int r = 0; r < p->n_ranks; r++)
            while (next[r] < p->n[r] && run_op(p, r, next[r])) {
                op *o = &p->at[r][next[r]++];
                o->done = moved = true;
                if (o->kind == COLLECTIVE)
                    finish_collective(p, o->number);
            }
    }
    for (int r = 0; r < p->n_ranks; r++)
        assert_int_equal(next[r], p->n[r]);
}

static int host_end(const program *p, int rank)
{
    return p->at[rank][p->n[rank] - 1].returned;
}

static int end_of(const program *p, int rank)
{
    int end = host_end(p, rank);
    for (int i = 0; i < p->n[rank]; i++)
        end = on_device(&p->at[rank][i]) ? later(end, p->at[rank][i].end) : end;
    return end;
}

/* ---- all paths ---- */

/* The parts of a path, from its end on. */
typedef struct sums {
    int64_t length, kernels, transfers, host, data;
} sums;

typedef struct best {
    sums of;
    int n;       /* paths of that length */
    bool differ; /* ... that are made of other parts */
} best;

static void offer(best *b, sums s)
{
    s.length = s.kernels + s.transfers + s.host + s.data;
    if (b->n == 0 || s.length > b->of.length)
        *b = (best){s, 1, false};
    else if (s.length == b->of.length) {
        b->n++;
        b->differ |= memcmp(&b->of, &s, sizeof s) != 0;
    }
}

static void paths_of_host(const program *p, int rank, int i, sums s, best *b);

/* All paths to a kernel's end. */
static void paths_of_kernel(const program *p, int rank, int i, sums s, best *b)
{
    const op *o = &p->at[rank][i];
    if (o->kind == LAUNCH)
        s.kernels += o->duration;
    else
        s.transfers += o->duration;
    for (int r = 0; r < p->n_ranks; r++)
        for (int k = 0; k < p->n[r]; k++) {
            const op *side = &p->at[r][k];
            if (o->kind == LAUNCH ? side != o : side->kind != COLLECTIVE || side->number != o->number)
                continue;
            const op *stream = before_on_stream(p, r, k);
            paths_of_host(p, r, k, s, b);
            if (stream)
                paths_of_kernel(p, r, (int)(stream - p->at[r]), s, b);
            if (side->depends >= 0)
                paths_of_kernel(p, r, side->depends, s, b);
        }
}

/* All paths to the moment when the host begins op i. */
static void paths_of_host(const program *p, int rank, int i, sums s, best *b)
{
    if (i == 0) {
        offer(b, s);
        return;
    }
    const op *o = &p->at[rank][i - 1];
    if (o->kind == DATA)
        s.data += o->duration;
    else
        s.host += on_device(o) ? 1 : o->duration;
    for (int k = 0; k < i - 1 && o->kind == SYNC && o->duration == 0; k++)
        if (on_device(&p->at[rank][k]))
            paths_of_kernel(p, rank, k, s, b);
    paths_of_host(p, rank, i - 1, s, b);
}

static best longest(const program *p, int rank)
{
    best b = {.n = 0};
    paths_of_host(p, rank, p->n[rank], (sums){0}, &b);
    for (int i = 0; i < p->n[rank]; i++)
        if (on_device(&p->at[rank][i]))
            paths_of_kernel(p, rank, i, (sums){0}, &b);
    return b;
}

/* ---- as traces ---- */

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

static void write_op(const program *p, int rank, int i)
{
    const op *o = &p->at[rank][i];
    int64_t zero = p->clock[rank];
    if (on_device(o)) {
        event("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%" PRId64
              ",\"dur\":1,\"args\":{\"correlation\":%d}}",
              zero + o->called, i + 1);
        char more[256] = "";
        if (o->kind == COLLECTIVE)
            snprintf(more, sizeof more,
                     ",\"Collective name\":\"_allgather_base\",\"dtype\":\"Float\",\"In msg nelems\":64,"
                     "\"Out msg nelems\":64,\"Group size\":%d",
                     p->n_ranks);
        event("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%" PRId64 ",\"dur\":%d,"
              "\"args\":{\"correlation\":%d,\"stream\":%d%s}}",
              o->kind == LAUNCH ? "gemm" : "ncclDevKernel_AllGather", o->stream, zero + o->start, o->end - o->start,
              i + 1, o->stream, more);
        return;
    }
    if (o->returned == o->called)
        return;
    const char *const name[] = {[SYNC] = "cudaDeviceSynchronize",
                                [WORK] = "thinking",
                                [DATA] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"};
    event("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%" PRId64 ",\"dur\":%d,\"args\":{"
          "\"correlation\":%d}}",
          o->kind == SYNC ? "cuda_runtime" : "user_annotation", name[o->kind], zero + o->called,
          o->returned - o->called, i + 1);
}

static void write_rank(const program *p, int rank)
{
    char name[64];
    snprintf(name, sizeof name, "rank_%d.json", rank);
    put(name, "");
    file = fopen(below(name), "wb");
    assert_non_null(file);
    fprintf(file, "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"traceEvents\":[\n", rank,
            p->n_ranks);
    event("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\",\"pid\":1,\"tid\":1,\"ts\":%" PRId64
          ",\"dur\":%d}",
          p->clock[rank], host_end(p, rank));
    for (int i = 0; i < p->n[rank]; i++)
        write_op(p, rank, i);
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"gpu\"}}]}\n", file);
    fclose(file);
}

static ek_trace_run run;

static void read_ranks(const program *p)
{
    const ek_trace_options options = {.n_threads = 1, .drop_first_steps = -1, .measure = true};
    const char *const paths[] = {top};
    ek_error err = {0};
    for (int r = 0; r < p->n_ranks; r++)
        write_rank(p, r);
    if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s", err.message);
    assert_int_equal(run.n_ranks, p->n_ranks);
}

/* One stretch begins where the one before it ends, on the clock of either rank. */
static void check_stretches(const program *p, int rank)
{
    int64_t time = 0;
    for (int i = 0; i < run.path.n_segments; i++) {
        const ek_trace_segment *s = &run.path.segment[i];
        assert_int_equal(s->start, 1000 * (p->clock[s->at] + time));
        time += (s->end - s->start) / 1000;
    }
    assert_int_equal(time, end_of(p, rank));
}

/* Waits of ranks in collectives for the last rank, where there is one. */
static void check_waits(const program *p)
{
    double expected[MAX_RANKS][MAX_RANKS] = {{0}}, got[MAX_RANKS][MAX_RANKS] = {{0}};
    for (int k = 0; k < p->n_collectives; k++) {
        int start[MAX_RANKS], last = 0, n_last = 0;
        for (int r = 0; r < p->n_ranks; r++) {
            for (int i = 0; i < p->n[r]; i++)
                if (p->at[r][i].kind == COLLECTIVE && p->at[r][i].number == k)
                    start[r] = p->at[r][i].start;
            last = start[r] > start[last] ? r : last;
        }
        for (int r = 0; r < p->n_ranks; r++)
            n_last += start[r] == start[last];
        if (n_last > 1)
            return; /* it is unknown for which of them */
        for (int r = 0; r < p->n_ranks; r++)
            expected[r][last] += 1000.0 * (start[last] - start[r]);
    }
    for (int i = 0; i < run.n_waits; i++)
        got[run.wait[i].at][run.wait[i].last] += run.wait[i].ns;
    for (int r = 0; r < p->n_ranks; r++)
        for (int k = 0; k < p->n_ranks; k++)
            assert_true(got[r][k] == expected[r][k]);
}

static int n_unique, n_across;

static void check_program(const program *p, int number)
{
    read_ranks(p);
    int rank = ek_trace_run_step(&run).rank;
    best b = longest(p, rank);
    const ek_trace_path *path = &run.path;
    assert_int_equal(b.of.length, end_of(p, rank));
    if (path->n_steps != 1 || path->length != 1000.0 * (double)b.of.length)
        fail_msg("program %d: %.0f ns, expected %" PRId64, number, path->length, 1000 * b.of.length);
    assert_int_equal((int64_t)path->length, ek_trace_run_step(&run).ns);
    check_stretches(p, rank);
    check_waits(p);
    if (!b.differ) {
        const sums got = {.length = b.of.length,
                          .kernels = (int64_t)path->activity[EK_TRACE_OTHER_COMPUTING] / 1000,
                          .transfers = (int64_t)path->activity[EK_TRACE_COLLECTIVES] / 1000,
                          .host = (int64_t)path->activity[EK_TRACE_HOST] / 1000,
                          .data = (int64_t)path->activity[EK_TRACE_DATA] / 1000};
        if (memcmp(&got, &b.of, sizeof got) != 0)
            fail_msg("program %d: kernels %" PRId64 ", transfers %" PRId64 ", host %" PRId64 ", data %" PRId64
                     "; expected %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
                     number, got.kernels, got.transfers, got.host, got.data, b.of.kernels, b.of.transfers, b.of.host,
                     b.of.data);
        n_unique++;
        n_across += path->of_rank[rank] < path->length;
    }
    ek_trace_run_clear(&run);
}

static void equal_to_the_longest_of_all_paths(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(20261127);
    int n = effort(1000, 60);
    for (int i = 0; i < n; i++) {
        program p;
        make(&p, &r);
        simulate(&p);
        check_program(&p, i);
        for (int k = 0; k < p.n_ranks; k++) {
            char name[64];
            snprintf(name, sizeof name, "rank_%d.json", k);
            unlink(below(name));
        }
    }
    print_message("# %d programs, %d with one longest path, %d of them over several ranks\n", n, n_unique, n_across);
    assert_true(n_unique > n / 2 && n_across > n / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_to_the_longest_of_all_paths, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
