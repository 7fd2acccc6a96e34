/* What only ranks together can say: who came last to collectives, how far ranks are apart, collectives whose durations
 * were compared; and, in a tab of their own, the files that everything was read from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

void ek__view_trace_ranks(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    if (trace->n_ranks < 2)
        return;
    ek__section x = ek__section_begin(s, "ranks");
    if (trace->n_votes == 0)
        ek__section_note(&x,
                         "No collective of these ranks was seen on two of them: nothing tells which rank the others "
                         "wait for. Profile the same steps of all ranks of a group.");
    else
        ek__section_note(&x,
                         "The rank that comes last to a collective has the shortest one: the others waited for it.");
    ek__view_note_rest(&x, trace->n_ballots - EK__VIEW_MAX_BALLOTS, "collectives",
                       "evenkeel trace --format json has them");
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
