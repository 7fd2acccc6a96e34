/* The watchdog of a rehearsal. Between its messages, each process checks whether one of its stages has waited for long,
 * and then reports the wait to process 0. Process 0 searches for a cycle among the reported waits, which proves a
 * deadlock whenever each was seen; else, for a silent stage that all wait for. Then it sends all the order to end. */
#include "mpi/rehearse_mpi.h"

#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "team.h"

enum { TAG_WAIT = 1, TAG_END = 2, TEXT_SIZE = 4096 };

struct mpi_watch {
    const ek_rehearsal *rehearsal;
    double seconds;
    MPI_Comm comm;
    int index, size;
    ek_rehearse_wait *own;   /* [n_stages] waits of stages of this process */
    double *since;           /* [n_stages] */
    bool *told;              /* [n_stages] */
    ek_rehearse_wait *known; /* [n_stages], in process 0: as reported */
    ek_rehearse_wait *cycle; /* [n_stages] */
    double first_told;       /* when process 0 first received the current waits; 0: none */
    double last_move;        /* of process 0's own stages */
    bool ends;
};

mpi_watch *mpi_watch_new(const ek_rehearsal *rehearsal, double seconds, MPI_Comm comm)
{
    size_t n = (size_t)rehearsal->n_stages;
    mpi_watch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    *w = (mpi_watch){.rehearsal = rehearsal, .seconds = seconds, .comm = comm};
    MPI_Comm_rank(comm, &w->index);
    MPI_Comm_size(comm, &w->size);
    w->own = calloc(n, sizeof *w->own);
    w->since = calloc(n, sizeof *w->since);
    w->told = calloc(n, sizeof *w->told);
    w->known = calloc(n, sizeof *w->known);
    w->cycle = calloc(n, sizeof *w->cycle);
    if (w->own && w->since && w->told && w->known && w->cycle)
        return w;
    mpi_watch_free(w);
    return NULL;
}

void mpi_watch_free(mpi_watch *watch)
{
    if (!watch)
        return;
    free(watch->own);
    free(watch->since);
    free(watch->told);
    free(watch->known);
    free(watch->cycle);
    free(watch);
}

static bool same(const ek_rehearse_wait *a, const ek_rehearse_wait *b)
{
    return a->reason == b->reason && a->stage == b->stage && a->block == b->block;
}

void mpi_watch_tell(mpi_watch *watch, const ek_rehearse_wait *wait, double since)
{
    ek_rehearse_wait *own = &watch->own[wait->stage];
    if (same(own, wait))
        return;
    if (watch->told[wait->stage] && watch->index != 0) { /* it moves after all */
        ek_rehearse_wait moved = {.reason = EK_WAIT_NOT, .stage = wait->stage};
        MPI_Send(&moved, sizeof moved, MPI_BYTE, 0, TAG_WAIT, watch->comm);
    }
    *own = *wait;
    watch->since[wait->stage] = since;
    watch->told[wait->stage] = false;
    watch->known[wait->stage] = (ek_rehearse_wait){.stage = wait->stage};
}

void mpi_watch_stop(mpi_watch *watch, const char *text)
{
    if (watch->ends)
        return;
    if (watch->index != 0) { /* process 0 prints the message; it replies with the end */
        MPI_Send(text, (int)strlen(text) + 1, MPI_CHAR, 0, TAG_END, watch->comm);
        return;
    }
    cli_error(NULL, "%s", text);
    for (int i = 1; i < watch->size; i++)
        MPI_Send(NULL, 0, MPI_CHAR, i, TAG_END, watch->comm);
    watch->ends = true;
}

/* The waiting stages, the stages that they wait for, and the blocks. */
static void say_cycle(mpi_watch *w, int n)
{
    char text[TEXT_SIZE];
    int used = snprintf(text, sizeof text, "this order deadlocks: nothing has moved for %g s, since ", w->seconds);
    ek_rehearse_cycle_text(w->rehearsal, w->cycle, n, mpi_machine_name, text + used, sizeof text - (size_t)used);
    mpi_watch_stop(w, text);
}

/* End all processes without their help: one of them may never answer. The launcher drops output that it has not
 * forwarded by then. */
static void give_up(const char *text)
{
    static const double to_pass_on = 0.3;
    cli_error(NULL, "%s", text);
    fflush(NULL);
    mpi_sleep_until(mpi_now() + to_pass_on);
    MPI_Abort(MPI_COMM_WORLD, EXIT_NO);
}

/* All known waits lead to a stage that reports no wait itself, and has no block that computes for so long. */
static void say_silent(mpi_watch *w, int waiting)
{
    char text[TEXT_SIZE], one[320];
    int s = waiting;
    for (int i = 0; i < w->rehearsal->n_stages && w->known[s].reason != EK_WAIT_NOT; i++) {
        waiting = s;
        s = w->known[s].peer;
    }
    ek_rehearse_wait_text(w->rehearsal, &w->known[waiting], one, sizeof one);
    int process = ek_rehearsal_process(w->rehearsal, s);
    snprintf(
        text, sizeof text,
        "process %d (%s) with stage %d has stopped: %s; it makes no progress and does not report what it waits for",
        process, mpi_machine_name(process), s, one);
    give_up(text);
}

static double longest_block(const ek_rehearsal *r)
{
    double longest = 0;
    for (size_t k = 0; k < r->n_blocks; k++)
        longest = r->block[k].seconds > longest ? r->block[k].seconds : longest;
    return longest;
}

static void judge(mpi_watch *w)
{
    int n = ek_rehearsal_cycle(w->rehearsal, w->known, w->cycle), waiting = -1;
    if (n > 0) {
        say_cycle(w, n);
        return;
    }
    for (int s = 0; s < w->rehearsal->n_stages; s++)
        if (w->known[s].reason != EK_WAIT_NOT)
            waiting = s;
    double now = mpi_now();
    if (waiting < 0)
        w->first_told = 0;
    else if (w->first_told == 0)
        w->first_told = now;
    else if (now - w->first_told > 3 * w->seconds + 2 * longest_block(w->rehearsal))
        say_silent(w, waiting);
}

static void tell_due(mpi_watch *w)
{
    double now = mpi_now();
    for (int s = 0; s < w->rehearsal->n_stages; s++) {
        if (w->own[s].reason == EK_WAIT_NOT || w->told[s] || now - w->since[s] < w->seconds)
            continue;
        w->told[s] = true;
        w->known[s] = w->own[s];
        if (w->index != 0)
            MPI_Send(&w->own[s], sizeof w->own[s], MPI_BYTE, 0, TAG_WAIT, w->comm);
    }
}

static void read_one(mpi_watch *w, const MPI_Status *about)
{
    char text[TEXT_SIZE] = "";
    ek_rehearse_wait wait;
    if (about->MPI_TAG == TAG_WAIT) {
        MPI_Recv(&wait, sizeof wait, MPI_BYTE, about->MPI_SOURCE, TAG_WAIT, w->comm, MPI_STATUS_IGNORE);
        w->known[wait.stage] = wait;
        w->first_told = 0;
        return;
    }
    MPI_Recv(text, sizeof text - 1, MPI_CHAR, about->MPI_SOURCE, TAG_END, w->comm, MPI_STATUS_IGNORE);
    if (w->index == 0)
        mpi_watch_stop(w, text);
    else
        w->ends = true;
}

bool mpi_watch_look(mpi_watch *watch)
{
    int there = 1;
    MPI_Status about;
    if (!watch->ends)
        tell_due(watch);
    while (there) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, watch->comm, &there, &about);
        if (there)
            read_one(watch, &about);
    }
    if (watch->index == 0 && !watch->ends)
        judge(watch);
    return watch->ends;
}

void mpi_watch_meet(mpi_watch *watch, double since)
{
    double waited = mpi_now() - since, work = 0;
    char text[320];
    if (watch->index != 0 || watch->ends || waited < 3 * watch->seconds)
        return;
    for (size_t k = 0; k < watch->rehearsal->n_blocks; k++)
        work += watch->rehearsal->block[k].seconds;
    if (waited < 3 * watch->seconds + work)
        return;
    snprintf(text, sizeof text, "a process has stopped: not all came to the end of a step within %g s", waited);
    give_up(text);
}
