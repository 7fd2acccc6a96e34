/* Searches plans by branch and bound over chunks in model order: each node fixes the layers and the recomputation of
 * the next chunk. Its lower bound is the simulated step with every open chunk at its least cost, which is valid because
 * the step time only grows with any block's duration; a node is dropped when its fixed chunks already exceed a stage's
 * memory. Children are bounded eight at a time. It proves small cases; on large ones it stops at its budget without a
 * proof. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/search.h"
#include "balance/solvers.h"
#include "base/error.h"
#include "evenkeel/layers.h"

typedef struct child {
    const ek__chunk *chunk;
    int option;
    double bound;
} child;

typedef struct tree {
    ek__search *search;
    const ek__problem *problem;
    ek__state state;
    double *duration; /* [n_slots] of the node: fixed chunks, then open ones at their least */
    double *lanes;    /* [n_slots][EK__LANES] */
    double *scratch;
    double *used;        /* [n_banks][live vectors] MB its fixed chunks hold */
    double work, budget; /* blocks simulated, and allowed */
    double bound;        /* of the node that explore() begins with */
    bool cut;            /* stopped before the end */
    bool incomplete;     /* a chunk had more options than were listed: no proof */
    ek_status status;
} tree;

static double *used_of(tree *t, int bank)
{
    assert(bank >= 0 && bank < t->problem->n_banks && t->problem->bank[bank].n_live <= t->problem->most_live);
    return t->used + (size_t)bank * (size_t)t->problem->most_live;
}

/* Does the chunk fit together with the fixed ones, on every stage that holds it? */
static bool fits(tree *t, int cell, const ek__chunk *chunk, int option)
{
    const ek__problem *problem = t->problem;
    int b = problem->order->bank[cell], i = problem->order->column[cell];
    const ek__bank *bank = &problem->bank[b];
    double activation = chunk->option[option].activation_mb + problem->extra[cell].activation_mb;
    for (int k = 0; k < bank->n_live; k++) {
        double mb = used_of(t, b)[k] + chunk->parameter_mb + bank->live[k * problem->n_held + i] * activation;
        if (mb > bank->room_mb[k] + problem->tolerance_mb)
            return false;
    }
    return true;
}

/* Add a chunk to the memory of its bank, or remove it: `sign` 1 or -1. */
static void add_use(tree *t, int cell, const ek__chunk *chunk, int option, int sign)
{
    const ek__problem *problem = t->problem;
    assert(sign == 1 || sign == -1);
    assert(option >= 0 && option < chunk->n_options);
    int b = problem->order->bank[cell], i = problem->order->column[cell];
    const ek__bank *bank = &problem->bank[b];
    double activation = chunk->option[option].activation_mb + problem->extra[cell].activation_mb;
    for (int k = 0; k < bank->n_live; k++)
        used_of(t, b)[k] += sign * (chunk->parameter_mb + bank->live[k * problem->n_held + i] * activation);
    assert(used_of(t, b)[0] >= -problem->tolerance_mb);
}

/* Bounds of all children, in batches of lanes. */
static void bound_children(tree *t, int cell, child *children, int n)
{
    const ek__problem *problem = t->problem;
    int n_slots = ek__order_n_slots(problem->order);
    double out[EK__LANES];
    assert(n >= 1);
    for (int slot = 0; slot < n_slots; slot++)
        for (int l = 0; l < EK__LANES; l++)
            t->lanes[slot * EK__LANES + l] = t->duration[slot];
    for (int first = 0; first < n; first += EK__LANES) {
        int here = n - first < EK__LANES ? n - first : EK__LANES;
        for (int l = 0; l < here; l++) {
            const child *c = &children[first + l];
            ek__set_chunk_durations(problem, cell, c->chunk, c->option, t->lanes + l, EK__LANES);
        }
        ek__order_step_times(problem->order, t->lanes, problem->delays, t->scratch, out);
        t->work += (double)ek_order_n_blocks(problem->order) * here;
        for (int l = 0; l < here; l++)
            children[first + l].bound = out[l];
    }
}

static int by_bound(const void *a, const void *b)
{
    const child *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    if (x->chunk->n != y->chunk->n)
        return x->chunk->n - y->chunk->n;
    return x->option - y->option;
}

static bool worse(const tree *t, double bound)
{
    return bound >= atomic_load(&t->search->best_time) * (1 - EK__TIME_TOLERANCE);
}

/* Fix the chunk at a model position, and those after it. `placed` layers are before it. */
static void explore(tree *t, int position, int placed)
{
    const ek__problem *problem = t->problem;
    assert(position >= 0 && position <= problem->n_cells);
    assert(placed >= position * problem->min_layers && placed <= problem->n_layers);
    if (position == problem->n_cells) {
        assert(placed == problem->n_layers);
        double scratch_time = ek__order_step_time(problem->order, t->duration, problem->delays, t->scratch);
        if (!worse(t, scratch_time))
            ek__search_offer(t->search, &t->state, scratch_time, 0);
        return;
    }
    if (ek__proof_over(t->search) || t->work > t->budget) {
        t->cut = true;
        return;
    }
    int cell = problem->order->cell_at[position], n_cells = problem->n_cells;
    int least, most;
    ek__layer_range(problem, &t->state, position, placed, &least, &most);
    child *children = NULL;
    int n = 0, capacity = 0;
    double blocks = (double)ek_order_n_blocks(problem->order);
    for (int layers = least; layers <= most; layers++) {
        if (ek__proof_over(t->search) || t->work + n * blocks > t->budget) {
            t->cut = true; /* bounding these children would exceed the remaining budget */
            goto done;
        }
        const ek__chunk *chunk = ek__chunk_get(problem, placed, layers);
        if (!chunk) {
            t->status = EK_ERR_MEMORY;
            goto done;
        }
        t->incomplete |= !chunk->complete;
        bool any = false;
        for (int o = 0; o < chunk->n_options; o++) {
            if (!fits(t, cell, chunk, o))
                continue;
            any = true;
            if (n == capacity) {
                capacity = capacity ? 2 * capacity : 16;
                child *grown = realloc(children, (size_t)capacity * sizeof *grown);
                if (!grown) {
                    t->status = EK_ERR_MEMORY;
                    goto done;
                }
                children = grown;
            }
            children[n++] = (child){.chunk = chunk, .option = o};
        }
        if (!any && problem->layers->n_body == 1)
            break; /* more layers of the one kind need more memory still */
    }
    if (n == 0)
        goto done;
    bound_children(t, cell, children, n);
    qsort(children, (size_t)n, sizeof *children, by_bound);
    assert(children[0].bound >= t->bound * (1 - EK__TIME_TOLERANCE)); /* the step only grows with a chunk's durations */
    double open[EK_N_BLOCK_KINDS] = {0};                              /* its durations as an open chunk */
    for (int kind = 0; kind < problem->order->n_kinds; kind++)
        open[kind] = t->duration[kind * n_cells + cell];
    for (int i = 0; i < n && !t->cut && !t->status && !worse(t, children[i].bound); i++) {
        const child *c = &children[i];
        t->state.chunk[cell] = c->chunk;
        t->state.option[cell] = c->option;
        ek__set_chunk_durations(problem, cell, c->chunk, c->option, t->duration, 1);
        add_use(t, cell, c->chunk, c->option, 1);
        t->bound = c->bound;
        explore(t, position + 1, placed + c->chunk->n);
        add_use(t, cell, c->chunk, c->option, -1);
    }
    for (int kind = 0; kind < problem->order->n_kinds; kind++)
        t->duration[kind * n_cells + cell] = open[kind];
done:
    free(children);
}

/* Least duration and memory of any layer: an open chunk holds at least min_layers of them. */
static void open_all(tree *t)
{
    const ek__problem *problem = t->problem;
    /* Each kind of block at its own least: with the backward split, input gradient and weight gradient separately. */
    double forward = INFINITY, backward = INFINITY, weight = INFINITY;
    bool splits = problem->order->n_kinds > 2;
    for (int b = 0; b < problem->layers->n_body; b++) {
        const ek_layer *body = &problem->layers->body[b];
        forward = fmin(forward, body->forward_time);
        weight = splits ? fmin(weight, body->weight_time) : 0;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (problem->layers->modelled[k])
                backward = fmin(backward, body->backward_time[k] - (splits ? body->weight_time : 0));
    }
    assert(forward >= 0 && forward < INFINITY && backward < INFINITY && weight >= 0);
    for (int c = 0; c < problem->n_cells; c++)
        ek__set_durations(problem, c, problem->min_layers * forward, problem->min_layers * (backward + weight),
                          problem->min_layers * weight, t->duration, 1);
}

ek_status ek__branch_and_bound(ek__search *search, double max_work, ek_error *err)
{
    const ek__problem *problem = search->problem;
    size_t n_slots = (size_t)ek__order_n_slots(problem->order);
    assert(max_work > 0);
    tree t = {.search = search, .problem = problem, .budget = max_work};
    t.duration = ek__alloc(n_slots, sizeof *t.duration);
    t.lanes = ek__alloc(n_slots * EK__LANES, sizeof *t.lanes);
    t.scratch = ek__alloc(ek__order_n_clocks(problem->order) * EK__LANES, sizeof *t.scratch);
    t.used = ek__alloc((size_t)problem->n_banks * (size_t)problem->most_live, sizeof *t.used);
    t.status = ek__state_init(&t.state, problem, err);
    if (!t.status && (!t.duration || !t.lanes || !t.scratch || !t.used))
        t.status = ek__no_memory(err);
    if (!t.status) {
        open_all(&t);
        explore(&t, 0, 0);
        search->proved = !t.cut && !t.incomplete && !t.status;
    }
    if (t.status)
        t.status = ek__no_memory(err);
    ek__state_clear(&t.state);
    free(t.used);
    free(t.scratch);
    free(t.lanes);
    free(t.duration);
    return t.status;
}

static ek_status solve(ek__search *search, ek_error *err)
{
    return ek__branch_and_bound(search, INFINITY, err);
}

const ek__solver ek__solver_branch = {
    .name = "branch",
    .summary = "branch and bound to a proof; for small pipelines",
    .solve = solve,
};
