/* trace/partial/derived.h - the values of a rank that follow from its pieces of work, and need not be written: the
 * curves of the queue, begins of executions and operators of layers. A value is left out only where it is restored bit
 * for bit. */
#ifndef EK_TRACE_PARTIAL_DERIVED_H
#define EK_TRACE_PARTIAL_DERIVED_H

#include "evenkeel/trace.h"

/** An execution, or an operator of a layer, as its piece of work. */
typedef struct ek__derived_item {
    int piece;  /**< index in ek_trace_work.piece */
    int of;     /**< ek_trace_execution.op; ek_trace_member.layer */
    int stream; /**< ek_trace_execution.stream */
} ek__derived_item;

/** The data written instead. {0}: nothing is left out. */
typedef struct ek__derived {
    bool queue; /**< the curves are those of the pieces */
    int n_executions, n_members;
    ek__derived_item *execution; /**< [n_executions]: all of ek_trace_measured.execution */
    ek__derived_item *member;    /**< [n_members]: all of ek_trace_layers.member */
} ek__derived;

/** Remove from `rank`, a copy with the lists of another, the values that can be restored. @return EK_OK, EK_ERR_MEMORY.
 * O(n log n). */
ek_status ek__derived_take(ek_trace_rank *rank, ek__derived *out, ek_error *err);
void ek__derived_clear(ek__derived *derived);
/** Restore it in a rank that was read. @return EK_OK, EK_ERR_INPUT for pieces that do not exist, EK_ERR_MEMORY. */
ek_status ek__derived_put(const ek__derived *derived, ek_trace_rank *rank, ek_error *err);

#endif
