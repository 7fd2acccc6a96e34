/* Builds the order of every stage's blocks from the schedule's lists, with one timeline to reject an order that
 * deadlocks or does not fit the shape; orders that depend on times are made for equal chunks. */
#include <assert.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "memory/program.h"
#include "simulate/order.h"

ek_status ek__job_order(const ek_job *job, ek_block **out, size_t *per_stage, ek_error *err)
{
    int pieces = job->parallel.n_pieces > 1 ? job->parallel.n_pieces : 1;
    assert(job->schedule && job->plan.n_stages >= 1 && job->plan.n_chunks >= 1);
    ek_shape shape = {.n_stages = job->plan.n_stages,
                      .n_chunks = job->plan.n_chunks,
                      .n_micro_batches = job->parallel.n_micro_batches,
                      .n_pieces = pieces};
    if (shape.n_micro_batches > EK_MAX_MICRO_BATCHES / pieces)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d micro-batches of %d sequence pieces are more than %d blocks a chunk; use fewer of either",
                        shape.n_micro_batches, pieces, EK_MAX_MICRO_BATCHES);
    shape.n_micro_batches *= pieces;
    ek_order *order;
    ek_status status = ek_order_new(job->schedule, &shape, &order, err);
    if (status)
        return status;
    size_t n = order->n_blocks;
    assert(n >= 1 && n % (size_t)shape.n_stages == 0);
    *out = order->blocks; /* the order is freed right after */
    *per_stage = n / (size_t)shape.n_stages;
    order->blocks = NULL;
    ek_order_free(order);
    return EK_OK;
}
