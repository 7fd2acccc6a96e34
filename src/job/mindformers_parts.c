/* Reads one part of a training YAML of MindFormers: the degrees, the shapes of a sequence piece, or the pipeline. Only
 * the sections of that part are read, so others may be absent or wrong. The keys are read by the same code as for whole
 * jobs, but here the tensor-parallel ranks and the sequences of a micro-batch are required and have no default. */
#include "evenkeel/layers.h"
#include "job/mindformers.h"

/* The product cannot overflow: it is checked after each factor, which is at most EK_MAX_RANKS. */
static ek_status check_devices(const ek__in *in, const ek__node *at, const ek_job_parallel *p)
{
    const int factor[] = {p->data, p->tensor, p->context, p->pipeline};
    int64_t ranks = 1;
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        ranks *= factor[i];
        if (ranks > EK_MAX_RANKS)
            return ek__fail_at(in, at,
                               "needs more than %d devices: data_parallel %d, model_parallel %d, context_parallel %d, "
                               "pipeline_stage %d; correct them",
                               EK_MAX_RANKS, factor[0], factor[1], factor[2], factor[3]);
    }
    return EK_OK;
}

static ek_status read_devices(const ek__in *in, ek__mf_sections *file, ek_job *job)
{
    ek_status status =
        ek__require_map(in, file->root, "parallel_config",
                        "write data_parallel, model_parallel and pipeline_stage below it", &file->parallel_config);
    if (status == EK_OK)
        status = ek__mf_read_degrees(in, file, "correct it", job);
    if (status)
        return status;
    if (!ek__get(file->parallel_config, "pipeline_stage"))
        job->parallel.pipeline = 0;
    return check_devices(in, file->parallel_config, &job->parallel);
}

/* Pieces run interleaved, so this switch must be on. */
static ek_status check_interleave(const ek__in *in, ek__mf_sections *file)
{
    bool on = false;
    ek_status status = ek__optional_map(in, file->root, "parallel", &file->parallel);
    if (status == EK_OK && file->parallel)
        status = ek__optional_map(in, file->parallel, "pipeline_config", &file->pipeline);
    return status ? status
                  : ek__mf_bool(in, file->pipeline, "pipeline_interleave", "it switches pp_interleave_num on", &on);
}

/* Ranks that share a layer, and sequences of a micro-batch, which must both be in the file. */
static ek_status read_piece(const ek__in *in, ek__mf_sections *file, ek_job *job)
{
    enum { MAX_TENSOR = 1 << 20, MAX_BATCH = 1 << 24 };
    static const char tensor_advice[] = "give the devices that share a layer, 'model_parallel: 1' for one",
                      batch_advice[] = "it is the sequences of a micro-batch";
    ek_job_parallel *p = &job->parallel;
    const ek__node *tensor = NULL;
    ek_status status =
        ek__require_map(in, file->root, "parallel_config", "write model_parallel below it", &file->parallel_config);
    if (status == EK_OK)
        status = ek__require(in, file->parallel_config, "model_parallel", tensor_advice, &tensor);
    if (status == EK_OK)
        status = ek__int(in, tensor, 1, MAX_TENSOR, tensor_advice, &p->tensor);
    if (status == EK_OK)
        status = ek__mf_int(in, file->parallel_config, "context_parallel", 1, EK_MAX_RANKS, "correct it", &p->context);
    if (status == EK_OK)
        status = check_interleave(in, file);
    if (status == EK_OK)
        status = ek__optional_map(in, file->root, "runner_config", &file->runner);
    if (status == EK_OK)
        status = ek__mf_int(in, file->runner, "batch_size", 1, MAX_BATCH, batch_advice, &p->batch);
    if (status == EK_OK && !p->batch)
        status = ek__mf_int(in, file->model, "batch_size", 1, MAX_BATCH, batch_advice, &p->batch);
    if (status == EK_OK && !p->batch)
        return ek__fail_at(in, file->root,
                           "has no number of sequences of a micro-batch; give 'batch_size: N' below runner_config");
    return status;
}

static ek_status read_shapes(const ek__in *in, ek__mf_sections *file, ek_job *job)
{
    const ek__node *model = NULL;
    ek_status status = ek__require_map(in, file->root, "model",
                                       "a training file has model.model_config with the model's shapes", &model);
    if (status == EK_OK)
        status =
            ek__require_map(in, model, "model_config",
                            "write hidden_size, num_heads, seq_length, vocab_size and others below it", &file->model);
    if (status == EK_OK)
        status = ek__mf_read_shapes(in, file, job);
    return status ? status : read_piece(in, file, job);
}

ek_status ek__mf_read_part(const ek__job_source *source, ek_job_part part, ek_job *job)
{
    const ek__in in = {source->doc, source->listener, source->err};
    ek__mf_sections file = {.root = ek__config_root(source->doc)};
    switch (part) {
    case EK_JOB_DEGREES:
        return read_devices(&in, &file, job);
    case EK_JOB_SHAPES:
        return read_shapes(&in, &file, job);
    case EK_JOB_SIZES:
    case EK_JOB_PLAN:
        break;
    }
    return ek__mf_read_pipeline(&in, part == EK_JOB_PLAN, job);
}
