/* Decodes UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. A byte that does not begin a
 * valid character becomes U+FFFD, so that any bytes can be decoded. */
#include "base/utf8.h"

#include <stdbool.h>

int ek__utf8_next(const char *text, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    *code = s[0];
    if (s[0] < 0x80)
        return s[0] != 0;
    int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    uint32_t value = s[0] & (0xffu >> (length + 1));
    bool valid = s[0] >= 0xc2 && s[0] <= 0xf4;
    for (int i = 1; valid && i < length; i++) {
        valid = (s[i] & 0xc0) == 0x80;
        value = value << 6 | (s[i] & 0x3f);
    }
    if (!valid || value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        *code = 0xfffd;
        return 1;
    }
    *code = value;
    return length;
}

int ek__utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[length] | code);
    return length;
}
