/* evenkeel/train.h - what a training YAML says about the shapes of a model and how it is spread over devices. */
#ifndef EVENKEEL_TRAIN_H
#define EVENKEEL_TRAIN_H

#include "evenkeel/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Shapes of one training run. What the file must say is positive, the rest 0 when it does not. */
typedef struct ek_train {
    char *path;
    int batch_size;        /**< B, sequences of a micro-batch */
    int seq_length;        /**< S, tokens */
    int hidden_size;       /**< h */
    int n_heads;           /**< H, of the queries */
    int head_dim;          /**< D, mean of a key's and a value's */
    int intermediate_size; /**< of the feed-forward layer */
    int vocab_size;        /**< V */
    int model_parallel;    /**< t, tensor parallel */
    int context_parallel;
    int n_stages;
    int n_chunks; /**< of a stage; 1 when the file switches interleaving off */
    int n_micro_batches;
    int n_pieces;         /**< sequence pieces of a micro-batch */
    ek_origin seq_origin; /**< of the sequence length, for messages; its file points at `path` */
} ek_train;

/**
 * Read a training YAML (docs/formats.md): model.model_config, parallel_config, runner_config. Everything else in the
 * file is left alone; aliases are followed.
 *
 * The head dimension is head_dim or kv_channels, half of (qk_nope_head_dim + qk_rope_head_dim + v_head_dim) for latent
 * attention, or hidden_size / heads. An intermediate size that is not stated comes from multiple_of and
 * ffn_dim_multiplier:
 *
 *     x = 4 hidden;  x = int((ffn_dim_multiplier + 0.01) x) when given;  x = int(2 x / 3), rounded up to multiple_of
 *
 * Source: feed-forward size of Llama (its SwiGLU layer has 2/3 of 4 hidden, Touvron et al. 2023) as MindFormers r1.5
 * computes it, 0.01 included; multiple_of is 256 when only the multiplier is given.
 *
 * @param path  file to read; "-" is standard input
 * @return EK_OK; EK_ERR_INPUT with the place, also for a shape that is missing; EK_ERR_SYSTEM, EK_ERR_MEMORY.
 *         O(file size).
 */
ek_status ek_train_read(const char *path, ek_train *out, ek_error *err);

/** How a run is spread over devices; 1 where the file does not say. */
typedef struct ek_train_devices {
    int data_parallel, model_parallel, context_parallel;
    int n_stages; /**< 0 when the file does not say */
    int n_ranks;  /**< data_parallel x model_parallel x context_parallel x n_stages, 0 when n_stages is */
} ek_train_devices;

/**
 * Read the degrees of a training YAML's parallel_config, and nothing else of it. Expert parallelism re-uses the data
 * ranks, so it does not count.
 *
 * @return as ek_train_read(); EK_ERR_INPUT also for more than 2^24 devices
 */
ek_status ek_train_read_devices(const char *path, ek_train_devices *out, ek_error *err);

/** Free what `train` holds and zero it. Accepts a zeroed struct. */
void ek_train_clear(ek_train *train);

#ifdef __cplusplus
}
#endif
#endif
