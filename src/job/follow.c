/* Updates the settings of a changed job that its reader derives from the file, so that the job equals the one that the
 * changed file gives. Settings of the file that the job does not store are recovered from derived values: a padded
 * vocabulary shows its padding, and the states of FSDP show its settings. */
#include <stdio.h>
#include <string.h>

#include "job/megatron.h"
#include "job/megatron_run.h"
#include "job/settings.h"
#include "job/sharding.h"
#include "job/torchtitan_run.h"

/* ---- MindFormers ---- */

/* Table and head are cut over new degrees as over the old ones, or kept whole if the vocabulary does not divide. With
 * one rank the job does not show whether they would be cut; then they are, and the settings set it. */
static void cut_vocabulary(const ek_job *was, ek_job *now)
{
    const ek_job_parallel *a = &was->parallel;
    ek_job_parallel *b = &now->parallel;
    bool table = a->table_split > 1 || a->tensor * a->context == 1;
    bool head = a->head_split > 1 || (a->tensor == 1 && table);
    int over = b->tensor * b->context;
    b->table_split = table && now->model.vocab % over == 0 ? over : 1;
    b->head_split = head && now->model.vocab % b->tensor == 0 ? b->tensor : 1;
}

static bool is_alone(const ek_job *job)
{
    return job->parallel.data * job->parallel.context * job->parallel.tensor == 1;
}

/* States are shared if the file sets it and there are several ranks. */
static void follow_sharing(const ek_job *was, ek_job *now)
{
    ek_job_states *states = &now->states;
    if (is_alone(now)) {
        states->shard_weight = states->shard_optimizer = states->shard_gradient = false;
        states->gathered = 0;
    } else if (is_alone(was) && ek__job_has(was, "shares")) {
        states->shard_weight = states->shard_optimizer = true;
        states->shard_gradient = ek__job_has(was, "shares-gradients");
        states->gathered = states->weight;
    }
}

static void follow_mindformers(const ek_job *was, ek_job *now)
{
    ek_job_parallel *p = &now->parallel;
    ek_job_states *states = &now->states;
    cut_vocabulary(was, now);
    if (p->context_algorithm == EK_CONTEXT_ULYSSES && was->parallel.ulysses == was->parallel.context &&
        !ek__job_has(was, "ulysses-degree-in-cp"))
        p->ulysses = p->context;
    if (!ek__job_has(was, "expert-model-parallel")) {
        bool taken = now->framework == EK_MINDFORMERS_MCORE && p->data * (int64_t)p->context % p->expert != 0;
        p->expert_tensor = taken ? 1 : p->tensor;
    }
    follow_sharing(was, now);
    states->gradient = p->pipeline > 1 || p->n_accumulation > 1 ? states->weight : 0;
    now->run.sums_every_micro_batch = states->shard_gradient && states->gradient > 0;
    for (int i = 0; i < now->run.n_inputs; i++) /* batches are cut over the data-parallel ranks */
        if (now->run.input_cut[i][0] == was->parallel.data)
            now->run.input_cut[i][0] = p->data;
}

/* ---- Megatron ---- */

static void follow_buckets(const ek_job *was, ek_job *now)
{
    ek_job_run *run = &now->run;
    if (run->layer_buckets)
        run->bucket_bytes = ek__job_layer_elements(now) * run->reduce_bytes;
    else if (run->bucket_bytes == ek__megatron_bucket(was) * run->reduce_bytes)
        run->bucket_bytes = ek__megatron_bucket(now) * run->reduce_bytes;
}

static void follow_megatron(const ek_job *was, ek_job *now)
{
    ek_job_parallel *p = &now->parallel;
    const ek_job_parallel *a = &was->parallel;
    int told = ek__job_has(was, "ulysses-degree-in-cp") ? a->ulysses : 0;
    if (ek__job_has(was, "sequence-parallel") && a->tensor == 1 && p->tensor > 1)
        p->sequence_parallel = true; /* it had no effect with one rank */
    if (ek__job_has(was, "moe-tp-extend-ep"))
        p->expert = p->expert / a->tensor * p->tensor;
    else if (!ek__job_has(was, "expert-tensor-parallel-size"))
        p->expert_tensor = p->tensor;
    p->ulysses = told > 0 ? told : p->context_algorithm == EK_CONTEXT_ULYSSES ? p->context : a->ulysses;
    int vocab = was->model.vocab_told > 0 ? was->model.vocab_told : was->model.vocab;
    if (now->model.vocab_multiple > 0)
        now->model.vocab = ek__megatron_padded(vocab, now->model.vocab_multiple, p->tensor);
    ek__megatron_derive(now);
    follow_buckets(was, now);
}

/* Switches of the file that another switch enables or disables. */
static void follow_switches(const ek_job *was, ek_job *now)
{
    ek_job_run *run = &now->run;
    if (now->states.shard_optimizer && !was->states.shard_optimizer && ek__job_has(was, "overlap-param-gather"))
        run->overlap_weights = run->overlap_gradients;
    if (was->states.shard_optimizer && !now->states.shard_optimizer)
        run->overlap_weights = false;
    if (now->parallel.sequence_parallel != was->parallel.sequence_parallel && ek__job_has(was, "tp-comm-overlap"))
        run->overlap_tensor = now->parallel.sequence_parallel;
}

/* ---- torchtitan ---- */

/* ek__torchtitan_settle() backwards. */
static ek__torchtitan_run run_of(const ek_job *job)
{
    const ek_job_states *states = &job->states;
    ek__torchtitan_run run = ek__torchtitan_run_default();
    bool sharded = states->shard_weight, keeps = job->rules.weight_gather == EK_GATHER_STEP;
    run.stored = job->types.param;
    run.gathered = job->types.compute;
    run.reduced = job->run.reduce_bytes == 4 ? EK_FP32 : EK_BF16;
    run.n_moments = states->optimizer / ek_dtype_bytes(job->types.param);
    run.reshard = !ek__job_has(job, "fsdp-reshard-after-forward") ? EK__RESHARD_DEFAULT
                  : sharded && keeps                              ? EK__RESHARD_NEVER
                                                                  : EK__RESHARD_ALWAYS;
    run.compiled = job->run.launch == EK_LAUNCH_COMPILED;
    run.compiled_loss = job->rules.loss_fused;
    run.async_tensor = job->run.overlap_tensor;
    run.fp8 = job->run.fp8;
    run.fp8_gather = job->run.fp8_gather;
    run.fused_optimizer = job->run.fused_optimizer;
    run.offloads = job->run.offload_optimizer;
    return run;
}

/* Rules from a user or a calibration, and the allocator's, are kept. */
static void keep_rules(const ek_job *was, ek_job *now)
{
    for (int i = 0; ek_rule_names[i]; i++) {
        char value[64], assignment[160];
        bool neutral = strcmp(ek_rule_basis[i], "calibrated") == 0 || strcmp(ek_rule_names[i], "allocation") == 0;
        if (!(was->rules_told >> i & 1) && !neutral)
            continue;
        if (ek_rules_get(&was->rules, ek_rule_names[i], value, sizeof value)) {
            snprintf(assignment, sizeof assignment, "%s=%s", ek_rule_names[i], value);
            (void)ek_rules_set(&now->rules, assignment, NULL);
        }
    }
}

/* Weights are cut over the shards of a replica, and over the context ranks. */
static void follow_torchtitan(const ek_job *was, ek_job *now)
{
    ek_job_parallel *p = &now->parallel;
    const ek_job_parallel *a = &was->parallel;
    const ek_job_model model = now->model;
    ek__torchtitan_run run = run_of(was);
    int size = was->states.shard_size, replicas = size > 0 ? a->data * a->context / size : 1;
    if (replicas < 1 || p->data % replicas != 0)
        replicas = 1;
    run.sharded = p->data / replicas * p->context > 1;
    run.shard_size = replicas > 1 ? p->data / replicas * p->context : -1;
    p->sequence_parallel = p->tensor > 1;
    p->expert_tensor = p->expert == 1                                    ? p->tensor
                       : ek__job_has(was, "expert-tensor-parallel-size") ? p->expert_tensor
                                                                         : 1;
    ek__megatron_derive(now);
    ek__torchtitan_settle(&run, now);
    now->model = model;
    keep_rules(was, now);
}

ek_status ek__job_spread_own(ek_job *job, ek_error *err)
{
    const ek__torchtitan_split split = {job->schedule, job->plan.n_chunks, 1, 1};
    ek_plan even = job->plan;
    if (job->framework != EK_TORCHTITAN)
        return EK_OK;
    job->plan = (ek_plan){0};
    ek_status status = ek__torchtitan_spread(&split, (ek_origin){.file = job->path}, job, err);
    if (status) {
        ek_plan_clear(&job->plan);
        job->plan = even;
        return status;
    }
    size_t size = (size_t)even.n_stages * (size_t)even.n_chunks * sizeof(int);
    if (ek__settings_all(&even, even.full))
        memcpy(job->plan.full, job->plan.layers, size);
    for (int i = 0; i < job->n_patterns; i++)
        if (ek__settings_all(&even, job->pattern[i].layers))
            memcpy(job->pattern[i].layers, job->plan.layers, size);
    ek__job_sum_patterns(job);
    ek_plan_clear(&even);
    return EK_OK;
}

/* ---- one rule for all layers ---- */

/* Selective recomputation is dropped if whole layers are recomputed, except MindSpeed-LLM's switch of the
 * activation. */
static void leave_out_selective(ek_job *job)
{
    size_t n = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks;
    for (int i = 0; i < job->n_patterns; i++)
        if (strcmp(job->pattern[i].text, "mlp\\.activation_func") != 0)
            memset(job->pattern[i].layers, 0, n * sizeof(int));
    ek__job_sum_patterns(job);
}

void ek__job_one_rule(ek_job *job)
{
    const ek_plan *plan = &job->plan;
    int most = 0, n = plan->n_stages * plan->n_chunks;
    if (job->framework != EK_MEGATRON)
        return;
    for (int c = 0; c < n; c++)
        most = plan->full[c] > most ? plan->full[c] : most;
    for (int c = 0; c < n; c++)
        plan->full[c] = most < plan->layers[c] ? most : plan->layers[c];
    if (most > 0)
        leave_out_selective(job);
}

/* torchtitan's file still recomputes every n-th layer. */
static void follow_period(const ek_job *was, ek_job *now)
{
    int n = ek__torchtitan_period(&was->plan);
    if (n > 0)
        ek__torchtitan_every(&now->plan, n);
}

static bool moves_layers(const ek_plan *a, const ek_plan *b)
{
    return a->n_stages != b->n_stages || a->n_chunks != b->n_chunks || !ek__settings_all(a, b->layers);
}

/* The activations saved by "op" depend on tensor parallelism; with another mode operators are no longer
 * distinguished. */
static ek_status follow_operators(const ek_job *was, ek_job *now, ek_error *err)
{
    const ek_plan *plan = &now->plan;
    bool over = ek__settings_all(plan, plan->full) || !ek__settings_any(plan, plan->select);
    ek_origin at = was->pattern[0].origin;
    at.file = now->path;
    if (!over && was->parallel.tensor == now->parallel.tensor)
        return EK_OK;
    ek__job_drop_patterns(now);
    ek__job_sum_patterns(now);
    if (!over)
        return ek__job_keep_products(now, at, err);
    now->model.fused_swiglu = now->model.gate_apart = now->run.launch == EK_LAUNCH_COMPILED;
    return EK_OK;
}

static bool is_partial(const ek_plan *plan, const int *list)
{
    return ek__settings_any(plan, list) && !ek__settings_all(plan, list);
}

ek_status ek__job_follow(const ek_job *was, ek_job *now, ek_error *err)
{
    bool degrees = memcmp(&was->parallel, &now->parallel, sizeof was->parallel) != 0;
    switch (now->framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        if (degrees)
            follow_mindformers(was, now);
        break;
    case EK_TORCHTITAN:
        if (degrees)
            follow_torchtitan(was, now);
        if (moves_layers(&was->plan, &now->plan) && is_partial(&was->plan, was->plan.full))
            follow_period(was, now);
        if (was->n_patterns > 0)
            return follow_operators(was, now, err);
        break;
    case EK_MEGATRON:
    case EK_MINDSPEED:
        if (degrees)
            follow_megatron(was, now);
        follow_switches(was, now);
        ek__job_one_rule(now);
        break;
    }
    return EK_OK;
}
