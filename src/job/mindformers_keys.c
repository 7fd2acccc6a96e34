/* Warns of keys in a training YAML of MindFormers that its classes silently ignore but that were probably meant to
 * change memory. A file has dozens of irrelevant keys, so a key is reported only if it is unknown and close to a known
 * one: two letters away, or the same words in another order. */
#include <stdlib.h>
#include <string.h>

#include "job/mindformers.h"

static const char *const model_keys[] = {"type",
                                         "batch_size",
                                         "seq_length",
                                         "hidden_size",
                                         "num_layers",
                                         "num_hidden_layers",
                                         "num_heads",
                                         "num_attention_heads",
                                         "n_kv_heads",
                                         "num_key_value_heads",
                                         "multi_query_group_num",
                                         "multi_query_attention",
                                         "head_dim",
                                         "kv_channels",
                                         "vocab_size",
                                         "padded_vocab_size",
                                         "intermediate_size",
                                         "ffn_hidden_size",
                                         "multiple_of",
                                         "ffn_dim_multiplier",
                                         "max_position_embedding",
                                         "max_position_embeddings",
                                         "compute_dtype",
                                         "param_init_type",
                                         "params_dtype",
                                         "embedding_init_type",
                                         "layernorm_compute_type",
                                         "layernorm_compute_dtype",
                                         "softmax_compute_type",
                                         "softmax_compute_dtype",
                                         "rotary_dtype",
                                         "router_dense_type",
                                         "residual_dtype",
                                         "fp32_residual_connection",
                                         "qkv_concat",
                                         "mlp_concat",
                                         "mla_qkv_concat",
                                         "qkv_has_bias",
                                         "add_qkv_bias",
                                         "add_bias_linear",
                                         "attention_bias",
                                         "qk_layernorm",
                                         "use_flash_attention",
                                         "use_attn_mask_compression",
                                         "use_eod_attn_mask_compression",
                                         "use_ring_attention",
                                         "use_fused_swiglu",
                                         "fine_grain_interleave",
                                         "pp_interleave_num",
                                         "offset",
                                         "parallel_optimizer",
                                         "tie_word_embeddings",
                                         "kv_lora_rank",
                                         "q_lora_rank",
                                         "qk_nope_head_dim",
                                         "qk_rope_head_dim",
                                         "v_head_dim",
                                         "mtp_depth",
                                         "num_nextn_predict_layers",
                                         "hidden_dropout",
                                         "attention_dropout",
                                         "hidden_dropout_prob",
                                         "attention_dropout_prob",
                                         "embed_dropout_prob",
                                         "emb_dropout_prob",
                                         "n_routed_experts",
                                         "num_experts_per_tok",
                                         "n_shared_experts",
                                         "moe_intermediate_size",
                                         "moe_shared_expert_intermediate_size",
                                         "first_k_dense_replace",
                                         "moe_grouped_gemm",
                                         NULL};
static const char *const moe_keys[] = {"expert_num",        "capacity_factor",       "num_experts_chosen",
                                       "shared_expert_num", "moe_intermediate_size", "first_k_dense_replace",
                                       "use_gmm",           "expert_model_parallel", NULL};
static const char *const degree_keys[] = {"data_parallel",         "model_parallel",       "pipeline_stage",
                                          "context_parallel",      "expert_parallel",      "micro_batch_num",
                                          "seq_split_num",         "use_seq_parallel",     "vocab_emb_dp",
                                          "context_parallel_algo", "ulysses_degree_in_cp", NULL};
static const char *const parallel_keys[] = {"enable_parallel_optimizer", "parallel_optimizer_config", "pipeline_config",
                                            NULL};
static const char *const optimizer_keys[] = {"gradient_accumulation_shard", "parallel_optimizer_threshold",
                                             "optimizer_weight_shard_size", "optimizer_level", NULL};
static const char *const pipeline_keys[] = {"pipeline_interleave", "pipeline_scheduler", NULL};
static const char *const recompute_keys[] = {"recompute",
                                             "select_recompute",
                                             "select_comm_recompute",
                                             "select_recompute_exclude",
                                             "select_comm_recompute_exclude",
                                             "mp_comm_recompute",
                                             NULL};
static const char *const runner_keys[] = {"batch_size", "gradient_accumulation_steps", NULL};
static const char *const context_keys[] = {"max_device_memory", NULL};

static bool is_known(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

/* A word of a key, between underscores. */
typedef struct word {
    const char *text;
    size_t length;
} word;

enum { MAX_WORDS = 8 };

static int compare_words(const void *a, const void *b)
{
    const word *x = a, *y = b;
    size_t n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, n);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* The words of a key in alphabetical order; none if there are more than MAX_WORDS. */
static int split(const char *key, word words[MAX_WORDS])
{
    int n = 0;
    for (const char *at = key; n < MAX_WORDS; at++) {
        words[n] = (word){at, strcspn(at, "_")};
        at += words[n++].length;
        if (*at == '\0') {
            qsort(words, (size_t)n, sizeof *words, compare_words);
            return n;
        }
    }
    return 0;
}

static bool same_words(const char *a, const char *b)
{
    word x[MAX_WORDS], y[MAX_WORDS];
    int n = split(a, x);
    if (n < 2 || split(b, y) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (compare_words(&x[i], &y[i]) != 0)
            return false;
    return true;
}

/* A short key with two other letters is a different key. */
static bool is_near(const char *key, const char *known)
{
    size_t n = strlen(key), m = strlen(known), shorter = n < m ? n : m;
    size_t most = shorter >= 8 ? 2 : shorter >= 5 ? 1 : 0;
    return ek__edit_distance(key, known) <= most || same_words(key, known);
}

static void warn_of_map(const ek__in *in, const ek__node *map, const char *const *known)
{
    for (const ek__node *node = map ? map->first : NULL; node; node = node->next) {
        if (is_known(node->key, known))
            continue;
        for (const char *const *k = known; *k; k++)
            if (is_near(node->key, *k)) {
                ek__warn_of_at(in, "unknown-key", node,
                               "is no key of the framework, which ignores it; did you mean '%s'?", *k);
                break;
            }
    }
}

void ek__mf_warn_near_keys(const ek__in *in, const ek__mf_sections *file)
{
    const struct {
        const ek__node *map;
        const char *const *known;
    } sections[] = {{file->model, model_keys},
                    {file->moe, moe_keys},
                    {file->parallel_config, degree_keys},
                    {file->parallel, parallel_keys},
                    {file->optimizer_parallel, optimizer_keys},
                    {file->pipeline, pipeline_keys},
                    {file->recompute, recompute_keys},
                    {file->runner, runner_keys},
                    {file->context, context_keys}};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        warn_of_map(in, sections[i].map, sections[i].known);
}
