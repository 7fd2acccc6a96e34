/* cli/progress.h - a progress bar for long work: on terminals only, out of the way of warnings,
 * and Ctrl-C ends the work. */
#ifndef EK_CLI_PROGRESS_H
#define EK_CLI_PROGRESS_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef struct cli_progress {
    bool terminal, shown;
    bool catches; /**< Ctrl-C: between begin and end */
    double last;
    ek_listener listener; /**< for the work: prints warnings beside the bar */
    ek_listener notes;    /**< the same for notes */
} cli_progress;

/** For work that may begin later: its listeners alone. */
void cli_progress_init(cli_progress *progress);
/** Begin: Ctrl-C is caught from here on. The work gets cli_progress_show() with `progress` as its user, and
 *  &cli_interrupt. */
void cli_progress_begin(cli_progress *progress);
/** Draws the bar. */
void cli_progress_show(void *progress, double share, const char *what);
/** Begin, with `options` of a reader of traces filled. */
void cli_progress_begin_trace(cli_progress *progress, ek_trace_options *options);
/** End: wipe the bar and give Ctrl-C back. */
void cli_progress_end(cli_progress *progress);

#endif
