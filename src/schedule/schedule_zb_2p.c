/* ZB-2p (Qi et al. 2024, arXiv 2401.10241, section 3): as ZB-1p with room for 2 p micro-batches, about the least for no
 * bubble. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_zb_2p = {
    .name = "zb-2p",
    .title = "ZB-2p",
    .summary = "one chunk a stage, order made for the times; twice 1F1B's memory, hardly a bubble",
    .min_chunks = 1,
    .max_chunks = 1,
    .placement = EK_PLACE_WRAP,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .limit_per_stage = 2,
};
