/* evenkeel/calibrate.h - reads tables of measured runs as jobs, for fitting and testing the constants of a device
 * (docs/measured-runs.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_CALIBRATE_H
#define EVENKEEL_CALIBRATE_H

#include <stdbool.h>

#include "evenkeel/decls.h"
#include "evenkeel/job.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/* ---- tables of measured runs ---- */

/** A run that somebody measured. */
typedef struct ek_measured_run {
    ek_job job;
    bool has_job; /**< false: the row lacks data, named in `why`, and `job` is empty */
    int n_devices;
    double step_seconds; /**< NAN: the table has memory only */
    double memory_mb;    /**< largest of all devices, 2^20 bytes; NAN: not measured */
    char device[96];     /**< hardware as the table names it */
    char framework[32];  /**< which framework's rules the row was read by */
    char model[64];      /**< as the table names it */
    char group[160];     /**< model with its shape and layout, for leaving groups out: rows of a group differ in batch,
                              length, recomputation and number format only */
    char name[160];      /**< for people, one line */
    bool suspect;        /**< said by the table: not to be fitted or judged */
    char why[200];       /**< the reason why a row is suspect or has no job */
    double parameters;   /**< of the model as the table counts them; NAN: not said */
    ek_origin origin;    /**< the row; its file points at ek_measured_runs.path */
} ek_measured_run;

/** The runs of a table, in its order. */
typedef struct ek_measured_runs {
    char *path;
    int n;
    ek_measured_run *run; /**< [n] */
} ek_measured_runs;

/**
 * Read a table of measured runs (CSV with a header, docs/measured-runs.md). Columns may come in any order; a row names
 * a job file, or shapes and degrees, which are composed into a job by the rules of its framework. Values missing from a
 * row come from the public model that it names (ek_public_models()). A step is taken from step_time_s, step_seconds or
 * derived_step_time_s, else from tokens/s of a device: sequences x length / (devices x rate), else from TFLOP/s: the
 * model's FLOPs (all of attention counted) / (devices x rate).
 *
 * @param listener  warned about rows with too little data for a job
 * @param out       ek_measured_runs_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT with line and column: an unknown column, a cell that is not a number or out of range,
 *         degrees that do not multiply to the devices, a job that the framework does not run, two rows of the same job
 *         more than 10 % apart (mark one suspect); EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size + rows log rows).
 */
ek_status ek_run_table_read(const char *path, const ek_listener *listener, ek_measured_runs *out, ek_error *err);
/**
 * The same over bytes in memory; `name` is the file name used in messages; job files are looked up in its folder.
 *
 * @param text  [size] bytes
 * @return as ek_run_table_read(). O(size + rows log rows).
 */
ek_status ek_run_table_parse(const char *name, const char *text, size_t size, const ek_listener *listener,
                             ek_measured_runs *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_measured_runs_clear(ek_measured_runs *runs);

/** A run to price and compare: it has a job and a step and is not suspect. */
bool ek_measured_run_counts(const ek_measured_run *run);

/** The shipped device that a table's words for hardware mean ("A100-SXM4-80GB", "Atlas 800T A2"), NULL: none known.
 *  O(known words and devices). */
const ek_device *ek_device_of_hardware(const char *hardware);
/**
 * A copy of the shipped device with the network of the run's hardware column: "4x100Gb" means four cards of 100 Gb/s in
 * each node, with the share of that rate that is assumed without a fit. Its tables are the shipped device's: it is not
 * cleared.
 *
 * @return false: none is known. O(known words and devices).
 */
bool ek_device_of_run(const ek_measured_run *run, ek_device *out);

/* ---- shapes of public models ---- */

/** Structure of a model's layers, apart from their sizes. */
typedef enum ek_model_style {
    EK_STYLE_GPT,      /**< LayerNorm, biases, learned positions, GELU, tied table, dropout */
    EK_STYLE_MPT,      /**< the same without dropout */
    EK_STYLE_LLAMA,    /**< RMS norm, no biases, rotary positions, SwiGLU, separate head */
    EK_STYLE_QWEN,     /**< the same with biases on queries, keys and values */
    EK_STYLE_NEMOTRON, /**< LayerNorm, no biases, rotary positions, two matrices, separate head */
} ek_model_style;
enum { EK_N_MODEL_STYLES = 5 };

/** A model with a published shape. */
typedef struct ek_public_model {
    const char *name; /**< letters and digits count */
    ek_model_style style;
    int layers, hidden, heads, kv_heads, ffn, vocab;
    int sequence;                                             /**< that it was trained with */
    int experts, top_k, expert_ffn, shared_ffn, dense_layers; /**< 0: no experts */
    int q_lora, kv_lora;                                      /**< latent attention; 0: none */
    const char *source;
} ek_public_model;

/** All of them. @param n  out: how many */
const ek_public_model *ek_public_models(int *n);
/** The model with the longest name that, reduced to letters and digits, occurs in `name`; NULL without one. O(models x
 *  length). */
const ek_public_model *ek_public_model_find(const char *name);

EK_END_DECLS
#endif
