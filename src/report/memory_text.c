/* Prints a prediction of memory for people, the verdict first: whether it fits, the memory of every stage by kind, the
 * place of the peak, its tensors, and the basis of the figures. Parts that were not requested (mitigations, tensors,
 * calibration) are omitted. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/page.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/recompute_sets.h"
#include "report/memory_internal.h"
#include "report/writers.h"

enum { BAR = 10, TENSOR_WIDTH = 52, WRAP = 118, CELL = 128 };
/* Columns of the table of stages. */
enum { MIX = 1, USED = 9, LITERAL = 12, FREE, N_COLUMNS };

typedef struct page {
    FILE *out;
    const ek_memory_report *r;
    ek__column column[EK__MAX_COLUMNS]; /**< of stages */
    int width[N_COLUMNS];
} page;

static void color(const page *p, const char *code)
{
    ek__color(p->r->color, code, p->out);
}

static void heading(const page *p, const char *text)
{
    ek__print_heading(p->r->color, text, p->out);
}

static const char *alarm_color(bool bad)
{
    return bad ? "\033[31m" : "\033[32m";
}

/* Words after `column` columns of the line; the next lines begin at its start. */
static void print_wrapped(const page *p, const char *text, int column)
{
    fputc(' ', p->out);
    ek__print_words(text, column + 1, 0, WRAP, p->out);
    fputc('\n', p->out);
}

/* ---- the verdict ---- */

static void print_assumptions(const page *p)
{
    for (int i = 0; i < p->r->n_assumptions; i++) {
        char text[512];
        ek__assumption_text(&p->r->assumption[i], text, sizeof text);
        fprintf(p->out, "%s\n", text); /* not wrapped: a break inside a figure is hard to read */
    }
}

static void verdict(const page *p)
{
    const ek_memory *m = p->r->memory;
    const ek_memory_stage *full = &m->stage[m->fullest];
    double limit = (double)m->limit;
    if (m->limit == 0) {
        fprintf(p->out, "no limit is known: fullest is stage %d with %s MB%s; set it with --mem\n", m->fullest,
                ek__whole_mb(ek__memory_peak(full)).text, ek__is_reserved(p->r->job) ? " reserved" : "");
        return;
    }
    color(p, alarm_color(!m->fits));
    fputs(m->fits ? "fits" : "does not fit", p->out);
    color(p, "\033[0m");
    fprintf(p->out, ": fullest is stage %d with %s MB%s of %s MB, ", m->fullest,
            ek__whole_mb(ek__memory_peak(full)).text, ek__is_reserved(p->r->job) ? " reserved" : "",
            ek__whole_mb(m->limit).text);
    int64_t distance = m->margin < 0 ? -m->margin : m->margin;
    char but[512];
    ek__assumptions_text(p->r, but, sizeof but);
    fprintf(p->out, "%s MB (%s %%) %s%s\n", ek__whole_mb(distance).text,
            ek__fixed(100 * (double)distance / limit, 1).text, m->fits ? "free" : "too much", but);
    if (p->r->verdict_only)
        return;
    print_assumptions(p);
    if (m->fits)
        return;
    int over = 0;
    for (int s = 0; s < m->n_stages; s++)
        over += ek__memory_over(m, &m->stage[s]);
    if (m->n_stages > 1)
        fprintf(p->out, "over the limit: %d of %d stages; --measures lists remedies\n", over, m->n_stages);
    else
        fputs("--measures lists remedies\n", p->out);
}

/* ---- a row per stage ---- */

/* The text before each of its columns, and its minimum width. The columns of peaks have equal widths. */
static const struct {
    const char *before;
    int least;
} layout[N_COLUMNS] = {{"", 5},  {"  ", 6}, {"  ", 5},  {" ", 7},  {" ", 7},  {" ", 7},  {" ", 7},
                       {" ", 9}, {" ", 6},  {" | ", 6}, {"  ", 6}, {"  ", 6}, {"  ", 6}, {"  ", 6}};

static const char *cell(const page *p, int i, int s, char text[CELL])
{
    const ek__owner of = {.result = p->r};
    const ek_memory_stage *stage = &p->r->memory->stage[s];
    ek__kind kind = ek__column_kind(&p->column[i]);
    if (p->column[i].field->compose) {
        p->column[i].field->compose(stage, &of, text, CELL);
        return text;
    }
    ek__reading value = ek__column_value(&p->column[i], stage, &of);
    if (kind == EK__KIND_REAL)
        snprintf(text, CELL, "%s", ek__fixed(value.real, 1).text);
    else if (kind == EK__KIND_COUNT)
        snprintf(text, CELL, "%d", (int)value.number);
    else
        snprintf(text, CELL, "%s", value.number == INT64_MIN ? "-" : ek__whole_mb(value.number).text);
    return i == FREE && value.number < 0 ? "" : text;
}

static void measure_columns(page *p)
{
    char text[CELL];
    int peaks = (int)strlen(ek__whole_mb(p->r->memory->limit).text);
    ek__fields_columns(&ek__memory_stage, NULL, EK__OF_TEXT, p->column);
    for (int i = 0; i < N_COLUMNS; i++) {
        p->width[i] = layout[i].least;
        for (int s = 0; s < p->r->memory->n_stages; s++) {
            int length = (int)strlen(cell(p, i, s, text));
            p->width[i] = length > p->width[i] ? length : p->width[i];
        }
        peaks = i >= USED && p->width[i] > peaks ? p->width[i] : peaks;
    }
    for (int i = USED; i < N_COLUMNS; i++)
        p->width[i] = peaks + (i == LITERAL);
}

/* The row of a stage; -1: the titles. */
static void print_cells(const page *p, int s)
{
    char text[CELL];
    for (int i = 0; i < N_COLUMNS; i++)
        if ((i != LITERAL || p->r->literal) && (i != FREE || p->r->memory->limit > 0))
            fprintf(p->out, "%s%*s", layout[i].before, i == MIX ? -p->width[i] : p->width[i],
                    s < 0 ? ek__column_title(&p->column[i], EK__OF_TEXT) : cell(p, i, s, text));
}

static void print_bar(const page *p, const ek_memory_stage *stage)
{
    double share = (double)ek__memory_peak(stage) / (double)p->r->memory->limit;
    int full = (int)fmin(BAR, floor(share * BAR + 1e-9));
    bool over = ek__memory_over(p->r->memory, stage);
    fputs("  ", p->out);
    color(p, alarm_color(over));
    for (int i = 0; i < BAR; i++)
        fputc(i < full ? '#' : '.', p->out);
    fprintf(p->out, " %s %%%s", ek__fixed(100 * share, 1).text, over ? "  over" : "");
    color(p, "\033[0m");
}

static void print_table(const page *p)
{
    const ek_memory *m = p->r->memory;
    heading(p, "Memory of every stage at its peak");
    fputs(", MB of 2^20 bytes\n", p->out);
    print_cells(p, -1);
    if (m->limit > 0)
        fprintf(p->out, "  of %s MB", ek__whole_mb(m->limit).text);
    fputc('\n', p->out);
    for (int s = 0; s < m->n_stages; s++) {
        if (p->r->stage >= 0 && p->r->stage != s)
            continue;
        print_cells(p, s);
        if (m->limit > 0)
            print_bar(p, &m->stage[s]);
        fputc('\n', p->out);
    }
    fputs("alive: micro-batches with live activations; activ.: saved for backward passes; transient: around the "
          "running\n",
          p->out);
    fputs(ek__is_reserved(p->r->job) ? "operator; used: allocated at the peak; fragm.: overhead of the allocator; "
                                       "actual: reserved, required on a device\n"
                                     : "operator; fragm.: overhead of the allocator; actual: required on a device\n",
          p->out);
}

static void print_reading(const page *p)
{
    const ek_job *job = p->r->job;
    if (!job->reading[0] || !p->r->literal)
        return;
    const ek_memory *a = p->r->memory, *b = p->r->literal;
    char text[640];
    snprintf(text, sizeof text,
             "ways: %s Column literal: with such keys ignored, as the framework does; its fullest is stage %d with %s "
             "MB instead of %s MB (--literal shows only that)",
             job->reading, b->fullest, ek__whole_mb(ek__memory_peak(&b->stage[b->fullest])).text,
             ek__whole_mb(ek__memory_peak(&a->stage[a->fullest])).text);
    fputs("\nthe file can be read in two", p->out);
    print_wrapped(p, text, 27);
}

/* ---- one stage ---- */

static void print_place(const page *p, int s)
{
    const ek_memory_stage *stage = &p->r->memory->stage[s];
    ek__place place = ek__memory_place(p->r->job, p->r->memory, s);
    fprintf(p->out, "in the %s of micro-batch %u", ek__pass_name(stage->block.kind), stage->block.micro_batch);
    if (p->r->job->plan.n_chunks > 1 || p->r->job->schedule->placement == EK_PLACE_BOTH_WAYS)
        fprintf(p->out, ", chunk %d", stage->block.chunk);
    if (stage->layer < 0)
        fputs(", embedding", p->out);
    else if (stage->layer >= place.n_layers)
        fputs(", head and loss", p->out);
    else
        fprintf(p->out, ", layer %d (%d of the model)", stage->layer, place.model_layer);
    if (stage->operator_name[0]) {
        fputs(", at ", p->out);
        ek__print_name(stage->operator_name, p->out);
    }
    fputs(" (counted from 0)\n", p->out);
}

static void print_parts(const page *p, const ek_memory_stage *stage)
{
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        fprintf(p->out, "  %-12s %8s MB  %5s %%\n", ek_memory_part_name[i], ek__whole_mb(stage->part[i]).text,
                ek__fixed(stage->used_peak > 0 ? 100 * (double)stage->part[i] / (double)stage->used_peak : 0, 1).text);
    fprintf(p->out, "  %-12s %8s MB\n", "used", ek__whole_mb(stage->used_peak).text);
    if (stage->actual_peak > 0)
        fprintf(p->out, "  %-12s %8s MB  (%s)\n", "actual", ek__whole_mb(stage->actual_peak).text,
                ek__is_reserved(p->r->job) ? "reserved: used and fragments" : "used and fragments");
}

static void print_chunks(const page *p, int s)
{
    const ek_plan *plan = &p->r->job->plan;
    for (int c = 0; c < plan->n_chunks && plan->n_chunks > 1; c++) {
        char text[128];
        ek__mix_text(ek_plan_mix(plan, c, s), text, sizeof text);
        fprintf(p->out, "  chunk %d: %d layer%s: %s\n", c, plan->layers[c * plan->n_stages + s],
                plan->layers[c * plan->n_stages + s] == 1 ? "" : "s", text);
    }
}

static void print_top(const page *p, const ek_memory_stage *stage)
{
    if (stage->n_top == 0)
        return;
    fprintf(p->out, "%9s  %5s  %9s  %-11s  %s\n", "MB", "times", "MB each", "part", "largest tensors alive there");
    for (int i = 0; i < stage->n_top; i++) {
        const ek_memory_tensor *t = &stage->top[i];
        double mb = (double)t->bytes / EK__MB;
        fprintf(p->out, "%9s  %5d  %9s  %-11s  ", ek__grouped(floor(mb * t->count)).text, t->count,
                ek__fixed(mb, 1).text, ek_memory_part_name[t->part]);
        ek__print_name(t->name, p->out);
        fputc('\n', p->out);
    }
}

static void print_stage(const page *p)
{
    const ek_memory *m = p->r->memory;
    bool asked = p->r->stage >= 0;
    int s = asked ? p->r->stage : m->fullest;
    char text[64];
    snprintf(text, sizeof text, "Stage %d%s\n", s, asked || m->n_stages == 1 ? "" : ", the fullest");
    heading(p, text);
    fputs("peak ", p->out);
    print_place(p, s);
    if (asked) {
        print_parts(p, &m->stage[s]);
        print_chunks(p, s);
    }
    print_top(p, &m->stage[s]);
}

/* ---- layers ---- */

static bool any_kept(const ek_memory *m, int kind)
{
    for (int i = 0; i < m->n_layer_kinds; i++)
        if (m->layer_kind[i].kept[kind] > 0)
            return true;
    return false;
}

static void print_layers(const page *p)
{
    const ek_memory *m = p->r->memory;
    if (m->n_layer_kinds == 0)
        return;
    heading(p, "Memory of one layer");
    fputs(", MB: parameters for the step; kept for one micro-batch, by recomputation\n", p->out);
    fprintf(p->out, "%-24s %10s", "", "parameters");
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (any_kept(m, k))
            fprintf(p->out, " %9s", ek_recompute_name[k]);
    fputc('\n', p->out);
    for (int i = 0; i < m->n_layer_kinds; i++) {
        ek__print_cell(m->layer_kind[i].name, 24, p->out);
        fprintf(p->out, " %10s", ek__fixed((double)m->layer_kind[i].parameter_bytes / EK__MB, 1).text);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (any_kept(m, k))
                fprintf(p->out, " %9s", ek__fixed((double)m->layer_kind[i].kept[k] / EK__MB, 1).text);
        fputc('\n', p->out);
    }
}

static void print_times(const page *p)
{
    const ek_memory_report *r = p->r;
    if (r->n_times == 0)
        return;
    heading(p, "Times of one layer and micro-batch");
    fprintf(p->out, " on %s, ms (assumed: peak rates and shares of them reached)\n", r->device->name);
    fprintf(p->out, "%-24s %9s", "", "forward");
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        fprintf(p->out, " %9s", ek_recompute_name[k]);
    fputs("  (backward, by recomputation)\n", p->out);
    for (int i = 0; i < r->n_times; i++) {
        ek__print_cell(r->time[i].name, 24, p->out);
        fprintf(p->out, " %9s", ek__fixed(r->time[i].ms.forward, 3).text);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            fprintf(p->out, " %9s", ek__fixed(r->time[i].ms.backward[k], 3).text);
        fputc('\n', p->out);
    }
}

/* ---- tensors of a layer ---- */

static void print_patterns(const page *p, const ek_kept_tensor *t)
{
    if (t->n_patterns == 0)
        fputs(t->maker[0] ? "-" : "- (the layer's input)", p->out);
    else
        fputs(t->pattern_kind == EK_PATTERN_COMM ? "comm  " : "select  ", p->out);
    for (int i = 0; i < t->n_patterns; i++) {
        fputs(i ? " with " : "", p->out);
        ek__print_name(t->pattern[i], p->out);
    }
    if (t->n_patterns > 0 && t->pattern_saves < t->bytes)
        fprintf(p->out, "  (saves %s MB: inputs are kept instead)",
                ek__fixed((double)t->pattern_saves / EK__MB, 1).text);
}

static void print_kept_tensor(const page *p, const ek_kept_tensor *t)
{
    char text[256];
    fprintf(p->out, "%9s  ", ek__fixed((double)t->bytes / EK__MB, 2).text);
    ek__kept_name(t, text, sizeof text);
    ek__print_cell(text, TENSOR_WIDTH, p->out);
    ek__kept_shape(t, text, sizeof text);
    fprintf(p->out, "  %-16s %-8s ", text, t->n_dims > 0 ? ek_dtype_name[t->dtype] : "");
    for (int k = EK_RECOMPUTE_SELECT; k < EK_N_RECOMPUTE; k++)
        fprintf(p->out, " %-6s", t->kept[k] ? "kept" : "-");
    ek__kept_reader(t, text, sizeof text);
    fputc(' ', p->out);
    ek__print_cell(text[0] ? text : "-", TENSOR_WIDTH, p->out);
    fputs("  ", p->out);
    print_patterns(p, t);
    fputc('\n', p->out);
}

static void print_kept(const page *p)
{
    for (int i = 0; i < p->r->n_kept; i++) {
        const ek_kept *kept = &p->r->kept[i];
        char text[128];
        snprintf(text, sizeof text, "Saved activations of one layer: %s", kept->name);
        heading(p, text);
        fprintf(p->out, ", one micro-batch, %s MB where nothing is recomputed\n",
                ek__fixed((double)kept->bytes / EK__MB, 2).text);
        fprintf(p->out, "%9s  %-*s  %-16s %-8s ", "MB", TENSOR_WIDTH, "tensor, by the operator that makes it",
                "shape on a rank", "type");
        for (int k = EK_RECOMPUTE_SELECT; k < EK_N_RECOMPUTE; k++)
            fprintf(p->out, " %-6s", ek_recompute_name[k]);
        fprintf(p->out, " %-*s  %s\n", TENSOR_WIDTH, "kept for the gradient of", "removed by");
        for (int t = 0; t < kept->n; t++)
            print_kept_tensor(p, &kept->tensor[t]);
    }
}

/* ---- useful recomputation ---- */

/* The patterns of a set that another does not have, one kind after the other. */
static void print_new_patterns(const page *p, const ek_recompute_set *set, const ek_recompute_set *but)
{
    static const char *const sorts[] = {"select", "comm", "not select", "not comm"};
    for (int kind = 0; kind < 4; kind++) {
        const char *before = sorts[kind];
        for (int i = 0; i < set->n_patterns; i++)
            if ((int)set->pattern[i].kind == kind && !ek_recompute_set_has(but, &set->pattern[i])) {
                fprintf(p->out, "  %s", before);
                fputs(*before ? " " : "", p->out);
                ek__print_name(set->pattern[i].text, p->out);
                before = "";
            }
    }
}

/* Figures of a line are for all patterns up to it; MB/ms is for those it adds. */
static void print_worth_line(const page *p, const ek_recompute_set *set, const ek_recompute_set *before)
{
    double mb = set->saved_mb - before->saved_mb, ms = set->extra_ms - before->extra_ms;
    char rate[sizeof(ek__digits)] = "free";
    if (ms > 0)
        snprintf(rate, sizeof rate, "%s", ek__fixed(mb / ms, 0).text);
    fprintf(p->out, "%9s %9s %8s", ek__fixed(set->saved_mb, 2).text, ek__fixed(set->extra_ms, 3).text, rate);
}

static void print_worth(const page *p)
{
    const ek_recompute_set_list *worth = p->r->worth;
    if (!worth)
        return;
    const ek_recompute_set *before = &worth->nothing, none = {.n_patterns = 0};
    heading(p, "Worth recomputing");
    fprintf(p->out, ", one layer and micro-batch, %s MB kept where nothing is\n",
            ek__fixed(worth->nothing.kept_mb, 2).text);
    fprintf(p->out, "%9s %9s %8s     %s\n", "MB saved", "ms", "MB/ms", "with the lines above, patterns of");
    for (int i = 0; i < worth->n; i++) {
        const ek_recompute_set *set = &worth->set[i];
        if (!set->hull)
            continue;
        bool adds = ek_recompute_set_has_all(set, before);
        print_worth_line(p, set, before);
        fputs(set->offered ? "  *" : "   ", p->out);
        if (!adds)
            fputs("  instead:", p->out);
        print_new_patterns(p, set, adds ? before : &none);
        fputc('\n', p->out);
        before = set;
    }
    fprintf(p->out, "%9s %9s %8s     the whole layer\n", ek__fixed(worth->full.saved_mb, 2).text,
            ek__fixed(worth->full.extra_ms, 3).text, "");
    fputs("MB/ms: of the addition of a line; *: together with the others marked, the sets closest to the best of all "
          "mixtures of layers\n",
          p->out);
    if (!worth->proved)
        fprintf(p->out, "not searched to the end: better sets may take up to %s ms less\n",
                ek__fixed(worth->gap_ms, 4).text);
}

/* ---- measures ---- */

static const char *change_of_step(double change, char *text, size_t size)
{
    snprintf(text, size, "%s%s %%", change >= 0 ? "+" : "", ek__fixed(100 * change, 1).text);
    return isfinite(change) ? text : "-";
}

/* The use of the freed memory, as a separate row. */
static void print_relieved(const page *p, const ek_mitigation *m)
{
    char step[64];
    if (!m->relieved[0])
        return;
    fprintf(p->out, "%9s  %9s  %-4s  %9s  and then no more recomputation than memory needs\n", "",
            ek__grouped(m->relieved_mb).text, "yes", change_of_step(m->relieved_change, step, sizeof step));
    fputs("                                      ", p->out);
    ek__print_name(m->relieved, p->out);
    fputc('\n', p->out);
}

static void print_measure(const page *p, const ek_mitigation *m)
{
    if (!m->possible) {
        fprintf(p->out, "%9s  %9s  %-4s  %9s  ", "-", "-", "-", "-");
        ek__print_name(m->name, p->out);
        fputs(": not possible, ", p->out);
        ek__print_name(m->why, p->out);
        fputc('\n', p->out);
        return;
    }
    char step[64];
    fprintf(p->out, "%9s  %9s  %-4s  %9s  ", ek__grouped(m->saved_mb).text, ek__grouped(m->after_mb).text,
            p->r->memory->limit <= 0 ? "-"
            : m->fits                ? "yes"
                                     : "no",
            change_of_step(m->step_change, step, sizeof step));
    ek__print_name(m->name, p->out);
    if (m->setting[0]) {
        fputs("\n                                      ", p->out);
        ek__print_name(m->setting, p->out);
    }
    fputc('\n', p->out);
    print_relieved(p, m);
}

static void print_measures(const page *p)
{
    if (!p->r->measure)
        return;
    heading(p, "Saving of each setting by itself");
    fputs(", MB of the fullest stage\n", p->out);
    fprintf(p->out, "%9s  %9s  %-4s  %9s\n", "saved", "then", "fits", "step time");
    for (int i = 0; i < p->r->n_measures; i++)
        print_measure(p, &p->r->measure[i]);
    if (!p->r->device)
        fputs("step times are modelled with --device\n", p->out);
}

/* ---- calibration ---- */

static void print_error(const page *p, const char *what, const ek_memory_error *e)
{
    fprintf(p->out, "  %-26s mean %s %%, bias %s%s %%, worst %s %% (stage %d)\n", what,
            ek__fixed(100 * e->mean, 1).text, e->bias > 0 ? "+" : "", ek__fixed(100 * e->bias, 1).text,
            ek__fixed(100 * e->worst, 1).text, e->worst_stage);
}

/* The rules that give the same prediction. A calibrated prediction is not rounded to whole blocks; in addition to the
 * fitted rules this takes two: no blocks, and half a block in the constant. */
static void print_knobs(const page *p, const ek_memory_calibration *c)
{
    const ek_rules *rules = &c->fit->rules;
    for (int i = 0; i < c->fit->n_knobs; i++)
        fprintf(p->out, "  --rule %s=%s\n", c->fit->knob[i], ek__short(c->fit->value[i]).text);
    if (!c->actual || rules->allocation != EK_ALLOCATION_WHOLE)
        return;
    if (c->fit->n_knobs == 0)
        fprintf(p->out, "  --rule constant_mb=%s\n", ek__short(rules->constant_mb).text);
    fprintf(p->out, "  --rule block_bytes=%" PRId64 "  (not rounded to whole blocks: half a block is added instead)\n",
            rules->block_bytes);
}

static void print_contradicted(const page *p, const ek_memory_contradiction *c)
{
    if (c)
        fprintf(p->out,
                "  These peaks contradict the assumed %s=%s: without a fit its mean error is %s %%, with %s %s %%.\n"
                "  Calibrate again with --rule %s\n",
                c->rule, c->value, ek__fixed(100 * c->error, 1).text, c->assignment,
                ek__fixed(100 * c->other_error, 1).text, c->assignment);
}

static void print_calibration(const page *p)
{
    const ek_memory_calibration *c = p->r->calibration;
    if (!c)
        return;
    heading(p, "Calibration");
    if (c->fit->n_knobs > 0)
        fprintf(p->out, ": %d knob%s fitted to the %s peaks\n", c->fit->n_knobs, c->fit->n_knobs == 1 ? "" : "s",
                c->actual ? "actual" : "used");
    else
        fprintf(
            p->out,
            ": no knob fitted to the %s peaks, since it does not improve the prediction of a peak that is left out\n",
            c->actual ? "actual" : "used");
    print_knobs(p, c);
    print_error(p, "before", &c->fit->before);
    print_error(p, "after", &c->fit->after);
    if (isfinite(c->fit->left_out.mean))
        print_error(p, "each from the others", &c->fit->left_out);
    if (c->judged)
        print_error(p, "on the stages left out", c->judged);
    fprintf(p->out, "  %5s  %11s  %12s  %7s\n", "stage", "measured MB", "predicted MB", "error");
    for (int i = 0; i < c->n_peaks; i++) {
        double error = 100 * (c->predicted_mb[i] / c->peak[i].mb - 1);
        fprintf(p->out, "  %5d  %11s  %12s  %s%s %%%s\n", c->peak[i].stage, ek__grouped(floor(c->peak[i].mb)).text,
                ek__grouped(floor(c->predicted_mb[i])).text, error > 0 ? "+" : "", ek__fixed(error, 1).text,
                c->fitted[i] ? "" : "  not fitted to");
    }
    print_contradicted(p, c->contradicted);
}

/* ---- basis ---- */

/* A fitted decimal with the digits of `--rule` in the calibration. */
static void shorten(char *text, size_t size)
{
    char *end;
    double value = ek__strtod(text, &end);
    if (*end == '\0' && end != text && strchr(text, '.'))
        snprintf(text, size, "%s", ek__short(value).text);
}

static void print_rules(const page *p)
{
    const ek_job *job = p->r->job;
    char text[2048] = "";
    size_t used = 0;
    for (int i = 0; ek_rule_names[i] && used + 200 < sizeof text; i++) {
        ek__rule_value value = ek__rule_value_of(&job->rules, job->framework, ek_rule_names[i]);
        if (!value.changed && !ek__rule_matters(job, ek_rule_names[i]))
            continue;
        shorten(value.text, sizeof value.text);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", used ? ", " : "", ek_rule_names[i],
                                 value.text);
        if (value.changed)
            used += (size_t)snprintf(text + used, sizeof text - used, " (usually %s)", value.usual);
    }
    snprintf(text + used, sizeof text - used, "; --rules explains them");
    fputs("\nrests on:", p->out);
    print_wrapped(p, ek__memory_basis, 9);
    fputs("rules:", p->out);
    print_wrapped(p, text, 6);
}

ek_status ek__memory_write_text(const ek_memory_report *report, FILE *out, ek_error *err)
{
    page p = {.out = out, .r = report};
    verdict(&p);
    if (report->verdict_only)
        return ek__finish(out, err);
    ek__print_job(p.r->job, p.out);
    measure_columns(&p);
    print_table(&p);
    print_reading(&p);
    print_stage(&p);
    print_layers(&p);
    print_times(&p);
    print_kept(&p);
    print_worth(&p);
    print_measures(&p);
    print_calibration(&p);
    print_rules(&p);
    return ek__finish(out, err);
}
