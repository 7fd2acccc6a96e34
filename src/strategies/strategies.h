/* strategies/strategies.h - the parts of the reader of plan files that tests use. */
#ifndef EK_STRATEGIES_H
#define EK_STRATEGIES_H

#include "base/config_tree.h"
#include "evenkeel/plan.h"
#include "evenkeel/strategies.h"

/** ek_strategies_read() of a document. */
ek_status ek__strategies_from_config(const ek__config_tree *doc, const ek_layers *layers, int n_stages,
                                     const ek_listener *listener, ek_strategies *out, ek_error *err);

#endif
