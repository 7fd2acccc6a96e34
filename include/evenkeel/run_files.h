/* evenkeel/run_files.h - recognises the files of a training run by their content: traces, settings of the job, logs of
 * a dry run, graphs, training logs; and the files that a plan is simulated from.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_RUN_FILES_H
#define EVENKEEL_RUN_FILES_H

#include <stdbool.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

typedef enum ek_run_kind {
    EK_RUN_TRACE,   /**< a profiler's trace, or one of its tables */
    EK_RUN_CONFIG,  /**< settings of a training job */
    EK_RUN_DRY_RUN, /**< a log with peaks of memory and no steps */
    EK_RUN_IR,      /**< a graph that MindSpore wrote */
    EK_RUN_LOG,     /**< a log with steps */
    EK_RUN_PLAN,    /**< a plan file, or an answer with plans */
    EK_RUN_LAYERS,  /**< a layer file */
    EK_RUN_INIT,    /**< an init file */
    EK_RUN_ANSWER,  /**< the JSON of a command, without its input */
    EK_RUN_UNKNOWN,
} ek_run_kind;
enum { EK_N_RUN_KINDS = 9, EK_MAX_RUN_FILES = 4096 };
/** "trace", "settings", "dry run", "graph", "training log", "plan", "layer file", "init file", "answer". */
extern const char *const *const ek_run_kind_name;

/** One that was found or named. */
typedef struct ek_run_file {
    char *path;
    ek_run_kind kind;
    bool found; /**< in a folder; else it was named */
} ek_run_file;

/** The files of a run. Zeroed at first, except `models`. */
typedef struct ek_run_files {
    int n;
    ek_run_file *file;     /**< [n], at most EK_MAX_RUN_FILES, in the order they were added; within a folder by name */
    int n_traces;          /**< files of events: one a rank */
    long long trace_bytes; /**< of them, on disk */
    bool models;           /**< set by the caller: take plans, layer files and init files too, where they are named */
} ek_run_files;

/**
 * The kind of a file. Most kinds are recognised by their first 64 KB; logs are searched for their characteristic lines,
 * up to 256 MB. Names count only for packed traces (.gz) and for tables of profilers.
 * @return EK_RUN_UNKNOWN also when the file cannot be read. O(bytes read).
 */
ek_run_kind ek_run_kind_of(const char *path);

/**
 * Add a file of any kind, or the files of a folder, searched 8 levels deep without following links to folders. A folder
 * of traces or of a dry run becomes one entry, since its reader finds the files in it. Of several passes of one graph
 * the last is used. Plans and models in folders are skipped.
 *
 * @param kind   EK_RUN_UNKNOWN: by content; else the kind of the file or folder
 * @param notes  receives a note on databases that are not read, as a warning without a place; may be NULL
 * @return EK_OK; EK_ERR_INPUT where the path does not exist, is not of a supported kind, or exceeds EK_MAX_RUN_FILES
 *         entries; EK_ERR_MEMORY. After a failure the list keeps what was added before. Cost: ek_run_kind_of() for
 *         every file of a folder.
 */
ek_status ek_run_files_add(ek_run_files *files, const char *path, ek_run_kind kind, const ek_listener *notes,
                           ek_error *err);
/** Free the list; then as zeroed. */
void ek_run_files_clear(ek_run_files *files);

/** The paths of one kind. @param path  out: [EK_MAX_RUN_FILES], borrowed from the list. @return how many. O(n) */
int ek_run_files_of(const ek_run_files *files, ek_run_kind kind, const char **path);
/** The first file of a kind, or NULL. O(n). */
const ek_run_file *ek_run_files_first(const ek_run_files *files, ek_run_kind kind);

EK_END_DECLS
#endif
