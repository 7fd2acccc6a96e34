/* Makes random traces: events of every length on tracks where they nest, follow and overlap, in no order, with
 * arguments that hold braces and quotes; arrows; a counter. */
#include "index_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

uint64_t model_random(uint64_t *state, uint64_t n)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % n;
}

int64_t model_log_random(uint64_t *state, int64_t n)
{
    int bits = 0;
    while (bits < 62 && (INT64_C(1) << bits) < n)
        bits++;
    int64_t value = (int64_t)model_random(state, UINT64_C(1) << model_random(state, (uint64_t)bits + 1));
    return value < n ? value : n - 1;
}

static void put(index_model *m, const char *format, ...)
{
    va_list arguments;
    if (m->size + 1024 > m->capacity) {
        m->capacity = 2 * m->capacity + 4096;
        m->text = realloc(m->text, m->capacity);
        if (!m->text)
            abort();
    }
    va_start(arguments, format);
    m->size += (size_t)vsnprintf(m->text + m->size, m->capacity - m->size, format, arguments);
    va_end(arguments);
}

static void put_us(index_model *m, const char *key, int64_t ns, bool text)
{
    const char *quote = text ? "\"" : "";
    put(m, "\"%s\":%s%s%" PRId64 ".%03d%s,", key, quote, ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000,
        (int)((ns < 0 ? -ns : ns) % 1000), quote);
}

static void put_event(index_model *m, const model_event *e, size_t i)
{
    put(m, "{\"ph\":\"X\",\"name\":\"Name %d of {all}\",\"pid\":%d,\"tid\":\"%d\",", e->name, 7 + e->track % 2,
        e->track);
    put_us(m, "ts", e->begin, i % 2 == 0);
    put_us(m, "dur", e->duration, false);
    put(m, "\"args\":{\"number\": %zu, \"text\":\"a \\\"}] %.*s\"}}", i, (int)(i % 90),
        "-----------------------------------"
        "-----------------------------------------------------------------------");
}

static void make_events(index_model *m)
{
    const index_shape *s = &m->shape;
    int64_t *clock = calloc((size_t)s->n_tracks, sizeof *clock);
    m->event = calloc((size_t)s->n_events, sizeof *m->event);
    if (!clock || !m->event)
        abort();
    for (int i = 0; i < s->n_events; i++) {
        int track = (int)model_random(&m->random, (uint64_t)s->n_tracks);
        int64_t gap = model_log_random(&m->random, s->longest);
        clock[track] += model_random(&m->random, 4) == 0 ? 0 : gap / 2;
        int64_t duration = model_random(&m->random, 9) == 0 ? 0 : model_log_random(&m->random, s->longest);
        if (model_random(&m->random, 4) > 0 && duration > 4 * gap)
            duration = 4 * gap;
        m->event[m->n_events++] = (model_event){.track = track,
                                                .name = (int)model_log_random(&m->random, s->n_names),
                                                .begin = s->begin + clock[track],
                                                .duration = duration};
    }
    for (size_t i = m->n_events; i > 1; i--) { /* in no order */
        size_t k = model_random(&m->random, i);
        model_event kept = m->event[i - 1];
        m->event[i - 1] = m->event[k];
        m->event[k] = kept;
    }
    free(clock);
}

/* From a time within an event to one within another. */
static void make_arrows(index_model *m)
{
    m->arrow = calloc((size_t)m->shape.n_arrows + 1, sizeof *m->arrow);
    if (!m->arrow)
        abort();
    for (int i = 0; i < m->shape.n_arrows && m->n_events > 0; i++) {
        const model_event *a = &m->event[model_random(&m->random, m->n_events)];
        const model_event *b = &m->event[model_random(&m->random, m->n_events)];
        int64_t from = a->begin + (int64_t)model_random(&m->random, (uint64_t)a->duration + 1);
        if (b->begin < from)
            continue;
        m->arrow[m->n_arrows] = (model_arrow){a->track, b->track, from, b->begin};
        const model_arrow *r = &m->arrow[m->n_arrows++];
        put(m, ",\n{\"ph\":\"s\",\"cat\":\"async\",\"name\":\"flow\",\"id\":%d,\"pid\":%d,\"tid\":\"%d\",", i,
            7 + r->from_track % 2, r->from_track);
        put_us(m, "ts", r->from_time, true);
        put(m,
            "\"x\":0},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"async\",\"name\":\"flow\",\"id\":%d,\"pid\":%d,\"tid\":\"%"
            "d\",",
            i, 7 + r->to_track % 2, r->to_track);
        put_us(m, "ts", r->to_time, true);
        put(m, "\"x\":0}");
    }
}

static void make_points(index_model *m)
{
    int64_t time = m->shape.begin;
    m->point = calloc((size_t)m->shape.n_points + 1, sizeof *m->point);
    if (!m->point)
        abort();
    for (int i = 0; i < m->shape.n_points; i++) {
        time += 1 + model_log_random(&m->random, m->shape.longest);
        m->point[m->n_points++] = (model_point){time, (double)model_random(&m->random, 1000000) / 4};
        put(m, ",\n{\"ph\":\"C\",\"name\":\"HBM\",\"pid\":9,\"tid\":0,");
        put_us(m, "ts", time, true);
        put(m, "\"args\":{\"KB\":%.2f}}", m->point[i].value);
    }
}

void index_model_make(const index_shape *shape, index_model *out)
{
    *out = (index_model){.shape = *shape, .random = shape->seed};
    make_events(out);
    if (shape->rank >= 0)
        put(out, "{\"distributedInfo\":{\"rank\":%d,\"world_size\":8},\"traceEvents\":", shape->rank);
    put(out, "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"Ascend Hardware\"}}");
    for (size_t i = 0; i < out->n_events; i++) {
        put(out, ",%s", i % 5 == 0 ? "\n " : "");
        out->event[i].place = out->size;
        put_event(out, &out->event[i], i);
        out->event[i].size = (uint32_t)(out->size - out->event[i].place);
    }
    make_arrows(out);
    make_points(out);
    put(out, "]%s", shape->rank >= 0 ? "}" : "");
}

bool index_model_write(const index_model *m, const char *path)
{
    if (m->shape.compressed) {
        gzFile file = gzopen(path, "wb1");
        bool fine = file && gzwrite(file, m->text, (unsigned)m->size) == (int)m->size;
        return file && gzclose(file) == Z_OK && fine;
    }
    FILE *file = fopen(path, "wb");
    bool fine = file && fwrite(m->text, 1, m->size, file) == m->size;
    return file && fclose(file) == 0 && fine;
}

void index_model_clear(index_model *m)
{
    free(m->text);
    free(m->event);
    free(m->arrow);
    free(m->point);
    *m = (index_model){0};
}
