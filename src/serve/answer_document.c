/* Answers with the document with all figures, or reports that it is not there yet. When it could not be made, the
 * timeline replaces it, with a note. */
#include "serve/answer.h"

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    static const char making[] = "{\"ready\": false}";
    const ek_serve_options *options = serving->options;
    const char *text = NULL;
    size_t size = 0;
    (void)request, (void)err;
    if (options->document && !options->document(options->user, &text, &size)) {
        *out = (ek__reply){.status = 202, .type = "application/json", .borrowed = making, .size = sizeof making - 1};
        return EK_OK;
    }
    *out = (ek__reply){.status = 200, .type = "application/json", .borrowed = text, .size = size};
    if (!options->document) {
        out->borrowed = serving->timeline;
        out->size = serving->timeline_size;
    } else if (!text) {
        out->borrowed = serving->unfinished;
        out->size = serving->unfinished_size;
    }
    return EK_OK;
}

const ek__answer ek__answer_document = {.name = "document", .make = make};
