/* The lists of a plan as JSON. */
#include <jansson.h>

#include "report/json.h"
#include "report/report_internal.h"

static json_t *matrix(ek__json *b, const ek_plan *plan, const int *values, int base)
{
    json_t *rows = json_array();
    for (int i = 0; i < plan->n_chunks; i++) {
        json_t *row = json_array();
        for (int s = 0; s < plan->n_stages; s++)
            ek__json_append(b, row, json_integer(values[i * plan->n_stages + s] - base));
        ek__json_append(b, rows, row);
    }
    return rows;
}

json_t *ek__json_plan(ek__json *b, const ek_plan *plan, int n_layers)
{
    json_t *object = json_object();
    /* An offset is the layers less the even split, the same for every chunk. */
    int base = plan->layers[0] - ek_plan_offset(plan, n_layers, 0, 0);
    ek__json_put(b, object, "offset", matrix(b, plan, plan->layers, base));
    ek__json_put(b, object, "recompute", matrix(b, plan, plan->full, 0));
    ek__json_put(b, object, "select_recompute", matrix(b, plan, plan->select, 0));
    ek__json_put(b, object, "select_comm_recompute", matrix(b, plan, plan->comm, 0));
    ek__json_put(b, object, "layers", matrix(b, plan, plan->layers, 0));
    return object;
}
