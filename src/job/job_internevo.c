/* Reads a configuration of InternEvo, a Python file of assignments, as a job: its keys become arguments of Megatron-LM,
 * since it has Megatron's tensor and pipeline parallelism, with its own optimizer (HybridZeroOptimizer). Defaults are
 * those of internlm/initialize/launch.py (args_sanity_check) and of its models; the feed-forward width is hidden_size x
 * mlp_ratio up to a multiple of multiple_of (model/modules/mlp.py).
 *
 * Not handled: weight parallelism (parallel.weight), FSDP, image models, Hugging Face classes. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/key_rows.h"

static const ek__key_argument keys[] = {
    VALUE("model.num_layers", "num-layers"),
    VALUE("model.hidden_size", "hidden-size"),
    VALUE("model.num_attention_heads", "num-attention-heads"),
    VALUE("model.num_kv_attention_heads", "num-query-groups"),
    VALUE("model.vocab_size", "padded-vocab-size"),
    VALUE("model.max_position_embeddings", "max-position-embeddings"),
    VALUE("model.head_dim", "kv-channels"),
    VALUE("data.seq_len", "seq-length"),
    VALUE("data.micro_bsz", "micro-batch-size"),
    SPELLED("data.micro_num", "global-batch-size"),
    SPELLED("model.vocab_size", "vocab-size"),
    SPELLED("model.mlp_ratio", "ffn-hidden-size"),
    SPELLED("model.num_chunks", "num-virtual-stages-per-pipeline-rank"),
    SPELLED("model.num_experts", "num-experts"),
    SPELLED("model.top_k", "moe-router-topk"),
    SPELLED("parallel.tensor", "tensor-model-parallel-size"),
    SPELLED("parallel.tensor", "context-parallel-size"),
    SPELLED("parallel.pipeline", "pipeline-model-parallel-size"),
    SPELLED("parallel.expert", "expert-model-parallel-size"),
    SPELLED("parallel.tensor.mode", "sequence-parallel"),
    SPELLED("model.num_layers", "num-layer-list"),
    SPELLED("-dp", "data-parallel-size"),
    END,
};

static const ek__key_trouble troubles[] = {
    {"_base_", true, "names other files with a part of the settings, which are not read; write them into this one"},
    {"parallel.zero1.fsdp", true, "is on: PyTorch's FSDP under InternEvo is not modelled; switch it off"},
    {"model.moe_use_residual", true, "is on: experts next to a dense part are not modelled; switch it off"},
    {"data.rampup_batch_size", false, "is given, which is not modelled; the step is that of all micro-batches"},
    {"use_fp32_norm", false, "is on, which is not modelled; norms are predicted in the type of the others"},
    {NULL, false, NULL},
};

static const ek__key_form form = {
    .keys = keys, .troubles = troubles, .if_missing = "; add them, or correct their source"};

/* Models with layers that are modelled; `bias` is on queries, keys and values. */
static const struct {
    const char *type;
    bool bias;
} types[] = {{"INTERNLM", true},     {"INTERNLM2", false},  {"INTERNLM2_PUBLIC", false}, {"INTERNLM3", false},
             {"LLAMA", false},       {"LLAMA2", false},     {"BAICHUAN2", false},        {"QWEN2", true},
             {"INTERNLM_MoE", true}, {"MIXTRALMOE", false}, {"QWEN2MOE", true}};

/* Settings of the run without an argument. */
typedef struct run {
    int zero;       /* ranks that share states; -1: all, 1: none */
    double kept;    /* recomputed share of each chunk's layers */
    bool fused_mlp; /* both feed-forward inputs are one matrix */
    bool overlap_gradients, overlap_weights;
    double bucket; /* elements */
    const ek_schedule *schedule;
} run;

static const ek__node *find(const ek__key_reader *r, const char *path)
{
    return ek__key_find(r->in.doc, path);
}

static ek_origin at_of(const ek__key_reader *r, const ek__node *node)
{
    return node ? ek__node_origin(r->in.doc, node) : (ek_origin){ek__config_name(r->in.doc), 0, 0};
}

static ek_status put_int(ek__key_reader *r, const char *argument, int value, const ek__node *at)
{
    char text[24];
    snprintf(text, sizeof text, "%d", value);
    return ek__key_put(r, argument, text, at_of(r, at));
}

/* A degree, which is a number or a map with `size`; *out does not change if it is absent. */
static ek_status read_degree(const ek__key_reader *r, const char *path, int least, int *out, const ek__node **at)
{
    char inside[64];
    const ek__node *node = find(r, path);
    snprintf(inside, sizeof inside, "%s.size", path);
    if (node && node->kind == EK__MAP)
        node = find(r, inside);
    *at = node;
    return node ? ek__int(&r->in, node, least, EK_MAX_RANKS, "it is a number of ranks", out) : EK_OK;
}

static ek_status read_word(const ek__key_reader *r, const char *path, const char *const *words, int *out)
{
    const ek__node *node = find(r, path);
    char names[200] = "";
    size_t n = 0;
    if (!node)
        return EK_OK;
    ek_status status = ek__expect(&r->in, node, EK__SCALAR, "give one of its words");
    for (int i = 0; words[i] && status == EK_OK; i++) {
        if (strcmp(words[i], node->text) == 0) {
            *out = i;
            return EK_OK;
        }
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", words[i]);
    }
    return status ? status : ek__fail_at(&r->in, node, "is '%.40s', expected one of %s; correct it", node->text, names);
}

/* ---- the model ---- */

static ek_status put_type(ek__key_reader *r)
{
    const ek__node *type = find(r, "model_type"), *none = find(r, "model.no_bias"), *own = find(r, "model.qkv_bias");
    const char *name = type && type->kind == EK__SCALAR ? type->text : "INTERNLM";
    bool bias = false, known = false, without = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, name) == 0) {
            known = true;
            bias = types[i].bias;
        }
    if (!known)
        return ek__fail_at(&r->in, type,
                           "is '%.40s', with unknown layers; known are INTERNLM, INTERNLM2, INTERNLM2_PUBLIC, "
                           "INTERNLM3, LLAMA, LLAMA2, BAICHUAN2, QWEN2, INTERNLM_MoE, MIXTRALMOE, QWEN2MOE",
                           name);
    ek_status status = none ? ek__key_switch(r, "model.no_bias", &without) : EK_OK;
    bias = none ? !without : bias;
    if (status == EK_OK && own)
        status = ek__key_switch(r, "model.qkv_bias", &bias);
    if (status == EK_OK && bias)
        status = ek__key_put(r, "add-qkv-bias", NULL, at_of(r, own ? own : none ? none : type));
    return status;
}

/* hidden_size x mlp_ratio, truncated to an integer, then up to a multiple. */
static ek_status put_width(ek__key_reader *r)
{
    const ek__node *ratio = find(r, "model.mlp_ratio"), *multiple = find(r, "model.multiple_of");
    const ek__node *hidden = find(r, "model.hidden_size");
    int h = 0, unit = 256;
    double times = 0;
    if (!hidden)
        return EK_OK; /* reported with all missing sizes */
    if (!ratio)
        return ek__fail(r->in.err, EK_ERR_INPUT, at_of(r, NULL),
                        "model.mlp_ratio is missing; give the feed-forward width as a multiple of hidden_size");
    ek_status status = ek__int(&r->in, hidden, 1, EK__JOB_MAX_HIDDEN, "it is a size of the model", &h);
    if (status == EK_OK)
        status = ek__number(&r->in, ratio, 0.001, 1000, "it is a multiple of hidden_size", &times);
    if (status == EK_OK && multiple)
        status = ek__int(&r->in, multiple, 1, 1 << 16, "it is a number of columns", &unit);
    double width = (double)(int64_t)(h * times);
    if (status == EK_OK && width > EK__JOB_MAX_WIDTH - unit)
        return ek__fail_at(&r->in, ratio, "makes the feed-forward part %.0f wide, expected at most %d; correct it",
                           width, EK__JOB_MAX_WIDTH);
    return status ? status : put_int(r, "ffn-hidden-size", ((int)width + unit - 1) / unit * unit, ratio);
}

static ek_status put_experts(ek__key_reader *r)
{
    static const char *const kinds[] = {"GShard", "MegaBlock", "MegaBlock-D", "Dropless", NULL};
    const ek__node *experts = find(r, "model.num_experts"), *top = find(r, "model.top_k");
    const ek__node *shared = find(r, "model.num_shared_experts"), *width = find(r, "model.moe_intermediate_size");
    const ek__node *first = find(r, "model.first_k_dense_replace"), *freq = find(r, "model.moe_layer_freq");
    int n = 1, kind = 0;
    ek_status status = experts ? ek__int(&r->in, experts, 0, EK__JOB_MAX_EXPERTS, "it counts experts", &n) : EK_OK;
    if (status || n <= 1)
        return status;
    top = top ? top : find(r, "moe.top_k");
    if (!top)
        return ek__fail_at(&r->in, experts, "is %d, but the number of experts for each token is missing; add top_k", n);
    status = ek__key_put_value(r, "num-experts", experts);
    if (status == EK_OK)
        status = ek__key_put_value(r, "moe-router-topk", top);
    if (status == EK_OK && shared)
        status = ek__key_put_value(r, "n-shared-experts", shared);
    if (status == EK_OK && width && !ek__key_is_off(width))
        status = ek__key_put_value(r, "moe-ffn-hidden-size", width);
    if (status == EK_OK && first && !ek__key_is_off(first))
        status = ek__key_put_value(r, "first-k-dense-replace", first);
    if (status == EK_OK && freq)
        status = ek__key_put_value(r, "moe-layer-freq", freq);
    if (status == EK_OK)
        status = read_word(r, "model.moe_type", kinds, &kind);
    if (status == EK_OK && kind < 2)
        ek__warn_at(&r->in, experts,
                    "has experts of %s, which take no more than their capacity; they are predicted with "
                    "all tokens that come",
                    kinds[kind]);
    if (status == EK_OK && kind >= 2)
        status = ek__key_put(r, "moe-grouped-gemm", NULL, at_of(r, experts));
    return status;
}

static ek_status put_layer(ek__key_reader *r)
{
    static const char *const norms[] = {"rmsnorm", "layernorm", NULL};
    static const char *const formats[] = {"torch.bfloat16", "torch.float16", "torch.half",
                                          "torch.float32",  "torch.tf32",    NULL};
    static const char *const names[] = {"bf16", "fp16", "fp16", NULL, NULL};
    const ek__node *gate = find(r, "model.use_swiglu"), *norm = find(r, "model.norm_type");
    const ek__node *format = find(r, "model.dtype");
    int which_norm = 0, which = 1;
    bool gated = true, flash = true;
    ek_status status = ek__key_switch(r, "model.use_swiglu", &gated);
    if (status == EK_OK)
        status = ek__key_switch(r, "model.use_flash_attn", &flash);
    if (status == EK_OK)
        status = read_word(r, "model.norm_type", norms, &which_norm);
    if (status == EK_OK)
        status = read_word(r, "model.dtype", formats, &which);
    if (status)
        return status;
    if (!format)
        ek__warn(r->in.listener, at_of(r, NULL),
                 "model.dtype is not given; torch.float16 is taken, InternEvo's default");
    const struct {
        const char *argument, *value;
        const ek__node *at;
        bool given;
    } arguments[] = {
        {"swiglu", NULL, gate, gated},
        {"normalization", which_norm == 0 ? "RMSNorm" : "LayerNorm", norm, true},
        {"position-embedding-type", "rope", NULL, true},
        {"untie-embeddings-and-output-weights", NULL, NULL, true},
        {"disable-bias-linear", NULL, NULL, true},
        {"hidden-dropout", "0", NULL, true},
        {"attention-dropout", "0", NULL, true},
        {"transformer-impl", "local", NULL, true},
        {"use-flash-attn", NULL, NULL, flash},
        {"no-gradient-accumulation-fusion", NULL, NULL, true},
        {"cross-entropy-loss-fusion", NULL, NULL, true},
        {names[which] ? names[which] : "bf16", NULL, format, names[which] != NULL},
        {"grad-reduce-in-bf16", NULL, NULL, which == 0},
        {"group-query-attention", NULL, NULL, ek__argument_given(&r->a, "num-query-groups")},
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments && status == EK_OK; i++)
        if (arguments[i].given)
            status = ek__key_put(r, arguments[i].argument, arguments[i].value, at_of(r, arguments[i].at));
    return status;
}

/* ---- degrees ---- */

/* isp without weight parallelism is Ulysses: tokens are cut outside of the attention, heads inside. */
static ek_status put_tensor(ek__key_reader *r)
{
    static const char *const modes[] = {"mtp", "msp", "fsp", "isp", NULL};
    enum { MTP, MSP, FSP, ISP };
    int size = 1, weight = 1, expert_weight = 1, mode = MTP;
    bool sequence = false;
    const ek__node *at, *weight_at, *expert_at;
    ek_status status = read_degree(r, "parallel.tensor", 1, &size, &at);
    if (status == EK_OK)
        status = read_degree(r, "parallel.weight", 1, &weight, &weight_at);
    if (status == EK_OK)
        status = read_degree(r, "parallel.expert_weight", 1, &expert_weight, &expert_at);
    if (status == EK_OK && find(r, "parallel.tensor") && find(r, "parallel.tensor")->kind == EK__MAP)
        status = read_word(r, "parallel.tensor.mode", modes, &mode);
    if (status == EK_OK)
        status = ek__key_switch(r, "parallel.sequence_parallel", &sequence);
    if (status)
        return status;
    if (mode == ISP && (weight > 1 || expert_weight > 1))
        return ek__fail_at(
            &r->in, weight > 1 ? weight_at : expert_at,
            "is %d: weights that are cut over ranks and gathered layer by layer (isp) are not modelled; set "
            "it to 1, or take tensor mode msp",
            weight > 1 ? weight : expert_weight);
    if (mode == FSP && size > 1)
        ek__warn_at(&r->in, at, "is cut in the mode fsp, which is predicted as msp");
    if (mode == ISP && size > 1) {
        status = put_int(r, "context-parallel-size", size, at);
        return status ? status : ek__key_put(r, "cp-comm-type", "a2a", at_of(r, at));
    }
    status = put_int(r, "tensor-model-parallel-size", size, at);
    if (status == EK_OK && size > 1 && (sequence || mode == MSP || mode == FSP))
        status = ek__key_put(r, "sequence-parallel", NULL, at_of(r, at));
    return status;
}

/* Layers that do not divide evenly: the last stages have one more (partition_uniform of core/parallel/shard.py). */
static ek_status put_uneven(ek__key_reader *r, int stages, int chunks)
{
    const ek__node *layers = find(r, "model.num_layers");
    char text[EK_MAX_STAGES * 5 + 1] = "";
    size_t n = 0;
    int count = 0;
    if (!layers || chunks > 1 || !ek__node_is_int(layers, &count) || count < stages || count % stages == 0 ||
        stages > EK_MAX_STAGES)
        return EK_OK;
    for (int s = 0; s < stages && n < sizeof text; s++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", s ? "," : "",
                              count / stages + (s >= stages - count % stages));
    return ek__key_put(r, "num-layer-list", text, at_of(r, layers));
}

static ek_status put_stages(ek__key_reader *r, const ek_job_overrides *overrides, run *out)
{
    static const char *const modes[] = {"1f1b", "zbh1", "zbv", NULL};
    const ek__node *at, *chunks_at = find(r, "model.num_chunks");
    int stages = 1, chunks = 1, mode = 0;
    ek_status status = read_degree(r, "parallel.pipeline", 1, &stages, &at);
    if (status == EK_OK && chunks_at)
        status = ek__int(&r->in, chunks_at, 1, EK_MAX_CHUNKS, "it is a number of chunks", &chunks);
    if (status == EK_OK && find(r, "parallel.pipeline") && find(r, "parallel.pipeline")->kind == EK__MAP)
        status = read_word(r, "parallel.pipeline.mode", modes, &mode);
    if (status)
        return status;
    status = put_int(r, "pipeline-model-parallel-size", stages, at);
    if (status == EK_OK && mode == 2 && stages > 1)
        status = ek__key_put(r, "zero-bubble-v-schedule", NULL, at_of(r, at));
    else if (status == EK_OK && chunks > 1 && stages > 1)
        status = put_int(r, "num-virtual-stages-per-pipeline-rank", chunks, chunks_at);
    out->schedule = mode == 1 && stages > 1 ? ek_schedule_find("zb-h1") : NULL;
    if (status == EK_OK && mode != 2 && overrides->pipeline == 0)
        status = put_uneven(r, stages, chunks);
    return status;
}

static ek_status put_batches(ek__key_reader *r, const ek_job_overrides *overrides)
{
    const ek__node *number = find(r, "data.micro_num"), *size = find(r, "data.micro_bsz");
    int n = 1, b = 1;
    ek_status status = number ? ek__int(&r->in, number, 1, EK_MAX_MICRO_BATCHES, "it counts micro-batches", &n) : EK_OK;
    if (status == EK_OK && size)
        status = ek__int(&r->in, size, 1, EK__JOB_MAX_BATCH, "it is the sequences of a micro-batch", &b);
    b = overrides->batch > 0 ? overrides->batch : b;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n * b * (overrides->data > 0 ? overrides->data : 1));
    return status ? status : ek__key_put(r, "global-batch-size", text, at_of(r, number));
}

/* -1: the number of data-parallel ranks, but at most that of experts. */
static ek_status put_expert_ranks(ek__key_reader *r, const ek_job_overrides *overrides)
{
    const ek__node *at, *experts = find(r, "model.num_experts");
    int size = 1, n = 1, data = overrides->data > 0 ? overrides->data : 1;
    bool whole = false;
    ek_status status = read_degree(r, "parallel.expert", -1, &size, &at);
    if (status || !ek__argument_given(&r->a, "num-experts"))
        return status;
    status = ek__int(&r->in, experts, 1, EK__JOB_MAX_EXPERTS, "it counts experts", &n);
    if (status == EK_OK && at && at->parent && at->parent->key && strcmp(at->parent->key, "expert") == 0)
        status = ek__key_switch(r, "parallel.expert.no_tp", &whole);
    if (status == EK_OK && whole)
        status = put_int(r, "expert-tensor-parallel-size", 1, at);
    return status ? status : put_int(r, "expert-model-parallel-size", size > 0 ? size : data < n ? data : n, at);
}

/* ---- settings without an argument ---- */

static ek_status read_run(ek__key_reader *r, run *out)
{
    const ek__node *kept = find(r, "model.checkpoint"), *bucket = find(r, "hybrid_zero_optimizer.reduce_bucket_size");
    const ek__node *at;
    bool all = false;
    ek_status status = read_degree(r, "parallel.zero1", -1, &out->zero, &at);
    out->zero = out->zero <= 0 ? -1 : out->zero;
    if (status == EK_OK && kept && ek__node_is_bool(kept, &all))
        out->kept = all;
    else if (status == EK_OK && kept)
        status =
            ek__number(&r->in, kept, 0, 1, "it is the part of the layers that is recomputed, or a switch", &out->kept);
    if (status == EK_OK)
        status = ek__key_switch(r, "model.mlp_layer_fusion", &out->fused_mlp);
    if (status == EK_OK)
        status = ek__key_switch(r, "hybrid_zero_optimizer.overlap_sync_grad", &out->overlap_gradients);
    if (status == EK_OK)
        status = ek__key_switch(r, "hybrid_zero_optimizer.overlap_sync_param", &out->overlap_weights);
    if (status == EK_OK && bucket)
        status = ek__number(&r->in, bucket, 1, 1e15, "it is a number of elements", &out->bucket);
    if (status == EK_OK && out->zero != 1)
        status = ek__key_put(r, "use-distributed-optimizer", NULL, at_of(r, at));
    return status;
}

static ek_status fill_with(ek__key_reader *r, const ek_job_overrides *overrides, run *out)
{
    ek_status status = ek__key_check(r);
    if (status == EK_OK)
        status = ek__key_put_all(r);
    if (status == EK_OK)
        status = put_type(r);
    if (status == EK_OK)
        status = put_width(r);
    if (status == EK_OK)
        status = put_experts(r);
    if (status == EK_OK)
        status = put_layer(r);
    if (status == EK_OK)
        status = put_tensor(r);
    if (status == EK_OK)
        status = put_stages(r, overrides, out);
    if (status == EK_OK)
        status = put_batches(r, overrides);
    if (status == EK_OK)
        status = put_expert_ranks(r, overrides);
    if (status == EK_OK)
        status = read_run(r, out);
    return status ? status : ek__key_check_missing(r, overrides);
}

static ek_status fill(ek__key_reader *r, const ek_job_overrides *overrides, void *user)
{
    return fill_with(r, overrides, user);
}

/* HybridZeroOptimizer: gradients in the weights' type, float32 copies and both moments sharded by whole tensors, which
 * their owners broadcast. */
static void settle(const run *from, ek_job *job)
{
    ek_plan *plan = &job->plan;
    if (job->states.weight == 2) {
        job->states.gradient = 2;
        job->states.optimizer = 12;
    }
    if (from->zero > 1)
        job->states.shard_size = from->zero;
    job->run.overlap_gradients = from->overlap_gradients;
    job->run.overlap_weights = from->overlap_weights;
    job->run.reduce_bytes = job->states.gradient;
    job->run.bucket_bytes = from->overlap_gradients ? from->bucket * job->states.gradient : 0;
    job->run.first_stage_buckets = job->run.p2p_scattered = false;
    job->run.owned_tensors = job->states.shard_optimizer;
    job->run.attention = EK_ATTENTION_FLASH2;
    job->model.gate_apart = job->model.gated && !from->fused_mlp;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) /* the first ones of each chunk */
        plan->full[c] = (int)(plan->layers[c] * from->kept);
    if (from->schedule)
        job->schedule = from->schedule;
}

static bool recognises(const ek__job_source *source)
{
    const ek__node *root = source->doc && !source->toml ? ek__config_root(source->doc) : NULL;
    const ek__node *model = root && root->kind == EK__MAP ? ek__get(root, "model") : NULL;
    const ek__node *data = model ? ek__get(root, "data") : NULL, *parallel = model ? ek__get(root, "parallel") : NULL;
    return model && data && parallel && model->kind == EK__MAP && data->kind == EK__MAP && parallel->kind == EK__MAP &&
           (ek__get(data, "micro_num") || ek__get(data, "micro_bsz") || ek__get(data, "seq_len"));
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    run r = {.zero = -1, .bucket = 512 * 1048576.0};
    ek_status status = ek__key_read(&form, fill, &r, source, overrides, job);
    if (status == EK_OK)
        settle(&r, job);
    return status;
}

const ek__job_format ek__job_internevo = {
    .name = "a configuration of InternEvo",
    .recognises = recognises,
    .read = read_job,
    .not_written = "a configuration of InternEvo is read and not written; put the settings into it by hand",
};
