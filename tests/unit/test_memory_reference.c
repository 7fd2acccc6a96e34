/* Tests predictions against published figures, in tables of tests/data/published that name their sources, and against
 * the limits of published training files. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "../../bench/measured.h"
#include "evenkeel/memory.h"

static measured_rows rows;

static int read_rows(void **state)
{
    (void)state;
    ek_error err;
    if (measured_read(source_path("tests/data/published"), &rows, &err))
        fail_msg("%s:%d: %s", err.file, err.line, err.message);
    return 0;
}

static int clear_rows(void **state)
{
    (void)state;
    measured_clear(&rows);
    return 0;
}

static double predict(const measured_row *row)
{
    ek_memory memory;
    ek_error err;
    if (ek_memory_predict(&row->job, NULL, &memory, &err))
        fail_msg("%s: %s", row->name, err.message);
    double mb = measured_predicted(row, &memory);
    ek_memory_clear(&memory);
    return mb;
}

static void the_published_dry_run_is_predicted_stage_by_stage(void **state)
{
    (void)state;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rows.n; i++) {
        if (rows.row[i].table != MEASURED_SAPP)
            continue;
        double error = predict(&rows.row[i]) / rows.row[i].mb - 1;
        if (!(fabs(error) <= 0.0334))
            fail_msg("%s: %+.2f %%", rows.row[i].name, 100 * error);
        sum += fabs(error);
        n++;
    }
    assert_int_equal(n, 16);
    if (!(sum / n <= 0.0114))
        fail_msg("mean error %.2f %%", 100 * sum / n);
}

static void dry_runs_and_real_runs_are_within_five_percent(void **state)
{
    (void)state;
    int n = 0;
    for (int i = 0; i < rows.n; i++) {
        if (rows.row[i].table != MEASURED_PAIRS)
            continue;
        double error = predict(&rows.row[i]) / rows.row[i].mb - 1;
        if (!(fabs(error) <= 0.05))
            fail_msg("%s, %s: %+.1f %%", rows.row[i].name, rows.row[i].actual ? "with fragments" : "live", 100 * error);
        n++;
    }
    assert_int_equal(n, 8);
}

/* The published rows want live bytes within 1 % in the mean and 2 % at the worst, and reserved ones within 2.5 %; these
 * limits are met with a margin, which is tested too. */
static void peaks_on_b200_are_predicted_allocated_and_reserved(void **state)
{
    (void)state;
    double sum[2] = {0}, worst[2] = {0};
    int n[2] = {0};
    for (int i = 0; i < rows.n; i++) {
        const measured_row *row = &rows.row[i];
        if (row->table != MEASURED_SIMUMAX)
            continue;
        double error = fabs(predict(row) / row->mb - 1);
        sum[row->actual] += error;
        worst[row->actual] = fmax(worst[row->actual], error);
        n[row->actual]++;
    }
    assert_int_equal(n[false], 31);
    assert_int_equal(n[true], 22);
    if (!(sum[false] / n[false] <= 0.005 && worst[false] <= 0.0125))
        fail_msg("allocated: mean %.2f %%, worst %.2f %%", 100 * sum[false] / n[false], 100 * worst[false]);
    if (!(sum[true] / n[true] <= 0.0075 && worst[true] <= 0.04))
        fail_msg("reserved: mean %.2f %%, worst %.2f %%", 100 * sum[true] / n[true], 100 * worst[true]);
}

static void dense_models_are_within_five_percent_in_the_mean(void **state)
{
    (void)state;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rows.n; i++)
        if (rows.row[i].kind == MEASURED_DENSE) {
            sum += fabs(predict(&rows.row[i]) / rows.row[i].mb - 1);
            n++;
        }
    assert_true(n > 40);
    if (!(sum / n <= 0.05))
        fail_msg("mean error %.2f %% of %d rows", 100 * sum / n, n);
}

static void four_stages_calibrate_the_other_twelve(void **state)
{
    (void)state;
    ek_memory_peak fitted[4], others[12];
    int n_fitted = 0, n_others = 0;
    const ek_job *published = NULL;
    for (int i = 0; i < rows.n; i++) {
        const measured_row *row = &rows.row[i];
        if (row->table != MEASURED_SAPP)
            continue;
        published = &row->job;
        ek_memory_peak peak = {.stage = row->stage, .mb = row->mb};
        if (row->stage % 5 == 0)
            fitted[n_fitted++] = peak;
        else
            others[n_others++] = peak;
    }
    assert_int_equal(n_fitted, 4);
    assert_int_equal(n_others, 12);
    ek_error err;
    ek_memory_fit_result fit;
    ek_memory memory;
    ek_job job;
    if (ek_memory_calibrate(published, fitted, n_fitted, true, &fit, &err) || ek_job_copy(published, &job, &err))
        fail_msg("%s", err.message);
    job.rules = fit.rules;
    if (ek_memory_predict(&job, NULL, &memory, &err))
        fail_msg("%s", err.message);
    ek_memory_error error = ek_memory_compare(&memory, others, n_others, true);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
    if (!(error.mean <= 0.015 && error.worst <= 0.03))
        fail_msg("mean %.2f %%, worst %.2f %% (stage %d)", 100 * error.mean, 100 * error.worst, error.worst_stage);
}

typedef struct judged {
    int n_read, n_refused, n_over;
} judged;

/* The files of a folder: refused for a key, or predicted and compared with their own limit. */
static judged judge_folder(const char *folder)
{
    char path[4352];
    judged of = {0};
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        const char *dot = strrchr(entry->d_name, '.');
        /* The dry run of the seed has a plan that fits no device. */
        if (!dot || strcmp(dot, ".yaml") != 0 || strncmp(entry->d_name, "llama_175b", 10) == 0)
            continue;
        ek_job job;
        ek_memory memory;
        ek_error err;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (ek_job_read(path, NULL, NULL, &job, &err)) {
            of.n_refused++;
            if (err.line < 1 || !strstr(err.message, "model_config"))
                fail_msg("%s:%d: %s", entry->d_name, err.line, err.message);
            continue;
        }
        of.n_read++;
        if (ek_memory_predict(&job, NULL, &memory, &err))
            fail_msg("%s: %s", entry->d_name, err.message);
        if (!memory.fits || memory.limit <= 0) {
            of.n_over++;
            print_message("%s: stage %d holds %.0f of %.0f MB\n", entry->d_name, memory.fullest,
                          (double)memory.stage[memory.fullest].actual_peak / (1 << 20),
                          (double)memory.limit / (1 << 20));
        }
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
    closedir(dir);
    return of;
}

/* Does the job fit a limit in MB? */
static bool fits(const ek_job *job, double limit_mb)
{
    ek_job copy;
    ek_memory memory;
    ek_error err;
    if (ek_job_copy(job, &copy, &err))
        fail_msg("%s", err.message);
    copy.limit_mb = limit_mb;
    if (ek_memory_predict(&copy, NULL, &memory, &err))
        fail_msg("%s", err.message);
    bool answer = memory.fits;
    ek_memory_clear(&memory);
    ek_job_clear(&copy);
    return answer;
}

/* Own layouts of public models: the verdict on each file's limit is that of its fullest stage. A limit equal to the
 * allocator's memory is enough, whatever the file's limit; a limit below the used memory is not. */
static void every_own_file_fits_what_it_takes_and_not_less_than_it_uses(void **state)
{
    (void)state;
    static const char *const name[] = {"glm4_9b",      "llama2_13b",  "llama2_70b",  "llama2_7b",  "llama3_70b",
                                       "mixtral_8x7b", "qwen2_5_14b", "qwen2_5_72b", "qwen2_5_7b", "qwen3_32b"};
    int n_over = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char file[128];
        ek_job job;
        ek_memory memory;
        ek_error err;
        snprintf(file, sizeof file, "tests/data/published/reference/configs/%s.yaml", name[i]);
        if (ek_job_read(source_path(file), NULL, NULL, &job, &err) || ek_memory_predict(&job, NULL, &memory, &err))
            fail_msg("%s: %s", name[i], err.message);
        double taken = 0, used = 0;
        for (int s = 0; s < memory.n_stages; s++) {
            taken = fmax(taken, (double)memory.stage[s].actual_peak / (1 << 20));
            used = fmax(used, (double)memory.stage[s].used_peak / (1 << 20));
        }
        assert_true(0 < used && used <= taken && job.limit_mb == 58 * 1024);
        assert_int_equal(memory.fits, taken <= job.limit_mb);
        n_over += !memory.fits;
        assert_true(fits(&job, ceil(taken)));
        assert_false(fits(&job, floor(used) - 1));
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
    assert_in_range(n_over, 1, 9);
}

static void every_shipped_file_fits_its_own_limit_or_is_refused_for_a_key(void **state)
{
    (void)state;
    judged of = judge_folder(need_shared("reference/configs"));
    assert_int_equal(of.n_read, 28);
    assert_int_equal(of.n_refused, 1);
    assert_int_equal(of.n_over, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_dry_run_is_predicted_stage_by_stage),
        cmocka_unit_test(dry_runs_and_real_runs_are_within_five_percent),
        cmocka_unit_test(peaks_on_b200_are_predicted_allocated_and_reserved),
        cmocka_unit_test(dense_models_are_within_five_percent_in_the_mean),
        cmocka_unit_test(four_stages_calibrate_the_other_twelve),
        cmocka_unit_test(every_own_file_fits_what_it_takes_and_not_less_than_it_uses),
        cmocka_unit_test(every_shipped_file_fits_its_own_limit_or_is_refused_for_a_key),
    };
    return cmocka_run_group_tests_name("memory reference", tests, read_rows, clear_rows);
}
