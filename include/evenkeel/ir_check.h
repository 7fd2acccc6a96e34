/* evenkeel/ir_check.h - checks a graph for recomputation in effect, saved tensors, communication and parameters,
 * reports findings, and compares two graphs.
 *
 * Fragments get no claims beyond their nodes: a node without a visible consumer is neither in effect nor not. A check
 * is a file src/ir/check_NAME.c and a line in EK__IR_CHECK_LIST; docs/ir-checks.md describes each.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_IR_CHECK_H
#define EVENKEEL_IR_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Three answers, since a graph may be a part of one. */
typedef enum ek_ir_answer { EK_IR_NO, EK_IR_YES, EK_IR_UNSEEN } ek_ir_answer;

/** A forward operator marked for recomputation, or a marked copy without its original in the file: then `copy` is the
 *  node itself. */
typedef struct ek_ir_recompute {
    uint32_t node;
    ek_ir_answer in_effect; /**< YES: backward reads its copy; NO: backward reads the original or the output of a
                                 Reshape, Cast, Transpose or Depend of it (`held`), or no copy is there although the
                                 graph is whole and has backward nodes (held EK_IR_NONE: nothing is saved, nothing
                                 lost); UNSEEN: the file does not show it, or the node is damaged */
    uint32_t copy;          /**< its duplicate; EK_IR_NONE */
    uint32_t held;          /**< the node with the value that is saved for backward instead; EK_IR_NONE */
    uint32_t consumer;      /**< the node of, or copy made for, backward that takes it; EK_IR_NONE */
    uint32_t blocked_by;    /**< the first Reshape, Cast, Transpose, Depend without request between; EK_IR_NONE */
    int64_t bytes;          /**< saved for one micro-batch; 0 nothing; -1 not known */
    const char
        *setting;   /**< pattern for select_recompute that takes the block away: "feed_forward\.w1\.reshape"; NULL */
    bool by_design; /**< of a cell that is recomputed whole: its output, saved on purpose, or a value that backward does
                         not need; also a value that backward does not need, with the name of a request that is in
                         effect */
} ek_ir_recompute;

/** Kinds of communication. */
typedef enum ek_ir_comm_kind {
    EK_IR_ALL_REDUCE,
    EK_IR_ALL_GATHER,
    EK_IR_REDUCE_SCATTER,
    EK_IR_ALL_TO_ALL,
    EK_IR_SEND,
    EK_IR_RECEIVE,
    EK_IR_BROADCAST,
    EK_IR_OTHER_COMM, /**< Barrier, NeighborExchange, CollectiveScatter, ... */
} ek_ir_comm_kind;
enum { EK_N_IR_COMM_KINDS = 8 };
/** "AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Send", "Receive", "Broadcast", "other". */
extern const char *const *const ek_ir_comm_kind_name;

/** Purposes of communication. */
typedef enum ek_ir_comm_role {
    EK_IR_ROLE_REDISTRIBUTION, /**< inserted between two operators with different layouts */
    EK_IR_ROLE_FORWARD,        /**< an operator's own: row-parallel MatMul; its gradient's */
    EK_IR_ROLE_GRADIENT,       /**< mirror: gradient synchronisation */
    EK_IR_ROLE_OPTIMIZER,      /**< gathers and scatters of optimizer parallel */
    EK_IR_ROLE_PIPELINE,       /**< Send, Receive between stages */
    EK_IR_ROLE_OTHER,
} ek_ir_comm_role;
enum { EK_N_IR_COMM_ROLES = 6 };
/** "redistribution", "forward", "gradient", "optimizer", "pipeline", "other". */
extern const char *const *const ek_ir_comm_role_name;

/**
 * Bytes that each device of a ring of `n_ranks` sends for a message of `bytes`: AllReduce 2(n-1)/n bytes; AllGather (of
 * the output), ReduceScatter (of the input) and AlltoAll (n-1)/n bytes, rounded down; Send, Receive (which it gets) and
 * Broadcast (except on the last) bytes.
 *
 * @return -1 when `bytes` < 0, n_ranks < 1 where it matters, or the kind is another
 */
int64_t ek_ir_ring_traffic(ek_ir_comm_kind kind, int n_ranks, int64_t bytes);

typedef struct ek_ir_comm {
    uint32_t node;
    ek_ir_comm_kind kind;
    ek_ir_comm_role role;
    const char *group;   /**< as written; NULL */
    int n_ranks;         /**< 0: not known */
    int64_t bytes;       /**< of the message; for AllGather the output, for ReduceScatter the input; -1 not known */
    int64_t traffic;     /**< bytes each device sends, ek_ir_ring_traffic(); -1 not known */
    bool backward, copy; /**< in the backward pass; repeated for it */
    int layer;           /**< -1 outside layers */
    uint32_t position;   /**< operators of its graph before it */
} ek_ir_comm;

/** A value that the backward pass takes from the forward pass. */
typedef struct ek_ir_kept {
    uint32_t node;     /**< its producer; of a value that only a Reshape of it is taken of, that Reshape */
    uint32_t consumer; /**< the first node of, or copy made for, backward that takes it */
    int n_consumers;   /**< such nodes that take it */
    int64_t bytes;     /**< -1 not known */
    uint32_t life;     /**< operators between producer and last consumer; 0 when they are in different graphs */
    int layer;
} ek_ir_kept;

/** Parameters with one prefix. */
typedef struct ek_ir_parameter_sum {
    const char *prefix; /**< "weights", "adam_m", "adam_v", "exp_avg", "exp_avg_sq", "accu_grads", "moments",
                             "inputs" */
    uint32_t n;
    int64_t bytes; /**< -1: of one of them not known */
} ek_ir_parameter_sum;

/** How bad a finding is. */
typedef enum ek_ir_severity { EK_IR_NOTE, EK_IR_WARNING, EK_IR_ERROR } ek_ir_severity;
/** "note", "warning", "error". */
extern const char *const *const ek_ir_severity_name;

enum { EK_IR_MAX_CHAIN = 8 };

/** A recommended change. Repetitions in every layer are one finding. */
typedef struct ek_ir_finding {
    const char *check; /**< "recompute-not-in-effect", ... */
    ek_ir_severity severity;
    uint32_t node; /**< of the first occurrence */
    int n_chain;
    uint32_t chain[EK_IR_MAX_CHAIN]; /**< nodes that show it, in order of flow */
    int n_occurrences, n_layers;     /**< alike; their layers, 0: none */
    int64_t
        bytes; /**< of all occurrences; those held by one micro-batch are multiplied by options.alive; -1 not known */
    const char *bytes_of; /**< "held", "sent by each device", "in parameters", "read and written"; NULL without bytes */
    const char *text;     /**< the problem, with the figures of the first occurrence */
    const char *advice;   /**< the remedy; settings in the file's syntax */
} ek_ir_finding;

/** A graph, checked. */
typedef struct ek_ir_report {
    const ek_ir *ir; /**< borrowed */
    int n_recompute, n_comms, n_kept, n_sums, n_findings;
    ek_ir_recompute *recompute; /**< [n_recompute], in file order */
    ek_ir_comm *comm;           /**< [n_comms], in file order */
    ek_ir_kept *kept;           /**< [n_kept], most bytes first */
    ek_ir_parameter_sum *sum;   /**< [n_sums] */
    ek_ir_finding *finding;     /**< [n_findings], by severity, then bytes */
    int64_t kept_bytes;         /**< sum; a value in two consumers once */
    bool has_backward;          /**< the file has a backward node */
    struct ek__pool *pool;
} ek_ir_report;

typedef struct ek_ir_check_options {
    int n_devices;       /**< of a stage, for cuts; 0: not known */
    int alive;           /**< micro-batches with saved tensors alive at once; 0: 1 */
    int64_t large_bytes; /**< from which an unsharded parameter is named; 0: 256 MiB */
} ek_ir_check_options;

/**
 * Check a graph.
 *
 * @param options  may be NULL
 * @param out      ek_ir_report_clear() frees it; untouched on failure. It borrows the graph
 * @return EK_OK or EK_ERR_MEMORY. O(nodes log nodes + edges).
 */
ek_status ek_ir_check(const ek_ir *ir, const ek_ir_check_options *options, ek_ir_report *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_ir_report_clear(ek_ir_report *report);

/* ---- two graphs ---- */

/** A primitive, or a communication of one role, in both graphs. */
typedef struct ek_ir_count_difference {
    const char *name;
    int64_t n[2];
    int64_t bytes[2]; /**< of outputs, or sent */
} ek_ir_count_difference;

/** The differences between two graphs, before and after a change of settings. */
typedef struct ek_ir_difference {
    int n_primitives, n_comms, n_only[2];
    ek_ir_count_difference *primitive; /**< [n_primitives], those with different counts, largest change first */
    ek_ir_count_difference *comm;      /**< [n_comms], "AllGather (redistribution)" */
    uint32_t *only[2]; /**< [n_only[i]] nodes of graph i without an equal in the other, by scope, primitive, type and
                            occurrence */
    int64_t kept_bytes[2], traffic[2];
    int n_recompute_requested[2], n_recompute_in_effect[2];
    int64_t parameter_bytes[2];
    struct ek__pool *pool;
} ek_ir_difference;

/**
 * Compare two checked graphs.
 *
 * @param out  ek_ir_difference_clear() frees it; untouched on failure
 * @return EK_OK or EK_ERR_MEMORY. O(n log n) for the nodes of both together.
 */
ek_status ek_ir_compare(const ek_ir_report *a, const ek_ir_report *b, ek_ir_difference *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_ir_difference_clear(ek_ir_difference *difference);

EK_END_DECLS
#endif
