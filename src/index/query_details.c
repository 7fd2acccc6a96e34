/* Collects the details of one event: its text from the trace, its layer, its arrows and the events at their other
 * ends. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "index/opened.h"

void ek__index_details_clear(ek__index_details *details)
{
    free(details->text);
    details->text = NULL;
    details->size = 0;
}

static ek_status add_flow(const ek__index_opened *f, const ek__index_arrow *arrow, bool outgoing,
                          ek__index_groups *groups, ek__index_details *out, ek_error *err)
{
    int row;
    uint32_t at;
    ek__index_event event;
    uint32_t track = outgoing ? arrow->to_track : arrow->from_track;
    int64_t time = outgoing ? arrow->to_time : arrow->from_time;
    assert(track < f->n_tracks && out->n_flows < EK__INDEX_MAX_FLOWS);
    ek_status status = ek__index_locate_deepest(f, &f->track[track], time, groups, &row, &at, &event, err);
    if (status != EK_OK)
        return status;
    ek__index_flow *flow = &out->flow[out->n_flows++];
    *flow = (ek__index_flow){.outgoing = outgoing,
                             .name = ek__index_name_number(f, arrow->name),
                             .row = -1,
                             .index = UINT32_MAX,
                             .begin = ek__index_shown(f, time),
                             .end = ek__index_shown(f, time),
                             .event_name = UINT32_MAX};
    assert(row < 0 || (uint32_t)row < f->n_rows);
    if (row >= 0) {
        flow->row = f->first_row + row;
        flow->index = at;
        flow->begin = ek__index_shown(f, event.begin);
        flow->end = ek__index_shown(f, ek__index_event_end(&event));
        flow->event_name = ek__index_name_number(f, event.name);
    }
    return EK_OK;
}

static ek_status add_flows(const ek__index_opened *f, int row, uint32_t at, const ek__index_event *event,
                           ek__index_groups *groups, ek__index_details *out, ek_error *err)
{
    ek__index_arrow arrow[EK__INDEX_MAX_FLOWS];
    ek_status status = EK_OK;
    for (int to = 1; to >= 0 && status == EK_OK; to--) {
        int n = 0;
        status = ek__index_arrows_of(f, row, at, event, to, groups, arrow, EK__INDEX_MAX_FLOWS - out->n_flows, &n, err);
        assert(n >= 0 && out->n_flows + n <= EK__INDEX_MAX_FLOWS);
        for (int i = 0; i < n && status == EK_OK; i++)
            status = add_flow(f, &arrow[i], !to, groups, out, err);
    }
    return status;
}

static ek_status fill(const ek__index_opened *f, int row, uint32_t at, const ek__index_event *event,
                      ek__index_groups *groups, ek__index_details *out, ek_error *err)
{
    ek_status status = ek__index_read_text(f, event, &out->text, err);
    if (status != EK_OK)
        return status;
    out->size = EK__EVENT_SIZE(event);
    out->name = ek__index_name_number(f, event->name);
    assert(EK__EVENT_TYPE(event) < EK_N_VIEW_TYPES);
    out->type = (uint8_t)EK__EVENT_TYPE(event);
    out->begin = ek__index_shown(f, event->begin);
    out->end = ek__index_shown(f, ek__index_event_end(event));
    status = add_flows(f, row, at, event, groups, out, err);
    if (status == EK_OK)
        status = ek__index_layer(f, row, at, event, out->text, out->size, groups, out->layer, err);
    return status;
}

ek_status ek__index_event_details(const ek_trace_index *index, int row, uint32_t at, ek__index_details *out,
                                  ek_error *err)
{
    const ek__index_row *r;
    const ek__index_opened *f = ek__index_find_row(index, row, &r);
    ek__index_event event;
    if (!f)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no row %d; rows are numbered from 0 to %d", row,
                        index->n_rows - 1);
    if (at >= r->n_events)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no event %lu in row %d; it has %llu",
                        (unsigned long)at, row, (unsigned long long)r->n_events);
    ek_status status = ek__index_read_events(f, r, at, 1, &event, err);
    if (status != EK_OK)
        return status;
    ek__index_groups *groups = calloc(1, sizeof *groups);
    ek__index_details *details = calloc(1, sizeof *details);
    status = groups && details ? fill(f, row - f->first_row, at, &event, groups, details, err) : ek__no_memory(err);
    if (status == EK_OK)
        *out = *details;
    else if (details)
        ek__index_details_clear(details);
    free(details);
    free(groups);
    return status;
}
