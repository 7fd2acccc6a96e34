/* Runs several threads and keeps one order. A part that is done before its turn is parked, and the thread that merges
 * its predecessor continues with it. Framing and merging are the only work under a lock. */
#include "trace/scan/ordered.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/threads.h"

/* Some merges take as long as many others together: when a run of the index is sorted. */
enum { PARKED_PER_THREAD = 2, PARKED_BESIDES = 12 };

/* A part that waits for earlier ones. Its memory is reused. */
typedef struct parked {
    bool taken;
    int64_t sequence;
    void *part;
} parked;

typedef struct reading {
    const ek__ordered *how;
    pthread_mutex_t feeding, merging;
    pthread_cond_t turn;
    int64_t next;   /* block to merge next */
    parked *parked; /* [n_parked] places, free or taken */
    int n_parked;
    bool stopped;       /* no more blocks are taken */
    bool out_of_memory; /* for a part; under the lock of feeding */
} reading;

static bool add_block(reading *r, ek__block *block)
{
    pthread_mutex_lock(&r->feeding);
    bool taken = !r->stopped && r->how->go_on(r->how->user) && ek__feed_next(r->how->feed, block);
    if (!taken)
        r->stopped = true;
    pthread_mutex_unlock(&r->feeding);
    return taken;
}

static void stop(reading *r, bool out_of_memory)
{
    pthread_mutex_lock(&r->feeding);
    r->stopped = true;
    r->out_of_memory |= out_of_memory;
    pthread_mutex_unlock(&r->feeding);
}

/* The place of a parked part; with sequence -1 a free one. NULL when there is none. */
static parked *find_parked(reading *r, int64_t sequence)
{
    for (int i = 0; i < r->n_parked; i++)
        if (sequence < 0 ? !r->parked[i].taken : r->parked[i].taken && r->parked[i].sequence == sequence)
            return &r->parked[i];
    return NULL;
}

/* Merge a part and all that waited for it; else park it, in exchange for another one's memory. Without a free place its
 * thread waits, except for the thread that is next. */
static void merge_in_turn(reading *r, int64_t sequence, void **part)
{
    bool go_on = true;
    parked *place = NULL;
    pthread_mutex_lock(&r->merging);
    while (r->next != sequence && !(place = find_parked(r, -1)))
        pthread_cond_wait(&r->turn, &r->merging);
    if (r->next != sequence) {
        void *own = place->part;
        *place = (parked){true, sequence, *part};
        *part = own;
    } else {
        go_on = r->how->merge(r->how->user, *part);
        r->next++;
        while ((place = find_parked(r, r->next))) {
            go_on = r->how->merge(r->how->user, place->part) && go_on;
            r->next++;
            place->taken = false;
        }
        pthread_cond_broadcast(&r->turn);
    }
    pthread_mutex_unlock(&r->merging);
    if (!go_on)
        stop(r, false);
}

static void clear_part(const ek__ordered *how, void *part)
{
    if (part)
        how->clear(part);
    free(part);
}

static void *work(void *argument)
{
    reading *r = argument;
    ek__block block = {0};
    void *part = ek__alloc(1, r->how->part_size);
    while (part && add_block(r, &block)) {
        r->how->fill(r->how->user, part, &block);
        merge_in_turn(r, block.sequence, &part);
    }
    if (!part)
        stop(r, true);
    clear_part(r->how, part);
    ek__block_clear(&block);
    return NULL;
}

/* Without places to park, as without some of the threads, it is only slower. */
static void make_places(reading *r)
{
    int n = r->how->n_threads > 1 ? r->how->n_threads * PARKED_PER_THREAD + PARKED_BESIDES : 0;
    r->parked = n > 0 ? ek__alloc((size_t)n, sizeof *r->parked) : NULL;
    if (!r->parked)
        return;
    while (r->n_parked < n && (r->parked[r->n_parked].part = ek__alloc(1, r->how->part_size)))
        r->n_parked++;
}

bool ek__read_in_order(const ek__ordered *how)
{
    reading r = {.how = how};
    pthread_mutex_init(&r.feeding, NULL);
    pthread_mutex_init(&r.merging, NULL);
    pthread_cond_init(&r.turn, NULL);
    make_places(&r);
    ek__run_threads(how->n_threads, work, &r, 0);
    for (int i = 0; i < r.n_parked; i++)
        clear_part(how, r.parked[i].part);
    free(r.parked);
    pthread_cond_destroy(&r.turn);
    pthread_mutex_destroy(&r.merging);
    pthread_mutex_destroy(&r.feeding);
    return !r.out_of_memory;
}
