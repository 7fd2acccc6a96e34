/* Reads the model of a Hugging Face config.json: its shapes, and the properties of its type that have no key. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/hugging_face.h"

typedef ek__hf_model reader;

/* A number with several names. */
typedef struct number {
    const char *name[5]; /* NULL after the last */
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

static ek_status read_kind(reader *r)
{
    const ek__node *type = ek__get(r->map, "model_type");
    if (!type) {
        ek__warn(r->in.listener, place_of(r, "model_type"),
                 "no model_type is given; defaults of the type are those of llama");
        return EK_OK;
    }
    ek_status status = ek__string(&r->in, type, sizeof r->job->name, "name the type of the model", r->job->name);
    if (status)
        return status;
    const ek__hf_kind *kind = ek__hf_find_kind(type->text);
    if (!kind) {
        r->unknown = true;
        ek__warn_at(&r->in, type, "is '%s', which is not known here; defaults of the type are those of llama",
                    type->text);
        return EK_OK;
    }
    r->kind = *kind;
    if (kind->otherwise)
        return ek__fail_at(&r->in, type, "is '%s', whose layers %s; such a model is not predicted", type->text,
                           kind->otherwise);
    if (kind->post_norms)
        ek__warn_at(&r->in, type,
                    "is '%s', which also has norms after the attention and after the feed-forward part; neither their "
                    "saved activations nor their time is predicted",
                    type->text);
    return EK_OK;
}

/* Falcon and StarCoder have one head of keys and values, unless multi_query is off or Falcon's new blocks give a
 * number. */
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

/* Sizes that a file omits because they are its type's defaults, as in files of Gemma-3. */
static void take_defaults(reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__hf_sizes *d = r->kind.sizes;
    char told[320] = "";
    size_t n = 0;
    if (!d)
        return;
    const struct {
        const char *key;
        int value, *out;
    } sizes[] = {{"num_hidden_layers", d->n_layers, &m->n_layers},
                 {"hidden_size", d->hidden, &m->hidden},
                 {"num_attention_heads", d->n_heads, &m->n_heads},
                 {"num_key_value_heads", d->n_kv_heads, &m->n_kv_heads},
                 {"head_dim", d->head_dim, &m->head_dim},
                 {"intermediate_size", d->intermediate, &m->intermediate},
                 {"vocab_size", d->vocab, &r->vocab},
                 {"max_position_embeddings", d->max_position, &m->max_position},
                 {"num_local_experts", d->n_experts, &m->n_experts}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (*sizes[i].out > 0 || sizes[i].value == 0 || ek__get(r->map, sizes[i].key))
            continue;
        *sizes[i].out = sizes[i].value;
        if (n < sizeof told)
            n += (size_t)snprintf(told + n, sizeof told - n, "%s%s %d", n ? ", " : "", sizes[i].key, sizes[i].value);
    }
    if (n > 0)
        ek__warn(r->in.listener, place_of(r, "model_type"), "the file relies on defaults of %s: %s", d->source, told);
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
        const int *value;
    } needed[] = {{"num_hidden_layers", &m->n_layers},
                  {"hidden_size", &m->hidden},
                  {"num_attention_heads", &m->n_heads},
                  {"vocab_size", &r->vocab}};
    const ek__node *unused;
    m->max_position = length;
    take_defaults(r);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (*needed[i].value == 0)
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
    return EK_OK;
}

/* Keys for the biases of all linear layers. */
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
    int top = 0;
    const number numbers[] = {
        {{"n_routed_experts", "num_experts", "num_local_experts"}, 0, EK__JOB_MAX_EXPERTS, &m->n_experts},
        {{"num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k", "moe_top_k"}, 1, EK__JOB_MAX_EXPERTS, &top},
        {{"moe_intermediate_size"}, 1, EK__JOB_MAX_WIDTH, &m->expert_intermediate},
        {{"n_group"}, 0, EK__JOB_MAX_EXPERTS, &m->router_groups},
        {{"topk_group"}, 0, EK__JOB_MAX_EXPERTS, &m->router_top_groups},
        {{"n_shared_experts"}, 0, EK__JOB_MAX_EXPERTS, &m->n_shared_experts},
        {{"shared_expert_intermediate_size"}, 0, EK__JOB_MAX_WIDTH, &m->shared_intermediate},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    const ek__node *dense = ek__get(r->map, "intermediate_size_mlp");
    if (status == EK_OK && m->n_experts == 0 && r->unknown)
        status = ek__hf_check_experts(&r->in, r->map);
    if (status == EK_OK && m->n_experts > 0)
        status = ek__hf_read_expert_layers(&r->in, r->map, m);
    if (m->expert_intermediate == 0)
        m->expert_intermediate = m->intermediate;
    if (r->kind.mlp_width) { /* layers without experts have their own width */
        m->intermediate = r->kind.mlp_width;
        if (status == EK_OK && dense)
            status = ek__int(&r->in, dense, 1, EK__JOB_MAX_WIDTH, "it is a size of the model", &m->intermediate);
    }
    if (status || m->n_experts == 0)
        return status;
    if (top == 0 && r->kind.top_k == 0)
        ek__warn(r->in.listener, place_of(r, "num_experts"),
                 "the number of the %d experts for each token (num_experts_per_tok) is missing; %d is used",
                 m->n_experts, m->top_k);
    m->top_k = top > 0 ? top : r->kind.top_k > 0 ? r->kind.top_k : m->top_k;
    if (r->kind.shared_expert && m->n_shared_experts == 0)
        m->n_shared_experts = 1;
    int64_t shared = (int64_t)m->n_shared_experts * m->expert_intermediate;
    if (m->shared_intermediate == 0)
        m->shared_intermediate = shared <= EK__JOB_MAX_WIDTH ? (int)shared : EK__JOB_MAX_WIDTH + 1;
    else if (m->n_shared_experts == 0)
        m->n_shared_experts = 1;
    m->grouped_matmul = true;
    return EK_OK;
}

/* ---- not modelled ---- */

static ek_status check_layers(reader *r)
{
    ek_status status = ek__hf_check_layers(&r->in, r->map);
    const ek__node *width = ek__get(r->map, "intermediate_size_mlp");
    if (status == EK_OK && width && !ek__node_is_null(width) && !r->kind.mlp_width)
        return ek__fail_at(&r->in, width,
                           "gives some layers a different width, which is known only for llama4_text; remove it, or "
                           "set that model_type");
    return status;
}

/* ---- its place ---- */

/* Does a map have the sizes of a language model, or a type with default sizes? */
static bool has_model(const ek__node *map)
{
    static const char *const layers[] = {"num_hidden_layers", "num_layers", "n_layer"};
    if (!map || map->kind != EK__MAP)
        return false;
    const ek__node *type = ek__get(map, "model_type");
    const ek__hf_kind *kind = type && type->kind == EK__SCALAR ? ek__hf_find_kind(type->text) : NULL;
    if (kind && kind->sizes)
        return true;
    for (int i = 0; i < 3; i++)
        if (ek__get(map, layers[i]) &&
            (ek__get(map, "hidden_size") || ek__get(map, "n_embd") || ek__get(map, "n_embed")))
            return true;
    return false;
}

const ek__node *ek__hf_find_model(const ek__config_tree *doc)
{
    static const char *const inside[] = {"text_config", "llm_config", "language_config"};
    const ek__node *root = doc ? ek__config_root(doc) : NULL;
    if (!root || root->kind != EK__MAP || ek__get(root, "parallel_config"))
        return NULL;
    if (has_model(root))
        return root;
    for (int i = 0; i < 3; i++)
        if (has_model(ek__get(root, inside[i])))
            return ek__get(root, inside[i]);
    return NULL;
}

/* Image and audio towers next to the language model, each by its name. */
static void warn_towers(const reader *r)
{
    bool told = false;
    for (const ek__node *part = ek__config_root(r->in.doc)->first; part; part = part->next) {
        size_t n = strlen(part->key);
        if (part == r->map || part->kind != EK__MAP || n < 8 || strcmp(part->key + n - 7, "_config") != 0 ||
            (!ek__get(part, "hidden_size") && !ek__get(part, "num_hidden_layers") && !ek__get(part, "model_type")))
            continue;
        ek__warn_at(&r->in, part, "is a part of the model outside its language model; it is not predicted");
        told = true;
    }
    if (r->map->parent && !told)
        ek__warn_at(&r->in, r->map, "is the language part of the model; the rest is not predicted");
}

/* Attention only to the last tokens or to those of a chunk, in some layers or all. */
void ek__hf_warn_window(const ek__hf_model *r)
{
    static const char *const keys[] = {"sliding_window", "attention_chunk_size"};
    const ek__node *on = ek__get(r->map, "use_sliding_window");
    const int length = r->job->parallel.seq_length;
    bool off = on && on->kind == EK__SCALAR && strcmp(on->text, "false") == 0, told = off;
    double tokens = 0;
    for (int i = 0; i < 2; i++) {
        const ek__node *window = ek__get(r->map, keys[i]);
        told = told || window;
        if (window && !(off && i == 0) && window->kind == EK__SCALAR && ek__text_is_number(window->text, &tokens) &&
            tokens < length)
            ek__warn_at(&r->in, window,
                        "is %.40s, fewer than the %d tokens of a sequence; attention is predicted over all of them",
                        window->text, length);
    }
    const ek__node *types = ek__get(r->map, "layer_types"), *part = NULL;
    for (const ek__node *type = types && types->kind == EK__LIST ? types->first : NULL; type && !part;
         type = type->next)
        if (type->kind == EK__SCALAR &&
            (strcmp(type->text, "sliding_attention") == 0 || strcmp(type->text, "chunked_attention") == 0))
            part = type;
    if (!told && part && r->kind.window == 0)
        ek__warn_at(&r->in, types,
                    "has layers of %s, but the number of tokens is missing; it is predicted over all of them",
                    part->text);
    if (!told && r->kind.window > 0 && r->kind.window < length)
        ek__warn(r->in.listener, place_of(r, "model_type"),
                 "the type has attention to %d tokens in most layers, fewer than the %d of a sequence; it is predicted "
                 "over all of them",
                 r->kind.window, length);
}

ek_status ek__hf_read_model(ek__hf_model *r)
{
    static ek_status (*const steps[])(reader *) = {read_kind,   read_shapes,  read_layer,
                                                   read_latent, read_experts, check_layers};
    ek_status status = EK_OK;
    assert(r->map && r->job);
    warn_towers(r);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](r);
    return status;
}
