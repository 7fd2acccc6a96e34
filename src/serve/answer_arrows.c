/* Answers with the arrows of some rows: the index has them by track, so all arrows of the rows' tracks are read. Arrows
 * of other rows of the same tracks are included; the page draws those of visible rows. */
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "serve/answer.h"

enum { USUAL_LIMIT = 2000 };

/* Tracks of the rows, each once: rows of a track are adjacent. */
static int find_tracks(const ek_trace_index *index, const int *rows, int n, int *track)
{
    int n_tracks = 0;
    for (int i = 0; i < n; i++) {
        int own = ek__index_row_track(index, rows[i]);
        if (n_tracks == 0 || track[n_tracks - 1] != own)
            track[n_tracks++] = own;
    }
    return n_tracks;
}

static ek_status print(const ek__serving *serving, const ek__index_arrow_seen *arrow, size_t n, bool all,
                       ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    ek__stream_object(&json.s, NULL, false);
    ek__stream_bool(&json.s, "all", all);
    ek__stream_list(&json.s, "arrows", false);
    for (size_t i = 0; i < n; i++) {
        ek__stream_list(&json.s, NULL, false);
        ek__stream_int(&json.s, NULL, arrow[i].from_row);
        ek__stream_int(&json.s, NULL, arrow[i].from_time);
        ek__stream_int(&json.s, NULL, arrow[i].to_row);
        ek__stream_int(&json.s, NULL, arrow[i].to_time);
        ek__answer_json_name(&json, NULL, serving->index, arrow[i].name);
        ek__stream_end(&json.s);
    }
    ek__stream_end(&json.s);
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    const int *rows;
    if (ek__answer_rows_of(serving, request, &rows, err))
        return EK_ERR_INPUT;
    size_t limit = request->limit > 0 ? (size_t)request->limit : USUAL_LIMIT, n = 0;
    bool all = true;
    int *track = ek__alloc((size_t)request->rows.n, sizeof *track);
    ek__index_arrow_seen *arrow = ek__alloc(limit, sizeof *arrow);
    ek_status status = EK_OK;
    if (track && arrow) {
        int n_tracks = find_tracks(serving->index, rows, request->rows.n, track);
        status = ek__index_arrows(serving->index, track, n_tracks, request->begin, request->end, limit, arrow, &n, &all,
                                  err);
    } else {
        status = ek__no_memory(err);
    }
    if (status == EK_OK)
        status = print(serving, arrow, n, all, out, err);
    free(track);
    free(arrow);
    return status;
}

const ek__answer ek__answer_arrows = {
    .name = "arrows", .needs = EK__HAS(ROWS) | EK__HAS(BEGIN) | EK__HAS(END), .takes = EK__HAS(LIMIT), .make = make};
