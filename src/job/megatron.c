/* Applies Megatron's rules for all file formats: number formats and states, cuts of the vocabulary, and recomputation
 * as one rule for all chunks or as modules. */
#include "job/megatron.h"
#include "job/settings.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void ek__job_name_after(const char *path, ek_job *job)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strcspn(name, ".");
    n = n < sizeof job->name ? n : sizeof job->name - 1;
    for (size_t i = 0; i < n; i++)
        job->name[i] = name[i];
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)job->name[i] < 0x20 || (unsigned char)job->name[i] >= 0x7F)
            job->name[i] = '?';
    job->name[n] = '\0';
    if (n == 0)
        strcpy(job->name, "job");
}

void ek__megatron_defaults(ek_job *job, ek_framework framework)
{
    job->framework = framework;
    job->family = EK_FAMILY_MEGATRON;
    job->rules = ek_rules_default(framework);
    job->full_group = 1;
    job->parallel = (ek_job_parallel){.data = 1,
                                      .tensor = 1,
                                      .pipeline = 1,
                                      .context = 1,
                                      .expert = 1,
                                      .expert_tensor = 1,
                                      .batch = 1,
                                      .n_micro_batches = 1,
                                      .n_accumulation = 1,
                                      .n_batch_interleave = 1,
                                      .n_pieces = 1,
                                      .fine_grain = 1,
                                      .table_split = 1,
                                      .head_split = 1,
                                      .ulysses = 1,
                                      .context_algorithm = EK_CONTEXT_RING};
    job->model.qkv_concat = true;
    job->model.top_k = 2;
    job->model.expert_period = 1;
    job->types = (ek_job_types){.compute = EK_BF16,
                                .param = EK_BF16,
                                .embedding = EK_BF16,
                                .norm = EK_BF16,
                                .softmax = EK_BF16,
                                .rotary = EK_FP32,
                                .router = EK_BF16,
                                .residual = EK_BF16};
    job->states = (ek_job_states){.shard_table = true, .shard_size = -1};
}

void ek__megatron_states(const ek__megatron_types *types, ek_job *job)
{
    bool mixed = types->weight != EK_FP32;
    ek_job_states *states = &job->states;
    states->weight = ek_dtype_bytes(types->weight);
    states->gradient = types->gradient_fp32 ? 4 : states->weight;
    states->optimizer = types->first + types->second + (mixed ? types->master : 0);
    /* The step works on an fp32 copy of 16-bit gradients, except in the precision-aware optimizer. */
    if (mixed && states->gradient == 2 && !types->precise)
        states->optimizer += 4;
    states->shard_optimizer = types->distributed;
}

int ek__megatron_padded(int vocab, int multiple, int tensor)
{
    int64_t unit = (int64_t)multiple * tensor, padded = (vocab + unit - 1) / unit * unit;
    return padded <= INT_MAX ? (int)padded : 0;
}

void ek__megatron_derive(ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    p->table_split = p->head_split = p->tensor;
    if (p->tensor == 1)
        p->sequence_parallel = false;
    if (p->context == 1)
        p->ulysses = 1;
    else if (p->context_algorithm == EK_CONTEXT_ULYSSES && (p->ulysses <= 1 || p->context % p->ulysses != 0))
        p->ulysses = p->context;
}

void ek__megatron_full(ek__megatron_granularity granularity, int n, ek_job *job)
{
    ek_plan *plan = &job->plan;
    if (granularity == EK__FULL_UNIFORM) {
        job->full_group = n;
        ek__job_note(job, "uniform");
    }
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        bool all = granularity == EK__FULL_UNIFORM || n > plan->layers[c];
        if (granularity == EK__FULL_UNIFORM || granularity == EK__FULL_BLOCK)
            plan->full[c] = all ? plan->layers[c] : n;
    }
}

/* The tensors that Megatron Core drops for each module ("Activation Recomputation" of its guide), as operators here. */
static const struct {
    const char *module, *pattern[2];
} modules[] = {
    {"core_attn", {"self_attention\\.core_attention"}},
    {"layernorm", {"input_layernorm", "pre_mlp_layernorm"}},
    {"moe_act", {"mlp\\.experts\\.activation_func"}},
    {"mla_up_proj", {"self_attention\\.linear_q_up_proj", "self_attention\\.linear_kv_up_proj"}},
    {"mlp", {"mlp\\.(linear_fc1|activation_func)"}},
    {"moe", {"mlp\\.experts", "mlp\\.shared_experts"}},
    {"shared_experts", {"mlp\\.shared_experts"}},
};
enum { N_MODULES = sizeof modules / sizeof *modules };

const char *const *ek__megatron_module_patterns(int i)
{
    return i < N_MODULES ? modules[i].pattern : NULL;
}

const char *ek__megatron_module_name(int i)
{
    return modules[i].module;
}

ek_status ek__megatron_module(ek_job *job, const char *module, const int *layers, ek_origin at, ek_error *err)
{
    for (int i = 0; i < N_MODULES; i++) {
        if (strcmp(modules[i].module, module) != 0)
            continue;
        ek_status status = EK_OK;
        for (int k = 0; k < 2 && modules[i].pattern[k] && status == EK_OK; k++)
            status = ek__job_add_pattern(job, modules[i].pattern[k], EK_PATTERN_SELECT, layers, true, at, err);
        return status;
    }
    char names[200];
    size_t n = 0;
    for (int i = 0; i < N_MODULES; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", modules[i].module);
    return ek__fail(err, EK_ERR_INPUT, at, "'%.60s' is no module that can be recomputed; give some of %s", module,
                    names);
}
