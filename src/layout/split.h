/* layout/split.h - finds the best plan of one layout: layers of every chunk and their recomputation. */
#ifndef EK_LAYOUT_SPLIT_H
#define EK_LAYOUT_SPLIT_H

#include "layout/layout.h"
#include "layout/mix.h"
#include "layout/stage.h"

/* The result for a layout. */
typedef struct ek__split {
    bool found;
    ek_job job;     /* with the plan; ek_job_clear() */
    double seconds; /* ek_cost_step() of it */
    float peak_mb;  /* ek_memory_predict() of it; set by the caller, like: */
    bool estimated;
    ek_estimate estimate; /* of the job, while it is here */
    int64_t *actual;      /* [n_stages] its peaks with fragments, bytes; NULL: not computed */
    double bound;         /* no fitting plan of the layout is shorter; INFINITY if none fits */
    bool over;            /* ended early: the bound is valid, and a shorter plan may exist */
    bool free;            /* memory did not exclude anything under the last rule: more recomputation gains nothing */
} ek__split;
void ek__split_clear(ek__split *split);

/* Cells of a pipeline above which trees over whole layers do not end and short annealing finds little. */
enum { EK__LONG_PIPELINE = 32 };

/* The effort of searching a split. */
typedef enum ek__effort {
    EK__EFFORT_WHOLE, /* the best plan */
    EK__EFFORT_QUICK, /* for a long pipeline, which takes seconds of annealing: a plan to compare others with */
    EK__EFFORT_ANY,   /* one plan is sufficient: rules after the first one with a plan are skipped, and `bound` is 0 */
} ek__effort;

/* Options of searching a split. */
typedef struct ek__split_options {
    double upper;    /* plans that take as long as this are irrelevant: `bound` is then at least that, or exact */
    double deadline; /* deadline by ek__now(); INFINITY: none */
    const ek_interrupt *interrupt;
    const int *fixed_layers; /* [n_stages] fixed layers of each stage; NULL: chosen by the search */
    ek__effort effort;
    const ek__mixes *mixes; /* known mixes of the pipeline; NULL */
} ek__split_options;
bool ek__split_over(const ek__split_options *options);
/* The same, as a stop callback. */
ek__stop ek__split_stop(const ek__split_options *options);

/* The best plan over all rules of recomputation.
 * @param job  of the layout, ek_layout_job() */
ek_status ek__split_layout(const ek_job *job, const ek_device *device, ek_cost_cache *cache,
                           const ek__split_options *options, ek__split *out, ek_error *err);

/* One chunk a stage under 1F1B, or one stage: exact except for communication (split_single.c). Stores a shorter plan in
 * *best. @param bound out: no plan of the rule is shorter */
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
    int n_nodes;                      /* nodes of the search tree; ek__split_near() has its own number */
} ek__split_chunked;
bool ek__split_whole_applies(const ek_job *job);
/* Exact if the tree ends before its maximum number of nodes (split_whole.c). Stores a shorter plan in *best.
 * @param bound  out: no plan of the layout is shorter, up to `upper` and the best found */
ek_status ek__split_whole(const ek__split_chunked *of, const ek__split_options *options, ek__split *best, double *bound,
                          ek_error *err);
/* Find some plans under a rule near the best fractional solution. */
ek_status ek__split_near(const ek__split_chunked *of, ek__recompute_rule rule, const ek__split_options *options,
                         ek__split *best, ek_error *err);
/* The maximum number of layers of a stage: each other chunk has at least one. */
int ek__split_most_layers(const ek_job *job);
/* A lower bound of the plans under the rule that are not plans of an earlier rule. */
double ek__split_bound_under(const ek__bound_figures *figures, const ek_job *job, ek__recompute_rule rule);
/* Judge a job's plan by ek_cost_step(); keep it if it is the shortest so far.
 * @param actual  [n_stages] its peaks with fragments, bytes; NULL: not known */
ek_status ek__split_offer(const ek_job *job, const int64_t *actual, const ek_device *device, ek_cost_cache *cache,
                          ek__split *best, double *seconds, ek_error *err);
/* ek_estimate_of() a found plan; its stages are not placed again if they already were. */
ek_status ek__split_estimate(const ek__split *split, const ek_device *device, ek_estimate *out, ek_error *err);

#endif
