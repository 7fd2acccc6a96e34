/* Reads which layers of a config.json have experts, and rejects layer kinds that are not modelled. The error names the
 * key, so that no such model is mistaken for a Llama; if only a part of a layer differs, a warning names the key and
 * the layer is predicted without that part. */
#include <string.h>

#include "evenkeel/layers.h"
#include "job/hugging_face.h"
#include "job/megatron.h"

/* ---- experts ---- */

typedef struct expert_layers {
    const ek__in *in;
    const ek__node *map;
    int n;                       /* layers */
    bool experts[EK_MAX_LAYERS]; /* whether each has experts */
    const ek__node *key;         /* the last key that set it */
} expert_layers;

/* A list of layers from 0, each of which gains or loses experts. */
static ek_status mark_listed(expert_layers *e, const ek__node *list, bool experts)
{
    ek_status status = ek__expect(e->in, list, EK__LIST, "it lists layers from 0");
    for (const ek__node *item = list->first; item && status == EK_OK; item = item->next) {
        int layer = 0;
        status = ek__int(e->in, item, 0, e->n - 1, "it is a layer, counted from 0", &layer);
        e->experts[layer] = experts;
    }
    e->key = list->n > 0 ? list : e->key;
    return status;
}

/* Experts in every `period`-th layer from `phase` on; the others have none. */
static ek_status mark_every(expert_layers *e, const ek__node *step, bool last_of_step)
{
    int every = 1;
    ek_status status = ek__int(e->in, step, 1, EK_MAX_LAYERS, "it counts layers", &every);
    for (int i = 0; i < e->n && status == EK_OK; i++)
        e->experts[i] = e->experts[i] && (last_of_step ? (i + 1) % every == 0 : i % every == 0);
    e->key = every > 1 ? step : e->key;
    return status;
}

/* A 0 or a 1 for each layer. */
static ek_status mark_each(expert_layers *e, const ek__node *list)
{
    int i = 0, one = 0;
    ek_status status = EK_OK;
    if (list->n != e->n)
        return ek__fail_at(e->in, list, "has %d entries, expected one for each of the %d layers; correct it", list->n,
                           e->n);
    for (const ek__node *item = list->first; item && status == EK_OK; item = item->next, i++) {
        status = ek__int(e->in, item, 0, 1, "it is 1 for a layer with experts", &one);
        e->experts[i] = e->experts[i] && one;
    }
    e->key = list;
    return status;
}

static ek_status mark_layers(expert_layers *e)
{
    const ek__node *first = ek__get(e->map, "first_k_dense_replace"), *step = ek__get(e->map, "decoder_sparse_step");
    const ek__node *frequency = ek__get(e->map, "moe_layer_freq"), *dense = ek__get(e->map, "mlp_only_layers");
    const ek__node *interleaved = ek__get(e->map, "interleave_moe_layer_step"), *listed = ek__get(e->map, "moe_layers");
    int n_first = 0;
    ek_status status = EK_OK;
    if (listed && listed->kind == EK__LIST && listed->n > 0) { /* Llama 4's; its step is ignored then */
        memset(e->experts, 0, sizeof e->experts);
        return mark_listed(e, listed, true);
    }
    if (first)
        status = ek__int(e->in, first, 0, EK_MAX_LAYERS, "it counts layers", &n_first);
    for (int i = 0; i < n_first && i < e->n && status == EK_OK; i++)
        e->experts[i] = false;
    e->key = n_first > 0 ? first : e->key;
    if (status == EK_OK && frequency) /* DeepSeek's is a period, others' a list */
        status = frequency->kind == EK__LIST ? mark_each(e, frequency) : mark_every(e, frequency, false);
    if (status == EK_OK && step) /* Qwen's and Llama 4's are the last of each step */
        status = mark_every(e, step, true);
    if (status == EK_OK && interleaved)
        status = mark_every(e, interleaved, true);
    if (status == EK_OK && dense && !ek__node_is_null(dense))
        status = mark_listed(e, dense, false);
    return status;
}

ek_status ek__hf_read_expert_layers(const ek__in *in, const ek__node *map, ek_job_model *m)
{
    expert_layers e = {.in = in, .map = map, .n = m->n_layers, .key = map};
    for (int i = 0; i < e.n; i++)
        e.experts[i] = true;
    ek_status status = mark_layers(&e);
    if (status)
        return status;
    if (ek__megatron_expert_layers(e.experts, e.n, &m->n_dense_layers, &m->expert_period))
        return EK_OK;
    return ek__fail_at(in, e.key,
                       "leaves experts in layers without a regular pattern after the first dense layers, which is not "
                       "modelled; correct it");
}

/* Is a value a number above 1? */
static bool is_several(const ek__node *node)
{
    double value = 0;
    return node->kind == EK__SCALAR && ek__text_is_number(node->text, &value) && value > 1;
}

/* Also in nested maps, as in DBRX. */
static const ek__node *find_expert_key(const ek__node *map)
{
    const ek__node *found = NULL;
    for (const ek__node *node = map->first; node && !found; node = node->next) {
        if (strstr(node->key, "expert") && is_several(node))
            found = node;
        else if (node->kind == EK__MAP && strstr(node->key, "ffn"))
            found = find_expert_key(node);
    }
    return found;
}

ek_status ek__hf_check_experts(const ek__in *in, const ek__node *map)
{
    const ek__node *key = find_expert_key(map);
    if (!key)
        return EK_OK;
    return ek__fail_at(in, key,
                       "is of a mixture of experts, but none of the known keys for their number is there "
                       "(n_routed_experts, num_experts, num_local_experts); add one of them");
}

/* ---- other kinds of layers ---- */

static bool is_nothing(const ek__node *node)
{
    double value = 0;
    if (node->kind != EK__SCALAR)
        return node->n == 0;
    return ek__node_is_null(node) || (ek__text_is_number(node->text, &value) && value == 0);
}

/* The first kind in a list that is neither attention to all tokens nor to a window or chunk of them. */
static const ek__node *find_other_kind(const ek__node *types)
{
    static const char *const attention[] = {"full_attention", "sliding_attention", "chunked_attention", "attention"};
    for (const ek__node *type = types->first; type; type = type->next) {
        bool known = false;
        for (int k = 0; k < 4 && type->kind == EK__SCALAR; k++)
            known = known || strcmp(type->text, attention[k]) == 0;
        if (!known)
            return type;
    }
    return NULL;
}

/* Keys that list a kind for each layer. */
static ek_status check_kinds(const ek__in *in, const ek__node *map)
{
    static const char *const keys[] = {"layer_types", "layers_block_type", "block_types"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const ek__node *types = ek__get(map, keys[i]);
        if (!types || ek__node_is_null(types))
            continue;
        ek_status status = ek__expect(in, types, EK__LIST, "it names the kind of each layer");
        const ek__node *other = status == EK_OK ? find_other_kind(types) : NULL;
        if (status)
            return status;
        if (other)
            return ek__fail_at(in, types,
                               "has layers of the kind '%.40s', which are not modelled; such a model is not "
                               "predicted",
                               other->kind == EK__SCALAR ? other->text : "?");
    }
    return EK_OK;
}

/* MiniMax has a number for each layer: 1 is attention, 0 a linear one. */
static ek_status check_numbers(const ek__in *in, const ek__node *map)
{
    const ek__node *types = ek__get(map, "attn_type_list");
    for (const ek__node *type = types ? types->first : NULL; type; type = type->next)
        if (type->kind != EK__SCALAR || strcmp(type->text, "1") != 0)
            return ek__fail_at(in, types,
                               "has layers with linear attention, which are not modelled; such a model is not "
                               "predicted");
    return EK_OK;
}

ek_status ek__hf_check_layers(const ek__in *in, const ek__node *map)
{
    static const struct {
        const char *key, *what;
    } refused[] = {
        {"attn_layer_period", "layers without attention between those with it"},
        {"attn_layer_indices", "layers without attention between those with it"},
        {"full_attn_idxs", "layers without attention between those with it"},
        {"full_attention_interval", "layers with linear attention between those with attention"},
        {"linear_attn_config", "layers with linear attention"},
        {"linear_num_value_heads", "layers with linear attention"},
        {"hybrid_override_pattern", "layers with a state space"},
        {"mamba_d_state", "layers with a state space"},
        {"mamba_d_ssm", "layers with a state space"},
        {"mamba_num_heads", "layers with a state space"},
        {"ssm_state_size", "layers with a state space"},
        {"state_size", "layers with a state space"},
        {"conv_L_cache", "layers with a convolution"},
        {"block_configs", "layers with different parts"},
        {"type_vocab_size", "layers of an encoder"},
    };
    static const struct {
        const char *key, *what;
    } named[] = {
        {"num_kv_shared_layers", "counts layers that share keys and values; each is taken to have its own"},
        {"cross_attention_layers", "names layers of cross-attention; they are taken as self-attention"},
    };
    const ek__node *encoder = ek__get(map, "is_encoder_decoder");
    ek_status status = check_kinds(in, map);
    if (status == EK_OK)
        status = check_numbers(in, map);
    if (status)
        return status;
    if (encoder && encoder->kind == EK__SCALAR && strcmp(encoder->text, "true") == 0)
        return ek__fail_at(in, encoder, "is on: a model with an encoder and a decoder is not predicted");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const ek__node *node = ek__get(map, refused[i].key);
        if (node && !is_nothing(node) && !(node->kind == EK__SCALAR && strcmp(node->text, "1") == 0))
            return ek__fail_at(in, node, "is of a model that has %s; such a model is not predicted", refused[i].what);
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        const ek__node *node = ek__get(map, named[i].key);
        if (node && !is_nothing(node))
            ek__warn_at(in, node, "%s", named[i].what);
    }
    return EK_OK;
}
