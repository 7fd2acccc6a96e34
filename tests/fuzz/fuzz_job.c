/* Fuzzes a training job: a job that is read passes the check of jobs, its lists are within its layers, and it equals
 * its copy, also with degrees of the command line. A refusal has a message. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/job.h"
#include "fuzz.h"

static void check_patterns(const ek_job *job)
{
    int n = job->plan.n_stages * job->plan.n_chunks;
    for (int i = 0; i < job->n_patterns; i++)
        for (int c = 0; c < n; c++)
            assert(job->pattern[i].layers[c] >= 0 && job->pattern[i].layers[c] <= job->plan.layers[c]);
}

static void check_copy(const ek_job *job)
{
    ek_job copy;
    ek_error err;
    assert(ek_job_copy(job, &copy, &err) == EK_OK);
    assert(ek_job_check(&copy, &err) == EK_OK);
    assert(copy.n_patterns == job->n_patterns && memcmp(&copy.model, &job->model, sizeof copy.model) == 0);
    ek_job_clear(&copy);
}

static void read_with(const char *path, const ek_job_overrides *overrides)
{
    ek_job job;
    ek_error err = {0};
    if (ek_job_read(path, overrides, NULL, &job, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    assert(ek_job_check(&job, &err) == EK_OK);
    assert(job.schedule && job.plan.n_stages == job.parallel.pipeline);
    check_patterns(&job);
    check_copy(&job);
    ek_job_clear(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    ek_job_overrides overrides = ek_job_overrides_none();
    read_with(path, NULL);
    overrides.pipeline = 2;
    overrides.n_chunks = 2;
    overrides.n_micro_batches = 4;
    overrides.n_layers = 9;
    overrides.literal = true;
    read_with(path, &overrides);
    return 0;
}
