/* serve/clients.h - connections that have not shown the token yet: how long each may take, and how many there may be.
 *
 * A connection waits from when it is opened, and again after every answer, until a request of it has come with the
 * token. Whoever waits longer than the deadline is closed, however many bytes trickle in. When more wait than there is
 * room for, the one that has waited longest is closed, so that a client that asks at once is always let in. There is no
 * limit by address: all clients are on this machine, and may choose any of 127.0.0.0/8. */
#ifndef EK_SERVE_CLIENTS_H
#define EK_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"
#include "evenkeel/error.h"

/** A connection; within what its owner keeps of it. */
typedef struct ek__client {
    int fd;     /**< its socket */
    bool waits; /**< this and what follows: with the lock alone */
    int64_t since; /**< when it began to wait: milliseconds of the monotonic clock */
    struct ek__client *before, *after;
} ek__client;

/** Those that wait, the one that has waited longest first. */
typedef struct ek__clients {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ek__threads thread; /**< closes those that are late */
    int64_t deadline;   /**< milliseconds */
    int most, n;
    ek__client *first, *last;
    bool stop;
} ek__clients;

/** Start with none. @param deadline  milliseconds @param most  that may wait at a time
 *  @return EK_OK, EK_ERR_SYSTEM when there is no thread for it. */
ek_status ek__clients_start(ek__clients *clients, int64_t deadline, int most, ek_error *err);
/** No connection is closed any more; those that are there may still leave. */
void ek__clients_stop(ek__clients *clients);
/** Free what ek__clients_start() made, after ek__clients_stop(), when all have left. */
void ek__clients_clear(ek__clients *clients);

/** A connection begins to wait, which may end another one; one that waits goes on from when it began. Closing is
 *  shutdown() of its socket: who owns the connection sees its end, and closes the socket after ek__clients_leave().
 *  O(waiting) at worst. */
void ek__clients_wait(ek__clients *clients, ek__client *client);
/** It does not wait any more, or is about to be closed. One that does not wait is left alone. O(1). */
void ek__clients_leave(ek__clients *clients, ek__client *client);

#endif
