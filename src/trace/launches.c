/* Who launched a device event. Kineto numbers both sides with a correlation, which mostly counts up: an array by it
 * when the numbers lie close together, else an open-addressed table, leads to the earliest launch. Ascend draws arrows:
 * beginnings are found by id in a hash table, and ends, which come in order of time, are dealt to their tracks, since an
 * arrow ends exactly at track and start of its device task. Launches outside the file are not found. */
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

/* Beginnings of arrows by id: numbers of their events plus 1, open addressing, at most half full. */
typedef struct starts {
    size_t mask;
    uint32_t *slot;
} starts;

static inline bool is_end_of(const ek__event *e, ek__flow flow, uint32_t end)
{
    return e->name == (uint32_t)flow && e->detail == end;
}

/* Where an id is, or the free slot where it would be. Ids count up or are times: their low bits alone would do badly.
 */
static inline size_t slot_of_id(const starts *s, ek__slice flows, int64_t id)
{
    uint64_t hash = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 32) & s->mask;
    while (s->slot[at] && flows.event[s->slot[at] - 1].duration != id)
        at = (at + 1) & s->mask;
    return at;
}

/* The first in time of every id. */
static bool find_starts(ek__slice flows, ek__flow flow, starts *s)
{
    size_t n = 0, room = 16;
    for (size_t i = 0; i < flows.n; i++)
        n += is_end_of(&flows.event[i], flow, 0);
    while (room / 2 <= n)
        room *= 2;
    s->mask = room - 1;
    s->slot = flows.n < UINT32_MAX ? ek__alloc(room, sizeof *s->slot) : NULL;
    for (size_t i = 0; i < flows.n && s->slot; i++) {
        if (!is_end_of(&flows.event[i], flow, 0))
            continue;
        size_t at = slot_of_id(s, flows, flows.event[i].duration);
        if (!s->slot[at])
            s->slot[at] = (uint32_t)i + 1;
    }
    return s->slot != NULL;
}

/* Where the ends of every track begin in the answer: place[track], counted first. */
static bool make_places(ek__slice flows, ek__flow flow, size_t n_tracks, size_t **place, size_t *n)
{
    size_t *count = ek__alloc(n_tracks + 1, sizeof *count), sum = 0;
    *place = count;
    if (!count)
        return false;
    for (size_t i = 0; i < flows.n; i++)
        if (is_end_of(&flows.event[i], flow, 1))
            count[flows.event[i].track]++;
    for (size_t t = 0; t <= n_tracks; t++) {
        size_t own = count[t];
        count[t] = sum;
        sum += own;
    }
    *n = sum;
    return true;
}

/* Arrows that end at one task are one: the earliest. Ends without a beginning have no host_track yet and go. */
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

/* Ends come in order of time and are dealt to their tracks, so nothing is sorted. */
static void pair_ends(ek__slice flows, ek__flow flow, const starts *s, size_t *place, ek__task_launch *pairs)
{
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        if (!is_end_of(e, flow, 1))
            continue;
        uint32_t begin = s->slot[slot_of_id(s, flows, e->duration)];
        const ek__event *from = begin ? &flows.event[begin - 1] : NULL;
        pairs[place[e->track]++] = (ek__task_launch){e->start, from ? from->start : EK_TRACE_UNKNOWN, e->track,
                                                     from ? from->track : (uint16_t)0};
    }
}

ek_status ek__task_launches_make(const ek__trace *trace, ek__flow flow, ek__task_launches *out, ek_error *err)
{
    ek__slice flows = trace->of[EK__EVENT_FLOW];
    starts s = {0};
    size_t *place = NULL, n = 0;
    ek__task_launch *pairs = NULL;
    if (find_starts(flows, flow, &s) && make_places(flows, flow, (size_t)trace->n_tracks, &place, &n))
        pairs = ek__alloc(n, sizeof *pairs);
    if (pairs) {
        pair_ends(flows, flow, &s, place, pairs);
        *out = (ek__task_launches){without_repetitions(pairs, n), pairs};
    }
    free(s.slot);
    free(place);
    return pairs ? EK_OK : ek__no_memory(err);
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
