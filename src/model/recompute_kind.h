/* model/recompute_kind.h - the recompute kinds of plans in terms of a job's patterns. */
#ifndef EK_MODEL_RECOMPUTE_KIND_H
#define EK_MODEL_RECOMPUTE_KIND_H

#include "model/graph.h"

/* What a layer recomputes when it is of a kind: all patterns of the job that go with it, and those that exclude. */
ek__recompute ek__recompute_of_kind(const ek_job *job, ek_recompute kind);
/* Give a job that has no pattern of a kind those that the framework uses where a file only says how many layers. They
 * hold for no layer of the job's own plan. */
ek_status ek__job_add_usual_patterns(ek_job *job, ek_error *err);

#endif
