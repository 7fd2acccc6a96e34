/* evenkeel/ir_report.h - prints a checked graph, and the difference of two, as text, JSON and DOT. Writers only print.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_IR_REPORT_H
#define EVENKEEL_IR_REPORT_H

#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Selection of a graph's parts to show. {.layer = -1} shows all of it. */
typedef struct ek_ir_view {
    int layer;             /**< only operators of this one; -1: all */
    const char *operators; /**< only operators with a primitive, instance or scope that matches this regular expression
                                (PCRE2); NULL: all */
    int top;               /**< rows of a list for people; 0: 10 */
    ek_ir_severity least; /**< findings below it are counted, but not shown. With a layer or operators chosen, those are
                               shown in which chosen operators take part, and those that repeat in several layers */
    bool verdict_only;    /**< of the text: the result in one line */
    bool color;
} ek_ir_view;

/** Input of ek_write(): checked graphs as one answer. Borrowed. */
typedef struct ek_ir_reports {
    const ek_ir_report *const *report; /**< [n] */
    int n;
    const ek_ir_view *view; /**< NULL: all of them */
} ek_ir_reports;
/** The difference of two graphs: `a` is the one before a change, `b` after it. Borrowed. */
typedef struct ek_ir_difference_report {
    const ek_ir_report *a, *b;
    const ek_ir_difference *difference;
    const ek_ir_view *view; /**< length of lists in text; NULL: defaults */
} ek_ir_difference_report;

/** Most operators, with their neighbours, in a picture. */
enum { EK_IR_MAX_DRAWN = 2000 };

/**
 * Is the view's regular expression valid?
 *
 * @return EK_OK, also for no view or one without an expression; EK_ERR_INPUT with its error. O(length).
 */
ek_status ek_ir_view_check(const ek_ir_view *view, ek_error *err);
/**
 * The number of nodes in the view.
 *
 * @param n  out: nodes
 * @return as ek_ir_view_check(), and EK_ERR_MEMORY. O(nodes).
 */
ek_status ek_ir_view_count(const ek_ir *ir, const ek_ir_view *view, uint32_t *n, ek_error *err);

EK_END_DECLS
#endif
