/* Draws a bar for every rank, as long as its mean step and split into its parts, all on one time axis: a slow rank, a
 * waiting stage and a slow host are immediately visible. Parts are in a fixed order, so that they line up. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/svg_internal.h"
#include "report/trace_internal.h"
#include "report/writers.h"

enum { PLOT_LEFT = 150, PLOT_RIGHT = 1380, PLOT_TOP = 118, LEGEND_Y = 88, MAX_ROWS = 1024 };

static const char *const style_name[EK__N_RANK_PARTS] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
static void write_style(FILE *out)
{
    fputs("<style>\n"
          ".p0{fill:#2f6fb2}.p1{fill:#8ab6e3}.p2{fill:#d9822b}.p3{fill:#f2c279}.p4{fill:#8e6bb8}.p5{fill:#c3202b}\n"
          ".p6{fill:#e88a90}.p7{fill:#dfe4ea}\n"
          "@media (prefers-color-scheme:dark){.p0{fill:#5b9be0}.p1{fill:#345b86}.p2{fill:#e0913f}.p3{fill:#8a6226}\n"
          ".p4{fill:#a98bd0}.p5{fill:#f0483e}.p6{fill:#93464b}.p7{fill:#2a323b}}\n"
          "</style>\n",
          out);
}

static void draw_bar(FILE *out, const ek__frame *frame, int row, const int64_t value[EK__N_RANK_PARTS],
                     const char *label)
{
    double y = frame->y + row * frame->pitch, done = 0;
    fprintf(out, "<g><title>");
    ek__svg_escape(out, label);
    for (int i = 0; i < EK__N_RANK_PARTS; i++)
        if (value[i] > 0)
            fprintf(out, "; %s %s ms", ek__rank_part_name[i], ek__fixed((double)value[i] / 1e6, 3).text);
    fputs("</title>\n", out);
    for (int i = 0; i < EK__N_RANK_PARTS; i++) {
        double from = ek__frame_x(frame, done), to = ek__frame_x(frame, done + (double)value[i] / 1e6);
        done += (double)value[i] / 1e6;
        if (to - from >= 0.05)
            ek__svg_rect(out, style_name[i], from, y, to - from, frame->row);
    }
    fputs("</g>\n", out);
}

static void draw_labels(FILE *out, const ek__frame *frame, int row, const ek_trace_rank *rank, const char *label)
{
    char text[128];
    double size = ek__frame_label_size(frame), y = frame->y + row * frame->pitch + frame->row / 2 + size * 0.36;
    int64_t span = ek__rank_step(rank), computing = ek__known(ek__rank_breakdown(rank)->computing);
    if (row % ek__frame_label_step(frame, size) != 0)
        return;
    if (rank->stage >= 0)
        snprintf(text, sizeof text, "%s · stage %d", label, rank->stage);
    else
        snprintf(text, sizeof text, "%s", label);
    ek__svg_text(out, frame->x - 8, y, size, EK__END, "m", text);
    if (span <= 0)
        snprintf(text, sizeof text, "no device events");
    else
        snprintf(text, sizeof text, "%s ms · %s %%", ek__short((double)span / 1e6).text,
                 ek__fixed(100 * (double)computing / (double)span, 1).text);
    ek__svg_text(out, frame->x + frame->width + 10, y, size, EK__START, "t", text);
}

/* A colour and its meaning for the parts that occur in any bar. */
static void draw_legend(FILE *out, const ek_trace_rank *const *rank, int n)
{
    bool used[EK__N_RANK_PARTS] = {false};
    double x = EK__MARGIN;
    for (int i = 0; i < n; i++) {
        int64_t value[EK__N_RANK_PARTS];
        ek__rank_parts(rank[i], value);
        for (int k = 0; k < EK__N_RANK_PARTS; k++)
            used[k] |= value[k] > 0;
    }
    for (int k = 0; k < EK__N_RANK_PARTS; k++)
        if (used[k])
            x = ek__svg_swatch(out, style_name[k], x, LEGEND_Y, ek__rank_part_name[k]);
}

static void draw(const ek_trace_run *run, const ek_trace_rank *const *rank, int n, FILE *out)
{
    ek__frame frame = {.x = PLOT_LEFT, .width = PLOT_RIGHT - PLOT_LEFT, .y = PLOT_TOP, .n_rows = n};
    ek__frame_lay_rows(&frame, 720, 34, 13, 3);
    bool steps = false;
    for (int i = 0; i < n; i++) {
        frame.span = fmax(frame.span, (double)ek__rank_step(rank[i]) / 1e6);
        steps |= rank[i]->n_steps > 0;
    }
    char title[128], label[32];
    snprintf(title, sizeof title, "Where %s goes on %d rank%s", steps ? "a training step" : "the time", n,
             n == 1 ? "" : "s");
    ek__svg_open(out, ek__frame_bottom(&frame) + 56, title,
                 "A stacked bar for every rank: computing, communication and idle time of its mean step.",
                 (ek__palette){1, 2});
    write_style(out);
    ek__svg_text(out, EK__MARGIN, 40, 22, EK__START, "h", title);
    ek__svg_text(out, EK__MARGIN, 62, 13, EK__START, "m",
                 steps ? "means over the steps without warm-up; at the right the step and the share of computing"
                       : "the whole file, which has no step marks; at the right its length and the share of computing");
    draw_legend(out, rank, n);
    ek__svg_ticks(out, &frame);
    for (int i = 0; i < n; i++) {
        int64_t value[EK__N_RANK_PARTS];
        ek__rank_parts(rank[i], value);
        ek__rank_label(run, rank[i], label, sizeof label);
        draw_bar(out, &frame, i, value, label);
        draw_labels(out, &frame, i, rank[i], label);
    }
    ek__svg_text(out, frame.x + frame.width / 2, ek__frame_bottom(&frame) + 38, 12, EK__MIDDLE, "m", "ms");
    ek__svg_close(out);
}

ek_status ek__trace_write_svg(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    const ek_trace_rank **rank = ek__alloc((size_t)run->n_ranks, sizeof *rank);
    int n = 0;
    if (!rank)
        return ek__no_memory(err);
    for (int i = 0; i < run->n_ranks && n < MAX_ROWS; i++)
        if (ek__view_shows(view, &run->rank[i]))
            rank[n++] = &run->rank[i];
    if (n > 0)
        draw(run, rank, n, out);
    free(rank);
    return n > 0 ? ek__finish(out, err) : ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no rank to draw");
}
