/* V-Min (Qi et al. 2024, arXiv 2405.15362): ZB-V within about a third of the memory of 1F1B's first stage: the building
 * block of the paper needs (p + 4) / 3 micro-batches. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_v_min = {
    .name = "v-min",
    .title = "V-Min",
    .summary = "two chunks a stage in a V, order made for the times; (p + 4)/3 micro-batches held",
    .min_chunks = 2,
    .max_chunks = 2,
    .placement = EK_PLACE_V,
    .family = EK_SCHEDULE_ZERO_BUBBLE,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .limit_per_stage = 1.0 / 3,
    .limit_constant = 4.0 / 3,
};
