/* The schedules of the list in list.h, which has the recipe for a new one. */
#include <string.h>

#include "schedule/list.h"

#define POINT(id) &ek__schedule_##id,
static const ek_schedule *const ek__schedules[] = {EK__SCHEDULES(POINT) NULL};
const ek_schedule *const *const ek_schedules = ek__schedules;

const ek_schedule *ek_schedule_find(const char *name)
{
    for (const ek_schedule *const *s = ek_schedules; name && *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

const ek_schedule *ek_schedule_of(ek_schedule_family family, ek_placement placement)
{
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        if ((*s)->family == family && (*s)->placement == placement)
            return *s;
    return NULL;
}

const ek_schedule *ek_schedule_default(int n_chunks, int less_memory)
{
    if (n_chunks == 1)
        return &ek__schedule_1f1b;
    return less_memory ? &ek__schedule_interleaved_less_memory : &ek__schedule_interleaved;
}

const ek_schedule *ek_schedule_for(int n_chunks, int n_pieces, bool less_memory)
{
    return n_pieces > 1 ? ek_schedule_of(EK_SCHEDULE_SEQUENCE, EK_PLACE_WRAP)
                        : ek_schedule_default(n_chunks, less_memory);
}

size_t ek_schedule_blocks_per_stage(const ek_schedule *schedule, const ek_shape *shape)
{
    return (schedule->splits_backward ? 3 : 2) * (size_t)shape->n_chunks * (size_t)shape->n_micro_batches;
}

double ek_schedule_activation_limit(const ek_schedule *schedule, int n_stages)
{
    double limit = schedule->limit_per_stage * n_stages + schedule->limit_constant;
    return schedule->arrange ? (limit > 1 ? limit : 1) : 0;
}
