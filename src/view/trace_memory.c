/* Writes the memory of a trace: maps of allocations, peaks by component, allocations alive at the tracker's peak, the
 * largest allocations and those that were never released. The page has curves under its timeline too; here the largest
 * of each group of points are used where there are many. */
#include <math.h>
#include <stdio.h>

#include "view/trace_sections.h"

enum { MAX_POINTS = 20000 };

static bool is_empty(const ek_trace_memory *m)
{
    return m->n_peaks == 0 && m->n_largest == 0 && m->n_modules == 0 && m->tracker.n_rows == 0 && m->n_maps == 0;
}

/* ---- curves ---- */

static double value_of(const ek_trace_memory_point *point, bool reserved)
{
    return reserved ? point->reserved_mb : point->allocated_mb;
}

/* A component's points: the largest of each group. */
static void write_line(const ek_trace_run *run, const ek_trace_rank *rank, int first, int end, int step, bool reserved,
                       int64_t origin, ek__section *x)
{
    const ek_trace_memory *m = &rank->memory;
    char name[256], key[300];
    snprintf(name, sizeof name, "%s %s", m->peak[m->point[first].component].component,
             reserved ? "reserved" : "allocated");
    ek__view_key(run, rank, name, key, sizeof key);
    ek__polyline_begin(x, key);
    for (int k = first; k < end; k += step) {
        int most = k;
        for (int i = k; i < k + step && i < end; i++)
            if (!(value_of(&m->point[i], reserved) <= value_of(&m->point[most], reserved)) &&
                isfinite(value_of(&m->point[i], reserved)))
                most = i;
        ek__polyline_point(x, (double)ek__sum(m->point[most].time, -origin), value_of(&m->point[most], reserved));
    }
    ek__polyline_end(x);
}

static bool has_column(const ek_trace_memory *m, int first, int end, bool reserved)
{
    for (int i = first; i < end; i++)
        if (isfinite(value_of(&m->point[i], reserved)))
            return true;
    return false;
}

/* The time of the first point of all: the start of the axis of every curve. */
static int64_t first_time(const ek_trace_run *run)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        for (int k = 0; k < run->rank[i].memory.n_points; k++)
            if (run->rank[i].memory.point[k].time < first)
                first = run->rank[i].memory.point[k].time;
    return first;
}

static void write_lines(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        n += 2 * run->rank[i].memory.n_points;
    if (n == 0)
        return;
    int64_t origin = first_time(run);
    int step = (n + MAX_POINTS - 1) / MAX_POINTS;
    ek__steps_begin(x, "curve", "Memory over time", "Time since the first point of all curves", EK__UNIT_NS, "Memory",
                    EK__UNIT_MB);
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        const ek_trace_memory *m = &run->rank[i].memory;
        for (int k = 0, next; k < m->n_points; k = next) {
            for (next = k + 1; next < m->n_points && m->point[next].component == m->point[k].component;)
                next++;
            for (int reserved = 0; reserved < 2; reserved++)
                if (has_column(m, k, next, reserved))
                    write_line(run, &run->rank[i], k, next, step, reserved, origin, x);
        }
    }
    ek__lines_end(x, NAN);
}

/* ---- maps of allocations ---- */

/* All ranks together have at most as many maps as a run stores. */
static bool write_maps(const ek_trace_run *run, ek__section *x)
{
    bool good = true;
    int n = 0;
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS && good; i++) {
        const ek_trace_rank *rank = &run->rank[i];
        for (int k = 0; k < rank->memory.n_maps && good; k++) {
            char id[32], name[EK__VIEW_KEY_SIZE];
            snprintf(id, sizeof id, "map-%d", n++);
            ek__view_key(run, rank, rank->memory.map[k].name, name, sizeof name);
            good = ek__blocks_map(x, id, name, &rank->memory.map[k]);
        }
    }
    return good;
}

ek_status ek__view_trace_memory(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "memory");
    bool any = false, held = false;
    for (int i = 0; i < trace->n_ranks; i++)
        any = any || !is_empty(&trace->rank[i].memory);
    if (!any)
        ek__section_note(&x, "These files contain no memory records. Record memory with profile_memory=True, and give "
                             "the folder with memory_record.csv and operator_memory.csv; for MindSpore also "
                             "memory_block.csv; for PyTorch a memory snapshot.");
    for (int i = 0; i < trace->n_ranks; i++)
        held = held || trace->rank[i].memory.n_largest > 0;
    if (held && run->index)
        ek__section_note(&x, "Of single allocations only the largest ones and those never released are known: the live "
                             "allocations at the pointer are less than the curves.");
    if (any)
        ek__view_note_rest(&x, trace->n_ranks - EK__VIEW_MAX_RANKS, "ranks' curves", "evenkeel trace has their peaks");
    bool good = write_maps(trace, &x);
    write_lines(trace, &x);
    ek__view_tables(run, "memory", NULL, &x);
    ek__section_end(&x);
    return good ? EK_OK : ek__no_memory(err);
}
