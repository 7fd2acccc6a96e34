/* Answers with all about one event: its arguments as the trace has them, and the targets of its flows. An event that is
 * not valid JSON is returned unchanged. */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "serve/answer.h"

static void print_arguments(ek__answer_json *json, const ek__index_details *details)
{
    json_t *event = json_loadb(details->text, details->size, 0, NULL);
    const json_t *args = json_object_get(event, "args");
    char *text = json_is_object(args) ? json_dumps(args, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (json_is_object(event)) {
        ek__stream_null(&json->s, "text");
        ek__stream_raw(&json->s, "args", text);
    } else {
        ek__answer_json_bytes(json, "text", details->text, details->size);
        ek__stream_null(&json->s, "args");
    }
    free(text);
    json_decref(event);
}

static void print_flow(ek__answer_json *json, const ek_trace_index *index, const ek__index_flow *flow)
{
    ek__stream_object(&json->s, NULL, false);
    ek__stream_bool(&json->s, "outgoing", flow->outgoing);
    ek__answer_json_name(json, "name", index, flow->name);
    ek__stream_int(&json->s, "row", flow->row);
    ek__stream_int(&json->s, "index", flow->row < 0 ? 0 : flow->index);
    ek__stream_int(&json->s, "begin", flow->begin);
    ek__stream_int(&json->s, "end", flow->end);
    if (flow->row < 0)
        ek__stream_text(&json->s, "event", "");
    else
        ek__answer_json_name(json, "event", index, flow->event_name);
    ek__stream_end(&json->s);
}

static ek_status print(const ek__serving *serving, const ek__index_details *details, ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    ek__stream_object(&json.s, NULL, false);
    ek__answer_json_name(&json, "name", serving->index, details->name);
    ek__stream_int(&json.s, "type", details->type);
    ek__stream_int(&json.s, "begin", details->begin);
    ek__stream_int(&json.s, "end", details->end);
    ek__stream_text(&json.s, "layer", details->layer);
    print_arguments(&json, details);
    ek__stream_list(&json.s, "flows", false);
    for (int i = 0; i < details->n_flows; i++)
        print_flow(&json, serving->index, &details->flow[i]);
    ek__stream_end(&json.s);
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    if (ek__answer_check_row(serving, request, err))
        return EK_ERR_INPUT;
    ek__index_details *details = ek__alloc(1, sizeof *details);
    if (!details)
        return ek__no_memory(err);
    ek_status status = ek__index_event_details(serving->index, request->row, request->index, details, err);
    if (status == EK_OK) {
        status = print(serving, details, out, err);
        ek__index_details_clear(details);
    }
    free(details);
    return status;
}

const ek__answer ek__answer_event = {.name = "event", .needs = EK__HAS(ROW) | EK__HAS(INDEX), .make = make};
