/* A Hugging Face config.json: the shapes of a model, and nothing of a run. The run is taken to be one of Megatron-LM in
 * bf16 with its distributed optimizer, spread as the overrides say. What a type of model has without a key of its own
 * (biases of Qwen2, norms of Qwen3's heads) follows the configuration classes of transformers 4.51. */
#include <assert.h>
#include <string.h>

#include "job/megatron.h"

enum { USUAL_LENGTH = 4096 };

/* What a model type has where its file says nothing. */
typedef struct kind {
    const char *type;
    bool qkv_bias, linear_bias, qk_norm, tied;
    bool old; /* as GPT-2: layer norms, GELU, learned positions */
} kind;

static const kind kinds[] = {
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral"},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true},
    {.type = "qwen3", .qk_norm = true},
    {.type = "qwen3_moe", .qk_norm = true},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3"},
    {.type = "glm4"},
    {.type = "glm"},
    {.type = "chatglm", .qkv_bias = true},
    {.type = "internlm2"},
    {.type = "baichuan"},
    {.type = "gpt2", .qkv_bias = true, .linear_bias = true, .tied = true, .old = true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

typedef struct reader {
    ek__in in;
    const ek_job_overrides *overrides;
    ek_job *job;
    const ek__node *map; /* the language model's keys */
    kind kind;
    int vocab;
} reader;

/* A number that goes by several names. */
typedef struct number {
    const char *name[4]; /* NULL behind the last */
    int min, max;
    int *out;
} number;

static const ek__node *find(const reader *r, const char *const name[4])
{
    const ek__node *node = NULL;
    for (int i = 0; i < 4 && name[i] && !node; i++)
        node = ek__get(r->map, name[i]);
    return node;
}

static ek_status read_numbers(const reader *r, const number *numbers, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek__node *node = find(r, numbers[i].name);
        if (node)
            status = ek__int(&r->in, node, numbers[i].min, numbers[i].max, "it is a size of the model", numbers[i].out);
    }
    return status;
}

static ek_status read_switch(const reader *r, const char *key, bool *out)
{
    const ek__node *node = ek__get(r->map, key);
    return node ? ek__bool(&r->in, node, "it is a switch of the model", out) : EK_OK;
}

static ek_origin place_of(const reader *r, const char *key)
{
    const ek__node *node = ek__get(r->map, key);
    return ek__node_origin(r->in.doc, node ? node : r->map);
}

/* ---- the model ---- */

static ek_status read_kind(reader *r)
{
    const ek__node *type = ek__get(r->map, "model_type");
    if (!type) {
        ek__warn(r->in.listener, place_of(r, "model_type"),
                 "no model_type is given; what only the type would tell is taken as in llama");
        return EK_OK;
    }
    ek_status status = ek__string(&r->in, type, sizeof r->job->name, "name the type of the model", r->job->name);
    for (int i = 0; i < N_KINDS && status == EK_OK; i++) {
        if (strcmp(kinds[i].type, type->text) == 0) {
            r->kind = kinds[i];
            return EK_OK;
        }
    }
    if (status == EK_OK)
        ek__warn_at(&r->in, type,
                    "is '%s', which is not known here; what only the type would tell is taken as in llama", type->text);
    return status;
}

static ek_status read_shapes(reader *r)
{
    ek_job_model *m = &r->job->model;
    int length = 0;
    const number numbers[] = {
        {{"num_hidden_layers", "num_layers", "n_layer"}, 1, EK_MAX_LAYERS, &m->n_layers},
        {{"hidden_size", "n_embd"}, 1, EK__JOB_MAX_HIDDEN, &m->hidden},
        {{"num_attention_heads", "n_head"}, 1, EK__JOB_MAX_HEADS, &m->n_heads},
        {{"num_key_value_heads", "multi_query_group_num"}, 1, EK__JOB_MAX_HEADS, &m->n_kv_heads},
        {{"head_dim", "kv_channels"}, 1, EK__JOB_MAX_HIDDEN, &m->head_dim},
        {{"intermediate_size", "ffn_hidden_size", "n_inner"}, 1, EK__JOB_MAX_WIDTH, &m->intermediate},
        {{"padded_vocab_size", "vocab_size"}, 1, EK__JOB_MAX_WIDTH, &r->vocab},
        {{"max_position_embeddings", "seq_length", "n_positions"}, 1, EK__JOB_MAX_SEQUENCE, &length},
        {{"num_nextn_predict_layers"}, 0, EK_MAX_LAYERS, &m->n_prediction_layers},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status)
        return status;
    const struct {
        const char *key;
        int value;
    } needed[] = {{"num_hidden_layers", m->n_layers},
                  {"hidden_size", m->hidden},
                  {"num_attention_heads", m->n_heads},
                  {"vocab_size", r->vocab}};
    const ek__node *unused;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].value == 0)
            return ek__require(&r->in, r->map, needed[i].key, "it is a size that every model has", &unused);
    if (m->n_kv_heads == 0)
        m->n_kv_heads = m->n_heads;
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->n_heads > 0 ? m->hidden / m->n_heads : 1;
    m->value_dim = m->head_dim;
    if (m->intermediate == 0)
        m->intermediate = 4 * m->hidden;
    m->max_position = length;
    return EK_OK;
}

static ek_status read_layer(reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *attention = ek__get(r->map, "attention_dropout"), *hidden = ek__get(r->map, "hidden_dropout");
    m->gated = !r->kind.old;
    m->fused_swiglu = m->gated;
    m->layer_norm = m->position_table = r->kind.old;
    m->qkv_bias = r->kind.qkv_bias;
    m->linear_bias = r->kind.linear_bias;
    m->qk_norm = r->kind.qk_norm;
    m->tied = r->kind.tied;
    m->flash_attention = m->mask_compressed = true;
    if (r->kind.old) {
        m->attention_dropout = m->hidden_dropout = 0.1;
        attention = ek__get(r->map, "attn_pdrop");
        hidden = ek__get(r->map, "resid_pdrop");
    }
    ek_status status = read_switch(r, "tie_word_embeddings", &m->tied);
    if (status == EK_OK)
        status = read_switch(r, "attention_bias", &m->qkv_bias);
    if (status == EK_OK)
        status = read_switch(r, "add_qkv_bias", &m->qkv_bias);
    if (status == EK_OK)
        status = read_switch(r, "mlp_bias", &m->linear_bias);
    if (status == EK_OK)
        status = read_switch(r, "add_bias_linear", &m->linear_bias);
    if (status == EK_OK && attention)
        status = ek__number(&r->in, attention, 0, 1, "it is a probability", &m->attention_dropout);
    if (status == EK_OK && hidden)
        status = ek__number(&r->in, hidden, 0, 1, "it is a probability", &m->hidden_dropout);
    return status;
}

static ek_status read_latent(reader *r)
{
    ek_job_model *m = &r->job->model;
    const number numbers[] = {
        {{"kv_lora_rank"}, 1, EK__JOB_MAX_HIDDEN, &m->kv_lora_rank},
        {{"q_lora_rank"}, 1, EK__JOB_MAX_HIDDEN, &m->q_lora_rank},
        {{"qk_nope_head_dim"}, 1, EK__JOB_MAX_HIDDEN, &m->nope_dim},
        {{"qk_rope_head_dim"}, 0, EK__JOB_MAX_HIDDEN, &m->rope_dim},
        {{"v_head_dim"}, 1, EK__JOB_MAX_HIDDEN, &m->value_dim},
    };
    const ek__node *unused;
    if (!ek__get(r->map, "kv_lora_rank"))
        return EK_OK;
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    for (int i = 2; i < 5 && status == EK_OK; i++)
        status = ek__require(&r->in, r->map, numbers[i].name[0], "latent attention (kv_lora_rank) needs it", &unused);
    m->head_dim = m->nope_dim + m->rope_dim;
    m->n_kv_heads = m->n_heads;
    return status;
}

static ek_status read_experts(reader *r)
{
    ek_job_model *m = &r->job->model;
    const number numbers[] = {
        {{"n_routed_experts", "num_experts", "num_local_experts"}, 0, EK__JOB_MAX_EXPERTS, &m->n_experts},
        {{"num_experts_per_tok"}, 1, EK__JOB_MAX_EXPERTS, &m->top_k},
        {{"moe_intermediate_size"}, 1, EK__JOB_MAX_WIDTH, &m->expert_intermediate},
        {{"n_shared_experts"}, 0, EK__JOB_MAX_EXPERTS, &m->n_shared_experts},
        {{"shared_expert_intermediate_size"}, 0, EK__JOB_MAX_WIDTH, &m->shared_intermediate},
        {{"first_k_dense_replace"}, 0, EK_MAX_LAYERS, &m->n_dense_layers},
        {{"decoder_sparse_step", "moe_layer_freq"}, 1, EK_MAX_LAYERS, &m->expert_period},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status || m->n_experts == 0)
        return status;
    if (m->expert_intermediate == 0)
        m->expert_intermediate = m->intermediate;
    int64_t shared = (int64_t)m->n_shared_experts * m->expert_intermediate;
    if (m->shared_intermediate == 0)
        m->shared_intermediate = shared <= EK__JOB_MAX_WIDTH ? (int)shared : EK__JOB_MAX_WIDTH + 1;
    else if (m->n_shared_experts == 0)
        m->n_shared_experts = 1;
    m->grouped_matmul = true;
    const ek__node *dense = ek__get(r->map, "mlp_only_layers");
    if (dense && dense->kind == EK__LIST && dense->n > 0)
        ek__warn_at(&r->in, dense, "names layers without experts, which is not modelled; they are taken to have some");
    return EK_OK;
}

/* ---- the run ---- */

/* What PyTorch's DistributedDataParallel does without being told: gradients are reduced behind the backward pass in
 * buckets of 25 MiB (bucket_cap_mb). */
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
    ek_job_model *m = &r->job->model;
    ek_job_parallel *p = &r->job->parallel;
    const ek__megatron_types types = {
        .weight = EK_BF16, .gradient_fp32 = true, .distributed = true, .master = 4, .first = 4, .second = 4};
    int length = m->max_position;
    p->sequence_parallel = true;
    p->n_micro_batches = p->expert_tensor = 0;
    p->seq_length = length > 0 && length < USUAL_LENGTH ? length : USUAL_LENGTH;
    if (r->overrides->seq_length == 0)
        ek__warn(r->in.listener, place_of(r, "max_position_embeddings"),
                 "the file does not say how long training sequences are; %d tokens are taken%s", p->seq_length,
                 length > USUAL_LENGTH ? ", fewer than the model's positions" : "");
    if (m->max_position == 0)
        m->max_position = p->seq_length;
    ek__job_override_sizes(r->overrides, r->job);
    if (p->n_micro_batches == 0) {
        p->n_micro_batches = p->pipeline;
        ek__warn(r->in.listener, (ek_origin){ek__doc_name(r->in.doc), 0, 0},
                 "the file does not say how many micro-batches a step has; %d %s taken, one for each stage",
                 p->pipeline, p->pipeline > 1 ? "are" : "is");
    }
    p->expert_tensor = p->tensor;
    m->vocab = ek__megatron_padded(r->vocab, 128, p->tensor);
    ek__megatron_derive(r->job);
    ek__megatron_states(&types, r->job);
    read_overlaps(r->job);
    return ek__job_spread(r->job, 1, r->in.err);
}

/* ---- all of it ---- */

/* Where the language model's keys are; models for pictures too have them in a map of their own. */
static const ek__node *find_map(const ek__job_source *source)
{
    static const char *const layers[] = {"num_hidden_layers", "num_layers", "n_layer"};
    const ek__node *root = source->doc ? ek__doc_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP || ek__get(root, "parallel_config"))
        return NULL;
    const ek__node *maps[] = {root, ek__get(root, "text_config"), ek__get(root, "llm_config")};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            if (maps[k] && maps[k]->kind == EK__MAP && ek__get(maps[k], layers[i]) &&
                (ek__get(maps[k], "hidden_size") || ek__get(maps[k], "n_embd")))
                return maps[k];
    return NULL;
}

static bool recognises(const ek__job_source *source)
{
    return find_map(source) != NULL;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    static ek_status (*const steps[])(reader *) = {read_kind,   read_shapes,  read_layer,
                                                   read_latent, read_experts, read_run};
    reader r = {.in = {source->doc, source->listener, source->err},
                .overrides = overrides,
                .job = job,
                .map = find_map(source)};
    assert(r.map); /* it was recognised */
    ek__megatron_defaults(job, EK_MEGATRON);
    ek__job_name_after(source->path, job);
    if (r.map->parent)
        ek__warn_at(&r.in, r.map, "is the language part of the model; the rest is not predicted");
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}

const ek__job_format ek__job_hugging_face = {
    .name = "a config.json of Hugging Face",
    .recognises = recognises,
    .read = read_job,
};
