/* cli/axes.h - values of the axes of layouts: --fix tp=8,ep=1 and --range pp=1:16. */
#ifndef EK_CLI_AXES_H
#define EK_CLI_AXES_H

#include "evenkeel/evenkeel.h"

#include "options.h"

/** Take a list of AXIS=VALUE, or with `ranges` of AXIS=LEAST:MOST; axes by their short names, those of JSON, and sp for
 *  sequence parallelism. False after a message. */
bool cli_take_axes(const cli_option *option, const char *text, bool ranges, ek_layout_options *out);

#endif
