/* Closes connections that wait too long: a queue in the order of their waiting, and a thread that sleeps until the
 * first one's deadline. A client is not responsible for data that it sent and the server has not read yet: such a
 * connection is left open, and its waiting time starts again. Clients cannot use that to stay: endless data is read and
 * soon exceeds the size limit. */
#include "serve/clients.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/error.h"

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the queue; with the lock ---- */

static void append(ek__clients *clients, ek__client *client)
{
    assert(!client->waits);
    client->waits = true;
    client->since = now();
    client->before = clients->last;
    client->after = NULL;
    *(clients->last ? &clients->last->after : &clients->first) = client;
    clients->last = client;
    clients->n++;
}

static void detach(ek__clients *clients, ek__client *client)
{
    assert(client->waits && clients->n > 0);
    client->waits = false;
    *(client->before ? &client->before->after : &clients->first) = client->after;
    *(client->after ? &client->after->before : &clients->last) = client->before;
    clients->n--;
}

static bool has_unread(const ek__client *client)
{
    int n = 0;
    return ioctl(client->fd, FIONREAD, &n) == 0 && n > 0;
}

/* The socket stays open until its owner has seen the end, so that its number cannot be reused before. */
static void drop(ek__clients *clients, ek__client *client)
{
    detach(clients, client);
    shutdown(client->fd, SHUT_RDWR);
}

/* Close the connection that has waited longest and has no unread data; never the newest one. */
static void drop_one(ek__clients *clients)
{
    ek__client *client = clients->first;
    while (client != clients->last && has_unread(client))
        client = client->after;
    if (client != clients->last)
        drop(clients, client);
}

static void drop_late(ek__clients *clients)
{
    int64_t latest = now() - clients->deadline;
    while (clients->first && clients->first->since <= latest) {
        ek__client *client = clients->first;
        if (has_unread(client)) {
            detach(clients, client);
            append(clients, client);
        } else {
            drop(clients, client);
        }
    }
}

/* ---- the thread ---- */

static void *watch(void *argument)
{
    ek__clients *clients = argument;
    pthread_mutex_lock(&clients->lock);
    while (!clients->stop) {
        drop_late(clients);
        if (clients->first) {
            int64_t at = clients->first->since + clients->deadline;
            const struct timespec until = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000};
            pthread_cond_timedwait(&clients->changed, &clients->lock, &until);
        } else {
            pthread_cond_wait(&clients->changed, &clients->lock);
        }
    }
    pthread_mutex_unlock(&clients->lock);
    return NULL;
}

ek_status ek__clients_start(ek__clients *clients, int64_t deadline, int most, ek_error *err)
{
    pthread_condattr_t monotonic;
    assert(deadline >= 1 && most >= 1);
    *clients = (ek__clients){.deadline = deadline, .most = most};
    pthread_mutex_init(&clients->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&clients->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int why;
    if (ek__threads_start(&clients->thread, 1, watch, clients, 0, &why) == 1)
        return EK_OK;
    ek__clients_clear(clients);
    return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the server cannot start a thread: %s", strerror(why));
}

void ek__clients_stop(ek__clients *clients)
{
    pthread_mutex_lock(&clients->lock);
    clients->stop = true;
    pthread_cond_signal(&clients->changed);
    pthread_mutex_unlock(&clients->lock);
    ek__threads_join(&clients->thread);
}

void ek__clients_clear(ek__clients *clients)
{
    assert(clients->n == 0);
    pthread_cond_destroy(&clients->changed);
    pthread_mutex_destroy(&clients->lock);
}

/* ---- coming and going ---- */

void ek__clients_wait(ek__clients *clients, ek__client *client)
{
    pthread_mutex_lock(&clients->lock);
    if (!client->waits) {
        append(clients, client);
        if (clients->n > clients->most)
            drop_one(clients);
        if (clients->first == client) /* the thread has no deadline to wake up for yet */
            pthread_cond_signal(&clients->changed);
    }
    pthread_mutex_unlock(&clients->lock);
}

void ek__clients_leave(ek__clients *clients, ek__client *client)
{
    pthread_mutex_lock(&clients->lock);
    if (client->waits)
        detach(clients, client);
    pthread_mutex_unlock(&clients->lock);
}
