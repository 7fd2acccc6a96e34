/* Behind the search: how good the best plan is. Layouts with several chunks a stage have bounds that know layers in
 * fractions. The one with the least, which is what leaves the best plan open, is bounded anew with whole layers
 * (mix_branch.c), until no bound is below the best step, or the least is one with whole layers. A batch is a fixed
 * number of layouts with a fixed number of nodes, so the proof is the same for any number of threads. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/search.h"

enum { BATCH = 8, NODES = 400 };

typedef struct batch {
    ek__layout_search *search;
    double upper;
    int n;
    size_t at[BATCH];
    ek__mixes *mixes[BATCH];
    bool done[BATCH];
} batch;

static bool is_over(void *user)
{
    return ek__layout_over(user);
}

static ek_status look(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    batch *b = user;
    ek__layout_search *s = b->search;
    ek__candidate *c = &s->candidate[b->at[item]];
    ek_job job;
    ek__bound_figures figures;
    double bound = 0;
    if (ek__layout_over(s))
        return EK_OK;
    ek_status status = ek__layout_job_on(s->job, s->device, &s->space.group[c->group].layout, &job, err);
    if (status)
        return status;
    status = ek__bound_figures_of(&job, s->device, cache, true, &figures, err);
    if (!status)
        status = ek__mixes_branch(b->mixes[item], &figures, s->device, b->upper, NODES, is_over, s, &bound, err);
    ek_job_clear(&job);
    c->bound = fmax(c->bound, fmin(bound, c->seconds));
    b->done[item] = !status;
    return status;
}

static bool is_open(const batch *b, const ek__candidate *c)
{
    return c->n_chunks > 1 && c->known == EK__KNOWN_SPLIT && c->fate != EK_FATE_ILLEGAL && c->bound < b->upper;
}

/* The least bound that stays. */
static double least_known(const ek__layout_search *s)
{
    double least = INFINITY;
    for (size_t i = 0; i < s->n; i++)
        if (s->candidate[i].known == EK__KNOWN_WHOLE)
            least = fmin(least, s->candidate[i].bound);
    return least;
}

/* The open layouts with the least bounds, of equal ones the first in the space's order. */
static ek_status fill(batch *b)
{
    ek__layout_search *s = b->search;
    double least = least_known(s);
    b->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double bound = s->candidate[i].bound;
        int to = b->n;
        if (!is_open(b, &s->candidate[i]) || bound >= least)
            continue;
        while (to > 0 && s->candidate[b->at[to - 1]].bound > bound)
            to--;
        if (to == BATCH)
            continue;
        b->n += b->n < BATCH;
        for (int k = b->n - 1; k > to; k--)
            b->at[k] = b->at[k - 1];
        b->at[to] = i;
    }
    ek_status status = EK_OK;
    for (int k = 0; k < b->n && !status; k++)
        status = ek__layout_mixes_of(s, &s->candidate[b->at[k]], &b->mixes[k]);
    return status;
}

/* What mixes say nothing of stays as it is. */
static void leave_others(batch *b)
{
    int n = 0;
    for (int k = 0; k < b->n; k++) {
        ek__candidate *c = &b->search->candidate[b->at[k]];
        if (!b->mixes[k]) {
            c->known = EK__KNOWN_WHOLE;
            continue;
        }
        b->at[n] = b->at[k];
        b->mixes[n++] = b->mixes[k];
    }
    b->n = n;
}

static void take(batch *b)
{
    for (int k = 0; k < b->n; k++)
        if (b->done[k])
            b->search->candidate[b->at[k]].known = EK__KNOWN_WHOLE;
}

ek_status ek__layout_prove(ek__layout_search *search)
{
    batch b = {.search = search};
    ek_status status = EK_OK;
    if (search->n_best == 0 || search->ended_early)
        return EK_OK;
    b.upper = search->best[0].estimate.step.seconds;
    while (!status && !ek__layout_over(search)) {
        status = fill(&b);
        if (status || b.n == 0)
            break;
        leave_others(&b);
        for (int k = 0; k < b.n; k++)
            b.done[k] = false;
        status = ek__layout_parallel(search, (size_t)b.n, look, &b);
        take(&b);
    }
    for (int i = 0; i < search->n_best; i++) {
        ek_layout_plan *plan = &search->best[i];
        double bound = search->candidate[search->best_at[i]].bound;
        plan->lower_bound = fmax(plan->lower_bound, fmin(bound, plan->estimate.step.seconds));
    }
    return status;
}
