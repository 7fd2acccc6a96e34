/* Writes the index file from sorted records. The positions of a track's events and a counter's points follow from their
 * numbers, so several threads write them at once, the largest first, and the file is the same for any number of
 * threads. Their sums (groups, chunks, rows) are appended in order when all of them are written. */
#include "index/finish.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "index/checks.h"
#include "trace/scan/gunzip.h"

typedef enum task_kind { TASK_ARROWS, TASK_TRACK, TASK_COUNTER } task_kind;

typedef struct task {
    task_kind kind;
    uint32_t number;       /* of the track or counter */
    uint64_t size;         /* records, for the order */
    uint64_t at, range_at; /* bytes of the file */
} task;

typedef struct finishing {
    const ek__index_finish *how;
    ek__output output;
    ek__index_file file;
    size_t n_tasks, next;
    task *task;
    uint64_t n_records, n_done; /* for progress */
    ek__track_rows *rows;       /* [tracks] */
    double *least, *most;       /* [counters] */
    uint64_t *from, *to;        /* [tracks] arrows */
    uint64_t n_arrows, arrows_at;
    int n_writers;
    ek__row_writer *writer;
    pthread_mutex_t lock;
    bool stop;
    ek_status status;
    ek_error error;
} finishing;

static uint32_t n_tracks(const finishing *f)
{
    return (uint32_t)f->how->trace->n_tracks;
}

static uint32_t n_counters(const finishing *f)
{
    return (uint32_t)f->how->store->counters.n;
}

/* ---- tasks ---- */

static int compare_tasks(const void *a, const void *b)
{
    const task *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t n_flows(const ek__index_store *store)
{
    return ek__sorter_count(&store->flows, 0);
}

/* Set the position of every section of known size, and the list of tasks. */
static bool make_tasks(finishing *f)
{
    const ek__index_store *store = f->how->store;
    ek__index_header *h = f->how->header;
    uint64_t at = sizeof *h;
    f->task = ek__alloc((size_t)n_tracks(f) + n_counters(f) + 1, sizeof *f->task);
    if (!f->task)
        return false;
    h->events.at = at;
    for (uint32_t t = 0; t < n_tracks(f); t++) {
        uint64_t n = ek__sorter_count(&store->events, t);
        f->task[f->n_tasks++] = (task){.kind = TASK_TRACK, .number = t, .size = n, .at = at};
        at += n * sizeof(ek__index_event);
    }
    size_t first_counter = f->n_tasks;
    h->points.at = at;
    for (uint32_t c = 0; c < n_counters(f); c++) {
        uint64_t n = ek__sorter_count(&store->points, c);
        f->task[f->n_tasks++] = (task){.kind = TASK_COUNTER, .number = c, .size = n, .at = at};
        h->points.n += n;
        at += n * sizeof(ek__index_point);
    }
    h->ranges.at = at;
    for (uint32_t c = 0; c < n_counters(f); c++) {
        task *t = &f->task[first_counter + c];
        uint64_t n = (t->size + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS;
        t->range_at = at;
        h->ranges.n += n;
        at += n * sizeof(ek__index_range);
    }
    f->arrows_at = h->from.at = at;
    f->task[f->n_tasks++] = (task){.kind = TASK_ARROWS, .size = 3 * n_flows(store), .at = at};
    for (size_t i = 0; i < f->n_tasks; i++)
        f->n_records += f->task[i].size;
    assert(f->n_tasks == (size_t)n_tracks(f) + n_counters(f) + 1);
    assert(h->events.at <= h->points.at && h->points.at <= h->ranges.at && h->ranges.at <= f->arrows_at);
    qsort(f->task, f->n_tasks, sizeof *f->task, compare_tasks);
    assert(f->task[0].size >= f->task[f->n_tasks - 1].size); /* the largest first */
    return true;
}

static ek_status write_arrows(finishing *f, uint64_t at, ek_error *err)
{
    ek__arrows arrows;
    ek_status status = ek__pair_flows(&f->file, f->how->bound / 8, &arrows, err);
    f->n_arrows = arrows.n;
    if (status == EK_OK)
        status = ek__write_arrows(&f->file, &arrows.from, true, at, f->from, err);
    at += arrows.n * sizeof(ek__index_arrow);
    if (status == EK_OK)
        status = ek__write_arrows(&f->file, &arrows.to, false, at, f->to, err);
    ek__arrows_clear(&arrows);
    return status;
}

static ek_status do_task(finishing *f, ek__row_writer *writer, const task *t, ek_error *err)
{
    switch (t->kind) {
    case TASK_ARROWS:
        return write_arrows(f, t->at, err);
    case TASK_TRACK:
        return ek__write_track(writer, t->number, t->at, &f->rows[t->number], err);
    default:
        return ek__write_counter(&f->file, &writer->stream, t->number, t->at, t->range_at, &f->least[t->number],
                                 &f->most[t->number], err);
    }
}

/* ---- threads ---- */

/* Records are written: report to the caller, which may request a stop. The number of arrows is an estimate. */
static void advance(void *user, uint64_t n)
{
    finishing *f = user;
    pthread_mutex_lock(&f->lock);
    f->n_done += n;
    double share = f->n_done < f->n_records ? (double)f->n_done / (double)f->n_records : 1;
    if (f->how->progress)
        f->how->progress(f->how->user, share);
    if (ek_interrupted(f->how->interrupt))
        __atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&f->lock);
}

/* The next task; NULL when there is none or a stop was requested. */
static const task *add_task(finishing *f)
{
    const task *next = NULL;
    pthread_mutex_lock(&f->lock);
    if (!ek__index_stopped(&f->file) && f->next < f->n_tasks)
        next = &f->task[f->next++];
    assert(f->next <= f->n_tasks);
    pthread_mutex_unlock(&f->lock);
    return next;
}

static void fail(finishing *f, ek_status status, const ek_error *error)
{
    assert(status != EK_OK);
    pthread_mutex_lock(&f->lock);
    if (f->status == EK_OK) {
        f->status = status;
        f->error = *error;
    }
    __atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&f->lock);
}

typedef struct worker {
    finishing *finishing;
    ek__row_writer *writer;
} worker;

static void *work(void *argument)
{
    const worker *w = argument;
    ek_error error;
    const task *t;
    while ((t = add_task(w->finishing))) {
        ek_status status = do_task(w->finishing, w->writer, t, &error);
        if (status != EK_OK)
            fail(w->finishing, status, &error);
    }
    return NULL;
}

static bool make_writers(finishing *f)
{
    assert(f->how->n_threads >= 1 && f->how->n_threads <= EK__MOST_THREADS);
    f->n_writers = f->how->n_threads;
    f->writer = ek__alloc((size_t)f->n_writers, sizeof *f->writer);
    for (int i = 0; f->writer && i < f->n_writers; i++) {
        f->writer[i].file = &f->file;
        f->writer[i].number = i;
        ek__aside_init(&f->writer[i].groups, f->how->folder);
    }
    return f->writer != NULL;
}

static void run_threads(finishing *f)
{
    worker w[EK__MOST_THREADS];
    for (int i = 0; i < f->n_writers; i++)
        w[i] = (worker){f, &f->writer[i]};
    ek__run_threads(f->n_writers, work, w, sizeof *w);
}

/* ---- after the rows ---- */

/* The sections that are written one after the other. */
typedef struct tail {
    finishing *f;
    uint64_t at;
    ek_status status;
    ek_error *err;
} tail;

static void begin_section(tail *t, ek__index_section *section, uint64_t n)
{
    assert(t->at >= sizeof(ek__index_header)); /* which goes first */
    t->at = (t->at + 7) / 8 * 8;
    *section = (ek__index_section){t->at, n};
}

static void add(tail *t, const void *bytes, size_t n)
{
    if (t->status == EK_OK && n > 0)
        t->status = ek__output_write(&t->f->output, bytes, n, t->at, t->err);
    t->at += n;
}

static void write_groups(tail *t, ek__index_header *h)
{
    finishing *f = t->f;
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_tracks(f); i++)
        n += f->rows[i].n_groups;
    begin_section(t, &h->groups, n);
    for (uint32_t i = 0; i < n_tracks(f) && t->status == EK_OK; i++) {
        const ek__track_rows *r = &f->rows[i];
        uint64_t size = r->n_groups * sizeof(ek__index_sum);
        assert(r->writer >= 0 && r->writer < f->n_writers);
        t->status = ek__aside_copy(&f->writer[r->writer].groups, r->groups, size, &f->output, t->at, t->err);
        t->at += size;
    }
}

/* Groups, chunks and rows are numbered within their track up to here. */
static void write_chunks(tail *t, ek__index_header *h)
{
    const finishing *f = t->f;
    uint64_t n = 0, first_group = 0;
    for (uint32_t i = 0; i < n_tracks(f); i++)
        n += f->rows[i].n_chunks;
    begin_section(t, &h->chunks, n);
    for (uint32_t i = 0; i < n_tracks(f); i++) {
        const ek__track_rows *r = &f->rows[i];
        ek__index_chunk *chunk = f->writer[r->writer].chunk;
        assert(r->first_chunk + r->n_chunks <= f->writer[r->writer].n_chunks);
        for (size_t c = 0; c < r->n_chunks; c++)
            chunk[r->first_chunk + c].first_group += first_group;
        if (r->n_chunks > 0)
            add(t, chunk + r->first_chunk, r->n_chunks * sizeof *chunk);
        first_group += r->n_groups;
    }
    assert(first_group == h->groups.n);
}

static void write_rows(tail *t, ek__index_header *h)
{
    const finishing *f = t->f;
    uint64_t n = 0, first_chunk = 0;
    for (uint32_t i = 0; i < n_tracks(f); i++)
        n += f->rows[i].n_rows;
    begin_section(t, &h->rows, n);
    for (uint32_t i = 0; i < n_tracks(f); i++) {
        const ek__track_rows *r = &f->rows[i];
        ek__index_row *row = f->writer[r->writer].row;
        for (size_t k = 0; k < r->n_rows; k++)
            row[r->first_row + k].first_chunk += first_chunk;
        if (r->n_rows > 0)
            add(t, row + r->first_row, r->n_rows * sizeof *row);
        first_chunk += r->n_chunks;
        h->events.n += (uint64_t)r->n_events;
        /* Every event of the track is in a row or counted as omitted. */
        assert((uint64_t)(r->n_events + r->n_left_out) == ek__sorter_count(&f->how->store->events, i));
    }
    assert(first_chunk == h->chunks.n);
}

/* ---- texts ---- */

/* The section holds the names' bytes, then the others'. */
static ek__index_text text_of(const finishing *f, uint32_t number)
{
    const ek__texts *texts = &f->how->store->base.texts;
    assert(number < texts->n);
    return (ek__index_text){.at = f->how->store->names.texts.n_bytes + texts->entry[number].offset,
                            .size = texts->entry[number].size};
}

static ek__index_text label_of(const finishing *f, const char *label)
{
    uint32_t number = label ? ek__texts_find(&f->how->store->base.texts, label, strlen(label)) : UINT32_MAX;
    if (number == UINT32_MAX)
        return (ek__index_text){0};
    return text_of(f, number);
}

static void write_texts(tail *t, ek__index_header *h)
{
    const ek__index_store *store = t->f->how->store;
    begin_section(t, &h->texts, store->names.texts.n_bytes + store->base.texts.n_bytes);
    add(t, store->names.texts.bytes, store->names.texts.n_bytes);
    add(t, store->base.texts.bytes, store->base.texts.n_bytes);
}

static void write_names(tail *t, ek__index_header *h)
{
    const ek__index_names *names = &t->f->how->store->names;
    ek__index_name some[256];
    size_t n = 0;
    begin_section(t, &h->names, names->texts.n);
    for (uint32_t i = 0; i < names->texts.n; i++) {
        const ek__text_entry *e = &names->texts.entry[i];
        ek__name_count count = i < names->capacity ? names->count[i] : (ek__name_count){0};
        some[n++] = (ek__index_name){{e->offset, e->size, 0}, count.n, count.total};
        if (n == sizeof some / sizeof *some || i + 1 == names->texts.n) {
            add(t, some, n * sizeof *some);
            n = 0;
        }
    }
}

/* If a thread has several, the last one counts: ek__index_store_settle() kept only that one. */
static int32_t order_of(const ek__index_store *store, uint32_t pid, uint32_t tid)
{
    size_t low = 0, high = store->n_orders;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ek__index_order *o = &store->order[middle];
        if (o->pid == pid && o->tid == tid)
            return o->order;
        if (o->pid < pid || (o->pid == pid && o->tid < tid))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static void write_tracks(tail *t, ek__index_header *h)
{
    const finishing *f = t->f;
    uint64_t from = 0, to = 0;
    size_t row = 0;
    begin_section(t, &h->tracks, n_tracks(f));
    for (uint32_t i = 0; i < n_tracks(f); i++) {
        const ek__part_track *of = &f->how->store->base.tracks.at[i];
        const ek__track_rows *r = &f->rows[i];
        ek__index_track track = {.pid = text_of(f, of->pid),
                                 .tid = text_of(f, of->tid),
                                 .process = label_of(f, f->how->trace->track[i].process),
                                 .thread = label_of(f, f->how->trace->track[i].thread),
                                 .track_class = r->track_class,
                                 .sort = order_of(f->how->store, of->pid, of->tid),
                                 .first_row = (uint32_t)row,
                                 .n_rows = (uint32_t)r->n_rows,
                                 .n_events = r->n_events,
                                 .n_left_out = r->n_left_out,
                                 .first_from = from,
                                 .n_from = f->from[i],
                                 .first_to = to,
                                 .n_to = f->to[i]};
        add(t, &track, sizeof track);
        row += r->n_rows;
        from += f->from[i];
        to += f->to[i];
    }
    assert(row == h->rows.n && from == f->n_arrows && to == f->n_arrows);
}

static void write_counters(tail *t, ek__index_header *h)
{
    const finishing *f = t->f;
    const ek__index_store *store = f->how->store;
    uint64_t point = 0, range = 0;
    begin_section(t, &h->counters, n_counters(f));
    for (uint32_t i = 0; i < n_counters(f); i++) {
        const ek__part_track *of = &store->counters.at[i], *name = &store->counter_names.at[of->pid];
        const char *process = ek__store_process(&store->base, name->pid);
        ek__index_counter counter = {.process = process ? label_of(f, process) : text_of(f, name->pid),
                                     .name = text_of(f, name->tid),
                                     .key = text_of(f, of->tid),
                                     .first_point = point,
                                     .n_points = ek__sorter_count(&store->points, i),
                                     .first_range = range,
                                     .least = f->least[i],
                                     .most = f->most[i]};
        add(t, &counter, sizeof counter);
        point += counter.n_points;
        range += (counter.n_points + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS;
    }
    assert(point == h->points.n && range == h->ranges.n);
}

/* Windows, then the spots with their positions. */
static void write_spots(tail *t, ek__index_header *h)
{
    size_t n = 0;
    const ek__gunzip *gunzip = t->f->how->gunzip;
    const ek__gunzip_spot *spot = gunzip ? ek__gunzip_spots(gunzip, &n) : NULL;
    uint64_t window = t->at;
    for (size_t i = 0; i < n; i++)
        add(t, spot[i].window, spot[i].window_size);
    begin_section(t, &h->spots, n);
    for (size_t i = 0; i < n; i++) {
        ek__index_spot out = {.out = (uint64_t)spot[i].out,
                              .in = (uint64_t)spot[i].in,
                              .window = window,
                              .window_size = spot[i].window_size,
                              .bits = spot[i].bits};
        assert(spot[i].bits < 8 && (i == 0 || spot[i].out >= spot[i - 1].out)); /* ascending */
        add(t, &out, sizeof out);
        window += spot[i].window_size;
    }
    assert(window <= h->spots.at);
}

/* The checks of all blocks before this section; the last block is padded with zeros. The header has its own check. */
static void write_checks(tail *t, ek__index_header *h)
{
    ek__output *output = &t->f->output;
    size_t n;
    const uint64_t *check = ek__output_checks(output, t->at, &n);
    if (t->status == EK_OK && !check)
        t->status = ek__no_memory(t->err);
    if (t->status != EK_OK)
        return;
    h->checks = (ek__index_section){output->first + n * EK__CHECK_BYTES, n};
    h->checks_check = ek__check_of_checks(check, n);
    h->file_size = h->checks.at + n * sizeof *check;
    h->check = ek__check_of_header(h);
    t->status = ek__write_at(output->fd, output->name, check, n * sizeof *check, h->checks.at, t->err);
    if (t->status == EK_OK)
        t->status = ek__write_at(output->fd, output->name, h, sizeof *h, 0, t->err);
}

static ek_status write_tail(finishing *f, ek_error *err)
{
    ek__index_header *h = f->how->header;
    tail t = {f, f->arrows_at, EK_OK, err};
    assert(f->next == f->n_tasks && f->status == EK_OK); /* everything before it is written */
    begin_section(&t, &h->from, f->n_arrows);
    t.at += f->n_arrows * sizeof(ek__index_arrow);
    begin_section(&t, &h->to, f->n_arrows);
    t.at += f->n_arrows * sizeof(ek__index_arrow);
    write_groups(&t, h);
    write_chunks(&t, h);
    write_rows(&t, h);
    write_tracks(&t, h);
    write_counters(&t, h);
    write_spots(&t, h);
    write_names(&t, h);
    write_texts(&t, h);
    write_checks(&t, h);
    return t.status;
}

/* ---- all ---- */

static uint8_t *find_meanings(const ek__texts *names)
{
    uint8_t *meaning = ek__alloc((size_t)names->n + 1, 1);
    for (uint32_t i = 0; meaning && i < names->n; i++)
        meaning[i] = (uint8_t)ek__meaning_of_name(ek__texts_at(names, i), names->entry[i].size);
    return meaning;
}

static ek_status finish(finishing *f, ek_error *err)
{
    if (!f->file.name_meaning || !f->rows || !f->least || !f->most || !f->from || !f->to || !make_tasks(f) ||
        !make_writers(f))
        return ek__no_memory(err);
    advance(f, 0);
    run_threads(f);
    advance(f, 0);
    if (f->status != EK_OK) {
        if (err)
            *err = f->error;
        return f->status;
    }
    if (f->stop)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){f->how->path, 0, 0}), "interrupted");
    return write_tail(f, err);
}

ek_status ek__index_finish_file(const ek__index_finish *how, ek_error *err)
{
    finishing f = {.how = how};
    uint8_t *meaning = find_meanings(&how->store->names.texts);
    ek__output_init(&f.output, how->fd, how->path, sizeof *how->header);
    f.file = (ek__index_file){.output = &f.output,
                              .folder = how->folder,
                              .store = how->store,
                              .trace = how->trace,
                              .name_meaning = meaning,
                              .no_metadata = ek__store_no_metadata(&how->store->base),
                              .stop = &f.stop,
                              .advance = advance,
                              .user = &f};
    f.rows = ek__alloc(n_tracks(&f), sizeof *f.rows);
    f.least = ek__alloc(n_counters(&f), sizeof *f.least);
    f.most = ek__alloc(n_counters(&f), sizeof *f.most);
    f.from = ek__alloc(n_tracks(&f), sizeof *f.from);
    f.to = ek__alloc(n_tracks(&f), sizeof *f.to);
    pthread_mutex_init(&f.lock, NULL);
    ek_status status = finish(&f, err);
    pthread_mutex_destroy(&f.lock);
    for (int i = 0; f.writer && i < f.n_writers; i++)
        ek__row_writer_clear(&f.writer[i]);
    ek__output_clear(&f.output);
    free(f.writer);
    free(f.task);
    free(meaning);
    free(f.rows);
    free(f.least);
    free(f.most);
    free(f.from);
    free(f.to);
    return status;
}
