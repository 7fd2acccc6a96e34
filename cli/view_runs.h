/* cli/view_runs.h - from files of any kind to the runs of a page: traces with their figures and findings, plans with
 * their simulations, predictions of memory. */
#ifndef EK_CLI_VIEW_RUNS_H
#define EK_CLI_VIEW_RUNS_H

#include "evenkeel/evenkeel.h"

#include "cases.h"
#include "job_options.h"
#include "model.h"
#include "prediction.h"
#include "run_read.h"

enum { CLI_MAX_VIEW_RUNS = CLI_MAX_CASES + 2 };

/** How files become runs: what the command line says for all of them. */
typedef struct cli_view_how {
    cli_model model; /**< the pipeline and its limit; init and layers where they are given by options */
    cli_job_options job;
    const char *device; /**< NULL */
    double limit_mb;    /**< 0: not given */
    int stages, n_threads;
    const char *index_folder; /**< NULL: the usual one */
    bool fresh, quiet;
} cli_view_how;

/** The files that were given, or those behind --against, and what they became. Zeroed to begin with, and stays where it
 *  is. */
typedef struct cli_view_set {
    const char *given; /**< the first of them on the command line; NULL: none */
    cli_run_files files;
    cli_run_evidence evidence;
    cli_prediction memory;
    ek_diagnosis diagnosis;
    ek_trace_index *index;
    ek_layers layers;
    cli_cases cases;
    ek_report report;
    char name[EK_NAME_SIZE]; /**< of what is no plan */
    int n_runs;
    ek_view_run run[CLI_MAX_VIEW_RUNS];
} cli_view_set;

/** Paths of the set's traces. @return how many */
int cli_view_traces(const cli_view_set *set, const char *path[CLI_MAX_RUN_FILES]);

/**
 * Read everything of a set and fill its runs. Without an index of its own in the set the traces are indexed for a page,
 * whose size is bounded.
 * @param other  whose layers serve plans that come without; NULL
 * @return false after a message
 */
bool cli_view_read(const cli_view_how *how, const cli_view_set *other, cli_view_set *set);
void cli_view_clear(cli_view_set *set);

#endif
