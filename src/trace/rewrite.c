/* Writes a Chrome trace made from those of a run: selected events of ranks, steps, range and layers, on one clock. A
 * first pass reads the data for the selection (first event, steps, layers); the second copies events one by one,
 * replacing the values that must change in place. So an event keeps all other data of its profiler, and memory is that
 * of the first pass. */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "evenkeel/trace_edit.h"
#include "trace/analyse/analysis.h"
#include "trace/layers/layers.h"
#include "trace/scan/part.h"
#include "trace/tables/files.h"

enum { MAX_SPLICES = 8, SORT_STEP = 1000 };

typedef struct window {
    int64_t start, end;
    uint16_t track;
} window;

/* Data of a rank after the first pass. */
typedef struct plan {
    const ek__rank_files *files;
    int n_files, rank, stage;
    int64_t base, first; /* first: the earliest event kept by the reader, on the file's clock */
    int64_t shift;       /* added to its times: base and clock */
    int64_t from, to;    /* on the file's clock: [from, to) */
    size_t n_windows, windows_capacity, n_links, links_capacity;
    window *window;          /* [n_windows]: selected modules, by track and start */
    const char **pid, **tid; /* [n_tracks]: texts of the windows' tracks */
    int n_tracks;
    uint32_t *link; /* [n_links]: correlations launched inside a window, sorted */
    bool layer_found;
} plan;

typedef struct rewrite {
    const ek_trace_selection *selection;
    const ek_trace_options *options;
    ek__pool *pool;
    plan *plan;
    int n_plans;
    bool apart;     /* several ranks: ids must be distinct */
    ek__texts pids; /* "rank/pid"; its number is the new pid */
    bool *named;    /* [pids.capacity]: has a process_name */
    size_t named_capacity;
    FILE *out;
    ek_trace_written written;
} rewrite;

/* A part of an event's text and its replacement. */
typedef struct splice {
    const char *at;
    size_t size;
    char text[96];
} splice;

/* ---- layers ---- */

static bool path_has_layer(const ek_trace_selection *s, const char *path, size_t size)
{
    for (size_t begin = 0; begin < size;) {
        const char *slash = memchr(path + begin, '/', size - begin);
        size_t length = slash ? (size_t)(slash - path) - begin : size - begin;
        if (ek__layer_named(s->layer, s->n_layers, path + begin, length))
            return true;
        begin += length + 1;
    }
    return false;
}

/* ---- the first pass ---- */

static int compare_windows(const void *a, const void *b)
{
    const window *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_links(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Does a window of this track cover the time? Windows of one kind of module do not nest deeply: check a few before. */
static bool in_window(const plan *p, int track, int64_t time)
{
    size_t low = 0, high = p->n_windows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const window *w = &p->window[middle];
        if (w->track < track || (w->track == track && w->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    for (int back = 0; low > 0 && back < 64; back++, low--) {
        const window *w = &p->window[low - 1];
        if (w->track != track)
            return false;
        if (time < w->end)
            return true;
    }
    return false;
}

static bool add_windows(plan *p, const ek__trace *trace, const ek_trace_selection *s)
{
    ek__slice modules = trace->of[EK__EVENT_MODULE], launches = trace->of[EK__EVENT_LAUNCH];
    for (size_t i = 0; i < modules.n; i++) {
        const ek__event *e = &modules.event[i];
        const char *name = ek__trace_name(trace, e->name);
        if (!ek__layer_named(s->layer, s->n_layers, name, strlen(name)))
            continue;
        window *room = ek__with_room(p->window, &p->windows_capacity, p->n_windows + 1, sizeof *room);
        if (!room)
            return false;
        p->window = room;
        p->window[p->n_windows++] = (window){e->start, ek__event_end(e), e->track};
    }
    if (p->n_windows > 0)
        qsort(p->window, p->n_windows, sizeof *p->window, compare_windows);
    for (size_t i = 0; i < launches.n && p->n_windows > 0; i++) {
        const ek__event *e = &launches.event[i];
        if (!in_window(p, e->track, e->start))
            continue;
        uint32_t *room = ek__with_room(p->link, &p->links_capacity, p->n_links + 1, sizeof *room);
        if (!room)
            return false;
        p->link = room;
        p->link[p->n_links++] = e->link;
    }
    if (p->n_links > 0)
        qsort(p->link, p->n_links, sizeof *p->link, compare_links);
    p->layer_found = p->n_windows > 0;
    for (uint32_t i = 0; i < trace->n_names && !p->layer_found; i++)
        p->layer_found = path_has_layer(s, trace->name[i], strlen(trace->name[i]));
    return true;
}

static void add_first(plan *p, const ek__trace *trace)
{
    p->first = INT64_MAX;
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++)
        if (trace->of[kind].n > 0 && trace->of[kind].event[0].start < p->first)
            p->first = trace->of[kind].event[0].start;
    if (p->first == INT64_MAX)
        p->first = 0;
}

/* The step's window on host and device. @return false when the rank has no such step */
static bool read_step(plan *p, const ek_trace_rank *rank, const char *name)
{
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *s = &rank->step[i];
        if (strcmp(s->name, name) != 0)
            continue;
        bool on_host = s->host_start != EK_TRACE_UNKNOWN && s->host_step != EK_TRACE_UNKNOWN;
        int64_t start = s->start, end = s->end;
        if (on_host && (start == EK_TRACE_UNKNOWN || s->host_start < start))
            start = s->host_start;
        if (on_host && (end == EK_TRACE_UNKNOWN || s->host_start + s->host_step > end))
            end = s->host_start + s->host_step;
        if (start == EK_TRACE_UNKNOWN || end == EK_TRACE_UNKNOWN)
            continue;
        p->from = start;
        p->to = end;
        return true;
    }
    return false;
}

static ek_status no_step(const ek_trace_rank *rank, const char *name, const char *path, ek_error *err)
{
    char known[200] = "";
    size_t n = 0;
    for (int i = 0; i < rank->n_steps && n + 40 < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%.20s", i > 0 ? ", " : "", rank->step[i].name);
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}), "there is no step '%s' in it; its steps: %s", name,
                    n > 0 ? known : "none");
}

static ek_status look_through(rewrite *w, plan *p, const ek__trace *trace, ek_error *err)
{
    const char *path = p->files->file[0].path;
    ek_status status = EK_OK;
    p->rank = trace->rank != EK_TRACE_NO_RANK ? trace->rank : p->files->rank;
    p->base = trace->base_ns;
    p->from = INT64_MIN;
    p->to = INT64_MAX;
    add_first(p, trace);
    if (w->selection->step) {
        ek_trace_rank rank = {.rank = p->rank, .producer = trace->producer, .pool = w->pool};
        status = ek__analyse_steps(trace, w->options, &rank, err);
        if (status == EK_OK && !read_step(p, &rank, w->selection->step))
            status = no_step(&rank, w->selection->step, path, err);
    }
    if (status != EK_OK || w->selection->n_layers == 0)
        return status;
    p->n_tracks = trace->n_tracks;
    p->pid = ek__pool_alloc(w->pool, (size_t)trace->n_tracks, sizeof *p->pid);
    p->tid = ek__pool_alloc(w->pool, (size_t)trace->n_tracks, sizeof *p->tid);
    for (int i = 0; i < trace->n_tracks && p->pid && p->tid; i++) {
        p->pid[i] = trace->track[i].pid;
        p->tid[i] = trace->track[i].tid;
    }
    return p->pid && p->tid && add_windows(p, trace, w->selection) ? EK_OK : ek__no_memory(err);
}

static ek_status first_pass(rewrite *w, plan *p, const ek_listener *listener, ek_error *err)
{
    const ek__rank_files *files = p->files;
    ek_trace_source *source = ek__pool_alloc(w->pool, (size_t)files->n_files, sizeof *source);
    const char **path = ek__pool_alloc(w->pool, (size_t)files->n_files, sizeof *path);
    ek__trace trace;
    if (!source || !path)
        return ek__no_memory(err);
    for (int i = 0; i < p->n_files; i++)
        path[i] = files->file[i].path;
    int n_threads = ek__thread_count(w->options ? w->options->n_threads : 0);
    ek_status status = ek__trace_read(path, p->n_files, n_threads, w->options, w->pool, source, &trace, err);
    if (status != EK_OK)
        return status;
    for (int i = 0; i < p->n_files; i++)
        if (source[i].problem) {
            w->written.n_problems++;
            ek__warn(listener, (ek_origin){path[i], 0, 0}, "%s", source[i].problem);
        }
    status = look_through(w, p, &trace, err);
    ek__trace_clear(&trace);
    return status;
}

/* ---- selection ---- */

static bool wants_rank(const ek_trace_selection *s, int rank)
{
    for (int i = 0; i < s->n_ranks; i++)
        if (s->rank[i] == rank)
            return true;
    return s->n_ranks == 0;
}

static bool span_has_layer(const ek_trace_selection *s, const ek__span *span)
{
    return span->at && span->quoted && path_has_layer(s, span->at, span->size);
}

static bool same_span(const ek__span *span, const char *text)
{
    return span->at && strlen(text) == span->size && memcmp(span->at, text, span->size) == 0;
}

/* Numbers of correlations as the reader stores them. */
static uint32_t correlation_of(const ek__span *value)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < value->size && value->at[i] >= '0' && value->at[i] <= '9'; i++)
        number = 10 * number + (uint64_t)(value->at[i] - '0');
    return (uint32_t)number;
}

static bool is_launched(const plan *p, uint32_t link)
{
    return p->n_links > 0 && link != 0 && bsearch(&link, p->link, p->n_links, sizeof link, compare_links) != NULL;
}

static bool args_have_layer(const rewrite *w, const plan *p, const ek__block *block, const ek__raw_event *raw)
{
    size_t at = 0;
    ek__span key, value;
    while (raw->args.at && ek__walk_member(block, &raw->args, &at, &key, &value)) {
        bool names = same_span(&key, "mindspore_op") || same_span(&key, "fullname");
        if (names && span_has_layer(w->selection, &value))
            return true;
        if (same_span(&key, "correlation") && is_launched(p, correlation_of(&value)))
            return true;
    }
    return false;
}

static bool has_layer(const rewrite *w, const plan *p, const ek__block *block, const ek__raw_event *raw, int64_t start)
{
    if (raw->phase != 'X')
        return false;
    if (raw->name.at && raw->name.size > 13 && memcmp(raw->name.at, "ProfilerStep#", 13) == 0)
        return true; /* so that the part still has its steps */
    if (span_has_layer(w->selection, &raw->name) || args_have_layer(w, p, block, raw))
        return true;
    for (int i = 0; i < p->n_tracks && p->n_windows > 0; i++)
        if (same_span(&raw->pid, p->pid[i]) && same_span(&raw->tid, p->tid[i]))
            return in_window(p, i, start);
    return false;
}

static bool is_kept(const rewrite *w, const plan *p, const ek__block *block, const ek__raw_event *raw, int64_t start,
                    int64_t duration)
{
    if (raw->phase == 'M')
        return true;
    if (start >= p->to || start + duration < p->from || (duration == 0 && start < p->from) ||
        (duration > 0 && start + duration == p->from))
        return false;
    return w->selection->n_layers == 0 || has_layer(w, p, block, raw, start);
}

/* ---- copying ---- */

static void replace(splice *s, int *n, const char *at, size_t size)
{
    if (*n < MAX_SPLICES) {
        s[*n].at = at;
        s[*n].size = size;
        ++*n;
    }
}

/* The process's number in the new trace. UINT32_MAX when memory is out. */
static uint32_t new_pid(rewrite *w, const plan *p, const ek__span *pid)
{
    char key[160];
    int n = snprintf(key, sizeof key, "%d/%.*s", (int)(p - w->plan), (int)(pid->size < 128 ? pid->size : 128), pid->at);
    uint32_t number = ek__texts_intern(&w->pids, key, (size_t)n);
    if (number == UINT32_MAX)
        return number;
    size_t before = w->named_capacity;
    bool *room = ek__with_room(w->named, &w->named_capacity, (size_t)number + 1, sizeof *room);
    if (!room)
        return UINT32_MAX;
    w->named = room;
    if (w->named_capacity > before)
        memset(w->named + before, 0, (w->named_capacity - before) * sizeof *room);
    return number;
}

static void rank_label(const rewrite *w, const plan *p, char *text, size_t size)
{
    if (p->rank != EK_TRACE_NO_RANK)
        snprintf(text, size, "rank %d: ", p->rank);
    else
        snprintf(text, size, "file %d: ", (int)(p - w->plan) + 1);
}

/* process_name and process_sort_index name the process. */
static void splice_label(rewrite *w, const plan *p, const ek__block *block, const ek__raw_event *raw, uint32_t pid,
                         splice *s, int *n)
{
    bool name = same_span(&raw->name, "process_name"), order = same_span(&raw->name, "process_sort_index");
    size_t at = 0;
    ek__span key, value;
    while ((name || order) && raw->args.at && ek__walk_member(block, &raw->args, &at, &key, &value)) {
        if (name && same_span(&key, "name") && value.quoted) {
            w->named[pid] = true;
            rank_label(w, p, s[*n].text, sizeof s[*n].text);
            replace(s, n, value.at, 0);
            return;
        }
        if (order && same_span(&key, "sort_index") && !value.quoted) {
            long index = strtol(value.at, NULL, 10);
            index = index < 0 ? 0 : index >= SORT_STEP ? SORT_STEP - 1 : index;
            snprintf(s[*n].text, sizeof s[*n].text, "%ld", (long)(p - w->plan) * SORT_STEP + index);
            replace(s, n, value.at, value.size);
            return;
        }
    }
}

static int compare_splices(const void *a, const void *b)
{
    const splice *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void add_event(rewrite *w, const ek__raw_event *raw, splice *s, int n)
{
    const char *at = raw->begin, *end = raw->begin + raw->size;
    fputs(w->written.n_written++ > 0 ? ",\n" : "\n", w->out);
    if (n > 1)
        qsort(s, (size_t)n, sizeof *s, compare_splices);
    for (int i = 0; i < n; i++) {
        fwrite(at, 1, (size_t)(s[i].at - at), w->out);
        fputs(s[i].text, w->out);
        at = s[i].at + s[i].size;
    }
    fwrite(at, 1, (size_t)(end - at), w->out);
}

static void time_text(int64_t ns, char *text, size_t size)
{
    uint64_t positive = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(text, size, "%s%llu.%03llu", ns < 0 ? "-" : "", (unsigned long long)(positive / 1000),
             (unsigned long long)(positive % 1000));
}

/* @return false when memory is out */
static bool copy_event(rewrite *w, const plan *p, const ek__block *block, const ek__raw_event *raw, bool timed,
                       int64_t start)
{
    splice s[MAX_SPLICES];
    int n = 0;
    w->written.n_events += raw->phase != 'M';
    if (timed && p->shift != 0) {
        time_text(start + p->shift, s[n].text, sizeof s[n].text);
        replace(s, &n, raw->ts.at, raw->ts.size);
    }
    if (w->apart && raw->pid.at) {
        uint32_t pid = new_pid(w, p, &raw->pid);
        if (pid == UINT32_MAX)
            return false;
        snprintf(s[n].text, sizeof s[n].text, "%u", pid);
        replace(s, &n, raw->pid.at - raw->pid.quoted, raw->pid.size + 2 * raw->pid.quoted);
        if (raw->phase == 'M')
            splice_label(w, p, block, raw, pid, s, &n);
    }
    if (w->apart && raw->id.at && raw->id.size < 64) {
        snprintf(s[n].text, sizeof s[n].text, "\"%d/%.*s\"", (int)(p - w->plan), (int)raw->id.size, raw->id.at);
        replace(s, &n, raw->id.at - raw->id.quoted, raw->id.size + 2 * raw->id.quoted);
    }
    add_event(w, raw, s, n);
    return true;
}

static bool copy_block(rewrite *w, const plan *p, const ek__block *block, bool *damaged)
{
    ek__walk walk = {.block = block};
    ek__raw_event raw;
    ek__walk_state step;
    while ((step = ek__walk_whole(&walk, &raw)) == EK__WALK_EVENT) {
        int64_t start = 0, duration = 0;
        bool timed =
            raw.ts.at && ek__parse_us(raw.ts.at, raw.ts.size, &start) && start > INT64_MIN / 4 && start < INT64_MAX / 4;
        if (raw.dur.at &&
            (!ek__parse_us(raw.dur.at, raw.dur.size, &duration) || duration < 0 || duration > INT64_MAX / 4))
            duration = 0;
        w->written.n_read++;
        if (!timed && raw.phase != 'M')
            continue;
        if (is_kept(w, p, block, &raw, start, duration) && !copy_event(w, p, block, &raw, timed, start))
            return false;
    }
    *damaged = step == EK__WALK_DAMAGED;
    return true;
}

static ek_status copy_file(rewrite *w, const plan *p, const char *path, ek_error *err)
{
    ek__feed *feed;
    ek__block block = {0};
    bool fine = true, damaged = false;
    ek_status status = ek__feed_open(path, &feed, err);
    if (status != EK_OK)
        return status;
    while (fine && !damaged && !ferror(w->out) && ek__feed_next(feed, &block)) {
        if (ek__interrupted(w->options))
            status = ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "interrupted");
        if (status != EK_OK)
            break;
        fine = copy_block(w, p, &block, &damaged);
        if (w->options && w->options->progress && ek__feed_total(feed) > 0)
            w->options->progress(w->options->user,
                                 ((double)(p - w->plan) + (double)ek__feed_bytes(feed) / (double)ek__feed_total(feed)) /
                                     (double)w->n_plans,
                                 "writing");
    }
    if (!fine || ek__feed_out_of_memory(feed))
        status = ek__no_memory(err);
    ek__block_clear(&block);
    ek__feed_close(feed);
    return status;
}

/* Processes without metadata would be distinguished by number only. */
static void name_the_rest(rewrite *w)
{
    for (uint32_t pid = 1; w->apart && pid < w->pids.n; pid++) {
        const char *key = ek__texts_at(&w->pids, pid), *slash = strchr(key, '/');
        char label[64];
        if (w->named[pid] || !slash)
            continue;
        rank_label(w, &w->plan[atoi(key)], label, sizeof label);
        fprintf(w->out, "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":\"%s%s\"}}",
                w->written.n_written++ > 0 ? ",\n" : "\n", pid, label, slash + 1);
    }
}

/* ---- the complete trace ---- */

static int64_t clock_offset(const ek_trace_clocks *clocks, int rank, int index)
{
    int seen = 0;
    for (int c = 0; clocks && c < clocks->n; c++)
        for (int i = 0; i < clocks->clock[c].n_ranks; i++, seen++)
            if (rank != EK_TRACE_NO_RANK ? clocks->clock[c].rank[i] == rank : seen == index)
                return clocks->clock[c].offset;
    return 0;
}

/* The range is counted from the first event of all, on the common clock. */
static void place_ranges(rewrite *w, const ek_trace_clocks *clocks)
{
    const ek_trace_selection *s = w->selection;
    int64_t first = INT64_MAX;
    for (int i = 0; i < w->n_plans; i++) {
        plan *p = &w->plan[i];
        p->shift = p->base + clock_offset(clocks, p->rank, i);
        if (p->first + p->shift < first)
            first = p->first + p->shift;
    }
    for (int i = 0; i < w->n_plans; i++) {
        plan *p = &w->plan[i];
        if (s->from_given && first + s->from - p->shift > p->from)
            p->from = first + s->from - p->shift;
        if (s->to_given && first + s->to - p->shift < p->to)
            p->to = first + s->to - p->shift;
    }
}

static ek_status choose_ranks(rewrite *w, const ek__layout *layout, const ek_listener *listener, ek_error *err)
{
    bool layer_found = w->selection->n_layers == 0;
    ek_error own = {.status = EK_OK};
    w->plan = ek__pool_alloc(w->pool, (size_t)layout->n_ranks, sizeof *w->plan);
    if (!w->plan)
        return ek__no_memory(err);
    for (int i = 0; i < layout->n_ranks; i++) {
        plan p = {.files = &layout->rank[i], .stage = layout->rank[i].stage};
        while (p.n_files < p.files->n_files && p.files->file[p.n_files].type == EK__FILE_TRACE)
            p.n_files++;
        bool known = p.files->rank != EK_TRACE_NO_RANK;
        if (p.n_files == 0 || (known && !wants_rank(w->selection, p.files->rank)))
            continue;
        ek_status status = first_pass(w, &p, listener, &own);
        bool keep = status == EK_OK && wants_rank(w->selection, p.rank);
        layer_found |= p.layer_found;
        w->plan[w->n_plans] = p;
        w->n_plans += keep;
        if (!keep) {
            free(p.window);
            free(p.link);
        }
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        if (status != EK_OK)
            ek__warn(listener, (ek_origin){p.files->file[0].path, 0, 0}, "%s", own.message);
    }
    if (w->n_plans == 0 && own.status != EK_OK) {
        if (err)
            *err = own;
        return own.status;
    }
    if (w->n_plans == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the given paths contain no trace of a requested rank");
    if (!layer_found)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "no event belongs to the layer '%s'; names are whole elements of an operator's path, such as "
                        "0-LLamaDecodeLayer, or modules; `evenkeel trace` lists them",
                        w->selection->layer[0]);
    return EK_OK;
}

static ek_status write_all(rewrite *w, ek_error *err)
{
    ek_status status = EK_OK;
    bool of_one = !w->apart && w->plan[0].rank != EK_TRACE_NO_RANK;
    if (of_one)
        fprintf(w->out, "{\"distributedInfo\": {\"rank\": %d}, \"traceEvents\": ", w->plan[0].rank);
    fputs("[", w->out);
    for (int i = 0; i < w->n_plans && status == EK_OK; i++)
        for (int f = 0; f < w->plan[i].n_files && status == EK_OK; f++)
            status = copy_file(w, &w->plan[i], w->plan[i].files->file[f].path, err);
    name_the_rest(w);
    fputs(of_one ? "\n]}\n" : "\n]\n", w->out);
    if (status == EK_OK && w->written.n_events == 0)
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                          "the requested part contains no event; `evenkeel trace` lists steps, ranks and layers");
    if (status == EK_OK && (fflush(w->out) != 0 || ferror(w->out)))
        status = ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the trace could not be written; is the disk full?");
    return status;
}

ek_status ek_trace_write(const char *const *path, int n_paths, const ek_trace_selection *selection,
                         const ek_trace_clocks *clocks, const ek_trace_options *options, const ek_listener *listener,
                         FILE *out, ek_trace_written *written, ek_error *err)
{
    static const ek_trace_options defaults = {0};
    ek_status status = ek__trace_options_check(options ? options : &defaults, err);
    if (status)
        return status;
    rewrite w = {.selection = selection, .options = options ? options : &defaults, .out = out, .pool = ek__pool_new()};
    ek__layout layout = {0};
    if (!w.pool || !ek__texts_reset(&w.pids)) {
        ek__pool_free(w.pool);
        return ek__no_memory(err);
    }
    status = ek__layout_find(path, n_paths, w.pool, listener, &layout, err);
    if (status == EK_OK)
        status = choose_ranks(&w, &layout, listener, err);
    if (status == EK_OK) {
        w.apart = w.n_plans > 1;
        w.written.n_ranks = w.n_plans;
        place_ranges(&w, clocks);
        status = write_all(&w, err);
    }
    for (int i = 0; i < w.n_plans; i++) {
        free(w.plan[i].window);
        free(w.plan[i].link);
    }
    ek__texts_clear(&w.pids);
    free(w.named);
    ek__pool_free(w.pool);
    if (status == EK_OK && written)
        *written = w.written;
    return status;
}
