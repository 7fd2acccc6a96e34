/* Answers with the event of a row at or around a time. */
#include "serve/answer.h"

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    if (ek__answer_check_row(serving, request, err))
        return EK_ERR_INPUT;
    uint32_t at;
    ek__answer_json json;
    ek_status status = ek__index_event_at(serving->index, request->row, request->time, &at, err);
    if (status == EK_OK)
        status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    if (at == UINT32_MAX) {
        ek__stream_null(&json.s, NULL);
    } else {
        ek__stream_object(&json.s, NULL, false);
        ek__stream_int(&json.s, "index", at);
        ek__stream_end(&json.s);
    }
    return ek__answer_json_end(&json, out, err);
}

const ek__answer ek__answer_at = {.name = "at", .needs = EK__HAS(ROW) | EK__HAS(TIME), .make = make};
