/* view/view.h - how the document of a page is written: one file a part of a run, and the pieces that they share.
 *
 * A new part is a file src/view/run_NAME.c with ek__view_NAME() and one line in EK__VIEW_PART_LIST. It adds to the
 * sections, the timeline and the figures of a run; docs/view-json.md says what each piece looks like. Parts compute no
 * figures: those come from the structs they are given. */
#ifndef EK_VIEW_VIEW_H
#define EK_VIEW_VIEW_H

#include "base/error.h"
#include "evenkeel/view.h"
#include "report/json_stream.h"

/* ---- columns of numbers ---- */

/** Numbers on their way into the document: gathered by kind, written as one text. {0} to begin with. */
typedef struct ek__columns {
    size_t n_bytes, capacity;
    unsigned char *bytes;
    bool out_of_memory;
} ek__columns;
/** Append a column; doubles with their bytes transposed (all first bytes, then all second ones, ...). */
void ek__columns_reals(ek__columns *columns, const double *value, size_t n);
void ek__columns_numbers(ek__columns *columns, const uint32_t *value, size_t n);
void ek__columns_bytes(ek__columns *columns, const void *bytes, size_t n);
/** Write what was gathered as a JSON string: zlib's format, then base64. False when memory is out. */
bool ek__columns_write(ek__columns *columns, ek__stream *s, const char *key);
void ek__columns_clear(ek__columns *columns);

/* ---- timelines ---- */

enum { EK__NO_ARGS = 0 };

/** A timeline that is put together piece by piece, row by row in order; ek__timeline_write() prints it. */
typedef struct ek__view_timeline ek__view_timeline;
/** @param unit  "ns", or NULL for times without a unit. NULL when memory is out. */
ek__view_timeline *ek__timeline_new(const char *unit, const char *origin);
/** A stage or rank: the tracks that follow belong to it. rank, stage: -1 for none. */
void ek__timeline_group(ek__view_timeline *t, const char *name, int rank, int stage);
/** A track of `n_rows` rows: the rows that follow. `track_class` as in docs/view-json.md. */
void ek__timeline_track(ek__view_timeline *t, const char *name, const char *track_class, int n_rows);
/** The number of a name of a type, added when new. */
uint32_t ek__timeline_name(ek__view_timeline *t, const char *text, size_t size, ek_view_type type);
void ek__timeline_row(ek__view_timeline *t);
/** An event of the last row, in order of begin. `args`: JSON text on one line; NULL: none. */
void ek__timeline_event(ek__view_timeline *t, double begin, double duration, uint32_t name, const char *args,
                        size_t args_size);
void ek__timeline_arrow(ek__view_timeline *t, int from_row, double from_time, int to_row, double to_time,
                        const char *name);
/** A stretch of all rows of a group that has a name: a step. */
void ek__timeline_step(ek__view_timeline *t, const char *name, int group, double begin, double end);
/** A curve below the timeline. `group`: number of the group it belongs to; limit, NAN for none; steps: it keeps its
 * value until the next point. */
void ek__timeline_curve(ek__view_timeline *t, const char *name, int group, const char *unit, double limit, bool steps,
                        const double *time, const double *value, size_t n);
/** Something that is held from one time to another: what the memory tab lists at the pointer. */
void ek__timeline_held(ek__view_timeline *t, int group, const char *name, ek_view_type type, double begin, double end,
                       double mb);
/** Print it under "timeline". @return false when memory ran out at any time. */
bool ek__timeline_write(ek__view_timeline *t, ek__stream *s);
void ek__timeline_free(ek__view_timeline *t);

/* ---- sections ---- */

/** What a number in a table or chart is; the page formats it. */
typedef enum ek__view_unit {
    EK__UNIT_NONE,
    EK__UNIT_NS,
    EK__UNIT_TIME, /**< of a model without a unit */
    EK__UNIT_MB,
    EK__UNIT_PERCENT,
    EK__UNIT_COUNT,
    EK__UNIT_GBPS,
    EK__UNIT_TEXT,
    EK__N_UNITS,
} ek__view_unit;
/** "", "ns", "time", "MB", "%", "count", "GB/s", "text". */
extern const char *const ek__view_unit_name[EK__N_UNITS];

typedef struct ek__view_column {
    const char *name, *title;
    ek__view_unit unit;
    bool search; /**< its texts are names of events: the page offers to look for them */
} ek__view_column;

/* A section is a tab: ek__section_begin(), then pieces of each list in turn, then ek__section_end(). The lists are
 * opened when their first piece comes; pieces of one kind stand together: notes, bars, tables, matrices, lines,
 * findings. */
void ek__section_begin(ek__stream *s, const char *name);
void ek__section_end(ek__stream *s);

/** A fact about the run, shown above all tabs. `basis`: measured, derived, simulated, assumed; NULL. */
void ek__view_fact(ek__stream *s, const char *label, double value, ek__view_unit unit, const char *text,
                   const char *basis);

/** The parts of a run, in the order in which they are written. Each writes members of the run's object. */
#define EK__VIEW_PART_LIST(X)                                                                                          \
    X(plan)      /* a plan and its simulation: timeline, breakdown, layers, memory */                                  \
    X(sweep)     /* best plans over a swept value */                                                                   \
    X(memory)    /* a prediction of memory */                                                                          \
    X(trace)     /* figures of a trace: breakdown, layers, operators, communication, memory */                         \
    X(index)     /* events of a trace: the timeline */                                                                 \
    X(diagnosis) /* findings */

/** Does the run have this part? Then write it. Sections of the same name of several parts are written one after the
 * other and joined by the page in that order. */
typedef struct ek__view_part {
    bool (*present)(const ek_view_run *run);
    /** Facts and notes of the run; NULL without. */
    void (*facts)(const ek_view_run *run, ek__stream *s);
    /** Fill the timeline; NULL without. */
    ek_status (*timeline)(const ek_view_run *run, bool served, ek__view_timeline **out, ek_error *err);
    /** Sections; NULL without. */
    void (*sections)(const ek_view_run *run, ek__stream *s);
} ek__view_part;
#define EK__VIEW_PART_OF(name) extern const ek__view_part ek__view_part_##name;
EK__VIEW_PART_LIST(EK__VIEW_PART_OF)
#undef EK__VIEW_PART_OF

#endif
