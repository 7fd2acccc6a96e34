/* Packs a plan as bytes. */
#include "plan/plan_pack.h"

#include "base/error.h"

void ek__plan_pack(const ek_plan *plan, ek__pack *to)
{
    size_t size = (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *plan->layers;
    EK__PACK(to, plan->n_stages);
    EK__PACK(to, plan->n_chunks);
    ek__pack_put(to, plan->layers, size);
    ek__pack_put(to, plan->full, size);
    ek__pack_put(to, plan->select, size);
    ek__pack_put(to, plan->comm, size);
}

ek_status ek__plan_unpack(ek__unpack *from, ek_plan *out, ek_error *err)
{
    int n_stages = 0, n_chunks = 0;
    ek_plan plan = {0};
    EK__UNPACK(from, n_stages);
    EK__UNPACK(from, n_chunks);
    ek_status status = n_stages == 0 || from->wrong ? EK_OK : ek_plan_init(&plan, n_stages, n_chunks, err);
    if (!status && n_stages > 0) {
        size_t size = (size_t)n_stages * (size_t)n_chunks * sizeof *plan.layers;
        ek__unpack_get(from, plan.layers, size);
        ek__unpack_get(from, plan.full, size);
        ek__unpack_get(from, plan.select, size);
        ek__unpack_get(from, plan.comm, size);
    }
    if (from->wrong || status == EK_ERR_INPUT)
        status = ek__unpack_wrong(from, err);
    if (status)
        ek_plan_clear(&plan);
    else
        *out = plan;
    return status;
}
