/* Prints the best layouts for people, the verdict first: the best one and its certainty; the current one next to it; a
 * row per plan; the parts of the best one's step, its stages, its settings; the reasons against the others. If nothing
 * fits: the closest layout and changes that would make it fit. */
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "report/layout_internal.h"
#include "report/plot_internal.h"
#include "report/writers.h"

enum { NAME = 28, NUMBER = 12, MOST_PARTS = 3 };

static const char red[] = "\033[31m", green[] = "\033[32m", plain[] = "\033[0m";

typedef struct page {
    FILE *out;
    const ek_layout_report *report;
    const ek_layout_result *r;
    bool color;
} page;

static void heading(const page *p, const char *text)
{
    ek__print_heading(p->color, text, p->out);
    fputc('\n', p->out);
}

static void colored(const page *p, const char *code, const char *text)
{
    ek__color(p->color, code, p->out);
    fputs(text, p->out);
    ek__color(p->color, plain, p->out);
}

/* Steps are in ms if the best one is below a second. */
static bool in_ms(const ek_layout_result *r)
{
    return r->plan[0].estimate.step.seconds < 1;
}

static ek__digits scaled(const ek_layout_result *r, double seconds)
{
    return ek__fixed(in_ms(r) ? 1e3 * seconds : seconds, 3);
}

static double step_of(const ek_layout_plan *plan)
{
    return plan->estimate.step.seconds;
}

/* ---- the verdict ---- */

/* "6.897 s a step, 4 321 tokens/s a device, MFU 41.2 %" */
static void print_speed(const page *p, const ek_layout_plan *plan)
{
    const ek_metrics *m = &plan->estimate.metrics;
    fprintf(p->out, "%s a step, ", ek__seconds(step_of(plan)).text);
    fprintf(p->out, "%s tokens/s a device, ", ek__grouped(m->tokens_per_second_per_device).text);
    fprintf(p->out, "MFU %s %%", ek__fixed(100 * m->mfu, 1).text);
}

static void print_verdict(const page *p)
{
    char words[256], proof[256];
    const ek_layout_plan *best = &p->r->plan[0];
    colored(p, green, ek_layout_words(&best->layout, words, sizeof words));
    fputs(": ", p->out);
    print_speed(p, best);
    ek__layout_proof(p->r, proof, sizeof proof);
    fprintf(p->out, "; %s\n", proof);
}

static void print_today(const page *p)
{
    char words[256];
    const ek_layout_plan *today = &p->r->today;
    double gain = 100 * ek__layout_gain(p->r);
    if (!today->job.path)
        return;
    fprintf(p->out, "today %s: ", ek_layout_words(&today->layout, words, sizeof words));
    print_speed(p, today);
    if (p->r->n_plans > 0)
        fprintf(p->out, "; the best is %s %% %s", ek__fixed(fabs(gain), 1).text, gain >= 0 ? "shorter" : "longer");
    if (!today->estimate.memory.fits) {
        fputs("; ", p->out);
        colored(p, red, "does not fit");
        fprintf(p->out, ": %s MB of ", ek__grouped(ek__layout_peak_mb(today)).text);
        fprintf(p->out, "%s MB", ek__grouped(ek__layout_limit_mb(today)).text);
    }
    fputc('\n', p->out);
}

static void print_question(const page *p)
{
    const ek_job *job = p->r->job;
    ek__print_name(job->name[0] ? job->name : "model", p->out);
    fprintf(p->out, " (%s): %d layers, hidden %d, %d heads, sequences of %d tokens\n",
            ek_framework_name[job->framework], job->model.n_layers, job->model.hidden, job->model.n_heads,
            job->parallel.seq_length);
    fprintf(p->out, "%s devices ", ek__grouped(p->r->options.n_devices).text);
    ek__print_name(p->r->device->name, p->out);
    if (job->limit_mb > 0)
        fprintf(p->out, " with %s MB each", ek__grouped(job->limit_mb).text);
    fprintf(p->out, ", %s sequences a step\n", ek__grouped((double)p->r->options.global_batch).text);
}

/* ---- a row per plan ---- */

static bool axis_shown(const ek_layout_result *r, int axis)
{
    for (int i = 0; i < r->n_plans; i++)
        if (r->plan[i].layout.value[axis] > 1)
            return true;
    return axis == EK_AXIS_DATA || axis == EK_AXIS_TENSOR || axis == EK_AXIS_PIPELINE || axis == EK_AXIS_BATCH;
}

static bool differs(const ek_layout_result *r, bool (*of)(const ek_layout_plan *plan))
{
    for (int i = 0; i < r->n_plans; i++)
        if (of(&r->plan[i]))
            return true;
    return false;
}

static bool has_sequence_parallel(const ek_layout_plan *plan)
{
    return plan->layout.sequence_parallel;
}

static bool has_schedule(const ek_layout_plan *plan)
{
    return plan->layout.value[EK_AXIS_PIPELINE] > 1;
}

static bool has_limit(const ek_layout_plan *plan)
{
    return plan->estimate.memory.limit > 0;
}

static int schedule_width(const ek_layout_result *r)
{
    size_t width = strlen("schedule");
    for (int i = 0; i < r->n_plans; i++)
        if (strlen(r->plan[i].layout.schedule->name) > width)
            width = strlen(r->plan[i].layout.schedule->name);
    return (int)width;
}

static void print_columns(const page *p)
{
    const ek_layout_result *r = p->r;
    fputs("   #", p->out);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        if (axis_shown(r, i))
            fprintf(p->out, "%7s", ek_layout_axis_option[i]);
    if (differs(r, has_sequence_parallel))
        fputs("   sp", p->out);
    fputs("    mb", p->out);
    if (differs(r, has_schedule))
        fprintf(p->out, "  %-*s", schedule_width(r), "schedule");
    fprintf(p->out, "  %9s  longer, %%  tokens/s  MFU, %%  stage  peak, MB", in_ms(r) ? "step, ms" : "step, s");
    fputs(differs(r, has_limit) ? "  room, MB" : "", p->out);
    if (!r->proved)
        fprintf(p->out, "  %9s", in_ms(r) ? "bound, ms" : "bound, s");
    fputc('\n', p->out);
}

static void print_plan_memory(const page *p, const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    fprintf(p->out, "  %5d", m->fullest);
    fprintf(p->out, "  %8s", ek__whole_mb(ek__memory_peak(&m->stage[m->fullest])).text);
    if (differs(p->r, has_limit))
        fprintf(p->out, "  %8s", m->limit > 0 ? ek__whole_mb(m->margin).text : "-");
}

static void print_plan(const page *p, int i)
{
    const ek_layout_result *r = p->r;
    const ek_layout_plan *plan = &r->plan[i];
    const ek_layout *l = &plan->layout;
    fprintf(p->out, "%4d", i + 1);
    for (int a = 0; a < EK_N_LAYOUT_AXES; a++)
        if (axis_shown(r, a))
            fprintf(p->out, "%7d", l->value[a]);
    if (differs(r, has_sequence_parallel))
        fprintf(p->out, "  %3s", l->sequence_parallel ? "on" : "off");
    fprintf(p->out, "%6d", l->n_micro_batches);
    if (differs(r, has_schedule))
        fprintf(p->out, "  %-*s", schedule_width(r), l->value[EK_AXIS_PIPELINE] > 1 ? l->schedule->name : "-");
    fprintf(p->out, "  %9s", scaled(r, step_of(plan)).text);
    fprintf(p->out, "  %9s", ek__fixed(100 * (step_of(plan) / step_of(&r->plan[0]) - 1), 2).text);
    fprintf(p->out, "  %8s", ek__grouped(plan->estimate.metrics.tokens_per_second_per_device).text);
    fprintf(p->out, "  %6s", ek__fixed(100 * plan->estimate.metrics.mfu, 1).text);
    print_plan_memory(p, plan);
    if (!r->proved)
        fprintf(p->out, "  %9s", scaled(r, plan->lower_bound).text);
    fputc('\n', p->out);
}

/* "1, 2 and 4 cannot be distinguished by prediction: the error of the difference is up to 1.3 %", for the group that
 * begins with this plan. */
static void print_group(const page *p, int first)
{
    const ek_layout_plan *plan = p->r->plan;
    int last = first;
    double most = 0;
    char text[1024];
    if (plan[first].group < 0 || plan[first].group_error > 0)
        return;
    for (int i = first + 1; i < p->r->n_plans; i++)
        if (plan[i].group == plan[first].group) {
            last = i;
            most = fmax(most, plan[i].group_error);
        }
    if (last == first)
        return;
    size_t used = (size_t)snprintf(text, sizeof text, "%d", first + 1);
    for (int i = first + 1; i <= last && used < sizeof text; i++)
        if (plan[i].group == plan[first].group)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i == last ? " and " : ", ", i + 1);
    if (used < sizeof text)
        snprintf(text + used, sizeof text - used,
                 " cannot be distinguished by prediction: the error of the difference is up to %s %%",
                 ek__fixed(100 * most / step_of(&plan[first]), 1).text);
    ek__print_wrapped(text, 0, p->out);
}

static void print_plans(const page *p)
{
    char title[64];
    snprintf(title, sizeof title, p->r->n_plans > 1 ? "The best %d layouts" : "The best layout", p->r->n_plans);
    heading(p, title);
    print_columns(p);
    for (int i = 0; i < p->r->n_plans; i++)
        print_plan(p, i);
    for (int i = 0; i < p->r->n_plans; i++)
        print_group(p, i);
}

static void step_bar(const void *user, int i, ek__bar *out)
{
    const page *p = user;
    const ek_layout_plan *plan = &p->r->plan[i];
    double step = step_of(plan), bound = p->r->proved ? step : fmax(0, fmin(step, plan->lower_bound));
    snprintf(out->label, sizeof out->label, "%4d", i + 1);
    snprintf(out->value, sizeof out->value, "%s", scaled(p->r, step).text);
    out->part[0] = bound;
    out->part[1] = step - bound;
}

static void draw_plans(const page *p)
{
    ek__bars bars = {.n = p->r->n_plans,
                     .at = step_bar,
                     .user = p,
                     .n_parts = 2,
                     .role = {EK__ROLE_SOLID, EK__ROLE_LIGHT},
                     .what = "plans"};
    static const ek__plot_meaning meaning[] = {
        {EK__ROLE_SOLID, "up to the bound, which no plan of the layout is below"},
        {EK__ROLE_LIGHT, "from there to the step"}};
    if (p->report->plot.columns < 1)
        return;
    for (int i = 0; i < bars.n; i++)
        bars.whole = fmax(bars.whole, step_of(&p->r->plan[i]));
    heading(p, in_ms(p->r) ? "Their steps, ms" : "Their steps, s");
    ek__plot_bars(&p->report->plot, &bars, p->out);
    if (!p->r->proved)
        ek__plot_legend(&p->report->plot, 0, meaning, 2, p->out);
}

/* ---- the best ---- */

static void print_part(const page *p, const char *name, double seconds, double step, double error)
{
    fprintf(p->out, "%-*s%*s", NAME, name, NUMBER, ek__fixed(1e3 * seconds, 2).text);
    fprintf(p->out, "%8s", ek__fixed(100 * seconds / step, 1).text);
    fprintf(p->out, "%10s\n", error > 0 ? ek__fixed(1e3 * error, 2).text : "-");
}

static void print_parts(const page *p)
{
    const ek_estimate *e = &p->r->plan[0].estimate;
    const ek_step *step = &e->step;
    char text[640], title[96];
    snprintf(title, sizeof title, step->n_stages > 1 ? "Where its step goes on stage %d, the slowest" : "Where it goes",
             step->slowest);
    heading(p, title);
    fprintf(p->out, "%-*s%*s%8s%10s\n", NAME, "part", NUMBER, "ms", "%", "+-, ms");
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (step->stage[step->slowest].seconds[i] > 0)
            print_part(p, ek_step_part_title[i], step->stage[step->slowest].seconds[i], step->seconds, step->error[i]);
    print_part(p, "step", step->seconds, step->seconds, step->standard_error);
    fputs("Error to expect: ", p->out);
    ek__estimate_error(e, text, sizeof text);
    ek__print_words(text, (int)strlen("Error to expect: "), 0, EK__PAGE_WIDTH, p->out);
    fputc('\n', p->out);
}

/* "5+4": a stage's chunks. */
static void print_chunks(const page *p, const ek_plan *plan, const int *value, int stage, int width)
{
    char text[256] = "";
    size_t used = 0;
    for (int c = 0; c < plan->n_chunks && used < sizeof text; c++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d", c ? "+" : "", value[c * plan->n_stages + stage]);
    fprintf(p->out, "  %*s", width, text);
}

static void print_stages(const page *p)
{
    const ek_layout_plan *best = &p->r->plan[0];
    const ek_plan *plan = &best->job.plan;
    const ek_memory *m = &best->estimate.memory;
    int width = plan->n_chunks > 3 ? 3 * plan->n_chunks : 9;
    heading(p, plan->n_chunks > 1 ? "Layers and recomputation of its stages, chunk by chunk"
                                  : "Layers and recomputation of its stages");
    fprintf(p->out, "stage  %*s  %*s  %*s  %*s    peak, MB    room, MB\n", width, "layers", width, "full", width,
            "select", width, "comm");
    for (int s = 0; s < plan->n_stages; s++) {
        int64_t peak = ek__memory_peak(&m->stage[s]);
        fprintf(p->out, "%5d", s);
        print_chunks(p, plan, plan->layers, s, width);
        print_chunks(p, plan, plan->full, s, width);
        print_chunks(p, plan, plan->select, s, width);
        print_chunks(p, plan, plan->comm, s, width);
        fprintf(p->out, "  %10s", ek__whole_mb(peak).text);
        fprintf(p->out, "  %10s\n", m->limit > 0 ? ek__whole_mb(m->limit - peak).text : "-");
    }
}

/* One stage has no visible pipeline. */
static void draw_pipeline(const page *p)
{
    const ek_step_run *run = p->report->run;
    char title[128];
    if (p->report->plot.columns < 1 || !run || run->pipeline.shape.n_stages < 2)
        return;
    const ek__strip strip = {.timeline = &run->pipeline,
                             .span = fmax(run->seconds, run->pipeline.step_time),
                             .scale = in_ms(p->r) ? 1e3 : 1,
                             .unit = in_ms(p->r) ? "ms" : "s",
                             .tail = run->tail};
    snprintf(title, sizeof title, "%s: work of each stage in a step", run->pipeline.schedule->name);
    heading(p, title);
    ek__plot_strip(&p->report->plot, &strip, p->out);
}

static void print_settings(const page *p)
{
    const char *settings = p->r->plan[0].settings;
    if (!settings[0])
        return;
    heading(p, "Its settings");
    ek__print_wrapped(settings, 0, p->out);
}

/* ---- reasons against the others ---- */

static void print_count(const page *p, long n, const char *what)
{
    if (n > 0)
        fprintf(p->out, "%10s  %s", ek__grouped((double)n).text, what);
}

static void print_over(const page *p)
{
    static const char *const words[4] = {"up to 1.1 times", "up to 1.5 times", "up to twice", "more than twice"};
    const ek_layout_counts *c = &p->r->counts;
    const char *comma = ": ";
    for (int i = 0; i < 4; i++)
        if (c->over_by[i] > 0) {
            fprintf(p->out, "%s%s ", comma, ek__grouped((double)c->over_by[i]).text);
            fprintf(p->out, "%s", words[i]);
            comma = ", ";
        }
}

static void print_bound_by(const page *p)
{
    const ek_layout_counts *c = &p->r->counts;
    const char *comma = ", most of all by ";
    bool done[EK_N_STEP_PARTS] = {false};
    for (int k = 0; k < MOST_PARTS; k++) {
        int most = -1;
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            if (!done[i] && c->bound_by[i] > 0 && (most < 0 || c->bound_by[i] > c->bound_by[most]))
                most = i;
        if (most < 0)
            return;
        done[most] = true;
        fprintf(p->out, "%s%s (%s)", comma, ek_step_part_title[most], ek__grouped((double)c->bound_by[most]).text);
        comma = ", ";
    }
}

static void print_why_not(const page *p)
{
    const ek_layout_counts *c = &p->r->counts;
    heading(p, p->r->n_plans > 0 ? "Why not the others" : "Reasons for exclusion");
    print_count(p, c->fate[EK_FATE_BALANCED], "balanced, and longer than those above\n");
    print_count(p, c->fate[EK_FATE_NO_PLAN], "balanced: no split of the layers fits\n");
    if (c->fate[EK_FATE_BOUND] > 0) {
        print_count(p, c->fate[EK_FATE_BOUND],
                    p->r->n_plans > 0 ? "cannot be shorter than the last of these"
                                      : "fit by no plan within their bounds");
        print_bound_by(p);
        fputc('\n', p->out);
    }
    if (c->fate[EK_FATE_MEMORY] > 0) {
        print_count(p, c->fate[EK_FATE_MEMORY], "need more memory with everything recomputed");
        print_over(p);
        fputc('\n', p->out);
    }
    print_count(p, c->fate[EK_FATE_OPEN], "not looked at closer when the time was over\n");
    print_count(p, c->fate[EK_FATE_ILLEGAL], "the framework does not run\n");
}

static void print_doubts(const page *p)
{
    const ek_estimate_texts *texts = &p->r->plan[0].estimate.warnings;
    if (texts->n == 0)
        return;
    heading(p, "Keep in mind");
    for (int i = 0; i < texts->n; i++) {
        fputs("* ", p->out);
        ek__print_words(texts->text[i], 2, 2, EK__PAGE_WIDTH, p->out);
        fputc('\n', p->out);
    }
}

/* ---- nothing fits ---- */

static void print_nothing(const page *p)
{
    const ek_layout_result *r = p->r;
    const ek__digits n = ek__grouped((double)ek__layout_judged(r));
    colored(p, red, r->ended_early ? "no plan found" : "nothing fits");
    if (r->ended_early)
        fprintf(p->out, " before the search ended: %s layouts of %d devices bounded in %s s\n", n.text,
                r->options.n_devices, ek__fixed(r->seconds, 1).text);
    else
        fprintf(p->out, ": none of %s layouts of %d devices within %s MB each\n", n.text, r->options.n_devices,
                ek__grouped(r->job->limit_mb).text);
}

static void print_closest(const page *p)
{
    char words[256];
    const ek_layout_result *r = p->r;
    double over = r->closest_mb / r->job->limit_mb - 1;
    if (!r->closest.schedule || r->ended_early)
        return;
    fprintf(p->out, "closest is %s: ", ek_layout_words(&r->closest, words, sizeof words));
    if (over > 0) {
        fprintf(p->out, "it needs %s MB or more with everything recomputed, ", ek__grouped(ceil(r->closest_mb)).text);
        fprintf(p->out, "%s %% above the limit\n", ek__fixed(100 * over, 1).text);
    } else {
        fprintf(p->out, "it might do with %s MB, but no split of its layers does\n",
                ek__grouped(ceil(r->closest_mb)).text);
    }
}

static void print_fit(const page *p, const ek_layout_fit *fit)
{
    char change[160], words[256];
    ek__layout_change(p->r, fit, change, sizeof change);
    fprintf(p->out, "* %s: ", change);
    if (!fit->fits) {
        fputs("not sufficient by itself\n", p->out);
        return;
    }
    fprintf(p->out, "%s fits with ", ek_layout_words(&fit->layout, words, sizeof words));
    fprintf(p->out, "%s MB, ", ek__grouped(ceil(fit->peak_mb)).text);
    fprintf(p->out, "%s a step\n", ek__seconds(fit->seconds).text);
}

static void print_fits(const page *p)
{
    const ek_layout_fits *fits = p->report->fits;
    if (!fits || fits->n == 0)
        return;
    heading(p, "Changes that make it fit");
    for (int i = 0; i < fits->n; i++)
        print_fit(p, &fits->fit[i]);
    ek__print_wrapped("Each is one change by itself, with a plan that fits by the memory model; other plans may be "
                      "faster. Full recomputation does not help further: these figures include it.",
                      0, p->out);
}

ek_status ek__layout_write_text(const ek_layout_report *report, FILE *out, ek_error *err)
{
    const page p = {out, report, report->result, report->color};
    bool some = p.r->n_plans > 0;
    if (some)
        print_verdict(&p);
    else
        print_nothing(&p);
    if (report->verdict_only) {
        ek__layout_print_explanation(report, out);
        return ek__finish(out, err);
    }
    print_today(&p);
    ek__layout_print_explanation(report, out);
    print_question(&p);
    if (some) {
        print_plans(&p);
        draw_plans(&p);
        print_parts(&p);
        print_stages(&p);
        draw_pipeline(&p);
        print_settings(&p);
    } else {
        print_closest(&p);
        print_fits(&p);
    }
    print_why_not(&p);
    ek__layout_print_advice(report, out);
    if (some)
        print_doubts(&p);
    return ek__finish(out, err);
}
