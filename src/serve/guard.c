/* Checks the access of clients. The token is drawn by getrandom() and all its digits are compared, independent of the
 * first difference; hosts are compared with the three names of this machine. Programs of the same user on this machine
 * are trusted no more than others: without the token they are refused. */
#include "serve/guard.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/c_locale.h"

bool ek__guard_draw(char token[EK__TOKEN_DIGITS + 1])
{
    unsigned char byte[EK__TOKEN_BYTES];
    if (getrandom(byte, sizeof byte, 0) != (ssize_t)sizeof byte)
        return false;
    for (int i = 0; i < EK__TOKEN_BYTES; i++)
        snprintf(token + 2 * (size_t)i, 3, "%02x", byte[i]);
    return true;
}

bool ek__guard_is_token(const char token[EK__TOKEN_DIGITS + 1], const char *text, size_t size)
{
    char given[EK__TOKEN_DIGITS] = {0};
    volatile unsigned char differs = size != EK__TOKEN_DIGITS;
    memcpy(given, text, size < sizeof given ? size : sizeof given);
    for (size_t i = 0; i < sizeof given; i++)
        differs = (unsigned char)(differs | (given[i] ^ token[i]));
    return differs == 0;
}

bool ek__guard_is_host(const char *text, int port)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        char whole[64];
        snprintf(whole, sizeof whole, "%s:%d", names[i], port);
        if (ek__strcasecmp(text, whole) == 0)
            return true;
    }
    return false;
}

bool ek__guard_is_origin(const char *text, int port)
{
    static const char scheme[] = "http://";
    return !text ||
           (strncmp(text, scheme, sizeof scheme - 1) == 0 && ek__guard_is_host(text + sizeof scheme - 1, port));
}

bool ek__guard_is_site(const char *text)
{
    return !text || strcmp(text, "same-origin") == 0 || strcmp(text, "none") == 0;
}
