/* Compares two jobs setting by setting, to check a job that was written into a file and read again. Settings without
 * effect in such a job are ignored: groups of experts without experts, buckets without overlap, and similar ones. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/schedule.h"
#include "job/write.h"

typedef enum type { INT, BOOL, DOUBLE, INT64 } type;

typedef struct field {
    const char *name;
    size_t at;
    type type;
} field;

/* An enum is as wide as an int. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of members */
#define F(group, member, kind)                                                                                         \
    {                                                                                                                  \
#member, offsetof(ek_job, group.member), kind                                                                  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define M(member, kind) F(model, member, kind)
#define P(member, kind) F(parallel, member, kind)
#define S(member, kind) F(states, member, kind)
#define R(member, kind) F(run, member, kind)

static const field fields[] = {
    M(n_layers, INT),
    M(n_prediction_layers, INT),
    M(hidden, INT),
    M(n_heads, INT),
    M(n_kv_heads, INT),
    M(head_dim, INT),
    M(value_dim, INT),
    M(intermediate, INT),
    M(vocab, INT),
    M(max_position, INT),
    M(gated, BOOL),
    M(fused_swiglu, BOOL),
    M(qkv_concat, BOOL),
    M(gate_apart, BOOL),
    M(qkv_bias, BOOL),
    M(linear_bias, BOOL),
    M(layer_norm, BOOL),
    M(qk_norm, BOOL),
    M(tied, BOOL),
    M(flash_attention, BOOL),
    M(mask_compressed, BOOL),
    M(mask_given, BOOL),
    M(no_mask, BOOL),
    M(position_table, BOOL),
    M(hidden_dropout, DOUBLE),
    M(attention_dropout, DOUBLE),
    M(q_lora_rank, INT),
    M(kv_lora_rank, INT),
    M(nope_dim, INT),
    M(rope_dim, INT),
    M(n_experts, INT),
    M(top_k, INT),
    M(expert_intermediate, INT),
    M(shared_intermediate, INT),
    M(n_dense_layers, INT),
    M(expert_period, INT),
    M(capacity_factor, DOUBLE),
    M(grouped_matmul, BOOL),
    M(router_groups, INT),
    M(router_top_groups, INT),
    F(types, compute, INT),
    F(types, param, INT),
    F(types, embedding, INT),
    F(types, norm, INT),
    F(types, softmax, INT),
    F(types, rotary, INT),
    F(types, router, INT),
    F(types, residual, INT),
    P(data, INT),
    P(tensor, INT),
    P(pipeline, INT),
    P(context, INT),
    P(expert, INT),
    P(expert_tensor, INT),
    P(batch, INT),
    P(seq_length, INT),
    P(n_micro_batches, INT),
    P(n_accumulation, INT),
    P(n_batch_interleave, INT),
    P(n_pieces, INT),
    P(fine_grain, INT),
    P(sequence_parallel, BOOL),
    P(table_split, INT),
    P(head_split, INT),
    P(context_algorithm, INT),
    P(ulysses, INT),
    S(weight, INT),
    S(gradient, INT),
    S(optimizer, INT),
    S(gathered, INT),
    S(shard_weight, BOOL),
    S(shard_gradient, BOOL),
    S(shard_optimizer, BOOL),
    S(shard_table, BOOL),
    S(shard_size, INT),
    S(instances, INT),
    S(shard_threshold, INT64),
    S(gathered_ahead, INT),
    S(scattered_bytes, INT),
    S(gathered_ends, BOOL),
    S(bucket_elements, DOUBLE),
    S(n_buckets, INT),
    S(reuse_elements, DOUBLE),
    S(prefetch_elements, DOUBLE),
    S(live_elements, DOUBLE),
    R(overlap_gradients, BOOL),
    R(overlap_weights, BOOL),
    R(overlap_tensor, BOOL),
    R(overlap_expert, BOOL),
    R(send_once, BOOL),
    R(overlap_p2p, BOOL),
    R(bucket_bytes, DOUBLE),
    R(reduce_bytes, INT),
    R(launch, INT),
    R(fused_optimizer, BOOL),
    R(offload_optimizer, BOOL),
    R(fp8, INT),
    R(fp8_gather, BOOL),
    R(gathers_once, BOOL),
    R(sums_every_micro_batch, BOOL),
    R(overlap_tensor_gradients, BOOL),
    R(overlap_shared, BOOL),
    R(context_uneven, BOOL),
    R(p2p_scattered, BOOL),
    R(layer_buckets, BOOL),
    R(first_stage_buckets, BOOL),
    R(owned_tensors, BOOL),
    R(attention, INT),
    R(full_batch, BOOL),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static double value_of(const ek_job *job, const field *f)
{
    const void *at = (const char *)job + f->at;
    return f->type == INT      ? *(const int *)at
           : f->type == BOOL   ? *(const bool *)at
           : f->type == DOUBLE ? *(const double *)at
                               : (double)*(const int64_t *)at;
}

/* ---- settings without effect ---- */

static int group_of(const ek_job *job)
{
    return job->parallel.data * job->parallel.context;
}

/* Scalars of a job; those without effect in it are reset. Owns nothing. */
static ek_job without_idle(const ek_job *job)
{
    ek_job out = *job;
    ek_job_parallel *p = &out.parallel;
    ek_job_states *s = &out.states;
    ek_job_run *run = &out.run;
    int group = group_of(job);
    bool shares = s->shard_weight || s->shard_gradient || s->shard_optimizer;
    if (out.model.n_experts == 0) {
        p->expert = p->expert_tensor = out.model.top_k = out.model.expert_period = 1;
        out.model.n_dense_layers = out.model.expert_intermediate = out.model.shared_intermediate = 0;
        run->overlap_expert = run->overlap_shared = false;
    }
    if (p->context == 1) {
        p->ulysses = 1;
        p->context_algorithm = EK_CONTEXT_GATHER;
        run->context_uneven = false;
    }
    if (p->data == 1)
        run->full_batch = false;
    if (p->pipeline == 1) {
        run->overlap_p2p = run->p2p_scattered = run->first_stage_buckets = false;
    }
    if (!shares || s->shard_size <= 0 || s->shard_size >= group || group % s->shard_size != 0)
        s->shard_size = -1;
    if (!s->shard_optimizer || s->instances < 1)
        s->instances = 1;
    if (!run->overlap_gradients)
        run->bucket_bytes = 0;
    if (p->tensor == 1) {
        run->overlap_tensor = run->overlap_tensor_gradients = p->sequence_parallel = false;
        p->fine_grain = 1;
    }
    return out;
}

/* ---- comparisons ---- */

/* A member's name for people: "micro batches" of n_micro_batches. */
static const char *spell(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", strncmp(name, "n_", 2) == 0 ? name + 2 : name);
    for (char *c = out; *c; c++)
        *c = (char)(*c == '_' ? ' ' : *c);
    return out;
}

static bool differ_in_fields(const ek_job *job, const ek_job *wanted, char *why, size_t size)
{
    const ek_job a = without_idle(job), b = without_idle(wanted);
    for (int i = 0; i < N_FIELDS; i++) {
        char name[64];
        double x = value_of(&a, &fields[i]), y = value_of(&b, &fields[i]);
        if (x == y)
            continue;
        spell(fields[i].name, name, sizeof name);
        if (fields[i].type == BOOL)
            snprintf(why, size, "%s would be %s instead of the requested %s", name, x != 0 ? "on" : "off",
                     y != 0 ? "on" : "off");
        else
            ek__snprintf(why, size, "%s would be %.12g instead of the requested %.12g", name, x, y);
        return true;
    }
    return false;
}

/* Rules from a user or a calibration are not in any file; the time of gathering has no effect if no weights are
 * gathered. */
static bool differ_in_rules(const ek_job *job, const ek_job *wanted, char *why, size_t size)
{
    for (int i = 0; ek_rule_names[i]; i++) {
        char x[64], y[64];
        bool told = (wanted->rules_told >> i & 1) || strcmp(ek_rule_basis[i], "calibrated") == 0 ||
                    (wanted->states.gathered == 0 && strcmp(ek_rule_names[i], "weight_gather") == 0);
        if (told || !ek_rules_get(&job->rules, ek_rule_names[i], x, sizeof x) ||
            !ek_rules_get(&wanted->rules, ek_rule_names[i], y, sizeof y) || strcmp(x, y) == 0)
            continue;
        snprintf(why, size, "the rule %s would be %s instead of the requested %s", ek_rule_names[i], x, y);
        return true;
    }
    return false;
}

static bool differ_in_lists(const ek_job *job, const ek_job *wanted, char *why, size_t size)
{
    const ek_plan *a = &job->plan, *b = &wanted->plan;
    const struct {
        const char *name;
        const int *x, *y;
    } lists[] = {{"layers", a->layers, b->layers}, {"layers recomputed whole", a->full, b->full}};
    if (a->n_stages != b->n_stages || a->n_chunks != b->n_chunks) {
        snprintf(why, size, "there would be %d stages of %d chunks instead of the requested %d of %d", a->n_stages,
                 a->n_chunks, b->n_stages, b->n_chunks);
        return true;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int c = 0; c < a->n_stages * a->n_chunks; c++)
            if (lists[i].x[c] != lists[i].y[c]) {
                snprintf(why, size, "chunk %d of stage %d would have %d %s instead of the requested %d",
                         c / a->n_stages, c % a->n_stages, lists[i].x[c], lists[i].name, lists[i].y[c]);
                return true;
            }
    if (ek__settings_any(a, a->full) && job->full_group != wanted->full_group) {
        snprintf(why, size, "%d layers would be recomputed together instead of the requested %d", job->full_group,
                 wanted->full_group);
        return true;
    }
    return false;
}

/* Layers of a chunk that a pattern is for; in MindSpeed-Core-MS, layers recomputed whole come before them. */
static int effective(const ek_job *job, const ek_pattern *pattern, int cell)
{
    bool hidden = job->framework == EK_MINDSPEED && pattern->layers[cell] <= job->plan.full[cell];
    return hidden ? 0 : pattern->layers[cell];
}

/* The next pattern of the kind that applies to any layer. */
static const ek_pattern *next_active(const ek_job *job, ek_pattern_kind kind, int *i)
{
    while (*i < job->n_patterns) {
        const ek_pattern *pattern = &job->pattern[(*i)++];
        for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks && pattern->kind == kind; c++)
            if (effective(job, pattern, c) > 0)
                return pattern;
    }
    return NULL;
}

static bool same_layers(const ek_job *job, const ek_pattern *a, const ek_job *wanted, const ek_pattern *b)
{
    bool same = true;
    for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
        same = same && effective(job, a, c) == effective(wanted, b, c);
    return same;
}

static bool differ_in_kind(const ek_job *job, const ek_job *wanted, ek_pattern_kind kind, char *why, size_t size)
{
    for (int i = 0, k = 0;;) {
        const ek_pattern *a = next_active(job, kind, &i), *b = next_active(wanted, kind, &k);
        if (!a && !b)
            return false;
        if (!a || !b || strcmp(a->text, b->text) != 0) {
            snprintf(why, size, "the pattern '%.80s' would %s", b ? b->text : a->text,
                     b ? "not be recomputed" : "be recomputed, which is not requested");
            return true;
        }
        if (!same_layers(job, a, wanted, b)) {
            snprintf(why, size, "the pattern '%.80s' would be recomputed in other layers", a->text);
            return true;
        }
    }
}

/* A file lists one kind after the other, independent of their order in the job. */
static bool differ_in_patterns(const ek_job *job, const ek_job *wanted, char *why, size_t size)
{
    bool differ = false;
    for (int kind = 0; kind < EK_N_PATTERN_KINDS && !differ; kind++)
        differ = differ_in_kind(job, wanted, (ek_pattern_kind)kind, why, size);
    return differ;
}

bool ek__job_differs(const ek_job *job, const ek_job *wanted, char *why, size_t size)
{
    if (differ_in_fields(job, wanted, why, size) || differ_in_lists(job, wanted, why, size) ||
        differ_in_patterns(job, wanted, why, size))
        return true;
    if (wanted->parallel.pipeline > 1 && job->schedule != wanted->schedule) {
        snprintf(why, size, "the schedule would be %s instead of the requested %s", job->schedule->name,
                 wanted->schedule->name);
        return true;
    }
    return differ_in_rules(job, wanted, why, size);
}
