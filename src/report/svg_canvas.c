/* Primitives of the pictures: escaping, text with a conservative width, colours, ticks and the frame of rows. Nothing
 * may be cut off for a reader with other fonts, so widths are those of DejaVu Sans, the widest common face. */
#include <math.h>
#include <string.h>

#include "report/role_colors.h"
#include "report/svg_internal.h"

typedef ek__rgb rgb;

/* The role of a kind of block on the page. */
static const ek_view_type role_of[EK_N_BLOCK_KINDS] = {EK_VIEW_FORWARD, EK_VIEW_BACKWARD, EK_VIEW_BACKWARD_WEIGHT};
static const rgb ink[2] = {{16, 28, 44}, {255, 255, 255}};

/* Advance widths of DejaVu Sans for ' ' .. '~', in hundredths of the font size, rounded up. */
static const unsigned char advance[95] = {32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37,  32, 34, 64, 64, 64,
                                          64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64,
                                          58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64,  62, 74, 69, 99, 69,
                                          62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,  64, 64, 28, 28, 58,
                                          28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60,  53, 64, 34, 64, 84};

ek__digits ek__coordinate(double value)
{
    ek__digits out = ek__fixed(value, 2);
    size_t n = strlen(out.text);
    while (n > 0 && out.text[n - 1] == '0')
        n--;
    if (n > 0 && out.text[n - 1] == '.')
        n--;
    out.text[n] = '\0';
    return out;
}

void ek__svg_escape(FILE *out, const char *text)
{
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '<')
            fputs("&lt;", out);
        else if (code == '>')
            fputs("&gt;", out);
        else if (code == '&')
            fputs("&amp;", out);
        else if (code == '"')
            fputs("&quot;", out);
        else {
            bool forbidden = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xfffe || code == 0xffff;
            ek__utf8_print(forbidden ? 0xfffd : code, out);
        }
    }
}

static double character_width(uint32_t code, double size, bool bold)
{
    double hundredths = code >= ' ' && code <= '~' ? advance[code - ' '] : code == 0xb7 ? 32 : 105;
    return size * hundredths / 100 * (bold ? 1.2 : 1);
}

double ek__svg_text_width(const char *text, double size, bool bold)
{
    double width = 0;
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length)
        width += character_width(code, size, bold);
    return width;
}

void ek__svg_fit(const char *text, double size, bool bold, double width, char *out, size_t room)
{
    static const char ellipsis[] = "…";
    bool whole = ek__svg_text_width(text, size, bold) <= width && strlen(text) < room;
    double left = width - (whole ? 0 : character_width(0x2026, size, bold));
    size_t n = 0;
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        left -= character_width(code, size, bold);
        if (!whole && (left < 0 || n + 4 + sizeof ellipsis > room))
            break;
        memcpy(out + n, text, (size_t)length);
        n += (size_t)length;
    }
    memcpy(out + n, whole ? "" : ellipsis, whole ? 1 : sizeof ellipsis);
}

void ek__svg_text(FILE *out, double x, double y, double size, ek__anchor anchor, const char *style, const char *text)
{
    static const char *const attribute[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%s\" font-size=\"%s\"%s>", style, ek__coordinate(x).text,
            ek__coordinate(y).text, ek__coordinate(size).text, attribute[anchor]);
    ek__svg_escape(out, text);
    fputs("</text>\n", out);
}

void ek__svg_rect(FILE *out, const char *style, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", style, ek__coordinate(x).text,
            ek__coordinate(y).text, ek__coordinate(width).text, ek__coordinate(height).text);
}

void ek__svg_line(FILE *out, const char *style, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", style, ek__coordinate(x1).text, ek__coordinate(y1).text,
            ek__coordinate(x2).text, ek__coordinate(y2).text);
}

const char ek__svg_letter[EK_N_BLOCK_KINDS] = {'f', 'b', 'w'};

ek__palette ek__svg_palette(const ek_timeline *timeline)
{
    const ek_schedule *schedule = timeline->schedule;
    return (ek__palette){.n_chunks = schedule->placement == EK_PLACE_BOTH_WAYS ? 2 : timeline->shape.n_chunks,
                         .n_kinds = schedule->splits_backward ? 3 : 2};
}

int ek__svg_shade(int chunk, int n_chunks)
{
    return n_chunks <= EK__MAX_SHADES ? chunk : chunk * EK__MAX_SHADES / n_chunks;
}

static double luminance(rgb c)
{
    double part[3] = {c.r / 255.0, c.g / 255.0, c.b / 255.0};
    for (int i = 0; i < 3; i++)
        part[i] = part[i] <= 0.04045 ? part[i] / 12.92 : pow((part[i] + 0.055) / 1.055, 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

/* Contrast as WCAG 2 defines it. */
static double contrast(rgb a, rgb b)
{
    double high = fmax(luminance(a), luminance(b)), low = fmin(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

/* The roles of a stage's memory parts on the page. */
static void role_rules(FILE *out, int dark)
{
    rgb of_static = ek__role_rgb(EK_VIEW_PARAMETERS, dark != 0),
        activation = ek__role_rgb(EK_VIEW_ACTIVATIONS, dark != 0);
    fprintf(out, ".static{fill:#%02x%02x%02x}.activation{fill:#%02x%02x%02x}\n", of_static.r, of_static.g, of_static.b,
            activation.r, activation.g, activation.b);
}

static void shade_rules(FILE *out, ek__palette palette, int dark)
{
    int n = palette.n_chunks < EK__MAX_SHADES ? palette.n_chunks : EK__MAX_SHADES;
    for (int kind = 0; kind < palette.n_kinds; kind++)
        for (int i = 0; i < n; i++) {
            rgb c = ek__chunk_rgb(role_of[kind], i, n, dark != 0);
            rgb on = contrast(c, ink[0]) >= contrast(c, ink[1]) ? ink[0] : ink[1];
            char letter = ek__svg_letter[kind];
            fprintf(out, ".%c%d{fill:#%02x%02x%02x}.s%c%d{stroke:#%02x%02x%02x}.n%c%d{fill:#%02x%02x%02x}\n", letter, i,
                    c.r, c.g, c.b, letter, i, c.r, c.g, c.b, letter, i, on.r, on.g, on.b);
        }
}

static void style(FILE *out, ek__palette palette)
{
    fputs("<style>\n"
          "text{font-family:'Segoe UI','Helvetica Neue',Arial,'Noto Sans','DejaVu Sans',sans-serif}\n"
          ".h,.bad{font-weight:bold}\n"
          ".n{pointer-events:none}\n"
          ".grid,.rule,.limit,.strokes,.path{fill:none}\n"
          ".limit{stroke-dasharray:6 3}\n"
          ".page{fill:#fff}.t,.h,.dot{fill:#1a2430}.m{fill:#566272}.bad,.over{fill:#c3202b}\n"
          ".idle{fill:#eef1f5}.grid{stroke:#d3dae2}.rule{stroke:#aab4c0}.limit{stroke:#c3202b}\n"
          ".path{stroke:#c3202b;stroke-width:1.6}\n",
          out);
    role_rules(out, 0);
    shade_rules(out, palette, 0);
    fputs("@media (prefers-color-scheme:dark){\n"
          ".page{fill:#12171d}.t,.h,.dot{fill:#e6eaef}.m{fill:#9aa7b5}.bad{fill:#ff8078}.over{fill:#f0483e}\n"
          ".idle{fill:#1d242c}.grid{stroke:#343e49}.rule{stroke:#56626f}.limit{stroke:#ff8078}\n"
          ".path{stroke:#ff8078;stroke-width:1.6}\n",
          out);
    role_rules(out, 1);
    shade_rules(out, palette, 1);
    fputs("}\n</style>\n", out);
}

void ek__svg_open(FILE *out, double height, const char *title, const char *description, ek__palette palette)
{
    ek__digits h = ek__coordinate(ceil(height));
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %s\" width=\"%d\" height=\"%s\" role=\"img\" "
            "aria-labelledby=\"title desc\">\n<title id=\"title\">",
            EK__PAGE, h.text, EK__PAGE, h.text);
    ek__svg_escape(out, title);
    fputs("</title>\n<desc id=\"desc\">", out);
    ek__svg_escape(out, description);
    fputs("</desc>\n", out);
    style(out, palette);
    fprintf(out, "<rect class=\"page\" x=\"0\" y=\"0\" width=\"%d\" height=\"%s\"/>\n", EK__PAGE, h.text);
}

void ek__svg_close(FILE *out)
{
    fputs("</svg>\n", out);
}

double ek__frame_x(const ek__frame *frame, double time)
{
    return frame->x + (frame->span > 0 ? time / frame->span : 0) * frame->width;
}

double ek__frame_bottom(const ek__frame *frame)
{
    return frame->y + frame->pitch * (frame->n_rows - 1) + frame->row;
}

double ek__frame_label_size(const ek__frame *frame)
{
    return fmin(12, fmax(9, frame->pitch - 3));
}

int ek__frame_label_step(const ek__frame *frame, double size)
{
    static const int steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, EK_MAX_STAGES};
    int i = 0;
    while (steps[i] < EK_MAX_STAGES && steps[i] * frame->pitch < size * 1.2)
        i++;
    return steps[i];
}

double ek__axis_at(const ek__axis *axis, double value)
{
    double low = axis->low, high = axis->high;
    if (axis->logarithm) {
        low = log(low);
        high = log(high);
        value = log(value);
    }
    return axis->from + (high > low ? (value - low) / (high - low) : 0.5) * (axis->to - axis->from);
}

void ek__frame_lay_rows(ek__frame *frame, double total, double most, double least, double tiny)
{
    double pitch = fmin(most, fmax(least, total / frame->n_rows));
    if (pitch * frame->n_rows > total * 2)
        pitch = fmax(tiny, total * 2 / frame->n_rows);
    frame->pitch = pitch;
    frame->row = pitch - (pitch >= 8 ? fmin(4, pitch * 0.15) : pitch * 0.1);
}

void ek__svg_frame(FILE *out, const ek__frame *frame, double until)
{
    double size = ek__frame_label_size(frame);
    for (int s = 0; s < frame->n_rows; s++)
        ek__svg_rect(out, "idle", frame->x, frame->y + s * frame->pitch, ek__frame_x(frame, until) - frame->x,
                     frame->row);
    int every = ek__frame_label_step(frame, size);
    for (int s = 0; s < frame->n_rows; s += every) {
        char text[16];
        snprintf(text, sizeof text, "%d", s);
        ek__svg_text(out, frame->x - 8, frame->y + s * frame->pitch + frame->row / 2 + size * 0.36, size, EK__END, "m",
                     text);
    }
    ek__svg_ticks(out, frame);
}

void ek__svg_ticks(FILE *out, const ek__frame *frame)
{
    double bottom = ek__frame_bottom(frame);
    if (!(frame->span > 0))
        return;
    double step = ek__nice_step(frame->span * 100 / frame->width); /* 100 pixels and more apart */
    for (int k = 0; k * step <= frame->span * (1 + 1e-9); k++) {
        double x = ek__frame_x(frame, k * step);
        ek__svg_line(out, "grid", x, frame->y - 2, x, bottom + 4);
        ek__svg_text(out, x, bottom + 16, 11, EK__MIDDLE, "m", ek__short(k * step).text);
    }
}

double ek__svg_swatch(FILE *out, const char *swatch_style, double x, double y, const char *text)
{
    if (strcmp(swatch_style, "limit") == 0 || strcmp(swatch_style, "path") == 0)
        ek__svg_line(out, swatch_style, x, y - 4, x + 18, y - 4);
    else
        ek__svg_rect(out, swatch_style, x, y - 9, 18, 10);
    ek__svg_text(out, x + 24, y, 12, EK__START, "m", text);
    return x + 24 + ek__svg_text_width(text, 12, false) + 22;
}
