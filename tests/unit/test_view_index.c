/* Events of a trace in the document of a page: read again and compared, event by event, with what was generated. */
#include "input.h"

#include <unistd.h>

#include <jansson.h>
#include <zlib.h>

#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "index/format.h"
#include "index/index.h"
#include "index_model.h"
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

static json_t *timeline_of(ek_trace_index *index, bool served, json_t **root)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const ek_view_run run = {.name = "run", .index = index};
    const ek_view view = {.title = "test", .n_runs = 1, .run = &run, .served = served};
    assert_int_equal(ek__view_write_json(&view, out, &err), EK_OK);
    fclose(out);
    *root = json_loadb(text, size, 0, NULL);
    free(text);
    assert_non_null(*root);
    return json_object_get(json_array_get(json_object_get(*root, "runs"), 0), "timeline");
}

enum { NO_DIGIT = 64 };

static unsigned digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (unsigned)(at - digits) : NO_DIGIT;
}

/* base64 of zlib; to free, with a NUL behind. */
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
    uint32_t value;
    memcpy(&value, column + 4 * i, sizeof value);
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

/* What is no sound JSON is shown as it stands; an event without arguments has none. */
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

/* Each event begins while all before it run, and ends behind them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_holds_every_event),    cmocka_unit_test(a_served_page_has_the_description_alone),
        cmocka_unit_test(odd_arguments_are_kept),      cmocka_unit_test(events_that_are_too_deep_are_counted),
        cmocka_unit_test(too_large_a_trace_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
