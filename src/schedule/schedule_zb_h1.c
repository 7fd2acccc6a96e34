/* ZB-H1 (Qi et al. 2024, arXiv 2401.10241, section 2.2): 1F1B with the backward pass split. Stage s runs the warm-up of
 * 1F1B, but its weight gradients s micro-batches late: gradients of the inputs reach the stages before sooner, and the
 * late weight gradients fill the idle end. A stage then keeps p - s micro-batches and the rest of s more, never more
 * than the first stage of 1F1B. The order does not depend on times; with F = B = W the bubble is (p-1)(F + B - W), a
 * third of 1F1B's.
 */
#include "evenkeel/schedule.h"

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    int m = shape->n_micro_batches, warm_up = shape->n_stages - 1 - stage, n_forward = 0;
    for (int k = 0; k < m + stage; k++) { /* k: micro-batch of the next B */
        for (; n_forward < m && n_forward <= warm_up + k; n_forward++)
            *blocks++ = (ek_block){(uint32_t)n_forward, 0, EK_FORWARD};
        if (k < m)
            *blocks++ = (ek_block){(uint32_t)k, 0, EK_BACKWARD};
        if (k >= stage)
            *blocks++ = (ek_block){(uint32_t)(k - stage), 0, EK_BACKWARD_WEIGHT};
    }
}

const ek_schedule ek__schedule_zb_h1 = {
    .name = "zb-h1",
    .title = "ZB-H1",
    .summary = "one chunk a stage, backward split; bubble (p-1)/(3m) for F = B = W; the memory of 1F1B's first stage",
    .min_chunks = 1,
    .max_chunks = 1,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .stage_order = stage_order,
};
