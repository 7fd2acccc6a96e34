/* schedule/one_f_one_b.h - the shape shared by 1F1B and its interleaved variants: some forwards to warm up, then one
 * forward and one backward in turn, then the remaining backwards. */
#ifndef EK_SCHEDULE_ONE_F_ONE_B_H
#define EK_SCHEDULE_ONE_F_ONE_B_H

#include "evenkeel/schedule.h"

/**
 * Fill the 2 v m blocks of a stage that runs `warm_up` forwards (at most v m) before its first backward.
 *
 * Forward order: micro-batches in groups of p (the first group has p + m mod p; all of them when m < p or v = 1), each
 * group through chunk 0, then chunk 1, ...; the backward order is the same with the chunks reversed.
 * Source: the original tool (docs/models.md); Narayanan et al. 2021, section 2.2, for m mod p = 0.
 */
void ek__one_f_one_b(const ek_shape *shape, int warm_up, ek_block *blocks);

#endif
