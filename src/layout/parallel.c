/* Runs items of work on all threads. Each thread takes the next item; the assignment affects only the time, since items
 * are independent. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "layout/search.h"

typedef struct crew {
    ek__layout_search *search;
    ek__layout_work *work;
    void *user;
    size_t n;
    atomic_size_t next;
    atomic_size_t joined; /* threads */
    atomic_int failed;
    pthread_mutex_t lock; /* guards the error */
    ek_status status;
} crew;

bool ek__layout_over(const ek__layout_search *search)
{
    const ek_layout_options *o = &search->options;
    return ek_interrupted(o->interrupt) || ek_interrupted(&search->given_up) ||
           ek__now() - search->start >= o->time_limit;
}

static void fail(crew *c, ek_status status, const ek_error *err)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_exchange(&c->failed, 1)) {
        c->status = status;
        if (c->search->err)
            *c->search->err = *err;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *user)
{
    crew *c = user;
    ek_error err = {0};
    ek_cost_cache **own = &c->search->cache[atomic_fetch_add(&c->joined, 1)];
    if (!*own && !(*own = ek_cost_cache_new(c->search->device))) {
        fail(c, ek__no_memory(&err), &err);
        return NULL;
    }
    for (size_t i; !atomic_load(&c->failed) && (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
        ek_status status = c->work(c->user, i, *own, &err);
        if (status)
            fail(c, status, &err);
    }
    return NULL;
}

ek_status ek__layout_parallel(ek__layout_search *search, size_t n, ek__layout_work *todo, void *user)
{
    crew c = {.search = search, .work = todo, .user = user, .n = n};
    if (n == 0)
        return EK_OK;
    pthread_mutex_init(&c.lock, NULL);
    ek__run_threads((size_t)search->n_threads > n ? (int)n : search->n_threads, work, &c, 0);
    pthread_mutex_destroy(&c.lock);
    return c.status;
}
