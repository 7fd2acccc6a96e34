/* Draws layouts: the step of each against the memory of its fullest stage, twice: all of them, and those near the best;
 * below it the numbered best plans. Layouts without a plan are drawn at their bounds. Overlapping marks are drawn once,
 * in the order of the step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layout_picture.h"
#include "report/svg_internal.h"
#include "report/writers.h"

enum {
    TOP = 152,
    BOTTOM = 676,
    ALL_LEFT = 96,
    ALL_RIGHT = 806,
    NEAR_LEFT = 908,
    NEAR_RIGHT = 1572,
    ROW = 23,
    MOST_COLORS = 8,
    MOST_LISTED = 20,
    MARK_CELL = 3, /* pixels: hollow marks closer than this are one */
};

static const double most_ratio = 40;    /* of steps in the picture of all */
static const double most_memory = 1.25; /* of the limit or the largest plan */

typedef struct drawing {
    FILE *out;
    const ek_layout_result *r;
    ek_layout_axis color;
    int n_values, value[MOST_COLORS]; /* of that axis, rising; larger ones have the last colour */
    double unit;                      /* MB of one on the axis */
    const char *unit_name;
    ek_layout_front plans, bounds;
    ek__axis x, y; /* of the drawn plot */
    int plot;      /* 0: all, 1: near the best */
    ek_error *err;
} drawing;

static void write_style(FILE *out)
{
    static const char *const light[MOST_COLORS] = {"#5b2a86", "#2b7bd4", "#12a594", "#7aa51c",
                                                   "#d99a0c", "#e0702b", "#cf3a3a", "#8a5540"};
    static const char *const dark[MOST_COLORS] = {"#b48be0", "#62aaf5", "#35c7b5", "#a3d04a",
                                                  "#f0bd45", "#f29a60", "#f07a76", "#c79a80"};
    fputs("<style>\n", out);
    for (int i = 0; i < MOST_COLORS; i++)
        fprintf(out, ".q%d{fill:%s}.r%d{stroke:%s}\n", i, light[i], i, light[i]);
    fputs(".ring{fill:none;stroke-width:1}.front{fill:none;stroke:#1a2430;stroke-width:1.6}\n"
          ".below{fill:none;stroke:#566272;stroke-dasharray:3 3}.edge{fill:none;stroke:#aab4c0}\n"
          ".plan{stroke:#fff;stroke-width:1}.proved{fill:none;stroke:#1a2430;stroke-width:1.2}\n"
          ".today{fill:none;stroke:#1a2430;stroke-width:2}.lead{stroke:#8a95a3;fill:none}\n"
          ".number{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\n"
          "@media (prefers-color-scheme:dark){\n",
          out);
    for (int i = 0; i < MOST_COLORS; i++)
        fprintf(out, ".q%d{fill:%s}.r%d{stroke:%s}\n", i, dark[i], i, dark[i]);
    fputs(".front{stroke:#e6eaef}.below{stroke:#9aa7b5}.edge{stroke:#56626f}.plan{stroke:#12171d}\n"
          ".proved{stroke:#e6eaef}.today{stroke:#e6eaef}.lead{stroke:#6b7683}.number{stroke:#12171d}\n"
          "}\n</style>\n",
          out);
}

/* ---- selection ---- */

static int rising(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void find_values(drawing *d)
{
    int seen[64] = {0}, n = 0;
    for (long i = 0; i < d->r->n_points && n < 64; i++) {
        int value = d->r->point[i].layout.value[d->color], k = 0;
        while (k < n && seen[k] != value)
            k++;
        if (k == n)
            seen[n++] = value;
    }
    qsort(seen, (size_t)n, sizeof *seen, rising);
    d->n_values = n < MOST_COLORS ? n : MOST_COLORS;
    memcpy(d->value, seen, (size_t)d->n_values * sizeof *seen);
}

static int color_of(const drawing *d, const ek_layout *layout)
{
    int i = 0;
    while (i + 1 < d->n_values && layout->value[d->color] > d->value[i])
        i++;
    return i;
}

static double peak_of(const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    return (double)m->stage[m->fullest].actual_peak / (1 << 20);
}

static bool has_today(const ek_layout_result *r)
{
    return r->today.job.path != NULL;
}

static bool is_inside(const drawing *d, double mb, double seconds)
{
    double x = mb / d->unit;
    return x >= d->x.low && x <= d->x.high && seconds >= d->y.low && seconds <= d->y.high;
}

static double x_at(const drawing *d, double mb)
{
    return ek__axis_at(&d->x, mb / d->unit);
}

/* ---- axes ---- */

typedef struct extent {
    double low_mb, high_mb, low, high; /* MB, seconds */
} extent;

static void parse(double mb, double seconds, extent *e)
{
    e->low_mb = fmin(e->low_mb, mb);
    e->high_mb = fmax(e->high_mb, mb);
    e->low = fmin(e->low, seconds);
    e->high = fmax(e->high, seconds);
}

static const extent nothing = {INFINITY, -INFINITY, INFINITY, -INFINITY};

/* Plans, and the others that are at most a given factor longer or larger. */
static extent extent_of_all(const ek_layout_result *r)
{
    extent plans = nothing, all = nothing;
    for (long i = 0; i < r->n_points; i++) {
        parse(r->point[i].peak_mb, r->point[i].seconds, &all);
        if (r->point[i].found)
            parse(r->point[i].peak_mb, r->point[i].seconds, &plans);
    }
    if (has_today(r))
        parse(peak_of(&r->today), r->today.estimate.step.seconds, &plans);
    if (r->job->limit_mb > 0)
        plans.high_mb = fmax(plans.high_mb, r->job->limit_mb);
    if (plans.high_mb > 0)
        all.high_mb = fmin(fmax(all.high_mb, plans.high_mb), most_memory * plans.high_mb);
    all.high = fmin(all.high, fmax(most_ratio * all.low, plans.high));
    all.low = fmin(all.low, plans.low);
    all.low_mb = fmin(all.low_mb, plans.low_mb);
    return all;
}

static extent extent_near(const ek_layout_result *r)
{
    extent e = nothing;
    for (int i = 0; i < r->n_plans; i++)
        parse(peak_of(&r->plan[i]), r->plan[i].estimate.step.seconds, &e);
    double spread = e.high - e.low, upper = e.high + fmax(0.25 * spread, 0.01 * e.high);
    for (long i = 0; i < r->n_points; i++)
        if (r->point[i].found && r->point[i].seconds <= upper)
            parse(r->point[i].peak_mb, r->point[i].seconds, &e);
    double limit = r->job->limit_mb;
    if (limit > 0 && limit - e.high_mb < 0.5 * (e.high_mb - e.low_mb))
        e.high_mb = fmax(e.high_mb, limit);
    return e;
}

/* With a margin; the step's axis keeps its ratio above 1.02. */
static void lay_axes(drawing *d, const extent *e, double margin)
{
    double wide = fmax(e->high_mb - e->low_mb, 0.02 * e->high_mb) * margin, ratio = pow(e->high / e->low, margin);
    if (ratio < 1.01)
        ratio = 1.01;
    d->x = (ek__axis){.low = fmax(0, e->low_mb - wide) / d->unit,
                      .high = (e->high_mb + wide) / d->unit,
                      .from = d->plot ? NEAR_LEFT : ALL_LEFT,
                      .to = d->plot ? NEAR_RIGHT : ALL_RIGHT};
    d->x.step = ek__nice_step((d->x.high - d->x.low) / 8);
    d->y = (ek__axis){.low = e->low / ratio, .high = e->high * ratio, .from = BOTTOM, .to = TOP, .logarithm = true};
}

static void step_tick(const drawing *d, double value)
{
    double y = ek__axis_at(&d->y, value);
    if (value < d->y.low || value > d->y.high)
        return;
    ek__svg_line(d->out, "grid", d->x.from, y, d->x.to, y);
    ek__svg_text(d->out, d->x.from - 8, y + 4, 12, EK__END, "m", ek__short(value).text);
}

/* Round multiples of the powers of ten; on a short axis, even steps. */
static void step_ticks(const drawing *d)
{
    static const double multiples[2][8] = {{1, 1.5, 2, 3, 4, 5, 7, 0}, {1, 2, 5, 0}};
    double ratio = d->y.high / d->y.low;
    if (ratio < 3) {
        double step = ek__nice_step((d->y.high - d->y.low) / 9);
        for (long k = (long)ceil(d->y.low / step); (double)k * step <= d->y.high; k++)
            step_tick(d, (double)k * step);
        return;
    }
    const double *multiple = multiples[ratio < 60 ? 0 : 1];
    for (int power = (int)floor(log10(d->y.low)); power <= (int)floor(log10(d->y.high)); power++)
        for (int k = 0; multiple[k] > 0; k++)
            step_tick(d, pow(10, power) * multiple[k]);
}

static void memory_ticks(const drawing *d)
{
    for (long k = (long)ceil(d->x.low / d->x.step); (double)k * d->x.step <= d->x.high * (1 + 1e-12); k++) {
        double value = (double)k * d->x.step, x = ek__axis_at(&d->x, value);
        ek__svg_line(d->out, "grid", x, TOP, x, BOTTOM);
        ek__svg_text(d->out, x, BOTTOM + 18, 12, EK__MIDDLE, "m", ek__short(value).text);
    }
}

static void draw_frame(const drawing *d, const char *title)
{
    char text[120];
    fprintf(d->out, "<clipPath id=\"plot%d\"><rect x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\"/></clipPath>\n",
            d->plot, ek__coordinate(d->x.from).text, TOP, ek__coordinate(d->x.to - d->x.from).text, BOTTOM - TOP);
    step_ticks(d);
    memory_ticks(d);
    fprintf(d->out, "<path class=\"edge\" d=\"M%s %dV%dH%s\"/>\n", ek__coordinate(d->x.from).text, TOP, BOTTOM,
            ek__coordinate(d->x.to).text);
    ek__svg_text(d->out, d->x.from - 40, TOP - 16, 13, EK__START, "t", title);
    snprintf(text, sizeof text, "memory of the fullest stage, %s", d->unit_name);
    ek__svg_text(d->out, (d->x.from + d->x.to) / 2, BOTTOM + 40, 12, EK__MIDDLE, "m", text);
}

static void draw_limit(const drawing *d)
{
    double limit = d->r->job->limit_mb / d->unit, x = ek__axis_at(&d->x, limit);
    char text[64];
    if (!(limit > 0) || limit < d->x.low || limit > d->x.high)
        return;
    ek__svg_line(d->out, "limit", x, TOP, x, BOTTOM);
    snprintf(text, sizeof text, "limit %s %s", ek__short(limit).text, d->unit_name);
    bool left = x + ek__svg_text_width(text, 12, false) + 8 > d->x.to;
    ek__svg_text(d->out, left ? x - 5 : x + 5, TOP + 12, 12, left ? EK__END : EK__START, "bad", text);
}

/* ---- marks ---- */

/* Hollow ones of a colour as one path, each cell of pixels once. */
static long draw_bounds(const drawing *d, int color, unsigned char *taken)
{
    long beyond = 0;
    bool begun = false;
    for (long i = 0; i < d->r->n_points; i++) {
        const ek_layout_point *p = &d->r->point[i];
        if (p->found || color_of(d, &p->layout) != color)
            continue;
        if (!is_inside(d, p->peak_mb, p->seconds)) {
            beyond++;
            continue;
        }
        double x = x_at(d, p->peak_mb), y = ek__axis_at(&d->y, p->seconds);
        unsigned char *cell = &taken[(int)(y / MARK_CELL) * (EK__PAGE / MARK_CELL) + (int)(x / MARK_CELL)];
        if (*cell)
            continue;
        *cell = 1;
        if (!begun)
            fprintf(d->out, "<path class=\"ring r%d\" d=\"", color);
        fprintf(d->out, "M%s %sa2 2 0 1 0 4 0a2 2 0 1 0 -4 0", ek__coordinate(x - 2).text, ek__coordinate(y).text);
        begun = true;
    }
    if (begun)
        fputs("\"/>\n", d->out);
    return beyond;
}

static const ek_layout_plan *plan_of(const ek_layout_result *r, const ek_layout_point *p, int *number)
{
    for (*number = 0; *number < r->n_plans; ++*number)
        if (ek_layout_equal(&r->plan[*number].layout, &p->layout))
            return &r->plan[*number];
    return NULL;
}

static void draw_plan(const drawing *d, const ek_layout_point *p)
{
    int number;
    char words[200];
    const ek_layout_plan *plan = plan_of(d->r, p, &number);
    double x = x_at(d, p->peak_mb), y = ek__axis_at(&d->y, p->seconds);
    if (!is_inside(d, p->peak_mb, p->seconds))
        return;
    fprintf(d->out, "<circle class=\"plan q%d\" cx=\"%s\" cy=\"%s\" r=\"%s\"><title>", color_of(d, &p->layout),
            ek__coordinate(x).text, ek__coordinate(y).text,
            plan      ? "6"
            : d->plot ? "4.5"
                      : "3.5");
    if (plan)
        fprintf(d->out, "%d: ", number + 1);
    ek__svg_escape(d->out, ek_layout_words(&p->layout, words, sizeof words));
    fprintf(d->out, "; step %s, %s %s</title></circle>\n", ek__seconds(p->seconds).text,
            ek__short(p->peak_mb / d->unit).text, d->unit_name);
}

/* The best last, so that they are on top. */
static void draw_plans(const drawing *d)
{
    for (int best = 0; best < 2; best++)
        for (long i = 0; i < d->r->n_points; i++)
            if (d->r->point[i].found && (d->r->point[i].fate == EK_FATE_PLAN) == best)
                draw_plan(d, &d->r->point[i]);
}

static void draw_today(const drawing *d)
{
    if (!has_today(d->r))
        return;
    double mb = peak_of(&d->r->today), seconds = d->r->today.estimate.step.seconds;
    double x = x_at(d, mb), y = ek__axis_at(&d->y, seconds);
    if (!is_inside(d, mb, seconds))
        return;
    fprintf(d->out,
            "<path class=\"today\" d=\"M%s %sl9 9l9 -9l-9 -9z\"><title>the job's own layout: step %s, %s %s"
            "</title></path>\n",
            ek__coordinate(x - 9).text, ek__coordinate(y).text, ek__seconds(seconds).text, ek__short(mb / d->unit).text,
            d->unit_name);
    bool left = x + 60 > d->x.to;
    ek__svg_text(d->out, left ? x - 13 : x + 13, y - 6, 12, left ? EK__END : EK__START, "h", "today");
}

/* ---- fronts ---- */

/* From the top down to the first point, right to the next one's memory, down to its step, etc.. */
static void draw_front(const drawing *d, const ek_layout_front *front, bool bounds, const char *style)
{
    const ek_layout_point *point = d->r->point;
    double limit = d->r->job->limit_mb, end = d->x.to;
    if (front->n == 0)
        return;
    if (limit > 0)
        end = fmin(end, x_at(d, limit));
    fprintf(d->out, "<path class=\"%s\" clip-path=\"url(#plot%d)\" d=\"M", style, d->plot);
    for (long i = 0; i < front->n; i++) {
        const ek_layout_point *p = &point[front->at[i]];
        double x = x_at(d, bounds ? p->least_mb : p->peak_mb);
        double y = ek__axis_at(&d->y, bounds ? p->least_seconds : p->seconds);
        if (i == 0)
            fprintf(d->out, "%s %d", ek__coordinate(x).text, TOP);
        else
            fprintf(d->out, "H%s", ek__coordinate(x).text);
        fprintf(d->out, "V%s", ek__coordinate(y).text);
    }
    fprintf(d->out, "H%s\"/>\n", ek__coordinate(end).text);
}

static void draw_proved(const drawing *d)
{
    for (long i = 0; i < d->plans.n; i++) {
        const ek_layout_point *p = &d->r->point[d->plans.at[i]];
        if (d->plans.proved[i] && is_inside(d, p->peak_mb, p->seconds))
            fprintf(d->out, "<circle class=\"proved\" cx=\"%s\" cy=\"%s\" r=\"9\"/>\n",
                    ek__coordinate(x_at(d, p->peak_mb)).text, ek__coordinate(ek__axis_at(&d->y, p->seconds)).text);
    }
}

/* ---- numbers ---- */

typedef struct box {
    double x, y, half_width, half_height;
} box;

static bool touches(const box *a, const box *b)
{
    return fabs(a->x - b->x) < a->half_width + b->half_width && fabs(a->y - b->y) < a->half_height + b->half_height;
}

/* A position where a number touches nothing, nearest first. */
static box place_number(const drawing *d, const box *taken, int n, box b)
{
    static const double away[] = {18, 25, 34, 46, 60, 80};
    static const int eighth[] = {0, -1, 1, 4, -3, 3, -2, 2}; /* of a turn: right first */
    box best = b;
    for (size_t k = 0; k < sizeof away / sizeof *away; k++)
        for (size_t turn = 0; turn < sizeof eighth / sizeof *eighth; turn++) {
            double angle = eighth[turn] * M_PI / 4;
            best.x = b.x + away[k] * cos(angle);
            best.y = b.y + away[k] * sin(angle);
            bool free = best.x > d->x.from + 6 && best.x < d->x.to - 6 && best.y > TOP + 8 && best.y < BOTTOM - 8;
            for (int i = 0; i < n && free; i++)
                free = !touches(&best, &taken[i]);
            if (free)
                return best;
        }
    return best;
}

static ek_status draw_numbers(const drawing *d)
{
    const ek_layout_result *r = d->r;
    int n = r->n_plans;
    box *taken = ek__alloc(2 * (size_t)n + 1, sizeof *taken);
    if (!taken)
        return ek__no_memory(d->err);
    for (int i = 0; i < n; i++)
        taken[i] = (box){x_at(d, peak_of(&r->plan[i])), ek__axis_at(&d->y, r->plan[i].estimate.step.seconds), 6, 6};
    for (int i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i + 1);
        box at = taken[i], want = {at.x, at.y, ek__svg_text_width(text, 13, true) / 2 + 1, 6};
        taken[n + i] = place_number(d, taken, n + i, want);
        if (hypot(taken[n + i].x - at.x, taken[n + i].y - at.y) > 22)
            ek__svg_line(d->out, "lead", at.x, at.y, taken[n + i].x, taken[n + i].y);
        ek__svg_text(d->out, taken[n + i].x, taken[n + i].y + 4.5, 13, EK__MIDDLE, "h number", text);
    }
    free(taken);
    return EK_OK;
}

/* ---- plots ---- */

static ek_status draw_plot(drawing *d, const extent *e, const char *title, long *beyond)
{
    size_t cells = (size_t)(EK__PAGE / MARK_CELL) * (BOTTOM / MARK_CELL + 2);
    unsigned char *taken = ek__alloc(cells, 1);
    if (!taken)
        return ek__no_memory(d->err);
    lay_axes(d, e, d->plot ? 0.08 : 0.03);
    draw_frame(d, title);
    *beyond = 0;
    for (int color = 0; color < d->n_values; color++)
        *beyond += draw_bounds(d, color, taken);
    free(taken);
    draw_limit(d);
    draw_front(d, &d->bounds, true, "below");
    draw_front(d, &d->plans, false, "front");
    draw_plans(d);
    draw_proved(d);
    draw_today(d);
    return EK_OK;
}

static ek_status draw_plots(drawing *d)
{
    long beyond = 0, beyond_near;
    char text[160];
    extent e = extent_of_all(d->r);
    ek_status status = draw_plot(d, &e, "Step, s: all layouts", &beyond);
    if (beyond > 0) {
        snprintf(text, sizeof text, "%s more need more memory or a longer step than this shows",
                 ek__grouped((double)beyond).text);
        ek__svg_text(d->out, ALL_LEFT, BOTTOM + 58, 12, EK__START, "m", text);
    }
    if (status || d->r->n_plans == 0)
        return status;
    d->plot = 1;
    e = extent_near(d->r);
    status = draw_plot(d, &e, "Step, s: near the best, which have numbers", &beyond_near);
    return status ? status : draw_numbers(d);
}

/* ---- words ---- */

static void draw_legend(const drawing *d)
{
    double x = EK__MARGIN;
    char text[64], style[16];
    for (int i = 0; i < d->n_values; i++) {
        snprintf(text, sizeof text, "%s %d%s", ek_layout_axis_option[d->color], d->value[i],
                 i + 1 == MOST_COLORS ? " and more" : "");
        snprintf(style, sizeof style, "q%d", i);
        x = ek__svg_swatch(d->out, style, x, 92, text);
    }
    x = EK__MARGIN;
    static const struct {
        const char *before, *after, *text; /* of the middle */
    } sign[] = {
        {"<circle class=\"plan dot\" cy=\"108\" r=\"4.5\" cx=\"", "\"/>\n", "best plan of a layout"},
        {"<circle class=\"ring r1\" cy=\"108\" r=\"2\" cx=\"", "\"/>\n", "not balanced: at its bounds"},
        {"<path class=\"front\" d=\"M", " 108m-9 0h18\"/>\n", "front of the balanced plans"},
        {"<circle class=\"proved\" cy=\"108\" r=\"7\" cx=\"", "\"/>\n",
         "proved: no layout is both shorter and smaller"},
        {"<path class=\"below\" d=\"M", " 108m-9 0h18\"/>\n", "no plan of any layout is below"},
    };
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++) {
        fprintf(d->out, "%s%s%s", sign[i].before, ek__coordinate(x + 9).text, sign[i].after);
        ek__svg_text(d->out, x + 24, 112, 12, EK__START, "m", sign[i].text);
        x += 24 + ek__svg_text_width(sign[i].text, 12, false) + 22;
    }
    if (has_today(d->r)) {
        fprintf(d->out, "<path class=\"today\" d=\"M%s 108l7 7l7 -7l-7 -7z\"/>\n", ek__coordinate(x + 2).text);
        ek__svg_text(d->out, x + 24, 112, 12, EK__START, "m", "today");
    }
}

static void draw_row(const drawing *d, double y, const ek_layout_plan *plan, const char *number)
{
    char words[300], fitted[320], text[64], style[16];
    double seconds = plan->estimate.step.seconds;
    snprintf(style, sizeof style, "q%d", color_of(d, &plan->layout));
    ek__svg_rect(d->out, style, EK__MARGIN + 4, y - 10, 11, 11);
    ek__svg_text(d->out, EK__MARGIN + 64, y, 13, EK__END, "h", number);
    ek__svg_fit(ek_layout_words(&plan->layout, words, sizeof words), 13, false, 620, fitted, sizeof fitted);
    ek__svg_text(d->out, EK__MARGIN + 84, y, 13, EK__START, "t", fitted);
    ek__svg_text(d->out, 800, y, 13, EK__END, "t", ek__seconds(seconds).text);
    if (d->r->n_plans > 0 && plan != d->r->plan) {
        double longer = 100 * (seconds / d->r->plan[0].estimate.step.seconds - 1);
        snprintf(text, sizeof text, "%s%s %%", longer > 0 ? "+" : "", ek__fixed(longer, 1).text);
        ek__svg_text(d->out, 900, y, 13, EK__END, "m", text);
    }
    snprintf(text, sizeof text, "%s %s", ek__fixed(peak_of(plan) / d->unit, d->unit > 1 ? 1 : 0).text, d->unit_name);
    ek__svg_text(d->out, 1030, y, 13, EK__END, "t", text);
    ek__svg_text(d->out, 1190, y, 13, EK__END, "t",
                 ek__grouped(round(plan->estimate.metrics.tokens_per_second_per_device)).text);
    snprintf(text, sizeof text, "%s %%", ek__fixed(100 * plan->estimate.metrics.mfu, 1).text);
    ek__svg_text(d->out, 1300, y, 13, EK__END, "t", text);
}

static int n_listed(const ek_layout_result *r)
{
    return r->n_plans < MOST_LISTED ? r->n_plans : MOST_LISTED;
}

static void draw_list(const drawing *d, double y)
{
    static const struct {
        double x;
        const char *text;
    } head[] = {{800, "step"}, {900, "to the best"}, {1030, "fullest stage"}, {1190, "tokens/s/device"}, {1300, "MFU"}};
    char number[16];
    ek__svg_text(d->out, EK__MARGIN, y, 13, EK__START, "t", d->r->n_plans > 0 ? "The best plans" : "Nothing fits");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        ek__svg_text(d->out, head[i].x, y, 12, EK__END, "m", head[i].text);
    for (int i = 0; i < n_listed(d->r); i++) {
        snprintf(number, sizeof number, "%d", i + 1);
        draw_row(d, y += ROW, &d->r->plan[i], number);
    }
    if (has_today(d->r))
        draw_row(d, y + ROW, &d->r->today, "today");
}

static void verdict(const ek_layout_result *r, char *text, size_t size)
{
    int n = snprintf(text, size, "%s layouts that the framework runs, %s of them balanced. ",
                     ek__grouped((double)r->counts.bounded).text, ek__grouped((double)r->counts.balanced).text);
    text += n;
    size -= (size_t)n;
    if (r->n_plans == 0)
        snprintf(text, size, "No plan within the limit was found.");
    else if (r->proved)
        snprintf(text, size, "By the model no other layout has a shorter step than the plan%s below (proved).",
                 r->n_plans > 1 ? "s" : "");
    else
        snprintf(text, size, "Not proved: a step could be %s %% shorter than the best one.",
                 ek__fixed(100 * r->gap, 1).text);
}

static void draw_title(const drawing *d)
{
    const ek_layout_result *r = d->r;
    char title[200], text[400], fitted[400];
    snprintf(title, sizeof title, "Layouts on %d devices of %.80s", r->options.n_devices, r->device->name);
    verdict(r, text, sizeof text);
    double height = BOTTOM + 100 + ROW * (n_listed(r) + (has_today(r) ? 1 : 0)) + 24;
    ek__svg_open(d->out, height, title, text, (ek__palette){1, 2});
    write_style(d->out);
    ek__svg_text(d->out, EK__MARGIN, 40, 22, EK__START, "h", title);
    ek__svg_fit(text, 14, false, EK__PAGE - 2 * EK__MARGIN, fitted, sizeof fitted);
    ek__svg_text(d->out, EK__MARGIN, 64, 14, EK__START, "m", fitted);
}

ek_status ek__layout_write_svg(const ek_layout_result *result, ek_layout_axis color, FILE *out, ek_error *err)
{
    drawing d = {.out = out, .r = result, .color = color, .unit = 1, .unit_name = "MB", .err = err};
    if (result->n_points == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no layout to draw");
    ek_status status = ek_layout_front_of_plans(result->point, result->n_points, &d.plans, err);
    if (!status)
        status = ek_layout_front_of_bounds(result->point, result->n_points, &d.bounds, err);
    if (!status) {
        extent e = extent_of_all(result);
        if (e.high_mb >= 8192) {
            d.unit = 1024;
            d.unit_name = "GB";
        }
        find_values(&d);
        draw_title(&d);
        draw_legend(&d);
        status = draw_plots(&d);
        draw_list(&d, BOTTOM + 92);
        ek__svg_close(out);
    }
    ek_layout_front_clear(&d.plans);
    ek_layout_front_clear(&d.bounds);
    return status ? status : ek__finish(out, err);
}
