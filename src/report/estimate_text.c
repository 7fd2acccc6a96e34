/* Prints an estimate for people, the verdict first: the step time and whether it fits; the measured run next to it; the
 * parts of the step and the basis of each; a row per stage; the expected error and ways to reduce it. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "report/estimate_internal.h"
#include "report/plot_internal.h"
#include "report/writers.h"

enum { NAME = 28, NUMBER = 12, STAGE = 10 };

static const char red[] = "\033[31m", green[] = "\033[32m", plain[] = "\033[0m";

typedef struct page {
    FILE *out;
    const ek_estimate_report *r;
    const ek_estimate *e;
} page;

static void heading(const page *p, const char *text)
{
    ek__print_heading(p->r->color, text, p->out);
}

static ek__digits ms(double seconds)
{
    return ek__fixed(1e3 * seconds, 2);
}

/* ---- the verdict ---- */

static void print_memory_line(const page *p)
{
    char text[256];
    ek__estimate_memory(p->e, text, sizeof text);
    const char *colon = strchr(text, ':');
    ek__color(p->r->color && p->e->memory.limit > 0, p->e->memory.fits ? green : red, p->out);
    fprintf(p->out, "%.*s", (int)(colon - text), text);
    ek__color(p->r->color && p->e->memory.limit > 0, plain, p->out);
    fputs(colon, p->out);
}

static void print_verdict(const page *p)
{
    char text[256];
    const ek_against *a = p->r->against;
    ek__estimate_verdict(p->e, text, sizeof text);
    fputs(text, p->out);
    if (a)
        fprintf(p->out, "; measured %s, so %s%s %%", ek__seconds(a->seconds).text, a->error > 0 ? "+" : "",
                ek__fixed(100 * a->error, 1).text);
    fputs(p->r->verdict_only ? "; " : "\n", p->out);
    print_memory_line(p);
    fputc('\n', p->out);
}

static void print_rates(const page *p)
{
    const ek_estimate *e = p->e;
    fprintf(p->out, "%s tokens a step, ", ek__grouped(e->tokens_per_step).text);
    fprintf(p->out, "%s samples/s of all devices", ek__short(e->metrics.samples_per_second).text);
    if (!isnan(e->days)) {
        fprintf(p->out, "; %s tokens take ", ek__grouped(e->wanted_tokens).text);
        fprintf(p->out, "%s days", ek__fixed(e->days, 1).text);
    }
    fputc('\n', p->out);
}

static void print_device(const page *p)
{
    char text[400];
    ek__estimate_run(p->e->job, text, sizeof text);
    fprintf(p->out, "%s\n", text);
    fputs("device ", p->out);
    ek__print_name(p->e->device->name, p->out);
    fputs(": ", p->out);
    ek__print_name(p->e->device->source, p->out);
    fputs(p->e->device->certain ? "\n" : " (uncertain)\n", p->out);
}

/* ---- a measured run ---- */

static void print_pair(const page *p, const char *name, double measured, double predicted)
{
    fprintf(p->out, "%-*s%*s", NAME, name, NUMBER, ms(measured).text);
    fprintf(p->out, "%*s", NUMBER, ms(predicted).text);
    fprintf(p->out, "%*s", NUMBER, ms(predicted - measured).text);
    fprintf(p->out, "%*s\n", NUMBER, ek__fixed(measured > 0 ? 100 * (predicted / measured - 1) : (double)NAN, 1).text);
}

static void print_against(const page *p)
{
    const ek_against *a = p->r->against;
    if (!a)
        return;
    heading(p, "Measured and predicted");
    fputs(", ms: ", p->out);
    ek__print_name(p->r->against_source, p->out);
    fprintf(p->out, ", %s\n%-*s%*s%*s%*s%*s\n", a->words, NAME, "", NUMBER, "measured", NUMBER, "predicted", NUMBER,
            "difference", NUMBER, "error, %");
    for (int i = 0; i < EK_N_AGAINST_PARTS && a->has_parts; i++)
        if (a->part[i] > 0 || a->predicted[i] > 0)
            print_pair(p, ek_against_title[i], a->part[i], a->predicted[i]);
    print_pair(p, "step", a->seconds, p->e->step.seconds);
    if (!a->has_parts)
        fputs("Only the step of the run is known: a profiler trace has its parts.\n", p->out);
    for (int i = 0; i < a->texts.n; i++)
        ek__print_wrapped(a->texts.text[i], 0, p->out);
}

/* ---- bars ---- */

/* The i-th part with any time. */
static void part_bar(const void *user, int i, ek__bar *out)
{
    const page *p = user;
    const double *seconds = p->e->step.stage[p->e->step.slowest].seconds;
    int part = 0;
    while (part < EK_N_STEP_PARTS && (!(seconds[part] > 0) || i-- > 0))
        part++;
    assert(part < EK_N_STEP_PARTS);
    snprintf(out->label, sizeof out->label, "%s", ek_step_part_title[part]);
    snprintf(out->value, sizeof out->value, "%s", ms(seconds[part]).text);
    out->part[ek_against_of((ek_step_part)part)] = seconds[part];
}

static void draw_parts(const page *p)
{
    const ek_step *step = &p->e->step;
    ek__bars bars = {.at = part_bar,
                     .user = p,
                     .n_parts = EK_N_AGAINST_PARTS,
                     .role = {[EK_AGAINST_COMPUTE] = EK__ROLE_SOLID,
                              [EK_AGAINST_EXPOSED] = EK__ROLE_EXPOSED,
                              [EK_AGAINST_PIPELINE] = EK__ROLE_WAITING,
                              [EK_AGAINST_IDLE] = EK__ROLE_IDLE},
                     .what = "parts"};
    bool has[EK_N_AGAINST_PARTS] = {false};
    if (p->r->plot.columns < 1)
        return;
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        double seconds = step->stage[step->slowest].seconds[i];
        bars.n += seconds > 0;
        bars.whole = fmax(bars.whole, seconds);
        has[ek_against_of((ek_step_part)i)] |= seconds > 0;
    }
    heading(p, "The parts as bars");
    fputs(", ms\n", p->out);
    ek__plot_bars(&p->r->plot, &bars, p->out);
    ek__plot_meaning meaning[EK_N_AGAINST_PARTS];
    int n = 0;
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++)
        if (has[i])
            meaning[n++] = (ek__plot_meaning){bars.role[i], ek_against_title[i]};
    ek__plot_legend(&p->r->plot, 0, meaning, n, p->out);
}

static void memory_bar(const void *user, int i, ek__bar *out)
{
    const page *p = user;
    const ek_memory *m = &p->e->memory;
    int64_t peak = ek__memory_peak(&m->stage[i]);
    bool over = ek__memory_over(m, &m->stage[i]);
    snprintf(out->label, sizeof out->label, "stage %d", i);
    snprintf(out->value, sizeof out->value, "%s", ek__whole_mb(peak).text);
    out->part[0] = (double)(over ? m->limit : peak);
    out->part[1] = over ? (double)(peak - m->limit) : 0;
}

static void draw_memory(const page *p)
{
    const ek_memory *m = &p->e->memory;
    ek__bars bars = {.n = p->e->step.n_stages,
                     .at = memory_bar,
                     .user = p,
                     .mark = (double)m->limit,
                     .n_parts = 2,
                     .role = {EK__ROLE_SOLID, EK__ROLE_OVER},
                     .what = "stages",
                     .spread = true};
    if (p->r->plot.columns < 1)
        return;
    bars.whole = (double)m->limit;
    for (int s = 0; s < bars.n; s++)
        bars.whole = fmax(bars.whole, (double)ek__memory_peak(&m->stage[s]));
    heading(p, "Memory's peak of every stage");
    fputs(", MB of 2^20 bytes", p->out);
    if (m->limit > 0)
        fprintf(p->out, "; the line is the limit of %s MB", ek__whole_mb(m->limit).text);
    fputc('\n', p->out);
    ek__plot_bars(&p->r->plot, &bars, p->out);
}

/* ---- parts ---- */

static void print_part(const page *p, const char *name, double seconds, double error, const char *basis)
{
    double share = p->e->step.seconds > 0 ? 100 * seconds / p->e->step.seconds : (double)NAN;
    fprintf(p->out, "%-*s%*s", NAME, name, NUMBER, ms(seconds).text);
    fprintf(p->out, "%8s", ek__fixed(share, 1).text);
    fprintf(p->out, "%*s%s%s\n", STAGE, error > 0 ? ms(error).text : "-", *basis ? "  " : "", basis);
}

static void print_parts(const page *p)
{
    const ek_step *step = &p->e->step;
    const ek_step_stage *slowest = &step->stage[step->slowest];
    char title[64];
    snprintf(title, sizeof title,
             step->n_stages > 1 ? "Where the step goes on stage %d, the slowest of %d" : "Where the step goes",
             step->slowest, step->n_stages);
    heading(p, title);
    fprintf(p->out, "\n%-*s%*s%8s%*s  %s\n", NAME, "part", NUMBER, "ms", "%", STAGE, "+-, ms", "rests on");
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (slowest->seconds[i] > 0)
            print_part(p, ek_step_part_title[i], slowest->seconds[i], step->error[i],
                       ek_cost_basis_name[step->basis[i]]);
    print_part(p, "step", step->seconds, step->standard_error, "");
    double hidden = slowest->hidden_data + slowest->hidden_tensor;
    if (hidden > 0)
        fprintf(p->out, "%s ms of communication are overlapped with computing.\n", ms(hidden).text);
    draw_parts(p);
}

/* ---- stages ---- */

static const char *const short_title[EK_N_STEP_PARTS] = {"matrix", "attention", "experts", "memory", "recompute",
                                                         "tensor", "context",   "expert",  "bubble", "p2p",
                                                         "data",   "optimizer", "host",    "input"};

static void print_stage(const page *p, int s)
{
    const ek_memory_stage *memory = &p->e->memory.stage[s];
    bool over = ek__memory_over(&p->e->memory, memory);
    fprintf(p->out, "%5d", s);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (ek__estimate_has(p->e, i))
            fprintf(p->out, "%*s", STAGE, ms(p->e->step.stage[s].seconds[i]).text);
    ek__color(p->r->color && over, red, p->out);
    fprintf(p->out, "%*s%s", STAGE, ek__whole_mb(ek__memory_peak(memory)).text, over ? "  over" : "");
    ek__color(p->r->color && over, plain, p->out);
    fputs(s == p->e->step.slowest ? "  slowest\n" : "\n", p->out);
}

static void print_stages(const page *p)
{
    if (p->e->step.n_stages < 2)
        return;
    heading(p, "Every stage");
    fputs(", ms, and its memory's peak, MB of 2^20 bytes\nstage", p->out);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (ek__estimate_has(p->e, i))
            fprintf(p->out, "%*s", STAGE, short_title[i]);
    fprintf(p->out, "%*s\n", STAGE, "peak");
    for (int s = 0; s < p->e->step.n_stages; s++)
        print_stage(p, s);
    draw_memory(p);
}

/* ---- certainty ---- */

static void print_texts(const page *p, const char *title, const ek_estimate_texts *texts)
{
    if (texts->n == 0)
        return;
    heading(p, title);
    fputc('\n', p->out);
    for (int i = 0; i < texts->n; i++) {
        fputs("* ", p->out);
        ek__print_words(texts->text[i], 2, 2, EK__PAGE_WIDTH, p->out);
        fputc('\n', p->out);
    }
}

static void print_error(const page *p)
{
    char text[640];
    heading(p, "The error to expect");
    fputc('\n', p->out);
    ek__estimate_error(p->e, text, sizeof text);
    ek__print_wrapped(text, 0, p->out);
    fputs("The step by basis:", p->out);
    const char *comma = "";
    for (int i = 0; i < EK_N_COST_BASES; i++)
        if (p->e->basis_share[i] > 0) {
            fprintf(p->out, "%s %s %s %%", comma, ek_cost_basis_name[i], ek__fixed(100 * p->e->basis_share[i], 1).text);
            comma = ",";
        }
    fputs(".\n", p->out);
    snprintf(text, sizeof text, "It is %s.", ek__estimate_basis);
    ek__print_wrapped(text, 0, p->out);
}

ek_status ek__estimate_write_text(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    const page p = {out, report, report->estimate};
    print_verdict(&p);
    if (report->verdict_only)
        return ek__finish(out, err);
    ek__print_job(p.e->job, out);
    print_device(&p);
    print_rates(&p);
    print_against(&p);
    print_parts(&p);
    print_stages(&p);
    print_error(&p);
    print_texts(&p, "Measurements that reduce it", &p.e->advice);
    print_texts(&p, "Keep in mind", &p.e->warnings);
    return ek__finish(out, err);
}
