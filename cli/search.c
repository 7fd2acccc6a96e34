/* Runs the balancer with signal handling, clock and progress line. */
#include "search.h"
#include "evenkeel/layers.h"
#include "evenkeel/progress.h"
#include "evenkeel/save.h"
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ek_interrupt cli_interrupt;
static volatile double interrupted_at;
static struct sigaction before;

/* One that follows at once is the same one: a terminal or `timeout` may signal both the process and its group. */
static void interrupt(int signal_number)
{
    if (!ek_interrupted(&cli_interrupt)) {
        interrupted_at = cli_now();
        ek_interrupt_set(&cli_interrupt);
    } else if (cli_now() - interrupted_at > 0.5) {
        ek_temporaries_remove();
        cli_bar_wipe();
        _exit(128 + signal_number);
    }
}

/* The process ends as if the signal had not been caught, so that a shell sees which signal it was. */
static void end(int signal_number)
{
    sigset_t own;
    ek_temporaries_remove();
    cli_bar_wipe();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigemptyset(&own);
    sigaddset(&own, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    _exit(128 + signal_number);
}

/* Does an uncaught signal leave the process alive, or is it impossible to catch? */
static bool spares(int signal_number)
{
    static const int sparing[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGKILL};
    for (size_t i = 0; i < sizeof sparing / sizeof *sparing; i++)
        if (sparing[i] == signal_number)
            return true;
#ifdef SIGWINCH
    return signal_number == SIGWINCH;
#else
    return false;
#endif
}

void cli_clear_up_at_ends(void)
{
    struct sigaction now, action = {.sa_handler = end};
    sigfillset(&action.sa_mask);
    for (int i = 1; i <= SIGRTMAX; i++)
        if (!spares(i) && sigaction(i, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(i, &action, NULL);
}

void cli_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = interrupt};
    sigfillset(&action.sa_mask);
    sigaction(SIGINT, &action, &before);
}

void cli_release_interrupt(void)
{
    sigaction(SIGINT, &before, NULL);
}

void cli_search_init(cli_search *search)
{
    *search = (cli_search){.begin = cli_now(), .terminal = cli_is_terminal(STDERR_FILENO)};
    ek_balance_options_init(&search->options);
}

double cli_search_left(const cli_search *search)
{
    return fmax(search->options.time_limit - (cli_now() - search->begin), 0.001);
}

static const char *label_of(const cli_search *search)
{
    return search->label[0] ? search->label : "balance";
}

/* Work before the search for plans, and between two searches. */
static void show_work(void *user, double share, const char *what)
{
    const cli_search *search = user;
    fprintf(stderr, "\r\033[K%s: %s, %d %%, %.1f s left", label_of(search), what, (int)(100 * share),
            cli_search_left(search));
    cli_bar_drawn();
}

static void show_progress(void *user, const ek_balance_progress *progress)
{
    const cli_search *search = user;
    double left = search->run_limit - progress->seconds;
    if (progress->done > 0.01) {
        double own = progress->seconds / progress->done - progress->seconds;
        left = own < left ? own : left;
    }
    double gap = 100 * (1 - progress->lower_bound / progress->best_step_time);
    fprintf(stderr, "\r\033[K%s: step %.6g, gap %.1f %%, %.1f s left, last improved %.1f s ago", label_of(search),
            progress->best_step_time, gap > 0 ? gap : 0, left > 0 ? left : 0,
            progress->seconds - progress->best_seconds);
    fflush(stderr);
    cli_bar_drawn();
}

ek_balance_options cli_search_options(cli_search *search, const ek_comm *comm)
{
    ek_balance_options options = search->options;
    options.comm = *comm;
    options.interrupt = &cli_interrupt;
    options.user = search;
    options.progress = search->terminal ? show_progress : NULL;
    options.time_limit = cli_search_left(search);
    return options;
}

void cli_search_begin(cli_search *search)
{
    cli_catch_interrupt();
    if (search->terminal)
        ek_progress_begin(show_work, search);
}

void cli_search_end(const cli_search *search)
{
    if (search->terminal)
        ek_progress_end();
    cli_release_interrupt();
    cli_bar_wipe();
}

ek_status cli_search_run(cli_search *search, const ek_layers *layers, const ek_schedule *schedule,
                         const ek_shape *shape, const ek_comm *comm, double seconds, ek_order **order,
                         ek_balance_result *result, ek_error *err)
{
    ek_balance_options wanted = cli_search_options(search, comm);
    void *lists;
    wanted.time_limit = search->run_limit = seconds;
    ek_status status = cli_cluster_fill(&search->cluster, shape, &wanted, &lists, err);
    if (status)
        return status;
    cli_search_begin(search);
    status = ek_balance_arranged(layers, schedule, shape, &wanted, order, result, err);
    cli_search_end(search);
    cli_cluster_release(lists);
    return status;
}
