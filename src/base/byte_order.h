/* base/byte_order.h - reads little-endian numbers from memory on every processor. */
#ifndef EK_BASE_BYTE_ORDER_H
#define EK_BASE_BYTE_ORDER_H

#include <stdint.h>

/** The little-endian number of 8 bytes, from their value after memcpy(). */
static inline uint64_t ek__lowest_first_64(uint64_t as_in_memory)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(as_in_memory);
#else
    return as_in_memory;
#endif
}

/** Likewise of 4 bytes. */
static inline uint32_t ek__lowest_first_32(uint32_t as_in_memory)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(as_in_memory);
#else
    return as_in_memory;
#endif
}

#endif
