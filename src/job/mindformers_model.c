/* Reads the shapes and number formats of a model of MindFormers. The models name the same shape differently, so each
 * shape has a list of names, and the first one in the file counts; an absent shape has the default of the model's
 * class. An unknown class is read as Llama's, from which most derive. Mixture of experts is in moe_config for the
 * models up to r1.5, among the shapes for the newer ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/mindformers.h"
#include "job/mindformers_pipeline.h"

/* The switches for the attention's mask that a class knows; its configuration silently ignores others. */
enum { KNOWS_RING = 1, KNOWS_COMPRESSION = 2, KNOWS_DOCUMENTS = 4, KNOWS_DATA_MASK = 8, KNOWS_ALL = 15 };

/* A class of model configuration. */
typedef struct model_class {
    const char *type;
    ek_family family;
    bool latent;       /* multi-head latent attention */
    bool own_residual; /* knows res_dtype, and keeps both sums in it */
    int knows;
} model_class;

static const model_class classes[] = {
    {"LlamaConfig", EK_FAMILY_LLAMA, false, false, KNOWS_ALL},
    {"InternLM2Config", EK_FAMILY_LLAMA, false, false, KNOWS_ALL},
    {"MixtralConfig", EK_FAMILY_LLAMA, false, false, KNOWS_ALL},
    {"Qwen2Config", EK_FAMILY_LLAMA, false, false, KNOWS_ALL},
    {"TelechatConfig", EK_FAMILY_LLAMA, false, true, KNOWS_COMPRESSION},
    {"DeepseekV3Config", EK_FAMILY_LLAMA, true, false, KNOWS_COMPRESSION},
    {"DeepseekV2Config", EK_FAMILY_LLAMA, true, false, KNOWS_COMPRESSION},
    {"ChatGLM2Config", EK_FAMILY_GLM, false, false, KNOWS_RING | KNOWS_DATA_MASK},
    {"ChatGLM4Config", EK_FAMILY_GLM, false, false, KNOWS_RING | KNOWS_DATA_MASK},
    {"YiZhaoConfig", EK_FAMILY_GLM, false, false, KNOWS_RING | KNOWS_DATA_MASK},
};
static const model_class newer_class = {"", EK_FAMILY_MEGATRON, false, false, KNOWS_ALL};
enum { N_CLASSES = sizeof classes / sizeof *classes };

/* A reading in progress. */
typedef struct reader {
    const ek__in *in;
    const ek__mf_sections *file;
    const model_class *class;
    bool newer;
    bool stated; /* shapes must be in the file: defaults of a class are not used */
    const ek_job_overrides *overrides;
    ek__mf_facts *facts;
    ek_job *job;
} reader;

/* Names of a value, NULL at the end. */
typedef const char *names[5];

/* ---- which model ---- */

static ek_status find_class(reader *r)
{
    static const names newer_keys = {"num_hidden_layers", "params_dtype", "model_type", "architectures", NULL};
    const ek__node *node = ek__get(r->file->model, "type");
    char type[64];
    r->job->framework = EK_MINDFORMERS;
    r->class = &newer_class;
    if (!node && (ek__mf_find(r->file->model, newer_keys) || ek__get(r->file->root, "pretrained_model_dir"))) {
        r->newer = true;
        r->job->framework = EK_MINDFORMERS_MCORE;
        r->job->family = EK_FAMILY_MEGATRON;
        return EK_OK;
    }
    r->class = &classes[0];
    r->job->family = r->class->family;
    if (!node)
        return EK_OK;
    ek_status status = ek__string(r->in, node, sizeof type, "name the model's configuration, as LlamaConfig", type);
    if (status)
        return status;
    for (int i = 0; i < N_CLASSES; i++)
        if (strcmp(classes[i].type, type) == 0) {
            r->class = &classes[i];
            r->job->family = r->class->family;
            return EK_OK;
        }
    ek__warn_at(r->in, node, "is '%s', a model that is not known here; it is read as LlamaConfig, by the same keys",
                type);
    return EK_OK;
}

/* A template leaves the shapes to a folder of Hugging Face, which is not available. */
static ek_status refuse_template(const reader *r)
{
    static const names layers = {"num_layers", "num_hidden_layers", NULL};
    const ek__node *folder = ek__get(r->file->root, "pretrained_model_dir");
    if (!folder || ek__mf_find(r->file->model, layers))
        return EK_OK;
    return ek__fail_at(r->in, folder,
                       "names the folder that has the model's shapes, and model.model_config.num_hidden_layers is not "
                       "in this file; copy the keys of the folder's config.json (num_hidden_layers, hidden_size, "
                       "num_attention_heads and the others) below model.model_config");
}

static void read_name(const reader *r)
{
    const ek__node *trainer = ek__get(r->file->root, "trainer");
    const ek__node *name = trainer && trainer->kind == EK__MAP ? ek__get(trainer, "model_name") : NULL;
    static const names own = {"model_type", "type", NULL};
    const ek__in quiet = {r->in->doc, NULL, NULL};
    if (!name)
        name = ek__mf_find(r->file->model, own);
    if (!name || ek__string(&quiet, name, sizeof r->job->name, "", r->job->name))
        strcpy(r->job->name, "model");
}

/* ---- shapes ---- */

/* An optional integer. */
typedef struct shape {
    names name;
    int min, max;
    const char *advice;
    int *out;
} shape;

static ek_status read_shapes(const reader *r, const ek__node *map, const shape *shapes, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek__node *node = ek__mf_find(map, shapes[i].name);
        if (node)
            status = ek__int(r->in, node, shapes[i].min, shapes[i].max, shapes[i].advice, shapes[i].out);
    }
    return status;
}

/* A shape that must be in the file. */
static ek_status read_stated(const reader *r, const char *const *name, int max, const char *advice, int *out)
{
    char example[128];
    const ek__node *node = ek__mf_find(r->file->model, name);
    snprintf(example, sizeof example, "%s, '%s: N'", advice, name[0]);
    ek_status status = node ? EK_OK : ek__require(r->in, r->file->model, name[0], example, &node);
    return status ? status : ek__int(r->in, node, 1, max, example, out);
}

/* A shape that has a default in LlamaConfig, which is used with a warning; other models require the shape. */
static ek_status read_main(const reader *r, const char *const *name, int max, int otherwise, const char *advice,
                           int *out)
{
    const ek__node *node = ek__mf_find(r->file->model, name);
    if (r->stated)
        return read_stated(r, name, max, advice, out);
    if (node)
        return ek__int(r->in, node, 1, max, advice, out);
    if (r->newer || r->class->family != EK_FAMILY_LLAMA)
        return ek__require(r->in, r->file->model, name[r->newer && name[1] ? 1 : 0], advice, &node);
    ek__warn_at(r->in, r->file->model, "has no %s; the framework's default is %d", name[0], otherwise);
    *out = otherwise;
    return EK_OK;
}

/* The first value under a key, depth first. */
static const ek__node *find_below(const ek__node *node, const char *key)
{
    const ek__node *found = NULL;
    for (const ek__node *child = node ? node->first : NULL; child && !found; child = child->next) {
        if (child->key && child->kind == EK__SCALAR && strcmp(child->key, key) == 0)
            return child;
        found = find_below(child, key);
    }
    return found;
}

/* Without a sequence length in the model, that of the command line applies, then that of the data set, which the model
 * must match, then the framework's default. */
static ek_status read_sequence(const reader *r)
{
    static const names sequence = {"seq_length", "seq_length", "seq_len", NULL};
    static const char *const sections[] = {"train_dataset", "train_dataset_task"};
    static const char advice[] = "give the tokens of a sequence";
    int *out = &r->job->parallel.seq_length;
    const ek__node *node = NULL, *stated = ek__mf_find(r->file->model, sequence);
    for (size_t i = 0; i < 2 && !stated && !node; i++)
        node = find_below(ek__get(r->file->root, sections[i]), sequence[0]);
    if (!stated && r->overrides->seq_length > 0) {
        *out = r->overrides->seq_length;
        return EK_OK;
    }
    if (stated || node)
        ek__job_note_sequence(ek__node_origin(r->in->doc, stated ? stated : node), r->job);
    if (!node)
        return read_main(r, sequence, EK__JOB_MAX_SEQUENCE, 2048, advice, out);
    ek_status status = ek__int(r->in, node, 1, EK__JOB_MAX_SEQUENCE, advice, out);
    if (status == EK_OK)
        ek__warn_at(r->in, node, "is %d, which is taken as the model's seq_length, since model.model_config has none",
                    *out);
    return status;
}

static ek_status read_widths(const reader *r)
{
    static const names hidden = {"hidden_size", NULL}, heads = {"num_heads", "num_attention_heads", "n_heads", NULL};
    ek_job_model *m = &r->job->model;
    ek_status status = read_main(r, hidden, EK__JOB_MAX_HIDDEN, 4096, "give the model's width", &m->hidden);
    return status ? status
                  : read_main(r, heads, EK__JOB_MAX_HEADS, 32, "give the attention heads of a layer", &m->n_heads);
}

static ek_status read_vocabulary(const reader *r)
{
    static const names vocab = {"vocab_size", "vocab_size", "padded_vocab_size", NULL},
                       glm_vocab = {"padded_vocab_size", "vocab_size", NULL};
    bool glm = r->class->family == EK_FAMILY_GLM;
    return read_main(r, glm ? glm_vocab : vocab, EK__JOB_MAX_WIDTH, 32000, "give the size of the vocabulary",
                     &r->job->model.vocab);
}

static ek_status read_main_shapes(const reader *r)
{
    ek_job_model *m = &r->job->model;
    ek_status status = ek__mf_layers(r->in, r->file->model, &m->n_layers, &m->n_prediction_layers);
    if (status == EK_OK)
        status = read_widths(r);
    if (status == EK_OK)
        status = read_vocabulary(r);
    return status ? status : read_sequence(r);
}

/* Multi-head latent attention; its defaults are DeepseekV3Config's. */
static ek_status read_latent(const reader *r)
{
    static const char advice[] = "it is a width of the latent attention";
    ek_job_model *m = &r->job->model;
    m->q_lora_rank = 1536;
    m->kv_lora_rank = 512;
    m->rope_dim = 64;
    m->nope_dim = m->value_dim = 128;
    const shape shapes[] = {
        {{"q_lora_rank"}, 0, EK__JOB_MAX_HIDDEN, advice, &m->q_lora_rank},
        {{"kv_lora_rank"}, 1, EK__JOB_MAX_HIDDEN, advice, &m->kv_lora_rank},
        {{"qk_rope_head_dim"}, 1, EK__JOB_MAX_HEADS, advice, &m->rope_dim},
        {{"qk_nope_head_dim"}, 1, EK__JOB_MAX_HEADS, advice, &m->nope_dim},
        {{"v_head_dim"}, 1, EK__JOB_MAX_HEADS, advice, &m->value_dim},
    };
    ek_status status = read_shapes(r, r->file->model, shapes, sizeof shapes / sizeof *shapes);
    m->head_dim = m->nope_dim + m->rope_dim;
    m->n_kv_heads = m->n_heads;
    return status;
}

/* If a file is read only for its shapes, the widths of latent attention identify it without its class. */
static bool states_latent(const reader *r)
{
    static const names whole = {"head_dim", "kv_channels", NULL};
    const ek__node *model = r->file->model;
    return r->stated && !ek__mf_find(model, whole) && ek__get(model, "qk_nope_head_dim") &&
           ek__get(model, "qk_rope_head_dim") && ek__get(model, "v_head_dim");
}

static ek_status read_heads(const reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *model = r->file->model;
    bool latent = r->class->latent || states_latent(r), grouped = true;
    ek_status status = ek__mf_bool(r->in, model, "multi_latent_attention", "it switches latent attention", &latent);
    if (status || latent)
        return status ? status : read_latent(r);
    m->n_kv_heads = m->n_heads;
    const shape shapes[] = {
        {{"head_dim", "kv_channels"}, 1, EK__JOB_MAX_HEADS, "it is the size of one attention head", &m->head_dim},
        {{"n_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_query_groups"},
         1,
         EK__JOB_MAX_HEADS,
         "it is the key and value heads of a layer",
         &m->n_kv_heads},
    };
    status = read_shapes(r, model, shapes, sizeof shapes / sizeof *shapes);
    if (status == EK_OK)
        status = ek__mf_bool(r->in, model, "multi_query_attention", "it switches shared keys and values", &grouped);
    if (status == EK_OK && !grouped)
        m->n_kv_heads = m->n_heads;
    if (status == EK_OK && !m->head_dim && m->hidden % m->n_heads != 0)
        return ek__fail_at(r->in, model,
                           "has %d heads, which do not divide hidden_size %d; correct one, or give 'head_dim: N'",
                           m->n_heads, m->hidden);
    if (!m->head_dim)
        m->head_dim = m->hidden / m->n_heads;
    m->value_dim = m->head_dim;
    return status;
}

static ek_status read_intermediate(const reader *r)
{
    static const names stated = {"intermediate_size", "ffn_hidden_size", "ffn_hidden", NULL};
    ek_job_model *m = &r->job->model;
    const ek__node *model = r->file->model, *node = ek__mf_find(model, stated);
    int multiple = 256;
    double multiplier = 0;
    if (node)
        return ek__int(r->in, node, 1, EK__JOB_MAX_WIDTH, "it is the width of the feed-forward layer",
                       &m->intermediate);
    if (r->stated && !ek__get(model, "multiple_of") && !ek__get(model, "ffn_dim_multiplier"))
        return ek__require(r->in, model, stated[0],
                           "give the width of the feed-forward layer, or multiple_of and ffn_dim_multiplier", &node);
    if (!r->stated && (r->newer || r->class->family == EK_FAMILY_GLM))
        return ek__require(r->in, model, stated[r->newer ? 0 : 1], "give the width of the feed-forward layer", &node);
    ek_status status = ek__mf_int(r->in, model, "multiple_of", 1, 65536,
                                  "the feed-forward layer's width is rounded up to it", &multiple);
    node = ek__get(model, "ffn_dim_multiplier");
    if (status == EK_OK && node)
        status = ek__number(r->in, node, 0.01, 100, "it scales the feed-forward layer's width", &multiplier);
    if (status == EK_OK)
        m->intermediate = ek__job_intermediate(m->hidden, multiplier, multiple);
    return status;
}

static ek_status read_positions(const reader *r)
{
    ek_job_model *m = &r->job->model;
    char kind[32] = "rope";
    m->max_position = r->job->parallel.seq_length;
    const shape shapes[] = {{{"max_position_embedding", "max_position_embeddings"},
                             1,
                             EK__JOB_MAX_SEQUENCE,
                             "it is the positions the model knows",
                             &m->max_position}};
    ek_status status = read_shapes(r, r->file->model, shapes, 1);
    const ek__node *node = r->newer ? ek__get(r->file->model, "position_embedding_type") : NULL;
    if (status == EK_OK && node)
        status = ek__string(r->in, node, sizeof kind, "name it, for example rope", kind);
    m->position_table = strcmp(kind, "learned_absolute") == 0;
    return status;
}

/* ---- switches ---- */

typedef struct switch_of {
    const char *key;
    bool *out;
} switch_of;

static ek_status read_switches(const reader *r, const switch_of *switches, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++)
        status =
            ek__mf_bool(r->in, r->file->model, switches[i].key, "it is a switch: write True or False", switches[i].out);
    return status;
}

static ek_status read_tying(const reader *r)
{
    static const char advice[] = "it sets whether the head uses the embedding table";
    ek_job_model *m = &r->job->model;
    bool untied = true;
    ek_status status = ek__mf_bool(r->in, r->file->model, "untie_embeddings_and_output_weights", advice, &untied);
    m->tied = !untied;
    return status ? status : ek__mf_bool(r->in, r->file->model, "tie_word_embeddings", advice, &m->tied);
}

/* In the newer models the name of the activation shows whether it is gated and fused. */
static ek_status read_activation(const reader *r)
{
    ek_job_model *m = &r->job->model;
    char activation[32] = "silu";
    bool gated = true, fused = false;
    const ek__node *node = ek__get(r->file->model, "hidden_act");
    ek_status status =
        node ? ek__string(r->in, node, sizeof activation, "name it, for example swiglu", activation) : EK_OK;
    if (strcmp(activation, "gelu") == 0 || strcmp(activation, "relu") == 0)
        gated = false;
    if (status == EK_OK)
        status = ek__mf_bool(r->in, r->file->model, "gated_linear_unit", "it is a switch: write True or False", &gated);
    if (status == EK_OK)
        status =
            ek__mf_bool(r->in, r->file->model, "bias_swiglu_fusion", "it is a switch: write True or False", &fused);
    m->gated = gated;
    m->fused_swiglu = gated && (fused || strcmp(activation, "fusedswiglu") == 0);
    m->qkv_concat = true; /* its layers have one matrix for q, k, v and one for both feed-forward inputs */
    return status;
}

static ek_status read_older_switches(const reader *r)
{
    ek_job_model *m = &r->job->model;
    bool glm = r->class->family == EK_FAMILY_GLM, rms = true;
    m->gated = true;
    m->qkv_concat = glm; /* mlp_concat is on by default */
    const switch_of llama[] = {{"qkv_concat", &m->qkv_concat},
                               {"use_fused_swiglu", &m->fused_swiglu},
                               {"qkv_has_bias", &m->qkv_bias},
                               {"parallel_optimizer", &r->facts->table_sharded}};
    /* mlp_concat affects more memory than qkv_concat. */
    const switch_of chatglm[] = {
        {"qkv_concat", &m->qkv_concat},       {"mlp_concat", &m->qkv_concat},
        {"add_qkv_bias", &m->qkv_bias},       {"rmsnorm", &rms},
        {"add_bias_linear", &m->linear_bias}, {"parallel_optimizer", &r->facts->table_sharded}};
    ek_status status = glm ? read_switches(r, chatglm, sizeof chatglm / sizeof *chatglm)
                           : read_switches(r, llama, sizeof llama / sizeof *llama);
    m->layer_norm = !rms;
    return status;
}

static ek_status read_newer_switches(const reader *r)
{
    ek_job_model *m = &r->job->model;
    char norm[32] = "RMSNorm";
    const ek__node *node = ek__get(r->file->model, "normalization");
    const switch_of switches[] = {{"attention_bias", &m->qkv_bias},
                                  {"add_qkv_bias", &m->qkv_bias},
                                  {"add_bias_linear", &m->linear_bias},
                                  {"qk_layernorm", &m->qk_norm}};
    ek_status status = read_switches(r, switches, sizeof switches / sizeof *switches);
    if (status == EK_OK && node)
        status = ek__string(r->in, node, sizeof norm, "name it, for example RMSNorm", norm);
    m->layer_norm = strcmp(norm, "LayerNorm") == 0;
    m->qk_norm = m->qk_norm && !m->kv_lora_rank; /* there it refers to the norms that latent attention always has */
    r->facts->table_sharded = true;              /* not known to be absent */
    return status ? status : read_activation(r);
}

/* Does the data set pass a mask to the model? */
static bool data_has_mask(const reader *r)
{
    const ek__node *data = ek__get(r->file->root, "train_dataset");
    const ek__node *inputs = data && data->kind == EK__MAP ? ek__get(data, "construct_args_key") : NULL;
    for (const ek__node *name = inputs && inputs->kind == EK__LIST ? inputs->first : NULL; name; name = name->next)
        if (name->kind == EK__SCALAR && strcmp(name->text, "attention_mask") == 0)
            return true;
    return false;
}

/* The framework rejects these when it builds the model. */
static ek_status check_attention(const reader *r, bool by_documents)
{
    static const char *const keys[] = {"use_ring_attention", "use_eod_attn_mask_compression"};
    const bool on[] = {r->facts->ring, by_documents};
    const ek__node *model = r->file->model;
    for (int i = 0; i < 2; i++) {
        if (on[i] && !r->job->model.flash_attention)
            return ek__fail_at(r->in, ek__get(model, keys[i]),
                               "is on, but use_flash_attention is not, without which it is refused; switch it on");
        if (on[i] && r->job->parallel.n_pieces > 1)
            return ek__fail_at(r->in, ek__get(model, keys[i]),
                               "is on, which does not go with pieces of a sequence (seq_split_num %d); switch one off",
                               r->job->parallel.n_pieces);
    }
    return EK_OK;
}

/* The switches for the mask, without those that the class does not know. */
static ek_status read_mask_switches(const reader *r, bool *by_documents)
{
    const switch_of switches[] = {{"use_ring_attention", &r->facts->ring},
                                  {"use_attn_mask_compression", &r->job->model.mask_compressed},
                                  {"use_eod_attn_mask_compression", by_documents}};
    static const int known[] = {KNOWS_RING, KNOWS_COMPRESSION, KNOWS_DOCUMENTS};
    ek_status status = read_switches(r, switches, 3);
    for (int i = 0; i < 3; i++) {
        if (*switches[i].out && !(r->class->knows & known[i])) {
            ek__warn_of_at(r->in, "setting-without-effect", ek__get(r->file->model, switches[i].key),
                           "is on, which does nothing: %s does not know it", r->class->type);
            *switches[i].out = false;
        }
    }
    return status;
}

/* Find the attention's mask: LlamaModel, ChatGLM2Model and TelechatModel of r1.5, GPTModel of the newer ones
 * (construct). Ring attention of Llama's models makes none; a compressed mask is a constant; the data's mask replaces
 * the model's, in the older models also a compressed one, unless that is per document (end-of-document tokens). */
static ek_status read_mask(const reader *r)
{
    ek_job_model *m = &r->job->model;
    bool by_documents = false, llama = !r->newer && r->class->family == EK_FAMILY_LLAMA;
    ek_status status = read_mask_switches(r, &by_documents);
    if (status == EK_OK)
        status = check_attention(r, by_documents);
    if (llama && r->facts->ring)
        by_documents = false;
    m->mask_given =
        (r->class->knows & KNOWS_DATA_MASK) && data_has_mask(r) && !by_documents && !(r->newer && m->mask_compressed);
    m->mask_compressed = (m->mask_compressed || by_documents) && !m->mask_given;
    m->no_mask = llama && r->facts->ring && !m->mask_given;
    return status;
}

static ek_status read_all_switches(const reader *r)
{
    static const names hidden = {"hidden_dropout", "hidden_dropout_prob", NULL},
                       attention = {"attention_dropout", "attention_dropout_prob", NULL};
    static const char advice[] = "it is the dropped share";
    ek_job_model *m = &r->job->model;
    const ek__node *node = ek__mf_find(r->file->model, hidden);
    m->flash_attention = r->newer;
    const switch_of switches[] = {{"use_flash_attention", &m->flash_attention}};
    ek_status status = r->newer ? read_newer_switches(r) : read_older_switches(r);
    if (status == EK_OK)
        status = read_switches(r, switches, sizeof switches / sizeof *switches);
    if (status == EK_OK)
        status = read_mask(r);
    if (status == EK_OK)
        status = read_tying(r);
    if (status == EK_OK && node)
        status = ek__number(r->in, node, 0, 1, advice, &m->hidden_dropout);
    node = ek__mf_find(r->file->model, attention);
    if (status == EK_OK && node)
        status = ek__number(r->in, node, 0, 1, advice, &m->attention_dropout);
    return status ? status
                  : ek__mf_int(r->in, r->file->model, "fine_grain_interleave", 1, EK__JOB_MAX_BATCH,
                               "it is the pieces a layer's work is cut into", &r->facts->fine_grain);
}

/* ---- number formats ---- */

static ek_status parse_type(const reader *r, const ek__node *node, ek_dtype *out)
{
    static const char advice[] = "write float32, bfloat16 or float16";
    char text[32];
    ek_status status = ek__string(r->in, node, sizeof text, advice, text);
    for (int i = 0; i < EK_N_DTYPES && status == EK_OK; i++)
        if (strcmp(text, ek_dtype_name[i]) == 0) {
            *out = (ek_dtype)i;
            return EK_OK;
        }
    return status ? status : ek__fail_at(r->in, node, "is '%s', which is no number format here; %s", text, advice);
}

/* Under one of its names, or `otherwise`. */
static ek_status read_type(const reader *r, const char *const *name, ek_dtype otherwise, ek_dtype *out)
{
    const ek__node *node = ek__mf_find(r->file->model, name);
    *out = otherwise;
    return node ? parse_type(r, node, out) : EK_OK;
}

/* The format in which x and x + attention are kept. LlamaConfig casts its sums back to compute type for any
 * residual_dtype; TeleChat keeps them in its res_dtype. LlamaConfig does not know res_dtype, but if a file sets it, it
 * is applied: this reproduces the published dry run of such a file best. */
static ek_status read_residual(const reader *r)
{
    ek_dtype *residual = &r->job->types.residual;
    const ek__node *model = r->file->model, *own = ek__get(model, "res_dtype");
    ek_dtype stated = r->job->types.compute;
    bool fp32 = false;
    *residual = stated;
    if (r->newer || r->class->family == EK_FAMILY_GLM) {
        const ek__node *node = r->newer ? ek__get(model, "residual_dtype") : NULL;
        ek_status status =
            ek__mf_bool(r->in, model, "fp32_residual_connection", "it sets whether sums of layers are in fp32", &fp32);
        if (fp32)
            *residual = EK_FP32;
        return status || !node ? status : parse_type(r, node, residual);
    }
    ek_status status = own ? parse_type(r, own, &stated) : EK_OK;
    if (status || !own)
        return status;
    if (r->class->own_residual) {
        *residual = stated;
        return EK_OK;
    }
    if (!r->overrides->literal)
        *residual = stated;
    ek__warn_of_at(r->in, "unknown-key", own, "is a key of TeleChat's models that %s does not know; %s", r->class->type,
                   r->overrides->literal ? "it is ignored, as the framework does"
                                         : "it is taken as the type in which x and x + attention are kept");
    if (!r->overrides->literal && stated != r->job->types.compute)
        snprintf(r->job->reading, sizeof r->job->reading,
                 "res_dtype is a key of TeleChat's models that %s does not know; taken as the type in which x and x + "
                 "attention are kept (%s).",
                 r->class->type, ek_dtype_name[stated]);
    return EK_OK;
}

static ek_status read_types(const reader *r)
{
    static const names compute = {"compute_dtype", NULL}, param = {"param_init_type", "params_dtype", NULL},
                       embedding = {"embedding_init_type", NULL},
                       norm = {"layernorm_compute_type", "layernorm_compute_dtype", NULL},
                       softmax = {"softmax_compute_type", "softmax_compute_dtype", NULL},
                       rotary = {"rotary_dtype", NULL}, router = {"router_dense_type", NULL};
    ek_job_types *t = &r->job->types;
    const ek_dtype usual = r->newer ? EK_BF16 : EK_FP16;
    ek_status status = read_type(r, compute, usual, &t->compute);
    if (status == EK_OK)
        status = read_type(r, param, r->newer ? EK_FP32 : EK_FP16, &t->param);
    if (status == EK_OK)
        status = read_type(r, embedding, t->param, &t->embedding);
    if (status == EK_OK)
        status = read_type(r, norm, EK_FP32, &t->norm);
    if (status == EK_OK)
        status = read_type(r, softmax, EK_FP32, &t->softmax);
    if (status == EK_OK)
        status = read_type(r, rotary, EK_FP32, &t->rotary);
    if (status == EK_OK)
        status = read_type(r, router, EK_FP32, &t->router);
    const ek__node *node = r->file->moe ? ek__get(r->file->moe, "router_dense_type") : NULL;
    if (status == EK_OK && node)
        status = parse_type(r, node, &t->router);
    return status ? status : read_residual(r);
}

/* ---- mixture of experts ---- */

static ek_status read_older_experts(const reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *moe = r->file->moe, *node = moe ? ek__get(moe, "capacity_factor") : NULL;
    m->top_k = 1;
    m->capacity_factor = 1.1;
    m->expert_intermediate = m->intermediate;
    const shape shapes[] = {
        {{"expert_num"}, 1, EK__JOB_MAX_EXPERTS, "it is the experts of a layer", &m->n_experts},
        {{"num_experts_chosen"}, 1, EK__JOB_MAX_EXPERTS, "it is the experts of a token", &m->top_k},
        {{"shared_expert_num"},
         0,
         EK__JOB_MAX_EXPERTS,
         "it is the experts that all tokens go to",
         &m->n_shared_experts},
        {{"moe_intermediate_size"}, 1, EK__JOB_MAX_WIDTH, "it is the width of an expert", &m->expert_intermediate},
        {{"first_k_dense_replace"}, 0, EK_MAX_LAYERS, "it is the layers without experts", &m->n_dense_layers},
    };
    ek_status status = moe ? read_shapes(r, moe, shapes, sizeof shapes / sizeof *shapes) : EK_OK;
    if (status == EK_OK && node)
        status = ek__number(r->in, node, -1e6, 1e6, "it bounds the tokens of an expert", &m->capacity_factor);
    if (status == EK_OK)
        status = ek__mf_bool(r->in, moe, "use_gmm", "it switches grouped matmuls", &m->grouped_matmul);
    if (m->grouped_matmul)
        m->capacity_factor = 0; /* no token is dropped, none is padded */
    return status;
}

static ek_status read_newer_experts(const reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *model = r->file->model, *node = ek__get(model, "moe_expert_capacity_factor");
    m->top_k = 1;
    m->grouped_matmul = true;
    m->expert_intermediate = m->intermediate;
    m->shared_intermediate = -1;
    const shape shapes[] = {
        {{"n_routed_experts", "num_experts", "num_moe_experts"},
         0,
         EK__JOB_MAX_EXPERTS,
         "it is the experts of a layer",
         &m->n_experts},
        {{"num_experts_per_tok", "moe_router_topk"}, 1, EK__JOB_MAX_EXPERTS, "it is the experts of a token", &m->top_k},
        {{"n_shared_experts", "shared_expert_num"},
         0,
         EK__JOB_MAX_EXPERTS,
         "it is the experts that all tokens go to",
         &m->n_shared_experts},
        {{"moe_intermediate_size", "moe_ffn_hidden_size"},
         1,
         EK__JOB_MAX_WIDTH,
         "it is the width of an expert",
         &m->expert_intermediate},
        {{"moe_shared_expert_intermediate_size"},
         0,
         EK__JOB_MAX_WIDTH,
         "it is the width of all shared experts",
         &m->shared_intermediate},
        {{"first_k_dense_replace"}, 0, EK_MAX_LAYERS, "it is the layers without experts", &m->n_dense_layers},
    };
    ek_status status = read_shapes(r, model, shapes, sizeof shapes / sizeof *shapes);
    if (status == EK_OK && node)
        status = ek__number(r->in, node, -1e6, 1e6, "it bounds the tokens of an expert", &m->capacity_factor);
    if (status == EK_OK)
        status = ek__mf_bool(r->in, model, "moe_grouped_gemm", "it switches grouped matmuls", &m->grouped_matmul);
    return status;
}

/* Without experts their other settings are reset, for any values in the file. */
static ek_status read_experts(const reader *r)
{
    ek_job_model *m = &r->job->model;
    m->expert_period = 1;
    ek_status status = r->newer ? read_newer_experts(r) : read_older_experts(r);
    if (status)
        return status;
    if (m->n_experts <= 1) {
        m->n_experts = m->top_k = m->n_shared_experts = m->expert_intermediate = m->shared_intermediate = 0;
        m->n_dense_layers = 0;
        m->capacity_factor = 0;
        m->grouped_matmul = false;
        return EK_OK;
    }
    int64_t shared = (int64_t)m->n_shared_experts * m->expert_intermediate;
    if (m->shared_intermediate < 0 || !r->newer)
        m->shared_intermediate = shared < EK__JOB_MAX_WIDTH ? (int)shared : EK__JOB_MAX_WIDTH;
    if (m->n_shared_experts == 0)
        m->shared_intermediate = 0;
    return EK_OK;
}

ek_status ek__mf_read_model(const ek__in *in, const ek__mf_sections *file, const ek_job_overrides *overrides,
                            ek__mf_facts *facts, ek_job *job)
{
    reader r = {.in = in, .file = file, .overrides = overrides, .facts = facts, .job = job};
    static ek_status (*const steps[])(const reader *) = {refuse_template,   read_main_shapes, read_heads,
                                                         read_intermediate, read_positions,   read_all_switches,
                                                         read_types,        read_experts};
    ek_status status = find_class(&r);
    if (status == EK_OK)
        read_name(&r);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}

bool ek__mf_is_newer(const ek__in *in, const ek__mf_sections *file)
{
    const ek__in quiet = {in->doc, NULL, NULL};
    ek_job job = {0};
    reader r = {.in = &quiet, .file = file, .job = &job};
    return find_class(&r) == EK_OK && r.newer;
}

ek_status ek__mf_read_shapes(const ek__in *in, const ek__mf_sections *file, ek_job *job)
{
    const ek_job_overrides none = ek_job_overrides_none();
    const ek__in quiet = {in->doc, NULL, in->err};
    reader r = {.in = &quiet, .file = file, .stated = true, .overrides = &none, .job = job};
    static ek_status (*const steps[])(const reader *) = {read_widths, read_sequence, read_vocabulary, read_heads,
                                                         read_intermediate};
    ek_status status = find_class(&r);
    r.in = in;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}
