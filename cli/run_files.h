/* cli/run_files.h - telling the files of a training run apart by what is in them: traces, the job's settings, logs of a
 * dry run, graphs, the training log; and what a plan is simulated from. */
#ifndef EK_CLI_RUN_FILES_H
#define EK_CLI_RUN_FILES_H

#include <stdbool.h>

typedef enum cli_run_kind {
    CLI_RUN_TRACE,
    CLI_RUN_CONFIG,
    CLI_RUN_DRY_RUN,
    CLI_RUN_IR,
    CLI_RUN_LOG,
    CLI_RUN_PLAN,   /**< a plan file, or an answer with plans */
    CLI_RUN_LAYERS, /**< a layer file */
    CLI_RUN_INIT,   /**< an init file */
    CLI_RUN_ANSWER, /**< the JSON of a command, which does not hold what it was made from */
    CLI_RUN_UNKNOWN,
} cli_run_kind;
enum { CLI_N_RUN_KINDS = 9, CLI_MAX_RUN_FILES = 4096 };
/** "trace", "settings", "dry run", "graph", "training log", "plan", "layer file", "init file", "answer". */
extern const char *const cli_run_kind_name[CLI_N_RUN_KINDS];

/** One that was found or given. */
typedef struct cli_run_file {
    char *path;
    cli_run_kind kind;
    bool found; /**< in a folder; else it was named */
} cli_run_file;

typedef struct cli_run_files {
    int n;
    cli_run_file *file;    /**< [n], in the order of the arguments; within a folder by name */
    int n_traces;          /**< files of events: one a rank */
    long long trace_bytes; /**< of them, on disk */
    bool models;           /**< take plans, layer files and init files too, where they are named */
} cli_run_files;

/** What a file is, by its content. CLI_RUN_UNKNOWN also when it cannot be read. */
cli_run_kind cli_run_kind_of(const char *path);

/**
 * Take an argument: a file of any kind, or a folder that is searched, 8 levels deep. A folder of traces or of a dry run
 * becomes one entry, since its reader finds what it needs; of several passes of one graph the last one is taken.
 * @param kind  CLI_RUN_UNKNOWN: by content; else what it is
 * @return false after a message: not there, not to be told, too many
 */
bool cli_run_take(cli_run_files *files, const char *path, cli_run_kind kind);
void cli_run_clear(cli_run_files *files);

#endif
