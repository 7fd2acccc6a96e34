/* Proves the best plan after the search. Layouts with several chunks per stage have plans from annealing, and bounds
 * for fractional layers. Those whose bounds are below the best plan are searched over whole layers (split_whole.c),
 * which closes them or finds a shorter plan. All open ones are searched with few nodes of the tree first, least bounds
 * first, and then with more. When the best plan is proved, the same is done for the last of the requested plans, except
 * for pipelines that take long. A batch is a fixed number of layouts with a fixed number of nodes, so the proof is the
 * same for any number of threads. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/search.h"
#include "layout/together.h"

enum { BATCH = 4, MOST_LOOKS = 3, SMALL = 16 }; /* cells of a pipeline with trees that take seconds at most */
enum { FEW_SIDES = 100 };                       /* of long pipelines, which take tens of milliseconds each */
static const int sides[MOST_LOOKS] = {400, 4000, 40000};
#define FAR 8 /* times a bound: no relevant plan is as long */

typedef struct batch {
    ek__layout_search *search;
    bool last; /* others have to beat the last of the requested plans; otherwise the best */
    double upper;
    int n;
    size_t at[BATCH];
    ek__mixes *mixes[BATCH];
    ek__split split[BATCH];
    bool done[BATCH];
} batch;

static int cells_of(const batch *b, const ek__candidate *c)
{
    return b->search->space.group[c->group].layout.value[EK_AXIS_PIPELINE] * c->n_chunks;
}

static int sides_of(const batch *b, const ek__candidate *c)
{
    return cells_of(b, c) > EK__LONG_PIPELINE ? FEW_SIDES : sides[c->looks];
}

/* @param one  of the layout with one chunk a stage */
static ek_status search_whole(const batch *b, size_t item, const ek_job *one, ek_cost_cache *cache, ek__split *split,
                              double *bound, ek_error *err)
{
    const ek__layout_search *s = b->search;
    const ek__candidate *c = &s->candidate[b->at[item]];
    const ek_layout layout = ek__candidate_layout(s, c);
    const ek__split_options options = {.upper = fmin(fmin(b->upper, c->seconds), FAR * c->bound),
                                       .deadline = s->start + s->options.time_limit,
                                       .interrupt = s->options.interrupt};
    ek__bound_figures figures;
    ek_job job;
    ek_status status = ek__bound_figures_of(one, s->device, cache, true, &figures, err);
    if (!status)
        status = ek__layout_job_on(s->job, s->device, &layout, &job, err);
    if (status)
        return status;
    const ek__split_chunked of = {&job, s->device, cache, b->mixes[item], &figures, sides_of(b, c)};
    status = ek__split_whole(&of, &options, split, bound, err);
    ek_job_clear(&job);
    return status;
}

static ek_status look(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    batch *b = user;
    ek__layout_search *s = b->search;
    ek__candidate *c = &s->candidate[b->at[item]];
    ek__split *split = &b->split[item];
    ek_job one;
    double bound = 0;
    if (ek__layout_over(s))
        return EK_OK;
    ek_status status = ek__layout_job_on(s->job, s->device, &s->space.group[c->group].layout, &one, err);
    if (status)
        return status;
    status = search_whole(b, item, &one, cache, split, &bound, err);
    ek_job_clear(&one);
    if (!status && split->found)
        status = ek__layout_find_peak(s, b->upper, split, err);
    c->bound = fmax(c->bound, fmin(bound, fmin(c->seconds, split->seconds)));
    b->done[item] = !status;
    return status;
}

static double upper_of(const batch *b)
{
    const ek__layout_search *s = b->search;
    return b->last ? ek__layout_upper(s) : s->n_best == 0 ? INFINITY : s->best[0].estimate.step.seconds;
}

/* If no plan is known to fit, and after the best plan, many layouts are open; and trees of long pipelines do not
 * end. */
static int most_looks(const batch *b, const ek__candidate *c)
{
    bool once = b->search->n_best == 0 || b->last || cells_of(b, c) > EK__LONG_PIPELINE;
    return once ? 1 : cells_of(b, c) > SMALL ? 2 : MOST_LOOKS;
}

static bool is_open(const batch *b, const ek__candidate *c)
{
    if (b->last && cells_of(b, c) > SMALL)
        return false;
    return c->n_chunks > 1 && c->known == EK__KNOWN_SPLIT && c->fate == EK_FATE_BALANCED &&
           c->bound < fmin(b->upper, c->seconds);
}

/* The least remaining bound. */
static double least_known(const ek__layout_search *s)
{
    double least = INFINITY;
    for (size_t i = 0; i < s->n; i++)
        if (s->candidate[i].known == EK__KNOWN_WHOLE)
            least = fmin(least, s->candidate[i].bound);
    return least;
}

/* The open layouts searched least so far, with the least bounds; of equal ones the first in the space's order. */
static bool before(const ek__candidate *x, const ek__candidate *y)
{
    return x->looks != y->looks ? x->looks < y->looks : x->bound < y->bound;
}

static ek_status fill(batch *b)
{
    ek__layout_search *s = b->search;
    double least =
        b->last ? INFINITY : least_known(s); /* beyond the layouts that stay open there is no more information */
    b->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const ek__candidate *c = &s->candidate[i];
        int to = b->n;
        if (!is_open(b, c) || c->bound >= least)
            continue;
        while (to > 0 && before(c, &s->candidate[b->at[to - 1]]))
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

/* Layouts without a bound by mixes do not change. */
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

/* Reset the searches: there is another plan to beat. */
static void look_again(batch *b)
{
    b->upper = upper_of(b);
    for (size_t i = 0; i < b->search->n; i++) {
        ek__candidate *c = &b->search->candidate[i];
        c->looks = 0;
        c->known = c->known == EK__KNOWN_WHOLE ? EK__KNOWN_SPLIT : c->known;
    }
}

static ek_status add(batch *b)
{
    ek__layout_search *s = b->search;
    bool none = s->n_best == 0;
    ek_status status = EK_OK;
    for (int k = 0; k < b->n; k++) {
        ek__candidate *c = &s->candidate[b->at[k]];
        ek__split *split = &b->split[k];
        if (b->done[k] && ++c->looks >= most_looks(b, c))
            c->known = EK__KNOWN_WHOLE;
        if (!status)
            status = ek__layout_take_plan(s, b->at[k], split);
        ek__split_clear(split);
    }
    b->upper = upper_of(b);
    if (none && s->n_best > 0)
        look_again(b);
    return status;
}

/* ---- items of other processes ---- */

static void pack_item(void *user, size_t item, ek__pack *to)
{
    const batch *b = user;
    EK__PACK(to, b->search->candidate[b->at[item]]);
    EK__PACK(to, b->upper);
    EK__PACK(to, b->last);
    ek__mixes_pack(b->mixes[item], to);
}

ek_status ek__layout_errand_whole(ek__layout_search *search, ek__unpack *what, ek__pack *result, ek_error *err)
{
    batch b = {.search = search, .n = 1, .split = {{.seconds = INFINITY, .bound = INFINITY}}};
    ek__candidate *c = &search->candidate[0];
    ek__mixes *known, view;
    EK__UNPACK(what, *c);
    EK__UNPACK(what, b.upper);
    EK__UNPACK(what, b.last);
    ek_status status = ek__candidate_is_of(search, c) ? EK_OK : ek__unpack_wrong(what, err);
    if (!status)
        status = ek__layout_mixes_of(search, c, &known);
    if (!status)
        status = ek__mixes_unpack(what, known, &view, &b.mixes[0], err);
    if (!status)
        status = ek__unpack_end(what, err);
    if (!status)
        status = look(&b, 0, search->cache[0], err);
    EK__PACK(result, b.done[0]);
    EK__PACK(result, *c);
    ek__split_pack(&b.split[0], result);
    ek__split_clear(&b.split[0]);
    return status;
}

static ek_status take_item(void *user, size_t item, ek__unpack *from, ek_error *err)
{
    batch *b = user;
    EK__UNPACK(from, b->done[item]);
    EK__UNPACK(from, b->search->candidate[b->at[item]]);
    return ek__split_unpack(from, b->search->job->path, &b->split[item], err);
}

ek_status ek__layout_prove(ek__layout_search *search)
{
    static const ek__layout_items items = {EK__ERRAND_WHOLE, look, NULL, pack_item, take_item, NULL};
    batch b = {.search = search};
    ek_status status = EK_OK;
    if (search->ended_early)
        return EK_OK;
    b.upper = upper_of(&b);
    while (!status && !ek__layout_over(search)) {
        status = fill(&b);
        if (!status && b.n == 0 && !b.last && search->n_best > 0 && least_known(search) >= b.upper) {
            b.last = true;
            look_again(&b);
            continue;
        }
        if (status || b.n == 0)
            break;
        leave_others(&b);
        for (int k = 0; k < b.n; k++) {
            b.done[k] = false;
            b.split[k] = (ek__split){.seconds = INFINITY, .bound = INFINITY};
        }
        status = ek__layout_do(search, (size_t)b.n, &items, &b);
        ek_status taken = add(&b);
        status = status ? status : taken;
    }
    for (int i = 0; i < search->n_best; i++) {
        ek_layout_plan *plan = &search->best[i];
        double bound = search->candidate[search->best_at[i]].bound;
        plan->lower_bound = fmax(plan->lower_bound, fmin(bound, plan->estimate.step.seconds));
    }
    return status;
}
