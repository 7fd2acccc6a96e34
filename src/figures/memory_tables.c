/* The tables of a prediction of memory, on the page and as comma-separated values: which structs have rows. */
#include <math.h>

#include "figures/memory_figures.h"
#include "figures/rows.h"

#define EK__R ek_memory_report

/* Every stage has as many places for tensors. */
static const ek_memory_tensor *top_of(const ek_memory_stage *stage, int i)
{
    return i < stage->n_top ? &stage->top[i] : NULL;
}

/* Every measure has two rows: with its second one it is its own parent. */
static const ek_mitigation *measure_row(const ek_mitigation *m, bool second, ek__owner *of)
{
    of->parent = second ? m : NULL;
    return second && (!m->possible || !m->relieved[0]) ? NULL : m;
}

static const ek_memory_error *error_of(const ek_memory_calibration *c, int i)
{
    const ek_memory_error *const error[] = {&c->fit->before, &c->fit->after, &c->fit->left_out, c->judged};
    return error[i] && isfinite(error[i]->mean) ? error[i] : NULL;
}

/* A rule that changes nothing in the job has no row. */
static const char *const *rule_of(const ek_job *job, int i)
{
    const char *const *name = &ek_rule_names[i];
    bool changed = ek__rule_value_of(&job->rules, job->framework, *name).changed;
    return changed || ek__rule_matters(job, *name) ? name : NULL;
}

ITEMS(stages, r->memory->n_stages, &r->memory->stage[i]);
ITEMS(tensors, r->memory->n_stages *EK_N_TOP, top_of(&r->memory->stage[i / EK_N_TOP], i % EK_N_TOP));
ITEMS(measures, r->measure ? 2 * r->n_measures : 0, measure_row(&r->measure[i / 2], i % 2 == 1, of));
ITEMS(peaks, r->calibration ? r->calibration->n_peaks : 0, &r->calibration->peak[i]);
ITEMS(errors, r->calibration ? 4 : 0, error_of(r->calibration, i));
ITEMS(rules, ek_rule_names[i] ? i + 1 : i, rule_of(r->job, i));
ITEMS(layers, r->memory->n_layer_kinds *EK_N_RECOMPUTE, &r->memory->layer_kind[i / EK_N_RECOMPUTE]);
ITEMS(times, r->n_times *EK_N_RECOMPUTE, &r->time[i / EK_N_RECOMPUTE]);
ITEMS(cells, r->job->plan.n_chunks * r->job->plan.n_stages, &r->job->plan.layers[i]);
#undef EK__R

#define EK__R ek_kept
const ek__rows ek__memory_table[EK__N_MEMORY_TABLES] = {
    [EK__MEMORY_STAGES] = {"stages", "memory", "stages", "The peak of every stage, part by part",
                           .fields = &ek__memory_stage, RESULT_ITEMS(stages)},
    [EK__MEMORY_TENSORS] = {NULL, "memory", "tensors", "Largest tensors alive at the peak of each stage",
                            .fields = &ek__memory_top, RESULT_ITEMS(tensors)},
    [EK__MEMORY_MEASURES] = {NULL, "memory", "measures", "What each measure alone would bring",
                             .fields = &ek__memory_measure, RESULT_ITEMS(measures)},
    [EK__MEMORY_KEPT] = {NULL, "memory", "kept", "What one layer keeps where nothing is recomputed",
                         .fields = &ek__memory_kept_tensor, RESULT_LIST(n, tensor), .sort = 1},
    [EK__MEMORY_PEAKS] = {NULL, "memory", "calibration", "Calibration to measured peaks",
                          .fields = &ek__memory_calibration_peak, RESULT_ITEMS(peaks)},
    [EK__MEMORY_ERRORS] = {NULL, "memory", "errors", "How well the calibrated model does",
                           .fields = &ek__memory_calibration_error, RESULT_ITEMS(errors)},
    [EK__MEMORY_RULES] = {NULL, "memory", "rules", "Rules of the framework that the prediction goes by",
                          .fields = &ek__memory_rule, RESULT_ITEMS(rules)},
    [EK__MEMORY_LAYERS] = {NULL, "layers", "layers", "What one layer holds", .fields = &ek__memory_layer,
                           RESULT_ITEMS(layers)},
    [EK__MEMORY_TIMES] = {NULL, "layers", "times", "Times of one layer and micro-batch", .fields = &ek__memory_times,
                          RESULT_ITEMS(times)},
    [EK__MEMORY_PLAN] = {NULL, "plan", "plan", "Layers of every stage by what they recompute",
                         .fields = &ek__memory_cell, RESULT_ITEMS(cells), .most = EK_MAX_STAGES * EK_MAX_CHUNKS},
};
