/* Explains why a layout is not the best. The request may fix only some axes; then the search finds the best layout with
 * them, and it is compared part by part. If the framework runs none of them, the reason is the check's for the first
 * one, or the divisibility that fails. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/layout_advice.h"
#include "layout/layout.h"
#include "layout/space.h"

const char *const ek__layout_verdict_name[EK_N_LAYOUT_VERDICTS] = {"plan", "illegal", "memory", "open"};
const char *const *const ek_layout_verdict_name = ek__layout_verdict_name;

typedef struct explainer {
    const ek_job *job;
    const ek_device *device;
    ek_layout_options options;
    ek_layout_explanation *out;
    ek_error *err;
} explainer;

/* ---- the request ---- */

static int fixed(const ek_layout_options *o, ek_layout_axis axis)
{
    return o->range[axis].least > 0 && o->range[axis].least == o->range[axis].most ? o->range[axis].most : 0;
}

/* "tp 4, pp 8", "any layout". */
static size_t asked_words(const ek_layout_options *o, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < EK_N_LAYOUT_AXES && used < size; i++) {
        const ek_layout_range r = o->range[i];
        const char *comma = used ? ", " : "";
        if (r.least <= 0 && r.most <= 0)
            continue;
        if (r.least == r.most)
            used += (size_t)snprintf(text + used, size - used, "%s%s %d", comma, ek_layout_axis_option[i], r.most);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s %d:%d", comma, ek_layout_axis_option[i], r.least,
                                     r.most);
    }
    return used ? used : (size_t)snprintf(text, size, "any layout");
}

/* ---- legality ---- */

/* The reason why no degrees with the fixed ones multiply to the devices and divide the sizes they cut. */
static void report_no_divisor(explainer *e, int64_t global_batch)
{
    static const ek_layout_axis ranks[] = {EK_AXIS_DATA, EK_AXIS_TENSOR, EK_AXIS_CONTEXT, EK_AXIS_PIPELINE};
    const ek_job_model *m = &e->job->model;
    const ek_layout_options *o = &e->options;
    int layers = m->n_layers + m->n_prediction_layers, t = fixed(o, EK_AXIS_TENSOR), p = fixed(o, EK_AXIS_PIPELINE),
        ep = fixed(o, EK_AXIS_EXPERT), experts = m->n_experts > 0 ? m->n_experts : 1;
    long product = 1;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        product *= fixed(o, ranks[i]) > 0 ? fixed(o, ranks[i]) : 1;
    char *why = e->out->why;
    size_t size = sizeof e->out->why;
    if (o->n_devices % product != 0)
        snprintf(why, size, "degrees of %ld in all do not divide the %d devices", product, o->n_devices);
    else if (t > 0 && m->n_heads % t != 0)
        snprintf(why, size, "tp %d does not divide the %d heads", t, m->n_heads);
    else if (p > layers)
        snprintf(why, size, "pp %d is more than the %d layers", p, layers);
    else if (ep > 0 && experts % ep != 0)
        snprintf(why, size, "ep %d does not divide the %d experts", ep, experts);
    else
        snprintf(why, size, "no degrees like that multiply to %d devices and divide the global batch of %lld",
                 o->n_devices, (long long)global_batch);
}

/* One layout of a group. @param legal out: whether it is legal */
static ek_status look_at(explainer *e, const ek__space *space, const ek__layout_group *group, int n_chunks,
                         const ek_schedule *schedule, bool *legal)
{
    ek_layout layout = group->layout;
    ek_job made;
    ek_error why = {0};
    layout.value[EK_AXIS_CHUNKS] = n_chunks;
    layout.schedule = schedule;
    ek_status status = ek_layout_job(e->job, &layout, &made, &why);
    *legal = !status && ek__space_allows(space, group, n_chunks, schedule);
    if (!status)
        ek_job_clear(&made);
    else if (status != EK_ERR_INPUT)
        return ek__fail(e->err, status, EK__NOWHERE, "%s", why.message);
    if (*legal || e->out->why[0])
        return EK_OK;
    if (status)
        snprintf(e->out->why, sizeof e->out->why, "%.*s", (int)sizeof e->out->why - 1, why.message);
    else
        snprintf(e->out->why, sizeof e->out->why, "schedule %s does not run %d chunks a stage with %d micro-batches",
                 schedule->name, n_chunks, layout.n_micro_batches);
    return EK_OK;
}

static ek_status look_at_group(explainer *e, const ek__space *space, const ek__layout_group *group, bool *legal)
{
    const ek_layout_range chunks = e->options.range[EK_AXIS_CHUNKS];
    int most = ek__space_most_chunks(space, group), least = chunks.least > 0 ? chunks.least : 1;
    if (least > most && !e->out->why[0])
        snprintf(e->out->why, sizeof e->out->why, "%d chunks a stage are more than the %d there can be", least, most);
    ek_status status = EK_OK;
    for (int v = least; v <= most && !*legal && !status; v++)
        for (int s = 0; s < e->options.n_schedules && !*legal && !status; s++)
            status = look_at(e, space, group, v, e->options.schedule[s], legal);
    return status;
}

/* Is there a layout that the framework runs? Otherwise out->why is the reason for the first of them. */
static ek_status find_legal(explainer *e, bool *legal)
{
    ek__space space;
    ek_status status = ek__space_new(e->job, &e->options, &space, e->err);
    *legal = false;
    if (status)
        return status;
    if (space.n_groups == 0)
        report_no_divisor(e, space.global_batch);
    for (size_t i = 0; i < space.n_groups && !*legal && !status; i++)
        status = look_at_group(e, &space, &space.group[i], legal);
    ek__space_clear(&space);
    if (*legal)
        e->out->why[0] = '\0';
    return status;
}

/* ---- the best of them ---- */

static void compare(explainer *e, ek_layout_result *found, const ek_layout_plan *against)
{
    ek_layout_explanation *out = e->out;
    out->verdict = EK_VERDICT_PLAN;
    out->proved = found->proved;
    ek__layout_plan_move(&found->plan[0], &out->plan);
    if (!against)
        return;
    out->has_difference = true;
    out->difference = ek_layout_difference_of(&out->plan.estimate.step, &against->estimate.step);
}

static ek_status find(explainer *e, const ek_layout_plan *against)
{
    ek_layout_result found;
    e->options.n_best = 1;
    ek_status status = ek_layout_search(e->job, e->device, &e->options, &found, e->err);
    if (status)
        return status;
    if (found.n_plans > 0)
        compare(e, &found, against);
    else
        e->out->verdict = found.ended_early ? EK_VERDICT_OPEN : EK_VERDICT_MEMORY;
    e->out->closest = found.closest;
    e->out->least_mb = found.closest_mb;
    e->out->limit_mb = e->job->limit_mb;
    ek_layout_result_clear(&found);
    return EK_OK;
}

/* ---- in words ---- */

static void report(explainer *e)
{
    ek_layout_explanation *out = e->out;
    char *text = out->words, layout[256], difference[512];
    size_t size = sizeof out->words, used = asked_words(&e->options, text, size);
    if (used >= size)
        return;
    text += used;
    size -= used;
    if (out->verdict == EK_VERDICT_ILLEGAL)
        snprintf(text, size, ": the framework would not run it: %s", out->why);
    else if (out->verdict == EK_VERDICT_OPEN)
        snprintf(text, size, ": no plan was found in the time");
    else if (out->verdict == EK_VERDICT_MEMORY)
        ek__snprintf(text, size,
                     ": does not fit: %s needs least, %.0f MB with all recomputed, %.2f times the limit of %.0f MB",
                     ek_layout_words(&out->closest, layout, sizeof layout), out->least_mb,
                     out->least_mb / out->limit_mb, out->limit_mb);
    else
        snprintf(text, size, " (%s): %s", ek_layout_words(&out->plan.layout, layout, sizeof layout),
                 out->has_difference ? ek_layout_difference_words(&out->difference, difference, sizeof difference)
                                     : "its best plan");
}

/* The search's defaults. */
static void choose_schedules(ek_layout_options *options)
{
    if (options->n_schedules > 0)
        return;
    options->schedule[options->n_schedules++] = ek_schedule_default(1, 0);
    options->schedule[options->n_schedules++] = ek_schedule_default(2, 0);
}

ek_status ek_layout_explain(const ek_job *job, const ek_device *device, const ek_layout_options *options,
                            const ek_layout_plan *against, ek_layout_explanation *out, ek_error *err)
{
    ek_layout_explanation made = {.verdict = EK_VERDICT_ILLEGAL};
    explainer e = {.job = job, .device = device, .options = *options, .out = &made, .err = err};
    bool legal;
    if (options->n_devices < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "devices must be 1 or more (got %d)", options->n_devices);
    choose_schedules(&e.options);
    ek_status status = find_legal(&e, &legal);
    if (!status && legal)
        status = find(&e, against);
    if (status) {
        ek_layout_explanation_clear(&made);
        return status;
    }
    report(&e);
    *out = made;
    out->plan.estimate.job = &out->plan.job;
    return EK_OK;
}

void ek_layout_explanation_clear(ek_layout_explanation *explanation)
{
    ek_layout_plan_clear(&explanation->plan);
    *explanation = (ek_layout_explanation){0};
}
