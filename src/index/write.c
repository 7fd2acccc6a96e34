/* Writes the index file of a trace: several threads turn blocks into records, records are gathered in file order
 * (gather.c) and sorted (runs.c), and the sorted records are written (finish.c). The file appears whole or not at all
 * (evenkeel/save.h). */
#include "index/write.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/threads.h"
#include "evenkeel/save.h"
#include "index/finish.h"
#include "index/output.h"
#include "index/records.h"
#include "trace/scan/gunzip.h"
#include "trace/scan/ordered.h"

/* Decompressed bytes between two entry points of a compressed trace: inflated in about 10 ms. */
enum { SPOT_DISTANCE = 4 << 20 };

/* Reading's share of the time, for the progress. */
#define READING_SHARE 0.75

typedef struct writing {
    const char *trace_path, *out_path;
    const ek_trace_index_options *options;
    double first, last;
    size_t bound;
    char *folder; /* of the index */
    ek__feed *feed;
    ek__index_store store;
    ek__trace trace;
    ek__index_header header;
    int64_t damage; /* byte of the file; -1 */
    bool interrupted;
    ek_status status;
    ek_error error;
} writing;

static void report(const writing *w, double share)
{
    assert(share >= 0 && share <= 1);
    if (w->options && w->options->progress)
        w->options->progress(w->options->user, w->first + share * (w->last - w->first), "indexing");
}

/* ---- reading ---- */

static bool go_on(void *user)
{
    writing *w = user;
    int64_t total = ek__feed_total(w->feed);
    w->interrupted = w->options && ek_interrupted(w->options->interrupt);
    if (total > 0) {
        double share = (double)ek__feed_bytes(w->feed) / (double)total;
        report(w, READING_SHARE * (share < 1 ? share : 1));
    }
    return !w->interrupted;
}

static void fill(void *user, void *part, const ek__block *block)
{
    (void)user;
    ek__index_part_fill(part, block);
}

/* No events after a damaged place. */
static bool merge(void *user, void *part)
{
    writing *w = user;
    ek__index_part *from = part;
    if (w->damage >= 0 || w->status != EK_OK)
        return false;
    w->status = from->base.out_of_memory ? ek__no_memory(&w->error) : ek__index_store_merge(&w->store, from, &w->error);
    w->damage = from->base.damage;
    return w->damage < 0 && w->status == EK_OK;
}

static void clear(void *part)
{
    ek__index_part_clear(part);
}

static ek_status fail(writing *w, ek_error *err)
{
    if (err)
        *err = w->error;
    return w->status;
}

static ek_status read_trace(writing *w, ek_error *err)
{
    ek_status status = ek__feed_open(w->trace_path, &w->feed, err);
    ek__ordered how = {.feed = w->feed,
                       .n_threads = ek__thread_count(w->options ? w->options->n_threads : 0),
                       .part_size = sizeof(ek__index_part),
                       .user = w,
                       .fill = fill,
                       .merge = merge,
                       .clear = clear,
                       .go_on = go_on};
    if (status != EK_OK)
        return status;
    if (ek__feed_gunzip(w->feed))
        ek__gunzip_note_spots(ek__feed_gunzip(w->feed), SPOT_DISTANCE);
    if (!ek__read_in_order(&how) || ek__feed_out_of_memory(w->feed))
        return ek__no_memory(err);
    if (w->status != EK_OK)
        return fail(w, err);
    if (w->interrupted)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){w->trace_path, 0, 0}), "interrupted");
    if (!ek__feed_has_events(w->feed))
        return ek__no_trace(w->trace_path, w->feed, err);
    if (!ek__trace_header(w->feed, &w->trace, &w->store.base.is_kineto))
        return ek__no_memory(err);
    return EK_OK;
}

/* ---- the header ---- */

static void describe(writing *w)
{
    ek__index_header *h = &w->header;
    h->magic = EK__INDEX_MAGIC;
    h->header_size = sizeof *h;
    h->trace_bytes = ek__feed_offset(w->feed);
    h->begin = w->store.begin;
    h->end = w->store.end;
    h->n_items = w->store.base.n_items;
    h->n_odd = w->store.base.n_odd;
    h->compressed = ek__feed_gunzip(w->feed) != NULL;
    h->rank = w->trace.rank;
    h->world_size = w->trace.world_size;
    h->problem_at = w->damage;
    assert(h->begin <= h->end || (h->begin == INT64_MAX && h->end == INT64_MIN)); /* or no event */
    if (w->damage < 0)
        ek__feed_problem(w->feed, &h->problem_at);
}

static void report_problem(const writing *w, ek__index_written *out)
{
    int64_t offset;
    const char *problem = ek__feed_problem(w->feed, &offset);
    if (w->damage >= 0)
        snprintf(out->problem, sizeof out->problem, "no valid JSON; the rest is not used");
    else if (problem)
        snprintf(out->problem, sizeof out->problem, "%s", problem);
    else if (w->store.base.too_many_tracks)
        snprintf(out->problem, sizeof out->problem,
                 "it has more than %d threads or counters; events of the others are left out", EK__MAX_TRACKS);
    out->problem_at = w->header.problem_at;
}

/* ---- writing ---- */

static void told(void *user, double share)
{
    report(user, READING_SHARE + share * (1 - READING_SHARE));
}

static ek_status write_index(writing *w, int fd, const char *path, ek_error *err)
{
    ek__index_finish how = {.store = &w->store,
                            .trace = &w->trace,
                            .path = path,
                            .folder = w->folder,
                            .gunzip = ek__feed_gunzip(w->feed),
                            .fd = fd,
                            .n_threads = ek__thread_count(w->options ? w->options->n_threads : 0),
                            .bound = w->bound,
                            .header = &w->header,
                            .interrupt = w->options ? w->options->interrupt : NULL,
                            .progress = told,
                            .user = w};
    ek_status status = ek__index_store_settle(&w->store, err);
    describe(w);
    if (status == EK_OK && !ek__store_tracks(&w->store.base, &w->trace))
        return ek__no_memory(err);
    return status == EK_OK ? ek__index_finish_file(&how, err) : status;
}

/* Written under a temporary name, then renamed. Readable only by its owner, as the trace may be. */
static ek_status write_file(writing *w, ek_error *err)
{
    ek_save *save;
    const ek_save_options how = {.temporary = w->options && w->options->temporary};
    ek_status status = ek_save_begin(w->out_path, &how, &save, err);
    if (status == EK_ERR_SYSTEM)
        return ek__cannot_open(w->out_path, "make the index", errno, err);
    if (status != EK_OK)
        return status;
    status = write_index(w, fileno(ek_save_stream(save)), w->out_path, err);
    if (status == EK_OK)
        return ek_save_finish(save, err);
    ek_save_drop(save);
    return status;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    const char *from = slash == path ? "/" : slash ? path : ".";
    size = size > 0 ? size : 1;
    char *folder = ek__alloc(size + 1, 1);
    if (folder)
        memcpy(folder, from, size);
    return folder;
}

static ek_status write_all(writing *w, ek__index_written *out, ek_error *err)
{
    struct stat about;
    ek_origin origin = {w->trace_path, 0, 0};
    w->folder = folder_of(w->out_path);
    w->trace.pool = ek__pool_new();
    if (!w->folder || !w->trace.pool || !ek__index_store_init(&w->store, w->bound, w->folder))
        return ek__no_memory(err);
    if (stat(w->trace_path, &about) != 0)
        return ek__fail(err, EK_ERR_SYSTEM, origin, "cannot open '%s': %s", w->trace_path, strerror(errno));
    ek_status status = read_trace(w, err);
    if (status != EK_OK)
        return status;
    w->header.trace_size = about.st_size;
    w->header.trace_changed = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    status = write_file(w, err);
    if (status != EK_OK)
        return status;
    *out = (ek__index_written){.bytes_read = ek__feed_bytes(w->feed),
                               .bytes_index = (int64_t)w->header.file_size,
                               .n_events = (int64_t)w->header.events.n};
    report_problem(w, out);
    return EK_OK;
}

ek_status ek__index_write_within(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                                 double first, double last, size_t bound, ek__index_written *out, ek_error *err)
{
    assert(first >= 0 && first <= last && last <= 1);
    writing *w = ek__alloc(1, sizeof *w);
    if (!w)
        return ek__no_memory(err);
    w->trace_path = trace_path;
    w->out_path = out_path;
    w->options = options;
    w->first = first;
    w->last = last;
    w->bound = bound;
    w->damage = -1;
    w->trace.rank = EK_TRACE_NO_RANK;
    ek__sorter_init(&w->store.events, 2, 1, 0, NULL);
    ek__sorter_init(&w->store.points, 2, 1, 0, NULL);
    ek__sorter_init(&w->store.flows, 2, 1, 0, NULL);
    ek__sorter_init(&w->store.spans, 2, 1, 0, NULL);
    ek_status status = write_all(w, out, err);
    ek__feed_close(w->feed);
    ek__index_store_clear(&w->store);
    ek__pool_free(w->trace.pool);
    free(w->folder);
    free(w);
    return status;
}

ek_status ek__index_write(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                          double first, double last, ek__index_written *out, ek_error *err)
{
    return ek__index_write_within(trace_path, out_path, options, first, last, EK__INDEX_BOUND, out, err);
}
