/* Settings of torchtitan for what a measure changed: keys of its TOML, found by comparing the job with what it was.
 * What has no key there is not possible: recomputation of some operators or of the first layers of a stage (it has
 * per-operator checkpointing and every n-th layer), schedules that PyTorch does not have. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory/measures.h"

static void say(ek_measure *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(ek_measure *out, const char *format, ...)
{
    size_t n = strlen(out->setting);
    if (n > 0 && n + 2 < sizeof out->setting)
        n += (size_t)snprintf(out->setting + n, sizeof out->setting - n, ", ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->setting + n, sizeof out->setting - n, format, arguments);
    va_end(arguments);
}

static void refuse(ek_measure *out, const char *why)
{
    out->possible = false;
    snprintf(out->why, sizeof out->why, "%s", why);
}

/* Replicas of the sharded model. */
static int replicas_of(const ek_job *job)
{
    int group = job->parallel.data * job->parallel.context, size = job->states.shard_size;
    return size > 0 && group % size == 0 ? group / size : 1;
}

static void say_degrees(const ek_job *was, const ek_job *now, ek_measure *out)
{
    const ek_job_parallel *a = &was->parallel, *b = &now->parallel;
    int replicas = replicas_of(was);
    if (b->tensor != a->tensor)
        say(out, "tensor_parallel_degree = %d", b->tensor);
    if (b->context != a->context)
        say(out, "context_parallel_degree = %d", b->context);
    if (b->pipeline != a->pipeline)
        say(out, "pipeline_parallel_degree = %d", b->pipeline);
    if (b->expert != a->expert)
        say(out, "expert_parallel_degree = %d", b->expert);
    if (b->data != a->data && b->data % replicas == 0)
        say(out, "data_parallel_shard_degree = %d", b->data / replicas);
    else if (b->data != a->data)
        say(out, "data_parallel_replicate_degree = 1, data_parallel_shard_degree = %d", b->data);
}

/* A pipeline cuts the batch of a rank; without one, runs of smaller batches are summed. */
static void say_batch(const ek_job *was, const ek_job *now, ek_measure *out)
{
    const ek_job_parallel *a = &was->parallel, *b = &now->parallel;
    bool piped = b->pipeline > 1, was_piped = a->pipeline > 1;
    if (b->batch == a->batch && b->n_micro_batches == a->n_micro_batches && piped == was_piped)
        return;
    if (piped)
        say(out, "pipeline_parallel_microbatch_size = %d, local_batch_size = %d", b->batch,
            b->batch * b->n_micro_batches);
    else
        say(out, "local_batch_size = %d, global_batch_size = %lld", b->batch,
            (long long)b->batch * b->n_micro_batches * b->data);
}

/* @return false where PyTorch has no such schedule */
static bool say_schedule(const ek_job *was, const ek_job *now, ek_measure *out)
{
    static const char *const names[][2] = {{"1f1b", "1F1B"},
                                           {"gpipe", "GPipe"},
                                           {"interleaved", "Interleaved1F1B"},
                                           {"zb-v", "ZBVZeroBubble"},
                                           {"dualpipev", "DualPipeV"}};
    bool same = was->schedule == now->schedule && was->plan.n_chunks == now->plan.n_chunks;
    if (same || now->parallel.pipeline == 1)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(now->schedule->name, names[i][0]) == 0) {
            say(out, "pipeline_parallel_schedule = \"%s\"", names[i][1]);
            if (now->plan.n_chunks > 2) /* two are usual */
                say(out, "module_fqns_per_model_part of %d parts", now->plan.n_stages * now->plan.n_chunks);
            return true;
        }
    return false;
}

/* Layers of parts that were there before: torchtitan splits others by itself. */
static void say_layers(const ek_job *was, const ek_job *now, ek_measure *out)
{
    const ek_plan *a = &was->plan, *b = &now->plan;
    int n = b->n_stages * b->n_chunks;
    if (a->n_stages != b->n_stages || a->n_chunks != b->n_chunks ||
        memcmp(a->layers, b->layers, (size_t)n * sizeof *b->layers) == 0)
        return;
    say(out, "module_fqns_per_model_part of");
    for (int q = 0; q < n; q++) {
        size_t at = strlen(out->setting);
        int c = ek_cell_at(now->schedule->placement, b->n_stages, q);
        snprintf(out->setting + at, sizeof out->setting - at, "%s %d", q ? "," : "", b->layers[c]);
    }
    size_t at = strlen(out->setting);
    snprintf(out->setting + at, sizeof out->setting - at, " layers");
}

static int sum(const ek_plan *plan, const int *list)
{
    int total = 0;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        total += list[c];
    return total;
}

/* @return false where the file has no words for it */
static bool say_recompute(const ek_job *was, const ek_job *now, ek_measure *out)
{
    const ek_plan *a = &was->plan, *b = &now->plan;
    int full = sum(b, b->full), layers = sum(b, b->layers), some = sum(b, b->select) + sum(b, b->comm);
    if (full == sum(a, a->full) && some == sum(a, a->select) + sum(a, a->comm) && now->n_patterns == was->n_patterns)
        return true;
    if (full == layers)
        say(out, "mode = \"full\" of [activation_checkpoint]");
    else if (full == 0 && some == 0)
        say(out, "mode = \"none\" of [activation_checkpoint]");
    else
        return false;
    return true;
}

void ek__measure_say_torchtitan(const ek_job *was, ek__measure_try *t)
{
    ek_measure *out = t->out;
    if (t->job->rules.allocation != was->rules.allocation)
        return; /* a variable of PyTorch's, whoever uses it */
    out->setting[0] = '\0';
    say_degrees(was, t->job, out);
    say_batch(was, t->job, out);
    say_layers(was, t->job, out);
    if (!say_schedule(was, t->job, out))
        refuse(out, "the framework has no such schedule");
    else if (!say_recompute(was, t->job, out))
        refuse(out, "the framework recomputes whole layers, every n-th of them or all but what \"op\" keeps");
    else if (!out->setting[0])
        refuse(out, "the framework has no key for it");
}
