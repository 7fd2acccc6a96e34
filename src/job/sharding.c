/* Sets the states and buffers of fully sharded data parallelism, as documented by PyTorch (torch.distributed.fsdp). A
 * layer's weights are gathered before its forward and its backward pass, overlapping with the previous layer; its
 * gradients, whole until the layer's backward pass has ended, are copied into a buffer of the reduction type, which is
 * kept until the next layer's are copied. The optimizer works on shards. */
#include "job/sharding.h"

#include "job/job_internal.h"

static ek_job_states states_of(const ek__fsdp *fsdp)
{
    int reduced = ek_dtype_bytes(fsdp->reduced);
    return (ek_job_states){.weight = ek_dtype_bytes(fsdp->stored),
                           .gradient = fsdp->sums_whole ? reduced : 0,
                           .optimizer = fsdp->optimizer,
                           .gathered = ek_dtype_bytes(fsdp->gathered),
                           .shard_weight = true,
                           .shard_optimizer = true,
                           .shard_gradient = !fsdp->sums_whole,
                           .shard_table = true,
                           .shard_size = fsdp->shard_size,
                           .gathered_ahead = fsdp->keeps ? 0 : 1,
                           .scattered_bytes = reduced,
                           .gathered_ends = fsdp->gathers_ends};
}

double ek__job_layer_elements(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    double q = (double)m->n_heads * m->head_dim, kv = (double)m->n_kv_heads * (m->head_dim + m->value_dim);
    double attention = m->hidden * (q + kv + (double)m->n_heads * m->value_dim) / job->parallel.tensor;
    if (m->kv_lora_rank > 0)
        attention = (double)m->hidden * (m->q_lora_rank + m->kv_lora_rank + m->rope_dim) +
                    ((m->q_lora_rank > 0 ? m->q_lora_rank : m->hidden) * q +
                     m->kv_lora_rank * (double)m->n_heads * (m->nope_dim + m->value_dim) +
                     (double)m->n_heads * m->value_dim * m->hidden) /
                        job->parallel.tensor;
    double matrices = m->gated ? 3 : 2, dense = matrices * m->hidden * m->intermediate / job->parallel.tensor;
    if (m->n_experts == 0)
        return attention + dense;
    double one = matrices * m->hidden * m->expert_intermediate / job->parallel.expert_tensor;
    return attention + one * m->n_experts / job->parallel.expert +
           matrices * m->hidden * m->shared_intermediate / job->parallel.tensor;
}

void ek__job_fsdp(const ek__fsdp *fsdp, ek_job *job)
{
    ek_rules *rules = &job->rules;
    ek_job_run *run = &job->run;
    int instances = job->states.instances;
    job->states = states_of(fsdp);
    job->states.instances = instances;
    job->types.param = fsdp->stored;
    job->types.embedding = job->types.norm = fsdp->gathered;
    rules->weight_gather = fsdp->keeps ? EK_GATHER_STEP : EK_GATHER_LAYER;
    rules->gather_after_cast = true;
    rules->weight_gradient_fused = rules->dummy_gradients = rules->gather_buffer = false;
    rules->workspace_mb = EK__CUBLAS_MB;
    run->overlap_gradients = run->overlap_weights = run->layer_buckets = true;
    run->first_stage_buckets = false;
    run->reduce_bytes = ek_dtype_bytes(fsdp->reduced);
    run->bucket_bytes = ek__job_layer_elements(job) * run->reduce_bytes;
    run->sums_every_micro_batch = !fsdp->sums_whole;
}

void ek__job_share(ek__sharding level, ek_job *job)
{
    ek_job_states *states = &job->states;
    states->shard_optimizer = level >= EK__SHARE_OPTIMIZER;
    states->shard_gradient = level >= EK__SHARE_GRADIENTS;
    states->shard_weight = level >= EK__SHARE_WEIGHTS;
    job->run.sums_every_micro_batch = states->shard_gradient;
    if (!states->shard_weight)
        return;
    states->gathered = states->weight;
    states->gathered_ahead = 1;
    job->rules.weight_gather = EK_GATHER_LAYER;
    job->run.overlap_weights = true;
}
