/* Chooses the runs that identify the best plan. Before any run the logarithms of the plans' steps are normal with the
 * covariance that the device's constants give them (sensitivity.h):
 *
 *     y ~ N(l, C),   C = M M'          M: moves by a standard error of each constant
 *
 * Measuring plans S with noise s leaves the means l + C_S (C_SS + s^2 I)^-1 (measured_S - l_S), and the plan with the
 * least mean is taken. Its loss against the best plan is averaged over draws of the constants, the same for every set.
 * Runs are added one by one, always the one with the least remaining loss (knowledge gradient of a set; Frazier, Powell
 * and Dayanik, The Knowledge-Gradient Policy for Correlated Normal Beliefs, 2009). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "calibrate/fit.h"
#include "evenkeel/layout_advice.h"
#include "layout/sensitivity.h"

enum { DRAWS = 1000, MOST_TURNS = 4 };

#define SPREAD_PART 1e-2 /* weight of the remaining spread: decides between runs with equal losses */

typedef struct chooser {
    int n, k; /* plans; runs */
    const ek__sensitivity *s;
    double *covariance;       /* [n][n] */
    double *truth;            /* [DRAWS][n] logarithms of steps */
    double *noise;            /* [DRAWS][n] */
    double *weight, *inverse; /* [n][k], [k][k] */
    double *residual;         /* [k] */
    int chosen[EK_MAX_LAYOUT_TRIALS];
} chooser;

/* ---- draws ---- */

/* A normal number by Box and Muller; xorshift of 64 bits, so that every machine draws the same. */
static double normal(uint64_t *state)
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        u[i] = ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(u[0])) * cos(2 * 3.14159265358979323846 * u[1]);
}

static void draw(chooser *c)
{
    size_t n = (size_t)c->n, m = (size_t)c->s->n_constants;
    uint64_t state = 88172645463325252ULL;
    for (size_t d = 0; d < DRAWS; d++) {
        double error[EK__MAX_CONSTANTS];
        for (size_t k = 0; k < m; k++)
            error[k] = normal(&state);
        for (size_t i = 0; i < n; i++) {
            double by = 0;
            for (size_t k = 0; k < m; k++)
                by += c->s->move[i * m + k] * error[k];
            c->truth[d * n + i] = c->s->log_step[i] + by + EK__STEP_OWN * normal(&state);
            c->noise[d * n + i] = EK__STEP_NOISE * normal(&state);
        }
    }
}

/* ---- the value of a set of runs ---- */

/* weight = C_S (C_SS + s^2 I)^-1 */
static void fill_weights(chooser *c, int n_chosen)
{
    size_t n = (size_t)c->n, k = (size_t)n_chosen;
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++)
            c->inverse[a * k + b] = c->covariance[(size_t)c->chosen[a] * n + (size_t)c->chosen[b]] +
                                    (a == b ? EK__STEP_NOISE * EK__STEP_NOISE : 0);
    ek__fit_invert(n_chosen, c->inverse);
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < k; a++) {
            c->weight[i * k + a] = 0;
            for (size_t b = 0; b < k; b++)
                c->weight[i * k + a] += c->covariance[i * n + (size_t)c->chosen[b]] * c->inverse[b * k + a];
        }
}

/* Mean variance of the plans after measuring the set. */
static double variance_left(const chooser *c, int n_chosen)
{
    size_t n = (size_t)c->n, k = (size_t)n_chosen;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double left = c->covariance[i * n + i];
        for (size_t a = 0; a < k; a++)
            left -= c->weight[i * k + a] * c->covariance[i * n + (size_t)c->chosen[a]];
        sum += fmax(left, 0);
    }
    return sum / c->n;
}

/* The loss of one draw: the step of the plan taken after the measurements over the best one, minus 1. */
static double loss_of_draw(const chooser *c, size_t d, int n_chosen, int *taken)
{
    size_t n = (size_t)c->n, k = (size_t)n_chosen;
    const double *truth = c->truth + d * n, *noise = c->noise + d * n;
    double least = INFINITY, best = INFINITY;
    for (size_t a = 0; a < k; a++) {
        size_t at = (size_t)c->chosen[a];
        c->residual[a] = truth[at] + noise[at] - c->s->log_step[at];
    }
    for (size_t i = 0; i < n; i++) {
        double mean = c->s->log_step[i];
        for (size_t a = 0; a < k; a++)
            mean += c->weight[i * k + a] * c->residual[a];
        if (mean < least) {
            least = mean;
            *taken = (int)i;
        }
        best = fmin(best, truth[i]);
    }
    return expm1(truth[*taken] - best);
}

static double loss(chooser *c, int n_chosen)
{
    double sum = 0;
    int taken = 0;
    fill_weights(c, n_chosen);
    for (size_t d = 0; d < DRAWS; d++)
        sum += loss_of_draw(c, d, n_chosen, &taken);
    return sum / DRAWS;
}

/* ---- the runs ---- */

static bool is_chosen(const chooser *c, int n_chosen, int which)
{
    for (int a = 0; a < n_chosen; a++)
        if (c->chosen[a] == which)
            return true;
    return false;
}

/* The objective to minimise: the loss, and a small share of the remaining spread. */
static double objective(chooser *c, int n_chosen)
{
    double left = loss(c, n_chosen);
    return left + SPREAD_PART * sqrt(variance_left(c, n_chosen));
}

/* Put the plan with the least objective in place `at` of the n_chosen. @return the objective */
static double add_best(chooser *c, int n_chosen, int at)
{
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i < c->n; i++) {
        c->chosen[at] = -1;
        if (is_chosen(c, n_chosen, i))
            continue;
        c->chosen[at] = i;
        double left = objective(c, n_chosen);
        if (left < least) {
            least = left;
            best = i;
        }
    }
    c->chosen[at] = best;
    return least;
}

/* One by one, then exchange each with all others while that helps: runs with little information each may have much
 * together. */
static void choose_set(chooser *c)
{
    double least = INFINITY;
    for (int i = 0; i < c->k; i++)
        least = add_best(c, i + 1, i);
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        double before = least;
        for (int i = 0; i < c->k; i++)
            least = add_best(c, c->k, i);
        if (least >= before * (1 - 1e-9))
            break;
    }
}

static void swap(chooser *c, int a, int b)
{
    int was = c->chosen[a];
    c->chosen[a] = c->chosen[b];
    c->chosen[b] = was;
}

/* Sort the set's runs: first the one with the least objective by itself. */
static void order_set(chooser *c, ek_layout_trial *out)
{
    for (int i = 0; i < c->k; i++) {
        double least = INFINITY;
        int best = i;
        for (int j = i; j < c->k; j++) {
            swap(c, i, j);
            double left = loss(c, i + 1);
            swap(c, i, j);
            if (left < least) {
                least = left;
                best = j;
            }
        }
        swap(c, i, best);
        int plan = c->chosen[i];
        out[i] = (ek_layout_trial){
            .plan = plan, .error = sqrt(c->covariance[(size_t)plan * (size_t)c->n + (size_t)plan]), .loss = least};
    }
}

/* The frequency with which each plan is the best. */
static void count_best(const chooser *c, double *chance)
{
    size_t n = (size_t)c->n;
    for (size_t d = 0; d < DRAWS; d++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (c->truth[d * n + i] < c->truth[d * n + best])
                best = i;
        chance[best] += 1.0 / DRAWS;
    }
}

static bool make_room(chooser *c)
{
    size_t n = (size_t)c->n, k = (size_t)c->k + 1;
    c->covariance = ek__alloc(n * n, sizeof *c->covariance);
    c->truth = ek__alloc(DRAWS * n, sizeof *c->truth);
    c->noise = ek__alloc(DRAWS * n, sizeof *c->noise);
    c->weight = ek__alloc(n * k, sizeof *c->weight);
    c->inverse = ek__alloc(k * k, sizeof *c->inverse);
    c->residual = ek__alloc(k, sizeof *c->residual);
    return c->covariance && c->truth && c->noise && c->weight && c->inverse && c->residual;
}

static void clear(chooser *c)
{
    double *const room[] = {c->covariance, c->truth, c->noise, c->weight, c->inverse, c->residual};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++)
        free(room[i]);
}

static ek_status choose(const ek__sensitivity *s, int n_trials, ek_layout_trials *out, ek_error *err)
{
    chooser c = {.n = s->n, .k = n_trials < s->n ? n_trials : s->n, .s = s};
    double *chance = ek__alloc((size_t)s->n, sizeof *chance);
    ek_status status = chance && make_room(&c) ? EK_OK : ek__no_memory(err);
    if (!status) {
        ek__sensitivity_covariance(s, c.covariance);
        draw(&c);
        count_best(&c, chance);
        *out = (ek_layout_trials){.n = c.k, .loss = loss(&c, 0)};
        choose_set(&c);
        order_set(&c, out->trial);
        for (int i = 0; i < c.k; i++)
            out->trial[i].chance = chance[out->trial[i].plan];
    }
    free(chance);
    clear(&c);
    return status;
}

ek_status ek_layout_choose_trials(const ek_layout_plan *plan, int n, const ek_device *device, int n_trials,
                                  ek_layout_trials *out, ek_error *err)
{
    if (n_trials < 1 || n_trials > EK_MAX_LAYOUT_TRIALS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "trials must be 1 to %d (got %d)", EK_MAX_LAYOUT_TRIALS,
                        n_trials);
    if (n < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no plan to try");
    ek_status status = ek__linear_needed("choosing trial runs", err);
    if (status)
        return status;
    const ek_job **job = ek__alloc((size_t)n, sizeof *job);
    ek__sensitivity s = {0};
    status = job ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < n && !status; i++)
        job[i] = &plan[i].job;
    if (!status)
        status = ek__sensitivity_new(job, n, device, &s, err);
    if (!status)
        status = choose(&s, n_trials, out, err);
    ek__sensitivity_clear(&s);
    free(job);
    return status;
}
