/* report/trace_internal.h - helpers shared by the writers of a run's traces. */
#ifndef EK_REPORT_TRACE_INTERNAL_H
#define EK_REPORT_TRACE_INTERNAL_H

#include "base/json_stream.h"
#include "evenkeel/trace_report.h"
#include "figures/trace_figures.h"

/** Does the view show this rank, this step? A NULL view shows all. */
bool ek__view_shows(const ek_trace_view *view, const ek_trace_rank *rank);
bool ek__view_shows_step(const ek_trace_view *view, const ek_trace_step *step);

#endif
