/* Draws the blocks of every stage along the time axis, in one of three ways, depending on the width of a block: a
 * rectangle each with its tooltip, one path per stage and shade, or - narrower than a pixel - a stacked chart of the
 * shares of forward and backward in each column of pixels. So a picture stays below a few MB and has no moire. */
#include <math.h>
#include <string.h>

#include "report/svg_internal.h"

enum {
    MAX_TOOLTIPS = 16384, /* about 150 bytes each */
    MAX_STROKES = 120000, /* about 16 bytes each */
    MAX_COLUMNS = EK__PAGE,
    ALL_COLUMNS = 40000, /* of all stages together */
};

ek__detail ek__svg_detail(const ek_timeline *timeline, const ek__frame *frame, bool tooltips)
{
    double per_stage = (double)timeline->n_blocks / timeline->shape.n_stages;
    double width = frame->width / per_stage * (frame->span > 0 ? timeline->step_time / frame->span : 1);
    if (width < 0.6 || timeline->n_blocks > MAX_STROKES)
        return EK__SHARES;
    return tooltips && width >= 1 && timeline->n_blocks <= MAX_TOOLTIPS ? EK__BLOCKS : EK__STROKES;
}

/* Micro-batch numbers: font size, and the width a block needs. The width of the largest number applies to all, so that
 * a row is not labelled only up to 9. */
typedef struct number_label {
    double size, width;
} number_label;

/* Neighbours have a hairline gap if there is room for one. */
static double gap(double width)
{
    return width >= 3 ? 0.6 : width * 0.1;
}

static void draw_block(FILE *out, const ek_timeline *timeline, const ek_interval *b, int stage, const ek__frame *frame,
                       const number_label *label)
{
    static const char *const word[] = {"forward", "backward", "weight gradient"};
    char letter = ek__svg_letter[b->kind];
    int n_chunks = ek__svg_palette(timeline).n_chunks;
    double x = ek__frame_x(frame, b->start), width = ek__frame_x(frame, b->end) - x,
           y = frame->y + stage * frame->pitch;
    int shade = ek__svg_shade(b->chunk, n_chunks);
    fprintf(out, "<rect class=\"%c%d\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>stage %d, %s, ", letter,
            shade, ek__coordinate(x).text, ek__coordinate(y).text, ek__coordinate(width - gap(width)).text,
            ek__coordinate(frame->row).text, stage, word[b->kind]);
    if (n_chunks > 1)
        fprintf(out, "chunk %d, ", b->chunk);
    fprintf(out, "micro-batch %s: %s to %s</title></rect>\n", ek__micro_batch(&timeline->shape, b->micro_batch).text,
            ek__short(b->start).text, ek__short(b->end).text);
    if (width - gap(width) >= label->width)
        fprintf(out, "<text class=\"n n%c%d\" x=\"%s\" y=\"%s\">%s</text>\n", letter, shade,
                ek__coordinate(x + (width - gap(width)) / 2).text,
                ek__coordinate(y + frame->row / 2 + label->size * 0.36).text,
                ek__micro_batch(&timeline->shape, b->micro_batch).text);
}

/* The size at which the largest micro-batch number fits a backward block of average width, within readable bounds. */
static number_label fit_numbers(const ek_timeline *timeline, const ek__frame *frame)
{
    double sum = 0, count = 0, most = fmin(11, frame->row - 1);
    for (size_t i = 0; i < timeline->n_blocks; i++)
        if (timeline->block[i].kind == EK_BACKWARD) {
            sum += timeline->block[i].end - timeline->block[i].start;
            count++;
        }
    ek__digits widest = ek__micro_batch(&timeline->shape, (uint32_t)timeline->shape.n_micro_batches - 1);
    double room = count > 0 ? sum / count / frame->span * frame->width - 2.6 : 0;
    double size = fmin(most, fmax(8, floor(room / ek__svg_text_width(widest.text, 1, false))));
    return (number_label){size, size < 8 ? INFINITY : ek__svg_text_width(widest.text, size, false) + 2};
}

static void draw_blocks(FILE *out, const ek_timeline *timeline, const ek__frame *frame)
{
    number_label label = fit_numbers(timeline, frame);
    fprintf(out, "<g font-size=\"%s\" text-anchor=\"middle\">\n", ek__coordinate(label.size).text);
    for (int s = 0; s < frame->n_rows; s++)
        for (size_t i = timeline->first[s]; i < timeline->first[s + 1]; i++)
            draw_block(out, timeline, &timeline->block[i], s, frame, &label);
    fputs("</g>\n", out);
}

/* Blocks of one kind and shade of a stage as a thick dashed line; those that touch and are narrow become one dash. */
static void draw_stroke(FILE *out, const ek_timeline *timeline, int stage, int kind, int shade, const ek__frame *frame)
{
    double from = 0, to = -1, y = frame->y + stage * frame->pitch + frame->row / 2;
    bool open = false;
    int n_chunks = ek__svg_palette(timeline).n_chunks;
    for (size_t i = timeline->first[stage]; i <= timeline->first[stage + 1]; i++) {
        bool end = i == timeline->first[stage + 1];
        const ek_interval *b = end ? NULL : &timeline->block[i];
        if (b && (b->kind != kind || ek__svg_shade(b->chunk, n_chunks) != shade))
            continue;
        double x = b ? ek__frame_x(frame, b->start) : 0, width = b ? ek__frame_x(frame, b->end) - x : 0;
        if (b && to >= 0 && width < 2 && x - to < 0.05) {
            to = x + width;
            continue;
        }
        if (to >= 0) {
            if (!open)
                fprintf(out, "<path class=\"strokes s%c%d\" d=\"", ek__svg_letter[kind], shade);
            open = true;
            fprintf(out, "M%s %sh%s", ek__coordinate(from).text, ek__coordinate(y).text,
                    ek__coordinate(to - from - gap(to - from)).text);
        }
        from = x;
        to = x + width;
    }
    if (open)
        fputs("\"/>\n", out);
}

static void draw_strokes(FILE *out, const ek_timeline *timeline, const ek__frame *frame)
{
    ek__palette palette = ek__svg_palette(timeline);
    int shades = palette.n_chunks < EK__MAX_SHADES ? palette.n_chunks : EK__MAX_SHADES;
    fprintf(out, "<g stroke-width=\"%s\">\n", ek__coordinate(frame->row).text);
    for (int s = 0; s < frame->n_rows; s++)
        for (int kind = 0; kind < palette.n_kinds; kind++)
            for (int shade = 0; shade < shades; shade++)
                draw_stroke(out, timeline, s, kind, shade, frame);
    fputs("</g>\n", out);
}

/* Add an interval's length to the columns it covers, in columns. */
static void cover(double *column, int n, double from, double to)
{
    for (int i = (int)from; i < n && i < to; i++)
        column[i] += fmax(0, fmin(to, i + 1) - fmax(from, i));
}

/* Area between two stacked curves of shares; columns of equal height (to half a pixel) are one step. */
static void draw_area(FILE *out, const char *style, const double *low, const double *high, int n, double bottom,
                      const ek__frame *frame)
{
    double step = frame->width / n;
    fprintf(out, "<path class=\"%s\" d=\"", style);
    for (int i = 0; i < n;) {
        double y0 = round(low[i] * frame->row * 2) / 2, y1 = round(high[i] * frame->row * 2) / 2;
        int j = i + 1;
        while (j < n && round(low[j] * frame->row * 2) / 2 == y0 && round(high[j] * frame->row * 2) / 2 == y1)
            j++;
        if (y1 > y0)
            fprintf(out, "M%s %sV%sH%sV%sz", ek__coordinate(frame->x + i * step).text, ek__coordinate(bottom - y0).text,
                    ek__coordinate(bottom - y1).text, ek__coordinate(frame->x + j * step).text,
                    ek__coordinate(bottom - y0).text);
        i = j;
    }
    fputs("\"/>\n", out);
}

static void draw_shares(FILE *out, const ek_timeline *timeline, const ek__frame *frame)
{
    ek__palette palette = ek__svg_palette(timeline);
    int shades = palette.n_chunks < EK__MAX_SHADES ? palette.n_chunks : EK__MAX_SHADES;
    double share[EK_N_BLOCK_KINDS][MAX_COLUMNS], low[MAX_COLUMNS], high[MAX_COLUMNS];
    int n = (int)fmin(fmin(frame->width, MAX_COLUMNS), fmax(50, ALL_COLUMNS / (double)frame->n_rows));
    for (int s = 0; s < frame->n_rows; s++) {
        memset(share, 0, sizeof share);
        for (size_t i = timeline->first[s]; i < timeline->first[s + 1]; i++) {
            const ek_interval *b = &timeline->block[i];
            cover(share[b->kind], n, b->start / frame->span * n, b->end / frame->span * n);
        }
        double bottom = frame->y + s * frame->pitch + frame->row;
        memset(high, 0, sizeof high);
        for (int k = 0; k < palette.n_kinds; k++) { /* from below: B, W, F */
            int kind = k == palette.n_kinds - 1 ? EK_FORWARD : k + 1;
            char style[16];
            snprintf(style, sizeof style, "%c%d", ek__svg_letter[kind], shades / 2);
            for (int i = 0; i < n; i++) {
                low[i] = high[i];
                high[i] += share[kind][i];
            }
            draw_area(out, style, low, high, n, bottom, frame);
        }
    }
}

/* A line through the blocks of the critical path, below the middle of each row, so that numbers are readable. */
static void draw_path(FILE *out, const ek_timeline *t, const ek__frame *frame)
{
    size_t per_stage = t->n_blocks / (size_t)t->shape.n_stages;
    double above = -1;
    fputs("<path class=\"path\" d=\"", out);
    for (size_t i = 0; i < t->n_path; i++) {
        const ek_interval *b = &t->block[t->path[i]];
        size_t stage = t->path[i] / per_stage;
        double y = frame->y + (double)stage * frame->pitch + frame->row * 0.86;
        if (y != above)
            fprintf(out, "%c%s %s", i ? 'L' : 'M', ek__coordinate(ek__frame_x(frame, b->start)).text,
                    ek__coordinate(y).text);
        above = y;
        bool stays = i + 1 < t->n_path && t->path[i + 1] / per_stage == stage;
        if (!stays)
            fprintf(out, "H%s", ek__coordinate(ek__frame_x(frame, b->end)).text);
    }
    fputs("\"/>\n", out);
}

void ek__svg_timeline(FILE *out, const ek_timeline *timeline, const ek__frame *frame, ek__detail detail)
{
    if (detail == EK__BLOCKS)
        draw_blocks(out, timeline, frame);
    else if (detail == EK__STROKES)
        draw_strokes(out, timeline, frame);
    else
        draw_shares(out, timeline, frame);
    if (timeline->n_path > 1)
        draw_path(out, timeline, frame);
}

static double shades_swatch(FILE *out, char letter, int first, int shades, double x, double y, const char *text)
{
    for (int i = 0; i < shades; i++, x += 14) {
        char style[16];
        snprintf(style, sizeof style, "%c%d", letter, first + i);
        ek__svg_rect(out, style, x, y - 9, 14, 10);
    }
    ek__svg_text(out, x + 6, y, 12, EK__START, "m", text);
    return x + 6 + ek__svg_text_width(text, 12, false) + 22;
}

bool ek__svg_numbered(const ek_timeline *timeline, const ek__frame *frame)
{
    double needed = fit_numbers(timeline, frame).width, widest = 0;
    for (size_t i = 0; i < timeline->n_blocks; i++)
        widest = fmax(widest, timeline->block[i].end - timeline->block[i].start);
    widest = ek__frame_x(frame, widest) - frame->x;
    return widest - gap(widest) >= needed;
}

double ek__svg_timeline_legend(FILE *out, ek__palette palette, ek__detail detail, bool numbered, double x, double y)
{
    int n_chunks = palette.n_chunks, shades = n_chunks < EK__MAX_SHADES ? n_chunks : EK__MAX_SHADES;
    char forward[48] = "forward", backward[48] = "backward";
    int first = detail == EK__SHARES ? shades / 2 : 0;
    if (detail == EK__SHARES)
        shades = 1;
    else if (n_chunks > 1) {
        snprintf(forward, sizeof forward, "forward, chunk 0 to %d", n_chunks - 1);
        snprintf(backward, sizeof backward, "backward, chunk 0 to %d", n_chunks - 1);
    }
    x = shades_swatch(out, 'f', first, shades, x, y, forward);
    x = shades_swatch(out, 'b', first, shades, x, y, backward);
    if (palette.n_kinds > 2)
        x = shades_swatch(out, 'w', first, shades, x, y, "weight gradient");
    x = ek__svg_swatch(out, "idle", x, y, "idle");
    x = ek__svg_swatch(out, "path", x, y, "critical path");
    const char *note = detail == EK__SHARES ? "too many blocks to draw each: shares of forward and backward per column"
                       : numbered           ? "numbers: micro-batch"
                                            : NULL;
    if (note) {
        ek__svg_text(out, x, y, 12, EK__START, "m", note);
        x += ek__svg_text_width(note, 12, false) + 22;
    }
    return x;
}
