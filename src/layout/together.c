/* Runs a search on several processes. Process 0 has two threads in addition to the one for items: the caller's
 * transfers the messages (team/deal.h), the other one runs the search and waits for the items of each batch.
 *
 * The step that plans have to beat is sent to all processes as soon as a result lowers it. A process ends a layout that
 * can no longer be among the best; process 0 ignores such layouts in its conclusions from a batch, whether they were
 * ended or not, so that the result does not depend on timing. */
#include "layout/together.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/evenkeel.h"
#include "layout/bound.h"
#include "layout/frameworks.h"
#include "team/deal.h"

/* The header of an item. */
typedef struct head {
    double left;  /* seconds until the search is over */
    double least; /* of the item: ek__layout_items.least */
    int32_t errand, unused;
} head;

/* News for all. */
typedef struct news {
    double upper;
    bool is_over;
} news;

struct ek__together {
    ek__layout_search *search;
    ek_status (*body)(ek__layout_search *search);
    ek__layout_errand *const *errands;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The current item of this process. */
    ek__layout_search hand;
    ek__candidate candidate; /* of it */
    ek_interrupt stop;
    double least;
    news known, told;
    /* process 0 */
    const ek__layout_items *items; /* of the distributed batch */
    void *user;
    size_t *at, capacity; /* [n_all - before] indexes of these items in the batch */
    int before, n_all;    /* items distributed in earlier batches; all so far */
    size_t n_left;        /* of the batch */
    bool has_ended;       /* the search */
    bool has_failed;      /* the distribution, or an item */
    ek_status status, body_status;
    ek_error error;
};

/* ---- an item ---- */

/* The deal's worker thread. */
static ek_status work(void *user, int item, const ek__packet *what, ek__packet *result, ek_error *err)
{
    ek__together *t = user;
    ek__layout_search *hand = &t->hand;
    ek__unpack from = ek__unpack_of(what->at, what->n);
    ek__pack to = {.at = NULL};
    head h = {.left = 0};
    (void)item;
    EK__UNPACK(&from, h);
    if (from.wrong || h.errand < 0 || h.errand >= EK__N_ERRANDS)
        return ek__unpack_end(&from, err);
    if (!hand->cache[0] && !(hand->cache[0] = ek_cost_cache_new(hand->device)))
        return ek__no_memory(err);
    pthread_mutex_lock(&t->lock);
    t->least = h.least;
    if (!t->known.is_over && !(h.least > t->known.upper))
        ek_interrupt_reset(&t->stop);
    pthread_mutex_unlock(&t->lock);
    hand->start = ek__now();
    hand->options.time_limit = h.left;
    hand->err = err;
    ek_status status = t->errands[h.errand](hand, &from, &to, err);
    pthread_mutex_lock(&t->lock);
    t->least = -INFINITY;
    pthread_mutex_unlock(&t->lock);
    return ek__packet_of(&to, status, result, err);
}

/* ---- news ---- */

/* @param now  not worse than the known step. Call with the lock */
static void learn(ek__together *t, const news *now)
{
    t->known.upper = fmin(t->known.upper, now->upper);
    t->known.is_over = t->known.is_over || now->is_over;
    if (t->known.is_over || t->least > t->known.upper)
        ek_interrupt_set(&t->stop);
}

static void hear(void *user, const ek__packet *packet)
{
    ek__together *t = user;
    news now;
    if (packet->n != sizeof now)
        return;
    memcpy(&now, packet->at, sizeof now);
    pthread_mutex_lock(&t->lock);
    learn(t, &now);
    pthread_mutex_unlock(&t->lock);
}

/* Process 0 takes the steps from the results. */
static bool tell(void *user, ek__packet *packet)
{
    ek__together *t = user;
    const news over = {.upper = INFINITY, .is_over = ek__layout_over(t->search)};
    if (t->search->options.team->index > 0)
        return false;
    pthread_mutex_lock(&t->lock);
    learn(t, &over);
    bool is_new = (t->known.upper < t->told.upper || t->known.is_over != t->told.is_over);
    void *copy = is_new ? ek__alloc(1, sizeof t->known) : NULL;
    if (copy) {
        memcpy(copy, &t->known, sizeof t->known);
        t->told = t->known;
    }
    pthread_mutex_unlock(&t->lock);
    *packet = (ek__packet){copy, copy ? sizeof t->known : 0};
    return copy != NULL;
}

void ek__layout_tell_upper(ek__layout_search *search, double upper)
{
    const news now = {.upper = upper};
    ek__together *t = search->together;
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    learn(t, &now);
    pthread_mutex_unlock(&t->lock);
}

/* ---- process 0: batches ---- */

static ek_status describe(void *user, int item, ek__packet *out, ek_error *err)
{
    ek__together *t = user;
    ek__pack to = {.at = NULL};
    size_t at = t->at[item - t->before];
    const ek_layout_options *o = &t->search->options;
    head h = {.left = o->time_limit - (ek__now() - t->search->start), .errand = (int32_t)t->items->errand};
    h.least = t->items->least ? t->items->least(t->user, at) : -INFINITY;
    EK__PACK(&to, h);
    t->items->pack(t->user, at, &to);
    ek_status status = ek__pack_end(&to, err);
    if (!status)
        *out = (ek__packet){to.at, to.n};
    return status;
}

static void count_down(ek__together *t)
{
    pthread_mutex_lock(&t->lock);
    if (--t->n_left == 0)
        pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static ek_status take(void *user, int item, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    ek__together *t = user;
    if (failed) {
        if (err)
            *err = *failed;
        return failed->status ? failed->status : EK_ERR_SYSTEM;
    }
    ek__unpack from = ek__unpack_of(result->at, result->n);
    ek_status status = t->items->take(t->user, t->at[item - t->before], &from, err);
    if (!status)
        status = ek__unpack_end(&from, err);
    if (!status)
        count_down(t);
    return status;
}

static int more(void *user, bool *ended)
{
    ek__together *t = user;
    pthread_mutex_lock(&t->lock);
    int n = t->n_all;
    *ended = t->has_ended;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* ---- process 0: the search ---- */

/* Items that are done here while the others are distributed. */
typedef struct here {
    const ek__layout_items *items;
    void *user;
    const size_t *at;
} here;

static ek_status work_here(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    const here *h = user;
    return h->items->work(h->user, h->at[item], cache, err);
}

static void hand_out(ek__together *t, const ek__layout_items *items, void *user, size_t n_far)
{
    pthread_mutex_lock(&t->lock);
    t->items = items;
    t->user = user;
    t->before = t->n_all;
    t->n_left = n_far;
    t->n_all += (int)n_far;
    pthread_mutex_unlock(&t->lock);
}

static ek_status wait_for_others(ek__together *t, ek_error *err)
{
    pthread_mutex_lock(&t->lock);
    while (t->n_left > 0 && !t->has_failed)
        pthread_cond_wait(&t->changed, &t->lock);
    ek_status status = t->has_failed ? t->status : EK_OK;
    if (status && err)
        *err = t->error;
    pthread_mutex_unlock(&t->lock);
    return status;
}

ek_status ek__layout_do(ek__layout_search *search, size_t n, const ek__layout_items *items, void *user)
{
    ek__together *t = search->together;
    size_t n_far = 0, n_near = 0;
    for (size_t i = 0; i < n && t; i++)
        n_far += !items->is_long || items->is_long(user, i);
    if (n_far < 2) /* nothing to do concurrently */
        return ek__layout_parallel(search, n, items->work, user);
    size_t *near = ek__alloc(n, sizeof *near), *far = ek__with_room(t->at, &t->capacity, n_far, sizeof *far);
    t->at = far ? far : t->at;
    if (!near || !far) {
        free(near);
        return ek__no_memory(search->err);
    }
    n_far = 0;
    for (size_t i = 0; i < n; i++)
        if (!items->is_long || items->is_long(user, i))
            far[n_far++] = i;
        else
            near[n_near++] = i;
    here of = {items, user, near};
    hand_out(t, items, user, n_far);
    ek_status status = ek__layout_parallel(search, n_near, work_here, &of);
    ek_status others = wait_for_others(t, status ? NULL : search->err);
    free(near);
    return status ? status : others;
}

static void *run_body(void *user)
{
    ek__together *t = user;
    t->body_status = t->body(t->search);
    pthread_mutex_lock(&t->lock);
    t->has_ended = true;
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the whole ---- */

/* A hash of the program, the space, and a bound that depends on all input: two machines may have different files. */
static ek_status describe_search(const ek__layout_search *s, char *text, size_t size, ek_error *err)
{
    ek_cost_cache *cache = ek_cost_cache_new(s->device);
    double bound = 0;
    ek_status status = cache ? EK_OK : ek__no_memory(err);
    for (size_t i = 0; i < s->space.n_groups && !status && bound == 0; i++) {
        ek_job job;
        ek__bound_figures figures;
        status = ek__layout_job_on(s->job, s->device, &s->space.group[i].layout, &job, err);
        if (status == EK_ERR_INPUT) {
            status = EK_OK;
            continue;
        }
        if (status)
            break;
        status = ek__bound_figures_of(&job, s->device, cache, true, &figures, err);
        if (!status)
            bound = ek__bound_seconds(&figures, 1, job.schedule);
        ek_job_clear(&job);
    }
    ek_cost_cache_free(cache);
    const double figures[] = {bound, s->job->limit_mb, (double)s->space.n_groups, (double)s->options.n_best};
    snprintf(text, size, "evenkeel %s with input %016llx", EK_VERSION,
             (unsigned long long)ek__hash(figures, sizeof figures, s->job->digest));
    return status;
}

static ek_status deal(ek__together *t, const char *same)
{
    const ek_layout_options *o = &t->search->options;
    const ek__deal_job job = {.user = t,
                              .more = more,
                              .describe = describe,
                              .take = take,
                              .work = work,
                              .tell = tell,
                              .hear = hear,
                              .patience = o->patience,
                              .same = same};
    ek__deal_end end;
    ek_status status = ek__deal(o->team, &job, &end, &t->error);
    if (!status)
        ek__deal_tell_of_lost(&end, o->patience, EK__OTHERS_DID_IT, o->listener);
    pthread_mutex_lock(&t->lock);
    t->has_failed = status != EK_OK;
    t->status = status;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return status;
}

static ek_status lead(ek__together *t, const char *same)
{
    ek__threads threads = {.n = 0};
    int why = 0;
    t->search->together = t;
    if (ek__threads_start(&threads, 1, run_body, t, 0, &why) == 0)
        return ek__fail(t->search->err, EK_ERR_SYSTEM, EK__NOWHERE, "a thread could not be started: %s", strerror(why));
    ek_status status = deal(t, same);
    if (status) /* the search ends soon */
        ek_interrupt_set(&t->search->given_up);
    ek__threads_join(&threads);
    t->search->together = NULL;
    if (status && t->search->err)
        *t->search->err = t->error;
    return status ? status : t->body_status;
}

ek_status ek__layout_together(ek__layout_search *search, ek_status (*body)(ek__layout_search *search),
                              ek__layout_errand *const *errands)
{
    const ek_team *team = search->options.team;
    char same[256];
    if (!team || team->size == 1)
        return body(search);
    ek__together *t = ek__alloc(1, sizeof *t);
    if (!t)
        return ek__no_memory(search->err);
    *t = (ek__together){.search = search, .body = body, .errands = errands, .least = -INFINITY};
    t->known.upper = t->told.upper = INFINITY;
    t->hand = (ek__layout_search){.job = search->job,
                                  .device = search->device,
                                  .options = search->options,
                                  .space = search->space,
                                  .n = 1,
                                  .candidate = &t->candidate,
                                  .n_threads = 1};
    t->hand.options.interrupt = &t->stop;
    t->hand.options.progress = NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    ek_status status = describe_search(search, same, sizeof same, search->err);
    if (!status)
        status = team->index == 0 ? lead(t, same) : deal(t, same);
    if (status && team->index > 0 && search->err)
        *search->err = t->error;
    for (size_t i = 0; i < t->hand.n_mixes; i++)
        ek__mixes_free(t->hand.mixes[i]);
    free(t->hand.mixes);
    ek_cost_cache_free(t->hand.cache[0]);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t->at);
    free(t);
    return status;
}
