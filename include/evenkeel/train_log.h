/* evenkeel/train_log.h - reads time, loss and throughput of steps from training logs of MindFormers, MindSpeed,
 * Megatron-LM and torchtitan.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRAIN_LOG_H
#define EVENKEEL_TRAIN_LOG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

typedef enum ek_train_log_kind {
    EK_TRAIN_LOG_MINDFORMERS,
    EK_TRAIN_LOG_MEGATRON,
    EK_TRAIN_LOG_TORCHTITAN, /**< rates without times: ek_train_log_time() */
} ek_train_log_kind;
enum { EK_N_TRAIN_LOG_KINDS = 3 };
extern const char *const *const ek_train_log_kind_name; /**< "MindFormers", "Megatron", "torchtitan" */

/** One printed step. NAN and -1: not printed. */
typedef struct ek_train_log_step {
    int64_t step;
    double seconds;      /**< of the step, as printed */
    double data_seconds; /**< of it in the data loader */
    double loss;
    double samples_per_second_per_device; /**< MindFormers' samples/s/p: of all devices */
    double tokens_per_second_per_device;  /**< torchtitan's tps */
    double tflops_per_device;             /**< Megatron's "throughput per GPU", MindFormers' where it prints it */
    double global_batch;                  /**< sequences */
    int line;                             /**< number of the line, from 1 */
    bool overflow;                        /**< skipped */
} ek_train_log_step;

typedef struct ek_train_log {
    char *path;
    ek_train_log_kind kind;
    int n;
    ek_train_log_step *step;                      /**< [n], in file order */
    int64_t world_size, global_batch, seq_length; /**< where the log has it; -1 */
    double peak_mb;                               /**< largest memory that it prints; NAN */
} ek_train_log;

/**
 * Read a log of any size; "-" is standard input. The framework is recognised by its lines. Several processes' lines in
 * one file (a launcher's prefix, colour codes, carriage returns) are accepted; a step printed by several ranks counts
 * once.
 *
 * @param listener  warned about skipped lines; may be NULL
 * @param out       ek_train_log_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT when it has no line of a step, naming the expected lines; EK_ERR_SYSTEM; EK_ERR_MEMORY.
 * O(bytes + steps log steps).
 */
ek_status ek_train_log_read(const char *path, const ek_listener *listener, ek_train_log *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_train_log_clear(ek_train_log *log);

/** Give steps that print a rate and no time the time that follows from the job that the log is of: batch x
 *  micro-batches x length / (tensor x pipeline x context x tokens_per_second_per_device). Others stay. O(steps). */
void ek_train_log_time(ek_train_log *log, const ek_job *job);
/** Median of the tokens/s of a device that steps print; NAN: none does, or memory is out. O(n log n) for n steps. */
double ek_train_log_token_rate(const ek_train_log *log);

/**
 * Steps that represent the run, from log.step[first] on. Of the first ten steps, and of at most half of all, those up
 * to the last one that takes longer than 1.5 medians are left out: they compile or warm up. Skipped steps do not count,
 * nor those of another global batch than the last one has, where the log prints it.
 */
typedef struct ek_train_log_summary {
    int first, n; /**< n: steps that count */
    double median_seconds, mean_seconds, worst_seconds, deviation_seconds;
    double median_tflops; /**< of the log's TFLOP/s for a device; NAN */
    double median_rate;   /**< of printed samples/s of a device; NAN */
} ek_train_log_summary;
/** Figures over the steps that count: slow or earlier ones at the start are left out. Seconds, samples/s of a device,
 *  TFLOP/s of a device. @return false when there are no steps with a time, or memory is out. O(n log n). */
bool ek_train_log_summarise(const ek_train_log *log, ek_train_log_summary *out);

EK_END_DECLS
#endif
