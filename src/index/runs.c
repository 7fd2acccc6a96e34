/* An external sort that uses sort.c. Records gathered up to a bound are split into buckets by counting, sorted and
 * written as a run to an unnamed temporary file; the last run stays in memory. A bucket is read by merging its parts of
 * the runs with a heap and a small buffer per run. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/output.h"
#include "index/sort.h"

enum { BUFFER_BYTES = 32 << 10 };

/* Of eight parts of the memory, one is for the gathered records with their buckets, one for the run made from them, and
 * six for the runs that stay in memory. */
void ek__sorter_init(ek__sorter *sorter, int n_words, int n_keys, size_t bytes, const char *folder)
{
    assert((n_words == 2 || n_words == EK__SORT_MAX_WORDS) && n_keys >= 1 && n_keys <= n_words);
    size_t size = (size_t)n_words * sizeof(uint64_t), bound = bytes / 8 / (size + sizeof(uint32_t));
    *sorter = (ek__sorter){.n_words = n_words,
                           .n_keys = n_keys,
                           .bound = bound > 0 ? bound < UINT32_MAX ? bound : UINT32_MAX - 1 : 1,
                           .keep = bytes / 8 * 6 / size,
                           .folder = folder,
                           .fd = -1};
    assert(sorter->bound >= 1 && sorter->bound < UINT32_MAX);
}

void ek__sorter_clear(ek__sorter *sorter)
{
    for (int i = 0; i < sorter->n_runs; i++) {
        free(sorter->run[i].first);
        free(sorter->run[i].words);
    }
    free(sorter->run);
    free(sorter->record);
    free(sorter->bucket);
    free(sorter->sorted);
    free(sorter->count);
    if (sorter->fd >= 0)
        close(sorter->fd);
    *sorter = (ek__sorter){.fd = -1};
}

/* ---- gathering ---- */

static size_t record_bytes(const ek__sorter *sorter)
{
    return (size_t)sorter->n_words * sizeof(uint64_t);
}

static bool make_room(ek__sorter *sorter, size_t n)
{
    size_t capacity = sorter->capacity;
    uint64_t *record = ek__with_room(sorter->record, &capacity, n, record_bytes(sorter));
    if (!record)
        return false;
    sorter->record = record;
    if (capacity == sorter->capacity)
        return true;
    uint32_t *bucket = realloc(sorter->bucket, capacity * sizeof *bucket);
    if (!bucket)
        return false; /* the capacity does not change: the next call moves the records again */
    sorter->bucket = bucket;
    sorter->capacity = capacity;
    return true;
}

static bool count_buckets(ek__sorter *sorter, const uint32_t *buckets, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = buckets[i] > most ? buckets[i] : most;
    if (n > 0 && most >= sorter->n_buckets) {
        uint64_t *count = ek__with_room(sorter->count, &sorter->counts_capacity, (size_t)most + 1, sizeof *count);
        if (!count)
            return false;
        memset(count + sorter->n_buckets, 0, (most + 1 - sorter->n_buckets) * sizeof *count);
        sorter->count = count;
        sorter->n_buckets = most + 1;
    }
    for (size_t i = 0; i < n; i++)
        sorter->count[buckets[i]]++;
    return true;
}

/* ---- a run ---- */

/* Records into `sorted`, bucket by bucket, in order of arrival. */
static void split(const ek__sorter *sorter, const ek__sort_run *run, uint32_t *next)
{
    size_t n_words = (size_t)sorter->n_words;
    for (uint32_t b = 0; b < run->n_buckets; b++)
        next[b] = run->first[b];
    for (size_t i = 0; i < sorter->n; i++) {
        assert(next[sorter->bucket[i]] < run->first[sorter->bucket[i] + 1]);
        memcpy(sorter->sorted + n_words * next[sorter->bucket[i]]++, sorter->record + n_words * i,
               n_words * sizeof(uint64_t));
    }
}

static void find_buckets(const ek__sorter *sorter, ek__sort_run *run)
{
    memset(run->first, 0, ((size_t)run->n_buckets + 1) * sizeof *run->first);
    for (size_t i = 0; i < sorter->n; i++)
        run->first[sorter->bucket[i] + 1]++;
    for (uint32_t b = 0; b < run->n_buckets; b++)
        run->first[b + 1] += run->first[b];
    assert(run->first[run->n_buckets] == sorter->n);
}

/* Make a run of the gathered records, in its own memory. The memory of the gathered records is then scratch space. */
static ek__sort_run *make_run(ek__sorter *sorter)
{
    ek__sort_run *room = ek__with_room(sorter->run, &sorter->runs_capacity, (size_t)sorter->n_runs + 1, sizeof *room);
    if (!room)
        return NULL;
    sorter->run = room;
    if (!sorter->sorted)
        sorter->sorted = malloc(sorter->n * record_bytes(sorter));
    ek__sort_run run = {.n_buckets = sorter->n_buckets};
    uint32_t *next = ek__alloc((size_t)run.n_buckets + 1, sizeof *next);
    run.first = ek__alloc((size_t)run.n_buckets + 1, sizeof *run.first);
    if (!next || !run.first || !sorter->sorted) {
        free(next);
        free(run.first);
        return NULL;
    }
    find_buckets(sorter, &run);
    split(sorter, &run, next);
    free(next);
    for (uint32_t b = 0; b < run.n_buckets; b++)
        ek__sort_records(sorter->sorted + (size_t)sorter->n_words * run.first[b], run.first[b + 1] - run.first[b],
                         sorter->n_words, sorter->n_keys, sorter->record);
    run.words = sorter->sorted;
    sorter->run[sorter->n_runs] = run;
    return &sorter->run[sorter->n_runs++];
}

/* The run's records go to the file; their memory is reused for the next run. */
static ek_status spill(ek__sorter *sorter, ek__sort_run *run, ek_error *err)
{
    ek_status status = EK_OK;
    assert(run->words == sorter->sorted);
    size_t size = sorter->n * record_bytes(sorter);
    if (sorter->fd < 0)
        status = ek__open_nameless(sorter->folder, &sorter->fd, err);
    if (status == EK_OK)
        status = ek__write_at(sorter->fd, sorter->folder, run->words, size, sorter->file_size, err);
    run->words = NULL;
    run->at = sorter->file_size;
    sorter->file_size += size;
    return status;
}

/* The gathered records become a run, which stays in memory while there is room. */
static ek_status end_run(ek__sorter *sorter, ek_error *err)
{
    ek_status status = EK_OK;
    ek__sort_run *run = sorter->n > 0 ? make_run(sorter) : NULL;
    if (sorter->n > 0 && !run)
        return ek__no_memory(err);
    if (run && sorter->n_kept + sorter->n > sorter->keep)
        status = spill(sorter, run, err);
    else if (run) {
        sorter->n_kept += sorter->n;
        sorter->sorted = NULL;
    }
    assert(sorter->n_kept <= sorter->keep);
    sorter->n = 0;
    return status;
}

ek_status ek__sorter_add(ek__sorter *sorter, const uint64_t *records, const uint32_t *buckets, size_t n, ek_error *err)
{
    if (!count_buckets(sorter, buckets, n))
        return ek__no_memory(err);
    while (n > 0) {
        assert(sorter->n < sorter->bound);
        size_t left = sorter->bound - sorter->n, taken = n < left ? n : left;
        if (taken > 0 && !make_room(sorter, sorter->n + taken))
            return ek__no_memory(err);
        if (taken > 0) {
            memcpy(sorter->record + (size_t)sorter->n_words * sorter->n, records, taken * record_bytes(sorter));
            memcpy(sorter->bucket + sorter->n, buckets, taken * sizeof *buckets);
        }
        sorter->n += taken;
        records += (size_t)sorter->n_words * taken;
        buckets += taken;
        n -= taken;
        ek_status status = sorter->n == sorter->bound ? end_run(sorter, err) : EK_OK;
        if (status != EK_OK)
            return status;
    }
    return EK_OK;
}

ek_status ek__sorter_finish(ek__sorter *sorter, ek_error *err)
{
    ek_status status = end_run(sorter, err);
    free(sorter->record);
    free(sorter->bucket);
    free(sorter->sorted);
    sorter->record = sorter->sorted = NULL;
    sorter->bucket = NULL;
    sorter->capacity = 0;
    return status;
}

/* ---- reading a bucket ---- */

static bool comes_before(const ek__sort_source *a, const ek__sort_source *b, int n_keys)
{
    for (int i = 0; i < n_keys; i++)
        if (a->record[i] != b->record[i])
            return a->record[i] < b->record[i];
    return a->run < b->run;
}

/* Usually the same source stays first: profilers write nearly in order of time. */
static void sift_down(ek__sort_stream *stream, int at)
{
    ek__sort_source *s = stream->source;
    for (int child; (child = 2 * at + 1) < stream->n_sources; at = child) {
        if (child + 1 < stream->n_sources && comes_before(&s[child + 1], &s[child], stream->sorter->n_keys))
            child++;
        if (!comes_before(&s[child], &s[at], stream->sorter->n_keys))
            return;
        ek__sort_source moved = s[at];
        s[at] = s[child];
        s[child] = moved;
    }
}

/* Read more of a source from the file. It must not be at its end. */
static ek_status refill(const ek__sort_stream *stream, ek__sort_source *source, ek_error *err)
{
    assert(source->n_left > 0 && source->buffer);
    size_t size = record_bytes(stream->sorter), n = BUFFER_BYTES / size;
    n = source->n_left < n ? (size_t)source->n_left : n;
    ek_status status =
        ek__read_at(stream->sorter->fd, stream->sorter->folder, source->buffer, n * size, source->at, err);
    source->at += n * size;
    source->n_left -= n;
    source->record = source->buffer;
    source->end = source->buffer + n * (size_t)stream->sorter->n_words;
    return status;
}

#ifndef NDEBUG
/* Does the first source's record come before those of its children? */
static bool is_heap(const ek__sort_stream *stream)
{
    for (int i = 1; i < 3 && i < stream->n_sources; i++)
        if (comes_before(&stream->source[i], &stream->source[0], stream->sorter->n_keys))
            return false;
    return true;
}
#endif

/* Runs that stayed in memory need no buffer. */
static int count_spilled(const ek__sorter *sorter)
{
    int n = 0;
    for (int r = 0; r < sorter->n_runs; r++)
        n += !sorter->run[r].words;
    return n;
}

static bool make_sources(ek__sort_stream *stream, const ek__sorter *sorter)
{
    size_t n = (size_t)sorter->n_runs, n_spilled = (size_t)count_spilled(sorter);
    ek__sort_source *source = ek__with_room(stream->source, &stream->sources_capacity, n + 1, sizeof *source);
    if (!source)
        return false;
    stream->source = source;
    if (n_spilled > stream->n_buffers) {
        free(stream->buffers);
        stream->n_buffers = 0;
        stream->buffers = malloc(n_spilled * BUFFER_BYTES);
        if (!stream->buffers)
            return false;
        stream->n_buffers = n_spilled;
    }
    return true;
}

ek_status ek__sort_stream_open(ek__sort_stream *stream, const ek__sorter *sorter, uint32_t bucket, ek_error *err)
{
    assert(!sorter->record && sorter->n == 0); /* it is finished */
    stream->sorter = sorter;
    stream->n_sources = 0;
    stream->given = false;
    if (!make_sources(stream, sorter))
        return ek__no_memory(err);
    size_t n_buffers = 0;
    for (int r = 0; r < sorter->n_runs; r++) {
        const ek__sort_run *run = &sorter->run[r];
        uint32_t first = bucket < run->n_buckets ? run->first[bucket] : 0;
        uint32_t n = bucket < run->n_buckets ? run->first[bucket + 1] - first : 0;
        ek__sort_source *source = &stream->source[stream->n_sources];
        if (n == 0)
            continue;
        *source = (ek__sort_source){.run = r};
        if (run->words) {
            source->record = run->words + (size_t)sorter->n_words * first;
            source->end = source->record + (size_t)sorter->n_words * n;
        } else {
            source->buffer = stream->buffers + n_buffers++ * (BUFFER_BYTES / sizeof(uint64_t));
            source->at = run->at + first * record_bytes(sorter);
            source->n_left = n;
            ek_status status = refill(stream, source, err);
            if (status != EK_OK)
                return status;
        }
        stream->n_sources++;
    }
    for (int i = stream->n_sources / 2; i-- > 0;)
        sift_down(stream, i);
    assert(stream->n_sources <= sorter->n_runs && is_heap(stream));
    return EK_OK;
}

const uint64_t *ek__sort_stream_next(ek__sort_stream *stream, ek_status *status, ek_error *err)
{
    ek__sort_source *first = stream->source;
    if (stream->given) {
        first->record += stream->sorter->n_words;
        if (first->record == first->end && first->n_left > 0) {
            *status = refill(stream, first, err);
            if (*status != EK_OK)
                return NULL;
        }
        if (first->record == first->end)
            *first = stream->source[--stream->n_sources];
        if (stream->n_sources > 1)
            sift_down(stream, 0);
    }
    assert(is_heap(stream));
    stream->given = stream->n_sources > 0;
    return stream->given ? first->record : NULL;
}

void ek__sort_stream_clear(ek__sort_stream *stream)
{
    free(stream->source);
    free(stream->buffers);
    *stream = (ek__sort_stream){0};
}
