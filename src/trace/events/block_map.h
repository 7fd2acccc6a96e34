/* trace/events/block_map.h - allocations of device memory with their lifetimes: gathered, paired from an allocator's
 * history, measured. */
#ifndef EK_TRACE_EVENTS_BLOCK_MAP_H
#define EK_TRACE_EVENTS_BLOCK_MAP_H

#include "base/error.h"
#include "base/pool.h"
#include "base/texts.h"
#include "evenkeel/trace.h"

/** Bytes that one block or segment may have, and all of them together. */
#define EK__BLOCK_MOST_BYTES  (INT64_C(1) << 50)
#define EK__BLOCKS_MOST_BYTES (INT64_C(1) << 61)
/** PyTorch's allocators round up to this; the unused rest of a block is not free for another one. */
#define EK__BLOCK_ROUNDING 512

/** Blocks of one device while they are gathered. {0} to begin with. */
typedef struct ek__block_list {
    ek_trace_block *block;
    ek_trace_memory_segment *segment;
    size_t n, capacity, n_segments, segments_capacity;
    int64_t total_bytes; /**< of all blocks and segments */
    int64_t n_contradictions;
} ek__block_list;

void ek__block_list_clear(ek__block_list *list);
/** Append. Sizes are 0 to EK__BLOCK_MOST_BYTES. EK_ERR_INPUT beyond EK_TRACE_MAX_BLOCKS blocks or beyond
 *  EK__BLOCKS_MOST_BYTES in all; EK_ERR_MEMORY. */
ek_status ek__block_list_add(ek__block_list *list, const ek_trace_block *block, ek_error *err);
ek_status ek__block_list_add_segment(ek__block_list *list, const ek_trace_memory_segment *segment, ek_error *err);

/** Operators or places of the program, each once in a role, and stacks. {0} to begin with. */
typedef struct ek__block_names {
    ek__texts sites, stacks; /**< sites: a byte of the role before the name */
} ek__block_names;
void ek__block_names_clear(ek__block_names *names);
/** The number of a site; -1 when memory is out. */
int ek__block_site(ek__block_names *names, ek_block_role role, const char *name);
/** The role in an operator's name. */
ek_block_role ek__block_role_of_operator(const char *name);

/* ---- an allocator's history ---- */

typedef enum ek__block_action {
    EK__BLOCK_ALLOC,
    EK__BLOCK_FREE_REQUESTED, /**< by the program; other streams may still use it */
    EK__BLOCK_FREE_COMPLETED, /**< for the next allocation to take */
    EK__SEGMENT_ALLOC,
    EK__SEGMENT_FREE,
    EK__SEGMENT_MAP, /**< pages of an expandable segment */
    EK__SEGMENT_UNMAP,
} ek__block_action;

typedef struct ek__block_event {
    ek__block_action action;
    int site, stack;
    int64_t time, address, bytes; /**< address and bytes: 0 to EK__BLOCK_MOST_BYTES, 2^58 the address */
} ek__block_event;

/** A remainder at the end of the record: a block, or a segment. */
typedef struct ek__block_left {
    int64_t address, bytes;
    int site, stack;
    bool joins; /**< segments: expandable */
} ek__block_left;

typedef struct ek__block_history {
    const ek__block_event *event; /**< [n], in order; times rise */
    size_t n;
    const ek__block_left *block, *segment; /**< [n_blocks], [n_segments]: at the end */
    size_t n_blocks, n_segments;
    bool tells_end; /**< whether the remainder at the end is known, however little it is */
    int64_t end;    /**< of the record */
} ek__block_history;

/**
 * Pair the events of a device: each block and each segment with its lifetime. Memory that is freed without having been
 * allocated, or that remains at the end without, was allocated before the record. A second allocation at an address
 * ends the first one; a block without a known end that does not remain at the end ends there. Both count as
 * contradictions.
 * @return EK_OK, EK_ERR_INPUT beyond the limits of the list, EK_ERR_MEMORY. O(n log n) in blocks, O(n s) at most in
 *         segment events and segments at one time.
 */
ek_status ek__block_history_pair(const ek__block_history *history, ek__block_list *out, ek_error *err);

/* ---- measuring ---- */

/**
 * Blocks, segments, sites and stacks as `map`, with name, begin, end and flags set: measure all else, and store at most
 * `most` blocks, the largest. Sites without blocks are left out. The list is sorted and stays the caller's.
 * @param rounding  of blocks' ends in the search for free memory; 1: none
 * @param most      1 or more
 * @return EK_OK, EK_ERR_MEMORY. O(n log n).
 */
ek_status ek__block_map_make(ek__block_list *list, const ek__block_names *names, int64_t rounding, size_t most,
                             ek__pool *pool, ek_trace_block_map *map, ek_error *err);

/** Append a map to those of a rank. EK_OK or EK_ERR_MEMORY. */
ek_status ek__memory_add_map(ek_trace_memory *memory, const ek_trace_block_map *map, ek__pool *pool, ek_error *err);

#endif
