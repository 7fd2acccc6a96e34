/* GPipe (Huang et al. 2019): every forward, then every backward in the same order of micro-batches. The simplest
 * schedule and the one with the highest memory: each stage keeps all micro-batches alive. */
#include "schedule/one_f_one_b.h"

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    (void)stage;
    ek__one_f_one_b(shape, shape->n_micro_batches, blocks); /* the warm-up is the complete order */
}

const ek_schedule ek__schedule_gpipe = {
    .name = "gpipe",
    .title = "GPipe",
    .summary = "one chunk a stage; bubble (p-1)/m; every stage holds all m micro-batches",
    .min_chunks = 1,
    .max_chunks = 1,
    .family = EK_SCHEDULE_GPIPE,
    .bubble = EK_BUBBLE_EXACT,
    .stage_order = stage_order,
};
