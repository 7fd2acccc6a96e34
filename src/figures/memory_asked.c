/* Optional figures of a prediction of memory: mitigations, saved tensors of a layer, operators worth recomputing, a
 * calibration. */
#include <math.h>
#include <stdio.h>

#include "figures/memory_figures.h"
#include "figures/rows.h"

/* ---- measures ---- */

#define EK__T ek_mitigation
/* On the page a second row shows the use of the room that it makes. */
static bool is_second(const ek_mitigation *it, const ek__owner *of)
{
    return of->parent == it;
}

GETTER(measure, text, is_second(it, of) ? "... and then no more recomputation than memory needs" : it->name);
GETTER(saved, real,
       !it->possible       ? NAN
       : is_second(it, of) ? it->saved_mb + it->after_mb - it->relieved_mb
                           : it->saved_mb);
GETTER(after, real, !it->possible ? NAN : is_second(it, of) ? it->relieved_mb : it->after_mb);
GETTER(change, real, !it->possible ? NAN : is_second(it, of) ? it->relieved_change : it->step_change);
GETTER(fits, number, it->possible && it->fits);
GETTER(fits_word, text,
       !it->possible                                  ? "not possible"
       : is_second(it, of)                            ? "yes"
       : ek__memory_report_of(of)->memory->limit <= 0 ? NULL
       : it->fits                                     ? "yes"
                                                      : "no");
GETTER(why, text, it->possible ? NULL : it->why);
GETTER(setting, text, !it->possible ? it->why : is_second(it, of) ? it->relieved : it->setting[0] ? it->setting : NULL);
GETTER(relieved, text, it->possible && it->relieved[0] ? it->relieved : NULL);
GETTER(relieved_change, real, it->possible ? it->relieved_change : NAN);
GETTER(relieved_mb, real, it->possible ? it->relieved_mb : NAN);
static const ek__member measures[] = {
    {"name", GET(TEXT, measure), "the change, by itself", PAGE(1, "measure", "Change, by itself")},
    {"setting", NAME(setting),
     "to paste: keys of the training file with their sections, or arguments; commas between them"},
    {"possible", FLAG(possible), "false: `why` has the reason"},
    {"why", GET(TEXT, why), "it is not possible; null where it is"},
    {"saved_mb", GET(MB, saved), "of the largest peak", DECIMALS(3), PAGE(2, "saved", "Saves of the fullest stage")},
    {"after_mb", GET(MB, after), "the largest peak with it", DECIMALS(3),
     PAGE(3, "after", "Peak of the fullest stage then", EK__LESS)},
    {"fits", GET(FLAG, fits), "with it, and nothing else changed; true without a limit"},
    {NULL, GET(TEXT, fits_word), NULL, PAGE(4, "fits", "Fits")},
    {"step_change", GET(SHARE, change), "step time with it over today's, minus 1; null when not known", DECIMALS(6),
     PAGE(5, "step", "Step time")},
    {NULL, GET(TEXT, setting), NULL, PAGE(6, "setting", "Setting, or the reason against it")},
    {"relieved", GET(TEXT, relieved),
     "the setting with the lists of the least recomputation that then fits; null where that is no less or was not "
     "looked for"},
    {"relieved_change", GET(SHARE, relieved_change), "`step_change` with these lists too", DECIMALS(6)},
    {"relieved_mb", GET(MB, relieved_mb), "`after_mb` with these lists too", DECIMALS(3)},
};
const ek__fields ek__memory_measure = {FIELDS(measures, "measures[]", "With `--measures`; largest saving first.")};
#undef EK__T

/* ---- saved tensors of a layer ---- */

#define EK__T bool
CONDITION(holds, *it);
COUNTER(n_kinds, EK_N_RECOMPUTE);
GETTER(recompute_word, text, ek_recompute_name[of->number]);
static const ek__member with[] = {{"", GET(TEXT, recompute_word), "a kind of recomputation"}};
static const ek__fields kept_with_kinds = {FIELDS(with, NULL, NULL)};
#undef EK__T

typedef char pattern_text[96];
#define EK__T pattern_text
static const ek__member pattern[] = {{"", EK__KIND_TEXT, .in_place = true, .about = "a pattern"}};
static const ek__fields kept_patterns = {FIELDS(pattern, NULL, NULL)};
#undef EK__T

#define EK__T ek_kept_tensor
static const char *pattern_list(const ek_kept_tensor *t)
{
    return t->pattern_kind == EK_PATTERN_COMM ? "select_comm_recompute" : "select_recompute";
}

/* "4096 x 5120 bf16" */
static void shape_and_type(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_kept_tensor *it = record;
    char shape[128];
    (void)of;
    ek__kept_shape(it, shape, sizeof shape);
    snprintf(text, room, "%s%s%s", shape, it->n_dims > 0 ? " " : "", it->n_dims > 0 ? ek_dtype_name[it->dtype] : "");
}

/* "select, full" */
static void kept_with(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_kept_tensor *it = record;
    size_t used = 0;
    (void)of;
    text[0] = '\0';
    for (int k = EK_RECOMPUTE_SELECT; k < EK_N_RECOMPUTE && used < room; k++)
        if (it->kept[k])
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", ek_recompute_name[k]);
}

/* "select_recompute: feed_forward\.mul with feed_forward\.w1" */
static void removed_by(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_kept_tensor *it = record;
    size_t used = 0;
    (void)of;
    text[0] = '\0';
    for (int i = 0; i < it->n_patterns && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s%s", i ? "" : pattern_list(it), i ? " with " : ": ",
                                 it->pattern[i]);
}

WRITER(kept_name, ek__kept_name(it, text, room));
WRITER(kept_reader, ek__kept_reader(it, text, room));
GETTER(type, text, it->n_dims > 0 ? ek_dtype_name[it->dtype] : NULL);
GETTER(patterns_of, text, it->n_patterns > 0 ? pattern_list(it) : NULL);
GETTER(patterns_save, number, it->n_patterns > 0 ? it->pattern_saves : INT64_MIN);
static const ek__member kept_tensor[] = {
    {NULL, COMPOSE(kept_name), NULL, PAGE(1, "tensor", "Tensor, by its operator")},
    {"name", CHARS(name), "of the tensor"},
    {"made_by", NAME(maker), "path of the operator that makes it; null for the layer's input"},
    {"shape", SHORT_ARRAY(n_dims, dim, ek__list_of_long_integers), "on one rank; empty where it has none"},
    {"type", GET(TEXT, type), "of its elements; null without a shape"},
    {NULL, COMPOSE(shape_and_type), NULL, .not_empty = true, PAGE(3, "shape", "Shape on a rank, type")},
    {"bytes", BYTES(bytes), "for one micro-batch on one rank", PAGE(2, "mb", "Size")},
    {"kept_for", NAME(reader), "path of the first operator it is kept for, or null"},
    {"n_kept_for", COUNT(n_readers), "operators it is kept for"},
    {"for_recompute", FLAG(for_recompute), "true: it is read to make something again, not by a gradient"},
    {"kept_with", EK__KIND_LIST, .fields = &kept_with_kinds, .in_place = true, .at = EK__AT(kept), .count = n_kinds,
     .shown = holds, .about = "kinds of recomputation with which it is still kept"},
    {NULL, COMPOSE(kept_with), NULL, .not_empty = true, PAGE(4, "with", "Still kept with")},
    {NULL, COMPOSE(kept_reader), NULL, .not_empty = true, PAGE(5, "for", "Kept for the gradient of")},
    {NULL, COMPOSE(removed_by), NULL, .not_empty = true, PAGE(6, "pattern", "Removed by")},
    {"patterns", SHORT_ARRAY(n_patterns, pattern, kept_patterns), "which together remove it; empty: none do"},
    {"patterns_of", GET(TEXT, patterns_of),
     "the list they go into, `select_recompute` or `select_comm_recompute`; null without"},
    {"patterns_save_bytes", GET(BYTES, patterns_save),
     "by which a layer then keeps less: fewer than `bytes` where inputs are kept instead; null without",
     PAGE(7, "saves", "That saves")},
};
const ek__fields ek__memory_kept_tensor = {FIELDS(kept_tensor, "kept_tensors[].tensors[]", "Largest first.")};
#undef EK__T

#define EK__T ek_kept
static const ek__member kept_kind[] = {
    {"layer_kind", CHARS(name), "`decoder`, ..."},
    {"bytes", BYTES(bytes), "of all of them, for one micro-batch on one rank, where nothing is recomputed"},
    {"tensors", LIST(n, tensor, ek__memory_kept_tensor), "saved activations of the layer"},
};
const ek__fields ek__memory_kept_kind = {FIELDS(kept_kind, "kept_tensors[]", "With `--tensors`; by kind of layer."),
                                         .lines = true};
#undef EK__T

/* ---- operators worth recomputing ---- */

#define EK__T ek_set_pattern
static const ek__member set_pattern[] = {{"", CHARS(text), "a pattern"}};
static const ek__fields set_patterns = {FIELDS(set_pattern, NULL, NULL)};
CONDITION(is_select, it->kind == EK_PATTERN_SELECT);
CONDITION(is_comm, it->kind == EK_PATTERN_COMM);
CONDITION(is_select_exclude, it->kind == EK_PATTERN_SELECT_EXCLUDE);
CONDITION(is_comm_exclude, it->kind == EK_PATTERN_COMM_EXCLUDE);
#undef EK__T

#define EK__T ek_recompute_set
COUNTER(n_set_kinds, ek__memory_report_of(of)->worth->n_kinds);
static const ek__member set[] = {
    {"kept_mb", MB(kept_mb), "that a layer keeps with it", DECIMALS(3)},
    {"saved_mb", MB(saved_mb), "the same against nothing", DECIMALS(3)},
    {"extra_ms", MS_6(extra_ms), "by which the backward pass is longer"},
    {"saved_mb_per_ms", REAL(saved_mb_per_ms), "MB a ms; null where it takes no time", DECIMALS(3)},
    {"kept_bytes", EK__KIND_LIST, .fields = &ek__list_of_long_integers, .in_place = true, .at = EK__AT(kept),
     .count = n_set_kinds, .about = "bytes that a layer keeps, by kind of layer in the order of `layer_kinds`"},
    {"hull", FLAG(hull), "no mixture of other sets is as good"},
    {"offered", FLAG(offered), "one of the two that with nothing and full come nearest to the hull"},
    {"select_recompute", SHORT_LIST(n_patterns, pattern, set_patterns), "its patterns that go into this list",
     .shown = is_select},
    {"select_comm_recompute", SHORT_LIST(n_patterns, pattern, set_patterns), "likewise", .shown = is_comm},
    {"select_recompute_exclude", SHORT_LIST(n_patterns, pattern, set_patterns), "likewise", .shown = is_select_exclude},
    {"select_comm_recompute_exclude", SHORT_LIST(n_patterns, pattern, set_patterns), "likewise",
     .shown = is_comm_exclude},
};
static const ek__fields sets = {FIELDS(set,
                                       "worth_recomputing.nothing, worth_recomputing.sets[], worth_recomputing.full",
                                       "Of one layer and micro-batch, as the mean of the layers."),
                                .lines = true};
#undef EK__T

#define EK__T ek_set_layers
static const ek__member set_layers[] = {
    {"name", CHARS(name), "`decoder`, `decoder with experts`, `prediction`"},
    {"layers", COUNT(n_layers), "of the model"},
};
static const ek__fields set_kinds = {FIELDS(set_layers, "worth_recomputing.layer_kinds[]", NULL)};
#undef EK__T

#define EK__T ek_recompute_set_list
static const ek__member worth[] = {
    {"proved", FLAG(proved), "false: a set that is faster by up to `gap_ms` may be missing"},
    {"gap_ms", MS_6(gap_ms), "by how much at most; null: not known"},
    {"layer_kinds", ARRAY(n_kinds, kind, set_kinds), "kinds of layers that the figures are of"},
    {"nothing", OBJECT(nothing, sets), "nothing recomputed"},
    {"sets", LIST(n, set, sets), "least time first"},
    {"full", OBJECT(full, sets), "the whole layer recomputed"},
};
const ek__fields ek__memory_worth = {
    FIELDS(worth, "worth_recomputing",
           "With `--tensors` and `--device`: sets of operators that no other beats in memory and time both."),
    .lines = true};
#undef EK__T

/* ---- calibration ---- */

typedef const char *knob_name;
#define EK__T knob_name
GETTER(knob_value, real, ek__memory_report_of(of)->calibration->fit->value[of->number]);
static const ek__member knob[] = {
    {"name", EK__KIND_TEXT, .size = sizeof(knob_name), .about = "of the rule"},
    {"value", GET(REAL, knob_value), "measurements of the fit"},
};
static const ek__fields knobs = {FIELDS(knob, "calibration.knobs[]", NULL)};
#undef EK__T

#define EK__T ek_memory_error
static const char *const error_title[] = {"before calibration", "after it", "each peak from the others",
                                          "on the stages left out"};
GETTER(error_of, text, error_title[of->number]);
PREDICATE(has_error, isfinite(it->mean));
static const ek__member error[] = {
    {NULL, GET(TEXT, error_of), NULL, PAGE(1, "what", "Error of the prediction")},
    {"mean", SHARE(mean), "of absolute values", DECIMALS(6), PAGE(2, "mean", "Mean")},
    {"bias", SHARE(bias), "mean of signed values: above 0 when the prediction is high", DECIMALS(6),
     PAGE(3, "bias", "Bias")},
    {"worst", SHARE(worst), "the largest absolute value", DECIMALS(6), PAGE(4, "worst", "Worst")},
    {"worst_stage", NUMBER(worst_stage), "where that is", PAGE(5, "stage", "Worst stage")},
};
const ek__fields ek__memory_calibration_error = {
    FIELDS(error, "calibration.before, calibration.after, calibration.left_out, calibration.other_stages",
           "Prediction minus measured peak, of the measured one."),
    .known = has_error};
#undef EK__T

#define EK__T ek_memory_peak
GETTER(predicted, real, ek__memory_report_of(of)->calibration->predicted_mb[of->number]);
GETTER(peak_error, real, 100 * (predicted(it, of).real / it->mb - 1));
GETTER(fitted, number, ek__memory_report_of(of)->calibration->fitted[of->number]);
COMPOSER(peak_stage, 32, "stage %d", it->stage);
static const ek__member peak[] = {
    {NULL, COMPOSE(peak_stage), NULL, PAGE(1, "stage", "Stage")},
    {"stage", COUNT(stage), "stage of the peak"},
    {"measured_mb", MB(mb), "its measured peak", DECIMALS(3), PAGE(2, "measured", "Measured")},
    {"predicted_mb", GET(MB, predicted), "by the calibrated model", DECIMALS(3), PAGE(3, "predicted", "Predicted")},
    {NULL, GET(PERCENT, peak_error), NULL, PAGE(4, "error", "Error")},
    {"fitted", GET(FLAG, fitted), "the calibration was fitted to it", PAGE(5, "fitted", "Fitted to")},
};
const ek__fields ek__memory_calibration_peak = {FIELDS(peak, "calibration.peaks[]", NULL)};
#undef EK__T

#define EK__T ek_memory_calibration
GETTER(peak_kind, text, it->actual ? "actual" : "used");
FINDER(first_knob, it->fit->knob);
COUNTER(n_knobs, it->fit->n_knobs);
FINDER(before, &it->fit->before);
FINDER(after_it, &it->fit->after);
FINDER(left_out, &it->fit->left_out);
FINDER(judged, it->judged);
GETTER(contradicting, text, it->contradicted ? it->contradicted->assignment : NULL);
static const ek__member calibration[] = {
    {"peak", GET(TEXT, peak_kind), "kind of the measured peaks: `actual` or `used`"},
    {"knobs", EK__KIND_LIST, .fields = &knobs, .find = first_knob, .count = n_knobs,
     .about = "rules that were fitted, with their values"},
    {"before", FOUND(before, ek__memory_calibration_error), "without a calibration, on the peaks fitted to"},
    {"after", FOUND(after_it, ek__memory_calibration_error), "with it, on the peaks fitted to"},
    {"left_out", FOUND(left_out, ek__memory_calibration_error),
     "each peak predicted from the others; null with too few of them"},
    {"other_stages", FOUND(judged, ek__memory_calibration_error), "on the peaks not fitted to; null where all were"},
    {"rule_instead", GET(TEXT, contradicting),
     "null, or an assumed rule's alternative that predicts the peaks better than the rule by more than half of its "
     "error, as `--rule` takes it"},
    {"peaks", LIST(n_peaks, peak, ek__memory_calibration_peak), "the measured ones, and the prediction"},
};
const ek__fields ek__memory_calibration = {FIELDS(calibration, "calibration", "With `--calibrate`."), .lines = true};
#undef EK__T
