/* Reads a Hugging Face config.json, which has the shapes of a model and no run. The run is assumed to be Megatron-LM in
 * bf16 with its distributed optimizer and the degrees of the overrides. */
#include <assert.h>

#include "job/hugging_face.h"
#include "job/megatron.h"

enum { USUAL_LENGTH = 4096 };

typedef struct reader {
    ek__hf_model m;
    const ek_job_overrides *overrides;
} reader;

static ek_origin place_of(const reader *r, const char *key)
{
    const ek__node *node = ek__get(r->m.map, key);
    return ek__node_origin(r->m.in.doc, node ? node : r->m.map);
}

/* ---- the run ---- */

/* PyTorch's DistributedDataParallel by default: gradients are reduced during the backward pass in buckets of 25 MiB
 * (bucket_cap_mb). */
static void read_overlaps(ek_job *job)
{
    job->run = (ek_job_run){.overlap_gradients = true,
                            .bucket_bytes = 25 * 1048576.,
                            .reduce_bytes = job->states.gradient,
                            .overlap_tensor_gradients = true,
                            .overlap_p2p_interleaved = true,
                            .launch = EK_LAUNCH_EAGER,
                            .fused_optimizer = true};
}

static ek_status read_run(reader *r)
{
    ek_job_model *m = &r->m.job->model;
    ek_job_parallel *p = &r->m.job->parallel;
    const ek__megatron_types types = {
        .weight = EK_BF16, .gradient_fp32 = true, .distributed = true, .master = 4, .first = 4, .second = 4};
    int length = m->max_position;
    p->sequence_parallel = true;
    p->n_micro_batches = p->expert_tensor = 0;
    p->seq_length = length > 0 && length < USUAL_LENGTH ? length : USUAL_LENGTH;
    if (r->overrides->seq_length == 0)
        ek__warn(r->m.in.listener, place_of(r, "max_position_embeddings"),
                 "the file has no sequence length of the training; %d tokens are used%s", p->seq_length,
                 length > USUAL_LENGTH ? ", fewer than the model's positions" : "");
    if (m->max_position == 0)
        m->max_position = p->seq_length;
    ek__job_override_sizes(r->overrides, r->m.job);
    ek__hf_warn_window(&r->m);
    if (p->n_micro_batches == 0) {
        p->n_micro_batches = p->pipeline;
        ek__warn(r->m.in.listener, (ek_origin){ek__config_name(r->m.in.doc), 0, 0},
                 "the file has no number of micro-batches; %d %s used, one for each stage", p->pipeline,
                 p->pipeline > 1 ? "are" : "is");
    }
    p->expert_tensor = p->tensor;
    m->vocab_multiple = 128;
    m->vocab_told = r->m.vocab;
    m->vocab = ek__megatron_padded(r->m.vocab, m->vocab_multiple, p->tensor);
    ek__megatron_derive(r->m.job);
    ek__megatron_states(&types, r->m.job);
    read_overlaps(r->m.job);
    return ek__job_spread(r->m.job, 1, r->m.in.err);
}

static bool recognises(const ek__job_source *source)
{
    return ek__hf_find_model(source->doc) != NULL;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    reader r = {
        .m = {.in = {source->doc, source->listener, source->err}, .job = job, .map = ek__hf_find_model(source->doc)},
        .overrides = overrides};
    assert(r.m.map); /* it was recognised */
    ek__megatron_defaults(job, EK_MEGATRON);
    ek__job_name_after(source->path, job);
    job->no_layout = true;
    ek_status status = ek__hf_read_model(&r.m);
    return status ? status : read_run(&r);
}

const ek__job_format ek__job_hugging_face = {
    .name = "a config.json of Hugging Face",
    .recognises = recognises,
    .read = read_job,
};
