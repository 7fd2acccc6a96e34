/* Stores a tree of values of 8 bytes: three bits of kind, the rest a number or an index. Items of lists are in a pool;
 * a list that grows moves to twice the room and leaves the old room unused, which is at most as much again. Memory is
 * freed only all at once. */
#include "trace/text/plain_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_BITS = 3 };
static const int64_t most_int = INT64_MAX >> KIND_BITS;

static ek__datum make(ek__data_kind kind, uint64_t payload)
{
    return payload << KIND_BITS | (uint64_t)kind;
}

static uint64_t payload_of(ek__datum value)
{
    return value >> KIND_BITS;
}

void ek__data_clear(ek__data *data)
{
    ek__pool_free(data->pool);
    ek__texts_clear(&data->texts);
    free(data->list);
    free(data->real);
    *data = (ek__data){0};
}

ek_status ek__data_count(ek__data *data, size_t bytes, ek_error *err)
{
    size_t most = data->max_bytes ? data->max_bytes : (size_t)EK__DATA_MAX_MB << 20;
    if (bytes > most || data->bytes > most - bytes)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "its data take more than %zu MB of memory; record fewer events (max_entries of "
                        "_record_memory_history)",
                        most >> 20);
    data->bytes += bytes;
    return EK_OK;
}

ek_status ek__data_int(ek__data *data, int64_t value, ek__datum *out, ek_error *err)
{
    if (value > most_int || value < -most_int - 1)
        return ek__data_real(data, (double)value, out, err);
    *out = make(EK__DATA_INT, (uint64_t)value);
    return EK_OK;
}

ek_status ek__data_real(ek__data *data, double value, ek__datum *out, ek_error *err)
{
    ek_status status = ek__data_count(data, sizeof value, err);
    if (status)
        return status;
    double *larger = ek__with_room(data->real, &data->reals_capacity, data->n_reals + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    data->real = larger;
    data->real[data->n_reals] = value;
    *out = make(EK__DATA_REAL, data->n_reals++);
    return EK_OK;
}

ek_status ek__data_text(ek__data *data, const char *text, size_t size, ek__datum *out, ek_error *err)
{
    uint32_t before = data->texts.n, number = ek__texts_intern(&data->texts, text, size);
    if (number == UINT32_MAX)
        return ek__no_memory(err);
    if (data->texts.n > before) {
        ek_status status = ek__data_count(data, size + 1 + 2 * sizeof(ek__text_entry), err);
        if (status)
            return status;
    }
    *out = make(EK__DATA_TEXT, number);
    return EK_OK;
}

ek_status ek__data_list_new(ek__data *data, ek__data_kind kind, ek__datum *out, ek_error *err)
{
    assert(kind == EK__DATA_LIST || kind == EK__DATA_DICT);
    ek_status status = ek__data_count(data, sizeof *data->list, err);
    if (status)
        return status;
    ek__data_list *larger = ek__with_room(data->list, &data->lists_capacity, data->n_lists + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    data->list = larger;
    data->list[data->n_lists] = (ek__data_list){0};
    *out = make(kind, data->n_lists++);
    return EK_OK;
}

ek_status ek__data_append(ek__data *data, ek__datum list, const ek__datum *item, size_t n, ek_error *err)
{
    assert(ek__data_kind_of(list) == EK__DATA_LIST || ek__data_kind_of(list) == EK__DATA_DICT);
    ek__data_list *l = &data->list[payload_of(list)];
    if (n > (size_t)(UINT32_MAX / 2 - l->n))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a list has more than %u items", UINT32_MAX / 2);
    size_t needed = l->n + n;
    if (needed > l->capacity) {
        size_t capacity = l->n == 0 ? needed : needed + l->n;
        ek_status status = ek__data_count(data, capacity * sizeof *item, err);
        if (status)
            return status;
        data->pool = data->pool ? data->pool : ek__pool_new();
        ek__datum *moved = data->pool ? ek__pool_alloc(data->pool, capacity, sizeof *moved) : NULL;
        if (!moved)
            return ek__no_memory(err);
        if (l->n > 0)
            memcpy(moved, l->item, l->n * sizeof *moved);
        l->item = moved;
        l->capacity = (uint32_t)capacity;
    }
    if (n > 0)
        memcpy(l->item + l->n, item, n * sizeof *item);
    l->n = (uint32_t)needed;
    return EK_OK;
}

static ek_status add_array(ek__data *data, const json_t *json, ek__datum list, ek_error *err)
{
    size_t i;
    const json_t *value;
    ek_status status = EK_OK;
    ek__datum item;
    json_array_foreach(json, i, value)
    {
        status = ek__data_from_json(data, value, &item, err);
        status = status ? status : ek__data_append(data, list, &item, 1, err);
        if (status)
            return status;
    }
    return EK_OK;
}

static ek_status add_object(ek__data *data, json_t *json, ek__datum dict, ek_error *err)
{
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        const char *key = json_object_iter_key(at);
        ek__datum pair[2];
        ek_status status = ek__data_text(data, key, strlen(key), &pair[0], err);
        status = status ? status : ek__data_from_json(data, json_object_iter_value(at), &pair[1], err);
        status = status ? status : ek__data_append(data, dict, pair, 2, err);
        if (status)
            return status;
    }
    return EK_OK;
}

/* The depth that jansson reads, 2048 levels. */
ek_status ek__data_from_json(ek__data *data, const json_t *json, ek__datum *out, ek_error *err)
{
    ek_status status;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        status = ek__data_list_new(data, EK__DATA_DICT, out, err);
        return status ? status : add_object(data, (json_t *)json, *out, err);
    case JSON_ARRAY:
        status = ek__data_list_new(data, EK__DATA_LIST, out, err);
        return status ? status : add_array(data, json, *out, err);
    case JSON_STRING:
        return ek__data_text(data, json_string_value(json), json_string_length(json), out, err);
    case JSON_INTEGER:
        return ek__data_int(data, json_integer_value(json), out, err);
    case JSON_REAL:
        return ek__data_real(data, json_real_value(json), out, err);
    case JSON_NULL:
        *out = ek__data_none();
        return EK_OK;
    default:
        *out = ek__data_bool(json_is_true(json));
        return EK_OK;
    }
}

const ek__data_list *ek__data_list_of(const ek__data *data, ek__datum value, ek__data_kind kind)
{
    return ek__data_kind_of(value) == kind ? &data->list[payload_of(value)] : NULL;
}

bool ek__data_member(const ek__data *data, const ek__data_list *dict, const char *key, ek__datum *out)
{
    assert(dict->n % 2 == 0);
    uint32_t number = ek__texts_find(&data->texts, key, strlen(key));
    if (number == UINT32_MAX)
        return false;
    ek__datum wanted = make(EK__DATA_TEXT, number);
    for (uint32_t i = dict->n; i > 0; i -= 2)
        if (dict->item[i - 2] == wanted) {
            *out = dict->item[i - 1];
            return true;
        }
    return false;
}

const char *ek__data_text_of(const ek__data *data, ek__datum value)
{
    return ek__data_kind_of(value) == EK__DATA_TEXT ? ek__texts_at(&data->texts, (uint32_t)payload_of(value)) : NULL;
}

bool ek__data_int_of(const ek__data *data, ek__datum value, int64_t *out)
{
    if (ek__data_kind_of(value) == EK__DATA_INT) {
        uint64_t wide = payload_of(value);
        *out = (int64_t)(wide ^ (UINT64_C(1) << 60)) - (INT64_C(1) << 60);
        return true;
    }
    if (ek__data_kind_of(value) != EK__DATA_REAL)
        return false;
    double real = data->real[payload_of(value)];
    if (!(fabs(real) < 9e18) || real != floor(real))
        return false;
    *out = (int64_t)real;
    return true;
}
