/* Builds the lines of character drawings: the characters and colours of roles, the legend and the axis. Characters
 * alone distinguish roles; colours repeat them. Blocks of UTF-8 are from U+2580 to U+259F, which all terminal fonts
 * have. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "report/plot_internal.h"
#include "report/report_internal.h"

enum { TICK_COLUMNS = 9 };
#define ROUNDING 1e-6 /* of a column */

/* Colours are the terminal's nearest to those of the roles (role_colors.c), if they have the same meaning. */
static const struct {
    char ascii;
    uint32_t utf8;
    const char *color; /* SGR */
} looks[EK__N_ROLES] = {
    [EK__ROLE_TEXT] = {' ', ' ', ""},           [EK__ROLE_FORWARD] = {'f', 0x2591, "36"}, /* light shade */
    [EK__ROLE_BACKWARD] = {'b', 0x2588, "32"},                                            /* full block */
    [EK__ROLE_WEIGHT] = {'w', 0x2584, "92"},                                              /* lower half block */
    [EK__ROLE_RECOMPUTE] = {'r', 0x2592, "33"},                                           /* medium shade */
    [EK__ROLE_TAIL] = {'o', '=', "35"},         [EK__ROLE_IDLE] = {'.', 0xb7, "2"},       /* middle dot */
    [EK__ROLE_SOLID] = {'#', 0x2588, "36"},     [EK__ROLE_LIGHT] = {'-', 0x2591, "36"},
    [EK__ROLE_OVER] = {'!', 0x2592, "31"},      [EK__ROLE_EXPOSED] = {'x', 0x2592, "31"},
    [EK__ROLE_WAITING] = {'~', 0x2584, "33"},
};

static int within(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

ek_plot ek__plot_fitted(const ek_plot *plot)
{
    ek_plot fitted = *plot;
    fitted.columns = within(plot->columns, EK_PLOT_LEAST_COLUMNS, EK_PLOT_MOST_COLUMNS);
    fitted.rows = within(plot->rows, EK_PLOT_LEAST_ROWS, EK_PLOT_MOST_ROWS);
    return fitted;
}

int ek__plot_spread(int i, int n_rows, int n)
{
    assert(0 <= i && i < n_rows && n_rows <= n);
    return n_rows < 2 ? 0 : (int)((2 * (int64_t)i * (n - 1) + n_rows - 1) / (2 * (int64_t)(n_rows - 1)));
}

void ek__plot_begin(ek__plot_line *line, const ek_plot *plot)
{
    line->plot = ek__plot_fitted(plot);
    for (int i = 0; i < EK_PLOT_MOST_COLUMNS; i++)
        line->cell[i] = (ek__plot_cell){' ', EK__ROLE_TEXT, false};
}

void ek__plot_put(ek__plot_line *line, int at, ek__role role, uint32_t code)
{
    if (at >= 0 && at < line->plot.columns)
        line->cell[at] = (ek__plot_cell){code, role, false};
}

static uint32_t glyph(const ek_plot *plot, ek__role role)
{
    return plot->utf8 ? looks[role].utf8 : (unsigned char)looks[role].ascii;
}

void ek__plot_fill(ek__plot_line *line, int from, int to, ek__role role)
{
    for (int i = from; i < to; i++)
        ek__plot_put(line, i, role, glyph(&line->plot, role));
}

void ek__plot_text(ek__plot_line *line, int at, int width, const char *text)
{
    int room = ek__columns(text) > width ? width - 3 : width, end = at + width, length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        int columns = ek__width(code);
        if (columns == 0)
            continue;
        if (columns > room)
            break;
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
        ek__plot_put(line, at, EK__ROLE_TEXT, control ? '?' : code);
        if (columns == 2)
            ek__plot_put(line, at + 1, EK__ROLE_TEXT, 0);
        at += columns;
        room -= columns;
    }
    for (int i = 0; *text && i < 3 && at < end; i++, at++)
        ek__plot_put(line, at, EK__ROLE_TEXT, '.');
}

void ek__plot_number(ek__plot_line *line, int at, ek__role role, const char *digits)
{
    for (; *digits && at < line->plot.columns; digits++, at++)
        line->cell[at] = (ek__plot_cell){(unsigned char)*digits, role, true};
}

void ek__plot_border(ek__plot_line *line, int at)
{
    ek__plot_put(line, at, EK__ROLE_TEXT, line->plot.utf8 ? 0x2502 : '|');
}

static void open_look(const ek__plot_cell *cell, FILE *out)
{
    fprintf(out, "\033[%s%sm", cell->number ? "7;" : "", looks[cell->role].color);
}

static bool alike(const ek__plot_cell *a, const ek__plot_cell *b)
{
    return a->role == b->role && a->number == b->number;
}

void ek__plot_print(const ek__plot_line *line, FILE *out)
{
    static const ek__plot_cell plain = {' ', EK__ROLE_TEXT, false};
    const ek__plot_cell *last = &plain;
    int n = line->plot.columns;
    while (n > 0 && line->cell[n - 1].code == ' ' && line->cell[n - 1].role == EK__ROLE_TEXT)
        n--;
    for (int i = 0; i < n; i++) {
        const ek__plot_cell *cell = &line->cell[i];
        if (line->plot.color && !alike(cell, last)) {
            if (!alike(last, &plain))
                fputs("\033[0m", out);
            if (!alike(cell, &plain))
                open_look(cell, out);
        }
        last = cell;
        if (cell->code)
            ek__utf8_print(cell->code, out);
    }
    if (line->plot.color && !alike(last, &plain))
        fputs("\033[0m", out);
    fputc('\n', out);
}

/* ---- legend ---- */

/* A sentence on separate lines. */
static void print_note(const ek_plot *plot, int indent, const char *text, FILE *out)
{
    fprintf(out, "%*s", indent, "");
    ek__print_words(text, indent, indent, plot->columns, out);
    fputc('\n', out);
}

void ek__plot_legend(const ek_plot *given, int indent, const ek__plot_meaning *meaning, int n, FILE *out)
{
    ek_plot plot = ek__plot_fitted(given);
    ek__plot_line line;
    int at = indent;
    ek__plot_begin(&line, &plot);
    for (int i = 0; i < n; i++) {
        if (meaning[i].role == EK__ROLE_TEXT)
            continue;
        int width = 2 + ek__columns(meaning[i].text);
        if (at > indent && at + width > plot.columns) {
            ek__plot_print(&line, out);
            ek__plot_begin(&line, &plot);
            at = indent;
        }
        ek__plot_fill(&line, at, at + 1, meaning[i].role);
        ek__plot_text(&line, at + 2, plot.columns - at - 2, meaning[i].text);
        at += width + 3;
    }
    if (at > indent)
        ek__plot_print(&line, out);
    for (int i = 0; i < n; i++)
        if (meaning[i].role == EK__ROLE_TEXT)
            print_note(&plot, indent, meaning[i].text, out);
}

/* ---- axis ---- */

void ek__plot_axis(const ek_plot *given, int left, double span, FILE *out)
{
    ek_plot plot = ek__plot_fitted(given);
    ek__plot_line ticks, labels;
    int columns = plot.columns - left, free_from = 0;
    assert(columns > 0 && span > 0);
    double step = ek__nice_step(span * TICK_COLUMNS / columns);
    ek__plot_begin(&ticks, &plot);
    ek__plot_begin(&labels, &plot);
    for (int i = -1; i < columns; i++)
        ek__plot_put(&ticks, left + i, EK__ROLE_TEXT, plot.utf8 ? (i < 0 ? 0x2514 : 0x2500) : i < 0 ? '+' : '-');
    for (int k = 0; k * step <= span * (1 + 1e-9); k++) {
        ek__digits text = ek__short(k * step);
        int length = (int)strlen(text.text);
        int at = left + within((int)floor(k * step / span * columns + ROUNDING), 0, columns - 1);
        int from = within(at - length / 2, 0, plot.columns - length);
        if (from < free_from)
            continue;
        ek__plot_put(&ticks, at, EK__ROLE_TEXT, plot.utf8 ? 0x252c : '+');
        ek__plot_text(&labels, from, length, text.text);
        free_from = from + length + 1;
    }
    ek__plot_print(&ticks, out);
    ek__plot_print(&labels, out);
}
