/* cli/run_read.h - the files of a training run, added and read with messages and a progress bar. */
#ifndef EK_CLI_RUN_READ_H
#define EK_CLI_RUN_READ_H

#include "evenkeel/run.h"
#include "evenkeel/run_files.h"

#include "job_options.h"

/** The files to read, and how. */
typedef struct cli_run_reading {
    const ek_run_files *files;
    cli_job_options *job; /**< settings on the command line */
    bool has_overrides;   /**< there are some */
    const char *device;   /**< name or file; NULL */
    double limit_mb;      /**< NAN or 0 when not given */
    int stages;           /**< of the trace; 0: by the job */
    int n_threads;
    bool quiet; /**< no remarks on the files found */
} cli_run_reading;

/** ek_run_files_add(). False after a message. */
bool cli_run_take(ek_run_files *files, const char *path, ek_run_kind kind);

/** ek_run_read(). False after a message, with the files read so far; without a message after Ctrl-C. */
bool cli_run_read(const cli_run_reading *how, ek_run_evidence *out);

#endif
