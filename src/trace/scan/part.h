/* trace/scan/part.h - the contents of one block of a trace, complete in itself, and the store into which blocks are
 * merged.
 *
 * A thread turns a block into a part: names, tracks and categories are numbered within the part. Parts are merged in
 * the order of the file, which renumbers them; so the result is the same for any number of threads, and data after a
 * damaged place is dropped by not merging it. */
#ifndef EK_TRACE_SCAN_PART_H
#define EK_TRACE_SCAN_PART_H

#include "base/texts.h"
#include "trace/scan/scan.h"
#include "trace/trace.h"

/** A pid and tid of a part. */
typedef struct ek__part_track {
    uint32_t pid, tid; /**< numbers of texts */
    int64_t n_complete, total_ns;
} ek__part_track;

/** Those of a part or store, found by hash. */
typedef struct ek__tracks {
    int n;
    uint32_t n_slots; /**< a power of two */
    size_t capacity;
    ek__part_track *at; /**< [n] */
    uint32_t *slot;     /**< [n_slots] number + 1, 0 free */
} ek__tracks;

/* Categories beyond the limit are counted with the last: profilers write about twenty. */
enum { EK__MAX_CATEGORIES = 1023 };
/* Events keep their track's number in 16 bits. */
enum { EK__MAX_TRACKS = 65535, EK__TRACKS_NO_MEMORY = -1, EK__TRACKS_TOO_MANY = -2 };

void ek__tracks_reset(ek__tracks *tracks);
void ek__tracks_clear(ek__tracks *tracks);
/** The number of a pid and tid, added when new; EK__TRACKS_NO_MEMORY, EK__TRACKS_TOO_MANY. O(1). */
int ek__tracks_find(ek__tracks *tracks, uint32_t pid, uint32_t tid);

/** A process_name or thread_name. */
typedef struct ek__part_label {
    uint32_t pid, tid, name; /**< tid UINT32_MAX for a process */
    uint32_t order;          /**< in the store: as in the file */
} ek__part_label;

/** The meaning of a category, determined once per part. */
typedef enum ek__category {
    EK__CATEGORY_NONE, /**< none or "": Ascend and MindSpore */
    EK__CATEGORY_KERNEL,
    EK__CATEGORY_COPY,
    EK__CATEGORY_SET,
    EK__CATEGORY_RUNTIME,
    EK__CATEGORY_HOST_OP,
    EK__CATEGORY_USER,
    EK__CATEGORY_DEVICE_USER,
    EK__CATEGORY_PYTHON,
    EK__CATEGORY_ENQUEUE,
    EK__CATEGORY_DEQUEUE,
    EK__CATEGORY_ITERATION,
    EK__CATEGORY_HOST_TO_DEVICE,
    EK__CATEGORY_ASYNC_NPU,
    EK__CATEGORY_TASK_QUEUE,
    EK__CATEGORY_FORWARD_BACKWARD,
    EK__CATEGORY_OTHER,
} ek__category;

typedef struct ek__part_category {
    uint32_t name;
    ek__category meaning;
    int64_t n_complete;
} ek__part_category;

/** An event has this kind while its kind depends on its unknown process. */
enum { EK__EVENT_PENDING = EK__N_EVENT_KINDS };

/** Half of an event that is written as two, a beginning and an end ("ph" B and E). */
typedef struct ek__half {
    int64_t time;
    uint64_t at;       /**< of a stored beginning: its event's place in its array */
    uint32_t track;    /**< number */
    uint32_t category; /**< text */
    uint8_t kind;      /**< of its event */
    bool begins, kept;
} ek__half;
/** Duration of a beginning without a known end; of kinds other than flows, since ids of flows take any value. */
#define EK__HALF_OPEN INT64_MIN
/** Are events of this kind left out below this duration? */
bool ek__event_is_too_short(int kind, int64_t duration);

/* Texts that a part caches by a few of their bytes: a block of a megabyte has hundreds of names. A power of two. */
enum { EK__MEMO_BITS = 9 };

typedef struct ek__part {
    ek__texts texts;                   /**< number 0 is "" */
    uint32_t memo[1 << EK__MEMO_BITS]; /**< number + 1 of the last text with such bytes, 0: none */
    size_t n_events, events_capacity;
    ek__event *event;
    ek__tracks tracks;
    int n_labels, n_categories;
    size_t labels_capacity, categories_capacity;
    ek__part_label *label;
    ek__part_category *category;
    int last_track, last_category;
    size_t n_halves, halves_capacity;
    ek__half *half; /**< [n_halves], as in the file */
    int64_t by_phase[128], n_items, n_odd, n_negative;
    int64_t n_node_launch, n_enqueue, n_dequeue, n_compile, n_synchronize, n_launch, n_gc;
    bool has_full_names, has_mindspore_flows, has_cuda, has_torch;
    size_t n_bytes; /**< of the file, in this part */
    int64_t damage; /**< byte of the file where the block is damaged; -1 */
    bool out_of_memory, too_many_tracks, has_cut_texts;
    unsigned char *judged; /**< [n_judged] by number of a kernel's name: 0 not yet, 1 computes, 2 communicates */
    size_t n_judged, judged_capacity;
    char *scratch; /**< decoded texts */
    size_t scratch_capacity;
} ek__part;

bool ek__part_reset(ek__part *part);
void ek__part_clear(ek__part *part);
/** Process every event of a block. O(block). */
void ek__part_fill(ek__part *part, const ek__block *block, const ek_trace_options *options);
/** Store one event by its kind: src/trace/scan/classify.c. */
void ek__classify(ek__part *part, const ek__block *block, const ek__raw_event *raw, const ek_trace_options *options);

/** A decoded text as a number; 0 with out_of_memory set when memory is out. A cached one is compared, not hashed. */
uint32_t ek__part_text(ek__part *part, const ek__span *span);
/** The same among other texts; the scratch memory is that of `part`. */
uint32_t ek__part_intern(ek__part *part, ek__texts *texts, const ek__span *span);
/** Is a text equal to the literal, ignoring escapes? Ids are short: a loop is faster than a call. */
static inline bool ek__same_text(const ek__texts *texts, uint32_t number, const ek__span *span)
{
    const ek__text_entry *e = &texts->entry[number];
    const char *text = texts->bytes + e->offset;
    if (!span->at || e->size != span->size)
        return false;
    for (uint32_t i = span->size; i-- > 0;)
        if (text[i] != span->at[i])
            return false;
    return true;
}
/** The track and category of an event, which are then in part->last_; false when there is no room for them. */
bool ek__part_place(ek__part *part, const ek__raw_event *raw);
/** Read a process_name or thread_name; other metadata is not needed. */
void ek__part_take_label(ek__part *part, const ek__block *block, const ek__raw_event *raw);
void ek__part_push(ek__part *part, const ek__event *event);

/** Longer texts are cut, and has_cut_texts is set: their readers compare every byte with many words, and no profiler
 *  writes such names. */
enum { EK__MOST_TEXT = 1 << 16 };

/** The target into which parts are merged. */
typedef struct ek__trace_store {
    ek__texts texts;
    size_t n[EK__N_EVENT_KINDS + 1], capacity[EK__N_EVENT_KINDS + 1];
    ek__event *event[EK__N_EVENT_KINDS + 1]; /**< the last: EK__EVENT_PENDING */
    ek__tracks tracks;
    int n_labels, n_categories;
    size_t labels_capacity, categories_capacity;
    ek__part_label *label;
    ek__part_category *category;
    size_t n_halves, halves_capacity;
    ek__half *half; /**< [n_halves], as in the files */
    int64_t n_unmatched, n_doubled;
    uint32_t *renumber;     /**< of the last part merged: its texts here */
    uint32_t *track_number; /**< its tracks; UINT32_MAX: there was no room */
    size_t renumber_capacity, track_number_capacity;
    const char **name; /**< [texts.n], filled at the end */
    int64_t by_phase[128], n_items, n_odd, n_negative;
    int64_t n_node_launch, n_enqueue, n_dequeue, n_compile, n_synchronize, n_launch, n_gc;
    bool has_full_names, has_mindspore_flows, has_cuda, has_torch, too_many_tracks, has_cut_texts;
    bool is_kineto; /**< from the data outside the events; set before ek__store_finish() */
} ek__trace_store;

void ek__store_clear(ek__trace_store *store);
/** Make room for `times` as many events as there are. @return false when memory is out. O(events). */
bool ek__store_expect(ek__trace_store *store, double times);
/** Append a part. @return false when memory is out. O(part). */
bool ek__store_merge(ek__trace_store *store, const ek__part *part);
/** Tracks with the names of their processes and threads, once all is merged: part of ek__store_finish(). The store's
 *  labels are sorted then. */
bool ek__store_tracks(ek__trace_store *store, ek__trace *out);
/** The name of a process by the text of its pid, after ek__store_tracks(); NULL without one. */
const char *ek__store_process(const ek__trace_store *store, uint32_t pid);
/** Does a thread of the communication layer contain tasks of collectives, not whole ones? */
bool ek__track_is_plane(const ek__track *track);
/** Has the file no metadata, as files of 2020 to 2022? Then the kind of an event follows from the number of its
 * process. */
static inline bool ek__store_no_metadata(const ek__trace_store *store)
{
    return store->n_labels == 0 && !store->has_cuda && !store->is_kineto;
}
/**
 * Make events of the halves: an end closes the last beginning of its thread that is still open, in order of time and
 * then of the file. Halves without their other one are left out, and counted as odd and in n_unmatched.
 * @return false when memory is out. O(n log n) in the halves.
 */
bool ek__store_close_halves(ek__trace_store *store);
/** Decide the kind of pending events, drop those with the wrong process, sort every kind, fill `out`. */
ek_status ek__store_finish(ek__trace_store *store, ek__trace *out, ek_error *err);

/** The time of an event. Sums of two times stay within 64 bits everywhere. */
static inline bool ek__event_time(const ek__raw_event *raw, int64_t *time)
{
    return raw->ts.at && ek__parse_us(raw->ts.at, raw->ts.size, time) && *time > INT64_MIN / 4 && *time < INT64_MAX / 4;
}
/** The duration of an event. A missing one is 0, a negative one too, which is counted in `*n_negative`. */
static inline bool ek__event_duration(const ek__raw_event *raw, int64_t *duration, int64_t *n_negative)
{
    *duration = 0;
    if (raw->dur.at && !ek__parse_us(raw->dur.at, raw->dur.size, duration))
        return false;
    if (*duration < 0) {
        *duration = 0;
        ++*n_negative;
    }
    return *duration < INT64_MAX / 4;
}
/** The id of a flow: a whole number, with or without quotes; -1 and other texts give their hash. Equal texts give equal
 * numbers. */
uint64_t ek__id_number(const ek__span *span);
/** The meaning of a "Task Type" of Ascend: the core of an operator, or EK__CORE_NONE; a copy. */
ek__core ek__task_core(const ek__span *type, const ek__span *name);
bool ek__task_is_copy(const ek__span *type, const ek__span *name);

/** Rank, world size and base time from the data outside the events. @return false when memory is out */
bool ek__trace_header(ek__feed *feed, ek__trace *out, bool *is_kineto);
/** Give the reason why a file without events is not a trace. */
ek_status ek__no_trace(const char *path, ek__feed *feed, ek_error *err);

#endif
