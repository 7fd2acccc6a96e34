/* Writes the figures that compare ranks: the last rank at each collective, the spread between ranks, collectives with
 * compared durations; and, in a tab of their own, the files that everything was read from. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

/* ---- matrices ---- */

enum { MOST_RANKS = 1024, MOST_STEPS = 64 };

static void write_labels(const ek_trace_run *run, ek__section *x)
{
    char text[96];
    for (int i = 0; i < run->n_ranks; i++) {
        ek__rank_label(run, &run->rank[i], text, sizeof text);
        ek__matrix_label(x, text);
    }
}

static void write_waits(const ek_trace_run *run, ek__section *x)
{
    char text[96];
    ek__matrix_begin(x, "waits", "Waiting between ranks in a step: the row waits for the column", EK__UNIT_NS);
    write_labels(run, x);
    for (int i = 0; i < run->n_waits; i++) {
        const ek_trace_wait *w = &run->wait[i];
        snprintf(text, sizeof text, "%" PRId64 " time%s", w->n, w->n == 1 ? "" : "s");
        ek__matrix_cell(x, w->at, w->last, w->ns, text);
    }
    ek__matrix_end(x);
}

static int64_t computing_of(const ek_trace_step *step)
{
    return step->own.computing;
}

static int64_t exposed_of(const ek_trace_step *step)
{
    return step->own.communication_not_overlapped;
}

/* Steps of the first rank except the warm-up, which would take all of the colours. @return how many */
static int pick_steps(const ek_trace_rank *rank, const ek_trace_step **out)
{
    int n = 0;
    for (int i = 0; i < rank->n_steps && n < MOST_STEPS; i++)
        if (!rank->step[i].warm_up)
            out[n++] = &rank->step[i];
    return n;
}

static void write_steps(const ek_trace_run *run, const char *id, const char *title,
                        int64_t (*time)(const ek_trace_step *), ek__section *x)
{
    const ek_trace_step *of[MOST_STEPS];
    int n = pick_steps(&run->rank[0], of);
    char text[96];
    if (n < 2)
        return;
    ek__matrix_begin(x, id, title, EK__UNIT_NS);
    write_labels(run, x);
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "step %.60s", of[i]->name);
        ek__matrix_column(x, text);
    }
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < n; i++) {
            const ek_trace_step *step = ek__trace_find_step(&run->rank[r], of[i]->name);
            if (step && time(step) != EK_TRACE_UNKNOWN)
                ek__matrix_cell(x, r, i, (double)time(step), "");
        }
    ek__matrix_end(x);
}

static void write_matrices(const ek_trace_run *run, ek__section *x)
{
    if (run->n_ranks > MOST_RANKS)
        return;
    if (run->n_waits > 0)
        write_waits(run, x);
    write_steps(run, "rank-computing", "Computing, by rank and step", computing_of, x);
    write_steps(run, "rank-exposed", "Exposed communication, by rank and step", exposed_of, x);
}

void ek__view_trace_ranks(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    if (trace->n_ranks < 2)
        return;
    ek__section x = ek__section_begin(s, "ranks");
    if (trace->n_votes == 0)
        ek__section_note(&x, "No collective was found on two of these ranks: the rank that the others wait for is not "
                             "known. Profile the same steps of all ranks of a group.");
    else
        ek__section_note(&x, "The rank that is last in a collective has the shortest one: the others waited for it.");
    ek__view_note_rest(&x, trace->n_ballots - EK__VIEW_MAX_BALLOTS, "collectives",
                       "evenkeel trace --format json has them");
    write_matrices(trace, &x);
    ek__view_tables(run, "ranks", NULL, &x);
    ek__section_end(&x);
}

/* ---- files ---- */

void ek__view_trace_files(const ek_view_run *run, ek__stream *s)
{
    bool any = false;
    for (int i = 0; i < run->trace->n_ranks; i++)
        any = any || run->trace->rank[i].n_sources > 0;
    if (!any)
        return;
    ek__section x = ek__section_begin(s, "files");
    ek__view_tables(run, "files", NULL, &x);
    ek__section_end(&x);
}
