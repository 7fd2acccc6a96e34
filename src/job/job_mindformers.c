/* Reads the training YAML of MindFormers: the models of r1.5 (LlamaConfig and its kin, ChatGLM2Config, TelechatConfig,
 * DeepseekV3Config) and the newer ones with Hugging Face's key names. This file has the sections, the persistent states
 * and the device's limit; degrees, the model and recomputation have their own files. Not read: swap, and a model given
 * as a Hugging Face folder (pretrained_model_dir), unless the file states its keys. */
#include <math.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/mindformers.h"
#include "job/settings.h"

static bool recognises(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP)
        return false;
    const ek__node *model = ek__get(root, "model");
    return (model && model->kind == EK__MAP && ek__get(model, "model_config")) ||
           (ek__get(root, "parallel_config") && ek__get(root, "runner_config"));
}

static ek_status find_sections(const ek__in *in, ek__mf_sections *file)
{
    static const char advice[] = "a training file of MindFormers has model.model_config and parallel_config";
    const ek__node *model = NULL;
    ek_status status = ek__require_map(in, file->root, "model", advice, &model);
    if (status == EK_OK)
        status = ek__require_map(in, model, "model_config", advice, &file->model);
    if (status == EK_OK)
        status = ek__require_map(in, file->root, "parallel_config", advice, &file->parallel_config);
    const struct {
        const ek__node *map;
        const char *key;
        const ek__node **out;
    } optional[] = {{file->root, "moe_config", &file->moe},
                    {file->root, "parallel", &file->parallel},
                    {file->root, "runner_config", &file->runner},
                    {file->root, "context", &file->context},
                    {file->root, "recompute_config", &file->recompute}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional && status == EK_OK; i++)
        status = ek__optional_map(in, optional[i].map, optional[i].key, optional[i].out);
    if (status == EK_OK && !file->moe)
        status = ek__optional_map(in, file->model, "moe_config", &file->moe);
    if (status == EK_OK)
        status = ek__optional_map(in, file->parallel, "pipeline_config", &file->pipeline);
    if (status == EK_OK)
        status = ek__optional_map(in, file->parallel, "parallel_optimizer_config", &file->optimizer_parallel);
    return status;
}

/* ---- context parallelism ---- */

static ek_status read_context(const ek__in *in, const ek__mf_sections *file, const ek__mf_facts *facts, ek_job *job)
{
    static const char *const names[] = {"colossalai_cp", "ulysses_cp", "hybrid_cp"};
    ek_job_parallel *p = &job->parallel;
    char algorithm[32] = "colossalai_cp";
    const ek__node *node = ek__get(file->parallel_config, "context_parallel_algo");
    ek_status status =
        node ? ek__string(in, node, sizeof algorithm, "name colossalai_cp, ulysses_cp or hybrid_cp", algorithm) : EK_OK;
    int which = 0;
    while (which < 3 && strcmp(names[which], algorithm) != 0)
        which++;
    if (status == EK_OK && which == 3)
        return ek__fail_at(in, node, "is '%s', expected colossalai_cp, ulysses_cp or hybrid_cp", algorithm);
    p->context_algorithm = facts->ring ? EK_CONTEXT_RING : which == 0 ? EK_CONTEXT_GATHER : EK_CONTEXT_ULYSSES;
    if (which == 1)
        p->ulysses = p->context;
    if (status == EK_OK && which == 2)
        status = ek__mf_int(in, file->parallel_config, "ulysses_degree_in_cp", 1, EK_MAX_RANKS,
                            "it is the ranks of a Ulysses group", &p->ulysses);
    /* groups of one rank exchange nothing: only the gathering of colossalai_cp remains */
    if (which == 2 && p->ulysses == 1 && !facts->ring)
        p->context_algorithm = EK_CONTEXT_GATHER;
    return status;
}

/* The cuts of the table and the head. Both silently fall back if the vocabulary does not divide, each by its own
 * condition. */
static ek_status read_vocabulary(const ek__in *in, const ek__mf_sections *file, ek_job *job)
{
    static const char *const names[] = {"vocab_size", "padded_vocab_size", NULL};
    ek_job_parallel *p = &job->parallel;
    int64_t both = (int64_t)p->tensor * p->context;
    bool whole = true;
    const ek__node *node = ek__mf_find(file->model, names);
    if (!node)
        node = file->model;
    ek_status status = ek__mf_bool(in, file->parallel_config, "vocab_emb_dp",
                                   "it sets whether every rank has the whole embedding table", &whole);
    p->table_split = p->head_split = 1;
    if (status || whole)
        return status;
    if (job->model.vocab % both == 0)
        p->table_split = (int)both;
    else
        ek__warn_of_at(in, "vocabulary-not-divisible", node,
                       "is %d, which does not divide by model_parallel %d x context_parallel %d: every rank has the "
                       "whole embedding table, in spite of vocab_emb_dp; pad the vocabulary to a multiple",
                       job->model.vocab, p->tensor, p->context);
    if (job->model.vocab % p->tensor == 0)
        p->head_split = p->tensor;
    else
        ek__warn_of_at(in, "vocabulary-not-divisible", node,
                       "is %d, which does not divide by model_parallel %d: every rank has the whole head and all "
                       "logits, in spite of vocab_emb_dp; pad the vocabulary to a multiple",
                       job->model.vocab, p->tensor);
    return EK_OK;
}

/* ---- states ---- */

typedef struct optimizer_settings {
    bool parallel, sharded_gradient;
    int level, threshold_kb, shard_size;
} optimizer_settings;

static ek_status read_optimizer(const ek__in *in, const ek__mf_sections *file, optimizer_settings *out)
{
    static const char *const levels[] = {"level1", "level2", "level3"};
    const ek__node *map = file->optimizer_parallel;
    char level[16] = "level1";
    *out = (optimizer_settings){.level = 1, .threshold_kb = 64, .shard_size = -1};
    ek_status status = ek__mf_bool(in, file->parallel, "enable_parallel_optimizer",
                                   "it switches the sharing of weights and states", &out->parallel);
    if (status == EK_OK)
        status = ek__mf_bool(in, map, "gradient_accumulation_shard", "it switches the sharing of summed gradients",
                             &out->sharded_gradient);
    if (status == EK_OK)
        status = ek__mf_int(in, map, "parallel_optimizer_threshold", 0, 1 << 30,
                            "it is the KB below which a weight is not shared", &out->threshold_kb);
    if (status == EK_OK)
        status = ek__mf_int(in, map, "optimizer_weight_shard_size", -1, EK_MAX_RANKS,
                            "it is the ranks that share a weight, -1 for all", &out->shard_size);
    const ek__node *node = map ? ek__get(map, "optimizer_level") : NULL;
    if (status == EK_OK && node)
        status = ek__string(in, node, sizeof level, "name level1, level2 or level3", level);
    for (out->level = 0; out->level < 3 && strcmp(levels[out->level], level) != 0;)
        out->level++;
    if (status == EK_OK && out->level == 3)
        return ek__fail_at(in, node, "is '%s', expected level1, level2 or level3", level);
    out->level++;
    return status;
}

/* Bytes of an optimizer's states: two moments in fp32, no master copy, as in AdamW of MindFormers. */
static ek_status read_state_bytes(const ek__in *in, const ek__mf_sections *file, int *out)
{
    static const struct {
        const char *type;
        int bytes;
    } known[] = {{"AdamW", 8},
                 {"FP32StateAdamWeightDecay", 8},
                 {"FusedAdamWeightDecay", 8},
                 {"PmaAdamW", 8},
                 {"FusedPmaAdamW", 8},
                 {"adamw", 8},
                 {"AdamWeightDecay", 8}};
    const ek__node *section = NULL;
    char type[64] = "AdamW";
    *out = 8;
    ek_status status = ek__optional_map(in, file->root, "optimizer", &section);
    const ek__node *node = status == EK_OK && section ? ek__get(section, "type") : NULL;
    if (status == EK_OK && node)
        status = ek__string(in, node, sizeof type, "name the optimizer, for example AdamW", type);
    for (size_t i = 0; i < sizeof known / sizeof *known && status == EK_OK; i++)
        if (strcmp(known[i].type, type) == 0) {
            *out = known[i].bytes;
            return EK_OK;
        }
    if (status == EK_OK)
        ek__warn_at(in, node,
                    "is '%s', an optimizer that is not known here; its states are taken as those of AdamW, "
                    "8 bytes a parameter",
                    type);
    return status;
}

/* Has any parameter a group of more than one rank? With one data rank, those that tensor parallelism does not cut have
 * one. */
static bool can_share(const ek_job *job)
{
    return job->parallel.data > 1 || job->parallel.context > 1 || job->parallel.tensor > 1;
}

static ek_status read_states(const ek__in *in, const ek__mf_sections *file, const ek__mf_facts *facts, ek_job *job)
{
    ek_job_states *states = &job->states;
    const ek_job_parallel *p = &job->parallel;
    int weight = ek_dtype_bytes(job->types.param);
    optimizer_settings optimizer;
    ek_status status = read_optimizer(in, file, &optimizer);
    if (status == EK_OK)
        status = read_state_bytes(in, file, &states->optimizer);
    if (status)
        return status;
    bool share = optimizer.parallel && can_share(job), gradients = optimizer.sharded_gradient || optimizer.level >= 2;
    if (optimizer.parallel)
        ek__job_note(job, "shares");
    if (optimizer.parallel && gradients)
        ek__job_note(job, "shares-gradients");
    states->weight = weight;
    states->gradient = p->pipeline > 1 || p->n_accumulation > 1 ? weight : 0;
    states->shard_weight = states->shard_optimizer = share;
    states->shard_gradient = share && gradients;
    states->shard_table = facts->table_sharded;
    states->shard_size = optimizer.shard_size > 0 ? optimizer.shard_size : -1;
    states->shard_threshold = (int64_t)optimizer.threshold_kb * 1024;
    states->gathered = share ? weight : 0;
    /* Gathers again for the backward pass. The Llama layers never pass parallel_optimizer_comm_recompute on; assumed:
     * the models with their own layers, DeepSeek's and the newer ones, do. */
    bool own_layers = job->model.kv_lora_rank > 0 || job->framework == EK_MINDFORMERS_MCORE, again = false;
    if (own_layers)
        status = ek__mf_bool(in, file->recompute, "parallel_optimizer_comm_recompute",
                             "it switches the second gathering of shared weights", &again);
    if (optimizer.level == 3 || (share && again))
        job->rules.weight_gather = EK_GATHER_LAYER;
    /* MindSpore gathers a parameter once before all its users, the micro-batches' passes, unless the level is 3
     * (InsertParallelOpt, frontend/parallel/step_parallel.cc). */
    job->run.gathers_once = optimizer.level < 3;
    return status;
}

/* ---- the device ---- */

/* A size such as "58GB" in MB of 2^20; a bare number is GB. */
static ek_status read_limit(const ek__in *in, const ek__mf_sections *file, double *out)
{
    static const char advice[] = "write the memory of a device as in \"58GB\"";
    const ek__node *node = file->context ? ek__get(file->context, "max_device_memory") : NULL;
    char text[32];
    double gb;
    if (!node)
        return EK_OK;
    ek_status status = ek__string(in, node, sizeof text, advice, text);
    if (status)
        return status;
    size_t n = strlen(text);
    if (n > 2 && strcmp(text + n - 2, "GB") == 0)
        text[n - 2] = '\0';
    if (!ek__text_is_number(text, &gb) || !(gb > 0) || gb > 1 << 20) {
        char found[80];
        ek__node_describe(node, found, sizeof found);
        return ek__fail_at(in, node, "is %s; %s", found, advice);
    }
    *out = gb * 1024;
    return EK_OK;
}

/* ---- fusion ---- */

/* From level O1 on the graph's small operators are fused. Assumed for the loss: one kernel reads the logits unchanged
 * and saves the softmax for the backward pass, where the logits' gradient is computed from it and the labels. Assumed
 * for gradients: their cast is fused into their accumulation. */
static ek_status read_fusion(const ek__in *in, const ek__mf_sections *file, ek_job *job)
{
    const ek__node *config = NULL;
    ek_status status = file->context ? ek__optional_map(in, file->context, "jit_config", &config) : EK_OK;
    const ek__node *node = status == EK_OK && config ? ek__get(config, "jit_level") : NULL;
    char level[16] = "";
    if (node)
        status = ek__string(in, node, sizeof level, "write O0, O1 or O2", level);
    if (status == EK_OK && (strcmp(level, "O1") == 0 || strcmp(level, "O2") == 0))
        job->rules.loss_fused = job->rules.gradient_cast_fused = true;
    return status;
}

/* ---- settings without effect ---- */

static void warn_idle(const ek__in *in, const ek__mf_sections *file, const ek__mf_facts *facts, const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    const ek__node *accumulation = file->runner ? ek__get(file->runner, "gradient_accumulation_steps") : NULL;
    const ek__node *micro_batches = ek__get(file->parallel_config, "micro_batch_num");
    const ek__node *fine_grain = ek__get(file->model, "fine_grain_interleave");
    const ek__node *chunks = ek__get(file->model, "pp_interleave_num");
    int value = 1, stated = 1;
    if (p->pipeline > 1 && accumulation && p->n_accumulation > 1)
        ek__warn_of_at(
            in, "setting-without-effect", accumulation,
            "is %d, which has no effect with %d stages: gradients are summed over the micro-batches of the pipeline",
            p->n_accumulation, p->pipeline);
    if (p->pipeline == 1 && micro_batches && ek__node_is_int(micro_batches, &value) && value > 1)
        ek__warn_of_at(
            in, "setting-without-effect", micro_batches,
            "is %d, which does nothing without pipeline stages; gradient_accumulation_steps sums over batches", value);
    if (fine_grain && facts->fine_grain > 1 && p->tensor == 1)
        ek__warn_of_at(in, "setting-without-effect", fine_grain, "is %d, which does nothing with model_parallel 1",
                       facts->fine_grain);
    if (chunks && ek__node_is_int(chunks, &stated) && stated > 1 && job->plan.n_chunks == 1)
        ek__warn_of_at(
            in, "vpp-not-on", chunks,
            "is %d, which does nothing: parallel.pipeline_config.pipeline_interleave is not on, so a stage has "
            "one chunk",
            stated);
}

/* A switch of recompute_config; `fallback` if it is absent or not a switch. */
static bool switch_of(const ek__node *config, const char *key, bool fallback)
{
    const ek__node *node = config ? ek__get(config, key) : NULL;
    bool on;
    return node && ek__node_is_bool(node, &on) ? on : fallback;
}

/* Switches that change a step's time in ways that are not modelled. */
static void warn_not_modelled(const ek__in *in, const ek__mf_sections *file)
{
    static const struct {
        const char *key, *text;
    } switches[] = {
        {"group_wise_a2a", "is True, which is not modelled: the exchange of tokens is timed as that of whole tokens "
                           "between all ranks of a group"},
        {"enable_deredundency", "is True, which is not modelled: the exchange of tokens is timed without it"},
        {"comp_comm_parallel", "is True, which is not modelled: the exchange of tokens is timed as waited for"},
        {"moe_shared_expert_overlap", "is True, which is not modelled: the exchange of tokens is timed as waited for"},
    };
    const ek__node *const maps[] = {file->moe, file->model};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
            if (switch_of(maps[k], switches[i].key, false))
                ek__warn_at(in, ek__get(maps[k], switches[i].key), "%s", switches[i].text);
}

/* Switches that Llama's layers never pass on, or not if recomputed layers are counted. No warning if their value equals
 * the actual behaviour. */
static void warn_not_passed_on(const ek__in *in, const ek__mf_sections *file, const ek_job *job)
{
    const ek__node *config = file->recompute, *full = config ? ek__get(config, "recompute") : NULL;
    bool any = false;
    if (!config || job->family != EK_FAMILY_LLAMA || job->framework != EK_MINDFORMERS || job->model.kv_lora_rank > 0)
        return;
    for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
        any = any || job->plan.full[c] > 0;
    if (job->states.gathered > 0 && switch_of(config, "parallel_optimizer_comm_recompute", false))
        ek__warn_of_at(in, "setting-without-effect", ek__get(config, "parallel_optimizer_comm_recompute"),
                       "is True, which has no effect: these layers do not pass it on, and gathered weights stay; "
                       "--rule weight_gather=layer shows its saving");
    if (any && !switch_of(config, "mp_comm_recompute", true))
        ek__warn_of_at(in, "setting-without-effect", ek__get(config, "mp_comm_recompute"),
                       "is False, which does nothing: layers that are recomputed repeat their communication");
    if (any && full->kind == EK__LIST && switch_of(config, "recompute_slice_activation", false))
        ek__warn_of_at(in, "setting-without-effect", ek__get(config, "recompute_slice_activation"),
                       "is True, which has no effect if `recompute` is a list: saved inputs are sharded only with "
                       "recompute: True");
}

/* Settings that depend on the degrees, including those of the command line. */
static ek_status read_run(const ek__in *in, const ek__mf_sections *file, const ek__mf_facts *facts,
                          const ek_job_overrides *overrides, ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    ek__job_override_sizes(overrides, job);
    ek_status status = read_context(in, file, facts, job);
    if (status == EK_OK)
        status = read_vocabulary(in, file, job);
    if (status == EK_OK)
        warn_idle(in, file, facts, job);
    if (p->pipeline > 1) {
        p->n_accumulation = 1;
    } else {
        if (overrides->n_micro_batches > 0)
            p->n_accumulation = overrides->n_micro_batches;
        p->n_micro_batches = 1;
    }
    p->fine_grain = p->tensor > 1 ? facts->fine_grain : 1;
    if (status == EK_OK)
        status = read_states(in, file, facts, job);
    if (status == EK_OK)
        warn_not_passed_on(in, file, job);
    if (status == EK_OK)
        status = read_fusion(in, file, job);
    return status ? status : read_limit(in, file, &job->limit_mb);
}

/* Tensor-parallel ranks of an expert. The newer models place whole experts on the ranks of the data and tensor parallel
 * plane; if expert_parallel leaves tensor-parallel ranks over, each is assumed to have its share of the experts, which
 * takes the same memory as cutting every expert. */
static ek_status read_expert_tensor(const ek__in *in, const ek__mf_sections *file, ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    bool taken = job->framework == EK_MINDFORMERS_MCORE && p->data * (int64_t)p->context % p->expert != 0;
    p->expert_tensor = taken ? 1 : p->tensor;
    return ek__mf_int(in, file->moe, "expert_model_parallel", 1, EK_MAX_RANKS, "it is the ranks that share an expert",
                      &p->expert_tensor);
}

static ek_status read(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    const ek__in in = {source->doc, source->listener, source->err};
    ek__mf_sections file = {.root = ek__config_root(source->doc)};
    ek__mf_facts facts = {.fine_grain = 1};
    ek__job_note_keys(source->doc, job);
    ek_status status = find_sections(&in, &file);
    if (status == EK_OK)
        status = ek__mf_read_degrees(&in, &file, "it is a number of devices", job);
    if (status == EK_OK)
        status = ek__mf_read_model(&in, &file, overrides, &facts, job);
    if (status == EK_OK)
        status = ek__mf_read_plan(&in, &file, job);
    if (status)
        return status;
    job->rules = ek_rules_default(job->framework);
    if (job->family == EK_FAMILY_GLM) /* its flash attention runs in token order (BSH, glm2_transformer.py) */
        job->rules.token_order_copy = false;
    ek__mf_warn_near_keys(&in, &file);
    warn_not_modelled(&in, &file);
    status = read_run(&in, &file, &facts, overrides, job);
    if (status == EK_OK)
        status = read_expert_tensor(&in, &file, job);
    return status ? status : ek__mf_read_run(source, &file, job);
}

const ek__job_format ek__job_mindformers = {"a training YAML of MindFormers", recognises, read, ek__mf_read_part, NULL};
