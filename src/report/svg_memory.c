/* Draws the memory of every stage over time: one small step curve per stage under the timeline's rows, all on one
 * scale, each with the limit drawn in, since sixteen curves in one plot cannot be distinguished. Steps narrower than a
 * pixel are drawn as their upper envelope, so that no peak is lost. */
#include <math.h>
#include <string.h>

#include "evenkeel/cases.h"
#include "report/svg_internal.h"

enum { MAX_SEGMENTS = 4096 };

typedef struct segment {
    double from, to; /* pixels */
    double mb;
} segment;

double ek__svg_memory_scale(const ek_report *report, int first_case, int n_cases)
{
    double top = report->memory_limit_mb;
    for (int i = first_case; i < first_case + n_cases; i++)
        top = fmax(top, ek_timeline_peak(report->cases[i].timeline, NULL));
    return top > 0 ? top * 1.06 : 1;
}

static int push(segment *segments, int n, double from, double to, double mb)
{
    if (n > 0 && segments[n - 1].mb == mb) {
        segments[n - 1].to = to;
        return n;
    }
    segments[n] = (segment){from, to, mb};
    return n + 1;
}

/* Steps of a stage's curve, none narrower than `least` pixels except the last. `least` keeps n below MAX_SEGMENTS. */
static int envelope(const ek_timeline *timeline, int stage, const ek__frame *frame, double least, segment *segments)
{
    double level = timeline->static_mb[stage], highest = level, from = frame->x;
    int n = 0;
    for (size_t i = timeline->first[stage]; i < timeline->first[stage + 1]; i++) {
        double to = ek__frame_x(frame, timeline->block[i].end);
        highest = fmax(highest, fmax(level, timeline->block[i].during_mb));
        level = timeline->block[i].memory_mb;
        if (to - from < least)
            continue;
        n = push(segments, n, from, to, highest);
        from = to;
        highest = level;
    }
    return push(segments, n, from, ek__frame_x(frame, timeline->step_time), fmax(highest, level));
}

static void draw_curve(FILE *out, const segment *segments, int n, double bottom, double per_mb)
{
    fprintf(out, "<path class=\"activation\" d=\"M%s %s", ek__coordinate(segments[0].from).text,
            ek__coordinate(bottom).text);
    for (int i = 0; i < n; i++)
        fprintf(out, "V%sH%s", ek__coordinate(bottom - segments[i].mb * per_mb).text,
                ek__coordinate(segments[i].to).text);
    fprintf(out, "V%sz\"/>\n", ek__coordinate(bottom).text);
}

static void draw_over(FILE *out, const segment *segments, int n, double bottom, double per_mb, double limit)
{
    ek__digits base = ek__coordinate(bottom - limit * per_mb);
    fputs("<path class=\"over\" d=\"", out);
    for (int i = 0; i < n; i++)
        if (segments[i].mb > limit)
            fprintf(out, "M%s %sV%sH%sV%sz", ek__coordinate(segments[i].from).text, base.text,
                    ek__coordinate(bottom - segments[i].mb * per_mb).text, ek__coordinate(segments[i].to).text,
                    base.text);
    fputs("\"/>\n", out);
}

static void draw_stage(FILE *out, const ek_report *report, const ek_timeline *timeline, int stage,
                       const ek__frame *frame, double scale_mb, double least)
{
    segment segments[MAX_SEGMENTS];
    int n = envelope(timeline, stage, frame, least, segments), highest = 0;
    double bottom = frame->y + stage * frame->pitch + frame->row, per_mb = frame->row / scale_mb;
    double fixed = timeline->static_mb[stage] * per_mb, limit = ek__stage_limit(report, stage);
    for (int i = 1; i < n; i++)
        if (segments[i].mb > segments[highest].mb)
            highest = i;
    draw_curve(out, segments, n, bottom, per_mb);
    ek__svg_rect(out, "static", frame->x, bottom - fixed, ek__frame_x(frame, timeline->step_time) - frame->x, fixed);
    if (ek__over_limit(report, timeline, stage))
        draw_over(out, segments, n, bottom, per_mb, limit);
    /* In a row of a few pixels the limit would hide the curve; colour still shows an excess. */
    if (limit > 0 && frame->row >= 8)
        ek__svg_line(out, "limit", frame->x, bottom - limit * per_mb, ek__frame_x(frame, timeline->step_time),
                     bottom - limit * per_mb);
    if (frame->row >= 12)
        fprintf(out, "<circle class=\"dot\" cx=\"%s\" cy=\"%s\" r=\"2\"/>\n",
                ek__coordinate(segments[highest].from).text,
                ek__coordinate(bottom - segments[highest].mb * per_mb).text);
}

void ek__svg_memory(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame,
                    double scale_mb, double n_segments)
{
    double least = fmax(0.5, frame->width * frame->n_rows / n_segments);
    /* Many low rows: thin lines, otherwise only the limits would be visible. */
    fprintf(out, "<g stroke-width=\"%s\">\n", frame->row >= 20 ? "1.25" : "0.6");
    for (int s = 0; s < frame->n_rows; s++)
        draw_stage(out, report, timeline, s, frame, scale_mb, least);
    fputs("</g>\n", out);
}

/* "55 821 MB" if there is room; a custom unit is too long for it and is in the legend. */
static ek__digits amount(const ek_report *report, double value, bool wide)
{
    ek__digits text = wide || report->memory_unit ? ek__memory(report, value) : ek__grouped(value);
    if (report->memory_unit)
        text.text[strcspn(text.text, " ")] = '\0';
    return text;
}

static void peak_label(FILE *out, const ek_report *report, const ek_timeline *timeline, int stage,
                       const ek__frame *frame, double x, double y, bool wide)
{
    double size = ek__frame_label_size(frame), limit = ek__stage_limit(report, stage), middle = y + frame->row / 2;
    double peak = timeline->peak_mb[stage];
    bool over = ek__over_limit(report, timeline, stage), two_lines = wide && limit > 0 && frame->pitch >= 30;
    char text[128];
    snprintf(text, sizeof text, "%s%s", amount(report, peak, wide).text, over && !two_lines ? ", over" : "");
    ek__svg_text(out, x, middle + (two_lines ? -2 : size * 0.36), size, EK__START, over ? "bad" : "t", text);
    if (two_lines) {
        if (over)
            snprintf(text, sizeof text, "over by %s", amount(report, peak - limit, true).text);
        else
            snprintf(text, sizeof text, "%s free", amount(report, limit - peak, true).text);
        ek__svg_text(out, x, middle + 12, 11, EK__START, over ? "bad" : "m", text);
    }
}

void ek__svg_peaks(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame, double x,
                   bool wide)
{
    int every = ek__frame_label_step(frame, ek__frame_label_size(frame));
    for (int s = 0; s < frame->n_rows; s += every)
        peak_label(out, report, timeline, s, frame, x, frame->y + s * frame->pitch, wide);
}

double ek__svg_memory_legend(FILE *out, const ek_report *report, bool any_over, double scale_mb, double x, double y)
{
    char text[128];
    if (!report->memory_unit)
        x = ek__svg_swatch(out, "static", x, y, "parameters and constant");
    x = ek__svg_swatch(out, "activation", x, y, "activations");
    if (any_over)
        x = ek__svg_swatch(out, "over", x, y, "over the limit");
    if (report->memory_limit_mb > 0) {
        if (report->stage_memory_mb)
            snprintf(text, sizeof text, "limit of the stage");
        else
            snprintf(text, sizeof text, "limit %s", ek__memory(report, report->memory_limit_mb).text);
        x = ek__svg_swatch(out, "limit", x, y, text);
    }
    snprintf(text, sizeof text, "a row is %s high", ek__memory(report, scale_mb).text);
    ek__svg_text(out, x, y, 12, EK__START, "m", text);
    return x + ek__svg_text_width(text, 12, false) + 22;
}
