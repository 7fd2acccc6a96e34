/* The shapes of torchtitan's models by name and flavor. A file of torchtitan has no shapes: they are in its model
 * folders (torchtitan/models/NAME/__init__.py) and equal the published models, so each row corresponds to a row there.
 * Computed feed-forward widths (from a multiplier and a multiple) are given as numbers. The debug models have had 6 and
 * 8 layers; the newer ones' are here. */
#include "job/torchtitan_flavors.h"

#include <stdio.h>
#include <string.h>

#include "job/job_internal.h"

typedef struct flavor {
    const char *model, *name;
    int layers, hidden, heads, kv_heads, head_dim; /* head_dim 0: hidden / heads */
    int intermediate, vocab;
    bool tied, qk_norm;
    int experts, top_k, expert_width, shared, dense_layers, period; /* experts 0: none; period 0: 1 */
    int q_rank, kv_rank;                                            /* latent attention with 128 + 64, values of 128 */
} flavor;

static const flavor flavors[] = {
    {"llama3", "debugmodel", 6, 256, 16, 16, 0, 768, 2048, .tied = false},
    {"llama3", "8B", 32, 4096, 32, 8, 0, 14336, 128256, .tied = false},
    {"llama3", "70B", 80, 8192, 64, 8, 0, 28672, 128256, .tied = false},
    {"llama3", "405B", 126, 16384, 128, 8, 0, 53248, 128256, .tied = false},
    {"llama2", "7B", 32, 4096, 32, 32, 0, 11008, 32000, .tied = false},
    {"llama2", "13B", 40, 5120, 40, 40, 0, 13824, 32000, .tied = false},
    {"llama2", "70B", 80, 8192, 64, 8, 0, 28672, 32000, .tied = false},
    {"llama4", "17bx16e", 48, 5120, 40, 8, 0, 16384, 202048, .experts = 16, .top_k = 1, .expert_width = 8192,
     .shared = 1},
    {"llama4", "17bx128e", 48, 5120, 40, 8, 0, 16384, 202048, .experts = 128, .top_k = 1, .expert_width = 8192,
     .shared = 1, .period = 2},
    {"qwen3", "debugmodel", 8, 256, 16, 8, 128, 3072, 2048, .tied = true, .qk_norm = true},
    {"qwen3", "0.6B", 28, 1024, 16, 8, 128, 3072, 151936, .tied = true, .qk_norm = true},
    {"qwen3", "1.7B", 28, 2048, 16, 8, 128, 6144, 151936, .tied = true, .qk_norm = true},
    {"qwen3", "4B", 36, 2560, 32, 8, 128, 9728, 151936, .tied = true, .qk_norm = true},
    {"qwen3", "8B", 36, 4096, 32, 8, 128, 12288, 151936, .qk_norm = true},
    {"qwen3", "14B", 40, 5120, 40, 8, 128, 17408, 151936, .qk_norm = true},
    {"qwen3", "32B", 64, 5120, 64, 8, 128, 25600, 151936, .qk_norm = true},
    {"qwen3", "debugmodel_moe", 8, 256, 16, 8, 128, 3072, 2048, .qk_norm = true, .experts = 64, .top_k = 8,
     .expert_width = 768},
    {"qwen3", "30B-A3B", 48, 2048, 32, 4, 128, 6144, 151936, .qk_norm = true, .experts = 128, .top_k = 8,
     .expert_width = 768},
    {"qwen3", "235B-A22B", 94, 4096, 64, 4, 128, 12288, 151936, .qk_norm = true, .experts = 128, .top_k = 8,
     .expert_width = 1536},
    {"deepseek_v3", "debugmodel", 6, 256, 16, 16, 192, 1024, 2048, .experts = 8, .top_k = 3, .expert_width = 256,
     .shared = 2, .dense_layers = 1, .kv_rank = 512},
    {"deepseek_v3", "16B", 27, 2048, 16, 16, 192, 10944, 102400, .experts = 64, .top_k = 6, .expert_width = 1408,
     .shared = 2, .dense_layers = 1, .kv_rank = 512},
    {"deepseek_v3", "236B", 60, 5120, 128, 128, 192, 12288, 102400, .experts = 160, .top_k = 6, .expert_width = 1536,
     .shared = 2, .dense_layers = 1, .q_rank = 1536, .kv_rank = 512},
    {"deepseek_v3", "671B", 61, 7168, 128, 128, 192, 18432, 129280, .experts = 256, .top_k = 8, .expert_width = 2048,
     .shared = 1, .dense_layers = 3, .q_rank = 1536, .kv_rank = 512},
};
enum { N_FLAVORS = sizeof flavors / sizeof *flavors };

/* Is it the flavor's name, optionally with a suffix for the kind of attention? */
static bool is_named(const flavor *f, const char *name)
{
    static const char *const endings[] = {"",       "_flex_attn",      "_flex", "_varlen", "_varlen_attn",
                                          "_irope", "_irope_flex_attn"};
    size_t n = strlen(f->name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strncmp(name, f->name, n) == 0 && strcmp(name + n, endings[i]) == 0)
            return true;
    return false;
}

/* The first versions had one model, "llama" with the sizes of the second, and "llama3" in addition. */
static bool is_model(const flavor *f, const char *model)
{
    return strcmp(f->model, model) == 0 || (strcmp(model, "llama") == 0 && strcmp(f->model, "llama2") == 0);
}

static void write_experts(const flavor *f, ek_job_model *m)
{
    m->n_experts = f->experts;
    m->top_k = f->top_k;
    m->expert_intermediate = f->expert_width;
    m->n_shared_experts = f->shared;
    m->shared_intermediate = f->shared * f->expert_width;
    m->n_dense_layers = f->dense_layers;
    m->expert_period = f->period ? f->period : 1;
    m->grouped_matmul = true;
}

bool ek__torchtitan_flavor(const char *model, const char *name, ek_job_model *out)
{
    for (int i = 0; i < N_FLAVORS; i++) {
        const flavor *f = &flavors[i];
        if (!is_model(f, model) || !is_named(f, name))
            continue;
        out->n_layers = f->layers;
        out->hidden = f->hidden;
        out->n_heads = f->heads;
        out->n_kv_heads = f->kv_heads;
        out->head_dim = out->value_dim = f->head_dim ? f->head_dim : f->hidden / f->heads;
        out->intermediate = f->intermediate;
        out->vocab = f->vocab;
        out->tied = f->tied;
        out->qk_norm = f->qk_norm;
        if (f->experts > 0)
            write_experts(f, out);
        if (f->kv_rank > 0) {
            out->q_lora_rank = f->q_rank;
            out->kv_lora_rank = f->kv_rank;
            out->nope_dim = out->value_dim = 128;
            out->rope_dim = 64;
        }
        return true;
    }
    return false;
}

void ek__torchtitan_flavors(const char *model, char *out, size_t size)
{
    bool known = false;
    size_t n = 0;
    for (int i = 0; i < N_FLAVORS; i++)
        known = known || is_model(&flavors[i], model);
    out[0] = '\0';
    for (int i = 0; i < N_FLAVORS && n < size; i++) {
        bool first_of_model = i == 0 || strcmp(flavors[i].model, flavors[i - 1].model) != 0;
        if (known ? is_model(&flavors[i], model) : first_of_model)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", known ? flavors[i].name : flavors[i].model);
    }
}
