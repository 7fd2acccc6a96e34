/* Draws several cases in one picture: a table of their figures, then a panel each, two per row, all on one time axis
 * and one memory scale, so that lengths and heights can be compared by eye. Verdicts are in words, not only in
 * colour. */
#include <math.h>

#include "base/error.h"
#include "evenkeel/cases.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum { GUTTER_LEFT = 40, GUTTER_RIGHT = 120, BETWEEN = 28, TABLE_TOP = 88, TABLE_PITCH = 24, N_COLUMNS = 8 };
enum { PANEL_HEAD = 62, PANEL_GAP = 44, PANEL_FOOT = 62, SEGMENTS = 24000 };

/* Right edges of the table's columns of figures; the first, the name, and the last, the verdict, are left-aligned. */
static const double column_x[N_COLUMNS] = {EK__MARGIN, 560, 680, 790, 890, 1010, 1160, 1372};
static const double VERDICT_X = 1396;

static void table_head(FILE *out, bool limited, double y)
{
    static const char *const title[N_COLUMNS] = {"case",    "step time",   "vs. first",       "bubble",
                                                 "= ideal", "+ imbalance", "+ recomputation", "fullest stage"};
    for (int i = 0; i < N_COLUMNS; i++)
        ek__svg_text(out, column_x[i], y, 12, i ? EK__END : EK__START, "m", title[i]);
    if (limited)
        ek__svg_text(out, VERDICT_X, y, 12, EK__START, "m", "memory limit");
    ek__svg_line(out, "rule", EK__MARGIN, y + 7, EK__PAGE - EK__MARGIN, y + 7);
}

static void table_row(FILE *out, const ek_report *report, int index, double y)
{
    const ek_case *c = &report->cases[index];
    const ek_timeline *t = c->timeline;
    char text[160], name[128];
    int stage;
    double peak = ek_timeline_peak(t, &stage), first = report->cases[0].timeline->step_time;
    double change = 100 * (t->step_time / first - 1);
    ek__svg_fit(c->name, 14, true, 430, name, sizeof name);
    ek__svg_text(out, column_x[0], y, 14, EK__START, "h", name);
    ek__svg_text(out, column_x[1], y, 14, EK__END, "t", ek__short(t->step_time).text);
    if (index > 0) {
        snprintf(text, sizeof text, "%s%s %%", change >= 0 ? "+" : "−", ek__fixed(fabs(change), 2).text);
        ek__svg_text(out, column_x[2], y, 14, EK__END, "t", text);
    }
    ek__svg_text(out, column_x[3], y, 14, EK__END, "t", ek__fixed(t->bubble.real, 4).text);
    ek__svg_text(out, column_x[4], y, 14, EK__END, "t", ek__fixed(t->bubble.ideal, 4).text);
    ek__svg_text(out, column_x[5], y, 14, EK__END, "t", ek__fixed(t->bubble.imba, 4).text);
    ek__svg_text(out, column_x[6], y, 14, EK__END, "t", ek__fixed(t->bubble.recompute, 4).text);
    snprintf(text, sizeof text, "%d with %s MB", stage, ek__grouped(peak).text);
    ek__svg_text(out, column_x[7], y, 14, EK__END, "t", text);
    if (report->memory_limit_mb <= 0)
        return;
    int tightest = ek__tightest_stage(report, t);
    bool over = ek__over_limit(report, t, tightest);
    snprintf(text, sizeof text, "over by %s MB",
             ek__grouped(t->peak_mb[tightest] - ek__stage_limit(report, tightest)).text);
    ek__svg_text(out, VERDICT_X, y, 14, EK__START, over ? "bad" : "t", over ? text : "fits");
}

static void panel_head(FILE *out, const ek_report *report, const ek_case *c, double x, double y, double width)
{
    const ek_timeline *t = c->timeline;
    char text[256], fitted[256];
    ek__svg_fit(c->name, 15, true, width, fitted, sizeof fitted);
    ek__svg_text(out, x, y + 14, 15, EK__START, "h", fitted);
    snprintf(text, sizeof text, "step %s · %s · %d chunk%s per stage · %d micro-batch%s%s",
             ek__short(t->step_time).text, t->schedule->name, t->shape.n_chunks, t->shape.n_chunks == 1 ? "" : "s",
             ek__micro_batches(&t->shape), ek__micro_batches(&t->shape) == 1 ? "" : "es",
             ek__any_over_limit(report, t) ? " · over the memory limit" : "");
    ek__svg_fit(text, 12, false, width, fitted, sizeof fitted);
    ek__svg_text(out, x, y + 33, 12, EK__START, "m", fitted);
    ek__svg_text(out, x, y + PANEL_HEAD - 8, 11, EK__START, "m", "stage");
}

/* Frames of a case's panel with its top left corner at (x, y). */
static void lay_panel(const ek_case *c, double x, double y, double width, double span, ek__frame *blocks,
                      ek__frame *memory)
{
    *blocks = (ek__frame){.x = x + GUTTER_LEFT,
                          .width = width - GUTTER_LEFT - GUTTER_RIGHT,
                          .y = y + PANEL_HEAD,
                          .span = span,
                          .n_rows = c->timeline->shape.n_stages};
    ek__frame_lay_rows(blocks, 224, 28, 11, 2);
    *memory = *blocks;
    memory->y = ek__frame_bottom(blocks) + PANEL_GAP;
    ek__frame_lay_rows(memory, 448, 56, 12, 3);
}

static void draw_panel(FILE *out, const ek_report *report, const ek_case *c, double x, double y, double width,
                       double span, double scale_mb)
{
    ek__frame blocks, memory;
    lay_panel(c, x, y, width, span, &blocks, &memory);
    panel_head(out, report, c, x, y, width);
    ek__svg_frame(out, &blocks, c->timeline->step_time);
    ek__svg_timeline(out, c->timeline, &blocks, ek__svg_detail(c->timeline, &blocks, false));
    ek__svg_text(out, memory.x + memory.width + 8, memory.y - 8, 11, EK__START, "m", "peak, MB");
    ek__svg_frame(out, &memory, c->timeline->step_time);
    ek__svg_memory(out, report, c->timeline, &memory, scale_mb, SEGMENTS);
    ek__svg_peaks(out, report, c->timeline, &memory, memory.x + memory.width + 8, false);
    ek__svg_text(out, memory.x + memory.width / 2, ek__frame_bottom(&memory) + 34, 12, EK__MIDDLE, "m",
                 "time, in the unit of the input");
}

static double panel_height(const ek_case *c)
{
    ek__frame blocks, memory;
    lay_panel(c, 0, 0, EK__PAGE, 1, &blocks, &memory);
    return ek__frame_bottom(&memory) + PANEL_FOOT;
}

/* Height of a row of panels: that of its tallest. */
static double row_height(const ek_report *report, int first, int columns)
{
    double height = 0;
    for (int i = first; i < first + columns && i < report->n_cases; i++)
        height = fmax(height, panel_height(&report->cases[i]));
    return height;
}

static void legend(FILE *out, const ek_report *report, const ek__frame *frame, ek__palette palette, double scale_mb,
                   double y)
{
    bool over = false;
    ek__detail detail = EK__STROKES;
    for (int i = 0; i < report->n_cases; i++) {
        over |= ek__any_over_limit(report, report->cases[i].timeline);
        if (ek__svg_detail(report->cases[i].timeline, frame, false) == EK__SHARES)
            detail = EK__SHARES;
    }
    ek__svg_timeline_legend(out, palette, detail, false, EK__MARGIN, y);
    ek__svg_memory_legend(out, report, over, scale_mb, EK__MARGIN, y + 20);
}

ek_status ek__svg_compare_write(const ek_report *report, FILE *out, ek_error *err)
{
    if (report->n_cases < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no case to draw");
    int columns = report->n_cases > 1 ? 2 : 1;
    ek__palette palette = {0};
    double width = (EK__PAGE - 2 * EK__MARGIN - (columns - 1) * BETWEEN) / (double)columns, span = 0;
    for (int i = 0; i < report->n_cases; i++) {
        span = fmax(span, report->cases[i].timeline->step_time);
        ek__palette own = ek__svg_palette(report->cases[i].timeline);
        palette.n_chunks = own.n_chunks > palette.n_chunks ? own.n_chunks : palette.n_chunks;
        palette.n_kinds = own.n_kinds > palette.n_kinds ? own.n_kinds : palette.n_kinds;
    }
    double scale_mb = ek__svg_memory_scale(report, 0, report->n_cases);
    double legend_y = TABLE_TOP + 14 + report->n_cases * TABLE_PITCH + 24, top = legend_y + 20 + 28, height = top;
    for (int i = 0; i < report->n_cases; i += columns)
        height += row_height(report, i, columns);

    char title[256], fitted[256], description[512];
    snprintf(title, sizeof title, "%s: comparison", report->layers->name);
    snprintf(description, sizeof description,
             "Simulated timelines and memory of %d cases on one time axis; the fullest stage and the bubble of each.",
             report->n_cases);
    ek__svg_open(out, height, title, description, palette);
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 44, 22, EK__START, "h", fitted);
    table_head(out, report->memory_limit_mb > 0, TABLE_TOP - 6);
    for (int i = 0; i < report->n_cases; i++)
        table_row(out, report, i, TABLE_TOP + 20 + i * TABLE_PITCH);
    ek__frame any, unused;
    lay_panel(&report->cases[0], 0, 0, width, span, &any, &unused);
    legend(out, report, &any, palette, scale_mb, legend_y);
    for (int i = 0; i < report->n_cases; i++) {
        double x = EK__MARGIN + (i % columns) * (width + BETWEEN);
        draw_panel(out, report, &report->cases[i], x, top, width, span, scale_mb);
        if (i % columns == columns - 1)
            top += row_height(report, i - columns + 1, columns);
    }
    ek__svg_close(out);
    return ek__finish(out, err);
}
