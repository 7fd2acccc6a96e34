/* cli/emit.h - printing a plan as the settings of a training framework: all of it or nothing. */
#ifndef EK_CLI_EMIT_H
#define EK_CLI_EMIT_H

#include "evenkeel/emit.h"

#include "options.h"

/** Takes the name of an emitter, into a `const ek_emitter *`; false after a message that lists the names. */
bool cli_take_emitter(const cli_option *option, const char *text, void *place);

/** Write a plan's settings to a file, or to stdout when `path` is NULL. A note reports settings that do not cover the
 * whole plan.
 *  @param told  out: how much of the plan they cover
 *  @return false after a message, with nothing written */
bool cli_emit(const ek_emitter *emitter, const ek_emission *emission, const char *path, ek_telling *told);

#endif
