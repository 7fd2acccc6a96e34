/* Tunes a plan by the rule of thumb. A stage's time grows with its layers, and so do the least recomputation and the
 * peak, so the layers that keep a stage's time within a window are a range, and a window has a plan when the ranges of
 * all stages reach the model's layers. The narrowest window is found by moving its lower end over all stage times and
 * its upper end after it (smallest range over sorted lists). One kind of body layer, one chunk a stage, 1F1B. */
#include "evenkeel/quick.h"
#include "evenkeel/layers.h"
#include "evenkeel/simulate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/problem.h"
#include "base/error.h"
#include "base/median.h"

/* Memory and time of a stage, by its layers. */
typedef struct stage {
    double fixed_mb, live; /* held without any layer; micro-batches alive at the peak */
    double fixed_units;    /* time without any layer */
    int least, most;       /* layers that can be; least > most when none can */
    int *full;             /* [n_layers + 1] the least recomputation that fits; -1: none does */
    double *units;         /* [n_layers + 1] time with it, where there is one */
} stage;

typedef struct tuning {
    const ek_layer *body;
    int p, n_layers, min_layers;
    double limit_mb, tolerance_mb, tolerance; /* of memory, of time in units */
    stage stage[EK_QUICK_MAX_STAGES];
} tuning;

/* Times of the whole stage between `low` and `high`. */
typedef struct window {
    double low, high;
} window;

void ek_quick_clear(ek_quick *quick)
{
    for (int i = 0; i < EK_QUICK_STEPS; i++)
        ek_plan_clear(&quick->step[i].plan);
    *quick = (ek_quick){0};
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* ---- capacity of a stage ---- */

static double peak_mb(const tuning *t, const stage *s, int n, int full)
{
    assert(full >= 0 && full <= n && n <= t->n_layers);
    double none_mb = t->body->activation_mb[EK_RECOMPUTE_NONE], full_mb = t->body->activation_mb[EK_RECOMPUTE_FULL];
    return s->fixed_mb + n * t->body->parameter_mb + s->live * ((n - full) * none_mb + full * full_mb);
}

static bool fits(const tuning *t, const stage *s, int n, int full)
{
    return peak_mb(t, s, n, full) <= t->limit_mb + t->tolerance_mb;
}

/* As little memory as n layers can do with. */
static double thriftiest_mb(const tuning *t, const stage *s, int n)
{
    return fmin(peak_mb(t, s, n, 0), peak_mb(t, s, n, n));
}

static void fill_stage(const tuning *t, stage *s)
{
    int full = 0;
    s->least = t->min_layers;
    s->most = t->min_layers - 1;
    for (int n = 0; n <= t->n_layers; n++) {
        /* More layers never need less recomputation, so each search continues from the one before. */
        while (full < n && !fits(t, s, n, full))
            full++;
        bool fit = fits(t, s, n, full);
        s->full[n] = fit ? full : -1;
        s->units[n] = s->fixed_units + 3.0 * n + full;
        assert(n == 0 || s->units[n] > s->units[n - 1]); /* ascending, as the searches below need them */
        if (fit)
            s->most = max_int(s->most, n);
    }
    assert(s->most >= s->least - 1 && s->most <= t->n_layers);
}

static ek_status make_stages(tuning *t, const ek_layers *layers, const ek_order *order, ek_error *err)
{
    for (int s = 0; s < t->p; s++) {
        const double *live;
        const ek_layer *extra = s == 0 ? &layers->head : s == t->p - 1 ? &layers->tail : NULL;
        stage *at = &t->stage[s];
        at->full = ek__alloc((size_t)t->n_layers + 1, sizeof *at->full);
        at->units = ek__alloc((size_t)t->n_layers + 1, sizeof *at->units);
        if (!at->full || !at->units)
            return ek__no_memory(err);
        int n_live = ek_order_live_vectors(order, s, &live);
        assert(n_live == 1); /* of one chunk the largest dominates */
        (void)n_live;
        at->live = live[0];
        at->fixed_mb = layers->const_mb;
        if (extra) {
            at->fixed_mb += extra->parameter_mb + at->live * extra->activation_mb[EK_RECOMPUTE_NONE];
            at->fixed_units = 3 * extra->forward_time / t->body->forward_time;
        }
        fill_stage(t, at);
    }
    return EK_OK;
}

/* ---- the narrowest window ---- */

/* Fewest layers of a stage that take `low` or longer. */
static int fewest(const tuning *t, const stage *s, double low)
{
    int from = s->least, to = s->most + 1;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (s->units[middle] >= low - t->tolerance)
            to = middle;
        else
            from = middle + 1;
    }
    assert(from >= s->least && from <= s->most + 1);
    return from;
}

/* Most layers of a stage that take `high` or less. */
static int utmost(const tuning *t, const stage *s, double high)
{
    int from = s->least - 1, to = s->most;
    while (from < to) {
        int middle = from + (to - from + 1) / 2;
        if (s->units[middle] <= high + t->tolerance)
            from = middle;
        else
            to = middle - 1;
    }
    assert(from >= s->least - 1 && from <= s->most);
    return from;
}

/* Can the model's layers be placed with all stage times within the window? */
static bool has_plan(const tuning *t, window w)
{
    long low = 0, high = 0;
    for (int s = 0; s < t->p; s++) {
        int from = fewest(t, &t->stage[s], w.low), to = utmost(t, &t->stage[s], w.high);
        if (from > to)
            return false;
        low += from;
        high += to;
    }
    return low <= t->n_layers && t->n_layers <= high;
}

/* Too many layers at the least: then no higher lower end has a plan either. */
static bool too_long(const tuning *t, double low)
{
    long layers = 0;
    for (int s = 0; s < t->p; s++) {
        int from = fewest(t, &t->stage[s], low);
        if (from > t->stage[s].most)
            return true;
        layers += from;
    }
    return layers > t->n_layers;
}

/* All times a stage can take, ascending. */
static ek_status list_times(const tuning *t, double **times, size_t *n, ek_error *err)
{
    size_t room = 0, count = 0;
    for (int s = 0; s < t->p; s++)
        room += (size_t)max_int(t->stage[s].most - t->stage[s].least + 1, 0);
    double *list = ek__alloc(room, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    for (int s = 0; s < t->p; s++)
        for (int k = t->stage[s].least; k <= t->stage[s].most; k++)
            list[count++] = t->stage[s].units[k];
    assert(count == room);
    ek__sort_numbers(list, count);
    *times = list;
    *n = count;
    return EK_OK;
}

/* The narrowest window with a plan, and of equals the one with the lowest upper end; high < low when there is none. The
 * best ends are stage times, and a higher lower end never allows a lower upper one. */
static ek_status narrowest(const tuning *t, window *best, ek_error *err)
{
    double *times;
    size_t n;
    ek_status status = list_times(t, &times, &n, err);
    if (status)
        return status;
    *best = (window){0, -1};
    for (size_t low = 0, high = 0; low < n && !too_long(t, times[low]); low++) {
        high = high > low ? high : low;
        while (high < n && !has_plan(t, (window){times[low], times[high]}))
            high++;
        if (high == n)
            break;
        const window w = {times[low], times[high]};
        assert(w.low <= w.high);
        /* Windows come with rising ends, so the first of equally narrow ones stays. */
        if (best->high < best->low || w.high - w.low < best->high - best->low - t->tolerance)
            *best = w;
    }
    free(times);
    return EK_OK;
}

/* ---- plans ---- */

/* A plan within the window, which has one: near the even split, then evened out where layers are missing or over. */
static void place(const tuning *t, window w, int *layers)
{
    int left = t->n_layers;
    assert(has_plan(t, w));
    for (int s = 0; s < t->p; s++) {
        const stage *at = &t->stage[s];
        int even = t->n_layers / t->p + (s < t->n_layers % t->p);
        layers[s] = min_int(max_int(even, fewest(t, at, w.low)), utmost(t, at, w.high));
        left -= layers[s];
    }
    for (int change = left < 0 ? -1 : 1; left != 0; left -= change) {
        int chosen = -1;
        double best = INFINITY;
        for (int s = 0; s < t->p; s++) {
            const stage *at = &t->stage[s];
            int n = layers[s] + change;
            if (n < fewest(t, at, w.low) || n > utmost(t, at, w.high))
                continue;
            /* Missing layers go to the shortest stage, surplus ones come from the longest. */
            double rank = change * at->units[layers[s]];
            if (rank < best) {
                best = rank;
                chosen = s;
            }
        }
        assert(chosen >= 0);
        layers[chosen] += change;
    }
}

static void note_need(const tuning *t, int stage_index, int n, ek_quick *quick)
{
    double need = thriftiest_mb(t, &t->stage[stage_index], n);
    if (need > quick->needed_mb) {
        quick->needed_mb = need;
        quick->bottleneck_stage = stage_index;
        quick->bottleneck_layers = n;
    }
}

/* Give every stage its required layers, and the other layers one by one to the stage where they need the least memory.
 * The largest need is the smallest sufficient limit, since the need of a stage grows with its layers. */
static void find_bottleneck(const tuning *t, ek_quick *quick)
{
    int layers[EK_QUICK_MAX_STAGES] = {0};
    assert(t->p * t->min_layers <= t->n_layers);
    quick->needed_mb = -INFINITY;
    for (int s = 0; s < t->p; s++) {
        layers[s] = t->min_layers;
        note_need(t, s, layers[s], quick);
    }
    for (int placed = t->p * t->min_layers; placed < t->n_layers; placed++) {
        int at = 0;
        for (int s = 1; s < t->p; s++)
            if (thriftiest_mb(t, &t->stage[s], layers[s] + 1) < thriftiest_mb(t, &t->stage[at], layers[at] + 1))
                at = s;
        note_need(t, at, ++layers[at], quick);
    }
    assert(quick->needed_mb > t->limit_mb && quick->bottleneck_layers >= t->min_layers);
}

/* Simulate a plan and compute the rule's figures for it. */
static ek_status judge(const tuning *t, const ek_layers *layers, const ek_order *order, const ek_comm *comm,
                       ek_quick_step *step, ek_error *err)
{
    ek_timeline timeline;
    ek_status status = ek_simulate(order, &step->plan, layers, comm, &timeline, err);
    if (status)
        return status;
    step->fits = true;
    step->longest = -INFINITY;
    step->shortest = INFINITY;
    step->step_time = timeline.step_time;
    for (int s = 0; s < t->p; s++) {
        step->units[s] = t->stage[s].fixed_units + 3.0 * step->plan.layers[s] + step->plan.full[s];
        step->longest = fmax(step->longest, step->units[s]);
        step->shortest = fmin(step->shortest, step->units[s]);
        step->peak_mb[s] = timeline.peak_mb[s];
        step->over[s] = timeline.peak_mb[s] > t->limit_mb + t->tolerance_mb;
        step->fits &= !step->over[s];
    }
    assert(step->shortest <= step->longest && step->step_time >= 0);
    ek_timeline_clear(&timeline);
    return EK_OK;
}

/* The plan of a step; `moved`: the layers of the last one. */
static ek_status make_step(const tuning *t, const ek_layers *layers, const ek_order *order, const ek_comm *comm, int i,
                           const int *moved, ek_quick_step *step, ek_error *err)
{
    ek_status status = ek_plan_even(layers, t->p, 1, EK_RECOMPUTE_NONE, &step->plan, err);
    if (status)
        return status;
    for (int s = 0; s < t->p; s++) {
        int n = step->plan.layers[s] = moved ? moved[s] : step->plan.layers[s];
        int full = t->stage[s].full[n];
        assert(full >= -1 && full <= n && (i != EK_QUICK_MOVED || full >= 0)); /* the moved layers fit */
        step->plan.full[s] = i == EK_QUICK_EVEN ? 0 : full >= 0 ? full : n;
    }
    return judge(t, layers, order, comm, step, err);
}

/* ---- the call ---- */

static ek_status check(const ek_layers *layers, const ek_order *order, double memory_limit_mb, int min_layers,
                       ek_error *err)
{
    const ek_shape *shape = ek_order_shape(order);
    int p = shape->n_stages;
    if (ek_order_schedule(order)->family != EK_SCHEDULE_1F1B || shape->n_chunks != 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning is for 1f1b with one chunk per stage (got %s with %d); leave --quick out",
                        ek_order_schedule(order)->name, shape->n_chunks);
    if (p < EK_QUICK_MIN_STAGES || p > EK_QUICK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning is for %d to %d stages (got %d); leave --quick out", EK_QUICK_MIN_STAGES,
                        EK_QUICK_MAX_STAGES, p);
    ek_status status = ek_layers_check(layers, err);
    if (status)
        return status;
    if (layers->n_body != 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning counts in one kind of layer, and the model has %d; leave --quick out",
                        layers->n_body);
    if (!(layers->body->forward_time > 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning counts in forward times of a layer, and that of '%s' is 0; give it",
                        layers->body->name);
    if (layers->recompute_transient)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning does not model activations that recomputation restores; remove --quick or "
                        "--recompute-transient");
    if (!layers->modelled[EK_RECOMPUTE_FULL])
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning needs the memory of full recomputation, which is not known: give peaks of a dry "
                        "run with `recompute` on some layers of a middle stage, or memory_recompute in a layer file");
    if (!layers->modelled[EK_RECOMPUTE_NONE])
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "quick tuning needs the memory of a layer without recomputation; give memory_activation");
    if (!(memory_limit_mb > 0 && isfinite(memory_limit_mb)))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the memory limit must be above 0 MB (got %g)",
                        memory_limit_mb);
    if (min_layers < 0 || min_layers > layers->n_layers / p)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d layers cannot give each of %d stages %d: use fewer stages or --min-layers 0",
                        layers->n_layers, p, min_layers);
    return EK_OK;
}

/* Do the model's times follow the rule: backward twice the forward time, recomputation once? */
static bool follows_rule(const ek_layers *layers)
{
    const ek_layer *body = layers->body, *part[] = {body, &layers->head, &layers->tail};
    bool exact = fabs(body->backward_time[EK_RECOMPUTE_FULL] - 3 * body->forward_time) <= 1e-9 * body->forward_time;
    for (int i = 0; i < 3; i++)
        exact &=
            fabs(part[i]->backward_time[EK_RECOMPUTE_NONE] - 2 * part[i]->forward_time) <= 1e-9 * body->forward_time;
    return exact;
}

/* Fill quick->step and the rest of the answer. */
static ek_status tune(tuning *t, const ek_layers *layers, const ek_order *order, const ek_comm *comm, ek_quick *quick,
                      ek_error *err)
{
    window w;
    int moved[EK_QUICK_MAX_STAGES] = {0};
    assert(t->p >= EK_QUICK_MIN_STAGES && t->p <= EK_QUICK_MAX_STAGES);
    ek_status status = make_stages(t, layers, order, err);
    for (int i = EK_QUICK_EVEN; i <= EK_QUICK_RECOMPUTE && status == EK_OK; i++)
        status = make_step(t, layers, order, comm, i, NULL, &quick->step[i], err);
    if (status == EK_OK)
        status = narrowest(t, &w, err);
    if (status)
        return status;
    quick->feasible = w.high >= w.low;
    if (!quick->feasible) {
        find_bottleneck(t, quick);
        return EK_OK;
    }
    place(t, w, moved);
    return make_step(t, layers, order, comm, EK_QUICK_MOVED, moved, &quick->step[EK_QUICK_MOVED], err);
}

ek_status ek_quick_tune(const ek_layers *layers, const ek_order *order, const ek_comm *comm, double memory_limit_mb,
                        int min_layers, ek_quick *out, ek_error *err)
{
    ek_status status = check(layers, order, memory_limit_mb, min_layers, err);
    if (status)
        return status;
    const ek_layer *body = layers->body;
    const ek_shape *shape = ek_order_shape(order);
    tuning t = {.body = body,
                .p = shape->n_stages,
                .n_layers = layers->n_layers,
                .min_layers = min_layers,
                .limit_mb = memory_limit_mb,
                .tolerance_mb = ek__memory_tolerance(layers, memory_limit_mb)};
    ek_quick quick = {.n_stages = shape->n_stages,
                      .n_layers = layers->n_layers,
                      .n_micro_batches = shape->n_micro_batches,
                      .memory_limit_mb = memory_limit_mb,
                      .layer_time = body->forward_time,
                      .head_units = layers->head.forward_time / body->forward_time,
                      .tail_units = layers->tail.forward_time / body->forward_time,
                      .rule_is_exact = follows_rule(layers)};
    t.tolerance = 1e-9 * (3.0 * t.n_layers + 3 * fmax(quick.head_units, quick.tail_units));
    status = tune(&t, layers, order, comm, &quick, err);
    for (int s = 0; s < t.p; s++) {
        free(t.stage[s].full);
        free(t.stage[s].units);
    }
    if (status == EK_OK)
        *out = quick;
    else
        ek_quick_clear(&quick);
    return status;
}
