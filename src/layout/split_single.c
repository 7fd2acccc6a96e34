/* One chunk a stage under 1F1B: the shortest step over all splits of the layers, each stage recomputing the least that
 * fits. The pipeline is the label setting of balance/lone.h over costs that are those of the whole job, stage by stage
 * (stage.h). What follows the pipeline on each stage is a maximum over the stages, too: the update behind the norm's
 * barrier. It is met by a cap on a stage's update that comes down as long as that can pay: for every cap the shortest
 * pipeline is found, and no plan with a smaller update can be shorter than the next cap's pipeline with the least
 * update. */
#include <math.h>
#include <stdlib.h>

#include "balance/lone.h"
#include "base/error.h"
#include "layout/split.h"

typedef struct single {
    ek__stages *stages;
    const ek_device *device;
    ek_cost_cache *cache;
    const ek__split_options *options;
    double cap;          /* updates of plans that count are below it */
    double least_update; /* of any plan */
    int p, n_layers, *layers;
    int64_t *actual; /* [p] peaks of the plan, with fragments */
    ek_status status;
    ek_error *err;
} single;

static ek__lone_fit cost_of(void *user, int stage, int first, int n, ek__lone_cost *out)
{
    single *s = user;
    const ek__stage_choice *choice;
    s->status = ek__stages_choose(s->stages, stage, first, n, &choice, s->err);
    if (s->status)
        return EK__LONE_NO_MEMORY;
    if (!choice->fits)
        return EK__LONE_NEVER;
    if (choice->price.update >= s->cap)
        return EK__LONE_NEVER;
    *out = (ek__lone_cost){choice->price.forward, choice->price.backward, choice->price.after};
    return EK__LONE_FITS;
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

/* The shortest pipeline below `upper` whose stages fit: with what follows its last backward pass. */
static ek_status solve(single *s, double upper, ek__lone_bound *out)
{
    const ek__lone_stages stages = {.order = ek__stage_pricer_order(ek__stages_pricer(s->stages)),
                                    .delays = s->p > 1 ? ek__stage_pricer_delays(ek__stages_pricer(s->stages)) : NULL,
                                    .n_layers = s->n_layers,
                                    .min_layers = 1,
                                    .fixed_layers = s->p == 1 ? &s->n_layers : s->options->fixed_layers,
                                    .alike = ek__stages_alike(s->stages),
                                    .cost = cost_of,
                                    .over = is_over,
                                    .user = s};
    bool fits = true;
    do {
        ek_status status = ek__lone_solve(&stages, upper, s->layers, out, s->err);
        if (status)
            return s->status ? s->status : status;
        status = out->found ? verify(s, &fits) : EK_OK;
        if (status)
            return status;
    } while (out->found && !fits && !is_over(s));
    out->found = out->found && fits;
    return EK_OK;
}

/* Caps come down from none. */
static ek_status search(single *s, const ek__split_options *options, ek__split *best, double *bound)
{
    double upper = fmin(options->upper, best->seconds);
    *bound = INFINITY;
    for (s->cap = INFINITY;;) {
        ek__lone_bound shown;
        double update, seconds;
        /* What is not below `upper` with the least update is of no account; whole() only adds to it. */
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

/* Some stage has a layer at least for each p of them, and no embedding. */
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
    s.layers = ek__alloc((size_t)s.p, sizeof *s.layers);
    s.actual = ek__alloc((size_t)s.p, sizeof *s.actual);
    status = s.layers && s.actual ? find_least_update(&s) : ek__no_memory(err);
    if (!status)
        status = search(&s, options, best, bound);
    best->over = is_over(&s);
    best->free = !ek__stages_refused(s.stages);
    free(s.layers);
    free(s.actual);
    ek__stages_free(s.stages);
    return status;
}
