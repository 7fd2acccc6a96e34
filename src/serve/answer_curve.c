/* Answers with points of a counter for a picture. The points of an answer are bounded: a finer resolution than that is
 * made coarser.
 */
#include <stdlib.h>

#include "base/error.h"
#include "serve/answer.h"

enum { MOST_POINTS = 1 << 15 };

static ek_status print(const ek__index_curve_point *point, size_t n, ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    ek__stream_object(&json.s, NULL, false);
    ek__stream_list(&json.s, "points", false);
    for (size_t i = 0; i < n; i++) {
        ek__stream_list(&json.s, NULL, false);
        ek__stream_int(&json.s, NULL, point[i].time);
        ek__stream_real(&json.s, NULL, point[i].least);
        ek__stream_real(&json.s, NULL, point[i].most);
        ek__stream_real(&json.s, NULL, point[i].last);
        ek__stream_end(&json.s);
    }
    ek__stream_end(&json.s);
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    int n_counters = ek__index_n_counters(serving->index);
    if (request->counter >= n_counters)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no counter %d: %d counters, counted from 0",
                        request->counter, n_counters);
    int64_t coarsest = (request->end - request->begin) / (MOST_POINTS / 2) + 1;
    int64_t resolution = request->resolution > coarsest ? request->resolution : coarsest;
    size_t n = 0;
    ek__index_curve_point *point = ek__alloc(MOST_POINTS, sizeof *point);
    ek_status status = point ? ek__index_curve(serving->index, request->counter, request->begin, request->end,
                                               resolution, point, MOST_POINTS, &n, err)
                             : ek__no_memory(err);
    if (status == EK_OK)
        status = print(point, n, out, err);
    free(point);
    return status;
}

const ek__answer ek__answer_curve = {
    .name = "curve", .needs = EK__HAS(COUNTER) | EK__HAS(BEGIN) | EK__HAS(END) | EK__HAS(RESOLUTION), .make = make};
