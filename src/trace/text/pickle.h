/* trace/text/pickle.h - reads Python's pickles of plain data, without running any code. */
#ifndef EK_TRACE_TEXT_PICKLE_H
#define EK_TRACE_TEXT_PICKLE_H

#include "trace/text/plain_data.h"

/**
 * Read a pickle of protocol 2 to 5, plain or packed by gzip, that contains only None, booleans, numbers, texts, lists,
 * tuples and dictionaries.
 *
 * @param data   empty; filled, to be cleared by the caller also after a failure
 * @param root   the content of the pickle
 * @param bytes  out: of the pickle
 * @return EK_OK; EK_ERR_INPUT with the byte for a file that is cut, is not a pickle, or would name or call an object of
 * a program; EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes), memory O(values), at most data->max_bytes.
 */
ek_status ek__pickle_read(const char *path, ek__data *data, ek__datum *root, int64_t *bytes, ek_error *err);
/** Can these first bytes of a file be such a pickle? */
bool ek__is_pickle(const char *bytes, size_t n);

#endif
