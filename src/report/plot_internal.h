/* report/plot_internal.h - character drawings: a line of cells with roles, a strip of a timeline, bars.
 *
 * A role is the meaning of a cell. It has a character in ASCII, one in UTF-8 and a colour, so that a drawing reads the
 * same in all of them. Nothing is allocated: a drawing is built and printed line by line. */
#ifndef EK_REPORT_PLOT_INTERNAL_H
#define EK_REPORT_PLOT_INTERNAL_H

#include <stdint.h>
#include <stdio.h>

#include "evenkeel/cost.h"
#include "evenkeel/plot.h"
#include "evenkeel/types.h"

/* plot_canvas.c */

typedef enum ek__role {
    EK__ROLE_TEXT, /**< blank, or text */
    /* the work of a stage */
    EK__ROLE_FORWARD,
    EK__ROLE_BACKWARD,
    EK__ROLE_WEIGHT,
    EK__ROLE_RECOMPUTE,
    EK__ROLE_TAIL, /**< after the last block of a step */
    EK__ROLE_IDLE,
    /* parts of bars */
    EK__ROLE_SOLID,
    EK__ROLE_LIGHT, /**< a less certain part */
    EK__ROLE_OVER,  /**< beyond a limit */
    EK__ROLE_EXPOSED,
    EK__ROLE_WAITING,
    EK__N_ROLES,
} ek__role;

typedef struct ek__plot_cell {
    uint32_t code; /**< 0: covered by a wide character before it */
    ek__role role;
    bool number; /**< within a block of its role */
} ek__plot_cell;

typedef struct ek__plot_line {
    ek_plot plot; /**< within its ranges */
    ek__plot_cell cell[EK_PLOT_MOST_COLUMNS];
} ek__plot_line;

/** `plot` with its numbers limited to their ranges. */
ek_plot ek__plot_fitted(const ek_plot *plot);
/** Begin an empty line. */
void ek__plot_begin(ek__plot_line *line, const ek_plot *plot);
/** Fill cells from..to-1, clipped to the line. */
void ek__plot_fill(ek__plot_line *line, int from, int to, ek__role role);
/** One cell with an individual character. */
void ek__plot_put(ek__plot_line *line, int at, ek__role role, uint32_t code);
/** A text from `at` on, at most `width` columns; a longer one ends with "...". Control characters become '?'. */
void ek__plot_text(ek__plot_line *line, int at, int width, const char *text);
/** A number within a block of a role. */
void ek__plot_number(ek__plot_line *line, int at, ek__role role, const char *digits);
/** The vertical line to the left of a drawing. */
void ek__plot_border(ek__plot_line *line, int at);
/** Print the line without the blanks at its end. */
void ek__plot_print(const ek__plot_line *line, FILE *out);

/** A role and its meaning; EK__ROLE_TEXT: only a sentence. */
typedef struct ek__plot_meaning {
    ek__role role;
    const char *text;
} ek__plot_meaning;

/** The meanings of the characters, in lines of the drawing's width, indented by `indent` blanks. */
void ek__plot_legend(const ek_plot *plot, int indent, const ek__plot_meaning *meaning, int n, FILE *out);
/** Ticks from 0 to `span` below a drawing that begins at column `left`, and a line of their labels. O(columns). */
void ek__plot_axis(const ek_plot *plot, int left, double span, FILE *out);

/** Row `i` of `n_rows` shows one of `n`, evenly spaced, the first and the last among them. */
int ek__plot_spread(int i, int n_rows, int n);

/* plot_strip.c */

/** The blocks of a pipeline over time. */
typedef struct ek__strip {
    const ek_timeline *timeline;
    double span;              /**< time at the right edge, >= the timeline's step */
    double scale;             /**< of printed times: 1e3 for ms of seconds */
    const char *unit;         /**< of printed times: "ms", "the unit of the given times" */
    const ek_step_tail *tail; /**< [n_stages] the parts after the last blocks, up to `span`; NULL: none */
} ek__strip;

/** A row per stage: each column shows the role that fills most of it, and the columns of a role add up to its share of
 *  the row within half a column. With micro-batch numbers where they fit, the time axis, and the meanings of the
 *  characters. O(blocks of the drawn stages + rows x columns). */
void ek__plot_strip(const ek_plot *plot, const ek__strip *strip, FILE *out);

/* plot_bars.c */

enum { EK__MOST_BAR_PARTS = 4 };

typedef struct ek__bar {
    char label[128];
    char value[48];                  /**< its figure, as printed in the report */
    double part[EK__MOST_BAR_PARTS]; /**< in the order of ek__bars.role, >= 0 */
} ek__bar;

/** Stacked rows of bars on one axis, which begins at 0. */
typedef struct ek__bars {
    int n;
    void (*at)(const void *user, int i, ek__bar *out); /**< fills bar `i`; `out` is zeroed */
    const void *user;
    double whole; /**< value at the right edge */
    double mark;  /**< value with a vertical line through all bars; 0: none */
    int n_parts;
    ek__role role[EK__MOST_BAR_PARTS];
    const char *what; /**< name of the bars, for the note on the number drawn: "stages" */
    bool spread;      /**< if there are too many bars, draw evenly spaced ones; otherwise the first ones */
} ek__bars;

/** A row per bar: its label, its figure, its parts. O(rows x columns + n). */
void ek__plot_bars(const ek_plot *plot, const ek__bars *bars, FILE *out);

#endif
