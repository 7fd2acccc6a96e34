/* Reads a YAML of NeMo 1 (model, trainer) or of Megatron-Bridge (model, train, ddp, ...) as a job. Both run Megatron
 * Core, so each key becomes the equivalent argument of Megatron-LM, at the key's place, and the job is read from these
 * arguments; messages name the key. Values that the file leaves to a recipe, a checkpoint or a tokenizer are required,
 * not guessed.
 *
 * Not handled: recipes of NeMo 2, which are Python; values known only in a run, such as ${oc.env:N}. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/nemo.h"

/* ---- the form ---- */

static bool has_map(const ek__node *map, const char *key)
{
    const ek__node *node = ek__get(map, key);
    return node && node->kind == EK__MAP;
}

static const ek__key_form *form_of(const ek__job_source *source)
{
    static const char *const keys[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size", "num_layers",
                                       "seq_length", "encoder_seq_length"};
    const ek__node *root = source->doc && !source->toml ? ek__config_root(source->doc) : NULL;
    const ek__node *model = root && root->kind == EK__MAP ? ek__get(root, "model") : NULL;
    bool any = false;
    if (!model || model->kind != EK__MAP || ek__get(model, "model_config") || ek__get(root, "parallel_config"))
        return NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        any = any || ek__get(model, keys[i]);
    if (!any)
        return NULL;
    if (has_map(root, "trainer") || ek__get(model, "micro_batch_size"))
        return &ek__nemo_1;
    return has_map(root, "train") || has_map(root, "ddp") || ek__get(root, "mixed_precision") ? &ek__nemo_bridge : NULL;
}

static bool recognises(const ek__job_source *source)
{
    return form_of(source) != NULL;
}

/* ---- settings from several keys ---- */

static const ek__node *find(const ek__key_reader *r, const char *path)
{
    return ek__key_find(r->in.doc, path);
}

/* The class of a Megatron-Bridge provider names its kind of model. */
static ek_status check_target(ek__key_reader *r)
{
    const ek__node *target = find(r, "model._target_");
    static const char *const others[] = {"mamba", "Mamba", "Hybrid", "NemotronH", "t5", "bert"};
    for (size_t i = 0; target && target->kind == EK__SCALAR && i < sizeof others / sizeof *others; i++)
        if (strstr(target->text, others[i]))
            return ek__fail_at(&r->in, target,
                               "is '%.80s', with layers that are not modelled; such a model is not predicted",
                               target->text);
    return EK_OK;
}

/* Grouped queries by their number, a list of layers with experts, and chunks unless a layout sets them. */
static ek_status put_layers(ek__key_reader *r)
{
    const ek__node *experts = find(r, "model.moe_layer_freq");
    const ek__node *chunks = find(r, "model.virtual_pipeline_model_parallel_size");
    char text[3 * EK_MAX_LAYERS + 3] = "[";
    size_t n = 1;
    ek_status status = EK_OK;
    if (ek__argument_given(&r->a, "num-query-groups"))
        status = ek__key_put(r, "group-query-attention", NULL, ek__argument_at(&r->a, "num-query-groups"));
    if (status == EK_OK && experts && experts->kind == EK__LIST) {
        for (const ek__node *item = experts->first; item && n < sizeof text - 4; item = item->next) {
            int one = 0;
            status = ek__int(&r->in, item, 0, 1, "it is 1 for a layer with experts", &one);
            if (status)
                return status;
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n > 1 ? "," : "", one);
        }
        snprintf(text + n, sizeof text - n, "]");
        status = ek__key_put(r, "moe-layer-freq", text, ek__node_origin(r->in.doc, experts));
    } else if (status == EK_OK && experts) {
        status = ek__key_put_value(r, "moe-layer-freq", experts);
    }
    if (status == EK_OK && chunks && !ek__argument_given(&r->a, "pipeline-model-parallel-layout"))
        status = ek__key_put_value(r, "num-virtual-stages-per-pipeline-rank", chunks);
    return status;
}

/* A layout as a text, or as a list of stages that list their parts. */
static ek_status put_layout(ek__key_reader *r)
{
    static const char *const parts[][2] = {{"embedding", "E"}, {"decoder", "t"}, {"mtp", "m"}, {"loss", "L"}};
    const ek__node *layout = find(r, "model.pipeline_model_parallel_layout");
    char text[2 * EK_MAX_LAYERS] = "";
    size_t n = 0;
    if (!layout || layout->kind == EK__MAP)
        return layout ? ek__expect(&r->in, layout, EK__SCALAR, "write it as Megatron-LM does, Et*4|t*4L") : EK_OK;
    if (layout->kind == EK__SCALAR)
        return ek__key_put_value(r, "pipeline-model-parallel-layout", layout);
    for (const ek__node *stage = layout->first; stage; stage = stage->next) {
        ek_status status = ek__expect(&r->in, stage, EK__LIST, "it lists the parts of a stage");
        if (status)
            return status;
        n += n > 0 && n < sizeof text ? (size_t)snprintf(text + n, sizeof text - n, "|") : 0;
        for (const ek__node *part = stage->first; part; part = part->next) {
            const char *letter = NULL;
            for (size_t i = 0; i < sizeof parts / sizeof *parts && part->kind == EK__SCALAR; i++)
                letter = strcmp(parts[i][0], part->text) == 0 ? parts[i][1] : letter;
            if (!letter)
                return ek__fail_at(&r->in, part, "is no part of a stage, expected embedding, decoder, mtp or loss");
            n += n < sizeof text ? (size_t)snprintf(text + n, sizeof text - n, "%s", letter) : 0;
        }
    }
    return ek__key_put(r, "pipeline-model-parallel-layout", text, ek__node_origin(r->in.doc, layout));
}

/* An activation with a gate is predicted as SwiGLU, one without as GELU: their sizes are the same. */
static ek_status put_gate(ek__key_reader *r, const ek__node *at, bool gated, const char *activation)
{
    const char *usual = gated ? "silu" : "gelu";
    if (activation && !strstr(activation, usual) && !(gated && strstr(activation, "swiglu")))
        ek__warn_at(&r->in, at, "is %.60s; it is predicted as %s, which has the same sizes", activation,
                    gated ? "SwiGLU" : "GELU");
    return gated ? ek__key_put(r, "swiglu", NULL, ek__node_origin(r->in.doc, at)) : EK_OK;
}

static void warn_no_format(const ek__key_reader *r, const char *keys)
{
    ek__warn(r->in.listener, (ek_origin){ek__config_name(r->in.doc), 0, 0},
             "the file has no number format (%s); float32 is used", keys);
}

/* ---- NeMo 1 ---- */

static ek_status put_precision(ek__key_reader *r)
{
    const ek__node *precision = find(r, "trainer.precision"), *own = find(r, "model.megatron_amp_O2");
    bool main_copy = false;
    if (!precision) {
        warn_no_format(r, "trainer.precision");
        return EK_OK;
    }
    ek_status status = ek__expect(&r->in, precision, EK__SCALAR, "it is one of 32, 16-mixed, bf16-mixed");
    if (status == EK_OK)
        status = ek__key_switch(r, "model.megatron_amp_O2", &main_copy);
    if (status)
        return status;
    const char *text = precision->text;
    bool bf16 = strcmp(text, "bf16") == 0 || strcmp(text, "bf16-mixed") == 0;
    bool fp16 = strcmp(text, "16") == 0 || strcmp(text, "16-mixed") == 0;
    if (!bf16 && !fp16)
        return strcmp(text, "32") == 0 || strcmp(text, "32-true") == 0
                   ? EK_OK
                   : ek__fail_at(&r->in, precision,
                                 "is '%.40s', expected 32, 16, 16-mixed, bf16 or bf16-mixed; "
                                 "correct it",
                                 text);
    if (!main_copy)
        return ek__fail_at(
            &r->in, own ? own : precision,
            own ? "is off with trainer.precision %.20s: weights stay in float32 and are cast for every "
                  "product, which is not modelled; switch it on"
                : "is %.20s without model.megatron_amp_O2: weights stay in float32 and are cast for every "
                  "product, which is not modelled; switch that on",
            text);
    return ek__key_put(r, bf16 ? "bf16" : "fp16", NULL, ek__node_origin(r->in.doc, precision));
}

static ek_status put_optimizer(ek__key_reader *r)
{
    const ek__node *name = find(r, "model.optim.name"), *sum = find(r, "model.optim.grad_sync_dtype");
    if (!name)
        return EK_OK;
    ek_status status = ek__expect(&r->in, name, EK__SCALAR, "name the optimizer");
    const ek_origin at = ek__node_origin(r->in.doc, name);
    if (status)
        return status;
    bool apex = strcmp(name->text, "distributed_fused_adam") == 0;
    if (apex)
        ek__warn_at(&r->in, name, "is distributed_fused_adam; it is predicted as Megatron's distributed optimizer");
    if (apex || strcmp(name->text, "mcore_distributed_optim") == 0)
        status = ek__key_put(r, "use-distributed-optimizer", NULL, at);
    else if (strcmp(name->text, "sgd") == 0)
        status = ek__key_put(r, "optimizer", "sgd", at);
    else if (!strstr(name->text, "adam"))
        return ek__fail_at(&r->in, name,
                           "is '%.40s', with unknown states; expected fused_adam, distributed_fused_adam, "
                           "mcore_distributed_optim, adam, adamw or sgd",
                           name->text);
    if (status == EK_OK && sum && sum->kind == EK__SCALAR && strcmp(sum->text, "bf16") == 0 &&
        ek__argument_given(&r->a, "bf16"))
        status = ek__key_put(r, "grad-reduce-in-bf16", NULL, ek__node_origin(r->in.doc, sum));
    return status;
}

static ek_status put_nemo_layer(ek__key_reader *r)
{
    const ek__node *activation = find(r, "model.activation"), *norm = find(r, "model.normalization");
    bool fused = false, engine = false, core = false, flash = false, fp8 = false;
    ek_status status = ek__key_switch(r, "model.gradient_accumulation_fusion", &fused);
    if (status == EK_OK && activation) {
        status = ek__expect(&r->in, activation, EK__SCALAR, "name the activation");
        if (status)
            return status;
        const char *text = activation->text;
        bool gated = strstr(text, "glu") != NULL;
        status = put_gate(r, activation, gated, text);
    }
    if (status == EK_OK && norm) {
        status = ek__expect(&r->in, norm, EK__SCALAR, "name the norm");
        if (status == EK_OK)
            status = ek__key_put(r, "normalization", strcmp(norm->text, "rmsnorm") == 0 ? "RMSNorm" : "LayerNorm",
                                 ek__node_origin(r->in.doc, norm));
    }
    if (status == EK_OK && !fused)
        status = ek__key_put(r, "no-gradient-accumulation-fusion", NULL, (ek_origin){ek__config_name(r->in.doc), 0, 0});
    if (status == EK_OK)
        status = ek__key_switch(r, "model.transformer_engine", &engine);
    if (status == EK_OK)
        status = ek__key_switch(r, "model.mcore_gpt", &core);
    if (status == EK_OK)
        status = ek__key_switch(r, "model.use_flash_attention", &flash);
    if (status == EK_OK)
        status = ek__key_switch(r, "model.fp8", &fp8);
    if (status)
        return status;
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    status = ek__key_put(r, "transformer-impl", engine || core ? "transformer_engine" : "local", file);
    if (status == EK_OK && flash)
        status = ek__key_put(r, "use-flash-attn", NULL, file);
    if (status == EK_OK && fp8)
        status = ek__key_put(r, "fp8-format", "hybrid", ek__node_origin(r->in.doc, find(r, "model.fp8")));
    return status;
}

/* "auto" and -1 mean all that the machine has. */
static ek_status put_ranks(ek__key_reader *r)
{
    const ek__node *devices = find(r, r->form->devices), *nodes = find(r, r->form->nodes);
    int n = 0, all = 1;
    if (!devices || (devices->kind == EK__SCALAR && strcmp(devices->text, "auto") == 0) ||
        (ek__node_is_int(devices, &n) && n == -1) || ek__key_is_unknown(devices))
        return EK_OK;
    ek_status status = EK_OK;
    if (devices->kind == EK__LIST) /* their numbers */
        n = devices->n;
    else
        status = ek__int(&r->in, devices, 1, EK_MAX_RANKS, "it is the devices of a node", &n);
    if (status == EK_OK && nodes && ek__key_is_unknown(nodes))
        return EK_OK;
    if (status == EK_OK && nodes)
        status = ek__int(&r->in, nodes, 1, EK_MAX_RANKS, "it is a number of nodes", &all);
    char text[24];
    snprintf(text, sizeof text, "%d", n);
    if (status == EK_OK)
        status = ek__key_put(r, "nproc_per_node", text, ek__node_origin(r->in.doc, devices));
    snprintf(text, sizeof text, "%d", all);
    return status ? status : ek__key_put(r, "nnodes", text, ek__node_origin(r->in.doc, nodes ? nodes : devices));
}

static ek_status read_nemo(ek__key_reader *r)
{
    ek_status status = put_precision(r);
    if (status == EK_OK)
        status = put_optimizer(r);
    if (status == EK_OK)
        status = put_nemo_layer(r);
    return status ? status : put_ranks(r);
}

/* ---- Megatron-Bridge ---- */

/* The vocabulary is used unpadded unless should_pad_vocab is set; without one, the tokenizer's applies. */
static ek_status put_vocabulary(ek__key_reader *r)
{
    const ek__node *own = find(r, "model.vocab_size");
    bool pad = false;
    ek_status status = ek__key_switch(r, "model.should_pad_vocab", &pad);
    if (status || !own)
        return status;
    return ek__key_put_value(r, pad ? "vocab-size" : "padded-vocab-size", own);
}

static ek_status put_bridge_layer(ek__key_reader *r)
{
    const ek__node *gated = find(r, "model.gated_linear_unit"), *activation = find(r, "model.activation_func");
    const ek__node *backend = find(r, "model.attention_backend"), *implementation = find(r, "model.transformer_impl");
    const ek__node *graph = find(r, "model.cuda_graph_impl");
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    bool gate = false;
    char buffer[24];
    const char *text = NULL;
    ek_status status = ek__key_switch(r, "model.gated_linear_unit", &gate);
    if (status == EK_OK && activation)
        status = ek__key_text(r, activation, buffer, sizeof buffer, &text);
    if (status == EK_OK && (activation || gated))
        status = put_gate(r, activation ? activation : gated, gate, text);
    if (status == EK_OK && backend && backend->kind == EK__SCALAR)
        status = ek__key_put_value(r, "attention-backend", backend);
    else if (status == EK_OK && backend && ek__get(backend, "_name_"))
        status = ek__key_put_value(r, "attention-backend", ek__get(backend, "_name_"));
    if (status == EK_OK)
        status = implementation ? ek__key_put_value(r, "transformer-impl", implementation)
                                : ek__key_put(r, "transformer-impl", "transformer_engine", file);
    if (status == EK_OK && graph && !ek__key_is_off(graph))
        status = ek__key_put_value(r, "cuda-graph-impl", graph);
    bool deepep = false;
    if (status == EK_OK)
        status = ek__key_switch(r, "model.moe_enable_deepep", &deepep);
    const ek__node *dispatcher = find(r, "model.moe_token_dispatcher_type");
    const ek__node *flex = find(r, "model.moe_flex_dispatcher_backend");
    if (status == EK_OK && flex && dispatcher && dispatcher->kind == EK__SCALAR &&
        strcmp(dispatcher->text, "flex") == 0)
        status = ek__key_put_value(r, "moe-flex-dispatcher-backend", flex);
    return status;
}

/* A name such as bf16_with_fp8_current_scaling_mixed. */
static ek_status put_named_precision(ek__key_reader *r, const ek__node *name, bool *sum_fp32)
{
    static const struct {
        const char *in_name, *recipe;
    } recipes[] = {{"fp8_delayed_scaling", "delayed"},
                   {"fp8_current_scaling", "tensorwise"},
                   {"fp8_subchannel_scaling", "blockwise"},
                   {"mxfp8", "mxfp8"}};
    const char *text = name->text;
    const ek_origin at = ek__node_origin(r->in.doc, name);
    bool bf16 = strncmp(text, "bf16_", 5) == 0, fp16 = strncmp(text, "fp16_", 5) == 0;
    if ((!bf16 && !fp16) || strstr(text, "fp4"))
        return ek__fail_at(&r->in, name,
                           "is '%.60s', expected bf16_mixed, fp16_mixed or one of bf16_with_fp8_..._mixed; "
                           "correct it, or write its settings as a map",
                           text);
    *sum_fp32 = bf16;
    ek_status status = ek__key_put(r, bf16 ? "bf16" : "fp16", NULL, at);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes && status == EK_OK; i++) {
        if (!strstr(text, recipes[i].in_name))
            continue;
        status = ek__key_put(r, "fp8-format", "hybrid", at);
        if (status == EK_OK)
            status = ek__key_put(r, "fp8-recipe", recipes[i].recipe, at);
    }
    return status;
}

/* The map mixed_precision, and the model's own switches otherwise. */
static ek_status put_formats(ek__key_reader *r, bool *sum_fp32)
{
    static const char *const places[] = {"mixed_precision", "model"};
    ek_status status = EK_OK;
    for (int i = 0; i < 2 && status == EK_OK; i++) {
        char path[64];
        bool bf16 = false, fp16 = false, gather = false;
        snprintf(path, sizeof path, "%s.bf16", places[i]);
        const ek__node *at = find(r, path);
        status = ek__key_switch(r, path, &bf16);
        snprintf(path, sizeof path, "%s.fp16", places[i]);
        if (status == EK_OK)
            status = ek__key_switch(r, path, &fp16);
        at = fp16 ? find(r, path) : at;
        if (status || (!bf16 && !fp16) || ek__argument_given(&r->a, "bf16") || ek__argument_given(&r->a, "fp16"))
            continue;
        status = ek__key_put(r, bf16 ? "bf16" : "fp16", NULL, ek__node_origin(r->in.doc, at));
        snprintf(path, sizeof path, "%s.fp8", places[i]);
        const ek__node *fp8 = find(r, path);
        if (status || !fp8 || ek__key_is_off(fp8))
            continue;
        status = ek__key_put_value(r, "fp8-format", fp8);
        snprintf(path, sizeof path, "%s.fp8_recipe", places[i]);
        if (status == EK_OK && find(r, path))
            status = ek__key_put_value(r, "fp8-recipe", find(r, path));
        snprintf(path, sizeof path, "%s.fp8_param_gather", places[i]);
        if (status == EK_OK)
            status = ek__key_switch(r, path, &gather);
        if (status == EK_OK && gather)
            status = ek__key_put(r, "fp8-param-gather", NULL, ek__node_origin(r->in.doc, find(r, path)));
    }
    /* MixedPrecisionConfig overrides the setting of ddp. */
    const char *path = find(r, "mixed_precision") ? "mixed_precision.grad_reduce_in_fp32" : "ddp.grad_reduce_in_fp32";
    return status ? status : ek__key_switch(r, path, sum_fp32);
}

static ek_status put_numbers(ek__key_reader *r)
{
    const ek__node *mixed = find(r, "mixed_precision");
    bool sum_fp32 = mixed != NULL; /* MixedPrecisionConfig; DistributedDataParallelConfig sums in the weights' type */
    ek_status status =
        mixed && mixed->kind == EK__SCALAR ? put_named_precision(r, mixed, &sum_fp32) : put_formats(r, &sum_fp32);
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    if (status)
        return status;
    if (ek__argument_given(&r->a, "bf16") && !sum_fp32)
        return ek__key_put(r, "grad-reduce-in-bf16", NULL, file);
    if (ek__argument_given(&r->a, "fp16") && sum_fp32)
        return ek__key_put(r, "accumulate-allreduce-grads-in-fp32", NULL, file);
    if (!ek__argument_given(&r->a, "bf16") && !ek__argument_given(&r->a, "fp16"))
        warn_no_format(r, "mixed_precision, or bf16 of model");
    return EK_OK;
}

static ek_status read_bridge(ek__key_reader *r)
{
    ek_status status = put_numbers(r);
    if (status == EK_OK)
        status = put_layout(r);
    if (status == EK_OK)
        status = put_vocabulary(r);
    return status ? status : put_bridge_layer(r);
}

/* ---- the whole ---- */

static ek_status fill(ek__key_reader *r, const ek_job_overrides *overrides, void *user)
{
    (void)user;
    ek_status status = ek__key_check(r);
    if (status == EK_OK)
        status = check_target(r);
    if (status == EK_OK)
        status = ek__key_put_all(r);
    if (status == EK_OK)
        status = ek__key_check_missing(r, overrides);
    if (status == EK_OK)
        status = r->form == &ek__nemo_1 ? read_nemo(r) : read_bridge(r);
    if (status == EK_OK)
        status = put_layers(r);
    return status;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    return ek__key_read(form_of(source), fill, NULL, source, overrides, job);
}

const ek__job_format ek__job_nemo = {
    .name = "a YAML of NeMo or Megatron-Bridge",
    .recognises = recognises,
    .read = read_job,
    .not_written = "a YAML of NeMo or Megatron-Bridge is read and not written; put the settings into it by hand",
};
