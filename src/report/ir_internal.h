/* report/ir_internal.h - helpers shared by the writers of graphs: selecting nodes, sums over them, and printing nodes,
 * sizes and scopes. */
#ifndef EK_REPORT_IR_INTERNAL_H
#define EK_REPORT_IR_INTERNAL_H

#include "base/page.h"
#include "figures/ir_figures.h"
#include "report/report_internal.h"

/* ---- selected nodes (ir_view.c) ---- */

ek_status ek__ir_choose(const ek_ir *ir, const ek_ir_view *view, ek__ir_choice *out, ek_error *err);
void ek__ir_choice_clear(ek__ir_choice *choice);
/** Rows of a list for people. */
int ek__ir_top(const ek_ir_view *view);

/* ---- sums over the selection (ir_sums.c) ---- */

ek__ir_outcome ek__ir_outcome_of(const ek_ir_recompute *recompute);
/** Sum the nodes that `view` shows. EK_OK or an error; O(n log n). */
ek_status ek__ir_sum(const ek_ir_report *report, const ek_ir_view *view, ek__ir_sums *out, ek_error *err);
void ek__ir_sums_clear(ek__ir_sums *sums);

/** The consumers of each node's value: consumer[first[i] .. first[i + 1]), in file order. */
typedef struct ek__ir_takers {
    uint32_t *first; /**< [n_nodes + 1] */
    uint32_t *consumer;
} ek__ir_takers;
ek_status ek__ir_find_takers(const ek_ir *ir, ek__ir_takers *out, ek_error *err);
void ek__ir_takers_clear(ek__ir_takers *uses);

/* ---- printing (ir_page.c) ---- */

/** "%12 Mul"; only the primitive for a node without number. */
void ek__ir_print_named(const ek_ir *ir, uint32_t node, FILE *out);
/** "512 B", "12.0 KiB", "32.0 MiB", from 10 000 MiB on "12.3 GiB"; "-" if unknown. */
ek__digits ek__ir_size(int64_t bytes);
/** The same with a sign. */
ek__digits ek__ir_size_change(int64_t bytes);
/** A bold line with an empty one before it; the caller ends the line. */
void ek__ir_heading(const ek_ir_view *view, const char *text, FILE *out);
/** "layer 3", "layers 0 to 31", "outside layers". */
ek__digits ek__ir_layers(int first, int last);

/** The nodes of a text that are printed one by one (ir_text_nodes.c). */
ek_status ek__ir_print_nodes(const ek_ir *ir, const ek_ir_view *view, const ek__ir_choice *choice, FILE *out,
                             ek_error *err);

#endif
