/* evenkeel/train.h - what a training YAML says about the shapes of a model and how it is spread over devices.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRAIN_H
#define EVENKEEL_TRAIN_H

#include "evenkeel/plan.h"

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
 * @return as ek_train_read(); EK_ERR_INPUT also for more than 2^24 devices. O(file size).
 */
ek_status ek_train_read_devices(const char *path, ek_train_devices *out, ek_error *err);

/** Free what `train` holds and zero it. Accepts a zeroed struct. */
void ek_train_clear(ek_train *train);

/** How a training YAML cuts its model into stages. */
typedef struct ek_train_plan {
    ek_plan plan;
    int n_layers; /**< with the layers of multi-token prediction, which the framework numbers too */
    int n_micro_batches;
    int n_pieces;                 /**< sequence pieces of a micro-batch (seq_split_num) */
    const ek_schedule *schedule;  /**< NULL when no schedule here runs as the file's pipeline_scheduler does */
    char scheduler[EK_NAME_SIZE]; /**< pipeline_scheduler as written; empty when the file has none */
} ek_train_plan;

/**
 * Read the pipeline of a training YAML of MindFormers: parallel_config.pipeline_stage, micro_batch_num and the other
 * degrees, parallel.pipeline_config, model.model_config.offset and pp_interleave_num, recompute_config.
 *
 * Chunk i of stage s holds floor(L / (p v)) + offset[i][s] layers; pp_interleave_num counts only where
 * pipeline_interleave is on. A recompute list counts the first layers of a chunk, false and true stand for none and
 * all, numbers above the layers there are cut, a list of p numbers is dealt to several chunks in turn, and of several
 * patterns below select_recompute the largest list counts. Source: spec of the keys in docs/formats.md, read in
 * MindFormers r1.5.0.
 *
 * @return EK_OK; EK_ERR_INPUT with the place: lists of a wrong shape, an offset that does not add up to
 *         L mod (p v), a list of p offsets for several chunks unless it adds up to 0 (the framework would place layers
 *         several times), swap, which gives the lists another meaning; EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_train_plan_read(const char *path, const ek_listener *listener, ek_train_plan *out, ek_error *err);
/**
 * The same without offset and recompute lists, which may be wrong: the plan has its stages and chunks, but no layers.
 *
 * @return as ek_train_plan_read(). O(file size).
 */
ek_status ek_train_sizes_read(const char *path, const ek_listener *listener, ek_train_plan *out, ek_error *err);
/** Free what it holds and zero it. Accepts a zeroed struct. */
void ek_train_plan_clear(ek_train_plan *train);

/** What to change in a training YAML. */
typedef struct ek_train_change {
    const ek_plan *plan;
    int n_layers;                /**< of the model the plan is for */
    int n_micro_batches;         /**< 0: leave it */
    int least_micro_batches;     /**< a file with fewer gets so many */
    int n_pieces;                /**< sequence pieces of a micro-batch; 0: leave them */
    const ek_schedule *schedule; /**< NULL: 1F1B, interleaved where the plan has several chunks */
} ek_train_change;

/**
 * Put a plan into a training YAML: stages, micro-batches, interleave, scheduler, offset and the three recompute lists.
 * Everything else stays byte for byte; what means the same already stays too. Where select_recompute or
 * select_comm_recompute name patterns, each gets the plan's list.
 *
 * @param listener  told where the plan and the file do not go together fully
 * @param text      the new text of `size` bytes, to be freed
 * @param size      out: bytes of the text
 * @return EK_OK; EK_ERR_INPUT with the place: another number of layers, swap, or a value that cannot be changed alone;
 *         EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_train_apply(const char *path, const ek_train_change *change, const ek_listener *listener, char **text,
                         size_t *size, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
