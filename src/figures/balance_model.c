/* Figures of a model's layers, and of the dry run that their memory is from. */
#include <math.h>

#include "evenkeel/layers.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

/* ---- recompute kinds ---- */

#define EK__T bool
GETTER(kind_name, text, ek_recompute_name[of->number]);
static const ek__member kinds[] = {{"", GET(TEXT, kind_name), "a recompute kind"}};
const ek__fields ek__kinds_list = {FIELDS(kinds, NULL, NULL)};

bool ek__kind_is_set(const void *record, const ek__owner *of)
{
    (void)of;
    return *(const bool *)record;
}

int ek__kind_count(const void *record, const ek__owner *of)
{
    (void)record;
    (void)of;
    return EK_N_RECOMPUTE;
}
#undef EK__T

/* ---- layers ---- */

#define EK__T ek_layer
GETTER(activation, real, it->modelled[of->number] ? it->activation_mb[of->number] : NAN);
GETTER(backward, real, it->modelled[of->number] ? it->backward_time[of->number] : NAN);
static const ek__member held[] = {
    {"parameter_mb", MB(parameter_mb), "one body layer: weights, gradients, optimizer"},
    {"activation_mb", GET_BY_WORD(MB, activation, ek__recompute_name, EK_N_RECOMPUTE),
     "MB, one body layer and one micro-batch, by recompute kind (`none`, `select`, `comm`, `both`, `full`); null: not "
     "modelled, so no plan uses it"},
};
static const ek__fields all_held = {FIELDS(held, NULL, NULL)};
static const ek__member layer[] = {
    {"name", CHARS(name), "of the kind of layer"},
    {"n_layers", COUNT(n_layers), "how many of them follow one another"},
    {NULL, MORE(all_held), NULL},
    {"forward_time", TIME(forward_time), "of one layer and micro-batch"},
    {"backward_time", GET_BY_WORD(TIME, backward, ek__recompute_name, EK_N_RECOMPUTE),
     "times by recompute kind, including recomputation; null: not modelled"},
};
static const ek__fields bodies = {FIELDS(layer, "memory_model.body[]", NULL)};
#undef EK__T

/* ---- the dry run ---- */

#define EK__T ek_residual
static const ek__member residual[] = {
    {"round", COUNT(round), "of the dry run"},
    {"stage", COUNT(stage), "of the dry run"},
    {"measured_mb", MB(measured_mb), "the only measured figure of the answer"},
    {"predicted_mb", MB(predicted_mb), "by the layers' figures; as the original: before the cut"},
};
static const ek__fields residuals = {FIELDS(residual, "memory_model.residuals[]", NULL)};
GETTER(difference, real, it->measured_mb - it->predicted_mb);
static const ek__member differences[] = {{"", GET(REAL, difference), "MB"}};
static const ek__fields all_differences = {FIELDS(differences, NULL, NULL)};
#undef EK__T

#define EK__T ek_layers
FINDER(first_body, it->body);
GETTER(const_modelled, number, it->fit.n_residuals > 0 ? it->fit.const_modelled : -1);
GETTER(head, real, it->head.parameter_mb + it->head.activation_mb[EK_RECOMPUTE_NONE]);
GETTER(tail, real, it->tail.parameter_mb + it->tail.activation_mb[EK_RECOMPUTE_NONE]);
CONDITION(is_fitted, it->fit.n_residuals > 0);
static const ek__member model[] = {
    {NULL, FOUND_PARTS(first_body, all_held), NULL},
    {"const_mb", MB(const_mb), "on every stage"},
    {"const_modelled", GET(FLAG, const_modelled),
     "false: too few stages to determine the constant part; null: no dry run"},
    {"head_mb", GET(MB, head), "extra on the first stage"},
    {"tail_mb", GET(MB, tail), "extra on the last stage"},
    {"condition", REAL(fit.condition),
     "2-norm condition number of the system solved; large means that small errors in the peaks move the figures a lot; "
     "null: no dry run",
     KNOWN(is_fitted), .positive = true},
    {"residual_mb", SHORT_LIST(fit.n_residuals, fit.residual, all_differences),
     "MB, measured - predicted of each given middle stage, in file order; as the original: before the cut"},
    {"residuals", SHORT_LIST(fit.n_residuals, fit.residual, residuals), "the same in full"},
    {"body", SHORT_LIST(n_body, body, bodies),
     "every kind of body layer in model order; `parameter_mb` and `activation_mb` next to it are those of the first"},
};
const ek__fields ek__model_fields = {FIELDS(
    model, "memory_model",
    "From the dry run's decomposition, rounded to 1e-6 MB (`--sapp-compatible`: cut to whole MB); or as the layer "
    "file states them, and then `condition` is null and the residuals are empty.")};
#undef EK__T
