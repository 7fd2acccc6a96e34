/* Answers with the texts of names by number: boxes contain numbers, so that a name is sent once. */
#include "serve/answer.h"

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    ek__stream_object(&json.s, NULL, false);
    ek__stream_list(&json.s, "texts", false);
    for (int i = 0; i < request->names.n; i++)
        ek__answer_json_name(&json, NULL, serving->index, request->names.at[i]);
    ek__stream_end(&json.s);
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

const ek__answer ek__answer_names = {.name = "names", .needs = EK__HAS(NAMES), .make = make};
