/* Writes a timeline of a document: rows of events, arrows, curves and live memory, gathered in flat columns and written
 * as one text of numbers (packed.c), with names by number. It does not sort or check: rows come in order, and events of
 * a row do not overlap. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/texts.h"
#include "view/view.h"

typedef struct reals {
    size_t n, capacity;
    double *value;
} reals;

typedef struct numbers {
    size_t n, capacity;
    uint32_t *value;
} numbers;

/* Pairs of text and type. Almost every text has one type, so the pairs of a text are a chain. */
typedef struct names {
    ek__texts texts;
    numbers text, type, next; /* of each pair; `next`: pair + 1, 0 at the end */
    numbers first;            /* of each text: pair + 1 */
} names;

typedef struct group {
    const char *name;
    int rank, stage;
    int first_track;
} group;

typedef struct track {
    const char *name, *track_class;
    int n_rows;
    int64_t left_out;
} track;

typedef struct step {
    const char *name;
    int group;
    double begin, end;
} step;

typedef struct curve {
    const char *name, *unit;
    int group;
    double limit;
    bool steps, among_tracks;
    size_t n;
} curve;

typedef struct counter {
    const char *name, *unit;
    int group;
    double least, most;
    int64_t n;
} counter;

typedef struct stretch {
    int group;
    double begin, end;
} stretch;

struct ek__view_timeline {
    ek__pool *pool; /* of names and of the six arrays below */
    const char *unit, *origin;
    int n_groups, n_tracks, n_steps, n_stretches, n_curves, n_counters, n_rows;
    group *group;
    track *track;
    step *step;
    stretch *stretch; /* [n_stretches]: the critical path */
    curve *curve;
    counter *counter;
    size_t row_capacity;
    int64_t *row_events; /* [n_rows] */
    names event_names, held_names;
    ek__texts arrow_names;
    reals event_begin, event_duration, from_time, to_time, held_begin, held_end, held_mb, curve_time, curve_value,
        call_begin, call_wait;
    numbers event_name, from_row, to_row, arrow_name, held_group, held_name, call_row, call_number, call_last,
        call_group;
    ek__packed args;
    bool any_args, served, spanned, failed;
    double begin, end;
};

/* ---- putting together ---- */

static void write_real(ek__view_timeline *t, reals *column, double value)
{
    double *larger = ek__with_room(column->value, &column->capacity, column->n + 1, sizeof *column->value);
    if (!larger) {
        t->failed = true;
        return;
    }
    column->value = larger;
    larger[column->n++] = value;
}

static void write_number(ek__view_timeline *t, numbers *column, uint32_t value)
{
    uint32_t *larger = ek__with_room(column->value, &column->capacity, column->n + 1, sizeof *column->value);
    if (!larger) {
        t->failed = true;
        return;
    }
    column->value = larger;
    larger[column->n++] = value;
}

static const char *copy(ek__view_timeline *t, const char *text)
{
    const char *own = text ? ek__pool_text(t->pool, text, strlen(text)) : NULL;
    t->failed |= text && !own;
    return own;
}

/* One more item of an array in the pool; NULL when memory is out. */
#define PUSH(t, array, n)                                                                                              \
    do {                                                                                                               \
        void *larger_ = ek__pool_push((t)->pool, (t)->array, (t)->n, sizeof *(t)->array);                              \
        if (!larger_) {                                                                                                \
            (t)->failed = true;                                                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        (t)->array = larger_;                                                                                          \
        (t)->n++;                                                                                                      \
    } while (0)

static void cover(ek__view_timeline *t, double begin, double end)
{
    if (!t->spanned) {
        t->begin = fmin(t->begin, begin);
        t->end = fmax(t->end, end);
    }
}

ek__view_timeline *ek__timeline_new(const char *unit, const char *origin)
{
    ek__view_timeline *t = ek__alloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->begin = INFINITY;
    t->end = -INFINITY;
    t->pool = ek__pool_new();
    if (!t->pool || !ek__texts_reset(&t->event_names.texts) || !ek__texts_reset(&t->held_names.texts) ||
        !ek__texts_reset(&t->arrow_names)) {
        ek__timeline_free(t);
        return NULL;
    }
    t->unit = copy(t, unit);
    t->origin = copy(t, origin);
    return t;
}

void ek__timeline_group(ek__view_timeline *t, const char *name, int rank, int stage)
{
    PUSH(t, group, n_groups);
    t->group[t->n_groups - 1] = (group){copy(t, name), rank, stage, t->n_tracks};
}

void ek__timeline_track(ek__view_timeline *t, const char *name, const char *track_class, int n_rows)
{
    PUSH(t, track, n_tracks);
    t->track[t->n_tracks - 1] = (track){copy(t, name), copy(t, track_class), n_rows, 0};
}

void ek__timeline_left_out(ek__view_timeline *t, int64_t n_events)
{
    if (t->n_tracks > 0)
        t->track[t->n_tracks - 1].left_out = n_events;
}

static uint32_t name_of(ek__view_timeline *t, names *n, const char *text, size_t size, ek_view_type type)
{
    uint32_t number = ek__texts_intern(&n->texts, text, size);
    if (number == UINT32_MAX || t->failed) {
        t->failed = true;
        return 0;
    }
    while (number >= n->first.n && !t->failed)
        write_number(t, &n->first, 0);
    if (t->failed)
        return 0;
    for (uint32_t pair = n->first.value[number]; pair > 0; pair = n->next.value[pair - 1])
        if (n->type.value[pair - 1] == type)
            return pair - 1;
    write_number(t, &n->text, number);
    write_number(t, &n->type, type);
    write_number(t, &n->next, n->first.value[number]);
    n->first.value[number] = (uint32_t)n->text.n;
    return (uint32_t)n->text.n - 1;
}

uint32_t ek__timeline_name(ek__view_timeline *t, const char *text, size_t size, ek_view_type type)
{
    return name_of(t, &t->event_names, text, size, type);
}

void ek__timeline_served_row(ek__view_timeline *t, int64_t n_events)
{
    int64_t *larger = ek__with_room(t->row_events, &t->row_capacity, (size_t)t->n_rows + 1, sizeof *t->row_events);
    if (!larger) {
        t->failed = true;
        return;
    }
    t->row_events = larger;
    larger[t->n_rows++] = n_events;
}

void ek__timeline_row(ek__view_timeline *t)
{
    ek__timeline_served_row(t, 0);
}

void ek__timeline_event(ek__view_timeline *t, double begin, double duration, uint32_t name, const char *args,
                        size_t args_size)
{
    if (t->failed)
        return;
    write_real(t, &t->event_begin, begin);
    write_real(t, &t->event_duration, duration);
    write_number(t, &t->event_name, name);
    if (args)
        ek__packed_bytes(&t->args, args, args_size);
    ek__packed_bytes(&t->args, "\n", 1);
    t->any_args |= args && args_size > 0;
    t->row_events[t->n_rows - 1]++;
    cover(t, begin, begin + duration);
}

void ek__timeline_arrow(ek__view_timeline *t, int from_row, double from_time, int to_row, double to_time,
                        const char *name)
{
    uint32_t number = ek__texts_intern(&t->arrow_names, name, strlen(name));
    t->failed |= number == UINT32_MAX;
    write_real(t, &t->from_time, from_time);
    write_real(t, &t->to_time, to_time);
    write_number(t, &t->from_row, (uint32_t)from_row);
    write_number(t, &t->to_row, (uint32_t)to_row);
    write_number(t, &t->arrow_name, number);
}

void ek__timeline_step(ek__view_timeline *t, const char *name, int group_number, double begin, double end)
{
    PUSH(t, step, n_steps);
    t->step[t->n_steps - 1] = (step){copy(t, name), group_number, begin, end};
    cover(t, begin, end);
}

void ek__timeline_path(ek__view_timeline *t, int group_number, double begin, double end)
{
    stretch *last = t->n_stretches > 0 ? &t->stretch[t->n_stretches - 1] : NULL;
    if (last && last->group == group_number && begin <= last->end + 1e-9 * fabs(last->end)) {
        last->end = end;
        return;
    }
    PUSH(t, stretch, n_stretches);
    t->stretch[t->n_stretches - 1] = (stretch){group_number, begin, end};
}

void ek__timeline_curve(ek__view_timeline *t, const char *name, int group_number, const char *unit, double limit,
                        bool steps, const double *time, const double *value, size_t n)
{
    PUSH(t, curve, n_curves);
    t->curve[t->n_curves - 1] = (curve){copy(t, name), copy(t, unit), group_number, limit, steps, false, n};
    for (size_t i = 0; i < n; i++) {
        write_real(t, &t->curve_time, time[i]);
        write_real(t, &t->curve_value, value[i]);
        cover(t, time[i], time[i]);
    }
}

void ek__timeline_among_tracks(ek__view_timeline *t)
{
    if (t->n_curves > 0)
        t->curve[t->n_curves - 1].among_tracks = true;
}

void ek__timeline_held(ek__view_timeline *t, int group_number, const char *name, ek_view_type type, double begin,
                       double end, double mb)
{
    write_number(t, &t->held_name, name_of(t, &t->held_names, name, strlen(name), type));
    write_number(t, &t->held_group, (uint32_t)group_number);
    write_real(t, &t->held_begin, begin);
    write_real(t, &t->held_end, end);
    write_real(t, &t->held_mb, mb);
    cover(t, begin, end);
}

void ek__timeline_call(ek__view_timeline *t, const ek__view_call *call)
{
    assert(call->row >= 0 && call->n_group >= 0);
    write_real(t, &t->call_begin, call->begin);
    write_real(t, &t->call_wait, call->wait);
    write_number(t, &t->call_row, (uint32_t)call->row);
    write_number(t, &t->call_number, call->number);
    write_number(t, &t->call_last, call->came_last);
    write_number(t, &t->call_group, (uint32_t)call->n_group);
}

void ek__timeline_span(ek__view_timeline *t, double begin, double end)
{
    t->spanned = true;
    t->begin = begin;
    t->end = end;
}

void ek__timeline_served(ek__view_timeline *t)
{
    t->served = true;
}

void ek__timeline_counter(ek__view_timeline *t, const char *name, int group_number, const char *unit, double least,
                          double most, int64_t n)
{
    PUSH(t, counter, n_counters);
    t->counter[t->n_counters - 1] = (counter){copy(t, name), copy(t, unit), group_number, least, most, n};
}

/* ---- writing ---- */

static void write_groups(const ek__view_timeline *t, ek__stream *s)
{
    ek__stream_list(s, "groups", false);
    for (int g = 0; g < t->n_groups; g++) {
        int end = g + 1 < t->n_groups ? t->group[g + 1].first_track : t->n_tracks;
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", t->group[g].name);
        ek__stream_int(s, "rank", t->group[g].rank);
        ek__stream_int(s, "stage", t->group[g].stage);
        ek__stream_list(s, "tracks", false);
        for (int k = t->group[g].first_track; k < end; k++) {
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "name", t->track[k].name);
            ek__stream_text(s, "class", t->track[k].track_class);
            ek__stream_int(s, "n_rows", t->track[k].n_rows);
            ek__stream_int(s, "left_out", t->track[k].left_out);
            ek__stream_end(s);
        }
        ek__stream_end(s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void write_sizes(const ek__view_timeline *t, ek__stream *s)
{
    int64_t n_events = 0;
    ek__stream_list(s, "row_events", false);
    for (int i = 0; i < t->n_rows; i++) {
        ek__stream_int(s, NULL, t->row_events[i]);
        n_events += t->row_events[i];
    }
    ek__stream_end(s);
    ek__stream_int(s, "n_events", n_events);
    ek__stream_int(s, "n_arrows", (int64_t)t->from_row.n);
    ek__stream_int(s, "n_held", (int64_t)t->held_mb.n);
    ek__stream_int(s, "n_points", (int64_t)t->curve_time.n);
    ek__stream_int(s, "n_calls", (int64_t)t->call_row.n);
}

static void write_names(const names *n, ek__stream *s, const char *key)
{
    ek__stream_object(s, key, false);
    ek__stream_list(s, "text", false);
    for (size_t i = 0; i < n->text.n; i++)
        ek__stream_text(s, NULL, ek__texts_at(&n->texts, n->text.value[i]));
    ek__stream_end(s);
    ek__stream_list(s, "type", false);
    for (size_t i = 0; i < n->type.n; i++)
        ek__stream_int(s, NULL, n->type.value[i]);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void write_steps(const ek__view_timeline *t, ek__stream *s)
{
    ek__stream_list(s, "steps", false);
    for (int i = 0; i < t->n_steps; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", t->step[i].name);
        ek__stream_int(s, "group", t->step[i].group);
        ek__stream_real(s, "begin", t->step[i].begin);
        ek__stream_real(s, "end", t->step[i].end);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void write_path(const ek__view_timeline *t, ek__stream *s)
{
    ek__stream_list(s, "path", false);
    for (int i = 0; i < t->n_stretches; i++) {
        ek__stream_list(s, NULL, false);
        ek__stream_int(s, NULL, t->stretch[i].group);
        ek__stream_real(s, NULL, t->stretch[i].begin);
        ek__stream_real(s, NULL, t->stretch[i].end);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void write_curves(const ek__view_timeline *t, ek__stream *s)
{
    ek__stream_list(s, "curves", false);
    for (int i = 0; i < t->n_curves; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", t->curve[i].name);
        ek__stream_int(s, "group", t->curve[i].group);
        ek__stream_text(s, "unit", t->curve[i].unit);
        ek__stream_real(s, "limit", t->curve[i].limit);
        ek__stream_bool(s, "steps", t->curve[i].steps);
        if (t->curve[i].among_tracks)
            ek__stream_bool(s, "track", true);
        ek__stream_int(s, "n", (int64_t)t->curve[i].n);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "counters", false);
    for (int i = 0; i < t->n_counters; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", t->counter[i].name);
        ek__stream_int(s, "group", t->counter[i].group);
        ek__stream_text(s, "unit", t->counter[i].unit);
        ek__stream_real(s, "least", t->counter[i].least);
        ek__stream_real(s, "most", t->counter[i].most);
        ek__stream_int(s, "n", t->counter[i].n);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* In the order of docs/view-json.md. A served timeline contains only live memory and curves. */
static bool write_data(const ek__view_timeline *t, ek__stream *s)
{
    ek__packed data = {0};
    const reals *const real[] = {&t->event_begin, &t->event_duration, &t->from_time, &t->to_time,
                                 &t->held_begin,  &t->held_end,       &t->held_mb,   &t->curve_time,
                                 &t->curve_value, &t->call_begin,     &t->call_wait};
    const numbers *const number[] = {&t->event_name, &t->from_row, &t->to_row,      &t->arrow_name, &t->held_group,
                                     &t->held_name,  &t->call_row, &t->call_number, &t->call_last,  &t->call_group};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        ek__packed_reals(&data, real[i]->value, real[i]->n);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        ek__packed_numbers(&data, number[i]->value, number[i]->n);
    bool fine = !data.out_of_memory;
    if (fine && data.n_bytes == 0)
        ek__stream_null(s, "data");
    else
        fine = fine && ek__packed_write(&data, s, "data");
    ek__packed_clear(&data);
    return fine;
}

bool ek__timeline_write(ek__view_timeline *t, ek__stream *s)
{
    if (t->failed || t->args.out_of_memory)
        return false;
    bool empty = !(t->begin <= t->end);
    ek__stream_object(s, "timeline", false);
    ek__stream_text(s, "unit", t->unit);
    ek__stream_text(s, "origin", t->origin);
    ek__stream_real(s, "begin", empty ? 0 : t->begin);
    ek__stream_real(s, "end", empty ? 0 : t->end);
    write_groups(t, s);
    write_sizes(t, s);
    if (t->served)
        ek__stream_null(s, "names");
    else
        write_names(&t->event_names, s, "names");
    ek__stream_list(s, "arrow_names", false);
    for (uint32_t i = 0; i < t->arrow_names.n; i++)
        ek__stream_text(s, NULL, ek__texts_at(&t->arrow_names, i));
    ek__stream_end(s);
    write_steps(t, s);
    write_path(t, s);
    write_curves(t, s);
    write_names(&t->held_names, s, "held_names");
    bool fine = write_data(t, s);
    if (!t->any_args || t->served)
        ek__stream_null(s, "args");
    else
        fine = fine && ek__packed_write(&t->args, s, "args");
    ek__stream_end(s);
    return fine;
}

static void clear_names(names *n)
{
    ek__texts_clear(&n->texts);
    free(n->text.value);
    free(n->type.value);
    free(n->next.value);
    free(n->first.value);
}

void ek__timeline_free(ek__view_timeline *t)
{
    if (!t)
        return;
    clear_names(&t->event_names);
    clear_names(&t->held_names);
    ek__texts_clear(&t->arrow_names);
    reals *const real[] = {&t->event_begin, &t->event_duration, &t->from_time, &t->to_time,
                           &t->held_begin,  &t->held_end,       &t->held_mb,   &t->curve_time,
                           &t->curve_value, &t->call_begin,     &t->call_wait};
    numbers *const number[] = {&t->event_name, &t->from_row, &t->to_row,      &t->arrow_name, &t->held_group,
                               &t->held_name,  &t->call_row, &t->call_number, &t->call_last,  &t->call_group};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        free(real[i]->value);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        free(number[i]->value);
    ek__packed_clear(&t->args);
    free(t->row_events);
    ek__pool_free(t->pool);
    free(t);
}
