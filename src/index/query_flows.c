/* Finds the arrows of one event, and the events at their other ends. An arrow belongs to the deepest event of its track
 * at its time, so arrows of enclosed events are excluded; at most SCANNED arrows are read. */
#include <assert.h>
#include <stdlib.h>

#include "index/opened.h"

enum { SCANNED = 4096, BATCH = 128 };

typedef struct scanning {
    const ek__index_opened *file;
    int row;
    uint32_t at;
    const ek__index_track *track;
    int64_t end;
    bool to;
    ek__index_groups *groups;
    ek_error *err;
} scanning;

/* Is the event the deepest one where the arrow meets its track? */
static ek_status is_own(const scanning *s, const ek__index_arrow *arrow, bool *own)
{
    int row;
    uint32_t at;
    ek__index_event event;
    ek_status status = ek__index_locate_deepest(s->file, s->track, s->to ? arrow->to_time : arrow->from_time, s->groups,
                                                &row, &at, &event, s->err);
    *own = status == EK_OK && row == s->row && at == s->at;
    return status;
}

static ek_status scan(const scanning *s, uint64_t first, ek__index_arrow *out, int capacity, int *n)
{
    ek__index_arrow arrow[BATCH];
    uint64_t end = s->to ? s->track->n_to : s->track->n_from;
    assert(first <= end);
    end = end - first > SCANNED ? first + SCANNED : end;
    ek_status status = EK_OK;
    while (first < end && *n < capacity && status == EK_OK) {
        size_t some = end - first < BATCH ? (size_t)(end - first) : BATCH;
        status = ek__index_read_arrows(s->file, s->track, s->to, first, some, arrow, s->err);
        for (size_t i = 0; i < some && *n < capacity && status == EK_OK; i++) {
            bool own = false;
            if ((s->to ? arrow[i].to_time : arrow[i].from_time) > s->end)
                return EK_OK;
            status = is_own(s, &arrow[i], &own);
            if (own)
                out[(*n)++] = arrow[i];
        }
        first += some;
        assert(*n <= capacity && first <= end);
    }
    return status;
}

ek_status ek__index_arrows_of(const ek__index_opened *file, int row, uint32_t at, const ek__index_event *event, bool to,
                              ek__index_groups *groups, ek__index_arrow *out, int capacity, int *n, ek_error *err)
{
    assert(row >= 0 && (uint32_t)row < file->n_rows && at < file->row[row].n_events && capacity >= 0);
    const ek__index_track *track = &file->track[file->row[row].track];
    scanning s = {file, row, at, track, ek__index_event_end(event), to, groups, err};
    uint64_t first;
    *n = 0;
    ek_status status = ek__index_first_arrow(file, track, to, event->begin, &first, err);
    return status == EK_OK ? scan(&s, first, out, capacity, n) : status;
}
