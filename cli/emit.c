/* Prints a plan as settings. They are made in memory first, so that a plan without an equivalent in the framework
 * leaves no partial file or output. */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

bool cli_take_emitter(const cli_option *option, const char *text, void *place)
{
    const ek_emitter **emitter = place;
    *emitter = ek_emitter_find(text);
    if (*emitter)
        return true;
    char names[256] = "";
    for (const ek_emitter *const *e = ek_emitters; *e; e++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*e)->name);
    }
    cli_error(NULL, "--%s: no framework is called '%s'; there are %s", option->names, text, names);
    return false;
}

bool cli_emit(const ek_emitter *emitter, const ek_emission *emission, const char *path, ek_telling *told)
{
    ek_error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    ek_status status = memory ? emitter->write(emission, memory, told, &err) : EK_ERR_MEMORY;
    bool fine = memory && fclose(memory) == 0 && text && status == EK_OK;
    if (!fine)
        cli_error(NULL, "plan '%s': %s", emission->name, status && err.message[0] ? err.message : "out of memory");
    else
        fine = cli_put_text(path, text, size);
    free(text);
    if (fine && *told == EK_TELLS_NEAREST)
        cli_note("%s has no setting for the recomputation of plan '%s'; the settings are the nearest, with their cost "
                 "in comments",
                 emitter->name, emission->name);
    else if (fine && *told == EK_TELLS_LAYERS)
        cli_note("%s has no setting for the recomputation of plan '%s'; the settings only place its layers, with the "
                 "reason in comments",
                 emitter->name, emission->name);
    return fine;
}
