/* memory/allocator.h - where an allocator puts tensors, given nothing but what is taken and given back in turn.
 *
 * An allocator is one file behind this table and one line in allocators[] of allocator.c. Offsets are in an address
 * space of its own; blocks that it asks the device for follow one another there. */
#ifndef EK_MEMORY_ALLOCATOR_H
#define EK_MEMORY_ALLOCATOR_H

#include <assert.h>

#include "evenkeel/job.h"

typedef struct ek__allocator ek__allocator;

/* A list of numbers that grows; free(at). */
typedef struct ek__numbers {
    int64_t *at;
    size_t n, capacity;
} ek__numbers;
/* @return room for `count` more, 1 at least, which are then part of the list; NULL when memory is out */
int64_t *ek__numbers_add(ek__numbers *numbers, size_t count);

typedef struct ek__allocator_kind {
    ek_allocation allocation;
    ek__allocator *(*create)(const ek_rules *rules, int64_t device_bytes); /* NULL when memory is out */
    void (*destroy)(ek__allocator *allocator);
    /* Take `bytes`, for the whole step when `persistent`. @return a number to give it back by; -1 when memory is out
     * (ours, not the device's: a device that is too small only shows in the figure) */
    int32_t (*take)(ek__allocator *allocator, int64_t bytes, bool persistent);
    /* Give back what has been taken and not given back since. */
    void (*give)(ek__allocator *allocator, int32_t taken);
    int64_t (*offset)(const ek__allocator *allocator, int32_t taken);
    /* The figure with fragments so far: what the framework's log would print. */
    int64_t (*actual)(const ek__allocator *allocator);
    /* All that its figure and what it does from now on depend on, addresses for numbers of pieces: after two moments
     * with the same numbers the same requests get the same addresses, and the figure has been the same since. NULL: it
     * has no such state. @return false when memory is out. O(pieces) */
    bool (*state)(const ek__allocator *allocator, ek__numbers *out);
    /* Its address space, for tests; NULL when it has none. */
    const struct ek__pieces *(*pieces)(const ek__allocator *allocator);
} ek__allocator_kind;

extern const ek__allocator_kind ek__allocator_blocks, ek__allocator_pages, ek__allocator_caching, ek__allocator_offline;

/* Of rules->allocation. That of EK_ALLOCATION_OFFLINE plans when the figure is asked for, since it needs to see every
 * lifetime first, and knows no offsets before; its figure is -1 when memory is out. */
const ek__allocator_kind *ek__allocator_kind_of(ek_allocation allocation);

/* A lifetime, for planning ahead. */
typedef struct ek__lifetime {
    int64_t bytes, offset; /* offset is the answer */
    int32_t from, to;      /* events, taken at `from`, given back at `to`; never alive where they are the same */
} ek__lifetime;
/* Place the largest first at the lowest offset that is free for its whole life. Bytes are 0 or more. @return the
 * height, -1 when memory is out. O(n^2) in the worst case, O(n log n + overlaps). */
int64_t ek__allocate_offline(ek__lifetime *lifetime, size_t n);

/* Requests are rounded up to this. @param bytes  0 or more */
enum { EK__ALIGNMENT = 512 };
static inline int64_t ek__aligned(int64_t bytes)
{
    assert(bytes >= 0 && bytes <= INT64_MAX - EK__ALIGNMENT);
    return (bytes + EK__ALIGNMENT - 1) / EK__ALIGNMENT * EK__ALIGNMENT;
}

#endif
