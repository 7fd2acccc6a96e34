/* Searches plans of a layout with whole layers by branch and bound over the linear program of its mixes. A fractional
 * solution is split at the layers of a stage, otherwise of a cell, into those below and those above it; the node with
 * the least bound is next, of equal ones the latest, so that the search dives. The possible places of layers of other
 * kinds follow from the cells' limits, since the model's order is fixed. Paths and moments that one solution violates
 * are valid constraints for all others.
 *
 * For a solution with whole layers, the judge computes the shortest plan with these layers, including everything that
 * the program does not model: the expressible lists, the hidden part of the gradients, memory fragments. So the result
 * is exact if every node is closed: by its bound, or because its layers are fixed and were judged.
 *
 * Land and Doig, An automatic method of solving discrete programming problems, 1960; rows added as they are violated as
 * in Padberg and Rinaldi's branch and cut, 1991. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clp.h"
#include "base/error.h"
#include "layout/mix_program.h"
#include "layout/whole_near.h"

#define TOO_LONG 1e-4       /* of the step */
#define WHOLE    1e-5       /* layers */
#define NEAR     1.05       /* times the bound of the others: a plan may reach that */
#define EQUAL    1e-6       /* bounds, of the scale */
enum { MOST_SOLVES = 200 }; /* of one side */
enum { MOST_LIMITS = 32 << 20 };

/* A side. */
typedef struct node {
    double bound; /* seconds */
    double key;   /* the same, rounded: the order of the heap */
} node;

/* The least and the most layers of a stage or a cell. */
typedef struct limits {
    int16_t low, high;
} limits;

typedef struct brancher {
    ek__mix_program program;
    const ek__branch_options *options;
    int n_totals;
    int n_solved;                   /* simplex runs so far */
    size_t n, most, n_heap, n_seen; /* sides; of them */
    node *node;                     /* [most] */
    limits *limit;                  /* [most][n_totals]: of stages, then of cells */
    size_t *heap;                   /* [most] open sides */
    uint64_t *seen;                 /* [most] hashes of layers that were judged */
    int *layers;                    /* [n_cells] */
    double enough;                  /* seconds */
    double upper;                   /* its step */
    double left;                    /* the least bound of nodes that stay open */
    ek_error *err;
} brancher;

static limits *limits_of(const brancher *b, size_t at)
{
    return b->limit + (size_t)b->n_totals * at;
}

/* ---- the heap ---- */

static bool before(const brancher *b, size_t x, size_t y)
{
    return b->node[x].key != b->node[y].key ? b->node[x].key < b->node[y].key : x > y;
}

static void push(brancher *b, size_t at)
{
    size_t i = b->n_heap++;
    b->node[at].key = floor(b->node[at].bound / (EQUAL * b->program.scale));
    for (; i > 0 && before(b, at, b->heap[(i - 1) / 2]); i = (i - 1) / 2)
        b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = at;
}

static size_t pop(brancher *b)
{
    size_t top = b->heap[0], last = b->heap[--b->n_heap], i = 0;
    for (size_t child; (child = 2 * i + 1) < b->n_heap; i = child) {
        if (child + 1 < b->n_heap && before(b, b->heap[child + 1], b->heap[child]))
            child++;
        if (!before(b, b->heap[child], last))
            break;
        b->heap[i] = b->heap[child];
    }
    b->heap[i] = last;
    return top;
}

/* ---- sides ---- */

static void open_root(brancher *b)
{
    const ek__mix_program *g = &b->program;
    int most = b->options->most_layers, all = g->layout->figures->n_layers;
    limits *limit = limits_of(b, 0);
    for (int t = 0; t < b->n_totals; t++) {
        bool stage = t < g->mixes->p;
        limit[t] = (limits){(int16_t)(stage ? g->mixes->v : 1), (int16_t)(stage || most == 0 ? all : most)};
    }
    b->node[b->n++] = (node){0};
    push(b, 0);
}

/* The possible cells of layer i of the model: the cells up to it can hold i + 1 layers, and the cells before it need
 * not hold more than i. */
static void cells_of(const brancher *b, const limits *cell, int i, int *first, int *last)
{
    int n = b->program.mixes->n_cells, all = b->program.layout->figures->n_layers, low = 0, high = 0, behind_low = 0,
        behind_high = 0;
    for (int c = 0; c < n; c++) {
        behind_low += cell[c].low;
        behind_high += cell[c].high;
    }
    *first = *last = 0;
    for (int c = 0; c < n; c++) {
        int least_before = low > all - behind_high ? low : all - behind_high;
        if (least_before <= i)
            *last = c;
        low += cell[c].low;
        high += cell[c].high;
        behind_low -= cell[c].low;
        behind_high -= cell[c].high;
        int most_so_far = high < all - behind_low ? high : all - behind_low;
        if (most_so_far < i + 1)
            *first = c + 1;
    }
}

static void add_limits(const brancher *b, size_t at)
{
    const ek__mix_program *g = &b->program;
    const limits *limit = limits_of(b, at);
    double *low = ek__clp_row_low(g->model), *high = ek__clp_row_high(g->model), *most = ek__clp_column_high(g->model);
    for (int t = 0; t < b->n_totals; t++) {
        low[g->first_total + t] = limit[t].low;
        high[g->first_total + t] = limit[t].high;
    }
    int group = 0, first = 0, last = g->mixes->n_cells - 1, unused;
    for (int k = 1; k < g->n_columns; k++) {
        const ek__mix_column *column = &g->column[k];
        const ek__mix_group *of = &g->layout->group[column->group];
        if (column->group != group) {
            group = column->group;
            cells_of(b, limit + g->mixes->p, of->first, &first, &unused);
            cells_of(b, limit + g->mixes->p, of->first + of->n - 1, &unused, &last);
        }
        most[k] = column->cell >= first && column->cell <= last ? of->n : 0;
    }
}

/* Layers in a stage or a cell of the last solution. */
static double value_of(const brancher *b, int total)
{
    const ek__mix_program *g = &b->program;
    int p = g->mixes->p;
    double sum = 0;
    for (int k = 1; k < g->n_columns; k++)
        if (total < p ? g->column[k].cell % p == total : g->column[k].cell == total - p)
            sum += g->solution[k];
    return sum;
}

/* The stage, otherwise the cell, with the most fractional number; -1: all are whole. */
static int most_broken(const brancher *b, double *value)
{
    int from[] = {0, b->program.mixes->p, b->n_totals}, found = -1;
    double most = WHOLE;
    for (int kind = 0; kind < 2 && found < 0; kind++)
        for (int total = from[kind]; total < from[kind + 1]; total++) {
            double is = value_of(b, total), broken = fabs(is - floor(is + 0.5));
            if (broken <= most)
                continue;
            most = broken;
            found = total;
            *value = is;
        }
    return found;
}

/* Split a node into two: with at most `below` layers, and with more. */
static void split(brancher *b, size_t at, int total, int below)
{
    for (int up = 0; up < 2; up++) {
        limits *limit = limits_of(b, b->n);
        memcpy(limit, limits_of(b, at), (size_t)b->n_totals * sizeof *limit);
        if (up)
            limit[total].low = (int16_t)(below + 1);
        else
            limit[total].high = (int16_t)below;
        b->node[b->n].bound = b->node[at].bound;
        push(b, b->n++);
    }
}

/* The cell that is nearest to being fixed, but is not; -1: all are. */
static int nearly_fixed(const brancher *b, size_t at)
{
    const limits *limit = limits_of(b, at);
    int found = -1;
    for (int t = b->program.mixes->p; t < b->n_totals; t++)
        if (limit[t].low < limit[t].high &&
            (found < 0 || limit[t].high - limit[t].low < limit[found].high - limit[found].low))
            found = t;
    return found;
}

/* ---- whole layers ---- */

static bool was_seen(brancher *b)
{
    uint64_t hash = 1469598103934665603u;
    for (int c = 0; c < b->program.mixes->n_cells; c++)
        hash = (hash ^ (uint64_t)b->layers[c]) * 1099511628211u;
    for (size_t i = 0; i < b->n_seen; i++)
        if (b->seen[i] == hash)
            return true;
    b->seen[b->n_seen++] = hash;
    return false;
}

/* The node's solution has whole layers: judge them, and continue with the others of the node. */
static ek_status look_at_whole(brancher *b, size_t at)
{
    const ek__whole_judge *judge = b->options->judge;
    int p = b->program.mixes->p, open = nearly_fixed(b, at);
    bool exact = true;
    double step = INFINITY;
    ek_status status = EK_OK;
    for (int c = 0; c < b->program.mixes->n_cells; c++)
        b->layers[c] = (int)(value_of(b, p + c) + 0.5);
    if (!was_seen(b) || open < 0)
        status = judge->judge(judge->user, b->layers, b->upper, &step, &exact, b->err);
    if (!status && step < b->upper) {
        b->upper = step;
        b->enough = fmin(b->enough, ek__mix_seconds_of(b->program.layout->figures, step));
    }
    if (status || b->node[at].bound >= b->enough)
        return status;
    if (open < 0) {
        b->left = exact ? b->left : fmin(b->left, b->node[at].bound);
        return EK_OK;
    }
    int is = b->layers[open - p], low = limits_of(b, at)[open].low;
    split(b, at, open, is > low ? is - 1 : is);
    return EK_OK;
}

/* Plans near a fractional solution, as an upper bound for the others. */
static ek_status look_near(brancher *b)
{
    const ek__mixes *of = b->program.mixes;
    double *value = ek__alloc((size_t)of->n_cells, sizeof *value), step = NEAR * b->upper;
    if (!value)
        return ek__no_memory(b->err);
    for (int c = 0; c < of->n_cells; c++)
        value[c] = value_of(b, of->p + c);
    const ek__near near = {.p = of->p,
                           .v = of->v,
                           .n_layers = b->program.layout->figures->n_layers,
                           .most_layers = b->options->most_layers,
                           .value = value,
                           .judge = b->options->judge,
                           .over = b->options->over,
                           .user = b->options->user};
    ek_status status = ek__whole_near(&near, &step, b->err);
    free(value);
    b->upper = fmin(b->upper, step);
    b->enough = fmin(b->enough, ek__mix_seconds_of(b->program.layout->figures, b->upper));
    return status;
}

static bool is_over(const brancher *b, int n_solved)
{
    const ek__branch_options *o = b->options;
    return (o->n_solves > 0 && n_solved >= o->n_solves) || o->over(o->user);
}

/* Process one node: close it, keep its bound, or split it. */
static ek_status look(brancher *b, size_t at)
{
    node *is = &b->node[at];
    ek__mix_end end = EK__MIX_CUT;
    double value = 0;
    add_limits(b, at);
    bool over = false; /* long pipelines take a tenth of a second for each solution */
    for (int i = 0; i < MOST_SOLVES && end == EK__MIX_CUT && is->bound < b->enough && !over; i++) {
        double bound = 0;
        end = ek__mix_program_solve(&b->program, b->enough, &bound);
        is->bound = fmax(is->bound, end == EK__MIX_INFEASIBLE ? INFINITY : bound);
        over = is_over(b, ++b->n_solved);
    }
    if (end == EK__MIX_OUT_OF_MEMORY)
        return ek__no_memory(b->err);
    if (is->bound >= b->enough)
        return EK_OK;
    if (over) {
        b->left = fmin(b->left, is->bound);
        return EK_OK;
    }
    int total = most_broken(b, &value);
    ek_status status = EK_OK;
    if (b->options->near && at == 0 && total >= 0)
        status = look_near(b);
    if (status)
        return status;
    if (total >= 0)
        split(b, at, total, (int)floor(value));
    else if (b->options->judge)
        return look_at_whole(b, at);
    else
        b->left = fmin(b->left, is->bound);
    return EK_OK;
}

/* Until every node is closed or there is no room for more; without a judge, until a solution with whole layers has the
 * least bound.
 */
static ek_status branch(brancher *b, double *bound)
{
    ek_status status = EK_OK;
    while (!status && b->n_heap > 0 && b->n + 2 <= b->most && b->node[b->heap[0]].bound < fmin(b->enough, b->left) &&
           !is_over(b, b->n_solved))
        status = look(b, pop(b));
    *bound = fmin(b->enough, b->left);
    for (size_t i = 0; i < b->n_heap; i++)
        *bound = fmin(*bound, b->node[b->heap[i]].bound);
    return status;
}

static bool make_room(brancher *b)
{
    const ek__mix_program *g = &b->program;
    b->n_totals = g->mixes->p + g->mixes->n_cells;
    size_t room = MOST_LIMITS / ((size_t)b->n_totals * sizeof *b->limit), wanted = (size_t)b->options->n_nodes;
    b->most = wanted < 3 ? 3 : wanted < room ? wanted : room;
    b->node = ek__alloc(b->most, sizeof *b->node);
    b->limit = ek__alloc(b->most * (size_t)b->n_totals, sizeof *b->limit);
    b->heap = ek__alloc(b->most, sizeof *b->heap);
    b->seen = ek__alloc(b->most, sizeof *b->seen);
    b->layers = ek__alloc((size_t)g->mixes->n_cells, sizeof *b->layers);
    return b->node && b->limit && b->heap && b->seen && b->layers;
}

ek_status ek__mix_branch(const ek__mix_layout *layout, const ek__branch_options *options, double *bound, ek_error *err)
{
    if (!ek__clp_present())
        return EK_OK;
    brancher *b = ek__alloc(1, sizeof *b);
    if (!b)
        return ek__no_memory(err);
    b->options = options;
    b->upper = options->upper;
    b->enough = ek__mix_seconds_of(layout->figures, options->upper);
    b->left = INFINITY;
    b->err = err;
    bool fine = ek__mix_program_begin(&b->program, layout, options->too_long > 0 ? options->too_long : TOO_LONG) &&
                make_room(b);
    ek_status status = fine ? EK_OK : ek__no_memory(err);
    if (fine) {
        open_root(b);
        status = branch(b, bound);
    }
    ek__mix_program_clear(&b->program);
    free(b->node);
    free(b->limit);
    free(b->heap);
    free(b->seen);
    free(b->layers);
    free(b);
    return status;
}
