/* evenkeel/dryrun.h - writes the script that makes dry runs, reads init files with their peaks, and decomposes the
 * peaks into memory per layer.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_DRYRUN_H
#define EVENKEEL_DRYRUN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/layers.h"

EK_BEGIN_DECLS

/** One measured peak. */
typedef struct ek_measurement {
    int round; /**< from 0 */
    int stage; /**< 1 .. n_stages - 2 */
    double peak_mb;
    ek_origin origin; /**< of the value; its file points at ek_dryrun.path */
} ek_measurement;

/** The pipeline to balance for, from pipeline_config in init files of the original's newest version. */
typedef struct ek_dryrun_run {
    bool given;                              /**< it has a key other than pipeline_num, num_layer and offset */
    int n_stages, n_micro_batches, n_chunks; /**< 0 when not given; n_stages is pipeline_num */
    int less_memory;                         /**< 0 or 1; -1 when not given */
    double memory_mb;                        /**< limit of a stage; 0 when not given */
    double constant_mb;                      /**< held on every stage in addition to the layers */
    double p2p_time;                         /**< sim_comm_time: one transfer between stages */
} ek_dryrun_run;

/** An init file: the configurations of its dry runs and the peak of each stage. Per-stage lists are
 *  [n_rounds][n_stages]. */
typedef struct ek_dryrun {
    char *path;
    int n_stages; /**< of the dry run; may differ from the stages to balance for */
    int n_layers;
    int n_rounds;
    int *layers;                 /**< floor(n_layers / n_stages) + offset */
    int *full, *select, *comm;   /**< the three recompute lists */
    ek_times times;              /**< of time_config; NAN where missing */
    bool has_profiling;          /**< profiling_config names a folder of traces */
    ek_origin profiling;         /**< where */
    char *profiling_folder;      /**< folder_path; NULL without */
    int profiling_micro_batches; /**< 0 when not given */
    int n_profiling_names[3];    /**< of head, body, tail */
    char **profiling_name[3];    /**< [n_profiling_names[i]] */
    ek_origin *profiling_at[3];  /**< [n_profiling_names[i]], position of each name */
    ek_layer *profiled;          /**< [3] head, body, tail with measured times; NULL before ek_dryrun_read_profiles() */
    double head_mb, tail_mb;     /**< peaks of the first and the last stage in round 0 */
    int n_measurements;
    ek_measurement *measurement; /**< [n_measurements], middle stages */
    ek_origin memory_usage;      /**< for errors about the system as a whole */
    ek_dryrun_run run;
} ek_dryrun;

/**
 * Read an init file (YAML, docs/formats.md), one round or several.
 *
 * @return EK_OK, EK_ERR_INPUT with file, line and column (lists of unequal length, an offset that does not add up, more
 *         recomputed layers than layers, a stage id outside 1..P-2, ...), EK_ERR_SYSTEM, EK_ERR_MEMORY.
 *         O(file size).
 */
ek_status ek_dryrun_read(const char *path, const ek_listener *listener, ek_dryrun *out, ek_error *err);
/** The same from memory. @param name file name used in messages; folders that it names are looked up in its folder.
 *  @return as ek_dryrun_read(). O(size). */
ek_status ek_dryrun_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_dryrun *out,
                          ek_error *err);

/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_dryrun_clear(ek_dryrun *init);

/**
 * Read only pipeline_config, of a file without layers: offset, num_layer and memory_usage may be missing.
 *
 * @param listener  warned about unknown keys; may be NULL
 * @return as ek_dryrun_read(). O(file size).
 */
ek_status ek_dryrun_read_run(const char *path, const ek_listener *listener, ek_dryrun_run *out, ek_error *err);

/** Do both the file and the caller (may be NULL) lack times that the file's traces may have? */
bool ek_dryrun_wants_profiles(const ek_dryrun *init, const ek_times *given);

/**
 * Read the traces that profiling_config names, for the times that are not given otherwise: milliseconds, medians over
 * executions, layers and ranks; backward passes and recomputation as measured (ek_trace_to_layers()).
 *
 * @param sapp_compatible  use the figures that the original's analyser prints for these files, with its faults, and its
 *   ratios for the backward pass
 * @param listener         warned about damaged files; may be NULL
 * @param notes            sentences on measured and assumed times, owned by the caller (free)
 * @return EK_OK, EK_ERR_INPUT when the traces show no layers or none of a name that profiling_config gives (with the
 *         name's place and the nearest names of the traces), EK_ERR_SYSTEM, EK_ERR_MEMORY. O(bytes of the traces).
 */
ek_status ek_dryrun_read_profiles(ek_dryrun *init, bool sapp_compatible, const ek_listener *listener, char **notes,
                                  ek_error *err);

/**
 * Read the stages and rounds of an init file that may still lack peaks.
 *
 * @param n_stages  out: stages of the dry runs
 * @param n_rounds  out: rounds, 1 or more
 * @return as ek_dryrun_read(). O(file size).
 */
ek_status ek_dryrun_read_shape(const char *path, int *n_stages, int *n_rounds, ek_error *err);

/**
 * Layers from an init file: memory by decomposition, times from `times` where given, else the file's time_config, else
 * the traces, where ek_dryrun_read_profiles() has read them.
 *
 *     M_s = n_s par + (P - s) sum_kind n_{s,kind} act_kind + const   (+ head at s = 0, + tail at s = P - 1)
 *
 * over the given middle stages, least squares by singular values (LAPACK dgelsd); with k modelled kinds k + 1 stages
 * leave const = 0. Then head = M_0 - (n par + P sum n_kind act_kind + const), tail alike, so that the model's peaks of
 * these stages are those measured, and those of the middle stages differ from the measured ones by the residuals, which
 * are of the values returned: rounded to 1e-6 MB.
 * Source: SAPP pipeline balance documentation, MindFormers r1.5, memory decomposition; docs/models.md.
 *
 * @param name             model name
 * @param times            overrides, or NULL
 * @param sapp_compatible  as the original: const stays inside head and tail though every stage holds it, and values are
 *                         cut to whole MB
 * @return EK_OK; EK_ERR_INPUT when times are missing, too few stages are given, or the system is singular: the message
 *         names the cause (equal offsets, a kind that never varies) and the remedy. O(stages x kinds^2).
 */
ek_status ek_dryrun_decompose(const ek_dryrun *init, const char *name, const ek_times *times, bool sapp_compatible,
                              ek_layers *out, ek_error *err);

/** Path of the log of stage S as rank R below the folder of logs. */
typedef enum ek_log_layout {
    EK_LOGS_STAGE_RANK, /**< stage_S_rank_R/mindformer.log */
    EK_LOGS_RANK,       /**< rank_R.log */
    EK_LOGS_LOG,        /**< log/stageS_R/mindformer.log */
} ek_log_layout;
enum { EK_N_LOG_LAYOUTS = 3 };

/** "stage-rank", "rank", "log". */
extern const char *const *const ek_log_layout_name;

/** Dry runs to be made by a script. All borrowed. In the command {stage} and {rank} are replaced by the number of the
 *  stage and of its first rank, {config} by the round's configuration file; not after a '$', since ${rank} is the
 *  shell's.
 */
typedef struct ek_dryrun_script {
    int n_words;              /**< 1 or more */
    const char *const *words; /**< [n_words] the launch command: one word is a line for the shell, unchanged; several
                                   are the words of a command, with any characters */
    int n_stages;             /**< p */
    int n_ranks;              /**< devices of the simulated run, a multiple of n_stages */
    const bool *chosen;       /**< [n_stages] stages to run; NULL: all */
    ek_log_layout layout;
    const char *logs; /**< folder; with several rounds the logs go to round1, round2 and so on below it */
    int level;        /**< MS_SIMULATION_LEVEL, 0..3 */
    int n_jobs;       /**< dry runs at the same time; 0: all of a round */
    bool device_id;   /**< DEVICE_ID is the number of the stage */
    int n_settings;
    const char *const *settings; /**< [n_settings] NAME=VALUE, added to the environment of every dry run */
    int n_configs;
    const char *const *configs; /**< [n_configs] configuration file of each round; none: one round without {config} */
} ek_dryrun_script;

/**
 * Write a script for sh (POSIX) that runs the launch command once for each stage and round, as the stage's first rank
 * s * n_ranks / n_stages, with the environment of a simulated run. Its only option is --force, without which it
 * replaces no log. Exit codes: 0 every command ended with 0, 1 one did not, 2 it was not run. Source: dry-run sections
 * of the MindFormers documentation (SAPP pipeline balance; memory tuning), docs/dryrun-script.md.
 *
 * @return EK_OK; EK_ERR_INPUT, nothing written, for ranks that are not a multiple of the stages, no command, a command
 * that begins with an assignment or an option, a setting with an invalid name or of a variable that the script sets
 * itself,
 *         {config} without files or several files without {config}; EK_ERR_SYSTEM when writing failed. O(output).
 */
ek_status ek_dryrun_script_write(const ek_dryrun_script *script, FILE *out, ek_error *err);

EK_END_DECLS
#endif
