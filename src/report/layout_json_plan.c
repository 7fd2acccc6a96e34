/* A layout and its plan as JSON. */
#include <math.h>

#include "report/layout_internal.h"

void ek__layout_put_degrees(ek__stream *s, const ek_layout *l)
{
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        ek__stream_int(s, ek_layout_axis_name[i], l->value[i]);
    ek__stream_bool(s, "sequence_parallel", l->sequence_parallel);
    ek__stream_int(s, "micro_batches", l->n_micro_batches);
    ek__stream_text(s, "schedule", l->schedule ? l->schedule->name : NULL);
}

static void put_parts(ek__stream *s, const ek_step *step)
{
    ek__stream_list(s, "parts", false);
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", ek_step_part_name[i]);
        ek__stream_real(s, "seconds", step->stage[step->slowest].seconds[i]);
        ek__stream_text(s, "basis", ek_cost_basis_name[step->basis[i]]);
        ek__stream_real(s, "standard_error_s", ek__layout_known(step->error[i]));
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Of every chunk a list of its stages. */
static void put_grid(ek__stream *s, const char *key, const ek_plan *plan, const int *value)
{
    ek__stream_list(s, key, false);
    for (int c = 0; c < plan->n_chunks; c++) {
        ek__stream_list(s, NULL, false);
        for (int k = 0; k < plan->n_stages; k++)
            ek__stream_int(s, NULL, value[c * plan->n_stages + k]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_lists(ek__stream *s, const ek_plan *plan)
{
    put_grid(s, "layers", plan, plan->layers);
    put_grid(s, "recompute", plan, plan->full);
    put_grid(s, "select_recompute", plan, plan->select);
    put_grid(s, "select_comm_recompute", plan, plan->comm);
}

static void put_memory(ek__stream *s, const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    ek__stream_fixed(s, "peak_mb", ek__layout_peak_mb(plan), 3);
    ek__stream_fixed(s, "limit_mb", m->limit > 0 ? ek__layout_limit_mb(plan) : (double)NAN, 3);
    ek__stream_int(s, "fullest_stage", m->fullest);
    ek__stream_bool(s, "fits", m->fits);
    ek__stream_list(s, "stage_peak_mb", false);
    for (int k = 0; k < m->n_stages; k++)
        ek__stream_fixed(s, NULL, (double)ek__memory_peak(&m->stage[k]) / EK__MB, 3);
    ek__stream_end(s);
}

void ek__layout_put_plan(ek__stream *s, const char *key, const ek_layout_plan *plan, const char *file)
{
    const ek_estimate *e = &plan->estimate;
    ek__stream_object(s, key, true);
    ek__layout_put_degrees(s, &plan->layout);
    ek__stream_real(s, "step_time_s", e->step.seconds);
    ek__stream_real(s, "standard_error_s", ek__layout_known(e->step.standard_error));
    ek__stream_real(s, "lower_bound_s", plan->lower_bound);
    ek__stream_real(s, "tokens_per_second_per_device", e->metrics.tokens_per_second_per_device);
    ek__stream_real(s, "mfu", e->metrics.mfu);
    put_memory(s, plan);
    ek__stream_from(s, "group", plan->group, 0);
    ek__stream_real(s, "group_error_s", plan->group >= 0 ? plan->group_error : (double)NAN);
    ek__stream_int(s, "slowest_stage", e->step.slowest);
    put_parts(s, &e->step);
    put_lists(s, &plan->job.plan);
    ek__stream_text(s, "settings", plan->settings[0] ? plan->settings : NULL);
    ek__stream_text(s, "file", file);
    ek__stream_end(s);
}
