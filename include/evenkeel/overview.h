/* evenkeel/overview.h - files and folders recognised: one sentence that describes them, whether a job fits and how long
 * its step takes, the causes of lost time of a measured run, and the commands to type next.
 *
 * Figures are those of the functions that the commands call: ek_memory_predict(), ek_estimate_of(), ek_layout_search(),
 * ek_diagnose().
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_OVERVIEW_H
#define EVENKEEL_OVERVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/job.h"
#include "evenkeel/trace.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Kinds of files. */
typedef enum ek_overview_kind {
    EK_OVERVIEW_JOB,     /**< settings of a training job: a YAML, TOML, script or Python file */
    EK_OVERVIEW_MODEL,   /**< a config.json of Hugging Face: the sizes of a model, no degrees */
    EK_OVERVIEW_TRACE,   /**< a profiler's trace, or one of its tables */
    EK_OVERVIEW_LOG,     /**< a training log with steps */
    EK_OVERVIEW_DRY_RUN, /**< a log with peaks of memory and no steps */
    EK_OVERVIEW_GRAPH,   /**< a graph that MindSpore wrote */
    EK_OVERVIEW_INIT,    /**< an init file of SAPP's pipeline balance */
    EK_OVERVIEW_LAYERS,  /**< a layer file */
    EK_OVERVIEW_PLAN,    /**< a plan file, or an answer with plans */
    EK_OVERVIEW_DEVICE,  /**< a device file */
    EK_OVERVIEW_RUNS,    /**< a table of measured runs */
    EK_OVERVIEW_KERNELS, /**< a table of measured kernels */
    EK_OVERVIEW_RATES,   /**< rates of memory and collectives */
    EK_OVERVIEW_LINKS,   /**< a log of nccl-tests or hccl_test */
    EK_OVERVIEW_ANSWER,  /**< the JSON of a command */
    EK_OVERVIEW_PAGE,    /**< a page that a command wrote */
    EK_OVERVIEW_PROGRAM, /**< a Python program */
    EK_OVERVIEW_REPORT,  /**< a report of Nsight Systems that must be exported first */
    EK_OVERVIEW_OTHER,   /**< none of these */
} ek_overview_kind;
enum { EK_N_OVERVIEW_KINDS = EK_OVERVIEW_OTHER + 1 };
/** "job", "model", "trace", "log", "dry-run", "graph", "init", ... */
extern const char *const *const ek_overview_kind_name;

/**
 * The kind of a file, by its content. Names count where ek_run_kind_of() counts them, and for Python programs and
 * reports of Nsight Systems.
 *
 * @return EK_OVERVIEW_OTHER also when the file cannot be read. O(bytes read): those of ek_run_kind_of(), and of files
 * up to 16 MB that it does not know all bytes.
 */
ek_overview_kind ek_overview_kind_of(const char *path);

/** The files of one kind. */
typedef struct ek_overview_part {
    ek_overview_kind kind;
    int n_files;
    int64_t bytes;    /**< of all of them */
    const char *path; /**< of the first one, by name */
    const char *what; /**< "a training YAML of MindFormers", "traces" */
} ek_overview_part;

/** The job of a training file, or of a model. Unknown figures are NAN, 0 or NULL. */
typedef struct ek_overview_job {
    const char *format;       /**< "a training YAML of MindFormers" */
    const char *name;         /**< of the model */
    ek_framework framework;   /**< whose rules the figures follow */
    double parameters;        /**< of the model */
    double active_parameters; /**< those that a token meets */
    int n_layers, seq_length; /**< tokens of a sequence */
    bool has_layout;          /**< the file has degrees, which the figures below are of; a config.json has none */
    int64_t n_devices;        /**< of those degrees */
    int64_t global_batch;     /**< sequences of a step */
    int data, tensor, context, expert, pipeline, n_chunks;
    const char *device;       /**< NULL: none was given, and none was needed */
    bool device_assumed;      /**< no device was given: the usual one of the framework is taken */
    double state_mb;          /**< weights, gradients and optimizer states of the whole model, MB of 2^20 bytes */
    int64_t limit, peak;      /**< bytes: the limit (0: unknown), and the peak of the fullest stage */
    int fullest;              /**< that stage */
    bool fits;                /**< the peak is within the limit */
    bool reserved;            /**< the peak counts the memory that PyTorch's allocator reserves */
    double step_seconds;      /**< of the job on the device; NAN without one */
    double tokens_per_second; /**< of each device */
    double mfu;               /**< of 1 */
    int n_remedies;           /**< settings that make a job fit which does not, one after the other */
    const char *remedy[4];    /**< [n_remedies] the first of them */
    bool remedies_fit;        /**< with all of them it fits */
    int64_t remedied_peak;    /**< bytes, with all of them */
} ek_overview_job;

/** The best layout that was found for a number of devices. */
typedef struct ek_overview_layout {
    int64_t n_devices, global_batch;
    bool batch_assumed; /**< ek_layout_default_batch() chose it */
    bool found;         /**< false: no layout fits */
    bool proved;        /**< no layout is better */
    const char *words;  /**< "dp 2, tp 8, pp 4"; where nothing fits, of the layout that needs least */
    double step_seconds, tokens_per_second, mfu;
    int64_t limit, peak; /**< bytes; where nothing fits the least peak */
    int fullest;
    double gap;     /**< share by which a step could still be shorter */
    double seconds; /**< of the search */
} ek_overview_layout;

/** One cause of lost time. */
typedef struct ek_overview_cause {
    const char *title;   /**< one sentence, with its share */
    double gain_seconds; /**< of a step, predicted with a change; NAN: not known */
    double gain_share;   /**< of 1; NAN: not known */
} ek_overview_cause;

enum { EK_MAX_OVERVIEW_CAUSES = 3 };

/** A measured run. */
typedef struct ek_overview_run {
    int n_ranks;             /**< with traces */
    ek_producer producer;    /**< of the first rank's traces */
    double step_seconds;     /**< of a step; NAN */
    const char *step_source; /**< "median of 4 steps of the trace" */
    int n_bottlenecks;
    int n_causes; /**< the first of them */
    ek_overview_cause cause[EK_MAX_OVERVIEW_CAUSES];
} ek_overview_run;

/** A command to type next, in a POSIX shell in the folder that the paths are relative to. */
typedef struct ek_overview_next {
    const char *command; /**< "evenkeel plan train.yaml --devices 64 --device H100" */
    const char *why;     /**< "finds the layout with the shortest step" */
    int exit_status;     /**< of the command; -1: 0 or 1, which only the command finds out */
    bool fill_in;        /**< words in capitals have to be replaced first */
} ek_overview_next;

enum { EK_MAX_OVERVIEW_PATHS = 64, EK_MAX_OVERVIEW_NEXT = 3, EK_MAX_OVERVIEW_NOTES = 8 };

/** The answer. */
typedef struct ek_overview {
    int n_paths;
    const char *path[EK_MAX_OVERVIEW_PATHS]; /**< as given */
    bool folder;                             /**< one of them is a folder */
    const char *sentence;                    /**< describes them; no line ends */
    int n_parts;                             /**< by kind, in the order of ek_overview_kind; OTHER last */
    ek_overview_part part[EK_N_OVERVIEW_KINDS];
    const ek_overview_job *job;       /**< NULL: no job was read */
    const ek_overview_layout *layout; /**< NULL: none was looked for */
    const ek_overview_run *run;       /**< NULL: no measured run was read */
    int n_notes;
    const char *note[EK_MAX_OVERVIEW_NOTES]; /**< assumptions and omissions */
    int n_next;
    ek_overview_next next[EK_MAX_OVERVIEW_NEXT];
    struct ek__pool *pool;
} ek_overview;

typedef struct ek_overview_options {
    const char *device;          /**< name or file; NULL: the usual one of the framework where a figure needs one */
    int n_devices;               /**< to look for a layout for; 0: only a config.json's answer names the command */
    int64_t global_batch;        /**< sequences of a step of that layout; 0: the job's, or ek_layout_default_batch() */
    int seq_length;              /**< instead of the file's; 0: the file's */
    double limit_mb;             /**< instead of the file's or the device's; 0: these */
    double seconds;              /**< for the search of a layout; 0: 15 */
    int64_t trace_bytes;         /**< larger traces are only counted; 0: 2^30 */
    int n_threads;               /**< 0: all cores */
    const ek_listener *warnings; /**< receives warnings of the readers; may be NULL */
    const ek_interrupt *interrupt; /**< ends the search and the reading of traces; may be NULL */
} ek_overview_options;

/**
 * Recognise files and folders, and compute the figures that take seconds at most.
 *
 * Files that are named must be readable; of folders, searched 8 levels deep, all that is recognised counts. A training
 * file is read and its memory predicted; with a device (or where no limit is known, on the usual one of the framework)
 * its step is estimated too. Where a number of devices is given and the file has no degrees or others, a layout is
 * searched. Traces, logs and the files beside them are read as one run and diagnosed.
 *
 * @param path     [n_paths], borrowed until ek_overview_clear(); 1 to EK_MAX_OVERVIEW_PATHS
 * @param options  NULL: the usual ones
 * @param out      ek_overview_clear() frees it; untouched on failure
 * @return EK_OK, also where a folder has nothing that is recognised (no part but OTHER); EK_ERR_INPUT and EK_ERR_SYSTEM
 *         for a file that is named and cannot be read or is not recognised, with the reader's message for a training
 *         file that it refuses, and for a device that is not known; EK_ERR_MEMORY. Cost: ek_overview_kind_of() for each
 *         file, and the functions that compute the figures.
 */
ek_status ek_overview_of(const char *const *path, int n_paths, const ek_overview_options *options, ek_overview *out,
                         ek_error *err);
/** Free what it holds and zero it. Accepts a zeroed struct. */
void ek_overview_clear(ek_overview *overview);

EK_END_DECLS
#endif
