/* The linear method: a mixed-integer program with a surrogate of the step time as its objective, solved by CBC. It is
 * the original tool's search, kept as a solver so that both can be measured in one run; its optimum is not the optimum
 * of the simulated step, so it proves nothing.
 *
 * Variables: n[c][k], the layers of kind k in cell c (chunk i of stage s). With
 *
 *     F_c = sum_k n[c][k] f         f, b_k: forward and backward time of a layer
 *     B_c = sum_k n[c][k] b_k
 *     h_c, g_c                      forward and backward of head and tail, in the cells where they sit
 *
 * (all four times the slowdown of the cell's stage, when stages differ in speed),
 *
 * the objective is that of the original at its default level (MindFormers, toolkit/pipeline_balance):
 *
 *     m = p and v > 1:   M + E,    M >= B_c + g_c                                for all but the last chunks
 *                                  E >= B_c + g_c + h_c + (a_s / m) F_c, E >= M  for the last chunks
 *                                  a_s = s with less memory; else 0 for s < p/2 (as m < 2p), |p - 1 - 2s| beyond
 *     otherwise:         M,        M >= F_c + h_c + B_d + g_d                    for all cells c, d of a stage
 *
 * The original has a row for each pair c, d; here the two maxima of a stage are variables, which is the same in 2 v + 1
 * rows. Constraints: layers add up to L, a chunk holds at least the least, and
 *
 *     sum over the cells held: parameters + live[c] x activations <= room    for every undominated live vector
 *
 * which is exact; the original uses one vector and an estimate of the rest, so its plans can exceed the limit. Like the
 * original, the program allows select and comm in one chunk, which the lists cannot express; excluding it by a binary
 * per cell cost more than it gained (Llama-175B published, 25 s on two cores: step 1748 instead of 1462). Such a chunk
 * is repaired afterwards within its memory. */
#include "balance/milp.h"

#include <Cbc_C_Interface.h>
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balance/search.h"
#include "balance/solvers.h"
#include "base/c_locale.h"
#include "base/child.h"
#include "base/clp.h"
#include "base/error.h"
#include "evenkeel/layers.h"

#define MOST_SECONDS 1e8 /* for a clock that reads digits: more than anyone waits */

typedef struct model {
    const ek__problem *problem;
    Cbc_Model *cbc;
    ek_recompute kind[EK_N_RECOMPUTE]; /* the modelled ones */
    int n_kinds;
    int most;    /* layers of a chunk */
    int *column; /* the row being made: [n_terms], at most `longest` */
    double *weight;
    int n_terms, longest;
} model;

static int add_column(model *m, double least, double most, double cost, bool whole)
{
    assert(least <= most);
    Cbc_addCol(m->cbc, "", least, most, cost, whole, 0, NULL, NULL);
    return Cbc_getNumCols(m->cbc) - 1;
}

static void add_term(model *m, int column, double weight)
{
    if (weight == 0)
        return;
    assert(m->n_terms < m->longest && isfinite(weight));
    assert(column >= 0 && column < Cbc_getNumCols(m->cbc));
    m->column[m->n_terms] = column;
    m->weight[m->n_terms++] = weight;
}

/* Close the row: terms <= (L), >= (G) or = (E) the right side. */
static void end_row(model *m, char sense, double right)
{
    assert((sense == 'L' || sense == 'G' || sense == 'E') && isfinite(right));
    Cbc_addRow(m->cbc, "", m->n_terms, m->column, m->weight, sense, right);
    m->n_terms = 0;
}

/* Column of the layers of the k-th modelled kind in a cell; these come first. */
static int layers_column(const model *m, int cell, int k)
{
    assert(cell >= 0 && cell < m->problem->n_cells && k >= 0 && k < m->n_kinds);
    return cell * m->n_kinds + k;
}

static const ek_layer *body(const model *m)
{
    return &m->problem->layers->body[0];
}

/* A cell's body time: forward and backward, each times a factor. */
static void add_time(model *m, int cell, double forward, double backward)
{
    double slow = ek__cell_slowdown(m->problem, cell);
    forward *= slow;
    backward *= slow;
    for (int k = 0; k < m->n_kinds; k++)
        add_term(m, layers_column(m, cell, k),
                 forward * body(m)->forward_time + backward * body(m)->backward_time[m->kind[k]]);
}

static void add_layer_columns(model *m)
{
    assert(Cbc_getNumCols(m->cbc) == 0); /* they come first */
    for (int i = 0; i < m->problem->n_cells * m->n_kinds; i++)
        add_column(m, 0, m->most, 0, true);
}

static void constrain_layers(model *m)
{
    const ek__problem *problem = m->problem;
    for (int c = 0; c < problem->n_cells; c++)
        for (int k = 0; k < m->n_kinds; k++)
            add_term(m, layers_column(m, c, k), 1);
    end_row(m, 'E', problem->n_layers);
    for (int c = 0; c < problem->n_cells && problem->min_layers > 0; c++) {
        for (int k = 0; k < m->n_kinds; k++)
            add_term(m, layers_column(m, c, k), 1);
        end_row(m, 'G', problem->min_layers);
    }
    for (int b = 0; b < problem->n_banks; b++) {
        if (problem->fixed_layers[b] < 0)
            continue;
        for (int i = 0; i < problem->n_held; i++)
            for (int k = 0; k < m->n_kinds; k++)
                add_term(m, layers_column(m, problem->bank[b].cells[i], k), 1);
        end_row(m, 'E', problem->fixed_layers[b]);
    }
}

static void constrain_memory(model *m)
{
    const ek__problem *problem = m->problem;
    for (int b = 0; b < problem->n_banks; b++)
        for (int v = 0; v < problem->bank[b].n_live; v++) {
            const double *live = problem->bank[b].live + (size_t)v * (size_t)problem->n_held;
            double room = problem->bank[b].room_mb[v];
            for (int i = 0; i < problem->n_held; i++) {
                int cell = problem->bank[b].cells[i];
                room -= live[i] * problem->extra[cell].activation_mb;
                for (int k = 0; k < m->n_kinds; k++)
                    add_term(m, layers_column(m, cell, k),
                             body(m)->parameter_mb + live[i] * body(m)->activation_mb[m->kind[k]]);
            }
            end_row(m, 'L', room);
        }
}

/* As many micro-batches as stages, several chunks: one maximum for the last chunks, one for the others. */
static void stand_in_of_equal_counts(model *m)
{
    const ek__problem *problem = m->problem;
    int p = problem->n_stages, last = problem->n_chunks - 1;
    assert(last >= 1);
    bool less_memory = ek_order_schedule(problem->order)->shorter_warm_up;
    int others_most = add_column(m, 0, DBL_MAX, 1, false), last_most = add_column(m, 0, DBL_MAX, 1, false);
    for (int c = 0; c < problem->n_cells; c++) {
        int s = c % p, ahead = less_memory ? s : s < p / 2 ? 0 : abs(p - 1 - 2 * s);
        bool of_last = c / p == last;
        double slow = ek__cell_slowdown(problem, c);
        add_term(m, of_last ? last_most : others_most, 1);
        add_time(m, c, of_last ? -(double)ahead / p : 0, -1);
        end_row(m, 'G', slow * (problem->extra[c].backward_time + (of_last ? problem->extra[c].forward_time : 0)));
    }
    add_term(m, last_most, 1);
    add_term(m, others_most, -1);
    end_row(m, 'G', 0);
}

/* The longest pair of a forward and a backward of one stage. */
static void stand_in_of_bottleneck(model *m)
{
    const ek__problem *problem = m->problem;
    int p = problem->n_stages, bottleneck = add_column(m, 0, DBL_MAX, 1, false);
    for (int s = 0; s < p; s++) {
        int forward = add_column(m, 0, DBL_MAX, 0, false), backward = add_column(m, 0, DBL_MAX, 0, false);
        for (int c = s; c < problem->n_cells; c += p) {
            add_term(m, forward, 1);
            add_time(m, c, -1, 0);
            end_row(m, 'G', ek__cell_slowdown(problem, c) * problem->extra[c].forward_time);
            add_term(m, backward, 1);
            add_time(m, c, 0, -1);
            end_row(m, 'G', ek__cell_slowdown(problem, c) * problem->extra[c].backward_time);
        }
        add_term(m, bottleneck, 1);
        add_term(m, forward, -1);
        add_term(m, backward, -1);
        end_row(m, 'G', 0);
    }
}

static void build(model *m)
{
    const ek_shape *shape = ek_order_shape(m->problem->order);
    add_layer_columns(m);
    if (shape->n_micro_batches == shape->n_stages && shape->n_chunks > 1)
        stand_in_of_equal_counts(m);
    else
        stand_in_of_bottleneck(m);
    constrain_layers(m);
    constrain_memory(m);
}

/* The quickest way to recompute that needs no more memory than the split of a cell: the split itself, or one that beats
 * it, or, where the lists cannot express the split, the next one. */
static int option_of(const ek__chunk *chunk, double activation)
{
    int o = 0;
    assert(activation >= 0 && chunk->n_options >= 1);
    while (o + 1 < chunk->n_options && chunk->option[o].activation_mb > activation + 1e-9 * fmax(1, activation))
        o++;
    return o;
}

/* The plan of a solution; *found is whether it is within the limits, which rounding could have broken. */
static ek_status read_solution(const model *m, const double *solution, ek__state *state, bool *found, ek_error *err)
{
    const ek__problem *problem = m->problem;
    long sum = 0;
    *found = true;
    for (int c = 0; c < problem->n_cells; c++) {
        long n = 0;
        double activation = 0;
        for (int k = 0; k < m->n_kinds; k++) {
            long layers = lround(solution[layers_column(m, c, k)]);
            n += layers;
            activation += (double)layers * body(m)->activation_mb[m->kind[k]];
        }
        *found &= n >= problem->min_layers && n <= m->most;
        if (!*found)
            return EK_OK;
        sum += n;
        state->chunk[c] = ek__chunk_get(problem, 0, (int)n); /* with one kind, any first layer has the same cost */
        if (!state->chunk[c])
            return ek__no_memory(err);
        state->option[c] = option_of(state->chunk[c], activation);
    }
    *found = sum == problem->n_layers;
    for (int b = 0; b < problem->n_banks && *found; b++) {
        int held = 0;
        for (int i = 0; i < problem->n_held; i++)
            held += state->chunk[problem->bank[b].cells[i]]->n;
        *found = problem->fixed_layers[b] < 0 || problem->fixed_layers[b] == held;
    }
    for (int s = 0; s < problem->n_stages && *found; s++)
        *found = ek__state_excess(problem, state, s) <= problem->tolerance_mb;
    assert(!*found || ek__state_is_valid(problem, state, true));
    return EK_OK;
}

static ek_status check(const ek__problem *problem, ek_error *err)
{
    const ek_schedule *schedule = ek_order_schedule(problem->order);
    if (problem->layers->n_body > 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "solver 'milp' knows models with one kind of body layer (this one has %d); use another solver",
                        problem->layers->n_body);
    if (schedule->splits_backward || schedule->placement == EK_PLACE_BOTH_WAYS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "solver 'milp' has no linear model of schedule '%s', which %s; use another solver or schedule",
                        schedule->name,
                        schedule->splits_backward ? "splits the backward pass" : "runs micro-batches both ways");
    return EK_OK;
}

/* Input of CBC. */
typedef struct solving {
    model *m;
    double seconds;
    bool (*over)(void *user);
    void *user;
} solving;

/* Output of CBC. */
typedef struct answer {
    bool no_memory, ended, has_solution;
    double objective;
    double layers[]; /* [n_layer_columns()] of the solution */
} answer;

typedef struct work {
    const solving *asked;
    answer *out;
} work;

static int n_layer_columns(const model *m)
{
    return m->problem->n_cells * m->n_kinds;
}

static void run_cbc(void *user)
{
    const work *w = user;
    model *m = w->asked->m;
    answer *out = w->out;
    char limit[32];
    m->cbc = Cbc_newModel();
    ek__snprintf(limit, sizeof limit, "%.3f", w->asked->seconds);
    Cbc_setParameter(m->cbc, "logLevel", "0");
    Cbc_setParameter(m->cbc, "zeroHalfCuts", "off"); /* their generator ends the process when memory is out */
    Cbc_setParameter(m->cbc, "timeMode", "elapsed");
    Cbc_setParameter(m->cbc, "seconds", limit);
    build(m);
    Cbc_solve(m->cbc); /* always returns 0 */
    const double *solution = Cbc_isProvenInfeasible(m->cbc) ? NULL : Cbc_bestSolution(m->cbc);
    out->ended = Cbc_isProvenOptimal(m->cbc) || Cbc_isProvenInfeasible(m->cbc);
    out->has_solution = solution != NULL;
    if (solution) {
        out->objective = Cbc_getObjValue(m->cbc);
        memcpy(out->layers, solution, (size_t)n_layer_columns(m) * sizeof *solution);
    }
}

/* In the child: nothing is freed, the process ends. */
static bool run_child(void *user, void *out)
{
    work w = {user, out};
    ek__c_locale_enter(); /* CBC reads the limit as a text */
    w.out->no_memory = !ek__coin_run(run_cbc, &w);
    return true;
}

static bool child_over(void *user)
{
    const solving *s = user;
    return s->over && s->over(s->user);
}

/* CBC keeps settings of a solve in variables of the process, takes its SIGINT, prints, checks only its own clock and
 * may crash when memory is out: it gets a separate process. */
static ek_status ask_cbc(const solving *s, answer *out, size_t size, ek__state *state, ek__milp_end *end, ek_error *err)
{
    ek__child_end how;
    solving asked = *s;
    ek_status status = ek__child_run(run_child, child_over, &asked, out, size, &how, err);
    if (status)
        return status;
    if (how == EK__CHILD_CRASHED)
        return ek__fail(
            err, EK_ERR_SYSTEM, EK__NOWHERE,
            "CBC, the program of solver 'milp', crashed; is memory short? The other solvers do not need it");
    if (how == EK__CHILD_STOPPED) {
        *end = (ek__milp_end){0};
        return EK_OK;
    }
    if (out->no_memory)
        return ek__no_memory(err);
    *end = (ek__milp_end){.ended = out->ended, .stand_in = out->objective};
    return out->has_solution ? read_solution(s->m, out->layers, state, &end->found, err) : EK_OK;
}

ek_status ek__milp_minimise(const ek__problem *problem, double seconds, bool (*over)(void *user), void *user,
                            ek__state *state, ek__milp_end *out, ek_error *err)
{
    assert(seconds > 0);
    ek_status status = check(problem, err);
    if (status)
        return status;
    model m = {.problem = problem, .most = problem->n_layers - (problem->n_cells - 1) * problem->min_layers};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (problem->layers->modelled[k])
            m.kind[m.n_kinds++] = (ek_recompute)k;
    /* The longest row is that of all layers; the maxima add a column of their own to a cell's. */
    size_t longest = (size_t)n_layer_columns(&m) + 2, size = sizeof(answer) + longest * sizeof(double);
    assert(m.n_kinds >= 1 && m.most >= problem->min_layers);
    m.longest = (int)longest;
    m.column = ek__alloc(longest, sizeof *m.column);
    m.weight = ek__alloc(longest, sizeof *m.weight);
    answer *answered = ek__alloc(1, size);
    solving s = {&m, seconds, over, user};
    status = m.column && m.weight && answered ? ask_cbc(&s, answered, size, state, out, err) : ek__no_memory(err);
    free(answered);
    free(m.weight);
    free(m.column);
    return status;
}

static bool search_over(void *user)
{
    return ek__search_stopped(user);
}

static ek_status solve_in_time(ek__search *search, ek__state *state, ek__milp_end *end, ek_error *err)
{
    /* CBC checks its clock between its steps: with a slightly shorter limit it returns its best so far before it is
     * ended. */
    double left = fmin(search->start + search->options->time_limit - ek__now(), MOST_SECONDS);
    double seconds = left - fmin(0.1, 0.05 * left);
    return ek__milp_minimise(search->problem, fmax(seconds, 0.001), search_over, search, state, end, err);
}

static ek_status solve(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    ek__state state;
    ek_status status = ek__state_init(&state, problem, err);
    if (status)
        return status;
    ek__milp_end end = {0};
    double *scratch = ek__alloc(ek__state_scratch_size(problem), sizeof *scratch);
    status = scratch ? solve_in_time(search, &state, &end, err) : ek__no_memory(err);
    if (!status && end.found)
        ek__search_offer(search, &state, ek__state_step_time(problem, &state, scratch), 0);
    if (!status && !end.ended)
        atomic_store(&search->stop, true); /* its clock is the search's */
    free(scratch);
    ek__state_clear(&state);
    return status;
}

const ek__solver ek__solver_milp = {
    .name = "milp",
    .summary = "a linear approximation of the step, as in the original; for comparison",
    .solve = solve,
};
