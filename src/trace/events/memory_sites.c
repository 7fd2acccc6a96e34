/* Sums memory by site: blocks are sorted by (place, layer), so that each site is one run; sums over the run are its
 * figures. The tracker counts a task before its allocations, so a task is over when the next one begins. A block is
 * unused at the peak when its last user is over by then: the gain of its release is the peak of a second sweep, in
 * which every block ends there (src/trace/events/memory_sweep.c). A block without known users never counts as
 * unused. */
#include "trace/events/memory_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- places ---- */

static const char *find(const char *from, const char *to, const char *text)
{
    size_t n = strlen(text);
    for (; from + n <= to; from++)
        if (memcmp(from, text, n) == 0)
            return from;
    return NULL;
}

/* The last two parts of a path. */
static const char *end_of_path(const char *from, const char *to)
{
    int slashes = 0;
    for (const char *c = to; c-- > from;)
        if (*c == '/' && ++slashes == 2)
            return c + 1;
    return from;
}

static void print_frame(const char *from, const char *to, char *out, size_t size)
{
    static const char file_key[] = "File:", line_key[] = ";Line:", function_key[] = ";Function:";
    const char *file = find(from, to, file_key), *line = file ? find(file, to, line_key) : NULL;
    const char *function = line ? find(line, to, function_key) : NULL;
    if (!function) {
        snprintf(out, size, "%.*s", (int)(to - from < 300 ? to - from : 300), from);
        return;
    }
    const char *name = end_of_path(file + sizeof file_key - 1, line), *number = line + sizeof line_key - 1;
    const char *call = function + sizeof function_key - 1;
    snprintf(out, size, "%.*s:%.*s %.*s", (int)(line - name), name, (int)(function - number), number, (int)(to - call),
             call);
}

/* Is a frame one of the framework itself? */
static bool is_of_framework(const char *from, const char *to)
{
    static const char *const folders[] = {"/mindspore/", "/torch/", "/torch_npu/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (find(from, to, folders[i]))
            return true;
    return false;
}

bool ek__tracker_place(const char *stack, char *out, size_t size)
{
    bool any = false;
    for (const char *from = stack, *to; *from; from = *to ? to + 1 : to) {
        to = from + strcspn(from, "|");
        if (to == from)
            continue;
        bool framework = is_of_framework(from, to);
        if (!any || !framework)
            print_frame(from, to, out, size);
        any = true;
        if (!framework)
            return true;
    }
    return any;
}

/* ---- sites ---- */

static int by_site(const void *a, const void *b)
{
    const ek__memory_block *x = *(const ek__memory_block *const *)a, *y = *(const ek__memory_block *const *)b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x > y) - (x < y);
}

static bool is_held(const ek__memory_block *b, int64_t peak_tick)
{
    return !b->stays && b->used_until != EK_TRACE_UNKNOWN && b->used_until <= peak_tick;
}

static bool is_leaked(const ek__memory_block *b, const ek_trace_tracker *tracker)
{
    return tracker->n_steps > 1 && b->start >= tracker->step[0].tick &&
           b->start < tracker->step[tracker->n_steps - 1].tick;
}

/* The blocks at[0, n) of one site. `held`: the largest one that is allocated without use; NULL. */
static ek_trace_tracker_site sum_up(const ek__memory_block *const *at, size_t n, const ek_trace_tracker *tracker,
                                    const ek__memory_block **held)
{
    ek_trace_tracker_site site = {.last_used_tick = EK_TRACE_UNKNOWN, .released_tick = EK_TRACE_UNKNOWN};
    *held = NULL;
    for (size_t i = 0; i < n; i++) {
        const ek__memory_block *b = at[i];
        if (b->end == EK__NEVER_FREED && !b->stays) {
            bool leaked = is_leaked(b, tracker);
            site.n_never_freed++;
            site.never_freed_bytes += b->bytes;
            site.n_leaked += leaked;
            site.leaked_bytes += leaked ? b->bytes : 0;
        }
        if (tracker->peak_tick == EK_TRACE_UNKNOWN || !ek__block_is_live(b, tracker->peak_tick))
            continue;
        site.n_live++;
        site.live_bytes += b->bytes;
        if (!is_held(b, tracker->peak_tick))
            continue;
        site.n_held++;
        site.held_bytes += b->bytes;
        *held = !*held || b->bytes > (*held)->bytes ? b : *held;
    }
    return site;
}

static int64_t weight_of(const ek_trace_tracker_site *s)
{
    int64_t most = s->live_bytes > s->held_bytes ? s->live_bytes : s->held_bytes;
    return most > s->never_freed_bytes ? most : s->never_freed_bytes;
}

static int by_weight(const void *a, const void *b)
{
    const ek_trace_tracker_site *x = a, *y = b;
    if (weight_of(x) != weight_of(y))
        return weight_of(x) > weight_of(y) ? -1 : 1;
    if (x->held_bytes != y->held_bytes)
        return x->held_bytes > y->held_bytes ? -1 : 1;
    int order = strcmp(x->place, y->place);
    return order != 0 ? order : strcmp(x->layer, y->layer);
}

/* Texts of the blocks' and tasks' tables are freed with the file. */
static bool keep_texts(ek__pool *pool, ek_trace_tracker_site *site)
{
    site->place = ek__pool_text(pool, site->place, strlen(site->place));
    site->layer = ek__pool_text(pool, site->layer, strlen(site->layer));
    bool fine = site->place && site->layer;
    if (site->last_user)
        fine = (site->last_user = ek__pool_text(pool, site->last_user, strlen(site->last_user))) && fine;
    return fine;
}

static bool keep_sites(ek_trace_tracker_site *site, size_t n, ek__pool *pool, ek_trace_tracker *tracker)
{
    if (n > 0)
        qsort(site, n, sizeof *site, by_weight);
    tracker->n_sites = n < EK_TRACE_MAX_SITES ? (int)n : EK_TRACE_MAX_SITES;
    tracker->site = ek__pool_alloc(pool, (size_t)tracker->n_sites, sizeof *site);
    bool fine = tracker->site != NULL;
    for (int i = 0; fine && i < tracker->n_sites; i++) {
        tracker->site[i] = site[i];
        fine = keep_texts(pool, &tracker->site[i]);
    }
    return fine;
}

static void add_up(const ek_trace_tracker_site *site, ek_trace_tracker *tracker)
{
    tracker->held_bytes += site->held_bytes;
    tracker->never_freed_other_bytes += site->never_freed_bytes;
    if (tracker->n_steps > 1)
        tracker->leaked_bytes += site->leaked_bytes;
}

static size_t make_sites(const ek__tracker_blocks *blocks, const ek__memory_block *const *at,
                         const ek__tracker_tasks *tasks, ek_trace_tracker *tracker, ek_trace_tracker_site *site)
{
    size_t n_sites = 0;
    tracker->leaked_bytes = tracker->n_steps > 1 ? 0 : EK_TRACE_UNKNOWN;
    for (size_t from = 0, to; from < blocks->n; from = to) {
        const ek__memory_block *held;
        for (to = from + 1; to < blocks->n && at[to]->place == at[from]->place && at[to]->layer == at[from]->layer;)
            to++;
        ek_trace_tracker_site one = sum_up(at + from, to - from, tracker, &held);
        if (weight_of(&one) == 0)
            continue;
        add_up(&one, tracker);
        one.place = ek__texts_at(&blocks->places, (uint32_t)at[from]->place);
        one.layer = ek__texts_at(&blocks->layers, (uint32_t)at[from]->layer);
        if (held) {
            one.last_used_tick = held->last_user;
            one.released_tick = held->end == EK__NEVER_FREED ? EK_TRACE_UNKNOWN : held->end;
            one.last_user = ek__tracker_tasks_at(tasks, held->last_user);
        }
        site[n_sites++] = one;
    }
    return n_sites;
}

bool ek__memory_sites(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, ek__pool *pool,
                      ek_trace_tracker *tracker)
{
    const ek__memory_block **at = ek__alloc(blocks->n, sizeof *at);
    ek_trace_tracker_site *site = ek__alloc(blocks->n, sizeof *site);
    bool fine = at && site;
    if (fine) {
        for (size_t i = 0; i < blocks->n; i++)
            at[i] = &blocks->block[i];
        if (blocks->n > 1)
            qsort(at, blocks->n, sizeof *at, by_site);
        size_t n = make_sites(blocks, at, tasks, tracker, site);
        fine = keep_sites(site, n, pool, tracker) &&
               ek__memory_released_peak(blocks->block, blocks->n, &tracker->released_peak_bytes);
    }
    free(at);
    free(site);
    return fine;
}
