/* serve/answer.h - the interface of the server's answers, one file an address.
 *
 * A new address is a file src/serve/answer_NAME.c with its ek__answer and one line in EK__ANSWER_LIST.
 * docs/view-json.md describes each answer. Several threads at a time request answers. */
#ifndef EK_SERVE_ANSWER_H
#define EK_SERVE_ANSWER_H

#include <stdio.h>

#include "base/json_stream.h"
#include "evenkeel/serve.h"
#include "index/index.h"
#include "serve/request.h"

/** X(file) */
#define EK__ANSWER_LIST(X)                                                                                             \
    X(page)     /* the viewer */                                                                                       \
    X(document) /* the document, once it is there */                                                                   \
    X(timeline) /* the document without figures */                                                                     \
    X(rows)     /* boxes */                                                                                            \
    X(names)    /* texts of names */                                                                                   \
    X(arrows)                                                                                                          \
    X(curve)  /* points of a counter */                                                                                \
    X(event)  /* all about one */                                                                                      \
    X(at)     /* the event at a time */                                                                                \
    X(events) /* those of a stretch of time */                                                                         \
    X(find)   /* the next one with a text in its name */                                                               \
    X(sums)   /* over a stretch of time */

typedef struct ek__searches ek__searches;
typedef struct ek__summings ek__summings;

/** The inputs of answers. */
typedef struct ek__serving {
    ek_trace_index *index;
    const ek_serve_options *options;
    const char *timeline; /**< the document of the first moment */
    size_t timeline_size;
    const char *unfinished; /**< the same with a note that the figures could not be computed */
    size_t unfinished_size;
    ek__searches *searches; /**< recent searches for names */
    ek__summings *summings; /**< sums in progress */
} ek__serving;

typedef struct ek__reply {
    int status;       /**< 200 or 202 */
    const char *type; /**< of its content */
    char *text;       /**< [size] malloc; NULL: `borrowed` is the answer */
    const char *borrowed;
    size_t size;
} ek__reply;

typedef struct ek__answer {
    const char *name;      /**< after the token */
    unsigned needs, takes; /**< EK__HAS() of the required and of the optional values */
    /** @return EK_OK with a reply; EK_ERR_INPUT for the client, EK_ERR_SYSTEM or EK_ERR_MEMORY with nothing to free */
    ek_status (*make)(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err);
} ek__answer;
#define EK__ANSWER_OF(file) extern const ek__answer ek__answer_##file;
EK__ANSWER_LIST(EK__ANSWER_OF)
#undef EK__ANSWER_OF

/* ---- pieces that answers share ---- */

/** JSON on its way into memory. */
typedef struct ek__answer_json {
    ek__stream s;
    char *text;
    size_t size;
    ek_status status; /**< of names: the first one that could not be read */
    ek_error error;
} ek__answer_json;
ek_status ek__answer_json_begin(ek__answer_json *json, ek_error *err);
/** Return the text as a reply, or nothing when memory ran out or a name could not be read. */
ek_status ek__answer_json_end(ek__answer_json *json, ek__reply *out, ek_error *err);
/** A text of any bytes, including a byte 0. */
void ek__answer_json_bytes(ek__answer_json *json, const char *key, const char *text, size_t size);
/** The text of a name by number. */
void ek__answer_json_name(ek__answer_json *json, const char *key, const ek_trace_index *index, uint32_t name);

/** Existing rows of a request, in the form of ek__index_find() and others: borrowed from the request; its numbers are
 *  below 2^31 then. */
ek_status ek__answer_rows_of(const ek__serving *serving, const ek__request *request, const int **rows, ek_error *err);
/** The row of a request, if it exists. */
ek_status ek__answer_check_row(const ek__serving *serving, const ek__request *request, ek_error *err);

/* ---- state between requests ---- */

/** NULL when memory is out. */
ek__searches *ek__searches_new(void);
void ek__searches_free(ek__searches *searches);
ek__summings *ek__summings_new(void);
void ek__summings_free(ek__summings *summings);

#endif
