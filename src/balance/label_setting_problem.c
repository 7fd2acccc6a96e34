/* Converts the balancing problem to stages with layers, for the method of label_setting.c: of the ways to recompute a
 * chunk the cheapest one that fits its stage. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "balance/label_setting.h"
#include "base/error.h"
#include "evenkeel/layers.h"

bool ek__bound_labels_applies(const ek__problem *problem)
{
    return problem->n_chunks == 1 && ek__bound_stages_applies(problem) && ek__label_order_applies(problem->order);
}

/* The least backward time of n layers of a kind that hold at most `activation_mb` each, on average: any mix of the ways
 * to recompute them, parts of layers too. */
static double least_mixed(const ek__problem *problem, const ek_layer *body, int n, double activation_mb)
{
    double least = INFINITY;
    for (int a = 0; a < EK_N_RECOMPUTE; a++)
        for (int b = 0; b < EK_N_RECOMPUTE; b++) {
            double room = activation_mb - body->activation_mb[a],
                   more = body->activation_mb[b] - body->activation_mb[a];
            if (!problem->layers->modelled[a] || !problem->layers->modelled[b] || room < 0)
                continue;
            double share = more <= room ? 1 : room / more; /* of b */
            assert(share >= 0 && share <= 1);
            least = fmin(least, (1 - share) * body->backward_time[a] + share * body->backward_time[b]);
        }
    return n * least;
}

/* Layers of a body kind in a chunk. */
static int layers_of(const ek__problem *problem, const ek__chunk *chunk, int body)
{
    assert(body >= 0 && body < problem->layers->n_body);
    int from = body ? problem->body_end[body - 1] : 0, to = problem->body_end[body];
    from = chunk->first > from ? chunk->first : from;
    to = chunk->first + chunk->n < to ? chunk->first + chunk->n : to;
    return problem->layers->n_body == 1 ? chunk->n : to > from ? to - from : 0;
}

/* The room of the stage for a micro-batch's activations after a chunk's parameters. */
static double activation_room(const ek__problem *problem, int stage, const ek__chunk *chunk)
{
    const ek__bank *bank = &problem->bank[stage];
    double room = INFINITY;
    for (int k = 0; k < bank->n_live; k++)
        room = fmin(room, (bank->room_mb[k] + problem->tolerance_mb - chunk->parameter_mb) / bank->live[k]);
    return room - problem->extra[stage].activation_mb;
}

/* Where not every way to recompute a chunk is listed: no way takes less than this. INFINITY when none can fit. */
static double least_backward(const ek__problem *problem, int stage, const ek__chunk *chunk)
{
    double room = activation_room(problem, stage, chunk), least = 0, held = 0;
    if (problem->layers->n_body == 1)
        return least_mixed(problem, &problem->layers->body[0], chunk->n, room / chunk->n);
    for (int b = 0; b < problem->layers->n_body; b++) {
        const ek_layer *body = &problem->layers->body[b];
        double thriftiest = INFINITY;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (problem->layers->modelled[k])
                thriftiest = fmin(thriftiest, body->activation_mb[k]);
        held += layers_of(problem, chunk, b) * thriftiest;
        least += least_mixed(problem, body, layers_of(problem, chunk, b), INFINITY);
    }
    return held <= room ? least : INFINITY;
}

static ek__label_fit cost_of(void *user, int stage, int first, int n, ek__label_cost *out)
{
    const ek__problem *problem = ((const ek__search *)user)->problem;
    assert(stage >= 0 && stage < problem->n_stages && n >= problem->min_layers);
    const ek__chunk *chunk = ek__chunk_get(problem, first, n);
    double time[EK_N_BLOCK_KINDS];
    if (!chunk)
        return EK__LABEL_NO_MEMORY;
    double least = chunk->complete ? INFINITY : least_backward(problem, stage, chunk);
    int option = ek__option_that_fits(problem, stage, chunk);
    if (option < 0)
        return least < INFINITY ? EK__LABEL_UNKNOWN : EK__LABEL_NEVER;
    ek__cell_times(problem, stage, chunk->forward_time, fmin(chunk->option[option].backward_time, least),
                   chunk->weight_time, time);
    *out = (ek__label_cost){.forward = time[EK_FORWARD], .backward = time[EK_BACKWARD]};
    return EK__LABEL_FITS;
}

static bool is_over(void *user)
{
    return ek__proof_over(user);
}

static bool rebuild(const ek__problem *problem, const int *layers, ek__state *state)
{
    for (int s = 0, at = 0; s < problem->n_stages; at += layers[s++]) {
        state->chunk[s] = ek__chunk_get(problem, problem->layers->n_body == 1 ? 0 : at, layers[s]);
        if (!state->chunk[s])
            return false;
        state->option[s] = ek__option_that_fits(problem, s, state->chunk[s]);
        assert(state->option[s] >= 0); /* cost_of() found it */
    }
    assert(ek__state_is_valid(problem, state, true));
    return true;
}

ek_status ek__bound_labels(ek__search *search, double upper, ek__state *state, ek__label_bound *out, ek_error *err)
{
    const ek__problem *problem = search->problem;
    assert(ek__bound_labels_applies(problem));
    const ek__label_stages stages = {.order = problem->order,
                                     .delays = problem->delays,
                                     .n_layers = problem->n_layers,
                                     .min_layers = problem->min_layers,
                                     .fixed_layers = problem->fixed_layers,
                                     .alike = problem->layers->n_body == 1,
                                     .known = atomic_load(&search->lower_bound),
                                     .cost = cost_of,
                                     .over = is_over,
                                     .user = search};
    int *layers = ek__alloc((size_t)problem->n_stages, sizeof *layers);
    if (!layers)
        return ek__no_memory(err);
    ek_status status = ek__label_solve(&stages, upper, layers, out, err);
    if (!status && out->found && !rebuild(problem, layers, state))
        status = ek__no_memory(err);
    free(layers);
    return status;
}
