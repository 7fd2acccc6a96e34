/* Merges parts in file order: renumbers their texts and tracks for the whole file and passes their records to the
 * external sorts. */
#include "index/records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool ek__index_store_init(ek__index_store *store, size_t bound, const char *folder)
{
    *store = (ek__index_store){.begin = INT64_MAX, .end = INT64_MIN};
    ek__sorter_init(&store->events, EK__EVENT_WORDS, EK__EVENT_KEYS, bound / 2, folder);
    ek__sorter_init(&store->points, EK__POINT_WORDS, EK__POINT_KEYS, bound / 8 * 3, folder);
    ek__sorter_init(&store->flows, EK__FLOW_WORDS, EK__FLOW_KEYS, bound / 8, folder);
    ek__sorter_init(&store->spans, EK__SPAN_WORDS, EK__SPAN_KEYS, bound / 8, folder);
    return ek__texts_reset(&store->base.texts) && ek__texts_reset(&store->names.texts);
}

void ek__index_store_clear(ek__index_store *store)
{
    ek__store_clear(&store->base);
    ek__texts_clear(&store->names.texts);
    free(store->names.count);
    ek__sorter_clear(&store->events);
    ek__sorter_clear(&store->points);
    ek__sorter_clear(&store->flows);
    ek__sorter_clear(&store->spans);
    ek__tracks_clear(&store->counter_names);
    ek__tracks_clear(&store->counters);
    free(store->order);
    free(store->renumber);
    *store = (ek__index_store){0};
}

static bool make_room(ek__index_store *store, size_t n)
{
    uint32_t *room = ek__with_room(store->renumber, &store->renumber_capacity, n + 1, sizeof *room);
    if (room)
        store->renumber = room;
    return room != NULL;
}

/* ---- names ---- */

static bool add_count(ek__index_names *names, uint32_t number, const ek__name_count *count)
{
    if (number >= names->capacity) {
        size_t before = names->capacity;
        ek__name_count *room = ek__with_room(names->count, &names->capacity, (size_t)number + 1, sizeof *room);
        if (!room)
            return false;
        memset(room + before, 0, (names->capacity - before) * sizeof *room);
        names->count = room;
    }
    assert(count->total >= 0);
    names->count[number].n += count->n;
    if (__builtin_add_overflow(names->count[number].total, count->total, &names->count[number].total))
        names->count[number].total = INT64_MAX;
    return true;
}

/* The part's names here, in renumber[]. */
static bool merge_names(ek__index_store *store, const ek__index_part *part)
{
    static const ek__name_count none;
    const ek__texts *texts = &part->names.texts;
    if (!make_room(store, texts->n))
        return false;
    for (uint32_t i = 0; i < texts->n; i++) {
        const ek__text_entry *e = &texts->entry[i];
        uint32_t number = ek__texts_intern_hashed(&store->names.texts, texts->bytes + e->offset, e->size, e->hash);
        const ek__name_count *count = i < part->names.capacity ? &part->names.count[i] : &none;
        if (number == UINT32_MAX || !add_count(&store->names, number, count))
            return false;
        store->renumber[i] = number;
    }
    assert(store->renumber_capacity > texts->n);
    return true;
}

/* ---- records ---- */

/* Records of tracks without room are omitted. */
static void renumber_events(const ek__index_store *store, ek__index_records *events, int name_word)
{
    size_t n = 0;
    for (size_t i = 0; i < events->n; i++) {
        uint32_t track = store->base.track_number[events->bucket[i]];
        uint64_t *words = events->words + EK__EVENT_WORDS * n;
        if (track == UINT32_MAX)
            continue;
        memmove(words, events->words + EK__EVENT_WORDS * i, EK__EVENT_WORDS * sizeof *words);
        assert(words[name_word] >> 32 < store->renumber_capacity);
        words[name_word] = (uint64_t)store->renumber[words[name_word] >> 32] << 32 | (uint32_t)words[name_word];
        events->bucket[n++] = track;
    }
    events->n = n;
}

static void renumber_flows(const ek__index_store *store, ek__index_records *flows)
{
    size_t n = 0;
    for (size_t i = 0; i < flows->n; i++) {
        const uint64_t *from = flows->words + EK__FLOW_WORDS * i;
        uint64_t *words = flows->words + EK__FLOW_WORDS * n;
        uint32_t track = store->base.track_number[(uint32_t)from[3]];
        if (track == UINT32_MAX)
            continue;
        assert(from[0] < store->renumber_capacity && from[3] >> 32 <= EK__FLOW_END);
        words[0] = store->renumber[from[0]];
        words[1] = from[1];
        words[2] = from[2];
        words[3] = from[3] >> 32 << 32 | track;
        n++;
    }
    flows->n = n;
}

/* ---- counters ---- */

/* The part's counters here, in renumber[]; UINT32_MAX without room for them. */
static bool merge_counters(ek__index_store *store, const ek__index_part *part)
{
    size_t n_names = (size_t)part->counter_names.n;
    if (!make_room(store, n_names + (size_t)part->counters.n))
        return false;
    uint32_t *name_number = store->renumber + part->counters.n;
    for (size_t i = 0; i < n_names; i++) {
        const ek__part_track *t = &part->counter_names.at[i];
        int number = ek__tracks_find(&store->counter_names, store->base.renumber[t->pid], store->base.renumber[t->tid]);
        if (number == EK__TRACKS_NO_MEMORY)
            return false;
        name_number[i] = number < 0 ? UINT32_MAX : (uint32_t)number;
    }
    for (int i = 0; i < part->counters.n; i++) {
        const ek__part_track *t = &part->counters.at[i];
        assert(t->pid < n_names); /* of a counter: the number of its name */
        int number = name_number[t->pid] == UINT32_MAX
                         ? EK__TRACKS_TOO_MANY
                         : ek__tracks_find(&store->counters, name_number[t->pid], store->base.renumber[t->tid]);
        if (number == EK__TRACKS_NO_MEMORY)
            return false;
        store->base.too_many_tracks |= number < 0;
        store->renumber[i] = number < 0 ? UINT32_MAX : (uint32_t)number;
    }
    return true;
}

static void renumber_points(const ek__index_store *store, ek__index_records *points)
{
    size_t n = 0;
    for (size_t i = 0; i < points->n; i++) {
        uint32_t counter = store->renumber[points->bucket[i]];
        if (counter == UINT32_MAX)
            continue;
        memmove(points->words + EK__POINT_WORDS * n, points->words + EK__POINT_WORDS * i,
                EK__POINT_WORDS * sizeof *points->words);
        points->bucket[n++] = counter;
    }
    points->n = n;
}

/* ---- a part ---- */

static bool merge_orders(ek__index_store *store, const ek__index_part *part)
{
    ek__index_order *room =
        ek__with_room(store->order, &store->orders_capacity, store->n_orders + part->n_orders + 1, sizeof *room);
    if (!room)
        return false;
    store->order = room;
    for (size_t i = 0; i < part->n_orders; i++) {
        ek__index_order order = part->order[i];
        order.pid = store->base.renumber[order.pid];
        order.tid = store->base.renumber[order.tid];
        order.number = (uint32_t)store->n_orders;
        assert(store->n_orders < store->orders_capacity);
        store->order[store->n_orders++] = order;
    }
    return true;
}

ek_status ek__index_store_merge(ek__index_store *store, ek__index_part *part, ek_error *err)
{
    if (!ek__store_merge(&store->base, &part->base) || !merge_orders(store, part) || !merge_names(store, part))
        return ek__no_memory(err);
    renumber_events(store, &part->events, 3);
    renumber_events(store, &part->spans, 2);
    renumber_flows(store, &part->flows);
    if (!merge_counters(store, part))
        return ek__no_memory(err);
    renumber_points(store, &part->points);
    assert(part->begin <= part->end || (part->begin == INT64_MAX && part->end == INT64_MIN)); /* or no event */
    store->begin = part->begin < store->begin ? part->begin : store->begin;
    store->end = part->end > store->end ? part->end : store->end;
    ek_status status = ek__sorter_add(&store->events, part->events.words, part->events.bucket, part->events.n, err);
    if (status == EK_OK)
        status = ek__sorter_add(&store->points, part->points.words, part->points.bucket, part->points.n, err);
    if (status == EK_OK)
        status = ek__sorter_add(&store->flows, part->flows.words, part->flows.bucket, part->flows.n, err);
    if (status == EK_OK)
        status = ek__sorter_add(&store->spans, part->spans.words, part->spans.bucket, part->spans.n, err);
    return status;
}

/* ---- the end ---- */

static int compare_orders(const void *a, const void *b)
{
    const ek__index_order *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* If a thread has several, the last one counts. */
static void settle_orders(ek__index_store *store)
{
    ek__index_order *order = store->order;
    size_t n = 0;
    if (store->n_orders > 0)
        qsort(order, store->n_orders, sizeof *order, compare_orders);
    for (size_t i = 0; i < store->n_orders; i++)
        if (i + 1 == store->n_orders || order[i].pid != order[i + 1].pid || order[i].tid != order[i + 1].tid)
            order[n++] = order[i];
    assert(n <= store->n_orders && (n > 0) == (store->n_orders > 0));
    store->n_orders = n;
}

ek_status ek__index_store_settle(ek__index_store *store, ek_error *err)
{
    settle_orders(store);
    ek_status status = ek__close_spans(store, err);
    if (status == EK_OK)
        status = ek__sorter_finish(&store->events, err);
    if (status == EK_OK)
        status = ek__sorter_finish(&store->points, err);
    return status == EK_OK ? ek__sorter_finish(&store->flows, err) : status;
}
