/* serve/server.h - whether there can be a server. Library-internal. */
#ifndef EK_SERVE_SERVER_H
#define EK_SERVE_SERVER_H

#include <stdbool.h>

/** Is libmicrohttpd part of this build? */
bool ek__server_present(void);

#endif
