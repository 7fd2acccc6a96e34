/* Finds the longest path through the blocks of an order: one walk forward, which notes the predecessor that each block
 * waited for, and one back from the end. */
#include "simulate/longest_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct walk {
    const ek_order *order;
    const double *duration;
    const ek__delays *delays;
    double *clock;   /* of stages, then of chains */
    uint32_t *last;  /* [clocks] block that set it, from 1; 0: the start */
    uint32_t *waits; /* [blocks] block that each waited for */
    uint8_t *turns;  /* [blocks] whether it waited for its stage */
} walk;

static int way_of(const ek_order *order, size_t chain)
{
    return chain < (size_t)order->shape.n_micro_batches ? ek__order_way(order, chain) : 0;
}

static void run(walk *w)
{
    const ek_order *order = w->order;
    size_t p = (size_t)order->shape.n_stages, n_slots = (size_t)ek__order_n_slots(order);
    for (size_t k = 0; k < order->n_blocks; k++) {
        size_t s = ek__step_stage(order->steps[k]), chain = ek__step_chain(order->steps[k]), c = p + chain;
        size_t slot = ek__step_slot(order->steps[k]);
        assert(s < p && slot < n_slots && w->duration[slot] >= 0);
        bool turns = w->clock[s] > w->clock[c];
        double end = (turns ? w->clock[s] : w->clock[c]) + w->duration[slot] * (order->factor ? order->factor[k] : 1);
        w->waits[k] = turns ? w->last[s] : w->last[c];
        assert(w->waits[k] <= k); /* an earlier block, so that the walk back ends */
        w->turns[k] = turns;
        w->clock[s] = w->clock[c] = end;
        if (w->delays) {
            size_t at = (size_t)way_of(order, chain) * n_slots + slot;
            end += w->delays->before[at];
            w->clock[s] = end + w->delays->after[at];
            w->clock[c] = end + w->delays->travel[at];
        }
        w->last[s] = w->last[c] = (uint32_t)k + 1;
    }
}

static void follow(const walk *w, ek__path *path)
{
    const ek_order *order = w->order;
    size_t n_slots = (size_t)ek__order_n_slots(order), all = (size_t)order->n_ways * n_slots;
    bool by_stage = true; /* the kind of the path's step from a block */
    assert(path->end >= 0 && path->end < order->shape.n_stages);
    assert(!path->before == !path->after && !path->before == !path->travel);
    memset(path->count, 0, n_slots * sizeof *path->count);
    for (int i = 0; path->before && i < 3; i++)
        memset((double *const[]){path->before, path->after, path->travel}[i], 0, all * sizeof(double));
    for (uint32_t at = w->last[path->end]; at > 0; at = w->waits[at - 1]) {
        ek__step step = order->steps[at - 1];
        size_t slot = ek__step_slot(step), of_way = (size_t)way_of(order, ek__step_chain(step)) * n_slots + slot;
        path->count[slot] += order->factor ? order->factor[at - 1] : 1;
        if (path->before) {
            path->before[of_way]++;
            (by_stage ? path->after : path->travel)[of_way]++;
        }
        by_stage = w->turns[at - 1];
    }
}

bool ek__order_longest_path(const ek_order *order, const double *duration, const ek__delays *delays, const double *tail,
                            ek__path *path)
{
    size_t n = order->n_blocks, n_clocks = ek__order_n_clocks(order);
    assert(path->count);
    assert(n > 0 && n < UINT32_MAX); /* blocks are numbered from 1 */
    walk w = {.order = order,
              .duration = duration,
              .delays = delays,
              .clock = ek__alloc(n_clocks, sizeof *w.clock),
              .last = ek__alloc(n_clocks, sizeof *w.last),
              .waits = ek__alloc(n, sizeof *w.waits),
              .turns = ek__alloc(n, sizeof *w.turns)};
    bool fine = w.clock && w.last && w.waits && w.turns;
    if (fine) {
        run(&w);
        path->length = -1;
        for (int s = 0; s < order->shape.n_stages; s++) {
            double length = w.clock[s] + (tail ? tail[s] : 0);
            if (length > path->length) {
                path->length = length;
                path->end = s;
            }
        }
        assert(path->length >= 0);
        follow(&w, path);
    }
    free(w.clock);
    free(w.last);
    free(w.waits);
    free(w.turns);
    return fine;
}
