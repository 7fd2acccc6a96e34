/* Tests tables of kernels as events: every row with times appears once with them, on its stream, with the row's values,
 * whatever bytes its texts contain; the text is the same for any size of reads; damage ends it and is reported. */
#include "input.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "trace/events/kernel_events.h"

enum { MOST_ROWS = 40, MOST_TEXT = 1 << 20 };

static char path[] = "/tmp/evenkeel-kernels-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The whole text, in pieces of this size; the caller frees it. */
static char *read_all(size_t piece, char *problem, size_t room)
{
    ek__kernel_events *events;
    ek_error err;
    char *text = ek__alloc(MOST_TEXT + 1, 1);
    size_t n = 0, got;
    assert_non_null(text);
    assert_int_equal(ek__kernel_events_open(path, &events, &err), EK_OK);
    do {
        assert_true(n + piece <= MOST_TEXT);
        got = ek__kernel_events_read(events, text + n, piece);
        n += got;
    } while (got == piece);
    assert_int_equal(ek__kernel_events_read(events, text + n, 1), 0);
    assert_false(ek__kernel_events_out_of_memory(events));
    assert_true(ek__kernel_events_bytes(events) > 0);
    if (problem)
        snprintf(problem, room, "%s", ek__kernel_events_problem(events) ? ek__kernel_events_problem(events) : "");
    ek__kernel_events_close(events);
    return text;
}

static json_t *events_of(const char *text)
{
    json_error_t error;
    json_t *all = json_loads(text, 0, &error);
    if (!all)
        fail_msg("line %d: %s", error.line, error.text);
    return all;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The name of a process, or of its thread, as the metadata gives it. */
static const char *named(const json_t *all, const char *what, int64_t pid, const char *tid)
{
    size_t i;
    json_t *e;
    const char *found = "";
    json_array_foreach(all, i, e) if (strcmp(text_at(e, "ph"), "M") == 0 && strcmp(text_at(e, "name"), what) == 0 &&
                                      json_integer_value(json_object_get(e, "pid")) == pid &&
                                      (strcmp(what, "process_name") == 0 || strcmp(text_at(e, "tid"), tid) == 0))
    {
        assert_string_equal(found, ""); /* once */
        found = text_at(json_object_get(e, "args"), "name");
    }
    return found;
}

typedef struct row {
    int stream; /* -1: not known */
    bool communicates, timed;
    int64_t start, duration;
} row;

/* A table with columns that other releases have or lack. */
static void write_table(ek__random *r, bool with_streams, row *rows, int n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "Step Id,Name,%sAccelerator Core,Start Time(us),Duration(us),Input Shapes\n",
            with_streams ? "Stream ID," : "");
    for (int i = 0; i < n; i++) {
        row *o = &rows[i];
        *o = (row){.stream = with_streams && ek__random_below(r, 4) > 0 ? ek__random_below(r, 3) : -1,
                   .communicates = ek__random_below(r, 4) == 0,
                   .timed = ek__random_below(r, 6) > 0,
                   .start = INT64_C(1736408883688177000) + ek__random_below(r, 1000000),
                   .duration = ek__random_below(r, 90000)};
        fprintf(file, "1,\"op \"\"%d\"\", of\nthree\\ {lines\x01\",", i);
        if (with_streams && o->stream < 0)
            fprintf(file, "N/A,");
        else if (with_streams)
            fprintf(file, "%d,", o->stream);
        fprintf(file, "%s,", o->communicates ? "HCCL" : "AI_CORE");
        if (o->timed)
            fprintf(file, "%" PRId64 ".%03d\t,%d.%03d,\"\"\"%d,4\"\"\"\n", o->start / 1000, (int)(o->start % 1000),
                    (int)(o->duration / 1000), (int)(o->duration % 1000), i);
        else
            fprintf(file, "%s,3,N/A\n", ek__random_below(r, 2) ? "N/A" : "soon");
    }
    assert_int_equal(fclose(file), 0);
}

static void check_event(const json_t *all, const json_t *e, const row *o, int i, bool with_streams)
{
    char text[80];
    const char *thread = o->communicates ? "Collectives" : "AI_CORE";
    const int64_t pid = json_integer_value(json_object_get(e, "pid"));
    const json_t *args = json_object_get(e, "args");
    snprintf(text, sizeof text, "op \"%d\", of\nthree\\ {lines\x01", i);
    assert_string_equal(text_at(e, "name"), text);
    snprintf(text, sizeof text, "%" PRId64 ".%03d", o->start / 1000, (int)(o->start % 1000));
    assert_int_equal(strtod(text_at(e, "ts"), NULL) == strtod(text, NULL), 1);
    assert_int_equal(llround(1000 * json_number_value(json_object_get(e, "dur"))), o->duration);
    assert_string_equal(named(all, "process_name", pid, ""), o->communicates ? "Communication" : "Ascend Hardware");
    if (o->stream < 0)
        snprintf(text, sizeof text, "%s", thread);
    else
        snprintf(text, sizeof text, "Stream %d", o->stream);
    assert_string_equal(named(all, "thread_name", pid, text_at(e, "tid")), text);
    assert_string_equal(text_at(args, o->communicates ? "core" : "Task Type"), o->communicates ? "HCCL" : "AI_CORE");
    assert_non_null(json_object_get(args, "Input Shapes"));
    assert_int_equal(json_object_get(args, "Stream ID") != NULL, with_streams && o->stream >= 0);
}

static void rows_with_times_are_events(void **state)
{
    ek__random r = ek__random_seed(33);
    (void)state;
    for (int round = 0; round < 60; round++) {
        row rows[MOST_ROWS];
        const int n = ek__random_below(&r, MOST_ROWS);
        const bool with_streams = round % 2 == 0;
        write_table(&r, with_streams, rows, n);
        assert_true(ek__is_kernel_table(path));
        char *text = read_all(1 << 16, NULL, 0);
        json_t *all = events_of(text);
        size_t at = 0;
        for (int i = 0; i < n; i++) {
            if (!rows[i].timed)
                continue;
            while (strcmp(text_at(json_array_get(all, at), "ph"), "M") == 0)
                at++;
            check_event(all, json_array_get(all, at++), &rows[i], i, with_streams);
        }
        assert_int_equal(at, json_array_size(all));
        json_decref(all);
        for (size_t piece = 1; piece < 200; piece += 33) {
            char *other = read_all(piece, NULL, 0);
            assert_string_equal(other, text);
            free(other);
        }
        free(text);
    }
}

static void damage_ends_the_text_and_is_told(void **state)
{
    char problem[400];
    (void)state;
    put("Name,Start Time(us),Duration(us)\nMatMul,10.5,2\n\"Add,12,1\n");
    char *text = read_all(7, problem, sizeof problem);
    json_t *all = events_of(text);
    assert_int_equal(json_array_size(all), 3); /* two names, one event */
    assert_non_null(strstr(problem, "line 3"));
    assert_non_null(strstr(problem, "rows before it are used"));
    json_decref(all);
    free(text);
}

static void other_files_are_no_tables_of_kernels(void **state)
{
    static const char *const others[] = {"",
                                         "[{\"name\": \"Name,Start Time(us),Duration(us)\"}]",
                                         "Name,Duration(us)\nMatMul,2\n",
                                         "OP Type,Core Type,Ratio(%)\nMatMul,AI_CORE,3\n",
                                         "\x1f\x8b\x08",
                                         "\"Name,Start Time(us)"};
    ek__kernel_events *events;
    ek_error err;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put(others[i]);
        assert_false(ek__is_kernel_table(path));
    }
    put(others[2]);
    assert_int_equal(ek__kernel_events_open(path, &events, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "Start Time(us)"));
    assert_false(ek__is_kernel_table("/nowhere/at/all"));
    assert_false(ek__is_kernel_table("/tmp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_with_times_are_events),
        cmocka_unit_test(damage_ends_the_text_and_is_told),
        cmocka_unit_test(other_files_are_no_tables_of_kernels),
    };
    return cmocka_run_group_tests_name("kernel_events", tests, make_file, remove_file);
}
