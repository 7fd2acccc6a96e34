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

/* Percent of a difference that a part of the step adds. Computing is one part: which of its kinds the slowest stage
 * has depends on the stage, and two layouts have different slowest stages. */
typedef struct loss {
    const char *title;
    double share;
} loss;
enum { LEAST_TENTHS = 1 }; /* of a percent, below which a part is not named */

static int losses_of(const ek_layout_difference *d, loss out[EK_N_STEP_PARTS])
{
    int n = 1;
    out[0] = (loss){"computing", 0};
    for (int k = 0; k < EK_N_STEP_PARTS; k++) {
        if (k <= EK_STEP_RECOMPUTE)
            out[0].share += d->part[k];
        else
            out[n++] = (loss){ek_step_part_title[k], d->part[k]};
    }
    for (int i = 1; i < n; i++) { /* the largest first */
        loss one = out[i];
        int k = i;
        for (; k > 0 && fabs(out[k - 1].share) < fabs(one.share); k--)
            out[k] = out[k - 1];
        out[k] = one;
    }
    return n;
}

static const char *plus(double share)
{
    return share > 0 ? "+" : "";
}

static void print_reasons_of(double value, const ek_layout_difference *d, FILE *out)
{
    loss part[EK_N_STEP_PARTS];
    int n = losses_of(d, part);
    char change[64];
    snprintf(change, sizeof change, "%s%s", plus(d->share), ek__fixed(100 * d->share, 1).text);
    fprintf(out, "%12s  %7s", ek__grouped(value).text, change);
    for (int i = 0; i < n && fabs(1000 * part[i].share) >= LEAST_TENTHS; i++)
        fprintf(out, "%s%s %s%s", i > 0 ? ", " : "  ", part[i].title, plus(part[i].share),
                ek__fixed(100 * part[i].share, 1).text);
    fputc('\n', out);
}

static void print_reasons(const ek_layout_sweep *s, FILE *out)
{
    ek_layout_difference d;
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (!ek_layout_sweep_difference(s, i, &d))
            continue;
        if (n++ == 0)
            fprintf(out, "\nDevice time of a token against the first plan, %%\n%12s  %7s  by part of the step\n",
                    title[s->what], "change");
        print_reasons_of(s->point[i].value, &d, out);
    }
    if (n > 0)
        fputc('\n', out);
}

/* The first value below the mark, and the part of its step that costs most. */
static void print_below_mark(const ek_layout_sweep *s, FILE *out)
{
    ek_layout_difference d;
    loss part[EK_N_STEP_PARTS];
    int i = 0, most = 0;
    while (i < s->n && !(s->point[i].linearity < EK_LINEARITY_MARK))
        i++;
    if (i == s->n || !ek_layout_sweep_difference(s, i, &d))
        return;
    int n = losses_of(&d, part);
    for (int k = 1; k < n; k++)
        most = part[k].share > part[most].share ? k : most;
    fprintf(out, "Linearity is below %s at %s devices: ", ek__fixed(EK_LINEARITY_MARK, 1).text,
            ek__grouped(s->point[i].value).text);
    fprintf(out, "%s costs most.\n", part[most].title);
}

static void print_conclusions(const ek_layout_sweep_report *report, FILE *out)
{
    const ek_layout_sweep *s = report->sweep;
    if (s->what == EK_SWEEP_DEVICES && s->last_linear >= 0 && s->n > 1)
        fprintf(out, "Linearity is at least %s up to %s devices.\n", ek__fixed(EK_LINEARITY_MARK, 1).text,
                ek__grouped(s->point[s->last_linear].value).text);
    if (s->what == EK_SWEEP_DEVICES)
        print_below_mark(s, out);
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
    print_reasons(s, out);
    print_conclusions(report, out);
    return ek__finish(out, err);
}
