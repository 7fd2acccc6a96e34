/* Searches the layouts best first. Heaps order the layouts by their bound: those with one chunk per stage; the others,
 * with weaker bounds; and the part of these whose bounds are final, which is balanced early, so that there is a good
 * plan to compare the others with. The tops of all heaps are refined in batches: first by their bound within the memory
 * limit; with several chunks, by the known mixes of paths of the pipeline, then by their own mix; then by their best
 * plan, which for long pipelines with several chunks is searched briefly first, then thoroughly, shortest first. A
 * batch is a fixed number of layouts and uses only the best plans and mixes from before it, so the search is the same
 * for any number of threads. It ends when the least bound is not below the k-th best step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/search.h"
#include "layout/together.h"

#define EQUAL 1e-9 /* of a step: rounding of sums */

enum { MOST_MIXES = 8 }; /* of a pipeline: more of them gain little */

/* Layouts of each heap in a batch: those to bound, which takes microseconds; those to balance or to give their own mix,
 * which takes milliseconds to seconds. */
enum { TRIED = EK__N_HEAPS - 1 };
enum { MOST_BOUNDED = 512, FEW_BALANCED = 4, MOST_BALANCED = 64, BATCH = EK__N_HEAPS * (MOST_BOUNDED + MOST_BALANCED) };

/* A layout being refined. */
typedef struct looked {
    size_t at; /* candidate */
    ek__candidate before;
    bool done;
    ek__mixes *mixes; /* of its pipeline; NULL: one chunk, or not made yet */
    bool find;        /* a mix: one layout of a pipeline at a time, since the others can use it */
    ek__mix *mix;     /* that was found */
    ek__split split;  /* of balanced ones */
} looked;

/* The k shortest known steps, one per layout: from the best plans before a batch and from its results, in any order. */
typedef struct shortest {
    int n, k;
    size_t *at;      /* [k + 1] candidates */
    double *seconds; /* [k + 1] ascending */
} shortest;

typedef struct batch {
    ek__layout_search *search;
    size_t n;
    double upper;
    int most_balanced; /* layouts of a heap */
    looked *item;      /* [BATCH] */
    shortest known;
} batch;

/* ---- the heap ---- */

/* By bound, or by the plan's step if there is a plan. Of equal ones the first in the space's order. */
static bool before(const ek__layout_search *s, size_t a, size_t b)
{
    const ek__candidate *x = &s->candidate[a], *y = &s->candidate[b];
    if (x->known == EK__KNOWN_TRIED && x->seconds != y->seconds)
        return x->seconds < y->seconds;
    return x->bound != y->bound ? x->bound < y->bound : a < b;
}

static ek__heap *heap_of(ek__layout_search *s, size_t at)
{
    const ek__candidate *c = &s->candidate[at];
    return &s->heap[c->n_chunks == 1 ? 0 : c->known < EK__KNOWN_MIXED ? 1 : c->known < EK__KNOWN_TRIED ? 2 : TRIED];
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
        for (size_t k = 0; k < s->heap[i].n && (k == 0 || i == TRIED); k++)
            least = fmin(least, s->candidate[s->heap[i].at[k]].bound);
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

bool ek__candidate_is_of(const ek__layout_search *search, const ek__candidate *c)
{
    return c->group < search->space.n_groups && c->n_chunks > 0 && c->schedule < search->options.n_schedules;
}

double ek__layout_upper(const ek__layout_search *search)
{
    int k = search->options.n_best;
    return search->n_best < k ? INFINITY : search->best[k - 1].estimate.step.seconds;
}

static bool is_over(void *user)
{
    return ek__layout_over(user);
}

static ek_status look_at_mixes(const batch *b, looked *l, const ek__bound_figures *figures, ek_error *err)
{
    ek__candidate *c = &b->search->candidate[l->at];
    double bound = 0;
    ek_status status = ek__mixes_look(l->mixes, figures, b->search->device, b->upper, l->find, is_over, b->search,
                                      &l->mix, &bound, err);
    c->bound = fmax(c->bound, bound);
    if (!status && (l->find || l->mixes->n >= MOST_MIXES))
        c->known = EK__KNOWN_MIXED;
    return status;
}

static ek_status look_at_bounds(const batch *b, looked *l, ek_cost_cache *cache, ek_error *err)
{
    ek__candidate *c = &b->search->candidate[l->at];
    const ek__layout_group *group = &b->search->space.group[c->group];
    ek_job job;
    ek__bound_figures figures;
    ek_status status = ek__layout_job_on(b->search->job, b->search->device, &group->layout, &job, err);
    if (status)
        return status;
    status = ek__bound_figures_of(&job, b->search->device, cache, true, &figures, err);
    if (!status && c->known == EK__KNOWN_BOUND) {
        c->bound = fmax(c->bound, ek__bound_within(&figures, c->n_chunks, b->search->options.schedule[c->schedule]));
        c->known = EK__KNOWN_WITHIN;
    }
    if (!status && l->mixes && c->bound < b->upper)
        status = look_at_mixes(b, l, &figures, err);
    ek_job_clear(&job);
    return status;
}

static float peak_of(const ek_memory *memory)
{
    return (float)((double)memory->stage[memory->fullest].actual_peak / (1 << 20));
}

ek_status ek__layout_find_peak(const ek__layout_search *search, double upper, ek__split *split, ek_error *err)
{
    const ek_memory_options options = {.without_top = true, .actual_peak = split->actual};
    ek_memory memory;
    ek_status status;
    if (split->seconds < upper) {
        status = ek__split_estimate(split, search->device, &split->estimate, err);
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

ek_status ek__layout_balance(const ek__layout_search *search, const ek_layout *layout, double upper, ek__effort effort,
                             const ek__mixes *mixes, ek_cost_cache *cache, ek__split *out, bool *legal, ek_error *err)
{
    const ek__split_options options = {.upper = upper,
                                       .deadline = search->start + search->options.time_limit,
                                       .interrupt = search->options.interrupt,
                                       .effort = effort,
                                       .mixes = mixes};
    ek_job job;
    ek_error why;
    ek_status status = ek__layout_job_on(search->job, search->device, layout, &job, &why);
    *legal = status != EK_ERR_INPUT; /* chunks and schedule may fail the job's check */
    if (!*legal)
        return EK_OK;
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    status = ek__split_layout(&job, search->device, cache, &options, out, err);
    if (!status && out->found)
        status = ek__layout_find_peak(search, upper, out, err);
    ek_job_clear(&job);
    return status;
}

static ek_status balance(batch *b, looked *l, ek_cost_cache *cache, ek_error *err)
{
    ek__candidate *c = &b->search->candidate[l->at];
    const ek_layout layout = ek__candidate_layout(b->search, c);
    int cells = layout.value[EK_AXIS_PIPELINE] * c->n_chunks;
    bool legal, quick = l->mixes && cells > EK__LONG_PIPELINE && c->known < EK__KNOWN_TRIED;
    ek_status status = ek__layout_balance(b->search, &layout, b->upper, quick ? EK__EFFORT_QUICK : EK__EFFORT_WHOLE,
                                          l->mixes, cache, &l->split, &legal, err);
    if (!legal) {
        c->fate = EK_FATE_ILLEGAL;
        c->bound = INFINITY;
    }
    /* An interrupted layout is refined again, or is open at the end. */
    if (!status && !l->split.over)
        c->known = quick && l->split.found ? EK__KNOWN_TRIED : EK__KNOWN_SPLIT;
    return status;
}

/* Is it to be balanced? Otherwise its bound is refined. */
static bool is_balanced(const looked *l, const ek__candidate *c)
{
    bool mixed = !l->mixes || c->known >= EK__KNOWN_MIXED;
    return c->known != EK__KNOWN_BOUND && mixed;
}

static ek_status look(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    batch *b = user;
    looked *l = &b->item[item];
    const ek__candidate *c = &b->search->candidate[l->at];
    if (ek__layout_over(b->search))
        return EK_OK;
    ek_status status = is_balanced(l, c) ? balance(b, l, cache, err) : look_at_bounds(b, l, cache, err);
    l->done = true;
    return status;
}

/* ---- the best ---- */

static ek_status make_plan(const ek__layout_search *s, const ek__candidate *c, ek__split *split, ek_layout_plan *out)
{
    ek_status status = split->estimated ? EK_OK : ek__split_estimate(split, s->device, &split->estimate, s->err);
    if (status)
        return status;
    *out = (ek_layout_plan){.layout = ek__candidate_layout(s, c),
                            .lower_bound = fmin(c->bound, split->seconds),
                            .job = split->job,
                            .estimate = split->estimate}; /* its job's new place: keep() */
    split->job = (ek_job){0};
    split->estimated = false;
    return EK_OK;
}

/* The first answer may be of a layout that is balanced again. @return whether there is no equally short plan of it */
static bool drop_longer(ek__layout_search *s, size_t at, double seconds)
{
    int i = 0;
    while (i < s->n_best && s->best_at[i] != at)
        i++;
    if (i == s->n_best)
        return true;
    if (s->best[i].estimate.step.seconds <= seconds)
        return false;
    ek_layout_plan_clear(&s->best[i]);
    s->n_best--;
    memmove(&s->best[i], &s->best[i + 1], (size_t)(s->n_best - i) * sizeof *s->best);
    memmove(&s->best_at[i], &s->best_at[i + 1], (size_t)(s->n_best - i) * sizeof *s->best_at);
    return true;
}

/* Of equal ones the first in the space's order comes first. The estimate borrows its job, which moves together with the
 * plan. */
static ek_status keep(ek__layout_search *s, size_t at, ek__split *split)
{
    const ek__candidate *c = &s->candidate[at];
    if (!drop_longer(s, at, split->seconds))
        return EK_OK;
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

ek_status ek__layout_take_plan(ek__layout_search *s, size_t at, ek__split *split)
{
    ek__candidate *c = &s->candidate[at];
    if (!split->found || split->seconds >= c->seconds)
        return EK_OK;
    c->seconds = split->seconds;
    c->plan_mb = split->peak_mb;
    if (s->first_at == 0)
        s->first_at = ek__now();
    return keep(s, at, split);
}

static ek_status add(batch *b, looked *l)
{
    ek__layout_search *s = b->search;
    ek__candidate *c = &s->candidate[l->at];
    ek__split *split = &l->split;
    if (c->fate == EK_FATE_ILLEGAL)
        return EK_OK;
    s->counts.balanced += c->fate == EK_FATE_BOUND;
    c->bound = fmax(c->bound, fmin(split->bound, fmin(split->seconds, c->seconds)));
    bool has = split->found || c->seconds < INFINITY;
    c->fate = has || split->bound < INFINITY ? EK_FATE_BALANCED : EK_FATE_NO_PLAN;
    return ek__layout_take_plan(s, l->at, split);
}

/* ---- the search ---- */

static long n_left(const ek__layout_search *s)
{
    size_t n = 0;
    for (int i = 0; i < EK__N_HEAPS; i++)
        n += s->heap[i].n;
    return (long)n;
}

static void report(const ek__layout_search *s)
{
    const ek_layout_options *o = &s->options;
    double upper = ek__layout_upper(s);
    if (!o->progress)
        return;
    const ek_layout_progress progress = {.seconds = ek__now() - s->start,
                                         .n_bounded = s->counts.bounded,
                                         .n_left = n_left(s),
                                         .n_balanced = s->counts.balanced,
                                         .best_seconds = s->n_best > 0 ? s->best[0].estimate.step.seconds : INFINITY,
                                         .gap = isfinite(upper) ? fmax(0, 1 - least_bound(s) / upper) : 1};
    o->progress(o->user, &progress);
}

ek_status ek__layout_mixes_of(ek__layout_search *s, const ek__candidate *c, ek__mixes **out)
{
    const ek_layout layout = ek__candidate_layout(s, c);
    int p = layout.value[EK_AXIS_PIPELINE], m = layout.n_micro_batches;
    *out = NULL;
    if (c->n_chunks == 1 || !ek__mixes_apply(layout.schedule) || s->job->parallel.n_pieces > 1)
        return EK_OK;
    for (size_t i = 0; i < s->n_mixes; i++) {
        ek__mixes *known = s->mixes[i];
        if (known->schedule == layout.schedule && known->p == p && known->v == c->n_chunks && known->m == m) {
            *out = known;
            return EK_OK;
        }
    }
    ek__mixes **grown = ek__with_room(s->mixes, &s->mixes_capacity, s->n_mixes + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(s->err);
    s->mixes = grown;
    ek_error why;
    ek_status status = ek__mixes_new(layout.schedule, p, c->n_chunks, m, out, &why);
    if (status == EK_OK)
        grown[s->n_mixes++] = *out;
    else if (s->err && status != EK_ERR_INPUT)
        *s->err = why;
    return status == EK_ERR_INPUT ? EK_OK : status; /* a pipeline that the schedule cannot run: its check reports it */
}

static ek_status add_into(batch *b, size_t at)
{
    ek__layout_search *s = b->search;
    const ek__candidate *c = &s->candidate[at];
    looked *l = &b->item[b->n++];
    *l = (looked){.at = at, .split = {.seconds = INFINITY, .bound = INFINITY}};
    ek_status status = ek__layout_mixes_of(s, c, &l->mixes);
    l->find = l->mixes && c->known == EK__KNOWN_WITHIN && l->mixes->n < MOST_MIXES;
    for (size_t i = 0; i + 1 < b->n && l->find; i++)
        l->find = b->item[i].mixes != l->mixes || !b->item[i].find;
    return status;
}

static bool takes_long(const batch *b, const looked *l)
{
    int known = b->search->candidate[l->at].known;
    return l->find || known >= EK__KNOWN_MIXED || (known == EK__KNOWN_WITHIN && !l->mixes);
}

/* Of those with a plan, one at a time while others have none. */
static int most_balanced(const batch *b, int heap)
{
    const ek__layout_search *s = b->search;
    const ek__heap *untried = &s->heap[TRIED - 1];
    if (s->n_best == 0) /* first find any plan */
        return 1;
    return heap < TRIED || untried->n == 0 || s->candidate[untried->at[0]].bound >= b->upper ? b->most_balanced : 1;
}

static ek_status fill_from(batch *b, int heap)
{
    ek__layout_search *s = b->search;
    ek__heap *h = &s->heap[heap];
    ek_status status = EK_OK;
    int bounded = 0, balanced = 0, most = most_balanced(b, heap);
    while (heap == TRIED && h->n > 0 && s->candidate[h->at[0]].bound >= b->upper)
        pop(s, h);
    while (!status && bounded < MOST_BOUNDED && balanced < most && h->n > 0 &&
           s->candidate[h->at[0]].bound < b->upper) {
        status = add_into(b, pop(s, h));
        bool slow = !status && takes_long(b, &b->item[b->n - 1]);
        balanced += slow;
        bounded += !slow;
    }
    return status;
}

/* Few are balanced at a time, since each may lower the step to beat, which eliminates others. If the previous batch did
 * not lower it, and while this many plans are missing, more are balanced in parallel by threads and processes. */
static void choose_size(batch *b, double upper)
{
    const ek__layout_search *s = b->search;
    int most = FEW_BALANCED, missing = s->options.n_best - s->n_best;
    if (isfinite(upper) && upper == b->upper && b->n > 0)
        most = 2 * b->most_balanced;
    else if (!isfinite(upper) && s->heap[1].n + s->heap[2].n + s->heap[TRIED].n == 0)
        most = missing > most ? missing : most;
    b->most_balanced = most < MOST_BALANCED ? most : MOST_BALANCED;
}

static ek_status fill(batch *b)
{
    ek_status status = EK_OK;
    choose_size(b, ek__layout_upper(b->search));
    b->n = 0;
    b->upper = ek__layout_upper(b->search);
    for (int i = 0; i < EK__N_HEAPS && !status; i++)
        status = fill_from(b, i);
    return status;
}

/* ---- the k-th best in a batch ---- */

static bool make_shortest(shortest *known, int k)
{
    *known = (shortest){.k = k, .at = ek__alloc((size_t)k + 1, sizeof *known->at)};
    known->seconds = ek__alloc((size_t)k + 1, sizeof *known->seconds);
    return known->at && known->seconds;
}

static void remove_from(shortest *known, int i)
{
    size_t behind = (size_t)(--known->n - i);
    memmove(&known->at[i], &known->at[i + 1], behind * sizeof *known->at);
    memmove(&known->seconds[i], &known->seconds[i + 1], behind * sizeof *known->seconds);
}

static void add_shortest(shortest *known, size_t at, double seconds)
{
    int i = 0;
    while (i < known->n && known->at[i] != at)
        i++;
    if (i < known->n && known->seconds[i] <= seconds)
        return;
    if (i < known->n)
        remove_from(known, i);
    for (i = known->n++; i > 0 && known->seconds[i - 1] > seconds; i--) {
        known->at[i] = known->at[i - 1];
        known->seconds[i] = known->seconds[i - 1];
    }
    known->at[i] = at;
    known->seconds[i] = seconds;
    known->n -= known->n > known->k;
}

static double upper_of(const shortest *known)
{
    return known->n < known->k ? INFINITY : known->seconds[known->k - 1];
}

static void restart_shortest(batch *b)
{
    const ek__layout_search *s = b->search;
    b->known.n = 0;
    for (int i = 0; i < s->n_best; i++)
        add_shortest(&b->known, s->best_at[i], s->best[i].estimate.step.seconds);
}

/* Was balancing it unnecessary? Sums are rounded: bounds and steps come from different sums. */
static bool is_ruled_out(const looked *l, double upper)
{
    return is_balanced(l, &l->before) && l->before.bound > upper * (1 + EQUAL);
}

/* ---- items of other processes ---- */

static bool is_long(void *user, size_t item)
{
    const batch *b = user;
    return takes_long(b, &b->item[item]);
}

static double least_of(void *user, size_t item)
{
    const batch *b = user;
    const looked *l = &b->item[item];
    return is_balanced(l, &l->before) ? l->before.bound / (1 + EQUAL) : -INFINITY;
}

static void pack_item(void *user, size_t item, ek__pack *to)
{
    const batch *b = user;
    const looked *l = &b->item[item];
    EK__PACK(to, b->search->candidate[l->at]);
    EK__PACK(to, b->upper);
    EK__PACK(to, l->find);
    ek__mixes_pack(l->mixes, to);
}

ek_status ek__layout_errand_look(ek__layout_search *search, ek__unpack *what, ek__pack *result, ek_error *err)
{
    looked *l = ek__alloc(1, sizeof *l);
    batch b = {.search = search, .n = 1, .item = l};
    ek__candidate *c = &search->candidate[0];
    ek__mixes *known, view;
    if (!l)
        return ek__no_memory(err);
    *l = (looked){.split = {.seconds = INFINITY, .bound = INFINITY}};
    EK__UNPACK(what, *c);
    EK__UNPACK(what, b.upper);
    EK__UNPACK(what, l->find);
    ek_status status = ek__candidate_is_of(search, c) ? EK_OK : ek__unpack_wrong(what, err);
    if (!status)
        status = ek__layout_mixes_of(search, c, &known);
    if (!status)
        status = ek__mixes_unpack(what, known, &view, &l->mixes, err);
    if (!status)
        status = ek__unpack_end(what, err);
    if (!status)
        status = look(&b, 0, search->cache[0], err);
    EK__PACK(result, l->done);
    EK__PACK(result, *c);
    ek__split_pack(&l->split, result);
    ek__mix_pack(l->mixes, l->mix, result);
    ek__mix_free(l->mix);
    ek__split_clear(&l->split);
    free(l);
    return status;
}

static ek_status take_item(void *user, size_t item, ek__unpack *from, ek_error *err)
{
    batch *b = user;
    ek__layout_search *s = b->search;
    looked *l = &b->item[item];
    EK__UNPACK(from, l->done);
    EK__UNPACK(from, s->candidate[l->at]);
    ek_status status = ek__split_unpack(from, s->job->path, &l->split, err);
    if (!status)
        status = ek__mix_unpack(from, l->mixes, &l->mix, err);
    if (!status && l->split.found) {
        add_shortest(&b->known, l->at, l->split.seconds);
        ek__layout_tell_upper(s, upper_of(&b->known));
    }
    return status;
}

static ek_status run_batch(batch *b)
{
    static const ek__layout_items items = {EK__ERRAND_LOOK, look, is_long, pack_item, take_item, least_of};
    ek__layout_search *s = b->search;
    restart_shortest(b);
    for (size_t i = 0; i < b->n; i++)
        b->item[i].before = s->candidate[b->item[i].at];
    ek_status status = ek__layout_do(s, b->n, &items, b);
    for (size_t i = 0; i < b->n; i++)
        if (b->item[i].split.found)
            add_shortest(&b->known, b->item[i].at, b->item[i].split.seconds);
    for (size_t i = 0; i < b->n; i++) {
        looked *l = &b->item[i];
        if (is_ruled_out(l, upper_of(&b->known))) { /* that may be the reason it was ended */
            s->candidate[l->at] = l->before;
            ek__split_clear(&l->split);
            continue;
        }
        int known = s->candidate[l->at].known;
        if (!status) /* an interrupted one may have a plan */
            status = l->done && known >= EK__KNOWN_TRIED ? add(b, l) : ek__layout_take_plan(s, l->at, &l->split);
        if (!status && known < EK__KNOWN_SPLIT)
            push(s, l->at);
        if (l->mix && !status)
            status = ek__mixes_add(l->mixes, l->mix, s->err);
        else
            ek__mix_free(l->mix);
        if (!l->done)
            s->ended_early = true;
        ek__split_clear(&l->split);
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

/* The layout that was balanced while the others were bounded. */
static ek_status add_first(batch *b)
{
    ek__layout_search *s = b->search;
    ek__first *first = &s->first;
    ek_status status = EK_OK;
    for (size_t i = 0; i < s->n && first->split.found; i++) {
        ek__candidate *c = &s->candidate[i];
        const ek_layout layout = ek__candidate_layout(s, c);
        if (c->group != first->group || !ek_layout_equal(&layout, &first->layout))
            continue;
        b->item[0] = (looked){.at = i, .split = first->split};
        first->split = (ek__split){.seconds = INFINITY};
        if (c->n_chunks == 1 && first->whole)
            c->known = EK__KNOWN_SPLIT;
        /* Otherwise a better bound is searched, and the layout balanced again. */
        status = c->known == EK__KNOWN_SPLIT ? add(b, &b->item[0]) : ek__layout_take_plan(s, i, &b->item[0].split);
        ek__split_clear(&b->item[0].split);
    }
    return status;
}

ek_status ek__layout_best_first(ek__layout_search *search)
{
    batch *b = ek__alloc(1, sizeof *b);
    if (!b)
        return ek__no_memory(search->err);
    *b = (batch){.search = search, .item = ek__alloc(BATCH, sizeof *b->item)};
    ek_status status =
        make_shortest(&b->known, search->options.n_best) && b->item ? make_heaps(search) : ek__no_memory(search->err);
    if (!status)
        status = add_first(b);
    if (!status)
        fill_heaps(search);
    while (!status && !ek__layout_over(search)) {
        status = fill(b);
        if (status || b->n == 0)
            break;
        status = run_batch(b);
        report(search);
    }
    search->ended_early |= ek__layout_over(search);
    free(b->item);
    free(b->known.at);
    free(b->known.seconds);
    free(b);
    return status;
}
