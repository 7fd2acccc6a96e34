/* serve/clients.h - connections that have not shown the token yet: limits of their time and number.
 *
 * A connection waits from when it is opened, and again after every answer, until it has sent a request with the token.
 * A connection that waits longer than the deadline is closed, however many bytes trickle in. When there are more than
 * the limit, the one that has waited longest is closed, so that a client that sends its request at once is always let
 * in. There is no limit by address: all clients are on this machine, and may choose any of 127.0.0.0/8. */
#ifndef EK_SERVE_CLIENTS_H
#define EK_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"
#include "evenkeel/error.h"

/** A connection; part of its owner's structure. */
typedef struct ek__client {
    int fd;        /**< its socket */
    bool waits;    /**< this and all below: only under the lock */
    int64_t since; /**< begin of its waiting: milliseconds of the monotonic clock */
    struct ek__client *before, *after;
} ek__client;

/** The waiting connections, longest first. */
typedef struct ek__clients {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ek__threads thread; /**< closes those that are late */
    int64_t deadline;   /**< milliseconds */
    int most, n;
    ek__client *first, *last;
    bool stop;
} ek__clients;

/** Start with none. @param deadline milliseconds @param most connections that may wait at a time
 *  @return EK_OK, EK_ERR_SYSTEM when there is no thread for it. */
ek_status ek__clients_start(ek__clients *clients, int64_t deadline, int most, ek_error *err);
/** No further connections are closed; existing ones may still leave. */
void ek__clients_stop(ek__clients *clients);
/** Free the result of ek__clients_start(), after ek__clients_stop(), when all have left. */
void ek__clients_clear(ek__clients *clients);

/** A connection begins to wait, which may close another one; one that waits already keeps its start. Closing is
 *  shutdown() of its socket: the owner of the connection sees its end, and closes the socket after ek__clients_leave().
 *  O(waiting) at worst. */
void ek__clients_wait(ek__clients *clients, ek__client *client);
/** It does not wait any more, or is about to be closed. One that does not wait is left unchanged. O(1). */
void ek__clients_leave(ek__clients *clients, ek__client *client);

#endif
