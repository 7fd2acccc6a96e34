/* trace/compare/cluster.h - ranks and rows of the vendor's cluster table, each derived from the other where it is
 * missing.
 */
#ifndef EK_TRACE_COMPARE_CLUSTER_H
#define EK_TRACE_COMPARE_CLUSTER_H

#include "base/error.h"
#include "evenkeel/types.h"

/**
 * Make the ranks of a run without ranks from the rows of its cluster table: steps, and stages by the table's sets.
 * @return EK_OK, EK_ERR_MEMORY. O(rows log rows).
 */
ek_status ek__ranks_of_cluster(ek_trace_run *run, ek_error *err);

#endif
