/* cli/progress.h - a progress bar for long work: only on terminals, cleared before messages.
 *
 * Ctrl-C ends the program at any moment of the work, as it ends one that shows no bar. Only work that already has an
 * answer, or must clean up itself, catches it (cli_progress_catch()). */
#ifndef EK_CLI_PROGRESS_H
#define EK_CLI_PROGRESS_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef struct cli_progress {
    bool terminal;
    bool begun;   /**< between begin and end */
    bool catches; /**< Ctrl-C, until the end */
    bool follows; /**< the library's reports on this thread's work, until the end */
    double last;
    ek_listener listener; /**< for the work: prints warnings beside the bar */
    ek_listener notes;    /**< the same for notes */
} cli_progress;

/** For work that may begin later: only its listeners. */
void cli_progress_init(cli_progress *progress);
/** Begin: the work gets cli_progress_show() with `progress` as its user. */
void cli_progress_begin(cli_progress *progress);
/** Begin, with the reports of ek_progress_begin() as the progress: for functions without their own callback. */
void cli_progress_follow(cli_progress *progress);
/** Begin with Ctrl-C caught: the work gets &cli_interrupt, too. */
void cli_progress_catch(cli_progress *progress);
/** Draws the bar. */
void cli_progress_show(void *progress, double share, const char *what);
/** Begin, with `options` of a reader of traces filled. */
void cli_progress_begin_trace(cli_progress *progress, ek_trace_options *options);
/** End: wipe the bar and give Ctrl-C back. */
void cli_progress_end(cli_progress *progress);

/** A line without an end is now on the terminal. */
void cli_bar_drawn(void);
/** Wipe that line, if there is one: before anything else is printed. Async-signal-safe. */
void cli_bar_wipe(void);

#endif
