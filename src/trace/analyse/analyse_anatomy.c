/* Computes the breakdown of each step's time, every instant counted once. Computing counts by its phase, the earlier
 * phase where two run side by side; communication where nothing is computed; copies where neither is there; idle time
 * by its cause, as found by the analyses of data loading and of host gaps. So the parts of computing sum to
 * raw.computing, those of communication to raw.communication_not_overlapped, and all of them to the step's length, or
 * to its device window where that is longer since steps overlap on the device. With options->measure the pieces of work
 * are stored, too. O(n log n) for n events. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "trace/analyse/launch_queue.h"
#include "trace/analyse/phases.h"
#include "trace/events/device.h"
#include "trace/rank.h"

/* In the order of precedence at an instant: idle time has no intervals. */
enum { N_BUSY = EK_TRACE_DATA };

typedef struct steps {
    ek_trace_rank *rank;
    ek__intervals *of;  /* [n_steps][N_BUSY] */
    ek__interval *room; /* of all sets */
} steps;

static ek__intervals *set_of(const steps *s, const ek__device_work *work)
{
    return &s->of[(size_t)work->step * N_BUSY + work->activity];
}

/* Each set has room for all its intervals. */
static bool deal(steps *s, const ek__device_work *work, size_t n)
{
    size_t n_sets = (size_t)s->rank->n_steps * N_BUSY, sum = 0;
    s->room = ek__alloc(n, sizeof *s->room);
    if (!s->room)
        return false;
    for (size_t i = 0; i < n; i++)
        if (work[i].step >= 0)
            set_of(s, &work[i])->capacity++;
    for (size_t i = 0; i < n_sets; i++) {
        s->of[i].at = s->room + sum;
        sum += s->of[i].capacity;
    }
    for (size_t i = 0; i < n; i++)
        if (work[i].step >= 0)
            ek__intervals_add(set_of(s, &work[i]), work[i].event->start, ek__event_end(work[i].event));
    return true;
}

/* The part of each set that is not in those before it. */
static bool count_busy(const ek__intervals *of, int64_t *out)
{
    ek__intervals covered = {0};
    bool fine = true;
    for (int a = 0; a < N_BUSY && fine; a++) {
        ek__intervals more = {0};
        out[a] = ek__intervals_without(&of[a], &covered);
        fine = ek__intervals_unite(&covered, &of[a], &more);
        ek__intervals_clear(&covered);
        covered = more;
    }
    ek__intervals_clear(&covered);
    return fine;
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value == EK_TRACE_UNKNOWN || value < 0 ? 0 : value < limit ? value : limit;
}

/* `late`: idle for the host, except for data. */
static void count_idle(const ek_trace_rank *rank, int index, int64_t late, int64_t *out)
{
    const ek_trace_step *step = &rank->step[index];
    bool begin_to_begin;
    int64_t length = ek_trace_step_length(rank, index, &begin_to_begin), busy = 0;
    length = length == EK_TRACE_UNKNOWN || length < step->raw.total ? step->raw.total : length;
    for (int a = 0; a < N_BUSY; a++)
        busy = ek__ns_add(busy, out[a]);
    int64_t idle = length > busy ? ek__ns_sub(length, busy) : 0;
    out[EK_TRACE_DATA] = at_most(step->data_loading_idle, idle);
    out[EK_TRACE_HOST] = at_most(late, idle - out[EK_TRACE_DATA]);
    out[EK_TRACE_IDLE] = idle - out[EK_TRACE_DATA] - out[EK_TRACE_HOST];
}

/* Idle for the host by step. A gap that began before its step counts from the step's start. */
static void sum_gaps(const ek_trace_rank *rank, int64_t *late)
{
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    for (int i = rank->dispatch.n_gaps; i-- > 0;) {
        const ek_trace_host_gap *gap = &rank->dispatch.gap[i];
        int step = ek__step_index_before(&cursor, gap->end);
        if (step < 0 || strcmp(gap->cause, "data_loading") == 0)
            continue;
        int64_t from = ek__step_start_of(&rank->step[step]);
        late[step] = ek__ns_add(late[step], ek__ns_sub(gap->end, gap->start > from ? gap->start : from));
    }
}

static ek_status count_steps(const steps *s, ek_error *err)
{
    int64_t *late = ek__alloc((size_t)s->rank->n_steps, sizeof *late);
    bool fine = late;
    if (fine)
        sum_gaps(s->rank, late);
    for (int i = 0; i < s->rank->n_steps && fine; i++) {
        ek_trace_step *step = &s->rank->step[i];
        if (step->from_table || step->raw.n_events <= 0)
            continue;
        fine = count_busy(&s->of[(size_t)i * N_BUSY], step->activity);
        if (fine)
            count_idle(s->rank, i, late[i], step->activity);
    }
    free(late);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- pieces ---- */

static ek_trace_span *keep_spans(ek__pool *pool, const ek__intervals *set)
{
    ek_trace_span *out = ek__pool_alloc(pool, set->n, sizeof *out);
    for (size_t i = 0; out && i < set->n; i++)
        out[i] = (ek_trace_span){set->at[i].start, set->at[i].end};
    return out;
}

static int by_start(const void *a, const void *b)
{
    const ek__interval *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The host waits in synchronisations, and in calls for copies that return when these have ended. */
static bool find_waits(const ek__trace *trace, ek__intervals *out)
{
    ek__slice sync = trace->of[EK__EVENT_SYNC], copy = trace->of[EK__EVENT_COPY];
    ek__interval *all = ek__alloc(sync.n + copy.n, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; all && i < sync.n; i++)
        all[n++] = (ek__interval){sync.event[i].start, ek__event_end(&sync.event[i])};
    for (size_t i = 0; all && i < copy.n; i++) {
        const ek__event *call = ek__launch_of(trace, &copy.event[i]);
        if (call && ek__event_end(call) >= ek__event_end(&copy.event[i]))
            all[n++] = (ek__interval){call->start, ek__event_end(call)};
    }
    ek__sort(all, n, sizeof *all, by_start);
    bool fine = all;
    for (size_t i = 0; fine && i < n; i++)
        fine = ek__intervals_add(out, all[i].start, all[i].end);
    free(all);
    return fine;
}

static ek_status keep_host(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_work *out = &rank->work;
    ek__intervals data = {0}, wait = {0};
    if (ek__intervals_of(trace->of[EK__EVENT_DATA], INT64_MIN, INT64_MAX, &data) && find_waits(trace, &wait)) {
        out->data = keep_spans(rank->pool, &data);
        out->n_data = data.n;
        out->wait = keep_spans(rank->pool, &wait);
        out->n_waits = wait.n;
    }
    ek__intervals_clear(&data);
    ek__intervals_clear(&wait);
    return out->data && out->wait ? EK_OK : ek__no_memory(err);
}

static ek_status keep_pieces(const ek__trace *trace, const ek__device_work *work, size_t n, ek_trace_rank *rank,
                             ek_error *err)
{
    ek_trace_work *out = &rank->work;
    const ek__event *collectives = trace->of[EK__EVENT_COLLECTIVE].event;
    const char **name = ek__alloc(trace->n_names, sizeof *name);
    out->piece = name ? ek__pool_alloc(rank->pool, n, sizeof *out->piece) : NULL;
    bool fine = out->piece, kineto = trace->producer == EK_PRODUCER_KINETO;
    int64_t reach = INT64_MIN; /* of the collectives so far */
    for (size_t i = 0; fine && i < n; i++) {
        const ek__event *e = work[i].event;
        if (e->kind == EK__EVENT_COLLECTIVE)
            reach = ek__event_end(e) > reach ? ek__event_end(e) : reach;
        else if (!kineto && e->kind == EK__EVENT_COPY && e->start < reach)
            continue; /* Ascend's collectives consist of copies */
        if (!name[e->name]) {
            const char *text = ek__trace_name(trace, e->name);
            name[e->name] = ek__pool_text(rank->pool, text, strlen(text));
        }
        fine = name[e->name];
        out->piece[out->n++] = (ek_trace_piece){
            .start = e->start,
            .end = ek__event_end(e),
            .launch = work[i].launch,
            .name = name[e->name],
            .collective = e->kind == EK__EVENT_COLLECTIVE && e - collectives < rank->communication.n_collectives
                              ? (int)(e - collectives)
                              : -1,
            .step = work[i].step,
            .stream = e->track,
            .activity = work[i].activity};
    }
    free(name);
    return fine ? keep_host(trace, rank, err) : ek__no_memory(err);
}

static ek_status make_queue(const ek__device_work *work, size_t n, ek_trace_rank *rank, ek_error *err)
{
    ek__launched *launched = ek__alloc(n, sizeof *launched);
    for (size_t i = 0; launched && i < n; i++)
        launched[i] = (ek__launched){work[i].launch, work[i].event->start};
    ek_status status =
        launched ? ek__launch_queue_make(launched, n, rank->pool, &rank->queue, err) : ek__no_memory(err);
    free(launched);
    return status;
}

ek_status ek__analyse_anatomy(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                              ek_error *err)
{
    ek__device_work *work = NULL;
    size_t n = 0, n_sets = (size_t)rank->n_steps * N_BUSY;
    if (!rank->has_device_events)
        return EK_OK;
    steps s = {rank, ek__alloc(n_sets, sizeof *s.of), NULL};
    ek_status status = s.of ? ek__device_work_make(trace, options, rank, &work, &n, err) : ek__no_memory(err);
    if (!status)
        status = deal(&s, work, n) ? count_steps(&s, err) : ek__no_memory(err);
    if (!status)
        status = make_queue(work, n, rank, err);
    if (!status && options->measure)
        status = keep_pieces(trace, work, n, rank, err);
    free(s.room);
    free(s.of);
    free(work);
    return status;
}
