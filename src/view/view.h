/* view/view.h - how the document of a page is written: one file a part of a run, and their common pieces.
 *
 * A new part is a file src/view/run_NAME.c with ek__view_part_NAME and one line in EK__VIEW_PART_LIST. It adds to the
 * sections, the timeline and the figures of a run; docs/view-json.md describes each piece. Parts compute no figures:
 * those come from the structs they are given. */
#ifndef EK_VIEW_VIEW_H
#define EK_VIEW_VIEW_H

#include "base/error.h"
#include "base/json_stream.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "figures/figures.h"

/* ---- columns of numbers ---- */

/** Numbers of the document: gathered by kind, written as one text. {0} to begin with. */
typedef struct ek__packed {
    size_t n_bytes, capacity;
    unsigned char *bytes;
    bool out_of_memory;
} ek__packed;
/** Append a column; doubles with their bytes transposed (all first bytes, then all second ones, ...). */
void ek__packed_reals(ek__packed *columns, const double *value, size_t n);
void ek__packed_numbers(ek__packed *columns, const uint32_t *value, size_t n);
void ek__packed_bytes(ek__packed *columns, const void *bytes, size_t n);
/** Write the gathered numbers as a JSON string: zlib's format, then base64. False when memory is out. */
bool ek__packed_write(ek__packed *columns, ek__stream *s, const char *key);
void ek__packed_clear(ek__packed *columns);

/* ---- timelines ---- */

/** A timeline that is built piece by piece, row by row in order; ek__timeline_write() prints it, and reports when
 * memory ran out before. Texts are copied. */
typedef struct ek__view_timeline ek__view_timeline;
/** @param unit    "ns", or NULL for times without a unit
 *  @param origin  0 of the timeline on the traces' clock; NULL. @return NULL when memory is out. */
ek__view_timeline *ek__timeline_new(const char *unit, const char *origin);
/** A stage or rank: the tracks that follow belong to it. rank, stage: -1 for none. */
void ek__timeline_group(ek__view_timeline *t, const char *name, int rank, int stage);
/** A track of `n_rows` rows: the rows that follow. `track_class` as in docs/view-json.md. */
void ek__timeline_track(ek__view_timeline *t, const char *name, const char *track_class, int n_rows);
/** Events of the last track that are missing in it, since no row was free for them. */
void ek__timeline_left_out(ek__view_timeline *t, int64_t n_events);
/** The number of a name of a type, added when new. */
uint32_t ek__timeline_name(ek__view_timeline *t, const char *text, size_t size, ek_view_type type);
void ek__timeline_row(ek__view_timeline *t);
/** An event of the last row, in order of start. `args`: JSON text on one line; NULL: none. */
void ek__timeline_event(ek__view_timeline *t, double begin, double duration, uint32_t name, const char *args,
                        size_t args_size);
void ek__timeline_arrow(ek__view_timeline *t, int from_row, double from_time, int to_row, double to_time,
                        const char *name);
/** A named stretch of all rows of a group: a step. */
void ek__timeline_step(ek__view_timeline *t, const char *name, int group, double begin, double end);
/** A stretch of the critical path on a group, in order of time; one that begins at the end of the last one extends
 *  it. */
void ek__timeline_path(ek__view_timeline *t, int group, double begin, double end);
/** A curve below the timeline. `group`: number of the group it belongs to; limit, NAN for none; steps: it keeps its
 * value until the next point. Times do not fall; of two points at one time the last one is valid from then on. */
void ek__timeline_curve(ek__view_timeline *t, const char *name, int group, const char *unit, double limit, bool steps,
                        const double *time, const double *value, size_t n);
/** The last curve is placed among the tracks of its group, below those of the device. */
void ek__timeline_among_tracks(ek__view_timeline *t);
/** Memory that is live from one time to another: the memory tab lists the entries at the pointer. It exists from
 * `begin` on and is gone at `end`. */
void ek__timeline_held(ek__view_timeline *t, int group, const char *name, ek_view_type type, double begin, double end,
                       double mb);
/** A collective on one of its ranks. */
typedef struct ek__view_call {
    int row;         /**< of its event, */
    double begin;    /**< which begins then */
    double wait;     /**< wait of the rank in it for others; NAN: unknown */
    uint32_t number; /**< of the collective, the same on all its ranks */
    bool came_last;  /**< others waited for this rank */
    int n_group;     /**< ranks of the group; 0: unknown */
} ek__view_call;
/** A call of a collective that was matched over ranks: the page links it to those with the same number. */
void ek__timeline_call(ek__view_timeline *t, const ek__view_call *call);
/** The time range of the timeline; without it, from the first to the last of its data. */
void ek__timeline_span(ek__view_timeline *t, double begin, double end);
/** Events come from the server: no names are written, rows contain only their number of events, and the data are live
 * memory and curves. */
void ek__timeline_served(ek__view_timeline *t);
/** A row of `n_events` events that the server has; instead of ek__timeline_row(). */
void ek__timeline_served_row(ek__view_timeline *t, int64_t n_events);
/** A curve that the server has: its least and greatest value, its points. */
void ek__timeline_counter(ek__view_timeline *t, const char *name, int group, const char *unit, double least,
                          double most, int64_t n);
/** Print it under "timeline". @return false when memory ran out at any time. O(size) */
bool ek__timeline_write(ek__view_timeline *t, ek__stream *s);
void ek__timeline_free(ek__view_timeline *t);

/* ---- sections ---- */

/** "", "ns", "time", "MB", "%", "count", "GB/s", "text". */
extern const char *const ek__view_unit_name[EK__N_UNITS];

typedef struct ek__view_column {
    const char *name, *title;
    ek__view_unit unit;
    bool search; /**< its texts are names of events: the page offers to look for them */
} ek__view_column;

/** The basis of a number: the words of ek__view_fact(). */
#define EK__MEASURED  "measured"
#define EK__DERIVED   "derived"
#define EK__SIMULATED "simulated"
#define EK__ASSUMED   "assumed"

/** A fact about the run, shown above all tabs: `text` where it is given, else `value` by its unit (NAN: unknown).
 *  `basis`: one of the words above; NULL. */
void ek__view_fact(ek__stream *s, const char *label, double value, ek__view_unit unit, const char *text,
                   const char *basis);

/** Facts of a job: the model, its degrees, its schedule (run_memory.c). */
void ek__view_job(const ek_job *job, ek__stream *s);

/** A section is a tab, written to a stream as its pieces come. Pieces of one kind are adjacent: all notes, all bars,
 * and so on in any order of the kinds; the lists are opened and closed as the kind changes. */
typedef struct ek__section {
    ek__stream *s;
    const char *list;  /**< the open list of pieces; NULL */
    const char *inner; /**< the open list of the piece; NULL */
} ek__section;
ek__section ek__section_begin(ek__stream *s, const char *name);
void ek__section_end(ek__section *x);

void ek__section_note(ek__section *x, const char *text);

/** Stacked bars: their series first, then the bars, each with a value for every series. type: an ek_view_type, -1 for
 *  none. group: -1 for none. limit: NAN for none. */
void ek__bars_begin(ek__section *x, const char *id, const char *title, ek__view_unit unit);
void ek__bars_series(ek__section *x, const char *name, int type);
void ek__bars_bar(ek__section *x, const char *label, int group, const double *value, int n);
void ek__bars_end(ek__section *x, double limit);

/** A table: its rows between ek__row_begin() and ek__row_end(), a cell for each column. sort: column, -1 for none. */
void ek__table_begin(ek__section *x, const char *id, const char *title, const ek__view_column *column, int n_columns);
void ek__row_begin(ek__section *x);
void ek__cell_text(ek__section *x, const char *text); /* NULL: an empty cell */
void ek__cell_real(ek__section *x, double value);     /* not finite: an empty cell */
void ek__cell_int(ek__section *x, int64_t value);     /* INT64_MIN: an empty cell */
void ek__row_end(ek__section *x);
/** The place of a table's row in the timeline. */
typedef struct ek__view_place {
    int group;
    double begin, end; /**< NAN: all of the group */
    const char *name;  /**< of the event there; NULL */
} ek__view_place;
/** After all rows, one for every row in their order, or none at all: the place of a row. NULL: none. */
void ek__table_place(ek__section *x, const ek__view_place *place);
void ek__table_end(ek__section *x, int sort, bool descending);

/** A matrix: its labels first, then its cells. */
void ek__matrix_begin(ek__section *x, const char *id, const char *title, ek__view_unit unit);
void ek__matrix_label(ek__section *x, const char *text);
/** Columns of another kind than the rows: their labels, after those of the rows. */
void ek__matrix_column(ek__section *x, const char *text);
void ek__matrix_cell(ek__section *x, int row, int column, double value, const char *text);
/** After all cells: the parts that add up to one of them, which the page shows by step, operation and transport. */
void ek__matrix_part(ek__section *x, int row, int column, const ek_trace_matrix_part *part);
void ek__matrix_end(ek__section *x);

/** Lines over one axis: ek__polyline_begin() for each, then its points in order of x. y not finite: a gap. */
void ek__lines_begin(ek__section *x, const char *id, const char *title, const char *x_title, ek__view_unit x_unit,
                     const char *y_title, ek__view_unit y_unit);
/** The same where a value is valid until the next point. */
void ek__steps_begin(ek__section *x, const char *id, const char *title, const char *x_title, ek__view_unit x_unit,
                     const char *y_title, ek__view_unit y_unit);
void ek__polyline_begin(ek__section *x, const char *name);
void ek__polyline_point(ek__section *x, double at, double y);
/** The same with a hollow mark: its meaning is in the name of the line. */
void ek__polyline_hollow(ek__section *x, double at, double y);
void ek__polyline_end(ek__section *x);
void ek__lines_end(ek__section *x, double limit);

/** Maps of allocations: a map with its columns by one call. `name`: with its rank. @return false when memory is out */
void ek__blocks_begin(ek__section *x, const char *id, const char *title);
void ek__blocks_end(ek__section *x);
bool ek__blocks_map(ek__section *x, const char *id, const char *name, const ek_trace_block_map *map);

/** A finding: its members are written to x->s in between. */
void ek__finding_begin(ek__section *x);
void ek__finding_end(ek__section *x);

/* ---- parts ---- */

/** The parts of a run, in the order in which they are written. Each writes members of the run's object. */
#define EK__VIEW_PART_LIST(X)                                                                                          \
    X(plan)        /* a plan and its simulation: timeline, breakdown, layers, memory */                                \
    X(sweep)       /* best plans over a swept value */                                                                 \
    X(layout)      /* layouts of a job: all points, the best plans */                                                  \
    X(estimate)    /* the step of a job, from the job only */                                                          \
    X(step)        /* that step as a timeline */                                                                       \
    X(calibration) /* a device fitted to measured runs */                                                              \
    X(memory)      /* a prediction of memory */                                                                        \
    X(trace)       /* figures of a trace: breakdown, layers, operators, communication, memory */                       \
    X(index)       /* events of a trace: the timeline */                                                               \
    X(diagnosis)   /* findings */

/** Does the run have this part? Then write it. Sections of the same name of several parts are written one after the
 * other and joined by the page in that order. */
typedef struct ek__view_part {
    bool (*present)(const ek_view_run *run);
    /** Facts of the run, by ek__view_fact(); NULL without. */
    void (*facts)(const ek_view_run *run, ek__stream *s);
    /** Sentences about the run, by ek__stream_text(s, NULL, ...); NULL without. */
    void (*notes)(const ek_view_run *run, ek__stream *s);
    /** Fill the timeline; NULL without. The first of several parts with one is used. */
    ek_status (*timeline)(const ek_view_run *run, bool served, ek__view_timeline **out, ek_error *err);
    /** Sections; NULL without. */
    ek_status (*sections)(const ek_view_run *run, ek__stream *s, ek_error *err);
} ek__view_part;
#define EK__VIEW_PART_OF(name) extern const ek__view_part ek__view_part_##name;
EK__VIEW_PART_LIST(EK__VIEW_PART_OF)
#undef EK__VIEW_PART_OF

/* ---- for ek_write() ---- */

/** The complete page; the document only, as JSON on one line: the reply of a server to its page. O(document). */
ek_status ek__view_write_html(const ek_view *view, FILE *out, ek_error *err);
ek_status ek__view_write_json(const ek_view *view, FILE *out, ek_error *err);

#endif
