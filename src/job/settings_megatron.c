/* Writes settings of Megatron-LM and MindSpeed-LLM as arguments, and of MindSpeed-Core-MS, which has the same names as
 * keys of a YAML. An argument that contradicts a new one, or would now mean other layers, is removed. If they are not
 * set, the data-parallel ranks follow from the launcher's ranks and the micro-batches from the global batch. */
#include "job/megatron.h"
#include "job/megatron_run.h"
#include "job/settings.h"
#include "schedule/frameworks.h"

#include "evenkeel/schedule.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = 4096 };
/* Kinds of sections, for MindSpeed-Core-MS: write_name() has their names in the file. */
static const char degrees[] = "degrees", training[] = "batches", model[] = "model";

static void write_number(ek__settings *s, const char *section, const char *name, int now, int was)
{
    if (now != was)
        ek__settings_put(s, section, name, "%d", now);
}

/* A switch that is on now. */
static void write_switch(ek__settings *s, const char *section, const char *name, bool now, bool was)
{
    if (now && !was)
        ek__settings_put_switch(s, section, name);
}

/* A switch that was on: an argument is removed, a key is set to false. */
static void write_off(ek__settings *s, const char *section, const char *name, bool now, bool was)
{
    if (now || !was)
        return;
    if (s->now->framework == EK_MINDSPEED)
        ek__settings_put(s, section, name, "False");
    else
        ek__settings_drop(s, name);
}

/* ---- degrees ---- */

/* Micro-batches of the file if only the degrees were changed; 0: not an integer. */
static int64_t micro_batches_left(const ek__settings *s)
{
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    int64_t all = (int64_t)a->batch * a->data * a->n_micro_batches, at_once = (int64_t)b->batch * b->data;
    if (ek__job_has(s->was, "micro-batch-num"))
        return a->n_micro_batches;
    if (ek__job_has(s->was, "global-batch-size"))
        return all % at_once == 0 ? all / at_once : 0;
    /* not set: the number of stages is assumed, unless the command line gave another */
    bool taken = a->n_micro_batches == a->pipeline;
    return taken ? b->pipeline : 0;
}

static void write_batches(ek__settings *s)
{
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    bool same = a->batch == b->batch && a->data == b->data && a->pipeline == b->pipeline;
    write_number(s, training, "micro-batch-size", b->batch, a->batch);
    if (same && a->n_micro_batches == b->n_micro_batches)
        return;
    if (micro_batches_left(s) == b->n_micro_batches)
        return;
    if (ek__job_has(s->was, "micro-batch-num"))
        ek__settings_put(s, training, "micro-batch-num", "%d", b->n_micro_batches);
    else
        ek__settings_put(s, training, "global-batch-size", "%lld", (long long)b->batch * b->data * b->n_micro_batches);
}

static long long ranks_of(const ek_job_parallel *p)
{
    return (long long)p->data * p->tensor * p->pipeline * p->context;
}

static void write_degrees(ek__settings *s)
{
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    bool given = ek__job_has(s->was, "data-parallel-size") || !ek__job_has(s->was, "world");
    bool extended = ek__job_has(s->was, "moe-tp-extend-ep"); /* the degree is multiplied by t */
    write_number(s, degrees, "tensor-model-parallel-size", b->tensor, a->tensor);
    write_number(s, degrees, "context-parallel-size", b->context, a->context);
    write_number(s, degrees, "pipeline-model-parallel-size", b->pipeline, a->pipeline);
    write_number(s, degrees, "expert-model-parallel-size", extended ? b->expert / b->tensor : b->expert,
                 extended ? a->expert / a->tensor : a->expert);
    if (given)
        write_number(s, degrees, "data-parallel-size", b->data, a->data);
    write_switch(s, degrees, "sequence-parallel", b->sequence_parallel,
                 a->sequence_parallel || ek__job_has(s->was, "sequence-parallel"));
    if (b->tensor > 1)
        write_off(s, degrees, "sequence-parallel", b->sequence_parallel, a->sequence_parallel);
    write_batches(s);
    if (s->now->framework == EK_MEGATRON && ranks_of(b) != ranks_of(a))
        ek__settings_put_ranks(s, ranks_of(b));
}

/* ---- sharing, attention ---- */

static void write_states(ek__settings *s)
{
    const ek_job_states *a = &s->was->states, *b = &s->now->states;
    write_switch(s, degrees, "use-distributed-optimizer", b->shard_optimizer, a->shard_optimizer);
    write_off(s, degrees, "use-distributed-optimizer", b->shard_optimizer, a->shard_optimizer);
    if (s->now->framework == EK_MINDSPEED)
        write_number(s, degrees, "zero-shard-size", b->shard_size, a->shard_size);
    else if ((a->instances > 1 || b->instances > 1) && b->instances != a->instances)
        ek__settings_put(s, NULL, "num-distributed-optimizer-instances", "%d", b->instances);
    if (!s->now->model.flash_attention || s->was->model.flash_attention)
        return;
    bool keys = s->now->framework == EK_MINDSPEED;
    ek__settings_put_switch(s, model, keys ? "use-flash-attention" : "use-flash-attn");
    ek__settings_drop(s, "attention-backend");
}

/* ---- the step ---- */

static void write_buckets(ek__settings *s)
{
    const ek_job_run *run = &s->now->run;
    bool usual = run->bucket_bytes == ek__megatron_bucket(s->now) * run->reduce_bytes;
    if (run->layer_buckets || usual || run->bucket_bytes == s->was->run.bucket_bytes || run->reduce_bytes <= 0)
        return;
    ek__settings_put(s, degrees, s->now->framework == EK_MINDSPEED ? "bucket_size" : "ddp-bucket-size", "%.0f",
                     run->bucket_bytes / run->reduce_bytes);
}

static void write_run(ek__settings *s)
{
    const ek_job_run *a = &s->was->run, *b = &s->now->run;
    const bool arguments = s->now->framework == EK_MEGATRON;
    if (!arguments && ((b->overlap_tensor && !a->overlap_tensor) || (b->overlap_expert && !a->overlap_expert)))
        s->why = "the framework has no such switch";
    write_switch(s, degrees, "overlap-grad-reduce", b->overlap_gradients, a->overlap_gradients);
    write_switch(s, degrees, "overlap-param-gather", b->overlap_weights,
                 a->overlap_weights || ek__job_has(s->was, "overlap-param-gather"));
    write_switch(s, degrees, "moe-shared-expert-overlap", b->overlap_shared, a->overlap_shared);
    write_buckets(s);
    if (arguments) {
        write_switch(s, NULL, "tp-comm-overlap", b->overlap_tensor,
                     a->overlap_tensor || ek__job_has(s->was, "tp-comm-overlap"));
        write_switch(s, NULL, "overlap-moe-expert-parallel-comm", b->overlap_expert, a->overlap_expert);
        if (b->send_once && !a->send_once)
            ek__settings_put(s, NULL, "moe-token-dispatcher-type", "flex");
        write_switch(s, NULL, "moe-enable-deepep", b->send_once, a->send_once);
    }
    if (b->launch == EK_LAUNCH_GRAPH && a->launch != EK_LAUNCH_GRAPH)
        ek__settings_put(s, "context", arguments ? "cuda-graph-impl" : "mode", "%s", arguments ? "local" : "0");
    if (b->overlap_tensor_gradients && !a->overlap_tensor_gradients)
        ek__settings_drop(s, "no-async-tensor-model-parallel-allreduce");
    if (!b->offload_optimizer && a->offload_optimizer)
        ek__settings_drop(s, "optimizer-cpu-offload");
}

/* ---- layers ---- */

static const char *const cuts[] = {"pipeline-model-parallel-layout",          "num-layer-list",
                                   "decoder-first-pipeline-num-layers",       "decoder-last-pipeline-num-layers",
                                   "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"};
static const char by_layers[] = "num-layers-per-virtual-pipeline-stage",
                  by_chunks[] = "num-virtual-stages-per-pipeline-rank";

static int last_cell(const ek_job *job)
{
    const ek_plan *plan = &job->plan;
    return ek_cell_at(job->schedule->placement, plan->n_stages, plan->n_stages * plan->n_chunks - 1);
}

/* Decoder layers, without those of multi-token prediction. */
static int layers_at(const ek_job *job, int cell)
{
    return job->plan.layers[cell] - (cell == last_cell(job) ? job->model.n_prediction_layers : 0);
}

static bool is_even(const ek_job *job)
{
    bool even = true;
    for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
        even = even && layers_at(job, c) == layers_at(job, 0);
    return even;
}

/* Layers of the model's chunks in order: "Et*5|t*5L". */
static void write_layout(ek__settings *s)
{
    const ek_job *job = s->now;
    char text[LIST] = "E";
    size_t used = 1;
    int n = job->plan.n_stages * job->plan.n_chunks;
    for (int q = 0; q < n && used < sizeof text; q++) {
        int cell = ek_cell_at(job->schedule->placement, job->plan.n_stages, q);
        used += (size_t)snprintf(text + used, sizeof text - used, "%st*%d", q > 0 ? "|" : "", layers_at(job, cell));
    }
    for (int i = 0; i < job->model.n_prediction_layers && used + 2 < sizeof text; i++)
        text[used++] = 'm';
    if (used + 2 < sizeof text)
        memcpy(text + used, "L", 2);
    ek__settings_put(s, NULL, cuts[0], "\"%s\"", text);
}

/* Chunks of stages with equal numbers of layers, in the file's own words. */
static void write_even(ek__settings *s)
{
    const ek_plan *plan = &s->now->plan;
    bool v_shaped = s->now->schedule->placement == EK_PLACE_V;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        ek__settings_drop(s, cuts[i]);
    if (plan->n_chunks == 1 || v_shaped) { /* a V has two */
        ek__settings_drop(s, by_layers);
        ek__settings_drop(s, by_chunks);
    } else if (ek__job_has(s->now, by_layers)) {
        write_number(s, NULL, by_layers, layers_at(s->now, 0),
                     s->was->plan.n_stages * s->was->plan.n_chunks > 0 && is_even(s->was) ? layers_at(s->was, 0) : 0);
    } else {
        write_number(s, NULL, by_chunks, plan->n_chunks, ek__job_has(s->now, by_chunks) ? s->was->plan.n_chunks : 1);
    }
}

static void write_uneven(ek__settings *s)
{
    for (size_t i = 1; i < sizeof cuts / sizeof *cuts; i++)
        ek__settings_drop(s, cuts[i]);
    ek__settings_drop(s, by_layers);
    ek__settings_drop(s, by_chunks);
    write_layout(s);
}

/* MindSpeed-Core-MS counts without multi-token prediction. */
static void write_layer_list(ek__settings *s)
{
    char text[LIST];
    ek_plan *plan = &s->now->plan;
    int last = last_cell(s->now), predictions = s->now->model.n_prediction_layers;
    write_number(s, degrees, "virtual-pipeline-model-parallel-size", plan->n_chunks, s->was->plan.n_chunks);
    plan->layers[last] -= predictions;
    ek__settings_list(plan, plan->layers, 0, text, sizeof text);
    plan->layers[last] += predictions;
    ek__settings_put(s, degrees, "num-layer-list", "%s", text);
}

/* The schedules in a V. */
static void write_schedule(ek__settings *s)
{
    const ek_schedule *now = s->now->schedule;
    bool is_v = now->placement == EK_PLACE_V, was_v = s->was->schedule->placement == EK_PLACE_V;
    if (now == s->was->schedule || (!is_v && !was_v))
        return;
    if (!is_v && s->now->framework == EK_MEGATRON && now == ek_schedule_default(s->now->plan.n_chunks, false)) {
        ek__settings_drop(s, EK__SCHEDULES_METHOD);
        ek__settings_drop(s, "zero-bubble-v-schedule");
        ek__settings_drop(s, EK__ZERO_BUBBLE_SETUP);
        return;
    }
    const ek__framework_schedule *theirs = ek__schedule_in(now, s->now->framework);
    if (!theirs || !theirs->argument || strcmp(theirs->argument, EK__ZERO_BUBBLE_SETUP) != 0) {
        s->why = "the framework has no such schedule";
        return;
    }
    ek__settings_drop(s, EK__SCHEDULES_METHOD);
    if (!was_v || ek__job_has(s->was, EK__SCHEDULES_METHOD))
        ek__settings_put_switch(s, NULL, "zero-bubble-v-schedule");
    ek__settings_put(s, NULL, EK__ZERO_BUBBLE_SETUP, "%s", theirs->word);
}

static void write_layers(ek__settings *s)
{
    if (ek__settings_same_layers(s) && s->now->schedule->placement == s->was->schedule->placement)
        return;
    if (s->now->framework == EK_MINDSPEED)
        write_layer_list(s);
    else if (ek__job_has(s->was, "noop-layers"))
        s->why = "layers that compute nothing (--noop-layers) would have to be placed anew";
    else if (is_even(s->now))
        write_even(s);
    else
        write_uneven(s);
}

/* ---- recomputation, of arguments ---- */

/* MindSpeed-LLM's switch that is independent of the others. */
static const char activation[] = "mlp\\.activation_func";

static bool is_active(const ek_job *job, const ek_pattern *pattern)
{
    return ek__settings_any(&job->plan, pattern->layers);
}

static bool has_activation(const ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (strcmp(job->pattern[i].text, activation) == 0 && is_active(job, &job->pattern[i]))
            return true;
    return false;
}

/* Is anything recomputed selectively, apart from operators with their own switch? */
static bool is_selective(const ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (strcmp(job->pattern[i].text, activation) != 0 && is_active(job, &job->pattern[i]))
            return true;
    return false;
}

/* A pattern for only some layers. */
static bool is_partial(const ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (is_active(job, &job->pattern[i]) && !ek__settings_all(&job->plan, job->pattern[i].layers))
            return true;
    return false;
}

static bool recomputes(const ek_job *job, const char *text)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (strcmp(job->pattern[i].text, text) == 0 && is_active(job, &job->pattern[i]))
            return true;
    return false;
}

/* Modules with all of their patterns present, "core_attn moe_act". */
static const char *modules_of(const ek_job *job, char *text, size_t size)
{
    const char *const *pattern;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (pattern = ek__megatron_module_patterns(i)) && used < size; i++)
        if (recomputes(job, pattern[0]) && (!pattern[1] || recomputes(job, pattern[1])))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", ek__megatron_module_name(i));
    return text;
}

/* Without modules, "selective" means the attention's core. */
static void write_modules(ek__settings *s)
{
    char was[128], now[128];
    modules_of(s->was, was, sizeof was);
    modules_of(s->now, now, sizeof now);
    bool unsaid = strcmp(now, "core_attn") == 0 && !ek__job_has(s->now, "recompute-modules");
    if (strcmp(was, now) != 0 && *now && !unsaid)
        ek__settings_put(s, NULL, "recompute-modules", "%s", now);
}

static int most_full(const ek_plan *plan)
{
    int most = 0;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        most = plan->full[c] > most ? plan->full[c] : most;
    return most;
}

/* The first n layers of every chunk? */
static bool is_one_rule(const ek_plan *plan, int n)
{
    bool one = true;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        one = one && plan->full[c] == (n < plan->layers[c] ? n : plan->layers[c]);
    return one;
}

/* Do the file's settings for whole layers give the plan's layers? */
static bool is_said(const ek__settings *s)
{
    const ek_plan *a = &s->was->plan, *b = &s->now->plan;
    int n = most_full(a);
    bool whole = ek__settings_all(a, a->full); /* the maximum number of layers is then unknown */
    if (n == 0)
        return most_full(b) == 0;
    if (ek__job_has(s->was, "uniform"))
        return ek__settings_all(b, b->full) && s->now->full_group == s->was->full_group;
    return is_one_rule(b, n) && s->now->full_group == s->was->full_group && (!whole || ek__settings_same_layers(s));
}

static void drop_selective(ek__settings *s)
{
    ek__settings_drop(s, "recompute-modules");
    ek__settings_drop(s, "recompute-activations");
    ek__settings_drop(s, "moe-layer-recompute");
}

static void drop_full(ek__settings *s)
{
    ek__settings_drop(s, "recompute-method");
    ek__settings_drop(s, "recompute-num-layers");
    ek__settings_drop(s, "checkpoint-activations");
    ek__settings_drop(s, "checkpoint-num-layers");
}

static void write_full(ek__settings *s)
{
    const ek_plan *plan = &s->now->plan;
    bool all = ek__settings_all(plan, plan->full);
    int n = most_full(plan);
    if (!all && !is_one_rule(plan, n)) {
        s->why = "the framework takes one rule of recomputation for all chunks";
        return;
    }
    drop_selective(s);
    ek__settings_drop(s, "checkpoint-activations");
    ek__settings_drop(s, "checkpoint-num-layers");
    ek__settings_put(s, degrees, "recompute-granularity", "%s", "full");
    ek__settings_put(s, degrees, "recompute-method", "%s", all ? "uniform" : "block");
    ek__settings_put(s, degrees, "recompute-num-layers", "%d", all ? s->now->full_group : n);
    if (all)
        ek__job_note(s->now, "uniform");
}

static void write_recompute(ek__settings *s)
{
    bool was_selective = is_selective(s->was), selective = is_selective(s->now), any = most_full(&s->now->plan) > 0;
    if (has_activation(s->now) && !has_activation(s->was))
        ek__settings_put_switch_of(s, "recompute-activation-function", "MindSpeed-LLM");
    if (!has_activation(s->now) && has_activation(s->was))
        ek__settings_drop(s, "recompute-activation-function");
    if (any && selective) {
        s->why = "the framework recomputes whole layers or parts of them, not both";
    } else if (is_partial(s->now)) {
        s->why = "the framework recomputes parts of all layers or of none";
    } else if (any && (!is_said(s) || was_selective)) {
        write_full(s);
    } else if (!any && selective && (!was_selective || most_full(&s->was->plan) > 0)) {
        drop_full(s);
        ek__settings_put(s, NULL, "recompute-granularity", "%s", "selective");
        write_modules(s);
    } else if (!any && selective) {
        write_modules(s);
    } else if (!any && !selective && (was_selective || most_full(&s->was->plan) > 0)) {
        ek__settings_drop(s, "recompute-granularity");
        drop_full(s);
        drop_selective(s);
    }
}

/* ---- recomputation, of MindSpeed-Core-MS ---- */

/* The entries of a list after the layers recomputed whole. */
static const char *beyond(const ek_plan *plan, const int *list, char *text, size_t size)
{
    size_t n = (size_t)plan->n_stages * (size_t)plan->n_chunks;
    int *rest = ek__alloc(n, sizeof *rest);
    text[0] = '\0';
    for (size_t c = 0; rest && c < n; c++)
        rest[c] = list[c] > plan->full[c] ? list[c] - plan->full[c] : 0;
    if (rest)
        ek__settings_list(plan, rest, 0, text, size);
    free(rest);
    return text;
}

static bool same_cells(const ek_plan *a, const ek_plan *b)
{
    return a->n_stages == b->n_stages && a->n_chunks == b->n_chunks;
}

static bool same_list(const ek_plan *plan, const int *a, const int *b)
{
    return memcmp(a, b, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *a) == 0;
}

/* All three lists: the last two count after the first, and each is by stage and chunk. */
static void write_lists(ek__settings *s)
{
    char section[96];
    char text[LIST];
    const ek_plan *a = &s->was->plan, *b = &s->now->plan;
    bool used = ek__settings_any(b, b->full) || ek__settings_any(a, a->full) || s->was->n_patterns > 0 ||
                s->now->n_patterns > 0;
    bool same = same_cells(a, b) && same_list(a, a->full, b->full) && same_list(a, a->select, b->select) &&
                same_list(a, a->comm, b->comm);
    bool other_cells = !same_cells(a, b) && ek__job_has(s->was, "recompute-config"); /* lists of zeros, too */
    bool selects =
        s->was->n_patterns > 0 || s->now->n_patterns > 0 ||
        (other_cells && (ek__job_has(s->was, "select-recompute") || ek__job_has(s->was, "select-comm-recompute")));
    if (same || (!used && !other_cells))
        return;
    snprintf(section, sizeof section, "%s%srecompute_config", s->now->section_of_degrees,
             *s->now->section_of_degrees ? "." : "");
    ek__settings_put(s, section, "recompute", "%s", ek__settings_list(b, b->full, 0, text, sizeof text));
    if (!selects)
        return;
    ek__settings_put(s, section, "select_recompute", "%s", beyond(b, b->select, text, sizeof text));
    ek__settings_put(s, section, "select_comm_recompute", "%s", beyond(b, b->comm, text, sizeof text));
}

void ek__settings_megatron(ek__settings *s)
{
    write_degrees(s);
    write_states(s);
    write_run(s);
    write_schedule(s);
    write_layers(s);
    if (s->now->framework == EK_MINDSPEED)
        write_lists(s);
    else
        write_recompute(s);
}
