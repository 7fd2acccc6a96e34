/* model/recompute_kind.h - the recompute kinds of plans in terms of a job's patterns. */
#ifndef EK_MODEL_RECOMPUTE_KIND_H
#define EK_MODEL_RECOMPUTE_KIND_H

#include "model/graph.h"

/* The recomputation of a layer of a kind: all patterns of the job that belong to the kind, and those that exclude. */
ek__recompute ek__recompute_of_kind(const ek_job *job, ek_recompute kind);
/* Add the framework's default patterns, used for files with only numbers of layers, to a job without a pattern of a
 * kind. They apply to no layer of the job's own plan. */
ek_status ek__job_add_usual_patterns(ek_job *job, ek_error *err);

#endif
