/* serve/guard.h - access checks: only this machine's own browser, with the token, is served. Pure functions of
 * texts. */
#ifndef EK_SERVE_GUARD_H
#define EK_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { EK__TOKEN_BYTES = 16, EK__TOKEN_DIGITS = 32 };

/** 128 random bits of the system as hexadecimal digits. False when none are available. */
bool ek__guard_draw(char token[EK__TOKEN_DIGITS + 1]);
/** Is it the token? The time of the comparison does not depend on the number of matching digits. */
bool ek__guard_is_token(const char token[EK__TOKEN_DIGITS + 1], const char *text, size_t size);
/** Does a Host header name this server: 127.0.0.1, localhost or [::1], with its port? A page of another site whose name
 *  was made to resolve to this address (DNS rebinding) sends that name. */
bool ek__guard_is_host(const char *text, int port);
/** Is an Origin header that of the server's own page? NULL, no header: yes. */
bool ek__guard_is_origin(const char *text, int port);
/** Does Sec-Fetch-Site name the server's own page, or a typed address? NULL, no header: yes. */
bool ek__guard_is_site(const char *text);

#endif
