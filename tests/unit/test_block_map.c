/* Tests maps of allocations against slow models: a test allocator makes random histories with known lifetimes, cut
 * anywhere and without the facts that a snapshot lacks; every figure of a map is then counted again at every time, byte
 * range by byte range. */
#include "input.h"

#include <math.h>

#include "assert_close.h"
#include "base/random.h"
#include "trace/events/block_map.h"

enum { N_HISTORIES = 300, MAX_EVENTS = 160, UNIT = 512, MAX_UNITS = 96, MAX_BLOCKS = 400 };

/* ---- an allocator that remembers ---- */

typedef struct life {
    int64_t start, end, address, bytes; /* EK_TRACE_UNKNOWN */
    bool is_segment, joins;
} life;

typedef struct world {
    ek__random random;
    bool expandable;
    ek__block_event event[MAX_EVENTS];
    int n_events, n_lives;
    life all[MAX_BLOCKS];
    int64_t now, next_address;
    int alive[MAX_BLOCKS], n_alive;
} world;

static void tell(world *w, ek__block_action action, int64_t address, int64_t bytes)
{
    assert_true(w->n_events < MAX_EVENTS);
    w->event[w->n_events++] = (ek__block_event){action, 0, -1, w->now, address, bytes};
}

static int begin_life(world *w, int64_t address, int64_t bytes, bool is_segment)
{
    assert_true(w->n_lives < MAX_BLOCKS);
    w->all[w->n_lives] = (life){w->now, EK_TRACE_UNKNOWN, address, bytes, is_segment, is_segment && w->expandable};
    return w->n_lives++;
}

static bool overlaps(const life *l, int64_t from, int64_t to)
{
    return l->address < to && l->address + l->bytes > from;
}

/* A place in a segment (or in joined pages) with no block. -1: none */
static int64_t find_place(const world *w, int64_t bytes)
{
    for (int s = 0; s < w->n_lives; s++) {
        const life *g = &w->all[s];
        if (!g->is_segment || g->end != EK_TRACE_UNKNOWN)
            continue;
        int64_t to = g->address + g->bytes;
        for (int more = 1; w->expandable && more;) { /* pages after it */
            more = 0;
            for (int i = 0; i < w->n_lives; i++)
                if (w->all[i].is_segment && w->all[i].end == EK_TRACE_UNKNOWN && w->all[i].address == to) {
                    to += w->all[i].bytes;
                    more = 1;
                }
        }
        for (int64_t at = g->address; at + bytes <= to; at += UNIT) {
            bool taken = false;
            for (int i = 0; i < w->n_alive && !taken; i++)
                taken = overlaps(&w->all[w->alive[i]], at, at + (bytes + UNIT - 1) / UNIT * UNIT);
            if (!taken)
                return at;
        }
    }
    return -1;
}

static void allocate(world *w)
{
    int64_t bytes = 1 + ek__random_below(&w->random, 6 * UNIT), size = (bytes + UNIT - 1) / UNIT * UNIT;
    int64_t at = find_place(w, size);
    if (at < 0) {
        int64_t room = size > 8 * UNIT ? size : 8 * UNIT;
        at = w->next_address;
        w->next_address += room + (w->expandable ? 0 : UNIT * ek__random_below(&w->random, 3));
        begin_life(w, at, room, true);
        tell(w, w->expandable ? EK__SEGMENT_MAP : EK__SEGMENT_ALLOC, at, room);
        w->now++;
    }
    w->alive[w->n_alive++] = begin_life(w, at, bytes, false);
    tell(w, EK__BLOCK_ALLOC, at, bytes);
}

static void release(world *w)
{
    int k = ek__random_below(&w->random, w->n_alive);
    life *l = &w->all[w->alive[k]];
    tell(w, EK__BLOCK_FREE_REQUESTED, l->address, l->bytes);
    w->now++;
    tell(w, EK__BLOCK_FREE_COMPLETED, l->address, l->bytes);
    l->end = w->now;
    w->alive[k] = w->alive[--w->n_alive];
}

/* A segment that no block is in goes. */
static void give_back(world *w)
{
    for (int s = 0; s < w->n_lives; s++) {
        life *g = &w->all[s];
        bool used = !g->is_segment || g->end != EK_TRACE_UNKNOWN;
        for (int i = 0; i < w->n_alive && !used; i++)
            used = overlaps(&w->all[w->alive[i]], g->address, g->address + g->bytes);
        if (used)
            continue;
        tell(w, w->expandable ? EK__SEGMENT_UNMAP : EK__SEGMENT_FREE, g->address, g->bytes);
        g->end = w->now;
        return;
    }
}

static void live_on(world *w, uint64_t seed)
{
    *w = (world){.random = ek__random_seed(seed), .now = 100, .next_address = INT64_C(1) << 40};
    w->expandable = ek__random_below(&w->random, 2);
    int n = 20 + ek__random_below(&w->random, MAX_EVENTS - 40);
    while (w->n_events < n) {
        int what = ek__random_below(&w->random, 12);
        if (what == 0)
            give_back(w);
        else if (what < 7 || w->n_alive == 0)
            allocate(w);
        else
            release(w);
        w->now += 1 + ek__random_below(&w->random, 3);
    }
}

/* ---- its snapshot: events from `first` on, and the remaining allocations ---- */

typedef struct told {
    ek__block_left block[MAX_BLOCKS], segment[MAX_BLOCKS];
    ek__block_history history;
    life want[MAX_BLOCKS]; /* lifetimes as far as they are recorded */
    int n_want;
    int64_t begin;
} told;

static void tell_of(const world *w, int first, told *t)
{
    *t = (told){.begin = w->event[first].time};
    int64_t end = w->event[w->n_events - 1].time;
    for (int i = 0; i < w->n_lives; i++) {
        life l = w->all[i];
        if (l.end == EK_TRACE_UNKNOWN && l.is_segment)
            t->segment[t->history.n_segments++] = (ek__block_left){l.address, l.bytes, -1, -1, l.joins};
        else if (l.end == EK_TRACE_UNKNOWN)
            t->block[t->history.n_blocks++] = (ek__block_left){l.address, l.bytes, -1, -1, false};
        if (l.end != EK_TRACE_UNKNOWN && l.end < t->begin)
            continue; /* not in the record */
        if (l.start < t->begin)
            l.start = EK_TRACE_UNKNOWN;
        t->want[t->n_want++] = l;
    }
    t->history.event = w->event + first;
    t->history.n = (size_t)(w->n_events - first);
    t->history.block = t->block;
    t->history.segment = t->segment;
    t->history.tells_end = true;
    t->history.end = end;
}

/* ---- counting again ---- */

static bool is_there(const life *l, int64_t time)
{
    return (l->start == EK_TRACE_UNKNOWN || l->start <= time) && (l->end == EK_TRACE_UNKNOWN || time < l->end);
}

static void count_at(const told *t, int64_t time, int64_t *active, int64_t *reserved, int64_t *n)
{
    *active = *reserved = *n = 0;
    for (int i = 0; i < t->n_want; i++)
        if (is_there(&t->want[i], time)) {
            *(t->want[i].is_segment ? reserved : active) += t->want[i].bytes;
            *n += !t->want[i].is_segment;
        }
}

/* Free memory unit by unit: a run of free units ends where another segment begins, unless both join. */
static void count_free(const told *t, int64_t base, int64_t top, int64_t time, ek_trace_memory_room *room)
{
    int64_t run = 0;
    const life *before = NULL;
    *room = (ek_trace_memory_room){0};
    for (int64_t at = base; at <= top; at += UNIT) {
        const life *segment = NULL;
        bool taken = false;
        for (int i = 0; i < t->n_want; i++) {
            const life *l = &t->want[i];
            if (!is_there(l, time) || !overlaps(l, at, at + UNIT))
                continue;
            if (l->is_segment)
                segment = l;
            else
                taken = true;
        }
        bool free = segment && !taken;
        bool goes_on = free && before && (before == segment || (before->joins && segment->joins));
        if (run > 0 && !goes_on) {
            room->n_free++;
            run = 0;
        }
        if (free) {
            run += UNIT;
            room->free_bytes += UNIT;
            room->largest_free_bytes = run > room->largest_free_bytes ? run : room->largest_free_bytes;
        }
        before = segment;
    }
}

static int by_address(const void *a, const void *b)
{
    const life *p = a, *q = b;
    int64_t one[] = {p->is_segment, p->address, p->start, p->end, p->bytes};
    int64_t other[] = {q->is_segment, q->address, q->start, q->end, q->bytes};
    for (int i = 0; i < 5; i++)
        if (one[i] != other[i])
            return one[i] < other[i] ? -1 : 1;
    return 0;
}

static void check_lives(const told *t, const ek_trace_block_map *map)
{
    life got[MAX_BLOCKS], want[MAX_BLOCKS];
    int n = 0;
    assert_int_equal(map->n_blocks + map->n_segments, t->n_want);
    for (int i = 0; i < map->n_blocks; i++)
        got[n++] =
            (life){map->block[i].start, map->block[i].end, map->block[i].address, map->block[i].bytes, false, false};
    for (int i = 0; i < map->n_segments; i++) {
        const ek_trace_memory_segment *s = &map->segment[i];
        got[n++] = (life){s->start, s->end, s->address, s->bytes, true, s->joins};
    }
    memcpy(want, t->want, sizeof *want * (size_t)n);
    qsort(got, (size_t)n, sizeof *got, by_address);
    qsort(want, (size_t)n, sizeof *want, by_address);
    for (int i = 0; i < n; i++) {
        assert_int_equal(by_address(&got[i], &want[i]), 0);
        assert_int_equal(got[i].joins, want[i].joins);
    }
    for (int i = 1; i < map->n_blocks; i++)
        assert_true(map->block[i - 1].start <= map->block[i].start);
}

/* Places keep the order and the distances within the used ranges, and leave no gap. */
static void check_places(const ek_trace_block_map *map)
{
    bool used[MAX_EVENTS * MAX_UNITS] = {false};
    int64_t n_used = 0;
    for (int i = 0; i < map->n_blocks; i++)
        for (int k = 0; k < map->n_segments; k++) {
            const ek_trace_block *b = &map->block[i];
            const ek_trace_memory_segment *s = &map->segment[k];
            if (b->address >= s->address && b->address < s->address + s->bytes)
                assert_int_equal(b->place - s->place, b->address - s->address);
        }
    for (int k = 0; k < map->n_segments; k++)
        for (int64_t u = map->segment[k].place / UNIT; u < (map->segment[k].place + map->segment[k].bytes) / UNIT;
             u++) {
            assert_true(u < MAX_EVENTS * MAX_UNITS);
            n_used += !used[u];
            used[u] = true;
        }
    assert_int_equal(n_used * UNIT, map->height);
}

static void check_room(const told *t, const world *w, int64_t time, const ek_trace_memory_room *got)
{
    ek_trace_memory_room want;
    int64_t active, reserved, n;
    count_at(t, time, &active, &reserved, &n);
    count_free(t, INT64_C(1) << 40, w->next_address + UNIT, time, &want);
    assert_int_equal(got->time, time);
    assert_int_equal(got->active_bytes, active);
    assert_int_equal(got->reserved_bytes, reserved);
    assert_int_equal(got->n_live, n);
    assert_int_equal(got->free_bytes, want.free_bytes);
    assert_int_equal(got->largest_free_bytes, want.largest_free_bytes);
    assert_int_equal(got->n_free, want.n_free);
    if (want.free_bytes > 0)
        assert_close_to(got->fragmentation, 1 - (double)want.largest_free_bytes / (double)want.free_bytes, 1e-12);
    else
        assert_true(isnan(got->fragmentation));
}

static void check_sums(const told *t, const ek_trace_block_map *map)
{
    int64_t most = -1, most_reserved = 0, at = 0, active, reserved, n;
    for (int64_t time = map->begin; time <= map->end; time++) {
        count_at(t, time, &active, &reserved, &n);
        if (active > most) {
            most = active;
            at = time;
        }
        most_reserved = reserved > most_reserved ? reserved : most_reserved;
    }
    assert_int_equal(map->peak.active_bytes, most);
    assert_int_equal(map->peak.time, at);
    assert_int_equal(map->reserved_peak_bytes, most_reserved);
    int64_t n_before = 0, before = 0, n_never = 0, never = 0;
    for (int i = 0; i < t->n_want; i++) {
        const life *l = &t->want[i];
        bool is_before = !l->is_segment && l->start == EK_TRACE_UNKNOWN;
        bool is_never = !l->is_segment && !is_before && l->end == EK_TRACE_UNKNOWN;
        n_before += is_before;
        before += is_before ? l->bytes : 0;
        n_never += is_never;
        never += is_never ? l->bytes : 0;
    }
    assert_int_equal(map->n_before, n_before);
    assert_int_equal(map->before_bytes, before);
    assert_int_equal(map->n_never_freed, n_never);
    assert_int_equal(map->never_freed_bytes, never);
    for (int i = 0; i < map->n_points; i++) {
        count_at(t, map->point[i].time, &active, &reserved, &n);
        assert_close_to(map->point[i].allocated_mb, (double)active / 1048576, 1e-12);
        assert_close_to(map->point[i].reserved_mb, (double)reserved / 1048576, 1e-12);
    }
}

static void maps_of_random_histories_are_what_was_there(void **state)
{
    (void)state;
    static world w;
    static told t;
    for (uint64_t seed = 1; seed <= N_HISTORIES; seed++) {
        live_on(&w, seed);
        int first = seed % 3 == 0 ? 0 : ek__random_below(&w.random, w.n_events / 2);
        /* A cut between the two halves of a release would be reported as a release from before; it is, and lifetimes
         * agree. */
        tell_of(&w, first, &t);
        ek__block_list list = {0};
        ek__block_names names = {0};
        ek__pool *pool = ek__pool_new();
        ek_trace_block_map map = {.name = "made", .has_addresses = true, .begin = t.begin, .end = t.history.end};
        ek_error err;
        assert_int_equal(ek__block_history_pair(&t.history, &list, &err), EK_OK);
        assert_true(ek__block_site(&names, EK_BLOCK_FORWARD, "only") == 0);
        assert_int_equal(ek__block_map_make(&list, &names, UNIT, EK_TRACE_KEPT_BLOCKS, pool, &map, &err), EK_OK);
        assert_int_equal(map.n_contradictions, 0);
        check_lives(&t, &map);
        check_places(&map);
        check_sums(&t, &map);
        check_room(&t, &w, map.peak.time, &map.peak);
        check_room(&t, &w, map.end, &map.last);
        ek__block_list_clear(&list);
        ek__block_names_clear(&names);
        ek__pool_free(pool);
    }
}

/* ---- sites, kept memory ---- */

static void sites_and_largest_are_sums_over_blocks(void **state)
{
    (void)state;
    enum { N = 120, SITES = 7 };
    for (uint64_t seed = 1; seed <= 60; seed++) {
        ek__random random = ek__random_seed(seed);
        ek__block_list list = {0};
        ek__block_names names = {0};
        ek__pool *pool = ek__pool_new();
        ek_trace_block made[N];
        ek_error err;
        for (int i = 0; i < SITES; i++) {
            char name[16];
            snprintf(name, sizeof name, "op%d", i / 2); /* two roles of one name are two sites */
            assert_int_equal(ek__block_site(&names, (ek_block_role)(i % 3), name), i);
        }
        for (int i = 0; i < N; i++) {
            int64_t start = ek__random_below(&random, 100), end = start + 1 + ek__random_below(&random, 60);
            made[i] = (ek_trace_block){ek__random_below(&random, 8) ? start : EK_TRACE_UNKNOWN,
                                       ek__random_below(&random, 6) ? end : EK_TRACE_UNKNOWN,
                                       ek__random_below(&random, 1000),
                                       EK_TRACE_UNKNOWN,
                                       0,
                                       ek__random_below(&random, SITES) - (i % 40 == 0),
                                       -1};
            assert_int_equal(ek__block_list_add(&list, &made[i], &err), EK_OK);
        }
        ek_trace_block_map map = {.name = "made", .begin = 0, .end = 160};
        assert_int_equal(ek__block_map_make(&list, &names, 1, 30, pool, &map, &err), EK_OK);
        int64_t most = -1, n_sites = 0, n_blocks = 0;
        for (int64_t time = 0; time <= 160; time++) {
            int64_t sum = 0;
            for (int i = 0; i < N; i++)
                if (is_there(&(life){made[i].start, made[i].end, 0, 0, false, false}, time))
                    sum += made[i].bytes;
            most = sum > most ? sum : most;
        }
        assert_int_equal(map.peak.active_bytes, most);
        assert_true(map.peak.reserved_bytes == EK_TRACE_UNKNOWN && map.reserved_peak_bytes == EK_TRACE_UNKNOWN);
        for (int s = 0; s < map.n_sites; s++) {
            ek_trace_block_site want = {0};
            for (int i = 0; i < N; i++) {
                int number = made[i].site;
                char name[16];
                snprintf(name, sizeof name, number < 0 ? "(unknown)" : "op%d", number / 2);
                if (strcmp(name, map.site[s].name) != 0 || (number < 0 ? 0 : number % 3) != (int)map.site[s].role)
                    continue;
                bool live = is_there(&(life){made[i].start, made[i].end, 0, 0, false, false}, map.peak.time);
                bool never = made[i].start != EK_TRACE_UNKNOWN && made[i].end == EK_TRACE_UNKNOWN;
                want.n++;
                want.bytes += made[i].bytes;
                want.n_live += live;
                want.live_bytes += live ? made[i].bytes : 0;
                want.n_never_freed += never;
                want.never_freed_bytes += never ? made[i].bytes : 0;
            }
            assert_int_equal(map.site[s].n, want.n);
            assert_int_equal(map.site[s].bytes, want.bytes);
            assert_int_equal(map.site[s].n_live, want.n_live);
            assert_int_equal(map.site[s].live_bytes, want.live_bytes);
            assert_int_equal(map.site[s].n_never_freed, want.n_never_freed);
            assert_int_equal(map.site[s].never_freed_bytes, want.never_freed_bytes);
            assert_true(s == 0 || map.site[s - 1].live_bytes >= map.site[s].live_bytes);
            n_blocks += want.n;
            n_sites++;
        }
        assert_int_equal(n_blocks, N);
        assert_true(n_sites > 0);
        /* Of 30 that are kept none is smaller than one that is not. */
        assert_int_equal(map.n_all_blocks, N);
        assert_int_equal(map.n_blocks, 30);
        int64_t least = INT64_MAX, n_larger = 0;
        for (int i = 0; i < map.n_blocks; i++)
            least = map.block[i].bytes < least ? map.block[i].bytes : least;
        for (int i = 0; i < N; i++)
            n_larger += made[i].bytes > least;
        assert_true(n_larger < 30);
        for (int i = 1; i < map.n_largest; i++)
            assert_true(map.largest[i - 1].bytes >= map.largest[i].bytes);
        for (int i = 0; i < map.n_largest; i++)
            assert_true(is_there(&(life){map.largest[i].start, map.largest[i].end, 0, 0, false, false}, map.peak.time));
        ek__block_list_clear(&list);
        ek__block_names_clear(&names);
        ek__pool_free(pool);
    }
}

/* ---- histories that do not fit ---- */

static void contradictions_are_counted_and_end_what_they_contradict(void **state)
{
    (void)state;
    static const ek__block_event events[] = {
        {EK__BLOCK_ALLOC, 0, -1, 1, 1000, 10},          {EK__BLOCK_ALLOC, 0, -1, 5, 1000, 20}, /* ends the first one */
        {EK__BLOCK_FREE_REQUESTED, 0, -1, 6, 1000, 20}, {EK__BLOCK_ALLOC, 0, -1, 8, 1000, 30}, /* ends it on request */
        {EK__BLOCK_ALLOC, 0, -1, 9, 5000, 40},          {EK__SEGMENT_ALLOC, 0, -1, 10, 2000, 100},
        {EK__SEGMENT_ALLOC, 0, -1, 11, 2050, 100},
    };
    const ek__block_left left = {1000, 30, -1, -1, false};
    const ek__block_left segment = {2050, 100, -1, -1, false};
    const ek__block_history history = {events, sizeof events / sizeof *events, &left, &segment, 1, 1, true, 20};
    ek__block_list list = {0};
    ek_error err;
    assert_int_equal(ek__block_history_pair(&history, &list, &err), EK_OK);
    static const struct {
        int64_t start, end, bytes;
    } want[] = {{1, 5, 10}, {5, 6, 20}, {8, EK_TRACE_UNKNOWN, 30}, {9, 20, 40}};
    assert_int_equal(list.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(list.block[i].start, want[i].start);
        assert_int_equal(list.block[i].end, want[i].end);
        assert_int_equal(list.block[i].bytes, want[i].bytes);
    }
    /* [2000, 2050) goes on until the end, where it is not; [2050, 2100) ends at 11. */
    assert_int_equal(list.n_segments, 3);
    assert_int_equal(list.segment[0].address, 2050);
    assert_int_equal(list.segment[0].end, 11);
    assert_int_equal(list.segment[1].address, 2000);
    assert_int_equal(list.segment[1].end, 20);
    assert_int_equal(list.segment[2].end, EK_TRACE_UNKNOWN);
    assert_int_equal(list.n_contradictions, 4);
    ek__block_list_clear(&list);
}

/* Pages that an event unmaps in part: the rest stays, and memory that no event mapped was there before. */
static void pages_are_unmapped_in_parts(void **state)
{
    (void)state;
    static const ek__block_event events[] = {
        {EK__SEGMENT_MAP, 0, -1, 1, 1000, 400},
        {EK__SEGMENT_UNMAP, 0, -1, 2, 1100, 100},
        {EK__SEGMENT_UNMAP, 0, -1, 3, 1300, 300},
    };
    const ek__block_left left[] = {{1200, 100, -1, -1, true}, {1000, 100, -1, -1, true}, {3000, 50, -1, -1, true}};
    const ek__block_history history = {events, 3, NULL, left, 0, 3, true, 9};
    static const int64_t want[][4] = {/* start, end, address, bytes */
                                      {1, 2, 1100, 100},
                                      {1, 3, 1300, 100},
                                      {EK_TRACE_UNKNOWN, 3, 1400, 200},
                                      {EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, 3000, 50},
                                      {1, EK_TRACE_UNKNOWN, 1000, 100},
                                      {1, EK_TRACE_UNKNOWN, 1200, 100}};
    ek__block_list list = {0};
    ek_error err;
    assert_int_equal(ek__block_history_pair(&history, &list, &err), EK_OK);
    assert_int_equal(list.n_segments, 6);
    for (size_t i = 0; i < 6; i++) {
        const ek_trace_memory_segment *s = &list.segment[i];
        const int64_t got[] = {s->start, s->end, s->address, s->bytes};
        for (int k = 0; k < 4; k++)
            assert_int_equal(got[k], want[i][k]);
        assert_true(s->joins);
    }
    assert_int_equal(list.n_contradictions, 0);
    ek__block_list_clear(&list);
}

/* Memory around mapped pages in one unmapped range, and in one segment of the end, was there before. */
static void room_around_pages_was_there_before(void **state)
{
    (void)state;
    static const ek__block_event events[] = {
        {EK__SEGMENT_MAP, 0, -1, 1, 1000, 100},
        {EK__SEGMENT_MAP, 0, -1, 2, 1200, 100},
        {EK__SEGMENT_MAP, 0, -1, 3, 2100, 50},
        {EK__SEGMENT_UNMAP, 0, -1, 4, 2000, 200},
    };
    const ek__block_left left = {900, 500, -1, -1, true};
    const ek__block_history history = {events, 4, NULL, &left, 0, 1, true, 9};
    static const int64_t want[][4] = {/* start, end, address, bytes */
                                      {EK_TRACE_UNKNOWN, 4, 2000, 100},
                                      {3, 4, 2100, 50},
                                      {EK_TRACE_UNKNOWN, 4, 2150, 50},
                                      {EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, 900, 100},
                                      {EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, 1100, 100},
                                      {EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, 1300, 100},
                                      {1, EK_TRACE_UNKNOWN, 1000, 100},
                                      {2, EK_TRACE_UNKNOWN, 1200, 100}};
    ek__block_list list = {0};
    ek_error err;
    assert_int_equal(ek__block_history_pair(&history, &list, &err), EK_OK);
    assert_int_equal(list.n_segments, 8);
    for (size_t i = 0; i < 8; i++) {
        const ek_trace_memory_segment *s = &list.segment[i];
        const int64_t got[] = {s->start, s->end, s->address, s->bytes};
        for (int k = 0; k < 4; k++)
            assert_int_equal(got[k], want[i][k]);
    }
    ek__block_list_clear(&list);
}

static void sums_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    ek__block_list list = {0};
    ek_error err = {0};
    const ek_trace_block large = {0, 1, EK__BLOCK_MOST_BYTES, 0, 0, -1, -1};
    int n = 0;
    while (ek__block_list_add(&list, &large, &err) == EK_OK)
        n++;
    assert_int_equal(n, EK__BLOCKS_MOST_BYTES / EK__BLOCK_MOST_BYTES);
    assert_int_equal(err.status, EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "sizes are damaged"));
    ek__block_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_of_random_histories_are_what_was_there),
        cmocka_unit_test(sites_and_largest_are_sums_over_blocks),
        cmocka_unit_test(contradictions_are_counted_and_end_what_they_contradict),
        cmocka_unit_test(pages_are_unmapped_in_parts),
        cmocka_unit_test(room_around_pages_was_there_before),
        cmocka_unit_test(sums_beyond_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
