/* Interleaved 1F1B (Narayanan et al. 2021, section 2.2): v chunks a stage divide the warm-up bubble by v; the long
 * warm-up keeps up to (v + 1) p - 2 s - 1 chunk activations alive. m mod p leftovers join the first group. */
#include "schedule/one_f_one_b.h"

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    int p = shape->n_stages, v = shape->n_chunks, r = shape->n_micro_batches % p;
    ek__one_f_one_b(shape, (v + 1) * p - 2 * stage - 2 + r * (v - 1), blocks);
}

const ek_schedule ek__schedule_interleaved = {
    .name = "interleaved",
    .title = "interleaved 1F1B",
    .summary = "v chunks a stage; bubble (p-1)/(vm); stage s holds (v+1)p - 2s - 1 chunk activations",
    .min_chunks = 2,
    .max_chunks = UINT16_MAX,
    .family = EK_SCHEDULE_INTERLEAVED,
    .bubble = EK_BUBBLE_EXACT,
    .stage_order = stage_order,
};
