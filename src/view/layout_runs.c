/* Builds the runs of a page about layouts: the layouts themselves, then a run for each of the best plans and for the
 * job's own layout, with its estimate and its step block by block. */
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/layout.h"
#include "evenkeel/view.h"

struct ek_layout_view_plan {
    char name[32], note[300];
    ek_estimate_report estimate;
    bool has_step;
    ek_step_run run;
    ek_memory_course memory;
    ek_view_step step;
};

static ek_status run_step(const ek_layout_plan *plan, const ek_device *device, struct ek_layout_view_plan *to,
                          ek_error *err)
{
    ek_status status = ek_cost_step_run(&plan->job, device, NULL, &to->run, err);
    if (!status)
        status = ek_memory_course_of(&plan->job, &to->memory, err);
    to->step = (ek_view_step){&plan->job, &to->run, &to->memory};
    to->has_step = !status;
    return status;
}

/* Blocks of the plan's timeline. */
static double n_blocks(const ek_layout *layout)
{
    return 2.0 * layout->value[EK_AXIS_PIPELINE] * layout->value[EK_AXIS_CHUNKS] * layout->n_micro_batches;
}

static ek_status add_run(const ek_layout_result *result, const ek_layout_plan *plan, double *left, ek_layout_view *to,
                         ek_error *err)
{
    struct ek_layout_view_plan *p = &to->plan[to->n_runs];
    ek_view_run *run = &to->run[to->n_runs++];
    char words[200];
    if (plan == &result->today)
        snprintf(p->name, sizeof p->name, "today");
    else
        snprintf(p->name, sizeof p->name, "plan %d", (int)(plan - result->plan) + 1);
    snprintf(p->note, sizeof p->note, "Layout: %s.", ek_layout_words(&plan->layout, words, sizeof words));
    p->estimate = (ek_estimate_report){.estimate = &plan->estimate};
    *run = (ek_view_run){.name = p->name, .note = p->note, .estimate = &p->estimate};
    *left -= n_blocks(&plan->layout);
    if (*left < 0)
        return EK_OK;
    ek_status status = run_step(plan, result->device, p, err);
    if (!status)
        run->step = &p->step;
    return status;
}

ek_status ek_layout_view_of(const ek_layout_result *result, ek_layout_view *out, ek_error *err)
{
    size_t most = (size_t)result->n_plans + 2;
    double left = EK_VIEW_MOST_BLOCKS;
    ek_layout_view view = {.run = ek__alloc(most, sizeof *view.run), .plan = ek__alloc(most, sizeof *view.plan)};
    ek_status status = view.run && view.plan ? EK_OK : ek__no_memory(err);
    if (!status)
        view.run[view.n_runs++] = (ek_view_run){.name = "layouts", .layout = result};
    for (int i = 0; i < result->n_plans && !status; i++)
        status = add_run(result, &result->plan[i], &left, &view, err);
    if (!status && result->today.job.path)
        status = add_run(result, &result->today, &left, &view, err);
    if (status)
        ek_layout_view_clear(&view);
    else
        *out = view;
    return status;
}

void ek_layout_view_clear(ek_layout_view *view)
{
    for (int i = 0; i < view->n_runs; i++) {
        ek_step_run_clear(&view->plan[i].run);
        ek_memory_course_clear(&view->plan[i].memory);
    }
    free(view->run);
    free(view->plan);
    *view = (ek_layout_view){0};
}
