/* ir_generator.h - graphs of transformer training as MindSpore prints them, of any size, with a known truth.
 *
 * A stage of a pipeline runs its layers for every micro-batch forward, then backward in reverse order. A layer is
 * attention and a gated feed-forward part (SiLU, Mul) with recomputed elementwise operators; their copies are before
 * the backward operators that use them. The layout of operators, names and attributes follows published fragments. The
 * grammar of AllGather, ReduceScatter, AlltoAll, Send and Receive does not: no published fragment has any, so their
 * attributes are extrapolated from AllReduce. */
#ifndef TESTS_UNIT_IR_GENERATOR_H
#define TESTS_UNIT_IR_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "evenkeel/ir_check.h"

/** The parameters of a graph. */
typedef struct ir_shape {
    int n_layers, n_micro_batches;
    bool old_release; /**< spelled as release 2.1 does, else as the newest */
    bool recompute;   /**< SiLU, Reshape, Mul of the feed-forward part request recomputation */
    bool fault;       /**< but the Reshape between SiLU and Mul does not */
    bool bare;        /**< no source lines */
} ir_shape;

/** The content of a graph. */
typedef struct ir_truth {
    int64_t bytes;   /**< written */
    int64_t n_nodes; /**< without the Return */
    int64_t n_parameters;
    int64_t n_comms[EK_N_IR_COMM_KINDS][EK_N_IR_COMM_ROLES];
    int64_t n_forward, n_copies, n_backward; /**< make up n_nodes */
    int64_t n_requested, n_in_effect;        /**< forward nodes that request recomputation; that get it */
    int64_t kept_bytes;      /**< of forward values that nodes of the backward pass take, copies aside */
    int64_t kept_for_copies; /**< of those that only copies take */
    int64_t n_strategies, n_weight_bytes;
} ir_truth;

/** Write a graph. @param out  NULL: only return the truth, without bytes. Calls abort() when memory is out. */
void ir_generate(FILE *out, const ir_shape *shape, ir_truth *truth);

/** The micro-batches that make a graph of these layers about that large. */
int ir_micro_batches_for(const ir_shape *shape, int64_t bytes);

#endif
