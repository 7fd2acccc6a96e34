/* Shapes of public models in one table, since published tables of runs name models and print few of their sizes. Each
 * line names the source of the shape. A name is found by its letters and digits inside a longer one
 * ("finetune_baichuan2_7b_lora"), the longest such name. */
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/calibrate.h"

/* X(name, style, layers, hidden, heads, key and value heads, feed-forward, vocabulary, sequence, source) */
#define DENSE(X)                                                                                                       \
    X("GPT3-20B", GPT, 44, 6144, 48, 48, 24576, 51200, 2048, "NVIDIA NeMo, gpt3 20B of its configurations")            \
    X("GPT3-175B", GPT, 96, 12288, 96, 96, 49152, 51200, 2048, "arXiv 2005.14165, table 2.1")                          \
    X("GPT2-13B", GPT, 40, 5120, 40, 40, 20480, 50257, 2048, "MindFormers, run_gpt2_13b.yaml")                         \
    X("MPT-125m", MPT, 12, 768, 12, 12, 3072, 50368, 2048, "llm-foundry, mpt-125m.yaml")                               \
    X("MPT-350m", MPT, 24, 1024, 16, 16, 4096, 50368, 2048, "llm-foundry, mpt-350m.yaml")                              \
    X("MPT-760m", MPT, 24, 1536, 12, 12, 6144, 50368, 2048, "llm-foundry, mpt-760m.yaml")                              \
    X("MPT-1b", MPT, 24, 2048, 16, 16, 8192, 50368, 2048, "llm-foundry, mpt-1b.yaml")                                  \
    X("MPT-3b", MPT, 32, 2560, 20, 20, 10240, 50368, 2048, "llm-foundry, mpt-3b.yaml")                                 \
    X("MPT-7b", MPT, 32, 4096, 32, 32, 16384, 50368, 2048, "llm-foundry, mpt-7b.yaml")                                 \
    X("MPT-13b", MPT, 40, 5120, 40, 40, 20480, 50368, 2048, "llm-foundry, mpt-13b.yaml")                               \
    X("MPT-30b", MPT, 48, 7168, 56, 56, 28672, 50368, 2048, "llm-foundry, mpt-30b.yaml")                               \
    X("MPT-70b", MPT, 80, 8192, 64, 64, 32768, 50368, 2048, "llm-foundry, mpt-70b.yaml")                               \
    X("InternLM-7B", INTERNLM, 32, 4096, 32, 32, 11008, 103168, 2048, "internlm/internlm-7b, config.json")             \
    X("InternLM2-20B", LLAMA, 48, 6144, 48, 8, 16384, 92544, 4096, "internlm/internlm2-20b, config.json")              \
    X("Llama2-7B", LLAMA, 32, 4096, 32, 32, 11008, 32000, 4096, "arXiv 2307.09288; config.json")                       \
    X("Llama2-13B", LLAMA, 40, 5120, 40, 40, 13824, 32000, 4096, "arXiv 2307.09288; config.json")                      \
    X("Llama2-70B", LLAMA, 80, 8192, 64, 8, 28672, 32000, 4096, "arXiv 2307.09288; config.json")                       \
    X("CodeLlama-34B", LLAMA, 48, 8192, 64, 8, 22016, 32000, 4096, "arXiv 2308.12950; config.json")                    \
    X("Llama3-8B", LLAMA, 32, 4096, 32, 8, 14336, 128256, 8192, "arXiv 2407.21783, table 3")                           \
    X("Llama3-70B", LLAMA, 80, 8192, 64, 8, 28672, 128256, 8192, "arXiv 2407.21783, table 3")                          \
    X("Llama3.1-8B", LLAMA, 32, 4096, 32, 8, 14336, 128256, 8192, "arXiv 2407.21783, table 3")                         \
    X("Llama3.1-70B", LLAMA, 80, 8192, 64, 8, 28672, 128256, 8192, "arXiv 2407.21783, table 3")                        \
    X("Llama3.1-405B", LLAMA, 126, 16384, 128, 8, 53248, 128256, 8192, "arXiv 2407.21783, table 3")                    \
    X("Nemotron-8B", NEMOTRON, 32, 4096, 32, 32, 16384, 256000, 4096, "nvidia/nemotron-3-8b-base-4k, model card")      \
    X("Nemotron-340B", NEMOTRON, 96, 18432, 96, 8, 73728, 256000, 4096, "arXiv 2406.11704, table 1")                   \
    X("Baichuan2-7B", LLAMA, 32, 4096, 32, 32, 11008, 125696, 4096, "baichuan-inc/Baichuan2-7B-Base, config.json")     \
    X("Baichuan2-13B", LLAMA, 40, 5120, 40, 40, 13696, 125696, 4096, "baichuan-inc/Baichuan2-13B-Base, config.json")   \
    X("GLM2-6B", QWEN, 28, 4096, 32, 2, 13696, 65024, 8192, "THUDM/chatglm2-6b, config.json")                          \
    X("GLM3-6B", QWEN, 28, 4096, 32, 2, 13696, 65024, 8192, "THUDM/chatglm3-6b, config.json")                          \
    X("GLM-4-9B", QWEN, 40, 4096, 32, 2, 13696, 151552, 8192, "THUDM/glm-4-9b, config.json")                           \
    X("Qwen-7B", QWEN, 32, 4096, 32, 32, 11008, 151936, 8192, "Qwen/Qwen-7B, config.json")                             \
    X("Qwen-14B", QWEN, 40, 5120, 40, 40, 13696, 152064, 8192, "Qwen/Qwen-14B, config.json")                           \
    X("Qwen1.5-0.5B", QWEN, 24, 1024, 16, 16, 2816, 151936, 8192, "Qwen/Qwen1.5-0.5B, config.json")                    \
    X("Qwen1.5-1.8B", QWEN, 24, 2048, 16, 16, 5504, 151936, 8192, "Qwen/Qwen1.5-1.8B, config.json")                    \
    X("Qwen1.5-4B", QWEN, 40, 2560, 20, 20, 6912, 151936, 8192, "Qwen/Qwen1.5-4B, config.json")                        \
    X("Qwen1.5-7B", QWEN, 32, 4096, 32, 32, 11008, 151936, 8192, "Qwen/Qwen1.5-7B, config.json")                       \
    X("Qwen1.5-14B", QWEN, 40, 5120, 40, 40, 13696, 152064, 8192, "Qwen/Qwen1.5-14B, config.json")                     \
    X("Qwen1.5-32B", QWEN, 64, 5120, 40, 8, 27392, 152064, 8192, "Qwen/Qwen1.5-32B, config.json")                      \
    X("Qwen1.5-72B", QWEN, 80, 8192, 64, 64, 24576, 152064, 8192, "Qwen/Qwen1.5-72B, config.json")                     \
    X("Qwen2-0.5B", QWEN, 24, 896, 14, 2, 4864, 151936, 32768, "Qwen/Qwen2-0.5B, config.json")                         \
    X("Qwen2-1.5B", QWEN, 28, 1536, 12, 2, 8960, 151936, 32768, "Qwen/Qwen2-1.5B, config.json")                        \
    X("Qwen2-72B", QWEN, 80, 8192, 64, 8, 29568, 152064, 32768, "Qwen/Qwen2-72B, config.json")                         \
    X("DeepSeek-33B", LLAMA, 62, 7168, 56, 8, 19200, 32256, 4096, "deepseek-ai/deepseek-coder-33b-base, config.json")  \
    X("Yi-6B", LLAMA, 32, 4096, 32, 4, 11008, 64000, 4096, "01-ai/Yi-6B, config.json")                                 \
    X("Yi-34B", LLAMA, 60, 7168, 56, 8, 20480, 64000, 4096, "01-ai/Yi-34B, config.json")

/* InternLM's first model has biases in the attention. */
#define EK_STYLE_INTERNLM EK_STYLE_QWEN

#define LINE(n, s, l, h, a, k, f, v, q, from)                                                                          \
    {.name = (n),                                                                                                      \
     .style = EK_STYLE_##s,                                                                                            \
     .layers = (l),                                                                                                    \
     .hidden = (h),                                                                                                    \
     .heads = (a),                                                                                                     \
     .kv_heads = (k),                                                                                                  \
     .ffn = (f),                                                                                                       \
     .vocab = (v),                                                                                                     \
     .sequence = (q),                                                                                                  \
     .source = (from)},

static const ek_public_model models[] = {
    DENSE(LINE){.name = "DeepSeekV2",
                .style = EK_STYLE_LLAMA,
                .layers = 60,
                .hidden = 5120,
                .heads = 128,
                .kv_heads = 128,
                .ffn = 12288,
                .vocab = 102400,
                .sequence = 4096,
                .experts = 160,
                .top_k = 6,
                .expert_ffn = 1536,
                .shared_ffn = 3072,
                .dense_layers = 1,
                .q_lora = 1536,
                .kv_lora = 512,
                .source = "arXiv 2405.04434, section 3.1.2"},
    {.name = "DeepSeekV3",
     .style = EK_STYLE_LLAMA,
     .layers = 61,
     .hidden = 7168,
     .heads = 128,
     .kv_heads = 128,
     .ffn = 18432,
     .vocab = 129280,
     .sequence = 4096,
     .experts = 256,
     .top_k = 8,
     .expert_ffn = 2048,
     .shared_ffn = 2048,
     .dense_layers = 3,
     .q_lora = 1536,
     .kv_lora = 512,
     .source = "arXiv 2412.19437, section 4.2"},
    {.name = "Qwen2-57B-A14B",
     .style = EK_STYLE_QWEN,
     .layers = 28,
     .hidden = 3584,
     .heads = 28,
     .kv_heads = 4,
     .ffn = 18944,
     .vocab = 151936,
     .sequence = 32768,
     .experts = 64,
     .top_k = 8,
     .expert_ffn = 2560,
     .shared_ffn = 20480,
     .source = "arXiv 2407.10671, table 1; config.json"},
};

const ek_public_model *ek_public_models(int *n)
{
    *n = (int)(sizeof models / sizeof *models);
    return models;
}

/* Only letters and digits, in lower case. */
static void squeeze(const char *text, size_t size, char *out)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        if (ek__is_alnum((unsigned char)*text))
            out[n++] = (char)ek__to_lower((unsigned char)*text);
    out[n] = '\0';
}

const ek_public_model *ek_public_model_find(const char *name)
{
    char wanted[160], here[64];
    const ek_public_model *best = NULL;
    size_t longest = 0;
    int n;
    const ek_public_model *all = ek_public_models(&n);
    squeeze(name ? name : "", sizeof wanted, wanted);
    for (int i = 0; i < n; i++) {
        squeeze(all[i].name, sizeof here, here);
        if (strlen(here) > longest && strstr(wanted, here)) {
            longest = strlen(here);
            best = &all[i];
        }
    }
    return best;
}
