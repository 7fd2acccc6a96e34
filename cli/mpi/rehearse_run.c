/* The runner of a rehearsal: a process runs the blocks of its stages in their order, as a state machine that never
 * blocks, so that it can always report the message that it waits for. A blocking send is a synchronous one that is
 * tested until the receiver has come to its receive: the stage does nothing else meanwhile, the process does.
 *
 * Messages are filled before sending, and checked after receiving, while the block computes: a deadline counts from the
 * block's begin, so neither makes it longer. */
#include "mpi/rehearse_mpi.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/rehearse_messages.h"
#include "mpi/rehearse_parts.h"
#include "options.h"
#include "team.h"

enum { AHEAD = 8 }; /* receives that a stage posts ahead */

typedef struct posted {
    size_t block;
    MPI_Request request;
    void *content;
    double arrived; /* 0: not yet */
} posted;

/* A stage of this process. */
typedef struct stage {
    int number;
    size_t block;          /* it is at */
    ek_rehearse_reason at; /* its next part: receive, own (and compute), send */
    bool entered;          /* it has begun to wait there */
    bool computing;
    size_t next_post; /* block from which on receives are not posted */
    posted posted[AHEAD];
    int n_posted;
    void *content; /* the message to send */
    MPI_Request sending;
    mpi_work work;
} stage;

typedef struct run {
    const ek_rehearsal *r;
    const cli_rehearse *how;
    MPI_Comm data;
    mpi_watch *watch;
    mpi_messages messages;
    int index, n_stages; /* of this process */
    stage *stage;        /* [n_stages] */
    int step;
    double begin;               /* of the step */
    double pause;               /* between two looks, while a stage waits */
    ek_rehearse_record *record; /* [n_blocks] of the step */
} run;

/* ---- receives ---- */

static bool post(run *x, stage *s, size_t block)
{
    const ek_rehearse_message *m = &x->r->message[x->r->block[block].receives];
    posted *p = &s->posted[s->n_posted];
    *p = (posted){.block = block, .content = mpi_messages_buffer(&x->messages)};
    if (!p->content)
        return false;
    MPI_Irecv(p->content, (int)x->r->bytes, MPI_BYTE, ek_rehearsal_process(x->r, m->from), m->tag, x->data,
              &p->request);
    s->n_posted++;
    return true;
}

/* Post the next receives: ahead, or with blocking sends those of the current block. */
static bool post_ahead(run *x, stage *s)
{
    size_t end = x->r->first[s->number + 1];
    if (x->how->send == EK_SEND_RENDEZVOUS)
        end = s->block < end ? s->block + 1 : end;
    for (; s->next_post < end && s->n_posted < AHEAD; s->next_post++)
        if (x->r->block[s->next_post].receives != EK_NO_BLOCK && !post(x, s, s->next_post))
            return false;
    return true;
}

/* The received message of the block; NULL: none. */
static posted *received(stage *s)
{
    for (int i = 0; i < s->n_posted; i++)
        if (s->posted[i].block == s->block)
            return &s->posted[i];
    return NULL;
}

/* Has the block's message come? Any call of MPI moves the others on as well. */
static bool has_come(stage *s)
{
    posted *p = received(s);
    int done = 0;
    if (p && p->arrived <= 0) {
        MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
        p->arrived = done ? mpi_now() : 0;
    }
    return p && p->arrived > 0;
}

/* ---- the state machine ---- */

static void stop_without_memory(run *x)
{
    mpi_watch_stop(x->watch, "out of memory for messages; give a smaller --payload");
}

static void wait_at(run *x, stage *s)
{
    ek_rehearse_wait wait = ek_rehearsal_wait(x->r, s->number, s->block, s->at);
    mpi_watch_tell(x->watch, &wait, mpi_now());
}

static void move_on(run *x, stage *s)
{
    const ek_rehearse_wait none = {.reason = EK_WAIT_NOT, .stage = s->number};
    mpi_watch_tell(x->watch, &none, 0);
    s->entered = false;
    if (s->at == EK_WAIT_SEND)
        s->block++;
    s->at = s->at == EK_WAIT_RECEIVE ? EK_WAIT_OWN : s->at == EK_WAIT_OWN ? EK_WAIT_SEND : EK_WAIT_RECEIVE;
}

static bool receive(run *x, stage *s, ek_rehearse_record *record)
{
    if (!s->entered) {
        s->entered = true;
        record->ready = mpi_now();
        if (!post_ahead(x, s))
            stop_without_memory(x);
    }
    record->arrived = record->ready;
    if (x->r->block[s->block].receives != EK_NO_BLOCK) {
        if (!has_come(s)) {
            wait_at(x, s);
            return false;
        }
        record->arrived = received(s)->arrived;
    }
    move_on(x, s);
    return true;
}

static void check_content(run *x, stage *s)
{
    posted *p = received(s);
    if (!p)
        return;
    const ek_rehearse_message *m = &x->r->message[x->r->block[s->block].receives];
    size_t wrong = ek_rehearse_check(m, x->step, p->content, x->r->bytes);
    if (wrong < x->r->bytes) {
        char block[96], text[320];
        ek_rehearse_block_text(&x->r->block[s->block], block, sizeof block);
        snprintf(text, sizeof text,
                 "stage %d received a wrong message from stage %d for %s in step %d: byte %zu of %zu differs from the "
                 "sent one",
                 s->number, m->from, block, x->step, wrong, x->r->bytes);
        mpi_watch_stop(x->watch, text);
    }
    mpi_messages_give_back(&x->messages, p->content);
    *p = s->posted[--s->n_posted];
}

static void prepare_content(run *x, stage *s)
{
    const ek_rehearse_block *b = &x->r->block[s->block];
    if (b->sends == EK_NO_BLOCK)
        return;
    s->content = mpi_messages_buffer(&x->messages);
    if (!s->content) {
        stop_without_memory(x);
        return;
    }
    ek_rehearse_fill(&x->r->message[b->sends], x->step, s->content, x->r->bytes);
    if (s->number == x->how->damaged_stage && x->step == 0 &&
        s->block == x->r->first[s->number] + (size_t)x->how->damaged_block)
        ((unsigned char *)s->content)[x->r->bytes / 2] ^= 1;
}

static bool compute(run *x, stage *s, ek_rehearse_record *record)
{
    const ek_rehearse_block *b = &x->r->block[s->block];
    if (!s->computing) {
        if (b->after != EK_NO_BLOCK && (size_t)b->after >= s->block) {
            wait_at(x, s);
            return false;
        }
        record->start = mpi_now();
        check_content(x, s);
        prepare_content(x, s);
        mpi_work_begin(&s->work, record->start, b->seconds);
        s->computing = true;
    }
    double now = mpi_now();
    if (!mpi_work_is_over(&s->work, now))
        return false;
    record->end = now;
    s->computing = false;
    move_on(x, s);
    return true;
}

static bool send(run *x, stage *s, ek_rehearse_record *record)
{
    const ek_rehearse_block *b = &x->r->block[s->block];
    if (b->sends != EK_NO_BLOCK && s->content) {
        const ek_rehearse_message *m = &x->r->message[b->sends];
        int to = ek_rehearsal_process(x->r, m->to), done = 0;
        if (x->how->send == EK_SEND_NONBLOCKING) {
            if (!mpi_messages_send(&x->messages, s->content, (int)x->r->bytes, to, m->tag, x->data))
                stop_without_memory(x);
        } else {
            if (!s->entered) {
                s->entered = true;
                MPI_Issend(s->content, (int)x->r->bytes, MPI_BYTE, to, m->tag, x->data, &s->sending);
            }
            MPI_Test(&s->sending, &done, MPI_STATUS_IGNORE);
            if (!done) {
                wait_at(x, s);
                return false;
            }
            mpi_messages_give_back(&x->messages, s->content);
        }
        s->content = NULL;
    }
    record->sent = x->how->send == EK_SEND_RENDEZVOUS ? mpi_now() : record->end;
    move_on(x, s);
    return true;
}

static bool is_done(const run *x, const stage *s)
{
    return s->block == x->r->first[s->number + 1];
}

/* @return whether it did anything */
static bool advance(run *x, stage *s)
{
    bool moved = false, any = true;
    while (any && !is_done(x, s)) {
        ek_rehearse_record *record = &x->record[s->block];
        any = s->at == EK_WAIT_RECEIVE ? receive(x, s, record)
              : s->at == EK_WAIT_OWN   ? compute(x, s, record)
                                       : send(x, s, record);
        moved = moved || any;
    }
    return moved;
}

/* ---- a step ---- */

/* No work is ready: compute a little, or sleep until there may be some. */
static void pass_time(run *x)
{
    double until = mpi_now() + 4 * x->pause;
    bool busy = false;
    for (int i = 0; i < x->n_stages; i++) {
        stage *s = &x->stage[i];
        if (is_done(x, s))
            continue;
        if (!s->computing)
            until = fmin(until, mpi_now() + x->pause);
        else if (x->how->compute == EK_COMPUTE_SLEEP)
            until = fmin(until, s->work.deadline);
        else {
            mpi_work_slice(&s->work);
            busy = true;
        }
    }
    if (!busy)
        mpi_sleep_until(until);
}

/* Wait for all, at the watchdog's call. @return whether to go on */
static bool meet(run *x)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(x->data, &request);
    bool ends = false;
    double since = mpi_now();
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        mpi_messages_test(&x->messages);
        ends = mpi_watch_look(x->watch) || ends;
        mpi_watch_meet(x->watch, since);
        if (!done)
            mpi_sleep_until(mpi_now() + x->pause);
    }
    return !ends;
}

static void begin_step(run *x, const mpi_clock *clock)
{
    for (int i = 0; i < x->n_stages; i++) {
        stage *s = &x->stage[i];
        s->block = s->next_post = x->r->first[s->number];
        s->at = EK_WAIT_RECEIVE;
        s->entered = s->computing = false;
        if (x->how->send == EK_SEND_NONBLOCKING && !post_ahead(x, s))
            stop_without_memory(x);
    }
    double begin = mpi_now() + 0.02 + 0.002 * x->r->n_processes;
    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, x->data);
    x->begin = begin + clock->ahead;
    mpi_sleep_until(x->begin);
}

/* @return whether all of it was run */
static bool run_step(run *x)
{
    for (;;) {
        bool moved = false, done = true;
        mpi_messages_test(&x->messages);
        for (int i = 0; i < x->n_stages; i++) {
            moved = advance(x, &x->stage[i]) || moved;
            if (!post_ahead(x, &x->stage[i]))
                stop_without_memory(x);
            done = done && is_done(x, &x->stage[i]);
        }
        if (mpi_watch_look(x->watch))
            return false;
        if (done)
            return true;
        if (!moved)
            pass_time(x);
    }
}

/* Messages that were sent and not received at the end are received here, so that MPI can end. */
static void drain(run *x)
{
    mpi_waiting_receive waiting[AHEAD];
    meet(x);
    mpi_messages_begin_drain(&x->messages, x->r->n_processes);
    for (int i = 0; i < x->n_stages; i++) {
        stage *s = &x->stage[i];
        if (s->at == EK_WAIT_SEND && s->entered && !is_done(x, s)) {
            const ek_rehearse_message *m = &x->r->message[x->r->block[s->block].sends];
            mpi_messages_adopt(&x->messages, s->sending, s->content, ek_rehearsal_process(x->r, m->to), m->tag);
        }
    }
    for (int i = 0; i < x->n_stages; i++) {
        stage *s = &x->stage[i];
        int n = 0;
        for (int k = 0; k < s->n_posted; k++) {
            const ek_rehearse_message *m = &x->r->message[x->r->block[s->posted[k].block].receives];
            if (s->posted[k].arrived <= 0)
                waiting[n++] = (mpi_waiting_receive){s->posted[k].request, ek_rehearsal_process(x->r, m->from), m->tag};
        }
        mpi_messages_add_receives(&x->messages, waiting, n);
    }
    mpi_messages_drain(&x->messages, x->data, (int)x->r->bytes);
}

static bool run_steps(run *x, const mpi_clock *clock, ek_rehearse_record *record)
{
    size_t first = x->r->first[x->stage[0].number], last = x->r->first[x->stage[x->n_stages - 1].number + 1];
    for (x->step = -1; x->step < x->how->n_steps; x->step++) { /* the first sets up connections, and does not count */
        int kept = x->step < 0 ? 0 : x->step;
        x->record = record + (size_t)kept * x->r->n_blocks;
        begin_step(x, clock);
        if (!run_step(x) || !meet(x)) {
            drain(x);
            return false;
        }
        for (size_t k = first; k < last; k++) {
            ek_rehearse_record *at = &x->record[k];
            *at = (ek_rehearse_record){at->ready - x->begin, at->arrived - x->begin, at->start - x->begin,
                                       at->end - x->begin, at->sent - x->begin};
        }
    }
    return true;
}

/* ---- together ---- */

static void gather(const run *x, ek_rehearse_record *record)
{
    int n = x->r->n_processes;
    int *count = calloc(2 * (size_t)n, sizeof *count), *from = count ? count + n : NULL;
    for (int i = 0; i < n && count; i++) {
        int stages = x->r->n_stages / n;
        size_t first = x->r->first[i * stages], last = x->r->first[(i + 1) * stages];
        count[i] = (int)((last - first) * sizeof *record);
        from[i] = (int)(first * sizeof *record);
    }
    for (int step = 0; step < x->how->n_steps && count; step++) {
        ek_rehearse_record *at = record + (size_t)step * x->r->n_blocks;
        if (x->index == 0)
            MPI_Gatherv(MPI_IN_PLACE, 0, MPI_BYTE, at, count, from, MPI_BYTE, 0, x->data);
        else
            MPI_Gatherv((char *)at + from[x->index], count[x->index], MPI_BYTE, NULL, NULL, NULL, MPI_BYTE, 0, x->data);
    }
    free(count);
}

static void describe(const run *x, const mpi_machine *machine, double clock_error, ek_rehearse_result *result)
{
    double product = x->stage[0].work.product_seconds, sum = 0;
    MPI_Reduce(&machine->n_processes, &result->most_on_machine, 1, MPI_INT, MPI_MAX, 0, x->data);
    MPI_Reduce(&machine->cores, &result->cores, 1, MPI_INT, MPI_MIN, 0, x->data);
    MPI_Reduce(&clock_error, &result->clock_error, 1, MPI_DOUBLE, MPI_MAX, 0, x->data);
    MPI_Reduce(&product, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, x->data);
    if (sum > 0)
        result->gflops = ek_rehearse_product_flops() / (sum / x->r->n_processes) / 1e9;
    for (int s = 0; s < x->r->n_stages && x->index == 0; s++) {
        int process = ek_rehearsal_process(x->r, s);
        result->stage[s].process = process;
        result->stage[s].machine = mpi_machine_name(process);
    }
}

/* Room for all there is to be. */
static bool prepare(run *x)
{
    bool fine = x->stage && x->watch;
    for (int i = 0; i < x->n_stages && x->stage; i++) {
        x->stage[i].number = x->index * x->n_stages + i;
        fine = mpi_work_prepare(&x->stage[i].work, x->how->compute, x->data) && fine;
    }
    int all = fine;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, x->data);
    return all;
}

int mpi_rehearse_run(const ek_rehearsal *rehearsal, const cli_rehearse *how, ek_rehearse_measured *measured,
                     ek_rehearse_result *result)
{
    const ek_team *team = cli_team();
    run x = {.r = rehearsal, .how = how, .index = team->index};
    MPI_Comm talk;
    int code = EXIT_WRONG;
    MPI_Comm_dup(MPI_COMM_WORLD, &x.data);
    MPI_Comm_dup(MPI_COMM_WORLD, &talk);
    x.n_stages = rehearsal->n_stages / rehearsal->n_processes;
    x.stage = calloc((size_t)x.n_stages, sizeof *x.stage);
    x.watch = mpi_watch_new(rehearsal, how->watchdog, talk);
    x.messages = (mpi_messages){.bytes = rehearsal->bytes};
    mpi_machine machine = mpi_machine_find(x.data);
    x.pause = 20e-6 * fmax(1, machine.cores > 0 ? (double)machine.n_processes / machine.cores : 1);
    mpi_clock before = mpi_clock_compare(x.data, machine.with_first);
    ek_rehearse_record *record =
        calloc((size_t)how->n_steps * rehearsal->n_blocks + 1, sizeof *record); /* all of it: it is small */
    if (prepare(&x) && record) {
        code = run_steps(&x, &before, record) ? EXIT_DONE : EXIT_NO;
        if (code == EXIT_DONE) {
            mpi_clock after = mpi_clock_compare(x.data, machine.with_first);
            gather(&x, record);
            describe(&x, &machine, before.error + fabs(after.ahead - before.ahead), result);
        }
    } else {
        cli_error(NULL, "out of memory");
    }
    for (int i = 0; i < x.n_stages && x.stage; i++)
        mpi_work_clear(&x.stage[i].work);
    mpi_messages_clear(&x.messages);
    mpi_watch_free(x.watch);
    free(x.stage);
    *measured = (ek_rehearse_measured){how->n_steps, record};
    MPI_Comm_free(&talk);
    MPI_Comm_free(&x.data);
    return code;
}
