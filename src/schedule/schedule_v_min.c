/* V-Min (Qi et al. 2024, arXiv 2405.15362): ZB-V within a third of the memory of 1F1B's first stage, p / 3
 * micro-batches but at least one. The paper's own building block needs (p + 4) / 3, and idles much less with it. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_v_min = {
    .name = "v-min",
    .title = "V-Min",
    .summary = "two chunks a stage in a V, order made for the times; a third of 1F1B's memory",
    .min_chunks = 2,
    .max_chunks = 2,
    .placement = EK_PLACE_V,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .activation_limit = 1.0 / 3,
};
