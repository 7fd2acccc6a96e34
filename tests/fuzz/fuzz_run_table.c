/* Fuzzes tables of measured runs: a wrong input is refused with a message; a run that counts has a job that its
 * framework runs, devices and a step. Tables that name job files are left out: any file could be meant, and fuzz_job
 * reads those. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/calibrate.h"
#include "fuzz.h"

static void check(const ek_measured_runs *runs)
{
    for (int i = 0; i < runs->n; i++) {
        const ek_measured_run *run = &runs->run[i];
        assert(run->has_job || run->why[0] != '\0');
        if (!ek_measured_run_counts(run))
            continue;
        ek_error err;
        assert(ek_job_check(&run->job, &err) == EK_OK);
        assert(run->n_devices >= 1 && isfinite(run->step_seconds));
        assert(run->name[0] != '\0' && run->group[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_measured_runs runs;
    ek_error err = {0};
    char *text = calloc(size + 1, 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    size_t header = strcspn(text, "\r\n");
    bool names_files = false;
    for (size_t i = 0; i + 3 <= header; i++)
        names_files = names_files || ((text[i] | 32) == 'j' && (text[i + 1] | 32) == 'o' && (text[i + 2] | 32) == 'b');
    if (!names_files && ek_run_table_parse("table.csv", text, size, NULL, &runs, &err) == EK_OK) {
        check(&runs);
        ek_measured_runs_clear(&runs);
    } else {
        assert(names_files || err.message[0] != '\0');
    }
    free(text);
    return 0;
}
