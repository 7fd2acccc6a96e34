/* Tables of measured runs: what each column does to the job, every error, and the published tables. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "evenkeel/calibrate.h"
#include "evenkeel/metrics.h"

/* ---- the published tables ---- */

static const struct {
    const char *file;
    int rows, jobs, counted; /* rows; with a job; of these measured and not suspect */
} published[] = {
    {"korthikanti_tab5.csv", 8, 8, 8},        {"vtrain_a100_sample150.csv", 150, 150, 150},
    {"vtrain_a100_multi33.csv", 33, 33, 33},  {"megatron_sc21_table1_from_memory.csv", 10, 10, 10},
    {"simumax_b200.csv", 22, 22, 22},         {"internevo_a100.csv", 32, 32, 26},
    {"mpt_fsdp.csv", 100, 100, 100},          {"nemo_h100_b200.csv", 14, 10, 10},
    {"torchtitan_h100_h200.csv", 16, 16, 16}, {"mindformers_throughput.csv", 68, 56, 53},
    {"llama2_13b_tuning_case.csv", 6, 0, 0},
};

static void published_tables_are_read(void **state)
{
    (void)state;
    char path[1024];
    const char *shared = getenv("EK_SHARED");
    bool wrong = false;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        ek_measured_runs runs;
        ek_error err = {0};
        snprintf(path, sizeof path, "%s/reference/measured/%s", shared ? shared : "", published[i].file);
        if (access(path, R_OK) != 0)
            skip();
        if (ek_run_table_read(path, NULL, &runs, &err) != EK_OK)
            fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
        int jobs = 0, counted = 0;
        for (int k = 0; k < runs.n; k++) {
            const ek_measured_run *run = &runs.run[k];
            jobs += run->has_job;
            counted += ek_measured_run_counts(run);
            if (!run->has_job)
                print_message("%s:%d: %s\n", published[i].file, run->origin.line, run->why);
            double all, active;
            if (run->has_job && !isnan(run->parameters)) {
                assert_int_equal(ek_job_count_parameters(&run->job, &all, &active, NULL), EK_OK);
                if (fabs(all / run->parameters - 1) > 0.02)
                    print_message("%s:%d: parameters %g, said %g\n", published[i].file, run->origin.line, all,
                                  run->parameters);
            }
        }
        print_message("%s %d %d %d\n", published[i].file, runs.n, jobs, counted);
        wrong = wrong || runs.n != published[i].rows || jobs != published[i].jobs || counted != published[i].counted;
        ek_measured_runs_clear(&runs);
    }
    assert_false(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_tables_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
