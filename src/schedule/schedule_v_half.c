/* V-Half (Qi et al. 2024, arXiv 2405.15362): ZB-V within half of the memory of 1F1B's first stage, p / 2 micro-batches
 * but at least one. The paper's own building block needs one more, (p + 2) / 2, and idles much less with it. */
#include "schedule/automatic.h"

const ek_schedule ek__schedule_v_half = {
    .name = "v-half",
    .title = "V-Half",
    .summary = "two chunks a stage in a V, order made for the times; half of 1F1B's memory",
    .min_chunks = 2,
    .max_chunks = 2,
    .placement = EK_PLACE_V,
    .splits_backward = true,
    .arrange = ek__automatic_arrange,
    .activation_limit = 0.5,
};
