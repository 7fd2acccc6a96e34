/* job/deepspeed.h - DeepSpeed's ZeRO settings, for every trainer that uses it. */
#ifndef EK_JOB_DEEPSPEED_H
#define EK_JOB_DEEPSPEED_H

#include "base/config_tree.h"
#include "evenkeel/job.h"

typedef struct ek__zero {
    int stage;
    bool offloads, overlaps, overlap_said, copies;
    double bucket, reuse, prefetch, live; /* elements */
    int hidden; /* of the model, from which a trainer derives "auto" values; 0: the defaults */
} ek__zero;

/* Stage 0 and DeepSpeed's defaults. */
ek__zero ek__zero_usual(void);
/* Read zero_optimization from the map of the whole file; other fields do not change. @return EK_OK or EK_ERR_INPUT with
 * its place */
ek_status ek__zero_read(const ek__in *in, const ek__node *file, ek__zero *z);
/* Put it into job->states, ->rules and ->run; the bytes of a weight, a gradient and a state must be known. */
void ek__zero_share(const ek__zero *z, ek_job *job);

#endif
