/* Tests index files against brute force: random traces in every form a profiler might write are parsed as JSON trees,
 * sorted with qsort, nested, paired and summed in the simplest way, and compared with the file's content. The file is
 * the same for any number of threads and any amount of memory. */
#include "failing_heap.h"
#include "index_view.h"
#include "input.h"
#include "made_traces.h"
#include "skip.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/random.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_index.h"
#include "index/checks.h"
#include "index/opened.h"
#include "index/write.h"
#include "trace/scan/gunzip.h"

/* ---- allocations that fail ---- */

static long allocations, failing = -1; /* of one thread only */

static bool fails(void)
{
    return failing >= 0 && allocations++ == failing;
}

FAILING_HEAP(fails)

/* ---- texts ---- */

typedef struct text {
    char *at;
    size_t size, capacity;
    size_t n_events, events_capacity;
    size_t *behind; /* [n_events] byte after each event */
} text;

__attribute__((format(printf, 2, 3))) static void print(text *t, const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(n >= 0 && n < (int)sizeof line);
    if (t->size + (size_t)n + 1 > t->capacity) {
        t->capacity = 2 * (t->size + (size_t)n + 1);
        t->at = realloc(t->at, t->capacity);
        assert_non_null(t->at);
    }
    memcpy(t->at + t->size, line, (size_t)n + 1);
    t->size += (size_t)n;
}

static void end_event(text *t)
{
    if (t->n_events == t->events_capacity) {
        t->events_capacity = 2 * t->events_capacity + 16;
        t->behind = realloc(t->behind, t->events_capacity * sizeof *t->behind);
        assert_non_null(t->behind);
    }
    t->behind[t->n_events++] = t->size;
}

static void clear_text(text *t)
{
    free(t->at);
    free(t->behind);
    *t = (text){0};
}

/* ---- files ---- */

static char folder[] = "/tmp/evenkeel_index_writeXXXXXX";

static const char *path_of(const char *name)
{
    static char path[4][256];
    static int next;
    char *own = path[next++ % 4];
    snprintf(own, sizeof path[0], "%s/%s", folder, name);
    return own;
}

static void write_bytes(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_compressed(const char *name, const char *bytes, size_t size, const char *mode)
{
    gzFile file = gzopen(path_of(name), mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Files of the folder but those named: temporary ones must not stay. */
static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(dir);
    return n;
}

static ek_status index_file(const char *name, int n_threads, size_t bound, ek__index_written *out, ek_error *err)
{
    ek_trace_index_options options = {.n_threads = n_threads};
    return ek__index_write_within(path_of(name), path_of("out.index"), &options, 0, 1, bound, out, err);
}

/* A view of a trace's text, in separate memory. */
static char *index_of(const char *name, int n_threads, size_t bound, index_view *view, ek__index_written *out)
{
    ek_error err = {0};
    size_t size = 0;
    ek_status status = index_file(name, n_threads, bound, out, &err);
    if (status != EK_OK)
        fail_msg("%s", err.message);
    char *bytes = slurp(path_of("out.index"), &size);
    assert_non_null(bytes);
    unlink(path_of("out.index"));
    const char *bad = index_view_open(view, bytes, size);
    bad = bad ? bad : index_view_check(view);
    if (bad)
        fail_msg("%s", bad);
    assert_int_equal(out->bytes_index, size);
    assert_int_equal(out->n_events, view->header->events.n);
    return bytes;
}

/* ---- random traces ---- */

typedef struct form {
    bool pretty, string_times, object, bom, metadata_last, tight, halves, one_track;
    int n_events;
} form;

static const char *comma(const form *f, const text *t)
{
    return t->n_events == 0 ? "" : f->pretty ? ",\n    " : f->tight ? "," : ", ";
}

static const char *time_text(const form *f, int64_t ns, bool quoted)
{
    static char out[4][40];
    static int next;
    char *own = out[next++ % 4];
    snprintf(own, sizeof out[0], quoted || f->string_times ? "\"%lld.%03d\"" : "%lld.%03d", (long long)(ns / 1000),
             (int)(ns % 1000));
    return own;
}

static const char *const process_names[] = {"Python", "CANN", "Ascend Hardware", "HCCL", "Overlap Analysis", "Other"};
static const char *const event_names[] = {"aten::add",
                                          "MatMul",
                                          "Node@launch",
                                          "hcom_allReduce__586_0_1",
                                          "ProfilerStep#5",
                                          "a\\\"b\\\\ } ] {",
                                          "\\u00e9\\r\\n\\ud83d\\ude00",
                                          "Computing",
                                          "",
                                          "enumerate(DataLoader)#x"};
static const char *const categories[] = {"cpu_op", "", "kernel", "python_function", "async_npu", "HostToDevice"};

static void put_metadata(text *t, const form *f)
{
    for (int p = 0; p < 6; p++) {
        print(t, "%s{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"args\": {\"name\": \"%s\"}}",
              comma(f, t), p, process_names[p]);
        end_event(t);
        print(
            t,
            "%s{\"args\": {\"sort_index\": %d}, \"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %d, \"tid\": "
            "1}",
            comma(f, t), 7 * p - 3, p);
        end_event(t);
    }
}

static void put_complete(text *t, const form *f, ek__random *r, int64_t *clock)
{
    int64_t begin = *clock + ek__random_below(r, 2000) - 1000, most = ek__random_below(r, 20) ? 1500 : 90000;
    int64_t duration = ek__random_below(r, 6) ? ek__random_below(r, (int)most) : 0;
    int pid = ek__random_below(r, 6), tid = ek__random_below(r, 4);
    const char *name = event_names[ek__random_below(r, 10)], *cat = categories[ek__random_below(r, 4)];
    if (f->one_track) {
        pid = tid = 0;
        duration /= 20;
    }
    if (ek__random_below(r, 4))
        begin = begin / 500 * 500; /* equal times */
    switch (ek__random_below(r, 5)) {
    case 0:
        print(t,
              "%s{\"ph\": \"X\", \"name\": \"%s\", \"pid\": %d, \"tid\": \"%d\", \"ts\": %s, \"dur\": %s, \"cat\": "
              "\"%s\", \"args\": {\"Task Type\": \"AI_CORE\", \"a\": [1, {\"ts\": 5}]}}",
              comma(f, t), name, pid, tid, time_text(f, begin, true), time_text(f, duration, false), cat);
        break;
    case 1:
        print(t, "%s{\"tid\": %d, \"ts\": %s, \"name\": \"%s\", \"pid\": %d, \"ph\": \"X\"}", comma(f, t), tid,
              time_text(f, begin, false), name, pid);
        break;
    case 2:
        print(t,
              "%s{\"args\": {\"name\": \"}\"}, \"dur\": -%d.5, \"ts\": %s, \"name\": \"%s\", \"pid\": %d, \"tid\": "
              "%d, \"ph\": \"X\"}",
              comma(f, t), ek__random_below(r, 5), time_text(f, begin, false), name, pid, tid);
        break;
    case 3:
        print(t, "%s{\"ph\": \"i\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %s, \"s\": \"t\"}", comma(f, t),
              name, pid, tid, time_text(f, begin, false));
        break;
    default:
        print(t, "%s{\"ph\":\"X\",\"name\":\"%s\",\"pid\":\"p%d\",\"tid\":%d,\"ts\":%s,\"dur\":%s,\"cat\":\"%s\"}",
              comma(f, t), name, pid, tid, time_text(f, begin, false), time_text(f, duration, f->tight), cat);
        break;
    }
    end_event(t);
    *clock += ek__random_below(r, 3) ? ek__random_below(r, 700) : 0;
}

static void put_flow(text *t, const form *f, ek__random *r, int64_t clock)
{
    int id = ek__random_below(r, 40), phase = ek__random_below(r, 5);
    char number[40], name[40];
    snprintf(number, sizeof number, id % 3 == 0 ? "\"%s%d\"" : "%s%d", id % 3 == 0 ? "t" : "17364088836881779", id);
    snprintf(name, sizeof name, id % 2 ? "flow" : "flow%d", id);
    print(t,
          "%s{\"ph\": \"%s\", \"bp\": \"e\", \"name\": \"%s\", \"id\": %s, \"pid\": %d, \"tid\": %d, \"ts\": %s%s%s%s}",
          comma(f, t),
          phase < 2   ? "s"
          : phase < 4 ? "f"
                      : "t",
          name, number, ek__random_below(r, 8), ek__random_below(r, 3),
          time_text(f, clock + ek__random_below(r, 5000), false), id % 5 ? ", \"cat\": \"" : "",
          id % 5 ? categories[4 + id % 2] : "", id % 5 ? "\"" : "");
    end_event(t);
}

static void put_counter(text *t, const form *f, ek__random *r, int64_t clock)
{
    int which = ek__random_below(r, 4);
    print(t, "%s{\"ph\": \"C\", \"name\": \"counter %d\", \"pid\": %d, \"tid\": 0, \"ts\": %s, \"args\": {",
          comma(f, t), which, which % 2, time_text(f, clock + ek__random_below(r, 900), false));
    for (int k = 0; k <= which % 3; k++)
        print(t, "%s\"key %d\": %s%d.%d%s", k ? ", " : "", k, ek__random_below(r, 3) ? "" : "-",
              ek__random_below(r, 90000), ek__random_below(r, 1000), ek__random_below(r, 9) ? "" : "e3");
    print(t, "}}");
    end_event(t);
}

static void put_half(text *t, const form *f, ek__random *r, int64_t clock, int *depth)
{
    bool begins = *depth == 0 || ek__random_below(r, 2);
    print(t, "%s{\"ph\": \"%s\", \"name\": \"half %d\", \"pid\": 77, \"tid\": 5, \"ts\": %s}", comma(f, t),
          begins ? "B" : "E", *depth, time_text(f, clock, false));
    end_event(t);
    *depth += begins ? 1 : -1;
}

/* Halves come in order of time here; the clock never goes back. */
static void make_trace(text *t, const form *f, uint64_t seed)
{
    ek__random r = ek__random_seed(seed);
    int64_t clock = f->string_times ? INT64_C(1736408883688177930) : 123456789;
    int depth = 0;
    print(t, "%s", f->bom ? "\xef\xbb\xbf" : "");
    if (f->object)
        print(t, "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"traceEvents\": ");
    print(t, f->pretty ? "[\n    " : "[");
    if (!f->metadata_last)
        put_metadata(t, f);
    while (t->n_events < (size_t)f->n_events) {
        int which = ek__random_below(&r, 20);
        if (which < 9)
            put_complete(t, f, &r, &clock);
        else if (which < 12)
            put_flow(t, f, &r, clock);
        else if (which < 19 || !f->halves)
            put_counter(t, f, &r, clock);
        else
            put_half(t, f, &r, clock, &depth);
    }
    if (f->metadata_last)
        put_metadata(t, f);
    print(t, "]%s", f->object ? ", \"displayTimeUnit\": \"ms\"}" : "");
}

/* ---- the brute force ---- */

typedef struct known_event {
    const char *name;
    char pid[48], tid[48];
    int64_t begin, duration;
    size_t order;
    int depth; /* -1: left out */
    const json_t *json;
} known_event;

typedef struct known_flow {
    const char *cat, *name;
    char id[48], pid[48], tid[48];
    int64_t time;
    int rank; /* s, t, f */
    size_t order;
} known_flow;

typedef struct known_point {
    char pid[48];
    const char *name, *key;
    int64_t time;
    double value;
    size_t order;
} known_point;

typedef struct truth {
    json_t *root;
    size_t n_items, n_events, n_flows, n_points, n_odd;
    known_event *event;
    known_flow *flow;
    known_point *point;
} truth;

/* Texts as they are, others as they print. */
static void id_text(const json_t *value, char out[48])
{
    if (json_is_string(value))
        snprintf(out, 48, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, 48, "%lld", (long long)json_integer_value(value));
    else
        out[0] = '\0';
}

/* Microseconds to nanoseconds; numbers here have few enough digits for a double. */
static int64_t to_ns(const json_t *value)
{
    if (!json_is_string(value))
        return (int64_t)(json_number_value(value) * 1000 + (json_number_value(value) < 0 ? -0.5 : 0.5));
    long long whole;
    int fraction;
    assert_int_equal(sscanf(json_string_value(value), "%lld.%3d", &whole, &fraction), 2);
    return whole * 1000 + fraction;
}

static void know_event(truth *k, const json_t *e, size_t order)
{
    known_event *out = &k->event[k->n_events++];
    *out = (known_event){.name = json_string_value(json_object_get(e, "name")), .order = order, .json = e};
    id_text(json_object_get(e, "pid"), out->pid);
    id_text(json_object_get(e, "tid"), out->tid);
    out->begin = to_ns(json_object_get(e, "ts"));
    if (json_object_get(e, "dur"))
        out->duration = to_ns(json_object_get(e, "dur"));
    out->duration = out->duration < 0 ? 0 : out->duration;
}

static void know_flow(truth *k, const json_t *e, size_t order)
{
    known_flow *out = &k->flow[k->n_flows++];
    const char *phase = json_string_value(json_object_get(e, "ph")),
               *cat = json_string_value(json_object_get(e, "cat"));
    *out = (known_flow){.cat = cat ? cat : "", .name = json_string_value(json_object_get(e, "name")), .order = order};
    out->rank = phase[0] == 's' ? 0 : phase[0] == 't' ? 1 : 2;
    id_text(json_object_get(e, "id"), out->id);
    id_text(json_object_get(e, "pid"), out->pid);
    id_text(json_object_get(e, "tid"), out->tid);
    out->time = to_ns(json_object_get(e, "ts"));
}

static void know_counter(truth *k, json_t *e, size_t order)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(e, "args"), key, value)
    {
        known_point *out = &k->point[k->n_points++];
        *out = (known_point){.name = json_string_value(json_object_get(e, "name")),
                             .key = key,
                             .time = to_ns(json_object_get(e, "ts")),
                             .value = json_number_value(value),
                             .order = order};
        id_text(json_object_get(e, "pid"), out->pid);
    }
}

/* Halves: those of the generator are on one thread and in order of time. */
static void know_half(truth *k, const json_t *e, size_t order, const json_t **open, size_t *n_open)
{
    if (strcmp(json_string_value(json_object_get(e, "ph")), "B") == 0)
        open[(*n_open)++] = e;
    else if (*n_open == 0)
        k->n_odd++;
    else {
        know_event(k, open[--*n_open], order);
        known_event *out = &k->event[k->n_events - 1];
        out->duration = to_ns(json_object_get(e, "ts")) - out->begin;
        out->order = (size_t)(json_integer_value(json_object_get(out->json, "order")));
    }
}

static int compare_events(const void *a, const void *b)
{
    const known_event *x = a, *y = b;
    int texts = strcmp(x->pid, y->pid) ? strcmp(x->pid, y->pid) : strcmp(x->tid, y->tid);
    if (texts)
        return texts;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_track(const known_event *a, const known_event *b)
{
    return strcmp(a->pid, b->pid) == 0 && strcmp(a->tid, b->tid) == 0;
}

static void nest(truth *k)
{
    int64_t end[EK__INDEX_MAX_DEPTH];
    for (size_t i = 0; i < k->n_events; i++) {
        known_event *e = &k->event[i];
        if (i == 0 || !same_track(e, e - 1))
            for (int d = 0; d < EK__INDEX_MAX_DEPTH; d++)
                end[d] = INT64_MIN;
        e->depth = -1;
        for (int d = 0; d < EK__INDEX_MAX_DEPTH && e->depth < 0; d++)
            if (end[d] <= e->begin)
                e->depth = d;
        if (e->depth >= 0)
            end[e->depth] = e->begin + e->duration;
    }
}

/* Of the first n bytes, which are a sound trace. */
static truth know(const char *bytes, size_t size)
{
    truth k = {0};
    json_error_t error;
    size_t skip = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, n_open = 0;
    k.root = json_loadb(bytes + skip, size - skip, JSON_ALLOW_NUL, &error);
    if (!k.root)
        fail_msg("the test's trace is no JSON: %s at %d", error.text, error.position);
    json_t *events = json_is_array(k.root) ? k.root : json_object_get(k.root, "traceEvents");
    k.n_items = json_array_size(events);
    k.event = calloc(k.n_items + 1, sizeof *k.event);
    k.flow = calloc(k.n_items + 1, sizeof *k.flow);
    k.point = calloc(3 * k.n_items + 1, sizeof *k.point);
    const json_t **open = calloc(k.n_items + 1, sizeof *open);
    assert_true(k.event && k.flow && k.point && open);
    for (size_t i = 0; i < k.n_items; i++) {
        json_t *e = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(e, "ph"));
        json_object_set_new(e, "order", json_integer((json_int_t)i));
        if (strchr("Xi", phase[0]))
            know_event(&k, e, i);
        else if (strchr("stf", phase[0]))
            know_flow(&k, e, i);
        else if (phase[0] == 'C')
            know_counter(&k, e, i);
        else if (phase[0] != 'M')
            know_half(&k, e, i, open, &n_open);
    }
    k.n_odd += n_open;
    free(open);
    if (k.n_events > 0)
        qsort(k.event, k.n_events, sizeof *k.event, compare_events);
    nest(&k);
    return k;
}

static void clear_truth(truth *k)
{
    json_decref(k->root);
    free(k->event);
    free(k->flow);
    free(k->point);
}

/* ---- the comparison ---- */

static int track_number(const index_view *v, const char *pid, const char *tid)
{
    for (uint64_t i = 0; i < v->header->tracks.n; i++)
        if (index_view_text_is(v, v->track[i].pid, pid) && index_view_text_is(v, v->track[i].tid, tid))
            return (int)i;
    return -1;
}

/* The event's text in the trace is that event. */
static void check_place(const known_event *e, const ek__index_event *found, const char *bytes)
{
    json_t *own = json_loadb(bytes + found->place, EK__EVENT_SIZE(found), 0, NULL);
    assert_non_null(own);
    json_object_set(own, "order", json_object_get(e->json, "order"));
    assert_true(json_equal(own, e->json));
    json_decref(own);
}

static void compare_with_rows(const truth *k, const index_view *v, const char *bytes)
{
    uint64_t n_left_out = 0, *next = calloc(v->header->rows.n + 1, sizeof *next);
    size_t last_place = 0;
    assert_non_null(next);
    for (size_t i = 0; i < k->n_events; i++) {
        const known_event *e = &k->event[i];
        int t = track_number(v, e->pid, e->tid);
        assert_true(t >= 0);
        n_left_out += e->depth < 0;
        if (e->depth < 0)
            continue;
        assert_true(e->depth < (int)v->track[t].n_rows);
        uint64_t number = v->track[t].first_row + (uint64_t)e->depth;
        const ek__index_row *row = &v->row[number];
        assert_true(next[number] < row->n_events);
        const ek__index_event *found = index_view_event(v, row, next[number]++);
        assert_true(found->begin == e->begin && found->duration == e->duration);
        assert_true(index_view_text_is(v, v->name[found->name].text, e->name));
        check_place(e, found, bytes);
        last_place = found->place > last_place ? (size_t)found->place : last_place;
    }
    assert_int_equal(k->n_events, v->header->events.n + n_left_out);
    assert_true(last_place < (size_t)v->header->trace_bytes);
    free(next);
}

static bool same_flow(const known_flow *a, const known_flow *b)
{
    return strcmp(a->cat, b->cat) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->id, b->id) == 0;
}

static bool comes_before(const index_view *v, const known_flow *a, const known_flow *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    int x = track_number(v, a->pid, a->tid), y = track_number(v, b->pid, b->tid);
    return x != y ? x < y : a->order < b->order;
}

/* Where an end's arrow comes from: the last start before it, or step that some start came before. */
static const known_flow *find_start(const truth *k, const index_view *v, const known_flow *end)
{
    const known_flow *best = NULL, *first = NULL;
    for (size_t i = 0; i < k->n_flows; i++) {
        const known_flow *f = &k->flow[i];
        if (f == end || !same_flow(f, end) || f->rank == 2 || !comes_before(v, f, end))
            continue;
        best = !best || comes_before(v, best, f) ? f : best;
        if (f->rank == 0 && (!first || comes_before(v, f, first)))
            first = f;
    }
    return first ? best : NULL;
}

static void compare_arrows(const truth *k, const index_view *v)
{
    uint64_t n = 0;
    bool *seen[2] = {calloc(v->header->from.n + 1, 1), calloc(v->header->from.n + 1, 1)};
    assert_true(seen[0] && seen[1]);
    for (size_t i = 0; i < k->n_flows; i++) {
        const known_flow *end = &k->flow[i], *start = end->rank > 0 ? find_start(k, v, end) : NULL;
        if (!start)
            continue;
        n++;
        for (int list = 0; list < 2; list++) {
            const ek__index_arrow *arrow = list ? v->to : v->from;
            uint64_t a = 0;
            while (a < v->header->from.n &&
                   (seen[list][a] || arrow[a].from_time != start->time || arrow[a].to_time != end->time ||
                    (int)arrow[a].from_track != track_number(v, start->pid, start->tid) ||
                    (int)arrow[a].to_track != track_number(v, end->pid, end->tid) ||
                    !index_view_text_is(v, v->name[arrow[a].name].text, end->cat[0] ? end->cat : end->name)))
                a++;
            assert_true(a < v->header->from.n);
            seen[list][a] = true;
        }
    }
    assert_int_equal(n, v->header->from.n);
    free(seen[0]);
    free(seen[1]);
}

static int compare_points(const void *a, const void *b)
{
    const known_point *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->order < y->order ? -1 : x->order > y->order;
}

static void compare_counters(truth *k, const index_view *v)
{
    uint64_t n = 0;
    if (k->n_points > 0)
        qsort(k->point, k->n_points, sizeof *k->point, compare_points);
    for (uint64_t c = 0; c < v->header->counters.n; c++) {
        const ek__index_counter *counter = &v->counter[c];
        uint64_t i = 0;
        for (size_t p = 0; p < k->n_points; p++) {
            const known_point *known = &k->point[p];
            const char *process = known->pid[1] == '\0' && known->pid[0] >= '0' && known->pid[0] < '6'
                                      ? process_names[known->pid[0] - '0']
                                      : known->pid;
            if (!index_view_text_is(v, counter->name, known->name) ||
                !index_view_text_is(v, counter->key, known->key) || !index_view_text_is(v, counter->process, process))
                continue;
            assert_true(i < counter->n_points);
            const ek__index_point *point = &v->point[counter->first_point + i++];
            assert_true(point->time == known->time && point->value == known->value);
        }
        assert_int_equal(i, counter->n_points);
        n += i;
    }
    assert_int_equal(n, k->n_points);
}

static void compare(const char *bytes, size_t size, const char *whole, const index_view *v)
{
    truth k = know(bytes, size);
    assert_int_equal(v->header->n_items, k.n_items);
    assert_int_equal(v->header->n_odd, k.n_odd);
    compare_with_rows(&k, v, whole);
    compare_arrows(&k, v);
    compare_counters(&k, v);
    clear_truth(&k);
}

/* ---- tests ---- */

static const form forms[] = {
    {.n_events = 900},
    {.string_times = true, .n_events = 900, .metadata_last = true},
    {.pretty = true, .object = true, .n_events = 700, .halves = true},
    {.tight = true, .bom = true, .n_events = 900, .object = true, .metadata_last = true},
    {.string_times = true, .pretty = true, .bom = true, .n_events = 600, .halves = true},
    {.n_events = 60},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static void random_traces_are_what_brute_force_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4 * N_FORMS; seed++) {
        const form *f = &forms[seed % N_FORMS];
        text t = {0};
        index_view v;
        ek__index_written out;
        make_trace(&t, f, seed);
        write_bytes("t.json", t.at, t.size);
        char *bytes = index_of("t.json", 1 + (int)seed % 3, EK__INDEX_BOUND, &v, &out);
        assert_string_equal(out.problem, "");
        assert_int_equal(v.header->problem_at, -1);
        assert_int_equal(v.header->rank, f->object ? 3 : EK_TRACE_NO_RANK);
        assert_int_equal(v.header->trace_size, t.size);
        compare(t.at, t.size, t.at, &v);
        free(bytes);
        clear_text(&t);
    }
}

/* Several blocks of the reader, and from one record in memory to all of them. */
static void threads_and_memory_do_not_matter(void **state)
{
    (void)state;
    static const struct {
        int n_threads;
        size_t bound;
    } ways[] = {{2, EK__INDEX_BOUND}, {3, 3 << 20}, {7, 1 << 20}, {2, 200000}, {1, 60000}};
    const form large = {.n_events = 30000, .string_times = true, .halves = true}, small = {.n_events = 400};
    for (int round = 0; round < 2; round++) {
        text t = {0};
        index_view v;
        ek__index_written out;
        make_trace(&t, round ? &small : &large, 99);
        write_bytes("t.json", t.at, t.size);
        char *bytes = index_of("t.json", 1, EK__INDEX_BOUND, &v, &out);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            index_view other;
            char *again = index_of("t.json", ways[i].n_threads, round ? 1 : ways[i].bound, &other, &out);
            assert_int_equal(other.size, v.size);
            assert_memory_equal(bytes, again, v.size);
            free(again);
        }
        assert_int_equal(count_files(), 1); /* the trace */
        free(bytes);
        clear_text(&t);
    }
}

/* Rows of more than two chunks, written in runs and at once. */
static void long_rows_are_chunked(void **state)
{
    (void)state;
    const form long_row = {.n_events = 40000, .one_track = true};
    text t = {0};
    index_view v;
    ek__index_written out;
    uint64_t longest = 0;
    make_trace(&t, &long_row, 17);
    write_bytes("t.json", t.at, t.size);
    char *bytes = index_of("t.json", 2, 100000, &v, &out);
    for (uint64_t r = 0; r < v.header->rows.n; r++)
        longest = v.row[r].n_chunks > longest ? v.row[r].n_chunks : longest;
    assert_true(longest > 2);
    truth k = know(t.at, t.size);
    compare_with_rows(&k, &v, t.at);
    compare_counters(&k, &v);
    clear_truth(&k);
    free(bytes);
    clear_text(&t);
}

static void cut_files_give_what_is_before_the_cut(void **state)
{
    (void)state;
    text t = {0};
    make_trace(&t, &forms[0], 5);
    for (size_t i = 20; i < 400; i += 37) {
        index_view v;
        ek__index_written out;
        size_t cut = t.behind[i] + 4 + i % 9, whole = t.behind[i];
        write_bytes("t.json", t.at, cut);
        char *bytes = index_of("t.json", 2, EK__INDEX_BOUND, &v, &out);
        assert_non_null(strstr(out.problem, "truncated inside an event"));
        assert_int_equal(out.problem_at, whole);
        assert_int_equal(v.header->problem_at, whole);
        char kept = t.at[whole];
        t.at[whole] = ']';
        compare(t.at, whole + 1, t.at, &v);
        t.at[whole] = kept;
        free(bytes);
    }
    clear_text(&t);
}

static void damage_ends_the_index_where_it_is(void **state)
{
    (void)state;
    text t = {0};
    index_view v;
    ek__index_written out;
    make_trace(&t, &forms[0], 6);
    size_t whole = t.behind[300];
    t.at[whole] = '!';
    write_bytes("t.json", t.at, t.size);
    char *bytes = index_of("t.json", 2, EK__INDEX_BOUND, &v, &out);
    assert_non_null(strstr(out.problem, "no valid JSON"));
    assert_true(out.problem_at >= (int64_t)whole && out.problem_at < (int64_t)whole + 8);
    t.at[whole] = ']';
    compare(t.at, whole + 1, t.at, &v);
    free(bytes);
    clear_text(&t);
}

/* Inflate from a restart point, with only its window. */
static void check_spot(const index_view *v, const ek__index_spot *spot, const char *packed, size_t packed_size,
                       const text *t)
{
    unsigned char window[32768], out[3000];
    uLongf n = sizeof window;
    z_stream z = {.next_in = (unsigned char *)packed + spot->in,
                  .avail_in = (unsigned)(packed_size - spot->in),
                  .next_out = out,
                  .avail_out = sizeof out};
    assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
    if (spot->bits)
        assert_int_equal(inflatePrime(&z, (int)spot->bits, (unsigned char)packed[spot->in - 1] >> (8 - spot->bits)),
                         Z_OK);
    if (spot->window_size) {
        assert_int_equal(uncompress(window, &n, (const unsigned char *)v->bytes + spot->window, spot->window_size),
                         Z_OK);
        assert_int_equal(inflateSetDictionary(&z, window, (unsigned)n), Z_OK);
    } else
        assert_true(spot->out == 0);
    int code = inflate(&z, Z_NO_FLUSH);
    assert_true(code == Z_OK || code == Z_STREAM_END);
    size_t got = sizeof out - z.avail_out, left = t->size - spot->out;
    assert_int_equal(got, left < sizeof out ? left : sizeof out);
    assert_memory_equal(out, t->at + spot->out, got);
    inflateEnd(&z);
}

static void compressed_traces_are_indexed_with_spots(void **state)
{
    (void)state;
    const form large = {.n_events = 90000};
    text t = {0};
    index_view v, packed;
    ek__index_written out;
    size_t size = 0;
    make_trace(&t, &large, 11);
    write_bytes("t.json", t.at, t.size);
    write_compressed("t.json.gz", t.at, t.size, "wb1");
    char *plain = index_of("t.json", 1, EK__INDEX_BOUND, &v, &out);
    char *bytes = index_of("t.json.gz", 2, EK__INDEX_BOUND, &packed, &out), *gz = slurp(path_of("t.json.gz"), &size);
    assert_int_equal(out.bytes_read, size);
    assert_true(packed.header->compressed == 1 && v.header->compressed == 0);
    assert_int_equal(packed.header->trace_size, size);
    assert_int_equal(packed.header->trace_bytes, t.size);
    assert_memory_equal(bytes + sizeof *v.header, plain + sizeof *v.header, v.header->spots.at - sizeof *v.header);
    assert_true(packed.header->spots.n >= 2 && t.size > (8 << 20));
    for (uint64_t i = 0; i < packed.header->spots.n; i++) {
        check_spot(&packed, &packed.spot[i], gz, size, &t);
        assert_true(i == 0 ? packed.spot[i].out == 0 : packed.spot[i].out >= packed.spot[i - 1].out + (4 << 20));
    }
    free(gz);
    free(bytes);
    /* Two members, and one that is cut. */
    size_t half = t.size / 2;
    write_compressed("t.json.gz", t.at, half, "wb1");
    write_compressed("t.json.gz", t.at + half, t.size - half, "ab1");
    bytes = index_of("t.json.gz", 2, EK__INDEX_BOUND, &packed, &out);
    assert_string_equal(out.problem, "");
    assert_int_equal(packed.header->events.n, v.header->events.n);
    free(bytes);
    gz = slurp(path_of("t.json.gz"), &size);
    write_bytes("t.json.gz", gz, size * 2 / 3);
    bytes = index_of("t.json.gz", 2, EK__INDEX_BOUND, &packed, &out);
    assert_non_null(strstr(out.problem, "damaged or truncated"));
    assert_true(packed.header->events.n > v.header->events.n / 3 && packed.header->events.n < v.header->events.n);
    free(gz);
    free(bytes);
    free(plain);
    clear_text(&t);
    unlink(path_of("t.json.gz"));
}

/* ---- kinds of events ---- */

static ek_view_type type_of(const index_view *v, const char *name)
{
    for (uint64_t r = 0; r < v->header->rows.n; r++)
        for (uint64_t i = 0; i < v->row[r].n_events; i++) {
            const ek__index_event *e = index_view_event(v, &v->row[r], i);
            if (index_view_text_is(v, v->name[e->name].text, name))
                return (ek_view_type)EK__EVENT_TYPE(e);
        }
    fail_msg("there is no event '%s'", name);
    return EK_VIEW_OTHER;
}

static ek__track_class class_of(const index_view *v, const char *pid, const char *tid)
{
    int t = track_number(v, pid, tid);
    assert_true(t >= 0);
    return (ek__track_class)v->track[t].track_class;
}

typedef struct expected_type {
    const char *name;
    ek_view_type type;
} expected_type;

static void check_types(const char *trace, const expected_type *expected, size_t n, index_view *v, char **bytes)
{
    ek__index_written out;
    write_bytes("t.json", trace, strlen(trace));
    *bytes = index_of("t.json", 1, EK__INDEX_BOUND, v, &out);
    for (size_t i = 0; i < n; i++)
        if (type_of(v, expected[i].name) != expected[i].type)
            fail_msg("'%s' is %d, not %d", expected[i].name, type_of(v, expected[i].name), expected[i].type);
}

#define AT(pid, tid) "\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"pid\": " #pid ", \"tid\": " #tid "}, "
#define PROCESS(pid, name)                                                                                             \
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " #pid ", \"args\": {\"name\": \"" name "\"}}, "

static void types_of_ascend(void **state)
{
    (void)state;
    static const char trace[] =
        "[{\"name\": \"aten::mul\", \"cat\": \"cpu_op\", " AT(
            1, 1) "{\"name\": \"f.py(3): g\", \"cat\": "
                  "\"python_function\", " AT(
                      1, 1) "{\"name\": "
                            "\"ProfilerSte"
                            "p#7\", "
                            "\"cat\": "
                            "\"cpu_op\","
                            " " AT(1, 1) "{\"name\": \"enumerate(DataLoader)#it.__next__\", \"cat\": "
                                         "\"cpu_op\", " AT(1, 1) "{\"name\": \"AscendCL@aclrtLaunch\", " AT(
                                             2, 1) "{\"nam"
                                                   "e\": "
                                                   "\"Asce"
                                                   "ndCL@"
                                                   "aclrtS"
                                                   "ynchro"
                                                   "nizeSt"
                                                   "ream\""
                                                   ", " AT(2, 1) "{\"name\": \"MatMul_1\", \"args\": {\"Task Type\": "
                                                                 "\"AI_CORE\"}, " AT(3, 2) "{\"name\": "
                                                                                           "\"allReduceAicpuKernel\", "
                                                                                           "\"args\": {\"Task Type\": "
                                                                                           "\"AI_CPU\"}, " AT(3, 2) "{"
                                                                                                                    "\""
                                                                                                                    "n"
                                                                                                                    "am"
                                                                                                                    "e"
                                                                                                                    "\""
                                                                                                                    ": "
                                                                                                                    "\""
                                                                                                                    "ME"
                                                                                                                    "MC"
                                                                                                                    "PY"
                                                                                                                    "\""
                                                                                                                    ", "
                                                                                                                    "\""
                                                                                                                    "ar"
                                                                                                                    "gs"
                                                                                                                    "\""
                                                                                                                    ": "
                                                                                                                    "{"
                                                                                                                    "\""
                                                                                                                    "T"
                                                                                                                    "as"
                                                                                                                    "k "
                                                                                                                    "Ty"
                                                                                                                    "pe"
                                                                                                                    "\""
                                                                                                                    ": "
                                                                                                                    "\""
                                                                                                                    "SD"
                                                                                                                    "MA"
                                                                                                                    "_"
                                                                                                                    "SQ"
                                                                                                                    "E"
                                                                                                                    "\""
                                                                                                                    "},"
                                                                                                                    " " AT(
                                                                                                                        3, 2) "{\"name\": \"EVENT_WAIT\", \"args\": {\"Task Type\": \"EVENT_WAIT_SQE\"}, " AT(3, 2) "{\"name\": \"EVENT_RECORD\", \"args\": {\"Task Type\": \"EVENT_RECORD_SQE\"}, " AT(3, 2) "{\"name\": \"hcom_allReduce__586_0_1\", \"args\": {\"count\": 3}, " AT(4, 1) "{\"name\": \"Reduce_Inline\", \"args\": {\"notify_id\": 3}, " AT(4,
                                                                                                                                                                                                                                                                                                                                                                                                                                                              2) "{\"name\": \"Memcpy\", \"args\": {\"x\": 3}, " AT(4, 2) "{\"name\": \"Computing\", " AT(5, 0) "{\"name\": \"Communication\", " AT(5, 1) "{\"name\": \"Communication(Not Overlapped)\", " AT(5, 2) "{\"name\": \"Free\", " AT(5, 3) "{\"name\": \"Default/0-Layer\", " AT(6,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                           0) "{\"name\": \"PyNative::GetNext::x\", \"cat\": \"\", " AT(7,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        0) "{\"name\": \"Kernel::Launch::a/b\", " AT(7,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     0) "{\"name\": \"a mark\", \"cat\": \"user_annotation\", " AT(1,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   2)
                                                                                                                        PROCESS(1, "Python") PROCESS(
                                                                                                                            2,
                                                                                                                            "CANN") PROCESS(3, "Ascend Hardware")
                                                                                                                            PROCESS(4, "Communication") PROCESS(
                                                                                                                                5,
                                                                                                                                "Overlap Analysis")
                                                                                                                                PROCESS(
                                                                                                                                    6,
                                                                                                                                    "Scope Layer")
                                                                                                                                    PROCESS(
                                                                                                                                        7,
                                                                                                                                        "MindSpore") "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4, \"tid\": 2, \"args\": {\"name\": \"Plane 0\"}}, "
                                                                                                                                                     "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 4, \"tid\": 2, \"args\": {\"sort_index\": -4}}]";
    static const expected_type expected[] = {{"aten::mul", EK_VIEW_HOST_FRAMEWORK},
                                             {"f.py(3): g", EK_VIEW_HOST_PYTHON},
                                             {"ProfilerStep#7", EK_VIEW_STEP},
                                             {"enumerate(DataLoader)#it.__next__", EK_VIEW_DATA_LOADING},
                                             {"AscendCL@aclrtLaunch", EK_VIEW_HOST_RUNTIME},
                                             {"AscendCL@aclrtSynchronizeStream", EK_VIEW_WAIT},
                                             {"MatMul_1", EK_VIEW_COMPUTING},
                                             {"allReduceAicpuKernel", EK_VIEW_COMMUNICATION_TASK},
                                             {"MEMCPY", EK_VIEW_COPY},
                                             {"EVENT_WAIT", EK_VIEW_WAIT},
                                             {"EVENT_RECORD", EK_VIEW_OTHER},
                                             {"hcom_allReduce__586_0_1", EK_VIEW_COMMUNICATION},
                                             {"Reduce_Inline", EK_VIEW_COMMUNICATION_TASK},
                                             {"Memcpy", EK_VIEW_COMMUNICATION_TASK},
                                             {"Computing", EK_VIEW_OVERLAP_COMPUTING},
                                             {"Communication", EK_VIEW_OVERLAP_COMMUNICATION},
                                             {"Communication(Not Overlapped)", EK_VIEW_OVERLAP_NOT_OVERLAPPED},
                                             {"Free", EK_VIEW_IDLE},
                                             {"Default/0-Layer", EK_VIEW_SCOPE},
                                             {"PyNative::GetNext::x", EK_VIEW_DATA_LOADING},
                                             {"Kernel::Launch::a/b", EK_VIEW_HOST_FRAMEWORK},
                                             {"a mark", EK_VIEW_MARK}};
    index_view v;
    char *bytes;
    check_types(trace, expected, sizeof expected / sizeof *expected, &v, &bytes);
    static const ek__track_class classes[] = {EK__TRACK_HOST, EK__TRACK_RUNTIME, EK__TRACK_COMPUTE};
    for (int pid = 1; pid <= 3; pid++) {
        char number[12];
        snprintf(number, sizeof number, "%d", pid);
        assert_int_equal(class_of(&v, number, pid == 3 ? "2" : "1"), classes[pid - 1]);
    }
    assert_int_equal(class_of(&v, "4", "2"), EK__TRACK_COMMUNICATION);
    assert_int_equal(class_of(&v, "5", "3"), EK__TRACK_OVERLAP);
    assert_int_equal(class_of(&v, "6", "0"), EK__TRACK_SCOPE);
    const ek__index_track *plane = &v.track[track_number(&v, "4", "2")];
    assert_true(index_view_text_is(&v, plane->process, "Communication") &&
                index_view_text_is(&v, plane->thread, "Plane 0"));
    assert_int_equal(plane->sort, -4);
    free(bytes);
}

static void types_of_kineto_and_old_files(void **state)
{
    (void)state;
    static const char kineto[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [{\"name\": \"gemm\", \"cat\": "
        "\"kernel\", " AT(
            0, 7) "{\"name\": \"ncclDevKernel_AllReduce\", \"cat\": "
                  "\"kernel\", " AT(
                      0, 20) "{\"name\": \"Memcpy HtoD\", \"cat\": "
                             "\"gpu_memcpy\", " AT(
                                 0,
                                 7) "{\"name\": \"Memset\", \"cat\": "
                                    "\"gpu_memset\", " AT(
                                        0,
                                        7) "{\"name\": "
                                           "\"cudaLaunchKernel\","
                                           " \"cat\": "
                                           "\"cuda_runtime\","
                                           " " AT(9,
                                                  9) "{\"name\": "
                                                     "\"cudaDevic"
                                                     "eSynchroniz"
                                                     "e\", "
                                                     "\"cat\": "
                                                     "\"cuda_"
                                                     "runtime\","
                                                     " " AT(9, 9) "{\"name\": \"aten::add\", \"cat\": \"cpu_op\", " AT(
                                                         9, 9) "{\"n"
                                                               "ame"
                                                               "\": "
                                                               "\"Pr"
                                                               "ofil"
                                                               "erSt"
                                                               "ep#"
                                                               "2\","
                                                               " \"c"
                                                               "at\""
                                                               ": "
                                                               "\"us"
                                                               "er_"
                                                               "anno"
                                                               "tati"
                                                               "on\""
                                                               ","
                                                               " " AT(9, 9) "5, {\"ph\": \"X\", \"name\": 3}]}";
    static const expected_type of_kineto[] = {{"gemm", EK_VIEW_COMPUTING},
                                              {"ncclDevKernel_AllReduce", EK_VIEW_COMMUNICATION},
                                              {"Memcpy HtoD", EK_VIEW_COPY},
                                              {"Memset", EK_VIEW_SET},
                                              {"cudaLaunchKernel", EK_VIEW_HOST_RUNTIME},
                                              {"cudaDeviceSynchronize", EK_VIEW_WAIT},
                                              {"aten::add", EK_VIEW_HOST_FRAMEWORK},
                                              {"ProfilerStep#2", EK_VIEW_STEP}};
    static const char old[] = "[{\"name\": \"AssignAdd\", " AT(1, "11") "{\"name\": \"AllReduce-op1\", " AT(
        10000, "2") "{\"name\": \"InitData\", " AT(9000, 3) "{\"name\": \"Iteration 1\", \"cat\": \"Iteration "
                                                            "Time\", " AT(30, 1) "7]";
    static const expected_type of_old[] = {{"AssignAdd", EK_VIEW_COMPUTING},
                                           {"AllReduce-op1", EK_VIEW_COMMUNICATION},
                                           {"InitData", EK_VIEW_COMPUTING},
                                           {"Iteration 1", EK_VIEW_STEP}};
    index_view v;
    char *bytes;
    check_types(kineto, of_kineto, sizeof of_kineto / sizeof *of_kineto, &v, &bytes);
    assert_int_equal(class_of(&v, "0", "7"), EK__TRACK_COMPUTE);
    assert_int_equal(class_of(&v, "0", "20"), EK__TRACK_COMMUNICATION);
    assert_int_equal(class_of(&v, "9", "9"), EK__TRACK_HOST);
    assert_true(v.header->n_items == 10 && v.header->n_odd == 2);
    free(bytes);
    check_types(old, of_old, sizeof of_old / sizeof *of_old, &v, &bytes);
    assert_int_equal(class_of(&v, "10000", "2"), EK__TRACK_COMMUNICATION);
    assert_int_equal(class_of(&v, "30", "1"), EK__TRACK_STEP);
    free(bytes);
}

/* ---- pitfalls ---- */

static void odd_values_are_counted_and_kept_out(void **state)
{
    (void)state;
    static const char trace[] =
        "[{\"ph\": \"X\", \"name\": \"a\nraw\tb\", \"ts\": \"5\", \"pid\": 18446744073709551615, \"tid\": \"\"},"
        "{\"ph\": \"X\", \"name\": \"n\", \"ts\": NaN, \"pid\": 1, \"tid\": 1},"
        "{\"ph\": \"X\", \"name\": \"n\", \"ts\": 1, \"dur\": Infinity, \"pid\": 1, \"tid\": 1},"
        "{\"ph\": \"X\", \"name\": \"n\", \"ts\": 9223372036854775807, \"pid\": 1, \"tid\": 1},"
        "{\"ph\": \"X\", \"ts\": 9, \"pid\": 1, \"tid\": 1}, {\"name\": \"no phase\"}, [], 3, \"x\","
        "{\"ph\": \"C\", \"name\": \"c\", \"ts\": 9, \"args\": {\"a\": \"no number\", \"b\": \"12.5\", \"d\": 1e400}},"
        "{\"ph\": \"C\", \"name\": \"c\", \"ts\": 9, \"args\": {}}, {\"ph\": \"s\", \"name\": \"no id\", \"ts\": 1},"
        "{\"ph\": \"E\", \"ts\": 5, \"pid\": 1, \"tid\": 1}, {\"ph\": \"B\", \"name\": \"open\", \"ts\": 5, \"pid\": "
        "1},"
        "{\"ph\": \"X\", \"name\": \"same\", \"ts\": -2.5, \"dur\": 1, \"pid\": 1, \"tid\": 1},"
        "{\"ph\": \"X\", \"name\": \"same\", \"ts\": -2.5, \"dur\": 1, \"pid\": 1, \"tid\": 1}]";
    index_view v;
    ek__index_written out;
    write_bytes("t.json", trace, sizeof trace - 1);
    char *bytes = index_of("t.json", 1, EK__INDEX_BOUND, &v, &out);
    assert_int_equal(v.header->n_items, 16);
    assert_int_equal(v.header->n_odd, 12);
    assert_int_equal(v.header->events.n, 3);
    assert_int_equal(v.header->begin, -2500);
    assert_int_equal(v.header->end, 5000);
    assert_true(track_number(&v, "18446744073709551615", "") >= 0);
    type_of(&v, "a\nraw\tb");
    assert_int_equal(v.track[track_number(&v, "1", "1")].n_rows, 2); /* the same event twice */
    assert_true(v.header->points.n == 1 && v.point[0].value == 12.5);
    free(bytes);
}

static void deeper_events_than_there_are_rows_are_counted(void **state)
{
    (void)state;
    text t = {0};
    index_view v;
    ek__index_written out;
    for (int i = 0; i < 100; i++)
        print(&t, "%c{\"ph\": \"X\", \"name\": \"n\", \"ts\": %d, \"dur\": 1000, \"pid\": 1, \"tid\": 1}",
              i ? ',' : '[', i);
    print(&t, "]");
    write_bytes("t.json", t.at, t.size);
    char *bytes = index_of("t.json", 1, EK__INDEX_BOUND, &v, &out);
    assert_int_equal(v.track[0].n_rows, EK__INDEX_MAX_DEPTH);
    assert_int_equal(v.track[0].n_left_out, 100 - EK__INDEX_MAX_DEPTH);
    compare(t.at, t.size, t.at, &v);
    free(bytes);
    clear_text(&t);
}

static void nothing_is_an_index_too(void **state)
{
    (void)state;
    index_view v;
    ek__index_written out;
    write_bytes("t.json", "[]", 2);
    char *bytes = index_of("t.json", 2, EK__INDEX_BOUND, &v, &out);
    assert_true(v.header->begin == INT64_MAX && v.header->tracks.n == 0);
    free(bytes);
}

/* ---- made and real traces ---- */

/* A trace, compressed or not, as a tree. NULL when it is not there. */
static json_t *load_trace(const char *path)
{
    char *bytes = malloc(64 << 20);
    gzFile file = gzopen(path, "rb");
    assert_non_null(bytes);
    int n = file ? gzread(file, bytes, 64 << 20) : 0;
    json_t *root = n > 0 ? json_loadb(bytes, (size_t)n, 0, NULL) : NULL;
    if (file)
        gzclose(file);
    free(bytes);
    return root;
}

static void check_real(const char *path, const json_t *root)
{
    const json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
    index_view v;
    ek__index_written out;
    size_t size = 0, n_events = 0;
    int64_t n_left_out = 0;
    char *copy = slurp(path, &size);
    write_bytes("t.json", copy, size);
    char *bytes = index_of("t.json", 2, EK__INDEX_BOUND, &v, &out);
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(e, "ph"));
        n_events += phase && strchr("Xi", phase[0]) && json_object_get(e, "name") && json_object_get(e, "ts");
    }
    for (uint64_t i = 0; i < v.header->tracks.n; i++)
        n_left_out += v.track[i].n_left_out;
    assert_int_equal(v.header->n_items, json_array_size(events));
    assert_int_equal(v.header->events.n + (uint64_t)n_left_out, n_events);
    assert_true(n_events > 0);
    free(bytes);
    free(copy);
}

static void check_all(const char *where, const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", where, name[i]);
        json_t *root = load_trace(path);
        assert_non_null(root);
        check_real(path, root);
        json_decref(root);
    }
}

/* Times of the last one are numbers, of which the brute force keeps a quarter of a microsecond. */
static void made_traces_are_what_brute_force_finds(void **state)
{
    (void)state;
    static const char *const name[] = {
        "mindspore/rank_0_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json",
        "torch_npu/rank_3_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        "older/timeline_display_1.json",
        "torch/rank_2.json",
    };
    enum { N = sizeof name / sizeof *name };
    check_all(made_traces(), name, N);
    for (int i = 0; i < N - 1; i++) {
        char path[4096];
        size_t size = 0;
        index_view v;
        ek__index_written out;
        snprintf(path, sizeof path, "%s/%s", made_traces(), name[i]);
        char *whole = slurp(path, &size);
        assert_non_null(whole);
        write_bytes("t.json", whole, size);
        char *bytes = index_of("t.json", 2, EK__INDEX_BOUND, &v, &out);
        compare(whole, size, whole, &v);
        free(bytes);
        free(whole);
    }
}

static void real_traces_keep_what_the_format_promises(void **state)
{
    (void)state;
    static const char *const name[] = {
        "ascend/msinsight/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        "ascend/mindinsight/utils/resource/run_1/normal_run/profiler/timeline_display_1.json",
        "kineto/hta/nccl_parser_config/nccl_data.json.gz",
        "kineto/tb_plugin/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
        "kineto/tracelens/mi300/resnet_act_checkpoint.json.gz",
    };
    check_all(need_shared("reference/traces"), name, sizeof name / sizeof *name);
}

/* ---- failures ---- */

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        ek_status status;
    } bad[] = {{"", "empty", EK_ERR_INPUT},
               {"{\"nodes\": [], \"schema\": 1}", "execution trace", EK_ERR_INPUT},
               {"hello", "no trace events", EK_ERR_INPUT}};
    ek__index_written out = {.bytes_index = 77};
    ek_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_bytes("t.json", bad[i].text, strlen(bad[i].text));
        assert_int_equal(index_file("t.json", 1, EK__INDEX_BOUND, &out, &err), bad[i].status);
        assert_non_null(strstr(err.message, bad[i].message));
    }
    unlink(path_of("t.json"));
    assert_int_equal(index_file("t.json", 1, EK__INDEX_BOUND, &out, &err), EK_ERR_SYSTEM);
    assert_int_equal(index_file("", 1, EK__INDEX_BOUND, &out, &err), EK_ERR_SYSTEM);
    assert_int_equal(out.bytes_index, 77);
    assert_int_equal(count_files(), 0);
}

static void without_memory_no_file_stays(void **state)
{
    (void)state;
    const form f = {.n_events = 300, .object = true, .halves = true};
    text t = {0};
    ek__index_written out;
    ek_error err;
    ek_status status = EK_ERR_MEMORY;
    make_trace(&t, &f, 3);
    write_compressed("t.json.gz", t.at, t.size, "wb");
    for (long i = 0; status != EK_OK; i += 1 + i / 40) {
        allocations = 0;
        failing = i;
        status = index_file("t.json.gz", 1, i % 2 ? 1 : EK__INDEX_BOUND, &out, &err);
        failing = -1;
        if (status == EK_OK && allocations > i)
            status = EK_ERR_MEMORY; /* it went on without */
        else if (status != EK_OK) {
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_int_equal(count_files(), 1);
        }
        unlink(path_of("out.index"));
    }
    unlink(path_of("t.json.gz"));
    clear_text(&t);
}

/* Every allocation of a small trace fails once: without an error the index is complete. */
static void an_index_is_written_whole_or_not(void **state)
{
    (void)state;
    const form f = {.n_events = 60, .object = true, .halves = true};
    text t = {0};
    index_view v;
    ek__index_written out;
    ek_error err;
    int n_told = 0;
    bool failed = true;
    make_trace(&t, &f, 3);
    write_bytes("t.json", t.at, t.size);
    char *whole = index_of("t.json", 1, EK__INDEX_BOUND, &v, &out);
    for (long i = 0; failed; i++) {
        allocations = 0;
        failing = i;
        ek_status status = index_file("t.json", 1, EK__INDEX_BOUND, &out, &err);
        failing = -1;
        failed = allocations > i;
        if (status == EK_OK) {
            size_t size = 0;
            char *bytes = slurp(path_of("out.index"), &size);
            assert_int_equal(size, v.size);
            assert_memory_equal(bytes, whole, size);
            free(bytes);
        } else
            assert_int_equal(status, EK_ERR_MEMORY);
        n_told += status != EK_OK;
        unlink(path_of("out.index"));
    }
    assert_true(n_told > 50);
    free(whole);
    unlink(path_of("t.json"));
    clear_text(&t);
}

/* Each allocation of reading a compressed file fails once: the text is whole with its restart points, or the error is
 * reported. */
static void spots_are_noted_or_memory_is_out(void **state)
{
    (void)state;
    const form f = {.n_events = 15000};
    static char out[1 << 22];
    text t = {0};
    bool failed = true;
    int n_told = 0;
    make_trace(&t, &f, 3);
    write_compressed("t.json.gz", t.at, t.size, "wb1");
    assert_true(t.size < sizeof out);
    for (long i = 0; failed; i++) {
        int fd = open(path_of("t.json.gz"), O_RDONLY);
        assert_true(fd >= 0);
        ek__gunzip *g = ek__gunzip_new(fd);
        size_t n = 0, some, n_spots;
        assert_non_null(g);
        ek__gunzip_note_spots(g, 1000);
        allocations = 0;
        failing = i;
        while ((some = ek__gunzip_read(g, out + n, 5000 < sizeof out - n ? 5000 : sizeof out - n)) > 0)
            n += some;
        failing = -1;
        failed = allocations > i;
        n_told += ek__gunzip_out_of_memory(g);
        assert_null(ek__gunzip_problem(g));
        const ek__gunzip_spot *spot = ek__gunzip_spots(g, &n_spots);
        if (!ek__gunzip_out_of_memory(g)) {
            assert_int_equal(n, t.size);
            assert_true(n_spots >= 3);
        }
        assert_memory_equal(out, t.at, n);
        for (size_t k = 0; k < n_spots; k++) /* the earlier part is there */
            assert_true((spot[k].window_size > 0) == (spot[k].out > 0));
        ek__gunzip_free(g);
    }
    assert_true(n_told > 2);
    unlink(path_of("t.json.gz"));
    clear_text(&t);
}

/* Checksums made valid after a change: the content of sections is checked, too. */
static void forged_sections_are_refused(void **state)
{
    (void)state;
    const form f = {.n_events = 300, .object = true};
    text t = {0};
    index_view v;
    ek__index_written written;
    ek_error err;
    make_trace(&t, &f, 3);
    write_bytes("t.json", t.at, t.size);
    char *whole = index_of("t.json", 1, EK__INDEX_BOUND, &v, &written);
    size_t size = v.size;
    static const char *const says[] = {NULL, "its rows are not", "its tracks are not", "its counters are not"};
    for (int what = 0; what < 4; what++) {
        char *bytes = malloc(size);
        assert_non_null(bytes);
        memcpy(bytes, whole, size);
        ek__index_header *h = (void *)bytes;
        uint64_t *check = (void *)(bytes + h->checks.at);
        if (what == 1)
            ((ek__index_row *)(void *)(bytes + h->rows.at))->n_events += 1;
        else if (what == 2)
            ((ek__index_track *)(void *)(bytes + h->tracks.at))->n_from += (uint32_t)h->from.n + 1;
        else if (what == 3)
            ((ek__index_counter *)(void *)(bytes + h->counters.at))->first_point = h->points.n + 1;
        for (uint64_t i = 0; i < h->checks.n; i++)
            check[i] = ek__check_of(0, bytes + sizeof *h + i * EK__CHECK_BYTES, EK__CHECK_BYTES);
        h->checks_check = ek__check_of_checks(check, h->checks.n);
        h->check = ek__check_of_header(h);
        write_bytes("out.index", bytes, size);
        ek__index_opened out;
        ek_status status = ek__index_file_open(path_of("out.index"), &out, &err);
        assert_int_equal(status, says[what] ? EK_ERR_INPUT : EK_OK);
        if (says[what])
            assert_non_null(strstr(err.message, says[what]));
        else
            ek__index_file_close(&out);
        unlink(path_of("out.index"));
        free(bytes);
    }
    free(whole);
    unlink(path_of("t.json"));
    clear_text(&t);
}

/* Each allocation of opening fails once: that is reported, and leaves nothing open. */
static void an_index_is_opened_whole_or_not(void **state)
{
    (void)state;
    const form f = {.n_events = 300, .object = true, .halves = true};
    text t = {0};
    ek__index_written written;
    ek_error err;
    ek_status status = EK_ERR_MEMORY;
    int n_told = 0;
    make_trace(&t, &f, 3);
    write_compressed("t.json.gz", t.at, t.size, "wb");
    assert_int_equal(index_file("t.json.gz", 1, EK__INDEX_BOUND, &written, &err), EK_OK);
    for (long i = 0; status != EK_OK; i++) {
        ek__index_opened out = {.fd = -7};
        allocations = 0;
        failing = i;
        status = ek__index_file_open(path_of("out.index"), &out, &err);
        failing = -1;
        if (status == EK_OK) {
            assert_true(allocations <= i); /* none has failed */
            assert_true(out.fd >= 0 && out.n_rows > 0 && out.check && out.n_shown > 0);
            ek__index_file_close(&out);
        } else {
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_int_equal(out.fd, -7);
            n_told++;
        }
    }
    assert_true(n_told >= 10);
    unlink(path_of("out.index"));
    unlink(path_of("t.json.gz"));
    clear_text(&t);
}

static void on_a_full_disk_no_file_stays(void **state)
{
    (void)state;
    const form f = {.n_events = 3000};
    text t = {0};
    index_view v;
    ek__index_written out;
    ek_error err;
    struct rlimit before, limit;
    make_trace(&t, &f, 3);
    write_bytes("t.json", t.at, t.size);
    free(index_of("t.json", 1, EK__INDEX_BOUND, &v, &out));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (int64_t size = out.bytes_index - 1; size > 0; size = size * 2 / 3) {
        limit = (struct rlimit){(rlim_t)size, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ek_status status = index_file("t.json", 2, size % 2 ? 20000 : EK__INDEX_BOUND, &out, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, EK_ERR_SYSTEM);
        assert_non_null(strstr(err.message, "cannot write"));
        assert_int_equal(count_files(), 1);
    }
    assert_int_equal(ek__index_write(path_of("t.json"), "/nonexistent/x.index", NULL, 0, 1, &out, &err), EK_ERR_SYSTEM);
    clear_text(&t);
}

/* Stops on the progress function's request. */
typedef struct stopping {
    double at, last;
    ek_interrupt flag;
} stopping;

static void stop_at(void *user, double share, const char *what)
{
    stopping *s = user;
    assert_non_null(what);
    assert_true(share >= s->last && share <= 0.75);
    s->last = share;
    if (share >= s->at)
        ek_interrupt_set(&s->flag);
}

static void an_interrupt_leaves_no_file(void **state)
{
    (void)state;
    const form f = {.n_events = 20000};
    text t = {0};
    ek__index_written out;
    ek_error err;
    make_trace(&t, &f, 3);
    write_bytes("t.json", t.at, t.size);
    for (int i = 0; i < 10; i++) {
        stopping s = {.at = 0.25 + i * 0.05};
        ek_trace_index_options options = {.n_threads = 2, .progress = stop_at, .user = &s, .interrupt = &s.flag};
        ek_status status = ek__index_write(path_of("t.json"), path_of("out.index"), &options, 0.25, 0.75, &out, &err);
        if (status == EK_OK) /* it was done before anyone looked */
            unlink(path_of("out.index"));
        else
            assert_string_equal(err.message, "interrupted");
        assert_true(status != EK_OK || i > 7);
        assert_int_equal(count_files(), 1);
    }
    clear_text(&t);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("t.json"));
    return rmdir(folder);
}

/* Every bit of a block counts, and pieces in any order give the checksum of the whole. */
static void every_bit_is_in_a_check(void **state)
{
    (void)state;
    static unsigned char block[EK__CHECK_BYTES];
    ek__random random = ek__random_seed(7);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)ek__random_next(&random);
    uint64_t check = ek__check_of(0, block, sizeof block);
    for (size_t bit = 0; bit < 8 * sizeof block; bit++) {
        block[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_true(ek__check_of(0, block, sizeof block) != check);
        block[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (int round = 0; round < 500; round++) {
        size_t a = ek__random_next(&random) % (sizeof block + 1);
        size_t b = a + ek__random_next(&random) % (sizeof block + 1 - a);
        assert_true(ek__check_of(b, block + b, sizeof block - b) + ek__check_of(0, block, a) +
                        ek__check_of(a, block + a, b - a) ==
                    check);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_are_what_brute_force_finds),
        cmocka_unit_test(threads_and_memory_do_not_matter),
        cmocka_unit_test(long_rows_are_chunked),
        cmocka_unit_test(cut_files_give_what_is_before_the_cut),
        cmocka_unit_test(damage_ends_the_index_where_it_is),
        cmocka_unit_test(compressed_traces_are_indexed_with_spots),
        cmocka_unit_test(types_of_ascend),
        cmocka_unit_test(types_of_kineto_and_old_files),
        cmocka_unit_test(odd_values_are_counted_and_kept_out),
        cmocka_unit_test(deeper_events_than_there_are_rows_are_counted),
        cmocka_unit_test(nothing_is_an_index_too),
        cmocka_unit_test(made_traces_are_what_brute_force_finds),
        cmocka_unit_test(real_traces_keep_what_the_format_promises),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(without_memory_no_file_stays),
        cmocka_unit_test(an_index_is_written_whole_or_not),
        cmocka_unit_test(spots_are_noted_or_memory_is_out),
        cmocka_unit_test(forged_sections_are_refused),
        cmocka_unit_test(an_index_is_opened_whole_or_not),
        cmocka_unit_test(on_a_full_disk_no_file_stays),
        cmocka_unit_test(an_interrupt_leaves_no_file),
        cmocka_unit_test(every_bit_is_in_a_check),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
