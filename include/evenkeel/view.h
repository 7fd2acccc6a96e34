/* evenkeel/view.h - what there is of plans, runs and predictions, as one page for a browser.
 *
 * A page is one HTML file: the viewer (web/), and a document with everything it shows (docs/view-json.md). It needs no
 * network and opens from a file. What a run of the page is made from is given by pointers, each of which may be NULL; a
 * part that the page can show is one file src/view/run_NAME.c and one line in EK__VIEW_PART_LIST. Writers only print:
 * every figure is computed before. */
#ifndef EVENKEEL_VIEW_H
#define EVENKEEL_VIEW_H

#include <stdio.h>

#include "evenkeel/calibration.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/report.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_index.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the page shows under one name. All borrowed; NULL for what there is not. */
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
} ek_view_run;

typedef struct ek_view {
    const char *title; /**< of the page */
    int n_runs;
    const ek_view_run
        *run; /**< [n_runs], at least 1; the first is shown first, the second is what it is compared with */
    /** The page asks the server that it came from for events, details and searches: timelines are not in the
     *  document. */
    bool served;
} ek_view;

/** Bytes of events' texts that a page may hold; larger traces are served. */
enum { EK_VIEW_MAX_TRACE_BYTES = 96 << 20 };

/**
 * The whole page.
 *
 * @return EK_OK, EK_ERR_INPUT when a trace is too large for a page (the message says what to do), EK_ERR_SYSTEM when
 *         `out` cannot be written or a trace's file has changed, EK_ERR_MEMORY. O(events and blocks).
 */
ek_status ek_view_write_html(const ek_view *view, FILE *out, ek_error *err);
/** The document alone, as JSON on one line: what a server hands to its page. Errors as above. */
ek_status ek_view_write_json(const ek_view *view, FILE *out, ek_error *err);

/** The viewer without a document, whose page asks for `document` beside it: what a server answers first. Static. */
const char *ek_view_shell(size_t *size);

#ifdef __cplusplus
}
#endif
#endif
