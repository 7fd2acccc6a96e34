/* The bar is drawn anew at most ten times a second, over itself. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

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
    p->shown = true;
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

static void wipe(cli_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

/* Warnings may come while the bar stands there. */
static void print_warning(void *user, const ek_error *warning)
{
    wipe(user);
    cli_listener.warn(cli_listener.user, warning);
}

static void print_note(void *user, const ek_error *note)
{
    wipe(user);
    cli_notes.warn(cli_notes.user, note);
}

void cli_progress_init(cli_progress *progress)
{
    *progress = (cli_progress){.terminal = isatty(STDERR_FILENO) && cli_color(STDERR_FILENO)};
    progress->listener = (ek_listener){print_warning, progress};
    progress->notes = (ek_listener){print_note, progress};
}

void cli_progress_begin(cli_progress *progress)
{
    cli_progress_init(progress);
    progress->catches = true;
    cli_catch_interrupt();
}

void cli_progress_begin_trace(cli_progress *progress, ek_trace_options *options)
{
    cli_progress_begin(progress);
    options->progress = cli_progress_show;
    options->user = progress;
    options->interrupt = &cli_interrupt;
}

void cli_progress_end(cli_progress *progress)
{
    cli_release_interrupt();
    progress->catches = false;
    wipe(progress);
}
