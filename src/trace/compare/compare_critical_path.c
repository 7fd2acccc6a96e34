/* Finds the critical path of each step, backwards from its end. An event began when it did because of the event that
 * ended last before it on the same device, of the same stream where several did; unless the host launched it only after
 * that: then the host is on the path, back to its last wait for the device, or to the step's start. A collective or a
 * transfer for which another rank came later continues on that rank's side, whose end is the same moment even if its
 * clock differs. So the stretches follow one another without gaps, and their sum is the length of the step on the rank
 * of the run's step. It is the longest path through operators, transfers and the host where each starts as soon as its
 * predecessors have ended.
 *
 * Not handled: several threads of the host that wait for one another, which count as
 * one. O(n log n) for n pieces of work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/texts.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

/* The work of a rank in order of its ends. */
typedef struct line {
    size_t *by_end;    /* [n] */
    size_t *place;     /* [n]: of a piece in by_end */
    int64_t *end;      /* [n]: of by_end */
    size_t *piece;     /* [n_collectives]: 1 + the piece of each; 0: none */
    int *other, *twin; /* [n_collectives]: the other side's rank and index of a transfer; -1 */
} line;

typedef struct paths {
    const ek_trace_run *run;
    line *line;      /* [n_ranks] */
    size_t n_pieces; /* of all ranks */
    size_t n, room;
    ek_trace_segment *at; /* of one step, from its end on */
} paths;

/* Position of the walk: at the start of an event on a rank. */
typedef struct place {
    int rank;
    int64_t time, begin, launch; /* begin: of the step, on the rank's clock */
    size_t before;               /* places of by_end that may have come before */
    int stream;                  /* -1: none */
} place;

/* ---- preparing ---- */

typedef struct ended {
    int64_t end;
    size_t piece;
} ended;

static int by_end(const void *a, const void *b)
{
    const ended *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->piece > y->piece) - (x->piece < y->piece);
}

static bool make_line(const ek_trace_rank *rank, line *out)
{
    const ek_trace_work *w = &rank->work;
    size_t n_calls = (size_t)rank->communication.n_collectives;
    ended *sorted = ek__alloc(w->n, sizeof *sorted);
    out->by_end = ek__alloc(w->n, sizeof *out->by_end);
    out->place = ek__alloc(w->n, sizeof *out->place);
    out->end = ek__alloc(w->n, sizeof *out->end);
    out->piece = ek__alloc(n_calls, sizeof *out->piece);
    out->other = ek__alloc(n_calls, sizeof *out->other);
    out->twin = ek__alloc(n_calls, sizeof *out->twin);
    bool fine = sorted && out->by_end && out->place && out->end && out->piece && out->other && out->twin;
    for (size_t i = 0; fine && i < w->n; i++) {
        sorted[i] = (ended){w->piece[i].end, i};
        if (w->piece[i].collective >= 0)
            out->piece[w->piece[i].collective] = i + 1;
    }
    if (fine)
        ek__sort(sorted, w->n, sizeof *sorted, by_end);
    for (size_t i = 0; fine && i < w->n; i++) {
        out->by_end[i] = sorted[i].piece;
        out->end[i] = sorted[i].end;
        out->place[sorted[i].piece] = i;
    }
    for (size_t i = 0; fine && i < n_calls; i++) {
        out->other[i] = rank->communication.collective[i].last;
        out->twin[i] = rank->communication.collective[i].last_call;
    }
    free(sorted);
    return fine;
}

static int64_t duration_of(const ek_trace_run *run, int rank, int call)
{
    return run->rank[rank].communication.collective[call].duration;
}

/* Both sides of a transfer end together: the shorter side came later, and the other waited for it. */
static void join_transfers(const paths *p)
{
    for (int i = 0; i < p->run->n_transfers; i++) {
        const ek_trace_transfer *t = &p->run->transfer[i];
        bool sender_late = duration_of(p->run, t->from_rank, t->from) < duration_of(p->run, t->to_rank, t->to);
        int waits = sender_late ? t->to_rank : t->from_rank, call = sender_late ? t->to : t->from;
        p->line[waits].other[call] = sender_late ? t->from_rank : t->to_rank;
        p->line[waits].twin[call] = sender_late ? t->from : t->to;
    }
}

/* ---- one step ---- */

static bool emit(paths *p, int rank, ek_trace_activity activity, int64_t start, int64_t end, const char *name)
{
    if (end <= start)
        return true;
    ek_trace_segment *room = ek__with_room(p->at, &p->room, p->n + 1, sizeof *room);
    if (!room)
        return false;
    p->at = room;
    p->at[p->n++] = (ek_trace_segment){rank, activity, start, end, name};
    return true;
}

/* The number of places of by_end that ended at a time or before. */
static size_t n_ended(const line *l, size_t n, int64_t time)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (l->end[middle] <= time)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The piece that ended last before the place's time; -1 where none did since the step began. */
static int64_t last_ended(const paths *p, const place *at)
{
    const line *l = &p->line[at->rank];
    const ek_trace_piece *piece = p->run->rank[at->rank].work.piece;
    size_t n = n_ended(l, at->before, at->time);
    if (n == 0 || l->end[n - 1] <= at->begin)
        return -1;
    for (size_t i = n; i > 0 && l->end[i - 1] == l->end[n - 1]; i--)
        if (piece[l->by_end[i - 1]].stream == at->stream)
            return (int64_t)l->by_end[i - 1];
    return (int64_t)l->by_end[n - 1];
}

/* The last piece that the host had waited for before it launched something; -1 where it had not. */
static int64_t waited_for(const paths *p, const place *at)
{
    const line *l = &p->line[at->rank];
    const ek_trace_work *w = &p->run->rank[at->rank].work;
    size_t low = 0, high = w->n_waits;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->wait[middle].end <= at->launch)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && w->wait[i - 1].end > at->begin; i--) {
        size_t n = n_ended(l, at->before, w->wait[i - 1].end);
        if (n > 0 && l->end[n - 1] > w->wait[i - 1].start && l->end[n - 1] > at->begin)
            return (int64_t)l->by_end[n - 1];
    }
    return -1;
}

/* The host's part of the path, from its end on: waiting for data, and the rest. */
static bool emit_host(paths *p, int rank, int64_t start, int64_t end)
{
    const ek_trace_work *w = &p->run->rank[rank].work;
    size_t low = 0, high = w->n_data;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->data[middle].start < end)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && w->data[i - 1].end > start; i--) {
        int64_t from = w->data[i - 1].start > start ? w->data[i - 1].start : start;
        int64_t to = w->data[i - 1].end < end ? w->data[i - 1].end : end;
        if (!emit(p, rank, EK_TRACE_HOST, to, end, NULL) || !emit(p, rank, EK_TRACE_DATA, from, to, NULL))
            return false;
        end = from;
    }
    return emit(p, rank, EK_TRACE_HOST, start, end, NULL);
}

/* The reason for the start of the walk's place. @return its piece; -1 at the step's start, -2 when memory is out */
static int64_t step_back(paths *p, const place *at)
{
    const ek_trace_piece *piece = p->run->rank[at->rank].work.piece;
    int64_t last = last_ended(p, at), end = last < 0 ? at->begin : piece[last].end;
    if (at->launch == EK_TRACE_UNKNOWN || at->launch <= end)
        return emit(p, at->rank, EK_TRACE_IDLE, end, at->time, NULL) ? last : -2;
    last = waited_for(p, at);
    end = last < 0 ? at->begin : piece[last].end;
    return emit_host(p, at->rank, end, at->time) ? last : -2;
}

/* The side of a collective or transfer that came last. Both end at one moment, which gives the difference of their
 * clocks. */
static void go_to_latest(const paths *p, place *at, size_t *piece)
{
    const ek_trace_piece *x = &p->run->rank[at->rank].work.piece[*piece];
    int other = x->collective >= 0 ? p->line[at->rank].other[x->collective] : -1;
    size_t twin = other >= 0 ? p->line[other].piece[p->line[at->rank].twin[x->collective]] : 0;
    if (twin == 0)
        return;
    *piece = twin - 1;
    at->rank = other;
    at->begin = ek__ns_add(at->begin, ek__ns_sub(p->run->rank[other].work.piece[*piece].end, x->end));
}

/* The launch time of the event that begins at a step's end; that end itself where the host's mark ends there. */
static int64_t launch_at_end(const ek_trace_rank *rank, const ek_trace_step *step, int64_t time, bool begin_to_begin)
{
    bool marked = rank->idle.n_linked_tasks > 0 && step->host_start != EK_TRACE_UNKNOWN &&
                  ek__ns_add(step->host_start, step->host_step) >= time;
    if (!begin_to_begin)
        return marked ? time : EK_TRACE_UNKNOWN;
    size_t low = 0, high = rank->work.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rank->work.piece[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rank->work.n ? rank->work.piece[low].launch : EK_TRACE_UNKNOWN;
}

/* p->at: the path of a step, its end first. *found: false where ranks wait in a circle. @return false: out of memory */
static bool walk(paths *p, int rank, int index, bool *found)
{
    const ek_trace_step *step = &p->run->rank[rank].step[index];
    bool begin_to_begin;
    int64_t end = ek__ns_add(step->start, ek_trace_step_length(&p->run->rank[rank], index, &begin_to_begin));
    place at = {.rank = rank,
                .time = begin_to_begin || end > step->end ? end : step->end,
                .begin = step->start,
                .launch = EK_TRACE_UNKNOWN,
                .before = p->run->rank[rank].work.n,
                .stream = -1};
    at.launch = launch_at_end(&p->run->rank[rank], step, at.time, begin_to_begin);
    p->n = 0;
    for (size_t n = 0; at.time > at.begin; n++) {
        int64_t last = step_back(p, &at);
        *found = n <= p->n_pieces;
        if (last == -2)
            return false;
        if (last < 0 || !*found)
            return true;
        size_t piece = (size_t)last;
        go_to_latest(p, &at, &piece);
        const ek_trace_piece *x = &p->run->rank[at.rank].work.piece[piece];
        if (!emit(p, at.rank, (ek_trace_activity)x->activity, x->start > at.begin ? x->start : at.begin, x->end,
                  x->name))
            return false;
        at.time = x->start;
        at.launch = x->launch;
        at.stream = x->stream;
        at.before = p->line[at.rank].place[piece];
    }
    *found = true;
    return true;
}

/* ---- all steps ---- */

typedef struct sums {
    ek_trace_path *out;
    ek_trace_path_part *part; /* [n_parts] */
    size_t n_parts, room;
    ek__texts texts;
    double *length; /* [n_steps]: of each step's path; 0: not followed */
} sums;

/* The part of a name and activity: keys are numbered from 1 as they come. NULL when memory is out. */
static ek_trace_path_part *part_of(sums *s, const ek_trace_segment *g)
{
    char key[512];
    int n = snprintf(key, sizeof key, "%d%.480s", (int)g->activity, g->name ? g->name : "");
    uint32_t number = ek__texts_intern(&s->texts, key, (size_t)n); /* "" is 0 */
    ek_trace_path_part *room =
        number == UINT32_MAX ? NULL : ek__with_room(s->part, &s->room, (size_t)number, sizeof *room);
    if (!room)
        return NULL;
    s->part = room;
    if (number > s->n_parts)
        s->part[s->n_parts++] = (ek_trace_path_part){.name = g->name, .activity = g->activity};
    return &s->part[number - 1];
}

static bool add_step(sums *s, const paths *p, int index)
{
    for (size_t i = 0; i < p->n; i++) {
        const ek_trace_segment *g = &p->at[i];
        double ns = (double)(g->end - g->start);
        ek_trace_path_part *part = part_of(s, g);
        if (!part)
            return false;
        part->count++;
        part->ns += ns;
        s->out->activity[g->activity] += ns;
        s->out->of_rank[g->at] += ns;
        s->length[index] += ns;
    }
    s->out->length += s->length[index];
    s->out->n_steps++;
    return true;
}

static int longest_first(const void *a, const void *b)
{
    const ek_trace_path_part *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->activity != y->activity)
        return x->activity < y->activity ? -1 : 1;
    return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static bool keep_parts(sums *s, ek_trace_run *run)
{
    ek_trace_path *out = s->out;
    out->part = ek__pool_alloc(run->pool, s->n_parts, sizeof *out->part);
    if (!out->part)
        return false;
    double n = out->n_steps;
    for (size_t i = 0; i < s->n_parts; i++) {
        out->part[i] = s->part[i];
        out->part[i].ns /= n;
    }
    out->n_parts = (int)s->n_parts;
    if (out->n_parts > 1)
        qsort(out->part, s->n_parts, sizeof *out->part, longest_first);
    out->length /= n;
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
        out->activity[a] /= n;
    for (int r = 0; r < run->n_ranks; r++)
        out->of_rank[r] /= n;
    return true;
}

/* The step of median length among the followed ones, the earlier of equal ones. */
static int middle_step(const sums *s, int n_steps)
{
    for (int i = 0; i < n_steps; i++) {
        int less = 0;
        for (int k = 0; k < n_steps; k++)
            less += s->length[k] > 0 && (s->length[k] < s->length[i] || (s->length[k] == s->length[i] && k < i));
        if (s->length[i] > 0 && less == (s->out->n_steps - 1) / 2)
            return i;
    }
    return -1;
}

static bool keep_segments(sums *s, paths *p, int rank, ek_trace_run *run)
{
    bool found;
    int index = middle_step(s, run->rank[rank].n_steps);
    if (!walk(p, rank, index, &found))
        return false;
    s->out->step = run->rank[rank].step[index].name;
    s->out->segment = ek__pool_alloc(run->pool, p->n, sizeof *s->out->segment);
    for (size_t i = 0; s->out->segment && i < p->n; i++)
        s->out->segment[i] = p->at[p->n - 1 - i];
    s->out->n_segments = (int)p->n;
    return s->out->segment;
}

static bool can_follow(const ek_trace_rank *rank, int index)
{
    const ek_trace_step *step = &rank->step[index];
    return !step->warm_up && step->activity[0] != EK_TRACE_UNKNOWN && ek__has_window(step);
}

/* The steps that ek_trace_rank_step() uses: one without a follower only where it is as long as the others. */
static int64_t least_length(const ek_trace_rank *rank)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        bool begin_to_begin;
        int64_t length = ek_trace_step_length(rank, i, &begin_to_begin);
        if (!can_follow(rank, i) || !begin_to_begin)
            continue;
        sum += (double)length;
        n++;
    }
    return n > 0 ? (int64_t)(sum / n) : 0;
}

static bool follow(sums *s, paths *p, int rank, ek_trace_run *run)
{
    const ek_trace_rank *of = &run->rank[rank];
    int64_t least = least_length(of);
    for (int i = 0; i < of->n_steps; i++) {
        bool found = false, begin_to_begin;
        int64_t length = ek_trace_step_length(of, i, &begin_to_begin);
        if (!can_follow(of, i) || (!begin_to_begin && length < least))
            continue;
        if (!walk(p, rank, i, &found) || (found && p->n > 0 && !add_step(s, p, i)))
            return false;
    }
    return s->out->n_steps == 0 || (keep_parts(s, run) && keep_segments(s, p, rank, run));
}

static void clear(paths *p, int n_ranks)
{
    for (int r = 0; p->line && r < n_ranks; r++) {
        free(p->line[r].by_end);
        free(p->line[r].place);
        free(p->line[r].end);
        free(p->line[r].piece);
        free(p->line[r].other);
        free(p->line[r].twin);
    }
    free(p->line);
    free(p->at);
}

ek_status ek__compare_critical_path(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    int at = ek_trace_run_step(run).rank;
    if (!options->measure || at < 0 || run->rank[at].work.n == 0)
        return EK_OK;
    ek_trace_path out = {.of_rank = ek__pool_alloc(run->pool, (size_t)run->n_ranks, sizeof *out.of_rank)};
    paths p = {.run = run, .line = ek__alloc((size_t)run->n_ranks, sizeof *p.line)};
    sums s = {.out = &out, .length = ek__alloc((size_t)run->rank[at].n_steps, sizeof *s.length)};
    bool fine = out.of_rank && p.line && s.length && ek__texts_reset(&s.texts);
    for (int r = 0; r < run->n_ranks && fine; r++) {
        fine = make_line(&run->rank[r], &p.line[r]);
        p.n_pieces += run->rank[r].work.n;
    }
    if (fine) {
        join_transfers(&p);
        fine = follow(&s, &p, at, run);
    }
    if (fine && out.n_steps > 0)
        run->path = out;
    clear(&p, run->n_ranks);
    ek__texts_clear(&s.texts);
    free(s.part);
    free(s.length);
    return fine ? EK_OK : ek__no_memory(err);
}
