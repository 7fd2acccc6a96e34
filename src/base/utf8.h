/* base/utf8.h - reads characters of texts with any bytes. */
#ifndef EK_BASE_UTF8_H
#define EK_BASE_UTF8_H

#include <stdint.h>

/**
 * Decode one UTF-8 character.
 * @param code  its code point, U+FFFD for a byte that starts no valid character
 * @return bytes consumed, >= 1; 0 at the end of the string
 */
int ek__utf8_next(const char *text, uint32_t *code);

/** Encode one code point. @return bytes written to `out` (no terminator). */
int ek__utf8_put(uint32_t code, char out[4]);

#endif
