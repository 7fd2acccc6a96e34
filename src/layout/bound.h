/* layout/bound.h - what no plan of a layout falls below, in closed form. */
#ifndef EK_LAYOUT_BOUND_H
#define EK_LAYOUT_BOUND_H

#include "evenkeel/cost.h"
#include "evenkeel/layers.h"
#include "layout/rule.h"
#include "model/graph.h"

enum { EK__MOST_KINDS = 3 };

/* Figures of a job's layers that every number of chunks and every schedule shares. */
typedef struct ek__bound_figures {
    const ek_job *job; /* of the layout with one chunk */
    int p, m, n_layers;
    double hop;                 /* seconds of a micro-batch's way through all stages and back between them */
    double body, body_backward; /* seconds of all layers, forward and backward; backward alone; one micro-batch */
    double least, least_backward, least_forward; /* of one layer: the least of any kind */
    double backward_share;                       /* of a layer's passes: the least of any kind */
    /* Of the commonest kind of layers: what stages can hold is counted in these, the others being left out, which take
     * room and time besides. */
    int n_alike;
    double alike, alike_forward, alike_backward;     /* seconds */
    double head, head_backward, tail, tail_backward; /* embedding; head and loss */
    int n_kinds, alike_kind;                         /* of layers; which of them is the commonest */
    struct {
        int n;                             /* layers */
        double forward, backward, reduced; /* seconds of a layer's passes; of reducing its gradients behind the last */
        double update;                     /* of its states */
        int64_t bytes;                     /* for the whole step */
        int64_t kept[EK_N_RECOMPUTE];      /* of a micro-batch; */
        double again[EK_N_RECOMPUTE];      /* seconds that recomputation adds; INFINITY where it brings nothing */
        int64_t transient;                 /* that its backward pass holds besides, however it is recomputed */
    } kind[EK__MOST_KINDS];
    int kind_of[EK__N_GRAPH_KINDS]; /* which of them a layer is */
    int64_t tail_kept;              /* of a micro-batch, by the head and the loss */
    bool hides;                     /* backward passes hide some of that */
    double exposed_share;           /* of what is exposed with a perfect overlap; the rest counts of all traffic */
    double streamed; /* seconds of all layers' gathered weights and reduced gradients, in each micro-batch */
    double head_reduced, tail_reduced; /* seconds, as a layer's */
    /* Behind the norm's barrier: what a stage needs whatever it holds, and adds to that; the least of any plan. */
    double constant_update, head_update, tail_update, least_update;
    double whole_constant, whole_factor; /* step = factor * seconds + constant */
    /* Memory. */
    int64_t layer_bytes; /* for the whole step, of one of the commonest kind */
    double body_bytes;   /* of all layers */
    int64_t head_bytes, tail_bytes;
    int64_t kept[EK_N_RECOMPUTE]; /* of a micro-batch, of one of the commonest kind */
    double again[EK_N_RECOMPUTE]; /* seconds that recomputation adds to one of the commonest kind */
    int first_full;               /* layers of every chunk that are recomputed whole: ek__bound_under() */
    int64_t constants;            /* on every stage */
    int64_t ends_transient[2];    /* that the backward pass of the embedding and of the head holds besides */
    /* Layers of other kinds before the first of the commonest, and behind the last; all, where others are between. */
    int n_before, n_behind;
    int64_t before_transient, behind_transient; /* the least of theirs */
} ek__bound_figures;

/* @param job        of the layout with one chunk a stage
 * @param all_kinds  for ek__bound_within(); else kept[] and again[] are those of whole layers alone, which keep least:
 *                   their input, which every layer's backward pass needs. O(operators) where its layers are priced. */
ek_status ek__bound_figures_of(const ek_job *job, const ek_device *device, ek_cost_cache *cache, bool all_kinds,
                               ek__bound_figures *out, ek_error *err);

/* Of plans that keep to what a rule says: figures whose bounds hold for these alone.
 * @param f  with all kinds
 * @return false where what it recomputes brings nothing, so that no such plan is better than without */
bool ek__bound_under(const ek__bound_figures *f, const ek__rule_says *says, ek__bound_figures *out);

/* Seconds that no plan with so many chunks under the schedule takes less than, memory aside. O(stages). */
double ek__bound_seconds(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* MB that the fullest stage of no plan needs less than: every layer recomputed as kept least. O(stages). */
double ek__bound_peak_mb(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* ek__bound_seconds() of plans within the job's limit: each stage recomputes what it must, under the rule of the
 * framework's that needs least. O(stages x steps of the bisection x rules). */
double ek__bound_within(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);
/* The same under one rule. */
double ek__bound_within_rule(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule);

/* Gradients that are reduced behind the last backward pass: a stage, the first or another one, exposes at least the sum
 * over its layers of exposed[kind][chunk], and ends[0] with the embedding, ends[1] with the head.
 * @param exposed  [n_kinds][v], filled */
void ek__bound_exposed(const ek__bound_figures *f, int v, bool first_stage, double exposed[][EK_MAX_CHUNKS],
                       double ends[2]);
/* Bytes that the backward pass of a chunk holds besides at the least when it begins, with what its last layer does, of
 * whatever kind that may be: every other chunk has a layer at least.
 * @param place      of the chunk in the model's order, of n_cells
 * @param has_alike  it has a layer of the commonest kind */
int64_t ek__bound_transient(const ek__bound_figures *f, int place, int n_cells, bool has_alike);
/* Seconds that an activation takes from a stage to the next, from the last to the first. */
double ek__bound_edge(const ek_job *job, const ek_device *device, int stage);
/* The step, of which pipeline and reduction take so long. */
double ek__bound_whole(const ek__bound_figures *f, double seconds);
/* How long these may take for such a step. */
double ek__bound_pipeline(const ek__bound_figures *f, double step);

#endif
