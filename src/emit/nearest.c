/* Finds the rule of recomputation, one for every chunk, that a plan follows or that is nearest to it. There are few
 * rules, so each is tried and its plan simulated in full; the layers stay unchanged. Moving layers to compensate for
 * the rule would be another search, that of `balance`, and is not done here. */
#include <math.h>
#include <stddef.h>

#include "base/digits.h"
#include "base/error.h"
#include "emit/emit_internal.h"
#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"

/* A short text, by value. */
typedef struct phrase {
    char text[128];
} phrase;

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int largest_chunk(const ek_plan *plan)
{
    int most = 0;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        most = plan->layers[c] > most ? plan->layers[c] : most;
    return most;
}

/* Rules that can be expressed, in order: none, selective, full, and the first 1, 2, ... layers of each chunk. */
static int count_rules(const ek_plan *plan, bool partial)
{
    int most = largest_chunk(plan);
    return 3 + (partial && most > 1 ? most - 1 : 0);
}

static ek__rule rule_at(int index)
{
    static const ek__rule whole[] = {
        {EK_RECOMPUTE_NONE, 0}, {EK_RECOMPUTE_SELECT, 0}, {EK_RECOMPUTE_FULL, EK__EVERY_LAYER}};
    return index < 3 ? whole[index] : (ek__rule){EK_RECOMPUTE_FULL, index - 2};
}

static bool chunk_follows(const ek_plan *plan, int cell, ek__rule rule)
{
    ek_chunk_mix mix = ek_plan_mix(plan, cell / plan->n_stages, cell % plan->n_stages);
    int n = plan->layers[cell];
    if (rule.kind != EK_RECOMPUTE_FULL)
        return mix.n[rule.kind] == n;
    int full = min_int(rule.n, n);
    return mix.n[EK_RECOMPUTE_FULL] == full && mix.n[EK_RECOMPUTE_NONE] == n - full;
}

/* Chunks from the model's beginning that follow the rule. */
static int count_following(const ek_emission *e, ek__rule rule)
{
    ek_placement placement = ek__emission_schedule(e)->placement;
    int n = e->plan->n_stages * e->plan->n_chunks, q = 0;
    while (q < n && chunk_follows(e->plan, ek_cell_at(placement, e->plan->n_stages, q), rule))
        q++;
    return q;
}

ek_status ek__rule_plan(const ek_plan *plan, ek__rule rule, ek_plan *out, ek_error *err)
{
    ek_status status = ek_plan_copy(plan, out, err);
    if (status)
        return status;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        int full = rule.kind == EK_RECOMPUTE_FULL ? min_int(rule.n, plan->layers[c]) : 0;
        out->full[c] = out->comm[c] = full;
        out->select[c] = rule.kind == EK_RECOMPUTE_SELECT ? plan->layers[c] : full;
    }
    return EK_OK;
}

/* May `cost` replace the plan, judged by memory? */
static bool fits(const ek_emission *e, const ek__cost *cost, const ek__cost *own)
{
    if (e->stage_memory_mb || e->memory_limit_mb > 0)
        return cost->within;
    return cost->peak_mb <= own->peak_mb * (1 + 1e-9);
}

static bool shorter(const ek__cost *a, const ek__cost *b)
{
    return a->step_time < b->step_time || (a->step_time == b->step_time && a->peak_mb < b->peak_mb);
}

/* Evaluate one rule and keep it when it is better than the one in `told`. */
static ek_status try_rule(const ek_emission *e, ek__rule rule, ek__told *told, ek_error *err)
{
    ek_plan plan;
    ek__cost cost;
    ek_status status = ek__rule_plan(e->plan, rule, &plan, err);
    if (status)
        return status;
    bool known = ek_plan_check(&plan, e->layers, NULL) == EK_OK;
    if (known)
        status = ek__judge(e, &plan, &cost, err);
    ek_plan_clear(&plan);
    if (status || !known)
        return status;
    told->n_judged++;
    bool good = fits(e, &cost, &told->own), had = told->telling == EK_TELLS_NEAREST;
    bool better = good ? !had || shorter(&cost, &told->nearest) : !had && cost.peak_mb < told->nearest.peak_mb;
    if (better) {
        told->rule = rule;
        told->nearest = cost;
        told->telling = good ? EK_TELLS_NEAREST : EK_TELLS_LAYERS;
    }
    return EK_OK;
}

ek_status ek__tell(const ek_emission *emission, bool partial, ek__told *out, ek_error *err)
{
    const ek_plan *plan = emission->plan;
    ek__told told = {.telling = EK_TELLS_LAYERS, .nearest = {.peak_mb = INFINITY}};
    int n_rules = count_rules(plan, partial), farthest = 0;
    for (int k = 0; k < n_rules; k++) {
        int following = count_following(emission, rule_at(k));
        farthest = following > farthest ? following : farthest;
        if (following == plan->n_stages * plan->n_chunks) {
            *out = (ek__told){.telling = EK_TELLS_PLAN, .rule = rule_at(k)};
            return EK_OK;
        }
    }
    told.cell = ek_cell_at(ek__emission_schedule(emission)->placement, plan->n_stages, farthest);
    ek_status status = ek__can_judge(emission) ? ek__judge(emission, plan, &told.own, err) : EK_OK;
    for (int k = 0; k < n_rules && status == EK_OK && ek__can_judge(emission); k++)
        status = try_rule(emission, rule_at(k), &told, err);
    if (status == EK_OK)
        *out = told;
    return status;
}

/* ---- in words ---- */

static phrase describe_rule(ek__rule rule)
{
    phrase words;
    if (rule.kind == EK_RECOMPUTE_NONE)
        snprintf(words.text, sizeof words.text, "no recomputation");
    else if (rule.kind == EK_RECOMPUTE_SELECT)
        snprintf(words.text, sizeof words.text, "selective recomputation of every layer");
    else if (rule.n == EK__EVERY_LAYER)
        snprintf(words.text, sizeof words.text, "full recomputation of every layer");
    else if (rule.n == 1)
        snprintf(words.text, sizeof words.text, "full recomputation of the first layer of every chunk");
    else
        snprintf(words.text, sizeof words.text, "full recomputation of the first %d layers of every chunk", rule.n);
    return words;
}

/* "2 none, 3 select". */
static phrase describe_chunk(const ek_plan *plan, int cell)
{
    phrase words = {""};
    ek_chunk_mix mix = ek_plan_mix(plan, cell / plan->n_stages, cell % plan->n_stages);
    size_t n = 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (mix.n[k] > 0)
            n += (size_t)snprintf(words.text + n, sizeof words.text - n, "%s%d %s", n ? ", " : "", mix.n[k],
                                  ek_recompute_name[k]);
    return words;
}

/* "+2.7%", so that no line break is inside. */
static phrase change(double now, double before)
{
    phrase words = {"no change"};
    double percent = before > 0 ? 100 * (now / before - 1) : 0;
    if (fabs(percent) >= 0.005)
        snprintf(words.text, sizeof words.text, "%s%s%%", percent > 0 ? "+" : "", ek__fixed(percent, 2).text);
    return words;
}

/* The limits of the evaluated plans: "5200 MB". */
static phrase describe_limit(const ek_emission *e, const ek__cost *own)
{
    phrase limit = {"the limits of the stages"};
    if (!e->stage_memory_mb && e->memory_limit_mb > 0)
        snprintf(limit.text, sizeof limit.text, "%s MB", ek__fixed(e->memory_limit_mb, 0).text);
    else if (!e->stage_memory_mb)
        snprintf(limit.text, sizeof limit.text, "the plan's own peak of %s MB", ek__fixed(own->peak_mb, 0).text);
    return limit;
}

static void write_nearest(const ek_emission *e, const ek__told *told, FILE *out)
{
    ek__print_comment(out,
                      "The nearest plan with the same layers that it can express is set below: %s. Of the %d plans "
                      "simulated, those that fit into %s have no shorter step.",
                      describe_rule(told->rule).text, told->n_judged, describe_limit(e, &told->own).text);
    ek__print_comment(out, "It costs: step %s instead of %s (%s), peak %s MB instead of %s MB (%s).",
                      ek__short(told->nearest.step_time).text, ek__short(told->own.step_time).text,
                      change(told->nearest.step_time, told->own.step_time).text,
                      ek__fixed(told->nearest.peak_mb, 0).text, ek__fixed(told->own.peak_mb, 0).text,
                      change(told->nearest.peak_mb, told->own.peak_mb).text);
}

static void write_nothing_fits(const ek_emission *e, const ek__told *told, FILE *out)
{
    ek__print_comment(out,
                      "Nothing is set below: of the %d plans with the same layers that it can express, none fits into "
                      "%s. The smallest peak is %s MB on stage %d, with %s, and a step of %s (%s).",
                      told->n_judged, describe_limit(e, &told->own).text, ek__fixed(told->nearest.peak_mb, 0).text,
                      told->nearest.peak_stage, describe_rule(told->rule).text, ek__short(told->nearest.step_time).text,
                      change(told->nearest.step_time, told->own.step_time).text);
}

void ek__explain(const ek_emission *emission, const ek__told *told, const char *framework, const char *rules, FILE *out)
{
    const ek_plan *plan = emission->plan;
    if (told->telling == EK_TELLS_PLAN)
        return;
    ek__print_comment(out,
                      "%s cannot express the recomputation of this plan. It has one rule for all chunks: %s. The first "
                      "chunk that prevents one is chunk %d of stage %d, with %s.",
                      framework, rules, told->cell / plan->n_stages, told->cell % plan->n_stages,
                      describe_chunk(plan, told->cell).text);
    if (ek__can_judge(emission) && !emission->layers->modelled[EK_RECOMPUTE_FULL])
        ek__print_comment(
            out, "The model has no full recomputation, so no plan with it was tried; a dry run that uses it adds it.");
    if (told->telling == EK_TELLS_NEAREST)
        write_nearest(emission, told, out);
    else if (told->n_judged > 0)
        write_nothing_fits(emission, told, out);
    else if (ek__can_judge(emission))
        ek__print_comment(out, "Nothing is set below: the model does not know the kinds that these rules would use.");
    else
        ek__print_comment(out, "Nothing is set below: the nearest rule and its cost need the model and the "
                               "micro-batches (--init FILE or --layers FILE, -mb N).");
}
