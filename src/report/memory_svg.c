/* Draws a prediction of memory: a stacked bar for every stage, as long as the required device memory, split by kind,
 * all on one axis with a line for the limit. Parts are in a fixed order, so that they line up; the allocator's overhead
 * is hatched. */
#include <math.h>
#include <string.h>

#include "evenkeel/memory_report.h"
#include "report/memory_internal.h"
#include "report/role_colors.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum { PLOT_LEFT = 130, PLOT_RIGHT = 1330, PLOT_TOP = 124, LEGEND_Y = 92 };

static const char *const piece_style[EK__N_MEMORY_PIECES] = {"p0", "p1", "p2", "p3", "p4", "p5", "fragment"};

static void write_style(FILE *out)
{
    fputs("<style>\n", out);
    ek__role_rules(out, "p", EK__N_MEMORY_PIECES, ek__memory_piece_role, false);
    fputs(".p4{fill:#d9a5a0}.p5{fill:#9aa4af}\n"
          ".halo{fill:none;stroke:#fff;stroke-width:4;opacity:.8}\n"
          ".fragment{fill:url(#hatch)}.hatch{stroke:#8a96a3;stroke-width:2}.hatched{fill:#eef1f5}\n"
          "@media (prefers-color-scheme:dark){\n",
          out);
    ek__role_rules(out, "p", EK__N_MEMORY_PIECES, ek__memory_piece_role, true);
    fputs(".p4{fill:#b8726c}.p5{fill:#6a7682}.hatch{stroke:#77838f}.hatched{fill:#242c35}\n"
          ".halo{stroke:#12171d}}\n"
          "</style>\n"
          "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect class=\"hatched\" width=\"6\" height=\"6\"/>"
          "<path class=\"hatch\" d=\"M0 0V6\"/></pattern></defs>\n",
          out);
}

static void tooltip(const ek_memory_stage *stage, int index, FILE *out)
{
    fprintf(out, "<title>stage %d: %d layers", index, stage->n_layers);
    for (int i = 0; i < EK__N_MEMORY_PIECES; i++)
        if (ek__memory_piece(stage, i) > 0)
            fprintf(out, "; %s %s MB", ek__memory_piece_name(i), ek__whole_mb(ek__memory_piece(stage, i)).text);
    if (stage->operator_name[0]) {
        fputs("; peak at ", out);
        ek__svg_escape(out, stage->operator_name);
    }
    fputs("</title>\n", out);
}

static void draw_bar(FILE *out, const ek__frame *frame, const ek_memory *memory, int index)
{
    const ek_memory_stage *stage = &memory->stage[index];
    double y = frame->y + index * frame->pitch, done = 0;
    fputs("<g>", out);
    tooltip(stage, index, out);
    for (int i = 0; i < EK__N_MEMORY_PIECES; i++) {
        double from = ek__frame_x(frame, done);
        done += (double)ek__memory_piece(stage, i) / EK__MB;
        double to = ek__frame_x(frame, done);
        if (to - from >= 0.05)
            ek__svg_rect(out, piece_style[i], from, y, to - from, frame->row);
    }
    fputs("</g>\n", out);
}

static void draw_label(FILE *out, const ek__frame *frame, const ek_memory *memory, int index)
{
    char text[128];
    double size = ek__frame_label_size(frame), y = frame->y + index * frame->pitch + frame->row / 2 + size * 0.36;
    if (index % ek__frame_label_step(frame, size) != 0)
        return;
    const ek_memory_stage *stage = &memory->stage[index];
    int64_t peak = ek__memory_peak(stage), left = memory->limit - peak;
    bool over = ek__memory_over(memory, stage);
    snprintf(text, sizeof text, "stage %d", index);
    ek__svg_text(out, frame->x - 8, y, size, EK__END, "m", text);
    if (memory->limit == 0)
        snprintf(text, sizeof text, "%s MB", ek__whole_mb(peak).text);
    else
        snprintf(text, sizeof text, "%s MB · %s %s", ek__whole_mb(peak).text, ek__whole_mb(over ? -left : left).text,
                 over ? "over" : "free");
    ek__svg_text(out, frame->x + frame->width + 10, y, size, EK__START, over ? "bad" : "t", text);
}

static void draw_legend(FILE *out, const ek_memory *memory)
{
    double x = EK__MARGIN;
    for (int i = 0; i < EK__N_MEMORY_PIECES; i++) {
        bool used = false;
        for (int s = 0; s < memory->n_stages; s++)
            used |= ek__memory_piece(&memory->stage[s], i) > 0;
        if (used)
            x = ek__svg_swatch(out, piece_style[i], x, LEGEND_Y, ek__memory_piece_name(i));
    }
    if (memory->limit > 0) {
        char text[64];
        snprintf(text, sizeof text, "limit %s MB", ek__whole_mb(memory->limit).text);
        ek__svg_swatch(out, "limit", x, LEGEND_Y, text);
    }
}

static void verdict(const ek_memory_report *report, char *text, size_t size)
{
    const ek_memory *memory = report->memory;
    char but[160];
    ek__assumptions_text(report, but, sizeof but);
    ek__digits peak = ek__whole_mb(ek__memory_peak(&memory->stage[memory->fullest]));
    if (memory->limit == 0)
        snprintf(text, size, "fullest is stage %d with %s MB; no limit is known", memory->fullest, peak.text);
    else
        snprintf(text, size, "%s: fullest is stage %d with %s MB of %s MB%s", memory->fits ? "fits" : "does not fit",
                 memory->fullest, peak.text, ek__whole_mb(memory->limit).text, but);
}

static void draw_texts(const ek_memory_report *report, const char *title, FILE *out)
{
    char line[512], fitted[256];
    verdict(report, line, sizeof line);
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 40, 22, EK__START, "h", fitted);
    ek__svg_text(out, EK__MARGIN, 64, 14, EK__START, report->memory->fits ? "m" : "bad", line);
}

static void draw_bars(const ek_memory *memory, const ek__frame *frame, FILE *out)
{
    for (int s = 0; s < memory->n_stages; s++) {
        draw_bar(out, frame, memory, s);
        draw_label(out, frame, memory, s);
    }
    if (memory->limit > 0) {
        double x = ek__frame_x(frame, (double)memory->limit / EK__MB);
        ek__svg_line(out, "halo", x, frame->y - 6, x,
                     ek__frame_bottom(frame) + 6); /* otherwise a bar's colour could hide it */
        ek__svg_line(out, "limit", x, frame->y - 6, x, ek__frame_bottom(frame) + 6);
    }
}

ek_status ek__memory_write_svg(const ek_memory_report *report, FILE *out, ek_error *err)
{
    const ek_memory *memory = report->memory;
    ek__frame frame = {.x = PLOT_LEFT, .width = PLOT_RIGHT - PLOT_LEFT, .y = PLOT_TOP, .n_rows = memory->n_stages};
    ek__frame_lay_rows(&frame, 720, 46, 13, 3);
    frame.span = fmax((double)memory->limit, (double)ek__memory_peak(&memory->stage[memory->fullest])) / EK__MB * 1.02;
    if (frame.span <= 0)
        frame.span = 1;
    char title[256];
    snprintf(title, sizeof title, "Predicted memory of %s on %d stage%s",
             report->job->name[0] ? report->job->name : "a model", memory->n_stages, memory->n_stages == 1 ? "" : "s");
    ek__svg_open(out, ek__frame_bottom(&frame) + 56, title,
                 "A stacked bar for every stage: peak memory of a device by parts, with the limit.",
                 (ek__palette){1, 2});
    write_style(out);
    draw_texts(report, title, out);
    draw_legend(out, memory);
    ek__svg_ticks(out, &frame);
    draw_bars(memory, &frame, out);
    ek__svg_text(out, frame.x + frame.width / 2, ek__frame_bottom(&frame) + 40, 12, EK__MIDDLE, "m", "MB");
    ek__svg_close(out);
    return ek__finish(out, err);
}
