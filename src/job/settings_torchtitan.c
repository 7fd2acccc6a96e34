/* Writes settings of torchtitan as keys of its TOML with their sections. Not expressible: recomputation of some
 * operators or of the first layers of a stage (it has per-operator checkpointing and every n-th layer), and schedules
 * that PyTorch does not have. */
#include "job/settings.h"
#include "job/torchtitan_run.h"
#include "schedule/frameworks.h"

#include "evenkeel/schedule.h"
#include <stdio.h>
#include <string.h>

static const char parallelism[] = "parallelism", training[] = "training";

static void write_number(ek__settings *s, const char *name, int now, int was)
{
    if (now != was)
        ek__settings_put(s, parallelism, name, "%d", now);
}

/* Replicas of the sharded model. */
static int replicas_of(const ek_job *job)
{
    int group = job->parallel.data * job->parallel.context, size = job->states.shard_size;
    return size > 0 && group % size == 0 ? group / size : 1;
}

static void write_degrees(ek__settings *s)
{
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    int was = replicas_of(s->was), now = replicas_of(s->now);
    write_number(s, "tensor_parallel_degree", b->tensor, a->tensor);
    write_number(s, "context_parallel_degree", b->context, a->context);
    write_number(s, "pipeline_parallel_degree", b->pipeline, a->pipeline);
    write_number(s, "expert_parallel_degree", b->expert, a->expert);
    write_number(s, "data_parallel_replicate_degree", now, was);
    write_number(s, "data_parallel_shard_degree", b->data / now, a->data / was);
}

/* A pipeline cuts the batch of a rank; without one, runs of smaller batches are summed. */
static void write_batch(ek__settings *s)
{
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    bool piped = b->pipeline > 1, was_piped = a->pipeline > 1;
    bool same = b->batch == a->batch && b->n_micro_batches == a->n_micro_batches && b->data == a->data;
    if (same && piped == was_piped)
        return;
    if (piped) {
        ek__settings_drop(s, "pipeline-parallel-microbatches");
        ek__settings_put(s, parallelism, "pipeline_parallel_microbatch_size", "%d", b->batch);
    }
    ek__settings_put(s, training, "local_batch_size", "%d", piped ? b->batch * b->n_micro_batches : b->batch);
    if (!piped || ek__job_has(s->was, "global-batch-size"))
        ek__settings_put(s, training, "global_batch_size", "%lld", (long long)b->batch * b->n_micro_batches * b->data);
}

/* ---- layers ---- */

static const char *const by_hand[] = {"module-fqns-per-model-part", "pipeline-parallel-split-points"};
static const char *const counted[] = {"pipeline-parallel-layers-per-stage", "pipeline-parallel-first-stage-less-layers",
                                      "pipeline-parallel-last-stage-less-layers"};

static bool has_any(const ek_job *job, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ek__job_has(job, names[i]))
            return true;
    return false;
}

/* [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]] */
static void write_parts(ek__settings *s)
{
    const ek_plan *plan = &s->now->plan;
    char text[4096] = "[";
    size_t used = 1;
    int n = plan->n_stages * plan->n_chunks, layer = 0;
    for (int q = 0; q < n && used < sizeof text; q++) {
        int cell = ek_cell_at(s->now->schedule->placement, plan->n_stages, q);
        const char *between = "";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%s", q > 0 ? ", " : "",
                                 q == 0 ? "\"tok_embeddings\"" : "");
        between = q == 0 ? ", " : "";
        for (int i = 0; i < plan->layers[cell] && used < sizeof text; i++, between = ", ")
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\"layers.%d\"", between, layer++);
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s]",
                                     q == n - 1 ? *between ? ", \"norm\", \"output\"" : "\"norm\", \"output\"" : "");
    }
    ek__settings_put(s, parallelism, "module_fqns_per_model_part", "%s]", text);
}

/* torchtitan distributes the layers of other parts itself; without settings in the file, *now has that distribution. */
static void write_layers(ek__settings *s)
{
    bool said = has_any(s->was, by_hand, sizeof by_hand / sizeof *by_hand),
         told = has_any(s->was, counted, sizeof counted / sizeof *counted);
    bool same_cells = s->was->plan.n_stages == s->now->plan.n_stages && s->was->plan.n_chunks == s->now->plan.n_chunks;
    if (ek__settings_same_layers(s) || (!same_cells && !said && !told && s->now->plan.n_chunks <= 2))
        return;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        ek__settings_drop(s, counted[i]);
    ek__settings_drop(s, by_hand[1]);
    write_parts(s);
}

static void write_schedule(ek__settings *s)
{
    const ek__framework_schedule *theirs = ek__schedule_in(s->now->schedule, EK_TORCHTITAN);
    bool same = s->was->schedule == s->now->schedule && s->was->plan.n_chunks == s->now->plan.n_chunks;
    if (same || s->now->parallel.pipeline == 1)
        return;
    if (theirs && theirs->word)
        ek__settings_put(s, parallelism, "pipeline_parallel_schedule", "\"%s\"", theirs->word);
    else
        s->why = "the framework has no such schedule";
}

/* ---- recomputation ---- */

/* Are the modes equal: whole layers, none, every n-th, or "op"? */
static bool same_mode(const ek_job *was, const ek_job *now)
{
    const ek_plan *a = &was->plan, *b = &now->plan;
    bool patterns = was->n_patterns == now->n_patterns &&
                    ek__settings_all(a, a->select) == ek__settings_all(b, b->select) &&
                    ek__settings_any(a, a->select) == ek__settings_any(b, b->select);
    bool none = !ek__settings_any(a, a->full) && !ek__settings_any(b, b->full);
    return patterns && (none || ek__torchtitan_period(a) == ek__torchtitan_period(b));
}

static void write_recompute(ek__settings *s)
{
    static const char section[] = "activation_checkpoint";
    const ek_plan *plan = &s->now->plan;
    bool some = ek__settings_any(plan, plan->select) || ek__settings_any(plan, plan->comm);
    if (same_mode(s->was, s->now))
        return;
    if (ek__settings_all(plan, plan->full))
        ek__settings_put(s, section, "mode", "%s", "\"full\"");
    else if (!ek__settings_any(plan, plan->full) && !some)
        ek__settings_put(s, section, "mode", "%s", "\"none\"");
    else if (!ek__settings_any(plan, plan->full) && ek__settings_all(plan, plan->select) &&
             ek__job_keeps_products(s->now)) {
        ek__settings_put(s, section, "mode", "%s", "\"selective\"");
        ek__settings_put(s, section, "selective_ac_option", "%s", "\"op\"");
    } else
        s->why =
            "the framework recomputes whole layers, every n-th of them, or all operators that \"op\" does not save";
}

static void write_run(ek__settings *s)
{
    const ek_job_run *a = &s->was->run, *b = &s->now->run;
    if (b->overlap_tensor && !a->overlap_tensor && b->launch != EK_LAUNCH_COMPILED)
        s->why = "the framework needs its compiler for that";
    else if (b->overlap_tensor && !a->overlap_tensor)
        ek__settings_put(s, parallelism, "enable_async_tensor_parallel", "true");
    if (b->fused_optimizer && !a->fused_optimizer)
        ek__settings_put(s, "optimizer", "implementation", "%s", "\"fused\"");
    if (!b->offload_optimizer && a->offload_optimizer)
        ek__settings_put(s, training, "enable_cpu_offload", "false");
    if (b->launch == EK_LAUNCH_GRAPH && a->launch != EK_LAUNCH_GRAPH)
        s->why = "the framework hands no graphs over";
}

void ek__settings_torchtitan(ek__settings *s)
{
    write_degrees(s);
    write_batch(s);
    write_schedule(s);
    write_layers(s);
    write_recompute(s);
    write_run(s);
    bool others = s->now->rules.allocation != s->was->rules.allocation;
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->setting[i].kind == EK__SETTING_VALUE;
    if (!s->why && n == 0 && !others)
        s->why = "the framework has no key for it";
}
