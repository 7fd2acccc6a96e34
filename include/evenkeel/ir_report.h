/* evenkeel/ir_report.h - a checked graph, and the difference of two, as text, JSON and DOT. Writers only print. */
#ifndef EVENKEEL_IR_REPORT_H
#define EVENKEEL_IR_REPORT_H

#include <stdio.h>

#include "evenkeel/ir_check.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What of a graph is shown. */
typedef struct ek_ir_view {
    int layer;             /**< only this one; -1: all */
    const char *operators; /**< only nodes whose primitive, instance or scope this extended regular expression is found
                                in; NULL: all */
    int top;               /**< rows of a list for people; 0: 10 */
    bool color;
} ek_ir_view;

/** Is the regular expression one? EK_ERR_INPUT says what is wrong with it. */
ek_status ek_ir_view_check(const ek_ir_view *view, ek_error *err);

/** A summary for people. With a layer or operators chosen, also each node of them with operands and attributes. */
ek_status ek_ir_write_text(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);
/** docs/ir-json.md, for one or several files. */
ek_status ek_ir_write_json(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err);
/** The chosen nodes and their edges as Graphviz. */
ek_status ek_ir_write_dot(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);
ek_status ek_ir_write_difference_text(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                      const ek_ir_view *view, FILE *out, ek_error *err);
ek_status ek_ir_write_difference_json(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                      const ek_ir_view *view, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
