/* base/config_tree.h - reads YAML and JSON into one tree in which every value has its line and column.
 *
 * Both languages are read with libyaml's events: JSON is YAML's flow style, and libyaml gives a line and column for
 * every value, which JSON libraries do not. JSON that libyaml refuses (surrogate pairs, tabs before the first brace) is
 * rewritten before parsing without moving any value. Everything is bounded by the limits below; aliases (unless
 * requested), tags, duplicate keys and several documents in one file are refused, so a document is never larger than
 * its file.
 *
 * Scalars are text until a typed helper reads them. A helper's error names the field's path, the found and the expected
 * value, and ends with the caller's advice. */
#ifndef EK_BASE_CONFIG_TREE_H
#define EK_BASE_CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/error.h"

enum {
    EK__CONFIG_MAX_BYTES = 64 << 20,
    EK__CONFIG_MAX_DEPTH = 64,
    EK__CONFIG_MAX_NODES = 2000000,
};

typedef enum ek__node_kind { EK__SCALAR, EK__LIST, EK__MAP } ek__node_kind;

/** A value. Immutable and owned by its document. */
typedef struct ek__node {
    ek__node_kind kind;
    bool quoted;              /**< a scalar in quotes: always text */
    bool flow;                /**< a list or map in brackets or braces */
    int line, column;         /**< of the value, from 1 */
    int key_line, key_column; /**< of its key, when it sits in a map */
    int index;                /**< position in its list or map */
    int n;                    /**< values inside */
    int begin, end;           /**< bytes in the file: from its anchor on, if any, to where libyaml sees the end; a block
                               *   list or map ends with its last value; a value for an alias is where the alias is */
    int key_begin, key_end;   /**< bytes of its key, when it sits in a map */
    const char *anchor;       /**< the name after its '&'; NULL without one, or where aliases are not allowed */
    const char *key;          /**< NULL unless it sits in a map */
    const char *text;         /**< of a scalar, without NUL bytes; NULL otherwise */
    const struct ek__node *original; /**< the value of an alias, in its copy and everything inside; else NULL */
    struct ek__node *parent, *first, *last, *next;
} ek__node;

typedef struct ek__config_tree ek__config_tree;

/** Input of every helper: the source of the values and the receivers of errors and warnings. `listener`, `err` may be
 *  NULL. */
typedef struct ek__in {
    const ek__config_tree *doc;
    const ek_listener *listener;
    ek_error *err;
} ek__in;

/** Read a file; "-" is standard input. @return EK_OK, EK_ERR_INPUT with the place, EK_ERR_SYSTEM, EK_ERR_MEMORY. */
ek_status ek__config_read(const char *path, ek__config_tree **out, ek_error *err);
/** ek__config_read() for files of other programs, where aliases (*name) are usual: each becomes a copy of its anchor's
 *  value, with the positions of the original. Copies count towards the limits above. Merge keys (<<) are refused. */
ek_status ek__config_read_with_aliases(const char *path, ek__config_tree **out, ek_error *err);
/** The same from memory; `name` is the file name used in messages and is copied. */
ek_status ek__config_parse_buffer(const char *name, const char *text, size_t size, ek__config_tree **out,
                                  ek_error *err);
ek_status ek__config_parse_buffer_with_aliases(const char *name, const char *text, size_t size, ek__config_tree **out,
                                               ek_error *err);
/** The bytes of a file ("-" is standard input) within the limit above; free() them. @return EK_OK, EK_ERR_INPUT when it
 *  is too large, EK_ERR_SYSTEM, EK_ERR_MEMORY. */
ek_status ek__config_read_text(const char *path, char **out, size_t *size, ek_error *err);
/** The name of a path in messages: itself, but "<stdin>" for "-". */
const char *ek__path_name(const char *path);
void ek__config_free(ek__config_tree *doc);
const ek__node *ek__config_root(const ek__config_tree *doc);
/** As given to the reader. */
const char *ek__config_name(const ek__config_tree *doc);

ek_origin ek__node_origin(const ek__config_tree *doc, const ek__node *node);
/** Write the dotted path of a node ("memory_usage.body_memories.stage_id[3]") to `out`, cut to `size`. */
void ek__node_path(const ek__node *node, char *out, size_t size);
/** Describe the value of a node, for people ("'abc'", "a list of 3", "nothing") to `out`, printable and cut to
 *  `size`. */
void ek__node_describe(const ek__node *node, char *out, size_t size);

/** Is it an empty scalar or null? */
bool ek__node_is_null(const ek__node *node);
/** Is it an unquoted true/false/yes/no/on/off of YAML 1.1? Then *value (may be NULL) is set. */
bool ek__node_is_bool(const ek__node *node, bool *value);
/** Is it an unquoted whole number within int? 8.0 is one, since frameworks take int() of a count. Then *value (may be
 *  NULL) is set. */
bool ek__node_is_int(const ek__node *node, int *value);

/** The value of a key, or NULL when it is absent or null. */
const ek__node *ek__get(const ek__node *map, const char *key);
/** The value of a key, or the error that it is missing. `advice` is the remedy in the message. */
ek_status ek__require(const ek__in *in, const ek__node *map, const char *key, const char *advice, const ek__node **out);
/** Is the node of this kind? */
ek_status ek__expect(const ek__in *in, const ek__node *node, ek__node_kind kind, const char *advice);
/** A map below a key, or the error that it is missing or no map. */
ek_status ek__require_map(const ek__in *in, const ek__node *map, const char *key, const char *advice,
                          const ek__node **out);
/** A map below a key; *out is NULL when it is absent, or when `map` is NULL. */
ek_status ek__optional_map(const ek__in *in, const ek__node *map, const char *key, const ek__node **out);

/** A whole number in min..max; refuses 1.5, true, "12" in quotes. */
ek_status ek__int(const ek__in *in, const ek__node *node, int min, int max, const char *advice, int *out);
/** A finite decimal number in min..max; refuses NaN, infinity, hexadecimal. */
ek_status ek__number(const ek__in *in, const ek__node *node, double min, double max, const char *advice, double *out);
ek_status ek__bool(const ek__in *in, const ek__node *node, const char *advice, bool *out);
/** Text of at most size - 1 bytes without control characters, not empty. */
ek_status ek__string(const ek__in *in, const ek__node *node, size_t size, const char *advice, char *out);

/** EK_ERR_INPUT at a node: its path, then the formatted text. */
ek_status ek__fail_at(const ek__in *in, const ek__node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** A warning at a node: its path, then the formatted text. */
void ek__warn_at(const ek__in *in, const ek__node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** The same for a warning that is a finding of a lint rule. */
void ek__warn_of_at(const ek__in *in, const char *rule, const ek__node *node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** Warn of every key of `map` that is not in `known` (NULL at the end), with the nearest known one. */
void ek__warn_unknown_keys(const ek__in *in, const ek__node *map, const char *const *known);

/** Levenshtein distance of two words of at most 48 bytes; 48 when one is longer. */
size_t ek__edit_distance(const char *a, const char *b);
/** The name nearest to a misspelt word: at most a third of its letters are wrong. NULL: none. @param n  names;
 *  -1: up to NULL. O(names x letters^2) */
const char *ek__nearest_word(const char *word, const char *const *names, int n);
/** Is it a finite decimal number? Then *value is set. Needs LC_NUMERIC as in the C locale. */
bool ek__text_is_number(const char *text, double *value);
/** Is it free of control characters? */
bool ek__text_is_printable(const char *text);
/** A copy of `text` from ek__alloc(), or NULL when memory is out. */
char *ek__strdup(const char *text);
/** `size` bytes with a terminating NUL. @return free() it; NULL when memory is out */
char *ek__text_copy(const char *text, size_t size);

#endif
