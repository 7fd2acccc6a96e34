/* Hands out work to the processes of a team: process 0 gives items to every process that requests one, receives the
 * results up a tree, and hands out the items of a lost process again.
 *
 * Each process has two threads: one computes items, the other, the caller's, handles the messages, so that a sign of
 * life is sent during a long item. A result that reaches process 0 twice counts once, so no message needs an
 * acknowledgement: an item is computed again when its result may have been lost with a process. */
#include "team/deal.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/threads.h"

enum { FAN_OUT = 4, MOST_TRIES = 16, HOST_SIZE = EK__DEAL_HOST_SIZE };

/* Kinds of messages. "Up": along the tree to process 0. "Down": along it to all. */
enum {
    HELLO = 100, /* to 0: host, `same` */
    ASK,         /* to 0: the previous item is done, and its result was sent */
    BEAT,        /* to 0, and down from it: a sign of life */
    ITEM,        /* from 0: number, description */
    RESULT,      /* up: number, status, result or error */
    NEWS,        /* to 0, and down from it */
    LOST,        /* from 0 to each: number of a process */
    STOP,        /* down from 0: set job->stop */
    DONE,        /* from 0 to each: status, error */
    DECLINE,     /* to 0: host, error: this process does not take part */
};

/* An item of process 0. */
typedef struct item {
    int who;         /* process that has or had it; -1: none */
    double finished; /* when `who` requested another: the result was sent; 0: not yet */
    bool taken;
    bool again; /* in the list of items to hand out again */
    int n_tried, tried[MOST_TRIES];
} item;

/* A process, in the view of 0. */
typedef struct member {
    double heard; /* when */
    int item;     /* -1: none */
    bool asks, is_lost, said_hello;
    char host[HOST_SIZE];
} member;

typedef struct deal {
    const ek_team *team;
    const ek__deal_job *job;
    double patience, beat_every, next_beat, heard_of_0;
    bool has_word; /* of 0 */
    bool *lost;    /* [size]: as known to this process */
    /* the worker thread */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool has_work, is_done, must_end;
    int number;
    ek__packet what, result;
    ek_status work_status;
    ek_error work_error;
    /* process 0 */
    item *item;
    member *member;
    int n_items, n_room; /* so far */
    bool has_all;        /* of them */
    int next, n_taken, n_again;
    int *again; /* [n_items]: in the order of their return */
    ek__deal_end end;
    double next_progress, next_miss, looked; /* when processes are lost */
    bool is_stopped;
    ek_error tried_error;
} deal;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- messages ---- */

/* Up to three parts as one message. */
static ek_status send_parts(const deal *d, int to, int kind, const void *head, size_t n_head, const void *body,
                            size_t n_body, ek_error *err)
{
    char *bytes = malloc(n_head + n_body + 1);
    if (!bytes)
        return ek__no_memory(err);
    if (n_head > 0)
        memcpy(bytes, head, n_head);
    if (n_body > 0)
        memcpy(bytes + n_head, body, n_body);
    ek_status status = d->team->send(d->team->state, to, kind, bytes, n_head + n_body, err);
    free(bytes);
    return status;
}

/* The next process on the way to 0 that is not lost. */
static int parent_of(const deal *d, int process)
{
    do
        process = (process - 1) / FAN_OUT;
    while (process > 0 && d->lost[process]);
    return process;
}

/* To the children in the tree; to their children, where one is lost. */
static ek_status send_down(const deal *d, int from, int kind, const void *bytes, size_t n, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 1; i <= FAN_OUT && !status; i++) {
        long child = (long)from * FAN_OUT + i;
        if (child >= d->team->size)
            break;
        status = d->lost[child] ? send_down(d, (int)child, kind, bytes, n, err)
                                : send_parts(d, (int)child, kind, bytes, n, NULL, 0, err);
    }
    return status;
}

/* ---- the thread that works ---- */

static void *worker(void *argument)
{
    deal *d = argument;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->has_work && !d->must_end)
            pthread_cond_wait(&d->wake, &d->lock);
        if (d->must_end)
            break;
        d->has_work = false;
        pthread_mutex_unlock(&d->lock);
        ek__packet result = {0};
        ek_error error = {.status = EK_OK};
        ek_status status = d->job->work(d->job->user, d->number, &d->what, &result, &error);
        pthread_mutex_lock(&d->lock);
        d->result = result;
        d->work_status = status;
        d->work_error = error;
        d->is_done = true;
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void give_to_worker(deal *d, int number, ek__packet what)
{
    pthread_mutex_lock(&d->lock);
    free(d->what.at);
    d->what = what;
    d->number = number;
    d->has_work = true;
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

/* Results of the worker since the last call; `result` is the caller's then. */
static bool worker_is_done(deal *d, int *number, ek_status *status, ek__packet *result, ek_error *error)
{
    pthread_mutex_lock(&d->lock);
    bool done = d->is_done;
    if (done) {
        d->is_done = false;
        *number = d->number;
        *status = d->work_status;
        *result = d->result;
        *error = d->work_error;
        d->result = (ek__packet){0};
    }
    pthread_mutex_unlock(&d->lock);
    return done;
}

/* ---- process 0: items ---- */

static void give_again(deal *d, int number)
{
    item *it = &d->item[number];
    if (it->taken || it->again)
        return;
    it->who = -1;
    it->finished = 0;
    if (d->job->own)
        return;
    it->again = true;
    d->again[d->n_again++] = number;
}

static bool has_tried(const item *it, int process)
{
    for (int i = 0; i < it->n_tried; i++)
        if (it->tried[i] == process)
            return true;
    return false;
}

static ek_status take(deal *d, int number, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    item *it = &d->item[number];
    if (it->taken)
        return EK_OK;
    it->taken = true;
    d->n_taken++;
    for (int i = 0; i < d->n_again; i++)
        if (d->again[i] == number) {
            memmove(&d->again[i], &d->again[i + 1], (size_t)(d->n_again - i - 1) * sizeof *d->again);
            d->n_again--;
            break;
        }
    static const ek__packet none = {0};
    return d->job->take(d->job->user, number, failed ? &none : result, failed, err);
}

/* An item for this process: a returned one that it has not tried, else the next. -1: none now. */
static int choose(deal *d, int process)
{
    if (d->job->own)
        return d->item[process].taken || d->item[process].who >= 0 ? -1 : process;
    for (int i = 0; i < d->n_again; i++) {
        int number = d->again[i];
        if (has_tried(&d->item[number], process))
            continue;
        memmove(&d->again[i], &d->again[i + 1], (size_t)(d->n_again - i - 1) * sizeof *d->again);
        d->n_again--;
        d->item[number].again = false;
        return number;
    }
    return d->next < d->n_items ? d->next++ : -1;
}

static int count_live(const deal *d)
{
    int n = 0;
    for (int i = 0; i < d->team->size; i++)
        n += !d->member[i].is_lost;
    return n;
}

/* A process that could still do an item. */
static bool can_be_tried(const deal *d, const item *it)
{
    if (d->job->own || it->n_tried >= MOST_TRIES || it->n_tried >= count_live(d))
        return false;
    for (int i = 0; i < d->team->size; i++)
        if (!d->member[i].is_lost && !has_tried(it, i))
            return true;
    return false;
}

static ek_status give(deal *d, int process, int number, ek_error *err)
{
    ek__packet what = {0};
    ek_status status = d->job->describe ? d->job->describe(d->job->user, number, &what, err) : EK_OK;
    if (status)
        return status;
    d->item[number].who = process;
    d->item[number].finished = 0;
    d->member[process].item = number;
    d->member[process].asks = false;
    if (process == 0) {
        give_to_worker(d, number, what);
        return EK_OK;
    }
    int32_t head = number;
    status = send_parts(d, process, ITEM, &head, sizeof head, what.at, what.n, err);
    free(what.at);
    return status;
}

/* Every process that requests an item gets one, as long as there are some. Items that are not needed any more count as
 * taken. */
static ek_status hand_out(deal *d, ek_error *err)
{
    static const ek__packet none = {0};
    ek_status status = EK_OK;
    for (int p = 0; p < d->team->size && !status; p++) {
        member *m = &d->member[p];
        while (m->asks && !m->is_lost && !status) {
            int number = choose(d, p);
            if (number < 0)
                break;
            if (!d->item[number].taken && d->job->wanted && !d->job->wanted(d->job->user, number))
                status = take(d, number, &none, NULL, err);
            else if (!d->item[number].taken)
                status = give(d, p, number, err);
        }
    }
    return status;
}

static ek_status take_outcome(deal *d, int process, int number, ek_status outcome, const ek__packet *result,
                              ek_error *error, ek_error *err)
{
    item *it = &d->item[number];
    if (it->taken)
        return EK_OK;
    error->status = outcome;
    if (outcome != EK_ERR_SYSTEM)
        return take(d, number, result, outcome ? error : NULL, err);
    if (it->n_tried < MOST_TRIES && !has_tried(it, process))
        it->tried[it->n_tried++] = process;
    if (!can_be_tried(d, it))
        return take(d, number, result, error, err);
    give_again(d, number);
    return EK_OK;
}

/* ---- process 0: processes that are lost ---- */

/* Results that were sent and have not arrived were at a lost process, or on the way to it. */
static void miss_results(deal *d, double limit)
{
    for (int i = 0; i < d->n_items; i++)
        if (!d->item[i].taken && d->item[i].who >= 0 && d->item[i].finished > 0 && d->item[i].finished < limit)
            give_again(d, i);
}

/* Mark a process as lost; with items of its own, its item fails with `why`. */
static ek_status leave_out(deal *d, int process, const ek_error *why, ek_error *err)
{
    d->member[process].is_lost = d->lost[process] = true;
    ek_status status = EK_OK;
    int32_t number = process;
    for (int i = 1; i < d->team->size && !status; i++)
        if (!d->member[i].is_lost)
            status = send_parts(d, i, LOST, &number, sizeof number, NULL, 0, err);
    if (d->job->own) {
        static const ek__packet none = {0};
        if (!status && !d->item[process].taken)
            status = take(d, process, &none, why, err);
    }
    for (int i = 0; i < d->n_items; i++)
        if (!d->item[i].taken && d->item[i].who == process && d->item[i].finished <= 0)
            give_again(d, i);
    return status;
}

static ek_status lose(deal *d, int process, ek_error *err)
{
    ek_error gone;
    d->team->give_up(d->team->state, process);
    if (d->end.n_lost < EK__DEAL_MOST_TOLD) {
        d->end.lost[d->end.n_lost] = process;
        memcpy(d->end.lost_host[d->end.n_lost], d->member[process].said_hello ? d->member[process].host : "?",
               d->member[process].said_hello ? HOST_SIZE : 2);
    }
    d->end.n_lost++;
    ek__set_error(&gone, EK_ERR_SYSTEM, EK__NOWHERE, "the work that only process %d could do is missing", process);
    return leave_out(d, process, &gone, err);
}

static ek_status look_for_lost(deal *d, ek_error *err)
{
    const double time = now(), limit = time - d->patience;
    ek_status status = EK_OK;
    bool any = false;
    /* Where this process itself was stopped, as in a suspended job, the others are not lost. */
    if (d->looked > 0 && time - d->looked > d->patience / 4)
        for (int i = 0; i < d->team->size; i++)
            d->member[i].heard = time;
    d->looked = time;
    for (int i = 1; i < d->team->size && !status; i++)
        if (!d->member[i].is_lost && d->member[i].heard < limit) {
            status = lose(d, i, err);
            any = true;
        }
    if (time >= d->next_miss) {
        d->next_miss = time + d->beat_every;
        miss_results(d, limit);
    }
    static const ek__packet none = {0};
    for (int i = 0; any && i < d->next && !status; i++) /* items that only the lost processes could have done */
        if (d->item[i].again && !d->item[i].taken && !can_be_tried(d, &d->item[i]))
            status = take(d, i, &none, &d->tried_error, err);
    return status;
}

/* ---- process 0: messages ---- */

static ek_status hear_hello(deal *d, int from, const char *text, size_t n, ek_error *err)
{
    const char *same = d->job->same ? d->job->same : "";
    member *m = &d->member[from];
    if (n <= HOST_SIZE || text[n - 1] != '\0')
        return EK_OK;
    memcpy(m->host, text, HOST_SIZE);
    m->host[HOST_SIZE - 1] = '\0';
    m->asks = m->said_hello = true;
    if (strcmp(text + HOST_SIZE, same) == 0)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "process %d on %s is %s, process 0 on %s is %s: all machines need the same program and files", from,
                    m->host, text + HOST_SIZE, d->member[0].host, same);
}

typedef struct decline_message {
    char host[HOST_SIZE];
    ek_error why;
} decline_message;

/* Files that one process could not read here concern all: the others would read the same. Where each has its own, the
 * others go on.
 */
static ek_status hear_decline(deal *d, int from, const void *bytes, size_t n, ek_error *err)
{
    decline_message m;
    char place[sizeof m.why.file + 32] = "";
    if (n != sizeof m)
        return EK_OK;
    memcpy(&m, bytes, sizeof m);
    m.host[HOST_SIZE - 1] = m.why.file[sizeof m.why.file - 1] = m.why.message[sizeof m.why.message - 1] = '\0';
    memcpy(d->member[from].host, m.host, HOST_SIZE);
    d->member[from].said_hello = true;
    if (d->job->own)
        return leave_out(d, from, &m.why, err);
    if (m.why.file[0] && m.why.line > 0)
        snprintf(place, sizeof place, "%s:%d:%d: ", m.why.file, m.why.line, m.why.column);
    else if (m.why.file[0])
        snprintf(place, sizeof place, "%s: ", m.why.file);
    return ek__fail(err, m.why.status ? m.why.status : EK_ERR_INPUT, EK__NOWHERE, "process %d on %s: %s%s", from,
                    m.host, place, m.why.message);
}

typedef struct outcome_head {
    int32_t number, status, process, unused;
} outcome_head;

static ek_status hear_result(deal *d, const char *bytes, size_t n, ek_error *err)
{
    outcome_head head;
    ek_error error = {.status = EK_OK};
    if (n < sizeof head)
        return EK_OK;
    memcpy(&head, bytes, sizeof head);
    if (head.number < 0 || head.number >= d->n_items || head.process < 0 || head.process >= d->team->size)
        return EK_OK;
    if (head.status != EK_OK) {
        if (n < sizeof head + sizeof error)
            return EK_OK;
        memcpy(&error, bytes + sizeof head, sizeof error);
        d->tried_error = error;
    }
    /* The text after the head, without a copy: `take` only reads it. */
    const ek__packet result = {(void *)(bytes + sizeof head), head.status ? 0 : n - sizeof head};
    return take_outcome(d, head.process, head.number, (ek_status)head.status, &result, &error, err);
}

static ek_status lead_message(deal *d, const ek_team_message *m, ek_error *err)
{
    member *from = &d->member[m->from];
    const ek__packet news = {m->bytes, m->n};
    from->heard = now();
    switch (m->kind) {
    case HELLO:
        return hear_hello(d, m->from, m->bytes, m->n, err);
    case ASK:
        if (from->item >= 0)
            d->item[from->item].finished = from->heard;
        from->item = -1;
        from->asks = true;
        return EK_OK;
    case RESULT:
        return hear_result(d, m->bytes, m->n, err);
    case DECLINE:
        return hear_decline(d, m->from, m->bytes, m->n, err);
    case NEWS:
        if (d->job->hear)
            d->job->hear(d->job->user, &news);
        return send_down(d, 0, NEWS, m->bytes, m->n, err);
    default:
        return EK_OK;
    }
}

/* ---- every process ---- */

/* Its own news to all, through process 0. */
static ek_status tell(deal *d, ek_error *err)
{
    ek__packet news = {0};
    if (!d->job->tell || !d->job->tell(d->job->user, &news))
        return EK_OK;
    ek_status status = d->team->index == 0 ? send_down(d, 0, NEWS, news.at, news.n, err)
                                           : send_parts(d, 0, NEWS, news.at, news.n, NULL, 0, err);
    free(news.at);
    return status;
}

static ek_status beat(deal *d, ek_error *err)
{
    double time = now();
    if (time < d->next_beat)
        return EK_OK;
    d->next_beat = time + d->beat_every;
    return d->team->index == 0 ? send_down(d, 0, BEAT, NULL, 0, err) : send_parts(d, 0, BEAT, NULL, 0, NULL, 0, err);
}

/* ---- process 0 ---- */

static ek_status lead_own_work(deal *d, ek_error *err)
{
    int number;
    ek_status outcome;
    ek__packet result;
    ek_error error;
    if (!worker_is_done(d, &number, &outcome, &result, &error))
        return EK_OK;
    d->member[0].item = -1;
    d->member[0].asks = true;
    if (outcome)
        d->tried_error = error;
    ek_status status = take_outcome(d, 0, number, outcome, &result, &error, err);
    free(result.at);
    return status;
}

static void report(deal *d)
{
    if (!d->job->progress || now() < d->next_progress)
        return;
    d->job->progress(d->job->user, d->n_taken);
    d->next_progress = now() + 0.1;
}

/* Reserve room for this many items. */
static ek_status make_room(deal *d, int n_items, ek_error *err)
{
    if (n_items > d->n_room || !d->item) {
        size_t room = n_items / 2 > d->n_room ? (size_t)n_items : 2 * (size_t)d->n_room + 1;
        item *items = realloc(d->item, room * sizeof *items);
        d->item = items ? items : d->item;
        int *again = realloc(d->again, room * sizeof *again);
        d->again = again ? again : d->again;
        if (!items || !again)
            return ek__no_memory(err);
        d->n_room = (int)room;
    }
    for (int i = d->n_items; i < n_items; i++)
        d->item[i] = (item){.who = -1};
    d->n_items = n_items;
    return EK_OK;
}

static ek_status ask_for_more(deal *d, ek_error *err)
{
    if (d->has_all)
        return EK_OK;
    int n = d->job->more(d->job->user, &d->has_all);
    return n > d->n_items ? make_room(d, n, err) : EK_OK;
}

static ek_status stop_all(deal *d, ek_error *err)
{
    if (!d->job->stop)
        return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "interrupted");
    d->is_stopped = true;
    ek_interrupt_set(d->job->stop);
    return send_down(d, 0, STOP, NULL, 0, err);
}

static ek_status lead_once(deal *d, ek_error *err)
{
    ek_team_message message;
    ek_status status = EK_OK;
    if (!d->is_stopped && ek_interrupted(d->job->interrupt))
        status = stop_all(d, err);
    if (status)
        return status;
    /* All pending messages at once, then a short wait: own work may end meanwhile. */
    for (bool any = d->team->receive(d->team->state, 0.001, &message); any && !status;
         any = !status && d->team->receive(d->team->state, 0, &message)) {
        status = lead_message(d, &message, err);
        free(message.bytes);
    }
    if (!status)
        status = lead_own_work(d, err);
    if (!status)
        status = tell(d, err);
    if (!status)
        status = beat(d, err);
    if (!status)
        status = look_for_lost(d, err);
    if (!status)
        status = ask_for_more(d, err);
    if (!status)
        status = hand_out(d, err);
    report(d);
    return status;
}

static ek_status lead(deal *d, ek_error *err)
{
    ek_status status = EK_OK;
    ek_error error = {.status = EK_OK};
    for (int i = 0; i < d->team->size; i++)
        d->member[i].heard = now(), d->member[i].item = -1;
    d->member[0].asks = d->member[0].said_hello = true;
    while (!status && !(d->has_all && d->n_taken == d->n_items))
        status = lead_once(d, &error);
    /* A process with another version is reported even when there is no item left for it. */
    while (!status) {
        bool all = true;
        for (int i = 0; i < d->team->size; i++)
            all &= d->member[i].said_hello || d->member[i].is_lost;
        if (all)
            break;
        status = lead_once(d, &error);
    }
    const int32_t head = status;
    for (int i = 1; i < d->team->size; i++)
        if (!d->member[i].is_lost)
            send_parts(d, i, DONE, &head, sizeof head, &error, sizeof error, NULL);
    if (status && err)
        *err = error;
    return status;
}

/* ---- the others ---- */

static ek_status follow_own_work(deal *d, ek_error *err)
{
    outcome_head head = {.process = d->team->index};
    ek__packet result;
    ek_error error;
    ek_status outcome;
    int number;
    if (!worker_is_done(d, &number, &outcome, &result, &error))
        return EK_OK;
    head.number = number;
    head.status = outcome;
    ek_status status = send_parts(d, parent_of(d, d->team->index), RESULT, &head, sizeof head,
                                  outcome ? (const void *)&error : result.at, outcome ? sizeof error : result.n, err);
    free(result.at);
    return status ? status : send_parts(d, 0, ASK, NULL, 0, NULL, 0, err);
}

static ek_status follow_item(deal *d, const ek_team_message *m, ek_error *err)
{
    int32_t number;
    if (m->n < sizeof number)
        return EK_OK;
    memcpy(&number, m->bytes, sizeof number);
    ek__packet what = {malloc(m->n - sizeof number + 1), m->n - sizeof number};
    if (!what.at)
        return ek__no_memory(err);
    memcpy(what.at, (const char *)m->bytes + sizeof number, what.n);
    give_to_worker(d, number, what);
    return EK_OK;
}

/* @return EK_OK; `done` when 0 reports it, with its status */
static ek_status follow_message(deal *d, const ek_team_message *m, bool *done, ek_error *err)
{
    const ek__packet news = {m->bytes, m->n};
    int32_t number = 0;
    if (m->n >= sizeof number)
        memcpy(&number, m->bytes, sizeof number);
    if (m->kind == BEAT || m->kind == NEWS || m->kind == ITEM || m->kind == LOST || m->kind == STOP)
        d->heard_of_0 = now(), d->has_word = true;
    switch (m->kind) {
    case ITEM:
        return follow_item(d, m, err);
    case RESULT: /* of a process below */
        return send_parts(d, parent_of(d, d->team->index), RESULT, m->bytes, m->n, NULL, 0, err);
    case NEWS:
        if (d->job->hear)
            d->job->hear(d->job->user, &news);
        return send_down(d, d->team->index, NEWS, m->bytes, m->n, err);
    case BEAT:
        return send_down(d, d->team->index, BEAT, NULL, 0, err);
    case STOP:
        if (d->job->stop)
            ek_interrupt_set(d->job->stop);
        return send_down(d, d->team->index, STOP, NULL, 0, err);
    case LOST:
        if (number > 0 && number < d->team->size)
            d->lost[number] = true;
        return EK_OK;
    case DONE:
        *done = true;
        if (number && err && m->n == sizeof number + sizeof *err)
            memcpy(err, (const char *)m->bytes + sizeof number, sizeof *err);
        return (ek_status)number;
    default:
        return EK_OK;
    }
}

static ek_status say_hello(const deal *d, const char *host, ek_error *err)
{
    const char *same = d->job->same ? d->job->same : "";
    return send_parts(d, 0, HELLO, host, HOST_SIZE, same, strlen(same) + 1, err);
}

static ek_status follow(deal *d, ek_error *err)
{
    double looked = now();
    /* Longer than 0 needs to find that a process on the way from it to this one is lost; before its first word much
     * longer, since it searches for the files meanwhile. */
    double longest = 20 * d->patience;
    bool done = false;
    ek_status status = EK_OK;
    d->heard_of_0 = now();
    while (!status && !done) {
        ek_team_message message;
        for (bool any = d->team->receive(d->team->state, 0.001, &message); any && !status && !done;
             any = !done && !status && d->team->receive(d->team->state, 0, &message)) {
            status = follow_message(d, &message, &done, err);
            free(message.bytes);
        }
        if (done)
            break;
        if (d->has_word)
            longest = 3 * d->patience;
        if (!status)
            status = follow_own_work(d, err);
        if (!status)
            status = tell(d, err);
        if (!status)
            status = beat(d, err);
        if (now() - looked > d->patience / 4) /* this process was stopped, as in a suspended job */
            d->heard_of_0 = now();
        looked = now();
        if (!status && looked - d->heard_of_0 > longest) {
            d->team->give_up(d->team->state, 0);
            status = ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "process 0 has not been heard of for %.0f s", longest);
        }
    }
    return status;
}

/* ---- the complete deal ---- */

static ek_status do_alone(const ek__deal_job *job, int i, ek_error *err)
{
    ek__packet what = {0}, result = {0};
    ek_error error = {.status = EK_OK};
    ek_status status = EK_OK;
    if (!job->wanted || job->wanted(job->user, i)) {
        status = job->describe ? job->describe(job->user, i, &what, err) : EK_OK;
        ek_status own = status ? status : job->work(job->user, i, &what, &result, &error);
        error.status = own;
        if (!status)
            status = job->take(job->user, i, &result, own ? &error : NULL, err);
    } else
        status = job->take(job->user, i, &result, NULL, err);
    free(what.at);
    free(result.at);
    if (job->progress)
        job->progress(job->user, i + 1);
    return status;
}

static ek_status deal_alone(const ek__deal_job *job, ek_error *err)
{
    const struct timespec moment = {.tv_nsec = 200000};
    bool ended = !job->more;
    int n = job->n_items;
    ek_status status = EK_OK;
    for (int i = 0; !status && !(ended && i == n);) {
        if (ek_interrupted(job->interrupt))
            return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "interrupted");
        if (i == n) {
            n = job->more(job->user, &ended);
            if (i == n && !ended)
                nanosleep(&moment, NULL);
            continue;
        }
        status = do_alone(job, i++, err);
    }
    return status;
}

static ek_status set_up(deal *d, ek_error *err)
{
    size_t n = (size_t)d->team->size;
    ek_status status = EK_OK;
    d->lost = calloc(n, sizeof *d->lost);
    if (d->team->index == 0) {
        d->member = calloc(n, sizeof *d->member);
        d->has_all = !d->job->more;
        status = make_room(d, d->job->n_items, err);
    }
    if (!d->lost || (d->team->index == 0 && !d->member))
        return ek__no_memory(err);
    return status;
}

static ek_status deal_together(deal *d, ek_error *err)
{
    char host[HOST_SIZE] = "";
    gethostname(host, sizeof host - 1);
    if (d->member)
        memcpy(d->member[0].host, host, sizeof host);
    ek__threads threads = {.n = 0};
    int why = 0;
    if (ek__threads_start(&threads, 1, worker, d, 0, &why) == 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "a thread could not be started: %s", strerror(why));
    ek_status status = d->team->index == 0 ? EK_OK : say_hello(d, host, err);
    if (!status)
        status = d->team->index == 0 ? lead(d, err) : follow(d, err);
    pthread_mutex_lock(&d->lock);
    d->must_end = true;
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
    ek__threads_join(&threads);
    return status;
}

ek_status ek__deal(const ek_team *team, const ek__deal_job *job, ek__deal_end *end, ek_error *err)
{
    if (end)
        *end = (ek__deal_end){0};
    if (!team || team->size == 1)
        return deal_alone(job, err);
    deal d = {.team = team, .job = job, .patience = ek__deal_patience(job->patience)};
    d.beat_every = d.patience / 10 < 1 ? d.patience / 10 : 1;
    pthread_mutex_init(&d.lock, NULL);
    pthread_cond_init(&d.wake, NULL);
    ek_status status = set_up(&d, err);
    if (!status)
        status = deal_together(&d, err);
    if (end)
        *end = d.end;
    pthread_cond_destroy(&d.wake);
    pthread_mutex_destroy(&d.lock);
    free(d.what.at);
    free(d.result.at);
    free(d.lost);
    free(d.member);
    free(d.item);
    free(d.again);
    return status;
}

void ek__deal_abandon(const ek_team *team, const ek_error *why)
{
    const deal d = {.team = team};
    const int32_t head = why->status;
    for (int i = 1; i < team->size; i++)
        send_parts(&d, i, DONE, &head, sizeof head, why, sizeof *why, NULL);
}

void ek_team_decline(const ek_team *team, const ek_error *why)
{
    const deal d = {.team = team};
    decline_message m = {.why = *why};
    if (team->index == 0) {
        ek__deal_abandon(team, why);
        return;
    }
    gethostname(m.host, sizeof m.host - 1);
    send_parts(&d, 0, DECLINE, &m, sizeof m, NULL, 0, NULL);
}

ek_status ek__packet_of(ek__pack *pack, ek_status status, ek__packet *out, ek_error *err)
{
    if (!status)
        status = ek__pack_end(pack, err);
    if (status)
        free(pack->at);
    else
        *out = (ek__packet){pack->at, pack->n};
    return status;
}
