/* Selects the parts of a run to show. */
#include <string.h>

#include "report/trace_internal.h"

bool ek__view_shows(const ek_trace_view *view, const ek_trace_rank *rank)
{
    return !view || view->rank == EK_TRACE_NO_RANK || view->rank == rank->rank;
}

bool ek__view_shows_step(const ek_trace_view *view, const ek_trace_step *step)
{
    return !view || !view->step || strcmp(view->step, step->name) == 0;
}

bool ek_trace_view_has_rank(const ek_trace_run *run, const ek_trace_view *view)
{
    if (view->rank == EK_TRACE_NO_RANK) /* all existing files, which may be only tables of the whole run */
        return true;
    for (int i = 0; i < run->n_ranks; i++)
        if (ek__view_shows(view, &run->rank[i]))
            return true;
    return false;
}

bool ek_trace_view_has_step(const ek_trace_run *run, const ek_trace_view *view)
{
    if (!view->step)
        return true;
    for (int i = 0; i < run->n_ranks; i++)
        for (int s = 0; s < run->rank[i].n_steps; s++)
            if (ek__view_shows_step(view, &run->rank[i].step[s]))
                return true;
    return false;
}
