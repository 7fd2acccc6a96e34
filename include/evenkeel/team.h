/* evenkeel/team.h - a team of processes that compute one result together.
 *
 * The library itself sends no messages: a program that can (MPI) fills an ek_team with its functions, and passes it in
 * options. Process 0 leads: it distributes the work and has the answer; the others have none. One thread of a process
 * at a time calls a team's functions. */
#ifndef EVENKEEL_TEAM_H
#define EVENKEEL_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

/** A received message. */
typedef struct ek_team_message {
    int from;    /**< process */
    int kind;    /**< as sent */
    void *bytes; /**< [n], owned by the receiver (free) */
    size_t n;
} ek_team_message;

enum { EK_TEAM_MAX_MESSAGE = 1 << 30 };

/** Processes and the functions that carry messages between them. Messages of one process to another keep their
 *  order. */
typedef struct ek_team {
    int index, size; /**< this process, 0..size-1; number of processes */
    void *state;
    /** Send a copy of `n` bytes, EK_TEAM_MAX_MESSAGE at most, and return at once.
     *  @param kind  0..1000
     *  @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY */
    ek_status (*send)(void *state, int to, int kind, const void *bytes, size_t n, ek_error *err);
    /** Wait up to `seconds` (0: only look) for a message of any process. @return whether one came; memory out counts as
     *  none */
    bool (*receive)(void *state, double seconds, ek_team_message *out);
    /** Treat a process as lost: the end of the program does not wait for it. */
    void (*give_up)(void *state, int process);
} ek_team;

/**
 * Report that this process cannot take part in the others' next call because of an earlier error, such as a file that
 * it cannot read. On process 0 the others' call ends with `why`; on another one the call of process 0, and so all
 * others', ends with it and the number and machine of this process, except ek_trace_run_read() with `local`, which
 * continues without it. Call it instead of the function that the others call.
 *
 * @param why  its status is not EK_OK
 * Returns at once; O(size) messages.
 */
void ek_team_decline(const ek_team *team, const ek_error *why);

EK_END_DECLS
#endif
