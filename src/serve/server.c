/* Runs the server: libmicrohttpd with a few threads that poll, on a socket bound to 127.0.0.1. Every request goes
 * through the same gate (method, host, site, token, address, values) before an answer is made. Connections that have
 * not passed the gate are bounded in number and time (clients.c), and answers not yet received by clients in bytes, so
 * that no client can occupy the whole server or the memory of the machine. It speaks plain HTTP: nothing leaves the
 * machine. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "evenkeel/write.h"
#include "serve/answer.h"
#include "serve/clients.h"
#include "serve/guard.h"
#include "serve/server.h"

enum {
    THREADS = 4,
    MOST_RUNS = 2,
    MOST_CONNECTIONS = 512,
    MOST_WAITING = 384,          /* of these, those that have not shown the token: the others always find room */
    WAITING_MILLISECONDS = 5000, /* from opening, or its last answer, to the end of the next request's headers */
    CONNECTION_BYTES = 96 << 10, /* request line and headers of a request */
    IDLE_SECONDS = 30,           /* without receiving any of an answer */
    BACKLOG = 128,
    STOP_MILLISECONDS = 5000,
};
static const int64_t most_outstanding = 96 << 20; /* bytes of answers not sent yet */

struct ek_server {
    struct MHD_Daemon *daemon;
    ek_serve_options options;
    int n_runs;
    ek__serving serving[MOST_RUNS];
    ek__clients clients;
    char *timeline, *unfinished, *policy; /* policy: the page's own Content-Security-Policy, as a header */
    size_t timeline_size, unfinished_size;
    int port;
    char token[EK__TOKEN_DIGITS + 1];
    char address[96];
    atomic_int_least64_t n_requests, n_open; /* answered; between their headers and their end */
    atomic_int_least64_t outstanding;
};

/* A request in progress: its address as received. */
typedef struct pending {
    struct ek_server *server;
    struct client *client;
    int64_t bytes; /* of an answer, that count as outstanding */
    bool called, too_long;
    size_t size;
    char text[];
} pending;

/* A connection. It owns its request: libmicrohttpd does not report the end of every request, for example of those with
 * headers that exceed its memory. */
typedef struct client {
    ek__client waiting;
    struct ek_server *server;
    pending *request;
} client;

static const ek__answer *const answers[] = {
#define ANSWER_ROW(file) &ek__answer_##file,
    EK__ANSWER_LIST(ANSWER_ROW)
#undef ANSWER_ROW
};
enum { N_ANSWERS = sizeof answers / sizeof *answers };

/* ---- refusing ---- */

typedef struct refusal {
    unsigned status;
    const char *text;
} refusal;

/* Exactly one Host header: two of them could be interpreted differently. */
typedef struct host_header {
    int n;
    const char *text;
} host_header;

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    host_header *host = user;
    (void)kind;
    if (ek__strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        host->n++;
        host->text = value;
    }
    return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length && strcmp(length, "0") != 0) || header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Why the client is refused; status 0: it is not. */
static refusal check_sender(const ek_server *server, struct MHD_Connection *connection, const char *method)
{
    host_header host = {0};
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return (refusal){MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered"};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &host);
    if (host.n != 1 || !ek__guard_is_host(host.text, server->port))
        return (refusal){MHD_HTTP_FORBIDDEN, "this server accepts only 127.0.0.1 with its port as host"};
    if (!ek__guard_is_origin(header(connection, MHD_HTTP_HEADER_ORIGIN), server->port) ||
        !ek__guard_is_site(header(connection, "Sec-Fetch-Site")))
        return (refusal){MHD_HTTP_FORBIDDEN,
                         "requests from other sites are refused; paste the address into the browser's address bar"};
    if (has_body(connection))
        return (refusal){MHD_HTTP_CONTENT_TOO_LARGE, "a request has no content here"};
    return (refusal){0};
}

static const ek__answer *find_answer(const ek__target *target)
{
    for (int i = 0; i < N_ANSWERS && target->name; i++)
        if (strlen(answers[i]->name) == target->name_size &&
            memcmp(answers[i]->name, target->name, target->name_size) == 0)
            return answers[i];
    return NULL;
}

/* Why the request is refused. */
static refusal check_target(const ek_server *server, const pending *request, ek__target *target,
                            const ek__answer **answer)
{
    if (request->too_long)
        return (refusal){MHD_HTTP_URI_TOO_LONG, "the address is too long"};
    if (!ek__target_split(request->text, request->size, target) ||
        !ek__guard_is_token(server->token, target->token, target->token_size))
        return (refusal){MHD_HTTP_FORBIDDEN, "the address is not the one that `evenkeel view --serve` printed"};
    *answer = find_answer(target);
    if (!*answer)
        return (refusal){MHD_HTTP_NOT_FOUND, "nothing is at this address"};
    return (refusal){0};
}

/* ---- sending ---- */

static bool add_headers(const ek_server *server, struct MHD_Response *response, const char *type, bool page)
{
    const char *const pairs[][2] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, type},
        {"Content-Security-Policy", page ? server->policy : "default-src 'none'; frame-ancestors 'none'; sandbox"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (MHD_add_response_header(response, pairs[i][0], pairs[i][1]) != MHD_YES)
            return false;
    return true;
}

static enum MHD_Result send_response(const ek_server *server, struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response, const char *type, bool page)
{
    enum MHD_Result sent = MHD_NO;
    if (!response)
        return MHD_NO;
    bool fine = add_headers(server, response, type, page);
    if (fine && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        fine = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET") == MHD_YES;
    if (fine && (status == MHD_HTTP_CONTENT_TOO_LARGE || status == MHD_HTTP_METHOD_NOT_ALLOWED))
        fine = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
    if (fine)
        sent = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result send_line(const ek_server *server, struct MHD_Connection *connection, unsigned status,
                                 const char *text)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s\n", text);
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)n, line, MHD_RESPMEM_MUST_COPY);
    return send_response(server, connection, status, response, "text/plain; charset=utf-8", false);
}

static enum MHD_Result send_reply(pending *request, struct MHD_Connection *connection, const ek__answer *answer,
                                  ek__reply *reply)
{
    struct MHD_Response *response;
    if (reply->text) {
        request->bytes = (int64_t)reply->size;
        atomic_fetch_add(&request->server->outstanding, request->bytes);
        response = MHD_create_response_from_buffer(reply->size, reply->text, MHD_RESPMEM_MUST_FREE);
        if (!response)
            free(reply->text);
    } else {
        response = MHD_create_response_from_buffer(reply->size, (void *)reply->borrowed, MHD_RESPMEM_PERSISTENT);
    }
    return send_response(request->server, connection, (unsigned)reply->status, response, reply->type,
                         answer == &ek__answer_page);
}

/* ---- answering ---- */

static ek_status make_reply(const ek_server *server, const ek__target *target, const ek__answer *answer, ek__reply *out,
                            ek_error *err)
{
    ek__request *values = ek__alloc(1, sizeof *values);
    if (!values)
        return ek__no_memory(err);
    /* Requests about a trace may be about either run. */
    unsigned takes = answer->takes | (answer->needs ? EK__HAS(RUN) : 0);
    ek_status status = ek__request_read(target->query, target->query_size, answer->needs, takes, values, err);
    if (status == EK_OK && values->run >= server->n_runs)
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no run %d here: one is served", values->run);
    if (status == EK_OK)
        status = answer->make(&server->serving[values->run], values, out, err);
    free(values);
    return status;
}

static enum MHD_Result reply_to(pending *request, struct MHD_Connection *connection)
{
    ek_server *server = request->server;
    ek__target target;
    const ek__answer *answer = NULL;
    refusal refused = check_target(server, request, &target, &answer);
    if (refused.status == 0 && atomic_load(&server->outstanding) > most_outstanding)
        refused = (refusal){MHD_HTTP_SERVICE_UNAVAILABLE, "too many answers are pending; request again later"};
    if (refused.status != 0)
        return send_line(server, connection, refused.status, refused.text);
    ek__clients_leave(&server->clients, &request->client->waiting);
    ek_error err = {0};
    ek__reply reply = {0};
    switch (make_reply(server, &target, answer, &reply, &err)) {
    case EK_OK:
        return send_reply(request, connection, answer, &reply);
    case EK_ERR_INPUT:
        return send_line(server, connection, MHD_HTTP_BAD_REQUEST, err.message);
    case EK_ERR_SYSTEM:
    case EK_ERR_STOPPED:
        return send_line(server, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, err.message);
    case EK_ERR_MEMORY:
        break;
    }
    return send_line(server, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
}

static void end_request(client *c)
{
    ek_server *server = c->server;
    pending *request = c->request;
    c->request = NULL;
    if (!request)
        return;
    atomic_fetch_sub(&server->outstanding, request->bytes);
    if (request->called) {
        atomic_fetch_add(&server->n_requests, 1);
        atomic_fetch_sub(&server->n_open, 1);
    }
    free(request);
}

/* The address as received, before anything is decoded; the first call for a request. */
static void *read_address(void *user, const char *text, struct MHD_Connection *connection)
{
    client *c = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    size_t size = strlen(text);
    bool too_long = size > EK__REQUEST_MAX_SIZE;
    pending *request = c ? malloc(sizeof *request + (too_long ? 0 : size)) : NULL;
    if (!request)
        return NULL;
    end_request(c);
    *request = (pending){.server = user, .client = c, .too_long = too_long, .size = too_long ? 0 : size};
    memcpy(request->text, text, request->size);
    return c->request = request;
}

/* Values are decoded by serve/request.c, each on use. */
static size_t keep_encoded(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user, (void)connection;
    return strlen(text);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **context)
{
    pending *request = *context;
    (void)user, (void)url, (void)version, (void)upload;
    if (!request)
        return MHD_NO;
    if (*upload_size > 0) { /* the body that a refused request still sends */
        *upload_size = 0;
        return MHD_YES;
    }
    if (request->called)
        return reply_to(request, connection);
    /* The headers are there; a refused client need not send more. */
    request->called = true;
    atomic_fetch_add(&request->server->n_open, 1);
    refusal refused = check_sender(request->server, connection, method);
    return refused.status == 0 ? MHD_YES : send_line(request->server, connection, refused.status, refused.text);
}

/* The answer is sent: the connection waits for the next request, unless it has not shown the token yet. */
static void complete(void *user, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode how)
{
    ek_server *server = user;
    pending *request = *context;
    (void)connection;
    if (!request)
        return;
    client *c = request->client;
    end_request(c);
    *context = NULL;
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        ek__clients_wait(&server->clients, &c->waiting);
}

/* ---- connections ---- */

static void begin_connection(ek_server *server, struct MHD_Connection *connection, void **context)
{
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    client *c = ek__alloc(1, sizeof *c);
    if (!c) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    *c = (client){.waiting = {.fd = fd}, .server = server};
    ek__clients_wait(&server->clients, &c->waiting);
    *context = c;
}

static void end_connection(ek_server *server, void **context)
{
    client *c = *context;
    if (!c)
        return;
    ek__clients_leave(&server->clients, &c->waiting);
    end_request(c);
    free(c);
    *context = NULL;
}

static void notify(void *user, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode how)
{
    if (how == MHD_CONNECTION_NOTIFY_STARTED)
        begin_connection(user, connection, context);
    else
        end_connection(user, context);
}

/* ---- starting ---- */

static ek_status open_socket(int port, int *out, int *bound, ek_error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof at;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot open a socket: %s", strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        int why = errno;
        close(fd);
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot listen on port %d of 127.0.0.1: %s%s", port,
                        strerror(why), why == EADDRINUSE ? "; another port, or 0, takes any that is free" : "");
    }
    *out = fd;
    *bound = ntohs(at.sin_port);
    return EK_OK;
}

/* The document of the indices only, with a note of the first run or none. */
static ek_status write_timeline(const ek_server *server, const char *note, char **text, size_t *size, ek_error *err)
{
    const ek_serve_options *options = &server->options;
    const ek_view_run run[MOST_RUNS] = {
        {.name = options->name ? options->name : "trace", .note = note, .index = server->serving[0].index},
        {.name = options->against_name ? options->against_name : "compared with", .index = server->serving[1].index}};
    const ek_view view = {.title = options->title ? options->title : run[0].name,
                          .lang = options->lang,
                          .n_runs = server->n_runs,
                          .run = run,
                          .served = true};
    FILE *out = open_memstream(text, size);
    if (!out)
        return ek__no_memory(err);
    ek_status status = ek_write(ek_output_of_page(&view), "json", out, err);
    bool failed = fclose(out) != 0 || !*text;
    return status == EK_OK && failed ? ek__no_memory(err) : status;
}

/* The page has its policy in its own text, where no header can be forgotten; a header can also forbid frames. */
static ek_status write_policy(ek_server *server, ek_error *err)
{
    static const char lead[] = "http-equiv=\"Content-Security-Policy\" content=\"", more[] = "; frame-ancestors 'none'";
    size_t size, length = 0;
    const char *page = ek_view_shell(&size), *end = page + size, *at = page;
    while ((at = memchr(at, 'h', (size_t)(end - at))) != NULL && (size_t)(end - at) > sizeof lead &&
           memcmp(at, lead, sizeof lead - 1) != 0)
        at++;
    if (at && (size_t)(end - at) > sizeof lead) {
        at += sizeof lead - 1;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        length = quote ? (size_t)(quote - at) : 0;
    }
    if (length == 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the viewer's page has no content policy");
    server->policy = ek__alloc(length + sizeof more, 1);
    if (!server->policy)
        return ek__no_memory(err);
    memcpy(server->policy, at, length);
    memcpy(server->policy + length, more, sizeof more);
    return EK_OK;
}

static ek_status prepare(ek_server *server, ek_error *err)
{
    for (int i = 0; i < server->n_runs; i++) {
        ek__serving *serving = &server->serving[i];
        serving->searches = ek__searches_new();
        serving->summings = ek__summings_new();
        if (!serving->searches || !serving->summings)
            return ek__no_memory(err);
    }
    if (!ek__guard_draw(server->token))
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the system gives no random bytes: %s", strerror(errno));
    ek_status status = write_policy(server, err);
    if (status == EK_OK)
        status = write_timeline(server, NULL, &server->timeline, &server->timeline_size, err);
    if (status == EK_OK)
        status = write_timeline(server,
                                "The figures of this run could not be computed, so there is only its timeline. See the "
                                "terminal of the server, or evenkeel trace of the same files.",
                                &server->unfinished, &server->unfinished_size, err);
    for (int i = 0; i < server->n_runs; i++) {
        server->serving[i].timeline = server->timeline;
        server->serving[i].timeline_size = server->timeline_size;
        server->serving[i].unfinished = server->unfinished;
        server->serving[i].unfinished_size = server->unfinished_size;
    }
    return status;
}

static ek_status start(ek_server *server, ek_error *err)
{
    int fd;
    ek_status status = open_socket(server->options.port, &fd, &server->port, err);
    if (status)
        return status;
    status = ek__clients_start(&server->clients, WAITING_MILLISECONDS, MOST_WAITING, err);
    if (status) {
        close(fd);
        return status;
    }
    snprintf(server->address, sizeof server->address, "http://127.0.0.1:%d/%s/", server->port, server->token);
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL, handle, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, read_address, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_encoded, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, complete, server, MHD_OPTION_NOTIFY_CONNECTION, notify, server, MHD_OPTION_END);
    if (server->daemon)
        return EK_OK;
    close(fd);
    ek__clients_stop(&server->clients);
    ek__clients_clear(&server->clients);
    return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the server does not start: %s", strerror(errno));
}

static void free_server(ek_server *server)
{
    for (int i = 0; i < server->n_runs; i++) {
        ek__searches_free(server->serving[i].searches);
        ek__summings_free(server->serving[i].summings);
    }
    free(server->timeline);
    free(server->unfinished);
    free(server->policy);
    free(server);
}

bool ek__server_present(void)
{
    return true;
}

ek_status ek_server_start(ek_trace_index *index, const ek_serve_options *options, ek_server **out, ek_error *err)
{
    ek_server *server = ek__alloc(1, sizeof *server);
    if (!server)
        return ek__no_memory(err);
    server->options = *options;
    server->n_runs = options->against ? 2 : 1;
    server->serving[0].index = index;
    server->serving[1].index = options->against;
    for (int i = 0; i < server->n_runs; i++)
        server->serving[i].options = &server->options;
    ek_status status = prepare(server, err);
    if (status == EK_OK)
        status = start(server, err);
    if (status) {
        free_server(server);
        return status;
    }
    *out = server;
    return EK_OK;
}

const char *ek_server_address(const ek_server *server)
{
    return server->address;
}

int ek_server_port(const ek_server *server)
{
    return server->port;
}

int64_t ek_server_n_requests(const ek_server *server)
{
    return atomic_load(&server->n_requests);
}

void ek_server_stop(ek_server *server)
{
    if (!server)
        return;
    int fd = MHD_quiesce_daemon(server->daemon); /* no new ones */
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int waited = 0; atomic_load(&server->n_open) > 0 && waited < STOP_MILLISECONDS; waited += 10)
        nanosleep(&moment, NULL);
    ek__clients_stop(&server->clients);
    MHD_stop_daemon(server->daemon);
    ek__clients_clear(&server->clients);
    if (fd >= 0)
        close(fd);
    free_server(server);
}
