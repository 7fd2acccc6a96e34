/* V-Half (Qi et al. 2024, arXiv 2405.15362): ZB-V within about half of the memory of 1F1B's first stage: the building
 * block of the paper needs (p + 2) / 2 micro-batches. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_v_half = {
    .name = "v-half",
    .title = "V-Half",
    .summary = "two chunks a stage in a V, order made for the times; (p + 2)/2 micro-batches held",
    .min_chunks = 2,
    .max_chunks = 2,
    .placement = EK_PLACE_V,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .limit_per_stage = 0.5,
    .limit_constant = 1,
};
