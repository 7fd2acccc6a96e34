/* ZB-1p (Qi et al. 2024, arXiv 2401.10241, section 3): an order made for the times, within the memory that 1F1B needs
 * on its first stage: p micro-batches. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_zb_1p = {
    .name = "zb-1p",
    .title = "ZB-1p",
    .summary = "one chunk a stage, order made for the times; the memory of 1F1B's first stage on every stage",
    .min_chunks = 1,
    .max_chunks = 1,
    .placement = EK_PLACE_WRAP,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .limit_per_stage = 1,
};
