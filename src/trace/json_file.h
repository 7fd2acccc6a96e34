/* trace/json_file.h - small JSON files beside a trace, whole in memory. */
#ifndef EK_TRACE_JSON_FILE_H
#define EK_TRACE_JSON_FILE_H

#include <stdbool.h>

#include <jansson.h>

#include "trace/files.h"

enum { EK__JSON_MAX_BYTES = 1 << 30 };

/** Read an object: EK_ERR_SYSTEM; EK_ERR_INPUT with line and column, or when it is no object or too large. Fills
 *  source->bytes. The caller gives *root back with json_decref(). */
ek_status ek__json_read(const ek__table_in *in, json_t **root, ek_error *err);
/** A whole number from 0 to INT_MAX, written as number or text. */
bool ek__json_whole(const json_t *value, int *out);

#endif
