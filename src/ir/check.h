/* ir/check.h - the parts shared by the checks of a graph: uses of values, classes of operators, cuts, and making
 * findings.
 *
 * A new check is one file src/ir/check_NAME.c with ek__ir_check_NAME(), one line in EK__IR_CHECK_LIST, one in
 * src/meson.build, one section in docs/ir-checks.md. Facts, which checks and reports use, are filled before any check
 * runs, in the order of EK__IR_FACT_LIST. */
#ifndef EK_IR_CHECK_H
#define EK_IR_CHECK_H

#include "base/pool.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_check.h"

/** The classes of operators that checks distinguish. */
#define EK__IR_OPERATOR_LIST(X)                                                                                        \
    X(OTHER)                                                                                                           \
    X(COMM)                                                                                                            \
    X(MATMUL)                                                                                                          \
    X(BATCH_MATMUL)                                                                                                    \
    X(RESHAPE)                                                                                                         \
    X(CAST)                                                                                                            \
    X(TRANSPOSE)                                                                                                       \
    X(DEPEND)                                                                                                          \
    X(LOAD)                                                                                                            \
    X(UPDATE_STATE)                                                                                                    \
    X(TUPLE_GET_ITEM)                                                                                                  \
    X(MAKE_TUPLE)                                                                                                      \
    X(STRIDED_SLICE)                                                                                                   \
    X(SPLIT)                                                                                                           \
    X(CONCAT)                                                                                                          \
    X(GATHER)                                                                                                          \
    X(ELEMENTWISE) /* output like the larger operand, cut like it; every dimension may be cut */                       \
    X(ROW_WISE)    /* norms, Softmax: the same, but the last dimension stays whole */

typedef enum ek__ir_operator {
#define EK__IR_OPERATOR(name) EK__IR_OP_##name,
    EK__IR_OPERATOR_LIST(EK__IR_OPERATOR)
#undef EK__IR_OPERATOR
} ek__ir_operator;

/** One use of a value. */
typedef struct ek__ir_use {
    uint32_t node, operand;
    uint32_t site; /**< the node itself, or the call in the value's own graph through which it is passed on */
} ek__ir_use;

/** Data of a scope, which many nodes share. */
typedef struct ek__ir_place {
    uint64_t hash; /**< of the scope without the number of its layer; 0: not made yet */
    int layer;     /**< -1 */
} ek__ir_place;

typedef struct ek__ir_context {
    const ek_ir *ir;
    ek_ir_check_options options; /**< defaults in place */
    ek_ir_report *report;
    ek__pool *scratch;     /**< freed after the last check */
    uint8_t *op;           /**< [n_nodes] ek__ir_operator */
    uint8_t *comm_kind;    /**< [n_nodes] ek_ir_comm_kind if op is COMM */
    uint32_t *position;    /**< [n_nodes] operators of the graph before it */
    uint32_t *comm_of;     /**< [n_nodes] in report->comm; EK_IR_NONE */
    ek__ir_place **place;  /**< [n_texts] of a scope; NULL until the first use */
    ek__ir_place no_place; /**< of nodes without scope */
    uint32_t *first_use;   /**< [n_nodes + n_parameters + 1] in use; a value is a node, or n_nodes + a parameter */
    ek__ir_use *use;       /**< direct ones, in file order */
    bool *called;          /**< [n_nodes + n_parameters]: some use is a call of a graph in the file */
    ek__ir_use *through;   /**< scratch: the uses of one value through calls */
    size_t through_capacity, n_through, n_followed;
    bool *whole_graph;          /**< [n_graphs] it ends in a Return and uses nothing from outside the file */
    bool has_copies;            /**< the file has a duplicated node */
    struct ek__ir_table *table; /**< of findings, findings.c */
    bool out_of_memory;
} ek__ir_context;

typedef ek_status ek__ir_fact(ek__ir_context *context, ek_error *err);
typedef ek_status ek__ir_check(ek__ir_context *context, ek_error *err);

#define EK__IR_FACT_LIST(X)                                                                                            \
    X(communication) /* report->comm */                                                                                \
    X(recompute)     /* report->recompute */                                                                           \
    X(kept)          /* report->kept, kept_bytes */                                                                    \
    X(parameters)    /* report->sum */

#define EK__IR_CHECK_LIST(X)                                                                                           \
    X(recompute_not_in_effect)                                                                                         \
    X(recompute_blocked_by_reshape)                                                                                    \
    X(recompute_costs_memory)                                                                                          \
    X(redistribution)                                                                                                  \
    X(allreduce_then_slice)                                                                                            \
    X(repeated_gather)                                                                                                 \
    X(shard_mismatch)                                                                                                  \
    X(row_parallel)                                                                                                    \
    X(parameters)                                                                                                      \
    X(dtype)                                                                                                           \
    X(unfused_pattern)

#define EK__IR_FACT(name) ek__ir_fact ek__ir_fact_##name;
EK__IR_FACT_LIST(EK__IR_FACT)
#undef EK__IR_FACT
/** recompute_names.c: requests that backward has no need of are by design where one of the same name in their layer is
 *  in effect. O(n log n). */
ek__ir_fact ek__ir_excuse_namesakes;
#define EK__IR_CHECK(name) ek__ir_check ek__ir_check_##name;
EK__IR_CHECK_LIST(EK__IR_CHECK)
#undef EK__IR_CHECK

/* ---- edges.c: the graph ---- */

/** Fill everything of the context except comm_of and table. EK_ERR_MEMORY. O(nodes + edges + distinct texts). */
ek_status ek__ir_edges_make(ek__ir_context *context, ek_error *err);
/** The uses of a value, followed into called graphs of the file; valid until the next call of this function. through
 *  calls at most 4096. O(uses). */
const ek__ir_use *ek__ir_uses(ek__ir_context *context, uint32_t value, uint32_t *n);
/** An operand; NULL if absent. */
const ek_ir_input *ek__ir_operand(const ek__ir_context *context, uint32_t node, uint32_t k);
/** An operand, Depend looked through; NULL if absent. O(Depends). */
const ek_ir_input *ek__ir_source(const ek__ir_context *context, uint32_t node, uint32_t k);
/** The node that makes an operand, Depend looked through; EK_IR_NONE if it is not a node. O(Depends). */
uint32_t ek__ir_maker(const ek__ir_context *context, uint32_t node, uint32_t k);
/** The only operator except UpdateState that takes a node's value, Depend looked through; EK_IR_NONE otherwise. */
uint32_t ek__ir_only_taker(ek__ir_context *context, uint32_t node);
/** A type; NULL for EK_IR_NONE. */
const ek_ir_type *ek__ir_type(const ek__ir_context *context, uint32_t type);
const ek_ir_type *ek__ir_type_of_node(const ek__ir_context *context, uint32_t node);
const ek_ir_type *ek__ir_type_of_operand(const ek__ir_context *context, uint32_t node, uint32_t k);
/** Bytes of one element; 0 if unknown, int4 counts as 1. */
int ek__ir_element_bytes(ek_ir_dtype dtype);
/** Is the value of this node made in the forward pass, once? */
bool ek__ir_is_forward(const ek__ir_context *context, uint32_t node);
/** Is it made for or in the backward pass? */
bool ek__ir_is_backward(const ek__ir_context *context, uint32_t node);
ek__ir_place *ek__ir_place_of(ek__ir_context *context, uint32_t node);

/** Is the text of an attribute true ("1", "true", "True", "Bool(1)")? */
bool ek__ir_is_true(const char *text);
/** The number of integers in a text like "(0, 1, 2)" or "0-1-2"; 0 if it contains anything else. */
int ek__ir_count_numbers(const char *text, char separator);

/** parameters.c: is it a reference that is neither an optimizer's state nor an accumulated gradient? */
bool ek__ir_is_weight(const ek_ir *ir, const ek_ir_parameter *parameter);
/** The communication of a node; NULL if it is none. */
const ek_ir_comm *ek__ir_comm_of(const ek__ir_context *context, uint32_t node);
/** Does this communication send its first operand as it is? Not when it calculates as well (MatMulAllReduce), or when
 *  that operand is the destination (DistCommAllGatherIntoTensor). */
bool ek__ir_sends_operand(const ek__ir_context *context, uint32_t node);

/* ---- cuts.c: strategies and layouts ---- */

enum { EK__IR_MAX_DIMS = 8, EK__IR_MAX_CUTS = 8 };

/** One tuple of integers: cuts of a tensor, or its shape. */
typedef struct ek__ir_tuple {
    int n;
    int64_t of[EK__IR_MAX_DIMS];
} ek__ir_tuple;

typedef struct ek__ir_cuts {
    int n;
    ek__ir_tuple input[EK__IR_MAX_CUTS];
} ek__ir_cuts;

/** Read "((2, 1), (1, 4))"; false for anything else, also for more than 8 tuples or dimensions. */
bool ek__ir_cuts_read(const char *text, ek__ir_cuts *out);
/** The in_strategy of a node. */
bool ek__ir_cuts_of(const ek__ir_context *context, uint32_t node, ek__ir_cuts *out);
/** The cuts of a node's output: from its out_strategy, otherwise derived from its in_strategy for MatMul and operators
 *  whose output is like their operand. false: unknown. */
bool ek__ir_layout_of(const ek__ir_context *context, uint32_t node, ek__ir_tuple *out);
bool ek__ir_tuple_equal(const ek__ir_tuple *a, const ek__ir_tuple *b);
int64_t ek__ir_tuple_product(const ek__ir_tuple *tuple);
/** "(2, 1)". */
const char *ek__ir_tuple_text(char out[128], const ek__ir_tuple *tuple);
/** Cuts of the dimension that a (Batch)MatMul sums over, in its two operands; false when unknown. */
bool ek__ir_contracted(const ek__ir_context *context, uint32_t node, const ek__ir_cuts *cuts, int64_t out[2]);
/** Does a (Batch)MatMul transpose an operand? By attribute, or by the literal operand of later releases. */
bool ek__ir_transposed(const ek__ir_context *context, uint32_t node, int operand);

/* ---- findings.c, words.c, hash.c: findings ---- */

enum { EK__IR_MAX_LAYERS = 1024 };

/** Findings by the key of equal occurrences. */
typedef struct ek__ir_table {
    size_t n_slots;               /**< a power of two, more than twice the findings */
    uint32_t *slot;               /**< finding + 1; 0: free */
    uint64_t *key;                /**< [n_findings] */
    struct ek__ir_layer_set **in; /**< [n_findings] layers of its occurrences */
    int *first_micro;             /**< [n_findings] */
} ek__ir_table;

/** One occurrence, reported by a check. */
typedef struct ek__ir_occurrence {
    const char *check;
    ek_ir_severity severity;
    uint64_t key; /**< further key of equal occurrences, in addition to check, primitive and place (all layers count as
                     one) */
    uint32_t node;
    int n_chain;
    uint32_t chain[EK_IR_MAX_CHAIN];
    int64_t bytes; /**< -1 not known */
    const char *bytes_of;
    bool one_micro; /**< bytes are memory: of repetitions for micro-batches only the first counts */
} ek__ir_occurrence;

/** Add it. @return the finding when it is the first of its kind and needs a text; NULL for a repeated one, for one that
 *  involves a damaged node, and when out of memory (context->out_of_memory). O(1). */
ek_ir_finding *ek__ir_sight(ek__ir_context *context, const ek__ir_occurrence *sighting);
/** printf into the report; "" and out_of_memory on failure. */
const char *ek__ir_say(ek__ir_context *context, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** "MatMul %14 (attention.wo)": primitive, number, scope from the layer down. In the report's pool. */
const char *ek__ir_name(ek__ir_context *context, uint32_t node);
/** The attribute names of a scope from its layer down, joined: "feed_forward\.w1" with "\." between; "" directly in a
 * layer, the last name without a layer. false without a scope, or when it does not fit. */
bool ek__ir_module_path(const ek__ir_context *context, uint32_t node, const char *separator, char *out, size_t size);
/** "12.5 MiB"; "an unknown number of bytes" below 0. */
const char *ek__ir_bytes_text(char out[32], int64_t bytes);
/** Bytes of one micro-batch times those alive at once; -1 is returned unchanged. */
int64_t ek__ir_while_alive(const ek__ir_context *context, int64_t bytes);
/** Called at the end of a check. */
ek_status ek__ir_check_end(const ek__ir_context *context, ek_error *err);
/** Mix a number into a hash (splitmix64's finish over their sum). */
uint64_t ek__ir_mix(uint64_t hash, uint64_t value);
uint64_t ek__ir_hash_text(const char *text);
/** Hash of a type's number format and dimensions. */
uint64_t ek__ir_hash_type(const ek_ir *ir, uint32_t type);
/** Digits of a layer's number at the start of an element of a scope, "12-LLamaDecodeLayer"; 0 for another element. */
size_t ek__ir_layer_digits(const char *element);
/** Hash of a scope without the mark of whole recomputation, and without the number of its layer unless `layers`. */
uint64_t ek__ir_hash_scope(const char *scope, bool layers);

#endif
