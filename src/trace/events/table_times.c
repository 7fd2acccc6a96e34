/* Computes receives and sends of steps that are only in tables. kernel_details.csv has the start and duration of
 * operators and collectives, communication.json of collectives; both readers add their entries, and once all tables are
 * read every step's executions are sorted and merged into sets of intervals, as src/trace/analyse/analyse_breakdown.c
 * does with events. */
#include "trace/tables/table_times.h"

#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"
#include "trace/tables/tables.h"

void ek__table_times_clear(ek__table_times *times)
{
    free(times->at);
    ek__texts_clear(&times->step);
    *times = (ek__table_times){0};
}

/* ---- gathering ---- */

static ek__timed_kind kind_of_collective(const ek_trace_options *options, const char *name)
{
    static const ek_trace_options defaults = {0};
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    options = options ? options : &defaults;
    if (ek__is_receive(options, name) || ek__is_receive(options, last))
        return EK__TIMED_RECEIVE;
    return ek__is_send(options, name) || ek__is_send(options, last) ? EK__TIMED_SEND : EK__TIMED_COLLECTIVE;
}

static bool is_near(int64_t time)
{
    return time > -INT64_MAX / 4 && time < INT64_MAX / 4;
}

bool ek__table_times_add(ek__table_times *times, const ek_trace_options *options, ek__timed_by by, const char *step,
                         const char *name, bool communication, int64_t start, int64_t duration)
{
    if (!is_near(start) || !is_near(duration) || duration < 0)
        return true;
    if (times->step.n == 0 && !ek__texts_reset(&times->step))
        return false;
    step = strcmp(step, "N/A") == 0 ? "" : step;
    uint32_t number = ek__texts_intern(&times->step, step, strlen(step));
    ek__timed *room =
        number == UINT32_MAX ? NULL : ek__with_room(times->at, &times->capacity, times->n + 1, sizeof *room);
    if (!room)
        return false;
    times->at = room;
    ek__timed_kind kind = communication ? kind_of_collective(options, name) : EK__TIMED_COMPUTING;
    times->at[times->n++] = (ek__timed){start, duration, number, (uint8_t)kind, (uint8_t)by};
    return true;
}

/* ---- one step ---- */

/* The sets of one step, with those of its figures that are sums. */
typedef struct part {
    ek__intervals computing, communication, receives;
    int64_t first, last; /* of the complete step */
    bool any;
    int64_t n_receives, receive, n_sends, send;
} part;

static void clear_part(part *p)
{
    ek__intervals_clear(&p->computing);
    ek__intervals_clear(&p->communication);
    ek__intervals_clear(&p->receives);
}

/* @return false when memory is out. They come by start. */
static bool store(part *p, const ek__timed *t)
{
    int64_t end = t->start + t->duration;
    p->first = p->any && p->first < t->start ? p->first : t->start;
    p->last = p->any && p->last > end ? p->last : end;
    p->any = true;
    if (t->kind == EK__TIMED_COMPUTING)
        return ek__intervals_add(&p->computing, t->start, end);
    if (t->kind == EK__TIMED_SEND) {
        p->n_sends++;
        p->send = ek__ns_add(p->send, t->duration);
    }
    if (t->kind == EK__TIMED_RECEIVE) {
        p->n_receives++;
        p->receive = ek__ns_add(p->receive, t->duration);
        if (!ek__intervals_add(&p->receives, t->start, end))
            return false;
    }
    return ek__intervals_add(&p->communication, t->start, end);
}

/* Kernels without their collectives and these from the other table: the kernels' values for communication and for the
 * time between were wrong. */
static void fill_breakdown(const part *p, bool kernels, ek_trace_step *step)
{
    ek_trace_breakdown *own = &step->own;
    if (step->start == EK_TRACE_UNKNOWN || p->first < step->start)
        step->start = p->first;
    if (step->end == EK_TRACE_UNKNOWN || p->last > step->end)
        step->end = p->last;
    own->communication = ek__intervals_length(&p->communication);
    if (!kernels)
        return;
    own->communication_not_overlapped = ek__intervals_without(&p->communication, &p->computing);
    own->overlapped = own->communication - own->communication_not_overlapped;
    own->busy = own->computing + own->communication_not_overlapped;
    own->total = p->last - p->first;
    own->free = own->total - own->busy;
}

/* Steps with bounds of the wait, not its value. */
typedef struct unsure {
    int n;
    const char *step; /* the first */
    int64_t least, most;
} unsure;

/* The part of the receives outside computing, when only step_trace_time's sums describe computing: at least the part
 * that its overlap cannot hide, at most its exposed part. */
static int64_t exposed_by_sums(const part *p, const ek_trace_step *step, unsure *open)
{
    const ek_trace_breakdown *own = &step->own;
    int64_t receives = ek__intervals_length(&p->receives), least = 0, most = receives;
    if (own->overlapped != EK_TRACE_UNKNOWN && own->overlapped < receives)
        least = receives - (own->overlapped > 0 ? own->overlapped : 0);
    if (own->communication_not_overlapped != EK_TRACE_UNKNOWN && own->communication_not_overlapped < most)
        most = own->communication_not_overlapped;
    if (least >= most)
        return most;
    if (open->n++ == 0) {
        open->step = step->name;
        open->least = least;
        open->most = most;
    }
    return EK_TRACE_UNKNOWN;
}

static ek_status note_unsure(const unsure *open, ek_trace_rank *rank, ek_error *err)
{
    if (open->n == 0)
        return EK_OK;
    return ek__rank_note(
        rank, err,
        "the time that %d step%s waited for another stage is not known, as no table contains the receives overlapped "
        "with computing: step %s between %.2f and %.2f ms; give kernel_details.csv, too",
        open->n, open->n == 1 ? "" : "s", *open->step ? open->step : "-", (double)open->least / 1e6,
        (double)open->most / 1e6);
}

static void fill_step(const part *p, bool kernels, bool other_table, ek_trace_step *step, unsure *open)
{
    bool by_kernels = !step->source || strcmp(step->source, "step_trace_time") != 0;
    if (other_table && by_kernels)
        fill_breakdown(p, kernels, step);
    step->n_receives = p->n_receives;
    step->receive = p->receive;
    step->n_sends = p->n_sends;
    step->send = p->send;
    step->receive_exposed =
        kernels ? ek__intervals_without(&p->receives, &p->computing) : exposed_by_sums(p, step, open);
    step->pipeline_wait = step->receive_exposed;
    step->span = kernels ? p->last - p->first : step->own.total;
    if (step->span != EK_TRACE_UNKNOWN && step->pipeline_wait != EK_TRACE_UNKNOWN)
        step->own_stage = ek__ns_sub(step->span, step->pipeline_wait);
}

/* ---- all steps ---- */

static int by_step_and_start(const void *a, const void *b)
{
    const ek__timed *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Does kernel_details list collectives at all? The other table would repeat them. */
static bool kernels_list_communication(const ek__table_times *times)
{
    for (size_t i = 0; i < times->n; i++)
        if (times->at[i].kind != EK__TIMED_COMPUTING && times->at[i].by == EK__TIMED_BY_KERNELS)
            return true;
    return false;
}

/* The executions [from, to) of one step. */
static ek_status finish_one(const ek__table_times *times, size_t from, size_t to, bool alone, bool only_kernels,
                            ek_trace_rank *rank, unsure *open, ek_error *err)
{
    const ek__table_in in = {.rank = rank};
    part p = {0};
    bool kernels = false, other = false, fine = true;
    ek_trace_step *step = NULL;
    for (size_t i = from; i < to && fine; i++) {
        bool own_table = times->at[i].by == EK__TIMED_BY_KERNELS;
        if (!own_table && only_kernels)
            continue;
        kernels |= own_table;
        other |= !own_table;
        fine = store(&p, &times->at[i]);
    }
    ek_status status = fine ? EK_OK : ek__no_memory(err);
    const char *name = ek__texts_at(&times->step, times->at[from].step);
    /* Rows of no step, with steps present, are outside of them. */
    if (status == EK_OK && p.any && (alone || *name))
        status = ek__table_step(&in, name, alone, &step, err);
    if (status == EK_OK && step)
        fill_step(&p, kernels, other, step, open);
    clear_part(&p);
    return status;
}

ek_status ek__table_times_finish(ek__table_times *times, ek_trace_rank *rank, ek_error *err)
{
    bool only_kernels = kernels_list_communication(times);
    unsure open = {0};
    if (times->n > 0)
        qsort(times->at, times->n, sizeof *times->at, by_step_and_start);
    bool alone = times->n > 0 && times->at[0].step == times->at[times->n - 1].step;
    ek_status status = EK_OK;
    for (size_t from = 0, to; from < times->n && status == EK_OK && rank->n_steps < EK__MAX_TABLE_STEPS; from = to) {
        for (to = from + 1; to < times->n && times->at[to].step == times->at[from].step;)
            to++;
        status = finish_one(times, from, to, alone, only_kernels, rank, &open, err);
    }
    return status == EK_OK ? note_unsure(&open, rank, err) : status;
}
