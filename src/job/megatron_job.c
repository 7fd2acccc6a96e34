/* Converts arguments of Megatron-LM and MindSpeed-LLM, from a launch script or a list, to a job. The meaning and
 * default of an argument follow megatron/training/arguments.py and TransformerConfig of Megatron Core 0.12; values that
 * depend on the machine that runs the script (environment variables, outputs of commands) are required, not guessed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/megatron.h"
#include "job/megatron_arguments.h"
#include "job/megatron_run.h"
#include "job/settings.h"
#include "schedule/frameworks.h"

typedef struct reader {
    ek__arguments a;
    const ek_job_overrides *overrides;
    ek_job *job;
    int vocab, divisible, padded;
    int global_batch;
    int64_t world; /* ranks that the script starts, 0: unknown */
    ek_origin world_at;
} reader;

/* An argument with an integer value, for tables. */
typedef struct number {
    const char *name;
    int min, max;
    int *out;
    int instead; /* the command line's; 0: none */
} number;

static ek_status read_numbers(const reader *r, const number *numbers, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const number *k = &numbers[i];
        if (k->instead > 0 && ek__argument_given(&r->a, k->name) && !ek__argument_value(&r->a, k->name, 0))
            continue; /* values known only in a run are reported */
        status = ek__argument_int(&r->a, k->name, k->min, k->max, k->out);
    }
    return status;
}

static bool given(const reader *r, const char *name)
{
    return ek__argument_given(&r->a, name);
}

static void warn_idle(const reader *r, const char *name, const char *text)
{
    ek__argument_warn_idle(&r->a, name, text);
}

/* On Ascend devices flash attention keeps a maximum and a sum of eight columns per head and token, and under MindSpore
 * its allocator places the tensors. A script is recognised as one for Ascend by its launcher, or by arguments that only
 * MindSpeed has. */
static ek_status read_device(reader *r)
{
    static const char *const ascend[] = {"--use-fused-rmsnorm",     "--use-fused-swiglu", "--use-fused-rotary-pos-emb",
                                         "--context-parallel-algo", "--use-mc2",          "--use-ascend-coc"};
    const ek__words *words = &r->a.words;
    const ek_rules rules = ek_rules_default(EK_MINDSPEED);
    for (int i = 0; i < words->n; i++) {
        const char *text = words->word[i].text;
        bool mindspore =
            strcmp(text, "msrun") == 0 || strcmp(text, "--ai-framework=mindspore") == 0 ||
            (i > 0 && strcmp(text, "mindspore") == 0 && strcmp(words->word[i - 1].text, "--ai-framework") == 0);
        bool npu = mindspore;
        for (size_t k = 0; k < sizeof ascend / sizeof *ascend && !npu; k++)
            npu = strcmp(text, ascend[k]) == 0;
        if (npu) {
            r->job->rules.statistics_width = rules.statistics_width;
            r->job->rules.dummy_gradients = rules.dummy_gradients;
            r->job->rules.workspace_mb = rules.workspace_mb;
        }
        if (mindspore)
            r->job->rules.allocation = rules.allocation;
    }
    return EK_OK;
}

/* ---- the model ---- */

static ek_status read_shapes(reader *r)
{
    static const struct {
        const char *name, *what;
    } needed[] = {{"num-layers", "the number of the model's layers"},
                  {"hidden-size", "the model's width"},
                  {"num-attention-heads", "the attention's heads"},
                  {"seq-length", "the tokens of a sequence"},
                  {"micro-batch-size", "the sequences of a micro-batch"}};
    ek_job_model *m = &r->job->model;
    ek_job_parallel *p = &r->job->parallel;
    int groups = 1;
    const number numbers[] = {
        {"num-layers", 1, EK_MAX_LAYERS, &m->n_layers, r->overrides->n_layers},
        {"hidden-size", 1, EK__JOB_MAX_HIDDEN, &m->hidden, 0},
        {"num-attention-heads", 1, EK__JOB_MAX_HEADS, &m->n_heads, 0},
        {"num-query-groups", 1, EK__JOB_MAX_HEADS, &groups, 0},
        {"kv-channels", 1, EK__JOB_MAX_HIDDEN, &m->head_dim, 0},
        {"ffn-hidden-size", 1, EK__JOB_MAX_WIDTH, &m->intermediate, 0},
        {"seq-length", 1, EK__JOB_MAX_SEQUENCE, &p->seq_length, r->overrides->seq_length},
        {"max-position-embeddings", 1, EK__JOB_MAX_SEQUENCE, &m->max_position, 0},
        {"micro-batch-size", 1, EK__JOB_MAX_BATCH, &p->batch, r->overrides->batch},
        {"mtp-num-layers", 0, EK_MAX_LAYERS, &m->n_prediction_layers, 0},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    for (size_t i = 0; i < sizeof needed / sizeof *needed && status == EK_OK; i++) {
        bool overridden = (i == 0 && r->overrides->n_layers > 0) || (i == 3 && r->overrides->seq_length > 0) ||
                          (i == 4 && r->overrides->batch > 0);
        if (!given(r, needed[i].name) && !overridden)
            status = ek__argument_missing(&r->a, needed[i].name, needed[i].what);
    }
    if (status)
        return status;
    if (m->n_layers == 0)
        m->n_layers = r->overrides->n_layers;
    if (given(r, "seq-length"))
        ek__job_note_sequence(ek__argument_at(&r->a, "seq-length"), r->job);
    if (p->seq_length == 0)
        p->seq_length = r->overrides->seq_length;
    if (m->max_position == 0)
        m->max_position = p->seq_length;
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->n_heads > 0 ? m->hidden / m->n_heads : 1;
    m->value_dim = m->head_dim;
    m->n_kv_heads = given(r, "group-query-attention") ? groups : m->n_heads;
    if (given(r, "num-query-groups") && !given(r, "group-query-attention"))
        warn_idle(r, "num-query-groups", "--num-query-groups does nothing without --group-query-attention");
    return EK_OK;
}

/* Is attention one fused operator? */
static ek_status read_attention(reader *r)
{
    static const char *const backends[] = {"flash", "fused", "auto", "unfused", "local", NULL};
    static const char *const implementations[] = {"transformer_engine", "inference_optimized", "local", NULL};
    int backend = 2, implementation = 0;
    ek_status status = ek__argument_word(&r->a, "attention-backend", backends, &backend);
    if (status == EK_OK)
        status = ek__argument_word(&r->a, "transformer-impl", implementations, &implementation);
    if (status)
        return status;
    /* Megatron-DeepSpeed has no TransformerEngine: without a flag its attention is a softmax between two products. */
    bool fused = given(r, "attention-backend")                            ? backend < 3
                 : given(r, "deepspeed") && !given(r, "transformer-impl") ? false
                                                                          : implementation < 2;
    r->job->model.flash_attention = given(r, "use-flash-attn") || fused;
    r->job->model.mask_compressed = r->job->model.flash_attention;
    if (given(r, "no-masked-softmax-fusion") && !r->job->model.flash_attention)
        ek__warn(r->a.source->listener, ek__argument_at(&r->a, "no-masked-softmax-fusion"),
                 "--no-masked-softmax-fusion is not modelled: the softmax is timed as one operator");
    if (fused && !given(r, "use-flash-attn") && !given(r, "attention-backend") && !given(r, "transformer-impl"))
        ek__warn(r->a.source->listener, (ek_origin){r->a.source->path, 0, 0},
                 "the kind of attention is missing; a fused one is used, as in Megatron since --transformer-impl is "
                 "transformer_engine by default (--attention-backend unfused: none)");
    return EK_OK;
}

static ek_status read_positions(reader *r)
{
    static const char *const types[] = {"learned_absolute", "rope", "mrope", "relative", "alibi", "none", "yarn", NULL};
    int type = 0;
    ek_status status = ek__argument_word(&r->a, "position-embedding-type", types, &type);
    r->job->model.position_table =
        type == 0 && !given(r, "use-rotary-position-embeddings") && !given(r, "no-position-embedding");
    return status;
}

static ek_status read_layer(reader *r)
{
    static const char *const norms[] = {"LayerNorm", "RMSNorm", NULL};
    ek_job_model *m = &r->job->model;
    int norm = 0;
    m->gated = given(r, "swiglu");
    m->fused_swiglu = m->gated && !given(r, "no-bias-swiglu-fusion");
    m->linear_bias = !given(r, "disable-bias-linear");
    m->qkv_bias = m->linear_bias || given(r, "add-qkv-bias");
    m->qk_norm = given(r, "qk-layernorm");
    m->tied = !given(r, "untie-embeddings-and-output-weights");
    m->attention_dropout = m->hidden_dropout = 0.1;
    if (m->intermediate == 0)
        m->intermediate = m->gated ? (int)((int64_t)m->hidden * 4 * 2 / 3 / 64 * 64) : 4 * m->hidden;
    ek_status status = ek__argument_word(&r->a, "normalization", norms, &norm);
    m->layer_norm = norm == 0;
    if (status == EK_OK)
        status = ek__argument_number(&r->a, "attention-dropout", 0, 1, &m->attention_dropout);
    if (status == EK_OK)
        status = ek__argument_number(&r->a, "hidden-dropout", 0, 1, &m->hidden_dropout);
    if (status == EK_OK)
        status = read_positions(r);
    return status ? status : read_attention(r);
}

static ek_status read_latent(reader *r)
{
    ek_job_model *m = &r->job->model;
    if (!given(r, "multi-latent-attention"))
        return EK_OK;
    m->kv_lora_rank = 32;
    m->nope_dim = 128;
    m->rope_dim = 64;
    m->value_dim = 128;
    const number numbers[] = {
        {"q-lora-rank", 1, EK__JOB_MAX_HIDDEN, &m->q_lora_rank, 0},
        {"kv-lora-rank", 1, EK__JOB_MAX_HIDDEN, &m->kv_lora_rank, 0},
        {"qk-head-dim", 1, EK__JOB_MAX_HIDDEN, &m->nope_dim, 0},
        {"qk-pos-emb-head-dim", 0, EK__JOB_MAX_HIDDEN, &m->rope_dim, 0},
        {"v-head-dim", 1, EK__JOB_MAX_HIDDEN, &m->value_dim, 0},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    m->head_dim = m->nope_dim + m->rope_dim;
    m->n_kv_heads = m->n_heads;
    return status;
}

/* ---- experts ---- */

/* "([0]*3+[1]*58)": layers without and with experts, written out. @return their number, -1: not of that form */
static int expand_pattern(const char *text, bool *out, int max)
{
    int n = 0;
    for (const char *at = text + strspn(text, "( \""); *at && *at != ')';) {
        int from = n, times = 1;
        if (*at++ != '[')
            return -1;
        for (; *at == '0' || *at == '1' || *at == ','; at++)
            if (*at != ',' && n < max)
                out[n++] = *at == '1';
        if (*at++ != ']')
            return -1;
        if (*at == '*')
            for (at++, times = 0; *at >= '0' && *at <= '9'; at++)
                times = times < max ? 10 * times + (*at - '0') : times;
        int length = n - from;
        for (int i = 1; i < times; i++)
            for (int k = 0; k < length && n < max; k++)
                out[n++] = out[from + k];
        at += strspn(at, "+ ");
    }
    return n;
}

/* Read which layers have experts: dense ones first, then a period. */
static ek_status read_frequency(reader *r)
{
    const char *text = NULL;
    ek_job_model *m = &r->job->model;
    ek_status status = ek__argument_text(&r->a, "moe-layer-freq", &text);
    if (status || !text)
        return status;
    if (text[strspn(text, "0123456789")] == '\0')
        return ek__argument_int(&r->a, "moe-layer-freq", 1, EK_MAX_LAYERS, &m->expert_period);
    bool *experts = ek__alloc((size_t)m->n_layers + 1, sizeof *experts);
    if (!experts)
        return ek__no_memory(r->a.source->err);
    int n = expand_pattern(text, experts, m->n_layers + 1);
    bool modelled = n == m->n_layers && ek__megatron_expert_layers(experts, n, &m->n_dense_layers, &m->expert_period);
    free(experts);
    if (!modelled)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, "moe-layer-freq"),
                        "--moe-layer-freq is '%.60s', expected a number, or a list like ([0]*3+[1]*%d) of %d layers, "
                        "dense ones first and then a regular pattern with experts; others are not modelled",
                        text, m->n_layers > 3 ? m->n_layers - 3 : 1, m->n_layers);
    return EK_OK;
}

/* A token's experts are selected from its best groups of experts. */
static ek_status check_router_groups(const reader *r)
{
    static const char name[] = "moe-router-num-groups", top[] = "moe-router-group-topk";
    const ek_job_model *m = &r->job->model;
    if (given(r, top) && !given(r, name))
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, top),
                        "--moe-router-group-topk is given without --moe-router-num-groups; give the groups of experts "
                        "that it takes the best of");
    if (m->router_groups > 0 && m->n_experts % m->router_groups != 0)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, name),
                        "--moe-router-num-groups is %d, which does not divide the %d experts of --num-experts",
                        m->router_groups, m->n_experts);
    if (m->router_top_groups > m->router_groups)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, top),
                        "--moe-router-group-topk is %d, expected at most the %d groups of --moe-router-num-groups",
                        m->router_top_groups, m->router_groups);
    if (m->router_top_groups > 0 && m->n_experts / m->router_groups * m->router_top_groups < m->top_k)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, top),
                        "--moe-router-group-topk is %d: %d groups have %d experts, fewer than the %d that "
                        "--moe-router-topk takes",
                        m->router_top_groups, m->router_top_groups,
                        m->n_experts / m->router_groups * m->router_top_groups, m->top_k);
    return EK_OK;
}

static ek_status read_experts(reader *r)
{
    ek_job_model *m = &r->job->model;
    ek_status status = ek__argument_int(&r->a, "num-experts", 1, EK__JOB_MAX_EXPERTS, &m->n_experts);
    if (status || m->n_experts == 0)
        return status;
    m->expert_intermediate = m->intermediate;
    if (given(r,
              "deepspeed")) { /* arguments.py of Megatron-DeepSpeed: topk, expert_interval, moe_train_capacity_factor */
        m->top_k = 1;
        m->expert_period = 2;
        m->capacity_factor = given(r, "disable-moe-token-dropping") ? 0 : 1;
    }
    const number numbers[] = {
        {"expert-interval", 1, EK_MAX_LAYERS, &m->expert_period, 0},
        {"moe-router-topk", 1, EK__JOB_MAX_EXPERTS, &m->top_k, 0},
        {"moe-ffn-hidden-size", 1, EK__JOB_MAX_WIDTH, &m->expert_intermediate, 0},
        {"moe-shared-expert-intermediate-size", 1, EK__JOB_MAX_WIDTH, &m->shared_intermediate, 0},
        {"moe-router-num-groups", 1, EK__JOB_MAX_EXPERTS, &m->router_groups, 0},
        {"moe-router-group-topk", 1, EK__JOB_MAX_EXPERTS, &m->router_top_groups, 0},
        {"n-shared-experts", 0, EK__JOB_MAX_EXPERTS, &m->n_shared_experts, 0},
        {"first-k-dense-replace", 0, EK_MAX_LAYERS, &m->n_dense_layers, 0},
    };
    status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status == EK_OK)
        status = ek__argument_number(&r->a, "moe-expert-capacity-factor", -1, 1e6, &m->capacity_factor);
    if (status == EK_OK)
        status = check_router_groups(r);
    if (status == EK_OK)
        status = read_frequency(r);
    int64_t shared = (int64_t)m->n_shared_experts * m->expert_intermediate;
    if (status == EK_OK && m->shared_intermediate == 0)
        m->shared_intermediate = shared <= EK__JOB_MAX_WIDTH ? (int)shared : EK__JOB_MAX_WIDTH + 1;
    else if (m->n_shared_experts == 0)
        m->n_shared_experts = m->shared_intermediate > 0;
    m->grouped_matmul = given(r, "moe-grouped-gemm");
    return status;
}

/* ---- vocabulary ---- */

/* For tokenizers with a fixed vocabulary. */
static int known_vocabulary(const char *tokenizer)
{
    return !tokenizer                                   ? 0
           : strcmp(tokenizer, "GPT2BPETokenizer") == 0 ? 50257
           : strcmp(tokenizer, "Llama2Tokenizer") == 0  ? 32000
                                                        : 0;
}

static ek_status read_vocabulary(reader *r)
{
    const char *tokenizer = NULL;
    r->divisible = 128;
    const number numbers[] = {
        {"make-vocab-size-divisible-by", 1, 1 << 20, &r->divisible, 0},
        {"vocab-size", 1, EK__JOB_MAX_WIDTH, &r->vocab, 0},
        {"padded-vocab-size", 1, EK__JOB_MAX_WIDTH, &r->padded, 0},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status || r->vocab > 0 || r->padded > 0)
        return status;
    if (given(r, "tokenizer-type"))
        status = ek__argument_text(&r->a, "tokenizer-type", &tokenizer);
    if (status)
        return status;
    if (!tokenizer && given(r, "merge-file")) /* pretrain_gpt.py's own default */
        tokenizer = "GPT2BPETokenizer";
    r->vocab = known_vocabulary(tokenizer);
    if (r->vocab == 0)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, "tokenizer-type"),
                        "--vocab-size is missing, and the files of the tokenizer are not read; add --vocab-size N or "
                        "--padded-vocab-size N");
    ek__warn(r->a.source->listener, ek__argument_at(&r->a, "tokenizer-type"),
             "no --vocab-size is given; %d is taken, which a %s usually has", r->vocab, tokenizer);
    return EK_OK;
}

/* ---- number formats and states ---- */

static ek_status read_bytes(const reader *r, const char *name, int *out)
{
    static const char *const words[] = {"fp32", "bf16", "fp16", "fp8", NULL};
    static const int bytes[] = {4, 2, 2, 1};
    int which = -1;
    ek_status status = ek__argument_word(&r->a, name, words, &which);
    if (status == EK_OK && which >= 0)
        *out = bytes[which];
    return status;
}

/* The implementations of matrix products (TransformerEngine or not) and of cross entropy. */
static ek_status read_fusions(reader *r)
{
    static const char *const implementations[] = {"transformer_engine", "inference_optimized", "local", NULL};
    static const char *const losses[] = {"native", "te", NULL};
    ek_rules *rules = &r->job->rules;
    int implementation = 0, loss = 0;
    ek_status status = ek__argument_word(&r->a, "transformer-impl", implementations, &implementation);
    if (status == EK_OK)
        status = ek__argument_word(&r->a, "cross-entropy-fusion-impl", losses, &loss);
    rules->loss_fused = rules->loss_fused || given(r, "cross-entropy-loss-fusion");
    rules->loss_in_place = rules->loss_fused && loss == 1;
    if (given(r, "no-gradient-accumulation-fusion"))
        rules->weight_gradient_fused = false;
    if (implementation == 2 && rules->dummy_gradients) {
        rules->dummy_gradients = false;
        rules->workspace_mb = EK__CUBLAS_MB;
    } else if (rules->dummy_gradients && r->job->model.grouped_matmul) {
        rules->workspace_mb += EK__GROUPED_STREAMS * EK__CUBLAS_MB;
    }
    return status;
}

static ek_status read_states(reader *r)
{
    static const char *const optimizers[] = {"adam", "sgd", "adamw", "muon", NULL};
    int optimizer = 0, gradient = 0;
    ek_dtype dtype = given(r, "bf16") ? EK_BF16 : given(r, "fp16") ? EK_FP16 : EK_FP32;
    ek__megatron_types types = {.weight = dtype, .master = 4, .first = 4, .second = 4};
    if (given(r, "bf16") && given(r, "fp16"))
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, "fp16"),
                        "--fp16 and --bf16 are both given; give one");
    types.distributed = given(r, "use-distributed-optimizer");
    types.precise = given(r, "use-precision-aware-optimizer");
    types.gradient_fp32 = dtype == EK_FP32 || given(r, "accumulate-allreduce-grads-in-fp32") ||
                          (dtype == EK_BF16 && !given(r, "grad-reduce-in-bf16"));
    ek_status status = ek__argument_word(&r->a, "optimizer", optimizers, &optimizer);
    if (status == EK_OK && types.precise)
        status = read_bytes(r, "main-grads-dtype", &gradient);
    if (status == EK_OK && types.precise)
        status = read_bytes(r, "main-params-dtype", &types.master);
    if (status == EK_OK && types.precise)
        status = read_bytes(r, "exp-avg-dtype", &types.first);
    if (status == EK_OK && types.precise)
        status = read_bytes(r, "exp-avg-sq-dtype", &types.second);
    if (status)
        return status;
    if (gradient > 0)
        types.gradient_fp32 = gradient == 4;
    if (optimizer == 1 || optimizer == 3) /* a momentum alone */
        types.second = 0;
    ek__megatron_states(&types, r->job);
    status = ek__argument_int(&r->a, "num-distributed-optimizer-instances", 1, EK_MAX_RANKS, &r->job->states.instances);
    if (status)
        return status;
    if (r->job->states.instances > 1 && !types.distributed && !given(r, "use-megatron-fsdp"))
        warn_idle(r, "num-distributed-optimizer-instances",
                  "--num-distributed-optimizer-instances does nothing without --use-distributed-optimizer");
    ek_job_types *t = &r->job->types;
    t->compute = t->param = t->embedding = t->norm = t->softmax = t->router = dtype;
    t->residual = given(r, "fp32-residual-connection") ? EK_FP32 : dtype;
    int router = 0;
    status = read_bytes(r, "moe-router-dtype", &router);
    if (router == 4)
        t->router = EK_FP32;
    return status ? status : read_fusions(r);
}

/* ---- degrees ---- */

static ek_status read_context(reader *r)
{
    static const char *const types[] = {"p2p", "all_gather", "allgather", "a2a", "a2a+p2p", NULL};
    static const char *const algorithms[] = {"ulysses_cp_algo",  "megatron_cp_algo",        "hybrid_cp_algo",
                                             "adaptive_cp_algo", "hybrid_adaptive_cp_algo", NULL};
    ek_job_parallel *p = &r->job->parallel;
    int type = 0, algorithm = -1;
    ek_status status = ek__argument_word(&r->a, "cp-comm-type", types, &type);
    if (status == EK_OK)
        status = ek__argument_word(&r->a, "context-parallel-algo", algorithms, &algorithm);
    if (status == EK_OK)
        status = ek__argument_int(&r->a, "ulysses-degree-in-cp", 1, EK_MAX_RANKS, &p->ulysses);
    p->context_algorithm = type == 1 || type == 2 ? EK_CONTEXT_GATHER
                           : type == 3            ? EK_CONTEXT_ULYSSES
                                                  : EK_CONTEXT_RING;
    if (algorithm >= 0)
        p->context_algorithm = algorithm == 0 ? EK_CONTEXT_ULYSSES : EK_CONTEXT_RING;
    if (p->context_algorithm != EK_CONTEXT_ULYSSES && algorithm != 2 && algorithm != 4)
        p->ulysses = 1; /* a plain ring has no such groups, for any degree */
    return status;
}

static ek_status read_degrees(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    int data = 0, expert_tensor = 0;
    const number numbers[] = {
        {"tensor-model-parallel-size", 1, EK_MAX_RANKS, &p->tensor, r->overrides->tensor},
        {"pipeline-model-parallel-size", 1, EK_MAX_STAGES, &p->pipeline, r->overrides->pipeline},
        {"context-parallel-size", 1, EK_MAX_RANKS, &p->context, r->overrides->context},
        {"expert-model-parallel-size", 1, EK_MAX_RANKS, &p->expert, r->overrides->expert},
        {"expert-tensor-parallel-size", 1, EK_MAX_RANKS, &expert_tensor, 0},
        {"data-parallel-size", 1, EK_MAX_RANKS, &data, 0},
        {"global-batch-size", 1, INT_MAX, &r->global_batch, r->overrides->n_micro_batches},
        {"microbatch-group-size-per-virtual-pipeline-stage", 1, EK_MAX_MICRO_BATCHES, &p->chunk_group, 0},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    p->data = data; /* 0: from the world */
    p->expert_tensor = expert_tensor;
    p->sequence_parallel = given(r, "sequence-parallel");
    return status ? status : read_context(r);
}

/* Data-parallel ranks, after the overrides of all other degrees. */
static ek_status derive_data(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    const ek__job_source *source = r->a.source;
    int64_t model = (int64_t)p->tensor * p->pipeline * p->context;
    if (p->data > 0)
        return EK_OK;
    r->world = ek__megatron_world(&r->a, &r->world_at);
    if (r->world == 0) {
        p->data = 1;
        ek__warn(source->listener, (ek_origin){source->path, 0, 0},
                 "the number of ranks is missing; data parallel is 1 (%s)",
                 r->a.put ? "give it with the option -dp N"
                          : "--data-parallel-size N, or the launcher's --nproc_per_node and --nnodes as plain numbers");
        return EK_OK;
    }
    if (r->world % model != 0)
        return ek__fail(source->err, EK_ERR_INPUT, r->world_at,
                        "the %s starts %lld ranks, no multiple of the %lld of tensor %d x pipeline %d x context %d; "
                        "correct one of them, or give the data-parallel ranks",
                        r->a.put ? "file" : "script", (long long)r->world, (long long)model, p->tensor, p->pipeline,
                        p->context);
    p->data = (int)(r->world / model);
    ek__job_note(r->job, "world");
    return EK_OK;
}

static ek_status derive_micro_batches(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    const ek__job_source *source = r->a.source;
    int64_t at_once = (int64_t)p->batch * p->data;
    if (r->overrides->n_micro_batches > 0)
        return EK_OK;
    if (r->global_batch == 0) {
        p->n_micro_batches = 1;
        if (p->pipeline == 1)
            return EK_OK;
        p->n_micro_batches = p->pipeline;
        ek__warn(
            source->listener, (ek_origin){source->path, 0, 0},
            "no --global-batch-size is given, which would be one micro-batch a step; %d are taken, one for each stage",
            p->pipeline);
        return EK_OK;
    }
    if (r->global_batch % at_once != 0 || r->global_batch / at_once > EK_MAX_MICRO_BATCHES)
        return ek__fail(
            source->err, EK_ERR_INPUT, ek__argument_at(&r->a, "global-batch-size"),
            "--global-batch-size is %d, expected a multiple of the %lld sequences that %d data-parallel ranks "
            "take at once, at most %d times as many; correct it",
            r->global_batch, (long long)at_once, p->data, EK_MAX_MICRO_BATCHES);
    p->n_micro_batches = (int)(r->global_batch / at_once);
    return EK_OK;
}

/* ---- layers and recomputation ---- */

static ek_status read_schedule_word(reader *r, const char *argument, ek__schedule_word *known, int *out)
{
    const char *words[EK__MAX_SCHEDULE_WORDS + 1] = {NULL};
    int n = ek__schedule_words(EK_MEGATRON, argument, known);
    for (int i = 0; i < n; i++)
        words[i] = known[i].word;
    return ek__argument_word(&r->a, argument, words, out);
}

/* The schedules in a V, two chunks a stage: MindSpeed's by name, or the memory limit of a zero-bubble one. */
static ek_status read_v_schedule(reader *r, ek__megatron_cut *cut)
{
    ek__schedule_word setups[EK__MAX_SCHEDULE_WORDS], methods[EK__MAX_SCHEDULE_WORDS];
    int setup = 0, method = -1;
    ek_status status = read_schedule_word(r, EK__SCHEDULES_METHOD, methods, &method);
    if (status == EK_OK)
        status = read_schedule_word(r, EK__ZERO_BUBBLE_SETUP, setups, &setup);
    if (status || (method < 0 && !given(r, "zero-bubble-v-schedule")))
        return status;
    r->job->schedule = method >= 0 ? methods[method].schedule : setups[setup].schedule;
    if (cut->chunk_layers == 0)
        cut->n_chunks = 2;
    return EK_OK;
}

/* The chunk of the model's layer `index`, by its place in job->plan. */
static int chunk_of_layer(const ek_job *job, int index)
{
    ek_placement placement = job->schedule ? job->schedule->placement : EK_PLACE_WRAP;
    int p = job->plan.n_stages, n = p * job->plan.n_chunks, begin = 0;
    for (int i = 0; i + 1 < n; i++) {
        int cell = ek_cell_at(placement, p, i);
        if (index < begin + job->plan.layers[cell])
            return cell;
        begin += job->plan.layers[cell];
    }
    return ek_cell_at(placement, p, n - 1);
}

/* --noop-layers "0,61,62" of MindSpeed-LLM: --num-layers includes layers that compute nothing. */
static ek_status drop_layers(reader *r)
{
    static const char name[] = "noop-layers";
    ek_job_model *m = &r->job->model;
    const char *text = NULL;
    bool dropped[EK_MAX_LAYERS] = {false};
    int n = m->n_layers, n_dense = m->n_dense_layers;
    ek_status status = ek__argument_text(&r->a, name, &text);
    for (const char *at = text; status == EK_OK && at && *at; at += *at == ',') {
        int index = 0, digits = 0;
        for (; *at >= '0' && *at <= '9'; at++, digits++)
            index = index < n ? 10 * index + (*at - '0') : index;
        if (digits == 0 || index >= n || dropped[index] || (*at && *at != ','))
            return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, name),
                            "--noop-layers is '%.60s', expected different layers from 0 to %d with commas; correct it",
                            text, n - 1);
        dropped[index] = true;
    }
    for (int i = n - 1; i >= 0; i--) { /* from the end, so that earlier layers keep their places */
        if (!dropped[i])
            continue;
        r->job->plan.layers[chunk_of_layer(r->job, i)]--;
        m->n_layers--;
        m->n_dense_layers -= i < n_dense;
    }
    return status;
}

/* In a V the last chunk of the model, and with it multi-token prediction, is on the first stage. */
static void move_predictions(ek_job *job)
{
    int p = job->plan.n_stages, n = p * job->plan.n_chunks;
    if (!job->schedule || job->schedule->placement != EK_PLACE_V)
        return;
    job->plan.layers[n - 1] -= job->model.n_prediction_layers;
    job->plan.layers[ek_cell_at(EK_PLACE_V, p, n - 1)] += job->model.n_prediction_layers;
}

static ek_status read_layers(reader *r)
{
    ek__megatron_cut cut = {.first = -1, .last = -1};
    const number numbers[] = {
        {"num-layers-per-virtual-pipeline-stage", 1, EK_MAX_LAYERS, &cut.chunk_layers, 0},
        {"num-virtual-stages-per-pipeline-rank", 1, EK_MAX_CHUNKS, &cut.n_chunks, 0},
        {"decoder-first-pipeline-num-layers", 0, EK_MAX_LAYERS, &cut.first, 0},
        {"decoder-last-pipeline-num-layers", 0, EK_MAX_LAYERS, &cut.last, 0},
    };
    static const char *const said_by[] = {"pipeline-model-parallel-layout",        "num-layer-list",
                                          "num-layers-per-virtual-pipeline-stage", "decoder-first-pipeline-num-layers",
                                          "decoder-last-pipeline-num-layers",      "num-layers"};
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status == EK_OK)
        status = ek__argument_text(&r->a, "pipeline-model-parallel-layout", &cut.layout);
    if (status == EK_OK)
        status = ek__argument_text(&r->a, "num-layer-list", &cut.list);
    if (status == EK_OK)
        status = read_v_schedule(r, &cut);
    if (status)
        return status;
    cut.embedding = given(r, "account-for-embedding-in-pipeline-split");
    cut.loss = given(r, "account-for-loss-in-pipeline-split");
    for (size_t i = 0; i < sizeof said_by / sizeof *said_by && !cut.at.line; i++)
        cut.at = ek__argument_at(&r->a, said_by[i]);
    status = ek__megatron_layers(&cut, r->job, r->a.source->err);
    if (status == EK_OK && !cut.layout) /* a layout has placed them */
        move_predictions(r->job);
    return status ? status : drop_layers(r);
}

static ek_origin job_origin(const reader *r, const char *name)
{
    ek_origin at = ek__argument_at(&r->a, name);
    at.file = r->job->path;
    return at;
}

static ek_status read_full(reader *r)
{
    static const char *const methods[] = {"uniform", "block", NULL};
    int method = -1, n = 1;
    ek_status status = ek__argument_word(&r->a, "recompute-method", methods, &method);
    if (status == EK_OK && method < 0)
        return ek__argument_missing(&r->a, "recompute-method",
                                    "uniform or block, since --recompute-granularity is full");
    if (status == EK_OK)
        status = ek__argument_int(&r->a, "recompute-num-layers", 0, EK_MAX_LAYERS, &n);
    if (status)
        return status;
    if (!given(r, "recompute-num-layers"))
        ek__warn(r->a.source->listener, ek__argument_at(&r->a, "recompute-granularity"),
                 "no --recompute-num-layers is given; 1 is taken");
    if (method == 0 && n == 0)
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, "recompute-num-layers"),
                        "--recompute-num-layers is 0, expected at least 1 with --recompute-method uniform; correct it");
    ek__megatron_full(method == 0 ? EK__FULL_UNIFORM : EK__FULL_BLOCK, n, r->job);
    return EK_OK;
}

/* Modules of --recompute-modules; a word from a variable may have several. */
static ek_status read_modules(reader *r)
{
    const ek_origin at = job_origin(r, given(r, "recompute-modules") ? "recompute-modules" : "recompute-granularity");
    const char *text = NULL;
    ek_status status = ek__argument_text(&r->a, "recompute-modules", &text);
    if (status || !text)
        return status ? status : ek__megatron_module(r->job, "core_attn", NULL, at, r->a.source->err);
    for (int i = 0; status == EK_OK; i++) {
        const ek__word *word = ek__argument_value(&r->a, "recompute-modules", i);
        if (!word)
            break;
        char module[40];
        for (const char *c = word->text; *c && status == EK_OK;) {
            size_t n = strcspn(c, " ,");
            snprintf(module, sizeof module, "%.*s", (int)(n < 39 ? n : 39), c);
            if (n > 0)
                status = ek__megatron_module(r->job, module, NULL, at, r->a.source->err);
            c += n + (c[n] != '\0');
        }
    }
    return status;
}

/* Whole layers, as set in Megatron-DeepSpeed and older versions. */
static ek_status read_checkpoints(reader *r)
{
    int n = 1;
    ek_status status = ek__argument_int(&r->a, "checkpoint-num-layers", 1, EK_MAX_LAYERS, &n);
    if (status == EK_OK)
        ek__megatron_full(EK__FULL_UNIFORM, n, r->job);
    return status;
}

static ek_status read_recompute(reader *r)
{
    static const char *const words[] = {"full", "selective", NULL};
    int granularity = given(r, "recompute-activations") ? 1 : -1;
    ek_status status = ek__argument_word(&r->a, "recompute-granularity", words, &granularity);
    if (status)
        return status;
    if (given(r, "recompute-activation-function")) /* MindSpeed's, in addition to the others */
        status = ek__job_add_pattern(r->job, "mlp\\.activation_func", EK_PATTERN_SELECT, NULL, true,
                                     job_origin(r, "recompute-activation-function"), r->a.source->err);
    if (status)
        return status;
    if (granularity < 0 && given(r, "checkpoint-activations"))
        return read_checkpoints(r);
    const char *experts = "moe-layer-recompute"; /* Megatron's older way to add the module moe */
    if (granularity == 0 && given(r, experts))
        return ek__fail(r->a.source->err, EK_ERR_INPUT, ek__argument_at(&r->a, experts),
                        "--moe-layer-recompute does not go with --recompute-granularity full; leave one of them out");
    if (granularity == 0)
        return read_full(r);
    if (granularity == 1 || given(r, experts))
        status = read_modules(r);
    if (status == EK_OK && given(r, experts))
        status = ek__megatron_module(r->job, "moe", NULL, job_origin(r, experts), r->a.source->err);
    if (status || granularity == 1 || given(r, experts))
        return status;
    if (given(r, "recompute-num-layers") || given(r, "recompute-method") || given(r, "recompute-modules"))
        warn_idle(r, given(r, "recompute-method") ? "recompute-method" : "recompute-num-layers",
                  "nothing is recomputed, since --recompute-granularity is not given");
    return EK_OK;
}

/* ---- the whole ---- */

/* --moe-tp-extend-ep of MindSpeed-LLM: experts are whole, and distributed over the tensor parallel ranks, too. */
static void extend_experts(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    if (!given(r, "moe-tp-extend-ep"))
        return;
    p->expert_tensor = 1;
    if (r->overrides->expert == 0 && p->expert <= EK_MAX_RANKS / p->tensor)
        p->expert *= p->tensor;
}

static ek_status finish(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    ek__job_override_sizes(r->overrides, r->job);
    ek_status status = derive_data(r);
    if (status == EK_OK)
        status = derive_micro_batches(r);
    if (status)
        return status;
    extend_experts(r);
    if (p->expert_tensor == 0)
        p->expert_tensor = p->tensor;
    r->job->model.vocab_multiple = r->padded > 0 ? 0 : r->divisible;
    r->job->model.vocab_told = r->padded > 0 ? 0 : r->vocab;
    r->job->model.vocab = r->padded > 0 ? r->padded : ek__megatron_padded(r->vocab, r->divisible, p->tensor);
    if (given(r, "sequence-parallel") && p->tensor == 1)
        warn_idle(r, "sequence-parallel", "--sequence-parallel does nothing with one tensor-parallel rank");
    ek__megatron_derive(r->job);
    if (p->chunk_group > 0 && p->chunk_group != p->pipeline && r->job->plan.n_chunks > 1)
        ek__warn(
            r->a.source->listener, ek__argument_at(&r->a, "microbatch-group-size-per-virtual-pipeline-stage"),
            "a chunk runs %d micro-batches in a row, which is not modelled; they are simulated in rounds of %d, one "
            "for each stage",
            p->chunk_group, p->pipeline);
    return ek__megatron_read_run(&r->a, r->job);
}

/* Record the given settings that constrain others. */
static void note_arguments(reader *r)
{
    for (int i = 0; ek__job_noted[i]; i++)
        if (ek__argument_is_known(ek__job_noted[i]) && given(r, ek__job_noted[i]))
            ek__job_note(r->job, ek__job_noted[i]);
}

ek_status ek__megatron_read_job(const ek__arguments *a, const ek_job_overrides *overrides, ek_job *job)
{
    static ek_status (*const steps[])(reader *) = {read_device, read_degrees,   read_shapes,     read_layer,
                                                   read_latent, read_experts,   read_vocabulary, read_states,
                                                   read_layers, read_recompute, finish};
    reader r = {.a = *a, .overrides = overrides, .job = job};
    ek_status status = EK_OK;
    ek__megatron_defaults(job, EK_MEGATRON);
    ek__job_name_after(a->source->path, job);
    note_arguments(&r);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}
