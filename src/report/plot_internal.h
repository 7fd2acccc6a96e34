/* report/plot_internal.h - drawings of characters: a line of cells that have roles, a strip of a timeline, bars.
 *
 * A role is what a cell stands for. It has a character in ASCII, one in UTF-8 and a colour, so that a drawing reads the
 * same in all of them. Nothing is allocated: a drawing is made and printed line by line. */
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
    /* what a stage does */
    EK__ROLE_FORWARD,
    EK__ROLE_BACKWARD,
    EK__ROLE_WEIGHT,
    EK__ROLE_RECOMPUTE,
    EK__ROLE_TAIL, /**< what follows the last block of a step */
    EK__ROLE_IDLE,
    /* parts of bars */
    EK__ROLE_SOLID,
    EK__ROLE_LIGHT, /**< a part that is less sure */
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

/** `plot` with its numbers within their ranges. */
ek_plot ek__plot_fitted(const ek_plot *plot);
/** Begin an empty line. */
void ek__plot_begin(ek__plot_line *line, const ek_plot *plot);
/** Fill cells from..to-1, as far as they are on the line. */
void ek__plot_fill(ek__plot_line *line, int from, int to, ek__role role);
/** One cell, with a character of its own. */
void ek__plot_put(ek__plot_line *line, int at, ek__role role, uint32_t code);
/** A text from `at` on, at most `width` columns; one that is longer ends with "...". Control characters become '?'. */
void ek__plot_text(ek__plot_line *line, int at, int width, const char *text);
/** A number within a block of a role. */
void ek__plot_number(ek__plot_line *line, int at, ek__role role, const char *digits);
/** The vertical line to the left of a drawing. */
void ek__plot_border(ek__plot_line *line, int at);
/** Print the line without the blanks at its end. */
void ek__plot_print(const ek__plot_line *line, FILE *out);

/** A role and what it means; EK__ROLE_TEXT: a sentence alone. */
typedef struct ek__plot_meaning {
    ek__role role;
    const char *text;
} ek__plot_meaning;

/** What the characters mean, in lines of the drawing's width, led by `indent` blanks. */
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
    const ek_step_tail *tail; /**< [n_stages] what follows the last blocks, up to `span`; NULL: nothing does */
} ek__strip;

/** A row a stage: what fills most of each column, such that the columns of a row add up to the stage's share of it
 *  within half a column. The numbers of micro-batches where they fit, the time axis, what the characters mean.
 *  O(blocks of the drawn stages + rows x columns). */
void ek__plot_strip(const ek_plot *plot, const ek__strip *strip, FILE *out);

/* plot_bars.c */

enum { EK__MOST_BAR_PARTS = 4 };

typedef struct ek__bar {
    char label[128];
    char value[48];                  /**< its figure, as the report prints it */
    double part[EK__MOST_BAR_PARTS]; /**< in the order of ek__bars.role, >= 0 */
} ek__bar;

/** Bars below one another on one axis, which begins at 0. */
typedef struct ek__bars {
    int n;
    void (*at)(const void *user, int i, ek__bar *out); /**< fills bar `i`; `out` is zeroed */
    const void *user;
    double whole; /**< value at the right edge */
    double mark;  /**< value with a vertical line through all bars; 0: none */
    int n_parts;
    ek__role role[EK__MOST_BAR_PARTS];
    const char *what; /**< they are, for the note of how many are drawn: "stages" */
    bool spread;      /**< of too many bars evenly spaced ones are drawn, else the first ones */
} ek__bars;

/** A row a bar: its label, its figure, its parts. O(rows x columns + n). */
void ek__plot_bars(const ek_plot *plot, const ek__bars *bars, FILE *out);

#endif
