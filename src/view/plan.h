/* view/plan.h - a plan and its simulation in the document: the timeline stands in a file of its own. */
#ifndef EK_VIEW_PLAN_H
#define EK_VIEW_PLAN_H

#include "view/view.h"

enum { EK__VIEW_KINDS_SIZE = 96 };

/** Layers of a chunk by what they recompute: "2 full, 4 none"; "none" where there are none. */
void ek__view_layer_kinds(const ek_plan *plan, int chunk, int stage, char text[EK__VIEW_KINDS_SIZE]);

/** The timeline of one case: rows, arrows, curves, what is held. EK_OK, EK_ERR_MEMORY. O(blocks). */
ek_status ek__view_plan_timeline(const ek_report *report, int case_index, ek__view_timeline **out, ek_error *err);

#endif
