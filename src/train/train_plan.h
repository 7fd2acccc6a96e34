/* train/train_plan.h - what reading and changing the pipeline settings of a training YAML share. */
#ifndef EK_TRAIN_TRAIN_PLAN_H
#define EK_TRAIN_TRAIN_PLAN_H

#include "base/doc.h"
#include "evenkeel/train.h"

/** Does a document look like a training YAML (a map with parallel_config)? */
bool ek__is_train(const ek__doc *doc);

/** Is a recompute list one of patterns, without counts? NULL is none. */
bool ek__is_pattern_list(const ek__node *node);

/** ek_train_plan_read() of a document. */
ek_status ek__train_plan_from_doc(const ek__doc *doc, const ek_listener *listener, ek_train_plan *out, ek_error *err);

/** The same without the lists: the plan has its stages and chunks, but no layers. */
ek_status ek__train_sizes_from_doc(const ek__doc *doc, const ek_listener *listener, ek_train_plan *out, ek_error *err);

/** Body layers that the framework numbers: num_layers or num_hidden_layers, and those of multi-token prediction. */
ek_status ek__train_layers(const ek__in *in, const ek__node *model_config, int *out);

#endif
