/* cli/axes.h - values of the axes of layouts: --fix tp=8,ep=1 and --range pp=1:16. */
#ifndef EK_CLI_AXES_H
#define EK_CLI_AXES_H

#include "options.h"

/** Takes a list of AXIS=VALUE, or of AXIS=LEAST:MOST for the option "range", into ek_layout_options; axes by their
 * short names, those of JSON, and sp for sequence parallelism. False after a message. */
bool cli_take_axes(const cli_option *option, const char *text, void *place);

#endif
