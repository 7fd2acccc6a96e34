/* trace/text/plain_data.h - plain data (numbers, texts, lists, dictionaries) as a compact tree, with a limit on its
 * memory. A value takes 8 bytes, equal texts are stored once, and lists may be shared: a list that a pickle refers to
 * again is the same list here. A list may contain itself; walks of the tree go to a known depth only. */
#ifndef EK_TRACE_TEXT_PLAIN_DATA_H
#define EK_TRACE_TEXT_PLAIN_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/texts.h"

enum { EK__DATA_MAX_MB = 8192 }; /* of a tree */

/** The kind of a value: its lowest three bits. */
typedef enum ek__data_kind {
    EK__DATA_NONE,
    EK__DATA_BOOL,
    EK__DATA_INT,  /**< of 61 bits */
    EK__DATA_REAL, /**< also an integer beyond 61 bits */
    EK__DATA_TEXT,
    EK__DATA_LIST, /**< also a tuple */
    EK__DATA_DICT, /**< its items are keys and values in turn */
} ek__data_kind;
typedef uint64_t ek__datum;

typedef struct ek__data_list {
    uint32_t n, capacity;
    ek__datum *item; /**< [n] */
} ek__data_list;

/** {.max_bytes = ...} is empty. */
typedef struct ek__data {
    ek__pool *pool;
    ek__texts texts;
    ek__data_list *list;
    double *real;
    size_t n_lists, lists_capacity, n_reals, reals_capacity;
    size_t bytes, max_bytes; /**< 0: EK__DATA_MAX_MB */
} ek__data;

void ek__data_clear(ek__data *data);

/* ---- building: `*out` is set; EK_ERR_INPUT beyond the limit, EK_ERR_MEMORY ---- */

ek_status ek__data_int(ek__data *data, int64_t value, ek__datum *out, ek_error *err);
ek_status ek__data_real(ek__data *data, double value, ek__datum *out, ek_error *err);
ek_status ek__data_text(ek__data *data, const char *text, size_t size, ek__datum *out, ek_error *err);
/** An empty list or dictionary. */
ek_status ek__data_list_new(ek__data *data, ek__data_kind kind, ek__datum *out, ek_error *err);
/** Append values to a list or dictionary. Amortized O(n). */
ek_status ek__data_append(ek__data *data, ek__datum list, const ek__datum *item, size_t n, ek_error *err);
/** Count memory outside the tree towards its limit. */
ek_status ek__data_count(ek__data *data, size_t bytes, ek_error *err);
/** A tree of JSON. O(size). */
ek_status ek__data_from_json(ek__data *data, const json_t *json, ek__datum *out, ek_error *err);

static inline ek__datum ek__data_none(void)
{
    return EK__DATA_NONE;
}
static inline ek__datum ek__data_bool(bool value)
{
    return (uint64_t)value << 3 | EK__DATA_BOOL;
}

/* ---- reading ---- */

static inline ek__data_kind ek__data_kind_of(ek__datum value)
{
    return (ek__data_kind)(value & 7);
}
/** A list or dictionary; NULL for anything else. */
const ek__data_list *ek__data_list_of(const ek__data *data, ek__datum value, ek__data_kind kind);
/** The value of a key; false without it. The last of several counts. O(n). */
bool ek__data_member(const ek__data *data, const ek__data_list *dict, const char *key, ek__datum *out);
/** The text; NULL for anything else. Valid until the next text is added. */
const char *ek__data_text_of(const ek__data *data, ek__datum value);
/** A whole number, also one written as a real number; false for anything else. */
bool ek__data_int_of(const ek__data *data, ek__datum value, int64_t *out);

#endif
