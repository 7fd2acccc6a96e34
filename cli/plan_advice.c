/* Prints the advice of `evenkeel plan` on the best layouts: layouts with indistinguishable predictions, a layout to
 * explain, the cost of rules of thumb, and runs to try. */
#include <stdio.h>

#include "axes.h"
#include "memory.h"
#include "plan.h"

enum { MOST_GROUPED = 64 }; /* plans; each of them takes some hundred predictions of its step */
#define QUICK 10            /* seconds: users do not wait for more after a longer search */

/* The time left after the search, in equal parts for the further requests. */
static double time_left(const cli_plan_command *c, const cli_plan *f)
{
    double left = c->layout.time_limit / CLI_PLAN_SEARCH_SHARE - f->result.seconds;
    return c->explain && c->way ? left / 2 : left;
}

/* The requested axes, with the others as the search had them. */
static bool explain(const cli_plan_command *c, cli_plan *f, ek_error *err, ek_status *status)
{
    ek_layout_options options = c->layout;
    if (!cli_take_axes(c->explain_option, c->explain, &options))
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

/* The device that the calibration began with: a calibrated file has the name of the shipped one. */
static bool find_start(const cli_plan_command *c, const cli_plan *f, ek_device *out, bool *owned)
{
    ek_error err;
    *owned = false;
    const ek_device *shipped = ek_device_find(c->start ? c->start : f->device.name);
    if (shipped) {
        *out = *shipped;
        return true;
    }
    if (!c->start) {
        cli_error(NULL, "no shipped device is called '%s'; give --start FILE, the device that was calibrated",
                  f->device.name);
        return false;
    }
    if (ek_device_open(c->start, &cli_listener, out, owned, &err) == EK_OK)
        return true;
    cli_error(&err, "%s", err.message);
    return false;
}

/* The runs are read before the search: a table that is wrong is said at once. */
bool cli_plan_read_tried(const cli_plan_command *c, cli_plan *f)
{
    ek_error err;
    const ek_listener listener = {cli_take_warning, &f->warnings};
    return !c->tried || cli_said(&f->spool, ek_run_table_read(c->tried, &listener, &f->runs, &err), &err);
}

static bool weigh_tries(const cli_plan_command *c, cli_plan *f)
{
    ek_error err;
    ek_device start;
    bool owned;
    if (!find_start(c, f, &start, &owned))
        return false;
    ek_status status = ek_layout_weigh_tries(&f->result, &f->runs, &start, &f->tries, &err);
    if (owned)
        ek_device_clear(&start);
    f->has_tries = status == EK_OK;
    return cli_said(&f->spool, status, &err);
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
    if (!status && some && c->tried && !weigh_tries(c, f))
        return false;
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
    ek_measured_runs_clear(&f->runs);
}
