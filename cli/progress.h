/* cli/progress.h - a progress bar for long work of the trace commands: on terminals only, out of the way of warnings,
 * and Ctrl-C ends the work. */
#ifndef EK_CLI_PROGRESS_H
#define EK_CLI_PROGRESS_H

#include "evenkeel/evenkeel.h"

typedef struct cli_progress {
    bool interrupted, terminal, shown;
    double last;
    ek_listener listener; /**< for the work: prints warnings beside the bar */
} cli_progress;

/** Begin: Ctrl-C is caught from here on, and `options` get the bar. */
void cli_progress_begin(cli_progress *progress, ek_trace_options *options);
/** End: wipe the bar and give Ctrl-C back. */
void cli_progress_end(cli_progress *progress);

#endif
