/* Writes communication as links between events: sends and receives of two ranks as arrows, collectives as calls of one
 * number. Both were matched when the run was read (src/trace/compare/compare_pairs.c, compare_slow_rank.c); here each
 * side is searched among the rows of its rank, by its start and its name. The name of a collective in NCCL's kernels is
 * made from the arguments, so there the event's type has to suffice. An arrow leaves where the send begins and arrives
 * just before the receive ends, when both have the data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "index/index.h"
#include "view/trace_sections.h"

/* A side of a link: the row of its event, -1 while there is none. */
typedef struct side {
    int row;
    ek__index_event event;
} side;

/* `name`: NULL for any collective. */
static ek_status is_named(const ek_trace_index *index, const ek__index_event *event, const char *name, bool *has,
                          ek_error *err)
{
    size_t size;
    *has = EK__EVENT_TYPE(event) == EK_VIEW_COMMUNICATION;
    if (!name)
        return EK_OK;
    const char *text;
    ek_status status = ek__index_name_text(index, event->name, &text, &size, err);
    *has = status == EK_OK && size == strlen(name) && memcmp(text, name, size) == 0;
    return status;
}

/* Is the event with this begin among a row's? Of two that touch there, the second begins. */
static ek_status find_in_row(const ek_trace_index *index, int row, int64_t begin, const char *name, side *out,
                             ek_error *err)
{
    ek__index_event near[2];
    uint32_t at;
    ek_status status = ek__index_event_at(index, row, begin, &at, err);
    if (status != EK_OK || at == UINT32_MAX)
        return status;
    uint32_t n = (int64_t)at + 1 < ek__index_row_events(index, row) ? 2 : 1;
    status = ek__index_events(index, row, at, n, near, err);
    for (uint32_t i = 0; i < n && status == EK_OK && out->row < 0; i++) {
        bool has = false;
        if (near[i].begin == begin)
            status = is_named(index, &near[i], name, &has, err);
        if (has)
            *out = (side){row, near[i]};
    }
    return status;
}

/* The row of a rank's collective, if the timeline shows it. `*hint`: the row to try first, of the rank's last one; -1
 * without. */
static ek_status find_side(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_collective *one, int *hint,
                           side *out, ek_error *err)
{
    double at;
    ek_status status = EK_OK;
    const char *name = rank->producer == EK_PRODUCER_KINETO ? NULL : one->name;
    out->row = -1;
    if (!ek__view_trace_at(run, rank, one->start, &at))
        return EK_OK;
    if (*hint >= 0)
        status = find_in_row(run->index, *hint, (int64_t)at, name, out, err);
    ek__index_file_info file = ek__index_describe_file(run->index, ek__view_trace_group(run, rank));
    for (int t = file.first_track; t < file.first_track + file.n_tracks; t++) {
        ek__index_track_info track = ek__index_describe_track(run->index, t);
        bool device = track.track_class == EK__TRACK_COMMUNICATION || track.track_class == EK__TRACK_COMPUTE;
        for (int row = track.first_row; device && row < track.first_row + track.n_rows; row++) {
            if (status != EK_OK || out->row >= 0) {
                *hint = out->row;
                return status;
            }
            status = find_in_row(run->index, row, (int64_t)at, name, out, err);
        }
    }
    *hint = out->row;
    return status;
}

ek_status ek__view_trace_transfers(const ek_view_run *run, ek__view_timeline *t, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < run->trace->n_transfers && status == EK_OK; i++) {
        const ek_trace_transfer *one = &run->trace->transfer[i];
        const ek_trace_rank *sender = &run->trace->rank[one->from_rank], *receiver = &run->trace->rank[one->to_rank];
        side send, receive = {.row = -1};
        int no_hint[2] = {-1, -1};
        status = find_side(run, sender, &sender->communication.collective[one->from], &no_hint[0], &send, err);
        if (status == EK_OK && send.row >= 0)
            status = find_side(run, receiver, &receiver->communication.collective[one->to], &no_hint[1], &receive, err);
        if (status != EK_OK || receive.row < 0)
            continue;
        const ek__index_event *e = &receive.event;
        int64_t arrives = e->begin + e->duration - (e->duration > 0);
        ek__timeline_arrow(t, send.row, (double)send.event.begin, receive.row, (double)arrives, "transfer");
    }
    return status;
}

/* ---- collectives ---- */

/* Collectives that others waited for: [n_ranks] lists of [n_collectives]; NULL when memory is out. */
static bool **find_last(const ek_trace_run *run)
{
    bool **last = ek__alloc((size_t)run->n_ranks, sizeof *last);
    bool fine = last;
    for (int r = 0; fine && r < run->n_ranks; r++)
        fine = (last[r] = ek__alloc((size_t)run->rank[r].communication.n_collectives, sizeof **last)) != NULL;
    for (int r = 0; fine && r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_collectives; i++) {
            const ek_trace_collective *one = &run->rank[r].communication.collective[i];
            if (one->match >= 0 && one->last >= 0 && one->last_call >= 0)
                last[one->last][one->last_call] = true;
        }
    if (fine || !last)
        return last;
    for (int r = 0; r < run->n_ranks; r++)
        free(last[r]);
    free(last);
    return NULL;
}

static double wait_of(const ek_trace_collective *one)
{
    if (one->transit == EK_TRACE_UNKNOWN)
        return (double)NAN;
    return one->duration > one->transit ? (double)(one->duration - one->transit) : 0;
}

static ek_status add_calls(const ek_view_run *run, int rank, const bool *last, ek__view_timeline *t, ek_error *err)
{
    const ek_trace_rank *of = &run->trace->rank[rank];
    ek_status status = EK_OK;
    int hint = -1;
    for (int i = 0; i < of->communication.n_collectives && status == EK_OK; i++) {
        const ek_trace_collective *one = &of->communication.collective[i];
        side here;
        if (one->match < 0 || one->match > UINT32_MAX)
            continue;
        status = find_side(run, of, one, &hint, &here, err);
        if (status == EK_OK && here.row >= 0)
            ek__timeline_call(t, &(ek__view_call){here.row, (double)here.event.begin, wait_of(one),
                                                  (uint32_t)one->match, last[i], one->n_group});
    }
    return status;
}

ek_status ek__view_trace_calls(const ek_view_run *run, ek__view_timeline *t, ek_error *err)
{
    const int n_ranks = run->trace->n_ranks;
    bool **last = find_last(run->trace);
    ek_status status = last ? EK_OK : ek__no_memory(err);
    for (int r = 0; r < n_ranks && status == EK_OK; r++)
        status = add_calls(run, r, last[r], t, err);
    for (int r = 0; last && r < n_ranks; r++)
        free(last[r]);
    free(last);
    return status;
}
