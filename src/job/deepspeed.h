/* job/deepspeed.h - DeepSpeed's ZeRO, for whatever trainer runs it. */
#ifndef EK_JOB_DEEPSPEED_H
#define EK_JOB_DEEPSPEED_H

#include "base/config_tree.h"
#include "evenkeel/job.h"

typedef struct ek__zero {
    int stage;
    bool offloads, overlaps, overlap_said, copies;
    double bucket, reuse, prefetch, live; /* elements */
    int hidden; /* of the model, from which a trainer takes what is "auto"; 0: as without it */
} ek__zero;

/* Stage 0, and what DeepSpeed has without being told. */
ek__zero ek__zero_usual(void);
/* Take what zero_optimization says in the map of the whole file; the rest stays. @return EK_OK or EK_ERR_INPUT with its
 * place */
ek_status ek__zero_read(const ek__in *in, const ek__node *file, ek__zero *z);
/* Put it into job->states, ->rules and ->run, whose bytes a weight, a gradient and a state has are known. */
void ek__zero_share(const ek__zero *z, ek_job *job);

#endif
