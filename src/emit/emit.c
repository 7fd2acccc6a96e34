/* The list of emitters. A new emitter is a file NAME.c with its ek_emitter, one line in EMITTERS, one declaration in
 * emit_internal.h, one line in src/meson.build, one golden file, and one column in the table of docs/convert.md.
 * Helpers of the emitters are in emission.c. */
#include "emit/emit_internal.h"

#include <string.h>

#define EMITTERS(X)                                                                                                    \
    X(mindformers)                                                                                                     \
    X(mindspeed)                                                                                                       \
    X(megatron)                                                                                                        \
    X(torchtitan)

#define POINT(id) &ek__emitter_##id,
static const ek_emitter *const ek__emitters[] = {EMITTERS(POINT) NULL};
const ek_emitter *const *const ek_emitters = ek__emitters;

const ek_emitter *ek_emitter_find(const char *name)
{
    for (const ek_emitter *const *e = ek_emitters; name && *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    return NULL;
}
