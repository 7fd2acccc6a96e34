/* Finds the launch of a device event. Kineto numbers both sides with a correlation, which mostly counts up: an array by
 * it when the numbers are close together, else an open-addressed table, leads to the earliest launch. Ascend writes
 * arrows: beginnings are found by id in a hash table, and ends, which come in order of time, are assigned to their
 * tracks, since an arrow ends exactly at track and start of its device task. Launches outside the file are not found.
 * All is built once after reading. */
#include <stdlib.h>

#include "trace/events/device.h"

/* The classes of arrows that launch tasks. */
static const ek__flow launching[] = {EK__FLOW_HOST_TO_DEVICE, EK__FLOW_ASYNC_NPU};
enum { N_LAUNCHING = sizeof launching / sizeof *launching };

struct ek__launches {
    bool dense;
    uint32_t first;         /* of the array */
    size_t mask;            /* room - 1 */
    const ek__event **slot; /* [mask + 1], NULL when free; the open-addressed table is never full */
    ek__task_launches of_tasks[N_LAUNCHING];
};

/* ---- correlations ---- */

/* The place of a correlation, existing or not; mask + 1 when it is outside of the array. */
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

static bool find_launches(const ek__trace *trace, ek__launches *launches)
{
    choose_table(trace, launches);
    launches->slot = ek__alloc(launches->mask + 1, sizeof *launches->slot);
    if (!launches->slot)
        return false;
    ek__event_walk walk = ek__walk_kinds(trace, EK__KIND(LAUNCH) | EK__KIND(SYNC));
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        if (e->link == 0)
            continue;
        size_t at = slot_of(launches, e->link);
        if (!launches->slot[at])
            launches->slot[at] = e;
    }
    return true;
}

const ek__event *ek__launch_of(const ek__trace *trace, const ek__event *device_event)
{
    const ek__launches *launches = trace->launches;
    size_t at = device_event->link ? slot_of(launches, device_event->link) : launches->mask + 1;
    return at <= launches->mask ? launches->slot[at] : NULL;
}

/* ---- arrows ---- */

/* One class of arrows. Beginnings by id: numbers of their events plus 1, open addressing, at most half full. */
typedef struct arrows {
    size_t n_starts, n_ends, mask;
    uint32_t *slot;        /* [mask + 1] */
    size_t *place;         /* [n_tracks + 1]: place of the next end of a track in pair */
    ek__task_launch *pair; /* [n_ends] */
} arrows;

static inline arrows *arrows_of(arrows *classes, const ek__event *e)
{
    for (int i = 0; i < N_LAUNCHING; i++)
        if (e->name == (uint32_t)launching[i])
            return &classes[i];
    return NULL;
}

/* The place of an id, or the free slot for it. Ids count up or are times: their low bits by themselves would be a bad
 * hash.
 */
static inline size_t slot_of_id(const arrows *a, ek__slice flows, int64_t id)
{
    uint64_t hash = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 32) & a->mask;
    while (a->slot[at] && flows.event[a->slot[at] - 1].duration != id)
        at = (at + 1) & a->mask;
    return at;
}

static bool count_ends(ek__slice flows, size_t n_tracks, arrows *classes)
{
    for (int i = 0; i < N_LAUNCHING; i++)
        if (!(classes[i].place = ek__alloc(n_tracks + 1, sizeof *classes[i].place)))
            return false;
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        arrows *a = arrows_of(classes, e);
        if (!a)
            continue;
        a->n_starts += e->detail == 0;
        a->n_ends += e->detail == 1;
        a->place[e->track] += e->detail == 1;
    }
    return true;
}

/* Allocate the starts, and compute where the ends of every track begin in the answer. */
static bool make_room(size_t n_tracks, arrows *a)
{
    size_t room = 16, sum = 0;
    while (room / 2 <= a->n_starts)
        room *= 2;
    a->mask = room - 1;
    a->slot = ek__alloc(room, sizeof *a->slot);
    a->pair = ek__alloc(a->n_ends, sizeof *a->pair);
    for (size_t t = 0; t <= n_tracks; t++) {
        size_t own = a->place[t];
        a->place[t] = sum;
        sum += own;
    }
    return a->slot && a->pair;
}

/* The first in time of every id. */
static void find_starts(ek__slice flows, arrows *classes)
{
    for (size_t i = 0; i < flows.n; i++) {
        arrows *a = flows.event[i].detail == 0 ? arrows_of(classes, &flows.event[i]) : NULL;
        if (!a)
            continue;
        size_t at = slot_of_id(a, flows, flows.event[i].duration);
        if (!a->slot[at])
            a->slot[at] = (uint32_t)i + 1;
    }
}

/* Ends come in order of time and are assigned to their tracks, so nothing is sorted. */
static void pair_ends(ek__slice flows, arrows *classes)
{
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        arrows *a = e->detail == 1 ? arrows_of(classes, e) : NULL;
        if (!a)
            continue;
        uint32_t begin = a->slot[slot_of_id(a, flows, e->duration)];
        const ek__event *from = begin ? &flows.event[begin - 1] : NULL;
        a->pair[a->place[e->track]++] = (ek__task_launch){e->start, from ? from->start : EK_TRACE_UNKNOWN, e->track,
                                                          from ? from->track : (uint16_t)0};
    }
}

/* Arrows that end at one task are one: the earliest. Ends without a beginning have no host_track yet and are
 * removed. */
static size_t without_repetitions(ek__task_launch *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        ek__task_launch *last = kept > 0 ? &at[kept - 1] : NULL;
        if (at[i].launch == EK_TRACE_UNKNOWN)
            continue;
        if (!last || last->track != at[i].track || last->start != at[i].start)
            at[kept++] = at[i];
        else if (at[i].launch < last->launch)
            *last = at[i];
    }
    return kept;
}

static bool pair_arrows(const ek__trace *trace, ek__launches *launches)
{
    ek__slice flows = trace->of[EK__EVENT_FLOW];
    size_t n_tracks = (size_t)trace->n_tracks;
    arrows classes[N_LAUNCHING] = {{0}};
    bool fine = flows.n < UINT32_MAX && count_ends(flows, n_tracks, classes);
    for (int i = 0; i < N_LAUNCHING && fine; i++)
        fine = make_room(n_tracks, &classes[i]);
    if (fine) {
        find_starts(flows, classes);
        pair_ends(flows, classes);
    }
    for (int i = 0; i < N_LAUNCHING; i++) {
        if (fine)
            launches->of_tasks[i] =
                (ek__task_launches){without_repetitions(classes[i].pair, classes[i].n_ends), classes[i].pair};
        else
            free(classes[i].pair);
        free(classes[i].slot);
        free(classes[i].place);
    }
    return fine;
}

const ek__task_launches *ek__task_launches_of(const ek__trace *trace, ek__flow flow)
{
    static const ek__task_launches none = {0};
    for (int i = 0; i < N_LAUNCHING; i++)
        if (launching[i] == flow)
            return &trace->launches->of_tasks[i];
    return &none;
}

bool ek__task_launch_walk_make(const ek__trace *trace, ek__flow flow, ek__task_launch_walk *out)
{
    const ek__task_launches *launches = ek__task_launches_of(trace, flow);
    size_t n_tracks = (size_t)trace->n_tracks;
    *out = (ek__task_launch_walk){launches, ek__alloc(n_tracks, sizeof *out->next)};
    for (size_t i = 0; i < launches->n && out->next; i++)
        if (i == 0 || launches->at[i].track != launches->at[i - 1].track)
            out->next[launches->at[i].track] = i;
    return out->next != NULL;
}

void ek__task_launch_walk_clear(ek__task_launch_walk *walk)
{
    free(walk->next);
}

const ek__task_launch *ek__task_launch_of(ek__task_launch_walk *walk, const ek__event *task)
{
    const ek__task_launch *at = walk->launches->at;
    size_t i = walk->next[task->track], n = walk->launches->n;
    while (i < n && at[i].track == task->track && at[i].start < task->start)
        i++;
    walk->next[task->track] = i;
    return i < n && at[i].track == task->track && at[i].start == task->start ? &at[i] : NULL;
}

/* ---- both ---- */

ek_status ek__launches_make(ek__trace *trace, ek_error *err)
{
    ek__launches *launches = ek__alloc(1, sizeof *launches);
    trace->launches = launches;
    return launches && find_launches(trace, launches) && pair_arrows(trace, launches) ? EK_OK : ek__no_memory(err);
}

void ek__launches_free(ek__launches *launches)
{
    if (!launches)
        return;
    for (int i = 0; i < N_LAUNCHING; i++)
        free(launches->of_tasks[i].at);
    free(launches->slot);
    free(launches);
}
