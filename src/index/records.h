/* index/records.h - the records that a block of a trace gives to its index, and the store that blocks are merged
 * into. */
#ifndef EK_INDEX_RECORDS_H
#define EK_INDEX_RECORDS_H

#include "index/format.h"
#include "index/kinds.h"
#include "index/sort.h"
#include "trace/scan/part.h"

/* Records of the external sorts, as words. Events: begin, ~duration, place, name and size and kind (those of
 * ek__index_event), in buckets by track. Points: time, value, in buckets by counter. Flow ends: name of the arrow, id,
 * time, type and track; one bucket. Halves of begin/end pairs: time, place, name and size and kind, begin or end; in
 * buckets by track. */
enum { EK__EVENT_WORDS = 4, EK__POINT_WORDS = 2, EK__FLOW_WORDS = 4, EK__SPAN_WORDS = 4 };
enum { EK__EVENT_KEYS = 3, EK__POINT_KEYS = 1, EK__FLOW_KEYS = 4, EK__SPAN_KEYS = 2 };
enum { EK__SPAN_BEGIN, EK__SPAN_END };

/** The type in the high bits of a flow end's last word, above its track: of ends at the same time a start comes
 * first. */
enum { EK__FLOW_START, EK__FLOW_STEP, EK__FLOW_END };

/** Records and their buckets. */
typedef struct ek__index_records {
    size_t n, capacity, buckets_capacity;
    uint64_t *words;
    uint32_t *bucket;
} ek__index_records;

/** Number of events of a name, and their total duration. */
typedef struct ek__name_count {
    uint64_t n;
    int64_t total;
} ek__name_count;

/** Names of events and arrows; number 0 is "". */
typedef struct ek__index_names {
    ek__texts texts;
    size_t capacity;
    ek__name_count *count; /**< [texts.n] */
} ek__index_names;

/** A thread_sort_index. */
typedef struct ek__index_order {
    uint32_t pid, tid; /**< numbers of texts */
    int32_t order;
    uint32_t number; /**< as in the file */
} ek__index_order;

/** A block's records. Its tracks, labels and other texts are those of a part made by the reader of traces. */
typedef struct ek__index_part {
    ek__part base;
    ek__index_names names;
    ek__index_records events, points, flows, spans;
    ek__tracks counter_names; /**< of a pid and the text of a name */
    ek__tracks counters;      /**< of a counter's name and the text of a key */
    int last_counter;         /**< -1 */
    size_t followers_capacity;
    int *follower;                          /**< for each counter the one that followed it last time */
    uint32_t flow_name[EK__MAX_CATEGORIES]; /**< of a category that was seen with a flow; 0 before */
    size_t n_orders, orders_capacity;
    ek__index_order *order;
    int64_t begin, end; /**< of all events */
} ek__index_part;

void ek__index_part_clear(ek__index_part *part);
/** Add every event of a block; sets part->base.out_of_memory on failure. O(block). */
void ek__index_part_fill(ek__index_part *part, const ek__block *block);

/** The store that parts are merged into. */
typedef struct ek__index_store {
    ek__trace_store base;
    ek__index_names names;
    ek__sorter events, points, flows, spans;
    ek__tracks counter_names, counters;
    size_t n_orders, orders_capacity;
    ek__index_order *order; /**< as in the file; after settling, one per thread, by thread */
    int64_t begin, end;
    uint32_t *renumber; /**< scratch */
    size_t renumber_capacity;
} ek__index_store;

/** @param bound  bytes for all records in memory while they are gathered */
bool ek__index_store_init(ek__index_store *store, size_t bound, const char *folder);
void ek__index_store_clear(ek__index_store *store);
/** Append a part; its records are renumbered in place. @return EK_OK, EK_ERR_MEMORY, EK_ERR_SYSTEM. */
ek_status ek__index_store_merge(ek__index_store *store, ek__index_part *part, ek_error *err);
/** After the last part: sort all gathered records. O(n log n). */
ek_status ek__index_store_settle(ek__index_store *store, ek_error *err);
/** Part of ek__index_store_settle(): pairs of begin and end become events. */
ek_status ek__close_spans(ek__index_store *store, ek_error *err);

#endif
