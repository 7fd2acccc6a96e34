/* Reads a run of transformers' Trainer as a job: batches, number formats, DeepSpeed's ZeRO, gradient checkpointing. The
 * meaning and default of a setting follow TrainingArguments and integrations/deepspeed.py of transformers 4.51,
 * LLaMA-Factory's hparams, and DeepSpeed's engine (get_data_types). Layers are predicted with Megatron-LM's operators.
 *
 * Not handled: the same weights trained in float32 under autocast, FSDP of accelerate (its file is named by the
 * launcher), adapters, quantized weights, optimizers other than Adam; they are rejected by name. */
#include "job/trainer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/megatron.h"
#include "job/megatron_run.h"
#include "job/settings.h"

enum { USUAL_BATCH = 8, FACTORY_LENGTH = 2048 };

typedef struct run {
    ek__trainer *t;
    ek__config_tree *deepspeed; /* its file; NULL: none, or a map of the YAML */
    const ek__node *zero_map;   /* its keys; NULL: no DeepSpeed file */
    bool has_zero;              /* DeepSpeed runs, by a file or --zero_stage */
    ek__zero zero;
    ek_dtype dtype;
    bool pure; /* weights and states in 16 bits, nothing in float32 */
    int vocab, accumulation;
} run;

/* ---- not modelled ---- */

/* Is a setting that may be a number, a word or a switch, on? */
static bool is_on(const ek__trainer_setting *s)
{
    static const char *const off[] = {"false", "False", "0", "none", "no", ""};
    bool on = s != NULL;
    for (size_t i = 0; i < sizeof off / sizeof *off && on && s->text; i++)
        on = strcmp(s->text, off[i]) != 0;
    return on;
}

static ek_status check_method(run *r)
{
    static const struct {
        const char *name, *what;
    } refused[] = {
        {"quantization_bit", "quantized weights are not modelled"},
        {"load_in_8bit", "quantized weights are not modelled"},
        {"load_in_4bit", "quantized weights are not modelled"},
        {"use_galore", "its states are not modelled"},
        {"use_apollo", "its states are not modelled"},
        {"use_badam", "its states are not modelled"},
        {"use_adam_mini", "its states are not modelled"},
        {"use_muon", "its states are not modelled"},
        {"use_llama_pro", "training of some of the layers is not modelled"},
        {"use_unsloth", "its kernels are not modelled"},
        {"mixture_of_depths", "layers that skip tokens are not modelled"},
        {"shift_attn", "attention to a part of the tokens is not modelled"},
        {"fp8", "products in 8 bits under this trainer are not modelled"},
        {"fsdp", "PyTorch's FSDP under this trainer is not modelled"},
        {"use_peft", "parameter-efficient fine-tuning is not modelled"},
        {"use_lora", "parameter-efficient fine-tuning is not modelled"},
        {"lora_dim", "parameter-efficient fine-tuning is not modelled"},
        {"lora_r", "parameter-efficient fine-tuning is not modelled"},
        {"only_optimize_lora", "parameter-efficient fine-tuning is not modelled"},
        {"adapter_name_or_path", "parameter-efficient fine-tuning is not modelled"},
    };
    const ek__trainer *t = r->t;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const ek__trainer_setting *s = ek__trainer_get(t, refused[i].name);
        if (is_on(s))
            return ek__trainer_fail(t, s, "is given: %s; remove it", refused[i].what);
    }
    const ek__trainer_setting *parallel = ek__trainer_get(t, "sequence_parallel_size");
    int n = 1;
    ek_status status = ek__trainer_int(t, parallel, 1, EK_MAX_RANKS, &n);
    return status || n == 1 ? status : ek__trainer_fail(t, parallel, "is %d, which is not modelled; set it to 1", n);
}

/* LLaMA-Factory trains adapters unless set otherwise, and some of its stages have several models. */
static ek_status check_stage(run *r)
{
    const ek__trainer *t = r->t;
    const ek__trainer_setting *type = ek__trainer_get(t, "finetuning_type"), *stage = ek__trainer_get(t, "stage");
    const char *text = "", *which = "";
    if (!t->factory)
        return EK_OK;
    if (!type)
        return ek__fail(t->source->err, EK_ERR_INPUT, ((ek_origin){t->source->path, 0, 0}),
                        "finetuning_type is not given, which means lora: parameter-efficient fine-tuning is not "
                        "modelled; only full is");
    ek_status status = ek__trainer_text(t, type, &text);
    if (status == EK_OK && strcmp(text, "full") != 0)
        return ek__trainer_fail(t, type, "is '%.40s': training of a part of the weights is not modelled; only full is",
                                text);
    if (status == EK_OK && stage)
        status = ek__trainer_text(t, stage, &which);
    if (status == EK_OK && stage && strcmp(which, "pt") != 0 && strcmp(which, "sft") != 0)
        return ek__trainer_fail(
            t, stage, "is '%.40s', which trains more than the model with its loss; pt and sft are modelled", which);
    return status;
}

static ek_status check_optimizer(run *r)
{
    static const char *const known[] = {"adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused"};
    const ek__trainer_setting *s = ek__trainer_get(r->t, "optim");
    const char *text = NULL;
    ek_status status = ek__trainer_text(r->t, s, &text);
    for (size_t i = 0; i < sizeof known / sizeof *known && text; i++)
        if (strcmp(text, known[i]) == 0)
            return EK_OK;
    return status || !text ? status
                           : ek__trainer_fail(r->t, s,
                                              "is '%.40s', with unknown states; expected one of adamw_torch, "
                                              "adamw_torch_fused, adamw_hf, adamw_apex_fused",
                                              text);
}

/* ---- DeepSpeed ---- */

static ek_status open_deepspeed(run *r)
{
    static const char *const names[] = {"deepspeed_config", "deepspeed", NULL};
    ek__trainer *t = r->t;
    const ek__trainer_setting *s = ek__trainer_find(t, names), *stage = ek__trainer_get(t, "zero_stage");
    r->zero = ek__zero_usual();
    if (s && s->node && s->node->kind == EK__MAP) {
        r->zero_map = s->node;
        r->has_zero = true;
        return EK_OK;
    }
    bool alone = s && s->text && (strcmp(s->text, "true") == 0 || strcmp(s->text, "True") == 0);
    if (s && !alone) {
        ek_status status = ek__trainer_open(t, s, "the stage of ZeRO", &r->deepspeed);
        if (status)
            return status;
        r->zero_map = ek__config_root(r->deepspeed);
        r->has_zero = true;
        return EK_OK;
    }
    if (!stage)
        return alone ? ek__trainer_fail(
                           t, s, "names no file, and the stage of ZeRO is missing; add --zero_stage N, or the file")
                     : EK_OK;
    r->has_zero = true;
    ek__trainer_warn(t, stage,
                     "refers to a configuration of DeepSpeed that the program creates; its other settings are assumed "
                     "to be the defaults of DeepSpeed");
    return ek__trainer_int(t, stage, 0, 3, &r->zero.stage);
}

static ek__in deepspeed_in(const run *r)
{
    const ek__job_source *source = r->t->source;
    return (ek__in){r->deepspeed ? r->deepspeed : source->doc, source->listener, source->err};
}

/* A number that both the run and DeepSpeed's file may give; then the two must be equal. */
static ek_status read_count(run *r, const char *name, const char *in_file, int max, int usual, int *out)
{
    const ek__trainer_setting *s = ek__trainer_get(r->t, name);
    const ek__in in = deepspeed_in(r);
    const ek__node *node = r->zero_map ? ek__get(r->zero_map, in_file) : NULL;
    int told = 0;
    *out = usual;
    ek_status status = ek__trainer_int(r->t, s, 1, max, out);
    if (status || !node || (node->kind == EK__SCALAR && strcmp(node->text, "auto") == 0))
        return status;
    status = ek__int(&in, node, 1, max, "it is the trainer's, too", &told);
    if (status == EK_OK && s && told != *out)
        return ek__fail_at(&in, node, "is %d, but %s%s is %d; the trainer refuses that: write \"auto\" here", told,
                           r->t->before, name, *out);
    *out = told ? told : *out;
    return status;
}

static ek_status read_enabled(run *r, const char *section, bool said, bool *out)
{
    const ek__in in = deepspeed_in(r);
    const ek__node *map = NULL;
    ek_status status = ek__optional_map(&in, r->zero_map, section, &map);
    const ek__node *enabled = status == EK_OK && map ? ek__get(map, "enabled") : NULL;
    *out = false;
    if (status || !enabled)
        return status;
    *out = said;
    if (enabled->kind == EK__SCALAR && strcmp(enabled->text, "auto") == 0)
        return EK_OK;
    return ek__bool(&in, enabled, "it is a switch", out);
}

/* Number formats: the trainer's switches, which must agree with DeepSpeed's file. */
static ek_status read_formats(run *r)
{
    bool bf16 = false, fp16 = false, in_file[2] = {false, false};
    const ek__trainer *t = r->t;
    ek_status status = ek__trainer_switch(t, "bf16", &bf16);
    if (status == EK_OK)
        status = ek__trainer_switch(t, "fp16", &fp16);
    if (status == EK_OK)
        status = ek__trainer_switch(t, "pure_bf16", &r->pure);
    const ek__trainer_setting *dtype = ek__trainer_get(t, "dtype");
    if (status == EK_OK && dtype && dtype->text) { /* of DeepSpeed's own examples */
        bf16 = bf16 || strcmp(dtype->text, "bf16") == 0;
        fp16 = fp16 || strcmp(dtype->text, "fp16") == 0;
    }
    bf16 = bf16 || r->pure;
    if (status == EK_OK && bf16 && fp16)
        return ek__trainer_fail(t, ek__trainer_get(t, "fp16"), "and bf16 are both on; give one");
    if (status == EK_OK && r->zero_map)
        status = read_enabled(r, "bf16", bf16, &in_file[0]);
    if (status == EK_OK && r->zero_map)
        status = read_enabled(r, "fp16", fp16, &in_file[1]);
    if (status)
        return status;
    if (r->zero_map && (in_file[0] != bf16 || in_file[1] != fp16)) {
        const ek__in in = deepspeed_in(r);
        return ek__fail_at(
            &in, r->zero_map,
            "computes in %s, but the trainer in %s; make bf16.enabled and fp16.enabled \"auto\" there, or "
            "the same",
            in_file[0]   ? "bf16"
            : in_file[1] ? "fp16"
                         : "float32",
            bf16   ? "bf16"
            : fp16 ? "fp16"
                   : "float32");
    }
    r->dtype = bf16 ? EK_BF16 : fp16 ? EK_FP16 : EK_FP32;
    if (r->has_zero)
        r->pure = false; /* DeepSpeed keeps float32 copies for any format of the loaded model */
    if (!r->has_zero && !r->pure && r->dtype != EK_FP32)
        return ek__trainer_fail(
            t, ek__trainer_get(t, bf16 ? "bf16" : "fp16"),
            "is on without deepspeed: weights stay in float32 and are cast for every product, which "
            "is not modelled; %s",
            t->factory ? "give deepspeed a file, or pure_bf16" : "give deepspeed a file");
    return EK_OK;
}

/* ---- sizes ---- */

static ek_status read_length(run *r)
{
    static const char *const names[] = {"cutoff_len", "max_seq_len", "max_seq_length",    "model_max_length",
                                        "block_size", "max_length",  "max_source_length", NULL};
    ek__trainer *t = r->t;
    ek_job_parallel *p = &t->job->parallel;
    const ek__trainer_setting *s = ek__trainer_find(t, names);
    if (t->overrides->seq_length > 0 && (!s || s->unknown)) {
        p->seq_length = t->overrides->seq_length;
        return EK_OK;
    }
    if (s) {
        ek__job_note_sequence((ek_origin){NULL, s->at.line, s->at.column}, t->job);
        return ek__trainer_int(t, s, 1, EK__JOB_MAX_SEQUENCE, &p->seq_length);
    }
    if (!t->factory)
        return ek__fail(t->source->err, EK_ERR_INPUT, ((ek_origin){t->source->path, 0, 0}),
                        "the sequence length is missing (--max_seq_len, --model_max_length, --block_size); add one, or "
                        "give --seq-length");
    p->seq_length = FACTORY_LENGTH;
    ek__warn(t->source->listener, (ek_origin){t->source->path, 0, 0},
             "cutoff_len is not given; %d tokens are taken, LLaMA-Factory's default", FACTORY_LENGTH);
    return EK_OK;
}

static ek_status read_sizes(run *r)
{
    ek__trainer *t = r->t;
    ek_job_parallel *p = &t->job->parallel;
    const ek_job_overrides *o = t->overrides;
    static const char batch[] = "per_device_train_batch_size";
    ek_status status = read_count(r, batch, "train_micro_batch_size_per_gpu", EK__JOB_MAX_BATCH, 0, &p->batch);
    if (status == EK_OK)
        status = read_count(r, "gradient_accumulation_steps", "gradient_accumulation_steps", EK_MAX_MICRO_BATCHES, 1,
                            &r->accumulation);
    if (status == EK_OK)
        status = read_length(r);
    if (status)
        return status;
    if (p->batch == 0) {
        p->batch = USUAL_BATCH;
        if (o->batch == 0)
            ek__warn(t->source->listener, (ek_origin){t->source->path, 0, 0},
                     "%s%s is not given; %d is taken, the trainer's default", t->before, batch, USUAL_BATCH);
    }
    p->data = 1;
    if (t->ranks > 0)
        p->data = (int)t->ranks;
    else if (o->data == 0)
        ek__warn(t->source->listener, (ek_origin){t->source->path, 0, 0},
                 "the file has no number of devices; data parallel is 1 (give it with -dp N; `plan` takes the batch "
                 "with --global-batch N)");
    p->n_micro_batches = r->accumulation;
    return EK_OK;
}

/* ---- states and the step ---- */

/* DeepSpeed sums gradients in the weights' type under ZeRO, and in float32 in bf16 without it, unless data_types is
 * set; its optimizer makes float32 copies of 16-bit gradients. */
static ek_status read_sum(run *r, bool *fp32)
{
    const ek__in in = deepspeed_in(r);
    const ek__node *map = NULL;
    *fp32 = r->dtype == EK_FP32 || (r->dtype == EK_BF16 && r->zero.stage == 0);
    ek_status status = r->zero_map ? ek__optional_map(&in, r->zero_map, "data_types", &map) : EK_OK;
    const ek__node *type = status == EK_OK && map ? ek__get(map, "grad_accum_dtype") : NULL;
    if (type && type->kind == EK__SCALAR && !ek__node_is_null(type))
        *fp32 = strcmp(type->text, "fp32") == 0 || r->dtype == EK_FP32;
    return status;
}

static ek_status read_zero(run *r)
{
    const ek__in in = deepspeed_in(r);
    if (!r->zero_map)
        return EK_OK;
    r->zero.hidden = r->t->job->model.hidden;
    ek_status status = ek__zero_read(&in, r->zero_map, &r->zero);
    const ek__node *cut = ek__get(r->zero_map, "tensor_parallel"), *old = ek__get(r->zero_map, "optimizer");
    if (status == EK_OK && cut)
        return ek__fail_at(&in, cut, "is DeepSpeed's tensor parallelism, which is not modelled; remove it");
    const ek__node *type = old && old->kind == EK__MAP ? ek__get(old, "type") : NULL;
    if (status == EK_OK && type &&
        (type->kind != EK__SCALAR || !strstr(type->text, "Adam") || strstr(type->text, "Bit")))
        return ek__fail_at(&in, type, "is an optimizer with unknown states; expected Adam or AdamW");
    return status;
}

static ek_status put_states(run *r)
{
    ek_job *job = r->t->job;
    bool sum_fp32 = false;
    ek_status status = read_zero(r);
    if (status == EK_OK)
        status = read_sum(r, &sum_fp32);
    if (status)
        return status;
    ek__megatron_types types = {.weight = r->dtype, .gradient_fp32 = sum_fp32, .master = 4, .first = 4, .second = 4};
    if (r->pure) /* AdamW on bf16 weights: its moments have the weights' type, and there is no copy */
        types = (ek__megatron_types){.weight = EK_BF16, .precise = true, .first = 2, .second = 2};
    ek__megatron_states(&types, job);
    ek_job_types *t = &job->types;
    t->compute = t->param = t->embedding = t->norm = t->softmax = t->router = t->residual = r->dtype;
    ek__megatron_run_defaults(job);
    job->rules.weight_gradient_fused = job->rules.dummy_gradients = false;
    job->rules.workspace_mb = EK__CUBLAS_MB;
    if (r->has_zero) {
        ek__zero_share(&r->zero, job);
        return EK_OK;
    }
    job->run.overlap_gradients = true; /* DistributedDataParallel: buckets of 25 MiB */
    job->run.bucket_bytes = 25 * 1048576.;
    job->run.first_stage_buckets = false;
    return EK_OK;
}

/* Fused or not, and whether only a layer's input is saved. */
static ek_status read_layers(run *r, bool *recompute)
{
    static const char *const kernels[] = {"flash_attn", "attn_implementation", NULL};
    ek__trainer *t = r->t;
    ek_job_model *m = &t->job->model;
    const ek__trainer_setting *kernel = ek__trainer_find(t, kernels);
    const char *text = "auto";
    bool liger = false, off = false;
    ek_status status = ek__trainer_text(t, kernel, &text);
    if (status == EK_OK)
        status = ek__trainer_switch(t, "enable_liger_kernel", &liger);
    *recompute = t->factory;
    if (status == EK_OK && t->factory)
        status = ek__trainer_switch(t, "disable_gradient_checkpointing", &off);
    if (status == EK_OK && !t->factory)
        status = ek__trainer_switch(t, "gradient_checkpointing", recompute);
    *recompute = *recompute && !off;
    m->flash_attention = m->mask_compressed = strcmp(text, "disabled") != 0 && strcmp(text, "eager") != 0;
    m->fused_swiglu = m->gated && liger;
    m->grouped_matmul = false;
    if (status == EK_OK && liger)
        ek__trainer_warn(t, ek__trainer_get(t, "enable_liger_kernel"),
                         "is on: the loss is predicted as if all logits were held");
    return status;
}

static ek_status finish(run *r)
{
    ek_job *job = r->t->job;
    ek_job_parallel *p = &job->parallel;
    ek_job_model *m = &job->model;
    bool recompute = false;
    ek_status status = read_layers(r, &recompute);
    if (status)
        return status;
    if (m->max_position == 0)
        m->max_position = p->seq_length;
    ek__job_override_sizes(r->t->overrides, job);
    p->expert_tensor = p->tensor;
    m->vocab = r->vocab;
    ek__megatron_derive(job);
    status = put_states(r);
    if (status == EK_OK)
        status = ek__job_spread(job, 1, r->t->source->err);
    if (status == EK_OK && recompute)
        ek__megatron_full(EK__FULL_UNIFORM, 1, job);
    return status;
}

ek_status ek__trainer_read(ek__trainer *t)
{
    static ek_status (*const steps[])(run *) = {check_method,   check_stage,  check_optimizer,
                                                open_deepspeed, read_formats, read_sizes};
    run r = {.t = t};
    ek__megatron_defaults(t->job, EK_MEGATRON);
    ek__job_note(t->job, "transformers-trainer");
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    if (status == EK_OK)
        status = ek__trainer_read_model(t, &r.vocab);
    if (status == EK_OK)
        status = finish(&r);
    ek__job_name_after(t->source->path, t->job);
    ek__config_free(r.deepspeed);
    return status;
}
