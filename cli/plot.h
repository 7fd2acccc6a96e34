/* cli/plot.h - the drawings of a text report: the options of every command that has them, and the conditions for
 * drawing.
 */
#ifndef EK_CLI_PLOT_H
#define EK_CLI_PLOT_H

#include "evenkeel/plot.h"

#include "options.h"

typedef struct cli_plot {
    bool on;  /**< --plot: also without a terminal */
    bool off; /**< --no-plot */
} cli_plot;

/** Rows for a command's table. */
#define CLI_PLOT_OPTIONS(owner, field) CLI_ROWS(cli_plot_rows, cli_plot, owner, field)
extern const cli_option cli_plot_rows[];

/** Do the options fit each other and the output format? False after a message.
 *  @param undrawn  the option with an answer that has no drawing, "--sweep"; NULL */
bool cli_plot_check(const cli_plot *plot, const char *format, const char *undrawn);

/** How to draw: with text on a terminal, unless --no-plot is given or the answer goes `elsewhere` (-o); in its width,
 *  with block characters where its character set is UTF-8, and with colour where cli_color() is true. */
ek_plot cli_plot_of(const cli_plot *plot, const char *format, bool elsewhere);

#endif
