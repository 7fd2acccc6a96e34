/* Memory of a trace: peaks by component, what is alive at the tracker's peak, the largest allocations and those that
 * were never released. Curves stand under the
 * timeline of a page too; here the largest of every so many points are kept where there are many. */
#include <math.h>
#include <stdio.h>

#include "view/trace_sections.h"

enum { MAX_POINTS = 20000 };

static bool is_empty(const ek_trace_memory *m)
{
    return m->n_peaks == 0 && m->n_largest == 0 && m->n_modules == 0 && m->tracker.n_rows == 0;
}

/* ---- peaks ---- */

static const ek__view_column peak_column[] = {
    {"component", "Component", EK__UNIT_TEXT, false},          {"rank", "Rank", EK__UNIT_TEXT, false},
    {"allocated", "Allocated", EK__UNIT_MB | EK__LESS, false}, {"reserved", "Reserved", EK__UNIT_MB | EK__LESS, false},
    {"active", "Active", EK__UNIT_MB | EK__LESS, false},
};

static void put_peaks(const ek_trace_run *run, const char *id, const char *title, bool modules, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += (modules ? run->rank[i].memory.n_modules : run->rank[i].memory.n_peaks) > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, id, title, peak_column, sizeof peak_column / sizeof *peak_column);
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_memory *m = &run->rank[i].memory;
        const ek_trace_memory_peak *peak = modules ? m->module : m->peak;
        for (int k = 0; k < (modules ? m->n_modules : m->n_peaks) && n++ < EK__VIEW_MAX_ROWS; k++) {
            ek__row_begin(x);
            ek__cell_text(x, peak[k].component);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_real(x, peak[k].allocated_mb);
            ek__cell_real(x, peak[k].reserved_mb);
            ek__cell_real(x, peak[k].active_mb);
            ek__row_end(x);
        }
    }
    ek__table_end(x, -1, false);
}

/* ---- allocations ---- */

static const ek__view_column allocation_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false}, {"name", "Allocated by", EK__UNIT_TEXT, true},
    {"mb", "Size", EK__UNIT_MB, false},      {"begin", "From", EK__UNIT_NS, false},
    {"end", "To", EK__UNIT_NS, false},       {"lasts", "Held for", EK__UNIT_NS, false},
};

static void put_allocation(const ek_view_run *run, const ek_trace_rank *rank, int number,
                           const ek_trace_allocation *one, ek__section *x)
{
    char text[16], key[64];
    double begin = NAN, end = NAN;
    bool released = one->end != EK_TRACE_UNKNOWN && one->start != EK_TRACE_UNKNOWN;
    snprintf(text, sizeof text, "%d", number);
    ek__view_key(run->trace, rank, text, key, sizeof key);
    ek__row_begin(x);
    ek__cell_text(x, key);
    ek__cell_text(x, one->name);
    ek__cell_real(x, one->size_kb / 1024);
    ek__cell_real(x, ek__view_trace_at(run, rank, one->start, &begin) ? begin : NAN);
    ek__cell_real(x, ek__view_trace_at(run, rank, one->end, &end) ? end : NAN);
    ek__cell_int(x, released ? ek__sum(one->end, -one->start) : INT64_MIN);
    ek__row_end(x);
}

static void put_allocations(const ek_view_run *run, const char *id, const char *title, bool kept, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    int n = 0;
    for (int i = 0; i < trace->n_ranks; i++)
        n += (kept ? trace->rank[i].memory.n_kept : trace->rank[i].memory.n_largest) > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, id, title, allocation_column, sizeof allocation_column / sizeof *allocation_column);
    for (int i = 0; i < trace->n_ranks; i++) {
        const ek_trace_memory *m = &trace->rank[i].memory;
        for (int k = 0; k < (kept ? m->n_kept : m->n_largest) && n++ < EK__VIEW_MAX_ROWS; k++)
            put_allocation(run, &trace->rank[i], k + 1, kept ? &m->kept[k] : &m->largest[k], x);
    }
    ek__table_end(x, 2, true);
}

/* ---- the memory tracker ---- */

static const ek__view_column live_column[] = {
    {"what", "What", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"mb", "Alive at the peak", EK__UNIT_MB, false},
};

static void put_live(const ek_trace_run *run, const char *id, const char *title, bool layers, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += (layers ? run->rank[i].memory.tracker.n_live_layers : run->rank[i].memory.tracker.n_live) > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, id, title, live_column, sizeof live_column / sizeof *live_column);
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_tracker *tracker = &run->rank[i].memory.tracker;
        const ek_trace_live *list = layers ? tracker->live_layer : tracker->live;
        for (int k = 0; k < (layers ? tracker->n_live_layers : tracker->n_live) && n++ < EK__VIEW_MAX_ROWS; k++) {
            ek__row_begin(x);
            ek__cell_text(x, list[k].type);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_real(x, (double)list[k].bytes / 1048576);
            ek__row_end(x);
        }
    }
    ek__table_end(x, 2, true);
}

static const ek__view_column site_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false},
    {"place", "Made by", EK__UNIT_TEXT, false},
    {"layer", "Layer", EK__UNIT_TEXT, false},
    {"live", "Alive at the peak", EK__UNIT_MB, false},
    {"held", "Held after its last use", EK__UNIT_MB | EK__LESS, false},
    {"user", "Last user of the largest held", EK__UNIT_TEXT, false},
    {"never", "Never freed", EK__UNIT_MB | EK__LESS, false},
};

static void put_sites(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].memory.tracker.n_sites > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "tracker-sites", "Alive at the tracker's peak, by place in the program", site_column,
                    sizeof site_column / sizeof *site_column);
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_tracker *tracker = &run->rank[i].memory.tracker;
        for (int k = 0; k < tracker->n_sites && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_tracker_site *site = &tracker->site[k];
            char text[16], key[64];
            snprintf(text, sizeof text, "%d", k + 1);
            ek__view_key(run, &run->rank[i], text, key, sizeof key);
            ek__row_begin(x);
            ek__cell_text(x, key);
            ek__cell_text(x, site->place);
            ek__cell_text(x, site->layer);
            ek__cell_real(x, (double)site->live_bytes / 1048576);
            ek__cell_real(x, (double)site->held_bytes / 1048576);
            ek__cell_text(x, site->last_user ? site->last_user : "");
            ek__cell_real(x, (double)site->never_freed_bytes / 1048576);
            ek__row_end(x);
        }
    }
    ek__table_end(x, 3, true);
}

static const ek__view_column block_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false},   {"name", "Block", EK__UNIT_TEXT, false},
    {"mb", "Size", EK__UNIT_MB, false},        {"begin", "From tick", EK__UNIT_COUNT, false},
    {"end", "To tick", EK__UNIT_COUNT, false},
};

static void put_blocks(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].memory.tracker.n_largest > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "tracker-largest", "Largest blocks alive at the tracker's peak", block_column,
                    sizeof block_column / sizeof *block_column);
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_tracker *tracker = &run->rank[i].memory.tracker;
        for (int k = 0; k < tracker->n_largest && n++ < EK__VIEW_MAX_ROWS; k++) {
            char text[16], key[64];
            snprintf(text, sizeof text, "%d", k + 1);
            ek__view_key(run, &run->rank[i], text, key, sizeof key);
            ek__row_begin(x);
            ek__cell_text(x, key);
            ek__cell_text(x, tracker->largest[k].name);
            ek__cell_real(x, tracker->largest[k].size_kb / 1024);
            ek__cell_int(x, tracker->largest[k].start);
            ek__cell_int(x, tracker->largest[k].end);
            ek__row_end(x);
        }
    }
    ek__table_end(x, 2, true);
}

static const ek__view_column tracker_column[] = {
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"peak", "Peak", EK__UNIT_MB, false},
    {"tick", "At tick", EK__UNIT_COUNT, false},
    {"actual", "Largest peak that it tells", EK__UNIT_MB | EK__LESS, false},
    {"never", "Never freed", EK__UNIT_MB | EK__LESS, false},
    {"dead", "Held after its last use, at the peak", EK__UNIT_MB | EK__LESS, false},
    {"rows", "Blocks", EK__UNIT_COUNT, false},
};

static void put_tracker(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].memory.tracker.n_rows > 0;
    if (n == 0)
        return;
    ek__table_begin(x, "tracker", "MindSpore's memory tracker", tracker_column,
                    sizeof tracker_column / sizeof *tracker_column);
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_tracker *t = &run->rank[i].memory.tracker;
        char label[64];
        if (t->n_rows == 0)
            continue;
        ek__view_rank_title(run, &run->rank[i], label, sizeof label);
        ek__row_begin(x);
        ek__cell_text(x, label);
        ek__cell_real(x, (double)t->peak_bytes / 1048576);
        ek__cell_int(x, t->peak_tick);
        ek__cell_real(x, (double)t->max_actual_peak_bytes / 1048576);
        ek__cell_real(x, (double)t->never_freed_bytes / 1048576);
        ek__cell_real(x, (double)t->held_bytes / 1048576);
        ek__cell_int(x, t->n_rows);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

/* ---- curves ---- */

static double value_of(const ek_trace_memory_point *point, bool reserved)
{
    return reserved ? point->reserved_mb : point->allocated_mb;
}

/* A component's points: the largest of every so many. */
static void put_line(const ek_trace_run *run, const ek_trace_rank *rank, int first, int end, int step, bool reserved,
                     ek__section *x)
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
        ek__polyline_point(x, (double)ek__sum(m->point[most].time, -m->point[first].time),
                           value_of(&m->point[most], reserved));
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

static void put_lines(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        n += 2 * run->rank[i].memory.n_points;
    if (n == 0)
        return;
    int step = (n + MAX_POINTS - 1) / MAX_POINTS;
    ek__lines_begin(x, "curve", "Memory over time, from each curve's first point", "Time", EK__UNIT_NS, "Memory",
                    EK__UNIT_MB);
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        const ek_trace_memory *m = &run->rank[i].memory;
        for (int k = 0, next; k < m->n_points; k = next) {
            for (next = k + 1; next < m->n_points && m->point[next].component == m->point[k].component;)
                next++;
            for (int reserved = 0; reserved < 2; reserved++)
                if (has_column(m, k, next, reserved))
                    put_line(run, &run->rank[i], k, next, step, reserved, x);
        }
    }
    ek__lines_end(x, NAN);
}

void ek__view_trace_memory(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "memory");
    bool any = false, held = false;
    for (int i = 0; i < trace->n_ranks; i++)
        any = any || !is_empty(&trace->rank[i].memory);
    if (!any)
        ek__section_note(&x, "These files do not tell memory. Record it with profile_memory=True, and give the folder "
                             "with memory_record.csv and operator_memory.csv; of MindSpore memory_block.csv too.");
    for (int i = 0; i < trace->n_ranks; i++)
        held = held || trace->rank[i].memory.n_largest > 0;
    if (held && run->index)
        ek__section_note(&x, "Of single allocations the files' largest ones and those never released are known here: "
                             "what is alive at the pointer is less than the curves.");
    if (any)
        ek__view_note_rest(&x, trace->n_ranks - EK__VIEW_MAX_RANKS, "ranks' curves", "evenkeel trace has their peaks");
    put_lines(trace, &x);
    put_peaks(trace, "peaks", "Peaks by component", false, &x);
    put_allocations(run, "largest", "Largest allocations", false, &x);
    put_allocations(run, "kept", "Never released", true, &x);
    put_tracker(trace, &x);
    put_live(trace, "live", "Alive at the tracker's peak, by type", false, &x);
    put_live(trace, "live-layers", "Alive at the tracker's peak, by layer", true, &x);
    put_sites(trace, &x);
    put_blocks(trace, &x);
    put_peaks(trace, "modules", "Peaks by module of the driver", true, &x);
    ek__section_end(&x);
}
