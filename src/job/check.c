/* Checks that the framework runs a job and that no product of its sizes overflows int64_t. Messages name a setting as
 * the job's framework does and, if the file is available, give its line and column. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/job_internal.h"
#include "job/settings.h"
#include "schedule/frameworks.h"

/* Settings that a message points at. */
typedef enum setting {
    DATA,
    TENSOR,
    STAGES,
    CONTEXT,
    ULYSSES,
    EXPERT,
    CHUNKS,
    MICRO_BATCHES,
    ACCUMULATION,
    BATCH,
    SEQUENCE,
    PIECES,
    LAYERS,
    HIDDEN,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    INTERMEDIATE,
    VOCABULARY,
    EXPERTS,
    TOP_K,
    EXPERT_INTERMEDIATE,
    FLASH,
    INSTANCES,
    SEQUENCE_PARALLEL,
    N_SETTINGS
} setting;

/* Names of a setting: the first is used in messages, all are searched in the file. */
typedef struct setting_names {
    const char *name[3];
} setting_names;

static const setting_names mindformers[N_SETTINGS] = {
    [DATA] = {{"data_parallel"}},
    [TENSOR] = {{"model_parallel"}},
    [STAGES] = {{"pipeline_stage"}},
    [CONTEXT] = {{"context_parallel"}},
    [ULYSSES] = {{"ulysses_degree_in_cp"}},
    [EXPERT] = {{"expert_parallel"}},
    [CHUNKS] = {{"pp_interleave_num"}},
    [MICRO_BATCHES] = {{"micro_batch_num"}},
    [ACCUMULATION] = {{"gradient_accumulation_steps"}},
    [BATCH] = {{"batch_size"}},
    [SEQUENCE] = {{"seq_length"}},
    [PIECES] = {{"seq_split_num"}},
    [LAYERS] = {{"num_layers", "num_hidden_layers"}},
    [HIDDEN] = {{"hidden_size"}},
    [HEADS] = {{"num_heads", "num_attention_heads"}},
    [KV_HEADS] = {{"n_kv_heads", "num_key_value_heads", "multi_query_group_num"}},
    [HEAD_DIM] = {{"head_dim", "kv_channels"}},
    [INTERMEDIATE] = {{"intermediate_size", "ffn_hidden_size"}},
    [VOCABULARY] = {{"vocab_size", "padded_vocab_size"}},
    [EXPERTS] = {{"expert_num", "n_routed_experts"}},
    [TOP_K] = {{"num_experts_chosen", "num_experts_per_tok"}},
    [EXPERT_INTERMEDIATE] = {{"moe_intermediate_size"}},
    [FLASH] = {{"use_flash_attention"}},
    [INSTANCES] = {{"optimizer_weight_shard_size"}},
    [SEQUENCE_PARALLEL] = {{"use_seq_parallel"}},
};

static const setting_names megatron[N_SETTINGS] = {
    [DATA] = {{"data-parallel-size"}},
    [TENSOR] = {{"tensor-model-parallel-size", "tensor_model_parallel_size"}},
    [STAGES] = {{"pipeline-model-parallel-size", "pipeline_model_parallel_size"}},
    [CONTEXT] = {{"context-parallel-size", "context_parallel_size"}},
    [ULYSSES] = {{"ulysses-degree-in-cp", "ulysses_degree_in_cp"}},
    [EXPERT] = {{"expert-model-parallel-size", "expert_model_parallel_size"}},
    [CHUNKS] = {{"num-virtual-stages-per-pipeline-rank"}},
    [MICRO_BATCHES] = {{"global-batch-size", "global_batch_size"}},
    [ACCUMULATION] = {{"global-batch-size", "global_batch_size"}},
    [BATCH] = {{"micro-batch-size", "micro_batch_size"}},
    [SEQUENCE] = {{"seq-length", "seq_length"}},
    [PIECES] = {{"seq-length", "seq_length"}},
    [LAYERS] = {{"num-layers", "num_layers"}},
    [HIDDEN] = {{"hidden-size", "hidden_size"}},
    [HEADS] = {{"num-attention-heads", "num_attention_heads"}},
    [KV_HEADS] = {{"num-query-groups", "num_query_groups"}},
    [HEAD_DIM] = {{"kv-channels", "kv_channels"}},
    [INTERMEDIATE] = {{"ffn-hidden-size", "ffn_hidden_size"}},
    [VOCABULARY] = {{"vocab-size", "vocab_size", "padded_vocab_size"}},
    [EXPERTS] = {{"num-experts", "num_experts", "num_moe_experts"}},
    [TOP_K] = {{"moe-router-topk", "moe_router_topk"}},
    [EXPERT_INTERMEDIATE] = {{"moe-ffn-hidden-size", "moe_ffn_hidden_size"}},
    [FLASH] = {{"use-flash-attn", "use_flash_attn"}},
    [INSTANCES] = {{"num-distributed-optimizer-instances", "num_distributed_optimizer_instances"}},
    [SEQUENCE_PARALLEL] = {{"sequence-parallel", "sequence_parallel"}},
};

static const setting_names torchtitan[N_SETTINGS] = {
    [DATA] = {{"data_parallel_shard_degree", "data_parallel_replicate_degree"}},
    [TENSOR] = {{"tensor_parallel_degree"}},
    [STAGES] = {{"pipeline_parallel_degree"}},
    [CONTEXT] = {{"context_parallel_degree"}},
    [ULYSSES] = {{"context_parallel_degree"}},
    [EXPERT] = {{"expert_parallel_degree", "expert_tensor_parallel_degree"}},
    [CHUNKS] = {{"pipeline_parallel_schedule"}},
    [MICRO_BATCHES] = {{"pipeline_parallel_microbatch_size", "pipeline_parallel_microbatches", "local_batch_size"}},
    [ACCUMULATION] = {{"global_batch_size"}},
    [BATCH] = {{"local_batch_size", "batch_size"}},
    [SEQUENCE] = {{"seq_len"}},
    [PIECES] = {{"seq_len"}},
    [LAYERS] = {{"n_layers of the flavor", "flavor"}}, /* the file names the model instead of its shapes */
    [HIDDEN] = {{"dim of the flavor", "flavor"}},
    [HEADS] = {{"n_heads of the flavor", "flavor"}},
    [KV_HEADS] = {{"n_kv_heads of the flavor", "flavor"}},
    [HEAD_DIM] = {{"head_dim of the flavor", "flavor"}},
    [INTERMEDIATE] = {{"hidden_dim of the flavor", "flavor"}},
    [VOCABULARY] = {{"vocab_size of the flavor", "flavor"}},
    [EXPERTS] = {{"num_experts of the flavor", "flavor"}},
    [TOP_K] = {{"top_k of the flavor", "flavor"}},
    [EXPERT_INTERMEDIATE] = {{"moe_inter_dim of the flavor", "flavor"}},
    [FLASH] = {{"flavor"}},
    [INSTANCES] = {{"data_parallel_replicate_degree"}},
    [SEQUENCE_PARALLEL] = {{"tensor_parallel_degree"}}, /* comes with it */
};

/* A check in progress. */
typedef struct checker {
    const ek_job *job;
    const ek__config_tree *doc;
    ek_error *err;
} checker;

static const setting_names *names_of(const checker *c, setting which)
{
    const ek_framework framework = c->job->framework;
    return framework == EK_TORCHTITAN                              ? &torchtitan[which]
           : framework == EK_MEGATRON || framework == EK_MINDSPEED ? &megatron[which]
                                                                   : &mindformers[which];
}

static const char *name_of(const checker *c, setting which)
{
    if (c->job->framework != EK_MINDFORMERS_MCORE || !names_of(c, which)->name[1])
        return names_of(c, which)->name[0];
    return names_of(c, which)->name[1];
}

const char *ek__job_degree_name(const ek_job *job, ek__degree degree)
{
    static const setting of[EK__N_DEGREES] = {[EK__DEGREE_DATA] = DATA,
                                              [EK__DEGREE_TENSOR] = TENSOR,
                                              [EK__DEGREE_STAGES] = STAGES,
                                              [EK__DEGREE_CONTEXT] = CONTEXT,
                                              [EK__DEGREE_EXPERT] = EXPERT,
                                              [EK__DEGREE_CHUNKS] = CHUNKS,
                                              [EK__DEGREE_BATCH] = BATCH,
                                              [EK__DEGREE_MICRO_BATCHES] = MICRO_BATCHES,
                                              [EK__DEGREE_ACCUMULATION] = ACCUMULATION};
    const checker c = {.job = job};
    return name_of(&c, of[degree]);
}

/* The first value under any of the names, depth first; NULL without one. */
static const ek__node *find(const ek__node *node, const setting_names *names)
{
    const ek__node *found = NULL;
    for (const ek__node *child = node ? node->first : NULL; child && !found; child = child->next) {
        for (int i = 0; i < 3 && names->name[i]; i++)
            if (child->key && child->kind == EK__SCALAR && strcmp(child->key, names->name[i]) == 0)
                return child;
        found = find(child, names);
    }
    return found;
}

/* Sections are searched in this order, so that batch_size is the runner's and not a data set's. */
static const ek__node *locate(const checker *c, setting which)
{
    static const char *const sections[] = {"parallel_config", "runner_config", "model", "moe_config", "parallel"};
    const ek__node *root = c->doc ? ek__config_root(c->doc) : NULL, *node = NULL;
    if (!root || root->kind != EK__MAP)
        return NULL;
    static const char *const torch_sections[] = {"parallelism", "training", "experimental", "model", "model"};
    _Static_assert(sizeof torch_sections == sizeof sections, "as many of each");
    const char *const *of = c->job->framework == EK_TORCHTITAN ? torch_sections : sections;
    for (size_t i = 0; i < sizeof sections / sizeof *sections && !node; i++)
        node = find(ek__get(root, of[i]), names_of(c, which));
    return node ? node : find(root, names_of(c, which));
}

/* The place of a setting, otherwise of the setting that it conflicts with, otherwise the file. */
static ek_origin origin_of_either(const checker *c, setting which, setting other)
{
    const ek__node *node = locate(c, which);
    if (!node)
        node = locate(c, other);
    return node ? ek__node_origin(c->doc, node) : (ek_origin){c->job->path, 0, 0};
}

static ek_origin origin_of(const checker *c, setting which)
{
    return origin_of_either(c, which, which);
}

/* ---- single values ---- */

static ek_status check_range(const checker *c, setting which, int value, int least, int most)
{
    if (value >= least && value <= most)
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, which, LAYERS), "%s is %d, expected %d to %d; correct it",
                    name_of(c, which), value, least, most);
}

typedef struct range {
    setting which;
    int value, least, most;
} range;

static ek_status check_ranges(const checker *c, const range *ranges, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++)
        status = check_range(c, ranges[i].which, ranges[i].value, ranges[i].least, ranges[i].most);
    return status;
}

static ek_status check_parallel_ranges(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    const range ranges[] = {
        {DATA, p->data, 1, EK_MAX_RANKS},
        {TENSOR, p->tensor, 1, EK_MAX_RANKS},
        {STAGES, p->pipeline, 1, EK_MAX_STAGES},
        {CONTEXT, p->context, 1, EK_MAX_RANKS},
        {EXPERT, p->expert, 1, EK_MAX_RANKS},
        {EXPERT, p->expert_tensor, 1, EK_MAX_RANKS},
        {BATCH, p->batch, 1, EK__JOB_MAX_BATCH},
        {SEQUENCE, p->seq_length, 1, EK__JOB_MAX_SEQUENCE},
        {MICRO_BATCHES, p->n_micro_batches, 1, EK_MAX_MICRO_BATCHES},
        {ACCUMULATION, p->n_accumulation, 1, EK_MAX_MICRO_BATCHES},
        {BATCH, p->n_batch_interleave, 1, EK__JOB_MAX_BATCH},
        {PIECES, p->n_pieces, 1, EK_MAX_MICRO_BATCHES},
        {TENSOR, p->fine_grain, 1, EK_MAX_MICRO_BATCHES},
        {MICRO_BATCHES, p->chunk_group, 0, EK_MAX_MICRO_BATCHES},
        {TENSOR, p->table_split, 1, EK_MAX_RANKS},
        {TENSOR, p->head_split, 1, EK_MAX_RANKS},
        {CONTEXT, p->ulysses, 1, p->context},
    };
    return check_ranges(c, ranges, sizeof ranges / sizeof *ranges);
}

static ek_status check_model_ranges(const checker *c)
{
    const ek_job_model *m = &c->job->model;
    const range ranges[] = {
        {LAYERS, m->n_layers, 1, EK_MAX_LAYERS},
        {LAYERS, m->n_prediction_layers, 0, EK_MAX_LAYERS - m->n_layers},
        {HIDDEN, m->hidden, 1, EK__JOB_MAX_HIDDEN},
        {HEADS, m->n_heads, 1, EK__JOB_MAX_HEADS},
        {KV_HEADS, m->n_kv_heads, 1, EK__JOB_MAX_HEADS},
        {HEAD_DIM, m->head_dim, 1, EK__JOB_MAX_WIDTH / (m->n_heads > 0 ? m->n_heads : 1)},
        {HEAD_DIM, m->value_dim, 1, EK__JOB_MAX_WIDTH / (m->n_heads > 0 ? m->n_heads : 1)},
        {INTERMEDIATE, m->intermediate, 1, EK__JOB_MAX_WIDTH},
        {VOCABULARY, m->vocab, 1, EK__JOB_MAX_WIDTH},
        {SEQUENCE, m->max_position, 1, EK__JOB_MAX_SEQUENCE},
        {HEAD_DIM, m->q_lora_rank, 0, EK__JOB_MAX_HIDDEN},
        {HEAD_DIM, m->kv_lora_rank, 0, EK__JOB_MAX_HIDDEN},
        {HEAD_DIM, m->nope_dim, 0, EK__JOB_MAX_HIDDEN},
        {HEAD_DIM, m->rope_dim, 0, EK__JOB_MAX_HIDDEN},
    };
    return check_ranges(c, ranges, sizeof ranges / sizeof *ranges);
}

static ek_status check_expert_ranges(const checker *c)
{
    const ek_job_model *m = &c->job->model;
    const range ranges[] = {
        {EXPERTS, m->n_experts, 0, EK__JOB_MAX_EXPERTS},
        {TOP_K, m->top_k, 1, m->n_experts},
        {EXPERTS, m->n_shared_experts, 0, EK__JOB_MAX_EXPERTS},
        {EXPERT_INTERMEDIATE, m->expert_intermediate, 1, EK__JOB_MAX_WIDTH},
        {EXPERT_INTERMEDIATE, m->shared_intermediate, 0, EK__JOB_MAX_WIDTH},
        {LAYERS, m->n_dense_layers, 0, m->n_layers},
        {LAYERS, m->expert_period, 1, EK_MAX_LAYERS},
    };
    return m->n_experts == 0 ? EK_OK : check_ranges(c, ranges, sizeof ranges / sizeof *ranges);
}

/* ---- divisibility ---- */

typedef struct division {
    setting which, by_which;
    int64_t value, by;
    bool needed;
} division;

static ek_status check_divides(const checker *c, const division *d)
{
    if (!d->needed || d->value % d->by == 0)
        return EK_OK;
    const ek_job_parallel *p = &c->job->parallel;
    if (d->by_which == ULYSSES && d->which != CONTEXT)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, d->which, CONTEXT),
                        "%s is %lld, which cannot be divided into %lld equal parts, as %s %d and Ulysses groups of %d "
                        "ranks (of %s %d) require; correct one of them",
                        name_of(c, d->which), (long long)d->value, (long long)d->by, name_of(c, TENSOR), p->tensor,
                        p->ulysses, name_of(c, CONTEXT), p->context);
    if (d->by_which == CONTEXT && d->by == INT64_C(2) * p->context)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, d->which, CONTEXT),
                        "%s is %lld, which cannot be divided into %lld equal parts, two for each rank of %s %d, which is "
                        "how the causal mask's work is shared; correct one of them",
                        name_of(c, d->which), (long long)d->value, (long long)d->by, name_of(c, CONTEXT), p->context);
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, d->which, d->by_which),
                    "%s is %lld, which cannot be divided into %lld equal parts, as %s requires; correct one of them",
                    name_of(c, d->which), (long long)d->value, (long long)d->by, name_of(c, d->by_which));
}

/* Does a context-parallel rank take two parts of a sequence, one from either half? Megatron's validate_args() requires
 * it for every exchange of keys and values; MindSpeed for rings; PyTorch unless its load balancer is chosen. */
static bool halves_sequences(const ek_job *job)
{
    if (job->parallel.context == 1)
        return false;
    if (job->framework == EK_MINDSPEED)
        return job->parallel.context_algorithm == EK_CONTEXT_RING;
    return (job->framework == EK_MEGATRON && !ek__job_has(job, "deepspeed")) ||
           (job->framework == EK_TORCHTITAN && !ek__job_has(job, "context-parallel-load-balancer"));
}

static ek_status check_divisions(const checker *c)
{
    const ek_job_model *m = &c->job->model;
    const ek_job_parallel *p = &c->job->parallel;
    const int64_t t = p->tensor, head_parts = t * p->ulysses;
    const bool torch = c->job->framework == EK_TORCHTITAN; /* ParallelDims.seq_len_divisor */
    const setting heads_by = p->ulysses > 1 ? ULYSSES : TENSOR;
    const division divisions[] = {
        {CONTEXT, ULYSSES, p->context, p->ulysses, true},
        {HEADS, heads_by, m->n_heads, head_parts, true},
        /* Fewer key and value heads than ranks: Megatron gives several ranks the same ones. */
        {KV_HEADS, heads_by, m->n_kv_heads, head_parts,
         m->kv_lora_rank == 0 && (c->job->framework != EK_MEGATRON || m->n_kv_heads >= head_parts)},
        {TENSOR, KV_HEADS, t, m->n_kv_heads, m->kv_lora_rank == 0 && m->n_kv_heads < t},
        {HEADS, KV_HEADS, m->n_heads, m->n_kv_heads, m->kv_lora_rank == 0},
        {HIDDEN, TENSOR, m->hidden, t, true},
        {INTERMEDIATE, TENSOR, m->intermediate, t, true},
        {SEQUENCE, CONTEXT, p->seq_length, p->context, true},
        {SEQUENCE, CONTEXT, p->seq_length, INT64_C(2) * p->context, halves_sequences(c->job)},
        {SEQUENCE, TENSOR, p->seq_length, p->context * t * (halves_sequences(c->job) && torch ? 2 : 1),
         p->sequence_parallel},
        {SEQUENCE, PIECES, p->seq_length, (int64_t)p->n_pieces * p->context, true},
        {SEQUENCE, PIECES, p->seq_length, (int64_t)p->n_pieces * p->context * t, p->sequence_parallel},
        {EXPERTS, EXPERT, m->n_experts, p->expert, m->n_experts > 0},
        {EXPERT_INTERMEDIATE, TENSOR, m->expert_intermediate, p->expert_tensor, m->n_experts > 0},
        {EXPERT_INTERMEDIATE, TENSOR, m->shared_intermediate, t, m->n_experts > 0},
        {VOCABULARY, TENSOR, m->vocab, p->table_split, true},
        {VOCABULARY, TENSOR, m->vocab, p->head_split, true},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof divisions / sizeof *divisions && status == EK_OK; i++)
        status = check_divides(c, &divisions[i]);
    return status;
}

/* ---- combinations ---- */

/* initialize_model_parallel() of Megatron Core asserts both. */
static ek_status check_instances(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    int n = c->job->states.instances;
    int64_t dense = (int64_t)p->data * p->context, experts = dense * p->tensor / p->expert / p->expert_tensor;
    if (n < 0 || n > EK_MAX_RANKS)
        return check_range(c, INSTANCES, n, 1, EK_MAX_RANKS);
    if (n <= 1 || !c->job->states.shard_optimizer)
        return EK_OK;
    if (dense % n != 0)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, INSTANCES, DATA),
                        "%s is %d, which does not divide the %lld ranks of %s %d x %s %d; correct it",
                        name_of(c, INSTANCES), n, (long long)dense, name_of(c, DATA), p->data, name_of(c, CONTEXT),
                        p->context);
    if (c->job->model.n_experts > 0 && experts % n != 0)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, INSTANCES, EXPERT),
                        "%s is %d, which does not divide the %lld data-parallel ranks of an expert (%s %d); correct it",
                        name_of(c, INSTANCES), n, (long long)experts, name_of(c, EXPERT), p->expert);
    return EK_OK;
}

static ek_status check_ranks(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    const int factor[] = {p->data, p->tensor, p->pipeline, p->context};
    int64_t ranks = 1;
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        ranks *= factor[i];
        if (ranks > EK_MAX_RANKS)
            return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, DATA, TENSOR),
                            "the job needs more than %d devices: %s %d, %s %d, %s %d, %s %d; correct them",
                            EK_MAX_RANKS, name_of(c, DATA), factor[0], name_of(c, TENSOR), factor[1],
                            name_of(c, STAGES), factor[2], name_of(c, CONTEXT), factor[3]);
    }
    return EK_OK;
}

/* Data-parallel ranks that experts reuse: in torchtitan those of one replica (ParallelDims.build_mesh). */
static int sharing_data(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    int size = job->states.shard_size;
    return job->framework == EK_TORCHTITAN && size > 0 && size % p->context == 0 ? size / p->context : p->data;
}

/* Experts are distributed over ranks with equal parts of everything else. */
static ek_status check_experts(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    int data = sharing_data(c->job);
    if (c->job->model.n_experts == 0)
        return EK_OK;
    if (c->job->framework == EK_TORCHTITAN && p->expert_tensor > 1 && p->expert_tensor != p->tensor)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, EXPERT, TENSOR),
                        "expert_tensor_parallel_degree is %d, expected 1 or the %d of %s; correct it", p->expert_tensor,
                        p->tensor, name_of(c, TENSOR));
    if ((int64_t)data * p->context * p->tensor % ((int64_t)p->expert * p->expert_tensor) != 0)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, EXPERT, DATA),
                        "%s is %d, but experts re-use the ranks of %s %d, %s %d and %s %d, of which an expert takes "
                        "%d; give a number that divides the rest",
                        name_of(c, EXPERT), p->expert, name_of(c, DATA), data, name_of(c, CONTEXT), p->context,
                        name_of(c, TENSOR), p->tensor, p->expert_tensor);
    return EK_OK;
}

/* ModelParallelConfig of Megatron Core rejects distributed experts if every tensor-parallel rank has all tokens.
 * Megatron-DeepSpeed has its own experts. */
static ek_status check_sequence_parallel(const checker *c)
{
    const ek_job *job = c->job;
    const ek_job_parallel *p = &job->parallel;
    int degree = ek__job_has(job, "moe-tp-extend-ep") ? p->expert / p->tensor : p->expert; /* as specified */
    if (job->framework != EK_MEGATRON || ek__job_has(job, "deepspeed") || job->model.n_experts == 0 || degree <= 1 ||
        p->tensor == 1 || p->sequence_parallel)
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, SEQUENCE_PARALLEL, TENSOR),
                    "%s is off, but experts on %s %d with %s %d need it; switch it on", name_of(c, SEQUENCE_PARALLEL),
                    name_of(c, EXPERT), degree, name_of(c, TENSOR), p->tensor);
}

/* The graph pipeline of MindSpore. Elsewhere stage s warms up with min(p - s - 1, m). */
static bool is_mindspore(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* Interleaved 1F1B deals micro-batches in groups of p, or of a given size: forward_backward_pipelining_with_
 * interleaving of Megatron Core, and of MindSpeed-Core-MS, stops if the last group has fewer than p. */
static bool has_full_groups(const ek_job *job)
{
    int m = job->parallel.n_micro_batches, p = job->parallel.pipeline;
    int group = job->parallel.chunk_group > 0 ? job->parallel.chunk_group : p;
    return group >= p && group <= m && (m % group == 0 || m % group >= p);
}

static bool interleaves(const ek_job *job)
{
    return job->schedule && ek_schedule_is_interleaved(job->schedule);
}

/* PyTorch: schedules with one stage per rank need at least one micro-batch for each (PipelineScheduleSingle); the
 * interleaved one runs max(1, m / p) rounds of equally many (ScheduleInterleaved1F1B). */
static ek_status check_torch_micro_batches(const checker *c)
{
    const ek_job *job = c->job;
    const ek__framework_schedule *theirs = job->schedule ? ek__schedule_in(job->schedule, EK_TORCHTITAN) : NULL;
    int m = job->parallel.n_micro_batches, p = job->parallel.pipeline, rounds = m / p > 1 ? m / p : 1;
    if (theirs && job->schedule->max_chunks == 1 && m < theirs->least * p)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                        "%s gives %d micro-batch%s for %d stages; PyTorch's schedules of one stage a rank need at "
                        "least as many; raise local_batch_size",
                        name_of(c, MICRO_BATCHES), m, m > 1 ? "es" : "", p);
    /* If the optimizer steps once in several runs of the pipeline, m counts all of them. */
    if (!interleaves(job) || m % rounds == 0 || ek__job_has(job, "pipeline-runs"))
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                    "%s gives %d micro-batches, which %d rounds over %d stages do not share equally, as "
                    "Interleaved1F1B requires; use %d, or one chunk a stage",
                    name_of(c, MICRO_BATCHES), m, rounds, p, (m / p + 1) * p);
}

/* MindSpore: "The micro_batch_num must be greater than or equal to pipeline_stage"; its zero_bubble_v, which runs every
 * schedule of a V, requires twice as many. */
static ek_status check_mindspore_micro_batches(const checker *c)
{
    const ek_job *job = c->job;
    int m = job->parallel.n_micro_batches, p = job->parallel.pipeline;
    if (m < p)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                        "%s gives %d micro-batch%s for %d stages; MindSpore's pipeline needs at least as many as it "
                        "has stages (micro_batch_num >= pipeline_stage); raise it",
                        name_of(c, MICRO_BATCHES), m, m > 1 ? "es" : "", p);
    if (!job->schedule || job->schedule->placement != EK_PLACE_V || m >= 2 * p)
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                    "%s gives %d micro-batches for %d stages; MindSpore's zero_bubble_v needs at least twice as many "
                    "as it has stages; raise it",
                    name_of(c, MICRO_BATCHES), m, p);
}

static ek_status check_micro_batches(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    if (p->pipeline == 1)
        return EK_OK;
    if (c->job->framework == EK_TORCHTITAN)
        return check_torch_micro_batches(c);
    if (is_mindspore(c->job))
        return check_mindspore_micro_batches(c);
    if (!interleaves(c->job) || has_full_groups(c->job))
        return EK_OK;
    if (p->chunk_group > 0)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                        "%s gives %d micro-batch%s, which groups of %d for each chunk do not divide into groups of at "
                        "least %d, one for each stage, as the interleaved schedule requires; correct one of them",
                        name_of(c, MICRO_BATCHES), p->n_micro_batches, p->n_micro_batches > 1 ? "es" : "",
                        p->chunk_group, p->pipeline);
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                    "%s gives %d micro-batch%s, no multiple of %d stages, as the interleaved schedule requires; use "
                    "%d, or one chunk a stage",
                    name_of(c, MICRO_BATCHES), p->n_micro_batches, p->n_micro_batches > 1 ? "es" : "", p->pipeline,
                    (p->n_micro_batches / p->pipeline + 1) * p->pipeline);
}

/* Several chunks need a pipeline to interleave; without overlap of transfers, one of 3 stages, so that two transfers
 * between the same ranks never run at once (validate_args() of Megatron). */
static ek_status check_interleave(const checker *c)
{
    const ek_job *job = c->job;
    bool alone = job->framework == EK_MEGATRON && interleaves(job) && !job->run.overlap_p2p_interleaved;
    int p = job->parallel.pipeline, least = alone ? 3 : 2;
    if ((job->framework != EK_MEGATRON && job->framework != EK_MINDSPEED) || job->plan.n_chunks == 1 || p >= least)
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, CHUNKS, STAGES),
                    "a stage has %d chunks, but %s is %d; interleaved stages are at least %d%s; correct one of them",
                    job->plan.n_chunks, name_of(c, STAGES), p, least,
                    alone ? " if transfers do not overlap with computing" : "");
}

static ek_status check_pipeline(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    const ek_plan *plan = &c->job->plan;
    const ek_schedule *schedule = c->job->schedule;
    if (p->n_pieces > 1 && !c->job->model.flash_attention)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, FLASH, PIECES),
                        "%s is off, but a sequence pipeline (%s %d) needs it; switch it on", name_of(c, FLASH),
                        name_of(c, PIECES), p->n_pieces);
    if (schedule && plan->n_chunks != schedule->min_chunks && schedule->min_chunks == schedule->max_chunks)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, CHUNKS, STAGES),
                        "the schedule %s is for %d chunk%s on a stage, but the job has %d; correct one of them",
                        schedule->name, schedule->min_chunks, schedule->min_chunks > 1 ? "s" : "", plan->n_chunks);
    if (schedule && (plan->n_chunks < schedule->min_chunks || plan->n_chunks > schedule->max_chunks))
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, CHUNKS, STAGES),
                        "the schedule %s is for %d to %d chunks on a stage, but the job has %d; correct one of them",
                        schedule->name, schedule->min_chunks, schedule->max_chunks, plan->n_chunks);
    if (schedule && (int64_t)p->n_micro_batches * p->n_pieces < (int64_t)schedule->min_micro_batches * p->pipeline)
        return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, MICRO_BATCHES, STAGES),
                        "the schedule %s needs at least %d micro-batches on %d stages, but the job has %d; correct one "
                        "of them",
                        schedule->name, schedule->min_micro_batches * p->pipeline, p->pipeline, p->n_micro_batches);
    return EK_OK;
}

static ek_status check_plan(const checker *c)
{
    const ek_job *job = c->job;
    const ek_plan *plan = &job->plan;
    const ek_origin at = origin_of(c, LAYERS);
    int n = job->model.n_layers + job->model.n_prediction_layers, placed = 0;
    if (plan->n_stages != job->parallel.pipeline)
        return ek__fail(c->err, EK_ERR_INPUT, at, "the plan has %d stages, but the job has %d; give it one for each",
                        plan->n_stages, job->parallel.pipeline);
    for (int i = 0; i < plan->n_chunks * plan->n_stages; i++) {
        int layers = plan->layers[i];
        int lists[] = {plan->full[i], plan->select[i], plan->comm[i]};
        if (layers < 0 || layers > n)
            return ek__fail(c->err, EK_ERR_INPUT, at, "chunk %d of stage %d has %d layers, expected 0 to %d",
                            i / plan->n_stages, i % plan->n_stages, layers, n);
        placed += layers;
        for (int k = 0; k < 3; k++)
            if (lists[k] < 0 || lists[k] > layers)
                return ek__fail(
                    c->err, EK_ERR_INPUT, at,
                    "chunk %d of stage %d recomputes %d of its %d layers; give at most as many as there are",
                    i / plan->n_stages, i % plan->n_stages, lists[k], layers);
        if (placed > n)
            break;
    }
    if (placed != n)
        return ek__fail(c->err, EK_ERR_INPUT, at, "the plan places %s%d layers, but the model has %d; correct it",
                        placed > n ? "at least " : "", placed, n);
    return EK_OK;
}

/* ---- the program ---- */

/* transformers' Trainer shards states but does not cut layers, tokens or experts. */
static ek_status check_trainer(const checker *c)
{
    const ek_job_parallel *p = &c->job->parallel;
    const struct {
        setting which;
        int value;
    } cuts[] = {{TENSOR, p->tensor}, {STAGES, p->pipeline}, {CONTEXT, p->context}, {EXPERT, p->expert}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && ek__job_has(c->job, "transformers-trainer"); i++)
        if (cuts[i].value > 1)
            return ek__fail(c->err, EK_ERR_INPUT, origin_of(c, cuts[i].which),
                            "%s is %d, but transformers' Trainer, which runs this job, has only data parallelism; give "
                            "the model's config.json to have it predicted with other degrees",
                            name_of(c, cuts[i].which), cuts[i].value);
    return EK_OK;
}

/* ---- sizes ---- */

/* An upper bound of a stage's bytes: every tensor of every layer in fp32, four times, for every micro-batch; with the
 * weights of all layers. Below 2^60 no sum of sizes overflows int64_t. */
static double bound_bytes(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    const ek_job_parallel *p = &job->parallel;
    double tokens = (double)p->batch * p->seq_length / p->context * p->n_batch_interleave;
    double heads = (double)m->n_heads * (m->head_dim + m->value_dim) +
                   (double)m->n_kv_heads * (m->head_dim + m->value_dim) + m->q_lora_rank + m->kv_lora_rank +
                   m->rope_dim;
    double capacity = m->capacity_factor > 0 ? m->capacity_factor : 1;
    double routed = (double)m->top_k * (capacity > 1 ? capacity : 1) * job->rules.moe_imbalance;
    double experts = m->n_experts ? routed * (2.0 * m->hidden + 4.0 * m->expert_intermediate) +
                                        4.0 * m->shared_intermediate + 4.0 * m->n_experts * (1 + capacity)
                                  : 0;
    double width = 12.0 * m->hidden + 4 * heads + 8.0 * m->intermediate + experts + 16.0 * m->n_heads;
    double scores = m->flash_attention ? 0 : 4.0 * p->batch * m->n_heads * (double)p->seq_length * p->seq_length;
    double mask = 4.0 * p->batch * (double)p->seq_length * p->seq_length;
    double layer = 16 * (tokens * width + scores + mask);
    double weights = 64.0 * m->hidden *
                     (heads + 3.0 * m->intermediate + m->vocab + 3.0 * m->n_experts * m->expert_intermediate +
                      3.0 * m->shared_intermediate + m->max_position);
    double alive = (double)p->n_micro_batches * p->n_accumulation;
    return (layer * alive + weights) * (m->n_layers + m->n_prediction_layers) + 64.0 * tokens * m->vocab;
}

static ek_status check_sizes(const checker *c)
{
    const double most = ldexp(1, 60), bytes = bound_bytes(c->job);
    if (bytes < most)
        return EK_OK;
    return ek__fail(c->err, EK_ERR_INPUT, origin_of_either(c, SEQUENCE, HIDDEN),
                    "the job's tensors together could be %.3g bytes (%s %d, %s %d, %s %d, %s %d), expected less than "
                    "%.3g; correct the sizes",
                    bytes, name_of(c, BATCH), c->job->parallel.batch, name_of(c, SEQUENCE), c->job->parallel.seq_length,
                    name_of(c, HIDDEN), c->job->model.hidden, name_of(c, MICRO_BATCHES),
                    c->job->parallel.n_micro_batches, most);
}

ek_status ek__job_check(const ek_job *job, const ek__config_tree *doc, ek_error *err)
{
    static ek_status (*const checks[])(const checker *) = {
        check_parallel_ranges, check_model_ranges, check_expert_ranges,     check_ranks,         check_experts,
        check_instances,       check_divisions,    check_sequence_parallel, check_micro_batches, check_interleave,
        check_pipeline,        check_plan,         check_trainer,           check_sizes};
    const checker c = {job, doc, err};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && status == EK_OK; i++)
        status = checks[i](&c);
    return status;
}

ek_status ek_job_check(const ek_job *job, ek_error *err)
{
    return ek__job_check(job, NULL, err);
}
