/* Writes the breakdown of steps: the time of the mean step of every rank, stages, and step by step. Bars add up to the
 * step; communication hidden by computing has bars of its own. */
#include <math.h>
#include <stdio.h>

#include "view/trace_sections.h"

/* The colours of a rank's parts. */
static const ek_view_type part_type[EK__N_RANK_PARTS] = {
    EK_VIEW_COMPUTING, EK_VIEW_OVERLAP_COMMUNICATION, EK_VIEW_OVERLAP_NOT_OVERLAPPED, EK_VIEW_WAIT,
    EK_VIEW_COPY,      EK_VIEW_DATA_LOADING,          EK_VIEW_HOST_RUNTIME,           EK_VIEW_IDLE};

static bool has_steps(const ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++)
        if (run->rank[i].n_steps > 0)
            return true;
    return false;
}

static void write_ranks(const ek_view_run *run, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    int n = trace->n_ranks < EK__VIEW_MAX_BARS ? trace->n_ranks : EK__VIEW_MAX_BARS;
    ek__bars_begin(x, "ranks", has_steps(trace) ? "Mean step of every rank" : "Every rank, the whole file",
                   EK__UNIT_NS);
    for (int k = 0; k < EK__N_RANK_PARTS; k++)
        ek__bars_series(x, k == EK__RANK_FREE ? "idle" : ek__rank_part_name[k], part_type[k]);
    for (int i = 0; i < n; i++) {
        int64_t part[EK__N_RANK_PARTS];
        double value[EK__N_RANK_PARTS];
        char label[64];
        ek__rank_parts(&trace->rank[i], part);
        for (int k = 0; k < EK__N_RANK_PARTS; k++)
            value[k] = (double)part[k];
        ek__view_rank_title(trace, &trace->rank[i], label, sizeof label);
        ek__bars_bar(x, label, ek__view_trace_group(run, &trace->rank[i]), value, EK__N_RANK_PARTS);
    }
    ek__bars_end(x, NAN);
}

/* ---- anatomy ---- */

static const struct {
    const char *name;
    ek_view_type type;
} activities[EK_N_TRACE_ACTIVITIES] = {{"forward", EK_VIEW_FORWARD},
                                       {"recomputation", EK_VIEW_RECOMPUTE},
                                       {"backward", EK_VIEW_BACKWARD},
                                       {"optimizer", EK_VIEW_OPTIMIZER},
                                       {"after the optimizer", EK_VIEW_MARK},
                                       {"other computing", EK_VIEW_COMPUTING},
                                       {"other collectives", EK_VIEW_OVERLAP_NOT_OVERLAPPED},
                                       {"reduction of gradients", EK_VIEW_GRADIENTS},
                                       {"between stages", EK_VIEW_WAIT},
                                       {"copies", EK_VIEW_COPY},
                                       {"waiting for data", EK_VIEW_DATA_LOADING},
                                       {"waiting for the host", EK_VIEW_HOST_RUNTIME},
                                       {"idle otherwise", EK_VIEW_IDLE}};

/* Mean steps of the ranks by their parts, and the critical path by the same parts. */
static void write_anatomy(const ek_view_run *run, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    double value[EK_N_TRACE_ACTIVITIES];
    int n = 0;
    for (int i = 0; i < trace->n_ranks && n < EK__VIEW_MAX_BARS; i++) {
        char label[64];
        if (ek_trace_rank_anatomy(&trace->rank[i], value) == 0)
            continue;
        if (n++ == 0) {
            ek__bars_begin(x, "anatomy-bars", "Anatomy of a mean step, and its critical path", EK__UNIT_NS);
            for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
                ek__bars_series(x, activities[a].name, (int)activities[a].type);
        }
        ek__view_rank_title(trace, &trace->rank[i], label, sizeof label);
        ek__bars_bar(x, label, ek__view_trace_group(run, &trace->rank[i]), value, EK_N_TRACE_ACTIVITIES);
    }
    if (n > 0 && trace->path.n_steps > 0)
        ek__bars_bar(x, "critical path", -1, trace->path.activity, EK_N_TRACE_ACTIVITIES);
    if (n > 0)
        ek__bars_end(x, NAN);
}

/* Series that bars of stages and of steps have. */
static void begin_parts(ek__section *x, const char *id, const char *title, bool copies)
{
    ek__bars_begin(x, id, title, EK__UNIT_NS);
    ek__bars_series(x, "computing", EK_VIEW_COMPUTING);
    ek__bars_series(x, "exposed communication", EK_VIEW_OVERLAP_NOT_OVERLAPPED);
    if (copies)
        ek__bars_series(x, "exposed copies", EK_VIEW_COPY);
    ek__bars_series(x, "idle", EK_VIEW_IDLE);
}

static void write_stages(const ek_view_run *run, ek__section *x)
{
    if (run->trace->n_stages < 2)
        return;
    begin_parts(x, "stages", "Stages, means over their ranks", false);
    for (int i = 0; i < run->trace->n_stages; i++) {
        const ek_trace_stage *stage = &run->trace->stage[i];
        const double value[] = {(double)ek__known(stage->computing_mean), (double)ek__known(stage->not_overlapped_mean),
                                (double)ek__known(stage->free_mean)};
        char label[32];
        snprintf(label, sizeof label, "stage %d", stage->stage);
        ek__bars_bar(x, label, -1, value, 3);
    }
    ek__bars_end(x, NAN);
}

typedef void put_step(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_step *step, ek__section *x);

/* Every step of every rank, up to the limit; returns the number of omitted ones. */
static int64_t each_step(const ek_view_run *run, put_step *put, int64_t at_most, ek__section *x)
{
    int64_t n = 0;
    for (int i = 0; i < run->trace->n_ranks; i++)
        for (int k = 0; k < run->trace->rank[i].n_steps; k++)
            if (n++ < at_most)
                put(run, &run->trace->rank[i], &run->trace->rank[i].step[k], x);
    return n > at_most ? n - at_most : 0;
}

static void write_step_bar(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_step *step, ek__section *x)
{
    ek__breakdown_parts p = ek__parts_of_breakdown(&step->own);
    const double value[] = {(double)p.computing, (double)p.exposed, (double)p.copies, (double)p.idle};
    char label[600];
    ek__step_key(run->trace, rank, step, label, sizeof label);
    ek__bars_bar(x, label, ek__view_trace_group(run, rank), value, 4);
}

static void write_overlap_bar(const ek_view_run *run, const ek_trace_rank *rank, const ek_trace_step *step,
                              ek__section *x)
{
    const double value[] = {(double)ek__known(step->own.communication_not_overlapped),
                            (double)ek__known(step->own.overlapped)};
    char label[600];
    ek__step_key(run->trace, rank, step, label, sizeof label);
    ek__bars_bar(x, label, ek__view_trace_group(run, rank), value, 2);
}

static bool has_communication(const ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].n_steps; k++) {
            const ek_trace_breakdown *b = &run->rank[i].step[k].own;
            if (ek__known(b->communication_not_overlapped) > 0 || ek__known(b->overlapped) > 0)
                return true;
        }
    return false;
}

static void write_steps(const ek_view_run *run, ek__section *x)
{
    if (!has_steps(run->trace))
        return;
    begin_parts(x, "steps", "Every step", true);
    each_step(run, write_step_bar, EK__VIEW_MAX_BARS, x);
    ek__bars_end(x, NAN);
    if (!has_communication(run->trace))
        return;
    ek__bars_begin(x, "overlap", "Communication of every step, exposed and overlapped with computing", EK__UNIT_NS);
    ek__bars_series(x, "not overlapped", EK_VIEW_OVERLAP_NOT_OVERLAPPED);
    ek__bars_series(x, "overlapped with computing", EK_VIEW_OVERLAP_COMMUNICATION);
    each_step(run, write_overlap_bar, EK__VIEW_MAX_BARS, x);
    ek__bars_end(x, NAN);
}

/* ---- the tab ---- */

static void write_notes(const ek_trace_run *run, ek__section *x)
{
    int64_t n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].n_steps;
    if (n == 0 && run->n_ranks > 0)
        ek__section_note(x, "No step is marked: figures are of the whole file. For figures by step call the profiler's "
                            "step() after every step of the training loop.");
    else if (n > 0)
        ek__section_note(x, "Means exclude warm-up steps. Waiting for a stage is a part of exposed communication; "
                            "waiting for data and for the host is idle time, also before the first kernel.");
    ek__view_note_rest(x, run->n_ranks - EK__VIEW_MAX_BARS, "ranks", "evenkeel trace --csv DIR has all");
    ek__view_note_rest(x, n - EK__VIEW_MAX_BARS, "bars of steps", "evenkeel trace --csv DIR has all steps");
    ek__view_note_rest(x, n - EK__VIEW_MAX_ROWS, "rows of steps", "evenkeel trace --csv DIR has all");
    ek__view_note_rest(x, run->n_cluster_rows - EK__VIEW_MAX_ROWS, "rows of the cluster table",
                       "evenkeel trace --csv DIR has all");
}

void ek__view_trace_breakdown(const ek_view_run *run, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "breakdown");
    write_notes(run->trace, &x);
    if (run->trace->n_ranks > 0)
        write_ranks(run, &x);
    write_anatomy(run, &x);
    write_stages(run, &x);
    write_steps(run, &x);
    ek__view_tables(run, "breakdown", NULL, &x);
    ek__section_end(&x);
}
