/* Lists the model types of Hugging Face: properties without a key (biases of Qwen2, norms of Qwen3's heads), after the
 * configuration classes of transformers 4.51, and types with layers that are not modelled. */
#include <string.h>

#include "job/hugging_face.h"

/* Gemma3TextConfig and Llama4TextConfig of transformers 4.51, configuration_gemma3.py and configuration_llama4.py:
 * their published files omit default values. */
static const ek__hf_sizes gemma3 = {"Gemma3TextConfig", 26, 2304, 8, 4, 256, 9216, 262208, 131072, 0};
static const ek__hf_sizes llama4 = {"Llama4TextConfig", 48, 5120, 40, 8, 128, 8192, 202048, 131072, 16};

#define LIKE_GPT .plain = true, .layer_norm = true
#define BIASES   .qkv_bias = true, .linear_bias = true

#define STATE_SPACE .otherwise = "have a state space in place of attention, all of them or some"
#define LINEAR      .otherwise = "have linear attention or a recurrence in place of attention, all of them or some"
#define CONVOLUTION .otherwise = "have a convolution in place of attention, some of them"
#define ENCODER     .otherwise = "are those of an encoder, or of an encoder and a decoder"
#define EMBEDDED    .otherwise = "have embeddings of their own and mix several streams"
#define ALL_UNLIKE  .otherwise = "differ from one another in their parts"

static const ek__hf_kind kinds[] = {
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral", .top_k = 2},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true, .top_k = 4},
    {.type = "qwen3", .qk_norm = true},
    {.type = "qwen3_moe", .qk_norm = true, .top_k = 8},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3", .top_k = 8},
    {.type = "glm4", .post_norms = true},
    {.type = "glm"},
    {.type = "glm4_moe", .top_k = 8},
    {.type = "chatglm", .qkv_bias = true},
    {.type = "internlm2"},
    {.type = "baichuan"},
    {.type = "phi3"},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .tied = true, .post_norms = true, .window = 4096},
    {.type = "gemma3_text", .qk_norm = true, .tied = true, .post_norms = true, .window = 4096, .sizes = &gemma3},
    {.type = "cohere", .layer_norm = true, .tied = true},
    {.type = "olmo", .layer_norm = true},
    {.type = "olmo2", .qk_norm = true},
    {.type = "granite"},
    {.type = "stablelm", .layer_norm = true},
    {.type = "gpt_oss", BIASES, .window = 128, .top_k = 4},
    {.type = "llama4_text", .shared_expert = true, .window = 8192, .top_k = 1, .mlp_width = 16384, .sizes = &llama4},
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
    {.type = "mamba", STATE_SPACE},
    {.type = "mamba2", STATE_SPACE},
    {.type = "falcon_mamba", STATE_SPACE},
    {.type = "jamba", STATE_SPACE},
    {.type = "zamba", STATE_SPACE},
    {.type = "zamba2", STATE_SPACE},
    {.type = "bamba", STATE_SPACE},
    {.type = "hymba", STATE_SPACE},
    {.type = "plamo2", STATE_SPACE},
    {.type = "falcon_h1", STATE_SPACE},
    {.type = "nemotron_h", STATE_SPACE},
    {.type = "granitemoehybrid", STATE_SPACE},
    {.type = "qwen3_next", LINEAR},
    {.type = "qwen3_5_text", LINEAR},
    {.type = "qwen3_5_moe_text", LINEAR},
    {.type = "kimi_linear", LINEAR},
    {.type = "minimax", LINEAR},
    {.type = "minimax_text_01", LINEAR},
    {.type = "minimax_m1", LINEAR},
    {.type = "MiniMaxText01", LINEAR},
    {.type = "MiniMaxM1", LINEAR},
    {.type = "recurrent_gemma", LINEAR},
    {.type = "rwkv", LINEAR},
    {.type = "rwkv5", LINEAR},
    {.type = "rwkv6", LINEAR},
    {.type = "rwkv7", LINEAR},
    {.type = "retnet", LINEAR},
    {.type = "xlstm", LINEAR},
    {.type = "lfm2", CONVOLUTION},
    {.type = "lfm2_moe", CONVOLUTION},
    {.type = "bert", ENCODER},
    {.type = "roberta", ENCODER},
    {.type = "xlm-roberta", ENCODER},
    {.type = "albert", ENCODER},
    {.type = "electra", ENCODER},
    {.type = "deberta-v2", ENCODER},
    {.type = "modernbert", ENCODER},
    {.type = "t5", ENCODER},
    {.type = "mt5", ENCODER},
    {.type = "bart", ENCODER},
    {.type = "whisper", ENCODER},
    {.type = "vit", ENCODER},
    {.type = "siglip_vision_model", ENCODER},
    {.type = "clip_vision_model", ENCODER},
    {.type = "gemma3n_text", EMBEDDED},
    {.type = "nemotron-nas", ALL_UNLIKE},
    {.type = "openelm", ALL_UNLIKE},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const ek__hf_kind *ek__hf_find_kind(const char *type)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].type, type) == 0)
            return &kinds[i];
    return NULL;
}
