/* Draws a timeline as a strip of characters, a row per stage. A column shows the role that fills most of it, by error
 * diffusion (Floyd and Steinberg 1976, along one row): the part that a column omits is carried to the next one, first
 * between busy and idle, then among busy roles. So a row's busy columns add up to the stage's busy share within half a
 * column, for any number of blocks per column, and a column filled by one role always shows it. A column never shows a
 * role that does not occur in it. Chunks are not distinguished. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "report/plot_internal.h"
#include "report/report_internal.h"

enum { LEFT = 7, N_TAILS = 4, MOST_MEANINGS = 12 };
#define TIE 1e-9 /* of a column */

/* A time segment of a stage with one role. */
typedef struct segment {
    double begin, end;
    ek__role role;
    size_t owner; /* block; from the number of blocks on: of the tail */
} segment;

/* The segments of a stage, by time: its blocks, of which recomputation is the first part, then its tail. */
typedef struct walk {
    const ek__strip *strip;
    int stage;
    size_t block;
    bool recomputed; /* that part of the block is finished */
    int n_tails;
    double tail_end[N_TAILS], tail_from[N_TAILS];
} walk;

static void begin_walk(walk *w, const ek__strip *strip, int stage)
{
    *w = (walk){.strip = strip, .stage = stage, .block = strip->timeline->first[stage]};
    const ek_step_tail *tail = strip->tail;
    if (!tail)
        return;
    double last = 0; /* once per step, after all stages: the host, late ranks, input */
    for (int s = 0; s < strip->timeline->shape.n_stages; s++)
        last = fmax(last, tail[s].weights);
    const double from[N_TAILS] = {tail[stage].blocks, tail[stage].barrier, tail[stage].update, last};
    const double to[N_TAILS] = {tail[stage].gradients, tail[stage].update, tail[stage].weights, strip->span};
    memcpy(w->tail_from, from, sizeof from);
    memcpy(w->tail_end, to, sizeof to);
}

static ek__role role_of(const ek_interval *b)
{
    return b->kind == EK_FORWARD ? EK__ROLE_FORWARD : b->kind == EK_BACKWARD ? EK__ROLE_BACKWARD : EK__ROLE_WEIGHT;
}

/* The next segment that takes time; false after the last. */
static bool next_segment(walk *w, segment *out)
{
    const ek_timeline *t = w->strip->timeline;
    while (w->block < t->first[w->stage + 1]) {
        const ek_interval *b = &t->block[w->block];
        double middle = fmin(b->end, b->start + fmax(0, b->recompute_time));
        if (!w->recomputed && middle > b->start) {
            w->recomputed = true;
            *out = (segment){b->start, middle, EK__ROLE_RECOMPUTE, w->block};
            return true;
        }
        w->recomputed = false;
        *out = (segment){middle, b->end, role_of(b), w->block++};
        if (out->end > out->begin)
            return true;
    }
    while (w->n_tails < N_TAILS) {
        int i = w->n_tails++;
        *out = (segment){w->tail_from[i], w->tail_end[i], EK__ROLE_TAIL, t->n_blocks + (size_t)i};
        if (out->end > out->begin)
            return true;
    }
    return false;
}

/* The contents of a column: the share of each role, and the segment with most of it. */
typedef struct column {
    double share[EK__N_ROLES], most[EK__N_ROLES];
    size_t owner[EK__N_ROLES];
} column;

/* The shares that columns have omitted so far. */
typedef struct debt {
    double busy, role[EK__N_ROLES];
} debt;

static ek__role choose(const column *c, debt *owed)
{
    double busy = 0;
    for (int r = 0; r < EK__N_ROLES; r++) {
        busy += c->share[r];
        owed->role[r] += c->share[r];
    }
    owed->busy += busy;
    bool is_busy = owed->busy > 0.5 + TIE || (owed->busy > 0.5 - TIE && busy > 0.5);
    if (busy < TIE || busy > 1 - TIE) /* fully filled columns show their role, independent of rounding */
        is_busy = busy > 0.5;
    int chosen = -1;
    for (int r = 0; r < EK__N_ROLES && is_busy; r++) {
        bool more = chosen < 0 || owed->role[r] > owed->role[chosen] + TIE ||
                    (owed->role[r] > owed->role[chosen] - TIE && c->share[r] > c->share[chosen]);
        if (c->share[r] > 0 && more)
            chosen = r;
    }
    if (chosen < 0)
        return EK__ROLE_IDLE;
    owed->busy -= 1;
    owed->role[chosen] -= 1;
    return (ek__role)chosen;
}

/* A row: the role of each column, and its segment. */
typedef struct row {
    int n;
    ek__role role[EK_PLOT_MOST_COLUMNS];
    size_t owner[EK_PLOT_MOST_COLUMNS];
} row;

static void add(column *c, const segment *s, double from, double to)
{
    double share = fmin(s->end, to) - fmax(s->begin, from);
    if (share <= 0)
        return;
    share /= to - from;
    c->share[s->role] += share;
    if (share > c->most[s->role]) {
        c->most[s->role] = share;
        c->owner[s->role] = s->owner;
    }
}

static void fill_row(row *r, const ek__strip *strip, int stage)
{
    walk w;
    segment now;
    debt owed = {0};
    begin_walk(&w, strip, stage);
    bool there = next_segment(&w, &now);
    for (int i = 0; i < r->n; i++) {
        double from = strip->span * i / r->n, to = strip->span * (i + 1) / r->n;
        column c = {.share = {0}};
        while (there) {
            add(&c, &now, from, to);
            if (now.end > to)
                break;
            there = next_segment(&w, &now);
        }
        r->role[i] = choose(&c, &owed);
        r->owner[i] = r->role[i] == EK__ROLE_IDLE ? SIZE_MAX : c.owner[r->role[i]];
    }
}

static int run_length(const row *r, int from)
{
    int n = 1;
    while (from + n < r->n && r->owner[from + n] == r->owner[from] && r->role[from + n] == r->role[from])
        n++;
    return n;
}

/* Does a part of a block have enough columns for its number by its length, not only by the carry of its neighbours?
 * Otherwise a row would be numbered irregularly. */
static bool is_wide(const ek_interval *b, ek__role role, double width, int needed)
{
    double length = role == EK__ROLE_RECOMPUTE ? b->recompute_time : b->end - b->start - b->recompute_time;
    return length >= needed * width * (1 - TIE);
}

/* Number the blocks with room for it: a backward in its recomputing part only if the rest has no room. */
static bool number_row(ek__plot_line *line, const row *r, const ek_timeline *t, double width, int needed)
{
    bool any = false;
    size_t done = SIZE_MAX;
    for (int i = 0, n; i < r->n; i += n) {
        size_t owner = r->owner[i];
        n = run_length(r, i);
        if (owner >= t->n_blocks || owner == done || n < needed ||
            !is_wide(&t->block[owner], r->role[i], width, needed))
            continue;
        bool has_rest = i + n < r->n && r->owner[i + n] == owner && run_length(r, i + n) >= needed;
        if (has_rest && is_wide(&t->block[owner], r->role[i + n], width, needed))
            continue;
        done = owner;
        any = true;
        ek__plot_number(line, LEFT + i, r->role[i], ek__micro_batch(&t->shape, t->block[owner].micro_batch).text);
    }
    return any;
}

/* The drawn part of a timeline. */
typedef struct drawn {
    bool role[EK__N_ROLES], numbers;
    double shortest, longest; /* part of a block of the drawn stages that takes time */
} drawn;

static void note_blocks(drawn *d, const ek__strip *strip, int stage)
{
    walk w;
    segment s;
    begin_walk(&w, strip, stage);
    while (next_segment(&w, &s) && s.role != EK__ROLE_TAIL) {
        d->shortest = fmin(d->shortest, s.end - s.begin);
        d->longest = fmax(d->longest, s.end - s.begin);
    }
}

/* Three digits. */
static ek__digits rounded(double value)
{
    double unit = pow(10, floor(log10(value)) - 2);
    return ek__short(round(value / unit) * unit);
}

static void print_legend(const ek_plot *plot, const ek__strip *strip, const drawn *d, int n_rows, int columns,
                         FILE *out)
{
    static const ek__plot_meaning roles[] = {{EK__ROLE_FORWARD, "forward"},
                                             {EK__ROLE_RECOMPUTE, "recompute"},
                                             {EK__ROLE_BACKWARD, "backward"},
                                             {EK__ROLE_WEIGHT, "weight gradient"},
                                             {EK__ROLE_TAIL, "gradients, optimizer, rest of the step"},
                                             {EK__ROLE_IDLE, "idle"}};
    ek__plot_meaning meaning[MOST_MEANINGS];
    char unit[160], coarse[160], left_out[160];
    int n = 0, p = strip->timeline->shape.n_stages;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (d->role[roles[i].role])
            meaning[n++] = roles[i];
    if (d->numbers)
        meaning[n++] = (ek__plot_meaning){EK__ROLE_TEXT, "numbers: micro-batch"};
    double width = strip->span / columns;
    snprintf(unit, sizeof unit, "time in %s", strip->unit);
    meaning[n++] = (ek__plot_meaning){EK__ROLE_TEXT, unit};
    snprintf(coarse, sizeof coarse, "a column, %s, shows its largest part; the rest counts in the next",
             rounded(strip->scale * width).text);
    if (d->shortest < width * (1 - TIE))
        meaning[n++] = (ek__plot_meaning){EK__ROLE_TEXT, coarse};
    if (d->longest < width * (1 - TIE) && d->longest > 0)
        meaning[n++] =
            (ek__plot_meaning){EK__ROLE_TEXT, "no block is as long as a column: a row shows shares, not blocks"};
    snprintf(left_out, sizeof left_out, "%d of %d stages are drawn, evenly spaced", n_rows, p);
    if (n_rows < p)
        meaning[n++] = (ek__plot_meaning){EK__ROLE_TEXT, left_out};
    assert(n <= MOST_MEANINGS);
    ek__plot_legend(plot, LEFT, meaning, n, out);
}

void ek__plot_strip(const ek_plot *given, const ek__strip *strip, FILE *out)
{
    ek_plot plot = ek__plot_fitted(given);
    const ek_timeline *t = strip->timeline;
    int p = t->shape.n_stages, n_rows = p < plot.rows ? p : plot.rows, columns = plot.columns - LEFT;
    int needed = (int)strlen(ek__micro_batch(&t->shape, (uint32_t)t->shape.n_micro_batches - 1).text) + 1;
    drawn d = {.shortest = INFINITY};
    assert(strip->span >= t->step_time);
    fputs("stage\n", out);
    if (!(strip->span > 0)) {
        fputs("    -  nothing takes time\n", out);
        return;
    }
    for (int i = 0; i < n_rows; i++) {
        ek__plot_line line;
        row r = {.n = columns};
        char number[16];
        int stage = ek__plot_spread(i, n_rows, p);
        ek__plot_begin(&line, &plot);
        snprintf(number, sizeof number, "%5d", stage);
        ek__plot_text(&line, 0, LEFT, number);
        ek__plot_border(&line, LEFT - 1);
        fill_row(&r, strip, stage);
        for (int c = 0; c < columns; c++) {
            ek__plot_fill(&line, LEFT + c, LEFT + c + 1, r.role[c]);
            d.role[r.role[c]] = true;
        }
        d.numbers |= number_row(&line, &r, t, strip->span / columns, needed);
        note_blocks(&d, strip, stage);
        ek__plot_print(&line, out);
    }
    ek__plot_axis(&plot, LEFT, strip->scale * strip->span, out);
    print_legend(&plot, strip, &d, n_rows, columns, out);
}
