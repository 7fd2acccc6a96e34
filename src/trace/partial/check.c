/* Checks the indices in a rank that was read from bytes: bytes can be valid and make no sense, when they were
 * forged. */
#include "trace/partial/check.h"

#include <stddef.h>

/* -1 where there is none. */
static bool is_place(int64_t index, int64_t n)
{
    return index >= -1 && index < n;
}

static bool layers_are_whole(const ek_trace_layers *l)
{
    for (size_t i = 0; i < l->n_members; i++)
        if (l->member[i].layer < 0 || l->member[i].layer >= l->n)
            return false;
    for (int i = 0; i < l->n; i++)
        if (!l->layer[i].name || !l->layer[i].kind)
            return false;
    return l->n == 0 || l->source;
}

static bool operators_are_whole(const ek_trace_operators *o, const ek_trace_measured *m)
{
    for (int i = 0; i < o->n; i++)
        if (!o->op[i].name || !o->op[i].type || !o->op[i].family)
            return false;
    for (int i = 0; i < o->n_table; i++)
        if (!o->table[i].name || !o->table[i].type)
            return false;
    for (int i = 0; i < o->n_cores; i++)
        if (!o->core[i].name)
            return false;
    for (int i = 0; i < o->n_types; i++)
        if (!o->type[i].name)
            return false;
    for (int i = 0; i < o->n_outliers; i++)
        if (!o->outlier[i].name)
            return false;
    for (size_t i = 0; i < m->n_all; i++)
        if (m->execution[i].op < 0 || m->execution[i].op >= m->n)
            return false;
    for (int i = 0; i < m->n; i++) {
        const ek_trace_shaped *s = &m->op[i];
        if (!s->name || !s->kernel || !s->shapes || !s->types || !s->layout || !s->values || !s->out_types)
            return false;
    }
    return true;
}

static bool links_are_whole(const ek_trace_communication *c)
{
    for (int i = 0; i < c->n_links; i++)
        if (!c->link[i].link || !c->link[i].transport)
            return false;
    for (int i = 0; i < c->n_moves; i++)
        if (c->move[i].link < 0 || c->move[i].link >= c->n_links || !c->move[i].step || !c->move[i].operation)
            return false;
    for (int i = 0; i < c->n_transports; i++)
        if (!c->transport[i].name || !is_place(c->transport[i].slowest, c->n_links) ||
            !is_place(c->transport[i].fastest, c->n_links))
            return false;
    return true;
}

/* The last rank at a collective is found by the comparison of ranks: none of these has other ranks yet. */
static bool communication_is_whole(const ek_trace_rank *rank)
{
    const ek_trace_communication *c = &rank->communication;
    for (int i = 0; i < c->n_collectives; i++) {
        const ek_trace_collective *x = &c->collective[i];
        if (!x->name || !is_place(x->step, rank->n_steps) || !is_place(x->sum, c->n_sums) || x->last != -1 ||
            x->last_call != -1)
            return false;
    }
    for (int i = 0; i < c->n_sums; i++)
        if (!c->sum[i].key)
            return false;
    for (int i = 0; i < c->n_comm_sums; i++)
        if (!c->comm_sum[i].step || !c->comm_sum[i].key)
            return false;
    return links_are_whole(c);
}

static bool map_is_whole(const ek_trace_block_map *map)
{
    const ek_trace_block *const lists[] = {map->block, map->largest};
    const int n[] = {map->n_blocks, map->n_largest};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n[k]; i++)
            if (lists[k][i].site < 0 || lists[k][i].site >= map->n_sites || !is_place(lists[k][i].stack, map->n_stacks))
                return false;
    for (int i = 0; i < map->n_sites; i++)
        if (!map->site[i].name)
            return false;
    for (int i = 0; i < map->n_stacks; i++)
        if (!map->stack[i])
            return false;
    return map->name;
}

static bool tracker_is_whole(const ek_trace_tracker *t)
{
    for (int i = 0; i < t->n_sites; i++)
        if (!t->site[i].place || !t->site[i].layer)
            return false;
    for (int i = 0; i < t->n_live; i++)
        if (!t->live[i].type)
            return false;
    for (int i = 0; i < t->n_live_layers; i++)
        if (!t->live_layer[i].type)
            return false;
    for (int i = 0; i < t->n_largest; i++)
        if (!t->largest[i].name)
            return false;
    return true;
}

static bool memory_is_whole(const ek_trace_memory *m)
{
    for (int i = 0; i < m->n_points; i++)
        if (m->point[i].component < 0 || m->point[i].component >= m->n_peaks)
            return false;
    for (int i = 0; i < m->n_peaks; i++)
        if (!m->peak[i].component)
            return false;
    for (int i = 0; i < m->n_modules; i++)
        if (!m->module[i].component)
            return false;
    for (int i = 0; i < m->n_largest; i++)
        if (!m->largest[i].name)
            return false;
    for (int i = 0; i < m->n_kept; i++)
        if (!m->kept[i].name)
            return false;
    for (int i = 0; i < m->n_maps; i++)
        if (!map_is_whole(&m->map[i]))
            return false;
    return tracker_is_whole(&m->tracker);
}

static bool work_is_whole(const ek_trace_rank *rank)
{
    const ek_trace_work *w = &rank->work;
    for (size_t i = 0; i < w->n; i++)
        if (!is_place(w->piece[i].collective, rank->communication.n_collectives) ||
            !is_place(w->piece[i].step, rank->n_steps) || w->piece[i].activity >= EK_TRACE_DATA)
            return false;
    return true;
}

static bool host_is_whole(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->idle.n_streams; i++)
        if (!rank->idle.stream[i].pid || !rank->idle.stream[i].tid)
            return false;
    for (int i = 0; i < rank->dispatch.n_gaps; i++)
        if (!rank->dispatch.gap[i].cause)
            return false;
    for (int i = 0; i < rank->data.n_iterators; i++)
        if (!rank->data.iterator[i].name)
            return false;
    for (int i = 0; i < rank->data.n_ops; i++)
        if (!rank->data.op[i].type)
            return false;
    return rank->dispatch.cause;
}

bool ek__rank_is_whole(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_sources; i++)
        if (!rank->source[i].path || !rank->source[i].type)
            return false;
    for (int i = 0; i < rank->n_steps; i++)
        if (!rank->step[i].name)
            return false;
    for (int i = 0; i < rank->n_notes; i++)
        if (!rank->note[i])
            return false;
    for (int i = 0; i < rank->n_marks; i++)
        if (!rank->mark[i].name || !rank->mark[i].domain)
            return false;
    for (int i = 0; i < rank->counts.n_processes; i++)
        if (!rank->counts.process[i].pid)
            return false;
    for (int i = 0; i < rank->counts.n_categories; i++)
        if (!rank->counts.category[i].name)
            return false;
    return host_is_whole(rank) && layers_are_whole(&rank->layers) &&
           operators_are_whole(&rank->operators, &rank->measured) && communication_is_whole(rank) &&
           memory_is_whole(&rank->memory) && work_is_whole(rank);
}
