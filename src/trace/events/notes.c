/* Adds notes to a rank; names of producers and roles. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "trace/analyse/analysis.h"

const char *const ek__producer_name[EK_N_PRODUCERS] = {"unknown", "torch_npu", "mindspore",
                                                       "msprof",  "timeline",  "kineto"};
const char *const *const ek_producer_name = ek__producer_name;
const char *const ek__trace_role_name[3] = {"head", "body", "tail"};
const char *const *const ek_trace_role_name = ek__trace_role_name;

ek_status ek__rank_note(ek_trace_rank *rank, ek_error *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    ek__vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char **room = ek__pool_push(rank->pool, rank->note, rank->n_notes, sizeof *room);
    const char *copy = room ? ek__pool_text(rank->pool, text, strlen(text)) : NULL;
    if (!copy)
        return ek__no_memory(err);
    rank->note = room;
    rank->note[rank->n_notes++] = copy;
    return EK_OK;
}
