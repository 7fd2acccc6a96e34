/* Writes maps of allocations in the form that the page draws: sites and stacks as lists, blocks and segments as
 * columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "view/view.h"

/* How each role is drawn: colours and words of types that other pictures use for it. */
static const int role_type[EK_N_BLOCK_ROLES] = {
    [EK_BLOCK_OTHER] = EK_VIEW_OTHER,
    [EK_BLOCK_FORWARD] = EK_VIEW_FORWARD,
    [EK_BLOCK_BACKWARD] = EK_VIEW_BACKWARD,
    [EK_BLOCK_RECOMPUTE] = EK_VIEW_RECOMPUTE,
    [EK_BLOCK_OPTIMIZER] = EK_VIEW_OPTIMIZER,
    [EK_BLOCK_PARAMETERS] = EK_VIEW_PARAMETERS,
    [EK_BLOCK_COMMUNICATION] = EK_VIEW_COMMUNICATION,
};

static double after(int64_t time, int64_t begin)
{
    return time == EK_TRACE_UNKNOWN ? NAN : (double)(time - begin);
}

static void write_sites(const ek_trace_block_map *map, ek__stream *s)
{
    ek__stream_list(s, "sites", false);
    for (int i = 0; i < map->n_sites; i++) {
        ek__stream_list(s, NULL, false);
        ek__stream_text(s, NULL, map->site[i].name);
        ek__stream_int(s, NULL, role_type[map->site[i].role]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Frames once each, stacks as their numbers. */
static bool write_stacks(const ek_trace_block_map *map, ek__stream *s)
{
    ek__texts frames = {0};
    bool good = true;
    ek__stream_list(s, "stacks", false);
    for (int i = 0; i < map->n_stacks; i++) {
        ek__stream_list(s, NULL, false);
        for (const char *at = map->stack[i]; *at; at += *at == '\n') {
            size_t size = strcspn(at, "\n");
            uint32_t number = ek__texts_intern(&frames, at, size);
            good = good && number != UINT32_MAX;
            ek__stream_int(s, NULL, good ? number : 0);
            at += size;
        }
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "frames", false);
    for (uint32_t i = 0; good && i < frames.n; i++)
        ek__stream_text(s, NULL, ek__texts_at(&frames, i));
    ek__stream_end(s);
    ek__texts_clear(&frames);
    return good;
}

enum { N_BLOCK_REALS = 4, N_SEGMENT_REALS = 4 };

static double block_real(const ek_trace_block_map *map, const ek_trace_block *b, int which)
{
    const double value[N_BLOCK_REALS] = {after(b->start, map->begin), after(b->end, map->begin), (double)b->bytes,
                                         (double)b->place};
    return value[which];
}

static double segment_real(const ek_trace_block_map *map, const ek_trace_memory_segment *g, int which)
{
    const double value[N_SEGMENT_REALS] = {after(g->start, map->begin), after(g->end, map->begin), (double)g->bytes,
                                           (double)g->place};
    return value[which];
}

static bool write_columns(const ek_trace_block_map *map, ek__stream *s)
{
    size_t n = (size_t)map->n_blocks, n_segments = (size_t)map->n_segments;
    double *real = ek__alloc(n + n_segments + 1, sizeof *real);
    uint32_t *number = ek__alloc(n + 1, sizeof *number);
    ek__packed packed = {0};
    bool good = real && number;
    for (int which = 0; good && which < N_BLOCK_REALS; which++) {
        for (size_t i = 0; i < n; i++)
            real[i] = block_real(map, &map->block[i], which);
        ek__packed_reals(&packed, real, n);
    }
    for (int which = 0; good && which < N_SEGMENT_REALS; which++) {
        for (size_t i = 0; i < n_segments; i++)
            real[i] = segment_real(map, &map->segment[i], which);
        ek__packed_reals(&packed, real, n_segments);
    }
    for (int stacks = 0; good && stacks < 2; stacks++) {
        for (size_t i = 0; i < n; i++)
            number[i] = (uint32_t)(stacks ? map->block[i].stack + 1 : map->block[i].site);
        ek__packed_numbers(&packed, number, n);
    }
    good = good && ek__packed_write(&packed, s, "data");
    ek__packed_clear(&packed);
    free(real);
    free(number);
    return good;
}

bool ek__blocks_map(ek__section *x, const char *id, const char *name, const ek_trace_block_map *map)
{
    ek__stream *s = x->s;
    ek__blocks_begin(x, id, name);
    ek__stream_bool(s, "addresses", map->has_addresses);
    ek__stream_bool(s, "ticked", map->is_ticked);
    ek__stream_int(s, "length", map->end - map->begin);
    ek__stream_int(s, "height", map->height);
    ek__stream_int(s, "peak_at", map->peak.time - map->begin);
    ek__stream_int(s, "peak", map->peak.active_bytes);
    ek__stream_int(s, "n_all", map->n_all_blocks);
    ek__stream_int(s, "n", map->n_blocks);
    ek__stream_int(s, "n_segments", map->n_segments);
    write_sites(map, s);
    bool good = write_stacks(map, s) && write_columns(map, s);
    ek__blocks_end(x);
    return good;
}
