/* report/svg_internal.h - the parts both pictures are put together from.
 *
 * Colours are plain class rules with a dark variant in a media query, because librsvg knows neither CSS variables nor
 * preferences: it then shows the light variant. */
#ifndef EK_REPORT_SVG_INTERNAL_H
#define EK_REPORT_SVG_INTERNAL_H

#include "report/report_internal.h"

/** Pixels: width of both pictures and their outer margin. */
enum { EK__PAGE = 1600, EK__MARGIN = 24 };

/** Chunks are told apart by at most this many shades. */
enum { EK__MAX_SHADES = 8 };

/** Rows under one another on a shared time axis, one per stage. Pixels, but for `span`. */
typedef struct ek__frame {
    double x, width;   /**< of the plot */
    double y;          /**< top of the first row */
    double pitch, row; /**< from one row's top to the next one's; height of a row */
    double span;       /**< time at the right edge */
    int n_rows;
} ek__frame;

/** Values and where they stand. Pixels from and to: of the least and the greatest value. */
typedef struct ek__axis {
    double low, high;
    double step; /**< between ticks, where they are even */
    double from, to;
    bool logarithm; /**< equal ratios are equally far apart; low > 0 */
} ek__axis;

typedef enum ek__anchor { EK__START, EK__MIDDLE, EK__END } ek__anchor;

/* svg_canvas.c */

/** What the blocks of a picture are told apart by. */
typedef struct ek__palette {
    int n_chunks; /**< of a stage: a shade each, up to EK__MAX_SHADES */
    int n_kinds;  /**< 3 where a backward is split */
} ek__palette;
ek__palette ek__svg_palette(const ek_timeline *timeline);

/** Open the picture: size, accessible title and description, style for `n_chunks` chunks, background. */
void ek__svg_open(FILE *out, double height, const char *title, const char *description, ek__palette palette);
void ek__svg_close(FILE *out);
/** Text escaped for XML; what XML forbids becomes U+FFFD. */
void ek__svg_escape(FILE *out, const char *text);
/** Width that no common sans-serif face exceeds for this text. */
double ek__svg_text_width(const char *text, double size, bool bold);
/** Copy `text`, cut with an ellipsis to fit `width`. `out` holds `room` bytes. */
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
/** Labels of rows closer together than their text: every how many one is printed. */
int ek__frame_label_step(const ek__frame *frame, double size);
double ek__frame_label_size(const ek__frame *frame);
/** Row backgrounds up to the time `until`, grid lines at the ticks, stage numbers on the left, tick labels below. */
void ek__svg_frame(FILE *out, const ek__frame *frame, double until);
/** The grid lines at the ticks and their labels alone. */
void ek__svg_ticks(FILE *out, const ek__frame *frame);
/** Heights of rows that share about `total` pixels: pitch within least..most, but less (to `tiny`) for many rows. */
void ek__frame_lay_rows(ek__frame *frame, double total, double most, double least, double tiny);
/** Patch of colour and its meaning; returns the x after it. */
double ek__svg_swatch(FILE *out, const char *style, double x, double y, const char *text);

/* svg_timeline.c */

/** How blocks are drawn, by how many there are and how wide. */
typedef enum ek__detail {
    EK__BLOCKS,  /**< a rectangle each, with a tooltip and its micro-batch's number where it fits */
    EK__STROKES, /**< one path per stage and shade */
    EK__SHARES,  /**< narrower than a pixel: per column of pixels, the shares of forward and backward */
} ek__detail;

ek__detail ek__svg_detail(const ek_timeline *timeline, const ek__frame *frame, bool tooltips);
void ek__svg_timeline(FILE *out, const ek_timeline *timeline, const ek__frame *frame, ek__detail detail);
/** Has any block room for its micro-batch's number? */
bool ek__svg_numbered(const ek_timeline *timeline, const ek__frame *frame);
double ek__svg_timeline_legend(FILE *out, ek__palette palette, ek__detail detail, bool numbered, double x, double y);

/* svg_memory.c */

/** Top of a memory row in MB: the limit or the fullest peak of any case, and a little room above it. */
double ek__svg_memory_scale(const ek_report *report, int first_case, int n_cases);
/** @param n_segments  about how many steps all curves may have; finer ones are drawn as their upper envelope */
void ek__svg_memory(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame,
                    double scale_mb, double n_segments);
/** Each stage's peak to the right of its row, and by how much it is over. */
void ek__svg_peaks(FILE *out, const ek_report *report, const ek_timeline *timeline, const ek__frame *frame, double x,
                   bool wide);
double ek__svg_memory_legend(FILE *out, const ek_report *report, bool any_over, double scale_mb, double x, double y);

#endif
