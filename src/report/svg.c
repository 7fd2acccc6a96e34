/* Draws one case: figures, timeline, memory, all on one time axis. Heights depend on the number of stages; the width is
 * fixed, so that no viewer needs horizontal scrolling. */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "evenkeel/cases.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum { PLOT_LEFT = 78, PLOT_RIGHT = 1444, TIMELINE_TOP = 178, SEGMENTS = 60000 };

static double tile(FILE *out, double x, const char *label, const char *value, bool bad)
{
    ek__svg_text(out, x, 96, 12, EK__START, "m", label);
    ek__svg_text(out, x, 119, 18, EK__START, bad ? "bad" : "t", value);
    return x + fmax(ek__svg_text_width(label, 12, false), ek__svg_text_width(value, 18, bad)) + 28;
}

static void tiles(FILE *out, const ek_report *report, const ek_timeline *timeline)
{
    char text[160];
    int stage;
    double peak = ek_timeline_peak(timeline, &stage);
    int tightest = ek__tightest_stage(report, timeline);
    double limit = ek__stage_limit(report, tightest), free_mb = limit - timeline->peak_mb[tightest];
    double x = tile(out, EK__MARGIN, "step time", ek__short(timeline->step_time).text, false);
    x = tile(out, x, "bubble", ek__fixed(timeline->bubble.real, 4).text, false);
    x = tile(out, x, "= ideal", ek__fixed(timeline->bubble.ideal, 4).text, false);
    x = tile(out, x, "+ imbalance", ek__fixed(timeline->bubble.imba, 4).text, false);
    x = tile(out, x, "+ recomputation", ek__fixed(timeline->bubble.recompute, 4).text, false);
    snprintf(text, sizeof text, "stage %d, %s", stage, ek__memory(report, peak).text);
    x = tile(out, x, "fullest stage", text, false);
    if (limit <= 0)
        return;
    bool over = ek__over_limit(report, timeline, tightest);
    if (over)
        snprintf(text, sizeof text, "over by %s", ek__memory(report, -free_mb).text);
    else
        snprintf(text, sizeof text, "fits, %s free", ek__memory(report, free_mb).text);
    char label[64];
    int n = snprintf(label, sizeof label, "limit %s", ek__memory(report, limit).text);
    if (report->stage_memory_mb)
        snprintf(label + n, sizeof label - (size_t)n, ", stage %d", tightest);
    tile(out, x, label, text, over);
}

static void describe(const ek_timeline *timeline, char *text, size_t room)
{
    const ek_shape *shape = &timeline->shape;
    int n = snprintf(text, room, "%d stage%s · %d chunk%s per stage · %d micro-batch%s · %s", shape->n_stages,
                     shape->n_stages == 1 ? "" : "s", shape->n_chunks, shape->n_chunks == 1 ? "" : "s",
                     ek__micro_batches(shape), ek__micro_batches(shape) == 1 ? "" : "es", timeline->schedule->title);
    if (ek__shape_pieces(shape) > 1 && (size_t)n < room)
        n += snprintf(text + n, room - (size_t)n, " · %d sequence pieces each", ek__shape_pieces(shape));
    if (timeline->comm.p2p_time > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, " · %s transfers of %s",
                 timeline->comm.blocking ? "blocking" : "non-blocking", ek__short(timeline->comm.p2p_time).text);
}

static void open_page(FILE *out, const ek_report *report, const ek_case *c, double height)
{
    char title[256], subtitle[256], fitted[256], description[512];
    int stage;
    double peak = ek_timeline_peak(c->timeline, &stage);
    snprintf(title, sizeof title, "%s: %s", report->layers->name, c->name);
    describe(c->timeline, subtitle, sizeof subtitle);
    snprintf(description, sizeof description,
             "Simulated pipeline timeline and memory. %s. Step time %s, bubble %s, peak %s %s at stage %d.", subtitle,
             ek__short(c->timeline->step_time).text, ek__fixed(c->timeline->bubble.real, 4).text,
             ek__fixed(peak, report->memory_unit ? 2 : 0).text, report->memory_unit ? report->memory_unit : "MB",
             stage);
    ek__svg_open(out, height, title, description, ek__svg_palette(c->timeline));
    ek__svg_fit(title, 22, true, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 44, 22, EK__START, "h", fitted);
    ek__svg_fit(subtitle, 13, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(out, EK__MARGIN, 66, 13, EK__START, "m", fitted);
    tiles(out, report, c->timeline);
}

static void headings(FILE *out, const ek__frame *frame, const char *heading, const char *right)
{
    ek__svg_text(out, EK__MARGIN, frame->y - 26, 14, EK__START, "h", heading);
    ek__svg_text(out, frame->x - 8, frame->y - 6, 11, EK__END, "m", "stage");
    ek__svg_text(out, frame->x + frame->width + 10, frame->y - 6, 11, EK__START, "m", right);
}

static void busy_labels(FILE *out, const ek_timeline *timeline, const ek__frame *frame)
{
    double size = ek__frame_label_size(frame);
    int every = ek__frame_label_step(frame, size);
    for (int s = 0; s < frame->n_rows; s += every) {
        char text[64];
        snprintf(text, sizeof text, "%s %%", ek__fixed(100 * timeline->busy[s], 1).text);
        ek__svg_text(out, frame->x + frame->width + 10, frame->y + s * frame->pitch + frame->row / 2 + size * 0.36,
                     size, EK__START, "t", text);
    }
}

ek_status ek__svg_write(const ek_report *report, int case_index, FILE *out, ek_error *err)
{
    assert(case_index >= 0 && case_index < report->n_cases);
    const ek_case *c = &report->cases[case_index];
    const ek_timeline *timeline = c->timeline;
    double scale = ek__svg_memory_scale(report, case_index, 1);
    bool over = ek__any_over_limit(report, timeline);
    ek__frame blocks = {.x = PLOT_LEFT,
                        .width = PLOT_RIGHT - PLOT_LEFT,
                        .y = TIMELINE_TOP,
                        .span = timeline->step_time,
                        .n_rows = timeline->shape.n_stages};
    ek__frame_lay_rows(&blocks, 416, 40, 11, 3);
    ek__frame memory = blocks;
    memory.y = ek__frame_bottom(&blocks) + 84;
    ek__frame_lay_rows(&memory, 640, 90, 16, 4);
    ek__detail detail = ek__svg_detail(timeline, &blocks, true);

    open_page(out, report, c, ek__frame_bottom(&memory) + 54);
    headings(out, &blocks, "Timeline", "busy");
    ek__svg_timeline_legend(out, ek__svg_palette(timeline), detail,
                            detail == EK__BLOCKS && ek__svg_numbered(timeline, &blocks), 260, blocks.y - 26);
    ek__svg_frame(out, &blocks, timeline->step_time);
    ek__svg_timeline(out, timeline, &blocks, detail);
    busy_labels(out, timeline, &blocks);

    headings(out, &memory, "Memory", "peak");
    ek__svg_memory_legend(out, report, over, scale, 260, memory.y - 26);
    ek__svg_frame(out, &memory, timeline->step_time);
    ek__svg_memory(out, report, timeline, &memory, scale, SEGMENTS);
    ek__svg_peaks(out, report, timeline, &memory, memory.x + memory.width + 10, true);
    ek__svg_text(out, memory.x + memory.width / 2, ek__frame_bottom(&memory) + 36, 12, EK__MIDDLE, "m",
                 "time, in the unit of the input");
    ek__svg_close(out);
    return ek__finish(out, err);
}
