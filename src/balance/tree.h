/* balance/tree.h - the bound for several chunks a stage. Library-internal. */
#ifndef EK_BALANCE_TREE_H
#define EK_BALANCE_TREE_H

#include "balance/bound.h"

/**
 * Raise the lower bound until it shows a gap of at most `gap`, or the time for it is over, or it can be raised no
 * further. A shorter plan that turns up on the way becomes the best.
 * For one body kind, one way, an order that does not depend on times, and no reserve.
 * @param gap  0..1, of the best step
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__certify_tree(ek__search *search, double gap, ek_error *err);

#endif
