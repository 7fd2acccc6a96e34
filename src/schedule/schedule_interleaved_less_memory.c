/* Interleaved 1F1B with the short warm-up of v p - s - 1 forwards: less memory than the usual one, and with m mod p > 0
 * the order may deadlock, which is reported when it is laid out. */
#include "schedule/one_f_one_b.h"

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    ek__one_f_one_b(shape, shape->n_chunks * shape->n_stages - stage - 1, blocks);
}

const ek_schedule ek__schedule_interleaved_less_memory = {
    .name = "interleaved-less-memory",
    .title = "interleaved 1F1B, less memory",
    .summary = "v chunks a stage; bubble (p-1)/(vm) or a little more; stage s holds vp - s chunk activations",
    .min_chunks = 2,
    .max_chunks = UINT16_MAX,
    .family = EK_SCHEDULE_INTERLEAVED,
    .bubble = EK_BUBBLE_ABOUT,
    .shorter_warm_up = true,
    .stage_order = stage_order,
};
