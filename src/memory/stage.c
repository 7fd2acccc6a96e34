/* Maps the chunks of a plan to stages. */
#include <assert.h>

#include "memory/program.h"

int ek__stage_n_chunks(const ek_job *job)
{
    return job->schedule->placement == EK_PLACE_BOTH_WAYS ? 2 : job->plan.n_chunks;
}

int ek__stage_cell(const ek_job *job, int stage, int chunk)
{
    int p = job->plan.n_stages;
    assert(stage >= 0 && stage < p && chunk >= 0 && chunk < ek__stage_n_chunks(job));
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return chunk ? p - 1 - stage : stage;
    return chunk * p + stage;
}
