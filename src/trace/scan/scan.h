/* trace/scan/scan.h - Chrome-trace JSON as a stream of events, at memory speed and in bounded memory.
 *
 * A feed reads a file (plain or .gz) in blocks and cuts them between events. Four bits per byte are computed for each
 * block: unescaped quotes, opening and closing brackets outside strings, and bytes at which a number ends. A walker
 * then jumps from bit to bit and finds the values of every event without reading the bytes between. Framing is
 * sequential; walking is not: several threads take blocks from one feed. Nothing is decoded here and no tree is built.
 *
 *   HEAD --"traceEvents": [ or [--> EVENTS --]--> TAIL --end of file--> ENDED
 *
 * Invariants: (1) a block begins between two events of the array, outside strings; (2) it contains whole events; (3)
 * the rest after the last of them is carried to the next block; (4) bytes outside the event array are stored as the
 * header, in which the array is empty. */
#ifndef EK_TRACE_SCAN_SCAN_H
#define EK_TRACE_SCAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    EK__EVENT_MAX_BYTES = 64 << 20,  /**< a longer one is damage: a quote that never closes */
    EK__HEADER_MAX_BYTES = 16 << 20, /**< stored data outside the event array */
};

typedef struct ek__feed ek__feed;

/** Whole events of a file, with the bits of their structure. Owned by one thread at a time. */
typedef struct ek__block {
    char *data; /**< [size], then at least 64 readable bytes */
    size_t size;
    int64_t offset; /**< of data[0] in the (decompressed) file */
    int64_t sequence;
    /* Bit i % 64 of word i / 64 is byte i. stop: blanks, commas, quotes, brackets, everywhere. The two words after the
     * last are all ones in quote and stop, zero in the others. */
    uint64_t *quote, *open, *close, *stop;
    size_t capacity; /**< bytes; a multiple of 64 */
} ek__block;

/** A value: for a string the bytes between its quotes, else the token; `at` is NULL when the key is absent. */
typedef struct ek__span {
    const char *at;
    uint32_t size;
    bool quoted;
} ek__span;

/** An event, undecoded. */
typedef struct ek__raw_event {
    const char *begin; /**< its '{' */
    size_t size;
    char phase; /**< 0 without one */
    ek__span name, cat, pid, tid, id, ts, dur, args;
} ek__raw_event;

/** A position in a block. */
typedef struct ek__walk {
    const ek__block *block;
    size_t at;
    bool in_counters; /**< the event before was a counter; they come in runs */
    int64_t n_others; /**< values that are not objects, skipped */
} ek__walk;

/** A file of JSON, plain or .gz, or a profiler's database; its rows come as such a file's events.
 *  @return EK_OK, EK_ERR_SYSTEM when it cannot be opened or is a folder, EK_ERR_INPUT for a database without events,
 *          EK_ERR_MEMORY. */
ek_status ek__feed_open(const char *path, ek__feed **out, ek_error *err);
/** The same over bytes in memory, borrowed until ek__feed_close(). Never compressed. */
ek_status ek__feed_open_buffer(const char *name, const char *text, size_t size, ek__feed **out, ek_error *err);
/** Blocks of at most about this many bytes, 4 or more, instead of a megabyte: for tests of data at their borders. To be
 *  called before the first block. */
void ek__feed_limit_blocks(ek__feed *feed, size_t bytes);
void ek__feed_close(ek__feed *feed);
/** The next block; false at the end, or when reading stopped (ek__feed_problem, ek__feed_out_of_memory). Not
 * thread-safe: callers hold a lock. O(bytes). */
bool ek__feed_next(ek__feed *feed, ek__block *block);
void ek__block_clear(ek__block *block);

/** The error in the file so far: NULL, or a sentence, with the byte; -1 in a database. */
const char *ek__feed_problem(const ek__feed *feed, int64_t *offset);
/** Did memory run out? Then all data read is invalid. */
bool ek__feed_out_of_memory(const ek__feed *feed);
/** Was an event array found? Without one the file is not a trace. */
bool ek__feed_has_events(const ek__feed *feed);
/** JSON text of everything outside the event array; brackets that a cut file leaves open are closed. Valid until the
 *  feed is closed; complete only at the end. */
const char *ek__feed_header(ek__feed *feed, size_t *size);
/** Bytes read of the file on disk, and its size (0 when not known). */
int64_t ek__feed_bytes(const ek__feed *feed);
int64_t ek__feed_total(const ek__feed *feed);
/** The stream of a compressed file (trace/scan/gunzip.h), for its spots; NULL for others. */
struct ek__gunzip *ek__feed_gunzip(const ek__feed *feed);
/** Bytes read, decompressed. */
int64_t ek__feed_offset(const ek__feed *feed);

typedef enum ek__walk_state { EK__WALK_EVENT, EK__WALK_END, EK__WALK_DAMAGED } ek__walk_state;

/** The next event of a block. After EK__WALK_DAMAGED walk->at is the invalid byte. For a counter after another one,
 *  recognised by its last member ("ph": "C"), only the phase is filled. O(values of the event). */
ek__walk_state ek__walk_next(ek__walk *walk, ek__raw_event *event);

/** The same, with every member of counters too. */
ek__walk_state ek__walk_whole(ek__walk *walk, ek__raw_event *event);

/** The next key and value inside an object ("args") of the block, from *at on, which begins as the object's start.
 *  @return false at its end or where it is damaged. O(1) plus the value. */
bool ek__walk_member(const ek__block *block, const ek__span *object, size_t *at, ek__span *key, ek__span *value);

#endif
