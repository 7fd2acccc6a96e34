/* What `evenkeel plan` says beside the best layouts: which of them cannot be told apart, one that was asked about, what
 * the rules of thumb cost, which runs to try. */
#include <stdio.h>

#include "axes.h"
#include "memory.h"
#include "plan.h"

enum { MOST_GROUPED = 64 }; /* plans; each of them takes some hundred predictions of its step */
#define QUICK 10            /* seconds: after a longer search nobody waits for more */

/* What the search left of the time, in equal parts for what is asked besides. */
static double time_left(const cli_plan_command *c, const cli_plan *f)
{
    double left = c->layout.time_limit / CLI_PLAN_SEARCH_SHARE - f->result.seconds;
    return c->explain && c->way ? left / 2 : left;
}

/* The axes that are asked about, the others as the search had them. */
static bool explain(const cli_plan_command *c, cli_plan *f, ek_error *err, ek_status *status)
{
    ek_layout_options options = c->layout;
    if (!cli_take_axes(c->explain_option, c->explain, false, &options))
        return false;
    options.global_batch = f->result.options.global_batch;
    options.time_limit = time_left(c, f);
    *status = ek_layout_explain(&f->searched, &f->device, &options, f->result.n_plans > 0 ? &f->result.plan[0] : NULL,
                                &f->explanation, err);
    return true;
}

/* A job that has no layout for these devices and this batch has no way to begin. */
static ek_status find_way(const cli_plan_command *c, cli_plan *f, ek_error *err)
{
    ek_status status = ek_layout_find_way(&f->result, &f->result.plan[0], time_left(c, f), &f->way, err);
    f->has_way = status == EK_OK;
    if (status != EK_ERR_INPUT)
        return status;
    cli_note("--way: %s, so there is no way from it", err->message);
    return EK_OK;
}

bool cli_plan_advise(const cli_plan_command *c, cli_plan *f)
{
    ek_error err;
    ek_status status = EK_OK;
    ek_layout_result *r = &f->result;
    bool some = r->n_plans > 0;
    if (c->explain && !explain(c, f, &err, &status))
        return false;
    if (!status && some && c->way)
        status = find_way(c, f, &err);
    if (!status && some && r->n_plans <= MOST_GROUPED)
        status = ek_layout_group_plans(r, &err);
    if (!status && some && c->n_trials > 0)
        status = ek_layout_choose_trials(r->plan, r->n_plans, &f->device, c->n_trials, &f->trials, &err);
    if (!status && some && !c->quiet && !r->ended_early && r->seconds < QUICK) {
        status = ek_layout_thumbs(r, f->thumb, &err);
        f->has_thumbs = status == EK_OK;
    }
    return cli_said(&f->spool, status, &err);
}

void cli_plan_clear_advice(cli_plan *f)
{
    ek_layout_explanation_clear(&f->explanation);
    if (f->has_thumbs)
        ek_layout_thumbs_clear(f->thumb);
}
