/* base/vectors.h - the vector instructions that hot loops are compiled for, and those of this processor.
 *
 * A hot loop has a table of its implementations, { kind of instructions, function }, fastest first; the last is
 * EK__VECTORS_NONE, plain C. It uses the first one with instructions that the processor has. Tests compare every
 * available implementation with the last one: all results agree bit by bit. */
#ifndef EK_BASE_VECTORS_H
#define EK_BASE_VECTORS_H

#include <stdbool.h>

/** Loops for NEON may be compiled: it is part of every aarch64. Places in a vector are counted as in memory only where
 *  numbers are little-endian. */
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EK__HAVE_NEON 1
#else
#define EK__HAVE_NEON 0
#endif

typedef enum ek__vectors {
    EK__VECTORS_NONE,
    EK__VECTORS_SSE2, /**< part of every x86-64 */
    EK__VECTORS_AVX,
    EK__VECTORS_AVX2, /**< with carry-less products */
    EK__VECTORS_NEON,
} ek__vectors;

/** Can this processor run a loop with these instructions? O(1), no system call. */
bool ek__vectors_here(ek__vectors vectors);

/** "AVX2" and so on; "none". */
const char *ek__vectors_name(ek__vectors vectors);

#endif
