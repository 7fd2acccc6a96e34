/* Prints a run's traces for people: the parts of a step on every rank, then stages, layers, operators, communication,
 * data and memory, and at the end, where a terminal shows it, the findings. For many ranks it prints means and
 * extremes, the busiest ranks, and the details of the busiest one; --rank shows one in full. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/page.h"
#include "evenkeel/compute.h"
#include "report/plot_internal.h"
#include "report/report_internal.h"
#include "report/trace_internal.h"
#include "report/writers.h"

enum { ALL_RANKS = 16, BUSIEST = 5, DEFAULT_TOP = 10, NAME_WIDTH = 56 };

/* The state that all parts print with. */
typedef struct page {
    FILE *out;
    const ek_trace_run *run;
    const ek_trace_view *view;
    const ek_trace_rank **rank; /* [n], those shown */
    int n, top;
    const ek_trace_rank *detail; /* the rank with details */
} page;

static void heading(const page *p, const char *text)
{
    ek__print_heading(p->view && p->view->color, text, p->out);
}

static ek__digits ms(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? ek__fixed(NAN, 0) : ek__fixed((double)ns / 1e6, 2);
}

static ek__digits mean_ms(double ns)
{
    return ek__fixed(ns / 1e6, 3);
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 && part != EK_TRACE_UNKNOWN ? 100 * (double)part / (double)whole : NAN;
}

/* A name cut to a column's width in the middle: both ends of a kernel's name distinguish it. */
static void print_cut(const char *name, int width, FILE *out)
{
    char text[NAME_WIDTH * 4 + 8];
    if (!name)
        name = "-";
    size_t n = strlen(name);
    if (ek__columns(name) <= width && n < sizeof text) {
        ek__print_name(name, out);
        fprintf(out, "%*s", width - ek__columns(name), "");
        return;
    }
    int head = width * 2 / 3, tail = width - head - 3;
    snprintf(text, sizeof text, "%.*s...%s", head, name, n > (size_t)tail ? name + n - tail : name);
    ek__print_name(text, out);
    fprintf(out, "%*s", width > ek__columns(text) ? width - ek__columns(text) : 0, "");
}

/* ---- columns from the figures, times in ms ---- */

typedef struct columns {
    ek__column column[EK__MAX_COLUMNS];
    int n;
} columns;

static columns columns_of(const ek__fields *fields)
{
    columns c;
    c.n = ek__fields_columns(fields, NULL, EK__OF_TEXT, c.column);
    return c;
}

static void print_titles(const columns *c, FILE *out)
{
    for (int i = 0; i < c->n; i++)
        fprintf(out, "  %10s", ek__column_title(&c->column[i], EK__OF_TEXT));
}

static ek__digits number_of(ek__kind kind, ek__reading value)
{
    return kind == EK__KIND_NS       ? ms(value.number)
           : ek__kind_is_whole(kind) ? ek__fixed((double)value.number, 0)
           : kind == EK__KIND_SHARE  ? ek__fixed(100 * value.real, 1)
                                     : ek__fixed(value.real, 2);
}

static void print_cells(const page *p, const columns *c, const void *record, const ek_trace_rank *rank)
{
    const ek__owner of = {.run = p->run, .rank = rank};
    for (int i = 0; i < c->n; i++) {
        ek__kind kind = ek__column_kind(&c->column[i]);
        ek__reading value = ek__column_value(&c->column[i], record, &of);
        if (ek__kind_is_text(kind))
            fprintf(p->out, "  %10s", value.text ? value.text : "-");
        else
            fprintf(p->out, "  %10s", number_of(kind, value).text);
    }
}

/* ---- the ranks ---- */

static int64_t own_work(const ek_trace_rank *rank)
{
    const ek_trace_breakdown *b = ek__rank_breakdown(rank);
    return ek__sum(ek__rank_span(rank), -ek__known(b->communication_not_overlapped));
}

static int by_own_work(const void *a, const void *b)
{
    const ek_trace_rank *const *p = a, *const *q = b;
    int64_t x = own_work(*p), y = own_work(*q);
    return x != y ? (x < y) - (x > y) : (*p > *q) - (*p < *q);
}

/* Do the files have any rank's times? Files with only memory do not. */
static bool tells_times(const page *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->rank[i]->has_device_events || ek__known(ek__rank_step(p->rank[i])) > 0)
            return true;
    return false;
}

static void print_step_names(const page *p)
{
    int warm = 0, n = 0;
    const char *first = NULL, *last = NULL;
    const ek_trace_rank *rank = p->detail;
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        warm += step->warm_up;
        if (step->warm_up)
            continue;
        n++;
        first = first ? first : step->name;
        last = step->name;
    }
    if (rank->n_steps == 0) {
        fputs(tells_times(p) ? "no step marks: figures are of the whole file" : "it contains no steps", p->out);
        return;
    }
    fprintf(p->out, "%d step%s", n, n == 1 ? "" : "s");
    if (n > 0 && first[0]) {
        fputs(" (", p->out);
        ek__print_name(first, p->out);
        if (n > 1) {
            fputs(" to ", p->out);
            ek__print_name(last, p->out);
        }
        fputc(')', p->out);
    }
    if (warm == 0)
        fputs(", none left out as warm-up", p->out);
    else
        fprintf(p->out, ", %d before %s left out as warm-up", warm, warm == 1 ? "it" : "them");
}

/* The step of the run, as in every command. */
static void print_step_time(const page *p)
{
    char words[EK_TRACE_STEP_WORDS];
    bool alone = p->n == 1 && p->run->n_ranks > 1; /* --rank */
    ek_trace_step_time step = alone ? ek_trace_rank_step(p->rank[0]) : ek_trace_run_step(p->run);
    if (step.n_steps > 0)
        fprintf(p->out, "a step takes %s ms%s: %s\n", ms(step.ns).text, alone ? " on this rank" : "",
                ek_trace_step_words(p->run, &step, words, sizeof words));
}

static void print_headline(const page *p)
{
    fprintf(p->out, "%d rank%s", p->run->n_ranks, p->run->n_ranks == 1 ? "" : "s");
    if (p->run->n_stages > 1)
        fprintf(p->out, " in %d stages", p->run->n_stages);
    fprintf(p->out, ", written by %s; ", ek_producer_name[p->detail->producer]);
    print_step_names(p);
    fputc('\n', p->out);
    print_step_time(p);
}

static void print_part(FILE *out, int64_t ns, int64_t span)
{
    double percent = share_of(ns, span);
    if (isfinite(percent))
        fprintf(out, "  %10s %5s%%", ms(ns).text, ek__fixed(percent, 1).text);
    else
        fprintf(out, "  %10s %6s", ms(ns).text, "");
}

static void print_rank_parts(const page *p, const columns *c, const char *label, const ek_trace_rank *rank)
{
    const ek_trace_breakdown *b = ek__rank_breakdown(rank);
    int64_t step = ek__rank_step(rank);
    fprintf(p->out, "%-9s", label);
    if (rank->stage >= 0)
        fprintf(p->out, " %5d", rank->stage);
    else
        fprintf(p->out, " %5s", "-");
    fprintf(p->out, "  %10s", ms(step).text);
    print_part(p->out, b->computing, step);
    print_part(p->out, b->communication_not_overlapped, step);
    print_part(p->out, b->free, step);
    print_cells(p, c, rank, rank);
    fputc('\n', p->out);
}

static void print_extremes(const page *p)
{
    static const char *const part[] = {"step", "computing", "exposed communication", "free"};
    fprintf(p->out, "%-24s  %10s  %10s  %10s  %s\n", "over all ranks (ms)", "mean", "least", "most", "most on");
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        int n = 0;
        int64_t least = INT64_MAX, most = EK_TRACE_UNKNOWN;
        const ek_trace_rank *at = p->rank[0];
        for (int i = 0; i < p->n; i++) {
            const ek_trace_breakdown *b = ek__rank_breakdown(p->rank[i]);
            const int64_t value[] = {ek__rank_step(p->rank[i]), b->computing, b->communication_not_overlapped, b->free};
            if (value[k] == EK_TRACE_UNKNOWN)
                continue;
            n++;
            sum += (double)value[k];
            least = value[k] < least ? value[k] : least;
            at = value[k] > most ? p->rank[i] : at;
            most = value[k] > most ? value[k] : most;
        }
        char label[32];
        ek__rank_label(p->run, at, label, sizeof label);
        fprintf(p->out, "%-24s  %10s  %10s  %10s  %s\n", part[k],
                ms(n > 0 ? (int64_t)(sum / n) : EK_TRACE_UNKNOWN).text, ms(n > 0 ? least : EK_TRACE_UNKNOWN).text,
                ms(most).text, n > 0 ? label : "-");
    }
}

/* ---- bars ---- */

/* The drawn bars: ranks in the order of their table, or the steps of one. */
typedef struct drawn {
    const page *page;
    const ek_trace_rank *const *rank; /* NULL: the steps of page->detail */
} drawn;

/* Computing, exposed communication and free, as in the tables; the rest of the step is blank. */
static void fill_bar(const ek_trace_breakdown *b, int64_t whole, ek__bar *out)
{
    const int64_t part[] = {b->computing, b->communication_not_overlapped, b->free};
    snprintf(out->value, sizeof out->value, "%s", ms(whole).text);
    for (int i = 0; i < 3; i++)
        out->part[i] = fmax(0, (double)ek__known(part[i]));
}

/* For a step that the view shows. */
static const ek_trace_step *step_at(const page *p, int i)
{
    const ek_trace_rank *rank = p->detail;
    int k = 0;
    while (!ek__view_shows_step(p->view, &rank->step[k]) || i-- > 0)
        k++;
    assert(k < rank->n_steps);
    return &rank->step[k];
}

static int64_t step_length(const page *p, const ek_trace_step *step)
{
    bool begin_to_begin;
    return ek_trace_step_length(p->detail, (int)(step - p->detail->step), &begin_to_begin);
}

static void draw_bar(const void *user, int i, ek__bar *out)
{
    const drawn *d = user;
    if (d->rank) {
        ek__rank_label(d->page->run, d->rank[i], out->label, sizeof out->label);
        fill_bar(ek__rank_breakdown(d->rank[i]), ek__rank_step(d->rank[i]), out);
        return;
    }
    const ek_trace_step *step = step_at(d->page, i);
    snprintf(out->label, sizeof out->label, "%s", step->name[0] ? step->name : "(none)");
    fill_bar(&step->own, step_length(d->page, step), out);
}

static void draw_bars(const drawn *d, int n)
{
    static const ek__plot_meaning meaning[] = {
        {EK__ROLE_SOLID, "computing"},
        {EK__ROLE_EXPOSED, "exposed communication"},
        {EK__ROLE_IDLE, "free"},
        {EK__ROLE_TEXT, "length of a step and its parts in ms; the blank part is none of them"}};
    const page *p = d->page;
    ek__bars bars = {.n = n,
                     .at = draw_bar,
                     .user = d,
                     .n_parts = 3,
                     .role = {EK__ROLE_SOLID, EK__ROLE_EXPOSED, EK__ROLE_IDLE},
                     .what = d->rank ? "ranks" : "steps"};
    for (int i = 0; i < n; i++) {
        ek__bar bar = {.label = ""};
        draw_bar(d, i, &bar);
        int64_t length = d->rank ? ek__rank_step(d->rank[i]) : step_length(p, step_at(p, i));
        bars.whole = fmax(bars.whole, fmax((double)ek__known(length), bar.part[0] + bar.part[1] + bar.part[2]));
    }
    fputc('\n', p->out);
    ek__plot_bars(&p->view->plot, &bars, p->out);
    ek__plot_legend(&p->view->plot, 0, meaning, 4, p->out);
}

static bool draws(const page *p)
{
    return p->view && p->view->plot.columns > 0;
}

/* ---- the table of ranks ---- */

static ek_status print_ranks(const page *p, ek_error *err)
{
    char label[32];
    bool all = p->n <= ALL_RANKS;
    columns c = columns_of(&ek__trace_rank);
    if (!tells_times(p))
        return EK_OK;
    heading(p, p->detail->n_steps ? "Where a step goes" : "Where the time goes");
    fputs(p->detail->n_steps ? ", means over the steps in ms and % of the step\n" : ", in ms and % of the whole\n",
          p->out);
    const ek_trace_rank **order = ek__alloc((size_t)p->n, sizeof *order);
    if (!order)
        return ek__no_memory(err);
    memcpy(order, p->rank, (size_t)p->n * sizeof *order);
    if (!all) {
        print_extremes(p);
        qsort(order, (size_t)p->n, sizeof *order, by_own_work);
        fprintf(p->out, "\nthe %d busiest ranks, which the others wait for; --rank N shows any\n", BUSIEST);
    }
    fprintf(p->out, "%-9s %5s  %10s  %17s  %17s  %17s", "", "stage", "step", "computing", "exposed comm.", "free");
    print_titles(&c, p->out);
    fputc('\n', p->out);
    for (int i = 0; i < (all ? p->n : BUSIEST); i++) {
        ek__rank_label(p->run, order[i], label, sizeof label);
        print_rank_parts(p, &c, label, order[i]);
    }
    fputs("outside: the step less its device window, first event to last; stage wait is a part of exposed comm.; host "
          "bound\nand data wait are idle time, also outside the window; - is not known.\n",
          p->out);
    if (draws(p))
        draw_bars(&(drawn){p, order}, all ? p->n : BUSIEST);
    free(order);
    return EK_OK;
}

static void print_steps(const page *p)
{
    const ek_trace_rank *rank = p->detail;
    columns c = columns_of(&ek__trace_step);
    int n = 0;
    heading(p, "Steps");
    fprintf(p->out, " in ms\n%-8s", "step");
    print_titles(&c, p->out);
    fputs("  \n", p->out);
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (!ek__view_shows_step(p->view, step))
            continue;
        print_cut(step->name[0] ? step->name : "(none)", 8, p->out);
        print_cells(p, &c, step, rank);
        fprintf(p->out, "%s%s\n", step->warm_up ? "  warm-up" : "", step->from_table ? "  from a table" : "");
        n++;
    }
    if (draws(p) && n > 0)
        draw_bars(&(drawn){p, NULL}, n);
}

/* ---- anatomy ---- */

static const char *const activity_words[EK_N_TRACE_ACTIVITIES] = {
    "forward",          "recomputation",        "backward",      "optimizer",      "after the optimizer",
    "other computing",  "other collectives",    "gradients",     "between stages", "copies",
    "waiting for data", "waiting for the host", "idle otherwise"};

static const double LEAST_SHOWN = 0.0005; /* of the step: less would print as 0.0 % */

static double sum_of_activities(const double *part)
{
    double sum = 0;
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
        sum += part[a];
    return sum;
}

/* Rows are parts of the time, columns are ranks: first those of the table of ranks. */
static void print_anatomy_of(const page *p, const ek_trace_rank *const *rank,
                             const double (*part)[EK_N_TRACE_ACTIVITIES], int n)
{
    char label[32];
    heading(p, "Anatomy of a step");
    fprintf(p->out, ", means in ms; each instant counts once\n%-20s", "");
    for (int i = 0; i < n; i++) {
        ek__rank_label(p->run, rank[i], label, sizeof label);
        fprintf(p->out, "  %17s", label);
    }
    fputc('\n', p->out);
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++) {
        bool any = false;
        for (int i = 0; i < n; i++)
            any |= part[i][a] >= LEAST_SHOWN * sum_of_activities(part[i]);
        if (!any)
            continue;
        fprintf(p->out, "%-20s", activity_words[a]);
        for (int i = 0; i < n; i++)
            fprintf(p->out, "  %10s %5s%%", ek__fixed(part[i][a] / 1e6, 2).text,
                    ek__fixed(100 * part[i][a] / sum_of_activities(part[i]), 1).text);
        fputc('\n', p->out);
    }
    fputs("communication: exposed, without computing; gradients: their reduction.\n", p->out);
}

static void print_anatomy(const page *p)
{
    enum { MOST = 4 };
    double part[MOST][EK_N_TRACE_ACTIVITIES];
    const ek_trace_rank *rank[MOST];
    int n = 0;
    for (int i = 0; i < p->n && n < MOST; i++) {
        const ek_trace_rank *of = p->n > MOST ? p->detail : p->rank[i];
        if (n > 0 && of == rank[n - 1])
            break;
        if (ek_trace_rank_anatomy(of, part[n]) > 0)
            rank[n++] = of;
    }
    if (n > 0)
        print_anatomy_of(p, rank, (const double(*)[EK_N_TRACE_ACTIVITIES])part, n);
}

/* ---- the critical path ---- */

static void print_path(const page *p)
{
    enum { MOST = 8 };
    const ek_trace_run *run = p->run;
    const ek_trace_path *path = &run->path;
    char label[32];
    if (path->n_steps == 0 || p->n < run->n_ranks)
        return;
    heading(p, "Critical path");
    fprintf(p->out, ": critical path of a step of %s ms; mean of %d step%s\n", ms((int64_t)path->length).text,
            path->n_steps, path->n_steps == 1 ? "" : "s");
    fputs("only parts on it shorten the step, each by at most its time\n", p->out);
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
        if (path->activity[a] >= LEAST_SHOWN * path->length)
            fprintf(p->out, "  %-56s  %10s  %10s %5s%%\n", activity_words[a], "", ms((int64_t)path->activity[a]).text,
                    ek__fixed(100 * path->activity[a] / path->length, 1).text);
    for (int r = 0; r < run->n_ranks && run->n_ranks > 1 && run->n_ranks <= ALL_RANKS; r++) {
        if (path->of_rank[r] <= 0)
            continue;
        ek__rank_label(run, &run->rank[r], label, sizeof label);
        fprintf(p->out, "  on %-53s  %10s  %10s %5s%%\n", label, "", ms((int64_t)path->of_rank[r]).text,
                ek__fixed(100 * path->of_rank[r] / path->length, 1).text);
    }
    fprintf(p->out, "longest on it%45s  %10s  %10s\n", "", "a step", "ms");
    for (int i = 0, n = 0; i < path->n_parts && n < MOST; i++) {
        const ek_trace_path_part *part = &path->part[i];
        if (!part->name)
            continue;
        n++;
        fputs("  ", p->out);
        print_cut(part->name, 56, p->out);
        fprintf(p->out, "  %10s  %10s %5s%%  %s\n", ek__fixed((double)part->count / path->n_steps, 1).text,
                ms((int64_t)part->ns).text, ek__fixed(100 * part->ns / path->length, 1).text,
                activity_words[part->activity]);
    }
}

/* ---- stages and layers ---- */

static void print_stages(const page *p)
{
    const ek_trace_run *run = p->run;
    if (run->n_stages < 2)
        return;
    columns c = columns_of(&ek__trace_stage);
    heading(p, "Stages");
    fprintf(p->out, ", means over their ranks in ms; the slowest computes %s times as long as the fastest\n",
            ek__fixed(run->stage_imbalance, 3).text);
    fprintf(p->out, "%5s  %5s", "stage", "ranks");
    print_titles(&c, p->out);
    fputc('\n', p->out);
    for (int i = 0; i < run->n_stages; i++) {
        fprintf(p->out, "%5d  %5d", run->stage[i].stage, run->stage[i].n_ranks);
        print_cells(p, &c, &run->stage[i], NULL);
        fputc('\n', p->out);
    }
}

/* Layers of one kind, recomputed or not, in one line. */
typedef struct layer_line {
    const char *name, *kind;
    ek_trace_role role;
    bool recomputed;
    int n;
    double forward, backward, recompute, least, most; /* sums, and extremes of the forward means */
    int n_backward;
} layer_line;

static void add_layer(layer_line *line, const ek_trace_layer *layer)
{
    if (line->n++ == 0) {
        line->least = INFINITY;
        line->most = -INFINITY;
    }
    line->forward += layer->forward.wall_mean;
    line->least = fmin(line->least, layer->forward.wall_mean);
    line->most = fmax(line->most, layer->forward.wall_mean);
    line->recompute += line->recomputed ? layer->recompute.wall_mean : 0;
    if (layer->backward.n > 0) {
        line->backward += layer->backward.wall_mean;
        line->n_backward++;
    }
}

static void print_layer_line(const page *p, const layer_line *line)
{
    char name[160];
    double forward = line->forward / line->n;
    double backward = line->n_backward ? line->backward / line->n_backward : NAN;
    if (line->n > 1)
        snprintf(name, sizeof name, "%.120s x %d", line->kind, line->n);
    else
        snprintf(name, sizeof name, "%.150s", line->name);
    fprintf(p->out, "  %-4s  ", ek_trace_role_name[line->role]);
    print_cut(name, 36, p->out);
    fprintf(p->out, "  %9s", mean_ms(forward).text);
    fprintf(p->out, "  %9s", line->recomputed ? mean_ms(line->recompute / line->n).text : "-");
    fprintf(p->out, "  %9s", mean_ms(backward).text);
    if (line->n > 1) {
        fprintf(p->out, "  %8s to", mean_ms(line->least).text);
        fprintf(p->out, " %-8s", mean_ms(line->most).text);
    } else {
        fprintf(p->out, "  %20s", "");
    }
    fprintf(p->out, "  %5s", forward > 0 ? ek__fixed(backward / forward, 2).text : "-");
    fprintf(p->out, "  %5s\n",
            line->recomputed && forward > 0 ? ek__fixed(line->recompute / line->n / forward, 2).text : "-");
}

static bool joins(const layer_line *line, const ek_trace_layer *layer)
{
    return line->n > 0 && line->role == layer->role && line->recomputed == (layer->recompute.n > 0) && line->kind &&
           layer->kind && strcmp(line->kind, layer->kind) == 0;
}

/* In order: successive equal ones share a line, unless each is requested. */
static void print_layers_of(const page *p, const ek_trace_rank *rank, bool each)
{
    const ek_trace_layers *layers = &rank->layers;
    layer_line line = {0};
    char label[32];
    ek__rank_label(p->run, rank, label, sizeof label);
    if (rank->stage >= 0)
        fprintf(p->out, "stage %d (%s)", rank->stage, label);
    else
        fputs(label, p->out);
    if (layers->n_micro_batches > 0)
        fprintf(p->out, ", %d micro-batch%s a step", layers->n_micro_batches, layers->n_micro_batches == 1 ? "" : "es");
    fprintf(p->out, ", from %s\n", layers->source ? layers->source : "the trace");
    for (int i = 0; i < layers->n; i++) {
        const ek_trace_layer *layer = &layers->layer[i];
        if (each || !joins(&line, layer)) {
            if (line.n > 0)
                print_layer_line(p, &line);
            line = (layer_line){
                .name = layer->name, .kind = layer->kind, .role = layer->role, .recomputed = layer->recompute.n > 0};
        }
        add_layer(&line, layer);
    }
    if (line.n > 0)
        print_layer_line(p, &line);
}

static void print_layers(const page *p)
{
    bool begun = false, one = p->n == 1;
    for (int i = 0; i < p->n; i++) {
        const ek_trace_rank *rank = p->rank[i];
        /* One rank represents its stage; without stages the busiest one represents all. */
        bool first = rank->stage >= 0 || rank == p->detail;
        for (int k = 0; k < i && first && rank->stage >= 0; k++)
            first = p->rank[k]->stage != rank->stage || p->rank[k]->layers.n == 0;
        if (!first || rank->layers.n == 0)
            continue;
        if (!begun) {
            heading(p, "Layers");
            fprintf(p->out, ", one micro-batch in ms\n  %-4s  %-36s  %9s  %9s  %9s  %20s  %5s  %5s\n", "", "",
                    "forward", "recompute", "backward", "forward spread", "bw/fw", "rc/fw");
        }
        begun = true;
        print_layers_of(p, rank, one);
    }
}

/* ---- operators, communication, data, memory ---- */

static void print_operators(const page *p)
{
    const ek_trace_operators *ops = &p->detail->operators;
    if (ops->n == 0)
        return;
    heading(p, "Operators");
    ek__fprintf(p->out, ", longest in total (%d kinds, %" PRId64 " executions)\n", ops->n, ops->n_executions);
    fprintf(p->out, "  %-*s  %8s  %10s  %6s  %10s  %10s\n", NAME_WIDTH, "", "count", "total ms", "%", "mean us",
            "longest us");
    for (int i = 0; i < ops->n && i < p->top; i++) {
        const ek_trace_operator *op = &ops->op[i];
        fputs("  ", p->out);
        print_cut(op->name, NAME_WIDTH, p->out);
        fprintf(p->out, "  %8" PRId64 "  %10s", op->count, ms(op->total).text);
        fprintf(p->out, "  %6s", ek__fixed(op->ratio, 1).text);
        fprintf(p->out, "  %10s", ek__fixed(op->average / 1000, 1).text);
        fprintf(p->out, "  %10s\n", ek__fixed(op->max == EK_TRACE_UNKNOWN ? NAN : (double)op->max / 1000, 1).text);
    }
    for (int i = 0; i < ops->n_outliers && i < 3; i++) {
        const ek_trace_outlier *one = &ops->outlier[i];
        fprintf(p->out, "  %s took %s us", i ? "and one" : "one", ek__fixed((double)one->duration / 1000, 1).text);
        fprintf(p->out, one->shapes_unknown ? ", the median of its name is %s: " : " instead of %s: ",
                ek__fixed((double)one->expected / 1000, 1).text);
        print_cut(one->name, NAME_WIDTH, p->out);
        if (one->shapes_unknown)
            fputs(" (shapes are not recorded: others of its name may have worked on less)", p->out);
        fputc('\n', p->out);
    }
}

/* "[[4096, 1024], [1024, 512]]" unchanged: it distinguishes operators with the same name. */
static void print_shape(const page *p, const ek_compute_operator *op)
{
    char text[160];
    snprintf(text, sizeof text, "%.60s%s%.90s", op->name, op->shapes[0] ? " " : "", op->shapes);
    print_cut(text, NAME_WIDTH, p->out);
}

static void print_classes(const page *p, const ek_compute *c)
{
    const char *sign = "";
    fputs("  ", p->out);
    for (int k = 0; k < EK_N_COMPUTE_CLASSES; k++)
        if (c->time[k] > 0) {
            fprintf(p->out, "%s%s %s %%", sign, k == EK_COMPUTE_AI_CPU ? "AI CPU" : ek_compute_class_name[k],
                    ek__fixed(100 * c->time[k] / c->total, 1).text);
            sign = ", ";
        }
    fputc('\n', p->out);
    if (!(c->known > 0))
        return;
    fprintf(p->out, "  %s %% of the time is of operators with work known from their shapes",
            ek__fixed(100 * c->known / c->total, 1).text);
    if (c->flops > 0)
        fprintf(p->out, "; they reach %s TFLOP/s", ek__fixed(c->flops / c->known * 1e-3, 1).text);
    fputc('\n', p->out);
}

/* For all ranks, also if one rank is shown in full: they are compared here. */
static void print_computing(const page *p)
{
    const ek_compute *c = p->run->compute;
    if (!c || !(c->total > 0) || (p->view && p->view->rank != EK_TRACE_NO_RANK))
        return;
    heading(p, "Computing");
    fprintf(p->out, ", by type and shape over %d rank%s\n", p->run->n_ranks, p->run->n_ranks == 1 ? "" : "s");
    print_classes(p, c);
    if (!(c->known > 0))
        return;
    fprintf(p->out, "  %-*s  %8s  %10s  %10s  %8s  %8s  %8s  %8s\n", NAME_WIDTH, "", "count", "total ms", "mean us",
            "TFLOP/s", "% peak", "GB/s", "% curve");
    for (int i = 0, shown = 0; i < c->n && shown < p->top; i++) {
        const ek_compute_operator *op = &c->op[i];
        double mean = (double)op->total / (double)op->count;
        if (op->known != EK_PROFILE_TAKEN)
            continue;
        shown++;
        fputs("  ", p->out);
        print_shape(p, op);
        fprintf(p->out, "  %8" PRId64 "  %10s", op->count, ms(op->total).text);
        fprintf(p->out, "  %10s", ek__fixed(mean / 1000, 1).text);
        fprintf(p->out, "  %8s", ek__fixed(op->tflops, 1).text);
        fprintf(p->out, "  %8s", ek__fixed(100 * op->share_of_peak, 1).text);
        fprintf(p->out, "  %8s", ek__fixed(op->gbs, 1).text);
        fprintf(p->out, "  %8s\n", ek__fixed(100 * op->expected / mean, 1).text);
    }
}

static void print_waits(const page *p)
{
    enum { MOST = 5 };
    const ek_trace_run *run = p->run;
    char waits[32], last[32];
    if (run->n_waits == 0 || p->n < run->n_ranks)
        return;
    heading(p, "Who waits for whom");
    fputs(", in collectives and transfers, ms of a step\n", p->out);
    for (int i = 0; i < run->n_waits && i < MOST; i++) {
        const ek_trace_wait *w = &run->wait[i];
        ek__rank_label(run, &run->rank[w->at], waits, sizeof waits);
        ek__rank_label(run, &run->rank[w->last], last, sizeof last);
        fprintf(p->out, "  %-9s waits for %-9s  %10s  %" PRId64 " time%s\n", waits, last, ms((int64_t)w->ns).text, w->n,
                w->n == 1 ? "" : "s");
    }
    if (run->n_waits > MOST)
        fprintf(p->out, "  and %d other pair%s; --csv DIR has all\n", run->n_waits - MOST,
                run->n_waits == MOST + 1 ? "" : "s");
}

static void print_communication(const page *p)
{
    const ek_trace_communication *c = &p->detail->communication;
    if (c->n_sums > 0) {
        heading(p, "Communication");
        fprintf(p->out, ", most exposed first\n  %-*s  %8s  %10s  %10s  %10s  %10s\n", NAME_WIDTH, "", "count",
                "total ms", "exposed ms", "GB/s", "bus GB/s");
    }
    for (int i = 0; i < c->n_sums && i < p->top; i++) {
        const ek_trace_collective_sum *sum = &c->sum[i];
        fputs("  ", p->out);
        print_cut(sum->key, NAME_WIDTH, p->out);
        fprintf(p->out, "  %8" PRId64 "  %10s", sum->count, ms(sum->total).text);
        fprintf(p->out, "  %10s", ms(sum->exposed).text);
        fprintf(p->out, "  %10s", ek__fixed(sum->bandwidth_gbps > 0 ? sum->bandwidth_gbps : NAN, 2).text);
        fprintf(p->out, "  %10s\n", ek__fixed(sum->bus_gbps > 0 ? sum->bus_gbps : NAN, 2).text);
    }
    if (c->n_transports > 0)
        heading(p, "Links\n");
    for (int i = 0; i < c->n_transports; i++) {
        const ek_trace_transport *t = &c->transport[i];
        fprintf(p->out, "  %s: %" PRId64 " links, mean %s GB/s", t->name, t->n_links, ek__fixed(t->mean_gbps, 2).text);
        if (t->slowest >= 0 && t->slowest < c->n_links)
            fprintf(p->out, ", slowest %s with %s", c->link[t->slowest].link,
                    ek__fixed(c->link[t->slowest].bandwidth_gbps, 2).text);
        fputc('\n', p->out);
    }
}

static void print_queue(const page *p)
{
    const ek_trace_queue *q = &p->detail->queue;
    if (q->n == 0)
        return;
    heading(p, "Launched work that waits for the device\n");
    fprintf(p->out, "  queue: %s on average, %lld at most; from launch to begin: %s us on average, %s us at most\n",
            ek__fixed(q->length, 2).text, (long long)q->longest, ek__fixed(q->delay / 1e3, 1).text,
            ek__fixed((double)q->longest_delay / 1e3, 1).text);
}

static void print_data(const page *p)
{
    const ek_trace_data *data = &p->detail->data;
    if (data->n_iterators == 0 && data->n_ops == 0)
        return;
    heading(p, "Data loading\n");
    for (int i = 0; i < data->n_iterators; i++) {
        fputs("  ", p->out);
        print_cut(data->iterator[i].name, NAME_WIDTH, p->out);
        fprintf(p->out, "  %8" PRId64 " times  %10s ms\n", data->iterator[i].count, ms(data->iterator[i].total).text);
    }
    for (int i = 0; i < data->n_ops; i++) {
        const ek_trace_data_op *op = &data->op[i];
        fprintf(p->out, "  %d %s, %d workers, queue %s", op->id, op->type ? op->type : "", op->workers,
                ek__short(op->queue_average).text);
        fprintf(p->out, " of %s\n", ek__short(op->queue_length).text);
    }
}

/* ---- memory ---- */

static ek__digits mb(int64_t bytes)
{
    return ek__fixed((double)bytes / 1048576, 1);
}

static void print_sites(const page *p, const ek_trace_tracker *tracker)
{
    if (tracker->n_sites == 0)
        return;
    fputs("       alive        held  never freed  made by (layer)\n", p->out);
    for (int i = 0; i < tracker->n_sites && i < p->top; i++) {
        const ek_trace_tracker_site *site = &tracker->site[i];
        fprintf(p->out, "  %10s  %10s   %10s  ", mb(site->live_bytes).text, mb(site->held_bytes).text,
                mb(site->never_freed_bytes).text);
        ek__print_name(site->place, p->out);
        if (site->layer[0] != '(') { /* (other): no name of a layer is known */
            fputs(" (", p->out);
            ek__print_name(site->layer, p->out);
            fputc(')', p->out);
        }
        fputc('\n', p->out);
    }
}

static void print_tracker(const page *p, const ek_trace_tracker *tracker)
{
    fprintf(p->out, "  blocks: peak %s at tick %" PRId64 "\n", mb(tracker->peak_bytes).text, tracker->peak_tick);
    for (int i = 0; i < tracker->n_live && i < p->top; i++)
        fprintf(p->out, "    %-20s  %10s\n", tracker->live[i].type, mb(tracker->live[i].bytes).text);
    if (tracker->tells_users)
        fprintf(p->out, "  held after their last use at the peak: %s; the peak without that: %s\n",
                mb(tracker->held_bytes).text, mb(tracker->released_peak_bytes).text);
    else
        fputs("  no block has the tasks that use it: memory held after its last use is not known\n", p->out);
    fprintf(p->out, "  never freed, without weights and constants: %s\n", mb(tracker->never_freed_other_bytes).text);
    if (tracker->n_steps > 1)
        fprintf(p->out, "  growth from step to step: %s over %d steps\n",
                ek__fixed(tracker->growth_bytes / 1048576, 3).text, tracker->n_steps);
    print_sites(p, tracker);
}

static void print_room(const page *p, const char *when, const ek_trace_memory_room *room)
{
    if (room->reserved_bytes == EK_TRACE_UNKNOWN)
        return;
    fprintf(p->out, "    %s: %s reserved, %s of it free in %" PRId64 " piece%s", when, mb(room->reserved_bytes).text,
            mb(room->free_bytes).text, room->n_free, room->n_free == 1 ? "" : "s");
    if (room->n_free > 0)
        fprintf(p->out, ", the largest %s", mb(room->largest_free_bytes).text);
    fputc('\n', p->out);
}

static void print_block_sites(const page *p, const ek_trace_block_map *map)
{
    if (map->n_sites > 0)
        fputs("       there  number  never freed  in            allocated by\n", p->out);
    for (int i = 0; i < map->n_sites && i < p->top; i++) {
        const ek_trace_block_site *site = &map->site[i];
        fprintf(p->out, "  %10s  %6" PRId64 "   %10s  %-13s ", mb(site->live_bytes).text, site->n_live,
                mb(site->never_freed_bytes).text, ek_block_role_name[site->role]);
        ek__print_name(site->name, p->out);
        fputc('\n', p->out);
    }
}

static void print_map(const page *p, const ek_trace_block_map *map)
{
    fputs("  ", p->out);
    ek__print_name(map->name, p->out);
    fprintf(p->out, ": peak %s in %" PRId64 " of %" PRId64 " allocations, %s", mb(map->peak.active_bytes).text,
            map->peak.n_live, map->n_all_blocks, map->is_ticked ? "after " : "");
    fprintf(
        p->out, "%s %s\n",
        ek__fixed((double)(map->peak.time - map->begin) / (map->is_ticked ? 1e3 : 1e6), map->is_ticked ? 0 : 3).text,
        map->is_ticked ? "events" : "ms after the record began");
    print_room(p, "at the peak", &map->peak);
    print_room(p, "at the end", &map->last);
    fprintf(p->out, "    from before the record %s; never freed %s", mb(map->before_bytes).text,
            mb(map->never_freed_bytes).text);
    if (map->n_out_of_memory > 0)
        fprintf(p->out, "; out of memory %" PRId64 " time%s, of the last %s were requested", map->n_out_of_memory,
                map->n_out_of_memory == 1 ? "" : "s", mb(map->out_of_memory_bytes).text);
    fputc('\n', p->out);
    print_block_sites(p, map);
}

static void print_memory(const page *p)
{
    const ek_trace_memory *memory = &p->detail->memory;
    const ek_trace_tracker *tracker = &memory->tracker;
    if (memory->n_peaks == 0 && tracker->n_rows == 0 && memory->n_maps == 0)
        return;
    heading(p, "Memory");
    fputs(", peaks in MB\n", p->out);
    for (int i = 0; i < memory->n_peaks; i++) {
        fputs("  ", p->out);
        print_cut(memory->peak[i].component, 12, p->out);
        fprintf(p->out, "  allocated %10s", ek__fixed(memory->peak[i].allocated_mb, 1).text);
        fprintf(p->out, "  reserved %10s", ek__fixed(memory->peak[i].reserved_mb, 1).text);
        fprintf(p->out, "  active %10s\n", ek__fixed(memory->peak[i].active_mb, 1).text);
    }
    if (memory->n_largest > 0)
        fprintf(p->out, "  largest allocation %s MB: %s; %" PRId64 " of %" PRId64 " never released\n",
                ek__fixed(memory->largest[0].size_kb / 1024, 1).text, memory->largest[0].name, memory->n_never_released,
                memory->n_operator_rows);
    if (tracker->n_rows > 0)
        print_tracker(p, tracker);
    for (int i = 0; i < memory->n_maps; i++)
        print_map(p, &memory->map[i]);
}

/* ---- findings ---- */

static bool shows_finding(const page *p, const ek_trace_finding *finding)
{
    return p->view == NULL || p->view->rank == EK_TRACE_NO_RANK || finding->rank < 0 || finding->rank == p->view->rank;
}

static void print_findings(const page *p)
{
    int n = 0;
    heading(p, "Findings");
    fputs(", most to win first\n", p->out);
    for (int i = 0; i < p->run->n_findings; i++) {
        const ek_trace_finding *finding = &p->run->finding[i];
        if (!shows_finding(p, finding))
            continue;
        fprintf(p->out, "%2d. %s", ++n, finding->id);
        bool known = finding->gain_ns != EK_TRACE_UNKNOWN, has_share = isfinite(finding->share);
        if (known)
            fprintf(p->out, ": at most %s ms a step", ms(finding->gain_ns).text);
        if (has_share)
            fprintf(p->out, known ? " (%s %%)" : ": %s %% of the step, gain unknown",
                    ek__fixed(100 * finding->share, 1).text);
        fputc('\n', p->out);
        ek__print_wrapped(finding->text, 4, p->out);
        if (finding->advice)
            ek__print_wrapped(finding->advice, 4, p->out);
    }
    if (n == 0)
        fputs("  none\n", p->out);
}

static void print_notes(const page *p)
{
    const ek_trace_rank *rank = p->detail;
    for (int i = 0; i < rank->n_notes; i++) {
        if (i == 0)
            heading(p, "Notes\n");
        ek__print_wrapped(rank->note[i], 2, p->out);
    }
}

/* ---- the page ---- */

static ek_status print_page(const page *p, ek_error *err)
{
    char label[32];
    print_headline(p);
    ek_status status = print_ranks(p, err);
    if (status)
        return status;
    if (p->n == 1 && p->detail->n_steps > 1)
        print_steps(p);
    print_anatomy(p);
    print_path(p);
    print_stages(p);
    print_layers(p);
    ek__rank_label(p->run, p->detail, label, sizeof label);
    if (p->n > 1)
        fprintf(p->out, "\nDetails of %s, the busiest; --rank N shows another.\n", label);
    print_operators(p);
    print_computing(p);
    print_waits(p);
    print_communication(p);
    print_queue(p);
    print_data(p);
    print_memory(p);
    print_notes(p);
    print_findings(p);
    return ek__finish(p->out, err);
}

/* Files of the whole run, without files of a rank. */
static ek_status print_groups_only(const page *p, ek_error *err)
{
    fprintf(p->out, "No files of ranks. %d groups of ranks are known; --format json lists them.\n",
            p->run->topology.n_groups);
    return ek__finish(p->out, err);
}

ek_status ek__trace_write_text(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    page p = {.out = out, .run = run, .view = view, .top = view && view->top > 0 ? view->top : DEFAULT_TOP};
    p.rank = ek__alloc((size_t)run->n_ranks, sizeof *p.rank);
    if (!p.rank)
        return ek__no_memory(err);
    for (int i = 0; i < run->n_ranks; i++)
        if (ek__view_shows(view, &run->rank[i])) {
            p.rank[p.n++] = &run->rank[i];
            if (!p.detail || own_work(&run->rank[i]) > own_work(p.detail))
                p.detail = &run->rank[i];
        }
    ek_status status = p.detail            ? print_page(&p, err)
                       : run->n_ranks == 0 ? print_groups_only(&p, err)
                                           : ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no rank to show");
    free(p.rank);
    return status;
}
