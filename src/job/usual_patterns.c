/* What frameworks recompute where they are told how many layers and not what: the activation and the product behind it,
 * and norms, whose output is gathered. Llama's are MindFormers' own defaults, r1.5.0; those of its other families are
 * the same operators by the names they have there. */
#include "job/job_internal.h"

static const char *const none[] = {NULL};
static const char *const norms[] = {".*\\.norm", NULL}, *const newer_norms[] = {".*layernorm", NULL};
static const char *const llama[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu", NULL};
static const char *const glm[] = {"mlp\\.activation_func\\.mul", "mlp\\.activation_func\\.silu\\.silu", NULL};
static const char *const newer[] = {"mlp\\.activation_func", NULL};
static const char *const core_attention[] = {"self_attention\\.core_attention", NULL};

static const char *const *selected(const ek_job *job)
{
    /* Megatron's selective recomputation is its attention's core; MindSpeed-Core-MS takes the activation instead where
     * the core keeps no scores. */
    if (job->framework == EK_MEGATRON || (job->framework == EK_MINDSPEED && !job->model.flash_attention))
        return core_attention;
    return job->family == EK_FAMILY_GLM ? glm : job->family == EK_FAMILY_MEGATRON ? newer : llama;
}

const char *const *ek__job_usual_patterns(const ek_job *job, ek_pattern_kind kind)
{
    if (kind == EK_PATTERN_SELECT)
        return selected(job);
    if (kind != EK_PATTERN_COMM || job->framework == EK_MEGATRON)
        return none; /* of Megatron's gathers only the rank's part is kept anyway */
    return job->family == EK_FAMILY_MEGATRON ? newer_norms : norms;
}

/* Every primitive, whatever cells it is in, and what is kept of them: the fused attention and every second product of
 * matrices in the order in which a layer runs them, wq, wk, wv, wo, w1, w3, w2. Of the last one nothing reads the
 * output, which PyTorch keeps all the same: the sum behind the attention, as large, is left out of what is recomputed
 * for it. Of collectives the policy keeps what reduce-scatters give; inputs are gathered again behind the norms. */
static const struct {
    const char *text;
    ek_pattern_kind kind;
} products[] = {
    {".*\\..*", EK_PATTERN_SELECT},
    {".*\\..*\\..*", EK_PATTERN_SELECT},
    {".*\\..*\\..*\\..*", EK_PATTERN_SELECT},
    {"attention\\.wq\\.matmul", EK_PATTERN_SELECT_EXCLUDE},
    {"attention\\.wv\\.matmul", EK_PATTERN_SELECT_EXCLUDE},
    {"attention\\.flash_attention\\.flash_attention", EK_PATTERN_SELECT_EXCLUDE},
    {"feed_forward\\.w1\\.matmul", EK_PATTERN_SELECT_EXCLUDE},
    {"feed_forward\\.w2\\.matmul", EK_PATTERN_SELECT_EXCLUDE},
    {".*norm\\.norm", EK_PATTERN_COMM},
};

ek_status ek__job_keep_products(ek_job *job, ek_origin at, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof products / sizeof *products && status == EK_OK; i++)
        if (products[i].kind != EK_PATTERN_COMM || job->parallel.tensor > 1)
            status = ek__job_add_pattern(job, products[i].text, products[i].kind, NULL, true, at, err);
    return status;
}
