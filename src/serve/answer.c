/* Helpers of the answers: JSON into memory, and lookup of the rows in a request. */
#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/trace_index.h"

ek_status ek__answer_json_begin(ek__answer_json *json, ek_error *err)
{
    *json = (ek__answer_json){0};
    json->s.out = open_memstream(&json->text, &json->size);
    return json->s.out ? EK_OK : ek__no_memory(err);
}

ek_status ek__answer_json_end(ek__answer_json *json, ek__reply *out, ek_error *err)
{
    bool failed = ferror(json->s.out) != 0;
    failed = fclose(json->s.out) != 0 || !json->text || failed;
    if (failed || json->status != EK_OK) {
        free(json->text);
        if (failed)
            return ek__no_memory(err);
        if (err)
            *err = json->error;
        return json->status;
    }
    *out = (ek__reply){.status = 200, .type = "application/json", .text = json->text, .size = json->size};
    return EK_OK;
}

/* The printer ends at a byte 0; 0xff is no character either, and is printed as a replacement character. */
void ek__answer_json_bytes(ek__answer_json *json, const char *key, const char *text, size_t size)
{
    char few[512], *copy = size < sizeof few ? few : malloc(size + 1);
    if (!copy) {
        ek__stream_null(&json->s, key);
        return;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    for (char *at = copy; (at = memchr(at, '\0', (size_t)(copy + size - at))) != NULL;)
        *at = (char)0xff;
    ek__stream_text(&json->s, key, copy);
    if (copy != few)
        free(copy);
}

void ek__answer_json_name(ek__answer_json *json, const char *key, const ek_trace_index *index, uint32_t name)
{
    size_t size;
    const char *text;
    ek_error error = {0};
    ek_status status = ek__index_name_text(index, name, &text, &size, &error);
    if (status != EK_OK && json->status == EK_OK) {
        json->status = status;
        json->error = error;
    }
    ek__answer_json_bytes(json, key, text, size);
}

ek_status ek__answer_rows_of(const ek__serving *serving, const ek__request *request, const int **rows, ek_error *err)
{
    int n = ek__index_n_rows(serving->index);
    const ek__number_list *list = &request->rows; /* in ascending order: the last one decides */
    if (list->n > 0 && list->at[list->n - 1] >= (uint32_t)n)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no row %u: %d rows, counted from 0",
                        list->at[list->n - 1], n);
    *rows = (const int *)list->at;
    return EK_OK;
}

ek_status ek__answer_check_row(const ek__serving *serving, const ek__request *request, ek_error *err)
{
    int n = ek__index_n_rows(serving->index);
    if (request->row >= 0 && request->row < n)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no row %d: %d rows, counted from 0", request->row, n);
}
