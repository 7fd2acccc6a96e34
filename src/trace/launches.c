/* Who launched a device event. Kineto numbers both sides with a correlation, which mostly counts up: an array by it
 * when the numbers lie close together, else an open-addressed table, leads to the earliest launch. Ascend draws arrows:
 * both ends are sorted by the arrow's id and merged, then sorted by where they end, since an arrow ends exactly at
 * track and start of its device task. Launches outside the file are not found. */
#include <stdlib.h>

#include "trace/device.h"

struct ek__launches {
    bool dense;
    uint32_t first;         /* of the array */
    size_t mask;            /* room - 1 */
    const ek__event **slot; /* [mask + 1], NULL when free; the open-addressed table is never full */
};

/* Where a correlation is or would be; mask + 1 when the array does not reach there. */
static size_t slot_of(const ek__launches *launches, uint32_t link)
{
    if (launches->dense) {
        size_t at = (size_t)link - launches->first;
        return link < launches->first || at > launches->mask ? launches->mask + 1 : at;
    }
    size_t at = (size_t)(link * UINT64_C(0x9e3779b97f4a7c15) >> 20) & launches->mask;
    while (launches->slot[at] && launches->slot[at]->link != link)
        at = (at + 1) & launches->mask;
    return at;
}

static void choose_table(const ek__trace *trace, ek__launches *launches)
{
    static const ek__event_kind kinds[] = {EK__EVENT_LAUNCH, EK__EVENT_SYNC};
    uint32_t first = UINT32_MAX, last = 0;
    size_t n = 0, room = 16;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        ek__slice slice = trace->of[kinds[k]];
        n += slice.n;
        for (size_t i = 0; i < slice.n; i++) {
            uint32_t link = slice.event[i].link;
            first = link != 0 && link < first ? link : first;
            last = link > last ? link : last;
        }
    }
    while (room / 2 <= n)
        room *= 2;
    launches->dense = last >= first && last - first < room;
    launches->first = first;
    launches->mask = room - 1;
}

ek__launches *ek__launches_new(const ek__trace *trace)
{
    ek__launches *launches = ek__alloc(1, sizeof *launches);
    if (!launches)
        return NULL;
    choose_table(trace, launches);
    launches->slot = ek__alloc(launches->mask + 1, sizeof *launches->slot);
    if (!launches->slot) {
        free(launches);
        return NULL;
    }
    ek__event_walk walk = ek__walk_kinds(trace, EK__KIND(LAUNCH) | EK__KIND(SYNC));
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        if (e->link == 0)
            continue;
        size_t at = slot_of(launches, e->link);
        if (!launches->slot[at])
            launches->slot[at] = e;
    }
    return launches;
}

void ek__launches_free(ek__launches *launches)
{
    if (!launches)
        return;
    free(launches->slot);
    free(launches);
}

const ek__event *ek__launch_of(const ek__launches *launches, const ek__event *device_event)
{
    size_t at = device_event->link ? slot_of(launches, device_event->link) : launches->mask + 1;
    return at <= launches->mask ? launches->slot[at] : NULL;
}

/* ---- arrows ---- */

typedef struct arrow {
    int64_t id, time;
    uint16_t track;
    uint8_t end;
} arrow;

static int by_id(const void *a, const void *b)
{
    const arrow *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static int by_task(const void *a, const void *b)
{
    const ek__task_launch *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->launch != y->launch)
        return x->launch < y->launch ? -1 : 1;
    return (x->host_track > y->host_track) - (x->host_track < y->host_track);
}

static bool is_end_of(const ek__event *e, ek__flow flow)
{
    return e->name == (uint32_t)flow && e->detail <= 1;
}

/* Both ends of every arrow of a class, by id, starts first. */
static arrow *arrows_of(ek__slice slice, ek__flow flow, size_t *n)
{
    size_t count = 0;
    for (size_t i = 0; i < slice.n; i++)
        count += is_end_of(&slice.event[i], flow);
    arrow *arrows = ek__alloc(count, sizeof *arrows);
    if (!arrows)
        return NULL;
    *n = 0;
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (is_end_of(e, flow))
            arrows[(*n)++] = (arrow){e->duration, e->start, e->track, (uint8_t)e->detail};
    }
    qsort(arrows, *n, sizeof *arrows, by_id);
    return arrows;
}

static size_t without_repetitions(ek__task_launch *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || at[kept - 1].track != at[i].track || at[kept - 1].start != at[i].start)
            at[kept++] = at[i];
    return kept;
}

ek_status ek__task_launches_make(const ek__trace *trace, ek__flow flow, ek__task_launches *out, ek_error *err)
{
    size_t n = 0, n_pairs = 0;
    arrow *arrows = arrows_of(trace->of[EK__EVENT_FLOW], flow, &n);
    ek__task_launch *pairs = arrows ? ek__alloc(n, sizeof *pairs) : NULL;
    if (!pairs) {
        free(arrows);
        return ek__no_memory(err);
    }
    const arrow *begin = NULL;
    for (size_t i = 0; i < n; i++) {
        if (arrows[i].end == 0 && (!begin || begin->id != arrows[i].id))
            begin = &arrows[i]; /* the earliest of its id */
        if (arrows[i].end == 1 && begin && begin->id == arrows[i].id)
            pairs[n_pairs++] = (ek__task_launch){arrows[i].time, begin->time, arrows[i].track, begin->track};
    }
    free(arrows);
    qsort(pairs, n_pairs, sizeof *pairs, by_task);
    *out = (ek__task_launches){without_repetitions(pairs, n_pairs), pairs};
    return EK_OK;
}

void ek__task_launches_clear(ek__task_launches *launches)
{
    free(launches->at);
    *launches = (ek__task_launches){0};
}

const ek__task_launch *ek__task_launch_of(const ek__task_launches *launches, const ek__event *task)
{
    size_t low = 0, high = launches->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ek__task_launch *at = &launches->at[middle];
        if (at->track == task->track && at->start == task->start)
            return at;
        if (at->track < task->track || (at->track == task->track && at->start < task->start))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
