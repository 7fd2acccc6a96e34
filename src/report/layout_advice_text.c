/* What stands beside the best layouts, for people: why a layout that was asked about is not among them, what the rules
 * of thumb cost, which runs would tell more, and the files that were written. */
#include <math.h>

#include "report/layout_internal.h"
#include "report/page.h"

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
    fprintf(out, "%-10s  %-52s  %12s  %9s  %s\n", "rule", "layout", "step", "longer, %", "for");
    for (int i = 0; i < EK_N_LAYOUT_THUMBS; i++) {
        print_thumb(&report->thumb[i], out);
        source = report->thumb[i].source;
    }
    fprintf(out, "Source: %s.\n", source);
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
    fprintf(out, "Without a run the best plan is %s %% longer than what turns out best, in the mean.\n",
            ek__fixed(100 * trials->loss, 2).text);
    ek__print_wrapped("Chance: that the plan is the best of those above. Lost after: in the mean, once this run and "
                      "those before it are measured. To go on: run them, fit the device to their logs or traces with "
                      "`evenkeel calibrate`, and ask again with --cluster and the fitted file.",
                      0, out);
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
    if (report->thumb)
        print_thumbs(report, out);
    if (report->trials)
        print_trials(report, out);
    if (report->file || (report->trials && report->trial_file))
        print_files(report, out);
}
