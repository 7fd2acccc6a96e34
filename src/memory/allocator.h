/* memory/allocator.h - the interface of allocators: they place tensors from a sequence of requests and releases.
 *
 * An allocator is one file with this table and one line in allocators[] of allocator.c. Offsets are in its own address
 * space; blocks requested from the device are contiguous there. */
#ifndef EK_MEMORY_ALLOCATOR_H
#define EK_MEMORY_ALLOCATOR_H

#include <assert.h>

#include "evenkeel/job.h"

typedef struct ek__allocator ek__allocator;

/* A growing list of numbers; free(at). */
typedef struct ek__numbers {
    int64_t *at;
    size_t n, capacity;
} ek__numbers;
/* @return room for `count` more, 1 at least, which are then part of the list; NULL when out of memory */
int64_t *ek__numbers_add(ek__numbers *numbers, size_t count);

typedef struct ek__allocator_kind {
    ek_allocation allocation;
    ek__allocator *(*create)(const ek_rules *rules, int64_t device_bytes); /* NULL when out of memory */
    void (*destroy)(ek__allocator *allocator);
    /* Take `bytes`, for the whole step when `persistent`. @return a number for its release; -1 when out of memory (of
     * this process, not of the device: a device that is too small only shows in the figure) */
    int32_t (*take)(ek__allocator *allocator, int64_t bytes, bool persistent);
    /* Release a taken piece. */
    void (*give)(ek__allocator *allocator, int32_t taken);
    int64_t (*offset)(const ek__allocator *allocator, int32_t taken);
    /* The figure with fragments so far, as the framework's log would print it. */
    int64_t (*actual)(const ek__allocator *allocator);
    /* The whole state that determines its figure and future behaviour, with addresses instead of piece numbers: from
     * two moments with equal states, equal requests get equal addresses and equal figures. NULL: it has no such state.
     * @return false when out of memory. O(pieces) */
    bool (*state)(const ek__allocator *allocator, ek__numbers *out);
    /* Its address space, for tests; NULL when it has none. */
    const struct ek__pieces *(*pieces)(const ek__allocator *allocator);
} ek__allocator_kind;

extern const ek__allocator_kind ek__allocator_blocks, ek__allocator_pages, ek__allocator_caching, ek__allocator_offline;

/* The allocator of rules->allocation. That of EK_ALLOCATION_OFFLINE plans when the figure is requested, since it needs
 * every lifetime first, and has no offsets before; its figure is -1 when out of memory. */
const ek__allocator_kind *ek__allocator_kind_of(ek_allocation allocation);

/* A lifetime, for planning ahead. */
typedef struct ek__lifetime {
    int64_t bytes, offset; /* offset is the result */
    int32_t from, to;      /* events: taken at `from`, released at `to`; never alive if they are equal */
} ek__lifetime;
/* Place the largest first at the lowest offset that is free for its whole life. Bytes are 0 or more. @return the
 * height, -1 when out of memory. O(n^2) in the worst case, O(n log n + overlaps). */
int64_t ek__allocate_offline(ek__lifetime *lifetime, size_t n);

/* Requests are rounded up to this. @param bytes  0 or more */
enum { EK__ALIGNMENT = 512 };
static inline int64_t ek__aligned(int64_t bytes)
{
    assert(bytes >= 0 && bytes <= INT64_MAX - EK__ALIGNMENT);
    return (bytes + EK__ALIGNMENT - 1) / EK__ALIGNMENT * EK__ALIGNMENT;
}

#endif
