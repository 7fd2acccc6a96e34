/* Best first. Two heaps have the layouts by their bound, those with one chunk a stage and the others, whose bounds are
 * less close. The tops of both are looked at closer, half a batch of each at a time: first their bound within the
 * memory limit, then their best plan. A batch is a fixed number of layouts and judged by the
 * best plans from before it, so the search is the same for any number of threads. It ends where the least bound is no
 * less than the k-th best step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/search.h"

enum { BATCH = 32 };

typedef struct batch {
    ek__layout_search *search;
    size_t n, at[BATCH]; /* candidates */
    double upper;
    ek__split split[BATCH]; /* of those that are balanced */
} batch;

/* ---- the heap ---- */

/* Of equal bounds the first in the space's order. */
static bool before(const ek__layout_search *s, size_t a, size_t b)
{
    double x = s->candidate[a].bound, y = s->candidate[b].bound;
    return x != y ? x < y : a < b;
}

static ek__heap *heap_of(ek__layout_search *s, size_t at)
{
    return &s->heap[s->candidate[at].n_chunks > 1];
}

static void push(ek__layout_search *s, size_t at)
{
    ek__heap *h = heap_of(s, at);
    size_t i = h->n++;
    for (; i > 0 && before(s, at, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = at;
}

static size_t pop(const ek__layout_search *s, ek__heap *h)
{
    size_t top = h->at[0], last = h->at[--h->n], i = 0;
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && before(s, h->at[child + 1], h->at[child]))
            child++;
        if (!before(s, h->at[child], last))
            break;
        h->at[i] = h->at[child];
    }
    h->at[i] = last;
    return top;
}

/* The least bound of all that were not balanced; INFINITY. */
static double least_bound(const ek__layout_search *s)
{
    double least = INFINITY;
    for (int i = 0; i < EK__N_HEAPS; i++)
        if (s->heap[i].n > 0)
            least = fmin(least, s->candidate[s->heap[i].at[0]].bound);
    return least;
}

/* ---- one layout ---- */

ek_layout ek__candidate_layout(const ek__layout_search *search, const ek__candidate *c)
{
    ek_layout layout = search->space.group[c->group].layout;
    layout.value[EK_AXIS_CHUNKS] = c->n_chunks;
    layout.schedule = search->options.schedule[c->schedule];
    return layout;
}

double ek__layout_upper(const ek__layout_search *search)
{
    int k = search->options.n_best;
    return search->n_best < k ? INFINITY : search->best[k - 1].estimate.step.seconds;
}

static ek_status look_within(const batch *b, ek__candidate *c, ek_cost_cache *cache, ek_error *err)
{
    const ek__layout_group *group = &b->search->space.group[c->group];
    ek_job job;
    ek__bound_figures figures;
    ek_status status = ek_layout_job(b->search->job, &group->layout, &job, err);
    if (status)
        return status;
    status = ek__bound_figures_of(&job, b->search->device, cache, true, &figures, err);
    if (!status)
        c->bound = fmax(c->bound, ek__bound_within(&figures, c->n_chunks, b->search->options.schedule[c->schedule]));
    c->known = EK__KNOWN_WITHIN;
    ek_job_clear(&job);
    return status;
}

static float peak_of(const ek_memory *memory)
{
    return (float)((double)memory->stage[memory->fullest].actual_peak / (1 << 20));
}

/* What the fullest stage of the plan found needs, MB; with the rest of its estimate where it may be among the best. */
static ek_status find_peak(const ek__layout_search *search, double upper, ek__split *split, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    ek_memory memory;
    ek_status status;
    if (split->seconds < upper) {
        status = ek_estimate_of(&split->job, search->device, 0, &split->estimate, err);
        split->estimated = status == EK_OK;
        split->peak_mb = split->estimated ? peak_of(&split->estimate.memory) : 0;
        return status;
    }
    status = ek_memory_predict(&split->job, &options, &memory, err);
    if (status)
        return status;
    split->peak_mb = peak_of(&memory);
    ek_memory_clear(&memory);
    return EK_OK;
}

ek_status ek__layout_balance(const ek__layout_search *search, const ek_layout *layout, double upper,
                             ek_cost_cache *cache, ek__split *out, bool *legal, ek_error *err)
{
    const ek__split_options options = {
        .upper = upper, .deadline = search->start + search->options.time_limit, .interrupt = search->options.interrupt};
    ek_job job;
    ek_error why;
    ek_status status = ek_layout_job(search->job, layout, &job, &why);
    *legal = status != EK_ERR_INPUT; /* what chunks and schedule bring into the job's check */
    if (!*legal)
        return EK_OK;
    if (!status)
        status = ek__split_layout(&job, search->device, cache, &options, out, err);
    else if (err)
        *err = why;
    if (!status && out->found)
        status = find_peak(search, upper, out, err);
    ek_job_clear(&job);
    return status;
}

static ek_status balance(batch *b, size_t i, ek__candidate *c, ek_cost_cache *cache, ek_error *err)
{
    const ek_layout layout = ek__candidate_layout(b->search, c);
    bool legal;
    ek_status status = ek__layout_balance(b->search, &layout, b->upper, cache, &b->split[i], &legal, err);
    if (!legal) {
        c->fate = EK_FATE_ILLEGAL;
        c->bound = INFINITY;
    }
    /* Whoever is cut short is looked at again, or is open at the end. */
    if (!status && !b->split[i].over)
        c->known = EK__KNOWN_SPLIT;
    return status;
}

static ek_status look(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    batch *b = user;
    ek__candidate *c = &b->search->candidate[b->at[item]];
    if (ek__layout_over(b->search))
        return EK_OK;
    return c->known == EK__KNOWN_BOUND ? look_within(b, c, cache, err) : balance(b, item, c, cache, err);
}

/* ---- the best ---- */

static ek_status make_plan(const ek__layout_search *s, const ek__candidate *c, ek__split *split, ek_layout_plan *out)
{
    *out = (ek_layout_plan){.layout = ek__candidate_layout(s, c), .lower_bound = fmin(c->bound, split->seconds)};
    out->job = split->job;
    split->job = (ek_job){0};
    if (split->estimated) {
        out->estimate = split->estimate; /* its job's new place: keep() */
        split->estimated = false;
        return EK_OK;
    }
    return ek_estimate_of(&out->job, s->device, 0, &out->estimate, s->err);
}

/* Into the best plans by step; of equal ones the first in the space's order goes first. The estimate borrows its job,
 * whose place changes with the plan's. */
static ek_status keep(ek__layout_search *s, size_t at, ek__split *split)
{
    const ek__candidate *c = &s->candidate[at];
    int k = s->options.n_best, i = s->n_best;
    while (i > 0 && (s->best[i - 1].estimate.step.seconds > split->seconds ||
                     (s->best[i - 1].estimate.step.seconds == split->seconds && s->best_at[i - 1] > at)))
        i--;
    if (i == k)
        return EK_OK;
    if (s->n_best == k)
        ek_layout_plan_clear(&s->best[--s->n_best]);
    memmove(&s->best[i + 1], &s->best[i], (size_t)(s->n_best - i) * sizeof *s->best);
    memmove(&s->best_at[i + 1], &s->best_at[i], (size_t)(s->n_best - i) * sizeof *s->best_at);
    s->n_best++;
    s->best_at[i] = at;
    s->best[i] = (ek_layout_plan){0};
    ek_status status = make_plan(s, c, split, &s->best[i]);
    for (int j = 0; j < s->n_best; j++)
        s->best[j].estimate.job = &s->best[j].job;
    return status;
}

static ek_status take(batch *b, size_t i)
{
    ek__layout_search *s = b->search;
    ek__candidate *c = &s->candidate[b->at[i]];
    ek__split *split = &b->split[i];
    if (c->fate == EK_FATE_ILLEGAL)
        return EK_OK;
    s->counts.balanced++;
    c->bound = fmax(c->bound, fmin(split->bound, split->seconds));
    c->seconds = split->seconds;
    c->plan_mb = split->found ? split->peak_mb : NAN;
    c->fate = split->found || split->bound < INFINITY ? EK_FATE_BALANCED : EK_FATE_NO_PLAN;
    if (split->found && s->first_at == 0)
        s->first_at = ek__clock();
    return split->found ? keep(s, b->at[i], split) : EK_OK;
}

/* ---- the search ---- */

static void report(const ek__layout_search *s)
{
    const ek_layout_options *o = &s->options;
    double upper = ek__layout_upper(s);
    if (!o->progress)
        return;
    const ek_layout_progress progress = {.seconds = ek__clock() - s->start,
                                         .n_bounded = s->counts.bounded,
                                         .n_left = (long)(s->heap[0].n + s->heap[1].n),
                                         .n_balanced = s->counts.balanced,
                                         .best_seconds = s->n_best > 0 ? s->best[0].estimate.step.seconds : INFINITY,
                                         .gap = isfinite(upper) ? fmax(0, 1 - least_bound(s) / upper) : 1};
    o->progress(o->user, &progress);
}

/* From each heap half a batch, or more where the other has less. */
static void fill(batch *b)
{
    ek__layout_search *s = b->search;
    b->n = 0;
    b->upper = ek__layout_upper(s);
    for (int turn = 0; turn < 2 * EK__N_HEAPS; turn++) {
        ek__heap *h = &s->heap[turn % EK__N_HEAPS];
        size_t most = turn < EK__N_HEAPS ? (size_t)(turn + 1) * BATCH / EK__N_HEAPS : BATCH;
        while (b->n < most && h->n > 0 && s->candidate[h->at[0]].bound < b->upper) {
            b->split[b->n] = (ek__split){.seconds = INFINITY, .bound = INFINITY};
            b->at[b->n++] = pop(s, h);
        }
    }
}

static ek_status run_batch(batch *b)
{
    ek__layout_search *s = b->search;
    uint8_t known[BATCH];
    for (size_t i = 0; i < b->n; i++)
        known[i] = s->candidate[b->at[i]].known;
    ek_status status = ek__layout_parallel(s, b->n, look, b);
    for (size_t i = 0; i < b->n; i++) {
        ek__candidate *c = &s->candidate[b->at[i]];
        bool done = c->known > known[i];
        if (!status && done && c->known == EK__KNOWN_SPLIT)
            status = take(b, i);
        else if (!status)
            push(s, b->at[i]);
        if (!done)
            s->ended_early = true;
        ek__split_clear(&b->split[i]);
    }
    return status;
}

static ek_status make_heaps(ek__layout_search *s)
{
    for (int i = 0; i < EK__N_HEAPS; i++)
        if (!(s->heap[i].at = ek__alloc(s->n + 1, sizeof *s->heap[i].at)))
            return ek__no_memory(s->err);
    return EK_OK;
}

static void fill_heaps(ek__layout_search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->candidate[i].fate == EK_FATE_BOUND && s->candidate[i].known != EK__KNOWN_SPLIT)
            push(s, i);
}

/* What was balanced while the others were bounded. */
static ek_status take_first(batch *b)
{
    ek__layout_search *s = b->search;
    ek__first *first = &s->first;
    ek_status status = EK_OK;
    for (size_t i = 0; i < s->n && first->split.found; i++) {
        ek__candidate *c = &s->candidate[i];
        const ek_layout layout = ek__candidate_layout(s, c);
        if (c->group != first->group || !ek_layout_equal(&layout, &first->layout))
            continue;
        c->known = EK__KNOWN_SPLIT;
        b->at[0] = i;
        b->split[0] = first->split;
        first->split = (ek__split){.seconds = INFINITY};
        status = take(b, 0);
        ek__split_clear(&b->split[0]);
    }
    return status;
}

ek_status ek__layout_best_first(ek__layout_search *search)
{
    batch *b = ek__alloc(1, sizeof *b);
    if (!b)
        return ek__no_memory(search->err);
    b->search = search;
    ek_status status = make_heaps(search);
    if (!status)
        status = take_first(b);
    if (!status)
        fill_heaps(search);
    while (!status && !ek__layout_over(search)) {
        fill(b);
        if (b->n == 0)
            break;
        status = run_batch(b);
        report(search);
    }
    search->ended_early |= ek__layout_over(search);
    free(b);
    return status;
}
