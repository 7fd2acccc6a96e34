/* cli/view_runs.h - the files of `evenkeel view` read into the runs of a page, with messages and a progress bar. */
#ifndef EK_CLI_VIEW_RUNS_H
#define EK_CLI_VIEW_RUNS_H

#include "evenkeel/view_files.h"

#include "job_options.h"
#include "model.h"
#include "run_read.h"

/** How files become runs: the options for all of them. */
typedef struct cli_view_how {
    cli_model model; /**< the pipeline and its limit; init and layers where they are given by options */
    cli_job_options job;
    const char *device; /**< NULL */
    double limit_mb;    /**< 0: not given */
    int stages, n_threads;
    const char *index_folder; /**< NULL: the usual one */
    bool fresh, quiet;
} cli_view_how;

/** ek_view_files_read(). False after a message; without one after Ctrl-C while traces are read. */
bool cli_view_read(const cli_view_how *how, const ek_view_files *other, ek_view_files *set);

#endif
