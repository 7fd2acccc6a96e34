/* Reads a rank's traces with several threads: blocks become parts, and parts are merged in the order of the file, so
 * that a damaged place ends the file exactly there (trace/scan/ordered.h). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "trace/scan/ordered.h"
#include "trace/scan/part.h"
#include "trace/text/side_json.h"

/* One file being read. */
typedef struct reading {
    ek__feed *feed;
    ek__trace_store *store;
    const ek_trace_options *options;
    int64_t n_files, file; /* for progress */
    int64_t damage;        /* byte of the file; -1 */
    int64_t merged;        /* bytes of it */
    bool out_of_memory, interrupted;
} reading;

static bool go_on(void *user)
{
    reading *r = user;
    int64_t total = ek__feed_total(r->feed);
    r->interrupted = ek__interrupted(r->options);
    if (r->options && r->options->progress && total > 0) {
        double share = (double)ek__feed_bytes(r->feed) / (double)total;
        r->options->progress(r->options->user, ((double)r->file + (share < 1 ? share : 1)) / (double)r->n_files,
                             "reading");
    }
    return !r->interrupted;
}

static void fill(void *user, void *part, const ek__block *block)
{
    const reading *r = user;
    if (ek__part_reset(part))
        ek__part_fill(part, block, r->options);
    else
        ((ek__part *)part)->out_of_memory = true;
}

/* The number of events of a large file is estimated from its beginning: lists that grow to that at once are neither
 * moved nor twice as long as needed. */
static bool expect_rest(reading *r, size_t n_bytes)
{
    enum { BEGINNING = 8 << 20, LEAST = 64 << 20 };
    const int64_t total = ek__feed_total(r->feed), before = r->merged;
    r->merged += (int64_t)n_bytes;
    if (r->file > 0 || total < LEAST || before >= BEGINNING || r->merged < BEGINNING)
        return true;
    return ek__store_expect(r->store, 1.02 * (double)total / (double)r->merged);
}

/* No data after a damaged place. */
static bool merge(void *user, void *part)
{
    reading *r = user;
    const ek__part *from = part;
    if (r->damage >= 0 || r->out_of_memory)
        return false;
    if (from->out_of_memory || !ek__store_merge(r->store, from) || !expect_rest(r, from->n_bytes))
        r->out_of_memory = true;
    r->damage = from->damage;
    return r->damage < 0 && !r->out_of_memory;
}

static void clear(void *part)
{
    ek__part_clear(part);
}

static void run_threads(reading *r, int n_threads)
{
    ek__ordered how = {.feed = r->feed,
                       .n_threads = n_threads,
                       .part_size = sizeof(ek__part),
                       .user = r,
                       .fill = fill,
                       .merge = merge,
                       .clear = clear,
                       .go_on = go_on};
    r->out_of_memory |= !ek__read_in_order(&how);
}

/* ---- data outside the events ---- */

/* Text that is not JSON has none of these members: the file may be cut. */
bool ek__trace_header(ek__feed *feed, ek__trace *out, bool *is_kineto)
{
    size_t size;
    bool no_memory;
    json_error_t error;
    const char *text = ek__feed_header(feed, &size);
    json_t *root = ek__json_load(text, size, 0, &error, &no_memory);
    const json_t *about = json_object_get(root, "distributedInfo");
    const json_t *rank = json_object_get(about, "rank"), *world = json_object_get(about, "world_size");
    const json_t *base = json_object_get(root, "baseTimeNanoseconds");
    if (json_is_integer(rank) && json_integer_value(rank) >= 0 && json_integer_value(rank) < EK_MAX_RANKS)
        out->rank = (int)json_integer_value(rank);
    if (json_is_integer(world) && json_integer_value(world) > 0 && json_integer_value(world) <= EK_MAX_RANKS)
        out->world_size = (int)json_integer_value(world);
    if (json_is_integer(base) && json_integer_value(base) > 0 && json_integer_value(base) < INT64_MAX / 4)
        out->base_ns = json_integer_value(base);
    if (json_object_get(root, "deviceProperties") || json_object_get(root, "schemaVersion") || about)
        *is_kineto = true;
    json_decref(root);
    return !no_memory;
}

/* ---- one file ---- */

ek_status ek__no_trace(const char *path, ek__feed *feed, ek_error *err)
{
    ek_origin origin = {path, 0, 0};
    size_t size;
    const char *header = ek__feed_header(feed, &size);
    if (ek__feed_bytes(feed) == 0)
        return ek__fail(err, EK_ERR_INPUT, origin, "the file is empty; was the profiler stopped before writing?");
    bool no_memory;
    json_error_t error;
    json_t *root = ek__json_load(header, size, 0, &error, &no_memory);
    if (no_memory)
        return ek__no_memory(err);
    bool execution = json_object_get(root, "nodes") && json_object_get(root, "schema");
    execution = execution || (json_object_get(root, "nodes") && !json_object_get(root, "traceEvents"));
    json_decref(root);
    if (execution)
        return ek__fail(
            err, EK_ERR_INPUT, origin,
            "this is a PyTorch execution trace (a graph, 'nodes'), not a timeline; give the profiler's trace");
    const char *problem = ek__feed_problem(feed, NULL);
    return ek__fail(err, EK_ERR_INPUT, origin,
                    "no trace events in it: neither an array of events nor an object with \"traceEvents\"%s%s; give a "
                    "Chrome trace such as trace_view.json",
                    problem ? " (" : "", problem ? problem : "");
}

static bool fill_source(const reading *r, ek__pool *pool, int64_t items, ek_trace_source *source)
{
    int64_t offset = EK_TRACE_UNKNOWN;
    const char *problem = ek__feed_problem(r->feed, &offset);
    source->bytes = ek__feed_bytes(r->feed);
    source->items = items;
    source->problem_offset = EK_TRACE_UNKNOWN;
    if (r->damage >= 0) {
        source->problem_offset = r->damage;
        source->problem = ek__pool_format(pool, "no valid JSON at byte %lld; only the %lld events before it are used",
                                          (long long)r->damage, (long long)items);
    } else if (problem && offset < 0) {
        source->problem =
            ek__pool_format(pool, "%s; the %lld events that could be read are used", problem, (long long)items);
    } else if (problem) {
        source->problem_offset = offset;
        source->problem = ek__pool_format(pool, "%s, at byte %lld; the %lld events before it are used", problem,
                                          (long long)offset, (long long)items);
    }
    return source->problem || (r->damage < 0 && !problem);
}

static ek_status read_file(const char *path, int n_threads, reading *r, ek__pool *pool, ek_trace_source *source,
                           ek__trace *out, bool *is_kineto, ek_error *err)
{
    int64_t before = r->store->n_items;
    ek_status status = ek__feed_open(path, &r->feed, err);
    if (status != EK_OK)
        return status;
    r->damage = -1;
    r->merged = 0;
    run_threads(r, n_threads);
    bool has_room = !r->out_of_memory && !ek__feed_out_of_memory(r->feed);
    if (has_room && !r->interrupted && ek__feed_has_events(r->feed))
        has_room =
            ek__trace_header(r->feed, out, is_kineto) && fill_source(r, pool, r->store->n_items - before, source);
    if (!has_room)
        status = ek__no_memory(err);
    else if (r->interrupted)
        status = ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "interrupted");
    else if (!ek__feed_has_events(r->feed))
        status = ek__no_trace(path, r->feed, err);
    ek__feed_close(r->feed);
    return status;
}

/* A file of several that is not a trace is reported and left out; the last one's error is returned when none is a
 * trace. */
static ek_status read_all(const char *const *path, int n_paths, int n_threads, reading *r, ek__pool *pool,
                          ek_trace_source *source, ek__trace *out, bool *is_kineto, ek_error *err)
{
    int n_read = 0;
    ek_status status = EK_OK;
    ek_error own;
    for (int i = 0; i < n_paths; i++) {
        r->file = i;
        source[i].problem_offset = EK_TRACE_UNKNOWN;
        status = read_file(path[i], n_threads, r, pool, &source[i], out, is_kineto, &own);
        n_read += status == EK_OK;
        if (status == EK_ERR_MEMORY || r->interrupted)
            break;
        if (status != EK_OK)
            source[i].problem = ek__pool_format(pool, "%s", own.message);
        if (status != EK_OK && !source[i].problem)
            return ek__no_memory(err);
    }
    if (status != EK_ERR_MEMORY && !r->interrupted && n_read > 0)
        return EK_OK;
    if (err && status != EK_OK)
        *err = own;
    return status;
}

ek_status ek__trace_read(const char *const *path, int n_paths, int n_threads, const ek_trace_options *options,
                         ek__pool *pool, ek_trace_source *source, ek__trace *out, ek_error *err)
{
    ek__trace trace = {.rank = EK_TRACE_NO_RANK, .pool = pool};
    bool is_kineto = false;
    reading r = {.options = options, .n_files = n_paths, .damage = -1};
    r.store = trace.store = calloc(1, sizeof *r.store);
    if (!r.store)
        return ek__no_memory(err);
    ek_status status = read_all(path, n_paths, n_threads, &r, pool, source, &trace, &is_kineto, err);
    r.store->is_kineto = is_kineto;
    if (status == EK_OK)
        status = ek__store_finish(r.store, &trace, err);
    if (status == EK_OK)
        status = ek__launches_make(&trace, err);
    if (is_kineto && trace.producer == EK_PRODUCER_UNKNOWN)
        trace.producer = EK_PRODUCER_KINETO;
    if (status == EK_OK)
        status = ek__name_exchanges(&trace, options, err);
    if (status != EK_OK) {
        ek__trace_clear(&trace);
        return status;
    }
    if (r.store->too_many_tracks && !source[0].problem)
        source[0].problem =
            ek__pool_format(pool, "it has more than 65535 threads; events of further threads are left out");
    if (r.store->has_cut_texts && !source[0].problem)
        source[0].problem =
            ek__pool_format(pool, "names of more than %d KB are truncated", (int)(EK__MOST_TEXT / 1024));
    trace.counts.rank = trace.rank;
    trace.counts.world_size = trace.world_size;
    *out = trace;
    return EK_OK;
}

void ek__trace_clear(ek__trace *trace)
{
    ek__launches_free(trace->launches);
    trace->launches = NULL;
    if (trace->store)
        ek__store_clear(trace->store);
    free(trace->store);
    trace->store = NULL;
}
