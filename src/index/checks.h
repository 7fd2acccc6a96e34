/* index/checks.h - checks of an index file's bytes, block by block: a sum over the 32-bit words of a block, each times
 * its own odd 32-bit number, modulo 2^64 (multilinear hashing: Lemire and Kaser, Strongly universal string hashing is
 * fast, The Computer Journal 57, 2014).
 *
 * Any change within one word is always detected, because the product changes by less than 2^64; of other changes one in
 * 2^31 is missed. The sum is linear: zeros add nothing, and the check of a block is the sum of the checks of its
 * pieces, so that several threads may write them in any order. zlib's CRC-32 has the same property, but at 1.7 GB/s it
 * takes 5 % of the time of writing an index and makes sums over an index half as slow again; this check runs at 20
 * GB/s. It does not protect against forgery: anyone can compute a check. */
#ifndef EK_INDEX_CHECKS_H
#define EK_INDEX_CHECKS_H

#include <stddef.h>
#include <stdint.h>

#include "index/format.h"

/** The contribution of n bytes at a place of a block to its check, modulo 2^64. Thread-safe. O(n).
 *  @param place  byte of the block; place + n is at most EK__CHECK_BYTES */
uint64_t ek__check_of(size_t place, const void *bytes, size_t n);
/** The check of the section of checks. O(n). */
uint64_t ek__check_of_checks(const uint64_t *check, size_t n);
/** The value of a header's last field. */
uint64_t ek__check_of_header(const ek__index_header *header);

#endif
