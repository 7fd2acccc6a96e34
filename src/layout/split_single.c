/* Finds the best plan with one chunk per stage under 1F1B: the shortest step over all splits of the layers, each stage
 * with the least recomputation that fits. The pipeline is solved by the label setting of balance/label_setting.h over
 * the whole job's costs, stage by stage (stage.h). If the resulting plan has a longer path than those known to the
 * label setting, for example because sends turn between neighbours, that path is added and the plans are searched
 * again: cuts, as in Benders, Partitioning procedures for solving mixed-variables programming problems, 1962. The time
 * after the pipeline is also a maximum over the stages: the update after the norm's barrier. It is handled by a cap on
 * a stage's update that is lowered as long as that may pay: for every cap the shortest pipeline is found, and no plan
 * with a smaller update can be shorter than the next cap's pipeline with the least update. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/label_setting.h"
#include "base/error.h"
#include "layout/split.h"
#include "simulate/longest_path.h"

enum { MOST_ROUNDS = 60 }; /* of added paths */
#define CLOSE 1e-12        /* of sums in a different order */

typedef struct single {
    ek__stages *stages;
    const ek_device *device;
    ek_cost_cache *cache;
    const ek__split_options *options;
    double cap;                          /* updates of relevant plans are below it */
    double least_update;                 /* of any plan */
    int p, n_layers, *layers, *shortest; /* [p] the current plan; the shortest of a cap */
    int64_t *actual;                     /* [p] peaks of the plan, with fragments */
    ek__path walked;                     /* the longest path of the plan; arrays of [2 p] */
    double *duration, *tail;
    int n_paths;
    ek__label_path path[EK__LABEL_MOST_PATHS];
    double *path_counts; /* [EK__LABEL_MOST_PATHS][2 p] */
    ek_status status;
    ek_error *err;
} single;

static ek__label_fit cost_of(void *user, int stage, int first, int n, ek__label_cost *out)
{
    single *s = user;
    const ek__stage_choice *choice;
    s->status = ek__stages_choose(s->stages, stage, first, n, &choice, s->err);
    if (s->status)
        return EK__LABEL_NO_MEMORY;
    if (!choice->fits)
        return EK__LABEL_NEVER;
    if (choice->price.update >= s->cap)
        return EK__LABEL_NEVER;
    *out = (ek__label_cost){choice->price.forward, choice->price.backward, choice->price.after};
    return EK__LABEL_FITS;
}

static bool is_over(void *user)
{
    return ek__split_over(((single *)user)->options);
}

/* The layers of s->layers: do they fit with fragments? */
static ek_status verify(single *s, bool *fits)
{
    const ek__stop stop = ek__split_stop(s->options);
    int first = 0;
    *fits = true;
    for (int i = 0; i < s->p; i++) {
        bool fine;
        ek_status status = ek__stages_verify(s->stages, i, first, s->layers[i], &stop, &fine, s->err);
        if (status)
            return status;
        *fits = *fits && fine;
        first += s->layers[i];
    }
    return EK_OK;
}

/* Of the plan of s->layers: the largest update, and its peaks. */
static ek_status look_at_plan(single *s, double *update)
{
    int first = 0;
    *update = 0;
    for (int i = 0; i < s->p; i++) {
        const ek__stage_choice *choice;
        ek_status status = ek__stages_choose(s->stages, i, first, s->layers[i], &choice, s->err);
        if (status)
            return status;
        *update = fmax(*update, choice->price.update);
        s->actual[i] = choice->actual;
        first += s->layers[i];
    }
    return EK_OK;
}

/* The longest path of s->layers, with the time after its last backward pass. */
static ek_status walk(single *s)
{
    const ek__stage_pricer *pricer = ek__stages_pricer(s->stages);
    int first = 0;
    for (int i = 0; i < s->p; i++) {
        const ek__stage_choice *choice;
        ek_status status = ek__stages_choose(s->stages, i, first, s->layers[i], &choice, s->err);
        if (status)
            return status;
        s->duration[i] = choice->price.forward;
        s->duration[s->p + i] = choice->price.backward;
        s->tail[i] = choice->price.after;
        first += s->layers[i];
    }
    const ek__delays *delays = s->p > 1 ? ek__stage_pricer_delays(pricer) : NULL;
    bool fine = ek__order_longest_path(ek__stage_pricer_order(pricer), s->duration, delays, s->tail, &s->walked);
    return fine ? EK_OK : ek__no_memory(s->err);
}

/* Add the walked path; a full list drops the oldest. */
static void add_path(single *s)
{
    const ek__delays *d = ek__stage_pricer_delays(ek__stages_pricer(s->stages));
    int n_slots = 2 * s->p, at = s->n_paths++ % EK__LABEL_MOST_PATHS;
    double *counts = s->path_counts + (size_t)at * (size_t)n_slots, fixed = 0;
    memcpy(counts, s->walked.count, (size_t)n_slots * sizeof *counts);
    for (int i = 0; i < n_slots && d; i++)
        fixed +=
            s->walked.before[i] * d->before[i] + s->walked.after[i] * d->after[i] + s->walked.travel[i] * d->travel[i];
    s->path[at] = (ek__label_path){counts, counts + s->p, fixed, s->walked.end};
}

/* The least bound of a fitting plan, by the known paths. */
static ek_status solve_known(single *s, double known, double upper, ek__label_bound *out)
{
    const ek__stage_pricer *pricer = ek__stages_pricer(s->stages);
    const ek__label_stages stages = {.order = ek__stage_pricer_order(pricer),
                                     .delays = s->p > 1 ? ek__stage_pricer_delays(pricer) : NULL,
                                     .path = s->path,
                                     .n_paths = s->n_paths < EK__LABEL_MOST_PATHS ? s->n_paths : EK__LABEL_MOST_PATHS,
                                     .n_layers = s->n_layers,
                                     .min_layers = 1,
                                     .fixed_layers = s->p == 1 ? &s->n_layers : s->options->fixed_layers,
                                     .alike = ek__stages_alike(s->stages),
                                     .known = known,
                                     .cost = cost_of,
                                     .over = is_over,
                                     .user = s};
    bool fits = true;
    do {
        ek_status status = ek__label_solve(&stages, upper, s->layers, out, s->err);
        if (status)
            return s->status ? s->status : status;
        status = out->found ? verify(s, &fits) : EK_OK;
        if (status)
            return status;
    } while (out->found && !fits && !is_over(s));
    out->found = out->found && fits;
    return EK_OK;
}

/* The shortest pipeline below `upper` with stages that fit, s->layers: with the time after its last backward pass. Its
 * bound is the minimum over all plans, or less if the limit on added paths was reached. */
static ek_status solve(single *s, double upper, ek__label_bound *out)
{
    double shortest = upper, known = 0;
    ek__label_bound is = {0};
    for (int round = 0; round < MOST_ROUNDS; round++) {
        ek_status status = solve_known(s, known, shortest, &is);
        if (!status && is.found)
            status = walk(s);
        if (status)
            return status;
        known = fmax(known, is.bound); /* with other paths it may be less than before */
        if (!is.found)
            break;
        if (s->walked.length < shortest) {
            shortest = s->walked.length;
            memcpy(s->shortest, s->layers, (size_t)s->p * sizeof *s->layers);
        }
        if (known >= shortest * (1 - CLOSE))
            break;
        add_path(s);
    }
    *out = (ek__label_bound){.bound = fmin(known, shortest), .found = shortest < upper};
    if (out->found)
        memcpy(s->layers, s->shortest, (size_t)s->p * sizeof *s->layers);
    return EK_OK;
}

/* Lower the cap, starting without one. */
static ek_status search(single *s, const ek__split_options *options, ek__split *best, double *bound)
{
    double upper = fmin(options->upper, best->seconds);
    *bound = INFINITY;
    for (s->cap = INFINITY;;) {
        ek__label_bound shown;
        double update, seconds;
        /* Plans not below `upper` with the least update are irrelevant; whole() only adds to it. */
        ek_status status = solve(s, upper - s->least_update, &shown);
        if (status || !shown.found) {
            if (!status && shown.bound > 0)
                *bound = fmin(*bound, ek__stages_whole(s->stages, fmin(shown.bound, upper) + s->least_update));
            return status;
        }
        status = look_at_plan(s, &update);
        if (!status)
            status = ek__stages_plan(s->stages, s->layers, s->err);
        if (!status)
            status = ek__split_offer(ek__stages_job(s->stages), s->actual, s->device, s->cache, best, &seconds, s->err);
        if (status)
            return status;
        *bound = fmin(*bound, ek__stages_whole(s->stages, shown.bound + update));
        upper = fmin(upper, best->seconds);
        s->cap = update;
    }
}

/* Some stage without the embedding has at least one layer for each p layers. */
static ek_status find_least_update(single *s)
{
    int n = (s->n_layers + s->p - 1) / s->p, at = s->p > 2 ? 1 : 0;
    double least = INFINITY;
    ek_status status = EK_OK;
    for (int first = 0; first + n <= s->n_layers && !status; first++) {
        const ek__stage_choice *choice;
        status = ek__stages_choose(s->stages, at, first, n, &choice, s->err);
        if (!status && choice->fits)
            least = fmin(least, choice->price.update);
        if (ek__stages_alike(s->stages))
            break;
    }
    s->least_update = least < INFINITY && at > 0 ? least : 0;
    return status;
}

static bool make_room(single *s)
{
    size_t p = (size_t)s->p, n_slots = 2 * p;
    s->layers = ek__alloc(2 * p, sizeof *s->layers);
    s->actual = ek__alloc(p, sizeof *s->actual);
    s->duration = ek__alloc((5 + EK__LABEL_MOST_PATHS) * n_slots + p, sizeof *s->duration);
    if (!s->layers || !s->actual || !s->duration)
        return false;
    s->shortest = s->layers + p;
    s->walked = (ek__path){.count = s->duration + n_slots,
                           .before = s->duration + 2 * n_slots,
                           .after = s->duration + 3 * n_slots,
                           .travel = s->duration + 4 * n_slots};
    s->path_counts = s->duration + 5 * n_slots;
    s->tail = s->path_counts + EK__LABEL_MOST_PATHS * n_slots;
    return true;
}

ek_status ek__split_single(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                           const ek__split_options *options, ek__split *best, double *bound, ek_error *err)
{
    single s = {.device = device,
                .options = options,
                .cache = cache,
                .p = job->plan.n_stages,
                .n_layers = job->model.n_layers + job->model.n_prediction_layers,
                .err = err};
    ek_status status = ek__stages_new(job, device, cache, rule, &s.stages, err);
    if (status)
        return status;
    status = make_room(&s) ? find_least_update(&s) : ek__no_memory(err);
    if (!status)
        status = search(&s, options, best, bound);
    best->over = is_over(&s);
    best->free = !ek__stages_refused(s.stages);
    free(s.layers);
    free(s.actual);
    free(s.duration);
    ek__stages_free(s.stages);
    return status;
}
