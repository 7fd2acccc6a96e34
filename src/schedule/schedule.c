/* The list of schedules. A new one is a file schedule_NAME.c with its stage order, one line in SCHEDULES, one line in
 * src/meson.build and one test. */
#include "evenkeel/schedule.h"

#include <string.h>

#define SCHEDULES(X)                                                                                                   \
    X(1f1b)                                                                                                            \
    X(interleaved)                                                                                                     \
    X(interleaved_less_memory)                                                                                         \
    X(sequence)                                                                                                        \
    X(gpipe)                                                                                                           \
    X(zb_h1)                                                                                                           \
    X(zb_1p)                                                                                                           \
    X(zb_2p)                                                                                                           \
    X(zb_v)                                                                                                            \
    X(v_half)                                                                                                          \
    X(v_min)                                                                                                           \
    X(dualpipe)                                                                                                        \
    X(dualpipev)

#define DECLARE(id) extern const ek_schedule ek__schedule_##id;
SCHEDULES(DECLARE)

#define POINT(id) &ek__schedule_##id,
const ek_schedule *const ek_schedules[] = {SCHEDULES(POINT) NULL};

const ek_schedule *ek_schedule_find(const char *name)
{
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

const ek_schedule *ek_schedule_default(int n_chunks, int less_memory)
{
    return ek_schedule_find(n_chunks == 1 ? "1f1b" : less_memory ? "interleaved-less-memory" : "interleaved");
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
