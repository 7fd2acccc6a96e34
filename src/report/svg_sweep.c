/* Draws a sweep: step time, and the bound below it, over the swept value; plans not proved optimal are hollow. The time
 * axis need not start at 0, since differences between neighbours matter; its ticks show the start. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum { LEFT = 118, RIGHT = 1556, TOP = 128, BOTTOM = 600, HEIGHT = 690 };

static ek__axis value_axis(const ek_sweep *sweep)
{
    ek__axis x = {.low = INFINITY, .high = -INFINITY, .from = LEFT + 40, .to = RIGHT - 60};
    for (int i = 0; i < sweep->n; i++) {
        x.low = fmin(x.low, sweep->row[i].value);
        x.high = fmax(x.high, sweep->row[i].value);
    }
    return x;
}

static bool bounded(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) && isfinite(row->lower_bound) && row->lower_bound > 0;
}

/* Around all steps and bounds; from 0 if that takes little room. */
static ek__axis time_axis(const ek_sweep *sweep)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < sweep->n; i++) {
        const ek_sweep_row *row = &sweep->row[i];
        if (!ek__sweep_solved(row))
            continue;
        high = fmax(high, row->step_time);
        low = fmin(low, bounded(row) ? row->lower_bound : row->step_time);
    }
    if (!(high > 0))
        return (ek__axis){.low = 0, .high = 1, .step = 1, .from = BOTTOM, .to = TOP};
    double span = high - low;
    if (low < 0.4 * high)
        low = 0;
    else
        low = fmax(0, low - fmax(0.25 * span, 0.01 * high));
    high += fmax(0.15 * span, 0.01 * high);
    double step = ek__nice_step((high - low) / 8);
    return (ek__axis){
        .low = floor(low / step) * step, .high = ceil(high / step) * step, .step = step, .from = BOTTOM, .to = TOP};
}

static void time_ticks(FILE *out, const ek__axis *y)
{
    int n = (int)lround((y->high - y->low) / y->step);
    for (int k = 0; k <= n; k++) {
        double time = y->low + k * y->step;
        ek__svg_line(out, "grid", LEFT, ek__axis_at(y, time), RIGHT, ek__axis_at(y, time));
        ek__svg_text(out, LEFT - 10, ek__axis_at(y, time) + 4, 12, EK__END, "m", ek__short(time).text);
    }
    ek__svg_text(out, 24, TOP - 16, 12, EK__START, "m", "step time, in the unit of the input");
}

static ek__digits value_text(double value)
{
    return fabs(value) >= 1e4 && value == floor(value) ? ek__grouped(value) : ek__short(value);
}

/* Labels from the left, each only if it does not touch the previous one. */
static void value_ticks(FILE *out, const ek_sweep *sweep, const ek__axis *x)
{
    double free_from = -INFINITY;
    for (int i = 0; i < sweep->n; i++) {
        ek__digits text = value_text(sweep->row[i].value);
        double middle = ek__axis_at(x, sweep->row[i].value), half = ek__svg_text_width(text.text, 12, false) / 2;
        ek__svg_line(out, "rule", middle, BOTTOM, middle, BOTTOM + 5);
        if (middle - half < free_from)
            continue;
        ek__svg_text(out, middle, BOTTOM + 20, 12, EK__MIDDLE, "m", text.text);
        free_from = middle + half + 10;
    }
    ek__svg_line(out, "rule", LEFT, BOTTOM, RIGHT, BOTTOM);
    ek__svg_text(out, (LEFT + RIGHT) / 2.0, BOTTOM + 46, 13, EK__MIDDLE, "m", sweep->key->title);
}

/* A line through neighbouring values; a missing value interrupts the line. */
static void curve(FILE *out, const ek_sweep *sweep, const ek__axis *x, const ek__axis *y, bool bound)
{
    fprintf(out, "<path class=\"strokes %s\" stroke-width=\"2\"%s d=\"", bound ? "sb0" : "sf0",
            bound ? " stroke-dasharray=\"3 4\"" : "");
    bool drawing = false;
    for (int i = 0; i < sweep->n; i++) {
        const ek_sweep_row *row = &sweep->row[i];
        bool there = bound ? bounded(row) : ek__sweep_solved(row);
        if (there)
            fprintf(out, "%s%s %s", drawing ? "L" : "M", ek__coordinate(ek__axis_at(x, row->value)).text,
                    ek__coordinate(ek__axis_at(y, bound ? row->lower_bound : row->step_time)).text);
        drawing = there;
    }
    fputs("\"/>\n", out);
}

/* Hollow, in the page's colour, if the plan is not proved optimal. */
static void mark(FILE *out, double x, double y, bool proved)
{
    fprintf(out, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"4.5\"%s>", proved ? "f0" : "page sf0",
            ek__coordinate(x).text, ek__coordinate(y).text, proved ? "" : " stroke-width=\"2\"");
}

static void point(FILE *out, double x, double y, bool proved, const char *tip)
{
    mark(out, x, y, proved);
    fputs("<title>", out);
    ek__svg_escape(out, tip);
    fputs("</title></circle>\n", out);
}

/* Labels are on the side without the curve. */
static bool falls(const ek_sweep *sweep)
{
    double first = NAN, last = NAN;
    for (int i = 0; i < sweep->n; i++)
        if (ek__sweep_solved(&sweep->row[i])) {
            last = sweep->row[i].step_time;
            first = isnan(first) ? last : first;
        }
    return last <= first;
}

static void points(FILE *out, const ek_sweep *sweep, const ek__axis *x, const ek__axis *y)
{
    double free_from = -INFINITY;
    bool falling = falls(sweep);
    for (int i = 0; i < sweep->n; i++) {
        const ek_sweep_row *row = &sweep->row[i];
        double px = ek__axis_at(x, row->value);
        char text[512];
        if (!ek__sweep_solved(row)) {
            snprintf(text, sizeof text, "M%s %sl8 8m0 -8l-8 8", ek__coordinate(px - 4).text,
                     ek__coordinate(BOTTOM - 16).text);
            fprintf(out,
                    "<path class=\"limit\" style=\"stroke-dasharray:none\" stroke-width=\"2\" d=\"%s\"><title>%s: ",
                    text, value_text(row->value).text);
            ek__svg_escape(out, row->impossible[0] ? row->impossible : "nothing fits");
            fputs("</title></path>\n", out);
            continue;
        }
        double py = ek__axis_at(y, row->step_time);
        int n =
            snprintf(text, sizeof text, "%s: step %s, ", value_text(row->value).text, ek__short(row->step_time).text);
        snprintf(text + n, sizeof text - (size_t)n, "peak %s MB at stage %d, %s", ek__grouped(row->peak_memory_mb).text,
                 row->peak_stage, ek_balance_status_name[row->status]);
        point(out, px, py, row->status == EK_BALANCE_OPTIMAL, text);
        ek__digits label = ek__short(row->step_time);
        double width = ek__svg_text_width(label.text, 12, false), left = falling ? px + 2 : px - 2 - width;
        if (left < free_from)
            continue;
        ek__svg_text(out, left, py - 10, 12, EK__START, "t", label.text);
        free_from = left + width + 8;
    }
}

/* A mark and its meaning; returns the x after it. */
static double legend_mark(FILE *out, bool proved, double x, double y)
{
    const char *text = proved ? "simulated step, proved optimal" : "simulated step, not proved optimal";
    mark(out, x + 9, y - 4, proved);
    fputs("</circle>\n", out);
    ek__svg_text(out, x + 24, y, 12, EK__START, "m", text);
    return x + 24 + ek__svg_text_width(text, 12, false) + 22;
}

static void legend(FILE *out, const ek_sweep *sweep)
{
    bool any_proved = false, any_gap = false, any_bound = false, any_infeasible = false;
    for (int i = 0; i < sweep->n; i++) {
        const ek_sweep_row *row = &sweep->row[i];
        any_bound |= bounded(row);
        any_proved |= ek__sweep_solved(row) && row->status == EK_BALANCE_OPTIMAL;
        any_gap |= ek__sweep_solved(row) && row->status != EK_BALANCE_OPTIMAL;
        any_infeasible |= !ek__sweep_solved(&sweep->row[i]);
    }
    double x = 330, y = TOP - 16;
    if (any_proved)
        x = legend_mark(out, true, x, y);
    if (any_gap)
        x = legend_mark(out, false, x, y);
    if (any_bound && any_gap)
        x = ek__svg_swatch(out, "b0", x, y, "lower bound on any plan");
    if (any_infeasible)
        ek__svg_text(out, x, y, 12, EK__START, "bad", "× no plan fits, or none is possible");
}

ek_status ek__svg_sweep_write(const ek_sweep *sweep, FILE *out, ek_error *err)
{
    if (sweep->n < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no value to draw");
    char title[256], description[512], fitted[256];
    snprintf(title, sizeof title, "%s: step time over %s", sweep->layers->name, sweep->key->title);
    snprintf(description, sizeof description, "Simulated step time of the best plan found for each of %d values. %s.",
             sweep->n, sweep->pipeline);
    ek__svg_open(out, HEIGHT, title, description, (ek__palette){.n_chunks = 1, .n_kinds = 2});
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 44, 22, EK__START, "h", fitted);
    ek__svg_fit(sweep->pipeline, 13, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 66, 13, EK__START, "m", fitted);
    ek__axis x = value_axis(sweep), y = time_axis(sweep);
    legend(out, sweep);
    time_ticks(out, &y);
    value_ticks(out, sweep, &x);
    curve(out, sweep, &x, &y, true);
    curve(out, sweep, &x, &y, false);
    points(out, sweep, &x, &y);
    ek__svg_close(out);
    return ek__finish(out, err);
}
