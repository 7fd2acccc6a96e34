/* The words for types of events and of live memory, in the order of the document. */
#include "evenkeel/trace_index.h"

static const char *const ek__view_type_name[EK_N_VIEW_TYPES] = {
#define EK_VIEW_TYPE_TEXT(name, text) text,
    EK_VIEW_TYPE_LIST(EK_VIEW_TYPE_TEXT)
#undef EK_VIEW_TYPE_TEXT
};
const char *const *const ek_view_type_name = ek__view_type_name;
