/* Tests an opened index against brute force: random traces are indexed, all events are read back and compared with the
 * generated ones, and every answer is computed again from the list of all events. */
#include "input.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include <sys/stat.h>

#include "effort.h"
#include "evenkeel/trace_index.h"
#include "index/checks.h"
#include "index/opened.h"
#include "index/sort.h"
#include "index_model.h"

enum { MAX_FILES = 3, N_QUERIES = 250 };

typedef struct seen_event {
    int row, track, file;
    uint32_t index, name;
    uint8_t type;
    int64_t begin, end;
    uint64_t place;
    uint32_t size;
} seen_event;

/* An open index, and everything in it. */
typedef struct world {
    char folder[256];
    int n_files;
    index_model model[MAX_FILES];
    char path[MAX_FILES][300];
    ek_trace_index *index;
    size_t n;
    seen_event *event; /* [n], by row and index */
    uint64_t random;
} world;

static ek_error err;

static void remove_all(const char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void make_folder(char folder[256])
{
    const char *above = getenv("TMPDIR");
    snprintf(folder, 256, "%s/evenkeel-test-XXXXXX", above ? above : "/tmp");
    assert_non_null(mkdtemp(folder));
}

static ek_status open_paths(const char *const *path, int n, const ek_trace_index_options *options, ek_trace_index **out,
                            ek_trace_index_made *made)
{
    ek_status status = ek_trace_index_open(path, n, options, NULL, out, made, &err);
    if (status != EK_OK)
        assert_true(err.message[0] != '\0');
    return status;
}

static void dump(world *w)
{
    size_t capacity = (size_t)ek_trace_index_n_events(w->index) + 1;
    free(w->event);
    w->n = 0;
    w->event = calloc(capacity, sizeof *w->event);
    assert_non_null(w->event);
    for (int row = 0; row < ek__index_n_rows(w->index); row++) {
        uint32_t n = (uint32_t)ek__index_row_events(w->index, row);
        ek__index_event *event = calloc(n, sizeof *event);
        assert_int_equal(ek__index_events(w->index, row, 0, n, event, &err), EK_OK);
        for (uint32_t i = 0; i < n; i++) {
            int track = ek__index_row_track(w->index, row);
            assert_true(w->n < capacity);
            w->event[w->n++] = (seen_event){row,
                                            track,
                                            ek__index_describe_track(w->index, track).file,
                                            i,
                                            event[i].name,
                                            (uint8_t)EK__EVENT_TYPE(&event[i]),
                                            event[i].begin,
                                            event[i].begin + event[i].duration,
                                            event[i].place,
                                            EK__EVENT_SIZE(&event[i])};
        }
        free(event);
    }
    assert_int_equal(w->n, ek_trace_index_n_events(w->index));
}

static void open_world(world *w, const index_shape *shape, int n_files)
{
    const char *paths[MAX_FILES];
    *w = (world){.n_files = n_files, .random = shape->seed};
    char folder[sizeof w->folder];
    make_folder(folder);
    memcpy(w->folder, folder, sizeof folder);
    for (int i = 0; i < n_files; i++) {
        index_shape own = *shape;
        own.seed += (uint64_t)i;
        own.rank = shape->rank < 0 ? -1 : i;
        index_model_make(&own, &w->model[i]);
        snprintf(w->path[i], sizeof w->path[i], "%s/rank%d.json%s", folder, i, own.compressed ? ".gz" : "");
        assert_true(index_model_write(&w->model[i], w->path[i]));
        paths[i] = w->path[i];
    }
    if (open_paths(paths, n_files, NULL, &w->index, NULL) != EK_OK)
        fail_msg("%s", err.message);
    dump(w);
}

static void close_world(world *w)
{
    ek_trace_index_close(w->index);
    for (int i = 0; i < w->n_files; i++)
        index_model_clear(&w->model[i]);
    free(w->event);
    remove_all(w->folder);
}

static const index_shape plain = {.seed = 1,
                                  .n_tracks = 5,
                                  .n_names = 40,
                                  .n_arrows = 300,
                                  .n_points = 900,
                                  .n_events = 20000,
                                  .begin = INT64_C(1736408883688177930),
                                  .longest = 300000,
                                  .rank = 0};

static int64_t time_in(world *w)
{
    if (model_random(&w->random, 3) == 0) { /* at an event's end */
        const seen_event *e = &w->event[model_random(&w->random, w->n)];
        return model_random(&w->random, 2) ? e->begin : e->end;
    }
    return (int64_t)model_random(&w->random, (uint64_t)ek__index_end(w->index) + 1);
}

static void stretch_in(world *w, int64_t *begin, int64_t *end)
{
    *begin = time_in(w) - (int64_t)model_random(&w->random, 3);
    *end = *begin + 1 + model_log_random(&w->random, ek__index_end(w->index) + 2);
    if (model_random(&w->random, 12) == 0) {
        *begin = INT64_MIN;
        *end = INT64_MAX;
    }
}

static bool overlaps(const seen_event *e, int64_t begin, int64_t end)
{
    return e->begin < end && (e->end > begin || e->begin >= begin);
}

static const char *name_text(const world *w, uint32_t name, size_t *size)
{
    const char *text;
    assert_int_equal(ek__index_name_text(w->index, name, &text, size, &err), EK_OK);
    return text;
}

static uint32_t event_at(const world *w, int row, int64_t time)
{
    uint32_t at;
    assert_int_equal(ek__index_event_at(w->index, row, time, &at, &err), EK_OK);
    return at;
}

/* ---- content ---- */

static const seen_event *find_place(const world *w, int file, uint64_t place)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->event[i].file == file && w->event[i].place == place)
            return &w->event[i];
    return NULL;
}

static void check_events(const world *w, int file, int64_t shift)
{
    const index_model *m = &w->model[file];
    for (size_t i = 0; i < m->n_events; i += 1 + i % 7) {
        const model_event *e = &m->event[i];
        const seen_event *s = find_place(w, file, e->place);
        char name[64], tid[16];
        size_t size;
        assert_non_null(s);
        assert_true(s->begin + ek__index_origin(w->index) == e->begin + shift);
        assert_true(s->end - s->begin == e->duration);
        assert_int_equal(s->size, e->size);
        const char *text = name_text(w, s->name, &size);
        snprintf(name, sizeof name, "Name %d of {all}", e->name);
        assert_int_equal(size, strlen(name));
        assert_memory_equal(text, name, size);
        snprintf(tid, sizeof tid, "%d", e->track);
        assert_string_equal(ek__index_describe_track(w->index, s->track).tid, tid);
    }
}

static void every_event_is_there(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        world w;
        index_shape shape = plain;
        shape.seed = 10 + (uint64_t)round;
        shape.compressed = round == 1;
        shape.rank = round == 2 ? -1 : 0;
        shape.n_events = round == 3 ? 1 : 9000;
        open_world(&w, &shape, 1);
        assert_int_equal(w.n, shape.n_events);
        check_events(&w, 0, 0);
        for (size_t i = 1; i < w.n; i++)
            if (w.event[i].row == w.event[i - 1].row)
                assert_true(w.event[i - 1].end <= w.event[i].begin);
        size_t size;
        name_text(&w, UINT32_MAX, &size);
        assert_int_equal(size, 0);
        close_world(&w);
    }
}

/* ---- rows ---- */

static void check_boxes(const world *w, int row, int64_t begin, int64_t end, int64_t resolution, size_t at_most,
                        const ek__index_blocks *b)
{
    size_t first = 0, box = 0;
    while (first < w->n && w->event[first].row != row)
        first++;
    size_t n = (size_t)ek__index_row_events(w->index, row);
    for (size_t i = 0; i < b->n; i++) {
        const ek__index_block *x = &b->block[i];
        int64_t busy = 0, longest = -1;
        uint32_t name = 0;
        uint8_t type = 0;
        bool same_length = false;
        assert_true(x->n > 0 && (size_t)x->index + x->n <= n);
        assert_true(i == 0 || x->index >= b->block[i - 1].index + b->block[i - 1].n);
        for (uint32_t k = 0; k < x->n; k++) {
            const seen_event *e = &w->event[first + x->index + k];
            busy += e->end - e->begin;
            same_length = same_length || e->end - e->begin == longest;
            if (e->end - e->begin > longest) {
                longest = e->end - e->begin;
                name = e->name;
                type = e->type;
                same_length = false;
            }
        }
        assert_true(x->begin == w->event[first + x->index].begin);
        assert_true(x->end == w->event[first + x->index + x->n - 1].end);
        assert_true(x->busy == busy);
        if (!same_length) {
            assert_int_equal(x->name, name);
            assert_int_equal(x->type, type);
        }
        if (at_most == 0 && x->n > 1) {
            assert_true(longest < resolution);
            assert_true(x->end - x->begin <= 2 * resolution);
        }
    }
    for (size_t i = 0; i < n; i++) { /* every event that is seen is in one box */
        if (!overlaps(&w->event[first + i], begin, end))
            continue;
        while (box < b->n && b->block[box].index + b->block[box].n <= i)
            box++;
        assert_true(box < b->n && b->block[box].index <= i);
    }
    if (at_most > 0)
        assert_true(b->n <= at_most);
}

static void boxes_hold_every_event_once(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        world w;
        index_shape shape = plain;
        ek__index_blocks b = {0};
        shape.seed = 20 + (uint64_t)round;
        shape.n_tracks = 1 + round;
        open_world(&w, &shape, 1);
        for (int i = 0; i < N_QUERIES; i++) {
            int64_t begin, end, resolution = model_log_random(&w.random, ek__index_end(w.index) / 4);
            int row = (int)model_random(&w.random, (uint64_t)ek__index_n_rows(w.index));
            size_t at_most = model_random(&w.random, 3) == 0 ? 8 + model_random(&w.random, 200) : 0;
            stretch_in(&w, &begin, &end);
            b.n = 0;
            assert_int_equal(ek__index_row_blocks(w.index, row, begin, end, resolution, at_most, &b, &err), EK_OK);
            check_boxes(&w, row, begin, end, resolution, at_most, &b);
        }
        size_t before = b.n;
        assert_int_equal(ek__index_row_blocks(w.index, -1, 0, 1, 1, 0, &b, &err), EK_ERR_INPUT);
        assert_int_equal(ek__index_row_blocks(w.index, ek__index_n_rows(w.index), 0, 1, 1, 0, &b, &err), EK_ERR_INPUT);
        assert_int_equal(b.n, before);
        ek__index_blocks_clear(&b);
        close_world(&w);
    }
}

/* Of the whole of a dense row, one box a pixel or two, not one an event. */
static void pictures_are_small(void **state)
{
    (void)state;
    world w;
    ek__index_blocks b = {0};
    index_shape shape = plain;
    shape.n_tracks = 1;
    shape.n_events = 60000;
    open_world(&w, &shape, 1);
    int64_t end = ek__index_end(w.index);
    for (int row = 0; row < ek__index_n_rows(w.index); row++) {
        b.n = 0;
        assert_int_equal(ek__index_row_blocks(w.index, row, 0, end, end / 100 + 1, 0, &b, &err), EK_OK);
        check_boxes(&w, row, 0, end, end / 100 + 1, 0, &b);
        assert_true(b.n <= 210);
    }
    b.n = 0; /* one nanosecond at a time: every event in a separate box */
    const seen_event *e = &w.event[w.n / 2];
    assert_int_equal(ek__index_row_blocks(w.index, e->row, e->begin, e->begin + 1, 0, 0, &b, &err), EK_OK);
    check_boxes(&w, e->row, e->begin, e->begin + 1, 0, 0, &b);
    ek__index_blocks_clear(&b);
    close_world(&w);
}

/* ---- one event ---- */

static const seen_event *at_time(const world *w, int row, int64_t time)
{
    const seen_event *found = NULL;
    for (size_t i = 0; i < w->n; i++)
        if (w->event[i].row == row && w->event[i].begin <= time)
            found = &w->event[i];
    return found && found->end >= time ? found : NULL;
}

static const seen_event *deepest_at(const world *w, int track, int64_t time)
{
    ek__index_track_info t = ek__index_describe_track(w->index, track);
    for (int row = t.first_row + t.n_rows - 1; row >= t.first_row; row--) {
        const seen_event *e = at_time(w, row, time);
        if (e)
            return e;
    }
    return NULL;
}

static void events_are_found_by_time(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_events = 6000;
    open_world(&w, &shape, 1);
    for (int i = 0; i < 2000; i++) {
        int row = (int)model_random(&w.random, (uint64_t)ek__index_n_rows(w.index));
        int64_t time = time_in(&w);
        const seen_event *e = at_time(&w, row, time);
        assert_int_equal(event_at(&w, row, time), e ? e->index : UINT32_MAX);
    }
    assert_int_equal(event_at(&w, -1, 0), UINT32_MAX);
    close_world(&w);
}

static int track_of(const world *w, int file, int tid)
{
    char text[16];
    snprintf(text, sizeof text, "%d", tid);
    for (int t = 0; t < ek__index_n_tracks(w->index); t++) {
        ek__index_track_info info = ek__index_describe_track(w->index, t);
        if (info.file == file && strcmp(info.tid, text) == 0)
            return t;
    }
    return -1;
}

static void check_flows(const world *w, const seen_event *e, const ek__index_details *d)
{
    int n = 0;
    const index_model *m = &w->model[e->file];
    int64_t to_shown = ek__index_describe_file(w->index, e->file).shift - ek__index_origin(w->index);
    for (size_t i = 0; i < m->n_arrows; i++) {
        const model_arrow *a = &m->arrow[i];
        n += deepest_at(w, track_of(w, e->file, a->from_track), a->from_time + to_shown) == e;
        n += deepest_at(w, track_of(w, e->file, a->to_track), a->to_time + to_shown) == e;
    }
    assert_int_equal(d->n_flows, n);
    for (int i = 0; i < d->n_flows; i++) {
        const ek__index_flow *f = &d->flow[i];
        assert_true(f->row >= 0);
        const seen_event *other = NULL;
        for (size_t k = 0; k < w->n; k++)
            if (w->event[k].row == f->row && w->event[k].index == f->index)
                other = &w->event[k];
        assert_true(other && other->begin == f->begin && other->end == f->end && other->name == f->event_name);
    }
}

static void details_are_the_bytes_of_the_trace(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 3; compressed++) { /* the second time without spots on the way */
        world w;
        index_shape shape = plain;
        shape.compressed = compressed > 0;
        shape.n_events = compressed == 2 ? 40000 : 4000;
        open_world(&w, &shape, compressed ? 1 : 2);
        /* without spots each is read from the trace's start */
        for (int i = 0; i < (compressed == 2 ? effort(12, 3) : effort(60, 20)); i++) {
            const seen_event *e = &w.event[model_random(&w.random, w.n)];
            ek__index_details d;
            if (ek__index_event_details(w.index, e->row, e->index, &d, &err) != EK_OK)
                fail_msg("%s", err.message);
            assert_int_equal(d.size, e->size);
            assert_memory_equal(d.text, w.model[e->file].text + e->place, d.size);
            assert_true(d.text[d.size] == '\0' && d.begin == e->begin && d.end == e->end && d.name == e->name);
            assert_string_equal(d.layer, "");
            check_flows(&w, e, &d);
            ek__index_details_clear(&d);
        }
        ek__index_details d;
        assert_int_equal(ek__index_event_details(w.index, 0, UINT32_MAX, &d, &err), EK_ERR_INPUT);
        assert_int_equal(ek__index_event_details(w.index, -1, 0, &d, &err), EK_ERR_INPUT);
        char *bytes;
        size_t size;
        assert_int_equal(ek__index_whole_trace(w.index, 0, &bytes, &size, &err), EK_OK);
        assert_int_equal(size, w.model[0].size);
        assert_memory_equal(bytes, w.model[0].text, size);
        free(bytes);
        /* a trace that has changed is not read */
        w.model[0].text[w.event[0].place] = '!';
        assert_true(index_model_write(&w.model[0], w.path[0]));
        struct timespec times[2] = {{1000, 0}, {1000, 0}};
        assert_int_equal(utimensat(AT_FDCWD, w.path[0], times, 0), 0);
        assert_int_equal(ek__index_event_details(w.index, 0, 0, &d, &err), EK_ERR_SYSTEM);
        assert_non_null(strstr(err.message, "has changed"));
        assert_int_equal(unlink(w.path[0]), 0);
        assert_int_equal(ek__index_event_details(w.index, 0, 0, &d, &err), EK_ERR_SYSTEM);
        close_world(&w);
    }
}

/* ---- arrows and curves ---- */

static void arrows_are_those_of_the_stretch(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_events = 3000;
    open_world(&w, &shape, 2);
    int n_tracks = ek__index_n_tracks(w.index);
    ek__index_arrow_seen out[1000];
    assert_true(ek__index_n_arrows(w.index) == (int64_t)(w.model[0].n_arrows + w.model[1].n_arrows));
    for (int i = 0; i < 60; i++) {
        int track[16], n = 0;
        int64_t begin, end;
        bool all, asked[16] = {false};
        size_t n_out, expected = 0, at_most = i % 3 == 0 ? model_random(&w.random, 40) : 1000;
        stretch_in(&w, &begin, &end);
        for (int t = 0; t < n_tracks; t++)
            if (model_random(&w.random, 2)) {
                track[n++] = t;
                asked[t] = true;
            }
        assert_int_equal(ek__index_arrows(w.index, track, n, begin, end, at_most, out, &n_out, &all, &err), EK_OK);
        for (int f = 0; f < 2; f++)
            for (size_t k = 0; k < w.model[f].n_arrows; k++) {
                const model_arrow *a = &w.model[f].arrow[k];
                int from = track_of(&w, f, a->from_track), to = track_of(&w, f, a->to_track);
                int64_t begins = a->from_time - ek__index_origin(w.index),
                        ends = a->to_time - ek__index_origin(w.index);
                bool is_in =
                    (asked[from] && begins >= begin && begins < end) || (asked[to] && ends >= begin && ends < end);
                if (!is_in)
                    continue;
                expected++;
                bool found = false;
                for (size_t o = 0; o < n_out; o++)
                    found = found || (out[o].from_time == begins && out[o].to_time == ends &&
                                      out[o].from_row == deepest_at(&w, from, begins)->row &&
                                      out[o].to_row == deepest_at(&w, to, ends)->row);
                assert_true(found || n_out == at_most);
            }
        assert_int_equal(n_out, expected < at_most ? expected : at_most);
        assert_true(all == (expected <= at_most));
    }
    close_world(&w);
}

/* Many arrows at few times: of those of one time the same come first whatever the limit. */
static void fewer_arrows_are_the_first_of_more(void **state)
{
    (void)state;
    enum { MOST = 2000 };
    static ek__index_arrow_seen whole[MOST], some[MOST];
    world w;
    index_shape shape = plain;
    shape.n_tracks = 3;
    shape.n_events = 200;
    shape.n_arrows = 900;
    shape.longest = 3;
    open_world(&w, &shape, 2);
    int track[16], n_tracks = ek__index_n_tracks(w.index);
    size_t n, n_some;
    bool all;
    assert_in_range(n_tracks, 1, 16);
    for (int t = 0; t < n_tracks; t++)
        track[t] = t;
    assert_int_equal(ek__index_arrows(w.index, track, n_tracks, 0, INT64_MAX, MOST, whole, &n, &all, &err), EK_OK);
    assert_true(all && n > 300);
    int n_alike = 0;
    for (size_t i = 1; i < n; i++) {
        assert_true(whole[i - 1].from_time <= whole[i].from_time);
        n_alike += whole[i - 1].from_time == whole[i].from_time;
    }
    assert_true(n_alike > (int)n / 2);
    for (size_t limit = 1; limit <= n; limit += 1 + limit / 4) {
        assert_int_equal(ek__index_arrows(w.index, track, n_tracks, 0, INT64_MAX, limit, some, &n_some, &all, &err),
                         EK_OK);
        assert_int_equal(n_some, limit);
        assert_true(all == (limit == n));
        for (size_t i = 0; i < limit; i++) {
            assert_true(some[i].from_time == whole[i].from_time && some[i].to_time == whole[i].to_time);
            assert_true(some[i].from_row == whole[i].from_row && some[i].to_row == whole[i].to_row);
        }
    }
    close_world(&w);
}

static void curves_keep_extremes(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_points = 5000;
    open_world(&w, &shape, 1);
    const index_model *m = &w.model[0];
    assert_int_equal(ek__index_n_counters(w.index), 1);
    ek__index_counter_info info = ek__index_describe_counter(w.index, 0);
    assert_string_equal(info.name, "HBM");
    assert_string_equal(info.key, "KB");
    assert_int_equal(info.n_points, 5000);
    ek__index_curve_point out[600];
    for (int i = 0; i < N_QUERIES; i++) {
        int64_t begin, end;
        size_t n, capacity = i % 2 ? 600 : 64;
        stretch_in(&w, &begin, &end);
        int64_t resolution = 1 + model_log_random(&w.random, (end - 1 < begin ? 2 : ek__index_end(w.index)) / 30 + 2);
        assert_int_equal(ek__index_curve(w.index, 0, begin, end, resolution, out, capacity, &n, &err), EK_OK);
        assert_true(n <= capacity);
        size_t k = 0; /* every point within is within a column; a column's values are those of its points */
        size_t at = 0;
        while (at < m->n_points && m->point[at].time - ek__index_origin(w.index) < begin)
            at++;
        if (at > 0) {
            assert_true(n > 0 && out[0].time == m->point[at - 1].time - ek__index_origin(w.index));
            assert_true(out[0].last == m->point[at - 1].value && out[0].least == out[0].most);
            k = 1;
        }
        for (; k < n; k++) {
            int64_t until = k + 1 < n ? out[k + 1].time : INT64_MAX;
            double least = 1e300, most = -1e300, last = 0;
            assert_true(at < m->n_points && m->point[at].time - ek__index_origin(w.index) == out[k].time);
            bool is_behind = out[k].time >= end;
            do {
                double value = m->point[at].value;
                least = value < least ? value : least;
                most = value > most ? value : most;
                last = value;
                at++;
            } while (!is_behind && at < m->n_points && m->point[at].time - ek__index_origin(w.index) < until &&
                     m->point[at].time - ek__index_origin(w.index) < end);
            assert_true(out[k].least == least && out[k].most == most && out[k].last == last);
        }
        assert_true(at == m->n_points || m->point[at].time - ek__index_origin(w.index) >= end);
    }
    size_t n;
    assert_int_equal(ek__index_curve(w.index, 1, 0, 1, 1, out, 600, &n, &err), EK_ERR_INPUT);
    close_world(&w);
}

/* ---- searching and summing ---- */

static int by_begin(const void *a, const void *b)
{
    const seen_event *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool has_text(const world *w, const seen_event *e, const char *lower)
{
    char name[128];
    size_t size;
    const char *text = name_text(w, e->name, &size);
    for (size_t i = 0; i < size; i++)
        name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    name[size] = '\0';
    return strstr(name, lower) != NULL;
}

static void check_search(world *w, const char *text, const char *lower, const int *rows, int n_rows, bool forward)
{
    ek__index_search *search;
    seen_event *hit = calloc(w->n + 1, sizeof *hit);
    size_t n = 0;
    assert_int_equal(ek__index_search_new(w->index, text, strlen(text), &search, &err), EK_OK);
    for (size_t i = 0; i < w->n; i++) {
        bool asked = !rows;
        for (int k = 0; rows && k < n_rows; k++)
            asked = asked || rows[k] == w->event[i].row;
        if (asked && has_text(w, &w->event[i], lower))
            hit[n++] = w->event[i];
    }
    qsort(hit, n, sizeof *hit, by_begin);
    uint64_t all;
    ek__index_search_names(search, &all);
    assert_true(rows ? all >= n : all == n);
    int64_t time = forward ? INT64_MIN : INT64_MAX;
    int row = forward ? -1 : INT32_MAX;
    uint32_t at = forward ? 0 : UINT32_MAX;
    size_t step = n > 3000 ? n / 1000 : 1;
    for (size_t i = 0; i <= n; i++) {
        ek__index_hit out = {.row = -2};
        if (i > 5 && i + 5 < n && i % step != 0)
            continue;
        if (i > 0) {
            const seen_event *before = &hit[forward ? i - 1 : n - i];
            time = before->begin;
            row = before->row;
            at = before->index;
        }
        assert_int_equal(ek__index_find(w->index, search, rows, n_rows, forward, time, row, at, &out, &err), EK_OK);
        if (i == n) {
            assert_int_equal(out.row, -1);
        } else {
            const seen_event *e = &hit[forward ? i : n - 1 - i];
            assert_true(out.row == e->row && out.index == e->index && out.name == e->name && out.begin == e->begin &&
                        out.end == e->end);
        }
    }
    ek__index_search_free(search);
    free(hit);
}

static void hits_come_in_order(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        world w;
        index_shape shape = plain;
        shape.n_names = round ? 1000 : 12;
        shape.n_tracks = 3;
        open_world(&w, &shape, 1 + round);
        int some[] = {2, 0, 99999, 1};
        for (int forward = 0; forward < 2; forward++) {
            check_search(&w, "nAmE 7 OF", "name 7 of", NULL, 0, forward);
            check_search(&w, "1", "1", some, 4, forward);
            check_search(&w, round ? "77 of" : "3 of {ALL}", round ? "77 of" : "3 of {all}", NULL, 0, forward);
            check_search(&w, "no such name", "no such name", NULL, 0, forward);
        }
        check_search(&w, "", "", some, 1, true);
        close_world(&w);
    }
}

/* Many events between two hits, with bits that others have too. */
static void rare_names_are_found(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_tracks = 1;
    shape.n_events = 60000;
    shape.n_names = 3000;
    shape.longest = 2000;
    open_world(&w, &shape, 1);
    for (int forward = 0; forward < 2; forward++) {
        check_search(&w, "2999", "2999", NULL, 0, forward);
        check_search(&w, "Name 17 of", "name 17 of", NULL, 0, forward);
    }
    close_world(&w);
}

static void check_sums(world *w, const int *rows, int n_rows, int64_t begin, int64_t end, int milliseconds)
{
    ek__index_summing state = {0};
    int calls = 0;
    do
        assert_int_equal(ek__index_sum_up(w->index, rows, n_rows, begin, end, milliseconds, &state, &err), EK_OK);
    while (state.next_row < n_rows && ++calls < 100000);
    if (milliseconds == 0) /* at most one row a call */
        assert_true(calls >= n_rows - 1);
    else
        assert_int_equal(calls, 0);
    int64_t n = 0, expected = 0;
    for (size_t i = 0; i < state.n; i++) {
        const ek__index_total *t = &state.total[i];
        int64_t total = 0, count = 0;
        for (size_t k = 0; k < w->n; k++) {
            const seen_event *e = &w->event[k];
            bool asked = false;
            for (int r = 0; r < n_rows; r++)
                asked = asked || rows[r] == e->row;
            if (!asked || e->name != t->name || e->type != t->type || e->track != t->track || !overlaps(e, begin, end))
                continue;
            int64_t from = e->begin > begin ? e->begin : begin, to = e->end < end ? e->end : end;
            total += to - from;
            count++;
        }
        assert_true(t->n == count && t->total == total);
        n += count;
    }
    for (size_t k = 0; k < w->n; k++)
        for (int r = 0; r < n_rows; r++)
            expected += rows[r] == w->event[k].row && overlaps(&w->event[k], begin, end);
    assert_true(n == expected);
    ek__index_summing_clear(&state);
}

static void sums_are_exact(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_tracks = 3;
    open_world(&w, &shape, 2);
    for (int i = 0; i < 24; i++) {
        int rows[64], n = 0;
        int64_t begin, end;
        stretch_in(&w, &begin, &end);
        for (int r = 0; r < ek__index_n_rows(w.index) && n < 64; r++)
            if (model_random(&w.random, 2))
                rows[n++] = r;
        check_sums(&w, rows, n, begin, end, i % 2 ? 0 : 1000000); /* no time, or far too much */
    }
    close_world(&w);
}

/* ---- several files, clocks, far times ---- */

static void shifts_move_files(void **state)
{
    (void)state;
    world w;
    index_shape shape = plain;
    shape.n_events = 2000;
    open_world(&w, &shape, 3);
    assert_int_equal(ek_trace_index_n_files(w.index), 3);
    int64_t bytes = 0;
    for (int f = 0; f < 3; f++) {
        struct stat trace;
        assert_int_equal(stat(w.path[f], &trace), 0);
        bytes += trace.st_size;
    }
    assert_int_equal(ek_trace_index_bytes(w.index), bytes);
    const int64_t shift[3] = {5000, -123456789, 77};
    ek_trace_index_shift(w.index, shift);
    dump(&w);
    for (int f = 0; f < 3; f++) {
        assert_int_equal(ek_trace_index_rank(w.index, f), f);
        assert_string_equal(ek__index_describe_file(w.index, f).path, w.path[f]);
        check_events(&w, f, shift[f]);
    }
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < w.n; i++) {
        first = w.event[i].begin < first ? w.event[i].begin : first;
        last = w.event[i].end > last ? w.event[i].end : last;
    }
    assert_true(first == 0 && last == ek__index_end(w.index));
    close_world(&w);
}

static void gz_is_as_plain(void **state)
{
    (void)state;
    world a, b;
    index_shape shape = plain;
    open_world(&a, &shape, 1);
    shape.compressed = true;
    open_world(&b, &shape, 1);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.event, b.event, a.n * sizeof *a.event);
    close_world(&a);
    close_world(&b);
}

/* ---- where index files are ---- */

static int count_files(const char *folder, const char *pattern)
{
    char command[700];
    int n = -1;
    snprintf(command, sizeof command, "find '%s' -name '%s' | wc -l", folder, pattern);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static int open_again(const char *path, const ek_trace_index_options *options, ek_trace_index_made *made)
{
    ek_trace_index *index;
    if (open_paths(&path, 1, options, &index, made) != EK_OK)
        fail_msg("%s", err.message);
    int64_t n = ek_trace_index_n_events(index);
    ek_trace_index_close(index);
    return (int)n;
}

static void indices_are_kept_while_they_fit(void **state)
{
    (void)state;
    world w;
    char index[600], command[1400];
    ek_trace_index_made made;
    index_shape shape = plain;
    shape.n_events = 500;
    open_world(&w, &shape, 1);
    assert_int_equal(count_files(w.folder, "*.ekindex"), 1);
    assert_int_equal(open_again(w.path[0], NULL, &made), 500);
    assert_int_equal(made.n_written, 0);
    assert_int_equal(made.n_files, 1);
    assert_true(made.bytes_index > 500 * 32 && made.bytes_read == 0);
    ek_trace_index_options fresh = {.fresh = true};
    assert_int_equal(open_again(w.path[0], &fresh, &made), 500);
    assert_int_equal(made.n_written, 1);
    assert_true(made.bytes_read == (int64_t)w.model[0].size);
    /* a trace that changed is indexed again */
    index_model_clear(&w.model[0]);
    shape.n_events = 400;
    index_model_make(&shape, &w.model[0]);
    assert_true(index_model_write(&w.model[0], w.path[0]));
    assert_int_equal(open_again(w.path[0], NULL, &made), 400);
    assert_int_equal(made.n_written, 1);
    assert_int_equal(count_files(w.folder, "*"), 4); /* two folders, a trace, an index */
    /* an index that was damaged or cut is written again */
    snprintf(index, sizeof index, "%s/evenkeel-index", w.folder);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command,
                 i ? "for f in '%s'/*; do truncate -s -9 \"$f\"; done"
                   : "for f in '%s'/*; do printf 'XXXX' | dd of=\"$f\" bs=1 seek=200 conv=notrunc status=none; done",
                 index);
        assert_int_equal(system(command), 0);
        assert_int_equal(open_again(w.path[0], NULL, &made), 400);
        assert_int_equal(made.n_written, 1);
    }
    close_world(&w);
}

static void other_folders_are_taken(void **state)
{
    (void)state;
    world w;
    char other[256], own[600];
    ek_trace_index_made made;
    index_shape shape = plain;
    shape.n_events = 300;
    open_world(&w, &shape, 1);
    make_folder(other);
    ek_trace_index *index;
    const char *path = w.path[0];
    /* a requested one, made where it is not there */
    snprintf(own, sizeof own, "%s/a/b", other);
    ek_trace_index_options options = {.folder = own};
    assert_int_equal(open_paths(&path, 1, &options, &index, &made), EK_OK);
    assert_string_equal(made.folder, own);
    ek_trace_index_close(index);
    assert_int_equal(count_files(own, "*.ekindex"), 1);
    assert_int_equal(open_again(path, &options, &made), 300);
    assert_int_equal(made.n_written, 0);
    /* one that keeps nothing */
    assert_int_equal(setenv("TMPDIR", other, 1), 0);
    ek_trace_index_options temporary = {.temporary = true};
    assert_int_equal(open_paths(&path, 1, &temporary, &index, &made), EK_OK);
    assert_int_equal(made.n_written, 1);
    ek__index_details d;
    assert_int_equal(ek__index_event_details(index, 0, 0, &d, &err), EK_OK);
    ek__index_details_clear(&d);
    ek_trace_index_close(index);
    assert_int_equal(count_files(other, "evenkeel-index-*"), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    /* the cache, where nothing can be made beside the trace: its place is taken by a file */
    char command[1400];
    snprintf(command, sizeof command, "rm -r '%s/evenkeel-index' && touch '%s/evenkeel-index'", w.folder, w.folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", other, 1), 0);
    assert_int_equal(open_again(path, NULL, &made), 300);
    assert_int_equal(made.n_written, 1);
    assert_int_equal(open_again(path, NULL, &made), 300);
    assert_int_equal(made.n_written, 0);
    snprintf(own, sizeof own, "%s/evenkeel/index", other);
    assert_int_equal(count_files(own, "rank0-*.ekindex"), 1);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    /* nowhere */
    snprintf(own, sizeof own, "%s/evenkeel-index", w.folder);
    ek_trace_index_options nowhere = {.folder = own};
    index = NULL;
    assert_int_equal(open_paths(&path, 1, &nowhere, &index, &made), EK_ERR_SYSTEM);
    assert_true(index == NULL);
    assert_non_null(strstr(err.message, own));
    remove_all(other);
    close_world(&w);
}

static void what_is_no_trace_is_told(void **state)
{
    (void)state;
    char folder[256], path[2][300];
    const char *paths[] = {path[0], path[1]};
    ek_trace_index *index = NULL;
    ek_trace_index_made made;
    said heard = {0};
    ek_listener listener = {say_warning, &heard};
    make_folder(folder);
    snprintf(path[0], sizeof path[0], "%s/none.json", folder);
    assert_int_not_equal(open_paths(paths, 1, NULL, &index, &made), EK_OK);
    FILE *file = fopen(path[0], "w");
    fputs("{\"a\": 1}", file);
    fclose(file);
    assert_int_equal(open_paths(paths, 1, NULL, &index, &made), EK_ERR_INPUT);
    assert_true(index == NULL);
    /* beside one that is: it is left out */
    index_model m;
    index_shape shape = plain;
    shape.n_events = 100;
    index_model_make(&shape, &m);
    snprintf(path[1], sizeof path[1], "%s/trace_view.json", folder);
    assert_true(index_model_write(&m, path[1]));
    assert_int_equal(ek_trace_index_open(paths, 2, NULL, &listener, &index, &made, &err), EK_OK);
    assert_int_equal(made.n_files, 1);
    assert_int_equal(heard.n_warnings, 1);
    assert_non_null(strstr(heard.text, "left out"));
    ek_trace_index_close(index);
    /* a cut one is used as far as it goes, with a message every time */
    assert_int_equal(truncate(path[1], (off_t)m.event[50].place + 10), 0);
    for (int i = 0; i < 2; i++) {
        heard = (said){0};
        assert_int_equal(ek_trace_index_open(&paths[1], 1, NULL, &listener, &index, &made, &err), EK_OK);
        assert_int_equal(made.n_problems, 1);
        assert_int_equal(made.n_written, i == 0);
        assert_int_equal(heard.n_warnings, 1);
        assert_int_equal(ek_trace_index_n_events(index), 50);
        ek_trace_index_close(index);
    }
    index_model_clear(&m);
    remove_all(folder);
}

/* ---- damaged and cut files ---- */

enum { MAX_ANSWERS = 4096 };

/* The answers of all queries: a hash of each, 0 where it failed. */
typedef struct answers {
    int n, n_failed;
    uint64_t hash[MAX_ANSWERS];
} answers;

static uint64_t hash_on(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void note(answers *a, ek_status status, uint64_t hash)
{
    assert_true(status == EK_OK || (status == EK_ERR_SYSTEM && err.message[0]));
    assert_true(a->n < MAX_ANSWERS);
    a->n_failed += status != EK_OK;
    a->hash[a->n++] = status == EK_OK ? hash | 1 : 0;
}

static void ask_row(const ek_trace_index *index, int row, answers *a)
{
    static ek__index_event event[4096];
    ek__index_blocks b = {0};
    ek__index_summing sums = {0};
    ek__index_details d;
    uint32_t n = (uint32_t)ek__index_row_events(index, row), at;
    int64_t end = ek__index_end(index);
    for (uint32_t i = 0; i < n; i += 1000) {
        uint32_t some = n - i < 1000 ? n - i : 1000;
        ek_status status = ek__index_events(index, row, i, some, event, &err);
        note(a, status, hash_on(0, event, some * sizeof *event));
    }
    for (int i = 0; i < 3; i++) {
        uint64_t hash = 0;
        b.n = 0;
        ek_status status = ek__index_row_blocks(index, row, 0, end, end / (50 + 1000 * i), 0, &b, &err);
        for (size_t k = 0; k < b.n; k++)
            hash += (uint64_t)b.block[k].busy * (k + 1) + b.block[k].name;
        note(a, status, hash);
        status = ek__index_event_at(index, row, end / 3 * i, &at, &err);
        note(a, status, at);
        status = ek__index_event_details(index, row, n / 3 * (uint32_t)i, &d, &err);
        note(a, status, status == EK_OK ? hash_on((uint64_t)d.n_flows, d.text, d.size) : 0);
        if (status == EK_OK)
            ek__index_details_clear(&d);
    }
    ek_status status = EK_OK;
    while (status == EK_OK && sums.next_row < 1)
        status = ek__index_sum_up(index, &row, 1, end / 9, end, 1000, &sums, &err);
    uint64_t hash = sums.n;
    for (size_t i = 0; i < sums.n; i++)
        hash = hash * 31 + (uint64_t)sums.total[i].total + sums.total[i].name;
    note(a, status, hash);
    ek__index_summing_clear(&sums);
    ek__index_blocks_clear(&b);
}

static void ask_names(const ek_trace_index *index, answers *a)
{
    ek__index_search *search = NULL;
    ek__index_hit hit = {.row = -1};
    for (uint32_t i = 0; i < ek__index_n_names(index); i++) {
        const char *text;
        size_t size;
        ek_status status = ek__index_name_text(index, i, &text, &size, &err);
        note(a, status, hash_on(size, text, size));
    }
    ek_status status = ek__index_search_new(index, "7", 1, &search, &err);
    note(a, status, 0);
    for (int i = 0; status == EK_OK && i < 20; i++) {
        status = ek__index_find(index, search, NULL, 0, true, hit.begin, hit.row, hit.index, &hit, &err);
        note(a, status, (uint64_t)hit.row << 32 | hit.index);
    }
    if (search)
        ek__index_search_free(search);
}

static void ask_everything(const ek_trace_index *index, answers *a)
{
    static ek__index_arrow_seen arrow[1000];
    static ek__index_curve_point point[2000];
    static int track[64];
    bool all;
    *a = (answers){0};
    for (int i = 0; i < 64; i++)
        track[i] = i;
    for (int row = 0; row < ek__index_n_rows(index); row++)
        ask_row(index, row, a);
    size_t n = 0;
    ek_status status = ek__index_arrows(index, track, 64, 0, INT64_MAX, 1000, arrow, &n, &all, &err);
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = hash * 31 + (uint64_t)arrow[i].to_time + (uint64_t)arrow[i].to_row + arrow[i].name;
    note(a, status, hash);
    for (int i = 0; i < ek__index_n_counters(index); i++)
        for (int64_t resolution = 1; resolution < ek__index_end(index); resolution *= 100) {
            status = ek__index_curve(index, i, 0, INT64_MAX, resolution, point, 2000, &n, &err);
            note(a, status, hash_on(n, point, status == EK_OK ? n * sizeof *point : 0));
        }
    ask_names(index, a);
}

/* No answer but the right one, or an error. */
static void assert_right_or_failed(const answers *a, const answers *right)
{
    for (int i = 0; i < a->n && i < right->n; i++)
        assert_true(a->hash[i] == 0 || a->hash[i] == right->hash[i]);
    assert_true(a->n == right->n || a->n_failed > 0); /* a search that failed requests no more */
}

/* An index file, open, and its answers. */
typedef struct opened_world {
    world w;
    char path[700];
    size_t size;
    ek__index_opened file;
    ek_trace_index index;
    answers right;
} opened_world;

static ek_status open_file(opened_world *o)
{
    ek_status status = ek__index_file_open(o->path, &o->file, &err);
    if (status != EK_OK)
        return status;
    o->file.trace = strdup(o->w.path[0]);
    o->file.path = strdup(o->w.path[0]);
    o->index = (ek_trace_index){.n_files = 1, .file = &o->file};
    assert_int_equal(ek__index_number(&o->index, &err), EK_OK);
    return EK_OK;
}

static void open_one(opened_world *o)
{
    index_shape shape = plain;
    shape.n_events = 6000;
    open_world(&o->w, &shape, 1);
    char *name = ek__index_file_name(o->w.path[0], 0);
    snprintf(o->path, sizeof o->path, "%s/%s/%s", o->w.folder, EK_TRACE_INDEX_FOLDER, name);
    free(name);
    assert_int_equal(open_file(o), EK_OK);
    o->size = o->file.size;
    ask_everything(&o->index, &o->right);
    assert_int_equal(o->right.n_failed, 0);
}

static void flip(const opened_world *o, uint64_t bit)
{
    unsigned char byte;
    int fd = open(o->path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
    byte ^= (unsigned char)(1u << bit % 8);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
    close(fd);
}

/* Wherever a bit is flipped, before the file is opened or after: its block is refused with a message. */
static void changed_bytes_are_found(void **state)
{
    (void)state;
    static opened_world o;
    static answers a;
    int n_refused = 0, n_failed = 0;
    open_one(&o);
    for (int i = 0; i < effort(32, 16); i++) {
        uint64_t bit = model_random(&o.w.random, 8 * (i % 4 == 0 ? 512 : o.size));
        flip(&o, bit);
        ask_everything(&o.index, &a); /* of the one that is open: its small sections are in memory */
        assert_right_or_failed(&a, &o.right);
        ek__index_file_close(&o.file);
        if (open_file(&o) != EK_OK) {
            n_refused++;
        } else {
            ask_everything(&o.index, &a);
            assert_right_or_failed(&a, &o.right);
            n_failed += a.n_failed > 0;
            if (a.n_failed == 0)
                fail_msg("a flip of bit %llu is not noticed", (unsigned long long)bit);
            ek__index_file_close(&o.file);
        }
        flip(&o, bit);
        assert_int_equal(open_file(&o), EK_OK);
    }
    assert_true(n_refused > 0 && n_failed > 0);
    ask_everything(&o.index, &a);
    assert_int_equal(a.n_failed, 0);
    assert_memory_equal(a.hash, o.right.hash, sizeof a.hash);
    ek__index_file_close(&o.file);
    close_world(&o.w);
}

/* A file that is cut while it is open: no signal, and no other answer. */
static void a_cut_index_is_an_error(void **state)
{
    (void)state;
    static opened_world o;
    static answers a;
    open_one(&o);
    for (int i = 7; i >= 0; i--) {
        assert_int_equal(truncate(o.path, (off_t)(o.size * (size_t)i / 8)), 0);
        ask_everything(&o.index, &a);
        assert_right_or_failed(&a, &o.right);
        assert_true(a.n_failed > 0);
        ek__index_opened other;
        assert_int_equal(ek__index_file_open(o.path, &other, &err), EK_ERR_INPUT);
    }
    assert_non_null(strstr(err.message, "too short"));
    ek__index_file_close(&o.file);
    close_world(&o.w);
}

/* ---- layers ---- */

static void check_layer(const ek_trace_index *index, const char *name, const char *layer)
{
    ek__index_search *search;
    ek__index_hit hit;
    ek__index_details d;
    assert_int_equal(ek__index_search_new(index, name, strlen(name), &search, &err), EK_OK);
    assert_int_equal(ek__index_find(index, search, NULL, 0, true, INT64_MIN, -1, 0, &hit, &err), EK_OK);
    assert_true(hit.row >= 0);
    assert_int_equal(ek__index_event_details(index, hit.row, hit.index, &d, &err), EK_OK);
    assert_string_equal(d.layer, layer);
    ek__index_details_clear(&d);
    ek__index_search_free(search);
}

static void layers_of_events_are_told(void **state)
{
    (void)state;
    static const char trace[] =
        "[{\"ph\":\"X\",\"name\":\"Default/network/3-LlamaLayer/attention/0-Inner/"
        "MatMul-op7\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"kernel_a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"args\":{\"mindspore_op\":"
        "\"Gradients/Default/"
        "12-LlamaLayer/x-op1\"}},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Model_0\",\"pid\":2,\"tid\":2,\"ts\":0,\"dur\":100},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Block_0\",\"pid\":2,\"tid\":2,\"ts\":1,\"dur\":20},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Linear_0\",\"pid\":2,\"tid\":2,\"ts\":2,\"dur\":10},"
        "{\"ph\":\"X\",\"name\":\"launch_one\",\"pid\":2,\"tid\":2,\"ts\":3,\"dur\":2},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Block_1\",\"pid\":2,\"tid\":2,\"ts\":30,\"dur\":20},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Linear_1\",\"pid\":2,\"tid\":2,\"ts\":32,\"dur\":10},"
        "{\"ph\":\"X\",\"name\":\"launch_two\",\"pid\":2,\"tid\":2,\"ts\":33,\"dur\":2},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":1,\"pid\":2,\"tid\":2,\"ts\":33},"
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":1,\"pid\":3,\"tid\":7,\"ts\":60},"
        "{\"ph\":\"X\",\"name\":\"kernel_b\",\"pid\":3,\"tid\":7,\"ts\":60,\"dur\":5},"
        "{\"ph\":\"X\",\"name\":\"kernel_c\",\"pid\":3,\"tid\":7,\"ts\":70,\"dur\":5}]";
    char folder[256], path[300];
    const char *paths = path;
    ek_trace_index *index;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/trace_view.json", folder);
    FILE *file = fopen(path, "w");
    fputs(trace, file);
    fclose(file);
    if (open_paths(&paths, 1, NULL, &index, NULL) != EK_OK)
        fail_msg("%s", err.message);
    check_layer(index, "MatMul-op7", "3-LlamaLayer");
    check_layer(index, "kernel_a", "12-LlamaLayer");
    check_layer(index, "launch_one", "Block_0");
    check_layer(index, "kernel_b", "Block_1");
    check_layer(index, "kernel_c", "");
    check_layer(index, "Module: Model_0", "");
    ek_trace_index_close(index);
    remove_all(folder);
}

/* ---- the sort ---- */

/* Buckets of many buffers and of none, in runs that stay in memory and runs that do not: each record is returned once,
 * in its bucket, in the order of keys and then of insertion. */
static void a_sort_gives_each_record_once_in_order(void **state)
{
    (void)state;
    enum { N = 60000, N_WORDS = 4, N_BUCKETS = 4 };
    static const uint32_t of_eight[] = {0, 0, 0, 0, 0, 2, 2, 3}; /* none in 1 */
    uint64_t(*record)[N_WORDS] = calloc(N, sizeof *record), random = 5;
    uint32_t *bucket = calloc(N, sizeof *bucket);
    assert_true(record && bucket);
    for (uint64_t i = 0; i < N; i++) {
        record[i][0] = ek__sort_signed((int64_t)model_random(&random, 3000) - 9);
        record[i][1] = model_random(&random, 5);
        record[i][2] = i * i;
        record[i][3] = i;
        bucket[i] = of_eight[model_random(&random, 1 << 20) % 8];
    }
    for (size_t bytes = 1; bytes < 32 << 20; bytes = bytes == 1 ? 1 << 20 : 4 * bytes) {
        size_t n = bytes == 1 ? 500 : N; /* a run of each */
        ek__sorter sorter;
        ek__sorter_init(&sorter, N_WORDS, 2, bytes, "/tmp");
        for (size_t i = 0, some; i < n; i += some) {
            some = n - i < 7001 ? n - i : 7001;
            assert_int_equal(ek__sorter_add(&sorter, record[i], bucket + i, some, &err), EK_OK);
        }
        assert_int_equal(ek__sorter_finish(&sorter, &err), EK_OK);
        assert_int_equal(sorter.n_runs == 1, bytes > 16 << 20);
        ek__sort_stream stream = {0};
        for (uint32_t b = 0; b <= N_BUCKETS; b++) {
            uint64_t got = 0, wanted = 0, last[N_WORDS] = {0};
            const uint64_t *r;
            ek_status status = EK_OK;
            for (size_t i = 0; i < n; i++)
                wanted += bucket[i] == b;
            assert_int_equal(ek__sorter_count(&sorter, b), wanted);
            assert_int_equal(ek__sort_stream_open(&stream, &sorter, b, &err), EK_OK);
            for (; (r = ek__sort_stream_next(&stream, &status, &err)); got++) {
                assert_true(r[3] < n && bucket[r[3]] == b);
                assert_memory_equal(r, record[r[3]], sizeof last);
                bool same = r[0] == last[0] && r[1] == last[1];
                if (got > 0)
                    assert_true(same ? r[3] > last[3] : r[0] != last[0] ? r[0] > last[0] : r[1] > last[1]);
                memcpy(last, r, sizeof last);
            }
            assert_int_equal(status, EK_OK);
            assert_int_equal(got, wanted);
        }
        ek__sort_stream_clear(&stream);
        ek__sorter_clear(&sorter);
    }
    free(record);
    free(bucket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sort_gives_each_record_once_in_order),
        cmocka_unit_test(every_event_is_there),
        cmocka_unit_test(boxes_hold_every_event_once),
        cmocka_unit_test(pictures_are_small),
        cmocka_unit_test(events_are_found_by_time),
        cmocka_unit_test(details_are_the_bytes_of_the_trace),
        cmocka_unit_test(arrows_are_those_of_the_stretch),
        cmocka_unit_test(fewer_arrows_are_the_first_of_more),
        cmocka_unit_test(curves_keep_extremes),
        cmocka_unit_test(hits_come_in_order),
        cmocka_unit_test(rare_names_are_found),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(shifts_move_files),
        cmocka_unit_test(gz_is_as_plain),
        cmocka_unit_test(indices_are_kept_while_they_fit),
        cmocka_unit_test(other_folders_are_taken),
        cmocka_unit_test(what_is_no_trace_is_told),
        cmocka_unit_test(changed_bytes_are_found),
        cmocka_unit_test(a_cut_index_is_an_error),
        cmocka_unit_test(layers_of_events_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
