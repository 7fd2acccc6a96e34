/* ZB-V (Qi et al. 2024, arXiv 2405.15362): two chunks in a V, so that a stage's two lifetimes of activations add up to
 * the same on every stage. Within the memory of 1F1B's first stage: p micro-batches, 2 p chunks. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_zb_v = {
    .name = "zb-v",
    .title = "ZB-V",
    .summary = "two chunks a stage in a V, order made for the times; 1F1B's memory, hardly a bubble",
    .min_chunks = 2,
    .max_chunks = 2,
    .placement = EK_PLACE_V,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .limit_per_stage = 1,
};
