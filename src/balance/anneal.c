/* Searches plans by simulated annealing (Kirkpatrick et al. 1983) with the simulated step as its objective. Eight
 * chains run side by side, one per vector lane, so that one pass over the schedule's blocks evaluates eight moves;
 * batches of eight run on all threads. A first round starts hot and finds the basins, a second one starts warm from the
 * best of the first. Every visited state is within the memory limit: after each move the recomputation of a bank (a
 * stage's chunks, or those of a stage and its mirror) is adapted to its room.
 *
 * Chains depend only on the seed and their batch, so the answer is the same for any number of threads. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/search.h"
#include "balance/solvers.h"
#include "base/error.h"
#include "base/random.h"
#include "base/threads.h"
#include "evenkeel/layers.h"

/* Tuned on the cases of bench/: steps grow with the cells, work is bounded so that the default ends in seconds. */
enum {
    STEPS_PER_CELL = 900,
    MIN_STEPS = 4000,
    MIN_STEPS_PER_CELL = 100,
    MAX_BATCHES = 8,
    MOST_TRIES = 64,
    AGREEMENT = 8, /* one chain in this many at the same best: no second round is needed */
};
#define WORK_BUDGET 1.2e10 /* blocks x lanes of the first round */
#define HOT         0.02   /* of the step time */
#define WARM        0.003  /* where the second round starts */
#define COLD        1e-5
#define PLAN_SHARE  0.6 /* of the time limit: the rest is for showing how good the plan is */
#define FIRST_SHARE 0.7 /* of the time that is left, when the clock sets the pace */

/* Changes of a move, for undoing it. */
typedef struct undo {
    int n;
    uint64_t move;     /* number of the move, never 0 */
    uint64_t *cell_of; /* [n_cells] last move that touched the cell */
    int *cell;         /* [n_cells] changed cells, and their former values */
    int *option;
    const ek__chunk **chunk;
    int n_banks;
    uint64_t *bank_of; /* [n_banks] */
    int *bank;         /* [n_banks] touched */
} undo;

typedef struct chain {
    ek__state now, best;
    double now_time, best_time;
    ek__random random;
    undo undo;
} chain;

typedef struct batch {
    ek__search *search;
    int rank;
    long n_steps; /* to do; without a bound when the clock sets the pace */
    double share; /* of the time that is left, when the clock sets the pace; else 0 */
    double hot, cold;
    const ek__state *start; /* [EK__LANES] */
    chain chains[EK__LANES];
    double *duration; /* [n_slots][EK__LANES] */
    double *scratch;
    double *slack; /* [live vectors of the bank being fitted] */
    ek_status status;
} batch;

static void touch(const ek__problem *problem, chain *c, int cell)
{
    undo *u = &c->undo;
    assert(u->move > 0); /* begin_move() came before */
    if (u->cell_of[cell] == u->move)
        return;
    assert(u->n < problem->n_cells);
    u->cell_of[cell] = u->move;
    u->cell[u->n] = cell;
    u->option[u->n] = c->now.option[cell];
    u->chunk[u->n++] = c->now.chunk[cell];
    int bank = problem->order->bank[cell];
    if (u->bank_of[bank] != u->move) {
        assert(u->n_banks < problem->n_banks);
        u->bank_of[bank] = u->move;
        u->bank[u->n_banks++] = bank;
    }
}

static void begin_move(chain *c)
{
    c->undo.move++;
    c->undo.n = c->undo.n_banks = 0;
}

static void set_option(const ek__problem *problem, chain *c, int cell, int option)
{
    assert(option >= 0 && option < c->now.chunk[cell]->n_options);
    touch(problem, c, cell);
    c->now.option[cell] = option;
}

static void take_back(chain *c)
{
    for (int i = 0; i < c->undo.n; i++) {
        c->now.chunk[c->undo.cell[i]] = c->undo.chunk[i];
        c->now.option[c->undo.cell[i]] = c->undo.option[i];
    }
}

static double activation(const chain *c, int cell)
{
    return c->now.chunk[cell]->option[c->now.option[cell]].activation_mb;
}

/* Room left under each of the bank's live vectors. */
static void bank_slack(const ek__problem *problem, const chain *c, const ek__bank *bank, double *slack)
{
    const double *live = bank->live;
    int n = problem->n_held;
    assert(bank->n_live >= 1 && bank->n_live <= problem->most_live); /* places of `slack` */
    for (int k = 0; k < bank->n_live; k++, live += n) {
        slack[k] = bank->room_mb[k];
        for (int i = 0; i < n; i++)
            slack[k] -= c->now.chunk[bank->cells[i]]->parameter_mb;
        for (int i = 0; i < n; i++)
            slack[k] -= live[i] * (activation(c, bank->cells[i]) + problem->extra[bank->cells[i]].activation_mb);
    }
}

static void change_option(const ek__problem *problem, chain *c, const ek__bank *bank, int column, int option,
                          double *slack)
{
    assert(column >= 0 && column < problem->n_held);
    int cell = bank->cells[column];
    double before = activation(c, cell);
    set_option(problem, c, cell, option);
    for (int k = 0; k < bank->n_live; k++)
        slack[k] += bank->live[k * problem->n_held + column] * (before - activation(c, cell));
}

/* The activation that a single chunk must lose (negative: may gain) for every live vector to fit. */
static double chunk_need(const ek__problem *problem, const ek__bank *bank, int column, const double *slack)
{
    const double *live = bank->live + column;
    double need = -INFINITY;
    for (int k = 0; k < bank->n_live; k++, live += problem->n_held)
        if (*live > 0 && -slack[k] > need * *live)
            need = -slack[k] / *live;
    return need;
}

static bool over(const double *slack, int n, double tolerance)
{
    for (int k = 0; k < n; k++)
        if (slack[k] < -tolerance)
            return true;
    return false;
}

/*
 * Refit a bank's recomputation after a change: recompute more, in random chunks, until it fits, then less wherever room
 * is left, so that the state is always maximal. `pinned` (-1: none) keeps its option.
 * Returns false when even the thriftiest options do not fit.
 */
static bool fit_bank(const ek__problem *problem, chain *c, int which, int pinned, double *slack)
{
    const ek__bank *bank = &problem->bank[which];
    const int *cells = bank->cells;
    int v = problem->n_held;
    assert(which >= 0 && which < problem->n_banks && pinned >= -1 && pinned < v);
    bank_slack(problem, c, bank, slack);
    while (over(slack, bank->n_live, problem->tolerance_mb)) {
        int candidates[EK_MAX_CHUNKS], n = 0;
        for (int i = 0; i < v; i++)
            if (i != pinned && c->now.option[cells[i]] + 1 < c->now.chunk[cells[i]]->n_options)
                candidates[n++] = i;
        if (n == 0)
            return false;
        int i = candidates[ek__random_below(&c->random, n)], cell = cells[i];
        double need = chunk_need(problem, bank, i, slack);
        if (ek__random_next(&c->random) & 1) /* leave some of it to another chunk */
            need *= ek__random_unit(&c->random);
        const ek__chunk *chunk = c->now.chunk[cell];
        double target = activation(c, cell) - need;
        int option = c->now.option[cell] + 1;
        while (option + 1 < chunk->n_options && chunk->option[option].activation_mb > target)
            option++;
        assert(option > c->now.option[cell]); /* so that this ends */
        change_option(problem, c, bank, i, option, slack);
    }
    int first = v > 1 ? ek__random_below(&c->random, v) : 0;
    for (int j = 0; j < v; j++) {
        int i = first + j < v ? first + j : first + j - v, cell = cells[i];
        if (i == pinned || c->now.option[cell] == 0)
            continue;
        const ek__chunk *chunk = c->now.chunk[cell];
        double target = activation(c, cell) - chunk_need(problem, bank, i, slack);
        int option = c->now.option[cell];
        while (option > 0 && chunk->option[option - 1].activation_mb <= target)
            option--;
        if (option != c->now.option[cell])
            change_option(problem, c, bank, i, option, slack);
    }
    assert(!over(slack, bank->n_live, 2 * problem->tolerance_mb));
    return true;
}

static bool set_chunk(const ek__problem *problem, chain *c, int cell, int first, int n)
{
    assert(n >= problem->min_layers);
    const ek__chunk *chunk = ek__chunk_get(problem, first, n);
    if (!chunk || chunk->n_options == 0)
        return false;
    if (chunk == c->now.chunk[cell])
        return true;
    touch(problem, c, cell);
    c->now.chunk[cell] = chunk;
    if (c->now.option[cell] >= chunk->n_options)
        c->now.option[cell] = chunk->n_options - 1;
    return true;
}

/* Move one layer from cell a to cell b, unless that changes a fixed stage. With several body kinds the chunks between
 * them shift by one layer too. */
static bool shift_layer(const ek__problem *problem, chain *c, int a, int b)
{
    assert(a != b);
    if (c->now.chunk[a]->n <= problem->min_layers || !ek__may_exchange(problem, a, b))
        return false;
    if (problem->layers->n_body == 1)
        return set_chunk(problem, c, a, 0, c->now.chunk[a]->n - 1) &&
               set_chunk(problem, c, b, 0, c->now.chunk[b]->n + 1);
    const int *cell_at = problem->order->cell_at; /* between them: in the model */
    int from = 0, at = 0, passed = 0;
    for (; cell_at[from] != a && cell_at[from] != b; from++)
        at += c->now.chunk[cell_at[from]]->n;
    for (int q = from; passed < 2; q++) {
        assert(q < problem->n_cells);
        int cell = cell_at[q];
        passed += (cell == a) + (cell == b);
        int n = c->now.chunk[cell]->n - (cell == a) + (cell == b);
        if (!set_chunk(problem, c, cell, at, n))
            return false;
        at += n;
    }
    return true;
}

static bool fit_touched(const ek__problem *problem, chain *c, double *slack)
{
    int n = c->undo.n_banks;
    for (int i = 0; i < n; i++)
        if (!fit_bank(problem, c, c->undo.bank[i], -1, slack))
            return false;
    assert(c->undo.n_banks == n); /* fitting touches no further bank */
    return true;
}

/* A number below n, at least 2, other than one of these. */
static int other_than(ek__random *random, int n, int not_this)
{
    assert(n >= 2 && not_this >= 0 && not_this < n);
    int x = ek__random_below(random, n - 1);
    return x + (x >= not_this);
}

/* One to three layers to other chunks anywhere. */
static bool move_layers(const ek__problem *problem, chain *c, int how_many, double *slack)
{
    for (int k = 0; k < how_many; k++) {
        int a, b, tries = 0;
        do { /* with fixed stages most pairs may be ruled out */
            a = ek__random_below(&c->random, problem->n_cells);
            b = other_than(&c->random, problem->n_cells, a);
        } while (!ek__may_exchange(problem, a, b) && ++tries < MOST_TRIES);
        if (!shift_layer(problem, c, a, b))
            return false;
    }
    return fit_touched(problem, c, slack);
}

/* A layer from each chunk of a range of stages in one row to as many in another row: crosses between basins that differ
 * in where the rows step from one layer count to the next. Half of the time the ranges are the same stages. */
static bool move_range(const ek__problem *problem, chain *c, double *slack)
{
    int p = problem->n_stages, v = problem->n_chunks;
    int i = ek__random_below(&c->random, v), j = other_than(&c->random, v, i);
    int n = 1 + ek__random_below(&c->random, p), s = ek__random_below(&c->random, p - n + 1), t = s;
    if (ek__random_next(&c->random) & 1)
        t = ek__random_below(&c->random, p - n + 1);
    assert(i != j && s + n <= p && t + n <= p);
    bool moved = false;
    for (int k = 0; k < n; k++)
        moved |= shift_layer(problem, c, i * p + s + k, j * p + t + k);
    return moved && fit_touched(problem, c, slack);
}

/* Another option for one chunk; the bank's other chunks give way or gain. */
static bool move_option(const ek__problem *problem, chain *c, double *slack)
{
    int cell = ek__random_below(&c->random, problem->n_cells);
    int n = c->now.chunk[cell]->n_options;
    if (n < 2)
        return false;
    set_option(problem, c, cell, other_than(&c->random, n, c->now.option[cell]));
    return fit_bank(problem, c, problem->order->bank[cell], problem->order->column[cell], slack);
}

static bool propose(const ek__problem *problem, chain *c, double *slack)
{
    begin_move(c);
    if (problem->n_cells < 2)
        return move_option(problem, c, slack);
    double kind = ek__random_unit(&c->random);
    bool done;
    if (problem->n_held == 1) /* the fit already takes the cheapest option of a lone chunk */
        done = move_layers(problem, c, kind < 0.5 ? 1 : kind < 0.85 ? 2 : 3, slack);
    else if (kind < 0.4)
        done = move_layers(problem, c, 1, slack);
    else if (kind < 0.55)
        done = move_layers(problem, c, 2, slack);
    else if (kind < 0.85)
        done = problem->n_chunks > 1 ? move_range(problem, c, slack) : move_layers(problem, c, 3, slack);
    else
        done = move_option(problem, c, slack);
    return done;
}

/* Write the durations of the cells a move touched into the chain's lane. */
static void write_lane(const ek__problem *problem, const chain *c, double *duration, int lane)
{
    assert(lane >= 0 && lane < EK__LANES);
    for (int i = 0; i < c->undo.n; i++) {
        int cell = c->undo.cell[i];
        ek__set_chunk_durations(problem, cell, c->now.chunk[cell], c->now.option[cell], duration + lane, EK__LANES);
    }
}

static void keep_best(batch *b, chain *c)
{
    if (c->now_time >= c->best_time * (1 - EK__TIME_TOLERANCE))
        return;
    c->best_time = c->now_time;
    ek__state_copy(b->search->problem, &c->now, &c->best);
    ek__search_offer(b->search, &c->best, c->best_time, b->rank);
}

static void start_chains(batch *b)
{
    const ek__problem *problem = b->search->problem;
    double times[EK__LANES];
    for (int l = 0; l < EK__LANES; l++) {
        chain *c = &b->chains[l];
        ek__state_copy(problem, &b->start[l], &c->now);
        c->random = ek__random_seed(b->search->options->seed * 1000003u + (uint64_t)b->rank * EK__LANES + (uint64_t)l);
        for (int i = 0; i < problem->n_banks; i++) {
            begin_move(c);
            /* The start fits, so refitting cannot fail; it only spends the room that is left. */
            bool fits = fit_bank(problem, c, i, -1, b->slack);
            assert(fits);
            (void)fits;
        }
        ek__state_durations(problem, &c->now, b->duration + l, EK__LANES);
    }
    ek__problem_step_times(problem, b->duration, b->scratch, times);
    for (int l = 0; l < EK__LANES; l++) {
        b->chains[l].now_time = times[l];
        b->chains[l].best_time = INFINITY;
        keep_best(b, &b->chains[l]);
    }
}

/* One step of every chain: move, evaluate the eight moves together, accept or undo. */
static void step_chains(batch *b, double temperature)
{
    const ek__problem *problem = b->search->problem;
    double times[EK__LANES];
    bool moved[EK__LANES];
    assert(temperature >= 0);
    for (int l = 0; l < EK__LANES; l++) {
        chain *c = &b->chains[l];
        moved[l] = propose(problem, c, b->slack);
        if (moved[l])
            write_lane(problem, c, b->duration, l);
        else
            take_back(c);
    }
    ek__problem_step_times(problem, b->duration, b->scratch, times);
    for (int l = 0; l < EK__LANES; l++) {
        chain *c = &b->chains[l];
        if (!moved[l])
            continue;
        if (times[l] <= c->now_time || ek__random_unit(&c->random) < exp((c->now_time - times[l]) / temperature)) {
            c->now_time = times[l];
            keep_best(b, c);
            assert(c->best_time <= c->now_time * (1 + 2 * EK__TIME_TOLERANCE));
        } else {
            take_back(c);
            write_lane(problem, c, b->duration, l);
        }
    }
}

static double plan_end(const ek__search *search)
{
    return search->start + PLAN_SHARE * search->options->time_limit;
}

static void run_batch(batch *b)
{
    ek__search *search = b->search;
    double blocks = (double)ek_order_n_blocks(search->problem->order) * EK__LANES;
    long look = blocks > 1e6 ? 1 : 64; /* steps between updates of the temperature */
    double from = ek__now(), window = b->share * (plan_end(search) - from);
    assert(b->n_steps > 0 && b->share >= 0 && b->share <= 1);
    assert(b->cold > 0 && b->cold <= b->hot); /* it cools */
    start_chains(b);
    double scale = b->chains[0].now_time, temperature = 0;
    for (long k = 0; k < b->n_steps && !ek__search_stopped(search); k++) {
        if (k % look == 0) {
            double done = b->share > 0 ? (ek__now() - from) / window : (double)k / (double)b->n_steps;
            if (done >= 1)
                break;
            temperature = scale * b->hot * pow(b->cold / b->hot, done);
        }
        step_chains(b, temperature);
        if (b->share == 0)
            ek__search_did(search, blocks);
    }
}

static void undo_clear(undo *u)
{
    free(u->cell_of);
    free(u->cell);
    free(u->option);
    free(u->chunk);
    free(u->bank_of);
    free(u->bank);
}

static bool undo_init(undo *u, const ek__problem *problem)
{
    size_t n = (size_t)problem->n_cells, n_banks = (size_t)problem->n_banks;
    u->cell_of = ek__alloc(n, sizeof *u->cell_of);
    u->cell = ek__alloc(n, sizeof *u->cell);
    u->option = ek__alloc(n, sizeof *u->option);
    u->chunk = ek__alloc(n, sizeof *u->chunk);
    u->bank_of = ek__alloc(n_banks, sizeof *u->bank_of);
    u->bank = ek__alloc(n_banks, sizeof *u->bank);
    return u->cell_of && u->cell && u->option && u->chunk && u->bank_of && u->bank;
}

static void batch_clear(batch *b)
{
    for (int l = 0; l < EK__LANES; l++) {
        ek__state_clear(&b->chains[l].now);
        ek__state_clear(&b->chains[l].best);
        undo_clear(&b->chains[l].undo);
    }
    free(b->duration);
    free(b->scratch);
    free(b->slack);
}

static ek_status batch_init(batch *b, ek_error *err)
{
    const ek__problem *problem = b->search->problem;
    size_t n_slots = (size_t)ek__order_n_slots(problem->order);
    b->duration = ek__alloc(n_slots * EK__LANES, sizeof *b->duration);
    b->scratch = ek__alloc(ek__order_n_clocks(problem->order) * EK__LANES, sizeof *b->scratch);
    b->slack = ek__alloc((size_t)problem->most_live, sizeof *b->slack);
    if (!b->duration || !b->scratch || !b->slack)
        return ek__no_memory(err);
    for (int l = 0; l < EK__LANES; l++)
        if (ek__state_init(&b->chains[l].now, problem, err) || ek__state_init(&b->chains[l].best, problem, err) ||
            !undo_init(&b->chains[l].undo, problem))
            return ek__no_memory(err);
    return EK_OK;
}

/* A queue of batches that threads take from. */
typedef struct round_of_batches {
    batch *batches;
    int n;
    atomic_int next;
} round_of_batches;

static void *work(void *user)
{
    round_of_batches *r = user;
    for (int i = atomic_fetch_add(&r->next, 1); i < r->n; i = atomic_fetch_add(&r->next, 1))
        run_batch(&r->batches[i]);
    return NULL;
}

/* Run the batches on the search's threads; if a thread cannot be started, the others take its share. */
static void run_round(ek__search *search, batch *batches, int n)
{
    round_of_batches r = {.batches = batches, .n = n};
    assert(n >= 1 && search->n_threads >= 1);
    atomic_init(&r.next, 0);
    ek__run_threads(search->n_threads < n ? search->n_threads : n, work, &r, 0);
}

typedef struct ranked {
    const chain *chain;
    int at;
} ranked;

static int by_time(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->chain->best_time != y->chain->best_time)
        return x->chain->best_time < y->chain->best_time ? -1 : 1;
    return x->at - y->at;
}

/* The numbers of steps and chains. */
typedef struct budget {
    int first_batches, second_batches;
    long n_steps;
    bool by_clock; /* the time limit is too short for all of it: one batch a thread, cooled by the clock */
} budget;

/* Seconds of one step of a batch, measured; moving costs about as much as evaluating. */
static double step_seconds(const ek__problem *problem, batch *b)
{
    double times[EK__LANES], begin = ek__now(), seconds;
    int n = 0;
    do {
        ek__problem_step_times(problem, b->duration, b->scratch, times);
        n++;
        seconds = ek__now() - begin;
    } while (seconds < 1e-3 && n < 1000);
    return 2 * seconds / n;
}

static budget plan_budget(const ek__problem *problem, int n_steps)
{
    if (n_steps > 0)
        return (budget){.first_batches = 1, .second_batches = 1, .n_steps = n_steps};
    double blocks = (double)ek_order_n_blocks(problem->order) * EK__LANES;
    double steps = fmax(MIN_STEPS, (double)STEPS_PER_CELL * problem->n_cells);
    double batches = WORK_BUDGET / (blocks * steps);
    if (batches < 2) /* a large problem: fewer steps, down to a floor */
        steps = fmax((double)MIN_STEPS_PER_CELL * problem->n_cells, steps * batches / 2);
    int n = batches > MAX_BATCHES ? MAX_BATCHES : batches < 2 ? 2 : (int)batches;
    assert(n >= 2 && n <= MAX_BATCHES && steps >= 1);
    return (budget){.first_batches = n, .second_batches = (n + 1) / 2, .n_steps = (long)steps};
}

static void fit_to_clock(ek__search *search, batch *sample, budget *plan)
{
    double left = plan_end(search) - ek__now();
    double needed = step_seconds(search->problem, sample) * (double)plan->n_steps *
                    (plan->first_batches + plan->second_batches) / search->n_threads;
    plan->by_clock = needed > left;
    if (!plan->by_clock)
        return;
    plan->n_steps = LONG_MAX;
    plan->first_batches = search->n_threads < plan->first_batches ? search->n_threads : plan->first_batches;
    plan->second_batches = plan->first_batches < plan->second_batches ? plan->first_batches : plan->second_batches;
    assert(plan->first_batches >= 1 && plan->second_batches >= 1);
}

/* Run batches [first, first + n) from their starts: all of the first round, or all of the second. */
static void anneal_round(ek__search *search, batch *batches, int first, int n, const budget *plan)
{
    assert(first == 0 ? n == plan->first_batches : first == plan->first_batches && n == plan->second_batches);
    for (int i = first; i < first + n; i++) {
        batches[i].rank = i;
        batches[i].n_steps = plan->n_steps;
        batches[i].hot = first == 0 ? HOT : WARM;
        batches[i].cold = COLD;
        batches[i].share = !plan->by_clock ? 0 : first == 0 ? FIRST_SHARE : 1;
    }
    run_round(search, batches + first, n);
}

static ek_status solve(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    budget plan = plan_budget(problem, search->options->n_steps);
    int n = plan.first_batches + plan.second_batches, n_chains = plan.first_batches * EK__LANES;
    ek_status status = EK_OK;
    ek__state origin = {0};
    ek__state *starts = ek__alloc((size_t)n * EK__LANES, sizeof *starts); /* borrowed states */
    ranked *all = ek__alloc((size_t)n_chains, sizeof *all);
    batch *batches = ek__alloc((size_t)n, sizeof *batches);
    if (!starts || !all || !batches)
        status = ek__no_memory(err);
    if (!status)
        status = ek__state_init(&origin, problem, err);
    for (int i = 0; i < n && !status; i++) {
        batches[i].search = search;
        batches[i].start = starts + (size_t)i * EK__LANES;
        status = batch_init(&batches[i], err);
    }
    if (status)
        goto done;
    fit_to_clock(search, &batches[0], &plan);
    n_chains = plan.first_batches * EK__LANES;
    if (!plan.by_clock)
        atomic_store(&search->work_total,
                     (double)n * (double)plan.n_steps * EK__LANES * (double)ek_order_n_blocks(problem->order));
    /* A still copy: search->best changes as soon as one batch offers something. */
    ek__state_copy(problem, &search->best, &origin);
    for (int i = 0; i < n_chains; i++)
        starts[i] = origin;
    anneal_round(search, batches, 0, plan.first_batches, &plan);
    if (ek__search_stopped(search))
        goto done;

    for (int i = 0; i < n_chains; i++)
        all[i] = (ranked){&batches[i / EK__LANES].chains[i % EK__LANES], i};
    qsort(all, (size_t)n_chains, sizeof *all, by_time);
    assert(all[0].chain->best_time <= all[n_chains - 1].chain->best_time);
    assert(plan.second_batches <= plan.first_batches); /* so that every chain of the second round has a start */
    int agree = 0;                                     /* chains that ended at the best step */
    while (agree < n_chains && all[agree].chain->best_time <= all[0].chain->best_time * (1 + EK__TIME_TOLERANCE))
        agree++;
    if (!plan.by_clock && agree * AGREEMENT >= n_chains)
        goto done;
    for (int i = 0; i < plan.second_batches * EK__LANES; i++) /* each of the better half twice */
        starts[n_chains + i] = all[i / 2].chain->best;
    anneal_round(search, batches, plan.first_batches, plan.second_batches, &plan);
done:
    for (int i = 0; i < n && batches; i++)
        batch_clear(&batches[i]);
    ek__state_clear(&origin);
    free(batches);
    free(all);
    free(starts);
    return status;
}

const ek__solver ek__solver_anneal = {
    .name = "anneal",
    .summary = "simulated annealing on the simulated step; fast, no proof",
    .solve = solve,
};
