/* A team with threads as its processes: messages go through queues, and a process can stop. */
#ifndef EK_TEST_THREAD_TEAM_H
#define EK_TEST_THREAD_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "evenkeel/team.h"

enum { THREAD_TEAM_MOST = 32 };

typedef struct thread_message {
    ek_team_message message;
    struct thread_message *next;
} thread_message;

typedef struct thread_team thread_team;

typedef struct thread_process {
    thread_team *all;
    int index;
    ek_team team;
    thread_message *first, **last;
    atomic_int stands_still; /* neither sends nor receives */
    atomic_int n_given_up, n_received;
} thread_process;

struct thread_team {
    int size;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    thread_process process[THREAD_TEAM_MOST];
};

static inline void thread_pause(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

static inline void thread_team_wait_while_still(thread_process *p)
{
    while (atomic_load(&p->stands_still))
        thread_pause(0.002);
}

static inline ek_status thread_team_send(void *state, int to, int kind, const void *bytes, size_t n, ek_error *err)
{
    thread_process *p = state, *other = &p->all->process[to];
    (void)err;
    thread_team_wait_while_still(p);
    thread_message *m = calloc(1, sizeof *m);
    m->message = (ek_team_message){p->index, kind, malloc(n + 1), n};
    memcpy(m->message.bytes, bytes, n);
    pthread_mutex_lock(&p->all->lock);
    *other->last = m;
    other->last = &m->next;
    pthread_cond_broadcast(&p->all->wake);
    pthread_mutex_unlock(&p->all->lock);
    return EK_OK;
}

static inline bool thread_team_receive(void *state, double seconds, ek_team_message *out)
{
    thread_process *p = state;
    struct timespec end;
    thread_team_wait_while_still(p);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)(seconds * 1e9);
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->all->lock);
    while (!p->first && seconds > 0 && pthread_cond_timedwait(&p->all->wake, &p->all->lock, &end) == 0)
        ;
    thread_message *m = p->first;
    if (m) {
        p->first = m->next;
        if (!p->first)
            p->last = &p->first;
        *out = m->message;
        atomic_fetch_add(&p->n_received, 1);
    }
    pthread_mutex_unlock(&p->all->lock);
    free(m);
    return m != NULL;
}

static inline void thread_team_give_up(void *state, int process)
{
    thread_process *p = state;
    (void)process;
    atomic_fetch_add(&p->n_given_up, 1);
}

static inline void thread_team_make(thread_team *t, int size)
{
    t->size = size;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    for (int i = 0; i < size; i++) {
        thread_process *p = &t->process[i];
        *p = (thread_process){.all = t, .index = i};
        p->last = &p->first;
        p->team = (ek_team){i, size, p, thread_team_send, thread_team_receive, thread_team_give_up};
    }
}

static inline void thread_team_clear(thread_team *t)
{
    for (int i = 0; i < t->size; i++)
        for (thread_message *m = t->process[i].first, *next; m; m = next) {
            next = m->next;
            free(m->message.bytes);
            free(m);
        }
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
}

/* work(&argument[i]) as process i, each of `size` bytes; returns when all have ended. */
static inline void thread_team_run(thread_team *t, void *(*work)(void *), void *argument, size_t size)
{
    pthread_t thread[THREAD_TEAM_MOST];
    for (int i = 0; i < t->size; i++)
        pthread_create(&thread[i], NULL, work, (char *)argument + (size_t)i * size);
    for (int i = 0; i < t->size; i++)
        pthread_join(thread[i], NULL);
}

#endif
