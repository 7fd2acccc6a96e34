/* Sends and receives of two ranks as arrows between their events: transfers were brought together when the run was
 * read (src/trace/compare/compare_pairs.c); here each side is looked for among the rows of its rank, by its begin and
 * its name. An arrow leaves where the send begins and arrives just before the receive ends, when both have what was
 * sent. */
#include <string.h>

#include "index/index.h"
#include "view/trace_sections.h"

/* A side on its way: the row of its event, -1 while there is none. */
typedef struct side {
    int row;
    ek__index_event event;
} side;

static ek_status has_name(const ek_trace_index *index, const ek__index_event *event, const char *name, bool *has,
                          ek_error *err)
{
    size_t size;
    const char *text;
    ek_status status = ek__index_name_text(index, event->name, &text, &size, err);
    *has = status == EK_OK && size == strlen(name) && memcmp(text, name, size) == 0;
    return status;
}

/* Is the event that begins then among a row's? Of two that touch there, the second begins. */
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
            status = has_name(index, &near[i], name, &has, err);
        if (has)
            *out = (side){row, near[i]};
    }
    return status;
}

/* The row in which a rank's collective stands, if the timeline shows it. */
static ek_status find_side(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_collective *one, side *out,
                           ek_error *err)
{
    double at;
    ek_status status = EK_OK;
    out->row = -1;
    if (!ek__view_trace_at(run, rank, one->start, &at))
        return EK_OK;
    ek__index_file_info file = ek__index_describe_file(run->index, ek__view_trace_group(run, rank));
    for (int t = file.first_track; t < file.first_track + file.n_tracks; t++) {
        ek__index_track_info track = ek__index_describe_track(run->index, t);
        bool device = track.track_class == EK__TRACK_COMMUNICATION || track.track_class == EK__TRACK_COMPUTE;
        for (int row = track.first_row; device && row < track.first_row + track.n_rows; row++) {
            status = find_in_row(run->index, row, (int64_t)at, one->name, out, err);
            if (status != EK_OK || out->row >= 0)
                return status;
        }
    }
    return EK_OK;
}

ek_status ek__view_trace_transfers(const ek_view_run *run, ek__view_timeline *t, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < run->trace->n_transfers && status == EK_OK; i++) {
        const ek_trace_transfer *one = &run->trace->transfer[i];
        const ek_trace_rank *sender = &run->trace->rank[one->from_rank], *receiver = &run->trace->rank[one->to_rank];
        side send, receive = {.row = -1};
        status = find_side(run, sender, &sender->communication.collective[one->from], &send, err);
        if (status == EK_OK && send.row >= 0)
            status = find_side(run, receiver, &receiver->communication.collective[one->to], &receive, err);
        if (status != EK_OK || receive.row < 0)
            continue;
        const ek__index_event *e = &receive.event;
        int64_t arrives = e->begin + e->duration - (e->duration > 0);
        ek__timeline_arrow(t, send.row, (double)send.event.begin, receive.row, (double)arrives, "transfer");
    }
    return status;
}
