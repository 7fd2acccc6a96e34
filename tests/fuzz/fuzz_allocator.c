/* Fuzzes allocators: the input is a sequence of allocations and releases, two bytes each, after four bytes of settings.
 * Whatever the sequence, tensors do not overlap, offsets are aligned, and the figure is never below the memory
 * allocated at once. */
#include <assert.h>

#include "fuzz.h"
#include "memory/allocator.h"

enum { MAX_TAKEN = 256, SETTINGS = 4, MOST_PAGES = 1 << 14 };

typedef struct tensor {
    int64_t offset, bytes;
    int32_t taken;
} tensor;

static const ek_allocation allocations[] = {EK_ALLOCATION_BLOCKS, EK_ALLOCATION_PAGES, EK_ALLOCATION_CACHING,
                                            EK_ALLOCATION_OFFLINE};

/* Sizes from a byte to many blocks: the low bits are a mantissa, the high ones a power of two. */
static int64_t bytes_of(uint8_t code)
{
    return (INT64_C(1) + code % 16) << (code / 16 * 2 + 2);
}

/* Pages have a bit each: a tensor of a hundred million of them would only cost time to clear bits. */
static int64_t bytes_within(uint8_t code, const ek_rules *rules)
{
    const int64_t bytes = bytes_of(code), most = rules->page_bytes * MOST_PAGES;
    return rules->allocation == EK_ALLOCATION_PAGES && bytes > most ? most : bytes;
}

static void check_apart(const tensor *t, int n)
{
    assert(t[n].offset >= 0 && t[n].offset % EK__ALIGNMENT == 0);
    for (int i = 0; i < n; i++)
        assert(t[n].offset + t[n].bytes <= t[i].offset || t[i].offset + t[i].bytes <= t[n].offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SETTINGS)
        return 0;
    ek_rules rules = {.allocation = allocations[data[0] % 4],
                      .block_bytes = INT64_C(512) << data[1] % 32,
                      .page_bytes = INT64_C(512) << data[2] % 24};
    const ek__allocator_kind *kind = ek__allocator_kind_of(rules.allocation);
    ek__allocator *allocator = kind->create(&rules, data[3] ? (int64_t)data[3] << 24 : 0);
    tensor t[MAX_TAKEN];
    int n = 0;
    int64_t now = 0, most = 0;
    for (size_t i = SETTINGS; allocator && i + 1 < size; i += 2) {
        if (n == MAX_TAKEN || (n > 0 && data[i] % 2)) {
            int which = data[i + 1] % n;
            kind->give(allocator, t[which].taken);
            now -= t[which].bytes;
            t[which] = t[--n];
            continue;
        }
        int64_t bytes = bytes_within(data[i + 1], &rules);
        int32_t taken = kind->take(allocator, bytes, data[i] % 8 == 2);
        if (taken < 0)
            break; /* address space has an end */
        t[n] = (tensor){kind->offset(allocator, taken), ek__aligned(bytes), taken};
        if (rules.allocation != EK_ALLOCATION_OFFLINE)
            check_apart(t, n);
        now += t[n++].bytes;
        most = now > most ? now : most;
    }
    if (allocator)
        assert(kind->actual(allocator) >= most);
    kind->destroy(allocator);
    return 0;
}
