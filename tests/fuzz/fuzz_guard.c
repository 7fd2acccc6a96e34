/* Fuzzes headers of requests, a line each: host, origin, site, token. Whatever the bytes, only this machine's names
 * with the server's port pass, and only the token is the token. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/guard.h"

enum { PORT = 8080, N_LINES = 4 };

static bool ends_with_port(const char *text)
{
    size_t n = strlen(text);
    return n > 5 && strcmp(text + n - 5, ":8080") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char token[EK__TOKEN_DIGITS + 1] = "0123456789abcdef0123456789abcdef";
    char *text = fuzz_text(data, size), *line[N_LINES], *at = text;
    for (int i = 0; i < N_LINES; i++) {
        line[i] = at;
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
    }
    bool host = ek__guard_is_host(line[0], PORT), origin = ek__guard_is_origin(line[1], PORT);
    assert(!host || (ends_with_port(line[0]) && !ek__guard_is_host(line[0], PORT + 1)));
    assert(!origin || (strncmp(line[1], "http://", 7) == 0 && ek__guard_is_host(line[1] + 7, PORT)));
    assert(ek__guard_is_site(line[2]) == (strcmp(line[2], "none") == 0 || strcmp(line[2], "same-origin") == 0));
    assert(ek__guard_is_token(token, line[3], strlen(line[3])) == (strcmp(line[3], token) == 0));
    free(text);
    return 0;
}
