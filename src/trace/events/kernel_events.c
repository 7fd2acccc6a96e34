/* Reads a table of kernels row by row; a row becomes text for the scanner of traces, so that the meaning of an event is
 * defined in one place. Streams are named as in a trace; where a table has none, kernels are placed by their cores.
 * Steps are recognised only by the rows' numbers: from the first begin to the last end of consecutive rows with the
 * same number. */
#include "trace/events/kernel_events.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/json_compact.h"
#include "base/texts.h"
#include "trace/events/intervals.h"
#include "trace/tables/tables.h"
#include "trace/text/csv.h"

enum { BEGINNING = 8192, MOST_NAME = 64 };

typedef enum process { HARDWARE, COMMUNICATION, N_PROCESSES } process;
static const char *const process_name[N_PROCESSES] = {"Ascend Hardware", "Communication"};

typedef struct columns {
    int name, type, core, start, duration, stream;
} columns;

struct ek__kernel_events {
    ek__csv *csv;
    columns column;
    ek__json_text text; /* not returned yet from `given` on */
    size_t given;
    bool ended, separated; /* separated: the next item needs a comma before it */
    bool out_of_memory;
    bool named[N_PROCESSES];
    ek__texts threads; /* "process\nthread" of those with a name already */
    char problem[400];
};

static columns find_columns(const ek__csv *csv)
{
    return (columns){.name = ek__csv_column(csv, "Name", "Op Name", NULL),
                     .type = ek__csv_column(csv, "Type", "OP Type", NULL),
                     .core = ek__csv_column(csv, "Accelerator Core", "Task Type", NULL),
                     .start = ek__csv_column(csv, "Start Time(us)", "Task Start Time(us)", NULL),
                     .duration = ek__csv_column(csv, "Duration(us)", "Task Duration(us)", NULL),
                     .stream = ek__csv_column(csv, "Stream ID", "Stream Id", NULL)};
}

static bool suffice(const columns *c)
{
    return c->name >= 0 && c->start >= 0 && c->duration >= 0;
}

bool ek__is_kernel_table(const char *path)
{
    char bytes[BEGINNING];
    ek__csv *csv;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, bytes, sizeof bytes, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0 || bytes[0] == '{' || bytes[0] == '[' || memchr(bytes, '\0', (size_t)n) ||
        ek__csv_open_buffer("", bytes, (size_t)n, &csv, NULL) != EK_OK)
        return false;
    const columns c = find_columns(csv);
    ek__csv_close(csv);
    return suffice(&c);
}

/* ---- text ---- */

static void put(ek__kernel_events *k, const char *text)
{
    ek__json_add(&k->text, text, strlen(text));
}

static void quote(ek__kernel_events *k, const char *text)
{
    ek__json_quote(text, strlen(text), &k->text);
}

static void put_us(ek__kernel_events *k, int64_t ns)
{
    put(k, ek__exact_us(ns).text);
}

static void separate(ek__kernel_events *k)
{
    if (k->separated)
        put(k, ",\n");
    k->separated = true;
}

static void name_item(ek__kernel_events *k, const char *item, process of, const char *thread, const char *name)
{
    char number[32];
    separate(k);
    snprintf(number, sizeof number, "%d", of);
    put(k, "{\"ph\": \"M\", \"name\": \"");
    put(k, item);
    put(k, "\", \"pid\": ");
    put(k, number);
    put(k, ", \"tid\": ");
    quote(k, thread);
    put(k, ", \"args\": {\"name\": ");
    quote(k, name);
    put(k, "}}");
}

/* Process and thread get their names at their first event. */
static void name_thread(ek__kernel_events *k, process of, const char *thread, const char *name)
{
    char key[300];
    if (!k->named[of])
        name_item(k, "process_name", of, "", process_name[of]);
    k->named[of] = true;
    const uint32_t before = k->threads.n;
    int n = snprintf(key, sizeof key, "%d\n%.256s", of, thread);
    uint32_t number = ek__texts_intern(&k->threads, key, (size_t)n);
    k->out_of_memory |= number == UINT32_MAX;
    if (k->threads.n > before)
        name_item(k, "thread_name", of, thread, name);
}

/* Up to its arguments. */
static void begin_event(ek__kernel_events *k, process of, const char *thread, const char *name, int64_t start,
                        int64_t duration)
{
    char number[32];
    separate(k);
    snprintf(number, sizeof number, "%d", of);
    put(k, "{\"ph\": \"X\", \"name\": ");
    quote(k, name);
    put(k, ", \"pid\": ");
    put(k, number);
    put(k, ", \"tid\": ");
    quote(k, thread);
    put(k, ", \"ts\": \"");
    put_us(k, start);
    put(k, "\", \"dur\": ");
    put_us(k, duration);
    put(k, ", \"args\": {");
}

/* ---- rows ---- */

static bool is_known(const char *text)
{
    return *text && strcmp(text, "N/A") != 0;
}

/* The core as a task of a trace has it, which whole collectives do not, and every other column with content. */
static void put_arguments(ek__kernel_events *k, process of, const char *core)
{
    const columns *c = &k->column;
    put(k, of == HARDWARE ? "\"Task Type\": " : "\"core\": ");
    quote(k, *core ? core : "N/A");
    for (int i = 0; i < ek__csv_n_columns(k->csv); i++) {
        const char *cell = ek__csv_cell(k->csv, i);
        if (i == c->name || i == c->start || i == c->duration || i == c->core || !is_known(cell))
            continue;
        put(k, ", ");
        quote(k, ek__csv_header(k->csv, i));
        put(k, ": ");
        quote(k, cell);
    }
}

static void put_row(ek__kernel_events *k)
{
    const ek__csv *csv = k->csv;
    const columns *c = &k->column;
    char name[MOST_NAME];
    int64_t start, duration;
    if (!ek__csv_us(csv, c->start, &start) || !ek__csv_us(csv, c->duration, &duration) || duration < 0)
        return;
    const char *core = ek__csv_cell(csv, c->core), *type = ek__csv_cell(csv, c->type),
               *operator= ek__csv_cell(csv, c->name), *stream = ek__csv_cell(csv, c->stream);
    const bool communicates = ek__is_communication_row(core, is_known(type) ? type : operator);
    const process of = communicates ? COMMUNICATION : HARDWARE;
    const char *thread = is_known(stream) ? stream : communicates ? "Collectives" : is_known(core) ? core : "Kernels";
    snprintf(name, sizeof name, is_known(stream) ? "Stream %.40s" : "%.40s", thread);
    name_thread(k, of, thread, name);
    begin_event(k, of, thread, operator, start, duration);
    put_arguments(k, of, core);
    put(k, "}}");
}

static void read_row(ek__kernel_events *k)
{
    bool more;
    ek_error err;
    ek_status status = ek__csv_next(k->csv, &more, &err);
    k->out_of_memory |= status == EK_ERR_MEMORY;
    if (status == EK_OK && more) {
        put_row(k);
        return;
    }
    if (status != EK_OK)
        snprintf(k->problem, sizeof k->problem, "line %d: %.300s; rows before it are used", err.line, err.message);
    put(k, "\n]\n");
    k->ended = true;
}

/* ---- reading ---- */

ek_status ek__kernel_events_open(const char *path, ek__kernel_events **out, ek_error *err)
{
    ek__kernel_events *k = ek__alloc(1, sizeof *k);
    ek_status status = k && ek__texts_reset(&k->threads) ? ek__csv_open(path, &k->csv, err) : ek__no_memory(err);
    if (!status) {
        k->column = find_columns(k->csv);
        if (!suffice(&k->column))
            status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, 1}),
                              "there is no timeline in it: it lacks a column Name, Start Time(us) or Duration(us)");
    }
    if (status) {
        ek__kernel_events_close(k);
        return status;
    }
    put(k, "[\n");
    *out = k;
    return EK_OK;
}

void ek__kernel_events_close(ek__kernel_events *events)
{
    if (!events)
        return;
    ek__csv_close(events->csv);
    ek__texts_clear(&events->threads);
    free(events->text.at);
    free(events);
}

size_t ek__kernel_events_read(ek__kernel_events *events, char *to, size_t room)
{
    while (!events->ended && !ek__kernel_events_out_of_memory(events) && events->text.n - events->given < room) {
        if (events->given > 0)
            memmove(events->text.at, events->text.at + events->given, events->text.n -= events->given);
        events->given = 0;
        while (!events->ended && !ek__kernel_events_out_of_memory(events) && events->text.n < room)
            read_row(events);
    }
    size_t left = events->text.n - events->given, n = left < room ? left : room;
    if (n > 0)
        memcpy(to, events->text.at + events->given, n);
    events->given += n;
    return n;
}

const char *ek__kernel_events_problem(const ek__kernel_events *events)
{
    return events->problem[0] ? events->problem : NULL;
}

bool ek__kernel_events_out_of_memory(const ek__kernel_events *events)
{
    return events->out_of_memory || events->text.out_of_memory;
}

int64_t ek__kernel_events_bytes(const ek__kernel_events *events)
{
    return ek__csv_bytes(events->csv);
}
