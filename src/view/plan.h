/* view/plan.h - a plan and its simulation in the document: the timeline is in a file of its own. */
#ifndef EK_VIEW_PLAN_H
#define EK_VIEW_PLAN_H

#include "evenkeel/simulate.h"
#include "view/view.h"

enum { EK__VIEW_KINDS_SIZE = 96 };

/** Layers of a chunk by their recomputation: "2 full, 4 none"; "none" where there are none. */
void ek__view_layer_kinds(const ek_plan *plan, int chunk, int stage, char text[EK__VIEW_KINDS_SIZE]);

/** The timeline of one case: rows, arrows, curves, saved activations. EK_OK, EK_ERR_MEMORY. O(blocks). */
ek_status ek__view_plan_timeline(const ek_report *report, int case_index, ek__view_timeline **out, ek_error *err);

enum { EK__VIEW_BLOCK_SIZE = 96 };

/** "F3", of several chunks "F3·1", of pieces "F3.0·1". */
void ek__view_block_name(const ek_timeline *t, const ek_interval *block, char text[EK__VIEW_BLOCK_SIZE]);
ek_view_type ek__view_block_type(const ek_timeline *t, const ek_interval *block);

/** "6 5 5 4", of several chunks "3+3 3+2 ..." by stage. Cut where there is no room. */
void ek__view_layers_text(const ek_plan *plan, char *text, size_t size);
/** Layers by their recomputation: "24 none, 8 full". */
void ek__view_recompute_text(const ek_plan *plan, char *text, size_t size);

#endif
