/* Reads the YAML of MindSpeed-Core-MS, which implements Megatron's training on MindSpore. The names of its sections
 * changed over the versions (parallel_config or model_parallel, model_config or language_model, or none), but a key
 * means the same in every section, so each key is searched in all of them. Keys and defaults: the interface documents
 * of mindspeed_ms.core.config, and MindFormers' experimental parallel_core, which it uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/megatron.h"
#include "job/megatron_run.h"
#include "job/settings.h"

enum { MAX_SECTIONS = 24 };

typedef struct reader {
    ek__in in;
    const ek_job_overrides *overrides;
    ek_job *job;
    const ek__node *section[MAX_SECTIONS]; /* maps that may have the keys, the file itself last */
    int n_sections;
    int vocab, padded, divisible, global_batch, shard_size;
    bool data_taken; /* the number of data-parallel ranks is unknown */
} reader;

static const char advice[] = "see the interface documents of mindspeed_ms.core.config";

/* The value of a key in the first section that has it, NULL if none has. */
static const ek__node *find(const reader *r, const char *key)
{
    const ek__node *node = NULL;
    for (int i = 0; i < r->n_sections && !node; i++)
        node = ek__get(r->section[i], key);
    return node;
}

/* Of two spellings. */
static const ek__node *find_either(const reader *r, const char *key, const char *other)
{
    const ek__node *node = find(r, key);
    return node || !other ? node : find(r, other);
}

typedef struct number {
    const char *key, *other;
    int min, max;
    int *out;
} number;

static ek_status read_numbers(const reader *r, const number *numbers, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek__node *node = find_either(r, numbers[i].key, numbers[i].other);
        if (node)
            status = ek__int(&r->in, node, numbers[i].min, numbers[i].max, advice, numbers[i].out);
    }
    return status;
}

static ek_status read_switch(const reader *r, const char *key, const char *other, bool *out)
{
    const ek__node *node = find_either(r, key, other);
    return node ? ek__bool(&r->in, node, "it is a switch", out) : EK_OK;
}

/* One of `words`, NULL at the end. */
static ek_status read_word(const reader *r, const char *key, const char *other, const char *const *words, int *out)
{
    const ek__node *node = find_either(r, key, other);
    if (!node)
        return EK_OK;
    char expected[240] = "";
    size_t n = 0;
    for (int i = 0; words[i]; i++) {
        if (node->kind == EK__SCALAR && strcmp(node->text, words[i]) == 0) {
            *out = i;
            return EK_OK;
        }
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s%s", i ? ", " : "", words[i]);
        n = n < sizeof expected ? n : sizeof expected - 1;
    }
    char found[96];
    ek__node_describe(node, found, sizeof found);
    return ek__fail_at(&r->in, node, "is %s, expected one of %s; correct it", found, expected);
}

static ek_status read_dtype(const reader *r, const char *key, ek_dtype *out)
{
    static const char *const words[] = {"float32", "bfloat16", "float16", "fp32", "bf16", "fp16", NULL};
    int which = (int)*out;
    ek_status status = read_word(r, key, NULL, words, &which);
    *out = (ek_dtype)(which % EK_N_DTYPES);
    return status;
}

static ek_status fail_missing(const reader *r, const char *key, const char *what)
{
    return ek__fail(r->in.err, EK_ERR_INPUT, ek__node_origin(r->in.doc, r->section[0]), "%s is missing; give %s", key,
                    what);
}

/* ---- the model ---- */

static ek_status read_shapes(reader *r)
{
    ek_job_model *m = &r->job->model;
    ek_job_parallel *p = &r->job->parallel;
    int groups = 0;
    bool grouped = false;
    p->batch = 0;
    const number numbers[] = {
        {"num_layers", NULL, 1, EK_MAX_LAYERS, &m->n_layers},
        {"hidden_size", NULL, 1, EK__JOB_MAX_HIDDEN, &m->hidden},
        {"num_attention_heads", NULL, 1, EK__JOB_MAX_HEADS, &m->n_heads},
        {"num_query_groups", NULL, 1, EK__JOB_MAX_HEADS, &groups},
        {"kv_channels", NULL, 1, EK__JOB_MAX_HIDDEN, &m->head_dim},
        {"ffn_hidden_size", NULL, 1, EK__JOB_MAX_WIDTH, &m->intermediate},
        {"seq_length", NULL, 1, EK__JOB_MAX_SEQUENCE, &p->seq_length},
        {"max_position_embeddings", NULL, 1, EK__JOB_MAX_SEQUENCE, &m->max_position},
        {"micro_batch_size", "batch_size", 1, EK__JOB_MAX_BATCH, &p->batch},
        {"mtp_num_layers", NULL, 0, EK_MAX_LAYERS, &m->n_prediction_layers},
        {"vocab_size", NULL, 1, EK__JOB_MAX_WIDTH, &r->vocab},
        {"padded_vocab_size", NULL, 1, EK__JOB_MAX_WIDTH, &r->padded},
        {"make_vocab_size_divisible_by", NULL, 1, 1 << 20, &r->divisible},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status == EK_OK)
        status = read_switch(r, "group_query_attention", NULL, &grouped);
    if (status)
        return status;
    if (m->n_layers == 0)
        m->n_layers = r->overrides->n_layers;
    if (find(r, "seq_length"))
        ek__job_note_sequence(ek__node_origin(r->in.doc, find(r, "seq_length")), r->job);
    if (p->seq_length == 0)
        p->seq_length = r->overrides->seq_length;
    if (p->batch == 0)
        p->batch = r->overrides->batch;
    const struct {
        const char *key, *what;
        int value;
    } needed[] = {{"num_layers", "the number of the model's layers", m->n_layers},
                  {"hidden_size", "the model's width", m->hidden},
                  {"num_attention_heads", "the attention's heads", m->n_heads},
                  {"seq_length", "the tokens of a sequence", p->seq_length},
                  {"micro_batch_size", "the sequences of a micro-batch (batch_size in older files)", p->batch},
                  {"vocab_size", "the number of tokens the model knows", r->vocab + r->padded}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].value == 0)
            return fail_missing(r, needed[i].key, needed[i].what);
    if (m->max_position == 0)
        m->max_position = p->seq_length;
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->n_heads > 0 ? m->hidden / m->n_heads : 1;
    m->value_dim = m->head_dim;
    m->n_kv_heads = grouped && groups > 0 ? groups : m->n_heads;
    return EK_OK;
}

static ek_status read_layer(reader *r)
{
    static const char *const norms[] = {"LayerNorm", "FusedLayerNorm", "RMSNorm", "FusedRMSNorm", NULL};
    static const char *const positions[] = {"absolute", "learned_absolute", "rope", "none", NULL};
    ek_job_model *m = &r->job->model;
    const ek__node *act = find_either(r, "hidden_act", "activation_func");
    bool untied = false, biased = false, fused = false;
    int norm = 0, position = 0;
    m->gated = act && act->kind == EK__SCALAR && (strstr(act->text, "swiglu") || strstr(act->text, "silu"));
    ek_status status = read_switch(r, "gated_linear_unit", "swiglu", &m->gated);
    if (status == EK_OK)
        status = read_switch(r, "apply_swiglu_fusion", "bias_swiglu_fusion", &fused);
    if (status == EK_OK)
        status = read_switch(r, "add_bias_linear", "mlp_has_bias", &biased);
    m->linear_bias = m->qkv_bias = biased;
    if (status == EK_OK)
        status = read_switch(r, "qkv_has_bias", "add_qkv_bias", &m->qkv_bias);
    if (status == EK_OK)
        status = read_switch(r, "untie_embeddings_and_output_weights", NULL, &untied);
    if (status == EK_OK)
        status = read_switch(r, "use_flash_attention", "use_flash_attn", &m->flash_attention);
    if (status == EK_OK)
        status = read_word(r, "normalization", NULL, norms, &norm);
    if (status == EK_OK)
        status = read_word(r, "position_embedding_type", NULL, positions, &position);
    m->fused_swiglu = m->gated && fused;
    m->tied = !untied;
    m->mask_compressed = m->flash_attention;
    m->layer_norm = norm < 2;
    m->position_table = position < 2;
    if (m->intermediate == 0)
        m->intermediate = 4 * m->hidden;
    return status;
}

static ek_status read_dropout(reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *attention = find(r, "attention_dropout"), *hidden = find(r, "hidden_dropout");
    ek_status status =
        attention ? ek__number(&r->in, attention, 0, 1, "it is a probability", &m->attention_dropout) : EK_OK;
    if (status == EK_OK && hidden)
        status = ek__number(&r->in, hidden, 0, 1, "it is a probability", &m->hidden_dropout);
    return status;
}

static ek_status read_experts(reader *r)
{
    ek_job_model *m = &r->job->model;
    const ek__node *capacity = find(r, "moe_expert_capacity_factor");
    const number numbers[] = {
        {"num_moe_experts", "num_experts", 1, EK__JOB_MAX_EXPERTS, &m->n_experts},
        {"moe_router_topk", NULL, 1, EK__JOB_MAX_EXPERTS, &m->top_k},
        {"moe_ffn_hidden_size", NULL, 1, EK__JOB_MAX_WIDTH, &m->expert_intermediate},
        {"moe_shared_expert_intermediate_size", NULL, 0, EK__JOB_MAX_WIDTH, &m->shared_intermediate},
        {"first_k_dense_replace", NULL, 0, EK_MAX_LAYERS, &m->n_dense_layers},
        {"moe_layer_freq", NULL, 1, EK_MAX_LAYERS, &m->expert_period},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status == EK_OK && capacity)
        status = ek__number(&r->in, capacity, -1, 1e6, "it is a factor, or -1", &m->capacity_factor);
    if (status == EK_OK)
        status = read_switch(r, "moe_grouped_gemm", NULL, &m->grouped_matmul);
    /* One expert means none: the layer is then a dense one. */
    if (m->n_experts <= 1) {
        m->n_experts = 0;
        return status;
    }
    m->expert_intermediate = m->expert_intermediate > 0 ? m->expert_intermediate : m->intermediate;
    m->n_shared_experts = m->shared_intermediate > 0;
    return status;
}

/* ---- number formats ---- */

static ek_status read_zero(reader *r)
{
    static const char *const levels[] = {"z1", "z2", "z3", NULL};
    ek_job_states *s = &r->job->states;
    int level = -1;
    ek_status status = read_word(r, "zero_level", NULL, levels, &level);
    s->shard_optimizer = s->shard_optimizer || level >= 0;
    s->shard_gradient = level >= 1;
    s->shard_weight = level >= 2;
    s->gathered = level >= 2 ? s->weight : 0;
    return status;
}

/* Ranks that share the states; initialize_model_parallel() of MindSpeed-Core-MS rejects 1. */
static ek_status read_shard_size(reader *r)
{
    const ek__node *node = find(r, "zero_shard_size");
    int all = -1;
    r->shard_size = -1;
    if (!node || (ek__node_is_int(node, &all) && all == -1))
        return EK_OK;
    return ek__int(&r->in, node, 2, EK_MAX_RANKS, "it is the ranks that share a state, -1 for all", &r->shard_size);
}

static ek_status read_types(reader *r)
{
    ek_job_types *t = &r->job->types;
    bool bf16 = false, fp16 = false, fp32_residual = false, gradient_fp32 = false, distributed = false;
    ek_status status = read_switch(r, "bf16", NULL, &bf16);
    if (status == EK_OK)
        status = read_switch(r, "fp16", NULL, &fp16);
    if (status == EK_OK)
        status = read_switch(r, "fp32_residual_connection", NULL, &fp32_residual);
    if (status == EK_OK)
        status = read_switch(r, "accumulate_allreduce_grads_in_fp32", NULL, &gradient_fp32);
    if (status == EK_OK)
        status = read_switch(r, "use_distributed_optimizer", NULL, &distributed);
    if (status == EK_OK)
        status = read_shard_size(r);
    t->param = t->compute = bf16 ? EK_BF16 : fp16 ? EK_FP16 : EK_FP32;
    if (status == EK_OK)
        status = read_dtype(r, "params_dtype", &t->param);
    if (status == EK_OK)
        status = read_dtype(r, "compute_dtype", &t->compute);
    t->embedding = t->norm = t->param;
    t->softmax = t->router = t->residual = t->compute;
    if (status == EK_OK)
        status = read_dtype(r, "embedding_init_dtype", &t->embedding);
    if (status == EK_OK)
        status = read_dtype(r, "softmax_compute_dtype", &t->softmax);
    if (status == EK_OK)
        status = read_dtype(r, "residual_connection_dtype", &t->residual);
    if (fp32_residual)
        t->residual = EK_FP32;
    const ek__megatron_types types = {.weight = t->param,
                                      .gradient_fp32 = gradient_fp32 || t->param != EK_FP16,
                                      .distributed = distributed,
                                      .master = 4,
                                      .first = 4,
                                      .second = 4};
    ek__megatron_states(&types, r->job);
    return status ? status : read_zero(r);
}

/* ---- degrees ---- */

static ek_status read_degrees(reader *r)
{
    static const char *const algorithms[] = {"ulysses_cp_algo", "megatron_cp_algo", "hybrid_cp_algo", NULL};
    ek_job_parallel *p = &r->job->parallel;
    int algorithm = 0;
    bool standalone = false;
    p->data = p->expert_tensor = p->n_micro_batches = 0;
    const number numbers[] = {
        {"tensor_model_parallel_size", NULL, 1, EK_MAX_RANKS, &p->tensor},
        {"pipeline_model_parallel_size", NULL, 1, EK_MAX_STAGES, &p->pipeline},
        {"context_parallel_size", NULL, 1, EK_MAX_RANKS, &p->context},
        {"expert_model_parallel_size", NULL, 1, EK_MAX_RANKS, &p->expert},
        {"expert_tensor_parallel_size", NULL, 1, EK_MAX_RANKS, &p->expert_tensor},
        {"data_parallel_size", NULL, 1, EK_MAX_RANKS, &p->data},
        {"ulysses_degree_in_cp", NULL, 1, EK_MAX_RANKS, &p->ulysses},
        {"global_batch_size", NULL, 1, 1 << 30, &r->global_batch},
        {"micro_batch_num", NULL, 1, EK_MAX_MICRO_BATCHES, &p->n_micro_batches},
    };
    ek_status status = read_numbers(r, numbers, sizeof numbers / sizeof *numbers);
    if (status == EK_OK)
        status = read_switch(r, "sequence_parallel", NULL, &p->sequence_parallel);
    if (status == EK_OK)
        status = read_word(r, "context_parallel_algo", NULL, algorithms, &algorithm);
    p->context_algorithm = algorithm == 0 ? EK_CONTEXT_ULYSSES : EK_CONTEXT_RING;
    if (algorithm == 1)
        p->ulysses = 1; /* a plain ring has no such groups, for any degree */
    if (status == EK_OK)
        status = read_switch(r, "standalone_embedding_stage", NULL, &standalone);
    if (status == EK_OK && standalone)
        return ek__fail_at(&r->in, find(r, "standalone_embedding_stage"),
                           "is on, a stage without layers, which is not modelled; switch it off");
    return status;
}

/* ---- layers and recomputation ---- */

/* A list of p numbers, or v lists of p, into out[v][p]. */
static ek_status read_list(const reader *r, const ek__node *node, int *out)
{
    int p = r->job->plan.n_stages, v = r->job->plan.n_chunks;
    bool rows = node->kind == EK__LIST && node->first && node->first->kind == EK__LIST;
    if (node->kind != EK__LIST || (rows ? node->n != v : v > 1))
        return ek__fail_at(&r->in, node, "must be %s, for %d chunk%s on %d stages; correct it",
                           v > 1 ? "one list of numbers for each chunk" : "a list of numbers", v, v > 1 ? "s" : "", p);
    const ek__node *row = rows ? node->first : node;
    for (int i = 0; i < v; i++, row = row->next) {
        if (row->kind != EK__LIST || row->n != p)
            return ek__fail_at(&r->in, row, "must be a list of %d numbers, one for each stage; correct it", p);
        int s = 0;
        for (const ek__node *entry = row->first; entry; entry = entry->next, s++) {
            ek_status status = ek__int(&r->in, entry, 0, EK_MAX_LAYERS, "it counts layers", &out[i * p + s]);
            if (status)
                return status;
        }
        if (!rows)
            break;
    }
    return EK_OK;
}

/* Without a list layers are spread evenly; the remainder goes one each to the stages before the last, backwards. */
static ek_status deal_layers(reader *r)
{
    ek_plan *plan = &r->job->plan;
    int p = plan->n_stages, v = plan->n_chunks, n_layers = r->job->model.n_layers;
    for (int i = 0; i < v; i++) {
        int before = i == v - 1 || v == 1 ? -1 : i; /* chunks before the last take the remainder */
        int here = n_layers / v + (before >= 0 && v - 2 - before < n_layers % v);
        for (int s = 0; s < p; s++)
            plan->layers[i * p + s] = here / p + (s < p - 1 && p - 2 - s < here % p);
    }
    int placed = 0;
    for (int c = 0; c < p * v; c++)
        placed += plan->layers[c];
    if (placed == n_layers && n_layers >= p * v)
        return EK_OK;
    const ek__node *node = find(r, "num_layers");
    return ek__fail(r->in.err, EK_ERR_INPUT, ek__node_origin(r->in.doc, node ? node : r->section[0]),
                    "num_layers is %d, too few for %d stages x %d chunks; lower them", n_layers, p, v);
}

static ek_status read_layers(reader *r)
{
    const ek__node *list = find(r, "num_layer_list");
    ek_plan *plan = &r->job->plan;
    int p = r->job->parallel.pipeline, n_chunks = 1, sum = 0;
    const number numbers[] = {{"virtual_pipeline_model_parallel_size", NULL, 1, EK_MAX_CHUNKS, &n_chunks}};
    ek_status status = read_numbers(r, numbers, 1);
    if (status == EK_OK)
        status = ek_plan_init(plan, p, p > 1 ? n_chunks : 1, r->in.err);
    if (status)
        return status;
    if (!list || p == 1) {
        status = deal_layers(r);
    } else {
        status = read_list(r, list, plan->layers);
        for (int c = 0; c < p * plan->n_chunks && status == EK_OK; c++) {
            sum += plan->layers[c];
            if (plan->layers[c] == 0)
                return ek__fail_at(&r->in, list, "gives chunk %d of stage %d no layers; it takes numbers from 1", c / p,
                                   c % p);
            if (sum > r->job->model.n_layers)
                break;
        }
        if (status == EK_OK && sum != r->job->model.n_layers)
            return ek__fail_at(&r->in, list, "adds up to %s%d, but num_layers is %d; correct one of them",
                               sum > r->job->model.n_layers ? "at least " : "", sum, r->job->model.n_layers);
    }
    if (status == EK_OK)
        plan->layers[p * plan->n_chunks - 1] += r->job->model.n_prediction_layers;
    return status;
}

/* select_recompute or select_comm_recompute, which count from the end of the full ones, as a pattern. */
static ek_status read_beyond(reader *r, const ek__node *node, ek_pattern_kind kind)
{
    const ek_plan *plan = &r->job->plan;
    size_t n = (size_t)plan->n_stages * (size_t)plan->n_chunks;
    int *list = ek__alloc(n, sizeof *list);
    if (!list)
        return ek__no_memory(r->in.err);
    ek_status status = read_list(r, node, list);
    int all = 0;
    for (size_t c = 0; c < n && status == EK_OK; c++) {
        all += list[c];
        if (list[c] > plan->layers[c] - plan->full[c])
            status = ek__fail_at(
                &r->in, node,
                "counts %d layers of chunk %zu on stage %zu after %d with full recomputation, of %d there; lower it",
                list[c], c / (size_t)plan->n_stages, c % (size_t)plan->n_stages, plan->full[c], plan->layers[c]);
        list[c] = list[c] > 0 ? list[c] + plan->full[c] : 0;
    }
    ek_origin at = ek__node_origin(r->in.doc, node);
    at.file = r->job->path;
    if (status == EK_OK && all > 0)
        status = ek__job_add_pattern(r->job, *ek__job_usual_patterns(r->job, kind), kind, list, true, at, r->in.err);
    free(list);
    return status;
}

static ek_status read_lists(reader *r, const ek__node *config)
{
    ek_plan *plan = &r->job->plan;
    const ek__node *full = ek__get(config, "recompute"), *select = ek__get(config, "select_recompute");
    const ek__node *comm = ek__get(config, "select_comm_recompute");
    ek_status status = full ? read_list(r, full, plan->full) : EK_OK;
    for (int c = 0; c < plan->n_stages * plan->n_chunks && status == EK_OK; c++)
        if (plan->full[c] > plan->layers[c])
            status = ek__fail_at(&r->in, full, "counts %d layers of chunk %d on stage %d, which has %d; lower it",
                                 plan->full[c], c / plan->n_stages, c % plan->n_stages, plan->layers[c]);
    if (status == EK_OK && select)
        status = read_beyond(r, select, EK_PATTERN_SELECT);
    if (status == EK_OK && comm)
        status = read_beyond(r, comm, EK_PATTERN_COMM);
    return status;
}

static ek_status read_recompute(reader *r)
{
    static const char *const words[] = {"full", "selective", NULL}, *const methods[] = {"uniform", "block", NULL};
    const ek__node *node = find(r, "recompute_config");
    int granularity = -1, method = 0, n = 1;
    ek_status status = EK_OK;
    if (node) {
        status = ek__expect(&r->in, node, EK__MAP, "write its lists below it");
        return status ? status : read_lists(r, node);
    }
    const number numbers[] = {{"recompute_num_layers", NULL, 1, EK_MAX_LAYERS, &n}};
    status = read_numbers(r, numbers, 1);
    if (status == EK_OK)
        status = read_word(r, "recompute_granularity", NULL, words, &granularity);
    if (status == EK_OK)
        status = read_word(r, "recompute_method", NULL, methods, &method);
    if (status == EK_OK && granularity == 0)
        ek__megatron_full(method == 0 ? EK__FULL_UNIFORM : EK__FULL_BLOCK, n, r->job);
    if (status || granularity != 1)
        return status;
    ek_origin at = ek__node_origin(r->in.doc, find(r, "recompute_granularity"));
    at.file = r->job->path;
    return ek__job_add_pattern(r->job, *ek__job_usual_patterns(r->job, EK_PATTERN_SELECT), EK_PATTERN_SELECT, NULL,
                               true, at, r->in.err);
}

/* ---- the step ---- */

/* Kernels come one by one from Python (PyNative mode); as a graph if the file has context.mode 0. */
static ek_status read_launch(const reader *r, ek_launch *out)
{
    const ek__node *context = ek__get(ek__config_root(r->in.doc), "context");
    const ek__node *mode = context && context->kind == EK__MAP ? ek__get(context, "mode") : NULL;
    int value = 1;
    ek_status status = mode ? ek__int(&r->in, mode, 0, 1, "0 is graph mode, 1 PyNative mode", &value) : EK_OK;
    *out = value == 0 ? EK_LAUNCH_GRAPH : EK_LAUNCH_EAGER;
    return status;
}

static ek_status read_run(reader *r)
{
    ek_job_run *run = &r->job->run;
    ek__megatron_run_defaults(r->job);
    const ek__node *size = find(r, "bucket_size");
    const struct {
        const char *key, *other;
        bool *out;
    } switches[] = {{"overlap_grad_reduce", NULL, &run->overlap_gradients},
                    {"overlap_param_gather", NULL, &run->overlap_weights},
                    {"overlap_p2p_comm", "overlap_p2p_communication", &run->overlap_p2p_interleaved},
                    {"moe_shared_expert_overlap", NULL, &run->overlap_shared}};
    double elements = ek__megatron_bucket(r->job);
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof switches / sizeof *switches && status == EK_OK; i++)
        status = read_switch(r, switches[i].key, switches[i].other, switches[i].out);
    if (status == EK_OK && size && !ek__node_is_null(size))
        status = ek__number(&r->in, size, 1, 1e12, "it is a number of parameters", &elements);
    run->overlap_weights = run->overlap_weights && run->overlap_gradients && r->job->states.shard_optimizer;
    if (run->overlap_gradients)
        run->bucket_bytes = elements * run->reduce_bytes;
    ek__job_settle_run(r->job);
    return status ? status : read_launch(r, &run->launch);
}

/* ---- the whole ---- */

/* A size that does not divide the data-parallel ranks has no effect there (set_zero_shard_size). */
static void settle_shard_size(const reader *r)
{
    const ek_job_states *s = &r->job->states;
    const ek__node *node = find(r, "zero_shard_size");
    int data = r->job->parallel.data;
    if (r->shard_size < 0)
        return;
    if (!s->shard_optimizer) {
        ek__warn_of_at(&r->in, "setting-without-effect", node,
                       "is %d, which does nothing without use_distributed_optimizer or zero_level", r->shard_size);
    } else if (data % r->shard_size != 0 && !r->data_taken) {
        ek__warn_of_at(
            &r->in, "zero-shard-size", node,
            "is %d, which does not divide the %d data-parallel ranks: it does nothing, and all of them share "
            "the states",
            r->shard_size, data);
    } else if (!r->data_taken) {
        r->job->states.shard_size = r->shard_size;
    }
}

static ek_status finish(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    ek__job_override_sizes(r->overrides, r->job);
    if (p->data == 0) {
        p->data = 1;
        r->data_taken = true;
        ek__warn(r->in.listener, file, "the number of data-parallel ranks is missing; 1 is used");
    }
    int64_t at_once = (int64_t)p->batch * p->data;
    if (p->n_micro_batches == 0 && r->global_batch > 0) {
        if (r->global_batch % at_once != 0 || r->global_batch / at_once > EK_MAX_MICRO_BATCHES)
            return ek__fail_at(&r->in, find(r, "global_batch_size"),
                               "is %d, expected a multiple of the %lld sequences that %d data-parallel ranks take at "
                               "once, at most %d times as many; correct it",
                               r->global_batch, (long long)at_once, p->data, EK_MAX_MICRO_BATCHES);
        p->n_micro_batches = (int)(r->global_batch / at_once);
    }
    if (p->n_micro_batches == 0) {
        p->n_micro_batches = p->pipeline;
        ek__warn(r->in.listener, file, "the number of micro-batches is missing; %d are used, one for each stage",
                 p->pipeline);
    }
    if (p->expert_tensor == 0)
        p->expert_tensor = p->tensor;
    r->job->model.vocab_multiple = r->padded == 0 && r->divisible > 1 ? r->divisible : 0;
    r->job->model.vocab_told = r->padded > 0 ? 0 : r->vocab;
    r->job->model.vocab =
        r->padded > 0 ? r->padded : ek__megatron_padded(r->vocab, r->divisible, r->divisible > 1 ? p->tensor : 1);
    ek__megatron_derive(r->job);
    settle_shard_size(r);
    return read_run(r);
}

static void add_section(reader *r, const ek__node *node)
{
    if (node && node->kind == EK__MAP && r->n_sections < MAX_SECTIONS)
        r->section[r->n_sections++] = node;
}

/* Sections, the well-known first; then others with the same ending of the name. */
static void find_sections(reader *r)
{
    static const char *const known[] = {"parallel_config", "model_parallel",  "model_config",
                                        "language_model",  "training_config", "moe_config"};
    const ek__node *root = ek__config_root(r->in.doc);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        add_section(r, ek__get(root, known[i]));
    for (const ek__node *node = root->first; node; node = node->next) {
        size_t n = strlen(node->key);
        if (n > 7 && strcmp(node->key + n - 7, "_config") == 0 && strcmp(node->key, "lora_config") != 0)
            add_section(r, node);
    }
    static const char *const inner[] = {"moe_config", "parallelization"};
    for (int i = 0, n = r->n_sections; i < n; i++)
        for (int k = 0; k < 2 && r->n_sections < MAX_SECTIONS - 1; k++)
            add_section(r, ek__get(r->section[i], inner[k]));
    r->section[r->n_sections < MAX_SECTIONS ? r->n_sections++ : MAX_SECTIONS - 1] = root;
}

/* "a.b", the place of the first key that exists; if none does, the place in newer files. */
static void note_section(const reader *r, const char *const *keys, const char *usual, char *out, size_t size)
{
    const ek__node *node = NULL;
    char path[256] = "";
    for (int i = 0; keys[i] && !node; i++)
        node = find(r, keys[i]);
    if (node && node->parent->parent) /* otherwise the file itself */
        ek__node_path(node->parent, path, sizeof path);
    snprintf(out, size, "%.*s", (int)size - 1, node ? path : usual);
}

static void note_sections(reader *r)
{
    static const char *const degrees[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                          "context_parallel_size", "data_parallel_size", NULL};
    static const char *const batches[] = {"micro_batch_num", "global_batch_size", "micro_batch_size", "batch_size",
                                          NULL};
    static const char *const model[] = {"num_layers", "hidden_size", NULL};
    ek_job *job = r->job;
    note_section(r, degrees, "parallel_config", job->section_of_degrees, sizeof job->section_of_degrees);
    note_section(r, batches, "training_config", job->section_of_batches, sizeof job->section_of_batches);
    note_section(r, model, "model_config", job->section_of_model, sizeof job->section_of_model);
}

static bool has_degrees(const ek__node *map)
{
    static const char *const keys[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                       "context_parallel_size", "num_layer_list"};
    for (size_t i = 0; map && map->kind == EK__MAP && i < sizeof keys / sizeof *keys; i++)
        if (ek__get(map, keys[i]))
            return true;
    return false;
}

static bool recognises(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP)
        return false;
    const ek__node *accelerate = ek__get(root, "accelerate_config");
    bool nested = accelerate && accelerate->kind == EK__MAP && has_degrees(ek__get(accelerate, "parallelization"));
    return nested || has_degrees(ek__get(root, "parallel_config")) || has_degrees(ek__get(root, "model_parallel"));
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    static ek_status (*const steps[])(reader *) = {read_degrees, read_shapes,    read_layer,
                                                   read_dropout, read_experts,   read_types,
                                                   read_layers,  read_recompute, finish};
    reader r = {.in = {source->doc, source->listener, source->err}, .overrides = overrides, .job = job, .divisible = 1};
    ek__megatron_defaults(job, EK_MINDSPEED);
    /* Its own linear layers keep the gathered input unless select_comm_recompute is set, and compute a gradient of the
     * weight before they add it. */
    job->rules.regather = job->rules.weight_gradient_fused = false;
    ek__job_name_after(source->path, job);
    ek__job_note_keys(source->doc, job);
    find_sections(&r);
    note_sections(&r);
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}

const ek__job_format ek__job_mindspeed = {
    .name = "a training YAML of MindSpeed-Core-MS",
    .recognises = recognises,
    .read = read_job,
};
