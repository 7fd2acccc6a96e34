/* A YAML of NeMo 1 (model, trainer) or of Megatron-Bridge (model, train, ddp, ...) as a job. Both run Megatron Core, so
 * each key becomes the argument of Megatron-LM that does the same, at the key's place, and the job is read from these;
 * messages name the key again. What the file leaves to a recipe, a checkpoint or a tokenizer is asked for, not guessed.
 *
 * Not handled: recipes of NeMo 2, which are Python; values that a run alone would work out, as ${oc.env:N}. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/megatron_arguments.h"
#include "job/megatron_run.h"
#include "job/nemo.h"

typedef struct reader {
    ek__in in;
    ek__arguments a;
    const ek__nemo_form *form;
} reader;

/* ---- which form ---- */

static bool has_map(const ek__node *map, const char *key)
{
    const ek__node *node = ek__get(map, key);
    return node && node->kind == EK__MAP;
}

static const ek__nemo_form *form_of(const ek__job_source *source)
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

/* ---- names ---- */

static const char *path_of(const ek__nemo_form *form, const char *argument, size_t n)
{
    for (const ek__nemo_key *key = form->keys; key->path; key++)
        if (strncmp(key->argument, argument, n) == 0 && key->argument[n] == '\0')
            return key->path;
    return NULL;
}

/* A message about arguments as one about the keys that said them. */
static void respell(const ek__nemo_form *form, ek_error *message)
{
    char text[sizeof message->message];
    size_t n = 0;
    for (const char *at = message->message; *at && n + 1 < sizeof text;) {
        size_t name = strncmp(at, "--", 2) == 0 ? strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-_") : 0;
        const char *path = name > 0 ? path_of(form, at + 2, name) : NULL;
        if (path) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", path);
            at += 2 + name;
        } else {
            text[n++] = *at++;
        }
    }
    text[n < sizeof text ? n : sizeof text - 1] = '\0';
    memcpy(message->message, text, sizeof text);
}

typedef struct teller {
    const ek__nemo_form *form;
    const ek_listener *listener;
} teller;

static void tell(void *user, const ek_error *warning)
{
    const teller *t = user;
    ek_error respelled = *warning;
    respell(t->form, &respelled);
    if (t->listener)
        t->listener->warn(t->listener->user, &respelled);
}

/* ---- from keys to arguments ---- */

/* "torch.bfloat16", as it stands or as the _target_ of a map, in Megatron's word. */
static const char *short_type(const char *text)
{
    static const char *const words[][2] = {{"torch.bfloat16", "bf16"},     {"torch.float32", "fp32"},
                                           {"torch.float16", "fp16"},      {"torch.uint8", "fp8"},
                                           {"torch.float8_e4m3fn", "fp8"}, {"torch.float8_e5m2", "fp8"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], text) == 0)
            return words[i][1];
    return text;
}

/* The text of a value, or of what a map says it is made from (_target_; _name_ of an enumerator). */
static ek_status text_of(const reader *r, const ek__node *node, char *buffer, size_t size, const char **out)
{
    int whole = 0;
    if (node->kind == EK__MAP) {
        const ek__node *name = ek__get(node, "_name_"), *target = ek__get(node, "_target_");
        node = name && name->kind == EK__SCALAR ? name : target && target->kind == EK__SCALAR ? target : node;
    }
    ek_status status = ek__expect(&r->in, node, EK__SCALAR, "give one value");
    if (status)
        return status;
    *out = short_type(node->text);
    if (ek__node_is_int(node, &whole)) { /* 8.0 is 8 */
        snprintf(buffer, size, "%d", whole);
        *out = buffer;
    }
    return EK_OK;
}

static ek_status put(reader *r, const char *argument, const char *value, ek_origin at)
{
    return ek__arguments_put(&r->a, argument, &value, value != NULL, NULL, at);
}

static ek_status put_value(reader *r, const char *argument, const ek__node *node)
{
    char buffer[24];
    const char *text = NULL;
    ek_origin at = ek__node_origin(r->in.doc, node);
    if (ek__nemo_is_unknown(node)) {
        text = "";
        return ek__arguments_put(&r->a, argument, &text, 1, node->text, at);
    }
    ek_status status = text_of(r, node, buffer, sizeof buffer, &text);
    return status ? status : put(r, argument, text, at);
}

static ek_status put_list(reader *r, const char *argument, const ek__node *list)
{
    enum { MAX_VALUES = 64 };
    char buffer[MAX_VALUES][24];
    const char *values[MAX_VALUES];
    int n = 0;
    ek_status status = EK_OK;
    if (list->kind != EK__LIST)
        return put_value(r, argument, list);
    for (const ek__node *item = list->first; item && n < MAX_VALUES && status == EK_OK; item = item->next, n++)
        status = text_of(r, item, buffer[n], sizeof buffer[n], &values[n]);
    return status || n == 0 ? status
                            : ek__arguments_put(&r->a, argument, values, n, NULL, ek__node_origin(r->in.doc, list));
}

static const ek__node *find(const reader *r, const char *path)
{
    return ek__nemo_find(r->in.doc, path);
}

/* A switch that has to be known; *out stays where it is not given. */
static ek_status read_switch(const reader *r, const char *path, bool *out)
{
    const ek__node *node = find(r, path);
    if (!node)
        return EK_OK;
    if (ek__nemo_is_unknown(node))
        return ek__fail_at(&r->in, node, "is %.60s, which only a run would tell; write true or false", node->text);
    return ek__bool(&r->in, node, "it is a switch", out);
}

static ek_status put_key(reader *r, const ek__nemo_key *key, bool *decided)
{
    const ek__node *node = find(r, key->path);
    bool on = false;
    if (!node)
        return EK_OK;
    switch (key->how) {
    case EK__NEMO_VALUE:
        return put_value(r, key->argument, node);
    case EK__NEMO_LIST:
        return put_list(r, key->argument, node);
    case EK__NEMO_SWITCH:
    case EK__NEMO_ANY:
    case EK__NEMO_WITHOUT: {
        ek_status status = read_switch(r, key->path, &on);
        *decided = key->how == EK__NEMO_SWITCH;
        return status || on == (key->how == EK__NEMO_WITHOUT)
                   ? status
                   : put(r, key->argument, NULL, ek__node_origin(r->in.doc, node));
    }
    case EK__NEMO_SPELLED:
        break;
    }
    return EK_OK;
}

static ek_status put_keys(reader *r)
{
    ek_status status = EK_OK;
    const char *done = ""; /* the argument that a switch before has decided, on or off */
    for (const ek__nemo_key *key = r->form->keys; key->path && status == EK_OK; key++) {
        bool decided = false;
        if (key->how == EK__NEMO_SPELLED || ek__argument_given(&r->a, key->argument) ||
            strcmp(done, key->argument) == 0 || (key->only_with && !ek__argument_given(&r->a, key->only_with)))
            continue;
        status = put_key(r, key, &decided);
        done = decided ? key->argument : done;
    }
    return status;
}

/* ---- what one key does not say alone ---- */

static bool is_off(const ek__node *node)
{
    bool on = true;
    double value = 0;
    if (node->kind != EK__SCALAR)
        return node->n == 0;
    return (ek__node_is_bool(node, &on) && !on) || (ek__text_is_number(node->text, &value) && value == 0) ||
           strcmp(node->text, "none") == 0;
}

static ek_status check_troubles(reader *r)
{
    for (const ek__nemo_trouble *t = r->form->troubles; t->path; t++) {
        const ek__node *node = find(r, t->path);
        if (!node || is_off(node))
            continue;
        if (t->refused)
            return ek__fail_at(&r->in, node, "%s", t->what);
        ek__warn_at(&r->in, node, "%s", t->what);
    }
    const ek__node *target = find(r, "model._target_");
    static const char *const others[] = {"mamba", "Mamba", "Hybrid", "NemotronH", "t5", "bert"};
    for (size_t i = 0; target && target->kind == EK__SCALAR && i < sizeof others / sizeof *others; i++)
        if (strstr(target->text, others[i]))
            return ek__fail_at(&r->in, target,
                               "is '%.80s', whose layers are not modelled; such a model is not predicted",
                               target->text);
    return EK_OK;
}

/* All sizes that are missing, in one message. */
static ek_status check_missing(reader *r, const ek_job_overrides *overrides)
{
    const struct {
        const char *argument;
        int instead;
    } needed[] = {{"num-layers", overrides->n_layers},
                  {"hidden-size", 0},
                  {"num-attention-heads", 0},
                  {"seq-length", overrides->seq_length},
                  {"micro-batch-size", overrides->batch}};
    char names[400] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (ek__argument_given(&r->a, needed[i].argument) || needed[i].instead > 0)
            continue;
        const char *path = path_of(r->form, needed[i].argument, strlen(needed[i].argument));
        n += n < sizeof names ? (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", path) : 0;
    }
    if (n == 0)
        return EK_OK;
    return ek__fail(r->in.err, EK_ERR_INPUT, ((ek_origin){ek__config_name(r->in.doc), 0, 0}),
                    "the file does not say %s%s", names,
                    r->form == &ek__nemo_bridge
                        ? ": it changes a recipe, which has them; give the whole configuration, which Megatron-Bridge "
                          "writes to logger.save_config_filepath"
                        : "; add them, as the checkpoint or the command line of the run has them");
}

/* Grouped queries by their number, a list of layers with experts, and chunks unless a layout says them. */
static ek_status put_layers(reader *r)
{
    const ek__node *experts = find(r, "model.moe_layer_freq");
    const ek__node *chunks = find(r, "model.virtual_pipeline_model_parallel_size");
    char text[3 * EK_MAX_LAYERS + 3] = "[";
    size_t n = 1;
    ek_status status = EK_OK;
    if (ek__argument_given(&r->a, "num-query-groups"))
        status = put(r, "group-query-attention", NULL, ek__argument_at(&r->a, "num-query-groups"));
    if (status == EK_OK && experts && experts->kind == EK__LIST) {
        for (const ek__node *item = experts->first; item && n < sizeof text - 4; item = item->next) {
            int one = 0;
            status = ek__int(&r->in, item, 0, 1, "it is 1 for a layer with experts", &one);
            if (status)
                return status;
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n > 1 ? "," : "", one);
        }
        snprintf(text + n, sizeof text - n, "]");
        status = put(r, "moe-layer-freq", text, ek__node_origin(r->in.doc, experts));
    } else if (status == EK_OK && experts) {
        status = put_value(r, "moe-layer-freq", experts);
    }
    if (status == EK_OK && chunks && !ek__argument_given(&r->a, "pipeline-model-parallel-layout"))
        status = put_value(r, "num-virtual-stages-per-pipeline-rank", chunks);
    return status;
}

/* A layout as a text, or as a list of stages that list their parts. */
static ek_status put_layout(reader *r)
{
    static const char *const parts[][2] = {{"embedding", "E"}, {"decoder", "t"}, {"mtp", "m"}, {"loss", "L"}};
    const ek__node *layout = find(r, "model.pipeline_model_parallel_layout");
    char text[2 * EK_MAX_LAYERS] = "";
    size_t n = 0;
    if (!layout || layout->kind == EK__MAP)
        return layout ? ek__expect(&r->in, layout, EK__SCALAR, "write it as Megatron-LM does, Et*4|t*4L") : EK_OK;
    if (layout->kind == EK__SCALAR)
        return put_value(r, "pipeline-model-parallel-layout", layout);
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
    return put(r, "pipeline-model-parallel-layout", text, ek__node_origin(r->in.doc, layout));
}

/* An activation with a gate is predicted as SwiGLU, one without as GELU: their sizes are the same. */
static ek_status put_gate(reader *r, const ek__node *at, bool gated, const char *activation)
{
    const char *usual = gated ? "silu" : "gelu";
    if (activation && !strstr(activation, usual) && !(gated && strstr(activation, "swiglu")))
        ek__warn_at(&r->in, at, "is %.60s; it is predicted as %s, which has the same sizes", activation,
                    gated ? "SwiGLU" : "GELU");
    return gated ? put(r, "swiglu", NULL, ek__node_origin(r->in.doc, at)) : EK_OK;
}

static void warn_no_format(const reader *r, const char *keys)
{
    ek__warn(r->in.listener, (ek_origin){ek__config_name(r->in.doc), 0, 0},
             "the file does not say which numbers are computed with (%s); float32 is taken", keys);
}

/* ---- NeMo 1 ---- */

static ek_status put_precision(reader *r)
{
    const ek__node *precision = find(r, "trainer.precision"), *own = find(r, "model.megatron_amp_O2");
    bool main_copy = false;
    if (!precision) {
        warn_no_format(r, "trainer.precision");
        return EK_OK;
    }
    ek_status status = ek__expect(&r->in, precision, EK__SCALAR, "it is one of 32, 16-mixed, bf16-mixed");
    if (status == EK_OK)
        status = read_switch(r, "model.megatron_amp_O2", &main_copy);
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
    return put(r, bf16 ? "bf16" : "fp16", NULL, ek__node_origin(r->in.doc, precision));
}

static ek_status put_optimizer(reader *r)
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
        status = put(r, "use-distributed-optimizer", NULL, at);
    else if (strcmp(name->text, "sgd") == 0)
        status = put(r, "optimizer", "sgd", at);
    else if (!strstr(name->text, "adam"))
        return ek__fail_at(&r->in, name,
                           "is '%.40s', whose states are not known here; expected fused_adam, "
                           "distributed_fused_adam, mcore_distributed_optim, adam, adamw or sgd",
                           name->text);
    if (status == EK_OK && sum && sum->kind == EK__SCALAR && strcmp(sum->text, "bf16") == 0 &&
        ek__argument_given(&r->a, "bf16"))
        status = put(r, "grad-reduce-in-bf16", NULL, ek__node_origin(r->in.doc, sum));
    return status;
}

static ek_status put_nemo_layer(reader *r)
{
    const ek__node *activation = find(r, "model.activation"), *norm = find(r, "model.normalization");
    bool fused = false, engine = false, core = false, flash = false, fp8 = false;
    ek_status status = read_switch(r, "model.gradient_accumulation_fusion", &fused);
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
            status = put(r, "normalization", strcmp(norm->text, "rmsnorm") == 0 ? "RMSNorm" : "LayerNorm",
                         ek__node_origin(r->in.doc, norm));
    }
    if (status == EK_OK && !fused)
        status = put(r, "no-gradient-accumulation-fusion", NULL, (ek_origin){ek__config_name(r->in.doc), 0, 0});
    if (status == EK_OK)
        status = read_switch(r, "model.transformer_engine", &engine);
    if (status == EK_OK)
        status = read_switch(r, "model.mcore_gpt", &core);
    if (status == EK_OK)
        status = read_switch(r, "model.use_flash_attention", &flash);
    if (status == EK_OK)
        status = read_switch(r, "model.fp8", &fp8);
    if (status)
        return status;
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    status = put(r, "transformer-impl", engine || core ? "transformer_engine" : "local", file);
    if (status == EK_OK && flash)
        status = put(r, "use-flash-attn", NULL, file);
    if (status == EK_OK && fp8)
        status = put(r, "fp8-format", "hybrid", ek__node_origin(r->in.doc, find(r, "model.fp8")));
    return status;
}

/* "auto" and -1 are what the machine has. */
static ek_status put_ranks(reader *r)
{
    const ek__node *devices = find(r, r->form->devices), *nodes = find(r, r->form->nodes);
    int n = 0, all = 1;
    if (!devices || (devices->kind == EK__SCALAR && strcmp(devices->text, "auto") == 0) ||
        (ek__node_is_int(devices, &n) && n == -1) || ek__nemo_is_unknown(devices))
        return EK_OK;
    ek_status status = EK_OK;
    if (devices->kind == EK__LIST) /* their numbers */
        n = devices->n;
    else
        status = ek__int(&r->in, devices, 1, EK_MAX_RANKS, "it is the devices of a node", &n);
    if (status == EK_OK && nodes && ek__nemo_is_unknown(nodes))
        return EK_OK;
    if (status == EK_OK && nodes)
        status = ek__int(&r->in, nodes, 1, EK_MAX_RANKS, "it is a number of nodes", &all);
    char text[24];
    snprintf(text, sizeof text, "%d", n);
    if (status == EK_OK)
        status = put(r, "nproc_per_node", text, ek__node_origin(r->in.doc, devices));
    snprintf(text, sizeof text, "%d", all);
    return status ? status : put(r, "nnodes", text, ek__node_origin(r->in.doc, nodes ? nodes : devices));
}

static ek_status read_nemo(reader *r)
{
    ek_status status = put_precision(r);
    if (status == EK_OK)
        status = put_optimizer(r);
    if (status == EK_OK)
        status = put_nemo_layer(r);
    return status ? status : put_ranks(r);
}

/* ---- Megatron-Bridge ---- */

/* The vocabulary is taken as it is unless should_pad_vocab; without one a tokenizer has it. */
static ek_status put_vocabulary(reader *r)
{
    const ek__node *own = find(r, "model.vocab_size");
    bool pad = false;
    ek_status status = read_switch(r, "model.should_pad_vocab", &pad);
    if (status || !own)
        return status;
    return put_value(r, pad ? "vocab-size" : "padded-vocab-size", own);
}

static ek_status put_bridge_layer(reader *r)
{
    const ek__node *gated = find(r, "model.gated_linear_unit"), *activation = find(r, "model.activation_func");
    const ek__node *backend = find(r, "model.attention_backend"), *implementation = find(r, "model.transformer_impl");
    const ek__node *graph = find(r, "model.cuda_graph_impl");
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    bool gate = false;
    char buffer[24];
    const char *text = NULL;
    ek_status status = read_switch(r, "model.gated_linear_unit", &gate);
    if (status == EK_OK && activation)
        status = text_of(r, activation, buffer, sizeof buffer, &text);
    if (status == EK_OK && (activation || gated))
        status = put_gate(r, activation ? activation : gated, gate, text);
    if (status == EK_OK && backend && backend->kind == EK__SCALAR)
        status = put_value(r, "attention-backend", backend);
    else if (status == EK_OK && backend && ek__get(backend, "_name_"))
        status = put_value(r, "attention-backend", ek__get(backend, "_name_"));
    if (status == EK_OK)
        status = implementation ? put_value(r, "transformer-impl", implementation)
                                : put(r, "transformer-impl", "transformer_engine", file);
    if (status == EK_OK && graph && !is_off(graph))
        status = put_value(r, "cuda-graph-impl", graph);
    bool deepep = false;
    if (status == EK_OK)
        status = read_switch(r, "model.moe_enable_deepep", &deepep);
    const ek__node *dispatcher = find(r, "model.moe_token_dispatcher_type");
    const ek__node *flex = find(r, "model.moe_flex_dispatcher_backend");
    if (status == EK_OK && flex && dispatcher && dispatcher->kind == EK__SCALAR &&
        strcmp(dispatcher->text, "flex") == 0)
        status = put_value(r, "moe-flex-dispatcher-backend", flex);
    return status;
}

/* A name such as bf16_with_fp8_current_scaling_mixed. */
static ek_status put_named_precision(reader *r, const ek__node *name, bool *sum_fp32)
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
    ek_status status = put(r, bf16 ? "bf16" : "fp16", NULL, at);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes && status == EK_OK; i++) {
        if (!strstr(text, recipes[i].in_name))
            continue;
        status = put(r, "fp8-format", "hybrid", at);
        if (status == EK_OK)
            status = put(r, "fp8-recipe", recipes[i].recipe, at);
    }
    return status;
}

/* The map mixed_precision, and the model's own switches where it does not say. */
static ek_status put_formats(reader *r, bool *sum_fp32)
{
    static const char *const places[] = {"mixed_precision", "model"};
    ek_status status = EK_OK;
    for (int i = 0; i < 2 && status == EK_OK; i++) {
        char path[64];
        bool bf16 = false, fp16 = false, gather = false;
        snprintf(path, sizeof path, "%s.bf16", places[i]);
        const ek__node *at = find(r, path);
        status = read_switch(r, path, &bf16);
        snprintf(path, sizeof path, "%s.fp16", places[i]);
        if (status == EK_OK)
            status = read_switch(r, path, &fp16);
        at = fp16 ? find(r, path) : at;
        if (status || (!bf16 && !fp16) || ek__argument_given(&r->a, "bf16") || ek__argument_given(&r->a, "fp16"))
            continue;
        status = put(r, bf16 ? "bf16" : "fp16", NULL, ek__node_origin(r->in.doc, at));
        snprintf(path, sizeof path, "%s.fp8", places[i]);
        const ek__node *fp8 = find(r, path);
        if (status || !fp8 || is_off(fp8))
            continue;
        status = put_value(r, "fp8-format", fp8);
        snprintf(path, sizeof path, "%s.fp8_recipe", places[i]);
        if (status == EK_OK && find(r, path))
            status = put_value(r, "fp8-recipe", find(r, path));
        snprintf(path, sizeof path, "%s.fp8_param_gather", places[i]);
        if (status == EK_OK)
            status = read_switch(r, path, &gather);
        if (status == EK_OK && gather)
            status = put(r, "fp8-param-gather", NULL, ek__node_origin(r->in.doc, find(r, path)));
    }
    return status ? status
                  : read_switch(r,
                                find(r, "mixed_precision.grad_reduce_in_fp32") ? "mixed_precision.grad_reduce_in_fp32"
                                                                               : "ddp.grad_reduce_in_fp32",
                                sum_fp32);
}

static ek_status put_numbers(reader *r)
{
    const ek__node *mixed = find(r, "mixed_precision");
    bool sum_fp32 = mixed != NULL; /* MixedPrecisionConfig; DistributedDataParallelConfig sums in the weights' type */
    ek_status status =
        mixed && mixed->kind == EK__SCALAR ? put_named_precision(r, mixed, &sum_fp32) : put_formats(r, &sum_fp32);
    const ek_origin file = {ek__config_name(r->in.doc), 0, 0};
    if (status)
        return status;
    if (ek__argument_given(&r->a, "bf16") && !sum_fp32)
        return put(r, "grad-reduce-in-bf16", NULL, file);
    if (ek__argument_given(&r->a, "fp16") && sum_fp32)
        return put(r, "accumulate-allreduce-grads-in-fp32", NULL, file);
    if (!ek__argument_given(&r->a, "bf16") && !ek__argument_given(&r->a, "fp16"))
        warn_no_format(r, "mixed_precision, or bf16 of model");
    return EK_OK;
}

static ek_status read_bridge(reader *r)
{
    ek_status status = put_numbers(r);
    if (status == EK_OK)
        status = put_layout(r);
    if (status == EK_OK)
        status = put_vocabulary(r);
    return status ? status : put_bridge_layer(r);
}

/* ---- all of it ---- */

static ek_status fill(reader *r, const ek_job_overrides *overrides)
{
    ek_status status = check_troubles(r);
    if (status == EK_OK)
        status = put_keys(r);
    if (status == EK_OK)
        status = r->form == &ek__nemo_1 ? read_nemo(r) : read_bridge(r);
    if (status == EK_OK)
        status = put_layers(r);
    return status ? status : check_missing(r, overrides);
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    const ek__nemo_form *form = form_of(source);
    assert(form); /* it was recognised */
    teller t = {form, source->listener};
    const ek_listener listener = {tell, &t};
    ek_error why = {0};
    ek__job_source own = *source;
    own.listener = &listener;
    own.err = &why;
    reader r = {.in = {source->doc, &listener, &why}, .form = form};
    ek_status status = ek__arguments_start(&own, &r.a);
    if (status == EK_OK)
        status = fill(&r, overrides);
    if (status == EK_OK)
        status = ek__megatron_read_job(&r.a, overrides, job);
    ek__arguments_clear(&r.a);
    respell(form, &why);
    if (status && source->err)
        *source->err = why;
    return status;
}

const ek__job_format ek__job_nemo = {
    .name = "a YAML of NeMo or Megatron-Bridge",
    .recognises = recognises,
    .read = read_job,
    .not_written = "a YAML of NeMo or Megatron-Bridge is read and not written; put the settings into it by hand",
};
