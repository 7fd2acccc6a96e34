/* Prints a calibration for people: errors first, since they show how reliable the rest is; then the constants that the
 * data determine and those they do not, and the next measurements. Also prints it as comments of the new device
 * file. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/page.h"
#include "figures/calibration_figures.h"
#include "report/calibration_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { MAX_LEFT = 8 };

static void print_error(FILE *out, const char *what, const ek_calibration_error *e)
{
    if (e->n == 0)
        return;
    ek__fprintf(out, "  %-24s %5d  %6.2f %%  %6.2f %%  %6.1f %%  %+6.2f %%\n", what, e->n, 100 * e->mean,
                100 * e->median, 100 * e->worst, 100 * e->bias);
}

static void print_errors(const ek_calibration *c, bool color, FILE *out)
{
    ek__print_heading(color, "error of the step time", out);
    fprintf(out, "\n  %-24s  runs      mean    median     worst      bias\n", "");
    for (int i = 0; i < EK__N_ERROR_ROWS; i++)
        print_error(out, ek__error_row_title[i], ek__calibration_error_row(c, i));
    ek__fprintf(
        out,
        "\n  to expect: %.1f %% for layers that were met, %.1f %% for a new cell (standard errors; noise %.1f %%)\n",
        100 * c->met_error, 100 * c->new_error, 100 * c->noise);
}

/* ---- constants ---- */

static void print_determined(const ek_calibration *c, bool color, FILE *out)
{
    int n = 0;
    for (int i = 0; i < c->n_constants; i++)
        n += c->constant[i].state == EK_FIT_DETERMINED;
    ek__print_heading(color, "constants that the runs determine", out);
    if (n == 0)
        fprintf(out, "\n  none");
    else
        fprintf(out, "\n  %-34s %12s %12s    error", "", "start", "value");
    fputc('\n', out);
    for (int i = 0; i < c->n_constants; i++) {
        const ek_calibrated_constant *k = &c->constant[i];
        if (k->state == EK_FIT_DETERMINED)
            ek__fprintf(out, "  %-34s %12.5g %12.5g +- %.3g%s%s\n", k->name, k->start, k->value, k->error,
                        k->unit[0] ? " " : "", k->unit);
    }
}

static void print_names(const ek_calibration *c, ek_fit_state state, FILE *out)
{
    size_t column = 0;
    int n = 0;
    for (int i = 0; i < c->n_constants; i++) {
        const char *name = c->constant[i].name;
        if (c->constant[i].state != state)
            continue;
        if (n++ == 0)
            fprintf(out, "  %s:\n", ek__fit_state_title[state]);
        if (column > 0 && column + strlen(name) > 100)
            column = 0;
        column += (size_t)fprintf(out, "%s%s", column == 0 ? (n > 1 ? "\n    " : "    ") : " ", name);
    }
    if (n > 0)
        fputc('\n', out);
}

static void print_others(const ek_calibration *c, bool color, FILE *out)
{
    ek__print_heading(color, "constants that are not determined", out);
    fputc('\n', out);
    for (int state = EK_FIT_AT_BOUND; state < EK_N_FIT_STATES; state++)
        print_names(c, (ek_fit_state)state, out);
}

/* ---- kernels, links, layers ---- */

static void print_kernels(const ek_calibration *c, bool color, FILE *out)
{
    int n = 0;
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        n += c->kernels[k].n;
    if (n == 0)
        return;
    ek__print_heading(color, "measured kernels", out);
    fprintf(out, ": error of the fitted curves; shapes that were measured keep their times\n");
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        if (c->kernels[k].n > 0)
            ek__fprintf(out, "  %-20s %4d shapes  median %5.1f %%  worst %5.1f %%%s\n", ek_kernel_name[k],
                        c->kernels[k].n, 100 * c->kernels[k].median, 100 * c->kernels[k].worst,
                        c->kernels[k].determined ? "" : "  not determined");
}

/* The measured figures of a profile's operators and collectives, in the order of their enums. */
static void print_counts(const char *title, const long long *count, const char *const *word, int n, FILE *out)
{
    bool any = false;
    fprintf(out, "    %s:", title);
    for (int i = 0; i < n; i++)
        if (count[i] > 0) {
            fprintf(out, "%s %lld %s", any ? "," : "", count[i], word[i]);
            any = true;
        }
    fputs(any ? "\n" : " none\n", out);
}

static void print_shapes(const ek_calibrated_profile *p, FILE *out)
{
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        if (p->n_shapes[k] > 0)
            ek__fprintf(out, "    %d shape%s of %s, the start is off by %.1f %% in the median%s\n", p->n_shapes[k],
                        p->n_shapes[k] == 1 ? "" : "s", ek_kernel_name[k], 100 * p->start_error[k],
                        p->fitted[k] ? "" : "; too few for its curve");
}

static void print_profile(const ek_calibrated_profile *p, FILE *out)
{
    static const char *const left[EK_N_PROFILE_LEFT] = {"taken",
                                                        "without shapes",
                                                        "that are not priced by their shapes",
                                                        "of unclear shapes or types",
                                                        "of a type without a peak",
                                                        "of packed sequences",
                                                        "faster than the data sheet allows"};
    static const char *const became[EK_N_PROFILE_COLLECTIVES] = {
        "with known waiting",         "of which the shortest of each size is taken",
        "without a size or group",    "with ranks on unknown nodes",
        "of which there are too few", "of kinds that are not modelled"};
    fprintf(out, "  %s: %d rank%s\n", p->path, p->n_ranks, p->n_ranks == 1 ? "" : "s");
    print_counts("operators", p->n_operators, left, EK_N_PROFILE_LEFT, out);
    print_shapes(p, out);
    if (p->n_causal_assumed > 0)
        fprintf(out, "    a causal mask is assumed for %lld executions of attention: not in the profile\n",
                p->n_causal_assumed);
    if (p->n_layout_assumed > 0)
        fprintf(out, "    forward is assumed for %lld products: not in the profile\n", p->n_layout_assumed);
    print_counts("collectives", p->n_collectives, became, EK_N_PROFILE_COLLECTIVES, out);
    if (p->n_link_times > 0)
        fprintf(out, "    times of collectives for the links: %d\n", p->n_link_times);
    if (!isnan(p->launch_us))
        ek__fprintf(out, "    a launch takes the host %.3g us (%s, median of %lld), %s\n", p->launch_us,
                    ek_launch_name[p->launch], p->n_intervals,
                    p->launch_used ? "the profiler's own time included"
                                   : "not taken: recording Python's stacks (with_stack) slowed it");
    if (!isnan(p->step_seconds))
        ek__fprintf(out, "    step: %.4g s%s\n", p->step_seconds,
                    p->step_used ? ", a measured run of the job next to it" : "");
    for (int i = 0; i < EK_N_PROFILE_NOTES && p->note[i][0]; i++)
        fprintf(out, "    %s\n", p->note[i]);
}

static void print_profiles(const ek_calibration *c, bool color, FILE *out)
{
    if (c->n_profiles == 0)
        return;
    ek__print_heading(color, "profiles", out);
    fputc('\n', out);
    for (int i = 0; i < c->n_profiles; i++)
        print_profile(&c->profile[i], out);
}

static void print_links(const ek_calibration *c, bool color, FILE *out)
{
    if (c->n_links == 0)
        return;
    ek__print_heading(color, "links", out);
    fputc('\n', out);
    for (int i = 0; i < c->n_links; i++) {
        const ek_calibrated_link *l = &c->link[i];
        ek__fprintf(out, "  %-10s %-15s %4d times  %6.1f GB/s of %.1f  start %.1f us  median error %.1f %%\n",
                    c->device.tier[l->tier].name, ek_collective_name[l->what], l->n,
                    l->share * c->device.tier[l->tier].gbs, c->device.tier[l->tier].gbs, l->start_us,
                    100 * l->median_error);
    }
}

static void print_layers(const ek_calibration *c, bool color, FILE *out)
{
    if (c->n_runs == 0)
        return;
    ek__print_heading(color, "layers", out);
    if (c->n_layers > 0)
        ek__fprintf(out, ": %d, alike within a factor of %.2g in size, shrunken by %.2g\n", c->n_layers,
                    exp(c->layer_width), c->layer_lambda);
    else
        fprintf(out, ": their time outside kernels does not carry over to runs that are left out\n");
}

/* ---- runs ---- */

static void print_proposed(const ek_calibration *c, bool color, FILE *out)
{
    if (c->n_proposed == 0)
        return;
    ek__print_heading(color, "next measurements", out);
    ek__fprintf(out, ": of %d layouts that were not measured, with steps known to %.1f %%\n", c->n_candidates,
                100 * c->candidate_error);
    for (int i = 0; i < c->n_proposed; i++)
        ek__fprintf(out,
                    "  %d. %s\n     from %s: %s\n     predicted %.4g s, %s %.1f %%; then all are known to %.1f %%\n",
                    i + 1, c->proposed[i].what, c->proposed[i].from, c->proposed[i].change, c->proposed[i].seconds,
                    c->proposed[i].new_cell ? "new cell: expect" : "known to", 100 * c->proposed[i].expected,
                    100 * c->proposed[i].after);
}

/* The source of a run: the line of a table, or a whole log. */
static void print_place(const ek_calibrated_run *r, FILE *out)
{
    if (r->line > 0)
        fprintf(out, "  %s:%d: ", r->file, r->line);
    else
        fprintf(out, "  %s: ", r->file);
}

static void print_left(const ek_calibration *c, bool color, FILE *out)
{
    int n = 0;
    for (int i = 0; i < c->n_runs; i++) {
        const ek_calibrated_run *r = &c->run[i];
        if (r->used || r->held)
            continue;
        if (n++ == 0) {
            ek__print_heading(color, "rows left out", out);
            fprintf(out, ": %d\n", c->n_left);
        }
        if (n > MAX_LEFT)
            continue;
        print_place(r, out);
        fprintf(out, "%.60s%s%.120s\n", r->name, r->name[0] ? ": " : "", r->why);
    }
    if (n > MAX_LEFT)
        fprintf(out, "  and %d more\n", n - MAX_LEFT);
}

/* The runs with the largest errors when they are left out. */
static void print_worst(const ek_calibration *c, bool color, FILE *out)
{
    const ek_calibrated_run *shown[3] = {NULL};
    assert(c->run || c->n_runs == 0);
    for (int w = 0; w < 3; w++)
        for (int i = 0; i < c->n_runs; i++) {
            const ek_calibrated_run *r = &c->run[i];
            bool taken = r == shown[0] || r == shown[1];
            if (r->used && !taken &&
                (!shown[w] ||
                 fabs(log(r->left_out / r->measured)) > fabs(log(shown[w]->left_out / shown[w]->measured))))
                shown[w] = r;
        }
    if (!shown[0])
        return;
    ek__print_heading(color, "furthest off when left out", out);
    fputc('\n', out);
    for (int w = 0; w < 3 && shown[w]; w++) {
        print_place(shown[w], out);
        ek__fprintf(out, "%.80s: %.4g s measured, %.4g s predicted, %+.1f %%\n", shown[w]->name, shown[w]->measured,
                    shown[w]->left_out, 100 * (shown[w]->left_out / shown[w]->measured - 1));
    }
}

ek_status ek__calibration_write_text(const ek_calibration *c, bool color, FILE *out, ek_error *err)
{
    fprintf(out, "%s, from %s\n", c->device.name, c->start);
    for (int i = 0; i < c->n_sources; i++)
        fprintf(out, "  %s: %s, %d\n", c->source[i].path, ek_source_kind_name[c->source[i].kind], c->source[i].n);
    print_profiles(c, color, out);
    print_kernels(c, color, out);
    print_links(c, color, out);
    if (c->n_runs > 0) {
        char verdict[160];
        ek__calibration_verdict(c, verdict, sizeof verdict);
        fprintf(out, "\n%s\n", verdict);
        print_errors(c, color, out);
        print_determined(c, color, out);
        print_others(c, color, out);
        print_layers(c, color, out);
        print_worst(c, color, out);
        print_proposed(c, color, out);
        print_left(c, color, out);
    }
    return ek__finish(out, err);
}

/* ---- the file ---- */

static void comment_error(char *text, size_t size, const char *what, const ek_calibration_error *e)
{
    ek__snprintf(text, size, "%s: %d runs, mean error %.2f %%, median %.2f %%, worst %.1f %%, bias %+.2f %%", what,
                 e->n, 100 * e->mean, 100 * e->median, 100 * e->worst, 100 * e->bias);
}

ek_status ek_calibration_write_device(const ek_calibration *c, FILE *out, ek_error *err)
{
    enum { LINES = 5 };
    char text[LINES][200];
    const char *line[LINES + 1] = {NULL};
    const struct {
        const char *what;
        const ek_calibration_error *error;
    } errors[] = {{"fit", &c->fit},
                  {"leave one out", &c->leave_one_out},
                  {"leave group out", &c->leave_group_out},
                  {"kept back", &c->held}};
    int n = 0;
    snprintf(text[n], sizeof text[n], "made by evenkeel calibrate, from %s", c->start);
    line[0] = text[0];
    n = 1;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error->n > 0) {
            comment_error(text[n], sizeof text[n], errors[i].what, errors[i].error);
            line[n] = text[n];
            n++;
        }
    return ek_device_write(&c->device, line, out, err);
}
