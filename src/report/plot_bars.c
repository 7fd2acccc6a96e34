/* Draws bars of characters on one axis. The edges of a bar's parts are rounded, not their lengths, so that parts add up
 * to the bar. A solid part at the end of a bar is drawn to an eighth of a column with UTF-8 characters. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "report/plot_internal.h"
#include "report/report_internal.h"

enum { GAP = 2, EIGHTHS = 8 };

typedef struct frame {
    ek_plot plot;
    const ek__bars *bars;
    int label, value; /* columns */
    int left, columns;
} frame;

static void bar_of(const ek__bars *bars, int i, ek__bar *out)
{
    *out = (ek__bar){.label = ""};
    bars->at(bars->user, i, out);
}

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

static int index_of(const frame *f, int row, int n_rows)
{
    return f->bars->spread ? ek__plot_spread(row, n_rows, f->bars->n) : row;
}

static void lay_out(frame *f, int n_rows)
{
    for (int i = 0; i < n_rows; i++) {
        ek__bar bar;
        bar_of(f->bars, index_of(f, i, n_rows), &bar);
        int label = ek__columns(bar.label), value = ek__columns(bar.value);
        f->label = label > f->label ? label : f->label;
        f->value = value > f->value ? value : f->value;
    }
    f->value = at_most(f->value, f->plot.columns / 3);
    f->label = at_most(f->label, f->plot.columns / 3);
    f->left = f->label + GAP + f->value + 2;
    f->columns = f->plot.columns - f->left;
}

/* Its solid end, in eighths of a block in UTF-8. */
static void draw_end(ek__plot_line *line, const frame *f, double edge, ek__role role)
{
    int whole = (int)edge, eighths = (int)floor((edge - whole) * EIGHTHS + 0.5);
    if (eighths > 0 && whole < f->columns)
        ek__plot_put(line, f->left + whole, role, 0x2588 + (uint32_t)(EIGHTHS - eighths)); /* U+258F is one eighth */
}

static void draw_parts(ek__plot_line *line, const frame *f, const ek__bar *bar)
{
    double edge = 0, scale = f->bars->whole > 0 ? f->columns / f->bars->whole : 0;
    int last = -1, from = 0;
    for (int k = 0; k < f->bars->n_parts; k++)
        if (bar->part[k] > 0)
            last = k;
    for (int k = 0; k <= last; k++) {
        edge = fmin(f->columns, edge + fmax(0, bar->part[k]) * scale);
        bool fine = f->plot.utf8 && k == last && f->bars->role[k] == EK__ROLE_SOLID;
        int to = (int)(fine ? floor(edge) : floor(edge + 0.5));
        ek__plot_fill(line, f->left + from, f->left + to, f->bars->role[k]);
        if (fine && to >= from)
            draw_end(line, f, edge, f->bars->role[k]);
        from = to;
    }
}

static void draw_mark(ek__plot_line *line, const frame *f)
{
    if (!(f->bars->mark > 0) || !(f->bars->whole > 0))
        return;
    int at = (int)floor(f->bars->mark / f->bars->whole * f->columns);
    ek__plot_put(line, f->left + at_most(at, f->columns - 1), EK__ROLE_TEXT, f->plot.utf8 ? 0x2502 : '|');
}

void ek__plot_bars(const ek_plot *given, const ek__bars *bars, FILE *out)
{
    assert(bars->n_parts <= EK__MOST_BAR_PARTS);
    frame f = {.plot = ek__plot_fitted(given), .bars = bars};
    int n_rows = at_most(bars->n, f.plot.rows);
    lay_out(&f, n_rows);
    for (int i = 0; i < n_rows; i++) {
        ek__plot_line line;
        ek__bar bar;
        bar_of(bars, index_of(&f, i, n_rows), &bar);
        ek__plot_begin(&line, &f.plot);
        ek__plot_text(&line, 0, f.label, bar.label);
        ek__plot_text(&line, f.label + GAP + f.value - at_most(ek__columns(bar.value), f.value), f.value, bar.value);
        ek__plot_border(&line, f.left - 1);
        draw_parts(&line, &f, &bar);
        draw_mark(&line, &f);
        ek__plot_print(&line, out);
    }
    if (n_rows < bars->n)
        fprintf(out, "%s%d of %d %s are drawn%s\n", bars->spread ? "" : "the first ", n_rows, bars->n, bars->what,
                bars->spread ? ", evenly spaced" : "");
}
