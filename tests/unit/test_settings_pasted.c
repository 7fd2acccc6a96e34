/* Tests advice by applying it: each setting that a measure prints is pasted into the file of its job, and the resulting
 * file must be one that the framework runs, with the peak and the step of the measure. For every shipped configuration,
 * those of the tests, and published ones where available. */
#include "effort.h"
#include "made_configs.h"
#include "paste.h"

#include <math.h>

#include "diagnose/predicted.h"

/* ---- figures ---- */

/* One that has the framework's hardware. */
static const ek_device *device_of(const ek_job *job)
{
    bool other = job->framework == EK_TORCHTITAN || job->framework == EK_MEGATRON;
    const ek_device *found = ek_device_find(other ? "A100" : "910B");
    assert_non_null(found);
    return found;
}

static double step_of(const ek_job *job)
{
    ek_step step;
    if (ek_cost_step(job, device_of(job), NULL, &step, NULL))
        return NAN;
    double seconds = step.seconds;
    ek_step_clear(&step);
    return seconds;
}

static bool is_near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(1, fabs(a));
}

/* Figures that are said of a setting, and those of the file with it. @return whether they agree */
static bool compare(const char *path, const ek_job_overrides *overrides, const char *what, const char *setting,
                    double said_mb, double today, double said_change)
{
    ek_job job;
    paste_result how = read_pasted(path, setting, overrides, &job);
    if (how != PASTED)
        return how == PASTED_NOT;
    double mb = paste_peak_mb(&job), change = step_of(&job) / today - 1;
    ek_job_clear(&job);
    if (is_near(mb, said_mb) && is_near(change, said_change))
        return true;
    print_message("# %s, %s: said %.3f MB and %+.9f, pasted %.3f MB and %+.9f\n#   %s\n", path, what, said_mb,
                  said_change, mb, change, setting);
    return false;
}

/* Limits of the fullest stage's peak: as the file has it, one that recomputation has to keep, one with room. */
static double limit_of(const char *path, const ek_job_overrides *overrides, int k)
{
    static const double share[] = {0, 0.8, 2};
    ek_job job;
    if (share[k] == 0 || ek_job_read(path, overrides, NULL, &job, NULL))
        return 0;
    double mb = floor(share[k] * paste_peak_mb(&job));
    ek_job_clear(&job);
    return mb;
}

static ek_job_overrides overrides_of(const char *path)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    if (paste_ends_with(path, ".json")) { /* only numbers */
        overrides.data = 16;
        overrides.pipeline = 2;
        overrides.tensor = 2;
        overrides.batch = 2;
        overrides.n_micro_batches = 8;
    }
    return overrides;
}

static void a_measure_is_what_its_setting_is(void **state)
{
    static ek_mitigation list[EK_MAX_MEASURES];
    int n_tried = 0, n_relieved = 0, n_wrong = 0;
    (void)state;
    for (int c = 0; c < n_configs; c += effort(1, 9))
        for (int k = c % 3; k < 3; k += 2) { /* one or two of the limits each */
            ek_job_overrides overrides = overrides_of(config[c]);
            ek_error err = {0};
            ek_job job;
            int n;
            overrides.limit_mb = limit_of(config[c], &overrides, k);
            if (ek_job_read(config[c], &overrides, NULL, &job, &err)) {
                if (strstr(config[c], "made_"))
                    fail_msg("%s: %s", config[c], err.message);
                continue;
            }
            double today = step_of(&job);
            assert_int_equal(ek_memory_mitigations(&job, device_of(&job), list, &n, &err), EK_OK);
            for (int i = 0; i < n; i++) {
                const ek_mitigation *m = &list[i];
                if (!m->possible)
                    continue;
                n_tried++;
                n_wrong += !compare(config[c], &overrides, m->name, m->setting, m->after_mb, today, m->step_change);
                if (!m->relieved[0])
                    continue;
                n_relieved++;
                n_wrong += !compare(config[c], &overrides, "and less recomputation", m->relieved, m->relieved_mb, today,
                                    m->relieved_change);
            }
            ek_job_clear(&job);
        }
    print_message("# %d settings, %d with less recomputation\n", n_tried, n_relieved);
    assert_true(n_tried > effort(200, 10) && n_relieved > effort(10, 0));
    assert_int_equal(n_wrong, 0);
}

/* Measures one after the other: all settings in the order in which they are printed. */
static void measures_that_make_a_job_fit_are_what_their_settings_are(void **state)
{
    static ek_mitigation list[EK_MAX_MEASURES];
    static char all[EK_MAX_MEASURES * sizeof list[0].setting];
    int n_tried = 0, n_wrong = 0;
    (void)state;
    for (int c = 0; c < n_configs; c += effort(1, 9)) {
        ek_job_overrides overrides = overrides_of(config[c]);
        ek_error err = {0};
        ek_job job;
        int n;
        overrides.limit_mb = limit_of(config[c], &overrides, 1) / 2;
        if (ek_job_read(config[c], &overrides, NULL, &job, &err))
            continue;
        double today = step_of(&job);
        assert_int_equal(ek_memory_measures_to_fit(&job, device_of(&job), list, &n, &err), EK_OK);
        ek_job_clear(&job);
        size_t used = 0;
        for (int i = 0; i < n; i++)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? "\n" : "", list[i].setting);
        if (n > 0)
            n_wrong += !compare(config[c], &overrides, "all measures", all, list[n - 1].after_mb, today,
                                list[n - 1].step_change);
        n_tried += n > 1;
    }
    print_message("# %d chains\n", n_tried);
    assert_true(n_tried > effort(5, 0));
    assert_int_equal(n_wrong, 0);
}

/* The remedies of diagnose for a part of the predicted step. */
static void a_remedy_is_what_its_setting_is(void **state)
{
    int n_tried = 0, n_wrong = 0;
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job_overrides overrides = overrides_of(config[c]);
        ek_job job;
        if (ek_job_read(config[c], &overrides, NULL, &job, NULL))
            continue;
        double today = step_of(&job);
        for (const ek__remedy *r = ek__remedies; r->change_job; r++) {
            char setting[EK__REMEDY_SETTING];
            ek_job with;
            bool applies;
            assert_int_equal(ek_job_copy(&job, &with, NULL), EK_OK);
            assert_int_equal(ek__remedy_apply(r, device_of(&job), &with, setting, &applies, NULL), EK_OK);
            if (applies && ek_job_check(&with, NULL) == EK_OK) {
                n_wrong += !compare(config[c], &overrides, "a remedy", setting, paste_peak_mb(&with), today,
                                    step_of(&with) / today - 1);
                n_tried++;
            }
            ek_job_clear(&with);
        }
        ek_job_clear(&job);
    }
    print_message("# %d remedies\n", n_tried);
    assert_true(n_tried > 50);
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measure_is_what_its_setting_is),
        cmocka_unit_test(measures_that_make_a_job_fit_are_what_their_settings_are),
        cmocka_unit_test(a_remedy_is_what_its_setting_is),
        cmocka_unit_test(configurations_of_others_are_among_them),
    };
    return cmocka_run_group_tests_name("settings pasted", tests, list_all, remove_top);
}
