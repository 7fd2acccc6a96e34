/* layout/bound.h - lower bounds of all plans of a layout, in closed form. */
#ifndef EK_LAYOUT_BOUND_H
#define EK_LAYOUT_BOUND_H

#include "evenkeel/cost.h"
#include "evenkeel/layers.h"
#include "layout/rule.h"
#include "model/graph.h"

enum { EK__MOST_KINDS = 3 };

/* Figures of a job's layers that are independent of the number of chunks and the schedule. */
typedef struct ek__bound_figures {
    const ek_job *job; /* of the layout with one chunk */
    int p, m, n_layers;
    double hop;                 /* seconds of the transfers of a micro-batch through all stages and back */
    double body, body_backward; /* seconds of all layers, forward and backward; backward only; one micro-batch */
    double least, least_backward, least_forward; /* of one layer: the least of any kind */
    double backward_share;                       /* of a layer's passes: the least of any kind */
    /* Of the commonest kind of layers: the capacity of stages is counted in these; the others are ignored, although
     * they take memory and time too. */
    int n_alike;
    double alike, alike_forward, alike_backward;     /* seconds */
    double head, head_backward, tail, tail_backward; /* embedding; head and loss */
    int n_kinds, alike_kind;                         /* of layers; the index of the commonest */
    struct {
        int n; /* layers */
        double forward, backward,
            reduced;                  /* seconds of a layer's passes; of reducing its gradients after the last one */
        double update;                /* of its states */
        int64_t bytes;                /* for the whole step */
        int64_t kept[EK_N_RECOMPUTE]; /* of a micro-batch; */
        double again[EK_N_RECOMPUTE]; /* seconds that recomputation adds; INFINITY if it saves nothing */
        int64_t transient;            /* that its backward pass holds in addition, for any recomputation */
    } kind[EK__MOST_KINDS];
    int kind_of[EK__N_GRAPH_KINDS]; /* the index of a layer's kind */
    int64_t tail_kept;              /* of a micro-batch, by the head and the loss */
    bool hides;                     /* backward passes hide some of that */
    double exposed_share;           /* of the part exposed with a perfect overlap; the rest applies to all traffic */
    double streamed; /* seconds of all layers' gathered weights and reduced gradients, in each micro-batch */
    double head_reduced, tail_reduced; /* seconds, as a layer's */
    /* After the norm's barrier: a stage's constant part, and its additions; the least of any plan. */
    double constant_update, head_update, tail_update, least_update;
    double whole_constant, whole_factor; /* step = factor * seconds + constant */
    /* Memory. */
    int64_t layer_bytes; /* for the whole step, of one of the commonest kind */
    double body_bytes;   /* of all layers */
    int64_t head_bytes, tail_bytes;
    int64_t kept[EK_N_RECOMPUTE]; /* of a micro-batch, of one of the commonest kind */
    double again[EK_N_RECOMPUTE]; /* seconds that recomputation adds to one of the commonest kind */
    int first_full;               /* layers of every chunk recomputed whole: ek__bound_under() */
    int64_t constants;            /* on every stage */
    int64_t ends_transient[2];    /* that the backward pass of the embedding and of the head holds in addition */
    /* Layers of other kinds before the first of the commonest, and after the last; all, if others are between. */
    int n_before, n_behind;
    int64_t before_transient, behind_transient; /* the least of theirs */
} ek__bound_figures;

/* @param job        of the layout with one chunk a stage
 * @param all_kinds  for ek__bound_within(); otherwise kept[] and again[] are only those of whole layers, which save
 *                   least: their input, which every layer's backward pass needs. O(operators) if its layers are
 *                   priced. */
ek_status ek__bound_figures_of(const ek_job *job, const ek_device *device, ek_cost_cache *cache, bool all_kinds,
                               ek__bound_figures *out, ek_error *err);

/* Figures for plans under a rule: their bounds are valid only for these.
 * @param f  with all kinds
 * @return false if its recomputation saves nothing, so that no such plan is better than one without it */
bool ek__bound_under(const ek__bound_figures *f, const ek__rule_says *says, ek__bound_figures *out);

/* A lower bound in seconds of all plans with a number of chunks under a schedule, ignoring memory. O(stages). */
double ek__bound_seconds(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* A lower bound in MB of the fullest stage of all plans: every layer with the recomputation that saves least.
 * O(stages). */
double ek__bound_peak_mb(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* ek__bound_seconds() of plans within the job's limit: each stage recomputes as much as necessary, under the
 * framework's rule that needs least. O(stages x steps of the bisection x rules). */
double ek__bound_within(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* The same under one rule. */
double ek__bound_within_rule(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);

/* Gradients that are reduced after the last backward pass: a stage, the first or another one, exposes at least the sum
 * over its layers of exposed[kind][chunk], and ends[0] with the embedding, ends[1] with the head.
 * @param exposed  [n_kinds][v], filled */
void ek__bound_exposed(const ek__bound_figures *f, int v, bool first_stage, double exposed[][EK_MAX_CHUNKS],
                       double ends[2]);
/* The least bytes that the backward pass of a chunk holds in addition when it begins, with those of its last layer, of
 * any possible kind: every other chunk has at least one layer.
 * @param place      of the chunk in the model's order, of n_cells
 * @param has_alike  it has a layer of the commonest kind */
int64_t ek__bound_transient(const ek__bound_figures *f, int place, int n_cells, bool has_alike);
/* Seconds that an activation takes from a stage to the next, from the last to the first. */
double ek__bound_edge(const ek_job *job, const ek_device *device, int stage);
/* The step with the given time of pipeline and reduction. */
double ek__bound_whole(const ek__bound_figures *f, double seconds);
/* The time of these for a given step. */
double ek__bound_pipeline(const ek__bound_figures *f, double step);

#endif
