/* Sends and receives of two ranks as arrows between their events: transfers were brought together when the run was
 * read (src/trace/compare/compare_pairs.c); here each side is looked for among the rows of its rank, by its begin and
 * its name. An arrow leaves where the send begins and arrives just before the receive ends, when both have what was
 * sent. */
#include <string.h>

#include "index/index.h"
#include "view/trace_sections.h"

static bool has_name(const ek_trace_index *index, const ek__index_event *event, const char *name)
{
    size_t size;
    const char *text = ek__index_name_text(index, event->name, &size);
    return size == strlen(name) && memcmp(text, name, size) == 0;
}

/* Is the event that begins then among a row's? Of two that touch there, the second begins. */
static bool find_in_row(const ek_trace_index *index, int row, int64_t begin, const char *name, ek__index_event *out)
{
    ek__index_event near[2];
    uint32_t at = ek__index_event_at(index, row, begin);
    if (at == UINT32_MAX)
        return false;
    uint32_t n = (int64_t)at + 1 < ek__index_row_events(index, row) ? 2 : 1;
    if (ek__index_events(index, row, at, n, near, NULL) != EK_OK)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (near[i].begin == begin && has_name(index, &near[i], name)) {
            *out = near[i];
            return true;
        }
    return false;
}

/* The row in which a rank's collective stands; -1 where the timeline does not show it. */
static int find_row(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_collective *one,
                    ek__index_event *out)
{
    double at;
    if (!ek__view_trace_at(run, rank, one->start, &at))
        return -1;
    ek__index_file_info file = ek__index_describe_file(run->index, ek__view_trace_group(run, rank));
    for (int t = file.first_track; t < file.first_track + file.n_tracks; t++) {
        ek__index_track_info track = ek__index_describe_track(run->index, t);
        bool device = track.track_class == EK__TRACK_COMMUNICATION || track.track_class == EK__TRACK_COMPUTE;
        for (int row = track.first_row; device && row < track.first_row + track.n_rows; row++)
            if (find_in_row(run->index, row, (int64_t)at, one->name, out))
                return row;
    }
    return -1;
}

void ek__view_trace_transfers(const ek_view_run *run, ek__view_timeline *t)
{
    for (int i = 0; i < run->trace->n_transfers; i++) {
        const ek_trace_transfer *one = &run->trace->transfer[i];
        const ek_trace_rank *sender = &run->trace->rank[one->from_rank], *receiver = &run->trace->rank[one->to_rank];
        ek__index_event send, receive;
        int from = find_row(run, sender, &sender->communication.collective[one->from], &send);
        int to = from < 0 ? -1 : find_row(run, receiver, &receiver->communication.collective[one->to], &receive);
        if (to < 0)
            continue;
        int64_t arrives = receive.begin + receive.duration - (receive.duration > 0);
        ek__timeline_arrow(t, from, (double)send.begin, to, (double)arrives, "transfer");
    }
}
