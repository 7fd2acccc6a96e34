/* Simulates a rehearsal without sending. Every stage is a list of actions (receive, compute, send) and advances until
 * it waits; its actions wake the stage at the other end. Stages that still wait at the end are deadlocked, and since a
 * stage waits for one other at a time, following the waits ends in a cycle. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/rehearse.h"

/* ---- waits ---- */

ek_rehearse_wait ek_rehearsal_wait(const ek_rehearsal *rehearsal, int stage, size_t block, ek_rehearse_reason reason)
{
    const ek_rehearse_block *b = &rehearsal->block[block];
    int peer = reason == EK_WAIT_RECEIVE ? rehearsal->message[b->receives].from
               : reason == EK_WAIT_SEND  ? rehearsal->message[b->sends].to
                                         : stage;
    return (ek_rehearse_wait){.reason = reason, .stage = stage, .peer = peer, .block = block};
}

/* Place of an action in its stage's list; the waits of a block are in the order of the reasons. */
static size_t action(size_t block, ek_rehearse_reason reason)
{
    return block * 4 + (size_t)reason;
}

/* Is the wait for an action that its waiting peer does only later? */
static bool is_held_up(const ek_rehearsal *r, const ek_rehearse_wait *w, const ek_rehearse_wait *peer)
{
    const ek_rehearse_block *b = &r->block[w->block];
    if (peer->reason == EK_WAIT_NOT)
        return false;
    size_t needed = 0;
    if (w->reason == EK_WAIT_OWN)
        return (size_t)b->after > w->block;
    for (size_t k = r->first[w->peer]; k < r->first[w->peer + 1]; k++)
        if (w->reason == EK_WAIT_RECEIVE && r->block[k].sends == b->receives)
            needed = action(k, EK_WAIT_SEND);
        else if (w->reason == EK_WAIT_SEND && r->block[k].receives == b->sends)
            needed = action(k, EK_WAIT_RECEIVE);
    return needed > action(peer->block, peer->reason);
}

int ek_rehearsal_cycle(const ek_rehearsal *rehearsal, const ek_rehearse_wait *wait, ek_rehearse_wait *cycle)
{
    const ek_rehearsal *r = rehearsal;
    for (int first = 0; first < r->n_stages; first++) {
        int n = 0, s = first;
        do {
            if (wait[s].reason == EK_WAIT_NOT || !is_held_up(r, &wait[s], &wait[wait[s].peer]))
                break;
            cycle[n++] = wait[s];
            s = wait[s].peer;
        } while (s != first && n < r->n_stages);
        if (n > 0 && s == first && cycle[n - 1].peer == first)
            return n;
    }
    return 0;
}

void ek_rehearse_block_text(const ek_rehearse_block *block, char *text, size_t size)
{
    static const char *const word[EK_N_BLOCK_KINDS] = {"forward", "backward", "weight gradient"};
    snprintf(text, size, "the %s of micro-batch %u, chunk %d", word[block->kind], block->micro_batch, block->chunk);
}

void ek_rehearse_wait_text(const ek_rehearsal *rehearsal, const ek_rehearse_wait *wait, char *text, size_t size)
{
    static const char *const sent[] = {"activation", "gradient"};
    const ek_rehearse_block *b = &rehearsal->block[wait->block];
    size_t number = wait->block - rehearsal->first[wait->stage];
    char own[96], other[96] = "";
    ek_rehearse_block_text(b, own, sizeof own);
    if (wait->reason == EK_WAIT_OWN)
        ek_rehearse_block_text(&rehearsal->block[b->after], other, sizeof other);
    switch (wait->reason) {
    case EK_WAIT_RECEIVE:
        snprintf(text, size, "stage %d, at block %zu, waits for the %s of %s, from stage %d", wait->stage, number,
                 sent[b->kind], own, wait->peer);
        break;
    case EK_WAIT_SEND:
        snprintf(text, size, "stage %d, after block %zu, waits to send the %s of %s, to stage %d", wait->stage, number,
                 sent[b->kind], own, wait->peer);
        break;
    case EK_WAIT_OWN:
        snprintf(text, size, "stage %d, at block %zu, waits to run %s, for its own block %zu, %s", wait->stage, number,
                 own, (size_t)b->after - rehearsal->first[wait->stage], other);
        break;
    case EK_WAIT_NOT:
    default:
        snprintf(text, size, "stage %d does not wait", wait->stage);
        break;
    }
}

/* ---- simulation ---- */

typedef struct stage {
    size_t block;          /* it is at */
    ek_rehearse_reason at; /* its next action: receive, own (and compute), send */
    double clock;
    bool listed;
} stage;

typedef struct player {
    const ek_rehearsal *r;
    ek_rehearse_send send;
    const double *edge_seconds;
    ek_rehearse_play *out;
    stage *stage;    /* [n_stages] */
    double *offered; /* [n_messages] when its sender was ready; NAN */
    double *wanted;  /* [n_messages] when its receiver was ready; NAN */
    int *todo;       /* [n_stages] stages that may continue */
    int n_todo;
} player;

static void wake(player *p, int s)
{
    if (p->stage[s].listed)
        return;
    p->stage[s].listed = true;
    p->todo[p->n_todo++] = s;
}

static double travel(const player *p, ptrdiff_t message)
{
    return p->edge_seconds ? p->edge_seconds[p->r->message[message].edge] : 0;
}

/* The time when the action's message was received or sent; NAN: not yet. */
static double met(player *p, int s, ptrdiff_t message, bool is_receiver)
{
    const ek_rehearse_message *m = &p->r->message[message];
    double *mine = is_receiver ? p->wanted : p->offered, clock = p->stage[s].clock;
    if (isnan(mine[message])) {
        mine[message] = clock;
        wake(p, is_receiver ? m->from : m->to);
    }
    if (p->send == EK_SEND_NONBLOCKING)
        return !is_receiver                 ? clock
               : isnan(p->offered[message]) ? (double)NAN
                                            : fmax(clock, p->offered[message] + travel(p, message));
    double begun = isnan(p->offered[message]) || isnan(p->wanted[message])
                       ? (double)NAN
                       : fmax(p->offered[message], p->wanted[message]);
    return begun + travel(p, message);
}

/* One action of a stage. @return whether it was possible */
static bool act(player *p, int s)
{
    stage *st = &p->stage[s];
    const ek_rehearse_block *b = &p->r->block[st->block];
    if (st->at == EK_WAIT_RECEIVE && b->receives != EK_NO_BLOCK) {
        double at = met(p, s, b->receives, true);
        if (isnan(at))
            return false;
        st->clock = at;
    } else if (st->at == EK_WAIT_OWN) {
        if (b->after != EK_NO_BLOCK && (size_t)b->after >= st->block)
            return false;
        p->out->start[st->block] = st->clock;
        st->clock += b->seconds;
        p->out->end[st->block] = st->clock;
        p->out->step = fmax(p->out->step, st->clock);
    } else if (st->at == EK_WAIT_SEND && b->sends != EK_NO_BLOCK) {
        double at = met(p, s, b->sends, false);
        if (isnan(at))
            return false;
        st->clock = at;
    }
    if (st->at == EK_WAIT_SEND)
        st->block++;
    st->at = st->at == EK_WAIT_RECEIVE ? EK_WAIT_OWN : st->at == EK_WAIT_OWN ? EK_WAIT_SEND : EK_WAIT_RECEIVE;
    return true;
}

static void find_deadlock(player *p, ek_rehearse_wait *wait)
{
    const ek_rehearsal *r = p->r;
    p->out->completes = true;
    for (int s = 0; s < r->n_stages; s++) {
        const stage *st = &p->stage[s];
        wait[s] = (ek_rehearse_wait){.stage = s};
        if (st->block == r->first[s + 1])
            continue;
        wait[s] = ek_rehearsal_wait(r, s, st->block, st->at);
        p->out->completes = false;
    }
    if (p->out->completes)
        return;
    p->out->n_cycle = ek_rehearsal_cycle(r, wait, p->out->cycle);
    assert(p->out->n_cycle > 0); /* every wait is for a stage that waits */
}

static void play(player *p)
{
    const ek_rehearsal *r = p->r;
    for (size_t i = 0; i < r->n_messages; i++)
        p->offered[i] = p->wanted[i] = NAN;
    for (size_t k = 0; k < r->n_blocks; k++)
        p->out->start[k] = p->out->end[k] = NAN;
    for (int s = 0; s < r->n_stages; s++) {
        p->stage[s] = (stage){.block = r->first[s], .at = EK_WAIT_RECEIVE};
        wake(p, s);
    }
    while (p->n_todo > 0) {
        int s = p->todo[--p->n_todo];
        p->stage[s].listed = false;
        while (p->stage[s].block < r->first[s + 1] && act(p, s))
            continue;
    }
}

ek_status ek_rehearsal_play(const ek_rehearsal *rehearsal, ek_rehearse_send send, const double *edge_seconds,
                            ek_rehearse_play *out, ek_error *err)
{
    const ek_rehearsal *r = rehearsal;
    size_t p = (size_t)r->n_stages;
    ek_rehearse_play result = {.start = ek__alloc(r->n_blocks, sizeof *result.start),
                               .end = ek__alloc(r->n_blocks, sizeof *result.end),
                               .cycle = ek__alloc(p, sizeof *result.cycle)};
    player x = {.r = r, .send = send, .edge_seconds = edge_seconds, .out = &result};
    x.stage = ek__alloc(p, sizeof *x.stage);
    x.todo = ek__alloc(p, sizeof *x.todo);
    x.offered = ek__alloc(2 * r->n_messages, sizeof *x.offered);
    ek_rehearse_wait *wait = ek__alloc(p, sizeof *wait);
    ek_status status = EK_OK;
    if (!result.start || !result.end || !result.cycle || !x.stage || !x.todo || !x.offered || !wait) {
        status = ek__no_memory(err);
    } else {
        x.wanted = x.offered + r->n_messages;
        play(&x);
        find_deadlock(&x, wait);
    }
    free(x.stage);
    free(x.todo);
    free(x.offered);
    free(wait);
    if (status)
        ek_rehearse_play_clear(&result);
    else
        *out = result;
    return status;
}

void ek_rehearse_play_clear(ek_rehearse_play *play)
{
    free(play->start);
    free(play->end);
    free(play->cycle);
    *play = (ek_rehearse_play){0};
}
