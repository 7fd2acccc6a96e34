/* Reads the degrees of a training YAML of MindFormers, and has the accessors of its optional sections and keys for all
 * of its readers. */
#include "evenkeel/layers.h"
#include "job/mindformers.h"

const ek__node *ek__mf_find(const ek__node *map, const char *const *names)
{
    const ek__node *node = NULL;
    for (int i = 0; map && names[i] && !node; i++)
        node = ek__get(map, names[i]);
    return node;
}

ek_status ek__mf_int(const ek__in *in, const ek__node *map, const char *key, int min, int max, const char *advice,
                     int *out)
{
    const ek__node *node = map ? ek__get(map, key) : NULL;
    return node ? ek__int(in, node, min, max, advice, out) : EK_OK;
}

ek_status ek__mf_bool(const ek__in *in, const ek__node *map, const char *key, const char *advice, bool *out)
{
    const ek__node *node = map ? ek__get(map, key) : NULL;
    return node ? ek__bool(in, node, advice, out) : EK_OK;
}

ek_status ek__mf_read_degrees(const ek__in *in, const ek__mf_sections *file, const char *advice, ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    p->data = p->tensor = p->context = p->expert = p->pipeline = p->ulysses = 1;
    p->batch = p->n_accumulation = p->n_batch_interleave = p->n_pieces = 1;
    const struct {
        const ek__node *map;
        const char *key;
        int max;
        const char *advice;
        int *out;
    } sizes[] = {
        {file->parallel_config, "data_parallel", EK_MAX_RANKS, advice, &p->data},
        {file->parallel_config, "model_parallel", EK_MAX_RANKS, advice, &p->tensor},
        {file->parallel_config, "context_parallel", EK_MAX_RANKS, advice, &p->context},
        {file->parallel_config, "expert_parallel", EK_MAX_RANKS, advice, &p->expert},
        {file->parallel_config, "pipeline_stage", EK_MAX_STAGES, advice, &p->pipeline},
        {file->parallel_config, "seq_split_num", EK_MAX_MICRO_BATCHES, "it is the pieces of a sequence", &p->n_pieces},
        {file->runner, "batch_size", EK__JOB_MAX_BATCH, "it is the sequences of a micro-batch", &p->batch},
        {file->runner, "gradient_accumulation_steps", EK_MAX_MICRO_BATCHES, "it is a number of steps",
         &p->n_accumulation},
        {file->root, "micro_batch_interleave_num", EK__JOB_MAX_BATCH, "it is the copies of a batch's parts",
         &p->n_batch_interleave},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == EK_OK; i++)
        status = ek__mf_int(in, sizes[i].map, sizes[i].key, 1, sizes[i].max, sizes[i].advice, sizes[i].out);
    if (status == EK_OK)
        status = ek__mf_bool(in, file->parallel_config, "use_seq_parallel", "it switches sequence parallelism",
                             &p->sequence_parallel);
    return status;
}
