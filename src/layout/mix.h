/* layout/mix.h - a bound for several chunks a stage. A mix of paths through a pipeline's blocks, weights that add up to
 * 1, bounds every step from below by a sum over cells, whose least over all plans within the memory limit is found
 * stage by stage. Mixes are found for one layout by a linear program and hold for all with as many stages, chunks and
 * micro-batches. */
#ifndef EK_LAYOUT_MIX_H
#define EK_LAYOUT_MIX_H

#include "layout/bound.h"
#include "simulate/order.h"

/* How often a mean path passes the blocks of each cell, the sends over each edge (beside computing; blocking it), ends
 * on each stage, and which stage's update comes last; and of each stage's memory a mean moment: how many micro-batches
 * of each cell are alive, and whose backward pass it is. */
typedef struct ek__mix {
    double *forward, *backward, *live; /* [n_cells] */
    double *edge[2], *end, *update;    /* [p] */
    double *running;                   /* [n_cells] how far its stage's moment is the beginning of its backward pass */
    double *in_embedding;              /* [1] how far the first stage's is in the embedding's */
} ek__mix;

/* A pipeline: stages, chunks, micro-batches, and the mixes known. */
typedef struct ek__mixes {
    const ek_schedule *schedule;
    ek_order *order;
    /* Micro-batches alive on a stage, undominated ones, [v] each: when the backward pass of a cell begins, and on the
     * first stage in the embedding's, whose own layers are through. */
    ek__live *running; /* [n_cells] */
    ek__live in_embedding;
    int p, v, m, n_cells;
    size_t n, capacity;
    ek__mix **mix;
} ek__mixes;

/* Is the bound one for the schedule? Its order does not hang on times, and chunks follow one another. */
bool ek__mixes_apply(const ek_schedule *schedule);
ek_status ek__mixes_new(const ek_schedule *schedule, int p, int v, int m, ek__mixes **out, ek_error *err);
void ek__mixes_free(ek__mixes *mixes);
ek__mix *ek__mix_new(const ek__mixes *of);
void ek__mix_zero(const ek__mixes *of, ek__mix *mix);
void ek__mix_copy(const ek__mixes *of, const ek__mix *from, ek__mix *to);
void ek__mix_free(ek__mix *mix);
/* The mixes own it then. */
ek_status ek__mixes_add(ek__mixes *mixes, ek__mix *mix, ek_error *err);

/* Layers of a kind that may be in cells [low, high] of the model's order; but for the commonest, they follow one
 * another in the model from layer `first` on. */
typedef struct ek__mix_group {
    int kind, n, low, high, first;
} ek__mix_group;

/* A layout as mixes see it. */
typedef struct ek__mix_layout {
    const ek__bound_figures *figures; /* with all kinds of recomputation */
    const ek__mixes *mixes;
    bool blocking;                                             /* sends block computing */
    double *edge;                                              /* [p] seconds */
    double exposed[2][EK__MOST_KINDS][EK_MAX_CHUNKS], ends[2]; /* ek__bound_exposed(): other stages, the first */
    double limit;                                              /* bytes, less constants; INFINITY */
    double *transient;   /* [n_cells] bytes that the backward pass of a cell's layers holds besides */
    double in_embedding; /* that the embedding's does */
    int n_groups;
    ek__mix_group *group; /* the first is the commonest kind */
} ek__mix_layout;
ek_status ek__mix_layout_init(ek__mix_layout *layout, const ek__bound_figures *figures, const ek_device *device,
                              const ek__mixes *mixes, ek_error *err);
void ek__mix_layout_clear(ek__mix_layout *layout);
double ek__mix_exposed(const ek__mix_layout *layout, int kind, int cell);
/* Has every plan a layer of the commonest kind in the cell that is at this place in the model's order? */
bool ek__mix_forced(const ek__mix_layout *layout, int place);
/* Seconds that a layer adds to the mix in a cell, recomputed in one way. */
double ek__mix_cost(const ek__mix_layout *layout, const ek__mix *mix, int kind, int way, int cell);
/* Bytes that a stage has for layers, where so many micro-batches are alive on the last cell, and a backward pass holds
 * so much besides. */
double ek__mix_room(const ek__mix_layout *layout, int at, double live_on_last, double transient);
/* What that is at a mix's moment of a stage. */
double ek__mix_transient(const ek__mix_layout *layout, const ek__mix *mix, int at);

/* Seconds of the pipeline, the reduction and the update, without its constant, that no plan takes less than; INFINITY:
 * none is within the limit. O(n_cells x ways^2 + layers x stages). */
double ek__mix_bound(const ek__mix_layout *layout, const ek__mix *mix);
/* The most of all mixes known; ends where one reaches `enough`. */
double ek__mixes_bound(const ek__mix_layout *layout, double enough);

/**
 * The best mix for a layout.
 *
 * @param enough  ends where the bound reaches it
 * @param over    is the time over? @param user for it
 * @param out     out: the mix, NULL where no plan is within the limit (then the bound is INFINITY)
 * @param bound   out: ek__mix_bound() of it
 * @return EK_OK, EK_ERR_MEMORY. A simplex run for each path added. (mix_program.c)
 */
ek_status ek__mix_find(const ek__mix_layout *layout, double enough, bool (*over)(void *user), void *user, ek__mix **out,
                       double *bound, ek_error *err);

/* Plans with whole layers, found as a search goes on. */
typedef struct ek__whole_judge {
    /* The shortest step of the plans that fit with so many layers in each cell, [n_cells]; INFINITY: there is none, or
     * it is not below `upper`. @param exact  out: false where not all of them were looked at */
    ek_status (*judge)(void *user, const int *layers, double upper, double *step, bool *exact, ek_error *err);
    void *user;
} ek__whole_judge;

/* How layers are branched on. */
typedef struct ek__branch_options {
    double upper;                 /* a step: what takes as long does not matter */
    int n_nodes, most_layers;     /* sides of the search tree; layers of a cell, 0: any */
    int n_solves;                 /* simplex runs of all of them; 0: any number */
    double too_long;              /* of the step: paths that are longer by less are not added; 0: as for a proof */
    const ek__whole_judge *judge; /* NULL: bounds alone, where a solution with whole layers is the end */
    bool near;                    /* ask it for plans near the first solution, too */
    bool (*over)(void *user);
    void *user;
} ek__branch_options;

/* A bound of a layout's plans with whole layers, as ek__mix_bound(): the least of what is left after so many sides of a
 * search tree, at most that of `upper`, and of what the judge said. Two simplex runs and the paths that are added for
 * each. (mix_branch.c) */
ek_status ek__mix_branch(const ek__mix_layout *layout, const ek__branch_options *options, double *bound, ek_error *err);

/* Seconds of ek__mix_bound() for a step, and back. */
double ek__mix_seconds_of(const ek__bound_figures *figures, double step);
double ek__mix_step_of(const ek__bound_figures *figures, double seconds);

/* What mixes say of a layout, under the rule of recomputation that leaves most open.
 * @param upper  a step: what takes as long does not matter
 * @param find   where the mixes known leave the layout below `upper`, find one for it
 * @param out    out: that, the caller's to add or to free; NULL: none
 * @param bound  out: no plan within the limit has a shorter step */
ek_status ek__mixes_look(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                         double upper, bool find, bool (*over)(void *user), void *user, ek__mix **out, double *bound,
                         ek_error *err);

/* The same with whole layers: no plan within the limit has a shorter step than *bound, as far as `upper`; of the layers
 * that options->most_layers allows. */
ek_status ek__mixes_branch(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                           const ek__branch_options *options, double *bound, ek_error *err);
/* The same of plans that keep to what a rule says. @param figures  of ek__bound_under() */
ek_status ek__mixes_branch_rule(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                                const ek__branch_options *options, double *bound, ek_error *err);

#endif
