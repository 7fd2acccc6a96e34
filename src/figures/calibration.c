/* Figures of a calibration: sources, errors, constants, runs; results of profiles, link tests and tables of kernels;
 * the measurements to make next. */
#include <math.h>

#include "evenkeel/job.h"
#include "figures/calibration_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

#define EK__R ek_calibration

static const ek_calibration *calibration_of(const ek__owner *of)
{
    return of->result;
}

#define EK__T struct ek_calibration_source
static const ek__member source[] = {
    {"path", CHARS(path), "the file or folder"},
    {"kind", WORD(kind, ek__source_kind_name),
     "`measured runs`, `measured kernels`, `rates`, `link test`, `training log`, `job`, `profile`"},
    {"n", COUNT(n), "rows, times, steps, or operators and collectives"},
};
static const ek__fields sources = {FIELDS(source, "sources[]", NULL)};
#undef EK__T

/* ---- errors ---- */

const char *const ek__error_row_title[EK__N_ERROR_ROWS] = {
    "start, the fitted runs", "fit", "leave one out", "leave group out", "start, runs kept back", "runs kept back"};

const ek_calibration_error *ek__calibration_error_row(const ek_calibration *c, int row)
{
    const ek_calibration_error *of[EK__N_ERROR_ROWS] = {&c->before,          &c->fit,         &c->leave_one_out,
                                                        &c->leave_group_out, &c->held_before, &c->held};
    return of[row];
}

static const ek_calibration_error *error_there(const ek_calibration *c, int row)
{
    const ek_calibration_error *e = ek__calibration_error_row(c, row);
    return e->n > 0 ? e : NULL;
}

ITEMS(error_row, EK__N_ERROR_ROWS, error_there(r, i));

#define EK__T ek_calibration_error
GETTER(error_title, text, ek__error_row_title[of->number]);
GETTER(mean, real, it->n > 0 ? it->mean : (double)NAN);
GETTER(median, real, it->n > 0 ? it->median : (double)NAN);
GETTER(worst, real, it->n > 0 ? it->worst : (double)NAN);
GETTER(bias, real, it->n > 0 ? it->bias : (double)NAN);
static const ek__member error[] = {
    {NULL, GET(TEXT, error_title), NULL, PAGE(1, "what", "Predictions")},
    {"n", COUNT(n), "runs", PAGE(2, "runs", "Runs")},
    {"mean", GET(SHARE, mean), "of the absolute values of predicted / measured - 1",
     PAGE(3, "mean", "Mean error", EK__LESS)},
    {"median", GET(SHARE, median), "of the same", PAGE(4, "median", "Median", EK__LESS)},
    {"worst", GET(SHARE, worst), "the largest of them", PAGE(5, "worst", "Worst", EK__LESS)},
    {"bias", GET(SHARE, bias), "mean of predicted / measured - 1", PAGE(6, "bias", "Bias")},
};
static const ek__fields error_of_runs = {
    FIELDS(error, "errors.NAME", "Of the step time; null where there are no such runs.")};
#undef EK__T

#define EK__T ek_calibration
static const ek__member errors[] = {
    {"start", OBJECT(before, error_of_runs), "of the start, on the fitted runs"},
    {"fit", OBJECT(fit, error_of_runs), "of the result, on the same"},
    {"leave_one_out", OBJECT(leave_one_out, error_of_runs), "with each run left out of the fit"},
    {"leave_group_out", OBJECT(leave_group_out, error_of_runs), "with each group left out of the fit"},
    {"kept_back_start", OBJECT(held_before, error_of_runs), "of the start, on the runs kept back"},
    {"kept_back", OBJECT(held, error_of_runs), "of the result, on the same"},
};
static const ek__fields all_errors = {FIELDS(errors, "errors", NULL), .lines = true};
#undef EK__T

/* ---- constants ---- */

const char *const ek__fit_state_title[EK_N_FIT_STATES] = {"determined", "fixed at the bound of its range",
                                                          "narrowed by less than a fifth, left at the start",
                                                          "without effect on any run, left at the start"};

#define EK__T ek_calibrated_constant
GETTER(standard_error, real, it->state == EK_FIT_DETERMINED ? it->error : (double)NAN);
static const ek__member constant[] = {
    {"name", CHARS(name), "as `src/cost/constants.c` calls it", PAGE(1, "constant", "Constant")},
    {"unit", TEXT(unit), "null: a share", PAGE(5, "unit", "Unit"), .not_empty = true},
    {"state", WORD(state, ek__fit_state_name), "`determined`, `at_bound`, `wide`, `no_effect`"},
    {NULL, WORD(state, ek__fit_state_title), NULL, PAGE(6, "state", "Value from the runs")},
    {"start", REAL(start), "start value of the fit", PAGE(2, "start", "Start")},
    {"value", REAL(value), "the result", PAGE(3, "value", "Value")},
    {"standard_error", GET(REAL, standard_error), "of the value, in its unit; null where it is not determined",
     PAGE(4, "error", "Standard error")},
};
static const ek__fields constants = {FIELDS(constant, "constants[]", NULL)};
#undef EK__T

/* By state, the determined ones first. */
static const ek_calibrated_constant *constant_there(const ek_calibration *c, int i)
{
    const ek_calibrated_constant *k = &c->constant[i % c->n_constants];
    return (int)k->state == i / c->n_constants ? k : NULL;
}

static int n_constant_rows(const ek_calibration *c)
{
    return EK_N_FIT_STATES * c->n_constants;
}

ITEMS(constant_row, n_constant_rows(r), constant_there(r, i));

/* ---- profiles ---- */

#define EK__T ek_calibrated_profile
COUNTER(n_kinds, EK_N_KERNEL_KINDS);
CONDITION(has_shapes, it->n_shapes[of->number] > 0);
GETTER(kind, text, ek_kernel_name[of->number]);
GETTER(n_shapes, number, it->n_shapes[of->number]);
GETTER(curve_fitted, number, it->fitted[of->number]);
GETTER(start_error, real, it->start_error[of->number]);
static const ek__member shape[] = {
    {"kind", GET(TEXT, kind), "of kernel, as in [device files](device-files.md)"},
    {"n", GET(COUNT, n_shapes), "shapes that were measured"},
    {"curve_fitted", GET(FLAG, curve_fitted), "enough of them for the kind's curve"},
    {"start_error", GET(SHARE, start_error),
     "of the start on them: median of the absolute values of predicted / measured - 1"},
};
static const ek__fields shapes = {FIELDS_BY_NUMBER(shape, "profiles[].shapes[]", NULL)};

GETTER(note_text, text, it->note[of->number]);
static const ek__member note[] = {{"", GET(TEXT, note_text), "a sentence"}};
static const ek__fields notes = {FIELDS_BY_NUMBER(note, NULL, NULL)};
static int notes_of(const ek_calibrated_profile *p)
{
    int n = 0;
    while (n < EK_N_PROFILE_NOTES && p->note[n][0])
        n++;
    return n;
}

COUNTER(n_notes, notes_of(it));
GETTER(causal_assumed, number, it->n_causal_assumed);
GETTER(layout_assumed, number, it->n_layout_assumed);
GETTER(launches, number, it->n_intervals);
GETTER(launch, text, isnan(it->launch_us) ? NULL : ek_launch_name[it->launch]);
static const ek__member profile[] = {
    {"path", CHARS(path), "the first of its sources"},
    {"ranks", COUNT(n_ranks), "of the run that it has"},
    {"operators", BY_WORD(COUNT, n_operators, ek__profile_left_name, EK_N_PROFILE_LEFT),
     "executions by outcome: `taken`; `no_shapes`: shapes not known; `other`: work does not follow from the shapes; "
     "`unclear` shapes or types; `no_peak` of their type; `packed` sequences; `too_fast`: beyond the data sheet"},
    {"shapes", NUMBERED(n_kinds, shapes), "that were measured, by kind of kernel", .shown = has_shapes},
    {"causal_assumed", GET(COUNT, causal_assumed), "executions of attention that a causal mask is assumed for"},
    {"layout_assumed", GET(COUNT, layout_assumed), "products that forward is assumed for"},
    {"collectives", BY_WORD(COUNT, n_collectives, ek__profile_collective_name, EK_N_PROFILE_COLLECTIVES),
     "by outcome: `whole`: waiting is known; `shortest`: of each size the shortest was taken; `unsized`: without a "
     "size or group; `unplaced`: their ranks' nodes are not known; `too_few` of their size; `unmodelled` kinds"},
    {"link_times", COUNT(n_link_times), "of collectives for the fit of links"},
    {"launches", GET(COUNT, launches), "between launches of one thread"},
    {"launch_us", REAL(launch_us), "their median, microseconds; null: not known"},
    {"launch", GET(TEXT, launch), "the way to launch that it is of: `eager`, `compiled`, `graph`; null likewise"},
    {"launch_used", FLAG(launch_used), "it is now the device's"},
    {"step_s", SECONDS(step_seconds), "the step; null: not known"},
    {"step_used", FLAG(step_used), "as a measured run of the job next to it"},
    {"notes", NUMBERED(n_notes, notes), "missing input and the way to get it"},
};
static const ek__fields profiles = {FIELDS(profile, "profiles[]", "A run each."), .lines = true};
#undef EK__T

/* ---- links and kernels ---- */

#define EK__T ek_calibrated_link
GETTER(tier, text, calibration_of(of)->device.tier[it->tier].name);
static const ek__member link[] = {
    {"tier", GET(TEXT, tier), "of the device"},
    {"collective", WORD(what, ek__collective_name), "`all_reduce`, `all_gather`, ..."},
    {"n", COUNT(n), "times"},
    {"share", SHARE(share), "of the tier's rate that large messages reach"},
    {"start_us", REAL(start_us), "additional time of a collective, microseconds"},
    {"median_error", SHARE(median_error), "of the absolute values of predicted / measured - 1"},
};
static const ek__fields links = {FIELDS(link, "links[]", "Points from link tests and profiles.")};
#undef EK__T

#define EK__T ek_kernel_fit
CONDITION(has_kernels, it->n > 0);
static const ek__member kernel[] = {
    {"kind", GET(TEXT, kind), "as in [device files](device-files.md)"},
    {"n", COUNT(n), "shapes"},
    {"median_error", SHARE(median), "of the fitted curve: of the absolute values of predicted / measured - 1"},
    {"worst_error", SHARE(worst), "the largest of them"},
    {"determined", FLAG(determined), "no constant of the curve ended at its bound"},
};
static const ek__fields kernels = {FIELDS(kernel, "kernels[]", "Points from tables of kernels and profiles.")};
#undef EK__T

/* Kernels by kind, then links: the existing ones. */
#define EK__T  ek_calibration
#define KERNEL (&it->kernels[of->number])
#define LINK   (&it->link[of->number - EK_N_KERNEL_KINDS])
static bool is_kernel(const ek__owner *of)
{
    return of->number < EK_N_KERNEL_KINDS;
}

ITEMS(measured_row, EK_N_KERNEL_KINDS + r->n_links,
      !is_kernel(of) || (r->has_kernels && r->kernels[i].n > 0) ? r : NULL);
COMPOSER(measured_what, 96, "%s, %s", is_kernel(of) ? "kernels" : it->device.tier[LINK->tier].name,
         is_kernel(of) ? ek_kernel_name[of->number] : ek_collective_name[LINK->what]);
GETTER(measured_n, number, is_kernel(of) ? KERNEL->n : LINK->n);
GETTER(measured_error, real, is_kernel(of) ? KERNEL->median : LINK->median_error);
GETTER(measured_share, real, is_kernel(of) ? (double)NAN : LINK->share);
GETTER(measured_start, real, is_kernel(of) ? (double)NAN : 1e3 * LINK->start_us);
static const ek__member measured[] = {
    {NULL, COMPOSE(measured_what), NULL, PAGE(1, "what", "Measured by itself")},
    {NULL, GET(COUNT, measured_n), NULL, PAGE(2, "times", "Times or shapes")},
    {NULL, GET(SHARE, measured_error), NULL, PAGE(3, "median", "Median error of the fit")},
    {NULL, GET(SHARE, measured_share), NULL, PAGE(4, "share", "Share of the rate")},
    {NULL, GET(MEAN, measured_start), NULL, PAGE(5, "start", "Start")},
};
static const ek__fields all_measured = {FIELDS_BY_NUMBER(measured, NULL, NULL)};

/* ---- layers and the measurements to make next ---- */

GETTER(layer_width, real, it->n_layers > 0 ? it->layer_width : (double)NAN);
GETTER(layer_lambda, real, it->n_layers > 0 ? it->layer_lambda : (double)NAN);
static const ek__member layer[] = {
    {"rows", COUNT(n_layers), "0: there is none"},
    {"width", GET(REAL, layer_width), "of the covariance, in powers of e of sizes"},
    {"lambda", GET(REAL, layer_lambda), "how much values are shrunken"},
};
static const ek__fields layers = {FIELDS(layer, "layers", "The [table of layers](#layers).")};
#undef EK__T

#define EK__T ek_proposed_run
static const ek__member proposed[] = {
    {"layout", CHARS(what), "to measure"},
    {"from", CHARS(from), "the measured layout that it is made of"},
    {"change", CHARS(change), "by these settings of its framework"},
    {"predicted_s", SECONDS(seconds), "its step"},
    {"standard_error", REAL(expected), "of the prediction's logarithm"},
    {"new_cell", FLAG(new_cell), "its layers are unlike any that were measured"},
    {"candidate_error_after", REAL(after), "`candidate_error` once this and those before are measured"},
};
static const ek__fields all_proposed = {FIELDS(proposed, "next_runs[]", NULL)};
#undef EK__T

/* ---- runs ---- */

#define EK__T ek_calibrated_run
static bool is_left(const ek_calibrated_run *run)
{
    return !run->used && !run->held;
}

/* Predicted over measured, minus 1. */
static double off(double predicted, double seconds, bool known)
{
    return known ? predicted / seconds - 1 : (double)NAN;
}

static const char *const use_name[] = {"left_out", "kept_back", "fitted"};
static const char *const use_title[] = {"left out", "kept back", "fitted"};
static int use_of(const ek_calibrated_run *run)
{
    return run->used ? 2 : run->held ? 1 : 0;
}

GETTER(use, text, use_name[use_of(it)]);
GETTER(use_words, text, use_title[use_of(it)]);
GETTER(why, text, is_left(it) ? it->why : NULL);
GETTER(run_error, real, off(it->after, it->measured, !is_left(it)));
GETTER(group_error, real, off(it->group_out, it->measured, it->used));
GETTER(weight, real, it->used ? it->weight : (double)NAN);
COMPOSER(place, 300, it->line > 0 ? "%s:%d" : "%s", it->file, it->line);
static const ek__member run[] = {
    {"name", CHARS(name), "for people", CSV(3), PAGE(1, "run", "Run")},
    {"group", CHARS(group), "its model, of one shape, and its layout", CSV(4)},
    {"file", CHARS(file), "where it is from", CSV(1)},
    {"line", SIZE(line), "of the file; null: a log as a whole", CSV(2)},
    {NULL, COMPOSE(place), NULL, PAGE(9, "where", "Position")},
    {"use", GET(TEXT, use), "`fitted`, `kept_back`, `left_out`", CSV(5)},
    {NULL, GET(TEXT, use_words), NULL, PAGE(2, "use", "Use")},
    {"why", GET(TEXT, why), "it is left out; null where it is not", CSV(12), PAGE(10, "why", "Why it is left out"),
     .not_empty = true},
    {"measured_s", SECONDS(measured), "its step", CSV(6), PAGE(3, "measured", "Measured")},
    {"start_s", SECONDS(before), "predicted by the start", CSV(7), PAGE(4, "start", "Start")},
    {"predicted_s", SECONDS(after), "by the result", CSV(8), PAGE(5, "predicted", "Predicted")},
    {NULL, GET(SHARE, run_error), NULL, PAGE(6, "error", "Error")},
    {"left_out_s", SECONDS(left_out), "by a fit without the run", CSV(9)},
    {"group_left_out_s", SECONDS(group_out), "by a fit without its group", CSV(10),
     PAGE(7, "group_out", "Group left out")},
    {NULL, GET(SHARE, group_error), NULL, PAGE(8, "group_error", "Error, group left out")},
    {"weight", GET(REAL, weight), "in the fit, below 1 for one that is off; null where it is not fitted", CSV(11)},
};
static const ek__fields runs = {FIELDS(run, "runs[]", "Every row of the sources.")};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_calibration
GETTER(met_error, real, it->n_used > 0 ? it->met_error : (double)NAN);
GETTER(new_error, real, it->n_used > 0 ? it->new_error : (double)NAN);
GETTER(noise, real, it->n_used > 0 ? it->noise : (double)NAN);
GETTER(candidate_error, real, it->n_candidates > 0 ? it->candidate_error : (double)NAN);
FINDER(first_kernels, it->kernels);
COUNTER(n_kernels, it->has_kernels ? EK_N_KERNEL_KINDS : 0);
static const ek__member calibration[] = {
    {"device", CHARS(device.name), "name of the result"},
    {"start", CHARS(start), "name of the device that the fit starts from"},
    {"sources", LIST(n_sources, source, sources), "sources"},
    {"fitted", COUNT(n_used), "runs that are fitted"},
    {"groups", COUNT(n_groups), "of the fitted runs"},
    {"kept_back", COUNT(n_held), "runs to judge by"},
    {"left_out", COUNT(n_left), "runs that are neither"},
    {"errors", HERE(all_errors), "of predictions of the runs"},
    {"met_error", GET(REAL, met_error), "standard error of a step's logarithm to expect of layers that were met"},
    {"new_error", GET(REAL, new_error), "the same of a new cell"},
    {"noise", GET(REAL, noise), "standard deviation of a run's logarithm, the constants being known"},
    {"constants", LIST(n_constants, constant, constants), "outcome of each"},
    {"profiles", LIST(n_profiles, profile, profiles), "points from profiles"},
    {"links", ARRAY(n_links, link, links), "fits to times of collectives"},
    {"kernels", FOUND_LIST(first_kernels, n_kernels, kernels), "fits to times of kernels", .shown = has_kernels},
    {"layers", HERE(layers), "time of layers outside their kernels"},
    {"candidates", COUNT(n_candidates), "examined layouts that were not measured"},
    {"candidate_error", GET(REAL, candidate_error),
     "root mean square of their standard errors, before any of them is measured; null without"},
    {"next_runs", ARRAY(n_proposed, proposed, all_proposed), "the most useful first"},
    {"runs", LIST(n_runs, run, runs), "measured and predicted"},
};
static const ek__fields fields = {FIELDS(calibration, NULL, NULL), .lines = true};
#undef EK__T

const ek__rows ek__calibration_table[] = {
    [EK__CALIBRATION_ERRORS] = {NULL, "calibration", "sums", "Errors of the step", .fields = &error_of_runs,
                                RESULT_ITEMS(error_row)},
    [EK__CALIBRATION_RUNS] = {"runs", "calibration", "runs", "Runs", .fields = &runs, RESULT_LIST(n_runs, run)},
    [EK__CALIBRATION_CONSTANTS] = {NULL, "calibration", "constants", "Constants", .fields = &constants,
                                   RESULT_ITEMS(constant_row)},
    [EK__CALIBRATION_MEASURED] = {NULL, "calibration", "measured", "Kernels and links", .fields = &all_measured,
                                  RESULT_ITEMS(measured_row)},
};

static const ek__rows *next_rows(const ek__rows *last)
{
    return ek__next_of(ek__calibration_table, EK__N_CALIBRATION_TABLES, last);
}

const ek__result ek__result_calibration = {"calibration", "calibrate.md", &fields, next_rows, NULL};
