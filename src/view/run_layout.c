/* Writes the layouts of a job: all points of the search as columns for the page's own charts, the fronts through them,
 * the best plans with the parts of their steps, the reasons against the others. */
#include <math.h>
#include <stdlib.h>

#include "evenkeel/layout_picture.h"
#include "figures/layout_figures.h"
#include "report/report_internal.h"
#include "report/role_colors.h"
#include "view/plan.h"
#include "view/rows.h"

#define NS 1e9

static bool present(const ek_view_run *run)
{
    return run->layout != NULL;
}

static bool has_today(const ek_layout_result *r)
{
    return r->today.job.path != NULL;
}

/* ---- facts ---- */

static void proof_text(const ek_layout_result *r, char *text, size_t size)
{
    if (r->n_plans == 0)
        snprintf(text, size, "nothing fits");
    else if (r->proved)
        snprintf(text, size, "yes, by the model");
    else
        snprintf(text, size, "no: a step could be %s %% shorter", ek__fixed(100 * r->gap, 1).text);
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_layout_result *r = run->layout;
    char text[120];
    ek__view_fact(s, "device", NAN, EK__UNIT_TEXT, r->device->name, NULL);
    ek__view_fact(s, "devices", r->options.n_devices, EK__UNIT_COUNT, NULL, NULL);
    ek__view_fact(s, "layouts", (double)r->counts.bounded, EK__UNIT_COUNT, NULL, NULL);
    ek__view_fact(s, "balanced", (double)r->counts.balanced, EK__UNIT_COUNT, NULL, NULL);
    if (r->n_plans > 0) {
        ek__view_fact(s, "shortest step", NS * r->plan[0].estimate.step.seconds, EK__UNIT_NS | EK__LESS, NULL,
                      EK__DERIVED);
        ek__view_fact(s, "its memory", ek__layout_peak_mb(&r->plan[0]), EK__UNIT_MB | EK__LESS, NULL, EK__DERIVED);
    }
    proof_text(r, text, sizeof text);
    ek__view_fact(s, "proved", NAN, EK__UNIT_TEXT, text, NULL);
    if (has_today(r))
        ek__view_fact(s, "step of the current layout", NS * r->today.estimate.step.seconds, EK__UNIT_NS | EK__LESS,
                      NULL, EK__DERIVED);
    if (r->job->limit_mb > 0)
        ek__view_fact(s, "memory limit", r->job->limit_mb, EK__UNIT_MB, NULL, NULL);
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    const ek_layout_result *r = run->layout;
    char text[240];
    ek__stream_text(s, NULL,
                    "A layout that was not balanced is shown at its bounds: none of its plans within the limit has a "
                    "shorter step, and none needs less memory.");
    if (r->counts.bounded > r->n_points) {
        snprintf(text, sizeof text,
                 "%s of %s layouts are shown: one of each group of close layouts, and only layouts with a plan within "
                 "the limit.",
                 ek__grouped((double)r->n_points).text, ek__grouped((double)r->counts.bounded).text);
        ek__stream_text(s, NULL, text);
    }
    if (r->ended_early)
        ek__stream_text(s, NULL, "The search was stopped before its end.");
}

/* ---- the points ---- */

typedef struct columns {
    double *real;
    uint32_t *number;
    size_t n;
    ek__packed packed;
} columns;

static void write_reals(columns *c, const ek_layout_result *r, int which)
{
    for (size_t i = 0; i < c->n; i++) {
        const ek_layout_point *p = &r->point[i];
        c->real[i] = which == 0 ? p->seconds : which == 1 ? p->peak_mb : which == 2 ? p->least_seconds : p->least_mb;
    }
    ek__packed_reals(&c->packed, c->real, c->n);
}

/* After the axes: micro-batches, sequence parallel, schedule, fate, whether there is a plan. */
enum { N_NUMBERS = EK_N_LAYOUT_AXES + 5 };

static uint32_t schedule_of(const ek_layout_result *r, const ek_layout *layout)
{
    for (int i = 0; i < r->options.n_schedules; i++)
        if (r->options.schedule[i] == layout->schedule)
            return (uint32_t)i;
    return 0;
}

static uint32_t number_of(const ek_layout_result *r, const ek_layout_point *p, int which)
{
    const ek_layout *l = &p->layout;
    if (which < EK_N_LAYOUT_AXES)
        return (uint32_t)l->value[which];
    switch (which - EK_N_LAYOUT_AXES) {
    case 0:
        return (uint32_t)l->n_micro_batches;
    case 1:
        return l->sequence_parallel;
    case 2:
        return schedule_of(r, l);
    case 3:
        return (uint32_t)p->fate;
    default:
        return p->found;
    }
}

static void write_numbers(columns *c, const ek_layout_result *r, int which)
{
    for (size_t i = 0; i < c->n; i++)
        c->number[i] = number_of(r, &r->point[i], which);
    ek__packed_numbers(&c->packed, c->number, c->n);
}

static ek_status write_points(const ek_layout_result *r, ek__stream *s, ek_error *err)
{
    columns c = {.n = (size_t)r->n_points};
    c.real = ek__alloc(c.n + 1, sizeof *c.real);
    c.number = ek__alloc(c.n + 1, sizeof *c.number);
    bool fine = c.real && c.number;
    for (int i = 0; i < 4 && fine; i++)
        write_reals(&c, r, i);
    for (int i = 0; i < N_NUMBERS && fine; i++)
        write_numbers(&c, r, i);
    fine = fine && ek__packed_write(&c.packed, s, "data");
    ek__packed_clear(&c.packed);
    free(c.real);
    free(c.number);
    return fine ? EK_OK : ek__no_memory(err);
}

static long point_of(const ek_layout_result *r, const ek_layout *layout)
{
    for (long i = 0; i < r->n_points; i++)
        if (ek_layout_equal(&r->point[i].layout, layout))
            return i;
    return -1;
}

static void write_plans(const ek_layout_result *r, ek__stream *s)
{
    ek__stream_list(s, "plans", false);
    for (int i = 0; i < r->n_plans; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "point", point_of(r, &r->plan[i].layout));
        ek__stream_int(s, "run", i + 1);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    if (!has_today(r)) {
        ek__stream_null(s, "today");
        return;
    }
    ek__stream_object(s, "today", false);
    ek__stream_from(s, "point", point_of(r, &r->today.layout), 0);
    ek__stream_int(s, "run", r->n_plans + 1);
    ek__stream_real(s, "seconds", r->today.estimate.step.seconds);
    ek__stream_real(s, "mb", ek__layout_peak_mb(&r->today));
    ek__stream_list(s, "values", false);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        ek__stream_int(s, NULL, r->today.layout.value[i]);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void write_front(const ek_layout_front *front, const char *name, ek__stream *s)
{
    ek__stream_list(s, name, false);
    for (long i = 0; i < front->n; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "point", front->at[i]);
        ek__stream_bool(s, "proved", front->proved[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static ek_status write_space(const ek_layout_result *r, const ek_layout_front *plans, const ek_layout_front *bounds,
                             ek__stream *s, ek_error *err)
{
    ek__stream_object(s, "space", false);
    ek__stream_list(s, "axes", false);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        ek__stream_text(s, NULL, ek_layout_axis_option[i]);
    ek__stream_end(s);
    ek__stream_list(s, "schedules", false);
    for (int i = 0; i < r->options.n_schedules; i++)
        ek__stream_text(s, NULL, r->options.schedule[i]->name);
    ek__stream_end(s);
    ek__stream_list(s, "fates", false);
    for (int i = 0; i < EK_N_LAYOUT_FATES; i++)
        ek__stream_text(s, NULL, ek_layout_fate_name[i]);
    ek__stream_end(s);
    ek__stream_real(s, "limit_mb", r->job->limit_mb > 0 ? r->job->limit_mb : NAN);
    ek__stream_int(s, "n", r->n_points);
    write_plans(r, s);
    write_front(plans, "front", s);
    write_front(bounds, "bounds", s);
    ek_status status = write_points(r, s, err);
    ek__stream_end(s);
    return status;
}

/* ---- tables ---- */

static bool any_has(const ek_layout_result *r, int part)
{
    for (int i = 0; i < r->n_plans; i++) {
        const ek_step *step = &r->plan[i].estimate.step;
        if (step->stage[step->slowest].seconds[part] > 0)
            return true;
    }
    return false;
}

static void write_parts(const ek_layout_result *r, ek__section *x)
{
    ek__bars_begin(x, "parts", "Step time by part for each plan, on its slowest stage", EK__UNIT_NS);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (any_has(r, i))
            ek__bars_series(x, ek_step_part_title[i], ek__step_part_role(i));
    for (int k = 0; k < r->n_plans; k++) {
        const ek_step *step = &r->plan[k].estimate.step;
        double value[EK_N_STEP_PARTS];
        char label[32];
        int n = 0;
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            if (any_has(r, i))
                value[n++] = NS * step->stage[step->slowest].seconds[i];
        snprintf(label, sizeof label, "plan %d", k + 1);
        ek__bars_bar(x, label, -1, value, n);
    }
    ek__bars_end(x, NAN);
}

static const ek__view_column plan_column[] = {
    {"plan", "plan", EK__UNIT_TEXT, false},
    {"layout", "layout", EK__UNIT_TEXT, false},
    {"step", "step", EK__UNIT_NS | EK__LESS, false},
    {"longer", "excess over the best", EK__UNIT_PERCENT, false},
    {"peak", "fullest stage", EK__UNIT_MB | EK__LESS, false},
    {"tokens", "tokens a second and device", EK__UNIT_NONE | EK__MORE, false},
    {"mfu", "MFU", EK__UNIT_PERCENT | EK__MORE, false},
    {"group", "group of indistinguishable plans", EK__UNIT_NONE, false},
    {"layers", "layers by stage", EK__UNIT_TEXT, false},
    {"recompute", "layers by recomputation", EK__UNIT_TEXT, false},
};

static void write_row(const ek_layout_result *r, const ek_layout_plan *plan, const char *name, ek__section *x)
{
    char text[2048];
    double seconds = plan->estimate.step.seconds;
    ek__row_begin(x);
    ek__cell_text(x, name);
    ek__cell_text(x, ek_layout_words(&plan->layout, text, sizeof text));
    ek__cell_real(x, NS * seconds);
    ek__cell_real(x, r->n_plans > 0 ? 100 * (seconds / r->plan[0].estimate.step.seconds - 1) : NAN);
    ek__cell_real(x, ek__layout_peak_mb(plan));
    ek__cell_real(x, plan->estimate.metrics.tokens_per_second_per_device);
    ek__cell_real(x, 100 * plan->estimate.metrics.mfu);
    ek__cell_int(x, plan->group >= 0 ? plan->group + 1 : INT64_MIN);
    ek__view_layers_text(&plan->job.plan, text, sizeof text);
    ek__cell_text(x, text);
    ek__view_recompute_text(&plan->job.plan, text, sizeof text);
    ek__cell_text(x, text);
    ek__row_end(x);
}

static void write_plan_table(const ek_layout_result *r, ek__section *x)
{
    char name[32];
    ek__table_begin(x, "plans", "The best plans", plan_column, sizeof plan_column / sizeof *plan_column);
    for (int i = 0; i < r->n_plans; i++) {
        snprintf(name, sizeof name, "plan %d", i + 1);
        write_row(r, &r->plan[i], name, x);
    }
    if (has_today(r))
        write_row(r, &r->today, "today", x);
    ek__table_end(x, -1, false);
}

static const ek__view_column front_column[] = {
    {"layout", "layout", EK__UNIT_TEXT, false},
    {"peak", "fullest stage", EK__UNIT_MB | EK__LESS, false},
    {"step", "step", EK__UNIT_NS | EK__LESS, false},
    {"proved", "proved", EK__UNIT_TEXT, false},
};

static void write_front_table(const ek_layout_result *r, const ek_layout_front *front, ek__section *x)
{
    char text[300];
    ek__table_begin(x, "front", "The front: no balanced plan has both a shorter step and less memory", front_column,
                    sizeof front_column / sizeof *front_column);
    for (long i = 0; i < front->n; i++) {
        const ek_layout_point *p = &r->point[front->at[i]];
        ek__row_begin(x);
        ek__cell_text(x, ek_layout_words(&p->layout, text, sizeof text));
        ek__cell_real(x, p->peak_mb);
        ek__cell_real(x, NS * p->seconds);
        ek__cell_text(x, front->proved[i] ? "no layout has" : "among the balanced ones");
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static void write_tables(const ek_view_run *run, const ek_layout_front *front, ek__stream *s)
{
    const ek_layout_result *r = run->layout;
    ek__section x = ek__section_begin(s, "plans");
    if (r->n_plans > 0)
        write_parts(r, &x);
    if (r->n_plans > 0 || has_today(r))
        write_plan_table(r, &x);
    if (front->n > 0)
        write_front_table(r, front, &x);
    ek__view_result_rows(run, r, &ek__layout_fate_rows, NULL, NULL, &x);
    ek__section_end(&x);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_layout_result *r = run->layout;
    ek_layout_front plans = {0}, bounds = {0};
    ek_status status = ek_layout_front_of_plans(r->point, r->n_points, &plans, err);
    if (!status)
        status = ek_layout_front_of_bounds(r->point, r->n_points, &bounds, err);
    if (!status) {
        ek__section x = ek__section_begin(s, "layouts");
        status = write_space(r, &plans, &bounds, s, err);
        ek__section_end(&x);
    }
    if (!status)
        write_tables(run, &plans, s);
    ek_layout_front_clear(&plans);
    ek_layout_front_clear(&bounds);
    return status;
}

const ek__view_part ek__view_part_layout = {.present = present, .facts = facts, .notes = notes, .sections = sections};
