/* layout/mix.h - a bound for several chunks a stage. A mix of paths through a pipeline's blocks, weights that add up to
 * 1, bounds every step from below by a sum over cells; its minimum over all plans within the memory limit is found
 * stage by stage. Mixes are found for one layout by a linear program and are valid for all layouts with the same
 * stages, chunks and micro-batches. */
#ifndef EK_LAYOUT_MIX_H
#define EK_LAYOUT_MIX_H

#include "layout/bound.h"
#include "simulate/order.h"

/* Weights of a mean path: the numbers of passes of the blocks of each cell and of the sends over each edge (overlapped;
 * blocking), of its ends on each stage and of each stage's update as the last; and a mean moment of each stage's
 * memory: the live micro-batches of each cell, and the cell of the running backward pass. */
typedef struct ek__mix {
    double *forward, *backward, *live; /* [n_cells] */
    double *edge[2], *end, *update;    /* [p] */
    double *running;                   /* [n_cells] the share of its backward pass's beginning in its stage's moment */
    double *in_embedding;              /* [1] the same share for the embedding's in the first stage's */
} ek__mix;

/* A pipeline: stages, chunks, micro-batches, and the mixes known. */
typedef struct ek__mixes {
    const ek_schedule *schedule;
    ek_order *order;
    /* Micro-batches alive on a stage, undominated ones, [v] each: when the backward pass of a cell begins, and on the
     * first stage in the embedding's, when its own layers have finished. */
    ek__live *running; /* [n_cells] */
    ek__live in_embedding;
    int p, v, m, n_cells;
    size_t n, capacity;
    ek__mix **mix;
} ek__mixes;

/* Is the bound valid for the schedule? Its order must not depend on times, and chunks must follow one another. */
bool ek__mixes_apply(const ek_schedule *schedule);
ek_status ek__mixes_new(const ek_schedule *schedule, int p, int v, int m, ek__mixes **out, ek_error *err);
void ek__mixes_free(ek__mixes *mixes);
ek__mix *ek__mix_new(const ek__mixes *of);
void ek__mix_zero(const ek__mixes *of, ek__mix *mix);
void ek__mix_copy(const ek__mixes *of, const ek__mix *from, ek__mix *to);
void ek__mix_free(ek__mix *mix);
/* The mixes then own it. */
ek_status ek__mixes_add(ek__mixes *mixes, ek__mix *mix, ek_error *err);

/* Layers of a kind that may be in cells [low, high] of the model's order; except for the commonest, they are contiguous
 * in the model from layer `first` on. */
typedef struct ek__mix_group {
    int kind, n, low, high, first;
} ek__mix_group;

/* A layout in the form that mixes use. */
typedef struct ek__mix_layout {
    const ek__bound_figures *figures; /* with all kinds of recomputation */
    const ek__mixes *mixes;
    bool blocking;                                             /* sends block computing */
    double *edge;                                              /* [p] seconds */
    double exposed[2][EK__MOST_KINDS][EK_MAX_CHUNKS], ends[2]; /* ek__bound_exposed(): other stages, the first */
    double limit;                                              /* bytes, less constants; INFINITY */
    double *transient;   /* [n_cells] bytes that the backward pass of a cell's layers holds in addition */
    double in_embedding; /* the same for the embedding's */
    int n_groups;
    ek__mix_group *group; /* the first is the commonest kind */
} ek__mix_layout;
ek_status ek__mix_layout_init(ek__mix_layout *layout, const ek__bound_figures *figures, const ek_device *device,
                              const ek__mixes *mixes, ek_error *err);
void ek__mix_layout_clear(ek__mix_layout *layout);
double ek__mix_exposed(const ek__mix_layout *layout, int kind, int cell);
/* Has every plan a layer of the commonest kind in the cell at this place in the model's order? */
bool ek__mix_forced(const ek__mix_layout *layout, int place);
/* Seconds that a layer adds to the mix in a cell, recomputed in one way. */
double ek__mix_cost(const ek__mix_layout *layout, const ek__mix *mix, int kind, int way, int cell);
/* Bytes that a stage has for layers, with the given live micro-batches on the last cell and the given extra bytes of a
 * backward pass. */
double ek__mix_room(const ek__mix_layout *layout, int at, double live_on_last, double transient);
/* The same at a mix's moment of a stage. */
double ek__mix_transient(const ek__mix_layout *layout, const ek__mix *mix, int at);

/* A lower bound in seconds of the pipeline, the reduction and the update, without its constant, of all plans; INFINITY:
 * no plan is within the limit. O(n_cells x ways^2 + layers x stages). */
double ek__mix_bound(const ek__mix_layout *layout, const ek__mix *mix);
/* The largest bound of all known mixes; ends when one reaches `enough`. */
double ek__mixes_bound(const ek__mix_layout *layout, double enough);

/**
 * The best mix for a layout.
 *
 * @param enough ends when the bound reaches it
 * @param over   is the time over? @param user for it
 * @param out    out: the mix, NULL if no plan is within the limit (then the bound is INFINITY)
 * @param bound  out: ek__mix_bound() of it
 * @return EK_OK, EK_ERR_MEMORY. A simplex run for each path added. (mix_program.c)
 */
ek_status ek__mix_find(const ek__mix_layout *layout, double enough, bool (*over)(void *user), void *user, ek__mix **out,
                       double *bound, ek_error *err);

/* Plans with whole layers, found during a search. */
typedef struct ek__whole_judge {
    /* The shortest step of the plans that fit with given layers in each cell, [n_cells]; INFINITY: there is none, or it
     * is not below `upper`. @param exact out: false if not all of them were checked */
    ek_status (*judge)(void *user, const int *layers, double upper, double *step, bool *exact, ek_error *err);
    void *user;
} ek__whole_judge;

/* Options of branching on layers. */
typedef struct ek__branch_options {
    double upper;                 /* a step: plans that take as long are irrelevant */
    int n_nodes, most_layers;     /* nodes of the search tree; maximum layers of a cell, 0: any */
    int n_solves;                 /* maximum simplex runs in total; 0: any number */
    double too_long;              /* of the step: paths that are longer by less are not added; 0: as for a proof */
    const ek__whole_judge *judge; /* NULL: only bounds; a solution with whole layers ends the search */
    bool near;                    /* also query it for plans near the first solution */
    bool (*over)(void *user);
    void *user;
} ek__branch_options;

/* A bound of a layout's plans with whole layers, as ek__mix_bound(): the minimum over the open nodes of a search tree
 * with a limited number of nodes, at most that of `upper`, and over the judge's results. Two simplex runs per node, and
 * the paths added for each. (mix_branch.c) */
ek_status ek__mix_branch(const ek__mix_layout *layout, const ek__branch_options *options, double *bound, ek_error *err);

/* Seconds of ek__mix_bound() for a step, and the inverse. */
double ek__mix_seconds_of(const ek__bound_figures *figures, double step);
double ek__mix_step_of(const ek__bound_figures *figures, double seconds);

/* The bound of a layout by mixes, under the rule of recomputation with the least bound.
 * @param upper  a step: plans that take as long are irrelevant
 * @param find   if the known mixes leave the layout below `upper`, find one for it
 * @param out    out: that mix, which the caller adds or frees; NULL: none
 * @param bound  out: no plan within the limit has a shorter step */
ek_status ek__mixes_look(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                         double upper, bool find, bool (*over)(void *user), void *user, ek__mix **out, double *bound,
                         ek_error *err);

/* The same with whole layers: no plan within the limit has a shorter step than *bound, up to `upper`; for layers within
 * options->most_layers. */
ek_status ek__mixes_branch(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                           const ek__branch_options *options, double *bound, ek_error *err);
/* The same for plans under a rule. @param figures of ek__bound_under() */
ek_status ek__mixes_branch_rule(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                                const ek__branch_options *options, double *bound, ek_error *err);

#endif
