/* Finds the places of a rank in the timeline: the index has a group for every trace file, found by the path of the
 * rank's event file, or by the rank's number. */
#include "view/trace_sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "index/index.h"

enum { MAX_POINTS = 2048 }; /* of a curve; src/trace/events/memory_curve.h thins to fewer */

void ek__view_cell_rank(ek__section *x, const ek_trace_run *run, const ek_trace_rank *rank)
{
    char label[64];
    ek__view_rank_name(run, rank, label, sizeof label);
    ek__cell_text(x, label);
}

void ek__view_cell_from(ek__section *x, int64_t value)
{
    ek__cell_int(x, value < 0 ? INT64_MIN : value);
}

void ek__view_note_rest(ek__section *x, int64_t left_out, const char *of_what, const char *where)
{
    char text[256];
    if (left_out <= 0)
        return;
    snprintf(text, sizeof text, "%" PRId64 " more %s are left out of the page; %s", left_out, of_what, where);
    ek__section_note(x, text);
}

/* ---- the timeline ---- */

static bool reads(const ek_trace_rank *rank, const char *path)
{
    for (int i = 0; i < rank->n_sources; i++)
        if (strcmp(rank->source[i].path, path) == 0)
            return true;
    return false;
}

int ek__view_trace_group(const ek_view_run *run, const ek_trace_rank *rank)
{
    int n = run->index ? ek_trace_index_n_files(run->index) : 0, numbered = -1;
    for (int i = 0; i < n; i++) {
        ek__index_file_info file = ek__index_describe_file(run->index, i);
        if (file.path && reads(rank, file.path))
            return i;
        if (numbered < 0 && rank->rank >= 0 && file.rank == rank->rank)
            numbered = i;
    }
    return numbered;
}

static bool at_of(const ek_view_run *run, int group, int64_t origin, int64_t time, double *at)
{
    if (group < 0 || time == EK_TRACE_UNKNOWN)
        return false;
    *at = (double)ek__sum(ek__sum(time, ek__index_describe_file(run->index, group).shift), -origin);
    return true;
}

bool ek__view_trace_at(const ek_view_run *run, const ek_trace_rank *rank, int64_t time, double *at)
{
    int group = ek__view_trace_group(run, rank);
    return group >= 0 && at_of(run, group, ek__index_origin(run->index), time, at);
}

/* The place of a step: the device's window, else the host's mark. */
static bool step_window(const ek_view_run *run, int group, int64_t origin, const ek_trace_step *step, double *begin,
                        double *end)
{
    if (step->start != EK_TRACE_UNKNOWN && step->end != EK_TRACE_UNKNOWN && step->end > step->start)
        return at_of(run, group, origin, step->start, begin) && at_of(run, group, origin, step->end, end);
    if (step->host_start == EK_TRACE_UNKNOWN || step->host_step == EK_TRACE_UNKNOWN || step->host_step <= 0)
        return false;
    return at_of(run, group, origin, step->host_start, begin) &&
           at_of(run, group, origin, ek__sum(step->host_start, step->host_step), end);
}

/* The place of a location, as numbers of the timeline; NAN where a time is not known. False: nowhere. */
static bool find_location(const ek_view_run *run, const ek__location *at, int group, ek__view_place *out)
{
    if (group < 0)
        return false;
    int64_t origin = ek__index_origin(run->index);
    *out = (ek__view_place){group, NAN, NAN, at->name};
    if (at_of(run, group, origin, at->start, &out->begin)) {
        if (!at_of(run, group, origin, at->end, &out->end) || out->end < out->begin)
            out->end = out->begin;
    } else if (at->step) {
        step_window(run, group, origin, at->step, &out->begin, &out->end);
    }
    if (!isfinite(out->begin) || !isfinite(out->end))
        out->begin = out->end = NAN;
    return true;
}

void ek__view_put_location(const ek_view_run *run, const ek__location *at, int group, ek__section *x)
{
    ek__view_place place;
    if (find_location(run, at, group, &place))
        ek__table_place(x, &place);
    else
        ek__table_place(x, NULL);
}

void ek__view_put_window(const ek_view_run *run, int rank, const char *step, ek__stream *s)
{
    const ek_trace_rank *of = ek__trace_find_rank(run->trace, rank);
    const ek__location at = {of, ek__trace_find_step(of, step), EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, NULL};
    ek__view_place place = {-1, NAN, NAN, NULL};
    find_location(run, &at, of && run->index ? ek__view_trace_group(run, of) : -1, &place);
    ek__stream_real(s, "begin", place.begin);
    ek__stream_real(s, "end", place.end);
    ek__stream_from(s, "group", place.group, 0);
}

void ek__view_trace_steps(const ek_view_run *run, int64_t origin, ek__view_timeline *t)
{
    for (int i = 0; i < run->trace->n_ranks; i++) {
        const ek_trace_rank *rank = &run->trace->rank[i];
        int group = ek__view_trace_group(run, rank);
        double begin, end;
        for (int k = 0; k < rank->n_steps && group >= 0; k++)
            if (!rank->step[k].average && step_window(run, group, origin, &rank->step[k], &begin, &end))
                ek__timeline_step(t, rank->step[k].name, group, begin, end);
    }
    for (int i = 0; i < run->trace->path.n_segments; i++) {
        const ek_trace_segment *s = &run->trace->path.segment[i];
        int group = ek__view_trace_group(run, &run->trace->rank[s->at]);
        double begin, end;
        if (group >= 0 && at_of(run, group, origin, s->start, &begin) && at_of(run, group, origin, s->end, &end))
            ek__timeline_path(t, group, begin, end);
    }
}

/* ---- memory ---- */

/* A curve of one component and column; points of a component are adjacent, in order of time. */
static void add_curve(const ek_view_run *run, int group, int64_t origin, const ek_trace_memory *memory, int first,
                      int n, bool reserved, ek__view_timeline *t)
{
    char name[256];
    double time[MAX_POINTS], value[MAX_POINTS];
    size_t used = 0;
    for (int i = first; i < first + n && used < MAX_POINTS; i++) {
        double mb = reserved ? memory->point[i].reserved_mb : memory->point[i].allocated_mb;
        if (isfinite(mb) && at_of(run, group, origin, memory->point[i].time, &time[used]))
            value[used++] = mb;
    }
    snprintf(name, sizeof name, "%s %s", memory->peak[memory->point[first].component].component,
             reserved ? "reserved" : "allocated");
    if (used > 0)
        ek__timeline_curve(t, name, group, "MB", NAN, true, time, value, used);
}

static void add_rank_curves(const ek_view_run *run, int group, int64_t origin, const ek_trace_memory *memory,
                            ek__view_timeline *t)
{
    for (int i = 0, next; i < memory->n_points; i = next) {
        for (next = i + 1; next < memory->n_points && memory->point[next].component == memory->point[i].component;)
            next++;
        add_curve(run, group, origin, memory, i, next - i, false, t);
        add_curve(run, group, origin, memory, i, next - i, true, t);
    }
}

static bool is_among(const ek_trace_allocation *one, const ek_trace_allocation *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i].start == one->start && list[i].size_kb == one->size_kb && strcmp(list[i].name, one->name) == 0)
            return true;
    return false;
}

/* An allocation that is never released lasts to the end of the timeline. */
static void add_held(const ek_view_run *run, int group, int64_t origin, const ek_trace_allocation *one,
                     ek__view_timeline *t)
{
    double begin, end = (double)ek__index_end(run->index);
    if (!at_of(run, group, origin, one->start, &begin))
        return;
    if (one->end != EK_TRACE_UNKNOWN)
        at_of(run, group, origin, one->end, &end);
    if (end > begin)
        ek__timeline_held(t, group, one->name, EK_VIEW_OTHER, begin, end, one->size_kb / 1024);
}

/* ---- launches ---- */

static void add_values(const ek_view_run *run, int group, int64_t origin, const char *name, const char *unit,
                       const ek_trace_value *value, int n, ek__view_timeline *t)
{
    double time[EK_TRACE_MAX_QUEUE_POINTS], out[EK_TRACE_MAX_QUEUE_POINTS];
    size_t used = 0;
    for (int i = 0; i < n; i++)
        if (at_of(run, group, origin, value[i].time, &time[used]))
            out[used++] = value[i].value;
    if (used == 0)
        return;
    ek__timeline_curve(t, name, group, unit, NAN, true, time, out, used);
    ek__timeline_among_tracks(t);
}

static void add_queue(const ek_view_run *run, int group, int64_t origin, const ek_trace_queue *q, ek__view_timeline *t)
{
    add_values(run, group, origin, "queue length", "", q->lengths, q->n_lengths, t);
    add_values(run, group, origin, "launch delay", "ns", q->delays, q->n_delays, t);
}

void ek__view_trace_curves(const ek_view_run *run, int64_t origin, ek__view_timeline *t)
{
    for (int i = 0; i < run->trace->n_ranks; i++) {
        const ek_trace_memory *memory = &run->trace->rank[i].memory;
        int group = ek__view_trace_group(run, &run->trace->rank[i]);
        if (group < 0)
            continue;
        add_queue(run, group, origin, &run->trace->rank[i].queue, t);
        add_rank_curves(run, group, origin, memory, t);
        for (int k = 0; k < memory->n_largest; k++)
            add_held(run, group, origin, &memory->largest[k], t);
        for (int k = 0; k < memory->n_kept; k++)
            if (!is_among(&memory->kept[k], memory->largest, memory->n_largest))
                add_held(run, group, origin, &memory->kept[k], t);
    }
}
