/* evenkeel/plot.h - drawings of characters in a text report: a schedule as a strip of blocks, figures as bars.
 *
 * A report (ek_report, ek_estimate_report, ek_layout_report, ek_trace_view) has one of these. By default, zeroed, the
 * text of the report has no drawing. The drawings show only figures that the text has. */
#ifndef EVENKEEL_PLOT_H
#define EVENKEEL_PLOT_H

#include <stdbool.h>

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

enum {
    EK_PLOT_LEAST_COLUMNS = 40,
    EK_PLOT_MOST_COLUMNS = 200,
    EK_PLOT_LEAST_ROWS = 4,
    EK_PLOT_MOST_ROWS = 64,
};

/** How drawings are made. Numbers out of their range count as the nearest one in it. */
typedef struct ek_plot {
    int columns; /**< of a line, EK_PLOT_LEAST_COLUMNS to EK_PLOT_MOST_COLUMNS; 0: no drawings */
    int rows;    /**< most stages, plans, ranks or steps of one drawing, EK_PLOT_LEAST_ROWS to EK_PLOT_MOST_ROWS */
    bool utf8;   /**< block characters, for a terminal with UTF-8; else ASCII */
    bool color;  /**< ANSI colours, for a terminal that supports them; the characters differ without them, too */
} ek_plot;

EK_END_DECLS
#endif
