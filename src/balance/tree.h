/* balance/tree.h - the bound for several chunks a stage. Library-internal. */
#ifndef EK_BALANCE_TREE_H
#define EK_BALANCE_TREE_H

#include "balance/bound.h"

/**
 * Raise the lower bound until it shows the gap asked for, or the time for it is over, or it can be raised no further.
 * For one body kind, one way, an order that does not depend on times, and no reserve.
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__certify_tree(ek__search *search, ek_error *err);

#endif
