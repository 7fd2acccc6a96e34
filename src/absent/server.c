/* Replaces the server of the viewer's page in a build without libmicrohttpd: starting it fails with a message. No
 * server exists, so the other functions do nothing. */
#include "evenkeel/serve.h"

#include "base/error.h"
#include "serve/server.h"

bool ek__server_present(void)
{
    return false;
}

ek_status ek_server_start(ek_trace_index *index, const ek_serve_options *options, ek_server **out, ek_error *err)
{
    (void)index, (void)options, (void)out;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "this build has no libmicrohttpd, which serving a page needs: write the page to a file with -o, or "
                    "build with -Dserver=enabled");
}

const char *ek_server_address(const ek_server *server)
{
    (void)server;
    return NULL;
}

int ek_server_port(const ek_server *server)
{
    (void)server;
    return 0;
}

int64_t ek_server_n_requests(const ek_server *server)
{
    (void)server;
    return 0;
}

void ek_server_stop(ek_server *server)
{
    (void)server;
}
