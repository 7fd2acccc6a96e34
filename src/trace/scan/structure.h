/* trace/scan/structure.h - the bits of a block's structure (ek__block), and the loops that compute them. */
#ifndef EK_TRACE_SCAN_STRUCTURE_H
#define EK_TRACE_SCAN_STRUCTURE_H

#include "base/vectors.h"
#include "trace/scan/scan.h"

enum { EK__BLOCK_PADDING = 64 }; /**< bytes after a block that are overwritten with blanks */

/** The loop that computes the bits of n_words x 64 bytes, for one kind of vector instructions. All give the same
 * bits. */
typedef struct ek__structure_way {
    ek__vectors vectors;
    void (*index_words)(ek__block *block, size_t n_words);
} ek__structure_way;

/** Fastest first. The last is EK__VECTORS_NONE, which every processor has. */
extern const ek__structure_way ek__structure_ways[];

/** Compute the bits of data[0, size), which begins outside strings; ek__feed_next() has done it. EK__BLOCK_PADDING
 *  bytes after it are overwritten with blanks. `way`: the loop to use, for tests; NULL: the first one that this
 *  processor supports. */
void ek__block_index(ek__block *block, size_t size, const ek__structure_way *way);

#endif
