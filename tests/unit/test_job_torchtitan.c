/* The reader of torchtitan's TOML: TOML as a document, every key of a job, what is refused and where, and published
 * runs whose memory is predicted. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "../../bench/measured_torchtitan.h"
#include "base/doc_toml.h"
#include "base/error.h"
#include "base/random.h"

static void the_published_runs_are_read_and_predicted(void **state)
{
    (void)state;
    measured_torchtitan_rows rows;
    ek_error err = {0};
    if (measured_torchtitan_read(getenv("EK_SHARED"), &rows, &err))
        fail_msg("%s", err.message);
    if (rows.n == 0) {
        print_message("SKIP: the table of published runs is not there\n");
        skip();
    }
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rows.n; i++) {
        ek_job job;
        ek_memory memory;
        if (measured_torchtitan_job(&rows.row[i], &job, &err))
            fail_msg("%s: %s:%d: %s\n%s", rows.row[i].name, err.file, err.line, err.message, rows.row[i].toml);
        assert_int_equal(job.parallel.data * job.parallel.tensor * job.parallel.pipeline * job.parallel.context,
                         rows.row[i].devices);
        if (rows.row[i].mem_gib > 0) {
            if (ek_memory_predict(&job, NULL, &memory, &err))
                fail_msg("%s: %s", rows.row[i].name, err.message);
            double gib = (double)memory.stage[memory.fullest].actual_peak / 1073741824.0;
            double used = (double)memory.stage[memory.fullest].used_peak / 1073741824.0;
            double error = gib / rows.row[i].mem_gib - 1;
            print_message("# %-95s measured %6.2f GiB, predicted %6.2f (used %6.2f): %+.1f %%\n", rows.row[i].name,
                          rows.row[i].mem_gib, gib, used, 100 * error);
            const ek_memory_stage *s = &memory.stage[memory.fullest];
            for (int k = 0; k < EK_N_MEMORY_PARTS; k++)
                print_message("#    %s %.2f", ek_memory_part_name[k], (double)s->part[k] / 1073741824.0);
            print_message("\n");
            sum += fabs(error);
            n++;
            ek_memory_clear(&memory);
        }
        ek_job_clear(&job);
    }
    print_message("# mean error of %d rows: %.1f %%\n", n, 100 * sum / n);
    measured_torchtitan_clear(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_runs_are_read_and_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
