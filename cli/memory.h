/* cli/memory.h - parts of `evenkeel memory`: measured peaks to calibrate with, and files that it leaves behind. */
#ifndef EK_CLI_MEMORY_H
#define EK_CLI_MEMORY_H

#include "evenkeel/evenkeel.h"

/** A copy of standard input in a file, since it is read more than once. */
typedef struct cli_spool {
    char path[4200]; /**< empty: there is none */
} cli_spool;
/** False after a message. */
bool cli_spool_stdin(cli_spool *spool);
void cli_spool_remove(cli_spool *spool);
/** Call the file what people know it by, "<stdin>". */
void cli_spool_rename(const cli_spool *spool, ek_error *err);

/** Measured peaks of stages. */
typedef struct cli_peaks {
    char *name; /**< of the source, for messages */
    int n;
    ek_memory_peak *peak; /**< [n] each stage once */
    bool *fitted;         /**< [n] to be fitted to; the others judge */
    int n_fitted;
} cli_peaks;

/**
 * Peaks from logs of a dry run or real run (a folder or a listing, as `evenkeel collect` reads), or from lines
 * `stage,mb`, with or without a heading.
 * @param stages  list of those to fit to, "0,3-5"; NULL: all
 * @return false after a message
 */
bool cli_peaks_read(const char *source, const char *stages, int n_stages, bool actual, cli_peaks *out);
void cli_peaks_clear(cli_peaks *peaks);

/** A log a stage below `folder`, which `evenkeel collect` reads back. @return false after a message */
bool cli_memory_logs(const char *folder, const ek_job *job, const ek_memory *memory, double device_mb);

/** Where the times of a layer file come from; what is further down wins. */
typedef struct cli_layer_times {
    const ek_device *device; /**< modelled; NULL: not */
    const char *trace;       /**< measured: a folder of traces, or a layer file that `evenkeel trace` wrote; NULL */
    ek_times given;          /**< forward times; NAN: not given */
} cli_layer_times;

/** The job's layers as a layer file. @return false after a message */
bool cli_memory_layers(const char *path, const ek_job *job, const cli_layer_times *times);

enum { CLI_MAX_MEMORY_TIMES = 5 };
/** Times of each kind of layer that a job has, modelled on a device. */
ek_status cli_memory_times(const ek_job *job, const ek_device *device, ek_memory_time time[CLI_MAX_MEMORY_TIMES],
                           int *n, ek_error *err);

/** Memory as people write it, "56000", "58GB", in MB. False after a message. */
bool cli_memory_mb(const char *option, const char *text, double *mb);

#endif
