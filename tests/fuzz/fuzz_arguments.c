/* Fuzzes scripts with arguments, and the other files with Megatron's rules: whatever the bytes, there is an error with
 * a message, or a job that its framework would run, and its copy is the same job. */
#include <assert.h>
#include <string.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/job.h"
#include "fuzz.h"

static void check_plan(const ek_job *job)
{
    const ek_plan *plan = &job->plan;
    int sum = 0;
    assert(plan->n_stages == job->parallel.pipeline);
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        assert(plan->layers[c] >= 0);
        sum += plan->layers[c];
        assert(plan->full[c] >= 0 && plan->full[c] <= plan->layers[c]);
        assert(plan->select[c] >= 0 && plan->select[c] <= plan->layers[c]);
        assert(plan->comm[c] >= 0 && plan->comm[c] <= plan->layers[c]);
    }
    assert(sum == job->model.n_layers + job->model.n_prediction_layers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_job job, copy;
    ek_error err = {0};
    if (ek_job_read(fuzz_file(data, size), NULL, NULL, &job, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    check_plan(&job);
    assert(ek_job_check(&job, &err) == EK_OK);
    if (ek_job_copy(&job, &copy, &err) == EK_OK) {
        assert(copy.n_patterns == job.n_patterns);
        assert(copy.parallel.data == job.parallel.data && copy.parallel.batch == job.parallel.batch);
        assert(copy.plan.n_chunks == job.plan.n_chunks && strcmp(copy.path, job.path) == 0);
        ek_job_clear(&copy);
    }
    ek_job_clear(&job);
    return 0;
}
