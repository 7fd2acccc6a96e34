/* Answers with the document of the first moment: the timeline's rows, without figures. */
#include "serve/answer.h"

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    (void)request, (void)err;
    *out = (ek__reply){.status = 200, .type = "application/json", .borrowed = serving->timeline};
    out->size = serving->timeline_size;
    return EK_OK;
}

const ek__answer ek__answer_timeline = {.name = "timeline", .make = make};
