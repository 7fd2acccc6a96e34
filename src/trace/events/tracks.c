/* Looks up tracks by their pid and tid: a table of places with open addressing and linear probing, at most half
 * full. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/scan/part.h"

enum { FIRST_SLOTS = 256 };

static inline uint32_t hash_of(uint32_t pid, uint32_t tid)
{
    uint64_t both = ((uint64_t)pid << 32 | tid) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(both >> 32);
}

void ek__tracks_reset(ek__tracks *tracks)
{
    tracks->n = 0;
    if (tracks->slot)
        memset(tracks->slot, 0, tracks->n_slots * sizeof *tracks->slot);
}

void ek__tracks_clear(ek__tracks *tracks)
{
    free(tracks->at);
    free(tracks->slot);
    *tracks = (ek__tracks){0};
}

static bool grow(ek__tracks *tracks)
{
    uint32_t n_slots = tracks->n_slots ? 2 * tracks->n_slots : FIRST_SLOTS;
    uint32_t *slot = calloc(n_slots, sizeof *slot);
    if (!slot)
        return false;
    for (int i = 0; i < tracks->n; i++) {
        uint32_t s = hash_of(tracks->at[i].pid, tracks->at[i].tid) & (n_slots - 1);
        while (slot[s])
            s = (s + 1) & (n_slots - 1);
        slot[s] = (uint32_t)i + 1;
    }
    free(tracks->slot);
    tracks->slot = slot;
    tracks->n_slots = n_slots;
    return true;
}

int ek__tracks_find(ek__tracks *tracks, uint32_t pid, uint32_t tid)
{
    if (tracks->n_slots <= 2 * (uint32_t)tracks->n + 2 && !grow(tracks))
        return EK__TRACKS_NO_MEMORY;
    uint32_t s = hash_of(pid, tid) & (tracks->n_slots - 1);
    for (; tracks->slot[s]; s = (s + 1) & (tracks->n_slots - 1)) {
        const ek__part_track *t = &tracks->at[tracks->slot[s] - 1];
        if (t->pid == pid && t->tid == tid)
            return (int)tracks->slot[s] - 1;
    }
    if (tracks->n == EK__MAX_TRACKS)
        return EK__TRACKS_TOO_MANY;
    ek__part_track *room = ek__with_room(tracks->at, &tracks->capacity, (size_t)tracks->n + 1, sizeof *room);
    if (!room)
        return EK__TRACKS_NO_MEMORY;
    tracks->at = room;
    tracks->slot[s] = (uint32_t)tracks->n + 1;
    tracks->at[tracks->n] = (ek__part_track){.pid = pid, .tid = tid};
    return tracks->n++;
}
