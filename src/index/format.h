/* index/format.h - the format of the index file that ek_trace_index_open() writes next to a trace.
 *
 * All numbers are stored as in these structs, in the byte order of the machine; a file from another kind of machine is
 * written again (the magic bytes identify byte order and version). Times are nanoseconds of the trace's own clock.
 *
 *   header | events, in chunks of up to 4096 | points of counters | ranges of points | arrows by where they begin |
 *   arrows by where they end | groups | chunks | rows | tracks | counters | windows of spots | spots of a compressed
 *   trace | names | texts | checks
 *
 * After the header the file consists of *blocks* of EK__CHECK_BYTES, the last one padded with zeros, up to the section
 * of checks, which has a sum of each block (checks.h). All reads are of whole blocks and are compared with these sums,
 * so a changed byte is found when it is used, and opening does not read the whole file.
 *
 * A *track* is a pid and tid. Its events are sorted by begin, longest first, then in file order, and nested: an event
 * goes into the first depth whose last event has ended (so a depth holds no two events at a time, and children are
 * below their parents wherever they nest). A *row* is a track's depth. A row's events are stored in chunks of
 * EK__CHUNK_EVENTS, of which only the last may be smaller; chunk c of a row holds its events from 4096 c on.
 *
 * Invariants: (1) within a row begins do not decrease and no event begins before the one before it has ended; (2) every
 * group and chunk has the sums of its events; (3) sections do not overlap and lie within the file; (4) rows of a track
 * are contiguous, by depth; so are rows' chunks and chunks' groups, in order. A reader still checks everything it
 * relies on: a forged file with correct checks is rejected or gives wrong pictures, but never causes a crash. */
#ifndef EK_INDEX_FORMAT_H
#define EK_INDEX_FORMAT_H

#include <stdint.h>

enum {
    EK__GROUP_EVENTS = 64,
    EK__CHUNK_EVENTS = 4096,
    EK__CHUNK_GROUPS = EK__CHUNK_EVENTS / EK__GROUP_EVENTS,
    EK__CHECK_BYTES = 4096, /**< of a block that has a check */
    EK__INDEX_VERSION = 2,
    EK__INDEX_MAX_DEPTH = 64, /**< deeper events go into the last depth's row if the invariant allows it, otherwise they
                                   are counted as omitted */
};
/** "EKINDEX" and the version, read as one number. */
#define EK__INDEX_MAGIC (UINT64_C(0x005845444e494b45) | ((uint64_t)EK__INDEX_VERSION << 56))

/** 32 bytes. */
typedef struct ek__index_event {
    int64_t begin;
    int64_t duration; /**< 0 or more */
    uint64_t place;   /**< byte of its '{' in the decompressed trace; for a pair ("B", "E") the first's */
    uint32_t name;
    uint32_t size_and_type; /**< bytes of the event's text (EK__EVENT_SIZE), ek_view_type (EK__EVENT_TYPE) */
} ek__index_event;
#define EK__EVENT_SIZE(e) ((e)->size_and_type & 0xffffffu)
#define EK__EVENT_TYPE(e) ((e)->size_and_type >> 24)

/** The sums over a range of a row's events. 56 bytes. */
typedef struct ek__index_sum {
    int64_t begin, end; /**< of the first; of the last */
    int64_t busy;       /**< sum of durations */
    int64_t longest;    /**< duration of the longest, the first one if several are equal */
    uint64_t names;     /**< bit ek__name_bit(name) of every name in it */
    uint32_t longest_name;
    uint32_t longest_type;
    uint32_t n;
    uint32_t longest_at; /**< its index: 0 is the first */
} ek__index_sum;

static inline unsigned ek__name_bit(uint32_t name)
{
    return (unsigned)((name * UINT32_C(2654435769)) >> 26);
}

typedef struct ek__index_chunk {
    ek__index_sum sum;
    uint64_t events;      /**< byte of the file where its events begin */
    uint64_t first_group; /**< ceil(n / 64) of them */
} ek__index_chunk;

typedef struct ek__index_row {
    uint32_t track, depth;
    uint64_t first_chunk, n_chunks, n_events;
    ek__index_sum sum; /**< of all; n saturates */
} ek__index_row;

/** The kind of a track, in display order within a rank. */
typedef enum ek__track_class {
    EK__TRACK_STEP,          /**< step marks on their own track */
    EK__TRACK_OVERLAP,       /**< Overlap Analysis */
    EK__TRACK_COMPUTE,       /**< device streams */
    EK__TRACK_COMMUNICATION, /**< groups; planes */
    EK__TRACK_SCOPE,         /**< MindSpore's Scope Layer */
    EK__TRACK_HOST,          /**< Python, MindSpore, CPU OP */
    EK__TRACK_RUNTIME,       /**< CANN */
    EK__TRACK_OTHER,
    EK__N_TRACK_CLASSES,
} ek__track_class;
/** "step", "overlap", "compute", "communication", "scope", "host", "runtime", "other". */
extern const char *const ek__track_class_name[EK__N_TRACK_CLASSES];

/** Texts are byte and size in the section of texts. */
typedef struct ek__index_text {
    uint64_t at;
    uint32_t size;
    uint32_t unused;
} ek__index_text;

typedef struct ek__index_track {
    ek__index_text pid, tid, process, thread; /**< process and thread: size 0 without metadata */
    uint32_t track_class;                     /**< ek__track_class */
    int32_t sort;                             /**< thread_sort_index; 0 without */
    uint32_t first_row, n_rows;
    int64_t n_events, n_left_out;
    uint64_t first_from, n_from, first_to, n_to; /**< its arrows in the two lists */
} ek__index_track;

/** The kind of an arrow: category or name of its flow. */
typedef struct ek__index_arrow {
    int64_t from_time, to_time;
    uint32_t from_track, to_track;
    uint32_t name; /**< of the flow */
    uint32_t unused;
} ek__index_arrow;

typedef struct ek__index_point {
    int64_t time;
    double value;
} ek__index_point;

/** Of 64 points. */
typedef struct ek__index_range {
    int64_t begin, end;
    double least, most;
} ek__index_range;

/** One value of a counter: "name value-key" of a process. Its points are sorted by time. */
typedef struct ek__index_counter {
    ek__index_text process, name, key;
    uint64_t first_point, n_points;
    uint64_t first_range; /**< ceil(n_points / 64) of them, after the counters */
    double least, most;
} ek__index_counter;

/** A name by number: its text, and the number of events with it. */
typedef struct ek__index_name {
    ek__index_text text;
    uint64_t n_events; /**< including those omitted from rows */
    int64_t total;     /**< sum of their durations, at most INT64_MAX */
} ek__index_name;

/** A place in a compressed trace from which it can be inflated, between two deflate blocks. The data before it, at most
 * 32 KB, is at `window` in the file, compressed by zlib. Without a window it is the start of a member of the .gz.
 * Several members may lie between two spots. */
typedef struct ek__index_spot {
    uint64_t out, in; /**< bytes of the decompressed and of the compressed file */
    uint64_t window;
    uint32_t window_size; /**< its stored bytes, deflated */
    uint32_t bits;        /**< unused bits of the byte before `in`: its high ones */
} ek__index_spot;

typedef struct ek__index_section {
    uint64_t at, n; /**< byte of the file; items */
} ek__index_section;

typedef struct ek__index_header {
    uint64_t magic;
    uint64_t header_size;
    uint64_t file_size;
    int64_t trace_size, trace_changed; /**< of the trace on disk: bytes; ns since 1970 */
    int64_t trace_bytes;               /**< decompressed bytes that were read */
    int64_t begin, end;                /**< of all events; begin INT64_MAX without one */
    int64_t n_items, n_odd;            /**< objects in the trace; without usable name, time or duration */
    int64_t problem_at;                /**< byte at which reading stopped; -1 */
    int32_t rank, world_size;          /**< of distributedInfo; EK_TRACE_NO_RANK, 0 */
    uint32_t compressed, unused;
    ek__index_section events, from, to, points, groups, chunks, rows, tracks, counters, ranges, spots, names, texts;
    ek__index_section checks; /**< uint64_t, one per block */
    uint64_t checks_check;    /**< of that section */
    uint64_t check;           /**< of the header's bytes before it */
} ek__index_header;

#endif
