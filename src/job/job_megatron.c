/* Reads a launch script or a list of arguments of Megatron-LM and MindSpeed-LLM as a job. */
#include "job/megatron_arguments.h"
#include "job/megatron_run.h"

static bool recognises(const ek__job_source *source)
{
    return ek__arguments_are_in(source->text);
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    ek__arguments a;
    ek_status status = ek__arguments_read(source, &a);
    if (status)
        return status;
    status = ek__megatron_read_job(&a, overrides, job);
    ek__arguments_clear(&a);
    return status;
}

const ek__job_format ek__job_megatron = {
    .name = "a script with arguments of Megatron-LM or MindSpeed-LLM",
    .recognises = recognises,
    .read = read_job,
};
