#include "memory_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "job/job_internal.h"

/* ---- live buffers ---- */

typedef struct record {
    uint64_t key; /* 0: free */
    int64_t bytes;
    int part;
} record;

typedef struct table {
    size_t size, n; /* size: a power of two */
    record *record;
} table;

static record *slot(const table *t, uint64_t key)
{
    size_t at = (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (t->size - 1);
    while (t->record[at].key && t->record[at].key != key)
        at = (at + 1) & (t->size - 1);
    return &t->record[at];
}

static void grow(table *t)
{
    table bigger = {.size = t->size ? 2 * t->size : 1024};
    bigger.record = calloc(bigger.size, sizeof *bigger.record);
    assert_non_null(bigger.record);
    for (size_t i = 0; i < t->size; i++)
        if (t->record[i].key) {
            *slot(&bigger, t->record[i].key) = t->record[i];
            bigger.n++;
        }
    free(t->record);
    *t = bigger;
}

/* Entries stay with bytes -1 once they are released: a key is only used again for the same tensor. */
typedef struct replay {
    const ek_job *job;
    const ek__job_programs *programs;
    int stage;
    size_t block;
    table live;
    int64_t now;
    int64_t part[EK_N_MEMORY_PARTS];
    replay_result result;
    double pairs;
    replay_listener *listener;
    void *user;
    replay_moment *moment; /* [blocks]; NULL: not needed */
} replay;

static bool is_live(const replay *r, uint64_t key)
{
    const record *e = slot(&r->live, key);
    return e->key && e->bytes >= 0;
}

static void take(replay *r, uint64_t key, int64_t bytes, int part)
{
    if (2 * (r->live.n + 1) > r->live.size)
        grow(&r->live);
    record *e = slot(&r->live, key);
    if (e->key && e->bytes >= 0)
        fail_msg("stage %d, block %zu: buffer %llx is taken twice", r->stage, r->block, (unsigned long long)key);
    r->live.n += !e->key;
    *e = (record){key, bytes, part};
    r->now += bytes;
    r->part[part] += bytes;
    if (r->listener && bytes)
        r->listener(r->user, key, bytes);
    if (r->moment && r->now > r->moment[r->block].peak)
        r->moment[r->block].peak = r->now;
    if (r->now > r->result.peak) {
        r->result.peak = r->now;
        r->result.block = r->block;
        r->result.alive = r->pairs;
        memcpy(r->result.part, r->part, sizeof r->part);
    }
}

static void give(replay *r, uint64_t key)
{
    record *e = slot(&r->live, key);
    if (!e->key || e->bytes < 0)
        fail_msg("stage %d, block %zu: buffer %llx is given back but not there", r->stage, r->block,
                 (unsigned long long)key);
    r->now -= e->bytes;
    r->part[e->part] -= e->bytes;
    if (r->listener && e->bytes)
        r->listener(r->user, key, -e->bytes);
    e->bytes = -1;
}

/* ---- keys ---- */

enum { KEY_BUFFER = 1, KEY_BORDER, KEY_BORDER_GRADIENT, KEY_WEIGHT, KEY_MASK };

/* kind 3 bits, place (model position and entry) 24, micro-batch and copy 20, buffer 16 */
static uint64_t key_of(int what, int position, int at, uint32_t micro_batch, int copy, int buffer)
{
    return (uint64_t)what << 61 | (uint64_t)position << 49 | (uint64_t)at << 37 | (uint64_t)micro_batch << 19 |
           (uint64_t)copy << 16 | (uint64_t)buffer;
}

/* Stage and chunk of a model position on a micro-batch's way, by trying them all. @return the stage, -1: none */
static int stage_at(const ek_job *job, int way, int position)
{
    int p = job->plan.n_stages, v = ek__stage_n_chunks(job);
    for (int s = 0; s < p; s++)
        for (int i = 0; i < v; i++)
            if ((job->schedule->placement != EK_PLACE_BOTH_WAYS || i == way) &&
                ek_position(job->schedule->placement, p, i, s) == position)
                return s;
    return -1;
}

/* ---- running ---- */

typedef struct block_at {
    const ek_block *block;
    int position, copy;
    const ek__chunk_programs *chunk;
} block_at;

/* The tensor between two entries; after a chunk's last one it is the next chunk's. */
static uint64_t border_key(const block_at *at, int what, int entry)
{
    int position = at->position;
    if (entry == at->chunk->n) {
        position++;
        entry = 0;
    }
    return key_of(what, position, entry, at->block->micro_batch, at->copy, 0);
}

static uint64_t buffer_key(const block_at *at, const ek__run *run, int buffer)
{
    switch (buffer) {
    case EK__BUFFER_INPUT:
        return border_key(at, KEY_BORDER, run->entry);
    case EK__BUFFER_OUTPUT:
        return border_key(at, KEY_BORDER, run->entry + 1);
    case EK__BUFFER_INPUT_GRADIENT:
        return border_key(at, KEY_BORDER_GRADIENT, run->entry);
    case EK__BUFFER_OUTPUT_GRADIENT:
        return border_key(at, KEY_BORDER_GRADIENT, run->entry + 1);
    default:
        break;
    }
    if (run->program->buffer[buffer].what == EK__CLASS_GRADIENT)
        return key_of(KEY_WEIGHT, at->position, run->entry, 0, 0, buffer);
    return key_of(KEY_BUFFER, at->position, run->entry, at->block->micro_batch, at->copy, buffer);
}

static int part_of(const ek__program *program, int buffer)
{
    switch (program->buffer[buffer].what) {
    case EK__CLASS_KEPT:
        return EK_PART_ACTIVATIONS;
    case EK__CLASS_GRADIENT:
        return EK_PART_GRADIENTS;
    case EK__CLASS_BORDER:
        return buffer == EK__BUFFER_INPUT || buffer == EK__BUFFER_OUTPUT ? EK_PART_ACTIVATIONS : EK_PART_TRANSIENT;
    case EK__CLASS_TRANSIENT:
        break;
    }
    return EK_PART_TRANSIENT;
}

static void run_events(replay *r, const block_at *at, const ek__run *run)
{
    const ek__program *program = run->program;
    for (int e = 0; e < program->n_events[run->part]; e++) {
        int event = program->event[run->part][e], buffer = abs(event) - 1;
        uint64_t key = buffer_key(at, run, buffer);
        bool of_weight = program->buffer[buffer].what == EK__CLASS_GRADIENT;
        if (event < 0) {
            assert_false(of_weight);
            give(r, key);
        } else if (!of_weight || !is_live(r, key)) {
            take(r, key, program->buffer[buffer].bytes,
                 at->block->kind == EK_BACKWARD && run->part == EK_FORWARD ? EK_PART_TRANSIENT
                                                                           : part_of(program, buffer));
        }
    }
    if (run->drops_output)
        give(r, buffer_key(at, run, EK__BUFFER_OUTPUT));
}

static void run_copy(replay *r, const block_at *at)
{
    const ek__chunk_programs *chunk = at->chunk;
    int way = r->job->schedule->placement == EK_PLACE_BOTH_WAYS ? at->block->chunk : 0, kind = at->block->kind;
    int before = stage_at(r->job, way, at->position - 1), behind = stage_at(r->job, way, at->position + 1);
    bool other_before = before >= 0 && before != r->stage, other_behind = behind >= 0 && behind != r->stage;
    uint64_t input = key_of(KEY_BORDER, at->position, 0, at->block->micro_batch, at->copy, 0),
             output = border_key(at, KEY_BORDER, chunk->n);
    uint64_t output_gradient = border_key(at, KEY_BORDER_GRADIENT, chunk->n);
    uint64_t input_gradient = key_of(KEY_BORDER_GRADIENT, at->position, 0, at->block->micro_batch, at->copy, 0);
    if (kind == EK_FORWARD && other_before)
        take(r, input, r->programs->border, EK_PART_ACTIVATIONS);
    if (kind == EK_BACKWARD && other_behind)
        take(r, output_gradient, r->programs->border_gradient, EK_PART_TRANSIENT);
    if (chunk->n == 0 && kind == EK_FORWARD) { /* it passes its input on */
        give(r, input);
        take(r, output, r->programs->border, EK_PART_ACTIVATIONS);
    } else if (chunk->n == 0 && kind == EK_BACKWARD) {
        give(r, output_gradient);
        take(r, input_gradient, r->programs->border_gradient, EK_PART_TRANSIENT);
    }
    for (int i = 0; i < chunk->n_runs[kind]; i++)
        run_events(r, at, &chunk->run[kind][i]);
    if (kind == EK_FORWARD && other_behind)
        give(r, output);
    if (kind == EK_BACKWARD && other_before)
        give(r, input_gradient);
}

static void run_block(replay *r, const ek_block *block)
{
    const ek_job *job = r->job;
    int p = job->plan.n_stages, position = ek_position(job->schedule->placement, p, block->chunk, r->stage);
    int cell = job->schedule->placement == EK_PLACE_BOTH_WAYS ? position : block->chunk * p + r->stage;
    int copies = job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1;
    bool has_mask = job->schedule->placement == EK_PLACE_BOTH_WAYS || block->chunk == 0;
    block_at at = {block, position, 0, &r->programs->chunk[cell]};
    int last = job->schedule->splits_backward ? EK_BACKWARD_WEIGHT : EK_BACKWARD;
    if (block->kind == EK_FORWARD)
        r->pairs += 1.0 / job->plan.n_chunks;
    for (int c = 0; c < copies && block->kind == EK_FORWARD && has_mask; c++)
        take(r, key_of(KEY_MASK, 0, 0, block->micro_batch, c, 0), ek__mask_bytes(job), EK_PART_OTHER);
    for (int c = 0; c < copies; c++) {
        at.copy = block->kind == EK_FORWARD ? c : copies - 1 - c;
        run_copy(r, &at);
    }
    for (int c = 0; c < copies && block->kind == EK_BACKWARD && has_mask; c++)
        give(r, key_of(KEY_MASK, 0, 0, block->micro_batch, c, 0));
    if (block->kind == last)
        r->pairs -= 1.0 / job->plan.n_chunks;
}

static replay_result run_stage(replay r, const ek_block *blocks, size_t n_blocks)
{
    r.result.block = n_blocks;
    grow(&r.live);
    for (r.block = 0; r.block < n_blocks; r.block++) {
        if (r.moment)
            r.moment[r.block].peak = r.now;
        run_block(&r, &blocks[r.block]);
        if (r.moment)
            r.moment[r.block].after = r.now;
    }
    for (size_t i = 0; i < r.live.size; i++) {
        const record *e = &r.live.record[i];
        if (e->key && e->bytes >= 0 && e->key >> 61 != KEY_WEIGHT)
            fail_msg("stage %d: buffer %llx is never given back", r.stage, (unsigned long long)e->key);
    }
    r.result.left = r.now;
    free(r.live.record);
    return r.result;
}

replay_result replay_stage(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                           size_t n_blocks, replay_listener *listener, void *user)
{
    return run_stage((replay){.job = job, .programs = programs, .stage = stage, .listener = listener, .user = user},
                     blocks, n_blocks);
}

void replay_course(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                   size_t n_blocks, replay_moment *moment)
{
    run_stage((replay){.job = job, .programs = programs, .stage = stage, .moment = moment}, blocks, n_blocks);
}

/* ---- jobs ---- */

static void plan_layers(ek_job *job, int p, int v, int layers_a_chunk)
{
    ek_error err;
    if (ek_plan_init(&job->plan, p, v, &err))
        fail_msg("%s", err.message);
    for (int c = 0; c < p * v; c++)
        job->plan.layers[c] = layers_a_chunk;
    job->model.n_layers = p * v * layers_a_chunk;
}

ek_job plain_job(int p, int v, int layers_a_chunk, int m)
{
    ek_job job = {
        .framework = EK_MINDFORMERS,
        .family = EK_FAMILY_LLAMA,
        .model = {.hidden = 256,
                  .n_heads = 8,
                  .n_kv_heads = 4,
                  .head_dim = 32,
                  .value_dim = 32,
                  .intermediate = 512,
                  .vocab = 1024,
                  .max_position = 128,
                  .gated = true,
                  .flash_attention = true,
                  .mask_compressed = true,
                  .expert_period = 1},
        .types = {EK_BF16, EK_FP32, EK_FP32, EK_FP32, EK_FP32, EK_FP32, EK_FP32, EK_BF16},
        .parallel = {.data = 1,
                     .tensor = 1,
                     .pipeline = p,
                     .context = 1,
                     .expert = 1,
                     .expert_tensor = 1,
                     .batch = 1,
                     .seq_length = 128,
                     .n_micro_batches = m,
                     .n_accumulation = 1,
                     .n_batch_interleave = 1,
                     .n_pieces = 1,
                     .fine_grain = 1,
                     .table_split = 1,
                     .head_split = 1,
                     .ulysses = 1},
        .states = {.weight = 4, .gradient = 4, .optimizer = 8, .shard_size = -1},
        .rules = ek_rules_default(EK_MINDFORMERS),
        .schedule = ek_schedule_find(v > 1 ? "interleaved" : "1f1b"),
        .full_group = 1,
    };
    plan_layers(&job, p, v, layers_a_chunk);
    return job;
}

typedef struct shape {
    const ek_schedule *schedule;
    int p, v, m;
} shape;

static shape random_shape(ek__random *random)
{
    int n = 0;
    while (ek_schedules[n])
        n++;
    const ek_schedule *schedule = ek_schedules[ek__random_below(random, n)];
    shape s = {schedule, 1 + ek__random_below(random, 4), schedule->min_chunks, 0};
    if (schedule->max_chunks > schedule->min_chunks)
        s.v += ek__random_below(random, 2);
    if (schedule->placement == EK_PLACE_BOTH_WAYS)
        s.p += s.p % 2;
    s.m = s.p * (1 + ek__random_below(random, 3));
    if (schedule->max_chunks == 1 && ek__random_below(random, 2)) /* whatever number, fewer than stages too */
        s.m = 1 + ek__random_below(random, 2 * s.p);
    if (s.m < s.p * schedule->min_micro_batches)
        s.m = s.p * schedule->min_micro_batches;
    if (schedule->placement == EK_PLACE_BOTH_WAYS)
        s.m += s.m % 2;
    return s;
}

static void randomize_model(ek__random *random, ek_job *job)
{
    ek_job_model *m = &job->model;
    ek_job_parallel *p = &job->parallel;
    m->flash_attention = ek__random_below(random, 4) > 0;
    m->mask_compressed = ek__random_below(random, 2);
    m->qkv_concat = ek__random_below(random, 2);
    m->fused_swiglu = m->qkv_concat && ek__random_below(random, 2);
    m->gated = ek__random_below(random, 4) > 0;
    m->qkv_bias = ek__random_below(random, 3) == 0;
    m->hidden_dropout = ek__random_below(random, 4) == 0 ? 0.1 : 0;
    p->tensor = 1 << ek__random_below(random, 2);
    p->table_split = p->head_split = p->tensor;
    p->sequence_parallel = ek__random_below(random, 2);
    p->data = 1 << ek__random_below(random, 3);
    p->fine_grain = p->tensor > 1 ? 1 + ek__random_below(random, 2) : 1;
    p->expert_tensor = p->tensor;
    if (ek__random_below(random, 4) == 0)
        p->n_batch_interleave = 2;
    job->types.residual = ek__random_below(random, 2) ? EK_FP32 : EK_BF16;
    job->types.param = ek__random_below(random, 2) ? EK_FP32 : EK_BF16;
}

static void randomize_rules(ek__random *random, ek_job *job)
{
    ek_rules *rules = &job->rules;
    ek_job_states *states = &job->states;
    if (ek__random_below(random, 3) == 0) {
        job->framework = EK_MEGATRON;
        job->family = EK_FAMILY_MEGATRON;
        *rules = ek_rules_default(EK_MEGATRON);
    }
    rules->weight_gather = (ek_gather)ek__random_below(random, 3);
    rules->gather_after_cast = ek__random_below(random, 2);
    rules->regather = ek__random_below(random, 2);
    rules->cast_weight_kept = ek__random_below(random, 4) == 0;
    rules->weight_gradient_fused = ek__random_below(random, 2);
    rules->loss_fused = ek__random_below(random, 2);
    rules->activation_scale = ek__random_below(random, 4) == 0 ? 1.1 : 1;
    rules->transient_scale = ek__random_below(random, 4) == 0 ? 0.7 : 1;
    rules->p2p_buffers = ek__random_below(random, 3);
    rules->fp8_copies = ek__random_below(random, 3);
    job->run.fp8 = ek__random_below(random, 3) ? EK_FP8_NONE : (ek_fp8)ek__random_below(random, EK_N_FP8);
    job->run.fp8_gather = ek__random_below(random, 2);
    rules->constant_mb = ek__random_below(random, 3);
    states->weight = ek_dtype_bytes(job->types.param);
    states->gradient = ek__random_below(random, 3) == 0 ? 0 : 2 << ek__random_below(random, 2);
    states->gathered = states->weight;
    states->shard_weight = ek__random_below(random, 2);
    states->shard_gradient = ek__random_below(random, 2);
    states->shard_optimizer = ek__random_below(random, 2);
}

static void randomize_recompute(ek__random *random, ek_job *job)
{
    static const char *const llama[] = {"feed_forward\\.mul",
                                        "feed_forward\\.w1\\.activation\\.silu",
                                        ".*\\.norm",
                                        "attention\\.flash_attention\\.flash_attention",
                                        "add",
                                        ".*_norm"};
    static const char *const megatron[] = {"mlp\\.activation_func", "input_layernorm",  "pre_mlp_layernorm",
                                           "core_attention",        "mlp\\.linear_fc1", "self_attention\\.linear_qkv"};
    static const ek_pattern_kind kinds[] = {EK_PATTERN_SELECT, EK_PATTERN_SELECT, EK_PATTERN_COMM,
                                            EK_PATTERN_SELECT_EXCLUDE, EK_PATTERN_COMM_EXCLUDE};
    int n_cells = job->plan.n_stages * job->plan.n_chunks, layers[256];
    assert_true(n_cells <= 256);
    for (int c = 0; c < n_cells; c++)
        job->plan.full[c] = ek__random_below(random, 3) ? 0 : ek__random_below(random, job->plan.layers[c] + 1);
    int n = ek__random_below(random, 4);
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < n_cells; c++)
            layers[c] = ek__random_below(random, job->plan.layers[c] + 1);
        int text = ek__random_below(random, 6);
        ek_error err;
        if (ek__job_add_pattern(job, (job->family == EK_FAMILY_MEGATRON ? megatron : llama)[text],
                                kinds[ek__random_below(random, 5)], layers, false, (ek_origin){0}, &err))
            fail_msg("%s", err.message);
    }
    if (ek__random_below(random, 3) == 0)
        job->full_group = 1 + ek__random_below(random, 3);
}

static void randomize_experts(ek__random *random, ek_job *job)
{
    if (ek__random_below(random, 3))
        return;
    ek_job_model *m = &job->model;
    m->n_experts = 4;
    m->top_k = 2;
    m->expert_intermediate = 128;
    m->n_shared_experts = ek__random_below(random, 2);
    m->shared_intermediate = 128 * m->n_shared_experts;
    m->n_dense_layers = ek__random_below(random, 3);
    m->expert_period = 1 + ek__random_below(random, 2);
    m->capacity_factor = ek__random_below(random, 2);
    m->grouped_matmul = ek__random_below(random, 2);
    job->parallel.expert = job->parallel.data;
}

ek_job random_job(ek__random *random)
{
    shape s = random_shape(random);
    ek_job job = plain_job(s.p, s.v, 1, s.m);
    job.schedule = s.schedule;
    job.model.n_layers = 0;
    for (int c = 0; c < s.p * s.v; c++)
        job.model.n_layers += job.plan.layers[c] = ek__random_below(random, 4);
    if (job.model.n_layers == 0)
        job.model.n_layers = job.plan.layers[0] = 1;
    if (strcmp(s.schedule->name, "sequence") == 0)
        job.parallel.n_pieces = 1 << ek__random_below(random, 3);
    randomize_model(random, &job);
    randomize_rules(random, &job);
    randomize_experts(random, &job);
    if (ek__random_below(random, 4) == 0) {
        job.model.n_prediction_layers = 1;
        job.plan.layers[ek_cell_at(s.schedule->placement, s.p, s.p * s.v - 1)]++;
    }
    randomize_recompute(random, &job);
    return job;
}
