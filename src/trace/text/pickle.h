/* trace/text/pickle.h - Python's pickles of plain data, without running anything. */
#ifndef EK_TRACE_TEXT_PICKLE_H
#define EK_TRACE_TEXT_PICKLE_H

#include "trace/text/plain_data.h"

/**
 * Read a pickle of protocol 2 to 5, plain or packed by gzip, that holds None, booleans, numbers, texts, lists, tuples
 * and dictionaries alone.
 *
 * @param data   empty; filled, to be cleared by the caller also after a failure
 * @param root   what the pickle holds
 * @param bytes  out: of the pickle
 * @return EK_OK; EK_ERR_INPUT with the byte for what is cut, is no pickle, or would name or call something of a
 * program; EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes), memory O(values), at most data->max_bytes.
 */
ek_status ek__pickle_read(const char *path, ek__data *data, ek__datum *root, int64_t *bytes, ek_error *err);
/** Do these first bytes of a file look like such a pickle? */
bool ek__is_pickle(const char *bytes, size_t n);

#endif
