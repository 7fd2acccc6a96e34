/* cost/data_internal.h - declarations shared by the files of data parallel work: routes of the exchange, and its
 * overlap with computing. data_routes.c makes a plan; buckets.c and gather.c overlap its collectives with computing;
 * optimizer.c prices the update; data_parallel.c puts them together. */
#ifndef EK_COST_DATA_INTERNAL_H
#define EK_COST_DATA_INTERNAL_H

#include "cost/data_parallel.h"

/* Collectives of one kind and group. Layers of a model are equal, so the last sizes are cached. */
enum { EK__ROUTE_SIZES = 4 };
typedef struct ek__route {
    bool on;
    ek_collective what;
    ek__ranks ranks;
    double part; /* of the bytes it is given */
    int n, next;
    double bytes[EK__ROUTE_SIZES], seconds[EK__ROUTE_SIZES];
} ek__route;

/* Parameters with the same route of their gradients. */
typedef enum ek__data_class {
    EK__CLASS_DENSE,
    EK__CLASS_WHOLE, /* not cut, though others are */
    EK__CLASS_EXPERT,
    EK__CLASS_WHOLE_EXPERT,
} ek__data_class;
enum { EK__N_CLASSES = 4 };

typedef struct ek__data_routes {
    ek__route each;   /* gradients, after each micro-batch where they are reduced each time: reduce-scatter among the
                         ranks that share states, or all-reduce without sharing */
    ek__route once;   /* after the last one only: all-reduce of the part over copies of it */
    ek__route gather; /* weights */
    double shards;    /* ranks that share the optimizer's states, 1 */
    double owners;    /* that broadcast weights, one after the other, where tensors have owners; else 0 */
} ek__data_routes;

/* Collectives of one layer, seconds. Layers are equal, so the last ones are cached. */
enum { EK__LAYERS_KEPT = 4 };
typedef struct ek__layer_traffic {
    const ek__data_layer *of;
    double gather, each, once;
} ek__layer_traffic;

typedef struct ek__data_plan {
    const ek_job *job;
    const ek_device *device;
    const ek__data_stage *stage;
    ek__data_routes of[EK__N_CLASSES];
    bool cut;            /* optimizer's states or weights are shared */
    bool gathers_layers; /* weights are gathered layer by layer in every pass; else, where cut, once a step */
    bool keeps;          /* layers gathered in a forward pass stay so until their backward pass */
    bool sums_each;      /* gradients are reduced after each micro-batch */
    double reduce_bytes; /* of an element of a reduced gradient */
    double gather_bytes; /* of an element of a gathered weight */
    double wide_bytes;   /* of one that is not gathered in 8 bits */
    ek__layer_traffic layer[EK__LAYERS_KEPT];
    int next_layer;
    ek_cost_basis basis; /* the weakest of the collectives so far */
    double error;        /* the largest */
} ek__data_plan;

ek__data_plan ek__data_plan_of(const ek_job *job, const ek_device *device, const ek__data_stage *stage);
/* Seconds of one collective on so many bytes; notes its basis. */
double ek__route_seconds(ek__data_plan *plan, ek__route *route, double bytes);
double ek__class_elements(const ek__data_plan *plan, ek__data_class c, const ek__data_layer *layer);
double ek__class_gather_bytes(const ek__data_plan *plan, ek__data_class c, const ek__data_layer *layer);
/* The sum of a tied table's gradient with its copy's. */
double ek__tied_seconds(ek__data_plan *plan);

/* Communication of one pass: all of it, and the exposed part that computing waits for. The rest is overlapped. */
typedef struct ek__overlap {
    double traffic, exposed;
} ek__overlap;

/* Gradients bucket by bucket during one backward pass; with `once` only those after the last micro-batch. */
ek__overlap ek__reduce_buckets(ek__data_plan *plan, bool each, bool once);
/* Weights bucket by bucket before or during one forward pass. */
ek__overlap ek__gather_buckets(ek__data_plan *plan);
/* Weights layer by layer in one pass, gradients after each layer's backward. */
ek__overlap ek__gather_forward(ek__data_plan *plan);
ek__overlap ek__gather_backward(ek__data_plan *plan, bool each, bool once);

/* Seconds of the update of the rank's states; `streamed`: of these at the rate that the optimizer reaches. */
typedef struct ek__optimizer_time {
    double seconds, streamed;
} ek__optimizer_time;
ek__optimizer_time ek__optimizer_seconds(const ek__data_plan *plan);
/* Seconds of reading the gradients for their norm. */
double ek__norm_read_seconds(const ek__data_plan *plan);

#endif
