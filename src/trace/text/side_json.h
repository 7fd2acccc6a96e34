/* trace/text/side_json.h - the small JSON files of a trace's folder, as trees.
 *
 * Python writes NaN and Infinity, which JSON does not have: they are read as texts, so they are not numbers and all
 * other positions stay. A byte-order mark is skipped. In a file with a whole number beyond 64 bits all of them are read
 * as decimals. */
#ifndef EK_TRACE_TABLES_SIDE_JSON_H
#define EK_TRACE_TABLES_SIDE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "trace/tables/files.h"
#include "trace/text/left_out.h"

enum { EK__SIDE_JSON_MAX_MB = 256 }; /* a tree takes some ten times that */

/** json_loadb() that reports when memory is out. NULL for invalid JSON, too. */
json_t *ek__json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory);
/** The same of a file. NULL also where it cannot be read. */
json_t *ek__json_load_file(const char *path, bool *no_memory);
/** Read a file that contains an object; source->bytes is set. @return EK_OK; EK_ERR_INPUT with line and column for
 *  invalid JSON or another value, an empty file or one beyond the limit; EK_ERR_SYSTEM; EK_ERR_MEMORY. json_decref()
 *  the result. O(bytes). */
ek_status ek__side_json_read(const ek__table_in *in, json_t **out, ek_error *err);
/** The same from `size` bytes that are changed; `origin` is their place: its line, if any, is the one of messages.
 */
ek_status ek__side_json_parse(char *text, size_t size, ek_origin origin, json_t **out, ek_error *err);
/** Apply `take` to the sections p2p and collective of every step, one after the other; a section may be NULL. `name` is
 *  the step's, in the rank's pool. Members that are not steps go to `left`; EK_ERR_INPUT when there are no steps:
 *  `what` was not found. */
typedef ek_status ek__take_section(void *user, const char *name, bool p2p, json_t *section, ek_error *err);
ek_status ek__side_json_steps(const ek__table_in *in, json_t *root, const char *what, ek__left_out *left,
                              ek__take_section *take, void *user, ek_error *err);
/** A number below a key, at most 1e15 in size. `value` is 0 when the key is absent and optional. @return false when it
 *  is absent and required, or is not such a number. */
bool ek__side_json_number(const json_t *object, const char *key, bool required, double *value);
/** A whole number from 0 to INT_MAX, written as number or text. */
bool ek__side_json_whole(const json_t *value, int *out);

#endif
