/* cost/collective.h - predicts the time of a collective of a group of ranks over tiers of links, and finds the ranks of
 * groups.
 */
#ifndef EK_COST_COLLECTIVE_H
#define EK_COST_COLLECTIVE_H

#include "evenkeel/device.h"

/* A group of ranks by tiers. in[i] ranks of it share one unit of tier i (a node, a rack); in[last] is all of them. Each
 * divides the next for degrees that divide a unit's size. For others it is the fewest that any group has in any unit it
 * reaches into: the slowest group decides. sharing[i]: ranks that send over one card of tier i at once, of one group or
 * of several of the kind. With t = 8 in a node of 8, 8 data parallel groups have a rank each there, and each has its
 * own card: 1. */
typedef struct ek__ranks {
    int n;
    int in[EK_MAX_TIERS];
    int sharing[EK_MAX_TIERS];
    bool apart; /* several share a unit of the first tier, none of them neighbours */
    /* Of an all-to-all that sends tokens once to each unit of the first tier (ek__send_once()): of a rank's bytes, the
     * share sent inside its unit; of the bytes that would leave it, the share that does. 0: each copy is sent
     * separately. */
    double inside, leaving;
} ek__ranks;

/* The groups a job's ranks form. */
typedef enum ek__dimension {
    EK__DIM_TENSOR,
    EK__DIM_CONTEXT,
    EK__DIM_EXPERT,
    EK__DIM_EXPERT_TENSOR,
    EK__DIM_DATA,         /* ranks with the same slice of a dense parameter: d cp */
    EK__DIM_SHARD,        /* of those, the ones that share its states (states.shard_size, instances) */
    EK__DIM_REPLICATE,    /* ranks with the same shard of it: d cp / shard */
    EK__DIM_EXPERT_DATA,  /* ranks with the same slice of an expert: d cp t / (ep etp) */
    EK__DIM_EXPERT_SHARD, /* likewise */
    EK__DIM_EXPERT_REPLICATE,
    EK__DIM_WORLD,
} ek__dimension;

/* Ranks of one group, by the framework's order of dimensions (docs/models.md). */
ek__ranks ek__placement(const ek_job *job, const ek_device *device, ek__dimension dimension);
/* Of a group of expert ranks, tokens go once to each unit of the first tier. O(top_k x groups). */
void ek__send_once(const ek_job_model *model, ek__ranks *ranks);
/* The mean number of units that a token is sent to, of this number of units with equal experts. */
double ek__units_reached(const ek_job_model *model, int units);
/* The tier that joins a rank of stage s with its neighbour on stage s + 1 (s = p - 1: stage 0), as a group of two. */
ek__ranks ek__placement_edge(const ek_job *job, const ek_device *device, int stage);

typedef struct ek__collective_time {
    double seconds, latency; /* the latter, with the start, is part of the former */
    ek_cost_basis basis;     /* of the tier that takes longest; as measured for groups of one */
    double error;            /* likewise */
} ek__collective_time;

/* start + latency + max over tiers of traffic / rate (docs/models.md). Does not allocate; about 0.1 us.
 * @param bytes  the whole message as docs/models.md counts it: the full size of a gather or scatter, the rank's own
 *               buffer of an all-to-all, one message of a send. 0 seconds for groups of one */
ek__collective_time ek__collective_seconds(const ek_device *device, ek_collective what, const ek__ranks *ranks,
                                           double bytes);

#endif
