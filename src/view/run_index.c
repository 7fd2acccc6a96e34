/* Writes the events of a trace: the timeline. A group for every trace file, with its tracks and rows as the index has
 * them. A page without a server has every event with its arguments, taken from the trace's text one file at a time,
 * arrows, and counters as curves, which are thinned to screen resolution where they have more points. A served page
 * gets the same description and requests the rest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_compact.h"
#include "index/index.h"
#include "view/trace_sections.h"

enum { BATCH = 4096, CURVE_COLUMNS = 8192, CURVE_SPARE = 8, MAX_NAME = 600 };

typedef struct filling {
    const ek_view_run *run;
    ek__view_timeline *t;
    char *trace; /* [trace_size]: text of the file at hand */
    size_t trace_size;
    ek__index_event *event; /* [BATCH] */
    ek__json_text args;
    ek_error *err;
} filling;

static bool present(const ek_view_run *run)
{
    return run->index != NULL;
}

/* ---- descriptions of tracks and rows ---- */

static void add_group(filling *f, int file)
{
    char name[MAX_NAME];
    ek__index_file_info info = ek__index_describe_file(f->run->index, file);
    const char *slash = strrchr(info.path, '/');
    if (info.rank >= 0 && info.stage >= 0)
        snprintf(name, sizeof name, "rank %d, stage %d", info.rank, info.stage);
    else if (info.rank >= 0)
        snprintf(name, sizeof name, "rank %d", info.rank);
    else
        snprintf(name, sizeof name, "%s", slash ? slash + 1 : info.path);
    ek__timeline_group(f->t, name, info.rank >= 0 ? info.rank : -1, info.stage);
}

static void add_track(filling *f, const ek__index_track_info *track)
{
    char name[MAX_NAME];
    if (*track->process)
        snprintf(name, sizeof name, "%s / %s", track->process, track->name);
    else
        snprintf(name, sizeof name, "%s", track->name);
    ek__timeline_track(f->t, name, ek__track_class_name[track->track_class], track->n_rows);
    if (track->n_left_out > 0)
        ek__timeline_left_out(f->t, track->n_left_out);
}

static void name_counter(const ek__index_counter_info *c, char name[MAX_NAME])
{
    bool is_told = strcmp(c->process, c->name) == 0 || !*c->process;
    snprintf(name, MAX_NAME, "%s%s%s%s%s", is_told ? "" : c->process, is_told ? "" : ": ", c->name, *c->key ? ", " : "",
             c->key);
}

/* ---- events ---- */

/* The arguments of an event as one line. Text that is not valid JSON is shown unchanged. */
static bool read_args(filling *f, const ek__index_event *e)
{
    size_t size = EK__EVENT_SIZE(e);
    bool found = false;
    f->args.n = 0;
    if (e->place > f->trace_size || size > f->trace_size - e->place)
        return true;
    const char *text = f->trace + e->place;
    if (!ek__json_compact(text, size, "args", &f->args, &found) && !f->args.out_of_memory) {
        ek__json_add(&f->args, "{\"text\":", 8);
        ek__json_quote(text, size, &f->args);
        ek__json_add(&f->args, "}", 1);
    } else if (f->args.n == 2) {
        f->args.n = 0; /* {} */
    }
    return !f->args.out_of_memory;
}

static ek_status add_events(filling *f, uint32_t n)
{
    ek_status status = EK_OK;
    for (uint32_t i = 0; i < n && status == EK_OK; i++) {
        const ek__index_event *e = &f->event[i];
        size_t size;
        const char *text;
        status = ek__index_name_text(f->run->index, e->name, &text, &size, f->err);
        if (status != EK_OK)
            return status;
        uint32_t name = ek__timeline_name(f->t, text, size, (ek_view_type)EK__EVENT_TYPE(e));
        if (!read_args(f, e))
            return ek__no_memory(f->err);
        ek__timeline_event(f->t, (double)e->begin, (double)e->duration, name, f->args.n > 0 ? f->args.at : NULL,
                           f->args.n);
    }
    return status;
}

static ek_status add_row(filling *f, int row)
{
    ek_status status = EK_OK;
    int64_t n = ek__index_row_events(f->run->index, row);
    ek__timeline_row(f->t);
    for (int64_t at = 0; at < n && status == EK_OK; at += BATCH) {
        uint32_t some = n - at < BATCH ? (uint32_t)(n - at) : BATCH;
        status = ek__index_events(f->run->index, row, (uint32_t)at, some, f->event, f->err);
        if (status == EK_OK)
            status = add_events(f, some);
    }
    return status;
}

static ek_status add_file(filling *f, int file, bool served)
{
    ek__index_file_info info = ek__index_describe_file(f->run->index, file);
    ek_status status = served ? EK_OK : ek__index_whole_trace(f->run->index, file, &f->trace, &f->trace_size, f->err);
    if (status == EK_OK)
        add_group(f, file);
    for (int t = info.first_track; t < info.first_track + info.n_tracks && status == EK_OK; t++) {
        ek__index_track_info track = ek__index_describe_track(f->run->index, t);
        add_track(f, &track);
        for (int r = track.first_row; r < track.first_row + track.n_rows && status == EK_OK; r++)
            if (served)
                ek__timeline_served_row(f->t, ek__index_row_events(f->run->index, r));
            else
                status = add_row(f, r);
    }
    free(f->trace);
    f->trace = NULL;
    return status;
}

/* ---- arrows and curves ---- */

static ek_status write_arrows(filling *f, const ek__index_arrow_seen *arrow, size_t n)
{
    char name[MAX_NAME];
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const char *text;
        ek_status status = ek__index_name_text(f->run->index, arrow[i].name, &text, &size, f->err);
        if (status != EK_OK)
            return status;
        snprintf(name, sizeof name, "%.*s", size < sizeof name ? (int)size : (int)sizeof name - 1, text);
        if (arrow[i].from_row >= 0 && arrow[i].to_row >= 0)
            ek__timeline_arrow(f->t, arrow[i].from_row, (double)arrow[i].from_time, arrow[i].to_row,
                               (double)arrow[i].to_time, name);
    }
    return EK_OK;
}

static ek_status add_arrows(filling *f)
{
    size_t n = (size_t)ek__index_n_arrows(f->run->index);
    int n_tracks = ek__index_n_tracks(f->run->index);
    ek__index_arrow_seen *arrow = ek__alloc(n, sizeof *arrow);
    int *track = ek__alloc((size_t)n_tracks, sizeof *track);
    ek_status status = arrow && track ? EK_OK : ek__no_memory(f->err);
    bool all;
    if (status == EK_OK) {
        for (int t = 0; t < n_tracks; t++)
            track[t] = t;
        status = ek__index_arrows(f->run->index, track, n_tracks, INT64_MIN, INT64_MAX, n, arrow, &n, &all, f->err);
    }
    if (status == EK_OK)
        status = write_arrows(f, arrow, n);
    free(track);
    free(arrow);
    return status;
}

/* A column of a thinned curve as points: its extremes, then the value that it ends with. */
static size_t spread(const ek__index_curve_point *column, size_t n, double *time, double *value)
{
    size_t points = 0;
    for (size_t i = 0; i < n; i++) {
        const double of[] = {column[i].most, column[i].least, column[i].last};
        size_t from = column[i].most == column[i].least ? 2 : 0, to = from == 0 && of[1] == of[2] ? 2 : 3;
        for (size_t k = from; k < to; k++) {
            time[points] = (double)column[i].time;
            value[points++] = of[k];
        }
    }
    return points;
}

static ek_status add_curve(filling *f, int counter, ek__index_curve_point *column, double *time, double *value)
{
    char name[MAX_NAME];
    size_t n = 0;
    ek__index_counter_info info = ek__index_describe_counter(f->run->index, counter);
    ek_status status = ek__index_curve(f->run->index, counter, 0, ek__index_end(f->run->index), 1, column,
                                       CURVE_COLUMNS + CURVE_SPARE, &n, f->err);
    if (status != EK_OK)
        return status;
    name_counter(&info, name);
    n = spread(column, n, time, value);
    ek__timeline_curve(f->t, name, info.file, "", NAN, true, time, value, n);
    return EK_OK;
}

static ek_status add_curves(filling *f)
{
    size_t capacity = CURVE_COLUMNS + CURVE_SPARE;
    ek__index_curve_point *column = ek__alloc(capacity, sizeof *column);
    double *time = ek__alloc(3 * capacity, sizeof *time), *value = ek__alloc(3 * capacity, sizeof *value);
    ek_status status = column && time && value ? EK_OK : ek__no_memory(f->err);
    for (int c = 0; c < ek__index_n_counters(f->run->index) && status == EK_OK; c++)
        status = add_curve(f, c, column, time, value);
    free(value);
    free(time);
    free(column);
    return status;
}

static void add_counters(filling *f)
{
    for (int c = 0; c < ek__index_n_counters(f->run->index); c++) {
        char name[MAX_NAME];
        ek__index_counter_info info = ek__index_describe_counter(f->run->index, c);
        name_counter(&info, name);
        ek__timeline_counter(f->t, name, info.file, "", info.least, info.most, info.n_points);
    }
}

/* ---- the part ---- */

static ek_status fill(filling *f, bool served)
{
    ek_status status = EK_OK;
    for (int i = 0; i < ek_trace_index_n_files(f->run->index) && status == EK_OK; i++)
        status = add_file(f, i, served);
    if (served) {
        add_counters(f);
        ek__timeline_served(f->t);
    } else if (status == EK_OK) {
        status = add_arrows(f);
        if (status == EK_OK)
            status = add_curves(f);
    }
    return status;
}

static ek_status check_size(const ek_view_run *run, ek_error *err)
{
    int64_t bytes = 0;
    for (int i = 0; i < ek_trace_index_n_files(run->index); i++)
        bytes += ek__index_describe_file(run->index, i).trace_bytes;
    if (bytes <= EK_VIEW_MAX_TRACE_BYTES)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){ek__index_describe_file(run->index, 0).path, 0, 0}),
                    "the traces have %lld MB of events, more than the limit of %d MB of a page; view them with "
                    "`evenkeel view --serve`, or cut out a part with `evenkeel trace cut`",
                    (long long)(bytes >> 20), EK_VIEW_MAX_TRACE_BYTES >> 20);
}

static ek_status timeline(const ek_view_run *run, bool served, ek__view_timeline **out, ek_error *err)
{
    char origin[32];
    ek_status status = served ? EK_OK : check_size(run, err);
    if (status != EK_OK)
        return status;
    snprintf(origin, sizeof origin, "%lld", (long long)ek__index_origin(run->index));
    filling f = {.run = run, .t = ek__timeline_new("ns", origin), .err = err};
    f.event = malloc(BATCH * sizeof *f.event);
    status = f.t && f.event ? fill(&f, served) : ek__no_memory(err);
    free(f.args.at);
    free(f.event);
    if (status == EK_OK && run->trace) {
        ek__view_trace_steps(run, ek__index_origin(run->index), f.t);
        ek__view_trace_curves(run, ek__index_origin(run->index), f.t);
        status = ek__view_trace_transfers(run, f.t, err);
        if (status == EK_OK)
            status = ek__view_trace_calls(run, f.t, err);
    }
    if (status != EK_OK) {
        ek__timeline_free(f.t);
        return status;
    }
    ek__timeline_span(f.t, 0, (double)ek__index_end(run->index));
    *out = f.t;
    return EK_OK;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    ek__view_fact(s, "events in the timeline", (double)ek_trace_index_n_events(run->index), EK__UNIT_COUNT, NULL,
                  EK__MEASURED);
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    char text[256];
    int64_t left_out = 0;
    for (int t = 0; t < ek__index_n_tracks(run->index); t++)
        left_out += ek__index_describe_track(run->index, t).n_left_out;
    if (left_out == 0)
        return;
    snprintf(text, sizeof text,
             "%lld events overlap others of their thread more than %d deep and are not in the timeline.",
             (long long)left_out, EK__INDEX_MAX_DEPTH);
    ek__stream_text(s, NULL, text);
}

const ek__view_part ek__view_part_index = {.present = present, .facts = facts, .notes = notes, .timeline = timeline};
