/* job/mindformers_pipeline.h - the pipeline settings of a training YAML of MindFormers, for reading and changing them:
 * stages, chunks, layers, lists of recomputation. */
#ifndef EK_JOB_MINDFORMERS_PIPELINE_H
#define EK_JOB_MINDFORMERS_PIPELINE_H

#include "base/config_tree.h"
#include "evenkeel/plan.h"

/** How a training YAML cuts its model into stages. */
typedef struct ek__mf_pipeline {
    ek_plan plan;
    int n_layers;            /**< with the layers of multi-token prediction, which the framework also numbers */
    int n_prediction_layers; /**< of multi-token prediction */
    int n_micro_batches;
    int n_pieces;                 /**< sequence pieces of a micro-batch (seq_split_num) */
    const ek_schedule *schedule;  /**< NULL when the file's pipeline_scheduler has no equivalent here */
    char scheduler[EK_NAME_SIZE]; /**< pipeline_scheduler as written; empty when the file has none */
} ek__mf_pipeline;

/** Does a document have the degrees of a training YAML (a map with parallel_config), even if other parts are
 * missing? */
bool ek__mf_has_degrees(const ek__config_tree *doc);

/** Is a recompute list one of patterns, without counts? NULL is none. */
bool ek__mf_is_pattern_list(const ek__node *node);

/**
 * Read parallel_config.pipeline_stage, micro_batch_num and seq_split_num, parallel.pipeline_config,
 * model.model_config.offset and pp_interleave_num, recompute_config.
 *
 * Chunk i of stage s holds floor(L / (p v)) + offset[i][s] layers; pp_interleave_num applies only if
 * pipeline_interleave is on. A recompute list counts the first layers of a chunk, false and true mean none and all,
 * numbers above the number of layers are cut, a list of p numbers is distributed to several chunks in turn, and of
 * several patterns below select_recompute the largest list counts. Source: spec of the keys in docs/formats.md, read in
 * MindFormers r1.5.0.
 *
 * @return EK_OK; EK_ERR_INPUT with the place: lists of a wrong shape, an offset with a sum other than L mod (p v), a
 *         list of p offsets for several chunks unless it adds up to 0 (the framework would place layers several times),
 *         swap, which changes the meaning of the lists; EK_ERR_MEMORY. O(file size).
 */
ek_status ek__mf_pipeline_read(const ek__config_tree *doc, const ek_listener *listener, ek__mf_pipeline *out,
                               ek_error *err);

/** The same without offset and recompute lists, which may be wrong: the plan gets stages and chunks, but no layers.
 */
ek_status ek__mf_pipeline_sizes(const ek__config_tree *doc, const ek_listener *listener, ek__mf_pipeline *out,
                                ek_error *err);
void ek__mf_pipeline_clear(ek__mf_pipeline *pipeline);

/** Layers of every chunk from model_config's offset, into plan->layers; the plan has its stages and chunks. */
ek_status ek__mf_offset(const ek__in *in, const ek__node *model_config, int n_layers, const ek_plan *plan);

/** One recompute list (a word, p numbers, v lists of p) into out[v][p], cut to the plan's layers. */
ek_status ek__mf_list(const ek__in *in, const ek_plan *plan, const ek__node *node, int *out);

/** recompute, select_recompute and select_comm_recompute of the file into the plan's lists; it has its layers. */
ek_status ek__mf_lists(const ek__in *in, const ek_plan *plan);

/** num_layers or num_hidden_layers, and the layers of multi-token prediction, which the framework numbers after
 * them. */
ek_status ek__mf_layers(const ek__in *in, const ek__node *model_config, int *layers, int *prediction);

#endif
