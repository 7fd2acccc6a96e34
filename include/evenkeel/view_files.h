/* evenkeel/view_files.h - makes the runs of a page from files of any kind: traces with their figures and findings,
 * plans with their simulations, predictions of memory.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_VIEW_FILES_H
#define EVENKEEL_VIEW_FILES_H

#include "evenkeel/cases.h"
#include "evenkeel/decls.h"
#include "evenkeel/model_files.h"
#include "evenkeel/prediction.h"
#include "evenkeel/report.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"
#include "evenkeel/types.h"
#include "evenkeel/view.h"

EK_BEGIN_DECLS

/* ---- events of traces for a page ---- */

/** Bytes on disk of the files with events of a run. O(files). */
int64_t ek_view_event_bytes(const ek_trace_run *run);

/** May a page contain traces of this many bytes? @return EK_OK; EK_ERR_INPUT above EK_VIEW_MAX_TRACE_BYTES, naming the
 *  commands that show them. O(1). */
ek_status ek_view_check_bytes(int64_t bytes, ek_error *err);

/**
 * Index the events of a run's files, in a folder that is removed with the index.
 *
 * @param path     [n_paths] paths of the run
 * @param options  only threads, progress and interrupt are used; nothing is kept
 * @param out      NULL where the run has only tables; ek_trace_index_close() frees it
 * @return as ek_trace_index_open(); EK_ERR_INPUT where the traces are larger than a page may hold, packed or unpacked.
 *         Cost: that of ek_trace_index_open().
 */
ek_status ek_view_index_open(const char *const *path, int n_paths, const ek_trace_run *run,
                             const ek_trace_index_options *options, ek_trace_index **out, ek_error *err);

/** The name of a page's run from a path: its last part; "run" where that is no name. O(length). */
void ek_view_name_of(const char *path, char *name, size_t room);

/* ---- runs from files ---- */

enum { EK_MAX_VIEW_RUNS = EK_MAX_CASES + 2 };

/** How files become runs. All pointers are borrowed for the call. */
typedef struct ek_view_reading {
    ek_run_reading run;               /**< of training runs; its files are those of the set */
    const ek_listener *plan_warnings; /**< receives warnings of the readers of plans and models; may be NULL */
    ek_model_files model;             /**< of plans: files named for it, else those next to the plans */
    const char *times;                /**< of that model, as ek_times_parse() takes them; NULL */
    ek_case_options plans;
    bool p2p_given; /**< plans.comm has a time that was given; else that of the init file counts */
} ek_view_reading;

/** Files, and the runs they became. Zeroed at first, except the members below; it must not move, since its parts point
 *  at one another. */
typedef struct ek_view_files {
    const char *given;     /**< set by the caller: the first path, for the name; NULL: "run" */
    ek_run_files files;    /**< filled by the caller with ek_run_files_add(), `models` set */
    ek_trace_index *index; /**< of the traces; set by the caller for a page that is served, else NULL */
    ek_run_evidence evidence;
    ek_prediction memory;
    ek_diagnosis diagnosis;
    ek_layers layers;
    ek_cases cases;
    ek_report report;
    char name[EK_NAME_SIZE]; /**< of runs that are not plans */
    int n_runs;
    ek_view_run run[EK_MAX_VIEW_RUNS]; /**< [n_runs] */
} ek_view_files;

/**
 * Read all files of a set and fill its runs. Traces or settings without other files become one run; together with
 * others they also get a diagnosis. Every plan becomes a run with its simulation.
 *
 * @param how    NULL: defaults
 * @param other  with the layer or init file of plans without one; NULL
 * @param set    ek_view_files_clear() frees it, also after a failure
 * @return EK_OK with at least one run; EK_ERR_INPUT where there is nothing to show, for a plan without a model or a
 *         model without a plan, and where traces are larger than a page may hold; as ek_run_read(), ek_diagnose(),
 *         ek_prediction_of(), ek_model_files_read() and ek_cases_add_file(). Cost: the sum of theirs.
 */
ek_status ek_view_files_read(const ek_view_reading *how, const ek_view_files *other, ek_view_files *set, ek_error *err);
/** Free all that was read, the index too. */
void ek_view_files_clear(ek_view_files *set);

/* ---- the page ---- */

/**
 * ek_view_write_html() for runs with equal names: later ones get a number.
 * @param title  of the page
 * @param lang   first language, as ek_view.lang; NULL
 * @param run    [n_runs], at least 1; borrowed
 * @return as ek_view_write_html(); EK_ERR_MEMORY. O(n_runs^2) plus ek_view_write_html().
 */
ek_status ek_view_page_write(const char *title, const char *lang, const ek_view_run *run, int n_runs, FILE *out,
                             ek_error *err);

/**
 * Write the page of one set, or of two that are compared: first the first run of each, then the others.
 * @param title   NULL: the name of the first run
 * @param lang    that the page begins in, as ek_view.lang; NULL
 * @param second  NULL: one set
 * @return as ek_view_page_write(). Cost: the same.
 */
ek_status ek_view_files_write(const ek_view_files *first, const ek_view_files *second, const char *title,
                              const char *lang, FILE *out, ek_error *err);

EK_END_DECLS
#endif
