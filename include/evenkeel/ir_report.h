/* evenkeel/ir_report.h - a checked graph, and the difference of two, as text, JSON and DOT. Writers only print.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_IR_REPORT_H
#define EVENKEEL_IR_REPORT_H

#include <stdio.h>

#include "evenkeel/ir_check.h"
#include "evenkeel/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What of a graph is shown. {.layer = -1} shows all of it. */
typedef struct ek_ir_view {
    int layer;             /**< only operators of this one; -1: all */
    const char *operators; /**< only operators whose primitive, instance or scope this POSIX extended regular expression
                                is found in; NULL: all */
    int top;               /**< rows of a list for people; 0: 10 */
    ek_ir_severity least; /**< findings below it are counted, but not shown. With a layer or operators chosen, those are
                               shown in which chosen operators take part, and those that repeat in several layers */
    bool verdict_only;    /**< of the text: what is found in one line */
    bool color;
} ek_ir_view;

/** Most operators, with their neighbours, that a picture is made of. */
enum { EK_IR_MAX_DRAWN = 2000 };

/**
 * Is the view's regular expression one?
 *
 * @return EK_OK, also for no view or one without an expression; EK_ERR_INPUT says what is wrong with it. O(length).
 */
ek_status ek_ir_view_check(const ek_ir_view *view, ek_error *err);
/**
 * How many nodes the view shows.
 *
 * @param n  out: nodes
 * @return as ek_ir_view_check(), and EK_ERR_MEMORY. O(nodes).
 */
ek_status ek_ir_view_count(const ek_ir *ir, const ek_ir_view *view, uint32_t *n, ek_error *err);

/**
 * A summary for people, at most 100 columns but for long names. With a layer or operators chosen, its lists are of
 * them, and each of them follows with operands and attributes.
 *
 * @param view  NULL: all of it
 * @return EK_OK; EK_ERR_INPUT as ek_ir_view_check(); EK_ERR_SYSTEM when `out` cannot be written; EK_ERR_MEMORY. O(nodes
 *         log nodes).
 */
ek_status ek_ir_write_text(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);
/**
 * docs/ir-json.md, for one or several files.
 *
 * @param report  [n] of the files
 * @param view    NULL: all of them
 * @return EK_OK; EK_ERR_INPUT as ek_ir_view_check(); EK_ERR_SYSTEM when `out` cannot be written; EK_ERR_MEMORY. O(nodes
 *         log nodes).
 */
ek_status ek_ir_write_json(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err);
/**
 * The chosen operators, their neighbours and the edges between as Graphviz.
 *
 * @return EK_OK; EK_ERR_INPUT when none is chosen, or these are more than EK_IR_MAX_DRAWN, and as ek_ir_view_check();
 *         EK_ERR_SYSTEM when `out` cannot be written; EK_ERR_MEMORY. O(nodes + edges).
 */
ek_status ek_ir_write_dot(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);
/**
 * The difference for people; docs/ir-json.md. `a` is the graph before a change, `b` after it.
 *
 * @param view  how long lists are; NULL: as usual
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(differences).
 */
ek_status ek_ir_write_difference_text(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                      const ek_ir_view *view, FILE *out, ek_error *err);
/**
 * The same for scripts, by docs/ir-json.md. All of it: `view` does not count.
 *
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(differences).
 */
ek_status ek_ir_write_difference_json(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                      const ek_ir_view *view, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
