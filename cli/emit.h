/* cli/emit.h - printing a plan as the settings of a training framework: all of it or nothing. */
#ifndef EK_CLI_EMIT_H
#define EK_CLI_EMIT_H

#include "evenkeel/emit.h"

#include "options.h"

/** The emitter of a name; NULL after a message that lists the names. */
const ek_emitter *cli_find_emitter(const cli_option *option, const char *name);

/** Write a plan's settings to a file, or to stdout when `path` is NULL. A note says when they are not all of the plan.
 *  @param told  out: how much they say
 *  @return false after a message, with nothing written */
bool cli_emit(const ek_emitter *emitter, const ek_emission *emission, const char *path, ek_telling *told);

#endif
