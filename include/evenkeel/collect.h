/* evenkeel/collect.h - reads each stage's peak memory from the logs of a dry run and fills an init file with it.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_COLLECT_H
#define EVENKEEL_COLLECT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

enum {
    EK_LOG_LINES = 5,
    EK_LOG_LINE_SIZE = 256,
};

/** Contents of one log. Memory in MB; NAN where the log has none. */
typedef struct ek_log {
    double used_mb;      /**< "Used peak memory usage": the stage's need, without fragments */
    double actual_mb;    /**< "Actual peak memory usage": the memory taken on the device, with fragments */
    double device_mb;    /**< "Device MOC memory size", or HBM */
    double framework_mb; /**< "MindSpore Used memory size": of the framework's pool */
    /** Without one of the two peaks: the last lines with errors, or else the last lines, as far as they fit. */
    int n_lines;
    bool errors; /**< the lines have errors */
    char line[EK_LOG_LINES][EK_LOG_LINE_SIZE];
} ek_log;

/**
 * Read the log of one rank, of any length: the last block of memory lines counts. They may have a log prefix, and
 * binary bytes are skipped. A line cut off by the end of the file is ignored.
 *
 * @return EK_OK, also when the log has no peaks; EK_ERR_INPUT with line and column when one of them is not a valid
 *   amount of memory (no unit, negative, 0, too large), EK_ERR_SYSTEM, EK_ERR_MEMORY. O(bytes), about 0.3 MB of memory.
 */
ek_status ek_log_read(const char *path, ek_log *out, ek_error *err);

/** Which of the two peaks counts. */
typedef enum ek_peak { EK_PEAK_ACTUAL, EK_PEAK_USED } ek_peak;

/** The log of one stage. */
typedef struct ek_stage_log {
    int stage, rank;
    char *path;  /**< of the log, or of the stage's folder when it has none */
    bool no_log; /**< the stage's folder has no log */
    ek_log log;
} ek_stage_log;

/** The logs of one dry run. */
typedef struct ek_round {
    char *source; /**< the folder, or the listing */
    bool listing; /**< lines that grep found, instead of logs */
    int n;
    ek_stage_log *stage; /**< [n], by stage, each once; stages without a log are missing */
} ek_round;

typedef struct ek_collection {
    int n_stages; /**< as given, or one more than the highest stage with a log */
    int n_rounds;
    ek_round *round; /**< [n_rounds], in the order given */
} ek_collection;

/**
 * Find and read the logs of dry runs, one for each round.
 *
 * Below a folder, at most 4 levels deep: stage_S_rank_R/ and stageS_R/ with mindformer.log in it, else its only *.log,
 * else worker_*.log; and rank_R.log, where stage s has rank s times the smallest gap between the ranks. A file is a
 * listing as `grep -rn` prints it, "stage_1_rank_1024/mindformer.log:5482:Actual peak ...", with the same names.
 *
 * @param sources   [n_sources] folders or listings; "-" is a listing from standard input
 * @param n_stages  of the dry run; 0 when not known
 * @param listener  warned about skipped logs
 * @return EK_OK, also when stages are missing or have no peaks; EK_ERR_INPUT: no logs, two of one stage that differ,
 *         contradicting ranks, a stage beyond n_stages, a value that is not an amount of memory; EK_ERR_SYSTEM,
 *         EK_ERR_MEMORY. O(bytes of the logs + entries of the folders).
 */
ek_status ek_collection_read(const char *const *sources, int n_sources, int n_stages, const ek_listener *listener,
                             ek_collection *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_collection_clear(ek_collection *collection);

/** The log of a stage, or NULL. O(logs of the round). */
const ek_stage_log *ek_round_find(const ek_round *round, int stage);
/** The peak of a stage that counts; NAN without a log or without the line. `log` may be NULL. */
double ek_stage_log_peak(const ek_stage_log *log, ek_peak which);
/** Stages without the peak that counts, in all rounds. O(rounds x stages^2). */
int ek_collection_count_gaps(const ek_collection *collection, ek_peak which);
/**
 * The largest of (actual - used) / used, with the stage it belongs to; NULL when no stage has both peaks. O(logs).
 *
 * @param share  out: that ratio; untouched where there is none
 */
const ek_stage_log *ek_collection_most_fragmented(const ek_collection *collection, double *share);

/** The values of an init file's memory_usage as YAML, which is JSON too. */
typedef struct ek_memory_usage {
    char head[32], tail[32]; /**< peaks of the first and the last stage in the first round */
    char *stage_id;          /**< middle stages with a peak: "[1, 2]", or with several rounds "[[1, 2], [1]]" */
    char *memories;          /**< their peaks, likewise */
} ek_memory_usage;

/**
 * Make the memory_usage of an init file.
 * @return EK_OK; EK_ERR_INPUT when the first or last stage has no peak, fewer than 3 stages were run, or a round has no
 *         middle stage: the message names the missing part; EK_ERR_MEMORY. O(rounds x stages^2).
 */
ek_status ek_memory_usage_make(const ek_collection *collection, ek_peak which, ek_memory_usage *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_memory_usage_clear(ek_memory_usage *usage);

/**
 * The text of an init file with the peaks of a collection as its memory_usage; everything else as it was, byte for
 * byte. Nothing is written.
 *
 * @param path      of the file, which may lack memory_usage or hold null or 0 in it
 * @param listener  warned when the file had other peaks, and when the peaks cannot be decomposed into layers
 * @param text      `size` bytes with a terminating NUL; free() it
 * @param size      out: bytes of the text
 * @return EK_OK; EK_ERR_INPUT when the file has other rounds or stages than the collection, is not an init file, or too
 *   few stages remain without the missing ones; EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size + rounds x stages^2).
 */
ek_status ek_dryrun_fill(const char *path, const ek_collection *logs, ek_peak which, const ek_listener *listener,
                         char **text, size_t *size, ek_error *err);

EK_END_DECLS
#endif
