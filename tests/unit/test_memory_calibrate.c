/* Tests calibration: the parameters that generated peaks are recovered as far as the widths allow, errors are those of
 * a refit, and the published peaks of a 175B run are predicted from four of its stages. */
#include "memory_model.h"

#include <math.h>

#include "base/random.h"

static void make_peaks(const ek_job *job, bool actual, ek_memory_peak *peaks)
{
    ek_memory memory = predicted(job);
    for (int s = 0; s < memory.n_stages; s++) {
        int64_t bytes = actual ? memory.stage[s].actual_peak : memory.stage[s].used_peak;
        peaks[s] = (ek_memory_peak){s, (double)bytes * 0x1p-20, {0}};
    }
    ek_memory_clear(&memory);
}

static ek_memory_fit_result calibrated(const ek_job *job, const ek_memory_peak *peaks, int n, bool actual)
{
    ek_memory_fit_result fit;
    ek_error err = {0};
    if (ek_memory_calibrate(job, peaks, n, actual, &fit, &err))
        fail_msg("%s", err.message);
    return fit;
}

static void peaks_as_predicted_change_nothing(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    read_model(&job);
    job.rules.allocation = EK_ALLOCATION_BLOCKS;
    for (int actual = 0; actual < 2; actual++) {
        make_peaks(&job, actual, peaks);
        ek_memory_fit_result fit = calibrated(&job, peaks, 4, actual);
        assert_int_equal(fit.n_knobs, 0);
        assert_true(fit.before.worst == 0 && fit.after.worst == 0);
        assert_memory_equal(&fit.rules.constant_mb, &job.rules.constant_mb, sizeof(double));
    }
    ek_job_clear(&job);
}

static ek_memory_contradiction contradicted(const ek_job *job, const ek_memory_peak *peaks, int n, bool actual)
{
    ek_memory_contradiction out;
    ek_error err = {0};
    if (ek_memory_contradicted(job, peaks, n, actual, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

/* Peaks made with an assignment; is it, or one that predicts the same, found where it matters? */
static bool is_found(const ek_job *job, const char *assignment, bool actual)
{
    ek_memory_peak peaks[2], usual[2], again[2];
    ek_error err = {0};
    ek_job other = *job;
    double off = 0;
    if (ek_rules_set(&other.rules, assignment, &err))
        fail_msg("%s", err.message);
    make_peaks(job, actual, usual);
    make_peaks(&other, actual, peaks);
    for (int i = 0; i < 2; i++)
        off += fabs(usual[i].mb / peaks[i].mb - 1) / 2;
    ek_memory_contradiction found = contradicted(job, peaks, 2, actual);
    if ((found.rule != NULL) != (off > 0.02))
        fail_msg("%s: off by %g, found %s", assignment, off, found.rule ? found.assignment : "nothing");
    if (!found.rule)
        return false;
    assert_true(fabs(found.error - off) < 1e-12 && found.other_error == 0);
    other = *job;
    assert_int_equal(ek_rules_set(&other.rules, found.assignment, &err), EK_OK);
    make_peaks(&other, actual, again);
    assert_true(again[0].mb == peaks[0].mb && again[1].mb == peaks[1].mb);
    return true;
}

/* Peaks that the job makes with one assumed rule at another value: that value, or one that predicts the same, is found.
 * Peaks of the job itself, off by 3 %, contradict nothing. */
static void a_rule_that_peaks_contradict_is_found(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak usual[2];
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_error why = {0};
    int n_found = 0;
    if (ek_job_read(source_path("examples/llama2_13b_2_pp2.yaml"), &overrides, NULL, &job, &why))
        fail_msg("%s", why.message);
    make_peaks(&job, false, usual);
    for (int rule = 0; ek_rule_names[rule]; rule++)
        for (const char *at = ek_rule_alternatives[rule]; *at; at += strcspn(at, ","), at += *at == ',') {
            char assignment[128];
            snprintf(assignment, sizeof assignment, "%s=%.*s", ek_rule_names[rule], (int)strcspn(at, ","), at);
            n_found += is_found(&job, assignment, false);
            n_found += is_found(&job, assignment, true);
        }
    assert_true(n_found > 1);
    for (int i = 0; i < 2; i++)
        usual[i].mb *= 1.03;
    assert_null(contradicted(&job, usual, 2, false).rule);
    ek_job_clear(&job);
}

/* Peaks in whole blocks are predicted within half a block by adding half a block. */
static void calibration_does_not_round_to_blocks(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    read_model(&job);
    job.rules.allocation = EK_ALLOCATION_WHOLE;
    make_peaks(&job, true, peaks);
    ek_memory_fit_result fit = calibrated(&job, peaks, 4, true);
    assert_true(fit.before.worst == 0);
    assert_true(fit.rules.block_bytes == 512 && fabs(fit.rules.constant_mb - 512) < 400);
    job.rules = fit.rules;
    ek_memory memory = predicted(&job);
    for (int i = 0; i < 4; i++)
        assert_true(fabs((double)memory.stage[peaks[i].stage].actual_peak * 0x1p-20 - peaks[i].mb) < 800);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

static void knobs_that_made_the_peaks_are_found(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    read_model(&job);
    job.rules.constant_mb = 400;
    make_peaks(&job, false, peaks);
    job.rules.constant_mb = 0;
    ek_memory_fit_result fit = calibrated(&job, peaks, 4, false);
    assert_int_equal(fit.n_knobs, 1);
    assert_string_equal(fit.knob[0], "constant_mb");
    assert_true(fabs(fit.value[0] - 400) < 60 && fit.value[0] == fit.rules.constant_mb);
    assert_true(fit.after.mean < fit.before.mean / 5 && fit.after.worst < 0.005);
    ek_job_clear(&job);
}

/* Activations 3 % above the derived ones are off by three times their expected error: a constant takes most of that. */
static void a_constant_stands_in_for_what_is_unlikely(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    read_model(&job);
    job.rules.activation_scale = 1.03;
    make_peaks(&job, false, peaks);
    job.rules.activation_scale = 1;
    ek_memory_fit_result fit = calibrated(&job, peaks, 4, false);
    assert_true(fit.n_knobs >= 1 && fit.rules.constant_mb > 0);
    assert_true(fit.after.mean < fit.before.mean / 2 && fit.left_out.mean < fit.before.mean);
    ek_job_clear(&job);
}

/* With one peak and one knob the fit is r w^2 / (w^2 + s^2), w 300 MB, s 1 % of the peak. */
static void one_peak_is_shrunk_towards_the_model(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    read_model(&job);
    make_peaks(&job, false, peaks);
    ek_memory_peak one = {1, peaks[1].mb + 300, {0}};
    ek_memory_fit_result fit = calibrated(&job, &one, 1, false);
    double s = 0.01 * one.mb, w = 300;
    if (fit.n_knobs == 1)
        assert_true(fabs(fit.value[0] - 300 * w * w / (w * w + s * s)) < 1);
    assert_true(fit.n_knobs >= 1 && fit.rules.constant_mb > 0 && fit.rules.constant_mb < 300);
    assert_true(fit.rules.activation_scale >= 1 && fit.rules.activation_scale < 1.03);
    assert_true(isnan(fit.left_out.mean));
    ek_job_clear(&job);
}

/* The mean error of each of 4 peaks by a fit to the others; -1 where such a fit takes another number of knobs, since
 * then it is another model. */
static double mean_left_out(ek_job *job, const ek_memory_peak *peaks, int n_knobs)
{
    double mean = 0;
    for (int i = 0; i < 4; i++) {
        ek_memory_peak others[3];
        for (int k = 0, n = 0; k < 4; k++)
            if (k != i)
                others[n++] = peaks[k];
        ek_memory_fit_result without = calibrated(job, others, 3, false);
        if (without.n_knobs != n_knobs)
            return -1;
        ek_rules rules = job->rules;
        job->rules = without.rules;
        ek_memory memory = predicted(job);
        mean += ek_memory_compare(&memory, &peaks[i], 1, false).mean / 4;
        ek_memory_clear(&memory);
        job->rules = rules;
    }
    return mean;
}

/* Noise on top of a constant: the leave-one-out errors equal those of real refits. */
static void errors_of_leaving_out_are_those_of_a_refit(void **state)
{
    (void)state;
    ek_job job;
    ek_memory_peak peaks[4];
    ek__random random = ek__random_seed(7);
    int n_compared = 0;
    read_model(&job);
    for (int round = 0; round < 40; round++) {
        make_peaks(&job, false, peaks);
        for (int i = 0; i < 4; i++)
            peaks[i].mb += 800 + 200 * (ek__random_unit(&random) - 0.5);
        ek_memory_fit_result fit = calibrated(&job, peaks, 4, false);
        double mean = mean_left_out(&job, peaks, fit.n_knobs);
        if (mean < 0 || isnan(fit.left_out.mean))
            continue;
        n_compared++;
        if (fabs(fit.left_out.mean - mean) > 0.05 * mean + 1e-4)
            fail_msg("%d knobs: %g by the formula, %g by refits", fit.n_knobs, fit.left_out.mean, mean);
    }
    assert_true(n_compared >= 3);
    ek_job_clear(&job);
}

static void errors_are_relative_to_the_measured(void **state)
{
    (void)state;
    ek_memory_stage stage[2] = {{.used_peak = INT64_C(110) << 20, .actual_peak = INT64_C(100) << 20},
                                {.used_peak = INT64_C(80) << 20, .actual_peak = INT64_C(100) << 20}};
    const ek_memory memory = {.n_stages = 2, .stage = stage};
    const ek_memory_peak peaks[2] = {{0, 100, {0}}, {1, 100, {0}}};
    ek_memory_error e = ek_memory_compare(&memory, peaks, 2, false);
    assert_true(fabs(e.mean - 0.15) < 1e-12 && fabs(e.worst - 0.2) < 1e-12 && fabs(e.bias + 0.05) < 1e-12);
    assert_int_equal(e.worst_stage, 1);
    assert_true(ek_memory_compare(&memory, peaks, 2, true).worst == 0);
}

static void peaks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        ek_memory_peak peak;
        int n;
        const char *says;
    } cases[] = {
        {{0, 1000, {0}}, 0, "no peaks"}, {{4, 1000, {0}}, 1, "stage 4"}, {{-1, 1000, {0}}, 1, "stage -1"},
        {{0, 0, {0}}, 1, "positive"},    {{0, NAN, {0}}, 1, "positive"}, {{0, 1e12, {0}}, 1, "positive"},
    };
    ek_job job;
    read_model(&job);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_memory_fit_result fit = {.n_knobs = 77};
        ek_error err = {0};
        assert_int_equal(ek_memory_calibrate(&job, &cases[i].peak, cases[i].n, true, &fit, &err), EK_ERR_INPUT);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_int_equal(fit.n_knobs, 77);
    }
    ek_job_clear(&job);
}

/* ---- the published 175B run ---- */

static const double measured[16] = {96643, 60854, 27620, 54533, 100631, 31713, 38874, 146986,
                                    31713, 24553, 24553, 28484, 45016,  33763, 20463, 23531};

/* Error on the stages that were not fitted to. */
static ek_memory_error judge(ek_job *job, const int chosen[4], double *fitted_mean)
{
    ek_memory_peak peaks[4], others[16];
    int n = 0;
    for (int i = 0; i < 4; i++)
        peaks[i] = (ek_memory_peak){chosen[i], measured[chosen[i]], {0}};
    for (int s = 0; s < 16; s++)
        if (s != chosen[0] && s != chosen[1] && s != chosen[2] && s != chosen[3])
            others[n++] = (ek_memory_peak){s, measured[s], {0}};
    ek_rules rules = job->rules;
    ek_memory_fit_result fit = calibrated(job, peaks, 4, true);
    *fitted_mean = fit.after.mean;
    job->rules = fit.rules;
    ek_memory memory = predicted(job);
    ek_memory_error error = ek_memory_compare(&memory, others, n, true);
    ek_memory_clear(&memory);
    job->rules = rules;
    return error;
}

/* Choices of four stages, tested on the other twelve: sensible ones are within 1.5 % in the mean and 3 % in the worst
 * stage, and so are most of all 1820, of which every 13th is tried here. When this was written 92 % of them did; the
 * worst of all was 1.9 % in the mean and 3.7 % in one stage. */
static void four_stages_of_the_175b_run_tell_the_others(void **state)
{
    (void)state;
    static const int named[][4] = {{0, 5, 10, 15}, {0, 4, 8, 12}, {0, 1, 2, 3}, {12, 13, 14, 15}, {1, 6, 11, 14}};
    ek_job job;
    ek_error err = {0};
    if (ek_job_read(source_path("tests/data/published/reference/configs/llama_175b_dryrun.yaml"), NULL, NULL, &job,
                    &err))
        fail_msg("%s", err.message);
    double fitted;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        ek_memory_error e = judge(&job, named[i], &fitted);
        if (e.mean > 0.015 || e.worst > 0.03 || fitted > 0.03)
            fail_msg("stages %d %d %d %d: mean %.2f %%, worst %.2f %% (stage %d)", named[i][0], named[i][1],
                     named[i][2], named[i][3], 100 * e.mean, 100 * e.worst, e.worst_stage);
    }
    int index = 0, tried = 0, good = 0, c[4];
    for (c[0] = 0; c[0] < 16; c[0]++)
        for (c[1] = c[0] + 1; c[1] < 16; c[1]++)
            for (c[2] = c[1] + 1; c[2] < 16; c[2]++)
                for (c[3] = c[2] + 1; c[3] < 16; c[3]++)
                    if (index++ % 13 == 0) {
                        ek_memory_error e = judge(&job, c, &fitted);
                        tried++;
                        good += e.mean <= 0.015 && e.worst <= 0.03;
                        assert_true(e.mean < 0.025 && e.worst < 0.045);
                    }
    assert_int_equal(tried, 140);
    if (good < 120)
        fail_msg("%d of %d choices", good, tried);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_as_predicted_change_nothing),
        cmocka_unit_test(calibration_does_not_round_to_blocks),
        cmocka_unit_test(a_rule_that_peaks_contradict_is_found),
        cmocka_unit_test(knobs_that_made_the_peaks_are_found),
        cmocka_unit_test(a_constant_stands_in_for_what_is_unlikely),
        cmocka_unit_test(one_peak_is_shrunk_towards_the_model),
        cmocka_unit_test(errors_of_leaving_out_are_those_of_a_refit),
        cmocka_unit_test(errors_are_relative_to_the_measured),
        cmocka_unit_test(peaks_that_cannot_be_are_refused),
        cmocka_unit_test(four_stages_of_the_175b_run_tell_the_others),
    };
    return cmocka_run_group_tests_name("memory calibration", tests, NULL, NULL);
}
