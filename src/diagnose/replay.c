/* Replays measured steps. A rank's step is a sequence of its own time and of collectives; a collective ends when the
 * last of its ranks has arrived and the transfer is over, which is the shortest duration that any of them saw; its
 * exposed part is at its end and delays the rank. Running it forward without some of the ranks' own time gives the step
 * without the loss. Collectives are matched across ranks by group, name and number of earlier ones of that name in the
 * step; transfers between stages by group and by ending together. Not handled: own time that would only now become the
 * longest, since it was hidden by other work; clocks of hosts that differ by more than transfers do: transfers stay
 * unpaired and their waits unchanged. */
#include "diagnose/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/measured.h"
#include "trace/analyse/analysis.h"

/* Of the transfers that end together as many must have one name for names to be believed. */
static const double names_hold = 0.9;
/* A send that took this many times the transfer waited for its receiver. */
static const double waited = 1.5;

/* One collective on one rank in one step. */
typedef struct side {
    const char *group, *name; /* "" without a group; p2p: the part of the name after the operation */
    int64_t start, end, exposed;
    int rank, index, step, nth;
    int event;
    signed char direction; /* 0: a collective, 1 send, 2 receive, 3 both */
    bool waits;            /* its end is that of the event, not its own */
    int after;             /* index of the side after whose end it began; -1: after the rank's own work */
} side;

typedef struct event {
    int n;
    int first; /* of its sides, where they follow one another: collectives */
    double transfer;
} event;

/* Events on a rank, in order of its time. */
typedef struct point {
    int64_t at, from; /* from: where it begins to hold the rank up; for an issue the same */
    int side;
    bool ends;
} point;

typedef struct window {
    int64_t start, end;
    int64_t next;       /* when the rank's next step begins: a device lags behind its host, so that windows overlap */
    int step;           /* index in the rank's steps; -1: not there */
    size_t first, last; /* points */
} window;

struct ek__replay {
    const ek_trace_run *run;
    int n_ranks, n_steps;
    window *window; /* [n_steps][n_ranks] */
    bool *usable;   /* [n_steps] */
    size_t n_sides, n_points, n_events;
    side *side;
    event *event;
    point *point;
    double **transfer; /* [n_ranks][n_collectives] */
    double *before;    /* [n_steps] nanoseconds of the unchanged replay */
    double error;
};

void ek__replay_free(ek__replay *replay)
{
    if (!replay)
        return;
    for (int r = 0; replay->transfer && r < replay->n_ranks; r++)
        free(replay->transfer[r]);
    free(replay->transfer);
    free(replay->window);
    free(replay->usable);
    free(replay->side);
    free(replay->event);
    free(replay->point);
    free(replay->before);
    free(replay);
}

/* ---- steps ---- */

static window window_of(const ek_trace_rank *rank, const char *name)
{
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *s = &rank->step[i];
        if (!ek__has_window(s) || strcmp(s->name ? s->name : "", name) != 0)
            continue;
        window w = {s->start, s->end, INT64_MAX, i, 0, 0};
        if (s->host_start != EK_TRACE_UNKNOWN && s->host_step != EK_TRACE_UNKNOWN) {
            int64_t host_end = ek__ns_add(s->host_start, s->host_step);
            w.start = s->host_start < w.start ? s->host_start : w.start;
            w.end = host_end > w.end ? host_end : w.end;
        }
        return w;
    }
    return (window){.step = -1};
}

static ek_status make_windows(ek__replay *p, ek_error *err)
{
    const ek_trace_rank *first = &p->run->rank[0];
    p->window = ek__alloc((size_t)first->n_steps * (size_t)p->n_ranks, sizeof *p->window);
    p->usable = ek__alloc((size_t)first->n_steps, sizeof *p->usable);
    p->before = ek__alloc((size_t)first->n_steps, sizeof *p->before);
    if (!p->window || !p->usable || !p->before)
        return ek__no_memory(err);
    for (int i = 0; i < first->n_steps; i++) {
        window *w = p->window + (size_t)p->n_steps * (size_t)p->n_ranks;
        bool all = ek__has_window(&first->step[i]);
        for (int r = 0; all && r < p->n_ranks; r++) {
            w[r] = window_of(&p->run->rank[r], first->step[i].name ? first->step[i].name : "");
            all = w[r].step >= 0;
        }
        for (int r = 0; all && r < p->n_ranks && p->n_steps > 0; r++)
            if (w[r].start > w[r - p->n_ranks].start)
                w[r - p->n_ranks].next = w[r].start;
        if (all)
            p->usable[p->n_steps++] = true;
    }
    return EK_OK;
}

/* ---- which sides are one ---- */

static const char *tail_of(const char *name)
{
    const char *tail = strstr(name, "__");
    return tail ? tail : name;
}

static signed char direction_of(const ek_trace_collective *c)
{
    static const ek_trace_options usual = {0};
    const char *name = c->name;
    if (c->exchange != EK_EXCHANGE_NONE)
        return c->exchange == EK_EXCHANGE_P2P ? 3 : 0;
    if (strstr(name, "SendRecv") && ek__is_p2p(&usual, name))
        return 3;
    return (signed char)(ek__is_send(&usual, name) ? 1 : ek__is_receive(&usual, name) ? 2 : 0);
}

/* The step of the replay that a rank's step is; -1. */
static int replay_step(const ek__replay *p, int rank, int step)
{
    for (int i = 0; step >= 0 && i < p->n_steps; i++)
        if (p->window[(size_t)i * (size_t)p->n_ranks + (size_t)rank].step == step)
            return i;
    return -1;
}

static ek_status gather(ek__replay *p, ek_error *err)
{
    size_t room = 0;
    for (int r = 0; r < p->n_ranks; r++)
        room += (size_t)p->run->rank[r].communication.n_collectives;
    p->side = ek__alloc(room, sizeof *p->side);
    p->event = ek__alloc(room, sizeof *p->event);
    p->point = ek__alloc(2 * room, sizeof *p->point);
    if (!p->side || !p->event || !p->point || room > INT32_MAX / 2)
        return ek__no_memory(err);
    for (int r = 0; r < p->n_ranks; r++) {
        const ek_trace_communication *c = &p->run->rank[r].communication;
        int last = -1, at = -1;
        for (int i = 0; i < c->n_collectives; i++) {
            const ek_trace_collective *one = &c->collective[i];
            if (one->step != last) {
                last = one->step;
                at = replay_step(p, r, last);
            }
            if (at < 0 || !one->name)
                continue;
            signed char direction = direction_of(one);
            p->side[p->n_sides++] = (side){.group = one->group ? one->group : "",
                                           .name = direction ? tail_of(one->name) : one->name,
                                           .start = one->start,
                                           .end = ek__ns_add(one->start, one->duration),
                                           .exposed = one->exposed,
                                           .rank = r,
                                           .index = i,
                                           .step = at,
                                           .event = -1,
                                           .direction = direction};
        }
    }
    return EK_OK;
}

/* Of one step and kind, by group and name. */
static int by_what(const side *x, const side *y)
{
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (!x->direction != !y->direction)
        return x->direction ? 1 : -1;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->name, y->name);
}

static int by_what_on_rank(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = by_what(x, y);
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_occurrence(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = by_what(x, y);
    if (order)
        return order;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return x->rank - y->rank;
}

static int by_end(const void *a, const void *b)
{
    const side *x = *(const side *const *)a, *y = *(const side *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    int order = strcmp(x->group, y->group);
    if (order)
        return order;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->rank != y->rank ? x->rank - y->rank : x->index - y->index;
}

/* Kineto's names have the operation of a collective but do not identify it: without a group they may be of different
 * ranks' groups. */
static bool told_apart(const side *s)
{
    return s->group[0] != '\0';
}

static int new_event(ek__replay *p)
{
    p->event[p->n_events] = (event){0};
    return (int)p->n_events++;
}

static void join_collectives(ek__replay *p)
{
    if (p->n_sides > 1)
        qsort(p->side, p->n_sides, sizeof *p->side, by_what_on_rank);
    for (size_t i = 1; i < p->n_sides; i++)
        if (p->side[i].rank == p->side[i - 1].rank && by_what(&p->side[i], &p->side[i - 1]) == 0)
            p->side[i].nth = p->side[i - 1].nth + 1;
    if (p->n_sides > 1)
        qsort(p->side, p->n_sides, sizeof *p->side, by_occurrence);
    for (size_t i = 0; i < p->n_sides; i++) {
        side *s = &p->side[i];
        if (s->direction)
            continue;
        bool same = i > 0 && told_apart(s) && by_what(s, s - 1) == 0 && s->nth == s[-1].nth;
        s->event = same ? s[-1].event : new_event(p);
    }
}

static bool end_together(const side *x, const side *y)
{
    int64_t apart = x->end > y->end ? ek__ns_sub(x->end, y->end) : ek__ns_sub(y->end, x->end);
    int64_t a = x->end - x->start, b = y->end - y->start, shorter = a < b ? a : b;
    return apart <= EK__TOGETHER_NS || (double)apart <= EK__TOGETHER_SHARE * (double)shorter;
}

static bool face(const side *x, const side *y)
{
    return x->event < 0 && y->event < 0 && x->rank != y->rank && (x->direction | y->direction) == 3 &&
           (x->direction != y->direction || x->direction == 3);
}

/* The largest distance of two sides in the order of ends. */
enum { NEAR = 64 };

static double mismatch(const side *x, const side *y)
{
    bool same_name = strcmp(x->name, y->name) == 0;
    return fabs((double)(x->end - y->end)) + (same_name ? 0 : 1e12); /* sides with the same name go first */
}

/* Those of one name with a receive that began after the end of the send. */
static void join_by_name(ek__replay *p)
{
    for (size_t i = 0; i < p->n_sides; i++) {
        side *x = &p->side[i];
        if (!x->direction || x->event >= 0 || !told_apart(x))
            continue;
        for (size_t k = i + 1; k < p->n_sides && by_what(x, &p->side[k]) == 0 && x->nth == p->side[k].nth; k++)
            if (face(x, &p->side[k]))
                x->event = p->side[k].event = new_event(p);
    }
}

/* How the sides of one pass were joined. */
typedef struct joined {
    size_t n, n_alike;
} joined;

/* Sides in the order of their ends: each with the nearest that fits. */
static joined join_by_end(ek__replay *p, side *const *list, size_t n)
{
    joined out = {0, 0};
    for (size_t i = 0; i < n; i++) {
        side *x = list[i], *best = NULL;
        for (size_t k = i + 1; k < n && k <= i + NEAR; k++) {
            side *y = list[k];
            if (y->step != x->step || strcmp(y->group, x->group) != 0 || !end_together(x, y))
                break;
            if (face(x, y) && (!best || mismatch(x, y) < mismatch(x, best)))
                best = y;
        }
        if (!best)
            continue;
        x->event = best->event = new_event(p);
        out.n++;
        out.n_alike += strcmp(x->name, best->name) == 0 && x->nth == best->nth;
    }
    return out;
}

/* By their ends. Where most of those that end together have the same name, names are used instead: a transfer with a
 * late receiver ends together with others. */
static ek_status join_transfers(ek__replay *p, ek_error *err)
{
    side **list = ek__alloc(p->n_sides, sizeof *list);
    size_t n = 0, n_before = p->n_events;
    if (!list)
        return ek__no_memory(err);
    for (size_t i = 0; i < p->n_sides; i++)
        if (p->side[i].direction)
            list[n++] = &p->side[i];
    if (n > 1)
        qsort(list, n, sizeof(side *), by_end);
    joined first = join_by_end(p, list, n);
    if ((double)first.n_alike >= names_hold * (double)first.n) {
        p->n_events = n_before;
        for (size_t i = 0; i < n; i++)
            list[i]->event = -1;
        join_by_name(p);
        join_by_end(p, list, n);
    }
    for (size_t i = 0; i < p->n_sides; i++)
        if (p->side[i].event < 0)
            p->side[i].event = new_event(p);
    free(list);
    return EK_OK;
}

/* ---- events and points ---- */

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sends of one step and group, which lie together: those about as long as their shortest tenth did not wait. Their own
 * transfer does not show it: a receiver that came in its middle saw only the rest of it. */
static void free_quick_sends(ek__replay *p, size_t first, size_t last, int64_t *time)
{
    size_t n = 0;
    for (size_t i = first; i < last; i++)
        if (p->side[i].direction == 1)
            time[n++] = p->side[i].end - p->side[i].start;
    if (n == 0)
        return;
    const size_t tenth = n / 10;
    qsort(time, n, sizeof *time, by_size);
    for (size_t i = first; i < last; i++) {
        side *s = &p->side[i];
        double usual = fmax((double)time[tenth], p->event[s->event].transfer);
        if (s->direction == 1 && (double)(s->end - s->start) <= waited * usual)
            s->waits = false;
    }
}

static ek_status free_sends(ek__replay *p, ek_error *err)
{
    int64_t *time = ek__alloc(p->n_sides, sizeof *time);
    if (!time)
        return ek__no_memory(err);
    for (size_t i = 0, end; i < p->n_sides; i = end) {
        const side *s = &p->side[i];
        for (end = i + 1; end < p->n_sides && p->side[end].step == s->step &&
                          !p->side[end].direction == !s->direction && strcmp(p->side[end].group, s->group) == 0;)
            end++;
        if (s->direction)
            free_quick_sends(p, i, end, time);
    }
    free(time);
    return EK_OK;
}

/* A side that ended before the last one arrived did not wait for it. A send that took no longer than the transfer did
 * not either, and may never wait: many are buffered. */
static ek_status make_events(ek__replay *p, ek_error *err)
{
    int64_t *last = ek__alloc(p->n_events, sizeof *last);
    if (!last)
        return ek__no_memory(err);
    for (size_t i = 0; i < p->n_sides; i++) {
        side *s = &p->side[i];
        event *e = &p->event[s->event];
        last[s->event] = e->n == 0 || s->start > last[s->event] ? s->start : last[s->event];
        e->transfer = INFINITY;
        e->n++;
    }
    for (size_t i = 0; i < p->n_sides; i++) {
        side *s = &p->side[i];
        event *e = &p->event[s->event];
        s->waits = s->end > last[s->event];
        if (s->waits || e->n == 1)
            e->transfer = fmin(e->transfer, (double)(s->end - s->start));
    }
    free(last);
    return free_sends(p, err);
}

static int by_rank_and_start(const void *a, const void *b)
{
    const side *x = *(const side *const *)a, *y = *(const side *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int order = strcmp(x->group, y->group);
    return order ? order : x->index - y->index;
}

/* Collectives of a group run one after the other. One that begins at the end of the previous one, which had waited for
 * a late rank, was delayed by that and not by the rank's own work. */
static ek_status chain_collectives(ek__replay *p, ek_error *err)
{
    side **list = ek__alloc(p->n_sides, sizeof *list);
    size_t n = 0;
    if (!list)
        return ek__no_memory(err);
    for (size_t i = 0; i < p->n_sides; i++) {
        p->side[i].after = -1;
        if (i == 0 || p->side[i].event != p->side[i - 1].event)
            p->event[p->side[i].event].first = (int)i;
        if (!p->side[i].direction && told_apart(&p->side[i]))
            list[n++] = &p->side[i];
    }
    if (n > 1)
        qsort(list, n, sizeof(side *), by_rank_and_start);
    for (size_t i = 1; i < n; i++) {
        const side *before = list[i - 1];
        int64_t apart = list[i]->start - before->end;
        bool same = before->step == list[i]->step && before->rank == list[i]->rank &&
                    strcmp(before->group, list[i]->group) == 0;
        bool had_waited =
            before->waits && (double)(before->end - before->start) > waited * p->event[before->event].transfer;
        if (same && had_waited && apart >= 0 && apart <= EK__TOGETHER_NS)
            list[i]->after = (int)(before - p->side);
    }
    free(list);
    return EK_OK;
}

typedef struct placed {
    int step, rank;
    point point;
} placed;

static int by_time(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->point.at != y->point.at)
        return x->point.at < y->point.at ? -1 : 1;
    if (x->point.ends != y->point.ends)
        return x->point.ends ? 1 : -1;
    return x->point.side - y->point.side;
}

static ek_status make_points(ek__replay *p, ek_error *err)
{
    placed *all = ek__alloc(2 * p->n_sides, sizeof *all);
    size_t n = 0;
    if (!all)
        return ek__no_memory(err);
    for (size_t i = 0; i < p->n_sides; i++) {
        const side *s = &p->side[i];
        all[n++] = (placed){s->step, s->rank, {s->start, s->start, (int)i, false}};
        if (s->exposed > 0)
            all[n++] = (placed){s->step, s->rank, {s->end, s->end - s->exposed, (int)i, true}};
    }
    if (n > 1)
        qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; i < n; i++) {
        window *w = &p->window[(size_t)all[i].step * (size_t)p->n_ranks + (size_t)all[i].rank];
        if (w->last == 0)
            w->first = i;
        w->last = i + 1;
        p->point[i] = all[i].point;
    }
    p->n_points = n;
    free(all);
    return EK_OK;
}

/* ---- one replay ---- */

typedef struct runner {
    double clock, credit; /* credit: losses not yet taken out */
    int64_t done;         /* the rank's own time is accounted for up to there */
    int64_t until;        /* losses from there on are the next step's */
    size_t next, loss;    /* next point; next loss */
} runner;

typedef struct replaying {
    const ek__replay *p;
    const ek__change *change;
    runner *runner;         /* [n_ranks] */
    double *arrival_latest; /* of events */
    double *arrival;        /* of sides */
    int *arrived;
} replaying;

/* Let a rank work until its time `to` of the trace. */
static void work_until(const replaying *x, int rank, int64_t to)
{
    runner *r = &x->runner[rank];
    const ek__change *c = x->change;
    for (; c && r->loss < c->n_losses && c->loss[r->loss].rank == rank && c->loss[r->loss].at < to &&
           c->loss[r->loss].at < r->until;
         r->loss++)
        r->credit += c->loss[r->loss].ns;
    if (to <= r->done)
        return;
    double own = (double)(to - r->done), less = fmin(own, r->credit);
    r->credit -= less;
    r->done = to;
    r->clock += (own - less) * (c && c->faster ? 1 - c->faster[rank] : 1);
}

/* All sides of a collective have arrived. A side that only waited for the previous collective arrived when that ended,
 * which may now be earlier than by the rank's own work. */
static double latest_arrival(const replaying *x, const event *e)
{
    double latest = -INFINITY;
    for (int i = e->first; i < e->first + e->n; i++) {
        const side *s = &x->p->side[i];
        double came = x->arrival[i];
        if (s->after >= 0) {
            const side *before = &x->p->side[s->after];
            if (x->arrived[before->event] == x->p->event[before->event].n)
                came = fmin(came, x->arrival_latest[before->event] + x->p->event[before->event].transfer +
                                      (double)(s->start - before->end));
        }
        latest = fmax(latest, came);
    }
    return latest;
}

/* @return false when others must be processed first */
static bool pass_point(const replaying *x, int rank, const point *at)
{
    const side *s = &x->p->side[at->side];
    const event *e = &x->p->event[s->event];
    runner *r = &x->runner[rank];
    if (!at->ends) {
        work_until(x, rank, at->at);
        x->arrived[s->event]++;
        x->arrival[at->side] = r->clock;
        x->arrival_latest[s->event] = fmax(x->arrival_latest[s->event], r->clock);
        if (x->arrived[s->event] == e->n && !s->direction)
            x->arrival_latest[s->event] = latest_arrival(x, e);
        return true;
    }
    if (s->waits && x->arrived[s->event] < e->n)
        return false;
    work_until(x, rank, at->from);
    double hidden = x->change && x->change->hidden && x->change->hidden[rank] ? x->change->hidden[rank][s->index] : 0;
    double end = s->waits || e->n == 1 ? x->arrival_latest[s->event] + e->transfer - hidden
                                       : r->clock + (double)s->exposed - hidden;
    r->clock = fmax(r->clock, end);
    r->done = at->at > r->done ? at->at : r->done;
    return true;
}

static void start_ranks(const replaying *x, const window *w, int64_t zero)
{
    const ek__change *c = x->change;
    size_t loss = 0;
    for (int k = 0; k < x->p->n_ranks; k++) {
        for (; c && loss < c->n_losses &&
               (c->loss[loss].rank < k || (c->loss[loss].rank == k && c->loss[loss].at < w[k].start));)
            loss++;
        x->runner[k] = (runner){(double)(w[k].start - zero), 0, w[k].start, w[k].next, w[k].first, loss};
    }
}

static void reset_events(const replaying *x, const window *w)
{
    for (int k = 0; k < x->p->n_ranks; k++)
        for (size_t i = w[k].first; i < w[k].last; i++) {
            int e = x->p->side[x->p->point[i].side].event;
            x->arrived[e] = 0;
            x->arrival_latest[e] = -INFINITY;
        }
}

/* @return the step's time, NAN when ranks wait for one another forever */
static double replay_one(const replaying *x, int step)
{
    const ek__replay *p = x->p;
    const window *w = p->window + (size_t)step * (size_t)p->n_ranks;
    int64_t zero = w[0].start;
    double end = 0;
    for (int k = 1; k < p->n_ranks; k++)
        zero = w[k].start < zero ? w[k].start : zero;
    start_ranks(x, w, zero);
    reset_events(x, w);
    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < p->n_ranks; k++)
            while (x->runner[k].next < w[k].last && pass_point(x, k, &p->point[x->runner[k].next])) {
                x->runner[k].next++;
                moved = true;
            }
    }
    for (int k = 0; k < p->n_ranks; k++) {
        if (x->runner[k].next < w[k].last)
            return NAN;
        work_until(x, k, w[k].end);
        end = fmax(end, x->runner[k].clock);
    }
    return end;
}

static double measured_one(const ek__replay *p, int step)
{
    const window *w = p->window + (size_t)step * (size_t)p->n_ranks;
    int64_t start = w[0].start, end = w[0].end;
    for (int k = 1; k < p->n_ranks; k++) {
        start = w[k].start < start ? w[k].start : start;
        end = w[k].end > end ? w[k].end : end;
    }
    return (double)(end - start);
}

static ek_status open_replay(const ek__replay *p, const ek__change *change, replaying *x, ek_error *err)
{
    *x = (replaying){p,
                     change,
                     ek__alloc((size_t)p->n_ranks, sizeof *x->runner),
                     ek__alloc(p->n_events, sizeof *x->arrival_latest),
                     ek__alloc(p->n_sides, sizeof *x->arrival),
                     ek__alloc(p->n_events, sizeof *x->arrived)};
    return x->runner && x->arrival_latest && x->arrival && x->arrived ? EK_OK : ek__no_memory(err);
}

static void close_replay(replaying *x)
{
    free(x->runner);
    free(x->arrival_latest);
    free(x->arrival);
    free(x->arrived);
}

static ek_status replay_unchanged(ek__replay *p, ek_error *err)
{
    replaying x;
    double replayed = 0, measured = 0;
    ek_status status = open_replay(p, NULL, &x, err);
    for (int i = 0; i < p->n_steps && !status; i++) {
        p->before[i] = replay_one(&x, i);
        p->usable[i] = !isnan(p->before[i]);
        if (!p->usable[i])
            continue;
        replayed += p->before[i];
        measured += measured_one(p, i);
    }
    p->error = measured > 0 ? replayed / measured - 1 : NAN;
    close_replay(&x);
    return status;
}

static ek_status keep_transfers(ek__replay *p, ek_error *err)
{
    p->transfer = ek__alloc((size_t)p->n_ranks, sizeof *p->transfer);
    if (!p->transfer)
        return ek__no_memory(err);
    for (int r = 0; r < p->n_ranks; r++) {
        int n = p->run->rank[r].communication.n_collectives;
        p->transfer[r] = ek__alloc((size_t)n, sizeof **p->transfer);
        if (!p->transfer[r])
            return ek__no_memory(err);
        for (int i = 0; i < n; i++)
            p->transfer[r][i] = NAN;
    }
    for (size_t i = 0; i < p->n_sides; i++)
        p->transfer[p->side[i].rank][p->side[i].index] = p->event[p->side[i].event].transfer;
    return EK_OK;
}

ek_status ek__replay_new(const ek_trace_run *run, ek__replay **out, ek_error *err)
{
    ek__replay *p = ek__alloc(1, sizeof *p);
    if (!p)
        return ek__no_memory(err);
    p->run = run;
    p->n_ranks = run->n_ranks;
    p->error = NAN;
    ek_status status = p->n_ranks > 0 ? make_windows(p, err) : EK_OK;
    if (!status && p->n_ranks > 0)
        status = gather(p, err);
    if (!status) {
        join_collectives(p);
        status = join_transfers(p, err);
    }
    if (!status)
        status = make_events(p, err);
    if (!status)
        status = chain_collectives(p, err);
    if (!status)
        status = make_points(p, err);
    if (!status)
        status = keep_transfers(p, err);
    if (!status && p->n_steps > 0)
        status = replay_unchanged(p, err);
    if (status)
        ek__replay_free(p);
    else
        *out = p;
    return status;
}

int ek__replay_steps(const ek__replay *replay)
{
    int n = 0;
    for (int i = 0; i < replay->n_steps; i++)
        n += replay->usable[i];
    return n;
}

double ek__replay_error(const ek__replay *replay)
{
    return replay->error;
}

double ek__replay_transfer(const ek__replay *replay, int rank, int collective)
{
    return replay->transfer[rank][collective];
}

static int by_place(const void *a, const void *b)
{
    const ek__loss *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

ek_status ek__replay_gain(const ek__replay *replay, ek__change *change, double *ns, ek_error *err)
{
    replaying x;
    double sum = 0;
    int n = 0;
    if (change->n_losses > 1)
        qsort(change->loss, change->n_losses, sizeof *change->loss, by_place);
    ek_status status = open_replay(replay, change, &x, err);
    for (int i = 0; i < replay->n_steps && !status; i++) {
        if (!replay->usable[i])
            continue;
        double after = replay_one(&x, i);
        if (isnan(after))
            continue;
        sum += fmax(0, replay->before[i] - after);
        n++;
    }
    close_replay(&x);
    if (!status)
        *ns = n > 0 ? sum / n : 0;
    return status;
}
