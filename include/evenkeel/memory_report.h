/* evenkeel/memory_report.h - prints a prediction of memory as text, JSON, a table, a picture and dry-run logs, and the
 * saved tensors of one layer.
 *
 * Writers only print: every figure is computed by evenkeel/memory.h and evenkeel/cost.h.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_MEMORY_REPORT_H
#define EVENKEEL_MEMORY_REPORT_H

#include <stdio.h>

#include "evenkeel/cost.h"
#include "evenkeel/decls.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/* ---- saved tensors of a layer ---- */

enum { EK_MAX_KEPT = 5, EK_MAX_KEPT_PATTERNS = 3 };

/** A tensor that a layer saves from its forward to its backward pass without recomputation. */
typedef struct ek_kept_tensor {
    char name[96];
    char maker[96];            /**< path of the operator that makes it; empty: the layer's input */
    char reader[96];           /**< path of the first operator that needs it */
    int n_readers;             /**< operators that need it */
    bool for_recompute;        /**< no gradient reads it: it is saved for recomputation */
    int n_dims;                /**< 0: it has no shape worth telling */
    int64_t dim[4];            /**< [n_dims] */
    ek_dtype dtype;            /**< where n_dims > 0 */
    int64_t bytes;             /**< for one micro-batch on one rank */
    bool kept[EK_N_RECOMPUTE]; /**< still saved by kind, with the job's patterns */
    int n_patterns;            /**< that together remove it; 0: none does */
    char pattern[EK_MAX_KEPT_PATTERNS]
                [96];             /**< naming the operator that makes it, and the others needed, in YAML syntax */
    ek_pattern_kind pattern_kind; /**< SELECT or COMM: the list they go into */
    int64_t
        pattern_saves; /**< saving of a layer with only this pattern: below `bytes` where inputs are saved instead */
} ek_kept_tensor;

/** Those of one kind of layer. */
typedef struct ek_kept {
    char name[EK_NAME_SIZE]; /**< "decoder", ... */
    int64_t bytes;           /**< sum */
    int n;
    ek_kept_tensor *tensor; /**< [n], largest first */
} ek_kept;

/**
 * The tensors that each kind of layer of a job saves for a micro-batch, and the patterns that remove them.
 *
 * A tensor's pattern is the path of the operator that makes it, with the other operators needed to recompute it; it is
 * offered when a trial shows that the tensor is then no longer saved and the layer saves fewer bytes in total.
 *
 * @param n  out: how many kinds; ek_kept_clear() frees each
 * @return EK_OK or EK_ERR_MEMORY. O(tensors x operators) per kind.
 */
ek_status ek_memory_kept(const ek_job *job, ek_kept out[EK_MAX_KEPT], int *n, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_kept_clear(ek_kept *kept);

/* ---- the report ---- */

/** Times of a layer on a device. */
typedef struct ek_memory_time {
    const char *name; /**< "embedding", "decoder", ... */
    ek_layer_times ms;
} ek_memory_time;

/** How a calibration went. */
typedef struct ek_memory_calibration {
    const ek_memory_fit_result *fit;
    bool actual; /**< the peaks are with fragments */
    int n_peaks;
    const ek_memory_peak *peak;                  /**< [n_peaks], fitted ones and others */
    const bool *fitted;                          /**< [n_peaks] */
    const double *predicted_mb;                  /**< [n_peaks] by the calibrated model */
    const ek_memory_error *judged;               /**< on the peaks that were not fitted; NULL: all were */
    const ek_memory_contradiction *contradicted; /**< an assumed rule that the peaks contradict; NULL */
} ek_memory_calibration;

/** Contents of the report. Pointers are borrowed, and NULL for parts that are not printed. */
typedef struct ek_memory_report {
    const ek_job *job;
    const ek_memory *memory;
    const ek_memory *literal; /**< of the job's other reading (ek_job.reading) */
    int n_warnings;
    const ek_error *warning; /**< [n_warnings] */
    const ek_device *device; /**< that times are of */
    int n_times;
    const ek_memory_time *time; /**< [n_times] */
    int n_measures;
    const ek_mitigation *measure; /**< [n_measures] */
    int n_kept;
    const ek_kept *kept;                /**< [n_kept] */
    const ek_recompute_set_list *worth; /**< sets of operators worth recomputing, on the device */
    const ek_memory_calibration *calibration;
    const ek_memory_course *course; /**< for a page: memory of the stages block by block */
    int n_assumptions;
    const ek_memory_assumption *assumption; /**< [n_assumptions] that the verdict hangs on */
    int stage;                              /**< details of this one; -1: of the fullest */
    bool verdict_only;                      /**< text: one line */
    bool color;                             /**< ANSI colours, for a terminal that supports them */
} ek_memory_report;

/** Rules of a framework's predictions: name, value, description, and whether it is derived, documented or assumed;
 * those that are not the framework's default are marked. Borrowed. */
typedef struct ek_rules_report {
    const ek_rules *rules;
    ek_framework framework;
} ek_rules_report;

/** Decoder layers of a stage by recompute kind, over all its chunks. O(chunks). */
ek_chunk_mix ek_memory_stage_mix(const ek_job *job, int stage);

/**
 * The lines that end the dry-run log of a stage, as the framework writes them and ek_log_read() reads them.
 *
 * @param stage      0 to n_stages - 1
 * @param device_mb  of the device; 0: 65536
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(1).
 */
ek_status ek_memory_write_log(const ek_memory *memory, int stage, double device_mb, FILE *out, ek_error *err);
/** Name of the stage's log below a dry run's folder: "stage_3_rank_3072/mindformer.log". */
void ek_memory_log_name(const ek_job *job, int stage, char *name, size_t size);

EK_END_DECLS
#endif
