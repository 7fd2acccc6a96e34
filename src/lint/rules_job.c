/* Rules on the degrees, sizes and memory of a job, whichever kind of file it was read from. Where a rule names a figure
 * it is counted from the job, by a formula that the finding states or by the model of memory (docs/models.md), with the
 * setting as it is and as the rule would have it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/schedule.h"
#include "lint/predict.h"
#include "lint/shell.h"
#include "lint/source_position.h"
#include "schedule/frameworks.h"

#define JOBS             (1U << EK_LINT_YAML | 1U << EK_LINT_SHELL)
#define CHECKS(function) .check = {[EK_LINT_YAML] = (function), [EK_LINT_SHELL] = (function)}

enum {
    NODE_DEVICES = 8,      /* of a machine, as the guides have them */
    LONG_SEQUENCE = 32768, /* tokens */
};
static const double most_bubble = 0.2, most_filled = 0.95;
static const double large_model = 20e9; /* parameters */

/* The text of a fix; NULL where the file has no value to replace. */
static const char *fix_of(const ek__lint_file *file, const ek__job_key *setting, const char *text)
{
    return ek__source_position_of(file, setting).node ? text : NULL;
}

/* ---- degrees ---- */

static const ek__job_key tensor_setting = {{"model_parallel", "tensor_model_parallel_size"},
                                           "--tensor-model-parallel-size"};

static ek_status check_sequence_parallel(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"use_seq_parallel", "sequence_parallel"}, "--sequence-parallel"};
    if (!file->job || file->job->parallel.tensor == 1 || file->job->parallel.sequence_parallel)
        return EK_OK;
    ek__lint_held now, then;
    ek_job changed = *file->job;
    changed.parallel.sequence_parallel = true;
    ek_status status = ek__lint_predict(file->job, run->err, &now);
    if (status == EK_OK)
        status = ek__lint_predict(&changed, run->err, &then);
    if (status)
        return status;
    char figure[160] = "";
    if (now.known && then.known && then.peak_mb < now.peak_mb)
        ek__snprintf(figure, sizeof figure,
                     "; with it the fullest stage would hold %.0f MB instead of %.0f MB (predicted)", then.peak_mb,
                     now.peak_mb);
    return EK__LINT_AT(
        ek__source_either(file, &setting, &tensor_setting), fix_of(file, &setting, "True"),
        "sequence parallelism is off with %d tensor-parallel ranks, so each keeps norms and their inputs whole%s",
        file->job->parallel.tensor, figure);
}

static ek_status check_optimizer_parallel(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"enable_parallel_optimizer", "use_distributed_optimizer"},
                                        "--use-distributed-optimizer"};
    static const ek__job_key data_setting = {{"data_parallel", "data_parallel_size"}, "--data-parallel-size"};
    const ek_job *job = file->job;
    if (!job || job->states.shard_weight || job->states.shard_gradient || job->states.shard_optimizer)
        return EK_OK;
    int group = job->parallel.data * job->parallel.context;
    ek__lint_held now = {0};
    ek_status status = group > 1 ? ek__lint_predict(job, run->err, &now) : EK_OK;
    if (status || group == 1)
        return status;
    char figure[120] = "";
    if (now.known)
        ek__snprintf(figure, sizeof figure, "; they take up to %.0f MB on a device (predicted)", now.optimizer_mb);
    return EK__LINT_AT(ek__source_either(file, &setting, &data_setting), fix_of(file, &setting, "True"),
                       "each of %d data-parallel ranks holds all optimizer states%s; share them with %s", group, figure,
                       job->framework == EK_MEGATRON     ? "--use-distributed-optimizer"
                       : job->framework == EK_MINDSPEED  ? "use_distributed_optimizer: True"
                       : job->framework == EK_TORCHTITAN ? "data_parallel_shard_degree"
                                                         : "enable_parallel_optimizer: True");
}

/* Devices of a machine: those of the script's launcher, else the guides' 8. */
static int node_devices(const ek__lint_file *file)
{
    static const char *const names[] = {"--nproc_per_node", "--nproc-per-node"};
    for (size_t i = 0; i < sizeof names / sizeof *names && file->shell; i++) {
        const char *text = ek__shell_argument(file->shell, names[i]);
        double n;
        if (text && ek__text_is_number(text, &n) && n >= 1 && n <= 1024 && n == floor(n))
            return (int)n;
    }
    return NODE_DEVICES;
}

static ek_status check_tensor_node(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek_job *job = file->job;
    int node = node_devices(file);
    if (!job || (job->parallel.tensor <= node && node % job->parallel.tensor == 0))
        return EK_OK;
    return EK__LINT_AT(
        &tensor_setting, NULL,
        "%d tensor-parallel ranks do not stay within a machine of %d devices, so the communication of every "
        "layer crosses machines; use a divisor of %d, and pipeline stages for the rest",
        job->parallel.tensor, node, node);
}

/* Weights of a model without experts: attention, feed-forward, table and head. */
static double count_parameters(const ek_job_model *m)
{
    double h = m->hidden, attention = 2 * h * m->n_heads * m->head_dim + 2 * h * m->n_kv_heads * m->head_dim,
           feed_forward = (m->gated ? 3 : 2) * h * m->intermediate;
    return m->n_layers * (attention + feed_forward) + (m->tied ? 1 : 2) * h * m->vocab;
}

static ek_status check_tensor_small(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek_job *job = file->job;
    if (!job || job->parallel.tensor == 1 || job->model.n_experts > 0 || job->model.kv_lora_rank > 0)
        return EK_OK;
    double n = count_parameters(&job->model);
    if (n >= 0.975 * large_model) /* 19.5 billion count as 20 */
        return EK_OK;
    return EK__LINT_AT(
        &tensor_setting, NULL,
        "the model has %.1f billion parameters (counted from its shapes), and %d tensor-parallel ranks are "
        "advised from %.0f billion on; data parallelism with a shared optimizer, or pipeline stages, "
        "communicate less",
        n / 1e9, job->parallel.tensor, large_model / 1e9);
}

static ek_status check_context(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"seq_length"}, "--seq-length"};
    const ek_job *job = file->job;
    if (!job || job->parallel.seq_length < LONG_SEQUENCE || job->parallel.context > 1 || job->parallel.n_pieces > 1)
        return EK_OK;
    ek__lint_held now;
    ek_status status = ek__lint_predict(job, run->err, &now);
    if (status)
        return status;
    char figure[120] = "";
    if (now.known)
        ek__snprintf(figure, sizeof figure, ", which keep up to %.0f MB of activations on a device (predicted)",
                     now.activations_mb);
    return EK__LINT_AT(
        &setting, NULL,
        "sequences of %d tokens are on one rank each%s; context_parallel cuts them, and is advised from %d "
        "tokens on",
        job->parallel.seq_length, figure, LONG_SEQUENCE);
}

/* The same devices and sequences with as many more data-parallel ranks; false: they cannot share the batch. */
static bool without_context(const ek_job *job, ek_job *out)
{
    int c = job->parallel.context;
    *out = *job;
    int *count = job->parallel.pipeline > 1 ? &out->parallel.n_micro_batches : &out->parallel.n_accumulation;
    if (*count % c != 0)
        return false;
    *count /= c;
    out->parallel.context = 1;
    out->parallel.data *= c;
    return job->parallel.pipeline == 1 || *count >= job->parallel.pipeline;
}

static ek_status check_context_short(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"context_parallel", "context_parallel_size"}, "--context-parallel-size"};
    const ek_job *job = file->job;
    if (!job || job->parallel.context == 1 || job->parallel.seq_length >= LONG_SEQUENCE)
        return EK_OK;
    ek_job changed;
    ek__lint_held then = {0};
    double change = NAN;
    ek_status status = EK_OK;
    if (without_context(job, &changed)) {
        status = ek__lint_predict(&changed, run->err, &then);
        if (!status)
            status = ek__lint_predict_change(run, job, &changed, &change);
    }
    if (status)
        return status;
    char figure[160] = "", time[120] = "";
    if (then.known)
        ek__snprintf(figure, sizeof figure,
                     "; as data-parallel ranks the fullest stage would hold %.0f MB of %.0f MB (predicted)",
                     then.peak_mb, job->limit_mb);
    if (then.known && job->limit_mb <= 0)
        ek__snprintf(figure, sizeof figure, "; as data-parallel ranks the fullest stage would hold %.0f MB (predicted)",
                     then.peak_mb);
    if (!isnan(change) && change < 0)
        ek__snprintf(time, sizeof time, ", and on %s the step is predicted %.1f %% shorter", run->options->device->name,
                     -100 * change);
    return EK__LINT_AT(&setting, NULL,
                       "sequences of %d tokens are cut over %d ranks, which exchange keys and values in every layer; "
                       "this is advised from %d tokens on%s%s",
                       job->parallel.seq_length, job->parallel.context, LONG_SEQUENCE, figure, time);
}

static ek_status check_copies(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"fine_grain_interleave", "micro_batch_interleave_num"}, NULL};
    const ek_job *job = file->job;
    bool applies = job && job->framework == EK_MINDFORMERS && job->model.n_experts == 0 && job->parallel.tensor > 1 &&
                   job->parallel.sequence_parallel;
    if (file->yaml && ek__lint_find(file->yaml, "parallel_speed_up_json_path"))
        return EK_OK; /* overlaps within operators are switched on there */
    if (!applies || job->parallel.fine_grain > 1 || job->parallel.n_batch_interleave > 1 ||
        count_parameters(&job->model) < 0.975 * large_model)
        return EK_OK;
    const ek_job_parallel *p = &job->parallel;
    double bytes = (double)p->batch * p->seq_length / p->context * job->model.hidden * (p->tensor - 1) / p->tensor *
                   ek_dtype_bytes(job->types.compute);
    return EK__LINT_AT(
        ek__source_either(file, &setting, &tensor_setting), NULL,
        "%d tensor-parallel ranks exchange %.0f MB four times in the forward pass of a layer, and nothing "
        "hides it; with fine_grain_interleave: 2 in model_config the two halves of a batch take turns, "
        "and one computes while the other is exchanged",
        p->tensor, bytes / 0x1p20);
}

/* ---- pipeline ---- */

/* The share of a step that stages idle under 1F1B, its interleaved kind and GPipe. */
static double bubble_of(const ek_job *job, int n_micro_batches)
{
    double p = job->parallel.pipeline, m = (double)n_micro_batches * job->parallel.n_pieces * job->plan.n_chunks;
    return (p - 1) / (m + p - 1);
}

/* Schedules that split the backward pass, or run both ways, have smaller bubbles than the formula's. */
static bool has_usual_bubble(const ek_job *job)
{
    return job->schedule && job->schedule->bubble != EK_BUBBLE_OPEN;
}

/* Is the order of blocks the one that the job has? An order that is not known here was read as the usual one. */
static bool knows_schedule(const ek__lint_file *file)
{
    const ek__node *scheduler = ek__lint_get(file->yaml, "parallel.pipeline_config.pipeline_scheduler");
    if (!scheduler || !scheduler->text)
        return true;
    const ek_schedule *named = ek__schedule_of_word(EK_MINDFORMERS, scheduler->text).schedule;
    return named && ek__schedule_in(named, EK_MINDFORMERS)->same;
}

static ek_status check_bubble(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"micro_batch_num", "global_batch_size"}, "--global-batch-size"};
    const ek_job *job = file->job;
    if (!job || job->parallel.pipeline == 1 || !has_usual_bubble(job) || !knows_schedule(file))
        return EK_OK;
    int p = job->parallel.pipeline, m = job->parallel.n_micro_batches, v = job->plan.n_chunks * job->parallel.n_pieces;
    double bubble = bubble_of(job, m), wanted = (1 - most_bubble) / most_bubble * (p - 1);
    if (bubble <= most_bubble)
        return EK_OK;
    char chunks[40] = "", figure[160] = ""; /* more of them want whole rounds of micro-batches */
    if (m % p == 0)
        ek__snprintf(chunks, sizeof chunks, ", or %.0f chunks", ceil(wanted / m));
    double seconds, share = NAN;
    ek_status status = ek__lint_predict_step(run, job, &seconds, &share);
    if (status)
        return status;
    if (!isnan(seconds))
        ek__snprintf(figure, sizeof figure, "; on %s the step is predicted as %.2f s, of which bubbles take %.0f %%",
                     run->options->device->name, seconds, 100 * share);
    return EK__LINT_AT(&setting, NULL,
                       "%d stages idle for %.0f %% of a step with %d micro-batches and %d chunk%s, by (p-1)/(v m+p-1); "
                       "from %.0f micro-batches on%s, it is at most %.0f %%%s",
                       p, 100 * bubble, m, v, v == 1 ? "" : "s", ceil(wanted / v), chunks, 100 * most_bubble, figure);
}

static ek_status check_one_chunk(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *on = ek__lint_get(file->yaml, "parallel.pipeline_config.pipeline_interleave"),
                   *scheduler = ek__lint_get(file->yaml, "parallel.pipeline_config.pipeline_scheduler");
    const ek_job *job = file->job;
    const ek_schedule *named =
        scheduler && scheduler->text ? ek__schedule_of_word(EK_MINDFORMERS, scheduler->text).schedule : NULL;
    bool usual = !scheduler || (named && ek__schedule_in(named, EK_MINDFORMERS)->by_chunks);
    if (!job || !ek__lint_is_on(on) || !usual || job->plan.n_chunks > 1 || job->parallel.pipeline == 1)
        return EK_OK;
    ek__source_position at = ek__source_position_of_node(on);
    return ek__lint_report(
        run, entry, file, at.line, at.column, at.end_column, NULL,
        "pipeline_interleave is on, but a stage has one chunk; set pp_interleave_num to 2 or more in "
        "model_config, or switch it off");
}

static ek_status check_vpp_rounds(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"micro_batch_num", "global_batch_size"}, "--global-batch-size"};
    const ek_job *job = file->job;
    if (!job || job->plan.n_chunks == 1 || job->parallel.pipeline == 1 ||
        job->parallel.n_micro_batches % job->parallel.pipeline == 0)
        return EK_OK;
    int p = job->parallel.pipeline, m = job->parallel.n_micro_batches;
    return EK__LINT_AT(
        &setting, NULL,
        "%d micro-batches are no multiple of %d stages, so interleaved chunks wait in the last round; use %d "
        "or %d",
        m, p, m / p * p, (m / p + 1) * p);
}

/* ---- free memory ---- */

static bool has_room(const ek_job *job, const ek__lint_held *then)
{
    return then->known && then->peak_mb <= most_filled * job->limit_mb;
}

static ek_status check_micro_batch(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"batch_size", "micro_batch_size"}, "--micro-batch-size"};
    const ek_job *job = file->job;
    if (!job || job->parallel.batch > 1 || job->limit_mb <= 0 || !knows_schedule(file))
        return EK_OK;
    ek_job changed = *job;
    int *count = job->parallel.pipeline > 1 ? &changed.parallel.n_micro_batches : &changed.parallel.n_accumulation;
    double before = bubble_of(job, job->parallel.n_micro_batches);
    if (*count % 2 != 0 || *count / 2 < job->parallel.pipeline)
        return EK_OK;
    *count /= 2;
    changed.parallel.batch = 2;
    double after = bubble_of(&changed, changed.parallel.n_micro_batches);
    if (job->parallel.pipeline > 1 && after > most_bubble)
        return EK_OK;
    ek__lint_held then;
    double change = NAN;
    ek_status status = ek__lint_predict(&changed, run->err, &then);
    if (!status && has_room(job, &then))
        status = ek__lint_predict_change(run, job, &changed, &change);
    if (status || !has_room(job, &then) || change >= 0)
        return status;
    char pays[200];
    if (isnan(change))
        ek__snprintf(pays, sizeof pays, "so 2 pays if a token then takes %.1f %% less time",
                     100 * (1 - (1 - after) / (1 - before)));
    else
        ek__snprintf(pays, sizeof pays, "and on %s the step is predicted %.1f %% shorter", run->options->device->name,
                     -100 * change);
    ek__source_position at = ek__source_position_of_node(ek__lint_get(file->yaml, "runner_config.batch_size"));
    if (!at.node)
        at = ek__source_position_of(file, &setting);
    return ek__lint_report(
        run, entry, file, at.line, at.column, at.end_column, NULL,
        "micro-batches of 1 sequence, though with 2 and half as many the fullest stage would hold %.0f "
        "MB of %.0f MB (predicted); the bubble goes from %.1f %% to %.1f %%, %s",
        then.peak_mb, job->limit_mb, 100 * before, 100 * after, pays);
}

static ek_status check_spare(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{NULL}, "--recompute-granularity"};
    const ek_job *job = file->job;
    int n = job ? job->plan.n_stages * job->plan.n_chunks : 0, whole = 0;
    for (int i = 0; i < n; i++)
        whole += job->plan.full[i];
    if (whole == 0 || job->limit_mb <= 0 || !knows_schedule(file))
        return EK_OK;
    ek_job changed = *job;
    changed.plan.full = ek__pool_alloc(run->pool, (size_t)n, sizeof *changed.plan.full);
    if (!changed.plan.full)
        return ek__no_memory(run->err);
    ek__lint_held then;
    double change = NAN;
    char figure[160] = "";
    ek_status status = ek__lint_predict(&changed, run->err, &then);
    if (!status && has_room(job, &then))
        status = ek__lint_predict_change(run, job, &changed, &change);
    if (status || !has_room(job, &then))
        return status;
    if (!isnan(change))
        ek__snprintf(figure, sizeof figure, "; on %s the step is predicted %.1f %% shorter then",
                     run->options->device->name, -100 * change);
    const ek__node *node = ek__lint_get(file->yaml, "recompute_config.recompute");
    ek__source_position at = node ? ek__source_position_of_node(node) : ek__source_position_of(file, &setting);
    return ek__lint_report(
        run, entry, file, at.line, at.column, at.end_column, at.node && at.node->kind == EK__SCALAR ? "False" : NULL,
        "%d layers are recomputed whole, though without that the fullest stage would hold %.0f MB of "
        "%.0f MB (predicted); recompute fewer%s",
        whole, then.peak_mb, job->limit_mb, figure);
}

static ek_status check_attention(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const ek__job_key setting = {{"use_flash_attention", "use_flash_attn"}, "--attention-backend"};
    const ek_job *job = file->job;
    if (!job || job->model.flash_attention)
        return EK_OK;
    const ek_job_parallel *p = &job->parallel;
    double scores = (double)p->batch * job->model.n_heads / p->tensor * p->seq_length / p->context * p->seq_length;
    return EK__LINT_AT(
        &setting, fix_of(file, &setting, "True"),
        "attention is not fused: the scores of a layer and a micro-batch are %.0f MB on a device, B N/t S^2/cp "
        "elements of %d bytes; switch flash attention on",
        scores * ek_dtype_bytes(job->types.compute) / 0x1p20, ek_dtype_bytes(job->types.compute));
}

#define MODEL                                                                                                          \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"                 \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
#define CHUNKS(n)                                                                                                      \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"                 \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True, pp_interleave_num: " n "}}\n"
#define LARGE                                                                                                          \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 80,\n"                 \
    "                       num_heads: 64, n_kv_heads: 8, vocab_size: 32000, use_flash_attention: True}}\n"
#define LONG(text)                                                                                                     \
    "model: {model_config: {type: LlamaConfig, seq_length: " text ", hidden_size: 4096, num_layers: 32,\n"             \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"

/* clang-format off */
const ek__lint_entry ek__lint_job[] = {
    {
        .about = {.id = "sequence-parallel", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Tensor parallelism without sequence parallelism",
                  .why = "Norms, residual sums and the inputs they keep are cut over the tensor-parallel ranks, with the same amount "
                         "of communication. Without it each rank computes and keeps all of them.",
                  .cost = "The memory of saved norm inputs and the time of the norms, both times t.",
                  .fix = "use_seq_parallel: True (MindFormers), sequence_parallel: True (MindSpeed-Core-MS), --sequence-parallel (Megatron).",
                  .source = "MindFormers performance guide, memory bottleneck, short sequence parallel: turn it on in all MP scenarios",
                  .bad = LARGE "parallel_config: {model_parallel: 8, use_seq_parallel: False}\n",
                  .good = LARGE "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
        CHECKS(check_sequence_parallel),
    },
    {
        .about = {.id = "optimizer-parallel", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Data-parallel ranks do not share the optimizer",
                  .why = "With several data-parallel ranks each can store a part of the optimizer's states (and weights) and gather the "
                         "rest when needed. The guide advises it in most cases.",
                  .cost = "Memory: states of 8 to 12 bytes a parameter on every rank instead of a part of them.",
                  .fix = "enable_parallel_optimizer: True in parallel (MindFormers), use_distributed_optimizer: True (MindSpeed-Core-MS), "
                         "--use-distributed-optimizer (Megatron).",
                  .source = "MindFormers performance guide, memory bottleneck, optimizer parallel; MindSpore dynamic graph guide, "
                            "distributed optimizer",
                  .bad = MODEL "parallel: {enable_parallel_optimizer: False}\n"
                               "parallel_config: {data_parallel: 8}\n",
                  .good = MODEL "parallel: {enable_parallel_optimizer: True}\n"
                                "parallel_config: {data_parallel: 8}\n"},
        CHECKS(check_optimizer_parallel),
    },
    {
        .about = {.id = "tensor-parallel-node", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Tensor parallelism leaves the machine",
                  .why = "Every layer communicates among its tensor-parallel ranks twice in each direction. Within a machine of 8 devices "
                         "that is fast; a group of more than 8, or of a number that does not divide 8, spans machines. Where the launcher's "
                         "--nproc_per_node gives the devices of a machine, that number is used instead of 8.",
                  .cost = "Communication of every layer at the speed of the network between machines.",
                  .fix = "At most 8 tensor-parallel ranks, 2, 4 or 8; pipeline stages for the rest.",
                  .source = "MindFormers performance guide, memory bottleneck, model parallel: limited to 8 to avoid crossing machines",
                  .bad = MODEL "parallel_config: {model_parallel: 16, use_seq_parallel: True}\n",
                  .good = LARGE "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
        CHECKS(check_tensor_node),
    },
    {
        .about = {.id = "tensor-parallel-small", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Tensor parallelism for a model that may not need it",
                  .why = "Tensor parallelism saves the most memory and communicates the most; below 20 billion parameters data "
                         "parallelism with a shared optimizer, or a few pipeline stages, is likely faster.",
                  .cost = "Communication in every layer; the guide's 13B model was slower with tensor parallelism than with data "
                          "parallelism only.",
                  .fix = "Try model_parallel: 1, or --tensor-model-parallel-size 1, with optimizer parallelism or pipeline stages.",
                  .source = "MindFormers performance guide, memory bottleneck (more than 20B) and Llama2-13B case",
                  .bad = MODEL "parallel_config: {model_parallel: 2, use_seq_parallel: True}\n",
                  .good = LARGE "parallel_config: {model_parallel: 2, use_seq_parallel: True}\n"},
        CHECKS(check_tensor_small),
    },
    {
        .about = {.id = "context-parallel", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Long sequences on one rank",
                  .why = "From 32k tokens on the activations of one sequence fill a device; context parallelism cuts the sequence over "
                         "ranks.",
                  .cost = "Activations in proportion to the tokens, or the recomputation that makes up for them.",
                  .fix = "context_parallel (MindFormers), context_parallel_size (MindSpeed-Core-MS) or --context-parallel-size (Megatron) of 2 or "
                         "more.",
                  .source = "MindFormers performance guide, memory bottleneck, long sequence parallel (>= 32k)",
                  .bad = LONG("32768") "parallel_config: {context_parallel: 1}\n",
                  .good = LONG("32768") "parallel_config: {context_parallel: 4}\nparallel: {enable_parallel_optimizer: True}\n"},
        CHECKS(check_context),
    },
    {
        .about = {.id = "pipeline-bubble", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Stages idle for much of a step",
                  .why = "While a pipeline fills and drains, stages wait: (p-1)/(v m+p-1) of a step for p stages, m micro-batches and v "
                         "chunks. Fires above 20 %, a limit of this rule; no source names one. With --device the predicted step and its "
                         "bubble stand beside.",
                  .cost = "The share of the step that the finding names.",
                  .fix = "More micro-batches (a larger global batch, or smaller ones), interleaving, or fewer stages.",
                  .source = "MindFormers performance guide, 'Too many bubbles in the pp scenario' and Llama multi-card case (p 16, m 16)",
                  .bad = MODEL "parallel_config: {pipeline_stage: 8, micro_batch_num: 8}\n",
                  .good = MODEL "parallel_config: {pipeline_stage: 8, micro_batch_num: 64}\n"},
        CHECKS(check_bubble),
    },
    {
        .about = {.id = "vpp-one-chunk", .level = EK_LINT_NOTE, .kinds = 1U << EK_LINT_YAML,
                  .title = "Interleaving is on with one chunk a stage",
                  .why = "pipeline_interleave: True needs pp_interleave_num of 2 or more to divide a stage.",
                  .cost = "The bubble is that of plain 1F1B.",
                  .fix = "Set pp_interleave_num, or pipeline_interleave: False.",
                  .source = "MindFormers performance guide, 'Too many bubbles in the pp scenario'",
                  .bad = MODEL "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
                               "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n",
                  .good = CHUNKS("2") "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
                                      "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n"},
        .check = {[EK_LINT_YAML] = check_one_chunk},
    },
    {
        .about = {.id = "vpp-micro-batches", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Interleaving with micro-batches that are no multiple of the stages",
                  .why = "Interleaved 1F1B sends micro-batches through in rounds of p; the last round is not full otherwise. Megatron "
                         "refuses it.",
                  .cost = "The missing micro-batches of the last round are idle time on every stage, v chunks each.",
                  .fix = "micro_batch_num a multiple of pipeline_stage; in Megatron a global batch that makes it one.",
                  .source = "Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters, section 2.2",
                  .bad = CHUNKS("2") "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
                                     "parallel_config: {pipeline_stage: 4, micro_batch_num: 62}\n",
                  .good = CHUNKS("2") "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
                                      "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n"},
        CHECKS(check_vpp_rounds),
    },
    {
        .about = {.id = "micro-batch-size", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Micro-batches of one sequence where memory has room for two",
                  .why = "Larger micro-batches run operators more efficiently, but halve the micro-batches of a step and so enlarge the "
                         "bubble. With memory to spare 2 is likely better. Fires where the predicted peak with 2 stays below 95 % of "
                         "max_device_memory and the bubble below 20 %; with --device, where the step is predicted to get shorter.",
                  .cost = "Efficiency of kernels; measure both, or give --device for a prediction.",
                  .fix = "Try batch_size: 2 with half of micro_batch_num; --micro-batch-size 2 in Megatron, whose global batch stays.",
                  .source = "MindSpore dynamic graph guide, performance settings, micro-batch-size",
                  .bad = MODEL "context: {max_device_memory: '58GB'}\n"
                               "runner_config: {batch_size: 1}\n"
                               "parallel: {enable_parallel_optimizer: True}\n"
                               "parallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 128}\n",
                  .good = MODEL "context: {max_device_memory: '58GB'}\n"
                                "runner_config: {batch_size: 2}\n"
                                "parallel: {enable_parallel_optimizer: True}\n"
                                "parallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 64}\n"},
        CHECKS(check_micro_batch),
    },
    {
        .about = {.id = "recompute-spare", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Layers are recomputed whole where memory has room",
                  .why = "Full recomputation repeats the forward pass of a layer. Where the predicted peak without it stays below 95 % of "
                         "max_device_memory it is likely not needed.",
                  .cost = "20 to 25 % more computation where all layers are recomputed, by the guide's 13B case.",
                  .fix = "recompute: False, or fewer layers (--recompute-num-layers in Megatron); evenkeel balance finds the least that fits.",
                  .source = "MindFormers performance guide, overall concept and Llama2-13B case; MindSpore dynamic graph guide, recompute",
                  .bad = MODEL "context: {max_device_memory: '58GB'}\n"
                               "recompute_config: {recompute: True}\n"
                               "parallel: {enable_parallel_optimizer: True}\n"
                               "parallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 64}\n",
                  .good = MODEL "context: {max_device_memory: '58GB'}\n"
                                "recompute_config: {recompute: False}\n"
                                "parallel: {enable_parallel_optimizer: True}\n"
                                "parallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 64}\n"},
        CHECKS(check_spare),
    },
    {
        .about = {.id = "flash-attention", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Attention is not fused",
                  .why = "Without flash attention the scores of all pairs of tokens are written to memory, and kept for the backward "
                         "pass. Fused operators gain time and memory in general.",
                  .cost = "The bytes in the finding, a layer and a micro-batch, at least twice (scores and probabilities).",
                  .fix = "use_flash_attention: True (MindFormers), use_flash_attn: True (MindSpeed-Core-MS), --use-flash-attn (Megatron).",
                  .source = "MindFormers performance guide, computing length bottleneck, fusion operator replacement",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000, use_flash_attention: False}}\n"
                         "parallel_config: {data_parallel: 1}\n",
                  .good = MODEL "parallel_config: {data_parallel: 1}\n"},
        CHECKS(check_attention),
    },
    {
        .about = {.id = "context-parallel-short", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Context parallelism on short sequences",
                  .why = "Context-parallel ranks exchange keys and values, or heads, in every layer, to cut the activations of long "
                         "sequences. Below 32K tokens the activations are small enough for other means: sequence parallelism, "
                         "selective recomputation, fused attention. Data-parallel ranks only exchange gradients.",
                  .cost = "Communication in every layer. The finding states the memory without it where the batch can be shared "
                          "out, and with --device the change of the step.",
                  .fix = "context_parallel: 1 and as many more data-parallel ranks, where memory allows it.",
                  .source = "MindFormers performance guide, memory bottleneck, long sequence parallel: from 32k on",
                  .bad = MODEL "context: {max_device_memory: \"58GB\"}\nparallel: {enable_parallel_optimizer: True}\n"
                               "parallel_config: {data_parallel: 4, context_parallel: 2}\nrunner_wrapper: {type: "
                               "GradAccumulationCell}\nrunner_config: {gradient_accumulation_steps: 8}\n",
                  .good = LONG("65536") "parallel: {enable_parallel_optimizer: True}\n"
                                        "parallel_config: {data_parallel: 4, context_parallel: 2}\n"},
        CHECKS(check_context_short),
    },
    {
        .about = {.id = "multi-copy", .level = EK_LINT_NOTE, .kinds = 1U << EK_LINT_YAML,
                  .title = "A large model with tensor parallelism has no second copy to hide communication",
                  .why = "With two copies, or fine-grained ones within a layer, one part of the batch computes while the other "
                         "communicates. The guide advises it together with model parallelism for large models; here from 20 "
                         "billion parameters on. Silent with a parallel_speed_up_json_path, whose file may switch other overlaps on.",
                  .cost = "The communication of tensor parallelism in every layer is waited for; the finding states its volume.",
                  .fix = "fine_grain_interleave: 2 in model_config, or micro_batch_interleave_num: 2.",
                  .source = "MindFormers performance guide, parallel strategies, large models: sequence and multi-copy "
                            "parallelism are advised too; unmasked communication",
                  .bad = LARGE "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n",
                  .good = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 80,\n"
                          "                       num_heads: 64, n_kv_heads: 8, vocab_size: 32000, use_flash_attention: True,\n"
                          "                       fine_grain_interleave: 2}}\n"
                          "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
        .check = {[EK_LINT_YAML] = check_copies},
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
