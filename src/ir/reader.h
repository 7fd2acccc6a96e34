/* ir/reader.h - the parts shared by the files of the IR reader: records of lines (feed), matching brackets, and the
 * graph being built.
 *
 * A record is a node with all its lines, or a line outside of nodes. Everything below works on the record in the
 * buffer; texts, types and numbers are copied out of it. Running out of memory sets `status`, and every function
 * continues harmlessly until the end of the record, so that only the loop over records checks it. */
#ifndef EK_IR_READER_H
#define EK_IR_READER_H

#include <stdio.h>

#include "base/texts.h"
#include "evenkeel/ir.h"

enum {
    EK__IR_MAX_NODE_BYTES = 64 << 20,
    EK__IR_MAX_DIAGNOSTICS = 100,
    EK__IR_MAX_DEPTH = 64, /**< of brackets */
};

/* ---- records ---- */

/** Lines of a file, in a buffer that slides over it; or of a text in memory, in place. */
typedef struct ek__ir_feed {
    int file; /**< -1: a text in memory */
    bool ended;
    char *buffer;
    const char *text; /**< buffer, or the text */
    size_t capacity, begin, filled;
    int64_t offset; /**< of text[begin] in the file */
} ek__ir_feed;

ek_status ek__ir_feed_open(ek__ir_feed *feed, const char *path, ek_error *err);
void ek__ir_feed_open_text(ek__ir_feed *feed, const char *text, size_t size);
/** Bytes of the file; -1 when unknown. */
int64_t ek__ir_feed_size(const ek__ir_feed *feed);
void ek__ir_feed_close(ek__ir_feed *feed);
/**
 * The end of the line that starts `from` bytes after text[begin], including its line feed. Moves the buffer when it has
 * to read: positions stay valid, pointers do not.
 * @return EK_OK, *next == from at the end of the file; EK_ERR_INPUT when the record is too long; EK_ERR_SYSTEM,
 *         EK_ERR_MEMORY
 */
ek_status ek__ir_feed_line(ek__ir_feed *feed, size_t from, size_t *next);
/** Advance to `size` bytes after text[begin]. */
void ek__ir_feed_skip(ek__ir_feed *feed, size_t size);

/* ---- brackets ---- */

/** The reason why brackets do not match. */
typedef struct ek__ir_fault {
    const char *at;     /**< of the closing bracket, or the end */
    const char *opened; /**< the bracket it should have closed; the string that does not end */
} ek__ir_fault;

/** The rules for reading an item. */
typedef enum ek__ir_item_kind {
    EK__IR_ITEM_VALUE, /**< to a comma; angles are not brackets */
    EK__IR_ITEM_TYPE,  /**< to a comma; angles are brackets, arrows are not */
    EK__IR_ITEM_WHOLE, /**< commas do not end it */
} ek__ir_item_kind;

/**
 * The end of an item: the first comma, or a closing bracket that was not opened in it, outside of brackets and strings;
 * or `end`. NULL when brackets inside do not match, and then the reason. O(bytes).
 */
const char *ek__ir_item_end(const char *at, const char *end, ek__ir_item_kind kind, ek__ir_fault *fault);

/* ---- the graph being built ---- */

/** Arrays that grow. */
enum ek__ir_array {
    EK__IR_NODES,
    EK__IR_INPUTS,
    EK__IR_ATTRIBUTES,
    EK__IR_TYPES,
    EK__IR_DIMS,
    EK__IR_PARTS,
    EK__IR_GRAPHS,
    EK__IR_PARAMETERS,
    EK__IR_RAW_TYPES,
    EK__IR_KEY_ROLES,
    EK__IR_PARAMETER_KEYS,
    EK__IR_LIST,
    EK__IR_OUTER,
    EK__IR_CANON,
    EK__IR_N_ARRAYS,
};

/** An operand $(@graph:node), resolved when all graphs are read. */
typedef struct ek__ir_outer {
    uint32_t input; /**< in ir->input */
    uint32_t graph, name;
    uint32_t line;
} ek__ir_outer;

/** The parameters with a key, the text after "%para". */
typedef struct ek__ir_parameter_key {
    uint32_t entry, formal; /**< that of the entry's list; the last of a graph's list */
} ek__ir_parameter_key;

typedef struct ek__ir_reader {
    const char *path;
    const ek_listener *listener;
    ek_status status; /**< EK_OK, EK_ERR_MEMORY; EK_ERR_INPUT when a limit is exceeded */
    ek_ir *ir;
    ek__texts *texts; /**< ir->memory */
    size_t capacity[EK__IR_N_ARRAYS];

    /* the record */
    const char *begin, *end;
    int64_t offset;
    uint32_t line;
    bool has_nul;

    /* the node */
    ek_ir_node node;
    bool damaged;
    bool has_types;      /**< its type line was read; another one belongs to a kernel */
    bool wants_path;     /**< the scope's path is on the next line */
    bool candidates;     /**< following source lines belong to another node */
    uint32_t n_callee;   /**< 1: the first input is the called graph, which the type line omits */
    const char *source;  /**< its last source line */
    const char *outside; /**< the last one among candidates */

    /* the current place */
    uint32_t graph; /**< open; EK_IR_NONE */
    bool stopped;   /**< preceded by a mark of a failed evaluation */
    bool omitted;   /**< a line "...": the graph is incomplete */
    bool in_attrs;  /**< lines KEY: value are attributes of a graph */
    uint32_t n_listed;
    uint32_t forward_name;                             /**< text "forward_node_name" */
    uint32_t count_line, graphs_line, parameters_line; /**< of the header's counts */

    /* types by their bytes as written, and by content */
    ek__texts raw_types, canon;
    uint32_t *raw_type; /**< [raw_types.n] */
    uint32_t *list;     /**< types of a list */
    uint32_t n_list;
    char *scratch; /**< of capacity[EK__IR_CANON] */
    size_t n_scratch;

    ek__texts keys;
    uint8_t *key_role; /**< [keys.n] */
    ek__texts parameter_keys;
    ek__ir_parameter_key *parameter_key; /**< [parameter_keys.n] */
    ek__ir_outer *outer;
    uint32_t n_outer;
} ek__ir_reader;

/** Room for item n of an array: the array, perhaps moved; NULL, and a status, on failure. */
void *ek__ir_room(ek__ir_reader *r, enum ek__ir_array which, void *array, size_t n, size_t size);
/** The number of a text; EK_IR_NONE, and a status, when out of memory. */
uint32_t ek__ir_intern(ek__ir_reader *r, const char *at, const char *end);
/** Report damage at `at` and mark the node. */
void ek__ir_damage(ek__ir_reader *r, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** The same for a place of which only the line is known. */
void ek__ir_damage_line(ek__ir_reader *r, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** The same for brackets; `remedy` is the action taken. */
void ek__ir_unmatched(ek__ir_reader *r, const ek__ir_fault *fault, const char *remedy);

/* ---- parts of records; each function takes their start and returns their end ---- */

/** A type as written, [at, end). EK_IR_NONE for none or <null>. */
uint32_t ek__ir_type_read(ek__ir_reader *r, const char *at, const char *end);
/** "(type, type)" at `at`: r->list gets the types, from r->n_list on. */
const char *ek__ir_types_read(ek__ir_reader *r, const char *at, const char *end);
/** Pairs "key: value, ..." up to `closer`; the pairs of a damaged group are removed again. */
const char *ek__ir_pairs_read(ek__ir_reader *r, const char *at, char separator, char closer);
/** The next readable place after damage: a group, or the end of the line. */
const char *ek__ir_resume(const ek__ir_reader *r, const char *at);
/** The lines of a node after its operands: groups, types, scope, source. */
void ek__ir_lines_read(ek__ir_reader *r, const char *at);
/** The whole record as a node. */
void ek__ir_node_read(ek__ir_reader *r);
/** The whole record as the head of a graph, with its formal parameters. */
void ek__ir_graph_open(ek__ir_reader *r);
/** End the open graph and resolve its operands. */
void ek__ir_graph_close(ek__ir_reader *r);
/** The graph a node of this record belongs to, that of a fragment if there is none. */
void ek__ir_graph_ensure(ek__ir_reader *r);
/** The whole record as a parameter of the entry's list. */
void ek__ir_parameter_line(ek__ir_reader *r);
/** The whole record as a line outside of nodes and lists. */
void ek__ir_header_line(ek__ir_reader *r);
/** The parameter with a key (the text after "%para") visible from the open graph; made if no list has it. */
uint32_t ek__ir_parameter_find(ek__ir_reader *r, const char *key, const char *end);
/** Resolve all deferred operands, and the types of operands from their producers. */
void ek__ir_resolve(ek__ir_reader *r);

/* ---- bytes ---- */

static inline bool ek__ir_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool ek__ir_is_space(char c)
{
    return ek__ir_is_blank(c) || c == '\n';
}

static inline bool ek__ir_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline const char *ek__ir_skip_blanks(const char *at, const char *end)
{
    while (at < end && ek__ir_is_blank(*at))
        at++;
    return at;
}

static inline const char *ek__ir_skip_space(const char *at, const char *end)
{
    while (at < end && ek__ir_is_space(*at))
        at++;
    return at;
}

/** `end` without the space before it. */
static inline const char *ek__ir_trim(const char *at, const char *end)
{
    while (end > at && ek__ir_is_space(end[-1]))
        end--;
    return end;
}

/** The line feed, or the end. */
const char *ek__ir_line_end(const char *at, const char *end);
bool ek__ir_begins(const char *at, const char *end, const char *word);
bool ek__ir_is(const char *at, const char *end, const char *word);
/** A whole number, all of [at, end); quotes around it are allowed. */
bool ek__ir_number(const char *at, const char *end, int64_t *out);

#endif
