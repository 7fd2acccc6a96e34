/* evenkeel/view.h - writes plans, runs and predictions as one page for a browser.
 *
 * A page is one HTML file: the viewer (web/), and a document with everything it shows (docs/view-json.md). It needs no
 * network and opens from a file. The data of a run of the page are given by pointers, each of which may be NULL; a part
 * that the page can show is one file src/view/run_NAME.c and one line in EK__VIEW_PART_LIST. Writers only print: every
 * figure is computed before.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_VIEW_H
#define EVENKEEL_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** The predicted step of a job as it runs. All borrowed. */
typedef struct ek_view_step {
    const ek_job *job;
    const ek_step_run *run;         /**< ek_cost_step_run() of it */
    const ek_memory_course *memory; /**< ek_memory_course_of() it; NULL: none is shown */
} ek_view_step;

/** Data that the page shows under one name. All borrowed; NULL for missing parts. */
typedef struct ek_view_run {
    const char *note;       /**< a sentence that is shown with the run's; NULL: none */
    const char *name;       /**< "result", "rank0_ascend_pt": of its tab and in addresses */
    const ek_report *plans; /**< with case_index: a plan and its simulation */
    int case_index;         /**< of plans->cases */
    const ek_sweep *sweep;
    const ek_estimate_report *estimate;
    const ek_calibration *calibration;
    const ek_memory_report *memory;
    const ek_trace_run *trace; /**< figures of a trace */
    ek_trace_index *index;     /**< its events: the timeline */
    const ek_diagnosis *diagnosis;
    const ek_layout_result *layout;
    const ek_view_step *step;
} ek_view_run;

typedef struct ek_view {
    const char *title; /**< of the page */
    const char *lang;  /**< that the page begins in, "en" or "zh"; NULL: English. The reader may change it */
    int n_runs;
    const ek_view_run *run; /**< [n_runs], at least 1; the first is shown first, compared with the second */
    /** The page requests events, details and searches from its server: timelines are not in the document. */
    bool served;
} ek_view;

/** Bytes of events' texts that a page may hold; larger traces are served. */
enum { EK_VIEW_MAX_TRACE_BYTES = 96 << 20 };

/** The runs of a page about layouts: the layouts, and one run for each of the best plans and for the job's own
 *  layout. */
typedef struct ek_layout_view {
    int n_runs;
    ek_view_run *run; /**< [n_runs] the layouts first, then the plans by step, then today's */
    struct ek_layout_view_plan *plan;
} ek_layout_view;

/** Most blocks of all timelines of such a page; further plans have no timeline. */
enum { EK_VIEW_MOST_BLOCKS = 400000 };

/**
 * Make the contents of a page about layouts: the step of every plan is run once more, block by block, for its timeline.
 *
 * @param result  borrowed
 * @param out     ek_layout_view_clear() frees it; untouched on failure
 * @return as ek_cost_step_run() and ek_memory_course_of(). O(blocks of the plans).
 */
ek_status ek_layout_view_of(const ek_layout_result *result, ek_layout_view *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_view_clear(ek_layout_view *view);

/**
 * The viewer without a document; its page requests `document` from the same address. The first answer of a server.
 * Static.
 *
 * @param size  out: its bytes
 */
const char *ek_view_shell(size_t *size);

EK_END_DECLS
#endif
