/* Answers with the viewer without a document: the page requests the document separately. */
#include "evenkeel/view.h"
#include "serve/answer.h"

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    (void)serving, (void)request, (void)err;
    *out = (ek__reply){.status = 200, .type = "text/html; charset=utf-8"};
    out->borrowed = ek_view_shell(&out->size);
    return EK_OK;
}

const ek__answer ek__answer_page = {.name = "", .make = make};
