/* Reading a rank's traces with several threads. Each takes the next block of the feed and turns it into a part on its
 * own. Parts are merged in the order of the file, so that the result does not depend on the threads, and a damaged
 * place ends the file exactly there: a part that is done before its turn is parked, and whoever merges the one before
 * it goes on with it. Framing and merging are the only work under a lock. */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/part.h"
#include "trace/side_json.h"

enum { MAX_THREADS = 64, PARKED_PER_THREAD = 2 };

/* A part that waits for those before it. Its memory stays for the next one. */
typedef struct parked {
    bool taken;
    int64_t sequence;
    ek__part part;
} parked;

/* One file being read. */
typedef struct reading {
    ek__feed *feed;
    ek__trace_store *store;
    const ek_trace_options *options;
    int64_t n_files, file; /* for progress */
    pthread_mutex_t feeding, merging;
    pthread_cond_t turn;
    int64_t next;   /* block to merge next */
    parked *parked; /* [n_parked] places, free or taken */
    int n_parked;
    bool stopped;   /* damage, interrupt or memory: no more blocks are taken */
    int64_t damage; /* byte of the file; -1 */
    bool out_of_memory, interrupted;
} reading;

static void tell_progress(const reading *r)
{
    int64_t total = ek__feed_total(r->feed);
    if (!r->options || !r->options->progress || total <= 0)
        return;
    double share = (double)ek__feed_bytes(r->feed) / (double)total;
    r->options->progress(r->options->user, ((double)r->file + (share < 1 ? share : 1)) / (double)r->n_files, "reading");
}

static bool take_block(reading *r, ek__block *block)
{
    pthread_mutex_lock(&r->feeding);
    if (!r->stopped && ek__interrupted(r->options))
        r->interrupted = r->stopped = true;
    bool taken = !r->stopped && ek__feed_next(r->feed, block);
    if (!taken)
        r->stopped = true;
    else
        tell_progress(r);
    pthread_mutex_unlock(&r->feeding);
    return taken;
}

static void stop(reading *r)
{
    pthread_mutex_lock(&r->feeding);
    r->stopped = true;
    pthread_mutex_unlock(&r->feeding);
}

/* Under the lock of merging, in the order of the file; nothing behind a damaged place. @return false to read no more */
static bool merge_next(reading *r, const ek__part *part)
{
    bool go_on = true;
    if (r->damage < 0 && !r->out_of_memory) {
        if (part->out_of_memory || !ek__store_merge(r->store, part))
            r->out_of_memory = true;
        if (part->damage >= 0)
            r->damage = part->damage;
        go_on = r->damage < 0 && !r->out_of_memory;
    }
    r->next++;
    return go_on;
}

/* The place that a part is parked in; with sequence -1 one that is free. NULL when there is none. */
static parked *find_parked(reading *r, int64_t sequence)
{
    for (int i = 0; i < r->n_parked; i++)
        if (sequence < 0 ? !r->parked[i].taken : r->parked[i].taken && r->parked[i].sequence == sequence)
            return &r->parked[i];
    return NULL;
}

/* Merge a part and all that waited for it; else park it, for which another one's memory comes back. Without a free
 * place its thread waits; the one whose turn it is never does. */
static void merge_in_turn(reading *r, int64_t sequence, ek__part *part)
{
    bool go_on = true;
    parked *place = NULL;
    pthread_mutex_lock(&r->merging);
    while (r->next != sequence && !(place = find_parked(r, -1)))
        pthread_cond_wait(&r->turn, &r->merging);
    if (r->next != sequence) {
        ek__part own = place->part;
        *place = (parked){true, sequence, *part};
        *part = own;
    } else {
        go_on = merge_next(r, part);
        while ((place = find_parked(r, r->next))) {
            go_on = merge_next(r, &place->part) && go_on;
            place->taken = false;
        }
        pthread_cond_broadcast(&r->turn);
    }
    pthread_mutex_unlock(&r->merging);
    if (!go_on)
        stop(r);
}

static void *work(void *argument)
{
    reading *r = argument;
    ek__block block = {0};
    ek__part part = {0};
    while (take_block(r, &block)) {
        if (ek__part_reset(&part))
            ek__part_fill(&part, &block, r->options);
        else
            part.out_of_memory = true;
        merge_in_turn(r, block.sequence, &part);
    }
    ek__part_clear(&part);
    ek__block_clear(&block);
    return NULL;
}

static void run_threads(reading *r, int n_threads)
{
    pthread_t thread[MAX_THREADS];
    int n = 0;
    if (n_threads > MAX_THREADS)
        n_threads = MAX_THREADS;
    /* Without places to park, as without all the threads that were wanted, it is only slower. */
    r->parked = n_threads > 1 ? ek__alloc((size_t)n_threads * PARKED_PER_THREAD, sizeof *r->parked) : NULL;
    r->n_parked = r->parked ? n_threads * PARKED_PER_THREAD : 0;
    while (n + 1 < n_threads && pthread_create(&thread[n], NULL, work, r) == 0)
        n++;
    work(r); /* the caller's thread works too */
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < r->n_parked; i++)
        ek__part_clear(&r->parked[i].part);
    free(r->parked);
}

/* ---- what stands outside the events ---- */

/* What is no JSON there is none of ours: the file may be cut. @return false when memory is out */
static bool take_header(ek__feed *feed, ek__trace *out, bool *is_kineto)
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

static ek_status no_trace(const char *path, ek__feed *feed, ek_error *err)
{
    ek_origin origin = {path, 0, 0};
    size_t size;
    const char *header = ek__feed_header(feed, &size);
    if (ek__feed_bytes(feed) == 0)
        return ek__fail(err, EK_ERR_INPUT, origin, "the file is empty; was the profiler stopped before it wrote?");
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
        source->problem =
            ek__pool_format(pool,
                            "no valid JSON at byte %lld; the %lld events before it are used, what follows "
                            "is not",
                            (long long)r->damage, (long long)items);
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
    r->next = 0;
    r->stopped = false;
    r->damage = -1;
    run_threads(r, n_threads);
    bool has_room = !r->out_of_memory && !ek__feed_out_of_memory(r->feed);
    if (has_room && !r->interrupted && ek__feed_has_events(r->feed))
        has_room = take_header(r->feed, out, is_kineto) && fill_source(r, pool, r->store->n_items - before, source);
    if (!has_room)
        status = ek__no_memory(err);
    else if (r->interrupted)
        status = ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "interrupted");
    else if (!ek__feed_has_events(r->feed))
        status = no_trace(path, r->feed, err);
    ek__feed_close(r->feed);
    return status;
}

/* A file of several that is no trace is told of and left out; the last one's error stands when none is a trace. */
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
    pthread_mutex_init(&r.feeding, NULL);
    pthread_mutex_init(&r.merging, NULL);
    pthread_cond_init(&r.turn, NULL);
    ek_status status = read_all(path, n_paths, n_threads, &r, pool, source, &trace, &is_kineto, err);
    r.store->is_kineto = is_kineto;
    if (status == EK_OK)
        status = ek__store_finish(r.store, &trace, err);
    if (status == EK_OK)
        status = ek__launches_make(&trace, err);
    pthread_cond_destroy(&r.turn);
    pthread_mutex_destroy(&r.merging);
    pthread_mutex_destroy(&r.feeding);
    if (status != EK_OK) {
        ek__trace_clear(&trace);
        return status;
    }
    if (is_kineto && trace.producer == EK_PRODUCER_UNKNOWN)
        trace.producer = EK_PRODUCER_KINETO;
    if (r.store->too_many_tracks && !source[0].problem)
        source[0].problem = ek__pool_format(pool, "it has more than 65535 threads; events of the others are left out");
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
