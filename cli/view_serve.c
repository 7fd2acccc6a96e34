/* Serves a page: starts the index first, then the child that computes the figures, then the server's threads. Signals
 * are blocked before any of them starts and waited for here, so that none arrives elsewhere. */
#include "view_serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "evenkeel/serve.h"
#include "evenkeel/trace_index.h"
#include "files.h"
#include "progress.h"
#include "timeline.h"
#include "view_document.h"

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

/* Those that are waited for. One that is ignored would never arrive: a shell's background jobs ignore SIGINT. */
static void block_signals(sigset_t *awaited)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction before, action = {.sa_handler = do_nothing};
    sigemptyset(awaited);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        bool hung_up = signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (hung_up) /* nohup */
            continue;
        sigaction(signals[i], &action, NULL);
        sigaddset(awaited, signals[i]);
    }
    sigprocmask(SIG_BLOCK, awaited, NULL);
}

/* Prints the address to open, and how to open it from another machine. The address goes to standard output, for
 * scripts; the rest is for people. */
static bool print_address(const cli_view_how *how, const ek_server *server)
{
    ek_error err;
    puts(ek_server_address(server));
    if (!how->quiet)
        cli_note("open this address in a browser; Ctrl-C ends the server. From another machine: "
                 "ssh -L %d:127.0.0.1:%d HOST, then the same address there",
                 ek_server_port(server), ek_server_port(server));
    return cli_printed(EK_OK, &err);
}

/* Until a signal other than that of the child. */
static void wait_for_end(const sigset_t *awaited, cli_document *document)
{
    cli_document_check(document); /* it may have ended before its signal was blocked */
    for (;;) {
        int which = sigwaitinfo(awaited, NULL);
        if (which == SIGCHLD)
            cli_document_check(document);
        else if (which > 0 || errno != EINTR)
            return;
    }
}

static int serve(const cli_view_how *how, const ek_serve_options *options, const sigset_t *awaited,
                 cli_document *document, ek_trace_index *index)
{
    ek_error err;
    ek_server *server;
    if (ek_server_start(index, options, &server, &err)) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    bool printed = print_address(how, server);
    if (printed)
        wait_for_end(awaited, document);
    ek_server_stop(server);
    return printed ? EXIT_DONE : EXIT_WRONG;
}

static bool open_index(const cli_view_how *how, ek_view_files *set, ek_trace_index_made *made)
{
    const char *path[EK_MAX_RUN_FILES];
    int n = ek_run_files_of(&set->files, EK_RUN_TRACE, path);
    ek_error err;
    cli_progress progress;
    ek_view_name_of(set->given, set->name, sizeof set->name);
    cli_progress_begin(&progress);
    const ek_trace_index_options options = {.folder = how->index_folder,
                                            .fresh = how->fresh,
                                            .n_threads = how->n_threads,
                                            .progress = cli_progress_show,
                                            .user = &progress};
    ek_status status =
        ek_trace_index_open(path, n, &options, how->quiet ? NULL : &progress.listener, &set->index, made, &err);
    cli_progress_end(&progress);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}

static void note_indexed(const cli_view_how *how, const ek_trace_index_made *made)
{
    if (how->quiet || made->n_written == 0)
        return;
    cli_note("%d of %d trace%s indexed in %.1f s, %.0f MB/s; the index takes %.0f MB in %s", made->n_written,
             made->n_files, made->n_files == 1 ? "" : "s", made->seconds,
             made->seconds > 0 ? 1e-6 * (double)made->bytes_read / made->seconds : 0, 1e-6 * (double)made->bytes_index,
             made->folder);
}

int cli_view_serve(const cli_view_how *how, const cli_serve_options *options, ek_view_files *first,
                   ek_view_files *second)
{
    ek_trace_index_made made, made_second;
    cli_document document;
    sigset_t awaited;
    bool compares = second->files.n > 0;
    if (!open_index(how, first, &made) || (compares && !open_index(how, second, &made_second)))
        return EXIT_WRONG;
    note_indexed(how, &made);
    if (compares)
        note_indexed(how, &made_second);
    const char *title = options->title ? options->title : first->name;
    int code = EXIT_WRONG;
    block_signals(&awaited);
    if (cli_document_begin(&document, how, title, made.folder, first, second)) {
        const ek_serve_options server_options = {.port = options->port,
                                                 .title = title,
                                                 .lang = options->lang,
                                                 .name = first->name,
                                                 .against = second->index,
                                                 .against_name = second->name,
                                                 .document = cli_document_get,
                                                 .user = &document};
        code = serve(how, &server_options, &awaited, &document, first->index);
    }
    cli_document_end(&document);
    return code;
}
