/* cli/run_read.h - reading the files of a training run that cli/run_files.h told apart. */
#ifndef EK_CLI_RUN_READ_H
#define EK_CLI_RUN_READ_H

#include "evenkeel/evenkeel.h"

#include "job_options.h"
#include "run_files.h"

enum { CLI_MAX_GRAPHS = 64 };

/** What to read, and how. */
typedef struct cli_run_reading {
    const cli_run_files *files;
    cli_job_options *job; /**< settings on the command line */
    bool has_overrides;   /**< there are some */
    const char *device;   /**< name or file; NULL */
    double limit_mb;      /**< NAN or 0 when not given */
    int stages;           /**< of the trace; 0: by the job */
    int n_threads;
    bool quiet; /**< no remarks on what was found */
} cli_run_reading;

/** What was read, cleared by cli_run_evidence_clear(). Zeroed to begin with; stays where it is: `input` points into it.
 */
typedef struct cli_run_evidence {
    ek_run_input input;
    ek_trace_run trace;
    ek_job job;
    ek_device device;
    ek_collection dry_runs;
    ek_train_log log;
    int n_ir;
    ek_ir *ir[CLI_MAX_GRAPHS];
    ek_ir_report report[CLI_MAX_GRAPHS];
    const ek_ir_report *reports[CLI_MAX_GRAPHS];
} cli_run_evidence;

/** Read all of them. False after a message, with what was read so far. */
bool cli_run_read(const cli_run_reading *how, cli_run_evidence *out);
void cli_run_evidence_clear(cli_run_evidence *evidence);

#endif
