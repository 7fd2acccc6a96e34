/* What holds a run back: findings. Not there yet: no run has it. */
#include "view/view.h"

static bool present(const ek_view_run *run)
{
    (void)run;
    return false;
}

const ek__view_part ek__view_part_diagnosis = {.present = present};
