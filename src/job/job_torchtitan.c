/* Reads a TOML of torchtitan as a job. The meaning and default of a key follow its JobConfig (job_config.py, and
 * config_manager.py before that), parallelize.py, pipeline_parallel.py and activation_checkpoint.py; keys moved between
 * sections over the versions ([training] and [experimental] to [parallelism], [training] to [compile]), so each key is
 * searched in all of its former sections. Two things are not in the file: the shapes of the model, which follow from
 * its flavor, and the number of devices, which data_parallel_shard_degree = -1 leaves to the launcher.
 *
 * Not handled: manual splits within layers, schedules from a file (pipeline_parallel_schedule_csv), a memory budget for
 * the compiler (mode memory_budget). */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/megatron.h"
#include "job/settings.h"
#include "job/torchtitan_flavors.h"
#include "job/torchtitan_run.h"
#include "schedule/frameworks.h"

typedef struct reader {
    const ek__job_source *source;
    ek__in in;
    const ek_job_overrides *overrides;
    ek_job *job;
    const ek__node *root;
    int replicate, shard; /* ranks; shard -1: the remaining ones */
    int local_batch, global_batch;
    int micro_batch,
        n_parts;     /* of a pipeline: sequences, and in older versions the number of parts of a batch; 0: not set */
    int file_stages; /* as in the file, for its lists of modules */
    ek__torchtitan_run run;
} reader;

/* A key and the sections it has been in, the newest first. */
typedef struct place {
    const char *key, *section[4]; /* "" : the file itself; NULL after the last */
} place;

#define PARALLEL "parallelism", "training", "experimental"

static const ek__node *section(const reader *r, const char *name)
{
    const ek__node *node = r->root;
    char part[40];
    for (const char *at = name; node && node->kind == EK__MAP && *at;) {
        size_t n = strcspn(at, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        node = ek__get(node, part);
        at += n + (at[n] == '.');
    }
    return node && node->kind == EK__MAP ? node : NULL;
}

static const ek__node *find(const reader *r, const place *p)
{
    for (int i = 0; i < 4 && p->section[i]; i++) {
        const ek__node *map = section(r, p->section[i]), *node = map ? ek__get(map, p->key) : NULL;
        if (node)
            return node;
    }
    return NULL;
}

static ek_origin origin_of(const reader *r, const place *p)
{
    const ek__node *node = find(r, p);
    return node ? ek__node_origin(r->in.doc, node) : (ek_origin){r->source->path, 0, 0};
}

/* An integer; `other` (INT_MAX: none) is an additional allowed value. */
static ek_status read_int(const reader *r, const place *p, int min, int max, int other, int *out)
{
    const ek__node *node = find(r, p);
    int value;
    if (!node || (ek__node_is_int(node, &value) && value == other)) {
        *out = node ? other : *out;
        return EK_OK;
    }
    return ek__int(&r->in, node, min, max,
                   other == -1 ? "or give -1, which leaves it to be derived" : "it is a setting of the run", out);
}

static ek_status read_bool(const reader *r, const place *p, bool *out)
{
    const ek__node *node = find(r, p);
    return node ? ek__bool(&r->in, node, "it is a switch", out) : EK_OK;
}

/* One of several words, ignoring case and underscores; *out is its index, unchanged without the key. */
static ek_status read_word(const reader *r, const place *p, const char *const *words, int *out)
{
    const ek__node *node = find(r, p);
    char text[64], names[320] = "";
    size_t n = 0;
    if (!node)
        return EK_OK;
    ek_status status = ek__string(&r->in, node, sizeof text, "give one of its words", text);
    if (status)
        return status;
    for (int i = 0; words[i]; i++) {
        const char *a = text, *b = words[i];
        for (; *a && *b; a++, b++) {
            a += *a == '_' && *b != '_';
            if ((*a | 0x20) != (*b | 0x20))
                break;
        }
        if (!*a && !*b) {
            *out = i;
            return EK_OK;
        }
        n += n < sizeof names ? (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", words[i]) : 0;
    }
    return ek__fail_at(&r->in, node, "is '%s', expected one of %s; correct it", text, names);
}

/* Is a word in a list of words, or in a text separated by commas? */
static bool has_word(const ek__node *node, const char *word)
{
    size_t n = strlen(word);
    for (const ek__node *item = node ? node->first : NULL; item; item = item->next)
        if (item->kind == EK__SCALAR && strcmp(item->text, word) == 0)
            return true;
    for (const char *at = node && node->kind == EK__SCALAR ? node->text : ""; (at = strstr(at, word)); at += n)
        if ((at == node->text || strchr(", ", at[-1])) && (!at[n] || strchr(", ", at[n])))
            return true;
    return false;
}

/* ---- known keys ---- */

static const char *const model_keys[] = {
    "name",      "flavor",        "tokenizer_path", "hf_assets_path", "converters", "print_after_conversion",
    "norm_type", "use_flex_attn", "attn_mask_type", "tokenizer_type", NULL};
static const char *const optimizer_keys[] = {
    "name", "lr", "beta1", "beta2", "eps", "weight_decay", "implementation", "fused", "early_step_in_backward", NULL};
static const char *const training_keys[] = {"dataset",
                                            "dataset_path",
                                            "batch_size",
                                            "local_batch_size",
                                            "global_batch_size",
                                            "seq_len",
                                            "max_norm",
                                            "steps",
                                            "warmup_steps",
                                            "enable_cpu_offload",
                                            "data_parallel_degree",
                                            "data_parallel_replicate_degree",
                                            "data_parallel_shard_degree",
                                            "tensor_parallel_degree",
                                            "fsdp_reshard_after_forward",
                                            "enable_loss_parallel",
                                            "disable_loss_parallel",
                                            "enable_async_tensor_parallel",
                                            "mixed_precision_param",
                                            "mixed_precision_reduce",
                                            "dtype",
                                            "compile",
                                            "gc_freq",
                                            "gc_debug",
                                            "seed",
                                            "deterministic",
                                            "enable_fp8_linear",
                                            "fp8_linear",
                                            "enable_float8_linear",
                                            "gradient_accumulation_steps",
                                            "debug_moe_force_load_balance",
                                            NULL};
static const char *const parallel_keys[] = {"data_parallel_replicate_degree",
                                            "data_parallel_shard_degree",
                                            "fsdp_reshard_after_forward",
                                            "tensor_parallel_degree",
                                            "disable_loss_parallel",
                                            "enable_async_tensor_parallel",
                                            "pipeline_parallel_degree",
                                            "pipeline_parallel_split_points",
                                            "module_fqns_per_model_part",
                                            "pipeline_parallel_first_stage_less_layers",
                                            "pipeline_parallel_last_stage_less_layers",
                                            "pipeline_parallel_layers_per_stage",
                                            "pipeline_parallel_schedule",
                                            "pipeline_parallel_schedule_csv",
                                            "pipeline_parallel_microbatch_size",
                                            "pipeline_parallel_microbatches",
                                            "pipeline_parallel_expert_parallel_overlap",
                                            "context_parallel_degree",
                                            "context_parallel_rotate_method",
                                            "context_parallel_load_balancer",
                                            "expert_parallel_degree",
                                            "expert_tensor_parallel_degree",
                                            "expert_parallel_comm_backend",
                                            "enable_compiled_autograd",
                                            "custom_import",
                                            "custom_args_module",
                                            NULL};
static const char *const recompute_keys[] = {"mode",
                                             "selective_ac_option",
                                             "per_op_sac_force_recompute_mm_shapes_by_fqns",
                                             "early_stop",
                                             "memory_budget",
                                             "visualize_memory_budget_pareto",
                                             "preserve_rng_state",
                                             "determinism_check",
                                             "debug",
                                             NULL};
static const char *const compile_keys[] = {"enable", "components", "backend", NULL};
static const char *const float8_keys[] = {"enable_float8_linear",
                                          "enable_fsdp_float8_all_gather",
                                          "precompute_float8_dynamic_scale_for_fsdp",
                                          "force_recompute_fp8_weight_in_bwd",
                                          "recipe_name",
                                          "filter_fqns",
                                          "emulate",
                                          "moe_fqns_prototype",
                                          "scaling_type_input",
                                          "scaling_type_weight",
                                          "scaling_type_grad_output",
                                          NULL};
static const char *const sections[] = {"job",
                                       "profiling",
                                       "metrics",
                                       "model",
                                       "optimizer",
                                       "lr_scheduler",
                                       "training",
                                       "parallelism",
                                       "checkpoint",
                                       "activation_checkpoint",
                                       "compile",
                                       "float8",
                                       "mx",
                                       "quantize",
                                       "comm",
                                       "memory_estimation",
                                       "fault_tolerance",
                                       "liger_kernel",
                                       "experimental",
                                       "validation",
                                       "debug",
                                       NULL};

static ek_status check_keys(reader *r)
{
    static const struct {
        const char *section, *const *keys;
    } known[] = {
        {"model", model_keys},          {"optimizer", optimizer_keys},   {"training", training_keys},
        {"parallelism", parallel_keys}, {"experimental", parallel_keys}, {"activation_checkpoint", recompute_keys},
        {"compile", compile_keys},      {"float8", float8_keys},         {"quantize.linear.float8", float8_keys}};
    ek__warn_unknown_keys(&r->in, r->root, sections);
    for (const ek__node *node = r->root->first; node; node = node->next)
        for (int i = 0; sections[i]; i++)
            if (strcmp(node->key, sections[i]) == 0 && node->kind != EK__MAP)
                return ek__expect(&r->in, node, EK__MAP, "write a header, as in [training], and its keys below it");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (section(r, known[i].section))
            ek__warn_unknown_keys(&r->in, section(r, known[i].section), known[i].keys);
    return EK_OK;
}

/* ---- the model ---- */

static ek_status read_model(reader *r)
{
    static const place name_at = {"name", {"model"}}, flavor_at = {"flavor", {"model"}};
    const ek__node *name = find(r, &name_at), *flavor = find(r, &flavor_at);
    char model[28] = "llama3", kind[32] = "debugmodel", known[320];
    ek_job_model *m = &r->job->model;
    ek_status status = name ? ek__string(&r->in, name, sizeof model, "name the model", model) : EK_OK;
    if (status == EK_OK && flavor)
        status = ek__string(&r->in, flavor, sizeof kind, "name one of the model's flavors", kind);
    if (status)
        return status;
    if (!name || !flavor)
        ek__warn(r->in.listener, (ek_origin){r->source->path, 0, 0},
                 "the file does not name a model and its flavor; the shapes of %s %s are taken, torchtitan's default",
                 model, kind);
    if (!ek__torchtitan_flavor(model, kind, m)) {
        const ek__node *at = flavor ? flavor : name;
        ek__torchtitan_flavors(model, known, sizeof known);
        assert(at); /* the defaults are known */
        return ek__fail_at(&r->in, at,
                           "names %s %s with unknown shapes, and the file does not contain them; known are %s", model,
                           kind, known);
    }
    snprintf(r->job->name, sizeof r->job->name, "%s %s", model, kind);
    m->gated = true;
    m->flash_attention = m->mask_compressed = true;
    return EK_OK;
}

/* ---- degrees ---- */

static ek_status read_degrees(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    int expert_tensor = 1, rotate = 0;
    static const char *const methods[] = {"allgather", "alltoall", NULL};
    static const place rotate_at = {"context_parallel_rotate_method", {PARALLEL}};
    static const place shard_at[] = {{"data_parallel_shard_degree", {PARALLEL}},
                                     {"data_parallel_degree", {"training"}}};
    const struct {
        place at;
        int max, *out;
    } degrees[] = {
        {{"data_parallel_replicate_degree", {PARALLEL}}, EK_MAX_RANKS, &r->replicate},
        {{"tensor_parallel_degree", {PARALLEL}}, EK_MAX_RANKS, &p->tensor},
        {{"pipeline_parallel_degree", {PARALLEL}}, EK_MAX_STAGES, &p->pipeline},
        {{"context_parallel_degree", {PARALLEL}}, EK_MAX_RANKS, &p->context},
        {{"expert_parallel_degree", {PARALLEL}}, EK_MAX_RANKS, &p->expert},
        {{"expert_tensor_parallel_degree", {PARALLEL}}, EK_MAX_RANKS, &expert_tensor},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees && status == EK_OK; i++)
        status = read_int(r, &degrees[i].at, 1, degrees[i].max, INT_MAX, degrees[i].out);
    if (status == EK_OK)
        status = read_int(r, &shard_at[find(r, &shard_at[0]) ? 0 : 1], 1, EK_MAX_RANKS, -1, &r->shard);
    if (status == EK_OK)
        status = read_word(r, &rotate_at, methods, &rotate);
    r->file_stages = p->pipeline;
    p->context_algorithm = rotate == 0 ? EK_CONTEXT_GATHER : EK_CONTEXT_RING;
    /* Without expert parallelism experts are cut like all other weights. */
    p->expert_tensor = p->expert > 1 || r->overrides->expert > 1 ? expert_tensor : 0;
    return status;
}

static ek_status read_batch(reader *r)
{
    static const place local[] = {{"local_batch_size", {"training"}}, {"batch_size", {"training"}}};
    static const place global = {"global_batch_size", {"training"}}, length = {"seq_len", {"training"}},
                       size = {"pipeline_parallel_microbatch_size", {PARALLEL}},
                       parts = {"pipeline_parallel_microbatches", {PARALLEL}};
    r->local_batch = 8;
    r->global_batch = -1;
    r->job->parallel.seq_length = 2048;
    ek_status status = read_int(r, &local[find(r, &local[0]) ? 0 : 1], 1, EK__JOB_MAX_BATCH, INT_MAX, &r->local_batch);
    if (status == EK_OK)
        status = read_int(r, &global, 1, INT_MAX, -1, &r->global_batch);
    if (status == EK_OK)
        status = read_int(r, &length, 1, EK__JOB_MAX_SEQUENCE, INT_MAX, &r->job->parallel.seq_length);
    if (status == EK_OK)
        status = read_int(r, &size, 1, EK__JOB_MAX_BATCH, INT_MAX, &r->micro_batch);
    if (status == EK_OK)
        status = read_int(r, &parts, 1, EK__JOB_MAX_BATCH, INT_MAX, &r->n_parts);
    r->job->model.max_position = r->job->parallel.seq_length;
    if (find(r, &length))
        ek__job_note_sequence(ek__node_origin(r->in.doc, find(r, &length)), r->job);
    return status;
}

/* Data-parallel ranks: the command line gives replicas times shards. */
static ek_status derive_data(reader *r)
{
    static const place at = {"data_parallel_replicate_degree", {PARALLEL}};
    ek_job_parallel *p = &r->job->parallel;
    int told = r->overrides->data;
    if (told > 0 && told % r->replicate != 0)
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, &at),
                        "data_parallel_replicate_degree is %d, which does not divide the %d data-parallel ranks given; "
                        "correct one of them",
                        r->replicate, told);
    if (told > 0)
        r->shard = told / r->replicate;
    if (r->shard < 0) {
        static const place shard_at = {"data_parallel_shard_degree", {PARALLEL}};
        ek__warn(r->in.listener, origin_of(r, &shard_at),
                 "data_parallel_shard_degree is -1, all remaining devices, and a file of torchtitan has no number of "
                 "devices; weights are assumed to be sharded over %d data-parallel rank%s: give the data-parallel "
                 "ranks (-dp N)",
                 1, "");
        r->shard = 1;
    }
    if ((int64_t)r->shard * r->replicate > EK_MAX_RANKS)
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, &at),
                        "%d replicas of %d shards are more than %d devices; correct them", r->replicate, r->shard,
                        EK_MAX_RANKS);
    p->data = r->shard * r->replicate;
    return EK_OK;
}

/* The number of batches of a rank per optimizer step. */
static ek_status accumulation_of(const reader *r, int *out)
{
    static const place at = {"global_batch_size", {"training"}};
    int64_t at_once = (int64_t)r->local_batch * r->job->parallel.data;
    *out = 1;
    if (r->global_batch < 0)
        return EK_OK;
    if (r->global_batch % at_once != 0 || r->global_batch / at_once > EK_MAX_MICRO_BATCHES)
        return ek__fail(
            r->in.err, EK_ERR_INPUT, origin_of(r, &at),
            "global_batch_size is %d, expected a multiple of the %lld sequences that %d data-parallel ranks "
            "take at once (local_batch_size %d), at most %d times as many; correct it",
            r->global_batch, (long long)at_once, r->job->parallel.data, r->local_batch, EK_MAX_MICRO_BATCHES);
    *out = (int)(r->global_batch / at_once);
    return EK_OK;
}

/* Micro-batches of a step. Without a pipeline the batch of a rank is one micro-batch; with a pipeline it is cut. */
static ek_status derive_micro_batches(reader *r)
{
    static const place size_at = {"pipeline_parallel_microbatch_size", {PARALLEL}},
                       parts_at = {"pipeline_parallel_microbatches", {PARALLEL}};
    ek_job_parallel *p = &r->job->parallel;
    int n_steps = 1, n_parts = r->n_parts > 0 ? r->n_parts : p->pipeline;
    ek_status status = accumulation_of(r, &n_steps);
    if (status)
        return status;
    int batch = r->local_batch;
    if (p->pipeline > 1 && r->micro_batch == 0 && r->n_parts > 0 && batch % n_parts == 0)
        batch /= n_parts; /* the older key */
    else if (p->pipeline > 1 && r->micro_batch == 0 && r->n_parts == 0)
        batch = 1;
    else if (p->pipeline > 1 && r->micro_batch > 0)
        batch = r->micro_batch;
    if (r->local_batch % batch != 0 || (p->pipeline > 1 && r->n_parts > 0 && r->local_batch % n_parts != 0))
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, r->micro_batch ? &size_at : &parts_at),
                        "local_batch_size is %d, which cannot be divided into micro-batches like that; give a number that "
                        "divides it",
                        r->local_batch);
    int64_t n = (int64_t)(r->local_batch / batch) * n_steps;
    if (n > EK_MAX_MICRO_BATCHES)
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, &size_at),
                        "a step has %lld micro-batches, expected at most %d; raise pipeline_parallel_microbatch_size",
                        (long long)n, EK_MAX_MICRO_BATCHES);
    if (p->batch == 0)
        p->batch = batch;
    if (p->n_micro_batches == 0) {
        p->n_micro_batches = (int)n;
        if (p->pipeline > 1 && n_steps > 1)
            ek__job_note(r->job, "pipeline-runs");
    }
    if (p->pipeline > 1 && n_steps > 1)
        ek__warn(r->in.listener, (ek_origin){r->source->path, 0, 0},
                 "global_batch_size needs %d runs of the pipeline in a step, each of which fills and drains it; they "
                 "are predicted as one run of %d micro-batches",
                 n_steps, p->n_micro_batches);
    return EK_OK;
}

/* ---- states and number formats ---- */

/* Is the model sharded by FSDP? It also is if only context parallel ranks share its weights. */
static bool is_sharded(const reader *r)
{
    return r->shard * r->job->parallel.context > 1;
}

static ek_status read_dtype(const reader *r, const char *key, ek_dtype *out)
{
    static const char *const words[] = {"float32", "bfloat16", NULL};
    static const ek_dtype types[] = {EK_FP32, EK_BF16};
    const place at = {key, {"training"}};
    int which = -1;
    ek_status status = read_word(r, &at, words, &which);
    if (status == EK_OK && which >= 0)
        *out = types[which];
    return status;
}

/* Optimizers by their states of a parameter. */
static ek_status read_optimizer(reader *r)
{
    static const char *const names[] = {"Adam", "AdamW", "SGD", NULL};
    static const char *const implementations[] = {"for-loop", "foreach", "fused", NULL};
    static const place name = {"name", {"optimizer"}}, implementation = {"implementation", {"optimizer"}},
                       fused = {"fused", {"optimizer"}}, early = {"early_step_in_backward", {"optimizer"}};
    int which = 1, how = 2;
    bool is_fused = true, in_backward = false;
    ek_status status = read_word(r, &name, names, &which);
    if (status == EK_OK)
        status = read_word(r, &implementation, implementations, &how);
    if (status == EK_OK)
        status = read_bool(r, &fused, &is_fused);
    if (status == EK_OK)
        status = read_bool(r, &early, &in_backward);
    r->run.n_moments = which == 2 ? 0 : 2;
    r->run.fused_optimizer = how == 2 && is_fused;
    if (in_backward)
        ek__warn(r->in.listener, origin_of(r, &early),
                 "each gradient is used and freed within the backward pass, which is not modelled: gradients are "
                 "predicted to stay to its end");
    return status;
}

static ek_status read_states(reader *r)
{
    static const place offload = {"enable_cpu_offload", {"training"}},
                       reshard_at = {"fsdp_reshard_after_forward", {PARALLEL}};
    static const char *const policies[] = {"default", "always", "never", NULL};
    static const ek__reshard reshard[] = {EK__RESHARD_DEFAULT, EK__RESHARD_ALWAYS, EK__RESHARD_NEVER};
    int policy = 0;
    ek_status status = read_dtype(r, "mixed_precision_param", &r->run.gathered);
    if (status == EK_OK)
        status = read_dtype(r, "mixed_precision_reduce", &r->run.reduced);
    if (status == EK_OK)
        status = read_dtype(r, "dtype", &r->run.stored);
    if (status == EK_OK)
        status = read_bool(r, &offload, &r->run.offloads);
    if (status == EK_OK)
        status = read_word(r, &reshard_at, policies, &policy);
    r->run.reshard = reshard[policy];
    r->run.sharded = is_sharded(r);
    r->run.shard_size = r->replicate > 1 ? r->shard * r->job->parallel.context : -1;
    return status;
}

/* ---- compiler, 8 bits ---- */

static ek_status read_compile(reader *r)
{
    static const place places[] = {{"enable", {"compile"}}, {"compile", {"training"}}},
                       components = {"components", {"compile"}}, async = {"enable_async_tensor_parallel", {PARALLEL}};
    bool compiles = false;
    ek_status status = read_bool(r, &places[find(r, &places[0]) ? 0 : 1], &compiles);
    if (status == EK_OK)
        status = read_bool(r, &async, &r->run.async_tensor);
    if (status)
        return status;
    const ek__node *what = find(r, &components);
    r->run.compiled = compiles && (!what || has_word(what, "model"));
    r->run.compiled_loss = compiles && (!what || has_word(what, "loss"));
    if (r->run.async_tensor && !r->run.compiled)
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, &async),
                        "enable_async_tensor_parallel is true, but the model is not compiled, without which torchtitan "
                        "stops; set enable = true in [compile]");
    return EK_OK;
}

static ek_status read_float8(reader *r)
{
    static const char *const recipes[] = {"tensorwise", "rowwise", "rowwise_with_gw_hp", NULL};
    static const ek_fp8 kinds[] = {EK_FP8_TENSORWISE, EK_FP8_ROWWISE, EK_FP8_ROWWISE};
    static const char *const scalings[] = {"dynamic", "delayed", NULL};
#define FLOAT8 "quantize.linear.float8", "float8"
    static const place converters = {"converters", {"model"}}, recipe = {"recipe_name", {FLOAT8}},
                       gather = {"enable_fsdp_float8_all_gather", {FLOAT8}}, scaling = {"scaling_type_input", {FLOAT8}},
                       linear[] = {{"enable_float8_linear", {"float8", "training"}},
                                   {"enable_fp8_linear", {"training"}}};
    const ek__node *list = find(r, &converters);
    int which = 0, scales = 0;
    bool gathers = false, float8, mx = has_word(list, "mx") || has_word(list, "quantize.linear.mx");
    float8 = has_word(list, "float8") || has_word(list, "quantize.linear.float8");
    ek_status status = float8 ? EK_OK : read_bool(r, &linear[find(r, &linear[0]) ? 0 : 1], &float8);
    if (status == EK_OK)
        status = read_word(r, &recipe, recipes, &which);
    if (status == EK_OK)
        status = read_word(r, &scaling, scalings, &scales);
    if (status == EK_OK)
        status = read_bool(r, &gather, &gathers);
    if (status)
        return status;
    r->run.fp8 = mx ? EK_FP8_BLOCKWISE : !float8 ? EK_FP8_NONE : scales == 1 ? EK_FP8_DELAYED : kinds[which];
    r->run.fp8_gather = float8 && gathers;
    if (!float8 && !mx && (find(r, &recipe) || gathers))
        ek__warn_of(r->in.listener, "setting-without-effect", origin_of(r, gathers ? &gather : &recipe),
                    "does nothing, since no matrix product is in 8 bits: converters of [model] does not name float8");
    return EK_OK;
}

/* ---- layers ---- */

typedef ek__torchtitan_split split;

static ek_status read_schedule(reader *r, split *s)
{
    static const place at = {"pipeline_parallel_schedule", {PARALLEL}};
    ek__schedule_word known[EK__MAX_SCHEDULE_WORDS];
    const char *words[EK__MAX_SCHEDULE_WORDS + 1] = {NULL};
    int which = 0, n = ek__schedule_words(EK_TORCHTITAN, NULL, known);
    for (int i = 0; i < n; i++)
        words[i] = known[i].word;
    ek_status status = read_word(r, &at, words, &which);
    if (status)
        return status;
    s->schedule = known[which].schedule;
    s->n_chunks = s->schedule->min_chunks;
    if (!known[which].exact && r->job->parallel.pipeline > 1)
        ek__warn(r->in.listener, origin_of(r, &at), "the schedule %s is not known here; it is predicted as %s",
                 known[which].word, s->schedule->name);
    return EK_OK;
}

/* Virtual stages from the given number of layers of each. */
static ek_status read_chunks(reader *r, split *s)
{
    static const place per_at = {"pipeline_parallel_layers_per_stage", {PARALLEL}},
                       first = {"pipeline_parallel_first_stage_less_layers", {PARALLEL}},
                       last = {"pipeline_parallel_last_stage_less_layers", {PARALLEL}};
    const ek_job *job = r->job;
    int per_stage = 0, p = job->parallel.pipeline;
    s->first_less = s->last_less = 1;
    ek_status status = read_int(r, &per_at, 1, EK_MAX_LAYERS, INT_MAX, &per_stage);
    if (status == EK_OK)
        status = read_int(r, &first, 0, EK_MAX_LAYERS, INT_MAX, &s->first_less);
    if (status == EK_OK)
        status = read_int(r, &last, 0, EK_MAX_LAYERS, INT_MAX, &s->last_less);
    if (status || per_stage == 0 || p == 1 || r->overrides->n_chunks > 0)
        return status;
    int counted = job->model.n_layers + s->first_less + s->last_less, n = (counted + per_stage - 1) / per_stage;
    bool single = s->n_chunks == 1;
    if (n % p != 0 || n / p > EK_MAX_CHUNKS || (single ? n != p : n / p < 2))
        return ek__fail(r->in.err, EK_ERR_INPUT, origin_of(r, &per_at),
                        "pipeline_parallel_layers_per_stage is %d, which makes %d parts of %d layers (%d of them for "
                        "the embedding and the output) for %d stages with %s of them each; correct it",
                        per_stage, n, counted, s->first_less + s->last_less, p,
                        single ? "one" : "a whole number, at least two,");
    s->n_chunks = n / p;
    return EK_OK;
}

/* Layers of one part of module_fqns_per_model_part. */
static int count_layers(const ek__node *part)
{
    int n = 0;
    for (const ek__node *name = part->first; name; name = name->next)
        n += name->kind == EK__SCALAR && strncmp(name->text, "layers.", 7) == 0;
    return n;
}

/* The number of layers before a split point: "layers.5" begins with the sixth; modules after all layers begin with
 * none. */
static int layers_before(const ek__node *point, int n_layers)
{
    double value;
    if (point->kind != EK__SCALAR || strncmp(point->text, "layers.", 7) != 0)
        return n_layers;
    return ek__text_is_number(point->text + 7, &value) && value >= 0 && value <= n_layers ? (int)value : -1;
}

static ek_status fail_parts(const reader *r, const ek__node *list, int n, int sum)
{
    if (n % r->file_stages != 0 || n / r->file_stages > EK_MAX_CHUNKS)
        return ek__fail_at(&r->in, list,
                           "makes %d parts, expected a multiple of the %d stages, at most %d times as many", n,
                           r->file_stages, EK_MAX_CHUNKS);
    return ek__fail_at(&r->in, list, "has %d layers in order, but the model has %d; place each once", sum,
                       r->job->model.n_layers);
}

/* A manual split, for the stages of the file. */
static ek_status cut_by_hand(reader *r, const split *s, const ek__node *parts, const ek__node *points)
{
    const ek__node *list = parts ? parts : points;
    ek_status status = ek__expect(&r->in, list, EK__LIST, "give the names of modules");
    if (status)
        return status;
    int n = parts ? list->n : list->n + 1, sum = 0, before = 0, q = 0, n_layers = r->job->model.n_layers;
    if (n == 0 || n % r->file_stages != 0 || n / r->file_stages > EK_MAX_CHUNKS)
        return fail_parts(r, list, n, 0);
    ek_plan *plan = &r->job->plan;
    status = ek_plan_init(plan, r->file_stages, n / r->file_stages, r->in.err);
    for (const ek__node *node = list->first; node && status == EK_OK; node = node->next, q++) {
        int to = parts ? before + count_layers(node) : layers_before(node, n_layers);
        if (to < before || to > n_layers)
            return fail_parts(r, list, n, to);
        plan->layers[ek_cell_at(s->schedule->placement, r->file_stages, q)] = to - before;
        before = to;
    }
    if (status == EK_OK && !parts) {
        plan->layers[ek_cell_at(s->schedule->placement, r->file_stages, q)] = n_layers - before;
        before = n_layers;
    }
    sum = before;
    return status || sum == n_layers ? status : fail_parts(r, list, n, sum);
}

static ek_status read_layers(reader *r)
{
    static const place parts_at = {"module_fqns_per_model_part", {PARALLEL}},
                       points_at = {"pipeline_parallel_split_points", {PARALLEL}};
    const ek__node *parts = find(r, &parts_at), *points = find(r, &points_at);
    split s = {0};
    ek_status status = read_schedule(r, &s);
    if (status == EK_OK)
        status = read_chunks(r, &s);
    if (status)
        return status;
    bool by_hand = r->file_stages > 1 && r->overrides->n_layers == 0 &&
                   ((parts && parts->n > 0) || (points && (points->kind != EK__LIST || points->n > 0)));
    if (r->overrides->n_chunks > 0)
        s.n_chunks = r->overrides->n_chunks;
    if (r->job->parallel.pipeline > 1)
        r->job->schedule = s.schedule;
    if (r->overrides->schedule)
        s.schedule = r->overrides->schedule;
    return by_hand ? cut_by_hand(r, &s, parts && parts->n > 0 ? parts : NULL, points)
                   : ek__torchtitan_spread(&s, (ek_origin){r->source->path, 0, 0}, r->job, r->in.err);
}

/* ---- recomputation ---- */

/* Per-operator: the outputs of attention's kernel and of every second matrix product in the order of a layer (queries,
 * values, the first feed-forward matrix, the last) are saved, all others are recomputed. */
static ek_status recompute_operators(reader *r, ek_origin at)
{
    r->job->model.fused_swiglu = r->job->model.gate_apart = false; /* every operator is separate */
    return ek__job_keep_products(r->job, at, r->in.err);
}

static ek_status read_recompute(reader *r)
{
    static const char *const modes[] = {"none", "selective", "full", NULL};
    static const place mode_at = {"mode", {"activation_checkpoint"}},
                       option_at = {"selective_ac_option", {"activation_checkpoint"}};
    const ek__node *option = find(r, &option_at);
    int mode = 1, every = 2;
    ek_status status = read_word(r, &mode_at, modes, &mode);
    if (status || mode == 0)
        return status;
    if (mode == 2) {
        ek__torchtitan_every(&r->job->plan, 1);
        return EK_OK;
    }
    if (option && option->kind == EK__SCALAR && strcmp(option->text, "op") == 0) {
        ek_origin at = ek__node_origin(r->in.doc, option);
        at.file = r->job->path;
        return recompute_operators(r, at);
    }
    double value = 0;
    if (option && (option->kind != EK__SCALAR || !ek__text_is_number(option->text, &value) || value != floor(value) ||
                   value < 0 || value > EK_MAX_LAYERS))
        return ek__fail_at(&r->in, option,
                           "selects saved activations, expected \"op\", or \"n\" for every n-th layer; correct it");
    if (option)
        every = value > 0 ? (int)value : 1; /* 0 means every layer in torchtitan */
    ek__torchtitan_every(&r->job->plan, every);
    return EK_OK;
}

/* ---- the whole ---- */

static ek_status write_overrides(reader *r)
{
    ek_job_parallel *p = &r->job->parallel;
    p->batch = p->n_micro_batches = 0;
    ek__job_override_sizes(r->overrides, r->job);
    ek_status status = derive_data(r);
    if (status == EK_OK)
        status = derive_micro_batches(r);
    if (status)
        return status;
    if (p->expert_tensor == 0)
        p->expert_tensor = p->tensor;
    p->sequence_parallel = r->overrides->sequence_parallel != 0; /* comes with tensor parallelism */
    ek__megatron_derive(r->job);
    return EK_OK;
}

static ek_status settle(reader *r)
{
    ek__torchtitan_settle(&r->run, r->job);
    return EK_OK;
}

static bool recognises(const ek__job_source *source)
{
    const ek__node *root = source->toml && source->doc ? ek__config_root(source->doc) : NULL;
    return root && (ek__get(root, "model") || ek__get(root, "training") || ek__get(root, "parallelism"));
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    static ek_status (*const steps[])(reader *) = {check_keys,      read_model,   read_degrees, read_batch,
                                                   write_overrides, read_compile, read_float8,  read_optimizer,
                                                   read_states,     settle,       read_layers,  read_recompute};
    reader r = {.source = source,
                .in = {source->doc, source->listener, source->err},
                .overrides = overrides,
                .job = job,
                .root = ek__config_root(source->doc),
                .replicate = 1,
                .shard = -1,
                .run = ek__torchtitan_run_default()};
    ek__megatron_defaults(job, EK_TORCHTITAN);
    ek__job_note_keys(source->doc, job);
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](&r);
    return status;
}

const ek__job_format ek__job_torchtitan = {
    .name = "a TOML of torchtitan",
    .recognises = recognises,
    .read = read_job,
};
