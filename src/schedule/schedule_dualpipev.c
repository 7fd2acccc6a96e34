/* DualPipeV (published with DualPipe): DualPipe cut in half. Two chunks a stage are placed as a V; stage s of p runs
 * the order of stage s of a DualPipe of 2p stages, where the chunk on the way back takes the part of the micro-batches
 * that come from the other end. So parameters exist only once. */
#include "schedule/dualpipe.h"

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    static const ek__dual_stream down_and_back[2] = {{.chunk = 0}, {.chunk = 1}};
    ek__dualpipe(2 * shape->n_stages, stage, shape->n_micro_batches, down_and_back, blocks);
}

const ek_schedule ek__schedule_dualpipev = {
    .name = "dualpipev",
    .title = "DualPipeV",
    .summary = "two chunks a stage as a V, backward split; 2p + 1 chunk activations on every stage",
    .min_chunks = 2,
    .max_chunks = 2,
    .min_micro_batches = 2,
    .placement = EK_PLACE_V,
    .family = EK_SCHEDULE_DUALPIPE,
    .splits_backward = true,
    .stage_order = stage_order,
};
