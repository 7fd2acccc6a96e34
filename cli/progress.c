/* Draws the progress bar over itself, at most ten times a second. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "evenkeel/progress.h"
#include "evenkeel/trace.h"
#include "options.h"
#include "search.h"

void cli_progress_show(void *progress, double share, const char *what)
{
    enum { WIDTH = 30, EIGHTHS = 8 };
    static const char *const part[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    cli_progress *p = progress;
    double now = cli_now();
    if (!p->terminal || now - p->last < 0.1)
        return;
    p->last = now;
    cli_bar_drawn();
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    int filled = (int)(share * WIDTH * EIGHTHS), whole = filled / EIGHTHS;
    fputs("\r\033[K", stderr);
    for (int i = 0; i < whole; i++)
        fputs("█", stderr);
    fputs(whole < WIDTH ? part[filled % EIGHTHS] : "", stderr);
    fprintf(stderr, "%*s %3d %%  %.60s", WIDTH - whole - (whole < WIDTH && filled % EIGHTHS ? 1 : 0), "",
            (int)(100 * share), what ? what : "");
    fflush(stderr);
}

static volatile sig_atomic_t is_drawn;

void cli_bar_drawn(void)
{
    is_drawn = 1;
}

void cli_bar_wipe(void)
{
    static const char wipe[] = "\r\033[K";
    if (!is_drawn)
        return;
    is_drawn = 0;
    ssize_t written = write(STDERR_FILENO, wipe, sizeof wipe - 1);
    (void)written; /* a terminal that is gone needs no wiping */
}

void cli_progress_init(cli_progress *progress)
{
    *progress = (cli_progress){.terminal = cli_is_terminal(STDERR_FILENO) && cli_color(STDERR_FILENO)};
    progress->listener = cli_listener;
    progress->notes = cli_notes;
}

void cli_progress_begin(cli_progress *progress)
{
    cli_progress_init(progress);
    progress->begun = true;
}

void cli_progress_follow(cli_progress *progress)
{
    cli_progress_begin(progress);
    progress->follows = progress->terminal;
    if (progress->follows)
        ek_progress_begin(cli_progress_show, progress);
}

void cli_progress_catch(cli_progress *progress)
{
    cli_progress_begin(progress);
    progress->catches = true;
    cli_catch_interrupt();
}

void cli_progress_begin_trace(cli_progress *progress, ek_trace_options *options)
{
    cli_progress_begin(progress);
    options->progress = cli_progress_show;
    options->user = progress;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->follows)
        ek_progress_end();
    if (progress->catches)
        cli_release_interrupt();
    progress->begun = progress->catches = progress->follows = false;
    cli_bar_wipe();
}
