/* A bound of a layout with whole layers: branch and bound over the linear program of its mixes. A solution in fractions
 * is split at the layers of a stage, else of a cell, else at those of one way to recompute, into those below and those
 * above it; the side with the least bound is looked at next. Paths and moments that a solution violates hold for all
 * others. What is left when every side is whole or has a bound of `enough` is the least of all whole solutions: the
 * shortest plan, were memory what tensors take, without fragments.
 *
 * Land and Doig, An automatic method of solving discrete programming problems, 1960; rows added as they are violated as
 * in Padberg and Rinaldi's branch and cut, 1991. */
#include <Clp_C_Interface.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/mix_program.h"

#define TOO_LONG 1e-4       /* of the step */
#define WHOLE    1e-5       /* layers */
enum { MOST_SOLVES = 200 }; /* of one side */

/* A side: the least and the most of every total and of every column. */
typedef struct node {
    double bound; /* seconds */
    bool closed;
} node;

typedef struct brancher {
    ek__mix_program program;
    int n_totals, n_limits; /* totals; those and columns */
    int n, most;            /* sides */
    node *node;             /* [most] */
    double *limit;          /* [most][n_limits][2] */
    double enough;          /* seconds */
} brancher;

static double *limits_of(const brancher *b, int at)
{
    return b->limit + 2 * (size_t)b->n_limits * (size_t)at;
}

static void open_root(brancher *b, double bound)
{
    const ek__mix_program *g = &b->program;
    double *limit = limits_of(b, 0);
    const double *low = Clp_rowLower(g->model), *high = Clp_rowUpper(g->model);
    for (int t = 0; t < b->n_totals; t++) {
        limit[2 * t] = low[g->first_total + t];
        limit[2 * t + 1] = high[g->first_total + t];
    }
    for (int k = 1; k < g->n_columns; k++) {
        limit[2 * (b->n_totals + k)] = 0;
        limit[2 * (b->n_totals + k) + 1] = g->layout->group[g->column[k].group].n;
    }
    b->node[b->n++] = (node){.bound = bound};
}

static void put_limits(brancher *b, int at)
{
    const ek__mix_program *g = &b->program;
    const double *limit = limits_of(b, at);
    double *row[2] = {Clp_rowLower(g->model), Clp_rowUpper(g->model)};
    double *column[2] = {Clp_columnLower(g->model), Clp_columnUpper(g->model)};
    for (int end = 0; end < 2; end++) {
        for (int t = 0; t < b->n_totals; t++)
            row[end][g->first_total + t] = limit[2 * t + end];
        for (int k = 1; k < g->n_columns; k++)
            column[end][k] = limit[2 * (b->n_totals + k) + end];
    }
}

/* Layers in a total or a column of the last solution. */
static double value_of(const brancher *b, int which)
{
    const ek__mix_program *g = &b->program;
    int p = g->mixes->p;
    double sum = 0;
    if (which >= b->n_totals)
        return g->solution[which - b->n_totals];
    for (int k = 1; k < g->n_columns; k++)
        if (g->column[k].group == 0 && (which < p ? g->column[k].cell % p == which : g->column[k].cell == which - p))
            sum += g->solution[k];
    return sum;
}

/* The most broken of the stages, else of the cells, else of the columns; -1: all are whole. */
static int most_broken(const brancher *b, double *value)
{
    int p = b->program.mixes->p, from[] = {0, p, b->n_totals + 1, b->n_limits}, found = -1;
    double most = WHOLE;
    for (int kind = 0; kind < 3 && found < 0; kind++)
        for (int which = from[kind]; which < from[kind + 1]; which++) {
            double is = value_of(b, which), broken = fabs(is - floor(is + 0.5));
            if (broken <= most)
                continue;
            most = broken;
            found = which;
            *value = is;
        }
    return found;
}

static void split(brancher *b, int at, int which, double value)
{
    const size_t n = 2 * (size_t)b->n_limits;
    for (int up = 0; up < 2; up++) {
        memcpy(limits_of(b, b->n), limits_of(b, at), n * sizeof *b->limit);
        limits_of(b, b->n)[2 * which + !up] = up ? ceil(value) : floor(value);
        b->node[b->n++] = (node){.bound = b->node[at].bound};
    }
}

/* Look at one side: closed, or with a bound that stays, or split. @return false when memory is out */
static bool look(brancher *b, int at)
{
    node *is = &b->node[at];
    ek__mix_end end = EK__MIX_CUT;
    put_limits(b, at);
    for (int i = 0; i < MOST_SOLVES && end == EK__MIX_CUT && is->bound < b->enough; i++) {
        double bound = 0;
        end = ek__mix_program_solve(&b->program, b->enough, &bound);
        is->bound = fmax(is->bound, end == EK__MIX_INFEASIBLE ? INFINITY : bound);
    }
    double value = 0;
    is->closed = is->bound >= b->enough;
    int which = is->closed || end == EK__MIX_OUT_OF_MEMORY ? -1 : most_broken(b, &value);
    if (which >= 0) {
        is->closed = true;
        split(b, at, which, value);
    }
    return end != EK__MIX_OUT_OF_MEMORY;
}

/* The side that is open with the least bound; -1: none. */
static int next_of(const brancher *b)
{
    int next = -1;
    for (int i = 0; i < b->n; i++)
        if (!b->node[i].closed && (next < 0 || b->node[i].bound < b->node[next].bound))
            next = i;
    return next;
}

/* Ends with a side that stays open: its bound is the least of all, since it is whole or there is no room to split it.
 * @return false when memory is out */
static bool branch(brancher *b, bool (*over)(void *user), void *user, double *bound)
{
    int at = next_of(b);
    bool fine = true;
    while (fine && at >= 0 && b->n + 2 <= b->most && !over(user)) {
        fine = look(b, at);
        int next = next_of(b);
        if (next == at)
            break;
        at = next;
    }
    *bound = at < 0 ? b->enough : fmin(b->enough, b->node[at].bound);
    return fine;
}

static bool make_room(brancher *b)
{
    const ek__mix_program *g = &b->program;
    b->n_totals = g->mixes->p + g->mixes->n_cells;
    b->n_limits = b->n_totals + g->n_columns;
    b->node = ek__alloc((size_t)b->most, sizeof *b->node);
    b->limit = ek__alloc((size_t)b->most * 2 * (size_t)b->n_limits, sizeof *b->limit);
    return b->node && b->limit;
}

ek_status ek__mix_branch(const ek__mix_layout *layout, double enough, int n_nodes, bool (*over)(void *user), void *user,
                         double *bound, ek_error *err)
{
    brancher *b = ek__alloc(1, sizeof *b);
    if (!b)
        return ek__no_memory(err);
    b->most = n_nodes > 3 ? n_nodes : 3;
    b->enough = enough;
    bool fine = ek__mix_program_begin(&b->program, layout, TOO_LONG) && make_room(b);
    if (fine) {
        open_root(b, 0);
        fine = branch(b, over, user, bound);
    }
    ek__mix_program_clear(&b->program);
    free(b->node);
    free(b->limit);
    free(b);
    return fine ? EK_OK : ek__no_memory(err);
}
