/* Prints the advice around the best layouts for people: the reason why a queried layout is not among them, the cost of
 * the rules of thumb, useful further runs, and the written files. */
#include <math.h>

#include "base/c_locale.h"
#include "base/page.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "report/layout_internal.h"

static void heading(const ek_layout_report *report, const char *text, FILE *out)
{
    ek__print_heading(report->color, text, out);
    fputc('\n', out);
}

void ek__layout_print_explanation(const ek_layout_report *report, FILE *out)
{
    const ek_layout_explanation *e = report->explanation;
    if (!e)
        return;
    ek__print_wrapped(e->words, 0, out);
    if (e->verdict != EK_VERDICT_PLAN)
        return;
    fprintf(out, "    %s a step", ek__seconds(e->plan.estimate.step.seconds).text);
    fprintf(out, ", MFU %s %%", ek__fixed(100 * e->plan.estimate.metrics.mfu, 1).text);
    fprintf(out, ", %s MB%s\n", ek__grouped(ek__layout_peak_mb(&e->plan)).text,
            e->proved ? "" : "; another layout with these values may be shorter");
    if (e->plan.settings[0] && !report->verdict_only)
        ek__print_wrapped(e->plan.settings, 4, out);
}

/* ---- rules of thumb ---- */

static void print_thumb(const ek_layout_thumb *t, FILE *out)
{
    char words[256] = "none is legal";
    if (t->layout.value[EK_AXIS_DATA] > 0)
        ek_layout_words(&t->layout, words, sizeof words);
    fprintf(out, "%-10s  ", t->name);
    ek__print_cell(words, 52, out);
    if (t->found) {
        fprintf(out, "  %12s", ek__seconds(t->plan.estimate.step.seconds).text);
        fprintf(out, "  %9s", t->has_difference ? ek__fixed(100 * t->difference.share, 1).text : "-");
    } else {
        fprintf(out, "  %12s  %9s", "does not fit", "-");
    }
    fprintf(out, "  %s%s\n", t->text, t->applies ? "" : " (not for this size)");
}

static void print_thumbs(const ek_layout_report *report, FILE *out)
{
    const char *source = NULL;
    heading(report, "Rules of thumb, balanced exactly", out);
    ek__fprintf(out, "%-10s  %-52s  %12s  %9s  %s\n", "rule", "layout", "step", "longer, %", "for");
    for (int i = 0; i < EK_N_LAYOUT_THUMBS; i++) {
        print_thumb(&report->thumb[i], out);
        source = report->thumb[i].source;
    }
    fprintf(out, "Source: %s.\n", source);
}

/* ---- the path of changes ---- */

/* The ranks that share the table or gradients are those that share the states. */
static bool follows(const ek_layout_way_step *step, ek_layout_axis axis)
{
    return (axis == EK_AXIS_TABLE && !(step->methods >> EK_METHOD_TABLE & 1)) ||
           (axis == EK_AXIS_SUMS && !(step->methods >> EK_METHOD_SUMS & 1));
}

/* The axes that a change moves, "tp 8 to 4, pp 16 to 8", and its other effects. */
static void change_words(const ek_layout *was, const ek_layout_way_step *step, char *text, size_t size)
{
    static const char *const words[EK_N_LAYOUT_METHODS] = {
        [EK_METHOD_INPUTS] = "inputs cut over dp",
        [EK_METHOD_LAYERS] = "layers moved",
        [EK_METHOD_RECOMPUTE] = "recomputation fitted to each stage",
    };
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < EK_N_LAYOUT_AXES && used < size; i++)
        if (step->layout.value[i] != was->value[i] && !follows(step, (ek_layout_axis)i))
            used += (size_t)snprintf(text + used, size - used, "%s%s %d to %d", used ? ", " : "",
                                     ek_layout_axis_option[i], was->value[i], step->layout.value[i]);
    if (step->layout.sequence_parallel != was->sequence_parallel && used < size)
        used += (size_t)snprintf(text + used, size - used, "%ssp %s", used ? ", " : "",
                                 step->layout.sequence_parallel ? "on" : "off");
    for (int m = 0; m < EK_N_LAYOUT_METHODS && used < size; m++)
        if ((step->methods >> m & 1) && words[m])
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", words[m]);
    if (used == 0)
        snprintf(text, size, "%s", step->layout.schedule->name);
}

static void print_change(int i, const char *words, double seconds, double before, double first, double peak_mb,
                         bool fits, FILE *out)
{
    fprintf(out, "%2d  %12s", i, ek__seconds(seconds).text);
    fprintf(out, "  %10s", i > 0 ? ek__fixed(100 * (1 - seconds / before), 1).text : "-");
    fprintf(out, "  %9s", i > 0 ? ek__fixed(100 * (1 - seconds / first), 1).text : "-");
    fprintf(out, "  %8s  %s%s\n", ek__grouped(peak_mb).text, words, fits ? "" : " (does not fit)");
}

static void print_way(const ek_layout_report *report, FILE *out)
{
    const ek_layout_way *way = report->way;
    char words[512];
    heading(report, "The way from the current layout, most effective change first", out);
    fprintf(out, " #  %12s  shorter, %%  in all, %%  peak, MB  change\n", "step");
    print_change(0, "today", way->seconds, 0, 0, way->peak_mb, way->fits, out);
    for (int i = 0; i < way->n; i++) {
        const ek_layout_way_step *step = &way->step[i];
        change_words(i > 0 ? &step[-1].layout : &report->result->today.layout, step, words, sizeof words);
        print_change(i + 1, words, step->seconds, i > 0 ? step[-1].seconds : way->seconds, way->seconds, step->peak_mb,
                     step->fits, out);
        if (step->settings[0])
            ek__print_wrapped(step->settings, 4, out);
    }
    if (way->n == 0)
        fputs("Today's job is the first plan above.\n", out);
    else
        ek__print_wrapped("Each change is applied after those above it, and its gain depends on them; the last one "
                          "leads to the first plan of the table.",
                          0, out);
}

/* ---- runs ---- */

static void print_trial(const ek_layout_report *report, int i, FILE *out)
{
    const ek_layout_trial *t = &report->trials->trial[i];
    const ek_layout_plan *plan = &report->result->plan[t->plan];
    char words[256];
    fprintf(out, "%3d  %4d  ", i + 1, t->plan + 1);
    ek__print_cell(ek_layout_words(&plan->layout, words, sizeof words), 60, out);
    fprintf(out, "  %12s", ek__seconds(plan->estimate.step.seconds).text);
    fprintf(out, "  %5s", ek__fixed(100 * t->error, 1).text);
    fprintf(out, "  %9s", ek__fixed(100 * t->chance, 1).text);
    fprintf(out, "  %13s\n", ek__fixed(100 * t->loss, 2).text);
}

static void print_trials(const ek_layout_report *report, FILE *out)
{
    const ek_layout_trials *trials = report->trials;
    heading(report, "Runs to try", out);
    fprintf(out, "run  plan  %-60s  %12s  +-, %%  chance, %%  lost after, %%\n", "layout", "step");
    for (int i = 0; i < trials->n; i++)
        print_trial(report, i, out);
    fprintf(out, "Without a run the best plan is on average %s %% longer than the plan that proves best.\n",
            ek__fixed(100 * trials->loss, 2).text);
    ek__print_wrapped(
        "Chance: that the plan is the best of those above. Lost after: mean, once this run and those before it are "
        "measured. To continue: run them, fit the device to their logs or traces with `evenkeel calibrate`, and plan "
        "again with --cluster and the fitted file, and --tried and the runs.",
        0, out);
}

static void print_try(const ek_layout_try *t, int i, FILE *out)
{
    const ek_measured_run *run = t->run;
    fprintf(out, "%3d  ", i + 1);
    ek__print_cell(run->name[0] ? run->name : run->job.path, 60, out);
    fprintf(out, "  %12s", ek__seconds(run->step_seconds).text);
    fprintf(out, "  %12s", ek__seconds(t->predicted).text);
    ek__fprintf(out, "  %+7.1f\n", 100 * (t->predicted / run->step_seconds - 1));
}

static void print_tries(const ek_layout_report *report, FILE *out)
{
    const ek_layout_tries *tries = report->tries;
    const double plan = report->result->plan[0].estimate.step.seconds;
    heading(report, "Runs that were tried", out);
    fprintf(out, "%3s  %-60s  %12s  %12s  %7s\n", "run", "job", "measured", "predicted", "off, %");
    for (int i = 0; i < tries->n; i++)
        print_try(&tries->run[i], i, out);
    if (tries->n_others > 0)
        fprintf(out, "%d other runs of the table are of another model, number of devices or batch.\n", tries->n_others);
    if (tries->taken < 0)
        fprintf(out, "Take plan 1: %s predicted, shorter than run 1 by more than the error of the difference.\n",
                ek__seconds(plan).text);
    else
        fprintf(out, "Take run %d: plan 1 (%s predicted) is not shorter by more than the error of the difference.\n",
                tries->taken + 1, ek__seconds(plan).text);
}

/* ---- files ---- */

static void print_files(const ek_layout_report *report, FILE *out)
{
    heading(report, "Written", out);
    for (int i = 0; report->file && i < report->result->n_plans; i++)
        if (report->file[i]) {
            fprintf(out, "plan %d: ", i + 1);
            ek__print_name(report->file[i], out);
            fputc('\n', out);
        }
    for (int i = 0; report->trials && report->trial_file && i < report->trials->n; i++)
        if (report->trial_file[i]) {
            fprintf(out, "run %d: ", i + 1);
            ek__print_name(report->trial_file[i], out);
            fputc('\n', out);
        }
}

void ek__layout_print_advice(const ek_layout_report *report, FILE *out)
{
    if (report->way)
        print_way(report, out);
    if (report->thumb)
        print_thumbs(report, out);
    if (report->trials)
        print_trials(report, out);
    if (report->tries)
        print_tries(report, out);
    if (report->file || (report->trials && report->trial_file))
        print_files(report, out);
}
