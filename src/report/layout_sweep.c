/* Prints a sweep of layouts for people: a row for every value. */
#include <math.h>

#include "base/page.h"
#include "evenkeel/layout_advice.h"
#include "report/layout_internal.h"
#include "report/writers.h"

static const char *const title[EK_N_LAYOUT_SWEEPS] = {"devices", "memory, MB", "global batch"};

/* A layout's lower bound of memory may be below the limit although no split of its layers fits. */
static void print_nothing(const ek_layout_sweep_point *p, double limit_mb, FILE *out)
{
    if (p->least_mb <= 0)
        fputs("  no layout is legal\n", out);
    else if (limit_mb > 0 && p->least_mb > limit_mb)
        fprintf(out, "  nothing fits: every layout needs %s MB or more\n", ek__grouped(ceil(p->least_mb)).text);
    else
        fputs("  nothing fits: no split of the layers does\n", out);
}

static void print_point(const ek_layout_sweep_point *p, double limit_mb, FILE *out)
{
    char words[256];
    fprintf(out, "%12s", ek__grouped(p->value).text);
    if (!p->found) {
        print_nothing(p, limit_mb, out);
        return;
    }
    fprintf(out, "  %12s", ek__seconds(p->step_seconds).text);
    fprintf(out, "  %8s", ek__grouped(p->tokens_per_second_per_device).text);
    fprintf(out, "  %9s", ek__fixed(p->linearity, 3).text);
    fprintf(out, "  %8s", ek__grouped(ek__layout_peak_mb(&p->plan)).text);
    fprintf(out, "  %7s  ", p->gap <= 0 ? "0" : ek__fixed(100 * p->gap, 2).text);
    ek_layout_words(&p->plan.layout, words, sizeof words);
    fprintf(out, "%s\n", words);
}

static void print_conclusions(const ek_layout_sweep_report *report, FILE *out)
{
    const ek_layout_sweep *s = report->sweep;
    if (s->what == EK_SWEEP_DEVICES && s->last_linear >= 0 && s->n > 1)
        fprintf(out, "Linearity is at least %s up to %s devices.\n", ek__fixed(EK_LINEARITY_MARK, 1).text,
                ek__grouped(s->point[s->last_linear].value).text);
    if (report->wanted_seconds > 0 && s->cheapest >= 0) {
        fprintf(out, "A step of %s or less: ", ek__seconds(report->wanted_seconds).text);
        fprintf(out, "%s devices are enough.\n", ek__grouped(s->point[s->cheapest].n_devices).text);
    } else if (report->wanted_seconds > 0) {
        fprintf(out, "None of these has a step of %s or less.\n", ek__seconds(report->wanted_seconds).text);
    }
}

ek_status ek__layout_sweep_write_text(const ek_layout_sweep_report *report, FILE *out, ek_error *err)
{
    const ek_layout_sweep *s = report->sweep;
    ek__print_name(report->job->name[0] ? report->job->name : "model", out);
    fputs(" on ", out);
    ek__print_name(report->device->name, out);
    fprintf(out, ": the best layout by %s\n\n%12s  %12s  tokens/s  linearity  peak, MB  gap, %%  layout\n",
            ek_layout_sweep_name[s->what], title[s->what], "step");
    for (int i = 0; i < s->n; i++)
        print_point(&s->point[i], s->what == EK_SWEEP_MEMORY ? s->point[i].value : report->job->limit_mb, out);
    print_conclusions(report, out);
    return ek__finish(out, err);
}
