/* report/svg_internal.h - the common parts of the pictures.
 *
 * Colours are plain class rules with a dark variant in a media query, because librsvg knows neither CSS variables nor
 * preferences: it then shows the light variant. */
#ifndef EK_REPORT_SVG_INTERNAL_H
#define EK_REPORT_SVG_INTERNAL_H

#include "report/report_internal.h"

/** Pixels: width of both pictures and their outer margin. */
enum { EK__PAGE = 1600, EK__MARGIN = 24 };

/** Chunks are distinguished by at most this many shades. */
enum { EK__MAX_SHADES = 8 };

/** Rows under one another on a shared time axis, one per stage. In pixels, except `span`. */
typedef struct ek__frame {
    double x, width;   /**< of the plot */
    double y;          /**< top of the first row */
    double pitch, row; /**< from one row's top to the next one's; height of a row */
    double span;       /**< time at the right edge */
    int n_rows;
} ek__frame;

/** Values and their positions. Pixels from and to: of the minimum and the maximum. */
typedef struct ek__axis {
    double low, high;
    double step; /**< between ticks, if they are even */
    double from, to;
    bool logarithm; /**< equal ratios are equally far apart; low > 0 */
} ek__axis;

typedef enum ek__anchor { EK__START, EK__MIDDLE, EK__END } ek__anchor;

/* svg_canvas.c */

/** The classes of a picture's blocks. */
typedef struct ek__palette {
    int n_chunks; /**< of a stage: a shade each, up to EK__MAX_SHADES */
    int n_kinds;  /**< 3 if a backward is split */
} ek__palette;
ek__palette ek__svg_palette(const ek_timeline *timeline);

/** Open the picture: size, accessible title and description, style for `n_chunks` chunks, background. */
void ek__svg_open(FILE *out, double height, const char *title, const char *description, ek__palette palette);
void ek__svg_close(FILE *out);
/** Text escaped for XML; characters forbidden in XML become U+FFFD. */
void ek__svg_escape(FILE *out, const char *text);
/** Width that no common sans-serif face exceeds for this text. */
double ek__svg_text_width(const char *text, double size, bool bold);
/** Copy `text`, cut with an ellipsis to fit `width`. `out` has `room` bytes. */
void ek__svg_fit(const char *text, double size, bool bold, double width, char *out, size_t room);
/** One line of text; `style` is a class: "t" plain, "m" muted, "h" bold, "bad" an alarm. */
void ek__svg_text(FILE *out, double x, double y, double size, ek__anchor anchor, const char *style, const char *text);
void ek__svg_rect(FILE *out, const char *style, double x, double y, double width, double height);
void ek__svg_line(FILE *out, const char *style, double x1, double y1, double x2, double y2);
/** A coordinate: two decimals, zeros cut. */
ek__digits ek__coordinate(double value);
/** Letter of a kind of block in the names of styles: f, b, w. */
extern const char ek__svg_letter[EK_N_BLOCK_KINDS];
/** Shade of a chunk, 0 .. min(n_chunks, EK__MAX_SHADES) - 1. */
int ek__svg_shade(int chunk, int n_chunks);
double ek__axis_at(const ek__axis *axis, double value);
double ek__frame_x(const ek__frame *frame, double time);
double ek__frame_bottom(const ek__frame *frame);
/** If rows are closer together than the text of their labels: the interval of printed labels. */
int ek__frame_label_step(const ek__frame *frame, double size);
double ek__frame_label_size(const ek__frame *frame);
/** Row backgrounds up to the time `until`, grid lines at the ticks, stage numbers on the left, tick labels below. */
void ek__svg_frame(FILE *out, const ek__frame *frame, double until);
/** Only the grid lines at the ticks and their labels. */
void ek__svg_ticks(FILE *out, const ek__frame *frame);
/** Heights of rows that share about `total` pixels: pitch within least..most, but less (to `tiny`) for many rows. */
void ek__frame_lay_rows(ek__frame *frame, double total, double most, double least, double tiny);
/** Patch of colour and its meaning; returns the x after it. */
double ek__svg_swatch(FILE *out, const char *style, double x, double y, const char *text);

/* svg_timeline.c */

/** The drawing of blocks, by their number and width. */
typedef enum ek__detail {
    EK__BLOCKS,  /**< a rectangle each, with a tooltip and, if it fits, its micro-batch's number */
    EK__STROKES, /**< one path per stage and shade */
    EK__SHARES,  /**< narrower than a pixel: per column of pixels, the shares of forward and backward */
} ek__detail;

ek__detail ek__svg_detail(const ek_timeline *timeline, const ek__frame *frame, bool tooltips);
void ek__svg_timeline(FILE *out, const ek_timeline *timeline, const ek__frame *frame, ek__detail detail);
/** Does any block have room for its micro-batch's number? */
bool ek__svg_numbered(const ek_timeline *timeline, const ek__frame *frame);
double ek__svg_timeline_legend(FILE *out, ek__palette palette, ek__detail detail, bool numbered, double x, double y);

/* svg_memory.c */

/** Top of a memory row in MB: the limit or the fullest peak of any case, and a small margin above it. */
double ek__svg_memory_scale(const ek_report *report, int first_case, int n_cases);
/** @param n_segments  approximate maximum number of steps of all curves; finer ones are drawn as their upper envelope
 */
void ek__svg_memory(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame,
                    double scale_mb, double n_segments);
/** Each stage's peak to the right of its row, and its excess over the limit. */
void ek__svg_peaks(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame, double x,
                   bool wide);
double ek__svg_memory_legend(FILE *out, const ek_report *report, bool any_over, double scale_mb, double x, double y);

#endif
