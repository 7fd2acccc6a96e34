/* layout/split.h - the best plan of one layout: layers of every chunk and what they recompute. */
#ifndef EK_LAYOUT_SPLIT_H
#define EK_LAYOUT_SPLIT_H

#include "layout/layout.h"
#include "layout/mix.h"
#include "layout/stage.h"

/* What is found of a layout. */
typedef struct ek__split {
    bool found;
    ek_job job;     /* with the plan; ek_job_clear() */
    double seconds; /* ek_cost_step() of it */
    float peak_mb;  /* ek_memory_predict() of it; set by who asks for it, as is: */
    bool estimated;
    ek_estimate estimate; /* of the job, where it is here */
    int64_t *actual;      /* [n_stages] its peaks with fragments, bytes; NULL: not looked at */
    double bound;         /* no plan of the layout that fits is shorter; INFINITY where none fits */
    bool over;            /* ended before its time: the bound holds, and a shorter plan may be found */
    bool free;            /* memory stood in the way of nothing under the last rule: recomputing more brings nothing */
} ek__split;
void ek__split_clear(ek__split *split);

/* Cells of a pipeline beyond which trees over whole layers do not end, and short annealing finds little. */
enum { EK__LONG_PIPELINE = 32 };

/* How far a split is looked for. */
typedef enum ek__effort {
    EK__EFFORT_WHOLE, /* the best plan */
    EK__EFFORT_QUICK, /* of a long pipeline, which annealing takes seconds for: a plan that others are judged by */
    EK__EFFORT_ANY,   /* a plan is enough: rules behind the first with one are left out, and `bound` is 0 */
} ek__effort;

/* How a split is looked for. */
typedef struct ek__split_options {
    double upper;    /* plans that take as long as this do not matter: `bound` is then at least that, or exact */
    double deadline; /* by ek__now(), which ends it; INFINITY: none */
    const ek_interrupt *interrupt;
    const int *fixed_layers; /* [n_stages] layers that each stage keeps; NULL: as the search finds best */
    ek__effort effort;
    const ek__mixes *mixes; /* that are known for the pipeline; NULL */
} ek__split_options;
bool ek__split_over(const ek__split_options *options);
/* The same, for what is stopped by whoever is asked. */
ek__stop ek__split_stop(const ek__split_options *options);

/* The best plan over all rules of recomputation.
 * @param job  of the layout, ek_layout_job() */
ek_status ek__split_layout(const ek_job *job, const ek_device *device, ek_cost_cache *cache,
                           const ek__split_options *options, ek__split *out, ek_error *err);

/* One chunk a stage under 1F1B, or one stage: exact but for communication (split_single.c). Keeps in *best what is
 * shorter than that. @param bound  out: no plan of the rule is shorter */
ek_status ek__split_single(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                           const ek__split_options *options, ek__split *best, double *bound, ek_error *err);
/* Any schedule: by the balancer (split_chunks.c). */
ek_status ek__split_chunks(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                           const ek__split_options *options, ek__split *best, double *bound, ek_error *err);
/* A layout with several chunks a stage, for the search over whole layers. */
typedef struct ek__split_chunked {
    const ek_job *job; /* of the layout; ek__split_whole_applies() */
    const ek_device *device;
    ek_cost_cache *cache;
    const ek__mixes *mixes;           /* of its pipeline */
    const ek__bound_figures *figures; /* with all kinds */
    int n_nodes;                      /* sides of the search tree; ek__split_near() knows its own */
} ek__split_chunked;
bool ek__split_whole_applies(const ek_job *job);
/* Exact where the tree ends before its most sides (split_whole.c). Keeps in *best what is shorter than that.
 * @param bound  out: no plan of the layout is shorter, as far as `upper` and the best found */
ek_status ek__split_whole(const ek__split_chunked *of, const ek__split_options *options, ek__split *best, double *bound,
                          ek_error *err);
/* Some plans under a rule, near what is best in fractions. */
ek_status ek__split_near(const ek__split_chunked *of, ek__recompute_rule rule, const ek__split_options *options,
                         ek__split *best, ek_error *err);
/* Layers that a stage can have: each other chunk has one at least. */
int ek__split_most_layers(const ek_job *job);
/* What no plan under the rule is shorter than, of those that are no other rule's before it. */
double ek__split_bound_under(const ek__bound_figures *figures, const ek_job *job, ek__recompute_rule rule);
/* Judge a job's plan by ek_cost_step(); keep it where it is the shortest so far.
 * @param actual  [n_stages] its peaks with fragments, bytes; NULL: not known */
ek_status ek__split_offer(const ek_job *job, const int64_t *actual, const ek_device *device, ek_cost_cache *cache,
                          ek__split *best, double *seconds, ek_error *err);
/* ek_estimate_of() a plan that was found, whose stages are not placed again where they have been. */
ek_status ek__split_estimate(const ek__split *split, const ek_device *device, ek_estimate *out, ek_error *err);

#endif
