/* Rules on mixture of experts: capacity, the exchange of tokens, the experts' multiplications, the balance of the
 * router. Volumes are counted from the job for one layer with experts and one micro-batch, in one direction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "lint/predict.h"
#include "lint/shell.h"
#include "lint/source_position.h"

#define JOBS             (1U << EK_LINT_YAML | 1U << EK_LINT_SHELL)
#define CHECKS(function) .check = {[EK_LINT_YAML] = (function), [EK_LINT_SHELL] = (function)}

enum { MACHINE_DEVICES = 8 };
static const double much_padding = 2, usual_capacity = 1.25;

static const ek__job_key experts_setting = {{"n_routed_experts", "expert_num", "num_moe_experts"}, "--num-experts"};
static const ek__job_key capacity_setting = {{"capacity_factor", "moe_expert_capacity_factor"},
                                             "--moe-expert-capacity-factor"};

/* A job with experts; Megatron-DeepSpeed has experts of its own, which these rules do not know. */
static const ek_job *job_of(const ek__lint_file *file)
{
    bool deepspeed = file->shell && ek__shell_has(file->shell, "--deepspeed");
    return file->job && file->job->model.n_experts > 0 && !deepspeed ? file->job : NULL;
}

static bool is_of_megatron(const ek__lint_file *file)
{
    return file->shell && file->job->framework == EK_MEGATRON;
}

/* A scalar anywhere in the file is a switch that is on. */
static bool is_on(const ek__lint_file *file, const char *key)
{
    const ek__node *node = file->yaml ? ek__lint_find(file->yaml, key) : NULL;
    return ek__lint_is_on(node);
}

/* Bytes of a micro-batch's activations on the tensor-parallel ranks together. */
static double bytes_of_batch(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (double)p->batch * p->seq_length / p->context * job->model.hidden * ek_dtype_bytes(job->types.compute);
}

/* Of these, the bytes that a rank brings to a layer with experts. */
static double bytes_of_rank(const ek_job *job)
{
    return bytes_of_batch(job) / (job->parallel.sequence_parallel ? job->parallel.tensor : 1);
}

/* ---- capacity ---- */

static ek_status check_capacity(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek_job *job = job_of(file);
    double c = job ? job->model.capacity_factor : 0;
    if (c <= 0 || c >= 1)
        return EK_OK;
    return EK__LINT_AT(
        &capacity_setting, NULL,
        "the capacity of an expert is %g of its even share, so at least %.0f %% of the choices of experts "
        "are dropped even when the load is even; write 1 or more",
        c, 100 * (1 - c));
}

static ek_status check_padding(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek_job *job = job_of(file);
    double c = job ? job->model.capacity_factor : 0, change = NAN;
    /* Megatron computes the routed tokens only, unless it is set to pad. */
    bool pads = job && (job->framework == EK_MINDFORMERS ||
                        (file->shell && ek__shell_has(file->shell, "--moe-pad-expert-input-to-capacity")));
    if (!pads || c < much_padding)
        return EK_OK;
    ek_job changed = *job;
    changed.model.capacity_factor = usual_capacity;
    ek_status status = ek__lint_predict_change(run, job, &changed, &change);
    char figure[120] = "";
    if (!status && !isnan(change) && change < 0)
        ek__snprintf(figure, sizeof figure, "; on %s the step is predicted %.1f %% shorter with %g",
                     run->options->device->name, -100 * change, usual_capacity);
    return status ? status
                  : EK__LINT_AT(&capacity_setting, NULL,
                                "each expert computes %g times its even share of tokens, so %.0f %% of the slots are "
                                "empty when the load is even; use a smaller capacity once the router is balanced%s",
                                c, 100 * (1 - 1 / c), figure);
}

/* ---- the exchange of tokens ---- */

static ek_status check_dispatch(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"moe_token_dispatcher_type", "use_allgather_dispatcher", "enable_alltoall"},
                                        "--moe-token-dispatcher-type"};
    const ek_job *job = job_of(file);
    const ek__node *type = file->yaml ? ek__lint_find(file->yaml, "moe_token_dispatcher_type") : NULL;
    if (!job || job->parallel.expert <= job->model.top_k)
        return EK_OK; /* with few ranks a token goes to all of them anyway */
    const char *word = is_of_megatron(file) ? ek__shell_argument(file->shell, setting.argument)
                       : type               ? type->text
                                            : NULL;
    bool old = file->yaml && job->framework == EK_MINDFORMERS && !is_on(file, "enable_alltoall");
    bool unset = is_of_megatron(file) ? !ek__shell_has(file->shell, setting.argument)
                                      : old && !ek__lint_find(file->yaml, "enable_alltoall");
    bool gathers = unset || old || (word && strcmp(word, "allgather") == 0) || is_on(file, "use_allgather_dispatcher");
    if (!gathers)
        return EK_OK;
    double g = job->parallel.expert, gathered = (g - 1) * bytes_of_rank(job),
           exchanged = job->model.top_k * (g - 1) / g * bytes_of_rank(job);
    return EK__LINT_AT(ek__source_either(file, &setting, &experts_setting), NULL,
                       "tokens are gathered on all %d expert-parallel ranks%s: a rank receives %.0f MB in a layer and "
                       "micro-batch, (ep-1) times its tokens; with %s each token goes to its %d experts, %.0f MB",
                       job->parallel.expert, unset ? ", the default" : "", gathered / 0x1p20,
                       old ? "enable_alltoall: True" : "alltoall", job->model.top_k, exchanged / 0x1p20);
}

static ek_status check_exchange(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"group_wise_a2a"}, NULL}, degree = {{"expert_parallel"}, NULL};
    const ek_job *job = job_of(file);
    if (!job || !file->yaml || job->framework != EK_MINDFORMERS)
        return EK_OK;
    const ek_job_parallel *p = &job->parallel;
    bool on = is_on(file, "group_wise_a2a"),
         possible = p->tensor > 1 && (p->data == p->expert || p->data * p->context == p->expert);
    if (on && !possible)
        return EK__LINT_AT(&setting, "False",
                           "group_wise_a2a does nothing here: it needs model_parallel above 1, which is %d, and "
                           "data_parallel %d equal to expert_parallel %d",
                           p->tensor, p->data, p->expert);
    if (on || !possible || p->expert == 1 || p->expert * p->tensor <= MACHINE_DEVICES)
        return EK_OK;
    double c = job->model.capacity_factor > 1 ? job->model.capacity_factor : 1, g = p->expert;
    double sent = job->model.top_k * c * (g - 1) / g * bytes_of_batch(job);
    return EK__LINT_AT(
        ek__source_either(file, &setting, &degree), NULL,
        "%d expert-parallel ranks span machines, and each sends %.0f MB in a layer and micro-batch; with "
        "group_wise_a2a: True the %d tensor-parallel ranks share that, %.0f MB each, and gather within "
        "the machine",
        p->expert, sent / 0x1p20, p->tensor, sent / p->tensor / 0x1p20);
}

/* ---- multiplications ---- */

static ek_status check_apart(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"moe_grouped_gemm"}, "--num-experts"};
    const ek_job *job = job_of(file);
    const ek__node *node = file->yaml ? ek__lint_find(file->yaml, "moe_grouped_gemm") : NULL;
    bool on;
    if (!job || job->model.grouped_matmul)
        return EK_OK;
    int local = job->model.n_experts / job->parallel.expert;
    bool apart = is_of_megatron(file) || (node && ek__node_is_bool(node, &on) && !on);
    if (!apart || local < 2)
        return EK_OK;
    return EK__LINT_AT(&setting, node ? "True" : NULL,
                       "the %d experts of a rank are multiplied one after another, %d multiplications in the forward "
                       "pass of a layer instead of 2 grouped ones; switch %s on",
                       local, 2 * local, file->shell ? "--moe-grouped-gemm" : "moe_grouped_gemm");
}

/* ---- the router ---- */

/* Is the text a number that is 0? */
static bool is_zero(const char *text)
{
    double value;
    return text && ek__text_is_number(text, &value) && value == 0;
}

static bool all_zero(const ek__node *list)
{
    if (!list || list->kind != EK__LIST)
        return true;
    for (const ek__node *one = list->first; one; one = one->next)
        if (one->kind != EK__SCALAR || !is_zero(one->text))
            return false;
    return true;
}

/* The setting that leaves the router without balance; NULL: something balances it, or the file leaves it open. */
static const ek__job_key *unbalanced(const ek__lint_file *file)
{
    static const ek__job_key type = {{"moe_router_load_balancing_type"}, "--moe-router-load-balancing-type"},
                             factor = {{"moe_aux_loss_coeff"}, "--moe-aux-loss-coeff"},
                             old_factor = {{"aux_loss_factor"}, NULL};
    if (is_on(file, "balance_via_topk_bias") || is_on(file, "moe_router_enable_expert_bias"))
        return NULL;
    if (file->shell) {
        if (!is_of_megatron(file) || ek__shell_has(file->shell, "--moe-router-enable-expert-bias"))
            return NULL;
        const char *kind = ek__shell_argument(file->shell, type.argument);
        if (kind && strcmp(kind, "none") == 0)
            return &type;
        if (kind && !strstr(kind, "aux_loss"))
            return NULL;
        if (!ek__shell_has(file->shell, factor.argument))
            return &experts_setting;
        return is_zero(ek__shell_argument(file->shell, factor.argument)) ? &factor : NULL;
    }
    const ek__node *kind = ek__lint_find(file->yaml, "moe_router_load_balancing_type"),
                   *coefficient = ek__lint_find(file->yaml, "moe_aux_loss_coeff"),
                   *old = ek__lint_find(file->yaml, "aux_loss_factor");
    if (file->job->framework == EK_MINDFORMERS)
        return old && is_zero(old->text) && all_zero(ek__lint_get(file->yaml, "moe_config.aux_loss_factors"))
                   ? &old_factor
                   : NULL;
    if (kind && strcmp(kind->text, "none") == 0)
        return &type;
    return coefficient && is_zero(coefficient->text) ? &factor : NULL;
}

static ek_status check_balance(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek_job *job = job_of(file);
    const ek__job_key *setting = job ? unbalanced(file) : NULL;
    if (!setting)
        return EK_OK;
    int ranks = job->parallel.expert;
    char worst[160] = "";
    if (ranks > 1)
        ek__snprintf(worst, sizeof worst,
                     "; when all tokens choose experts of one rank, that one of %d ranks computes %d times its even "
                     "share and the others wait",
                     ranks, ranks);
    return EK__LINT_AT(
        setting, NULL,
        "the router of %d experts has neither an auxiliary loss nor an expert bias, so nothing keeps the "
        "load even%s; set a coefficient such as 0.001, or switch the bias on",
        job->model.n_experts, worst);
}

static ek_status check_forced(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"moe_router_force_expert_balance"}, "--moe-router-force-load-balancing"};
    bool forced =
        file->shell ? ek__shell_has(file->shell, setting.argument) : is_on(file, "moe_router_force_expert_balance");
    if (!forced)
        return EK_OK;
    return EK__LINT_AT(&setting, file->yaml ? "False" : NULL,
                       "tokens are dealt out to experts evenly whatever the router chooses: the router learns nothing; "
                       "it is for measurements, switch it off for training");
}

#define EXPERTS(s)                                                                                                     \
    "model_config: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, vocab_size: "        \
    "32000,\n               num_moe_experts: 64, moe_router_topk: 4, " s "}\n"                                         \
    "training_config: {micro_batch_size: 1, global_batch_size: 64, bf16: True}\n"                                      \
    "accelerate_config: {parallelization: {use_distributed_optimizer: True}}\n"                                        \
    "parallel_config: {tensor_model_parallel_size: 1, data_parallel_size: 16, expert_model_parallel_size: 16}\n"
#define MIXTRAL(s)                                                                                                     \
    "model:\n  model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32, num_heads: "     \
    "32,\n"                                                                                                            \
    "                 vocab_size: 32000, use_flash_attention: True}\n"                                                 \
    "moe_config: {expert_num: 8, num_experts_chosen: 2" s "}\n"
#define DEGREES                                                                                                        \
    "parallel: {enable_parallel_optimizer: True, enable_alltoall: True}\n"                                             \
    "parallel_config: {data_parallel: 8, model_parallel: 2, expert_parallel: 8, use_seq_parallel: True}\n"

/* clang-format off */
const ek__lint_entry ek__lint_moe[] = {
    {
        .about = {.id = "moe-capacity", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "The capacity of an expert is below its even share",
                  .why = "An expert takes at most capacity x tokens x top-k / experts. Below 1 the experts together have fewer slots than "
                         "the tokens have choices, and the rest is dropped however well the router balances.",
                  .cost = "Quality: the finding states the least share of choices that is dropped. No time.",
                  .fix = "capacity_factor: 1.1 to 1.5; 0 or below, or no factor in Megatron, drops nothing.",
                  .source = "Fedus et al., Switch Transformers, section 2.2 (expert capacity); MindFormers, moe_config.capacity_factor",
                  .bad = MIXTRAL(", capacity_factor: 0.8") DEGREES,
                  .good = MIXTRAL(", capacity_factor: 1.1") DEGREES},
        CHECKS(check_capacity),
    },
    {
        .about = {.id = "moe-capacity-padding", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Half of the experts' slots or more are padding when the load is even",
                  .why = "Experts with a capacity compute all their slots, filled or not, and all slots are exchanged. A large factor "
                         "helps while the router is not balanced; later it is padding. Fires from a factor of 2 on.",
                  .cost = "1 - 1/c of the experts' computation and of the exchange for a factor c; with --device the finding states the "
                          "predicted change of the step with 1.25.",
                  .fix = "capacity_factor: 1.1 to 1.5, together with an auxiliary loss or an expert bias.",
                  .source = "Fedus et al., Switch Transformers, section 2.2: factors of 1.0 to 2.0, and more computation with more",
                  .bad = MIXTRAL(", capacity_factor: 2.0") DEGREES,
                  .good = MIXTRAL(", capacity_factor: 1.25") DEGREES},
        CHECKS(check_padding),
    },
    {
        .about = {.id = "moe-dispatch", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Tokens are gathered on every expert-parallel rank",
                  .why = "The allgather dispatcher sends every token to all ranks, which then pick theirs. An all-to-all sends a token to "
                         "its top-k experts. With more ranks than top-k the gathering moves more. Megatron gathers by default, and so does "
                         "MindFormers without enable_alltoall.",
                  .cost = "The finding states the MB that a rank receives in a layer with either, counted from the job.",
                  .fix = "--moe-token-dispatcher-type alltoall; moe_token_dispatcher_type: \"alltoall\"; enable_alltoall: True in parallel.",
                  .source = "Megatron-LM, help of --moe-token-dispatcher-type: alltoall is recommended with expert parallelism; "
                            "MindFormers, training template, parallel.enable_alltoall",
                  .bad = EXPERTS("moe_token_dispatcher_type: allgather"),
                  .good = EXPERTS("moe_token_dispatcher_type: alltoall")},
        CHECKS(check_dispatch),
    },
    {
        .about = {.id = "moe-all-to-all", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "group_wise_a2a is off where it would help, or on where it does nothing",
                  .why = "Tensor-parallel ranks hold the same tokens. With group_wise_a2a each sends its part of them between machines, "
                         "and they gather the rest within the machine. It takes effect only with model_parallel above 1 and "
                         "data_parallel equal to expert_parallel.",
                  .cost = "t times the necessary traffic between machines; the finding states it.",
                  .fix = "group_wise_a2a: True in moe_config.",
                  .source = "MindFormers, moe_config.group_wise_a2a (conditions and effect)",
                  .bad = MIXTRAL(", capacity_factor: 1.1") DEGREES,
                  .good = MIXTRAL(", capacity_factor: 1.1, group_wise_a2a: True") DEGREES},
        CHECKS(check_exchange),
    },
    {
        .about = {.id = "moe-experts-apart", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "A rank multiplies its experts one after another",
                  .why = "Several experts on a rank are several small matrices. Grouped, they are one launch that fills the device; one "
                         "after another each is launched apart and is too small to.",
                  .cost = "Launches, 2 for each expert and layer, and devices that are partly idle; the source gives no figure.",
                  .fix = "--moe-grouped-gemm; moe_grouped_gemm: True.",
                  .source = "Megatron-LM, help of --moe-grouped-gemm: several experts of a rank as one launch",
                  .bad = EXPERTS("moe_grouped_gemm: False"),
                  .good = EXPERTS("moe_grouped_gemm: True")},
        CHECKS(check_apart),
    },
    {
        .about = {.id = "moe-load-balance", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Nothing balances the router",
                  .why = "A router without an auxiliary loss and without a bias that is updated prefers few experts. The rank with the "
                         "fullest experts decides how long a layer takes. Megatron's coefficient of the auxiliary loss is 0 by default.",
                  .cost = "Up to ep times the time of the experts for ep expert-parallel ranks; with a capacity, dropped tokens.",
                  .fix = "--moe-aux-loss-coeff 0.001 or --moe-router-enable-expert-bias; aux_loss_factor: 0.05 or balance_via_topk_bias: "
                         "True in moe_config.",
                  .source = "Megatron-LM, help of --moe-aux-loss-coeff and --moe-router-enable-expert-bias; MindFormers, moe_config",
                  .bad = EXPERTS("moe_aux_loss_coeff: 0.0"),
                  .good = EXPERTS("moe_aux_loss_coeff: 0.001")},
        CHECKS(check_balance),
    },
    {
        .about = {.id = "moe-forced-balance", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "The choice of experts is forced to be even",
                  .why = "For measurements of speed the frameworks can replace the router's choice by an even one. The model does not "
                         "learn which expert suits a token.",
                  .cost = "The training: the experts' weights and the router's are of no use.",
                  .fix = "moe_router_force_expert_balance: False; leave --moe-router-force-load-balancing out.",
                  .source = "Megatron-LM, help of --moe-router-force-load-balancing: for benchmarks; MindFormers, configuration keys",
                  .bad = EXPERTS("moe_router_force_expert_balance: True"),
                  .good = EXPERTS("moe_router_force_expert_balance: False")},
        CHECKS(check_forced),
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
