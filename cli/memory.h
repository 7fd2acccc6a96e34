/* cli/memory.h - parts of `evenkeel memory`: measured peaks to calibrate with, and output files. */
#ifndef EK_CLI_MEMORY_H
#define EK_CLI_MEMORY_H

#include "evenkeel/job_layers.h"
#include "evenkeel/measured_peaks.h"

/** A copy of standard input in a file, since it is read more than once. */
typedef struct cli_spool {
    char path[4200]; /**< empty: there is none */
} cli_spool;
/** False after a message. */
bool cli_spool_stdin(cli_spool *spool);
void cli_spool_remove(cli_spool *spool);
/** The file's name for messages, "<stdin>". */
void cli_spool_rename(const cli_spool *spool, ek_error *err);

/**
 * ek_measured_peaks_read(), - for standard input; `stages` are those to fit to, "0,3-5"; NULL: all.
 * @return false after a message
 */
bool cli_peaks_read(const char *source, const char *stages, int n_stages, bool actual, ek_measured_peaks *out);

/** A log a stage below `folder`, which `evenkeel collect` reads back. @return false after a message */
bool cli_memory_logs(const char *folder, const ek_job *job, const ek_memory *memory, double device_mb);

/** The job's layers as a layer file. @return false after a message */
bool cli_memory_layers(const char *path, const ek_job *job, const ek_job_layer_times *times);

/** Memory in the usual notation, "56000", "58GB", in MB. False after a message. */
bool cli_memory_mb(const char *option, const char *text, double *mb);

#endif
