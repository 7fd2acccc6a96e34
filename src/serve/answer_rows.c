/* Answers with the boxes of rows as columns of numbers. The boxes of an answer are bounded: each row gets its share of
 * the remaining number, so that sparse rows leave boxes for dense ones, and a row is drawn coarser where its share is
 * too small. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "serve/answer.h"

/* 3.7 MB: a page of 1280 x 720 requests a tenth of it; larger ones get a slightly coarser answer, but soon. */
enum { FINEST = 1 << 16, MOST_BOXES = 100000, LEAST_OF_ROW = 16, MAGIC = 0x45564b31, BOX_BYTES = 3 * 8 + 3 * 4 + 1 };

static char *write_number(char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static char *write_time(char *at, int64_t value)
{
    double real = (double)value;
    memcpy(at, &real, sizeof real);
    return at + sizeof real;
}

static char *write_boxes(char *at, const ek__index_blocks *boxes)
{
    const ek__index_block *box = boxes->block;
    for (size_t i = 0; i < boxes->n; i++)
        at = write_time(at, box[i].begin);
    for (size_t i = 0; i < boxes->n; i++)
        at = write_time(at, box[i].end);
    for (size_t i = 0; i < boxes->n; i++)
        at = write_time(at, box[i].busy);
    for (size_t i = 0; i < boxes->n; i++)
        at = write_number(at, box[i].name);
    for (size_t i = 0; i < boxes->n; i++)
        at = write_number(at, box[i].n);
    for (size_t i = 0; i < boxes->n; i++)
        at = write_number(at, box[i].index);
    for (size_t i = 0; i < boxes->n; i++)
        *at++ = (char)box[i].type;
    return at;
}

/* @param counts  [rows] boxes of each */
static ek_status gather(const ek__serving *serving, const ek__request *request, uint32_t *counts,
                        ek__index_blocks *boxes, ek_error *err)
{
    const int *rows;
    if (ek__answer_rows_of(serving, request, &rows, err))
        return EK_ERR_INPUT;
    int64_t finest = (request->end - request->begin) / FINEST;
    int64_t resolution = request->resolution > finest ? request->resolution : finest;
    for (int i = 0, n = request->rows.n; i < n; i++) {
        size_t before = boxes->n, left = before < MOST_BOXES ? (MOST_BOXES - before) / (size_t)(n - i) : 0;
        ek_status status = ek__index_row_blocks(serving->index, rows[i], request->begin, request->end, resolution,
                                                left > LEAST_OF_ROW ? left : LEAST_OF_ROW, boxes, err);
        if (status)
            return status;
        counts[i] = (uint32_t)(boxes->n - before);
    }
    return EK_OK;
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    int n = request->rows.n;
    ek__index_blocks boxes = {0};
    uint32_t *counts = ek__alloc((size_t)n, sizeof *counts);
    ek_status status = counts ? gather(serving, request, counts, &boxes, err) : ek__no_memory(err);
    size_t size = 8 * (1 + (size_t)n) + boxes.n * BOX_BYTES;
    char *text = status == EK_OK ? malloc(size) : NULL;
    if (status == EK_OK && !text)
        status = ek__no_memory(err);
    if (text) {
        char *at = write_number(write_number(text, MAGIC), (uint32_t)n);
        for (int i = 0; i < n; i++)
            at = write_number(write_number(at, request->rows.at[i]), counts[i]);
        write_boxes(at, &boxes);
        *out = (ek__reply){.status = 200, .type = "application/octet-stream", .text = text, .size = size};
    }
    free(counts);
    ek__index_blocks_clear(&boxes);
    return status;
}

const ek__answer ek__answer_rows = {
    .name = "rows", .needs = EK__HAS(ROWS) | EK__HAS(BEGIN) | EK__HAS(END) | EK__HAS(RESOLUTION), .make = make};
