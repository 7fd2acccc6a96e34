/* evenkeel/serve.h - serves the viewer's page on this machine, for traces that are too large for a file.
 *
 * HTTP on 127.0.0.1, GET only. Every address begins with a token that is drawn for each start, requests for another
 * host than this one are refused, and only the resources of docs/view-json.md can be requested: no file path is ever
 * made from a request.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_SERVE_H
#define EVENKEEL_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

enum { EK_SERVE_TOKEN_SIZE = 33 };

typedef struct ek_serve_options {
    int port; /**< 0: any that is free */
    /** Name of the page and its run while there is no document yet. */
    const char *title, *name;
    const char *lang; /**< that the page begins in, as ek_view.lang; NULL */
    /** A second run, which the first is compared with: borrowed until ek_server_stop(). NULL: none. */
    ek_trace_index *against;
    const char *against_name;
    /** The document that a page requests, once it is ready: JSON from ek_view_write_json() with `served`. Called by
     *  several threads at a time; returns false while it is being made, else fills text and size, which stay valid and
     *  unchanged until ek_server_stop(). A text of NULL: it could not be made, and the timeline with a note replaces
     *  it. NULL instead of a function: only the timeline is served. */
    bool (*document)(void *user, const char **text, size_t *size);
    void *user;
} ek_serve_options;

typedef struct ek_server ek_server;

/**
 * Start to answer, in separate threads.
 *
 * @param index    borrowed until ek_server_stop()
 * @param options  copied; the objects it points to are borrowed
 * @param out      ek_server_stop() ends it
 * @return EK_OK, EK_ERR_SYSTEM (the port is taken; no random bytes), EK_ERR_MEMORY. Cost: a listening socket, and one
 *         thread or more that wait.
 */
ek_status ek_server_start(ek_trace_index *index, const ek_serve_options *options, ek_server **out, ek_error *err);
/** "http://127.0.0.1:PORT/TOKEN/" */
const char *ek_server_address(const ek_server *server);
/** The port that it listens on, also where the options left the choice to the system. */
int ek_server_port(const ek_server *server);
/** Requests answered so far, refused ones too. Thread-safe. */
int64_t ek_server_n_requests(const ek_server *server);
/** Ends after the requests that are being answered, or after 5 s where a client does not take its answer. NULL is
 *  fine. */
void ek_server_stop(ek_server *server);

EK_END_DECLS
#endif
