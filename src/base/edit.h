/* base/edit.h - changes only the given values of a YAML file.
 *
 * The text is kept unchanged; changes are noted by the path of their value and applied together at the end. Everything
 * except changed values stays byte for byte: comments, order, indentation, blank lines, line ends (LF or CRLF),
 * quoting, a byte-order mark. Lists of the same shape are changed element by element, so their layout stays too. The
 * result is read again before it is returned, and compared with the requested changes: a change that cannot be made
 * without touching another value is refused. */
#ifndef EK_BASE_EDIT_H
#define EK_BASE_EDIT_H

#include "base/config_tree.h"

typedef struct ek__edit ek__edit;

/** Read a file for editing; aliases are allowed, merge keys and tags are not. @return as
 * ek__config_read_with_aliases().
 */
ek_status ek__edit_open(const char *path, ek__edit **out, ek_error *err);
/** The same from memory; `name` is the file name used in messages and is copied. */
ek_status ek__edit_open_buffer(const char *name, const char *text, size_t size, ek__edit **out, ek_error *err);
void ek__edit_free(ek__edit *edit);

/** The document as it was read. */
const ek__config_tree *ek__edit_config(const ek__edit *edit);

/**
 * Note a change: the value below `keys` becomes `value`. Keys that are missing are added, with the maps around them.
 *
 * A value that has an anchor which others refer to keeps its old value for them: the anchor and the old value (on one
 * line, a map too) move to the first of the others. A value that is an alias is replaced by the new value. A value with
 * the same meaning (same numbers, same text) is left unchanged; 1 and 1.0 differ. Of two changes of one path the last
 * one is used; a path inside of another one's is refused by ek__edit_finish().
 *
 * @param keys   from the root's key inwards, NULL at the end; a key may have any character
 * @param value  YAML of the new value on one line in flow style: "3", "True", "[[1, 2], [3, 4]]",
 *               "{'feed_forward\\.mul': [1, 2]}"; copied. Maps are written as blocks where the file's style is block
 * @param after  when the last key is missing: the key of the same map to add it after, which may be a missing key noted
 *   before; NULL, or an unknown one: at the end of the map
 * @return EK_OK, EK_ERR_INPUT with the place when the path leads through a value that is not a map or through an alias,
 *   or when `value` is not YAML, EK_ERR_MEMORY.
 */
ek_status ek__edit_set(ek__edit *edit, const char *const *keys, const char *value, const char *after, ek_error *err);

/**
 * Apply all changes.
 * @param text  the new text, `size` bytes with a terminating NUL; free() it
 * @return EK_OK; EK_ERR_INPUT with the place when the changes cannot be made without touching another value, or one of
 *         them is inside of another; EK_ERR_MEMORY. The changes stay noted; more can follow.
 */
ek_status ek__edit_finish(ek__edit *edit, char **text, size_t *size, ek_error *err);

#endif
