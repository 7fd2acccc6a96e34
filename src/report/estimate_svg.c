/* Draws an estimate: a bar for every stage, as long as the step, split into its parts in a fixed order, so that they
 * line up; with a measured run, its step above them, and the predicted one in the same parts as the run. */
#include <math.h>
#include <string.h>

#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "report/estimate_internal.h"
#include "report/role_colors.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum { PLOT_LEFT = 130, PLOT_RIGHT = 1380, LEGEND_TOP = 96, LEGEND_LINE = 22, LEGEND_RIGHT = EK__PAGE - EK__MARGIN };

/* A step in four parts from a trace, or whole from a log. */
enum { WHOLE = EK_N_AGAINST_PARTS };
static const char *const against_style[EK_N_AGAINST_PARTS + 1] = {"q0", "q1", "q2", "q3", "whole"};

/* The bubble is hatched, in any role. */
static int fill_of(int part)
{
    return part == EK_STEP_BUBBLE ? -1 : ek__step_part_role(part);
}

static int against_role(int part)
{
    static const int role[EK_N_AGAINST_PARTS] = {EK_VIEW_COMPUTING, EK_VIEW_COMMUNICATION, EK_VIEW_TRANSFER, -1};
    return role[part];
}

static void role_rules(FILE *out, bool dark)
{
    ek__role_rules(out, "e", EK_N_STEP_PARTS, fill_of, dark);
    ek__role_rules(out, "q", EK_N_AGAINST_PARTS, against_role, dark);
}

static void write_style(FILE *out)
{
    fputs("<style>\n", out);
    role_rules(out, false);
    fputs(".e1{fill:#6aa5dd}.e2{fill:#1f4f80}.e3{fill:#a9cdee}.e6{fill:#f0b46c}.e7{fill:#b8561a}.e8{fill:url(#hatch)}\n"
          ".e10{fill:#c94f4f}.e12{fill:#c9b458}.q3{fill:#c9b458}\n"
          ".whole{fill:#566272}.hatch{stroke:#aab4c0;stroke-width:2}.hatched{fill:#eef1f5}\n"
          "@media (prefers-color-scheme:dark){\n",
          out);
    role_rules(out, true);
    fputs(".e1{fill:#3d6fa8}.e2{fill:#9cc6f0}.e3{fill:#345b86}.e6{fill:#a8692a}.e7{fill:#f3bd85}.e10{fill:#e57373}\n"
          ".e12{fill:#d6c46f}.q3{fill:#d6c46f}.whole{fill:#9aa7b5}.hatch{stroke:#56626f}.hatched{fill:#242c35}}\n"
          "</style>\n"
          "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect class=\"hatched\" width=\"6\" height=\"6\"/>"
          "<path class=\"hatch\" d=\"M0 0V6\"/></pattern></defs>\n",
          out);
}

/* The axis is in seconds, or in milliseconds below one. */
typedef struct drawing {
    FILE *out;
    const ek_estimate_report *r;
    const ek_estimate *e;
    ek__frame frame;
    double per_second; /* units of the axis */
    int before;        /* rows above the stages' */
} drawing;

/* ---- legends ---- */

typedef struct legend {
    FILE *out; /* NULL: only measured */
    double x, y;
} legend;

static void add_swatch(legend *l, const char *style, const char *text)
{
    double width = 24 + ek__svg_text_width(text, 12, false) + 22;
    if (l->x > EK__MARGIN && l->x + width > LEGEND_RIGHT) {
        l->x = EK__MARGIN;
        l->y += LEGEND_LINE;
    }
    if (l->out)
        ek__svg_swatch(l->out, style, l->x, l->y, text);
    l->x += width;
}

/* A separate line that begins with the meaning of its swatches. */
static void begin_line(legend *l, const char *text)
{
    l->x = EK__MARGIN;
    l->y += LEGEND_LINE;
    if (l->out)
        ek__svg_text(l->out, l->x, l->y, 12, EK__START, "t", text);
    l->x += ek__svg_text_width(text, 12, false) + 12;
}

/* @return the position of its last line */
static double draw_legend(const ek_estimate_report *r, FILE *out)
{
    legend l = {out, EK__MARGIN, LEGEND_TOP};
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        char style[16];
        snprintf(style, sizeof style, "e%d", i);
        if (ek__estimate_has(r->estimate, i))
            add_swatch(&l, style, ek_step_part_title[i]);
    }
    if (!r->against)
        return l.y;
    begin_line(&l, "measured and predicted:");
    if (!r->against->has_parts)
        add_swatch(&l, against_style[WHOLE], "step");
    for (int i = 0; i < EK_N_AGAINST_PARTS && r->against->has_parts; i++)
        add_swatch(&l, against_style[i], ek_against_title[i]);
    return l.y;
}

/* ---- bars ---- */

static void draw_pieces(const drawing *d, int row, const double *seconds, int n, const char *const *style)
{
    double y = d->frame.y + row * d->frame.pitch, done = 0;
    for (int i = 0; i < n; i++) {
        double from = ek__frame_x(&d->frame, done * d->per_second);
        done += seconds[i];
        double to = ek__frame_x(&d->frame, done * d->per_second);
        if (to - from >= 0.05)
            ek__svg_rect(d->out, style[i], from, y, to - from, d->frame.row);
    }
}

static void draw_label(const drawing *d, int row, const char *left, const char *right)
{
    double size = ek__frame_label_size(&d->frame);
    double y = d->frame.y + row * d->frame.pitch + d->frame.row / 2 + size * 0.36;
    ek__svg_text(d->out, d->frame.x - 8, y, size, EK__END, "m", left);
    ek__svg_text(d->out, d->frame.x + d->frame.width + 10, y, size, EK__START, "t", right);
}

static void draw_stage(const drawing *d, int s)
{
    static const char *const style[EK_N_STEP_PARTS] = {"e0", "e1", "e2", "e3",  "e4",  "e5",  "e6",
                                                       "e7", "e8", "e9", "e10", "e11", "e12", "e13"};
    const ek_step *step = &d->e->step;
    const ek_step_stage *stage = &step->stage[s];
    fprintf(d->out, "<g><title>stage %d", s);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (stage->seconds[i] > 0)
            fprintf(d->out, "; %s %s", ek_step_part_title[i], ek__seconds(stage->seconds[i]).text);
    fputs("</title>\n", d->out);
    draw_pieces(d, d->before + s, stage->seconds, EK_N_STEP_PARTS, style);
    fputs("</g>\n", d->out);
    if (s % ek__frame_label_step(&d->frame, ek__frame_label_size(&d->frame)) != 0)
        return;
    char left[32], right[96] = "";
    snprintf(left, sizeof left, "stage %d", s);
    if (step->n_stages > 1 && step->seconds > 0)
        snprintf(right, sizeof right, "bubble %s %%%s",
                 ek__fixed(100 * stage->seconds[EK_STEP_BUBBLE] / step->seconds, 1).text,
                 s == step->slowest ? " · slowest" : "");
    draw_label(d, d->before + s, left, right);
}

static void draw_against(const drawing *d)
{
    const ek_against *a = d->r->against;
    if (!a)
        return;
    const double *parts[] = {a->part, a->predicted}, whole[] = {a->seconds, d->e->step.seconds};
    static const char *const name[] = {"measured", "predicted"};
    for (int i = 0; i < 2; i++) {
        char right[96];
        if (a->has_parts)
            draw_pieces(d, i, parts[i], EK_N_AGAINST_PARTS, against_style);
        else
            draw_pieces(d, i, &whole[i], 1, &against_style[WHOLE]);
        snprintf(right, sizeof right, "%s", ek__seconds(whole[i]).text);
        if (i == 1) {
            size_t used = strlen(right);
            snprintf(right + used, sizeof right - used, " · %s%s %%", a->error > 0 ? "+" : "",
                     ek__fixed(100 * a->error, 1).text);
        }
        draw_label(d, i, name[i], right);
    }
}

/* ---- the whole ---- */

static void draw_texts(const drawing *d, const char *title)
{
    char line[600], verdict[256], memory[256], fitted[600];
    ek__estimate_verdict(d->e, verdict, sizeof verdict);
    ek__estimate_memory(d->e, memory, sizeof memory);
    snprintf(line, sizeof line, "%s; %s", verdict, memory);
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(d->out, EK__MARGIN, 40, 22, EK__START, "h", fitted);
    ek__svg_fit(line, 14, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(d->out, EK__MARGIN, 64, 14, EK__START, d->e->memory.fits ? "m" : "bad", fitted);
}

static drawing lay_out(const ek_estimate_report *report, FILE *out)
{
    const ek_estimate *e = report->estimate;
    drawing d = {.out = out, .r = report, .e = e, .before = report->against ? 3 : 0};
    double longest = fmax(e->step.seconds, report->against ? report->against->seconds : 0);
    d.per_second = longest >= 1 ? 1 : 1e3;
    d.frame = (ek__frame){.x = PLOT_LEFT,
                          .width = PLOT_RIGHT - PLOT_LEFT,
                          .y = draw_legend(report, NULL) + 32,
                          .n_rows = e->step.n_stages + d.before,
                          .span = longest > 0 ? longest * d.per_second : 1};
    ek__frame_lay_rows(&d.frame, 720, 46, 13, 3);
    return d;
}

ek_status ek__estimate_write_svg(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    drawing d = lay_out(report, out);
    char title[256];
    snprintf(title, sizeof title, "Estimated step of %s on %s", ek__estimate_name(d.e), d.e->device->name);
    ek__svg_open(out, ek__frame_bottom(&d.frame) + 56, title,
                 "A bar for every stage: how it spends the step, by parts on one time axis.", (ek__palette){1, 2});
    write_style(out);
    draw_texts(&d, title);
    draw_legend(report, out);
    ek__svg_ticks(out, &d.frame);
    draw_against(&d);
    for (int s = 0; s < d.e->step.n_stages; s++)
        draw_stage(&d, s);
    ek__svg_text(out, d.frame.x + d.frame.width / 2, ek__frame_bottom(&d.frame) + 40, 12, EK__MIDDLE, "m",
                 d.per_second > 1 ? "ms" : "s");
    ek__svg_close(out);
    return ek__finish(out, err);
}
