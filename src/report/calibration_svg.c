/* Draws a calibration: every run's predicted step over the measured one, and its error; the constants before and after
 * the fit; links and kernels as measured. */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "report/calibration_internal.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum {
    PLOT_TOP = 142,
    PLOT_BOTTOM = 622,
    STEPS_LEFT = 104,
    STEPS_RIGHT = 744,
    ERRORS_LEFT = 872,
    ERRORS_RIGHT = 1564,
    ROW = 24,
    NAME_RIGHT = 330,
    RATIO_LEFT = 350,
    RATIO_RIGHT = 1080,
    FIGURES_LEFT = 1104,
};

static void write_style(FILE *out)
{
    fputs("<style>\n"
          ".p0{fill:#aab4c0}.p1{fill:#2f6fb2}.p2{fill:#d9822b}.p3{fill:#3f9e86}.even{stroke:#566272;fill:none}\n"
          ".band{stroke:#aab4c0;stroke-dasharray:4 4;fill:none}.whisker{stroke:#2f6fb2;stroke-width:2;fill:none}\n"
          "@media (prefers-color-scheme:dark){.p0{fill:#56626f}.p1{fill:#5b9be0}.p2{fill:#e0913f}.p3{fill:#4fb39a}\n"
          ".even{stroke:#9aa7b5}.band{stroke:#56626f}.whisker{stroke:#5b9be0}}\n"
          "</style>\n",
          out);
}

static const char *const point_style[EK__N_PREDICTED] = {"p0", "p1", "p2", "p3"};
static const double point_radius[EK__N_PREDICTED] = {2.5, 3, 3.5, 4.5};
/* Dashed lines next to the line of equal times. */
static const double band = 0.1;

typedef struct drawing {
    FILE *out;
    const ek_calibration *c;
    ek__axis measured, predicted; /* seconds */
    ek__axis below, error;        /* seconds, percent */
    int n_beyond;                 /* start predictions with an error outside the axis */
} drawing;

/* ---- axes ---- */

static void parse(double value, ek__axis *axis)
{
    if (value > 0) {
        axis->low = fmin(axis->low, value);
        axis->high = fmax(axis->high, value);
    }
}

/* From a little below the minimum to a little above the maximum, a factor of two at least. */
static void widen(ek__axis *axis)
{
    double middle = sqrt(axis->low * axis->high), ratio = fmax(sqrt(2), 1.12 * sqrt(axis->high / axis->low));
    axis->low = middle / ratio;
    axis->high = middle * ratio;
}

static void lay_steps(drawing *d)
{
    ek__axis both = {.low = INFINITY, .high = 0, .logarithm = true};
    for (int i = 0; i < d->c->n_runs; i++)
        for (int k = 0; k < EK__N_PREDICTED; k++)
            if (ek__calibrated_has(&d->c->run[i], k)) {
                parse(d->c->run[i].measured, &both);
                parse(ek__calibrated_step(&d->c->run[i], k), &both);
            }
    widen(&both);
    d->measured = d->predicted = d->below = both;
    d->measured.from = STEPS_LEFT;
    d->measured.to = STEPS_RIGHT;
    d->predicted.from = PLOT_BOTTOM;
    d->predicted.to = PLOT_TOP;
    d->below.from = ERRORS_LEFT;
    d->below.to = ERRORS_RIGHT;
}

/* Wide enough for all except the start, since its errors would make the others invisible. */
static void lay_errors(drawing *d)
{
    double low = -5, high = 5;
    for (int i = 0; i < d->c->n_runs; i++)
        for (int k = EK__PREDICTED_FIT; k < EK__N_PREDICTED; k++)
            if (ek__calibrated_has(&d->c->run[i], k)) {
                low = fmin(low, 100 * ek__calibrated_error(&d->c->run[i], k));
                high = fmax(high, 100 * ek__calibrated_error(&d->c->run[i], k));
            }
    double step = ek__nice_step(1.1 * (high - low) / 8);
    d->error = (ek__axis){.low = floor(1.05 * low / step) * step,
                          .high = ceil(1.05 * high / step) * step,
                          .step = step,
                          .from = PLOT_BOTTOM,
                          .to = PLOT_TOP};
}

/* Round multiples of every power of ten, fewer per power if there are more powers. */
static void time_ticks(const drawing *d, const ek__axis *axis, bool upright)
{
    static const double multiples[3][8] = {{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 5}, {1}};
    double ratio = axis->high / axis->low;
    int set = ratio < 8 ? 0 : ratio < 5000 ? 1 : 2;
    for (double power = pow(10, floor(log10(axis->low))); power <= axis->high; power *= 10)
        for (int k = 0; k < 8 && multiples[set][k] > 0; k++) {
            double value = power * multiples[set][k], at = ek__axis_at(axis, value);
            if (value < axis->low || value > axis->high)
                continue;
            if (upright) {
                ek__svg_line(d->out, "grid", STEPS_LEFT, at, STEPS_RIGHT, at);
                ek__svg_text(d->out, STEPS_LEFT - 10, at + 4, 12, EK__END, "m", ek__short(value).text);
            } else {
                ek__svg_line(d->out, "grid", at, PLOT_TOP, at, PLOT_BOTTOM);
                ek__svg_text(d->out, at, PLOT_BOTTOM + 18, 12, EK__MIDDLE, "m", ek__short(value).text);
            }
        }
}

static void error_ticks(const drawing *d)
{
    int n = (int)lround((d->error.high - d->error.low) / d->error.step);
    for (int k = 0; k <= n; k++) {
        double value = d->error.low + k * d->error.step, at = ek__axis_at(&d->error, value);
        char text[64];
        snprintf(text, sizeof text, "%s%s %%", value > 1e-9 ? "+" : "", ek__short(fabs(value) < 1e-9 ? 0 : value).text);
        ek__svg_line(d->out, fabs(value) < 1e-9 ? "even" : "grid", ERRORS_LEFT, at, ERRORS_RIGHT, at);
        ek__svg_text(d->out, ERRORS_LEFT - 10, at + 4, 12, EK__END, "m", text);
    }
}

/* predicted = (1 + off) measured, clipped to the plot */
static void draw_ratio(const drawing *d, double off)
{
    double from = d->measured.low, to = d->measured.high;
    from = fmax(from, from / (1 + off));
    to = fmin(to, to / (1 + off));
    ek__svg_line(d->out, off == 0 ? "even" : "band", ek__axis_at(&d->measured, from),
                 ek__axis_at(&d->predicted, (1 + off) * from), ek__axis_at(&d->measured, to),
                 ek__axis_at(&d->predicted, (1 + off) * to));
}

/* ---- runs ---- */

static void open_run(const drawing *d, const ek_calibrated_run *r)
{
    fputs("<g><title>", d->out);
    ek__svg_escape(d->out, r->name);
    fprintf(d->out, ": %s measured", ek__seconds(r->measured).text);
    for (int k = 0; k < EK__N_PREDICTED; k++)
        if (ek__calibrated_has(r, k)) {
            double error = 100 * ek__calibrated_error(r, k);
            fprintf(d->out, "; %s %s, %s%s %%", ek__predicted_title[k], ek__seconds(ek__calibrated_step(r, k)).text,
                    error > 0 ? "+" : "", ek__fixed(error, 1).text);
        }
    fputs("</title>\n", d->out);
}

static void draw_point(const drawing *d, int k, double x, double y)
{
    fprintf(d->out, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", point_style[k], ek__coordinate(x).text,
            ek__coordinate(y).text, ek__coordinate(point_radius[k]).text);
}

/* One kind of prediction after the other, with the important ones on top. */
static void draw_runs(drawing *d, bool errors)
{
    for (int k = 0; k < EK__N_PREDICTED; k++)
        for (int i = 0; i < d->c->n_runs; i++) {
            const ek_calibrated_run *r = &d->c->run[i];
            double off = 100 * ek__calibrated_error(r, k);
            if (!ek__calibrated_has(r, k))
                continue;
            if (errors && (off < d->error.low || off > d->error.high)) {
                d->n_beyond++;
                continue;
            }
            open_run(d, r);
            if (errors)
                draw_point(d, k, ek__axis_at(&d->below, r->measured), ek__axis_at(&d->error, off));
            else
                draw_point(d, k, ek__axis_at(&d->measured, r->measured),
                           ek__axis_at(&d->predicted, ek__calibrated_step(r, k)));
            fputs("</g>\n", d->out);
        }
}

static void draw_plots(drawing *d)
{
    char text[160];
    lay_steps(d);
    lay_errors(d);
    ek__svg_text(d->out, EK__MARGIN, PLOT_TOP - 16, 13, EK__START, "t", "Predicted step over the measured one, s");
    ek__svg_text(d->out, ERRORS_LEFT - 48, PLOT_TOP - 16, 13, EK__START, "t",
                 "Predicted less measured, over the measured step, s");
    time_ticks(d, &d->measured, false);
    time_ticks(d, &d->predicted, true);
    draw_ratio(d, 0);
    draw_ratio(d, band);
    draw_ratio(d, -band);
    time_ticks(d, &d->below, false);
    error_ticks(d);
    draw_runs(d, false);
    draw_runs(d, true);
    snprintf(text, sizeof text, "dashed: %s %% off", ek__short(100 * band).text);
    ek__svg_text(d->out, STEPS_LEFT, PLOT_BOTTOM + 40, 12, EK__START, "m", text);
    if (d->n_beyond > 0) {
        snprintf(text, sizeof text, "%d prediction%s of the start %s further off than this axis goes", d->n_beyond,
                 d->n_beyond > 1 ? "s" : "", d->n_beyond > 1 ? "are" : "is");
        ek__svg_text(d->out, ERRORS_LEFT, PLOT_BOTTOM + 40, 12, EK__START, "m", text);
    }
}

static void draw_legend(const drawing *d)
{
    double x = EK__MARGIN;
    for (int k = 0; k < EK__N_PREDICTED; k++) {
        const ek_calibration_error *e = ek__calibration_error(d->c, k);
        char text[200];
        if (e->n == 0)
            continue;
        snprintf(text, sizeof text, "%s: %d, off by %s %% in the mean", ek__predicted_title[k], e->n,
                 ek__fixed(100 * e->mean, 1).text);
        x = ek__svg_swatch(d->out, point_style[k], x, 96, text);
    }
}

/* ---- constants ---- */

static bool is_determined(const ek_calibrated_constant *k)
{
    return k->state == EK_FIT_DETERMINED;
}

static ek__axis ratio_axis(const ek_calibration *c)
{
    ek__axis axis = {.low = 0.8, .high = 1.25, .from = RATIO_LEFT, .to = RATIO_RIGHT, .logarithm = true};
    for (int i = 0; i < c->n_constants; i++) {
        const ek_calibrated_constant *k = &c->constant[i];
        if (!is_determined(k) || !(k->start > 0))
            continue;
        parse((k->value + k->error) / k->start, &axis);
        parse((k->value - k->error) / k->start, &axis);
        parse(k->value / k->start, &axis);
    }
    widen(&axis);
    axis.low = fmax(axis.low, 0.02);
    axis.high = fmin(axis.high, 50);
    return axis;
}

static double inside(const ek__axis *axis, double value)
{
    return ek__axis_at(axis, fmin(axis->high, fmax(axis->low, value)));
}

static void draw_constant(const drawing *d, const ek_calibrated_constant *k, const ek__axis *axis, double y)
{
    char text[160];
    ek__svg_text(d->out, NAME_RIGHT, y + 4, 12, EK__END, "t", k->name);
    double digit = pow(10, floor(log10(fmax(k->error, 1e-12))) - 1); /* the second significant one of the error */
    snprintf(text, sizeof text, "%s → %s ± %s%s%s", ek__short(k->start).text,
             ek__short(round(k->value / digit) * digit).text, ek__short(round(k->error / digit) * digit).text,
             k->unit[0] ? " " : "", k->unit);
    ek__svg_text(d->out, FIGURES_LEFT, y + 4, 12, EK__START, "t", text);
    if (!(k->start > 0))
        return;
    ek__svg_line(d->out, "whisker", inside(axis, (k->value - k->error) / k->start), y,
                 inside(axis, (k->value + k->error) / k->start), y);
    draw_point(d, EK__PREDICTED_FIT, inside(axis, k->value / k->start), y);
}

/* @return the position of the next line; with out NULL, only measures it */
static double draw_constants(const drawing *d, double y)
{
    int n = 0;
    for (int i = 0; i < d->c->n_constants; i++)
        n += is_determined(&d->c->constant[i]);
    if (n == 0)
        return y;
    double top = y + 16, bottom = top + n * ROW;
    if (!d->out)
        return bottom + 48;
    const ek__axis axis = ratio_axis(d->c);
    static const double ticks[] = {0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50};
    ek__svg_text(d->out, EK__MARGIN, y, 13, EK__START, "t",
                 "Constants that the runs determine, as multiples of the start's, with standard errors");
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        if (ticks[i] >= axis.low && ticks[i] <= axis.high) {
            double at = ek__axis_at(&axis, ticks[i]);
            ek__svg_line(d->out, ticks[i] == 1 ? "even" : "grid", at, top, at, bottom);
            ek__svg_text(d->out, at, bottom + 16, 11, EK__MIDDLE, "m", ek__short(ticks[i]).text);
        }
    for (int i = 0, row = 0; i < d->c->n_constants; i++)
        if (is_determined(&d->c->constant[i]))
            draw_constant(d, &d->c->constant[i], &axis, top + (row++ + 0.5) * ROW);
    return bottom + 48;
}

/* ---- links and kernels ---- */

static double write_line(const drawing *d, double y, const char *text)
{
    char fitted[300];
    if (d->out) {
        ek__svg_fit(text, 12, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
        ek__svg_text(d->out, EK__MARGIN + 16, y, 12, EK__START, "t", fitted);
    }
    return y + ROW - 4;
}

static double write_title(const drawing *d, double y, const char *text)
{
    if (d->out)
        ek__svg_text(d->out, EK__MARGIN, y, 13, EK__START, "t", text);
    return y + ROW;
}

static double draw_links(const drawing *d, double y)
{
    char text[300];
    for (int i = 0; i < d->c->n_links; i++) {
        const ek_calibrated_link *l = &d->c->link[i];
        if (i == 0)
            y = write_title(d, y, "Links, fitted to times of collectives");
        ek__snprintf(text, sizeof text, "%s, %s: %.3g of the rate, start %.3g us; %d times are met to %s %% (median)",
                     d->c->device.tier[l->tier].name, ek_collective_name[l->what], l->share, l->start_us, l->n,
                     ek__fixed(100 * l->median_error, 1).text);
        y = write_line(d, y, text);
    }
    return d->c->n_links > 0 ? y + ROW : y;
}

static double draw_kernels(const drawing *d, double y)
{
    char text[300];
    int n = 0;
    for (int k = 0; k < EK_N_KERNEL_KINDS && d->c->has_kernels; k++) {
        const ek_kernel_fit *f = &d->c->kernels[k];
        if (f->n == 0)
            continue;
        if (n++ == 0)
            y = write_title(d, y, "Kernels, curves fitted to measured shapes");
        snprintf(text, sizeof text, "%s: %d shapes are met to %s %% (median), %s %% at worst", ek_kernel_name[k], f->n,
                 ek__fixed(100 * f->median, 1).text, ek__fixed(100 * f->worst, 1).text);
        y = write_line(d, y, text);
    }
    return n > 0 ? y + ROW : y;
}

/* ---- the whole ---- */

static double draw_below(const drawing *d, double y)
{
    return draw_kernels(d, draw_links(d, draw_constants(d, y)));
}

ek_status ek__calibration_write_svg(const ek_calibration *c, FILE *out, ek_error *err)
{
    bool runs = c->n_used + c->n_held > 0;
    double below = runs ? PLOT_BOTTOM + 84 : 104;
    drawing d = {.c = c};
    double height = fmax(160, draw_below(&d, below));
    char title[256], words[300], fitted[400];
    snprintf(title, sizeof title, "Calibration of %s", c->device.name);
    ek__svg_open(out, height, title, "Predicted and measured steps, and the constants of the device.",
                 (ek__palette){1, 2});
    d.out = out;
    write_style(out);
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 40, 22, EK__START, "h", fitted);
    ek__calibration_verdict(c, words, sizeof words);
    ek__svg_fit(words, 14, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 64, 14, EK__START, "m", fitted);
    if (runs) {
        draw_legend(&d);
        draw_plots(&d);
    }
    draw_below(&d, below);
    ek__svg_close(out);
    return ek__finish(out, err);
}
