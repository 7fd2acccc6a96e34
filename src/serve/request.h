/* serve/request.h - parses the address of a request and the values after the question mark.
 *
 * Pure: depends only on the bytes of the request, so that it can be fuzzed. The answers check that a row or counter of
 * a number exists. */
#ifndef EK_SERVE_REQUEST_H
#define EK_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/error.h"

enum {
    EK__REQUEST_MAX_SIZE = 40 << 10,  /**< bytes of an address with all values: 4096 non-adjacent rows,
                                       * percent-encoded */
    EK__REQUEST_MAX_LIST = 4096,      /**< rows, or names */
    EK__REQUEST_MAX_TEXT = 1024,      /**< bytes of a text to search for */
    EK__REQUEST_MAX_ARROWS = 1 << 16, /**< of an answer */
    EK__REQUEST_STATE_SIZE = 16,      /**< hexadecimal digits */
};
/** Times and resolutions: integers that a double of the page represents exactly. */
#define EK__REQUEST_MAX_TIME (INT64_C(1) << 53)

/** The values that an address may have: X(id, name, format). */
#define EK__VALUE_LIST(X)                                                                                              \
    X(ROWS, "rows", LIST)                                                                                              \
    X(NAMES, "names", LIST)                                                                                            \
    X(BEGIN, "begin", TIME)                                                                                            \
    X(END, "end", TIME)                                                                                                \
    X(TIME, "time", TIME)                                                                                              \
    X(RESOLUTION, "resolution", SPAN)                                                                                  \
    X(LIMIT, "limit", LIMIT)                                                                                           \
    X(COUNTER, "counter", NUMBER)                                                                                      \
    X(ROW, "row", ROW)                                                                                                 \
    X(INDEX, "index", INDEX)                                                                                           \
    X(FORWARD, "forward", FLAG)                                                                                        \
    X(TEXT, "text", TEXT)                                                                                              \
    X(STATE, "state", STATE)                                                                                           \
    X(RUN, "run", RUN)

typedef enum ek__value {
#define EK__VALUE_OF(id, name, form) EK__VALUE_##id,
    EK__VALUE_LIST(EK__VALUE_OF)
#undef EK__VALUE_OF
        EK__N_VALUES,
} ek__value;
#define EK__HAS(id) (1u << EK__VALUE_##id)

/** "3", "3-9" or "1,4-6": numbers in ascending order, each once. */
typedef struct ek__number_list {
    int n;
    uint32_t at[EK__REQUEST_MAX_LIST];
} ek__number_list;

/** The values of a request. Missing values are 0. */
typedef struct ek__request {
    unsigned given; /**< bits of EK__HAS() */
    ek__number_list rows, names;
    int64_t begin, end, time;
    int64_t resolution; /**< 0 or more */
    int limit;          /**< 1 to EK__REQUEST_MAX_ARROWS */
    int counter;        /**< 0 or more */
    int row;            /**< -1: before the first one */
    uint32_t index;
    int run; /**< 0, or 1 for the second one */
    bool forward;
    size_t text_size; /**< 1 or more when given; no byte is 0 */
    char text[EK__REQUEST_MAX_TEXT + 1];
    char state[EK__REQUEST_STATE_SIZE + 1]; /**< empty: none yet */
} ek__request;

/** An address in a request, "/TOKEN/rows?rows=3": all borrowed, nothing decoded. */
typedef struct ek__target {
    const char *token; /**< text between the first two slashes; up to the end where there is one slash only */
    size_t token_size;
    const char *name; /**< text after the second slash, up to the question mark; NULL without a second slash */
    size_t name_size;
    const char *query; /**< text after the question mark */
    size_t query_size;
} ek__target;

/** Split an address. False when it does not begin with a slash. O(size). */
bool ek__target_split(const char *text, size_t size, ek__target *out);

/**
 * Read the values after a question mark, "rows=1,4-6&begin=0". Each may be percent-encoded.
 *
 * @param needs   bits of the required values
 * @param takes  bits of those that are optional
 * @return EK_OK, or EK_ERR_INPUT with a line for the client: an unknown, repeated or missing value, or one that is out
 *         of its range; EK_ERR_MEMORY. O(size + numbers of the lists).
 */
ek_status ek__request_read(const char *query, size_t size, unsigned needs, unsigned takes, ek__request *out,
                           ek_error *err);

/** The number of a hexadecimal digit, or -1. */
int ek__hex_digit(char c);

#endif
