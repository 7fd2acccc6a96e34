/* Tests the events of a trace in the document of a page: read again and compared, event by event, with the generated
 * ones. */
#include "tree.h"

#include <unistd.h>

#include <jansson.h>
#include <math.h>
#include <zlib.h>

#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "index/format.h"
#include "index/index.h"
#include "index_model.h"
#include "trace_generator.h"
#include "view/view.h"

static ek_error err;
static char folder[256], path[300];

static ek_trace_index *open_model(const index_model *m)
{
    const char *paths = path;
    ek_trace_index *index;
    const ek_trace_index_options options = {.temporary = true};
    strcpy(folder, "/tmp/evenkeel-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rank3.json%s", folder, m->shape.compressed ? ".gz" : "");
    assert_true(index_model_write(m, path));
    if (ek_trace_index_open(&paths, 1, &options, NULL, &index, NULL, &err) != EK_OK)
        fail_msg("%s", err.message);
    return index;
}

static void forget(ek_trace_index *index)
{
    ek_trace_index_close(index);
    unlink(path);
    rmdir(folder);
}

static json_t *timeline_of_run(const ek_view_run *run, bool served, json_t **root)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const ek_view view = {.title = "test", .n_runs = 1, .run = run, .served = served};
    assert_int_equal(ek__view_write_json(&view, out, &err), EK_OK);
    fclose(out);
    *root = json_loadb(text, size, 0, NULL);
    free(text);
    assert_non_null(*root);
    return json_object_get(json_array_get(json_object_get(*root, "runs"), 0), "timeline");
}

static json_t *timeline_of(ek_trace_index *index, bool served, json_t **root)
{
    return timeline_of_run(&(ek_view_run){.name = "run", .index = index}, served, root);
}

enum { NO_DIGIT = 64 };

static unsigned digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (unsigned)(at - digits) : NO_DIGIT;
}

/* base64 of zlib; to free, with a NUL at the end. */
static unsigned char *unpack(const json_t *value, size_t *size)
{
    const char *text = json_string_value(value);
    assert_non_null(text);
    unsigned char *zipped = malloc(strlen(text) + 4);
    uLong n = 0;
    for (const char *at = text; *at && digit_of(at[1]) < NO_DIGIT; at += 4) {
        unsigned bits = digit_of(at[0]) << 18 | digit_of(at[1]) << 12;
        zipped[n++] = (unsigned char)(bits >> 16);
        if (digit_of(at[2]) == NO_DIGIT)
            break;
        bits |= digit_of(at[2]) << 6;
        zipped[n++] = (unsigned char)(bits >> 8);
        if (digit_of(at[3]) == NO_DIGIT)
            break;
        zipped[n++] = (unsigned char)(bits | digit_of(at[3]));
    }
    uLongf room = 64u << 20;
    unsigned char *out = malloc(room);
    assert_int_equal(uncompress(out, &room, zipped, n), Z_OK);
    out[room] = '\0';
    free(zipped);
    *size = room;
    return out;
}

static double real_at(const unsigned char *column, size_t n, size_t i)
{
    uint64_t bits = 0;
    double value;
    for (size_t b = 0; b < 8; b++)
        bits |= (uint64_t)column[b * n + i] << (8 * b);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t number_at(const unsigned char *column, size_t i)
{
    uint32_t value = 0;
    for (size_t b = 0; b < 4; b++)
        value |= (uint32_t)column[4 * i + b] << (8 * b);
    return value;
}

static size_t count(const json_t *timeline, const char *key)
{
    return (size_t)json_integer_value(json_object_get(timeline, key));
}

static void check_args(const index_model *m, const char *line, size_t size, int64_t begin, int64_t duration)
{
    json_t *args = json_loadb(line, size, 0, NULL);
    const json_t *number = json_object_get(args, "number");
    assert_true(json_is_integer(number));
    const model_event *e = &m->event[json_integer_value(number)];
    assert_true(e->begin == begin && e->duration == duration);
    assert_true(strncmp(json_string_value(json_object_get(args, "text")), "a \"}] ", 6) == 0);
    json_decref(args);
}

static void a_page_holds_every_event(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        index_model m;
        size_t size, args_size, all = 0;
        json_t *root, *row;
        const index_shape shape = {.seed = 5,
                                   .n_tracks = 4,
                                   .n_names = 30,
                                   .n_arrows = 200,
                                   .n_points = 40,
                                   .n_events = 5000,
                                   .begin = INT64_C(1736408883688177930),
                                   .longest = 200000,
                                   .rank = 3,
                                   .compressed = compressed};
        index_model_make(&shape, &m);
        ek_trace_index *index = open_model(&m);
        const json_t *t = timeline_of(index, false, &root);
        size_t n = count(t, "n_events"), n_arrows = count(t, "n_arrows"), n_points = count(t, "n_points");
        assert_int_equal(n, 5000);
        assert_int_equal(n_arrows, m.n_arrows);
        unsigned char *data = unpack(json_object_get(t, "data"), &size);
        unsigned char *args = unpack(json_object_get(t, "args"), &args_size);
        assert_int_equal(size, 16 * n + 16 * n_arrows + 16 * n_points + 4 * n + 12 * n_arrows);
        const unsigned char *arrows = data + 16 * n, *points = arrows + 16 * n_arrows, *names = points + 16 * n_points;
        int64_t origin = strtoll(json_string_value(json_object_get(t, "origin")), NULL, 10);
        const char *line = (const char *)args;
        size_t i, k;
        double before = -1;
        json_array_foreach(json_object_get(t, "row_events"), i, row)
        {
            before = -1;
            for (k = 0; k < (size_t)json_integer_value(row); k++, all++) {
                double begin = real_at(data, n, all), duration = real_at(data + 8 * n, n, all);
                size_t length = strcspn(line, "\n");
                assert_true(begin >= before);
                before = begin + duration;
                check_args(&m, line, length, (int64_t)begin + origin, (int64_t)duration);
                json_t *text =
                    json_array_get(json_object_get(json_object_get(t, "names"), "text"), number_at(names, all));
                assert_true(strncmp(json_string_value(text), "Name ", 5) == 0);
                line += length + 1;
            }
        }
        assert_int_equal(all, n);
        for (i = 0; i < n_arrows; i++) {
            bool found = false;
            for (k = 0; k < m.n_arrows && !found; k++)
                found = (double)(m.arrow[k].from_time - origin) == real_at(arrows, n_arrows, i) &&
                        (double)(m.arrow[k].to_time - origin) == real_at(arrows + 8 * n_arrows, n_arrows, i);
            assert_true(found);
        }
        for (i = 0; i < n_points; i++)
            assert_true((int64_t)real_at(points, n_points, i) + origin == m.point[i].time &&
                        real_at(points + 8 * n_points, n_points, i) == m.point[i].value);
        const json_t *group = json_array_get(json_object_get(t, "groups"), 0);
        assert_string_equal(json_string_value(json_object_get(group, "name")), "rank 3");
        assert_int_equal(json_array_size(json_object_get(group, "tracks")), 4);
        free(args);
        free(data);
        json_decref(root);
        forget(index);
        index_model_clear(&m);
    }
}

static void a_served_page_has_the_description_alone(void **state)
{
    (void)state;
    index_model m;
    json_t *root, *row;
    size_t i, all = 0;
    const index_shape shape = {
        .seed = 6, .n_tracks = 2, .n_names = 3, .n_points = 20, .n_events = 500, .longest = 1000, .rank = -1};
    index_model_make(&shape, &m);
    ek_trace_index *index = open_model(&m);
    const json_t *t = timeline_of(index, true, &root);
    assert_true(json_is_null(json_object_get(t, "data")) && json_is_null(json_object_get(t, "args")));
    json_array_foreach(json_object_get(t, "row_events"), i, row) all += (size_t)json_integer_value(row);
    assert_int_equal(all, 500);
    const json_t *counter = json_array_get(json_object_get(t, "counters"), 0);
    assert_int_equal(json_integer_value(json_object_get(counter, "n")), 20);
    json_decref(root);
    forget(index);
    index_model_clear(&m);
}

/* Invalid JSON is shown unchanged; an event without arguments has none. */
static void odd_arguments_are_kept(void **state)
{
    (void)state;
    static char trace[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"x\":01}},"
                          "{\"ph\":\"X\",\"name\":\"</script>\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1},"
                          "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":1,\"args\":{\"y\":NaN}}]";
    index_model m = {.text = trace, .size = sizeof trace - 1};
    json_t *root;
    size_t size;
    ek_trace_index *index = open_model(&m);
    const json_t *t = timeline_of(index, false, &root);
    assert_int_equal(count(t, "n_events"), 3);
    unsigned char *args = unpack(json_object_get(t, "args"), &size);
    char *first = strtok((char *)args, "\n"), *third = strtok(NULL, "\n");
    json_t *odd = json_loads(first, 0, NULL);
    assert_non_null(strstr(json_string_value(json_object_get(odd, "text")), "\"x\":01"));
    assert_string_equal(third, "{\"y\":\"NaN\"}");
    json_decref(odd);
    free(args);
    json_decref(root);
    forget(index);
}

/* Each event begins while all before it run, and ends after them. */
static void events_that_are_too_deep_are_counted(void **state)
{
    (void)state;
    enum { EVENTS = EK__INDEX_MAX_DEPTH + 3 };
    char *text = NULL;
    size_t size;
    FILE *trace = open_memstream(&text, &size);
    for (int i = 0; i < EVENTS; i++)
        fprintf(trace, "%c{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1000}", i ? ',' : '[', i);
    fputc(']', trace);
    fclose(trace);
    index_model m = {.text = text, .size = size};
    json_t *root;
    ek_trace_index *index = open_model(&m);
    const json_t *t = timeline_of(index, false, &root);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    assert_int_equal(count(t, "n_events"), EK__INDEX_MAX_DEPTH);
    assert_string_equal(json_string_value(json_array_get(json_object_get(run, "notes"), 0)),
                        "3 events overlap others of their thread more than 64 deep and are not in the timeline.");
    json_decref(root);
    forget(index);
    free(text);
}

static void too_large_a_trace_is_served(void **state)
{
    (void)state;
    size_t size = (size_t)EK_VIEW_MAX_TRACE_BYTES + 1000;
    static const char event[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}";
    index_model m = {.text = malloc(size), .size = size, .shape = {.compressed = true}};
    assert_non_null(m.text);
    memset(m.text, ' ', size);
    memcpy(m.text, event, sizeof event - 1);
    m.text[size - 1] = ']';
    ek_trace_index *index = open_model(&m);
    FILE *out = fopen("/dev/null", "w");
    const ek_view_run run = {.name = "run", .index = index};
    const ek_view view = {.title = "test", .n_runs = 1, .run = &run};
    assert_int_equal(ek__view_write_json(&view, out, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "--serve"));
    fclose(out);
    forget(index);
    free(m.text);
}

/* ---- collectives ---- */

static const ek_trace_collective *collective_at(const ek_trace_rank *rank, int64_t start)
{
    for (int i = 0; i < rank->communication.n_collectives; i++)
        if (rank->communication.collective[i].start == start)
            return &rank->communication.collective[i];
    fail_msg("rank %d has no collective at %lld", rank->rank, (long long)start);
    return NULL;
}

static int group_of_row(const json_t *timeline, uint32_t row)
{
    size_t g, k;
    json_t *group, *track;
    int64_t n = 0;
    json_array_foreach(json_object_get(timeline, "groups"), g, group)
        json_array_foreach(json_object_get(group, "tracks"), k, track)
    {
        n += json_integer_value(json_object_get(track, "n_rows"));
        if (row < n)
            return (int)g;
    }
    fail_msg("there is no row %u", row);
    return -1;
}

/* Calls of one number: the k-th gradient of both replicas. The one with the shorter kernel came last, and the other one
 * waited the rest of its own. */
static void check_pair(const ek_trace_collective *const one[2], const double wait[2], const uint32_t last[2])
{
    int shorter = one[1]->duration < one[0]->duration, longer = !shorter;
    int64_t transfer = one[shorter]->duration;
    assert_string_equal(one[0]->name, one[1]->name);
    assert_true(wait[shorter] == 0);
    assert_true(wait[longer] == (double)(one[longer]->duration - transfer));
    assert_int_equal(last[shorter], one[longer]->duration > transfer + 1);
    assert_int_equal(last[longer], 0);
}

static void check_calls(const ek_trace_run *trace, const json_t *t, const unsigned char *begin, size_t n)
{
    const unsigned char *waits = begin + 8 * n;
    size_t size;
    unsigned char *data = unpack(json_object_get(t, "data"), &size);
    const unsigned char *row = data + size - 16 * n, *number = row + 4 * n, *came_last = number + 4 * n;
    int64_t origin = strtoll(json_string_value(json_object_get(t, "origin")), NULL, 10);
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const ek_trace_collective *one[2];
            double wait[2];
            uint32_t last[2];
            if (number_at(number, i) != number_at(number, k))
                continue;
            for (int side = 0; side < 2; side++) {
                size_t at = side ? k : i;
                const ek_trace_rank *rank = &trace->rank[group_of_row(t, number_at(row, at))];
                one[side] = collective_at(rank, (int64_t)real_at(begin, n, at) + origin);
                wait[side] = real_at(waits, n, at);
                last[side] = number_at(came_last, at);
            }
            assert_int_not_equal(group_of_row(t, number_at(row, i)), group_of_row(t, number_at(row, k)));
            check_pair(one, wait, last);
            n_pairs++;
        }
    assert_int_equal(2 * n_pairs, n);
    free(data);
}

/* Two replicas, one of which is slower, reduce their gradients: each collective is linked to the same one of the other.
 */
static void collectives_are_linked_over_ranks(void **state)
{
    (void)state;
    const trace_form forms[] = {TRACE_MINDSPORE, TRACE_TORCH};
    for (int i = 0; i < 2; i++) {
        const trace_shape shape = {.form = forms[i],
                                   .n_micro_batches = 2,
                                   .n_steps = 2,
                                   .n_layers = 3,
                                   .n_data = 2,
                                   .gradients = true,
                                   .slow_rank = 1,
                                   .slow_rank_by = 0.2,
                                   .seed = 7};
        trace_truth truth;
        ek_trace_run trace;
        ek_trace_index *index;
        json_t *root;
        size_t size;
        char own[128];
        snprintf(own, sizeof own, "%s/form%d", top, i);
        const char *paths = own;
        const ek_trace_index_options options = {.temporary = true};
        mkdir(own, 0777);
        assert_true(trace_write(&shape, own, &truth));
        assert_int_equal(ek_trace_run_read(&paths, 1, NULL, NULL, &trace, &err), EK_OK);
        assert_int_equal(ek_trace_index_open(&paths, 1, &options, NULL, &index, NULL, &err), EK_OK);
        const json_t *t = timeline_of_run(&(ek_view_run){.name = "run", .trace = &trace, .index = index}, false, &root);
        size_t n = count(t, "n_calls"), n_all = 0;
        for (int r = 0; r < 2; r++)
            n_all += (size_t)trace.rank[r].communication.n_collectives;
        assert_int_equal(n, n_all);
        assert_true(n > 0);
        unsigned char *data = unpack(json_object_get(t, "data"), &size);
        const unsigned char *begin = data + 16 * count(t, "n_events") + 16 * count(t, "n_arrows") +
                                     24 * count(t, "n_held") + 16 * count(t, "n_points");
        check_calls(&trace, t, begin, n);
        free(data);
        json_decref(root);
        ek_trace_index_close(index);
        ek_trace_run_clear(&trace);
        trace_truth_clear(&truth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_holds_every_event),
        cmocka_unit_test(a_served_page_has_the_description_alone),
        cmocka_unit_test(odd_arguments_are_kept),
        cmocka_unit_test(events_that_are_too_deep_are_counted),
        cmocka_unit_test(too_large_a_trace_is_served),
        cmocka_unit_test_setup_teardown(collectives_are_linked_over_ranks, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
