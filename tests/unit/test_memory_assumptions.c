/* Tests the rules that a verdict depends on against brute force: every file is read again with each alternative of each
 * assumed rule, as with `--rule`, and predicted. Limits also lie between the predictions, so that verdicts do change.
 */
#include "effort.h"

#include "evenkeel/memory.h"
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <unistd.h>

/* A rule with another value, by reading the file again. @return the largest peak, MB */
static double peak_with(const char *path, const char *assignment, double limit_mb, bool *fits)
{
    ek_job job;
    ek_memory memory;
    ek_error err;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.rules = &assignment;
    overrides.n_rules = assignment != NULL;
    overrides.limit_mb = limit_mb;
    if (ek_job_read(path, &overrides, NULL, &job, &err) || ek_memory_predict(&job, NULL, &memory, &err))
        fail_msg("%s: %s", path, err.message);
    double mb = (double)memory.stage[memory.fullest].actual_peak / (1 << 20);
    *fits = memory.fits;
    ek_memory_clear(&memory);
    ek_job_clear(&job);
    return mb;
}

static bool is_listed(const ek_memory_assumption *list, int n, const char *rule, const char *other)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].rule, rule) == 0 && strcmp(list[i].other, other) == 0)
            return true;
    return false;
}

/* Every alternative of every assumed rule, one line "name=value" each. @return how many */
static int every_flip(const ek_job *job, char out[][64], int room)
{
    int n = 0;
    for (int i = 0; ek_rule_names[i]; i++) {
        char all[128], value[64];
        snprintf(all, sizeof all, "%s", ek_rule_alternatives[i]);
        ek_rules_get(&job->rules, ek_rule_names[i], value, sizeof value);
        const ek_rules usual = ek_rules_default(job->framework);
        char by_default[64];
        ek_rules_get(&usual, ek_rule_names[i], by_default, sizeof by_default);
        assert_true(!*all || strcmp(ek_rule_basis[i], "assumed") == 0);
        for (char *word = strtok(all, ","); word && strcmp(value, by_default) == 0; word = strtok(NULL, ","))
            if (strcmp(word, value) != 0) {
                assert_true(n < room);
                snprintf(out[n++], 64, "%s=%s", ek_rule_names[i], word);
            }
    }
    return n;
}

static int compare_with_brute_force(const char *path, double limit_mb)
{
    ek_job job;
    ek_memory memory;
    ek_memory_assumption found[EK_MAX_ASSUMPTIONS];
    ek_error err;
    char flips[64][64];
    int n, n_expected = 0;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.limit_mb = limit_mb;
    if (ek_job_read(path, &overrides, NULL, &job, &err) || ek_memory_predict(&job, NULL, &memory, &err) ||
        ek_memory_assumptions(&job, &memory, found, &n, &err))
        fail_msg("%s: %s", path, err.message);
    int n_flips = every_flip(&job, flips, 64);
    for (int i = 0; i < n_flips; i++) {
        bool fits;
        char *equals = strchr(flips[i], '=');
        peak_with(path, flips[i], limit_mb, &fits);
        *equals = '\0';
        n_expected += fits != memory.fits;
        if ((fits != memory.fits) != is_listed(found, n, flips[i], equals + 1))
            fail_msg("%s, limit %.0f MB: %s=%s %s", path, limit_mb, flips[i], equals + 1,
                     fits != memory.fits ? "changes the verdict and is not told" : "is told and changes nothing");
    }
    assert_int_equal(n, n_expected);
    for (int i = 0; i < n; i++) {
        assert_true(found[i].fits != memory.fits);
        assert_true(found[i].fits ? found[i].mb > (double)memory.limit / (1 << 20)
                                  : found[i].other_mb > (double)memory.limit / (1 << 20));
    }
    ek_memory_clear(&memory);
    ek_job_clear(&job);
    return n;
}

/* Limits: the file's own, and 3 % to either side of the predicted peak. */
static int compare_file(const char *path)
{
    bool fits;
    ek_job job;
    ek_error err;
    if (ek_job_read(path, NULL, NULL, &job, &err))
        return 0; /* for an unknown key of its reader: other tests cover that */
    ek_job_clear(&job);
    double peak = peak_with(path, NULL, 0, &fits);
    return compare_with_brute_force(path, 0) + compare_with_brute_force(path, 0.97 * peak) +
           compare_with_brute_force(path, 1.03 * peak);
}

static bool is_job(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strstr(name, "_init") == NULL && strstr(name, "_manual") == NULL &&
           strncmp(name, "stand_in", 8) != 0 && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".sh") == 0);
}

static int compare_folder(const char *folder, int *n_told)
{
    char path[4096];
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!is_job(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (n++ % effort(1, 5) == 0)
            *n_told += compare_file(path);
    }
    closedir(dir);
    return n;
}

static void examples_tell_what_brute_force_finds(void **state)
{
    (void)state;
    char folder[4096];
    int told = 0;
    snprintf(folder, sizeof folder, "%s", source_path("examples"));
    assert_true(compare_folder(folder, &told) >= 8);
    assert_true(told > effort(10, -1));
}

static void files_of_public_models_tell_what_brute_force_finds(void **state)
{
    (void)state;
    int told = 0;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    assert_true(compare_folder(folder, &told) >= 11);
    assert_true(told > effort(5, -1));
}

static void reference_files_tell_what_brute_force_finds(void **state)
{
    (void)state;
    int told = 0;
    assert_true(compare_folder(need_shared("reference/configs"), &told) >= 25);
    assert_true(told > effort(25, -1));
}

static const char example[] = "examples/llama2_13b_1_dp8.yaml";

static int found_with(const char *rule, double limit_mb, ek_memory_assumption found[EK_MAX_ASSUMPTIONS])
{
    ek_job job;
    ek_memory memory;
    ek_error err;
    int n = 0;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.rules = &rule;
    overrides.n_rules = rule != NULL;
    overrides.limit_mb = limit_mb;
    if (ek_job_read(source_path(example), &overrides, NULL, &job, &err) ||
        ek_memory_predict(&job, NULL, &memory, &err) || ek_memory_assumptions(&job, &memory, found, &n, &err))
        fail_msg("%s", err.message);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
    return n;
}

static void a_verdict_within_reach_of_a_rule_names_it_with_both_peaks(void **state)
{
    (void)state;
    ek_memory_assumption found[EK_MAX_ASSUMPTIONS];
    bool fits;
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path(example));
    assert_int_equal(found_with(NULL, 51200, found), 1);
    assert_string_equal(found[0].rule, "weight_gather");
    assert_string_equal(found[0].value, "step");
    assert_string_equal(found[0].other, "layer");
    assert_true(found[0].fits);
    assert_int_equal(found[0].stage, 0);
    assert_true(found[0].mb == peak_with(path, NULL, 51200, &fits) && !fits);
    assert_true(found[0].other_mb == peak_with(path, "weight_gather=layer", 51200, &fits) && fits);
}

static void a_rule_that_the_user_set_is_assumed_no_more(void **state)
{
    (void)state;
    ek_memory_assumption found[EK_MAX_ASSUMPTIONS];
    assert_int_equal(found_with("weight_gather=step", 51200, found), 0);
}

static void without_a_limit_there_is_no_verdict_to_change(void **state)
{
    (void)state;
    ek_job job;
    ek_memory memory;
    ek_error err;
    ek_memory_assumption found[EK_MAX_ASSUMPTIONS];
    int n = -1;
    if (ek_job_read(source_path("examples/megatron_13b.sh"), NULL, NULL, &job, &err))
        fail_msg("%s", err.message);
    job.limit_mb = 0;
    if (ek_memory_predict(&job, NULL, &memory, &err) || ek_memory_assumptions(&job, &memory, found, &n, &err))
        fail_msg("%s", err.message);
    assert_int_equal(n, 0);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_within_reach_of_a_rule_names_it_with_both_peaks),
        cmocka_unit_test(a_rule_that_the_user_set_is_assumed_no_more),
        cmocka_unit_test(without_a_limit_there_is_no_verdict_to_change),
        cmocka_unit_test(examples_tell_what_brute_force_finds),
        cmocka_unit_test(files_of_public_models_tell_what_brute_force_finds),
        cmocka_unit_test(reference_files_tell_what_brute_force_finds),
    };
    return cmocka_run_group_tests_name("memory assumptions", tests, NULL, NULL);
}
