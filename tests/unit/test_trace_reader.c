/* Tests the event reader. The oracle writes the events itself, in every form a profiler might, and knows the expected
 * result: key order, spacing, quoting, escapes, place of the metadata, compression, number of threads and cuts at every
 * byte have no other effect than the expected one. */
#include "input.h"

#include <math.h>
#include <stdint.h>
#include <unistd.h>
#include <zlib.h>

#include "effort.h"
#include "trace/scan/part.h"
#include "trace/scan/structure.h"

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % n);
}

/* ---- texts ---- */

typedef struct text {
    char *at;
    size_t size, capacity;
} text;

static void put_bytes(text *t, const char *bytes, size_t size)
{
    if (t->size + size + 1 > t->capacity) {
        t->capacity = 2 * (t->size + size + 1);
        t->at = realloc(t->at, t->capacity);
        assert_non_null(t->at);
    }
    memcpy(t->at + t->size, bytes, size);
    t->size += size;
    t->at[t->size] = '\0';
}

__attribute__((format(printf, 2, 3))) static void print(text *t, const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(n >= 0 && n < (int)sizeof line);
    put_bytes(t, line, (size_t)n);
}

/* ---- reading bytes as a file ---- */

typedef struct result {
    ek_status status;
    ek_error err;
    ek__pool *pool;
    ek_trace_source source;
    ek__trace trace;
} result;

static void read_path(const char *path, int n_threads, result *r)
{
    *r = (result){.pool = ek__pool_new()};
    assert_non_null(r->pool);
    r->status = ek__trace_read(&path, 1, n_threads, NULL, r->pool, &r->source, &r->trace, &r->err);
}

static void read_text(const char *bytes, size_t size, int n_threads, bool compressed, result *r)
{
    char path[] = "/tmp/evenkeel_traceXXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    if (compressed) {
        gzFile gz = gzdopen(fd, "wb1");
        assert_int_equal(gzwrite(gz, bytes, (unsigned)size), (int)size);
        assert_int_equal(gzclose(gz), Z_OK);
    } else {
        assert_int_equal(write(fd, bytes, size), (ssize_t)size);
        close(fd);
    }
    read_path(path, n_threads, r);
    unlink(path);
}

static void release(result *r)
{
    if (r->status == EK_OK)
        ek__trace_clear(&r->trace);
    ek__pool_free(r->pool);
}

static const ek__event *kernel(const result *r, size_t i)
{
    return &r->trace.of[EK__EVENT_KERNEL].event[i];
}

static const char *name_of(const result *r, const ek__event *e)
{
    return ek__trace_name(&r->trace, e->name);
}

/* ---- random traces in random forms ---- */

enum { N_RANDOM = 400, MAX_EVENTS = 60 };

typedef struct truth {
    int64_t start, duration;
    char name[64]; /* as it must come out */
    int pid, tid;
    unsigned correlation;
} truth;

typedef struct form {
    bool object, pretty, string_times, header_behind, bom;
} form;

static void blank(text *t, const form *f)
{
    static const char *const blanks[] = {"", " ", "\n  ", "\t", " \r\n"};
    print(t, "%s", f->pretty ? blanks[random_below(5)] : "");
}

/* A name as JSON and as it must be read. */
static void random_name(char *json, char *plain)
{
    static const char *const piece[][2] = {{"gemm", "gemm"},
                                           {"\\\"", "\""},
                                           {"\\\\", "\\"},
                                           {"{", "{"},
                                           {"}", "}"},
                                           {"[]", "[]"},
                                           {"\\u00e9", "\xc3\xa9"},
                                           {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
                                           {"\\/", "/"},
                                           {", ", ", "},
                                           {"\\n", "\n"},
                                           {"\xe4\xbd\xa0", "\xe4\xbd\xa0"},
                                           {"\\\\\\\"", "\\\""},
                                           /* no characters: nul, halves of pairs */
                                           {"\\u0000", "\xef\xbf\xbd"},
                                           {"\\ud800 ", "\xef\xbf\xbd "},
                                           {"\\uDFFF", "\xef\xbf\xbd"},
                                           {"\\uD83Dx", "\xef\xbf\xbdx"},
                                           {"\\b\\f\\r\\t", "\b\f\r\t"}};
    enum { N_PIECES = sizeof piece / sizeof *piece };
    size_t n_json = 0, n_plain = 0;
    for (unsigned n = 1 + random_below(5); n > 0; n--) {
        unsigned i = random_below(N_PIECES);
        n_json += (size_t)snprintf(json + n_json, 16, "%s", piece[i][0]);
        n_plain += (size_t)snprintf(plain + n_plain, 16, "%s", piece[i][1]);
    }
}

static void put_time(text *t, const char *key, int64_t ns, const form *f)
{
    const char *quote = f->string_times ? "\"" : "";
    print(t, "\"%s\":%s%s%lld.%03d%s", key, f->pretty ? " " : "", quote, (long long)(ns / 1000), (int)(ns % 1000),
          quote);
}

/* The members of an event in random order. */
static void put_event(text *t, const truth *e, const char *json_name, const form *f)
{
    int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 7; i > 0; i--) {
        int j = (int)random_below((unsigned)i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    print(t, "{");
    for (int i = 0; i < 8; i++) {
        blank(t, f);
        print(t, "%s", i > 0 ? "," : "");
        blank(t, f);
        switch (order[i]) {
        case 0:
            print(t, "\"ph\":\"X\"");
            break;
        case 1:
            print(t, "\"name\": \"%s\"", json_name);
            break;
        case 2:
            print(t, "\"cat\":\"kernel\"");
            break;
        case 3:
            print(t, random_below(2) ? "\"pid\":%d" : "\"pid\":\"%d\"", e->pid);
            break;
        case 4:
            print(t, random_below(2) ? "\"tid\": %d" : "\"tid\":\"%d\"", e->tid);
            break;
        case 5:
            put_time(t, "ts", e->start, f);
            break;
        case 6:
            put_time(t, "dur", e->duration, f);
            break;
        default:
            print(t,
                  "\"args\":{\"x\":{\"correlation\":7,\"y\":[1,{\"z\":\"}\"}]},\"correlation\": %u, \"s\":\"]\\\"\"}",
                  e->correlation);
        }
    }
    blank(t, f);
    print(t, "}");
}

static int compare_truth(const void *a, const void *b)
{
    const truth *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->duration > y->duration ? -1 : x->duration < y->duration;
}

/* Starts are distinct, so that the order is known. */
static int make_trace(text *t, truth *all, const form *f)
{
    int n = (int)random_below(MAX_EVENTS);
    const char *header = "\"schemaVersion\": 1, \"other\":{\"traceEvents\":[{}]}, \"distributedInfo\":{\"rank\": 5}";
    if (f->bom)
        print(t, "\xef\xbb\xbf");
    blank(t, f);
    if (f->object)
        print(t, "{%s%s \"traceEvents\" :", f->header_behind ? "" : header, f->header_behind ? "" : ",");
    print(t, "[");
    for (int i = 0; i < n; i++) {
        char json[128];
        truth *e = &all[i];
        *e = (truth){.start = 1700000000000000000 + 1000 * (int64_t)random_below(1000000) + i,
                     .duration = random_below(100000),
                     .pid = (int)random_below(3),
                     .tid = (int)random_below(4),
                     .correlation = 1 + random_below(1000)};
        random_name(json, e->name);
        blank(t, f);
        print(t, "%s", i > 0 ? "," : "");
        blank(t, f);
        if (random_below(4) == 0)
            print(t, "{\"name\":\"c\",\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":\"{\"}},{\"name\": \"d\", \"ph\": \"C\"},");
        put_event(t, e, json, f);
    }
    blank(t, f);
    print(t, "]");
    if (f->object && f->header_behind)
        print(t, ",%s", header);
    print(t, "%s\n", f->object ? "}" : "");
    qsort(all, (size_t)n, sizeof *all, compare_truth);
    return n;
}

static void check_trace(const result *r, const truth *all, int n, const form *f)
{
    assert_int_equal(r->status, EK_OK);
    assert_null(r->source.problem);
    assert_int_equal(r->trace.of[EK__EVENT_KERNEL].n, n);
    assert_int_equal(r->trace.rank, f->object ? 5 : EK_TRACE_NO_RANK);
    for (int i = 0; i < n; i++) {
        const ek__event *e = kernel(r, (size_t)i);
        assert_int_equal(e->start, all[i].start);
        assert_int_equal(e->duration, all[i].duration);
        assert_int_equal(e->link, all[i].correlation);
        assert_string_equal(name_of(r, e), all[i].name);
        assert_int_equal(r->trace.track[e->track].pid_number, all[i].pid);
        assert_int_equal(r->trace.track[e->track].tid_number, all[i].tid);
    }
}

static void any_form_reads_the_same(void **state)
{
    (void)state;
    random_state = 88172645463325252u;
    for (int i = 0; i < N_RANDOM; i++) {
        form f = {random_below(2), random_below(2), random_below(2), random_below(2), random_below(4) == 0};
        truth all[MAX_EVENTS];
        text t = {0};
        result r;
        int n = make_trace(&t, all, &f);
        read_text(t.at, t.size, 1 + (int)random_below(3), random_below(3) == 0, &r);
        check_trace(&r, all, n, &f);
        release(&r);
        free(t.at);
    }
}

/* ---- cut and damaged files ---- */

static void a_file_cut_anywhere_keeps_its_whole_events(void **state)
{
    (void)state;
    static const form f = {.object = true, .pretty = true, .string_times = true};
    truth all[MAX_EVENTS];
    text t = {0};
    random_state = 4711;
    make_trace(&t, all, &f);
    /* The ends of events come from a scan that only knows strings. */
    size_t begin = (size_t)(strstr(t.at, "\"traceEvents\" :[") - t.at) + 16;
    for (size_t cut = 0; cut < t.size; cut += 1 + random_below(7)) {
        int64_t n_events = 0, depth = 0;
        bool in_string = false, closed = false;
        for (size_t i = begin; i < cut && !closed; i++) {
            if (in_string && t.at[i] == '\\')
                i++;
            else if (t.at[i] == '"')
                in_string = !in_string;
            else if (!in_string && (t.at[i] == '{' || t.at[i] == '['))
                depth++;
            else if (!in_string && (t.at[i] == '}' || t.at[i] == ']')) {
                closed = depth == 0;
                n_events += --depth == 0 && !closed;
            }
        }
        result r;
        read_text(t.at, cut, 2, false, &r);
        if (cut < begin) {
            assert_int_equal(r.status, EK_ERR_INPUT);
            assert_non_null(strstr(r.err.message, cut == 0 ? "the file is empty" : "no trace events"));
        } else {
            assert_int_equal(r.status, EK_OK);
            assert_int_equal(r.trace.counts.n_items, n_events);
            assert_true(cut + 2 >= t.size || r.source.problem != NULL);
        }
        release(&r);
    }
    free(t.at);
}

static bool same_events(const result *a, const result *b)
{
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++) {
        ek__slice x = a->trace.of[kind], y = b->trace.of[kind];
        if (x.n != y.n || (x.n > 0 && memcmp(x.event, y.event, x.n * sizeof *x.event) != 0))
            return false;
    }
    return a->trace.counts.n_items == b->trace.counts.n_items && a->trace.n_names == b->trace.n_names &&
           a->source.problem_offset == b->source.problem_offset;
}

static void damage_anywhere_ends_in_a_message(void **state)
{
    (void)state;
    static const char noise[] = "\"\\{}[],: \0\xff"
                                "0x";
    truth all[MAX_EVENTS];
    random_state = 1234567;
    for (int i = 0; i < 600; i++) {
        form f = {random_below(2), random_below(2), random_below(2), random_below(2), false};
        text t = {0};
        result a, b;
        make_trace(&t, all, &f);
        for (unsigned n = 1 + random_below(4); n > 0; n--)
            t.at[random_below((unsigned)t.size)] = noise[random_below(sizeof noise)];
        read_text(t.at, t.size, 1, false, &a);
        read_text(t.at, t.size, 3, false, &b);
        assert_int_equal(a.status, b.status);
        if (a.status == EK_OK)
            assert_true(same_events(&a, &b));
        else
            assert_true(a.err.message[0]);
        release(&a);
        release(&b);
        free(t.at);
    }
}

typedef struct odd_case {
    const char *text;
    ek_status status;
    int64_t n_items, n_odd;
    size_t n_kernels;
    const char *problem; /* part of it, or of the error */
} odd_case;

#define KERNEL "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":2}"
#define NEXT   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":2,\"ts\":8,\"dur\":2}"

static void odd_files_are_told_apart(void **state)
{
    (void)state;
    static const odd_case cases[] = {
        {"", EK_ERR_INPUT, 0, 0, 0, "the file is empty"},
        {"   \n", EK_ERR_INPUT, 0, 0, 0, "no trace events"},
        {"hello", EK_ERR_INPUT, 0, 0, 0, "no trace events"},
        {"{}", EK_ERR_INPUT, 0, 0, 0, "no trace events"},
        {"{\"schema\":\"1.0.1\",\"nodes\":[{\"id\":1}]}", EK_ERR_INPUT, 0, 0, 0, "PyTorch execution trace"},
        {"[]", EK_OK, 0, 0, 0, NULL},
        {"{\"traceEvents\":[]}", EK_OK, 0, 0, 0, NULL},
        {"{\"traceEvents\":[", EK_OK, 0, 0, 0, "without the ']'"},
        {"[" KERNEL "]", EK_OK, 1, 0, 1, NULL},
        {"[" KERNEL ",{}]", EK_OK, 2, 1, 1, NULL},
        {"[" KERNEL "," NEXT "]", EK_OK, 2, 0, 2, NULL},
        {"[" KERNEL "," KERNEL "]", EK_OK, 2, 0, 1, NULL}, /* a copy */
        {"[" KERNEL "]," KERNEL "]", EK_OK, 1, 0, 1, "data after the end of the JSON text is not read, at byte 69"},
        {"{\"traceEvents\":[" KERNEL "],\"a\":[1]} {}", EK_OK, 1, 0, 1, "data after the end"},
        {"[" KERNEL " 7]", EK_OK, 1, 0, 1, "no valid JSON at byte"},
        {"[null,\"x\",[{\"ph\":\"X\"},2]," KERNEL ",-1.5e3 , " NEXT ",true]", EK_OK, 7, 5, 2, NULL},
        {"[" KERNEL ",nul," KERNEL "]", EK_OK, 1, 0, 1, "no valid JSON at byte 69"},
        {"[" KERNEL ",\"a\" 7]", EK_OK, 2, 1, 1, "no valid JSON at byte"},
        {"{\"schemaVersion\":1,\"traceEvents\":[" KERNEL
         ",{\"ph\":\"X\",\"name\":\"x\",\"pid\":\"Spans\",\"ts\":1,\"dur\":1}]}",
         EK_OK, 2, 0, 1, NULL},
        {"[" KERNEL ",{\"ph\" \"X\"}," KERNEL "]", EK_OK, 1, 0, 1, "no valid JSON at byte 75"},
        {"[" KERNEL ",{\"ph\":\"X\",\"name\":\"open]", EK_OK, 1, 0, 1, "truncated inside an event"},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":NaN,\"dur\":1}," KERNEL "]", EK_OK, 2, 1, 1, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":Infinity}," KERNEL "]", EK_OK, 2, 1, 1,
         NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1e300,\"dur\":1}," KERNEL "]", EK_OK, 2, 1, 1, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":{\"a\":1},\"dur\":1}]", EK_OK, 1, 1, 0, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":7,\"ts\":1,\"dur\":1}]", EK_OK, 1, 1, 0, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1}]", EK_OK, 1, 1, 0, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1}]", EK_OK, 1, 0, 1, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":-5}]", EK_OK, 1, 0, 1, NULL},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\xff\x01z\",\"ts\":1,\"dur\":5}]", EK_OK, 1, 0, 1, NULL},
        {"[{\"name\":\"\\\"ph\\\":\\\"C\\\"\",\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":5}]", EK_OK, 1, 0, 1,
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const odd_case *c = &cases[i];
        result r;
        read_text(c->text, strlen(c->text), 1, false, &r);
        const char *told = r.status == EK_OK ? r.source.problem : r.err.message;
        if (r.status != c->status ||
            (c->problem ? !told || !strstr(told, c->problem) : told != NULL && r.status == EK_OK))
            fail_msg("%s: status %d, %s", c->text, r.status, told ? told : "no problem");
        if (r.status == EK_OK) {
            assert_int_equal(r.trace.counts.n_items, c->n_items);
            assert_int_equal(r.trace.counts.n_odd, c->n_odd);
            assert_int_equal(r.trace.of[EK__EVENT_KERNEL].n, c->n_kernels);
        }
        release(&r);
    }
}

static void deep_nesting_is_no_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    text t = {0};
    result r;
    print(&t, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":1,\"args\":{\"a\":");
    for (int i = 0; i < DEPTH; i++)
        put_bytes(&t, "[", 1);
    for (int i = 0; i < DEPTH; i++)
        put_bytes(&t, "]", 1);
    print(&t, "}}," KERNEL "]");
    read_text(t.at, t.size, 1, false, &r);
    assert_int_equal(r.status, EK_OK);
    assert_int_equal(r.trace.of[EK__EVENT_KERNEL].n, 2);
    release(&r);
    read_text(t.at, 1000, 1, false, &r);
    assert_int_equal(r.status, EK_OK);
    assert_non_null(strstr(r.source.problem, "truncated inside an event"));
    release(&r);
    free(t.at);
}

/* ---- many blocks ---- */

/* Events of all sizes over several blocks, some longer than a block, quotes and backslashes everywhere. */
static int64_t put_large(text *t, int64_t n_bytes)
{
    int64_t n = 0;
    print(t, "[");
    while ((int64_t)t->size < n_bytes) {
        unsigned kind = random_below(1000);
        print(t,
              "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel %lld\",\"pid\":1,\"tid\":%u,\"ts\":\"%lld.%03lld\","
              "\"dur\":1,\"args\":{\"x\":\"",
              n > 0 ? "," : "", (long long)(n % 5000), random_below(9), (long long)n, (long long)(n % 1000));
        for (unsigned i = kind == 0 ? 3000000 : random_below(300); i > 0; i--) {
            static const char *const piece[] = {"a", "{", "}", "]", "\\\\", "\\\"", " ", ",", ":", "\\u0041"};
            const char *p = piece[random_below(10)];
            put_bytes(t, p, strlen(p));
        }
        print(t, "\"}}");
        n++;
    }
    print(t, "]");
    return n;
}

static void threads_and_blocks_change_nothing(void **state)
{
    (void)state;
    text t = {0};
    random_state = 99;
    int64_t n = put_large(&t, 12 << 20);
    result one, four, packed;
    read_text(t.at, t.size, 1, false, &one);
    read_text(t.at, t.size, 4, false, &four);
    read_text(t.at, t.size, 4, true, &packed);
    assert_int_equal(one.status, EK_OK);
    assert_null(one.source.problem);
    assert_int_equal(one.trace.of[EK__EVENT_KERNEL].n, n);
    for (int64_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel %lld", (long long)(i % 5000));
        assert_int_equal(kernel(&one, (size_t)i)->start, 1000 * i + i % 1000);
        assert_string_equal(name_of(&one, kernel(&one, (size_t)i)), name);
    }
    assert_true(same_events(&one, &four));
    assert_true(same_events(&one, &packed));
    release(&one);
    release(&four);
    release(&packed);
    free(t.at);
}

static void a_damaged_place_ends_many_blocks_there(void **state)
{
    (void)state;
    text t = {0};
    random_state = 5;
    put_large(&t, 6 << 20);
    for (int i = 0; i < effort(12, 3); i++) {
        size_t place = 100 + random_below((unsigned)t.size - 200);
        char before = t.at[place];
        result one, four;
        t.at[place] = '"';
        read_text(t.at, t.size, 1, false, &one);
        read_text(t.at, t.size, 4, false, &four);
        t.at[place] = before;
        assert_int_equal(one.status, EK_OK);
        assert_int_equal(four.status, EK_OK);
        assert_true(same_events(&one, &four));
        release(&one);
        release(&four);
    }
    free(t.at);
}

/* Kernels read from a compressed text of which the last bytes are cut and one is wrong. */
static size_t kernels_of_damaged(const text *t, double keep, int wrong_from_end)
{
    char path[] = "/tmp/evenkeel_traceXXXXXX", byte;
    int fd = mkstemp(path);
    gzFile gz = gzdopen(dup(fd), "wb1");
    assert_int_equal(gzwrite(gz, t->at, (unsigned)t->size), (int)t->size);
    gzclose(gz);
    off_t size = (off_t)((double)lseek(fd, 0, SEEK_END) * keep);
    assert_int_equal(ftruncate(fd, size), 0);
    if (wrong_from_end > 0) {
        assert_int_equal(pread(fd, &byte, 1, size - wrong_from_end), 1);
        byte = (char)(byte ^ 1);
        assert_int_equal(pwrite(fd, &byte, 1, size - wrong_from_end), 1);
    }
    close(fd);
    result r;
    read_path(path, 2, &r);
    unlink(path);
    bool damaged = keep < 1 || wrong_from_end > 0;
    assert_int_equal(r.status, EK_OK);
    const char *problem = r.source.problem ? r.source.problem : "";
    assert_int_equal(*problem != '\0', damaged);
    assert_int_equal(strstr(problem, "compressed file is damaged or truncated") != NULL, damaged);
    assert_null(strstr(problem, "<fd"));
    size_t n = r.trace.of[EK__EVENT_KERNEL].n;
    release(&r);
    return n;
}

static void damaged_compressed_files_give_what_is_before_the_damage(void **state)
{
    (void)state;
    text t = {0};
    random_state = 6;
    put_large(&t, 3 << 20);
    size_t n = kernels_of_damaged(&t, 1, 0);
    assert_true(kernels_of_damaged(&t, 0.5, 0) > n * 4 / 10);
    assert_true(kernels_of_damaged(&t, 1, 6) > n * 9 / 10); /* a wrong checksum after the last byte */
    free(t.at);
}

/* ---- structure bits: every way that is here, against a byte-wise state machine ---- */

static void structure_bits_agree_with_bytes(void **state)
{
    (void)state;
    static const char pick[] = "\"\"\"\\\\\\{}[],: a\n\t0";
    enum { SIZE = 1000 };
    ek__block block = {.data = malloc(SIZE + 128), .capacity = SIZE + 128};
    uint64_t *bits = malloc(4 * 32 * sizeof *bits);
    block.quote = bits, block.open = bits + 32, block.close = bits + 64, block.stop = bits + 96;
    random_state = 17;
    const ek__structure_way *way = ek__structure_ways;
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < SIZE; i++)
            block.data[i] = random_below(3) ? pick[random_below(sizeof pick - 1)] : (char)random_below(256);
        ek__block_index(&block, SIZE, way);
        do /* the next round with the next way that is here */
            way = way->vectors == EK__VECTORS_NONE ? ek__structure_ways : way + 1;
        while (!ek__vectors_here(way->vectors));
        bool in_string = false, escaped = false;
        for (int i = 0; i < SIZE; i++) {
            unsigned char c = (unsigned char)block.data[i];
            bool quote = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            bool open = !in_string && (c == '{' || c == '['), close = !in_string && (c == '}' || c == ']');
            uint64_t bit = UINT64_C(1) << i % 64;
            assert_int_equal(!!(block.quote[i / 64] & bit), quote);
            if (quote)
                in_string = !in_string;
            else if (!in_string) {
                bool stop = c <= 0x20 || c == ',' || open || close; /* quotes are in_string */
                assert_int_equal(!!(block.open[i / 64] & bit), open);
                assert_int_equal(!!(block.close[i / 64] & bit), close);
                assert_int_equal(!!(block.stop[i / 64] & bit), stop);
            }
        }
    }
    free(bits);
    free(block.data);
}

/* Many names of one size with the same middle and end; and bytes with a different meaning inside quotes. */
static void names_alike_are_told_apart(void **state)
{
    (void)state;
    enum { N_NAMES = 300, N_TIMES = 3 };
    text t = {0};
    result r;
    print(&t, "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"first\", \"pid\": x\\ty, \"tid\": 1, \"ts\": 1, "
              "\"dur\": 1},\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"x\\ty\", \"pid\": 1, \"tid\": 1, "
              "\"ts\": 2, \"dur\": 1}");
    for (int i = 0; i < N_NAMES * N_TIMES; i++)
        print(&t,
              ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%03d_with_the_same_middle_and_the_same_end\", "
              "\"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": 1}",
              i % N_NAMES, i + 3);
    print(&t, "]");
    read_text(t.at, t.size, 1, false, &r);
    assert_int_equal(r.status, EK_OK);
    assert_int_equal(r.trace.of[EK__EVENT_KERNEL].n, N_NAMES * N_TIMES + 2);
    assert_string_equal(name_of(&r, kernel(&r, 0)), "first");
    assert_string_equal(name_of(&r, kernel(&r, 1)), "x\ty");
    for (int i = 0; i < N_NAMES * N_TIMES; i++) {
        char name[64];
        snprintf(name, sizeof name, "%03d_with_the_same_middle_and_the_same_end", i % N_NAMES);
        assert_string_equal(name_of(&r, kernel(&r, (size_t)i + 2)), name);
        assert_int_equal(kernel(&r, (size_t)i + 2)->name, kernel(&r, (size_t)(i % N_NAMES) + 2)->name);
    }
    release(&r);
    free(t.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_form_reads_the_same),
        cmocka_unit_test(a_file_cut_anywhere_keeps_its_whole_events),
        cmocka_unit_test(damage_anywhere_ends_in_a_message),
        cmocka_unit_test(odd_files_are_told_apart),
        cmocka_unit_test(deep_nesting_is_no_recursion),
        cmocka_unit_test(threads_and_blocks_change_nothing),
        cmocka_unit_test(a_damaged_place_ends_many_blocks_there),
        cmocka_unit_test(damaged_compressed_files_give_what_is_before_the_damage),
        cmocka_unit_test(names_alike_are_told_apart),
        cmocka_unit_test(structure_bits_agree_with_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
