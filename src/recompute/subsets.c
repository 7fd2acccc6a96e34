/* Computes the front over all subsets of a few choices, each put into the job and measured; also reduces sets to
 * fronts. */
#include <stdlib.h>

#include "base/error.h"
#include "recompute/sets.h"

/* Times that differ only by rounding are equal. */
#define SAME 1e-12

ek_status ek__found_add(ek__found_sets *sets, const ek__found_set *set, ek_error *err)
{
    ek__found_set *room = ek__with_room(sets->at, &sets->room, sets->n + 1, sizeof *sets->at);
    if (!room)
        return ek__no_memory(err);
    sets->at = room;
    sets->at[sets->n++] = *set;
    return EK_OK;
}

/* Least saved bytes first; then the fastest, then the fewest patterns. */
static int by_kept(const void *a, const void *b)
{
    const ek__found_set *p = a, *q = b;
    if (p->kept != q->kept)
        return p->kept < q->kept ? -1 : 1;
    if (p->ms != q->ms)
        return p->ms < q->ms ? -1 : 1;
    return p->n_patterns - q->n_patterns;
}

static void turn_round(ek__found_sets *sets)
{
    for (size_t i = 0; i < sets->n / 2; i++) {
        ek__found_set one = sets->at[i];
        sets->at[i] = sets->at[sets->n - 1 - i];
        sets->at[sets->n - 1 - i] = one;
    }
}

void ek__found_front(ek__found_sets *sets)
{
    size_t n = 0;
    if (sets->n == 0)
        return;
    qsort(sets->at, sets->n, sizeof *sets->at, by_kept);
    for (size_t i = 0; i < sets->n; i++)
        if (n == 0 || sets->at[i].ms < sets->at[n - 1].ms * (1 - SAME))
            sets->at[n++] = sets->at[i];
    sets->n = n;
    turn_round(sets);
}

/* Bytes and ms of all layers of a set. */
static void sum_up(const ek__set_problem *p, const ek_recompute_set *set, ek__found_set *out)
{
    for (int k = 0; k < p->n_layers; k++) {
        const ek__set_layer *layer = &p->layer[k];
        out->kept += layer->n_layers * layer->copies * (double)set->kept[k];
        out->ms += layer->n_layers * set->ms[k];
    }
    out->n_patterns = set->n_patterns;
}

ek_status ek__set_subsets(const ek__set_problem *p, ek__found_sets *out)
{
    ek_status status = EK_OK;
    for (unsigned subset = 0; subset < 1u << p->n_choices && !status; subset++) {
        ek__found_set found = {.chosen = {{subset}}};
        ek_recompute_set set;
        status = ek__set_mitigation(p, &found.chosen, &set);
        if (status)
            break;
        sum_up(p, &set, &found);
        free(set.pattern);
        status = ek__found_add(out, &found, p->err);
    }
    if (!status)
        ek__found_front(out);
    return status;
}
