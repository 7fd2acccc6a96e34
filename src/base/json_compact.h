/* base/json_compact.h - copies one member of a JSON object, checked and on one line, for a page or an answer of the
 * server that includes a file of another program. */
#ifndef EK_BASE_JSON_COMPACT_H
#define EK_BASE_JSON_COMPACT_H

#include <stdbool.h>
#include <stddef.h>

enum { EK__JSON_COMPACT_DEPTH = 64 };

/** Text that grows, kept between calls. {0} to begin with; free `at`. */
typedef struct ek__json_text {
    size_t n, capacity;
    char *at;
    bool out_of_memory;
} ek__json_text;

/**
 * Append the value of a member of the object that `text` is: JSON without white space between its parts and without
 * control characters in texts, which become \u escapes. NaN, Infinity and -Infinity, which Python writes, become texts.
 * Of several members of that name the last one counts, as in Python and JavaScript.
 *
 * @param found  whether the object has the member
 * @return false when `text` is not a valid JSON object of at most EK__JSON_COMPACT_DEPTH levels, or memory is out; then
 *         nothing is appended. O(size).
 */
bool ek__json_compact(const char *text, size_t size, const char *member, ek__json_text *out, bool *found);
/** Append bytes unchanged. */
void ek__json_add(ek__json_text *out, const char *bytes, size_t n);
/** Append any bytes as a JSON text with its quotes. Bytes beyond ASCII are taken over. */
void ek__json_quote(const char *bytes, size_t size, ek__json_text *out);

#endif
