/* Prints quick tuning, explained step by step for people, and the same figures for scripts. */
#include <math.h>
#include <stdio.h>

#include "evenkeel/quick.h"
#include "report/report_internal.h"
#include "report/writers.h"

static const char *const step_title[EK_QUICK_STEPS] = {
    "even split, nothing recomputed",
    "even split, on each stage the least recomputation that fits",
    "layers moved, so that the longest and the shortest stage differ least; again the least recomputation that fits",
};

/* "1.2 T", the forward time of the embedding or of the head in units of a layer's. */
static double extra_units(const ek_quick *quick, int stage)
{
    return stage == 0 ? quick->head_units : stage == quick->n_stages - 1 ? quick->tail_units : 0;
}

static void print_rule(const ek_quick *quick, FILE *out)
{
    int p = quick->n_stages;
    fprintf(out, "T = %s is the forward time of a layer; ", ek__short(quick->layer_time).text);
    fprintf(out, "the embedding takes e = %s T, ", ek__short(quick->head_units).text);
    fprintf(out, "head and loss take l = %s T.\n", ek__short(quick->tail_units).text);
    fputs("Backward takes twice as long as forward, and recomputing a layer once more T, so a stage of n layers\n"
          "with r of them recomputed works on a micro-batch for\n\n",
          out);
    fprintf(out, "  stage 0      3 T (n + e) + r T = 3 T (n + %s) + r T\n", ek__short(quick->head_units).text);
    if (p > 2)
        fprintf(out, p > 3 ? "  stages 1..%d  3 T n + r T\n" : "  stage %d      3 T n + r T\n", p - 2);
    fprintf(out, "  stage %d      3 T (n + l) + r T = 3 T (n + %s) + r T\n\n", p - 1,
            ek__short(quick->tail_units).text);
    fputs("One layer more costs as much as three more recomputations.\n", out);
    if (!quick->rule_is_exact)
        fputs("The model's own backward times differ from that; the simulated steps below know them.\n", out);
}

/* "3 x (4 + 1.2) + 2" */
static void formula(const ek_quick *quick, const ek_quick_step *step, int stage, char *text, size_t size)
{
    double extra = extra_units(quick, stage);
    if (extra > 0)
        snprintf(text, size, "3 x (%d + %s) + %d", step->plan.layers[stage], ek__short(extra).text,
                 step->plan.full[stage]);
    else
        snprintf(text, size, "3 x %d + %d", step->plan.layers[stage], step->plan.full[stage]);
}

static void print_stage(const ek_quick *quick, const ek_quick_step *step, int stage, FILE *out)
{
    char text[64];
    double room = quick->memory_limit_mb - step->peak_mb[stage];
    formula(quick, step, stage, text, sizeof text);
    fprintf(out, "  %5d  %6d  %10d", stage, step->plan.layers[stage], step->plan.full[stage]);
    fprintf(out, "  %22s = %8s T", text, ek__short(step->units[stage]).text);
    fprintf(out, "  %10s", ek__short(step->units[stage] * quick->layer_time).text);
    fprintf(out, "  %8s", ek__fixed(step->peak_mb[stage], 0).text);
    fprintf(out, "  %8s%s\n", ek__fixed(step->over[stage] ? -ceil(-room) : fmax(floor(room), 0), 0).text,
            step->over[stage] ? "  OVER" : "");
}

static bool same_plan(const ek_quick_step *a, const ek_quick_step *b, int n_stages)
{
    bool same = true;
    for (int s = 0; s < n_stages; s++)
        same &= a->plan.layers[s] == b->plan.layers[s] && a->plan.full[s] == b->plan.full[s];
    return same;
}

static void print_step(const ek_quick *quick, int i, FILE *out)
{
    const ek_quick_step *step = &quick->step[i];
    fprintf(out, "\n%d. %s\n\n", i + 1, step_title[i]);
    fputs("  stage  layers  recomputed                  stage time in T              time   peak MB   room MB\n", out);
    for (int s = 0; s < quick->n_stages; s++)
        print_stage(quick, step, s, out);
    fprintf(out, "\n  longest - shortest = %s T - ", ek__short(step->longest).text);
    fprintf(out, "%s T = ", ek__short(step->shortest).text);
    fprintf(out, "%s T; ", ek__short(step->longest - step->shortest).text);
    fprintf(out, "simulated step %s%s\n", ek__short(step->step_time).text, step->fits ? "" : ", were there the memory");
    if (i > 0 && same_plan(step, &quick->step[i - 1], quick->n_stages))
        fputs(i == EK_QUICK_MOVED ? "  As before: moving layers would gain nothing.\n" : "  As before: all fits.\n",
              out);
}

static void print_list(const char *name, const ek_quick *quick, const int *value, int base, FILE *out)
{
    fprintf(out, "  %s: [[", name);
    for (int s = 0; s < quick->n_stages; s++)
        fprintf(out, "%s%d", s ? ", " : "", value[s] - base);
    fputs("]]\n", out);
}

static void print_search(const ek_quick_report *report, FILE *out)
{
    const ek_balance_result *search = report->search;
    double quick = report->quick->step[EK_QUICK_MOVED].step_time;
    fprintf(out, "\nsimulated step of the quick answer:         %s\n", ek__short(quick).text);
    if (!search || search->status == EK_BALANCE_INFEASIBLE)
        return;
    fprintf(out, "of balance, with only full recomputation:  %s (%s)\n", ek__short(search->step_time).text,
            ek_balance_status_name[search->status]);
    double percent = 100 * (quick / search->step_time - 1);
    if (percent > 5e-3)
        fprintf(out, "The rule of thumb costs %s %%.\n", ek__fixed(percent, 2).text);
    else
        fputs("The rule of thumb costs nothing here.\n", out);
}

static void print_answer(const ek_quick_report *report, FILE *out)
{
    const ek_quick *quick = report->quick;
    const ek_quick_step *step = &quick->step[EK_QUICK_MOVED];
    fputs("\nTo put in yaml configuration:\n", out);
    print_list("offset", quick, step->plan.layers, quick->n_layers / quick->n_stages, out);
    print_list("recompute", quick, step->plan.full, 0, out);
    print_search(report, out);
}

static void print_shortage(const ek_quick *quick, FILE *out)
{
    fprintf(out, "\nNo plan fits into %s MB: ", ek__short(quick->memory_limit_mb).text);
    fprintf(out, "with all recomputed and layers moved where there is room, stage %d with %d layer%s\n",
            quick->bottleneck_stage, quick->bottleneck_layers, quick->bottleneck_layers == 1 ? "" : "s");
    fprintf(out, "still needs %s MB, ", ek__fixed(ceil(quick->needed_mb), 0).text);
    fprintf(out, "%s MB too many.\n", ek__fixed(ceil(quick->needed_mb - quick->memory_limit_mb), 0).text);
}

ek_status ek__quick_write_text(const ek_quick_report *report, FILE *out, ek_error *err)
{
    const ek_quick *quick = report->quick;
    fputs("quick tuning by hand: ", out);
    ek__print_name(report->layers->name, out);
    fprintf(out, ", %d layers on %d stages, %d micro-batch%s, limit %s MB\n\n", quick->n_layers, quick->n_stages,
            quick->n_micro_batches, quick->n_micro_batches == 1 ? "" : "es", ek__short(quick->memory_limit_mb).text);
    print_rule(quick, out);
    for (int i = 0; i < (quick->feasible ? EK_QUICK_STEPS : EK_QUICK_MOVED); i++)
        print_step(quick, i, out);
    if (quick->feasible)
        print_answer(report, out);
    else
        print_shortage(quick, out);
    return ek__finish(out, err);
}
