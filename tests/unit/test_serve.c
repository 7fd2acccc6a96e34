/* Tests the server over a small generated trace, with requests through raw sockets. Oracle of the answers: the calls of
 * index/index.h with the same values. */
#include "failing_heap.h"
#include "input.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "evenkeel/serve.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "index/index.h"
#include "trace_generator.h"

/* ---- allocations that fail, those of the test's own clients apart ---- */

static atomic_int allocations_left = -1; /* until one fails; negative: none does */
static _Thread_local bool is_client;

static bool fails(void)
{
    if (is_client)
        return false;
    int left = atomic_load(&allocations_left);
    while (left >= 0 && !atomic_compare_exchange_weak(&allocations_left, &left, left - 1)) {
    }
    return left == 0;
}

FAILING_HEAP(fails)

/* ---- a server ---- */

typedef struct served {
    char folder[64];
    ek_trace_index *index;
    ek_server *server;
    int port;
    char token[EK_SERVE_TOKEN_SIZE];
    atomic_int ready;
} served;

static const char document_text[] = "{\"format\": \"evenkeel view\"}";
static const trace_shape shape = {
    .form = TRACE_TORCH_NPU, .n_stages = 2, .n_micro_batches = 4, .n_steps = 3, .n_layers = 2, .seed = 5};

static bool get_document(void *user, const char **text, size_t *size)
{
    int ready = atomic_load(&((served *)user)->ready);
    *text = ready == 1 ? document_text : NULL;
    *size = ready == 1 ? strlen(document_text) : 0;
    return ready != 0;
}

static void start_server(served *s)
{
    ek_error err = {0};
    const ek_serve_options options = {.title = "a <run>", .name = "run", .document = get_document, .user = s};
    if (ek_server_start(s->index, &options, &s->server, &err))
        fail_msg("%s", err.message);
    const char *address = ek_server_address(s->server);
    assert_int_equal(sscanf(address, "http://127.0.0.1:%d/%32[0-9a-f]/", &s->port, s->token), 2);
    assert_int_equal(strlen(s->token), EK_SERVE_TOKEN_SIZE - 1);
    assert_int_equal(s->port, ek_server_port(s->server));
}

static int set_up(void **state)
{
    static served s;
    ek_error err = {0};
    s = (served){.folder = "/tmp/evenkeel-serve-XXXXXX"};
    if (!mkdtemp(s.folder) || !trace_write(&shape, s.folder, NULL))
        return -1;
    const char *path = s.folder;
    const ek_trace_index_options options = {.temporary = true, .n_threads = 1};
    if (ek_trace_index_open(&path, 1, &options, NULL, &s.index, NULL, &err)) {
        print_error("%s\n", err.message);
        return -1;
    }
    start_server(&s);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    served *s = *state;
    ek_server_stop(s->server);
    ek_trace_index_close(s->index);
    for (int i = 0; i < shape.n_stages; i++)
        trace_remove(shape.form, s->folder, i);
    return rmdir(s->folder);
}

/* ---- asking ---- */

typedef struct answer {
    int status; /* 0: the connection was closed without one */
    char *text; /* all of it, headers too */
    size_t size;
    const char *body;
    size_t body_size;
} answer;

static int connect_to(const served *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    const struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

/* False when the other end is closed. */
static bool send_all(int fd, const char *text, size_t size)
{
    for (ssize_t n; size > 0; text += n, size -= (size_t)n)
        if ((n = send(fd, text, size, MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

static answer receive_all(int fd)
{
    answer a = {0};
    size_t room = 0;
    for (ssize_t n = 1; n > 0; a.size += n > 0 ? (size_t)n : 0) {
        if (room - a.size < 65536)
            a.text = realloc(a.text, (room = 2 * room + 65536) + 1);
        assert_non_null(a.text);
        n = recv(fd, a.text + a.size, room - a.size, 0);
    }
    a.text[a.size] = '\0';
    const char *end = strstr(a.text, "\r\n\r\n");
    if (end && sscanf(a.text, "HTTP/1.1 %d", &a.status) == 1) {
        a.body = end + 4;
        a.body_size = a.size - (size_t)(a.body - a.text);
    }
    return a;
}

/* Send some bytes and read until the server closes. */
static answer send_raw(const served *s, const char *text, size_t size)
{
    int fd = connect_to(s);
    send_all(fd, text, size);
    shutdown(fd, SHUT_WR);
    answer a = receive_all(fd);
    close(fd);
    return a;
}

/* A valid request except for the given parts; `path` without the token's part. */
static answer ask_as(const served *s, const char *method, const char *token, const char *path, const char *host,
                     const char *headers)
{
    static _Thread_local char text[100000];
    int n = snprintf(text, sizeof text, "%s /%s/%s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n", method, token,
                     path, host, headers);
    assert_in_range(n, 1, sizeof text - 1);
    return send_raw(s, text, (size_t)n);
}

static answer ask(const served *s, const char *path)
{
    char host[32];
    snprintf(host, sizeof host, "127.0.0.1:%d", s->port);
    return ask_as(s, "GET", s->token, path, host, "");
}

static void assert_status(answer a, int status, const char *what)
{
    if (a.status != status)
        fail_msg("%s: %d instead of %d: %.300s", what, a.status, status, a.text);
    free(a.text);
}

static json_t *ask_json(const served *s, const char *path)
{
    answer a = ask(s, path);
    json_error_t err;
    json_t *json = a.status == 200 ? json_loadb(a.body, a.body_size, JSON_DECODE_ANY, &err) : NULL;
    if (!json)
        fail_msg("%s: %.300s", path, a.text);
    assert_non_null(strstr(a.text, "\r\nContent-Type: application/json\r\n"));
    free(a.text);
    return json;
}

static int64_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void assert_name(const served *s, uint32_t name, const json_t *text)
{
    size_t size;
    const char *own;
    assert_int_equal(ek__index_name_text(s->index, name, &own, &size, NULL), EK_OK);
    assert_int_equal(json_string_length(text), size);
    assert_memory_equal(json_string_value(text), own, size);
}

/* ---- answers ---- */

static void page_and_documents_are_there(void **state)
{
    served *s = *state;
    size_t size;
    const char *page = ek_view_shell(&size);
    answer a = ask(s, "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body_size, size);
    assert_memory_equal(a.body, page, size);
    static const char *const headers[] = {"\r\nContent-Type: text/html; charset=utf-8\r\n",
                                          "\r\nContent-Security-Policy: default-src 'none'; script-src 'sha256-",
                                          "frame-ancestors 'none'\r\n",
                                          "\r\nX-Content-Type-Options: nosniff\r\n",
                                          "\r\nReferrer-Policy: no-referrer\r\n",
                                          "\r\nCross-Origin-Resource-Policy: same-origin\r\n",
                                          "\r\nCache-Control: no-store\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_non_null(strstr(a.text, headers[i]));
    free(a.text);

    json_t *timeline = ask_json(s, "timeline");
    assert_string_equal(json_string_value(json_object_get(timeline, "title")), "a <run>");
    assert_true(json_is_true(json_object_get(timeline, "served")));
    const json_t *run = json_array_get(json_object_get(timeline, "runs"), 0);
    const json_t *rows = json_object_get(json_object_get(run, "timeline"), "row_events");
    assert_int_equal(json_array_size(rows), ek__index_n_rows(s->index));
    for (int i = 0; i < ek__index_n_rows(s->index); i++)
        assert_int_equal(json_integer_value(json_array_get(rows, (size_t)i)), ek__index_row_events(s->index, i));

    atomic_store(&s->ready, 0);
    a = ask(s, "document");
    assert_int_equal(a.status, 202);
    assert_string_equal(a.body, "{\"ready\": false}");
    free(a.text);
    atomic_store(&s->ready, 1);
    a = ask(s, "document");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, document_text);
    free(a.text);
    atomic_store(&s->ready, 2); /* could not be made */
    json_t *document = ask_json(s, "document");
    json_t *notes = json_object_get(json_array_get(json_object_get(document, "runs"), 0), "notes");
    assert_int_equal(json_array_size(notes), 1);
    assert_non_null(strstr(json_string_value(json_array_get(notes, 0)), "could not be computed"));
    json_array_clear(notes);
    assert_true(json_equal(document, timeline));
    json_decref(document);
    json_decref(timeline);
}

static uint32_t u32_at(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static double f64_at(const char *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void assert_rows(const served *s, const int *rows, int n, int64_t begin, int64_t end, int64_t resolution)
{
    char path[512];
    size_t length =
        (size_t)snprintf(path, sizeof path, "rows?begin=%lld&end=%lld&resolution=%lld&rows=", (long long)begin,
                         (long long)end, (long long)resolution);
    ek__index_blocks all = {0};
    size_t count[64];
    int64_t finest = (end - begin) / 65536;
    for (int i = 0; i < n; i++) {
        ek_error err;
        size_t before = all.n;
        length += (size_t)snprintf(path + length, sizeof path - length, "%s%d", i ? "%2C" : "", rows[i]);
        assert_int_equal(ek__index_row_blocks(s->index, rows[i], begin, end, resolution > finest ? resolution : finest,
                                              0, &all, &err),
                         EK_OK);
        count[i] = all.n - before;
    }
    answer a = ask(s, path);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body_size, 8 + 8 * (size_t)n + 37 * all.n);
    assert_int_equal(u32_at(a.body), 0x45564b31);
    assert_int_equal(u32_at(a.body + 4), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(u32_at(a.body + 8 + 8 * i), rows[i]);
        assert_int_equal(u32_at(a.body + 12 + 8 * i), count[i]);
    }
    const char *column = a.body + 8 + 8 * (size_t)n;
    for (size_t i = 0; i < all.n; i++) {
        const ek__index_block *box = &all.block[i];
        const char *numbers = column + 24 * all.n;
        assert_true(f64_at(column + 8 * i) == (double)box->begin);
        assert_true(f64_at(column + 8 * (all.n + i)) == (double)box->end);
        assert_true(f64_at(column + 8 * (2 * all.n + i)) == (double)box->busy);
        assert_int_equal(u32_at(numbers + 4 * i), box->name);
        assert_int_equal(u32_at(numbers + 4 * (all.n + i)), box->n);
        assert_int_equal(u32_at(numbers + 4 * (2 * all.n + i)), box->index);
        assert_int_equal((unsigned char)numbers[12 * all.n + i], box->type);
    }
    free(a.text);
    ek__index_blocks_clear(&all);
}

static void rows_are_those_of_the_index(void **state)
{
    const served *s = *state;
    int64_t end = ek__index_end(s->index);
    int n = ek__index_n_rows(s->index), all[64];
    n = n < 64 ? n : 64;
    for (int i = 0; i < n; i++)
        all[i] = i;
    assert_rows(s, all, n, 0, end, 0);
    assert_rows(s, all, n, 0, end, end / 1000);
    assert_rows(s, all, n, end / 3, end / 2, 1000);
    assert_rows(s, all, n, end / 2, end / 2 + 60000, 0);
    assert_rows(s, all + n - 1, 1, -5, 5, 1);
    assert_rows(s, all, 1, end + 10, end + 20, 1);
    const int apart[] = {0, n / 2, n - 1};
    assert_rows(s, apart, 3, 0, end, 100000);
}

static void names_are_those_of_the_index(void **state)
{
    const served *s = *state;
    char path[64];
    uint32_t n = ek__index_n_names(s->index);
    snprintf(path, sizeof path, "names?names=0-%u", n + 2); /* those beyond are empty */
    json_t *json = ask_json(s, path);
    const json_t *texts = json_object_get(json, "texts");
    assert_int_equal(json_array_size(texts), n + 3);
    for (uint32_t i = 0; i < n + 3; i++)
        assert_name(s, i, json_array_get(texts, i));
    json_decref(json);
}

static void arrows_are_those_of_the_index(void **state)
{
    const served *s = *state;
    enum { MOST = 4096 };
    static ek__index_arrow_seen arrow[MOST];
    static int track[1024];
    char path[128];
    int n_tracks = ek__index_n_tracks(s->index), n_rows = ek__index_n_rows(s->index);
    size_t n;
    bool all;
    ek_error err;
    assert_in_range(n_tracks, 1, 1024);
    for (int i = 0; i < n_tracks; i++)
        track[i] = i;
    for (size_t limit = 5; limit <= MOST; limit += MOST - 5) {
        assert_int_equal(
            ek__index_arrows(s->index, track, n_tracks, 0, ek__index_end(s->index), limit, arrow, &n, &all, &err),
            EK_OK);
        assert_true(n > 0);
        snprintf(path, sizeof path, "arrows?rows=0-%d&begin=0&end=%lld&limit=%zu", n_rows - 1,
                 (long long)ek__index_end(s->index), limit);
        json_t *json = ask_json(s, path);
        const json_t *list = json_object_get(json, "arrows");
        assert_int_equal(json_is_true(json_object_get(json, "all")), all);
        assert_int_equal(json_array_size(list), n);
        for (size_t i = 0; i < n; i++) {
            const json_t *one = json_array_get(list, i);
            assert_int_equal(json_integer_value(json_array_get(one, 0)), arrow[i].from_row);
            assert_int_equal(json_integer_value(json_array_get(one, 1)), arrow[i].from_time);
            assert_int_equal(json_integer_value(json_array_get(one, 2)), arrow[i].to_row);
            assert_int_equal(json_integer_value(json_array_get(one, 3)), arrow[i].to_time);
            assert_name(s, arrow[i].name, json_array_get(one, 4));
        }
        json_decref(json);
    }
}

static void assert_event(const served *s, int row, uint32_t at)
{
    static ek__index_details own;
    char path[64];
    ek_error err = {0};
    if (ek__index_event_details(s->index, row, at, &own, &err))
        fail_msg("%s", err.message);
    snprintf(path, sizeof path, "event?row=%d&index=%u", row, at);
    json_t *json = ask_json(s, path);
    assert_name(s, own.name, json_object_get(json, "name"));
    assert_int_equal(number_of(json, "type"), own.type);
    assert_int_equal(number_of(json, "begin"), own.begin);
    assert_int_equal(number_of(json, "end"), own.end);
    assert_string_equal(json_string_value(json_object_get(json, "layer")), own.layer);
    json_t *event = json_loadb(own.text, own.size, 0, NULL);
    assert_non_null(event);
    const json_t *args = json_object_get(event, "args"), *given = json_object_get(json, "args");
    assert_true(args ? json_equal(args, given) : json_is_null(given));
    assert_true(json_is_null(json_object_get(json, "text")));
    const json_t *flows = json_object_get(json, "flows");
    assert_int_equal(json_array_size(flows), own.n_flows);
    for (int i = 0; i < own.n_flows; i++) {
        const json_t *flow = json_array_get(flows, (size_t)i);
        assert_int_equal(json_is_true(json_object_get(flow, "outgoing")), own.flow[i].outgoing);
        assert_int_equal(number_of(flow, "row"), own.flow[i].row);
        assert_int_equal(number_of(flow, "begin"), own.flow[i].begin);
        assert_int_equal(number_of(flow, "end"), own.flow[i].end);
        if (own.flow[i].row >= 0)
            assert_int_equal(number_of(flow, "index"), own.flow[i].index);
    }
    json_decref(event);
    json_decref(json);
    ek__index_details_clear(&own);
}

static void events_are_those_of_the_trace(void **state)
{
    const served *s = *state;
    for (int row = 0; row < ek__index_n_rows(s->index); row++) {
        int64_t n = ek__index_row_events(s->index, row);
        assert_event(s, row, 0);
        assert_event(s, row, (uint32_t)(n - 1));
        char path[64];
        snprintf(path, sizeof path, "event?row=%d&index=%lld", row, (long long)n);
        assert_status(ask(s, path), 400, path);
    }
}

static void events_are_found_at_a_time(void **state)
{
    const served *s = *state;
    int64_t end = ek__index_end(s->index);
    int n_found = 0;
    for (int row = 0; row < ek__index_n_rows(s->index); row++)
        for (int i = 0; i < 7; i++) {
            char path[64];
            int64_t time = end / 7 * i;
            uint32_t own;
            assert_int_equal(ek__index_event_at(s->index, row, time, &own, NULL), EK_OK);
            snprintf(path, sizeof path, "at?row=%d&time=%lld", row, (long long)time);
            json_t *json = ask_json(s, path);
            assert_true(own == UINT32_MAX ? json_is_null(json) : number_of(json, "index") == own);
            n_found += own != UINT32_MAX;
            json_decref(json);
        }
    assert_true(n_found > 0);
}

/* All hits of a text, one request after the other, are those of the index. */
static void assert_found(const served *s, const char *text, const char *encoded, bool forward)
{
    ek_error err;
    ek__index_search *search;
    ek__index_hit hit = {.row = forward ? -1 : 0, .begin = forward ? 0 : ek__index_end(s->index) + 1};
    uint64_t n_events;
    int n = 0;
    assert_int_equal(ek__index_search_new(s->index, text, strlen(text), &search, &err), EK_OK);
    uint32_t n_names = ek__index_search_names(search, &n_events);
    for (bool more = true; more && n < 200; n++) {
        char path[256];
        snprintf(path, sizeof path, "find?text=%s&forward=%d&time=%lld&row=%d&index=%u", encoded, forward,
                 (long long)hit.begin, hit.row, hit.index);
        ek__index_hit from = hit;
        assert_int_equal(
            ek__index_find(s->index, search, NULL, 0, forward, from.begin, from.row, from.index, &hit, &err), EK_OK);
        json_t *json = ask_json(s, path);
        more = hit.row >= 0;
        assert_int_equal(json_is_null(json), !more);
        if (more) {
            assert_int_equal(number_of(json, "row"), hit.row);
            assert_int_equal(number_of(json, "index"), hit.index);
            assert_int_equal(number_of(json, "begin"), hit.begin);
            assert_int_equal(number_of(json, "end"), hit.end);
            assert_int_equal(number_of(json, "names"), n_names);
            assert_name(s, hit.name, json_object_get(json, "name"));
        }
        json_decref(json);
    }
    assert_true(n > 1);
    ek__index_search_free(search);
}

static void names_are_found_in_order(void **state)
{
    const served *s = *state;
    assert_found(s, "matmul", "matmul", true);
    assert_found(s, "MATMUL", "MATMUL", false);
    assert_found(s, "a", "%61", true);
    for (int i = 0; i < 10; i++) { /* more texts than are kept */
        char path[128];
        snprintf(path, sizeof path, "find?text=nothing+is+called+so+%d&forward=1&time=0&row=-1&index=0", i);
        json_t *json = ask_json(s, path);
        assert_true(json_is_null(json));
        json_decref(json);
    }
    assert_found(s, "matmul", "matmul", true);
}

static int64_t total_of(const ek__index_summing *state)
{
    int64_t total = 0;
    for (size_t i = 0; i < state->n; i++)
        total += state->total[i].total;
    return total;
}

/* Against every event of the rows, in the same order. */
static void listed_events_are_the_longest_of_the_stretch(void **state)
{
    const served *s = *state;
    int n_rows = ek__index_n_rows(s->index);
    int64_t end = ek__index_end(s->index), begin = end / 5, before = INT64_MAX;
    size_t inside = 0, longer = 0;
    char path[160];
    for (int limit = 7; limit <= 65536; limit = limit == 7 ? 65536 : 65537) {
        inside = longer = 0;
        before = INT64_MAX;
        snprintf(path, sizeof path, "events?rows=0-%d&begin=%lld&end=%lld&limit=%d", n_rows - 1, (long long)begin,
                 (long long)(end / 2), limit);
        json_t *json = ask_json(s, path);
        const json_t *events = json_object_get(json, "events"), *one;
        size_t i;
        json_array_foreach(events, i, one)
        {
            ek__index_event event;
            int row = (int)json_integer_value(json_array_get(one, 0));
            uint32_t index = (uint32_t)json_integer_value(json_array_get(one, 1));
            assert_int_equal(ek__index_events(s->index, row, index, 1, &event, NULL), EK_OK);
            assert_int_equal(json_integer_value(json_array_get(one, 2)), event.begin);
            assert_int_equal(json_integer_value(json_array_get(one, 3)), event.begin + event.duration);
            assert_name(s, event.name, json_array_get(one, 4));
            assert_true(event.duration <= before);
            before = event.duration;
        }
        for (int row = 0; row < n_rows; row++)
            for (int64_t k = 0; k < ek__index_row_events(s->index, row); k++) {
                ek__index_event event;
                assert_int_equal(ek__index_events(s->index, row, (uint32_t)k, 1, &event, NULL), EK_OK);
                bool in = event.begin < end / 2 && (event.begin >= begin || event.begin + event.duration > begin);
                inside += in;
                longer += in && event.duration > before;
            }
        assert_int_equal(json_array_size(events), inside < (size_t)limit ? inside : (size_t)limit);
        assert_int_equal(json_is_true(json_object_get(json, "all")), inside <= (size_t)limit);
        assert_true(longer <= json_array_size(events));
        json_decref(json);
    }
    assert_true(inside > 7);
}

static void sums_are_those_of_the_index(void **state)
{
    const served *s = *state;
    ek__index_summing own = {0};
    ek_error err;
    int n = ek__index_n_rows(s->index), rows[1024];
    int64_t end = ek__index_end(s->index), begin = end / 5;
    char path[160], number[32] = "";
    for (int i = 0; i < n; i++)
        rows[i] = i;
    while (own.next_row < n)
        assert_int_equal(ek__index_sum_up(s->index, rows, n, begin, end, 1000, &own, &err), EK_OK);
    json_t *json = NULL;
    for (bool done = false; !done;) {
        json_decref(json);
        snprintf(path, sizeof path, "sums?rows=0-%d&begin=%lld&end=%lld&state=%s", n - 1, (long long)begin,
                 (long long)end, number);
        json = ask_json(s, path);
        done = json_is_true(json_object_get(json, "done"));
        if (!done)
            snprintf(number, sizeof number, "%s", json_string_value(json_object_get(json, "state")));
    }
    const json_t *totals = json_object_get(json, "totals");
    int64_t total = 0;
    assert_int_equal(json_array_size(totals), own.n);
    for (size_t i = 0; i < own.n; i++) {
        const json_t *one = json_array_get(totals, i);
        total += number_of(one, "total");
        assert_name(s, own.total[i].name, json_object_get(one, "name"));
        assert_int_equal(number_of(one, "n"), own.total[i].n);
        assert_int_equal(number_of(one, "track"), own.total[i].track);
        assert_int_equal(number_of(one, "type"), own.total[i].type);
    }
    assert_true(total > 0 && total == total_of(&own));
    json_decref(json);
    ek__index_summing_clear(&own);
    assert_status(ask(s, "sums?rows=0&begin=0&end=1&state=00000000000000ff"), 400, "a state that was never given");
}

/* ---- a second run ---- */

static int64_t events_of(const json_t *run)
{
    int64_t n = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(json_object_get(run, "timeline"), "row_events"), i, row) n +=
        json_integer_value(row);
    return n;
}

/* Another trace of more steps, so that no answer of one could be that of the other. */
static void a_second_run_has_its_own_answers(void **state)
{
    const served *one = *state;
    served s = {.folder = "/tmp/evenkeel-serve-XXXXXX", .index = one->index};
    ek_error err = {0};
    ek_trace_index *other;
    trace_shape longer = shape;
    longer.n_steps = 5;
    assert_non_null(mkdtemp(s.folder));
    assert_true(trace_write(&longer, s.folder, NULL));
    const char *path = s.folder;
    const ek_trace_index_options how = {.temporary = true, .n_threads = 1};
    assert_int_equal(ek_trace_index_open(&path, 1, &how, NULL, &other, NULL, &err), EK_OK);
    const ek_serve_options options = {.name = "run", .against = other, .against_name = "other"};
    assert_int_equal(ek_server_start(s.index, &options, &s.server, &err), EK_OK);
    assert_int_equal(sscanf(ek_server_address(s.server), "http://127.0.0.1:%d/%32[0-9a-f]/", &s.port, s.token), 2);

    json_t *document = ask_json(&s, "timeline");
    const json_t *runs = json_object_get(document, "runs");
    assert_int_equal(json_array_size(runs), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 1), "name")), "other");
    assert_int_equal(events_of(json_array_get(runs, 0)), ek_trace_index_n_events(s.index));
    assert_int_equal(events_of(json_array_get(runs, 1)), ek_trace_index_n_events(other));
    json_decref(document);

    const ek_trace_index *const index[] = {s.index, other};
    for (int run = 0; run < 2; run++) {
        ek__index_search *search;
        ek__index_hit hit;
        char text[160];
        snprintf(text, sizeof text, "find?text=Mat&forward=0&time=9007199254740992&row=0&index=0&run=%d", run);
        json_t *found = ask_json(&s, text);
        assert_int_equal(ek__index_search_new(index[run], "Mat", 3, &search, &err), EK_OK);
        assert_int_equal(
            ek__index_find(index[run], search, NULL, 0, false, INT64_C(9007199254740992), 0, 0, &hit, &err), EK_OK);
        assert_true(hit.row >= 0);
        assert_int_equal(number_of(found, "begin"), hit.begin);
        assert_int_equal(number_of(found, "index"), hit.index);
        ek__index_search_free(search);
        json_decref(found);
    }
    assert_status(ask(&s, "at?row=0&time=0&run=2"), 400, "a third run");
    assert_status(ask(&s, "timeline?run=1"), 400, "what is there for both");
    assert_status(ask(one, "at?row=0&time=0&run=1"), 400, "a second run where one is served");
    ek_server_stop(s.server);
    ek_trace_index_close(other);
    for (int i = 0; i < longer.n_stages; i++)
        trace_remove(longer.form, s.folder, i);
    assert_int_equal(rmdir(s.folder), 0);
}

/* ---- refusals ---- */

static void other_methods_are_refused(void **state)
{
    const served *s = *state;
    static const char *const methods[] = {"POST",    "PUT",   "HEAD",     "DELETE", "OPTIONS",
                                          "CONNECT", "TRACE", "PROPFIND", "get",    "X"};
    char host[32];
    snprintf(host, sizeof host, "127.0.0.1:%d", s->port);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        answer a = ask_as(s, methods[i], s->token, "timeline", host, "");
        if (a.status == 405)
            assert_non_null(strstr(a.text, "\r\nAllow: GET\r\n"));
        assert_status(a, 405, methods[i]);
    }
    assert_status(ask_as(s, "POST", s->token, "", host, "Content-Length: 0\r\n"), 405, "POST");
    assert_status(ask_as(s, "POST", s->token, "", host, "Content-Length: 4\r\n\r\nabcd"), 405, "POST with content");
    assert_status(ask_as(s, "GET", s->token, "", host, "Content-Length: 4\r\n\r\nabcd"), 413, "GET with content");
    assert_status(ask_as(s, "GET", s->token, "", host, "Transfer-Encoding: chunked\r\n\r\n0\r\n"), 413, "chunked");
}

static void other_hosts_and_sites_are_refused(void **state)
{
    const served *s = *state;
    char host[64], text[256];
    static const char *const hosts[] = {"evil.example", "localhost",       "127.0.0.1",
                                        "127.0.0.2:%d", "evil.example:%d", ""};
    static const char *const good_hosts[] = {"127.0.0.1:%d", "localhost:%d", "[::1]:%d"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(host, sizeof host, hosts[i], s->port);
        assert_status(ask_as(s, "GET", s->token, "", host, ""), 403, host);
    }
    for (size_t i = 0; i < sizeof good_hosts / sizeof *good_hosts; i++) {
        snprintf(host, sizeof host, good_hosts[i], s->port);
        assert_status(ask_as(s, "GET", s->token, "timeline", host, ""), 200, host);
        snprintf(text, sizeof text, "Origin: http://%s\r\nSec-Fetch-Site: same-origin\r\n", host);
        assert_status(ask_as(s, "GET", s->token, "timeline", host, text), 200, text);
    }
    snprintf(host, sizeof host, "127.0.0.1:%d", s->port);
    snprintf(text, sizeof text, "Host: evil.example:%d\r\n", s->port);
    assert_status(ask_as(s, "GET", s->token, "", host, text), 403, "two hosts");
    assert_status(ask_as(s, "GET", s->token, "", host, "Origin: http://evil.example\r\n"), 403, "Origin");
    assert_status(ask_as(s, "GET", s->token, "", host, "Origin: null\r\n"), 403, "Origin null");
    assert_status(ask_as(s, "GET", s->token, "", host, "Sec-Fetch-Site: cross-site\r\n"), 403, "Sec-Fetch-Site");
    assert_status(ask_as(s, "GET", s->token, "", host, "Sec-Fetch-Site: same-site\r\n"), 403, "Sec-Fetch-Site");
    snprintf(text, sizeof text, "GET /%s/ HTTP/1.0\r\n\r\n", s->token);
    answer a = send_raw(s, text, strlen(text));
    assert_true(a.status == 403 || a.status == 400 || strstr(a.text, " 403 "));
    free(a.text);
}

static void other_tokens_get_the_same_answer(void **state)
{
    const served *s = *state;
    char host[32], token[64], *first = NULL;
    snprintf(host, sizeof host, "127.0.0.1:%d", s->port);
    for (int i = 0; i < 5; i++) {
        snprintf(token, sizeof token, "%s", s->token);
        token[31] = i == 0 ? (s->token[31] == '0' ? '1' : '0') : token[31]; /* one digit off */
        token[16] = i == 1 ? '\0' : token[16];                              /* short */
        token[0] = i == 2 ? '\0' : token[0];                                /* none */
        if (i == 3)
            snprintf(token, sizeof token, "%s0", s->token); /* long */
        if (i == 4)
            token[3] = 'Z';
        answer a = ask_as(s, "GET", token, "timeline", host, "");
        assert_int_equal(a.status, 403);
        if (first)
            assert_string_equal(a.body, first);
        else
            first = strdup(a.body);
        free(a.text);
    }
    free(first);
    snprintf(token, sizeof token, "/%s", s->token);
    assert_status(ask_as(s, "GET", token, "", host, ""), 403, token);
    assert_status(ask_as(s, "GET", "favicon.ico", "", host, ""), 403, "favicon.ico");
}

static void nothing_else_has_an_address(void **state)
{
    const served *s = *state;
    static const char *const paths[] = {"../",
                                        "..",
                                        "%2e%2e/",
                                        "..%2f..%2fetc%2fpasswd",
                                        "../../../../etc/passwd",
                                        "document/",
                                        "document/..",
                                        "/document",
                                        "Document",
                                        "%64ocument",
                                        "document%00",
                                        "rows.json",
                                        "index.html",
                                        "evenkeel-index",
                                        "etc/passwd",
                                        "\\..\\"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_status(ask(s, paths[i]), 404, paths[i]);
}

static void wrong_values_are_refused(void **state)
{
    const served *s = *state;
    char path[128];
    static const char *const paths[] = {
        "rows",
        "rows?rows=0&begin=0&end=1",
        "rows?rows=99999999999999999999&begin=0&end=1&resolution=1",
        "rows?rows=4294967294&begin=0&end=1&resolution=1",
        "rows?rows=0-5000&begin=0&end=1&resolution=1",
        "rows?rows=0&begin=5&end=1&resolution=1",
        "rows?rows=0&begin=-9999999999999999999999&end=1&resolution=1",
        "rows?rows=0&begin=0&end=1&resolution=-1",
        "rows?rows=0&begin=0&end=1&resolution=1&file=/etc/passwd",
        "document?path=/etc/passwd",
        "?x=1",
        "names?names=",
        "event?row=-1&index=0",
        "event?row=2147483647&index=0",
        "event?row=0&index=4294967295",
        "at?row=-1&time=0",
        "at?row=0&time=1e5",
        "curve?counter=2147483647&begin=0&end=1&resolution=1",
        "find?text=&forward=1&time=0&row=0&index=0",
        "find?text=%ff%&forward=1&time=0&row=0&index=0",
        "find?text=a&forward=1&time=0&row=0&index=0&rows=2147483646",
        "sums?rows=0&begin=0&end=1&state=xyz",
        "events?rows=0&begin=0&end=1&limit=0",
        "events?rows=2147483646&begin=0&end=1&limit=1",
        "arrows?rows=0&begin=0&end=1&limit=100000000",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_status(ask(s, paths[i]), 400, paths[i]);
    snprintf(path, sizeof path, "rows?rows=%d&begin=0&end=1&resolution=1", ek__index_n_rows(s->index));
    assert_status(ask(s, path), 400, path);
    /* Bytes that are no text are looked for all the same. */
    json_decref(ask_json(s, "find?text=%ff%fe&forward=1&time=0&row=0&index=0"));
}

static void answers_are_bounded(void **state)
{
    const served *s = *state;
    char path[128];
    snprintf(path, sizeof path, "rows?rows=0-%d&begin=-9007199254740992&end=9007199254740992&resolution=0",
             ek__index_n_rows(s->index) - 1);
    answer a = ask(s, path);
    assert_in_range(a.body_size, 1, 16 << 20);
    assert_status(a, 200, path);
}

/* ---- invalid requests ---- */

static void damaged_requests_are_survived(void **state)
{
    const served *s = *state;
    static char text[400000];
    char good[256];
    int length =
        snprintf(good, sizeof good, "GET /%s/timeline HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s->token, s->port);
    /* Every beginning of a good request, then nothing more. */
    for (int n = 0; n < length; n += 7) {
        int fd = connect_to(s);
        send_all(fd, good, (size_t)n);
        close(fd);
    }
    /* Addresses and headers that are too long. */
    for (int what = 0; what < 3; what++) {
        size_t n = (size_t)snprintf(text, sizeof text, "GET /%s/rows?rows=", s->token);
        memset(text + n, '1', 300000);
        n += 300000;
        if (what > 0)
            n = (size_t)snprintf(text, sizeof text, "GET /%s/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", s->token, s->port);
        for (int i = 0; what > 0 && i < (what == 1 ? 1 : 3000); i++) {
            n += (size_t)snprintf(text + n, 32, "X-%d: ", i);
            memset(text + n, 'a', what == 1 ? 300000 : 50);
            n += what == 1 ? 300000 : 50;
            n += (size_t)snprintf(text + n, 3, "\r\n");
        }
        n += (size_t)snprintf(text + n, 32, " HTTP/1.1\r\n\r\n");
        answer a = send_raw(s, text, n);
        assert_true(a.status == 0 || (a.status >= 400 && a.status < 500));
        free(a.text);
    }
    /* Random bytes, by themselves and after a valid request. */
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 200; i++) {
        size_t n = i % 2 ? (size_t)snprintf(text, sizeof text, "%s", good) : 0, more = 1 + (size_t)(i * 13 % 700);
        for (size_t k = 0; k < more; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            text[n + k] = (char)(random >> 32);
        }
        answer a = send_raw(s, text, n + more);
        if (i % 2)
            assert_int_equal(a.status, 200);
        free(a.text);
    }
    assert_status(ask(s, "timeline"), 200, "afterwards");
}

static void addresses_have_a_longest(void **state)
{
    const served *s = *state;
    static char path[60000];
    size_t n = (size_t)snprintf(path, sizeof path, "rows?rows=");
    for (int i = 0; i < 4096; i++) /* as a page encodes them */
        n += (size_t)snprintf(path + n, sizeof path - n, "%s%d", i ? "%2C" : "", 100000 + 2 * i);
    snprintf(path + n, sizeof path - n, "&begin=0&end=1&resolution=1");
    answer a = ask(s, path);
    assert_true(a.status == 400 && strstr(a.body, "there is no row 108190"));
    free(a.text);
    memset(path, '1', sizeof path - 1);
    memcpy(path, "rows?rows=", 10);
    path[sizeof path - 1] = '\0';
    assert_status(ask(s, path), 414, "a long address");
}

/* ---- a damaged index ---- */

enum { N_PATHS = 8 };

static void list_paths(const served *s, char path[N_PATHS][160])
{
    int rows = ek__index_n_rows(s->index) - 1;
    long long end = ek__index_end(s->index);
    snprintf(path[0], 160, "names?names=0-%u", ek__index_n_names(s->index) - 1);
    snprintf(path[1], 160, "rows?rows=0-%d&begin=0&end=%lld&resolution=0", rows, end);
    snprintf(path[2], 160, "rows?rows=0-%d&begin=0&end=%lld&resolution=%lld", rows, end, end / 500);
    snprintf(path[3], 160, "arrows?rows=0-%d&begin=0&end=%lld", rows, end);
    snprintf(path[4], 160, "at?row=%d&time=%lld", rows / 2, end / 2);
    snprintf(path[5], 160, "event?row=%d&index=0", rows / 2);
    snprintf(path[6], 160, "find?text=a&forward=1&time=%lld&row=-1&index=0", end / 3);
    snprintf(path[7], 160, "sums?rows=0-%d&begin=0&end=%lld", rows / 2, end);
}

/* @return how many are errors; the others are as before */
static int ask_again(const served *s, char path[N_PATHS][160], const answer right[N_PATHS])
{
    int n_errors = 0;
    for (int i = 0; i < N_PATHS; i++) {
        answer a = ask(s, path[i]);
        if (a.status == 200) {
            assert_int_equal(a.body_size, right[i].body_size);
            assert_memory_equal(a.body, right[i].body, a.body_size);
        } else if (a.status != 500 || !(strstr(a.body, "damaged") || strstr(a.body, "shorter"))) {
            fail_msg("%s: %.300s", path[i], a.text);
        }
        n_errors += a.status != 200;
        free(a.text);
    }
    return n_errors;
}

static void damage_file(const char *path, int n)
{
    struct stat about;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &about) == 0);
    for (int i = 0; i < n; i++) {
        unsigned char byte;
        off_t at = (off_t)(random() % about.st_size);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (unsigned char)(1u << random() % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

/* Bits that change and a file that is cut while it is served: an answer is as before, or a suitable error. */
static void a_damaged_index_is_told(void **state)
{
    served s = *(served *)*state;
    char folder[] = "/tmp/evenkeel-damage-XXXXXX", command[128], path[N_PATHS][160];
    answer right[N_PATHS];
    ek_error err = {0};
    assert_non_null(mkdtemp(folder));
    const char *trace = s.folder;
    const ek_trace_index_options options = {.folder = folder, .n_threads = 1};
    assert_int_equal(ek_trace_index_open(&trace, 1, &options, NULL, &s.index, NULL, &err), EK_OK);
    start_server(&s);
    list_paths(&s, path);
    for (int i = 0; i < N_PATHS; i++) {
        right[i] = ask(&s, path[i]);
        assert_int_equal(right[i].status, 200);
    }
    assert_int_equal(ask_again(&s, path, right), 0);
    for (int cut = 0; cut < 2; cut++) {
        glob_t files;
        snprintf(command, sizeof command, "%s/*.ekindex", folder);
        assert_int_equal(glob(command, 0, NULL, &files), 0);
        for (size_t i = 0; i < files.gl_pathc; i++)
            if (cut)
                assert_int_equal(truncate(files.gl_pathv[i], 5000), 0);
            else
                damage_file(files.gl_pathv[i], 20);
        globfree(&files);
        assert_true(ask_again(&s, path, right) >= (cut ? 6 : 1));
        assert_status(ask(&s, "timeline"), 200, "sources at the start");
    }
    ek_server_stop(s.server);
    ek_trace_index_close(s.index);
    for (int i = 0; i < N_PATHS; i++)
        free(right[i].text);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- slow clients ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* The count of entries once it does not change for a while: sockets of clients before are still being closed. */
static int count_when_settled(const char *folder)
{
    int n = count_entries(folder);
    double end = now() + 10;
    for (double since = now(); now() - since < 0.3 && now() < end;) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (count_entries(folder) != n) {
            n = count_entries(folder);
            since = now();
        }
    }
    return n;
}

/* More than the server keeps open; as many files as the system lets a process have may be fewer. */
enum { SLOW = 700 };

static int open_slow(const served *s, int fd[SLOW])
{
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int n = files.rlim_cur > 3 * SLOW ? SLOW : 300; /* both ends are in this process */
    for (int i = 0; i < n; i++) {
        fd[i] = connect_to(s);
        assert_true(send_all(fd[i], "GET / HTTP/1.1\r\nX: ", (size_t)(i % 20))); /* the address of some is known */
    }
    return n;
}

static void slow_clients_keep_nobody_out(void **state)
{
    const served *s = *state;
    static int fd[SLOW];
    double opened = now();
    int n = open_slow(s, fd);
    for (int i = 0; i < 5; i++) {
        double begin = now();
        assert_status(ask(s, "timeline"), 200, "among slow ones");
        assert_true(now() - begin < 1);
    }
    assert_true(now() - opened < 4.5); /* no deadline made room */
    for (int i = 0; i < n; i++)
        close(fd[i]);
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* Bytes that trickle in do not help, nor do requests that are refused; answers do. */
static void headers_have_a_deadline(void **state)
{
    const served *s = *state;
    enum { TRICKLES, REFUSED, ASKS, N };
    char refused[128], good[160], answered[8192];
    snprintf(refused, sizeof refused, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s->port);
    snprintf(good, sizeof good, "GET /%s/at?row=0&time=0 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s->token, s->port);
    int fd[N] = {connect_to(s), connect_to(s), connect_to(s)};
    double begin = now(), closed[N] = {0};
    assert_true(send_all(fd[TRICKLES], "GET / HTTP/1.1\r\nX: ", 19));
    for (int round = 0; now() - begin < 7; round++) {
        const char *sent[N] = {"a", round % 10 ? "" : refused, round % 10 ? "" : good};
        for (int i = 0; i < N; i++) {
            if (closed[i] == 0 && !send_all(fd[i], sent[i], strlen(sent[i])))
                closed[i] = now() - begin;
            while (i != TRICKLES && closed[i] == 0 && recv(fd[i], answered, sizeof answered, MSG_DONTWAIT) > 0) {
            }
            if (closed[i] == 0 && is_closed(fd[i]))
                closed[i] = now() - begin;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    assert_true(closed[TRICKLES] > 4.5 && closed[TRICKLES] < 6.5);
    assert_true(closed[REFUSED] > 4.5 && closed[REFUSED] < 6.5);
    assert_true(closed[ASKS] == 0);
    for (int i = 0; i < N; i++)
        close(fd[i]);
}

/* ---- hostile requests ---- */

/* Allocated bytes, without those that the allocator keeps in reserve. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap_in_use(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : mallinfo2().uordblks;
}

static uint64_t drawn = 88172645463325252u;

static size_t draw(size_t below)
{
    drawn ^= drawn << 13, drawn ^= drawn >> 7, drawn ^= drawn << 17;
    return (size_t)(drawn >> 20) % below;
}

enum { HOSTILE_ROOM = 400000, N_HOSTILE = 12 };

static size_t add_many(char *text, size_t n, const char *format, size_t times)
{
    for (size_t i = 0; i < times; i++)
        n += (size_t)snprintf(text + n, HOSTILE_ROOM - n, format, i); /* NOLINT */
    return n;
}

static size_t add_random(char *text, size_t n, size_t more)
{
    for (size_t i = 0; i < more; i++)
        text[n + i] = (char)draw(256);
    return n + more;
}

/* A request of a kind that no page sends. */
static size_t make_hostile(const served *s, size_t kind, char *text)
{
    static const char bad[] = "00000000000000000000000000000000";
    static const char *const lines[] = {
        "GET / HTTP/9.9",         "GET /", "GET  / HTTP/1.1", "* * *",  "GET * HTTP/1.1",
        "GET http://x/ HTTP/1.1", "",      " GET /",          "GET\t/", "\r\n\r\nGET"};
    static const char *const methods[] = {"POST", "HEAD", "OPTIONS", "CONNECT", "DELETE"};
    char end[64];
    const char *token = draw(2) ? s->token : bad;
    int head = snprintf(end, sizeof end, " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", s->port);
    size_t n = 0;
    switch (kind) {
    case 0: /* bytes of no meaning */
        return add_random(text, 0, 1 + draw(2000));
    case 1: /* a line without end */
        memset(text, 'a', n = 1 + draw(300000));
        return n;
    case 2: /* many arguments */
    case 3:
        n = (size_t)sprintf(text, "GET /%s/rows?a=1", kind == 2 ? bad : s->token);
        n = add_many(text, n, "&a%zu=1", draw(3000));
        break;
    case 4: /* another token */
        n = (size_t)sprintf(text, "GET /%.*s%zx/timeline", (int)draw(32), s->token, draw(99999));
        break;
    case 5: /* half of one */
        n = (size_t)sprintf(text, "GET /%s/timeline%sX: y\r\n", token, end);
        return draw(n);
    case 6: /* another method, and content */
        n = (size_t)sprintf(text, "%s /%s/timeline%sContent-Length: %zu\r\n\r\n", methods[draw(5)], token, end,
                            draw(100000));
        return add_random(text, n, draw(5000));
    case 7: /* many headers, a long one, bytes of no meaning in one */
        n = (size_t)sprintf(text, "GET /%s/timeline%s", token, end);
        n = add_many(text, n, "X-%zu: y\r\n", draw(3000));
        n = add_random(text, n, draw(3) ? 0 : 1 + draw(500));
        return (size_t)(stpcpy(text + n, "\r\n\r\n") - text);
    case 8: /* many at once */
        for (size_t i = draw(60); i > 0; i--)
            n += (size_t)sprintf(text + n, "GET /%s/%s%s\r\n", draw(2) ? s->token : bad, draw(2) ? "timeline" : "x",
                                 end);
        return n;
    case 9: /* a good one with some bytes changed */
        n = (size_t)sprintf(text, "GET /%s/rows?rows=0-2&begin=0&end=99&resolution=1%s\r\n", s->token, end);
        for (size_t i = 1 + draw(5); i > 0; i--)
            text[draw(n)] = (char)draw(256);
        return n;
    case 10: /* no line of HTTP */
        n = (size_t)sprintf(text, "%s\r\n", lines[draw(10)]);
        return add_many(text, n, "X-%zu: y\r\n", draw(3));
    default: /* values that are far too many, or of the longest sizes */
        n = (size_t)sprintf(text, "GET /%s/find?text=", s->token);
        n = add_many(text, n, "%%%02zx", draw(1200));
        n += (size_t)sprintf(text + n, "&forward=1&time=0&row=-1&index=0&rows=0");
        break;
    }
    memcpy(text + n, end, (size_t)head + 1);
    return (size_t)(stpcpy(text + n + head, "\r\n") - text);
}

/* Some clients wait for the answer, others take a byte of it or nothing. */
static void send_hostile(const served *s, size_t number, char *text)
{
    char taken[4096];
    size_t n = make_hostile(s, number % N_HOSTILE, text), patience = draw(3);
    int fd = connect_to(s);
    send_all(fd, text, n);
    if (patience == 1)
        (void)recv(fd, taken, 1, MSG_DONTWAIT);
    if (patience == 2) {
        shutdown(fd, SHUT_WR);
        while (recv(fd, taken, sizeof taken, 0) > 0) {
        }
    }
    close(fd);
}

/* EK_HOSTILE_REQUESTS=100000 sends more of them. */
static void hostile_requests_leave_nothing(void **state)
{
    const served *s = *state;
    const char *asked = getenv("EK_HOSTILE_REQUESTS");
    size_t total = asked ? strtoull(asked, NULL, 10) : 3000, i = 0;
    char *text = malloc(HOSTILE_ROOM);
    assert_non_null(text);
    assert_true(total >= 100);
    for (; i < total / 4; i++) /* memory kept between requests is allocated then */
        send_hostile(s, i, text);
    int descriptors = count_when_settled("/proc/self/fd");
    size_t heap = heap_in_use();
    for (; i < total; i++)
        send_hostile(s, i, text);
    assert_int_equal(count_when_settled("/proc/self/fd"), descriptors);
    if (heap_in_use() > heap + 16384)
        fail_msg("%zu bytes more than %zu", heap_in_use() - heap, heap);
    assert_status(ask(s, "timeline"), 200, "afterwards");
    free(text);
}

/* The end of a request that libmicrohttpd cannot store is not reported until its connection is closed. */
static void many_arguments_leave_nothing(void **state)
{
    const served *s = *state;
    char *text = malloc(HOSTILE_ROOM);
    assert_non_null(text);
    size_t n = add_many(text, (size_t)sprintf(text, "GET /x/x?a=1"), "&a%zu=1", 2000), heap = 0;
    n += (size_t)sprintf(text + n, " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s->port);
    for (int i = 0; i < 40; i++) {
        free(send_raw(s, text, n).text);
        if (i == 9) {
            count_when_settled("/proc/self/fd");
            heap = heap_in_use();
        }
    }
    count_when_settled("/proc/self/fd");
    assert_true(heap_in_use() <= heap + 16384);
    free(text);
}

/* ---- many at a time ---- */

enum { CLIENTS = 200, REQUESTS = 5 };

typedef struct client {
    const served *s;
    int number, n_good;
} client;

static void *run_client(void *user)
{
    client *c = user;
    static const char *const paths[] = {"timeline", "rows?rows=0-3&begin=0&end=1000000000&resolution=1000",
                                        "find?text=a&forward=1&time=0&row=-1&index=0", "nothing",
                                        "sums?rows=0-3&begin=0&end=1000000000"};
    static const int status[] = {200, 200, 200, 404, 200};
    for (int i = 0; i < REQUESTS; i++) {
        int which = (c->number + i) % REQUESTS;
        answer a = ask(c->s, paths[which]);
        c->n_good += a.status == status[which];
        free(a.text);
    }
    return NULL;
}

static void many_are_answered_at_a_time(void **state)
{
    const served *s = *state;
    static client clients[CLIENTS];
    static pthread_t thread[CLIENTS];
    int64_t before = ek_server_n_requests(s->server);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (client){s, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(clients[i].n_good, REQUESTS);
    }
    assert_true(ek_server_n_requests(s->server) >= before + (int64_t)CLIENTS * REQUESTS - 8); /* some still closing */
}

/* ---- the end ---- */

static void nothing_is_left_of_a_server(void **state)
{
    served *s = *state, other = *s;
    int descriptors = count_when_settled("/proc/self/fd"), threads = count_entries("/proc/self/task");
    for (int i = 0; i < 3; i++) {
        start_server(&other);
        assert_string_not_equal(other.token, s->token);
        assert_status(ask(&other, "timeline"), 200, "timeline");
        assert_status(ask_as(&other, "GET", s->token, "timeline", "127.0.0.1", ""), 403, "the other server's token");
        /* Connections that are open, idle or in the middle of a request, do not hold it. */
        int idle = connect_to(&other), half = connect_to(&other);
        send_all(half, "GET /", 5);
        double begin = now();
        ek_server_stop(other.server);
        assert_true(now() - begin < 3);
        close(idle);
        close(half);
    }
    assert_int_equal(count_when_settled("/proc/self/fd"), descriptors);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

static void stops_while_it_is_asked(void **state)
{
    served *s = *state, other = *s;
    enum { N = 24 };
    char text[512];
    int fd[N];
    start_server(&other);
    int n =
        snprintf(text, sizeof text,
                 "GET /%s/rows?rows=0-%d&begin=0&end=9000000000000&resolution=0 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
                 other.token, ek__index_n_rows(s->index) - 1, other.port);
    for (int i = 0; i < N; i++) {
        fd[i] = connect_to(&other);
        assert_true(send_all(fd[i], text, (size_t)n));
    }
    ek_server_stop(other.server);
    for (int i = 0; i < N; i++) {
        answer a = receive_all(fd[i]);
        const char *length = a.status == 200 ? strstr(a.text, "Content-Length: ") : NULL;
        if (length) /* an answer that was begun is whole */
            assert_int_equal(a.body_size, strtoull(length + 16, NULL, 10));
        free(a.text);
        close(fd[i]);
    }
}

static void a_taken_port_is_told(void **state)
{
    const served *s = *state;
    ek_error err = {0};
    ek_server *server = NULL;
    const ek_serve_options options = {.port = s->port};
    assert_int_equal(ek_server_start(s->index, &options, &server, &err), EK_ERR_SYSTEM);
    assert_null(server);
    assert_non_null(strstr(err.message, "port"));
    ek_server_stop(NULL);
}

/* Each allocation of a request fails once: 503, or a closed connection where not even the request could be stored; an
 * answer that is sent is whole. */
static void a_request_without_memory_is_told(void **state)
{
    static const char *const paths[] = {
        "timeline",
        "names?names=0-3",
        "rows?rows=0-2&begin=0&end=1000000&resolution=1",
        "arrows?rows=0-2&begin=0&end=1000000",
        "at?row=0&time=1000",
        "event?row=0&index=0",
        "find?text=mat&forward=1&time=0&row=-1&index=0",
        "sums?rows=0-2&begin=0&end=1000000",
    };
    const served *s = *state;
    is_client = true;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int n_told = 0, n = 0;
        for (bool failed = true; failed && n < 2000; n++) {
            atomic_store(&allocations_left, n);
            answer a = ask(s, paths[i]);
            failed = atomic_exchange(&allocations_left, -1) < 0;
            if (a.status != 200 && a.status != 503 && (a.status != 0 || a.size > 0))
                fail_msg("%s, allocation %d: %.300s", paths[i], n, a.text);
            bool is_json = a.status == 200 && strstr(a.text, "\r\nContent-Type: application/json\r\n");
            json_t *json = is_json ? json_loadb(a.body, a.body_size, JSON_DECODE_ANY, NULL) : json_null();
            if (!json)
                fail_msg("%s, allocation %d: no JSON: %.300s", paths[i], n, a.text);
            json_decref(json);
            n_told += a.status == 503;
            free(a.text);
        }
        assert_in_range(n, 2, 1999);
        assert_true(n_told > 0);
        assert_status(ask(s, paths[i]), 200, paths[i]);
    }
    is_client = false;
}

static void a_server_without_memory_does_not_start(void **state)
{
    const served *s = *state;
    const ek_serve_options options = {.title = "t"};
    int n = 0;
    ek_server *server = NULL;
    is_client = false;
    for (; n < 5000 && !server; n++) {
        ek_error err = {0};
        atomic_store(&allocations_left, n);
        ek_status status = ek_server_start(s->index, &options, &server, &err);
        bool failed = atomic_exchange(&allocations_left, -1) < 0;
        if (status != EK_OK && (status != EK_ERR_MEMORY || !failed))
            fail_msg("allocation %d: %s", n, err.message);
        assert_true((status == EK_OK) == (server != NULL));
    }
    assert_in_range(n, 3, 4999);
    ek_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_and_documents_are_there),
        cmocka_unit_test(rows_are_those_of_the_index),
        cmocka_unit_test(names_are_those_of_the_index),
        cmocka_unit_test(arrows_are_those_of_the_index),
        cmocka_unit_test(events_are_those_of_the_trace),
        cmocka_unit_test(events_are_found_at_a_time),
        cmocka_unit_test(names_are_found_in_order),
        cmocka_unit_test(listed_events_are_the_longest_of_the_stretch),
        cmocka_unit_test(sums_are_those_of_the_index),
        cmocka_unit_test(other_methods_are_refused),
        cmocka_unit_test(other_hosts_and_sites_are_refused),
        cmocka_unit_test(other_tokens_get_the_same_answer),
        cmocka_unit_test(nothing_else_has_an_address),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(answers_are_bounded),
        cmocka_unit_test(damaged_requests_are_survived),
        cmocka_unit_test(addresses_have_a_longest),
        cmocka_unit_test(a_damaged_index_is_told),
        cmocka_unit_test(slow_clients_keep_nobody_out),
        cmocka_unit_test(headers_have_a_deadline),
        cmocka_unit_test(many_arguments_leave_nothing),
        cmocka_unit_test(hostile_requests_leave_nothing),
        cmocka_unit_test(many_are_answered_at_a_time),
        cmocka_unit_test(nothing_is_left_of_a_server),
        cmocka_unit_test(stops_while_it_is_asked),
        cmocka_unit_test(a_taken_port_is_told),
        cmocka_unit_test(a_second_run_has_its_own_answers),
        cmocka_unit_test(a_request_without_memory_is_told),
        cmocka_unit_test(a_server_without_memory_does_not_start),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
