/* memory_model.h - a job from the fixtures, of a size at which megabytes matter. */
#ifndef TESTS_UNIT_MEMORY_MODEL_H
#define TESTS_UNIT_MEMORY_MODEL_H

#include "input.h"

#include "evenkeel/memory.h"

/* The small Llama with the widths of a 7B one, 4 stages; ek_job_clear() frees it. */
static inline void read_model(ek_job *job)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_error err = {0};
    overrides.pipeline = 4;
    overrides.n_chunks = 1;
    overrides.n_layers = 16;
    overrides.n_micro_batches = 8;
    overrides.seq_length = 4096;
    overrides.schedule = ek_schedule_find("1f1b");
    if (ek_job_read(source_path("tests/data/job/llama.yaml"), &overrides, NULL, job, &err))
        fail_msg("%s", err.message);
    ek_job_model *m = &job->model;
    m->hidden = 4096;
    m->n_heads = 32;
    m->n_kv_heads = 8;
    m->head_dim = m->value_dim = 128;
    m->intermediate = 11008;
    m->vocab = 32000;
    job->parallel.table_split = job->parallel.head_split = 2;
    if (ek_job_check(job, &err))
        fail_msg("%s", err.message);
}

static inline ek_memory predicted(const ek_job *job)
{
    ek_memory memory;
    ek_error err = {0};
    if (ek_memory_predict(job, NULL, &memory, &err))
        fail_msg("%s", err.message);
    return memory;
}

#endif
