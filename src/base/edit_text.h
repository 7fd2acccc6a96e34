/* base/edit_text.h - byte level of the editor (base/edit.h): positions of the parts of a value, the text of a new
 * value, and the lines that stay when a value is removed. */
#ifndef EK_BASE_EDIT_TEXT_H
#define EK_BASE_EDIT_TEXT_H

#include "base/config_tree.h"

/** Text that grows. `failed` when memory ran out on the way; then the text is incomplete. */
typedef struct ek__text {
    char *bytes;
    size_t n, capacity;
    bool failed;
} ek__text;

void ek__text_add(ek__text *text, const char *bytes, size_t n);
void ek__text_add_string(ek__text *text, const char *string);
void ek__text_add_spaces(ek__text *text, int n);

/** A document and the bytes it was read from. */
typedef struct ek__source {
    char *text;
    int size;
    ek__config_tree *doc;
} ek__source;

/** The position of a value: an optional anchor, then the value. Without an anchor anchor_end == begin; a value that is
 *  not written at all has content == end. */
typedef struct ek__text_span {
    int begin, anchor_end, content, end;
} ek__text_span;

/** As ek__node.begin and .end, but a block scalar ends with its last line that is not blank. */
ek__text_span ek__span_of(const ek__source *source, const ek__node *node);
/** The byte after a key's last character. */
int ek__key_end(const ek__source *source, const ek__node *node);
/** The position for a new line after a value: the end of a line, or (after a block scalar that keeps its blank lines)
 *  its begin. */
int ek__end_of_lines(const ek__source *source, const ek__node *node);
/** The byte after the blanks at `at`. */
int ek__skip_blanks(const ek__source *source, int at);
/** Where the line break is that ends the line of `at`; the text's size when there is none. */
int ek__line_end(const ek__source *source, int at);
/** The line break of the line of `at`, or of the line before when it has none. */
const char *ek__line_break(const ek__source *source, int at);

/** Write a value on one line. `in_flow`: inside of brackets or braces. */
void ek__write_flow(ek__text *out, const ek__source *source, const ek__node *node, bool in_flow);
/** Write a map's keys as lines, each with its line break before it. */
void ek__write_block(ek__text *out, const ek__source *source, const ek__node *map, int indent, int step,
                     const char *line_break);
/** Write a key; in double quotes when `json`, else plain or in single quotes where it must be. */
void ek__write_key(ek__text *out, const char *key, bool json);

/** A value (or its anchor, or everything after its key: `begin`) that is removed. */
typedef struct ek__cut {
    const ek__node *node;
    int begin, end;    /**< `end` grows to the end of the line when the rest of the line moves, too */
    const char *line;  /**< of new text in its place; "" for none */
    const char *below; /**< new lines, each with its line break before it; "" for none */
} ek__cut;

/**
 * Write the replacement of a cut's bytes. Comments in it stay: the first line's in its place, the others as separate
 * lines with their line's indentation. Blank lines stay; all others go.
 * @return EK_OK or EK_ERR_MEMORY. O(bytes and values inside).
 */
ek_status ek__write_cut(ek__text *out, const ek__source *source, ek__cut *cut);

#endif
