/* Fuzzes memory snapshots, pickled or as JSON: whatever the bytes, the maps made from them are consistent. */
#include <assert.h>
#include <string.h>

#include "base/pool.h"
#include "fuzz.h"
#include "trace/tables/files.h"

static void check_room(const ek_trace_memory_room *room)
{
    assert(room->active_bytes >= 0 && room->n_live >= 0);
    assert(room->free_bytes >= 0 && room->largest_free_bytes <= room->free_bytes && room->n_free >= 0);
    assert((room->free_bytes > 0) == (room->n_free > 0));
}

static void check_map(const ek_trace_block_map *m)
{
    int64_t n = 0, live = 0;
    assert(m->name && m->begin <= m->end && m->n_blocks == m->n_all_blocks && m->height >= 0);
    for (int i = 0; i < m->n_blocks; i++) {
        const ek_trace_block *b = &m->block[i];
        assert(b->bytes >= 0 && b->site >= 0 && b->site < m->n_sites && b->stack < m->n_stacks);
        assert(b->place >= 0 && b->place + b->bytes <= m->height);
        assert(b->end == EK_TRACE_UNKNOWN || b->start <= b->end);
    }
    for (int i = 0; i < m->n_segments; i++)
        assert(m->segment[i].place >= 0 && m->segment[i].place + m->segment[i].bytes <= m->height);
    for (int i = 0; i < m->n_sites; i++) {
        n += m->site[i].n;
        live += m->site[i].live_bytes;
        assert(m->site[i].name && m->site[i].n > 0);
    }
    assert(n == m->n_blocks && live == m->peak.active_bytes && m->last.active_bytes <= m->peak.active_bytes);
    check_room(&m->peak);
    check_room(&m->last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek_trace_source source = {0};
    ek_trace_rank rank = {.rank = EK_TRACE_NO_RANK, .pool = ek__pool_new()};
    assert(rank.pool);
    const ek__table_in in = {.path = fuzz_file(data, size), .source = &source, .rank = &rank};
    ek_status status = ek__table_memory_snapshot(&in, &err);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0] && err.file[0]));
    for (int i = 0; i < rank.memory.n_maps; i++)
        check_map(&rank.memory.map[i]);
    ek__pool_free(rank.pool);
    return 0;
}
