/* team/deal.h - items of work handed out to the processes of a team, and handed out again when one is lost.
 *
 * Process 0 has the items and hands them out in their order, one at a time, to each process that requests one; it works
 * itself, too. A process that sends no sign of life for `patience` seconds is lost: its items are handed out again.
 * Results go up a tree, so that each process receives from only a few. */
#ifndef EK_TEAM_DEAL_H
#define EK_TEAM_DEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pack.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/team.h"

/** Bytes with an owner. {0} is none. */
typedef struct ek__packet {
    void *at; /**< malloc'ed */
    size_t n;
} ek__packet;

/** The functions of a job. `user` is the first argument of each. Those of process 0 are called by the thread that
 * called ek__deal(); `work` by one other thread of every process; `tell` and `hear` by any thread, but not two at
 * once. */
typedef struct ek__deal_job {
    void *user;
    /* process 0 */
    int n_items;
    /** Item i is for process i only, for example since it is on that one's disk; n_items is the number of processes. */
    bool own;
    /** The current number of items, at least as many as before; `ended`: it is final. Called many times a second, where
     *  items become known as results come. NULL: n_items are all. */
    int (*more)(void *user, bool *ended);
    /** All data that a process needs for the item; NULL: its number is enough. */
    ek_status (*describe)(void *user, int item, ek__packet *out, ek_error *err);
    /** Called before an item is handed out: is it still needed? NULL: always. */
    bool (*wanted)(void *user, int item);
    /** Takes a result, once for each item, in any order. `failed`: the error of the last process that tried it, where
     *  none could do it; `result` is empty then. Any status but EK_OK ends all. */
    ek_status (*take)(void *user, int item, const ek__packet *result, const ek_error *failed, ek_error *err);
    /** Called about ten times a second; NULL. */
    void (*progress)(void *user, int n_done);
    /* every process */
    /** Computes an item. EK_ERR_SYSTEM: another process may be able to (its files are not here). */
    ek_status (*work)(void *user, int item, const ek__packet *what, ek__packet *result, ek_error *err);
    /** News for all others, such as the best result so far: true when some have not been sent. NULL: none. */
    bool (*tell)(void *user, ek__packet *news);
    void (*hear)(void *user, const ek__packet *news);
    const ek_interrupt *interrupt; /**< of process 0; may be NULL */
    /** Set on every process once `interrupt` is: running work ends itself, and the deal goes on to its end. NULL: an
     *  interrupt ends the deal. */
    ek_interrupt *stop;
    double patience;  /**< seconds without a sign of life after which a process is lost; 0: 30 */
    const char *same; /**< text that must be equal on all processes, such as the version: a process with another one
                       * ends all */
} ek__deal_job;

enum { EK__DEAL_MOST_TOLD = 16, EK__DEAL_HOST_SIZE = 64 };

/** Events of the processes. */
typedef struct ek__deal_end {
    int n_lost;
    int lost[EK__DEAL_MOST_TOLD];                           /**< the first of them */
    char lost_host[EK__DEAL_MOST_TOLD][EK__DEAL_HOST_SIZE]; /**< names of their machines; "?" when not received */
} ek__deal_end;

/** The patience for 0, or the given one. */
static inline double ek__deal_patience(double patience)
{
    return patience > 0 ? patience : 30;
}

/** The result that `work` packed, where all went well and memory sufficed; else nothing, and `pack` is freed.
 *  @return `status`, EK_ERR_MEMORY */
ek_status ek__packet_of(ek__pack *pack, ek_status status, ek__packet *out, ek_error *err);

/**
 * Do all items together. Every process of the team calls it; without a `team` one process does all.
 * @return EK_OK when all items have been taken, on process 0; on the others when process 0 reports that it is done;
 *         EK_ERR_INPUT when processes differ in `same`; EK_ERR_STOPPED; EK_ERR_SYSTEM when process 0 is lost;
 *         EK_ERR_MEMORY; any status of `describe` and `take`. O(items log processes) messages.
 */
ek_status ek__deal(const ek_team *team, const ek__deal_job *job, ek__deal_end *end, ek_error *err);

/** The result of a lost process's work where any process can do it. */
#define EK__OTHERS_DID_IT "; others did its work"
/** Warn of the lost processes, each in a sentence that ends with `then`, the result of their work. */
void ek__deal_tell_of_lost(const ek__deal_end *end, double patience, const char *then, const ek_listener *listener);

/** Process 0 has no items because of an earlier error: the others, which wait in ek__deal(), end with it. */
void ek__deal_abandon(const ek_team *team, const ek_error *why);

#endif
