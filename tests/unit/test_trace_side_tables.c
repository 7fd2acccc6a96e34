/* Tests the tables beside a trace: communication, memory, data pipeline, marks. Oracles: figures computed by hand for
 * the fixtures, naive sums and a sweep tick by tick for random tables, and the known values of made and of real
 * traces. */
#include "input.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assert_close.h"
#include "made_traces.h"
#include "trace/analyse/analysis.h"
#include "trace/events/largest.h"
#include "trace/events/memory_curve.h"
#include "trace/tables/files.h"

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % n);
}

/* ---- reading into a separate rank ---- */

typedef struct reading {
    ek_trace_rank rank;
    ek_trace_source source;
    ek_error err;
    ek_status status;
} reading;

static void start(reading *r)
{
    *r = (reading){.rank = {.rank = EK_TRACE_NO_RANK, .pool = ek__pool_new()}};
    assert_non_null(r->rank.pool);
}

static void end(reading *r)
{
    ek__pool_free(r->rank.pool);
}

static ek_status read_more(reading *r, ek__table_reader *reader, const char *path)
{
    const ek__table_in in = {.path = path, .source = &r->source, .rank = &r->rank};
    r->source = (ek_trace_source){.path = path};
    r->err = (ek_error){0};
    return r->status = reader(&in, &r->err);
}

static void read_well(reading *r, ek__table_reader *reader, const char *path)
{
    if (read_more(r, reader, path))
        fail_msg("%s:%d:%d: %s", r->err.file, r->err.line, r->err.column, r->err.message);
}

static const char *fixture(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s", source_path("tests/data/trace/side/"));
    size_t n = strlen(path);
    snprintf(path + n, sizeof path - n, "%s", name);
    return path;
}

/* Bytes as a file, read into `r`. */
static ek_status read_bytes(reading *r, ek__table_reader *reader, const char *text, size_t size)
{
    char path[] = "/tmp/side_table_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
    ek_status status = read_more(r, reader, path);
    unlink(path);
    return status;
}

static ek_status read_text(reading *r, ek__table_reader *reader, const char *text)
{
    return read_bytes(r, reader, text, strlen(text));
}

/* A growing text. */
typedef struct text {
    char *bytes;
    size_t n, capacity;
} text;

static void __attribute__((format(printf, 2, 3))) put(text *t, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert_true(size >= 0 && (size_t)size < sizeof line);
    if (t->n + (size_t)size + 1 > t->capacity) {
        t->capacity = 2 * t->capacity + sizeof line;
        t->bytes = realloc(t->bytes, t->capacity);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->n, line, (size_t)size + 1);
    t->n += (size_t)size;
}

/* ---- communication.json ---- */

static void check_sum(const ek_trace_comm_sum *s, const char *step, bool p2p, const char *key, int64_t count,
                      const double ms[5], double size)
{
    assert_string_equal(s->step, step);
    assert_int_equal(s->p2p, p2p);
    assert_string_equal(s->key, key);
    assert_int_equal(s->count, count);
    assert_close_to(s->elapse_ms, ms[0], 1e-12);
    assert_close_to(s->transit_ms, ms[1], 1e-12);
    assert_close_to(s->wait_ms, ms[2], 1e-12);
    assert_close_to(s->idle_ms, ms[3], 1e-12);
    assert_close_to(s->synchronization_ms, ms[4], 1e-12);
    assert_close_to(s->size_mb, size, 1e-12);
}

static void collectives_are_summed_per_step_type_and_group(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_communication, fixture("communication.json"));
    const ek_trace_communication *c = &r.rank.communication;
    assert_null(r.source.problem);
    assert_int_equal(r.source.items, 6);
    assert_int_equal(c->n_comm_sums, 5);
    check_sum(&c->comm_sum[0], "step7", true, "hcom_send@11", 1, (double[]){3, 1, 1.5, .5, 1}, 8);
    /* The second operator's idle time is not printed: 20 - 4 - 6. SDMA repeats HCCS; RDMA comes on top. */
    check_sum(&c->comm_sum[1], "step7", false, "hcom_allReduce@11", 2, (double[]){30, 6, 9, 15, 3}, 9);
    check_sum(&c->comm_sum[2], "step7", false, "hcom_allGather@11", 1, (double[]){1, .25, .25, .5, 0}, 2);
    check_sum(&c->comm_sum[3], "step7", false, "hcom_allReduce@22", 1, (double[]){5, 1, 1, 3, 1}, 16);
    check_sum(&c->comm_sum[4], "step8", false, "hcom_allReduce@11", 1, (double[]){40, 8, 12, 20, 4}, 4);
    end(&r);
}

static void operators_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    static const char one[] = "{\"Communication Time Info\": {\"Elapse Time(ms)\": 2}}";
    char doc[1024];
    reading r;
    start(&r);
    snprintf(doc, sizeof doc,
             "\xef\xbb\xbf {\"step\": {\"p2p\": 3, \"collective\": {\"a__1_1@g\": %s, \"b@g\": [], \"c@g\": "
             "{\"Communication Time Info\": {\"Elapse Time(ms)\": NaN}}, \"d\": %s, \"a__2_1@g\": %s}}, \"odd\": []}",
             one, one, one);
    assert_int_equal(read_text(&r, ek__table_communication, doc), EK_OK);
    const ek_trace_communication *c = &r.rank.communication;
    assert_string_equal(r.source.problem, "3 entries left out; the first: 'b@g' of step lacks usable times or sizes");
    assert_int_equal(c->n_comm_sums, 2);
    check_sum(&c->comm_sum[0], "step", false, "a@g", 2, (double[]){4, 0, 0, 4, 0}, 0);
    check_sum(&c->comm_sum[1], "step", false, "d", 1, (double[]){2, 0, 0, 2, 0}, 0);
    /* Another file of the same rank is appended; one of another kind changes nothing. */
    assert_int_equal(read_text(&r, ek__table_communication, "{}"), EK_OK);
    assert_int_equal(read_text(&r, ek__table_communication, "{\"(0, 1)\": {\"hcom@g\": {}}}"), EK_ERR_INPUT);
    assert_int_equal(c->n_comm_sums, 2);
    read_well(&r, ek__table_communication, fixture("communication.json"));
    assert_int_equal(c->n_comm_sums, 7);
    end(&r);
}

static void random_operators_sum_as_a_slow_reader_sums_them(void **state)
{
    (void)state;
    enum { STEPS = 3, TYPES = 4, GROUPS = 3, N = 400 };
    double elapse[STEPS][2][TYPES][GROUPS] = {{{{0}}}};
    int count[STEPS][2][TYPES][GROUPS] = {{{{0}}}}, of[N][4], ms[N];
    for (int i = 0; i < N; i++) {
        const int part[4] = {(int)random_below(STEPS), (int)random_below(2), (int)random_below(TYPES),
                             (int)random_below(GROUPS)};
        memcpy(of[i], part, sizeof part);
        ms[i] = (int)random_below(1000);
        elapse[part[0]][part[1]][part[2]][part[3]] += ms[i] / 8.0;
        count[part[0]][part[1]][part[2]][part[3]]++;
    }
    text t = {0};
    for (int s = 0; s < STEPS; s++)
        for (int p = 0; p < 2; p++) {
            put(&t, "%s%s",
                p   ? "}, \"p2p\": {"
                : s ? "}}, "
                    : "{",
                p ? "" : (const char *[]){"\"s0\"", "\"s1\"", "\"s2\""}[s]);
            if (!p)
                put(&t, ": {\"collective\": {");
            const char *comma = "";
            for (int i = 0; i < N; i++)
                if (of[i][0] == s && of[i][1] == p) {
                    put(&t, "%s\"t%d__%d@%d\": {\"Communication Time Info\": {\"Elapse Time(ms)\": %.3f}}", comma,
                        of[i][2], i, of[i][3], ms[i] / 8.0);
                    comma = ", ";
                }
        }
    put(&t, "}}}");
    reading r;
    start(&r);
    assert_int_equal(read_bytes(&r, ek__table_communication, t.bytes, t.n), EK_OK);
    int seen = 0;
    for (int i = 0; i < r.rank.communication.n_comm_sums; i++) {
        const ek_trace_comm_sum *sum = &r.rank.communication.comm_sum[i];
        int type = -1, group = -1;
        assert_int_equal(sscanf(sum->key, "t%d@%d", &type, &group), 2);
        assert_int_equal(sum->count, count[sum->step[1] - '0'][sum->p2p][type][group]);
        assert_close_to(sum->elapse_ms, elapse[sum->step[1] - '0'][sum->p2p][type][group], 1e-9);
        seen += (int)sum->count;
    }
    assert_int_equal(seen, N);
    assert_int_equal(r.rank.communication.n_comm_sums, STEPS * 2 * TYPES * GROUPS);
    free(t.bytes);
    end(&r);
}

/* ---- links ---- */

static const ek_trace_link *find_link(const ek_trace_communication *c, const char *name)
{
    for (int i = 0; i < c->n_links; i++)
        if (strcmp(c->link[i].link, name) == 0)
            return &c->link[i];
    fail_msg("no link %s", name);
    return NULL;
}

static const ek_trace_transport *find_transport(const ek_trace_communication *c, const char *name)
{
    for (int i = 0; i < c->n_transports; i++)
        if (strcmp(c->transport[i].name, name) == 0)
            return &c->transport[i];
    fail_msg("no transport %s", name);
    return NULL;
}

static void links_are_summed_from_totals_over_all_steps(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_communication_matrix, fixture("communication_matrix.json"));
    const ek_trace_communication *c = &r.rank.communication;
    assert_int_equal(c->n_links, 6);
    assert_int_equal(c->n_transports, 3);
    assert_string_equal(c->link[0].link, "33:0-1");
    assert_false(c->link[0].ranked);
    assert_true(isnan(c->link[0].bandwidth_gbps));
    const ek_trace_link *fast = find_link(c, "11:0-1"), *slow = find_link(c, "11:0-3"), *few = find_link(c, "11:0-4");
    assert_close_to(fast->size_mb, 90, 1e-12); /* (20 + 10) * (1 + 2) */
    assert_close_to(fast->time_ms, 4.5, 1e-12);
    assert_close_to(fast->bandwidth_gbps, 20, 1e-12);
    assert_close_to(slow->bandwidth_gbps, 10, 1e-12);
    assert_close_to(few->size_mb, .75, 1e-12);
    assert_false(few->ranked);
    const ek_trace_transport *hccs = &c->transport[0];
    assert_string_equal(hccs->name, "HCCS");
    assert_int_equal(hccs->n_links, 4);
    assert_int_equal(hccs->n_ranked, 3);
    assert_close_to(hccs->total_size_mb, 90 + 72 + 60 + .75, 1e-9);
    assert_close_to(hccs->mean_gbps, (20 + 20 + 10) / 3., 1e-9); /* 0-2: 72 / 3.6 */
    assert_ptr_equal(&c->link[hccs->slowest], slow);
    assert_ptr_equal(&c->link[hccs->fastest], fast);
    assert_true(slow->slow);
    assert_false(fast->slow);
    assert_string_equal(c->transport[1].name, "LOCAL");
    assert_string_equal(c->transport[2].name, "RDMA");
    assert_int_equal(c->transport[2].slowest, -1);
    assert_true(isnan(c->transport[2].mean_gbps));
    end(&r);
}

static void older_files_count_every_operator(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_communication_matrix, fixture("communication_matrix_old.json"));
    const ek_trace_communication *c = &r.rank.communication;
    assert_int_equal(c->n_links, 2);
    assert_close_to(find_link(c, "33:0-8")->bandwidth_gbps, 3, 1e-12);
    assert_close_to(find_link(c, "11:0-1")->bandwidth_gbps, 4, 1e-12);
    /* hccl_raw's links are appended, transports are made again: SDMA joins, RDMA has another link. */
    read_well(&r, ek__table_hccl_raw, fixture("hccl_raw_3.csv"));
    assert_int_equal(c->n_links, 5);
    assert_int_equal(c->n_transports, 3);
    assert_int_equal(find_transport(c, "RDMA")->n_links, 2);
    const ek_trace_link *sdma = find_link(c, "rank3:0-1:SDMA");
    assert_close_to(sdma->size_kb, 4000, 1e-9);
    assert_close_to(sdma->bytes_per_s, 2e9, 1);
    assert_close_to(sdma->time_ms, 2, 1e-12);
    assert_close_to(sdma->size_mb, 4, 1e-12);
    assert_true(sdma->slow); /* 2 against a mean of 3 */
    assert_false(find_link(c, "rank3:0-0:RDMA")->ranked);
    end(&r);
}

static void random_links_are_ranked_as_a_slow_reader_ranks_them(void **state)
{
    (void)state;
    enum { PAIRS = 40 };
    for (int round = 0; round < 50; round++) {
        double size[PAIRS] = {0}, time[PAIRS] = {0}, mean[3] = {0};
        int transport[PAIRS], n_ranked[3] = {0}, slowest[3] = {-1, -1, -1};
        text t = {0};
        put(&t, "{\"step\": {\"collective\": {");
        for (int p = 0; p < PAIRS; p++)
            transport[p] = (int)random_below(3);
        for (int o = 0; o < 10; o++) {
            put(&t, "%s\"op%d-total@g\": {", o ? "}, " : "", o);
            for (int p = 0; p < PAIRS; p++) {
                double s = random_below(100) / 64., ms = (1 + random_below(50)) / 128.;
                size[p] += s;
                time[p] += ms;
                put(&t,
                    "%s\"%d\": {\"Transport Type\": \"T%d\", \"Transit Size(MB)\": %.10f, \"Transit Time(ms)\": %.10f}",
                    p ? ", " : "", p, transport[p], s, ms);
            }
        }
        put(&t, "}}}}");
        for (int p = 0; p < PAIRS; p++) {
            if (size[p] < 1)
                continue;
            n_ranked[transport[p]]++;
            mean[transport[p]] += size[p] / time[p];
            int *least = &slowest[transport[p]];
            if (*least < 0 || size[p] / time[p] < size[*least] / time[*least])
                *least = p;
        }
        reading r;
        start(&r);
        assert_int_equal(read_bytes(&r, ek__table_communication_matrix, t.bytes, t.n), EK_OK);
        const ek_trace_communication *c = &r.rank.communication;
        assert_int_equal(c->n_links, PAIRS);
        for (int i = 0; i < c->n_transports; i++) {
            int k = c->transport[i].name[1] - '0';
            assert_int_equal(c->transport[i].n_ranked, n_ranked[k]);
            assert_int_equal(c->transport[i].slowest, slowest[k]);
            if (n_ranked[k])
                assert_close_to(c->transport[i].mean_gbps, mean[k] / n_ranked[k], 1e-9);
        }
        for (int p = 0; p < PAIRS; p++)
            assert_int_equal(c->link[p].slow,
                             size[p] >= 1 && size[p] / time[p] <= .8 * (mean[transport[p]] / n_ranked[transport[p]]));
        free(t.bytes);
        end(&r);
    }
}

static void a_slow_link_shows_among_those_of_other_ranks(void **state)
{
    (void)state;
    static ek_trace_link link[3][2] = {
        {{.link = "g:0-1", .transport = "HCCS", .size_mb = 5, .bandwidth_gbps = 20, .ranked = true},
         {.link = "g:0-0", .transport = "LOCAL", .size_mb = 5, .bandwidth_gbps = 400, .ranked = true}},
        {{.link = "g:1-0", .transport = "HCCS", .size_mb = 5, .bandwidth_gbps = 20, .ranked = true},
         {.link = "g:1-1", .transport = "LOCAL", .size_mb = 5, .bandwidth_gbps = 404, .ranked = true}},
        {{.link = "rank7:2-0:HCCS", .transport = "HCCS", .size_mb = 5, .bandwidth_gbps = 10, .ranked = true},
         {.link = "g:2-1", .transport = "HCCS", .size_mb = .5, .bandwidth_gbps = 1}}};
    ek_trace_rank rank[3] = {{.rank = 0}, {.rank = 1}, {.rank = 7}};
    for (int i = 0; i < 3; i++) {
        rank[i].communication.link = link[i];
        rank[i].communication.n_links = 2;
    }
    ek_trace_run run = {.n_ranks = 3, .rank = rank, .pool = ek__pool_new()};
    ek_error err = {0};
    assert_int_equal(ek__compare_links(&(ek_trace_options){0}, &run, &err), EK_OK);
    assert_int_equal(run.n_transports, 2);
    const ek_trace_run_transport *hccs = &run.transport[0], *local = &run.transport[1];
    assert_string_equal(hccs->name, "HCCS");
    assert_int_equal(hccs->n_links, 4);
    assert_int_equal(hccs->n_ranked, 3);
    assert_close_to(hccs->mean_gbps, 50 / 3., 1e-12);
    assert_close_to(hccs->gap, .6, 1e-12);
    assert_true(hccs->flagged);
    assert_int_equal(hccs->n_slow, 1);
    assert_string_equal(hccs->slowest.name, "rank7:2-0:HCCS");
    assert_string_equal(hccs->fastest.name, "rank0:g:0-1");
    assert_string_equal(local->name, "LOCAL");
    assert_close_to(local->gap, 4 / 402., 1e-12);
    assert_false(local->flagged);
    assert_int_equal(run.n_slow_links, 1);
    assert_int_equal(run.slow_link[0].rank, 2);
    assert_int_equal(run.slow_link[0].link, 0);
    assert_string_equal(run.slow_link[0].transport, "HCCS");
    /* A run without links has no transports. */
    run.n_ranks = 0;
    assert_int_equal(ek__compare_links(&(ek_trace_options){0}, &run, &err), EK_OK);
    assert_int_equal(run.n_transports, 0);
    assert_int_equal(run.n_slow_links, 0);
    ek__pool_free(run.pool);
}

/* ---- memory ---- */

#define RECORD_HEADER "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr\n"

static void memory_peaks_are_kept_per_component_and_column(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(read_text(&r, ek__table_memory_record,
                               RECORD_HEADER
                               "PTA,1736408883573957.920\t,10,30,5,1\r\nAPP,2.0\t,,7.5,,\r\n"
                               "PTA,1.001\t,20,25,,\r\nPTA,oops,99,99,99,\r\nPTA,3,x,99,99,\r\nGE,N/A,1,,,\r\n"),
                     EK_OK);
    const ek_trace_memory *m = &r.rank.memory;
    assert_int_equal(m->n_rows, 4);
    assert_string_equal(r.source.problem,
                        "2 rows left out; the first: line 5: Timestamp(us) 'oops' is no valid number");
    assert_int_equal(m->n_peaks, 3);
    assert_string_equal(m->peak[0].component, "APP");
    assert_true(isnan(m->peak[0].allocated_mb) && isnan(m->peak[0].active_mb));
    assert_close_to(m->peak[0].reserved_mb, 7.5, 0);
    assert_string_equal(m->peak[1].component, "GE");
    assert_string_equal(m->peak[2].component, "PTA");
    assert_close_to(m->peak[2].allocated_mb, 20, 0);
    assert_close_to(m->peak[2].reserved_mb, 30, 0);
    assert_close_to(m->peak[2].active_mb, 5, 0);
    assert_int_equal(m->n_points, 3);
    assert_int_equal(m->point[0].component, 0);
    assert_int_equal(m->point[1].time, 1001);
    assert_int_equal(m->point[2].time, 1736408883573957920);
    /* A second file of the rank is joined. */
    assert_int_equal(read_text(&r, ek__table_memory_record, RECORD_HEADER "AAA,4,1,2,3,\nPTA,4,21,2,,\n"), EK_OK);
    assert_int_equal(m->n_rows, 6);
    assert_int_equal(m->n_peaks, 4);
    assert_close_to(m->peak[3].allocated_mb, 21, 0);
    assert_close_to(m->peak[3].reserved_mb, 30, 0);
    assert_int_equal(m->point[m->n_points - 1].component, 3);
    end(&r);
}

static void a_long_curve_is_thinned_and_keeps_its_peaks(void **state)
{
    (void)state;
    enum { N = 30000, SPIKES = 20 };
    ek_trace_memory_point *point = calloc(N, sizeof *point);
    assert_non_null(point);
    bool spike[N] = {0};
    for (int i = 0; i < SPIKES; i++)
        spike[(size_t)i * (N / SPIKES) + random_below(N / SPIKES)] = true;
    for (int i = 0; i < N; i++)
        point[i] = (ek_trace_memory_point){N - i, i % 2, spike[i] ? 1000 : random_below(100),
                                           i % 3 ? NAN : random_below(100) + (spike[i] ? 500 : 0)};
    double most = 0;
    for (int i = 0; i < N; i++)
        most = point[i].reserved_mb > most ? point[i].reserved_mb : most;
    size_t kept = ek__memory_curve_thin(point, N);
    size_t n_of[2] = {0}, n_spikes = 0;
    double most_kept = 0;
    for (size_t i = 0; i < kept; i++) {
        n_of[point[i].component]++;
        n_spikes += point[i].allocated_mb == 1000;
        most_kept = point[i].reserved_mb > most_kept ? point[i].reserved_mb : most_kept;
        if (i > 0 && point[i].component == point[i - 1].component)
            assert_true(point[i].time > point[i - 1].time);
    }
    assert_int_equal(n_spikes, SPIKES);
    assert_close_to(most_kept, most, 0);
    assert_true(n_of[0] <= EK__CURVE_MAX_POINTS && n_of[0] >= EK__CURVE_MAX_POINTS / 4);
    assert_true(n_of[1] <= EK__CURVE_MAX_POINTS && n_of[1] >= EK__CURVE_MAX_POINTS / 4);
    free(point);
}

static void a_short_curve_keeps_every_point(void **state)
{
    (void)state;
    ek_trace_memory_point point[EK__CURVE_MAX_POINTS];
    for (int i = 0; i < EK__CURVE_MAX_POINTS; i++)
        point[i] = (ek_trace_memory_point){i, 0, i % 7, i % 5};
    assert_int_equal(ek__memory_curve_thin(point, EK__CURVE_MAX_POINTS), EK__CURVE_MAX_POINTS);
    for (int i = 0; i < EK__CURVE_MAX_POINTS; i++)
        assert_int_equal(point[i].time, i);
}

/* A file of Python's pickle in two protocols, and the same by json.dump(): figures computed by hand. */
static void snapshots_are_the_same_pickled_and_as_json(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    static const char *const files[] = {"rank3_protocol2.pickle", "rank3_protocol5.pickle", "rank3.json"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[4200];
        reading r;
        snprintf(path, sizeof path, "%s/%s", source_path("tests/data/snapshot"), files[f]);
        start(&r);
        read_well(&r, ek__table_memory_snapshot, path);
        assert_null(r.source.problem);
        assert_int_equal(r.source.items, 20);
        assert_int_equal(r.rank.memory.n_maps, 2);
        const ek_trace_block_map *m = &r.rank.memory.map[0];
        assert_true(m->has_addresses && !m->is_ticked);
        assert_int_equal(m->n_all_blocks, 6);
        assert_int_equal(m->end - m->begin, 50000);
        assert_int_equal(m->peak.time - m->begin, 11000);
        assert_int_equal(m->peak.active_bytes, 18 * MIB - 200);
        assert_int_equal(m->peak.reserved_bytes, 40 * MIB);
        assert_int_equal(m->peak.free_bytes, 22 * MIB - 512);
        assert_int_equal(m->peak.largest_free_bytes, 14 * MIB);
        assert_int_equal(m->last.free_bytes, 28 * MIB);
        assert_int_equal(m->last.largest_free_bytes, 16 * MIB);
        assert_int_equal(m->before_bytes, 5 * MIB - 300);
        assert_int_equal(m->never_freed_bytes, 8 * MIB);
        assert_int_equal(m->rounding_bytes, 300);
        assert_int_equal(m->n_contradictions, 0);
        static const ek_block_role roles[] = {EK_BLOCK_FORWARD, EK_BLOCK_RECOMPUTE, EK_BLOCK_PARAMETERS,
                                              EK_BLOCK_OPTIMIZER, EK_BLOCK_OTHER};
        static const char *const names[] = {"model/attention.py:88 forward", "model/attention.py:88 forward",
                                            "model/block.py:12 __init__", "proj/train.py:32 main", "(unknown)"};
        assert_int_equal(m->n_sites, 5);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(m->site[i].role, roles[i]);
            assert_string_equal(m->site[i].name, names[i]);
        }
        assert_int_equal(m->largest[0].bytes, 7 * MIB + 100);
        assert_string_equal(m->stack[m->largest[0].stack],
                            "/opt/python/site-packages/torch/nn/modules/linear.py:125 forward\n"
                            "/proj/model/attention.py:88 forward\n/proj/train.py:30 main");
        const ek_trace_block_map *second = m + 1;
        assert_int_equal(second->n_out_of_memory, 1);
        assert_int_equal(second->out_of_memory_bytes, 40 * MIB);
        assert_int_equal(second->peak.active_bytes, 3 * MIB); /* over two mappings, which join */
        assert_int_equal(second->peak.largest_free_bytes, MIB);
        assert_int_equal(second->last.reserved_bytes, 2 * MIB);
        end(&r);
    }
}

static void what_is_no_snapshot_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *message;
    } cases[] = {
        {"\x80\x02K\x01.", 5, "is no memory snapshot of PyTorch: it contains no dictionary"},
        {"\x80\x02}.", 4, "is no memory snapshot of PyTorch: its dictionary has neither segments nor device_traces"},
        {"{\"a\": 1}", 8, "is no memory snapshot of PyTorch: its dictionary has neither"},
        {"{\"segments\": [", 14, "is no JSON"},
        {"\x80\x02"
         "cos\nsystem\n.",
         15, "byte 2: this is no memory snapshot, which contains only plain data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reading r;
        start(&r);
        assert_int_equal(read_bytes(&r, ek__table_memory_snapshot, cases[i].text, cases[i].n), EK_ERR_INPUT);
        assert_true(r.err.file[0] && strncmp(r.err.message, cases[i].message, strlen(cases[i].message)) == 0);
        end(&r);
    }
}

/* Events without times, of another shape than expected, and segments with blocks without addresses: of versions before
 * and after those that are known. */
static void entries_of_other_shapes_are_left_out(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(
        read_text(&r, ek__table_memory_snapshot,
                  "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1024, \"size\": 512}, 7, {\"addr\": 3}, "
                  "{\"action\": \"future\"}, {\"action\": \"alloc\", \"addr\": -5, \"size\": 1}, {\"action\": "
                  "\"alloc\", \"addr\": 2048, \"size\": 100, \"category\": \"OPTIMIZER_STATE\"}], 3], "
                  "\"segments\": [{\"address\": 1024, \"total_size\": 4096, \"blocks\": [{\"size\": 1024, \"state\": "
                  "\"active_allocated\"}, {\"size\": 512, \"state\": \"active_allocated\"}, 4]}, 5, {}]}"),
        EK_OK);
    assert_non_null(r.source.problem);
    assert_non_null(strstr(r.source.problem, "6 entries left out; the first: event 1 of device 0 is no dictionary"));
    assert_int_equal(r.rank.memory.n_maps, 1);
    const ek_trace_block_map *m = &r.rank.memory.map[0];
    assert_true(m->is_ticked);
    assert_int_equal(m->n_blocks, 2);
    assert_int_equal(m->block[0].start, 0);
    assert_int_equal(m->block[1].start, 5000); /* event 5 */
    assert_int_equal(m->block[1].address, 2048);
    assert_int_equal(m->role_bytes[EK_BLOCK_OPTIMIZER], 100);
    assert_true(m->rounding_bytes == EK_TRACE_UNKNOWN);
    end(&r);
}

/* Lifetimes of operators' allocations: an allocation with only a release was there before, also where its size is below
 * 0. */
static void allocations_of_operators_become_a_map_of_each_device(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(read_text(&r, ek__table_operator_memory,
                               "Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n"
                               "aten::mm,4,10,20,NPU:0\naten::add,2,15,N/A,NPU:0\naten::old,-8,N/A,12,NPU:0\n"
                               "MmBackward,1,16,18,NPU:1\naten::odd,1,9,3,NPU:0\n"),
                     EK_OK);
    assert_int_equal(r.rank.memory.n_maps, 2);
    const ek_trace_block_map *m = r.rank.memory.map;
    assert_string_equal(m[0].name, "NPU:0");
    assert_string_equal(m[1].name, "NPU:1");
    assert_int_equal(m[0].n_blocks, 3);
    assert_int_equal(m[0].peak.active_bytes, 12 * 1024);
    assert_int_equal(m[0].peak.time, 10000);
    assert_int_equal(m[0].before_bytes, 8 * 1024);
    assert_int_equal(m[0].never_freed_bytes, 2 * 1024);
    assert_true(m[0].peak.reserved_bytes == EK_TRACE_UNKNOWN && !m[0].has_addresses);
    assert_int_equal(m[1].site[0].role, EK_BLOCK_BACKWARD);
    end(&r);
}

static void the_largest_and_the_kept_allocations_are_found(void **state)
{
    (void)state;
    enum { N = 500 };
    int size[N], n_never = 0;
    text t = {0};
    put(&t, "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us)\n");
    for (int i = 0; i < N; i++) {
        size[i] = (int)random_below(200);
        bool never = random_below(4) == 0;
        n_never += never;
        put(&t, "op%d,%d.5,%d.25\t,%s,\n", i, size[i], i, never ? "" : "17.5\t");
    }
    reading r;
    start(&r);
    assert_int_equal(read_bytes(&r, ek__table_operator_memory, t.bytes, t.n), EK_OK);
    const ek_trace_memory *m = &r.rank.memory;
    assert_int_equal(m->n_operator_rows, N);
    assert_int_equal(m->n_never_released, n_never);
    assert_int_equal(m->n_largest, EK__N_LARGEST);
    assert_int_equal(m->n_kept, EK__N_KEPT);
    for (int k = 0; k < m->n_largest; k++) {
        int of = -1, n_larger = 0; /* larger, or as large and before it */
        assert_int_equal(sscanf(m->largest[k].name, "op%d", &of), 1);
        assert_close_to(m->largest[k].size_kb, size[of] + .5, 0);
        assert_int_equal(m->largest[k].start, of * 1000 + 250);
        for (int i = 0; i < N; i++)
            n_larger += size[i] > size[of] || (size[i] == size[of] && i < of);
        assert_int_equal(n_larger, k);
    }
    for (int k = 0; k < m->n_kept; k++)
        assert_true(m->kept[k].end == EK_TRACE_UNKNOWN);
    free(t.bytes);
    end(&r);
}

static void modules_are_kept_by_what_they_reserved(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(read_text(&r, ek__table_npu_module_mem,
                               "Device_id,Component,Timestamp(us),Total Reserved(MB),Device\n0,A,1\t,2.0,NPU:0\n"
                               "0,B,1\t,5,NPU:0\n0,A,2\t,9,NPU:0\n0,C,2\t,,NPU:0\n0,D,2\t,9,NPU:0\n"),
                     EK_OK);
    const ek_trace_memory *m = &r.rank.memory;
    assert_int_equal(m->n_modules, 4);
    assert_string_equal(m->module[0].component, "A");
    assert_close_to(m->module[0].reserved_mb, 9, 0);
    assert_string_equal(m->module[1].component, "D");
    assert_string_equal(m->module[2].component, "B");
    assert_true(isnan(m->module[3].reserved_mb));
    assert_int_equal(m->n_peaks, 0);
    end(&r);
    start(&r); /* kilobytes, as the device profiler itself prints it */
    assert_int_equal(read_text(&r, ek__table_npu_module_mem,
                               "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n0,A,1\t,512,NPU:0\n"
                               "0,B,1\t,3072,NPU:0\n"),
                     EK_OK);
    assert_int_equal(m->n_modules, 2);
    assert_string_equal(m->module[0].component, "B");
    assert_close_to(m->module[0].reserved_mb, 3, 0);
    assert_close_to(m->module[1].reserved_mb, .5, 0);
    end(&r);
}

/* ---- memory tracker ---- */

static void the_tracker_is_read_in_all_three_generations(void **state)
{
    (void)state;
    for (int generation = 1; generation <= 3; generation++) {
        char name[32];
        snprintf(name, sizeof name, "memory_block_%d.csv", generation);
        reading r;
        start(&r);
        read_well(&r, ek__table_memory_block, fixture(name));
        const ek_trace_tracker *t = &r.rank.memory.tracker;
        assert_null(r.source.problem);
        struct stat about;
        assert_int_equal(stat(fixture(name), &about), 0);
        assert_int_equal(r.source.bytes, about.st_size);
        assert_int_equal(t->n_rows, 8);
        assert_int_equal(t->n_pool_blocks, 7);
        assert_int_equal(t->n_somas_rows, 1);
        assert_int_equal(t->peak_bytes, 1900);
        assert_int_equal(t->peak_tick, 7); /* again at 9 */
        assert_int_equal(t->never_freed_bytes, 1000);
        assert_true(t->max_actual_peak_bytes == (generation == 1 ? EK_TRACE_UNKNOWN : 8192));
        assert_int_equal(t->held_dead_bytes, 400); /* last used at 6 */
        assert_int_equal(t->n_live, 3);
        assert_string_equal(t->live[0].type, "Weight");
        assert_int_equal(t->live[0].bytes, 1000);
        assert_string_equal(t->live[1].type, "Kernel");
        assert_int_equal(t->live[1].bytes, 700);
        assert_string_equal(t->live[2].type, "(none)");
        assert_int_equal(t->n_live_layers, 3);
        assert_string_equal(t->live_layer[0].type, "(other)");
        assert_int_equal(t->live_layer[0].bytes, 1200);
        assert_string_equal(t->live_layer[1].type, "0-Layer");
        assert_string_equal(t->live_layer[2].type, "1-Layer"); /* the outermost one */
        assert_int_equal(t->live_layer[2].bytes, 300);
        assert_int_equal(t->n_largest, 4);
        assert_string_equal(t->largest[0].name, "layers.0.weight");
        assert_true(t->largest[0].end == EK_TRACE_UNKNOWN);
        assert_close_to(t->largest[1].size_kb, 400 / 1024., 1e-12);
        assert_string_equal(t->largest[3].name, "(none)");
        end(&r);
    }
}

static void random_blocks_peak_where_counting_tick_by_tick_says(void **state)
{
    (void)state;
    enum { N = 60, TICKS = 40 };
    for (int round = 0; round < 300; round++) {
        int64_t from[N], to[N], bytes[N], last[N], peak = 0, tick = EK_TRACE_UNKNOWN, dead = 0, live[3] = {0};
        int type[N], n = 1 + (int)random_below(N);
        text t = {0};
        put(&t, "size,type,end_time_stamp,start_time_stamp,user_tasks,\n");
        for (int i = 0; i < n; i++) {
            from[i] = random_below(TICKS);
            to[i] = random_below(8) ? from[i] + random_below(TICKS) : INT64_MAX;
            bytes[i] = random_below(6) * 100;
            last[i] = random_below(TICKS);
            type[i] = (int)random_below(3);
            put(&t, "%lld,%s,%lld,%lld,{3-%lld-},\n", (long long)bytes[i], (const char *[]){"", "A", "B"}[type[i]],
                (long long)to[i], (long long)from[i], (long long)last[i]);
        }
        for (int64_t at = 0; at <= 2 * TICKS; at++) {
            int64_t sum = 0;
            for (int i = 0; i < n; i++)
                sum += from[i] <= at && at < to[i] ? bytes[i] : 0;
            if (sum > peak) {
                peak = sum;
                tick = at;
            }
        }
        for (int i = 0; i < n && peak > 0; i++)
            if (from[i] <= tick && tick < to[i]) {
                live[type[i]] += bytes[i];
                dead += last[i] < tick ? bytes[i] : 0;
            }
        reading r;
        start(&r);
        assert_int_equal(read_bytes(&r, ek__table_memory_block, t.bytes, t.n), EK_OK);
        const ek_trace_tracker *got = &r.rank.memory.tracker;
        assert_int_equal(got->n_pool_blocks, n);
        assert_int_equal(got->peak_bytes, peak);
        assert_true(got->peak_tick == tick);
        assert_int_equal(got->held_dead_bytes, dead);
        int64_t sum = 0;
        for (int i = 0; i < got->n_live; i++) {
            char c = got->live[i].type[0];
            assert_int_equal(got->live[i].bytes, live[c == '(' ? 0 : c == 'A' ? 1 : 2]);
            sum += got->live[i].bytes;
        }
        assert_int_equal(sum, peak);
        free(t.bytes);
        end(&r);
    }
}

static void blocks_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(
        read_text(&r, ek__table_memory_block,
                  "\xef\xbb\xbfstart_time_stamp,end_time_stamp,size,\n1,2,9223372036854775807,\n1,2,1,\n"
                  "1,2,-5,\n5,4,1,\n1,99999999999999999999,1,\n\n-7,2,1,\nx\n1,2\n-1,-1,9223372036854775807,\n"),
        EK_OK);
    const ek_trace_tracker *t = &r.rank.memory.tracker;
    assert_int_equal(t->n_rows, 2);
    assert_int_equal(t->peak_bytes, INT64_MAX);
    assert_string_equal(r.source.problem, "7 rows left out; the first: line 3: a block of 1 bytes from tick 1 to 2");
    assert_int_equal(read_text(&r, ek__table_memory_block, "start_time_stamp,end_time_stamp,\n1,2,\n"), EK_ERR_INPUT);
    assert_non_null(strstr(r.err.message, "no column 'size'"));
    assert_int_equal(r.err.line, 1);
    assert_int_equal(read_text(&r, ek__table_memory_block, ""), EK_ERR_INPUT);
    assert_int_equal(t->n_rows, 2);
    end(&r);
}

/* ---- data pipeline, marks ---- */

static void the_queue_that_feeds_training_is_the_one_nearest_to_the_root(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_minddata_raw, fixture("minddata_pipeline_raw_0.csv"));
    const ek_trace_data *d = &r.rank.data;
    assert_int_equal(d->n_ops, 5);
    assert_string_equal(d->op[0].type, "Batch");
    assert_int_equal(d->op[0].parent, -1);
    assert_true(isnan(d->op[0].queue_average) && isnan(d->op[0].queue_length));
    assert_int_equal(d->op[1].id, 4);
    assert_close_to(d->op[1].usage_rate, 2 / 64., 1e-12); /* not printed: computed */
    assert_int_equal(d->op[4].parent, 1);
    assert_true(d->near_empty_queue); /* of 4, though 1 has the lower id and is full */
    assert_false(d->near_full_queue);
    /* parents in a circle, and one that is not there */
    assert_int_equal(
        read_text(&r, ek__table_minddata_raw,
                  "op_id,output_queue_average_size,output_queue_length,parent_id\n0,60,64,1\n1,1,64,0\n7,1,2,99\n"),
        EK_OK);
    assert_false(d->near_empty_queue);
    assert_int_equal(read_text(&r, ek__table_minddata_raw, "op_id,parent_id\n0,\n1,0\n"), EK_OK);
    assert_false(d->near_empty_queue || d->near_full_queue);
    end(&r);
}

static void times_per_batch_are_read_sideways_and_upright(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_minddata_summary, fixture("minddata_pipeline_summary_0.csv"));
    const ek_trace_data *d = &r.rank.data;
    assert_close_to(d->per_batch_ms, 12.25, 0);
    assert_close_to(d->per_pipeline_ms, .5, 0);
    assert_true(isnan(d->per_push_queue_ms));
    static const char *const same[] = {
        "op_ids,per_batch_time,per_pipeline_time,per_push_queue_time\n0,[12.25],[0.5],[-1]\n1,,,\n",
        "per_batch_time,12.25\nper_push_queue_time,-1\nper_pipeline_time,0.5\n",
        "per_batch_time,per_push_queue_time,per_pipeline_time\n12.25,-1,0.5\n"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        r.rank.data = (ek_trace_data){0};
        assert_int_equal(read_text(&r, ek__table_minddata_summary, same[i]), EK_OK);
        assert_close_to(d->per_batch_ms, 12.25, 0);
        assert_close_to(d->per_pipeline_ms, .5, 0);
        assert_true(isnan(d->per_push_queue_ms));
    }
    /* Of duplicate values the first counts. */
    assert_int_equal(read_text(&r, ek__table_minddata_summary, "a,b\nper_batch_time,3\nper_batch_time,9\n"), EK_OK);
    assert_close_to(d->per_batch_ms, 3, 0);
    assert_int_equal(read_text(&r, ek__table_minddata_summary, "a,b\nper_batch_time,soon\n"), EK_OK);
    assert_true(isnan(d->per_batch_ms));
    assert_non_null(r.source.problem);
    end(&r);
}

static void marks_take_their_unit_from_the_header(void **state)
{
    (void)state;
    reading r;
    start(&r);
    read_well(&r, ek__table_msprof_tx, fixture("msprof_tx_0.csv"));
    assert_int_equal(r.rank.n_marks, 2);
    const ek_trace_mark *m = r.rank.mark;
    assert_string_equal(m[0].name, "begin");
    assert_int_equal(m[0].start, 1736408883694600000);
    assert_int_equal(m[0].end, m[0].start);
    assert_true(m[0].device_start == EK_TRACE_UNKNOWN && m[0].device_end == EK_TRACE_UNKNOWN);
    assert_string_equal(m[1].name, "forward, layer \"3\"");
    assert_string_equal(m[1].domain, "default");
    assert_int_equal(m[1].end - m[1].start, 100001);
    assert_int_equal(m[1].device_end - m[1].device_start, 100500);
    /* nanoseconds, said or not; another file joins */
    assert_int_equal(read_text(&r, ek__table_msprof_tx, "Start_time(ns),End_time(ns),message\n17,18,x\n"), EK_OK);
    assert_int_equal(read_text(&r, ek__table_msprof_tx, "Start_time,End_time,message\n15,16,y\n9,8,z\n1.5,2,w\n"),
                     EK_OK);
    assert_string_equal(r.source.problem,
                        "2 rows left out; the first: line 3: the mark 'z' has no start or ends before it");
    assert_int_equal(r.rank.n_marks, 4);
    assert_string_equal(r.rank.mark[0].name, "y");
    assert_int_equal(r.rank.mark[0].start, 15);
    assert_int_equal(r.rank.mark[1].start, 17);
    end(&r);
}

/* ---- hostile input ---- */

static const struct table {
    const char *file;
    ek__table_reader *reader;
    bool json;
} tables[] = {
    {"communication.json", ek__table_communication, true},
    {"communication_matrix.json", ek__table_communication_matrix, true},
    {"communication_matrix_old.json", ek__table_communication_matrix, true},
    {"hccl_raw_3.csv", ek__table_hccl_raw, false},
    {"memory_block_1.csv", ek__table_memory_block, false},
    {"memory_block_3.csv", ek__table_memory_block, false},
    {"minddata_pipeline_raw_0.csv", ek__table_minddata_raw, false},
    {"minddata_pipeline_summary_0.csv", ek__table_minddata_summary, false},
    {"msprof_tx_0.csv", ek__table_msprof_tx, false},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static void check_numbers(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->communication.n_comm_sums; i++) {
        assert_true(isfinite(rank->communication.comm_sum[i].elapse_ms));
        assert_true(isfinite(rank->communication.comm_sum[i].idle_ms));
        assert_true(isfinite(rank->communication.comm_sum[i].size_mb));
    }
    for (int i = 0; i < rank->communication.n_links; i++) {
        assert_true(isfinite(rank->communication.link[i].size_mb));
        assert_false(isinf(rank->communication.link[i].bandwidth_gbps));
    }
}

/* Change every value of a document to every other kind, one at a time: `node` is `at` of its parent. */
static void change_values(json_t *root, json_t *parent, const struct table *table, int depth)
{
    static const char *const other[] = {
        "null", "true", "[]", "{}", "\"x\"", "-1", "1e308", "[[[]]]", "{\"a\": {\"b\": 1}}"};
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(parent, next, key, value)
    {
        char *name = strdup(key);
        json_incref(value);
        for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
            json_object_set_new(parent, name, json_loads(other[i], JSON_DECODE_ANY, NULL));
            char *dump = json_dumps(root, 0);
            reading r;
            start(&r);
            ek_status status = read_text(&r, table->reader, dump);
            assert_true(status == EK_OK || status == EK_ERR_INPUT);
            check_numbers(&r.rank);
            free(dump);
            end(&r);
        }
        json_object_set(parent, name, value);
        if (json_is_object(value) && depth < 8)
            change_values(root, value, table, depth + 1);
        json_decref(value);
        free(name);
    }
}

static void json_of_wrong_types_at_any_level_does_no_harm(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_TABLES; k++) {
        if (!tables[k].json)
            continue;
        json_t *root = json_load_file(fixture(tables[k].file), 0, NULL);
        assert_non_null(root);
        change_values(root, root, &tables[k], 0);
        json_decref(root);
        static const char *const roots[] = {"null", "[]", "\"x\"", "1", "[{\"step\": {\"p2p\": {}}}]", "[[[[[[]]]]]]"};
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
            reading r;
            start(&r);
            assert_int_equal(read_text(&r, tables[k].reader, roots[i]), EK_ERR_INPUT);
            end(&r);
        }
    }
}

static void a_cut_json_is_an_error_with_its_line(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_TABLES; k++) {
        if (!tables[k].json)
            continue;
        size_t size = 0;
        char *whole = slurp(fixture(tables[k].file), &size);
        assert_non_null(whole);
        for (size_t n = 0; n < size - 1; n += 1 + n / 64) {
            reading r;
            start(&r);
            assert_int_equal(read_bytes(&r, tables[k].reader, whole, n), EK_ERR_INPUT);
            int line = 1;
            for (size_t i = 0; i < n; i++)
                line += whole[i] == '\n';
            if (n > 0)
                assert_true(r.err.line >= 1 && r.err.line <= line && r.err.column >= 0);
            assert_true(strlen(r.err.message) > 10);
            assert_int_equal(r.rank.communication.n_comm_sums + r.rank.communication.n_links, 0);
            end(&r);
        }
        free(whole);
    }
    reading r;
    start(&r);
    assert_int_equal(read_text(&r, ek__table_communication, "{\n\"step\": {\"p2p\":\n {,}}"), EK_ERR_INPUT);
    assert_int_equal(r.err.line, 3);
    assert_int_equal(read_text(&r, ek__table_communication, " \n "), EK_ERR_INPUT);
    assert_non_null(strstr(r.err.message, "empty"));
    assert_int_equal(read_more(&r, ek__table_communication, "no/such.json"), EK_ERR_SYSTEM);
    assert_int_equal(read_more(&r, ek__table_communication, "/tmp"), EK_ERR_SYSTEM);
    assert_int_equal(read_more(&r, ek__table_memory_block, "no/such.csv"), EK_ERR_SYSTEM);
    assert_int_equal(read_more(&r, ek__table_memory_block, "/tmp"), EK_ERR_SYSTEM);
    end(&r);
}

static void words_of_python_are_no_numbers_and_texts_stay(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(
        read_text(&r, ek__table_communication,
                  "{\"step\": {\"p2p\": {}, \"collective\": {\"NaN \\\" -Infinity__@Infinity\": {\"Communication Time "
                  "Info\": {\"Elapse Time(ms)\": 1, \"x\": -Infinity, \"y\": NaN, \"z\": Infinity}}}}}"),
        EK_OK);
    assert_int_equal(r.rank.communication.n_comm_sums, 1);
    assert_string_equal(r.rank.communication.comm_sum[0].key, "NaN \" -Infinity@Infinity");
    end(&r);
}

/* Tables with bytes changed, cut or doubled at random: read, or refused with a message. */
static void damaged_tables_do_no_harm(void **state)
{
    (void)state;
    static const char bytes[] = ",\"\n\r\t-9{}[]N\0\xff"
                                "1eE.:/";
    for (size_t k = 0; k < N_TABLES; k++) {
        size_t size = 0;
        char *whole = slurp(fixture(tables[k].file), &size);
        assert_non_null(whole);
        for (int round = 0; round < 400; round++) {
            char *copy = malloc(size);
            assert_non_null(copy);
            memcpy(copy, whole, size);
            for (unsigned n = random_below(6); n > 0; n--)
                copy[random_below((unsigned)size)] = bytes[random_below(sizeof bytes - 1)];
            reading r;
            start(&r);
            ek_status status =
                read_bytes(&r, tables[k].reader, copy, random_below(3) ? size : random_below((unsigned)size));
            assert_true(status == EK_OK || status == EK_ERR_INPUT);
            if (status)
                assert_true(strlen(r.err.message) > 10);
            check_numbers(&r.rank);
            end(&r);
            free(copy);
        }
        free(whole);
    }
}

static void a_table_without_its_columns_is_refused(void **state)
{
    (void)state;
    static ek__table_reader *const readers[] = {
        ek__table_hccl_raw,     ek__table_memory_record, ek__table_operator_memory, ek__table_npu_module_mem,
        ek__table_memory_block, ek__table_minddata_raw,  ek__table_msprof_tx};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        reading r;
        start(&r);
        assert_int_equal(read_text(&r, readers[i], "a,b,c\n1,2,3\n"), EK_ERR_INPUT);
        assert_non_null(strstr(r.err.message, "no column"));
        assert_int_equal(r.err.line, 1);
        assert_int_equal(read_text(&r, readers[i], ""), EK_ERR_INPUT);
        end(&r);
    }
}

static void a_quote_that_never_closes_ends_a_table(void **state)
{
    (void)state;
    reading r;
    start(&r);
    assert_int_equal(read_text(&r, ek__table_memory_record, RECORD_HEADER "A,1,2,3,4,\n\"A,1,9,9,9,\nA,1,9,9,9,\n"),
                     EK_OK);
    assert_int_equal(r.rank.memory.n_rows, 1);
    assert_close_to(r.rank.memory.peak[0].allocated_mb, 2, 0);
    assert_non_null(r.source.problem);
    assert_non_null(strstr(r.source.problem, "line 3"));
    end(&r);
}

/* ---- the reference traces ---- */

static double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void check_same(double got, double expected, double tolerance)
{
    if (isnan(expected))
        assert_true(isnan(got));
    else
        assert_close_to(got, expected, tolerance);
}

static void check_section(const ek_trace_communication *c, const char *step, bool p2p, const json_t *expected)
{
    size_t n = 0;
    for (int i = 0; i < c->n_comm_sums; i++) {
        const ek_trace_comm_sum *s = &c->comm_sum[i];
        if (strcmp(s->step, step) != 0 || s->p2p != p2p)
            continue;
        n++;
        const json_t *e = json_object_get(expected, s->key);
        assert_non_null(e);
        assert_int_equal(s->count, (int)number_at(e, "count"));
        assert_close_to(s->elapse_ms, number_at(e, "elapse_ms"), 1e-4);
        assert_close_to(s->transit_ms, number_at(e, "transit_ms"), 1e-4);
        assert_close_to(s->wait_ms, number_at(e, "wait_ms"), 1e-4);
        assert_close_to(s->idle_ms, number_at(e, "idle_ms"), 1e-4);
    }
    assert_int_equal(n, json_object_size(expected));
}

static void check_comm_summary(const ek_trace_rank *rank, json_t *expected)
{
    const char *step;
    json_t *sections;
    json_object_foreach(expected, step, sections)
    {
        check_section(&rank->communication, step, true, json_object_get(sections, "p2p"));
        check_section(&rank->communication, step, false, json_object_get(sections, "collective"));
    }
}

static void check_link(const ek_trace_communication *c, int at, const json_t *expected)
{
    assert_string_equal(c->link[at].link, json_string_value(json_object_get(expected, "link")));
    assert_close_to(c->link[at].bandwidth_gbps, number_at(expected, "gbps"), 1e-3);
}

static void check_transports(const ek_trace_rank *rank, json_t *expected)
{
    const ek_trace_communication *c = &rank->communication;
    const char *name;
    json_t *e;
    assert_int_equal(c->n_transports, json_object_size(expected));
    json_object_foreach(expected, name, e)
    {
        const ek_trace_transport *t = find_transport(c, name);
        assert_int_equal(t->n_links, (int)number_at(e, "links"));
        assert_int_equal(t->n_ranked, (int)number_at(e, "ranked_links"));
        assert_close_to(t->total_size_mb, number_at(e, "total_size_mb"), 1e-6);
        assert_close_to(t->mean_gbps, number_at(e, "mean_gbps"), 1e-3);
        check_link(c, t->slowest, json_object_get(e, "slowest"));
        check_link(c, t->fastest, json_object_get(e, "fastest"));
    }
}

static void check_memory(const ek_trace_memory *m, json_t *expected)
{
    const char *component;
    json_t *e;
    json_t *peaks = json_object_get(expected, "peak_by_component");
    assert_int_equal(m->n_rows, (int)number_at(expected, "rows"));
    assert_int_equal(m->n_operator_rows, (int)number_at(expected, "operator_rows"));
    assert_int_equal(m->n_never_released, (int)number_at(expected, "never_released"));
    assert_int_equal(m->n_peaks, json_object_size(peaks));
    json_object_foreach(peaks, component, e)
    {
        int i = 0;
        while (i < m->n_peaks && strcmp(m->peak[i].component, component) != 0)
            i++;
        assert_true(i < m->n_peaks);
        check_same(m->peak[i].allocated_mb, number_at(e, "allocated_mb"), 1e-3);
        check_same(m->peak[i].reserved_mb, number_at(e, "reserved_mb"), 1e-3);
        check_same(m->peak[i].active_mb, number_at(e, "active_mb"), 1e-3);
    }
    const json_t *largest = json_object_get(expected, "largest_allocation");
    assert_string_equal(m->largest[0].name, json_string_value(json_object_get(largest, "name")));
    assert_close_to(m->largest[0].size_kb, number_at(largest, "size_kb"), 1e-3);
}

static void check_tracker(const ek_trace_tracker *t, json_t *expected)
{
    const char *type;
    json_t *bytes;
    json_t *live = json_object_get(expected, "live_at_peak_by_type");
    assert_int_equal(t->n_rows, (int64_t)number_at(expected, "rows"));
    assert_int_equal(t->n_pool_blocks, (int64_t)number_at(expected, "pool_blocks"));
    assert_int_equal(t->n_somas_rows, (int64_t)number_at(expected, "somas_rows"));
    assert_int_equal(t->peak_bytes, (int64_t)number_at(expected, "peak_bytes"));
    assert_int_equal(t->peak_tick, (int64_t)number_at(expected, "peak_tick"));
    assert_int_equal(t->never_freed_bytes, (int64_t)number_at(expected, "never_freed_bytes"));
    assert_int_equal(t->max_actual_peak_bytes, (int64_t)number_at(expected, "max_actual_peak_memory"));
    assert_int_equal(t->n_live, json_object_size(live));
    json_object_foreach(live, type, bytes)
    {
        int i = 0;
        while (i < t->n_live && strcmp(t->live[i].type, type) != 0)
            i++;
        assert_true(i < t->n_live);
        assert_int_equal(t->live[i].bytes, (int64_t)json_number_value(bytes));
    }
}

static void check_pipeline(const ek_trace_data *d, json_t *expected)
{
    json_t *ops = json_object_get(expected, "ops");
    assert_int_equal(d->n_ops, json_array_size(ops));
    for (int i = 0; i < d->n_ops; i++) {
        const json_t *e = json_array_get(ops, (size_t)i), *parent = json_object_get(e, "parent");
        assert_int_equal(d->op[i].id, (int)number_at(e, "id"));
        assert_int_equal(d->op[i].workers, (int)number_at(e, "workers"));
        assert_string_equal(d->op[i].type, json_string_value(json_object_get(e, "type")));
        check_same(d->op[i].queue_average, number_at(e, "queue_average"), 1e-6);
        check_same(d->op[i].queue_length, number_at(e, "queue_length"), 1e-6);
        check_same(d->op[i].usage_rate, number_at(e, "usage_rate"), 1e-6);
        assert_int_equal(d->op[i].parent, json_is_string(parent) ? atoi(json_string_value(parent)) : -1);
    }
    assert_int_equal(d->near_empty_queue, json_is_true(json_object_get(expected, "near_empty_output_queue")));
}

/* Links of hccl_raw by name; the slowest of all ranks. */
static void check_raw_links(ek_trace_run *run, json_t *expected)
{
    const char *name;
    json_t *e;
    size_t n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += (size_t)run->rank[i].communication.n_links;
    assert_int_equal(n, json_object_size(json_object_get(expected, "links")));
    json_object_foreach(json_object_get(expected, "links"), name, e)
    {
        const ek_trace_link *link = find_link(&run->rank[name[4] - '0'].communication, name);
        /* As printed: 6, 4 and 1 decimals. */
        assert_close_to(link->time_ms, number_at(e, "time_ms"), 0.51e-6);
        assert_close_to(link->size_kb, number_at(e, "size_kb"), 0.51e-4);
        assert_close_to(link->bytes_per_s, number_at(e, "bytes_per_s"), 0.051);
    }
    ek_error err = {0};
    run->pool = run->rank[0].pool;
    assert_int_equal(ek__compare_links(&(ek_trace_options){0}, run, &err), EK_OK);
    assert_int_equal(run->n_transports, 1);
    assert_string_equal(run->transport[0].slowest.name, json_string_value(json_object_get(expected, "slowest")));
}

static ek__table_reader *reader_of(const char *file)
{
    static const struct {
        const char *name;
        ek__table_reader *reader;
    } known[] = {{"/communication.json", ek__table_communication},
                 {"/communication_matrix.json", ek__table_communication_matrix},
                 {"/hccl_raw_", ek__table_hccl_raw},
                 {"/memory_record.csv", ek__table_memory_record},
                 {"/operator_memory.csv", ek__table_operator_memory},
                 {"/memory_block.csv", ek__table_memory_block},
                 {"/minddata_pipeline_raw_", ek__table_minddata_raw}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(file, known[i].name))
            return known[i].reader;
    return NULL;
}

static void check_case(const char *kind, reading *r, size_t n, json_t *expected)
{
    if (strcmp(kind, "comm_summary") == 0) {
        check_comm_summary(&r->rank, expected);
    } else if (strcmp(kind, "link_bandwidth") == 0 && json_object_get(expected, "links")) {
        ek_trace_rank rank[8];
        for (size_t i = 0; i < n; i++)
            rank[i] = r[i].rank;
        check_raw_links(&(ek_trace_run){.n_ranks = (int)n, .rank = rank}, expected);
    } else if (strcmp(kind, "link_bandwidth") == 0) {
        check_transports(&r->rank, expected);
    } else if (json_object_get(expected, "peak_tick")) {
        check_tracker(&r->rank.memory.tracker, expected);
    } else if (strcmp(kind, "memory_peak") == 0) {
        check_memory(&r->rank.memory, expected);
    } else {
        check_pipeline(&r->rank.data, expected);
    }
}

/* Read the files of a case: into one rank, but hccl_raw's into one each. False when they are not of these kinds. */
static bool replay(const char *folder, const json_t *one)
{
    const char *kind = json_string_value(json_object_get(one, "command_kind"));
    const json_t *files = json_object_get(one, "files");
    static const char *const kinds[] = {"comm_summary", "link_bandwidth", "memory_peak", "data_loading"};
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    if (!known || !reader_of(json_string_value(json_array_get(files, 0))))
        return false;
    reading r[8];
    size_t n = 0, n_files = json_array_size(files);
    assert_true(n_files <= 8);
    for (size_t i = 0; i < n_files; i++) {
        const char *file = json_string_value(json_array_get(files, i));
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, file);
        if (n == 0 || reader_of(file) == ek__table_hccl_raw)
            start(&r[n++]);
        read_well(&r[n - 1], reader_of(file), path);
        assert_null(r[n - 1].source.problem);
    }
    check_case(kind, r, n, json_object_get(one, "expected"));
    for (size_t i = 0; i < n; i++)
        end(&r[i]);
    return true;
}

static void reference_traces_have_their_known_values(void **state)
{
    (void)state;
    const char *folder[MAX_TRACE_REFERENCES];
    int n_references = trace_references(folder);
    for (int r = 0; r < n_references; r++) {
        static const int least[MAX_TRACE_REFERENCES] = {27, 11};
        char path[4096];
        snprintf(path, sizeof path, "%s/expected.json", folder[r]);
        json_t *root = json_load_file(path, 0, NULL);
        assert_non_null(root);
        const json_t *cases = json_object_get(root, "cases");
        int n_replayed = 0;
        for (size_t i = 0; i < json_array_size(cases); i++)
            n_replayed += replay(folder[r], json_array_get(cases, i));
        print_message("# %d cases\n", n_replayed);
        assert_true(n_replayed >= least[r]);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_are_summed_per_step_type_and_group),
        cmocka_unit_test(operators_that_cannot_be_read_are_named),
        cmocka_unit_test(random_operators_sum_as_a_slow_reader_sums_them),
        cmocka_unit_test(links_are_summed_from_totals_over_all_steps),
        cmocka_unit_test(older_files_count_every_operator),
        cmocka_unit_test(random_links_are_ranked_as_a_slow_reader_ranks_them),
        cmocka_unit_test(a_slow_link_shows_among_those_of_other_ranks),
        cmocka_unit_test(memory_peaks_are_kept_per_component_and_column),
        cmocka_unit_test(a_long_curve_is_thinned_and_keeps_its_peaks),
        cmocka_unit_test(a_short_curve_keeps_every_point),
        cmocka_unit_test(snapshots_are_the_same_pickled_and_as_json),
        cmocka_unit_test(what_is_no_snapshot_is_told),
        cmocka_unit_test(entries_of_other_shapes_are_left_out),
        cmocka_unit_test(allocations_of_operators_become_a_map_of_each_device),
        cmocka_unit_test(the_largest_and_the_kept_allocations_are_found),
        cmocka_unit_test(modules_are_kept_by_what_they_reserved),
        cmocka_unit_test(the_tracker_is_read_in_all_three_generations),
        cmocka_unit_test(random_blocks_peak_where_counting_tick_by_tick_says),
        cmocka_unit_test(blocks_that_cannot_be_are_left_out),
        cmocka_unit_test(the_queue_that_feeds_training_is_the_one_nearest_to_the_root),
        cmocka_unit_test(times_per_batch_are_read_sideways_and_upright),
        cmocka_unit_test(marks_take_their_unit_from_the_header),
        cmocka_unit_test(json_of_wrong_types_at_any_level_does_no_harm),
        cmocka_unit_test(a_cut_json_is_an_error_with_its_line),
        cmocka_unit_test(words_of_python_are_no_numbers_and_texts_stay),
        cmocka_unit_test(damaged_tables_do_no_harm),
        cmocka_unit_test(a_table_without_its_columns_is_refused),
        cmocka_unit_test(a_quote_that_never_closes_ends_a_table),
        cmocka_unit_test(reference_traces_have_their_known_values),
        cmocka_unit_test(traces_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
