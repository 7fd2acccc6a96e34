/* train/train_plan.h - what reading and changing the pipeline settings of a training YAML share. */
#ifndef EK_TRAIN_TRAIN_PLAN_H
#define EK_TRAIN_TRAIN_PLAN_H

#include "base/config_tree.h"
#include "evenkeel/train.h"

/** Does a document look like a training YAML (a map with parallel_config)? */
bool ek__is_train(const ek__config_tree *doc);

/** Is a recompute list one of patterns, without counts? NULL is none. */
bool ek__is_pattern_list(const ek__node *node);

/** ek_train_plan_read() of a document. */
ek_status ek__train_plan_from_config(const ek__config_tree *doc, const ek_listener *listener, ek_train_plan *out,
                                     ek_error *err);

/** The same without the lists: the plan has its stages and chunks, but no layers. */
ek_status ek__train_sizes_from_config(const ek__config_tree *doc, const ek_listener *listener, ek_train_plan *out,
                                      ek_error *err);

/** Layers of every chunk from model_config's offset, into plan->layers; the plan has its stages and chunks. */
ek_status ek__train_offset(const ek__in *in, const ek__node *model_config, int n_layers, const ek_plan *plan);

/** One recompute list (a word, p numbers, v lists of p) into out[v][p], cut to the plan's layers. */
ek_status ek__train_list(const ek__in *in, const ek_plan *plan, const ek__node *node, int *out);

/** Body layers that the framework numbers: num_layers or num_hidden_layers, and those of multi-token prediction. */
ek_status ek__train_layers(const ek__in *in, const ek__node *model_config, int *out);

#endif
