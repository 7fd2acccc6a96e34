/* A Hugging Face config.json: the shapes of a model, and nothing of a run. The run is taken to be one of Megatron-LM in
 * bf16 with its distributed optimizer, spread as the overrides say. What a type of model has without a key of its own
 * (biases of Qwen2, norms of Qwen3's heads) follows the configuration classes of transformers 4.51. */
#include <assert.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/megatron.h"

enum { USUAL_LENGTH = 4096 };

/* What a model type has where its file says nothing. `dropout` is that of PretrainedConfig's subclass, for both. */
typedef struct kind {
    const char *type;
    bool qkv_bias, linear_bias, qk_norm, tied;
    bool plain; /* two matrices around an activation, not three with a gate */
    bool layer_norm, position_table;
    double dropout;
    bool one_kv_head;   /* unless num_kv_heads counts (new_decoder_architecture) */
    bool shared_expert; /* as wide as intermediate_size */
    bool no_attention;  /* state spaces or linear attention in place of it, in some layers or all */
} kind;

#define LIKE_GPT .plain = true, .layer_norm = true
#define BIASES   .qkv_bias = true, .linear_bias = true

static const kind kinds[] = {
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral"},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true},
    {.type = "qwen3", .qk_norm = true},
    {.type = "qwen3_moe", .qk_norm = true},
    {.type = "qwen3_next", .qk_norm = true, .no_attention = true},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3"},
    {.type = "glm4"},
    {.type = "glm"},
    {.type = "glm4_moe"},
    {.type = "chatglm", .qkv_bias = true},
    {.type = "internlm2"},
    {.type = "baichuan"},
    {.type = "phi3"},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .tied = true},
    {.type = "gemma3_text", .qk_norm = true, .tied = true},
    {.type = "cohere", .layer_norm = true, .tied = true},
    {.type = "olmo", .layer_norm = true},
    {.type = "olmo2", .qk_norm = true},
    {.type = "granite"},
    {.type = "stablelm", .layer_norm = true},
    {.type = "gpt_oss", BIASES},
    {.type = "llama4_text", .shared_expert = true},
    {.type = "gpt2", LIKE_GPT, BIASES, .tied = true, .position_table = true, .dropout = 0.1},
    {.type = "gpt_bigcode",
     LIKE_GPT,
     BIASES,
     .tied = true,
     .position_table = true,
     .dropout = 0.1,
     .one_kv_head = true},
    {.type = "gpt_neox", LIKE_GPT, BIASES},
    {.type = "gptj", LIKE_GPT},
    {.type = "phi", LIKE_GPT, BIASES},
    {.type = "opt", LIKE_GPT, BIASES, .tied = true, .position_table = true},
    {.type = "bloom", LIKE_GPT, BIASES, .tied = true},
    {.type = "falcon", LIKE_GPT, .tied = true, .one_kv_head = true},
    {.type = "starcoder2", LIKE_GPT, BIASES, .tied = true},
    {.type = "mamba", .no_attention = true},
    {.type = "mamba2", .no_attention = true},
    {.type = "falcon_mamba", .no_attention = true},
    {.type = "jamba", .no_attention = true},
    {.type = "zamba", .no_attention = true},
    {.type = "zamba2", .no_attention = true},
    {.type = "bamba", .no_attention = true},
    {.type = "falcon_h1", .no_attention = true},
    {.type = "nemotron_h", .no_attention = true},
    {.type = "granitemoehybrid", .no_attention = true},
    {.type = "minimax", .no_attention = true},
    {.type = "recurrent_gemma", .no_attention = true},
    {.type = "rwkv", .no_attention = true},
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
    const char *name[5]; /* NULL behind the last */
    int min, max;
    int *out;
} number;

static const ek__node *find(const reader *r, const char *const name[5])
{
    const ek__node *node = NULL;
    for (int i = 0; i < 5 && name[i] && !node; i++)
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

/* A model without any attention is none that can be read as one; one with some is, which is told. */
static ek_status read_mixture(const reader *r, const ek__node *type)
{
    if (!ek__get(r->map, "num_attention_heads"))
        return ek__fail(r->in.err, EK_ERR_INPUT, ek__node_origin(r->in.doc, type),
                        "model_type is '%s', whose layers have no attention; such models are not predicted",
                        type->text);
    ek__warn_at(&r->in, type,
                "is '%s', in which layers have a state space or linear attention; all are predicted as attention with "
                "a feed-forward part, so that memory and time are not those of the model",
                type->text);
    return EK_OK;
}

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
            return r->kind.no_attention ? read_mixture(r, type) : EK_OK;
        }
    }
    if (status == EK_OK)
        ek__warn_at(&r->in, type,
                    "is '%s', which is not known here; what only the type would tell is taken as in llama", type->text);
    return status;
}

/* Falcon's and StarCoder's one head of keys and values, unless multi_query is off or Falcon's new blocks count them. */
static ek_status read_one_head(const reader *r, bool *one)
{
    bool counted = false;
    if (!*one)
        return EK_OK;
    ek_status status = read_switch(r, "multi_query", one);
    if (status == EK_OK)
        status = read_switch(r, "new_decoder_architecture", &counted);
    *one = *one && !counted;
    return status;
}

static ek_status read_shapes(reader *r)
{
    ek_job_model *m = &r->job->model;
    int length = 0;
    const number numbers[] = {
        {{"num_hidden_layers", "num_layers", "n_layer"}, 1, EK_MAX_LAYERS, &m->n_layers},
        {{"hidden_size", "n_embd", "n_embed"}, 1, EK__JOB_MAX_HIDDEN, &m->hidden},
        {{"num_attention_heads", "n_head"}, 1, EK__JOB_MAX_HEADS, &m->n_heads},
        {{"num_key_value_heads", "multi_query_group_num", "num_kv_heads"}, 1, EK__JOB_MAX_HEADS, &m->n_kv_heads},
        {{"head_dim", "kv_channels"}, 1, EK__JOB_MAX_HIDDEN, &m->head_dim},
        {{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"}, 1, EK__JOB_MAX_WIDTH, &m->intermediate},
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
    bool one = r->kind.one_kv_head;
    status = read_one_head(r, &one);
    if (status)
        return status;
    if (one || m->n_kv_heads == 0)
        m->n_kv_heads = one ? 1 : m->n_heads;
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->n_heads > 0 ? m->hidden / m->n_heads : 1;
    m->value_dim = m->head_dim;
    if (m->intermediate == 0)
        m->intermediate = 4 * m->hidden;
    m->max_position = length;
    return EK_OK;
}

/* Keys that stand for the biases of all linear layers. */
static ek_status read_all_biases(const reader *r)
{
    static const char *const keys[] = {"use_bias", "enable_bias", "bias"};
    ek_job_model *m = &r->job->model;
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == EK_OK; i++) {
        bool all = m->linear_bias;
        if (!ek__get(r->map, keys[i]) || !r->kind.plain)
            continue;
        status = read_switch(r, keys[i], &all);
        m->qkv_bias = m->linear_bias = all;
    }
    return status;
}

static ek_status read_layer(reader *r)
{
    ek_job_model *m = &r->job->model;
    const char *const attention_names[5] = {"attention_dropout", "attn_pdrop"};
    const char *const hidden_names[5] = {"hidden_dropout", "resid_pdrop", "dropout"};
    const ek__node *attention = find(r, attention_names), *hidden = find(r, hidden_names);
    m->gated = !r->kind.plain;
    m->fused_swiglu = m->gated;
    m->layer_norm = r->kind.layer_norm;
    m->position_table = r->kind.position_table;
    m->qkv_bias = r->kind.qkv_bias;
    m->linear_bias = r->kind.linear_bias;
    m->qk_norm = r->kind.qk_norm;
    m->tied = r->kind.tied;
    m->flash_attention = m->mask_compressed = true;
    m->attention_dropout = m->hidden_dropout = r->kind.dropout;
    ek_status status = read_switch(r, "tie_word_embeddings", &m->tied);
    if (status == EK_OK)
        status = read_switch(r, "attention_bias", &m->qkv_bias);
    if (status == EK_OK)
        status = read_switch(r, "add_qkv_bias", &m->qkv_bias);
    if (status == EK_OK)
        status = read_switch(r, "mlp_bias", &m->linear_bias);
    if (status == EK_OK)
        status = read_switch(r, "add_bias_linear", &m->linear_bias);
    if (status == EK_OK)
        status = read_all_biases(r);
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
        {{"n_group"}, 0, EK__JOB_MAX_EXPERTS, &m->router_groups},
        {{"topk_group"}, 0, EK__JOB_MAX_EXPERTS, &m->router_top_groups},
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
    if (r->kind.shared_expert && m->n_shared_experts == 0)
        m->n_shared_experts = 1;
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

/* ---- what is not modelled ---- */

static bool is_nothing(const ek__node *node)
{
    double value = 0;
    if (node->kind != EK__SCALAR)
        return node->n == 0;
    return strcmp(node->text, "null") == 0 || (ek__text_is_number(node->text, &value) && value == 0);
}

/* The first of the kinds of layers that is neither attention to all tokens nor to a window or chunk of them. */
static const ek__node *find_other_kind(const ek__node *types)
{
    static const char *const attention[] = {"full_attention", "sliding_attention", "chunked_attention"};
    for (const ek__node *type = types->first; type; type = type->next) {
        bool known = type->kind != EK__SCALAR;
        for (int k = 0; k < 3 && !known; k++)
            known = strcmp(type->text, attention[k]) == 0;
        if (!known)
            return type;
    }
    return NULL;
}

/* Keys that change layers in a way that is predicted otherwise are named, so that none passes for a Llama's. */
static ek_status warn_other_layers(reader *r)
{
    static const struct {
        const char *key, *what;
    } keys[] = {
        {"intermediate_size_mlp", "is the width of layers without experts; they are taken to have intermediate_size"},
        {"num_kv_shared_layers", "counts layers that share keys and values; each is taken to have its own"},
        {"cross_attention_layers", "names layers of cross-attention; they are taken as self-attention"},
        {"attn_layer_period", "sets how often a layer has attention; all layers are taken to have it"},
        {"hybrid_override_pattern",
         "gives layers of several kinds; all are taken as attention with a feed-forward part"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const ek__node *node = ek__get(r->map, keys[i].key);
        if (node && !is_nothing(node))
            ek__warn_at(&r->in, node, "%s", keys[i].what);
    }
    const ek__node *types = ek__get(r->map, "layer_types");
    const ek__node *other = types && types->kind == EK__LIST ? find_other_kind(types) : NULL;
    if (other)
        ek__warn_at(&r->in, types, "has layers of the kind '%.40s'; all are taken as layers of attention", other->text);
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

/* Attention to the last tokens alone, in some layers or all. */
static void warn_window(const reader *r)
{
    const ek__node *window = ek__get(r->map, "sliding_window"), *on = ek__get(r->map, "use_sliding_window");
    double tokens = 0;
    bool off = on && on->kind == EK__SCALAR && strcmp(on->text, "false") == 0;
    if (window && !off && window->kind == EK__SCALAR && ek__text_is_number(window->text, &tokens) &&
        tokens < r->job->parallel.seq_length)
        ek__warn_at(&r->in, window,
                    "is %.40s, fewer than the %d tokens of a sequence; attention is predicted over all of them",
                    window->text, r->job->parallel.seq_length);
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
    warn_window(r);
    if (p->n_micro_batches == 0) {
        p->n_micro_batches = p->pipeline;
        ek__warn(r->in.listener, (ek_origin){ek__config_name(r->in.doc), 0, 0},
                 "the file does not say how many micro-batches a step has; %d %s taken, one for each stage",
                 p->pipeline, p->pipeline > 1 ? "are" : "is");
    }
    p->expert_tensor = p->tensor;
    m->vocab_multiple = 128;
    m->vocab_told = r->vocab;
    m->vocab = ek__megatron_padded(r->vocab, m->vocab_multiple, p->tensor);
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
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP || ek__get(root, "parallel_config"))
        return NULL;
    const ek__node *maps[] = {root, ek__get(root, "text_config"), ek__get(root, "llm_config")};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            if (maps[k] && maps[k]->kind == EK__MAP && ek__get(maps[k], layers[i]) &&
                (ek__get(maps[k], "hidden_size") || ek__get(maps[k], "n_embd") || ek__get(maps[k], "n_embed")))
                return maps[k];
    return NULL;
}

static bool recognises(const ek__job_source *source)
{
    return find_map(source) != NULL;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    static ek_status (*const steps[])(reader *) = {read_kind,    read_shapes,       read_layer, read_latent,
                                                   read_experts, warn_other_layers, read_run};
    reader r = {.in = {source->doc, source->listener, source->err},
                .overrides = overrides,
                .job = job,
                .map = find_map(source)};
    assert(r.map); /* it was recognised */
    ek__megatron_defaults(job, EK_MEGATRON);
    ek__job_name_after(source->path, job);
    job->no_layout = true;
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
