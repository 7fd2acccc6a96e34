/* evenkeel/ir.h - reads MindSpore's graphs (.ir files) as a stream into flat arrays.
 *
 * A graph of 100 MB has about 150 000 nodes; a node is stored as its links, the numbers of its texts and types (each
 * stored once) and its position in the file, so that memory grows with nodes, not with text. The rest can be read again
 * from that position. docs/formats.md has the grammar.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_IR_H
#define EVENKEEL_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"

EK_BEGIN_DECLS

/** Means "none" in every field that is an index or the number of a text. */
#define EK_IR_NONE UINT32_MAX

/** Number formats of tensors in graphs. */
typedef enum ek_ir_dtype {
    EK_IR_DTYPE_UNKNOWN,
    EK_IR_BOOL,
    EK_IR_INT8,
    EK_IR_UINT8,
    EK_IR_INT16,
    EK_IR_UINT16,
    EK_IR_INT32,
    EK_IR_UINT32,
    EK_IR_INT64,
    EK_IR_UINT64,
    EK_IR_FLOAT8,
    EK_IR_FLOAT16,
    EK_IR_BFLOAT16,
    EK_IR_FLOAT32,
    EK_IR_FLOAT64,
    EK_IR_COMPLEX64,
    EK_IR_COMPLEX128,
    EK_IR_INT4,
} ek_ir_dtype;
enum { EK_N_IR_DTYPES = 18 };
/** "?", "bool", "int8", ..., "float16", "bfloat16", "float32", ... */
extern const char *const *const ek_ir_dtype_name;

/** A type, each stored once. */
typedef struct ek_ir_type {
    ek_ir_dtype dtype; /**< of a tensor; EK_IR_DTYPE_UNKNOWN for other types (tuples, monads, scalars) */
    bool tensor;       /**< a tensor or a reference to one */
    bool reference;    /**< a parameter: Ref[...] */
    uint32_t rank;
    uint32_t first_dim;  /**< ek_ir.dim[first_dim .. + rank); -1 there: not known before the run */
    uint32_t n_parts;    /**< of a tuple */
    uint32_t first_part; /**< ek_ir.part[first_part .. + n_parts): types */
    int64_t bytes;       /**< dims times element size, of a tuple the sum; 0 for types without tensors, -1 not known */
    uint32_t ref_key;    /**< text, without a leading colon; EK_IR_NONE */
    uint32_t name;       /**< text of a type other than tensor and tuple: "Int64", "UMonad"; else EK_IR_NONE */
} ek_ir_type;

/** Kinds of operands. */
typedef enum ek_ir_input_kind {
    EK_IR_INPUT_NODE,      /**< index: of the node, in ek_ir.node */
    EK_IR_INPUT_PARAMETER, /**< index: in ek_ir.parameter */
    EK_IR_INPUT_GRAPH,     /**< index: in ek_ir.graph; EK_IR_NONE when it is not in the file */
    EK_IR_INPUT_LITERAL,   /**< index: text as written */
    EK_IR_INPUT_OUTSIDE,   /**< %N of which the file shows no node (a fragment, an outer graph); index: N */
} ek_ir_input_kind;

typedef struct ek_ir_input {
    uint32_t kind; /**< ek_ir_input_kind */
    uint32_t index;
    uint32_t type; /**< from the node's type line, else of the node it refers to; EK_IR_NONE */
} ek_ir_input;

/** Flags of a node. */
enum {
    EK_IR_RECOMPUTE = 1 << 0,   /**< recomputation was requested for it */
    EK_IR_DUPLICATED = 1 << 1,  /**< a copy made for the backward pass */
    EK_IR_NEED_CSE = 1 << 2,    /**< need_cse_after_recompute */
    EK_IR_TARGET_GRAD = 1 << 3, /**< takes a copy */
    EK_IR_BACKWARD = 1 << 4,    /**< scope Gradients/, or it names a forward node it belongs to, without being a copy */
    EK_IR_CELL_RECOMPUTE = 1 << 5,    /**< scope recompute_...: the whole cell was marked */
    EK_IR_RECOMPUTE_COMM = 1 << 6,    /**< recompute_comm_op */
    EK_IR_NO_REDISTRIBUTION = 1 << 7, /**< skip_redistribution */
    EK_IR_RETURN = 1 << 8,            /**< a Return */
    EK_IR_CALL = 1 << 9,              /**< a call of a graph or of a node */
    EK_IR_DAMAGED = 1 << 10,          /**< a diagnostic was given for it: its attributes are not to be trusted */
    EK_IR_STOPPED = 1 << 11,          /**< evaluation stopped here (analyze_fail) */
};

/** An attribute with a value that a check or a report uses (docs/formats.md lists the keys); others are counted. */
typedef struct ek_ir_attribute {
    uint32_t key, value; /**< texts; value without I64( ), Bool( ), quotes around it */
} ek_ir_attribute;

typedef struct ek_ir_node {
    int64_t offset;                 /**< byte of the file where its line starts */
    uint32_t bytes;                 /**< up to its end, type and source lines included */
    uint32_t line;                  /**< from 1 */
    uint32_t number;                /**< of %number; EK_IR_NONE without one. Unique within its graph only */
    uint32_t graph;                 /**< index; a fragment that shows no graph around it makes one without name */
    uint32_t name;                  /**< text in parentheses, "CNode_549"; EK_IR_NONE */
    uint32_t primitive;             /**< text: "MatMul", without PrimFunc_ and the like; of a call "call" */
    uint32_t instance;              /**< text: "redistribution_op_...", "matmul"; EK_IR_NONE */
    uint32_t scope;                 /**< text: the path before its last element, which is `scope_last`; EK_IR_NONE */
    uint32_t scope_last;            /**< text: "MatMul-op0"; EK_IR_NONE */
    uint32_t source;                /**< text: "file.py:20" of the innermost source line; EK_IR_NONE */
    uint32_t first_input, n_inputs; /**< ek_ir.input[first_input .. + n_inputs) */
    uint32_t type;                  /**< of the output; EK_IR_NONE when the file does not say */
    uint32_t first_attribute, n_attributes;
    uint32_t in_strategy, out_strategy; /**< texts, "((2, 1), (1, 4))"; EK_IR_NONE */
    uint32_t flags;
    int32_t recompute_graph, recompute_id; /**< shared by a node and its copy; -1 */
    int32_t micro;                         /**< micro-batch; -1 */
    int64_t unique_id, forward_unique_id;  /**< -1 */
} ek_ir_node;

/** A (sub)graph. */
typedef struct ek_ir_graph {
    uint32_t name;   /**< text; of the nodes of a fragment EK_IR_NONE */
    uint32_t parent; /**< index; EK_IR_NONE */
    uint32_t line;
    uint32_t first_node, n_nodes;     /**< nodes stand in file order */
    uint32_t first_formal, n_formals; /**< ek_ir.parameter */
} ek_ir_graph;

/** A parameter of the whole or of one graph. */
typedef struct ek_ir_parameter {
    uint32_t name;   /**< text: "model.layers.0.attention.wq.weight" */
    uint32_t type;   /**< EK_IR_NONE */
    uint32_t graph;  /**< EK_IR_NONE: of the entry's list */
    uint32_t number; /**< of %paraN_; EK_IR_NONE */
    uint32_t line;
} ek_ir_parameter;

/** A file, read. Read-only for callers. */
typedef struct ek_ir {
    char *path;
    int64_t bytes; /**< of the file */
    uint32_t n_lines;
    uint32_t entry; /**< text: name in the header, without @; EK_IR_NONE */
    int64_t said_nodes, said_cnodes, said_graphs, said_parameters; /**< counts of the header; -1 without one */
    bool analyze_fail;                                             /**< the dialect of a failed compilation */
    uint32_t n_nodes, n_inputs, n_attributes, n_types, n_dims, n_parts, n_graphs, n_parameters, n_texts;
    ek_ir_node *node; /**< [n_nodes], in file order. Return counts as a node of the file, but not in n_operators */
    ek_ir_input *input;
    ek_ir_attribute *attribute;
    ek_ir_type *type;
    int64_t *dim;
    uint32_t *part;
    ek_ir_graph *graph;
    ek_ir_parameter *parameter;
    const char **text;      /**< [n_texts], each once, NUL-terminated */
    uint32_t n_operators;   /**< nodes other than Return */
    uint32_t n_left_out;    /**< attributes counted, not stored */
    uint32_t n_unknown;     /**< lines and groups that were not understood and left out, without harm */
    uint32_t n_diagnostics; /**< damaged places, each reported to the listener */
    bool in_file;           /**< ek_ir_node_source() can read `path` again */
    void *memory;           /**< memory of the texts */
} ek_ir;

typedef struct ek_ir_options {
    /** Called now and then; NULL without. */
    void (*progress)(void *user, double share, const char *what);
    void *user;
    const ek_interrupt *interrupt; /**< may be NULL */
} ek_ir_options;

/**
 * Read a file. Every spelling of every release is taken in every file (docs/formats.md).
 *
 * @param path      "-" is standard input
 * @param options   may be NULL
 * @param listener  warned about every damaged place, with line and column; reading continues after it. After 100
 *   warnings, one more has the number of the others
 * @return EK_OK, also with diagnostics; EK_ERR_INPUT when the file has no node, parameter or graph, or exceeds a limit
 * (2^31 nodes, a node of 64 MB); EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes); memory O(nodes + distinct texts).
 */
ek_status ek_ir_read(const char *path, const ek_ir_options *options, const ek_listener *listener, ek_ir **out,
                     ek_error *err);
/**
 * The same from memory; `name` is the file name used in messages; node sources cannot be read from it.
 *
 * @param text  [size] bytes
 * @return as ek_ir_read(). O(size); memory O(nodes + distinct texts).
 */
ek_status ek_ir_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_ir **out,
                      ek_error *err);
/** Free a graph. NULL is fine. */
void ek_ir_free(ek_ir *ir);

/** A text by its number; "" for EK_IR_NONE. */
const char *ek_ir_text(const ek_ir *ir, uint32_t text);
/** The number of a text; EK_IR_NONE when it does not occur. O(1). */
uint32_t ek_ir_find_text(const ek_ir *ir, const char *text);
/** The value of a stored attribute; NULL without it. O(attributes of the node). */
const char *ek_ir_attribute_of(const ek_ir *ir, const ek_ir_node *node, const char *key);
/** Write the whole scope, "Default/.../MatMul-op0", cut to size; "" without one. O(length). */
void ek_ir_scope(const ek_ir *ir, const ek_ir_node *node, char *out, size_t size);
/**
 * A node's whole text as the file has it, NUL-terminated; the caller frees it. Read again from the file, which must
 * still be the one that was read.
 *
 * @return EK_OK; EK_ERR_SYSTEM when the file cannot be read again (standard input, memory, changed); EK_ERR_MEMORY.
 * O(bytes of the node).
 */
ek_status ek_ir_node_source(const ek_ir *ir, uint32_t node, char **out, ek_error *err);
/** Write a type, "float16 (1, 4096, 512)", cut to size. O(parts and dimensions of the type). */
void ek_ir_type_text(const ek_ir *ir, uint32_t type, char *out, size_t size);
/** The number of a scope's layer: N of its outermost "N-Name" element; -1 without one. O(length of the scope). */
int ek_ir_layer(const ek_ir *ir, const ek_ir_node *node);

EK_END_DECLS
#endif
