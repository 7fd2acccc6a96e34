/* Lists the default patterns of frameworks for settings with numbers of layers and no operators. They are the
 * activation and the product after it, and norms, whose output is gathered. Llama's are the defaults of MindFormers
 * r1.5.0; those of its other families are the same operators under their names there. */
#include "job/job_internal.h"

static const char *const none[] = {NULL};
static const char *const norms[] = {".*\\.norm", NULL}, *const newer_norms[] = {".*layernorm", NULL};
static const char *const llama[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu", NULL};
static const char *const glm[] = {"mlp\\.activation_func\\.mul", "mlp\\.activation_func\\.silu\\.silu", NULL};
static const char *const newer[] = {"mlp\\.activation_func", NULL};
static const char *const core_attention[] = {"self_attention\\.core_attention", NULL};

static const char *const *selected(const ek_job *job)
{
    /* Megatron's selective recomputation is its attention's core; MindSpeed-Core-MS uses the activation instead if the
     * core saves no scores. */
    if (job->framework == EK_MEGATRON || (job->framework == EK_MINDSPEED && !job->model.flash_attention))
        return core_attention;
    return job->family == EK_FAMILY_GLM ? glm : job->family == EK_FAMILY_MEGATRON ? newer : llama;
}

const char *const *ek__job_usual_patterns(const ek_job *job, ek_pattern_kind kind)
{
    if (kind == EK_PATTERN_SELECT)
        return selected(job);
    if (kind != EK_PATTERN_COMM || job->framework == EK_MEGATRON)
        return none; /* for Megatron's gathers only the rank's part is saved anyway */
    return job->family == EK_FAMILY_MEGATRON ? newer_norms : norms;
}

/* Every primitive in any cell, and the saved ones: the fused attention and every second matrix product in the order in
 * which a layer runs them, wq, wk, wv, wo, w1, w3, w2. Latent attention runs wq or wq_a, wq_b, then wkv_a, wkv_b, wo;
 * experts' products do not count. Of collectives the policy saves the outputs of reduce-scatters; inputs are gathered
 * again after the norms. */
static const char *const primitives[] = {".*", ".*\\..*", ".*\\..*\\..*", ".*\\..*\\..*\\..*", NULL};
static const char *const grouped_products[] = {"attention\\.wq\\.matmul", "attention\\.wv\\.matmul",
                                               "attention\\.flash_attention\\.flash_attention", NULL};
static const char *const latent_products[] = {"attention\\.linear_q_proj\\.matmul",
                                              "attention\\.linear_kv_up_proj\\.matmul",
                                              "attention\\.core_attention\\.flash_attention", NULL};
static const char *const narrow_products[] = {
    "attention\\.linear_q_down_proj\\.matmul", "attention\\.linear_kv_down_proj\\.matmul",
    "attention\\.linear_proj\\.matmul", "attention\\.core_attention\\.flash_attention", NULL};

static const char *const dense_products[] = {"feed_forward\\.w1\\.matmul", "feed_forward\\.w2\\.matmul", NULL};
static const char *const dense_behind_five[] = {"feed_forward\\.w3\\.matmul", NULL};

static const char *const gathered_inputs[] = {".*norm\\.norm", NULL};

static ek_status add_all(ek_job *job, const char *const *text, ek_pattern_kind kind, ek_origin at, ek_error *err)
{
    ek_status status = EK_OK;
    for (; *text && status == EK_OK; text++)
        status = ek__job_add_pattern(job, *text, kind, NULL, true, at, err);
    return status;
}

ek_status ek__job_keep_products(ek_job *job, ek_origin at, ek_error *err)
{
    const ek_job_model *m = &job->model;
    bool latent = m->kv_lora_rank > 0, narrow = latent && m->q_lora_rank > 0;
    bool dense = m->n_experts == 0 || m->n_dense_layers > 0 || m->expert_period > 1;
    ek_status status = add_all(job, primitives, EK_PATTERN_SELECT, at, err);
    if (status == EK_OK)
        status = add_all(job,
                         narrow   ? narrow_products
                         : latent ? latent_products
                                  : grouped_products,
                         EK_PATTERN_SELECT_EXCLUDE, at, err);
    if (status == EK_OK && dense)
        status = add_all(job, narrow ? dense_behind_five : dense_products, EK_PATTERN_SELECT_EXCLUDE, at, err);
    if (status == EK_OK && job->parallel.tensor > 1)
        status = add_all(job, gathered_inputs, EK_PATTERN_COMM, at, err);
    return status;
}

bool ek__job_keeps_products(const ek_job *job)
{
    bool recomputes = false, keeps = false;
    for (int i = 0; i < job->n_patterns; i++) {
        recomputes = recomputes || job->pattern[i].kind == EK_PATTERN_SELECT;
        keeps = keeps || job->pattern[i].kind == EK_PATTERN_SELECT_EXCLUDE;
    }
    return recomputes && keeps && job->framework == EK_TORCHTITAN;
}
